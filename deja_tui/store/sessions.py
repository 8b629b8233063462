# SPDX-License-Identifier: Apache-2.0
"""Set-based reads of sessions: which threads there are, and what happened in one, by the index of thread and time.

A thread is the ``session_id`` of its grains. What was superseded, retired or hidden is left out, and so is everything in a
reserved namespace; what was forgotten is not there. The rows of a list are keys, small enough for a million of them; texts
and grains are read a page at a time.

* SESS-1  The counts of a thread are those of its events: `threads` and `timeline` never disagree.
* SESS-2  Nothing here reads more bytes of a grain than its columns, but `grains`, which reads the page it is asked for.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, overload

import apsw

from deja_tui.store.faults import coded
from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import parents_of
from deja_tui.store.read import asked
from deja_tui.store.rows import COLUMNS, TYPE_NAMES, readable
from deja_tui.store.sql import listed, rows
from deja_tui.store.terms import find_term, space_filter
from deja_tui.text import fold


class Thread(NamedTuple):
    """A thread in a list.

    Attributes:
        key: of its name, see `names`; good for as long as the file does not change.
        last: when its newest grain was created, epoch ms. events: its live grains. errors: failed calls among them.
    """

    key: int
    last: int
    events: int
    errors: int


class Threads(Sequence[Thread]):
    """Threads in their order, kept as numbers: a hundred thousand of them are a few megabytes."""

    def __init__(self, found: Iterable[tuple[int, int, int, int]] = ()) -> None:
        columns = tuple(zip(*found, strict=True)) or ((), (), (), ())
        self.keys, self.lasts, self.counts, self.failures = (array("q", column) for column in columns)

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, index: int) -> Thread: ...
    @overload
    def __getitem__(self, index: slice) -> Threads: ...
    def __getitem__(self, index: int | slice) -> Thread | Threads:
        if isinstance(index, slice):
            return self.only(range(*index.indices(len(self))))
        return Thread(self.keys[index], self.lasts[index], self.counts[index], self.failures[index])

    def only(self, places: Iterable[int]) -> Threads:
        """Those at these places, in that order."""
        return Threads(self[place] for place in places)

    def place(self, key: int) -> int | None:
        """Where the thread of a key stands, None: not in this list."""
        try:
            return self.keys.index(key)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Timeline:
    """What happened in a thread, in order: arrival positions, and at which places of them a call failed, rising."""

    seqs: array[int]
    failed: array[int]

    def __len__(self) -> int:
        return len(self.seqs)


class Captured(NamedTuple):
    """What an agent has sent: events and tool calls ever kept, and when the newest of them was created (epoch ms)."""

    events: int
    tools: int
    last: int | None


_EACH: Final = """
SELECT thread, max(at), count(*) FROM grain INDEXED BY g_thread WHERE thread IS NOT NULL
 GROUP BY thread ORDER BY 2 DESC, 1
"""
_FAILED: Final = """
SELECT thread, count(*) FROM grain INDEXED BY g_tool
 WHERE tool IS NOT NULL AND dead = 0 AND sig IS NOT NULL AND thread IS NOT NULL AND {where} GROUP BY thread
"""
# What the index of thread and time does not know is counted apart and taken away: both are few in most files.
_ASIDE: Final = """
SELECT thread, count(*) FROM (
  SELECT thread FROM grain INDEXED BY g_dead WHERE dead = 1 AND thread IS NOT NULL AND {where}
  UNION ALL
  SELECT thread FROM grain INDEXED BY g_type WHERE NOT ({where}) AND thread IS NOT NULL
) GROUP BY thread
"""
_EVENTS: Final = """
SELECT id, sig IS NOT NULL FROM grain INDEXED BY g_thread
 WHERE thread = ? AND dead = 0 AND {where} {failed} ORDER BY at, hlc, hash
"""
_NAMES: Final = "SELECT t.id, t.s FROM json_each(?) j CROSS JOIN term t ON t.id = j.value"
_GRAINS: Final = f"SELECT {COLUMNS} FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value ORDER BY j.key"
_BODIES: Final = (
    f"SELECT {COLUMNS} FROM json_each(?) j CROSS JOIN grain g INDEXED BY g_hash ON g.hash = unhex(j.value)"
)
_CITED: Final = (
    "SELECT g.hash, g.thread FROM json_each(?) j CROSS JOIN grain g INDEXED BY g_hash ON g.hash = unhex(j.value)"
    " WHERE g.thread IS NOT NULL"
)
_CAPTURED: Final = "SELECT count(*), max(at) FROM grain INDEXED BY g_type WHERE type = ? AND {where}"


@coded
def threads(db: apsw.Connection) -> Threads:
    """Every thread with a live grain, the one in which something happened last first."""
    where = space_filter(db, None)
    failed = dict(rows(db, _FAILED.format(where=where)))
    aside = dict(rows(db, _ASIDE.format(where=where)))
    each = rows(db, _EACH)
    if not aside:
        return Threads((key, last, count, failed.get(key, 0)) for key, last, count in each)
    return Threads(
        (key, last, count - aside.get(key, 0), failed.get(key, 0))
        for key, last, count in each
        if count > aside.get(key, 0)
    )


@coded
def names(db: apsw.Connection, keys: Iterable[int]) -> dict[int, str]:
    """The names of threads by their keys."""
    return dict(rows(db, _NAMES, (listed(keys),)))


@coded
def containing(db: apsw.Connection, found: Threads, text: str) -> Threads:
    """Those threads whose name holds ``text``, letters folded."""
    needle = fold(text)
    told = names(db, found.keys)
    return found.only(place for place, key in enumerate(found.keys) if needle in fold(told.get(key, "")))


@coded
def timeline(db: apsw.Connection, thread: str, failed: bool) -> Timeline:
    """What happened in a thread, in order of (created_at, HLC, address) (D3); ``failed``: its failed calls only."""
    key = find_term(db, asked(thread))
    sql = _EVENTS.format(where=space_filter(db, None), failed="AND sig IS NOT NULL" if failed else "")
    seqs, bad = array("q"), array("q")
    for seq, wrong in rows(db, sql, (key or 0,)):
        if wrong:
            bad.append(len(seqs))
        seqs.append(seq)
    return Timeline(seqs, bad)


@coded
def grains(db: apsw.Connection, seqs: Iterable[int]) -> list[StoredGrain]:
    """The grains at these arrival positions, in that order; what is gone or damaged is left out."""
    return readable(rows(db, _GRAINS, (listed(seqs),)))


@coded
def cited(db: apsw.Connection, recommendations: Sequence[str]) -> dict[int, list[str]]:
    """By key of a thread: which of ``recommendations`` cite a grain of it, in the order given."""
    bodies = readable(rows(db, _BODIES, (json.dumps(recommendations),)))
    evidence = {one.address: parents_of(one.fields) for one in bodies}
    wanted = sorted({parent for parents in evidence.values() for parent in parents})
    inside = {digest.hex(): key for digest, key in rows(db, _CITED, (json.dumps(wanted),))}
    found: dict[int, list[str]] = {}
    for address in recommendations:
        for key in dict.fromkeys(inside[parent] for parent in evidence.get(address, ()) if parent in inside):
            found.setdefault(key, []).append(address)
    return found


@coded
def captured(db: apsw.Connection) -> Captured:
    """Events and tool calls outside reserved namespaces."""
    sql = _CAPTURED.format(where=space_filter(db, None))
    numbers = {name: number for number, name in TYPE_NAMES.items()}
    told = [next(rows(db, sql, (numbers[name],))) for name in ("event", "tool")]
    return Captured(told[0][0], told[1][0], max((last for _, last in told if last is not None), default=None))
