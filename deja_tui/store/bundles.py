# SPDX-License-Identifier: Apache-2.0
"""Bundles: the op-log and its grains as one file that any copy can take in, byte for byte as the reference product
writes and reads them (docs/format.md).

* INV-BUNDLE-1  A bundle holds three kinds of rows only: ADD, SUPERSEDE, FORGET (D2). A grain that is gone has no bytes.
* INV-BUNDLE-2  What is written is one committed state; the file appears whole or not at all.
* INV-BUNDLE-3  An import reads row by row: memory is bounded by the largest grain, whatever the size of the file.
* INV-BUNDLE-4  It commits in chunks, each with the place reached, in one transaction (D33). A bundle that was left half
  way goes on there when its beginning is still the same; one that ends inside a row is taken up to that row.
* INV-BUNDLE-5  A bundle taken in twice changes nothing the second time, open forks included (D3).

What a row may change is `arrive`'s.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol

import apsw

from deja_tui import watch
from deja_tui.errors import DejaError
from deja_tui.store import oplog
from deja_tui.store.arrive import Arrivals, Effects, Refused, Row, Tally
from deja_tui.store.codec import MAX_BYTES
from deja_tui.store.faults import StoreError
from deja_tui.store.grains import StoredGrain
from deja_tui.store.places import place
from deja_tui.store.sql import rows
from deja_tui.store.whole import replacing
from deja_tui.store.write import Act

if TYPE_CHECKING:
    from deja_tui.store.memory import Store

MAGIC: Final = b"MGB1"
HEADER: Final = Struct("<Bq32sI")
CURSORS: Final = "import."
_CHUNK_ROWS: Final = 2_000
_CHUNK_BYTES: Final = 32 * 1024 * 1024
_CHUNK_SECONDS: Final = 0.25
_BUFFER: Final = 1024 * 1024
_NAMED_BY: Final = 64  # the magic and the first row: more would change when a short file grows
_KINDS: Final = (oplog.ADD, oplog.SUPERSEDE, oplog.FORGET)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did.

    Attributes:
        rows: read from the file, this time.
        applied: rows written to the op-log here; 0 when everything was known.
        added, superseded, forgotten, marked: grains filed; supersessions; erasures; effects of audits carried out.
        skipped: rows that changed nothing. `why` counts them: known, forgotten (here, before), gone (no bytes came),
            source (another grain of the same source is here), later (than the limit).
        refused: rows that were not taken, or whose effect was not. `refusals` are the first hundred. `ahead` of them have a
            clock more than ten years after the one here: where it is this one that is wrong, they come in later.
        governance: grains that came for reserved namespaces: foreign history (D5).
        complete: the file was read to its end. `stopped` says why not; the same call goes on from there.
        resumed_at, offset: bytes: where this call began, where it ended.
    """

    rows: int
    applied: int
    added: int
    superseded: int
    forgotten: int
    marked: int
    skipped: int
    refused: int
    ahead: int
    governance: int
    why: Mapping[str, int]
    refusals: tuple[Refused, ...]
    complete: bool
    stopped: str
    resumed_at: int
    offset: int


# --- writing ----------------------------------------------------------------------------------------

_ROWS: Final = (
    "SELECT o.seq, o.kind, o.hlc, o.gid, o.act, coalesce(g.hash, t.hash), g.hlc, g.body FROM op o"
    " LEFT JOIN grain g ON g.id = o.gid LEFT JOIN tombstone t ON t.gid = o.gid"
    " WHERE o.seq > ? AND o.seq <= ? ORDER BY o.seq"
)


@dataclass(frozen=True, slots=True)
class Written:
    """What a bundle holds: its rows and bytes, and the last op-log position it covers."""

    rows: int
    bytes: int
    last_seq: int


class Sink(Protocol):
    """Where the bytes of a bundle go."""

    def write(self, data: bytes, /) -> int: ...


def write(db: apsw.Connection, file: Sink, since: int, until: int) -> Written:
    """Write the op-log rows in (since, until] to ``file``; to be called inside one read transaction."""
    file.write(MAGIC)
    count, size = 0, len(MAGIC)
    merged: tuple[int, int] | None = None
    found = watch.each(rows(db, _ROWS, (since, until)), max(0, until - since), "rows", every=1_024)
    for _, kind, hlc, gid, act, digest, stamp, body in found:
        if kind not in _KINDS:
            continue
        if kind == oplog.SUPERSEDE:
            if merged == (gid, act):
                continue  # a merge closes several grains and is one row
            merged = gid, act
        blob = body if body is not None and kind != oplog.FORGET else b""
        clock = stamp if kind == oplog.ADD and stamp is not None else hlc
        file.write(HEADER.pack(kind, clock, digest, len(blob)))
        file.write(blob)
        count += 1
        size += HEADER.size + len(blob)
    return Written(count, size, until)


def last_seq(db: apsw.Connection) -> int:
    """The newest position of the op-log."""
    return next((int(row[0]) for row in rows(db, "SELECT coalesce(max(seq), 0) FROM op")), 0)


def write_bundle(store: Store, path: str | os.PathLike[str], since: int = 0) -> Written:
    """Write every op-log row above ``since`` to a new file at ``path``, or in place of a bundle that lies there.

    Raises:
        StoreError: STO-E011 something else lies there; STO-E007 the disk is full; STO-E008 the folder cannot be written.
    """
    target = place(path)
    if target.exists() and not _is_replaceable(target):
        raise StoreError(
            "STO-E011", "a file that is no bundle lies there", "Choose another name; it was left as it is."
        )
    with store.snapshot(), replacing(target) as file:
        db = store.reading()
        return write(db, file, since, max(since, last_seq(db)))


def _is_replaceable(target: Path) -> bool:
    if not target.is_file():
        return False
    with target.open("rb") as file:
        return file.read(len(MAGIC)) in (b"", MAGIC)


# --- reading ----------------------------------------------------------------------------------------


class Damaged(Exception):
    """The rows end here, though the file does not: ``args`` are the byte and the reason."""


def read_rows(file: BinaryIO, offset: int) -> Iterator[tuple[int, int, bytes, bytes, bytes, int]]:
    """(op, hlc, digest, blob, header, start) of each row from ``offset`` on. Raises `Damaged` at a torn or unknown one."""
    file.seek(offset)
    while header := file.read(HEADER.size):
        if len(header) < HEADER.size:
            raise Damaged(offset, "the file ends inside a row")
        op, hlc, digest, size = HEADER.unpack(header)
        if op not in _KINDS:
            raise Damaged(offset, f"no row begins with the byte {op}")
        if size > MAX_BYTES:
            raise Damaged(offset, f"a row says that it has {size} bytes, more than a grain may have")
        blob = file.read(size)
        if len(blob) < size:
            raise Damaged(offset, "the file ends inside a row")
        yield op, hlc, digest, blob, header, offset
        offset += HEADER.size + size


class _Reader:
    """The rows of one file with what follows each, and a digest of all that was read."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._rows = read_rows(file, start)
        self._digest = hashlib.sha256(MAGIC)
        self._ahead: tuple[int, int, bytes, bytes, bytes, int] | None = None
        self.stopped = ""
        self.offset = start
        self._step()

    def skip(self, digest: Any) -> None:
        """Go on from a digest of what was read before."""
        self._digest = digest

    def _step(self) -> None:
        try:
            self._ahead = next(self._rows, None)
        except Damaged as fault:
            self._ahead = None
            self.stopped = f"{fault.args[1]} (byte {fault.args[0]})"

    def __iter__(self) -> Iterator[Row]:
        while self._ahead is not None:
            op, hlc, digest, blob, header, start = self._ahead
            self._take(header, blob)
            follows = self._ahead
            pair = (
                op == oplog.ADD
                and follows is not None
                and follows[0] == oplog.SUPERSEDE
                and follows[2] == digest
                and follows[3] in (blob, b"")
            )
            closed_at = hlc if op == oplog.SUPERSEDE else None
            if pair and follows is not None:
                closed_at = follows[1]
                self._take(follows[4], follows[3])
            yield Row(op, hlc, digest, blob, start, closed_at)

    def _take(self, header: bytes, blob: bytes) -> None:
        self._digest.update(header)
        self._digest.update(blob)
        self.offset += len(header) + len(blob)
        self._step()

    @property
    def at_end(self) -> bool:
        return self._ahead is None

    def cursor(self) -> dict[str, Any]:
        return {"offset": self.offset, "digest": self._digest.hexdigest()}


Erased = Callable[[Act, Sequence[StoredGrain]], None]
"""Called inside the act that erased these grains, with them as they were."""


def import_bundle(
    store: Store, path: str | os.PathLike[str], *, until: int | None = None, erased: Erased | None = None
) -> ImportReport:
    """Take the rows of a bundle into ``store`` (INV-BUNDLE-3 to 5).

    Args:
        path: the file.
        until: leave out rows with a later clock (HLC).
        erased: told of the grains that the bundle's FORGET rows erased here.

    Raises:
        DejaError: IMP-E001 the file cannot be read; IMP-E002 it is no bundle. What is wrong inside is in the report.
        StoreError: STO-E004 another writer, STO-E005 read-only, STO-E007 disk full: chunks before that are kept.
    """
    with _opened(path) as file:
        name = CURSORS + hashlib.sha256(file.read(_NAMED_BY)).hexdigest()[:32]
        begin, digest = _resume(file, store.setting(name))
        reader = _Reader(file, begin)
        reader.skip(digest)
        tally, told = Tally(), Effects()
        source = iter(reader)
        while True:
            with store.act(governed=True) as act:
                arrivals = Arrivals(act, tally, until, told)
                before = tally.applied
                for row in _chunk(source):
                    arrivals.take(row)
                if erased is not None and arrivals.erased:
                    erased(act, arrivals.erased)
                _keep_place(act, store, name, reader, moved=tally.applied > before)
            watch.tell(reader.offset // 1_024, os.fstat(file.fileno()).st_size // 1_024, "KiB")
            if reader.at_end:
                break
    return _report(tally, reader, begin)


def _opened(path: str | os.PathLike[str]) -> BinaryIO:
    named = place(path, "IMP-E001")
    try:
        file = open(named, "rb", buffering=_BUFFER)  # noqa: SIM115 - the caller closes it
    except OSError as error:
        raise DejaError(
            "IMP-E001", f"the bundle cannot be read ({error.strerror or 'refused'})", "Check the path."
        ) from error
    if file.read(len(MAGIC)) != MAGIC:
        file.close()
        raise DejaError("IMP-E002", "the file is no bundle", "A bundle begins with the letters MGB1.")
    return file


def _resume(file: BinaryIO, cursor: object) -> tuple[int, Any]:
    """Where to begin, and the digest of all before: at the cursor when the bytes up to there are those it was kept for."""
    start = hashlib.sha256(MAGIC)
    if not isinstance(cursor, dict) or not isinstance(cursor.get("offset"), int):
        return len(MAGIC), start
    file.seek(len(MAGIC))
    left = cursor["offset"] - len(MAGIC)
    digest = start.copy()
    while left > 0 and (part := file.read(min(left, _BUFFER))):
        digest.update(part)
        left -= len(part)
    if left == 0 and digest.hexdigest() == cursor.get("digest"):
        return cursor["offset"], digest
    return len(MAGIC), start


def _chunk(source: Iterable[Row]) -> Iterator[Row]:
    """Rows for one act: at most so many, so large, and for so long (D33)."""
    end = time.monotonic() + _CHUNK_SECONDS
    size = 0
    for count, row in enumerate(source, 1):
        yield row
        size += len(row.blob)
        if count >= _CHUNK_ROWS or size >= _CHUNK_BYTES or time.monotonic() >= end:
            return


def _keep_place(act: Act, store: Store, name: str, reader: _Reader, *, moved: bool) -> None:
    """The cursor, in the transaction of the chunk; none once the file was read to its end."""
    if reader.at_end and not reader.stopped:
        if store.setting(name) is not None:
            act.set_setting(name, None)
    elif moved:
        act.set_setting(name, reader.cursor())


def _report(tally: Tally, reader: _Reader, begin: int) -> ImportReport:
    return ImportReport(
        rows=tally.rows,
        applied=tally.applied,
        added=tally.added,
        superseded=tally.superseded,
        forgotten=tally.forgotten,
        marked=tally.marked,
        skipped=tally.skipped.total(),
        refused=tally.refused.total(),
        ahead=tally.ahead,
        governance=tally.governance,
        why=dict(tally.skipped),
        refusals=tuple(tally.shown),
        complete=not reader.stopped,
        stopped=reader.stopped,
        resumed_at=begin,
        offset=reader.offset,
    )
