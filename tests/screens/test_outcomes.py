# SPDX-License-Identifier: Apache-2.0
"""Outcomes: counts of each analyzer, both counts and spans of each measurement, links both ways."""

from __future__ import annotations

import re

import pytest

from deja_tui.errors import DejaError
from deja_tui.screens.analyzers import AnalyzersScreen
from deja_tui.screens.detail import DetailScreen
from deja_tui.screens.outcomes import OutcomesScreen
from tests.present.hostile import HOSTILE, in_turn
from tests.screens.cases import measured
from tests.screens.fake import FakeReviews
from tests.screens.test_hostile import sane
from tests.screens.user import FILE, console


async def test_each_analyzer_has_its_counts_and_its_measurements_below() -> None:
    """D23: both counts, out of how many, both spans; no share."""
    async with console(measured(), at="outcomes") as user:
        row = next(row for row in user.rows if "tool_failure/1" in row)
        assert row.split()[-6:] == ["0", "0", "0", "1", "0", "0"]
        while "7 days" not in user.marked():
            await user.press("j")
        assert "8 of 20 calls failed that way before" in " ".join(user.text.split())
        assert "2 of 20 after: fewer" in " ".join(user.text.split())
        assert re.search(r"before +2026-02-15 09:00Z to 2026-02-22 09:00Z", user.text)
        assert "%" not in user.text


async def test_enter_opens_the_trail_or_the_analyzer() -> None:
    """A measurement leads to its recommendation at the trail, a row of counts to the analyzer."""
    async with console(measured(), at="outcomes/loop.tool_failure") as user:
        await user.press("j", "enter")
        assert isinstance(user.screen, DetailScreen)
        assert user.screen.detail.status == "applied"
        assert "Trail, chain verified" in user.text
        await user.press("h")
        assert isinstance(user.screen, OutcomesScreen)
        await user.press("k", "enter")
        assert isinstance(user.screen, AnalyzersScreen)
        assert user.marked().startswith("▸on  tool_failure/1")


async def test_a_recommendation_leads_to_its_outcomes() -> None:
    """5 on a detail goes to the rows of its analyzer."""
    async with console(measured()) as user:
        await user.press("enter", "5")
        assert isinstance(user.screen, OutcomesScreen)
        assert user.marked().startswith("▸staleness/1")


async def test_nothing_yet_says_when_and_which_command() -> None:
    """The prerequisite: an apply, and a run after each span."""
    async with console(FakeReviews([]), at="outcomes") as user:
        told = " ".join(user.text.split())
        assert "No outcomes yet. What was applied is measured after 1, 7 and 30 days" in told
        assert f"deja loop run --db {FILE}" in told


async def test_a_failed_reading_is_told_and_r_reads_again() -> None:
    """Code and next step; then the rows."""
    reviews = measured()
    reviews.faults["outcomes"] = DejaError("STO-E004", "locked", "try again")
    async with console(reviews, at="outcomes") as user:
        assert "STO-E004" in user.flash
        await user.press("r")
        assert user.marked()


async def test_y_and_c_copy_the_address_and_the_command() -> None:
    """Of the selected row."""
    async with console(measured(), at="outcomes/loop.tool_failure") as user:
        await user.press("j", "y")
        assert "address sent to the terminal" in user.flash
        await user.press("C")
        assert f"deja loop outcomes --db {FILE}" in user.flash


async def test_a_link_to_what_was_not_measured_says_so() -> None:
    """Nothing is selected in its stead without a word."""
    async with console(measured(), at="outcomes/ffff") as user:
        assert "nothing was measured of ffff yet" in user.flash


@pytest.mark.parametrize("name,size", in_turn([(60, 20), (80, 24), (120, 40)]))
async def test_hostile_names_and_summaries_stay_text(name: str, size: tuple[int, int]) -> None:
    """On an analyzer's row and on a measurement's."""
    async with console(measured(HOSTILE[name]), size, at="outcomes") as user:
        sane(user)
        await user.press("j")
        sane(user)
        await user.press("G")
        sane(user)
