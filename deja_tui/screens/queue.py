# SPDX-License-Identifier: Apache-2.0
"""The queue: what waits for a decision, most severe first, with a preview of the selected recommendation."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.timer import Timer

from deja_tui.console.actions import Case
from deja_tui.engine.health import Health
from deja_tui.engine.objects import STATUSES, Detail, QueueRow
from deja_tui.errors import DejaError
from deja_tui.present import recommendation as shown
from deja_tui.present.card import card
from deja_tui.present.change import HANG, change
from deja_tui.present.health import command_of, further_back, short_id, told
from deja_tui.present.line import Line, Span, heading, line, wrap, wrapped
from deja_tui.present.overview import runs
from deja_tui.present.words import age, fenced, plural, short
from deja_tui.screens.detail import DetailScreen, case_of, command_line
from deja_tui.screens.filtering import FILTER_KEYS
from deja_tui.screens.resting import HELD_SECONDS, Resting
from deja_tui.screens.working import WorkingScreen
from deja_tui.text import clean, fold, utc
from deja_tui.widgets.hints import Hints
from deja_tui.widgets.oneline import OneLine
from deja_tui.widgets.pager import Pager
from deja_tui.widgets.reason import Reason
from deja_tui.widgets.rows import Rows

FIRST_SPAN_MS: Final = 86_400_000  # the shortest span after which an apply is measured (D23)
STATUS_ORDER: Final[tuple[str | None, ...]] = (*STATUSES, None)
SORTS: Final = ("severity", "newest", "most evidence")
LIST_SIDE: Final = 50
PREVIEW_LEAST: Final = 5
# A preview is filled up below its card where that shows so many lines more.
CARD_LINES: Final = 5
FILL_LEAST: Final = 3
# So many rows are read before anything is pressed: some pages, so that a long queue opens as fast as a short one.
FIRST_ROWS: Final = 200
_KEPT: Final = 64
_OF_A_ROW: Final = ("open", "walk", "evidence", "trail", "sort")


@dataclass(frozen=True, slots=True)
class Sorted:
    """A sort: `severity` is the order the memory gives."""

    name: str

    def order(self, rows: list[QueueRow]) -> list[QueueRow]:
        if self.name == "newest":
            return sorted(rows, key=lambda row: -row.age_from)
        if self.name == "most evidence":
            return sorted(rows, key=lambda row: -row.evidence_total)
        return rows


class QueueScreen(WorkingScreen):
    """List, preview, filter. Nothing is decided here without the reason flow, one recommendation at a time (D15)."""

    scope = "queue"
    DEFAULT_CSS = f"""
    QueueScreen #side {{ height: auto; }}
    QueueScreen #list {{ height: 4; }}
    QueueScreen #preview {{ height: 1fr; }}
    QueueScreen #filter {{ display: none; }}
    QueueScreen.-typing #filter {{ display: block; }}
    QueueScreen.-wide #side {{ width: {LIST_SIDE}; height: 1fr; }}
    QueueScreen.-wide #list {{ height: 1fr; }}
    QueueScreen.-empty #preview {{ display: none; }}
    QueueScreen.-empty #side {{ width: 1fr; height: 1fr; }}
    QueueScreen.-empty #list {{ height: 1fr; }}
    """

    def __init__(self) -> None:
        super().__init__()
        self.status: str | None = "pending"
        self.sort = Sorted(SORTS[0])
        self.wanted = ""
        self.all_rows: list[QueueRow] | None = None
        self.rows: list[QueueRow] = []
        self.details: OrderedDict[str, Detail] = OrderedDict()
        self.stale: set[str] = set()
        self.standing: Health | None = None
        self.previewing = ""
        self.whole = False
        # How many rows there are while only the first of them were read, else None; whether the last one is wanted.
        self.total: int | None = None
        self.to_last = False
        self.reading: int | None = None
        self.list_height = ""
        self.resting = Resting(self, self.show_preview)
        self.filling: Timer | None = None
        self.filled = ""

    def compose_body(self) -> ComposeResult:
        with Container(id="body"):
            with Container(id="side"):
                yield OneLine(id="head")
                yield Rows(id="list", moved=self.moved)
            yield Pager(id="preview", more="Enter opens")
        yield Reason(id="filter")

    @property
    def preview(self) -> Pager:
        return self.part(Pager, "preview")

    @property
    def preview_room(self) -> int:
        """The cells of a line of the preview."""
        return self.app.size.width - (LIST_SIDE + 2 if self.wide else 0)

    @property
    def editor(self) -> Reason:
        return self.part(Reason, "filter")

    @property
    def row(self) -> QueueRow | None:
        """The selected row."""
        return self.rows[self.listing.selected] if self.rows else None

    @property
    def case(self) -> Case | None:
        """What is known about deciding the selected one."""
        row = self.row
        if row is None:
            return None
        found = self.details.get(row.address)
        return case_of(found) if found else Case(row.status, row.foreign, row.destructive, row.rollbackable)

    def about(self, what: str) -> None:
        """Show what is pending of an analyzer: its name as the filter."""
        self.wanted, self.status = what, "pending"
        self.all_rows = None
        if self.ready:
            self.draw()
            self.load()

    # --- reading ------------------------------------------------------------------------------------

    def load(self) -> None:
        """Read the rows: at first those one can see and a few pages more, everything once a key is pressed."""
        status, known = self.status, self.all_rows is not None
        if known or status is None or self.wanted or self.sort.name != SORTS[0]:
            # a long queue takes longer to read than another place may wait
            self.ask("queue", lambda reviews: reviews.queue(status), self.came, self.failed, filling=True)
        else:
            self.ask(
                "queue",
                lambda reviews: (reviews.queue(status, limit=FIRST_ROWS), reviews.waiting(status)),
                lambda found: self.came(*found),
                self.failed,
            )

    def came(self, rows: list[QueueRow], total: int | None = None) -> None:
        """Rows were read; ``total`` tells how many there are where these are only the first."""
        completed = self.total is not None
        self.all_rows, self.reading = rows, None
        self.total = None if total is None or len(rows) < FIRST_ROWS else total
        if self.status == "pending":
            self.console_app.pending = self.total or len(rows)
        self.note_read()
        self.fault = None
        if not completed:
            self.stale = set(self.details)
        self.draw()
        if not rows and self.status == "pending":
            self.ask_standing()
        if self.to_last and self.total is None:
            self.to_last = False
            super().do_last()
        self.told_again()

    def failed(self, fault: DejaError) -> None:
        self.reading = None
        super().failed(fault)

    # --- drawing ------------------------------------------------------------------------------------

    def draw(self) -> None:
        self.rows = self.sort.order([row for row in self.all_rows or [] if matches(row, self.wanted)])
        self.set_class(not self.rows, "-empty")
        self.preview.edge = self.wide
        room = (LIST_SIDE if self.wide else self.app.size.width) - 1
        layout = shown.columns(self.rows, room, summaries=not self.wide)
        now_ms = self.console_app.now_ms()
        rows = self.rows
        self.part(OneLine, "head").show(line(" ", shown.queue_head(layout)) if rows else ())
        self.size_list(len(rows))
        self.listing.show(
            [row.address for row in rows],
            lambda index: shown.queue_row(rows[index], layout, now_ms, broken=self.broken_chain(rows[index])),
            empty=self.emptiness(),
        )
        self.draw_around()
        self.show_preview()

    def size_list(self, rows: int) -> None:
        """A short list leaves its room to the preview. Setting a style lays out anew, so only when it differs."""
        height = "1fr"
        if rows and not self.wide:
            body = self.app.size.height - 4 - (1 if self.editor.active else 0)
            height = str(max(1, min(rows, body - PREVIEW_LEAST)))
        if height != self.list_height:
            self.list_height = height
            self.listing.styles.height = height

    def draw_around(self) -> None:
        """Title and hints: they follow the selection."""
        rows, row = self.rows, self.row
        place = f"{self.listing.selected + 1}/{self.total or len(rows)}" if rows else "0/0"
        status = "all" if self.status is None else shown.status_word(self.status)
        self.place_title(
            f"{status}  {place}",
            Span(f"  by {self.sort.name}" if self.sort.name != SORTS[0] else "", "dim"),
            *((Span("  filter ", "dim"), fenced(self.wanted, 40)) if self.wanted else ()),
        )
        if self.editor.active:
            self.draw_typing()
        else:
            self.set_hints(self.case, without=("run",) if row else _OF_A_ROW)

    def draw_typing(self) -> None:
        self.part(Hints, "hints").show_hints(FILTER_KEYS)

    def emptiness(self) -> list[Line]:
        """What to say when there is no row."""
        if self.all_rows is None:
            return self.unread()
        if self.wanted:
            return [line(" No recommendation matches ", fenced(self.wanted, 60), ". Esc clears the filter.")]
        file = clean(self.console_app.quoted_file, 200)
        if self.status != "pending":
            word = (
                "recommendation"
                if self.status is None
                else f"{shown.status_word(self.status)} recommendation"
            )
            return [line(f" No {word}. f shows another status.")]
        lines = [line(" Nothing waits for a decision."), line()]
        for receipt in self.console_app.receipts[-8:]:
            did = shown.status_word(receipt.to_status)
            lines.append(
                line(
                    f" {did:<11} ",
                    Span(short(receipt.recommendation), "address"),
                    Span("  audit ", "dim"),
                    short(receipt.audit),
                )
            )
        lines.extend(self.after_all_decided())
        lines.extend(self.until_more())
        lines.append(line(Span(" look again: ", "dim"), f"R, or deja loop run --db {file}"))
        lines.append(line(Span(" bring more: ", "dim"), f"deja import claude-code PATH --db {file}"))
        return wrapped(lines, self.app.size.width - 1, 13)

    def after_all_decided(self) -> list[Line]:
        """When the first of what was applied here is measured, and what may go without a person."""
        receipts = self.console_app.receipts
        if not receipts:
            return []
        lines = []
        applied = [receipt.at for receipt in receipts if receipt.to_status == "applied"]
        if applied:
            due = utc(min(applied) + FIRST_SPAN_MS)
            lines.append(
                line(Span(" measured:   ", "dim"), f"by a run after {due}, then on place 5 Outcomes")
            )
        file = clean(self.console_app.quoted_file, 200)
        grants = f"what goes without a person is what the host grants: deja loop policy --db {file}"
        return [*lines, line(Span(" unasked:    ", "dim"), grants), line()]

    def until_more(self) -> list[Line]:
        """What a run would find new, and what the nearest analyzers still need."""
        health = self.standing
        if health is None:
            return []
        new = f"{plural(health.new_grains, 'grain')} and {plural(health.new_errors, 'error')}"
        when = (
            "no run yet"
            if health.last_run is None
            else f"since the run {age(health.at - health.last_run)} ago"
        )
        lines = [line(Span(" new:        ", "dim"), f"{new}, {when}")]
        short_of = [one for one in health.analyzers if one.activation.state == "below_threshold"]
        nearest = sorted(short_of, key=lambda one: one.activation.need - one.activation.have)
        lines += [
            line(Span(" waits:      ", "dim"), f"{short_id(one.id)} ", told(one.activation, health.at))
            for one in nearest[:3]
        ]
        if wider := further_back(health):
            file = self.console_app.quoted_file
            lines.append(line(Span(" look back:  ", "dim"), command_of(wider[0], file)))
        return [*lines, line()]

    def ask_standing(self) -> None:
        """What an empty queue is told with; it is asked for only then."""
        self.ask(
            "standing",
            lambda reviews: reviews.health(),
            self.stood,
            lambda fault: self.say_stale(fault),
            filling=True,
        )

    def stood(self, health: Health) -> None:
        self.standing = health
        self.draw()

    def do_run(self) -> None:
        """Run the analyzers, at most five seconds; what they find stands here then."""
        self.ask(
            "analyzers",
            lambda reviews: reviews.analyzers(quick=True),
            lambda states: self.run_all(runs(states), quick=False),
        )

    # --- preview ------------------------------------------------------------------------------------

    def moved(self) -> None:
        """Another row is selected: title, hints and preview follow in the same paint."""
        self.draw_around()
        self.resting.step()

    def show_preview(self) -> None:
        """Draw the selected recommendation, and ask for it when it is not known yet."""
        # A timer may come when another place is looked at, or when the console ends and the list is gone.
        row = self.row if self.is_current else None
        if row is None:
            return
        found = self.details.get(row.address)
        if found is not None:
            self.details.move_to_end(row.address)
            self.draw_preview(found)
            self.read_ahead()
        else:
            # Reading takes a few milliseconds; only a slow one is worth a paint of its own.
            self.set_timer(HELD_SECONDS, self.show_glance)
        if found is None or row.address in self.stale:
            destructive = self.console_app.rights.tier == "DESTRUCTIVE"
            self.ask(
                "preview",
                lambda reviews: reviews.show(row.address, allow_destructive=destructive),
                self.previewed,
            )

    def show_glance(self) -> None:
        row = self.row if self.is_current else None
        if row is not None and row.address not in self.details:
            self.preview.show(self.glance(row))

    def previewed(self, found: Detail) -> None:
        self.keep(found)
        row = self.row
        if row is not None and row.address == found.recommendation.address:
            self.draw_around()
            self.draw_preview(found)
            self.read_ahead()

    def broken_chain(self, row: QueueRow) -> bool:
        """Whether its audit chain was read and does not hold together."""
        found = self.details.get(row.address)
        return found is not None and not found.chain.verified

    def keep(self, found: Detail) -> None:
        """Remember what was read of one, and forget the one that was looked at longest ago."""
        known = self.details.get(found.recommendation.address)
        self.details[found.recommendation.address] = found
        self.stale.discard(found.recommendation.address)
        if (known is None or known.chain.verified) and not found.chain.verified:
            self.listing.drawn = {}
            self.listing.refresh(layout=False)
        while len(self.details) > _KEPT:
            self.details.popitem(last=False)

    def read_ahead(self) -> None:
        """Read the rows around the selected one, so that the next step has list and preview in one paint."""
        at = self.listing.selected
        around = [self.rows[place] for place in (at + 1, at - 1) if 0 <= place < len(self.rows)]
        unknown = next((row.address for row in around if row.address not in self.details), None)
        if unknown is None:
            return
        destructive = self.console_app.rights.tier == "DESTRUCTIVE"

        def came(found: Detail) -> None:
            self.keep(found)
            if unknown in self.details:
                self.read_ahead()

        self.ask(
            "ahead",
            lambda reviews: reviews.show(unknown, allow_destructive=destructive),
            came,
            # Nobody has asked for it: a fault is told when somebody does.
            lambda fault: None,
        )

    def glance(self, row: QueueRow) -> list[Line]:
        """What the row itself tells, until the rest is read."""
        room = self.preview_room
        head = heading(short(row.address), room)
        return [
            head,
            *wrap(line(Span(clean(row.summary, limit=shown.SUMMARY_LIMIT), "strong")), room, 2),
            line(Span("reading …", "dim")),
        ]

    def draw_preview(self, found: Detail) -> None:
        room, same = self.preview_room, found.recommendation.address == self.previewing
        self.previewing = found.recommendation.address
        self.whole = self.whole and same
        top = self.preview.top if same else 0
        if self.filling is not None:
            self.filling.stop()
            self.filling = None
        if self.whole or self.filled == self.previewing:
            self.preview.show(*self.all_of(found, room), top=top)
            return
        self.filled = ""
        self.preview.show(card(found, room, summary=self.wide, rest=self.how_to_see_more()))
        if self.preview.size.height >= CARD_LINES + FILL_LEAST:
            seconds = self.console_app.fill_seconds
            self.filling = self.set_timer(seconds, self.fill_up) if seconds else None

    def fill_up(self) -> None:
        """Nobody moved on: the room below the card shows the rest."""
        found = self.details.get(self.previewing)
        here = self.is_current and self.row is not None and self.row.address == self.previewing
        if found is not None and here and self.preview.size.height >= CARD_LINES + FILL_LEAST:
            self.filled = self.previewing
            self.draw_preview(found)

    def all_of(self, found: Detail, room: int) -> tuple[list[Line], dict[str, int]]:
        """Everything about a recommendation below each other, and where its sections begin."""
        digits, now_ms = shown.digits_of(found), self.console_app.now_ms()
        lines = [
            card(found, room, summary=False, rest="")[0],
            *wrap(line(Span(clean(found.summary, limit=shown.SUMMARY_LIMIT), "strong")), room, 2),
            *wrapped(change(found, digits), room, HANG),
            *wrap(shown.about(found, now_ms), room, 2),
        ]
        starts = {}
        for part in shown.sections(found, now_ms, room)[1:]:
            starts[part.id] = len(lines)
            lines.extend(shown.section_lines(part, room))
        return lines, starts

    def how_to_see_more(self) -> str:
        """The keys that show what a card leaves out."""
        keys = self.console_app.keymap
        ways = ((keys.first("move.next_section"), "shows all"), (keys.first("queue.open"), "opens"))
        return ", ".join(f"{key} {does}" for key, does in ways if key)

    # --- keys ---------------------------------------------------------------------------------------

    def press(self, key: str, character: str | None) -> None:
        if self.total is not None and self.reading != self.total:
            self.reading = self.total
            self.load()
        if self.editor.active and not self.small:
            self.type(key, character)
        else:
            super().press(key, character)

    def type(self, key: str, character: str | None) -> None:
        """Keys while the filter is typed."""
        if key == "enter":
            self.stop_typing()
        elif key == "escape":
            self.wanted = ""
            self.stop_typing()
        elif self.editor.take(key, character):
            self.wanted = self.editor.text
            self.draw()
        else:
            self.anywhere(key)

    def pasted(self, event: events.Paste) -> None:
        if self.editor.active:
            self.editor.paste(event.text)
            self.wanted = self.editor.text
            self.draw()

    def stop_typing(self) -> None:
        self.editor.put_away()
        self.remove_class("-typing")
        self.draw()

    def do_last(self) -> None:
        self.to_last = self.total is not None
        super().do_last()

    def do_filter(self) -> None:
        self.add_class("-typing")
        self.editor.ask("Filter", self.wanted, limit=None)
        self.draw()

    def do_clear(self) -> None:
        if self.working:
            self.do_stop()
        elif self.wanted:
            self.wanted = ""
            self.draw()

    def do_status(self) -> None:
        place = STATUS_ORDER.index(self.status)
        self.status = STATUS_ORDER[(place + 1) % len(STATUS_ORDER)]
        self.all_rows = None
        self.draw()
        self.load()

    def do_sort(self) -> None:
        self.sort = Sorted(SORTS[(SORTS.index(self.sort.name) + 1) % len(SORTS)])
        self.draw()
        self.say(f"sorted by {self.sort.name}")

    def do_next_section(self) -> None:
        self.show_whole(True)
        self.preview.next_section(1)

    def do_previous_section(self) -> None:
        if not self.preview.next_section(-1):
            self.show_whole(False)

    def show_whole(self, whole: bool) -> None:
        """Draw all of the selected recommendation, or the card of it."""
        found = self.details.get(self.row.address) if self.row else None
        if found is not None and whole != self.whole:
            self.whole = whole
            self.draw_preview(found)

    def do_open(self) -> None:
        self.open_at(None)

    def do_evidence(self) -> None:
        self.open_at("evidence")

    def do_trail(self) -> None:
        self.open_at("trail")

    def open_at(self, section: str | None) -> None:
        if self.row is not None:
            known = self.details.get(self.row.address)
            self.app.push_screen(
                DetailScreen(self.row.address, at=section, known=known), lambda _: self.reload()
            )

    def do_dry_run(self) -> None:
        row = self.row
        if row is None:
            return
        destructive = self.console_app.rights.tier == "DESTRUCTIVE"
        self.ask(
            "dry run",
            lambda reviews: reviews.dry_run(row.address, allow_destructive=destructive),
            lambda plan: self.flash.show_line(line(" ", shown.plan(plan))),
        )

    def do_copy(self) -> None:
        if self.row is not None:
            self.copy(self.row.address, "address")

    def do_command(self) -> None:
        if self.row is not None:
            self.copy(command_line(self.console_app.file, self.row.address), "command line")

    def cal_of_panel(self) -> str:
        """All of the status that is shown; the filter is of this list only and is no part of it."""
        if self.status is None:
            return 'RUN "Recommendations"'
        if self.status == "pending":
            return 'RUN "Pending Recommendations"'
        return f'RECALL recommendations WHERE rec_status = "{self.status}" RECENT 50'

    def do_approve(self) -> None:
        self.decide_row("approve")

    def do_reject(self) -> None:
        self.decide_row("reject")

    def do_apply(self) -> None:
        self.decide_row("apply")

    def do_rollback(self) -> None:
        self.decide_row("rollback")

    def do_mark_applied(self) -> None:
        self.decide_row("mark_applied")

    def decide_row(self, decision: str) -> None:
        row = self.row
        if row is None:
            self.say("there is nothing to decide")
            return
        self.decide(decision, row.address, self.case or Case(row.status))


def matches(row: QueueRow, wanted: str) -> bool:
    """Whether a row holds the text, letters folded, in any of its parts."""
    needle = fold(wanted)
    mark = "FORGET" if row.destructive else ""
    parts = (mark, row.summary, row.analyzer, row.target_ref, row.address, shown.status_word(row.status))
    return not needle or any(needle in fold(part) for part in parts)
