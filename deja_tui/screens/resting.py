# SPDX-License-Identifier: Apache-2.0
"""What is drawn beside a list: at once after one step, under a held key only when it rests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from textual.timer import Timer

if TYPE_CHECKING:
    from deja_tui.screens.base import DejaScreen

# Two steps that come faster than this are those of a held key.
HELD_SECONDS: Final = 0.06


class Resting:
    """Draws for a screen what follows its selection.

    Args:
        screen: whose clock and timers are used; nothing is drawn while another screen lies on top of it.
        draw: draws what follows.
    """

    def __init__(self, screen: DejaScreen, draw: Callable[[], None]) -> None:
        self.screen = screen
        self.draw = draw
        self.stepped_at = float("-inf")
        self.timer: Timer | None = None

    def step(self) -> None:
        """Another row is selected."""
        now = self.screen.console_app.ticks.now()
        held, self.stepped_at = now - self.stepped_at < HELD_SECONDS, now
        if self.timer is not None:
            self.timer.stop()
            self.timer = None
        if held:
            self.timer = self.screen.set_timer(HELD_SECONDS, self.rested)
        else:
            self.draw()

    def rested(self) -> None:
        """The key was let go, or pauses."""
        if self.screen.is_current:
            self.draw()
