# SPDX-License-Identifier: Apache-2.0
"""Analyzers: how each is set and stands, and the settings of one, changed with a reason by who holds admin."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, Final

from textual.app import ComposeResult
from textual.containers import Container

from deja_tui.engine.config import ConfigChange
from deja_tui.engine.health import AnalyzerState, filled_states
from deja_tui.engine.objects import RunOutcome
from deja_tui.errors import DejaError
from deja_tui.present import settings as shown
from deja_tui.present.health import short_id
from deja_tui.present.line import Span, line, wrapped
from deja_tui.present.overview import ORDERS, ordered
from deja_tui.present.recommendation import analyzer_name
from deja_tui.present.recommendation import run as run_lines
from deja_tui.present.words import plural
from deja_tui.screens.working import TypingScreen
from deja_tui.text import clean
from deja_tui.widgets.oneline import OneLine
from deja_tui.widgets.pager import Pager
from deja_tui.widgets.reason import Reason
from deja_tui.widgets.rows import Rows

SIDE_ROOM: Final = 70
BELOW: Final = 7


class SettingScreen(TypingScreen):
    """What the list and the page of one analyzer share: reading them, switching, running, changing."""

    def __init__(self) -> None:
        super().__init__()
        self.states: Sequence[AnalyzerState] | None = None

    def load(self) -> None:
        self.count_pending()
        self.ask("analyzers", lambda reviews: reviews.analyzers(quick=True), self.glanced, self.failed)

    def glanced(self, states: Sequence[AnalyzerState]) -> None:
        """How each is set; what each would find stands as it was, or as … until it comes."""
        self.states, self.fault = filled_states(states, self.states or ()), None
        self.note_read()
        self.draw()
        # only now: both at once would make the first wait for the second
        self.ask("whole", lambda reviews: reviews.analyzers(), self.came, self.failed, filling=True)

    def came(self, states: Sequence[AnalyzerState]) -> None:
        self.states, self.fault = states, None
        self.note_read()
        self.draw()
        self.told_again()

    @property
    def state(self) -> AnalyzerState | None:
        """The analyzer that keys act on."""
        return None

    def draw(self) -> None:
        if self.editor.active:
            self.draw_typing()

    def change(self, state: AnalyzerState, what: str, parts: dict[str, Any]) -> None:
        """Ask why, then have it changed."""

        def settle(because: str) -> None:
            name = state.id
            self.ask(
                "configure",
                lambda reviews: reviews.configure(name, because=because, **parts),
                self.changed,
                self.reason_kept,
            )

        self.ask_because(what, settle)

    def changed(self, found: Sequence[ConfigChange]) -> None:
        self.reason_used()
        self.load()
        self.say(
            f"{plural(len(found), 'setting')} changed, written to the log" if found else "nothing differs"
        )

    def do_switch(self) -> None:
        state = self.state
        if state is None:
            return
        if state.settled is not None and state.settled.denied:
            self.say(
                f"the host's policy denies it: deja loop policy --db {self.console_app.quoted_file} shows where",
                "warning",
            )
            return
        on = not (state.settled is not None and state.settled.enabled)
        self.change(state, f"{'ENABLE' if on else 'DISABLE'} {short_id(state.id)}", {"enabled": on})

    def do_run(self) -> None:
        state = self.state
        if state is None:
            return
        if state.settled is None or not state.settled.enabled:
            self.say(f"{short_id(state.id)} is off: Space switches it on", "warning")
            return
        self.run_all((state.id,), quick=False)

    def do_look(self) -> None:
        """A dry run of this one: what it would propose now; nothing is written."""
        state = self.state
        if state is None:
            return
        name = state.id
        if self.begin("a dry run", f"{short_id(name)} looks, nothing is written …"):
            self.ask(
                "look",
                lambda reviews: reviews.run(only=(name,), dry_run=True),
                lambda outcome: self.looked(name, outcome),
                self.broke,
                slow=True,
            )

    def looked(self, name: str, outcome: RunOutcome) -> None:
        from deja_tui.screens.whole import WholeScreen

        self.working = ""
        self.flash.clear()
        command = f"deja loop run --dry-run --only {shlex.quote(short_id(name))} --db {self.console_app.quoted_file}"
        title = line(Span("Dry run", "strong"), f"  {analyzer_name(name)}, nothing was written")
        told = [line(" ", one) for one in run_lines(outcome)]
        none = line(" It would propose nothing now.")
        lines = told if outcome.drafts else [*told, none]
        self.app.push_screen(
            WholeScreen(
                title, lambda room: wrapped(lines, room, 3), (command, "command line"), "DESCRIBE ANALYZERS"
            )
        )

    def do_found(self) -> None:
        """What it left in the queue."""
        if self.state is not None:
            self.console_app.go("queue", short_id(self.state.id))

    def do_command(self) -> None:
        if self.state is not None:
            name, file = shlex.quote(short_id(self.state.id)), self.console_app.quoted_file
            self.copy(f"deja why {name} --db {file}", "command line")

    def cal_of_panel(self) -> str:
        return "DESCRIBE ANALYZERS"


class AnalyzersScreen(SettingScreen):
    """A row an analyzer; below or beside it what the selected one is and how it is set."""

    scope = "analyzers"
    orders = ORDERS
    DEFAULT_CSS = f"""
    AnalyzersScreen #list {{ height: 1fr; }}
    AnalyzersScreen #about {{ height: {BELOW}; }}
    AnalyzersScreen.-wide #side {{ width: {SIDE_ROOM}; height: 1fr; }}
    AnalyzersScreen.-wide #about {{ width: 1fr; height: 1fr; }}
    """

    def compose_body(self) -> ComposeResult:
        with Container(id="body"):
            with Container(id="side"):
                yield OneLine(id="head")
                yield Rows(id="list", moved=self.moved)
            yield Pager(id="about", more="Enter opens")
        yield Reason(id="typed")

    @property
    def state(self) -> AnalyzerState | None:
        return self.ordered[self.listing.selected] if self.states else None

    @property
    def ordered(self) -> list[AnalyzerState]:
        """The analyzers in the order they are shown in."""
        return ordered(self.states or (), self.order)

    @property
    def known(self) -> bool:
        return self.states is not None

    def glanced(self, states: Sequence[AnalyzerState]) -> None:
        super().glanced(states)
        self.follow()

    def place_of(self, what: str) -> int | None:
        """The analyzer of an id, a family, or a start of its name."""
        for place, state in enumerate(self.ordered):
            if what in (state.id, state.manifest.family) or short_id(state.id).startswith(what):
                return place
        return None

    def not_there(self, what: str) -> str:
        return f"there is no analyzer {what}"

    def draw(self) -> None:
        states = self.ordered
        place = f"{self.listing.selected + 1}/{len(states)}" if states else ""
        self.place_title(place, self.order_told)
        self.set_hints(without=() if states else ("open", "switch", "run", "found", "sort"))
        self.part(Pager, "about").edge = self.wide
        if states:
            cells, now_ms = shown.name_cells(states), self.console_app.now_ms()
            room = (SIDE_ROOM if self.wide else self.app.size.width) - 1
            self.part(OneLine, "head").show(line(" ", shown.list_head(cells)))
            self.listing.show(
                [state.id for state in states],
                lambda index: shown.list_row(states[index], cells, now_ms, room),
            )
        else:
            self.listing.show([], lambda index: (), self.unread())
        self.draw_about()
        super().draw()

    def row_sections(self) -> list[int]:
        """Where those that are on and those that are off take turns."""
        on = [one.settled is not None and one.settled.enabled for one in self.ordered]
        return [n for n, state in enumerate(on) if n == 0 or state != on[n - 1]]

    def draw_about(self) -> None:
        state = self.state
        room = self.app.size.width - (SIDE_ROOM + 2 if self.wide else 0)
        lines = (
            shown.analyzer_lines(state, self.console_app.now_ms(), room, self.console_app.quoted_file)
            if state
            else []
        )
        self.part(Pager, "about").show(lines)

    def moved(self) -> None:
        states = self.states or ()
        self.place_title(f"{self.listing.selected + 1}/{len(states)}", self.order_told)
        self.draw_about()

    def do_open(self) -> None:
        if self.state is not None:
            self.app.push_screen(AnalyzerScreen(self.state.id, self.states), lambda _: self.reload())


class AnalyzerScreen(SettingScreen):
    """The settings of one analyzer, a row each, with what the selected one takes."""

    scope = "analyzer"
    DEFAULT_CSS = """
    AnalyzerScreen #facts { height: 5; }
    AnalyzerScreen #list { height: 1fr; }
    AnalyzerScreen #about { height: 4; }
    """

    def __init__(self, analyzer: str, states: Sequence[AnalyzerState] | None = None) -> None:
        super().__init__()
        self.analyzer = analyzer
        self.states = states

    def compose_body(self) -> ComposeResult:
        yield Pager(id="facts")
        yield Rows(id="list", moved=self.draw_about)
        yield Pager(id="about")
        yield Reason(id="typed")

    @property
    def state(self) -> AnalyzerState | None:
        return next((one for one in self.states or () if one.id == self.analyzer), None)

    @property
    def settings(self) -> list[shown.Setting]:
        return shown.settings(self.state) if self.state else []

    @property
    def setting(self) -> shown.Setting | None:
        """The selected one."""
        found = self.settings
        return found[self.listing.selected] if self.listing.selected < len(found) else None

    def draw(self) -> None:
        state, found = self.state, self.settings
        self.set_title(line(Span("deja ", "dim"), Span(analyzer_name(self.analyzer), "strong"), "  settings"))
        self.set_hints(without=() if found else ("edit",))
        if state is not None:
            room = self.app.size.width
            lines = shown.analyzer_lines(
                state, self.console_app.now_ms(), room - 1, self.console_app.quoted_file
            )
            self.part(Pager, "facts").show([line(" ", one) for one in lines[: len(lines) - len(found)]])
        none = line(
            Span(" A layer sets something this analyzer does not take: see its state above.", "warning")
        )
        self.listing.show([one.name for one in found], lambda index: shown.setting_row(found[index]), [none])
        self.draw_about()
        super().draw()

    def draw_about(self) -> None:
        setting, room = self.setting, self.app.size.width
        self.part(Pager, "about").show(
            [line(" ", one) for one in shown.setting_lines(setting, room - 1)] if setting else []
        )

    def do_edit(self) -> None:
        state, setting = self.state, self.setting
        if state is None or setting is None:
            return

        def read(text: str) -> None:
            try:
                value = setting.read(text)
            except (DejaError, ValueError, OverflowError):
                self.say(f"{setting.name} takes {setting.takes}", "warning")
                return
            if value == setting.value and setting.layer == "file":
                self.say("that is its value already", "warning")
                return
            told = "BACK TO DEFAULT" if value is None else clean(text.strip(), 24)
            self.change(state, f"{clean(setting.name, 24)} = {told}", shown.change(state, setting, value))

        self.ask_text(clean(setting.name, 24), read, setting.typed)

    def do_quit(self) -> None:
        self.dismiss()
