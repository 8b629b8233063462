# SPDX-License-Identifier: Apache-2.0
"""A one-line editor: the typed BECAUSE, and the queue's filter. It only edits; `present.reasons` judges.

What is typed is shown cleaned, like any other text: a pasted escape is a visible escape.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset
from textual.strip import Strip
from textual.widget import Widget

from deja_tui.present.line import Span, line, width
from deja_tui.text import REASON_MAX, cells, clean
from deja_tui.widgets.paint import paint_of

# More than a reason may have, so that one sees how much too long it is; less than would slow the row down.
MOST: Final = 2_000
_REVERSE: Final = Style(reverse=True)


@dataclass(frozen=True, slots=True)
class Edited:
    """A text and the caret in it. Every method gives a new one."""

    text: str = ""
    caret: int = 0

    def insert(self, typed: str) -> Edited:
        """Put text at the caret; line ends and tabs become blanks, other controls are dropped."""
        kept = "".join(_keep(char) for char in typed.replace("\r\n", " "))[: max(0, MOST - len(self.text))]
        return Edited(self.text[: self.caret] + kept + self.text[self.caret :], self.caret + len(kept))

    def key(self, name: str) -> Edited | None:
        """What an editing key does, or None when it is none."""
        text, caret = self.text, self.caret
        match name:
            case "backspace" if caret:
                return Edited(text[: caret - 1] + text[caret:], caret - 1)
            case "delete" if caret < len(text):
                return Edited(text[:caret] + text[caret + 1 :], caret)
            case "left":
                return replace(self, caret=max(0, caret - 1))
            case "right":
                return replace(self, caret=min(len(text), caret + 1))
            case "home":
                return replace(self, caret=0)
            case "end":
                return replace(self, caret=len(text))
            case "ctrl+u":
                return Edited(text[caret:], 0)
            case "ctrl+k":
                return Edited(text[:caret], caret)
            case "ctrl+w":
                kept = text[:caret].rstrip()
                kept = kept[: kept.rfind(" ") + 1]
                return Edited(kept + text[caret:], len(kept))
            case "backspace" | "delete":
                return self
        return None


def _keep(char: str) -> str:
    if char in "\n\r\t\x0b\x0c\x85\u2028\u2029":
        return " "
    return "" if unicodedata.category(char) in ("Cc", "Cs") else char


class Reason(Widget):
    """``APPROVE BECAUSE> retries belong in the client_      28/500``. Keys come from the screen, one at a time."""

    DEFAULT_CSS = """
    Reason { height: 1; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.prompt = ""
        self.edited = Edited()
        self.limit: int | None = None

    @property
    def text(self) -> str:
        """What was typed."""
        return self.edited.text

    @property
    def active(self) -> bool:
        """Whether there is something to type into."""
        return bool(self.prompt)

    def ask(self, prompt: str, text: str = "", *, limit: int | None = REASON_MAX) -> None:
        """Start editing after a prompt, from a draft; ``limit`` is counted at the right when given."""
        self.prompt, self.limit = prompt, limit
        self.edited = Edited(text, len(text))
        self.refresh(layout=False)

    def put_away(self) -> None:
        """Stop editing; the row is empty."""
        self.prompt, self.edited = "", Edited()
        self.refresh(layout=False)

    def take(self, key: str, character: str | None) -> bool:
        """Use a key press; False when it is no editing key and no text."""
        changed = self.edited.key(key)
        if changed is None and character is not None and character.isprintable():
            changed = self.edited.insert(character)
        if changed is None:
            return False
        self.change(changed)
        return True

    def paste(self, text: str) -> None:
        """Insert pasted text as one line."""
        self.change(self.edited.insert(text))

    def change(self, edited: Edited) -> None:
        if edited != self.edited:
            self.edited = edited
            self.refresh(layout=False)

    def render_line(self, y: int) -> Strip:
        paint, room = paint_of(self), self.size.width
        if y or not self.prompt:
            return paint.strip((), room)
        head = line(Span(f"{self.prompt}> ", "prompt"))
        length = len(self.text.strip())
        over = self.limit is not None and length > self.limit
        tail = f" {length}/{self.limit}" if self.limit is not None else ""
        left = max(4, room - width(head) - cells(tail))
        before, at, after = self.window(left)
        if before.startswith("…") and not self.text.startswith("…"):
            before = paint.marked("…") + before[1:]
        used = width(head) + cells(before) + cells(at) + cells(after)
        segments = [
            Segment(head[0].text, paint.style("prompt")),
            Segment(before, paint.style("")),
            Segment(at, paint.style("") + _REVERSE),
            Segment(after + " " * max(0, room - used - cells(tail)), paint.style("")),
            Segment(tail, paint.style("error" if over else "dim")),
        ]
        if self.is_attached:
            self.app.cursor_position = self.content_region.offset + Offset(
                min(room - 1, width(head) + cells(before)), 0
            )
        return Strip([segment for segment in segments if segment.text]).adjust_cell_length(
            room, paint.style("")
        )

    def window(self, room: int) -> tuple[str, str, str]:
        """The part around the caret that fits: before it, at it, after it, cleaned."""
        text, caret = self.edited.text, self.edited.caret
        at = clean(text[caret : caret + 1]) or " "
        before = clean(text[:caret])
        spare = room - cells(at)
        if cells(before) > spare:
            start = len(before)
            used = 1
            while start and used + cells(before[start - 1]) <= spare:
                start -= 1
                used += cells(before[start])
            before = "…" + before[start:]
        left = room - cells(before) - cells(at)
        after = ""
        for char in clean(text[caret + 1 :]):
            if cells(after) + cells(char) > left:
                break
            after += char
        return before, at, after
