# SPDX-License-Identifier: Apache-2.0
"""Walks through the console by keys drawn at random: after each, a terminal that is sent differences shows what one that
is sent whole frames shows, cells and cursor. Places and keys are those of the table, so a new screen is walked without
being named here. The long walks begin in a state that is kept as a picture, type and paste, and change the window's size."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Awaitable, Callable, Iterator
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
from deja_tui.screens.app import DejaApp
from deja_tui.screens.base import DejaScreen
from tests.screens.cases import CASES, Case, play
from tests.screens.user import Hand, User, make_app
from tests.support import NOW

# These leave the console.
LEAVING = ("app.quit", "app.suspend")
KEYS = sorted({key for action in ACTIONS if action.id not in LEAVING for key in action.keys})
PLACES = sorted({key for action in ACTIONS if action.id.startswith("go.") for key in action.keys})
SIZES = ((80, 24), (120, 40))
# What Textual sends for, and a theme that is drawn in it.
COLOURS = (("truecolor", "dark"), ("256", "light"), ("standard", "ansi-dark"), (None, "mono"))
STEPS, MANY = 15, 30
# What is typed into whatever takes text: wide and joined characters among it.
TYPED = ("seen twice", "pay 日本 ok", "e\u0301 n\u0303", "x\u202e\u200b")
WINDOWS = ((80, 24), (120, 40), (60, 20), (52, 18), (110, 24), (81, 30))


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

    def cursor(self) -> tuple[int, int, bool]:
        cursor = self.screen.cursor
        return (min(cursor.x, self.screen.columns - 1), cursor.y, cursor.hidden)

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

    @classmethod
    def resize(cls, columns: int, lines: int) -> None:
        """The window changes: both terminals keep what fits, the program is told."""
        for one in (cls.stock, cls.ours):
            one.screen.resize(lines, columns)
            one.screen.dirty.update(range(lines))
        cls.canvas.resize(columns, lines)

    def differing(self) -> list[int]:
        """The rows that do not show the same, among those that were written since this was asked last; -1: the cursor."""
        written = self.stock.screen.dirty | self.ours.screen.dirty
        self.stock.screen.dirty.clear()
        self.ours.screen.dirty.clear()
        unlike = [y for y in sorted(written) if self.ours.row(y) != self.stock.row(y)]
        return unlike if self.ours.cursor() == self.stock.cursor() else [-1, *unlike]


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


async def walked(app: DejaApp, user: User, both: type[TwoTerminals], drawn: random.Random, steps: int) -> str:
    """Press ``steps`` keys, each followed by a look at both terminals; a place after every fifth, so that all are come to."""
    pressed: list[str] = []
    await user.settle()
    for step in range(steps):
        pressed.append(drawn.choice(PLACES if step % 5 == 4 else KEYS))
        await user.press(pressed[-1])
        alike(app, both, pressed)
    return " ".join(pressed)


def alike(app: DejaApp, both: type[TwoTerminals], done: list[str]) -> None:
    differing = app._driver.differing()
    assert differing == [], f"after {' '.join(done)}: {shown(both, differing)}"


async def within(app: DejaApp, size: tuple[int, int], doing: Callable[[Any], Awaitable[object]]) -> None:
    """Run the console on both terminals, ``doing`` something; it has to come to its end."""
    ended: list[object] = []

    async def walking(pilot: Any) -> None:
        ended.append(await doing(pilot))
        app.exit()

    await app.run_async(size=size, mouse=False, auto_pilot=walking)
    assert ended, "the console ended by itself"


@pytest.mark.parametrize(("colours", "size"), [*zip(COLOURS, SIZES * 2, strict=True)])
async def test_differences_show_what_whole_frames_show(
    colours: tuple[str | None, str],
    size: tuple[int, int],
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DRIVER-1: in every number of colours, after every key of a walk."""
    monkeypatch.setattr(constants, "COLOR_SYSTEM", colours[0])
    hand, both, drawn = Hand(), terminals(size), random.Random(len(colours[1]))
    app = make_app(memory.loop, hand, theme=colours[1], driver=both, file_of=memory, grains=memory)
    await within(
        app, size, lambda pilot: walked(app, User(app, pilot, memory.loop, hand), both, drawn, STEPS)
    )


async def strayed(
    app: DejaApp, user: User, both: type[TwoTerminals], case: Case, drawn: random.Random
) -> None:
    """Go to a state, then anywhere: keys, text, pasted text, other sizes of the window."""
    await user.settle()
    await play(user, case)
    done = ["at the state"]
    alike(app, both, done)
    for _ in range(MANY):
        kind = drawn.random()
        if kind < 0.80:
            done.append(drawn.choice(KEYS))
            await user.press(done[-1])
        elif kind < 0.94:
            done.append(drawn.choice(TYPED))
            await (user.type if kind < 0.88 else user.paste)(done[-1])
        else:
            window = drawn.choice(WINDOWS)
            done.append("{}x{}".format(*window))
            both.resize(*window)
            await user.resize(*window)
        alike(app, both, done)


# Every combination of colours and size is walked from every state.
COMBINATIONS = [(colours, size) for colours in COLOURS for size in SIZES]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("combination", range(len(COMBINATIONS)))
async def test_many_walks(
    combination: int, name: str, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DRIVER-1: from every state, at both sizes, in every number of colours; ``DEJA_WALK_SEED`` goes other ways."""
    (colours, theme), size = COMBINATIONS[combination]
    monkeypatch.setattr(constants, "COLOR_SYSTEM", colours)
    case, hand, both = CASES[name], Hand(), terminals(size)
    reviews = case.before()
    # What a state made of plain objects lacks the demo's memory has: every place can be come to.
    lent = {"grains": memory} if hasattr(reviews, "cal") else {"grains": memory, "file_of": memory}
    app = make_app(reviews, hand, **{"theme": theme, **lent, **case.options, "driver": both})
    drawn = random.Random(f"{os.environ.get('DEJA_WALK_SEED', '')} {combination} {name}")
    await within(app, size, lambda pilot: strayed(app, User(app, pilot, reviews, hand), both, case, drawn))
