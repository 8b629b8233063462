# SPDX-License-Identifier: Apache-2.0
"""Zep and Graphiti: a dump of a graph's edges and episodes, conversations, and free user data.

* ZEP-1  An edge is a fact: the source node, the edge's name, the sentence it states, with the times of its validity. An
  edge that the graph expired ended when its validity ended, else when it was expired.
* ZEP-2  An episode is an event of its session; conversations without ids are known by the digest of their first message.
* ZEP-3  User data are free documents: each one is a note.
* ZEP-4  An edge's ``expired_at`` or ``invalid_at`` may come in a later dump: that is a revision (ITEM-5).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from deja_tui.capture import times
from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.ids import Ids
from deja_tui.capture.known import Known
from deja_tui.capture.parts import parts
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source
from deja_tui.capture.talk import Talk, text_of
from deja_tui.capture.tame import digest
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.text import clean, compact_json

KIND: Final = "zep"
_LOOKED: Final = 20
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
    def __init__(self, known: Known, episodes: Ids) -> None:
        self._known = known
        self._episodes = episodes
        self._triples = Ids()
        self._live = Ids()

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
        same = self._triples.bump(compact_json([source, name, target]))
        counts.count("same_triple_groups", int(same == 2))
        if not ends:
            self._count_live(compact_json([source, name]), target)
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

    def _count_live(self, key: str, target: str) -> None:
        """Count a subject and relation once, when it has a second object."""
        known = self._live.get(key)
        if known is None:
            self._live.put(key, f"={target}")
        elif known not in ("", f"={target}"):
            self._live.put(key, "")
            self._known.counts.count("subjects_with_two_live_objects")


def _talk(report: FileReport, now_ms: int, conversations: Iterable[Any]) -> Iterator[list[CaptureItem]]:
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


def _episodes(talk: Talk, episodes: Iterable[Any], ids: Ids) -> Iterator[list[CaptureItem]]:
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
        ids.put(record)
        talk.turn(str(role), text_of(episode.get("content")), session=session, at=at, record=record)
        yield talk.ready()


def _graph(
    report: FileReport, now_ms: int, episodes: Iterable[Any], edges: Iterable[Any]
) -> Iterator[list[CaptureItem]]:
    talk, ids = Talk(KIND, report, now_ms), Ids()
    yield from _episodes(talk, episodes, ids)
    known = Known(KIND, report, now_ms)
    reader = _Edges(known, ids)
    for number, edge in enumerate(edges, 1):
        if isinstance(edge, dict):
            reader.feed(number, edge)
        else:
            report.lose(number, "an edge that is no object")
        yield known.ready()
    yield from known.rest()


def _free(report: FileReport, now_ms: int, rows: Iterable[Any]) -> Iterator[list[CaptureItem]]:
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


def _kind(names: Container[str], rows: list[Any]) -> str | None:
    """What a dump is, by the members of an object or the first elements of an array."""
    if "edges" in names or "episodes" in names:
        return "graph"
    if not rows or not all(isinstance(one, dict) for one in rows):
        return None
    if all("messages" in one for one in rows):
        return "conversations"
    if all("fact" in one and "source_node_uuid" in one for one in rows):
        return "edges"
    return "free"


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    told = parts(path, report, kind="Zep dump", hint=HINT)
    kind = _kind(told.names, told.first(_LOOKED))
    if kind == "graph":
        yield from _graph(report, now_ms, told.rows("episodes"), told.rows("edges"))
    elif kind == "edges":
        yield from _graph(report, now_ms, (), told.rows())
    elif kind == "conversations":
        yield from _talk(report, now_ms, told.rows())
    elif kind == "free":
        yield from _free(report, now_ms, told.rows())
    else:
        raise DejaError("IMP-E002", f"{clean(path.name)} is no dump of Zep", HINT)


def _guess(probe: Probe) -> str | None:
    if probe.folder:
        return None
    whole = probe.whole
    names = whole if isinstance(whole, dict) else ()
    kind = _kind(names, whole[:_LOOKED] if isinstance(whole, list) else [])
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
