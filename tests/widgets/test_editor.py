# SPDX-License-Identifier: Apache-2.0
"""The editor of a document: it keeps every character, shows it cleaned, and its window follows the caret."""

from __future__ import annotations

import random

from deja_tui.text import cells
from deja_tui.widgets.editor import Draft, Editor, window
from tests.present.hostile import HOSTILE, harmless
from tests.widgets.stage import Stage

_KEYS = ("enter", "tab", "backspace", "delete", "left", "right", "up", "down", "home", "end", "pageup", "pagedown",
         "ctrl+home", "ctrl+end", "ctrl+u", "ctrl+k", "ctrl+w")  # fmt: skip


def offset(draft: Draft) -> int:
    """The caret in the whole text."""
    return sum(len(one) + 1 for one in draft.lines[: draft.row]) + draft.column


def test_every_key_does_to_the_lines_what_it_does_to_the_text() -> None:
    """Random walks: the caret stays inside, inserting and deleting are those of one string."""
    rng = random.Random(5)
    draft = Draft.of("one two\r\nthree\tfour\n\nfive\u202e \ud83d")
    assert draft.text == "one two\r\nthree\tfour\n\nfive\u202e \ud83d"
    for _ in range(1_500):
        before, at = draft.text, offset(draft)
        key = rng.choice((*_KEYS, "text", "text"))
        typed = rng.choice(("x", "é", "\x00", "a\nb", "\n\n", "日本", " "))
        after = draft.insert(typed) if key == "text" else draft.key(key, 3)
        assert after is not None
        assert 0 <= after.row < len(after.lines)
        assert 0 <= after.column <= len(after.here)
        if key == "text":
            assert (after.text, offset(after)) == (before[:at] + typed + before[at:], at + len(typed))
        elif key == "backspace":
            assert after.text == (before[: at - 1] + before[at:] if at else before)
        elif key == "delete":
            assert after.text == before[:at] + before[at + 1 :]
        elif key in ("enter", "tab"):
            assert after.text == before[:at] + {"enter": "\n", "tab": "\t"}[key] + before[at:]
        elif key in ("left", "right"):
            assert offset(after) == min(max(0, at + (1 if key == "right" else -1)), len(before))
        elif not key.startswith("ctrl+") or key in ("ctrl+home", "ctrl+end"):
            assert after.text == before
        draft = after
    assert Draft().key("f5") is None
    assert Draft.of("one two three").key("end").key("ctrl+w").text == "one two "  # type: ignore[union-attr]
    assert Draft.of("ab\ncd").key("end").key("ctrl+k").text == "abcd"  # type: ignore[union-attr]


async def test_the_window_follows_the_caret_and_every_row_is_as_wide_as_the_widget() -> None:
    """Down to the last line and along a long one; hostile text is shown as escapes, and kept as it is."""
    text = "\n".join(bad[:3_000] for bad in HOSTILE.values())
    editor = Editor()
    async with Stage(editor).run_test(size=(40, 8)) as pilot:
        editor.open(text)
        for key in ("end", "down", *["pagedown"] * 3, "end", "left", "ctrl+end", "ctrl+home"):
            assert editor.take(key, None)
            await pilot.pause(0)
            assert editor.top <= editor.draft.row < editor.top + 8
            for y in range(8):
                row = "".join(segment.text for segment in editor.render_line(y))
                assert cells(row) == 40, ascii(row)
                assert harmless(row)
        assert editor.draft.text == text
        assert not editor.take("f5", None)
        assert editor.take("x", "x")
        editor.paste("a\r\nb\rc")
        assert editor.draft.text == "xa\nb\nc" + text
        editor.open("y" * 999_999)
        editor.paste("zz")
        assert editor.draft.text == "y" * 999_999, "a text that grew too long is not taken"


def test_the_part_of_a_line_around_the_caret() -> None:
    """What is left out at the left is marked; it never takes more cells than there are."""
    assert window("abc", 1, 10) == ("a", "b", "c")
    assert window("", 0, 5) == ("", " ", "")
    for name, text in HOSTILE.items():
        for caret in (0, len(text) // 2, len(text)):
            parts = window(text, caret, 20)
            assert sum(map(cells, parts)) <= 20, name
    assert window("x" * 30, 30, 10)[0].startswith("…")
