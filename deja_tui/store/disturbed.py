# SPDX-License-Identifier: Apache-2.0
"""Whose open recommendations cite a grain that changed lately: what lets a run look at new grains only.

Counts marks in the op-log since a position, so its cost is that of what happened, not that of the file.
"""

from __future__ import annotations

from typing import Final

import apsw

from deja_tui.store import ledger, oplog
from deja_tui.store.codec import TYPES
from deja_tui.store.keys import link_key
from deja_tui.store.sql import rows, scalar

MANY: Final = 5_000
"""From so many changes on, looking at everything costs less than following each."""

_MARKED: Final = """
SELECT DISTINCT g.hash FROM mark m CROSS JOIN grain g ON g.id = m.gid
 WHERE m.seq > ? AND g.type <> ? LIMIT ?
"""
_CITING: Final = """
SELECT DISTINCT l.analyzer FROM link k CROSS JOIN grain g ON g.id = k.child CROSS JOIN ledger l ON l.address = g.hash
 WHERE k.p = ? AND l.status IN ('pending', 'approved') AND l.replaced_by IS NULL AND l.is_foreign = 0
"""


def arrived(db: apsw.Connection) -> int:
    """The arrival position of the newest grain."""
    return int(scalar(db, "SELECT max(id) FROM grain") or 0)


def moves(db: apsw.Connection) -> int:
    """The newest position of the op-log."""
    return int(scalar(db, "SELECT max(seq) FROM op") or 0)


def disturbed(db: apsw.Connection, after: int) -> frozenset[str] | None:
    """Analyzers with an open local recommendation that cites a grain marked after the op-log position ``after``.

    None: any may have one: something was forgotten since (what quoted it is gone with it), or too much changed.
    """
    if moves(db) < after:  # the file was set back
        return None
    if scalar(db, "SELECT 1 FROM op WHERE seq > ? AND kind = ? LIMIT 1", (after, oplog.FORGET)):
        return None
    marked = list(rows(db, _MARKED, (after, TYPES["recommendation"], MANY)))
    if len(marked) >= MANY:
        return None
    if not marked or not ledger.exists(db):
        return frozenset()
    # a link key is part of an address: now and then it names one analyzer too many, never one too few
    return frozenset(
        analyzer for (digest,) in marked for (analyzer,) in rows(db, _CITING, (link_key(digest.hex()),))
    )
