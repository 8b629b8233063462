# SPDX-License-Identifier: Apache-2.0
"""What became of applied recommendations: the same count over equal spans before and after the apply (D23).

* OUT-1  a horizon is measured once, at the first run when it is over, while the recommendation is applied.
* OUT-2  after: exactly (applied_at, applied_at + horizon]. Before: exactly (applied_at − horizon, applied_at]. A late run
  measures the same as a punctual one.
* OUT-3  where the span before begins before anything was recorded there is no baseline, and nothing is compared.
* OUT-4  ``measure`` reads only; ``record`` writes one Observation a measurement into the loop's namespace. It holds
  counts, spans and the address, never text of a grain.
* OUT-5  what came with a bundle measures nothing here (D5).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from deja_tui.engine import activity_views, views
from deja_tui.engine.activity_views import OUTCOME_KEY, parents
from deja_tui.engine.faults import LoopError
from deja_tui.engine.objects import Recommendation
from deja_tui.engine.substrate import LOOP_NAMESPACE, LedgerRow, NewGrain, StoredGrain, Substrate
from deja_tui.engine.wire import read_recommendation
from deja_tui.text import DAY_MS, fold

HORIZONS_MS: Final = (DAY_MS, 7 * DAY_MS, 30 * DAY_MS)
TOOL_ERRORS: Final = "tool_error_recurrence"
CONTRADICTIONS: Final = "contradiction_recurrence"

Verdict = Literal["lower", "equal", "higher", "no baseline"]
VERDICTS: Final[tuple[str, ...]] = ("lower", "equal", "higher", "no baseline")
_ACTOR: Final = "engine:loop"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One measurement. ``before`` and ``after`` count what the metric counts; the ``n`` beside each is out of how many
    (calls of the tool, facts of the key). ``before`` is None without a baseline. Times are epoch ms.
    """

    recommendation: str
    metric: str
    horizon_ms: int
    applied_at: int
    before: int | None
    before_n: int
    after: int
    after_n: int
    measured_at: int
    address: str | None = None  # of the Observation that records it; None until it is stored
    of: int = 0  # how many horizons the recommendation has

    @property
    def verdict(self) -> Verdict:
        if self.before is None:
            return "no baseline"
        if self.after == self.before:
            return "equal"
        return "higher" if self.after > self.before else "lower"

    @property
    def spans(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Both spans as (after, until]: the one before the apply, the one after it."""
        at, length = self.applied_at, self.horizon_ms
        return (at - length, at), (at, at + length)


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A measurement with what it is about: the recommendation's body and its present status."""

    outcome: Outcome
    status: str
    recommendation: Recommendation


@dataclass(frozen=True, slots=True)
class _Counted:
    before: int | None
    before_n: int
    after: int
    after_n: int


def measure(substrate: Substrate, now_ms: int) -> list[Outcome]:
    """Every horizon that is over and was not measured yet, oldest apply first. Writes nothing (OUT-4)."""
    rows = [row for row in views.ledger(substrate, ("applied",)) if _may_be_due(row, now_ms)]
    if not rows:
        return []
    done, complete = _measured_before(substrate, min(row.decided_at for row in rows))
    found = []
    for row in sorted(rows, key=lambda row: (row.decided_at, row.address)):
        # a recommendation with nothing left to measure is not even read
        body = None if row.address in complete else _body(substrate, row.address)
        if body is None:
            continue
        for horizon in _horizons(body):
            if row.decided_at + horizon <= now_ms and (row.address, horizon) not in done:
                measured = _measured(substrate, body, row.decided_at, horizon, now_ms)
                found.extend([measured] if measured else [])
    return found


def _measured_before(substrate: Substrate, since_ms: int) -> tuple[set[tuple[str, int]], set[str]]:
    """(recommendation, horizon) of every measurement stored from a time on; and those that have all of theirs."""
    done: set[tuple[str, int]] = set()
    left: dict[str, int] = {}
    for one in recorded(substrate, since_ms):
        if (one.recommendation, one.horizon_ms) not in done:
            done.add((one.recommendation, one.horizon_ms))
            left[one.recommendation] = left.get(one.recommendation, one.of) - 1
    return done, {address for address, count in left.items() if count == 0}


def record(substrate: Substrate, outcomes: Iterable[Outcome], now_ms: int) -> list[Outcome]:
    """Store measurements, one Observation each, inside the caller's act; they come back with their addresses."""
    stored = []
    for one in outcomes:
        put = substrate.put(_grain(one, now_ms))
        stored.append(replace(one, address=put.address))
    return stored


def recorded(substrate: Substrate, since_ms: int = 0) -> list[Outcome]:
    """What was measured here and stored from ``since_ms`` on, in arrival order (OUT-5)."""
    grains = activity_views.outcome_grains(substrate, since_ms)
    return [outcome for grain in grains if not grain.imported and (outcome := read_outcome(grain))]


def reviewed(substrate: Substrate) -> list[Reviewed]:
    """Every stored measurement with its recommendation, the newest first; what was erased since is left out."""
    told = []
    for one in recorded(substrate):
        body, row = _body(substrate, one.recommendation), views.ledger_row(substrate, one.recommendation)
        if body and row:
            told.append(Reviewed(one, row.status, body))
    return sorted(
        told,
        key=lambda each: (
            -each.outcome.measured_at,
            each.outcome.recommendation,
            -each.outcome.horizon_ms,
        ),
    )


def of(substrate: Substrate, address: str) -> tuple[Outcome, ...]:
    """The stored measurements of one recommendation, shortest span first."""
    found = [one for one in recorded(substrate) if one.recommendation == address]
    return tuple(sorted(found, key=lambda one: one.horizon_ms))


def standing(substrate: Substrate) -> list[Outcome]:
    """The stored measurements of recommendations that were made here and are applied now, in arrival order."""
    rows = [row for row in views.ledger(substrate, ("applied",)) if not row.foreign]
    if not rows:
        return []
    known = {row.address for row in rows}
    found = recorded(substrate, min(row.decided_at for row in rows))
    return [one for one in found if one.recommendation in known]


def applied(substrate: Substrate, address: str) -> Recommendation | None:
    """The recommendation at ``address`` when it was made here and is applied now; None otherwise."""
    row = views.ledger_row(substrate, address)
    return _body(substrate, address) if row and row.status == "applied" and not row.foreign else None


def read_outcome(grain: StoredGrain) -> Outcome | None:
    """The measurement an Observation of the loop's namespace records; None when it is none or malformed."""
    context, told = grain.get("context"), parents(grain)
    held = context.get(OUTCOME_KEY) if isinstance(context, Mapping) else None
    if grain.type != "observation" or grain.namespace != LOOP_NAMESPACE or not told:
        return None
    if not isinstance(held, Mapping) or not isinstance(held.get("metric"), str):
        return None
    names = ("horizon_ms", "applied_at", "before_n", "after", "after_n")
    before = held.get("before")
    if not all(_whole(held.get(name)) for name in names) or not (before is None or _whole(before)):
        return None
    return Outcome(
        recommendation=told[0],
        metric=str(held["metric"]),
        before=before,
        measured_at=grain.created_at,
        address=grain.address,
        of=int(held["of"]) if _whole(held.get("of")) else 0,
        **{name: int(held[name]) for name in names},
    )


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _grain(one: Outcome, now_ms: int) -> NewGrain:
    held: dict[str, Any] = {
        "metric": one.metric,
        "horizon_ms": one.horizon_ms,
        "applied_at": one.applied_at,
        "before_n": one.before_n,
        "after": one.after,
        "after_n": one.after_n,
        "verdict": one.verdict,
        "of": one.of,
    }
    if one.before is not None:
        held["before"] = one.before
    fields = {
        "observer_id": _ACTOR,
        "observer_type": "rec:system",
        "object": one.verdict,
        "derived_from": [one.recommendation],
        "context": {OUTCOME_KEY: held},
    }
    return NewGrain("observation", LOOP_NAMESPACE, now_ms, fields)


# --- what is due -------------------------------------------------------------------------------------


def _may_be_due(row: LedgerRow, now_ms: int) -> bool:
    return not row.foreign and row.decided_at < now_ms


def _body(substrate: Substrate, address: str) -> Recommendation | None:
    """The recommendation, or None when it was erased or is damaged: nothing can be measured of it then."""
    try:
        grain = substrate.get(address)
        return read_recommendation(grain) if grain else None
    except LoopError:
        return None


def _horizons(body: Recommendation) -> Sequence[int]:
    told = body.metric.get("horizons_ms") if body.metric else None
    if not isinstance(told, list | tuple):
        return ()
    return sorted({one for one in told if _whole(one) and one > 0})


def _measured(
    substrate: Substrate, body: Recommendation, applied_at: int, horizon: int, now_ms: int
) -> Outcome | None:
    metric = body.metric or {}
    name = metric.get("metric")
    count = _METRICS.get(name) if isinstance(name, str) else None
    counted = count(substrate, metric, applied_at, horizon) if count else None
    if counted is None:
        return None
    return Outcome(
        recommendation=body.address,
        metric=str(name),
        horizon_ms=horizon,
        applied_at=applied_at,
        before=counted.before,
        before_n=counted.before_n,
        after=counted.after,
        after_n=counted.after_n,
        measured_at=now_ms,
        of=len(_horizons(body)),
    )


# --- the two metrics of loop-engine §12 --------------------------------------------------------------


def _tool_errors(
    substrate: Substrate, metric: Mapping[str, Any], applied_at: int, horizon: int
) -> _Counted | None:
    """Failures of the tool with the signature; without one, every failure of the tool.

    The baseline needs the tool to have been called before its span begins: a tool that is two days old has no week to
    compare with, and would seem to fail more for being used longer.
    """
    tool, signature = metric.get("subject"), metric.get("relation")
    if not isinstance(tool, str) or not tool:
        return None
    signature = signature if isinstance(signature, str) and signature else None
    before = activity_views.tool_span(substrate, tool, signature, applied_at - horizon, applied_at)
    after = activity_views.tool_span(substrate, tool, signature, applied_at, applied_at + horizon)
    reaches = before.first is not None and before.first <= applied_at - horizon
    return _Counted(before.errors if reaches else None, before.calls, after.errors, after.calls)


def _contradictions(
    substrate: Substrate, metric: Mapping[str, Any], applied_at: int, horizon: int
) -> _Counted | None:
    """Values that came into conflict inside a span: written on their own, and other than what was current as it began.

    A value that takes the place of its predecessor is an orderly change, and what an apply wrote is its own doing.
    """
    key = [metric.get(name) for name in ("namespace", "subject", "relation")]
    if not all(isinstance(part, str) and part for part in key):
        return None
    facts = activity_views.facts_under(substrate, *(str(part) for part in key))
    begin = applied_at - horizon
    oldest = activity_views.earliest_fact(substrate)
    before, before_n = _conflicts(facts, begin, applied_at)
    after, after_n = _conflicts(facts, applied_at, applied_at + horizon)
    reaches = oldest is not None and oldest <= begin
    return _Counted(before if reaches else None, before_n, after, after_n)


def _conflicts(facts: Sequence[StoredGrain], begin: int, until: int) -> tuple[int, int]:
    """(other values that arrived in (begin, until], facts that arrived then) of one key."""
    replaced = {(grain.superseded_by, grain.address) for grain in facts if grain.superseded_by}
    own = [grain for grain in _inside(facts, begin, until) if not _in_place_of(grain, replaced)]
    current = _current(facts, begin)
    if not current and own:
        current = {_value(own[0])}
    return len({_value(grain) for grain in own} - current), len(own)


def _inside(facts: Iterable[StoredGrain], begin: int, until: int) -> Iterator[StoredGrain]:
    return (grain for grain in facts if begin < grain.created_at <= until)


def _in_place_of(grain: StoredGrain, replaced: Collection[tuple[str, str]]) -> bool:
    """Whether the grain superseded one of the key. One that others were retired for did not: it names none of them."""
    return any((grain.address, parent) in replaced for parent in parents(grain))


def _current(facts: Sequence[StoredGrain], at: int) -> set[str]:
    """The values that stood at ``at``: the live ones of then-known facts, or where none is left the newest of them."""
    known = [grain for grain in facts if grain.created_at <= at]
    live = {_value(grain) for grain in known if grain.live}
    return live or ({_value(known[-1])} if known else set())


def _value(grain: StoredGrain) -> str:
    return fold(str(grain.get("object")))


_METRICS: Final = {TOOL_ERRORS: _tool_errors, CONTRADICTIONS: _contradictions}
