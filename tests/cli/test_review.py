# SPDX-License-Identifier: Apache-2.0
"""``deja review``: one recommendation, one typed reason, one receipt, in lines."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from deja_tui import Memory
from deja_tui.text import cells
from tests.cli.conftest import Deja, Done
from tests.present.hostile import HOSTILE, harmless

Review = Callable[..., Done]


@pytest.fixture
def review(deja: Deja, demo: Path, monkeypatch: pytest.MonkeyPatch) -> Review:
    """Run the walker on the demo with the given typed lines."""

    def call(*typed: str, flags: tuple[str, ...] = ()) -> Done:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(line + "\n" for line in typed)))
        return deja("review", "--db", demo, "--actor", "user:ana", *flags)

    return call


def statuses(path: Path) -> dict[str, int]:
    with Memory.open(path, read_only=True) as memory:
        rows = memory.loop.queue(None)
    return {status: sum(row.status == status for row in rows) for status in {row.status for row in rows}}


def test_approve_and_apply_with_two_reasons(review: Review, demo: Path) -> None:
    """Receipts with audit addresses; the summary counts what was done."""
    done = review("a", "seen in three sessions", "p", "the dry run adds one fact", "q")
    assert done.code == 0
    assert "APPROVED" in done.out
    assert "APPLIED" in done.out
    assert done.out.count("chain    verified") == 2
    assert "approved 1  rejected 0  applied 1" in done.out
    assert statuses(demo)["applied"] == 2


def test_reasons_are_refused_by_one_rule(review: Review, demo: Path) -> None:
    """Blank, over-long and repeated reasons record nothing (D16)."""
    done = review("x", "   ", "x", "y" * 501, "x", "an outage", "x", "An  outage".replace("  ", " "), "q")
    assert "a reason is needed" in done.out
    assert "at most 500 characters" in done.out
    assert "already given in this sitting" in done.out
    assert statuses(demo)["rejected"] == 2


def test_leaving_at_any_moment_decides_nothing_more(review: Review, demo: Path) -> None:
    """End of input in the middle of a reason, `q` at a choice, an unknown letter."""
    before = statuses(demo)
    for typed in ((), ("q",), ("a",), ("z", "q"), ("s", "s", "a")):
        done = review(*typed)
        assert done.code == 0
        assert "Sitting ended" in done.out
    assert statuses(demo) == before


def test_skipping_walks_the_whole_queue_once(review: Review, demo: Path) -> None:
    """Every pending one is shown, none is decided."""
    before = statuses(demo)
    done = review(*["s"] * 20)
    assert done.out.count("-- Change, literal") == before["pending"]
    assert f"skipped {before['pending']}" in done.out
    assert statuses(demo) == before


def test_a_decision_of_somebody_else_meanwhile_is_said(
    deja: Deja, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loser of a race is told who decided, and the walk goes on."""
    with Memory.open(demo, actor="user:bob") as other:
        first = other.loop.queue()[0].address

        class Typed(io.StringIO):
            def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
                line = super().readline()
                if line == "a\n":
                    other.loop.reject(first, because="bob was faster")
                return line

        monkeypatch.setattr("sys.stdin", Typed("a\nlooks right\nq\n"))
        done = deja("review", "--db", demo, "--actor", "user:ana")
    assert "LOP-E020" in done.out
    assert "user:bob" in done.out
    assert "2 of" in done.out


def test_an_empty_queue_says_so(deja: Deja, tmp_path: Path) -> None:
    """And names what fills it."""
    path = tmp_path / "a.deja"
    deja("init", "--db", path)
    done = deja("review", "--db", path)
    told = "The analyzers have not looked at it yet"
    assert (done.code, done.out) == (0, f"Nothing to review. {told}:\n  deja loop run --db {path}\n")


def test_a_sentence_at_a_choice_decides_nothing(review: Review, demo: Path) -> None:
    """A reason typed one prompt too late is not read by its first letter."""
    before = statuses(demo)
    done = review("a", "", "seen often", "xenial again", "q")
    assert done.code == 0
    assert statuses(demo) == before
    assert "one letter, please; a reason is asked for after it" in done.out


def test_one_unreadable_recommendation_does_not_end_the_walk(review: Review, demo: Path) -> None:
    """Its fault is said, the others are reviewed."""
    import apsw

    with Memory.open(demo, read_only=True) as memory:
        first = memory.loop.queue()[0].address
    db = apsw.Connection(str(demo))
    db.execute("UPDATE grain SET body = substr(body, 1, 40) WHERE hash = ?", (bytes.fromhex(first),))
    db.close()
    done = review("s", "s", "q")
    assert done.code == 0, done.err
    assert "Sitting ended" in done.out
    assert done.out.count("-- Change, literal") >= 2


@pytest.mark.parametrize("room", [60, 100])
def test_hostile_text_stays_text_and_lines_stay_in_their_room(
    room: int, deja: Deja, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On 60 columns as on 100: nothing acts, nothing hides, and what the review draws is no wider than the terminal."""
    path = tmp_path / "hostile.deja"
    with Memory.open(path) as memory:
        for number, bad in enumerate(HOSTILE.values()):
            for copy in range(3):
                memory.record_tool_call(
                    f"tool{number}", f"{bad} {copy}"[:2_000], is_error=True, thread=bad[:60]
                )
        memory.loop.run(full=True)
        pending = len(memory.loop.queue())
    assert pending > 2
    monkeypatch.setattr("deja_tui.cli.output.width", lambda: room)
    monkeypatch.setattr("sys.stdin", io.StringIO("e\ns\n" * pending))
    done = deja("review", "--db", path, "--actor", "user:ana")
    assert done.code == 0
    for row in done.out.splitlines():
        assert harmless(row), ascii(row)
        if " > " not in row and "deja review" not in row:
            assert cells(row) <= room, row
