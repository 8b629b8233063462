# SPDX-License-Identifier: Apache-2.0
"""Scrolling text made of sections, drawn line by line. It remembers which of its lines were on the screen.

The last part matters for a review: the change must have been on the screen before it is decided (D16).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from textual.geometry import Offset, Region
from textual.strip import Strip
from textual.widget import Widget

from deja_tui.present.line import Line, Span, line
from deja_tui.widgets.paint import paint_of

EDGE: Final = "│ "
WHEEL: Final = 3  # lines a notch


class Pager(Widget):
    """Lines with named starts of sections.

    ``more`` stands in the last visible row while lines are below it; ``edge`` draws ``│`` at the left;
    ``leads`` puts the terminal's own cursor here, for readers that follow it.
    """

    DEFAULT_CSS = """
    Pager { width: 1fr; height: 1fr; }
    """

    def __init__(
        self, *, id: str | None = None, more: str | None = None, edge: bool = False, leads: bool = False
    ) -> None:
        super().__init__(id=id)
        self.leads = leads
        self.edge = edge
        self.lines: Sequence[Line] = ()
        self.starts: Mapping[str, int] = {}
        self.top = 0
        self.shown: set[int] = set()
        self.more = more
        # The line that was found last, drawn on the cursor's ground.
        self.marked: int | None = None

    def show(self, lines: Sequence[Line], starts: Mapping[str, int] | None = None, *, top: int = 0) -> None:
        """Show other lines; ``starts`` maps a section id to the line its rule stands on."""
        changed = lines != self.lines
        self.lines, self.starts = lines, starts or {}
        if changed:
            self.shown, self.marked = set(), None
        self.scroll_to_line(top)
        if changed:
            self.refresh(layout=False)

    def replace_line(self, index: int, drawn: Line) -> None:
        """Draw one line differently, without losing the place."""
        if 0 <= index < len(self.lines) and self.lines[index] != drawn:
            self.lines = [*self.lines[:index], drawn, *self.lines[index + 1 :]]
            if 0 <= index - self.top < self.size.height:
                self.refresh(Region(0, index - self.top, self.size.width, 1), layout=False)

    @property
    def room(self) -> int:
        """The cells a line can have."""
        return max(1, self.size.width - (len(EDGE) if self.edge else 0))

    @property
    def lowest(self) -> int:
        """The last line that can be at the top."""
        return max(0, len(self.lines) - max(1, self.size.height))

    @property
    def below(self) -> int:
        """How many lines are below the visible ones."""
        return max(0, len(self.lines) - self.top - self.size.height)

    def scroll_to_line(self, top: int) -> bool:
        """Put a line at the top, as far as there are lines; False when nothing moved."""
        top = max(0, min(top, self.lowest))
        moved = top != self.top
        self.top = top
        self.note_shown()
        if moved:
            self.refresh(layout=False)
        if self.leads and self.is_attached and self.size.height:
            self.app.cursor_position = self.content_region.offset + Offset(0, 0)
        return moved

    def scroll_by(self, lines: int) -> bool:
        """Move down, or up for a negative number."""
        return self.scroll_to_line(self.top + lines)

    def page(self, by: int) -> bool:
        """Move by whole pages, one line of which stays."""
        return self.scroll_by(by * max(1, self.size.height - 1))

    def mark(self, index: int) -> None:
        """Stand on a line: it is brought on the screen, and the terminal's own cursor is put on it."""
        if not self.top <= index < self.top + max(1, self.size.height - 1):
            self.scroll_to_line(max(0, index - self.size.height // 2))
        before, self.marked = self.marked, index
        for place in (before, index):
            if place is not None and 0 <= place - self.top < self.size.height:
                self.refresh(Region(0, place - self.top, self.size.width, 1), layout=False)
        if self.is_attached:
            self.app.cursor_position = self.content_region.offset + Offset(0, max(0, index - self.top))

    def next_section(self, by: int) -> bool:
        """Put the rule of the next (1) or previous (-1) section at the top."""
        places = sorted({0, *self.starts.values()})
        if by > 0:
            later = [place for place in places if place > self.top]
            return self.scroll_to_line(later[0]) if later else False
        earlier = [place for place in places if place < self.top]
        return self.scroll_to_line(earlier[-1] if earlier else 0)

    def go(self, section: str) -> bool:
        """Put the rule of a section at the top."""
        return section in self.starts and self.scroll_to_line(self.starts[section])

    def note_shown(self) -> None:
        if self.size.height:
            hidden = 1 if self.more and self.below else 0
            self.shown.update(range(self.top, min(len(self.lines), self.top + self.size.height - hidden)))

    def on_resize(self) -> None:
        self.scroll_to_line(self.top)

    def on_mouse_scroll_down(self) -> None:
        self.wheel(WHEEL)

    def on_mouse_scroll_up(self) -> None:
        self.wheel(-WHEEL)

    def wheel(self, lines: int) -> None:
        """Scroll, and tell a screen that wants to know."""
        told = getattr(self.screen, "scrolled", None)
        if self.scroll_by(lines) and told is not None:
            told()

    def render_line(self, y: int) -> Strip:
        index = self.top + y
        drawn: Line = self.lines[index] if index < len(self.lines) else ()
        if self.more and self.below and y == self.size.height - 1:
            drawn = line(Span(f"… {self.below + 1} more lines: {self.more}", "dim"))
        if self.edge:
            drawn = line(Span(EDGE, "dim"), drawn)
        found = self.marked is not None and index == self.marked
        return paint_of(self).strip(drawn, self.size.width, ground="cursor" if found else "text", flat=found)
