# SPDX-License-Identifier: Apache-2.0
"""Generic JSON Lines: one fact or one text a line, whatever wrote it.

* PLAIN-1  A record with subject, relation and object is a fact; one with content, text or memory is a note about its
  subject, its user, its session, or "import". A record with a tool name is for the importer of tool logs: a loss here.
* PLAIN-2  A record without an id is known by what it says, so that a file written anew adds only what is new.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from deja_tui.capture import times
from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.known import Known
from deja_tui.capture.reading import records
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.text import clean

KIND: Final = "jsonl"
HINT: Final = "give JSON Lines with subject, relation and object, or with content"
SHAPE: Final = Shape(numbers=("records", "facts", "notes", "non_object_records"))
_TRIPLE: Final = ("subject", "relation", "object")
_TEXTS: Final = ("content", "text", "memory")
_TIMES: Final = ("created_at", "timestamp", "time")
_ABOUT: Final = ("subject", "user_id", "session_id")


def _record(known: Known, line: int, value: Mapping[str, Any]) -> bool:
    stamp = next((value[name] for name in _TIMES if name in value), None)
    at = known.undated() if stamp is None else known.moment(stamp, line)
    changed = times.parse(value.get("updated_at")) or 0
    tags = value.get("tags")
    common: dict[str, Any] = {
        "at": at,
        "record": known.ident(value.get("id")),
        "revision": changed,
        "tags": tags if isinstance(tags, list) else (),
    }
    marks = {name: value[name] for name in ("confidence", "user_id", "session_id") if name in value}
    triple = [value.get(name) for name in _TRIPLE]
    if all(isinstance(part, str) for part in triple):
        known.counts.count("facts")
        subject, relation, other = map(str, triple)
        valid: dict[str, Any] = {name: value.get(name) for name in ("valid_from", "valid_to")}
        return known.fact(subject, relation, other, line=line, **common, **valid, **marks)
    text = next((value[name] for name in _TEXTS if isinstance(value.get(name), str)), "")
    about = next((told for name in _ABOUT if (told := known.ident(value.get(name)))), "import")
    known.counts.count("notes", int(bool(text.strip())))
    return known.note(about, text, **common, **marks)


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    known = Known(KIND, report, now_ms)
    found = False
    for line in records(path, known):
        if not isinstance(line.value, dict):
            known.counts.count("non_object_records")
            report.lose(line.number, "not an object")
            continue
        known.counts.count("records")
        if _record(known, line.number, line.value):
            found = True
        else:
            report.lose(line.number, "neither a fact nor a text")
        yield known.ready()
    if not found:
        raise DejaError("IMP-E002", f"{clean(path.name)} holds neither facts nor texts", HINT)
    yield from known.rest()


def _guess(probe: Probe) -> str | None:
    for record in probe.objects():
        if all(isinstance(record.get(name), str) for name in _TRIPLE) and "type" not in record:
            return "records with subject, relation and object"
    return None


JSONL: Final = Source(
    kind=KIND,
    title="JSON Lines of facts or texts",
    suffixes=(".jsonl",),
    guess=_guess,
    read=_read,
    figures=lambda: Counts(SHAPE),
    hint=HINT,
)
