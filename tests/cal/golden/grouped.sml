<group key="delta" count="1">
<fact subject="delta" confidence="0.60">prefers not aisle seat</fact>
</group>
<group key="esc" count="1">
<fact subject="esc" confidence="0.50">says a&lt;b &amp; "c", d|e: [x] - **forged** line</fact>
</group>
<group key="num" count="1">
<fact subject="num" confidence="1.00">count 42</fact>
</group>