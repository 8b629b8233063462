# SPDX-License-Identifier: Apache-2.0
"""The row above the hints: one message instead of toasts. It stays until the next key."""

from __future__ import annotations

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

    def say(self, text: str, meaning: str = "") -> None:
        """Show a message; the text must be clean."""
        self.fit(line(Span(f" {text}", meaning)))

    def show_line(self, message: Line) -> None:
        """Show a line with its own meanings."""
        self.fit(message)

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
        self.line = message
        room = self.size.width or 80
        rows = wrap(message, room, 1) if message else []
        if len(rows) > MOST_ROWS:
            rows = [*rows[: MOST_ROWS - 1], clip((*rows[MOST_ROWS - 1], Span(" …")), room)]
        self.rows = rows
        height = max(1, len(rows))
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self.refresh(layout=False)

    def on_resize(self) -> None:
        message, self.line, self.rows = self.line, (), []
        self.fit(message)

    def render_line(self, y: int) -> Strip:
        return paint_of(self).strip(self.rows[y] if y < len(self.rows) else (), self.size.width)
