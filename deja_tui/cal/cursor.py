# SPDX-License-Identifier: Apache-2.0
"""A place in a list of tokens, with the small reads every part of the grammar is made of.

* PARSE-1  One token of look-ahead decides; nothing is tried and taken back, so parsing is linear.
* PARSE-2  Everything that nests counts against one depth of `words.MAX_DEPTH` (CAL-E007), so the parser's own
  recursion is bounded whatever the text.
* PARSE-3  An error points at the token it is about and says what could have stood there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from deja_tui.cal import ast
from deja_tui.cal.faults import CalError, Span, fault
from deja_tui.cal.lexer import END, HASH, NUMBER, PARAM, STRING, WORD, Token, number_value, string_value
from deja_tui.cal.words import MAX_DEPTH, REFUSED


class Cursor:
    """Reads tokens from left to right."""

    __slots__ = ("depth", "i", "text", "tokens")

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.i = 0
        self.depth = 0

    # --- looking ---

    @property
    def token(self) -> Token:
        return self.tokens[self.i]

    def at(self, word: str) -> bool:
        """Whether the next token is this keyword or sign."""
        return self.tokens[self.i][2] == word

    def after(self, word: str, ahead: int = 1) -> bool:
        """Whether the token ``ahead`` places behind the next one is this keyword or sign."""
        place = self.i + ahead
        return place < len(self.tokens) and self.tokens[place][2] == word

    def take(self, word: str) -> bool:
        """Step over this keyword or sign if it is next."""
        if self.tokens[self.i][2] == word:
            self.i += 1
            return True
        return False

    def need(self, word: str) -> Token:
        """Step over this keyword or sign. Raises CAL-E002."""
        token = self.tokens[self.i]
        if token[2] != word:
            raise self.unexpected(word)
        self.i += 1
        return token

    def span(self, start: int) -> Span:
        """From character ``start`` to the end of the token before this one."""
        return start, self.tokens[self.i - 1][4] if self.i else start

    # --- refusing ---

    def fail(
        self, code: str, message: str, span: Span | None = None, next_step: str = "", *expected: str
    ) -> CalError:
        return fault(code, message, self.text, span or self.token.span, next_step, expected)

    def unexpected(self, *expected: str) -> CalError:
        """CAL-E002 about the next token."""
        token = self.token
        if token.kind == END:
            return self.fail("CAL-E002", "the statement ends too early", None, "", *expected)
        if token.upper in REFUSED:
            return self.refused(token)
        return self.fail("CAL-E002", f"unexpected {_told(token)}", None, "", *expected)

    def refused(self, token: Token) -> CalError:
        return self.fail(
            "CAL-E002",
            f"the language has no {token.upper}",
            token.span,
            "Bulk destruction and administration are not part of it.",
        )

    @contextmanager
    def inside(self) -> Iterator[None]:
        """One level deeper (PARSE-2). Raises CAL-E007."""
        if self.depth >= MAX_DEPTH:
            raise self.fail("CAL-E007", f"nested deeper than {MAX_DEPTH}")
        self.depth += 1
        yield
        self.depth -= 1

    # --- names ---

    def word(self, *expected: str) -> Token:
        """Any word that is not refused. Raises CAL-E002."""
        token = self.tokens[self.i]
        if token[0] != WORD or token[2] in REFUSED:
            raise self.unexpected(*(expected or ("a name",)))
        self.i += 1
        return token

    def field(self) -> ast.Field:
        token = self.word("a field")
        return ast.Field(token[1], (token[3], token[4]))

    # --- values ---

    def string(self, *expected: str) -> str:
        token = self.tokens[self.i]
        if token[0] != STRING:
            raise self.unexpected(*(expected or ("a text in double quotes",)))
        self.i += 1
        return string_value(token)

    def value(self) -> ast.Value:
        """A text, number, boolean, address, parameter or list."""
        token = self.tokens[self.i]
        kind = token[0]
        span = (token[3], token[4])
        if kind == STRING:
            self.i += 1
            return ast.Constant(string_value(token), span)
        if kind == NUMBER:
            self.i += 1
            return ast.Constant(self._number(token), span)
        if kind == PARAM:
            self.i += 1
            return ast.Param(token[1][1:], span)
        if kind == HASH:
            return self.address()
        if kind == WORD and token[2] in ("TRUE", "FALSE"):
            self.i += 1
            return ast.Constant(token[2] == "TRUE", span)
        if token[2] == "[":
            return self.items()
        raise self.unexpected(
            "a text in double quotes", "a number", "true", "false", "an address", "$name", "["
        )

    def _number(self, token: Token) -> int | float:
        value = number_value(token)
        if value is None:
            raise self.fail("CAL-E006", "not a number that can be held", token.span)
        return value

    def items(self) -> ast.Items:
        start = self.need("[").start
        with self.inside():
            values = [self.value()]
            while self.take(","):
                values.append(self.value())
            self.need("]")
        return ast.Items(tuple(values), self.span(start))

    def text_value(self) -> ast.Value:
        """A text or a parameter."""
        token = self.tokens[self.i]
        if token[0] not in (STRING, PARAM):
            raise self.unexpected("a text in double quotes", "$name")
        return self.value()

    def time_value(self) -> ast.Value:
        token = self.tokens[self.i]
        if token[0] not in (STRING, NUMBER, PARAM):
            raise self.unexpected("a time in double quotes", "epoch milliseconds", "$name")
        return self.value()

    def whole(self) -> ast.Value:
        """A whole number of 0 or more, or a parameter. Raises CAL-E002, CAL-E006."""
        token = self.tokens[self.i]
        if token[0] == PARAM:
            return self.value()
        if token[0] != NUMBER:
            raise self.unexpected("a number", "$name")
        number = self._number(token)
        if not isinstance(number, int) or number < 0:
            raise self.fail("CAL-E006", "a whole number is needed here")
        self.i += 1
        return ast.Constant(number, (token[3], token[4]))

    def address(self) -> ast.HashText | ast.Param:
        """``sha256:…`` or a parameter. Raises CAL-E002, CAL-E015."""
        token = self.tokens[self.i]
        if token[0] == PARAM:
            self.i += 1
            return ast.Param(token[1][1:], (token[3], token[4]))
        if token[0] != HASH:
            raise self.unexpected("sha256: and 64 hex digits", "$name")
        digits = token[1][7:].lower()
        if len(digits) > 64:
            raise self.fail("CAL-E015", "an address has 64 hex digits, not more")
        self.i += 1
        return ast.HashText(digits, (token[3], token[4]))

    def full_address(self) -> ast.HashText | ast.Param:
        found = self.address()
        if isinstance(found, ast.HashText) and len(found.digits) < 64:
            raise self.fail(
                "CAL-E015",
                f"the address has {len(found.digits)} of 64 hex digits",
                found.span,
                "Give it in full; `deja search` and RECALL … HASHES show addresses.",
            )
        return found


def _told(token: Token) -> str:
    shown = token.text if len(token.text) <= 24 else token.text[:23] + "…"
    return f"{'word' if token.kind == WORD else token.kind} {shown}"
