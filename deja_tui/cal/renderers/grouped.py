# SPDX-License-Identifier: Apache-2.0
"""Rows under the keys of GROUP BY."""

from __future__ import annotations

import json
from collections.abc import Iterator

from deja_tui.cal.renderers import markdown as markdowns
from deja_tui.cal.renderers import plain
from deja_tui.cal.renderers import sml as smls
from deja_tui.cal.renderers.page import Page, safe
from deja_tui.cal.rows import Row


def _groups(page: Page) -> Iterator[tuple[int, str, tuple[Row, ...]]]:
    for place, (key, rows) in enumerate(page.groups or (), 1):
        yield place, safe(key), rows


def _memories(count: int) -> str:
    return f"{count} {'memory' if count == 1 else 'memories'}"


def markdown(page: Page) -> str:
    told = []
    for _, key, rows in _groups(page):
        told.append(f"### {key} ({_memories(len(rows))})\n\n")
        told += [markdowns.line(row, page) + "\n" for row in rows]
    return "".join(told)


def text(page: Page) -> str:
    total = len(page.groups or ())
    blocks = []
    for place, key, rows in _groups(page):
        lines = [f"--- Group {place}/{total}: {key} ({_memories(len(rows))}) ---\n"]
        lines += [f"[{number}] {plain.line(row, page)}\n" for number, row in enumerate(rows, 1)]
        blocks.append("".join(lines))
    return "\n".join(blocks)


def json_groups(page: Page) -> str:
    told = [
        {"group_key": key, "count": len(rows), "grains": [row.as_json() for row in rows]}
        for key, rows in page.groups or ()
    ]
    return json.dumps(told, ensure_ascii=True, indent=2, default=str)


def sml(page: Page) -> str:
    told = []
    for _, key, rows in _groups(page):
        lines = [f'<group key="{smls.quoted(key)}" count="{len(rows)}">']
        lines += [smls.element(row, page) for row in rows]
        told.append("\n".join([*lines, "</group>"]))
    return "\n".join(told)
