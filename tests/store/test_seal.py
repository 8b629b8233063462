# SPDX-License-Identifier: Apache-2.0
"""The running sum over the columns of grains (INV-SEAL)."""

from __future__ import annotations

from pathlib import Path

import apsw
from hypothesis import given, settings
from hypothesis import strategies as st

from deja_tui.store import seal
from deja_tui.store.memory import Store
from tests.store.helpers import Boom, add, call, fact, fails, forget, many, note
from tests.support import NOW

VALUE = st.none() | st.integers(-(2**63), 2**63 - 1)


def kept(store: Store) -> object:
    return store.reading().execute("SELECT value FROM counter WHERE name = ?", (seal.COUNTER,)).get


def test_the_sum_follows_every_act(store: Store, path: Path) -> None:
    """INV-SEAL-1: adds, chains, erasures, acts that come to nothing, a rebuild, what another copy sends."""
    first = add(store, fact("ada", valid_to=NOW), call("t", "boom", True, session_id="s"), note("words"))
    assert kept(store) == seal.of_all(store.reading())
    many(store, 50)
    forget(store, first[0])
    with store.act() as act:
        act.supersede(first[2], note("other words"))
        with fails(), store.act() as inner:
            inner.add(fact("nobody"))
            raise Boom
    with fails(), store.act() as act:
        act.add(fact("nobody at all"))
        act.forget(first[1])
        raise Boom
    assert kept(store) == seal.of_all(store.reading())
    with store.act(governed=True) as act:
        act.rebuild()
    assert kept(store) == seal.of_all(store.reading())
    store.bundle(path.with_name("all.mgb"))
    with Store.open(path.with_name("other.deja")) as other:
        many(other, 3)
        other.import_bundle(path.with_name("all.mgb"))
        assert kept(other) == seal.of_all(other.reading())


def test_a_file_without_the_sum_is_checked_by_its_bytes_and_gets_one_by_a_rebuild(path: Path) -> None:
    """A file that an earlier build wrote: nothing is called a fault, nothing is counted from the middle on."""
    with Store.open(path) as store:
        many(store, 5)
    db = apsw.Connection(str(path))
    db.execute("DELETE FROM counter WHERE name = ?", (seal.COUNTER,))
    db.close()
    with Store.open(path) as store:
        many(store, 5)
        assert kept(store) is None
        assert store.verify() == ()
        with store.act(governed=True) as act:
            act.rebuild()
        assert kept(store) == seal.of_all(store.reading())


@settings(max_examples=200, deadline=None)
@given(
    gid=st.integers(1, 2**31 - 1),
    values=st.tuples(*[VALUE] * len(seal.COLUMNS)),
    at=st.integers(0, 9),
    other=VALUE,
)
def test_both_forms_are_one_function(
    gid: int, values: tuple[int | None, ...], at: int, other: int | None
) -> None:
    """INV-SEAL-2: whatever stands in the columns, without ever leaving whole numbers; another value is another sum."""
    db = apsw.Connection(":memory:")
    db.execute(f"CREATE TABLE grain(id INTEGER PRIMARY KEY, {', '.join(seal.COLUMNS)})")
    marks = ", ".join("?" * (len(values) + 1))
    db.execute(f"INSERT INTO grain VALUES({marks})", (gid, *values))
    total = seal.of_row(gid, values)
    assert type(total) is int
    assert (
        db.execute(f"SELECT {seal.SQL} FROM grain").get == total == seal.of_filed(db, gid) == seal.of_all(db)
    )
    changed = (*values[:at], other, *values[at + 1 :])
    nearby = values[at] is not None and other is not None and abs(values[at] - other) < 2**30
    if nearby and changed != values:
        assert seal.of_row(gid, changed) != total


def test_values_that_change_places_change_the_sum() -> None:
    """INV-SEAL-2: between columns and between rows."""
    one, two = (1, 2, 3, 4, 5, 6, None, None, 7, 8), (1, 2, 3, 9, 5, 6, None, None, 7, 8)
    assert seal.of_row(1, one) + seal.of_row(2, two) != seal.of_row(1, two) + seal.of_row(2, one)
    assert seal.of_row(1, one) != seal.of_row(1, (1, 2, 3, 5, 4, 6, None, None, 7, 8))
