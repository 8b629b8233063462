# SPDX-License-Identifier: Apache-2.0
"""The command palette: every action of the state it was opened from, found by the words of its title, its name or its key.

It fills the window and is drawn row by row like any list: a few hundred bytes, no backdrop. What is off now stays in the
list and says why.
"""

from __future__ import annotations

from typing import Final

from textual import events
from textual.app import ComposeResult

from deja_tui.console.actions import ACTIONS, Action
from deja_tui.present.line import Line, Span, line
from deja_tui.present.words import fenced
from deja_tui.screens.base import DejaScreen
from deja_tui.text import fold, pad
from deja_tui.widgets.hints import Hint, Hints
from deja_tui.widgets.reason import Reason
from deja_tui.widgets.rows import Rows

_KEY_ROOM: Final = 6
_STEPS: Final = {"down": 1, "up": -1}
_PAGES: Final = {"pagedown": 1, "pageup": -1}


class PaletteScreen(DejaScreen):
    """Type words, Enter does the selected action on the screen below."""

    # It has no keys of its own but those that work while a text is typed.
    scope = "help"
    DEFAULT_CSS = """
    PaletteScreen #list { height: 1fr; }
    """

    def __init__(self, below: DejaScreen) -> None:
        super().__init__()
        self.below = below
        self.found: list[Action] = []

    def compose_body(self) -> ComposeResult:
        yield Reason(id="words")
        yield Rows(id="list", moved=self.tell)

    @property
    def words(self) -> Reason:
        return self.part(Reason, "words")

    @property
    def listing(self) -> Rows:
        return self.part(Rows, "list")

    def load(self) -> None:
        self.words.ask("Action", limit=None)
        self.draw()

    def draw(self) -> None:
        self.set_title(line(Span("deja ", "dim"), Span("Actions", "strong"), "  what can be done here"))
        keys = [Hint("Enter", "does it"), Hint("Esc", "goes back"), Hint("↑ ↓", "select")]
        self.part(Hints, "hints").show_hints(keys)
        found = self.found = candidates(self.below, self.words.text)
        none = line(" No action is called ", fenced(self.words.text, 40), ". Esc goes back.")
        self.listing.show([one.id for one in found], lambda index: self.row(found[index]), [none])

    def row(self, action: Action) -> Line:
        """``a      approve, asks BECAUSE``, and that it is off where it is; why stands below the list."""
        key = pad(self.console_app.keymap.first(action.id) or "-", _KEY_ROOM)
        why_not = self.below.why_off(action)
        if why_not:
            return line(Span(f"{key} {action.title}", "dim"), Span("  off", "warning"))
        return line(Span(key, "key"), f" {action.title}")

    # --- keys ---------------------------------------------------------------------------------------

    def press(self, key: str, character: str | None) -> None:
        self.flash.clear()
        if self.small:
            super().press(key, character)
        elif key == "escape":
            self.dismiss()
        elif key == "enter":
            self.choose()
        elif key in _STEPS:
            self.listing.move(_STEPS[key])
        elif key in _PAGES:
            self.listing.page(_PAGES[key])
        elif self.words.take(key, character):
            self.look_again()
        else:
            self.anywhere(key)

    def pasted(self, event: events.Paste) -> None:
        self.words.paste(event.text)
        self.look_again()

    def look_again(self) -> None:
        """Other words: the first action that has them is selected."""
        self.draw()
        self.listing.move_to(0)
        self.tell()

    def tell(self) -> None:
        """Why the selected one is off, in full, or nothing."""
        action = self.found[self.listing.selected] if self.found else None
        why_not = self.below.why_off(action) if action else None
        if why_not:
            self.say(why_not, "warning")
        else:
            self.flash.clear()

    def choose(self) -> None:
        """Do the selected one; one that is off is told, and the list stays."""
        if not self.found:
            return
        action, below = self.found[self.listing.selected], self.below
        why_not = below.why_off(action)
        if why_not:
            self.say(why_not, "warning")
            return
        self.dismiss()
        below.call_after_refresh(below.perform, action)


def candidates(screen: DejaScreen, words: str) -> list[Action]:
    """The actions of the state a screen is in that hold every word, in the order of the table; moving comes last."""
    wanted = fold(words).split()
    keymap = screen.console_app.keymap
    found = []
    for action in ACTIONS:
        if screen.scope not in action.scopes or action.id == "app.palette":
            continue
        told = fold(f"{action.title} {action.id} {' '.join(keymap.keys(action.id))}")
        if all(word in told for word in wanted):
            found.append(action)
    return sorted(found, key=lambda action: action.id.startswith("move."))
