# SPDX-License-Identifier: Apache-2.0
"""Sessions: the threads of the memory, the last one first; where there is room, the beginning of the selected one."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from textual.app import ComposeResult
from textual.containers import Container

from deja_tui.capture import wiring
from deja_tui.console.feed import Recorded
from deja_tui.console.keys import NumberKeys
from deja_tui.errors import DejaError
from deja_tui.present import sessions as shown
from deja_tui.present.line import Line, Span, heading, line, wrapped
from deja_tui.present.words import fenced, named
from deja_tui.screens.filtering import FilteringScreen
from deja_tui.screens.recorded import NO_MEMORY, copy_lines, recorded
from deja_tui.screens.resting import Resting
from deja_tui.screens.session import SessionScreen
from deja_tui.sessions import Citing
from deja_tui.store.grains import StoredGrain
from deja_tui.store.sessions import Thread, Threads
from deja_tui.text import clean, quote
from deja_tui.widgets.oneline import OneLine
from deja_tui.widgets.pager import Pager
from deja_tui.widgets.reason import Reason
from deja_tui.widgets.rows import Rows

LIST_SIDE: Final = 56
_PREVIEWED: Final = 60


@dataclass(frozen=True, slots=True)
class Listed:
    """What was read at once: the threads, and the names of those about the place one looks at."""

    threads: Threads
    names: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first events of a thread."""

    thread: str
    grains: Sequence[StoredGrain]
    about: Mapping[str, Sequence[Citing]]
    more: int


class SessionsScreen(FilteringScreen):
    """A row a thread. Only the rows in sight have names: a hundred thousand threads are as quick as ten."""

    scope = "sessions"
    DEFAULT_CSS = f"""
    SessionsScreen #list {{ height: 1fr; }}
    SessionsScreen #beside {{ display: none; width: 1fr; height: 1fr; }}
    SessionsScreen.-wide #beside {{ display: block; }}
    SessionsScreen.-wide #side {{ width: {LIST_SIDE}; height: 1fr; }}
    SessionsScreen.-empty #beside {{ display: none; }}
    SessionsScreen.-empty #side {{ width: 1fr; }}
    """

    def __init__(self) -> None:
        super().__init__()
        self.threads: Threads | None = None
        self.names: dict[int, str] = {}
        self.citing: Mapping[int, Sequence[Citing]] | None = None
        self.errors_only = False
        self.opening = ""
        self.read_at = 0
        self.beginning: Beginning | None = None
        self.resting = Resting(self, self.show_beginning)

    def compose_body(self) -> ComposeResult:
        with Container(id="body"):
            with Container(id="side"):
                yield OneLine(id="head")
                yield Rows(id="list", moved=self.moved)
            yield Pager(id="beside", edge=True, more="Enter opens")
        yield Reason(id="filter")

    @property
    def memory(self) -> Recorded:
        return recorded(self.console_app)

    @property
    def thread(self) -> Thread | None:
        """The selected one."""
        return self.threads[self.listing.selected] if self.threads else None

    @property
    def selected_name(self) -> str | None:
        """What the selected one is called."""
        thread = self.thread
        return None if thread is None else self.names.get(thread.key)

    @property
    def empty(self) -> bool:
        """Whether the memory holds no session at all."""
        return self.threads is not None and not self.threads and not self.wanted and not self.errors_only

    def about(self, what: str) -> None:
        """Open the timeline of one thread."""
        self.opening = what
        if self.ready:
            self.load()

    # --- reading ------------------------------------------------------------------------------------

    def load(self) -> None:
        if self.console_app.file_of is None:
            self.failed(NO_MEMORY)
            return
        memory, wanted, errors_only = self.memory, self.wanted, self.errors_only
        top, height = self.listing.top, max(24, self.listing.size.height)

        def work(_: object) -> Listed:
            found = memory.sessions.threads(containing=wanted, failed=errors_only)
            near = found.keys[max(0, top - height) : top + 2 * height]
            return Listed(found, memory.sessions.names(near))

        self.ask("sessions", work, self.came, self.failed)

    def came(self, found: Listed) -> None:
        self.threads, self.names, self.fault = found.threads, dict(found.names), None
        self.note_read()
        self.draw()
        self.told_again()
        # many recommendations take longer than a list may: their column, and their number, come when they come
        memory = self.memory
        self.ask("citing", lambda _: memory.sessions.citing(), self.cited, self.failed, filling=True)
        self.count_pending()
        if self.opening and self.is_current:
            opening, self.opening = self.opening, ""
            self.open_thread(opening)

    def cited(self, found: Mapping[int, Sequence[Citing]]) -> None:
        self.citing = found
        self.draw()

    def fill(self) -> None:
        """Ask for the names in sight that are not known."""
        threads, listing = self.threads, self.listing
        if not threads:
            return
        seen = threads.keys[listing.top : listing.top + listing.size.height]
        if all(key in self.names for key in seen):
            return
        memory, height = self.memory, max(24, listing.size.height)
        near = threads.keys[max(0, listing.top - 2 * height) : listing.top + 3 * height]
        self.ask("names", lambda _: memory.sessions.names(near), self.names_came)

    def names_came(self, found: Mapping[int, str]) -> None:
        if len(self.names) > 2_000:
            self.names.clear()
        self.names.update(found)
        self.draw()

    # --- drawing ------------------------------------------------------------------------------------

    @property
    def list_room(self) -> int:
        return (LIST_SIDE if self.wide else self.app.size.width) - 1

    def draw(self) -> None:
        threads = self.threads if self.threads is not None else Threads()
        self.set_class(not threads, "-empty")
        room, now_ms = self.list_room, self.console_app.now_ms()
        citing, names = self.citing, self.names

        def row(index: int) -> Line:
            one = threads[index]
            return shown.thread_row(
                names.get(one.key), one, citing.get(one.key, ()) if citing is not None else None, now_ms, room
            )

        self.part(OneLine, "head").show(line(" ", shown.list_head(room)) if threads else ())
        self.listing.show(NumberKeys(threads.keys), row, empty=self.emptiness())
        self.draw_around()
        self.fill()
        self.show_beginning()

    def draw_around(self) -> None:
        """Title and hints."""
        threads = self.threads
        place = (
            f"{self.listing.selected + 1}/{len(threads):,}"
            if threads
            else "0/0"
            if self.threads is not None
            else ""
        )
        self.place_title(
            place,
            Span("  errors only" if self.errors_only else "", "warning"),
            *((Span("  filter ", "dim"), fenced(self.wanted, 40)) if self.wanted else ()),
        )
        if self.editor.active:
            self.draw_typing()
        else:
            without = (
                ()
                if threads
                else ("open", "next_error")
                if not self.empty
                else ("open", "next_error", "errors", "filter")
            )
            self.set_hints(without=without, words={"errors": "show all"} if self.errors_only else {})

    def emptiness(self) -> list[Line]:
        if self.threads is None:
            return self.unread()
        room = self.app.size.width - 2
        if not self.empty:
            told = [shown.none_left(self.wanted, self.errors_only, "session")]
        else:
            file = shlex.quote(clean(self.console_app.file, 200))
            try:
                hook = wiring.hook_command("capture", self.console_app.file)
            except DejaError as fault:
                hook = f"{fault.message}: {fault.next_step}"
            told = shown.none_recorded(hook, file)
        return [line(" ", one) for one in wrapped(told, room, 10)]

    # --- the pane beside ----------------------------------------------------------------------------

    def moved(self) -> None:
        """Another row is selected; the pane follows once the keys rest."""
        self.draw_around()
        self.fill()
        self.resting.step()

    def show_beginning(self) -> None:
        # a timer may come when another place is looked at
        name = self.selected_name if self.wide and self.is_current else None
        if name is None:
            return
        memory = self.memory
        if self.beginning is not None and self.beginning.thread == name:
            self.draw_beginning()

        def work(_: object) -> Beginning:
            found = memory.sessions.timeline(name)
            grains = memory.sessions.grains(found.seqs[:_PREVIEWED])
            return Beginning(name, grains, memory.sessions.about(grains), len(found) - len(grains))

        self.ask("beginning", work, self.began)

    def began(self, found: Beginning) -> None:
        self.beginning = found
        if found.thread == self.selected_name:
            self.draw_beginning()

    def draw_beginning(self) -> None:
        found = self.beginning
        if found is None:
            return
        room = self.app.size.width - LIST_SIDE - 2
        rows = [shown.event_row(one, found.about.get(one.address, ()), room) for one in found.grains]
        more = [line(Span(f"and {found.more:,} more", "dim"))] if found.more else []
        title = heading(f"{named(found.thread, limit=60).text}", room)
        self.part(Pager, "beside").show([title, *rows, *more])

    # --- keys ---------------------------------------------------------------------------------------

    def do_open(self) -> None:
        if self.selected_name is not None:
            self.open_thread(self.selected_name)

    def open_thread(self, thread: str) -> None:
        self.app.push_screen(SessionScreen(thread, errors_only=self.errors_only), lambda _: self.reload())

    def do_errors(self) -> None:
        self.errors_only = not self.errors_only
        self.narrowed()

    def do_next_error(self) -> None:
        self.to_error(1)

    def do_previous_error(self) -> None:
        self.to_error(-1)

    def to_error(self, by: int) -> None:
        """Select the next or previous thread with a failed call."""
        failures = self.threads.failures if self.threads is not None else ()
        here = self.listing.selected
        places = range(here + 1, len(failures)) if by > 0 else range(here - 1, -1, -1)
        found = next((place for place in places if failures[place]), None)
        if found is None:
            self.say(f"no session with a failed call {'below' if by > 0 else 'above'} this one")
        else:
            self.listing.move_to(found)

    def do_copy(self) -> None:
        if self.empty:
            try:
                snippet = "\n".join(wiring.claude_code(self.console_app.file))
            except DejaError as fault:
                self.say_error(fault)
                return
            copy_lines(self, snippet, "the lines for .claude/settings.json", "6 shows them")
        elif self.selected_name is not None:
            self.copy(clean(self.selected_name), "session")

    def do_copy_cal(self) -> None:
        self.in_its_namespace(lambda statement: self.copy(statement, "CAL"))

    def do_command(self) -> None:
        def copy(statement: str) -> None:
            self.copy(shlex.join(("deja", "cal", statement, "--db", self.console_app.file)), "command line")

        self.in_its_namespace(copy)

    def in_its_namespace(self, copy: Callable[[str], None]) -> None:
        """The statement that reads the list where the selected session lies: CAL reads one namespace at a time."""
        name, memory = self.selected_name, self.memory
        if name is None:
            copy(self.cal_of_panel())
            return

        def place(_: object) -> str:
            grains = memory.sessions.grains(memory.sessions.timeline(name).seqs[-1:])
            return f"IN {quote(grains[0].namespace)} " if grains else ""

        self.ask("place", place, lambda at: copy(self.cal_of_panel(at)))

    def cal_of_panel(self, at: str = "") -> str:
        """``at`` names the namespace, as CAL does."""
        failed = "WHERE is_error = true " if self.errors_only else ""
        return f"RECALL tools {at}{failed}RECENT 50 GROUP BY session_id"
