# SPDX-License-Identifier: Apache-2.0
"""Keys: defaults, a person's own map, clashes."""

from __future__ import annotations

from pathlib import Path

import pytest

from deja_tui.console import keymap
from deja_tui.console.actions import ACTIONS
from deja_tui.console.keymap import Keymap, key_name, label
from deja_tui.errors import DejaError
from deja_tui.screens.walker import WalkerScreen
from tests.screens.user import console


def test_the_defaults_do_not_clash() -> None:
    """Every state can be bound."""
    assert Keymap().find("queue", "a").id == "queue.approve"
    assert Keymap().find("help", "a") is None


def test_no_default_needs_a_key_that_terminals_take() -> None:
    """Flow control, multiplexer prefixes, aliases of Enter, Tab and Backspace."""
    keys = {key for action in ACTIONS for key in action.keys}
    assert not keys & {f"ctrl+{letter}" for letter in "sqabhijm"}


def test_the_table_of_keys_is_kept() -> None:
    """The keys people know, by state."""
    expected = {
        "queue": "enter l w a x p u d e t / f o h j k g G ] [ y C r T ? q",
        "detail": "enter a x p u d e t h j k g G ] [ y C r T ? q",
        "walker": "a x s d e t enter h j k g G ] [ y C T ? q",
        "receipt": "enter p u h T ? q",
        "summary": "enter T ? q",
    }
    for scope, keys in expected.items():
        assert [key for key in keys.split() if Keymap().find(scope, key) is None] == []


def test_key_names() -> None:
    """The character where it prints, else the terminal's name."""
    assert key_name("question_mark", "?") == "?"
    assert key_name("slash", None) == "/"
    assert key_name("G", "G") == "G"
    assert key_name("space", " ") == "space"
    assert key_name("enter", "\r") == "enter"
    assert [label(key) for key in ("ctrl+d", "enter", "a", "pagedown")] == ["^d", "Enter", "a", "PgDn"]


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "keymap.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_changes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    """Dotted keys and tables are the same thing."""
    found = keymap.load(written(tmp_path, 'queue.approve = ["A", "+"]\n[app]\nhelp = ["K"]\n'))
    assert found.find("queue", "A").id == "queue.approve"
    assert found.find("detail", "+").id == "queue.approve"
    assert found.find("queue", "a") is None
    assert found.find("queue", "K").id == "app.help"
    assert found.find("queue", "x").id == "queue.reject"


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    """Nothing is written, nothing is needed."""
    assert keymap.load(tmp_path / "none.toml").given == Keymap().given


@pytest.mark.parametrize(
    "text,said",
    [
        ('queue.approve = ["x"]', "queue.approve and queue.reject are both on x"),
        ('queue.aprove = ["x"]', "there is no action queue.aprove"),
        ('queue.approve = "x"', "queue.approve is not a list of keys"),
        ("queue.approve = [1]", "queue.approve is not a list of keys"),
        ('queue.approve = ["ctrl+s"]', "ctrl+s cannot be a key: terminals take it"),
        ("queue.approve = [", "it is no TOML"),
        ('"[@click=x]" = ["x"]', "there is no action [@click=x]"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name(tmp_path: Path, text: str, said: str) -> None:
    """CON-E002, the file, what is wrong, and what to do; a clash names both ids."""
    with pytest.raises(DejaError) as caught:
        keymap.load(written(tmp_path, text))
    assert caught.value.code == "CON-E002"
    assert caught.value.message.startswith("keymap.toml: ")
    assert said in caught.value.message
    assert caught.value.next_step


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A folder in its place, or bytes that are no text."""
    with pytest.raises(DejaError, match="cannot be read"):
        keymap.load(tmp_path)
    path = tmp_path / "keymap.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DejaError, match="cannot be read"):
        keymap.load(path)


async def test_a_changed_key_works_is_hinted_and_stands_in_help() -> None:
    """One table feeds them all."""
    async with console(keymap=Keymap({"queue.approve": ["+"], "app.help": ["K"]})) as user:
        assert "+ approve" in user.hints
        assert "K help" in user.hints
        await user.press("a")
        assert not isinstance(user.screen, WalkerScreen)
        await user.press("K")
        assert " +                  approve, asks BECAUSE" in user.rows
        await user.press("h", "+")
        assert isinstance(user.screen, WalkerScreen)


async def test_an_action_without_a_key_is_not_hinted() -> None:
    """An empty list takes the key away."""
    async with console(keymap=Keymap({"queue.walk": []})) as user:
        assert "walk" not in user.hints
        await user.press("?")
        assert any(row.startswith(" no key             walk through") for row in user.rows)
