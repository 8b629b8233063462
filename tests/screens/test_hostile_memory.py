# SPDX-License-Identifier: Apache-2.0
"""A memory full of hostile text, on every panel of the console, at both sizes: nothing acts, nothing shifts, nothing hides.

The texts are planted through the doors that take text: facts, calls, events, notes, skills, goals, documents, drafts, saved
queries, namespaces, threads and reasons; and every file of the shared hostile folder is imported on top.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from deja_tui.capture.files import import_path
from deja_tui.capture.registry import guess
from deja_tui.console.actions import ACTIONS
from deja_tui.errors import DejaError
from deja_tui.facade import Memory
from deja_tui.text import cells
from tests.present.hostile import HOSTILE, harmless
from tests.screens.test_hostile import sane
from tests.screens.test_real import NOW, app_on
from tests.screens.test_threads import PANELS
from tests.screens.user import Hand, User
from tests.support import SHARED

# what ends the console or gives the terminal away, and what decides: that is typed on purpose below
_NOT_PRESSED = {"app.quit", "app.suspend", "app.pager", "app.back", "query.editor", "app.theme", "app.mouse"}
MARK = "END-OF-IT"


def bounded(text: str, most: int = 200) -> str:
    return text[:most]


def plant(memory: Memory, bad: str) -> int:
    """One text in every field that a door takes it in; how many took it."""
    short, took = bounded(bad), 0

    def attempt(write: Callable[[], object]) -> None:
        nonlocal took
        with suppress(DejaError):
            write()
            took += 1

    attempt(lambda: memory.add_fact(short, "likes", "tea"))
    attempt(lambda: memory.add_fact("ana", short, "tea"))
    for value in (bad[:60_000] + MARK, MARK):
        attempt(lambda value=value: memory.add_fact("ana", "status", value))  # type: ignore[misc]
    attempt(
        lambda: memory.add("fact", {"subject": "n", "relation": "r", "object": "o"}, namespace=short[:60])
    )
    for number in range(4):
        attempt(
            lambda number=number: memory.record_tool_call(  # type: ignore[misc]
                short[:80],
                bad[:60_000] + MARK,
                is_error=True,
                thread=short[:80],
                created_at=NOW - number * 60_000,
            )
        )
    attempt(lambda: memory.add("event", {"content": bad[:60_000] + MARK, "session_id": short[:80]}))
    attempt(
        lambda: memory.add(
            "observation", {"content": bad[:60_000], "observer_id": short, "observer_type": "agent"}
        )
    )
    attempt(
        lambda: memory.add(
            "skill", {"name": short[:80], "description": short, "practice_count": 9, "proficiency": 0.1}
        )
    )
    attempt(lambda: memory.add("goal", {"description": short, "goal_state": "active"}))
    attempt(lambda: memory.docs.create(f"/memories/{short[:40]}.md", bad[:60_000] + MARK))
    attempt(
        lambda: memory.docs.create(f"/memories/note-{len(bad)}-{ord(bad[0])}.md", bad[:60_000] + "\n" + MARK)
    )
    attempt(lambda: memory.cal(f'DEFINE QUERY "{short[:40]}" AS "RECALL facts RECENT 3"'))
    return took


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "[@click=app.quit]x.deja"
    with Memory.open(path, clock=lambda: NOW, durability="normal", actor="user:bo") as memory:
        for bad in HOSTILE.values():
            assert plant(memory, bad) >= 4
        memory.record_tool_call("long_line", "y" * 10_000_000, is_error=True, thread="long", created_at=NOW)
        if SHARED.exists():
            for one in sorted((SHARED / "hostile").rglob("*.json*")):
                with suppress(DejaError):
                    import_path(memory, guess(one).source, one, now_ms=NOW)
        memory.loop.run()
        rows = memory.loop.queue()
        for place, (row, bad) in enumerate(zip(rows, HOSTILE.values(), strict=False)):
            with suppress(DejaError):
                decide = memory.loop.approve_and_apply if place % 2 else memory.loop.reject
                decide(row.address, because=bounded(bad, 400))
        assert len(memory.loop.queue()) > 3
    return path


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_no_text_of_a_memory_acts_shifts_or_hides_on_any_panel(
    file: Path, size: tuple[int, int]
) -> None:
    """Every panel, every action of it, each row of every list: rows stay as wide as the window, and carry no action."""
    looked = 0
    with Memory.open(file, clock=lambda: NOW, actor="user:ana") as memory:
        hand = Hand()
        app: Any = app_on(memory, file, hand)
        async with app.run_test(size=size) as pilot:
            user = User(app, pilot, None, hand)  # type: ignore[arg-type]
            await user.settle()
            for name, keys in PANELS.items():
                if name in ("approving", "applying", "undone", "switching"):
                    continue
                await user.press(*keys)
                sane(user)
                for key in ("j", "G", "g"):
                    await user.press(key)
                    sane(user)
                    looked += 1
                top = user.screen
                # what an action shows at one size it shows at the other: the places are looked at in both
                for action in ACTIONS if size[0] == 80 else ():
                    decides = action.right not in ("", "read") or action.id in _NOT_PRESSED
                    if top.scope not in action.scopes or decides or app.screen is not top:
                        continue
                    top.perform(action)
                    await user.settle()
                    sane(user)
                    looked += 1
                    while app.screen is not top and len(app.screen_stack) > 2:
                        await user.press("escape")
                    await user.press("escape")
            assert app.return_code is None, "nothing ended the console"
            assert app.rights.tier == "APPLY"
        assert not app.mishaps
    assert looked > (100 if size[0] == 80 else 40)


async def test_what_stands_behind_a_hostile_text_is_still_shown(file: Path) -> None:
    """The age at the end of a row, and what follows a text in a page: a text hides nothing but itself, and says how much."""
    with Memory.open(file, clock=lambda: NOW, actor="user:ana", read_only=True) as memory:
        hand = Hand()
        app: Any = app_on(memory, file, hand)
        async with app.run_test(size=(120, 40)) as pilot:
            user = User(app, pilot, None, hand)  # type: ignore[arg-type]
            await user.settle()
            await user.press("7")
            ends, whole = set[int](), user.screen.listing
            for place in range(0, len(whole.keys), max(1, len(whole.keys) // 20)):
                whole.move_to(place)
                await user.settle()
                for row in user.raw_rows[2:-3]:
                    left = row.partition("│")[0]
                    assert harmless(left)
                    ends.add(cells(left))
            assert len(ends) == 1, "the pane beside the list begins in one column on every row"
            found = [row for row in memory.store.scan("fact") if str(row.get("object", "")).endswith(MARK)]
            assert len(found) > 10
            for grain in found[:8]:
                user.screen.console_app.go("memories", grain.address)
                await user.settle()
                await user.press("enter", "enter")
                text = " ".join(user.screen.text_of_panel())
                assert MARK in text or "more characters" in text or "…" in text, grain.get("object")[:40]
                await user.press("escape", "escape")
