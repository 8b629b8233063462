# SPDX-License-Identifier: Apache-2.0
"""The grammar of conditions: NOT binds tighter than AND, AND tighter than OR."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deja_tui.cal import ast
from deja_tui.cal.cursor import Cursor
from deja_tui.cal.lexer import PARAM
from deja_tui.cal.words import CATEGORIES, EXTRACTS, MAX_IN

_SIGNS: Final = frozenset(("=", "!=", "<", "<=", ">", ">="))
_OPERATORS: Final = (
    "=",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "IN",
    "NOT IN",
    "IS",
    "CONTAINS",
    "STARTS WITH",
    "INCLUDE",
    "EXCLUDE",
)


class ConditionParser(Cursor):
    """Parses what may follow WHERE."""

    __slots__ = ()

    if TYPE_CHECKING:

        def recall(self) -> ast.Recall: ...

    def condition(self) -> ast.Condition:
        first = self._and()
        if self.tokens[self.i][2] != "OR":
            return first
        parts = [first]
        while self.take("OR"):
            parts.append(self._and())
        return ast.Or(tuple(parts))

    def _and(self) -> ast.Condition:
        first = self._not()
        if self.tokens[self.i][2] != "AND":
            return first
        parts = [first]
        while self.take("AND"):
            parts.append(self._not())
        return ast.And(tuple(parts))

    def _not(self) -> ast.Condition:
        if self.take("NOT"):
            return ast.Not(self._primary())
        return self._primary()

    def _primary(self) -> ast.Condition:
        if self.tokens[self.i][2] != "(":
            return self._test()
        with self.inside():
            self.i += 1
            found = self.condition()
            self.need(")")
        return found

    def _test(self) -> ast.Condition:
        field = self.field()
        start = field.span[0]
        op = self.tokens[self.i][2]
        if op in _SIGNS:
            self.i += 1
            value = self.value()
            return ast.Compare(field, op, value, (start, value.span[1]))
        self.i += 1
        match op:
            case "IN":
                return ast.Member(field, False, self._members(), self.span(start))
            case "NOT":
                self.need("IN")
                return ast.Member(field, True, self._members(), self.span(start))
            case "IS":
                return self._is(field)
            case "CONTAINS":
                return ast.Compare(field, op, self.text_value(), self.span(start))
            case "STARTS":
                self.take("WITH")
                return ast.Compare(field, op, self.text_value(), self.span(start))
            case "INCLUDE" | "EXCLUDE":
                values = self.items().values
                return ast.Tagged(field, op, values, self.span(start))
            case "BETWEEN":
                low = self.time_value()
                self.need("AND")
                return ast.Between(field, low, self.time_value(), self.span(start))
        self.i -= 1
        raise self.unexpected(*_OPERATORS)

    def _is(self, field: ast.Field) -> ast.Condition:
        start = field.span[0]
        negated = self.take("NOT")
        if self.take("NULL"):
            return ast.Null(field, negated, self.span(start))
        if negated:
            raise self.unexpected("NULL")
        token = self.token
        if token.upper not in CATEGORIES:
            raise self.unexpected("NULL", "NOT NULL", *CATEGORIES)
        self.i += 1
        return ast.Category(field, token.upper, self.span(start))

    def _members(self) -> tuple[ast.Value, ...] | ast.Subquery:
        if self.tokens[self.i][0] == PARAM:
            return (self.value(),)
        opened = self.need("(")
        with self.inside():
            if self.at("RECALL"):
                found: tuple[ast.Value, ...] | ast.Subquery = self._subquery(opened.start)
            else:
                values = [self.value()]
                while self.take(","):
                    values.append(self.value())
                if len(values) > MAX_IN:
                    raise self.fail(
                        "CAL-E011",
                        f"IN lists {len(values)} values, at most {MAX_IN}",
                        self.span(opened.start),
                    )
                found = tuple(values)
            self.need(")")
        return found

    def _subquery(self, start: int) -> ast.Subquery:
        recall = self.recall()
        self.take("|")
        token = self.token
        if token.upper not in EXTRACTS:
            raise self.unexpected(*sorted(EXTRACTS))
        self.i += 1
        return ast.Subquery(recall, token.upper, self.span(start))
