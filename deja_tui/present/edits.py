# SPDX-License-Identifier: Apache-2.0
"""Literal lines of changes that are texts: saved queries, templates, documents.

Each line of a body or diff stands inside its own fence, so that none of them can pose as another line of the change.
"""

from __future__ import annotations

from collections.abc import Mapping

from deja_tui.engine.operations import DefineQuery, DocEdit
from deja_tui.present.line import Line, Span, line
from deja_tui.present.words import LITERAL_LIMIT, fenced, named

_INDENT = " " * 4
_SIGNS = {"+": "added", "-": "removed"}


def defined(operation: DefineQuery, texts: Mapping[str, str]) -> list[Line]:
    """A saved query or template: the body that goes, where there is one, and the one that comes."""
    held = texts.get(f"{operation.scheme}:{operation.name}")
    verb = "becomes" if operation.base is not None else "is new"
    head = line(
        Span("~ ", "added"), f"{operation.scheme} ", named(operation.name, limit=LITERAL_LIMIT), f" {verb}"
    )
    before = _body("-", held) if held is not None else []
    return [head, *before, *_body("+", operation.body)]


def edited(operation: DocEdit) -> list[Line]:
    """A document and its diff, line by line; nothing of it is left out."""
    where = named(operation.path, limit=LITERAL_LIMIT)
    place = line(Span(" in ", "dim"), named(operation.namespace, limit=LITERAL_LIMIT))
    return [line(Span("~ ", "added"), "document ", where, place), *diff_lines(operation.diff)]


def diff_lines(diff: str) -> list[Line]:
    """The lines of a unified diff, each with its sign before the fence."""
    told = []
    for row in diff.split("\n"):
        sign = row[:1]
        if sign in ("@", "\\"):
            told.append(line(_INDENT, "  ", fenced(row, LITERAL_LIMIT)))
        elif row:
            mark = Span(f"{sign if sign in _SIGNS else ' '} ", _SIGNS.get(sign, "dim"))
            told.append(line(_INDENT, mark, fenced(row[1:], LITERAL_LIMIT)))
    return told


def _body(sign: str, text: str) -> list[Line]:
    return [
        line(_INDENT, Span(f"{sign} ", _SIGNS[sign]), fenced(row, LITERAL_LIMIT)) for row in text.split("\n")
    ]
