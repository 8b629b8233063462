# SPDX-License-Identifier: Apache-2.0
"""The loop on a memory, from the first finding to the undo."""

from __future__ import annotations

from typing import Any

from deja_tui.engine import lifecycle, reports, views
from deja_tui.engine.conformance.filling import (
    ANA,
    BEN,
    DAY,
    NOW,
    calls,
    check,
    draft,
    fact,
    go,
    only,
    plant,
    recalled,
    refused,
    statuses,
    there,
)
from deja_tui.engine.substrate import (
    Substrate,
)


@check
def the_whole_story(substrate: Substrate) -> None:
    """From failing calls and two copies to a receipt, an undo that restores recall, quiet, and back again."""
    calls(substrate, "stripe_refund", '{"error":"rate_limited"}', 5)
    calls(substrate, "stripe_refund", '{"ok":true}', 2, error=False, at=NOW - DAY + 7)
    fact(substrate, "acme", "likes", "green tea", NOW - 3 * DAY)
    fact(substrate, "acme", "likes", "Green Tea", NOW - 2 * DAY)
    beginning = recalled(substrate)

    outcome = go(substrate, trigger="user:ana", min_new_errors=3)
    assert (outcome.outcome, outcome.new_grains, outcome.new_error_events) == ("ran", 9, 5)
    assert (outcome.proposed, outcome.stored) == (2, 2)
    faults = [one for one in outcome.analyzers_skipped if one.reason.startswith("LOP-")]
    assert faults == [], "no analyzer fails here"
    rows = reports.queue(substrate, ("pending",))
    assert [(row.severity, row.summary) for row in rows] == [
        ("high", "stripe_refund: 5 of 7 calls failed the same way: «rate_limited»"),
        ("low", "2 copies of one fact: acme · likes · green tea"),
    ]
    assert recalled(substrate) == beginning, "proposing changes nothing that is recalled"
    lesson, copies = (row.address for row in rows)
    detail = reports.show(substrate, lesson, ANA)
    assert len(detail.evidence) == 5
    assert detail.creator == "engine:loop.tool_failure/1"
    assert detail.plan is not None
    assert (detail.plan.adds, detail.plan.undo, detail.plan.refusal) == (1, True, None)

    lifecycle.approve(substrate, lesson, "seen it often", ANA, NOW + 1)
    receipt = lifecycle.apply(substrate, lesson, "write it down", BEN, NOW + 2)
    assert receipt.chain_verified
    written = there(substrate, receipt.results[0])
    assert [written.get(name) for name in ("subject", "relation", "object")] == [
        "stripe_refund", "fails_with", "rate_limited",
    ]  # fmt: skip
    assert written.get("derived_from") == lesson
    between = recalled(substrate)
    lifecycle.approve_and_apply(substrate, copies, "same thing", ANA, NOW + 3)
    assert len(recalled(substrate)) == len(between) - 1
    assert go(substrate, NOW + 4).proposed == 0, "nothing is proposed about what was applied"

    lifecycle.rollback(substrate, copies, "they differ after all", ANA, NOW + 5)
    assert recalled(substrate) == between
    lifecycle.rollback(substrate, lesson, "fixed upstream", ANA, NOW + 6)
    assert recalled(substrate) == beginning
    assert set(statuses(substrate).values()) == {"rolled_back"}
    quiet = go(substrate, NOW + 7)
    assert (quiet.stored, dict(quiet.dropped)) == (0, {"cooling": 2})
    assert go(substrate, NOW + 7 * DAY + 6).stored == 2
    for row in views.ledger(substrate):
        assert reports.chain(substrate, row.address).verified


@check
def more_copies_than_one_proposal_holds(substrate: Substrate) -> None:
    """D9: the first forty now, how many remain is said, the rest with the run after the apply."""
    for n in range(60):
        fact(substrate, "acme", "likes", "tea" if n % 2 else "Tea", NOW - DAY + n)
    go(substrate)
    detail = reports.show(substrate, only(substrate), ANA)
    assert (detail.recommendation.remaining, detail.recommendation.evidence_total) == (19, 60)
    lifecycle.approve_and_apply(substrate, only(substrate), "why", ANA, NOW + 1)
    assert len(recalled(substrate)) == 20
    assert go(substrate, NOW + 2).stored == 1
    lifecycle.approve_and_apply(substrate, only(substrate), "why", ANA, NOW + 3)
    assert len(recalled(substrate)) == 1
    assert go(substrate, NOW + 4).proposed == 0


@check
def a_planted_draft_is_reviewed_like_any_other(substrate: Substrate) -> None:
    """Recommendations and audit grains survive this memory's own way of storing them."""
    cited = fact(substrate, "a", "b", "c")
    args = {"text": "e\u0301 \u202e", "count": 3, "rate": 0.5}
    address = plant(substrate, draft([], [cited], args=args), creator="agent:x")
    detail = reports.show(substrate, address, ANA)
    assert dict(detail.recommendation.summary.args) == {"text": "é \u202e", "count": 3, "rate": 0.5}
    assert (detail.creator, detail.chain.verified, detail.foreign) == ("agent:x", True, False)
    assert lifecycle.approve(substrate, address, "e\u0301" * 500, ANA, NOW).because == "é" * 500


@check
def an_address_that_is_none_is_no_recommendation(substrate: Substrate) -> None:
    """LOP-E040 for whatever a caller passes as an address, two of them included (D15), never an accident."""
    fact(substrate, "a", "b", "c")
    strange: tuple[Any, ...] = (
        None,
        7,
        ["0" * 64, "1" * 64],
        "0" * 64,
        "",
        "xyz",
        "0" * 63,
        "é",
        "0" * 65,
        "' OR 1=1 --",
        next(substrate.scan("fact")).address,
    )
    for address in strange:
        with refused("LOP-E040"):
            reports.show(substrate, address, ANA)
        with refused("LOP-E040"):
            lifecycle.approve(substrate, address, "why", ANA, NOW)
