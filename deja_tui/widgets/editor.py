# SPDX-License-Identifier: Apache-2.0
"""An editor for a text of many lines, that changes nothing by itself: line ends, tabs and controls stay as they are.

What is edited is shown cleaned, a character that would act or hide as a visible escape. A line that is wider than the
window is not wrapped; the window follows the caret. Keys come from the screen, one at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset
from textual.strip import Strip
from textual.widget import Widget

from deja_tui.present.line import Line, Span, line
from deja_tui.text import cells, clean
from deja_tui.widgets.paint import paint_of

MOST: Final = 1_000_000
"""Characters; a longer text is edited elsewhere."""
_REVERSE: Final = Style(reverse=True)
_ALL: Final = 2**31


@dataclass(frozen=True, slots=True)
class Draft:
    """Lines without their ends, and the caret: its line, and before which of its characters. Every method gives a new one."""

    lines: tuple[str, ...] = ("",)
    row: int = 0
    column: int = 0

    @classmethod
    def of(cls, text: str) -> Draft:
        """A text with the caret at its beginning. Only LF ends a line."""
        return cls(tuple(text.split("\n")))

    @property
    def text(self) -> str:
        """The whole text."""
        return "\n".join(self.lines)

    @property
    def here(self) -> str:
        """The line of the caret."""
        return self.lines[self.row]

    def insert(self, typed: str) -> Draft:
        """Put text at the caret."""
        before, after = self.here[: self.column], self.here[self.column :]
        first, *rest = typed.split("\n")
        if not rest:
            return self._with((before + first + after,), self.row, self.column + len(first))
        told = (before + first, *rest[:-1], rest[-1] + after)
        return self._with(told, self.row + len(rest), len(rest[-1]))

    def _with(self, told: tuple[str, ...], row: int, column: int, until: int | None = None) -> Draft:
        """Other lines in the place of the caret's, or of all up to the line ``until``."""
        last = self.row if until is None else until
        return Draft((*self.lines[: self.row], *told, *self.lines[last + 1 :]), row, column)

    def _joined(self, upper: int) -> Draft:
        """Two lines made one."""
        told = self.lines[upper] + self.lines[upper + 1]
        lines = (*self.lines[:upper], told, *self.lines[upper + 2 :])
        return Draft(lines, upper, len(self.lines[upper]))

    def go(self, row: int, column: int | None = None) -> Draft:
        """The caret elsewhere, as near as there is a place."""
        row = max(0, min(row, len(self.lines) - 1))
        wanted = self.column if column is None else column
        return replace(self, row=row, column=max(0, min(wanted, len(self.lines[row]))))

    def key(self, name: str, page: int = 1) -> Draft | None:
        """What an editing key does, or None when it is none. ``page``: lines of a page."""
        row, column, here = self.row, self.column, self.here
        match name:
            case "enter":
                return self.insert("\n")
            case "tab":
                return self.insert("\t")
            case "backspace" if column:
                return self._with((here[: column - 1] + here[column:],), row, column - 1)
            case "backspace":
                return self._joined(row - 1) if row else self
            case "delete" if column < len(here):
                return self._with((here[:column] + here[column + 1 :],), row, column)
            case "delete":
                return self._joined(row) if row + 1 < len(self.lines) else self
            case "left":
                return self.go(row, column - 1) if column or not row else self.go(row - 1, _ALL)
            case "right":
                last = column == len(here) and row + 1 < len(self.lines)
                return self.go(row + 1, 0) if last else self.go(row, column + 1)
            case "up" | "down":
                return self.go(row + (1 if name == "down" else -1))
            case "pageup" | "pagedown":
                return self.go(row + (page if name == "pagedown" else -page))
            case "home" | "end":
                return self.go(row, 0 if name == "home" else _ALL)
            case "ctrl+home" | "ctrl+end":
                return self.go(0, 0) if name == "ctrl+home" else self.go(_ALL, _ALL)
            case "ctrl+u":
                return self._with((here[column:],), row, 0)
            case "ctrl+k" if column < len(here):
                return self._with((here[:column],), row, column)
            case "ctrl+k":
                return self._joined(row) if row + 1 < len(self.lines) else self
            case "ctrl+w":
                kept = here[:column].rstrip()
                kept = kept[: kept.rfind(" ") + 1]
                return self._with((kept + here[column:],), row, len(kept))
        return None


class Editor(Widget):
    """The lines with their numbers and a caret."""

    DEFAULT_CSS = """
    Editor { width: 1fr; height: 1fr; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.draft = Draft()
        self.top = 0

    def open(self, text: str) -> None:
        """Begin to edit a text."""
        self.change(Draft.of(text))

    def take(self, key: str, character: str | None) -> bool:
        """Use a key press; False when it is no editing key and no text."""
        changed = self.draft.key(key, max(1, self.size.height - 1))
        if changed is None and character is not None and character.isprintable():
            changed = self.draft.insert(character)
        if changed is None:
            return False
        return self.change(changed)

    def paste(self, text: str) -> bool:
        """Insert pasted text; CR LF and CR, which terminals send for a line end, end a line."""
        return self.change(self.draft.insert(text.replace("\r\n", "\n").replace("\r", "\n")))

    def change(self, draft: Draft) -> bool:
        """Show another state; a text that grew too long is not taken, which is still an answer to the key."""
        if sum(map(len, draft.lines)) > MOST and len(draft.text) > len(self.draft.text):
            return True
        self.draft = draft
        self.follow()
        self.refresh(layout=False)
        return True

    def follow(self) -> None:
        """Keep the caret in the window."""
        height = max(1, self.size.height)
        if draft_row := self.draft.row:
            self.top = max(min(self.top, draft_row), draft_row - height + 1)
        else:
            self.top = 0

    def on_resize(self) -> None:
        self.follow()

    def render_line(self, y: int) -> Strip:
        paint, room = paint_of(self), self.size.width
        index = self.top + y
        if index >= len(self.draft.lines):
            return paint.strip((), room)
        number = f"{index + 1:>5} "
        left = max(4, room - len(number) - 1)
        if index != self.draft.row:
            return paint.strip(line(Span(number, "dim"), self.shown(self.draft.lines[index], left)), room)
        before, at, after = window(self.draft.here, self.draft.column, left)
        used = len(number) + cells(before) + cells(at) + cells(after)
        segments = [
            Segment(number, paint.style("key")),
            Segment(before, paint.style("untrusted")),
            Segment(at, paint.style("untrusted") + _REVERSE),
            Segment(after + " " * max(0, room - used), paint.style("untrusted")),
        ]
        if self.is_attached:
            place = Offset(min(room - 1, len(number) + cells(before)), y)
            self.app.cursor_position = self.content_region.offset + place
        found = Strip([segment for segment in segments if segment.text])
        return found.adjust_cell_length(room, paint.style(""))

    def shown(self, text: str, room: int) -> Line:
        return line(Span(clean(text, room, limit=4 * room), "untrusted"))


def window(text: str, caret: int, room: int) -> tuple[str, str, str]:
    """The part of a line around the caret that fits: before it, at it, after it, cleaned."""
    at = clean(text[caret : caret + 1]) or " "
    spare = max(0, room - cells(at))
    before = ""
    start = caret
    while start > 0:
        piece = clean(text[start - 1])
        if cells(piece) + cells(before) > spare - (1 if start > 1 else 0):
            return "…" + before, at, _after(text, caret, spare - cells(before) - 1)
        before = piece + before
        start -= 1
    return before, at, _after(text, caret, spare - cells(before))


def _after(text: str, caret: int, room: int) -> str:
    after = ""
    for char in text[caret + 1 : caret + 1 + max(0, room)]:
        piece = clean(char)
        if cells(after) + cells(piece) > room:
            break
        after += piece
    return after
