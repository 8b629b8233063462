# SPDX-License-Identifier: Apache-2.0
"""The file of the MCP reference memory server: entities with observations, and relations, as JSON Lines.

* MCPM-1  An observation is a note about its entity, the kind of an entity a fact ``is_a``, a relation a fact between two
  names. Lines with and without ``type`` are told apart by their fields.
* MCPM-2  The file keeps no ids: a record is known by what it says, so an observation that is written twice under one entity
  is two notes, and a file that was written anew adds only what is new.
* MCPM-3  A relation to a name that no entity has is kept and counted.
* MCPM-4  A file that somebody repaired into one JSON array reads as the same records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.ids import Ids
from deja_tui.capture.known import Known
from deja_tui.capture.reading import elements, is_array, records
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source
from deja_tui.capture.talk import text_of
from deja_tui.capture.tame import digest
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.text import clean, fold

KIND: Final = "mcp-memory"
HINT: Final = "give the memory.jsonl of the server"
SHAPE: Final = Shape(
    numbers=(
        "records",
        "entities",
        "relations",
        "observations",
        "relations_to_missing_entities",
        "duplicate_relations",
        "names_equal_after_casefold",
        "duplicate_observations_after_casefold",
        "other_records",
    ),
    sets=("distinct_names",),
    facts=("has_type_key",),
)


class _Graph:
    """What counting needs of a whole file: names, relations and observations that were seen."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self.names, self._folded = Ids(), Ids()
        self._ends, self._relations, self._observations = Ids(), Ids(), Ids()

    def entity(self, name: str) -> None:
        if self.names.add(name) and not self._folded.add(fold(name)):
            self._counts.count("names_equal_after_casefold")

    def relation(self, subject: str, relation: str, other: str) -> None:
        self._ends.bump(f"{subject}\0{other}")
        if not self._relations.add(digest([subject, relation, other])):
            self._counts.count("duplicate_relations")

    def observation(self, name: str, text: str) -> None:
        if not self._observations.add(digest([name, fold(text)])):
            self._counts.count("duplicate_observations_after_casefold")

    def finish(self) -> None:
        """An entity may stand behind a relation that names it, so the missing ones are known at the end."""
        for ends, count in self._ends.items():
            if not all(name in self.names for name in ends.split("\0", 1)):
                self._counts.count("relations_to_missing_entities", int(count))


def _entity(known: Known, line: int, value: Mapping[str, Any], graph: _Graph) -> None:
    name, kind = value.get("name"), value.get("entityType")
    if not isinstance(name, str) or not name.strip():
        known.report.lose(line, "an entity without a name")
        return
    known.counts.count("entities")
    known.counts.see("distinct_names", name)
    graph.entity(name)
    at = known.moment(value["created_at"], line) if "created_at" in value else known.undated()
    if isinstance(kind, str) and kind.strip():
        known.fact(name, "is_a", kind, at=at, scope=name)
    told = value.get("observations")
    for one in told if isinstance(told, list) else ():
        text = text_of(one)
        known.counts.count("observations")
        graph.observation(name, text)
        if not known.note(name, text, at=at, scope=name):
            known.report.lose(line, "an observation without text")


def _relation(known: Known, line: int, value: Mapping[str, Any], graph: _Graph) -> None:
    parts = [value.get(name) for name in ("from", "relationType", "to")]
    if not all(isinstance(part, str) and part for part in parts):
        known.report.lose(line, "a relation without both names")
        return
    subject, relation, other = map(str, parts)
    known.counts.count("relations")
    graph.relation(subject, relation, other)
    known.fact(subject, relation, other, at=known.undated())


def _records(path: Path, known: Known) -> Iterator[tuple[int, Any]]:
    """The records with their numbers: of lines, or where somebody made an array of the file, of its elements."""
    if is_array(path):
        yield from enumerate(elements(path, known.report, kind="memory file", hint=HINT), 1)
    else:
        yield from ((line.number, line.value) for line in records(path, known))


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    known = Known(KIND, report, now_ms)
    graph, typed, any_known = _Graph(known.counts), False, False
    for number, value in _records(path, known):
        if not isinstance(value, dict):
            report.lose(number, "not an object")
            continue
        known.counts.count("records")
        kind = value.get("type")
        typed = typed or kind in ("entity", "relation")
        if "entityType" in value or (kind == "entity" and "name" in value):
            any_known = True
            _entity(known, number, value, graph)
        elif "relationType" in value or {"from", "to"} <= value.keys():
            any_known = True
            _relation(known, number, value, graph)
        else:
            known.counts.count("other_records")
            report.lose(number, "neither an entity nor a relation")
        yield known.ready()
    if not any_known:
        raise DejaError("IMP-E002", f"{clean(path.name)} is no memory file of the server", HINT)
    known.counts.tell("has_type_key", typed)
    graph.finish()
    yield from known.rest()


def _guess(probe: Probe) -> str | None:
    listed = probe.whole if isinstance(probe.whole, list) else ()
    for record in (*probe.objects(), *(one for one in listed[:8] if isinstance(one, dict))):
        if "entityType" in record and "observations" in record:
            return "entities with observations"
        if "relationType" in record and "from" in record:
            return "relations with from and to"
    return None


MCP_MEMORY: Final = Source(
    kind=KIND,
    title="MCP memory files",
    suffixes=(".jsonl", ".json"),
    guess=_guess,
    read=_read,
    figures=lambda: Counts(SHAPE),
    hint=HINT,
)
