# SPDX-License-Identifier: Apache-2.0
"""A namespace holds grains that are older than the host wants to keep them.

Signal: live grains of every user type (``grain_type`` narrows to one) created before now less ``max_age_days``.
Harm: data outlives the reason for which it was kept.
Fires: only once it is enabled and ``max_age_days`` says an age. For each namespace a flag with the count, the oldest age
and a query, which changes nothing (D19). Beside the flags one single proposal to forget, the only one that is open: the
oldest grains of the namespace that holds the oldest, at most 20 and at most ``max_grains``, one operation each, so that a
reviewer can page through them. The rest comes with the run after the apply; erasing a whole subject or namespace is no
proposal at all.
Stays quiet: a grain of exactly that age; reserved namespaces; an age of 0; while the proposal was rejected, the next
namespace has its turn.
Hostile text: no grain text is in a finding, only the name of the namespace, cleaned.
Apply class: never automatic; it destroys, so it needs an earlier approval, admin and the flag.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from deja_tui.engine import cal_writer
from deja_tui.engine.analyzer import DAY_MS, Context, Manifest, Param
from deja_tui.engine.draft import MAX_EVIDENCE, Draft
from deja_tui.engine.faults import LoopError
from deja_tui.engine.identity import identity
from deja_tui.engine.ledger import cooling_until
from deja_tui.engine.objects import Activation
from deja_tui.engine.operations import Forget
from deja_tui.engine.substrate import Overdue
from deja_tui.engine.views import USER_TYPES

ACTION: Final = "expire"
FLAG: Final = "flag"
AT_ONCE: Final = 20


class RetentionSweep:
    """``loop.retention_sweep/1``: spec loop-engine §4.12, D19."""

    manifest = Manifest(
        id="loop.retention_sweep/1",
        title="Retention",
        description="grains older than the declared age",
        tier="T0",
        params=(
            Param("max_age_days", "int", 0, 0, 36_500, "age in days from which a grain is overdue; 0: never"),
            Param("grain_type", "str", "", 0, 32, "only this type; empty: every user type"),
            Param("max_grains", "int", 500, 1, 5_000, "most grains one proposal names, never more than 20"),
        ),
        default_on=False,
    )

    def analyze(self, ctx: Context) -> Iterable[Draft]:
        overdue = _overdue(ctx)
        chosen = _next(ctx, overdue)
        if chosen:
            yield _forgets(ctx, chosen)
        yield from (_flag(ctx, found) for found in overdue)

    def probe(self, ctx: Context) -> Activation:
        if not ctx.params["max_age_days"]:
            hint = "deja loop set retention_sweep.max_age_days=DAYS --because WHY"
            return Activation("below_threshold", 0, 1, "days of a declared age", hint)
        count = sum(found.total for found in _overdue(ctx))
        return Activation("active" if count else "quiet", count, 1, "grains past the declared age")


def _overdue(ctx: Context) -> list[Overdue]:
    """Namespaces with overdue grains. Raises LOP-E031 for a type that there is not."""
    wanted = str(ctx.params["grain_type"])
    if wanted and wanted not in USER_TYPES:
        raise LoopError("LOP-E031", "parameter grain_type must be empty or one of " + ", ".join(USER_TYPES))
    days = int(ctx.params["max_age_days"])
    if not days:
        return []
    found = ctx.read.overdue(ctx.namespaces, _types(ctx), ctx.now_ms - days * DAY_MS, MAX_EVIDENCE)
    ctx.spend(sum(len(one.oldest) for one in found))
    return found


def _types(ctx: Context) -> Sequence[str]:
    wanted = str(ctx.params["grain_type"])
    return (wanted,) if wanted else USER_TYPES


def _next(ctx: Context, overdue: Sequence[Overdue]) -> Overdue | None:
    """The namespace whose oldest are proposed: the one that is open already, else the one that holds the oldest."""
    still = [found for found in overdue if ctx.open_for(_target(found), ACTION)]
    ready = still or [found for found in overdue if not _cooling(ctx, found)]
    return min(ready, key=lambda found: (found.oldest[0].created_at, found.namespace), default=None)


def _cooling(ctx: Context, found: Overdue) -> bool:
    rows = ctx.books.of(identity(ctx.family, _target(found), ACTION)) if ctx.books else []
    return cooling_until(rows) > ctx.now_ms


def _target(found: Overdue) -> str:
    return f"entity:{found.namespace}/retention"


def _forgets(ctx: Context, found: Overdue) -> Draft:
    chosen = found.oldest[: min(AT_ONCE, int(ctx.params["max_grains"]))]
    return Draft(
        target_ref=_target(found),
        action=ACTION,
        template_id="retention.overdue",
        args={
            "namespace": found.namespace,
            "count": len(chosen),
            "max_age_days": ctx.params["max_age_days"],
            "oldest_days": _days(ctx, found),
            "remaining": found.total - len(chosen),
        },
        severity="low",
        operations=tuple(Forget(grain.address) for grain in chosen),
        evidence=tuple(grain.address for grain in chosen),
        evidence_total=len(chosen),
        newest_evidence=None,
        evidence_query=_query(ctx, found),
        remaining=found.total - len(chosen),
    )


def _flag(ctx: Context, found: Overdue) -> Draft:
    told = {
        "namespace": found.namespace,
        "count": found.total,
        "max_age_days": ctx.params["max_age_days"],
        "oldest_days": _days(ctx, found),
    }
    return Draft(
        target_ref=_target(found),
        action=FLAG,
        template_id="retention.waiting",
        args=told,
        severity="info",
        operations=(),
        data={**told, "grain_type": str(ctx.params["grain_type"])},
        evidence=tuple(grain.address for grain in found.oldest),
        evidence_total=found.total,
        newest_evidence=None,
        evidence_query=_query(ctx, found),
        importance=0.3,
    )


def _days(ctx: Context, found: Overdue) -> int:
    return (ctx.now_ms - found.oldest[0].created_at) // DAY_MS


def _query(ctx: Context, found: Overdue) -> str | None:
    """What is overdue there, newest first as the language has it."""
    kinds = _types(ctx)
    before = ctx.now_ms - int(ctx.params["max_age_days"]) * DAY_MS
    one = "consensuses" if kinds[0] == "consensus" else f"{kinds[0]}s"
    kind = one if len(kinds) == 1 else "grains"
    return cal_writer.recall(kind, {"namespace": found.namespace}, until_ms=before - 1)
