# SPDX-License-Identifier: Apache-2.0
"""mini-swe-agent trajectories: one shell, and what each command returned.

* MINI-1  A bare list of messages, or {info, messages, trajectory_format}.
* MINI-2  An observation carries its return code, in ``extra`` or in ``<returncode>``; another code than 0 is a failure.
* MINI-3  The text form has no tool calls: the command stands in a fenced block of the assistant, the observation in the
  user's message that follows it. Both become one call of the tool bash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.messages import Conversation, calls_of
from deja_tui.capture.parts import parts
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source
from deja_tui.capture.talk import Talk, text_of
from deja_tui.capture.tame import Digest
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.text import clean

KIND: Final = "mini-swe-agent"
HINT: Final = "give a .traj.json file of mini-swe-agent"
SHAPE: Final = Shape(
    numbers=("messages", "observations"),
    sets=("sessions",),
    groups=("messages_by_role", "return_codes"),
    facts=("exit_status", "format"),
    calls=True,
)
_CODE: Final = re.compile(r"<returncode>\s*(-?[0-9]{1,10})\s*</returncode>")
_BLOCK: Final = re.compile(r"```(?:mswea_bash_command|bash|sh)\s*\n(.*?)\n```", re.DOTALL)
_HEAD: Final = 4_096


class _Reader:
    def __init__(self, talk: Talk, session: str) -> None:
        self._talk = talk
        self._session = session
        self._conversation = Conversation(talk, session, self._failed)
        self._open = ""

    def feed(self, number: int, message: Mapping[str, Any]) -> None:
        counts, role = self._talk.counts, str(message.get("role"))
        counts.count("messages")
        counts.group("messages_by_role", role[:40])
        extra = message.get("extra")
        at = self._talk.moment(extra.get("timestamp") if isinstance(extra, Mapping) else None, number)
        text = text_of(message.get("content"))
        if role == "tool":
            self._conversation.feed(message, at)
        elif role == "user" and self._open and _CODE.search(text[:_HEAD]):
            failed = self._failed(message, text)
            self._talk.result(self._open, text, failed=failed, session=self._session, at=at)
            self._open = ""
        elif role == "exit":
            counts.left_out["exit"] += 1
        else:
            self._conversation.feed(message, at, author="host" if role == "user" else None)
            block = _BLOCK.search(text) if role == "assistant" and not any(calls_of(message)) else None
            self._open = (
                self._talk.call("", "bash", {"command": block[1]}, session=self._session, at=at)
                if block
                else ""
            )

    def _failed(self, message: Mapping[str, Any], text: str) -> bool:
        extra = message.get("extra")
        code = extra.get("returncode") if isinstance(extra, Mapping) else None
        told = _CODE.search(text[:_HEAD])
        if code is None and told:
            code = int(told[1])
        self._talk.counts.count("observations")
        if not isinstance(code, int):
            return False
        self._talk.counts.group("return_codes", str(code))
        return code != 0


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    told = parts(path, report, kind="mini-swe-agent trajectory", hint=HINT)
    where = None if told.is_list else "messages"
    if not any(isinstance(one, dict) and "role" in one for one in told.rows(where)):
        raise DejaError("IMP-E002", f"{clean(path.name)} is no mini-swe-agent trajectory", HINT)
    talk = Talk(KIND, report, now_ms)
    info = told.value("info")
    status = info.get("exit_status") if isinstance(info, dict) else None
    for name, fact in (("exit_status", status), ("format", told.value("trajectory_format"))):
        talk.counts.tell(name, talk.clean(fact)[:80] if isinstance(fact, str) else None)
    said = Digest()
    said.rows(told.rows(where))
    session = str(said)
    talk.counts.see("sessions", session)
    talk.session(session, talk.undated(), "mini-swe-agent run")
    reader = _Reader(talk, session)
    for number, message in enumerate(told.rows(where), 1):
        if isinstance(message, dict):
            reader.feed(number, message)
        else:
            report.lose(number, "a message that is no object")
        yield talk.ready()
    yield from talk.rest()


def _guess(probe: Probe) -> str | None:
    if probe.folder:
        return (
            "a folder of .traj.json files"
            if any(name.endswith(".traj.json") for name in probe.names)
            else None
        )
    told = b'"mini-swe-agent' in probe.head or b"mini_version" in probe.head
    return "a .traj.json file" if probe.name.endswith(".traj.json") or told else None


MINI_SWE_AGENT: Final = Source(
    kind=KIND,
    title="mini-swe-agent trajectories",
    suffixes=(".traj.json",),
    guess=_guess,
    read=_read,
    figures=lambda: Counts(SHAPE),
    hint=HINT,
)
