# SPDX-License-Identifier: Apache-2.0
"""Reading a file as records, for formats that are JSON Lines or one JSON document (rules JSONL-1 to JSONL-5).

* READ-1  Whole documents are bounded: one longer than `jsonl.LINE_LIMIT` bytes is refused with IMP-E004 instead of being held
  in memory; JSON Lines have no limit but that of a line, and one JSON array none but that of an element.
* READ-2  A document that holds JSON inside a JSON text (double-encoded) is unpacked once, and told.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from deja_tui import watch
from deja_tui.capture import files, jsonl
from deja_tui.capture.desk import Desk
from deja_tui.capture.jsonl import Line
from deja_tui.capture.report import FileReport
from deja_tui.errors import DejaError
from deja_tui.text import clean

_PIECE: Final = 1024 * 1024
_LOOKED: Final = 4_096
_BLANKS: Final = " \t\r\n"
_BETWEEN: Final = _BLANKS + ","
_DECODER: Final = json.JSONDecoder(parse_constant=str)


def records(path: Path, desk: Desk) -> Iterator[Line]:
    """The lines that hold a value; the others are counted and told (REP-3). Raises IMP-E001, `OSError`."""
    files.checked(path)
    with path.open("rb") as source:
        for line in jsonl.lines(source):
            if line.kind == "value":
                yield line
            elif line.kind == "padding":
                desk.counts.count("padding_lines")
                desk.report.note(line.number, "padding: NUL bytes and nothing else")
            else:
                desk.counts.count("bad_lines")
                again = ": torn, read again by the next import" if line.kind == "torn" else ""
                desk.report.lose(line.number, line.reason + again)


def document(path: Path, report: FileReport, *, kind: str, hint: str) -> Any:
    """The one JSON value of a file. Raises IMP-E001, IMP-E002 (no JSON), IMP-E004 (too long), `OSError`."""
    files.checked(path)
    with path.open("rb") as source:
        body = source.read(jsonl.LINE_LIMIT + 1)
    if len(body) > jsonl.LINE_LIMIT:
        raise too_long(path)
    value = _value(jsonl.body(body))
    if value is _NOTHING:
        raise DejaError("IMP-E002", f"{clean(path.name)} is no {kind}: not JSON", hint)
    if isinstance(value, str):
        inner = _value(value.encode("utf-8", "surrogatepass"))
        if inner is not _NOTHING:
            report.note(0, "JSON inside a JSON text: unpacked")
            return inner
    return value


def is_array(path: Path) -> bool:
    """Whether a file is one JSON array, or the start of one. Raises IMP-E001, `OSError`."""
    files.checked(path)
    with path.open("rb") as source:
        return jsonl.body(source.read(_LOOKED)).startswith(b"[")


def begins_with_a_record(path: Path) -> bool:
    """Whether the first line of a file is a JSON value of its own. Raises `OSError`."""
    with path.open("rb") as source:
        line = source.readline(jsonl.LINE_LIMIT)
    if len(line) == jsonl.LINE_LIMIT:
        return False
    found = jsonl.parsed(1, line)
    return found is not None and found.kind == "value"


def elements(path: Path, report: FileReport, *, kind: str, hint: str) -> Iterator[Any]:
    """The elements of a file that is one JSON array, one after the other; a file that is another value gives that one.

    Raises IMP-E001, IMP-E002 (not JSON before any element), IMP-E004 (an element, or another value, too long),
    `OSError`. What is broken after some elements is a loss, told with the number of the element.
    """
    files.checked(path)
    with path.open("rb") as source:
        start = jsonl.body(source.read(_PIECE))
        if not start.startswith(b"["):
            yield document(path, report, kind=kind, hint=hint)
            return
        source.seek(0)
        text = io.TextIOWrapper(source, encoding="utf-8-sig", errors=jsonl.DAMAGE, newline="")
        yield from _array(text, path, report, kind, hint)


def _array(text: io.TextIOWrapper, path: Path, report: FileReport, kind: str, hint: str) -> Iterator[Any]:
    buffer, number = "", 0
    opened, whole = False, False
    while True:
        piece = text.read(_PIECE)
        buffer += piece
        if watch.is_watched():
            watch.tell(os.lseek(text.fileno(), 0, os.SEEK_CUR) // 1_024, path.stat().st_size // 1_024, "KiB")
        while True:
            rest = buffer.lstrip(_BETWEEN if opened else _BLANKS)
            if not opened:
                if not rest:
                    break
                opened, buffer = True, rest[1:]  # the bracket that `elements` saw
                continue
            if rest.startswith("]"):
                whole = True
                break
            found = _one(rest)
            if found is None:
                buffer = rest
                break
            value, buffer = found
            number += 1
            yield value
        if whole or not piece:
            break
        if len(buffer) > jsonl.LINE_LIMIT:
            raise too_long(path)
    if not whole:
        if not number:
            raise DejaError("IMP-E002", f"{clean(path.name)} is no {kind}: not JSON", hint)
        report.lose(number + 1, "the array breaks off here")


def _one(text: str) -> tuple[Any, str] | None:
    """The value at the start of ``text`` and what follows; None when it is not there whole (yet)."""
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    # a number may go on in the next piece, so a value ends only where something stands behind it
    if not text[end:].lstrip(_BLANKS).startswith((",", "]")):
        return None
    return (None if jsonl.too_deep(text[:end].encode("utf-8", "surrogatepass"), value) else value), text[end:]


def too_long(path: Path) -> DejaError:
    """The coded error of a document, or of a part of one, that is not held."""
    limit = jsonl.LINE_LIMIT // 2**20
    return DejaError(
        "IMP-E004",
        f"{clean(path.name)} is one document, or holds one, of more than {limit} MiB",
        "split it, or export it as JSON Lines",
    )


class _Nothing:
    """What no JSON text reads as."""


_NOTHING = _Nothing()


def _value(body: bytes) -> Any:
    try:
        value = json.loads(body.decode("utf-8", "surrogatepass"), parse_constant=str)
    except (ValueError, RecursionError):
        return _NOTHING
    return _NOTHING if jsonl.too_deep(body, value) else value
