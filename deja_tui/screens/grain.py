# SPDX-License-Identifier: Apache-2.0
"""One grain: fields, versions with what changed, fork, provenance both ways, the recommendations that name it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from deja_tui.browsing import Dossier
from deja_tui.engine.objects import Detail
from deja_tui.errors import DejaError
from deja_tui.present import dossier as shown
from deja_tui.present.line import Span, line
from deja_tui.present.words import short, thread_of
from deja_tui.screens.linked import LinkScreen
from deja_tui.store.grains import StoredGrain
from deja_tui.text import clean

_MOST: Final = 200

Part = tuple[str, str, "StoredGrain | None"]


class GrainScreen(LinkScreen):
    """Everything about one grain. ``address`` may be a unique start of one."""

    scope = "grain"

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address
        self.found: Dossier | None = None

    def load(self) -> None:
        address = self.address
        self.ask("dossier", lambda _: self.grains.dossier(address), self.came, self.failed)

    def came(self, found: Dossier) -> None:
        self.found, self.address = found, found.grain.address
        self.draw()
        self.told_again()

    def failed(self, fault: DejaError) -> None:
        from deja_tui.screens.memories import MemoriesScreen

        below = self.app.screen_stack[-2] if self.is_current else None
        self.give_up(self.address, fault)
        if fault.code == "MEM-E004" and isinstance(below, MemoriesScreen):
            below.find(self.address)

    def draw(self) -> None:
        found = self.found
        if found is None:
            self.set_title(line(Span("deja ", "dim"), Span("reading …", "dim")))
            self.set_hints(without=("open", "graph", "edit"))
            return
        grain = found.grain
        self.set_title(
            line(
                Span("deja ", "dim"),
                Span(short(grain.address), "address"),
                f"  {clean(grain.type)}  ",
                Span(found.state, "strong"),
            )
        )
        self.put(shown.items(found, self.room))

    def hint(self) -> None:
        item, found = self.item, self.found
        without = [] if item is not None and item.leads else ["open"]
        if found is None or not isinstance(found.grain.get("subject"), str):
            without.append("graph")
        if found is None or not shown.is_document(found.grain.fields):
            without.append("edit")
        self.set_hints(without=without)

    # --- keys ---------------------------------------------------------------------------------------

    def links_to(self, place: str) -> str:
        """The session of the grain."""
        return (thread_of(self.found.grain.fields) or "") if place == "sessions" and self.found else ""

    def do_graph(self) -> None:
        if self.found is not None:
            self.surround(self.found.grain.get("subject"), self.found.grain.namespace)

    def do_edit(self) -> None:
        if self.found is not None:
            grain = self.found.grain
            self.edit_document(grain.get("subject"), grain.namespace, grain.get("relation"))

    def address_here(self) -> str:
        return super().address_here() or self.address

    def do_command(self) -> None:
        self.copy(f"deja get {short(self.address)} --db {self.console_app.quoted_file}", "command line")

    def cal_of_panel(self) -> str:
        return f"HISTORY OF sha256:{self.found.grain.address}" if self.found else ""


def parts_of(detail: Detail) -> list[tuple[str, str]]:
    """(part, address) of every grain a recommendation has to do with: changes, wrote, evidence; each once."""
    found: dict[str, str] = {}
    for address in detail.targets:
        found.setdefault(address, "changes")
    for entry in detail.chain.entries:
        for address in entry.results:
            found[address] = "wrote"
    for one in detail.evidence:
        found.setdefault(one.address, "evidence")
    return [(part, address) for address, part in found.items()][:_MOST]


class GrainsScreen(LinkScreen):
    """The grains that one recommendation changes, wrote and rests on; Enter opens one, h goes back to it."""

    scope = "grains"

    def __init__(self, detail: Detail) -> None:
        super().__init__()
        self.detail = detail
        self.found: Sequence[Part] | None = None

    def load(self) -> None:
        parts = parts_of(self.detail)
        self.ask(
            "parts",
            lambda _: [(part, address, self.grains.get(address)) for part, address in parts],
            self.came,
            lambda fault: self.give_up(self.detail.recommendation.address, fault),
        )

    def came(self, found: Sequence[Part]) -> None:
        self.found = found
        self.draw()
        self.told_again()

    def draw(self) -> None:
        address = short(self.detail.recommendation.address)
        self.set_title(line(Span("deja ", "dim"), "grains of ", Span(address, "address")))
        nothing = "reading …" if self.found is None else " It names no grain."
        self.put(shown.short_lines(self.found or (), self.room), [line(Span(nothing, "dim"))])

    def do_command(self) -> None:
        address = short(self.detail.recommendation.address)
        self.copy(f"deja loop show {address} --db {self.console_app.quoted_file}", "command line")

    def cal_of_panel(self) -> str:
        return f"HISTORY OF sha256:{self.address_here()}" if self.address_here() else ""
