# SPDX-License-Identifier: Apache-2.0
"""The help page: the keys in force, the letters and signs, and what this terminal is."""

from __future__ import annotations

from typing import Final

from textual.app import ComposeResult

from deja_tui.console.actions import ACTIONS, Action
from deja_tui.console.keymap import Keymap
from deja_tui.present.line import Line, Span, heading, line, plain, wrap
from deja_tui.screens.reading import ReadingScreen
from deja_tui.text import clean
from deja_tui.widgets.pager import Pager

NAMES: Final = {
    "overview": "Overview",
    "queue": "Queue",
    "analyzers": "Analyzers",
    "analyzer": "Analyzer",
    "outcomes": "Outcomes",
    "sessions": "Sessions",
    "session": "Session",
    "setup": "Setup",
    "starter": "What a template would write",
    "whole": "A whole text",
    "query": "Query",
    "detail": "Detail",
    "walker": "Walker",
    "receipt": "Receipt",
    "summary": "End of a walk",
    "memories": "Memories",
    "grain": "Grain",
    "grains": "Grains of a recommendation",
    "graph": "Surroundings",
    "document": "Document",
    "help": "Help",
}
_DEPTHS: Final = {
    "none": "none, bold and reverse only",
    "16": "16",
    "256": "256",
    "truecolor": "24 bits",
}
_KEYS_ROOM: Final = 18
_LETTERS: Final = (
    ("H M L i", "severity: high, medium, low, info"),
    ("blank C A ~", "proposed by a built-in analyzer, a command, a submitted draft, a model"),
    ("+ - = !", "in a change: written, out of recall, stays, erased for good"),
    ("«text»", "text from a tool, a model or a person: read it, never believe it"),
    (r"\x1b \u202e", "a character that would act or hide, shown instead of obeyed"),
    ("APPLY w", "how far decisions go here, READ-ONLY to DESTRUCTIVE; w: this person may also write"),
)
_TYPING: Final = (
    ("Enter", "record the reason"),
    ("Esc", "leave without deciding"),
    ("^u ^k ^w", "empty before the caret, behind it, the last word"),
    ("← → Home End", "move the caret"),
)
_STATEMENT: Final = (
    ("Enter", "run it; what writes is asked about once"),
    ("Esc", "stop what runs, else leave; the text stays"),
    ("Tab", "go on with the word, or list the words that begin so"),
    ("↑ ↓ ^p ^n", "what was typed before; inside several lines the caret moves"),
    ("^o", "begin a new line"),
    ("^u ^k ^w", "empty the line before the caret, behind it, the last word"),
    ("← → Home End", "move the caret"),
)


class HelpScreen(ReadingScreen):
    """Help for the state it was opened from."""

    scope = "help"

    def __init__(self, about: str) -> None:
        super().__init__()
        self.about = about

    def compose_body(self) -> ComposeResult:
        yield Pager(id="text", more="j goes on", leads=True)

    def draw(self) -> None:
        self.set_title(line(Span("deja ", "dim"), Span("Help", "strong"), f"  keys of {NAMES[self.about]}"))
        self.set_hints()
        room = self.app.size.width
        lines = self.lines_for(room)
        rules = {str(place): place for place, drawn in enumerate(lines) if plain(drawn).startswith("-- ")}
        self.pager.show(lines, rules, top=self.pager.top)

    def lines_for(self, room: int) -> list[Line]:
        keymap = self.console_app.keymap
        here = [action for action in ACTIONS if self.about in action.scopes]
        groups = (
            (NAMES[self.about], [action for action in here if _kind(action) == "own"]),
            ("Moving", [action for action in here if _kind(action) == "move"]),
            ("Everywhere", [action for action in here if _kind(action) == "app"]),
        )
        lines: list[Line] = []
        for title, actions in groups:
            lines.append(heading(title, room))
            if any(self.console_app.rights.lacking(action.right) for action in actions):
                lines.extend(wrap(line(Span(f" off: {self.console_app.rights.why_off}", "warning")), room, 2))
            for action in actions:
                lines.extend(self.entry(keymap, action, room))
        typing: tuple[str, tuple[tuple[str, str], ...]] = ("While a reason is typed", _TYPING)
        if self.about == "query":
            typing = ("While a statement is typed", _STATEMENT)
        for title, pairs in (typing, ("Letters and signs", _LETTERS)):
            lines.append(heading(title, room))
            for name, means in pairs:
                lines.extend(_pair(name, means, room))
        lines.append(heading("This console", room))
        for name, means in self.facts():
            lines.extend(_pair(name, means, room))
        return lines

    def entry(self, keymap: Keymap, action: Action, room: int) -> list[Line]:
        keys = keymap.keys(action.id)
        lacking = self.console_app.rights.lacking(action.right)
        off = f" (off: needs the right `{lacking}`)" if lacking else ""
        return _pair(" ".join(keys) or "no key", action.title + off, room)

    def facts(self) -> list[tuple[str, str]]:
        app = self.console_app
        size = app.size
        return [
            ("tier", f"{app.rights.tier}, acting as {app.actor}"),
            ("window", f"{size.width}x{size.height}, needs 60x20, a second pane from 110"),
            ("terminal", self.terminal()),
            ("colours", f"{_DEPTHS[app.terminal.colours]}: {app.terminal.why or 'assumed'}"),
            (
                "theme",
                f"{app.theme_name}, {'terminal colours' if app.native_ansi_color else 'colours of its own'}",
            ),
            ("chosen by", self.chosen_by()),
            (
                "mouse",
                f"{'on: it selects and scrolls' if app.mouse_on else 'off: the terminal selects text'}",
            ),
            (
                "one update",
                "large frames are marked" if app.terminal.sync else "no marks inside a multiplexer",
            ),
            (
                "previews",
                f"filled up after {app.fill_seconds:g} s on a row"
                if app.fill_seconds
                else "not filled up: it costs bytes",
            ),
            *([("sent so far", f"{app.bytes_sent:,} bytes")] if app.bytes_sent is not None else []),
            ("files", "config.toml, keymap.toml and themes/ in the config folder of deja"),
        ]

    def terminal(self) -> str:
        """``xterm-256color, over SSH, inside tmux``."""
        found = self.console_app.terminal
        parts = [clean(found.name, 40), *(["over SSH"] if found.ssh else [])]
        return ", ".join([*parts, *([f"inside {found.multiplexer}"] if found.multiplexer else [])])

    def chosen_by(self) -> str:
        """Why this theme: what somebody said, else the facts."""
        app = self.console_app
        if app.theme_name != app.first_theme:
            return "a key, for this console only"
        if app.terminal.colours == "none" and app.theme_name == "mono":
            return app.terminal.why
        if app.terminal.ssh and app.theme_name.startswith("ansi-"):
            return "SSH: the terminal's own colours cost the fewest bytes"
        if app.terminal.colours == "16" and app.theme_name.startswith("ansi-"):
            return "the terminal has sixteen colours: its own"
        return "--theme or config.toml, else the default"


def _kind(action: Action) -> str:
    first = action.id.partition(".")[0]
    return "app" if first == "go" else first if first in ("move", "app") else "own"


def _pair(name: str, means: str, room: int) -> list[Line]:
    head = Span(f" {name:<{_KEYS_ROOM}} ", "key")
    return wrap(line(head, means), room, _KEYS_ROOM + 2)
