# SPDX-License-Identifier: Apache-2.0
"""The row above the hints: one message instead of toasts. It stays until the next key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from textual.strip import Strip

from deja_tui.present.line import Line, Span, clip, line, wrap
from deja_tui.widgets.oneline import OneLine
from deja_tui.widgets.paint import paint_of

MOST_ROWS: Final = 3


class Flash(OneLine):
    """Grows to three rows for a long message, so that a next step is not cut off."""

    DEFAULT_CSS = """
    Flash { height: 1; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__((), id=id)
        self.rows: list[Line] = []
        # Lines that begin on a row of their own, for another width.
        self.given: Sequence[Line] = ()

    def say(self, text: str, meaning: str = "") -> None:
        """Show a message; the text must be clean."""
        self.fit(line(Span(f" {text}", meaning)))

    def show_line(self, message: Line) -> None:
        """Show a line with its own meanings."""
        self.fit(message)

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show lines of which each begins on a row of its own; the last one is cut where there is no room for it."""
        room = self.size.width or 80
        rows = [row for one in lines for row in wrap(one, room)]
        if len(rows) > MOST_ROWS:
            rows = [*rows[: MOST_ROWS - 1], clip((*rows[MOST_ROWS - 1], Span(" …")), room)]
        self.put(line(*(part for one in lines for part in (one, " "))), rows)
        self.given = lines

    def clear(self) -> None:
        """Show nothing."""
        self.fit(())

    @property
    def text(self) -> str:
        """What is said now."""
        return "".join(span.text for span in self.line).strip()

    def fit(self, message: Line) -> None:
        if message == self.line and self.rows:
            return
        room = self.size.width or 80
        rows = wrap(message, room, 1) if message else []
        if len(rows) > MOST_ROWS:
            rows = [*rows[: MOST_ROWS - 1], clip((*rows[MOST_ROWS - 1], Span(" …")), room)]
        self.put(message, rows)

    def put(self, message: Line, rows: list[Line]) -> None:
        """Draw rows; ``message`` is what they say as one line."""
        self.line, self.rows, self.given = message, rows, ()
        height = max(1, len(rows))
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self.refresh(layout=False)

    def on_resize(self) -> None:
        if self.given:
            self.show_lines(self.given)
            return
        message, self.line, self.rows = self.line, (), []
        self.fit(message)

    def render_line(self, y: int) -> Strip:
        return paint_of(self).strip(self.rows[y] if y < len(self.rows) else (), self.size.width)
