# SPDX-License-Identifier: Apache-2.0
"""Contexts do not fit their budget.

Signal: contexts that were put together under a budget in the last 30 days, and in how many something was left out.
Harm: what was left out did not reach the agent, and nobody sees it.
Fires: at least min_samples contexts, and at least min_overflow_ratio of them left something out. One finding a memory.
Stays quiet: fewer contexts; contexts older than the window, because a budget that was raised is no finding any more.
Hostile text: none; there are only counts.
Apply class: never automatic, there is nothing to apply: approving acknowledges.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from deja_tui.engine.analyzer import DAY_MS, Context, Manifest, Param
from deja_tui.engine.draft import COUNTED_IN, Draft
from deja_tui.engine.objects import Activation

ACTION: Final = "flag"
TARGET: Final = "entity:budget/assembly"
WINDOW_DAYS: Final = 30


class BudgetPressure:
    """``loop.budget_pressure/1``: spec loop-engine §4.10."""

    manifest = Manifest(
        id="loop.budget_pressure/1",
        title="Budget pressure",
        description="contexts that often have to leave something out",
        tier="T0",
        params=(
            Param("min_samples", "int", 20, 1, 10_000_000, "fewest contexts put together"),
            Param("min_overflow_ratio", "float", 0.5, 0.0, 1.0, "smallest share that left something out"),
        ),
        requires=("telemetry",),
    )

    def analyze(self, ctx: Context) -> Iterable[Draft]:
        samples, overflows = _counted(ctx)
        if _fires(ctx.params, samples, overflows):
            yield _draft(samples, overflows)

    def probe(self, ctx: Context) -> Activation:
        samples, overflows = _counted(ctx)
        need = int(ctx.params["min_samples"])
        if _fires(ctx.params, samples, overflows):
            return Activation("active", overflows, 1, "contexts that left something out")
        state = "quiet" if samples >= need else "below_threshold"
        return Activation(state, samples, need, f"contexts in the last {WINDOW_DAYS} days")


def _counted(ctx: Context) -> tuple[int, int]:
    if ctx.telemetry is None:
        return 0, 0
    found = ctx.telemetry.contexts(ctx.now_ms - WINDOW_DAYS * DAY_MS, ctx.now_ms + 1)
    return int(found.samples), int(found.overflows)


def _fires(params: Any, samples: int, overflows: int) -> bool:
    enough = samples >= params["min_samples"] and overflows > 0
    return bool(enough and overflows / samples >= params["min_overflow_ratio"])


def _draft(samples: int, overflows: int) -> Draft:
    args = {
        "samples": samples,
        "overflow": overflows,
        "overflow_rate": int(overflows * 100 / samples + 0.5),
    }
    return Draft(
        target_ref=TARGET,
        action=ACTION,
        template_id="budget.pressure",
        args=args,
        severity="medium",
        operations=(),
        evidence=(),
        evidence_total=0,
        newest_evidence=None,
        data={**args, "window_days": WINDOW_DAYS, COUNTED_IN: "telemetry"},
    )
