# SPDX-License-Identifier: Apache-2.0
"""Filling the text index and dropping it: the writer's half of `search`, whose invariants it keeps (INV-SEARCH-1, -2).

It stands apart because the act that overfills the tail may be a capture by a hook, which asks nothing (D47).
"""

from __future__ import annotations

import apsw

from deja_tui.errors import DejaError
from deja_tui.store.body import TYPE_NAMES, unfold
from deja_tui.store.codec import TYPES
from deja_tui.store.projection import text_of
from deja_tui.store.sql import rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_NOTE: Final = TYPES["observation"]


def flush(db: apsw.Connection, indexed: int) -> None:
    """Index every grain above position ``indexed``, and sign the notes among them (D12); the caller holds the write
    transaction."""
    waiting = rows(db, "SELECT id, type, body FROM grain WHERE id > ? ORDER BY id", (indexed,))
    insert = db.cursor()
    for gid, kind, body in waiting:
        text = words_of(kind, body)
        if text:
            insert.execute("INSERT INTO text(rowid, t) VALUES(?, ?)", (gid, text))
        if kind == _NOTE:
            from deja_tui.store import near

            near.file(db, gid, body)


def empty(db: apsw.Connection) -> None:
    """Drop the whole index, because it was filled under another version of the projection (INV-PROJ-1)."""
    db.execute("INSERT INTO text(text) VALUES('delete-all')")
    db.execute("DELETE FROM near")


def words_of(kind: int, body: bytes) -> str:
    """The indexed text of a stored grain (INV-PROJ-1); a damaged one has none, and stops no act and no search."""
    try:
        namespace, fields = unfold(body)
    except DejaError:
        return ""
    return text_of(TYPE_NAMES.get(kind, ""), namespace, fields)
