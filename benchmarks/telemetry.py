# SPDX-License-Identifier: Apache-2.0
"""What telemetry costs a recall: the median with it on, as a ratio of the median with it off.

Both handles recall the same subjects of one file, in turns, so that a busy machine slows both. Times are CPU time of
the thread. The bar is 1.1.

Run: ``python benchmarks/telemetry.py [--grains 20000] [--recalls 4000] [--json]``
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from deja_tui import Memory

BAR = 1.1


def fill(path: Path, grains: int) -> list[str]:
    """A memory of facts and notes about `grains` / 12 subjects; the subjects."""
    chance = random.Random(7)
    subjects = [f"subject-{number}" for number in range(max(1, grains // 12))]
    words = [f"word{number}" for number in range(2_000)]
    with Memory.open(path, durability="normal") as memory, memory.store.act():
        for number in range(grains):
            text = " ".join(chance.choices(words, k=8))
            memory.add_fact(chance.choice(subjects), f"relation-{number % 7}", text)
    return subjects


def measure(path: Path, subjects: Sequence[str], recalls: int, mode: str) -> dict[str, float]:
    """Median microseconds of a recall and of a search, off and on, and their ratios."""
    chance = random.Random(11)
    asked = chance.choices(subjects, k=recalls)
    told: dict[str, float] = {}
    with Memory.open(path) as off, Memory.open(path, telemetry=mode) as on:
        for name, count in (("recall", recalls), ("search", recalls // 10)):
            calls: dict[str, Callable[[str], object]] = {
                "off": getattr(off, name),
                "on": getattr(on, name),
            }
            spent: dict[str, list[int]] = {"off": [], "on": []}
            for subject in asked[:count]:
                for which in ("off", "on") if chance.random() < 0.5 else ("on", "off"):
                    began = time.thread_time_ns()
                    calls[which](subject)
                    spent[which].append(time.thread_time_ns() - began)
            for which, each in spent.items():
                told[f"{name} {which}, µs"] = round(median(each) / 1_000, 2)
            told[f"{name} ratio"] = round(median(spent["on"]) / median(spent["off"]), 3)
        began = time.thread_time_ns()
        on.telemetry.flush()
        told["flush, ms"] = round((time.thread_time_ns() - began) / 1e6, 2)
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--grains", type=int, default=20_000)
    parser.add_argument("--recalls", type=int, default=4_000)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "telemetry.deja"
        subjects = fill(path, options.grains)
        found = {mode: measure(path, subjects, options.recalls, mode) for mode in ("aggregate", "full")}
    if options.json:
        print(json.dumps(found))
    else:
        for mode, told in found.items():
            print(f"{mode}: " + "   ".join(f"{name} {value}" for name, value in told.items()))
    return 0 if all(told["recall ratio"] <= BAR for told in found.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
