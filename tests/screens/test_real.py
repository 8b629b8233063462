# SPDX-License-Identifier: Apache-2.0
"""The console on a real memory: what each panel copies reads that panel, and what another process writes arrives."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deja_tui.facade import Memory
from deja_tui.screens.outcomes import propose_revert
from tests.screens.user import Hand, User, make_app

NOW = 1_772_442_000_000


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with findings, one of them applied; its name needs quoting."""
    path = tmp_path_factory.mktemp("real") / "it's mine.deja"
    with Memory.open(path, clock=lambda: NOW) as memory:
        for tool in ("stripe_refund", "search"):
            for number in range(6):
                memory.record_tool_call(
                    tool, "rate limited", is_error=True, thread="s1", created_at=NOW - number * 60_000
                )
        for place in ("Osl", "Rom"):
            memory.add_fact("ana", "lives_in", place)
        memory.loop.run()
        address = memory.loop.queue()[0].address
        memory.loop.approve(address, because="seen in two sessions")
        memory.loop.apply(address, because="agreed with the team")
    return path


@pytest.fixture
def memory(file: Path) -> Iterator[Memory]:
    with Memory.open(file, create=False, clock=lambda: NOW, actor="user:ana") as opened:
        yield opened


def app_on(memory: Memory, file: Path, hand: Hand, **more: Any) -> Any:
    return make_app(memory.loop, hand, file=str(file), file_of=memory, grains=memory, **more)  # type: ignore[arg-type]


async def test_what_y_copies_is_read_by_the_language(memory: Memory, file: Path) -> None:
    """Y on every panel: one statement that only reads, and finds what the panel is about; C is one shell line."""
    hand = Hand()
    app, found = app_on(memory, file, hand), {}
    async with app.run_test(size=(100, 30)) as pilot:
        user = User(app, pilot, None, hand)  # type: ignore[arg-type]
        await user.settle()
        panels = {
            "1": (), "2": (), "3": (), "4": (), "5": (), "6": (), "7": (), "analyzer": ("4", "enter"),
            "detail": ("3", "enter"), "trail": ("3", "enter", "t"), "applied": ("3", "f", "f", "enter"),
            "walker": ("3", "f", "f", "f", "f", "f", "w"), "receipt": ("a", *"because it is so", "enter"),
        }  # fmt: skip
        for name, keys in panels.items():
            await user.press(*(keys or (name,)))
            await user.press("Y")
            found[name] = app.clipboard
            assert "CAL sent to the terminal" in user.flash, (name, user.flash)
            await user.press("C")
            if "command line sent" in user.flash:
                words = shlex.split(app.clipboard)
                assert words[0] == "deja"
                assert words[words.index("--db") + 1] == str(file)
    assert len(set(found.values())) >= 8
    for name, statement in found.items():
        answer = memory.cal(statement, read_only=True)
        assert answer is not None, name
    one = memory.cal(found["detail"], read_only=True)
    assert [row.hash for row in one.rows] == [found["detail"].split('"')[1]]
    assert found["trail"].startswith('RUN "Audit of"')
    assert found["receipt"].startswith('RUN "Audit of"')


async def test_what_another_process_writes_arrives(memory: Memory, file: Path) -> None:
    """A second connection decides and adds; the next look of the poll shows it, the selection stays."""
    hand = Hand()
    app = app_on(memory, file, hand)
    async with app.run_test(size=(100, 30)) as pilot:
        user = User(app, pilot, None, hand)  # type: ignore[arg-type]
        await user.settle()
        await app.polled()
        pending = len(memory.loop.queue())
        assert f"/{pending} " in user.title
        with Memory.open(file, create=False, clock=lambda: NOW, actor="user:bob") as other:
            for number in range(6):
                other.record_tool_call(
                    "deploy", "no such host", is_error=True, thread="s2", created_at=NOW - number * 60_000
                )
            other.loop.run()
        marked = user.marked()
        await app.polled()
        await user.settle()
        assert len(memory.loop.queue()) == pending + 1
        assert f"/{pending + 1} " in user.title
        assert "deploy" in user.text
        assert user.marked() == marked


def test_taking_back_is_filed_with_what_the_apply_wrote(memory: Memory) -> None:
    """The draft of Outcomes is one the engine takes; its creator cannot approve it, nothing is taken back yet."""
    applied = memory.loop.queue("applied")[0].address
    draft = memory.loop.show(propose_revert(memory.loop, applied, "worse than before"))
    assert draft.status == "pending"
    assert draft.creator == "user:ana"
    assert [one.kind for one in draft.recommendation.operations] == ["revert"]
    assert memory.loop.show(applied).status == "applied"
