# SPDX-License-Identifier: Apache-2.0
"""Empty and error states: each names what is missing and the command or key that meets it. One test a row of the table."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deja_tui import watch
from deja_tui.cli.ui import open_console
from deja_tui.engine.objects import Activation, RunOutcome
from deja_tui.errors import DejaError
from deja_tui.screens.whole import WholeScreen
from tests.present import build
from tests.screens.cases import broken, measured
from tests.screens.fake import FakeReviews
from tests.screens.user import FILE, console, reader
from tests.support import NOW

LOCKED = DejaError("STO-E004", "the file is locked by another writer", "try again in a moment")


def test_no_file_names_the_demo_and_init(tmp_path: Path) -> None:
    """Nothing is made by opening."""
    with pytest.raises(DejaError) as caught:
        open_console([str(tmp_path / "none.deja")])
    assert "deja demo" in (caught.value.next_step or "")
    assert "deja init" in (caught.value.next_step or "")


async def test_an_empty_queue_says_what_is_new_what_is_waited_for_and_r_runs_anyway() -> None:
    """Counts, the nearest analyzer with what it needs, and the run from here."""
    reviews = FakeReviews([])
    first, *rest = reviews.standing.analyzers
    wider = "deja loop set tool_failure.window_days=180 --because 'old logs'"
    waits = replace(first, activation=Activation("below_threshold", 12, 50, "grains", older=5), next=wider)
    reviews.standing = replace(reviews.standing, analyzers=(waits, *rest))
    async with console(reviews) as user:
        assert " new:        1 grain and 0 errors, since the run 2h ago" in user.rows
        assert any(row.startswith(" waits:") and "50" in row and "12" in row for row in user.rows)
        assert f" look back: {wider} --db {FILE} " in " ".join(user.text.split())
        assert f" look again: R, or deja loop run --db {FILE}" in user.rows
        assert "R run" in user.hints
        await user.press("R")
        assert reviews.ran
        assert user.flash.startswith("ran: ")


async def test_when_all_is_decided_the_receipts_stay_with_what_comes_next() -> None:
    """The receipts of this sitting, when the first is measured, who may decide without a person."""
    reviews = FakeReviews([build.tool_failure()])
    async with console(reviews) as user:
        await user.press("a", *"seen twice", "enter", "p", *"agreed", "enter", "enter")
        text = " ".join(user.text.split())
        assert "applied 01eba48c audit" in text
        assert "measured: by a run after 2026-03-03 09:00Z, then on place 5 Outcomes" in text
        assert "deja loop policy" in text


async def test_a_broken_chain_stands_in_the_row_and_decisions_are_off() -> None:
    """``!`` in the row, the address of the first bad link in the detail."""
    async with console(broken()) as user:
        assert user.marked().startswith("▸L! duplicate_sweep/1")
        await user.press("enter")
        assert "CHAIN BROKEN at 2a79ee89" in user.text
        await user.press("x")
        assert user.flash == "its audit chain does not verify: decisions are off"


async def test_a_lock_lets_reads_go_on_and_an_act_try_again() -> None:
    """What was typed stays for Enter; r reads again; nothing is lost."""
    reviews = FakeReviews()
    async with console(reviews) as user:
        await user.press("w", "a", *"because")
        reviews.faults["approve"] = LOCKED
        await user.press("enter")
        assert user.flash.startswith("STO-E004 the file is locked by another writer. r or Enter tries again")
        assert any(row.startswith("APPROVE BECAUSE> because") for row in user.rows)
        await user.press("enter")
        assert user.screen.state == "receipt"


@pytest.mark.parametrize(
    "at,asked",
    [("overview", "health"), ("queue", "queue"), ("analyzers", "analyzers"), ("outcomes", "outcomes")],
)
async def test_what_could_not_be_read_again_keeps_its_rows_and_says_their_age(at: str, asked: str) -> None:
    """Code, sentence, age, and the key that reads again."""
    reviews, moment = measured(), [NOW]
    async with console(reviews, at=at, now_ms=lambda: moment[0]) as user:
        marked = user.marked().split()[:2]
        moment[0] += 180_000
        reviews.faults[asked] = LOCKED
        await user.press("r")
        assert user.flash == (
            "STO-E004 the file is locked by another writer. Shown as it was 3m ago; r reads again."
        )
        assert user.marked().split()[:2] == marked
        await user.press("r")
        assert user.flash == "read again"


async def test_a_dry_run_of_an_analyzer_writes_nothing_and_is_a_page() -> None:
    """d on the list and on the settings; y gives the command that does the same, h goes back."""
    async with console(at="analyzers") as user:
        await user.press("d")
        assert isinstance(user.screen, WholeScreen)
        assert "would propose draft «x»" in user.text
        assert user.reviews.ran == []
        await user.press("y")
        assert f"deja loop run --dry-run --only tool_failure --db {FILE}" in user.app.clipboard
        await user.press("h", "enter", "d")
        assert isinstance(user.screen, WholeScreen)
    async with console(at="analyzers", rights=reader()) as user:
        await user.press("d")
        assert isinstance(user.screen, WholeScreen), "looking is reading"


async def test_taking_back_is_proposed_with_a_reason_never_done() -> None:
    """u on a measurement files a draft; on a row of counts it says what to select; without write it is off."""
    async with console(measured(), at="outcomes/loop.tool_failure") as user:
        await user.press("u")
        assert "select a measurement" in user.flash
        await user.press("j", "u", *"worse than before", "enter")
        assert "another person approves it" in user.flash
        given = user.reviews.parts[-1]
        assert given["note"] == "worse than before"
        assert given["operations"][0]["op"] == "revert"
        assert given["evidence"]
    async with console(measured(), at="outcomes", rights=reader()) as user:
        await user.press("u")
        assert "needs the right `write`" in user.flash


async def test_sections_of_a_list_are_reached_by_brackets() -> None:
    """] and [ on the outcomes go from analyzer to analyzer, on the others from state to state; the end says so."""
    async with console(measured(), at="outcomes") as user:
        await user.press("]", "]")
        assert user.marked().startswith("▸tool_failure")
        await user.press("]")
        assert user.flash == "no section follows"
        await user.press("[", "[", "[")
        assert user.flash == "no section comes before"
        await user.press("1", "]")
        assert not user.marked().startswith("▸tool_failure")
        await user.press("4", "]")
        assert user.marked().startswith("▸off")


class Verifying(FakeReviews):
    """A memory whose verification tells how far it is, and goes on when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on, self.told = threading.Event(), threading.Event()

    def verify(self) -> list[object]:
        for _ in watch.each(range(10_000), 10_000, "grains", every=100):
            self.told.set()
            assert self.go_on.wait(5)
        return []


@pytest.mark.parametrize("by", ["escape", "leaving"])
async def test_a_verification_tells_how_far_it_is_and_is_ended_by_a_key(by: str) -> None:
    """Esc ends the reading itself; leaving the console does, too; nothing is known of the file then."""
    reviews = Verifying()
    async with console(reviews, at="overview") as user:
        screen = user.screen
        done: list[int] = []
        screen.verify_file(reviews, done.append)
        while not reviews.told.is_set():
            await user.pilot.pause()
        await user.pilot.pause()
        assert user.flash == "verified so far: 0 of 10,000 grains, Esc stops it …"
        if by == "escape":
            await user.pilot.press("escape")
            assert "a verification stops at the next pause" in user.flash
            reviews.go_on.set()
            await user.settle()
            assert user.flash == "the verification was stopped: nothing is known of the file anew"
            assert not done
            assert not screen.working
            screen.verify_file(reviews, done.append)
            await user.settle()
            assert done == [0], "it can be asked for again"
        else:
            reviews.go_on.set()
            user.app.feed.closing.set()
            await user.settle()
            assert not done


async def test_leaving_in_the_middle_of_a_run_does_not_wait_for_ever() -> None:
    """What the run says on its way is not waited for by the thread that says it."""
    reviews, begun, go_on = FakeReviews(), threading.Event(), threading.Event()
    run = reviews.run

    def slow(**given: Any) -> RunOutcome:
        begun.set()
        assert go_on.wait(5)
        return run(**given)

    reviews.run = slow  # type: ignore[method-assign]
    async with console(reviews, at="overview") as user:
        user.screen.run_all(["one", "two"], quick=False)
        while not begun.is_set():
            await user.pilot.pause()
        user.app.leave()
        go_on.set()
    assert len(reviews.ran) >= 1
