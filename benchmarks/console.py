# SPDX-License-Identifier: Apache-2.0
"""What the console costs over a line: bytes, times and memory in a pseudo-terminal, each beside its goal.

    python benchmarks/console.py --grains 100000

Bytes are exact. Times are medians on this machine as it is; the terminal is xterm-256color with 24-bit colours.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from planted import NOW, Planted  # noqa: E402
from store import grain_of  # noqa: E402

from deja_tui.facade import Memory  # noqa: E402
from deja_tui.store.memory import Store  # noqa: E402
from tests.e2e.measuring import Console, bytes_of, opened  # noqa: E402

SIZES = ("80x24", "120x40")
LINK = 4_000  # bytes a second
# What is told, in its order: name, words, the goal at each size, unit.
GOALS: tuple[tuple[str, str, tuple[float | None, float | None], str], ...] = (
    ("first", "first text", (40, 40), "ms"),
    ("usable", "usable frame", (300, 300), "ms"),
    ("usable_cpu", "usable frame, CPU", (320, 320), "ms"),
    ("start", "start", (4_000, 8_000), "bytes"),
    ("step", "`j` in a page, with preview", (400, 480), "bytes"),
    ("scroll", "`j` that scrolls, with preview", (400, 480), "bytes"),
    ("memories", "the same in Memories, in a page", (400, 480), "bytes"),
    ("memories_scroll", "the same in Memories, scrolling", (400, 480), "bytes"),
    ("list", "`j` in a list without preview, in a page", (240, 320), "bytes"),
    ("list_scroll", "the same, scrolling", (240, 320), "bytes"),
    ("rest", "a row that is looked at for long: the rest of it", (None, None), "bytes"),
    ("held", "a key held at 30 a second", (8_000, 8_000), "bytes a second"),
    ("lag", "the same, from the last press to the last byte", (20, 20), "ms"),
    ("p50", "key to paint, with preview, median", (None, None), "ms"),
    ("p95", "the same, 95 of 100", (16, 16), "ms"),
    ("switch", "another place, the dearest", (4_000, 8_000), "bytes"),
    ("switch_ms", "another place, the slowest", (130, 130), "ms"),
    ("help", "help", (4_000, 8_000), "bytes"),
    ("typed", "a typed character", (100, 100), "bytes"),
    ("statement", "the same in a statement, coloured", (100, 100), "bytes"),
    ("idle", "ten idle seconds", (0, 0), "bytes"),
    ("idle_cpu", "the same, CPU", (0.5, 0.5), "%"),
    ("link_start", f"{LINK:,} B/s: usable", (1_200, None), "ms"),
    ("link_key", f"{LINK:,} B/s: `j` that scrolls", (150, None), "ms"),
    ("memory", "memory", (64, 64), "MiB"),
)


def made(grains: int, folder: Path) -> Path:
    """A memory of planted grains with the queue of one run."""
    path = folder / "agent.deja"
    rest = iter(Planted(grains, 7, NOW))
    with Store.open(path, durability="normal") as store:
        while piece := list(islice(rest, 5_000)):
            with store.act() as act:
                for entry in piece:
                    act.add(grain_of(entry))
    with Memory.open(path, clock=lambda: NOW) as memory:
        memory.loop.run()
    return path


def processes(pid: int) -> list[int]:
    """A process and all below it."""
    below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in below for one in processes(int(child)))]


def cpu_ms(pid: int) -> float:
    """CPU time so far of a process and all below it."""
    ticks = 0
    for one in processes(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks * 1_000 / os.sysconf("SC_CLK_TCK")


def memory_mib(pid: int) -> float:
    """Memory of the process that draws, as the system counts it: pages shared with its parent count by half."""
    told = [Path(f"/proc/{one}/smaps_rollup").read_text() for one in processes(pid)]
    return (
        sum(int(line.split()[1]) for text in told for line in text.splitlines() if line.startswith("Pss:"))
        / 1_024
    )


def starts(path: Path, size: str, folder: Path, runs: int) -> dict[str, float]:
    """Medians: ms from exec to the first text, to the queue with its preview, and the CPU time until then."""
    first, usable, cpu = [], [], []
    for _ in range(runs):
        began = time.monotonic()
        with opened(path, size, folder) as console:
            console.terminal.expect("opening")
            first.append((console.terminal.heard - began) * 1_000)
            console.terminal.expect("evidence ")
            usable.append((console.terminal.heard - began) * 1_000)
            cpu.append(cpu_ms(console.terminal.pid))
    return {
        "first": statistics.median(first),
        "usable": statistics.median(usable),
        "usable_cpu": statistics.median(cpu),
    }


def moves(console: Console) -> dict[str, float]:
    """Times of keys, of places and of idling; memory once all of them were seen."""
    pid = console.terminal.pid
    console.terminal.expect("evidence ")
    console.terminal.settle()
    times = sorted(console.press("j")[1] for _ in range(40))
    found = {"p50": statistics.median(times), "p95": times[int(len(times) * 0.95)]}
    console.terminal.settle()
    _, found["lag"] = console.held("j", 2)
    slowest = 0.0
    for place in "12456783":
        began = time.monotonic()
        console.go(place, f"[{place} ")
        slowest = max(slowest, console.terminal.heard - began)
    found["switch_ms"] = slowest * 1_000
    console.idle(3)
    before = cpu_ms(pid)
    console.idle(10)
    found["idle_cpu"] = (cpu_ms(pid) - before) / 100
    found["memory"] = memory_mib(pid)
    return found


def lists(console: Console) -> dict[str, float]:
    """A step in a list that is drawn without a preview: the palette's."""
    console.terminal.expect("evidence ")
    console.terminal.settle()
    console.go(":", ">")
    found = {"list": console.cost(*["\x1b[B"] * 6)}
    for _ in range(14):
        console.press("\x1b[B")
    found["list_scroll"] = console.cost(*["\x1b[B"] * 6)
    return found


def over_a_link(path: Path, size: str, folder: Path) -> dict[str, float]:
    """The same start and a scrolled row over a line that lets so many bytes through."""
    began = time.monotonic()
    with opened(path, size, folder, quiet=0.3) as console:
        console.terminal.rate = LINK
        console.terminal.expect("evidence ")
        console.terminal.settle()
        found = {"link_start": (console.terminal.heard - began) * 1_000}
        console.cost("\x04")
        found["link_key"] = statistics.median(console.press("j")[1] for _ in range(5))
    return found


def measured(path: Path, size: str, folder: Path, runs: int) -> dict[str, float]:
    found = starts(path, size, folder, runs)
    with opened(path, size, folder, quiet=0.25) as console:
        found |= bytes_of(console, long=True)
    with opened(path, size, folder, quiet=0.12) as console:
        found |= moves(console)
    with opened(path, size, folder, quiet=0.12) as console:
        found |= lists(console)
    return found | over_a_link(path, size, folder)


def told(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if unit == "%" else f"{value:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--grains", type=int, default=100_000)
    parser.add_argument("--file", type=Path, help="a memory that is there, instead of one that is made")
    parser.add_argument("--runs", type=int, default=20, help="starts; figures are medians")
    given = parser.parse_args()
    os.environ["DEJA_LOOP_NOW_MS"] = str(NOW)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = given.file or made(given.grains, folder)
        found = {size: measured(path, size, folder, given.runs) for size in SIZES}
    print("| what | unit | goal 80x24 | 80x24 | goal 120x40 | 120x40 | |\n|---|---|---|---|---|---|---|")
    for key, words, goals, unit in GOALS:
        values = [found[size].get(key) for size in SIZES]
        over = any(v is not None and g is not None and v > g for v, g in zip(values, goals, strict=True))
        cells = [told(x, unit) for pair in zip(goals, values, strict=True) for x in pair]
        verdict = "missed" if over else "holds" if any(goal is not None for goal in goals) else ""
        print(f"| {words} | {unit} | {' | '.join(cells)} | {verdict} |")
    print(
        f"\nload: {os.getloadavg()[0]:.1f}; this process used {resource.getrusage(resource.RUSAGE_SELF).ru_utime:.0f} s"
    )


if __name__ == "__main__":
    main()
