# SPDX-License-Identifier: Apache-2.0
"""The reading half of a run: which analyzers take part, what each may see, what they found.

* LOOK-1  an analyzer that fails, lacks a capability, is denied, switched off or out of budget costs only its own
  findings, and is told with the reason.
* LOOK-2  nothing here writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from deja_tui import watch
from deja_tui.engine import config, views
from deja_tui.engine.analyzer import Analyzer, Budget, BudgetSpent, Context, Covered, Manifest
from deja_tui.engine.config import AnalyzerConfig, Settled
from deja_tui.engine.draft import Draft, accept
from deja_tui.engine.faults import LoopError
from deja_tui.engine.identity import digest12, identity
from deja_tui.engine.ledger import LONGEST_COOLDOWN_MS, cooling_until
from deja_tui.engine.objects import Activation, SkippedAnalyzer
from deja_tui.engine.policy import Policy, family_of
from deja_tui.engine.reader import Books, Reader
from deja_tui.engine.substrate import Substrate
from deja_tui.errors import DejaError
from deja_tui.text import compact_json

WATERMARK: Final = "loop.watermark."
WORK_BUDGET: Final = 5_000_000  # grains one analyzer may look at in one run (D29)
DENIED: Final = "denied by the host's policy"
DISABLED: Final = "disabled"
BUDGET: Final = "budget"
# what a memory may lack, and how a person provides it
PROVIDED_BY: Final = {
    "telemetry": "--telemetry aggregate counts recalls",
    "forks": "this memory cannot tell forks",
    "embeddings": "not in this version",
}


@dataclass(frozen=True, slots=True)
class Looking:
    """How the analyzers of one pass look: what layers above the file say, and how far they may go."""

    now_ms: int
    namespaces: tuple[str, ...] | None = None
    only: tuple[str, ...] = ()
    flags: Mapping[str, AnalyzerConfig] = field(default_factory=dict)
    policy: Policy | None = None
    full: bool = False
    outcomes: Sequence[Any] = ()
    work_budget: int = WORK_BUDGET


@dataclass(frozen=True, slots=True)
class Finding:
    """A draft within its bounds, with its identity and whose it is."""

    analyzer: Analyzer
    params: Mapping[str, Any]
    draft: Draft
    identity: str
    floor: str


@dataclass(frozen=True, slots=True)
class Ready:
    """An analyzer that may look, with what it may see and how its values came about."""

    analyzer: Analyzer
    context: Context
    settled: Settled


@dataclass(frozen=True, slots=True)
class Analysis:
    """What all analyzers found. ``whole``: those that looked at everything and may therefore close what is gone."""

    findings: list[Finding] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    whole: set[str] = field(default_factory=set)
    reached: dict[str, int] = field(default_factory=dict)  # a spent budget: the arrival position it came to
    ways: dict[str, str] = field(default_factory=dict)  # digest of what each analyzer was told to do
    skipped: list[SkippedAnalyzer] = field(default_factory=list)
    activations: dict[str, Activation] = field(default_factory=dict)
    quiet: list[Ready] = field(default_factory=list)  # looked and found nothing

    def skip(self, analyzer: str, reason: str, activation: Activation | None = None) -> None:
        """Tell that an analyzer, or some of its findings, fell out."""
        self.skipped.append(SkippedAnalyzer(analyzer, reason))
        if activation:
            self.activations[analyzer] = activation


def look(substrate: Substrate, analyzers: Sequence[Analyzer], how: Looking) -> Analysis:
    """Let every analyzer that takes part look at the memory."""
    result = Analysis()
    ready = [one for one in prepare(substrate, analyzers, how, result) if _begin(one, result)]
    for one in watch.each(ready, len(ready), "analyzers", every=1):
        _let_look(one, result)
    return result


def probe(result: Analysis) -> None:
    """Ask those that found nothing why. It may read as much as an analysis, so it is done when somebody wants to know."""
    for one in result.quiet:
        result.activations[one.analyzer.manifest.id] = probed(one)


def probed(one: Ready) -> Activation:
    """What an analyzer says of itself; one that cannot say it has failed."""
    try:
        return one.analyzer.probe(one.context)
    except DejaError as fault:
        return Activation("failed", hint=str(fault))
    except Exception as fault:  # noqa: BLE001 - an analyzer's fault is told as its state
        return Activation("failed", hint=f"LOP-E030 failed: {type(fault).__name__}")


def prepare(
    substrate: Substrate, analyzers: Sequence[Analyzer], how: Looking, result: Analysis
) -> Iterator[Ready]:
    """The analyzers that take part; ``result`` is told of the others (LOOK-1)."""
    reader, books, covered = Reader(substrate), Books(substrate), _covered(substrate)
    rows, since = config.rows(substrate), _Since(substrate, how.now_ms)
    for analyzer in analyzers:
        manifest = analyzer.manifest
        name = manifest.id
        if how.only and name not in how.only:
            continue
        try:
            settled = config.settle(manifest, rows.get(name), how.flags.get(name), how.policy)
        except LoopError as fault:
            result.skip(name, str(fault), Activation("failed", hint=str(fault)))
            continue
        if not settled.enabled:
            reason = DENIED if settled.denied else DISABLED
            result.skip(name, reason, Activation("disabled", hint=settled.enabled_by))
            continue
        lacking = _lacking(substrate, manifest.requires)
        if lacking:
            told = f"{lacking}: {PROVIDED_BY.get(lacking, 'this memory does not offer it')}"
            result.skip(name, f"missing {told}", Activation("missing", unit=lacking, hint=told))
            continue
        way = _way(manifest, settled)
        result.ways[name] = way
        watermark, looked_at = (0, 0) if how.full else since.of(manifest, way)
        context = Context(
            reader,
            settled.params,
            how.now_ms,
            views.user_namespaces(settled.namespaces or how.namespaces),
            manifest.family,
            covered,
            outcomes=how.outcomes,
            telemetry=views.capability(substrate, "telemetry"),
            watermark=watermark,
            looked_at=looked_at,
            books=books,
            budget=Budget(how.work_budget),
        )
        yield Ready(analyzer, context, settled)


def _way(manifest: Manifest, settled: Settled) -> str:
    """A digest of what decides, besides the memory, what an analyzer finds and what of it is stored."""
    told = [manifest.id, dict(settled.params), settled.severity_floor, settled.namespaces]
    return digest12(compact_json(told))


class _Since:
    """From which arrival position on each analyzer has to look, and when it looked last (epoch ms).

    0 and 0, everything, where looking at what is new could miss a finding or leave one open that is gone: it was told
    something else last time; what one of its open recommendations cites has changed; one of its recommendations was
    applied, which may have been a part only of what there is to do; a cooldown of its has ended.
    """

    def __init__(self, substrate: Substrate, now_ms: int) -> None:
        self._substrate = substrate
        self._now_ms = now_ms
        self._disturbed: dict[int, frozenset[str] | None] = {}
        self._cooled: dict[int, frozenset[str]] = {}

    def of(self, manifest: Manifest, way: str) -> tuple[int, int]:
        kept = views.setting(self._substrate, WATERMARK + manifest.id)
        if not isinstance(kept, Mapping) or kept.get("how") != way:
            return 0, 0
        at, seq, moves = (kept.get(name) for name in ("at", "seq", "moves"))
        if not isinstance(at, int) or not isinstance(seq, int) or not isinstance(moves, int):
            return 0, 0
        if at > self._now_ms or self._has_changed(manifest.id, moves) or manifest.family in self._ended(at):
            return 0, 0
        if manifest.family in self._applied(at):
            return 0, 0
        return seq, at

    def _has_changed(self, analyzer: str, moves: int) -> bool:
        if moves not in self._disturbed:
            self._disturbed[moves] = views.disturbed(self._substrate, moves)
        found = self._disturbed[moves]
        return found is None or analyzer in found

    def _applied(self, last_at: int) -> frozenset[str]:
        """Families of which something was applied since ``last_at``."""
        rows = views.ledger(self._substrate, ("applied",))
        return frozenset(family_of(row.analyzer) for row in rows if row.decided_at >= last_at)

    def _ended(self, last_at: int) -> frozenset[str]:
        """Families with a cooldown that ended since ``last_at``."""
        if last_at not in self._cooled:
            self._cooled[last_at] = frozenset(self._cooled_since(last_at))
        return self._cooled[last_at]

    def _cooled_since(self, last_at: int) -> Iterator[str]:
        rows = views.ledger(self._substrate, ("rejected", "rolled_back"))
        recent = [row for row in rows if row.decided_at + LONGEST_COOLDOWN_MS >= last_at and not row.foreign]
        families = {row.identity: family_of(row.analyzer) for row in recent}
        for key, all_rows in views.ledger_by_identity(self._substrate, list(families)).items():
            until = cooling_until([row for row in all_rows if not row.foreign])
            if last_at <= until <= self._now_ms:
                yield families[key]


def _lacking(substrate: Substrate, requires: Sequence[str]) -> str | None:
    return next((name for name in requires if views.capability(substrate, name) is None), None)


def _covered(substrate: Substrate) -> dict[str, Covered]:
    """Identity → up to where its newest apply covers evidence (RUN-3)."""
    covered: dict[str, Covered] = {}
    for row in views.ledger(substrate, ("applied",)):
        if not row.foreign and (row.identity not in covered or row.decided_seq > covered[row.identity].seq):
            covered[row.identity] = Covered(row.decided_seq, row.decided_at)
    return covered


def _begin(one: Ready, result: Analysis) -> bool:
    """Let an analyzer that works outside this process start before the others look; whether it may go on."""
    start = getattr(one.analyzer, "begin", None)
    if start is None:
        return True
    name = one.analyzer.manifest.id
    try:
        start(one.context)
    except BudgetSpent:
        result.skip(name, BUDGET)
        return False
    except DejaError as fault:
        result.skip(name, str(fault), Activation("failed", hint=str(fault)))
        return False
    return True


def _let_look(one: Ready, result: Analysis) -> None:
    name, drafts = one.analyzer.manifest.id, list[Any]()
    budget = one.context.budget
    try:
        drafts.extend(one.analyzer.analyze(one.context))  # what was yielded before a budget ran out stays
    except BudgetSpent:
        result.skip(name, BUDGET)
        if budget and budget.reached is not None:
            result.reached[name] = budget.reached
    except DejaError as fault:
        result.skip(name, str(fault), Activation("failed", hint=str(fault)))
        return
    except Exception as fault:  # noqa: BLE001 - one analyzer's fault is reported and costs only its findings
        told = f"LOP-E030 failed: {type(fault).__name__}"
        result.skip(name, told, Activation("failed", hint=told))
        return
    else:
        result.ran.append(name)
        if budget is None or not budget.partial:
            result.whole.add(name)
        if not drafts:
            result.quiet.append(one)
    _keep_acceptable(one, drafts, result)


def _keep_acceptable(one: Ready, drafts: Sequence[Any], result: Analysis) -> None:
    """Take what can be stored; what cannot costs only itself and is told once a reason, however many there are."""
    manifest = one.analyzer.manifest
    refused: Counter[str] = Counter()
    kept = 0
    for draft in drafts:
        try:
            bounded = accept(draft, manifest.target_classes)
            key = identity(manifest.family, bounded.target_ref, bounded.action)
        except LoopError as fault:
            refused[str(fault)] += 1
        except Exception as fault:  # noqa: BLE001 - a finding of the wrong shape costs only itself
            refused[f"LOP-E011 malformed: {type(fault).__name__}"] += 1
        else:
            kept += 1
            found = Finding(one.analyzer, one.context.params, bounded, key, one.settled.severity_floor)
            result.findings.append(found)
    if kept:
        result.activations[manifest.id] = Activation("active", kept, 1, "findings")
    for reason, count in sorted(refused.items()):
        result.skip(manifest.id, f"{count} {'finding' if count == 1 else 'findings'} dropped: {reason}")
