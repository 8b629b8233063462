# SPDX-License-Identifier: Apache-2.0
"""`Store`: one memory file, its reads and its acts.

* INV-STORE-1  A read never waits for a writer and never writes. It sees a committed state as a whole.
* INV-STORE-2  An act is one transaction: everything in it is kept, with its op-log rows, counters and clock, or nothing
  is, whatever raises. An act inside an act of the same thread joins it: it is kept only with the outer one, and if it
  raises it leaves the outer one as it was before.
* INV-STORE-3  Inside an act its own thread reads what the act has written so far; nobody else does.
* INV-STORE-4  Plain acts cannot write, supersede, mark or forget anything reserved; only ``act(governed=True)`` can.
* INV-STORE-5  A grain's bytes never change. Liveness is what its last mark says; the column ``dead`` only caches it.
* INV-STORE-6  The same bytes, or the same source key, are one grain; adding again changes nothing and logs nothing.
* INV-STORE-7  What was forgotten here does not come back: its address and its source key are refused.
* INV-STORE-8  Arrival positions rise and are never given twice.
* INV-STORE-9  Every refusal is a coded error with a next step; SQLite's exceptions do not leave this room.
* INV-STORE-10 One `Store` may be shared by threads, and used after a fork on both sides.

Invariants of the parts: `oplog` (INV-OPLOG), `search` (INV-SEARCH), `narrow` (INV-NARROW), `projection` (INV-PROJ), `erase` (INV-ERASE).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

import apsw

from deja_tui.store import search
from deja_tui.store.acts import Acts
from deja_tui.store.connection import Connections
from deja_tui.store.faults import Fault, StoreError, coded
from deja_tui.store.ledger import LedgerEntry
from deja_tui.store.reads import Reads
from deja_tui.store.search import TailReader
from deja_tui.store.write import refuse_reserved

if TYPE_CHECKING:
    from deja_tui.store.bundles import Erased, ImportReport, Written

__all__ = ["Fault", "Store"]


class Store(Acts, Reads):
    """One memory file, read and written. Open with `Store.open`; usable as a context manager; safe to share between threads.

    Attributes:
        path: the file, symbolic links resolved.
        read_only: no act is possible.
        notice: why it could only be opened for reading, or None.
        erasure_pending: erased text may still stand in old pages, because a reader held them; the next act, or
            closing, tries again (D31).
        before_act: called before an act of this thread begins, outside of every act; may itself act (D34: the spool).
    """

    def __init__(self, connections: Connections, clock: Callable[[], int]) -> None:
        super().__init__(connections, clock)
        self._tail = search.Tail()

    def forget_words(self) -> None:
        """Read the words that wait for the index anew: some were erased, or this is a child of the process that read them."""
        self._tail = search.Tail()

    # --- several reads at once ---

    @contextmanager
    def snapshot(self) -> Iterator[Self]:
        """Several reads of one committed state (INV-STORE-1). Inside an act, and inside another, it does nothing."""
        db = self.reading()
        if db.in_transaction:
            yield self
            return
        self._begin_read(db)
        try:
            yield self
        except BaseException:
            with suppress(StoreError):  # what went wrong inside is what is told
                self._end_read(db)
            raise
        self._end_read(db)

    @coded
    def _begin_read(self, db: apsw.Connection) -> None:
        db.execute("BEGIN")

    @coded
    def _end_read(self, db: apsw.Connection) -> None:
        """End the read transaction whatever happens: one that was left open would show its old state for ever."""
        if not db.in_transaction:
            return
        try:
            db.execute("COMMIT")
        except apsw.Error:  # in a damaged file
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def tail_reader(self, db: apsw.Connection) -> TailReader:
        """The words of the tail: cached, except inside an act, whose positions may be given again."""
        if getattr(self._thread, "transaction", None) is None:
            return lambda indexed, last, cut: self._tail.read(db, indexed, last, cut)
        return lambda indexed, last, cut: search.read_tail(db, indexed, cut)

    # --- other copies ---

    @coded
    def bundle(self, path: str | os.PathLike[str], since: int = 0) -> Written:
        """Write the op-log above ``since`` and its grains to a bundle; see `bundles.write_bundle`."""
        from deja_tui.store import bundles

        return bundles.write_bundle(self, path, since)

    @coded
    def import_bundle(
        self, path: str | os.PathLike[str], *, until: int | None = None, erased: Erased | None = None
    ) -> ImportReport:
        """Take the rows of a bundle in, in chunks that each commit with the place reached; see `bundles`."""
        from deja_tui.store import bundles

        return bundles.import_bundle(self, path, until=until, erased=erased)

    @staticmethod
    def refuse_reserved(type: str, namespace: str) -> None:
        """Raise VAL-E004 when only the engine may touch this namespace or type (D7)."""
        refuse_reserved(type, namespace)

    # --- the governance table ---

    def ledger_put(self, row: LedgerEntry) -> None:
        """Write or replace a row, as a governed act of its own or inside the open one."""
        with self.act(governed=True) as act:
            act.ledger_put(row)

    def ledger_clear(self) -> None:
        """Empty the table before a rebuild, as a governed act of its own or inside the open one."""
        with self.act(governed=True) as act:
            act.ledger_clear()
