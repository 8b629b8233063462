# SPDX-License-Identifier: Apache-2.0
"""tau-bench and tau2 result files: every simulation is one session with its messages and tool calls.

* TAU-1  tau-bench: a list of {task_id, reward, traj}; a tool result that begins with Error is a failure.
* TAU-2  tau2: simulations with messages; a tool message carries its own error flag. A tool that the simulated user
  calls is a call, too. A simulation that holds ticks (voice) instead of messages is a loss, told by its number.
* TAU-3  A simulation without an id is known by the digest of all of it: result files are written once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from deja_tui.capture import files
from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.messages import Conversation, error_prefix
from deja_tui.capture.reading import elements
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source
from deja_tui.capture.streaming import Broken, under
from deja_tui.capture.talk import Talk
from deja_tui.capture.tame import digest
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.text import clean

HINT: Final = "give a results file of tau-bench or tau2"
_SHAPE1: Final = Shape(
    numbers=("messages", "simulations"),
    sets=("sessions",),
    groups=("messages_by_role", "rewards"),
    calls=True,
)
_SHAPE2: Final = Shape(
    numbers=("simulations", "tasks", "messages"), groups=("messages_by_role", "rewards"), calls=True
)


def _talk(kind: str, report: FileReport, now_ms: int) -> Talk:
    return Talk(kind, report, now_ms)


def _feed(talk: Talk, number: int, session: str, messages: list[Any]) -> None:
    conversation = Conversation(talk, session, error_prefix)
    for message in messages:
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            talk.report.lose(number, "a message without role")
            continue
        talk.counts.count("messages")
        talk.counts.group("messages_by_role", message["role"][:40])
        conversation.feed(message, talk.moment(message.get("timestamp"), number))


def _reward(talk: Talk, value: Any) -> None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        talk.counts.group("rewards", str(float(value)))


def _read_bench(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    talk = _talk("tau-bench", report, now_ms)
    known = False
    for number, one in enumerate(elements(path, report, kind="tau-bench result", hint=HINT), 1):
        if not isinstance(one, dict) or not isinstance(one.get("traj"), list):
            report.lose(number, "a simulation without trajectory")
            continue
        known = True
        session = digest(one)
        talk.counts.count("simulations")
        talk.counts.see("sessions", session)
        _reward(talk, one.get("reward"))
        told = f"tau-bench task {one.get('task_id')}, trial {one.get('trial')}, reward {one.get('reward')}"
        talk.session(session, talk.undated(), told, task=str(one.get("task_id")))
        _feed(talk, number, session, one["traj"])
        yield talk.ready()
    if not known:
        raise DejaError("IMP-E002", f"{clean(path.name)} is no tau-bench result", HINT)
    yield from talk.rest()


def _read_tau2(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    files.checked(path)
    talk, number = _talk("tau2", report, now_ms), 0
    try:
        for number, one in enumerate(under(path, ("simulations",)), 1):
            _simulation(talk, number, one)
            yield talk.ready()
    except Broken:
        if not number:
            raise DejaError("IMP-E002", f"{clean(path.name)} is no tau2 result: not JSON", HINT) from None
        report.lose(number + 1, "the document breaks off here")
    if not number:
        raise DejaError("IMP-E002", f"{clean(path.name)} is no tau2 result", HINT)
    with suppress(Broken):  # told above
        for _ in under(path, ("tasks",)):
            talk.counts.count("tasks")
    yield from talk.rest()


def _simulation(talk: Talk, number: int, one: Any) -> None:
    if not isinstance(one, dict):
        talk.report.lose(number, "a simulation that is no object")
        return
    talk.counts.count("simulations")
    reward = one.get("reward_info")
    _reward(talk, reward.get("reward") if isinstance(reward, dict) else None)
    session = talk.ident(one.get("id")) or digest(one)
    talk.session(
        session,
        talk.moment(one.get("start_time"), number),
        f"tau2 task {one.get('task_id')}, trial {one.get('trial')}, ended {one.get('termination_reason')}",
        task=str(one.get("task_id")),
    )
    messages = one.get("messages")
    if isinstance(messages, list):
        _feed(talk, number, session, messages)
    else:
        talk.report.lose(number, "a simulation without messages (a voice run keeps ticks)")


def _guess_bench(probe: Probe) -> str | None:
    # the start of a long file is cut, so its first words decide
    found = probe.head.lstrip()[:1] == b"[" and b'"traj"' in probe.head and b'"reward"' in probe.head
    return "simulations with traj and reward" if found else None


def _guess_tau2(probe: Probe) -> str | None:
    found = b'"simulations"' in probe.head or (
        b'"environment_info"' in probe.head and b'"tasks"' in probe.head
    )
    return "simulations with tasks and environment_info" if found else None


TAU_BENCH: Final = Source(
    kind="tau-bench",
    title="tau-bench results",
    suffixes=(".json",),
    guess=_guess_bench,
    read=_read_bench,
    figures=lambda: Counts(_SHAPE1),
    hint=HINT,
)
TAU2: Final = Source(
    kind="tau2",
    title="tau2 results",
    suffixes=(".json",),
    guess=_guess_tau2,
    read=_read_tau2,
    figures=lambda: Counts(_SHAPE2),
    hint=HINT,
)
