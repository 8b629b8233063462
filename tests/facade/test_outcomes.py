# SPDX-License-Identifier: Apache-2.0
"""From a lesson to its measurement, to the proposal to take it back, to memory as it was: through the library alone."""

from __future__ import annotations

from pathlib import Path

from deja_tui import Memory
from tests.support import DAY, NOW

HOUR = 3_600_000


def test_a_lesson_after_which_it_got_worse_is_taken_back(tmp_path: Path) -> None:
    """Loop-engine §12: the run that measures also proposes; the undo restores recall byte for byte; then it is quiet."""
    clock = [NOW]
    with Memory.open(tmp_path / "a.deja", clock=lambda: clock[0]) as memory:

        def call(at: int, error: bool = True) -> None:
            memory.record_tool_call("deploy", "boom" if error else "ok", error, created_at=at)

        call(NOW - 60 * DAY, error=False)
        for number in range(5):
            call(NOW - HOUR - number)
        memory.add_fact("deploy", "owner", "ana", created_at=NOW - DAY)
        memory.loop.run()
        before = [(grain.address, dict(grain.fields)) for grain in memory.recall("deploy")]
        (lesson,) = memory.loop.queue()
        memory.loop.approve_and_apply(lesson.address, because="codify it")
        assert len(before) == 1
        assert memory.latest("deploy", "fails_with") is not None

        clock[0] = NOW + HOUR
        for number in range(9):
            call(NOW + HOUR + number)
        clock[0] = NOW + DAY
        assert memory.loop.run().measured == 1
        (measured,) = memory.loop.outcomes(lesson.address)
        assert (measured.outcome.before, measured.outcome.after, measured.outcome.verdict) == (5, 9, "higher")
        assert memory.loop.show(lesson.address).outcomes == (measured.outcome,)
        (row,) = [row for row in memory.loop.queue() if row.analyzer == "loop.outcome_review/1"]
        assert (row.severity, row.rollbackable) == ("medium", False)
        memory.loop.approve_and_apply(row.address, because="it fails more often since")
        assert [(grain.address, dict(grain.fields)) for grain in memory.recall("deploy")] == before
        assert memory.loop.show(lesson.address).status == "rolled_back"
        assert memory.verify() == ()

        clock[0] = NOW + 40 * DAY
        outcome = memory.loop.run()
        assert outcome.measured == 0
        assert not [row for row in memory.loop.queue() if row.analyzer == "loop.outcome_review/1"]


def test_a_measurement_of_another_copy_is_history(tmp_path: Path) -> None:
    """D5: it came with the bundle, and neither stands for one of ours nor proposes anything here."""
    clock = [NOW]
    with Memory.open(tmp_path / "a.deja", clock=lambda: clock[0]) as memory:
        memory.record_tool_call("t", "ok", created_at=NOW - 60 * DAY)
        for number in range(5):
            memory.record_tool_call("t", "boom", True, created_at=NOW - HOUR - number)
        memory.loop.run()
        memory.loop.approve_and_apply(memory.loop.queue()[0].address, because="codify it")
        clock[0] = NOW + DAY
        memory.loop.run()
        assert len(memory.loop.outcomes()) == 1
        memory.bundle(tmp_path / "a.bundle")
    with Memory.open(tmp_path / "b.deja", clock=lambda: NOW + 8 * DAY) as copy:
        copy.import_bundle(tmp_path / "a.bundle")
        assert copy.loop.outcomes() == []
        assert copy.loop.run().measured == 0
        assert copy.verify() == ()
