# SPDX-License-Identifier: Apache-2.0
"""Chains of grains: heads, forks, history, and provenance both ways.

* INV-CHAIN-1  A head is a live grain; the provisional head of a key is the greatest by (created_at, hlc, address) (D3).
* INV-CHAIN-2  A fork is two or more live grains that descend, through supersession, from one grain that is superseded
  itself. Two grains that were added to one key on their own are two heads, not a fork.
* INV-CHAIN-3  Who superseded whom is said by the log and the bytes: a grain with a SUPERSEDE row took the place of
  what `keys.superseded_of` reads in it. The first one that arrived closed it, which its mark says; a later one closed
  nothing, so it has a row without a mark, and both are live.
* INV-CHAIN-4  A grain that is reopened is closed again by a supersession that had closed nothing so far: undo takes
  back one step, not what others did since.
* INV-CHAIN-5  Every walk is bounded and ends on rings and gaps; forgotten grains are crossed, not shown.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Final

import apsw

from deja_tui.store import effects, oplog, read
from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import is_address, is_reserved, link_key, parents_of, superseded_of
from deja_tui.store.rows import COLUMNS, TYPE_NAMES, stored, unfold
from deja_tui.store.sql import listed, rows, scalar

if TYPE_CHECKING:
    from deja_tui.store.transaction import Transaction

HISTORY_LIMIT: Final = 1_000
PROVENANCE_LIMIT: Final = 1_000
PROVENANCE_DEPTH: Final = 32
_HEADS_LIMIT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Fork:
    """Two or more live grains with a common superseded ancestor.

    Attributes:
        namespace, subject, relation: of the provisional head; subject and relation are None where it has none.
        tips: the live grains, provisional head first.
        ancestor: address of the nearest grain that all of them descend from; None when it was forgotten, or when each
            two of them share one but all do not.
    """

    namespace: str
    subject: str | None
    relation: str | None
    tips: tuple[StoredGrain, ...]
    ancestor: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """One grain of a provenance walk.

    Attributes:
        depth: how many steps from the start, from 1 on.
        address: of the grain.
        of: address of the grain through which it was reached.
        grain: None when it is not here, or was forgotten.
    """

    depth: int
    address: str
    of: str
    grain: StoredGrain | None


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a grain was derived from, and what was derived from it; nearest first.

    Attributes:
        grain: the start.
        parents, children: the walks up and down.
        complete: False when a limit cut one of them.
    """

    grain: StoredGrain
    parents: tuple[Step, ...]
    children: tuple[Step, ...]
    complete: bool


# --- heads and forks --------------------------------------------------------------------------------


def heads(db: apsw.Connection, namespace: str, subject: str, relation: str) -> list[StoredGrain]:
    """The live grains of a key, the provisional head first (INV-CHAIN-1)."""
    return read.recall(db, namespace, subject, relation, None, None, _HEADS_LIMIT)


# The bytes are asked for only where the columns cannot tell: nothing replaced yet, or a merge.
_SUPERSEDERS: Final = f"""
SELECT DISTINCT o.gid, coalesce(g.prev, t.prev),
       CASE WHEN g.prev IS NULL OR instr(g.body, CAST('merge_parents' AS BLOB)) THEN g.body END
  FROM op o LEFT JOIN grain g ON g.id = o.gid LEFT JOIN tombstone t ON t.gid = o.gid
 WHERE o.kind = {oplog.SUPERSEDE}
"""
_CLOSED_BY: Final = f"SELECT gid, by FROM mark WHERE kind = {oplog.MARKS['supersede']} AND by IS NOT NULL"
# a grain that was erased before it came here has no row of its supersession; a merge that was erased had several parents
_LEADS: Final = "SELECT gid, prev FROM tombstone WHERE prev IS NOT NULL"
_POSITION: Final = "SELECT id FROM grain WHERE hash = :h UNION ALL SELECT gid FROM tombstone WHERE hash = :h"


def forks(db: apsw.Connection, namespaces: Sequence[str] | None = None) -> list[Fork]:
    """Every open fork, ordered by namespace, subject, relation and address (INV-CHAIN-2).

    Args:
        namespaces: of the provisional head; None: all that are not reserved.
    """
    after = _successions(db)
    wanted = None if namespaces is None else {read.asked(name) for name in namespaces}
    found = [fork(db, tips, ancestor) for tips, ancestor in forked(db, after)]
    told = [f for f in found if (not is_reserved(f.namespace) if wanted is None else f.namespace in wanted)]
    return sorted(told, key=lambda f: (f.namespace, f.subject or "", f.relation or "", f.tips[0].address))


def _successions(db: apsw.Connection) -> dict[int, set[int]]:
    """Position → positions of the grains that took its place, closing it or not (INV-CHAIN-3)."""
    after: dict[int, set[int]] = defaultdict(set)
    for gid, prev, body in rows(db, _SUPERSEDERS):
        if prev is not None:
            after[prev].add(gid)
        for old in () if body is None else _replaced(db, body):
            after[old].add(gid)
    for gid, by in rows(db, _CLOSED_BY):
        after[gid].add(by)
    for gid, prev in rows(db, _LEADS):
        after[prev].add(gid)
    for pair in effects.closed_by_erased(db):
        places = [scalar(db, _POSITION, {"h": bytes.fromhex(address)}) for address in pair]
        if None not in places:
            after[places[0]].add(places[1])
    return after


def _replaced(db: apsw.Connection, body: bytes) -> Iterator[int]:
    """Positions of what the grain in ``body`` took the place of, as far as they were ever here."""
    for address in superseded_of(*_unfolded(body)):
        found = scalar(db, _POSITION, {"h": bytes.fromhex(address)})
        if found is not None:
            yield found


def replaced(db: apsw.Connection, address: str) -> list[str]:
    """Addresses of what the grain at ``address`` took the place of, closing it or not; [] when it only was derived."""
    if is_address(address):
        for gid, body in rows(db, "SELECT id, body FROM grain WHERE hash = ?", (bytes.fromhex(address),)):
            return superseded_of(*_unfolded(body)) if _is_superseding(db, gid) else []
    return []


def first_replaced(db: apsw.Connection, gid: int, body: bytes) -> int | None:
    """Position of the first grain that the superseding one at ``gid`` took the place of, if that was ever here."""
    return next(_replaced(db, body), None) if _is_superseding(db, gid) else None


def _is_superseding(db: apsw.Connection, gid: int) -> bool:
    sql = f"SELECT 1 FROM op WHERE kind = {oplog.SUPERSEDE} AND gid = ? LIMIT 1"
    return scalar(db, sql, (gid,)) is not None


def _unfolded(body: bytes) -> tuple[str, dict[str, Any]]:
    return TYPE_NAMES.get(body[2], ""), unfold(body)[1]


def forked(db: apsw.Connection, after: dict[int, set[int]]) -> list[tuple[set[int], int | None]]:
    """(live tips, nearest ancestor of all of them) of every fork in a graph of what took whose place, by position."""
    return _forked(after, lambda ids: _live(db, ids))


def _forked(
    after: dict[int, set[int]], live: Callable[[Iterable[int]], set[int]]
) -> list[tuple[set[int], int | None]]:
    """(live tips, nearest ancestor of all of them) of every fork.

    Only components of the graph with two live grains are looked at closely; the others, nearly all, cost one visit.
    """
    found: list[tuple[set[int], int | None]] = []
    parts = [part for part in _components(after) if len(part) > 2]
    alive = live(node for part in parts for node in part)
    for part in parts:
        if len(part & alive) < 2:
            continue
        below = {old: _below(after, old) & alive for old in part if len(after.get(old, ())) > 1}
        shared = {old: tips for old, tips in below.items() if len(tips) > 1 and old not in alive}
        for group in _joined(shared.values()):
            whole = [old for old, tips in shared.items() if tips == group]
            found.append((group, max(whole) if whole else None))
    return found


def _components(after: dict[int, set[int]]) -> list[set[int]]:
    near: dict[int, set[int]] = defaultdict(set)
    for old, news in after.items():
        for new in news:
            near[old].add(new)
            near[new].add(old)
    parts: list[set[int]] = []
    seen: set[int] = set()
    for start in near:
        if start not in seen:
            part = _reach(near, start)
            seen |= part
            parts.append(part)
    return parts


def _below(after: dict[int, set[int]], start: int) -> set[int]:
    return _reach(after, start) - {start}


def _reach(edges: dict[int, set[int]], start: int) -> set[int]:
    seen, todo = {start}, [start]
    while todo:
        for node in edges.get(todo.pop(), ()):
            if node not in seen:
                seen.add(node)
                todo.append(node)
    return seen


def _joined(sets: Iterable[set[int]]) -> list[set[int]]:
    """The sets, those that meet made one."""
    joined: list[set[int]] = []
    for one in sets:
        meeting = [group for group in joined if group & one]
        joined = [group for group in joined if not group & one]
        joined.append(one.union(*meeting))
    return joined


def _live(db: apsw.Connection, positions: Iterable[int]) -> set[int]:
    sql = "SELECT g.id FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value WHERE g.dead = 0"
    return {row[0] for row in rows(db, sql, (listed(positions),))}


def fork(db: apsw.Connection, tips: set[int], ancestor: int | None) -> Fork:
    """A fork as it is told, from positions."""
    found = _grains(db, tips)
    found.sort(key=_order, reverse=True)
    digest = scalar(db, "SELECT hash FROM grain WHERE id = ?", (ancestor,))
    first = found[0]
    return Fork(
        first.namespace,
        _text(first.get("subject")),
        _text(first.get("relation")),
        tuple(found),
        None if digest is None else digest.hex(),
    )


def _grains(db: apsw.Connection, positions: Iterable[int]) -> list[StoredGrain]:
    sql = f"SELECT {COLUMNS} FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value"
    return [stored(row) for row in rows(db, sql, (listed(positions),))]


def _order(grain: StoredGrain) -> tuple[int, int, str]:
    return grain.created_at, grain.hlc, grain.address


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


# --- supersessions that closed nothing yet ----------------------------------------------------------

_WAITING: Final = f"""
SELECT g.id, g.hlc, g.hash, g.body, g.origin FROM link l CROSS JOIN grain g ON g.id = l.child
 WHERE l.p = ?
   AND EXISTS (SELECT 1 FROM op o WHERE o.kind = {oplog.SUPERSEDE} AND o.gid = g.id)
   AND NOT EXISTS (SELECT 1 FROM mark m WHERE m.gid = ? AND m.by = g.id)
   AND coalesce((SELECT kind FROM mark m WHERE m.gid = g.id ORDER BY m.seq DESC LIMIT 1), 0) <> {oplog.MARKS["hide"]}
"""


def superseded_beside(db: apsw.Connection, gid: int, digest: bytes, until: int) -> bool:
    """Whether a grain had, by the clock ``until``, been superseded by one that closed nothing here (INV-CHAIN-3)."""
    address = digest.hex()
    if scalar(db, "SELECT 1 FROM link WHERE p = ? LIMIT 1", (link_key(address),)) is None:
        return False
    waiting = rows(db, _WAITING, (link_key(address), gid))
    return any(hlc <= until and address in superseded_of(*_unfolded(body)) for _, hlc, _, body, _ in waiting)


def close_again(tx: Transaction, gid: int, digest: bytes, namespace: str) -> bool:
    """Close the live grain at ``gid`` by the earliest supersession that had closed nothing (INV-CHAIN-4).

    Also when a grain arrives after what superseded it. Returns whether there was one.
    """
    address = digest.hex()
    if scalar(tx.db, "SELECT 1 FROM link WHERE p = ? LIMIT 1", (link_key(address),)) is None:
        return False
    if (
        is_reserved(namespace)
        and scalar(tx.db, "SELECT origin FROM grain WHERE id = ?", (gid,)) == oplog.LOCAL
    ):
        return False  # nothing from outside takes the place of what the engine wrote here (D5)
    waiting = []
    for by, hlc, child, body, origin in rows(tx.db, _WAITING, (link_key(address), gid)):
        told, fields = unfold(body)
        named = superseded_of(TYPE_NAMES.get(body[2], ""), fields)
        if address in named and is_reserved(told) == is_reserved(namespace):
            waiting.append((hlc, child, by, origin))
    for hlc, _, by, origin in sorted(waiting)[:1]:
        tx.mark("supersede", gid, by, by, hlc if origin else None, origin)
    return bool(waiting)


# --- history ----------------------------------------------------------------------------------------


def history(db: apsw.Connection, address: str, limit: int = HISTORY_LIMIT) -> list[StoredGrain]:
    """The chain of ``address``, newest first: up to what took its place last, then down to all that led there.

    Down goes through what was superseded, retired in favour of it, and merged. At most ``limit`` grains.
    """
    found = read.history(db, address, limit)
    here = {grain.address for grain in found}
    plain = len(found)
    todo = deque(found)
    while todo and len(found) < limit:
        for below in _also_replaced(db, todo.popleft(), here):
            more = [grain for grain in read.chain_down(db, below) if grain.address not in here]
            here.update(grain.address for grain in more)
            found.extend(more)
            todo.extend(more)
    return found[:limit] if len(found) == plain else _newest_first(found)[:limit]


def _newest_first(found: Sequence[StoredGrain]) -> list[StoredGrain]:
    """A chain with branches in one order: what took a place before what had it, else the greatest first (D3)."""
    by_address = {grain.address: grain for grain in found}
    below: dict[str, set[str]] = {grain.address: set() for grain in found}
    for grain in found:
        if grain.superseded_by in below:
            below[grain.superseded_by].add(grain.address)
        below[grain.address].update(
            old
            for old in superseded_of(grain.type, grain.fields)
            if old in below and not by_address[old].live
        )
    above = Counter(old for olds in below.values() for old in olds)
    heap = [_Falling(grain) for grain in found if not above[grain.address]]
    heapify(heap)
    ordered: list[StoredGrain] = []
    while heap:
        grain = heappop(heap).grain
        ordered.append(grain)
        for old in below[grain.address]:
            above[old] -= 1
            if not above[old]:
                heappush(heap, _Falling(by_address[old]))
    told = {grain.address for grain in ordered}
    return ordered + [grain for grain in found if grain.address not in told]  # marks may go round in a ring


@dataclass(frozen=True, slots=True)
class _Falling:
    grain: StoredGrain

    def __lt__(self, other: _Falling) -> bool:
        return _order(self.grain) > _order(other.grain)


def _also_replaced(db: apsw.Connection, grain: StoredGrain, here: set[str]) -> list[str]:
    """What a grain took the place of, by its bytes and the log; most of it is ``here`` already and not looked up."""
    fields = grain.fields
    parent = fields.get("derived_from")
    if isinstance(parent, str) and parent in here and fields.keys().isdisjoint(("context", "common_context")):
        return []  # the plain link of a chain: nothing was merged
    olds = [old for old in superseded_of(grain.type, fields) if old not in here]
    if not olds:
        return []
    logged = scalar(db, f"SELECT 1 FROM op WHERE kind = {oplog.SUPERSEDE} AND gid = ? LIMIT 1", (grain.seq,))
    return olds if logged else []


# --- provenance -------------------------------------------------------------------------------------


def provenance(
    db: apsw.Connection, address: str, depth: int = PROVENANCE_DEPTH, limit: int = PROVENANCE_LIMIT
) -> Provenance | None:
    """Where a grain came from and what came of it, nearest first; None when it is not here.

    ``depth`` and ``limit`` bound each of the two walks (INV-CHAIN-5).
    """
    start = read.get(db, address)
    if start is None:
        return None
    up, all_up = _walk(start, depth, limit, lambda grain: _parents(db, grain))
    down, all_down = _walk(start, depth, limit, lambda grain: _children(db, grain))
    return Provenance(start, up, down, all_up and all_down)


_Next = Callable[[StoredGrain], Iterable[tuple[str, StoredGrain | None]]]


def _walk(start: StoredGrain, depth: int, limit: int, beyond: _Next) -> tuple[tuple[Step, ...], bool]:
    seen = {start.address}
    steps: list[Step] = []
    todo = deque([(start, 0)])
    complete = True
    while todo:
        grain, far = todo.popleft()
        for address, found in beyond(grain):
            if address in seen:
                continue
            if far >= depth or len(steps) >= limit:
                complete = False
                break
            seen.add(address)
            steps.append(Step(far + 1, address, grain.address, found))
            if found is not None:
                todo.append((found, far + 1))
    return tuple(steps), complete


def _parents(db: apsw.Connection, grain: StoredGrain) -> Iterator[tuple[str, StoredGrain | None]]:
    for address in parents_of(grain.fields):
        yield address, read.get(db, address)


def _children(db: apsw.Connection, grain: StoredGrain) -> Iterator[tuple[str, StoredGrain | None]]:
    for child in read.children(db, grain.address):
        yield child.address, child
