# SPDX-License-Identifier: Apache-2.0
"""Statements that differ in their texts only, parsed once: what panels and programs ask again and again.

* SHAPE-1  A plain RECALL (ASCII, no comment, escape or brace) is cut at its double quotes. Its shape is what stands
  between the texts; a shape is parsed with a parameter in place of each text, and the texts become their values.
* SHAPE-2  A text never gets into the shape, so it is bound as a value and can become nothing else. The parameters have
  names that no statement can write.
* SHAPE-3  What a shape does not fit, and every error, is told by parsing the statement as it stands.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from deja_tui.cal import ast
from deja_tui.cal.faults import CalError
from deja_tui.cal.lexer import STRING, Token, tokens
from deja_tui.cal.parser import Parser

_TEXT: Final = re.compile(r'"([^"\\]*)"')
_NOT_PLAIN: Final = re.compile(r"[\\{\0]|--")
_LENGTH: Final = 4_096


def shaped(text: str) -> tuple[ast.Program, dict[str, str]] | None:
    """The tree of the shape of ``text`` and the texts by parameter name; None when it has to be parsed as it stands."""
    if len(text) > _LENGTH or not text.startswith("RECALL") or not text.isascii() or _NOT_PLAIN.search(text):
        return None
    cut = _TEXT.split(text)
    program = _parsed('""'.join(cut[::2]))
    if program is None:
        return None
    return program, {str(place): told for place, told in enumerate(cut[1::2])}


class _Parser(Parser):
    """Makes a parameter of every text that stands as a value."""

    __slots__ = ("count",)

    def __init__(self, text: str, found: list[Token]) -> None:
        super().__init__(text, found)
        self.count = 0

    def value(self) -> ast.Value:
        token = self.tokens[self.i]
        if token.kind != STRING:
            return super().value()
        self.i += 1
        self.count += 1
        return ast.Param(str(self.count - 1), token.span)

    def string(self, *expected: str) -> str:
        raise self.unexpected(*expected)  # a name or a template: no two statements may share it


@lru_cache(maxsize=256)
def _parsed(shape: str) -> ast.Program | None:
    """The tree of a shape, a parameter for each pair of quotes; None where the grammar wants a text itself."""
    try:
        program = _Parser(*tokens(shape)).program()
    except CalError:
        return None
    return None if program.query.options else program  # options may print the tree
