# SPDX-License-Identifier: Apache-2.0
"""Sessions: threads and timelines, each error linked to what cites it (D55), at any length, with any name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deja_tui import Memory
from deja_tui.errors import DejaError
from deja_tui.screens.detail import DetailScreen
from deja_tui.screens.grain import GrainScreen
from deja_tui.screens.session import SessionScreen
from deja_tui.screens.sessions import SessionsScreen
from deja_tui.screens.whole import WholeScreen
from deja_tui.text import cells
from tests.present.hostile import HOSTILE, harmless
from tests.screens import recorded
from tests.screens.test_hostile import sane
from tests.screens.user import FILE, User, console, reader
from tests.support import NOW

_AGE = re.compile(r" (\d+[dhms]) +\d+ +\d+")


async def test_threads_stand_with_their_counts_and_what_cites_them() -> None:
    """The last one first: events, errors, recommendations that wait or were decided."""
    async with console(recorded.demo_reviews(), at="sessions") as user:
        assert user.marked().split() == ["▸sess-44", "6h", "10", "4", "1", "pending"]
        assert "2 pending" in user.rows[3]
        assert any(re.search(r"sess-37 .* 1 decided", row) for row in user.rows)
        assert "1/9" in user.title
        await user.press("]", "]", "]", "]")
        assert user.marked().startswith("▸sess-37")
        await user.press("[", "[")
        assert user.marked().startswith("▸sess-42")
        await user.press("G", "]")
        assert "no session with a failed call below" in user.flash


async def test_enter_shows_the_timeline_and_an_error_leads_to_what_cites_it_and_back() -> None:
    """D55: session → recommendation → evidence → session, by keys alone."""
    async with console(recorded.demo_reviews(), at="sessions") as user:
        await user.press("enter")
        assert isinstance(user.screen, SessionScreen)
        assert "1/10" in user.title
        assert "result" in user.marked()
        assert "Enter all fields" in user.hints
        await user.press("]")
        assert "ERROR" in user.marked()
        address = user.marked().split()[-1]
        assert "signature «open <path> no such file»" in user.text
        assert "4 of 10 (40 %) calls of read_file failed this way in 30d" in " ".join(user.text.split())
        assert f"{address}  pending  Enter opens it" in user.text
        await user.press("enter")
        assert isinstance(user.screen, DetailScreen)
        assert address in user.title
        assert "sess-44" in user.text
        await user.press("2")
        assert isinstance(user.screen, SessionScreen)
        assert "sess-44" in user.title
        await user.press("h")
        assert isinstance(user.screen, SessionsScreen)


async def test_every_field_of_an_event_fills_a_page() -> None:
    """v, or Enter where nothing cites the event."""
    async with console(recorded.demo_reviews(), at="sessions/sess-44") as user:
        for key in ("enter", "v"):
            await user.press(key)
            assert isinstance(user.screen, WholeScreen)
            assert "session_id «sess-44»" in user.text
            await user.press("y")
            assert "address sent to the terminal" in user.flash
            await user.press("h")
            assert isinstance(user.screen, SessionScreen)


async def test_a_grain_of_memories_leads_to_its_session() -> None:
    """v opens the page of the grain where there is one, and 2 leads back."""
    reviews = recorded.demo_reviews()
    async with console(reviews, at="sessions/sess-43", grains=reviews.memory) as user:
        await user.press("G", "v")
        assert isinstance(user.screen, GrainScreen)
        await user.press("2")
        assert isinstance(user.screen, SessionScreen)
        assert "sess-43" in user.title


async def test_errors_only_and_a_filter_narrow_both_lists() -> None:
    """f and /; Esc clears what was typed, h goes back only then."""
    async with console(recorded.demo_reviews(), at="sessions") as user:
        await user.press("f")
        assert "1/6  errors only" in user.title
        await user.press("/", *"4", "enter")
        assert "1/4  errors only  filter «4»" in user.title
        await user.press("enter")
        assert "1/4  errors only" in user.title
        await user.press("f", "]", "]", "]", "[")
        assert "8/10" in user.title
        await user.press("/", *"stage", "enter")
        assert "1/1  filter «stage»" in user.title
        await user.press("]")
        assert "no failed call below" in user.flash
        await user.press("h")
        assert isinstance(user.screen, SessionScreen)
        assert "/10" in user.title
        await user.press("/", *"nowhere", "enter")
        assert "No event holds «nowhere». Esc clears the filter." in user.text
        await user.press("h", "h", "/", "escape", "f", "f")
        assert isinstance(user.screen, SessionsScreen)
        assert "1/6  errors only" in user.title
        await user.press("/", *"nowhere", "enter")
        assert "No session with a failed call holds «nowhere». Esc clears the filter." in user.text


async def test_y_y_and_c_copy_what_the_panel_shows() -> None:
    """The name, the statement that reads it, the command; the statements run."""
    reviews = recorded.demo_reviews()
    async with console(reviews, at="sessions") as user:
        await user.press("y")
        assert user.flash == "session sent to the terminal: sess-44"
        await user.press("Y")
        assert 'RECALL tools IN "shared" RECENT 50 GROUP BY session_id' in user.flash
        await user.press("C")
        assert f"--db {FILE}" in user.flash
        statements = [user.screen.cal_of_panel()]
        await user.press("f")
        statements.append(user.screen.cal_of_panel())
        await user.press("enter", "y")
        assert re.search(r"address sent to the terminal: [0-9a-f]{64}", user.flash)
        statements.append(user.screen.cal_of_panel())
        await user.press("f")
        statements.append(user.screen.cal_of_panel())
        await user.press("C")
        assert "command line sent" in user.flash
    assert statements[-1] == 'RECALL IN "shared" THREAD "sess-44" LIMIT 50'
    found = [reviews.cal(one) for one in statements]
    assert [len(one.rows) for one in found[2:]] == [4, 10]


async def test_a_session_that_grows_is_followed_at_its_end(tmp_path: Path) -> None:
    """Live refresh: another writer adds an event; whoever stands on the last one stands on the new last one."""
    reviews = recorded.opened(recorded.demo, fresh=tmp_path)
    async with console(reviews, at="sessions/sess-44") as user:
        await user.press("G")
        assert "10/10" in user.title
        reviews.memory.record_tool_call("read_file", "open x: no such file", True, thread="sess-44")
        await user.app.polled()
        await user.app.polled()
        reviews.memory.record_tool_call("read_file", "open y: no such file", True, thread="sess-44")
        await user.app.polled()
        await user.settle()
        assert "12/12" in user.title
        assert "ERROR" in user.marked()
        await user.press("h")
        assert user.marked().split()[:5] == ["▸sess-44", "0s", "12", "6", "1"]


async def test_no_session_names_the_snippet_and_the_usual_cause() -> None:
    """The whole path, because a hook does not look where a shell looks; y copies the lines."""
    async with console(recorded.no_reviews(), at="sessions") as user:
        told = " ".join(user.text.split())
        assert "No session yet" in told
        assert f"/home/ana/bin/deja hook capture --db {FILE}" in told
        assert "a hook does not look where your shell looks" in told
        await user.press("y")
        assert user.flash == "the lines for .claude/settings.json sent to the terminal; 6 shows them"
        await user.press("enter", "]", "f", "f")
        assert isinstance(user.screen, SessionsScreen)


async def test_a_link_to_a_session_that_is_not_there_says_so() -> None:
    """It may have been forgotten; nothing else is shown in its stead."""
    async with console(recorded.demo_reviews(), at="sessions/no/such one") as user:
        assert isinstance(user.screen, SessionScreen)
        assert "Nothing here names the session «no/such one»." in user.text
        await user.press("enter", "v", "]", "[", "Y", "h")
        assert isinstance(user.screen, SessionsScreen)


async def test_a_failed_reading_is_told_and_r_reads_again() -> None:
    """Code and next step; what was read before stays, with its age."""
    reviews = recorded.unreadable()
    async with console(reviews, at="sessions") as user:
        assert "STO-E004" in user.flash
        assert "Nothing could be read. r tries again." in user.text
        reviews.faults.clear()
        await user.press("r")
        assert user.marked().startswith("▸sess-44")
        reviews.faults["sessions"] = DejaError("STO-E004", "locked", "try again")
        await user.press("r")
        assert "Shown as it was 0s ago; r reads again." in user.flash
        assert user.marked().startswith("▸sess-44")


async def test_a_console_that_may_only_read_reads_sessions() -> None:
    """Nothing here needs another right."""
    async with console(recorded.demo_reviews(), at="sessions", rights=reader()) as user:
        await user.press("enter", "]", "enter")
        assert isinstance(user.screen, DetailScreen)


async def test_long_lists_read_only_what_is_in_sight(tmp_path: Path) -> None:
    """Virtual: of six hundred events and of six hundred threads a screen of grains and of names is read."""
    path = tmp_path / "agent.db"

    def long(path: Path) -> None:
        from deja_tui import Memory

        with Memory.open(path, clock=lambda: NOW) as memory, memory.store.act():
            for number in range(1_200):
                thread = "the long one" if number % 2 else f"thread {number}"
                memory.add_event(
                    f"said {number}", role="user", session_id=thread, created_at=NOW - 2_000 + number
                )

    long(path)
    reviews = recorded.Recorded(__import__("deja_tui").Memory.open(path, clock=lambda: NOW))
    async with console(reviews, at="sessions") as user:
        screen = user.screen
        assert isinstance(screen, SessionsScreen)
        assert "1/601" in user.title
        assert len(screen.names) < 200
        await user.press("G")
        assert user.marked().startswith("▸«thread 0»")
        assert len(screen.names) < 400
        await user.press("g", "enter")
        assert isinstance(user.screen, SessionScreen)
        await user.press("G")
        assert "600/600" in user.title
        assert "said 1199" in user.marked()
        assert len(user.screen.grains) < 400
        await user.press("/", *"said 11", "enter")
        assert "/56" in user.title
    reviews.memory.close()


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_hostile_names_and_bodies_stay_text(size: tuple[int, int]) -> None:
    """In thread ids, tool names, bodies and inputs: no row acts, shifts or hides; columns stay where they are."""

    async def through(user: User, most: int) -> None:
        await user.press("enter", "]", "v")
        sane(user)
        await user.press("h", "h")
        for _ in range(most):
            await user.press("enter")
            sane(user)
            await user.press("h", "j")

    few = dict(list(HOSTILE.items())[{60: 0, 80: 7, 120: 14}[size[0]] :][:8])
    async with console(recorded.opened(recorded.hostile_with(few)), size, at="sessions") as user:
        ends = [cells(row[: found.end(1)]) for row in user.rows if (found := _AGE.search(row))]
        assert ends == [user.rows[1].index("last") + 4] * 8
        await through(user, 8)
        await user.press("y")
        assert harmless(user.flash)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_collected_transcripts_stay_text(size: tuple[int, int]) -> None:
    """Every transcript of the hostile collection, imported: each session, each event of it."""
    async with console(recorded.opened(recorded.imported), size, at="sessions") as user:
        while True:
            sane(user)
            await user.press("enter")
            sane(user)
            await user.press("G")
            sane(user)
            await user.press("h")
            before = user.title
            await user.press("j")
            if user.title == before:
                break


def elsewhere(path: Path) -> None:
    """A session of another namespace than the file's own."""
    with Memory.open(path, clock=lambda: NOW) as memory:
        memory.add(
            "tool",
            {"tool_name": "pay", "tool_content": "no", "is_error": True, "session_id": "far"},
            namespace="two words",
        )


async def test_y_reads_the_namespace_that_the_session_lies_in() -> None:
    """Also where that is not the file's own; the statement finds it."""
    found = recorded.opened(elsewhere)
    async with console(found, at="sessions", file_of=found) as user:  # type: ignore[arg-type]
        await user.press("Y")
        statement = user.app.clipboard
        assert 'IN "two words"' in statement
        await user.press("C")
        assert "two words" in user.app.clipboard
    assert found.memory.cal(statement, read_only=True).rows
