# SPDX-License-Identifier: Apache-2.0
"""Reads as of a time, on both axes (D45, INV-ASOF)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deja_tui.store import asof
from deja_tui.store.memory import Store
from tests.store.helpers import Clock, add, call, fact, forget, note, refuses
from tests.support import DAY, NOW

Then = Callable[..., list[Any]]


@pytest.fixture
def then(store: Store) -> Then:
    """What recall answers as of a time: the objects."""

    def ask(at: Any, axis: str = "arrival", **asked: Any) -> list[Any]:
        asked = {"namespace": "shared", "subject": "ada", **asked}
        return [grain.get("object") for grain in store.recall_as_of(at, axis=axis, **asked)]

    return ask


@pytest.fixture
def story(store: Store, clock: Clock) -> list[str]:
    """Tea on day 0, rum takes its place on day 1, gin is added on day 2, and goes for rum on day 3."""
    addresses = add(store, fact(object="tea"))
    clock.at += DAY
    with store.act() as act:
        addresses.append(act.supersede(addresses[0], fact(object="rum")).address)
    clock.at += DAY
    addresses += add(store, fact(object="gin"))
    clock.at += DAY
    with store.act() as act:
        act.mark(addresses[2], "retire", addresses[1])
    return addresses


def test_what_was_known_then(story: list[str], then: Then) -> None:
    """Before, between and after each act; a time means its whole millisecond."""
    assert then(NOW - 1) == []
    assert then(NOW) == ["tea"]
    assert then(NOW + DAY - 1) == ["tea"]
    assert then(NOW + DAY) == ["rum"]
    assert then(NOW + 2 * DAY) == ["gin", "rum"]
    assert then(NOW + 3 * DAY) == ["rum"]
    assert then("2026-03-03T09:00:00Z") == ["rum"]
    assert then((NOW + DAY << 16) - 1) == ["tea"]


def test_a_grain_is_given_as_it_was_then(store: Store, story: list[str]) -> None:
    """Live and without a successor, though it is superseded now."""
    (grain,) = store.recall_as_of(NOW, namespace="shared", subject="ada")
    assert (grain.address, grain.live, grain.superseded_by) == (story[0], True, None)
    assert not store.get(story[0]).live  # type: ignore[union-attr]


def test_every_way_of_asking_narrows_as_it_does_now(store: Store, story: list[str], then: Then) -> None:
    """By relation, object, type and namespace; at most k; nothing for what no grain can be."""
    add(store, note("rum"), call("rum"), fact("bob", object="ale"))
    late = NOW + 9 * DAY
    assert then(late, relation="likes") == ["rum"]
    assert then(late, relation="hates") == []
    assert then(late, object="rum") == ["rum"]
    assert then(late, object="Rum") == []
    assert then(late, type="observation") == []
    assert then(NOW + 2 * DAY, k=1) == ["gin"]
    assert then(late, namespace="other") == []
    assert then(late, subject=None, type="fact") == ["ale", "rum"]
    assert then(late, subject=None, type="observation") == ["rum"]
    assert len(then(late, subject=None)) == 4
    assert then(late, subject=None, relation="likes") == ["ale", "rum"]
    assert then(late, type="banana") == []
    assert then(late, k=0) == []


def test_it_is_what_recall_answered_then(store: Store, clock: Clock) -> None:
    """A hundred acts of all kinds: afterwards every moment still answers as it did (INV-ASOF-1)."""
    answers: list[tuple[int, list[str]]] = []
    live: list[str] = add(store, fact(object="0"))
    for number in range(1, 100):
        clock.at += 1_000
        with store.act() as act:
            old = live[number * 7 % len(live)]
            kind = number % 5
            if kind == 0:
                act.mark(old, "hide")
            elif kind == 1 and len(live) > 1:
                act.mark(old, "retire", live[0])
            elif kind == 2 and store.get(old).live:  # type: ignore[union-attr]
                live.append(act.supersede(old, fact(object=str(number), at=NOW + number % 3)).address)
            elif kind == 3:
                act.mark(old, "reopen")
            else:
                live.append(act.add(fact(object=str(number), at=NOW + number % 3)).address)
        now = store.recall(namespace="shared", subject="ada", k=99)
        answers.append((clock.at, [grain.address for grain in now]))
    for at, expected in answers:
        found = store.recall_as_of(at, namespace="shared", subject="ada", k=99)
        assert [grain.address for grain in found] == expected


def test_a_fork_counts_from_its_own_time_on(path: Path, clock: Clock, then: Then, store: Store) -> None:
    """What another copy superseded first is not known as live in between, whichever came first here."""
    (base,) = add(store, fact(object="tea"))
    with Store.open(path.with_name("two.deja"), clock=clock) as two:
        store.bundle(path.with_suffix(".mgb"))
        two.import_bundle(path.with_suffix(".mgb"))
        clock.at = NOW + DAY
        with two.act() as act:
            act.supersede(base, fact(object="gin"))
        clock.at = NOW + 2 * DAY
        with store.act() as act:
            act.supersede(base, fact(object="rum"))
        two.bundle(path.with_suffix(".mgb"))
        store.import_bundle(path.with_suffix(".mgb"))
    assert then(NOW) == ["tea"]
    assert then(NOW + DAY) == ["gin"]
    assert sorted(then(NOW + 2 * DAY)) == ["gin", "rum"]


def test_what_held_then(store: Store, then: Then) -> None:
    """By validity: [valid_from, valid_to), open where absent; only what is live now (INV-ASOF-2)."""
    add(
        store,
        fact(object="always"),
        fact(object="first", at=NOW - 1, valid_to=NOW + DAY),
        fact(object="then", at=NOW - 2, valid_from=NOW + DAY, valid_to=NOW + 2 * DAY),
    )
    (old,) = add(store, fact(object="wrong", at=NOW - 3))
    with store.act() as act:
        act.mark(old, "hide")
    assert then(NOW, "validity") == ["always", "first"]
    assert then(NOW + DAY, "validity") == ["always", "then"]
    assert then(NOW + 2 * DAY, "validity") == ["always"]
    assert then(NOW - 9 * DAY, "validity", k=1) == ["always"]


def test_what_was_erased_is_in_no_answer(store: Store, story: list[str], then: Then) -> None:
    """Its bytes are gone, also for the past (INV-ASOF-3)."""
    forget(store, story[0])
    assert then(NOW) == []


def test_moments_have_one_reading(clock: Clock) -> None:
    """Seconds, milliseconds, ISO-8601 and clocks by magnitude; a date is a date; anything else is refused."""
    assert asof.moment(NOW) == asof.moment(NOW // 1000) == asof.moment(str(NOW)) == (NOW + 1 << 16) - 1
    assert asof.moment("2026-03-02T09:00:00Z") == asof.moment(NOW)
    assert asof.moment(NOW << 16) == asof.moment(str(NOW << 16)) == NOW << 16
    assert asof.moment("20260302") == asof.moment("2026-03-02")
    for wrong in ("soon", "", 2**63, True, None, float("nan")):
        with refuses("VAL-E002"):
            asof.moment(wrong)  # type: ignore[arg-type]


def test_another_axis_is_refused(store: Store, then: Then) -> None:
    """There are two."""
    with refuses("VAL-E001"):
        then(NOW, "knowledge")
