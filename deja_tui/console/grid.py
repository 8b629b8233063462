# SPDX-License-Identifier: Apache-2.0
"""A screen in memory: what a stream of terminal codes would show, cell by cell.

Only what a full-screen program needs is understood: text, placing the cursor, colours and attributes. Everything else
is handed back in its order, to be passed on as it is.

* GRID-1  Text is written where the cursor stands; there is no wrapping, and what goes beyond the edge is not there.
* GRID-2  A blank cell has no colour of its own but that of its background: blanks that look alike are equal.
* GRID-3  A character of two cells leaves its second cell empty; a mark that joins the one before shares its cell. A row
  that holds either is *uncertain*: terminals do not agree about its widths.
* GRID-4  An unknown sequence changes no cell.
* GRID-5  A colour that stands in the fixed part of the 256-colour palette is known by its number there: the same colour, in
  half the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from deja_tui.text import cells


class Style(NamedTuple):
    """Colours as the parameters that set them ("" is the terminal's own), and attributes in rising order."""

    fg: str = ""
    bg: str = ""
    attrs: tuple[int, ...] = ()


PLAIN: Final = Style()
# attributes that show on a blank: underline, reverse, strike, double underline, overline
VISIBLE: Final = frozenset((4, 7, 9, 21, 53))
_OFF: Final = {22: (1, 2), 23: (3,), 24: (4, 21), 25: (5, 6), 27: (7,), 28: (8,), 29: (9,), 55: (53,)}
_TOKEN: Final = re.compile(
    r"\x1b\[([0-9;:]*)m"  # colours and attributes
    r"|\x1b\[([0-9]*)(?:;([0-9]*))?H"  # place the cursor
    r"|(\n)|(\r)"
    r"|(\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_].*?\x1b\\|\x1b[ -/]*[0-~]|[\x00-\x1f\x7f])",
    re.DOTALL,
)
_LEVELS: Final = (0, 95, 135, 175, 215, 255)
_CUBE: Final = [(red, green, blue) for red in _LEVELS for green in _LEVELS for blue in _LEVELS]
_GREYS: Final = [(8 + 10 * step,) * 3 for step in range(24)]
_NUMBERS: Final = {
    ";".join(map(str, ("2", *colour))): f"5;{16 + place}" for place, colour in enumerate([*_CUBE, *_GREYS])
}
Cell = tuple[str, Style]
EMPTY: Final[Cell] = (" ", PLAIN)


@lru_cache(maxsize=4_096)
def styled(style: Style, parameters: str) -> Style:
    """``style`` after the colour sequence with these parameters."""
    fg, bg, attrs = style.fg, style.bg, set(style.attrs)
    codes = parameters.split(";") if parameters else ["0"]
    at = 0
    while at < len(codes):
        code = int(codes[at]) if codes[at].isdigit() else 0 if not codes[at] else -1
        at += 1
        if code == 0:
            fg, bg, attrs = "", "", set()
        elif code in (38, 48):
            size = 4 if codes[at : at + 1] == ["2"] else 2
            named = ";".join(codes[at : at + size])
            told = f"{code};{_NUMBERS.get(named, named)}"
            at += size
            fg, bg = (told, bg) if code == 38 else (fg, told)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            fg = str(code)
        elif 40 <= code <= 47 or 100 <= code <= 107:
            bg = str(code)
        elif code in (39, 49):
            fg, bg = ("", bg) if code == 39 else (fg, "")
        elif code in _OFF:
            attrs.difference_update(_OFF[code])
        elif code > 0:
            attrs.add(code)
    return Style(fg, bg, tuple(sorted(attrs)))


@lru_cache(maxsize=1_024)
def blank(style: Style) -> Style:
    """The style of a blank (GRID-2)."""
    return style if VISIBLE.intersection(style.attrs) else Style("", style.bg, ())


@lru_cache(maxsize=8_192)
def width(char: str) -> int:
    """Cells of one character: 0, 1 or 2."""
    return 1 if " " <= char <= "~" else cells(char)


def doubtful(row: Sequence[Cell]) -> bool:
    """Whether terminals may disagree about the widths in a row (GRID-3)."""
    return any(len(char) != 1 for char, _ in row)


class Grid:
    """A screen of ``columns`` × ``lines`` cells, all blank at first, on the background of ``ground``."""

    def __init__(self, columns: int, lines: int, ground: Style = PLAIN) -> None:
        self.columns = columns
        self.lines = lines
        self.rows: list[list[Cell]] = [[(" ", ground)] * columns for _ in range(lines)]
        self.x = 0
        self.y = 0
        self.style = PLAIN

    def feed(self, data: str) -> list[str]:
        """Take what a program writes; the sequences that are not about cells, in their order (GRID-4)."""
        passed: list[str] = []
        at = 0
        for found in _TOKEN.finditer(data):
            if found.start() > at:
                self._text(data[at : found.start()])
            at = found.end()
            colours, line, column, feed, back, other = found.groups()
            if colours is not None:
                self.style = styled(self.style, colours)
            elif line is not None:
                self._place(int(line or 1) - 1, int(column or 1) - 1)
            elif feed is not None:
                self._place(self.y + 1, 0)
            elif back is not None:
                self.x = 0
            elif other is not None:
                passed.append(other)
        if at < len(data):
            self._text(data[at:])
        return passed

    def copy_from(self, other: Grid) -> None:
        """Show what ``other`` shows."""
        self.rows = [list(row) for row in other.rows]

    def _place(self, line: int, column: int) -> None:
        self.y = max(0, min(line, self.lines - 1))
        self.x = max(0, column)

    def _text(self, text: str) -> None:
        row, style = self.rows[self.y], self.style
        bare = blank(style)
        for char in text:
            size = width(char)
            if size == 1 and self.x < self.columns:
                self._cover(row)
                row[self.x] = (char, bare if char == " " else style)
                self.x += 1
            elif size == 0:
                self._join(row, char)
            elif size == 2:
                self._wide(row, char, style)
            else:
                self.x += size

    def _cover(self, row: list[Cell]) -> None:
        """Half of a character of two cells cannot stay when its other half is written over."""
        if not row[self.x][0] and self.x:
            row[self.x - 1] = (" ", blank(row[self.x - 1][1]))
        if self.x + 1 < self.columns and not row[self.x + 1][0]:
            row[self.x + 1] = (" ", blank(row[self.x + 1][1]))

    def _join(self, row: list[Cell], mark: str) -> None:
        at = min(self.x, self.columns) - 1
        while at > 0 and not row[at][0]:
            at -= 1
        if at >= 0:
            row[at] = (row[at][0] + mark, row[at][1])

    def _wide(self, row: list[Cell], char: str, style: Style) -> None:
        if self.x + 1 < self.columns:
            self._cover(row)
            row[self.x] = (char, style)
            self.x += 1
            self._cover_second(row)
            row[self.x] = ("", style)
            self.x += 1
        else:
            self.x += 2

    def _cover_second(self, row: list[Cell]) -> None:
        if self.x + 1 < self.columns and not row[self.x + 1][0] and row[self.x][0]:
            row[self.x + 1] = (" ", blank(row[self.x + 1][1]))
