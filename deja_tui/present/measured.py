# SPDX-License-Identifier: Apache-2.0
"""The page of outcomes: what was decided of each analyzer, in counts, and below it what was measured (D23)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from deja_tui.engine.objects import QueueRow
from deja_tui.engine.outcomes import Outcome, Reviewed
from deja_tui.present.line import Line, Span, line, wrapped
from deja_tui.present.outcomes import counts, heading, row, span, word
from deja_tui.present.recommendation import analyzer_name
from deja_tui.present.words import short
from deja_tui.text import clip, pad, utc

_NAME: Final = 22
_COLUMNS: Final = ("pending", "approved", "rejected", "applied", "rolled_back", "expired")
_TITLES: Final = ("pending", "approved", "rejected", "applied", "undone", "expired")
_CELLS: Final = 9
_VERDICT: Final = 11


@dataclass(frozen=True, slots=True)
class Entry:
    """A row: an analyzer with its counts, or one measurement of a recommendation of it."""

    key: str
    analyzer: str
    counts: tuple[int, ...] = ()
    reviewed: Reviewed | None = None

    @property
    def address(self) -> str | None:
        """The recommendation it is about."""
        return self.reviewed.outcome.recommendation if self.reviewed else None


def entries(rows: Iterable[QueueRow], found: Sequence[Reviewed]) -> list[Entry]:
    """Every analyzer that proposed something here, by name, its measurements below it, the newest first."""
    tally: dict[str, Counter[str]] = {}
    for one in rows:
        if not one.foreign:
            tally.setdefault(one.analyzer, Counter())[one.status] += 1
    for reviewed in found:
        tally.setdefault(reviewed.recommendation.analyzer, Counter())
    out: list[Entry] = []
    for name in sorted(tally):
        out.append(Entry(name, name, tuple(tally[name][status] for status in _COLUMNS)))
        mine = [one for one in found if one.recommendation.analyzer == name]
        mine.sort(
            key=lambda one: (-one.outcome.measured_at, one.outcome.recommendation, one.outcome.horizon_ms)
        )
        out += [Entry(_key(one.outcome), name, reviewed=one) for one in mine]
    return out


def _key(outcome: Outcome) -> str:
    return f"{outcome.recommendation} {outcome.horizon_ms} {outcome.measured_at}"


def head() -> Line:
    """The titles of the columns."""
    return line(Span(pad("analyzer", _NAME) + "".join(f"{title:>{_CELLS}}" for title in _TITLES), "dim"))


def entry_row(entry: Entry) -> Line:
    """The counts of an analyzer, or ``a41f09c2  changed  1 day: 5 of 6 calls … before, 1 of 9 after``."""
    if entry.reviewed is not None:
        outcome = entry.reviewed.outcome
        verdict = Span(pad(word(outcome), _VERDICT), "strong")
        told = f"{span(outcome.horizon_ms)}: {counts(outcome)}"
        return line("  ", Span(short(outcome.recommendation), "address"), "  ", verdict, "  ", told)
    name = pad(clip(analyzer_name(entry.analyzer), _NAME), _NAME)
    return line(Span(name, "strong"), "".join(f"{count:>{_CELLS},}" for count in entry.counts))


def entry_lines(entry: Entry, room: int) -> list[Line]:
    """One measurement in full: what it is about, both spans with their dates, both counts."""
    if entry.reviewed is None:
        told = ", ".join(f"{count:,} {title}" for title, count in zip(_TITLES, entry.counts, strict=True))
        name = line(Span(analyzer_name(entry.analyzer), "strong"))
        return wrapped([name, line(told), line(Span("Enter opens the analyzer", "dim"))], room, 2)
    outcome = entry.reviewed.outcome
    before, after = outcome.spans
    lines = [
        heading(entry.reviewed),
        row(outcome),
        line(Span("before    ", "dim"), f"{utc(before[0])} to {utc(before[1])}"),
        line(
            Span("after     ", "dim"), f"{utc(after[0])} to {utc(after[1])}, {span(outcome.horizon_ms)} each"
        ),
        line(Span("measured  ", "dim"), utc(outcome.measured_at)),
    ]
    if outcome.address:
        lines.append(line(Span("record    ", "dim"), Span(short(outcome.address), "address")))
    return wrapped(lines, room, 2)
