# SPDX-License-Identifier: Apache-2.0
"""Zep and Graphiti: a dump of a graph's edges and episodes, conversations, and free user data.

* ZEP-1  An edge is a fact: the source node, the edge's name, the sentence it states, with the times of its validity. An
  edge that the graph expired ended when its validity ended, else when it was expired.
* ZEP-2  An episode is an event of its session; conversations without ids are known by the digest of their first message.
* ZEP-3  User data are free documents: each one is a note.
* ZEP-4  An edge's ``expired_at`` or ``invalid_at`` may come in a later dump: that is a revision (ITEM-5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from deja_tui.capture import times
from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.known import Known
from deja_tui.capture.reading import document
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source
from deja_tui.capture.talk import Talk, text_of
from deja_tui.capture.tame import digest
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.text import clean, compact_json

KIND: Final = "zep"
HINT: Final = "give edges and episodes, conversations with messages, or a list of user data, as one JSON file"
SHAPE: Final = Shape(
    numbers=(
        "records",
        "edges",
        "invalidated",
        "episodes",
        "same_triple_groups",
        "subjects_with_two_live_objects",
        "edges_naming_missing_episodes",
        "edges_with_end_before_start",
        "messages",
    ),
    sets=("sessions",),
)


class _Edges:
    def __init__(self, known: Known, episodes: set[str]) -> None:
        self._known = known
        self._episodes = episodes
        self._triples: Counter[tuple[str, str, str]] = Counter()
        self._live: dict[tuple[str, str], set[str]] = {}

    def feed(self, number: int, edge: Mapping[str, Any]) -> None:
        known, counts = self._known, self._known.counts
        counts.count("edges")
        ends = edge.get("invalid_at") or edge.get("expired_at")
        counts.count("invalidated", int(bool(ends)))
        told = edge.get("episodes")
        missing = (
            [one for one in told if known.ident(one) not in self._episodes] if isinstance(told, list) else []
        )
        counts.count("edges_naming_missing_episodes", int(bool(missing and self._episodes)))
        begins = times.parse(edge.get("valid_at"))
        ended = times.parse(ends)
        counts.count(
            "edges_with_end_before_start", int(begins is not None and ended is not None and ended < begins)
        )
        source, target = known.ident(edge.get("source_node_uuid")), known.ident(edge.get("target_node_uuid"))
        name = edge.get("name") if isinstance(edge.get("name"), str) else ""
        triple = (source, str(name), target)
        self._triples[triple] += 1
        if not ends:
            self._live.setdefault((source, str(name)), set()).add(target)
        revision = max(
            filter(None, (times.parse(edge.get(n)) for n in ("expired_at", "created_at"))), default=0
        )
        stored = known.fact(
            f"zep/{source}" if source else "zep",
            str(name).lower() or "states",
            text_of(edge.get("fact")),
            at=known.moment(edge.get("created_at"), number),
            record=known.ident(edge.get("uuid")),
            revision=revision,
            valid_from=edge.get("valid_at"),
            valid_to=ends,
            line=number,
            target=target,
        )
        if not stored:
            known.report.lose(number, "an edge without a fact")

    def count(self) -> None:
        counts = self._known.counts
        counts.count("same_triple_groups", sum(count > 1 for count in self._triples.values()))
        several = sum(len(found) > 1 for found in self._live.values())
        counts.count("subjects_with_two_live_objects", several)


def _talk(report: FileReport, now_ms: int, conversations: list[Any]) -> Iterator[list[CaptureItem]]:
    talk = Talk(KIND, report, now_ms)
    for number, conversation in enumerate(conversations, 1):
        messages = conversation.get("messages") if isinstance(conversation, dict) else None
        if not isinstance(messages, list):
            report.lose(number, "a conversation without messages")
            continue
        first = next((one for one in messages if isinstance(one, dict)), {})
        named = conversation.get("session_id") or conversation.get("thread_id") or conversation.get("uuid")
        session = talk.ident(named) or digest(first)
        talk.counts.see("sessions", session)
        for message in messages:
            if not isinstance(message, dict):
                report.lose(number, "a message that is no object")
                continue
            talk.counts.count("messages")
            role = message.get("role_type") or message.get("role")
            at = talk.moment(message["created_at"], number) if "created_at" in message else talk.undated()
            word = role if isinstance(role, str) else "user"
            record = talk.ident(message.get("uuid"))
            talk.turn(word, text_of(message.get("content")), session=session, at=at, record=record)
        yield talk.ready()
    yield from talk.rest()


def _episodes(talk: Talk, episodes: list[Any]) -> None:
    for number, episode in enumerate(episodes, 1):
        if not isinstance(episode, dict):
            talk.report.lose(number, "an episode that is no object")
            continue
        talk.counts.count("episodes")
        session = talk.ident(episode.get("thread_id") or episode.get("session_id"))
        if session:
            talk.counts.see("sessions", session)
        role = episode.get("role_type") if isinstance(episode.get("role_type"), str) else "user"
        at = talk.moment(episode.get("created_at"), number)
        record = talk.ident(episode.get("uuid"))
        talk.turn(str(role), text_of(episode.get("content")), session=session, at=at, record=record)


def _graph(report: FileReport, now_ms: int, value: Mapping[str, Any]) -> Iterator[list[CaptureItem]]:
    edges, episodes = (
        told if isinstance(told := value.get(name), list) else [] for name in ("edges", "episodes")
    )
    talk = Talk(KIND, report, now_ms)
    _episodes(talk, episodes)
    yield talk.ready()
    known = Known(KIND, report, now_ms)
    ids = {known.ident(episode.get("uuid")) for episode in episodes if isinstance(episode, dict)}
    reader = _Edges(known, ids)
    for number, edge in enumerate(edges, 1):
        if isinstance(edge, dict):
            reader.feed(number, edge)
        else:
            report.lose(number, "an edge that is no object")
        yield known.ready()
    reader.count()
    yield from known.rest()


def _free(report: FileReport, now_ms: int, rows: list[Any]) -> Iterator[list[CaptureItem]]:
    known = Known(KIND, report, now_ms)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not row:
            report.lose(number, "user data that is no object")
            continue
        known.counts.count("records")
        inner = next(iter(row.values()))
        stamp = inner.get("timestamp") if isinstance(inner, dict) else row.get("timestamp")
        at = known.undated() if stamp is None else known.moment(stamp, number)
        known.note("zep/user_data", compact_json(row), at=at)
        yield known.ready()
    yield from known.rest()


def _kind(value: Any) -> str | None:
    if isinstance(value, dict) and {"edges", "episodes"} & value.keys():
        return "graph"
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value[:20]):
        return None
    if all("messages" in one for one in value[:20]):
        return "conversations"
    if all("fact" in one and "source_node_uuid" in one for one in value[:20]):
        return "edges"
    return "free"


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    value = document(path, report, kind="Zep dump", hint=HINT)
    kind = _kind(value)
    if kind == "graph":
        yield from _graph(report, now_ms, value)
    elif kind == "edges":
        yield from _graph(report, now_ms, {"edges": value})
    elif kind == "conversations":
        yield from _talk(report, now_ms, value)
    elif kind == "free":
        yield from _free(report, now_ms, value)
    else:
        raise DejaError("IMP-E002", f"{clean(path.name)} is no dump of Zep", HINT)


def _guess(probe: Probe) -> str | None:
    if probe.folder:
        return None
    kind = _kind(probe.whole)
    if kind in ("graph", "edges") and b'"source_node_uuid"' in probe.head:
        return "edges between nodes, with validity"
    if kind == "conversations" and not any(
        {"mapping", "traj", "loglines"} & one.keys() for one in probe.whole
    ):
        return "a list of conversations with messages"
    if kind == "free" and all(isinstance(next(iter(one.values()), None), dict) for one in probe.whole if one):
        known = {"mapping", "traj", "memory", "memory_id", "role", "messages", "history"}
        return None if any(known & one.keys() for one in probe.whole) else "free user data"
    return None


ZEP: Final = Source(
    kind=KIND,
    title="Zep and Graphiti dumps",
    suffixes=(".json",),
    guess=_guess,
    read=_read,
    figures=lambda: Counts(SHAPE),
    hint=HINT,
)
