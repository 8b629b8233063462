# SPDX-License-Identifier: Apache-2.0
"""Pastes in a stream of terminal input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser

from deja_tui.console.pasting import BEGIN, END, Pasting


@pytest.mark.parametrize(
    "read,tamed",
    [
        ("ab\x1b", "ab\x1b"),
        ("\x1b[A\x1b[200", "\x1b[A\x1b[200"),
        (f"a{BEGIN}AAA\x1b[31mBBB{END}b", f"a{BEGIN}AAA[31mBBB{END}b"),
        (f"{BEGIN}\x1b\x1b[201\x1b{END}\x1b", f"{BEGIN}[201{END}\x1b"),
        (f"\x1b{BEGIN}{BEGIN}x{END}{END}", f"\x1b{BEGIN}[200~x{END}{END}"),
    ],
)
def test_escapes_go_only_where_text_is_pasted(read: str, tamed: str) -> None:
    """Keys keep theirs, the markers too; whatever the reads are cut into, the result is the same."""
    assert Pasting().tame(read) == tamed
    pasting = Pasting()
    assert "".join(pasting.tame(char) for char in read) == tamed


@given(st.text(alphabet=st.sampled_from("ab\x1b[2013~m"), max_size=60))
def test_a_paste_arrives_as_one_text_in_its_order(pasted: str) -> None:
    """Through the parser of the terminal: one paste, nothing before or behind it, nothing else missing."""
    pasted = pasted.replace(END, "")
    found = list(XTermParser().feed(Pasting().tame(f"{BEGIN}{pasted}{END}")))
    if END in pasted:
        return
    assert [type(event) for event in found] == [events.Paste]
    assert found[0].text == pasted.replace("\x1b", "")


def test_what_is_typed_around_a_paste_stays_around_it() -> None:
    """A letter, a paste with a colour code in it, a letter."""
    found = list(XTermParser().feed(Pasting().tame(f"x{BEGIN}AAA\x1b[31mBBB{END}y")))
    assert [getattr(event, "text", None) or event.key for event in found] == ["x", "AAA[31mBBB", "y"]
