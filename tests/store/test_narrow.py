# SPDX-License-Identifier: Apache-2.0
"""Filters of a search: namespace, type, subject, time; they take grains out and change nothing else (INV-NARROW)."""

from __future__ import annotations

import random
from typing import Any

import pytest

from deja_tui.store import layout, ranking
from deja_tui.store import narrow as filters
from deja_tui.store.codec import make_grain
from deja_tui.store.grains import StoredGrain
from deja_tui.store.memory import Store
from tests.store.helpers import add, call, fact, forget, many, note, refuses
from tests.store.test_search import index
from tests.support import NOW

FILTERS: list[dict[str, Any]] = [
    {"type": "fact"},
    {"type": "goal"},
    {"subject": "ada"},
    {"subject": "Ada"},
    {"subject": "nobody"},
    {"since": NOW + 50},
    {"before": NOW + 50},
    {"since": NOW + 50, "before": NOW + 60},
    {"since": NOW + 60, "before": NOW + 50},
    {"type": "observation", "subject": "ada"},
    {"type": "tool", "subject": "ada"},
    {"type": "tool", "since": NOW + 20},
    {"type": "fact", "subject": "ada", "since": NOW + 5, "before": NOW + 95, "namespace": "a"},
    {"namespace": "a"},
    {"namespace": "b", "type": "fact"},
]


def fits(grain: StoredGrain, asked: dict[str, Any]) -> bool:
    """The filters, said once more in plain words."""
    return (
        asked.get("type") in (None, grain.type)
        and asked.get("subject") in (None, grain.get("subject"))
        and asked.get("since", 0) <= grain.created_at < asked.get("before", 2**62)
        and asked.get("namespace") in (None, grain.namespace)
    )


def crowd(store: Store, how_many: int = 300) -> None:
    rng = random.Random(11)
    words = [f"w{n}" for n in range(25)]
    for n in range(how_many):
        text = " ".join(rng.choice(words) for _ in range(rng.randint(2, 12)))
        at, namespace, subject = NOW + n % 100, rng.choice("ab"), rng.choice(["ada", "Ada", "bob"])
        told = f"{text} {n}"
        goal = {"description": told, "goal_state": "active", "subject": subject}
        made = [
            fact(subject, "said", told, at=at, namespace=namespace),
            note(told, subject=subject, at=at, namespace=namespace),
            call("search", told, at=at, namespace=namespace),
            make_grain("goal", goal, namespace=namespace, created_at=at),
        ]
        add(store, rng.choice(made))


@pytest.mark.parametrize("few", [0, 3, 1_000])
@pytest.mark.parametrize("indexed", [0, 150, 300])
def test_a_filter_leaves_out_and_changes_nothing_else(
    store: Store, monkeypatch: pytest.MonkeyPatch, few: int, indexed: int
) -> None:
    """INV-NARROW-1, -3: whatever way it is found, indexed or not; the order is that of the search without filters."""
    monkeypatch.setattr(filters, "FEW", few)
    monkeypatch.setattr(layout, "TAIL_LIMIT", 10_000)
    crowd(store)
    if indexed:
        index(store, indexed)
    for query in ("w1", "w1 w2", "w3 w4 w5", "w1 w2 w3 w4 w5", "w1*", '"w1 w2"', "absent"):
        whole = store.search(query, k=1_000)
        for asked in FILTERS:
            found = [grain.address for grain in store.search(query, k=1_000, **asked)]
            assert found == [grain.address for grain in whole if fits(grain, asked)], (query, asked)


def test_a_rare_match_below_many_others_is_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """INV-NARROW-3: what does not fit takes no place, however common the word and however new the rest."""
    monkeypatch.setattr(ranking, "HOLDERS", 16)
    monkeypatch.setattr(ranking, "_CANDIDATES", 4)
    for few in (1_000, 0):
        monkeypatch.setattr(filters, "FEW", few)
        word = f"common{few}"
        (goal,) = add(store, make_grain("goal", {"description": word, "goal_state": "active"}, namespace="shared", created_at=1))  # fmt: skip
        many(store, 600, word)
        assert [grain.address for grain in store.search(word, type="goal", k=1)] == [goal]
        assert [grain.address for grain in store.search(word, before=2, k=1)] == [goal]
        assert [grain.address for grain in store.search(f"{word} filler", type="goal", k=1)] == [goal]


def test_what_is_not_live_is_not_shown_by_any_filter(store: Store) -> None:
    """Superseded, hidden and forgotten grains, in the index and out of it."""
    old, hidden, gone = add(store, *(fact("ada", "has", f"mango {n}") for n in range(3)))
    for round_ in range(2):
        with store.act() as act:
            if not round_:
                act.supersede(old, fact("ada", "has", "papaya"))
                act.mark(hidden, "hide")
        if not round_:
            forget(store, gone)
        for asked in ({"subject": "ada"}, {"type": "fact"}, {"since": 0}, {"before": NOW + 9}):
            assert store.search("mango", **asked) == []  # type: ignore[arg-type]
        many(store, 300)


def test_filters_that_cannot_be_applied_are_refused(store: Store) -> None:
    """INV-NARROW-2: an unknown type is no empty answer."""
    with refuses("VAL-E001"):
        store.search("tea", type="facts")


def test_a_subject_is_compared_in_nfc_and_in_its_case(store: Store) -> None:
    """INV-NARROW-2, D11."""
    one, _ = add(store, fact("Zo\u00eb", "likes", "tea"), fact("zo\u00eb", "likes", "tea"))
    assert [grain.address for grain in store.search("tea", subject="Zoe\u0308")] == [one]
    assert store.search("tea", subject="ZO\u00cb") == []
    assert store.search("tea", subject="\ud800") == []
