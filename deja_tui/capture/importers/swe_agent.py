# SPDX-License-Identifier: Apache-2.0
"""SWE-agent trajectories: steps of action and observation, and the history the model saw.

* SWE-1  Steps are read where there are any (the last observation is in no history), with the task from the history
  before them; else the history. A demonstration in it is no session and is left out.
* SWE-2  The format has no error flag. An observation is a failure only where it says so itself in a form of its own:
  a shell that did not find or could not open something, a traceback, a line that begins with an error's name. That is
  a reading of text, so the report counts it as *signs*.
* SWE-3  An action without a call id is a call of the tool that its first word names, joined to the observation that
  follows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.messages import Conversation, calls_of
from deja_tui.capture.parts import Parts, parts
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source
from deja_tui.capture.talk import Talk, text_of
from deja_tui.capture.tame import Digest
from deja_tui.capture.times import Moment
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.text import clean, compact_json

KIND: Final = "swe-agent"
HINT: Final = "give a .traj file of SWE-agent"
SHAPE: Final = Shape(
    numbers=(
        "steps",
        "history_messages",
        "actions",
        "tool_calls_with_ids",
        "observations",
        "observations_with_error_signs",
        "demo_messages",
    ),
    sets=("sessions",),
    facts=("exit_status",),
    calls=True,
)
_SIGNS: Final = re.compile(
    r"^(?:Traceback \(most recent call last\):|[A-Za-z_.]*(?:Error|Exception): )"
    r"|: (?:command not found|not found|No such file or directory)\s*$"
    r"|\((?:No such file or directory|Permission denied)\)",
    re.MULTILINE,
)
_READ: Final = 16_384


def looks_failed(text: str) -> bool:
    """Whether an observation says in a form of its own that the action failed (SWE-2)."""
    return _SIGNS.search(text[:_READ]) is not None


class _Reader:
    def __init__(self, talk: Talk, session: str) -> None:
        self._talk = talk
        self._session = session
        self._conversation = Conversation(talk, session, self._failed)
        self._open = ""
        self._begun = False

    def _failed(self, message: Mapping[str, Any], text: str) -> bool:
        failed = looks_failed(text)
        self._talk.counts.count("observations_with_error_signs", int(failed))
        return failed

    def history(self, message: Mapping[str, Any], *, told_again: bool) -> None:
        """A message of the history; ``told_again``: what follows the task stands in the steps, too."""
        counts = self._talk.counts
        counts.count("history_messages")
        if message.get("is_demo"):
            counts.count("demo_messages")
            counts.left_out["demonstration"] += 1
            return
        self._begun = self._begun or message.get("role") == "assistant"
        if told_again and self._begun:
            return
        role, at = message.get("role"), self._talk.undated()
        text = text_of(message.get("content"))
        if role == "assistant":
            self._assistant(message, at)
        elif role == "tool":
            counts.count("observations")
            self._conversation.feed(message, at)
        elif self._open:
            self._observation(text, at)
        else:
            # the task is told in a form that a program filled in; the first such message opens the work
            if message.get("message_type") == "observation":
                counts.count("observations")
                self._failed(message, text)
            self._conversation.feed({**message, "role": role or "user"}, at, author="host")

    def step(self, step: Mapping[str, Any]) -> None:
        """A step: what was thought, done and seen."""
        at = self._talk.undated()
        self._assistant(
            {"role": "assistant", "content": step.get("response"), "action": step.get("action")}, at
        )
        if self._open:
            self._observation(text_of(step.get("observation")), at)

    def _assistant(self, message: Mapping[str, Any], at: Moment) -> None:
        self._open = ""
        action = message.get("action")
        self._conversation.feed(message, at)
        with_ids = list(calls_of(message))
        self._talk.counts.count("tool_calls_with_ids", len(with_ids))
        if isinstance(action, str) and action.strip():
            self._talk.counts.count("actions")
            if not with_ids:
                tool = action.split(maxsplit=1)[0]
                self._open = self._talk.call("", tool, {"action": action}, session=self._session, at=at)

    def _observation(self, text: str, at: Moment) -> None:
        self._talk.counts.count("observations")
        failed = self._failed({}, text)
        self._talk.result(self._open, text, failed=failed, session=self._session, at=at)
        self._open = ""


def _session(told: Parts) -> tuple[str, int]:
    """What the run is known by, the digest of [history, trajectory], and how many steps it has."""
    said = Digest()
    count = 0
    for before, name in (("[", "history"), (",", "trajectory")):
        said.text(before)
        if name in told.lists:
            count = said.rows(told.rows(name))
        else:
            said.text(compact_json(told.value(name)))
            count = 0
    said.text("]")
    return str(said), count


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    told = parts(path, report, kind="SWE-agent trajectory", hint=HINT)
    if not told.lists & {"history", "trajectory"}:
        raise DejaError("IMP-E002", f"{clean(path.name)} is no SWE-agent trajectory", HINT)
    talk = Talk(KIND, report, now_ms)
    info = told.value("info")
    status = info.get("exit_status") if isinstance(info, dict) else None
    talk.counts.tell("exit_status", talk.clean(status)[:80] if isinstance(status, str) else None)
    session, steps = _session(told)
    talk.counts.count("steps", steps)
    talk.counts.see("sessions", session)
    where = told.value("environment") or "an unnamed environment"
    talk.session(session, talk.undated(), f"SWE-agent run in {where}")
    reader = _Reader(talk, session)
    for number, one in enumerate(told.rows("history"), 1):
        if isinstance(one, dict):
            reader.history(one, told_again=steps > 0)
        else:
            report.lose(number, "a message that is no object")
        yield talk.ready()
    for number, one in enumerate(told.rows("trajectory"), 1):
        if isinstance(one, dict):
            reader.step(one)
        else:
            report.lose(number, "a step that is no object")
        yield talk.ready()
    yield from talk.rest()


def _guess(probe: Probe) -> str | None:
    if probe.folder:
        return "a folder of .traj files" if any(name.endswith(".traj") for name in probe.names) else None
    return "a .traj file" if probe.name.endswith(".traj") else None


SWE_AGENT: Final = Source(
    kind=KIND,
    title="SWE-agent trajectories",
    suffixes=(".traj",),
    guess=_guess,
    read=_read,
    figures=lambda: Counts(SHAPE),
    hint=HINT,
)
