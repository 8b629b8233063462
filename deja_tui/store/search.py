# SPDX-License-Identifier: Apache-2.0
"""Full-text search over a deferred index.

* INV-SEARCH-1  Every grain with words is found: the index holds the grains up to the counter ``indexed``, the tail
  above it (at most `TAIL_LIMIT` after an act) is read and matched the same way, with the same tokenizer, and scored
  by the same rule, so that moving the index forward changes no answer.
* INV-SEARCH-2  A search never writes. The index moves forward only inside the act that overfills the tail.
* INV-SEARCH-3  Only live grains of the asked namespaces are returned; superseded text stays indexed and is filtered
  against the table (D30), in the same snapshot.
* INV-SEARCH-4  No query string is an error: it is cut into pieces, each piece is quoted, nothing of it is syntax.
* INV-SEARCH-5  The work of one search is bounded: of each word the newest `HOLDERS` grains are looked at (and those
  that hold all the words), more only when too few of them may be shown.

A query means any of its blank-separated words; a word with punctuation inside (``payment_failed``) is a phrase.
Score: the sum over the words a grain holds of log(grains / holders), as in BM25 with every word counted once and a
text of `TYPICAL_WORDS` words as the reference length (k1 = 1.2, b = 0.75). Best first, then newest arrival.
FTS5's own rank is not asked: it reads the length of every match (21 ms for a common word at 100k grains, 272 at 1M)
and would score the tail by other statistics than the index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice
from math import log
from typing import Final

import apsw

from deja_tui.errors import DejaError
from deja_tui.store import schema
from deja_tui.store.grains import StoredGrain
from deja_tui.store.projection import pieces, text_of
from deja_tui.store.rows import LIVE_COLUMNS, TYPE_NAMES, stored, unfold
from deja_tui.store.sql import listed, rows
from deja_tui.text import door

TAIL_LIMIT: Final = 256
HOLDERS: Final = 4_000
TYPICAL_WORDS: Final = 32
_CANDIDATES: Final = 64
_ALL_WINDOW: Final = 200_000
_UNITS: Final = 32
_QUERY_CHARS: Final = 4_096
_K1, _B = 1.2, 0.75
_LEAST_WEIGHT: Final = 0.01

Tokenizer = Callable[[str], list[str]]
TailReader = Callable[[int, int, Tokenizer], dict[int, list[str]]]
"""Words by position of the grains above the first position, up to the second."""


def tokenizer(db: apsw.Connection) -> Tokenizer:
    """The tokenizer of the index, as a function: the tail and the counts must see the very same words."""
    cut = db.fts5_tokenizer(schema.TOKENIZER[0], list(schema.TOKENIZER[1:]))
    reason = apsw.FTS5_TOKENIZE_DOCUMENT

    def words(text: str) -> list[str]:
        return [str(token[0]) for token in cut(text.encode(), reason, None, include_offsets=False)]

    return words


# --- filling ----------------------------------------------------------------------------------------


def flush(db: apsw.Connection, indexed: int) -> None:
    """Index every grain above position ``indexed``; the caller holds the write transaction."""
    waiting = rows(db, "SELECT id, type, body FROM grain WHERE id > ? ORDER BY id", (indexed,))
    insert = db.cursor()
    for gid, kind, body in waiting:
        text = words_of(kind, body)
        if text:
            insert.execute("INSERT INTO text(rowid, t) VALUES(?, ?)", (gid, text))


def empty(db: apsw.Connection) -> None:
    """Drop the whole index, because it was filled under another version of the projection (INV-PROJ-1)."""
    db.execute("INSERT INTO text(text) VALUES('delete-all')")


def words_of(kind: int, body: bytes) -> str:
    """The indexed text of a stored grain (INV-PROJ-1); a damaged one has none, and stops no act and no search."""
    try:
        namespace, fields = unfold(body)
    except DejaError:
        return ""
    return text_of(TYPE_NAMES.get(kind, ""), namespace, fields)


# --- asking -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Unit:
    """One piece of a query: its words, and how FTS5 is asked for it."""

    words: tuple[str, ...]
    prefix: bool
    match: str

    def is_in(self, words: Sequence[str]) -> bool:
        """Whether a text of these words holds it."""
        if self.prefix:
            return any(word.startswith(self.words[0]) for word in words)
        if len(self.words) == 1:
            return self.words[0] in words
        size = len(self.words)
        starts = (i for i, word in enumerate(words) if word == self.words[0])
        return any(tuple(words[i : i + size]) == self.words for i in starts)


def units(query: str, cut: Tokenizer) -> list[_Unit]:
    """The distinct pieces of a query that hold a word, at most 32."""
    found: dict[str, _Unit] = {}
    for piece, prefix in pieces(door(query[:_QUERY_CHARS])):
        words = tuple(cut(piece))
        if not words:
            continue
        quoted = '"' + piece.replace('"', '""') + '"' + (" *" if prefix else "")
        found.setdefault(quoted, _Unit(words, prefix, quoted))
        if len(found) == _UNITS:
            break
    return list(found.values())


class Tail:
    """Words of the committed grains that are not indexed yet, kept between searches; positions are never reused."""

    def __init__(self) -> None:
        self._words: dict[int, list[str]] = {}

    def clear(self) -> None:
        """Drop everything, because a grain was erased."""
        self._words = {}

    def read(self, db: apsw.Connection, indexed: int, last: int, cut: Tokenizer) -> dict[int, list[str]]:
        """Words by position of the grains above ``indexed``."""
        known = self._words
        kept = {gid: words for gid, words in known.items() if gid > indexed}
        have = max(kept, default=indexed)
        if have < last:
            kept.update(read_tail(db, have, cut))
        self._words = kept
        return {gid: words for gid, words in kept.items() if gid <= last}


def read_tail(db: apsw.Connection, after: int, cut: Tokenizer) -> dict[int, list[str]]:
    """Words by position of the grains above ``after``, straight from the table."""
    found = rows(db, "SELECT id, type, body FROM grain WHERE id > ? ORDER BY id", (after,))
    return {gid: cut(words_of(kind, body)) for gid, kind, body in found}


def search(db: apsw.Connection, query: str, where: str, k: int, read: TailReader) -> list[StoredGrain]:
    """The ``k`` best live grains; ``where`` is a condition on ``g``, ``read`` gives the tail's words."""
    limit, wanted = HOLDERS, max(_CANDIDATES, 4 * k)
    while k > 0:
        best, complete = ranked(db, query, read, wanted, limit)
        found = _live(db, best, where, k)
        if len(found) == k or complete:
            return found
        limit, wanted = limit * 8, wanted * 8
    return []


def ranked(
    db: apsw.Connection, query: str, read: TailReader, wanted: int, limit: int = HOLDERS
) -> tuple[list[tuple[float, int]], bool]:
    """Scores and positions of at most ``wanted`` grains, best first, live or not; and whether none was left out.

    Args:
        read: gives the tail's words (INV-SEARCH-1).
        wanted: a query of common words nominates thousands; only so many have their length read and are ordered.
        limit: how many holders of each word are looked at (INV-SEARCH-5).
    """
    cut = tokenizer(db)
    asked = units(query, cut)
    if not asked:
        return [], True
    counters = dict(rows(db, "SELECT name, value FROM counter WHERE name IN ('indexed', 'seq')"))
    indexed, last = counters.get("indexed", 0), counters.get("seq", 0)
    tail = read(indexed, last, cut) if last > indexed else {}
    holders, complete = _nominate(db, asked, tail, indexed, last, limit)
    some = _weigh(holders, wanted)
    sizes = _sizes(db, [gid for _, gid in some if gid not in tail])
    sizes.update((gid, len(tail[gid])) for _, gid in some if gid in tail)
    best = sorted(((weight * _shortness(sizes.get(gid, 0)), gid) for weight, gid in some), reverse=True)
    return best, complete and len(some) < wanted


_Held = tuple[float, set[int], list[int]]
"""Of one piece of a query: its weight, and the positions of its holders, as a set and newest first."""


def _nominate(
    db: apsw.Connection, asked: list[_Unit], tail: dict[int, list[str]], indexed: int, last: int, limit: int
) -> tuple[list[_Held], bool]:
    """The holders of each piece, and whether none was left out."""
    found: list[_Held] = []
    truncated = 0
    for unit in asked:
        held = [gid for gid in reversed(tail) if unit.is_in(tail[gid])]
        newest = _holders(db, unit.match, 0, limit)
        count = len(held) + len(newest)
        if len(newest) == limit:
            truncated += 1
            count = len(held) + limit * indexed // (indexed - newest[-1] + 1)
        weight = (
            max(_LEAST_WEIGHT, log((last - count + 0.5) / (count + 0.5))) if count < last else _LEAST_WEIGHT
        )
        found.append((weight, set(held + newest), held + newest))
    if 1 < len(asked) == truncated:  # a grain with all the words may be older than the newest holders of each
        match = " AND ".join(unit.match for unit in asked)
        everywhere = _holders(db, match, max(0, indexed - _ALL_WINDOW), _CANDIDATES)
        found = [
            (weight, holders.union(everywhere), [*newest, *everywhere]) for weight, holders, newest in found
        ]
    return found, truncated == 0


def _weigh(found: list[_Held], wanted: int) -> list[tuple[float, int]]:
    """The ``wanted`` positions with the most weight, heaviest and newest first.

    Grains that hold several pieces are few and weighed one by one; those that hold one weigh what it weighs, so the
    newest of them are enough.
    """
    seen: set[int] = set()
    several: set[int] = set()
    for _, holders, _ in found:
        several |= seen & holders
        seen |= holders
    weighed = [(sum(weight for weight, holders, _ in found if gid in holders), gid) for gid in several]
    best = nlargest(wanted, weighed)
    for weight, _, newest in found:
        if len(best) < wanted or weight > best[-1][0]:
            alone = islice((gid for gid in newest if gid not in several), wanted)
            best = nlargest(wanted, [*best, *((weight, gid) for gid in alone)])
    return best


def _holders(db: apsw.Connection, match: str, after: int, limit: int) -> list[int]:
    sql = "SELECT rowid FROM text WHERE text MATCH ? AND rowid > ? ORDER BY rowid DESC LIMIT ?"
    return [row[0] for row in rows(db, sql, (match, after, limit))]


def _live(db: apsw.Connection, best: list[tuple[float, int]], where: str, k: int) -> list[StoredGrain]:
    """The first ``k`` live ones."""
    sql = f"SELECT {LIVE_COLUMNS} FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value WHERE g.dead = 0 AND {where}"
    found: list[StoredGrain] = []
    for start in range(0, len(best), k):
        page = listed(gid for _, gid in best[start : start + k])
        found.extend(map(stored, rows(db, sql, (page,))))
        if len(found) >= k:
            break
    return found[:k]


def _sizes(db: apsw.Connection, gids: list[int]) -> dict[int, int]:
    """How many words each indexed text has, as FTS5 keeps it: one variable-length integer."""
    sql = "SELECT d.id, d.sz FROM json_each(?) j CROSS JOIN text_docsize d ON d.id = j.value"
    return {gid: size_of(raw) for gid, raw in rows(db, sql, (listed(gids),))}


def size_of(raw: bytes) -> int:
    """A text's number of words, from its row in ``text_docsize``."""
    value = 0
    for byte in raw:
        value = value << 7 | byte & 0x7F
    return value


def _shortness(words: int) -> float:
    return (_K1 + 1) / (1 + _K1 * (1 - _B + _B * words / TYPICAL_WORDS))
