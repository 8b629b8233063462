# SPDX-License-Identifier: Apache-2.0
"""An editor for a statement: one line that grows as it is needed, with a caret. It only edits and draws.

Which part of a line has which look is told by ``pieces``, so that no language is known here. What is typed is shown
cleaned, like any other text: a pasted escape is dropped, and what hides or reverses is a visible escape.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset
from textual.strip import Strip
from textual.widget import Widget

from deja_tui.present.line import Line, Span, clip, line
from deja_tui.text import cells, clean
from deja_tui.widgets.paint import paint_of
from deja_tui.widgets.reason import Edited

# A key must not wait for the drawing of a book; a longer statement belongs into a script.
MOST: Final = 8_192
MOST_ROWS: Final = 6
PROMPT: Final = "CAL> "
_INDENT: Final = " " * len(PROMPT)
_REVERSE: Final = Style(reverse=True)

Pieces = Callable[[str], "tuple[tuple[str, str], ...]"]
"""Gives the pieces of a line with the meaning of each; put together they are the line."""


# --- editing ----------------------------------------------------------------------------------------


def insert(edited: Edited, typed: str) -> Edited:
    """Put text at the caret. Line ends stay, tabs become blanks, other controls are dropped; at most `MOST` characters."""
    plain = typed.replace("\r\n", "\n").replace("\r", "\n")
    kept = "".join(map(_keep, plain))[: max(0, MOST - len(edited.text))]
    text, caret = edited.text, edited.caret
    return Edited(text[:caret] + kept + text[caret:], caret + len(kept))


def _keep(char: str) -> str:
    if char in "\n\x0b\x0c\x85\u2028\u2029":
        return "\n"
    if char == "\t":
        return " "
    return "" if unicodedata.category(char) in ("Cc", "Cs") else char


def press(edited: Edited, key: str) -> Edited | None:
    """What an editing key does, or None when it is none. Home, End and the deleting keys stay inside the line."""
    text, caret = edited.text, edited.caret
    begins = text.rfind("\n", 0, caret) + 1
    ends = text.find("\n", caret)
    ends = len(text) if ends < 0 else ends
    match key:
        case "ctrl+o" | "shift+enter" | "alt+enter":
            return insert(edited, "\n")
        case "home":
            return replace(edited, caret=begins)
        case "end":
            return replace(edited, caret=ends)
        case "ctrl+u":
            return Edited(text[:begins] + text[caret:], begins)
        case "ctrl+k":
            return Edited(text[:caret] + text[ends:], caret)
        case "ctrl+w":
            inner = Edited(text[begins:caret], caret - begins).key(key) or Edited()
            return Edited(text[:begins] + inner.text + text[caret:], begins + len(inner.text))
        case "up":
            return None if begins == 0 else _on_line(edited, begins - 1, caret - begins)
        case "down":
            return None if ends == len(text) else _on_line(edited, ends + 1, caret - begins)
    return edited.key(key)


def _on_line(edited: Edited, at: int, column: int) -> Edited:
    """The caret on the line that holds the position ``at``, as near to a column as it reaches."""
    begins = edited.text.rfind("\n", 0, at) + 1
    ends = edited.text.find("\n", at)
    ends = len(edited.text) if ends < 0 else ends
    return replace(edited, caret=min(begins + column, ends))


# --- laying out -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unit:
    """A character with the marks on it: where it is in its line, what is shown of it, and in which meaning."""

    start: int
    end: int
    shown: str
    size: int
    meaning: str


@lru_cache(maxsize=64)
def _units(text: str, pieces: Pieces) -> tuple[Unit, ...]:
    """The units of one line."""
    meanings = [meaning for meaning, piece in pieces(text) for _ in piece]
    found: list[Unit] = []
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and unicodedata.category(text[end])[0] == "M":
            end += 1
        shown = clean(text[start:end])
        found.append(Unit(start, end, shown, cells(shown), meanings[start]))
        start = end
    return tuple(found)


@lru_cache(maxsize=64)
def _rows(text: str, pieces: Pieces, room: int) -> tuple[tuple[Unit, ...], ...]:
    """The units of one line in rows of at most ``room`` cells; an empty line is one empty row."""
    rows: list[tuple[Unit, ...]] = []
    row: list[Unit] = []
    used = 0
    for unit in _units(text, pieces):
        if used + unit.size > room and row:
            rows.append(tuple(row))
            row, used = [], 0
        row.append(unit)
        used += unit.size
    return (*rows, tuple(row))


class Statement(Widget):
    """``CAL> RECALL facts WHERE subject = "ana"``. Keys come from the screen, one at a time.

    ``hint`` is what stands there while nothing was typed; ``grown`` is called when it takes another number of rows.
    """

    DEFAULT_CSS = """
    Statement { height: 1; }
    """

    def __init__(self, pieces: Pieces, *, id: str | None = None, hint: Line = ()) -> None:
        super().__init__(id=id)
        self.pieces = pieces
        self.hint = hint
        self.edited = Edited()
        self.active = False
        self.top = 0

    @property
    def text(self) -> str:
        """What was typed."""
        return self.edited.text

    @property
    def room(self) -> int:
        """The cells of a row; one is kept for the caret behind the last character."""
        return max(4, (self.size.width or 80) - len(PROMPT) - 1)

    # --- editing ------------------------------------------------------------------------------------

    def begin(self) -> None:
        """From now on text is typed here."""
        self.active = True
        self.lay()

    def end(self) -> None:
        """No longer; the text stays."""
        self.active = False
        self.lay()

    def put(self, text: str, caret: int | None = None) -> None:
        """Another text, tamed like a pasted one; the caret at its end or where it is wanted."""
        fresh = insert(Edited(), text)
        at = fresh.caret if caret is None else max(0, min(caret, len(fresh.text)))
        self.change(replace(fresh, caret=at))

    def take(self, key: str, character: str | None) -> bool:
        """Use a key press; False when it is no editing key and no text."""
        changed = press(self.edited, key)
        # Esc and a letter in one read arrive as one key with alt: that letter was meant for what Esc leads to.
        chord = key.startswith(("alt+", "ctrl+"))
        if changed is None and character is not None and character.isprintable() and not chord:
            changed = insert(self.edited, character)
        if changed is None:
            return False
        self.change(changed)
        return True

    def paste(self, text: str) -> bool:
        """Insert pasted text; False when not all of it found room."""
        before = len(self.edited.text)
        self.change(insert(self.edited, text))
        return len(self.edited.text) < MOST or before + len(text) <= MOST

    def change(self, edited: Edited) -> None:
        if edited != self.edited:
            self.edited = edited
            self.lay()

    # --- drawing ------------------------------------------------------------------------------------

    @property
    def rows(self) -> list[tuple[int, tuple[Unit, ...]]]:
        """Every row: where its line begins in the text, and its units."""
        found: list[tuple[int, tuple[Unit, ...]]] = []
        begins = 0
        for one in self.edited.text.split("\n"):
            found.extend((begins, row) for row in _rows(one, self.pieces, self.room))
            begins += len(one) + 1
        return found

    def caret_at(self, rows: list[tuple[int, tuple[Unit, ...]]]) -> tuple[int, int]:
        """The row and the unit the caret stands on; the unit behind the last one at the end of a line."""
        caret = self.edited.caret
        for number, (begins, units) in enumerate(rows):
            last = number + 1 == len(rows) or rows[number + 1][0] != begins
            for place, unit in enumerate(units):
                if begins + unit.start <= caret < begins + unit.end:
                    return number, place
            ends = begins + (units[-1].end if units else 0)
            if last and caret <= ends:
                return number, len(units)
        return len(rows) - 1, len(rows[-1][1])

    def lay(self) -> None:
        """Take as many rows as are needed, with the caret on one of them."""
        rows = self.rows
        height = min(MOST_ROWS, len(rows))
        at, _ = self.caret_at(rows)
        self.top = max(at - height + 1, min(self.top, at, len(rows) - height))
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self.refresh(layout=False)

    def on_resize(self) -> None:
        self.lay()

    def render_line(self, y: int) -> Strip:
        paint, width = paint_of(self), self.size.width
        prompt = Segment(PROMPT if y == 0 else _INDENT, paint.style("prompt" if self.active else "dim"))
        if not self.edited.text and not self.active:
            hint = clip(self.hint, max(0, width - len(PROMPT))) if y == 0 else ()
            return paint.strip(line(Span(prompt.text, "dim"), hint), width)
        rows = self.rows
        number = self.top + y
        if number >= len(rows):
            return paint.strip((), width)
        at, place = self.caret_at(rows)
        segments, before = [prompt], 0
        units = rows[number][1]
        for index, unit in enumerate(units):
            style = paint.style(unit.meaning)
            caret = self.active and number == at and index == place
            segments.append(Segment(unit.shown, style + _REVERSE if caret else style))
            before += unit.size if number == at and index < place else 0
        if self.active and number == at:
            if place == len(units):
                segments.append(Segment(" ", paint.style("") + _REVERSE))
            if self.is_attached:
                self.app.cursor_position = self.content_region.offset + Offset(len(PROMPT) + before, y)
        return Strip(segments).simplify().adjust_cell_length(width, paint.style(""))
