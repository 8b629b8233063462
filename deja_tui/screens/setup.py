# SPDX-License-Identifier: Apache-2.0
"""Setup: what is set up and what is not, by what the file says, with the lines to copy and the acts that are ours."""

from __future__ import annotations

import os
from typing import Final

from textual.app import ComposeResult
from textual.containers import Container

from deja_tui.capture import starters
from deja_tui.console.feed import Recorded
from deja_tui.present import setup as shown
from deja_tui.present.line import Line, Span, line
from deja_tui.present.words import plural
from deja_tui.screens.recorded import NO_MEMORY, copy_lines, recorded
from deja_tui.screens.whole import WholeScreen
from deja_tui.screens.working import WorkingScreen
from deja_tui.standing import Standing
from deja_tui.text import clean
from deja_tui.widgets.pager import Pager
from deja_tui.widgets.rows import Rows

LIST_SIDE: Final = 66
_AROUND: Final = 3
_LEAST: Final = 6


class SetupScreen(WorkingScreen):
    """A row a thing; below or beside it what it is for, and the selected one of its snippets, whole where it fits.

    Nothing of another program is ever changed: lines are shown and copied.
    """

    scope = "setup"
    DEFAULT_CSS = f"""
    SetupScreen #list {{ height: 1fr; }}
    SetupScreen #about {{ height: {_LEAST}; }}
    SetupScreen.-wide #side {{ width: {LIST_SIDE}; height: 1fr; }}
    SetupScreen.-wide #about {{ width: 1fr; height: 1fr; }}
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: Standing | None = None
        self.rows: list[shown.Row] = []
        self.faults: int | None = None
        # which snippet of each row is shown
        self.places: dict[str, int] = {}
        self.about_height = 0

    def compose_body(self) -> ComposeResult:
        with Container(id="body"):
            with Container(id="side"):
                yield Rows(id="list", moved=self.moved)
            yield Pager(id="about", more="v shows all")

    @property
    def memory(self) -> Recorded:
        return recorded(self.console_app)

    @property
    def row(self) -> shown.Row | None:
        """The selected one."""
        return self.rows[self.listing.selected] if self.rows else None

    @property
    def place(self) -> int:
        row = self.row
        return self.places.get(row.key, 0) % max(1, len(row.snippets)) if row else 0

    @property
    def snippet(self) -> shown.Snippet | None:
        """The one that y copies."""
        row = self.row
        return row.snippets[self.place] if row is not None and row.snippets else None

    @property
    def file(self) -> str:
        """The memory by its whole path, as lines in other places need it."""
        return os.path.abspath(self.console_app.file)

    # --- reading ------------------------------------------------------------------------------------

    def load(self) -> None:
        if self.console_app.file_of is None:
            self.failed(NO_MEMORY)
            return
        memory = self.memory
        self.ask("standing", lambda _: memory.standing(), self.came, self.failed)

    def came(self, found: Standing) -> None:
        self.found, self.fault = found, None
        self.draw()
        self.count_pending()
        self.follow()
        self.told_again()

    @property
    def known(self) -> bool:
        return self.found is not None

    def place_of(self, what: str) -> int | None:
        return next((place for place, row in enumerate(self.rows) if row.key.startswith(what)), None)

    def not_there(self, what: str) -> str:
        return f"there is no row {what}: {', '.join(row.key for row in self.rows)}"

    # --- drawing ------------------------------------------------------------------------------------

    def draw(self) -> None:
        self.rows = shown.rows(self.found, self.file, faults=self.faults) if self.found is not None else []
        rows = self.rows
        todo = shown.open_rows(rows)
        self.place_title(
            Span(f"{todo} to do" if todo else "all set up" if rows else "", "warning" if todo else "ok")
        )
        self.part(Pager, "about").edge = self.wide
        self.size_about()
        self.listing.show(
            [row.key for row in rows], lambda index: shown.setup_row(rows[index]), self.unread()
        )
        self.draw_about()

    def size_about(self) -> None:
        """In a narrow window what the list leaves belongs to the selected row."""
        height = 0 if self.wide else max(_LEAST, self.app.size.height - _AROUND - max(1, len(self.rows)))
        if height != self.about_height:
            self.about_height = height
            self.part(Pager, "about").styles.height = height or "1fr"

    def draw_about(self) -> None:
        row, keymap = self.row, self.console_app.keymap
        keys = {name: keymap.first(f"setup.{name}") or "" for name in ("open", "copy", "whole")}
        self.hint()
        if row is None:
            told: list[Line] = []
        elif self.wide:
            told = shown.row_lines(row, self.place, keys, self.app.size.width - LIST_SIDE - 2)
        else:
            room, height = self.app.size.width - 2, self.about_height
            told = [line(" ", one) for one in shown.brief_lines(row, self.place, keys, room, height)]
        self.part(Pager, "about").show(told)

    def hint(self) -> None:
        row = self.row
        without = []
        if row is None or not row.act:
            without.append("open")
        if row is None or not row.snippets:
            without += ["copy", "whole"]
        if row is None or len(row.snippets) < 2:
            without.append("next_snippet")
        words = {
            "document": "create it",
            "queries": "define them",
            "integrity": "verify",
            "analyzers": "analyzers",
        }
        self.set_hints(without=without, words={"open": words.get(row.key, "do it")} if row else {})

    def moved(self) -> None:
        self.draw_about()

    # --- keys ---------------------------------------------------------------------------------------

    def do_open(self) -> None:
        """The act of the selected row, where one is ours."""
        row = self.row
        if row is None or not row.act:
            self.say("there is nothing for deja to do here: the lines are yours to paste" if row else "")
            return
        missing = self.console_app.rights.missing(row.right)
        if missing:
            self.say(missing, "warning")
            return
        {
            "document": self.begin_document,
            "queries": self.begin_queries,
            "analyzers": self.to_analyzers,
            "integrity": self.verify,
        }[row.key]()

    def to_analyzers(self) -> None:
        self.console_app.go("analyzers")

    def begin_document(self) -> None:
        """What a template would write, to be saved or left."""
        from deja_tui.screens.starter import DocumentStarter

        if self.found is not None:
            self.app.push_screen(DocumentStarter(starters.documents(), self.found.namespace), self.begun)

    def begin_queries(self) -> None:
        """The queries a template would define."""
        from deja_tui.screens.starter import QueryStarter

        if self.found is not None:
            self.app.push_screen(QueryStarter(starters.queries(self.found.queries)), self.begun)

    def begun(self, _: None = None) -> None:
        self.load()

    def verify(self) -> None:
        self.verify_file(self.memory, self.checked)

    def checked(self, faults: int) -> None:
        self.faults = faults
        self.load()
        told = (
            f"{plural(faults, 'fault')} found: deja verify --db {self.console_app.quoted_file}"
            if faults
            else "verified: no fault"
        )
        self.say(told, "error" if faults else "ok")

    def do_next_snippet(self) -> None:
        self.turn(1)

    def do_previous_snippet(self) -> None:
        self.turn(-1)

    def turn(self, by: int) -> None:
        """Show another snippet of the row."""
        row = self.row
        if row is not None and len(row.snippets) > 1:
            self.places[row.key] = (self.place + by) % len(row.snippets)
            self.draw_about()

    def do_page_down(self) -> None:
        """The list is short: pages are those of the lines beside it."""
        self.part(Pager, "about").page(1)

    def do_page_up(self) -> None:
        self.part(Pager, "about").page(-1)

    def do_copy(self) -> None:
        one = self.snippet
        if one is None:
            self.say("there are no lines for this row")
        elif len(one.lines) == 1:
            self.copy(one.text, "line")
        else:
            where = "they stand beside" if self.wide else "v shows them"
            copy_lines(self, one.text, f"{plural(len(one.lines), 'line')} for {clean(one.place, 60)}", where)

    def do_whole(self) -> None:
        """The whole snippet, in a window of its own."""
        one = self.snippet
        if one is not None:
            title = line(Span(one.name, "strong"), f"  for {clean(one.place, 80)}")
            self.app.push_screen(
                WholeScreen(title, lambda room: shown.snippet_lines(one, room), (one.text, "the lines"))
            )

    def do_command(self) -> None:
        if self.snippet is not None:
            self.copy(self.snippet.command, "command line")

    def cal_of_panel(self) -> str:
        row = self.row
        return {
            "queries": "DESCRIBE QUERIES",
            "analyzers": "DESCRIBE ANALYZERS",
            "policy": "DESCRIBE POLICY",
        }.get(row.key if row else "", "DESCRIBE STATS")
