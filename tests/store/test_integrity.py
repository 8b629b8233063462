# SPDX-License-Identifier: Apache-2.0
"""verify lists every fault, whatever was tampered with, and raises over none (INV-INTEGRITY)."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from deja_tui.store.faults import StoreError
from deja_tui.store.memory import Store
from tests.store.helpers import add, call, fact, forget, many, note
from tests.support import NOW

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
    ("UPDATE term SET s = 'mallory' WHERE s = 'ada'", "found by its text"),
    ("UPDATE grain SET body = zeroblob(50) WHERE id = 1", "bytes"),
    ("DELETE FROM grain WHERE id = 6", "neither here nor forgotten"),
    ("DELETE FROM text_docsize WHERE id = 9", "text index does not know"),
    ("DELETE FROM mark", "live"),
    ("DELETE FROM op WHERE seq = 1", "op-log"),
    ("DELETE FROM op WHERE kind = 2", "mark"),
    ("UPDATE counter SET value = value + 1 WHERE name = 'seq'", "counter"),
    ("UPDATE counter SET value = 0 WHERE name = 'hlc'", "clock"),
    ("UPDATE counter SET value = value - 1 WHERE name GLOB 'held:*'", "counter"),
    ("UPDATE counter SET value = value - 3 WHERE name = 'indexed'", "index"),
    ("INSERT INTO text(rowid, t) VALUES(9999, 'phantom')", "position 9999"),
    (
        "UPDATE grain SET s = (SELECT x.s FROM grain x WHERE x.id = 4 - grain.id) WHERE id IN (1, 3)",
        "columns",
    ),
    ("UPDATE grain SET hlc = hlc + 1 WHERE id = 3", "clock"),
    ("UPDATE grain SET origin = 1 WHERE id = 3", "imported"),
    ("UPDATE grain SET prev = 1 WHERE id = 3", "replaced"),
    ("UPDATE grain SET dead = 7 WHERE id = 3", "live"),
    ("DELETE FROM grain WHERE id = 3", "neither here nor forgotten"),
    ("DELETE FROM op WHERE kind = 5", "gaps"),
    ("DELETE FROM op WHERE kind = 3", "the op-log does not know of its erasure"),
    ("DELETE FROM tombstone", "neither here nor forgotten"),
    ("UPDATE grain SET hash = 'text' WHERE id = 3", "bytes"),
    ("UPDATE grain SET body = 5 WHERE id = 3", "bytes"),
    ("UPDATE grain SET at = 'text' WHERE id = 3", "columns"),
    ("UPDATE counter SET value = 'text'", "holds no number"),
    ("UPDATE counter SET value = 'text' WHERE name = 'grains'", "counter grains holds no number"),
    ("UPDATE counter SET value = 1.5 WHERE name = 'acts'", "counter acts holds no number"),
    ("UPDATE setting SET value = '{no json'", "setting k is damaged"),
    ("UPDATE setting SET value = CAST(x'ff' AS TEXT)", "setting k is damaged"),
    ("UPDATE setting SET source = 'nobody'", "by whom"),
    ("UPDATE setting SET hlc = 'late'", "by whom"),
    ("DELETE FROM op WHERE seq < 3", "gaps"),
    ("UPDATE op SET seq = 99999 WHERE seq = 3", "gaps"),
    ("UPDATE mark SET gid = 88888", "not here"),
    ("INSERT INTO tombstone(gid, hash, hlc) SELECT 77777, hash, hlc FROM grain WHERE id = 1", "forgotten"),
    ("INSERT INTO link VALUES(5, 99999)", "link"),
    ("INSERT INTO source VALUES(5, 99999)", "source"),
    ("UPDATE term SET h = h + 1 WHERE s = 'ada'", "found by its text"),
    ("UPDATE space SET reserved = 1", "own name"),
    ("UPDATE term SET s = CAST(x'ff' AS TEXT) WHERE s = 'ada'", "no text"),
    ("UPDATE space SET name = CAST(x'ff' AS TEXT)", "no text"),
    ("DROP INDEX g_subj", "g_subj is missing"),
    ("DROP TABLE link", "link is missing"),
    ("CREATE TRIGGER t AFTER INSERT ON grain BEGIN DELETE FROM op; END", "trigger"),
    ("CREATE VIEW v AS SELECT 1", "view"),
    ("UPDATE counter SET value = value + 1 WHERE name = 'columns'", "sum of the columns"),
]


@pytest.mark.parametrize("statement,told", TAMPERED)
def test_every_edit_behind_the_stores_back_is_found(path: Path, statement: str, told: str) -> None:
    """INV-INTEGRITY-2, INV-INTEGRITY-3: D6: edited derived rows and flipped bytes are detected, by either check."""
    with Store.open(path) as store:
        (old,) = add(store, fact("ada"))
        add(store, fact("bob"), fact("cid", at=1), call("t", "boom", True))
        with store.act() as act:
            act.mark(old, "hide")
            act.mark(old, "reopen")
            act.set_setting("k", {"a": 1})
            act.supersede(store.recall(namespace="shared", subject="bob")[0].address, note("new"))
        many(store, 300)
        forget(store, store.recall(namespace="shared", type="observation", k=1)[0].address)
        assert store.verify() == store.verify(deep=True) == ()
    db = apsw.Connection(str(path))
    db.execute(statement).fetchall()
    db.close()
    with Store.open(path) as store:
        for deep in (False, True):
            faults = store.verify(deep=deep)
            assert any(told in fault.message for fault in faults), (deep, faults)


def test_a_flipped_byte_anywhere_in_a_row_of_a_grain_is_found(path: Path) -> None:
    """INV-INTEGRITY-3: every bit of the whole cell in turn: sizes, position, columns, address, bytes."""
    with Store.open(path) as store:
        addresses = add(
            store, *(fact(f"subject {n}", object="x" * 40, at=NOW + n, valid_to=NOW + n) for n in range(3))
        )
        cells = [store.blob(address) or b"" for address in addresses]
    content = path.read_bytes()
    ends = [content.index(cell) + len(cell) for cell in cells]
    start, end = ends[2], ends[1]  # cells fill a page from its end
    assert 0 < end - start - len(cells[1]) < 100
    unseen = []
    for at in range(start, end):
        flipped = bytearray(content)
        flipped[at] ^= 1 << at % 8
        path.write_bytes(flipped)
        try:
            with Store.open(path, read_only=True) as store:
                found: object = store.verify()
        except StoreError as refused:
            found = refused
        if not found:
            unseen.append(at - start)
    assert unseen == []


@pytest.mark.parametrize(
    "index", ["g_hash", "g_subj", "g_fact", "g_tool", "g_type", "g_thread", "g_vt", "g_dead"]
)
def test_an_index_that_lacks_rows_is_found(path: Path, index: str) -> None:
    """INV-INTEGRITY-3: also when SQLite's quick check sees nothing."""
    with Store.open(path) as store:
        add(
            store,
            *(fact(f"s{n}", at=NOW + n, valid_to=NOW) for n in range(9)),
            *(call("t", "boom", True, at=NOW + n, session_id="s") for n in range(9)),
        )
        with store.act() as act:
            for grain in list(store.scan("fact"))[:3] + list(store.scan("tool"))[:3]:
                act.mark(grain.address, "hide")
        assert store.verify() == ()
    lose_row(path, index)
    with Store.open(path) as store:
        told = [fault.message for fault in store.verify()]
        assert f"the index {index} does not hold the rows of its table" in told
        assert store.verify(deep=True)


def lose_row(path: Path, index: str) -> None:
    """Take a grain out and put it back while the file's catalogue does not name ``index``."""
    db = apsw.Connection(str(path))
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    (sql,) = db.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (index,)).fetchall()[0]
    where = sql.partition(" WHERE ")[2] or "1"
    db.pragma("writable_schema", True)
    kept = db.execute(
        "SELECT type, tbl_name, rootpage, sql FROM sqlite_schema WHERE name = ?", (index,)
    ).fetchall()
    db.execute("DELETE FROM sqlite_schema WHERE name = ?", (index,))
    db.close()
    db = apsw.Connection(str(path))
    (gid,) = db.execute(f"SELECT max(id) FROM grain WHERE {where}").fetchall()[0]
    db.execute("CREATE TEMP TABLE kept AS SELECT * FROM grain WHERE id = ?", (gid,)).fetchall()
    db.execute("DELETE FROM grain WHERE id = ?", (gid,))
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    db.pragma("writable_schema", True)
    db.execute(
        "INSERT INTO sqlite_schema(type, name, tbl_name, rootpage, sql) VALUES(?, ?, ?, ?, ?)",
        (kept[0][0], index, *kept[0][1:]),
    )
    db.close()
    db = apsw.Connection(str(path))
    db.close()


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
    """INV-INTEGRITY-4: messages are shown anywhere."""
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


@pytest.mark.parametrize("value", ["'text'", "1.5", "x'00'"])
def test_a_counter_that_holds_no_number_is_counted_anew(path: Path, value: str) -> None:
    """D1: until a rebuild every act is refused with a code and reading goes on; after it the file is sound."""
    with Store.open(path) as store:
        add(store, fact("ada"), call("t", "boom", True))
        many(store, 300)
        before = store.counts()
        names = [name for (name,) in apsw.Connection(str(path)).execute("SELECT name FROM counter")]
    for name in names:
        db = apsw.Connection(str(path))
        db.execute(f"UPDATE counter SET value = {value} WHERE name = ?", (name,))
        db.close()
        with Store.open(path) as store:
            assert any(fault.code == "STO-E009" for fault in store.verify()), name
            assert store.recall(namespace="shared", subject="ada")
            store.stats(), store.counts(), store.change_token(), store.search("ada")
            with pytest.raises(StoreError) as told:
                add(store, fact("new"))
            assert told.value.code == "STO-E009"
            assert "--rebuild" in (told.value.next_step or "")
            with store.act(governed=True) as act:
                act.rebuild()
            assert store.verify(deep=True) == (), name
            assert store.counts() == before
