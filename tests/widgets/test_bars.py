# SPDX-License-Identifier: Apache-2.0
"""Title, hints, flash: one row each, nothing cut in the middle of a meaning."""

from __future__ import annotations

from deja_tui.present.line import Span, line
from deja_tui.widgets.flash import Flash
from deja_tui.widgets.hints import Hint, Hints
from deja_tui.widgets.oneline import OneLine
from deja_tui.widgets.titlebar import TitleBar
from tests.widgets.stage import Repaints, Stage


async def test_the_right_side_of_the_title_is_never_cut() -> None:
    """Actor and tier stay, the left part gives way."""
    title = TitleBar()
    async with Stage(title).run_test(size=(30, 1)) as pilot:
        title.show_both(line(" a very long name of a file"), line("user:local  REVIEW "))
        assert pilot.app.rows() == [" a very l… user:local  REVIEW"]
        await pilot.resize_terminal(60, 1)
        assert pilot.app.rows() == [" a very long name of a file              user:local  REVIEW"]


async def test_hints_that_do_not_fit_are_left_out_whole() -> None:
    """The pinned ones stay; a hint that is off is dimmed."""
    hints = Hints()
    async with Stage(hints).run_test(size=(36, 1)) as pilot:
        hints.show_hints(
            [Hint("a", "approve", on=False), Hint("e", "evidence of it all"), Hint("s", "skip")],
            [Hint("q", "quit")],
        )
        assert pilot.app.rows() == [" a approve  s skip  q quit"]
        styles = {segment.text.strip(): segment.style for segment in hints.render_line(0)}
        assert styles["a approve"] == pilot.app.paint.style("dim", "bar")
        assert styles["s"] == pilot.app.paint.style("key", "bar")


async def test_a_warning_stands_beside_its_key() -> None:
    """It belongs to the hint, and is drawn as an error."""
    hints = Hints()
    async with Stage(hints).run_test(size=(60, 1)) as pilot:
        hints.show_hints([Hint("p", "apply", warning="CANNOT BE UNDONE")])
        assert pilot.app.rows() == [" p apply CANNOT BE UNDONE"]
        assert list(hints.render_line(0))[-2].style == pilot.app.paint.style("error", "bar")


async def test_a_long_message_takes_up_to_three_rows() -> None:
    """A next step is not cut off; what is longer ends in a mark."""
    flash = Flash()
    async with Stage(flash).run_test(size=(40, 5)) as pilot:
        flash.say("short")
        await pilot.pause(0)
        assert pilot.app.rows() == [" short"]
        flash.say("STO-E004 the file is locked by another writer. Next: try again in a moment")
        await pilot.pause(0)
        assert len(pilot.app.rows()) == 2
        assert "".join(pilot.app.rows()).endswith("in a moment")
        flash.say("word " * 100)
        await pilot.pause(0)
        assert len(pilot.app.rows()) == 3
        assert pilot.app.rows()[-1].endswith("…")
        flash.clear()
        await pilot.pause(0)
        assert pilot.app.rows() == [""]


async def test_showing_the_same_line_again_repaints_nothing() -> None:
    """A refresh that changes nothing sends nothing."""
    one = OneLine()
    async with Stage(one).run_test(size=(40, 1)):
        one.show(line(Span("x", "dim")))
        repaints = Repaints(one)
        one.show(line(Span("x", "dim")))
        assert repaints.lines() == []
        one.show(line("y"))
        assert repaints.lines() == [-1]
