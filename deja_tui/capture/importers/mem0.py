# SPDX-License-Identifier: Apache-2.0
"""mem0: the export of its memories, the rows of its history table, and the front-matter file of its editor plugin.

* MEM0-1  A memory is a note about its user (else agent, run, app): copies under different ids have one subject, so that
  the loop finds them.
* MEM0-2  History is replayed in the order of its times: UPDATE supersedes. What was deleted at the source is not
  brought back to life: of a memory whose last event is DELETE nothing is stored, and it is counted.
* MEM0-3  An export that lacks a memory which an earlier import brought says nothing about it: it stays, and only a
  person forgets it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from deja_tui.capture import files, jsonl, times
from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.ids import Ids, Ordered
from deja_tui.capture.known import Known
from deja_tui.capture.parts import parts
from deja_tui.capture.reading import too_long
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source
from deja_tui.capture.tame import digest
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.text import clean, fold

KIND: Final = "mem0"
HINT: Final = "give what get_all() returns, the rows of the history table, or the plugin's export, as a file"
SHAPE: Final = Shape(
    numbers=(
        "memories",
        "history_events",
        "duplicate_groups_after_nfc_casefold",
        "duplicates",
        "live_after_replay",
    ),
    sets=("users", "chains"),
    groups=("by_event",),
)
_LISTS: Final = ("results", "memories", "history")
_TEXTS: Final = ("memory", "content", "text", "data")
_OWNERS: Final = ("user_id", "agent_id", "run_id", "app_id")
_META: Final = ("categories", "category", "metadata", "score", "role", "hash")


def _owner(value: Mapping[str, Any], known: Known) -> str:
    return next(
        (f"{name.removesuffix('_id')}/{told}" for name in _OWNERS if (told := known.ident(value.get(name)))),
        "memory",
    )


def _memory(known: Known, number: int, value: Mapping[str, Any], said: Ids) -> None:
    text = next((value[name] for name in _TEXTS if isinstance(value.get(name), str)), "")
    record = known.ident(value.get("id")) or known.ident(value.get("memory_id"))
    at = known.moment(value.get("created_at"), number)
    owner = _owner(value, known)
    changed = times.parse(value.get("updated_at")) or times.parse(value.get("created_at")) or 0
    marks = {name: value[name] for name in _META if value.get(name)}
    if not known.note(owner, text, at=at, record=record, revision=changed, **marks):
        known.report.lose(number, "a memory without text")
        return
    known.counts.count("memories")
    known.counts.see("users", owner)
    same = said.bump(digest(fold(text)))
    known.counts.count("duplicate_groups_after_nfc_casefold", int(same == 2))
    known.counts.count("duplicates", int(same > 1))


def _history(known: Known, rows: Iterable[Any]) -> Iterator[list[CaptureItem]]:
    """Events in the order of their times, each memory's last state deciding whether it lives (MEM0-2)."""
    events, last = Ordered(), Ids()
    for number, row in enumerate(rows, 1):
        if isinstance(row, Mapping):
            at_ms = times.parse(row.get("updated_at")) or times.parse(row.get("created_at")) or 0
            events.put(at_ms, number, json.dumps(row))
        else:
            known.report.lose(number, "an event that is no object")
    for _, _, told in events:
        row = json.loads(told)
        last.put(_memory_of(known, row), _event(row))
    for at_ms, number, told in events:
        _replay(known, number, json.loads(told), at_ms, last)
        yield known.ready()
    known.counts.count("live_after_replay", sum(event != "DELETE" for event in last.values()))


def _replay(known: Known, number: int, row: Mapping[str, Any], at_ms: int, last: Ids) -> None:
    event, memory = _event(row), _memory_of(known, row)
    known.counts.count("history_events")
    known.counts.group("by_event", event[:40] or "(none)")
    known.counts.see("chains", memory)
    if last.get(memory) == "DELETE":
        known.counts.left_out["event of a memory deleted at the source"] += 1
    elif event in ("ADD", "UPDATE"):
        _change(known, number, row, memory, at_ms)
    elif event != "NOOP":
        known.report.lose(number, "an event of unknown kind")


def _memory_of(known: Known, row: Mapping[str, Any]) -> str:
    return known.ident(row.get("memory_id") or row.get("id"))


def _event(row: Mapping[str, Any]) -> str:
    told = row.get("event") or row.get("action")
    return told.upper() if isinstance(told, str) else ""


def _change(known: Known, number: int, row: Mapping[str, Any], memory: str, at_ms: int) -> None:
    text = next(
        (row[name] for name in ("new_memory", "new_value", "memory") if isinstance(row.get(name), str)), ""
    )
    at = known.moment(row.get("updated_at") or row.get("created_at"), number)
    marks = {name: row[name] for name in ("role", "actor_id") if row.get(name)}
    if not known.note(_owner(row, known), text, at=at, record=memory, revision=at_ms, **marks):
        known.report.lose(number, "an event without text")


def _front_matter(known: Known, path: Path) -> Iterator[list[CaptureItem]]:
    """The plugin's file: blocks of names and values between rules, each followed by a memory. Raises IMP-E002."""
    said = Ids()
    found = False
    for number, told, text in _blocks(path):
        if "id" in told:
            found = True
            _memory(known, number, {**told, "memory": text}, said)
            yield known.ready()
    if not found:
        raise DejaError("IMP-E002", f"{clean(path.name)} holds no memory of mem0", HINT)


def _blocks(path: Path) -> Iterator[tuple[int, dict[str, Any], str]]:
    """(line of its first rule, names and values, text) of each block. Raises IMP-E004 for one that is too long."""
    rules = begin = size = 0
    meta: list[str] = []
    body: list[str] = []
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            size += len(line)
            if size > jsonl.LINE_LIMIT:
                raise too_long(path)
            if line.strip() != "---":
                (meta if rules % 2 else body).append(line)
                continue
            rules += 1
            if rules % 2:
                if begin:
                    yield begin, _named(meta), "".join(body).strip()
                begin, size, meta, body = number, 0, [], []
    if begin and rules % 2 == 0:
        yield begin, _named(meta), "".join(body).strip()


def _named(lines: list[str]) -> dict[str, Any]:
    told = dict(line.split(":", 1) for line in lines if ":" in line)
    return {name.strip(): text.strip() for name, text in told.items() if text.strip()}


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    known = Known(KIND, report, now_ms)
    if path.suffix.lower() == ".md":
        yield from _front_matter(known, files.checked(path))
        yield from known.rest()
        return
    told = parts(path, report, kind="mem0 export", hint=HINT)
    where = next((name for name in _LISTS if name in told.lists), None)
    empty = not told.first(1, where)
    if not (told.is_list or where) or not (empty or any(map(_ours, told.rows(where)))):
        raise DejaError("IMP-E002", f"{clean(path.name)} is no export of mem0", HINT)
    if any(isinstance(row, dict) and ("event" in row or "action" in row) for row in told.rows(where)):
        yield from _history(known, told.rows(where))
    else:
        yield from _memories(known, told.rows(where))
    yield from known.rest()


def _memories(known: Known, rows: Iterable[Any]) -> Iterator[list[CaptureItem]]:
    said = Ids()
    for number, row in enumerate(rows, 1):
        if isinstance(row, dict):
            _memory(known, number, row, said)
            yield known.ready()
        else:
            known.report.lose(number, "a memory that is no object")


def _ours(row: Any) -> bool:
    return isinstance(row, dict) and (
        ("memory_id" in row) or ("id" in row and any(name in row for name in _TEXTS))
    )


def _guess(probe: Probe) -> str | None:
    if probe.name.endswith(".md"):
        told = probe.head.startswith(b"---\nid:") and b"\ncreated_at:" in probe.head
        return "blocks that begin with an id" if told else None
    for value in probe.values:
        rows = value
        if isinstance(value, dict):
            rows = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None)
        first = next(iter(rows), None) if isinstance(rows, list) else None
        if isinstance(first, dict) and "memory_id" in first and "event" in first:
            return "history rows with memory_id and event"
        if isinstance(first, dict) and "memory" in first and "id" in first:
            return "memories with an id"
    return None


MEM0: Final = Source(
    kind=KIND,
    title="mem0 exports",
    suffixes=(".json", ".md"),
    guess=_guess,
    read=_read,
    figures=lambda: Counts(SHAPE),
    hint=HINT,
)
