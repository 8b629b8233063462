# SPDX-License-Identifier: Apache-2.0
"""All that is here with the clock of its arrival, and every mark with the clock of its own: how a memory was at any time.

* INV-PAST-1  One read of one committed state; nothing is written, and what was erased since is not in it (INV-ASOF-3).
* INV-PAST-2  Grains are given as if nothing had happened to them: live, without a successor. What happened is in ``marks``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import apsw

from deja_tui.store.grains import StoredGrain
from deja_tui.store.oplog import MARKS, SUPERSEDE
from deja_tui.store.rows import COLUMNS, readable
from deja_tui.store.sql import rows

_KINDS: Final = {number: name for name, number in MARKS.items()}
_GRAINS: Final = f"SELECT {COLUMNS} FROM grain g ORDER BY g.id"
_MARKS: Final = (
    "SELECT g.hash, o.hlc, m.kind, b.hash FROM mark m CROSS JOIN op o ON o.seq = m.seq"
    " CROSS JOIN grain g ON g.id = m.gid LEFT JOIN grain b ON b.id = m.by ORDER BY m.seq"
)
_SUPERSEDING: Final = "SELECT DISTINCT g.hash FROM op o CROSS JOIN grain g ON g.id = o.gid WHERE o.kind = ?"


@dataclass(frozen=True, slots=True)
class Mark:
    """What was said of a grain's liveness, when (HLC), and in favour of which other."""

    hlc: int
    kind: str
    by: str | None


@dataclass(frozen=True, slots=True)
class Past:
    """Every grain in arrival order, the marks of each in the order they were made, and which ones superseded another."""

    grains: tuple[StoredGrain, ...]
    marks: Mapping[str, tuple[Mark, ...]]
    superseding: frozenset[str]


def past(db: apsw.Connection) -> Past:
    """Read all of it. It stands in memory as a whole: about a kilobyte a grain."""
    grains = tuple(
        one if one.live and one.superseded_by is None else replace(one, live=True, superseded_by=None)
        for one in readable(rows(db, _GRAINS, ()))
    )
    marks: dict[str, list[Mark]] = {}
    for digest, hlc, kind, by in rows(db, _MARKS, ()):
        marks.setdefault(digest.hex(), []).append(Mark(hlc, _KINDS[kind], by.hex() if by else None))
    superseding = frozenset(digest.hex() for (digest,) in rows(db, _SUPERSEDING, (SUPERSEDE,)))
    return Past(grains, {address: tuple(told) for address, told in marks.items()}, superseding)
