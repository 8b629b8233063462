# SPDX-License-Identifier: Apache-2.0
"""One statement of the Query screen: the work it takes off the UI thread, and what came of it.

The language is imported by the work itself: a console in which nothing is asked starts without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from deja_tui.console.feed import Reviews, Statements
from deja_tui.errors import DejaError
from deja_tui.present.line import Line, Span, line

if TYPE_CHECKING:
    from deja_tui.console.actions import Rights
    from deja_tui.console.asking import Outcome
    from deja_tui.present.query import Sheet

Plan = Callable[[int], list[Line]]


@dataclass(frozen=True, slots=True)
class Came:
    """What came of the statement that is shown.

    Attributes:
        statement: as it was typed; "" before the first one.
        sheet: its answer, None for a statement that did not run.
        fault: why it did not run.
        reads: whether it may be run again without asking.
        took: seconds until the answer was there.
    """

    statement: str = ""
    sheet: Sheet | None = None
    fault: DejaError | None = None
    reads: bool = False
    took: float = 0.0

    @property
    def answers(self) -> tuple[str, ...]:
        """The sections the answer has."""
        sheet = self.sheet
        if sheet is not None and self.fault is None and sheet.text is not None and sheet.items:
            return ("preview", "rows")
        return ("result",)

    @property
    def answered(self) -> bool:
        """Whether there is an answer to show."""
        return self.sheet is not None and self.fault is None

    def is_text(self, section: str) -> bool:
        """Whether a section of the answer is a text that scrolls."""
        if self.fault is not None:
            return True
        return self.sheet is not None and self.sheet.text is not None and section != "rows"

    def told(self) -> Line:
        """What came of it, in words."""
        if self.fault is not None:
            return line(Span("not run", "error"))
        if self.sheet is None:
            return ()
        took = f"  {round(self.took * 1000):,} ms" if self.reads else ""
        more = f"  {self.sheet.more}" if self.sheet.more else ""
        return line(self.sheet.told, Span(took + more, "dim"))


def asking(
    door: Statements,
    text: str,
    rights: Rights,
    stopped: Callable[[], bool],
    *,
    agreed: bool,
    file: str,
    now_ms: int,
) -> Callable[[Reviews], tuple[Outcome, Sheet | None]]:
    """The work of running a statement: for the feed's thread. ``file`` is the memory's path, quoted for a shell.

    Raises, when it is done: CalError with the place of what is wrong, CAL-E072 for a stopped one, what the store raises.
    """

    def work(_: Reviews) -> tuple[Outcome, Sheet | None]:
        from deja_tui.console.asking import LIMIT_S, Answered, Refused, put
        from deja_tui.present.query import refusal, sheet

        ends = monotonic() + LIMIT_S
        outcome = put(door, text, rights, lambda: stopped() or monotonic() > ends, agreed=agreed, file=file)
        if isinstance(outcome, Answered):
            return outcome, sheet(outcome.result, now_ms)
        if isinstance(outcome, Refused):
            return outcome, refusal(outcome.told, outcome.step, outcome.about)
        return outcome, None

    return work


def explaining(door: Statements, text: str, stopped: Callable[[], bool]) -> Callable[[Reviews], Plan]:
    """The work of asking how a statement is carried out: for the feed's thread. Raises as `asking`."""

    def work(_: Reviews) -> Plan:
        from deja_tui.console.asking import LIMIT_S, explained
        from deja_tui.present.query import plan_lines

        ends = monotonic() + LIMIT_S
        found = explained(door, text, lambda: stopped() or monotonic() > ends)
        if found is None:
            return lambda room: [line(Span("Nothing to explain: this is no read of its own.", "dim"))]
        return lambda room: plan_lines(found, room)

    return work


def offset(text: str, number: int, column: int) -> int:
    """Where a line and a column, both from 1, are in a text."""
    lines = text.split("\n")
    before = sum(len(one) + 1 for one in lines[: number - 1])
    return min(len(text), before + column - 1)
