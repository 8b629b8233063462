# SPDX-License-Identifier: Apache-2.0
"""The palette, looking for a text, the pager, the mouse: what every screen has."""

from __future__ import annotations

import ast
from contextlib import nullcontext

import pytest

from deja_tui.console import outside
from deja_tui.console.actions import ACTIONS, SCOPES
from deja_tui.present.line import plain
from deja_tui.screens.detail import DetailScreen
from deja_tui.screens.palette import PaletteScreen, candidates
from deja_tui.screens.queue import QueueScreen
from deja_tui.screens.walker import WalkerScreen
from tests.present.hostile import HOSTILE
from tests.screens.test_hostile import sane
from tests.screens.user import console, reader
from tests.support import ROOT


@pytest.mark.parametrize("keys", [(), ("1",), ("4",), ("5",), ("enter",), ("w",), ("?",)])
async def test_it_lists_every_action_of_the_state(keys: tuple[str, ...]) -> None:
    """From the one table, by title, name and key; Esc leaves everything as it was."""
    async with console() as user:
        await user.press(*keys)
        below, before = user.screen, user.rows
        await user.press(":")
        assert isinstance(user.screen, PaletteScreen)
        here = {action.id for action in ACTIONS if below.scope in action.scopes}
        assert {action.id for action in user.screen.found} == here - {"app.palette"}
        sane(user)
        await user.press("escape")
        assert user.rows == before


async def test_words_find_an_action_and_enter_does_it() -> None:
    """Every word counts; the decision is the same flow as by its key."""
    async with console() as user:
        await user.press(":", *"pprov beca")
        assert "approve, asks BECAUSE" in user.marked()
        await user.press("enter")
        assert isinstance(user.screen, WalkerScreen)
        assert any(row.startswith("APPROVE BECAUSE>") for row in user.rows)
        await user.press("escape", "q", ":", *"zzz")
        assert "No action is called «zzz»" in user.text
        await user.press("enter", "ctrl+u", "down", "pagedown", "up", "pageup")
        assert isinstance(user.screen, PaletteScreen)


async def test_what_is_off_says_why_and_stays() -> None:
    """The right, or the state of the recommendation; nothing is done."""
    async with console(rights=reader(), size=(120, 40)) as user:
        await user.press(":", *"queue.reject")
        assert "off: this console is READ-ONLY" in user.text
        await user.press("enter")
        assert isinstance(user.screen, PaletteScreen)
        assert "READ-ONLY" in user.flash
    async with console(size=(120, 40)) as user:
        await user.press(":", *"queue.rollback", "enter")
        assert "only an applied recommendation can be rolled back" in user.flash


async def test_hostile_words_stay_text() -> None:
    """Pasted into the palette and into a search."""
    async with console() as user:
        for bad in list(HOSTILE.values())[:4]:
            await user.press(":")
            await user.paste(bad)
            sane(user)
            await user.press("escape", "1", "/")
            await user.paste(bad)
            sane(user)
            await user.press("enter")
            sane(user)
            await user.press("3")


@pytest.mark.parametrize(
    "at,word", [("overview", "fires"), ("analyzers", "sweep"), ("queue/01eba48c", "rate")]
)
async def test_a_text_is_found_in_lists_and_pages(at: str, word: str) -> None:
    """/ types it, Enter goes to the first, n and N to the next and the one before, round the end."""
    async with console(at=at) as user:
        await user.press("n")
        assert "looks for a text first" in user.flash
        await user.press("/", *word)
        assert any(row.startswith(f"Find> {word}") for row in user.rows)
        await user.press("enter")
        first = user.flash
        assert first.startswith("match 1 of ")
        count = int(first.split()[-1])
        assert count > 1
        await user.press("n")
        assert user.flash == f"match 2 of {count}"
        await user.press("N", "N")
        assert user.flash == f"match {count} of {count}"
        await user.press("n")
        assert user.flash == first
        await user.press("/", "ctrl+u", *"nothing like it", "enter")
        assert user.flash == "«nothing like it» is not here"
        await user.press("/", "escape")
        assert not user.screen.seeking


async def test_the_found_line_is_on_the_screen_and_marked() -> None:
    """Also one far below."""
    async with console(at="queue/01eba48c", size=(60, 20)) as user:
        await user.press("/", *"confidence ", "enter", "n")
        pager = user.screen.pager
        assert pager.marked is not None
        assert "confidence" in plain(pager.lines[pager.marked])
        assert pager.top <= pager.marked < pager.top + pager.size.height


async def test_v_hands_the_whole_text_to_the_pager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cleaned, without marks, to its end; where a terminal cannot be given away, it says so."""
    handed: list[list[str]] = []
    monkeypatch.setattr("deja_tui.screens.base.page", handed.append)
    async with console(at="queue/01eba48c") as user:
        await user.press("v")
        assert "cannot be given away" in user.flash
        monkeypatch.setattr(user.app, "suspend", nullcontext)
        await user.press("v")
        assert any("confidence" in row for row in handed[0])
        assert len(handed[0]) >= len(user.screen.pager.lines)
        await user.press("1", "v")
        assert any(row.startswith("tool_failure") for row in handed[1])

        def broken(lines: list[str]) -> None:
            outside.pager_command({"PAGER": "'"})

        monkeypatch.setattr("deja_tui.screens.base.page", broken)
        await user.press("v")
        assert user.flash.startswith("CON-E004 PAGER is no command line")


async def test_a_copy_stands_on_a_row_of_its_own_and_again_as_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "sent to the terminal", never "copied"; the second time it is printed whole."""
    printed: list[str] = []
    monkeypatch.setattr("deja_tui.screens.base.one_line", printed.append)
    async with console() as user:
        monkeypatch.setattr(user.app, "suspend", nullcontext)
        await user.press("y")
        address = user.reviews.queue()[0].address
        at = next(place for place, row in enumerate(user.rows) if "sent to the terminal:" in row)
        assert user.rows[at + 1] == address
        assert "copied" not in user.flash
        assert not printed
        await user.press("y")
        assert printed == [address]
        await user.press("j", "k", "y")
        assert printed == [address]
        user.screen.copy("x" * 20_000, "CAL")
        assert "too long for the terminal's clipboard" in user.flash


async def test_m_asks_the_driver_for_the_mouse() -> None:
    """On and off again; a driver without one says so."""
    async with console() as user:
        await user.press("M")
        assert "no mouse to switch" in user.flash
        switched: list[bool] = []
        user.app._driver.switch_mouse = switched.append
        await user.press("M", "M")
        assert switched == [True, False]
        assert user.flash == "mouse off: the terminal selects text"


async def test_each_state_can_be_searched_for_its_actions() -> None:
    """No state is without them, also where it has no recommendation."""
    async with console() as user:
        screen = user.screen
        assert isinstance(screen, QueueScreen)
        for scope in SCOPES:
            screen.scope = scope
            assert candidates(screen, "")
            assert candidates(screen, "no such words") == []
        screen.scope = "queue"
        await user.press("enter")
        assert isinstance(user.screen, DetailScreen)


@pytest.mark.parametrize("room", ["widgets", "screens", "console"])
def test_nothing_moves_blinks_or_tints(room: str) -> None:
    """No animation, blink, spinner, toast or tinted modal: they cost bytes while nothing happens."""
    names = {"animate", "ModalScreen", "LoadingIndicator", "notify", "Toast", "Spinner", "set_interval"}
    styles = ("tint:", "opacity:", "transition:", "blink", "%;")
    for path in sorted((ROOT / "deja_tui" / room).glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        used |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        # the app asks each second whether the file changed, and draws nothing by it
        allowed = {"set_interval"} if path.name == "app.py" else set()
        assert not used & names - allowed, path
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and any(
                getattr(one, "id", "") in ("CSS", "DEFAULT_CSS") for one in node.targets
            ):
                assert not any(style in ast.unparse(node.value) for style in styles), path


async def test_the_mouse_selects_a_row_and_the_wheel_moves() -> None:
    """It opens and decides nothing; a page scrolls, and what was seen of a change counts."""
    async with console() as user:
        await user.pilot.click("#list", offset=(3, 1))
        await user.settle()
        assert "2/3" in user.title
        assert isinstance(user.screen, QueueScreen)
        await user.pilot.click("#list", offset=(3, 2))
        user.screen.listing.on_mouse_scroll_up()
        await user.settle()
        assert "1/3" in user.title
        user.screen.listing.on_mouse_scroll_down()
        await user.settle()
        assert "3/3" in user.title
        await user.press("w")
        pager = user.screen.pager
        pager.on_mouse_scroll_down()
        assert pager.top == 3
        pager.on_mouse_scroll_up()
        assert pager.top == 0


async def test_what_is_typed_survives_another_size() -> None:
    """In the palette and in a search, also through a window too small to draw in."""
    async with console() as user:
        await user.press(":", *"trail")
        await user.resize(50, 10)
        assert "needs 60x20" in user.text
        await user.resize(120, 40)
        assert any(row.startswith("Action> trail") for row in user.rows)
        await user.press("escape", "1", "/", *"fires")
        await user.resize(50, 10)
        await user.resize(80, 24)
        assert any(row.startswith("Find> fires") for row in user.rows)
        await user.press("enter")
        assert user.flash.startswith("match 1")
