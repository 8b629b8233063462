# SPDX-License-Identifier: Apache-2.0
"""Another process holds the write lock: who is said, reads go on, r tries again, and nothing that was typed is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deja_tui.facade import Memory
from deja_tui.screens.queue import QueueScreen
from tests.screens.user import Hand, User, make_app
from tests.store.test_holder import locked, needs_locks
from tests.support import NOW

pytestmark = needs_locks


def made(path: Path) -> None:
    with Memory.open(path, clock=lambda: NOW, durability="normal") as memory:
        for number in range(6):
            memory.record_tool_call("search", "rate limited", is_error=True, created_at=NOW - number * 60_000)
        for place in ("Osl", "Rom"):
            memory.add_fact("ana", "lives_in", place)
        memory.loop.run()


async def test_a_decision_that_meets_a_lock_says_whose_and_goes_through_with_r(tmp_path: Path) -> None:
    """A real second process; the reason typed stands there still, r sends it again, other keys type on."""
    path = tmp_path / "a.deja"
    made(path)
    with Memory.open(path, busy_ms=1, clock=lambda: NOW, actor="user:ana") as memory:
        hand = Hand()
        app: Any = make_app(memory.loop, hand, file=str(path), file_of=memory, grains=memory)  # type: ignore[arg-type]
        async with app.run_test(size=(80, 24)) as pilot:
            user = User(app, pilot, None, hand)  # type: ignore[arg-type]
            await user.settle()
            first = memory.loop.queue()[0].address
            with locked(path, "deja", "import", "x") as other:
                await user.press("enter", "a", *"seen twice", "enter")
                told = " ".join(user.flash.split())
                assert told == (
                    f"STO-E004 the file is locked by another writer (process {other.pid}, deja import). "
                    "r or Enter tries again, other keys type on; nothing is lost."
                )
                assert any(row.startswith("APPROVE BECAUSE> seen twice") for row in user.rows)
                await user.press("r")
                assert "STO-E004" in user.flash, "it is still held"
                await user.type(" or more")
                assert any(row.startswith("APPROVE BECAUSE> seen twice or more") for row in user.rows)
                await user.press("enter")
                assert memory.loop.show(first).status == "pending", "reads go on"
            await user.press("r")
            assert user.screen.state == "receipt"
            entry = memory.loop.audit(first).entries[-1]
            assert (entry.to_status, entry.because) == ("approved", "seen twice or more")
            await user.press("q")
            while not isinstance(user.screen, QueueScreen):
                await user.press("q")

            await user.press("4", "space", *"too loud")
            with locked(path):
                await user.press("enter")
                assert "STO-E004" in user.flash
                assert any("BECAUSE> too loud" in row for row in user.rows)
            await user.press("r")
            assert "1 setting changed" in user.flash
            assert memory.loop.config_log()[-1].because == "too loud", (
                "a reason that was not used is not one of this sitting"
            )
