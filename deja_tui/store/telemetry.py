# SPDX-License-Identifier: Apache-2.0
"""The telemetry sidecar ``<file>.telemetry.db``: what was recalled, asked and delivered, beside the memory, never in it.

* INV-TELE-1  It is disposable: deleting it loses counts and nothing else, and no fault of it reaches a caller of the
  memory; the fault stands in `Telemetry.notice` and nothing is counted any more.
* INV-TELE-2  A recall only appends to a ring of `RING` events; they are written at an act, a run, a look at the counts,
  an erasure and at close. What the ring had no room for is counted as lost.
* INV-TELE-3  After `scrub` no row tells of an erased grain; no kept question is made of its words, quotes its subject or
  object, or has a word of it that no grain of the memory holds any more; and no row names a namespace that was emptied by
  it. A sidecar that cannot be scrubbed is deleted.
* INV-TELE-4  Counts say since when they were kept (``watching``), for each mode; never a time at which this sidecar was
  not there yet. A sidecar that was kept for another memory under the same name is emptied.
* INV-TELE-5  What is counted here is what handles with telemetry on did. A handle with telemetry off leaves no trace, so
  a count of 0 says "by nobody who counts", not "by nobody".

Modes: ``aggregate`` counts recalls a grain, free-text questions, context budgets and deliveries; ``full`` keeps a log of
every recall as well (`LOG_DAYS` days, at most `LOG_ROWS` rows). Times are epoch ms.

Analyzers read `Telemetry.watching`, `accesses`, `access_of`, `queries`, `asked` and `contexts`: one statement each, frozen rows,
the same in every mode in which something was counted.
"""

from __future__ import annotations

import json
import os
import re
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import apsw

from deja_tui.errors import DejaError, ValidationError
from deja_tui.store import sidecar
from deja_tui.store.connection import set_busy
from deja_tui.store.faults import storage_error
from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import is_address
from deja_tui.store.sidecar import SUFFIX as SUFFIX
from deja_tui.store.sql import rows, scalar
from deja_tui.store.telemetry_file import (
    COUNTED,
    PUT_LOG,
    PUT_QUERY,
    Event,
    NotOurs,
    access_rows,
    delivery_rows,
    identity_of,
    log_row,
    open_sidecar,
    question_rows,
    split_top,
)
from deja_tui.store.telemetry_told import Access as Access
from deja_tui.store.telemetry_told import Accessed as Accessed
from deja_tui.store.telemetry_told import Contexts as Contexts
from deja_tui.store.telemetry_told import QueryStat as QueryStat
from deja_tui.store.telemetry_told import Recalled as Recalled
from deja_tui.store.telemetry_told import TelemetryStats as TelemetryStats
from deja_tui.text import DAY_MS, door

if TYPE_CHECKING:
    from deja_tui.store.telemetry_scrub import Traces

Mode = Literal["off", "aggregate", "full"]
MODES: Final[tuple[str, ...]] = get_args(Mode)

RING: Final = 8_192
LOG_DAYS: Final = 90
LOG_ROWS: Final = 200_000
QUERY_ROWS: Final = 50_000
_SETTLE_AT: Final = 64
_BUDGET_DAYS: Final = 400
_KEY: Final = re.compile(r"[0-9a-f]{32}")
_FOREVER: Final = 2**63 - 1
_WATCHING: Final = "SELECT mode, since FROM watching ORDER BY mode"


class Telemetry:
    """The sidecar of one memory, as one handle uses it. Made by `Memory.open`; every method may be called from any thread.

    Attributes:
        mode: off, aggregate or full.
        notice: why nothing is counted any more, or None.
        run_id: copied into the log rows of mode ``full``.
    """

    def __init__(
        self,
        memory_path: str,
        mode: str,
        clock: Callable[[], int],
        identity: Callable[[], str | None] = lambda: None,
        traces: Traces = lambda asked, erased: (set(), set()),
    ) -> None:
        """
        Args:
            memory_path: the memory's file, symbolic links resolved.
            clock: epoch ms.
            identity: the address of the first grain that ever came into the memory, or None.
            traces: of pieces of questions, and of the namespaces of erased grains, those that still tell of these grains,
                because no other grain of the memory has them. By default: none.

        Raises VAL-E001 on another mode.
        """
        if mode not in MODES:
            raise ValidationError("VAL-E001", "telemetry is one of " + ", ".join(MODES))
        self.path = memory_path + SUFFIX
        self.mode = mode
        self.notice: str | None = None
        self.run_id: str | None = None
        self._clock = clock
        self._identity = identity
        self._traces = traces
        self._began = clock() if mode != "off" else 0
        self._lock = threading.RLock()
        self._events: deque[Event] = deque(maxlen=RING)
        self._samples: list[tuple[int, bool]] = []
        self._delivered: list[tuple[int, str]] = []
        self._lost = 0  # what the ring had no room for since the last write
        self._watched = False  # whether this handle has said since when it counts
        self._db: apsw.Connection | None = None
        self._file: tuple[int, int] | None = None  # device and inode of what `_db` has open
        _HERE.add(self)

    @property
    def on(self) -> bool:
        """Whether anything is counted."""
        return self.mode != "off" and self.notice is None

    # --- counting: nothing here touches a file ---

    def recalled(
        self,
        namespace: str,
        found: Sequence[StoredGrain],
        *,
        subject: str | None = None,
        question: str | None = None,
        took_ns: int = 0,
    ) -> None:
        """One recall and what it returned; with ``question`` also a free-text question (INV-TELE-2)."""
        if len(self._events) == RING:
            self._lost += 1
        addresses = [grain.address for grain in found]
        self._events.append((self._clock(), namespace, subject, question, addresses, took_ns, self.run_id))

    def assembled(self, overflow: bool) -> None:
        """One context that was put together under a budget; ``overflow``: something had to be left out."""
        if self.on:
            self._samples.append((self._clock(), overflow))

    def delivered(self, addresses: Iterable[str]) -> None:
        """These grains were handed to an agent as context (D37, D53)."""
        if self.on:
            now = self._clock()
            self._delivered.extend((now, address) for address in addresses if is_address(address))

    # --- writing ---

    def settle(self) -> None:
        """Write when there is enough to be worth it; called after each act."""
        if len(self._events) >= _SETTLE_AT:
            self.flush()

    def flush(self) -> None:
        """Write what waits. A sidecar that is busy gets it the next time."""
        if self._events or self._samples or self._delivered:
            self._put()

    def _put(self) -> None:
        """Write what waits, be it nothing: the first look at the counts is when watching begins."""
        if not self.on:
            return
        waits = self._events or self._samples or self._delivered
        if not waits and self._watched and identity_of(self.path) == self._file:
            return
        with self._lock:
            now, taken = self._clock(), self._take()
            try:
                with self._transaction() as db:
                    self._write(db, now, *taken)
                self._began, self._watched = now, True
            except apsw.BusyError:
                self._events.extendleft(reversed(taken[0]))
                self._samples[:0], self._delivered[:0] = taken[1], taken[2]
                self._lost += taken[3]
            except (apsw.Error, OSError, NotOurs) as fault:
                self._give_up(fault)

    def close(self) -> None:
        """Write what waits and close the sidecar."""
        self.flush()
        with self._lock:
            if self._db is not None:
                self._db.close()
            self._db = None

    def _take(self) -> tuple[list[Event], list[tuple[int, bool]], list[tuple[int, str]], int]:
        """What waits, and how much the ring had no room for."""
        events = []
        while self._events:
            events.append(self._events.popleft())
        samples, self._samples = self._samples, []
        delivered, self._delivered = self._delivered, []
        lost, self._lost = self._lost, 0
        return events, samples, delivered, lost

    def _write(
        self,
        db: apsw.Connection,
        now: int,
        events: list[Event],
        samples: list[tuple[int, bool]],
        delivered: list[tuple[int, str]],
        lost: int,
    ) -> None:
        self._watch(db)
        db.executemany(sidecar.PUT_ACCESS, access_rows(events))
        db.executemany(PUT_QUERY, question_rows(events))
        db.executemany(sidecar.PUT_DELIVERY, delivery_rows(delivered))
        db.executemany(
            sidecar.PUT_BUDGET,
            [(at // sidecar.HOUR_MS, 1, int(overflow), at, at) for at, overflow in samples],
        )
        db.execute("DELETE FROM budget WHERE hour < ?", ((now - _BUDGET_DAYS * DAY_MS) // sidecar.HOUR_MS,))
        db.executemany(sidecar.PUT_META, [("recalls", len(events)), ("lost", lost)])
        if self.mode == "full":
            db.executemany(PUT_LOG, [log_row(event) for event in events])
            db.execute("DELETE FROM log WHERE at < ?", (now - LOG_DAYS * DAY_MS,))
            db.execute("DELETE FROM log WHERE id <= (SELECT max(id) FROM log) - ?", (LOG_ROWS,))
        if scalar(db, "SELECT count(*) FROM query") > QUERY_ROWS:
            db.execute(
                "DELETE FROM query WHERE key IN (SELECT key FROM query ORDER BY last LIMIT"
                f" (SELECT count(*) - {QUERY_ROWS * 9 // 10} FROM query))"
            )

    def _watch(self, db: apsw.Connection) -> None:
        """Since when each mode counts: nothing was counted here before, so it is since this handle last wrote or was made.

        The log of ``full`` has a gap once another mode wrote, so it begins anew.
        """
        identity, kept = self._memory(), scalar(db, "SELECT value FROM meta WHERE key = 'memory'")
        if kept is not None and identity is not None and kept != identity:
            for table in COUNTED:
                db.execute(f"DELETE FROM {table}")
        if identity is not None:
            db.execute("INSERT OR IGNORE INTO meta(key, value) VALUES('memory', ?)", (identity,))
        for mode in ("aggregate", "full") if self.mode == "full" else ("aggregate",):
            db.execute("INSERT OR IGNORE INTO watching(mode, since) VALUES(?, ?)", (mode, self._began))
        if self.mode != "full":
            db.execute("DELETE FROM watching WHERE mode = 'full'")

    def _memory(self) -> str | None:
        """What tells the memory from others; None when it is empty, closed or damaged."""
        try:
            return self._identity()
        except DejaError:
            return None

    # --- the file ---

    def _opened(self) -> apsw.Connection:
        """The connection to the file that stands there now: another handle or a person may have deleted the one before."""
        if self._db is not None and identity_of(self.path) != self._file:
            self._db.close()
            self._db, self._watched = None, False
        if self._db is None:
            self._db = open_sidecar(self.path)
            self._file = identity_of(self.path)
        return self._db

    @contextmanager
    def _transaction(self) -> Iterator[apsw.Connection]:
        db = self._opened()
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def _forked(self) -> None:
        """In a child: what waits is the parent's, which writes it, and so is the connection."""
        _INHERITED.append(self._db)
        self._db = None
        self._lock = threading.RLock()
        self._events.clear()
        self._samples, self._delivered, self._lost = [], [], 0

    def _give_up(self, fault: Exception) -> None:
        told = storage_error(fault).message if isinstance(fault, apsw.Error) else str(fault) or "refused"
        self.notice = f"telemetry is not kept: {told}"
        self._db = None

    # --- reading ---

    def stats(self) -> TelemetryStats:
        """What is counted, what waits included."""
        with self._looked() as db:
            if db is None:
                return TelemetryStats(self.mode, notice=self.notice)
            meta = dict(rows(db, "SELECT key, value FROM meta"))
            samples, overflows = next(
                rows(db, "SELECT coalesce(sum(samples), 0), coalesce(sum(overflows), 0) FROM budget")
            )
            return TelemetryStats(
                mode=self.mode,
                watching=dict(rows(db, _WATCHING)),
                grains_recalled=scalar(db, "SELECT count(*) FROM access"),
                recalls=int(meta.get("recalls", 0)),
                queries=scalar(db, "SELECT count(*) FROM query"),
                logged=scalar(db, "SELECT count(*) FROM log"),
                deliveries=scalar(db, "SELECT coalesce(sum(count), 0) FROM delivery"),
                samples=samples,
                overflows=overflows,
                lost=int(meta.get("lost", 0)),
                bytes=os.path.getsize(self.path),
                notice=self.notice,
            )

    def watching(self) -> dict[str, int]:
        """Since when each mode counts, epoch ms; {} when nothing was ever counted and nothing is.

        The first call of a handle that counts begins the watch, so that "never recalled" can be said of a memory in
        which nothing was recalled at all.
        """
        with self._looked() as db:
            return {} if db is None else dict(rows(db, _WATCHING))

    def access(self) -> dict[str, Access]:
        """Recalls by address: all of them. `access_of` asks for some, `accesses` gives rows."""
        return self._by_address("access")

    def access_of(self, addresses: Iterable[str]) -> dict[str, Access]:
        """Recalls of these grains, by address; a grain that was never recalled is left out."""
        asked = [address for address in addresses if is_address(address)]
        sql = (
            "SELECT address, count, first, last FROM access"
            " WHERE address IN (SELECT unhex(value) FROM json_each(?))"
        )
        with self._looked() as db:
            found = () if db is None else rows(db, sql, (json.dumps(asked),))
            return {address.hex(): Access(*numbers) for address, *numbers in found}

    def accesses(
        self, namespaces: Sequence[str] | None = None, *, more_than: int = 0, limit: int | None = None
    ) -> list[Accessed]:
        """Recalled grains, the most recalled first, then by address.

        Args:
            namespaces: only grains that were recalled there; None: everywhere.
            more_than: only grains recalled more often than this.
            limit: at most so many rows; None: all.
        """
        where, names = _within(namespaces)
        sql = (
            f"SELECT address, ns, count, first, last FROM access WHERE count > ? AND {where}"
            " ORDER BY count DESC, address LIMIT ?"
        )
        with self._looked() as db:
            found = () if db is None else rows(db, sql, (more_than, *names, -1 if limit is None else limit))
            return [Accessed(address.hex(), *told) for address, *told in found]

    def recalled_more_than(self, count: int = 0) -> list[bytes]:
        """The addresses of all grains recalled more than ``count`` times, as 32 raw bytes each: for joins."""
        with self._looked() as db:
            found = () if db is None else rows(db, "SELECT address FROM access WHERE count > ?", (count,))
            return [address for (address,) in found]

    def deliveries(self) -> dict[str, Access]:
        """Deliveries by address."""
        return self._by_address("delivery")

    def _by_address(self, table: str) -> dict[str, Access]:
        with self._looked() as db:
            found = () if db is None else rows(db, f"SELECT address, count, first, last FROM {table}")
            return {address.hex(): Access(*numbers) for address, *numbers in found}

    def queries(
        self,
        least_runs: int = 1,
        *,
        least_empty_ratio: float = 0.0,
        namespaces: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[QueryStat]:
        """Free-text questions, the most asked first, then by wording.

        Args:
            least_runs: only those asked at least so often.
            least_empty_ratio: 0 to 1; only those that found nothing in at least this share of their runs.
            namespaces: only those asked there; None: everywhere.
            limit: at most so many; None: all that are kept (`QUERY_ROWS`).
        """
        where, names = _within(namespaces)
        sql = (
            "SELECT ns, sample, runs, empties, results, first, last, text, subject, last_empty, last_found,"
            f" lower(hex(key)) FROM query WHERE runs >= ? AND empties >= runs * ? AND {where}"
            " ORDER BY runs DESC, sample, key LIMIT ?"
        )
        asked = (least_runs, least_empty_ratio, *names, -1 if limit is None else limit)
        with self._looked() as db:
            return [] if db is None else [QueryStat(*row) for row in rows(db, sql, asked)]

    def asked(self, key: str, limit: int = 20) -> list[Recalled]:
        """The newest log rows of one question (mode ``full``), newest first; ``key`` as in `QueryStat.key`."""
        if not _KEY.fullmatch(key):
            return []
        return self._logged("key = ?", (bytes.fromhex(key),), limit)

    def contexts(self, since_ms: int, until_ms: int | None = None) -> Contexts:
        """Contexts put together under a budget from ``since_ms`` on, and before ``until_ms``.

        Kept by the hour: the first hour counts whole, so a window may begin up to an hour early.
        """
        sql = (
            "SELECT coalesce(sum(samples), 0), coalesce(sum(overflows), 0), min(first), max(last) FROM budget"
            " WHERE hour >= ? AND last >= ? AND first < ?"
        )
        until = _FOREVER if until_ms is None else until_ms
        with self._looked() as db:
            if db is None:
                return Contexts(0, 0, None, None)
            return Contexts(*next(rows(db, sql, (since_ms // sidecar.HOUR_MS, since_ms, until))))

    def budget(self, since_ms: int) -> tuple[int, int]:
        """(contexts put together, those that had to leave something out) from ``since_ms`` on; see `contexts`."""
        found = self.contexts(since_ms)
        return found.samples, found.overflows

    def log(self, since_ms: int = 0, limit: int = 1_000) -> list[Recalled]:
        """The newest rows of the log from ``since_ms`` on, newest first."""
        return self._logged("at >= ?", (since_ms,), limit)

    def _logged(self, where: str, asked: tuple[Any, ...], limit: int) -> list[Recalled]:
        sql = (
            "SELECT at, run, ns, subject, query, results, latency_us, top FROM log"
            f" WHERE {where} ORDER BY id DESC LIMIT ?"
        )
        with self._looked() as db:
            return [
                Recalled(at, run, ns, subject, query, results, took, split_top(top))
                for at, run, ns, subject, query, results, took, top in (
                    () if db is None else rows(db, sql, (*asked, limit))
                )
            ]

    @contextmanager
    def _looked(self) -> Iterator[apsw.Connection | None]:
        """The sidecar to read from, with what waits written to it (INV-TELE-2)."""
        self._put()
        with self._lock, self._reading() as db:
            yield db

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection | None]:
        """The sidecar to read from, whatever the mode; None where there is none."""
        if not os.path.exists(self.path) or self.notice is not None:
            yield None
            return
        try:
            self._opened()
        except (apsw.Error, OSError, NotOurs) as fault:
            self._give_up(fault)
            yield None
            return
        yield self._db

    # --- erasing ---

    def scrub(self, erased: Sequence[StoredGrain], identity: str | None = None) -> str | None:
        """Take out what tells of erased grains (INV-TELE-3), whatever the mode.

        Args:
            erased: the grains, as they were.
            identity: the subject they were erased for; every question that holds it goes, too.

        Returns:
            What could not be reached, in one sentence; None when nothing is left.
        """
        self.flush()
        with self._lock:
            self._events.clear()
            self._samples, self._delivered, self._lost = [], [], 0
            self._began = self._clock()
            if not os.path.exists(self.path):
                return None
            # an erasure is rare, and loading a search costs a hook (D47)
            from deja_tui.store.telemetry_scrub import scrub

            try:
                db = self._opened()
                set_busy(db, 10 * sidecar.BUSY_MS)
                before = db.total_changes()
                with self._transaction():
                    scrub(db, erased, identity, self._traces)
                if db.total_changes() != before:
                    db.execute("VACUUM")  # rows that moved left copies behind
                set_busy(db, sidecar.BUSY_MS)
            except NotOurs:
                return None  # no telemetry of ours ever stood there
            except (apsw.Error, OSError):
                return self._delete()
        return None

    def _delete(self) -> str | None:
        """The sidecar is disposable: what cannot be scrubbed is deleted."""
        try:
            if self._db is not None:
                self._db.close(force=True)
            self._db, self._watched = None, False
            for suffix in ("", "-journal"):
                if os.path.exists(self.path + suffix):
                    os.unlink(self.path + suffix)
        except OSError:
            return f"the telemetry beside the memory could neither be scrubbed nor deleted ({SUFFIX})"
        return None


_INHERITED: Final[list[object]] = []
"""Connections of a parent process: kept, so that nothing ever closes them here."""
_HERE: Final[weakref.WeakSet[Telemetry]] = weakref.WeakSet()


def _forked() -> None:
    for each in list(_HERE):
        each._forked()


if hasattr(os, "register_at_fork"):  # not where processes are never forked
    os.register_at_fork(after_in_child=_forked)


def _within(namespaces: Sequence[str] | None) -> tuple[str, tuple[str, ...]]:
    """A condition on ``ns`` and what is bound to it."""
    if namespaces is None:
        return "1", ()
    return "ns IN (SELECT value FROM json_each(?))", (json.dumps([door(name) for name in namespaces]),)
