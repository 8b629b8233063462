# SPDX-License-Identifier: Apache-2.0
"""Full-text search over a deferred index.

* INV-SEARCH-1  Every grain with words is found: the index holds the grains up to the counter ``indexed``, the tail
  above it (at most `TAIL_LIMIT` after an act) is read and matched the same way, with the same tokenizer.
* INV-SEARCH-2  A search never writes. The index moves forward only inside the act that overfills the tail.
* INV-SEARCH-3  Only live grains of the asked namespaces are returned; superseded text stays indexed and is filtered
  against the table (D30), in the same snapshot.
* INV-SEARCH-4  No query string is an error: it is cut into pieces, each piece is quoted, nothing of it is syntax.
* INV-SEARCH-5  The work of one search is bounded: a word that more than `RANKED` grains hold nominates nothing when
  a rarer one is asked too, and alone it is ranked among the newest grains first.

A query means any of its blank-separated words; a word with punctuation inside (``payment_failed``) is a phrase.
Best match first by BM25 (k1 = 1.2, b = 0.75, as FTS5 computes it), then newest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

import apsw

from deja_tui.store import schema
from deja_tui.store.grains import StoredGrain
from deja_tui.store.projection import pieces, text_of
from deja_tui.store.rows import COLUMNS, TYPE_NAMES, stored, unfold
from deja_tui.store.sql import rows, rows_for_each, scalar
from deja_tui.text import door

TAIL_LIMIT: Final = 256
RANKED: Final = 20_000
_UNITS: Final = 32
_QUERY_CHARS: Final = 4_096
_K1, _B = 1.2, 0.75
_LEAST_IDF: Final = 1e-6

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


def words_of(kind: int, body: bytes) -> str:
    """The indexed text of a stored grain (INV-PROJ-1)."""
    namespace, fields = unfold(body)
    return text_of(TYPE_NAMES[kind], namespace, fields)


# --- asking -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Unit:
    """One piece of a query: its words, and how FTS5 is asked for it."""

    words: tuple[str, ...]
    prefix: bool
    match: str

    def count(self, words: Sequence[str]) -> int:
        """How often it occurs in a text of these words."""
        if self.prefix:
            return sum(word.startswith(self.words[0]) for word in words)
        if len(self.words) == 1:
            return words.count(self.words[0])
        size = len(self.words)
        starts = (i for i, word in enumerate(words) if word == self.words[0])
        return sum(tuple(words[i : i + size]) == self.words for i in starts)


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
    """The ``k`` best live grains; ``where`` is a condition on ``ns``, ``read`` gives the tail's words."""
    cut = tokenizer(db)
    asked = units(query, cut)
    if not asked or k <= 0:
        return []
    counters = dict(rows(db, "SELECT name, value FROM counter WHERE name IN ('indexed', 'seq')"))
    indexed, last = counters.get("indexed", 0), counters.get("seq", 0)
    tail = read(indexed, last, cut) if last > indexed else {}
    kept, counts = _bounded(db, asked)
    scores = _score_tail(tail, kept, counts, last)
    return _best(db, kept, counts, indexed, scores, where, k)


def _bounded(db: apsw.Connection, asked: list[_Unit]) -> tuple[list[_Unit], list[int]]:
    """The pieces that nominate, rarest first, with how many indexed grains hold each (INV-SEARCH-5)."""
    counted = sorted(
        ((_holders(db, unit), i, unit) for i, unit in enumerate(asked)), key=lambda item: item[:2]
    )
    kept: list[tuple[_Unit, int]] = []
    total = 0
    for count, _, unit in counted:
        if kept and total and total + count > RANKED:
            break
        kept.append((unit, count))
        total += count
    return [unit for unit, _ in kept], [count for _, count in kept]


def _holders(db: apsw.Connection, unit: _Unit) -> int:
    if unit.prefix:
        start = unit.words[0]
        sql = "SELECT sum(doc) FROM (SELECT doc FROM word WHERE term >= ? AND term < ? LIMIT 64)"
        return int(scalar(db, sql, (start, start + "\U0010ffff")) or 0)
    sql = "SELECT doc FROM word WHERE term = ?"
    return min(int(scalar(db, sql, (word,)) or 0) for word in unit.words)


def _score_tail(
    tail: dict[int, list[str]], kept: list[_Unit], counts: list[int], last: int
) -> dict[int, float]:
    found = {gid: hits for gid, words in tail.items() if any(hits := [unit.count(words) for unit in kept])}
    if not found:
        return {}
    mean = sum(len(words) for words in tail.values()) / len(tail) or 1.0
    holders = [count + sum(1 for hits in found.values() if hits[i]) for i, count in enumerate(counts)]
    weights = [max(_LEAST_IDF, log((last - n + 0.5) / (n + 0.5)) if n < last else 0.0) for n in holders]
    scores = {}
    for gid, hits in found.items():
        long = _K1 * (1 - _B + _B * len(tail[gid]) / mean)
        scores[gid] = -sum(w * (n * (_K1 + 1)) / (n + long) for w, n in zip(weights, hits, strict=True) if n)
    return scores


def _best(
    db: apsw.Connection,
    kept: list[_Unit],
    counts: list[int],
    indexed: int,
    tail: dict[int, float],
    where: str,
    k: int,
) -> list[StoredGrain]:
    match = " OR ".join(unit.match for unit in kept)
    oldest = max(0, indexed - RANKED) if counts[0] > RANKED else 0
    wanted = max(64, 4 * k)
    found = _live(db, tail, where)
    while True:
        ranked = dict(
            rows(
                db,
                "SELECT rowid, rank FROM text WHERE text MATCH ? AND rowid > ? ORDER BY rank LIMIT ?",
                (match, oldest, wanted),
            )
        )
        hits = found + _live(db, ranked, where)
        exhausted = len(ranked) < wanted and oldest == 0
        if len(hits) >= k or exhausted:
            break
        if len(ranked) < wanted:
            oldest = max(0, indexed - 8 * (indexed - oldest))
        wanted *= 8
    hits.sort(key=_newest, reverse=True)
    hits.sort(key=lambda hit: hit[0])
    return [grain for _, grain in hits[:k]]


def _newest(hit: tuple[float, StoredGrain]) -> tuple[int, int, str]:
    return hit[1].created_at, hit[1].hlc, hit[1].address


def _live(db: apsw.Connection, ranked: dict[int, float], where: str) -> list[tuple[float, StoredGrain]]:
    sql = f"SELECT {COLUMNS} FROM grain g WHERE g.id = ? AND g.dead = 0 AND {where}"
    found = rows_for_each(db, sql, [(gid,) for gid in ranked])
    return [(ranked[row[0]], stored(row)) for row in found]
