# SPDX-License-Identifier: Apache-2.0
"""TOON: one table a type, its columns named once."""

from __future__ import annotations

import re
from typing import Any, Final

from deja_tui.cal.renderers.page import Page, attribute, content, safe, shortest
from deja_tui.cal.rows import Row
from deja_tui.cal.words import PLURAL_OF
from deja_tui.text import clean

_COLUMNS: Final = {
    "fact": ("subject", "content", "confidence"),
    "event": ("role", "time", "content"),
    "goal": ("subject", "content", "state"),
    "tool": ("tool", "phase", "content"),
    "observation": ("observer", "content"),
    "reasoning": ("type", "content"),
    "state": ("context", "content"),
    "workflow": ("trigger", "content"),
    "consensus": ("threshold", "count", "content"),
    "consent": ("grantor", "grantee", "action", "content"),
    "skill": ("name", "content", "proficiency"),
    "recommendation": ("target", "severity", "content"),
    "extracted": ("value",),
}
_HEADS: Final = {"target": "target_ref"}
_NEEDS_QUOTES: Final = re.compile(r'[,:"\\\[\]{}\n\r\t]|^-|^\s|\s$')
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WORDS: Final = frozenset(("true", "false", "null"))
_BREAKS: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_SPLIT: Final = re.compile("([\n\r\t])")
_QUOTED: Final = str.maketrans({"\\": "\\\\", '"': '\\"'})


def kept(text: object) -> str:
    """Text with everything made visible that could act, but for the breaks that the format itself can say."""
    told = text if isinstance(text, str) else safe(text)
    return "".join(part if part in _BREAKS else clean(part, limit=65_536) for part in _SPLIT.split(told))


def value(told: object) -> str:
    """A cell: numbers as they are; text in quotes where it could be taken for something else."""
    if isinstance(told, (int, float)) and not isinstance(told, bool):
        return shortest(told)
    text = "" if told is None else kept(told)
    if text and text not in _WORDS and not _NEEDS_QUOTES.search(text) and not _NUMBER.fullmatch(text):
        return text
    escaped = text.translate(_QUOTED)
    return f'"{_SPLIT.sub(lambda found: _BREAKS[found[1]], escaped)}"'


def _cell(row: Row, column: str, page: Page) -> str:
    if column in ("content", "value"):
        return value(content(row, page, kept))
    found: Any = attribute(row, column, page)
    return value(found)


def _block(type_: str, rows: list[Row], page: Page, indent: str) -> str:
    columns = _COLUMNS[type_]
    heads = ",".join(_HEADS.get(column, column) for column in columns)
    lines = [f"{PLURAL_OF.get(type_, type_)}[{len(rows)}]{{{heads}}}:"]
    lines += [indent + ",".join(_cell(row, column, page) for column in columns) for row in rows]
    return "\n".join(lines)


def render(page: Page) -> str:
    """One block a type, in the order of the plural names; of an ASSEMBLE: its head, then blocks in order of priority."""
    by_type: dict[str, list[Row]] = {}
    for row in page.rows:
        by_type.setdefault(row.grain_type, []).append(row)
    if page.context is None:
        ordered = sorted(by_type, key=lambda type_: PLURAL_OF.get(type_, type_))
        return "\n\n".join(_block(type_, by_type[type_], page, "") for type_ in ordered)
    blocks = [_block(type_, rows, page, "  ") for type_, rows in by_type.items()]
    return "\n".join([*_head(page), *(["\n\n".join(blocks)] if blocks else [])])


def _head(page: Page) -> list[str]:
    context = page.context
    if context is None:
        return []
    told = []
    if context.name:
        told.append(f"context: {value(context.name)}")
    if context.intent:
        told.append(f"intent: {value(context.intent)}")
    if context.total is not None:
        told.append(f"{context.unit}: {context.used}/{context.total}")
    return told
