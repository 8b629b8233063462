# SPDX-License-Identifier: Apache-2.0
"""Signatures of notes: which live observations may say nearly the same (D12).

* INV-NEAR-1  Two observations whose sets of words (`text.note_words`) have a Jaccard of 0.9 or more and the same words
  with digits share a signature. There is no chance in it: nothing is missed. What shares one is only nominated.
* INV-NEAR-2  Signatures are a pure function of the grain's bytes. The table holds those of every observation up to the
  counter ``indexed``; what lies above, the tail, is signed when it is asked for, so that no answer depends on where
  the index stands. It is filled, emptied and erased together with the text index.

How: sets of a and b words with J ≥ 0.9 differ in at most (a + b) / 19 words. Cut all words by their hash into one part more
than that, and one part at least is the same on both sides; each part of a set is one signature. How many parts there
are must be the same for both, so sizes are cut into intervals from n to 10n/9; each set is signed for its own interval
and for the next one, and two sets that near lie in one interval or in two that touch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from struct import pack
from typing import Any, Final

import apsw
import xxhash

from deja_tui.errors import DejaError
from deja_tui.store.codec import TYPES
from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import is_reserved
from deja_tui.store.rows import LIVE_COLUMNS, readable, unfold
from deja_tui.store.sql import listed, rows, scalar
from deja_tui.text import note_words

NOTE: Final = TYPES["observation"]
MANY: Final = 20_000
"""Candidates of one question, at most: what is nominated beyond that is left out, and the notes with it."""
_FIELDS: Final = ("body", "content", "text", "object")
_LARGEST: Final = 16_384
_MASK: Final = 2**64 - 1


@cache
def _intervals() -> tuple[list[int], list[int]]:
    """The first size of each interval, and into how many parts sets of it and of the one before it are cut."""
    starts, parts = [], []
    first = 1
    while first <= 2 * _LARGEST:
        last = first * 10 // 9
        starts.append(first)
        parts.append(2 * last // 19 + 1)
        first = last + 1
    return starts, parts


def signatures(namespace: str, fields: Mapping[str, Any]) -> frozenset[int]:
    """The signatures of an observation, signed 64-bit numbers; none when it has no words, or is the engine's own."""
    # with a relation its object is a value, not a text
    names = _FIELDS if fields.get("relation") is None else _FIELDS[:-1]
    told = next((fields[name] for name in names if fields.get(name) is not None), None)
    words = note_words(told) if isinstance(told, str) and not is_reserved(namespace) else frozenset()
    if not words:
        return frozenset()
    kept, plain = xxhash.xxh3_64_intdigest(namespace.encode("utf-8", "surrogatepass")), []
    for word in words:
        hashed = xxhash.xxh3_64_intdigest(word.encode("utf-8", "surrogatepass"))
        plainly = word.isascii() and word.isalpha()  # most words, told at a tenth of the price
        if not plainly and any(map(str.isnumeric, word)):
            kept ^= hashed * 3 & _MASK
        else:
            plain.append(hashed)
    starts, parts = _intervals()
    own = bisect_right(starts, len(words)) - 1
    return frozenset(key for number in (own, own + 1) for key in _parts(number, parts[number], kept, plain))


def _parts(interval: int, parts: int, kept: int, plain: Iterable[int]) -> Iterator[int]:
    sums = [0] * parts
    for hashed in plain:
        # not the sum of the hashes themselves: those that fall into one part have their remainder in common
        part = hashed % parts
        sums[part] = sums[part] + (hashed >> 7) & _MASK
    for part, total in enumerate(sums):
        key = xxhash.xxh3_64_intdigest(pack("<QQHH", kept, total, interval, part))
        yield key - 2**64 if key >= 2**63 else key


def signed(body: bytes) -> frozenset[int]:
    """The signatures of the observation in these bytes; none when they say nothing any more."""
    try:
        return signatures(*unfold(body))
    except DejaError:
        return frozenset()


# --- the table --------------------------------------------------------------------------------------


def file(db: apsw.Connection, gid: int, body: bytes) -> None:
    """Keep the signatures of the observation at position ``gid``; the caller holds the write transaction."""
    db.executemany("INSERT OR IGNORE INTO near(k, gid) VALUES(?, ?)", [(key, gid) for key in signed(body)])


def drop(db: apsw.Connection, gid: int, body: bytes) -> None:
    """Take them out again."""
    db.executemany("DELETE FROM near WHERE k = ? AND gid = ?", [(key, gid) for key in signed(body)])


def faults(db: apsw.Connection) -> Iterator[str]:
    """Signatures that the table lacks or that no observation up to the index's position has."""
    indexed = scalar(db, "SELECT value FROM counter WHERE name = 'indexed'") or 0
    due = 0
    for gid, body in rows(db, "SELECT id, body FROM grain WHERE type = ? AND id <= ?", (NOTE, indexed)):
        keys = signed(body)
        due += len(keys)
        told = "SELECT count(*) FROM json_each(?) j CROSS JOIN near n ON n.k = j.value AND n.gid = ?"
        if scalar(db, told, (listed(keys), gid)) != len(keys):
            yield f"signatures of the note at position {gid} are missing"
    held = scalar(db, "SELECT count(*) FROM near")
    if held > due:
        yield f"the table of signatures holds {held - due} more rows than notes call for"


# --- asking -----------------------------------------------------------------------------------------

_SHARED: Final = "SELECT k, group_concat(gid) FROM near GROUP BY k HAVING count(*) > 1"
_HOLDERS: Final = "SELECT DISTINCT n.k, n.gid FROM json_each(?) j CROSS JOIN near n ON n.k = j.value"
_OPENED: Final = "SELECT gid FROM mark WHERE seq > ? AND kind = ?"


def nominated(db: apsw.Connection, where: str, after: int, opened: int) -> list[StoredGrain]:
    """Live observations that share a signature with another one, in arrival order.

    Args:
        where: a condition on the column ``ns``.
        after: an arrival position. Only those that lead, from one shared signature to the next, to one that arrived after
            it or was opened again since; 0: all. Then the cost is that of what is new.
        opened: the kind of mark that opens a grain again.
    """
    tail = _tail(db)
    if after:
        new = [gid for gid in tail if gid > after]
        new += [
            row[0]
            for row in rows(db, "SELECT id FROM grain NOT INDEXED WHERE id > ? AND type = ?", (after, NOTE))
        ]
        new += [row[0] for row in rows(db, _OPENED, (after, opened))]
        found = _reached(db, set(new), tail)
    else:
        found = _all(db, tail)
    sql = f"SELECT {LIVE_COLUMNS} FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value WHERE g.dead = 0 AND {where}"
    return readable(rows(db, sql, (listed(sorted(found)[:MANY]),)))


def _tail(db: apsw.Connection) -> dict[int, frozenset[int]]:
    """Signatures of the observations above the index."""
    indexed = scalar(db, "SELECT value FROM counter WHERE name = 'indexed'") or 0
    found = rows(db, "SELECT id, body FROM grain NOT INDEXED WHERE id > ? AND type = ?", (indexed, NOTE))
    return {gid: signed(body) for gid, body in found}


def _all(db: apsw.Connection, tail: Mapping[int, frozenset[int]]) -> set[int]:
    found: set[int] = set()
    for _, gids in rows(db, _SHARED):
        found.update(map(int, gids.split(",")))
    holders = _holders(db, frozenset().union(*tail.values()), tail)
    return found.union(*(gids for gids in holders.values() if len(gids) > 1))


def _reached(db: apsw.Connection, start: Collection[int], tail: Mapping[int, frozenset[int]]) -> set[int]:
    """What is reached from ``start`` through shared signatures."""
    seen, todo = set(start), set(start)
    asked: set[int] = set()
    while todo and len(seen) < MANY:
        keys = frozenset().union(*_signed_at(db, todo, tail)) - asked
        asked |= keys
        todo = {gid for gids in _holders(db, keys, tail).values() for gid in gids} - seen
        seen |= todo
    return seen


def _signed_at(
    db: apsw.Connection, gids: Iterable[int], tail: Mapping[int, frozenset[int]]
) -> Sequence[frozenset[int]]:
    known = [tail[gid] for gid in gids if gid in tail]
    sql = "SELECT g.body FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value WHERE g.type = ? AND g.dead = 0"
    return [*known, *(signed(body) for (body,) in rows(db, sql, (listed(set(gids) - tail.keys()), NOTE)))]


def _holders(
    db: apsw.Connection, keys: Collection[int], tail: Mapping[int, frozenset[int]]
) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {key: set() for key in keys}
    for key, gid in rows(db, _HOLDERS, (listed(keys),)):
        found[key].add(gid)
    for gid, signs in tail.items():
        for key in signs & found.keys():
            found[key].add(gid)
    return found
