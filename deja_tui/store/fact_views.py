# SPDX-License-Identifier: Apache-2.0
"""Set-based reads about facts and notes, one statement each; see `views` for the others.

Their answers equal what `engine.fact_views` finds by scanning; the conformance tests compare both. ``after`` is an
arrival position: only what arrived, or was opened again, after it is asked about, and the cost is that of what is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import apsw

from deja_tui.store import near, oplog, read, schema
from deja_tui.store.codec import TYPES
from deja_tui.store.faults import coded
from deja_tui.store.grains import StoredGrain
from deja_tui.store.memory import Store
from deja_tui.store.rows import LIVE_COLUMNS, readable
from deja_tui.store.sql import listed, rows, scalar
from deja_tui.store.terms import find_term, space_filter
from deja_tui.text import fold


class RelationCount(NamedTuple):
    """How many subjects have a live value under a relation of one namespace, and how many of them exactly one."""

    namespace: str
    relation: str
    subjects: int
    single: int


class Overdue(NamedTuple):
    """Live grains of one namespace that are older than a limit: how many, and the oldest of them."""

    namespace: str
    total: int
    oldest: list[StoredGrain]


_OPENED: Final = oplog.MARKS["reopen"]
_RIVALS: Final = f"""
SELECT ns, s, r FROM grain INDEXED BY g_fact
 WHERE {schema.LIVE_FACT} AND r IN ({{relations}}) AND {{where}}
 GROUP BY ns, s, r HAVING min(k) <> max(k)
"""
_NEW_RIVALS: Final = f"""
WITH touched(ns, s, r) AS (
  SELECT ns, s, r FROM grain NOT INDEXED
   WHERE id > ?1 AND {schema.LIVE_FACT} AND r IN ({{relations}}) AND {{where}}
  UNION
  SELECT g.ns, g.s, g.r FROM mark m CROSS JOIN grain g ON g.id = m.gid
   WHERE m.seq > ?1 AND m.kind = {_OPENED} AND g.r IN ({{relations}}) AND g.dead = 0 AND {{where}}
)
SELECT g.ns, g.s, g.r
  FROM touched t CROSS JOIN grain g INDEXED BY g_fact ON g.ns = t.ns AND g.s = t.s AND g.r = t.r
 WHERE g.r IS NOT NULL AND g.dead = 0
 GROUP BY g.ns, g.s, g.r HAVING min(g.k) <> max(g.k)
"""
_MEMBERS: Final = f"""
SELECT {LIVE_COLUMNS} FROM grain g INDEXED BY g_fact
 WHERE g.r IS NOT NULL AND g.dead = 0 AND g.ns = ? AND g.s = ? AND g.r = ?
"""
_COUNTS: Final = f"""
SELECT ns, r, count(*), sum(one) FROM (
  SELECT ns, s, r, min(k) = max(k) AS one FROM grain INDEXED BY g_fact WHERE {schema.LIVE_FACT} AND {{where}}
   GROUP BY ns, s, r
) GROUP BY ns, r HAVING count(*) >= ?
"""
_ENDED: Final = f"""
SELECT {LIVE_COLUMNS} FROM grain g INDEXED BY g_vt
 WHERE g.vt IS NOT NULL AND g.dead = 0 AND g.type IN ({TYPES["fact"]}, {TYPES["observation"]})
   AND {{range}} AND {{where}} ORDER BY g.id
"""
_PAST_END: Final = f"""
SELECT count(*) FROM grain g INDEXED BY g_vt
 WHERE g.vt IS NOT NULL AND g.dead = 0 AND g.type IN ({TYPES["fact"]}, {TYPES["observation"]})
   AND g.vt < ? AND {{where}}
"""
_OLD: Final = """
SELECT ns, sum(n) FROM (
  SELECT ns, count(*) AS n FROM grain INDEXED BY g_type WHERE type IN ({types}) AND at < ?1 AND {where} GROUP BY ns
  UNION ALL
  SELECT ns, -count(*) FROM grain INDEXED BY g_dead WHERE dead = 1 AND type IN ({types}) AND at < ?1 AND {where} GROUP BY ns
) GROUP BY ns HAVING sum(n) > 0
"""
_OLDEST: Final = f"""
SELECT {LIVE_COLUMNS} FROM grain g INDEXED BY g_type
 WHERE g.type = ? AND g.at < ? AND g.ns = ? AND g.dead = 0 ORDER BY g.at, g.hlc, g.hash LIMIT ?
"""


_HAPPENED: Final = """
SELECT o.kind, o.gid, m.gid FROM op o LEFT JOIN mark m ON m.seq = o.seq ORDER BY o.seq DESC
"""
_CLOSINGS: Final = f"SELECT count(*) FROM mark WHERE gid = ? AND kind = {oplog.MARKS['supersede']}"


class FactViews:
    """The views of one memory file. Every method reads with the thread's own connection and raises `StoreError` only."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @coded
    def rivals(
        self, namespaces: Sequence[str] | None, relations: Sequence[str], after: int = 0
    ) -> list[list[StoredGrain]]:
        """Live facts of one (namespace, subject, relation) with two or more values, sorted by key, each by age."""
        with self._store.snapshot():
            db = self._store.reading()
            known = [str(term) for name in relations if (term := find_term(db, name)) is not None]
            statement = (_NEW_RIVALS if after else _RIVALS).format(
                relations=", ".join(known or ["0"]), where=_in(db, namespaces)
            )
            keys = list(rows(db, statement, (after,) if after else ()))
            groups = [readable(rows(db, _MEMBERS, key)) for key in keys]
        for group in groups:
            group.sort(key=lambda grain: (grain.created_at, grain.hlc, grain.address))
        # a damaged grain is nobody's rival
        return sorted((group for group in groups if len(group) > 1), key=lambda group: _key(group[0]))

    @coded
    def relation_counts(self, namespaces: Sequence[str] | None, least: int) -> list[RelationCount]:
        """Subjects and single-valued subjects of each relation, of those with at least so many subjects."""
        with self._store.snapshot():
            db = self._store.reading()
            found = list(rows(db, _COUNTS.format(where=_in(db, namespaces)), (least,)))
            spaces = dict(rows(db, "SELECT id, name FROM space"))
            terms = dict(
                rows(
                    db,
                    "SELECT id, s FROM term WHERE id IN (SELECT value FROM json_each(?))",
                    (listed(r for _, r, *_ in found),),
                )
            )
        return sorted(RelationCount(spaces[ns], terms[r], count, single) for ns, r, count, single in found)

    @coded
    def may_have_forked(self, after: int) -> bool:
        """Whether a fork can have come about since the arrival at ``after``: the log is read back to there.

        A plain supersession closes a grain that nothing had closed before. Where one closed nothing, or what had been
        closed before, and where a grain was opened again, there may be a second tip.
        """
        db = self._store.reading()
        for kind, gid, closed in rows(db, _HAPPENED):
            if kind == oplog.ADD and gid <= after:
                return False
            if kind == oplog.REOPEN:
                return True
            if kind == oplog.SUPERSEDE and (closed is None or scalar(db, _CLOSINGS, (closed,)) > 1):
                return True
        return False

    @coded
    def ended(
        self, namespaces: Sequence[str] | None, before: int, after: int = 0, since: int | None = None
    ) -> list[StoredGrain]:
        """Live facts and observations whose declared end lies before ``before``, in arrival order.

        With ``after`` only those that arrived after it or whose end is not before ``since``, both given together.
        """
        db = self._store.reading()
        where = _in(db, namespaces)
        if not after or since is None:
            return readable(rows(db, _ENDED.format(range="g.vt < ?", where=where), (before,)))
        newly = "g.vt < ?1 AND (g.vt >= ?2 OR g.id > ?3 OR g.id IN (SELECT gid FROM mark WHERE seq > ?3 AND kind = ?4))"
        return readable(rows(db, _ENDED.format(range=newly, where=where), (before, since, after, _OPENED)))

    @coded
    def past_end(self, before: int) -> int:
        """How many grains `ended` would give of all namespaces: none of them is decoded."""
        db = self._store.reading()
        return int(scalar(db, _PAST_END.format(where=_in(db, None)), (before,)) or 0)

    @coded
    def overdue(
        self, namespaces: Sequence[str] | None, types: Sequence[str], before: int, limit: int
    ) -> list[Overdue]:
        """Live grains of ``types`` created before ``before``, by namespace: how many, and the oldest ``limit``."""
        with self._store.snapshot():
            db = self._store.reading()
            numbers = [TYPES[name] for name in types]
            statement = _OLD.format(types=", ".join(map(str, numbers)), where=_in(db, namespaces))
            spaces = dict(rows(db, "SELECT id, name FROM space"))
            found = []
            for space, total in list(rows(db, statement, (before,))):
                members = [
                    grain
                    for number in numbers
                    for grain in readable(rows(db, _OLDEST, (number, before, space, limit)))
                ]
                members.sort(key=lambda grain: (grain.created_at, grain.hlc, grain.address))
                found.append(Overdue(spaces[space], total, members[:limit]))
        return sorted((one for one in found if one.oldest), key=lambda one: one.namespace)

    @coded
    def near_notes(self, namespaces: Sequence[str] | None, after: int = 0) -> list[StoredGrain]:
        """Live observations that share a signature (D12), by namespace and age."""
        with self._store.snapshot():
            db = self._store.reading()
            found = near.nominated(db, _in(db, namespaces), after, _OPENED)
        return sorted(found, key=lambda grain: (grain.namespace, grain.created_at, grain.hlc, grain.address))


def _in(db: apsw.Connection, namespaces: Sequence[str] | None) -> str:
    return space_filter(db, None if namespaces is None else [read.asked(name) for name in namespaces])


def _key(grain: StoredGrain) -> tuple[Any, ...]:
    return grain.namespace, *(fold(str(grain.get(name))) for name in ("subject", "relation"))
