# SPDX-License-Identifier: Apache-2.0
"""A list with a filter that is typed at its bottom; yields a `Reason` with the id ``filter`` in its body."""

from __future__ import annotations

from typing import Final

from textual import events

from deja_tui.screens.place import PlaceScreen
from deja_tui.widgets.hints import Hint, Hints
from deja_tui.widgets.reason import Reason

# What the keys do while a filter is typed, here and in lists with filters of their own.
FILTER_KEYS: Final = (Hint("Enter", "keeps the filter"), Hint("Esc", "clears it"), Hint("^u", "empties"))


class FilteringScreen(PlaceScreen):
    """``wanted`` is the text that rows must hold; `narrowed` is called whenever it changes."""

    DEFAULT_CSS = """
    FilteringScreen #filter { display: none; }
    FilteringScreen.-typing #filter { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.wanted = ""

    @property
    def editor(self) -> Reason:
        return self.part(Reason, "filter")

    def narrowed(self) -> None:
        """Ask for the rows that are left."""
        self.load()

    def want(self, text: str) -> None:
        if text != self.wanted:
            self.wanted = text
            self.narrowed()

    def do_filter(self) -> None:
        self.add_class("-typing")
        self.editor.ask("Filter", self.wanted, limit=None)
        self.draw()

    def do_clear(self) -> None:
        self.want("")

    def press(self, key: str, character: str | None) -> None:
        if not self.editor.active or self.small:
            super().press(key, character)
        elif key == "enter":
            self.stop_typing()
        elif key == "escape":
            self.want("")
            self.stop_typing()
        elif self.editor.take(key, character):
            self.want(self.editor.text)
        else:
            self.anywhere(key)

    def pasted(self, event: events.Paste) -> None:
        if self.editor.active:
            self.editor.paste(event.text)
            self.want(self.editor.text)

    def stop_typing(self) -> None:
        self.editor.put_away()
        self.remove_class("-typing")
        self.draw()

    def draw_typing(self) -> None:
        self.part(Hints, "hints").show_hints(FILTER_KEYS)
