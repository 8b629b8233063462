# SPDX-License-Identifier: Apache-2.0
"""`Memory.verify`: what disagrees is told, a rebuild puts everything derived right in one act (D1, D6)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from deja_tui import DejaError, Memory
from tests.support import NOW

EDITS = {
    "a forged status": "UPDATE ledger SET status = 'approved'",
    "a row is gone": "DELETE FROM ledger",
    "a row too many": "INSERT INTO ledger SELECT zeroblob(32), identity || 'x', analyzer, target_ref,"
    " severity, rank, status, created_at, since, decided_at, decided_seq, creator, origin, is_foreign, replaced_by"
    " FROM ledger LIMIT 1",
    "a forged creator": "UPDATE ledger SET creator = 'engine:other'",
    "liveness and a term": "UPDATE grain SET dead = 1 - dead WHERE s IS NOT NULL; UPDATE term SET s = s || 'x'",
}


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "a.deja"
    with Memory.open(path, clock=lambda: NOW) as memory:
        for number in range(3):
            memory.record_tool_call("curl", "timeout", True, call_id=str(number))
        memory.add_fact("acme", "likes", "tea", created_at=NOW - 5)
        memory.add_fact("acme", "likes", "TEA", created_at=NOW - 4)
        first, second = (row.address for row in memory.loop.run() and memory.loop.queue())
        memory.loop.reject(first, because="an outage")
        memory.loop.approve(second, because="the same")
        memory.loop.apply(second, because="one is enough")
    return path


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_governance_row_is_told_and_put_right(path: Path, name: str) -> None:
    """Status, queue and recall answer as before the edit."""
    with Memory.open(path, clock=lambda: NOW) as memory:
        before = memory.loop.queue(None), memory.recall("acme"), memory.store.ledger_list()
        assert memory.verify() == ()
    db = apsw.Connection(str(path))
    db.execute(EDITS[name]).fetchall()
    db.close()
    with Memory.open(path, clock=lambda: NOW) as memory:
        assert memory.verify()
        assert memory.verify(rebuild=True) == ()
        assert (memory.loop.queue(None), memory.recall("acme"), memory.store.ledger_list()) == before


def test_only_a_deep_check_compares_words_and_index_entries(path: Path) -> None:
    """What is edited beside a grain is found and named by either; another word in the text index by the deep one only."""
    db = apsw.Connection(str(path))
    db.execute("UPDATE grain SET vt = 5 WHERE id = 1")
    db.close()
    with Memory.open(path, clock=lambda: NOW) as memory:
        first = memory.store.log()
        assert [(f.code, f.address) for f in memory.verify()] == [("STO-E009", next(iter(first)).address)]
        assert memory.verify(rebuild=True) == ()
        with memory.store.act(governed=True) as act:
            act.ledger_clear()
        assert {fault.code for fault in memory.verify()} == {"LOP-E026"}
        assert memory.verify(rebuild=True) == ()
    db = apsw.Connection(str(path))
    for statement in (
        "INSERT INTO text(text, rowid, t) VALUES('delete', 4, 'acme likes tea')",
        "INSERT INTO text(rowid, t) VALUES(4, 'acme likes ale')",
    ):
        db.execute(statement)
    db.close()
    with Memory.open(path, clock=lambda: NOW) as memory:
        assert memory.verify() == ()
        assert {fault.code for fault in memory.verify(deep=True)} == {"STO-E009"}


@pytest.mark.parametrize("column", ["identity", "analyzer", "target_ref", "status", "creator"])
def test_text_that_is_no_text_in_the_queue_is_a_fault(path: Path, column: str) -> None:
    """INV-INTEGRITY-1: verify tells it, a rebuild puts it right, a look at the queue is refused with a code."""
    db = apsw.Connection(str(path))
    db.execute(f"UPDATE ledger SET {column} = CAST(x'ff41' AS TEXT)")
    db.close()
    with Memory.open(path, clock=lambda: NOW) as memory:
        assert "STO-E009" in {fault.code for fault in memory.verify()}
        if column != "status":  # which is looked up by its value, so such a row is not in the list
            with pytest.raises(DejaError, match="STO-E009"):
                memory.loop.queue(None)
        assert memory.verify(rebuild=True) == ()
        assert len(memory.loop.queue(None)) == 2


def test_a_rebuild_needs_admin_and_a_file_that_may_be_written(path: Path) -> None:
    """Reading may verify, only admin may rebuild."""
    for options, code in (({"scopes": ("read", "write")}, "LOP-E022"), ({"read_only": True}, "STO-E005")):
        with Memory.open(path, **options) as memory:  # type: ignore[arg-type]
            assert memory.verify() == ()
            with pytest.raises(DejaError, match=code):
                memory.verify(rebuild=True)


@pytest.mark.parametrize("code", ["STO-E004", "STO-E005", "STO-E007"])
def test_what_cannot_be_noted_is_sound_all_the_same(
    code: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock, a file that is only read and a full disk keep the note from being written; the answer is that of the check."""
    from deja_tui.store.faults import StoreError

    with Memory.open(path, clock=lambda: NOW) as memory:

        def refuse(*_: object, **__: object) -> object:
            raise StoreError(code, "refused")

        monkeypatch.setattr(memory.store, "act", refuse)
        assert memory.verify() == ()
