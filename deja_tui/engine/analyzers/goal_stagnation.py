# SPDX-License-Identifier: Apache-2.0
"""A goal stays active and nothing moves.

Signal: live goals in the state active, how long their chain was not touched, and their progress.
Harm: a goal that nobody pursues keeps steering what the agent does.
Fires: state is exactly ``active``, the last version is at least min_age_days old, and progress ≤ max_progress. A goal
without a progress is told as unknown: nobody said that it moved, and nobody said that it did not.
Stays quiet: any other state; a version written since; a time of creation after now. Off unless it is enabled.
Hostile text: subject or description is shown cleaned and cut; nothing is written.
Apply class: never automatic, there is nothing to apply: approving acknowledges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from deja_tui.engine.analyzer import DAY_MS, Context, Manifest, Param
from deja_tui.engine.analyzers.skill_stall import number
from deja_tui.engine.draft import Draft
from deja_tui.engine.objects import Activation
from deja_tui.engine.substrate import StoredGrain

ACTION: Final = "flag"
UNKNOWN: Final = "unknown"
_SHOWN: Final = 120
_LONGEST_CHAIN: Final = 10_000
_CITED: Final = 5


class GoalStagnation:
    """``loop.goal_stagnation/1``: spec loop-engine §4.7."""

    manifest = Manifest(
        id="loop.goal_stagnation/1",
        title="Stagnant goals",
        description="active goals that nobody touched for long",
        tier="T0",
        params=(
            Param("max_progress", "float", 0.1, 0.0, 1.0, "highest progress that is a standstill"),
            Param("min_age_days", "int", 30, 1, 3_650, "days since the last version"),
        ),
        default_on=False,
    )

    def analyze(self, ctx: Context) -> Iterable[Draft]:
        for goal in _active(ctx):
            progress = number(goal.get("progress"))
            # the head is dated by its writer: only a chain as old as its head is looked at further
            if not _old(ctx, goal.created_at) or (progress or 0) > ctx.params["max_progress"]:
                continue
            versions = ctx.read.chain(goal, _LONGEST_CHAIN)
            touched = max(version.created_at for version in versions)
            if _old(ctx, touched):
                yield _draft(ctx, versions, progress, touched)

    def probe(self, ctx: Context) -> Activation:
        goals = list(_active(ctx))
        old = sum(_old(ctx, goal.created_at) for goal in goals)
        if any(True for _ in self.analyze(ctx)):
            return Activation("active", old, 1, "old active goals")
        days = int(ctx.params["min_age_days"])
        if old:
            return Activation("quiet", old, 1, f"active goals untouched for {days} days")
        oldest = min((goal.created_at for goal in goals), default=ctx.now_ms)
        age = max(0, ctx.now_ms - oldest) // DAY_MS
        return Activation("below_threshold", age, days, "days an active goal went untouched")


def _active(ctx: Context) -> Iterator[StoredGrain]:
    for goal in ctx.read.live_grains("goal", ctx.namespaces):
        ctx.spend()
        state = goal.get("goal_state")
        if (goal.get("state") if state is None else state) == "active":
            yield goal


def _old(ctx: Context, at: int) -> bool:
    return at <= ctx.now_ms - int(ctx.params["min_age_days"]) * DAY_MS


def _label(goal: StoredGrain) -> str:
    told = (goal.get("subject"), goal.get("description"))
    return next((text for text in told if isinstance(text, str) and text.strip()), goal.address[:12])


def _draft(ctx: Context, versions: list[StoredGrain], progress: float | None, touched: int) -> Draft:
    goal, root, label = versions[0], versions[-1], _label(versions[0])
    args: dict[str, Any] = {
        "goal": label,
        "age_days": (ctx.now_ms - touched) // DAY_MS,
        "progress": UNKNOWN if progress is None else round(progress, 2),
    }
    return Draft(
        # the root of the chain stays when subject or description is written anew
        target_ref=f"entity:{goal.namespace}/goals/{root.address}",
        action=ACTION,
        template_id="goal.stagnation",
        args=args,
        severity="low",
        operations=(),
        evidence=tuple(version.address for version in versions[:_CITED]),
        evidence_total=min(len(versions), _CITED),
        newest_evidence=None,
        data={**args, "goal": label[:_SHOWN], "touched_at": touched, "versions": len(versions)},
    )
