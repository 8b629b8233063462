# SPDX-License-Identifier: Apache-2.0
"""Text to tokens.

* LEX-1  The order of checks is: length, empty, reversing characters, then tokens (CAL-E001, E014, E070, E002).
* LEX-2  Text is normalised once, before it is split (`text.door`); spans count characters of the normalised text.
* LEX-3  Every character is looked at a bounded number of times: the work is linear in the text.
* LEX-4  A template section (``HEADER {``) is one raw token up to its matching brace.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from deja_tui.cal.faults import CalError, Span, fault
from deja_tui.cal.words import MAX_BYTES, SECTIONS
from deja_tui.text import door

WORD, STRING, NUMBER, HASH, PARAM, SIGN, RAW, END = (
    "word",
    "string",
    "number",
    "hash",
    "param",
    "sign",
    "raw",
    "end",
)


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: one of the constants of this module.
        text: as written, normalised.
        upper: a word in capitals, a sign as it is, else "": what a keyword is compared with.
    """

    kind: str
    text: str
    upper: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return self.start, self.end


_REVERSING: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
_SKIP: Final = re.compile(r"(?:[ \t\r\n\f\v]+|--[^\n]*+)*+")
_TOKEN: Final = re.compile(
    r"""(?:[ \t\r\n\f\v]++|--[^\n]*+)*+
    (?:(sha256:[0-9A-Fa-f]{8,}+)
    |([A-Za-z_][A-Za-z0-9_]*+(?:\.[A-Za-z_][A-Za-z0-9_]*+)*+)
    |("[^"\\]*+(?:\\.[^"\\]*+)*+")
    |(-?[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+)
    |(\$[A-Za-z_][A-Za-z0-9_]*+)
    |(<=|>=|!=|[=<>(){}\[\],:;|/*]))""",
    re.VERBOSE | re.DOTALL,
)
_KINDS: Final = ("", HASH, WORD, STRING, NUMBER, PARAM, SIGN)
_SECTIONS: Final = frozenset(SECTIONS)
_BRACES: Final = re.compile(r"\{\{|\}\}|[{}]")


def tokens(text: str, limit: int = MAX_BYTES) -> tuple[str, list[Token]]:
    """The normalised text and its tokens, the last one being an END.

    Args:
        text: a statement, or a script.
        limit: bytes of UTF-8 that are allowed.

    Raises:
        CalError: CAL-E001, CAL-E002, CAL-E005, CAL-E014, CAL-E070.
    """
    if len(text) * 4 > limit and len(text.encode("utf-8", "surrogatepass")) > limit:
        raise CalError(
            "CAL-E001", f"the text is longer than {limit:,} bytes", "Split it into several statements."
        )
    kept = door(text) if not text.isascii() or "\0" in text else text
    found = _SKIP.match(kept)
    if found is None or found.end() == len(kept):
        raise CalError(
            "CAL-E014", "there is no statement", 'Write one, for example RECALL facts WHERE subject = "acme".'
        )
    if not kept.isascii() and (turned := _REVERSING.search(kept)):
        raise fault(
            "CAL-E070", "a character that reverses reading direction", kept, turned.span(), "Take it out."
        )
    return kept, _split(kept)


def _split(text: str) -> list[Token]:
    out: list[Token] = []
    add, new = out.append, tuple.__new__
    match = _TOKEN.match
    position, size = 0, len(text)
    while found := match(text, position):
        index = found.lastindex or 0
        kind = _KINDS[index]
        word = found[index]
        position = found.end()
        upper = word.upper() if kind is WORD else word if kind is SIGN else ""
        add(new(Token, (kind, word, upper, position - len(word), position)))
        if upper in _SECTIONS:
            position = _raw(text, position, out)
    rest = _SKIP.match(text, position)
    position = rest.end() if rest else position
    if position < size:
        raise _no_token(text, position)
    add(Token(END, "", "", size, size))
    return out


def _raw(text: str, position: int, out: list[Token]) -> int:
    """Append the raw section that follows a section word, if one does; the position behind it (LEX-4)."""
    opened = _SKIP.match(text, position)
    start = opened.end() if opened else position
    if text[start : start + 1] != "{":
        return position
    depth, at, inside = 1, start + 1, False  # inside {{ … }}
    while found := _BRACES.search(text, at):
        sign, at = found.group(), found.end()
        if sign == "{{":
            inside = True
        elif sign == "}}" and inside:
            inside = False
        elif sign == "{":
            depth += 1
        else:  # one closing brace; of two that close no {{ the second is looked at again
            at = found.start() + 1
            depth -= 1
            if depth == 0:
                out.append(Token(RAW, text[start + 1 : at - 1], "", start, at))
                return at
    raise fault("CAL-E002", "a section is not closed", text, (start, start + 1), expected=("}",))


def _no_token(text: str, position: int) -> CalError:
    char = text[position]
    span = (position, position + 1)
    if char == '"':
        return fault("CAL-E005", "a string is not closed", text, span, 'End it with ".')
    if char == "'":
        return fault("CAL-E002", "strings stand in double quotes", text, span, expected=('"',))
    return fault("CAL-E002", "a sign the language does not have", text, span)


_ESCAPES: Final = re.compile(r"\\(.)", re.DOTALL)
_MEANT: Final = {'"': '"', "\\": "\\", "n": "\n", "t": "\t", "r": "\r"}


def string_value(token: Token) -> str:
    """The text a string token stands for; an unknown pair after a backslash is kept as written."""
    inner = token.text[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPES.sub(lambda found: _MEANT.get(found[1], found[0]), inner)


def number_value(token: Token) -> int | float | None:
    """The number of a number token; a whole one as int. None when no double holds it."""
    if len(token.text) > 40:
        return None
    try:
        value = float(token.text)
    except ValueError:
        return None
    if value in (float("inf"), float("-inf")):
        return None
    if "." not in token.text and "e" not in token.text and "E" not in token.text:
        return int(token.text)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
