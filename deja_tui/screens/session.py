# SPDX-License-Identifier: Apache-2.0
"""One session: its messages, calls, results and errors in order, each error linked to its cluster and what cites it (D55)."""

from __future__ import annotations

import shlex
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from textual.app import ComposeResult
from textual.containers import Container

from deja_tui.console.feed import Recorded
from deja_tui.console.keys import NumberKeys
from deja_tui.present import sessions as shown
from deja_tui.present.line import Line, Span, line, plain, wrapped
from deja_tui.present.words import fenced, named
from deja_tui.screens.detail import DetailScreen
from deja_tui.screens.filtering import FilteringScreen
from deja_tui.screens.recorded import NO_MEMORY, recorded
from deja_tui.screens.resting import Resting
from deja_tui.sessions import Citing
from deja_tui.store.grains import StoredGrain
from deja_tui.store.sessions import Timeline
from deja_tui.text import fold, quote
from deja_tui.widgets.pager import Pager
from deja_tui.widgets.reason import Reason
from deja_tui.widgets.rows import Rows

SIDE_ROOM: Final = 74
BELOW: Final = 7
_KEPT: Final = 4_000
_PAGE: Final = 256
_QUICK: Final = 2_000
_SEARCHED: Final = 20_000


@dataclass(frozen=True, slots=True)
class Page:
    """Grains of a timeline, by arrival position, and what cites them, by address."""

    grains: Mapping[int, StoredGrain]
    about: Mapping[str, Sequence[Citing]]


@dataclass(frozen=True, slots=True)
class Told:
    """What was read at once: what happened, and the grains about the place one looks at."""

    timeline: Timeline
    page: Page
    whole: int


def page_of(memory: Recorded, seqs: Iterable[int]) -> Page:
    """Read a page."""
    grains = memory.sessions.grains(seqs)
    return Page({one.seq: one for one in grains}, memory.sessions.about(grains))


def holding(memory: Recorded, found: Timeline, text: str) -> Timeline:
    """The events whose row holds a text, letters folded; a page of grains is in memory at a time."""
    needle, bad = fold(text), set(found.failed)
    seqs, failed = array("q"), array("q")
    for start in range(0, len(found), _PAGE):
        part = found.seqs[start : start + _PAGE]
        places = {seq: start + place for place, seq in enumerate(part)}
        for grain in memory.sessions.grains(part):
            if needle in fold(plain(shown.event_row(grain, (), 10_000, limit=_SEARCHED))):
                if places[grain.seq] in bad:
                    failed.append(len(seqs))
                seqs.append(grain.seq)
    return Timeline(seqs, failed)


class SessionScreen(FilteringScreen):
    """A row an event; below or beside them the selected one. Only the rows in sight are read."""

    scope = "session"
    DEFAULT_CSS = f"""
    SessionScreen #list {{ height: 1fr; }}
    SessionScreen #about {{ height: {BELOW}; }}
    SessionScreen.-wide #side {{ width: {SIDE_ROOM}; height: 1fr; }}
    SessionScreen.-wide #about {{ width: 1fr; height: 1fr; }}
    """

    def __init__(self, thread: str, *, errors_only: bool = False) -> None:
        super().__init__()
        self.session = thread
        self.errors_only = errors_only
        self.timeline: Timeline | None = None
        self.whole = 0
        self.grains: dict[int, StoredGrain] = {}
        self.citing: dict[str, Sequence[Citing]] = {}
        self.clusters: dict[tuple[str, str], shown.Counted] = {}
        self.read_at = 0
        self.resting = Resting(self, self.draw_about)

    def compose_body(self) -> ComposeResult:
        with Container(id="body"):
            with Container(id="side"):
                yield Rows(id="list", moved=self.moved)
            yield Pager(id="about", more="v shows all")
        yield Reason(id="filter")

    @property
    def memory(self) -> Recorded:
        return recorded(self.console_app)

    @property
    def grain(self) -> StoredGrain | None:
        """The selected event, as far as it is read."""
        found = self.timeline
        return self.grains.get(found.seqs[self.listing.selected]) if found else None

    def cites(self, grain: StoredGrain | None) -> Sequence[Citing]:
        return self.citing.get(grain.address, ()) if grain is not None else ()

    # --- reading ------------------------------------------------------------------------------------

    def load(self) -> None:
        if self.console_app.file_of is None:
            self.failed(NO_MEMORY)
            return
        memory, thread, wanted, errors_only = self.memory, self.session, self.wanted, self.errors_only
        top, height = self.listing.top, max(24, self.listing.size.height)

        def work(_: object) -> Told:
            found = memory.sessions.timeline(thread, failed=errors_only)
            whole = len(found)
            if wanted:
                found = holding(memory, found, wanted)
            near = found.seqs[max(0, top - height) : top + 2 * height]
            return Told(found, page_of(memory, near), whole)

        # looking through a long session takes longer than other reads may wait
        self.ask("timeline", work, self.came, self.failed, slow=bool(wanted) and self.whole > _QUICK)

    def came(self, found: Told) -> None:
        before = self.timeline
        at_end = before is not None and 0 < len(before) == self.listing.selected + 1
        grew = before is not None and len(found.timeline) > len(before)
        self.timeline, self.whole, self.fault = found.timeline, found.whole, None
        self.grains, self.citing = {}, {}
        self.note_read()
        self.keep(found.page)
        if at_end and grew and len(before or ()) > 1:
            self.listing.move_to(len(found.timeline) - 1)
        self.told_again()

    def page_came(self, page: Page) -> None:
        if len(self.grains) > _KEPT:
            self.grains.clear()
            self.citing.clear()
        self.keep(page)

    def keep(self, page: Page) -> None:
        self.grains.update(page.grains)
        self.citing.update(page.about)
        self.draw()

    def fill(self) -> None:
        """Ask for the grains in sight that are not read yet."""
        found, listing = self.timeline, self.listing
        if not found:
            return
        height = max(24, listing.size.height)
        if all(seq in self.grains for seq in found.seqs[listing.top : listing.top + listing.size.height]):
            return
        memory, near = self.memory, found.seqs[max(0, listing.top - height) : listing.top + 2 * height]
        self.ask("page", lambda _: page_of(memory, near), self.page_came)

    # --- drawing ------------------------------------------------------------------------------------

    def draw(self) -> None:
        found = self.timeline
        room = (SIDE_ROOM if self.wide else self.app.size.width) - 1
        self.part(Pager, "about").edge = self.wide
        seqs = found.seqs if found is not None else array("q")

        def row(index: int) -> Line:
            grain = self.grains.get(seqs[index])
            return shown.event_row(grain, self.cites(grain), room)

        self.listing.show(NumberKeys(seqs), row, empty=self.emptiness())
        self.draw_around()
        self.fill()
        self.draw_about()

    def draw_around(self) -> None:
        """Title and hints: they follow the selection."""
        found, grain = self.timeline, self.grain
        count = (
            f"{self.listing.selected + 1:,}/{len(found):,}" if found else "0/0" if found is not None else ""
        )
        self.set_title(
            line(
                Span("deja session ", "dim"),
                named(self.session, "strong", limit=40),
                f"  {count}",
                Span("  errors only" if self.errors_only else "", "warning"),
                *((Span("  filter ", "dim"), fenced(self.wanted, 40)) if self.wanted else ()),
            )
        )
        if self.editor.active:
            self.draw_typing()
            return
        words = {"errors": "show all"} if self.errors_only else {}
        words["open"] = "recommendation" if self.cites(grain) else "all fields"
        without = ["whole"] if not self.cites(grain) else []
        if not found:
            without += ["open", "whole", "next_error"]
        elif not found.failed:
            without.append("next_error")
        self.set_hints(without=without, words=words)

    def emptiness(self) -> list[Line]:
        if self.timeline is None:
            return self.unread()
        if self.wanted or (self.errors_only and self.whole == 0):
            told = [shown.none_left(self.wanted, self.errors_only, "event")]
        else:
            told = [
                line("Nothing here names the session ", fenced(self.session, 200), "."),
                line(
                    Span(
                        "It may have been forgotten, or its name was cut. h shows the sessions there are.",
                        "dim",
                    )
                ),
            ]
        return [line(" ", one) for one in wrapped(told, self.app.size.width - 2, 2)]

    def draw_about(self) -> None:
        grain = self.grain
        room = self.app.size.width - (SIDE_ROOM + 2 if self.wide else 0)
        if grain is None:
            self.part(Pager, "about").show([])
            return
        key = shown.cluster(grain)
        counted = self.clusters.get(key) if key is not None else None
        keys = {"open": self.console_app.keymap.first("session.open") or ""}
        told = shown.event_lines(grain, self.cites(grain), counted, keys, room)
        self.part(Pager, "about").show(told)
        if key is not None and counted is None:
            memory = self.memory
            self.ask(
                "cluster",
                lambda _: memory.sessions.failures(*key),
                lambda found: self.cluster_came(key, found),
            )

    def cluster_came(self, key: tuple[str, str], found: shown.Counted) -> None:
        self.clusters[key] = found
        self.draw_about()

    def moved(self) -> None:
        """Another row is selected; what is said of it follows once the keys rest."""
        self.draw_around()
        self.fill()
        self.resting.step()

    # --- keys ---------------------------------------------------------------------------------------

    def do_open(self) -> None:
        """The recommendation that cites the event, or else the whole event."""
        citing = self.cites(self.grain)
        if citing:
            self.app.push_screen(
                DetailScreen(shown.first(citing).address, at="evidence"), lambda _: self.reload()
            )
        else:
            self.do_whole()

    def do_whole(self) -> None:
        """Every field of the event."""
        grain = self.grain
        if grain is None:
            return
        from deja_tui.screens.whole import open_grain

        open_grain(self, grain)

    def do_errors(self) -> None:
        self.errors_only = not self.errors_only
        self.narrowed()

    def do_next_error(self) -> None:
        failed = self.timeline.failed if self.timeline is not None else array("q")
        place = bisect_right(failed, self.listing.selected)
        if place == len(failed):
            self.say("no failed call below this event")
        else:
            self.listing.move_to(failed[place])

    def do_previous_error(self) -> None:
        failed = self.timeline.failed if self.timeline is not None else array("q")
        place = bisect_left(failed, self.listing.selected)
        if place == 0:
            self.say("no failed call above this event")
        else:
            self.listing.move_to(failed[place - 1])

    def do_back(self) -> None:
        if self.wanted:
            self.want("")
        else:
            self.dismiss()

    def do_quit(self) -> None:
        self.dismiss()

    def do_sessions(self) -> None:
        self.dismiss()

    def do_copy(self) -> None:
        if self.grain is not None:
            self.copy(self.grain.address, "address")

    def cal_of_panel(self) -> str:
        grain = self.grain
        if grain is None:
            return ""
        what = "tools " if self.errors_only else ""
        failed = " WHERE is_error = true" if self.errors_only else ""
        return f"RECALL {what}IN {quote(grain.namespace)} THREAD {quote(self.session)}{failed} LIMIT 50"

    def do_command(self) -> None:
        if self.grain is not None:
            file = self.console_app.file
            self.copy(shlex.join(("deja", "cal", self.cal_of_panel(), "--db", file)), "command line")
