# SPDX-License-Identifier: Apache-2.0
"""Analyzers: the list, the settings of one, switching and changing with a reason, on a fake and on a real memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deja_tui.console.actions import Rights
from deja_tui.errors import DejaError
from deja_tui.facade import Memory
from deja_tui.present.health import short_id
from deja_tui.present.settings import change, settings
from deja_tui.screens.analyzers import AnalyzerScreen, AnalyzersScreen
from deja_tui.screens.queue import QueueScreen
from tests.present.hostile import HOSTILE, in_turn
from tests.present.standing import standing
from tests.screens.cases import strange
from tests.screens.fake import FakeReviews
from tests.screens.test_hostile import sane
from tests.screens.user import FILE, Hand, User, console, make_app, reader
from tests.support import NOW


async def test_every_analyzer_has_a_row_with_its_state_and_the_pane_follows() -> None:
    """D29: from the manifests, whatever they are."""
    async with console(at="analyzers") as user:
        for state in standing().analyzers:
            assert any(short_id(state.id)[:18] in row for row in user.rows)
        assert "min_count         3               as it comes" in user.rows
        await user.press("j")
        assert user.marked().startswith("▸on  duplicate_sweep/1")
        assert "2/12" in user.title


async def test_an_analyzer_that_the_host_links_is_listed_too() -> None:
    """D29: a fake one is in the list like any other."""
    reviews = FakeReviews()
    first = reviews.standing.analyzers[0]
    manifest = replace(first.manifest, id="acme.odd_hours/1", title="Odd hours")
    reviews.standing = replace(reviews.standing, analyzers=(replace(first, manifest=manifest),))
    async with console(reviews, at="analyzers") as user:
        assert "acme.odd_hours/1" in user.marked()
        assert "Odd hours" in user.text


async def test_space_asks_why_and_switches() -> None:
    """The reason is judged like any other, and the change is named by the full id."""
    async with console(at="analyzers") as user:
        await user.press("space", "enter")
        assert "DISABLE tool_failure BECAUSE>" in user.text
        assert user.reviews.log == []
        await user.type("too many findings")
        await user.press("enter")
        assert user.reviews.log == [("configure", "loop.tool_failure/1", "too many findings")]
        assert user.reviews.parts == [{"enabled": False}]
        assert user.flash == "1 setting changed, written to the log"
        await user.press("space")
        await user.type("too many findings")
        await user.press("enter")
        assert len(user.reviews.log) == 1  # the same reason twice in one sitting
        await user.press("escape")
        assert "BECAUSE" not in user.text


async def test_esc_changes_nothing_and_a_paste_is_one_line() -> None:
    """Text that is pasted into the reason is tamed."""
    async with console(at="analyzers") as user:
        await user.press("space")
        await user.paste("one\x1b[2J\ntwo")
        assert "one[2J two" in user.text
        await user.press("escape")
        assert user.reviews.log == []


async def test_a_host_denial_cannot_be_switched_on_here() -> None:
    """The policy stands above the file."""
    async with console(at="analyzers/goal_stagnation") as user:
        await user.press("space")
        assert "the host's policy denies it" in user.flash
        assert "BECAUSE" not in user.text


@pytest.mark.parametrize("rights", [reader(), Rights.of(("read", "review", "apply", "write"))])
async def test_configuration_needs_admin(rights: Rights) -> None:
    """D18: Space and Enter say which right is missing; looking goes on."""
    async with console(at="analyzers", rights=rights) as user:
        await user.press("space")
        assert "needs the right `admin`" in user.flash
        await user.press("enter", "enter")
        assert isinstance(user.screen, AnalyzerScreen)
        assert "needs the right `admin`" in user.flash
        assert user.reviews.log == []


async def test_a_value_is_checked_before_a_reason_is_asked() -> None:
    """Bounds are told; then BECAUSE; the whole map of the file goes along."""
    async with console(at="analyzers") as user:
        await user.press("enter", "enter", "ctrl+u")
        await user.type("nine")
        await user.press("enter")
        assert "min_count takes a whole number from 1 to 1000" in user.flash
        await user.press("ctrl+u")
        await user.type("9")
        await user.press("enter")
        assert "min_count = 9 BECAUSE>" in user.text
        await user.type("small team")
        await user.press("enter")
        assert user.reviews.parts == [{"params": {"min_count": 9}}]


def test_a_change_keeps_what_the_file_says_of_other_parameters() -> None:
    """`configure` replaces the map, so all of it is given; an empty text takes a value back."""
    first = standing().analyzers[0]
    assert first.settled is not None
    own = replace(first.settled, params_by={**first.settled.params_by, "window_days": "file"})
    state = replace(first, settled=own)
    found = {one.name: one for one in settings(state)}
    assert change(state, found["min_count"], 9) == {"params": {"window_days": 30, "min_count": 9}}
    assert change(state, found["window_days"], None) == {"clear": ("params",)}
    assert change(state, found["severity_floor"], found["severity_floor"].read(" ")) == {
        "clear": ("severity_floor",)
    }
    assert change(state, found["namespaces"], found["namespaces"].read("a, b")) == {"namespaces": ["a", "b"]}
    with pytest.raises(DejaError):
        found["min_count"].read("0")


async def test_r_runs_the_selected_one_alone() -> None:
    """D29; one that is off says how it gets on."""
    async with console(at="analyzers") as user:
        await user.press("R")
        assert user.reviews.ran == [("loop.tool_failure/1",)]
        assert user.flash.startswith("ran: 2 proposed")
        await user.press("G", "R")
        assert "is off: Space switches it on" in user.flash


async def test_links_lead_both_ways() -> None:
    """Overview → analyzer → queue → recommendation → analyzer, by keys alone."""
    async with console(at="overview") as user:
        await user.press("j", "enter")
        assert isinstance(user.screen, AnalyzersScreen)
        assert user.marked().startswith("▸on  duplicate_sweep/1")
        await user.press("e")
        assert isinstance(user.screen, QueueScreen)
        assert user.marked().startswith("▸L  duplicate_sweep/1")
        await user.press("enter", "4")
        assert user.marked().startswith("▸on  duplicate_sweep/1")


async def test_a_failed_reading_is_told_and_r_reads_again() -> None:
    """Code and next step; then the rows."""
    reviews = FakeReviews()
    reviews.faults["analyzers"] = DejaError("STO-E004", "locked", "try again")
    async with console(reviews, at="analyzers") as user:
        assert "STO-E004" in user.flash
        await user.press("r")
        assert user.marked()


async def test_a_refused_change_is_told() -> None:
    """The engine has the last word."""
    async with console(at="analyzers") as user:
        await user.press("space")
        await user.type("why not")
        user.reviews.faults["configure"] = DejaError("LOP-E022", "it needs admin", "ask")
        await user.press("enter")
        assert "LOP-E022" in user.flash


async def test_the_command_line_can_be_copied_and_q_goes_back_from_the_page() -> None:
    """C on both; q and h lead back to the list."""
    async with console(at="analyzers") as user:
        await user.press("C")
        assert f"deja why tool_failure --db {FILE}" in user.flash
        await user.press("enter", "C", "q")
        assert isinstance(user.screen, AnalyzersScreen)
        await user.press("enter", "h")
        assert isinstance(user.screen, AnalyzersScreen)


@pytest.mark.parametrize("name,size", in_turn([(60, 20), (80, 24), (120, 40)]))
async def test_hostile_manifests_stay_text(name: str, size: tuple[int, int]) -> None:
    """Ids, titles, states: on the list and on the page."""
    async with console(strange(HOSTILE[name]), size, at="analyzers") as user:
        sane(user)
        await user.press("enter")
        sane(user)


async def test_on_a_real_memory_a_change_holds_and_is_logged(tmp_path: Path) -> None:
    """Switch off, set a value, run: through the screen into the file."""
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW, actor="user:ana") as memory:
        for _ in range(4):
            memory.record_tool_call("refund", "boom", is_error=True)
        hand = Hand()
        app = make_app(memory.loop, hand, at="analyzers", file_of=memory)  # type: ignore[arg-type]
        async with app.run_test(size=(80, 24)) as pilot:
            user = User(app, pilot, memory.loop, hand)  # type: ignore[arg-type]
            await user.settle()
            await user.press("R")
            assert user.flash.startswith("ran: 1 proposed, 1 new")
            await user.press("enter", "enter", "ctrl+u")
            await user.type("7")
            await user.press("enter")
            await user.type("only many")
            await user.press("enter", "h", "j", "space")
            await user.type("not needed")
            await user.press("enter")
            assert user.marked().startswith("▸off duplicate_sweep/1")
        told: list[Any] = [(one.analyzer, one.part, one.new, one.because) for one in memory.loop.config_log()]
        assert told == [
            ("loop.tool_failure/1", "params", {"min_count": 7}, "only many"),
            ("loop.duplicate_sweep/1", "enabled", False, "not needed"),
        ]
