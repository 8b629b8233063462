# SPDX-License-Identifier: Apache-2.0
"""A page whose lines can be followed: each line, the section it stands in, and where it leads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from deja_tui.present.line import Line, heading, wrap

GRAIN: Final = "grain"
RECOMMENDATION: Final = "recommendation"
TRAIL: Final = "trail"


@dataclass(frozen=True, slots=True)
class Item:
    """One line.

    Attributes:
        line: what is shown. section: the id of the section whose rule this line is; empty for every other line.
        leads: what it leads to, `GRAIN`, `RECOMMENDATION` or `TRAIL` (of a recommendation); empty when nowhere.
        address: of what it leads to.
        about: for a line of a graph, the thing at the far end.
    """

    line: Line
    section: str = ""
    leads: str = ""
    address: str = ""
    about: str = ""


def section(id: str, title: str, room: int) -> Item:
    """The rule a section begins with."""
    return Item(heading(title, room), section=id)


def texts(lines: Iterable[Line], room: int, hang: int = 4) -> list[Item]:
    """Lines that lead nowhere, wrapped."""
    return [Item(piece) for one in lines for piece in wrap(one, room, hang)]


def link(shown: Line, room: int, leads: str, address: str, hang: int = 4, about: str = "") -> list[Item]:
    """A line that leads somewhere; where it is wrapped, each piece of it does."""
    return [Item(piece, leads=leads, address=address, about=about) for piece in wrap(shown, room, hang)]


def sections(items: Sequence[Item]) -> list[int]:
    """The places of the rules, and of the beginning."""
    return sorted({0, *(place for place, item in enumerate(items) if item.section)})
