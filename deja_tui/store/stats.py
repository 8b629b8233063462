# SPDX-License-Identifier: Apache-2.0
"""How much a file holds: maintained counters for gates, counted rows for people.

* INV-STATS-1  Counters say what ever arrived, forgotten grains included; they are read in constant time.
* INV-STATS-2  `stats` says what is there now, as a count of the rows gives it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import apsw

from deja_tui.store.rows import TYPE_NAMES
from deja_tui.store.sql import counter, rows, scalar


@dataclass(frozen=True, slots=True)
class Counts:
    """Everything that ever arrived in user namespaces, forgotten grains included (D38)."""

    grains: int
    errors: int


def counts(db: apsw.Connection) -> Counts:
    """Two counters, read in constant time."""
    return Counts(counter(db, "grains"), counter(db, "errors"))


def acts(db: apsw.Connection) -> int:
    """How many acts have changed the file."""
    return counter(db, "acts")


def stats(db: apsw.Connection, path: str) -> dict[str, Any]:
    """What the file holds now.

    Returns:
        ``grains``, ``live``, ``forgotten``, ``operations``, ``terms`` (numbers); ``by_type`` and ``namespaces`` (names to
        numbers, every grain, the loop's own included); ``last_seq``; ``last_created_at`` (epoch ms or None);
        ``unindexed`` (grains whose text a search reads from the table); ``file_bytes``, ``log_bytes``.
    """
    counters = {name: told for name, told in rows(db, "SELECT name, value FROM counter") if type(told) is int}
    each = "SELECT count(*), max(at) FROM grain INDEXED BY g_type WHERE type = ?"
    kinds = {name: next(rows(db, each, (number,))) for number, name in TYPE_NAMES.items()}
    grains = sum(count for count, _ in kinds.values())
    return {
        "grains": grains,
        "live": grains - scalar(db, "SELECT count(*) FROM grain INDEXED BY g_dead WHERE dead = 1"),
        "forgotten": scalar(db, "SELECT count(*) FROM tombstone"),
        "operations": scalar(db, "SELECT max(seq) FROM op") or 0,
        "terms": scalar(db, "SELECT count(*) FROM term"),
        "by_type": {name: count for name, (count, _) in sorted(kinds.items()) if count},
        "namespaces": held(db),
        "last_seq": counters.get("seq", 0),
        "last_created_at": max((newest for _, newest in kinds.values() if newest is not None), default=None),
        "unindexed": counters.get("seq", 0) - counters.get("indexed", 0),
        "file_bytes": _size(path),
        "log_bytes": _size(path + "-wal"),
    }


def held(db: apsw.Connection) -> dict[str, int]:
    """How many grains each namespace holds, by its name."""
    told = {name: count for name, count in rows(db, "SELECT name, value FROM counter") if type(count) is int}
    return {
        name: told.get(f"held:{space}", 0)
        for space, name in rows(db, "SELECT id, name FROM space ORDER BY name")
    }


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0
