# SPDX-License-Identifier: Apache-2.0
"""What was applied is followed by more failures than before.

Signal: the measurements of applied lessons about tools, over equal spans before and after the apply (D23).
Harm: a change that made things worse stays because nobody looks back.
Fires: in the longest span that has a baseline the tool failed more often that way than in the equal span before, at least
three times, and in no smaller a share of its calls.
Stays quiet: fewer or as many failures; no baseline; more failures only because the tool was called more, or was not called
at all in the span before; contradictions, because a new value is a new finding of its own; a recommendation that is no longer applied; one whose undo a person
dismissed, however often it is measured later.
Hostile text: the summary of the original is shown fenced, cleaned and cut; the change is an address.
Apply class: never automatic; applying it carries out the stored inverse of the original.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from deja_tui.engine.analyzer import Context, Manifest
from deja_tui.engine.draft import Draft
from deja_tui.engine.identity import identity
from deja_tui.engine.objects import Activation, Recommendation
from deja_tui.engine.operations import Operation, Revert
from deja_tui.engine.outcomes import TOOL_ERRORS, Outcome
from deja_tui.engine.templates import render
from deja_tui.text import DAY_MS

ACTION: Final = "revert"
LEAST_FAILURES: Final = 3
_SHOWN: Final = 200


class OutcomeReview:
    """``loop.outcome_review/1``: spec loop-engine §4.11 and §12."""

    manifest = Manifest(
        id="loop.outcome_review/1",
        title="Outcome review",
        description="applied lessons after which a tool failed more often",
        tier="T0",
        params=(),
        target_classes=("memory", "query"),
    )

    def analyze(self, ctx: Context) -> Iterable[Draft]:
        worse = [outcome for outcome in _longest(ctx) if _worse(outcome)]
        dismissed = {row.identity for row in ctx.ledger(("rejected",))} if worse else set()
        for outcome in worse:
            original = ctx.read.applied(outcome.recommendation)
            if original is None:
                continue
            target = _target(original)
            if identity(ctx.family, target, ACTION) not in dismissed:
                yield _draft(original, outcome, target)

    def probe(self, ctx: Context) -> Activation:
        measured = list(_longest(ctx))
        worse = sum(map(_worse, measured))
        if worse:
            return Activation("active", worse, 1, "applied lessons with more failures after than before")
        state = "quiet" if measured else "below_threshold"
        return Activation(state, len(measured), 1, "applied lessons measured against a baseline")


def _longest(ctx: Context) -> Iterator[Outcome]:
    """For each applied lesson the measurement of the longest span that has a baseline: it has seen the most."""
    found: dict[str, Outcome] = {}
    for one in (*ctx.read.outcomes(), *ctx.outcomes):
        if one.metric != TOOL_ERRORS or one.before is None:
            continue
        known = found.get(one.recommendation)
        if known is None or known.horizon_ms <= one.horizon_ms:
            found[one.recommendation] = one
    return (found[address] for address in sorted(found))


def _worse(one: Outcome) -> bool:
    """More of them, enough of them, and not just because there were more calls, or any at all."""
    if one.before is None or not one.before_n or one.verdict != "higher" or one.after < LEAST_FAILURES:
        return False
    return one.after * one.before_n >= one.before * one.after_n


def _target(original: Recommendation) -> str:
    """The original's own target with its address: two recommendations on one subject are two findings."""
    base = original.target_ref.rsplit("#", 1)[0]
    return f"{base[:_SHOWN]}#{original.address}"


def _told(original: Recommendation) -> str:
    """Its line, with plain quotes for its fences: it stands in a fence of its own here."""
    line = render(original.summary.template_id, original.summary.args)
    return line.replace("«", "'").replace("»", "'")[:_SHOWN]


def _draft(original: Recommendation, outcome: Outcome, target: str) -> Draft:
    days = outcome.horizon_ms // DAY_MS
    operations: tuple[Operation, ...] = (Revert(original.address),) if original.rollbackable else ()
    return Draft(
        target_ref=target,
        action=ACTION,
        template_id="outcome.worse",
        args={
            "original": _told(original),
            "metric": "failures",
            "before": outcome.before,
            "after": outcome.after,
            "before_calls": outcome.before_n,
            "after_calls": outcome.after_n,
            "span": "1 day" if days == 1 else f"{days} days",
        },
        severity="medium",
        operations=operations,
        evidence=(original.address,),
        evidence_total=1,
        newest_evidence=None,
        data={"revert_of": original.address, "metric": outcome.metric, "horizon_ms": outcome.horizon_ms},
    )
