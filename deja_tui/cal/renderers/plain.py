# SPDX-License-Identifier: Apache-2.0
"""Plain text and tab-separated triples."""

from __future__ import annotations

from deja_tui.cal.renderers.page import Page, content, safe
from deja_tui.cal.rows import Row


def line(row: Row, page: Page) -> str:
    """``subject relation object`` of a fact; what other grains say."""
    said = content(row, page)
    if row.grain_type == "fact" and row.fields.get("subject") is not None:
        return f"{safe(row.fields['subject'])} {said}"
    return said or safe(row.fields.get("tool_name") or row.grain_type)


def render(page: Page) -> str:
    return "".join(line(row, page) + "\n" for row in page.rows)


def triples(page: Page) -> str:
    """Subject, relation and object as they are stored, apart by tabs; ``_`` for a missing part."""
    return "".join(
        "\t".join(_part(row, name) for name in ("subject", "relation", "object")) + "\n" for row in page.rows
    )


def _part(row: Row, name: str) -> str:
    value = row.fields.get(name)
    return "_" if value is None else safe(value)
