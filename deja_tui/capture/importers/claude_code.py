# SPDX-License-Identifier: Apache-2.0
"""Claude Code: session files (JSON Lines) and the web form, read into sessions, turns and tool calls.

Numbered rules, cited by tests:

* CC-1  One event for each turn: a person's or host's message, an assistant message (all lines with one message id),
  a set of tool results, a summary, a notice. One event for each session and sub-agent, too. One tool grain for each
  call id, joined to its result.
* CC-2  The order is that of the file; the clock only dates. A record without usable time borrows that of the nearest
  earlier record which has one, else of the first later one, else now; it is marked.
* CC-3  Keys (D32): a call by its call id; a session by its id; a user record by its uuid and a digest of what it says,
  since real files use a uuid twice for different things; an assistant message by its message id and a digest of its
  first piece; a record without any id by a digest of itself and its number among equal ones. The last differs from
  D32's file digest on purpose: a session file grows, and its records must keep their keys when it does.
* CC-4  A failure is ``is_error: true`` of a tool result, nothing else. Of two results for one call the first counts;
  the second stays an event and is marked.
* CC-5  Hidden reasoning, snapshots and bookkeeping records are left out and counted; text is cut at 32,768 characters
  and says so; secrets are taken out before anything leaves this file.
* CC-6  Nothing in a file can stop the import of another file, or of its own other lines.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from deja_tui.capture import jsonl, times
from deja_tui.capture.importers.claude_records import SOURCE, WRONG_KIND, Reader, unfold
from deja_tui.capture.items import CHUNK, CaptureItem, CaptureSink
from deja_tui.capture.jsonl import Line
from deja_tui.capture.report import FileReport, ImportReport
from deja_tui.errors import DejaError
from deja_tui.text import clean, door

_BATCH_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Batch:
    """At most `CHUNK` items, and the report of their file, which goes on growing until the last batch."""

    items: tuple[CaptureItem, ...]
    report: FileReport


def import_claude_code(
    memory: CaptureSink, path: str | os.PathLike[str], *, now_ms: int, dry_run: bool = False
) -> ImportReport:
    """Read a session file, or every ``*.jsonl`` below a folder in the order of their paths, into ``memory``.

    Symbolic links below a folder are not followed. Running it again adds nothing but what is new in the source.
    With ``dry_run`` everything is read and nothing is stored.

    Raises:
        DejaError: IMP-E001 the path is not there or cannot be read; IMP-E002 it holds no Claude Code session. What
        the memory raises passes through; what was stored until then stays.
    """
    source = Path(path)
    if not os.path.lexists(source):
        raise DejaError("IMP-E001", f"{clean(str(source))} does not exist", "check the path")
    report = ImportReport(SOURCE, dry_run)
    try:
        folder = source.is_dir()
    except OSError as fault:
        raise _unreadable(source, fault) from fault
    if folder:
        _import_folder(memory, source, report, now_ms)
    else:
        file = FileReport(door(source.name))
        _import_file(memory, source, file, now_ms, dry_run)
        report.take(file)
    return report


def read(path: str | os.PathLike[str], *, now_ms: int, name: str | None = None) -> Iterator[Batch]:
    """The items of one session file, in batches, with memory bounded by its longest line and not by its length.

    ``name`` is what reports call the file. Raises IMP-E001 and IMP-E002 as `import_claude_code` does; before
    IMP-E002 no item was given.
    """
    yield from _read(Path(path), FileReport(door(name or Path(path).name)), now_ms)


# --- files ------------------------------------------------------------------------------------------


def _import_folder(memory: CaptureSink, folder: Path, report: ImportReport, now_ms: int) -> None:
    paths, passed = _session_files(folder)
    if not paths and not passed:
        raise DejaError("IMP-E002", f"{clean(str(folder))} holds no .jsonl file", WRONG_KIND)
    foreign = 0
    for path in paths:
        file = FileReport(_below(folder, path))
        try:
            _import_file(memory, path, file, now_ms, report.dry_run)
        except DejaError as fault:
            if fault.code not in ("IMP-E001", "IMP-E002"):
                raise
            if fault.code == "IMP-E002":
                foreign += 1
                file = FileReport(file.file)  # its lines are no lines of ours: they do not count
            file.lose(0, fault.message)
        report.take(file)
    if paths and foreign == len(paths):
        raise DejaError("IMP-E002", f"no file in {clean(str(folder))} is a Claude Code session", WRONG_KIND)
    for name, reason in sorted(passed.items()):
        file = FileReport(name)
        file.lose(0, reason)
        report.take(file)


def _session_files(folder: Path) -> tuple[list[Path], dict[str, str]]:
    """The session files below a folder in the order of their paths, and what was passed by with the reason."""
    found: list[Path] = []
    passed: dict[str, str] = {}

    def failed(fault: OSError) -> None:
        passed[_below(folder, str(fault.filename))] = "the folder cannot be read"

    for root, folders, names in os.walk(folder, onerror=failed):
        linked = [name for name in folders if Path(root, name).is_symlink()]
        for name in (*linked, *names):
            path = Path(root, name)
            if path.is_symlink() and (name in linked or name.endswith(".jsonl")):
                passed[_below(folder, path)] = "a symbolic link, not followed"
            elif name.endswith(".jsonl"):
                found.append(path)
    return sorted(found, key=Path.as_posix), passed  # so that a session comes before its sub-agents


def _below(folder: Path, path: str | Path) -> str:
    return door(Path(path).relative_to(folder).as_posix())


def _import_file(memory: CaptureSink, path: Path, report: FileReport, now_ms: int, dry_run: bool) -> None:
    for batch in _read(path, report, now_ms):
        if batch.items and not dry_run:
            report.stored(memory.capture(batch.items))


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[Batch]:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(0, "not a regular file")
        with path.open("rb") as source:
            first = next((at for line in _lines(path, source) for at in _times(line.value, now_ms)), now_ms)
        with path.open("rb") as source:
            yield from _batches(_lines(path, source), Reader(report, now_ms, first), report)
    except OSError as fault:
        raise _unreadable(path, fault) from fault


def _batches(lines: Iterator[Line], reader: Reader, report: FileReport) -> Iterator[Batch]:
    waiting: list[CaptureItem] = []
    size = 0
    for line in lines:
        reader.feed(line)
        waiting += reader.ready()
        size += line.size
        if len(waiting) >= CHUNK or (waiting and size >= _BATCH_BYTES):
            yield from _chunks(waiting, report)
            waiting, size = [], 0
    waiting += reader.finish()
    report.complete = True
    yield from _chunks(waiting, report)


def _chunks(items: list[CaptureItem], report: FileReport) -> Iterator[Batch]:
    """At least one batch, so that a reader sees the report of a file that holds nothing."""
    for start in range(0, max(len(items), 1), CHUNK):
        yield Batch(tuple(items[start : start + CHUNK]), report)


def _unreadable(path: Path, fault: OSError) -> DejaError:
    why = fault.strerror or type(fault).__name__
    return DejaError(
        "IMP-E001", f"{clean(path.name)} cannot be read: {why}", "check the path and its permissions"
    )


def _lines(path: Path, source: BinaryIO) -> Iterator[Line]:
    """The lines of a file; a document over several lines (the web form, ``.json``) counts as one line."""
    if path.suffix == ".json":
        body = source.read(jsonl.LINE_LIMIT + 1)
        source.seek(0)
        if len(body) <= jsonl.LINE_LIMIT:
            try:
                value = json.loads(body.decode("utf-8-sig"), parse_constant=str)
            except (ValueError, RecursionError):
                value = None  # then it is read line by line, and each line says what is wrong with it
            if isinstance(value, dict) and not jsonl.too_deep(body, value):
                yield Line(1, "value", len(body), value)
                return
    yield from jsonl.lines(source)


def _times(value: Any, now_ms: int) -> Iterator[int]:
    """The usable times in a record, or in the records of the web form."""
    for record in unfold(value):
        at = times.usable(record.get("timestamp"), now_ms) if isinstance(record, dict) else None
        if at is not None:
            yield at
