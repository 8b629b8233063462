# SPDX-License-Identifier: Apache-2.0
"""Every example of docs/cal.md is run, in order, on one memory, and prints what the page says.

To accept a change: look at the difference first, then run with ``DEJA_UPDATE_SNAPSHOTS=1``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from deja_tui.cal import CalError, Session
from deja_tui.cal.words import EXTRACTS, NOT_OFFERED, STATEMENTS
from deja_tui.errors import DejaError
from deja_tui.facade import Memory
from deja_tui.present.cal_lines import lines_of
from tests.cal.corpus import NOW, Ticking, session_of
from tests.support import ROOT

PAGE = ROOT / "docs" / "cal.md"
_BLOCK = re.compile(r"```cal(?: (\w+))?\n(.*?)```(\n```text\n(.*?)```)?", re.DOTALL)
WIDTH = 100


class Fixed(Ticking):
    """A minute between two looks, so that every address and time of the page is the same everywhere."""

    def __call__(self) -> int:
        self.now += 60_000
        return self.now


def printed(session: Session, kind: str | None, text: str, params: dict[str, Any]) -> list[str]:
    """What ``deja cal`` prints for one block; a block that shall be refused and is not fails."""
    try:
        if kind == "script":
            session.script(text)
            return []
        result = session.run(text, params)
    except DejaError as error:
        if kind != "refused":
            raise
        return error.lines() if isinstance(error, CalError) else [str(error), f"next: {error.next_step}"]
    assert kind != "refused", f"was not refused: {text}"
    return lines_of(result, WIDTH)


def test_every_example_prints_what_the_page_says(tmp_path: Path) -> None:
    """The page cannot drift from the language."""
    page = PAGE.read_text()
    told: list[str] = []
    at = 0
    with Memory.open(tmp_path / "page.deja", clock=Fixed(NOW), durability="normal") as memory:
        session = session_of(memory)
        params: dict[str, Any] = {}
        for block in _BLOCK.finditer(page):
            kind, text, shown = block.group(1), block.group(2), block.group(3)
            lines = printed(session, kind, text, params)
            told.append(page[at : block.start()])
            output = (
                f"\n```text\n{''.join(line.rstrip() + chr(10) for line in lines)}```"
                if shown is not None
                else ""
            )
            told.append(f"```cal{' ' + kind if kind else ''}\n{text}```{output}")
            at = block.end()
            if not params:
                (seat,) = session.run('RECALL facts WHERE object = "window seat"').rows  # type: ignore[union-attr]
                params["seat"] = seat.hash
    fresh = "".join([*told, page[at:]])
    if os.environ.get("DEJA_UPDATE_SNAPSHOTS"):
        PAGE.write_text(fresh)
    assert fresh == page


@pytest.mark.parametrize("word", sorted({*STATEMENTS, *EXTRACTS, *NOT_OFFERED}))
def test_every_statement_stands_on_the_page(word: str) -> None:
    """What the language has, the page tells."""
    assert re.search(rf"\b{word}\b", PAGE.read_text())
