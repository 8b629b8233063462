<context intent="planning a &lt;trip&gt;">
<event role="assistant" time="5d ago">Noted, window seat it is</event>
<event role="user" time="4d ago">I would like a window seat</event>

<fact subject="num" confidence="1.00">count 42</fact>
</context>