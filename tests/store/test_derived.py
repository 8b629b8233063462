# SPDX-License-Identifier: Apache-2.0
"""Everything derived is checked against what it follows from, and can be made anew (INV-DERIVED, D1)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from deja_tui.store.codec import make_grain
from deja_tui.store.derived import Rebuilt
from deja_tui.store.memory import Store
from tests.store.helpers import add, call, fact, forget, many, note, refuses
from tests.store.test_erase import holds, telling
from tests.support import NOW, shared

FILLER = 270  # more than the tail of the text index


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a row of every kind in every derived table, nothing forgotten yet."""
    path = tmp_path_factory.mktemp("derived") / "sound.deja"
    with Store.open(path) as store:
        first, second = add(store, fact("ada", "likes", "tea"), fact("ada", "likes", "Tea", at=NOW + 1))
        with store.act() as act:
            head = act.supersede(first, fact("ada", "likes", "green tea", at=NOW + 2)).address
        with store.act() as act:
            act.mark(second, "retire", head)
        hidden, *_ = add(
            store,
            fact("bo", "owns", "a boat", valid_to=NOW + 5),
            call("search", "timeout", True, extras={"session_id": "s1"}),
            call("search", "fine", at=NOW + 3),
            note("seen at the pier", namespace="user:bo"),
            fact("cy", "said", "no", context={"source_key": "log:1"}, derived_from=head),
            make_grain(
                "goal", {"description": "sail", "goal_state": "active"}, namespace="shared", created_at=NOW
            ),
        )
        with store.act() as act:
            act.mark(hidden, "hide")
            act.mark(hidden, "reopen")
            act.set_setting("cursor", 7)
            act.add(fact("dee", "from", "elsewhere"), origin="imported", hlc=(NOW - 9) << 16)
        add(store, note("a decision", namespace="deja-loop", derived_from=[head]), governed=True)
        many(store, FILLER)
        add(store, fact("eve", "came", "late"))
        assert store.verify(deep=True) == ()
    return path


def contents(path: Path) -> dict[str, Any]:
    """Every row of every table; the text index by the words it holds, not by how it cut its pages."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    tables: dict[str, Any] = {
        name: sorted(db.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr)
        for name in names
        if not name.startswith("text") and name != "word"
    }
    db.execute("CREATE VIRTUAL TABLE temp.every USING fts5vocab('main', 'text', 'instance')")
    tables["text"] = sorted(db.execute("SELECT term, doc, offset FROM temp.every").fetchall())
    tables["sizes"] = sorted(db.execute("SELECT * FROM text_docsize").fetchall())
    db.close()
    # these three say that something was written, not what
    tables["counter"] = [row for row in tables["counter"] if row[0] not in ("acts", "epoch", "erased")]
    return tables


def rebuilt(path: Path) -> Rebuilt:
    with Store.open(path) as store, store.act(governed=True) as act:
        return act.rebuild()


@pytest.fixture(scope="module")
def copy(sound: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a fresh copy of the sound file holds, its tail of the text index taken in."""
    path = tmp_path_factory.mktemp("derived") / "copy.deja"
    shutil.copy(sound, path)
    rebuilt(path)
    return contents(path)


EDITS = {
    "liveness": "UPDATE grain SET dead = 1 - dead WHERE id IN (1, 4)",
    "type": "UPDATE grain SET type = 2 WHERE id = 3",
    "no such type": "UPDATE grain SET type = 99 WHERE id = 3",
    "time": "UPDATE grain SET at = at - 1 WHERE id = 3",
    "clock": "UPDATE grain SET hlc = hlc + 1 WHERE id = 3",
    "namespace": "UPDATE grain SET ns = (SELECT id FROM space WHERE name = 'user:bo') WHERE id = 3",
    "origin": "UPDATE grain SET origin = 0 WHERE origin = 1",
    "subject": "UPDATE grain SET s = r WHERE id = 3",
    "relation": "UPDATE grain SET r = NULL WHERE id = 3",
    "object": "UPDATE grain SET k = k + 1 WHERE id = 3",
    "tool": "UPDATE grain SET tool = s WHERE tool IS NOT NULL",
    "signature": "UPDATE grain SET sig = NULL WHERE sig IS NOT NULL",
    "thread": "UPDATE grain SET thread = NULL WHERE thread IS NOT NULL",
    "expiry": "UPDATE grain SET vt = vt + 1 WHERE vt IS NOT NULL",
    "predecessor": "UPDATE grain SET prev = 2 WHERE prev IS NOT NULL",
    "no predecessor": "UPDATE grain SET prev = NULL",
    "a term's text": "UPDATE term SET s = 'somebody' WHERE s = 'ada'",
    "a term's key": "UPDATE term SET h = h + 1 WHERE s = 'ada'",
    "a term is gone": "DELETE FROM term WHERE s = 'ada'",
    "a term nobody uses": "INSERT INTO term(h, s) VALUES(7, 'nobody')",
    "a namespace's name": "UPDATE space SET name = 'other' WHERE name = 'user:bo'",
    "a namespace's key": "UPDATE space SET h = h + 1 WHERE name = 'shared'",
    "a namespace set free": "UPDATE space SET reserved = 0 WHERE name = 'deja-loop'",
    "a namespace nobody uses": "INSERT INTO space(h, reserved, name) VALUES(7, 0, 'empty')",
    "a link is gone": "DELETE FROM link",
    "a link too many": "INSERT INTO link VALUES(7, 1)",
    "a source is gone": "DELETE FROM source",
    "a source too many": "INSERT INTO source VALUES(7, 1)",
    "arrivals": "UPDATE counter SET value = value - 1 WHERE name = 'seq'",
    "grains": "UPDATE counter SET value = value - 1 WHERE name = 'grains'",
    "errors": "UPDATE counter SET value = 0 WHERE name = 'errors'",
    "grains of a type": "DELETE FROM counter WHERE name = 'type:goal'",
    "the newest user grain": "UPDATE counter SET value = 1 WHERE name = 'user_seq'",
    "the clock counter": "UPDATE counter SET value = 1 WHERE name = 'hlc'",
    "held": "UPDATE counter SET value = value + 1 WHERE name GLOB 'held:*'",
    "words of one grain": "INSERT INTO text(text, rowid, t) VALUES('delete', 3, 'ada likes green tea')",
    "forged words": "INSERT INTO text(rowid, t) VALUES(900, 'planted words')",
    "how far the index goes": "UPDATE counter SET value = 3 WHERE name = 'indexed'",
    "words in place of others": (
        "INSERT INTO text(text, rowid, t) VALUES('delete', 3, 'ada \nlikes \ngreen tea');"
        "INSERT INTO text(rowid, t) VALUES(3, 'ada dislikes green tea')"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_derived_row_is_reported_and_made_anew(
    sound: Path, copy: dict[str, Any], tmp_path: Path, name: str
) -> None:
    """The whole database is again that of a fresh copy, and verify finds nothing (INV-DERIVED-2)."""
    path = tmp_path / "edited.deja"
    shutil.copy(sound, path)
    before = contents(path)
    db = apsw.Connection(str(path))
    db.execute(EDITS[name]).fetchall()
    db.close()
    assert contents(path) != before
    with Store.open(path) as store:
        assert store.verify(deep=True)
    rebuilt(path)
    with Store.open(path) as store:
        assert store.verify(deep=True) == ()
    assert contents(path) == copy


def test_a_rebuild_gives_one_answer_also_after_erasures(sound: Path, tmp_path: Path) -> None:
    """Where numbers of erased terms are missing, an edited file and a sound one end alike."""
    one, other = tmp_path / "one.deja", tmp_path / "other.deja"
    shutil.copy(sound, one)
    with Store.open(one) as store:
        for found in [*store.recall(namespace="shared", subject="bo"), *store.recall(namespace="user:bo")]:
            forget(store, found.address)
        add(store, fact("zoe", "is", "new"), note("another", namespace="user:zoe"))
        assert store.verify(deep=True) == ()
    shutil.copy(one, other)
    db = apsw.Connection(str(other))
    for table in ("term", "space", "link", "source"):
        db.execute(f"DELETE FROM {table}")
    db.execute("UPDATE grain SET s = 1, r = NULL, dead = 0, prev = NULL")
    db.execute("DELETE FROM counter WHERE name GLOB 'held:*'")
    db.execute("INSERT INTO text(text) VALUES('delete-all')")
    db.close()
    rebuilt(one)
    assert rebuilt(other).changed > FILLER
    assert contents(one) == contents(other)
    with Store.open(other) as store:
        assert store.verify(deep=True) == ()


def _without_tail(tables: dict[str, Any]) -> dict[str, Any]:
    """A rebuild indexes the tail as well: what the index holds of it is left out."""
    last = max(row[0] for row in tables["grain"])
    held = {name: rows for name, rows in tables.items() if name not in ("text", "sizes", "counter")}
    held["text"] = [row for row in tables["text"] if row[1] != last]
    held["sizes"] = [row for row in tables["sizes"] if row[0] != last]
    held["counter"] = [row for row in tables["counter"] if row[0] != "indexed"]
    return held


def test_a_sound_file_is_left_as_it_is(sound: Path, tmp_path: Path) -> None:
    """Nothing changes but the tail of the index, and the second time not even that."""
    path = tmp_path / "a.deja"
    shutil.copy(sound, path)
    before = contents(path)
    assert rebuilt(path) == Rebuilt(len(before["grain"]), 0, 0)
    once = contents(path)
    assert _without_tail(once) == _without_tail(before)
    rebuilt(path)
    assert contents(path) == once


def test_a_rebuild_touches_no_primary_data(sound: Path, tmp_path: Path) -> None:
    """Damaged bytes, marks, op-log and settings stay as they are, and stay reported (INV-DERIVED-1)."""
    path = tmp_path / "a.deja"
    shutil.copy(sound, path)
    db = apsw.Connection(str(path))
    db.execute("UPDATE grain SET body = zeroblob(30) WHERE id = 5")
    db.execute("DELETE FROM op WHERE gid = 6")
    db.close()
    primary = ("op", "mark", "tombstone", "setting")
    before = {name: rows for name, rows in contents(path).items() if name in primary}
    assert rebuilt(path).damaged == 1
    after = contents(path)
    assert {name: after[name] for name in primary} == before
    with Store.open(path) as store:
        assert {fault.code for fault in store.verify(deep=True)} == {"FMT-E003", "STO-E009"}
        assert "the op-log does not know of it" in {fault.message for fault in store.verify()}


def test_what_was_forgotten_stays_counted(sound: Path, tmp_path: Path) -> None:
    """INV-DERIVED-4: a rebuild lifts the counters of arrivals to what is there, and lowers none."""
    path = tmp_path / "a.deja"
    shutil.copy(sound, path)
    with Store.open(path) as store:
        forget(store, next(iter(store.scan("fact"))).address)
        before, there = store.counts(), store.stats()["grains"]
    rebuilt(path)
    with Store.open(path) as store:
        assert store.counts() == before
        assert store.stats()["grains"] == there


def test_an_origin_is_never_upgraded(sound: Path, tmp_path: Path) -> None:
    """A grain called imported stays imported when the log says local, and the difference stays reported."""
    path = tmp_path / "a.deja"
    shutil.copy(sound, path)
    db = apsw.Connection(str(path))
    db.execute("UPDATE op SET origin = 0")
    db.close()
    rebuilt(path)
    with Store.open(path) as store:
        (fault,) = store.verify(deep=True)
        assert "imported" in fault.message
        (found,) = store.recall(namespace="shared", subject="dee")
        assert found.imported


def test_a_broken_index_of_the_table_is_made_anew(sound: Path, tmp_path: Path) -> None:
    """Rows that an index lost are found again."""
    path = tmp_path / "a.deja"
    shutil.copy(sound, path)
    db = apsw.Connection(str(path))
    (sql,) = (db.execute("SELECT sql FROM sqlite_schema WHERE name = 'g_subj'").get,)
    db.pragma("writable_schema", "on")
    db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'g_subj'", (str(sql) + " AND id > 5",))
    db.close()
    db = apsw.Connection(str(path))
    db.execute("REINDEX g_subj")
    db.pragma("writable_schema", "on")
    db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'g_subj'", (sql,))
    db.close()
    with Store.open(path) as store:
        assert store.recall(namespace="shared", subject="ada") == []
    rebuilt(path)
    with Store.open(path) as store:
        assert len(store.recall(namespace="shared", subject="ada")) == 1


def test_only_the_engine_may_ask_for_it(store: Store) -> None:
    """A plain act cannot (INV-STORE-4)."""
    with refuses("VAL-E004"), store.act() as act:
        act.rebuild()


def test_other_handles_see_the_new_numbers(sound: Path, tmp_path: Path) -> None:
    """Another open handle writes with terms that are given anew."""
    path = tmp_path / "a.deja"
    shutil.copy(sound, path)
    with Store.open(path) as other:
        add(other, fact("ada", "likes", "figs"))
        with Store.open(path) as store:
            for found in store.recall(namespace="shared", subject="bo"):
                forget(store, found.address)
            with store.act(governed=True) as act:
                act.rebuild()
        add(other, fact("ada", "likes", "plums"))
        assert other.verify(deep=True) == ()
        assert {g.get("object") for g in other.recall(namespace="shared", subject="ada")} >= {"figs", "plums"}


def test_a_rebuild_leaves_no_stale_copy_that_an_erasure_would_miss(tmp_path: Path) -> None:
    """Rows that grew may have moved; what is forgotten afterwards is gone from every page (INV-ERASE-1)."""
    path = tmp_path / "a.deja"
    with Store.open(path) as store:
        addresses = add(store, *(telling(n) for n in range(400)))
        assert store.verify(deep=True) == ()
    db = apsw.Connection(str(path))
    db.pragma("secure_delete", "on")
    db.execute("UPDATE grain SET s = NULL, r = NULL, k = NULL, tool = NULL, sig = NULL, thread = NULL")
    db.close()
    assert rebuilt(path).changed == 200
    gone = [n for n in range(400) if n % 3]
    with Store.open(path) as store:
        assert not store.erasure_pending
        for start in range(0, len(gone), 40):
            with store.act() as act:
                for n in gone[start : start + 40]:
                    act.forget(addresses[n])
        assert holds(path, *gone) == []
        assert holds(path, 0, 399) == [0, 399]
        assert store.verify(deep=True) == ()
    rebuilt(path)
    assert holds(path, *gone) == []


def test_a_rebuild_changes_nothing_of_what_a_bundle_brought(tmp_path: Path) -> None:
    """Imported origins and clocks, forks, merges, erasures; and what was done to them here."""
    path = tmp_path / "a.deja"
    with Store.open(path) as store:
        store.import_bundle(shared("vectors/sample.bundle"))
        for fork in store.forks():
            heads = [tip.address for tip in fork.tips]
            first = fork.tips[0]
            merged = make_grain(
                first.type,
                {"subject": first.get("subject"), "relation": first.get("relation"), "object": "merged",
                 "derived_from": heads[0], "context": {"merge_parents": heads}},
                namespace=first.namespace,
                created_at=NOW,
            )  # fmt: skip
            with store.act() as act:
                act.merge(heads, merged)
        assert store.verify(deep=True) == ()
    before = contents(path)
    assert rebuilt(path).changed == 0
    after = contents(path)
    assert _without_tail(after)["grain"] == _without_tail(before)["grain"]
    assert {name for name in before if before[name] != after[name]} <= {"counter", "text", "sizes", "near"}
    with Store.open(path) as store:
        assert store.verify(deep=True) == ()
