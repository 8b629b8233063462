# SPDX-License-Identifier: Apache-2.0
"""The writing half of a run: which findings become recommendations, which stay out and why, what closes. One act.

* PLACE-1  every draft that is not stored is counted by its reason, and told one by one as far as a list is readable.
* PLACE-2  what a run writes is one act: a run that dies half way leaves nothing, and is simply run again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from deja_tui.engine import audit, auto, ledger, lifecycle, views
from deja_tui.engine.analyzer import Manifest
from deja_tui.engine.draft import Draft
from deja_tui.engine.faults import LoopError
from deja_tui.engine.looking import Analysis, Finding
from deja_tui.engine.objects import SEVERITIES, Dropped, Recommendation, RunOutcome
from deja_tui.engine.operations import Operation, to_plain
from deja_tui.engine.policy import Policy
from deja_tui.engine.substrate import LedgerRow, Substrate
from deja_tui.engine.wire import read_recommendation, recommendation_grain
from deja_tui.errors import DejaError, ValidationError

_PASSING: Final = frozenset(("example", "age_days", "oldest_days", "watched_days"))
MAX_STORED: Final = (
    10_000  # findings one analyzer may add to the queue in one run; the rest comes with the next
)
MAX_TOLD: Final = 200
_BECAUSE_PROPOSED: Final = "the analyzer found it"
_BECAUSE_REFRESHED: Final = "the finding has changed since it was first proposed"
_BECAUSE_GONE: Final = "the finding no longer holds"
_BECAUSE_CHANGED: Final = "the finding changed after its approval"
_BECAUSE_OVER: Final = "ninety days have passed since it was acknowledged"
_BECAUSE_TORN: Final = "it was left half written, so nobody can decide it"


@dataclass(frozen=True, slots=True)
class Placing:
    """Who started the run, what the host grants, and how many findings an analyzer may add."""

    trigger: str
    now_ms: int
    policy: Policy | None = None
    max_stored: int = MAX_STORED


@dataclass(slots=True)
class Placed:
    """What came of the findings."""

    written: list[str] = field(default_factory=list)
    refreshed: int = 0
    auto_applied: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    drops: list[Dropped] = field(default_factory=list)
    cut: set[str] = field(default_factory=set)  # analyzers that found more than fits one run

    def drop(
        self, finding: Finding, reason: str, until: int | None = None, held_by: str | None = None
    ) -> None:
        """Count one draft that is not stored, and tell it while the list is short enough to read (PLACE-1)."""
        self.reasons[reason] += 1
        if len(self.drops) < MAX_TOLD:
            name, target = finding.analyzer.manifest.id, finding.draft.target_ref
            self.drops.append(Dropped(name, target, reason, until, held_by))


@dataclass(frozen=True, slots=True)
class _Place:
    """The verdict about one finding: a reason it stays out, or the address that was written."""

    address: str | None = None
    refreshes: bool = False
    reason: str = ""
    until: int | None = None
    held_by: str | None = None


def place_all(substrate: Substrate, analysis: Analysis, how: Placing) -> Placed:
    """Store what is to be stored, and apply unasked what the host granted and the engine proves harmless."""
    done = Placed()
    known = views.ledger_by_identity(substrate, [finding.identity for finding in analysis.findings])
    seen: set[str] = set()
    stored: Counter[str] = Counter()
    for finding in analysis.findings:
        name = finding.analyzer.manifest.id
        if SEVERITIES.index(finding.draft.severity) < SEVERITIES.index(finding.floor):
            done.drop(finding, "below_floor")
            continue
        if finding.identity in seen:
            done.drop(finding, "duplicate")
            continue
        seen.add(finding.identity)
        if stored[name] >= how.max_stored:
            done.cut.add(name)
            done.drop(finding, "budget")
            continue
        try:
            placed = _place(substrate, finding, known.get(finding.identity, []), how)
        except ValidationError:  # this memory does not take such values: the others' findings are sound
            placed = _Place(reason="refused")
        if placed.reason:
            done.drop(finding, placed.reason, placed.until, placed.held_by)
        if placed.address:
            stored[name] += 1
            done.written.append(placed.address)
            done.refreshed += placed.refreshes
            done.auto_applied += auto.apply(
                substrate, placed.address, finding.analyzer.manifest, how.policy, how.now_ms
            )
    return done


def _place(substrate: Substrate, finding: Finding, rows: list[LedgerRow], how: Placing) -> _Place:
    """What becomes of one finding (RUN-2, RUN-3)."""
    ours = [row for row in rows if not row.foreign]
    held = _held(substrate, ours)
    if held:
        row, body = held
        torn = not row.creator
        approved = row.status == "approved"
        unchanged = (
            _same_change(substrate, row, body, finding.draft) if approved else _same(body, finding.draft)
        )
        if not torn and unchanged:
            return _Place(reason="open", held_by=row.address)
        if row.status == "pending" and not torn:
            return _Place(propose(substrate, finding, how, len(rows), refreshes=row), refreshes=True)
        lifecycle.expire(substrate, row, _BECAUSE_TORN if torn else _BECAUSE_CHANGED, how.now_ms)
        return _Place(propose(substrate, finding, how, len(rows) + 1))
    until = ledger.cooling_until(ours)
    if until > how.now_ms:
        return _Place(reason="cooling", until=until, held_by=ours[-1].address)
    applied = [row for row in ours if row.status == "applied"]
    newest = finding.draft.newest_evidence
    if applied and newest is not None and newest <= max(row.decided_seq for row in applied):
        return _Place(reason="applied", held_by=applied[-1].address)
    return _Place(propose(substrate, finding, how, len(rows) + 1))


def _held(substrate: Substrate, ours: list[LedgerRow]) -> tuple[LedgerRow, Recommendation] | None:
    """The open recommendation of an identity. One that cannot be read any more can be neither decided nor refreshed, so
    it must not hold the finding back."""
    for row in reversed(ours):
        if row.status in ("pending", "approved"):
            body = body_of(substrate, row)
            if body:
                return row, body
    return None


def propose(
    substrate: Substrate,
    finding: Finding,
    how: Placing,
    occurrence: int,
    refreshes: LedgerRow | None = None,
) -> str:
    """Store one recommendation with its first audit entry. ``occurrence`` counts from 1 within the identity."""
    manifest = finding.analyzer.manifest
    grain = recommendation_grain(
        finding.draft,
        analyzer=manifest.id,
        params=finding.params,
        identity=finding.identity,
        now_ms=how.now_ms,
        since=refreshes.since if refreshes else how.now_ms,
        refreshes=refreshes.address if refreshes else None,
        occurrence=occurrence,
    )
    put = substrate.supersede(refreshes.address, grain) if refreshes else substrate.put(grain)
    if not put.new:
        raise LoopError("LOP-E001", "the very bytes of this recommendation are already here", "run it again")
    if refreshes:
        lifecycle.record_replaced(substrate, refreshes, put.address)
    creator = creator_of(manifest)
    entry = audit.write(
        substrate,
        put.address,
        previous=None,
        to_status="pending",
        actor=creator,
        observer="system",
        because=_BECAUSE_REFRESHED if refreshes else _BECAUSE_PROPOSED,
        now_ms=how.now_ms,
        notes={"creator": creator, "trigger": how.trigger, "source": manifest.origin},
    )
    lifecycle.record_first(substrate, put.address, entry)
    return put.address


def creator_of(manifest: Manifest) -> str:
    """Who made a finding (D14): the engine for what is built in, the command for a command's."""
    return f"{'engine' if manifest.origin == 'builtin' else 'command'}:{manifest.id}"


# --- closing -----------------------------------------------------------------------------------------


def close(substrate: Substrate, analysis: Analysis, now_ms: int) -> int:
    """Expire open recommendations of analyzers that looked at everything and no longer find them (RUN-4, RUN-6)."""
    found = {finding.identity for finding in analysis.findings}
    closed = 0
    looked = sorted(analysis.whole)
    for row in views.ledger(substrate, ("pending", "approved"), looked) if looked else ():
        judged = row.analyzer in analysis.whole and row.created_at <= now_ms
        # one that cannot be read is left as it is: `verify` names it, and nobody can decide about it
        if judged and row.identity not in found and not row.foreign and body_of(substrate, row):
            lifecycle.expire(substrate, row, _BECAUSE_GONE, now_ms)
            closed += 1
    return closed


def expire_acknowledged(substrate: Substrate, now_ms: int) -> int:
    """Expire advice whose acknowledgement has run out (D26): if it still holds, it is proposed again."""
    expired = 0
    for row in views.ledger(substrate, ("approved",)):
        if row.foreign or now_ms < row.decided_at + ledger.ACKNOWLEDGED_MS:
            continue
        body = body_of(substrate, row)
        if body and body.advice:
            lifecycle.expire(substrate, row, _BECAUSE_OVER, now_ms)
            expired += 1
    return expired


# --- comparing ---------------------------------------------------------------------------------------


def body_of(substrate: Substrate, row: LedgerRow) -> Recommendation | None:
    """The recommendation of a row, or None when its bytes cannot be read any more."""
    try:
        grain = substrate.get(row.address)
        return read_recommendation(grain) if grain else None
    except DejaError:
        return None


def _same_change(substrate: Substrate, row: LedgerRow, body: Recommendation, draft: Draft) -> bool:
    """Whether an apply would do what the draft asks for. A confidence that was counted anew is no other change.

    An approval is about the change that was chosen (D20): one more call, failed or not, must not take it back, and nor
    must another alternative that was offered beside it.
    """
    entries = audit.entries(substrate, row.address)
    choice = entries[-1][0].choice if entries else 0
    chosen = _change(body, choice)
    return chosen is not None and chosen == _change(draft, choice)


def _change(told: Recommendation | Draft, choice: int) -> list[dict[str, Any]] | None:
    choices = [one.operations for one in told.alternatives] or [told.operations]
    if not 0 <= choice < len(choices):
        return None
    return [_without_confidence(operation) for operation in choices[choice]]


def _without_confidence(operation: Operation) -> dict[str, Any]:
    plain = to_plain(operation)
    if isinstance(plain.get("fields"), dict):
        plain["fields"] = {name: value for name, value in plain["fields"].items() if name != "confidence"}
    return plain


def _counted(args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments without what changes by itself: which of several failures is shown, and how many days have passed.

    A finding that only grew a day older keeps its address, so that a reviewer's decision still fits it.
    """
    return {name: value for name, value in args.items() if name not in _PASSING}


def _same(body: Recommendation, draft: Draft) -> bool:
    """Whether a stored recommendation already says what the draft says."""
    return (
        body.evidence == draft.evidence
        and body.evidence_total == draft.evidence_total
        and body.severity == draft.severity
        and body.summary.template_id == draft.template_id
        and _counted(body.summary.args) == _counted(draft.args)
        and [to_plain(op) for op in body.operations] == [to_plain(op) for op in draft.operations]
        and body.alternatives == draft.alternatives
        and (None if body.data is None else _counted(body.data))
        == (None if draft.data is None else _counted(draft.data))
    )


def told_as(base: RunOutcome, done: Placed) -> RunOutcome:
    """``base``, the outcome so far, with what came of the findings."""
    return replace(
        base,
        deduped=done.reasons.total(),
        stored=len(done.written) - done.refreshed,
        refreshed=done.refreshed,
        auto_applied=done.auto_applied,
        dropped=dict(done.reasons),
        drops=tuple(done.drops),
        recommendations=tuple(done.written),
    )
