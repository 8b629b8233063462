# SPDX-License-Identifier: Apache-2.0
"""Export the pictures of the README from the real console: ``python docs/pictures/make.py``.

The demo memory is made at a fixed time, the console is driven by keys, and the font addresses that the export writes
are taken out, so that a picture asks no network for anything.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path
from typing import Final

from deja_tui.capture.demo import seed
from deja_tui.console.actions import Rights
from deja_tui.console.keymap import load
from deja_tui.facade import Memory
from deja_tui.screens.app import DejaApp
from deja_tui.screens.base import Ticks
from deja_tui.screens.queue import QueueScreen

NOW: Final = 1_772_442_000_000
SIZE: Final = (120, 32)
HERE: Final = Path(__file__).resolve().parent
# picture → the keys that lead to it
PICTURES: Final = {
    "queue": ["j"],
    "walker": ["w", "s", "a", *"retries belong in the client"],
    "detail": ["j", "enter"],
}
_FONT_FACE = re.compile(r"@font-face\s*{[^}]*}\s*", re.DOTALL)


def main() -> None:
    """Write one SVG for each entry of `PICTURES`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.deja"
        seed(path, NOW)
        for name, keys in PICTURES.items():
            with Memory.open(path, actor="user:ana", clock=lambda: NOW) as memory:
                svg = asyncio.run(picture(memory, keys))
            # viewers other than browsers drop the blanks that a text begins with
            svg = _FONT_FACE.sub("", svg).replace("<text ", '<text xml:space="preserve" ')
            (HERE / f"{name}.svg").write_text(svg)


async def picture(memory: Memory, keys: list[str]) -> str:
    """The console after ``keys``, as SVG."""
    app = DejaApp(
        memory.loop,
        file="shop.deja",
        actor="user:ana",
        rights=Rights.of(None, read_only=False, allow_destructive=False),
        theme="dark",
        keymap=load(),
        now_ms=lambda: NOW,
        at=None,
        # keys are pressed by a script: none of them came before its paint
        ticks=Ticks(now=lambda: 0.0, arrived=lambda event: 1.0),
    )
    async with app.run_test(size=SIZE) as pilot:
        await settle(app, pilot)
        for key in keys:
            await pilot.press("space" if key == " " else key)
            await settle(app, pilot)
        if isinstance(app.screen, QueueScreen):
            app.screen.fill_up()  # as it is after a moment on one row
            await settle(app, pilot)
        return app.export_screenshot(title="deja")


async def settle(app: DejaApp, pilot: object) -> None:
    """Wait for the store work that a key started."""
    await app.workers.wait_for_complete()
    await pilot.pause()  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
