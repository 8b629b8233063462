# SPDX-License-Identifier: Apache-2.0
"""Outcomes: what was decided of each analyzer and what was measured since, in counts."""

from __future__ import annotations

from typing import Final

from textual.app import ComposeResult
from textual.containers import Container

from deja_tui.console.feed import Reviews
from deja_tui.present import measured as shown
from deja_tui.present.line import Line, Span, line, wrapped
from deja_tui.present.outcomes import NONE_YET
from deja_tui.present.words import short
from deja_tui.screens.detail import DetailScreen
from deja_tui.screens.working import TypingScreen
from deja_tui.text import clean
from deja_tui.widgets.oneline import OneLine
from deja_tui.widgets.pager import Pager
from deja_tui.widgets.reason import Reason
from deja_tui.widgets.rows import Rows

SIDE_ROOM: Final = 78
BELOW: Final = 7
NOTE_MOST: Final = 200  # characters of a draft's note (D21)


def propose_revert(reviews: Reviews, address: str, because: str) -> str:
    """File the draft, with what the apply wrote as its evidence, or what it was proposed on; the draft's address."""
    detail = reviews.show(address)
    wrote = [one for entry in detail.chain.entries for one in entry.results]
    cited = [one.address for one in detail.evidence if one.live and one.type is not None]
    return reviews.propose(
        target=detail.recommendation.target_ref,
        note=because[:NOTE_MOST],
        evidence=wrote or cited,
        operations=[{"op": "revert", "recommendation": detail.recommendation.address}],
    )


class OutcomesScreen(TypingScreen):
    """A row an analyzer and a row a measurement; below or beside them the selected one with both spans."""

    scope = "outcomes"
    orders = shown.ORDERS
    DEFAULT_CSS = f"""
    OutcomesScreen #list {{ height: 1fr; }}
    OutcomesScreen #about {{ height: {BELOW}; }}
    OutcomesScreen.-wide #side {{ width: {SIDE_ROOM}; height: 1fr; }}
    OutcomesScreen.-wide #about {{ width: 1fr; height: 1fr; }}
    OutcomesScreen.-empty #about {{ display: none; }}
    OutcomesScreen.-empty #side {{ width: 1fr; }}
    """

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[shown.Entry] | None = None

    def compose_body(self) -> ComposeResult:
        with Container(id="body"):
            with Container(id="side"):
                yield OneLine(id="head")
                yield Rows(id="list", moved=self.moved)
            yield Pager(id="about", more="Enter opens")
        yield Reason(id="typed")

    @property
    def entry(self) -> shown.Entry | None:
        """The selected row."""
        return self.ordered[self.listing.selected] if self.entries else None

    @property
    def ordered(self) -> list[shown.Entry]:
        """The rows in the order they are shown in."""
        return shown.ordered(self.entries or (), self.order)

    def load(self) -> None:
        self.count_pending()
        self.ask(
            "outcomes",
            lambda reviews: shown.entries(reviews.tally(), reviews.outcomes()),
            self.came,
            self.failed,
        )

    def came(self, entries: list[shown.Entry]) -> None:
        self.entries, self.fault = entries, None
        self.note_read()
        self.draw()
        self.follow()
        self.told_again()

    @property
    def known(self) -> bool:
        return self.entries is not None

    def place_of(self, what: str) -> int | None:
        """A recommendation that was measured, or an analyzer."""
        places = (place for place, entry in enumerate(self.ordered) if entry.key.startswith(what))
        return next(places, None)

    def not_there(self, what: str) -> str:
        return f"nothing was measured of {what[:12]} yet"

    def draw(self) -> None:
        entries = self.ordered
        self.set_class(not entries, "-empty")
        self.place_title(f"{self.listing.selected + 1}/{len(entries)}" if entries else "", self.order_told)
        self.draw_hints()
        room = (SIDE_ROOM if self.wide else self.app.size.width) - 1
        self.part(Pager, "about").edge = self.wide
        if entries:
            self.part(OneLine, "head").show(line(" ", shown.head(room)))
            self.listing.show(
                [one.key for one in entries], lambda index: shown.entry_row(entries[index], room)
            )
        else:
            self.part(OneLine, "head").show(())
            self.listing.show([], lambda index: (), self.emptiness())
        self.draw_about()
        if self.editor.active:
            self.draw_typing()

    def emptiness(self) -> list[Line]:
        if self.fault is not None or self.entries is None:
            return self.unread()
        run = f"deja loop run --db {clean(self.console_app.quoted_file, 200)}"
        room = self.app.size.width - 2
        return [line(" ", one) for one in wrapped([line(NONE_YET), line(Span("run: ", "dim"), run)], room, 0)]

    def draw_about(self) -> None:
        entry = self.entry
        room = self.app.size.width - (SIDE_ROOM + 2 if self.wide else 0)
        self.part(Pager, "about").show(shown.entry_lines(entry, room) if entry else [])

    def moved(self) -> None:
        self.place_title(f"{self.listing.selected + 1}/{len(self.entries or ())}", self.order_told)
        self.draw_hints()
        self.draw_about()

    def draw_hints(self) -> None:
        """What can be done with the selected row: only a measurement has an apply that could be taken back."""
        entry = self.entry
        if entry is None:
            self.set_hints(without=("open", "revert", "sort"))
        else:
            self.set_hints(without=("revert",) if entry.address is None else ())

    def do_open(self) -> None:
        entry = self.entry
        if entry is None:
            return
        if entry.address is None:
            self.console_app.go("analyzers", entry.analyzer)
        else:
            self.app.push_screen(DetailScreen(entry.address, at="trail"), lambda _: self.reload())

    def do_revert(self) -> None:
        """File a draft that takes the selected apply back; somebody else decides it like any other (D21)."""
        entry = self.entry
        address = entry.address if entry else None
        if address is None:
            self.say("select a measurement: its apply is what would be taken back")
            return

        def file_draft(because: str) -> None:
            self.ask(
                "revert",
                lambda reviews: propose_revert(reviews, address, because),
                self.proposed,
                self.reason_kept,
            )

        self.ask_because(f"TAKE {short(address)} BACK", file_draft)

    def proposed(self, draft: str) -> None:
        self.reason_used()
        self.say(f"filed as {short(draft)}: another person approves it before anything is taken back", "ok")
        self.load()

    def do_copy(self) -> None:
        if self.entry is not None:
            self.copy(self.entry.address or self.entry.analyzer, "address" if self.entry.address else "name")

    def cal_of_panel(self) -> str:
        return "DESCRIBE OUTCOMES"

    def row_sections(self) -> list[int]:
        """Each analyzer, with what was measured of it below."""
        return [place for place, entry in enumerate(self.ordered) if entry.address is None]

    def do_command(self) -> None:
        self.copy(f"deja loop outcomes --db {self.console_app.quoted_file}", "command line")
