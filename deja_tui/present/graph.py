# SPDX-License-Identifier: Apache-2.0
"""What surrounds a thing as an indented tree. Each thing and each fact stands in it once, so a ring ends by itself."""

from __future__ import annotations

from typing import Final

from deja_tui.present.line import Line, Span, clip, line
from deja_tui.present.linked import GRAIN, Item
from deja_tui.present.words import fenced, named, plural, short
from deja_tui.store.graph import Edge, Neighbourhood
from deja_tui.text import fold

_STEP: Final = "   "


def head(near: Neighbourhood) -> Line:
    """The thing, where, and how much there is."""
    total = near.totals.get(fold(near.entity), 0)
    told = plural(total, "fact") if total else "no live fact"
    return line(
        named(near.entity, "strong"), Span("  in ", "dim"), named(near.namespace), Span(f"  {told}", "dim")
    )


def tree(near: Neighbourhood, room: int) -> list[Item]:
    """The lines below the head, each leading to the fact it is."""
    levels = _levels(near)
    told: set[str] = set()
    out: list[Item] = []

    def grow(thing: str, depth: int) -> None:
        shown = 0
        for edge in near.edges.get(thing, ()):
            if edge.grain.address in told:
                shown += 1
                continue
            told.add(edge.grain.address)
            shown += 1
            end = fold(edge.other)
            opens = levels.get(end) == depth + 1 and end in near.edges
            above = end in levels and not opens and bool(near.edges.get(end))
            if opens:
                levels[end] = -1  # a thing is told where it comes first
            out.append(_item(edge, depth, above, room))
            if opens:
                grow(end, depth + 1)
        missing = near.totals.get(thing, shown) - shown
        if missing > 0:
            out.append(Item(line(_STEP * (depth + 1), Span(f"… {missing:,} more", "dim"))))

    root = fold(near.entity)
    levels[root] = -1
    grow(root, 0)
    return out


def _levels(near: Neighbourhood) -> dict[str, int]:
    """How many steps each told thing is away."""
    found = {fold(near.entity): 0}
    for thing, edges in near.edges.items():  # in the order of their distance
        for edge in edges:
            found.setdefault(fold(edge.other), found.get(thing, 0) + 1)
    return found


def _item(edge: Edge, depth: int, above: bool, room: int) -> Item:
    sign = "→" if edge.out else "←"
    shown = line(
        _STEP * (depth + 1),
        Span(f"{sign} ", "key"),
        named(edge.relation, "dim"),
        " ",
        fenced(edge.other, 300) if edge.out else named(edge.other),
        Span("  (told elsewhere)", "dim") if above else "",
        Span(f"  {short(edge.grain.address)}", "address"),
    )

    return Item(clip(shown, room), leads=GRAIN, address=edge.grain.address, about=edge.other)
