# SPDX-License-Identifier: Apache-2.0
"""A growing Claude Code transcript, read in pieces (HOOK-2)."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping

import xxhash

from deja_tui.capture import jsonl
from deja_tui.capture.importers.claude_records import Reader
from deja_tui.capture.report import FileReport, Tally
from deja_tui.capture.tame import digest
from deja_tui.capture.times import usable
from deja_tui.items import CaptureItem
from deja_tui.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

PIECE: Final = 8 * 1024 * 1024
_HEAD: Final = 256
_ROLES: Final = ("user", "assistant")


class Piece(Record):
    """What one reading gave.

    Attributes:
        items: to store; ``cursor`` is to be kept in the same act.
        cursor: where the next reading begins: offset (bytes), records before it, the last time known (epoch ms), a digest
            of the head of the file, so that another file under the same name is read from its beginning; ``seen``: size and
            time of the file when it was read to its end.
        more: whether there is more to read now.
        redacted: how many secrets were taken out.
    """

    _fields = ("items", "cursor", "more", "redacted")
    __slots__ = _fields

    def __init__(
        self, items: tuple[CaptureItem, ...], cursor: dict[str, Any], more: bool, redacted: int
    ) -> None:
        self.items = items
        self.cursor = cursor
        self.more = more
        self.redacted = redacted


def read(
    path: str, cursor: Mapping[str, Any] | None, *, session: str, now_ms: int, redacts: bool = True
) -> Piece | None:
    """The next piece of a transcript, None when nothing is new.

    ``session``: for records that name none. ``redacts``: secrets are taken out. Raises OSError when the file cannot be read, IMP-E002 when it is no transcript.
    """
    with open(path, "rb") as source:
        found = os.fstat(source.fileno())
        size = found.st_size
        start = _start(source, cursor, size)
        if start >= size:
            return None
        source.seek(start)
        raw = _whole_lines(source, size - start)
    fresh = start == 0
    before = dict(cursor or {}) if not fresh else {}
    piece = _piece(path, raw, start, size, before, session, now_ms, redacts)
    if not piece.more:
        piece.cursor["seen"] = [size, found.st_mtime_ns]
    return piece


def _start(source: io.BufferedReader, cursor: Mapping[str, Any] | None, size: int) -> int:
    offset = (cursor or {}).get("offset")
    if type(offset) is not int or not 0 < offset <= size:
        return 0
    return offset if _head(source, offset) == (cursor or {}).get("head") else 0


def _head(source: io.BufferedReader, offset: int) -> str:
    source.seek(0)
    return xxhash.xxh3_64_hexdigest(source.read(min(offset, _HEAD)))


def _whole_lines(source: io.BufferedReader, left: int) -> bytes:
    """At least a line where there is one, about `PIECE` bytes at most."""
    raw = source.read(min(left, PIECE))
    if len(raw) == left:
        return raw
    end = raw.rfind(b"\n")
    return raw[: end + 1] if end >= 0 else raw + source.readline(jsonl.LINE_LIMIT)


def _piece(
    path: str,
    raw: bytes,
    start: int,
    size: int,
    before: Mapping[str, Any],
    session: str,
    now_ms: int,
    redacts: bool,
) -> Piece:
    lines = list(_lines(raw, start))
    known = before.get("at")
    first = (
        known if type(known) is int else next((at for _, line in lines for at in _time(line, now_ms)), now_ms)
    )
    tally = Tally()
    report = FileReport(os.path.basename(path), tally, redacts=redacts)
    records = before.get("records")
    known_records = records if type(records) is int else None
    head_of = None if known_records is None else lambda: _first_record(path, session)
    reader = Reader(report, now_ms, first, records=known_records, head=head_of)
    items: list[CaptureItem] = []
    again = _Again(start, tally.records)
    for offset, line in lines:
        if line.kind == "torn":
            again.torn(offset, tally.records)
            break
        if not isinstance(value := line.value, dict):
            reader.feed(line)
        else:
            again.look(offset, tally.records, value)
            reader.feed(jsonl.Line(line.number, line.kind, line.size, _typed(value, session)))
        items += reader.ready()
        if not raw.endswith(b"\n") and offset + line.size == start + len(raw):
            again.torn(offset, again.last)  # whole, but its writer may not have ended it
    items += reader.finish()
    offset, count = again.place(start + len(raw), tally.records)
    times = [item.fields["created_at"] for item in items if item.at_known]
    at = max(times) if times else first
    with open(path, "rb") as source:
        head = _head(source, offset)
    kept = {"offset": offset, "records": count, "at": at, "head": head}
    more = start + len(raw) < size
    return Piece(tuple(items), kept, more, tally.redacted.total())


class _Again:
    """Where the next reading begins: at the last reply, which may have grown, and never past a torn line."""

    def __init__(self, start: int, records: int) -> None:
        self._start = start
        self._reply: tuple[int, int] | None = None
        self._id: object = None
        self._torn: tuple[int, int] | None = None
        self.last = records

    def look(self, offset: int, records: int, record: Mapping[str, Any]) -> None:
        self.last = records
        message = record.get("message")
        if not isinstance(message, dict) or message.get("role") != "assistant":
            return
        if self._reply is None or message.get("id") is None or message.get("id") != self._id:
            self._reply, self._id = (offset, records), message.get("id")

    def torn(self, offset: int, records: int) -> None:
        self._torn = (offset, records)

    def place(self, end: int, records: int) -> tuple[int, int]:
        places = [
            place for place in (self._torn, self._reply) if place is not None and place[0] > self._start
        ]
        return min(places, default=self._torn or (end, records))


def _lines(raw: bytes, start: int) -> Iterator[tuple[int, jsonl.Line]]:
    """(offset, line) of what is not blank."""
    offset, source = start, io.BytesIO(raw)
    for number, one in enumerate(source, 1):
        line = jsonl.parsed(number, one)
        if line is not None:
            yield offset, line
        offset += len(one)


def _first_record(path: str, session: str) -> str:
    """The digest of the first record of a transcript, by which a reader from its beginning knows the file."""
    with open(path, "rb") as source:
        for line in jsonl.lines(source):
            if isinstance(line.value, dict):
                return digest(_typed(line.value, session))
    return ""


def _time(line: jsonl.Line, now_ms: int) -> Iterator[int]:
    at = usable(line.value.get("timestamp"), now_ms) if isinstance(line.value, dict) else None
    if at is not None:
        yield at


def _typed(record: dict[str, Any], session: str) -> dict[str, Any]:
    """A record of the other shape, a message alone, as one of the usual shape."""
    message = record.get("message")
    if "type" in record or not isinstance(message, dict) or message.get("role") not in _ROLES:
        return record
    given = {"type": message["role"]}
    return {**given, "sessionId": session, **record} if session else {**given, **record}
