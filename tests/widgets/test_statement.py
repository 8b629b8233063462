# SPDX-License-Identifier: Apache-2.0
"""The editor of statements."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deja_tui.present.line import line
from deja_tui.text import cells
from deja_tui.widgets.reason import Edited
from deja_tui.widgets.statement import MOST, Statement, insert, press
from tests.present.hostile import HOSTILE, harmless
from tests.widgets.stage import Stage


def plain(text: str) -> tuple[tuple[str, str], ...]:
    return (("", text),)


def edited(marked: str) -> Edited:
    """``on|e``: the text with the caret at the bar."""
    before, _, after = marked.partition("|")
    return Edited(before + after, len(before))


@pytest.mark.parametrize(
    "before,key,after",
    [
        ("ab|c", "left", "a|bc"),
        ("ab|c", "backspace", "a|c"),
        ("ab|c", "ctrl+o", "ab\n|c"),
        ("one\ntw|o", "home", "one\n|two"),
        ("o|ne\ntwo", "end", "one|\ntwo"),
        ("one\ntw|o", "ctrl+u", "one\n|o"),
        ("o|ne\ntwo", "ctrl+k", "o|\ntwo"),
        ("one\ntwo three|", "ctrl+w", "one\ntwo |"),
        ("one\ntwo|", "ctrl+w", "one\n|"),
        ("one\nt|wo", "up", "o|ne\ntwo"),
        ("one\n\nt|wo", "up", "one\n|\ntwo"),
        ("on|e\nt", "down", "one\nt|"),
        ("one\nlonger|", "up", "one|\nlonger"),
    ],
)
def test_editing_keys(before: str, key: str, after: str) -> None:
    """Each key does the usual thing, inside its line."""
    assert press(edited(before), key) == edited(after)


@pytest.mark.parametrize("text,key", [("a|", "up"), ("a|", "down"), ("a|", "enter"), ("a|", "tab")])
def test_other_keys_are_not_taken(text: str, key: str) -> None:
    """At the first and the last line the screen goes through what was typed before; Enter and Tab are its own."""
    assert press(edited(text), key) is None


def test_pasted_text_keeps_its_lines() -> None:
    """Line ends of every kind are line ends, tabs blanks; controls and halves of characters are dropped."""
    found = insert(Edited(), "a\r\nb\rc\td\x1b[31m\x00\ud83de\u0301日")
    assert found.text == "a\nb\nc d[31me\u0301日"
    assert len(insert(found, "x" * 100_000).text) == MOST


async def test_it_is_one_row_that_grows_and_shows_the_caret() -> None:
    """Long lines are broken, at most six rows are taken, and the caret is always on one of them."""
    editor = Statement(plain, hint=line("i types a statement"))
    async with Stage(editor).run_test(size=(20, 12)) as pilot:
        assert pilot.app.rows()[0] == "CAL> i types a stat…"
        editor.begin()
        editor.put("RECALL facts LIMIT 1")
        await pilot.pause()
        assert pilot.app.rows() == ["CAL> RECALL facts L", "     IMIT 1"]
        assert tuple(pilot.app.cursor_position) == (11, 1)
        for _ in range(8):
            editor.take("ctrl+o", None)
        await pilot.pause()
        assert editor.size.height == 6
        assert editor.top == 4
        editor.take("x", "x")
        assert pilot.app.rows()[-1] == "     x"
        for _ in range(9):
            editor.take("up", None)
        assert editor.top == 0 or pilot.app.rows()[0].startswith("CAL>")
        assert not editor.take("enter", None)
        editor.put("")
        editor.end()
        await pilot.pause()
        assert editor.size.height == 1


@settings(max_examples=60)
@given(st.text(alphabet=st.sampled_from("ab \n日é\u0301\u202e"), max_size=60), st.integers(0, 60))
def test_every_row_fits_and_the_caret_is_on_one(text: str, caret: int) -> None:
    """Whatever is typed, wherever the caret stands."""
    editor = Statement(plain)
    kept = insert(Edited(), text).text
    editor.edited = Edited(kept, min(caret, len(kept)))
    rows = editor.rows
    for _, units in rows:
        assert sum(unit.size for unit in units) <= editor.room
        assert all(harmless(unit.shown) for unit in units)
    number, place = editor.caret_at(rows)
    begins, units = rows[number]
    assert place <= len(units)
    if place < len(units):
        assert begins + units[place].start <= editor.edited.caret < begins + units[place].end
    else:
        assert editor.edited.caret == begins + (units[-1].end if units else 0)


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_text_in_the_rows(name: str) -> None:
    """Pasted, shown, harmless, exactly as wide as the window."""
    editor = Statement(plain)
    async with Stage(editor).run_test(size=(60, 8)) as pilot:
        editor.begin()
        editor.paste(HOSTILE[name])
        await pilot.pause()
        for y in range(editor.size.height):
            shown = "".join(segment.text for segment in editor.render_line(y))
            assert harmless(shown)
            assert cells(shown) == 60
