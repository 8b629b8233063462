# SPDX-License-Identifier: Apache-2.0
"""The op-log: what happened, in order, append-only; and the hybrid logical clock that stamps it.

* INV-OPLOG-1  Every change of a grain's existence or liveness is one row, written in the act that made it. A
  duplicate add is no change and has no row.
* INV-OPLOG-2  ``seq`` rises by arrival; the HLC of a local row is larger than every HLC this file has seen, also
  after the wall clock went back. An imported row keeps the HLC it came with, so the HLC may fall along ``seq``.
* INV-OPLOG-3  A row names grains by position only: of a forgotten grain the log keeps its address (in the tombstone)
  and no text.
* INV-OPLOG-4  A SUPERSEDE row names the *new* grain, as bundles do; the mark with the same ``seq`` names the old one.
* INV-OPLOG-5  ``act`` counts the acts that changed anything, so rows of one act are found together.
* INV-OPLOG-6  A grain that two copies wrote on their own has the smaller of their clocks in both, once they met: a
  STAMP row carries it here. So order, which the clock is part of (D3), is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import apsw

from deja_tui.record import Record
from deja_tui.store.sql import rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

ADD: Final = 1
SUPERSEDE: Final = 2
FORGET: Final = 3
RETIRE: Final = 4
HIDE: Final = 5
REOPEN: Final = 6
STAMP: Final = 7
KINDS: Final = {
    ADD: "add",
    SUPERSEDE: "supersede",
    FORGET: "forget",
    RETIRE: "retire",
    HIDE: "hide",
    REOPEN: "reopen",
    STAMP: "stamp",
}

MARKS: Final = {"retire": 1, "supersede": 2, "hide": 3, "reopen": 4}
"""Mark kinds as stored (D2)."""
MARK_OPS: Final = {"retire": RETIRE, "supersede": SUPERSEDE, "hide": HIDE, "reopen": REOPEN}

LOCAL: Final = 0
IMPORTED: Final = 1
_COUNTER_BITS: Final = 16
END_OF_TIME: Final = 2**62
"""No HLC reaches this (the year 4199): one that came from elsewhere must leave room to count on."""
_PAGE: Final = 512


class LogEntry(Record):
    """One row of the op-log. ``address`` is known also of a forgotten grain; ``origin`` is local or imported."""

    _fields = ("seq", "hlc", "kind", "address", "origin")
    __slots__ = _fields

    def __init__(self, seq: int, hlc: int, kind: str, address: str, origin: str) -> None:
        self.seq = seq
        self.hlc = hlc
        self.kind = kind
        self.address = address
        self.origin = origin


def tick(last: int, wall_ms: int) -> int:
    """The next HLC after ``last`` at the wall time ``wall_ms`` (INV-OPLOG-2)."""
    return max(wall_ms << _COUNTER_BITS, last + 1)


def wall_of(hlc: int) -> int:
    """The wall time of an HLC, epoch ms."""
    return hlc >> _COUNTER_BITS


def last_of(wall_ms: int) -> int:
    """The last HLC of one wall millisecond."""
    return (wall_ms + 1 << _COUNTER_BITS) - 1


def entries(connection: Callable[[], apsw.Connection], since_seq: int) -> Iterator[LogEntry]:
    """Rows with ``seq`` above ``since_seq``, in order; read page by page, so no read transaction stays open."""
    sql = (
        "SELECT o.seq, o.hlc, o.kind, coalesce(g.hash, t.hash), o.origin FROM op o"
        " LEFT JOIN grain g ON g.id = o.gid LEFT JOIN tombstone t ON t.gid = o.gid"
        " WHERE o.seq > ? ORDER BY o.seq LIMIT ?"
    )
    while page := list(rows(connection(), sql, (since_seq, _PAGE))):
        for seq, hlc, kind, digest, origin in page:
            yield LogEntry(seq, hlc, KINDS[kind], digest.hex(), "imported" if origin else "local")
        since_seq = page[-1][0]
