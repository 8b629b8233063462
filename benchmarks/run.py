# SPDX-License-Identifier: Apache-2.0
"""Everything in one table: ``python benchmarks/run.py --grains 10000,100000 --peer PYTHON --alone 1000,1000000 --json FILE``.

Runs ``store.py``, ``sync.py``, ``loop.py`` and ``size.py`` one after the other on the same corpus and prints a Markdown table a
size: ours, the better reference, the ratio with the least and the most of a turn, the bar. CPU time (user and system) of the process
that does the work. ``--alone`` names sizes at which only ours is run. ``benchmarks/growth.py`` reads what ``--json`` wrote.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
# from how many grains on a ratio is held against its bar
FROM = 100_000


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes:
        label: what is done.
        unit: of the figures.
        script: which of the scripts tells it, and ``name``: under which name.
        bar: the most that ours may take of the reference (a ratio), or None.
        most: the most that ours may take at all, in ``unit``, or None.
        whole: whether it goes over the whole file, so that its cost may grow with the grains; a figure that is told for
            one grain counts as whole, too.
    """

    label: str
    unit: str
    script: str
    name: str
    bar: float | None = None
    most: float | None = None
    whole: bool = False


ROWS: tuple[Row, ...] = (
    Row("bulk add, a grain", "µs", "store", "bulk add, a grain", bar=0.25, whole=True),
    Row("add one, durable, searchable", "µs", "store", "add one, durable, searchable", bar=0.7),
    Row("supersede, durable", "µs", "store", "supersede, durable", bar=0.15),
    Row("open, first read, close", "µs", "store", "open, first read, close", most=5_000.0),
    Row("recall, typical subject", "µs", "store", "recall, typical", bar=0.6),
    Row("recall, hottest subject", "µs", "store", "recall, hottest subject"),
    Row("latest", "µs", "store", "latest", bar=0.7),
    Row("history of 100", "µs", "store", "history of 100", bar=0.3),
    Row("search, rare word", "µs", "store", "search, rare word", bar=0.6),
    Row("search, three words", "µs", "store", "search, three words", bar=0.6),
    Row("search, commonest word", "µs", "store", "search, commonest word", most=50_000.0),
    Row("import, a grain", "µs", "sync", "import, a grain", bar=0.05, whole=True),
    Row("bundle, whole", "µs", "sync", "bundle, whole", bar=0.3, whole=True),
    Row("verify", "µs", "store", "verify", bar=0.6, whole=True),
    Row("first run", "ms", "loop", "first pass, ms", whole=True),
    # failures and calls of the whole window are counted anew
    Row("run over 20 new grains", "ms", "loop", "20 new grains, ms", most=50.0, whole=True),
    Row("gated no-op run", "ms", "loop", "gated no-op, ms", most=1.0),
    Row("peak memory of the runs", "MiB", "loop", "peak memory, MiB", most=150.0),
    Row("peak memory of 1,000 recalls", "MiB", "size", "peak MiB of 1,000 recalls and 50 searches"),
    Row("file, a grain", "bytes", "store", "bytes a grain", most=600.0, whole=True),
)


@dataclass(frozen=True, slots=True)
class Figure:
    """What one row cost at one size; ``peer`` None: not measured there."""

    ours: float
    peer: float | None = None
    least: float | None = None
    most: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.ours / self.peer if self.peer else None


# --- running the scripts ----------------------------------------------------------------------------


def told(script: str, *arguments: object) -> Any:
    """What a script prints with ``--json``; it exits 1 where a bar is missed, which is no failure here."""
    command = [sys.executable, str(HERE / f"{script}.py"), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1, 2):
        raise SystemExit(f"{script}.py ended with {done.returncode}")
    return json.loads(done.stdout) if done.stdout.strip().startswith(("{", "[")) else None


def measured(
    grains: int, peers: Sequence[str], options: argparse.Namespace
) -> dict[str, Mapping[str, Figure]]:
    """The figures of each script at one size, by the names the script uses."""
    common = ("--grains", grains, "--seed", options.seed)
    where = ("--dir", options.dir) if options.dir else ()
    beside = [part for python in peers for part in ("--peer", python)]
    rounds = options.rounds if peers else 1
    elsewhere = ("--dir", options.bundle_dir) if options.bundle_dir else where
    store = told("store", *common, *where, "--rounds", rounds, "--json", *beside)
    sync = [
        of_sync(told("sync", *common, *elsewhere, "--rounds", 1, "--json", *beside[:2]))
        for _ in range(rounds)
    ]
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        out = Path(folder) / "loop.json"
        loop = []
        for _ in range(rounds):
            told("loop", *common, *where, "--repeat", 1, "--json", out, *beside[:2])
            loop.append(of_loop(json.loads(out.read_text())[0]))
    size = told("size", *common, *where, "--json")
    return {
        "store": {name: of_store(row) for name, row in store.items()},
        "sync": of_turns(sync),
        "loop": of_turns(loop),
        "size": {name: Figure(value) for name, value in size.items()},
    }


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def of_store(row: Mapping[str, Any]) -> Figure:
    if "ours" in row:
        return Figure(row["ours"], row[row["better"]], row["least"], row["most"])
    return Figure(float(row.get("cpu_us", row.get("value", 0))))


def of_sync(rows: Mapping[str, Any]) -> dict[str, Figure]:
    figures = {}
    for name, row in rows.items():
        other = rows.get(f"reference: {name}")
        if "cpu_us" in row:
            figures[name] = Figure(row["cpu_us"], other["cpu_us"] if other else None)
    return figures


def of_loop(row: Mapping[str, Any]) -> dict[str, Figure]:
    return {name: Figure(row[name], row["peer"].get(name)) for name in row if is_number(row[name])}


def of_turns(turns: Sequence[Mapping[str, Figure]]) -> dict[str, Figure]:
    """Medians of the turns of either side, with the least and the most ratio of a turn."""
    figures = {}
    for name in turns[0]:
        found = [turn[name] for turn in turns]
        theirs = [figure.peer for figure in found if figure.peer]
        ratios = [figure.ratio for figure in found if figure.ratio is not None] if len(found) > 1 else []
        figures[name] = Figure(
            median(figure.ours for figure in found),
            median(theirs) if theirs else None,
            min(ratios, default=None),
            max(ratios, default=None),
        )
    return figures


# --- telling ----------------------------------------------------------------------------------------


def verdict(row: Row, figure: Figure, grains: int) -> str:
    """Whether the bar of a row holds, in words; empty where there is none or nothing to compare.

    The ratios of design §8 are meant for 100,000 grains; fixed costs weigh more in a smaller file.
    """
    if row.bar is not None and figure.ratio is not None and grains >= FROM:
        return f"≤ {row.bar}: {'holds' if figure.ratio <= row.bar else 'missed'}"
    if row.most is not None:
        return f"≤ {row.most:,.0f} {row.unit}: {'holds' if figure.ours <= row.most else 'missed'}"
    return ""


def shown(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"


def table(grains: int, figures: Mapping[str, Figure]) -> list[str]:
    """One size as Markdown."""
    lines = [
        f"### {grains:,} grains",
        "",
        "| operation | unit | ours | reference | ratio | range | bar |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in ROWS:
        figure = figures.get(row.label)
        if figure is None:
            continue
        ratio = "–" if figure.ratio is None else f"{figure.ratio:.2g}"
        spread = (
            "–" if figure.least is None or figure.most is None else f"{figure.least:.2g} to {figure.most:.2g}"
        )
        cells = (
            row.label,
            row.unit,
            shown(figure.ours),
            shown(figure.peer),
            ratio,
            spread,
            verdict(row, figure, grains),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--grains", default="10000,100000", help="sizes side by side, by commas")
    parser.add_argument("--alone", default="", help="sizes at which only ours is run, by commas")
    parser.add_argument(
        "--peer", metavar="PYTHON", action="append", default=[],
        help="a Python that can import the reference product; may be repeated, the first is asked for bundles and runs",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=3, help="turns side by side")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--dir", help="where to put the files; a temporary folder by default")
    parser.add_argument(
        "--bundle-dir",
        help="where the bundles and their imports go: in memory (tmpfs) the reference need not wait for each of its writes",
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures there, after each size")
    options = parser.parse_args()
    sizes = {int(size): options.peer for size in options.grains.split(",") if size}
    sizes |= {int(size): [] for size in options.alone.split(",") if size}
    kept: dict[str, Any] = {}
    for grains in sorted(sizes):
        found = measured(grains, sizes[grains], options)
        figures = {row.label: found[row.script][row.name] for row in ROWS if row.name in found[row.script]}
        print("\n".join(table(grains, figures)), flush=True)
        kept[str(grains)] = {label: asdict(figure) for label, figure in figures.items()}
        if options.json:
            Path(options.json).write_text(json.dumps(kept, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
