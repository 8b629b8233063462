# SPDX-License-Identifier: Apache-2.0
"""Set-based reads for analyzers: one statement finds the candidates, only those are decoded.

* INV-VIEWS-1  Each answers what a plain loop over the same grains answers.
* INV-VIEWS-2  With a position to begin after, groups are those that something new touched, each whole.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final, NamedTuple

import apsw

from deja_tui.store import oplog, schema
from deja_tui.store.codec import TYPES
from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import is_address
from deja_tui.store.read import asked
from deja_tui.store.rows import COLUMNS, LIVE_COLUMNS, readable
from deja_tui.store.sql import listed, rows, scalar
from deja_tui.store.terms import find_space, find_term, space_filter
from deja_tui.text import fold

LOOP_NAMESPACE: Final = "deja-loop"


class Position(NamedTuple):
    """How much has ever arrived in user namespaces: the newest arrival there, all grains, failed tool calls (D38)."""

    seq: int
    grains: int
    errors: int


class FailureCluster(NamedTuple):
    """Failing calls of one tool with one signature; ``calls`` counts all its calls with an outcome in the window.

    ``namespace`` is the one that holds most members, the alphabetically first on a tie.
    """

    tool: str
    signature: str
    count: int  # type: ignore[assignment]
    calls: int
    namespace: str


class ColdFacts(NamedTuple):
    """Live facts of one namespace that nobody asked for: how many, and the oldest of them."""

    namespace: str
    total: int
    oldest: list[StoredGrain]


def position(db: apsw.Connection) -> Position:
    """The counters that gates subtract."""
    found = dict(rows(db, "SELECT name, value FROM counter WHERE name IN ('user_seq', 'grains', 'errors')"))
    return Position(found.get("user_seq", 0), found.get("grains", 0), found.get("errors", 0))


# --- tools ------------------------------------------------------------------------------------------

# The tools are walked one by one, so the index is read inside the window only, not from end to end.
_WINDOW: Final = f"""
WITH RECURSIVE each(tool) AS (
  SELECT min(tool) FROM grain INDEXED BY g_tool WHERE {schema.LIVE_TOOL}
  UNION ALL
  SELECT (SELECT min(g.tool) FROM grain g INDEXED BY g_tool
           WHERE g.tool IS NOT NULL AND g.dead = 0 AND g.tool > each.tool)
    FROM each WHERE each.tool IS NOT NULL
)
SELECT g.tool, g.sig, g.ns, count(*)
  FROM each CROSS JOIN grain g INDEXED BY g_tool ON g.tool = each.tool
 WHERE g.tool IS NOT NULL AND g.dead = 0 AND g.at BETWEEN ? AND ? AND g.id > ? AND {{where}}
 GROUP BY g.tool, g.sig, g.ns
"""


def tool_failures(
    db: apsw.Connection, since_ms: int, until_ms: int, after_seq: int, namespaces: Sequence[str] | None
) -> list[FailureCluster]:
    """Failed calls by (tool, signature), created in [since, until] and arrived after ``after_seq``; sorted by both."""
    sql = _WINDOW.format(where=_in(db, namespaces))
    calls: Counter[int] = Counter()
    members: dict[tuple[int, int], dict[int, int]] = {}
    for tool, signature, space, count in rows(db, sql, (since_ms, until_ms, after_seq)):
        calls[tool] += count
        if signature is not None:
            members.setdefault((tool, signature), {})[space] = count
    text = _texts(db, "SELECT id, s FROM term", {i for pair in members for i in pair})
    names = _texts(db, "SELECT id, name FROM space", {i for spread in members.values() for i in spread})
    found = [
        FailureCluster(
            text[tool],
            text[signature],
            sum(spread.values()),
            calls[tool],
            min((-count, names[space]) for space, count in spread.items())[1],
        )
        for (tool, signature), spread in members.items()
    ]
    return sorted(found, key=lambda cluster: (cluster.tool, cluster.signature))


def tool_failure_members(
    db: apsw.Connection,
    tool: str,
    signature: str,
    since_ms: int,
    until_ms: int,
    after_seq: int,
    namespaces: Sequence[str] | None,
    limit: int,
) -> list[StoredGrain]:
    """The newest ``limit`` members of one cluster, newest first."""
    terms = find_term(db, tool), find_term(db, signature)
    if None in terms:
        return []
    sql = (
        f"SELECT {COLUMNS} FROM grain g INDEXED BY g_tool"
        " WHERE g.tool IS NOT NULL AND g.dead = 0 AND g.tool = ? AND g.at BETWEEN ? AND ? AND g.sig = ?"
        f" AND g.id > ? AND {_in(db, namespaces)} ORDER BY g.at DESC, g.hlc DESC, g.hash DESC LIMIT ?"
    )
    return _grains(rows(db, sql, (terms[0], since_ms, until_ms, terms[1], after_seq, limit)))


# --- facts ------------------------------------------------------------------------------------------


# What makes a live fact: an arrival, or a mark that opens an old one again. A mark made after a grain arrived has a higher
# op-log position than the grain has an arrival position, so one number bounds both.
_OPENED: Final = f"""
  SELECT g.ns, g.s, g.r, g.k FROM mark m CROSS JOIN grain g ON g.id = m.gid
   WHERE m.seq > ?1 AND m.kind = {oplog.MARKS["reopen"]} AND g.r IS NOT NULL AND g.dead = 0
"""
_DUPLICATES: Final = f"""
SELECT min(id), max(id), count(*), ns, s, r, k FROM grain INDEXED BY g_fact
 WHERE {schema.LIVE_FACT} AND {{where}}
 GROUP BY ns, s, r, k HAVING count(*) > 1 AND (max(id) > ?1 OR (ns, s, r, k) IN ({_OPENED}))
"""
_TOUCHED: Final = f"""
WITH touched(ns, s, r, k) AS (
  SELECT ns, s, r, k FROM grain NOT INDEXED WHERE id > ?1 AND {schema.LIVE_FACT} AND {{where}}
  UNION {_OPENED} AND {{where}}
)
SELECT min(g.id), max(g.id), count(*), g.ns, g.s, g.r, g.k
  FROM touched t CROSS JOIN grain g INDEXED BY g_fact ON g.ns = t.ns AND g.s = t.s AND g.r = t.r AND g.k = t.k
 WHERE g.r IS NOT NULL AND g.dead = 0
 GROUP BY g.ns, g.s, g.r, g.k HAVING count(*) > 1
"""
_FEW: Final = 8
"""Above this part of the file, walking the index from end to end is cheaper than reading the rows that arrived (measured)."""


def duplicate_facts(
    db: apsw.Connection, namespaces: Sequence[str] | None, after: int = 0
) -> list[list[StoredGrain]]:
    """Groups of two or more live facts with one key, each ordered by (created_at, address). Text decides later (D11).

    Groups are sorted by namespace and folded text. Namespaces are compared exactly: recall reads one.

    With ``after``, an arrival position: only groups in which a member arrived, or became live again, after it; each is given
    whole. The cost is then that of what is new, not that of the file.
    """
    newest = scalar(db, "SELECT max(id) FROM grain") or 0
    statement = _TOUCHED if (newest - after) * _FEW < newest else _DUPLICATES
    keys = rows(db, statement.format(where=_in(db, namespaces)), (after,))
    more = f"SELECT id FROM grain INDEXED BY g_fact WHERE {schema.LIVE_FACT} AND ns = ? AND s = ? AND r = ? AND k = ?"
    ids = [
        (first, last) if count == 2 else [row[0] for row in rows(db, more, key)]
        for first, last, count, *key in keys
    ]
    sql = f"SELECT {LIVE_COLUMNS} FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value"
    members = {
        grain.seq: grain for grain in _grains(rows(db, sql, (listed(i for group in ids for i in group),)))
    }
    # a damaged grain is nobody's duplicate
    found = [[members[i] for i in group if i in members] for group in ids]
    groups = [group for group in found if len(group) > 1]
    for group in groups:
        group.sort(key=lambda grain: (grain.created_at, grain.hlc, grain.address))
    return sorted(groups, key=lambda group: _fact_text(group[0]))


def _fact_text(grain: StoredGrain) -> tuple[str, ...]:
    return grain.namespace, *(fold(str(grain.get(n))) for n in ("subject", "relation", "object"))


def fact_matches(db: apsw.Connection, namespace: str, subject: str, relation: str) -> list[StoredGrain]:
    """Live facts with exactly this subject and relation, in arrival order."""
    subject, relation = asked(subject), asked(relation)
    here = (find_space(db, asked(namespace)), find_term(db, fold(subject)), find_term(db, fold(relation)))
    if None in here:
        return []
    sql = (
        f"SELECT {COLUMNS} FROM grain g INDEXED BY g_fact"
        " WHERE g.r IS NOT NULL AND g.dead = 0 AND g.ns = ? AND g.s = ? AND g.r = ? ORDER BY g.id"
    )
    found = _grains(rows(db, sql, here))
    return [g for g in found if g.get("subject") == subject and g.get("relation") == relation]


# Live old facts are all old facts without the dead ones: two walks of an index, and a look at the dead rows only.
_OLD: Final = """
SELECT ns, sum(n) FROM (
  SELECT ns, count(*) AS n FROM grain INDEXED BY g_type WHERE type = ?1 AND at <= ?2 AND {where} GROUP BY ns
  UNION ALL
  SELECT ns, -count(*) FROM grain INDEXED BY g_dead WHERE dead = 1 AND type = ?1 AND at <= ?2 AND {where} GROUP BY ns
  UNION ALL
  SELECT g.ns, -count(*) FROM (SELECT DISTINCT unhex(value) AS hash FROM json_each(?3)) j
    CROSS JOIN grain g INDEXED BY g_hash ON g.hash = j.hash
   WHERE g.type = ?1 AND g.dead = 0 AND g.at <= ?2 AND {where} GROUP BY g.ns
) GROUP BY ns HAVING sum(n) > 0
"""


def cold_facts(
    db: apsw.Connection, before_ms: int, warm: Collection[bytes], namespaces: Sequence[str] | None, limit: int
) -> list[ColdFacts]:
    """Live facts created at or before ``before_ms`` that are not ``warm``, by namespace, sorted by its name.

    Args:
        warm: raw 32-byte addresses of facts that are left out: those that were recalled, and whatever the caller adds.
        limit: how many of the oldest are decoded for each namespace, in order of (created_at, arrival).
    """
    known = set(warm)
    asked_for = json.dumps([address.hex() for address in sorted(known)])
    counted = dict(
        rows(db, _OLD.format(where=_in(db, namespaces)), (TYPES["fact"], before_ms, asked_for)),
    )
    names = _texts(db, "SELECT id, name FROM space", set(counted))
    walk = "SELECT id, hash FROM grain INDEXED BY g_type WHERE type = ? AND ns = ? AND at <= ? AND dead = 0 ORDER BY at, id"
    found = []
    for space, total in counted.items():
        cold = (
            gid for gid, digest in rows(db, walk, (TYPES["fact"], space, before_ms)) if digest not in known
        )
        ids = listed(islice(cold, limit))
        sql = f"SELECT {LIVE_COLUMNS} FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value ORDER BY g.at, g.id"
        found.append(ColdFacts(names[space], total, _grains(rows(db, sql, (ids,)))))
    return sorted(found, key=lambda cold: cold.namespace)


# --- the loop's own grains --------------------------------------------------------------------------


def audits_of(db: apsw.Connection, recommendation: str) -> list[StoredGrain]:
    """Observations in the loop's namespace whose first parent is ``recommendation``, in arrival order.

    A decision rests on this, so it reads bytes and op-log, not the link index or the cached origin (D1, D6): an edited
    derived row neither hides an entry nor makes an imported one ours.
    """
    space = find_space(db, LOOP_NAMESPACE)
    if space is None or not is_address(recommendation):
        return []
    sql = (
        f"SELECT {COLUMNS} FROM grain g INDEXED BY g_type"
        " WHERE g.type = 6 AND g.ns = ? AND instr(g.body, ?) > 0 ORDER BY g.id"
    )
    found = _grains(rows(db, sql, (space, recommendation.encode())))
    audits = [grain for grain in found if grain.parents()[:1] == (recommendation,)]
    arrived = _origins(db, [grain.seq for grain in audits])
    return [replace(grain, imported=arrived.get(grain.seq, grain.imported)) for grain in audits]


# A text of 64 characters as the format writes it; what the digits are of is told after decoding.
_ADDRESS: Final = re.compile(rb"\xd9@([0-9a-f]{64})")


def audits(db: apsw.Connection, of: Collection[str] | None = None) -> dict[str, list[StoredGrain]]:
    """By recommendation what `audits_of` gives for it, in one walk: for whoever looks at many chains. ``of``: only these."""
    space = find_space(db, LOOP_NAMESPACE)
    if space is None:
        return {}
    sql = f"SELECT {COLUMNS} FROM grain g INDEXED BY g_type WHERE g.type = 6 AND g.ns = ? ORDER BY g.id"
    if of is None:
        found = _grains(rows(db, sql, (space,)))
    else:
        wanted = frozenset(address.encode() for address in of)
        bodies = rows(
            db, "SELECT id, body FROM grain INDEXED BY g_type WHERE type = 6 AND ns = ? ORDER BY id", (space,)
        )
        # only those that name one of them anywhere are decoded
        ids = [gid for gid, body in bodies if not wanted.isdisjoint(_ADDRESS.findall(body))]
        sql = f"SELECT {COLUMNS} FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value ORDER BY g.id"
        named = _grains(rows(db, sql, (listed(ids),)))
        found = [grain for grain in named if grain.parents()[:1] and grain.parents()[0] in set(of)]
    arrived = _origins(db, [grain.seq for grain in found])
    told: dict[str, list[StoredGrain]] = {}
    for grain in found:
        for about in grain.parents()[:1]:
            known = replace(grain, imported=arrived.get(grain.seq, grain.imported))
            told.setdefault(about, []).append(known)
    return told


def naming(db: apsw.Connection, address: str) -> list[StoredGrain]:
    """Recommendations and audits in the loop's namespace that name ``address`` anywhere, newest arrival first."""
    space = find_space(db, LOOP_NAMESPACE)
    if space is None or not is_address(address):
        return []
    kinds = (TYPES["observation"], TYPES["recommendation"])
    sql = (
        f"SELECT {COLUMNS} FROM grain g INDEXED BY g_type"
        " WHERE g.type IN (?, ?) AND g.ns = ? AND instr(g.body, ?) > 0 ORDER BY g.id DESC"
    )
    return _grains(rows(db, sql, (*kinds, space, address.encode())))


def _origins(db: apsw.Connection, gids: Sequence[int]) -> dict[int, bool]:
    """Whether each grain came from another copy, as the op-log has it. An add's ``seq`` is never below its grain's id."""
    if not gids:
        return {}
    sql = "SELECT gid, origin FROM op WHERE seq >= ? AND kind = ? AND gid IN (SELECT value FROM json_each(?))"
    return {gid: bool(origin) for gid, origin in rows(db, sql, (min(gids), oplog.ADD, listed(gids)))}


# --- helpers ----------------------------------------------------------------------------------------


def _in(db: apsw.Connection, namespaces: Sequence[str] | None) -> str:
    return space_filter(db, None if namespaces is None else [asked(name) for name in namespaces])


def _grains(found: Iterable[tuple[Any, ...]]) -> list[StoredGrain]:
    return readable(found)


def _texts(db: apsw.Connection, table: str, ids: set[int]) -> dict[int, str]:
    return dict(rows(db, f"{table} WHERE id IN (SELECT value FROM json_each(?))", (listed(ids),)))
