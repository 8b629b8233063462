# SPDX-License-Identifier: Apache-2.0
"""How costs grow with the grains: ``python benchmarks/growth.py FIGURES.json [--svg FILE]``.

FIGURES.json is what ``benchmarks/run.py --json`` wrote. The slope between two sizes is log(cost) over log(grains): 0 is a cost that
stays, 1 one that grows as the file does. What goes over the whole file may grow as n log n; everything else must not grow
as the file does. Exits 1 where one does.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import escape

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.run import ROWS, Row, shown

Costs = Mapping[int, float]
# Medians of a machine with other work move by a quarter; a slope between sizes ten times apart moves by log10 of that.
NOISE = 0.1
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 560, 60, 260, 20, 50
_SHADES = ("#3b6ea5", "#b5562b", "#3f7f4f", "#8a4f9e", "#a08a1c", "#2f8f8f", "#a33f5f", "#5b5b5b")


def costs_of(row: Row, figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> dict[int, float]:
    """Size → cost of the whole operation, in the unit of the row."""
    found = {int(size): at[row.label]["ours"] for size, at in figures.items() if row.label in at}
    each = row.label.endswith("a grain")
    return {size: value * (size if each else 1) for size, value in sorted(found.items())}


def slopes(costs: Costs) -> list[float]:
    """Between each size and the next."""
    sizes = sorted(costs)
    return [
        math.log(costs[large] / costs[small]) / math.log(large / small) for small, large in pairwise(sizes)
    ]


def allowed(row: Row, small: int, large: int) -> float:
    """The steepest slope between two sizes: that of n log n for what goes over the whole file, else half of the file's."""
    steepest = math.log(large * math.log(large) / (small * math.log(small))) / math.log(large / small)
    return (steepest if row.whole else 0.5) + NOISE


def table(rows: Sequence[tuple[Row, Costs]]) -> tuple[list[str], bool]:
    """Markdown, and whether nothing grows faster than it may."""
    sizes = sorted({size for _, costs in rows for size in costs})
    head = " | ".join(f"{size:,}" for size in sizes)
    lines = [f"| operation | unit | {head} | slopes | |", f"|---|---|{'---|' * len(sizes)}---|---|"]
    good = True
    for row, costs in rows:
        found = slopes(costs)
        pairs = pairwise(sorted(costs))
        held = all(slope <= allowed(row, *pair) for slope, pair in zip(found, pairs, strict=True))
        good &= held
        told = " | ".join(shown(costs.get(size)) for size in sizes)
        label = row.label.replace(", a grain", ", all")
        steps = " · ".join(f"{slope:.2f}" for slope in found)
        lines.append(
            f"| {label} | {row.unit} | {told} | {steps} | {'' if held else 'grows faster than it may'} |"
        )
    return lines, good


# --- the picture ------------------------------------------------------------------------------------


def picture(rows: Sequence[tuple[Row, Costs]]) -> str:
    """An SVG: cost over grains, both logarithmic, each operation as a multiple of its cost at the smallest size."""
    lines = [(row, {size: cost / costs[min(costs)] for size, cost in costs.items()}) for row, costs in rows]
    sizes = sorted({size for _, costs in lines for size in costs})
    low = min(0.5, *(value for _, costs in lines for value in costs.values()))
    high = max(2.0, *(value for _, costs in lines for value in costs.values()), sizes[-1] / sizes[0])

    def at(size: float, value: float) -> tuple[float, float]:
        x = LEFT + (WIDTH - LEFT - RIGHT) * math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0])
        y = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(value / low) / math.log(high / low)
        return x, y

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        *axes(sizes, low, high, at),
        polyline([at(size, size / sizes[0]) for size in sizes], "#999999", "6 4"),
    ]
    ends: list[tuple[float, str, str]] = []
    for number, (row, costs) in enumerate(lines):
        shade = _SHADES[number % len(_SHADES)]
        dashes = ("", "2 3", "8 3")[number // len(_SHADES) % 3]
        parts.append(polyline([at(size, costs[size]) for size in sorted(costs)], shade, dashes))
        ends.append((at(max(costs), costs[max(costs)])[1], row.label.replace(", a grain", ", all"), shade))
    ends.append((at(sizes[-1], sizes[-1] / sizes[0])[1], "as the file grows", "#777777"))
    parts.extend(labels(ends))
    return "\n".join([*parts, "</svg>", ""])


def axes(
    sizes: Sequence[int], low: float, high: float, at: Callable[[float, float], tuple[float, float]]
) -> list[str]:
    parts = []
    for size in sizes:
        x, y = at(size, low)
        parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{y:.1f}" stroke="#eeeeee"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{size:,}</text>')
    power = math.ceil(math.log10(low))
    while 10**power <= high:
        _, y = at(sizes[0], 10**power)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#eeeeee"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">×{10**power:,g}</text>')
        power += 1
    parts.append(
        f'<text x="{LEFT}" y="{HEIGHT - 12}">grains; cost as a multiple of that at {sizes[0]:,}</text>'
    )
    return parts


def polyline(points: Sequence[tuple[float, float]], shade: str, dashes: str) -> str:
    told = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline points="{told}" fill="none" stroke="{shade}" stroke-width="1.6"{dashed}/>'


def labels(ends: Sequence[tuple[float, str, str]]) -> list[str]:
    """The names beside the ends of the lines, moved apart where two would stand on each other."""
    parts: list[str] = []
    placed: list[tuple[float, str, str]] = []
    free = float(TOP)
    for y, name, shade in sorted(ends):
        free = max(y, free + 14)
        placed.append((free, name, shade))
    over = max(0.0, placed[-1][0] - (HEIGHT - 20))
    for y, name, shade in placed:
        x = WIDTH - RIGHT + 8
        parts.append(f'<text x="{x}" y="{y - over + 4:.1f}" fill="{shade}">{escape(name)}</text>')
    return parts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("figures", type=Path)
    parser.add_argument("--svg", type=Path, help="draw the picture there")
    options = parser.parse_args()
    figures = json.loads(options.figures.read_text())
    rows = [(row, costs) for row in ROWS if len(costs := costs_of(row, figures)) > 1]
    lines, good = table(rows)
    print("\n".join(lines))
    if options.svg:
        options.svg.write_text(picture(rows))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
