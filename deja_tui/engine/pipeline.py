# SPDX-License-Identifier: Apache-2.0
"""A run: gate, analyze, validate, dedup, store, close, advance. Pure in (substrate, options, now).

Analysis only reads. Everything a run writes is written in one act at its end, so a run that dies leaves nothing and
is simply run again. Reasons why a draft was not stored are counted apart (``dropped``).

* RUN-1  the clock is never read: ``now_ms`` is an argument.
* RUN-2  one identity has at most one open recommendation; a pending one is refreshed by supersession, an approved one
  whose change became another one expires and the new one is proposed (D4); counting anew is no other change.
* RUN-3  an applied one covers the evidence that was there when it was applied; only newer evidence is a new finding.
* RUN-4  an analyzer that failed or did not run closes nothing and moves no watermark.
* RUN-5  ``only``, ``dry_run`` and a restricted set of namespaces close nothing of others and move no watermark (D26).
* RUN-6  a run closes nothing that was proposed later than its own ``now``: it cannot have seen it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from deja_tui.engine import audit, lifecycle, views
from deja_tui.engine.analyzer import Analyzer, Budget, BudgetSpent, Context, Covered
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.engine.draft import Draft, accept
from deja_tui.engine.faults import LoopError
from deja_tui.engine.identity import identity
from deja_tui.engine.ledger import cooling_until
from deja_tui.engine.objects import SEVERITIES, Activation, Recommendation, RunOutcome, SkippedAnalyzer
from deja_tui.engine.operations import Operation, to_plain
from deja_tui.engine.reader import Books, Reader
from deja_tui.engine.substrate import LedgerRow, Position, Substrate
from deja_tui.engine.templates import render
from deja_tui.engine.wire import read_recommendation, recommendation_grain
from deja_tui.errors import DejaError, ValidationError

LAST_RUN: Final = "loop.last_run"
FIRST_RUN: Final = "loop.first_run"
WATERMARK: Final = "loop.watermark."
WORK_BUDGET: Final = 5_000_000  # grains one analyzer may look at in one run (D29)
# what a memory may lack, and how a person provides it
_PROVIDED_BY: Final = {
    "telemetry": "deja --telemetry aggregate …",
    "forks": "this memory cannot tell forks",
    "embeddings": "not in this version",
}
_BECAUSE_PROPOSED: Final = "the analyzer found it"
_BECAUSE_REFRESHED: Final = "the finding has changed since it was first proposed"
_BECAUSE_GONE: Final = "the finding no longer holds"
_BECAUSE_CHANGED: Final = "the finding changed after its approval"
_BECAUSE_TORN: Final = "it was left half written, so nobody can decide it"


@dataclass(frozen=True, slots=True)
class AnalyzerConfig:
    """What a file or host says of one analyzer. None: the analyzer's own default."""

    enabled: bool | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    severity_floor: str | None = None
    namespaces: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """One run. Gates are OR-composed: with several, any that is met opens; with none, the run goes ahead."""

    trigger: str = "user:local"
    namespaces: tuple[str, ...] | None = None
    only: tuple[str, ...] = ()
    dry_run: bool = False
    min_new: int | None = None
    min_new_errors: int | None = None
    if_stale_ms: int | None = None
    config: Mapping[str, AnalyzerConfig] = field(default_factory=dict)
    analyzers: tuple[Analyzer, ...] = ()


@dataclass(frozen=True, slots=True)
class _Finding:
    analyzer: Analyzer
    params: Mapping[str, Any]
    draft: Draft
    identity: str
    floor: str


@dataclass(frozen=True, slots=True)
class _Analysis:
    findings: list[_Finding]
    ran: list[str]
    skipped: list[SkippedAnalyzer]
    probes: dict[str, Activation]

    def skip(self, analyzer: str, reason: str) -> None:
        self.skipped.append(SkippedAnalyzer(analyzer, reason))


def run(substrate: Substrate, options: RunOptions, now_ms: int) -> RunOutcome:
    """One pass of the Deja Loop. Raises LOP-E033 for an unknown analyzer in ``only``; analyzer faults are reported."""
    analyzers = (*ANALYZERS, *options.analyzers)
    options = replace(options, only=_chosen(options.only, analyzers))
    here = views.position(substrate)
    gated = gate(substrate, options, now_ms)
    if gated.outcome == "skipped":
        return gated
    analysis = _analyze(substrate, analyzers, options, now_ms)
    base = replace(
        gated,
        proposed=len(analysis.findings),
        analyzers_run=tuple(analysis.ran),
        analyzers_skipped=tuple(analysis.skipped),
        quiet={} if analysis.findings else analysis.probes,
    )
    if options.dry_run:
        lines = tuple(render(f.draft.template_id, f.draft.args) for f in analysis.findings)
        return replace(base, drafts=lines)
    with views.atomic(substrate):
        return _store(substrate, analysis, base, options, here, now_ms)


# --- gates -------------------------------------------------------------------------------------------


def gate(substrate: Substrate, options: RunOptions, now_ms: int) -> RunOutcome:
    """Whether a run would go ahead, and what is new since the last one. Reads two counters and writes nothing."""
    here = views.position(substrate)
    last = views.setting(substrate, LAST_RUN) or {}
    # a substrate that counts what is there, not what arrived, counts less after something was forgotten
    new_grains = max(0, here.grains - int(last.get("grains", 0)))
    new_errors = max(0, here.errors - int(last.get("errors", 0)))
    skip = _gate(options, new_grains, new_errors, last.get("at"), now_ms)
    return RunOutcome("skipped" if skip else "ran", skip, new_grains, new_errors)


def _gate(
    options: RunOptions, new_grains: int, new_errors: int, last_at: int | None, now_ms: int
) -> str | None:
    gates = (options.min_new, options.min_new_errors, options.if_stale_ms)
    if all(gate is None for gate in gates):
        return None
    stale = options.if_stale_ms is not None and _stale(last_at, now_ms, options.if_stale_ms)
    many = options.min_new is not None and new_grains >= options.min_new
    failing = options.min_new_errors is not None and new_errors >= options.min_new_errors
    if stale or many or failing:
        return None
    only_stale = options.min_new is None and options.min_new_errors is None
    return "not_stale" if only_stale else "min_new_not_met"


def _stale(last_at: int | None, now_ms: int, limit_ms: int) -> bool:
    # a last run in the future was dated by a wrong clock: believing it would keep the gate shut until then
    return last_at is None or now_ms < last_at or now_ms - last_at >= limit_ms


def _chosen(only: Sequence[str], analyzers: Sequence[Analyzer]) -> tuple[str, ...]:
    """The ids that ``only`` names, each by its id, by its family, or, built in, by its family without ``loop.``."""
    named: dict[str, str] = {}
    for manifest in (analyzer.manifest for analyzer in analyzers):
        for name in (manifest.id, manifest.family, manifest.family.removeprefix("loop.")):
            named.setdefault(name, manifest.id)
    unknown = [name for name in only if name not in named]
    if unknown:
        known = sorted(analyzer.manifest.id for analyzer in analyzers)
        raise LoopError("LOP-E033", "there is no such analyzer", "known: " + ", ".join(known))
    return tuple(named[name] for name in only)


# --- analysis: reads only ----------------------------------------------------------------------------


def _analyze(
    substrate: Substrate, analyzers: Sequence[Analyzer], options: RunOptions, now_ms: int
) -> _Analysis:
    result = _Analysis([], [], [], {})
    ready = [one for one in _prepare(substrate, analyzers, options, now_ms, result) if _begin(one, result)]
    for one in ready:
        _let_look(one, result)
    return result


@dataclass(frozen=True, slots=True)
class _Ready:
    """An analyzer that may look, with what it may see."""

    analyzer: Analyzer
    context: Context
    floor: str


def _prepare(
    substrate: Substrate,
    analyzers: Sequence[Analyzer],
    options: RunOptions,
    now_ms: int,
    result: _Analysis,
) -> Iterator[_Ready]:
    """The analyzers that take part in this run; ``result`` is told of the others."""
    reader, books = Reader(substrate), Books(substrate)
    covered = _covered(substrate)
    for analyzer in analyzers:
        manifest = analyzer.manifest
        config = options.config.get(manifest.id, AnalyzerConfig())
        if options.only and manifest.id not in options.only:
            continue
        if not (manifest.default_on if config.enabled is None else config.enabled):
            result.skip(manifest.id, "disabled")
            continue
        missing = _missing(substrate, manifest.requires)
        if missing:
            result.skip(manifest.id, missing)
            continue
        try:
            context = Context(
                reader,
                manifest.resolve(config.params),
                now_ms,
                views.user_namespaces(config.namespaces or options.namespaces),
                manifest.family,
                covered,
                telemetry=views.capability(substrate, "telemetry"),
                watermark=int((views.setting(substrate, WATERMARK + manifest.id) or {}).get("seq", 0)),
                books=books,
                budget=Budget(WORK_BUDGET),
            )
            yield _Ready(analyzer, context, _floor(config.severity_floor))
        except DejaError as fault:
            result.skip(manifest.id, str(fault))


def _begin(one: _Ready, result: _Analysis) -> bool:
    """Let an analyzer that works outside this process start before the others look; whether it may go on."""
    start = getattr(one.analyzer, "begin", None)
    if start is None:
        return True
    try:
        start(one.context)
    except BudgetSpent:
        result.skip(one.analyzer.manifest.id, "budget")
        return False
    except DejaError as fault:
        result.skip(one.analyzer.manifest.id, str(fault))
        return False
    return True


def _let_look(one: _Ready, result: _Analysis) -> None:
    name, drafts = one.analyzer.manifest.id, list[Any]()
    try:
        drafts.extend(one.analyzer.analyze(one.context))  # what was yielded before a budget ran out stays
        if not drafts:
            result.probes[name] = one.analyzer.probe(one.context)
    except BudgetSpent:
        result.skip(name, "budget")
    except DejaError as fault:
        result.skip(name, str(fault))
        return
    except Exception as fault:  # noqa: BLE001 - one analyzer's fault is reported and costs only its findings
        result.skip(name, f"LOP-E030 failed: {type(fault).__name__}")
        return
    else:
        result.ran.append(name)
    _keep_acceptable(result, one.analyzer, one.context.params, drafts, one.floor)


def _missing(substrate: Substrate, requires: Sequence[str]) -> str | None:
    """Why an analyzer cannot work on this memory, with what provides it; None when nothing is missing."""
    for name in requires:
        if views.capability(substrate, name) is None:
            return f"missing {name}: {_PROVIDED_BY.get(name, 'this memory does not offer it')}"
    return None


def _floor(floor: str | None) -> str:
    if floor is not None and floor not in SEVERITIES:
        raise LoopError("LOP-E031", "the severity floor must be one of " + ", ".join(SEVERITIES))
    return floor or "info"


def _covered(substrate: Substrate) -> dict[str, Covered]:
    """Identity → up to where its newest apply covers evidence (RUN-3)."""
    covered: dict[str, Covered] = {}
    for row in views.ledger(substrate, ("applied",)):
        if not row.foreign and (row.identity not in covered or row.decided_seq > covered[row.identity].seq):
            covered[row.identity] = Covered(row.decided_seq, row.decided_at)
    return covered


def _keep_acceptable(
    result: _Analysis, analyzer: Analyzer, params: Mapping[str, Any], drafts: Sequence[Draft], floor: str
) -> None:
    """Take what can be stored; what cannot costs only itself and is told once a reason, however many there are."""
    manifest = analyzer.manifest
    refused: Counter[str] = Counter()
    for draft in drafts:
        try:
            bounded = accept(draft, manifest.target_classes)
            key = identity(manifest.family, bounded.target_ref, bounded.action)
        except LoopError as fault:
            refused[str(fault)] += 1
        except Exception as fault:  # noqa: BLE001 - a finding of the wrong shape costs only itself
            refused[f"LOP-E011 malformed: {type(fault).__name__}"] += 1
        else:
            result.findings.append(_Finding(analyzer, params, bounded, key, floor))
    for reason, count in sorted(refused.items()):
        result.skip(manifest.id, f"{count} {'finding' if count == 1 else 'findings'} dropped: {reason}")


# --- storing: one act --------------------------------------------------------------------------------


def _store(
    substrate: Substrate,
    analysis: _Analysis,
    base: RunOutcome,
    options: RunOptions,
    here: Position,
    now_ms: int,
) -> RunOutcome:
    dropped: Counter[str] = Counter()
    written: list[str] = []
    refreshed = 0
    known = views.ledger_by_identity(substrate, [finding.identity for finding in analysis.findings])
    seen: set[str] = set()
    for finding in analysis.findings:
        if SEVERITIES.index(finding.draft.severity) < SEVERITIES.index(finding.floor):
            dropped["below_floor"] += 1
        elif finding.identity in seen:
            dropped["duplicate"] += 1
        else:
            seen.add(finding.identity)
            rows = known.get(finding.identity, [])
            try:
                reason, address, refreshes = _place(substrate, finding, rows, options.trigger, now_ms)
            except ValidationError:  # this memory does not take such values: the others' findings are sound
                reason, address, refreshes = "refused", None, False
            refreshed += refreshes
            if reason:
                dropped[reason] += 1
            if address:
                written.append(address)
    closed = 0
    whole = not options.only and options.namespaces is None
    if whole:
        closed = _close(substrate, analysis, now_ms)
        views.set_setting(
            substrate, LAST_RUN, {"at": now_ms, "seq": here.seq, "grains": here.grains, "errors": here.errors}
        )
        for name in analysis.ran:
            views.set_setting(substrate, WATERMARK + name, {"at": now_ms, "seq": here.seq})
        if views.setting(substrate, FIRST_RUN) is None:
            views.set_setting(substrate, FIRST_RUN, {"at": now_ms})
    return replace(
        base,
        deduped=dropped.total(),
        stored=len(written) - refreshed,
        refreshed=refreshed,
        closed=closed,
        dropped=dict(dropped),
        recommendations=tuple(written),
    )


def _place(
    substrate: Substrate, finding: _Finding, rows: list[LedgerRow], trigger: str, now_ms: int
) -> tuple[str | None, str | None, bool]:
    """(reason it was not stored, address written, whether that is a refresh) for one finding (RUN-2, RUN-3)."""
    ours = [row for row in rows if not row.foreign]
    # one that cannot be read any more can be neither decided nor refreshed, so it must not hold the finding back
    open_ = (row for row in reversed(ours) if row.status in ("pending", "approved"))
    held = next((row for row in open_ if _body(substrate, row)), None)
    occurrence = len(rows) + 1
    if held:
        body = _body(substrate, held)
        torn = not held.creator
        unchanged = _same_change if held.status == "approved" else _same
        if body and not torn and unchanged(body, finding.draft):
            return "open", None, False
        if held.status == "pending" and not torn:
            return None, _propose(substrate, finding, trigger, now_ms, len(rows), refreshes=held), True
        lifecycle.expire(substrate, held, _BECAUSE_TORN if torn else _BECAUSE_CHANGED, now_ms)
        return None, _propose(substrate, finding, trigger, now_ms, occurrence), False
    if cooling_until(ours) > now_ms:
        return "cooling", None, False
    applied = [row.decided_seq for row in ours if row.status == "applied"]
    newest = finding.draft.newest_evidence
    if applied and newest is not None and newest <= max(applied):
        return "applied", None, False
    return None, _propose(substrate, finding, trigger, now_ms, occurrence), False


def _propose(
    substrate: Substrate,
    finding: _Finding,
    trigger: str,
    now_ms: int,
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
        now_ms=now_ms,
        since=refreshes.since if refreshes else now_ms,
        refreshes=refreshes.address if refreshes else None,
        occurrence=occurrence,
    )
    put = substrate.supersede(refreshes.address, grain) if refreshes else substrate.put(grain)
    if not put.new:
        raise LoopError("LOP-E001", "the very bytes of this recommendation are already here", "run it again")
    if refreshes:
        lifecycle.record(substrate, refreshes.address)
    creator = f"{'engine' if manifest.origin == 'builtin' else 'command'}:{manifest.id}"
    audit.write(
        substrate,
        put.address,
        previous=None,
        to_status="pending",
        actor=creator,
        observer="system",
        because=_BECAUSE_REFRESHED if refreshes else _BECAUSE_PROPOSED,
        now_ms=now_ms,
        notes={"creator": creator, "trigger": trigger, "source": manifest.origin},
    )
    lifecycle.record(substrate, put.address)
    return put.address


def _close(substrate: Substrate, analysis: _Analysis, now_ms: int) -> int:
    """Expire open recommendations of analyzers that ran and no longer find them (RUN-4, RUN-6)."""
    found = {finding.identity for finding in analysis.findings}
    closed = 0
    for row in views.ledger(substrate, ("pending", "approved")):
        judged = row.analyzer in analysis.ran and row.created_at <= now_ms
        # one that cannot be read is left as it is: `verify` names it, and nobody can decide about it
        if judged and row.identity not in found and not row.foreign and _body(substrate, row):
            lifecycle.expire(substrate, row, _BECAUSE_GONE, now_ms)
            closed += 1
    return closed


def _body(substrate: Substrate, row: LedgerRow) -> Recommendation | None:
    """The recommendation of a row, or None when its bytes cannot be read any more."""
    try:
        grain = substrate.get(row.address)
        return read_recommendation(grain) if grain else None
    except DejaError:
        return None


def _same_change(body: Recommendation, draft: Draft) -> bool:
    """Whether an apply would do what the draft asks for. A confidence that was counted anew is no other change.

    An approval is about the change: one more call, failed or not, must not take it back.
    """
    return [_without_confidence(op) for op in body.operations] == [
        _without_confidence(op) for op in draft.operations
    ]


def _without_confidence(operation: Operation) -> dict[str, Any]:
    plain = to_plain(operation)
    if isinstance(plain.get("fields"), dict):
        plain["fields"] = {name: value for name, value in plain["fields"].items() if name != "confidence"}
    return plain


def _counted(args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments without the example: which of several failures is shown changes nothing about the finding."""
    return {name: value for name, value in args.items() if name != "example"}


def _same(body: Recommendation, draft: Draft) -> bool:
    """Whether a stored recommendation already says what the draft says."""
    return (
        body.evidence == draft.evidence
        and body.evidence_total == draft.evidence_total
        and body.severity == draft.severity
        and body.summary.template_id == draft.template_id
        and _counted(body.summary.args) == _counted(draft.args)
        and [to_plain(op) for op in body.operations] == [to_plain(op) for op in draft.operations]
    )
