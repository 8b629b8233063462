# SPDX-License-Identifier: Apache-2.0
"""What a renderer is given of a result: rows in the order they are shown, their groups, and what is said around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deja_tui.cal.fields import ANY_TYPE
from deja_tui.cal.renderers.page import Page, safe
from deja_tui.cal.results import Assembled, Grains, Part
from deja_tui.cal.rows import Row


def page_of(
    result: Grains | Assembled, now: int, summary: Callable[[Mapping[str, Any]], str] | None = None
) -> Page:
    """The page of a result, for a FORMAT of the statement and for one that a surface chooses."""
    if isinstance(result, Assembled):
        return Page(_by_priority(result.parts), now, result.context, None, summary)
    groups = None if result.grouped_by is None else _groups(result)
    return Page(result.rows, now, result.context, groups, summary)


def _by_priority(parts: tuple[Part, ...]) -> tuple[Row, ...]:
    """Rows for rendering: sources of more weight first, otherwise as written."""
    ordered = sorted(parts, key=lambda part: -part.weight)
    return tuple(row for part in ordered for row in part.rows)


def _groups(result: Grains) -> tuple[tuple[str, tuple[Row, ...]], ...]:
    read = ANY_TYPE[result.grouped_by or "subject"].read
    found: dict[str, list[Row]] = {}
    for row in result.rows:
        key = read(row)
        found.setdefault("(none)" if key is None else safe(key), []).append(row)
    return tuple((key, tuple(rows)) for key, rows in found.items())
