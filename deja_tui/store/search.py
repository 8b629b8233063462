# SPDX-License-Identifier: Apache-2.0
"""Full-text search over a deferred index.

* INV-SEARCH-1  Every grain with words is found: the index holds the grains up to the counter ``indexed``, the tail
  above it (at most `layout.TAIL_LIMIT` after an act) is read and matched the same way, with the same tokenizer, and scored
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

from collections.abc import Callable, Iterable

import apsw

from deja_tui.errors import ValidationError
from deja_tui.store import ranking
from deja_tui.store.filling import empty as empty
from deja_tui.store.filling import flush as flush
from deja_tui.store.filling import words_of as words_of
from deja_tui.store.grains import StoredGrain
from deja_tui.store.narrow import Narrow
from deja_tui.store.ranking import Tokenizer as Tokenizer
from deja_tui.store.ranking import Unit
from deja_tui.store.ranking import size_of as size_of
from deja_tui.store.ranking import tokenizer as tokenizer
from deja_tui.store.ranking import units as units
from deja_tui.store.rows import LIVE_COLUMNS, stored
from deja_tui.store.sql import counter, listed, rows, scalar

TailReader = Callable[[int, int, Tokenizer], dict[int, list[str]]]
"""Words by position of the grains above the first position, up to the second."""


# --- asking -----------------------------------------------------------------------------------------


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


def unheld(db: apsw.Connection, words: Iterable[str]) -> set[str]:
    """Those of ``words`` that the text of no grain outside reserved namespaces has any more, live or not."""
    cut = tokenizer(db)
    tail = list(read_tail(db, counter(db, "indexed"), cut).values())
    return {word for word in words if not _held(db, units(word, cut), tail)}


def _held(db: apsw.Connection, asked: list[Unit], tail: list[list[str]]) -> bool:
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
    indexed, last = ranking.positions(db)
    tail = read(indexed, last, cut) if last > indexed else {}
    if shown.few is not None:
        return _among(db, asked, tail, indexed, last, k, shown)
    return ranking.best(db, asked, tail, (indexed, last), shown, k, lambda some: _live(db, some, shown, k))


def _among(
    db: apsw.Connection,
    asked: list[Unit],
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
    masks = {gid: mask for gid, said in words.items() if (mask := ranking.mask_of(asked, said))}
    if not masks:
        return []
    counts = [
        sum(1 for said in tail.values() if unit.is_in(said))
        + ranking.count(db, unit, [], indexed, len(asked), shown)
        for unit in asked
    ]
    return _live(db, ranking.by_length(db, ranking.weighed(masks, counts, last), words), shown, k)


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
