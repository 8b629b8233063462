# SPDX-License-Identifier: Apache-2.0
"""Signatures of notes (INV-NEAR-1, INV-NEAR-2): nothing near is missed, and they follow from the bytes alone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine.substrate import NewGrain
from deja_tui.store import near
from deja_tui.store.codec import Grain, make_grain
from deja_tui.store.fact_views import FactViews
from deja_tui.store.memory import Store
from deja_tui.store.sql import scalar
from tests.support import DAY, NOW

WORDS = [f"{a}{b}{c}" for a in "bdfgklm" for b in "aeiou" for c in "nrst"]


def note(text: str, at: int = NOW, namespace: str = "shared") -> Grain:
    fields = {"object": text, "observer_id": "a", "observer_type": "agent"}
    return make_grain("observation", fields, namespace=namespace, created_at=at)


def add(store: Store, *texts: str, namespace: str = "shared") -> list[str]:
    with store.act() as act:
        return [act.add(note(text, NOW + n, namespace)).address for n, text in enumerate(texts)]


def fill(store: Store) -> None:
    """Enough grains that everything before them is indexed."""
    with store.act() as act:
        for n in range(300):
            told = {"subject": f"s{n}", "relation": "r", "object": str(n)}
            act.add(make_grain("fact", told, namespace="shared", created_at=NOW))


def signs(text: str, namespace: str = "shared") -> frozenset[int]:
    return near.signatures(namespace, {"object": text})


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=60, unique=True),
    st.integers(0, 6),
    st.integers(0, 6),
    st.randoms(use_true_random=False),
)
def test_two_notes_that_are_near_share_a_signature(
    words: list[str], fewer: int, more: int, rng: random.Random
) -> None:
    """INV-NEAR-1, by drawing sets around the edge of a Jaccard of 0.9."""
    kept = rng.sample(words, max(1, len(words) - fewer))
    other = [*kept, *(f"other{'abcdefg'[n]}" for n in range(more))]
    mine, theirs = set(words), set(other)
    if 10 * len(mine & theirs) >= 9 * len(mine | theirs):
        assert signs(" ".join(words)) & signs(" ".join(other))


@pytest.mark.parametrize("size", [1, 2, 8, 9, 10, 18, 19, 20, 21, 22, 27, 28, 31, 32, 99, 100, 500, 1_500])
def test_every_size_at_its_edge(size: int) -> None:
    """As many words swapped or added as 0.9 allows, for sizes on both sides of every interval."""
    words = [
        f"w{'abcdefghij'[n % 10]}{'klmnopqrst'[n // 10 % 10]}{'uvwxyzabcd'[n // 100 % 10]}{'efghijklmn'[n // 1000]}"
        for n in range(size)
    ]
    assert len(set(words)) == size
    swaps = next(n for n in range(size, -1, -1) if 10 * (size - n) >= 9 * (size + n))
    adds = size // 9
    rng = random.Random(size)
    for _ in range(20):
        rng.shuffle(words)
        for other in (
            [*words[swaps:], *(f"zz{n}".translate(_LETTERS) for n in range(swaps))],
            [*words, *(f"yy{n}".translate(_LETTERS) for n in range(adds))],
        ):
            assert signs(" ".join(words)) & signs(" ".join(other))


_LETTERS = str.maketrans("0123456789", "abcdefghij")


def test_what_differs_by_a_number_shares_none() -> None:
    """A number makes it another statement, so no pair of a thousand readings is even looked at."""
    told = [signs(f"the temperature of the second boiler was {n} degrees") for n in range(50)]
    assert all(not one & other for n, one in enumerate(told) for other in told[:n])


@pytest.mark.parametrize("text", ["", "!!!", "x" * 20_000])
def test_what_has_no_words_has_no_signature(text: str) -> None:
    """Nothing to compare; the engine's own notes have none either (D7)."""
    assert signs(text) == frozenset()
    assert signs("some words", "deja-loop") == frozenset()
    assert signs("some words", "other") & signs("some words") == frozenset()


def views_of(store: Store) -> list[str]:
    return [grain.address for grain in FactViews(store).near_notes(None)]


def test_the_answer_does_not_depend_on_where_the_index_stands(tmp_path: Path) -> None:
    """INV-NEAR-2: a pair in the index, one in the tail, and one across both."""
    with Store.open(tmp_path / "a.deja", clock=lambda: NOW) as store:
        (first,) = add(store, "the same words in two notes")
        (second,) = add(store, "The same words, in two notes!")
        assert set(views_of(store)) == {first, second}
        assert scalar(store.reading(), "SELECT count(*) FROM near") == 0
        fill(store)
        assert scalar(store.reading(), "SELECT count(*) FROM near") > 0
        assert set(views_of(store)) == {first, second}
        (third,) = add(store, "the SAME words in two notes?")
        assert set(views_of(store)) == {first, second, third}


def test_forgetting_takes_the_signatures_along(tmp_path: Path) -> None:
    """D31: nothing that follows from the words is left, and nothing else goes."""
    with Store.open(tmp_path / "a.deja", clock=lambda: NOW) as store:
        first, second, third = add(store, "the same words here", "the same words, here", "other words there")
        fill(store)
        held = scalar(store.reading(), "SELECT count(*) FROM near")
        with store.act() as act:
            act.forget(first)
        left = scalar(store.reading(), "SELECT count(*) FROM near")
        assert left == held - len(signs("the same words here"))
        assert views_of(store) == []
        assert store.verify(deep=True) == ()
        assert {second, third} <= {grain.address for grain in store.scan("observation")}


def damage(store: Store, statement: str) -> None:
    with store.act(governed=True) as act:
        act.transaction.db.execute(statement)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM near WHERE k IN (SELECT k FROM near LIMIT 1)", "are missing"),
        ("INSERT INTO near(k, gid) VALUES(1, 1)", "more rows than notes call for"),
        ("UPDATE near SET k = 7 WHERE k IN (SELECT k FROM near LIMIT 1)", "are missing"),
    ],
)
def test_a_deep_check_names_what_is_wrong_and_a_rebuild_makes_it_anew(
    statement: str, told: str, tmp_path: Path
) -> None:
    """D1: derived, so checked against the bytes, and made again from them."""
    with Store.open(tmp_path / "a.deja", clock=lambda: NOW) as store:
        add(store, "the same words here", "the same words, here", "other words there")
        fill(store)
        before = rows(store)
        assert store.verify(deep=True) == ()
        damage(store, statement)
        assert any(told in fault.message for fault in store.verify(deep=True))
        with store.act(governed=True) as act:
            act.rebuild()
        assert store.verify(deep=True) == ()
        assert rows(store) >= before


def rows(store: Store) -> set[tuple[Any, ...]]:
    return set(store.reading().execute("SELECT k, gid FROM near"))


def test_a_note_that_arrived_leads_to_its_neighbours_only(tmp_path: Path) -> None:
    """The cost of what is new: an old pair is not read again."""
    with Store.open(tmp_path / "a.deja", clock=lambda: NOW) as store:
        substrate = StoreSubstrate(store)
        old = add(store, "the same words here", "the same words, here")
        fill(store)
        after = store.position().seq
        new = add(store, "quite another note", "Quite another note")
        assert [grain.address for grain in substrate.near_notes(None, after)] == new
        assert {grain.address for grain in substrate.near_notes(None)} == {*old, *new}
        told = {"content": "The same words here.", "observer_id": "a", "observer_type": "agent"}
        third = substrate.put(NewGrain("observation", "shared", NOW + DAY, told)).address
        assert {grain.address for grain in substrate.near_notes(None, store.position().seq - 1)} == {
            *old,
            third,
        }
