# SPDX-License-Identifier: Apache-2.0
"""Segments: a folder that several copies of a memory push their log into and follow each other from, by any transport
that moves files (docs/sync.md).

* INV-SEGMENT-1  A copy writes into one folder of its own. What lies there is only added to: a segment is a bundle that
  goes on where the one before ended; a line of the manifest gives its size, digest and place, and is written after it.
* INV-SEGMENT-2  A push or a pull that stops anywhere goes on there; nothing is taken before its digest was checked.
* INV-SEGMENT-3  A segment that has not arrived whole is waited for, and so is a clock here that is years behind its rows; a
  damaged one stops its folder and is told.
* INV-SEGMENT-4  A file that was copied or set back does not go on in a folder whose rows are not its own: it takes a new
  name and begins anew.
* INV-SEGMENT-5  Of settings only those of `travelling` go along. They are stamped ``sync`` and keep their clock, so of two
  that come the later one holds, however the clock here goes; they may only restrict, and never take the place of one that
  was made here (D5).
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import apsw

from deja_tui import watch
from deja_tui.errors import DejaError
from deja_tui.store import bundles
from deja_tui.store.bundles import Erased, ImportReport
from deja_tui.store.faults import StoreError, coded
from deja_tui.store.manifest import MANIFEST, Line, append, chained, cut_torn_line, file_name, read_manifest
from deja_tui.store.places import place
from deja_tui.store.sql import rows
from deja_tui.store.travelling import SETTINGS, take_settings, write_settings
from deja_tui.store.whole import refused, replacing, sweep

if TYPE_CHECKING:
    from deja_tui.store.memory import Store

OWN_NAME: Final = "segments.name"
_FROM: Final = "segments.from."
_NAME: Final = re.compile(r"[0-9a-f]{16}")
_ROWS: Final = 50_000
_BUFFER: Final = 1_048_576
_ROW: Final = (
    "SELECT o.hlc, coalesce(g.hash, t.hash) FROM op o LEFT JOIN grain g ON g.id = o.gid"
    " LEFT JOIN tombstone t ON t.gid = o.gid WHERE o.seq = ?"
)


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push wrote: ``name`` is the copy's folder, ``segments`` and ``rows`` are those of this push."""

    name: str
    segments: int
    rows: int
    bytes: int
    last_seq: int
    settings: int
    renamed: bool


@dataclass(frozen=True, slots=True)
class Followed:
    """What was taken from one folder.

    Attributes:
        name: the folder. segments: taken in this pull.
        rows, applied, skipped, refused: of these segments, as in `bundles.ImportReport`.
        governance: grains that came for reserved namespaces.
        settings: taken over. waiting: why it went no further, "" when all that the manifest names was taken.
        damaged: it stopped at something that will not heal by waiting.
    """

    name: str
    segments: int
    rows: int
    applied: int
    skipped: int
    refused: int
    governance: int
    settings: int
    waiting: str
    damaged: bool


# --- pushing ----------------------------------------------------------------------------------------


@coded
def push(
    store: Store, directory: str | os.PathLike[str], *, rows_each: int = _ROWS, fresh: bool = False
) -> Pushed:
    """Write what is new in the log as further segments of this copy's folder below ``directory``.

    Args:
        directory: must exist.
        rows_each: log positions that one segment covers at most.
        fresh: begin anew under a new name and remove this copy's former folder, so that the bytes of grains that were
            forgotten since are gone from it.

    Raises:
        StoreError: STO-E008 the folder is missing or cannot be written; STO-E005 the memory cannot be written and has
            no name to push under yet.
    """
    root = _root(directory)
    former = _own_name(store)
    name = secrets.token_hex(8) if fresh or former is None else former
    lines, fault = ([], "") if fresh else read_manifest(root / name)
    last = lines[-1] if lines else None
    renamed = bool(fault) or (last is not None and not _is_ours(store, last))
    if renamed:
        name, last = secrets.token_hex(8), None
    if name != former:
        with store.act() as act:
            act.set_setting(OWN_NAME, name)
    folder = root / name
    try:
        if folder.is_symlink():  # somebody else's hand: what is written would land where it points
            raise _root_misused()
        folder.mkdir(exist_ok=True)
        sweep(folder)
        cut_torn_line(folder)
        pushed = _push(store, folder, last, rows_each)
        told = write_settings(store, folder)
        if fresh and former is not None:
            _remove(root / former)
    except OSError as error:
        raise refused(error) from error
    return Pushed(name, *pushed, told, renamed)


def _root(directory: str | os.PathLike[str]) -> Path:
    root = place(directory)
    if not root.is_dir():
        raise StoreError(
            "STO-E008", "there is no such folder", "Make the folder that the copies share first."
        )
    return root


def _root_misused() -> StoreError:
    return StoreError(
        "STO-E008",
        "this copy's folder of segments is a link to somewhere else",
        "Remove the link, or push into another folder.",
    )


def _own_name(store: Store) -> str | None:
    name = store.setting(OWN_NAME)
    return name if isinstance(name, str) and _NAME.fullmatch(name) else None


def _is_ours(store: Store, line: Line) -> bool:
    """Whether the log here has the very row that the folder ends with (INV-SEGMENT-4)."""
    return any(
        hlc == line.hlc and digest.hex() == line.address
        for hlc, digest in rows(store.reading(), _ROW, (line.last,))
    )


def _push(store: Store, folder: Path, last: Line | None, rows_each: int) -> tuple[int, int, int, int]:
    segments = count = size = 0
    since, n, chain = (last.last, last.n, last.chain) if last else (0, 0, "")
    with store.snapshot():
        db = store.reading()
        end = bundles.last_seq(db)
        while since < end:
            until = min(since + rows_each, end)
            n += 1
            watch.tell(since, end, "rows")
            with watch.watched(None):  # of all rows, not of those of one segment
                line = _write_segment(db, folder, n, since, until, chain)
            since, chain = until, line.chain
            append(folder, line)
            segments += 1
            count += line.rows
            size += line.bytes
    return segments, count, size, since


def _write_segment(db: apsw.Connection, folder: Path, n: int, since: int, until: int, chain: str) -> Line:
    with replacing(folder / file_name(n)) as file:
        hashing = _Hashing(file)
        written = bundles.write(db, hashing, since, until)
    hlc, digest = next(rows(db, _ROW, (until,)))
    told = hashing.digest.hexdigest()
    return Line(n, written.bytes, told, written.rows, until, hlc, digest.hex(), chained(chain, n, told))


class _Hashing:
    """A file that digests what goes through it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._file.write(data)


def _remove(folder: Path) -> None:
    """A former folder of this copy, and nothing in it that a push has not written."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.name in (MANIFEST, SETTINGS) or re.fullmatch(r"segment-\d{8}\.mgb", path.name):
            path.unlink()
    sweep(folder)
    if not any(folder.iterdir()):
        folder.rmdir()


# --- following --------------------------------------------------------------------------------------


@coded
def pull(
    store: Store, directory: str | os.PathLike[str], *, erased: Erased | None = None
) -> tuple[Followed, ...]:
    """Take what is new from every other copy's folder below ``directory``, in the order of their names.

    ``erased`` as in `bundles.import_bundle`.

    Raises:
        StoreError: STO-E008 there is no such folder; STO-E004, STO-E005, STO-E007 as for any act. What is wrong with a
            folder is told in its answer and does not keep the others from being taken.
    """
    root = _root(directory)
    own = _own_name(store)
    folders = [path for path in sorted(root.iterdir()) if _NAME.fullmatch(path.name) and path.is_dir()]
    return tuple(_follow(store, folder, erased) for folder in folders if folder.name != own)


def _follow(store: Store, folder: Path, erased: Erased | None) -> Followed:
    taken: list[ImportReport] = []
    n, chain = _cursor(store, folder.name)
    lines, fault = read_manifest(folder)
    waiting, damaged = fault, bool(fault)
    if n and (len(lines) < n or lines[n - 1].chain != chain):
        n = 0  # the folder was written anew: what is known already is skipped
    for line in watch.each(lines[n:], len(lines) - n, "segments", every=1):
        try:
            unready, for_good = _unready(folder / line.file, line)
            if unready:
                waiting, damaged = unready, for_good
                break
            report = bundles.import_bundle(store, folder / line.file, erased=erased)
        except DejaError as fault:
            if not fault.code.startswith("IMP-"):
                raise
            waiting, damaged = f"{line.file}: {fault.message}", True
            break
        taken.append(report)
        if not report.complete:
            waiting, damaged = f"{line.file}: {report.stopped}", True
            break
        if report.ahead:
            waiting = f"{line.file} has rows of more than ten years after the clock here"
            break
        with store.act() as act:
            act.set_setting(_FROM + folder.name, {"n": line.n, "chain": line.chain})
    return Followed(
        folder.name,
        sum(report.complete for report in taken),
        sum(report.rows for report in taken),
        sum(report.applied for report in taken),
        sum(report.skipped for report in taken),
        sum(report.refused for report in taken),
        sum(report.governance for report in taken),
        take_settings(store, folder),
        waiting,
        damaged,
    )


def _cursor(store: Store, name: str) -> tuple[int, str]:
    kept = store.setting(_FROM + name)
    if isinstance(kept, dict) and isinstance(kept.get("n"), int) and isinstance(kept.get("chain"), str):
        return kept["n"], kept["chain"]
    return 0, ""


def _unready(path: Path, line: Line) -> tuple[str, bool]:
    """Why a segment cannot be taken, and whether that is for good; "" when it can."""
    size = path.stat().st_size if path.is_file() else -1
    if size < line.bytes:
        return f"{path.name} has not arrived whole", False
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(_BUFFER):
            digest.update(part)
    if size > line.bytes or digest.hexdigest() != line.sha256:
        return f"{path.name} is not what its folder's manifest says", True
    return "", False
