# SPDX-License-Identifier: Apache-2.0
"""Real memories behind the screens of sessions and of Setup: the demo, hostile ones, an empty one; at a fixed time."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from deja_tui import Memory
from deja_tui.capture.demo import seed
from deja_tui.errors import DejaError
from tests.support import NOW, shared

_FILE = ("verify", "stats", "sessions", "docs", "cal", "standing", "namespace")


class Recorded:
    """A memory as the console sees it: its loop, and the file. ``faults`` maps a method to what it raises, for as long as it stands there."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.faults: dict[str, Exception] = {}

    def __getattr__(self, name: str) -> Any:
        if name in self.faults:
            raise self.faults[name]
        return getattr(self.memory if name in _FILE else self.memory.loop, name)


@lru_cache(maxsize=1)
def folder() -> Path:
    path = Path(tempfile.mkdtemp(prefix="deja-recorded-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@lru_cache(maxsize=8)
def made(fill: Callable[[Path], None]) -> Path:
    """A file that was filled once a process."""
    path = folder() / f"{fill.__name__}-{sum(1 for _ in folder().glob('*.deja'))}.deja"
    fill(path)
    return path


def opened(fill: Callable[[Path], None], *, fresh: Path | None = None) -> Recorded:
    """A memory of its own on a copy where it is to be written (``fresh``), else on the one file, for reading."""
    path = made(fill)
    if fresh is not None:
        path = Path(shutil.copy(path, fresh / "agent.db"))
    memory = Memory.open(path, clock=lambda: NOW, read_only=fresh is None, actor="user:local")
    atexit.register(memory.close)
    return Recorded(memory)


def demo(path: Path) -> None:
    """The demo as it ships."""
    seed(path, NOW)


def nothing(path: Path) -> None:
    """A file without a grain."""
    Memory.open(path, clock=lambda: NOW).close()


def hostile_with(texts: dict[str, str]) -> Callable[[Path], None]:
    """Threads, tools and bodies that say each of some texts."""

    def hostile(path: Path) -> None:
        with Memory.open(path, clock=lambda: NOW) as memory, memory.store.act():
            for place, text in enumerate(texts.values()):
                at = NOW - 60_000 * (place + 1)
                thread = text[:200]
                memory.add_event(text, role="user", session_id=thread, created_at=at)
                for call in range(3):
                    memory.record_tool_call(
                        text[:100] or "x",
                        text,
                        is_error=True,
                        thread=thread,
                        call_id=f"{place}-{call}",
                        input={"said": text[:300]},
                        created_at=at + 1_000 * (call + 1),
                    )

    return hostile


def imported(path: Path) -> None:
    """Every collected transcript that broke other programs."""
    from deja_tui.capture.files import import_path
    from deja_tui.capture.registry import source

    with Memory.open(path, clock=lambda: NOW) as memory:
        for found in sorted(shared("hostile").glob("*/session.jsonl")):
            import_path(memory, source("claude-code"), found, now_ms=NOW)


BAD = "\x1b[2J[@click=app.quit]x[/] \u202eevil\u2069 pay\u200bpal 日本 ok» = fact safe"
planted = hostile_with({"bad": BAD, "plain": "sess-1"})


def hostile_reviews() -> Recorded:
    """Threads, tools and bodies that would act if they could, for reading."""
    return opened(planted)


def unreadable() -> Recorded:
    """The first question about sessions finds the file locked."""
    found = opened(demo)
    fault = DejaError("STO-E004", "the file is locked by another writer", "try again in a moment")
    found.faults["sessions"] = found.faults["standing"] = fault
    return found


def demo_reviews() -> Recorded:
    """The demo, for reading."""
    return opened(demo)


def no_reviews() -> Recorded:
    """Nothing, for reading."""
    return opened(nothing)
