# SPDX-License-Identifier: Apache-2.0
"""Grains as lines: one a grain, for lists of what a memory holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from deja_tui.present.line import plain
from deja_tui.present.words import says, short, unique_length
from deja_tui.text import clip, utc


class Shown(Protocol):
    """What a line needs of a grain."""

    @property
    def address(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def created_at(self) -> int: ...
    @property
    def live(self) -> bool: ...
    @property
    def fields(self) -> Mapping[str, Any]: ...


def grain_lines(grains: Sequence[Shown], width: int) -> list[str]:
    """Address, time, type and what it says; a grain that is no longer live is marked ``(not live)``."""
    digits = unique_length(grain.address for grain in grains)
    return [clip(_line(grain, digits), width) for grain in grains]


def _line(grain: Shown, digits: int) -> str:
    mark = "" if grain.live else "(not live) "
    said = plain(says(grain.fields))
    return f"{short(grain.address, digits)}  {utc(grain.created_at)}  {grain.type:<11} {mark}{said}"
