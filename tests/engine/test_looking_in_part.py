# SPDX-License-Identifier: Apache-2.0
"""Looking at what is new finds what looking at everything finds: one history on two files, one of which is always looked
at whole."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import RunOptions, lifecycle, run, views
from deja_tui.engine.substrate import NewGrain
from deja_tui.errors import DejaError
from deja_tui.store.memory import Store
from tests.engine.helpers import ANA
from tests.support import DAY, NOW

WORDS = st.sampled_from(["acme", "Acme", "otter"])
RELATIONS = st.sampled_from(["tier", "likes", "region"])
VALUES = st.sampled_from(["gold", "Gold", "silver"])
FACTS = st.tuples(st.just("add"), st.tuples(WORDS, RELATIONS, VALUES, st.sampled_from([None, None, -9, 20])))
NOTES = st.tuples(
    st.just("note"),
    st.sampled_from(
        [
            "the deploy of the billing service failed because the index was locked by a backup job last night",
            "the deploy of the billing service failed because the index was locked by a backup job last week",
            "ana prefers short answers and green tea on mondays when the office is nearly empty",
        ]
    ),
)
CALLS = st.tuples(st.just("call"), st.sampled_from(["boom", "timeout"]))
PICKS = st.tuples(
    st.sampled_from(["supersede", "hide", "forget", "reject", "apply", "rollback"]), st.integers(0, 9)
)
TIMES = st.tuples(st.just("wait"), st.sampled_from([1, DAY, 7 * DAY, 15 * DAY]))
RUNS = st.tuples(st.just("run"), st.none())
STEPS = st.lists(st.one_of(FACTS, FACTS, NOTES, CALLS, PICKS, PICKS, TIMES, RUNS, RUNS), max_size=28)


class Copy:
    """One file with the history so far; ``full``: every run of it looks at everything."""

    def __init__(self, store: Store, *, full: bool) -> None:
        self.memory = StoreSubstrate(store)
        self.full = full
        self.now = NOW
        self.count = 0

    def step(self, what: str, argument: Any) -> object:
        """Do one step; what it is refused with, or what it leaves."""
        acts: dict[str, Callable[[Any], object]] = {
            "add": self._add, "note": self._note, "call": self._call, "wait": self._wait, "run": self._run,
            "supersede": self._supersede, "hide": self._hide, "forget": self._forget,
            "reject": lambda n: self._decide("pending", n, lifecycle.reject),
            "apply": lambda n: self._decide("pending", n, lifecycle.approve_and_apply),
            "rollback": lambda n: self._decide("applied", n, lifecycle.rollback),
        }  # fmt: skip
        try:
            return acts[what](argument)
        except DejaError as fault:
            return fault.code

    def _put(self, kind: str, fields: dict[str, Any]) -> None:
        self.count += 1
        self.memory.put(NewGrain(kind, "shared", self.now - DAY + self.count, fields))

    def _add(self, told: tuple[str, str, str, int | None]) -> None:
        subject, relation, value, end = told
        until = {} if end is None else {"valid_to": NOW + end * DAY}
        self._put("fact", {"subject": subject, "relation": relation, "object": value, **until})

    def _note(self, text: str) -> None:
        self._put("observation", {"observer_id": "agent-1", "observer_type": "agent", "content": text})

    def _call(self, error: str) -> None:
        told = {
            "tool_name": "refund",
            "tool_content": error,
            "is_error": True,
            "tool_call_id": f"c{self.count}",
        }
        self._put("tool", told)

    def _wait(self, ms: int) -> None:
        self.now += ms

    def _run(self, _: None) -> object:
        outcome = run(self.memory, RunOptions(full=self.full), self.now)
        self.now += 1
        return outcome.stored, outcome.refreshed, outcome.closed, self.rows()

    def rows(self) -> list[tuple[str, str, str]]:
        """What the queue holds, whatever the addresses."""
        return sorted((row.analyzer, row.identity, row.status) for row in views.ledger(self.memory))

    def _live(self, number: int) -> str | None:
        live = [grain for kind in ("fact", "observation") for grain in self.memory.scan(kind) if grain.live]
        return live[number % len(live)].address if live else None

    def _supersede(self, number: int) -> None:
        if (target := self._live(number)) is not None:
            old = self.memory.get(target)
            assert old is not None
            new = (
                {**old.fields, "object": "bronze"}
                if old.type == "fact"
                else {**old.fields, "content": "gone"}
            )
            new.pop("derived_from", None)
            self.memory.supersede(target, NewGrain(old.type, "shared", self.now, new))

    def _hide(self, number: int) -> None:
        if (target := self._live(number)) is not None:
            self.memory.mark(target, "hide")

    def _forget(self, number: int) -> None:
        if (target := self._live(number)) is not None:
            self.memory.forget(target)

    def _decide(self, status: str, number: int, how: Callable[..., object]) -> None:
        rows = sorted(
            views.ledger(self.memory, (status,)), key=lambda row: (row.analyzer, row.identity, row.since)
        )
        if rows:
            how(self.memory, rows[number % len(rows)].address, "because", ANA, self.now)


@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(STEPS)
def test_a_part_finds_what_the_whole_finds(steps: list[tuple[str, Any]]) -> None:
    """After every step both files hold the same findings in the same states, and refuse the same."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        copies = [
            Copy(stack.enter_context(Store.open(Path(folder) / f"{full}.deja", clock=lambda: NOW)), full=full)
            for full in (False, True)
        ]
        for what, argument in [*steps, ("run", None)]:
            answers = [copy.step(what, argument) for copy in copies]
            assert answers[0] == answers[1], (what, argument)
            assert copies[0].rows() == copies[1].rows(), (what, argument)
