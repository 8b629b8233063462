# SPDX-License-Identifier: Apache-2.0
"""What each panel of the console costs on a large memory: ``python benchmarks/panels.py --grains 100000``.

The real console runs on a file of the planted corpus (that of ``benchmarks/loop.py``) after a run and a few hundred decisions,
and keys are pressed. Each question that a screen asks the memory is timed on the thread that answers it: CPU time and wall
time, the least of ``--rounds`` consoles. Beside it stands the wall time from the key to the panel that shows the answer. The
bar of 30 ms is that of what a panel shows first; what a panel fills in afterwards shows ``…`` meanwhile and is marked *then*.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from browse import age
from loop import corpus, put
from store import NOW

from deja_tui import Memory
from deja_tui.console.feed import Answer, Feed, Reviews
from deja_tui.errors import DejaError
from deja_tui.screens.app import DejaApp
from deja_tui.store.memory import Store

DAY = 86_400_000
BAR = 30.0
DECIDED = 60  # of each analyzer
# (panel, the place to begin at or "" for where one is, the keys that lead there, the last of which is timed)
PANELS: tuple[tuple[str, str, Sequence[str]], ...] = (
    ("1 Overview", "queue", ("1",)),
    ("2 Sessions", "queue", ("2",)),
    ("  a timeline", "", ("enter",)),
    ("  its errors only", "", ("f",)),
    ("3 Queue", "overview", ("3",)),
    ("  all rows of it", "", ("G",)),
    ("  Detail", "queue", ("g", "enter")),
    ("  dry run", "", ("d",)),
    ("  its audit trail", "", ("t",)),
    ("  Walker", "overview", ("w",)),
    ("  applied ones", "queue", ("f", "f", "f")),
    ("4 Analyzers", "overview", ("4",)),
    ("  one of them", "", ("enter",)),
    ("5 Outcomes", "overview", ("5",)),
    ("6 Setup", "overview", ("6",)),
    ("7 Memories", "overview", ("7",)),
    ("  everything about a grain", "", ("enter",)),
    ("  what surrounds a thing", "memories", ("j", "i")),
    ("  two steps", "", ("2",)),
    ("  three steps", "", ("3",)),
    ("  the last row", "memories", ("G",)),
    ("  live ones", "", ("f",)),
    ("  of the next type", "", ("F",)),
    ("  of the type after that", "", ("F",)),
    ("  by subject", "", ("o", "o")),
    ("  a filter", "", ("/", "r", "a")),
    ("8 Query", "overview", ("8",)),
    ("  a statement", "", (*"RECALL facts RECENT 50", "enter")),
)


# Read ahead of what may be looked at next, or what comes beside the list once keys rest.
AFTERWARDS = ("ahead", "beginning")


@dataclass
class Asked:
    """One question: the kind, whether it fills in what is shown already, and what answering it cost, ms."""

    kind: str
    later: bool
    cpu: float
    wall: float


class Recording(Feed):
    """A feed that times every question on the thread that answers it."""

    def __init__(self, reviews: Reviews) -> None:
        super().__init__(reviews)
        self.asked: list[Asked] = []
        self.open = 0

    async def ask(self, kind: str, work: Callable[[Reviews], Any], **how: bool) -> Answer[Any]:
        def timed(reviews: Reviews) -> Any:
            wall, cpu = time.perf_counter(), time.thread_time()
            try:
                return work(reviews)
            finally:
                cost = (time.thread_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3
                name = kind.partition(" ")[2] or kind
                self.asked.append(Asked(name, any(how.values()) or name in AFTERWARDS, *cost))

        self.open += 1
        try:
            return await super().ask(kind, timed, **how)
        finally:
            self.open -= 1


async def quiet(feed: Recording, pilot: Any) -> None:
    """Until nothing is asked any more, and what was answered is painted."""
    while True:
        await pilot.pause()
        if not feed.open:
            break
        await asyncio.sleep(0.001)
    await pilot.pause()


async def walk(memory: Memory, path: Path, size: tuple[int, int]) -> dict[str, tuple[list[Asked], float]]:
    """One console, every panel in turn: its questions, and ms from the key to the painted answer of the first ones."""
    app = DejaApp(
        memory.loop, file=str(path), now_ms=lambda: NOW, poll_seconds=0, file_of=memory, grains=memory
    )
    feed = Recording(memory.loop)
    app.feed.close()
    app.feed = feed
    told: dict[str, tuple[list[Asked], float]] = {}
    async with app.run_test(size=size) as pilot:
        await quiet(feed, pilot)
        for name, place, keys in PANELS:
            if place:
                app.go(place)
                await quiet(feed, pilot)
            for key in keys[:-1]:
                await pilot.press(key)
                await quiet(feed, pilot)
            feed.asked = []
            began = time.perf_counter()
            await pilot.press(keys[-1])
            await quiet(feed, pilot)
            told[name] = feed.asked, (time.perf_counter() - began) * 1e3
    return told


def build(path: Path, count: int, seed: int) -> None:
    """A memory with findings, decisions, what came of them, and versions."""
    with Store.open(path, clock=lambda: NOW, durability="normal") as store:
        put(store, corpus(count, seed, own=False))
        age(store, count)
    clock = [NOW - 9 * DAY]
    with Memory.open(
        path, clock=lambda: clock[0], telemetry="aggregate", durability="normal", actor="user:ana"
    ) as memory:
        memory.loop.run()
        seen: dict[str, int] = {}
        for row in memory.loop.queue():
            number = seen[row.analyzer] = seen.get(row.analyzer, 0) + 1
            if number > DECIDED:
                continue
            with contextlib.suppress(DejaError):  # what changes nothing here cannot be applied at once
                if number % 3:
                    memory.loop.approve_and_apply(row.address, because=f"yes, number {number}")
                else:
                    memory.loop.reject(row.address, because=f"no, number {number}")
        clock[0] = NOW
        memory.loop.run()


def main() -> int:
    """Build the file (or take one), walk through it, print the table; 1 where the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--grains", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--file", type=Path, help="a memory that is there; it is opened for reading only")
    parser.add_argument("--each", action="store_true", help="a line for each question")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path = options.file or Path(name) / "bench.deja"
        if options.file is None:
            build(path, options.grains, options.seed)
        with Memory.open(path, read_only=True, clock=lambda: NOW) as memory:
            waiting = memory.loop.waiting()
            print(f"{memory.stats()['grains']:,} grains, {waiting:,} recommendations wait\n")
            rounds = [asyncio.run(walk(memory, path, (120, 40))) for _ in range(options.rounds)]
    return report(rounds, options.each)


def report(rounds: Sequence[dict[str, tuple[list[Asked], float]]], each: bool) -> int:
    """Print the table, the least of the rounds; 1 where what a panel shows first takes longer than the bar."""
    print(f"| {'panel, ms':<28} | first data, CPU | wall | then, CPU | key to all of it painted | |")
    print("|---|---|---|---|---|---|")
    missed = 0
    for name, _, _ in PANELS:
        runs = [one[name] for one in rounds]
        first = [sum(one.cpu for one in asked if not one.later) for asked, _ in runs]
        wall = [sum(one.wall for one in asked if not one.later) for asked, _ in runs]
        then = min(sum(one.cpu for one in asked if one.later) for asked, _ in runs)
        held = min(first) <= BAR
        missed += not held
        print(
            f"| {name:<28} | {min(first):6.1f} | {min(wall):6.1f} | {f'{then:.1f}' if then else '–':>6} |"
            f" {min(painted for _, painted in runs):7.1f} | {'holds' if held else 'MISSED'} |"
        )
        if each:
            for one in runs[0][0]:
                print(f"    {one.kind}{' (then)' if one.later else ''}: {one.cpu:.1f} CPU, {one.wall:.1f}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
