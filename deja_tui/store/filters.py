# SPDX-License-Identifier: Apache-2.0
"""Typed filters over grains, and the one read that serves them (D44): nodes in, candidates out.

* FILTER-1  Candidates are a superset: every grain that fits a filter is among them. Whoever asks decides with the
  decoded grain, because keys are folded or hashed (D11) and one that has no column is not asked for at all.
* FILTER-2  ``created_at``, ``arrival``, ``session_id``, ``hash``, types and namespaces are exact: what passes them fits.
* FILTER-3  Order is newest arrival first, or newest ``created_at`` first with ties by arrival; with a text, best
  score first with ties by arrival.
* FILTER-4  Grains are decoded as they are taken: whoever stops early pays for what it took.
* FILTER-5  A text is scored by BM25 (k1 = 1.2, b = 0.75, idf = ln(1 + (N - n + 0.5) / (n + 0.5)), a word counted once
  a grain). Of a word that more than `HOLDERS` grains hold the newest that many are scored, and `Candidates.bounded`
  says so; where an index reaches few grains, those are scored instead and nothing is left out.
* FILTER-6  The first page of what an index reaches is found and read in one statement; how many there are, and the
  positions behind that page, are asked for while it is open, so that all see one state.

What the columns hold, so what a filter means: ``subject`` is keyed wherever it is text; ``relation`` and ``object`` for
facts whose three parts are text; ``tool_name`` for calls whose outcome is known; ``valid_to`` when it is a whole number
of milliseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
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
from deja_tui.text import fold, strip_terminal_codes

Keyed = Literal["subject", "relation", "object", "tool_name", "session_id", "hash"]
Counted = Literal["created_at", "valid_to", "arrival"]
Order = Literal["arrival", "created"]

_FACT: Final = TYPES["fact"]
_TOOL: Final = TYPES["tool"]
HOLDERS: Final = 20_000
_WALKED: Final = 4_096
_PAGES: Final = (25, 73, 265)
COUNTED: Final = 2_000
_FIRST_PAGE: Final = 64
_PAGE: Final = 256
_FEW: Final = 2_000
_FEW_VALUES: Final = 16
_MANY: Final = -1
_K1, _B = 1.2, 0.75
_LOW, _HIGH = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class OneOf:
    """The field is one of these texts; a session is not "", an address has 64 hex digits."""

    field: Keyed
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Within:
    """A time in milliseconds, or a position of arrival, both ends included; None leaves an end open."""

    field: Counted
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
    """The grains that may fit one selection; to be read inside one snapshot, unless `at_once` says otherwise.

    Attributes:
        path: how they are found, for EXPLAIN.
        bounded: a word of the text is too common to be looked up everywhere (FILTER-5); known once it was read.
        reached: how many an index reaches, at most `COUNTED`; known when reading began, None where no index is used.
    """

    def __init__(self, db: apsw.Connection, selection: Selection, read_tail: TailReader) -> None:
        self._db = db
        self._asked = selection
        self._read_tail = read_tail
        self._values: dict[str, Any] = {}
        spaces = _terms("session_id", selection.namespaces, self._values, 0)  # filed under their own text
        where = None if selection.where is None else _shape(selection.where, self._values)
        known = all(name in TYPES for name in selection.types)
        self._possible = spaces != _NEVER and where != _NEVER and known
        count = spaces[2] if spaces != _NEVER else 0
        self._sql = _compiled(
            count, selection.types if known else (), selection.superseded, selection.order, where
        )
        self.bounded = False
        self.reached: int | None = None

    @property
    def at_once(self) -> bool:
        """Whether `grains` sees one state of the file without a snapshot around it (FILTER-6)."""
        return self._asked.text is None and (bool(self._sql.ways) or not self._possible)

    @property
    def path(self) -> str:
        if not self._possible:
            return "nothing can match"
        if self._asked.text is not None:
            return "text index"
        if self._sql.ways:
            return self._sql.ways[0].name
        return "by type, newest first" if self._asked.order == "created" else "by arrival, newest first"

    # --- taking ---

    def scored(self) -> Iterator[tuple[float, StoredGrain]]:
        """Score and grain, best first; the score is 1.0 without a text."""
        text = self._asked.text
        if text is None or not self._possible:
            return ((1.0, grain) for grain in self.grains())
        ranked = self._ranked(text)
        best = sorted(ranked, key=lambda gid: (-ranked[gid], -gid))
        return ((ranked[grain.seq], grain) for grain in self._load(iter(best)))

    def grains(self, wanted: int = _FIRST_PAGE) -> Iterator[StoredGrain]:
        """The grains of a selection without text, in the order that was asked for; ``wanted``: about how many will do."""
        if not self._possible:
            return iter(())
        if self._sql.ways:
            return self._by_ways(wanted)
        return self._by_created() if self._asked.order == "created" else self._by_arrival()

    def _by_ways(self, wanted: int) -> Iterator[StoredGrain]:
        """The first page in one statement; how many there are, and where the others lie, only when it is full."""
        page = next((size for size in _PAGES if size >= wanted), _PAGES[-1])
        ids, first = self._sql.paged[page]
        # Not read to its end when the page is full: while it is open, what follows sees the same state (FILTER-6).
        cursor = self._db.execute(first, self._values)
        try:
            found = list(islice(cursor, page))
            self.reached = len(found) if len(found) < page else self._counted(COUNTED)
            for row in found:
                yield stored(row)
            if len(found) == page:
                yield from self._load(iter([row[0] for row in self._rows(ids)]))
        finally:
            cursor.close()  # not left to whoever keeps an error: an open one holds this thread to its state

    def _rows(self, sql: str, **more: Any) -> Iterator[tuple[Any, ...]]:
        return rows(self._db, sql, {**self._values, **more} if more else self._values)

    def _load(self, ids: Iterator[int]) -> Iterator[StoredGrain]:
        columns = COLUMNS if self._asked.superseded else LIVE_COLUMNS
        sql = f"SELECT {columns} FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value"
        size = _FIRST_PAGE
        while page := list(islice(ids, size)):
            yield from map(stored, list(rows(self._db, sql, (listed(page),))))
            size = _PAGE

    def _by_created(self) -> Iterator[StoredGrain]:
        kinds = [TYPES[name] for name in self._asked.types] or list(TYPES.values())
        sql = (
            f"SELECT g.at, g.id FROM grain g INDEXED BY g_type WHERE g.type = :kind AND {self._sql.conditions}"
            " ORDER BY g.at DESC, g.id DESC"
        )
        each = [self._rows(sql, kind=kind) for kind in kinds]
        ordered = each[0] if len(each) == 1 else merge(*each, reverse=True)
        return self._load(row[1] for row in ordered)

    def _by_arrival(self) -> Iterator[StoredGrain]:
        """The newest rows of the table first; when those hold few, the rest by the index of types."""
        last = int(scalar(self._db, "SELECT max(id) FROM grain") or 0)
        border = max(0, last - _WALKED)
        near = f"SELECT g.id FROM grain g NOT INDEXED WHERE g.id > :border AND {self._sql.conditions} ORDER BY g.id DESC"
        yield from self._load(row[0] for row in self._rows(near, border=border))
        if border:
            far = (
                f"SELECT g.id FROM grain g {self._far_index(last)} WHERE g.id <= :border"
                f" AND {self._sql.conditions} ORDER BY g.id DESC"
            )
            yield from self._load(row[0] for row in self._rows(far, border=border))

    def _far_index(self, last: int) -> str:
        """Types that fill a good part of the table are walked in place, rare ones looked up and sorted."""
        counted = dict(rows(self._db, "SELECT name, value FROM counter WHERE name LIKE 'type:%'"))
        of_types = sum(counted.get(f"type:{name}", 0) for name in self._asked.types)
        return "INDEXED BY g_type" if self._asked.types and of_types * 20 < last else "NOT INDEXED"

    # --- counting ---

    def count(self, most: int) -> int:
        """How many there are, at most ``most``; nothing is decoded."""
        if not self._possible or most <= 0:
            return 0
        if self._asked.text is not None:
            return min(most, len(self._ranked(self._asked.text)))
        if self.reached is not None:
            return min(most, self.reached) if self.reached < COUNTED else self._counted(most)
        return self._counted(most)

    def _counted(self, most: int) -> int:
        reached = self._sql.reached or f"SELECT g.id FROM grain g WHERE {self._sql.conditions}"
        return int(
            scalar(self._db, f"SELECT count(*) FROM (SELECT 1 FROM ({reached}) LIMIT {most})", self._values)
        )

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
        if not self._sql.ways:
            return None
        reached = [row[0] for row in self._rows(f"SELECT id FROM ({self._sql.reached}) LIMIT {_FEW + 1}")]
        return reached if len(reached) <= _FEW else None

    def _words(self, ids: list[int], cut: search.Tokenizer) -> dict[int, list[str]]:
        sql = "SELECT g.id, g.type, g.body FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value"
        found = rows(self._db, sql, (listed(ids),))
        return {gid: cut(search.words_of(kind, body)) for gid, kind, body in found}

    def _passing_tail(self, tail: dict[int, list[str]]) -> dict[int, list[str]]:
        sql = f"SELECT g.id FROM json_each(:ids) j CROSS JOIN grain g ON g.id = j.value WHERE {self._sql.conditions}"
        return {row[0]: tail[row[0]] for row in self._rows(sql, ids=listed(tail))}

    def _holders(self, match: str, count: int) -> Iterator[tuple[int, int]]:
        """Position and number of words of the indexed grains that hold a piece of text and pass the conditions."""
        if count > HOLDERS:
            self.bounded = True
        sql = (
            "SELECT f.id, d.sz FROM (SELECT rowid AS id FROM text WHERE text MATCH :match"
            " ORDER BY rowid DESC LIMIT :most) f"
            " CROSS JOIN grain g ON g.id = f.id CROSS JOIN text_docsize d ON d.id = f.id"
            f" WHERE {self._sql.conditions}"
        )
        for gid, size in self._rows(sql, match=match, most=HOLDERS):
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


# --- shapes -----------------------------------------------------------------------------------------
# A selection is taken apart into its shape, of which the text of its statements is made once and kept, and the values
# they are bound with. Texts are looked up inside the statements; one that no grain uses is NULL there and equals nothing.

Shape = tuple[Any, ...]
_NEVER: Final[Shape] = ("never",)


def _shape(node: Filter, values: dict[str, Any]) -> Shape:
    """The shape of a filter; its values go into ``values`` under names that the shape tells."""
    place = len(values)
    if isinstance(node, OneOf) and node.field in _AS_TERMS:  # first, because nearly every filter is one
        return _terms(node.field, node.values, values, place)
    match node:
        case AllOf(parts=parts):
            told = tuple([_shape(part, values) for part in parts])
            return _NEVER if _NEVER in told else ("all", told)
        case AnyOf(parts=parts):
            some = tuple([shape for part in parts if (shape := _shape(part, values)) != _NEVER])
            return ("any", some) if some else _NEVER
        case Failed():
            return ("failed",)
        case Within(field=name, low=low, high=high):
            if (low is not None and low > _HIGH) or (high is not None and high < _LOW):
                return _NEVER
            values[f"l{place}"] = _LOW if low is None else max(low, _LOW)
            values[f"u{place}"] = _HIGH if high is None else min(high, _HIGH)
            return ("within", name, place)
        case OneOf(field="hash", values=given):
            found = [bytes.fromhex(value) for value in given if is_address(value)]
            if len(found) > _FEW_VALUES:
                values[f"j{place}"] = json.dumps([value for value in given if is_address(value)])
                return ("hash", place, _MANY)
            values.update((f"x{place}_{j}", digest) for j, digest in enumerate(found))
            return ("hash", place, len(found)) if found else _NEVER
        case OneOf(field="object", values=given) if len(given) > _FEW_VALUES:
            values[f"j{place}"] = json.dumps([key_of(fold(asked(value))) for value in given])
            return ("object", place, _MANY)
        case OneOf(field="object", values=given):
            values.update((f"k{place}_{j}", key_of(fold(asked(value)))) for j, value in enumerate(given))
            return ("object", place, len(given)) if given else _NEVER
    return _NEVER


_AS_TERMS: Final = frozenset(("subject", "relation", "tool_name", "session_id"))


def _terms(name: Keyed, given: tuple[str, ...], values: dict[str, Any], place: int) -> Shape:
    if len(given) > _FEW_VALUES:
        values[f"j{place}"] = json.dumps([_filed(name, value) for value in given], ensure_ascii=False)
        return (name, place, _MANY)
    for count, value in enumerate(given):
        values[f"h{place}_{count}"], values[f"t{place}_{count}"] = _filed(name, value)
    return (name, place, len(given)) if given else _NEVER


@lru_cache(maxsize=1024)
def _filed(name: Keyed, value: str) -> tuple[int, str]:
    """Key and text of the term under which a value is filed."""
    text = asked(value)
    if name == "tool_name":
        text = strip_terminal_codes(text).strip()
    elif name != "session_id":
        text = fold(text)
    return key_of(text), text


def _ids(table: str, column: str, place: str, count: int) -> str:
    """``= (id)`` of one text, because SQLite builds a table for every IN (measured: 5 µs); ``IN (ids)`` of several.

    Many are looked up from one JSON text: a statement with a thousand lookups takes 300 ms to be prepared.
    """
    if count == _MANY:
        wanted = f"x.h = json_extract(j.value, '$[0]') AND x.{column} = json_extract(j.value, '$[1]')"
        return f"IN (SELECT x.id FROM json_each(:j{place}) j CROSS JOIN {table} x ON {wanted})"
    looked_up = [
        f"(SELECT id FROM {table} WHERE h = :h{place}_{j} AND {column} = :t{place}_{j})" for j in range(count)
    ]
    return f"= {looked_up[0]}" if count == 1 else f"IN ({', '.join(looked_up)})"


# --- SQL --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Way:
    """One index that reaches candidates, alone or together with the other ways; ``where`` is all that must hold."""

    name: str
    index: str
    where: str

    def select(self, at: str) -> str:
        return f"SELECT g.id AS id, {at} AS at FROM grain g INDEXED BY {self.index} WHERE {self.where}"


@dataclass(frozen=True, slots=True)
class _Compiled:
    """The statements of one shape of selection.

    Attributes:
        conditions: what must hold of every candidate.
        ways: how an index reaches them; none: the table itself is walked.
        reached: position and time of everything the ways reach, each once.
        paged: by size of the first page: the positions behind it, and its rows. Numbers stand in the text, because
            SQLite plans anew for every bound LIMIT (measured: 30 µs).
    """

    conditions: str
    ways: tuple[_Way, ...]
    reached: str
    paged: Mapping[int, tuple[str, str]]


@lru_cache(maxsize=256)
def _compiled(
    spaces: int, types: tuple[str, ...], superseded: bool, order: Order, where: Shape | None
) -> _Compiled:
    space = f"g.ns {_ids('space', 'name', '0', spaces)}"
    kinds = _types(types)
    live = "1" if superseded else "g.dead = 0"
    conditions = _joined(live, space, kinds, "1" if where is None else _sql(where))
    ways = () if where is None else _ways(where, types, superseded, order, space)
    at = "g.at" if order == "created" else "0"
    reached = " UNION ".join(way.select(at) for way in ways)
    by = "at DESC, id DESC" if order == "created" else "id DESC"
    columns = COLUMNS if superseded else LIVE_COLUMNS
    ordered = f"FROM ({reached}) ORDER BY {by}"
    paged = {
        size: (
            f"SELECT id {ordered} LIMIT -1 OFFSET {size}",
            f"SELECT {columns} FROM (SELECT id, at {ordered} LIMIT {size}) j CROSS JOIN grain g ON g.id = j.id",
        )
        for size in _PAGES
    }
    return _Compiled(conditions, ways, reached, paged)


def _joined(*conditions: str) -> str:
    """Conditions that must all hold; those that always do are left out."""
    return " AND ".join(told for told in conditions if told != "1") or "1"


def _types(names: tuple[str, ...]) -> str:
    return f"g.type IN ({', '.join(str(TYPES[name]) for name in names)})" if names else "1"


def _sql(shape: Shape) -> str:
    """A condition on the columns of ``g`` that every grain fitting the filter passes (FILTER-1)."""
    match shape:
        case ("all", parts):
            return _joined(*map(_sql, parts))
        case ("any", parts):
            return f"({' OR '.join(map(_sql, parts))})"
        case ("never",):
            return "0"
        case ("failed",):
            return "(g.sig IS NOT NULL OR g.tool IS NULL)"
        case ("within", "created_at", place):
            return f"g.at BETWEEN :l{place} AND :u{place}"
        case ("within", "arrival", place):
            return f"g.id BETWEEN :l{place} AND :u{place}"
        case ("within", _, place):
            return f"g.vt BETWEEN :l{place} AND :u{place}"
        case ("hash", place, count) if count == _MANY:
            return f"g.hash IN (SELECT unhex(value) FROM json_each(:j{place}))"
        case ("object", place, count) if count == _MANY:
            return f"(g.k IN (SELECT value FROM json_each(:j{place})) OR g.type <> {_FACT})"
        case ("hash", place, count):
            return f"g.hash IN ({', '.join(f':x{place}_{j}' for j in range(count))})"
        case ("object", place, count):
            return f"(g.k IN ({', '.join(f':k{place}_{j}' for j in range(count))}) OR g.type <> {_FACT})"
        case (name, place, count):
            return _KEYED[name].format(_ids("term", "s", str(place), count))
    return "1"


_KEYED: Final = {
    "subject": "g.s {}",
    "session_id": "g.thread {}",
    "relation": f"(g.r {{}} OR g.type <> {_FACT})",
    "tool_name": "(g.tool {} OR g.tool IS NULL)",
}


# --- ways in ----------------------------------------------------------------------------------------


def _ways(
    where: Shape, types: tuple[str, ...], superseded: bool, order: Order, space: str
) -> tuple[_Way, ...]:
    """The best index for what must hold of every candidate."""
    must: tuple[Shape, ...] = where[1] if where[0] == "all" else (where,)
    keyed = {part[0]: part for part in must}
    kinds = _types(types)
    live = "1" if superseded else "g.dead = 0"
    if "hash" in keyed:
        return (_Way("by address", "g_hash", _joined(_rest(must), live, space, kinds)),)
    if "subject" in keyed:
        return _by_subject(must, keyed, types, superseded, order, space)
    if "session_id" in keyed:
        on = _joined("g.thread IS NOT NULL", live, space, kinds, _rest(must))
        return (_Way("by session", "g_thread", on),)
    if "tool_name" in keyed and types == ("tool",) and not superseded:
        return _by_tool(must, keyed["tool_name"], space)
    if len(types) == 1 and any(part[:2] == ("within", "created_at") for part in must):
        return (_Way("by type and time", "g_type", _joined(kinds, live, space, _rest(must))),)
    return ()


def _rest(must: tuple[Shape, ...], *done: Shape) -> str:
    """What must hold beside the parts that an index answers already."""
    return _joined(*(_sql(part) for part in must if part not in done))


def _among(shape: Shape) -> str:
    return _ids("term", "s", str(shape[1]), shape[2])


def _by_subject(
    must: tuple[Shape, ...],
    keyed: dict[str, Shape],
    types: tuple[str, ...],
    superseded: bool,
    order: Order,
    space: str,
) -> tuple[_Way, ...]:
    subject, relation = keyed["subject"], keyed.get("relation")
    on, kinds, rest = f"g.s {_among(subject)}", _types(types), _rest(must, subject)
    live = _Way("by subject", "g_subj", _joined(space, on, "g.s IS NOT NULL", "g.dead = 0", kinds, rest))
    if types == ("fact",) and relation is not None:
        # only facts have a relation key, so their type needs no look at the row
        by = f"g.r {_among(relation)}"
        beside = _rest(must, subject, relation)
        on_both = _joined(space, on, by, "g.r IS NOT NULL", "g.dead = 0", beside)
        live = _Way("by subject and relation", "g_fact", on_both)
    elif types == ("fact",) and order == "arrival":
        live = _Way("by subject", "g_fact", _joined(space, on, "g.r IS NOT NULL", "g.dead = 0", rest))
    found = [live]
    if superseded:
        found.append(_Way("by subject", "g_dead", _joined(on, "g.dead = 1", space, kinds, rest)))
    return tuple(found)


def _by_tool(must: tuple[Shape, ...], part: Shape, space: str) -> tuple[_Way, ...]:
    """Calls with that name whose outcome is known, and the few tool calls that are filed under no name."""
    rest = _rest(must, part)
    on = _joined(f"g.tool {_among(part)}", "g.tool IS NOT NULL", "g.dead = 0", space, rest)
    unnamed = _joined(f"g.type = {_TOOL}", "g.tool IS NULL", "g.dead = 0", space, rest)
    return _Way("by tool", "g_tool", on), _Way("by tool", "g_unnamed", unnamed)
