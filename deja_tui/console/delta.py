# SPDX-License-Identifier: Apache-2.0
"""The fewest bytes from one screen to the next: changed cells only, rows shifted where they moved.

* DELTA-1  After the bytes the terminal shows the wanted grid, whatever it showed of the former one.
* DELTA-2  Rows that moved as a block are shifted by a scroll region when that saves more than it costs.
* DELTA-3  A row that is uncertain is written anew as a whole, and the cursor is placed again after every character whose
  width terminals disagree about (GRID-3).
* DELTA-4  The line is erased to its end in a background of its own only where the terminal says that it erases in the colour
  that is set (terminfo's ``bce``); else only where the terminal's own background is wanted.
* DELTA-5  A blank is written in whatever colour of text is set: only its background shows.
* DELTA-6  The cursor is moved by the shortest way there is, and a short gap of cells that did not change is written again
  where that is shorter than to jump over it.
* DELTA-7  A row of which much becomes blank is erased before it is written where that is shorter.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import compress
from operator import ne
from typing import Final

from deja_tui.console.grid import PLAIN, VISIBLE, Cell, Grid, Style, doubtful, width

_OFF_OF: Final = {1: 22, 2: 22, 3: 23, 4: 24, 5: 25, 6: 25, 7: 27, 8: 28, 9: 29, 21: 24, 53: 55}
_JOIN: Final = 8  # a longer gap of equal cells is jumped over without asking what is shorter
_LEAST_MOVED: Final = 3
_LEAST_SAVED: Final = 24  # bytes of the sequence that scrolls
_MOVE: Final = 6  # bytes that place the cursor
_DRESS: Final = 9  # bytes of a colour
_TRIED: Final = 3  # distances that rows may have moved by
_WORTH: Final = 8  # blanks from which on a row may be erased first
_EDGE: Final = -2  # the cursor stands in the last column or behind it: terminals differ
_UNKNOWN: Final[Cell] = ("\0", PLAIN)  # a cell that is like none that can be wanted


@lru_cache(maxsize=8_192)
def restyle(now: Style, then: Style) -> str:
    """The colour sequence that leads from one style to another, "" when they are one."""
    if now == then:
        return ""
    if then == PLAIN:
        return "\x1b[m"
    whole = [str(attr) for attr in then.attrs] + [part for part in (then.fg, then.bg) if part]
    anew = "\x1b[0;" + ";".join(whole) + "m"
    gone = [attr for attr in now.attrs if attr not in then.attrs]
    if any(attr not in _OFF_OF for attr in gone):
        return anew
    off = list(dict.fromkeys(_OFF_OF[attr] for attr in gone))
    # one code switches bold and dim off together: what is still wanted of them is switched on again
    kept = [a for a in now.attrs if a in then.attrs and _OFF_OF.get(a) not in off]
    codes = [str(code) for code in off] + [str(attr) for attr in then.attrs if attr not in kept]
    if now.fg != then.fg:
        codes.append(then.fg or "39")
    if now.bg != then.bg:
        codes.append(then.bg or "49")
    change = "\x1b[" + ";".join(codes) + "m"
    return change if len(change) <= len(anew) else anew


class Pen:
    """What the terminal's cursor stands on and writes with, and the bytes that are collected for it.

    ``bce``: the terminal erases in the background that is set (DELTA-4).
    """

    def __init__(self, *, bce: bool = False) -> None:
        self.x = self.y = -1  # unknown
        self.style: Style | None = None
        self.bce = bce
        self.out: list[str] = []

    def forget(self) -> None:
        """Nothing is known of the terminal any more."""
        self.x = self.y = -1
        self.style = None

    def take(self) -> str:
        """The bytes so far."""
        told, self.out = "".join(self.out), []
        return told

    def size(self) -> int:
        """How many characters were collected."""
        return sum(map(len, self.out))

    def twin(self) -> Pen:
        """A pen in the same state, to try another way with."""
        other = Pen(bce=self.bce)
        other.become(self)
        return other

    def become(self, other: Pen) -> None:
        """Take over another pen's state, and what it collected."""
        self.x, self.y, self.style, self.out = other.x, other.y, other.style, list(other.out)

    def place(self, x: int, y: int) -> None:
        """Move the cursor, by the shortest way (DELTA-6)."""
        if (x, y) != (self.x, self.y):
            self.out.append(min(self._ways(x, y), key=len))
            self.x, self.y = x, y

    def _ways(self, x: int, y: int) -> list[str]:
        ways = [(f"\x1b[{y + 1}H" if y else "\x1b[H") if x == 0 else f"\x1b[{y + 1};{x + 1}H"]
        if self.y < 0:
            return ways
        if x == 0 and y - self.y in (0, 1):
            ways.append("\r\n" if y > self.y else "\r")
        elif y == self.y and self.x >= 0:
            ways.append(_by(x - self.x, "C", "D"))
        elif x == self.x:
            ways.append(_by(y - self.y, "B", "A"))
        return ways

    def dress(self, style: Style) -> None:
        """Write in ``style`` from here on."""
        self.out.append(
            ("\x1b[m" + restyle(PLAIN, style)) if self.style is None else restyle(self.style, style)
        )
        self.style = style

    def write(self, cells: Sequence[Cell], columns: int) -> None:
        """Write cells from where the cursor stands."""
        for char, style in cells:
            if not char:
                continue
            if style != self.style:
                needed = _needed(self.style, char, style)
                if needed != self.style:
                    self.dress(needed)
            self.out.append(char)
            self.x += width(char[0])
            if len(char) > 1 or not " " <= char <= "~":
                self._doubt(char)
        if self.x >= columns:
            self.x = _EDGE

    def _doubt(self, char: str) -> None:
        """After a character whose width is uncertain the cursor is placed again (DELTA-3)."""
        if len(char) > 1 or width(char) == 2:
            x, y = self.x, self.y
            self.x = self.y = -1
            self.place(x, y)

    def erase_line(self, ground: str = "") -> None:
        """Erase from the cursor to the end of the line, in the background ``ground`` (DELTA-4)."""
        needed = _needed(self.style, " ", Style("", ground))
        if needed != self.style:
            self.dress(needed)
        self.out.append("\x1b[K")


def _by(distance: int, ahead: str, back: str) -> str:
    verb, count = (ahead, distance) if distance > 0 else (back, -distance)
    return "\b" * count if verb == "D" and count < 4 else f"\x1b[{'' if count == 1 else count}{verb}"


def _needed(now: Style | None, char: str, then: Style) -> Style:
    """The style to write a cell in, coming from ``now``: a blank needs its background only (DELTA-5)."""
    if char != " " or now is None or VISIBLE.intersection(then.attrs):
        return then
    if VISIBLE.intersection(now.attrs):
        return Style(now.fg, then.bg, tuple(attr for attr in now.attrs if attr not in VISIBLE))
    return now if now.bg == then.bg else Style(now.fg, then.bg, now.attrs)


def draw(shown: Grid, wanted: Grid, pen: Pen) -> None:
    """Collect in ``pen`` what makes a terminal that shows ``shown`` show ``wanted``, and let ``shown`` show it, too."""
    changed = [y for y in range(wanted.lines) if shown.rows[y] != wanted.rows[y]]
    if len(changed) >= _LEAST_MOVED:
        _shift(shown, wanted, changed, pen)
        changed = [y for y in range(wanted.lines) if shown.rows[y] != wanted.rows[y]]
    for y in changed:
        if doubtful(wanted.rows[y]) or doubtful(shown.rows[y]):
            _whole_row(wanted, y, pen)
        else:
            _shorter(shown.rows[y], wanted.rows[y], y, pen, wanted.columns)
    shown.copy_from(wanted)


# --- rows -------------------------------------------------------------------------------------------


def _shorter(old: list[Cell], new: list[Cell], y: int, pen: Pen, columns: int) -> None:
    """Draw a row, or erase what changes of it first where that is shorter (DELTA-7)."""
    _, last = new[-1]
    first = next(x for x in range(columns) if old[x] != new[x])
    blanks = sum(cell == new[-1] for cell in new[first:])
    if _erasable(new, pen) == columns or blanks < _WORTH or columns - first < 2 * _WORTH:
        _row(old, new, y, pen, columns)
        return
    other = pen.twin()
    _row(old, new, y, pen, columns)
    other.place(first, y)
    other.erase_line(last.bg)
    _row([*old[:first], *[new[-1]] * (columns - first)], new, y, other, columns)
    if other.size() < pen.size():
        pen.become(other)


def _row(old: list[Cell], new: list[Cell], y: int, pen: Pen, columns: int) -> None:
    end = _erasable(new, pen)
    for first, last in _runs(old, new, end):
        pen.place(first, y)
        pen.write(new[first:last], columns)
    first = next((x for x in range(end, columns) if old[x] != new[x]), columns)
    if first < columns:
        pen.place(first, y)
        if columns - first <= 3 and _needed(pen.style, *new[first]) == pen.style:
            pen.write(new[first:columns], columns)
        else:
            pen.erase_line(new[first][1].bg)


def _erasable(row: list[Cell], pen: Pen) -> int:
    """Where the blanks at the end of a row begin that erasing leaves; its length when there are none (DELTA-4)."""
    end = len(row)
    char, style = last = row[-1]
    if char != " " or VISIBLE.intersection(style.attrs) or (style.bg and not pen.bce):
        return end
    while end and row[end - 1] == last:
        end -= 1
    return end


def _runs(old: list[Cell], new: list[Cell], end: int) -> list[tuple[int, int]]:
    """Spans of changed cells below ``end``; a gap that is shorter to write than to jump over is part of one."""
    spans: list[tuple[int, int]] = []
    x = 0
    while x < end:
        if old[x] == new[x]:
            x += 1
            continue
        first = x
        while x < end and old[x] != new[x]:
            x += 1
        gap = first - spans[-1][1] if spans else _JOIN + 1
        if gap <= _JOIN and _bytes(new[first - gap - 1 : first + 1], gap) <= 0:
            spans[-1] = (spans[-1][0], x)
        else:
            spans.append((first, x))
    return spans


def _bytes(cells: Sequence[Cell], gap: int) -> int:
    """How many bytes more it is to write a gap than to jump over it; before and behind it stands a cell more."""
    first, last = cells[0][1], cells[-1]
    extra = -len(_by(gap, "C", "D")) - len(restyle(first, _needed(first, *last)))
    style = first
    for char, wanted in cells[1:]:
        needed = _needed(style, char, wanted)
        extra += len(restyle(style, needed)) + len(char.encode())
        style = needed
    return extra - len(last[0].encode())


def _whole_row(wanted: Grid, y: int, pen: Pen) -> None:
    """An uncertain row: its line is erased and written anew (DELTA-3)."""
    row = wanted.rows[y]
    end = _erasable(row, pen)
    pen.x = pen.y = -1
    pen.place(0, y)
    pen.erase_line(row[end][1].bg if end < len(row) else "")
    pen.write(row[:end], wanted.columns)
    pen.x = pen.y = -1


# --- shifting ---------------------------------------------------------------------------------------


def _shift(shown: Grid, wanted: Grid, changed: list[int], pen: Pen) -> None:
    """Scroll the block of rows by which most is saved, when much of it is there already, a few rows away (DELTA-2)."""
    places: dict[tuple[Cell, ...], list[int]] = {}
    for y in range(changed[0], changed[-1] + 1):
        if not doubtful(shown.rows[y]):
            places.setdefault(tuple(shown.rows[y]), []).append(y)
    moved: dict[int, int] = {}
    for y in changed:
        if doubtful(wanted.rows[y]) or all(cell == wanted.rows[y][0] for cell in wanted.rows[y]):
            continue
        for from_ in places.get(tuple(wanted.rows[y]), ()):
            if from_ != y:
                moved[from_ - y] = moved.get(from_ - y, 0) + 1
    stay = [_cost(old, new) for old, new in zip(shown.rows, wanted.rows, strict=True)]
    likely = sorted((by for by, rows in moved.items() if rows >= _LEAST_MOVED), key=lambda by: -moved[by])
    found = [_block(shown, wanted, by, stay) for by in likely[:_TRIED]]
    saved, top, bottom, by = max(found, default=(0, 0, 0, 0))
    if saved > _LEAST_SAVED:
        _scroll(shown, top, bottom, by, pen)


def _block(shown: Grid, wanted: Grid, by: int, stay: list[int]) -> tuple[int, int, int, int]:
    """About how many bytes are saved by moving which rows up by ``by``: the saving, top and bottom of the block, ``by``.

    ``stay`` is what each row costs where nothing moves. Rows that come in at an end of the block are written whole.
    """
    void = [_UNKNOWN] * wanted.columns
    lines, count = wanted.lines, abs(by)
    best = (0, 0, 0, by)
    start, gained = 0, 0
    # Along the rows that get another's content the best stretch is the one whose sum of savings is greatest.
    for y in range(max(0, -by), lines - max(0, by)):
        if gained <= 0:
            start, gained = y, 0
        gained += stay[y] - _cost(shown.rows[y + by], wanted.rows[y])
        came_in = range(y + 1, y + 1 + count) if by > 0 else range(start - count, start)
        if gained > best[0]:
            saved = gained + sum(stay[row] - _cost(void, wanted.rows[row]) for row in came_in)
            if saved > best[0]:
                top, bottom = (start, y + by) if by > 0 else (start + by, y)
                best = (saved, top, bottom, by)
    return best


def _cost(old: list[Cell], new: list[Cell]) -> int:
    """About how many bytes one row costs: to get there, its changed cells, a colour for each of their styles."""
    if old == new:
        return 0
    fresh = list(compress(new, map(ne, old, new)))
    blanks = sum(char == " " for char, _ in fresh)
    return _MOVE + len(fresh) - max(0, blanks - _WORTH) + _DRESS * len({style for _, style in fresh})


def _scroll(shown: Grid, top: int, bottom: int, by: int, pen: Pen) -> None:
    verb = "M" if by > 0 else "L"
    count = abs(by)
    pen.out.append(
        f"\x1b[{top + 1};{bottom + 1}r\x1b[{top + 1}H\x1b[{'' if count == 1 else count}{verb}\x1b[r"
    )
    pen.x = pen.y = -1  # terminals differ in where the cursor stands after the region was given up
    # What scrolls in comes in the background that is set, or in the terminal's own: those rows are written whole.
    void = [[_UNKNOWN] * shown.columns for _ in range(count)]
    block = shown.rows[top : bottom + 1]
    shown.rows[top : bottom + 1] = [*block[count:], *void] if by > 0 else [*void, *block[:-count]]
