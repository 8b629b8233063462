# SPDX-License-Identifier: Apache-2.0
"""What helps while a statement is typed: the words that complete it, and the kind of each piece of a line.

Used by the shell of the command line and by the Query screen of the console, so that both offer the same words.

* PIECE-1  The pieces of a line put together are the line: what is shown is what was typed.
* PIECE-2  A line that is no statement yet keeps the kinds of what stands before the place that is wrong.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from deja_tui.cal.faults import CalError
from deja_tui.cal.fields import ANY_TYPE
from deja_tui.cal.lexer import STRING, WORD, tokens
from deja_tui.cal.words import FORMATS, KEYWORDS, OPTIONS, PLURALS
from deja_tui.errors import DejaError

KEYWORD: Final = "keyword"
_BEGUN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
_KEPT_LINES: Final = 256


@lru_cache(maxsize=1)
def words() -> tuple[str, ...]:
    """What completion offers: words of the language in both cases, types, fields, formats, options.

    It goes on in the case that was begun: RECA is RECALL alone, not the field recall_priority too.
    """
    return tuple(sorted({*KEYWORDS, *map(str.lower, KEYWORDS), *PLURALS, *ANY_TYPE, *FORMATS, *OPTIONS}))


class Completion(NamedTuple):
    """How a word can go on.

    Attributes:
        start: where the word begins in the text.
        words: those that begin like it, sorted; empty where none does or nothing was begun.
        common: as far as all of them are the same.
    """

    start: int
    words: tuple[str, ...]
    common: str


def completion(text: str, caret: int) -> Completion:
    """The words that continue the one before the caret. Inside a string there are none."""
    begun = _BEGUN.search(text, 0, caret)
    if begun is None or text.count('"', 0, caret) % 2:
        return Completion(caret, (), "")
    fitting = tuple(word for word in words() if word.startswith(begun.group()) and word != begun.group())
    return Completion(begun.start(), fitting, _common(fitting))


@lru_cache(maxsize=_KEPT_LINES)
def styled(line: str) -> tuple[tuple[str, str], ...]:
    """Pieces of a line with the kind of each: `KEYWORD`, a kind of `lexer`, or "" (PIECE-1)."""
    kind, reach = "", len(line)
    try:
        text, found = tokens(line)
    except DejaError as error:
        kind, reach = _wrong(error)
        try:
            text, found = tokens(line[:reach])
        except DejaError:
            return (("", line),)
    if text != line[:reach]:
        return (("", line),)  # normalising moved the places
    pieces: list[tuple[str, str]] = []
    at = 0
    for token in found:
        if token.start > at:
            pieces.append(("", text[at : token.start]))
        named = KEYWORD if token.kind == WORD and token.upper in KEYWORDS else token.kind
        if token.end > token.start:
            pieces.append((named, text[token.start : token.end]))
        at = token.end
    return (*pieces, ("", text[at:]), (kind, line[reach:]))


def _wrong(error: DejaError) -> tuple[str, int]:
    """What stands from the place of an error on, and where that is."""
    if not isinstance(error, CalError) or error.place is None:
        return "", 0
    return STRING if error.code == "CAL-E005" else "", error.place.column - 1


def _common(found: tuple[str, ...]) -> str:
    """The beginning that sorted words share: the first and the last of them tell."""
    if not found:
        return ""
    first, last = found[0], found[-1]
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[:same]
