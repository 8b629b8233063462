# SPDX-License-Identifier: Apache-2.0
"""A LangGraph store: the SQLite file of its store, or its items as JSON Lines.

* LANG-1  An item is a note about its namespace; its key identifies it, and its ``updated_at`` is its revision.
* LANG-2  A value of any shape is taken: the one text it holds (``content``, ``prompt``, ``text`` …, also one level deeper)
  or, for a record of several, its compact JSON.
* LANG-3  The file is opened read-only and immutable: nothing is written beside it. A file that is being written by
  another program should be copied first, and the report says so when a log lies beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from deja_tui.capture import files, times
from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.jsonl import LINE_LIMIT
from deja_tui.capture.known import Known
from deja_tui.capture.reading import records
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source
from deja_tui.capture.talk import parsed
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.store.connection import set_distrust
from deja_tui.text import clean, compact_json, fold

KIND: Final = "langgraph"
HINT: Final = "give the store's SQLite file, or its items as JSON Lines"
SHAPE: Final = Shape(
    numbers=("items", "duplicate_groups_after_nfc_casefold"),
    sets=("namespaces",),
    facts=("tables", "columns"),
)
_TEXTS: Final = ("content", "text", "prompt", "memory", "value", "data")
_SQLITE: Final = b"SQLite format 3\x00"


def says(value: Any) -> str:
    """The text of a stored value (LANG-2)."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        told = next((value[name] for name in _TEXTS if name in value), None)
        if isinstance(told, str):
            return told
        if isinstance(told, Mapping):
            inner = next((told[name] for name in _TEXTS if isinstance(told.get(name), str)), None)
            return inner if inner is not None else compact_json(dict(told))
    return "" if value is None else compact_json(value)


def _item(known: Known, number: int, prefix: str, key: Any, value: Any, made: Any, changed: Any) -> str:
    known.counts.count("items")
    known.counts.see("namespaces", prefix)
    at = known.moment(changed or made, number)
    revision = times.parse(changed) or times.parse(made) or 0
    record = f"{prefix}/{known.ident(key)}"
    kind = value.get("kind") if isinstance(value, Mapping) else None
    text = says(value)
    if not known.note(prefix, text, at=at, record=record, revision=revision, kind=kind):
        known.report.lose(number, "an item without a value")
    return text


def _rows(path: Path, known: Known) -> Iterator[tuple[int, str, Any, Any, Any, Any]]:
    import apsw

    wal = path.with_name(path.name + "-wal")
    if wal.exists() and wal.stat().st_size:
        known.report.note(
            0, "a log of writes lies beside the file and is not read: copy the store while it rests"
        )
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        connection = apsw.Connection(path.resolve().as_uri() + "?immutable=1", flags=flags)
        set_distrust(connection)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, LINE_LIMIT)
        names = [
            row[0]
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name")
        ]
        if "store" not in names:
            raise DejaError("IMP-E002", f"{clean(path.name)} has no table of a LangGraph store", HINT)
        columns = [row[1] for row in connection.execute("PRAGMA table_info(store)")]
        known.counts.tell("tables", names)
        known.counts.tell("columns", columns)
        query = "SELECT rowid, prefix, key, value, created_at, updated_at FROM store ORDER BY updated_at, prefix, key"
        for number, prefix, key, value, made, changed in connection.execute(query):
            yield int(number), str(prefix).replace(".", "/"), key, parsed(value), made, changed
        connection.close()
    except (apsw.Error, UnicodeDecodeError) as fault:
        why = "text that is none" if isinstance(fault, UnicodeDecodeError) else clean(str(fault), 120)
        raise DejaError("IMP-E002", f"{clean(path.name)} cannot be read as a store: {why}", HINT) from fault


def _lines(path: Path, known: Known) -> Iterator[tuple[int, str, Any, Any, Any, Any]]:
    for line in records(path, known):
        value = line.value
        space = value.get("namespace", value.get("prefix")) if isinstance(value, dict) else None
        if not isinstance(space, (list, str)) or "value" not in value:
            known.report.lose(line.number, "no item of a store")
            continue
        prefix = space.replace(".", "/") if isinstance(space, str) else "/".join(map(str, space))
        yield (
            line.number,
            prefix,
            value.get("key"),
            value["value"],
            value.get("created_at"),
            value.get("updated_at"),
        )


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    known = Known(KIND, report, now_ms)
    files.checked(path)
    with path.open("rb") as source:
        database = source.read(len(_SQLITE)) == _SQLITE
    said: dict[str, int] = {}
    found = False
    for number, prefix, key, value, made, changed in (_rows if database else _lines)(path, known):
        found = True
        text = fold(_item(known, number, prefix, key, value, made, changed))
        said[text] = said.get(text, 0) + 1
        yield known.ready()
    if not found and not database:
        raise DejaError("IMP-E002", f"{clean(path.name)} holds no item of a store", HINT)
    if not database:
        known.counts.tell("tables", None)
    known.counts.count("duplicate_groups_after_nfc_casefold", sum(count > 1 for count in said.values()))
    yield from known.rest()


def _guess(probe: Probe) -> str | None:
    if probe.head.startswith(_SQLITE):
        told = b"store_migrations" in probe.head or b"CREATE TABLE store" in probe.head
        return "a SQLite file with the tables of a store" if told else None
    for record in probe.objects():
        if {"key", "value"} <= record.keys() and ({"namespace", "prefix"} & record.keys()):
            return "items with namespace, key and value"
    return None


LANGGRAPH: Final = Source(
    kind=KIND,
    title="LangGraph stores",
    suffixes=(".jsonl", ".db", ".sqlite"),
    guess=_guess,
    read=_read,
    figures=lambda: Counts(SHAPE),
    hint=HINT,
)
