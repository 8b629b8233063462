# SPDX-License-Identifier: Apache-2.0
"""The fork that one grain stands in, from its own chain alone: what `chains.forks` finds by reading every chain.

* INV-BRANCH-1  For each tip of a fork, and each grain below it, this gives the fork that `chains.forks` gives.
* INV-BRANCH-2  The walk is bounded by a number of grains, and ends on rings and gaps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

import apsw

from deja_tui.store import chains, effects, oplog
from deja_tui.store.chains import Fork
from deja_tui.store.keys import link_key, superseded_of
from deja_tui.store.rows import TYPE_NAMES, unfold
from deja_tui.store.sql import listed, rows, scalar

WALK_LIMIT: Final = 4_000
_HERE: Final = "SELECT hash, prev, body FROM grain WHERE id = ?"
_BURIED: Final = "SELECT hash, prev FROM tombstone WHERE gid = ?"
_CLOSED: Final = f"SELECT by FROM mark WHERE gid = ? AND kind = {oplog.MARKS['supersede']} AND by IS NOT NULL"
_SUPERSEDING: Final = f"SELECT 1 FROM op WHERE kind = {oplog.SUPERSEDE} AND gid = ? LIMIT 1"
_NEWER: Final = f"""
SELECT g.id, g.body FROM link l CROSS JOIN grain g ON g.id = l.child
 WHERE l.p = ? AND EXISTS (SELECT 1 FROM op o WHERE o.kind = {oplog.SUPERSEDE} AND o.gid = g.id)
"""
_POSITION: Final = "SELECT id FROM grain WHERE hash = :h UNION ALL SELECT gid FROM tombstone WHERE hash = :h"


_NEAR_ANCESTORS: Final = 64
# Each superseding grain with what it took the place of, and so on down.
_ANCESTORS: Final = f"""
WITH RECURSIVE down(root, node, depth) AS (
  SELECT j.value, j.value, 0 FROM json_each(?1) j
   WHERE EXISTS (SELECT 1 FROM op o WHERE o.kind = {oplog.SUPERSEDE} AND o.gid = j.value)
  UNION
  SELECT d.root, g.prev, d.depth + 1 FROM down d JOIN grain g ON g.id = d.node
   WHERE g.prev IS NOT NULL AND d.depth < ?2
  UNION
  SELECT d.root, t.prev, d.depth + 1 FROM down d JOIN tombstone t ON t.gid = d.node
   WHERE t.prev IS NOT NULL AND d.depth < ?2
)
SELECT d.root, d.node, d.depth, g.hash, instr(g.body, CAST('merge_parents' AS BLOB)) > 0 OR g.prev IS NULL
       AND EXISTS (SELECT 1 FROM op o WHERE o.kind = {oplog.SUPERSEDE} AND o.gid = g.id)
  FROM down d CROSS JOIN grain g ON g.id = d.node
UNION ALL
SELECT d.root, d.node, d.depth, t.hash, 0 FROM down d CROSS JOIN tombstone t ON t.gid = d.node
"""
_TWICE: Final = f"""
SELECT l.p FROM json_each(?) j CROSS JOIN link l ON l.p = j.value
 WHERE EXISTS (SELECT 1 FROM op o WHERE o.kind = {oplog.SUPERSEDE} AND o.gid = l.child)
 GROUP BY l.p HAVING count(*) > 1
"""


class Branches:
    """Looks up forks of single grains in one state of the file; what was erased is read once."""

    def __init__(self, db: apsw.Connection, limit: int = WALK_LIMIT) -> None:
        self._db = db
        self._limit = limit
        self._erased: dict[int, set[int]] | None = None

    def fork_of(self, gid: int) -> Fork | None:
        """The fork whose tip is at ``gid``, or whose tips come from it; None when there is none."""
        after, whole = self._chain(gid)
        found = chains.forked(self._db, after) if whole else []
        for tips, ancestor in found:
            if gid in tips or tips & _below(after, gid):
                return chains.fork(self._db, tips, ancestor)
        return None

    def is_tip(self, gid: int) -> bool:
        """Whether the live grain at ``gid`` is a tip of a fork. A grain that superseded nothing is none, and costs a look."""
        if scalar(self._db, _SUPERSEDING, (gid,)) is None:
            return False
        after, whole = self._chain(gid)
        return whole and any(gid in tips for tips, _ in chains.forked(self._db, after))

    def tips(self, gids: Iterable[int]) -> set[int]:
        """Those of these live grains that are tips of a fork. Chains that nowhere branch, nearly all, are ruled out at once."""
        return {gid for gid in self._branching(gids) if self.is_tip(gid)}

    def _branching(self, gids: Iterable[int]) -> set[int]:
        """Those that come from something two grains took the place of, that closed nothing, was merged, or of which some was
        erased.

        What these rows cannot tell, because a chain is long, is looked at closely as well.
        """
        above: dict[int, set[int]] = defaultdict(set)
        found: set[int] = set()
        keys: dict[int, int] = {}
        for root, node, depth, digest, merged in rows(self._db, _ANCESTORS, (listed(gids), _NEAR_ANCESTORS)):
            above[node].add(root)
            keys[link_key(digest.hex())] = node
            if merged or depth >= _NEAR_ANCESTORS or node in self._buried():
                found.add(root)
        for (key,) in rows(self._db, _TWICE, (listed(keys),)):
            found |= above[keys[key]]
        return found

    def _chain(self, gid: int) -> tuple[dict[int, set[int]], bool]:
        """What took the place of what, in everything that hangs together with ``gid``; and whether that is all of it."""
        after: dict[int, set[int]] = defaultdict(set)
        seen, due = {gid}, [gid]
        while due:
            if len(seen) > self._limit:
                return after, False
            here = due.pop()
            for old, new in self._beside(here):
                after[old].add(new)
                for other in (old, new):
                    if other not in seen:
                        seen.add(other)
                        due.append(other)
        return after, True

    def _beside(self, gid: int) -> Iterator[tuple[int, int]]:
        """(what was replaced, what took its place) for each such pair with ``gid`` in it."""
        db = self._db
        for new in self._buried().get(gid, ()):
            yield gid, new
        for (by,) in rows(db, _CLOSED, (gid,)):
            yield gid, by
        for digest, prev, body in rows(db, _HERE, (gid,)):
            if scalar(db, _SUPERSEDING, (gid,)) is not None:
                for old in [] if prev is None else [prev]:
                    yield old, gid
                for old in self._positions(superseded_of(*_read(body))):
                    yield old, gid
            yield from self._after(gid, digest.hex())
        for digest, prev in rows(db, _BURIED, (gid,)):
            if prev is not None:
                yield prev, gid
            yield from self._after(gid, digest.hex())

    def _after(self, gid: int, address: str) -> Iterator[tuple[int, int]]:
        """What superseded the grain at ``address``, whether that closed it or not."""
        for child, told in rows(self._db, _NEWER, (link_key(address),)):
            if address in superseded_of(*_read(told)):
                yield gid, child

    def _positions(self, addresses: Iterable[str]) -> Iterator[int]:
        for address in addresses:
            found = scalar(self._db, _POSITION, {"h": bytes.fromhex(address)})
            if found is not None:
                yield int(found)

    def _buried(self) -> dict[int, set[int]]:
        """Position → positions of erased grains that took its place."""
        if self._erased is None:
            self._erased = defaultdict(set)
            for gid, prev in rows(self._db, "SELECT gid, prev FROM tombstone WHERE prev IS NOT NULL"):
                self._erased[prev].add(gid)
            for pair in effects.closed_by_erased(self._db):
                places = list(self._positions(pair))
                if len(places) == len(pair):
                    self._erased[places[0]].add(places[1])
        return self._erased


def _below(after: dict[int, set[int]], start: int) -> set[int]:
    seen, due = {start}, [start]
    while due:
        for node in after.get(due.pop(), ()):
            if node not in seen:
                seen.add(node)
                due.append(node)
    return seen - {start}


def _read(body: bytes) -> tuple[str, dict[str, Any]]:
    return TYPE_NAMES.get(body[2], ""), unfold(body)[1]
