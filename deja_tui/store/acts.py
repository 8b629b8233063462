# SPDX-License-Identifier: Apache-2.0
"""`Acts`: a memory file as far as it is opened, written and closed; `memory.Store` reads it as well.

A capture by a hook opens no more than this, so that what only readers need costs it no import (D47). The invariants are those of
`memory` (INV-STORE).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

import apsw

from deja_tui.errors import ValidationError
from deja_tui.store import settings
from deja_tui.store.connection import Connections, Durability, locate, open_place, set_busy
from deja_tui.store.faults import StoreError, coded, storage_error
from deja_tui.store.terms import Terms
from deja_tui.store.transaction import Transaction
from deja_tui.store.write import Act

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, Self

_SETTLE_MS: Final = 100
"""How long an erasure waits for readers of an old state before it leaves the old pages to a later try."""


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


class Acts:
    """One memory file to write into. Open with `open`; usable as a context manager; safe to share between threads.

    Attributes: those of `memory.Store`.
    """

    def __init__(self, connections: Connections, clock: Callable[[], int]) -> None:
        self._files = connections
        self._clock = clock
        self.erasure_pending = False
        self.before_act: Callable[[], None] | None = None
        self._terms = Terms()
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
    ) -> Self:
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
            self._terms = Terms()
            self.forget_words()
        return files

    def reading(self) -> apsw.Connection:
        """Where this thread reads: inside an act the writer, else its own connection (INV-STORE-3)."""
        files = self._here()
        transaction: Transaction | None = getattr(self._thread, "transaction", None)
        if transaction is None:
            return files.reader()
        transaction.publish()
        return transaction.db

    def forget_words(self) -> None:
        """Called when words that a subclass keeps of this file may be gone from it."""

    # --- settings, which those who write ask for as well ---

    @coded
    def setting(self, key: str) -> Any:
        """The value under ``key``, or None. Raises STO-E009 when it is damaged."""
        return settings.get(self.reading(), key)

    @coded
    def settings(self, prefix: str = "") -> dict[str, Any]:
        """The values whose keys start with ``prefix``, by key. Raises STO-E009 when one is damaged."""
        return settings.starting_with(self.reading(), prefix)

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
        if transaction is None and self.before_act is not None:
            self.before_act()
        with self._outermost() if transaction is None else transaction.part() as opened:
            yield Act(opened, governed)

    @contextmanager
    def _outermost(self) -> Iterator[Transaction]:
        files = self._here()
        if not files.lock.acquire(timeout=files.busy_ms / 1000):
            fault = storage_error(apsw.BusyError("another thread is writing"))
            raise StoreError(fault.code, f"{fault.message} (this process)", fault.next_step)
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
        try:
            db.execute("BEGIN IMMEDIATE")
        except apsw.BusyError as error:
            from deja_tui.store.holder import named

            fault = storage_error(error)
            raise StoreError(fault.code, f"{fault.message}{named(self.path)}", fault.next_step) from error
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
            self.forget_words()
            self.erasure_pending = True
        if self.erasure_pending:
            self._erase_pages(files)

    @coded
    def _erase_pages(self, files: Connections) -> None:
        from deja_tui.store import erase

        db = files.writer()
        set_busy(db, min(files.busy_ms, _SETTLE_MS))
        try:
            erase.settle(db)
        except (apsw.BusyError, apsw.FullError):
            return  # the erasure stands; `erasure_pending` says that old pages still hold its words
        finally:
            set_busy(db, files.busy_ms)
        self.erasure_pending = False
