# SPDX-License-Identifier: Apache-2.0
"""What a memory that has begun already may still take from a template: its instruction document, its saved queries.

The texts are those of the templates, read with the language's own parser; nothing stands here a second time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deja_tui.capture.templates import NAMES, script

if TYPE_CHECKING:
    from deja_tui.cal import ast

# one is empty, the other is a story with moments of its own and no plain script
_NOTHING: Final = ("blank", "demo")


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document of a template."""

    template: str
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class NewQuery:
    """A saved query of a template: its name, its body, and the statement that defines it."""

    name: str
    body: str
    statement: str


@dataclass(frozen=True, slots=True)
class NewQueries:
    """The saved queries of a template."""

    template: str
    queries: tuple[NewQuery, ...]

    @property
    def statement(self) -> str:
        """One statement that defines all of them or none (D42)."""
        if len(self.queries) == 1:
            return self.queries[0].statement
        parts = " ; ".join(f"q{place}: {one.statement}" for place, one in enumerate(self.queries, 1))
        return f"BATCH {{ {parts} }}"


def documents() -> tuple[NewDocument, ...]:
    """The instruction documents that templates begin with, in the order of the templates."""
    from deja_tui.cal import ast  # the language costs a console that begins nothing its start-up

    return tuple(
        NewDocument(name, node.path, node.text)
        for name in NAMES
        for node in _statements(name)
        if isinstance(node, ast.Document)
    )


def queries(there: Collection[str]) -> tuple[NewQueries, ...]:
    """The saved queries of each template, without those whose names are taken; a template with none left is left out."""
    from deja_tui.cal import ast  # as above

    found = []
    for name in NAMES:
        text = script(name)
        told = tuple(
            NewQuery(node.name, node.body.strip(), text[node.span[0] : node.span[1]])
            for node in _statements(name)
            if isinstance(node, ast.DefineQuery) and node.name not in there
        )
        if told:
            found.append(NewQueries(name, told))
    return tuple(found)


def _statements(template: str) -> list[ast.Statement]:
    from deja_tui.cal.parser import parse_script  # as above

    if template in _NOTHING:
        return []
    return [program.query.statement for program in parse_script(script(template))]
