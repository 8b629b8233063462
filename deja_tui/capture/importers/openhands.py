# SPDX-License-Identifier: Apache-2.0
"""OpenHands output (JSON Lines): one line is one run, with actions and observations as pairs or one after the other.

* OH-1  An action that does something (run, run_ipython, edit, read, write, browse …) is a call of the tool of its name;
  the observation that follows it is its result. Messages, thoughts and finish are turns.
* OH-2  A failure is an observation of the kind error, or one whose exit code is not 0. A text that speaks of an error is
  no failure.
* OH-3  A run without an instance id is known by the digest of its history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.reading import records
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source
from deja_tui.capture.talk import Talk, text_of
from deja_tui.capture.tame import digest
from deja_tui.capture.times import Moment
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.text import clean

KIND: Final = "openhands"
HINT: Final = "give an output.jsonl of OpenHands"
SHAPE: Final = Shape(
    numbers=("actions", "observations", "non_object_records"),
    sets=("sessions",),
    groups=("actions_by_type",),
    calls=True,
)
_SAID: Final = frozenset(
    ("message", "finish", "think", "system", "agent_state_changed", "change_agent_state", "recall")
)
_ARGUMENTS: Final = (
    "command",
    "code",
    "path",
    "file_text",
    "content",
    "url",
    "browser_actions",
    "task",
    "inputs",
)


class _Run:
    def __init__(self, talk: Talk, session: str) -> None:
        self._talk = talk
        self._session = session
        self._open: list[str] = []

    def feed(self, number: int, step: Mapping[str, Any]) -> None:
        at = self._talk.moment(step.get("timestamp"), number) if "timestamp" in step else self._talk.undated()
        if isinstance(step.get("observation"), str):
            self._observation(step, at)
        elif isinstance(step.get("action"), str):
            self._action(step, at)
        else:
            self._talk.report.lose(number, "a step that is neither an action nor an observation")

    def _action(self, step: Mapping[str, Any], at: Moment) -> None:
        action, counts = step["action"], self._talk.counts
        counts.count("actions")
        counts.group("actions_by_type", action[:40])
        inner = step.get("args")
        told: Mapping[str, Any] = inner if isinstance(inner, Mapping) else step
        thought = text_of(told.get("thought"))
        if action in _SAID:
            text = text_of(told.get("content")) or thought or text_of(step.get("message"))
            user = step.get("source", "user") == "user" and action == "message"
            role = "user" if user else "assistant"
            self._talk.turn(
                role, text, session=self._session, at=at, raw=dict(step), author="host" if user else None
            )
            return
        arguments = {name: told[name] for name in _ARGUMENTS if told.get(name) is not None}
        self._talk.turn("assistant", thought, session=self._session, at=at, calls=[action], raw=dict(step))
        given = self._talk.ident(step.get("id")) if "id" in step else ""
        self._open.append(
            self._talk.call(given, action, arguments, session=self._session, at=at, raw=dict(step))
        )

    def _observation(self, step: Mapping[str, Any], at: Moment) -> None:
        self._talk.counts.count("observations")
        text = text_of(step.get("content"))
        extras = step.get("extras")
        code = step.get("exit_code")
        if code is None and isinstance(extras, Mapping):
            meta = extras.get("metadata")
            code = meta.get("exit_code") if isinstance(meta, Mapping) else extras.get("exit_code")
        failed = step["observation"] == "error" or (isinstance(code, int) and code not in (0, -1))
        if self._open:
            self._talk.result(self._open.pop(0), text, failed=failed, session=self._session, at=at)
        else:
            self._talk.turn("system", text, session=self._session, at=at, raw=dict(step), author="host")


def _steps(history: list[Any]) -> Iterator[Any]:
    """Actions and observations one after the other; older files keep them as pairs."""
    for one in history:
        if isinstance(one, list):
            yield from one
        else:
            yield one


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    talk = Talk(KIND, report, now_ms)
    known = False
    for line in records(path, talk):
        value = line.value
        if not isinstance(value, dict):
            talk.counts.count("non_object_records")
            report.lose(line.number, "not an object")
            continue
        history = value.get("history")
        if not isinstance(history, list):
            report.lose(line.number, "a run without history")
            continue
        known = True
        session = talk.ident(value.get("instance_id")) or digest(history)
        talk.counts.see("sessions", session)
        issue = value.get("issue")
        title = issue.get("title") if isinstance(issue, dict) else None
        talk.session(
            session, talk.undated(), "OpenHands run" + (f": {title}" if isinstance(title, str) else "")
        )
        run = _Run(talk, session)
        for step in _steps(history):
            if isinstance(step, dict):
                run.feed(line.number, step)
            else:
                report.lose(line.number, "a step that is no object")
        yield talk.ready()
    if not known:
        raise DejaError("IMP-E002", f"{clean(path.name)} holds no OpenHands run", HINT)
    yield from talk.rest()


def _guess(probe: Probe) -> str | None:
    if b'"history"' not in probe.head or probe.name.endswith(".traj"):
        return None
    told = b'"action"' in probe.head and (b'"is_confirmed"' in probe.head or b'"observation"' in probe.head)
    return "runs with a history of actions and observations" if told else None


OPENHANDS: Final = Source(
    kind=KIND,
    title="OpenHands runs",
    suffixes=(".jsonl",),
    guess=_guess,
    read=_read,
    figures=lambda: Counts(SHAPE),
    hint=HINT,
)
