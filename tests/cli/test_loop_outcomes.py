# SPDX-License-Identifier: Apache-2.0
"""``deja loop outcomes``: from a lesson to its counts, for people and for programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from deja_tui import Memory
from tests.cli.conftest import Deja
from tests.support import DAY, NOW

HOUR = 3_600_000


@pytest.fixture
def measured(deja: Deja, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """A lesson that was applied at NOW and measured a day later; its file and address."""
    path = tmp_path / "a.deja"
    clock = [NOW]
    with Memory.open(path, clock=lambda: clock[0]) as memory:

        def call(at: int, error: bool) -> None:
            memory.record_tool_call("t", "boom" if error else "ok", error, created_at=at)

        call(NOW - 60 * DAY, False)
        for number in range(5):
            call(NOW - HOUR - number, True)
        memory.loop.run()
        (row,) = memory.loop.queue()
        memory.loop.approve_and_apply(row.address, because="codify it")
        call(NOW + HOUR, True)
        clock[0] = NOW + DAY
        memory.loop.run()
    monkeypatch.setenv("DEJA_LOOP_NOW_MS", str(NOW + DAY))
    return path, row.address


def test_a_person_reads_both_counts(deja: Deja, measured: tuple[Path, str]) -> None:
    """D23: the counts and changed; no percentage, no cause."""
    path, address = measured
    done = deja("loop", "outcomes", "--db", path)
    assert done.code == 0, done.err
    heading, row = done.out.splitlines()
    assert heading.startswith(f"{address[:8]}  applied, in effect from 2026-03-02 09:00Z  t: 5 of 5 calls")
    assert row == "  1 day: 5 of 5 calls failed that way before, 1 of 1 after: changed"


def test_a_program_reads_counts_and_spans(deja: Deja, measured: tuple[Path, str]) -> None:
    """The shape only ever grows."""
    path, address = measured
    (one,) = deja("loop", "outcomes", address[:10], "--db", path, "--format", "json").json["outcomes"]
    assert {name: one[name] for name in ("recommendation", "status", "verdict", "word", "metric")} == {
        "recommendation": address, "status": "applied", "verdict": "lower", "word": "changed",
        "metric": "tool_error_recurrence",
    }  # fmt: skip
    assert one["before"] == {"count": 5, "n": 5, "span": [NOW - DAY, NOW]}
    assert one["after"] == {"count": 1, "n": 1, "span": [NOW, NOW + DAY]}
    assert (one["horizon_ms"], one["measured_at"]) == (DAY, NOW + DAY)


def test_an_empty_report_says_when_there_will_be_one(deja: Deja, tmp_path: Path) -> None:
    """And an address that is none is an error with its code."""
    path = tmp_path / "a.deja"
    with Memory.open(path) as memory:
        memory.loop.run()
    assert "measured after 1, 7 and 30 days" in deja("loop", "outcomes", "--db", path).out
    done = deja("loop", "outcomes", "ffffffff", "--db", path)
    assert done.code == 1
    assert "LOP-E040" in done.err


def test_the_library_gives_the_same(measured: tuple[Path, str]) -> None:
    """`Memory.loop.outcomes`: typed, the newest first; needs read."""
    path, address = measured
    with Memory.open(path, read_only=True) as memory:
        (one,) = memory.loop.outcomes()
        assert memory.loop.outcomes(address) == [one]
        assert (one.outcome.before, one.outcome.after, one.outcome.verdict) == (5, 1, "lower")
        assert one.recommendation.address == address
