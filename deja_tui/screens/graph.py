# SPDX-License-Identifier: Apache-2.0
"""What surrounds a thing: its facts out and in as an indented tree, one to three steps far."""

from __future__ import annotations

import shlex
from typing import Final

from deja_tui.present import graph as shown
from deja_tui.present.line import Span, clip, line
from deja_tui.present.linked import Item
from deja_tui.present.words import named
from deja_tui.screens.linked import LinkScreen
from deja_tui.store.graph import DEPTHS, Neighbourhood
from deja_tui.text import quote

_NAME: Final = 40


class GraphScreen(LinkScreen):
    """Enter opens the fact of a line, ``i`` puts the thing at its far end into the middle."""

    scope = "graph"

    def __init__(self, entity: str, namespace: str) -> None:
        super().__init__()
        self.entity = entity
        self.namespace = namespace
        self.depth = DEPTHS[0]
        self.near: Neighbourhood | None = None

    def load(self) -> None:
        entity, namespace, depth = self.entity, self.namespace, self.depth
        self.ask(
            "neighbourhood",
            lambda _: self.grains.neighbourhood(entity, depth, namespace=namespace),
            self.came,
            lambda fault: self.give_up(entity, fault),
        )

    def came(self, near: Neighbourhood) -> None:
        self.near = near
        self.draw()
        self.told_again()

    def draw(self) -> None:
        far = f"  {self.depth} of {DEPTHS[-1]} steps"
        self.set_title(
            line(Span("deja ", "dim"), "around ", named(self.entity, limit=_NAME), Span(far, "dim"))
        )
        if self.near is None:
            self.put((), [line(Span(" reading …", "dim"))])
            return
        rows = [Item(clip(shown.head(self.near), self.room)), *shown.tree(self.near, self.room)]
        if not self.near.complete:
            rows.append(Item(line(Span("The newest facts of each thing; recall shows all of one.", "dim"))))
        self.put(rows)

    def hint(self) -> None:
        item = self.item
        self.set_hints(
            without=() if item is not None and item.leads else ("open", "graph"), words={"open": "the fact"}
        )

    # --- keys ---------------------------------------------------------------------------------------

    def do_deeper(self) -> None:
        self.reach(self.depth + 1)

    def do_nearer(self) -> None:
        self.reach(self.depth - 1)

    def reach(self, depth: int) -> None:
        """Look further, or less far."""
        if depth not in DEPTHS:
            self.say(f"from {DEPTHS[0]} to {DEPTHS[-1]} steps")
            return
        self.depth = depth
        self.draw()
        self.load()

    def do_graph(self) -> None:
        item = self.item
        if item is not None and item.about:
            self.app.push_screen(GraphScreen(item.about, self.namespace))

    def do_command(self) -> None:
        verb = f"deja cal {shlex.quote(self.cal_of_panel())}"
        self.copy(f"{verb} --db {self.console_app.quoted_file}", "command line")

    def cal_of_panel(self) -> str:
        name = quote(self.entity)
        return f"RECALL facts WHERE subject = {name} OR object = {name}"
