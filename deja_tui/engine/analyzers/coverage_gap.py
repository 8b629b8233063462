# SPDX-License-Identifier: Apache-2.0
"""A question is asked again and again, and the memory has no answer.

Signal: free-text questions, counted by telemetry under one normal form (case and white space do not count).
Harm: the agent goes on without what it asked for, or works it out anew each time.
Fires: asked ≥ min_runs times and found nothing in at least min_empty_ratio of them.
Stays quiet: the newest time it was asked it found something; the memory has an answer by now; the question was asked in
the engine's own namespaces. At most 20 at a time, the most asked first; one that is open stays until it is answered.
Evidence: what earlier runs found, where the log was kept; a question that never found anything has no grain to cite, and
its counts stand in the telemetry.
Hostile text: the question is shown fenced, cleaned and cut; nothing is written.
Apply class: never automatic, there is nothing to apply: approving acknowledges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from deja_tui.engine.analyzer import Context, Manifest, Param
from deja_tui.engine.draft import COUNTED_IN, Draft
from deja_tui.engine.identity import digest12
from deja_tui.engine.objects import Activation
from deja_tui.engine.substrate import is_reserved
from deja_tui.engine.telemetry import Asked, Logged

ACTION: Final = "flag"
MOST: Final = 20
_LOOKED_AT: Final = 500
_LOGGED: Final = 20
_CITED: Final = 10
_SHOWN: Final = 200


class CoverageGap:
    """``loop.coverage_gap/1``: spec loop-engine §4.9."""

    manifest = Manifest(
        id="loop.coverage_gap/1",
        title="Unanswered questions",
        description="questions that are asked often and find nothing",
        tier="T0",
        params=(
            Param("min_runs", "int", 3, 1, 1_000_000, "fewest times it was asked"),
            Param("min_empty_ratio", "float", 0.8, 0.0, 1.0, "smallest share of them without an answer"),
        ),
        requires=("telemetry",),
    )

    def analyze(self, ctx: Context) -> Iterable[Draft]:
        told = 0
        often = _often(ctx)
        open_ = ctx.books.open_targets(self.manifest.id) if ctx.books and len(often) > MOST else frozenset()
        for asked in often:
            if (told < MOST or _target(asked) in open_) and _fires(ctx, asked):
                told += 1
                yield _draft(ctx, asked)

    def probe(self, ctx: Context) -> Activation:
        found = [asked for asked in _often(ctx) if _fires(ctx, asked)]
        if found:
            return Activation("active", len(found), 1, "questions without an answer")
        most = max((asked.runs for asked in _asked(ctx, 1)), default=0)
        need = int(ctx.params["min_runs"])
        state = "quiet" if most >= need else "below_threshold"
        return Activation(state, most, need, "times one question was asked")


def _asked(ctx: Context, least: int, ratio: float = 0.0) -> list[Asked]:
    if ctx.telemetry is None:
        return []
    found: Sequence[Asked] = ctx.telemetry.queries(
        least, least_empty_ratio=ratio, namespaces=ctx.namespaces, limit=_LOOKED_AT
    )
    return [one for one in found if not is_reserved(one.namespace)]


def _often(ctx: Context) -> list[Asked]:
    return _asked(ctx, int(ctx.params["min_runs"]), float(ctx.params["min_empty_ratio"]))


def _fires(ctx: Context, asked: Asked) -> bool:
    ctx.spend()
    often = asked.runs >= ctx.params["min_runs"]
    if not often or asked.empties / asked.runs < ctx.params["min_empty_ratio"] or asked.empties == 0:
        return False
    found, empty = asked.last_found, asked.last_empty
    if found is not None and found > (empty if empty is not None else found - 1):
        return False
    # a question that was narrowed to a subject is not answered by what a wider search finds
    return asked.subject is not None or not ctx.read.answers(asked.sample, asked.namespace)


def _target(asked: Asked) -> str:
    return f"entity:{asked.namespace}/coverage#{digest12(asked.namespace, asked.subject or '', asked.text)}"


def _draft(ctx: Context, asked: Asked) -> Draft:
    log: Sequence[Logged] = ctx.telemetry.asked(asked.key, _LOGGED)
    once_found = dict.fromkeys(address for row in log for address in row.top)
    cited = [address for address in list(once_found)[:_CITED] if ctx.read.get(address) is not None]
    data: dict[str, Any] = {
        "query": asked.sample[:_SHOWN],
        "run_count": asked.runs,
        "empty_count": asked.empties,
        "first_asked_at": asked.first,
        "last_asked_at": asked.last,
        COUNTED_IN: "telemetry",
    }
    if log:
        data["log"] = [{"at": row.at, "results": row.results} for row in log]
    return Draft(
        target_ref=_target(asked),
        action=ACTION,
        template_id="coverage.gap",
        args={
            "query": asked.sample,
            "count": asked.runs,
            "empty": asked.empties,
            "empty_rate": int(asked.empties * 100 / asked.runs + 0.5),
        },
        severity="medium",
        operations=(),
        evidence=tuple(cited),
        evidence_total=len(cited),
        newest_evidence=None,
        data=data,
    )
