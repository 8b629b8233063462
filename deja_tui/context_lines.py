# SPDX-License-Identifier: Apache-2.0
"""The lines of a context, and what is a lesson: shared by `contexts` and by the hook that has to be quick (D47, D53).

Rules CTX-1 to CTX-3 of `contexts`. No data class here: a hook pays for every import.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, Generic, Protocol, TypeVar

from deja_tui.text import fence

LESSONS: Final = 5
DEFAULT_BUDGET: Final = 400
MOST_BUDGET: Final = 1_000_000
TARGET: Final = "entity:lessons/"
DRAFTS: Final = "draft."
LOOKED_AT: Final = 500
DOCUMENT: Final = "memory_file"
_NAME: Final = 80
_WORD: Final = re.compile(r"[A-Za-z0-9_.:@/#+-]{1,80}\Z")
_SAID: Final = 240
_TEXT_FIELDS: Final = ("tool_content", "content", "result", "error", "body", "description", "text", "object")


class Told(Protocol):
    """What a line needs of a grain."""

    @property
    def type(self) -> str: ...
    @property
    def address(self) -> str: ...
    def get(self, name: str, default: Any = None) -> Any: ...


T = TypeVar("T", bound=Told)


class Lines(Generic[T]):
    """Lines in their order, as far as they fit (CTX-2)."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.tokens = 0
        self.left_out = 0
        self.lines: list[str] = []
        self.grains: list[T] = []

    def take(self, grains: Iterable[T]) -> None:
        for grain in grains:
            line = line_of(grain)
            cost = -(-len(line.encode()) // 4)
            if self.tokens + cost > self.room:
                self.left_out += 1
                continue
            self.tokens += cost
            self.lines.append(line)
            self.grains.append(grain)


def line_of(grain: Told) -> str:
    """One grain as one line: names bare, what was said in «» (CTX-3)."""
    names = [grain.get(name) for name in ("subject", "relation")]
    if all(isinstance(name, str) for name in names) and grain.get("object") is not None:
        told = " · ".join(map(_named, names))
        return f"- {told} · {fence(str(grain.get('object'))[:_SAID])}\n"
    said = next((grain.get(field) for field in _TEXT_FIELDS if grain.get(field) is not None), "")
    name = _named(grain.get("tool_name") or grain.get("name") or grain.type)
    return f"- {name}: {fence(str(said)[:_SAID])}\n"


def _named(name: object) -> str:
    """A name bare when it is one plain word, else fenced like everything that somebody wrote."""
    return name if isinstance(name, str) and _WORD.match(name) else fence(str(name)[:_NAME])
