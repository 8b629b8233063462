# SPDX-License-Identifier: Apache-2.0
"""What a template would write, line by line, before it is written: saved as it is shown, or left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.app import ComposeResult

from deja_tui.capture.starters import NewDocument, NewQueries
from deja_tui.console.feed import Recorded
from deja_tui.errors import DejaError
from deja_tui.present import setup as shown
from deja_tui.present.line import Line, Span, line
from deja_tui.present.words import named, plural
from deja_tui.screens.reading import ReadingScreen
from deja_tui.screens.recorded import recorded
from deja_tui.widgets.pager import Pager


class StarterScreen(ReadingScreen):
    """A change on paper. ``o`` shows that of another template, Enter saves the one that is shown."""

    scope = "starter"

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.place = 0
        self.saving = False

    def compose_body(self) -> ComposeResult:
        yield Pager(id="text", more="j goes on", leads=True)

    @property
    def template(self) -> str:
        """The template the shown one is from."""
        return ""

    def told(self) -> Line:
        """What it is, for the title."""
        return ()

    def lines(self, room: int) -> list[Line]:
        """The change."""
        return []

    def save(self, memory: Recorded) -> str:
        """Write it; what to say then. On the feed's thread."""
        return ""

    def draw(self) -> None:
        of = f" {self.place + 1}/{self.count}" if self.count > 1 else ""
        self.set_title(
            line(
                Span("deja ", "dim"),
                self.told(),
                Span(f"  template {self.template}{of}, not saved yet", "dim"),
            )
        )
        self.set_hints(without=() if self.count > 1 else ("other",))
        self.pager.show(self.lines(self.app.size.width) if self.count else [])

    def do_other(self) -> None:
        self.place = (self.place + 1) % max(1, self.count)
        self.draw()

    def do_save(self) -> None:
        if self.saving or not self.count:
            return
        self.saving = True
        memory = recorded(self.console_app)
        self.ask("save", lambda _: self.save(memory), self.saved, self.refused)

    def saved(self, told: str) -> None:
        below: Any = self.app.screen_stack[-2]
        self.dismiss()
        below.say(told, "ok")

    def refused(self, fault: DejaError) -> None:
        self.saving = False
        self.say_error(fault)


class DocumentStarter(StarterScreen):
    """A new instruction document."""

    def __init__(self, choices: Sequence[NewDocument], namespace: str) -> None:
        super().__init__(len(choices))
        self.choices = choices
        self.namespace_of = namespace

    @property
    def template(self) -> str:
        return self.choices[self.place].template

    def told(self) -> Line:
        return line(Span("new document", "strong"), " in ", named(self.namespace_of, limit=40))

    def lines(self, room: int) -> list[Line]:
        return shown.document_lines(self.choices[self.place], self.namespace_of, room)

    def save(self, memory: Recorded) -> str:
        chosen = self.choices[self.place]
        written = memory.docs.create(chosen.path, chosen.text)
        return f"saved as {written.path}, version {written.address[:8]}"


class QueryStarter(StarterScreen):
    """New saved queries."""

    def __init__(self, choices: Sequence[NewQueries]) -> None:
        super().__init__(len(choices))
        self.choices = choices

    @property
    def template(self) -> str:
        return self.choices[self.place].template if self.choices else ""

    def told(self) -> Line:
        return line(Span("new saved queries", "strong"))

    def lines(self, room: int) -> list[Line]:
        return shown.query_lines(self.choices[self.place], room)

    def save(self, memory: Recorded) -> str:
        chosen = self.choices[self.place]
        memory.cal(chosen.statement)
        return f"{plural(len(chosen.queries), 'query', 'queries')} defined"
