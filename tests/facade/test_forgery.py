# SPDX-License-Identifier: Apache-2.0
"""Somebody edits the file with another program: derived rows are not believed where a decision rests on them (D1, D6)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from deja_tui import DejaError, Memory
from tests.support import DAY, NOW

Edit = Callable[[apsw.Connection, bytes], None]


def rejected(path: Path) -> str:
    """A memory with one rejected recommendation; its address."""
    with Memory.open(path, clock=lambda: NOW - DAY) as memory:
        for number in range(3):
            memory.record_tool_call("curl", "timeout", True, call_id=str(number))
        (address,) = memory.loop.run().recommendations
        memory.loop.reject(address, because="an outage")
    return address


def hide_the_link(db: apsw.Connection, rejection: bytes) -> None:
    db.execute("DELETE FROM link WHERE child = (SELECT id FROM grain WHERE hash = ?)", (rejection,))
    db.execute("UPDATE ledger SET status = 'pending'")


def call_it_imported(db: apsw.Connection, rejection: bytes) -> None:
    db.execute("UPDATE grain SET origin = 1 WHERE hash = ?", (rejection,))
    db.execute("UPDATE ledger SET status = 'pending'")


def empty_the_ledger(db: apsw.Connection, rejection: bytes) -> None:
    db.execute("DELETE FROM ledger")


def drop_the_ledger(db: apsw.Connection, rejection: bytes) -> None:
    db.execute("DROP TABLE ledger")


@pytest.mark.parametrize("edit", [hide_the_link, call_it_imported, empty_the_ledger, drop_the_ledger])
def test_an_edited_table_does_not_undo_a_rejection(tmp_path: Path, edit: Edit) -> None:
    """INV-DERIVED-3: The chain is read from bytes and op-log: no approval, and no run proposes it again."""
    path = tmp_path / "a.deja"
    address = rejected(path)
    with Memory.open(path, read_only=True) as memory:
        rejection = bytes.fromhex(memory.loop.audit(address).entries[-1].address)
    db = apsw.Connection(str(path))
    edit(db, rejection)
    db.close()
    with Memory.open(path, clock=lambda: NOW) as memory:
        with pytest.raises(DejaError, match=r"LOP-E020|LOP-E026"):
            memory.loop.approve(address, because="as if nothing had been said")
        assert [entry.to_status for entry in memory.loop.audit(address).entries] == ["pending", "rejected"]
        assert memory.verify() != ()
        assert memory.loop.run().stored == 0
        left = memory.verify(rebuild=True)
        if edit is call_it_imported:  # an origin is never upgraded: it is reported, and decisions stay off
            assert left
            with pytest.raises(DejaError, match="LOP-E026"):
                memory.loop.approve(address, because="once more")
        else:
            assert left == ()
            assert memory.loop.queue("rejected")[0].address == address
