# SPDX-License-Identifier: Apache-2.0
"""Set-based reads for the analyzers of activity and for outcomes, one statement each; see `views` for the others.

Their answers equal what `engine.activity_views` finds by scanning; the conformance tests compare both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import apsw

from deja_tui.store import oplog, read, schema
from deja_tui.store.codec import TYPES
from deja_tui.store.faults import coded
from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import link_key
from deja_tui.store.memory import Store
from deja_tui.store.rows import COLUMNS, LIVE_COLUMNS, readable
from deja_tui.store.sql import listed, rows, scalar
from deja_tui.store.terms import find_space, find_term, space_filter
from deja_tui.text import fold

LOOP_NAMESPACE: Final = "deja-loop"
DOCUMENT_RELATION: Final = "memory_file"


class ToolSpan(NamedTuple):
    """Calls of one tool inside a span: failures of one kind, all with a known outcome, and when its first call ever was."""

    errors: int
    calls: int
    first: int | None


_SPAN: Final = """
SELECT count(*) FILTER (WHERE g.at > ?2 AND g.at <= ?3 AND {failed}), count(*) FILTER (WHERE g.at > ?2 AND g.at <= ?3), min(g.at)
  FROM grain g INDEXED BY g_tool WHERE g.tool IS NOT NULL AND g.dead = 0 AND g.tool = ?1 AND {where}
"""
_UNDER: Final = f"""
SELECT {COLUMNS} FROM grain g INDEXED BY g_fact WHERE g.r IS NOT NULL AND g.dead = 0 AND g.ns = ?1 AND g.s = ?2 AND g.r = ?3
UNION ALL
SELECT {COLUMNS} FROM grain g INDEXED BY g_dead WHERE g.dead = 1 AND g.s = ?2 AND g.r = ?3 AND g.ns = ?1
"""
_LIVE: Final = f"SELECT {LIVE_COLUMNS} FROM grain g INDEXED BY g_type WHERE g.type = ? AND g.dead = 0 AND {{where}} ORDER BY g.id"
# A mark made after a grain arrived has a higher op-log position than the grain has an arrival position.
_RECENT: Final = f"""
SELECT {LIVE_COLUMNS} FROM grain g NOT INDEXED WHERE g.id > ?2 AND g.type = ?1 AND g.dead = 0 AND {{where}}
UNION
SELECT {LIVE_COLUMNS} FROM mark m CROSS JOIN grain g ON g.id = m.gid
 WHERE m.seq > ?2 AND m.kind = {oplog.MARKS["reopen"]} AND g.type = ?1 AND g.dead = 0 AND {{where}}
 ORDER BY 1
"""
_FEW: Final = 8
"""Above this part of the file, reading all of one type is cheaper than reading every row that arrived."""
_WRITTEN: Final = """
SELECT DISTINCT g.hash FROM json_each(?1) j CROSS JOIN link l ON l.p = j.value CROSS JOIN grain g ON g.id = l.child
 WHERE g.type = ?2 AND g.dead = 0 AND {where}
"""
_DOCUMENTS: Final = (
    f"SELECT hash FROM grain INDEXED BY g_fact WHERE {schema.LIVE_FACT} AND r = ? AND {{where}}"
)
# a body is looked at for the key alone; what it really holds is decided on the decoded grain
_OUTCOMES: Final = (
    f"SELECT {COLUMNS} FROM grain g INDEXED BY g_type"
    " WHERE g.type = ?1 AND g.at >= ?2 AND g.ns = ?3 AND instr(g.body, ?4) > 0 ORDER BY g.id"
)


class ActivityViews:
    """The views of one memory file. Every method reads with the thread's own connection and raises `StoreError` only."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @coded
    def tool_span(self, tool: str, signature: str | None, after_ms: int, until_ms: int) -> ToolSpan:
        """Live calls of ``tool`` created in (after, until]; ``signature`` None: every failure counts."""
        db = self._store.reading()
        kind = None if signature is None else find_term(db, signature)
        failed = "g.sig IS NOT NULL" if signature is None else f"g.sig = {kind or 0}"
        sql = _SPAN.format(failed=failed, where=space_filter(db, None))
        found = next(rows(db, sql, (find_term(db, tool) or 0, after_ms, until_ms)))
        return ToolSpan(*found)

    @coded
    def facts_under(self, namespace: str, subject: str, relation: str) -> list[StoredGrain]:
        """Every fact, live or not, with this subject and relation after folding, by (created_at, HLC, address)."""
        db = self._store.reading()
        folded = tuple(fold(read.asked(text)) for text in (subject, relation))
        key = (find_space(db, read.asked(namespace)), *(find_term(db, text) for text in folded))
        if None in key:
            return []
        found = readable(rows(db, _UNDER, key))
        return sorted(found, key=lambda grain: (grain.created_at, grain.hlc, grain.address))

    @coded
    def earliest_fact(self) -> int | None:
        """When the oldest fact outside reserved namespaces was created; None without one."""
        db = self._store.reading()
        sql = f"SELECT at FROM grain INDEXED BY g_type WHERE type = ? AND {space_filter(db, None)} ORDER BY at LIMIT 1"
        return next((int(at) for (at,) in rows(db, sql, (TYPES["fact"],))), None)

    def live_grains(
        self, type: str, namespaces: Sequence[str] | None, after: int = 0
    ) -> Iterator[StoredGrain]:
        """The live grains of one type, in arrival order; with ``after`` those that arrived or became live again after it.

        More than those where that is cheaper.
        """
        yield from self._live_grains(type, namespaces, after)

    @coded
    def _live_grains(self, type: str, namespaces: Sequence[str] | None, after: int) -> list[StoredGrain]:
        db = self._store.reading()
        newest = scalar(db, "SELECT max(id) FROM grain") or 0
        where = _in(db, namespaces)
        if after and (newest - after) * _FEW < newest:
            return readable(rows(db, _RECENT.format(where=where), (TYPES[type], after)))
        return readable(rows(db, _LIVE.format(where=where), (TYPES[type],)))

    @coded
    def engine_written(self) -> frozenset[bytes]:
        """Raw addresses of live facts that name a recommendation as a parent."""
        db = self._store.reading()
        space = find_space(db, LOOP_NAMESPACE)
        if space is None:
            return frozenset()
        told = rows(
            db,
            "SELECT hash FROM grain INDEXED BY g_type WHERE type = ? AND ns = ?",
            (TYPES["recommendation"], space),
        )
        keys = listed(link_key(digest.hex()) for (digest,) in told)
        sql = _WRITTEN.format(where=space_filter(db, None))
        return frozenset(digest for (digest,) in rows(db, sql, (keys, TYPES["fact"])))

    @coded
    def documents(self, namespaces: Sequence[str] | None) -> frozenset[bytes]:
        """Raw addresses of the live facts that hold documents."""
        db = self._store.reading()
        relation = find_term(db, DOCUMENT_RELATION)
        if relation is None:
            return frozenset()
        found = rows(db, _DOCUMENTS.format(where=_in(db, namespaces)), (relation,))
        return frozenset(digest for (digest,) in found)

    @coded
    def outcome_grains(self, since_ms: int) -> list[StoredGrain]:
        """The Observations of the loop's namespace that may record a measurement, in arrival order."""
        db = self._store.reading()
        space = find_space(db, LOOP_NAMESPACE)
        if space is None:
            return []
        found = readable(rows(db, _OUTCOMES, (TYPES["observation"], since_ms, space, b"horizon_ms")))
        return [grain for grain in found if "outcome" in (grain.get("context") or {})]


def _in(db: apsw.Connection, namespaces: Sequence[str] | None) -> str:
    return space_filter(db, None if namespaces is None else [read.asked(name) for name in namespaces])
