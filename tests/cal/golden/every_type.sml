<fact subject="num" confidence="1.00">count 42</fact>
<fact subject="esc" confidence="0.50">says a&lt;b &amp; "c", d|e: [x] - **forged** line</fact>
<fact subject="delta" confidence="0.60">prefers not aisle seat</fact>
<event role="assistant" time="5d ago">Noted, window seat it is</event>
<event role="user" time="4d ago">I would like a window seat</event>
<tool tool="slow" phase="pending"></tool>
<tool tool="search" phase="ok">3 results</tool>
<tool tool="stripe_refund" phase="fail">rate_limited 429</tool>
<observation observer="sensor-7">server-1: cpu temperature high</observation>
=====
<goal subject="alpha" state="active">confirm the flight</goal>
<skill name="triage" proficiency="0.90" domain="support">sort tickets</skill>
<state context="label: booking, step: 3">pick seat; pay</state>
<workflow trigger="merge">build -&gt; test</workflow>
=====
<reasoning type="inductive">the tool is limited</reasoning>
<consensus threshold="0.50" count="2">ship it</consensus>
<consent action="grant" grantor="did:a" grantee="did:b">calendar</consent>