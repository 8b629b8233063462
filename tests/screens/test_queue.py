# SPDX-License-Identifier: Apache-2.0
"""The queue: every key, the preview, filter, status, sort, empty and error states."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deja_tui.errors import DejaError
from deja_tui.screens.detail import DetailScreen
from deja_tui.screens.help import HelpScreen
from deja_tui.screens.queue import QueueScreen, matches
from deja_tui.screens.walker import WalkerScreen
from tests.present import build
from tests.screens.fake import FakeReviews
from tests.screens.user import FILE, User, console, reader, review_only
from tests.support import NOW


async def test_the_queue_opens_with_the_first_row_selected_and_its_change_below() -> None:
    """What waits, and what the first one would change, without pressing anything."""
    async with console() as user:
        assert user.title.startswith(" deja agent.db  1 ")
        assert " [3 Queue:3] " in user.title
        assert "  pending  1/3  " in user.title
        assert user.title.endswith("  user:local  APPLY w")
        assert user.marked().startswith(
            "▸H  tool_failure/1    stripe_refund     8   3d  stripe_refund: 8 of 20"
        )
        assert "+ fact stripe_refund · fails_with · «rate limited»" in user.rows


@pytest.mark.parametrize("down", ["j", "down"])
@pytest.mark.parametrize("up", ["k", "up"])
async def test_j_and_k_move_and_the_preview_follows(down: str, up: str) -> None:
    """Down, down, up: title, mark and preview agree."""
    async with console() as user:
        await user.press(down)
        assert "2/3" in user.title
        assert user.marked().startswith("▸M  staleness/1")
        assert "! FORGET: CANNOT BE UNDONE" in user.rows
        await user.press(down, up)
        assert user.marked().startswith("▸M")


async def test_the_selection_stops_at_both_ends() -> None:
    """No wrapping around: the end of a list is felt."""
    async with console() as user:
        await user.press("k")
        assert "1/3" in user.title
        await user.press("j", "j", "j", "j")
        assert "3/3" in user.title


@pytest.mark.parametrize(
    "last,first", [("G", "g"), ("end", "home"), ("ctrl+d", "ctrl+u"), ("pagedown", "pageup")]
)
async def test_far_moves(last: str, first: str) -> None:
    """First, last and whole pages."""
    async with console() as user:
        await user.press(last)
        assert "3/3" in user.title
        await user.press(first)
        assert "1/3" in user.title


@pytest.mark.parametrize("key", ["enter", "l", "right"])
async def test_enter_opens_the_selected_one(key: str) -> None:
    """Enter, l and the arrow open Detail; h comes back to the same row."""
    async with console() as user:
        await user.press("j", key)
        assert isinstance(user.screen, DetailScreen)
        assert "fa64ea1e" in user.title
        await user.press("h")
        assert isinstance(user.screen, QueueScreen)
        assert user.marked().startswith("▸M")


@pytest.mark.parametrize("key,heading", [("e", "-- Evidence 8 of 8 "), ("t", "-- Trail, chain verified ")])
async def test_e_and_t_open_at_evidence_and_trail(key: str, heading: str) -> None:
    """The section asked for stands at the top, or as high as there are lines below it."""
    async with console(size=(80, 20)) as user:
        await user.press(key)
        assert isinstance(user.screen, DetailScreen)
        pager = user.screen.pager
        section = "evidence" if key == "e" else "trail"
        assert pager.top == min(pager.starts[section], pager.lowest)
        assert any(row.startswith(heading) for row in user.rows)


async def test_w_walks_the_pending_ones() -> None:
    """The walker opens with the first."""
    async with console() as user:
        await user.press("w")
        assert isinstance(user.screen, WalkerScreen)
        assert "deja review  1 of 3" in user.title


@pytest.mark.parametrize("key,prompt", [("a", "APPROVE BECAUSE> "), ("x", "REJECT BECAUSE> ")])
async def test_a_and_x_open_the_reason_flow_for_that_one_only(key: str, prompt: str) -> None:
    """One recommendation, one reason: nothing else can be decided from there (D15)."""
    async with console() as user:
        await user.press("j", "j", key)
        assert isinstance(user.screen, WalkerScreen)
        assert any(row.startswith(prompt.rstrip()) for row in user.rows)
        await user.type("a reason")
        await user.press("enter")
        assert len(user.reviews.log) == 1
        await user.press("enter")
        assert isinstance(user.screen, QueueScreen)
        assert "[3 Queue:2]" in user.title


async def test_a_decision_that_cannot_follow_the_status_says_why() -> None:
    """p and u on a pending one explain themselves and open nothing."""
    async with console() as user:
        await user.press("p")
        assert user.flash == "only an approved recommendation can be applied: this one is pending"
        await user.press("u")
        assert user.flash == "only an applied recommendation can be rolled back: this one is pending"
        assert isinstance(user.screen, QueueScreen)


async def test_d_says_what_an_apply_would_do() -> None:
    """The plan as one sentence above the hints; nothing is written."""
    async with console() as user:
        await user.press("G", "d")
        assert user.flash == "Dry run: 0 add, 2 retire, 0 forget. Undo: yes."
        assert user.reviews.log == []


async def test_slash_filters_while_typing_and_esc_clears() -> None:
    """Letters are folded; the title says what is filtered; Enter keeps the filter."""
    async with console() as user:
        await user.press("/")
        await user.type("PROMO")
        assert user.rows[-3] == "Filter> PROMO"
        assert "pending  1/1  filter «PROMO»" in user.title
        await user.press("enter")
        assert user.marked().startswith("▸M  staleness/1")
        await user.press("escape")
        assert "pending  2/3" in user.title


async def test_a_filter_that_hides_all_says_so() -> None:
    """The filter itself and the way out, whatever was typed."""
    async with console() as user:
        await user.press("/")
        await user.type("[@click=app.quit]x[/]")
        assert " No recommendation matches «[@click=app.quit]x[/]». Esc clears the filter." in user.rows
        await user.press("escape")
        assert "1/3" in user.title


async def test_a_list_that_grows_again_is_drawn_as_it_lies() -> None:
    """After a filter is cleared every row stands once, with one cursor; what is painted is what would be painted."""
    details = [
        build.detail(
            build.recommendation(f"r{number}", [], []), f"number {number} {'ana' * (number == 5)}", []
        )
        for number in range(8)
    ]
    async with console(FakeReviews(details)) as user:
        await user.press("/")
        await user.type("ana")
        await user.press("enter", "escape", "j")
        drawn = user.rows[2:10]
        assert [row.partition("number ")[2][:1] for row in drawn] == list("01234567")
        assert [row[0] for row in drawn] == list("      ▸ ")
        assert "7/8" in user.title


async def test_a_filter_can_be_pasted() -> None:
    """Pasted text is one line, controls do not act."""
    async with console() as user:
        await user.press("/")
        await user.paste("acme\n\x1b[31m")
        assert user.rows[-3] == "Filter> acme [31m"


async def test_f_cycles_through_the_statuses() -> None:
    """pending, approved, rejected, applied, rolled back, expired, all."""
    reviews = FakeReviews()
    reviews.elsewhere("reject", build.duplicates().recommendation.address, "no")
    async with console(reviews) as user:
        seen = []
        for _ in range(7):
            await user.press("f")
            seen.append(user.title[:60].split("]")[1].split("  ")[1])
        assert seen == ["approved", "rejected", "applied", "rolled back", "expired", "all", "pending"]


async def test_an_all_list_names_each_status() -> None:
    """The status column is there when it is needed."""
    reviews = FakeReviews()
    reviews.elsewhere("reject", build.duplicates().recommendation.address, "no")
    async with console(reviews) as user:
        await user.press(*"ffffff")
        assert user.rows[1] == " S  analyzer          target         evid  age  status      summary"
        assert [row[48:56] for row in user.rows[2:5]] == ["pending ", "pending ", "rejected"]
    async with console(reviews, size=(120, 40)) as user:
        await user.press(*"ffffff")
        assert user.rows[1].startswith(" S  analyzer          target          status ")
        assert user.rows[4].startswith(" L  duplicate_sweep/1 acme            rejected ")


async def test_o_sorts_by_newest_and_by_evidence() -> None:
    """Severity is the order the memory gives; the title names another one."""
    async with console() as user:
        await user.press("o")
        assert [row[1] for row in user.rows[2:5]] == ["M", "L", "H"]
        assert "by newest" in user.title
        assert user.marked().startswith("▸H"), "the selection stays on the same recommendation"
        await user.press("o")
        assert [row[1] for row in user.rows[2:5]] == ["H", "L", "M"]
        await user.press("o")
        assert "by " not in user.title


async def test_brackets_scroll_the_preview() -> None:
    """] and [ go from section to section of the preview."""
    async with console() as user:
        preview = user.screen.preview
        await user.press("]")
        assert preview.top > 0
        await user.press("[")
        assert preview.top == 0


async def test_y_and_C_send_text_to_the_terminal_and_show_it() -> None:
    """Never "copied": whether a terminal took it cannot be known."""
    async with console() as user:
        address = build.tool_failure().recommendation.address
        await user.press("y")
        assert user.flash == f"address sent to the terminal: {address}"
        assert user.app.clipboard == address
        await user.press("C")
        assert user.app.clipboard == f"deja loop show {address[:8]} --db {FILE}"


async def test_question_mark_opens_help_and_q_comes_back() -> None:
    """Help for this screen."""
    async with console() as user:
        await user.press("?")
        assert isinstance(user.screen, HelpScreen)
        await user.press("q")
        assert isinstance(user.screen, QueueScreen)


async def test_T_changes_the_theme() -> None:
    """The next theme of those there are, named."""
    async with console() as user:
        await user.press("T")
        assert user.flash == "theme deuteranopia"
        assert user.app.theme_name == "deuteranopia"


async def test_q_quits_with_status_0() -> None:
    """The first screen is the way out."""
    async with console() as user:
        await user.press("q")
        assert user.app.return_code == 0


async def test_ctrl_c_quits_with_status_130() -> None:
    """D47: an abort."""
    async with console() as user:
        await user.press("ctrl+c")
        assert user.app.return_code == 130


async def test_r_reads_again() -> None:
    """A new recommendation appears; the selection stays where it was."""
    async with console() as user:
        await user.press("j")
        body = build.recommendation("other", [], [], severity="low")
        user.reviews.details[body.address] = build.detail(body, "another one", [])
        await user.press("r")
        assert user.flash == "read again"
        assert "2/4" in user.title
        assert user.marked().startswith("▸M")


async def test_a_change_of_the_file_is_seen_by_the_next_poll() -> None:
    """Somebody else decided: the row is gone, the selection goes to the row that took its place."""
    async with console() as user:
        user.app.poll()
        await user.settle()
        user.reviews.elsewhere("reject", build.tool_failure().recommendation.address, "no")
        user.app.poll()
        await user.settle()
        assert "[3 Queue:2]" in user.title
        assert "pending  1/2" in user.title
        assert user.marked().startswith("▸M")


async def test_a_change_behind_help_is_there_when_help_is_closed() -> None:
    """The screen below reads again when it comes back."""
    async with console() as user:
        user.app.poll()
        await user.settle()
        await user.press("?")
        user.reviews.elsewhere("reject", build.tool_failure().recommendation.address, "no")
        user.app.poll()
        await user.settle()
        await user.press("h")
        assert "[3 Queue:2]" in user.title


async def test_polling_stops_while_nobody_looks() -> None:
    """A window without focus asks nothing."""
    async with console() as user:
        user.app.app_focus = False
        asked = len(user.reviews.asked)
        user.app.poll()
        await user.settle()
        assert len(user.reviews.asked) == asked


async def test_a_read_only_console_dims_its_decisions_and_names_the_flag() -> None:
    """The key answers with the reason instead of a form; a decision that cannot follow the status is not there."""

    def dimmed(user: User) -> set[str]:
        hints = user.screen.query_one("#hints").hints
        return {hint.does for hint in hints if not hint.on}

    async with console(rights=reader()) as user:
        assert user.title.endswith("user:local  READ-ONLY")
        await user.press("a")
        assert "this console is READ-ONLY (--read-only" in user.flash
        assert isinstance(user.screen, QueueScreen)
        assert "dry run" in user.hints
        assert dimmed(user) == {"approve", "reject"}
        for key in ("enter", "w"):
            await user.press(key)
            assert dimmed(user) == {"approve", "reject"}
            await user.press("h")


async def test_a_reviewer_without_apply_is_told_the_scope() -> None:
    """REVIEW in the title; p names the missing right."""
    async with console(rights=review_only()) as user:
        assert user.title.endswith("user:local  REVIEW")
        await user.press("p")
        assert user.flash == "off: this console is REVIEW; this needs the right `apply`, given with --scopes"


async def test_an_empty_queue_tells_what_to_do_next() -> None:
    """Two commands, no blank page; keys of decisions answer."""
    async with console(FakeReviews([])) as user:
        assert " Nothing waits for a decision." in user.rows
        assert f" look again: R, or deja loop run --db {FILE}" in user.rows
        for key in ("a", "enter", "e", "d", "y", "C", "j", "G", "]"):
            await user.press(key)
        await user.press("w")
        assert user.flash == "nothing waits for a decision"


async def test_when_all_are_decided_the_receipts_stay() -> None:
    """What was decided in this sitting, with the audit address."""
    async with console(FakeReviews([build.duplicates()])) as user:
        await user.press("x")
        await user.type("not needed")
        await user.press("enter", "enter")
        assert any(row.startswith(" rejected    fcea2252  audit ") for row in user.rows)


async def test_an_error_of_the_memory_shows_code_sentence_and_next_step() -> None:
    """Nothing could be read yet: the list says so, r tries again."""
    reviews = FakeReviews()
    reviews.faults["queue"] = DejaError("STO-E009", "the file is damaged", "deja verify")
    async with console(reviews) as user:
        assert user.flash == "STO-E009 the file is damaged. Next: deja verify"
        assert " Nothing could be read. r tries again." in user.rows
        await user.press("r")
        assert "[3 Queue:3]" in user.title


async def test_stale_rows_are_marked_with_their_age() -> None:
    """What is on the screen stays there, and one sees how old it is."""
    async with console() as user:
        user.reviews.faults["queue"] = DejaError("STO-E004", "the file is locked by another writer")
        user.app.now_ms = lambda: NOW + 12_000
        await user.press("r")
        assert user.flash.startswith("STO-E004 the file is locked by another writer. Shown as it was 12s ago")
        assert user.marked()


async def test_a_fault_of_a_poll_is_said() -> None:
    """The change counter could not be read."""
    async with console() as user:
        user.reviews.faults["token"] = DejaError("STO-E010", "the memory is closed")
        user.app.poll()
        await user.settle()
        assert user.flash == "STO-E010 the memory is closed."


async def test_foreign_and_destructive_rows_say_so() -> None:
    """Words in the summary, not only a letter; what came from elsewhere cannot be decided here (D5)."""
    found = replace(build.duplicates(), foreign=True, origin="submitted")
    async with console(FakeReviews([found])) as user:
        assert user.marked().startswith("▸LA ")
        assert "imported 3 copies" in user.marked()
        await user.press("a")
        assert user.flash.startswith("it came from another copy of this memory")


async def test_a_long_list_scrolls_by_rows_and_keeps_the_title_in_step() -> None:
    """A thousand rows: the window shows a part, first and last are one key away."""
    details = [
        build.detail(build.recommendation(f"r{number}", [], [], since=NOW - number), f"number {number}", [])
        for number in range(1_000)
    ]
    async with console(FakeReviews(details)) as user:
        await user.press("G")
        assert "1000/1000" in user.title
        assert user.marked().rstrip().endswith("number 999")
        await user.press("k", "ctrl+u")
        assert user.screen.listing.selected < 999
        await user.press("g")
        assert user.rows[2].startswith("▸")


async def test_below_60x20_only_leaving_works() -> None:
    """The window says what it needs; keys that could not be seen do nothing."""
    async with console(size=(59, 19)) as user:
        assert user.text.strip() == "needs 60x20, has 59x19; q leaves"
        await user.press("a", "enter", "w", "/")
        assert isinstance(user.screen, QueueScreen)
        await user.resize(80, 24)
        assert user.marked()
        await user.resize(59, 24)
        await user.press("q")
        assert user.app.return_code == 0


async def test_a_deep_link_opens_the_recommendation() -> None:
    """``--at queue/HASH`` is Detail on top of the queue."""
    async with console(at="queue/fcea2252") as user:
        assert isinstance(user.screen, DetailScreen)
        assert "fcea2252" in user.title
        await user.press("q")
        assert isinstance(user.screen, QueueScreen)


@pytest.mark.parametrize("address", ["00000000", "zzzz"])
async def test_a_deep_link_to_nothing_says_so_above_the_queue(address: str) -> None:
    """An address that is not there is a message, and the list is there to go on from."""
    async with console(at=f"queue/{address}") as user:
        assert isinstance(user.screen, QueueScreen)
        assert user.flash.startswith(f"LOP-E040 {address}: there is no such recommendation.")
        assert user.marked().startswith("▸H")


@pytest.mark.parametrize("at", ["nope", "nope/01eba48c", "\x1b[2J"])
async def test_a_place_that_there_is_not_is_said(at: str) -> None:
    """Not ignored: the message names what there is."""
    async with console(at=at) as user:
        assert isinstance(user.screen, QueueScreen)
        assert "is no place; there are overview, sessions, queue" in user.flash
        assert user.marked().startswith("▸H")


async def test_one_that_cannot_be_opened_leaves_the_queue_on_the_screen() -> None:
    """Gone since the list was read: the reason above the list, and Enter tries again."""
    async with console() as user:
        user.screen.details.clear()
        user.reviews.faults["show"] = DejaError("STO-E004", "the file is locked by another writer")
        await user.press("enter")
        assert isinstance(user.screen, QueueScreen)
        assert "the file is locked by another writer" in user.flash


async def test_a_held_key_draws_the_preview_when_it_rests() -> None:
    """Moves less than 60 ms apart leave the preview alone until the key is released."""
    async with console() as user:
        shown = user.screen.previewing
        await user.press("j")
        first = user.screen.previewing
        assert first != shown
        await user.press("j", after=0.03)
        assert user.screen.previewing == first
        assert user.screen.resting is not None
        user.screen.show_preview()
        await user.settle()
        assert user.screen.previewing != first


async def test_the_terminals_cursor_stands_on_the_selected_row() -> None:
    """Braille displays and screen readers follow the hardware cursor."""
    async with console() as user:
        assert tuple(user.app.cursor_position) == (0, 2)
        await user.press("j")
        assert tuple(user.app.cursor_position) == (0, 3)


async def test_a_long_queue_opens_with_its_first_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of all is there at once, the rows once a key is pressed; the last row is the last of all."""
    monkeypatch.setattr("deja_tui.screens.queue.FIRST_ROWS", 2)
    async with console() as user:
        assert "[3 Queue:3]" in user.title
        assert "  1/3  " in user.title
        assert len(user.screen.rows) == 2
        await user.press("G")
        assert len(user.screen.rows) == 3
        assert "  3/3  " in user.title
        await user.press("f")
        assert "1/1" in user.title or "0/0" in user.title
        await user.press("o")
        assert user.screen.total is None


def test_a_filter_finds_the_word_that_marks_a_row() -> None:
    """FORGET stands before the summary of what cannot be undone, and is no part of it."""
    row = replace(build.row_of(build.tool_failure("rate limited")), destructive=True)
    assert matches(row, "forget")
    assert not matches(replace(row, destructive=False), "forget")


async def test_a_row_that_is_looked_at_longer_fills_the_room_of_its_preview() -> None:
    """The card first; then evidence and trail below it, until another row is selected; ] leads on in them."""
    async with console(size=(120, 40), fill_seconds=60) as user:
        screen = user.screen
        assert "-- Trail" not in user.text
        assert screen.filling is not None
        screen.fill_up()
        await user.settle()
        assert all(
            part in user.text for part in ("-- Evidence 8 of 8", "-- Trail, chain verified", "-- Finding")
        )
        await user.app.polled()
        await user.settle()
        assert "-- Trail" in user.text, "what is read again stays filled"
        await user.press("j")
        assert "-- Trail" not in user.text
