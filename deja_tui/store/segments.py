# SPDX-License-Identifier: Apache-2.0
"""Segments: a folder that several copies of a memory push their log into and follow each other from, by any transport
that moves files (docs/sync.md).

* INV-SEGMENT-1  A copy writes into one folder of its own. What lies there is only added to: a segment is a bundle that
  goes on where the one before ended; a line of the manifest gives its size, digest and place, and is written after it.
* INV-SEGMENT-2  A push or a pull that stops anywhere goes on there; nothing is taken before its digest was checked.
* INV-SEGMENT-3  A segment that has not arrived whole is waited for, a damaged one stops its folder and is told.
* INV-SEGMENT-4  A file that was copied or set back does not go on in a folder whose rows are not its own: it takes a new
  name and begins anew.
* INV-SEGMENT-5  Of settings only those of `_TRAVELS` go along. They are stamped ``sync`` and keep their clock, so of two
  that come the later one holds, however the clock here goes; they may only restrict, and never take the place of one that
  was made here (D5).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import apsw

from deja_tui.errors import DejaError
from deja_tui.store import bundles, oplog, settings
from deja_tui.store.arrive import MAX_AHEAD_MS
from deja_tui.store.bundles import Erased, ImportReport
from deja_tui.store.faults import StoreError, coded
from deja_tui.store.sql import rows

if TYPE_CHECKING:
    from deja_tui.store.memory import Store

MANIFEST: Final = "manifest.jsonl"
SETTINGS: Final = "settings.jsonl"
OWN_NAME: Final = "segments.name"
_FROM: Final = "segments.from."
_NAME: Final = re.compile(r"[0-9a-f]{16}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_ROWS: Final = 50_000
_LINE_MAX: Final = 4_096
_SETTINGS_MAX: Final = 1_048_576
_BUFFER: Final = 1_048_576


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


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a manifest. ``hlc`` and ``address`` are those of the last row: whoever goes on must have it."""

    n: int
    bytes: int
    sha256: str
    rows: int
    last: int
    hlc: int
    address: str
    chain: str

    @property
    def file(self) -> str:
        return _file_name(self.n)


def _file_name(n: int) -> str:
    return f"segment-{n:08d}.mgb"


def _chain(before: str, n: int, digest: str) -> str:
    return hashlib.sha256(f"{before} {n} {digest}".encode()).hexdigest()


# --- the manifest -----------------------------------------------------------------------------------


def _manifest(folder: Path) -> tuple[list[_Line], str]:
    """The lines that are whole and follow each other, and what is wrong with the one after them, if anything.

    A last line without its end is still being written, or copied: nothing is wrong with it.
    """
    path = folder / MANIFEST
    lines: list[_Line] = []
    chain = ""
    with path.open("rb") if path.is_file() else io.BytesIO() as file:
        while raw := file.readline(_LINE_MAX):
            if not raw.endswith(b"\n") and len(raw) < _LINE_MAX:
                break
            line = _line(raw)
            if line is None or line.n != len(lines) + 1 or line.chain != _chain(chain, line.n, line.sha256):
                return lines, f"line {len(lines) + 1} of its manifest is damaged"
            chain = line.chain
            lines.append(line)
    return lines, ""


def _line(raw: bytes) -> _Line | None:
    try:
        told = json.loads(raw)
    except ValueError:
        return None
    if not isinstance(told, dict):
        return None
    numbers = [told.get(name) for name in ("n", "bytes", "rows", "last", "hlc")]
    texts = [told.get(name) for name in ("sha256", "address", "chain")]
    if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
        return None
    if not all(isinstance(text, str) and _DIGEST.fullmatch(text) for text in texts):
        return None
    return _Line(**{name: told[name] for name in _Line.__slots__})


def _append(folder: Path, line: _Line) -> None:
    path = folder / MANIFEST
    told = json.dumps({name: getattr(line, name) for name in _Line.__slots__}, sort_keys=True)
    with open(path, "ab", opener=_private) as file:
        file.write(told.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _cut_torn_line(folder: Path) -> None:
    """A line that a crash left half written would hide all that is appended after it."""
    path = folder / MANIFEST
    if not path.is_file():
        return
    told = path.read_bytes()
    whole = told.rfind(b"\n") + 1
    if whole < len(told):
        os.truncate(path, whole)


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
    lines, fault = ([], "") if fresh else _manifest(root / name)
    last = lines[-1] if lines else None
    renamed = bool(fault) or (last is not None and not _is_ours(store, last))
    if renamed:
        name, last = secrets.token_hex(8), None
    if name != former:
        with store.act() as act:
            act.set_setting(OWN_NAME, name)
    folder = root / name
    try:
        folder.mkdir(exist_ok=True)
        _cut_torn_line(folder)
        pushed = _push(store, folder, last, rows_each)
        told = _push_settings(store, folder)
        if fresh and former is not None:
            _remove(root / former)
    except OSError as error:
        raise _unwritable(error) from error
    return Pushed(name, *pushed, told, renamed)


def _root(directory: str | os.PathLike[str]) -> Path:
    root = Path(directory)
    if not root.is_dir():
        raise StoreError(
            "STO-E008", "there is no such folder", "Make the folder that the copies share first."
        )
    return root


def _unwritable(error: OSError) -> StoreError:
    return StoreError(
        "STO-E008",
        f"the folder of segments cannot be written ({error.strerror or 'refused'})",
        "Check that it exists and may be written.",
    )


def _own_name(store: Store) -> str | None:
    name = store.setting(OWN_NAME)
    return name if isinstance(name, str) and _NAME.fullmatch(name) else None


def _is_ours(store: Store, line: _Line) -> bool:
    """Whether the log here has the very row that the folder ends with (INV-SEGMENT-4)."""
    sql = (
        "SELECT o.hlc, coalesce(g.hash, t.hash) FROM op o LEFT JOIN grain g ON g.id = o.gid"
        " LEFT JOIN tombstone t ON t.gid = o.gid WHERE o.seq = ?"
    )
    return any(
        hlc == line.hlc and digest.hex() == line.address
        for hlc, digest in rows(store.reading(), sql, (line.last,))
    )


def _push(store: Store, folder: Path, last: _Line | None, rows_each: int) -> tuple[int, int, int, int]:
    segments = count = size = 0
    since, n, chain = (last.last, last.n, last.chain) if last else (0, 0, "")
    with store.snapshot():
        db = store.reading()
        end = bundles.last_seq(db)
        while since < end:
            until = min(since + rows_each, end)
            n += 1
            line = _write_segment(db, folder, n, since, until, chain)
            since, chain = until, line.chain
            _append(folder, line)
            segments += 1
            count += line.rows
            size += line.bytes
    return segments, count, size, since


def _write_segment(db: apsw.Connection, folder: Path, n: int, since: int, until: int, chain: str) -> _Line:
    with bundles.replacing(folder / _file_name(n)) as file:
        hashing = _Hashing(file)
        written = bundles.write(db, hashing, since, until)
    sql = (
        "SELECT o.hlc, coalesce(g.hash, t.hash) FROM op o LEFT JOIN grain g ON g.id = o.gid"
        " LEFT JOIN tombstone t ON t.gid = o.gid WHERE o.seq = ?"
    )
    hlc, digest = next(rows(db, sql, (until,)))
    told = hashing.digest.hexdigest()
    return _Line(n, written.bytes, told, written.rows, until, hlc, digest.hex(), _chain(chain, n, told))


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
    if not any(folder.iterdir()):
        folder.rmdir()


# --- settings that travel ---------------------------------------------------------------------------


def _is_text_of_a_query(value: object) -> bool:
    return isinstance(value, dict)


def _switches_off(value: object) -> bool:
    return value == {"enabled": False}


def _is_time(value: object) -> bool:
    return type(value) is int and value >= 0


_TRAVELS: Final[Mapping[str, Callable[[object], bool]]] = {
    "cal.query:": _is_text_of_a_query,
    "cal.template:": _is_text_of_a_query,
    "loop.analyzer:": _switches_off,
    "loop.cooldown:": _is_time,
}
"""Prefix of the key, and which values may come along: texts that are checked again whenever they run, and values that
make the loop do less. A query or template only fills a free name."""


def _may_travel(key: object, value: object) -> bool:
    return isinstance(key, str) and any(
        key.startswith(prefix) and fits(value) for prefix, fits in _TRAVELS.items()
    )


def _push_settings(store: Store, folder: Path) -> int:
    """Write ``settings.jsonl`` anew when it would differ; how many lines it has."""
    kept = [
        json.dumps({"key": key, "value": value, "hlc": hlc}, sort_keys=True)
        for prefix in _TRAVELS
        for key, value, hlc, _ in settings.stamped(store.reading(), prefix)
        if _may_travel(key, value)
    ]
    told = "".join(f"{line}\n" for line in kept).encode()
    path = folder / SETTINGS
    if (path.read_bytes() if path.is_file() else b"") != told:
        with bundles.replacing(path) as file:
            file.write(told)
    return len(kept)


def _pull_settings(store: Store, folder: Path) -> int:
    path = folder / SETTINGS
    if not path.is_file() or path.stat().st_size > _SETTINGS_MAX:
        return 0
    taken = 0
    latest = oplog.last_of(store.now() + MAX_AHEAD_MS)
    for raw in path.read_bytes().splitlines():
        key, value, hlc = _setting(raw)
        if not _may_travel(key, value) or not 0 <= hlc <= latest:
            continue
        here = {
            name: (old, clock, source) for name, old, clock, source in settings.stamped(store.reading(), key)
        }
        old, clock, source = here.get(key, (None, -1, "sync"))
        if source != "sync" or old == value or clock >= hlc:
            continue
        with store.act() as act:
            act.set_setting(key, value, source="sync", hlc=hlc)
        taken += 1
    return taken


def _setting(raw: bytes) -> tuple[str, Any, int]:
    try:
        told = json.loads(raw)
    except ValueError:
        return "", None, 0
    if not isinstance(told, dict) or type(told.get("hlc")) is not int:
        return "", None, 0
    return str(told.get("key", "")), told.get("value"), told["hlc"]


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
    lines, fault = _manifest(folder)
    waiting, damaged = fault, bool(fault)
    if n and (len(lines) < n or lines[n - 1].chain != chain):
        n = 0  # the folder was written anew: what is known already is skipped
    for line in lines[n:]:
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
        _pull_settings(store, folder),
        waiting,
        damaged,
    )


def _cursor(store: Store, name: str) -> tuple[int, str]:
    kept = store.setting(_FROM + name)
    if isinstance(kept, dict) and isinstance(kept.get("n"), int) and isinstance(kept.get("chain"), str):
        return kept["n"], kept["chain"]
    return 0, ""


def _unready(path: Path, line: _Line) -> tuple[str, bool]:
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
