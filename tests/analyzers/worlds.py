# SPDX-License-Identifier: Apache-2.0
"""Memories of every kind with telemetry beside them, and short ways to recall, ask, deliver and run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import RunOptions, run, views
from deja_tui.engine.analyzer import Analyzer, Context
from deja_tui.engine.objects import Activation, Recommendation, RunOutcome
from deja_tui.engine.pipeline import AnalyzerConfig
from deja_tui.engine.reader import Books, Reader
from deja_tui.engine.templates import render
from deja_tui.engine.wire import read_recommendation
from deja_tui.reference import BareSubstrate, Recall, ReferenceSubstrate, ReferenceTelemetry
from deja_tui.store.memory import Store
from deja_tui.store.telemetry import Telemetry
from tests.support import DAY, NOW

LONG_AGO: Final = NOW - 100 * DAY


class World:
    """A memory whose recalls are counted since ``since``; times are epoch ms."""

    def __init__(self, substrate: Any, telemetry: Any, clock: Callable[[int], None]) -> None:
        self.substrate = substrate
        self.telemetry = telemetry
        self._at = clock

    def _recall(self, at: int, namespace: str, found: tuple[str, ...], **more: Any) -> None:
        if isinstance(self.telemetry, ReferenceTelemetry):
            self.telemetry.recalls.append(Recall(at, namespace, found, **more))
            return
        self._at(at)
        self.telemetry.recalled(namespace, [self.substrate.get(one) for one in found], **more)
        self.telemetry.flush()

    def recall(self, *found: str, times: int = 1, at: int = NOW - DAY, namespace: str = "shared") -> None:
        """Recall these grains."""
        for _ in range(times):
            self._recall(at, namespace, found)

    def ask(
        self,
        question: str,
        *found: str,
        times: int = 1,
        at: int = NOW - DAY,
        namespace: str = "shared",
        subject: str | None = None,
    ) -> None:
        """Ask in free text and find these grains, or nothing."""
        for number in range(times):
            self._recall(at + number, namespace, found, question=question, subject=subject)

    def deliver(self, *addresses: str) -> None:
        """Hand these grains to an agent as context."""
        if isinstance(self.telemetry, ReferenceTelemetry):
            self.telemetry.delivered.extend(addresses)
        else:
            self.telemetry.delivered(addresses)

    def assemble(self, count: int, overflows: int, at: int = NOW - DAY) -> None:
        """Put ``count`` contexts together, of which ``overflows`` left something out."""
        for number in range(count):
            if isinstance(self.telemetry, ReferenceTelemetry):
                self.telemetry.assembled.append((at, number < overflows))
            else:
                self._at(at)
                self.telemetry.assembled(number < overflows)

    def go(self, analyzer: Analyzer, now: int = NOW, **params: Any) -> RunOutcome:
        """One run of this analyzer alone."""
        name = analyzer.manifest.id
        options = RunOptions(
            only=(name,), config={name: AnalyzerConfig(enabled=True, params=params)}, trigger="user:test"
        )
        return run(self.substrate, options, now)

    def found(self, analyzer: Analyzer, now: int = NOW, **params: Any) -> list[Recommendation]:
        """What is open after a run of this analyzer, in queue order."""
        outcome = self.go(analyzer, now, **params)
        assert [one.reason for one in outcome.analyzers_skipped] == []
        rows = [row for row in views.ledger(self.substrate) if row.analyzer == analyzer.manifest.id]
        return [
            read_recommendation(self.substrate.get(row.address)) for row in rows if row.status != "expired"
        ]

    def probe(self, analyzer: Analyzer, now: int = NOW, **params: Any) -> Activation:
        """What the analyzer says of itself."""
        return analyzer.probe(
            Context(
                Reader(self.substrate),
                analyzer.manifest.resolve(params),
                now,
                None,
                analyzer.manifest.family,
                telemetry=self.telemetry,
                books=Books(self.substrate),
            )
        )


def line(found: Recommendation) -> str:
    """The summary as a person reads it."""
    return render(found.summary.template_id, found.summary.args)


def _reference(folder: Path, since: int) -> World:
    made = ReferenceSubstrate()
    made.telemetry = ReferenceTelemetry(since, logs=True)
    return World(made, made.telemetry, lambda at: None)


def _bare(folder: Path, since: int) -> World:
    made: Any = BareSubstrate()
    made.telemetry = ReferenceTelemetry(since)
    return World(made, made.telemetry, lambda at: None)


def _file(folder: Path, since: int) -> World:
    now = [since]
    store = Store.open(folder / "a.deja", clock=lambda: NOW)
    telemetry = Telemetry(store.path, "full", lambda: now[0])
    telemetry.watching()
    return World(StoreSubstrate(store, telemetry), telemetry, lambda at: now.__setitem__(0, at))


KINDS: Final = {"reference": _reference, "bare": _bare, "file": _file}


def watched(kind: str, factory: Callable[[Path], Any], folder: Path, since: int) -> World:
    """A memory of any kind of the conformance suite, with the telemetry of its own or one held beside it."""
    if kind in KINDS:
        return KINDS[kind](folder, since)
    made = factory(folder)
    made.telemetry = ReferenceTelemetry(since)
    return World(made, made.telemetry, lambda at: None)


@pytest.fixture(params=KINDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """A memory of each kind, watched for a hundred days."""
    return KINDS[request.param](tmp_path, LONG_AGO)
