# SPDX-License-Identifier: Apache-2.0
"""Codex: rollout files (JSON Lines), the current shape and the older ones, into sessions, turns and tool calls.

* CODEX-1  Response items are read; event messages tell the same a second time and are left out, counted.
* CODEX-2  The format has no error flag: a call failed when its output says a process exited with another code than 0,
  that the arguments could not be parsed, or that there is no such tool. Only the head of an output is believed, never
  what the command itself printed.
* CODEX-3  Text that Codex puts into the user's mouth (environment, instructions of files) is the host's (TALK-5).
* CODEX-4  A call id that is used twice is one call, known by its later name: Codex writes a call anew when it changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.reading import records
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source
from deja_tui.capture.talk import Talk, said, text_of
from deja_tui.capture.times import Moment
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.text import clean

KIND: Final = "codex"
HINT: Final = "give a rollout file, or the sessions folder of Codex"
SHAPE: Final = Shape(
    numbers=("records", "non_object_records"),
    sets=("sessions",),
    groups=("record_types", "messages_by_role", "error_kinds"),
    calls=True,
)
_TYPES: Final = frozenset(
    (
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
        "world_state",
        "token_usage_record",
    )
)
_CALLS: Final = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
_RESULTS: Final = frozenset(("function_call_output", "custom_tool_call_output", "local_shell_call_output"))
_HOST: Final = (
    "<environment_context",
    "<user_instructions",
    "<skills_instructions",
    "# AGENTS.md instructions",
)
_EXIT: Final = re.compile(r"^(?:Process exited with code|Exit code:) (-?[0-9]{1,10})\s*$", re.MULTILINE)
_HEAD: Final = 2_000


def failure(output: Any) -> tuple[str, str | None]:
    """(text, what kind of failure it is) of an output; None when nothing says that it failed (CODEX-2)."""
    text = said(output)
    code: Any = None
    if isinstance(output, Mapping):
        code = output.get("exit_code")
    elif text.startswith("{"):
        try:
            told = json.loads(text)
        except (ValueError, RecursionError):
            told = None
        if isinstance(told, dict) and isinstance(told.get("metadata"), dict):
            text, code = said(told.get("output")), told["metadata"].get("exit_code")
    head = text[:_HEAD].split("\nOutput:\n", 1)[0]
    exited = _EXIT.search(head)
    if code is None and exited:
        code = int(exited[1])
    if isinstance(code, int) and code != 0:
        return text, f"exit {code}"
    if head.startswith("failed to parse function arguments"):
        return text, "bad arguments"
    if head.startswith("unsupported call") or head.startswith("unsupported custom tool call"):
        return text, "unknown tool"
    return text, None


class _Reader:
    def __init__(self, report: FileReport, now_ms: int) -> None:
        self.talk = Talk(KIND, report, now_ms)
        self._report = report
        self._counts = self.talk.counts
        self._session = ""
        self._model: str | None = None
        self.known = False

    def feed(self, line: int, value: Any) -> None:
        if not isinstance(value, dict):
            self._counts.count("non_object_records")
            self._report.lose(line, "not an object")
            return
        self._counts.count("records")
        kind, payload = value.get("type"), value.get("payload")
        inner = payload.get("type") if isinstance(payload, dict) else None
        label = kind if isinstance(kind, str) else "null"
        self._counts.group("record_types", f"{label}/{inner}"[:80] if isinstance(inner, str) else label[:80])
        if label not in _TYPES:
            self._report.lose(line, "a record without type" if kind is None else "a record of unknown type")
            return
        self.known = True
        if not isinstance(payload, dict):
            if label in ("session_meta", "response_item"):
                self._report.lose(line, "a record without payload")
            return
        if label == "session_meta":
            self._meta(payload, self.talk.moment(value.get("timestamp"), line))
        elif label == "turn_context":
            self._model = self._word(payload.get("model")) or self._model
        elif label == "response_item":
            self._item(line, payload, self.talk.moment(value.get("timestamp"), line))
        elif label == "compacted":
            at = self.talk.moment(value.get("timestamp"), line)
            self._say("system", said(payload.get("message")), payload, at, author="host")
        else:
            self._counts.left_out[label] += 1

    def _word(self, value: Any) -> str | None:
        return str(self.talk.clean(value))[:200] if isinstance(value, str) and value else None

    def _meta(self, payload: Mapping[str, Any], at: Moment) -> None:
        self._session = self.talk.ident(payload.get("id")) or self.talk.ident(payload.get("session_id"))
        self._counts.see("sessions", self._session or "(none)")
        git = payload.get("git")
        branch = git.get("branch") if isinstance(git, dict) else None
        where = payload.get("cwd")
        text = f"Codex session {self._session}" + (f" in {where}" if isinstance(where, str) and where else "")
        self.talk.session(
            self._session,
            at,
            text,
            cwd=where,
            git_branch=branch,
            client_version=payload.get("cli_version"),
        )

    def _item(self, line: int, payload: Mapping[str, Any], at: Moment) -> None:
        told = payload.get("type")
        kind = told if told is None or isinstance(told, str) else "(no text)"
        if kind == "message":
            self._counts.group("messages_by_role", str(payload.get("role"))[:40])
        if kind == "message" or (kind is None and "role" in payload):
            self._message(payload, at)
        elif kind in _CALLS:
            self._call(str(kind), payload, at)
        elif kind in _RESULTS:
            self._result(line, payload, at)
        elif isinstance(kind, str):
            self._counts.left_out[f"response_item/{kind}"[:80]] += 1
        else:
            self._report.lose(line, "a response item of unknown type")

    def _message(self, payload: Mapping[str, Any], at: Moment) -> None:
        role = payload.get("role")
        text = text_of(payload.get("content"))
        if role == "user":
            host = text.lstrip().startswith(_HOST)
            self._say("user", text, payload, at, author="host" if host else "person")
        elif role == "assistant":
            self._say("assistant", text, payload, at, model_id=self._model)
        else:
            self._say("system", text, payload, at, author="host")

    def _say(self, role: str, text: str, payload: Mapping[str, Any], at: Moment, **extra: Any) -> None:
        record = self.talk.ident(payload.get("id"))
        self.talk.turn(role, text, session=self._session, at=at, record=record, **extra)

    def _call(self, kind: str, payload: Mapping[str, Any], at: Moment) -> None:
        call_id = self.talk.ident(payload.get("call_id")) or self.talk.ident(payload.get("id"))
        tool = payload.get("name") or ("local_shell" if kind == "local_shell_call" else "")
        arguments = payload.get(_CALLS[kind])
        self.talk.call(call_id, said(tool), arguments, session=self._session, at=at, raw=payload, latest=True)

    def _result(self, line: int, payload: Mapping[str, Any], at: Moment) -> None:
        call_id = self.talk.ident(payload.get("call_id"))
        text, failed = failure(payload.get("output"))
        if not call_id:
            self._report.lose(line, "a tool result without call id")
            return
        first = self.talk.result(call_id, text, failed=failed is not None, session=self._session, at=at)
        if first and failed:
            self._counts.group("error_kinds", failed)


def _guess(probe: Probe) -> str | None:
    if probe.folder:
        return "a folder of rollout files" if any(_rollout(name) for name in probe.names) else None
    for record in probe.objects():
        payload = record.get("payload")
        if record.get("type") == "session_meta" and isinstance(payload, dict):
            return "a session_meta record"
    return None


def _rollout(name: str) -> bool:
    return name.rsplit("/", 1)[-1].startswith("rollout-") and name.endswith(".jsonl")


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    reader = _Reader(report, now_ms)
    for line in records(path, reader.talk):
        reader.feed(line.number, line.value)
        yield reader.talk.ready()
    if not reader.known:
        raise DejaError("IMP-E002", f"{clean(path.name)} is not a Codex rollout", HINT)
    yield from reader.talk.rest()


CODEX: Final = Source(
    kind=KIND,
    title="Codex rollouts",
    suffixes=(".jsonl",),
    guess=_guess,
    read=_read,
    figures=lambda: Counts(SHAPE),
    hint=HINT,
)
