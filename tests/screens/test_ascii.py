# SPDX-License-Identifier: Apache-2.0
"""``--ascii`` on every screen: what is not ASCII there is text of a grain, or its fence."""

from __future__ import annotations

import pytest

from deja_tui.console.terminal import Terminal
from deja_tui.widgets.paint import Paint
from tests.screens.cases import CASES, play
from tests.screens.user import console

OFTEN = ("queue-destructive", "walker-confirm", "graph", "query", "help-walker")
FENCE = str.maketrans("", "", "«»")


@pytest.mark.parametrize(
    "name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in CASES]
)
async def test_marks_are_ascii(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 8, point 7: of every span that is no grain's text the terminal is sent ASCII and the fence."""
    sent: set[str] = set()
    marked = Paint.marked

    def noted(paint: Paint, text: str, meaning: str = "") -> str:
        told = marked(paint, text, meaning)
        if meaning != "untrusted":
            sent.add(told.translate(FENCE))
        return told

    monkeypatch.setattr(Paint, "marked", noted)
    case = CASES[name]
    async with console(case.before(), (120, 40), terminal=Terminal(ascii=True), **case.options) as user:
        await play(user, case)
        rows = user.text.translate(FENCE)
    assert [text for text in sent if not text.isascii()] == []
    assert rows.isascii() or "hostile" in name
