# SPDX-License-Identifier: Apache-2.0
"""The overview: what the memory holds, how the loop stands, and why each analyzer does or does not fire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from textual.app import ComposeResult
from textual.containers import Container

from deja_tui.console.feed import Reviews
from deja_tui.console.looking import QUICK_S
from deja_tui.engine.health import AnalyzerState, Health, filled
from deja_tui.present import overview as shown
from deja_tui.present.health import short_id
from deja_tui.present.line import line, wrapped
from deja_tui.present.words import plural
from deja_tui.screens.working import WorkingScreen
from deja_tui.widgets.oneline import OneLine
from deja_tui.widgets.pager import Pager
from deja_tui.widgets.rows import Rows

LIST_SIDE: Final = 78
LEAST_ROWS: Final = 4
COPIES_ROOM: Final = 80


class OverviewScreen(WorkingScreen):
    """Facts above, a row an analyzer below; where there is room, why the selected one is as it is."""

    scope = "overview"
    orders = shown.ORDERS
    DEFAULT_CSS = f"""
    OverviewScreen #facts {{ height: 9; }}
    OverviewScreen #beside {{ display: none; width: 1fr; height: 1fr; }}
    OverviewScreen.-wide #beside {{ display: block; }}
    OverviewScreen.-wide #side {{ width: {LIST_SIDE}; }}
    """

    def __init__(self) -> None:
        super().__init__()
        self.health: Health | None = None
        self.stats: Mapping[str, Any] | None = None
        self.verified: shown.Verified | None = None
        # How long the last look at everything took, seconds; before it nobody knows.
        self.took = float("inf")
        self.facts_height = 0

    def compose_body(self) -> ComposeResult:
        yield Pager(id="facts")
        yield OneLine(id="rule")
        with Container(id="body"):
            with Container(id="side"):
                yield Rows(id="list", moved=self.moved)
            yield Pager(id="beside", edge=True)

    @property
    def state(self) -> AnalyzerState | None:
        """The selected analyzer."""
        states = self.states
        return states[self.listing.selected] if states else None

    @property
    def states(self) -> list[AnalyzerState]:
        """The analyzers in the order they are shown in."""
        return shown.ordered(self.health.analyzers if self.health else (), self.order)

    # --- reading ------------------------------------------------------------------------------------

    def load(self) -> None:
        upkeep = self.console_app.file_of
        self.count_pending()
        if upkeep is not None:
            self.ask("stats", lambda reviews: upkeep.stats(), self.measured)
        self.ask("health", lambda reviews: reviews.health(quick=True), self.glanced, self.failed)

    def measured(self, stats: Mapping[str, Any]) -> None:
        self.stats = stats
        self.draw()

    def glanced(self, found: Health) -> None:
        """What counts tell; what takes longer stands as it was, or as … until it comes."""
        self.health, self.fault = filled(found, self.health), None
        self.note_read()
        self.draw()
        self.follow()
        # only now: both at once would make the first wait for the second
        now = self.console_app.ticks.now

        def whole(reviews: Reviews) -> tuple[Health, float]:
            began = now()
            return reviews.health(), now() - began

        self.ask("whole", whole, lambda whole: self.came(*whole), self.failed, filling=True)

    def came(self, found: Health, took: float) -> None:
        self.health, self.took, self.fault = found, took, None
        self.note_read()
        self.draw()
        self.told_again()

    @property
    def known(self) -> bool:
        return self.health is not None

    def place_of(self, what: str) -> int | None:
        """An analyzer, by a start of its name."""
        for place, state in enumerate(self.states):
            if state.id == what or short_id(state.id).startswith(what):
                return place
        return None

    def not_there(self, what: str) -> str:
        return f"there is no analyzer {what}"

    # --- drawing ------------------------------------------------------------------------------------

    def draw(self) -> None:
        self.place_title(self.order_told)
        self.set_hints(without=() if self.health else ("open", "run", "found", "sort"))
        room, health = self.app.size.width, self.health
        if health is None:
            self.part(Pager, "facts").show([])
            self.listing.show([], lambda index: (), self.unread())
            return
        facts = shown.facts(
            health, self.stats, self.verified, self.console_app.quoted_file, copies=room >= COPIES_ROOM
        )
        lines = wrapped([line(" ", one) for one in facts], room, 15)
        self.size_facts(len(lines))
        self.part(Pager, "facts").show(lines)
        now_ms, states = self.console_app.now_ms(), self.states
        list_room = (LIST_SIDE if self.wide else room) - 1
        self.listing.show(
            [state.id for state in states], lambda index: shown.analyzer_row(states[index], now_ms, list_room)
        )
        self.draw_beside()

    def size_facts(self, lines: int) -> None:
        """The facts take what they need and leave rows to the list."""
        height = max(1, min(lines, self.app.size.height - 4 - LEAST_ROWS))
        if height != self.facts_height:
            self.facts_height = height
            self.part(Pager, "facts").styles.height = height

    def draw_beside(self) -> None:
        state = self.state
        rule = shown.list_rule(state, self.console_app.quoted_file, self.app.size.width)
        self.part(OneLine, "rule").show(rule)
        if self.wide and state is not None:
            room = self.app.size.width - LIST_SIDE - 2
            self.part(Pager, "beside").show(
                wrapped(shown.why(state, self.console_app.now_ms(), room), room, 4)
            )

    def moved(self) -> None:
        self.draw_beside()

    # --- work ---------------------------------------------------------------------------------------

    def do_run(self) -> None:
        if self.health is not None:
            self.run_all(shown.runs(self.health.analyzers), quick=self.took < QUICK_S)

    def do_verify(self) -> None:
        upkeep = self.console_app.file_of
        if upkeep is not None:
            self.verify_file(upkeep, self.checked)

    def checked(self, faults: int) -> None:
        self.verified = shown.Verified(self.console_app.now_ms(), faults)
        self.draw()
        self.load()
        self.say(
            f"{plural(faults, 'fault')} found: deja verify --db {self.console_app.quoted_file}"
            if faults
            else "verified: no fault",
            "error" if faults else "ok",
        )

    # --- keys ---------------------------------------------------------------------------------------

    def do_open(self) -> None:
        if self.state is not None:
            self.console_app.go("analyzers", self.state.id)

    def do_found(self) -> None:
        """What the selected analyzer left in the queue."""
        if self.state is not None:
            self.console_app.go("queue", short_id(self.state.id))

    def row_sections(self) -> list[int]:
        """Where the analyzers of another state begin."""
        states = [one.activation.state for one in self.states]
        return [n for n, state in enumerate(states) if n == 0 or state != states[n - 1]]

    def cal_of_panel(self) -> str:
        return "DESCRIBE LOOP"

    def do_command(self) -> None:
        self.copy(f"deja loop --db {self.console_app.quoted_file}", "command line")
