# SPDX-License-Identifier: Apache-2.0
"""The memory as screens ask it about sessions and about what is set up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from deja_tui.console.feed import Recorded
from deja_tui.errors import DejaError

if TYPE_CHECKING:
    from deja_tui.screens.app import DejaApp
    from deja_tui.screens.base import DejaScreen

NO_MEMORY: Final = DejaError(
    "CON-E001", "this console was opened without a memory to look into", "deja ui FILE"
)


def recorded(app: DejaApp) -> Recorded:
    """The memory; to be used on the feed's threads. Raises CON-E001 in a console that was opened without one."""
    if app.file_of is None:
        raise NO_MEMORY
    return cast(Recorded, app.file_of)


def copy_lines(screen: DejaScreen, text: str, what: str, where: str) -> None:
    """Offer several lines to the terminal's clipboard; whether they arrive nobody can know, so it says where they stand."""
    sent = screen.console_app.offer(text)
    screen.say(f"{what} {'sent to the terminal' if sent else 'are too long for its clipboard'}; {where}")
