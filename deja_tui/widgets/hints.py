# SPDX-License-Identifier: Apache-2.0
"""The last row: the keys that do something now. Hints that do not fit are left out whole, never cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deja_tui.present.line import Line, Span, line, width
from deja_tui.widgets.oneline import OneLine


@dataclass(frozen=True, slots=True)
class Hint:
    """A key and what it does; one that is off is dimmed, pressing its key says why. ``warning`` stands beside it."""

    key: str
    does: str
    on: bool = True
    warning: str = ""


class Hints(OneLine):
    """Hints in order of weight: one that does not fit is left out; `pinned` ones stay at the end."""

    ground = "bar"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__((), id=id)
        self.hints: tuple[Hint, ...] = ()
        self.pinned: tuple[Hint, ...] = ()

    def show_hints(self, hints: Sequence[Hint], pinned: Sequence[Hint] = ()) -> None:
        """Draw other hints."""
        if (tuple(hints), tuple(pinned)) != (self.hints, self.pinned):
            self.hints, self.pinned = tuple(hints), tuple(pinned)
            self.refresh(layout=False)

    def composed(self, room: int) -> Line:
        last = [drawn(hint) for hint in self.pinned]
        left = room - sum(width(one) + 2 for one in last)
        shown: list[Line] = []
        for hint in self.hints:
            one = drawn(hint)
            if width(one) + (2 if shown else 1) > left:
                continue
            left -= width(one) + (2 if shown else 1)
            shown.append(one)
        out: list[Span] = [Span(" ")]
        for one in [*shown, *last]:
            if len(out) > 1:
                out.append(Span("  "))
            out.extend(one)
        return tuple(out)


def drawn(hint: Hint) -> Line:
    """``a approve``: the key stands out, unless it is off."""
    warning = Span(f" {hint.warning}" if hint.warning else "", "error")
    if not hint.on:
        return line(Span(f"{hint.key} {hint.does}", "dim"), warning)
    return line(Span(hint.key, "key"), f" {hint.does}", warning)
