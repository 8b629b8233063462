# SPDX-License-Identifier: Apache-2.0
"""Apply and undo: all of it or nothing, and after an undo recall answers what it answered before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
)

from deja_tui.engine import apply as applying
from deja_tui.engine import audit, lifecycle, reports, views
from deja_tui.engine.operations import Add, Forget, Operation, Retire, Supersede
from deja_tui.engine.substrate import LOOP_NAMESPACE, MarkKind, NewGrain, Put, Substrate
from deja_tui.reference import BareSubstrate, ReferenceSubstrate
from tests.engine.helpers import ANA, calls, draft, everything, fact, go, plant, recalled, refusal_of, refused
from tests.engine.helpers import refused_unchanged as unchanged
from tests.support import DAY, NOW


def planted(
    substrate: Substrate, operations: Callable[[list[str]], list[Operation]], count: int = 4
) -> tuple[str, list[str]]:
    """A memory of ``count`` facts with one approved recommendation whose operations are made from their addresses."""
    facts = [fact(substrate, f"s{n}", "r", "o", NOW - DAY + n) for n in range(count)]
    address = plant(substrate, draft(operations(facts), facts[:1]))
    lifecycle.approve(substrate, address, "seen", ANA, NOW)
    return address, facts


def new(text: str) -> dict[str, Any]:
    return {"subject": text, "relation": "is", "object": text}


KINDS: dict[str, Callable[[list[str]], list[Operation]]] = {
    "add": lambda f: [Add("fact", "shared", new("a"))],
    "supersede": lambda f: [Supersede(f[0], "fact", "shared", new("b"))],
    "retire": lambda f: [Retire(f[1], f[0])],
    "several": lambda f: [
        Retire(f[1], f[0]),
        Add("fact", "shared", new("a")),
        Supersede(f[2], "fact", "shared", new("b")),
        Retire(f[3], f[0]),
        Add("observation", "shared", {"body": "x"}),
    ],
}


# --- what an apply does ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_an_undo_restores_what_recall_returned(kind: str) -> None:
    """APP-4: the same live grains in the same order; what the apply wrote is hidden, not rewritten."""
    substrate = ReferenceSubstrate()
    address, facts = planted(substrate, KINDS[kind])
    before, marks = recalled(substrate), {one: substrate.get(one) for one in facts}
    applied = lifecycle.apply(substrate, address, "do it", ANA, NOW + 1)
    assert recalled(substrate) != before
    lifecycle.rollback(substrate, address, "undo it", ANA, NOW + 2)
    assert recalled(substrate) == before
    assert {one: substrate.get(one) for one in facts} == marks
    for written in applied.results:
        grain = substrate.get(written)
        assert grain is not None
        assert (grain.live, grain.superseded_by) == (False, None)


def test_effects_and_inverse_are_stored_with_the_decision() -> None:
    """APP-2, D2: both stand in the audit grain, in order and in reverse, so a lost table loses no undo."""
    substrate = ReferenceSubstrate()
    address, f = planted(substrate, KINDS["several"])
    receipt = lifecycle.apply(substrate, address, "do it", ANA, NOW + 1)
    a, b, c = receipt.results
    entry = reports.chain(substrate, address).entries[-1]
    assert entry.effects == (
        {"do": "retire", "grain": f[1], "by": f[0]},
        {"do": "add", "grain": a},
        {"do": "supersede", "grain": f[2], "by": b},
        {"do": "retire", "grain": f[3], "by": f[0]},
        {"do": "add", "grain": c},
    )
    assert entry.inverse == (
        {"do": "hide", "grain": c},
        {"do": "reopen", "grain": f[3], "by": f[0]},
        {"do": "hide", "grain": b},
        {"do": "reopen", "grain": f[2], "by": b},
        {"do": "hide", "grain": a},
        {"do": "reopen", "grain": f[1], "by": f[0]},
    )
    lifecycle.rollback(substrate, address, "undo it", ANA, NOW + 2)
    assert reports.chain(substrate, address).entries[-1].effects == entry.inverse


def test_what_an_apply_adds_names_its_recommendation() -> None:
    """Provenance goes from the lesson to the recommendation and on to its evidence."""
    substrate = ReferenceSubstrate()
    address, _ = planted(substrate, KINDS["add"])
    (written,) = lifecycle.apply(substrate, address, "do it", ANA, NOW + 1).results
    grain = substrate.get(written)
    assert grain is not None
    assert grain.get("derived_from") == address
    assert (grain.created_at, grain.namespace, grain.get("object")) == (NOW + 1, "shared", "a")
    address, f = planted(substrate, KINDS["supersede"])
    (written,) = lifecycle.apply(substrate, address, "do it", ANA, NOW + 2).results
    grain = substrate.get(written)
    assert grain is not None
    assert grain.get("derived_from") == [f[0], address]


def test_forgetting_leaves_no_inverse() -> None:
    """D9: a forget among the operations makes the whole apply one that cannot be undone, and it is said before."""
    substrate = ReferenceSubstrate()
    address, f = planted(substrate, lambda f: [Forget(f[0]), Retire(f[2], f[1])])
    assert lifecycle.plan(substrate, address, ANA, allow_destructive=True).undo is False
    lifecycle.apply(substrate, address, "do it", ANA, NOW + 1, allow_destructive=True)
    assert reports.chain(substrate, address).entries[-1].inverse is None
    with unchanged(substrate, "LOP-E020"):
        lifecycle.rollback(substrate, address, "undo", ANA, NOW + 2)
    assert substrate.get(f[0]) is None


# --- an inverse that no longer fits ------------------------------------------------------------------

Change = Callable[[ReferenceSubstrate, str, list[str]], object]
LATER: dict[str, Change] = {
    "the added one superseded": lambda s, a, f: s.supersede(a, NewGrain("fact", "shared", NOW + 2, new("z"))),
    "the added one hidden": lambda s, a, f: s.mark(a, "hide"),
    "the added one forgotten": lambda s, a, f: s.forget(a),
    "a retired one reopened": lambda s, a, f: s.mark(f[1], "reopen"),
    "a retired one retired again": lambda s, a, f: s.mark(f[1], "retire", f[2]),
    "a retired one forgotten": lambda s, a, f: s.forget(f[1]),
}


@pytest.mark.parametrize("what", LATER)
def test_an_inverse_that_no_longer_fits_changes_nothing(what: str) -> None:
    """APP-3: every step is checked before the first one is done; the refusal is LOP-E024."""
    substrate = ReferenceSubstrate()
    address, f = planted(substrate, lambda f: [Retire(f[1], f[0]), Add("fact", "shared", new("a"))])
    (added,) = lifecycle.apply(substrate, address, "do it", ANA, NOW + 1).results
    LATER[what](substrate, added, f)
    with unchanged(substrate, "LOP-E024"):
        lifecycle.rollback(substrate, address, "undo it", ANA, NOW + 3)


def test_applies_are_undone_in_turn() -> None:
    """Two applies on one grain: the later one is undone first, then the earlier one, back to the beginning."""
    substrate = ReferenceSubstrate()
    start = fact(substrate, "a", "b", "c")
    before = recalled(substrate)
    one = plant(substrate, draft([Supersede(start, "fact", "shared", new("x"))], [start]))
    (x,) = lifecycle.approve_and_apply(substrate, one, "why", ANA, NOW + 1).results
    two = plant(substrate, draft([Supersede(x, "fact", "shared", new("y"))], [x], target_ref="grain:two"))
    lifecycle.approve_and_apply(substrate, two, "why", ANA, NOW + 2)
    with unchanged(substrate, "LOP-E024"):
        lifecycle.rollback(substrate, one, "too early", ANA, NOW + 3)
    lifecycle.rollback(substrate, two, "why", ANA, NOW + 4)
    lifecycle.rollback(substrate, one, "why", ANA, NOW + 5)
    assert recalled(substrate) == before


def test_an_unknown_step_is_refused() -> None:
    """An inverse of a newer version is not guessed at."""
    substrate = ReferenceSubstrate()
    start = fact(substrate, "a", "b", "c")
    for step in ({"do": "merge", "grain": start}, {"grain": start}, {"do": "hide"}):
        assert applying.undo_refusal(substrate, [step]) is not None


# --- all or nothing ----------------------------------------------------------------------------------


class Failing(ReferenceSubstrate):
    """Its writes work until a countdown runs out, as on a disk that fills."""

    left: int | None = None

    def _tick(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise OSError("no room left")

    def put(self, grain: NewGrain) -> Put:
        self._tick()
        return super().put(grain)

    def mark(self, address: str, kind: MarkKind, by: str | None = None) -> None:
        self._tick()
        super().mark(address, kind, by)


@pytest.mark.parametrize("decision", ["apply", "rollback", "run"])
def test_a_failure_anywhere_leaves_nothing_of_the_act(decision: str) -> None:
    """SUB-5, design §8: whichever write fails, the memory is what it was, and trying again succeeds."""

    def prepared() -> tuple[Failing, Callable[[], object]]:
        substrate = Failing()
        if decision == "run":
            calls(substrate, "x", "boom", 5)
            fact(substrate, "a", "b", "c")
            fact(substrate, "a", "b", "C")
            return substrate, lambda: go(substrate)
        address, _ = planted(substrate, KINDS["several"])
        if decision == "apply":
            return substrate, lambda: lifecycle.apply(substrate, address, "why", ANA, NOW + 1)
        lifecycle.apply(substrate, address, "why", ANA, NOW + 1)
        return substrate, lambda: lifecycle.rollback(substrate, address, "why", ANA, NOW + 2)

    for allowed in range(40):
        substrate, act = prepared()
        before = everything(substrate)
        substrate.left = allowed
        try:
            act()
        except OSError:
            assert everything(substrate) == before
            substrate.left = None
            act()
        else:
            assert allowed > 3, "the act writes more than that"
            return
    pytest.fail("the act never ends")


class FailingBare(BareSubstrate):
    """Five methods, no acts, and a put that fails once for one kind of grain."""

    refuse: str | None = None

    def put(self, grain: NewGrain) -> Put:
        if grain.type == self.refuse and not grain.fields.get("context", {}).get("from") == "pending":
            raise OSError("no room left")
        return super().put(grain)


@pytest.mark.parametrize("refuse", ["goal", "observation"])
def test_a_failed_apply_is_taken_back_even_without_acts(refuse: str) -> None:
    """APP-5: a memory of five methods has its grains back; only hidden ones are left over."""
    substrate = FailingBare()
    address, _ = planted(
        substrate,
        lambda f: [
            Retire(f[1], f[0]),
            Supersede(f[2], "fact", "shared", new("b")),
            Add("goal", "shared", {"description": "g"}),
        ],
    )
    before = recalled(substrate)
    substrate.refuse = refuse
    with pytest.raises(OSError, match="no room"):
        lifecycle.apply(substrate, address, "why", ANA, NOW + 1)
    assert recalled(substrate) == before
    assert [row.status for row in views.ledger(substrate)] == ["approved"]
    substrate.refuse = None
    lifecycle.apply(substrate, address, "why", ANA, NOW + 2)
    lifecycle.rollback(substrate, address, "why", ANA, NOW + 3)
    assert recalled(substrate) == before


def test_a_write_that_is_already_there_undoes_the_rest() -> None:
    """Hiding a grain that somebody else wrote would not be an inverse, so the apply is refused as a whole."""
    for substrate in (ReferenceSubstrate(), BareSubstrate()):
        address, f = planted(
            substrate, lambda f: [Retire(f[1], f[0]), Supersede(f[2], "fact", "shared", new("b"))]
        )
        substrate.put(NewGrain("fact", "shared", NOW + 1, {**new("b"), "derived_from": [f[2], address]}))
        before = recalled(substrate)
        with refused("LOP-E024"):
            lifecycle.apply(substrate, address, "why", ANA, NOW + 1)
        assert recalled(substrate) == before
        assert f[1] in recalled(substrate)


# --- any history -------------------------------------------------------------------------------------

WORDS = st.sampled_from(["tea", "Tea", "TEA", "coffee"])
NAMES = st.sampled_from(["acme", "Acme", "bash"])


class Memories(RuleBasedStateMachine):
    """Any mix of writes, runs and decisions on one memory.

    * After a rollback, the live grains in recall order are what they were right before that apply, whenever nothing
      else was written in between; whatever happened in between, every chain verifies.
    * A run right after the apply of a fresh finding never proposes it again.
    * No two open recommendations share an identity.
    """

    facts = Bundle("facts")

    @initialize()
    def start(self) -> None:
        self.substrate = ReferenceSubstrate()
        self.now = NOW
        self.applied: dict[str, tuple[list[str], int]] = {}
        self.writes = 0

    def tick(self, by: int = 1) -> int:
        self.now += by
        return self.now

    @rule(target=facts, subject=NAMES, object_=WORDS)
    def add(self, subject: str, object_: str) -> str:
        self.writes += 1
        return fact(self.substrate, subject, "likes", object_, self.tick())

    @rule(tool=NAMES, result=WORDS, count=st.integers(1, 4))
    def fail(self, tool: str, result: str, count: int) -> None:
        self.writes += 1
        calls(self.substrate, tool, result, count, at=self.tick() - DAY)

    @rule(target=facts, tool=NAMES, result=WORDS)
    def write_a_lesson_by_hand(self, tool: str, result: str) -> str:
        self.writes += 1
        return fact(self.substrate, tool, "fails_with", result, self.tick())

    @rule(target=facts, old=consumes(facts), object_=WORDS)
    def supersede(self, old: str, object_: str) -> str:
        self.writes += 1
        content = {"subject": "acme", "relation": "likes", "object": object_}
        new = NewGrain("fact", "shared", self.tick(), content)
        grain = self.substrate.get(old)
        return self.substrate.supersede(old, new).address if grain is not None and grain.live else old

    @rule(retired=facts, kept=facts)
    def retire(self, retired: str, kept: str) -> None:
        grain = self.substrate.get(retired)
        if retired != kept and grain is not None and grain.live:
            self.writes += 1
            self.substrate.mark(retired, "retire", kept)

    @rule(wait=st.sampled_from([1, DAY, 8 * DAY]))
    def run(self, wait: int) -> None:
        go(self.substrate, self.tick(wait))

    @precondition(lambda self: views.ledger(self.substrate, ("pending",)))
    @rule(data=st.data())
    def apply(self, data: st.DataObject) -> None:
        fresh = data.draw(st.booleans())
        if fresh:
            go(self.substrate, self.tick())
        rows = views.ledger(self.substrate, ("pending",))
        if not rows:
            return
        row = data.draw(st.sampled_from(rows))
        before = recalled(self.substrate)
        whole, now = everything(self.substrate), self.tick()
        code = refusal_of(lambda: lifecycle.approve_and_apply(self.substrate, row.address, "why", ANA, now))
        if code is not None:
            assert code == "LOP-E024"
            assert everything(self.substrate) == whole
            return
        self.writes += 1
        self.applied[row.address] = (before, self.writes)
        if fresh:
            go(self.substrate, self.tick())
            open_ = views.ledger(self.substrate, ("pending", "approved"))
            assert row.identity not in [one.identity for one in open_]

    @precondition(lambda self: views.ledger(self.substrate, ("pending",)))
    @rule(data=st.data())
    def reject(self, data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(views.ledger(self.substrate, ("pending",))))
        lifecycle.reject(self.substrate, row.address, "why", ANA, self.tick())

    @precondition(lambda self: self.applied)
    @rule(data=st.data())
    def rollback(self, data: st.DataObject) -> None:
        address = data.draw(st.sampled_from(sorted(self.applied)))
        before, writes = self.applied[address]
        whole, now = everything(self.substrate), self.tick()
        code = refusal_of(lambda: lifecycle.rollback(self.substrate, address, "why", ANA, now))
        if code is not None:
            assert code == "LOP-E024"
            assert self.writes > writes, "only a later change can make an inverse unfit"
            assert everything(self.substrate) == whole
            return
        if self.writes == writes:
            assert recalled(self.substrate) == before
        del self.applied[address]
        self.writes += 1

    @invariant()
    def every_chain_verifies(self) -> None:
        for row in views.ledger(self.substrate):
            assert audit.chain(self.substrate, row).verified

    @invariant()
    def one_open_recommendation_an_identity(self) -> None:
        open_ = [row.identity for row in views.ledger(self.substrate, ("pending", "approved"))]
        assert len(open_) == len(set(open_))

    @invariant()
    def the_loop_writes_only_in_its_namespace(self) -> None:
        assert all(
            grain.type in ("recommendation", "observation")
            for grain in self.substrate.grains.values()
            if grain.namespace == LOOP_NAMESPACE
        )


Memories.TestCase.settings = settings(max_examples=30, stateful_step_count=20)
TestMemories = Memories.TestCase
