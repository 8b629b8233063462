# SPDX-License-Identifier: Apache-2.0
"""Owns how rows become text: one file a format, each a pure function of rows and what is said around them.

May import ``cal.rows``, ``cal.results`` and ``text``. Never lets stored text end its element, row or line, and never
shows an address, a namespace or a raw time in sml, toon, markdown and text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from deja_tui.cal.renderers import grouped, markdown, plain, sml, tables, toon
from deja_tui.cal.renderers.page import Page

Renderer = Callable[[Page], str]

RENDERERS: Final[dict[str, Renderer]] = {
    "sml": sml.render,
    "toon": toon.render,
    "markdown": markdown.render,
    "text": plain.render,
    "triples": plain.triples,
    "json": tables.json_rows,
    "yaml": tables.yaml,
    "csv": tables.csv,
    "table": tables.table,
}
GROUPED: Final[dict[str, Renderer]] = {
    "markdown": grouped.markdown,
    "text": grouped.text,
    "json": grouped.json_groups,
    "sml": grouped.sml,
}


def render(name: str, page: Page) -> str:
    """``page`` in the format ``name`` (a key of `RENDERERS`); groups are shown where the format can."""
    if page.groups is not None and name in GROUPED:
        return GROUPED[name](page)
    return RENDERERS[name](page)
