# SPDX-License-Identifier: Apache-2.0
"""Decisions: what may follow what, who may say so, and that a refusal leaves no trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from deja_tui.engine import audit, lifecycle, reports, views
from deja_tui.engine.actors import RIGHTS, Caller, caller
from deja_tui.engine.objects import STATUSES, Receipt
from deja_tui.engine.operations import Add, Forget, Retire, Supersede
from deja_tui.engine.substrate import LedgerRow, NewGrain
from deja_tui.reference import BareSubstrate, ReferenceSubstrate
from tests.engine.helpers import (
    ANA,
    BEN,
    calls,
    draft,
    everything,
    fact,
    go,
    import_grain,
    only,
    plant,
    refused,
    refused_unchanged,
    statuses,
)
from tests.support import DAY, NOW

Decision = Callable[..., Receipt]

DECISIONS: dict[str, Decision] = {
    "approve": lifecycle.approve,
    "reject": lifecycle.reject,
    "withdraw": lifecycle.withdraw,
    "apply": lifecycle.apply,
    "approve_and_apply": lifecycle.approve_and_apply,
    "rollback": lifecycle.rollback,
}
# (status, decision) → the status afterwards; every other pair is LOP-E020
ALLOWED = {
    ("pending", "approve"): "approved",
    ("pending", "reject"): "rejected",
    ("pending", "approve_and_apply"): "applied",
    ("approved", "withdraw"): "rejected",
    ("approved", "apply"): "applied",
    ("applied", "rollback"): "rolled_back",
}
NEEDS: dict[str, frozenset[str]] = {
    "approve": frozenset({"review"}),
    "reject": frozenset({"review"}),
    "withdraw": frozenset({"review"}),
    "apply": frozenset({"apply", "write"}),
    "approve_and_apply": frozenset({"review", "apply", "write"}),
    "rollback": frozenset({"apply", "write"}),
}
STARTS = {"approve": "pending", "reject": "pending", "withdraw": "approved", "apply": "approved",
          "approve_and_apply": "pending", "rollback": "applied"}  # fmt: skip


def memory() -> ReferenceSubstrate:
    """Two copies of one fact: the plainest memory with one finding."""
    substrate = ReferenceSubstrate()
    fact(substrate, "acme", "likes", "tea", NOW - 2 * DAY)
    fact(substrate, "ACME", "likes", "Tea")
    return substrate


def in_status(status: str) -> tuple[ReferenceSubstrate, str]:
    """A memory with one recommendation that came to ``status`` the proper way."""
    substrate = memory()
    go(substrate)
    address = only(substrate)
    if status == "expired":
        copy = next(g for g in substrate.scan("fact") if g.get("subject") == "ACME")
        substrate.mark(copy.address, "hide")
        go(substrate, NOW + 1)
    if status in ("approved", "applied", "rolled_back"):
        lifecycle.approve(substrate, address, "seen", ANA, NOW)
    if status in ("applied", "rolled_back"):
        lifecycle.apply(substrate, address, "do it", ANA, NOW)
    if status == "rolled_back":
        lifecycle.rollback(substrate, address, "undo it", ANA, NOW)
    if status == "rejected":
        lifecycle.reject(substrate, address, "no", ANA, NOW)
    assert statuses(substrate) == {address: status}
    return substrate, address


# --- transitions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize("status", STATUSES)
def test_every_decision_from_every_status(status: str, decision: str) -> None:
    """Loop-engine §7: what is not in the table is LOP-E020 and changes nothing."""
    substrate, address = in_status(status)
    decide = DECISIONS[decision]
    if (status, decision) not in ALLOWED:
        with refused_unchanged(substrate, "LOP-E020"):
            decide(substrate, address, "why not", BEN, NOW + 5)
        return
    receipt = decide(substrate, address, "  because  ", BEN, NOW + 5)
    assert statuses(substrate) == {address: ALLOWED[status, decision]}
    assert (receipt.recommendation, receipt.to_status) == (address, ALLOWED[status, decision])
    assert (receipt.actor, receipt.because, receipt.at) == ("user:ben", "because", NOW + 5)
    assert receipt.chain_verified
    assert reports.chain(substrate, address).entries[-1].address == receipt.audit


def test_the_table_of_the_engine_is_the_table_of_the_specification() -> None:
    """A transition added by mistake is found here, not in a memory."""
    pairs = {(start, end) for start, ends in audit.TRANSITIONS.items() for end in ends}
    assert pairs == {
        (None, "pending"),
        ("pending", "approved"), ("pending", "rejected"), ("pending", "expired"), ("pending", "applied"),
        ("approved", "applied"), ("approved", "rejected"), ("approved", "expired"),
        ("applied", "rolled_back"),
    }  # fmt: skip
    assert audit.TRANSITIONS["pending"]["applied"] == "policy"
    assert not audit.allowed("pending", "applied"), "no decision skips the approval"


def test_a_refused_transition_says_who_came_first() -> None:
    """The loser of two racing decisions reads who decided, and when."""
    substrate, address = in_status("pending")
    lifecycle.reject(substrate, address, "first", ANA, NOW + 1)
    with refused("LOP-E020") as caught:
        lifecycle.approve(substrate, address, "second", BEN, NOW + 2)
    assert "by user:ana at 2026-03-02 09:00Z" in caught.value.message
    assert "audit show" in (caught.value.next_step or "")


def test_a_refused_transition_names_the_step_that_leads_on() -> None:
    """An apply before its approval says what comes first; an applied one says how it is taken back."""
    substrate, address = in_status("pending")
    with refused("LOP-E020") as caught:
        lifecycle.apply(substrate, address, "at once", ANA, NOW + 1)
    assert caught.value.next_step == "approve it first"
    substrate, address = in_status("applied")
    with refused("LOP-E020") as caught:
        lifecycle.withdraw(substrate, address, "too late", ANA, NOW + 1)
    assert "rollback" in (caught.value.next_step or "")


def test_a_decision_that_lands_first_wins_the_race() -> None:
    """What is checked is what is changed: everything a decision reads, it reads inside its own act."""

    class Racing(ReferenceSubstrate):
        rival: Callable[[], object] | None = None

        @contextmanager
        def atomic(self) -> Iterator[None]:
            rival, self.rival = self.rival, None
            if rival:  # another process commits just before this act begins
                rival()
            with super().atomic():
                yield

    substrate = Racing()
    fact(substrate, "acme", "likes", "tea")
    fact(substrate, "acme", "likes", "Tea")
    go(substrate)
    address = only(substrate)
    substrate.rival = lambda: lifecycle.approve(substrate, address, "first", ANA, NOW)
    with refused("LOP-E020"):
        lifecycle.approve(substrate, address, "second", BEN, NOW)
    assert [entry.because for entry in reports.chain(substrate, address).entries][1:] == ["first"]


# --- order of checks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("decision", DECISIONS)
def test_order_of_checks(decision: str) -> None:
    """LIF-2: right, reason, exists, ours, newest, transition; the first that fails is the one that is told."""
    decide, nobody, missing = DECISIONS[decision], caller("user:eve", ()), "0" * 64
    substrate = memory()
    with refused_unchanged(substrate, "LOP-E022"):
        decide(substrate, missing, "", nobody, NOW)
    with refused_unchanged(substrate, "LOP-E011"):
        decide(substrate, missing, " ", ANA, NOW)
    with refused_unchanged(substrate, "LOP-E040"):
        decide(substrate, missing, "why", ANA, NOW)
    with refused_unchanged(substrate, "LOP-E040"):  # an address, but of no recommendation
        decide(substrate, next(substrate.scan("fact")).address, "why", ANA, NOW)
    go(substrate)
    old = only(substrate)
    fact(substrate, "acme", "likes", "TEA")
    go(substrate, NOW + 1)
    with refused_unchanged(substrate, "LOP-E024"):  # refreshed: whatever the transition
        decide(substrate, old, "why", ANA, NOW + 1)
    import_grain(substrate, old)
    with refused_unchanged(substrate, "LOP-E025"):  # foreign comes before refreshed
        decide(substrate, old, "why", ANA, NOW + 1)


def test_a_foreign_recommendation_is_history_for_every_decision() -> None:
    """D5: what came in with a bundle is shown and cannot be decided here, even by an administrator."""
    substrate, address = in_status("pending")
    for grain in list(substrate.grains.values()):
        if grain.namespace == "deja-loop":
            import_grain(substrate, grain.address)
    for decide in DECISIONS.values():
        with refused_unchanged(substrate, "LOP-E025"):
            decide(substrate, address, "why", ANA, NOW)
    assert reports.show(substrate, address, ANA).plan is None
    assert lifecycle.plan(substrate, address, ANA).refusal is not None
    assert go(substrate, NOW + 1).stored == 1, "the local run finds the same and makes it its own"
    assert [row.foreign for row in views.ledger(substrate, ("pending",))].count(False) == 1


def test_an_imported_approval_is_no_approval() -> None:
    """D5: an audit entry that came in with a bundle does not move a recommendation that was made here."""
    substrate, address = in_status("pending")
    first = reports.chain(substrate, address).entries[-1]
    forged = audit.write(
        substrate,
        address,
        previous=first,
        to_status="approved",
        actor="user:boss",
        observer="human",
        because="approved elsewhere",
        now_ms=NOW + 1,
    )
    assert statuses(substrate) == {address: "approved"}
    import_grain(substrate, forged.address)
    assert statuses(substrate) == {address: "pending"}
    assert len(reports.chain(substrate, address).entries) == 1
    with refused_unchanged(substrate, "LOP-E020"):
        lifecycle.apply(substrate, address, "why", ANA, NOW + 2)
    assert lifecycle.approve(substrate, address, "given again here", BEN, NOW + 3).chain_verified


def test_a_refreshed_address_names_its_successor() -> None:
    """D4: a decision about an older address is refused and points to the head."""
    substrate, old = in_status("pending")
    fact(substrate, "acme", "likes", "TEA")
    go(substrate, NOW + 1)
    new = only(substrate)
    with refused("LOP-E024") as caught:
        lifecycle.approve(substrate, old, "why", BEN, NOW + 2)
    assert new[:12] in caught.value.next_step


# --- reasons -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "because",
    [None, "", "   ", "\n\t", "\u200b\u200d", "\ufeff", "\x00", "x" * 501, "e\u0301" * 501, 7],
    ids=["none", "empty", "blank", "lines", "zero width", "mark", "nul", "501", "501 decomposed", "number"],
)
@pytest.mark.parametrize("decision", DECISIONS)
def test_a_decision_without_a_reason_is_refused(decision: str, because: Any) -> None:
    """D16: 1 to 500 code points after NFC and trim, at every door."""
    substrate, address = in_status(STARTS[decision])
    with refused_unchanged(substrate, "LOP-E011"):
        DECISIONS[decision](substrate, address, because, BEN, NOW + 5)


@pytest.mark.parametrize("because", ["x" * 500, " " * 9 + "e\u0301" * 500 + "\n", "."])
def test_a_reason_of_500_composed_characters_is_kept_as_nfc(because: str) -> None:
    """D16: what is stored is what was measured."""
    substrate, address = in_status("pending")
    receipt = lifecycle.approve(substrate, address, because, BEN, NOW)
    assert receipt.because == because.replace("e\u0301", "é").strip()
    assert reports.chain(substrate, address).entries[-1].because == receipt.because


# --- rights ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decision", DECISIONS)
def test_each_decision_needs_exactly_its_rights(decision: str) -> None:
    """D17: each needed right is needed, no other is, and admin holds them all."""
    needed = NEEDS[decision]
    for lacking in needed:
        substrate, address = in_status(STARTS[decision])
        with refused_unchanged(substrate, "LOP-E022"):
            held = set(RIGHTS) - {lacking, "admin"}
            DECISIONS[decision](substrate, address, "why", caller("user:ben", held), NOW)
    for held in (needed, {"admin"}):
        substrate, address = in_status(STARTS[decision])
        assert DECISIONS[decision](substrate, address, "why", caller("user:ben", held), NOW).chain_verified


def test_a_missing_right_is_named() -> None:
    """LOP-E022 says what is missing and what is held."""
    substrate, address = in_status("pending")
    with refused("LOP-E022") as caught:
        lifecycle.approve(substrate, address, "why", caller("user:ben", ("read", "write")), NOW)
    assert caught.value.message == "this needs the right review; held: read, write"


@pytest.mark.parametrize("actor", ["agent:x", "AGENT:X", "Agent:x"])
@pytest.mark.parametrize("decision", ["approve", "approve_and_apply"])
def test_nobody_approves_what_they_created(decision: str, actor: str) -> None:
    """LIF-3, D14: on every way, with every right, in every spelling of the label; rejecting one's own is fine."""
    substrate = ReferenceSubstrate()
    cited = fact(substrate, "a", "b", "c")
    address = plant(substrate, draft([Add("fact", "shared", {"object": "d"})], [cited]), creator="agent:x")
    with refused_unchanged(substrate, "LOP-E021"):
        DECISIONS[decision](substrate, address, "why", caller(actor), NOW)
    assert lifecycle.approve(substrate, address, "why", BEN, NOW).chain_verified
    assert lifecycle.apply(substrate, address, "why", caller(actor), NOW).chain_verified


def test_the_creator_is_taken_from_the_chain_not_from_a_table() -> None:
    """D6: an edited ledger row neither frees its creator nor approves, it makes the chain fail."""

    class Edited(ReferenceSubstrate):
        edit: dict[str, Any] = {}  # noqa: RUF012

        def ledger_get(self, address: str) -> LedgerRow | None:
            row = audit.derive(self, address)
            return replace(row, **self.edit)

    substrate = Edited()
    cited = fact(substrate, "a", "b", "c")
    address = plant(substrate, draft([Add("fact", "shared", {"object": "d"})], [cited]), creator="agent:x")
    for edit in ({"creator": "user:other"}, {"status": "approved"}, {"severity": "high"}, {"identity": "0"}):
        substrate.edit = edit
        decide = lifecycle.apply if "status" in edit else lifecycle.approve
        with refused_unchanged(substrate, "LOP-E026"):
            decide(substrate, address, "why", caller("agent:x"), NOW)
        assert not reports.chain(substrate, address).verified


# --- destructive -------------------------------------------------------------------------------------


def destructive() -> tuple[ReferenceSubstrate, str, str]:
    substrate = ReferenceSubstrate()
    doomed = fact(substrate, "promo", "code", "SPRING-24")
    return substrate, plant(substrate, draft([Forget(doomed)], [doomed])), doomed


def test_the_fused_call_refuses_what_destroys() -> None:
    """D19: approve and apply in one call never forgets, whatever the rights."""
    substrate, address, _ = destructive()
    with refused_unchanged(substrate, "LOP-E023"):
        lifecycle.approve_and_apply(substrate, address, "why", ANA, NOW)


def test_a_destructive_apply_needs_approval_admin_and_the_flag() -> None:
    """LIF-4: each of the three alone is not enough, and nothing is recomputed from stored words (D8)."""
    substrate, address, doomed = destructive()
    with refused_unchanged(substrate, "LOP-E020"):
        lifecycle.apply(substrate, address, "why", ANA, NOW, allow_destructive=True)
    lifecycle.approve(substrate, address, "why", ANA, NOW)
    without = caller("user:ben", set(RIGHTS) - {"admin"})
    for who, flag in ((ANA, False), (without, True), (without, False)):
        with refused_unchanged(substrate, "LOP-E023"):
            lifecycle.apply(substrate, address, "why", who, NOW, allow_destructive=flag)
    plan = lifecycle.plan(substrate, address, ANA, allow_destructive=True)
    assert (plan.forgets, plan.undo, plan.refusal) == (1, False, None)
    lifecycle.apply(substrate, address, "why", ANA, NOW, allow_destructive=True)
    assert substrate.get(doomed) is None
    with refused_unchanged(substrate, "LOP-E020"):
        lifecycle.rollback(substrate, address, "why", ANA, NOW)


def test_a_memory_that_cannot_forget_says_so() -> None:
    """LOP-E032: a capability that is not there is no half-done apply."""
    substrate = BareSubstrate()
    doomed = fact(substrate, "promo", "code", "x")
    address = plant(substrate, draft([Forget(doomed)], [doomed]))
    lifecycle.approve(substrate, address, "why", ANA, NOW)
    with refused_unchanged(substrate, "LOP-E032"):
        lifecycle.apply(substrate, address, "why", ANA, NOW, allow_destructive=True)


# --- what is stale or broken -------------------------------------------------------------------------


def change(substrate: ReferenceSubstrate, how: str, target: str) -> None:
    match how:
        case "superseded":
            substrate.supersede(target, NewGrain("fact", "shared", NOW, {"subject": "x"}))
        case "retired":
            substrate.mark(target, "retire", fact(substrate, "o", "t", "h"))
        case "hidden":
            substrate.mark(target, "hide")
        case "forgotten":
            substrate.forget(target)


@pytest.mark.parametrize("how", ["superseded", "retired", "hidden", "forgotten"])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("decision", ["apply", "approve_and_apply"])
def test_a_target_that_changed_since_is_not_touched(decision: str, which: int, how: str) -> None:
    """APP-1: every grain the change names, the kept one too, must be what the finding saw; else LOP-E024."""
    substrate, address = in_status(STARTS[decision])
    change(substrate, how, [grain.address for grain in substrate.scan("fact")][which])
    with refused_unchanged(substrate, "LOP-E024"):
        DECISIONS[decision](substrate, address, "why", BEN, NOW + 1)
    assert statuses(substrate) == {address: STARTS[decision]}
    assert (lifecycle.plan(substrate, address, BEN).refusal or "").startswith("LOP-E024")


def test_a_lesson_that_somebody_wrote_meanwhile_is_not_written_twice() -> None:
    """An add that would only be a duplicate is stale; the next run proposes to supersede instead."""
    substrate = ReferenceSubstrate()
    calls(substrate, "x", "Boom", 5)
    go(substrate)
    fact(substrate, "x", "fails_with", "BOOM", NOW)
    with refused_unchanged(substrate, "LOP-E024"):
        lifecycle.approve_and_apply(substrate, only(substrate), "why", ANA, NOW)
    assert go(substrate, NOW + 1).refreshed == 1
    lifecycle.approve_and_apply(substrate, only(substrate), "why", ANA, NOW + 1)
    assert [g.get("object") for g in substrate.scan("fact") if g.live] == ["boom"]


def test_a_proposal_into_a_reserved_namespace_is_refused_at_apply() -> None:
    """D7: a stored proposal is checked again when it is applied, so planted bytes change nothing."""
    substrate = ReferenceSubstrate()
    cited = fact(substrate, "a", "b", "c")
    inside = substrate.put(NewGrain("fact", "deja-loop", NOW, {"subject": "s"})).address
    for operation in (
        Add("fact", "deja-loop", {"object": "x"}),
        Add("fact", "agent:authz", {"object": "x"}),
        Add("recommendation", "shared", {"object": "x"}),
        Add("fact", "shared", {"ns": "deja-loop"}),
        Supersede(cited, "fact", "loop", {"object": "x"}),
        Retire(inside, cited),
        Retire(cited, inside),
    ):
        address = plant(substrate, draft([operation], [cited], target_ref=f"grain:{operation!r}"))
        lifecycle.approve(substrate, address, "why", ANA, NOW)
        with refused_unchanged(substrate, "LOP-E011"):
            lifecycle.apply(substrate, address, "why", ANA, NOW)


def test_advice_cannot_be_applied() -> None:
    """Approving it acknowledges it; apply is LOP-E011."""
    substrate = ReferenceSubstrate()
    address = plant(substrate, draft([], [fact(substrate, "a", "b", "c")]))
    with refused_unchanged(substrate, "LOP-E011"):
        lifecycle.approve_and_apply(substrate, address, "why", ANA, NOW)
    assert lifecycle.approve(substrate, address, "why", ANA, NOW).chain_verified
    with refused_unchanged(substrate, "LOP-E011"):
        lifecycle.apply(substrate, address, "why", ANA, NOW)


@pytest.mark.parametrize("decision", DECISIONS)
def test_nothing_is_decided_on_a_chain_that_does_not_verify(decision: str) -> None:
    """LIF-5: flipped bytes anywhere in the chain stop every decision."""
    substrate, address = in_status(STARTS[decision])
    flipped = reports.chain(substrate, address).entries[0].address
    substrate.intact = lambda one: one != flipped  # type: ignore[attr-defined]
    with refused_unchanged(substrate, "LOP-E026"):
        DECISIONS[decision](substrate, address, "why", BEN, NOW + 1)
    if STARTS[decision] != "applied":
        assert (lifecycle.plan(substrate, address, BEN).refusal or "").startswith("LOP-E026")


def test_a_malformed_recommendation_is_refused_with_its_code() -> None:
    """LOP-E012 or LOP-E040, never an accident of Python."""
    substrate = ReferenceSubstrate()
    bad = substrate.put(NewGrain("recommendation", "deja-loop", NOW, {"proposal_data": "x"})).address
    for decide in DECISIONS.values():
        with refused_unchanged(substrate, "LOP-E012"):
            decide(substrate, bad, "why", ANA, NOW)


# --- the fused call and dry runs ---------------------------------------------------------------------


def test_the_fused_call_writes_both_entries_with_one_reason() -> None:
    """Loop-engine §11: approve and apply, each its own grain, in one act."""
    substrate, address = in_status("pending")
    lifecycle.approve_and_apply(substrate, address, "same thing", BEN, NOW + 1)
    told = [(e.from_status, e.to_status, e.because) for e in reports.chain(substrate, address).entries]
    assert told[1:] == [("pending", "approved", "same thing"), ("approved", "applied", "same thing")]


@pytest.mark.parametrize("rights", [("review", "apply"), ("review", "write"), ("apply", "write")])
def test_the_fused_call_leaves_no_approval_behind_even_without_acts(rights: tuple[str, ...]) -> None:
    """LIF-1 on a memory with five methods: what apply would refuse is refused before the approval."""
    substrate = BareSubstrate()
    fact(substrate, "acme", "likes", "tea")
    fact(substrate, "acme", "likes", "Tea")
    go(substrate)
    with refused_unchanged(substrate, "LOP-E022"):
        lifecycle.approve_and_apply(substrate, only(substrate), "why", caller("user:ben", rights), NOW)


@pytest.mark.parametrize("status", STATUSES)
def test_a_plan_writes_nothing_and_says_what_would_refuse(status: str) -> None:
    """A dry run of an open one is clear; of a decided one it says there is nothing left to apply."""
    substrate, address = in_status(status)
    before = everything(substrate)
    plan = lifecycle.plan(substrate, address, BEN)
    assert everything(substrate) == before
    assert (plan.retires, plan.adds, plan.supersedes, plan.forgets, plan.undo) == (1, 0, 0, 0, True)
    assert (plan.refusal is None) == (status in ("pending", "approved"))


def test_a_plan_of_no_recommendation_is_refused() -> None:
    """D16: a dry run needs no reason, but it needs a recommendation."""
    substrate = memory()
    with refused("LOP-E040"):
        lifecycle.plan(substrate, "f" * 64, ANA)


def test_a_caller_without_write_sees_why_it_could_not_apply() -> None:
    """The plan is the caller's own."""
    substrate, address = in_status("pending")
    plan = lifecycle.plan(substrate, address, Caller("user:ben", frozenset({"read"})))
    assert (plan.refusal or "").startswith("LOP-E022")
