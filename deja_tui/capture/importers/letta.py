# SPDX-License-Identifier: Apache-2.0
"""Letta: agent files (.af, also double-encoded), agents as JSON, and archival memory as JSON Lines.

* LETTA-1  A block of memory is a document ``/memories/letta/<agent>/<label>``; a later file with another value is its next
  version.
* LETTA-2  Messages become turns and tool calls of one session an agent. The system prompt is the host's.
* LETTA-3  An archival passage is a note about its agent. Archival memory is not in an agent file: the report says so.
* LETTA-4  Tools, secrets and settings of an agent are no memory: they are left out and counted. Environment values and
  secrets are never read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

from deja_tui.capture import files, times
from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.known import Known
from deja_tui.capture.messages import Conversation
from deja_tui.capture.parts import Walked, parts
from deja_tui.capture.reading import document, records
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source
from deja_tui.capture.streaming import Broken, hollow, is_past_holding, within
from deja_tui.capture.talk import Talk
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.text import clean

KIND: Final = "letta"
HINT: Final = "give an agent file (.af), agents as JSON, or archival passages as JSON Lines"
SHAPE: Final = Shape(
    numbers=("agents", "blocks", "tools", "messages", "passages"),
    groups=("messages_by_role",),
    facts=("double_encoded", "top_level"),
    calls=True,
)
_BLOCKS: Final = ("core_memory", "blocks", "memory_blocks")
_TEXTS: Final = ("text", "content", "memory")


def _list(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _blocks_of(
    agent: Mapping[str, Any], shared: Mapping[str, Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """The blocks of an agent: its own, those of its memory, and those it names by id."""
    memory = agent.get("memory")
    inner = memory.get("blocks") if isinstance(memory, dict) else None
    for found in (*(agent.get(name) for name in _BLOCKS), inner):
        yield from _list(found)
    ids = agent.get("block_ids")
    for one in ids if isinstance(ids, list) else ():
        if isinstance(one, str) and one in shared:
            yield shared[one]


def _agent(
    known: Known,
    talk: Talk,
    number: int,
    agent: Mapping[str, Any],
    blocks: Iterable[Mapping[str, Any]],
    messages: Iterator[Any],
) -> Iterator[list[CaptureItem]]:
    name = known.word(agent.get("name")) or known.ident(agent.get("id")) or f"agent-{number}"
    known.counts.count("agents")
    changed = times.parse(agent.get("updated_at")) or times.parse(agent.get("created_at")) or 0
    for block in blocks:
        label, value = block.get("label"), block.get("value")
        if not isinstance(value, str):
            known.report.lose(number, "a block without a value")
            continue
        known.counts.count("blocks")
        path = f"letta/{name.replace('/', '_')}/{str(label or block.get('id') or 'block').replace('/', '_')}"
        told = block.get("updated_at") or block.get("created_at")
        at = known.undated() if told is None else known.moment(told, number)
        revision = times.parse(block.get("updated_at")) or changed
        known.document(path, value, at=at, record=f"{name}/{label}", revision=revision)
    first = next(messages, None)
    if first is None:
        yield known.ready()
        return
    session = f"agent/{known.ident(agent.get('id')) or name}"
    talk.session(session, talk.undated(), f"Letta agent {name}")
    conversation = Conversation(talk, session, _failed)
    for message in chain((first,), messages):
        role = message.get("role")
        known.counts.count("messages")
        known.counts.group("messages_by_role", str(role)[:40])
        at = talk.moment(message["created_at"], number) if message.get("created_at") else talk.undated()
        conversation.feed(message, at, author="host" if role == "system" else None)
        yield [*known.ready(), *talk.ready()]


def _failed(message: Mapping[str, Any], text: str) -> bool:
    returns = _list(message.get("tool_returns"))
    told = [one.get("status") for one in returns] + [message.get("status")]
    return "error" in told


def _passages(known: Known, path: Path) -> Iterator[list[CaptureItem]]:
    for line in records(path, known):
        value = line.value
        text = (
            next((value[n] for n in _TEXTS if isinstance(value.get(n), str)), "")
            if isinstance(value, dict)
            else ""
        )
        if not text:
            known.report.lose(line.number, "a passage without text")
            continue
        known.counts.count("passages")
        agent = known.word(value.get("agent_name")) or known.ident(value.get("agent_id")) or "archival"
        at = known.moment(value.get("created_at"), line.number)
        tags = value.get("tags")
        record = known.ident(value.get("id"))
        known.note(f"letta/{agent}", text, at=at, record=record, tags=tags if isinstance(tags, list) else ())
        yield known.ready()


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    known, talk = Known(KIND, report, now_ms), Talk(KIND, report, now_ms)
    if path.suffix.lower() == ".jsonl":
        yield from _passages(known, path)
        if not known.counts.figures()["passages"]:
            raise DejaError("IMP-E002", f"{clean(path.name)} holds no passage", HINT)
        yield from known.rest()
        return
    yield from (
        _long(path, report, known, talk)
        if is_past_holding(files.checked(path))
        else _whole(path, report, known, talk)
    )
    report.note(0, "archival memory is not in an agent file: export it apart")
    yield from talk.rest()


def _whole(path: Path, report: FileReport, known: Known, talk: Talk) -> Iterator[list[CaptureItem]]:
    value = document(path, report, kind="Letta agent file", hint=HINT)
    whole = value if isinstance(value, dict) else {}
    agents = _list(whole.get("agents")) or (
        [whole] if {"core_memory", "memory", "blocks"} & whole.keys() else []
    )
    if not agents:
        raise DejaError("IMP-E002", f"{clean(path.name)} holds no agent", HINT)
    known.counts.tell("double_encoded", any("unpacked" in str(note["reason"]) for note in report.notes))
    known.counts.tell("top_level", sorted(map(str, whole)))
    tools = len(_list(whole.get("tools")))
    known.counts.count("tools", tools)
    known.counts.left_out["tool definition"] += tools
    shared = (
        {str(block.get("id")): block for block in _list(whole.get("blocks"))} if "agents" in whole else {}
    )
    for number, agent in enumerate(agents, 1):
        messages = iter(_list(agent.get("messages")))
        yield from _agent(known, talk, number, agent, _blocks_of(agent, shared), messages)


def _long(path: Path, report: FileReport, known: Known, talk: Talk) -> Iterator[list[CaptureItem]]:
    """An agent file of any length, one agent after the other, of each one message after the other."""
    told = parts(path, report, kind="Letta agent file", hint=HINT)
    if not isinstance(told, Walked):  # JSON inside a JSON text
        yield from _whole(path, report, known, talk)
        return
    several = "agents" in told.lists
    if not several and not {"core_memory", "memory", "blocks"} & told.names:
        raise DejaError("IMP-E002", f"{clean(path.name)} holds no agent", HINT)
    where = ("agents",) if several else ()
    shared = {str(one.get("id")): one for one in _list(list(told.rows("blocks")))} if several else {}
    messages = _Messages(within(path, where, "messages"))
    number = 0
    try:
        for number, agent in enumerate(hollow(path, where, "messages"), 1):
            if isinstance(agent, dict):
                blocks = _blocks_of(agent, shared)
                yield from _agent(known, talk, number, agent, blocks, messages.of(number))
            else:
                known.report.lose(number, "an agent that is no object")
    except Broken:
        told.breaks_off(number)
    if not number:
        raise DejaError("IMP-E002", f"{clean(path.name)} holds no agent", HINT)
    known.counts.tell("double_encoded", False)
    known.counts.tell("top_level", sorted(told.names))
    tools = sum(isinstance(one, dict) for one in told.rows("tools"))
    known.counts.count("tools", tools)
    known.counts.left_out["tool definition"] += tools


class _Messages:
    """The messages of all agents in their order, handed out agent by agent."""

    def __init__(self, pairs: Iterator[tuple[int, Any]]) -> None:
        self._pairs = pairs
        self._waiting = self._next()

    def _next(self) -> tuple[int, Any] | None:
        try:
            return next(self._pairs, None)
        except Broken:  # whoever reads the agents themselves comes to that place as well, and tells it
            return None

    def of(self, number: int) -> Iterator[dict[str, Any]]:
        while self._waiting is not None and self._waiting[0] <= number:
            agent, message = self._waiting
            self._waiting = self._next()
            if agent == number and isinstance(message, dict):
                yield message


def _guess(probe: Probe) -> str | None:
    if probe.name.endswith(".af"):
        return "an agent file (.af)"
    whole = probe.whole
    if (
        isinstance(whole, dict)
        and isinstance(whole.get("agents"), list)
        and {"blocks", "tools"} & whole.keys()
    ):
        return "agents with blocks and tools"
    return "core memory of an agent" if isinstance(whole, dict) and "core_memory" in whole else None


LETTA: Final = Source(
    kind=KIND,
    title="Letta agent files",
    suffixes=(".af", ".json", ".jsonl"),
    guess=_guess,
    read=_read,
    figures=lambda: Counts(SHAPE),
    hint=HINT,
)
