# SPDX-License-Identifier: Apache-2.0
"""Three hints, each once."""

from __future__ import annotations

from pathlib import Path

from deja_tui.console.actions import BY_ID, SCOPES
from deja_tui.console.hinting import HINTS, Hintbook
from tests.screens.user import console, reader


def test_each_hint_is_given_once_for_good(tmp_path: Path) -> None:
    """Also to the next console of this person."""
    path = tmp_path / "state" / "hints"
    book = Hintbook(path)
    assert len(HINTS) == 3
    assert set(HINTS) <= set(SCOPES)
    assert book.take("queue")
    assert not book.take("queue")
    assert not book.take("help")
    assert not Hintbook(path).take("queue")
    assert Hintbook(path).take("detail")


def test_without_a_place_to_keep_it_nothing_is_said(tmp_path: Path) -> None:
    """It would come back each time."""
    assert not Hintbook(None).take("queue")
    (tmp_path / "file").write_text("")
    assert not Hintbook(tmp_path / "file" / "hints").take("queue")
    (tmp_path / "folder").mkdir()
    assert not Hintbook(tmp_path / "folder").take("queue")


def test_every_key_in_a_hint_is_that_of_an_action() -> None:
    """A changed key map changes the hint."""
    for text in HINTS.values():
        names = [part.split("}")[0] for part in text.split("{")[1:]]
        assert names
        assert set(names) <= set(BY_ID)


async def test_the_first_time_says_it_in_one_row_the_second_nothing(tmp_path: Path) -> None:
    """With the keys in force."""
    path = tmp_path / "hints"
    async with console(hintbook=Hintbook(path), size=(120, 40)) as user:
        assert user.flash.startswith("w walks what waits, one by one; ? lists the keys here")
        await user.press("enter")
        assert user.flash.startswith("] and [ go from part to part; a and x decide")
        await user.press("h", "enter")
        assert user.flash == ""
    async with console(hintbook=Hintbook(path), rights=reader()) as user:
        assert user.flash == ""
