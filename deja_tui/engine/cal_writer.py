# SPDX-License-Identifier: Apache-2.0
"""CAL text written from values, safely quoted. A writer only: the engine never parses a query (D10)."""

from __future__ import annotations

from typing import Final

from deja_tui.text import door

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})
# The language refuses these anywhere in its text, also inside a string.
_REFUSED = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# a query that regenerates evidence is stored with every refresh; the language itself takes 64 KiB
_MAX_CHARACTERS: Final = 2_000


def quote(text: str) -> str | None:
    """``text`` as a CAL string literal, or None when CAL cannot hold it."""
    kept = door(text)
    if _REFUSED.intersection(kept):
        return None
    return '"' + kept.translate(_ESCAPES) + '"'


def recall(plural: str, conditions: dict[str, str | bool], limit: int = 1000) -> str | None:
    """``RECALL <plural> WHERE a = … AND b = … LIMIT n``, or None when it cannot be written or is too long."""
    parts: list[str] = []
    for name, value in conditions.items():
        literal = ("true" if value else "false") if isinstance(value, bool) else quote(value)
        if literal is None:
            return None
        parts.append(f"{name} = {literal}")
    told = f"RECALL {plural} WHERE {' AND '.join(parts)} LIMIT {limit}"
    return told if len(told) <= _MAX_CHARACTERS else None
