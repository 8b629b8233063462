# SPDX-License-Identifier: Apache-2.0
"""Formats for programs: JSON, YAML, CSV, and a table for eyes. They show addresses and raw values."""

from __future__ import annotations

import json
from typing import Any, Final

from deja_tui.cal.renderers.page import Page, safe, shortest
from deja_tui.cal.rows import Row
from deja_tui.text import cells, clean

_COLUMNS: Final = ("hash", "grain_type", "subject", "relation", "object", "confidence")
_SHORT_HASH: Final = 8


def json_rows(page: Page) -> str:
    """The rows as an indented array."""
    return json.dumps([row.as_json() for row in page.rows], ensure_ascii=True, indent=2, default=str)


def yaml(page: Page) -> str:
    """A YAML list; every text is a JSON string, which YAML reads as it is."""
    return "\n".join(_yaml(row) for row in page.rows)


def _yaml(row: Row) -> str:
    told = [f"- hash: {_scalar(row.hash)}", f"  grain_type: {_scalar(row.grain_type)}", "  fields:"]
    told += [f"    {_key(name)}: {_scalar(row.fields[name])}" for name in sorted(row.fields)]
    return "\n".join(told) + "\n"


def _key(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else _scalar(name)


def _scalar(value: Any) -> str:
    """JSON, with every character escaped that could act on a terminal."""
    if isinstance(value, str) and value.isprintable():
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=True, default=str, sort_keys=True)


def _values(row: Row) -> list[Any]:
    told = row.fields
    return [
        row.hash,
        row.grain_type,
        *(told.get(name) for name in ("subject", "relation", "object", "confidence")),
    ]


def csv(page: Page) -> str:
    """Comma-separated values with a head; quotes doubled, line breaks kept inside quotes."""
    lines = [",".join(_COLUMNS)]
    lines += [",".join(_csv(value) for value in _values(row)) for row in page.rows]
    return "\n".join(lines) + "\n"


def _csv(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return shortest(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=True, default=str)
    told = "\n".join(clean(piece, limit=len(piece)) for piece in text.replace("\r\n", "\n").split("\n"))
    return '"' + told.replace('"', '""') + '"' if any(sign in told for sign in ',"\n') else told


def table(page: Page) -> str:
    """A table with columns of equal width; addresses cut to eight digits, ``|`` escaped."""
    rows = [list(_COLUMNS)]
    for row in page.rows:
        told = _values(row)
        cut = [row.hash[:_SHORT_HASH], *(shortest(value).replace("|", "\\|") for value in told[1:])]
        rows.append([safe(value) for value in cut])
    widths = [max(cells(row[place]) for row in rows) for place in range(len(_COLUMNS))]
    lines = [_line(row, widths) for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines) + "\n"


def _line(row: list[str], widths: list[int]) -> str:
    told = (value + " " * (width - cells(value)) for value, width in zip(row, widths, strict=True))
    return "| " + " | ".join(told) + " |"
