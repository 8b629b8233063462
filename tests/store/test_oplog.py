# SPDX-License-Identifier: Apache-2.0
"""The op-log and its clock (INV-OPLOG)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deja_tui.store.memory import Store
from deja_tui.store.oplog import tick, wall_of
from tests.store.helpers import Boom, Clock, add, fact, fails, forget
from tests.support import NOW


@given(st.lists(st.integers(0, 2**41), min_size=1, max_size=30))
def test_the_clock_rises_whatever_the_wall_does(walls: list[int]) -> None:
    """INV-OPLOG-2: strictly, and never behind the wall."""
    last = 0
    for wall in walls:
        new = tick(last, wall)
        assert new > last
        assert wall_of(new) >= wall
        last = new


def test_each_change_is_one_row_and_nothing_else_is(store: Store) -> None:
    """INV-OPLOG-1, INV-OPLOG-4: kinds and the grain each row names; a supersession names the new one."""
    one, two = add(store, fact("a"), fact("b"))
    with store.act() as act:
        new = act.supersede(one, fact("a", object="x")).address
        act.mark(two, "retire", new)
        act.mark(two, "reopen")
        act.mark(two, "hide")
        act.set_setting("k", 1)
        act.add(fact("a"))
    forget(store, two)
    told = [(entry.kind, entry.address) for entry in store.log()]
    assert told == [
        ("add", one),
        ("add", two),
        ("add", new),
        ("supersede", new),
        ("retire", two),
        ("reopen", two),
        ("hide", two),
        ("forget", two),
    ]
    assert [entry.seq for entry in store.log()] == list(range(1, 9))
    assert [entry.seq for entry in store.log(since_seq=6)] == [7, 8]


def test_an_act_that_came_back_has_no_rows_and_uses_up_no_numbers(store: Store) -> None:
    """INV-OPLOG-1, INV-STORE-2."""
    with fails(), store.act() as act:
        act.add(fact("a"))
        raise Boom
    add(store, fact("b"))
    assert [entry.seq for entry in store.log()] == [1]


def test_the_clock_goes_on_when_the_wall_goes_back(store: Store, clock: Clock) -> None:
    """INV-OPLOG-2."""
    add(store, fact("a"))
    clock.at = NOW - 1_000_000
    add(store, fact("b"))
    first, second = store.log()
    assert second.hlc == first.hlc + 1


def test_rows_of_one_act_share_its_number(store: Store) -> None:
    """INV-OPLOG-5."""
    one, _ = add(store, fact("a"), fact("b"))
    with store.act() as act:
        act.supersede(one, fact("c"))
    acts = [row[0] for row in store.reading().execute("SELECT act FROM op ORDER BY seq")]
    assert acts == [1, 1, 2, 2]


def test_the_log_is_read_over_many_pages(store: Store) -> None:
    """No row is skipped between two pages."""
    add(store, *(fact(f"s{n}") for n in range(1_100)))
    assert [entry.seq for entry in store.log()] == list(range(1, 1_101))
