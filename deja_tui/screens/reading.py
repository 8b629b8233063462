# SPDX-License-Identifier: Apache-2.0
"""What screens share whose main part is a text."""

from __future__ import annotations

from deja_tui.screens.base import DejaScreen
from deja_tui.widgets.pager import Pager


class ReadingScreen(DejaScreen):
    """A screen whose main part is a pager: the moving keys move it."""

    @property
    def pager(self) -> Pager:
        return self.part(Pager, "text")

    def scrolled(self) -> None:
        """Called after a key moved the text."""

    def do_down(self) -> None:
        self.pager.scroll_by(1)
        self.scrolled()

    def do_up(self) -> None:
        self.pager.scroll_by(-1)
        self.scrolled()

    def do_first(self) -> None:
        self.pager.scroll_to_line(0)
        self.scrolled()

    def do_last(self) -> None:
        self.pager.scroll_to_line(len(self.pager.lines))
        self.scrolled()

    def do_page_down(self) -> None:
        self.pager.page(1)
        self.scrolled()

    def do_page_up(self) -> None:
        self.pager.page(-1)
        self.scrolled()

    def do_next_section(self) -> None:
        self.pager.next_section(1)
        self.scrolled()

    def do_previous_section(self) -> None:
        self.pager.next_section(-1)
        self.scrolled()
