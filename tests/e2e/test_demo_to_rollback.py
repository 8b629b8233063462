# SPDX-License-Identifier: Apache-2.0
"""From ``deja demo`` to a rolled-back apply, in a real pseudo-terminal, with the keys a person presses."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deja_tui import Memory
from tests.e2e.terminal import Terminal
from tests.support import NOW, ROOT


@pytest.fixture
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "DEJA_LOOP_NOW_MS": str(NOW),
    }
    opened = Terminal(
        [sys.executable, "-m", "deja_tui", "demo", str(tmp_path / "shop.deja")], request.param, env
    )
    yield opened
    opened.close()


def everything(path: Path) -> list[tuple[str, dict[str, object]]]:
    """What recall returns of the whole namespace, in its order."""
    with Memory.open(path, read_only=True) as memory:
        return [(grain.address, dict(grain.fields)) for grain in memory.recall(k=1000)]


def marked(terminal: Terminal) -> str:
    """The row the cursor is on."""
    return next((line for line in terminal.text.splitlines() if line.startswith("▸")), "")


@pytest.mark.parametrize("terminal", [(80, 24)], indirect=True, ids=["80x24"])
def test_a_person_reviews_applies_and_takes_it_back(terminal: Terminal, tmp_path: Path) -> None:
    """Queue, walker, typed reasons, receipts, rollback: recall is what it was, the chain verifies, status 0."""
    path = tmp_path / "shop.deja"
    terminal.expect("stripe_refund")
    before = everything(path)

    while not ("duplicate" in marked(terminal) and " acme " in marked(terminal)):
        terminal.press("j")
        terminal.settle()
    terminal.press("a")
    terminal.expect("APPROVE BECAUSE>")
    terminal.press("enter")
    terminal.expect("a reason is needed")
    terminal.press("escape")
    terminal.press("q")
    terminal.expect("Queue:12")
    terminal.press("athree spellings of ")
    terminal.expect("APPROVE BECAUSE> three spellings of")
    terminal.press("\x1b[200~one\x1b[31m\ntaste\x1b[201~", "enter")
    terminal.expect("APPROVED")
    terminal.expect("three spellings of one[31m taste")
    terminal.press("p", "the dry run retires two copies")
    terminal.expect("APPLY BECAUSE> the dry run retires two copies")
    terminal.press("enter")
    terminal.expect("APPLIED")
    during = everything(path)
    assert len(during) == len(before) - 2

    terminal.press("u")
    terminal.expect("BECAUSE>")
    terminal.press("ana wants them kept apart", "enter")
    shown = terminal.expect("ROLLED BACK")
    assert "verified" in shown
    assert everything(path) == before

    terminal.press("q")
    terminal.expect("Queue:11")
    terminal.press("1")
    terminal.expect("verify")
    terminal.press("5")
    terminal.expect("5 of 7 → 0 of 3 calls")  # D54: the decision of eight days ago, measured
    terminal.press("3")
    terminal.expect("Queue:11")
    terminal.press("q")
    assert terminal.end() == 0
    assert b"\x1b[?1049l" in terminal.raw
    with Memory.open(path, read_only=True) as memory:
        assert memory.verify() == ()
        (row,) = memory.loop.queue("rolled_back")
        statuses = [entry.to_status for entry in memory.loop.audit(row.address).entries]
    assert statuses == ["pending", "approved", "applied", "rolled_back"]


@pytest.mark.parametrize("terminal", [(120, 40)], indirect=True, ids=["120x40"])
def test_nothing_of_a_hostile_page_reaches_the_terminal(terminal: Terminal) -> None:
    """The demo holds a tool error with escapes and markup; its bytes are shown, never sent."""
    terminal.expect("fetch_page")
    while "fetch_page" not in marked(terminal):
        terminal.press("j")
        terminal.settle()
    terminal.press("enter")
    terminal.expect("\\x1b[31mtimeout")
    terminal.settle()
    assert "[@click=app.quit]" in terminal.text
    assert b"\x1b[31mtimeout" not in terminal.raw
    terminal.press("q")
    terminal.press("q")
    assert terminal.end() == 0
