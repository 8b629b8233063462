# SPDX-License-Identifier: Apache-2.0
"""What facts say of a thing, and of the things they lead to: one statement a direction and level, never one a thing.

* INV-GRAPH-1  An edge is a live fact of the namespace whose folded subject (out) or object (in) is the thing, decided by
  its text; each thing is told once, with the number of edges it has.
* INV-GRAPH-2  Depth, edges told of a thing and edges told in all are bounded; a ring ends where it would repeat.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import apsw

from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import key_of
from deja_tui.store.read import asked
from deja_tui.store.rows import LIVE_COLUMNS, readable
from deja_tui.store.sql import listed, rows
from deja_tui.store.terms import find_space
from deja_tui.text import fold

DEPTHS: Final = (1, 2, 3)
EDGES_OF_ONE: Final = 12
EDGES_IN_ALL: Final = 400
_NAME_CHARS: Final = 200
"""A longer object is a text, not a thing: it is told, and not looked up."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One fact as an edge of a thing: ``out`` when the thing is its subject; ``other`` is the far end as it is written."""

    relation: str
    out: bool
    other: str
    grain: StoredGrain


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What surrounds a thing.

    Attributes:
        namespace, entity: where and what was asked. depth: how far.
        edges: folded name → its edges, outward first, the newest first; only of things less than ``depth`` steps away.
        totals: folded name → how many edges it has.
        complete: False where edges were left out.
    """

    namespace: str
    entity: str
    depth: int
    edges: Mapping[str, tuple[Edge, ...]]
    totals: Mapping[str, int]
    complete: bool


# The rank and the count of every edge of the asked things; the index alone answers, no grain is read for it.
_OUT: Final = """
SELECT g.id, t.s AS thing, count(*) OVER (PARTITION BY t.id) AS total,
       row_number() OVER (PARTITION BY t.id ORDER BY g.id DESC) AS place
  FROM json_each(?1) f CROSS JOIN term t ON t.h = f.value ->> 1 AND t.s = f.value ->> 0
  CROSS JOIN grain g INDEXED BY g_fact ON g.ns = ?2 AND g.s = t.id
 WHERE g.r IS NOT NULL AND g.dead = 0
"""
_IN: Final = """
SELECT g.id, f.value ->> 0 AS thing, count(*) OVER (PARTITION BY g.k) AS total,
       row_number() OVER (PARTITION BY g.k ORDER BY g.id DESC) AS place
  FROM grain g INDEXED BY g_fact CROSS JOIN json_each(?1) f ON f.value ->> 1 = g.k
 WHERE g.r IS NOT NULL AND g.dead = 0 AND g.ns = ?2 AND g.k IN (SELECT value ->> 1 FROM json_each(?1))
"""
_TOLD: Final = f"SELECT {LIVE_COLUMNS} FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value"


def neighbourhood(db: apsw.Connection, namespace: str, entity: str, depth: int = 1) -> Neighbourhood:
    """Live facts around ``entity``, ``depth`` steps (1 to 3) far."""
    name, place = asked(entity), find_space(db, asked(namespace))
    depth = max(DEPTHS[0], min(depth, DEPTHS[-1]))
    edges: dict[str, tuple[Edge, ...]] = {}
    totals: dict[str, int] = {}
    complete, left = True, EDGES_IN_ALL
    level = [fold(name)]
    for _ in range(depth):
        if place is None or not level or left <= 0:
            break
        for thing, found, total in _level(db, place, level):
            told = found[: max(0, left)]
            edges[thing], totals[thing] = tuple(told), total
            left -= len(told)
            complete = complete and len(told) == total
        level = list(dict.fromkeys(_ends(edges, level)))
    return Neighbourhood(asked(namespace), name, depth, edges, totals, complete)


def _ends(edges: Mapping[str, Iterable[Edge]], level: Iterable[str]) -> Iterable[str]:
    for thing in level:
        for edge in edges.get(thing, ()):
            end = fold(edge.other)
            if end and end not in edges and len(end) <= _NAME_CHARS:
                yield end


def _level(db: apsw.Connection, place: int, things: list[str]) -> Iterable[tuple[str, list[Edge], int]]:
    """Each thing with its edges and how many it has."""
    named = json.dumps([[thing, key_of(thing)] for thing in things])
    ranked = {out: _ranked(db, out, named, place) for out in (True, False)}
    grains = _grains(db, {gid for told in ranked.values() for gid, *_ in told})
    found: dict[str, list[Edge]] = {thing: [] for thing in things}
    totals: dict[str, int] = dict.fromkeys(things, 0)
    for out, told in ranked.items():
        counted: set[str] = set()
        for gid, thing, count, _ in told:
            if thing not in counted:
                counted.add(thing)
                totals[thing] += count
            grain = grains.get(gid)
            if grain is not None and fold(str(grain.get("subject" if out else "object"))) == thing:
                other = str(grain.get("object" if out else "subject"))
                found[thing].append(Edge(str(grain.get("relation")), out, other, grain))
    return [(thing, found[thing], totals[thing]) for thing in things]


def _ranked(db: apsw.Connection, out: bool, named: str, place: int) -> list[tuple[Any, ...]]:
    sql = f"SELECT * FROM ({_OUT if out else _IN}) WHERE place <= {EDGES_OF_ONE} ORDER BY id DESC"
    return list(rows(db, sql, (named, place)))


def _grains(db: apsw.Connection, ids: set[int]) -> dict[int, StoredGrain]:
    return {grain.seq: grain for grain in readable(rows(db, _TOLD, (listed(ids),)))}
