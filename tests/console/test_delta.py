# SPDX-License-Identifier: Apache-2.0
"""From one screen to the next with the fewest bytes: an independent terminal shows what was wanted."""

from __future__ import annotations

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deja_tui.console.delta import Pen, draw, restyle
from deja_tui.console.grid import PLAIN, Grid, Style, styled

COLUMNS, LINES = 24, 8


class Terminal:
    """An independent model of a terminal, beside the grid it is compared with."""

    def __init__(self) -> None:
        self.screen = pyte.Screen(COLUMNS, LINES)
        self.screen.reset_mode(pyte.modes.DECAWM)
        self.stream = pyte.Stream(self.screen)

    def feed(self, data: str) -> None:
        self.stream.feed(data)

    def cells(self) -> list[list[tuple[object, ...]]]:
        """What a person sees: of a blank only its background, its underline and the like."""
        return [[seen(self.screen.buffer[y][x]) for x in range(COLUMNS)] for y in range(LINES)]


def seen(char: pyte.screens.Char) -> tuple[object, ...]:
    shows = (char.underscore, char.strikethrough, char.reverse)
    if char.data == " " and not any(shows):
        return (" ", char.bg)
    return (char.data, char.fg, char.bg, char.bold, char.italics, *shows)


COLOURS = st.sampled_from(
    ["", "31", "92", "38;5;240", "38;2;10;20;30", "44", "48;5;17", "41;37", "48;2;9;9;9"]
)
ATTRS = st.sampled_from(["", "1", "3", "4", "7", "9", "1;7", "0;1", "22", "27", "39;49"])
WORDS = st.text(st.sampled_from("ab xyz  ─▸|0123"), min_size=1, max_size=COLUMNS)
PIECES = st.tuples(st.integers(1, LINES), st.integers(1, COLUMNS), COLOURS, ATTRS, WORDS)


def painted(piece: tuple[int, int, str, str, str]) -> str:
    line, column, colour, attr, text = piece
    codes = ";".join(code for code in (colour, attr) if code)
    return f"\x1b[{line};{column}H\x1b[{codes}m{text[: COLUMNS - column + 1]}\x1b[0m"


@given(st.lists(st.lists(PIECES, max_size=6), min_size=1, max_size=5), st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_terminal_shows_what_is_wanted(
    frames: list[list[tuple[int, int, str, str, str]]], bce: bool
) -> None:
    """DELTA-1, DELTA-4, DELTA-5, DELTA-6: after any frames a terminal fed with differences shows what one fed with the
    frames shows, whether it erases in colour or not."""
    stock, ours = Terminal(), Terminal()
    wanted, shown, pen = Grid(COLUMNS, LINES), Grid(COLUMNS, LINES), Pen(bce=bce)
    for frame in frames:
        data = "".join(map(painted, frame))
        stock.feed(data)
        assert wanted.feed(data) == []
        draw(shown, wanted, pen)
        ours.feed(pen.take())
        assert ours.cells() == stock.cells()


@given(
    st.integers(-5, 5),
    st.integers(0, 7),
    st.lists(WORDS, min_size=LINES + 10, max_size=LINES + 10),
    st.sampled_from(["0", "48;5;17"]),
)
@settings(max_examples=100, deadline=None)
def test_lists_that_scroll(by: int, mark: int, words: list[str], ground: str) -> None:
    """DELTA-2, DELTA-1: a list that moved shows the same as one that was painted anew, on any background."""
    ours, wanted, shown, pen = Terminal(), Grid(COLUMNS, LINES), Grid(COLUMNS, LINES), Pen(bce=True)
    stock = Terminal()
    for first in (5, 5 + by):
        rows = words[first : first + LINES]
        data = "".join(
            f"\x1b[{y + 1};1H\x1b[{'7' if y == mark else ground}m{row.ljust(COLUMNS)}\x1b[0m"
            for y, row in enumerate(rows)
        )
        stock.feed(data)
        wanted.feed(data)
        draw(shown, wanted, pen)
        ours.feed(pen.take())
    assert ours.cells() == stock.cells()


def test_a_scrolled_list_costs_a_row() -> None:
    """DELTA-2: of a list that moves by one, the new row is sent and the others are shifted."""
    wanted, shown, pen = Grid(80, 24), Grid(80, 24), Pen()
    for first in (0, 1):
        wanted.feed("".join(f"\x1b[{y + 1};1H row number {first + y:<66}" for y in range(24)))
        draw(shown, wanted, pen)
        sent = pen.take()
    assert len(sent) < 60
    assert "\x1b[1;24r" in sent


def test_the_cursor_goes_the_short_way() -> None:
    """DELTA-6: to the next line, down a column, back a few cells; a gap of two cells is written, not jumped over."""
    pen = Pen()
    pen.place(9, 11)
    pen.take()
    for place, way in (((9, 12), "\x1b[B"), ((7, 12), "\b\b"), ((0, 13), "\r\n"), ((0, 13), "")):
        pen.place(*place)
        assert pen.take() == way
    wanted, shown, pen = Grid(30, 1), Grid(30, 1), Pen()
    for text in ("a.b............c", "x.y............z"):
        wanted.feed(f"\x1b[H{text}")
        draw(shown, wanted, pen)
        sent = pen.take()
    assert sent == "\rx.y\x1b[12Cz"


def test_blanks_cost_no_colours() -> None:
    """DELTA-5, DELTA-4: coloured words are written in one colour, and an erased line takes the background along."""
    wanted, shown, pen = Grid(20, 1), Grid(20, 1), Pen(bce=True)
    wanted.feed("\x1b[H\x1b[31;44mone two three       \x1b[m")
    draw(shown, wanted, pen)
    assert pen.take() == "\x1b[H\x1b[m\x1b[31;44mone two three\x1b[K"


def test_colours_of_the_palette_go_by_number() -> None:
    """GRID-5: the same colour in half the bytes; one that the palette has not goes as it is."""
    grid = Grid(3, 1)
    grid.feed("\x1b[H\x1b[38;2;255;135;135;48;2;28;28;28ma\x1b[38;2;1;2;3mb")
    assert grid.rows[0][0][1] == Style("38;5;210", "48;5;234")
    assert grid.rows[0][1][1] == Style("38;2;1;2;3", "48;5;234")


@pytest.mark.parametrize("text", ["日本語 text", "e\u0301e\u0301 marks", "mixed 한글 and more"])
def test_uncertain_rows_are_written_whole(text: str) -> None:
    """DELTA-3, GRID-3: a row with wide or joined characters is written anew, with the cursor placed after each of them."""
    ours, stock = Terminal(), Terminal()
    wanted, shown, pen = Grid(COLUMNS, LINES), Grid(COLUMNS, LINES), Pen()
    for data in (f"\x1b[2;1H{text}", "\x1b[2;5HXY"):
        stock.feed(data)
        wanted.feed(data)
        draw(shown, wanted, pen)
        sent = pen.take()
        ours.feed(sent)
        assert sent.startswith("\x1b[2H")
    assert [row.rstrip() for row in ours.screen.display] == [row.rstrip() for row in stock.screen.display]


STYLES = st.builds(
    lambda codes: styled(PLAIN, ";".join(codes) or "0"), st.lists(COLOURS.filter(bool) | ATTRS.filter(bool))
)


@given(STYLES, STYLES)
def test_a_style_leads_to_another(one: Style, other: Style) -> None:
    """DELTA-1: the colour sequence between two styles leads from the one to the other."""
    sequence = restyle(one, other)
    if sequence:
        assert styled(one, sequence.removeprefix("\x1b[").removesuffix("m")) == other
    else:
        assert one == other


def test_beyond_the_edge_and_unknown_sequences() -> None:
    """GRID-1, GRID-4: text beyond the edge is not there; what is not understood is handed back in its order."""
    grid = Grid(4, 2)
    passed = grid.feed("\x1b[1;3Habcd\x1b[?25l\x1b]52;c;eA==\x07\x1b[9;9Hx\x07")
    assert "".join(char for char, _ in grid.rows[0]) == "  ab"
    assert "".join(char for char, _ in grid.rows[1]).strip() == ""
    assert passed == ["\x1b[?25l", "\x1b]52;c;eA==\x07", "\x07"]


def test_blanks_that_look_alike_are_equal() -> None:
    """GRID-2: the colour of text does not show on a blank, so that it costs nothing to change."""
    one, other = Grid(4, 1), Grid(4, 1)
    one.feed("\x1b[31m    ")
    other.feed("\x1b[1;32m    ")
    assert one.rows == other.rows
    other.feed("\x1b[1;1H\x1b[7m \x1b[0m")
    assert one.rows != other.rows


def test_a_row_that_becomes_mostly_blank_is_erased_first() -> None:
    """DELTA-7: clearing sixty cells one by one costs sixty bytes, erasing them three."""
    wanted, shown, pen = Grid(80, 1), Grid(80, 1), Pen()
    for text in ("x" * 80, f"a{' ' * 60}b"):
        wanted.feed(f"\x1b[H{text.ljust(80)}")
        draw(shown, wanted, pen)
        sent = pen.take()
    assert sent == "\r\x1b[Ka\x1b[60Cb"
