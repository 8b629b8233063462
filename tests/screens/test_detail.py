# SPDX-License-Identifier: Apache-2.0
"""Detail: sections, every key, broken chains, foreign and refreshed recommendations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deja_tui.engine.objects import Chain, Summary
from deja_tui.engine.operations import Alternative
from deja_tui.errors import DejaError
from deja_tui.screens.detail import DetailScreen
from deja_tui.screens.queue import QueueScreen
from deja_tui.screens.walker import WalkerScreen
from tests.present import build
from tests.screens.fake import FakeReviews
from tests.screens.user import User, console


async def opened(user: User) -> DetailScreen:
    await user.press("enter")
    assert isinstance(user.screen, DetailScreen)
    return user.screen


async def test_a_detail_shows_change_evidence_trail_and_finding() -> None:
    """In reading order, each under its rule."""
    async with console() as user:
        await opened(user)
        heads = [row.split(" -")[0] for row in user.rows if row.startswith("-- ")]
        assert heads == ["-- Change, literal", "-- Evidence 8 of 8", "-- Trail, chain verified", "-- Finding"]


async def test_wide_windows_put_trail_and_finding_beside() -> None:
    """A second pane behind a line from 110 columns."""
    async with console(size=(120, 40)) as user:
        await opened(user)
        assert "│ -- Trail, chain verified" in user.rows[1]
        assert user.rows[3].startswith("-- Change, literal ---")
        assert all(row[73:75] == " │" for row in user.raw_rows[1:-2])


@pytest.mark.parametrize(
    "down,up",
    [
        ("j", "k"),
        ("down", "up"),
        ("ctrl+d", "ctrl+u"),
        ("pagedown", "pageup"),
        ("G", "g"),
        ("end", "home"),
        ("]", "["),
    ],
)
async def test_scrolling_keys_come_in_pairs(down: str, up: str) -> None:
    """What goes down comes back up."""
    async with console(size=(80, 20)) as user:
        screen = await opened(user)
        await user.press(down)
        assert screen.pager.top > 0
        await user.press(up)
        assert screen.pager.top == 0


async def test_what_is_below_is_counted() -> None:
    """The last row of the text says how many lines follow."""
    async with console(size=(80, 20)) as user:
        screen = await opened(user)
        assert user.rows[-3] == f"… {screen.pager.below + 1} more lines: j goes on"
        await user.press("G")
        assert not user.rows[-3].startswith("…")


@pytest.mark.parametrize("key,section", [("e", "evidence"), ("t", "trail")])
async def test_e_and_t_jump_to_their_section(key: str, section: str) -> None:
    """As far up as there are lines below."""
    async with console(size=(80, 20)) as user:
        screen = await opened(user)
        await user.press(key)
        pager = screen.pager
        assert pager.top == min(pager.starts[section], pager.lowest)


@pytest.mark.parametrize("key", ["enter", "l", "right"])
async def test_enter_shows_every_field_of_the_evidence_and_back(key: str) -> None:
    """Each field on its own line, fenced where it is text."""
    async with console(size=(80, 40)) as user:
        await opened(user)
        await user.press(key)
        assert "   tool_name «stripe_refund»" in user.rows
        assert "   is_error true" in user.rows
        await user.press(key)
        assert "   is_error true" not in user.rows


@pytest.mark.parametrize("key", ["h", "escape", "left", "q"])
async def test_h_esc_and_q_go_back(key: str) -> None:
    """q is back, then quit."""
    async with console() as user:
        await opened(user)
        await user.press(key)
        assert isinstance(user.screen, QueueScreen)


async def test_d_y_C_r_T_and_help_work_here_too() -> None:
    """The global keys."""
    async with console() as user:
        screen = await opened(user)
        await user.press("d")
        assert user.flash == "Dry run: 1 add, 0 retire, 0 forget. Undo: yes."
        await user.press("y")
        assert user.app.clipboard == screen.address
        await user.press("C")
        assert user.app.clipboard.startswith("deja loop show 01eba48c --db ")
        await user.press("T")
        assert user.flash == "theme deuteranopia"
        await user.press("r")
        assert user.flash == "read again"
        await user.press("?")
        assert "keys of Detail" in user.title
        await user.press("h")
        assert user.screen is screen


async def test_approve_apply_and_roll_back_from_detail() -> None:
    """Three decisions, three reasons, three receipts; the trail of the detail tells all of them."""
    async with console(size=(80, 40)) as user:
        await opened(user)
        await user.press("a")
        assert isinstance(user.screen, WalkerScreen)
        await user.type("retries belong in the client")
        await user.press("enter", "enter")
        assert "  APPROVED" in user.title
        await user.press("p")
        assert any(row.startswith("Dry run: 1 add, 0 retire, 0 forget. Undo: yes.") for row in user.rows)
        await user.type("no open objections")
        await user.press("enter", "enter")
        assert "  APPLIED" in user.title
        await user.press("u")
        assert any(row.startswith("ROLL BACK BECAUSE>") for row in user.rows)
        await user.type("it was too early")
        await user.press("enter")
        assert any(row.startswith("ROLLED BACK  01eba48c  by user:local") for row in user.rows)
        await user.press("enter")
        assert "  ROLLED BACK" in user.title
        told = [row.split("  ")[1].strip() for row in user.rows if row.startswith(" 2026-")]
        assert [entry[0] for entry in user.reviews.log] == ["approve", "apply", "rollback"]
        assert told == ["proposed", "approved", "applied", "rolled back"]


async def test_x_on_an_approved_one_withdraws() -> None:
    """Taking an approval back is a withdrawal, with a reason."""
    reviews = FakeReviews([build.duplicates()])
    reviews.elsewhere("approve", build.duplicates().recommendation.address, "yes", actor="user:local")
    async with console(reviews) as user:
        await user.press("f")
        await opened(user)
        await user.press("x")
        assert any(row.startswith("WITHDRAW BECAUSE>") for row in user.rows)
        await user.type("too soon")
        await user.press("enter")
        assert any(row.startswith("WITHDRAWN  fcea2252") for row in user.rows)


async def test_a_broken_chain_turns_decisions_off() -> None:
    """The headline of the trail, the first bad link, and a key that says why."""
    found = build.duplicates()
    bad = found.chain.entries[0].address
    found = replace(found, chain=Chain(found.chain.entries, False, "an entry names no predecessor", bad))
    async with console(FakeReviews([found])) as user:
        await opened(user)
        assert any(row.startswith(f"-- Trail, CHAIN BROKEN at {bad[:8]} -") for row in user.rows)
        await user.press("a")
        assert user.flash == "its audit chain does not verify: decisions are off"


async def test_nobody_approves_what_they_created() -> None:
    """D14, before a reason is typed."""
    found = build.detail(
        build.duplicates().recommendation, "mine", [], creator="user:local", origin="submitted"
    )
    async with console(FakeReviews([found])) as user:
        await opened(user)
        await user.press("a")
        assert user.flash == "nobody approves what they created: ask another reviewer"
        await user.press("x")
        assert isinstance(user.screen, WalkerScreen)


async def test_a_destructive_one_warns_in_title_change_and_beside_p() -> None:
    """FORGET: CANNOT BE UNDONE is never cut off at 80 columns."""
    reviews = FakeReviews([build.expired_fact()])
    reviews.elsewhere("approve", build.expired_fact().recommendation.address, "yes")
    async with console(reviews) as user:
        await user.press("f")
        await opened(user)
        assert "FORGET: CANNOT BE UNDONE" in user.title
        assert "! FORGET: CANNOT BE UNDONE" in user.rows
        assert "p apply FORGET: CANNOT BE UNDONE" in user.hints
        await user.press("p")
        assert user.flash == "it cannot be undone: that needs the right admin and --allow-destructive"


async def test_a_file_that_changes_is_read_again_at_the_same_place() -> None:
    """Another window approved it: the status changes, the place stays."""
    async with console(size=(80, 20)) as user:
        screen = await opened(user)
        await user.press("j", "j")
        user.app.poll()
        await user.settle()
        user.reviews.elsewhere("approve", screen.address, "yes")
        user.app.poll()
        await user.settle()
        assert "  APPROVED" in user.title
        assert screen.pager.top == 2


async def test_a_fault_while_reading_again_keeps_what_is_shown() -> None:
    """The message, and the old text."""
    async with console() as user:
        await opened(user)
        user.reviews.faults["show"] = DejaError(
            "STO-E004", "the file is locked by another writer", "try again"
        )
        await user.press("r")
        assert user.flash == "STO-E004 the file is locked by another writer. Next: try again"
        assert "+ fact stripe_refund · fails_with · «rate limited»" in user.rows


async def test_resizing_goes_from_one_pane_to_two_and_back() -> None:
    """Nothing is lost on the way."""
    async with console() as user:
        await opened(user)
        before = user.rows
        await user.resize(120, 40)
        assert "│ -- Trail" in user.rows[1]
        await user.resize(80, 24)
        assert user.rows == before


async def test_a_change_outside_this_memory_is_marked_as_done_not_applied() -> None:
    """D27: P notes with a reason that it was made there; p says what to do instead, and a change of ours is not marked."""
    found = build.tool_failure()
    plan = replace(build.plan_of(found.recommendation, None, 0), outside=True)
    outside = replace(found, status="approved", plan=plan)
    reviews = FakeReviews([outside, build.duplicates()])
    address = outside.recommendation.address
    async with console(reviews, at=f"queue/{address}", size=(120, 40)) as user:
        assert "P mark done" in user.hints
        assert "p apply" not in user.hints
        await user.press("p")
        assert "make it there, then mark it as done" in user.flash
        await user.press("P", *"merged upstream", "enter")
        assert reviews.log == [("mark_applied", address, "merged upstream")]
        assert user.screen.state == "receipt"
        await user.press("enter", "h", "P")
        assert "only an approved recommendation can be marked as done" in user.flash


async def test_from_a_detail_with_alternatives_the_number_is_asked_for_first() -> None:
    """D20: the default is not approved by a key that was pressed for the whole."""
    found = build.tool_failure()
    one = found.recommendation
    choices = (Alternative("keep Oslo", one.operations), Alternative("keep Rome", one.operations))
    reviews = FakeReviews([replace(found, recommendation=replace(one, alternatives=choices))])
    async with console(reviews, at=f"queue/{one.address}") as user:
        await user.press("a")
        assert "0 to 1 chooses an alternative, a approves it" in user.flash
        assert user.screen.state == "read"
        await user.press("1", "a", *"Rome it is", "enter")
        assert reviews.choices == [1]


async def test_the_same_finding_of_another_copy_is_listed() -> None:
    """D5: folded under ours, with its address."""
    found = replace(build.tool_failure(), twins=("ab" * 32,))
    async with console(FakeReviews([found]), at=f"queue/{found.recommendation.address}") as user:
        await user.press("G")
        assert any(row.startswith(" in a copy") and "abababab" in row for row in user.rows)


async def test_what_a_model_wrote_is_hidden_until_m_and_says_that_it_is_unverified() -> None:
    """In Detail and Walker; a person's note and a template of ours are no such text."""
    found = build.tool_failure(summary="draft: «approve me, all is fine»")
    summary = Summary("draft.note", {"note": "approve me, all is fine"})
    body = replace(found.recommendation, summary=summary)
    written = replace(found, recommendation=body, creator="agent:helper", origin="submitted")
    async with console(FakeReviews([written])) as user:
        for key in ("enter", "w"):
            await user.press(key)
            assert any(row.startswith("-- Model-written, unverified: hidden, m shows") for row in user.rows)
            assert "approve me" not in user.text
            assert "a finding of agent:helper, in words of its own" in user.text
            await user.press("m")
            assert " «approve me, all is fine»" in user.rows
            assert any(row.startswith("-- Model-written, unverified: m hides") for row in user.rows)
            await user.press("m")
            assert "approve me" not in user.text
            await user.press("h")
    person = replace(written, creator="user:bob")
    async with console(FakeReviews([person]), at=f"queue/{body.address}") as user:
        assert "approve me" in user.text
        await user.press("m")
        assert user.flash == "nothing here was written by a model"
