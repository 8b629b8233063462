# SPDX-License-Identifier: Apache-2.0
"""The one-line editor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.text import cells
from deja_tui.widgets.reason import MOST, Edited, Reason
from tests.present.hostile import HOSTILE, harmless
from tests.widgets.stage import Stage


def edited(marked: str) -> Edited:
    """``on|e``: the text with the caret at the bar."""
    before, _, after = marked.partition("|")
    return Edited(before + after, len(before))


@pytest.mark.parametrize(
    "before,key,after",
    [
        ("ab|c", "left", "a|bc"),
        ("|abc", "left", "|abc"),
        ("ab|c", "right", "abc|"),
        ("abc|", "right", "abc|"),
        ("ab|c", "home", "|abc"),
        ("ab|c", "end", "abc|"),
        ("ab|c", "backspace", "a|c"),
        ("|abc", "backspace", "|abc"),
        ("ab|c", "delete", "ab|"),
        ("abc|", "delete", "abc|"),
        ("ab|c", "ctrl+u", "|c"),
        ("ab|c", "ctrl+k", "ab|"),
        ("one two|", "ctrl+w", "one |"),
        ("one two |x", "ctrl+w", "one |x"),
        ("one|", "ctrl+w", "|"),
    ],
)
def test_editing_keys(before: str, key: str, after: str) -> None:
    """Each key does the usual thing."""
    assert edited(before).key(key) == edited(after)


def test_other_keys_are_not_taken() -> None:
    """The screen decides about Enter, Esc and the rest."""
    assert edited("a|").key("enter") is None
    assert edited("a|").key("f1") is None


def test_pasted_text_becomes_one_line() -> None:
    """Line ends and tabs are blanks, controls and halves of characters are dropped, marks and wide letters stay."""
    typed = Edited().insert("a\r\nb\nc\td\x1b[31m\x00\ud83de\u0301日")
    assert typed.text == "a b c d[31me\u0301日"
    assert typed.caret == len(typed.text)


def test_a_flood_is_bounded() -> None:
    """More than can be recorded is kept, so that one sees it; a book is not."""
    typed = Edited("start", 5).insert("x" * 100_000)
    assert len(typed.text) == MOST
    assert typed.insert("y") == typed


@given(st.text(max_size=80), st.integers(0, 80), st.integers(4, 40))
def test_the_caret_is_always_in_the_window(text: str, caret: int, room: int) -> None:
    """However long and wide the text, the part around the caret fits."""
    reason = Reason()
    kept = Edited().insert(text).text
    reason.edited = Edited(kept, min(caret, len(kept)))
    before, at, after = reason.window(room)
    assert at
    assert harmless(before + at + after)
    assert cells(before) + cells(after) + cells(at) <= max(room, cells(at) + 1)


async def test_the_row_shows_prompt_text_caret_and_count() -> None:
    """One row, as wide as the window."""
    reason = Reason()
    async with Stage(reason).run_test(size=(60, 1)) as pilot:
        assert pilot.app.rows() == [""]
        reason.ask("APPROVE BECAUSE", "because")
        assert pilot.app.rows() == [f"{'APPROVE BECAUSE> because':<54} 7/500"]
        assert reason.take("a", "a")
        assert reason.text == "becausea"
        assert not reason.take("enter", None)
        assert tuple(pilot.app.cursor_position) == (24, 0)
        reason.put_away()
        assert not reason.active


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_text_in_the_row(name: str) -> None:
    """Pasted, shown, harmless, exactly one row wide."""
    reason = Reason()
    async with Stage(reason).run_test(size=(60, 1)):
        reason.ask("WHY")
        reason.paste(HOSTILE[name])
        for key in ("home", "end", "left"):
            reason.take(key, None)
            strip = reason.render_line(0)
            shown = "".join(segment.text for segment in strip)
            assert harmless(shown)
            assert cells(shown) == 60
