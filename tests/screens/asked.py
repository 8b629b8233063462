# SPDX-License-Identifier: Apache-2.0
"""A small real memory for the Query screen: facts, an event, failing calls, a finding, a saved query of its own."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from deja_tui import Memory
from tests.screens.fake import FakeReviews
from tests.support import DAY, NOW

BAD = "\x1b[2J[@click=app.quit]x[/] \u202eevil\u2069 pay\u200bpal 日本 ok» = fact safe"
LIKES = 'DEFINE QUERY "likes" ($who, $n = 5) DESCRIPTION "What one person prefers" AS { RECALL facts WHERE subject = $who LIMIT $n }'
TEAM = 'DEFINE QUERY "team" AS { RECALL facts WHERE subject = "acme" }'
ASSEMBLE = (
    'ASSEMBLE "trip" FOR "planning" FROM prefs: (RECALL facts WHERE subject = "ana"), '
    'talk: (RECALL events WHERE session_id = "s1") BUDGET 60 tokens PRIORITY talk > prefs'
)


class Asked:
    """The doors of a memory in one object, as the fakes are: its loop and itself."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def __getattr__(self, name: str) -> Any:
        loop = self.memory.loop
        return getattr(loop, name) if hasattr(loop, name) else getattr(self.memory, name)


class Clock:
    """Epoch ms that move on by a minute with every look, and then stand still."""

    def __init__(self) -> None:
        self.at = NOW - 3 * DAY
        self.step = 60_000

    def __call__(self) -> int:
        self.at += self.step
        return self.at


def fill(memory: Memory) -> None:
    memory.add_fact("acme", "deploy_target", "eu-west-1")
    memory.add_fact("acme", "mg:prefers", "green tea")
    memory.add_fact("ana", "prefers", "window seat", confidence=0.6)
    for number in range(3):
        memory.add(
            "event",
            {"content": f"window seat, please, for flight {number}", "role": "user", "session_id": "s1"},
        )
    memory.add("goal", {"description": "confirm the flight", "subject": "ana", "goal_state": "active"})
    for _ in range(4):
        memory.record_tool_call("refund", "rate limited 429", is_error=True)
    assert memory.loop.run().outcome == "ran"
    memory.cal(LIKES)
    memory.cal(TEAM)


def fill_badly(memory: Memory) -> None:
    """Hostile text in every field, and in what a foreign file may hold as a saved query."""
    memory.add_fact(BAD, BAD, BAD)
    memory.add("event", {"content": BAD, "role": "user", "user_id": BAD, "session_id": "s1"})
    memory.record_tool_call(BAD, BAD, is_error=True)
    with memory.store.act() as act:
        body = f'RECALL facts WHERE object = "{BAD}"'
        for name in ("evil", BAD):
            value = {"parameters": [{"name": BAD, "default": BAD}], "description": BAD, "body": body}
            act.set_setting(f"cal.query:{name}", value)


def _made(filled: Any) -> tuple[Path, Memory]:
    folder, clock = Path(mkdtemp(prefix="deja-query-")), Clock()
    memory = Memory.open(folder / "agent.db", clock=clock, actor="user:local", durability="normal")
    filled(memory)
    clock.at, clock.step = NOW, 0
    return folder, memory


@cache
def _shared(filled: Any) -> Asked:
    """One memory a process for all who only read; removed when the process ends."""
    import atexit

    folder, memory = _made(filled)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(memory.close)
    return Asked(memory)


def nothing(memory: Memory) -> None:
    """An empty memory."""


def opened() -> FakeReviews:
    return _shared(fill)  # type: ignore[return-value]


def opened_badly() -> FakeReviews:
    return _shared(fill_badly)  # type: ignore[return-value]


def bare() -> FakeReviews:
    return _shared(nothing)  # type: ignore[return-value]


def fresh() -> FakeReviews:
    """One of its own, for who writes."""
    import atexit

    folder, memory = _made(fill)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(memory.close)
    return Asked(memory)  # type: ignore[return-value]


# --- states that are kept as snapshots: keys, the memory, options -----------------------------------

FACTS = 'paste:RECALL facts WHERE subject = "acme"'
ADD = 'paste:ADD fact SET subject = "acme" SET relation = "likes" SET object = "tea" REASON "said so"'
NOWHERE = "a" * 64
STATES: dict[str, tuple[tuple[str, ...], Any, dict[str, Any]]] = {
    "query": (("i", FACTS, "enter", "j"), opened, {}),
    "query-saved": ((), opened, {}),
    "query-typing": (("i", "paste:RECALL facts\nWHERE subject = ", "f", "tab"), opened, {}),
    "query-error": (("i", 'paste:RECALL facts WHERE colour = "red"', "enter"), opened, {}),
    "query-explain": (("i", FACTS, "enter", "e"), opened, {}),
    "query-assemble": (("i", f"paste:{ASSEMBLE}", "enter"), opened, {}),
    "query-columns": (
        ("i", "paste:RECALL facts ORDER BY confidence SELECT subject, object, confidence", "enter"),
        opened,
        {},
    ),
    "query-parameter": (("enter",), opened, {}),
    "query-asked": (("i", ADD, "enter"), opened, {}),
    "query-replaces": (("E", "enter"), opened, {}),
    "query-refused": (("i", f'paste:APPROVE sha256:{NOWHERE} BECAUSE "x"', "enter"), opened, {}),
    "query-read-only": (("i", ADD, "enter"), opened, {"read_only": True}),
    "query-empty": (("i", "paste:RECALL facts", "enter"), bare, {}),
    "query-first": (("]", "]"), bare, {}),
    "query-filter": (("i", FACTS, "enter", "/", "type:tea"), opened, {}),
    "query-hostile": (("i", "paste:RECALL facts", "enter"), opened_badly, {}),
    "query-hostile-text": (
        ("i", "paste:ASSEMBLE FROM a: (RECALL facts), b: (RECALL events)", "enter"),
        opened_badly,
        {},
    ),
    "query-hostile-saved": (("j",), opened_badly, {}),
    "query-hostile-error": (
        ("i", f'paste:RECALL facts WHERE object = "{BAD}" AND x = 1', "enter"),
        opened_badly,
        {},
    ),
}
