# SPDX-License-Identifier: Apache-2.0
"""verify lists every fault, whatever was tampered with, and raises over none (INV-INTEGRITY)."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from deja_tui.store.memory import Store
from tests.store.helpers import add, call, fact, many, note

TAMPERED = [
    ("UPDATE grain SET dead = 1 WHERE id = 1", "live"),
    ("UPDATE grain SET dead = 0 WHERE id = 2", "live"),
    ("UPDATE grain SET at = at + 1 WHERE id = 1", "columns"),
    ("UPDATE grain SET s = (SELECT s FROM grain WHERE id = 3) WHERE id = 1", "columns"),
    ("UPDATE grain SET k = k + 1 WHERE id = 1", "columns"),
    ("UPDATE grain SET vt = 5 WHERE id = 1", "columns"),
    ("UPDATE grain SET ns = ns + 1 WHERE id = 1", "columns"),
    ("UPDATE grain SET type = 2 WHERE id = 1", "columns"),
    ("UPDATE grain SET sig = NULL WHERE tool IS NOT NULL", "columns"),
    ("UPDATE term SET s = 'mallory' WHERE s = 'ada'", "columns"),
    ("UPDATE grain SET body = zeroblob(50) WHERE id = 1", "bytes"),
    ("DELETE FROM grain WHERE id = 5", "index"),
    ("DELETE FROM mark", "live"),
    ("DELETE FROM op WHERE seq = 1", "op-log"),
    ("DELETE FROM op WHERE kind = 2", "mark"),
    ("UPDATE counter SET value = value + 1 WHERE name = 'seq'", "counter"),
    ("UPDATE counter SET value = 0 WHERE name = 'hlc'", "clock"),
    ("UPDATE counter SET value = value - 1 WHERE name GLOB 'held:*'", "counter"),
    ("UPDATE counter SET value = value - 3 WHERE name = 'indexed'", "index"),
    ("INSERT INTO text(rowid, t) VALUES(9999, 'phantom')", "position 9999"),
]


@pytest.mark.parametrize("statement,told", TAMPERED)
def test_every_edit_behind_the_stores_back_is_found(path: Path, statement: str, told: str) -> None:
    """INV-INTEGRITY-2: D6: edited derived rows and flipped bytes are detected."""
    with Store.open(path) as store:
        (old,) = add(store, fact("ada"))
        add(store, fact("bob"), fact("cid", at=1), call("t", "boom", True))
        with store.act() as act:
            act.mark(old, "hide")
            act.mark(old, "reopen")
            act.supersede(store.recall(namespace="shared", subject="bob")[0].address, note("new"))
        many(store, 300)
        assert store.verify() == ()
    db = apsw.Connection(str(path))
    db.execute(statement).fetchall()
    db.close()
    with Store.open(path) as store:
        faults = store.verify(deep=True)
    assert faults
    assert any(told in fault.message for fault in faults), faults


def test_all_faults_are_listed_not_only_the_first(path: Path) -> None:
    """INV-INTEGRITY-1."""
    with Store.open(path) as store:
        addresses = add(store, *(fact(f"s{n}") for n in range(10)))
    db = apsw.Connection(str(path))
    db.execute("UPDATE grain SET body = zeroblob(60) WHERE id IN (2, 5, 9)")
    db.close()
    with Store.open(path, read_only=True) as store:
        found = [fault.address for fault in store.verify() if fault.code == "FMT-E003"]
    assert found == [addresses[1], addresses[4], addresses[8]]


def test_a_fault_holds_no_grain_text(path: Path) -> None:
    """Messages are shown anywhere."""
    with Store.open(path) as store:
        add(store, fact("topsecret", "topsecret", "topsecret", namespace="topsecret"))
    db = apsw.Connection(str(path))
    for statement in ("UPDATE grain SET at = 1, dead = 1", "UPDATE counter SET value = 7", "DELETE FROM op"):
        db.execute(statement)
    db.close()
    with Store.open(path) as store:
        faults = store.verify(deep=True)
    assert len(faults) > 3
    assert not any("topsecret" in fault.message for fault in faults)
