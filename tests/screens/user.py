# SPDX-License-Identifier: Apache-2.0
"""A person at the console: presses keys, types, reads what is on the screen. No waiting, a clock of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from textual import events
from textual.keys import _character_to_key

from deja_tui.console.actions import Rights
from deja_tui.screens.app import DejaApp
from deja_tui.screens.base import DejaScreen, Ticks
from tests.screens.fake import FakeReviews
from tests.support import NOW

FILE = "/home/ana/agent.db"


class Hand:
    """The time keys arrive. It only moves when the person presses something."""

    def __init__(self) -> None:
        self.now = 100.0

    def ticks(self) -> Ticks:
        return Ticks(lambda: self.now, lambda event: self.now)


def make_app(reviews: FakeReviews | None = None, hand: Hand | None = None, **options: Any) -> DejaApp:
    """A console on a fake memory with a fixed clock, no polling and the dark theme."""
    given: dict[str, Any] = {
        "file": FILE,
        "now_ms": lambda: NOW,
        "poll_seconds": 0,
        "fill_seconds": 0,
        "theme": "dark",
        **options,
    }
    for late in ("grains", "at"):
        if callable(given.get(late)):
            given[late] = given[late]()
    memory = reviews or FakeReviews()
    given.setdefault("file_of", memory)
    return DejaApp(memory, ticks=(hand or Hand()).ticks(), **given)


async def settle(app: DejaApp, pilot: Any) -> None:
    """Until every question is answered and everything is drawn."""
    calm = 0
    for _ in range(50):
        await app.workers.wait_for_complete()
        await pilot.pause(0)
        busy = any(not worker.is_finished for worker in app.workers)
        unpainted = getattr(app.screen, "painted", 0) is None
        calm = 0 if busy or unpainted else calm + 1
        if calm == 2:
            return


def key_event(key: str) -> events.Key:
    """What a terminal would send for a character or a named key."""
    single = len(key) == 1
    name = _character_to_key(key) if single and not key.isalnum() else key
    return events.Key("space" if key == " " else name, key if single else None)


class User:
    """What a test speaks to."""

    def __init__(self, app: DejaApp, pilot: Any, reviews: FakeReviews, hand: Hand) -> None:
        self.app, self.pilot, self.reviews, self.hand = app, pilot, reviews, hand

    async def press(self, *keys: str, after: float = 1.0) -> None:
        """Press keys, one after the other, ``after`` seconds apart; everything settles between them."""
        for key in keys:
            self.hand.now += after
            self.app.post_message(key_event(key))
            await self.settle()

    async def burst(self, *keys: str, after: float = 1.0) -> None:
        """Press keys in one write, without looking up: nothing settles between them."""
        self.hand.now += after
        for key in keys:
            self.app.post_message(key_event(key))
        await self.settle()

    async def type(self, text: str) -> None:
        """Type text, letter by letter."""
        await self.press(*text)

    async def paste(self, text: str) -> None:
        self.hand.now += 1
        self.app.post_message(events.Paste(text))
        await self.settle()

    async def resize(self, width: int, height: int) -> None:
        await self.pilot.resize_terminal(width, height)
        await self.settle()

    async def settle(self) -> None:
        await settle(self.app, self.pilot)

    # --- reading ------------------------------------------------------------------------------------

    @property
    def screen(self) -> DejaScreen:
        assert isinstance(self.app.screen, DejaScreen)
        return self.app.screen

    @property
    def rows(self) -> list[str]:
        """The rows of the window, without trailing blanks."""
        return [row.rstrip() for row in self.raw_rows]

    @property
    def raw_rows(self) -> list[str]:
        """The rows of the window, as wide as they are."""
        strips = self.app.screen._compositor.render_strips(self.app.size)
        return ["".join(segment.text for segment in strip) for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    @property
    def title(self) -> str:
        return self.rows[0]

    @property
    def hints(self) -> str:
        return self.rows[-1]

    @property
    def flash(self) -> str:
        return self.screen.flash.text

    def marked(self) -> str:
        """The selected row of the list."""
        return next((row for row in self.rows if row.startswith("▸")), "")


@asynccontextmanager
async def console(
    reviews: FakeReviews | None = None, size: tuple[int, int] = (80, 24), **options: Any
) -> AsyncIterator[User]:
    """Open the console at a size."""
    memory, hand = reviews or FakeReviews(), Hand()
    app = make_app(memory, hand, **options)
    async with app.run_test(size=size) as pilot:
        user = User(app, pilot, memory, hand)
        await user.settle()
        yield user
    if app.mishaps:  # what the console survives is still a fault
        raise app.mishaps[0]


def review_only() -> Rights:
    return Rights.of(("read", "review"))


def reader() -> Rights:
    return Rights.of(None, read_only=True)


def destroyer() -> Rights:
    return Rights.of(None, allow_destructive=True)
