# SPDX-License-Identifier: Apache-2.0
"""Hostile text through every verb on a real pseudo-terminal: not a byte that acts reaches it (TM-23).

Outside the default suite: ``python -m pytest -m slow -n 0 tests/security/test_terminal.py``.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from pathlib import Path

import pytest

from deja_tui import Memory
from tests.e2e.terminal import Terminal
from tests.support import NOW, ROOT, SHARED

pytestmark = pytest.mark.slow

ACTS = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
OWN = [
    "\x1b]0;title\x07\x1b[2J\x9b31m\u202eevil\u200b",
    "a\rb\x08\x08\x7f",
    "[@click=app.quit]x[/]",
    "»\u2069« \U000e0041",
]


def texts() -> list[str]:
    files = [path for path in sorted((SHARED / "hostile").rglob("*")) if path.is_file()]
    found = [path.read_bytes().decode("utf-8", "replace") for path in files] + OWN
    return [text for text in found if text.strip("\0 \r\n\ufeff")]


def test_every_verb_on_a_terminal(tmp_path: Path) -> None:
    """What is listed, shown, found, logged, exported, refused and quoted back in an error."""
    path = tmp_path / "a.deja"
    with Memory.open(path, clock=lambda: NOW, durability="normal") as memory, memory.store.act():
        for number, text in enumerate(texts()):
            memory.add_fact(text[:200], "says", text[:20_000])
            memory.record_tool_call("same", text[:5_000], True, call_id=f"{number}")
            memory.record_tool_call(
                text[:60], text[:5_000], True, text[:50], f"x{number}", {text[:40]: text[:400]}
            )
            memory.docs.create(f"/memories/{number}", text)
    with Memory.open(path, clock=lambda: NOW) as memory:
        memory.loop.run()
        facts = [grain.address for grain in memory.recall(k=1_000)][:6]
        rows = [row.address for row in memory.loop.queue()][:3]
        documents = len(memory.docs.list())
    words = [
        "recall -k 100", "search tool -k 100", "log -k 200 --since 0", "stats", "verify", "forks", "next", "context tool", "doc list",
        "loop list", "loop health", "loop", "loop outcomes", "loop analyzers", "loop policy", "why tool_failure", "audit export", "loop run",
        "forget-older 2030-01-01 --dry-run", "loop replay",
    ]  # fmt: skip
    verbs: list[list[str]] = [one.split() for one in words]
    verbs += [
        ["cal", "RECALL facts LIMIT 50"],
        ["cal", "RECALL tools LIMIT 50", "--format", "markdown"],
        ["cal", "RECALL facts", "--format", "yaml"],
    ]
    verbs += [[verb, one] for verb in ("get", "history", "provenance") for one in facts]
    verbs += [["loop", verb, one] for verb in ("show", "diff") for one in rows] + [
        ["audit", "show", one] for one in rows
    ]
    verbs += [["doc", "view", f"/memories/{number}"] for number in range(documents)]
    verbs += [
        ["forget", facts[0], "--dry-run"], ["forget-subject", OWN[0], "--dry-run"], ["get", "\x1b[2J"], ["nosuch\x1b[2J"],
        ["recall", "--type", "\x1b[31m"], ["supersede", facts[1], "--set", "object=\x1b[2Jx", "--because", "\x1b]0;x\x07why"],
        ["loop", "reject", rows[0], "--because", "\x1b[31mno"], ["import", str(SHARED / "hostile" / "terminal-escapes" / "session.jsonl")],
    ]  # fmt: skip
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
    }
    env |= {"DEJA_LOOP_NOW_MS": str(NOW), "DEJA_DB": str(path)}
    for verb in verbs:
        terminal = Terminal([sys.executable, "-m", "deja_tui", *verb], (100, 30), env)
        try:
            terminal.end()
        finally:
            terminal.close()
        shown = terminal.raw.decode("utf-8", "replace")
        acting = {char for char in shown if char not in "\r\n" and unicodedata.category(char) in ACTS}
        assert not acting, (verb, acting)
        assert "Traceback" not in shown, (verb, shown[-500:])
    sys.stderr.write(f"\nverbs on a terminal: {len(verbs)}, texts: {len(texts())}\n")
