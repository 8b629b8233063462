# SPDX-License-Identifier: Apache-2.0
"""The list: virtual, keyed, two rows repainted for a move."""

from __future__ import annotations

import pytest

from deja_tui.present.line import Line, Span, line, plain, width
from deja_tui.widgets.rows import BAR, Rows, barred
from tests.widgets.stage import Repaints, Stage


def numbered(index: int) -> Line:
    return line(Span(f"row {index}", "dim"))


def filled(count: int) -> Rows:
    rows = Rows()
    rows.keys = [str(index) for index in range(count)]
    rows.draw = numbered
    return rows


async def test_a_move_inside_the_window_repaints_two_rows() -> None:
    """The row that was selected and the row that is."""
    rows = filled(100)
    async with Stage(rows).run_test(size=(40, 10)) as pilot:
        repaints = Repaints(rows)
        rows.move(1)
        assert repaints.lines() == [0, 1]
        rows.move(3)
        assert repaints.lines() == [1, 4]
        await pilot.pause(0)
        assert pilot.app.rows()[4] == "▸row 4"


async def test_only_visible_rows_are_ever_drawn() -> None:
    """A million rows cost what a window costs."""
    drawn: list[int] = []

    def draw(index: int) -> Line:
        drawn.append(index)
        return numbered(index)

    rows = Rows()
    async with Stage(rows).run_test(size=(40, 10)) as pilot:
        rows.show(range(1_000_000), draw)  # type: ignore[arg-type]
        await pilot.pause(0)
        rows.move_to(999_999)
        await pilot.pause(0)
        assert pilot.app.rows()[-1] == "▸row 999999"
        assert len(drawn) < 100


async def test_scrolling_moves_by_one_and_pages_keep_a_row() -> None:
    """The window follows the selection, no further than it must."""
    rows = filled(100)
    async with Stage(rows).run_test(size=(40, 10)):
        rows.move_to(10)
        assert rows.top == 1
        rows.page(1)
        assert (rows.selected, rows.top) == (19, 10)
        rows.page(-1)
        assert (rows.selected, rows.top) == (10, 10)
        rows.move(-1)
        assert rows.top == 9
        assert not rows.move_to(9)
        assert rows.move_to(5_000)
        assert (rows.selected, rows.top) == (99, 90)


async def test_new_content_keeps_the_selection_on_its_key() -> None:
    """A row that arrives above does not move the eye to another row."""
    rows = filled(5)
    async with Stage(rows).run_test(size=(40, 10)):
        rows.move_to(3)
        rows.show(["new", "0", "1", "2", "3", "4"], numbered)
        assert rows.key == "3"
        rows.show(["0", "1", "2"], numbered)
        assert rows.key == "2"
        rows.show([], numbered, [line("nothing")])
        assert rows.key is None
        rows.show(["9"], numbered)
        assert rows.key == "9"


async def test_only_rows_that_differ_are_repainted_when_content_changes() -> None:
    """Equal rows stay as they are on the screen."""
    rows = filled(5)
    async with Stage(rows).run_test(size=(40, 10)) as pilot:
        assert pilot.app.rows()[4] == " row 4"  # painted
        repaints = Repaints(rows)
        rows.show(["0", "1", "2", "3", "4"], lambda index: line("other") if index == 3 else numbered(index))
        assert repaints.lines() == [3]


async def test_an_empty_list_shows_its_message() -> None:
    """No mark, only the lines given."""
    rows = Rows()
    async with Stage(rows).run_test(size=(40, 3)) as pilot:
        rows.show([], numbered, [line("nothing here"), line("do this")])
        await pilot.pause(0)
        assert pilot.app.rows() == ["nothing here", "do this", ""]
        assert not rows.move(1)


async def test_a_smaller_window_keeps_the_selected_row_visible() -> None:
    """Whatever the size, the selected row is on the screen."""
    rows = filled(100)
    async with Stage(rows).run_test(size=(40, 20)) as pilot:
        rows.move_to(19)
        await pilot.resize_terminal(40, 5)
        assert rows.top <= 19 < rows.top + 5
        await pilot.resize_terminal(40, 60)
        assert rows.top <= 19 < rows.top + 60


async def test_the_bar_of_the_selected_row_is_in_one_style_and_ends_with_a_column() -> None:
    """Colours change per row, not per cell; the row is filled to the edge, and the next step sends only the bar again."""
    rows = filled(3)
    async with Stage(rows).run_test(size=(60, 5)) as pilot:
        strip = rows.render_line(0)
        assert strip.cell_length == 60
        bar = strip.crop(0, BAR[0])
        assert {segment.style for segment in bar} == {pilot.app.paint.styles["cursor"]}
        assert {segment.style for segment in strip.crop(BAR[1])} == {pilot.app.paint.styles["text"]}


@pytest.mark.parametrize(
    ("columns", "bar"),
    [((10, 20, 30), 30), ((30, 20), 30), ((10, 50), 10), ((5, 50), 40), ((5,), 24), ((80,), 40)],
)
def test_where_the_bar_ends(columns: tuple[int, ...], bar: int) -> None:
    """With the first column that reaches the 24th cell, at the 40th at the latest; before a text that would be cut; a short row has a bar beyond its text."""
    row = tuple(Span("x" * size, str(size)) for size in columns)
    first, rest = barred(row)
    assert width(first) == bar
    assert plain((*first, *rest)).rstrip() == plain(row)


def test_the_bar_does_not_cut_a_wide_character() -> None:
    """One that stands across the last cell stays whole, behind the bar."""
    first, rest = barred((Span("x" + "日" * 30),))
    assert (width(first), width(rest)) == (39, 22)


async def test_a_row_that_was_not_read_yet_is_painted_once_it_is() -> None:
    """A caller's rows change behind its `draw`: what is compared is what was painted, however long the way was."""
    known: set[int] = set(range(60))
    rows = Rows()

    def draw(index: int) -> Line:
        return numbered(index) if index in known else line("…")

    async with Stage(rows).run_test(size=(40, 10)) as pilot:
        rows.show(range(1_000), draw)  # type: ignore[arg-type]
        for _ in range(5):  # until the next window has more rows than are remembered
            assert pilot.app.rows()[0].endswith(f"row {rows.top}")
            rows.page(1)
        rows.move_to(999)
        assert pilot.app.rows()[0] == " …"
        known |= set(range(900, 1_000))
        repaints = Repaints(rows)
        rows.show(range(1_000), draw)  # type: ignore[arg-type]
        assert repaints.lines() == list(range(10))
