# SPDX-License-Identifier: Apache-2.0
"""Counts for a report about the whole file: what is live of which type, and what claims to have been verified."""

from __future__ import annotations

from collections import Counter
from typing import Final

import apsw

from deja_tui.errors import DejaError
from deja_tui.store import oplog
from deja_tui.store.rows import TYPE_NAMES, unfold
from deja_tui.store.sql import rows, scalar

# All without the dead: a walk of the index, and a look at the dead rows only.
_LIVE: Final = """
SELECT type, sum(n) FROM (
  SELECT type, count(*) AS n FROM grain INDEXED BY g_type
   WHERE ns IN (SELECT id FROM space WHERE reserved = 0) GROUP BY type
  UNION ALL
  SELECT type, -count(*) FROM grain INDEXED BY g_dead
   WHERE dead = 1 AND ns IN (SELECT id FROM space WHERE reserved = 0) GROUP BY type
) GROUP BY type HAVING sum(n) > 0
"""
# the name of the field on the wire, as MessagePack writes it; few grains carry one, and only those are decoded
_CLAIMS: Final = """
SELECT g.body FROM grain g
 WHERE g.dead = 0 AND g.ns IN (SELECT id FROM space WHERE reserved = 0) AND instr(g.body, x'a776737461747573') > 0
"""


def live_by_type(db: apsw.Connection) -> dict[str, int]:
    """Live grains of user namespaces by type."""
    return {TYPE_NAMES[kind]: count for kind, count in rows(db, _LIVE) if kind in TYPE_NAMES}


def claims(db: apsw.Connection) -> dict[str, int]:
    """Live grains of user namespaces by their declared ``verification_status``; those that declare none are left out."""
    found: Counter[str] = Counter()
    for (body,) in rows(db, _CLAIMS):
        try:
            status = unfold(body)[1].get("verification_status")
        except DejaError:  # damaged: `verify` names it
            continue
        if isinstance(status, str):
            found[status] += 1
    return dict(sorted(found.items()))


def began(db: apsw.Connection) -> int | None:
    """When the first grain arrived here, epoch ms; None in an empty file."""
    hlc = scalar(db, "SELECT hlc FROM op ORDER BY seq LIMIT 1")
    return None if hlc is None else oplog.wall_of(hlc)
