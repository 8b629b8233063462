# SPDX-License-Identifier: Apache-2.0
"""The page of outcomes: what was decided of each analyzer, in counts, and below it what was measured (D23)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from deja_tui.engine.objects import STATUSES
from deja_tui.engine.outcomes import Outcome, Reviewed
from deja_tui.engine.substrate import Tallied
from deja_tui.present.line import Line, Span, line, width, wrapped
from deja_tui.present.outcomes import brief, heading, row, span, word
from deja_tui.present.recommendation import analyzer_name
from deja_tui.present.words import short
from deja_tui.text import clip, pad, utc

_NAME: Final = 22
_TITLES: Final = ("pending", "approved", "rejected", "applied", "undone", "expired")
_CELLS: Final = 9
# Where the titles do not fit they are shorter; the counts stand whole below the list.
_SHORT: Final = ("pend", "appr", "rej", "appl", "undo", "exp")
_FEW_CELLS: Final = 6
_VERDICT: Final = 11
_SPAN: Final = 7
# The orders that the analyzers can stand in; the measurements of each stay below it.
ORDERS: Final = ("name", "most applied", "newest measured")


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


def entries(rows: Iterable[Tallied], found: Sequence[Reviewed]) -> list[Entry]:
    """Every analyzer that proposed something here, by name, its measurements below it, the newest first."""
    tally: dict[str, Counter[str]] = {}
    for one in rows:
        if not one.foreign:
            tally.setdefault(one.analyzer, Counter())[one.status] += one.count
    for reviewed in found:
        tally.setdefault(reviewed.recommendation.analyzer, Counter())
    out: list[Entry] = []
    for name in sorted(tally):
        out.append(Entry(name, name, tuple(tally[name][status] for status in STATUSES)))
        mine = [one for one in found if one.recommendation.analyzer == name]
        mine.sort(
            key=lambda one: (-one.outcome.measured_at, one.outcome.recommendation, one.outcome.horizon_ms)
        )
        out += [Entry(_key(one.outcome), name, reviewed=one) for one in mine]
    return out


def _key(outcome: Outcome) -> str:
    return f"{outcome.recommendation} {outcome.horizon_ms} {outcome.measured_at}"


def ordered(found: Sequence[Entry], order: str) -> list[Entry]:
    """Rows in one of `ORDERS`: as `entries` gives them, or with the analyzers in another order."""
    if order not in ORDERS[1:]:
        return list(found)
    groups: dict[str, list[Entry]] = {}
    for one in found:
        groups.setdefault(one.analyzer, []).append(one)
    applied = STATUSES.index("applied")

    def newest(group: Sequence[Entry]) -> int:
        return max((one.reviewed.outcome.measured_at for one in group if one.reviewed), default=0)

    by = newest if order == ORDERS[2] else lambda group: group[0].counts[applied]
    return [one for group in sorted(groups.values(), key=lambda group: -by(group)) for one in group]


def _cells(room: int) -> tuple[int, Sequence[str]]:
    return (_CELLS, _TITLES) if room >= _NAME + _CELLS * len(_TITLES) else (_FEW_CELLS, _SHORT)


def head(room: int) -> Line:
    """The titles of the columns."""
    cells, titles = _cells(room)
    return line(Span(pad("analyzer", _NAME) + "".join(f"{title:>{cells}}" for title in titles), "dim"))


def entry_row(entry: Entry, room: int) -> Line:
    """The counts of an analyzer, or ``a41f09c2  changed  1 day  failed 5 of 6 → 1 of 9 calls  2026-03-15``."""
    if entry.reviewed is not None:
        outcome = entry.reviewed.outcome
        verdict = Span(pad(word(outcome), _VERDICT), "strong")
        told = f"{pad(span(outcome.horizon_ms), _SPAN)}  {brief(outcome)}"
        shown = line("  ", Span(short(outcome.recommendation), "address"), "  ", verdict, "  ", told)
        when = utc(outcome.measured_at)[:10]
        return line(shown, Span(f"  {when}", "dim")) if width(shown) + 2 + len(when) <= room else shown
    name = pad(clip(analyzer_name(entry.analyzer), _NAME), _NAME)
    cells, _ = _cells(room)
    return line(Span(name, "strong"), "".join(f"{count:>{cells},}" for count in entry.counts))


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
