# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from deja_tui.capture.chain import CYCLE, NO_PARENT, OWN_PARENT, TWICE, Chain


def oddities(*links: tuple[str, str]) -> list[tuple[int, str]]:
    chain = Chain()
    for line, (record, parent) in enumerate(links, 1):
        chain.add(line, record, parent)
    return sorted(chain.oddities())


def test_a_plain_chain_is_not_odd() -> None:
    """Parents before or after their children, and branches, are no oddity."""
    assert oddities(("a", ""), ("b", "a"), ("c", "a"), ("d", "e"), ("e", "c")) == []


def test_each_oddity_is_told_once() -> None:
    """An unknown parent, an own parent, an id used twice, and one row for each circle, at its first line."""
    assert oddities(("a", "z"), ("b", "b"), ("c", "d"), ("d", "e"), ("e", "c"), ("f", "e"), ("a", "")) == [
        (1, NO_PARENT),
        (2, OWN_PARENT),
        (3, CYCLE),
        (7, TWICE),
    ]


def test_whether_an_id_is_new() -> None:
    """The first record with an id is new, and no later one."""
    chain = Chain()
    assert [chain.add(1, "a", ""), chain.add(2, "a", ""), chain.add(3, "b", "a")] == [True, False, True]


def test_long_chains_and_circles_cost_their_length() -> None:
    """A walk over a hundred thousand records in one line or one circle ends at once, without recursion."""
    count = 100_000
    start = time.process_time()
    assert oddities(*((str(n), str(n - 1)) for n in range(1, count)))[:1] == [(1, NO_PARENT)]
    assert oddities(*((str(n), str((n + 1) % count)) for n in range(count))) == [(1, CYCLE)]
    assert time.process_time() - start < 5


IDS = st.sampled_from("abcdef")


@given(st.lists(st.tuples(IDS, IDS | st.just("")), max_size=12))
@settings(max_examples=300, deadline=None)
def test_circles_are_found_exactly(links: list[tuple[str, str]]) -> None:
    """There is a circle row for each loop of the first links, as a slow walk finds them."""
    parents: dict[str, str] = {}
    for record, parent in links:
        parents.setdefault(record, parent)
    circles = set()
    for record in parents:
        seen: list[str] = []
        at = record
        while at in parents and at not in seen:
            seen.append(at)
            at = parents[at]
        if at in seen:
            circle = frozenset(seen[seen.index(at) :])
            if len(circle) > 1:
                circles.add(circle)
    assert sum(reason == CYCLE for _, reason in oddities(*links)) == len(circles)
