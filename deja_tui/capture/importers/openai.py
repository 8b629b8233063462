# SPDX-License-Identifier: Apache-2.0
"""Chat messages and tool logs as JSON Lines or one JSON document: the shapes that OpenAI-style programs write down.

* OAI-1  A record may be one message, a whole conversation (``messages``), a logged result (``tool_name`` with content,
  output or result), or a flat transcript (``messages_display``). One file may hold all of them.
* OAI-2  Messages of one file are one conversation unless they name a session; a conversation without an id is known by
  a digest of its first message, so that a file that grows keeps its keys.
  A record without an id that names its session is known by its time too, or where it has none by the first record of its
  file: files that each tell a part of a session lose nothing, and a copy adds nothing.
* OAI-3  A failure is an error flag, an ``error`` that is not empty, or a result that begins with the word Error.
* OAI-4  A flat transcript tells results and no calls: none are made up, and such results count in no failure rate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from deja_tui.capture.calls import HELD_MAX
from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.messages import Conversation, error_prefix
from deja_tui.capture.reading import begins_with_a_record, elements, is_array, records
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source
from deja_tui.capture.talk import Talk, said
from deja_tui.capture.tame import digest
from deja_tui.capture.times import Moment
from deja_tui.errors import DejaError
from deja_tui.items import UNKNOWN_TOOL, CaptureItem
from deja_tui.text import clean, compact_json

KIND: Final = "openai"
HINT: Final = "give JSON Lines of messages, conversations or tool results"
SHAPE: Final = Shape(
    numbers=("records", "non_object_records"), sets=("sessions",), groups=("messages_by_role",), calls=True
)
_LOOKED: Final = 20
_ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_RESULT: Final = ("content", "output", "result")
_TIMES: Final = ("created_at", "timestamp", "time")
_SESSIONS: Final = ("session_id", "thread_id", "conversation_id", "thread")
_ID: Final = ("tool_call_id", "call_id", "id")
_LINE: Final = re.compile(r"^(system|user|assistant|tool): ?", re.MULTILINE)


class _Reader:
    def __init__(self, report: FileReport, now_ms: int) -> None:
        self.talk = Talk(KIND, report, now_ms)
        self.report = report
        self._counts = self.talk.counts
        self._open: dict[str, Conversation] = {}
        self._loose = self._head = ""
        self.known = False

    def feed(self, line: int, value: Any) -> None:
        if not isinstance(value, dict):
            self._counts.count("non_object_records")
            self.report.lose(line, "not an object")
            return
        self._counts.count("records")
        self._head = self._head or digest(value)
        self.talk.piece = ""
        if isinstance(value.get("messages"), list):
            self._conversation(line, value, value["messages"])
        elif isinstance(value.get("messages_display"), str):
            self._flat(line, value)
        elif value.get("role") in _ROLES:
            self._message(line, value, self._session(value))
        elif _tool(value):
            self._logged(line, value)
        else:
            self.report.lose(line, "neither a message nor a tool result")
            return
        self.known = True

    def _conversation(self, line: int, value: Mapping[str, Any], messages: list[Any]) -> None:
        first = next((one for one in messages if isinstance(one, Mapping)), {})
        session = self._named(value) or self.talk.ident(value.get("id")) or digest([first, value.get("id")])
        for message in messages:
            if isinstance(message, Mapping) and message.get("role") in _ROLES:
                self._message(line, message, session)
            else:
                self.report.lose(line, "a message without a known role")

    def _flat(self, line: int, value: Mapping[str, Any]) -> None:
        text = value["messages_display"]
        session = self._named(value) or digest(text)
        self._counts.see("sessions", session)
        starts = list(_LINE.finditer(text))
        for here, there in zip(starts, [*starts[1:], None], strict=True):
            body = text[here.end() : there.start() if there else None].rstrip("\n")
            at = self.talk.moment(None, line)
            if here[1] == "tool":
                failed = error_prefix({}, body)
                self.talk.lone_result(UNKNOWN_TOOL, body, failed=failed, session=session, at=at)
            elif body != "None":
                self._counts.group("messages_by_role", here[1])
                self.talk.turn(here[1], body, session=session, at=at)

    def _message(self, line: int, message: Mapping[str, Any], session: str) -> None:
        self._counts.see("sessions", session)
        self._counts.group("messages_by_role", str(message.get("role")))
        talk = self._open.pop(session, None) or Conversation(self.talk, session, _failed)
        self._open[session] = talk
        if len(self._open) > HELD_MAX:
            del self._open[next(iter(self._open))]
        talk.feed(message, self._at(message, line))

    def _logged(self, line: int, value: Mapping[str, Any]) -> None:
        session = self._session(value)
        self._counts.see("sessions", session)
        error = value.get("error")
        text = said(next((value[name] for name in _RESULT if value.get(name) is not None), None))
        if not text and error and not isinstance(error, bool):
            text = said(error)
        call_id = next((found for name in _ID if (found := self.talk.ident(value.get(name)))), "")
        given = next((value[name] for name in ("input", "arguments") if name in value), None)
        self.talk.lone_result(
            _tool(value),
            text,
            failed=_failed(value, text),
            session=session,
            at=self._at(value, line),
            record=call_id,
            input=given,
        )

    def _at(self, value: Mapping[str, Any], line: int) -> Moment:
        return self.talk.moment(next((value[name] for name in _TIMES if name in value), None), line)

    def _named(self, value: Mapping[str, Any]) -> str:
        return next((found for name in _SESSIONS if (found := self.talk.ident(value.get(name)))), "")

    def _session(self, value: Mapping[str, Any]) -> str:
        """The session of a loose record (OAI-2)."""
        named = self._named(value)
        if not named and not self._loose:
            self._loose = digest(dict(value))
        if named:  # another file may tell more of that session
            at = next((value[name] for name in _TIMES if value.get(name)), None)
            self.talk.piece = self._head if at is None else compact_json(at)[:64]
        return named or self._loose


def _tool(value: Mapping[str, Any]) -> str:
    """The tool that a logged result names; "" when it is none."""
    inner = value.get("function")
    named = (
        value.get("tool_name")
        or value.get("name")
        or (inner.get("name") if isinstance(inner, dict) else None)
    )
    told = any(name in value for name in (*_RESULT, "error", "is_error"))
    return named if isinstance(named, str) and told else ""


def _failed(value: Mapping[str, Any], text: str) -> bool:
    error = value.get("error")
    if error and not isinstance(error, bool):
        return True
    return error_prefix(value, text)


def _guess(probe: Probe) -> str | None:
    if probe.folder:
        return None
    rows = probe.whole[:_LOOKED] if isinstance(probe.whole, list) else []
    if rows and all(isinstance(row, dict) and row.get("role") in _ROLES and "content" in row for row in rows):
        return (
            None
            if b"mini-swe-agent" in probe.head or ".traj" in probe.name
            else "an array of messages with roles"
        )
    for record in probe.objects():
        if isinstance(record.get("messages_display"), str):
            return "flat transcripts: messages_display"
        messages = record.get("messages")
        first = next(iter(messages), None) if isinstance(messages, list) else None
        chat = isinstance(first, dict) and first.get("role") in _ROLES
        if chat and probe.whole is None and not {"info", "trajectory_format"} & record.keys():
            return "conversations: messages with roles"
        if record.get("role") in _ROLES and "content" in record and probe.whole is None:
            return "messages with roles"
        if _tool(record) and "type" not in record and "entityType" not in record:
            return "tool results: a tool name and what it answered"
    return None


def _lines(path: Path, reader: _Reader) -> Iterator[tuple[int, list[Any]]]:
    """(line, the values on it); of one array over several lines the elements, numbered."""
    if is_array(path) and not begins_with_a_record(path):
        for number, value in enumerate(elements(path, reader.report, kind="chat messages", hint=HINT), 1):
            yield number, [value]
        return
    for line in records(path, reader.talk):
        yield line.number, line.value if isinstance(line.value, list) else [line.value]


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    reader = _Reader(report, now_ms)
    for number, values in _lines(path, reader):
        objects = [value for value in values if isinstance(value, dict)]
        for value in objects:
            reader.feed(number, value)
        if len(objects) < len(values):
            reader.feed(number, None)  # one line is one loss
        yield reader.talk.ready()
    if not reader.known:
        raise DejaError("IMP-E002", f"{clean(path.name)} holds no messages and no tool results", HINT)
    yield from reader.talk.rest()


OPENAI: Final = Source(
    kind=KIND,
    title="chat messages and tool logs",
    suffixes=(".jsonl", ".json"),
    guess=_guess,
    read=_read,
    figures=lambda: Counts(SHAPE),
    hint=HINT,
)
