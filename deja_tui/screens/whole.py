# SPDX-License-Identifier: Apache-2.0
"""A text that fills the window: every field of a grain, a snippet that does not fit beside its row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import ComposeResult

from deja_tui.present.line import Line, Span, line
from deja_tui.present.sessions import whole_lines
from deja_tui.present.words import short
from deja_tui.screens.base import DejaScreen
from deja_tui.screens.reading import ReadingScreen
from deja_tui.screens.recorded import copy_lines
from deja_tui.store.grains import StoredGrain
from deja_tui.widgets.pager import Pager


class WholeScreen(ReadingScreen):
    """Lines to read.

    Args:
        title: what they are. lines: gives them for a number of cells. copied: what y sends, and what it is called.
        cal: the statement that reads the same, if there is one.
    """

    scope = "whole"

    def __init__(
        self, title: Line, lines: Callable[[int], Sequence[Line]], copied: tuple[str, str], cal: str = ""
    ) -> None:
        super().__init__()
        self.headline = title
        self.told = lines
        self.to_copy = copied
        self.cal = cal

    def compose_body(self) -> ComposeResult:
        yield Pager(id="text", more="j goes on", leads=True)

    def draw(self) -> None:
        self.set_title(line(Span("deja ", "dim"), self.headline))
        self.set_hints()
        self.pager.show(self.told(self.app.size.width), top=self.pager.top)

    def do_copy(self) -> None:
        text, what = self.to_copy
        if "\n" in text:
            copy_lines(self, text, what, "they stand here")
        else:
            self.copy(text, what)

    def cal_of_panel(self) -> str:
        return self.cal


def open_grain(screen: DejaScreen, grain: StoredGrain) -> None:
    """Everything about a grain, where Memories are a place; else every field of it."""
    if getattr(screen.console_app, "grains", None) is not None:
        from deja_tui.screens.grain import GrainScreen

        screen.app.push_screen(GrainScreen(grain.address))
        return
    title = line(Span(short(grain.address), "address"), f"  {grain.type}, every field")
    statement = f'RECALL WHERE hash = "{grain.address}"'
    screen.app.push_screen(
        WholeScreen(title, lambda room: whole_lines(grain, room), (grain.address, "address"), statement)
    )
