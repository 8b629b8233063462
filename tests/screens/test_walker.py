# SPDX-License-Identifier: Apache-2.0
"""The walker: one recommendation, one typed reason, one receipt, then the next (D15, D16)."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from textual import events

from deja_tui.engine.faults import LoopError
from deja_tui.errors import DejaError
from deja_tui.present.line import plain
from deja_tui.screens.detail import DetailScreen
from deja_tui.screens.queue import QueueScreen
from deja_tui.screens.walk import Walk
from deja_tui.screens.walker import WalkerScreen
from tests.present import build
from tests.screens.fake import FakeReviews
from tests.screens.user import User, console, destroyer, key_event, reader, review_only

FIRST = build.tool_failure().recommendation.address
SECOND = build.expired_fact().recommendation.address
THIRD = build.duplicates().recommendation.address


async def walk(user: User) -> WalkerScreen:
    await user.press("w")
    assert isinstance(user.screen, WalkerScreen)
    return user.screen


async def decide(user: User, key: str, reason: str) -> None:
    await user.press(key)
    await user.type(reason)
    await user.press("enter")


def many_lines() -> FakeReviews:
    """A change of 60 lines: more than any window of these tests."""
    return FakeReviews([build.tool_failure("word " * 900, summary="8 of 20 calls failed the same way")])


async def test_a_whole_walk() -> None:
    """Approve, reject, skip; the end tells the counts and every receipt."""
    async with console() as user:
        await walk(user)
        assert "1 of 3   approved 0  rejected 0  skipped 0" in user.title
        await decide(user, "a", "retries belong in the client")
        assert "APPROVED  01eba48c  by user:local  2026-03-02 09:00Z" in user.rows
        assert "because  «retries belong in the client»" in user.rows
        assert "chain    verified" in user.rows
        audit = user.screen.receipt.audit
        assert f"audit    {audit}" in user.rows
        await user.press("enter")
        assert "2 of 3   approved 1  rejected 0  skipped 0" in user.title
        await user.press("s")
        assert "3 of 3   approved 1  rejected 0  skipped 1" in user.title
        await decide(user, "x", "keep both")
        await user.press("enter")
        assert "end   approved 1  rejected 1  skipped 1" in user.title
        assert "1 recommendation waits still." in user.rows
        assert f"  audit    {audit}" in user.rows
        await user.press("enter")
        assert isinstance(user.screen, QueueScreen)
        assert "[3 Queue:1]" in user.title
        assert user.reviews.log == [
            ("approve", FIRST, "retries belong in the client"),
            ("reject", THIRD, "keep both"),
        ]


async def test_a_receipt_counts_what_is_left() -> None:
    """Enter says where it leads."""
    async with console() as user:
        await walk(user)
        await decide(user, "a", "good")
        assert " Enter  next recommendation, 2 left" in user.rows


async def test_keys_pressed_before_a_state_was_painted_do_nothing() -> None:
    """A held Enter cannot decide twice: 150 ms after the paint is the earliest."""
    async with console() as user:
        screen = await walk(user)
        await user.press("a", after=0.1)
        assert screen.state == "read"
        await user.press("a", after=0.06)
        assert screen.state == "reason"
        await user.press(*"because", after=0.2)
        await user.press("enter", after=0.2)
        assert screen.state == "receipt"
        await user.press("enter", "enter", "enter", after=0.03)
        assert screen.state == "receipt"
        assert screen.way.place == 0
        await user.press("enter", after=0.07)
        assert screen.way.place == 1


async def test_text_typed_at_once_reaches_the_reason_and_only_enter_does_not() -> None:
    """Letters need not wait for the prompt; Enter does, so that nothing is decided before it was seen."""
    async with console() as user:
        screen = await walk(user)
        await user.burst("a", *"retries", "enter", *" help")
        assert screen.state == "reason"
        assert screen.reason.text == "retries help"
        await user.press("!", after=0.05)
        await user.press("enter", after=0.05)
        assert screen.reason.text == "retries help!"
        assert user.reviews.log == []
        await user.press("enter", after=0.06)
        assert user.reviews.log == [("approve", FIRST, "retries help!")]


@pytest.mark.parametrize("before", [(), ("enter",)], ids=["queue", "detail"])
@pytest.mark.parametrize("key,verb", [("a", "approve"), ("x", "reject")])
async def test_a_reason_typed_in_one_write_with_its_key_arrives_whole(
    before: tuple[str, ...], key: str, verb: str
) -> None:
    """From queue and Detail: no letter is lost, none acts as a command."""
    async with console() as user:
        await user.press(*before)
        await user.burst(key, *"quite a ?:/w x reason", "left", "backspace", "enter")
        assert isinstance(user.screen, WalkerScreen)
        assert user.screen.reason.text == "quite a ?:/w x reasn"
        assert user.reviews.log == []
        await user.press("enter")
        assert user.reviews.log == [(verb, FIRST, "quite a ?:/w x reasn")]


async def test_a_paste_in_one_write_with_its_key_keeps_its_place() -> None:
    """Letters, paste, letters: in this order."""
    async with console() as user:
        user.hand.now += 1
        for event in (key_event("a"), key_event("1"), events.Paste("two\nlines"), key_event("3")):
            user.app.post_message(event)
        await user.settle()
        assert user.screen.reason.text == "1two lines3"


async def test_esc_typed_ahead_takes_the_choice_back() -> None:
    """What follows it acts on nothing."""
    async with console() as user:
        screen = await walk(user)
        await user.burst("a", *"no", "escape", "s", "x")
        assert screen.state == "read"
        assert screen.way.place == 0


@pytest.mark.parametrize("decision", ["p", "u"])
async def test_reasons_of_apply_and_rollback_are_typed_straight_on(decision: str) -> None:
    """The dry run before the prompt of an apply may take its time."""
    async with console() as user:
        screen = await walk(user)
        await decide(user, "a", "fine")
        if decision == "u":
            await decide(user, "p", "agreed")
        await user.burst(decision, *"hello pupil", "enter")
        assert screen.state == "reason"
        assert screen.reason.text == "hello pupil"
        await user.press("enter")
        assert user.reviews.log[-1][2] == "hello pupil"


async def test_the_address_of_a_destructive_apply_is_typed_straight_on() -> None:
    """Its first digits wait for the second prompt; Enter does not."""
    async with console(rights=destroyer()) as user:
        screen = await walk(user)
        await user.press("s")
        await decide(user, "a", "the promotion is over")
        await user.press("p")
        await user.type("erase it")
        await user.burst("enter", *SECOND[:4], "enter")
        assert screen.state == "confirm"
        assert screen.reason.text == SECOND[:4]
        await user.press("enter")
        assert user.reviews.log[-1][0] == "apply"


async def test_text_after_a_decision_key_that_came_too_early_does_nothing() -> None:
    """Its letters are no commands: x, s and q in a reason must not reject, skip or leave. The key again is heard."""
    async with console() as user:
        screen = await walk(user)
        await user.press("s")
        await user.press("a", after=0.1)
        assert user.flash == "a came too early: press it again"
        await user.burst(*"fix this quickly", "enter", after=0.06)
        assert (screen.state, screen.address) == ("read", SECOND)
        await user.press("a", after=0.06)
        assert screen.state == "reason"


async def test_text_after_a_decision_that_is_refused_does_nothing() -> None:
    """Unseen lines first, from the walk and from the queue; a foreign one in the queue."""
    for keys in (("w",), ()):
        async with console(many_lines()) as user:
            await user.press(*keys)
            await user.burst("a", *"xsq is fine", "enter")
            assert isinstance(user.screen, WalkerScreen)
            assert user.screen.state == "read"
            await user.burst(*"xsq", after=0.2)
            assert user.screen.state == "read"
    async with console(FakeReviews([replace(build.duplicates(), foreign=True)])) as user:
        await user.burst("a", *"?wq")
        assert isinstance(user.screen, QueueScreen)
        assert user.flash.startswith("it came from another copy")
        await user.press("?")
        assert not isinstance(user.screen, QueueScreen)


async def test_keys_in_one_write_act_in_their_order() -> None:
    """Down, open, approve: each on the screen the one before it opened."""
    async with console() as user:
        await user.burst("j", "j", "x", *"no")
        assert user.screen.address == THIRD
        await user.press("escape", "q")
        await user.burst("?", "j", "j")
        assert user.screen.pager.top == 2


async def test_a_first_shows_the_unseen_lines_of_the_change() -> None:
    """Only when the last line was on the screen does a ask for a reason."""
    async with console(many_lines()) as user:
        screen = await walk(user)
        total = len(screen.seen()[0])
        assert total > 40
        head = next(row for row in user.rows if row.startswith("-- Change, literal, "))
        assert f" of {total} lines seen" in head
        await user.press("a")
        assert screen.state == "read"
        assert "of the change not seen yet: read on, then decide (a)" in user.flash
        presses = 0
        while screen.state == "read" and presses < 20:
            await user.press("a")
            presses += 1
        assert screen.state == "reason"
        assert presses > 1


async def test_scrolling_down_counts_as_seeing() -> None:
    """ctrl+d to the end, then a works at once; the heading keeps count."""
    async with console(many_lines()) as user:
        screen = await walk(user)
        total = len(screen.seen()[0])
        await user.press("ctrl+d", "ctrl+d", "ctrl+d", "ctrl+d", "ctrl+d", "g")
        assert f"-- Change, literal, {total} of {total} lines seen" in user.text
        await user.press("a")
        assert screen.state == "reason"


async def test_jumping_over_the_change_is_not_seeing_it_all() -> None:
    """Only lines that were on the screen count; a goes to the first that was not."""
    async with console(many_lines()) as user:
        screen = await walk(user)
        await user.press("G", "e", "g")
        change, seen = screen.seen()
        assert 0 < seen < len(change)
        await user.press("a")
        assert screen.state == "read"
        assert screen.pager.top > 0


@pytest.mark.parametrize("typed", ["", "   "])
async def test_a_blank_reason_is_refused(typed: str) -> None:
    """Nothing is asked of the memory."""
    async with console() as user:
        screen = await walk(user)
        await decide(user, "a", typed)
        assert user.flash == "a reason is needed: say why in your own words"
        assert screen.state == "reason"
        assert user.reviews.log == []


async def test_an_overlong_reason_is_refused_and_counted() -> None:
    """501 code points; the counter says so before Enter does."""
    async with console() as user:
        await walk(user)
        await user.press("a")
        await user.paste("x" * 501)
        assert any(row.endswith("501/500") for row in user.rows)
        await user.press("enter")
        assert user.flash == "a reason has at most 500 characters, this one has 501"
        await user.press("backspace", "enter")
        assert user.screen.state == "receipt"


async def test_a_reason_given_before_in_this_sitting_is_refused() -> None:
    """Also in other letters, also from another screen."""
    async with console() as user:
        await walk(user)
        await decide(user, "a", "looks right")
        await user.press("enter")
        await decide(user, "x", "LOOKS right ")
        assert user.flash.startswith("this reason was already given in this sitting")
        await user.press("escape", "q", "q")
        await user.press("a")
        await user.type("Looks Right")
        await user.press("enter")
        assert user.flash.startswith("this reason was already given in this sitting")
        assert len(user.reviews.log) == 1


async def test_esc_clears_the_choice_and_its_reason() -> None:
    """Nothing is decided; whatever is chosen next begins without a text."""
    async with console() as user:
        screen = await walk(user)
        await user.press("a")
        await user.type("half a thou")
        await user.press("escape")
        assert screen.state == "read"
        for key in ("x", "escape", "a"):
            await user.press(key)
            assert screen.reason.text == ""
        assert user.reviews.log == []


async def test_a_draft_survives_resizing_and_a_left_walk_goes_on() -> None:
    """q is a letter while typing; after Esc it leaves, and the next walk goes on where this one stopped."""
    async with console() as user:
        await walk(user)
        await user.press("s", "a")
        await user.type("not qu")
        await user.resize(120, 40)
        assert any(row.startswith("APPROVE BECAUSE> not qu") for row in user.rows)
        await user.resize(80, 24)
        assert any(row.startswith("APPROVE BECAUSE> not qu") for row in user.rows)
        await user.press("escape", "q")
        assert user.rows[2:5] == [
            "-- Left at 2 of 3 " + "-" * 62,
            "approved 0  rejected 0  skipped 1",
            "3 recommendations wait still. w goes on here, at 2 of 3.",
        ]
        assert "w go on" in user.hints
        await user.press("h")
        assert isinstance(user.screen, QueueScreen)
        screen = await walk(user)
        assert screen.address == SECOND
        assert "skipped 1" in user.title
        await user.press("h")
        assert isinstance(user.screen, QueueScreen), "nothing more was done: there is nothing to sum up"


async def test_a_walk_left_at_a_receipt_goes_on_with_the_next() -> None:
    """What was decided is not offered again."""
    async with console() as user:
        await walk(user)
        await decide(user, "a", "fine")
        await user.press("q")
        assert "Left at 2 of 3" in user.text
        assert "audit" in user.text
        screen = await walk(user)
        assert screen.address == SECOND
        assert screen.state == "read"
        assert "2 of 3   approved 1" in user.title
        user.reviews.elsewhere("reject", SECOND, "seen before", actor="user:bob")
        await user.press("q", "w")
        assert user.screen.address not in (SECOND, FIRST), "it goes on with what is left after it"


async def test_editing_keys_of_the_reason() -> None:
    """Caret, words, ends; the row stays one line."""
    async with console() as user:
        screen = await walk(user)
        await user.press("a")
        await user.type("one two")
        await user.press("ctrl+w", "home", "delete", "right", "backspace", "end")
        assert screen.reason.text == "e "
        await user.press("ctrl+u")
        assert screen.reason.text == ""
        await user.paste("pasted\nlines\tand [@click=app.quit]x[/] \x1b[31m")
        assert screen.reason.text == "pasted lines and [@click=app.quit]x[/] [31m"
        await user.press("home", "ctrl+k")
        assert screen.reason.text == ""
        await user.type("[é]")
        await user.press("left", "left")
        await user.type("日")
        assert screen.reason.text == "[日é]"
        await user.press("enter")
        assert user.reviews.log == [("approve", FIRST, "[日é]")]


async def test_apply_after_approve_has_a_reason_and_a_receipt_of_its_own() -> None:
    """The plan stands above the prompt; u on the receipt rolls back."""
    async with console() as user:
        screen = await walk(user)
        await decide(user, "a", "retries belong in the client")
        assert " p      apply it now, with a reason of its own" in user.rows
        assert "        Dry run: 1 add, 0 retire, 0 forget. Undo: yes." in user.rows
        await user.press("p")
        assert screen.state == "reason"
        assert "Dry run: 1 add, 0 retire, 0 forget. Undo: yes." in user.rows
        await user.type("retries belong in the client")
        await user.press("enter")
        assert user.flash.startswith("this reason was already given")
        await user.type(" too")
        await user.press("enter")
        assert any(row.startswith("APPLIED  ") for row in user.rows)
        assert any(row.startswith("wrote    ") for row in user.rows)
        await user.press("u")
        await user.type("not so soon")
        await user.press("enter")
        assert any(row.startswith("ROLLED BACK  ") for row in user.rows)
        assert "1 of 3   ok 1  no 0  done 1  undone 1  skip 0 " in user.title
        assert [act for act, _, _ in user.reviews.log] == ["approve", "apply", "rollback"]


async def test_esc_from_an_apply_goes_back_to_the_receipt() -> None:
    """The approval stands; nothing is applied."""
    async with console() as user:
        screen = await walk(user)
        await decide(user, "a", "fine")
        await user.press("p", "escape")
        assert screen.state == "receipt"
        await user.press("enter")
        assert "2 of 3" in user.title


async def test_an_apply_that_would_be_refused_is_not_asked_for() -> None:
    """The reason the engine would give, before a reason is typed."""
    reviews = FakeReviews([build.tool_failure()])
    async with console(reviews) as user:
        screen = await walk(user)
        await decide(user, "a", "fine")
        body = build.tool_failure().recommendation
        reviews.dry_run = lambda address, *, allow_destructive=False: build.plan_of(
            body, "LOP-E024 the memory changed"
        )
        await user.press("p")
        assert user.flash == "it cannot be applied now: LOP-E024 the memory changed"
        assert screen.state == "receipt"


async def test_a_destructive_apply_asks_for_the_address() -> None:
    """Its first four characters, read from the screen; wrong ones decide nothing, Esc goes back to the reason."""
    async with console(rights=destroyer()) as user:
        assert user.title.endswith("DESTRUCTIVE w")
        screen = await walk(user)
        await user.press("s")
        await decide(user, "a", "the promotion is over")
        assert "p apply FORGET: CANNOT BE UNDONE" in user.hints
        await user.press("p")
        await user.type("erase it for good")
        await user.press("enter")
        assert screen.state == "confirm"
        assert "CANNOT BE UNDONE. First 4 characters of its address>" in user.rows
        await user.type("0000")
        await user.press("enter")
        assert user.flash == "these are not the first 4 characters of its address"
        await user.press("escape")
        assert screen.state == "reason"
        assert screen.reason.text == "erase it for good"
        await user.press("enter")
        await user.type(SECOND[:4].upper())
        await user.press("enter")
        assert any(row.startswith("APPLIED  ") for row in user.rows)
        assert not any("roll it back" in row for row in user.rows)
        await user.press("u")
        assert user.flash == "this apply has no inverse: what was forgotten is gone"


async def test_a_destructive_apply_needs_its_tier() -> None:
    """Without --allow-destructive p explains itself."""
    async with console() as user:
        await walk(user)
        await user.press("s")
        await decide(user, "a", "the promotion is over")
        await user.press("p")
        assert user.flash == "it cannot be undone: that needs the right admin and --allow-destructive"


async def test_a_reviewer_is_not_offered_an_apply_without_the_right() -> None:
    """The offer is dimmed and names the scope."""
    async with console(rights=review_only()) as user:
        await walk(user)
        await decide(user, "a", "fine")
        assert any(
            "apply it now, with a reason of its own (off: this console is REVIEW" in row for row in user.rows
        )
        await user.press("p")
        assert user.flash.startswith("off: this console is REVIEW")


async def test_a_read_only_walk_reads_and_decides_nothing() -> None:
    """s and q work; a and x say why not."""
    async with console(rights=reader()) as user:
        await walk(user)
        await user.press("a")
        assert "READ-ONLY" in user.flash
        await user.press("s", "s", "s")
        assert "end   approved 0  rejected 0  skipped 3" in user.title


async def test_another_reviewer_was_faster() -> None:
    """The decision is refused, who decided is named with their reason, and the walk goes on."""
    async with console() as user:
        screen = await walk(user)
        await user.press("a")
        await user.type("my reason")
        user.reviews.elsewhere("reject", FIRST, "seen by me already")
        await user.press("enter")
        assert screen.state == "notice"
        assert "decided meanwhile by user:bob: rejected, because «seen by me already»" in user.rows
        await user.press("enter")
        assert "2 of 3" in user.title
        assert screen.state == "read"
        await decide(user, "x", "my reason")
        assert screen.state == "receipt", "a reason that was not recorded may be used"


async def test_a_decision_seen_by_the_poll_while_reading() -> None:
    """The same notice without having to try."""
    async with console() as user:
        screen = await walk(user)
        user.app.poll()
        await user.settle()
        user.reviews.elsewhere("approve", FIRST, "quick")
        user.app.poll()
        await user.settle()
        assert screen.state == "notice"
        assert "decided meanwhile by user:bob: approved, because «quick»" in user.rows


async def test_one_decided_before_its_turn_is_told_and_passed_over() -> None:
    """The walk began with three; one of them was decided on the way."""
    async with console() as user:
        screen = await walk(user)
        user.reviews.elsewhere("reject", SECOND, "old news")
        await user.press("s")
        assert screen.state == "notice"
        assert "decided meanwhile by user:bob: rejected, because «old news»" in user.rows
        await user.press("enter")
        assert screen.address == THIRD


async def test_a_memory_that_changed_since_is_told() -> None:
    """LOP-E024: code, sentence and next step, then the next recommendation."""
    async with console() as user:
        screen = await walk(user)
        user.reviews.faults["approve"] = LoopError(
            "LOP-E024", "the finding was refreshed since", "look at the newer one"
        )
        await decide(user, "a", "fine")
        assert screen.state == "notice"
        assert "LOP-E024 the finding was refreshed since" in user.rows
        assert "next: look at the newer one" in user.rows


def refreshed(user: User, old: str) -> str:
    """The engine replaces a finding: the old one names the newer, which has an address of its own."""
    found = user.reviews.details[old]
    body = replace(found.recommendation, address=build.address("newer"), refreshes=old)
    user.reviews.details[old] = replace(found, replaced_by=body.address)
    user.reviews.details[body.address] = replace(found, recommendation=body)
    return body.address


async def test_a_reason_goes_on_to_the_finding_that_took_the_place() -> None:
    """In a walk: the newer one comes next, and the same choice brings the text back; the other choice does not."""
    async with console() as user:
        screen = await walk(user)
        await user.press("a")
        await user.type("a good reason")
        newer = refreshed(user, FIRST)
        user.reviews.faults["approve"] = LoopError("LOP-E024", "the finding was refreshed since")
        await user.press("enter")
        assert screen.state == "notice"
        assert f"the finding was refreshed: the newer one is {newer[:8]}" in user.rows
        assert "your reason is kept for it" in user.rows
        await user.press("enter")
        assert (screen.state, screen.address) == ("read", newer)
        assert "2 of 4" in user.title
        await user.press("a")
        assert screen.reason.text == "a good reason"
        await user.press("enter")
        assert user.reviews.log[-1] == ("approve", newer, "a good reason")


async def test_a_single_decision_goes_on_to_the_newer_finding_too() -> None:
    """Enter leads there, not back; it is read first, and only a key begins the decision."""
    async with console() as user:
        await user.press("x")
        await user.type("not useful")
        newer = refreshed(user, FIRST)
        user.reviews.faults["reject"] = LoopError("LOP-E024", "the finding was refreshed since")
        await user.press("enter")
        assert user.hints.startswith(" Enter next")
        await user.press("enter")
        assert (user.screen.state, user.screen.address) == ("read", newer)
        await user.press("x")
        assert user.screen.reason.text == "not useful"
        await user.press("enter")
        assert user.reviews.log[-1] == ("reject", newer, "not useful")
        assert user.hints.startswith(" Enter back")


async def test_a_refresh_seen_while_reading_is_told() -> None:
    """By the poll, before anything is typed; the newer one comes next."""
    async with console() as user:
        screen = await walk(user)
        user.app.poll()
        await user.settle()
        newer = refreshed(user, FIRST)
        user.reviews.token += 1
        user.app.poll()
        await user.settle()
        assert screen.state == "notice"
        assert not any("your reason is kept" in row for row in user.rows)
        await user.press("enter")
        assert screen.address == newer


async def test_the_title_keeps_the_decision_that_was_chosen() -> None:
    """Somebody approved meanwhile: a rejection that was refused does not turn into a withdrawal."""
    async with console() as user:
        await user.press("x")
        await user.type("no")
        user.reviews.elsewhere("approve", FIRST, "yes")
        await user.press("enter")
        assert user.screen.state == "notice"
        assert "deja review  reject " in user.title


async def test_enter_after_a_single_decision_has_one_name() -> None:
    """Text and hints say back, once."""
    async with console() as user:
        await user.press("x")
        await user.type("no")
        await user.press("enter")
        assert " Enter  back" in user.rows
        assert user.hints.startswith(" Enter back")
        assert user.hints.count("back") == 1


@pytest.mark.parametrize("room", range(30, 80))
def test_the_counts_of_a_walk_are_never_left_out(room: int) -> None:
    """Words become shorter, numbers stay."""
    way = Walk([str(number) for number in range(12)], place=9, skipped={"a", "b"})
    one = build.receipt(build.tool_failure())
    way.receipts = [replace(one, to_status=to) for to in ("approved", "applied", "rolled_back")]
    told = plain(way.title(room))
    assert [int(found) for found in re.findall(r"[0-9]+", told)] == [10, 12, 1, 0, 1, 1, 2]
    assert len(told) <= max(room, 40)


@pytest.mark.parametrize("keys", [("enter",), ("?",), ("w",), ("enter", "?")])
async def test_only_the_first_screen_offers_to_quit(keys: tuple[str, ...]) -> None:
    """Elsewhere q goes back, so no hint says quit."""
    async with console() as user:
        assert user.hints.endswith("q quit")
        await user.press(*keys)
        assert "quit" not in user.hints
        assert ("h leave" if keys == ("w",) else "h back") in user.hints
        await user.press("q")
        assert user.app.return_code is None


async def test_one_that_is_gone_when_it_is_decided_is_passed_over() -> None:
    """Erased meanwhile: a message, and the walk goes on."""
    async with console() as user:
        screen = await walk(user)
        del user.reviews.details[FIRST]
        await decide(user, "a", "fine")
        assert screen.state == "notice"
        assert user.flash.startswith("LOP-E040 there is no such recommendation")
        await user.press("enter")
        assert screen.address == SECOND


async def test_a_lock_keeps_the_reason_for_another_try() -> None:
    """A busy file is not a decision; Enter tries again with the same text."""
    async with console() as user:
        screen = await walk(user)
        user.reviews.faults["approve"] = DejaError(
            "STO-E004", "the file is locked by another writer", "try again"
        )
        await decide(user, "a", "worth waiting for")
        assert user.flash.startswith("STO-E004 the file is locked by another writer. r or Enter tries again")
        assert screen.state == "reason"
        await user.press("enter")
        assert screen.state == "receipt"
        assert user.reviews.log == [("approve", FIRST, "worth waiting for")]


async def test_one_that_cannot_be_read_is_passed_over() -> None:
    """The message, and Enter goes on."""
    async with console() as user:
        user.reviews.faults["show"] = LoopError("LOP-E012", "the recommendation grain is malformed")
        screen = await walk(user)
        assert user.flash == "LOP-E012 the recommendation grain is malformed."
        assert "It cannot be read." in user.rows
        await user.press("enter")
        assert screen.address == SECOND


async def test_a_broken_chain_after_a_decision_is_shouted() -> None:
    """The receipt shows the check made right after it."""
    async with console() as user:
        await walk(user)
        approve = user.reviews.approve
        user.reviews.approve = lambda address, *, because: replace(
            approve(address, because=because), chain_verified=False
        )
        await decide(user, "a", "fine")
        assert "chain    BROKEN: the audit chain does not verify" in user.rows


async def test_evidence_trail_dry_run_and_all_fields_while_reading() -> None:
    """Reading keys do not decide anything, and the change stays seen."""
    async with console() as user:
        screen = await walk(user)
        await user.press("e", "t", "enter")
        assert "   is_error true" in user.rows
        await user.press("enter", "d")
        assert user.flash == "Dry run: 1 add, 0 retire, 0 forget. Undo: yes."
        await user.press("y")
        assert user.app.clipboard == FIRST
        await user.press("?", "h")
        assert user.screen is screen
        await user.press("a")
        assert screen.state == "reason"


@pytest.mark.parametrize("key", ["q", "h", "escape", "left"])
async def test_leaving_while_reading(key: str) -> None:
    """Nothing is decided, and nothing is asked."""
    async with console() as user:
        await walk(user)
        await user.press(key)
        assert isinstance(user.screen, QueueScreen)
        assert user.reviews.log == []


async def test_a_single_decision_returns_where_it_came_from() -> None:
    """From Detail: receipt, Enter, Detail again."""
    async with console() as user:
        await user.press("enter", "x")
        assert "deja review  reject" in user.title
        await user.type("no")
        await user.press("enter")
        assert " Enter  back" in user.rows
        await user.press("enter")
        assert isinstance(user.screen, DetailScreen)
        assert "  REJECTED" in user.title


async def test_a_long_change_reached_from_the_queue_is_shown_first() -> None:
    """The key in the queue is no way around reading."""
    async with console(many_lines()) as user:
        await user.press("a")
        assert isinstance(user.screen, WalkerScreen)
        assert user.screen.state == "read"
        assert "of the change not seen yet" in user.flash


async def test_a_small_window_in_the_middle_of_a_reason() -> None:
    """No key acts on what cannot be seen; the text is there again afterwards."""
    async with console() as user:
        screen = await walk(user)
        await user.press("a")
        await user.type("keep me")
        await user.resize(50, 10)
        await user.press("enter", "z")
        assert user.reviews.log == []
        await user.resize(80, 24)
        assert screen.reason.text == "keep me"
        await user.press("enter")
        assert user.reviews.log == [("approve", FIRST, "keep me")]


# --- alternatives (D20) ------------------------------------------------------------------------------


async def test_a_number_before_the_approval_chooses_an_alternative() -> None:
    """All of them are shown with their numbers; the prompt names the one that is approved."""
    async with console(FakeReviews([build.either()])) as user:
        screen = await walk(user)
        for number, label in enumerate(("gold stays", "silver stays", "neither")):
            assert any(row.strip().startswith(f"{number} «{label}»") for row in user.rows)
        await user.press("1")
        assert user.flash == "a approves 1: silver stays"
        await user.press("a")
        assert any("APPROVE 1 BECAUSE" in row for row in user.rows)
        await user.type("the older one is right")
        await user.press("enter")
        assert (user.reviews.choices, screen.state) == ([1], "receipt")


async def test_without_a_number_the_default_is_approved() -> None:
    """And a number that is no alternative, or after the choice was cleared, changes nothing."""
    async with console(FakeReviews([build.either()])) as user:
        await walk(user)
        await user.press("7")
        await decide(user, "a", "gold, as the invoice says")
        assert user.reviews.choices == [0]


async def test_a_number_of_one_recommendation_is_not_of_the_next() -> None:
    """Skipping forgets the choice; digits mean nothing where there is none."""
    async with console(FakeReviews([build.either(), build.duplicates()])) as user:
        await walk(user)
        await user.press("1", "s", "1")
        await decide(user, "a", "same fact")
        assert user.reviews.choices == [0]


async def test_applying_an_alternative_that_forgets_asks_for_the_address() -> None:
    """D19: the gates are those of the alternative that was approved, not of the default."""
    async with console(FakeReviews([build.either()]), rights=destroyer()) as user:
        screen = await walk(user)
        await user.press("2")
        await decide(user, "a", "both are wrong")
        await user.press("p")
        await user.type("erase them")
        await user.press("enter")
        assert screen.state == "confirm"
    async with console(FakeReviews([build.either()])) as user:
        screen = await walk(user)
        await user.press("2")
        await decide(user, "a", "both are wrong")
        await user.press("p")
        assert screen.state == "receipt"


async def test_a_digit_in_a_reason_is_text() -> None:
    """Numbers choose while reading, nowhere else."""
    async with console(FakeReviews([build.either()])) as user:
        await walk(user)
        await decide(user, "a", "1 of 2 is gold")
        assert user.reviews.log[-1][2] == "1 of 2 is gold"
        assert user.reviews.choices == [0]
