# SPDX-License-Identifier: Apache-2.0
"""The overview: its keys, its work in the background, its empty and error states, and the places with a number."""

from __future__ import annotations

import threading
from dataclasses import replace
from threading import Event

import pytest

from deja_tui.console.looking import LIMIT_S, look
from deja_tui.engine.objects import RunOutcome
from deja_tui.errors import DejaError
from deja_tui.screens.overview import OverviewScreen
from deja_tui.screens.queue import QueueScreen
from deja_tui.screens.walker import WalkerScreen
from tests.present.hostile import HOSTILE, in_turn
from tests.present.standing import nothing
from tests.screens.cases import strange
from tests.screens.fake import FakeReviews
from tests.screens.test_hostile import sane
from tests.screens.user import FILE, console, reader


async def test_the_numbers_switch_places_and_each_stays_as_it_was_left() -> None:
    """The title brackets where one is and keeps the count of what waits."""
    async with console() as user:
        await user.press("j", "1")
        assert isinstance(user.screen, OverviewScreen)
        assert user.title.startswith(" deja agent.db  [1 Overview] 2 3:3 4")
        await user.press("j", "j", "3")
        assert "2/3" in user.title
        await user.press("1")
        assert user.marked().startswith("▸contradiction_sweep")


async def test_a_number_leads_away_from_a_detail() -> None:
    """What stood on the place is closed."""
    async with console() as user:
        await user.press("enter", "1", "3")
        assert isinstance(user.screen, QueueScreen)


async def test_keys_typed_ahead_of_a_place_reach_it_in_order() -> None:
    """1 and two moves in one write: the moves are of the overview."""
    async with console() as user:
        await user.burst("1", "j", "j")
        assert user.marked().startswith("▸contradiction_sweep")


@pytest.mark.parametrize("at,marked", [("overview", "▸tool_failure"), ("overview/staleness", "▸staleness")])
async def test_a_deep_link_begins_there(at: str, marked: str) -> None:
    """`--at overview`, and one analyzer of it."""
    async with console(at=at) as user:
        assert isinstance(user.screen, OverviewScreen)
        assert user.marked().startswith(marked)


async def test_a_link_to_nothing_says_so() -> None:
    """An analyzer that is not here; a place that is not there names those that are."""
    async with console(at="overview/nobody") as user:
        assert "there is no analyzer nobody" in user.flash
    async with console(at="nowhere") as user:
        assert "there are overview, sessions" in user.flash
        assert "memories/HASH" in user.text
        assert isinstance(user.screen, QueueScreen)


async def test_it_shows_what_the_file_is_and_when_it_was_verified() -> None:
    """D55: claims, sizes, verification of this sitting, time to the first recommendation."""
    async with console(at="overview") as user:
        assert "1 contested" in user.text
        assert "12.4 MB, log 4.1 kB · V verifies" in user.text
        assert " first finding 0s after the first grain" in user.rows
        await user.press("V")
        assert user.flash == "verified: no fault"
        assert "the file verified 0s ago" in user.text
        assert user.text.count("verif") == 5, "audit chains, the time, the key, its hint, the message"
        user.reviews.faults_found = [object(), object()]
        await user.press("V")
        assert "2 faults found" in user.text


async def test_run_says_what_it_did_and_everything_is_read_again() -> None:
    """R: one whole run where a look is quick."""
    async with console(at="overview") as user:
        await user.press("R")
        assert user.flash == "ran: 2 proposed, 1 new in the queue, 1 refreshed"
        assert user.reviews.ran == [()]
        assert user.reviews.asked.count("health") == 2


async def test_a_run_needs_the_right_to_write() -> None:
    """Read only: R says why it is off, and is not hinted."""
    async with console(at="overview", rights=reader()) as user:
        await user.press("R")
        assert "needs the right `write`" in user.flash
        assert "R run" not in user.hints
        assert user.reviews.ran == []


def test_a_slow_run_stops_after_five_seconds_between_two_analyzers() -> None:
    """D29: partial, with how many had their turn."""
    reviews, ticks = FakeReviews(), iter([0.0, 1.0, 4.9, LIMIT_S, 9.0])
    found = look(reviews, ["a", "b", "c", "d"], quick=False, stop=Event(), now=lambda: next(ticks))
    assert (found.done, found.of, found.partial) == (2, 4, True)
    assert reviews.ran == [("a",), ("b",)]


async def test_a_partial_run_is_told_with_the_command_for_the_whole() -> None:
    """Esc stops it at the next pause; reading goes on meanwhile, and a second run is refused."""
    reviews = FakeReviews()
    go, begun = threading.Event(), threading.Event()

    def slow(*, only: tuple[str, ...] = ()) -> RunOutcome:
        begun.set()
        assert go.wait(10)
        reviews.ran.append(tuple(only))
        return RunOutcome("ran", None, 0, 0)

    reviews.run = slow  # type: ignore[method-assign]
    async with console(reviews, at="overview") as user:
        screen = user.screen
        assert isinstance(screen, OverviewScreen)
        screen.took = 60.0
        screen.do_run()
        for _ in range(200):
            await user.pilot.pause(0)
            if begun.is_set():
                break
        screen.do_run()
        assert "under way" in user.flash
        screen.do_stop()
        go.set()
        await user.settle()
        assert user.flash.startswith("PARTIAL: 1 of 10 analyzers ran")
        assert f"deja loop run --db {FILE}" in " ".join(user.flash.split())
        assert len(reviews.ran) == 1


async def test_e_leads_to_what_an_analyzer_left_in_the_queue() -> None:
    """The queue, filtered by its name; Esc there clears the filter."""
    async with console(at="overview") as user:
        await user.press("e")
        assert user.marked().startswith("▸H  tool_failure/1")
        assert "pending  1/1  filter" in user.title
        await user.press("escape")
        assert "1/3" in user.title


async def test_w_walks_from_here_too() -> None:
    """The same walk as from the queue."""
    async with console(at="overview") as user:
        await user.press("w")
        assert isinstance(user.screen, WalkerScreen)
        await user.press("q")
        assert isinstance(user.screen, OverviewScreen)


async def test_a_failed_reading_is_told_and_r_reads_again() -> None:
    """Code, sentence, next step; nothing is made up meanwhile."""
    reviews = FakeReviews()
    fault = DejaError("STO-E004", "the file is locked by another writer", "try again")
    reviews.faults["health"] = fault
    async with console(reviews, at="overview") as user:
        assert user.flash.startswith("STO-E004")
        assert "Nothing could be read" in user.text
        await user.press("r")
        assert user.flash == "read again"
        assert user.marked()


async def test_an_empty_memory_names_the_command_that_fills_it() -> None:
    """Never a blank page."""
    reviews = FakeReviews([])
    reviews.standing = nothing()
    async with console(reviews, at="overview") as user:
        assert f"deja import claude-code PATH --db {FILE}" in " ".join(user.text.split())
        assert "never" in user.text


async def test_a_change_behind_another_place_is_read_when_one_returns() -> None:
    """Another process wrote while the queue was looked at."""
    async with console(at="overview") as user:
        await user.press("3")
        await user.app.polled()
        user.reviews.token += 1
        user.reviews.standing = replace(user.reviews.standing, grains={"fact": 77})
        await user.app.polled()
        await user.press("1")
        assert "77 live grains" in user.text


@pytest.mark.parametrize("name,size", in_turn([(60, 20), (80, 24), (120, 40)]))
async def test_hostile_names_and_reasons_stay_text(name: str, size: tuple[int, int]) -> None:
    """Names of analyzers, their faults, claims and warnings: nothing acts, nothing shifts."""
    bad = HOSTILE[name]
    async with console(strange(bad), size, at="overview") as user:
        sane(user)
        await user.press("e", "1", "G")
        sane(user)


@pytest.mark.parametrize("key,back", [("ctrl+d", "ctrl+u"), ("G", "g"), ("j", "k"), ("end", "home")])
async def test_the_list_moves_like_every_list(key: str, back: str) -> None:
    """Down and up again."""
    async with console(at="overview") as user:
        await user.press(key)
        assert not user.marked().startswith("▸tool_failure")
        await user.press(back)
        assert user.marked().startswith("▸tool_failure")


async def test_the_command_line_of_the_page_can_be_copied() -> None:
    """C gives what prints the same report."""
    async with console(at="overview") as user:
        await user.press("C")
        assert f"deja loop --db {FILE}" in user.flash


async def test_q_leaves_from_any_place() -> None:
    """The last hint says so."""
    async with console(at="overview") as user:
        assert user.hints.endswith("q quit")
        await user.press("q")
        assert user.app.return_code == 0
