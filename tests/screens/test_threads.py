# SPDX-License-Identifier: Apache-2.0
"""The UI thread never touches the memory, whatever key is pressed on whichever screen; late answers are dropped."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from deja_tui.console.actions import ACTIONS
from deja_tui.console.feed import Feed
from deja_tui.facade import Memory
from deja_tui.store.memory import Store
from deja_tui.store.telemetry import Telemetry
from tests.screens.fake import FakeReviews
from tests.screens.test_real import NOW, app_on
from tests.screens.user import Hand, User

# what gives the terminal away, ends the console, or is typed here on purpose
_NOT_PRESSED = {"app.quit", "app.suspend", "app.pager", "app.back", "query.editor"}
PANELS: dict[str, tuple[str, ...]] = {
    "overview": ("1",), "sessions": ("2",), "timeline": ("2", "enter"), "queue": ("3",), "detail": ("3", "enter"),
    "walker": ("3", "w"), "approving": ("3", "enter", "a", *"seen", "enter"), "applying": ("p", *"agreed", "enter"),
    "undone": ("u", *"not so", "enter"), "analyzers": ("4",), "switching": ("4", "space", *"loud", "enter"),
    "analyzer": ("4", "enter"), "outcomes": ("5",), "setup": ("6",), "memories": ("7",), "grain": ("7", "enter"),
    "graph": ("7", "i"), "filtered": ("7", "/", *"rate", "enter"), "query": ("8",),
    "a statement": ("8", *"RECALL facts RECENT 5", "enter"),
}  # fmt: skip
OFTEN = (
    "overview", "timeline", "queue", "walker", "approving", "applying", "analyzers", "outcomes", "setup", "grain",
    "a statement",
)  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.deja"
    with Memory.open(path, clock=lambda: NOW, durability="normal") as memory:
        for number in range(6):
            memory.record_tool_call(
                "search", "rate limited", is_error=True, thread="s1", created_at=NOW - number * 60_000
            )
        for place in ("Osl", "Rom"):
            memory.add_fact("ana", "lives_in", place)
        memory.docs.create("/memories/notes.md", "one\n")
        memory.loop.run()
    return path


@pytest.mark.parametrize(
    "panels", [OFTEN, pytest.param(tuple(PANELS), marks=pytest.mark.slow)], ids=("often", "all")
)
async def test_no_key_on_any_screen_has_the_ui_thread_touch_the_memory(
    panels: tuple[str, ...], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections of store and sidecar are taken by the feed's threads only: every panel, every action of it."""
    here, seen, touched = threading.get_ident(), set[str](), list[str]()

    def watch(owner: type, name: str) -> None:
        real = getattr(owner, name)

        def noted(self: Any, *given: Any, **more: Any) -> Any:
            if threading.get_ident() == here:
                touched.append(f"{panel}: {owner.__name__}.{name}")
            seen.add(threading.current_thread().name.rpartition("_")[0])
            return real(self, *given, **more)

        monkeypatch.setattr(owner, name, noted)

    panel = "start"
    with Memory.open(file, clock=lambda: NOW, actor="user:ana") as memory:
        for owner, name in ((Store, "reading"), (Store, "act"), (Store, "snapshot"), (Store, "change_token"),
                            (Telemetry, "_opened")):  # fmt: skip
            watch(owner, name)
        hand = Hand()
        app = app_on(memory, file, hand)
        async with app.run_test(size=(120, 40)) as pilot:
            user = User(app, pilot, None, hand)  # type: ignore[arg-type]
            await user.settle()
            for name in panels:
                panel = name
                await user.press(*PANELS[name])
                top = user.screen
                for action in ACTIONS:
                    if top.scope not in action.scopes or action.id in _NOT_PRESSED or app.screen is not top:
                        continue
                    if action.id.startswith(("place.", "app.over", "app.ses")):
                        continue
                    panel = f"{name}, {action.id}"
                    top.perform(action)
                    await user.settle()
                    while app.screen is not top and len(app.screen_stack) > 2:
                        await user.press("escape")
                    await user.press("escape")
                app.poll()
                await user.settle()
        assert not app.mishaps
    assert not touched, touched[:10]
    assert {"deja-feed", "deja-filling", "deja-slow", "deja-typed"} >= seen
    assert len(seen) >= 3


async def test_what_fills_in_a_panel_is_not_begun_where_it_would_come_late() -> None:
    """Ten questions while the first is worked on: the first and the last are, eight never begin."""
    feed, begun, gate = Feed(FakeReviews()), list[int](), threading.Event()

    def work(number: int) -> Any:
        def run(_: object) -> int:
            begun.append(number)
            gate.wait(5)
            return number

        return run

    asked = [asyncio.ensure_future(feed.ask("whole", work(0), filling=True))]
    while not begun:
        await asyncio.sleep(0.001)
    asked += [asyncio.ensure_future(feed.ask("whole", work(n), filling=True)) for n in range(1, 10)]
    await asyncio.sleep(0)
    quick = await feed.ask("list", lambda _: "at once")
    assert quick.value == "at once", "what fills in holds up nothing"
    gate.set()
    answers = await asyncio.gather(*asked)
    assert begun == [0, 9]
    assert [answer.late for answer in answers] == [True] * 9 + [False]
    assert answers[-1].value == 9
    feed.close()
