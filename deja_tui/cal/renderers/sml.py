# SPDX-License-Identifier: Apache-2.0
"""SML: one flat element a grain, named after its type, one a line."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from deja_tui.cal.renderers.page import ATTRIBUTES, Page, content, safe, shortest
from deja_tui.cal.rows import Row

_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_QUOTED: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
_TWO_DECIMALS: Final = frozenset(("confidence", "proficiency", "threshold"))


def escaped(text: str) -> str:
    """Text that can stand between two tags."""
    return text.translate(_TEXT)


def quoted(text: str) -> str:
    """Text that can stand inside an attribute."""
    return text.translate(_QUOTED)


def element(row: Row, page: Page) -> str:
    """The element of one grain."""
    told = "".join(
        f' {name}="{quoted(_value(name, value))}"'
        for name, read in ATTRIBUTES.get(row.grain_type, ())
        if (value := read(row, page)) not in (None, "")
    )
    return f"<{row.grain_type}{told}>{escaped(content(row, page))}</{row.grain_type}>"


def _value(name: str, value: object) -> str:
    if name in _TWO_DECIMALS and isinstance(value, (int, float)):
        return f"{value:.2f}"
    return shortest(value)


def render(page: Page) -> str:
    """All rows; an ASSEMBLE with FOR is wrapped in ``<context>``, its types apart by an empty line."""
    if page.context is None or not page.context.intent:
        return "\n".join(element(row, page) for row in page.rows)
    runs = groupby(page.rows, key=lambda row: row.grain_type)
    blocks = ["\n".join(element(row, page) for row in rows) for _, rows in runs]
    inner = ["\n\n".join(blocks)] if blocks else []
    return "\n".join([f'<context intent="{quoted(safe(page.context.intent))}">', *inner, "</context>"])
