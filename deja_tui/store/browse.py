# SPDX-License-Identifier: Apache-2.0
"""A window on everything a memory holds: any slice of a list of any length costs what a slice costs.

* INV-BROWSE-1  The slices of one view, put together, are the view: each grain once, in one order, whatever anchors were
  used; ``total`` is how many there are.
* INV-BROWSE-2  Nothing is kept between two slices, and a slice reads an index from the nearest known row on, never the list.
* INV-BROWSE-3  Grains of reserved namespaces are in the view ``engine`` only, all others in every other view they fit.

A view has the order that an index serves: grains by creation, then namespace, then arrival; superseded ones by when they
lost their place; expired ones by when they expired; what was forgotten by when it had arrived. ``subject`` puts the live
grains about one thing together, the thing that came up last first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import apsw

from deja_tui.errors import ValidationError
from deja_tui.store import chains, oplog
from deja_tui.store.branches import Branches
from deja_tui.store.codec import TYPES
from deja_tui.store.faults import StoreError
from deja_tui.store.grains import StoredGrain
from deja_tui.store.narrow import narrow
from deja_tui.store.rows import COLUMNS, stored
from deja_tui.store.search import TailReader, search
from deja_tui.store.sql import listed, rows, scalar
from deja_tui.store.terms import find_term, space_filter

VIEWS: Final = (
    "all", "live", "superseded", "expired", "forked", "documents", "forgotten", "engine",
)  # fmt: skip
ORDERS: Final = ("newest", "oldest", "subject")
FOUND_LIMIT: Final = 200
"""How many grains a view without an index lists: hits of a search, tips of forks, documents."""
_PER_ROW_WALK: Final = 64
_DOCUMENT: Final = "memory_file"
_LAST: Final = "(SELECT max(seq) FROM mark x WHERE x.gid = m.gid)"
_LOST: Final = (
    f"m.kind <> {oplog.MARKS['reopen']} AND m.seq = {_LAST} AND EXISTS"
    " (SELECT 1 FROM grain g WHERE g.id = m.gid AND g.dead = 1 AND {where})"
)
_MARKED: Final = {
    oplog.MARKS["retire"]: "retired",
    oplog.MARKS["supersede"]: "superseded",
    oplog.MARKS["hide"]: "hidden",
}

_ADDRESS: Final = re.compile("[0-9a-f]{6,64}")
_STARTING: Final = 20
_INDEXED: Final = re.compile(r" INDEXED BY \w+")

Key = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lens:
    """What is listed and how.

    Attributes:
        view: one of `VIEWS`. type: a type name, or None for all.
        order: one of `ORDERS`; ``subject`` lists the live grains that have one, see `by_subject`.
        text: a search; then the best `FOUND_LIMIT` live grains are listed, best first, whatever view and order say, and
            before them those whose address starts so, live or not.
    """

    view: str = "all"
    type: str | None = None
    order: str = "newest"
    text: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """One row.

    Attributes:
        seq: arrival position; address: 64 hex digits; key: where it stands in its view, for `Slice` anchors.
        state: live, forked, expired, superseded, retired, hidden, forgotten or damaged.
        at: epoch ms: when it was created; of a forgotten one, when it was forgotten.
        grain: None when it was forgotten or cannot be read.
    """

    seq: int
    address: str
    key: Key
    state: str
    at: int
    grain: StoredGrain | None


@dataclass(frozen=True, slots=True)
class Slice:
    """Rows ``start`` to ``start + len(rows)`` of ``total``; ``of``: how many there would be without `FOUND_LIMIT`."""

    rows: tuple[Listed, ...]
    start: int
    total: int
    of: int


class _Walk(NamedTuple):
    """How a view is read: SELECTs of a key each, whose last part is the position; and how its rows are counted."""

    sources: tuple[str, ...]
    keys: tuple[str, ...]
    counts: tuple[str, ...]
    falling: bool
    values: dict[str, Any]


class Browser:
    """Reads one view in one state of the file. ``now_ms`` says what has expired."""

    def __init__(self, db: apsw.Connection, lens: Lens, now_ms: int, tail: TailReader) -> None:
        self._db = db
        self._lens = _checked(lens)
        self._now = now_ms
        self._tail = tail

    # --- slices -------------------------------------------------------------------------------------

    def slice(
        self, start: int, count: int, anchor: tuple[int, Key] | None = None, total: int | None = None
    ) -> Slice:
        """Rows from ``start`` on. ``anchor``: a row of an earlier slice and its key; ``total``: as told before."""
        few = self._few()
        if few is not None:
            places, of = few
            kept = self._rows([(place,) for place in places[start : start + count]])
            return Slice(kept, start, len(places), of)
        walk = self._walk()
        size = self._total(walk) if total is None else total
        start = max(0, min(start, size - count))
        keys = self._keys(walk, start, min(count, size - start), anchor, size)
        return Slice(self._rows(keys), start, size, size)

    def place(self, address: str) -> int | None:
        """Where a grain stands in this view; None when it is not in it."""
        found = next(rows(self._db, "SELECT id FROM grain WHERE hash = ?", (bytes.fromhex(address),)), None)
        if found is None:
            return None
        few = self._few()
        if few is not None:
            return few[0].index(found[0]) if found[0] in few[0] else None
        walk = self._walk()
        # by its position it is one row, which the index of the view would be read through for
        bare = (_INDEXED.sub("", one) for one in walk.sources)
        mine = " UNION ALL ".join(f"{one} AND {walk.keys[-1]} = :mine" for one in bare)
        key = next(rows(self._db, mine, {**walk.values, "mine": found[0]}), None)
        if key is None:
            return None
        sign = ">" if walk.falling else "<"
        if self._lens.view == "live" and not by_subject(self._lens):
            # the index does not know what lives: all that stand before, without those that are dead
            every = _beyond(self._walk(dead=True), sign, key)
            dead = _beyond(_walk("grain INDEXED BY g_dead", walk.keys, self._dead(), walk.falling), sign, key)
            return self._number(every) - self._number(dead)
        return self._number(_beyond(walk, sign, key))

    def _number(self, walk: _Walk) -> int:
        each = " UNION ALL ".join(walk.sources)
        return int(scalar(self._db, f"SELECT count(*) FROM ({each})", walk.values))

    def _dead(self) -> str:
        """A condition: dead, and otherwise in the view."""
        typed = "" if self._lens.type is None else f" AND type = {TYPES[self._lens.type]}"
        return f"dead = 1 AND {space_filter(self._db, None)}{typed}"

    def _total(self, walk: _Walk) -> int:
        return sum(int(scalar(self._db, one, walk.values) or 0) for one in walk.counts)

    def _keys(
        self, walk: _Walk, start: int, count: int, anchor: tuple[int, Key] | None, total: int
    ) -> list[Key]:
        """The keys of a stretch, read from whichever known row is nearest: the first, the last, or the anchor."""
        ways: list[tuple[int, bool, Key | None]] = [(start, True, None), (total - start - count, False, None)]
        if anchor is not None and anchor[0] <= start:
            ways.append((start - anchor[0], True, anchor[1]))
        elif anchor is not None and anchor[0] >= start + count:
            ways.append((anchor[0] - start - count, False, anchor[1]))
        skip, onward, key = min(ways, key=lambda way: way[0])
        falling = walk.falling is onward
        if key is not None:
            # going on begins with the known row itself, going back with the one before it
            walk = _beyond(walk, ("<" if falling else ">") + ("=" if onward else ""), key)
        order = ", ".join(f"{n + 1} {'DESC' if falling else 'ASC'}" for n in range(len(walk.keys)))
        sql = f"{' UNION ALL '.join(walk.sources)} ORDER BY {order} LIMIT :count OFFSET :skip"
        found = [
            tuple(row) for row in rows(self._db, sql, {**walk.values, "count": count, "skip": max(0, skip)})
        ]
        return found if onward else found[::-1]

    # --- views --------------------------------------------------------------------------------------

    def _walk(self, *, dead: bool = False) -> _Walk:
        """How the view is read; ``dead``: with what does not live, where the view is of what does."""
        lens, falling = self._lens, self._lens.order != "oldest"
        kind = TYPES[lens.type] if lens.type is not None else None
        where = space_filter(self._db, None)
        typed = "" if kind is None else f" AND type = {kind}"
        if lens.view == "forgotten":
            return _walk("tombstone", ("gid",), "1", falling)
        if lens.view == "superseded":
            lost = _LOST.format(where=f"{where}{typed}")
            return _walk("mark m", ("m.seq", "m.gid"), lost, falling)
        if lens.view == "expired":
            ended = f"vt IS NOT NULL AND dead = 0 AND vt <= {self._now} AND {where}{typed}"
            return _walk("grain INDEXED BY g_vt", ("vt", "id"), ended, falling)
        if by_subject(lens):
            about = f"s IS NOT NULL AND dead = 0 AND {where}"
            return _walk("grain INDEXED BY g_subj", ("ns", "s", "at", "hlc", "id"), about, True)
        if lens.view == "engine":
            where = f"NOT ({where})" if where != "1" else "0"
        alive = " AND dead = 0" if lens.view == "live" and not dead else ""
        kinds = sorted(TYPES.values()) if kind is None else [kind]
        each = [
            _walk("grain INDEXED BY g_type", ("at", "ns", "id"), f"type = {one} AND {where}{alive}", falling)
            for one in kinds
        ]
        counts = self._counted(kind, where) or tuple(one.counts[0] for one in each)
        return each[0]._replace(sources=tuple(one.sources[0] for one in each), counts=counts)

    def _counted(self, kind: int | None, where: str) -> tuple[str, ...]:
        """How a view of many grains is counted without reading it, where that can be."""
        lens = self._lens
        here = f"SELECT count(*) FROM grain INDEXED BY g_type WHERE type = {kind} AND {where}"
        if kind is None:
            held = "SELECT value FROM counter WHERE name = 'held:' || space.id AND typeof(value) = 'integer'"
            flag = int(lens.view == "engine")
            here = f"SELECT sum(({held})) FROM space WHERE reserved = {flag}"
        if lens.view != "live":
            return (here,)
        return (here, f"SELECT -count(*) FROM grain INDEXED BY g_dead WHERE {self._dead()}")

    def _few(self) -> tuple[list[int], int] | None:
        """Positions of a view that is read whole and cut, with how many there were; None for one that has an index."""
        lens, db = self._lens, self._db
        if lens.text:
            shown = narrow(db, None, lens.type, None, None, None)
            hits = [grain.seq for grain in search(db, lens.text, shown, FOUND_LIMIT, self._tail)]
            found = list(dict.fromkeys([*self._starting(lens.text), *hits]))[:FOUND_LIMIT]
            return found, len(found)
        if lens.view == "forked":
            tips = [tip for fork in chains.forks(db) for tip in fork.tips if lens.type in (None, tip.type)]
            return [tip.seq for tip in tips[:FOUND_LIMIT]], len(tips)
        if lens.view == "documents":
            term = find_term(db, _DOCUMENT)
            sql = (
                "SELECT id FROM grain INDEXED BY g_fact WHERE r IS NOT NULL AND dead = 0"
                f" AND r = ? AND {space_filter(db, None)} ORDER BY id"
            )
            places = [row[0] for row in rows(db, sql, (term,))]
            if lens.order != "oldest":
                places.reverse()
            return places[:FOUND_LIMIT], len(places)
        return None

    def _starting(self, text: str) -> list[int]:
        """Positions of grains whose address starts like the text, if that can be an address."""
        start = text.strip().rstrip("*").lower()
        if not _ADDRESS.fullmatch(start):
            return []
        sql = f"SELECT id FROM grain WHERE hash BETWEEN ? AND ? ORDER BY hash LIMIT {_STARTING}"
        ends = bytes.fromhex(start.ljust(64, "0")), bytes.fromhex(start.ljust(64, "f"))
        return [row[0] for row in rows(self._db, sql, ends)]

    # --- rows ---------------------------------------------------------------------------------------

    def _rows(self, keys: Sequence[Key]) -> tuple[Listed, ...]:
        if self._lens.view == "forgotten" and not self._lens.text:
            return self._buried(keys)
        places = [key[-1] for key in keys]
        sql = f"SELECT {COLUMNS} FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value"
        found = {row[0]: row for row in rows(self._db, sql, (listed(places),))}
        marks = dict(
            rows(
                self._db,
                "SELECT m.gid, m.kind FROM json_each(?) j CROSS JOIN mark m ON m.gid = j.value ORDER BY m.seq",
                (listed(place for place in places if place in found and found[place][4]),),
            )
        )
        live = [place for place in places if place in found and not found[place][4]]
        tips = Branches(self._db, _PER_ROW_WALK).tips(live)
        return tuple(self._listed(key, found[key[-1]], marks, tips) for key in keys if key[-1] in found)

    def _listed(self, key: Key, row: tuple[Any, ...], marks: dict[int, int], tips: set[int]) -> Listed:
        try:
            grain = stored(row)
        except StoreError as fault:
            if fault.code != "STO-E009":
                raise
            return Listed(row[0], row[6].hex(), key, "damaged", row[2], None)
        if not grain.live:
            state = _MARKED.get(marks.get(grain.seq, 0), "superseded")
        elif grain.seq in tips:
            state = "forked"
        else:
            state = "expired" if expired(grain, self._now) else "live"
        return Listed(grain.seq, grain.address, key, state, grain.created_at, grain)

    def _buried(self, keys: Sequence[Key]) -> tuple[Listed, ...]:
        sql = "SELECT t.gid, t.hash, t.hlc FROM json_each(?) j CROSS JOIN tombstone t ON t.gid = j.value"
        found = rows(self._db, sql, (listed(key[-1] for key in keys),))
        return tuple(
            Listed(gid, digest.hex(), (gid,), "forgotten", oplog.wall_of(hlc), None)
            for gid, digest, hlc in found
        )


def by_subject(lens: Lens) -> bool:
    """Whether an index has the order ``subject`` for this: in the views all and live, of all types. Else it is newest first."""
    return lens.order == "subject" and lens.view in ("all", "live") and lens.type is None


def expired(grain: StoredGrain, now_ms: int) -> bool:
    """Whether a grain said itself until when it holds, and that is over."""
    until = grain.get("valid_to")
    return type(until) is int and until <= now_ms


def kinds(db: apsw.Connection) -> tuple[str, ...]:
    """The types of which there is a grain outside reserved namespaces, in the order of their bytes."""
    where = space_filter(db, None)
    there = f"SELECT 1 FROM grain INDEXED BY g_type WHERE type = ? AND {where} LIMIT 1"
    return tuple(name for name, number in TYPES.items() if scalar(db, there, (number,)) is not None)


def state_of(db: apsw.Connection, grain: StoredGrain, now_ms: int) -> str:
    """The state of one grain, as a row tells it."""
    if not grain.live:
        sql = "SELECT kind FROM mark WHERE gid = ? ORDER BY seq DESC LIMIT 1"
        return _MARKED.get(scalar(db, sql, (grain.seq,)) or 0, "superseded")
    if Branches(db).is_tip(grain.seq):
        return "forked"
    return "expired" if expired(grain, now_ms) else "live"


def _checked(lens: Lens) -> Lens:
    if lens.view not in VIEWS or lens.order not in ORDERS or lens.type not in (None, *TYPES):
        told = f"a view is one of {', '.join(VIEWS)}, an order one of {', '.join(ORDERS)}, a type one of {', '.join(TYPES)}"
        raise ValidationError("VAL-E001", told)
    return lens


def _name(number: int) -> str:
    return f"k{number}"


def _walk(table: str, keys: tuple[str, ...], where: str, falling: bool) -> _Walk:
    told = ", ".join(f"{key} AS {_name(number)}" for number, key in enumerate(keys))
    return _Walk(
        (f"SELECT {told} FROM {table} WHERE {where}",),
        keys,
        (f"SELECT count(*) FROM {table} WHERE {where}",),
        falling,
        {},
    )


def _beyond(walk: _Walk, sign: str, key: Iterable[Any]) -> _Walk:
    """The part of a walk on one side of a key."""
    given = {_name(number): part for number, part in enumerate(key)}
    bound = f" AND ({', '.join(walk.keys)}) {sign} ({', '.join(f':{name}' for name in given)})"
    return walk._replace(
        sources=tuple(f"{one}{bound}" for one in walk.sources), values={**walk.values, **given}
    )
