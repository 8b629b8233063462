# SPDX-License-Identifier: Apache-2.0
"""The words of a grain: the text that is indexed, and the same treatment for what is asked (D30).

* INV-PROJ-1  `text_of` is a pure function of the grain's bytes, versioned by `layout.PROJECTION`: the index can only delete
  a row when it is given the very text it was made from. It uses fixed character ranges, no Unicode tables of the
  running Python.
* INV-PROJ-2  `spread` is applied to grain text and, through `pieces`, to a query, so both meet in the same form, quoted too:
  scripts without blanks as pairs of characters, Arabic without vowel marks and stretching.
* INV-PROJ-3  Grains in a reserved namespace have no words: the loop's own records are not found by search.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from deja_tui.store.names import is_reserved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

_LONGEST: Final = 65_536
_DEEPEST: Final = 8

_FIELDS: Final = (
    "subject",
    "relation",
    "object",
    "tool_name",
    "name",
    "description",
    "content",
    "tool_content",
    "result",
    "error",
    "failure_detail",
    "body",
    "text",
    "instructions",
    "when_to_use",
    "criteria",
    "state_reason",
    "conclusion",
    "agreed_content",
    "domain",
    "embedding_text",
)
_NESTED: Final = ("input", "premises", "plan", "structural_tags")

# Vowel marks, Quranic marks and the stretching bar: writers add or leave them as they like.
_ARABIC_MARKS: Final = (
    "[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]"
)
# Scripts written without blanks (Han, kana, Thai, Lao, Burmese, Khmer) or gluing particles to words (Hangul).
_UNSPACED: Final = (
    "[\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u1049\u1100-\u11ff\u1780-\u17d3\u3005-\u3007\u3041-\u3096\u3099\u309a"
    "\u309d-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)


@cache
def _pattern(of: str) -> re.Pattern[str]:
    return re.compile(of)  # at first use: compiling both costs a process more than it needs for ASCII


def text_of(type_: str, namespace: str, fields: Mapping[str, Any]) -> str:
    """The text under which a grain is found; "" when it has none. At most 65,536 characters count."""
    if is_reserved(namespace):
        return ""
    parts = [value for name in _FIELDS if isinstance(value := fields.get(name), str) and value]
    for name in _NESTED:
        if name in fields:
            parts.extend(_strings(fields[name], 0))
    if type_ == "state":
        parts.extend(_strings(fields.get("context"), 0))
    return spread(" \n".join(parts)[:_LONGEST])


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < _DEEPEST and isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item, depth + 1)
    elif depth < _DEEPEST and isinstance(value, list):
        for item in value:
            yield from _strings(item, depth + 1)


def spread(text: str) -> str:
    """``text`` with Arabic marks gone and every run of an unspaced script as overlapping pairs and its last letter.

    The last letter stands alone so that one letter, asked as a prefix, is found wherever it is in a run.
    """
    if text.isascii():
        return text
    return _pattern(_UNSPACED).sub(_pairs_and_last, _pattern(_ARABIC_MARKS).sub("", text))


def _pairs_and_last(match: re.Match[str]) -> str:
    run = match.group()
    return f" {_pairs(run)} {run[-1]} " if len(run) > 1 else f" {run} "


def _pairs(run: str) -> str:
    return " ".join(run[i : i + 2] for i in range(len(run) - 1))


def pieces(query: str) -> Iterator[tuple[str, bool]]:
    """What a query asks for: each text to be matched as a phrase, and whether its last word is only the start of one.

    What stands between two double quotes is one phrase; elsewhere blanks separate. A star at the end means a start.
    """
    if not query.isascii():
        query = _pattern(_ARABIC_MARKS).sub("", query)
    parts = query.split('"')
    for number, part in enumerate(parts):
        if number % 2 == 0 or number == len(parts) - 1:  # a quote that nothing closes means nothing
            yield from _plain(part)
        elif part.strip():
            star = parts[number + 1].startswith("*") or part.endswith("*")
            text, opened = _phrase(part)
            yield text, star or opened


def _plain(query: str) -> Iterator[tuple[str, bool]]:
    for chunk in query.split():
        star = chunk.endswith("*")
        if chunk.isascii():
            yield chunk, star
            continue
        start = 0
        for match in _pattern(_UNSPACED).finditer(chunk):
            if match.start() > start:
                yield chunk[start : match.start()], False
            run = match.group()
            yield (_pairs(run), False) if len(run) > 1 else (run, True)
            start = match.end()
        if start < len(chunk):
            yield chunk[start:], star


def _phrase(text: str) -> tuple[str, bool]:
    """A quoted text as it stands in a projection, and whether a run of one letter ends it, which may go on there."""
    if text.isascii():
        return text, False
    text = text.rstrip()
    opened = False

    def within(match: re.Match[str]) -> str:
        nonlocal opened
        run = match.group()
        if match.end() < len(text):
            return _pairs_and_last(match)
        opened = len(run) == 1
        return f" {run if opened else _pairs(run)}"

    return _pattern(_UNSPACED).sub(within, text), opened
