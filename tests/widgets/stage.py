# SPDX-License-Identifier: Apache-2.0
"""A tiny app that holds one widget and a paint, for tests of widgets alone."""

from __future__ import annotations

from typing import Generic, TypeVar

from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.widget import Widget

from deja_tui.console import theme

Held = TypeVar("Held", bound=Widget)


class Stage(App[None], Generic[Held]):
    """Shows ``held`` over the whole window."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, held: Held) -> None:
        super().__init__()
        self.held = held
        self.paint = theme.paint(theme.load("dark"))

    def compose(self) -> ComposeResult:
        yield self.held

    def rows(self) -> list[str]:
        """What the widget draws, row by row, without trailing blanks."""
        height = self.held.size.height
        return ["".join(segment.text for segment in self.held.render_line(y)).rstrip() for y in range(height)]


class Repaints:
    """Counts the regions a widget asks to have painted again. ``None`` is the whole widget."""

    def __init__(self, widget: Widget) -> None:
        self.regions: list[Region | None] = []
        refresh = widget.refresh

        def counted(*regions: Region, **more: object) -> Widget:
            self.regions.extend(regions or (None,))
            return refresh(*regions, **more)  # type: ignore[arg-type]

        widget.refresh = counted  # type: ignore[method-assign, assignment]

    def lines(self) -> list[int]:
        """The rows that were asked for; -1 for the whole widget."""
        found = [-1 if region is None else region.y for region in self.regions]
        self.regions.clear()
        return found
