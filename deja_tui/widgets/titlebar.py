# SPDX-License-Identifier: Apache-2.0
"""Row 1: what is open and where one is; at the right who acts and with which tier (D18)."""

from __future__ import annotations

from deja_tui.present.line import Line, Span, clip, line, pad, width
from deja_tui.widgets.oneline import OneLine


class TitleBar(OneLine):
    """Left and right part; when both do not fit, the left one is cut."""

    ground = "bar"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__((), id=id)
        self.right: Line = ()

    def show_both(self, left: Line, right: Line) -> None:
        """Change both parts at once."""
        if (left, right) != (self.line, self.right):
            self.line, self.right = left, right
            self.refresh(layout=False)

    def composed(self, room: int) -> Line:
        right = clip(self.right, room)
        left = room - width(right)
        return line(pad(self.line, max(0, left - 1)), Span(" " * min(1, left)), right)
