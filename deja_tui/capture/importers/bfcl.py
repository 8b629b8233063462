# SPDX-License-Identifier: Apache-2.0
"""BFCL, the function-calling leaderboard's data: questions, and in other files the calls that are expected.

* BFCL-1  Questions become turns. Expected calls are what should have been called, not what was: they are counted, and
  never become tool calls or results.
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
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.text import clean

KIND: Final = "bfcl"
HINT: Final = "give a data file of the leaderboard: question or ground_truth on each line"
SHAPE: Final = Shape(numbers=("records", "turns", "expected_calls", "tool_results"))


def _flat(value: Any) -> Iterator[Any]:
    for one in value if isinstance(value, list) else ():
        if isinstance(one, list):
            yield from _flat(one)
        else:
            yield one


def _question(talk: Talk, value: Mapping[str, Any]) -> None:
    session = talk.ident(value.get("id")) or digest(dict(value))
    talk.session(session, talk.undated(), f"BFCL question {session}")
    for message in _flat(value.get("question")):
        role = message.get("role") if isinstance(message, Mapping) else None
        if isinstance(role, str):
            talk.counts.count("turns", int(role == "user"))
            talk.turn(role, text_of(message.get("content")), session=session, at=talk.undated())


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    talk = Talk(KIND, report, now_ms)
    known = False
    for line in records(path, talk):
        value = line.value
        if not isinstance(value, dict) or not {"question", "ground_truth"} & value.keys():
            report.lose(line.number, "neither a question nor expected calls")
            continue
        known = True
        talk.counts.count("records")
        if "question" in value:
            _question(talk, value)
        told = sum(1 for _ in _flat(value.get("ground_truth")))
        talk.counts.count("expected_calls", told)
        talk.counts.left_out["expected call"] += told
        yield talk.ready()
    if not known:
        raise DejaError("IMP-E002", f"{clean(path.name)} is no data of BFCL", HINT)
    yield from talk.rest()


def _guess(probe: Probe) -> str | None:
    for record in probe.objects():
        if "ground_truth" in record or ("question" in record and "involved_classes" in record):
            return "questions or expected calls with an id"
    return None


BFCL: Final = Source(
    kind=KIND,
    title="BFCL data",
    suffixes=(".json", ".jsonl"),
    guess=_guess,
    read=_read,
    figures=lambda: Counts(SHAPE),
    hint=HINT,
)
