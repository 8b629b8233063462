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
* RUN-7  a gate that is not met costs two counts and nothing else; a gate that cannot be read is refused (LOP-E034).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from deja_tui.engine import config, looking, outcomes, placing, views
from deja_tui.engine.analyzer import Analyzer
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.engine.config import AnalyzerConfig
from deja_tui.engine.faults import LoopError
from deja_tui.engine.looking import WATERMARK, WORK_BUDGET, Analysis, Looking
from deja_tui.engine.objects import Activation, RunOutcome
from deja_tui.engine.outcomes import Outcome
from deja_tui.engine.placing import MAX_STORED, Placing
from deja_tui.engine.policy import Policy
from deja_tui.engine.substrate import Position, Substrate
from deja_tui.engine.templates import render

LAST_RUN: Final = "loop.last_run"
FIRST_RUN: Final = "loop.first_run"
FIRST_FOUND: Final = "loop.first_recommendation"
__all__ = ["FIRST_FOUND", "FIRST_RUN", "LAST_RUN", "WATERMARK", "AnalyzerConfig", "RunOptions", "gate", "run"]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """One run. Gates are OR-composed: with several, any that is met opens; with none, the run goes ahead.

    Args:
        namespaces: only these; such a run closes nothing and moves no watermark. only: only these analyzers, likewise.
        dry_run: find and tell, write nothing. full: look at everything again, whatever was looked at before.
        min_new, min_new_errors, if_stale_ms: gates, whole numbers of 0 or more.
        config: what the caller's flags say of analyzers, above the policy and the file. policy: the host's.
        analyzers: further ones, besides the built-in ones. probe: ask those that found nothing why.
        work_budget: grains one analyzer may look at. max_stored: findings one analyzer may add to the queue.
    """

    trigger: str = "user:local"
    namespaces: tuple[str, ...] | None = None
    only: tuple[str, ...] = ()
    dry_run: bool = False
    min_new: int | None = None
    min_new_errors: int | None = None
    if_stale_ms: int | None = None
    config: Mapping[str, AnalyzerConfig] = field(default_factory=dict)
    analyzers: tuple[Analyzer, ...] = ()
    policy: Policy | None = None
    full: bool = False
    probe: bool = False
    work_budget: int = WORK_BUDGET
    max_stored: int = MAX_STORED

    @property
    def whole(self) -> bool:
        """Whether the run looks at all that there is, so that it may close findings and move watermarks (RUN-5)."""
        return not self.only and self.namespaces is None and not self.dry_run


def run(substrate: Substrate, options: RunOptions, now_ms: int) -> RunOutcome:
    """One pass of the Deja Loop. Raises LOP-E033 for an unknown analyzer in ``only``, LOP-E034 for a gate that is no
    number; what goes wrong in an analyzer is reported."""
    analyzers = (*ANALYZERS, *options.analyzers)
    options = replace(options, only=_chosen(options.only, analyzers))
    gated = gate(substrate, options, now_ms)
    if gated.outcome == "skipped":
        return gated
    mark = _mark(substrate, now_ms)
    measured = outcomes.measure(substrate, now_ms)
    analysis = looking.look(substrate, analyzers, _looking(options, measured, now_ms))
    if options.probe:
        looking.probe(analysis)
    base = replace(
        gated,
        proposed=len(analysis.findings),
        analyzers_run=tuple(analysis.ran),
        analyzers_skipped=tuple(analysis.skipped),
        quiet={} if analysis.findings else _quiet(analysis),
        activations=dict(analysis.activations),
        measured=len(measured),
    )
    if options.dry_run:
        lines = tuple(render(f.draft.template_id, f.draft.args) for f in analysis.findings)
        return replace(base, drafts=lines)
    with views.atomic(substrate):
        return _store(substrate, analysis, base, options, measured, mark)


@dataclass(frozen=True, slots=True)
class _Mark:
    """Where the memory stood when a run began to look: what arrives while it looks is for the next one."""

    at: int
    here: Position
    moves: int
    arrived: int

    def of(self, seq: int, way: str) -> dict[str, int | str]:
        """The watermark of one analyzer that has come to ``seq``."""
        return {"at": self.at, "seq": seq, "moves": self.moves, "arrived": self.arrived, "how": way}


def _mark(substrate: Substrate, now_ms: int) -> _Mark:
    return _Mark(now_ms, views.position(substrate), views.moves(substrate), views.arrived(substrate))


def _looking(options: RunOptions, measured: Sequence[Outcome], now_ms: int) -> Looking:
    return Looking(
        now_ms,
        namespaces=options.namespaces,
        only=options.only,
        flags=options.config,
        policy=options.policy,
        full=options.full or not options.whole,
        outcomes=measured,
        work_budget=options.work_budget,
    )


def _quiet(analysis: Analysis) -> dict[str, Activation]:
    names = [one.analyzer.manifest.id for one in analysis.quiet]
    return {name: analysis.activations[name] for name in names if name in analysis.activations}


def _store(
    substrate: Substrate,
    analysis: Analysis,
    base: RunOutcome,
    options: RunOptions,
    measured: Sequence[Outcome],
    mark: _Mark,
) -> RunOutcome:
    """Everything a run writes, inside its one act."""
    now_ms = mark.at
    if options.whole:
        outcomes.record(substrate, measured, now_ms)
    how = Placing(options.trigger, now_ms, options.policy, options.max_stored)
    placed = placing.place_all(substrate, analysis, how)
    outcome = placing.told_as(base, placed)
    if not options.whole:
        return outcome
    closed = placing.close(substrate, analysis, now_ms)
    expired = placing.expire_acknowledged(substrate, now_ms)
    _advance(substrate, analysis, placed.cut, mark)
    if placed.written and views.setting(substrate, FIRST_FOUND) is None:
        views.set_setting(substrate, FIRST_FOUND, {"at": now_ms, "grains": mark.here.grains})
    return replace(outcome, closed=closed, expired=expired)


def _advance(substrate: Substrate, analysis: Analysis, cut: set[str], mark: _Mark) -> None:
    """Move the watermarks: the run's own, and that of each analyzer that did what it set out to do (RUN-4, D26)."""
    faults = {name: one.hint for name, one in analysis.activations.items() if one.state == "failed"}
    here = mark.here
    last = {"at": mark.at, "seq": here.seq, "grains": here.grains, "errors": here.errors}
    views.set_setting(substrate, LAST_RUN, {**last, "failed": faults} if faults else last)
    for name in analysis.ran:
        if name not in cut:
            views.set_setting(substrate, WATERMARK + name, mark.of(here.seq, analysis.ways[name]))
    for name, seq in analysis.reached.items():
        views.set_setting(substrate, WATERMARK + name, mark.of(seq, analysis.ways[name]))
    if views.setting(substrate, FIRST_RUN) is None:
        views.set_setting(substrate, FIRST_RUN, {"at": mark.at})


# --- gates -------------------------------------------------------------------------------------------


def gate(substrate: Substrate, options: RunOptions, now_ms: int) -> RunOutcome:
    """Whether a run would go ahead, and what is new since the last one. Reads two counts and writes nothing (RUN-7)."""
    for value in (options.min_new, options.min_new_errors, options.if_stale_ms):
        _check_gate(value)
    here = views.position(substrate)
    last = views.setting(substrate, LAST_RUN) or {}
    # a substrate that counts what is there, not what arrived, counts less after something was forgotten
    new_grains = max(0, here.grains - int(last.get("grains", 0)))
    new_errors = max(0, here.errors - int(last.get("errors", 0)))
    skip = _gate(options, new_grains, new_errors, last.get("at"), now_ms)
    return RunOutcome("skipped" if skip else "ran", skip, new_grains, new_errors)


def _check_gate(value: object) -> None:
    # a gate that cannot be read must not open: the run would go ahead as if none had been asked for
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise LoopError(
            "LOP-E034", "a gate is a whole number of 0 or more", "min_new=20, if_stale_ms=21_600_000"
        )


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
    """The ids that ``only`` names, each by its id, its family or the last part of that. Raises LOP-E033."""
    manifests = [analyzer.manifest for analyzer in analyzers]
    return tuple(config.named(manifests, name).id for name in only)
