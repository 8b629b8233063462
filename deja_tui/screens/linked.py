# SPDX-License-Identifier: Apache-2.0
"""What pages share whose lines can be followed: moving by lines and sections, opening what a line leads to."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from deja_tui.console.feed import Grains
from deja_tui.errors import DejaError
from deja_tui.present.line import Line
from deja_tui.present.linked import GRAIN, TRAIL, Item, sections
from deja_tui.screens.base import DejaScreen
from deja_tui.text import clean
from deja_tui.widgets.rows import Rows

NO_MEMORY = DejaError("STO-E003", "this console was opened without a memory to look into", "deja ui FILE")


class GrainsAsked(DejaScreen):
    """A screen that asks the memory about its grains."""

    @property
    def grains(self) -> Grains:
        """The memory; to be used on the feed's thread. Raises STO-E003."""
        found = self.console_app.grains
        if found is None:
            raise NO_MEMORY
        return found

    def surround(self, subject: object, namespace: str) -> None:
        """Show what surrounds a thing."""
        from deja_tui.screens.graph import GraphScreen

        if isinstance(subject, str) and subject:
            self.app.push_screen(GraphScreen(subject, namespace))
        else:
            self.say("this grain has no subject: i shows what surrounds the subject of a grain")

    def edit_document(self, path: object, namespace: str, relation: object) -> None:
        """Open the editor on the document that a grain is a version of."""
        from deja_tui.engine.doc_edits import RELATION
        from deja_tui.screens.document import DocumentScreen

        if relation != RELATION or not isinstance(path, str):
            self.say("only a document is edited here: f shows the view documents")
        elif self.console_app.grains is not None and namespace != self.console_app.grains.namespace:
            self.say(
                f"the document is in the namespace {clean(namespace, 40)}: deja ui --ns edits there",
                "warning",
            )
        else:
            self.app.push_screen(DocumentScreen(path), lambda _: self.reload())


class LinkScreen(GrainsAsked):
    """A page of `Item` lines with one of them selected."""

    DEFAULT_CSS = """
    LinkScreen #list { height: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.items: Sequence[Item] = ()
        # Where the selection goes once the page is there.
        self.section = ""

    def compose_body(self) -> ComposeResult:
        yield Rows(id="list", moved=self.moved)

    @property
    def listing(self) -> Rows:
        return self.part(Rows, "list")

    @property
    def item(self) -> Item | None:
        """The selected line."""
        return self.items[self.listing.selected] if self.listing.selected < len(self.items) else None

    @property
    def room(self) -> int:
        """The cells of a line, without the mark."""
        return self.app.size.width - 1

    def put(self, items: Sequence[Item], empty: Sequence[Line] = ()) -> None:
        """Show lines; the selection stays on the line with the same number."""
        self.items = items
        self.listing.show([str(place) for place in range(len(items))], lambda index: items[index].line, empty)
        self.hint()

    def hint(self) -> None:
        """The keys of the selected line."""
        item = self.item
        self.set_hints(without=() if item is not None and item.leads else ("open",))

    def moved(self) -> None:
        self.hint()

    # --- keys ---------------------------------------------------------------------------------------

    def do_down(self) -> None:
        self.listing.move(1)

    def do_up(self) -> None:
        self.listing.move(-1)

    def do_first(self) -> None:
        self.listing.move_to(0)

    def do_last(self) -> None:
        self.listing.move_to(len(self.items) - 1)

    def do_page_down(self) -> None:
        self.listing.page(1)

    def do_page_up(self) -> None:
        self.listing.page(-1)

    def do_next_section(self) -> None:
        later = [place for place in sections(self.items) if place > self.listing.selected]
        if later:
            self.begin_at(later[0])

    def do_previous_section(self) -> None:
        earlier = [place for place in sections(self.items) if place < self.listing.selected]
        if earlier:
            self.begin_at(earlier[-1])

    def do_next_link(self) -> None:
        self.listing.move_to(
            next((n for n in self.links if n > self.listing.selected), self.listing.selected)
        )

    def do_previous_link(self) -> None:
        self.listing.move_to(
            next((n for n in self.links[::-1] if n < self.listing.selected), self.listing.selected)
        )

    @property
    def links(self) -> list[int]:
        """The places of the lines that lead somewhere, of a wrapped one its first."""
        return [
            n
            for n, item in enumerate(self.items)
            if item.leads
            and (not n or (self.items[n - 1].leads, self.items[n - 1].address) != (item.leads, item.address))
        ]

    def begin_at(self, place: int) -> None:
        """Select a line and put it at the top, as far as there are lines."""
        rows = self.listing
        rows.move_to(min(len(self.items) - 1, place + rows.size.height - 1))
        rows.move_to(place)

    def do_open(self) -> None:
        item = self.item
        if item is None or not item.leads:
            self.say("this line leads nowhere")
        elif item.leads == GRAIN:
            from deja_tui.screens.grain import GrainScreen

            self.app.push_screen(GrainScreen(item.address), lambda _: self.reload())
        else:
            from deja_tui.screens.detail import DetailScreen

            at = "trail" if item.leads == TRAIL else None
            self.app.push_screen(DetailScreen(item.address, at=at), lambda _: self.reload())

    def address_here(self) -> str:
        """What ``y`` copies: what the selected line leads to."""
        return self.item.address if self.item is not None else ""

    def do_copy(self) -> None:
        address = self.address_here()
        if address:
            self.copy(address, "address")
        else:
            self.say("this line has no address")

    def give_up(self, told: str, fault: DejaError) -> None:
        """A page with nothing on it helps nobody: back to what is below, with the reason."""
        self.asked_again = False
        below = self.app.screen_stack[-2] if self.is_current else None
        if self.items or not isinstance(below, DejaScreen):
            self.say_error(fault)
            return
        self.dismiss()
        below.say_error(DejaError(fault.code, f"{clean(told, 80)}: {fault.message}", fault.next_step))
