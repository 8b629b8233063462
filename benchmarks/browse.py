# SPDX-License-Identifier: Apache-2.0
"""What looking around in a memory costs: ``python benchmarks/browse.py --grains 100000``.

Each line is what a panel of the console asks for: the first slice of a view with its count, a slice somewhere in it read on
from a known row, its last slice, the place of a grain in it; everything about one grain; what surrounds a thing. Wall time
in ms of the thread that asks, the first time (pages not read yet) and the median of nine. The corpus is that of
``benchmarks/store.py``; one fact in twenty was superseded, one of those has ended.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.store import NOW, Report, fill
from deja_tui import Memory
from deja_tui.store.browse import Lens
from deja_tui.store.codec import make_grain
from deja_tui.store.memory import Store

LENSES = (
    Lens(),
    Lens(order="oldest"),
    Lens(order="subject"),
    Lens("live"),
    Lens("live", "fact"),
    Lens(type="skill"),
    Lens("superseded"),
    Lens("expired"),
    Lens("forked"),
    Lens("documents"),
    Lens("forgotten"),
    Lens("engine"),
)
ROWS = 96


def age(store: Store, count: int) -> None:
    """Supersede a fact in twenty."""
    found = [grain for number, grain in enumerate(store.scan("fact")) if number % 20 == 0][: count // 20]
    with store.act() as act:
        for number, old in enumerate(found):
            fields = {name: old.fields[name] for name in ("subject", "relation", "object", "confidence")}
            fields["object"] += " again"
            if number % 5 == 0:
                fields["valid_to"] = NOW - number
            act.supersede(
                old.address,
                make_grain("fact", fields, namespace=old.namespace, created_at=old.created_at + 1),
            )


def timed(name: str, call: Callable[[], object]) -> None:
    took = []
    for _ in range(10):
        began = time.perf_counter_ns()
        call()
        took.append((time.perf_counter_ns() - began) / 1e6)
    print(f"{name:<44} {took[0]:>9.2f} {median(took[1:]):>9.2f}")


def name_of(lens: Lens) -> str:
    return " ".join(
        part for part in (lens.view, lens.type, "" if lens.order == "newest" else lens.order) if part
    )


def measure(memory: Memory, words: list[str]) -> None:
    """Every panel."""
    print(f"{'ms':<44} {'first':>9} {'median':>9}")
    for lens in LENSES:
        timed(f"{name_of(lens)}: first slice, counted", lambda lens=lens: memory.browse(lens, 0, ROWS))
        first = memory.browse(lens, 0, ROWS)
        total = first.total
        if total <= ROWS:
            continue
        known = (first.start + len(first.rows) - 1, first.rows[-1].key)
        timed(
            "  the next slice",
            lambda lens=lens, total=total, known=known: memory.browse(
                lens, ROWS, ROWS, anchor=known, total=total
            ),
        )
        timed(
            "  the last slice", lambda lens=lens, total=total: memory.browse(lens, total, ROWS, total=total)
        )
        last = memory.browse(lens, total, ROWS, total=total).rows[0].address
        timed(
            "  around a grain near its end",
            lambda lens=lens, last=last: memory.browse(lens, 0, ROWS, at=last),
        )
    for text in (words[0], f"{words[0]} {words[1]}", words[-1], words[0][:3] + "*"):
        timed(f"search {text[:30]}", lambda text=text: memory.browse(Lens(text=text), 0, 200))
    facts = memory.browse(Lens("superseded"), 0, 1).rows or memory.browse(Lens(type="fact"), 0, 1).rows
    grain = facts[0].grain
    if grain is not None:
        timed("everything about a grain", lambda: memory.dossier(grain.address))
        for depth in (1, 2, 3):
            name = f"what surrounds a thing, {depth} of 3 steps"
            timed(name, lambda depth=depth: memory.neighbourhood(str(grain.get("subject")), depth))


def main() -> None:
    """Build the file, then ask it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--grains", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "bench.deja"
        with Store.open(path) as store:
            _, words = fill(store, options.grains, options.seed, Report(as_json=False, quiet=True))
            age(store, options.grains)
        with Memory.open(path, read_only=True, clock=lambda: NOW) as memory:
            measure(memory, words)


if __name__ == "__main__":
    main()
