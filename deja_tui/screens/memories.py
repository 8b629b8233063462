# SPDX-License-Identifier: Apache-2.0
"""Memories: a list of everything a memory holds, of any length, with the selected grain in short.

Only a stretch of the list is known here; moving on asks for the next one. The engine's own grains stand in a view of
their own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.timer import Timer

from deja_tui.console.keymap import key_name
from deja_tui.errors import DejaError
from deja_tui.present import memories as shown
from deja_tui.present.line import Line, Span, line, plain, wrapped
from deja_tui.present.words import fenced, short
from deja_tui.screens.base import Typed
from deja_tui.screens.filtering import FILTER_KEYS
from deja_tui.screens.grain import GrainScreen
from deja_tui.screens.lens import listed, nothing, statement
from deja_tui.screens.linked import GrainsAsked
from deja_tui.screens.place import PlaceScreen
from deja_tui.screens.resting import Resting
from deja_tui.store.browse import FOUND_LIMIT, ORDERS, VIEWS, Key, Lens, Listed, Slice, by_subject
from deja_tui.text import clean
from deja_tui.widgets.hints import Hints
from deja_tui.widgets.oneline import OneLine
from deja_tui.widgets.pager import Pager
from deja_tui.widgets.reason import Reason
from deja_tui.widgets.rows import Rows
from deja_tui.widgets.stretch import Stretch

SIDE_ROOM: Final = 76
BELOW: Final = 3
# Windows of rows that are read at once, and how near to the end of what is known the next ones are asked for.
_WINDOWS: Final = 4
_LEAST: Final = 64
# Views of which each slice is the whole: they have no index to go on from.
_WHOLE: Final = ("forked", "documents")
_OF_A_ROW: Final = (
    "memories.open",
    "memories.graph",
    "memories.edit",
    "app.copy",
    "app.command",
    "app.copy_cal",
)


class MemoriesScreen(PlaceScreen, GrainsAsked):
    """List, filter, views. Nothing is changed here but a document, in its editor."""

    scope = "memories"
    DEFAULT_CSS = f"""
    MemoriesScreen #list {{ height: 1fr; }}
    MemoriesScreen #about {{ height: {BELOW}; }}
    MemoriesScreen #filter {{ display: none; }}
    MemoriesScreen.-typing #filter {{ display: block; }}
    MemoriesScreen.-wide #side {{ width: {SIDE_ROOM}; height: 1fr; }}
    MemoriesScreen.-wide #about {{ width: 1fr; height: 1fr; }}
    """

    def __init__(self) -> None:
        super().__init__()
        self.lens = Lens()
        self.page: Slice | None = None
        self.stretch = Stretch()
        self.filling: Timer | None = None
        self.filled = ""
        self.reading: tuple[int, int] | None = None
        self.kinds: tuple[str, ...] = ()
        self.held: list[Typed] = []
        self.resting = Resting(self, self.draw_about)

    def compose_body(self) -> ComposeResult:
        with Container(id="body"):
            with Container(id="side"):
                yield OneLine(id="head")
                yield Rows(id="list", moved=self.moved)
            yield Pager(id="about", more="Enter opens")
        yield Reason(id="filter")

    @property
    def editor(self) -> Reason:
        return self.part(Reason, "filter")

    @property
    def row(self) -> Listed | None:
        """The selected row, None while it is not read."""
        return self.at(self.listing.selected)

    def at(self, index: int) -> Listed | None:
        """A row of the list, None where it is not known."""
        page = self.page
        if page is None or not 0 <= index - page.start < len(page.rows):
            return None
        return page.rows[index - page.start]

    @property
    def list_room(self) -> int:
        """The cells of a row, without its mark."""
        return (SIDE_ROOM - 1 if self.wide else self.app.size.width) - 1

    # --- links --------------------------------------------------------------------------------------

    def about(self, what: str) -> None:
        self.linked = what
        if self.ready:
            self.call_after_refresh(self.follow)

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        if self.linked:
            self.call_after_refresh(self.follow)

    def follow(self) -> None:
        """Open the grain that a link is about."""
        if self.linked and self.is_current:
            linked, self.linked = self.linked, ""
            self.app.push_screen(GrainScreen(linked), lambda _: self.reload())

    def find(self, start: str) -> None:
        """List the grains whose address starts so."""
        self.look(replace(self.lens, text=start))

    # --- reading ------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many rows are asked for at once."""
        if self.lens.text or self.lens.view in _WHOLE:
            return FOUND_LIMIT
        return max(_LEAST, _WINDOWS * self.app.size.height)

    def load(self) -> None:
        """Read the list anew, around what is selected."""
        self.count_pending()
        lens, count, row = self.lens, self.count, self.row
        start = max(0, self.listing.selected - count // 2)
        self.reading = None
        self.ask(
            "browse",
            lambda _: (
                self.grains.browse(lens, start, count, at=row.address if row else None),
                self.grains.kinds(),
            ),
            lambda found: self.came(*found),
            self.failed,
        )

    def came(self, page: Slice, kinds: tuple[str, ...]) -> None:
        self.kinds, self.fault = kinds, None
        self.note_read()
        self.take_in(page)
        self.told_again()

    def more(self) -> None:
        """Ask for the rows around the selection when the window comes near the end of what is known."""
        page, rows, height = self.page, self.listing, max(1, self.listing.size.height)
        if page is None or len(page.rows) == page.total:
            return
        low, high = max(0, rows.top - height), min(page.total, rows.top + 2 * height)
        if page.start <= low and high <= page.start + len(page.rows):
            return
        count = self.count
        start = max(0, min(rows.selected - count // 2, page.total - count))
        if self.reading is not None and self.reading[0] <= low and high <= sum(self.reading):
            return
        self.reading = (start, count)
        lens, anchor, total = self.lens, known_row(page, start, count), page.total
        self.ask(
            "browse",
            lambda _: self.grains.browse(lens, start, count, anchor=anchor, total=total),
            self.take_in,
            self.failed,
        )

    def take_in(self, page: Slice) -> None:
        self.page, self.reading = page, None
        self.stretch = Stretch(page.total, page.start, [row.address for row in page.rows])
        self.draw()
        self.more()
        self.give_back()

    def failed(self, fault: DejaError) -> None:
        self.reading = None
        super().failed(fault)
        self.held.clear()

    def look(self, lens: Lens) -> None:
        """Show another list, from its beginning."""
        self.lens = lens
        self.page, self.stretch, self.read_at = None, Stretch(), 0
        self.listing.show((), lambda index: (), self.emptiness())
        self.listing.selected = self.listing.top = 0
        self.draw()
        self.load()

    # --- drawing ------------------------------------------------------------------------------------

    def draw(self) -> None:
        room, now_ms = self.list_room, self.console_app.now_ms()
        self.part(Pager, "about").edge = self.wide
        self.part(OneLine, "head").show(line(" ", shown.head(room)) if len(self.stretch) else ())

        def drawn(index: int) -> Line:
            row = self.at(index)
            return shown.row(row, room, now_ms) if row else shown.unread(room)

        self.listing.show(self.stretch, drawn, self.emptiness())
        self.draw_around()

    def draw_around(self) -> None:
        """Title, hints and the selected grain."""
        self.draw_title()
        self.draw_about()

    def draw_title(self) -> None:
        """Title and hints: they follow the selection."""
        lens, total = self.lens, len(self.stretch)
        place = f"{self.listing.selected + 1:,}/{total:,}" if total else "0/0"
        if self.page is not None and self.page.of > total:
            place += f" of {self.page.of:,}"
        self.place_title(
            f"{place}  {listed(lens)}",
            *((Span("  filter ", "dim"), fenced(lens.text.removesuffix("*"), 40)) if lens.text else ()),
        )
        if self.editor.active:
            self.part(Hints, "hints").show_hints(FILTER_KEYS)
        else:
            self.set_hints(without=self.off())

    def off(self) -> list[str]:
        """The verbs that are not hinted: the same for every row of a list, so that a step sends no hints."""
        off = [] if len(self.stretch) else ["open", "graph", "kind", "sort"]
        return off if self.lens.view == "documents" and len(self.stretch) else [*off, "edit"]

    def draw_about(self, *, whole: bool = False) -> None:
        room = self.app.size.width - (SIDE_ROOM + 2 if self.wide else 0)
        row, about = self.row, self.part(Pager, "about")
        if self.filling is not None:
            self.filling.stop()
            self.filling = None
        whole = whole or (row is not None and row.address == self.filled)
        lines = shown.glance if whole else shown.card
        about.show(lines(row, room) if row else [], top=about.top if whole else 0)
        if row is not None and not whole:
            self.filled = ""
            seconds = self.console_app.fill_seconds
            self.filling = self.set_timer(seconds, self.fill_up) if seconds else None

    def fill_up(self) -> None:
        """Nobody moved on: its other fields are shown, too."""
        if self.is_current and self.row is not None:
            self.filled = self.row.address
            self.draw_about()

    def emptiness(self) -> list[Line]:
        """What to say when there is no row."""
        if self.page is None:
            return self.unread()
        told = nothing(self.lens, clean(self.console_app.quoted_file, 200))
        return [line(" ", one) for one in wrapped(told, self.list_room - 1, 0)]

    def moved(self) -> None:
        """Another row is selected. While a key is held only the list moves."""
        self.resting.step()
        self.draw_title()
        self.more()

    # --- keys ---------------------------------------------------------------------------------------

    def take(self, event: Typed) -> None:
        """What needs a row waits until one is read, and what was typed after it with it: it may be meant for an editor."""
        if self.held or self.premature(event):
            self.held.append(event)
        else:
            super().take(event)

    def premature(self, event: Typed) -> bool:
        """Whether a key is about a row that is still being read."""
        reading = self.page is None and self.fault is None and self.ready and not self.editor.active
        if not reading or not isinstance(event, events.Key):
            return False
        action = self.console_app.keymap.find(self.scope, key_name(event.key, event.character))
        return action is not None and action.id in _OF_A_ROW

    def give_back(self) -> None:
        """Use what waited."""
        held, self.held = self.held, []
        for event in held:
            self.console_app.route(event)

    def press(self, key: str, character: str | None) -> None:
        if self.editor.active and not self.small:
            self.type(key, character)
        else:
            super().press(key, character)

    def type(self, key: str, character: str | None) -> None:
        """Keys while the filter is typed."""
        if key == "enter":
            self.stop_typing()
        elif key == "escape":
            self.stop_typing()
            self.do_clear()
        elif self.editor.take(key, character):
            self.filter()
        else:
            self.anywhere(key)

    def pasted(self, event: events.Paste) -> None:
        if self.editor.active:
            self.editor.paste(event.text)
            self.filter()

    def filter(self) -> None:
        """Search for what was typed so far; its last word may go on."""
        text = self.editor.text
        self.look(replace(self.lens, text=f"{text}*" if text[-1:].isalnum() else text.strip()))

    def stop_typing(self) -> None:
        self.editor.put_away()
        self.remove_class("-typing")
        self.draw()

    def do_filter(self) -> None:
        self.add_class("-typing")
        self.editor.ask("Filter", self.lens.text.removesuffix("*"), limit=None)
        self.draw()

    def do_clear(self) -> None:
        if self.lens.text:
            self.look(replace(self.lens, text=""))

    def do_view(self) -> None:
        place = VIEWS.index(self.lens.view)
        self.look(replace(self.lens, view=VIEWS[(place + 1) % len(VIEWS)], text=""))

    def do_kind(self) -> None:
        known = (None, *self.kinds)
        place = known.index(self.lens.type) if self.lens.type in known else 0
        self.look(replace(self.lens, type=known[(place + 1) % len(known)]))

    def do_sort(self) -> None:
        lens = self.lens
        for _ in ORDERS:
            lens = replace(lens, order=ORDERS[(ORDERS.index(lens.order) + 1) % len(ORDERS)])
            if lens.order != "subject" or by_subject(lens):
                break
        self.look(lens)
        word = "grouped by subject, live ones only" if lens.order == "subject" else f"the {lens.order} first"
        self.say("the best first: a filter has its own order" if lens.text else word)

    def do_next_section(self) -> None:
        """More of the selected grain, its other fields too."""
        self.draw_about(whole=True)
        self.part(Pager, "about").scroll_by(BELOW - 1)

    def do_previous_section(self) -> None:
        self.part(Pager, "about").scroll_by(1 - BELOW)

    def do_open(self) -> None:
        if self.row is not None:
            self.app.push_screen(GrainScreen(self.row.address), lambda _: self.reload())

    def do_graph(self) -> None:
        grain = self.row.grain if self.row else None
        if grain is not None:
            self.surround(grain.get("subject"), grain.namespace)

    def do_edit(self) -> None:
        grain = self.row.grain if self.row else None
        if grain is not None:
            self.edit_document(grain.get("subject"), grain.namespace, grain.get("relation"))

    def text_of_panel(self) -> list[str]:
        """The rows that are known, and the selected grain in short: what else is in the list was not read."""
        page, room, now_ms = self.page, self.list_room, self.console_app.now_ms()
        rows = [shown.row(one, room, now_ms) for one in page.rows] if page is not None else []
        about = self.part(Pager, "about").lines
        return [plain(one).rstrip() for one in (*rows, (), *about)] if rows else []

    def do_copy(self) -> None:
        if self.row is not None:
            self.copy(self.row.address, "address")

    def do_command(self) -> None:
        file, lens = self.console_app.quoted_file, self.lens
        if lens.view == "documents" and not lens.text:
            self.copy(f"deja doc list --db {file}", "command line")
        elif lens.view == "forked" and not lens.text:
            self.copy(f"deja forks --db {file}", "command line")
        elif self.row is not None:
            self.copy(f"deja get {short(self.row.address)} --db {file}", "command line")

    def cal_of_panel(self) -> str:
        """CAL lists one type of one namespace at a time: those of the selected grain, the type rather that of the filter."""
        row = self.row
        grain = row.grain if row else None
        own = self.grains.namespace if grain else ""
        return statement(self.lens, row.address if row else "", grain, own)


def known_row(page: Slice, start: int, count: int) -> tuple[int, Key] | None:
    """A known row from which a stretch is near: the one it begins with, the one behind it, or an end of what is known."""
    if not page.rows:
        return None
    last = page.start + len(page.rows) - 1
    place = min(start, last) if start >= page.start else max(page.start, min(start + count, last))
    return place, page.rows[place - page.start].key
