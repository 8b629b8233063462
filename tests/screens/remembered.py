# SPDX-License-Identifier: Apache-2.0
"""A small memory in a file, with a grain of every state, a document, a fork, and a lesson that was applied."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from deja_tui import Memory
from deja_tui.store.browse import Lens
from tests.present.hostile import HOSTILE
from tests.support import DAY, NOW

HOUR = DAY // 24
DOC = "/memories/agent.md"


class Clock:
    """Epoch ms that move on by a second with every look."""

    def __init__(self, at: int) -> None:
        self.at = at

    def __call__(self) -> int:
        self.at += 1_000
        return self.at


def fill(memory: Memory, other: Memory, clock: Clock) -> None:
    """Put everything in; ``other`` is a second copy, for the fork."""
    for number in range(6):
        memory.record_tool_call("refund", "rate limited 429", True, thread="s1", call_id=f"c{number}")
    memory.record_tool_call("refund", "done", False, thread="s2", call_id="c9")
    run = memory.loop.run()
    assert run.outcome == "ran"
    (row,) = [row for row in memory.loop.queue() if row.analyzer.startswith("loop.tool_failure")]
    memory.loop.approve(row.address, because="seen in two sessions")
    memory.loop.apply(row.address, because="agreed with the team")
    clock.at = NOW - 2 * DAY
    first = memory.add_fact("ana", "lives_in", "Bergen, in the old town", valid_to=NOW + DAY)
    second = memory.supersede(first, {"object": "Oslo, in the old town"}, reason="she moved")
    memory.supersede(second, {"object": "Oslo, by the sea", "confidence": 1.0})
    memory.add_fact("ana", "works_at", "Acme")
    memory.add_fact("Acme", "based_in", "Oslo")
    memory.add_fact("bo", "reports_to", "ana")
    memory.add_fact("Acme", "employs", "bo")
    memory.add_fact("ana", "on_call", "this week", valid_to=NOW - DAY)
    memory.add_observation("the invoice run takes an hour", observer_id="watcher")
    memory.docs.create(DOC, "# Agent\n\nBe brief.\nAnswer in English.\n")
    memory.docs.replace(DOC, "Be brief.", "Be brief, and kind.")
    gone = memory.add_fact("zoe", "likes", "nothing of it is kept")
    memory.forget(gone, because="she asked for it")
    base = memory.add_fact("mail", "sent_by", "the old relay")
    bundle = Path(memory.store.path).with_suffix(".mgb")
    memory.bundle(bundle)
    other.import_bundle(bundle)
    bundle.unlink()
    clock.at = NOW - HOUR
    memory.supersede(base, {"object": "relay one"})
    other.supersede(base, {"object": "relay two, at night", "confidence": 0.5})
    other.bundle(bundle)
    memory.import_bundle(bundle)
    bundle.unlink()


@cache
def made() -> Path:
    """The file, made once for a process; nobody writes to it."""
    folder = Path(mkdtemp(prefix="deja-screens-"))
    clock = Clock(NOW - 3 * DAY)
    with (
        Memory.open(folder / "memory.deja", actor="user:ana", clock=clock) as memory,
        Memory.open(folder / "other.deja", actor="user:bo", clock=clock) as other,
    ):
        fill(memory, other, clock)
    return folder / "memory.deja"


def copied(path: Path) -> Memory:
    """A copy of the memory, to write to."""
    shutil.copy(made(), path)
    return Memory.open(path, actor="user:local", clock=lambda: NOW)


@cache
def opened() -> Memory:
    """The memory, opened to read."""
    return Memory.open(made(), actor="user:local", read_only=True, clock=lambda: NOW)


def address_of(*words: str) -> str:
    """The address of the first grain with all the words."""
    found = opened().search(" ".join(words), k=99)
    return next(one.address for one in found if all(word in str(one.fields) for word in words))


@cache
def bare() -> Memory:
    """A memory that holds nothing."""
    return Memory.open(made().with_name("bare.deja"), clock=lambda: NOW)


@cache
def opened_hostile() -> Memory:
    """`hostile`, opened to read."""
    return Memory.open(hostile(), read_only=True, clock=lambda: NOW)


def at_hostile() -> str:
    """A deep link to a grain whose every text is hostile."""
    page = opened_hostile().browse(Lens(type="fact", order="oldest"), count=99)
    return next(
        f"memories/{row.address}" for row in page.rows if row.grain and "CHECKS" in str(row.grain.fields)
    )


@cache
def hostile() -> Path:
    """A file whose grains are hostile texts in every place a text can have."""
    folder = Path(mkdtemp(prefix="deja-screens-"))
    clock = Clock(NOW - DAY)
    with Memory.open(folder / "memory.deja", clock=clock) as memory:
        for bad in HOSTILE.values():
            part = bad[:2_000]
            old = memory.add_fact(part[:200], part[:200], part, note=part)
            memory.supersede(old, {"object": part + " again", part[:60]: part})
            memory.add_observation(part, observer_id=part[:100])
            memory.record_tool_call(part[:80], part, True)
        memory.docs.create(DOC, "\n".join(bad[:200] for bad in HOSTILE.values()))
    return folder / "memory.deja"
