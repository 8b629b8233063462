# SPDX-License-Identifier: Apache-2.0
"""Walks through the console by keys drawn at random: after each, a terminal that is sent differences shows what one that
is sent whole frames shows. Places and keys are those of the table, so a new screen is walked without being named here."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyte
import pytest
from textual import constants
from textual.drivers.headless_driver import HeadlessDriver

from deja_tui.capture.demo import seed
from deja_tui.console.actions import ACTIONS
from deja_tui.console.driver import Canvas
from deja_tui.facade import Memory
from deja_tui.screens.base import DejaScreen
from tests.screens.user import Hand, User, make_app
from tests.support import NOW

# These leave the console.
LEAVING = ("app.quit", "app.suspend")
KEYS = sorted({key for action in ACTIONS if action.id not in LEAVING for key in action.keys})
PLACES = sorted({key for action in ACTIONS if action.id.startswith("go.") for key in action.keys})
SIZES = ((80, 24), (120, 40))
# What Textual sends for, and a theme that is drawn in it.
COLOURS = (("truecolor", "dark"), ("256", "light"), ("standard", "ansi-dark"), (None, "mono"))
STEPS, MANY = 15, 60


class Erasing(pyte.Screen):
    """Clears every cell in the background that is set, also those that were never written."""

    def erase_in_display(self, how: int = 0, *args: Any, **options: Any) -> None:
        super().erase_in_display(how, *args, **options)
        for y in range(self.lines) if how == 2 else ():
            for x in range(self.columns):
                self.buffer[y][x] = self.cursor.attrs


class Shown:
    """An independent model of a terminal that is sent everything."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.screen = Erasing(*size)
        self.screen.reset_mode(pyte.modes.DECAWM)
        self.stream = pyte.Stream(self.screen)

    def row(self, y: int) -> list[tuple[object, ...]]:
        """What a person sees of a row: of a blank only its background, its underline and the like."""
        return [_seen(self.screen.buffer[y][x]) for x in range(self.screen.columns)]


def _seen(char: pyte.screens.Char) -> tuple[object, ...]:
    shows = (char.underscore, char.strikethrough, char.reverse)
    if char.data == " " and not any(shows):
        return (" ", char.bg)
    return (char.data, char.fg, char.bg, char.bold, char.italics, *shows)


class TwoTerminals(HeadlessDriver):
    """Sends what Textual writes to one terminal as it is, to the other as differences."""

    stock: Shown
    ours: Shown
    canvas: Canvas

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        self.stock.stream.feed(data)
        self.ours.stream.feed(self.canvas.frame(data, sync=True))

    def differing(self) -> list[int]:
        """The rows that do not show the same, among those that were written since this was asked last."""
        written = self.stock.screen.dirty | self.ours.screen.dirty
        self.stock.screen.dirty.clear()
        self.ours.screen.dirty.clear()
        return [y for y in sorted(written) if self.ours.row(y) != self.stock.row(y)]


def terminals(size: tuple[int, int]) -> type[TwoTerminals]:
    parts = {"stock": Shown(size), "ours": Shown(size), "canvas": Canvas(*size, bce=True)}
    return type("Both", (TwoTerminals,), parts)


def shown(both: type[TwoTerminals], rows: list[int]) -> list[tuple[str, str]]:
    return [(both.ours.screen.display[y], both.stock.screen.display[y]) for y in rows]


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with something to show in every place."""
    path = tmp_path_factory.mktemp("walks") / "demo.deja"
    seed(path, NOW)
    return path


@pytest.fixture
def memory(seeded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setattr(DejaScreen, "outside", lambda screen, work: None)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    shutil.copy(seeded, tmp_path / "demo.deja")
    with Memory.open(tmp_path / "demo.deja", clock=lambda: NOW) as opened:
        yield opened


async def walk(memory: Memory, size: tuple[int, int], theme: str, start: int, steps: int = STEPS) -> None:
    """Press ``steps`` keys; a place after every fifth, so that all of them are come to."""
    drawn, hand, both = random.Random(start), Hand(), terminals(size)
    app = make_app(memory.loop, hand, theme=theme, driver=both, file_of=memory, grains=memory)
    pressed: list[str] = []

    async def walking(pilot: Any) -> None:
        user = User(app, pilot, memory.loop, hand)
        await user.settle()
        for step in range(steps):
            pressed.append(drawn.choice(PLACES if step % 5 == 4 else KEYS))
            await user.press(pressed[-1])
            differing = app._driver.differing()
            assert differing == [], f"start {start}, after {' '.join(pressed)}: {shown(both, differing)}"
        app.exit()

    await app.run_async(size=size, mouse=False, auto_pilot=walking)
    assert len(pressed) == steps, f"the console ended after {' '.join(pressed)}"


@pytest.mark.parametrize(("colours", "size"), [*zip(COLOURS, SIZES * 2, strict=True)])
async def test_differences_show_what_whole_frames_show(
    colours: tuple[str | None, str],
    size: tuple[int, int],
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DRIVER-1: in every number of colours, after every key of a walk."""
    monkeypatch.setattr(constants, "COLOR_SYSTEM", colours[0])
    await walk(memory, size, colours[1], len(colours[1]))


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("colours", COLOURS)
@pytest.mark.parametrize("start", range(100, 112))
async def test_many_walks(
    start: int,
    colours: tuple[str | None, str],
    size: tuple[int, int],
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DRIVER-1: the same at both sizes in every number of colours, many times."""
    monkeypatch.setattr(constants, "COLOR_SYSTEM", colours[0])
    await walk(memory, size, colours[1], start, MANY)
