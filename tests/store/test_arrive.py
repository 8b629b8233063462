# SPDX-License-Identifier: Apache-2.0
"""What rows from another copy may change here, and what they may not (INV-ARRIVE)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from deja_tui.store.codec import Grain, address, encode, make_grain
from deja_tui.store.memory import Store
from deja_tui.store.write import with_parent
from tests.store.helpers import Clock, add, call, everything, fact, forget, note, refuses
from tests.store.rows import ADD, FORGET, SUPERSEDE, Row, row, write
from tests.support import NOW

HLC = NOW << 16


@pytest.fixture
def two(path: Path, store: Store, clock: Clock) -> Iterator[Store]:
    """Another copy beside `store`."""
    with Store.open(path.with_name("two.deja"), clock=clock) as opened:
        yield opened


def send(source: Store, target: Store) -> Any:
    """One bundle from one to the other."""
    path = Path(source.path).with_suffix(".mgb")
    source.bundle(path)
    return target.import_bundle(path)


def take(store: Store, *rows: Row) -> Any:
    """Rows made by hand."""
    return store.import_bundle(write(Path(store.path).with_suffix(".hand.mgb"), rows))


def superseding(old: str, grain: Grain) -> bytes:
    return encode(with_parent(grain, old))


def audit(
    effects: list[dict[str, str]], *, kind: str = "loop", namespace: str = "deja-loop", said: str = "why"
) -> bytes:
    """An audit Observation that says what an apply did."""
    context = {"audit": kind, "to": "applied", "from": "approved", "at": NOW, "effects": effects}
    return encode(note(said, namespace=namespace, context=context))


# --- supersession in any order (INV-ARRIVE-4) -------------------------------------------------------


def test_the_first_supersession_closes_and_the_second_stays_beside_it(store: Store, two: Store) -> None:
    """INV-ARRIVE-4, INV-CHAIN-3: both copies superseded one grain: each keeps its own flip, both have both tips and one fork."""
    (base,) = add(store, fact())
    send(store, two)
    mine, theirs = (one_act(which, base, fact(object=said)) for which, said in ((store, "rum"), (two, "gin")))
    send(store, two)
    send(two, store)
    for copy, closed_by in ((store, mine), (two, theirs)):
        old = copy.get(base)
        assert old is not None
        assert (old.live, old.superseded_by) == (False, closed_by)
        (fork,) = copy.forks()
        assert {tip.address for tip in fork.tips} == {mine, theirs}
        assert fork.ancestor == base
        assert copy.verify(deep=True) == ()


def one_act(store: Store, old: str, grain: Grain) -> str:
    with store.act() as act:
        return act.supersede(old, grain).address


def test_a_grain_that_comes_after_what_superseded_it_is_closed(store: Store) -> None:
    """Whatever the order of bundles: the parent is never live beside its successor."""
    old = encode(fact())
    new = superseding(address(old), fact(object="rum"))
    take(store, row(ADD, HLC + 2, new), row(SUPERSEDE, HLC + 3, new))
    take(store, row(ADD, HLC + 1, old))
    assert [grain.address for grain in store.heads("shared", "ada", "likes")] == [address(new)]
    assert [grain.address for grain in store.history(address(old))] == [address(new), address(old)]
    assert take(store, row(ADD, HLC + 1, old)).applied == 0
    assert store.verify(deep=True) == ()


def test_a_supersession_that_comes_apart_from_its_grain_counts(store: Store) -> None:
    """The grain was here as a plain one; the row of its supersession comes later, with bytes or without."""
    old = encode(fact())
    new = superseding(address(old), fact(object="rum"))
    take(store, row(ADD, HLC, old), row(ADD, HLC + 1, new))
    assert len(store.heads("shared", "ada", "likes")) == 2
    take(store, row(SUPERSEDE, HLC + 2, address=address(new)))
    assert [grain.address for grain in store.heads("shared", "ada", "likes")] == [address(new)]
    assert take(store, row(SUPERSEDE, HLC + 2, new)).applied == 0
    assert store.verify(deep=True) == ()


def test_a_supersession_without_its_add_is_taken_whole(store: Store) -> None:
    """The row has the bytes; it is logged as an arrival and a supersession."""
    old = encode(fact())
    new = superseding(address(old), fact(object="rum"))
    report = take(store, row(ADD, HLC, old), row(SUPERSEDE, HLC + 2, new))
    assert (report.added, report.superseded) == (2, 1)
    assert [entry.kind for entry in store.log()] == ["add", "add", "supersede"]
    assert store.verify(deep=True) == ()


def test_what_is_replaced_is_the_first_parent_whoever_wrote_the_list(store: Store, two: Store) -> None:
    """A writer's list of parents may name it anywhere: the bundle still closes it and nothing else."""
    other, old = add(store, note("evidence"), fact())
    send(store, two)
    with store.act() as act:
        act.supersede(old, fact(object="rum", derived_from=[other, old]))
    send(store, two)
    assert [two.get(address).live for address in (other, old)] == [True, False]  # type: ignore[union-attr]


def test_a_chain_leads_across_what_was_forgotten_on_the_way(store: Store, two: Store) -> None:
    """A superseded by B, B by C, B forgotten before it was sent: C is the head, A stays closed."""
    (one,) = add(store, fact())
    send(store, two)
    second = one_act(store, one, fact(object="b"))
    third = one_act(store, second, fact(object="c"))
    forget(store, second)
    report = send(store, two)
    assert report.why["gone"] == 2
    assert two.heads("shared", "ada", "likes")[0].address == third


def test_a_merge_closes_every_tip_here_too(store: Store, two: Store) -> None:
    """One row in the bundle, all parents closed; a tip that something else took stays as it is."""
    tips = add(store, fact(object="a"), fact(object="b", at=NOW + 1))
    send(store, two)
    context = {"merge_parents": [tips[1], tips[0]]}
    with store.act() as act:
        merged = act.merge([tips[1], tips[0]], fact(object="b", derived_from=tips[1], context=context))
    assert send(store, two).superseded == 1
    assert [grain.address for grain in two.heads("shared", "ada", "likes")] == [merged.address]
    assert {grain.address for grain in two.history(tips[0])} == {*tips, merged.address}
    assert two.verify(deep=True) == ()


def test_recommendations_supersede_by_their_proposal_not_their_evidence(store: Store, two: Store) -> None:
    """Evidence stands first among their parents and is not closed by a refresh."""
    (evidence,) = add(store, fact())

    def finding(at: int, refreshes: str | None = None) -> Grain:
        proposal = {"action": "x", "ops": [], "evidence_total": 1, "since": NOW}
        fields = {
            "target_ref": "entity:shared/ada",
            "analyzer": {"id": "loop.x/1", "params": {}},
            "summary": {"template_id": "x", "args": {}},
            "dedup_key": "0" * 64,
            "severity": "low",
            "proposal_data": proposal if refreshes is None else {**proposal, "refreshes": refreshes},
            "derived_from": [evidence] if refreshes is None else [evidence, refreshes],
        }
        return make_grain("recommendation", fields, namespace="deja-loop", created_at=at)

    with store.act(governed=True) as act:
        first = act.add(finding(NOW)).address
        second = act.supersede(first, finding(NOW + 1, first)).address
    send(store, two)
    assert [two.get(a).live for a in (evidence, first, second)] == [True, False, True]  # type: ignore[union-attr]


# --- what was forgotten (INV-ARRIVE-6) --------------------------------------------------------------


def test_what_was_forgotten_here_does_not_come_back(store: Store, two: Store) -> None:
    """By address, and by source key under other bytes."""
    keyed = note("said it", context={"source_key": "s:1"})
    plain, source = add(store, fact(), keyed)
    send(store, two)
    forget(two, plain)
    forget(two, source)
    report = send(store, two)
    assert (report.applied, report.why["forgotten"]) == (0, 2)
    masked = encode(note("said **", context={"source_key": "s:1"}))
    assert take(two, row(ADD, HLC + 9, masked)).why == {"forgotten": 1}
    assert two.stats()["grains"] == 0


def test_what_was_forgotten_there_is_erased_here_and_stays_out(store: Store, two: Store) -> None:
    """Also when it was never here: an old bundle does not bring it."""
    (gone,) = add(store, fact("secret"))
    send(store, two)
    old = Path(store.path).with_suffix(".old.mgb")
    store.bundle(old)
    forget(store, gone)
    assert send(store, two).forgotten == 1
    assert two.get(gone) is None
    third = Store.open(Path(store.path).with_name("three.deja"))
    with third:
        assert send(store, third).forgotten == 1
        assert third.import_bundle(old).why == {"forgotten": 1}
        assert third.stats()["grains"] == 0
        assert third.verify(deep=True) == ()


def test_a_source_that_is_here_is_not_taken_twice(store: Store, two: Store) -> None:
    """Two copies captured one record, masked differently; its completion closes whichever is here (D32)."""

    def recorded(said: str, **more: Any) -> Grain:
        return call("search", said, context={"source_key": "s:1"}, tool_call_id=said, **more)

    (mine,) = add(store, recorded("a"))
    (theirs,) = add(two, recorded("b"))
    with two.act() as act:
        done = act.supersede(theirs, recorded("b", duration_ms=3), source_key="s:1").address
    report = send(two, store)
    assert report.why == {"source": 1}
    assert [g.address for g in store.recall(namespace="shared", type="tool")] == [done]
    assert store.get(mine).superseded_by == done  # type: ignore[union-attr]
    assert store.verify(deep=True) == ()


# --- governance (INV-ARRIVE-5) ----------------------------------------------------------------------


def governed(store: Store, *grains: Grain) -> list[str]:
    return add(store, *grains, governed=True)


def test_nothing_from_outside_touches_what_the_engine_wrote_here(store: Store) -> None:
    """A supersession, an erasure, a mark: each is refused, told, and changes nothing."""
    (mine,) = governed(store, note("audit", namespace="deja-loop"))
    taking = superseding(mine, note("other", namespace="deja-loop"))
    hiding = audit([{"do": "hide", "grain": mine}])
    report = take(
        store,
        row(ADD, HLC + 1, taking),
        row(SUPERSEDE, HLC + 2, taking),
        row(FORGET, HLC + 3, address=mine),
        row(ADD, HLC + 4, hiding),
    )
    assert report.refused == 3
    assert {refused.code for refused in report.refusals} == {"VAL-E004"}
    kept = store.get(mine)
    assert kept is not None
    assert (kept.live, kept.imported) == (True, False)
    assert store.get(address(taking)).imported  # type: ignore[union-attr]


def test_a_reserved_grain_takes_no_plain_ones_place(store: Store) -> None:
    """Nor the other way round, whichever comes first."""
    (mine,) = add(store, fact())
    odd = superseding(mine, fact(namespace="agent:x"))
    late = encode(fact("late"))
    early = superseding(address(late), fact("late", namespace="agent:x"))
    take(store, *(row(op, HLC + 1, blob) for blob in (odd, early) for op in (ADD, SUPERSEDE)))
    take(store, row(ADD, HLC + 9, late))
    assert store.get(mine).live  # type: ignore[union-attr]
    assert store.get(address(late)).live  # type: ignore[union-attr]


def test_foreign_governance_lives_its_own_life(store: Store, two: Store) -> None:
    """Grants and audits that came may be superseded by what comes; a foreign recommendation may be erased."""
    (grant,) = governed(store, fact("agent:w", "mg:permits", "read ON *", namespace="agent:authz"))
    send(store, two)
    with store.act(governed=True) as act:
        act.supersede(grant, fact("agent:w", "mg:permits", "revoked", namespace="agent:authz"))
    send(store, two)
    assert not two.get(grant).live  # type: ignore[union-attr]
    assert two.counts().grains == 0


# --- effects of audits (INV-ARRIVE-7) ---------------------------------------------------------------


def test_marks_travel_in_audits_and_only_once(store: Store, two: Store) -> None:
    """Retire, then undo: the other copy follows both; the same audits again change nothing."""
    one, other = add(store, fact(at=NOW), fact(at=NOW + 1))
    with store.act(governed=True) as act:
        act.mark(one, "retire", other)
        act.add(note("a", namespace="deja-loop", context=_context("retire", one, other)))
    send(store, two)
    old = two.get(one)
    assert old is not None
    assert (old.live, old.superseded_by) == (False, other)
    with store.act(governed=True) as act:
        act.mark(one, "reopen")
        act.add(note("b", namespace="deja-loop", context=_context("reopen", one, other)))
    assert send(store, two).marked == 1
    assert two.get(one).live  # type: ignore[union-attr]
    assert send(store, two).applied == 0
    assert two.verify(deep=True) == ()


def _context(do: str, grain: str, by: str | None = None) -> dict[str, Any]:
    effect = {"do": do, "grain": grain} if by is None else {"do": do, "grain": grain, "by": by}
    return {"audit": "loop", "to": "applied", "from": "approved", "at": NOW, "effects": [effect]}


def test_effects_on_a_grain_that_comes_later_are_carried_out_then(
    store: Store, two: Store, tmp_path: Path
) -> None:
    """INV-ARRIVE-7: an audit came before the grains it tells of, in a bundle that begins in the middle; undo too."""
    first, second, third = add(store, fact("a", at=NOW + 1), fact("a", at=NOW + 2), fact("a", at=NOW + 3))
    begin = store.stats()["operations"]
    for number, (do, grain) in enumerate((("retire", first), ("retire", second), ("reopen", second))):
        with store.act(governed=True) as act:
            act.mark(grain, do, third if do == "retire" else None)
            act.add(note(str(number), namespace="deja-loop", context=_context(do, grain, third)))
    for since in (begin, 0):
        store.bundle(tmp_path / "b.mgb", since)
        two.import_bundle(tmp_path / "b.mgb")
    for one in (store, two):
        assert [one.get(address).live for address in (first, second, third)] == [False, True, True]  # type: ignore[union-attr]
        assert one.verify(deep=True) == ()
    assert two.import_bundle(tmp_path / "b.mgb").applied == 0


def test_the_latest_of_two_copies_decisions_holds_in_any_order(path: Path) -> None:
    """INV-ARRIVE-7: both retired it in favour of the same grain and one undid that: the latest by the clock holds everywhere."""
    old, stays = encode(fact("old")), encode(fact("stays"))

    def told(clock: int, do: str) -> Row:
        effect = {"do": do, "grain": address(old), "by": address(stays)}
        return row(ADD, HLC + clock, audit([effect], said=f"{do} {clock}"))

    for last in ("reopen", "retire"):
        audits = [told(2, "retire"), told(3, "retire" if last == "reopen" else "reopen"), told(4, last)]
        for number, order in enumerate(permutations(audits)):
            with Store.open(path.with_name(f"{last}{number}.deja"), durability="normal") as copy:
                take(copy, row(ADD, HLC, old), row(ADD, HLC + 1, stays))
                for one in order:
                    take(copy, one)
                assert copy.get(address(old)).live is (last == "reopen"), order  # type: ignore[union-attr]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_what_took_a_place_and_was_erased_closes_it_in_any_order(
    store: Store, order: tuple[int, ...]
) -> None:
    """INV-ARRIVE-7: the audit, the grain it tells of, and the erasure itself come apart, in bundles that overlap."""
    old = encode(fact("old"))
    gone = address(superseding(address(old), fact("new")))
    effects = [{"do": "supersede", "grain": address(old), "by": gone}]
    told = audit(effects, kind="tier2", namespace="agent:authz")
    rows = [row(ADD, HLC + 3, told), row(ADD, HLC + 1, old), row(FORGET, HLC + 2, address=gone)]
    for number in order:
        take(store, rows[number])
    assert not store.get(address(old)).live  # type: ignore[union-attr]
    assert store.verify(deep=True) == ()
    before = everything(store)
    for number in order:
        take(store, rows[number])
    assert everything(store) == before


def test_a_reopening_of_something_else_is_not_ours(store: Store) -> None:
    """A grain that another grain closed here stays closed when a foreign undo names other grains."""
    old, new = add(store, fact(at=NOW), fact(at=NOW + 1))
    with store.act() as act:
        act.mark(old, "retire", new)
    take(store, row(ADD, HLC + 1, audit([{"do": "reopen", "grain": old, "by": "0" * 64}])))
    assert not store.get(old).live  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "blob",
    [
        pytest.param(lambda a: audit([{"do": "hide", "grain": a}], namespace="shared"), id="plain namespace"),
        pytest.param(lambda a: audit([{"do": "hide", "grain": a}], kind="other"), id="another kind"),
        pytest.param(lambda a: audit([{"do": "forget", "grain": a}]), id="an erasure"),
        pytest.param(lambda a: audit([{"do": "explode", "grain": a}]), id="no such effect"),
        pytest.param(lambda a: audit([{"do": "hide", "grain": a[:8]}]), id="no address"),
        pytest.param(lambda a: audit(["hide"]), id="no map"),
    ],
)
def test_only_audits_mark_and_only_what_they_may(store: Store, blob: Any) -> None:
    """Anything else in such a grain is text."""
    (mine,) = add(store, fact())
    assert take(store, row(ADD, HLC + 1, blob(mine))).marked == 0
    assert store.get(mine).live  # type: ignore[union-attr]


def test_undo_takes_back_one_step_not_what_others_did(store: Store, two: Store) -> None:
    """A superseded here by B and there by C: when B is undone here, C still stands, so A stays closed (INV-CHAIN-4)."""
    (base,) = add(store, fact())
    send(store, two)
    mine = one_act(store, base, fact(object="b"))
    theirs = one_act(two, base, fact(object="c"))
    send(two, store)
    with store.act(governed=True) as act:
        act.mark(mine, "hide")
        act.mark(base, "reopen", mine)
    assert [grain.address for grain in store.heads("shared", "ada", "likes")] == [theirs]
    assert store.get(base).superseded_by == theirs  # type: ignore[union-attr]
    assert store.verify(deep=True) == ()


# --- counting ---------------------------------------------------------------------------------------


def test_what_came_counts_as_arrived(store: Store, two: Store) -> None:
    """Counters count by arrival, reserved namespaces excluded; positions rise (D38)."""
    add(store, fact(), call(failed=True), call("other"))
    governed(store, note("x", namespace="deja-loop"))
    add(two, fact("own"))
    before = two.position()
    send(store, two)
    after = two.position()
    assert (after.grains - before.grains, after.errors - before.errors) == (3, 1)
    assert after.seq > before.seq
    assert [g.imported for g in two.scan("fact")] == [False, True]


def test_origins_are_known_from_the_log_not_from_bytes(store: Store, two: Store) -> None:
    """INV-ARRIVE-3: What comes back to its writer stays local there."""
    (mine,) = add(store, fact())
    send(store, two)
    send(two, store)
    assert not store.get(mine).imported  # type: ignore[union-attr]
    assert two.get(mine).imported  # type: ignore[union-attr]


def test_an_import_needs_a_writable_memory(path: Path, store: Store, tmp_path: Path) -> None:
    """A memory opened for reading refuses, and nothing is half done."""
    store.close()
    with Store.open(path, read_only=True) as reading, refuses("STO-E005"):
        take(reading, row(ADD, HLC, encode(fact())))
