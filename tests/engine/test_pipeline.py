# SPDX-License-Identifier: Apache-2.0
"""A run: gates, one open recommendation a finding, refresh, closing, cooldown, and faults that cost only themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.engine import RunOptions, lifecycle, reports, run, views
from deja_tui.engine.analyzer import Context, Manifest, Param
from deja_tui.engine.draft import Draft
from deja_tui.engine.identity import digest12, identity, target_class
from deja_tui.engine.ledger import cooling_until
from deja_tui.engine.objects import Activation, RunOutcome
from deja_tui.engine.operations import Add, Retire
from deja_tui.engine.pipeline import AnalyzerConfig
from deja_tui.engine.substrate import LedgerRow, NewGrain, Put, Substrate
from deja_tui.engine.wire import read_recommendation
from deja_tui.errors import ValidationError
from deja_tui.reference import BareSubstrate, ReferenceSubstrate
from tests.engine.helpers import (
    ANA,
    calls,
    crash_on,
    draft,
    everything,
    fact,
    go,
    import_grain,
    only,
    plant,
    refusal_of,
    refused,
    statuses,
)
from tests.support import DAY, NOW

BOTH = ["loop.tool_failure/1", "loop.duplicate_sweep/1"]
FAKE = "test.fake/2"


def twins(substrate: Substrate, *, subject: str = "acme", at: int = NOW - DAY) -> None:
    """Two copies of one fact."""
    fact(substrate, subject, "likes", "tea", at)
    fact(substrate, subject, "likes", "Tea", at + 1)


def both() -> ReferenceSubstrate:
    """A memory with one finding of each analyzer."""
    substrate = ReferenceSubstrate()
    twins(substrate)
    calls(substrate, "x", "boom", 5)
    return substrate


def body(substrate: Substrate, address: str) -> Any:
    grain = substrate.get(address)
    assert grain is not None
    return read_recommendation(grain)


def ran(outcome: RunOutcome, *names: str) -> list[str]:
    """Of the two that these tests feed, the fake one and ``names``: those that ran, in the order of the run."""
    return [name for name in outcome.analyzers_run if name in (*BOTH, FAKE, *names)]


def skipped(outcome: RunOutcome, *names: str) -> list[tuple[str, str]]:
    """Of the same ones: those that fell out, with the reason."""
    return [(one.id, one.reason) for one in outcome.analyzers_skipped if one.id in (*BOTH, FAKE, *names)]


# --- gates -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "skip"),
    [
        ({}, None),
        ({"min_new": 3}, None),
        ({"min_new": 4}, "min_new_not_met"),
        ({"min_new_errors": 2}, None),
        ({"min_new_errors": 3}, "min_new_not_met"),
        ({"if_stale_ms": DAY}, None),
        ({"if_stale_ms": DAY + 1}, "not_stale"),
        ({"min_new": 4, "min_new_errors": 3}, "min_new_not_met"),
        ({"min_new": 4, "min_new_errors": 2}, None),
        ({"min_new": 4, "if_stale_ms": DAY + 1}, "min_new_not_met"),
        ({"min_new": 4, "if_stale_ms": DAY}, None),
        ({"min_new": 3, "min_new_errors": 3, "if_stale_ms": DAY + 1}, None),
        ({"min_new": 0}, None),
    ],
)
def test_gates_are_or_composed(options: dict[str, Any], skip: str | None) -> None:
    """Loop-engine §3.1: any gate that is met opens; the counts are of arrivals since the last run."""
    substrate = ReferenceSubstrate()
    fact(substrate, "old", "is", "old")
    go(substrate)
    calls(substrate, "x", "boom", 2, at=NOW - 40 * DAY)  # backdated: what counts is that it arrived
    substrate.put(NewGrain("skill", "shared", NOW, {"name": "z"}))
    before = everything(substrate)
    outcome = go(substrate, NOW + DAY, **options)
    assert (outcome.outcome, outcome.skip_reason) == (("skipped", skip) if skip else ("ran", None))
    assert (outcome.new_grains, outcome.new_error_events) == (3, 2)
    assert (everything(substrate) == before) == bool(skip)


def test_a_memory_that_never_ran_is_stale() -> None:
    """A first run is never held back by age."""
    assert go(ReferenceSubstrate(), if_stale_ms=10**15).outcome == "ran"


def test_a_last_run_in_the_future_does_not_shut_the_gate() -> None:
    """A clock that was wrong once does not stop the loop until that day."""
    substrate = ReferenceSubstrate()
    go(substrate, NOW + 3_650 * DAY)
    assert go(substrate, NOW, if_stale_ms=DAY).outcome == "ran"


def test_what_the_loop_writes_itself_is_not_new() -> None:
    """Recommendations and audit grains never open a gate; a lesson that was applied is one new grain."""
    substrate = both()
    go(substrate)
    assert go(substrate, NOW + 1, min_new=1).skip_reason == "min_new_not_met"
    for row in views.ledger(substrate):
        lifecycle.approve_and_apply(substrate, row.address, "why", ANA, NOW + 2)
    outcome = go(substrate, NOW + 3)
    assert (outcome.new_grains, outcome.new_error_events) == (1, 0)


def test_forgetting_never_makes_the_counts_negative() -> None:
    """A memory that counts what is there has less after a forget, and less is not new."""
    substrate = ReferenceSubstrate()
    doomed = fact(substrate, "a", "b", "c")
    go(substrate)
    substrate.forget(doomed)
    outcome = go(substrate, NOW + 1, min_new=1)
    assert (outcome.new_grains, outcome.outcome) == (0, "skipped")


# --- only, dry run, namespaces -----------------------------------------------------------------------


def test_an_unknown_analyzer_is_refused() -> None:
    """LOP-E033 names the known ones."""
    with refused("LOP-E033") as caught:
        go(ReferenceSubstrate(), only=("loop.nothing/1",))
    assert all(name in caught.value.next_step for name in BOTH)


@pytest.mark.parametrize("restricted", [{"only": ("loop.duplicate_sweep/1",)}, {"namespaces": ("other",)}])
def test_a_restricted_run_closes_nothing_of_others_and_moves_no_watermark(restricted: dict[str, Any]) -> None:
    """RUN-5, D26."""
    substrate = both()
    go(substrate)
    settings = dict(substrate.settings)
    for grain in list(substrate.scan("tool")):
        substrate.mark(grain.address, "hide")
    outcome = go(substrate, NOW + DAY, **restricted)
    assert (outcome.outcome, outcome.closed) == ("ran", 0)
    assert substrate.settings == settings
    assert list(statuses(substrate).values()) == ["pending", "pending"]
    assert go(substrate, NOW + DAY).closed == 1


def test_only_runs_what_it_names() -> None:
    """The others neither run nor count as skipped."""
    outcome = go(both(), only=("loop.tool_failure/1",))
    assert (outcome.analyzers_run, outcome.stored, outcome.analyzers_skipped) == (
        ("loop.tool_failure/1",),
        1,
        (),
    )


def test_a_dry_run_writes_nothing_and_tells_the_lines() -> None:
    """The summaries that a run would propose, and not one byte."""
    substrate = both()
    before = everything(substrate)
    outcome = go(substrate, dry_run=True)
    assert everything(substrate) == before
    assert outcome.drafts == (
        "x: 5 of 5 calls failed the same way: «boom»",
        "2 copies of one fact: acme · likes · tea",
    )
    assert (outcome.proposed, outcome.stored, outcome.recommendations) == (2, 0, ())


@pytest.mark.parametrize("space", ["deja-loop", "loop", "agent:authz"])
def test_reserved_namespaces_are_never_analyzed(space: str) -> None:
    """D7: not by default, and not when they are asked for."""
    substrate = ReferenceSubstrate()
    for text in ("tea", "Tea"):
        fact(substrate, "acme", "likes", text, namespace=space)
    calls(substrate, "x", "boom", 9, namespace=space)
    for options in (
        {},
        {"namespaces": (space,)},
        {"config": {one: AnalyzerConfig(namespaces=(space,)) for one in BOTH}},
    ):
        assert go(substrate, **options).proposed == 0


def test_the_configured_namespaces_of_an_analyzer_win() -> None:
    """Loop-engine §3: the analyzer's list, else the run's, else all."""
    substrate = ReferenceSubstrate()
    for space in ("one", "two", "three"):
        for text in ("tea", "Tea"):
            fact(substrate, space, "likes", text, namespace=space)
    found = go(substrate, namespaces=("one",), dry_run=True)
    assert len(found.drafts) == 1
    config = {"loop.duplicate_sweep/1": AnalyzerConfig(namespaces=("two", "three"))}
    assert len(go(substrate, namespaces=("one",), config=config, dry_run=True).drafts) == 2


# --- identity ----------------------------------------------------------------------------------------


def test_identity_is_the_pinned_digest() -> None:
    """D8: lower-case hex SHA-256 over NFC(family) 00 folded target 00 action; drift fails here."""
    assert identity("loop.tool_failure", "entity:lessons/Stripe#0123456789ab", "cluster_failure") == (
        "bcbf78ccc03f9b70a3a616ce755f0c03be46689e4e12dd14ab8d9dd2f8d34817"
    )


def test_identity_folds_the_target_and_keeps_its_parts_apart() -> None:
    """Spellings of one target are one finding; a border never moves."""
    one = identity("f", "entity:Acme/É", "a")
    assert one == identity("f", "entity:acme/e\u0301", "a")
    assert len({one, identity("f", "entity:acme/é", "b"), identity("g", "entity:acme/é", "a")}) == 3
    assert identity("f", "entity:a\x00b", "c") != identity("f", "entity:a", "b\x00c")
    assert digest12("a\x00b", "c") != digest12("a", "b\x00c")
    assert len(digest12("\ud83d")) == 12


@pytest.mark.parametrize(
    ("target", "told"),
    [("grain:ab", "memory"), ("entity:a/b", "memory"), ("query:q", "query"), ("template:t", "query"),
     ("doc:d", "prompt"), ("host:h", "host")],
)  # fmt: skip
def test_target_classes(target: str, told: str) -> None:
    """Loop-engine §2.1: the class a policy speaks of."""
    assert target_class(target) == told


@pytest.mark.parametrize(
    "target", ["", "entity", "entity:", "entity: ", "file:x", ":x", "Entity:x", "javascript:x"]
)
def test_malformed_targets_are_refused(target: str) -> None:
    """LOP-E010."""
    with refused("LOP-E010"):
        target_class(target)


def test_names_that_hold_separators_do_not_collide() -> None:
    """D25: a slash or number sign inside a name makes no two findings one."""
    substrate = ReferenceSubstrate()
    for space, subject, relation in (
        ("a", "b/c", "r"), ("a/b", "c", "r"), ("n", "x#y", "z"), ("n", "x", "y#z"), ("n", "x#y·0", "z"),
    ):  # fmt: skip
        for at in (1, 2):
            fact(substrate, subject, relation, "o", at, namespace=space)
    outcome = go(substrate)
    assert (outcome.proposed, outcome.stored, dict(outcome.dropped)) == (5, 5, {})


# --- one open recommendation a finding ---------------------------------------------------------------


def test_a_run_over_an_unchanged_memory_writes_no_grain() -> None:
    """No churn: an open finding that says the same stays the very same grain, run after run."""
    substrate = both()
    first = go(substrate)
    grains = dict(substrate.grains)
    for later in (1, 60_000, DAY):
        outcome = go(substrate, NOW + later)
        assert (outcome.stored, outcome.refreshed, outcome.closed) == (0, 0, 0)
        assert dict(outcome.dropped) == {"open": 2}
        assert (outcome.proposed, outcome.deduped) == (2, 2)
    assert substrate.grains == grains
    assert first.stored == 2


HOSTILE_NAMES = [
    "e\u200d\u0301",
    "\x1b[31mred\x1b[0m",
    "a\u202eb",
    "İ",
    "ﬁ",
    "x" * 400,
    "a\nb",
    "«x»",
    "\u2028",
    "·#/",
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_hostile_name_makes_no_churn(name: str) -> None:
    """What a draft says equals what was stored of it, so that no run refreshes for nothing."""
    substrate = ReferenceSubstrate()
    calls(substrate, f"t{name}", f"{name} failed", 5)
    fact(substrate, f"s{name}", f"r{name}", f"o{name}", NOW - 2)
    fact(substrate, f"S{name}", f"R{name}", f"O{name}", NOW - 1)
    assert go(substrate).stored == 2
    again = go(substrate, NOW + 1)
    assert (again.stored, again.refreshed, dict(again.dropped)) == (0, 0, {"open": 2})
    for row in views.ledger(substrate):
        lifecycle.approve_and_apply(substrate, row.address, "why", ANA, NOW + 2)
    assert go(substrate, NOW + 3).proposed == 0


def test_a_pending_finding_that_changed_is_refreshed_under_its_identity() -> None:
    """RUN-2, D4: a superseding grain with a new address, the same identity, the same age; the old one leaves the queue."""
    substrate = both()
    go(substrate)
    old = next(row for row in views.ledger(substrate) if row.analyzer == "loop.tool_failure/1")
    calls(substrate, "x", "boom", 1, at=NOW)
    outcome = go(substrate, NOW + DAY)
    assert (outcome.stored, outcome.refreshed) == (0, 1)
    (new,) = outcome.recommendations
    row, replaced = views.ledger_row(substrate, new), views.ledger_row(substrate, old.address)
    assert row is not None
    assert replaced is not None
    assert (row.identity, row.since, row.created_at) == (old.identity, NOW, NOW + DAY)
    assert replaced.replaced_by == new
    assert old.address not in statuses(substrate)
    now = body(substrate, new)
    assert (now.refreshes, now.evidence_total, now.summary.args["count"]) == (old.address, 6, 6)
    assert old.address not in now.evidence
    assert reports.chain(substrate, new).verified
    assert reports.chain(substrate, old.address).verified


def test_an_approved_finding_that_changed_expires_and_is_proposed_again() -> None:
    """D4: nobody approved what it says now."""
    substrate = ReferenceSubstrate()
    twins(substrate)
    go(substrate)
    old = only(substrate)
    lifecycle.approve(substrate, old, "fine", ANA, NOW)
    assert go(substrate, NOW + 1).stored == 0, "unchanged, it stays approved"
    fact(substrate, "acme", "likes", "TEA")
    outcome = go(substrate, NOW + 2)
    assert (outcome.stored, outcome.refreshed) == (1, 0)
    assert statuses(substrate) == {old: "expired", outcome.recommendations[0]: "pending"}
    last = reports.chain(substrate, old).entries[-1]
    assert (last.actor, last.observer) == ("engine:loop", "system")
    assert reports.chain(substrate, old).verified


@pytest.mark.parametrize("status", ["pending", "approved"])
def test_a_finding_that_no_longer_holds_closes_itself(status: str) -> None:
    """Lesson 9: expired, with a system audit; what comes back is a new recommendation without a quiet time."""
    substrate = ReferenceSubstrate()
    twins(substrate)
    go(substrate)
    address = only(substrate)
    if status == "approved":
        lifecycle.approve(substrate, address, "fine", ANA, NOW)
    copy = [grain for grain in substrate.scan("fact")][-1]  # noqa: C416
    substrate.mark(copy.address, "hide")
    outcome = go(substrate, NOW + 1)
    assert (outcome.closed, statuses(substrate)) == (1, {address: "expired"})
    assert reports.chain(substrate, address).verified
    substrate.mark(copy.address, "reopen")
    assert go(substrate, NOW + 2).stored == 1


def test_a_finding_that_comes_back_in_the_same_millisecond_is_another_recommendation() -> None:
    """A pinned clock gives equal bytes to equal findings; their chains must not run into each other."""
    substrate = ReferenceSubstrate()
    twins(substrate)
    copy = [grain for grain in substrate.scan("fact")][-1]  # noqa: C416
    for _ in range(4):
        assert go(substrate).stored == 1
        substrate.mark(copy.address, "hide")
        assert go(substrate).closed == 1
        substrate.mark(copy.address, "reopen")
    rows = views.ledger(substrate)
    assert [row.status for row in rows] == ["expired"] * 4
    assert all(reports.chain(substrate, row.address).verified for row in rows)


def test_a_run_at_an_earlier_time_closes_nothing_that_was_proposed_later() -> None:
    """RUN-6: a clock that jumped back sees less, and must not judge what it cannot see."""
    substrate = both()
    go(substrate)
    assert go(substrate, NOW - 10 * DAY).closed == 0
    assert set(statuses(substrate).values()) == {"pending"}


def test_a_foreign_finding_is_no_open_one() -> None:
    """D5: it is folded under the local one, which is proposed all the same, also in the same millisecond."""
    substrate = both()
    go(substrate)
    for grain in list(substrate.grains.values()):
        if grain.namespace == "deja-loop":
            import_grain(substrate, grain.address)
    outcome = go(substrate)
    assert outcome.stored == 2
    rows = views.ledger(substrate)
    assert sorted((row.identity, row.foreign) for row in rows if not row.foreign) == sorted(
        (row.identity, False) for row in rows if row.foreign
    )
    assert all(reports.chain(substrate, row.address).verified for row in rows)


def test_a_half_written_proposal_does_not_block_its_finding() -> None:
    """LED-2: a memory without acts may lose the first audit entry; the run closes it and proposes anew."""
    substrate = BareSubstrate()
    twins(substrate)
    crash_on(substrate, "put", lambda grain: grain.type == "observation")
    with pytest.raises(OSError, match="no room"):
        go(substrate)
    del substrate.put  # type: ignore[method-assign]  # the disk has room again
    torn = only(substrate)
    outcome = go(substrate, NOW + 1)
    assert outcome.stored == 1
    assert statuses(substrate) == {torn: "expired", outcome.recommendations[0]: "pending"}
    assert reports.chain(substrate, outcome.recommendations[0]).verified
    assert not reports.chain(substrate, torn).verified


def test_a_half_written_proposal_whose_finding_is_gone_stops_no_run() -> None:
    """Closing needs no first entry."""
    substrate = ReferenceSubstrate()
    torn = plant(substrate, draft([], [fact(substrate, "a", "b", "c")]), first=False)
    fake = replace(substrate.grains[torn], fields={
        **substrate.grains[torn].fields, "analyzer": {"id": "loop.duplicate_sweep/1", "params": {}},
    })  # fmt: skip
    substrate.grains[torn] = fake
    assert go(substrate, NOW + 1).closed == 1
    assert statuses(substrate) == {torn: "expired"}


# --- applied, cooling --------------------------------------------------------------------------------


def test_an_applied_lesson_covers_what_was_there_and_nothing_newer() -> None:
    """RUN-3: the old failures are no finding any more; enough new ones are, counted over what is new."""
    substrate = ReferenceSubstrate()
    calls(substrate, "x", "boom", 5)
    go(substrate)
    lifecycle.approve_and_apply(substrate, only(substrate), "why", ANA, NOW)
    assert go(substrate, NOW + 1).proposed == 0
    calls(substrate, "x", "boom", 2, at=NOW + 1)
    assert go(substrate, NOW + DAY).proposed == 0, "two are too few"
    calls(substrate, "x", "boom", 1, at=NOW + 2)
    outcome = go(substrate, NOW + DAY)
    assert outcome.stored == 1
    found = body(substrate, only(substrate))
    assert (found.summary.args["count"], found.summary.args["calls"], found.evidence_total) == (3, 3, 3)
    assert (found.summary.args["since"], found.summary.template_id) == (NOW, "tool_failure.again")
    assert found.metric is not None
    assert (found.metric["since"], found.metric["window"]) == (
        NOW,
        "30d since the apply of 2026-03-02 09:00Z",
    )
    (queued,) = reports.queue(substrate, ("pending",))
    assert queued.summary == "x: 3 of 3 calls since the apply failed the same way: «boom»"
    assert found.operations[0].kind == "supersede", "the lesson that is live is replaced, not doubled"
    lifecycle.approve_and_apply(substrate, only(substrate), "why", ANA, NOW + DAY)
    assert len([g for g in substrate.scan("fact") if g.live]) == 1
    assert go(substrate, NOW + DAY + 1).proposed == 0


def test_what_was_applied_in_another_copy_covers_nothing_here() -> None:
    """D5: an imported apply is history; the finding is proposed here, over the lesson that came with it."""
    substrate = ReferenceSubstrate()
    calls(substrate, "x", "boom", 5)
    go(substrate)
    lifecycle.approve_and_apply(substrate, only(substrate), "why", ANA, NOW)
    for grain in list(substrate.grains.values()):
        import_grain(substrate, grain.address)
    assert go(substrate, NOW + 1).stored == 1
    found = body(substrate, only(substrate))
    assert found.evidence_total == 5
    assert found.operations[0].kind == "supersede"


def test_backdated_failures_that_arrive_after_the_apply_are_new() -> None:
    """What counts is arrival: an import of old transcripts is news."""
    substrate = ReferenceSubstrate()
    calls(substrate, "x", "boom", 5)
    go(substrate)
    lifecycle.approve_and_apply(substrate, only(substrate), "why", ANA, NOW)
    calls(substrate, "x", "boom", 5, at=NOW - 20 * DAY)
    assert go(substrate, NOW + 1).stored == 1


def test_an_applied_consolidation_returns_only_with_a_new_copy() -> None:
    """The finding is about what is live now; a third copy is a new one."""
    substrate = ReferenceSubstrate()
    twins(substrate)
    go(substrate)
    lifecycle.approve_and_apply(substrate, only(substrate), "why", ANA, NOW)
    assert go(substrate, NOW + 1).proposed == 0
    fact(substrate, "acme", "likes", "TEA", NOW)
    outcome = go(substrate, NOW + 2)
    assert (outcome.stored, body(substrate, only(substrate)).evidence_total) == (1, 2)


def test_the_cooldown_ladder() -> None:
    """D26: 7, 14, 28, 56, 90, 90 days; the finding is back exactly at the end, not a millisecond before."""
    substrate = ReferenceSubstrate()
    twins(substrate)
    now = NOW
    for days in (7, 14, 28, 56, 90, 90):
        assert go(substrate, now).stored == 1
        lifecycle.reject(substrate, only(substrate), "no", ANA, now)
        early = go(substrate, now + days * DAY - 1)
        assert (early.stored, dict(early.dropped)) == (0, {"cooling": 1})
        now += days * DAY
    assert go(substrate, now).stored == 1


def test_a_withdrawal_and_a_rollback_climb_the_same_ladder() -> None:
    """D26: taking something back counts as a no."""
    substrate = ReferenceSubstrate()
    twins(substrate)
    go(substrate)
    lifecycle.approve(substrate, only(substrate), "yes", ANA, NOW)
    lifecycle.withdraw(substrate, only(substrate, "approved"), "no", ANA, NOW)
    assert dict(go(substrate, NOW + 7 * DAY - 1).dropped) == {"cooling": 1}
    now = NOW + 7 * DAY
    assert go(substrate, now).stored == 1
    lifecycle.approve_and_apply(substrate, only(substrate), "yes", ANA, now)
    lifecycle.rollback(substrate, only(substrate, "applied"), "no", ANA, now)
    assert dict(go(substrate, now + 14 * DAY - 1).dropped) == {"cooling": 1}
    assert go(substrate, now + 14 * DAY).stored == 1


def row(status: str, days: float) -> LedgerRow:
    at = NOW + int(days * DAY)
    return LedgerRow("a", "i", "n", "t", "low", status, at, at, at, at, "c", "builtin", False, None)


@pytest.mark.parametrize(
    ("lives", "days"),
    [
        ([], None),
        (["pending"], None),
        (["expired"], None),
        (["rejected"], 7),
        (["rejected", "expired"], 7),
        (["rejected", "rolled_back"], 14),
        (["rejected"] * 9, 90),
        (["rejected", "rejected", "applied"], None),
        (["rejected", "rejected", "approved", "rejected"], 7),
        (["applied", "rejected", "rejected"], 14),
    ],
)
def test_strikes_are_reset_by_an_approval_that_stands(lives: list[str], days: int | None) -> None:
    """Loop-engine §6 [pick]: strikes count since the last approval or apply."""
    rows = [row(status, n) for n, status in enumerate(lives)]
    last = max((r.decided_at for r in rows if r.status in ("rejected", "rolled_back")), default=0)
    assert cooling_until(rows) == (last + days * DAY if days else 0)


# --- analyzers that fail -----------------------------------------------------------------------------


class Fake:
    """A linked analyzer with a given body."""

    def __init__(self, found: Callable[[Context], Iterable[Any]], **over: Any) -> None:
        self.found = found
        values: dict[str, Any] = {
            "id": "test.fake/2", "title": "t", "description": "d", "tier": "T0",
            "params": (Param("limit", "int", 3, 1, 9),), **over,
        }  # fmt: skip
        self.manifest = Manifest(**values)

    def analyze(self, ctx: Context) -> Iterable[Draft]:
        return self.found(ctx)

    def probe(self, ctx: Context) -> Activation:
        return Activation("quiet")


def with_fake(
    substrate: Substrate, found: Callable[[Context], Iterable[Any]], now: int = NOW, **over: Any
) -> RunOutcome:
    return run(substrate, RunOptions(analyzers=(Fake(found, **over),)), now)


def raising(fault: BaseException) -> Callable[[Context], Iterable[Any]]:
    def found(ctx: Context) -> Iterable[Any]:
        yield sound(ctx)
        raise fault

    return found


def sound(ctx: Context, **over: Any) -> Draft:
    cited = next(iter(ctx.read.scan("fact"))).address
    return draft([Add("fact", "shared", {"subject": "x", "object": "y"})], [cited], **over)


@pytest.mark.parametrize("fault", [RuntimeError("x"), KeyError("y"), RecursionError(), MemoryError()])
def test_an_analyzer_that_raises_costs_only_its_own_findings(fault: Exception) -> None:
    """Loop-engine §3: the others' are stored; the reason is told without the text of the fault."""
    substrate = both()
    outcome = with_fake(substrate, raising(fault))
    assert (outcome.stored, ran(outcome)) == (2, BOTH)
    assert skipped(outcome) == [("test.fake/2", f"LOP-E030 failed: {type(fault).__name__}")]


def test_an_analyzer_that_fails_closes_nothing_and_moves_no_watermark() -> None:
    """RUN-4: not finding is not the same as not looking."""
    substrate = both()
    assert with_fake(substrate, lambda ctx: [sound(ctx)]).stored == 3
    mark = substrate.settings["loop.watermark.test.fake/2"]
    outcome = with_fake(substrate, raising(ValueError()), NOW + 1)
    assert outcome.closed == 0
    assert substrate.settings["loop.watermark.test.fake/2"] == mark
    assert substrate.settings["loop.watermark.loop.tool_failure/1"]["at"] == NOW + 1
    assert with_fake(substrate, lambda ctx: [], NOW + 2).closed == 1


def test_an_analyzer_that_is_gone_leaves_its_queue_alone() -> None:
    """D28: its recommendations stay, and can be decided."""
    substrate = both()
    with_fake(substrate, lambda ctx: [sound(ctx)])
    assert go(substrate, NOW + 1).closed == 0
    planted = next(row for row in views.ledger(substrate) if row.analyzer == "test.fake/2")
    assert lifecycle.approve_and_apply(substrate, planted.address, "why", ANA, NOW + 2).chain_verified


def test_a_new_major_version_takes_over_what_it_finds_and_closes_nothing_of_the_old_one() -> None:
    """D28: identity is the family's; what only the old version found stays reviewable and applicable."""
    substrate = both()

    def old(ctx: Context) -> list[Draft]:
        return [sound(ctx, target_ref=f"entity:shared/x#{name}") for name in ("shared", "old")]

    assert with_fake(substrate, old).stored == 4
    outcome = with_fake(
        substrate,
        lambda ctx: [sound(ctx, target_ref="entity:shared/x#shared", severity="high")],
        NOW + 1,
        id="test.fake/3",
    )
    assert (outcome.stored, outcome.refreshed, outcome.closed) == (0, 1, 0)
    queue = {
        row.target_ref: row for row in views.ledger(substrate, ("pending",)) if "test.fake" in row.analyzer
    }
    assert {target[-6:]: row.analyzer for target, row in queue.items()} == {
        "shared": "test.fake/3", "/x#old": "test.fake/2",
    }  # fmt: skip
    left = queue["entity:shared/x#old"]
    assert lifecycle.approve_and_apply(substrate, left.address, "still right", ANA, NOW + 2).chain_verified


BAD: dict[str, Any] = {
    "no draft": lambda ctx: "text",
    "none": lambda ctx: None,
    "bad target": lambda ctx: sound(ctx, target_ref="nowhere"),
    "other class": lambda ctx: sound(ctx, target_ref="doc:CLAUDE.md"),
    "long target": lambda ctx: sound(ctx, target_ref="entity:" + "x" * 2_000),
    "target is none": lambda ctx: sound(ctx, target_ref=None),
    "bad severity": lambda ctx: sound(ctx, severity="fatal"),
    "no evidence": lambda ctx: replace(sound(ctx), evidence=()),
    "odd evidence": lambda ctx: replace(sound(ctx), evidence=(7,)),
    "confidence above one": lambda ctx: sound(ctx, confidence=1.1),
    "importance not a number": lambda ctx: sound(ctx, importance=float("nan")),
    "confidence a text": lambda ctx: sound(ctx, confidence="high"),
    "metric of bytes": lambda ctx: sound(ctx, metric={"x": b"y"}),
    "metric a list": lambda ctx: sound(ctx, metric=[1]),
    "query a list": lambda ctx: sound(ctx, evidence_query=["RECALL"]),
    "total no number": lambda ctx: sound(ctx, evidence_total="many"),
    "remaining negative": lambda ctx: sound(ctx, remaining=-1),
    "no action": lambda ctx: sound(ctx, action=None),
    "no template": lambda ctx: sound(ctx, template_id=""),
    "nested argument": lambda ctx: sound(ctx, args={"x": {"y": 1}}),
    "arguments are none": lambda ctx: sound(ctx, args=None),
    "not an operation": lambda ctx: replace(sound(ctx), operations=("x",)),
    "short address": lambda ctx: replace(sound(ctx), operations=(Retire("ab", "cd"),)),
    "bytes in a field": lambda ctx: replace(sound(ctx), operations=(Add("fact", "shared", {"x": b"y"}),)),
    "not a number": lambda ctx: replace(sound(ctx), operations=(Add("fact", "shared", {"x": float("nan")}),)),
    "reserved": lambda ctx: replace(sound(ctx), operations=(Add("fact", "deja-loop", {"x": 1}),)),
    "too many": lambda ctx: replace(sound(ctx), operations=tuple(Add("fact", "s", {"n": n}) for n in range(41))),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_finding_costs_only_itself(name: str) -> None:
    """Its analyzer's other findings and everybody else's are stored; it is told once, with a code."""
    substrate = both()
    good = {"target_ref": "entity:shared/planted#good"}
    outcome = with_fake(substrate, lambda ctx: [BAD[name](ctx), sound(ctx, **good), BAD[name](ctx)])
    assert outcome.stored == 3
    ((name, reason),) = skipped(outcome)
    assert name == FAKE
    assert reason.startswith("2 findings dropped: LOP-E01")


def test_a_finding_the_memory_refuses_costs_only_itself() -> None:
    """A memory has limits of its own (a number it cannot hold); the run goes on and counts the finding apart."""

    class Strict(ReferenceSubstrate):
        def put(self, grain: NewGrain) -> Put:
            if "planted" in str(grain.fields.get("summary")):
                raise ValidationError("VAL-E001", "a number is too large")
            return super().put(grain)

    substrate = Strict()
    twins(substrate)
    outcome = with_fake(substrate, lambda ctx: [sound(ctx)])
    assert (outcome.stored, dict(outcome.dropped)) == (1, {"refused": 1})


def test_a_finding_is_bounded_before_it_is_stored() -> None:
    """64 cited grains, 500 characters an argument: one hostile text makes no hostile grain, and no churn."""
    substrate = ReferenceSubstrate()
    many = [fact(substrate, f"s{n}", "r", "o") for n in range(70)]

    def found(ctx: Context) -> list[Draft]:
        return [sound(ctx, evidence=tuple(many), args={"text": "x" * 10_000, "n": 1.5, "ok": True})]

    def sound(ctx: Context, **over: Any) -> Draft:
        return replace(draft([], many), **over)

    assert with_fake(substrate, found).stored == 1
    stored = body(substrate, only(substrate))
    assert (len(stored.evidence), len(stored.summary.args["text"])) == (64, 500)
    assert dict(with_fake(substrate, found, NOW + 1).dropped) == {"open": 1}


def test_another_example_alone_refreshes_nothing() -> None:
    """What is shown of several failures may change from run to run; what was counted may not."""
    substrate = ReferenceSubstrate()
    fact(substrate, "a", "b", "c")
    for n, (args, refreshed) in enumerate(
        (
            ({"count": 1}, 0),
            ({"count": 1, "example": "x"}, 0),
            ({"count": 1, "example": "y"}, 0),
            ({"count": 2}, 1),
        )
    ):
        outcome = with_fake(substrate, lambda ctx, args=args: [sound(ctx, args=args)], NOW + n)  # type: ignore[misc]
        assert outcome.refreshed == refreshed


def test_two_findings_of_one_identity_are_one() -> None:
    """The second is counted as a duplicate of the run."""
    substrate = ReferenceSubstrate()
    fact(substrate, "a", "b", "c")
    outcome = with_fake(substrate, lambda ctx: [sound(ctx), sound(ctx, severity="high")])
    assert (outcome.proposed, outcome.stored, dict(outcome.dropped)) == (2, 1, {"duplicate": 1})


def test_an_analyzer_can_neither_write_nor_read_the_loop() -> None:
    """Engine rule 2, D7: its reader has no writing method and shows nothing of reserved namespaces."""
    substrate = both()
    go(substrate)
    inside = next(substrate.scan("recommendation", ["deja-loop"])).address
    fact(substrate, "acme", "likes", "tea", namespace="loop")
    fact(substrate, "acme", "likes", "Tea", namespace="loop")
    calls(substrate, "x", "boom", 5, namespace="loop")
    seen: dict[str, Any] = {}

    def found(ctx: Context) -> list[Draft]:
        read, loop = ctx.read, ["loop", "deja-loop"]
        assert not {"put", "supersede", "mark", "forget", "atomic", "set_setting"} & set(dir(read))
        seen["get"] = read.get(inside)
        seen["scan"] = list(read.scan("recommendation", loop)) + list(read.scan("fact", loop))
        seen["tools"] = read.tool_failures(0, NOW, 0, loop)
        seen["facts"] = read.duplicate_facts(loop)
        seen["matches"] = read.fact_matches("loop", "acme", "likes")
        return []

    with_fake(substrate, found)
    assert seen == {"get": None, "scan": [], "tools": [], "facts": [], "matches": []}


# --- configuration -----------------------------------------------------------------------------------


def test_a_disabled_analyzer_does_not_run_and_closes_nothing() -> None:
    """It is listed as skipped."""
    substrate = both()
    go(substrate)
    config = {"loop.duplicate_sweep/1": AnalyzerConfig(enabled=False)}
    for grain in substrate.scan("fact"):
        substrate.mark(grain.address, "hide")
    outcome = go(substrate, NOW + 1, config=config)
    assert skipped(outcome) == [("loop.duplicate_sweep/1", "disabled")]
    assert outcome.closed == 0


@pytest.mark.parametrize(
    "config",
    [
        AnalyzerConfig(params={"no_such": 1}),
        AnalyzerConfig(params={"min_count": 0}),
        AnalyzerConfig(params={"min_count": "3"}),
        AnalyzerConfig(params={"min_count": True}),
        AnalyzerConfig(params={"min_count": 10**400}),
        AnalyzerConfig(params={"min_rate": -(10**400)}),
        AnalyzerConfig(params={"min_rate": float("nan")}),
        AnalyzerConfig(severity_floor="fatal"),
    ],
)
def test_a_bad_configuration_skips_its_analyzer_only(config: AnalyzerConfig) -> None:
    """LOP-E031 as the reason; the other analyzer runs."""
    outcome = go(both(), config={"loop.tool_failure/1": config})
    ((_, reason),) = skipped(outcome)
    assert reason.startswith("LOP-E031")
    assert outcome.stored == 1


def test_a_severity_floor_drops_what_is_below() -> None:
    """Counted under its own reason."""
    outcome = go(both(), config={"loop.duplicate_sweep/1": AnalyzerConfig(severity_floor="medium")})
    assert (outcome.stored, dict(outcome.dropped)) == (1, {"below_floor": 1})


def test_the_resolved_parameters_are_part_of_the_recommendation() -> None:
    """A reader later sees with which numbers it was found."""
    substrate = both()
    go(substrate, config={"loop.tool_failure/1": AnalyzerConfig(params={"min_count": 5})})
    found = [body(substrate, row.address) for row in views.ledger(substrate)]
    assert dict(found[0].params) == {"min_count": 5, "min_rate": 0.4, "min_abs": 50, "window_days": 30}


# --- purity and applying everything ------------------------------------------------------------------


def test_a_run_is_a_pure_function_of_memory_options_and_now() -> None:
    """RUN-1: two memories with the same writes have the same grains, to the byte, after the same runs."""
    memories = [both(), both()]
    for substrate in memories:
        for later in (0, 5, DAY):
            go(substrate, NOW + later)
            calls(substrate, "x", "boom", 1, at=NOW + later)
    assert everything(memories[0]) == everything(memories[1])


SPACES = st.sampled_from(["n", "n", "N", "n/b"])
NAMES = st.sampled_from(["a", "A", " a ", "b/c", "á", "A\u0301"])
RELATIONS = st.sampled_from(["likes", "fails_with", "fails_with", "Fails_With"])
SAID = st.sampled_from(["ß", "SS", "a", "A", " a ", "a\u200b", "«x»", "no message", "\u3164"])
FACTS = st.tuples(st.just("fact"), SPACES, NAMES, RELATIONS, SAID)
TOOLS = st.tuples(st.just("tool"), SPACES, NAMES, SAID, st.sampled_from([0, 1, 3, 3, 5]))


@given(st.lists(FACTS | TOOLS, max_size=24), st.randoms(use_true_random=False))
def test_applying_everything_leaves_nothing_to_propose(writes: list[Any], random: Any) -> None:
    """Issue 2, point 6: a further run proposes nothing about what was applied, in any order of applying, and no lesson
    or consolidation breeds a finding of its own."""
    substrate = ReferenceSubstrate()
    for n, (kind, space, *rest) in enumerate(writes):
        if kind == "fact":
            fact(substrate, *rest, NOW - DAY + n, namespace=space)
        else:
            tool, result, count = rest
            calls(substrate, tool, result, max(count, 1), at=NOW - DAY + n, error=count > 0, namespace=space)
    now, refusals = NOW, 0
    while True:
        outcome = go(substrate, now)
        pending = views.ledger(substrate, ("pending",))
        if refusals == 0 and now > NOW:
            assert (outcome.stored, outcome.refreshed, pending) == (0, 0, [])
        if not pending:
            return
        random.shuffle(pending)
        refusals = 0
        for row in pending:
            now += 1
            at = now
            code = refusal_of(lambda: lifecycle.approve_and_apply(substrate, row.address, "w", ANA, at))  # noqa: B023
            assert code in (None, "LOP-E024")
            refusals += code is not None
        now += 1
        assert now < NOW + 200, "findings never end"


def test_one_more_call_does_not_take_an_approval_back() -> None:
    """An approval is about the change: counts and confidence may move before it is applied."""
    substrate = ReferenceSubstrate()
    calls(substrate, "curl", "timeout", 5)
    go(substrate)
    address = only(substrate)
    lifecycle.approve(substrate, address, "seen often", ANA, NOW)
    calls(substrate, "curl", "timeout", 2, at=NOW - DAY // 2)
    calls(substrate, "curl", "ok", 1, error=False, at=NOW - DAY // 2)
    outcome = go(substrate, NOW + 1)
    assert (outcome.stored, outcome.refreshed, outcome.closed) == (0, 0, 0)
    assert only(substrate, "approved") == address
    assert lifecycle.apply(substrate, address, "as approved", ANA, NOW + 2).to_status == "applied"


# --- what an analyzer is given -----------------------------------------------------------------------


def test_a_spent_budget_keeps_what_was_found_and_closes_nothing() -> None:
    """D29: skipped with the reason ``budget``, watermark unmoved, the others unharmed."""
    substrate = both()
    assert with_fake(substrate, lambda ctx: [sound(ctx)]).stored == 3
    mark = substrate.settings["loop.watermark.test.fake/2"]

    def greedy(ctx: Context) -> Iterable[Draft]:
        yield sound(ctx, target_ref="entity:shared/planted#two")
        ctx.spend(10**9)
        yield sound(ctx, target_ref="entity:shared/planted#three")

    outcome = with_fake(substrate, greedy, NOW + 1)
    assert skipped(outcome) == [("test.fake/2", "budget")]
    assert (outcome.stored, outcome.closed, ran(outcome)) == (1, 0, BOTH)
    assert substrate.settings["loop.watermark.test.fake/2"] == mark


def test_a_missing_capability_skips_with_what_provides_it() -> None:
    """A memory without the capability is no fault; the reason names it and the command."""
    outcome = with_fake(both(), lambda ctx: [sound(ctx)], requires=("telemetry",))
    ((name, reason),) = skipped(outcome)
    assert name == FAKE
    assert reason.startswith("missing telemetry: --telemetry aggregate")


def test_an_analyzer_is_told_what_is_open_and_what_was_decided() -> None:
    """Rows of its own family, made here; the open one of a target and action."""
    substrate = both()
    seen: list[Any] = []

    def looking(ctx: Context) -> Iterable[Draft]:
        open_ = ctx.open_for("entity:shared/planted#one", "flag")
        seen.append((open_.address if open_ else None, [row.status for row in ctx.ledger()], ctx.watermark))
        return [sound(ctx)]

    with_fake(substrate, looking)
    planted = next(row for row in views.ledger(substrate) if row.analyzer == "test.fake/2").address
    with_fake(substrate, looking, NOW + 1)
    lifecycle.reject(substrate, planted, "no", ANA, NOW + 2)
    with_fake(substrate, looking, NOW + 3, id="test.fake/3")
    assert seen == [(None, [], 0), (planted, ["pending"], 0), (None, ["rejected"], 0)]


# --- expiry ------------------------------------------------------------------------------------------


def advice(ctx: Context) -> Iterable[Draft]:
    yield replace(sound(ctx), operations=())


def test_an_acknowledged_flag_expires_after_ninety_days_and_comes_back_if_it_holds() -> None:
    """D26: written at a run, as a system audit; until then the list says when."""
    substrate = both()
    with_fake(substrate, advice)
    (flag,) = [row.address for row in views.ledger(substrate) if row.analyzer == FAKE]
    assert [row.expires_at for row in reports.queue(substrate, None)] == [None] * 3
    lifecycle.approve(substrate, flag, "seen", ANA, NOW)
    (row,) = reports.queue(substrate, ("approved",))
    assert row.expires_at == NOW + 90 * DAY
    early = with_fake(substrate, advice, NOW + 90 * DAY - 1)
    assert (early.expired, statuses(substrate)[flag]) == (0, "approved")
    outcome = with_fake(substrate, advice, NOW + 90 * DAY)
    assert (outcome.expired, statuses(substrate)[flag]) == (1, "expired")
    last = reports.chain(substrate, flag).entries[-1]
    assert (last.actor, last.observer, last.because) == (
        "engine:loop", "system", "ninety days have passed since it was acknowledged",
    )  # fmt: skip
    assert with_fake(substrate, advice, NOW + 90 * DAY + 1).stored == 1, "expiry is no rejection"


def test_an_approved_change_never_expires_by_age() -> None:
    """D26: what waits for its apply waits, as long as it holds."""
    substrate = both()
    go(substrate)
    for row in views.ledger(substrate):
        lifecycle.approve(substrate, row.address, "yes", ANA, NOW)
    outcome = go(substrate, NOW + 20 * DAY)
    assert (outcome.expired, set(statuses(substrate).values())) == (0, {"approved"})
    assert [row.expires_at for row in reports.queue(substrate, ("approved",))] == [None, None]


def test_a_restricted_run_expires_nothing() -> None:
    """RUN-5: it closes nothing, by age neither."""
    substrate = both()
    with_fake(substrate, advice)
    (flag,) = [row.address for row in views.ledger(substrate) if row.analyzer == FAKE]
    lifecycle.approve(substrate, flag, "seen", ANA, NOW)
    assert go(substrate, NOW + 100 * DAY, only=("loop.tool_failure/1",)).expired == 0
    assert statuses(substrate)[flag] == "approved"


def test_measurements_that_are_due_are_written_once_by_a_whole_run() -> None:
    """Loop-engine §12: a dry or restricted run tells them and writes none."""
    substrate = both()
    go(substrate)
    lesson = next(row.address for row in views.ledger(substrate) if row.analyzer == BOTH[0])
    lifecycle.approve_and_apply(substrate, lesson, "why", ANA, NOW)
    before = everything(substrate)
    assert go(substrate, NOW + DAY, dry_run=True).measured == 1
    assert everything(substrate) == before
    assert go(substrate, NOW + DAY).measured == 1
    assert go(substrate, NOW + DAY + 1).measured == 0
