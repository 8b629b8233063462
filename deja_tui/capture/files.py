# SPDX-License-Identifier: Apache-2.0
"""Bringing the files of any source into a memory: one driver, so that every importer keeps the same promises.

Numbered rules, cited by tests:

* FILE-1  Nothing in a file can stop the import of another file; a file that cannot be read, or is of another kind, is a
  loss of that file. A single file of another kind raises.
* FILE-2  Files of a folder are read in the order of their paths; symbolic links below it are not followed, and told.
* FILE-3  Items are stored in chunks of at most `CHUNK` grains or about 4 MiB, each one transaction (D33): an import
  that dies keeps what it stored, and the next one goes on, since what is there is skipped (ITEM-1).
* FILE-4  A source that cannot be opened makes no memory.
* FILE-5  A file that holds nothing (no bytes, or blanks, a mark and padding only) is an empty import of any kind.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from deja_tui import watch
from deja_tui.capture import jsonl
from deja_tui.capture.report import FileReport, ImportReport
from deja_tui.capture.source import Source
from deja_tui.errors import DejaError
from deja_tui.items import CHUNK, CaptureItem, CaptureSink
from deja_tui.text import clean, door

BATCH_BYTES: Final = 4 * 1024 * 1024
_BLANK_MAX: Final = 64 * 1024

Progress = Callable[[int, int], None]
"""Called with files done and files in all; never for a single file."""


def import_path(
    memory: CaptureSink,
    source: Source,
    path: str | os.PathLike[str],
    *,
    now_ms: int,
    dry_run: bool = False,
    redact: bool = True,
    progress: Progress | None = None,
) -> ImportReport:
    """Read a file, or every file of the source's suffixes below a folder, into ``memory``.

    With ``dry_run`` everything is read and nothing is stored. Without ``redact`` secrets are kept as they are.

    Raises:
        DejaError: IMP-E001 the path is not there or cannot be read; IMP-E002 it holds nothing of this source. What
        the memory raises passes through; what was stored until then stays.
    """
    place = Path(path)
    if not os.path.lexists(place):
        raise DejaError("IMP-E001", f"{clean(str(place))} does not exist", "check the path")
    report = ImportReport(source.kind, dry_run, total=source.figures())
    try:
        folder = place.is_dir()
    except OSError as fault:
        raise unreadable(place, fault) from fault
    sink = None if dry_run else memory
    if folder and source.suffixes:
        _folder(sink, source, place, report, now_ms, progress or _silent, redact)
    else:
        file = FileReport(door(place.name), source.figures(), redacts=redact)
        _file(sink, source, place, file, now_ms)
        report.take(file)
    return report


def unreadable(path: Path, fault: OSError) -> DejaError:
    """The coded error of a file or folder that cannot be read."""
    why = fault.strerror or type(fault).__name__
    return DejaError(
        "IMP-E001", f"{clean(path.name)} cannot be read: {why}", "check the path and its permissions"
    )


def checked(path: Path) -> Path:
    """``path`` when it is a regular file; a pipe or device would never end. Raises IMP-E001."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(0, "not a regular file")
    except OSError as fault:
        raise unreadable(path, fault) from fault
    return path


def chunks(ready: Iterator[Sequence[CaptureItem]]) -> Iterator[tuple[CaptureItem, ...]]:
    """What a reader gives, in tuples of at most `CHUNK` items or about 4 MiB of text (FILE-3)."""
    waiting: list[CaptureItem] = []
    size = 0
    for items in ready:
        for item in items:
            waiting.append(item)
            size += _weight(item.fields)
            if len(waiting) >= CHUNK or size >= BATCH_BYTES:
                yield tuple(waiting)
                waiting, size = [], 0
    if waiting:
        yield tuple(waiting)


def _weight(value: Any) -> int:
    """About how many bytes a value takes; only its order of magnitude matters."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return 8 + sum(map(_weight, value.values()))
    if isinstance(value, list):
        return 8 + sum(map(_weight, value))
    return 8


def _silent(done: int, total: int) -> None:
    """Nobody watches."""


def _folder(
    memory: CaptureSink | None,
    source: Source,
    folder: Path,
    report: ImportReport,
    now_ms: int,
    progress: Progress,
    redact: bool,
) -> None:
    paths, passed = found_below(folder, source.suffixes)
    if not paths and not passed:
        raise DejaError(
            "IMP-E002", f"{clean(str(folder))} holds no {' or '.join(source.suffixes)} file", source.hint
        )
    foreign = 0
    for done, path in enumerate(paths):
        progress(done, len(paths))
        watch.tell(done, len(paths), "files")
        file = FileReport(below(folder, path), source.figures(), redacts=redact)
        try:
            with watch.watched(None):  # of the files, not of the bytes in one of them
                _file(memory, source, path, file, now_ms)
        except DejaError as fault:
            if fault.code not in ("IMP-E001", "IMP-E002"):
                raise
            if fault.code == "IMP-E002":
                foreign += 1
                file = FileReport(file.file, source.figures())  # its lines are no lines of ours
            file.lose(0, fault.message)
        report.take(file)
    progress(len(paths), len(paths))
    if paths and foreign == len(paths):
        raise DejaError("IMP-E002", f"no file in {clean(str(folder))} is of {source.title}", source.hint)
    for name, reason in sorted(passed.items()):
        file = FileReport(name, source.figures())
        file.lose(0, reason)
        report.take(file)


def found_below(folder: Path, suffixes: tuple[str, ...]) -> tuple[list[Path], dict[str, str]]:
    """The files of these suffixes below a folder in the order of their paths, and what was passed by with the reason."""
    found: list[Path] = []
    passed: dict[str, str] = {}

    def failed(fault: OSError) -> None:
        passed[below(folder, str(fault.filename))] = "the folder cannot be read"

    for root, folders, names in os.walk(folder, onerror=failed):
        linked = [name for name in folders if Path(root, name).is_symlink()]
        for name in (*linked, *names):
            path = Path(root, name)
            if path.is_symlink() and (name in linked or name.lower().endswith(suffixes)):
                passed[below(folder, path)] = "a symbolic link, not followed"
            elif name.lower().endswith(suffixes):
                found.append(path)
    return sorted(found, key=Path.as_posix), passed


def below(folder: Path, path: str | Path) -> str:
    """What a report calls a file of a folder."""
    return door(Path(path).relative_to(folder).as_posix())


def _file(memory: CaptureSink | None, source: Source, path: Path, report: FileReport, now_ms: int) -> None:
    try:
        for items in chunks(source.read(path, report, now_ms)):
            if memory is not None:
                report.stored(memory.capture(items))
    except OSError as fault:
        raise unreadable(path, fault) from fault
    except DejaError as fault:
        if fault.code != "IMP-E002" or not is_blank(path):
            raise
        report.note(0, "the file is empty")
        report.complete = True


def is_blank(path: Path) -> bool:
    """Whether a file holds nothing that any source could mean (FILE-5)."""
    try:
        if not path.is_file() or path.stat().st_size > _BLANK_MAX:
            return False
        return not jsonl.body(path.read_bytes())
    except OSError as fault:
        raise unreadable(path, fault) from fault
