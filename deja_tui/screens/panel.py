# SPDX-License-Identifier: Apache-2.0
"""What stands on a screen as text, past its edges too: as a whole for a pager, and looked through for a word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from textual.screen import Screen

from deja_tui.present.line import plain
from deja_tui.text import fold
from deja_tui.widgets.pager import Pager
from deja_tui.widgets.rows import Rows

# Rows or lines that are looked through, or handed to a pager, at once.
MOST_LINES: Final = 20_000


def text_lines(screen: Screen[None]) -> list[str]:
    """Every list and text that is displayed, as plain lines, with an empty one between two of them."""
    lines: list[str] = []
    for part in screen.query("*"):
        if isinstance(part, (Pager, Rows)) and part.display and _count(part):
            drawn = [_line(part, place) for place in range(_count(part))]
            lines += [*([""] if lines else []), *drawn]
    return [one.rstrip() for one in lines]


def searched(screen: Screen[None]) -> Rows | Pager | None:
    """Where a word is looked for: the list of a screen, or else its text."""
    rows = next((one for one in screen.query(Rows) if one.display), None)
    return rows or next((one for one in screen.query(Pager) if one.display), None)


def matches(part: Rows | Pager | None, sought: str) -> list[int]:
    """The rows or lines that hold a folded text."""
    return [place for place in range(_count(part)) if part and sought in fold(_line(part, place))]


def standing(part: Rows | Pager | None) -> int:
    """The row or line one is on; of a text the last match, or the first line that is to be seen."""
    if isinstance(part, Rows):
        return part.selected
    if part is None:
        return 0
    return part.marked if part.marked is not None else part.top


def stand_on(part: Rows | Pager | None, place: int) -> None:
    """Go to a row or line."""
    if isinstance(part, Rows):
        part.move_to(place)
    elif part is not None:
        part.mark(place)


def following(places: Sequence[int], at: int, by: int, *, here: bool = False) -> int:
    """Which of some places (rising, at least one) comes next (1) or before (-1), round the end; ``here``: ``at`` counts."""
    if by > 0:
        return next((place for place in places if place > at or (here and place == at)), places[0])
    return next((place for place in reversed(places) if place < at), places[-1])


def _count(part: Rows | Pager | None) -> int:
    if part is None:
        return 0
    return min(len(part.keys), MOST_LINES) if isinstance(part, Rows) else len(part.lines)


def _line(part: Rows | Pager, place: int) -> str:
    return plain(part.draw(place) if isinstance(part, Rows) else part.lines[place])
