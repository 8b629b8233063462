# SPDX-License-Identifier: Apache-2.0
"""Reading a file as records, for formats that are JSON Lines or one JSON document (rules JSONL-1 to JSONL-5).

* READ-1  Whole documents are bounded: one longer than `jsonl.LINE_LIMIT` bytes is refused with IMP-E004 instead of being held
  in memory; JSON Lines have no limit but that of a line.
* READ-2  A document that holds JSON inside a JSON text (double-encoded) is unpacked once, and told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deja_tui.capture import files, jsonl
from deja_tui.capture.desk import Desk
from deja_tui.capture.jsonl import Line
from deja_tui.capture.report import FileReport
from deja_tui.errors import DejaError
from deja_tui.text import clean


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
        raise DejaError(
            "IMP-E004",
            f"{clean(path.name)} is one document of more than {jsonl.LINE_LIMIT // 2**20} MiB",
            "split it, or export it as JSON Lines",
        )
    value = _value(jsonl.body(body))
    if value is _NOTHING:
        raise DejaError("IMP-E002", f"{clean(path.name)} is no {kind}: not JSON", hint)
    if isinstance(value, str):
        inner = _value(value.encode("utf-8", "surrogatepass"))
        if inner is not _NOTHING:
            report.note(0, "JSON inside a JSON text: unpacked")
            return inner
    return value


class _Nothing:
    """What no JSON text reads as."""


_NOTHING = _Nothing()


def _value(body: bytes) -> Any:
    try:
        value = json.loads(body.decode("utf-8", "surrogatepass"), parse_constant=str)
    except (ValueError, RecursionError):
        return _NOTHING
    return _NOTHING if jsonl.too_deep(body, value) else value
