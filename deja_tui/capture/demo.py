# SPDX-License-Identifier: Apache-2.0
"""The demo memory: a month in the life of a shop's support agent (D54), as the script ``templates/demo.cal`` tells it.

Every statement is run by the real engine with the clock at the time it tells of; what it shows as decided was decided
at those times. Nothing in it is drawn at random: the same ``now`` gives the same memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deja_tui.capture.templates import script
from deja_tui.errors import DejaError
from deja_tui.facade import Memory
from deja_tui.text import DAY_MS, utc

_MINUTE: Final = 60_000
_MARK: Final = "demo"
_EARLIEST: Final = 946_684_800_000
_BEFORE: Final = re.compile(r"-- (?:(\d+)d)? ?(?:(\d+)h)? ?(?:(\d+)m)? before, (\S+)")
_NAMED: Final = re.compile(r"\$(\w+)")


@dataclass(frozen=True, slots=True)
class Beat:
    """One statement of the demo: how long before now (ms) it is run, and by whom."""

    before_ms: int
    actor: str
    statement: str


class _Hand:
    """A clock that is set by hand, so that every grain arrives at the time it tells of."""

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms


def beats() -> Iterator[Beat]:
    """The statements of the script in their order."""
    before, actor = 0, ""
    for line in script("demo").splitlines():
        mark = _BEFORE.fullmatch(line)
        if mark:
            days, hours, minutes = (int(mark[place] or 0) for place in (1, 2, 3))
            before, actor = ((days * 24 + hours) * 60 + minutes) * _MINUTE, mark[4]
        elif line and not line.startswith("--"):
            # the file itself stays free of control characters, so that it can be shown as it is
            yield Beat(before, actor, line.rstrip(";").replace(r"\u001b", "\x1b"))


def is_demo(memory: Memory) -> bool:
    """Whether this file was made by `seed`."""
    return memory.store.setting(_MARK) is not None


def seed(path: Path, now_ms: int) -> None:
    """Write the demo memory to ``path``, which must not hold grains of its own. Raises CLI-E003 when it does.

    A file that `seed` has made is left as it is. A new file is made beside its name and moved there when it is whole, so
    that one which was interrupted is never in the way.
    """
    if now_ms < _EARLIEST:
        raise DejaError("CLI-E002", "the demo tells of the month before now, and now is before 2000")
    target = Path(os.path.realpath(path))
    if target.exists() and target.stat().st_size:
        _fill(target, now_ms)
        return
    part = target.with_name(target.name + ".part")
    if target.parent.is_dir():  # else opening says what is wrong
        _remove(part)
    try:
        _fill(part, now_ms)
        os.replace(part, target)
    except BaseException:
        if target.parent.is_dir():
            _remove(part)
        raise


def _remove(part: Path) -> None:
    """Take away a half-made file with what stands beside it."""
    for ending in ("", "-wal", "-shm", ".telemetry.db"):
        part.with_name(part.name + ending).unlink(missing_ok=True)


def _fill(path: Path, now_ms: int) -> None:
    clock = _Hand(now_ms - 31 * DAY_MS)
    with Memory.open(path, clock=clock, durability="normal") as memory:
        if is_demo(memory):
            return
        if memory.substrate.position().grains:
            raise DejaError("CLI-E003", "this file already holds grains", "name a new file for the demo")
    _play(path, clock, now_ms)
    clock.now_ms = now_ms
    with Memory.open(path, clock=clock) as memory, memory.store.act() as act:
        act.set_setting(_MARK, {"now_ms": now_ms})


def _play(path: Path, clock: _Hand, now_ms: int) -> None:
    """Run every statement at its time and as its actor."""
    with ExitStack() as stack:
        memory: Memory | None = None
        for beat in beats():
            clock.now_ms = now_ms - beat.before_ms
            if memory is None or memory.who.actor != beat.actor:
                stack.close()
                opened = Memory.open(path, actor=beat.actor, clock=clock, durability="normal")
                memory = stack.enter_context(opened)
            params = {name: _value(memory, name, now_ms) for name in _NAMED.findall(beat.statement)}
            memory.cal(beat.statement, params)


def _value(memory: Memory, name: str, now_ms: int) -> str:
    """What a name of the script stands for: a time, a skill's current version, a tool's open recommendation."""
    if name == "two_days_ago":
        return utc(now_ms - 2 * DAY_MS)
    for grain in memory.store.scan("skill", namespaces=[memory.namespace], live_only=True):
        if grain.get("name") == name:
            return grain.address
    rows = (*memory.loop.queue("pending"), *memory.loop.queue("approved"))
    return next(row.address for row in rows if row.target_ref.startswith(f"entity:lessons/{name}#"))
