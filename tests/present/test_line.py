# SPDX-License-Identifier: Apache-2.0
"""Lines of spans: measured in cells, cut and wrapped without losing text or meaning."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from deja_tui.present.line import Span, clip, cut, heading, joined, line, pad, plain, width, wrap
from deja_tui.text import clean

texts = st.text(alphabet=st.sampled_from("ab cd日🙂é …"), max_size=60).map(clean)
lines = st.lists(st.builds(Span, texts, st.sampled_from(("", "dim", "added"))), max_size=5).map(tuple)


@given(lines, st.integers(1, 30))
@settings(max_examples=200, deadline=None)
def test_a_clipped_line_never_exceeds_its_room_and_says_when_it_was_cut(found, room) -> None:
    """Whatever is cut, the result fits, and a cut is marked."""
    shown = clip(found, room)
    assert width(shown) <= room
    assert shown == found or plain(shown).endswith("…")


def test_a_fence_that_is_cut_is_closed_again() -> None:
    """What stands behind a cut text must not seem to be part of it."""
    found = line("it said ", Span("«one two three»", "untrusted"), " and more")
    assert plain(clip(found, 16)) == "it said «one t…»"
    assert plain(clip(found, 9)) == "it said …"
    assert plain(clip(found, 11)) == "it said …"
    assert plain(clip(line("way: «rate limited»"), 7)) == "way: …"
    assert plain(clip(line("way: «rate limited»"), 9)) == "way: «r…»"
    assert plain(clip(found, 12)) == "it said «o…»"
    assert plain(clip(found, 23)) == "it said «one two thre…»"
    assert plain(clip(found, 24)) == "it said «one two three»…"


@given(lines, st.integers(0, 30))
@settings(max_examples=200, deadline=None)
def test_a_padded_line_has_exactly_its_width(found, room) -> None:
    """Columns stay aligned whatever stands in them."""
    assert width(pad(found, room)) == room


@given(lines, st.integers(8, 30), st.integers(0, 4))
@settings(max_examples=200, deadline=None)
def test_wrapping_loses_nothing_but_the_blanks_it_breaks_at(found, room, hang) -> None:
    """Every code point that is not a blank is on some line, in order, and every line fits."""
    pieces = wrap(found, room, hang)
    assert all(width(piece) <= room for piece in pieces)
    together = "".join(plain(piece) for piece in pieces)
    assert together.replace(" ", "") == plain(found).replace(" ", "")


def test_meanings_survive_wrapping() -> None:
    """A piece keeps the meaning of the span it was cut from, and later pieces hang in."""
    pieces = wrap(line(Span("+ ", "added"), Span("one two three", "untrusted")), 9, 2)
    assert pieces == [
        (Span("+ ", "added"), Span("one two", "untrusted")),
        (Span("  "), Span("three", "untrusted")),
    ]


def test_a_long_word_is_broken_where_the_line_ends() -> None:
    """Without blanks nothing is dropped."""
    assert [plain(piece) for piece in wrap(line("x" * 10), 4, 1)] == ["xxxx", " xxx", " xxx"]


def test_a_very_long_hostile_line_wraps_in_one_pass() -> None:
    """100,000 escaped characters are 10,000 lines at most, quickly."""
    pieces = wrap(line("\\x1b" * 20_000), 80)
    assert len(pieces) == 1_000


def test_cut_takes_code_points_across_spans() -> None:
    """Positions count over the whole line."""
    assert cut(line(Span("abc", "dim"), "def"), 2, 4) == (Span("c", "dim"), Span("d"))


def test_a_heading_fills_its_row() -> None:
    """The rule reaches the edge exactly."""
    assert plain(heading("Change", 20)) == "-- Change ----------"


def test_joining_puts_the_separator_only_between() -> None:
    """No separator before the first or after the last part."""
    assert plain(joined(["a", Span("b", "dim")])) == "a · b"
