# SPDX-License-Identifier: Apache-2.0
"""Typed filters over grains, and the one read that serves them (D44): nodes in, candidates out.

* FILTER-1  Candidates are a superset: every grain that fits a filter is among them. Whoever asks decides with the
  decoded grain, because keys are folded or hashed (D11) and one that has no column is not asked for at all.
* FILTER-2  ``created_at``, ``session_id``, ``hash``, types and namespaces are exact: what passes them fits.
* FILTER-3  Order is newest arrival first, or newest ``created_at`` first with ties by arrival; with a text, best
  score first with ties by arrival.
* FILTER-4  Grains are decoded as they are taken: whoever stops early pays for what it took.
* FILTER-5  A text is scored by BM25 (k1 = 1.2, b = 0.75, idf = ln(1 + (N - n + 0.5) / (n + 0.5)), a word counted once
  a grain). Of a word that more than `HOLDERS` grains hold the newest that many are scored, and `Candidates.bounded`
  says so; where an index reaches few grains, those are scored instead and nothing is left out.

What the columns hold, so what a filter means: ``subject`` is keyed for facts, events, observations and goals;
``relation`` and ``object`` for facts whose three parts are text; ``tool_name`` for calls whose outcome is known;
``valid_to`` when it is a whole number of milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from math import log
from typing import Any, Final, Literal
from unicodedata import category

import apsw

from deja_tui.store import search
from deja_tui.store.codec import TYPES
from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import is_address, key_of
from deja_tui.store.read import asked
from deja_tui.store.rows import COLUMNS, LIVE_COLUMNS, stored
from deja_tui.store.search import TailReader
from deja_tui.store.sql import listed, rows, scalar
from deja_tui.store.terms import find_space, find_term
from deja_tui.text import fold, strip_terminal_codes

Keyed = Literal["subject", "relation", "object", "tool_name", "session_id", "hash"]
Order = Literal["arrival", "created"]

_FACT: Final = TYPES["fact"]
_TOOL: Final = TYPES["tool"]
_WITH_SUBJECT: Final = frozenset(("fact", "event", "observation", "goal"))
_WITHOUT: Final = ", ".join(str(number) for name, number in TYPES.items() if name not in _WITH_SUBJECT)
HOLDERS: Final = 20_000
_WALKED: Final = 4_096
_FIRST_PAGE: Final = 64
_PAGE: Final = 256
_FEW: Final = 2_000
_K1, _B = 1.2, 0.75
_LOW, _HIGH = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class OneOf:
    """The field is one of these texts; a session is not "", an address has 64 hex digits."""

    field: Keyed
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Within:
    """A time in milliseconds, both ends included; None leaves an end open."""

    field: Literal["created_at", "valid_to"]
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A tool call that ended in an error."""


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[Filter, ...]


Filter = OneOf | Within | Failed | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class Selection:
    """What is asked for.

    Attributes:
        namespaces: by name; reserved ones too, when the caller names them.
        types: empty for every type.
        where: None for everything.
        superseded: also grains that are not live.
        order: see FILTER-3.
        text: words of which any may occur; "" matches nothing.
    """

    namespaces: tuple[str, ...]
    types: tuple[str, ...] = ()
    where: Filter | None = None
    superseded: bool = False
    order: Order = "arrival"
    text: str | None = None


class Candidates:
    """The grains that may fit one selection; to be read inside one snapshot.

    Attributes:
        path: how they are found, for EXPLAIN.
        bounded: a word of the text is too common to nominate (FILTER-5).
    """

    def __init__(self, db: apsw.Connection, selection: Selection, read_tail: TailReader) -> None:
        self._db = db
        self._asked = selection
        self._read_tail = read_tail
        self._spaces = _spaces(db, selection.namespaces)
        self._types = _types(selection.types)
        self._where = "1" if selection.where is None else _sql(db, selection.where)
        self._ways = _ways(db, selection)
        self.bounded = False
        self.path = self._path()

    def _path(self) -> str:
        if not self._possible():
            return "nothing can match"
        if self._asked.text is not None:
            return "text index"
        if self._ways:
            return self._ways[0].name
        return "by type, newest first" if self._asked.order == "created" else "by arrival, newest first"

    def _possible(self) -> bool:
        return bool(self._spaces) and self._where != "0" and self._types != "g.type IN ()"

    def _conditions(self) -> str:
        live = "" if self._asked.superseded else "g.dead = 0 AND "
        return f"{live}g.ns IN ({self._spaces}) AND {self._types} AND {self._where}"

    # --- taking ---

    def scored(self) -> Iterator[tuple[float, StoredGrain]]:
        """Score and grain, in the order that was asked for; the score is 1.0 without a text."""
        if not self._possible():
            return iter(())
        if self._asked.text is not None:
            ranked = self._ranked(self._asked.text)
            best = sorted(ranked, key=lambda gid: (-ranked[gid], -gid))
            return ((ranked[grain.seq], grain) for grain in self._load(iter(best)))
        return ((1.0, grain) for grain in self._structural())

    def _structural(self) -> Iterator[StoredGrain]:
        if self._ways:
            place = 1 if self._asked.order == "created" else 0
            return self._load(
                gid for gid, _ in sorted(self._reached(), key=lambda row: (row[place], row[0]), reverse=True)
            )
        if self._asked.order == "created":
            return self._by_created()
        return self._by_arrival()

    def _reached(self) -> set[tuple[int, int]]:
        """Position and time of everything the indexes of the selection reach."""
        conditions = self._conditions()
        return {
            (row[0], row[1])
            for way in self._ways
            for row in rows(self._db, f"{way.select} WHERE {way.on} AND {conditions}")
        }

    def _load(self, ids: Iterator[int]) -> Iterator[StoredGrain]:
        columns = COLUMNS if self._asked.superseded else LIVE_COLUMNS
        sql = f"SELECT {columns} FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value"
        size = _FIRST_PAGE
        while page := list(islice(ids, size)):
            yield from [stored(row) for row in rows(self._db, sql, (listed(page),))]
            size = _PAGE

    def _by_created(self) -> Iterator[StoredGrain]:
        kinds = [TYPES[name] for name in self._asked.types] or list(TYPES.values())
        sql = (
            f"SELECT g.at, g.id FROM grain g INDEXED BY g_type WHERE g.type = ? AND {self._conditions()}"
            " ORDER BY g.at DESC, g.id DESC"
        )
        each = [rows(self._db, sql, (kind,)) for kind in kinds]
        ordered = each[0] if len(each) == 1 else merge(*each, reverse=True)
        return self._load(row[1] for row in ordered)

    def _by_arrival(self) -> Iterator[StoredGrain]:
        """The newest rows of the table first; when those hold few, the rest by the index of types."""
        last = int(scalar(self._db, "SELECT max(id) FROM grain") or 0)
        border = max(0, last - _WALKED)
        near = f"SELECT g.id FROM grain g NOT INDEXED WHERE g.id > {border} AND {self._conditions()} ORDER BY g.id DESC"
        yield from self._load(row[0] for row in rows(self._db, near))
        if border:
            far = (
                f"SELECT g.id FROM grain g {self._far_index(last)} WHERE g.id <= {border}"
                f" AND {self._conditions()} ORDER BY g.id DESC"
            )
            yield from self._load(row[0] for row in rows(self._db, far))

    def _far_index(self, last: int) -> str:
        """Types that fill a good part of the table are walked in place, rare ones looked up and sorted."""
        counted = dict(rows(self._db, "SELECT name, value FROM counter WHERE name LIKE 'type:%'"))
        of_types = sum(counted.get(f"type:{name}", 0) for name in self._asked.types)
        return "INDEXED BY g_type" if self._asked.types and of_types * 20 < last else "NOT INDEXED"

    # --- counting ---

    def count(self, most: int) -> int:
        """How many there are, at most ``most``; nothing is decoded."""
        if not self._possible() or most <= 0:
            return 0
        if self._asked.text is not None:
            return min(most, len(self._ranked(self._asked.text)))
        if self._ways:
            return min(most, len(self._reached()))
        sql = f"SELECT count(*) FROM (SELECT 1 FROM grain g WHERE {self._conditions()} LIMIT {most})"
        return int(scalar(self._db, sql))

    # --- text ---

    def _ranked(self, text: str) -> dict[int, float]:
        """Score by position of everything that holds a word and passes the conditions (FILTER-5)."""
        cut = search.tokenizer(self._db)
        units = search.units(_separate(text), cut)
        if not units:
            return {}
        counters = dict(rows(self._db, "SELECT name, value FROM counter WHERE name IN ('indexed', 'seq')"))
        indexed, last = counters.get("indexed", 0), counters.get("seq", 0)
        tail = self._read_tail(indexed, last, cut) if last > indexed else {}
        few = self._few()
        sizes: dict[int, int] = {}
        scores: dict[int, float] = {}
        total, words = _collection(self._db)
        total += len(tail)
        mean = (words + sum(map(len, tail.values()))) / total if total else 1.0
        passing = self._passing_tail(tail) if few is None else {}
        if few is not None:
            passing = self._words(few, cut)
        for unit in units:
            held = [gid for gid, text_words in passing.items() if unit.is_in(text_words)]
            in_tail = sum(1 for text_words in tail.values() if unit.is_in(text_words))
            holders = in_tail + int(scalar(self._db, _COUNT, (unit.match,)) or 0)
            idf = log(1 + max(0.0, total - holders + 0.5) / (holders + 0.5))
            sizes.update((gid, len(passing[gid])) for gid in held)
            if few is None and indexed:
                for gid, size in self._holders(unit.match, holders):
                    sizes[gid] = size
                    held.append(gid)
            for gid in held:
                scores[gid] = scores.get(gid, 0.0) + idf
        return {gid: idf * _shortness(sizes[gid], mean) for gid, idf in scores.items()}

    def _few(self) -> list[int] | None:
        """The positions an index reaches, when they are few enough to be read instead of the text index."""
        if not self._ways:
            return None
        reached = [gid for gid, _ in self._reached()]
        return reached if len(reached) <= _FEW else None

    def _words(self, ids: list[int], cut: search.Tokenizer) -> dict[int, list[str]]:
        sql = "SELECT g.id, g.type, g.body FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value"
        found = rows(self._db, sql, (listed(ids),))
        return {gid: cut(search.words_of(kind, body)) for gid, kind, body in found}

    def _passing_tail(self, tail: dict[int, list[str]]) -> dict[int, list[str]]:
        sql = (
            f"SELECT g.id FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value WHERE {self._conditions()}"
        )
        return {row[0]: tail[row[0]] for row in rows(self._db, sql, (listed(tail),))}

    def _holders(self, match: str, count: int) -> Iterator[tuple[int, int]]:
        """Position and number of words of the indexed grains that hold a piece of text and pass the conditions."""
        if count > HOLDERS:
            self.bounded = True
        sql = (
            "SELECT f.id, d.sz FROM (SELECT rowid AS id FROM text WHERE text MATCH ? ORDER BY rowid DESC LIMIT ?) f"
            " CROSS JOIN grain g ON g.id = f.id CROSS JOIN text_docsize d ON d.id = f.id"
            f" WHERE {self._conditions()}"
        )
        for gid, size in rows(self._db, sql, (match, HOLDERS)):
            yield gid, _varints(size)[0]


_COUNT: Final = "SELECT count(*) FROM text WHERE text MATCH ?"


def _separate(text: str) -> str:
    """``text`` with a blank for everything that is no part of a word."""
    return "".join(
        char if category(char)[0] in "LN" or category(char) in ("Co", "Mn", "Mc") else " "
        for char in text[:4_096]
    )


def _collection(db: apsw.Connection) -> tuple[int, int]:
    """How many texts the index holds, and of how many words together, as FTS5 keeps them."""
    raw = scalar(db, "SELECT block FROM text_data WHERE id = 1")
    numbers = _varints(raw or b"")
    return (numbers[0], numbers[1]) if len(numbers) > 1 else (0, 0)


def _varints(raw: bytes) -> list[int]:
    """SQLite's variable-length integers of at most eight bytes."""
    found, value = [], 0
    for byte in raw:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            found.append(value)
            value = 0
    return found


def _shortness(words: int, mean: float) -> float:
    return (_K1 + 1) / (1 + _K1 * (1 - _B + _B * words / mean))


# --- SQL --------------------------------------------------------------------------------------------
# Only integers and hex digits enter the text of a statement; texts are looked up first.


def _spaces(db: apsw.Connection, names: tuple[str, ...]) -> str:
    found = {space for name in names if (space := find_space(db, asked(name))) is not None}
    return ", ".join(map(str, sorted(found)))


def _types(names: tuple[str, ...]) -> str:
    if not names:
        return "1"
    return f"g.type IN ({', '.join(str(TYPES[name]) for name in names if name in TYPES)})"


def _sql(db: apsw.Connection, node: Filter) -> str:
    """A condition on the columns of ``g`` that every grain fitting ``node`` passes (FILTER-1)."""
    match node:
        case AllOf(parts=parts):
            told = [sql for part in parts if (sql := _sql(db, part)) != "1"]
            return "0" if "0" in told else " AND ".join(told) or "1"
        case AnyOf(parts=parts):
            told = [sql for part in parts if (sql := _sql(db, part)) != "0"]
            return "1" if "1" in told else f"({' OR '.join(told)})" if told else "0"
        case Within(field="created_at", low=low, high=high):
            return _range("g.at", low, high)
        case Within(low=low, high=high):
            return f"(g.vt IS NOT NULL AND {_range('g.vt', low, high)})"
        case Failed():
            return "(g.sig IS NOT NULL OR g.tool IS NULL)"
        case OneOf(field=name, values=values):
            return _one_of(db, name, values)


def _range(column: str, low: int | None, high: int | None) -> str:
    if (low is not None and low > _HIGH) or (high is not None and high < _LOW):
        return "0"
    ends = []
    if low is not None:
        ends.append(f"{column} >= {max(low, _LOW)}")
    if high is not None:
        ends.append(f"{column} <= {min(high, _HIGH)}")
    return " AND ".join(ends) or "1"


def _one_of(db: apsw.Connection, name: Keyed, values: tuple[str, ...]) -> str:
    if name == "hash":
        found = [f"x'{value}'" for value in values if is_address(value)]
        return f"g.hash IN ({', '.join(found)})" if found else "0"
    if name == "object":
        keys = ", ".join(str(key_of(fold(asked(value)))) for value in values)
        return f"(g.k IN ({keys}) OR g.type <> {_FACT})"
    ids = _ids(db, name, values)
    match name:
        case "subject":
            return f"(g.s IN ({ids}) OR g.type IN ({_WITHOUT}))" if ids else f"g.type IN ({_WITHOUT})"
        case "session_id":
            return f"g.thread IN ({ids})" if ids else "0"
        case "relation":
            return f"(g.r IN ({ids}) OR g.type <> {_FACT})" if ids else f"g.type <> {_FACT}"
        case "tool_name":
            return f"(g.tool IN ({ids}) OR g.tool IS NULL)" if ids else "g.tool IS NULL"


def _ids(db: apsw.Connection, name: Keyed, values: tuple[str, ...]) -> str:
    """The ids of the terms under which these values are filed; "" when there is none."""
    found = {term for value in values if (term := find_term(db, _filed(name, asked(value)))) is not None}
    return ", ".join(map(str, sorted(found)))


def _filed(name: Keyed, value: str) -> str:
    if name == "tool_name":
        return strip_terminal_codes(value).strip()
    return value if name == "session_id" else fold(value)


# --- ways in ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Way:
    """One index that reaches every candidate, alone or together with the other ways of the selection."""

    name: str
    index: str
    on: str

    @property
    def select(self) -> str:
        return f"SELECT g.id, g.at FROM grain g INDEXED BY {self.index}"


def _ways(db: apsw.Connection, selection: Selection) -> tuple[_Way, ...]:
    """The best index for what must hold of every candidate; none: the table itself is walked."""
    where = selection.where
    must = where.parts if isinstance(where, AllOf) else () if where is None else (where,)
    keyed = {part.field: part.values for part in must if isinstance(part, OneOf)}
    if "hash" in keyed:
        return (_Way("by address", "g_hash", _one_of(db, "hash", keyed["hash"])),)
    if "subject" in keyed:
        return _by_subject(db, _ids(db, "subject", keyed["subject"]) or "NULL", keyed, selection)
    if "session_id" in keyed:
        ids = _ids(db, "session_id", keyed["session_id"])
        return (_Way("by session", "g_thread", f"g.thread IN ({ids})"),) if ids else ()
    if "tool_name" in keyed and selection.types == ("tool",) and not selection.superseded:
        return _by_tool(_ids(db, "tool_name", keyed["tool_name"]))
    if selection.types and len(selection.types) == 1:
        spans = [part for part in must if isinstance(part, Within) and part.field == "created_at"]
        closed = [span for span in spans if span.low is not None]
        if closed:
            on = f"g.type = {TYPES[selection.types[0]]} AND {_range('g.at', closed[0].low, closed[0].high)}"
            return (_Way("by type and time", "g_type", on),)
    return ()


def _by_subject(
    db: apsw.Connection, ids: str, keyed: dict[Any, tuple[str, ...]], selection: Selection
) -> tuple[_Way, ...]:
    spaces = _spaces(db, selection.namespaces)
    on = f"g.ns IN ({spaces}) AND g.s IN ({ids}) AND g.s IS NOT NULL AND g.dead = 0"
    live = _Way("by subject", "g_subj", on)
    if "relation" in keyed and selection.types == ("fact",):
        relations = _ids(db, "relation", keyed["relation"]) or "NULL"
        on = f"g.ns IN ({spaces}) AND g.s IN ({ids}) AND g.r IN ({relations}) AND g.r IS NOT NULL AND g.dead = 0"
        live = _Way("by subject and relation", "g_fact", on)
    found = [live]
    if selection.superseded:
        found.append(_Way("by subject", "g_dead", f"g.s IN ({ids}) AND g.dead = 1"))
    if not selection.types or not _WITH_SUBJECT.issuperset(selection.types):
        found.append(_Way("by subject", "g_type", f"g.type IN ({_WITHOUT})"))
    return tuple(found)


def _by_tool(ids: str) -> tuple[_Way, ...]:
    """Calls with that name whose outcome is known, and the tool calls that are filed under no name."""
    unnamed = _Way("by tool", "g_type", f"g.type = {_TOOL} AND g.tool IS NULL")
    if not ids:
        return (unnamed,)
    return _Way("by tool", "g_tool", f"g.tool IN ({ids}) AND g.tool IS NOT NULL AND g.dead = 0"), unnamed
