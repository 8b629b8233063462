# SPDX-License-Identifier: Apache-2.0
"""Full-text search over a deferred index.

* INV-SEARCH-1  Every grain with words is found: the index holds the grains up to the counter ``indexed``, the tail
  above it (at most `TAIL_LIMIT` after an act) is read and matched the same way, with the same tokenizer, and scored
  by the same rule, so that moving the index forward changes no answer. (Of more than three words that are all common
  the counts are judged, so there it may move one of two near equals.)
* INV-SEARCH-2  A search never writes. The index moves forward only inside the act that overfills the tail.
* INV-SEARCH-3  Only live grains of the asked namespaces are returned; superseded text stays indexed and is filtered
  against the table (D30), in the same snapshot.
* INV-SEARCH-4  No query string is an error: it is cut into pieces, each piece is quoted before FTS5 sees it. Two marks
  mean something: double quotes around words, which then stand side by side, and a star behind a word, which is then the
  start of one. Where they make no sense they mean nothing.
* INV-SEARCH-5  The work of one search is bounded: of the grains that hold one of the words the newest are looked at,
  of those that hold several at most `HOLDERS`; more only when too few of them may be shown. What else may be shown is
  `narrow`'s.

A query means any of its blank-separated words; a word with punctuation inside (``payment_failed``) is a phrase.
Score: the sum over the words a grain holds of log(grains / holders), as in BM25 with every word counted once and a
text of `TYPICAL_WORDS` words as the reference length (k1 = 1.2, b = 0.75). Best first, then newest arrival.
FTS5's own rank is not asked: it reads the length of every match (21 ms for a common word at 100k grains, 272 at 1M)
and would score the tail by other statistics than the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import combinations
from math import log
from typing import Final

import apsw

from deja_tui.errors import DejaError, ValidationError
from deja_tui.store import near, schema
from deja_tui.store.grains import StoredGrain
from deja_tui.store.narrow import Narrow
from deja_tui.store.projection import pieces, text_of
from deja_tui.store.rows import LIVE_COLUMNS, TYPE_NAMES, stored, unfold
from deja_tui.store.sql import counter, listed, rows, scalar
from deja_tui.text import door

TAIL_LIMIT: Final = 256
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
    """Index every grain above position ``indexed``, and sign the notes among them (D12); the caller holds the write
    transaction."""
    waiting = rows(db, "SELECT id, type, body FROM grain WHERE id > ? ORDER BY id", (indexed,))
    insert = db.cursor()
    for gid, kind, body in waiting:
        text = words_of(kind, body)
        if text:
            insert.execute("INSERT INTO text(rowid, t) VALUES(?, ?)", (gid, text))
        if kind == near.NOTE:
            near.file(db, gid, body)


def empty(db: apsw.Connection) -> None:
    """Drop the whole index, because it was filled under another version of the projection (INV-PROJ-1)."""
    db.execute("INSERT INTO text(text) VALUES('delete-all')")
    near.empty(db)


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


_POSITIONS: Final = (
    "SELECT name, value FROM counter WHERE name IN ('indexed', 'seq') AND typeof(value) = 'integer'"
)


def unheld(db: apsw.Connection, words: Iterable[str]) -> set[str]:
    """Those of ``words`` that the text of no grain outside reserved namespaces has any more, live or not."""
    cut = tokenizer(db)
    tail = list(read_tail(db, counter(db, "indexed"), cut).values())
    return {word for word in words if not _held(db, units(word, cut), tail)}


def _held(db: apsw.Connection, asked: list[_Unit], tail: list[list[str]]) -> bool:
    return all(
        any(unit.is_in(words) for words in tail)
        or scalar(db, "SELECT 1 FROM text WHERE text MATCH ? LIMIT 1", (unit.match,)) is not None
        for unit in asked
    )


def search(db: apsw.Connection, query: str, shown: Narrow, k: int, read: TailReader) -> list[StoredGrain]:
    """The ``k`` best live grains that may be ``shown``; ``read`` gives the tail's words. Raises VAL-E001 (no text)."""
    if not isinstance(query, str):
        raise ValidationError("VAL-E001", f"a search needs a text, not {type(query).__name__}")
    cut = tokenizer(db)
    asked = units(query, cut)
    if not asked or k <= 0:
        return []
    counters = dict(rows(db, _POSITIONS))
    indexed, last = counters.get("indexed", 0), counters.get("seq", 0)
    tail = read(indexed, last, cut) if last > indexed else {}
    if shown.few is not None:
        return _among(db, asked, tail, indexed, last, k, shown)
    wanted = max(_CANDIDATES, 2 * k)
    while True:
        some, complete = _nominate(db, asked, tail, indexed, last, wanted, shown)
        found = _live(db, _by_length(db, some, tail), shown, k)
        if len(found) == k or complete:
            return found
        wanted *= 8


def _nominate(
    db: apsw.Connection,
    asked: list[_Unit],
    tail: dict[int, list[str]],
    indexed: int,
    last: int,
    wanted: int,
    shown: Narrow,
) -> tuple[list[tuple[float, int]], bool]:
    """Weight and position of the ``wanted`` heaviest grains, newest first; and whether none was left out.

    Which pieces a grain holds is a mask. Grains with one piece weigh what it weighs, so the newest of them are enough;
    those with several are met through every pair, or, for more than three pieces, among the newest holders of each.
    """
    masks = {gid: mask for gid, words in tail.items() if (mask := _mask(asked, words))}
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
        held = _count(db, unit, newest, indexed, len(asked), shown) if partly else len(newest)
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
    weighed = _weighed(masks, counts, last)
    return nlargest(wanted, weighed), complete and len(weighed) <= wanted


def _among(
    db: apsw.Connection,
    asked: list[_Unit],
    tail: dict[int, list[str]],
    indexed: int,
    last: int,
    k: int,
    shown: Narrow,
) -> list[StoredGrain]:
    """The best of the few that may be shown, read themselves; weighed as among all others (INV-NARROW-1)."""
    cut = tokenizer(db)
    sql = "SELECT g.id, g.type, g.body FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value"
    unread = rows(db, sql, (listed(gid for gid in shown.few or () if gid not in tail),))
    words = {gid: cut(words_of(kind, body)) for gid, kind, body in unread}
    words.update((gid, tail[gid]) for gid in shown.few or () if gid in tail)
    masks = {gid: mask for gid, said in words.items() if (mask := _mask(asked, said))}
    if not masks:
        return []
    counts = [
        sum(1 for said in tail.values() if unit.is_in(said))
        + _count(db, unit, [], indexed, len(asked), shown)
        for unit in asked
    ]
    return _live(db, _by_length(db, _weighed(masks, counts, last), words), shown, k)


def _weighed(masks: dict[int, int], counts: list[int], last: int) -> list[tuple[float, int]]:
    """Weight and position of grains, by the pieces they hold and how many grains hold each piece."""
    weights = [_weight(count, last) for count in counts]
    known = {mask: sum(w for i, w in enumerate(weights) if mask >> i & 1) for mask in set(masks.values())}
    return [(known[mask], gid) for gid, mask in masks.items()]


def _mask(asked: list[_Unit], words: list[str]) -> int:
    return sum(1 << i for i, unit in enumerate(asked) if unit.is_in(words))


def _weight(count: int, total: int) -> float:
    return max(_LEAST_WEIGHT, log((total - count + 0.5) / (count + 0.5))) if count < total else _LEAST_WEIGHT


def _count(
    db: apsw.Connection, unit: _Unit, newest: list[int], indexed: int, pieces_asked: int, shown: Narrow
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


def _holders(db: apsw.Connection, match: str, after: int, limit: int, shown: Narrow) -> list[int]:
    """The newest indexed grains that hold a piece; with filters, of those that may be shown (INV-NARROW-3)."""
    if not shown.filtered:
        return [row[0] for row in rows(db, _NEWEST, (match, after, limit))]
    given = {**shown.values, "match": match, "after": after, "limit": limit}
    return [row[0] for row in rows(db, _FITTING.format(shown.where), given)]


def _all_holders(db: apsw.Connection, match: str, shown: Narrow) -> list[int]:
    """Every indexed grain that holds a piece, in any order, when its number is known to be bounded."""
    if shown.filtered:
        return _holders(db, match, 0, HOLDERS, shown)
    return [row[0] for row in rows(db, "SELECT rowid FROM text WHERE text MATCH ?", (match,))]


def _by_length(
    db: apsw.Connection, some: list[tuple[float, int]], tail: dict[int, list[str]]
) -> list[tuple[float, int]]:
    """``some`` by their score: what they hold, less for a long text; best first, then newest."""
    sizes = _sizes(db, [gid for _, gid in some if gid not in tail])
    sizes.update((gid, len(tail[gid])) for _, gid in some if gid in tail)
    short = {size: _shortness(size) for size in {0, *sizes.values()}}
    return sorted([(weight * short[sizes.get(gid, 0)], gid) for weight, gid in some], reverse=True)


def _live(db: apsw.Connection, best: list[tuple[float, int]], shown: Narrow, k: int) -> list[StoredGrain]:
    """The first ``k`` live ones that may be shown."""
    sql = (
        f"SELECT {LIVE_COLUMNS} FROM json_each(:page) j CROSS JOIN grain g ON g.id = j.value"
        f" WHERE g.dead = 0 AND {shown.where}"
    )
    found: list[StoredGrain] = []
    for start in range(0, len(best), k):
        page = {**shown.values, "page": listed(gid for _, gid in best[start : start + k])}
        grains = map(stored, rows(db, sql, page))
        found.extend(
            grain for grain in grains if shown.subject is None or grain.get("subject") == shown.subject
        )
        if len(found) >= k:
            break
    return found[:k]


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
