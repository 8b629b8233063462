# SPDX-License-Identifier: Apache-2.0
"""Help, and the keys that work everywhere."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from deja_tui.console.actions import ACTIONS
from deja_tui.console.terminal import facts
from deja_tui.present.line import line
from deja_tui.screens.help import HelpScreen
from tests.screens.user import console, reader


@pytest.mark.parametrize(
    "keys,about",
    [((), "Queue"), (("enter",), "Detail"), (("w",), "Walker"), (("w", "s", "s", "s"), "End of a walk")],
)
async def test_help_lists_exactly_the_keys_of_the_state_it_was_opened_from(
    keys: tuple[str, ...], about: str
) -> None:
    """Live from the table: every action that exists there, none that does not."""
    async with console() as user:
        await user.press(*keys)
        scope = user.screen.scope
        await user.press("?")
        assert f"keys of {about}" in user.title
        told = " ".join("".join(span.text for span in line) for line in user.screen.pager.lines)
        text = " ".join(told.split())
        for action in ACTIONS:
            here = scope in action.scopes
            if here:
                assert action.title.split(",")[0] in text, action.id
        assert ("walk through the pending" in text) is (scope in ("queue", "summary"))


@pytest.mark.parametrize("key", ["h", "escape", "left", "q"])
async def test_help_is_left_with_the_keys_that_go_back(key: str) -> None:
    """To the screen it was opened from."""
    async with console() as user:
        before = user.screen
        await user.press("?")
        assert isinstance(user.screen, HelpScreen)
        await user.press(key)
        assert user.screen is before


@pytest.mark.parametrize("down,up", [("j", "k"), ("ctrl+d", "ctrl+u"), ("G", "g"), ("]", "[")])
async def test_help_scrolls(down: str, up: str) -> None:
    """It is a page like any other."""
    async with console() as user:
        await user.press("?", down)
        assert user.screen.pager.top > 0
        await user.press(up)
        assert user.screen.pager.top == 0


async def test_help_names_what_is_off_and_why() -> None:
    """A read-only console says once why, and beside each key which right it needs."""
    async with console(rights=reader(), size=(120, 40)) as user:
        await user.press("?")
        assert " a                  approve, asks BECAUSE (off: needs the right `review`)" in user.rows
        assert " off: this console is READ-ONLY (--read-only, or the file cannot be written)" in user.rows
        lines = ["".join(span.text for span in line) for line in user.screen.pager.lines]
        assert sum("--read-only" in line for line in lines) == 1


async def test_help_tells_what_this_console_is() -> None:
    """Tier, window, terminal, colours, theme and why, mouse, marks, bytes, files."""
    remote = facts({"TERM": "tmux-256color", "SSH_TTY": "x"})
    async with console(terminal=remote, theme="ansi-dark", size=(80, 50)) as user:
        await user.press("?", "G")
        for fact in (
            " terminal           tmux-256color, over SSH, inside tmux",
            " colours            256: TERM says so, COLORTERM nothing",
            " chosen by          SSH: the terminal's own colours cost the fewest bytes",
            " mouse              off: the terminal selects text",
            " one update         no marks inside a multiplexer",
        ):
            assert fact in user.rows
        assert "sent so far" not in user.text, "a test's driver counts nothing"
        user.app._driver.canvas = SimpleNamespace(sent=12_345)
        await user.press("h", "?", "G")
        assert " sent so far        12,345 bytes" in user.rows
    async with console() as user:
        await user.press("?", "G")
        assert " tier               APPLY, acting as user:local" in user.rows
        assert " theme              dark, colours of its own" in user.rows
        while user.app.theme_name != "mono":
            await user.press("T")
        await user.press("G")
        assert " theme              mono, terminal colours" in user.rows
        assert " chosen by          a key, for this console only" in user.rows


EVERYWHERE = [(), ("enter",), ("w",), ("w", "a", "b"), ("/", "d"), ("?",), ("w", "s", "s", "s")]


@pytest.mark.parametrize("keys", EVERYWHERE)
async def test_ctrl_z_suspends_in_every_state_also_while_text_is_typed(
    keys: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As help says: everywhere; what was typed is still there."""
    async with console() as user:
        await user.press(*keys)
        before, asked = user.rows, []
        monkeypatch.setattr(user.app, "action_suspend_process", lambda: asked.append("suspend"))
        await user.press("ctrl+z")
        assert asked == ["suspend"]
        assert user.rows == before


@pytest.mark.parametrize("keys", EVERYWHERE)
async def test_ctrl_l_draws_every_widget_anew(keys: tuple[str, ...]) -> None:
    """Whatever a terminal or a widget lost comes back."""
    async with console() as user:
        await user.press(*keys)
        before = user.rows
        title = user.screen.query_one("#title")
        kept, title.line = title.line, line("lost")
        title.refresh()
        await user.settle()
        assert "lost" in user.title
        title.line = kept
        await user.press("ctrl+l")
        assert user.rows == before


@pytest.mark.parametrize("keys", [(), ("enter",), ("w",), ("w", "a"), ("?",)])
async def test_repaint_and_suspend_change_nothing_on_the_screen(keys: tuple[str, ...]) -> None:
    """Where a terminal cannot suspend, ctrl+z does nothing; an unknown key neither."""
    async with console() as user:
        await user.press(*keys)
        before = user.rows
        await user.press("ctrl+l", "ctrl+z", "f7", "tab", "ctrl+q", "ctrl+p")
        assert user.rows == before
        assert user.app.return_code is None
