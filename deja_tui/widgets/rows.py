# SPDX-License-Identifier: Apache-2.0
"""A list drawn line by line: any number of rows, no object a row, and a move repaints the two rows it changes.

There is no scrollbar (its thumb would change rows that did not); the title says ``12/340`` instead. The selected row is
marked by ``▸`` and its first columns are drawn on the cursor's ground: a bar over the whole row would send both rows again
at each step. The terminal's own cursor is put there for screen readers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from textual import events
from textual.geometry import Offset, Region
from textual.strip import Strip
from textual.widget import Widget

from deja_tui.present.line import Line, Span, clip, line, width
from deja_tui.text import cells
from deja_tui.widgets.paint import paint_of

MARK: Final = "▸"
WHEEL: Final = 3  # rows a notch
# The bar on the selected row ends with the column that reaches the first of these cells, at the second at the latest; where that
# would cut a text, it ends before the text, unless hardly anything is left of it.
BAR: Final = (24, 40)
BAR_LEAST: Final = 8


class Rows(Widget):
    """A list with one selected row. Rows are keyed, so a refresh keeps the selection on the same thing.

    ``moved`` is called after a move selected another row.
    """

    DEFAULT_CSS = """
    Rows { width: 1fr; height: 1fr; }
    """

    def __init__(self, *, id: str | None = None, moved: Callable[[], None] = lambda: None) -> None:
        super().__init__(id=id)
        # Called directly: a message would cost a second tick, and list and preview belong into one paint.
        self.moved = moved
        self.keys: Sequence[str] = ()
        self.draw: Callable[[int], Line] = lambda index: ()
        self.empty: Sequence[Line] = ()
        self.selected = 0
        self.top = 0
        self.drawn: dict[int, Line] = {}

    # --- content ------------------------------------------------------------------------------------

    @property
    def key(self) -> str | None:
        """The key of the selected row, None when there is no row."""
        return self.keys[self.selected] if self.keys else None

    def show(self, keys: Sequence[str], draw: Callable[[int], Line], empty: Sequence[Line] = ()) -> None:
        """Show other rows; what was selected stays selected, or else the row that took its place."""
        before, place = self.key, self.selected - self.top
        # What is painted: asking `draw` for it would tell what a caller that has new rows paints now.
        was = {index: self.drawn.get(index, ()) for index in range(self.top, self.top + self.size.height)}
        old_top, old_selected, old_empty = self.top, self.selected, self.empty
        self.keys, self.draw, self.empty = keys, draw, empty
        self.drawn = {}
        found = (
            keys.index(before) if before is not None and before in keys else min(self.selected, len(keys) - 1)
        )
        self.selected = max(0, found)
        self.top = self.bounded(self.selected - place)
        self.hint_cursor()
        if self.top != old_top or empty != old_empty or not was:
            self.refresh(layout=False)
        else:
            for index, drawn in was.items():
                if drawn != self.line_at(index) or (
                    index in (old_selected, self.selected) and old_selected != self.selected
                ):
                    self.refresh_row(index)

    def line_at(self, index: int) -> Line:
        """The line of a row without its mark; empty beyond the last one."""
        if not 0 <= index < len(self.keys):
            return ()
        found = self.drawn.get(index)
        if found is None:
            height = max(1, self.size.height)
            if len(self.drawn) > 4 * height:
                seen = range(self.top, self.top + height)
                self.drawn = {place: known for place, known in self.drawn.items() if place in seen}
            found = self.drawn[index] = self.draw(index)
        return found

    # --- moving -------------------------------------------------------------------------------------

    def move(self, by: int) -> bool:
        """Select the row ``by`` rows away; False when the selection is at the end already."""
        return self.move_to(self.selected + by)

    def page(self, by: int) -> bool:
        """Move by whole pages."""
        return self.move(by * max(1, self.size.height - 1))

    def move_to(self, index: int) -> bool:
        """Select a row, the nearest there is."""
        index = max(0, min(index, len(self.keys) - 1))
        if index == self.selected or not self.keys:
            return False
        before, self.selected = self.selected, index
        top = self.top
        if index < top:
            top = index
        elif index >= top + self.size.height:
            top = index - self.size.height + 1
        if top != self.top:
            self.top = self.bounded(top)
            self.refresh(layout=False)
        else:
            self.refresh_row(before)
            self.refresh_row(index)
        self.hint_cursor()
        self.moved()
        return True

    def bounded(self, top: int) -> int:
        height = max(1, self.size.height)
        lowest = max(0, len(self.keys) - height)
        top = max(0, min(top, lowest))
        if self.selected < top:
            return self.selected
        return max(top, self.selected - height + 1)

    # --- drawing ------------------------------------------------------------------------------------

    def refresh_row(self, index: int) -> None:
        y = index - self.top
        if 0 <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1), layout=False)

    def hint_cursor(self) -> None:
        """Put the terminal's cursor on the selected row: braille displays and readers follow it."""
        if self.is_attached and self.keys:
            self.app.cursor_position = self.content_region.offset + Offset(0, self.selected - self.top)

    def on_resize(self) -> None:
        top, self.drawn = self.bounded(self.top), {}
        if top != self.top:
            # Another size marks the widget as dirty before this is called, so it may be painted with the old place.
            self.top = top
            self.refresh(layout=False)
        self.hint_cursor()

    def on_click(self, event: events.Click) -> None:
        """The mouse selects a row; opening it stays a key, so that nothing is opened by a slip."""
        if self.top + event.y < len(self.keys):
            self.move_to(self.top + event.y)

    def on_mouse_scroll_down(self) -> None:
        self.move(WHEEL)

    def on_mouse_scroll_up(self) -> None:
        self.move(-WHEEL)

    def render_line(self, y: int) -> Strip:
        paint, room = paint_of(self), self.size.width
        if not self.keys:
            return paint.strip(self.empty[y] if y < len(self.empty) else (), room)
        index = self.top + y
        if index >= len(self.keys):
            return paint.strip((), room)
        chosen = index == self.selected
        marked = line(Span(MARK if chosen else " "), self.line_at(index))
        if not chosen:
            return paint.strip(marked, room)
        first, rest = barred(clip(marked, room))
        bar = paint.strip(first, min(room, width(first)), ground="cursor", flat=True)
        return Strip.join([bar, paint.strip(rest, room - bar.cell_length)])


def barred(row: Line) -> tuple[Line, Line]:
    """The part of a selected row that its bar covers, and the rest; cut at the end of a column where one ends there."""
    least, most = BAR
    used = 0
    for place, span in enumerate(row):
        size = cells(span.text)
        if used + size > most and used >= BAR_LEAST:
            return row[:place], row[place:]
        if used + size > most:
            first = clip_plain(span.text, most - used)
            rest = Span(span.text[len(first) :], span.meaning)
            return (*row[:place], Span(first, span.meaning)), (rest, *row[place + 1 :])
        used += size
        if used >= least:
            return row[: place + 1], row[place + 1 :]
    return (*row, Span(" " * (least - used))), ()


def clip_plain(text: str, room: int) -> str:
    """The start of a text that fits into ``room`` cells, without a mark for what follows."""
    used = 0
    for place, char in enumerate(text):
        used += cells(char)
        if used > room:
            return text[:place]
    return text
