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
  D32's file digest on purpose: a session file grows, and its records must keep their keys when it does. A turn or call with
  neither id nor time is known by the first record of its file and its place among the records as well, so that what was
  said twice, in one file or in two, is kept twice; a copy, a grown file and a hook that reads piece by piece add nothing.
* CC-4  A failure is ``is_error: true`` of a tool result, nothing else. Of two results for one call the first counts;
  the second stays an event and is marked.
* CC-5  Hidden reasoning, snapshots and bookkeeping records are left out and counted; text is cut at 32,768 characters
  and says so; secrets are taken out before anything leaves this file.
* CC-6  Nothing in a file can stop the import of another file, or of its own other lines.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from deja_tui.capture import files, jsonl, times
from deja_tui.capture.importers.claude_records import SOURCE, WRONG_KIND, Reader, unfold
from deja_tui.capture.jsonl import Line
from deja_tui.capture.report import FileReport, ImportReport, Tally
from deja_tui.capture.source import Probe, Source
from deja_tui.items import CaptureItem, CaptureSink
from deja_tui.text import door

_KINDS: Final = frozenset(("user", "assistant", "summary", "file-history-snapshot"))


@dataclass(frozen=True, slots=True)
class Batch:
    """At most `CHUNK` items, and the report of their file, which goes on growing until the last batch."""

    items: tuple[CaptureItem, ...]
    report: FileReport


def import_claude_code(
    memory: CaptureSink, path: str | os.PathLike[str], *, now_ms: int, dry_run: bool = False
) -> ImportReport:
    """Read a session file, or every ``*.jsonl`` below a folder, into ``memory``; `files.import_path` for this source."""
    return files.import_path(memory, CLAUDE_CODE, path, now_ms=now_ms, dry_run=dry_run)


def read(path: str | os.PathLike[str], *, now_ms: int, name: str | None = None) -> Iterator[Batch]:
    """The items of one session file, in batches, with memory bounded by its longest line and not by its length.

    At least one batch, so that a reader sees the report of a file that holds nothing. ``name`` is what reports call
    the file. Raises IMP-E001 and IMP-E002; before IMP-E002 no item was given.
    """
    report = FileReport(door(name or Path(path).name))
    given = False
    try:
        for items in files.chunks(_read(Path(path), report, now_ms)):
            given = True
            yield Batch(items, report)
    except OSError as fault:
        raise files.unreadable(Path(path), fault) from fault
    if not given:
        yield Batch((), report)


def _guess(probe: Probe) -> str | None:
    if probe.folder:
        told = any(name.endswith(".jsonl") for name in probe.names) and "projects" in probe.path.parts
        return "a folder of session files below projects" if told else None
    for record in probe.objects():
        if isinstance(record.get("loglines"), list):
            return "the web form of a session: loglines"
        if record.get("type") in _KINDS and (
            "sessionId" in record or "uuid" in record or "leafUuid" in record
        ):
            return "records with type, uuid and sessionId"
    return None


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    files.checked(path)
    with path.open("rb") as source:
        first = next((at for line in _lines(path, source) for at in _times(line.value, now_ms)), now_ms)
    with path.open("rb") as source:
        yield from _ready(_lines(path, source), Reader(report, now_ms, first), report)


def _ready(lines: Iterator[Line], reader: Reader, report: FileReport) -> Iterator[list[CaptureItem]]:
    for line in lines:
        reader.feed(line)
        yield list(reader.ready())
    items = list(reader.finish())
    report.complete = True
    yield items


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


CLAUDE_CODE: Final = Source(
    kind=SOURCE,
    title="Claude Code sessions",
    suffixes=(".jsonl",),
    guess=_guess,
    read=_read,
    figures=Tally,
    hint=WRONG_KIND,
)
