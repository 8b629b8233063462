# SPDX-License-Identifier: Apache-2.0
"""Which grains answer a query, by position and score: the part of `search` that reads no grain.

A hook pays for every import, so this one needs no codec and no data class (D47). The rules are those of `search`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import nlargest
from itertools import combinations
from math import log
from typing import Any, Final, Protocol, TypeVar

import apsw

from deja_tui.store.layout import TOKENIZER
from deja_tui.store.projection import pieces
from deja_tui.store.sql import listed, rows, scalar
from deja_tui.text import door

HOLDERS: Final = 4_000
TYPICAL_WORDS: Final = 32
_CANDIDATES: Final = 32
_PAIRED: Final = 3
_JOINED: Final = 8
_COUNTED: Final = 20_000
_WINDOW: Final = 200_000
_UNITS: Final = 32
_QUERY_CHARS: Final = 4_096
_K1, _B = 1.2, 0.75
_LEAST_WEIGHT: Final = 0.01

_T = TypeVar("_T")

Tokenizer = Callable[[str], list[str]]


def tokenizer(db: apsw.Connection) -> Tokenizer:
    """The tokenizer of the index, as a function: the tail and the counts must see the very same words."""
    cut = db.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1:]))
    reason = apsw.FTS5_TOKENIZE_DOCUMENT

    def words(text: str) -> list[str]:
        return [str(token[0]) for token in cut(text.encode(), reason, None, include_offsets=False)]

    return words


class Shown(Protocol):
    """Which grains may be shown: `narrow.Narrow`, or the same by another name."""

    @property
    def where(self) -> str: ...
    @property
    def values(self) -> Mapping[str, Any]: ...
    @property
    def filtered(self) -> bool: ...


class Unit:
    """One piece of a query: its words, and how FTS5 is asked for it."""

    __slots__ = ("match", "prefix", "words")

    def __init__(self, words: tuple[str, ...], prefix: bool, match: str) -> None:
        self.words = words
        self.prefix = prefix
        self.match = match

    def is_in(self, words: Sequence[str]) -> bool:
        """Whether a text of these words holds it."""
        if len(self.words) == 1:
            (one,) = self.words
            return any(word.startswith(one) for word in words) if self.prefix else one in words
        return any(self._stands_at(words, i) for i, word in enumerate(words) if word == self.words[0])

    def _stands_at(self, words: Sequence[str], i: int) -> bool:
        size = len(self.words)
        if not self.prefix:
            return tuple(words[i : i + size]) == self.words
        *whole, start = self.words
        last = i + size - 1
        return last < len(words) and list(words[i:last]) == whole and words[last].startswith(start)


def units(query: str, cut: Tokenizer) -> list[Unit]:
    """The distinct pieces of a query that hold a word, at most 32."""
    found: dict[str, Unit] = {}
    for piece, prefix in pieces(door(query[:_QUERY_CHARS])):
        words = tuple(cut(piece))
        if not words:
            continue
        quoted = '"' + piece.replace('"', '""') + '"' + (" *" if prefix else "")
        found.setdefault(quoted, Unit(words, prefix, quoted))
        if len(found) == _UNITS:
            break
    return list(found.values())


_POSITIONS: Final = (
    "SELECT name, value FROM counter WHERE name IN ('indexed', 'seq') AND typeof(value) = 'integer'"
)


def positions(db: apsw.Connection) -> tuple[int, int]:
    """The last position that is indexed, and the last one there is."""
    counters = dict(rows(db, _POSITIONS))
    return counters.get("indexed", 0), counters.get("seq", 0)


def best(
    db: apsw.Connection,
    asked: list[Unit],
    tail: dict[int, list[str]],
    places: tuple[int, int],
    shown: Shown,
    k: int,
    live: Callable[[list[tuple[float, int]]], list[_T]],
) -> list[_T]:
    """The ``k`` best that may be ``shown``: ``live`` gives those of some, best first, that may; see `search.search`."""
    wanted = max(_CANDIDATES, 2 * k)
    while True:
        some, complete = _nominate(db, asked, tail, *places, wanted, shown)
        found = live(by_length(db, some, tail))
        if len(found) == k or complete:
            return found
        wanted *= 8


def _nominate(
    db: apsw.Connection,
    asked: list[Unit],
    tail: dict[int, list[str]],
    indexed: int,
    last: int,
    wanted: int,
    shown: Shown,
) -> tuple[list[tuple[float, int]], bool]:
    """Weight and position of the ``wanted`` heaviest grains, newest first; and whether none was left out.

    Which pieces a grain holds is a mask. Grains with one piece weigh what it weighs, so the newest of them are enough;
    those with several are met through every pair, or, for more than three pieces, among the newest holders of each.
    """
    masks = {gid: mask for gid, words in tail.items() if (mask := mask_of(asked, words))}
    in_tail = [sum(1 for mask in masks.values() if mask >> i & 1) for i in range(len(asked))]
    by_pairs = len(asked) <= _PAIRED
    limit = wanted if by_pairs else max(wanted, HOLDERS * _PAIRED // len(asked))
    counts: list[int] = []
    complete = True
    for i, unit in enumerate(asked):
        newest = _holders(db, unit.match, 0, limit, shown)
        cut_off = len(newest) == limit
        complete = complete and not cut_off
        # with filters the holders that were read are not all there are, and weights are those of the whole memory
        partly = cut_off or shown.filtered
        held = count(db, unit, newest, indexed, len(asked), shown) if partly else len(newest)
        counts.append(in_tail[i] + held)
        for gid in newest:
            masks[gid] = masks.get(gid, 0) | 1 << i
    size = 2 if by_pairs else len(asked)  # the old ones that hold two of a few pieces, or all of some more
    groups = combinations(range(len(asked)), size) if by_pairs or (not complete and size <= _JOINED) else ()
    after = max(0, indexed - _WINDOW) if min(counts) > HOLDERS else 0
    for group in groups:
        match = " AND ".join(asked[i].match for i in group)
        together = sum(1 << i for i in group)
        most = max(wanted, HOLDERS)
        # all of them are read, so their order is nobody's concern, and FTS5 walks faster forwards
        whole = not after and min(counts[i] for i in group) <= most
        for gid in _all_holders(db, match, shown) if whole else _holders(db, match, after, most, shown):
            masks[gid] = masks.get(gid, 0) | together
    heavy = weighed(masks, counts, last)
    return nlargest(wanted, heavy), complete and len(heavy) <= wanted


def weighed(masks: dict[int, int], counts: list[int], last: int) -> list[tuple[float, int]]:
    """Weight and position of grains, by the pieces they hold and how many grains hold each piece."""
    weights = [_weight(count, last) for count in counts]
    known = {mask: sum(w for i, w in enumerate(weights) if mask >> i & 1) for mask in set(masks.values())}
    return [(known[mask], gid) for gid, mask in masks.items()]


def mask_of(asked: list[Unit], words: list[str]) -> int:
    return sum(1 << i for i, unit in enumerate(asked) if unit.is_in(words))


def _weight(count: int, total: int) -> float:
    return max(_LEAST_WEIGHT, log((total - count + 0.5) / (count + 0.5))) if count < total else _LEAST_WEIGHT


def count(
    db: apsw.Connection, unit: Unit, newest: list[int], indexed: int, pieces_asked: int, shown: Shown
) -> int:
    """How many indexed grains hold a piece of which only the newest holders were read.

    Alone it needs no number. Of a word the index knows it, a phrase is counted; among many pieces, where that would
    add up, it is judged by how close together the newest holders lie.
    """
    if pieces_asked == 1:
        return len(newest)
    if pieces_asked > _PAIRED and not shown.filtered:
        return len(newest) * indexed // (indexed - newest[-1] + 1)
    if len(unit.words) == 1 and not unit.prefix:
        return int(scalar(db, "SELECT doc FROM word WHERE term = ?", unit.words) or 0)
    some = "SELECT 1 FROM text WHERE text MATCH ? LIMIT ?"
    return int(scalar(db, f"SELECT count(*) FROM ({some})", (unit.match, _COUNTED)))


_NEWEST: Final = "SELECT rowid FROM text WHERE text MATCH ? AND rowid > ? ORDER BY rowid DESC LIMIT ?"
_FITTING: Final = (
    "SELECT f.rowid FROM text f CROSS JOIN grain g ON g.id = f.rowid"
    " WHERE f.text MATCH :match AND f.rowid > :after AND g.dead = 0 AND {} ORDER BY f.rowid DESC LIMIT :limit"
)


def _holders(db: apsw.Connection, match: str, after: int, limit: int, shown: Shown) -> list[int]:
    """The newest indexed grains that hold a piece; with filters, of those that may be shown (INV-NARROW-3)."""
    if not shown.filtered:
        return [row[0] for row in rows(db, _NEWEST, (match, after, limit))]
    given = {**shown.values, "match": match, "after": after, "limit": limit}
    return [row[0] for row in rows(db, _FITTING.format(shown.where), given)]


def _all_holders(db: apsw.Connection, match: str, shown: Shown) -> list[int]:
    """Every indexed grain that holds a piece, in any order, when its number is known to be bounded."""
    if shown.filtered:
        return _holders(db, match, 0, HOLDERS, shown)
    return [row[0] for row in rows(db, "SELECT rowid FROM text WHERE text MATCH ?", (match,))]


def by_length(
    db: apsw.Connection, some: list[tuple[float, int]], tail: dict[int, list[str]]
) -> list[tuple[float, int]]:
    """``some`` by their score: what they hold, less for a long text; best first, then newest."""
    sizes = _sizes(db, [gid for _, gid in some if gid not in tail])
    sizes.update((gid, len(tail[gid])) for _, gid in some if gid in tail)
    short = {size: _shortness(size) for size in {0, *sizes.values()}}
    return sorted([(weight * short[sizes.get(gid, 0)], gid) for weight, gid in some], reverse=True)


def _sizes(db: apsw.Connection, gids: list[int]) -> dict[int, int]:
    """How many words each indexed text has, as FTS5 keeps it: one variable-length integer."""
    if not gids:
        return {}
    sql = "SELECT d.id, d.sz FROM json_each(?) j CROSS JOIN text_docsize d ON d.id = j.value"
    return {gid: raw[0] if len(raw) == 1 else size_of(raw) for gid, raw in rows(db, sql, (listed(gids),))}


def size_of(raw: bytes) -> int:
    """A text's number of words, from its row in ``text_docsize``."""
    value = 0
    for byte in raw:
        value = value << 7 | byte & 0x7F
    return value


def _shortness(words: int) -> float:
    return (_K1 + 1) / (1 + _K1 * (1 - _B + _B * words / TYPICAL_WORDS))
