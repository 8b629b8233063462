# SPDX-License-Identifier: Apache-2.0
"""The governance table: made late, ordered as a queue, rebuilt at will (D1, D36)."""

from __future__ import annotations

import random
from dataclasses import asdict
from itertools import count
from pathlib import Path

import apsw

from deja_tui.engine import substrate
from deja_tui.store.ledger import LedgerRow
from deja_tui.store.memory import Store
from tests.store.helpers import Boom, add, everything, fact, fails, refuses

SEVERITIES = ("info", "low", "medium", "high")
_addresses = count(1)


def row(**changes: object) -> LedgerRow:
    base = LedgerRow(
        address=f"{next(_addresses):064x}",
        identity="i" * 64,
        analyzer="deja.tool_failure/1",
        target_ref="entity:lessons/search#abc",
        severity="low",
        status="pending",
        created_at=5,
        since=5,
        decided_at=6,
        decided_seq=7,
        creator="engine:deja.tool_failure/1",
        origin="builtin",
        foreign=False,
        replaced_by=None,
    )
    return base._replace(**changes)  # type: ignore[arg-type]


def test_the_table_is_made_by_the_first_governed_act(store: Store) -> None:
    """D36: before that every read answers as if it were empty."""
    add(store, fact())
    assert "ledger" not in everything(store)
    assert store.ledger_list() == store.ledger_by_identity(["x"]) == []
    assert store.ledger_get("0" * 64) is None
    store.ledger_clear()
    kept = row()
    store.ledger_put(kept)
    assert "ledger" in everything(store)
    assert store.ledger_get(kept.address) == kept


def test_a_file_of_an_older_version_gains_the_index_by_analyzer(store: Store, path: Path) -> None:
    """It is whole without it, and the next act of the engine makes it."""
    store.ledger_put(row())
    with apsw.Connection(str(path)) as db:
        db.execute("DROP INDEX l_analyzer")
    assert store.verify() == ()
    store.ledger_put(row(analyzer="b"))
    assert [one.analyzer for one in store.ledger_list(analyzers=["b"])] == ["b"]
    assert "l_analyzer" in {
        name for (name,) in apsw.Connection(str(path)).execute("SELECT name FROM sqlite_schema")
    }


def test_a_reading_store_lists_a_file_without_the_table(path: Path) -> None:
    """A memory that never ran a loop opens in every screen."""
    Store.open(path).close()
    with Store.open(path, read_only=True) as store:
        assert store.ledger_list() == []


def test_rows_come_in_queue_order(store: Store) -> None:
    """Severity falling, oldest finding, identity, address; replaced ones only on demand."""
    rng = random.Random(2)
    rows = [
        row(
            severity=rng.choice(SEVERITIES),
            since=rng.randrange(3),
            identity=rng.choice("ab") * 64,
            status=rng.choice(["pending", "approved", "applied"]),
            replaced_by=rng.choice([None, None, "f" * 64]),
        )
        for _ in range(60)
    ]
    for one in rng.sample(rows, len(rows)):
        store.ledger_put(one)
    ordered = sorted(rows, key=lambda r: (-SEVERITIES.index(r.severity), r.since, r.identity, r.address))
    assert store.ledger_list(include_replaced=True) == ordered
    heads = [r for r in ordered if r.replaced_by is None]
    assert store.ledger_list() == heads
    assert store.ledger_list(["pending"]) == [r for r in heads if r.status == "pending"]
    assert store.ledger_list(("approved", "applied")) == [r for r in heads if r.status != "pending"]
    assert store.ledger_list([]) == []


def test_rows_of_identities_come_oldest_decision_first(store: Store) -> None:
    """Asked twice, answered once; replaced ones left out."""
    one, two, three = row(decided_seq=9), row(decided_seq=3), row(identity="k" * 64, decided_seq=5)
    gone = row(replaced_by="f" * 64)
    for each in (one, two, three, gone):
        store.ledger_put(each)
    assert store.ledger_by_identity(["i" * 64, "i" * 64, "absent"]) == [two, one]
    assert store.ledger_by_identity(["k" * 64, "i" * 64]) == [two, three, one]


def test_a_row_is_replaced_and_the_table_cleared(store: Store) -> None:
    """By address; the engine rebuilds it from the chains."""
    first = row()
    store.ledger_put(first)
    store.ledger_put(first._replace(status="approved"))
    assert [r.status for r in store.ledger_list()] == ["approved"]
    store.ledger_clear()
    assert store.ledger_list() == []


def test_ledger_writes_belong_to_the_act_they_are_in(store: Store) -> None:
    """INV-STORE-2."""
    store.ledger_put(row())
    with fails(), store.act(governed=True) as act:
        act.ledger_put(row())
        store.ledger_put(row())
        assert len(store.ledger_list()) == 3
        raise Boom
    assert len(store.ledger_list()) == 1


def test_the_rows_of_the_engine_fit_in_and_come_back(store: Store) -> None:
    """Same fields in the same order, so the adapter only renames the type."""
    kept = row()
    theirs = substrate.LedgerRow(*kept)
    store.ledger_put(theirs)
    (back,) = store.ledger_list()
    assert substrate.LedgerRow(*back) == theirs
    assert asdict(theirs) == back._asdict()


def test_an_unknown_severity_is_refused(store: Store) -> None:
    """VAL-E001: it would have no place in the queue."""
    with refuses("VAL-E001"):
        store.ledger_put(row(severity="urgent"))
