# SPDX-License-Identifier: Apache-2.0
"""`Transaction`: one open act, with the counters as they will be, the clock, and its rows of the op-log (INV-STORE-2).

What it writes itself is what every change needs: an op row, a mark, the counters, and before the commit the text index.
What a change means is `write`'s.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import apsw

from deja_tui.store import layout, oplog
from deja_tui.store.faults import StoreError
from deja_tui.store.sql import rows, scalar
from deja_tui.store.terms import Terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_INDEXED: Final = "SELECT EXISTS(SELECT 1 FROM text_docsize) OR EXISTS(SELECT 1 FROM near)"
"""Whether any text was ever indexed here."""


class Transaction:
    """The state of one open act: the counters as they will be, and the op-log position."""

    def __init__(self, db: apsw.Connection, clock: Callable[[], int], terms: Terms) -> None:
        self.db = db
        self.pid = os.getpid()
        self.terms = terms
        self._clock = clock
        told = dict(rows(db, "SELECT name, value FROM counter"))
        self.counters: dict[str, int] = {name: value for name, value in told.items() if type(value) is int}
        self.damaged = frozenset(told.keys() - self.counters.keys())  # a rebuild counts them anew
        self._written = dict(self.counters)
        self.act = self.counters.get("acts", 0) + 1  # the number this act will have when it is kept
        self._start = db.total_changes()
        self.erased: set[str] | None = None  # words of erased grains, once there are any
        self.ended = False
        self.weighty = False  # a decision, an apply or an erasure: synced whatever the durability (design §3)
        terms.at(self.counters.get("epoch", 0))

    @contextmanager
    def part(self) -> Iterator[Transaction]:
        """A stretch of the act that, when it raises, leaves the act as it was before (INV-STORE-2)."""
        kept = dict(self.counters), dict(self._written), self.erased
        self.db.execute("SAVEPOINT part")
        try:
            yield self
        except BaseException:
            if self.pid == os.getpid() and self.db.in_transaction:
                self.db.execute("ROLLBACK TO part")
                self.db.execute("RELEASE part")
            self.counters, self._written, self.erased = kept
            self.terms.clear()
            raise
        self.db.execute("RELEASE part")

    def wall(self) -> int:
        """Now, epoch ms."""
        return self._clock()

    def take(self, name: str, step: int = 1) -> int:
        """The next value of a counter."""
        self.must_count()
        self.counters[name] = value = self.counters.get(name, 0) + step
        return value

    def tick(self) -> int:
        """The next HLC."""
        self.must_count()
        self.counters["hlc"] = hlc = oplog.tick(self.counters.get("hlc", 0), self._clock())
        return hlc

    def see(self, hlc: int) -> None:
        """Let the clock know of an HLC from elsewhere."""
        self.counters["hlc"] = max(hlc, self.counters.get("hlc", 0))

    def log(self, kind: int, gid: int, hlc: int, origin: int = oplog.LOCAL) -> int:
        """Append one op row; its ``seq``."""
        self.db.execute(
            "INSERT INTO op(hlc, kind, origin, gid, act) VALUES(?, ?, ?, ?, ?)",
            (hlc, kind, origin, gid, self.act),
        )
        return self.db.last_insert_rowid()

    def mark(
        self,
        kind: str,
        gid: int,
        by: int | None,
        named: int,
        hlc: int | None = None,
        origin: int = oplog.LOCAL,
    ) -> int:
        """One mark with its op row, and the row's ``seq``; ``named`` is the grain the row names (INV-OPLOG-4)."""
        seq = self.log(oplog.MARK_OPS[kind], named, self.tick() if hlc is None else hlc, origin)
        self.db.execute(
            "INSERT INTO mark(seq, gid, kind, by, act) VALUES(?, ?, ?, ?, ?)",
            (seq, gid, oplog.MARKS[kind], by, self.act),
        )
        self.db.execute("UPDATE grain SET dead = ? WHERE id = ?", (int(kind != "reopen"), gid))
        return seq

    def link_back(self, gid: int, old: int, seq: int) -> None:
        """Name what a grain replaced that was here already, when the mark at ``seq`` stands where `derived` looks."""
        arrived = f"SELECT 1 FROM op WHERE seq = ? AND kind = {oplog.ADD} AND gid = ?"
        if scalar(self.db, arrived, (seq - 1, gid)):
            self.db.execute("UPDATE grain SET prev = ? WHERE id = ?", (old, gid))
            self.counters["erased"] = self.counters[
                "seq"
            ]  # a row that grew may have left a copy: as in a rebuild

    def must_count(self) -> None:
        """Raise STO-E009 while a counter of the file holds no number: what is counted on from there would be wrong."""
        if self.damaged:
            raise StoreError(
                "STO-E009",
                f"{len(self.damaged)} counters of the file hold no number",
                "Run `deja verify --rebuild`: it counts them anew.",
            )

    def heal(self) -> None:
        """Drop what holds no number, before a rebuild counts anew."""
        self.db.executemany("DELETE FROM counter WHERE name = ?", [(name,) for name in self.damaged])
        self.damaged = frozenset()

    def must_be_open(self) -> None:
        """Raise STO-E001 after the end of the act, also one that SQLite itself took back because the disk was full."""
        if self.ended or self.pid != os.getpid() or not self.db.in_transaction:
            raise StoreError("STO-E001", "the act has ended", "Open another act.")

    def finish(self) -> None:
        """Write what is due before the commit: a full text tail, and the counters that moved."""
        if self.db.total_changes() == self._start:
            return
        self.counters["acts"] = self.act
        if self.erased:
            from deja_tui.store.erase import scrub

            scrub(self.db, self.erased)
        self._index()
        self.publish()

    def _index(self) -> None:
        """Drop an index of another version; fill in what waits, when that is too much (D30). Else nothing is loaded for it."""
        if self.counters.get("projection") != layout.PROJECTION:
            if scalar(self.db, _INDEXED):
                from deja_tui.store import filling

                filling.empty(self.db)
            self.counters.update(projection=layout.PROJECTION, indexed=0)
        waiting = self.counters.get("seq", 0) - self.counters.get("indexed", 0)
        if waiting > layout.TAIL_LIMIT:
            from deja_tui.store import filling

            filling.flush(self.db, self.counters.get("indexed", 0))
            self.counters["indexed"] = self.counters["seq"]

    def publish(self) -> None:
        """Write the counters that moved: before the commit, and before this act itself reads (INV-STORE-3)."""
        moved = [(name, value) for name, value in self.counters.items() if self._written.get(name) != value]
        if moved:
            self.db.executemany(
                "INSERT INTO counter(name, value) VALUES(?, ?)"
                " ON CONFLICT(name) DO UPDATE SET value = excluded.value",
                moved,
            )
            self._written.update(moved)
