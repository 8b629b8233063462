# SPDX-License-Identifier: Apache-2.0
"""Commands in a next step name the memory they are about, so that they can be typed as they stand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from shlex import quote
from typing import Final

from deja_tui.text import clean

_ELSEWHERE: Final = ("demo", "completion", "ui")
"""Verbs without ``--db``: they name their file, or need none."""
_GROUPS: Final = ("loop", "audit", "doc", "segments", "hook")
_BEGIN: Final = re.compile(r"\bdeja ([a-z][a-z-]*)")
_WORD: Final = re.compile(r" ([a-z][a-z-]*)")
_VALUED: Final = ("--status", "--only", "--framework", "--template", "--os")
_ARGUMENT: Final = re.compile(
    rf" (?:(?:{'|'.join(_VALUED)}) [\w/.-]+|--?[a-z][a-z-]*|[A-Z][A-Z]*|…|'[^']*'|[a-z]+[_.][\w./=-]+|claude-code|mcp|[0-9a-f]{{8,64}})(?![\w.=])"
)


def option(db: Path | None) -> str:
    """`` --db FILE`` as a shell takes it; nothing where the verb was not told a file, because the next one finds the same."""
    return "" if db is None else f" --db {clean(quote(str(db)))}"


def placed(told: str, db: Path | None) -> str:
    """A sentence with ``--db FILE`` behind every command in it that lacks one."""
    named = option(db)
    if not named:
        return told
    parts, at = [], 0
    for begin in _BEGIN.finditer(told):
        end = _end(told, begin)
        if begin.start() >= at and end is not None:
            parts += [told[at:end], named]
            at = end
    return "".join([*parts, told[at:]])


def _end(told: str, begin: re.Match[str]) -> int | None:
    """Where a command ends; None: it is none, or it names its file."""
    from deja_tui.cli.app import deja

    if begin[1] not in deja.verbs or begin[1] in _ELSEWHERE:
        return None
    end = begin.end()
    if begin[1] in _GROUPS and (second := _WORD.match(told, end)):
        end = second.end()
    while argument := _ARGUMENT.match(told, end):
        end = argument.end()
    return None if " --db" in told[begin.start() : end] else end


def file_of(argv: Sequence[str]) -> Path | None:
    """The file that a command line names with ``--db``; the last one counts."""
    found = None
    for word, after in zip_longest(argv, argv[1:]):
        if word in ("--db", "-d") and after is not None:
            found = after
        elif word.startswith("--db="):
            found = word.removeprefix("--db=")
    return None if found is None else Path(found)
