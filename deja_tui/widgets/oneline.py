# SPDX-License-Identifier: Apache-2.0
"""A widget that draws one line, cut to its width. Title bar, hints and flash build on it."""

from __future__ import annotations

from textual.strip import Strip
from textual.widget import Widget

from deja_tui.present.line import Line
from deja_tui.widgets.paint import paint_of


class OneLine(Widget):
    """One row; changing it repaints only this row."""

    DEFAULT_CSS = """
    OneLine { height: 1; }
    """
    ground = "text"

    def __init__(self, line: Line = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.line: Line = line

    def show(self, line: Line) -> None:
        """Draw another line."""
        if line != self.line:
            self.line = line
            self.refresh(layout=False)

    def composed(self, room: int) -> Line:
        """The line for a width in cells."""
        return self.line

    def render_line(self, y: int) -> Strip:
        room = self.size.width
        return paint_of(self).strip(self.composed(room) if y == 0 else (), room, ground=self.ground)
