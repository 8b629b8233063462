# SPDX-License-Identifier: Apache-2.0
"""Heads, forks, history and provenance, on chains made by hand (INV-CHAIN)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deja_tui.store.memory import Store
from tests.store.helpers import Clock, add, fact, forget, note, refuses
from tests.support import NOW


@pytest.fixture
def two(path: Path, store: Store, clock: Clock) -> Iterator[Store]:
    with Store.open(path.with_name("two.deja"), clock=clock) as opened:
        yield opened


def send(source: Store, target: Store) -> None:
    path = Path(source.path).with_suffix(".mgb")
    source.bundle(path)
    target.import_bundle(path)


def supersede(store: Store, old: str, said: str, at: int = NOW) -> str:
    with store.act() as act:
        return act.supersede(old, fact(object=said, at=at)).address


def forked(store: Store, two: Store, *, at: int = NOW) -> tuple[str, str, str]:
    """(base, tip made here, tip made there) in both copies."""
    (base,) = add(store, fact())
    send(store, two)
    mine, theirs = supersede(store, base, "rum", at), supersede(two, base, "gin", NOW)
    send(store, two)
    send(two, store)
    return base, mine, theirs


def said(found: list[object]) -> list[str]:
    return [grain.get("object") for grain in found]  # type: ignore[attr-defined]


# --- heads and forks --------------------------------------------------------------------------------


def test_two_plain_adds_are_two_heads_and_no_fork(store: Store) -> None:
    """INV-CHAIN-1, INV-CHAIN-2: The provisional head is the greatest by (created_at, clock, address) (D3)."""
    add(store, fact(object="later", at=NOW + 5), fact(object="earlier", at=NOW))
    assert said(store.heads("shared", "ada", "likes")) == ["later", "earlier"]
    assert store.forks() == []
    assert store.latest("shared", "ada", "likes").get("object") == "later"  # type: ignore[union-attr]
    assert store.heads("shared", "ada", "hates") == []
    assert store.heads("nowhere", "ada", "likes") == []


def test_ties_of_time_and_clock_are_settled_by_address(store: Store, two: Store) -> None:
    """Two copies with one clock: both name the same provisional head."""
    _, mine, theirs = forked(store, two)
    for copy in (store, two):
        (fork,) = copy.forks()
        assert [tip.address for tip in fork.tips] == [g.address for g in copy.heads("shared", "ada", "likes")]
        assert {tip.address for tip in fork.tips} == {mine, theirs}


def test_a_fork_lasts_until_one_tip_is_left(store: Store, two: Store) -> None:
    """Superseding one tip moves the fork; forgetting one closes it, the other is current."""
    base, mine, theirs = forked(store, two)
    newer = supersede(store, mine, "rum and tea")
    (fork,) = store.forks()
    assert {tip.address for tip in fork.tips} == {newer, theirs}
    assert fork.ancestor == base
    forget(store, theirs)
    assert store.forks() == []
    assert [grain.address for grain in store.heads("shared", "ada", "likes")] == [newer]


def test_a_fork_is_found_across_a_forgotten_link(store: Store, two: Store) -> None:
    """INV-CHAIN-5: What lies between ancestor and tip may be gone: the chain is walkable all the same (INV-ERASE-3)."""
    base, mine, theirs = forked(store, two)
    newer = supersede(store, mine, "rum and tea")
    forget(store, mine)
    later = supersede(store, theirs, "gin and tea")
    forget(store, theirs)
    (fork,) = store.forks()
    assert {tip.address for tip in fork.tips} == {newer, later}
    assert fork.ancestor == base


def test_forks_inside_forks_are_one(store: Store, two: Store) -> None:
    """Three tips of one grain, two of them of a nearer one: one fork, the ancestor of all."""
    base, mine, theirs = forked(store, two)
    left, right = supersede(store, mine, "left"), supersede(two, mine, "right")
    send(store, two)
    send(two, store)
    for copy in (store, two):
        (fork,) = copy.forks()
        assert {tip.address for tip in fork.tips} == {left, right, theirs}
        assert fork.ancestor == base


def test_forks_are_asked_for_by_namespace(store: Store, two: Store) -> None:
    """Reserved ones only when they are named."""
    forked(store, two)
    assert len(store.forks(["shared"])) == 1
    assert store.forks(["other"]) == []
    blob = [
        fact("a", "mg:permits", verbs, namespace="agent:authz", at=NOW + n) for n, verbs in enumerate("rw")
    ]
    (grant,) = add(two, fact("a", "mg:permits", namespace="agent:authz"), governed=True)
    send(two, store)
    for copy, grain in ((two, blob[0]), (store, blob[1])):
        with copy.act(governed=True) as act:
            act.supersede(grant, grain)
    send(two, store)
    assert len(store.forks()) == 1
    assert len(store.forks(["agent:authz"])) == 1


# --- merge ------------------------------------------------------------------------------------------


def merging(store: Store, *tips: str) -> str:
    context = {"merge_parents": list(tips)}
    with store.act() as act:
        grain = fact(object="both", at=NOW + 9, derived_from=tips[0], context=context)
        return act.merge(tips, grain).address


def test_a_merge_closes_all_tips_with_one_grain(store: Store, two: Store) -> None:
    """The fork is gone, every tip says what took its place, and the other copy follows."""
    base, mine, theirs = forked(store, two)
    merged = merging(store, mine, theirs)
    send(store, two)
    for copy in (store, two):
        assert copy.forks() == []
        assert [copy.get(tip).superseded_by for tip in (mine, theirs)] == [merged, merged]  # type: ignore[union-attr]
        assert copy.verify(deep=True) == ()
    assert store.get(base).superseded_by == mine  # type: ignore[union-attr]


def test_two_merges_of_one_fork_are_a_fork_again(store: Store, two: Store) -> None:
    """Each copy merged on its own: two tips, until one of them is merged."""
    _, mine, theirs = forked(store, two)
    one, other = merging(store, mine, theirs), merging(two, theirs, mine)
    send(store, two)
    send(two, store)
    for copy in (store, two):
        (fork,) = copy.forks()
        assert {tip.address for tip in fork.tips} == {one, other}


def test_a_merge_is_refused_unless_it_is_one(store: Store) -> None:
    """Two live tips that its own parents name, and nothing is written otherwise."""
    first, second = add(store, fact(object="a"), fact(object="b"))
    with refuses("VAL-E001"):
        merging(store, first)
    with refuses("VAL-E001"), store.act() as act:
        act.merge([first, second], fact(object="both", derived_from=first))
    with refuses("MEM-E001"):
        merging(store, first, "0" * 64)
    supersede(store, second, "c")
    with refuses("MEM-E002"):
        merging(store, first, second)
    (kept,) = add(store, note("x", namespace="deja-loop"), governed=True)
    with refuses("VAL-E004"):
        merging(store, first, kept)
    assert store.stats()["grains"] == 4


# --- history ----------------------------------------------------------------------------------------


def test_history_goes_both_ways_through_every_kind_of_link(store: Store, two: Store) -> None:
    """Superseded, merged and retired grains, from any of them, what took a place before what had it."""
    base, mine, theirs = forked(store, two, at=NOW + 3)
    copy_of_it = add(store, fact(object="RUM", at=NOW + 1))[0]
    with store.act() as act:
        act.mark(copy_of_it, "retire", mine)
    merged = merging(store, mine, theirs)
    whole = [merged, mine, copy_of_it, theirs, base]
    for start in (base, mine, copy_of_it, merged):
        assert [grain.address for grain in store.history(start)] == whole
    assert {grain.address for grain in store.history(theirs)} == set(whole)


def test_history_is_bounded_and_ends_on_rings(store: Store) -> None:
    """INV-CHAIN-5: A limit cuts the oldest off; marks that go round in a ring end it."""
    (head,) = add(store, fact())
    for number in range(9):
        head = supersede(store, head, f"v{number}", NOW + number)
    assert said(store.history(head, 3)) == ["v8", "v7", "v6"]
    one, other = add(store, fact("x"), fact("y"))
    with store.act() as act:
        act.mark(one, "retire", other)
        act.mark(other, "retire", one)
    assert len(store.history(one)) == 2
    assert store.history("0" * 64) == []
    assert store.history("not an address") == []


# --- provenance -------------------------------------------------------------------------------------


def test_provenance_walks_up_and_down_nearest_first(store: Store) -> None:
    """Each step has its distance and the grain it was reached through; a missing one is named."""
    (source,) = add(store, note("raw"))
    middle = add(store, fact(object="from raw", derived_from=[source, "f" * 64]))[0]
    leaf = add(store, fact(object="leaf", derived_from=middle), fact(object="twig", derived_from=middle))
    found = store.provenance(middle)
    assert found is not None
    assert [(step.depth, step.address, step.of) for step in found.parents] == [
        (1, source, middle),
        (1, "f" * 64, middle),
    ]
    assert found.parents[1].grain is None
    assert {step.address for step in found.children} == set(leaf)
    down = store.provenance(source)
    assert down is not None
    assert [step.depth for step in down.children] == [1, 2, 2]
    assert down.complete


def test_provenance_is_bounded_by_depth_and_number(store: Store) -> None:
    """INV-CHAIN-5: What is cut off is said."""
    (at,) = add(store, note("0"))
    first = at
    for number in range(1, 6):
        (at,) = add(store, note(str(number), derived_from=at))
    near = store.provenance(first, 2)
    assert near is not None
    assert (len(near.children), near.complete) == (2, False)
    few = store.provenance(first, 32, 3)
    assert few is not None
    assert (len(few.children), few.complete) == (3, False)
    whole = store.provenance(first)
    assert whole is not None
    assert (len(whole.children), whole.complete) == (5, True)
    assert store.provenance("0" * 64) is None
    assert store.provenance("x") is None


def test_a_forgotten_parent_is_named_and_not_shown(store: Store) -> None:
    """The child still says where it was from."""
    (source,) = add(store, note("raw"))
    (child,) = add(store, fact(derived_from=source))
    forget(store, source)
    found = store.provenance(child)
    assert found is not None
    assert [(step.address, step.grain) for step in found.parents] == [(source, None)]
