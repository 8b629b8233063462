# SPDX-License-Identifier: Apache-2.0
"""CAL text written from values, safely quoted. A writer only: the engine never parses a query (D10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def recall(
    plural: str,
    conditions: Mapping[str, str | bool | Sequence[str]],
    limit: int = 1000,
    since_ms: int | None = None,
    until_ms: int | None = None,
) -> str | None:
    """``RECALL <plural> SINCE ms WHERE a = … AND b IN (…) LIMIT n``, or None when it cannot be written or is too long.

    Several texts are any of them, one is that one. ``since_ms``, ``until_ms``: epoch ms of the earliest and the latest
    creation.
    """
    parts = [_condition(name, value) for name, value in conditions.items()]
    if None in parts:
        return None
    times = "" if since_ms is None else f" SINCE {since_ms}"
    times += "" if until_ms is None else f" UNTIL {until_ms}"
    told = f"RECALL {plural}{times} WHERE {' AND '.join(map(str, parts))} LIMIT {limit}"
    return told if len(told) <= _MAX_CHARACTERS else None


def _condition(name: str, value: str | bool | Sequence[str]) -> str | None:
    if isinstance(value, bool):
        return f"{name} = {'true' if value else 'false'}"
    texts = list(dict.fromkeys([value] if isinstance(value, str) else value))
    literals = [literal for text in texts if (literal := quote(text)) is not None]
    if len(literals) < len(texts):
        return None
    return f"{name} = {literals[0]}" if len(literals) == 1 else f"{name} IN ({', '.join(literals)})"
