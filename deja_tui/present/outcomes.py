# SPDX-License-Identifier: Apache-2.0
"""What became of applied recommendations, in counts (D23).

People read both counts and *changed* or *unchanged*; *fewer* or *more* only when both spans hold ten observations or more.
There are no shares and no causes: a memory knows what came before and after, not why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from deja_tui.engine.outcomes import CONTRADICTIONS, TOOL_ERRORS, Outcome, Reviewed
from deja_tui.engine.templates import render
from deja_tui.present.line import Line, Span, line, plain, wrapped
from deja_tui.present.words import plural, short
from deja_tui.text import DAY_MS, HOUR_MS, clean, utc

ENOUGH: Final = 10
NONE_YET: Final = (
    "No outcomes yet. What was applied is measured after 1, 7 and 30 days, at the first run after each."
)


def word(outcome: Outcome) -> str:
    """unchanged, changed, fewer, more, no baseline, or no calls: a span without a call compares with nothing."""
    if outcome.before is None:
        return "no baseline"
    if outcome.metric == TOOL_ERRORS and not (outcome.before_n and outcome.after_n):
        return "no calls"
    if outcome.before == outcome.after:
        return "unchanged"
    if min(outcome.before_n, outcome.after_n) < ENOUGH:
        return "changed"
    return "fewer" if outcome.after < outcome.before else "more"


def span(ms: int) -> str:
    """``1 day``, ``7 days``, ``6 hours``."""
    if ms % DAY_MS == 0:
        return plural(ms // DAY_MS, "day")
    return plural(ms // HOUR_MS, "hour") if ms % HOUR_MS == 0 else plural(ms // 1_000, "second")


def counts(outcome: Outcome) -> str:
    """``5 of 6 calls failed that way before, 1 of 9 after``: both counts, each out of how many."""
    if outcome.metric == TOOL_ERRORS and outcome.before is not None:
        if not (outcome.before_n or outcome.after_n):
            return "no calls before, none after"
        if not outcome.after_n:
            return f"{_count(outcome.metric, outcome.before, outcome.before_n)} before, no calls after"
        if not outcome.before_n:
            return f"no calls before, {_count(outcome.metric, outcome.after, outcome.after_n)} after"
    after = _count(outcome.metric, outcome.after, outcome.after_n)
    if outcome.before is None:
        reach = f"nothing to compare with: the record does not reach {span(outcome.horizon_ms)} further back"
        return f"{after} after; {reach}"
    return f"{_count(outcome.metric, outcome.before, outcome.before_n)} before, {_short(outcome)} after"


def _count(metric: str, found: int, out_of: int) -> str:
    if metric == TOOL_ERRORS:
        if not out_of:
            return "no calls"
        return f"{found:,} of {plural(out_of, 'call')} failed that way"
    if metric == CONTRADICTIONS:
        return plural(found, "value that conflicts", "values that conflict")
    return f"{found:,} of {out_of:,}"


def _short(outcome: Outcome) -> str:
    if outcome.metric == CONTRADICTIONS:
        return f"{outcome.after:,}"
    return f"{outcome.after:,} of {outcome.after_n:,}"


def brief(outcome: Outcome) -> str:
    """``failed 5 of 6 → 1 of 9 calls``: both counts on a row."""
    before, after = outcome.before, outcome.after
    if outcome.metric == CONTRADICTIONS:
        return f"conflicts {'?' if before is None else f'{before:,}'} → {after:,}"
    if before is not None and not (outcome.before_n or outcome.after_n):
        return "no calls → no calls"
    told = (
        "?" if before is None else f"{before:,} of {outcome.before_n:,}" if outcome.before_n else "no calls"
    )
    return f"failed {told} → " + (
        f"{after:,} of {outcome.after_n:,} calls" if outcome.after_n else "no calls"
    )


def heading(one: Reviewed) -> Line:
    """Address, status, when it was applied, and the line of the recommendation."""
    told = render(one.recommendation.summary.template_id, one.recommendation.summary.args)
    applied = f"  {one.status.replace('_', ' ')}, in effect from {utc(one.outcome.applied_at)}  "
    return line(Span(short(one.outcome.recommendation), "address"), Span(applied, "dim"), clean(told))


def row(outcome: Outcome) -> Line:
    """One span: ``7 days: 5 of 6 calls failed that way before, 1 of 9 after: changed``."""
    told = word(outcome)
    parts: tuple[str | Span, ...] = (f"{span(outcome.horizon_ms)}: ", counts(outcome))
    return line(*parts) if told in ("no baseline", "no calls") else line(*parts, ": ", Span(told, "strong"))


def blocks(found: Sequence[Reviewed]) -> list[list[Line]]:
    """A heading and its spans, shortest first, for each recommendation; the newest measured first."""
    grouped = [list(group) for _, group in groupby(_in_blocks(found), key=_address)]
    return [
        [heading(group[0]), *(row(one.outcome) for one in sorted(group, key=_horizon))] for group in grouped
    ]


def _in_blocks(found: Sequence[Reviewed]) -> list[Reviewed]:
    newest: dict[str, int] = {}
    for one in found:
        newest[_address(one)] = max(newest.get(_address(one), 0), one.outcome.measured_at)
    return sorted(found, key=lambda one: (-newest[_address(one)], _address(one)))


def _address(one: Reviewed) -> str:
    return one.outcome.recommendation


def _horizon(one: Reviewed) -> int:
    return one.outcome.horizon_ms


def outcome_lines(found: Sequence[Reviewed], width: int) -> list[str]:
    """The report as plain text, wrapped."""
    if not found:
        return [NONE_YET]
    return [plain(told).rstrip() for told in _laid_out(blocks(found), width)]


def _laid_out(found: Iterable[Sequence[Line]], width: int) -> Iterable[Line]:
    for heading_, *rows in found:
        yield from wrapped([heading_], width, 2)
        for each in rows:
            yield from wrapped([line("  ", each)], width, 4)
