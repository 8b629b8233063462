# SPDX-License-Identifier: Apache-2.0
"""A fact or note is past the end that its writer declared.

Signal: live facts and observations with a ``valid_to`` before now less ``grace_days``; ISO-8601 text and numbers alike.
Harm: recall returns what was never meant to hold any more.
Fires: each such grain, one finding. More than 90 whole days past is medium, less is low. The default change is to forget
it, which erases and cannot be undone: it needs its own approval, admin and the flag (D19), and the recommendation says so.
Beside it stands a change that erases nothing (spec §4.5): a grain in its place that says it is expired. Decisions are
silent about a choice between the two, and D20 lets the approval say which one an apply executes: the gates are those of the
change that was chosen, so the milder one is open to a reviewer who may not destroy.
Stays quiet: an end that is now or later; no declared end; what was superseded; what already says that it is expired.
Hostile text: subject, relation and value are shown cleaned; the milder change takes over the fields as they are.
Apply class: never automatic.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from deja_tui.engine.analyzer import DAY_MS, Context, Manifest, Param
from deja_tui.engine.draft import Draft
from deja_tui.engine.fact_drafts import carried
from deja_tui.engine.fact_views import EXPIRED, EXPIRY_MARK, moment, note_text, says_expired
from deja_tui.engine.objects import Activation
from deja_tui.engine.operations import MAX_BYTES, Alternative, Forget, Operation, Supersede, size
from deja_tui.engine.substrate import StoredGrain

ACTION: Final = "expire"
_REASON: Final = {EXPIRY_MARK: EXPIRED, "invalidation_reason": "it is past its declared end"}
_MEDIUM_DAYS: Final = 90


class Staleness:
    """``loop.staleness/1``: spec loop-engine §4.5."""

    manifest = Manifest(
        id="loop.staleness/1",
        title="Expired",
        description="what is past the end its writer declared",
        tier="T0",
        params=(Param("grace_days", "int", 0, 0, 3_650, "days that an end may have passed unnoticed"),),
    )

    def analyze(self, ctx: Context) -> Iterable[Draft]:
        if ctx.watermark:
            ctx.looked_in_part()
        for grain in _ended(ctx, ctx.watermark):
            yield _draft(grain, ctx.now_ms)

    def probe(self, ctx: Context) -> Activation:
        found = sum(1 for _ in _ended(ctx, 0))
        return Activation("active" if found else "quiet", found, 1, "grains past their declared end")


def _ended(ctx: Context, after: int) -> Iterable[StoredGrain]:
    grace = int(ctx.params["grace_days"]) * DAY_MS
    for grain in ctx.read.ended(ctx.namespaces, ctx.now_ms - grace, after, ctx.looked_at - grace):
        ctx.spend()
        if not says_expired(grain):
            yield grain


def _draft(grain: StoredGrain, now_ms: int) -> Draft:
    days = (now_ms - (moment(grain.get("valid_to")) or 0)) // DAY_MS
    erase = Alternative("forget it: erased, no undo", (Forget(grain.address),))
    keep = _kept(grain)
    return Draft(
        target_ref=f"grain:{grain.address}",
        action=ACTION,
        template_id="staleness.expired",
        args={
            "subject": _told(grain, "subject") or grain.address[:12],
            "relation": _told(grain, "relation") or grain.type,
            "object": _told(grain, "object") or note_text(grain),
            "age_days": days,
        },
        severity="medium" if days > _MEDIUM_DAYS else "low",
        operations=erase.operations,
        alternatives=(erase, Alternative("keep it, marked as expired", keep)) if keep else (),
        evidence=(grain.address,),
        evidence_total=1,
        newest_evidence=None,
    )


def _told(grain: StoredGrain, name: str) -> str:
    value = grain.get(name)
    return value if isinstance(value, str) else ""


def _kept(grain: StoredGrain) -> tuple[Operation, ...]:
    """The change that erases nothing; () where the fields cannot be written again, or do not fit a proposal."""
    fields = carried(grain)
    if fields is None:
        return ()
    operations = (Supersede(grain.address, grain.type, grain.namespace, {**fields, **_REASON}),)
    return operations if size(operations) + size([Forget(grain.address)]) <= MAX_BYTES else ()
