# SPDX-License-Identifier: Apache-2.0
"""Scrolling text: sections, what was on the screen, what is below."""

from __future__ import annotations

from deja_tui.present.line import line
from deja_tui.widgets.pager import Pager
from tests.widgets.stage import Repaints, Stage

LINES = [line(f"line {number}") for number in range(50)]
STARTS = {"one": 0, "two": 10, "three": 45}


async def test_sections_are_one_key_apart() -> None:
    """Next and previous rule; the last one as far up as there are lines."""
    pager = Pager()
    async with Stage(pager).run_test(size=(40, 10)):
        pager.show(LINES, STARTS)
        assert pager.next_section(1)
        assert pager.top == 10
        assert pager.next_section(1)
        assert pager.top == 40
        assert not pager.next_section(1)
        assert pager.next_section(-1)
        assert pager.top == 10
        assert pager.go("one")
        assert pager.top == 0
        assert not pager.go("nowhere")
        assert not pager.next_section(-1)


async def test_exactly_the_lines_that_were_on_the_screen_count_as_shown() -> None:
    """Jumping to the end does not show what lies between; the row that counts the rest hides one line."""
    pager = Pager(more="go on")
    async with Stage(pager).run_test(size=(40, 10)) as pilot:
        pager.show(LINES, STARTS)
        assert pager.shown == set(range(9))
        pager.scroll_to_line(50)
        assert pager.shown == set(range(9)) | set(range(40, 50))
        await pilot.resize_terminal(40, 20)
        assert 30 in pager.shown
        pager.show(LINES[:5])
        assert pager.shown == set(range(5))


async def test_what_is_below_is_counted_in_the_last_row() -> None:
    """The number of lines that cannot be seen."""
    pager = Pager(more="go on")
    async with Stage(pager).run_test(size=(40, 10)) as pilot:
        pager.show(LINES)
        assert pilot.app.rows()[-1] == "… 41 more lines: go on"
        pager.scroll_to_line(50)
        assert pilot.app.rows()[-1] == "line 49"


async def test_pages_keep_one_line() -> None:
    """The last line of a page is the first of the next."""
    pager = Pager()
    async with Stage(pager).run_test(size=(40, 10)):
        pager.show(LINES)
        pager.page(1)
        assert pager.top == 9
        pager.page(-1)
        assert pager.top == 0
        assert not pager.scroll_by(-1)


async def test_replacing_a_line_repaints_that_row_only() -> None:
    """A counter in a heading does not repaint the text."""
    pager = Pager()
    async with Stage(pager).run_test(size=(40, 10)):
        pager.show(LINES)
        repaints = Repaints(pager)
        pager.replace_line(3, line("new"))
        assert repaints.lines() == [3]
        pager.replace_line(3, line("new"))
        pager.replace_line(30, line("below"))
        assert repaints.lines() == []
        assert pager.lines[30] == line("below")


async def test_an_edge_takes_two_cells() -> None:
    """The line between two panes."""
    pager = Pager(edge=True)
    async with Stage(pager).run_test(size=(40, 3)) as pilot:
        pager.show([line("x" * 60)])
        assert pilot.app.rows()[0] == "│ " + "x" * 37 + "…"
        assert pager.room == 38
