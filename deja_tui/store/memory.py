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
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self

import apsw

from deja_tui.errors import ValidationError
from deja_tui.store import (
    asof,
    bundles,
    chains,
    changes,
    erase,
    forgotten,
    integrity,
    oplog,
    read,
    search,
    settings,
    stats,
    views,
)
from deja_tui.store import ledger as ledgers
from deja_tui.store.bundles import Erased, ImportReport, Written
from deja_tui.store.chains import Fork, Provenance
from deja_tui.store.changes import Change
from deja_tui.store.codec import TYPES
from deja_tui.store.connection import Connections, Durability, locate, open_place, set_busy
from deja_tui.store.faults import coded, coded_iterator, storage_error
from deja_tui.store.filters import Candidates, Selection
from deja_tui.store.grains import StoredGrain
from deja_tui.store.integrity import Fault
from deja_tui.store.ledger import LedgerEntry, LedgerRow
from deja_tui.store.narrow import narrow
from deja_tui.store.oplog import LogEntry
from deja_tui.store.search import TailReader
from deja_tui.store.stats import Counts
from deja_tui.store.terms import Terms, find_space
from deja_tui.store.transaction import Transaction
from deja_tui.store.views import ColdFacts, FailureCluster, Position
from deja_tui.store.write import Act, refuse_reserved

__all__ = ["Fault", "Store"]


_SETTLE_MS: Final = 100
"""How long an erasure waits for readers of an old state before it leaves the old pages to a later try."""


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


class Store:
    """One memory file. Open with `Store.open`; usable as a context manager; safe to share between threads.

    Attributes:
        path: the file, symbolic links resolved.
        read_only: no act is possible.
        notice: why it could only be opened for reading, or None.
        erasure_pending: erased text may still stand in old pages, because a reader held them; the next act, or
            closing, tries again (D31).
    """

    def __init__(self, connections: Connections, clock: Callable[[], int]) -> None:
        self._files = connections
        self._clock = clock
        self.erasure_pending = False
        self._terms = Terms()
        self._tail = search.Tail()
        self._thread = threading.local()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        create: bool = True,
        busy_ms: int = 5_000,
        durability: Durability = "full",
        clock: Callable[[], int] | None = None,
    ) -> Store:
        """Open a memory, or make one.

        Args:
            path: the file; symbolic links are resolved once (D36). A new file is private (0600).
            read_only: refuse every act. A file that may not be written is opened so by itself; see `notice`.
            create: make the file when it is missing; its folder must exist.
            busy_ms: how long an act waits for another writer.
            durability: ``full`` syncs every act; ``normal`` syncs only governed acts and erasures.
            clock: epoch ms for the op-log; the system's by default.

        Raises:
            ValidationError: VAL-E001 unknown durability.
            StoreError: STO-E002 not a memory; STO-E003 missing; STO-E004 locked; STO-E006 another version;
                STO-E008 folder; STO-E009 damaged.
        """
        if durability not in ("full", "normal"):
            raise ValidationError("VAL-E001", "durability is full or normal")
        place = locate(path, read_only=read_only, create=create)
        return cls(open_place(place, busy_ms, durability), clock or _wall_ms)

    # --- life ---

    @property
    def path(self) -> str:
        return self._files.place.path

    @property
    def read_only(self) -> bool:
        return self._files.place.read_only

    @property
    def notice(self) -> str | None:
        return self._files.place.notice

    def now(self) -> int:
        """What the clock of this store says, epoch ms."""
        return self._clock()

    def close(self) -> None:
        """Close the file. Later calls raise STO-E010; closing again does nothing."""
        files = self._files
        if not files.closed and files.pid == os.getpid():
            with files.lock:
                if self.erasure_pending:
                    self._erase_pages(files)
                files.close()
        files.closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def _here(self) -> Connections:
        """This process's connections; a child of the process that opened the file makes its own (INV-STORE-10)."""
        files = self._files
        if files.pid != os.getpid():
            files.abandon()
            fresh = Connections(files.place, files.busy_ms, files.durability)
            fresh.closed = files.closed
            self._files = files = fresh
            self._thread = threading.local()
            self._terms, self._tail = Terms(), search.Tail()
        return files

    def _db(self) -> apsw.Connection:
        """Where this thread reads: inside an act the writer, else its own connection (INV-STORE-3)."""
        files = self._here()
        transaction: Transaction | None = getattr(self._thread, "transaction", None)
        if transaction is None:
            return files.reader()
        transaction.publish()
        return transaction.db

    # --- acts ---

    @contextmanager
    def act(self, governed: bool = False) -> Iterator[Act]:
        """One act: commits when the block ends, takes everything back when it raises (INV-STORE-2).

        Args:
            governed: lift the guard of reserved namespaces and types for this handle. Only the adapter does.

        Raises:
            StoreError: STO-E004 another writer kept the lock for ``busy_ms``; STO-E005 read-only; STO-E007, STO-E009.
        """
        self._here()
        transaction: Transaction | None = getattr(self._thread, "transaction", None)
        with self._outermost() if transaction is None else transaction.part() as opened:
            yield Act(opened, governed)

    @contextmanager
    def _outermost(self) -> Iterator[Transaction]:
        files = self._here()
        if not files.lock.acquire(timeout=files.busy_ms / 1000):
            raise storage_error(apsw.BusyError("another thread is writing"))
        try:
            transaction = self._begin(files)
            self._thread.transaction = transaction
            try:
                yield transaction
                self._commit(transaction)
            except BaseException as error:
                self._roll_back(transaction)
                if isinstance(error, apsw.Error):
                    raise storage_error(error) from error
                raise
            finally:
                transaction.ended = True
                self._thread.transaction = None
            self._settle(files, transaction)
        finally:
            files.lock.release()

    @coded
    def _begin(self, files: Connections) -> Transaction:
        db = files.writer()
        db.execute("BEGIN IMMEDIATE")
        try:
            return Transaction(db, self._clock, self._terms)
        except BaseException:
            db.execute("ROLLBACK")
            raise

    def _commit(self, transaction: Transaction) -> None:
        transaction.must_be_open()
        transaction.finish()
        transaction.db.execute("COMMIT")

    def _roll_back(self, transaction: Transaction) -> None:
        self._terms.clear()
        if transaction.pid == os.getpid() and transaction.db.in_transaction:
            transaction.db.execute("ROLLBACK")

    def _settle(self, files: Connections, transaction: Transaction) -> None:
        """After the commit: on the disk if it must be; after an erasure, no word left in cache, log or old pages."""
        if transaction.weighty:
            files.sync_log()
        if transaction.erased is not None:
            self._tail.clear()
            self.erasure_pending = True
        if self.erasure_pending:
            self._erase_pages(files)

    @coded
    def _erase_pages(self, files: Connections) -> None:
        db = files.writer()
        set_busy(db, min(files.busy_ms, _SETTLE_MS))
        try:
            erase.settle(db)
        except (apsw.BusyError, apsw.FullError):
            return  # the erasure stands; `erasure_pending` says that old pages still hold its words
        finally:
            set_busy(db, files.busy_ms)
        self.erasure_pending = False

    def reading(self) -> apsw.Connection:
        """The connection this thread reads with, for the other modules of the store."""
        return self._db()

    # --- several reads at once ---

    @contextmanager
    def snapshot(self) -> Iterator[Store]:
        """Several reads of one committed state (INV-STORE-1). Inside an act, and inside another, it does nothing."""
        db = self._db()
        if db.in_transaction:
            yield self
            return
        self._begin_read(db)
        try:
            yield self
        finally:
            if db.in_transaction:
                db.execute("COMMIT")

    @coded
    def _begin_read(self, db: apsw.Connection) -> None:
        db.execute("BEGIN")

    # --- reads ---

    @coded
    def get(self, address: str) -> StoredGrain | None:
        """The grain at ``address`` (64 lower-case hex digits), live or not; None when it is not here."""
        return read.get(self._db(), address)

    @coded
    def blob(self, address: str) -> bytes | None:
        """The bytes of a grain."""
        return read.blob(self._db(), address)

    @coded
    def resolve(self, prefix: str, *, type: str | None = None, namespace: str | None = None) -> str:
        """The full address of a short one. Raises MEM-E001 none; MEM-E004 several (``.matches``: at most 20)."""
        return read.resolve(self._db(), prefix, type, namespace)

    @coded
    def recall(
        self,
        *,
        namespace: str,
        subject: str | None = None,
        relation: str | None = None,
        object: str | None = None,
        type: str | None = None,
        k: int = 16,
    ) -> list[StoredGrain]:
        """The ``k`` newest live grains of a namespace that fit exactly, newest first (D3, D11)."""
        return read.recall(self._db(), namespace, subject, relation, object, type, k)

    @coded
    def recall_as_of(
        self,
        moment: int | str,
        *,
        namespace: str,
        subject: str | None = None,
        relation: str | None = None,
        object: str | None = None,
        type: str | None = None,
        k: int = 16,
        axis: str = "arrival",
    ) -> list[StoredGrain]:
        """`recall` as of a time (epoch, ISO-8601, or an HLC): what was known then, or with axis ``validity`` what is
        known now to hold then (D45). Raises VAL-E001, VAL-E002."""
        until = asof.moment(moment, "as_of")
        where = namespace, subject, relation, object, type, k
        if asof.axis_of(axis) == "arrival":
            with self.snapshot():
                return asof.known(self._db(), until, *where)
        at = oplog.wall_of(until)
        return read.recall(self._db(), *where, lambda fields: asof.holds(fields, at))

    def latest(self, namespace: str, subject: str, relation: str) -> StoredGrain | None:
        """The greatest live head of a key (D3), or None."""
        found = self.recall(namespace=namespace, subject=subject, relation=relation, k=1)
        return found[0] if found else None

    @coded
    def heads(self, namespace: str, subject: str, relation: str) -> list[StoredGrain]:
        """The live grains of a key, the provisional head first (D3)."""
        return chains.heads(self._db(), namespace, subject, relation)

    @coded
    def forks(self, namespaces: Sequence[str] | None = None) -> list[Fork]:
        """Live grains with a common superseded ancestor (D3); None: every namespace that is not reserved."""
        with self.snapshot():
            return chains.forks(self._db(), namespaces)

    @coded
    def history(self, address: str, limit: int = chains.HISTORY_LIMIT) -> list[StoredGrain]:
        """The chain through ``address``, newest first, merged and retired grains too; [] when it is not here."""
        with self.snapshot():
            return chains.history(self._db(), address, limit)

    @coded
    def replaced(self, address: str) -> list[str]:
        """Addresses of what a grain took the place of; [] when it superseded nothing, or is not here."""
        return chains.replaced(self._db(), address)

    @coded
    def provenance(
        self, address: str, depth: int = chains.PROVENANCE_DEPTH, limit: int = chains.PROVENANCE_LIMIT
    ) -> Provenance | None:
        """What a grain was derived from and what was derived from it; None when it is not here."""
        with self.snapshot():
            return chains.provenance(self._db(), address, depth, limit)

    @coded
    def children(self, address: str) -> list[StoredGrain]:
        """Grains that name ``address`` in ``derived_from`` or as a merge parent, newest arrival first."""
        return read.children(self._db(), address)

    @coded
    def search(
        self,
        text: str,
        *,
        namespace: str | None = None,
        type: str | None = None,
        subject: str | None = None,
        since: int | None = None,
        before: int | None = None,
        k: int = 16,
    ) -> list[StoredGrain]:
        """The ``k`` best live grains with any of the words that pass the filters; see `search` and `narrow`.

        No namespace looks everywhere outside reserved ones; ``since`` and ``before`` in epoch ms. Raises VAL-E001 (type).
        """
        with self.snapshot():
            db = self._db()
            spaces = None if namespace is None else [read.asked(namespace)]
            shown = narrow(db, spaces, type, subject, since, before)
            return search.search(db, text, shown, k, self._tail_reader(db))

    def _tail_reader(self, db: apsw.Connection) -> TailReader:
        """The words of the tail: cached, except inside an act, whose positions may be given again."""
        if getattr(self._thread, "transaction", None) is None:
            return lambda indexed, last, cut: self._tail.read(db, indexed, last, cut)
        return lambda indexed, last, cut: search.read_tail(db, indexed, cut)

    def scan(
        self,
        type: str,
        *,
        namespaces: Sequence[str] | None = None,
        after: int = 0,
        live_only: bool = False,
        pass_damaged: bool = False,
    ) -> Iterator[StoredGrain]:
        """Grains of one type with ``seq > after``, in arrival order; None: every namespace that is not reserved.

        A damaged grain raises STO-E009, or is passed over with ``pass_damaged``.
        """
        return coded_iterator(read.scan(self._db, type, namespaces, after, live_only, pass_damaged))

    @coded
    def candidates(self, selection: Selection) -> Candidates:
        """What may fit a selection, newest or best first; see `filters`. To be read inside one `snapshot`."""
        db = self._db()
        return Candidates(db, selection, self._tail_reader(db))

    def log(self, since_seq: int = 0) -> Iterator[LogEntry]:
        """Op-log rows above ``since_seq``, in order."""
        return coded_iterator(oplog.entries(self._db, since_seq))

    @coded
    def holding(self, text: str, *, reserved: bool = False) -> list[str]:
        """Addresses of grains, live or not, whose bytes hold ``text``; see `forgotten.holding`."""
        return forgotten.holding(self._db(), read.asked(text), reserved=reserved)

    @coded
    def blobs(self, type: str) -> list[tuple[str, bytes]]:
        """Address and bytes of every grain of a type, reserved namespaces included, live or not."""
        return forgotten.blobs(self._db(), type)

    @coded
    def forgotten(self, prefix: str) -> list[str]:
        """At most 20 addresses that start with ``prefix`` and were forgotten here."""
        return forgotten.forgotten(self._db(), prefix)

    @coded
    def intact(self, address: str) -> bool:
        """Whether the stored bytes still have the address; False also when the grain is not here."""
        return integrity.intact(self._db(), address)

    @coded
    def verify(self, *, deep: bool = False) -> tuple[Fault, ...]:
        """Every fault of the file, empty when it is sound. ``deep`` compares every index column with its grain, too."""
        with self.snapshot():
            return integrity.verify(self._db(), deep)

    # --- other copies ---

    @coded
    def bundle(self, path: str | os.PathLike[str], since: int = 0) -> Written:
        """Write the op-log above ``since`` and its grains to a bundle; see `bundles.write_bundle`."""
        return bundles.write_bundle(self, path, since)

    @coded
    def import_bundle(
        self, path: str | os.PathLike[str], *, until: int | None = None, erased: Erased | None = None
    ) -> ImportReport:
        """Take the rows of a bundle in, in chunks that each commit with the place reached; see `bundles`."""
        return bundles.import_bundle(self, path, until=until, erased=erased)

    def changes(
        self,
        since_seq: int = 0,
        after_hlc: int = -1,
        *,
        namespace: str | None = None,
        subject: str | None = None,
    ) -> Iterator[Change]:
        """Changes above a position and a clock, told in grains; see `changes.changes`."""
        return coded_iterator(changes.changes(self._db, since_seq, after_hlc, namespace, subject))

    @coded
    def change_token(self) -> int:
        """A number that rises with every act that changed the file, whoever made it."""
        return stats.acts(self._db())

    @staticmethod
    def refuse_reserved(type: str, namespace: str) -> None:
        """Raise VAL-E004 when only the engine may touch this namespace or type (D7)."""
        refuse_reserved(type, namespace)

    @coded
    def counts(self) -> Counts:
        """Arrivals in user namespaces, and failed tool calls among them (D38)."""
        return stats.counts(self._db())

    @coded
    def stats(self) -> dict[str, Any]:
        """What the file holds, as plain JSON values; see `stats.stats`."""
        with self.snapshot():
            return stats.stats(self._db(), self.path)

    @coded
    def setting(self, key: str) -> Any:
        """The value under ``key``, or None."""
        return settings.get(self._db(), key)

    @coded
    def settings(self, prefix: str = "") -> dict[str, Any]:
        """The values whose keys start with ``prefix``."""
        return settings.starting_with(self._db(), prefix)

    # --- views ---

    @coded
    def position(self) -> Position:
        """See `views.position`."""
        return views.position(self._db())

    @coded
    def tool_failures(
        self, since_ms: int, until_ms: int, after_seq: int, namespaces: Sequence[str] | None
    ) -> list[FailureCluster]:
        """See `views.tool_failures`."""
        with self.snapshot():
            return views.tool_failures(self._db(), since_ms, until_ms, after_seq, namespaces)

    @coded
    def tool_failure_members(
        self,
        tool: str,
        signature: str,
        since_ms: int,
        until_ms: int,
        after_seq: int,
        namespaces: Sequence[str] | None,
        limit: int,
    ) -> list[StoredGrain]:
        """See `views.tool_failure_members`."""
        return views.tool_failure_members(
            self._db(), tool, signature, since_ms, until_ms, after_seq, namespaces, limit
        )

    @coded
    def duplicate_facts(self, namespaces: Sequence[str] | None, after: int = 0) -> list[list[StoredGrain]]:
        """See `views.duplicate_facts`."""
        with self.snapshot():
            return views.duplicate_facts(self._db(), namespaces, after)

    @coded
    def cold_facts(
        self, before_ms: int, warm: Collection[bytes], namespaces: Sequence[str] | None, limit: int
    ) -> list[ColdFacts]:
        """See `views.cold_facts`."""
        with self.snapshot():
            return views.cold_facts(self._db(), before_ms, warm, namespaces, limit)

    @coded
    def fact_matches(self, namespace: str, subject: str, relation: str) -> list[StoredGrain]:
        """See `views.fact_matches`."""
        return views.fact_matches(self._db(), namespace, subject, relation)

    @coded
    def audits_of(self, recommendation: str) -> list[StoredGrain]:
        """See `views.audits_of`."""
        return views.audits_of(self._db(), recommendation)

    # --- the governance table ---

    @coded
    def ledger_covers(self) -> bool:
        """Whether the governance table has a row for every recommendation here; if not, nothing in it is complete."""
        db = self._db()
        return ledgers.covers(db, TYPES["recommendation"], find_space(db, views.LOOP_NAMESPACE))

    @coded
    def ledger_get(self, address: str) -> LedgerRow | None:
        """The row of one recommendation, replaced ones included."""
        return ledgers.get(self._db(), address)

    @coded
    def ledger_by_identity(self, identities: Sequence[str]) -> list[LedgerRow]:
        """Rows of these identities, oldest decision first, replaced ones left out."""
        return ledgers.by_identity(self._db(), identities)

    @coded
    def ledger_list(
        self, statuses: Iterable[str] | None = None, *, include_replaced: bool = False
    ) -> list[LedgerRow]:
        """Rows in queue order."""
        return ledgers.listed(self._db(), statuses, include_replaced=include_replaced)

    def ledger_put(self, row: LedgerEntry) -> None:
        """Write or replace a row, as a governed act of its own or inside the open one."""
        with self.act(governed=True) as act:
            act.ledger_put(row)

    def ledger_clear(self) -> None:
        """Empty the table before a rebuild, as a governed act of its own or inside the open one."""
        with self.act(governed=True) as act:
            act.ledger_clear()
