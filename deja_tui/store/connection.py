# SPDX-License-Identifier: Apache-2.0
"""The connections of one process to one memory file: one writer, one reader a thread (D35).

Each setting is a function of its own, with its reason. A connection never crosses a fork: SQLite's locks belong to
a process, so the child leaves the inherited connections untouched (closing them could release the parent's locks
or fold its log away) and opens its own.

* INV-OPEN-1  Opening writes nothing into a file that is not a memory of this version, and makes no file or folder that
  was not asked for.
* INV-OPEN-2  What may not be written is opened for reading, and a notice says why. Links are resolved once; a new file
  is readable by its owner only, and so are the files beside it.
* INV-OPEN-3  One writer a process behind a lock, one reader a thread; none is used on the other side of a fork.
"""

from __future__ import annotations

import os
import threading
import weakref

import apsw

from deja_tui.record import Record
from deja_tui.store import schema
from deja_tui.store.faults import StoreError, closed, is_full, storage_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal

    Durability = Literal["full", "normal"]
else:
    Durability = str


_INHERITED: Final[list[object]] = []
"""Connections of a parent process: kept, so that nothing ever closes them here."""


# --- settings ---------------------------------------------------------------------------------------


def set_wal(db: apsw.Connection) -> None:
    """Write-ahead logging: readers never wait for the writer, and a commit is one append."""
    db.pragma("journal_mode", "wal")


def set_page_size(db: apsw.Connection) -> None:
    """4096, the block of every common file system; larger pages cost more log a single add (measured)."""
    db.pragma("page_size", 4096)


def set_durability(db: apsw.Connection, durability: Durability) -> None:
    """``full`` syncs each commit: an acknowledged act survives a power cut. ``normal`` survives a killed process."""
    db.pragma("synchronous", "full" if durability == "full" else "normal")


def set_secure_delete(db: apsw.Connection) -> None:
    """Overwrite deleted content with zeros, because forgetting means gone (D31)."""
    db.pragma("secure_delete", "on")


def set_busy(db: apsw.Connection, busy_ms: int) -> None:
    """Wait this long for another process's lock before STO-E004."""
    db.set_busy_timeout(busy_ms)


def set_cache(db: apsw.Connection, mib: int) -> None:
    """Pages kept in memory; taken as they are touched, so a small memory never costs this much."""
    db.pragma("cache_size", -1024 * mib)


def set_memory_temp(db: apsw.Connection) -> None:
    """Sorting never spills grain text into a temporary file."""
    db.pragma("temp_store", "memory")


def set_small_log(db: apsw.Connection) -> None:
    """A log that one large import blew up shrinks again at the next checkpoint."""
    db.pragma("journal_size_limit", 16 * 1024 * 1024)


def set_distrust(db: apsw.Connection) -> None:
    """A file may come from a stranger: no triggers, no views, no schema tricks, page structure checked."""
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    db.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    db.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
    db.pragma("cell_size_check", "on")
    db.limit(apsw.SQLITE_LIMIT_ATTACHED, 1)  # what VACUUM needs; nothing here attaches another file


def set_stable_plans(db: apsw.Connection) -> None:
    """One plan a statement: else SQLite plans anew whenever a bound LIMIT changes hands, half of a recall (measured)."""
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


def set_query_only(db: apsw.Connection) -> None:
    """A reading connection cannot change the file, whatever it is asked."""
    db.pragma("query_only", "on")


# --- the file ---------------------------------------------------------------------------------------


class Place(Record):
    """Where a memory lies and how it may be opened.

    Attributes:
        path: the file, symbolic links resolved once (D36).
        read_only: no writer may be made.
        frozen: opened as a fixed image, because SQLite could not keep its side files beside it.
        notice: why it can only be read, or None.
    """

    _fields = ("path", "read_only", "frozen", "notice")
    __slots__ = _fields

    def __init__(self, path: str, read_only: bool, frozen: bool = False, notice: str | None = None) -> None:
        self.path = path
        self.read_only = read_only
        self.frozen = frozen
        self.notice = notice


def locate(path: str | os.PathLike[str], *, read_only: bool, create: bool) -> Place:
    """Find or make the file.

    Raises:
        StoreError: STO-E003 no such file; STO-E008 no folder, or it may not be written; STO-E002 a folder.
    """
    real = os.path.realpath(os.fspath(path))
    if os.path.isdir(real):
        raise StoreError("STO-E002", "the path is a folder, not a memory", "Name a file.")
    if not os.path.exists(real):
        if read_only or not create:
            raise StoreError(
                "STO-E003", "there is no such file", "Check the path, or create the memory first."
            )
        _make(real)
    if read_only:
        return Place(real, read_only=True)
    if not os.access(real, os.W_OK):
        return Place(real, read_only=True, notice="The file may not be written: opened for reading.")
    if not os.access(os.path.dirname(real), os.W_OK):
        return Place(real, read_only=True, notice="The folder may not be written: opened for reading.")
    return Place(real, read_only=False)


def _make(real: str) -> None:
    try:
        os.close(os.open(real, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StoreError(
            "STO-E008",
            f"the file cannot be created there ({error.strerror or 'refused'})",
            "Make the folder first, or choose one that may be written.",
        ) from error


class Connections:
    """What one process holds open of a place. Made anew after a fork."""

    def __init__(self, place: Place, busy_ms: int, durability: Durability) -> None:
        self.place = place
        self.pid = os.getpid()
        self.busy_ms = busy_ms
        self.durability = durability
        self.lock = threading.RLock()
        self.closed = False
        self._writer: apsw.Connection | None = None
        self._mine = threading.local()
        self._readers: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._registry = threading.Lock()

    def reader(self) -> apsw.Connection:
        """This thread's reading connection."""
        db: apsw.Connection | None = getattr(self._mine, "db", None)
        if db is None or self.closed:
            db = self._open_reader()
        return db

    def _open_reader(self) -> apsw.Connection:
        with self._registry:
            if self.closed:
                raise closed()
            db = connect_frozen(self.place.path) if self.place.frozen else self._connect_reader()
            self._mine.db = db
            self._readers.add(db)
        return db

    def _connect_reader(self) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_READONLY if self.place.read_only else apsw.SQLITE_OPEN_READWRITE
        db = apsw.Connection(self.place.path, flags=flags)
        set_busy(db, self.busy_ms)
        set_distrust(db)
        set_stable_plans(db)
        set_cache(db, 48)
        set_memory_temp(db)
        set_query_only(db)
        return db

    def writer(self) -> apsw.Connection:
        """The one writing connection; the caller holds `lock`.

        Raises:
            StoreError: STO-E005 the place is read-only; STO-E010 closed.
        """
        if self.closed:
            raise closed()
        if self.place.read_only:
            raise StoreError(
                "STO-E005",
                "the memory was opened for reading only",
                "Make the file and its folder writable, or copy the memory to where it may be written."
                if self.place.notice
                else "Open it again without read_only.",
            )
        if self._writer is None:
            self._writer = self._connect_writer()
        return self._writer

    def _connect_writer(self) -> apsw.Connection:
        db = apsw.Connection(self.place.path, flags=apsw.SQLITE_OPEN_READWRITE)
        set_busy(db, self.busy_ms)
        set_distrust(db)
        set_stable_plans(db)
        if schema.is_empty(db):
            set_page_size(db)
        set_wal(db)
        set_durability(db, self.durability)
        set_secure_delete(db)
        set_small_log(db)
        set_cache(db, 48)
        set_memory_temp(db)
        return db

    def sync_log(self) -> None:
        """Put what was committed on the disk, where commits do not do that themselves (``normal``)."""
        if self.durability == "full":
            return
        try:
            log = os.open(self.place.path + "-wal", os.O_RDWR | os.O_CLOEXEC)
            try:
                os.fsync(log)
            finally:
                os.close(log)  # SQLite keeps no lock on this file, so closing it here releases none
        except OSError as error:
            raise StoreError(
                "STO-E001",
                f"the act is kept, but the disk did not confirm it ({error.strerror or 'no reason'})",
                "Check the disk; until it confirms, a power cut may lose the act.",
            ) from error

    def close(self) -> None:
        """Close every connection that no thread is using this instant; those close when their thread lets go."""
        with self._registry:
            self.closed = True
            readers = list(self._readers)
        with self.lock:
            for db in readers:
                try:
                    db.close()
                except apsw.ThreadingViolationError:
                    db.interrupt()  # its thread is inside a query, which ends now; the connection ends with the thread
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    def abandon(self) -> None:
        """Leave the connections to the process that opened them: this one is its child."""
        _INHERITED.append((self._writer, self._mine, list(self._readers)))


def connect_frozen(path: str) -> apsw.Connection:
    """A fixed image of the file: no locks, no side files. Changes that still lie in its log are not seen."""
    from urllib.parse import quote

    uri = f"file:{quote(path)}?immutable=1"
    db = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    set_distrust(db)
    set_memory_temp(db)
    return db


def open_place(place: Place, busy_ms: int, durability: Durability) -> Connections:
    """Connect, create the tables of a new file, refuse a foreign or newer one.

    Raises:
        StoreError: STO-E002, STO-E004, STO-E006, STO-E008, STO-E009.
    """
    connections = Connections(place, busy_ms, durability)
    try:
        try:
            if not place.read_only and schema.is_empty(connections.reader()):
                _create(connections)
            schema.check(connections.reader())
        except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError) as error:
            if not place.read_only or (isinstance(error, apsw.IOError) and not is_full(error)):
                raise
            connections.close()
            connections = Connections(_frozen(place, is_full(error)), busy_ms, durability)
            schema.check(connections.reader())
    except apsw.Error as error:
        connections.close()
        raise storage_error(error) from error
    except StoreError:
        connections.close()
        raise
    return connections


def _create(connections: Connections) -> None:
    with connections.lock:
        db = connections.writer()
        db.execute("BEGIN IMMEDIATE")
        try:
            if schema.is_empty(db):  # another process may have been first
                schema.create(db)
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise


def _frozen(place: Place, full: bool) -> Place:
    log = place.path + "-wal"
    behind = os.path.exists(log) and os.path.getsize(log) > 0
    why = "The disk is full" if full else "The folder may not be written"
    notice = f"{why}: opened as a fixed image."
    if behind:
        notice += " Changes that still lie in the file's -wal log are not seen."
    return Place(place.path, read_only=True, frozen=True, notice=notice)
