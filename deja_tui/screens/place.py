# SPDX-License-Identifier: Apache-2.0
"""What screens with a number of their own share: title with the places, one list, the walk through what waits."""

from __future__ import annotations

from collections.abc import Sequence

from deja_tui.console.actions import PLACES
from deja_tui.errors import DejaError
from deja_tui.present.line import Line, Part, Span, line, width
from deja_tui.present.words import age
from deja_tui.screens.base import DejaScreen
from deja_tui.text import clean
from deja_tui.widgets.rows import Rows


class PlaceScreen(DejaScreen):
    """A screen with a number of its own; it stays as it is while another one is looked at."""

    # When what is shown was read, epoch ms; 0: nothing was read yet.
    read_at = 0
    # Why the last reading failed, None when it did not.
    fault: DejaError | None = None
    # What a link leads to, until the rows are there.
    linked = ""

    def note_read(self) -> None:
        self.read_at = self.console_app.now_ms()

    def say_stale(self, fault: DejaError) -> None:
        """A reading that failed: its code, and how old what is still shown is."""
        if not self.read_at:
            self.say_error(fault)
            return
        since = age(self.console_app.now_ms() - self.read_at)
        again = self.console_app.keymap.first("app.reload")
        self.say(f"{fault.code} {fault.message}. Shown as it was {since} ago; {again} reads again.", "error")

    def failed(self, fault: DejaError) -> None:
        """A reading that failed: what was read before stays, with its age."""
        self.fault = fault
        self.asked_again = False
        self.say_stale(fault)
        self.draw()

    def unread(self) -> list[Line]:
        """What stands where there is nothing to show yet: that it is read, or that it could not be."""
        if self.fault is not None:
            return [line(Span(" Nothing could be read. r tries again.", "warning"))]
        return [line(Span(" reading …", "dim"))]

    # --- links --------------------------------------------------------------------------------------

    @property
    def known(self) -> bool:
        """Whether the rows are there in which a link is looked for."""
        return False

    def about(self, what: str) -> None:
        """Show what a link leads to: a key of this screen's rows, as soon as they are there."""
        self.linked = what
        if self.known:
            self.follow()

    def follow(self) -> None:
        """Put the mark on what a link leads to."""
        what, self.linked = self.linked, ""
        if not what:
            return
        place = self.place_of(what)
        if place is None:
            self.say(self.not_there(what), "warning")
        else:
            self.listing.move_to(place)

    def place_of(self, what: str) -> int | None:
        """The row a link leads to; None: there is none."""
        return None

    def not_there(self, what: str) -> str:
        """What to say of a link that leads to no row."""
        return f"there is no {clean(what, 60)} here"

    # --- moving -------------------------------------------------------------------------------------

    @property
    def listing(self) -> Rows:
        return self.part(Rows, "list")

    def do_down(self) -> None:
        self.listing.move(1)

    def do_up(self) -> None:
        self.listing.move(-1)

    def do_first(self) -> None:
        self.listing.move_to(0)

    def do_last(self) -> None:
        self.listing.move_to(len(self.listing.keys) - 1)

    def do_page_down(self) -> None:
        self.listing.page(1)

    def do_page_up(self) -> None:
        self.listing.page(-1)

    def row_sections(self) -> list[int]:
        """The rows that begin a section of the list, in order; none by default."""
        return []

    def do_next_section(self) -> None:
        later = [place for place in self.row_sections() if place > self.listing.selected]
        if later:
            self.listing.move_to(later[0])
        else:
            self.say("no section follows" if self.row_sections() else "this list has no sections")

    def do_previous_section(self) -> None:
        earlier = [place for place in self.row_sections() if place < self.listing.selected]
        if earlier:
            self.listing.move_to(earlier[-1])
        else:
            self.say("no section comes before" if self.row_sections() else "this list has no sections")

    def place_title(self, *more: Part) -> None:
        """File, every place with its number, this one in brackets; then what the screen adds.

        Where that does not fit, the other places are numbers only, then give way: their keys are in the help, a filter is
        nowhere else.
        """
        app = self.console_app
        head = line(Span("deja ", "dim"), clean(app.file_name, 24 if self.wide else 16), "  ")
        own: Line = ()
        named, numbered = [head], [head]
        for name, key, title in PLACES:
            count = f":{app.pending}" if name == "queue" and app.pending is not None else ""
            if name == self.scope:
                own = line(Span(f"[{key} {title}{count}]", "strong"), " ")
                named.append(own)
                numbered.append(own)
            else:
                named.append(line(Span(f"{key} {title}{count}", "dim"), " "))
                numbered.append(line(Span(f"{key}{count}", "dim"), " "))
        ways = [line(*named, " ", *more), line(*numbered, " ", *more)]
        fits = (way for way in ways[0 if self.wide else 1 :] if width(way) < self.title_room)
        self.set_title(next(fits, line(head, own, " ", *more)))

    def count_pending(self) -> None:
        """Ask how many recommendations wait, for the title."""
        self.ask("pending", lambda reviews: reviews.waiting(), self.counted)

    def counted(self, pending: int) -> None:
        if pending != self.console_app.pending:
            self.console_app.pending = pending
            self.draw()

    def do_walk(self) -> None:
        """Walk the pending recommendations; a walk that was left goes on where it stopped."""
        self.ask("walk", lambda reviews: reviews.addresses("pending"), self.start_walk)

    def start_walk(self, addresses: Sequence[str]) -> None:
        from deja_tui.screens.walker import WalkerScreen

        if not addresses:
            self.say("nothing waits for a decision")
            return
        self.app.push_screen(WalkerScreen(list(addresses)), lambda _: self.reload())

    def do_quit(self) -> None:
        self.console_app.leave()
