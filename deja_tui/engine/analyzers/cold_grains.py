# SPDX-License-Identifier: Apache-2.0
"""Facts that nobody asks for.

Signal: live facts of an age, and how often each was recalled or delivered while telemetry was watching.
Harm: what nobody reads is not missed when it is wrong, and it stands in the way of what is read.
Fires: once a namespace, when telemetry has watched for min_age_days and facts of that age were read at most max_recalls
times in all of it. The oldest are listed, the rest counted.
Stays quiet: telemetry is younger than that, because "unread" would only mean that nobody looked; facts that an apply
wrote, because a fix must not become the next finding; documents, which are read by path; anything younger.
Hostile text: the namespace's name is shown cleaned; nothing is written.
Apply class: never automatic, there is nothing to apply: approving acknowledges.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from deja_tui.engine.activity_views import ColdFacts
from deja_tui.engine.analyzer import DAY_MS, Context, Manifest, Param
from deja_tui.engine.draft import Draft
from deja_tui.engine.identity import digest12
from deja_tui.engine.objects import Activation
from deja_tui.engine.telemetry import TelemetryReader

ACTION: Final = "flag"
LISTED: Final = 20
_WATCH: Final = "aggregate"


class ColdGrains:
    """``loop.cold_grains/1``: spec loop-engine §4.8."""

    manifest = Manifest(
        id="loop.cold_grains/1",
        title="Unread facts",
        description="facts that nobody recalled for long",
        tier="T0",
        params=(
            Param("min_age_days", "int", 30, 0, 3_650, "days of age, and of watching"),
            Param("max_recalls", "int", 0, 0, 1_000_000, "most recalls that still count as unread"),
        ),
        requires=("telemetry",),
    )

    def analyze(self, ctx: Context) -> Iterable[Draft]:
        if ctx.watermark and ctx.looked_at // DAY_MS == ctx.now_ms // DAY_MS:
            ctx.looked_in_part()  # what takes weeks is looked at once a day
            return
        if _watched_ms(ctx) < _need_ms(ctx):
            ctx.looked_in_part()  # of a sidecar that was begun anew nothing can be said, not even that it is over
            return
        warm = _warm(ctx) | ctx.read.never_recalled_by_design(ctx.namespaces)
        for cold in ctx.read.cold_facts(ctx.now_ms - _need_ms(ctx), warm, ctx.namespaces, LISTED):
            yield _draft(ctx, cold)

    def probe(self, ctx: Context) -> Activation:
        days, need = max(0, _watched_ms(ctx)) // DAY_MS, int(ctx.params["min_age_days"])
        if _watched_ms(ctx) < _need_ms(ctx):
            until = ctx.now_ms + _need_ms(ctx) - max(0, _watched_ms(ctx))
            return Activation("watching", days, need, "days of telemetry", until=until)
        total = sum(draft.evidence_total for draft in self.analyze(replace(ctx, watermark=0)))
        return Activation("active" if total else "quiet", total, 1, f"facts unread for {need} days")


def _need_ms(ctx: Context) -> int:
    return int(ctx.params["min_age_days"]) * DAY_MS


def _watched_ms(ctx: Context) -> int:
    """For how long recalls were counted; -1: they are not."""
    since = ctx.telemetry.watching().get(_WATCH) if ctx.telemetry is not None else None
    return -1 if since is None else ctx.now_ms - int(since)


def _warm(ctx: Context) -> frozenset[bytes]:
    """Raw addresses of what was read more often than max_recalls. What was delivered to an agent was read, too."""
    most = int(ctx.params["max_recalls"])
    reader: TelemetryReader = ctx.telemetry
    delivered = reader.deliveries()
    recalled = reader.access_of(delivered) if most else {}
    often = (
        address
        for address, told in delivered.items()
        if told.count + (recalled[address].count if address in recalled else 0) > most
    )
    return frozenset(reader.recalled_more_than(most)).union(map(bytes.fromhex, often))


def _draft(ctx: Context, cold: ColdFacts) -> Draft:
    most, every = int(ctx.params["max_recalls"]), int(ctx.params["min_age_days"])
    days = _watched_ms(ctx) // DAY_MS
    args: dict[str, Any] = {
        "count": cold.total,
        "namespace": cold.namespace,
        # in whole steps: one more day of the same is no other finding
        "watched_days": days - days % every if every else days,
    }
    if most:
        args["max_recalls"] = most
    return Draft(
        target_ref=f"entity:{cold.namespace}/cold#{digest12(cold.namespace)}",
        action=ACTION,
        template_id="cold.seldom" if most else "cold.one" if cold.total == 1 else "cold.grain",
        args=args,
        severity="low",
        operations=(),
        evidence=tuple(fact.address for fact in cold.oldest),
        evidence_total=cold.total,
        newest_evidence=None,
        remaining=0,
        data={"count": cold.total, "listed": len(cold.oldest)},
    )
