# SPDX-License-Identifier: Apache-2.0
"""Derived data: what follows from the primary tables alone, how it is checked, and how it is made anew (D1).

* INV-DERIVED-1  `rebuild` writes no grain bytes, no op, no mark, no tombstone and no setting.
* INV-DERIVED-2  What it leaves is a function of the primary tables: two files with the same primary rows end with the
  same derived rows, whatever stood there before.
* INV-DERIVED-3  An origin is never upgraded: a grain that the log or the column calls imported stays imported.
* INV-DERIVED-4  Counters of what ever arrived count forgotten grains too, so they are primary as far as they go: a
  rebuild lifts them to what the file shows and never lowers them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import apsw

from deja_tui import watch
from deja_tui.errors import DejaError
from deja_tui.store import layout, oplog, schema, seal, search
from deja_tui.store.codec import TYPES, Grain, decode
from deja_tui.store.keys import Keys, is_failure, is_reserved, key_of, keys_of, namespace_of
from deja_tui.store.sql import counter, rows, scalar
from deja_tui.store.terms import Terms

_PAGE: Final = 512
_COLUMNS: Final = (
    "type",
    "at",
    "hlc",
    "ns",
    "dead",
    "origin",
    "s",
    "r",
    "k",
    "tool",
    "sig",
    "thread",
    "vt",
    "prev",
)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild found: ``grains`` read, ``changed`` of them with columns that did not follow from their bytes and
    marks, ``damaged`` whose bytes say nothing any more."""

    grains: int
    changed: int
    damaged: int


# --- what follows from the primary tables -----------------------------------------------------------

# The rows of the log that say when and whence a grain came. Its clock is the least that any of them gives it; a mark
# written right after the first one says what the grain replaced.
_ARRIVED: Final = (
    f"SELECT gid, min(seq) AS seq, min(hlc) AS hlc, max(CASE kind WHEN {oplog.ADD} THEN origin ELSE 0 END) AS origin"
    f" FROM op WHERE kind IN ({oplog.ADD}, {oplog.STAMP}) GROUP BY gid"
)
_LAST_MARK: Final = "(SELECT kind FROM mark m WHERE m.gid = g.id ORDER BY m.seq DESC LIMIT 1)"
_REPLACED: Final = f"(SELECT m.gid FROM mark m WHERE m.seq = a.seq + 1 AND m.by = g.id AND m.kind = {oplog.MARKS['supersede']})"
DEAD: Final = f"coalesce({_LAST_MARK} <> {oplog.MARKS['reopen']}, 0)"
"""Liveness of ``g`` as its last mark says it (INV-STORE-5)."""


def arrivals(db: apsw.Connection) -> None:
    """Make ``temp.arrived``: the log is in its own order, and looking a grain up there would read all of it."""
    db.execute("DROP TABLE IF EXISTS temp.arrived")
    db.execute("CREATE TEMP TABLE arrived(gid INTEGER PRIMARY KEY, seq INTEGER, hlc INTEGER, origin INTEGER)")
    db.execute(f"INSERT INTO temp.arrived {_ARRIVED}")


def keys_in(body: bytes) -> tuple[Grain, Keys] | None:
    """The grain in these bytes with its keys; None when they say nothing any more."""
    try:
        grain = decode(body, strict=False)
        return grain, keys_of(grain)
    except DejaError:
        return None


# --- checking ---------------------------------------------------------------------------------------


class Expected:
    """The small tables beside ``grain`` as its rows call for them: `see` each grain once, then ask for `faults`."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._links = self._sources = 0
        self._types: Counter[str] = Counter()
        self._users = self._errors = 0
        self._newest = 0

    def see(self, gid: int, grain: Grain, keys: Keys) -> str | None:
        """Take one grain in; what the tables lack of it, or None."""
        lacking = None
        for parent in keys.parents:
            self._links += 1
            if not self._there("SELECT 1 FROM link WHERE p = ? AND child = ?", (parent, gid)):
                lacking = "the link table does not lead from its parent to it"
        if keys.source is not None:
            self._sources += 1
            if not self._there("SELECT 1 FROM source WHERE k = ? AND gid = ?", (key_of(keys.source), gid)):
                lacking = "the source table does not know its source"
        if not is_reserved(namespace_of(grain)):
            self._types[grain.type] += 1
            self._users += 1
            self._errors += is_failure(grain)
            self._newest = max(self._newest, gid)
        return lacking

    def faults(self) -> Iterator[str]:
        """What the tables hold that no grain calls for, and counters below what is there."""
        for table, count in (("link", self._links), ("source", self._sources)):
            held = scalar(self._db, f"SELECT count(*) FROM {table}")
            if held > count:
                yield f"the {table} table holds {held - count} more rows than grains call for"
        told = rows(self._db, "SELECT name, value FROM counter")
        counters = {name: value for name, value in told if type(value) is int}
        for name, least in self.floors().items():
            if counters.get(name, 0) < least:
                yield f"the counter {name} says {counters.get(name, 0)}, the file holds {least}"

    def floors(self) -> dict[str, int]:
        """The least that the counters of arrivals can be (INV-DERIVED-4)."""
        each = {f"type:{name}": count for name, count in self._types.items()}
        return {"grains": self._users, "errors": self._errors, "user_seq": self._newest, **each}

    def _there(self, statement: str, values: tuple[int, int]) -> bool:
        return scalar(self._db, statement, values) is not None


def dictionary_faults(db: apsw.Connection, unused: bool = True) -> Iterator[str]:
    """Terms and namespaces that cannot be found by their text, stand twice, or (``unused``) that no grain uses."""
    used: set[int] = set()
    for column in ("s", "r", "tool", "sig", "thread") if unused else ():
        used.update(
            row[0] for row in rows(db, f"SELECT DISTINCT {column} FROM grain WHERE {column} IS NOT NULL")
        )
    seen: set[int] = set()
    for term, key, text in rows(db, "SELECT id, h, s FROM term"):
        if key != key_of(text) or key in seen:
            yield f"term {term} cannot be found by its text"
        elif unused and term not in used:
            yield f"term {term} is used by no grain"
        seen.add(key)
    spaces = {row[0] for row in rows(db, "SELECT DISTINCT ns FROM grain INDEXED BY g_type")}
    for space, key, reserved, name in rows(db, "SELECT id, h, reserved, name FROM space"):
        if key != key_of(name) or reserved != is_reserved(name):
            yield f"namespace {space} is not filed under its own name"
        elif space not in spaces:
            yield f"namespace {space} holds no grain"


def arrived_as_logged(db: apsw.Connection) -> bool:
    """Whether each grain has exactly one row of the log, which says what the grain's columns say. No: look closer.

    A file that met another copy may hold two such rows for a grain; it is looked at closer each time.
    """
    if scalar(db, f"SELECT 1 FROM op WHERE kind = {oplog.STAMP} LIMIT 1") is not None:
        return False
    sql = (
        "SELECT count(g.id), total(g.id IS NULL AND t.gid IS NULL), total(g.hlc <> o.hlc OR g.origin <> o.origin"
        f" OR g.prev IS NOT {_REPLACED.replace('a.seq', 'o.seq')})"
        " FROM op o LEFT JOIN grain g ON g.id = o.gid LEFT JOIN tombstone t ON t.gid = o.gid AND g.id IS NULL"
        f" WHERE o.kind = {oplog.ADD}"
    )
    found, missing_, unlike = next(rows(db, sql))
    return not missing_ and not unlike and found == scalar(db, "SELECT count(*) FROM grain")


def missing(db: apsw.Connection) -> Iterator[str]:
    """Arrivals of the log that are neither here nor forgotten."""
    sql = (
        f"SELECT DISTINCT gid FROM op WHERE kind = {oplog.ADD}"
        " AND gid NOT IN (SELECT id FROM grain) AND gid NOT IN (SELECT gid FROM tombstone)"
    )
    for (gid,) in rows(db, sql):
        yield f"the grain that arrived at position {gid} is neither here nor forgotten"


def arrival_faults(db: apsw.Connection) -> Iterator[tuple[bytes, str]]:
    """Grains whose clock, origin or predecessor is not what the op-log and the marks say."""
    sql = (
        f"SELECT g.hash, g.hlc <> a.hlc, g.origin, a.origin, g.prev IS NOT {_REPLACED}"
        f" FROM grain g JOIN ({_ARRIVED}) a ON a.gid = g.id"
        f" WHERE g.hlc <> a.hlc OR g.origin <> a.origin OR g.prev IS NOT {_REPLACED}"
    )
    names = {oplog.LOCAL: "local", oplog.IMPORTED: "imported"}
    for digest, clock, called, logged, prev in rows(db, sql):
        if clock:
            yield digest, "its clock is not the one in the op-log"
        if called != logged:
            yield digest, f"it is called {names.get(called)}, the op-log says {names.get(logged)}"
        if prev:
            yield digest, "what it replaced is not what its marks say"


def text_faults(db: apsw.Connection) -> Iterator[str]:
    """A text index that counts other words than the grains up to its position have, or holds them elsewhere."""
    cut = search.tokenizer(db)
    indexed = counter(db, "indexed")
    wanted: Counter[str] = Counter()
    holders: Counter[str] = Counter()
    sizes = {gid: search.size_of(raw) for gid, raw in rows(db, "SELECT id, sz FROM text_docsize")}
    for gid, kind, body in rows(db, "SELECT id, type, body FROM grain WHERE id <= ?", (indexed,)):
        words = cut(search.words_of(kind, body))
        if len(words) != sizes.get(gid, 0):
            yield f"the text index counts {sizes.get(gid, 0)} words at position {gid}, its grain has {len(words)}"
        wanted.update(words)
        holders.update(set(words))
    wrong = sum(
        1
        for term, grains, count in rows(db, "SELECT term, doc, cnt FROM word")
        if (holders.pop(term, 0), wanted.pop(term, 0)) != (grains, count)
    )
    if wrong or wanted:
        yield f"{wrong + len(wanted)} words of the text index do not stand where the grains have them"


# --- making anew ------------------------------------------------------------------------------------


def rebuild(db: apsw.Connection, counters: dict[str, int], terms: Terms) -> Rebuilt:
    """Make every derived table of the file anew, except the governance table; the caller holds the transaction.

    Args:
        counters: the counters of the open act; brought up to what the file shows.
        terms: the writer's cache, emptied here.
    """
    schema.run(db, "REINDEX")
    names = dict(rows(db, "SELECT id, name FROM space"))
    for table in ("term", "space", "link", "source"):
        db.execute(f"DELETE FROM {table}")
    terms.clear()
    arrivals(db)
    expected = Expected(db)
    held: Counter[int] = Counter()
    read = changed = damaged = 0
    for page in watch.each(_pages(db), lambda: _page_count(db), "pages", every=1):
        updates = []
        for gid, body, dead, arrived, prev, *old in page:
            read += 1
            found = keys_in(body)
            damaged += found is None
            new = _columns(db, terms, found, old, names)
            new.update(dead=dead, prev=prev)
            if arrived is not None:
                new["hlc"], origin = arrived
                new["origin"] = max(origin, new["origin"])
            held[new["ns"]] += 1
            if found:
                _file(db, gid, found[1])
                expected.see(gid, *found)
            if list(new.values()) != old:
                updates.append((*new.values(), gid))
        changed += len(updates)
        db.executemany(
            f"UPDATE grain SET {', '.join(f'{name} = ?' for name in _COLUMNS)} WHERE id = ?", updates
        )
    db.execute("DROP TABLE temp.arrived")
    _count(db, counters, held, expected)
    counters[seal.COUNTER] = seal.of_all(db)
    _reindex(db, counters)
    return Rebuilt(read, changed, damaged)


def _page_count(db: apsw.Connection) -> int:
    return -(-int(scalar(db, "SELECT count(*) FROM grain")) // _PAGE)


def _pages(db: apsw.Connection) -> Iterator[list[tuple[Any, ...]]]:
    """Rows with what op-log and marks say of them, then the columns as they stand."""
    sql = (
        f"SELECT g.id, g.body, {DEAD}, a.hlc, a.origin, {_REPLACED}, {', '.join(f'g.{name}' for name in _COLUMNS)}"
        " FROM grain g LEFT JOIN temp.arrived a ON a.gid = g.id WHERE g.id > ? ORDER BY g.id LIMIT ?"
    )
    last = 0
    while page := list(rows(db, sql, (last, _PAGE))):
        last = page[-1][0]
        yield [
            (gid, body, dead, None if hlc is None else (hlc, origin), prev, *old)
            for gid, body, dead, hlc, origin, prev, *old in page
        ]


def _columns(
    db: apsw.Connection,
    terms: Terms,
    found: tuple[Grain, Keys] | None,
    old: list[Any],
    names: dict[int, str],
) -> dict[str, Any]:
    """The columns that follow from the bytes. Bytes that say nothing keep their place and have no keys."""
    was = dict(zip(_COLUMNS, old, strict=True))
    if found is None:
        unknown = dict.fromkeys(("s", "r", "k", "tool", "sig", "thread", "vt"))
        return {**was, "ns": terms.space(db, names.get(was["ns"], "")), **unknown}
    grain, keys = found
    return {
        "type": TYPES[grain.type],
        "at": grain.created_at,
        "hlc": was["hlc"],
        "ns": terms.space(db, namespace_of(grain)),
        "dead": 0,
        "origin": was["origin"],
        "s": terms.term(db, keys.subject),
        "r": terms.term(db, keys.relation),
        "k": keys.object_key,
        "tool": terms.term(db, keys.tool),
        "sig": terms.term(db, keys.signature),
        "thread": terms.term(db, keys.thread),
        "vt": keys.valid_to,
        "prev": None,
    }


def _file(db: apsw.Connection, gid: int, keys: Keys) -> None:
    for parent in keys.parents:
        db.execute("INSERT OR IGNORE INTO link(p, child) VALUES(?, ?)", (parent, gid))
    if keys.source is not None:
        db.execute("INSERT OR IGNORE INTO source(k, gid) VALUES(?, ?)", (key_of(keys.source), gid))


def _count(db: apsw.Connection, counters: dict[str, int], held: Counter[int], expected: Expected) -> None:
    here = {f"held:{space}": count for space, count in held.items()}
    for name in [name for name in counters if name.startswith("held:") and name not in here]:
        del counters[name]
        db.execute("DELETE FROM counter WHERE name = ?", (name,))
    counters.update(here)
    last, hlc, act = next(
        rows(db, "SELECT coalesce(max(gid), 0), coalesce(max(hlc), 0), coalesce(max(act), 0) FROM op")
    )
    stamped = scalar(db, "SELECT coalesce(max(hlc), 0) FROM setting")
    floors = {**expected.floors(), "hlc": max(hlc, stamped), "acts": act}
    counters.update((name, max(least, counters.get(name, 0))) for name, least in floors.items() if least)
    counters["seq"] = last


def _reindex(db: apsw.Connection, counters: dict[str, int]) -> None:
    search.empty(db)
    search.flush(db, 0)
    counters.update(projection=layout.PROJECTION, indexed=counters["seq"])
