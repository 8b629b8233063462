# SPDX-License-Identifier: Apache-2.0
"""A Basic Memory vault: a folder of Markdown notes with front matter, observations and relations; or one of its notes.

* BM-1  A note is a document below ``/memories/basic-memory/``, whole; each ``- [category] text`` is a note about it, each
  ``- relation [[Other]]`` a fact, each other ``[[link]]`` a fact ``links_to``.
* BM-2  A task box (``- [ ]``, ``- [x]``) is no observation, and what stands in a code fence is neither.
* BM-3  Front matter may be absent, broken, behind a byte-order mark, or end its lines with CR LF. Broken front matter is
  told and the text is taken whole.
* BM-4  A note is known by its path, an observation or relation by what it says in its note: a note that was edited is the
  document's next version, and only new lines are new.
* BM-5  The vault is read whole, since only then it is known which relations lead nowhere. Links are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from deja_tui.capture import files, jsonl, times
from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.ids import Ids
from deja_tui.capture.known import Known
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.text import clean, fold

KIND: Final = "basic-memory"
HINT: Final = "give the folder of the vault, or one note (.md)"
SHAPE: Final = Shape(
    numbers=(
        "notes",
        "with_front_matter",
        "broken_front_matter",
        "observations",
        "relations",
        "inline_links",
        "relations_to_missing_notes",
        "notes_with_bom",
        "notes_with_crlf",
        "empty_notes",
        "permalinks_used_twice",
    )
)
_OBSERVATION: Final = re.compile(r"^\s*[-*] \[([^\[\]]{1,80})\]\s+(\S.*)$")
_TASK: Final = frozenset((" ", "x", "X", "-"))
_RELATION: Final = re.compile(r"^\s*[-*]\s+([^\[\]]{1,120}?)\s*\[\[([^\[\]]{1,300})\]\]\s*(?:\(.*\))?\s*$")
_LINK: Final = re.compile(r"\[\[([^\[\]]{1,300})\]\]")
_TAG: Final = re.compile(r"(?:^|\s)#([\w-]{1,80})")


@dataclass(slots=True)
class Note:
    """One file of the vault, taken apart."""

    path: str
    text: str
    meta: Mapping[str, Any]
    observations: list[tuple[str, str]] = field(default_factory=list)
    relations: list[tuple[str, str]] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        told = self.meta.get("title")
        return told if isinstance(told, str) and told else Path(self.path).stem


def parse(path: str, text: str) -> tuple[Note, str]:
    """A note and what is to be said of its front matter: "", "whole" or "broken" (BM-3)."""
    lines = text.split("\n")
    meta: dict[str, Any] = {}
    state, body = "", lines
    if lines and lines[0].strip() == "---":
        end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
        if end is None:
            state = "broken"
        else:
            told = _front(lines[1:end])
            state, body = ("broken" if told is None else "whole"), lines[end + 1 :]
            meta = told or {}
    note = Note(path, text, meta)
    fenced = False
    for line in body:
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            _line(note, line)
    return note, state


def _front(lines: list[str]) -> dict[str, Any] | None:
    """Names and values, or lists of values; None when a line is neither."""
    found: dict[str, Any] = {}
    last = ""
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        item = re.match(r"\s*- (.*)$", line)
        if item and last:
            held = found.get(last)
            found[last] = [*(held if isinstance(held, list) else []), item[1].strip().strip("\"'")]
            continue
        name, colon, value = line.partition(":")
        if not colon or line[:1].isspace():
            return None
        last = name.strip()
        found[last] = _scalar(value.strip())
    return found


def _scalar(value: str) -> Any:
    if value.startswith("[") and value.endswith("]"):
        return [one.strip().strip("\"'") for one in value[1:-1].split(",") if one.strip()]
    return value.strip("\"'")


def _line(note: Note, line: str) -> None:
    seen = _OBSERVATION.match(line)
    if seen and not line.split("]", 1)[0].lstrip(" -*").startswith("[["):
        if seen[1] not in _TASK:
            note.observations.append((seen[1], seen[2].strip()))
        return
    related = _RELATION.match(line)
    if related and related[1].strip():
        note.relations.append((related[1].strip(), related[2].strip()))
        return
    note.links += [link.strip() for link in _LINK.findall(line)]


def _tags(note: Note, text: str = "") -> list[str]:
    told = note.meta.get("tags")
    listed = told if isinstance(told, list) else told.split(",") if isinstance(told, str) else []
    return [str(tag).strip() for tag in (*listed, *_TAG.findall(text)) if str(tag).strip()]


def _store(known: Known, note: Note, stamp: int) -> None:
    told = next(
        (note.meta[name] for name in ("modified", "updated", "created", "date") if note.meta.get(name)), None
    )
    at = known.undated() if told is None else known.moment(told)
    revision = times.parse(told) or stamp
    known.document(f"basic-memory/{note.path}", note.text, at=at, record=note.path, revision=revision)
    for category, text in note.observations:
        known.note(note.title, text, at=at, scope=note.path, tags=_tags(note, text), category=category)
    for relation, other in note.relations:
        known.fact(note.title, relation, other, at=at, scope=note.path)
    for link in note.links:
        known.fact(note.title, "links_to", link, at=at, scope=note.path)


class _Names:
    """What the notes of a vault are called, and what their relations lead to (BM-5)."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._names = Ids()
        self._links = Ids()
        self._ends = Ids()

    def add(self, note: Note) -> None:
        link = note.meta.get("permalink")
        for name in (note.title, str(link or ""), Path(note.path).stem):
            self._names.put(fold(name))
        if link:
            self._counts.count("permalinks_used_twice", int(self._links.bump(str(link)) == 2))
        self._counts.count("observations", len(note.observations))
        self._counts.count("relations", len(note.relations))
        self._counts.count("inline_links", len(note.links))
        for _, other in note.relations:
            self._ends.bump(fold(other))

    def count(self) -> None:
        missing = sum(int(times) for end, times in self._ends.items() if end not in self._names)
        self._counts.count("relations_to_missing_notes", missing)


def _notes(known: Known, vault: Path) -> Iterator[tuple[Note, int]]:
    folder = vault.is_dir()
    paths, passed = files.found_below(vault, (".md",)) if folder else ([files.checked(vault)], {})
    for name, reason in sorted(passed.items()):
        known.report.lose(0, f"{name}: {reason}")
    for path in paths:
        name = files.below(vault if folder else vault.parent, path)
        try:
            with path.open("rb") as source:
                raw = source.read(jsonl.LINE_LIMIT)
            stamp = int(path.stat().st_mtime * 1000)
        except OSError as fault:
            known.report.lose(0, f"{name}: cannot be read: {fault.strerror}")
            continue
        yield _one(known, name, raw), stamp


def _one(known: Known, name: str, raw: bytes) -> Note:
    counts = known.counts
    counts.count("notes")
    counts.count("notes_with_bom", int(raw.startswith(b"\xef\xbb\xbf")))
    counts.count("notes_with_crlf", int(b"\r\n" in raw))
    counts.count("empty_notes", int(not raw.strip()))
    text = raw.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    if "\ufffd" in text and "\ufffd".encode() not in raw:
        known.report.note(0, f"{clean(name)}: not UTF-8 everywhere, the odd bytes are shown as a mark")
    note, state = parse(name, text)
    counts.count("with_front_matter", int(state == "whole"))
    counts.count("broken_front_matter", int(state == "broken"))
    if state == "broken":
        known.report.note(0, f"{clean(name)}: front matter that cannot be read, the text is taken whole")
    return note


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    if not path.is_dir() and path.suffix.lower() != ".md":
        raise DejaError("IMP-E002", f"{clean(path.name)} is neither a folder nor a note", HINT)
    known = Known(KIND, report, now_ms)
    names, found = _Names(known.counts), False
    for note, stamp in _notes(known, path):
        found = True
        if note.text.strip():
            _store(known, note, stamp)
        names.add(note)
        yield known.ready()
    if not found:
        raise DejaError("IMP-E002", f"{clean(path.name)} holds no note", HINT)
    names.count()
    yield from known.rest()


def _guess(probe: Probe) -> str | None:
    if not probe.folder:
        told = any(name in probe.head for name in (b"\ntitle:", b"\npermalink:"))
        marked = told and probe.head.removeprefix(b"\xef\xbb\xbf").startswith(b"---")
        return "a note with title or permalink" if probe.name.lower().endswith(".md") and marked else None
    notes = [name for name in probe.names if name.endswith(".md")]
    return "a folder of Markdown notes" if probe.folder and len(notes) * 2 > len(probe.names) else None


BASIC_MEMORY: Final = Source(
    kind=KIND,
    title="a Basic Memory vault",
    suffixes=(),
    guess=_guess,
    read=_read,
    figures=lambda: Counts(SHAPE),
    hint=HINT,
)
