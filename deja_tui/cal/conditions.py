# SPDX-License-Identifier: Apache-2.0
"""Conditions with their fields found and their values given, and the evaluator that decides about one grain.

* COND-1  `matcher` is the authority: what it says of a row is what WHERE means. Whatever an index does may only
  nominate (`lower`).
* COND-2  Two-valued logic: a comparison with a missing field, or with a value of another kind, is false; NOT of it is
  true. IS NULL asks whether a field is missing; EXCLUDE holds of a missing list.
* COND-3  A condition that cannot be applied to a field is refused when it is bound, never dropped.
* COND-4  Text compares by code point on NFC text, exactly (D11).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from deja_tui.cal import ast
from deja_tui.cal.faults import CalError, Span, fault, warning
from deja_tui.cal.fields import Known, hint, known
from deja_tui.cal.rows import Row
from deja_tui.cal.times import EXPECTED, span_of
from deja_tui.cal.words import CATEGORIES, KEYWORDS, MAX_BOUND_VALUES, MG_RELATIONS
from deja_tui.text import door

Matcher = Callable[[Row], bool]


@dataclass(frozen=True, slots=True)
class Test:
    """One comparison, ready to be made. ``value`` is of the kind of the field; a span for times."""

    field: Known
    op: str
    value: Any
    node: ast.Condition


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class AnyPart:
    parts: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class No:
    part: Bound


Bound = Test | All | AnyPart | No


class Unbound:
    """What stands for a parameter while a saved query is checked: it fits every field."""


UNBOUND: Final = Unbound()


@dataclass(slots=True)
class Env:
    """What a statement is bound with.

    Attributes:
        text: the statement, for places of errors.
        now: epoch ms.
        params: values by parameter name, texts already normalised.
        lists: bindings of LET; they stand in IN only.
        subquery: reads the values of a RECALL inside IN.
        warnings: collected on the way.
        checking: parameters have no value yet, `UNBOUND` stands for them.
    """

    text: str
    now: int
    params: Mapping[str, Any] = field(default_factory=dict)
    lists: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    subquery: Callable[[ast.Subquery], tuple[Any, ...]] | None = None
    warnings: list[str] = field(default_factory=list)
    checking: bool = False

    def fail(self, code: str, message: str, span: Span, next_step: str = "", *expected: str) -> CalError:
        return fault(code, message, self.text, span, next_step, expected)

    def param(self, node: ast.Param) -> Any:
        """The value of a parameter. Raises CAL-E008."""
        if node.name in self.params:
            return self.params[node.name]
        told = f"${node.name} has no value"
        if node.name in self.lists:
            raise self.fail("CAL-E008", f"{told} here: a binding stands in IN only", node.span)
        raise self.fail("CAL-E008", told, node.span, f"Give params={{'{node.name}': …}}.")

    def value(self, node: ast.Value) -> Any:
        """The plain value of a constant, parameter or list; an address as its digits."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Param():
                return self.param(node)
            case ast.HashText(digits=digits):
                return digits
            case ast.Items(values=values):
                return [self.value(item) for item in values]

    def text_of(self, node: ast.Value) -> str:
        """A text. Raises CAL-E008, CAL-E020."""
        value = self.value(node)
        if value is UNBOUND:
            return ""
        if not isinstance(value, str):
            raise self.fail("CAL-E020", "a text is needed here", node.span)
        return value

    def whole(self, node: ast.Value) -> int:
        """A whole number of 0 or more. Raises CAL-E006, CAL-E008."""
        value = self.value(node)
        if value is UNBOUND:
            return 1
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.fail("CAL-E006", "a whole number is needed here", node.span)
        return value

    def span(self, node: ast.Value) -> tuple[int, int]:
        """A span of time. Raises CAL-E008, CAL-E020."""
        value = self.value(node)
        if value is UNBOUND:
            return 0, 0
        found = span_of(value, self.now)
        if found is None:
            raise self.fail("CAL-E020", "this is no time", node.span, "", *EXPECTED)
        return found

    def address(self, node: ast.HashText | ast.Param) -> str:
        """64 hex digits. Raises CAL-E008, CAL-E015."""
        value = self.value(node)
        if value is UNBOUND:
            return "0" * 64
        digits = address_digits(value)
        if digits is None:
            raise self.fail("CAL-E015", "an address has 64 hex digits", node.span)
        return digits


_HEX: Final = frozenset("0123456789abcdef")


def address_digits(value: object) -> str | None:
    """The digits of an address given as text, with or without ``sha256:``; None when it is none."""
    if not isinstance(value, str):
        return None
    digits = value.removeprefix("sha256:").lower()
    return digits if len(digits) == 64 and _HEX.issuperset(digits) else None


# --- binding ----------------------------------------------------------------------------------------

_SCALAR: Final = frozenset(("text", "number", "flag", "hash", "any"))
_ORDERED: Final = frozenset(("<", "<=", ">", ">="))


class Binder:
    """Turns a parsed condition into a bound one, for one type or for all.

    Args:
        env: values and places.
        type_: the type the condition is about; None where no type is named.
        rows: the condition filters rows that were fetched already, so a namespace is a field like any other.
    """

    def __init__(self, env: Env, type_: str | None, *, rows: bool = False) -> None:
        self._env = env
        self._type = type_
        self._rows = rows

    def bind(self, node: ast.Condition) -> Bound:
        match node:
            case ast.Compare():  # first, because nearly every condition is one
                return self._compare(node)
            case ast.And(parts=parts):
                return All(tuple([self.bind(part) for part in parts]))
            case ast.Or(parts=parts):
                return AnyPart(tuple([self.bind(part) for part in parts]))
            case ast.Not(part=part):
                return No(self.bind(part))
            case ast.Member():
                return self._member(node)
            case ast.Null(field=name, negated=negated):
                return Test(self.field(name), "not null" if negated else "null", None, node)
            case ast.Category():
                return self._category(node)
            case ast.Tagged():
                return self._tagged(node)
            case ast.Between():
                return self._between(node)

    def field(self, node: ast.Field) -> Known:
        """The field of that name. Raises CAL-E060, or CAL-E002 for a word of the language that is no field."""
        found = known(self._type, node.name)
        if found is None:
            if node.name.upper() in KEYWORDS and known(None, node.name.lower()) is None:
                raise self._fail("CAL-E002", f"{node.name} is a word of the language, not a field", node.span)
            whose = f"{self._type} has" if self._type else "there is"
            raise self._fail(
                "CAL-E060", f"{whose} no field {node.name[:32]}", node.span, hint(self._type, node.name)
            )
        if not self._rows and found.kind == "query":
            raise self._fail(
                "CAL-E060",
                "query can only be given once, joined by AND",
                node.span,
                'Write ABOUT "…" after the type.',
            )
        if not self._rows and found.name == "namespace":
            raise self._fail(
                "CAL-E060",
                "a namespace is chosen for the whole statement",
                node.span,
                'Write namespace = "…" or namespace IN (…), joined by AND to the rest.',
            )
        return found

    def _fail(self, code: str, message: str, span: Span, next_step: str = "") -> CalError:
        return self._env.fail(code, message, span, next_step)

    def _compare(self, node: ast.Compare) -> Test:
        found = self.field(node.field)
        if found.kind == "time":
            return Test(found, node.op, self._time(node), node)
        if found.kind not in _SCALAR:
            raise self._inapplicable(found, node.op, node.span)
        if node.op in ("CONTAINS", "STARTS"):
            if found.kind not in ("text", "hash", "any"):
                raise self._fail("CAL-E020", f"{found.name} is no text", node.span)
            return Test(found, node.op, self._env.text_of(node.value), node)
        if node.op in _ORDERED and found.kind in ("flag", "hash"):
            raise self._inapplicable(found, node.op, node.span)
        value = self.value(found, node.value)
        self._check_relation(found, (value,))
        return Test(found, node.op, value, node)

    def _time(self, node: ast.Compare) -> tuple[int, int]:
        if node.op not in _ORDERED and node.op not in ("=", "!="):
            raise self._fail("CAL-E020", "time is no text", node.span)
        return self._env.span(node.value)

    def _between(self, node: ast.Between) -> Test:
        found = self.field(node.field)
        if found.kind != "time" and found.name != "created_at":
            raise self._inapplicable(found, "BETWEEN", node.span)
        span = (self._env.span(node.low)[0], self._env.span(node.high)[1])
        return Test(known(None, "time") or found, "=", span, node)

    def _member(self, node: ast.Member) -> Test:
        found = self.field(node.field)
        if found.kind not in _SCALAR:
            raise self._inapplicable(found, "IN", node.span)
        if isinstance(node.values, ast.Subquery):
            read = self._env.subquery
            values = (
                ()
                if read is None
                else tuple(value for value in read(node.values) if self._fits(found, value))
            )
        else:
            values = tuple(value for item in node.values for value in self._members(found, item))
        if len(values) > MAX_BOUND_VALUES:
            raise self._fail("CAL-E036", f"a binding holds more than {MAX_BOUND_VALUES} values", node.span)
        self._check_relation(found, values)
        return Test(found, "not in" if node.negated else "in", values, node)

    def _members(self, found: Known, node: ast.Value) -> tuple[Any, ...]:
        """The values one entry of IN stands for: a binding or a list parameter stands for several."""
        if isinstance(node, ast.Param):
            if node.name in self._env.lists:
                return tuple(value for value in self._env.lists[node.name] if self._fits(found, value))
            given = self._env.param(node)
            if isinstance(given, (list, tuple)):
                return tuple(self.fit(found, value, node.span) for value in given)
        return (self.value(found, node),)

    def _category(self, node: ast.Category) -> Test:
        found = self.field(node.field)
        if found.name != "relation":
            raise self._inapplicable(found, f"IS {node.name}", node.span)
        return Test(found, "in", CATEGORIES[node.name], node)

    def _tagged(self, node: ast.Tagged) -> Test:
        found = self.field(node.field)
        if found.kind not in ("list", "any"):
            raise self._inapplicable(found, node.op, node.span)
        return Test(found, node.op, tuple(self._env.value(item) for item in node.values), node)

    def _inapplicable(self, found: Known, op: str, span: Span) -> CalError:
        can = {"list": "INCLUDE, EXCLUDE or IS NULL", "map": "IS NULL", "flag": "= or IN", "hash": "= or IN"}
        step = f"{found.name} takes {can[found.kind]}." if found.kind in can else ""
        return self._fail("CAL-E060", f"{op} cannot be applied to {found.name}", span, step)

    # --- values ---

    def value(self, found: Known, node: ast.Value) -> Any:
        """The value of ``node``, of the kind of the field. Raises CAL-E008, CAL-E015, CAL-E020."""
        if isinstance(node, ast.HashText) and found.kind != "hash":
            raise self._fail("CAL-E020", f"{found.name} is no address", node.span)
        return self.fit(found, self._env.value(node), node.span)

    def fit(self, found: Known, value: Any, span: Span) -> Any:
        if value is UNBOUND:
            return value
        if found.kind == "hash":
            digits = address_digits(value)
            if digits is None:
                raise self._fail("CAL-E015", "an address has 64 hex digits", span)
            return digits
        if not self._fits(found, value):
            raise self._fail("CAL-E020", f"{found.name} is {_MEANT[found.kind]}, not {_told(value)}", span)
        return value

    def _fits(self, found: Known, value: Any) -> bool:
        if found.kind == "hash":
            return address_digits(value) is not None
        return _of_kind(found.kind, value)

    def _check_relation(self, found: Known, values: tuple[Any, ...]) -> None:
        if found.name == "relation":
            for value in values:
                if isinstance(value, str) and value.startswith("mg:") and value not in MG_RELATIONS:
                    self._env.warnings.append(warning("CAL-W001", value[:64]))


_MEANT: Final = {"text": "text", "number": "a number", "flag": "true or false", "any": "one value"}


def _of_kind(kind: str, value: Any) -> bool:
    if kind == "text":
        return isinstance(value, str)
    if kind == "flag":
        return isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, (str, int, float, bool))


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    return "a text" if isinstance(value, str) else "a list"


# --- deciding ---------------------------------------------------------------------------------------


def matcher(bound: Bound) -> Matcher:
    """A function that decides about one row (COND-1). Recursion ends where the parser's depth does."""
    match bound:
        case All(parts=parts):
            return _all(tuple(matcher(part) for part in parts))
        case AnyPart(parts=parts):
            some = tuple(matcher(part) for part in parts)
            return lambda row: any(test(row) for test in some)
        case No(part=part):
            inner = matcher(part)
            return lambda row: not inner(row)
        case Test():
            return _test(bound)


def _all(each: tuple[Matcher, ...]) -> Matcher:
    if len(each) == 2:
        one, other = each
        return lambda row: one(row) and other(row)

    return lambda row: all(test(row) for test in each)


def _test(test: Test) -> Matcher:
    read, op, value, kind = test.field.read, test.op, test.value, test.field.kind
    if op == "null":
        return lambda row: read(row) is None
    if op == "not null":
        return lambda row: read(row) is not None
    if op == "INCLUDE":
        return lambda row: isinstance(held := read(row), list) and all(item in held for item in value)
    if op == "EXCLUDE":
        return lambda row: not isinstance(held := read(row), list) or not any(item in held for item in value)
    if kind == "time":
        return _timed(test)
    if op == "CONTAINS":
        return lambda row: isinstance(held := read(row), str) and value in held
    if op == "STARTS":
        return lambda row: isinstance(held := read(row), str) and held.startswith(value)
    if kind in ("text", "hash") and op == "=":
        return lambda row: read(row) == value  # of what `read` gives only a text equals a text
    if kind in ("text", "hash") and op == "in":
        among = frozenset(value)
        return lambda row: isinstance(held := read(row), str) and held in among
    if kind in ("text", "hash") and op == "not in":
        apart = frozenset(value)
        return lambda row: bool(apart) and isinstance(held := read(row), str) and held not in apart
    decide = _DECIDE[op]
    if kind == "any":
        return lambda row: (
            (held := read(row)) is not None and _same_kind(held, value, op) and decide(held, value)
        )
    return lambda row: _of_kind(kind if kind != "hash" else "text", held := read(row)) and decide(held, value)


def _same_kind(held: Any, value: Any, op: str) -> bool:
    """Whether the two can be compared; a value of another kind is simply not equal."""
    if op in ("=", "!=", "in", "not in"):
        return isinstance(held, (str, int, float, bool))
    return (_of_kind("number", held) and _of_kind("number", value)) or (
        isinstance(held, str) and isinstance(value, str)
    )


def _equal(held: Any, value: Any) -> bool:
    return bool(held == value) and isinstance(held, bool) == isinstance(value, bool)


_DECIDE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": _equal,
    "!=": lambda held, value: not _equal(held, value),
    "<": lambda held, value: bool(held < value),
    "<=": lambda held, value: bool(held <= value),
    ">": lambda held, value: bool(held > value),
    ">=": lambda held, value: bool(held >= value),
    "in": lambda held, value: any(_equal(held, item) for item in value),
    # of an empty binding nothing may come that a full one would have left out
    "not in": lambda held, value: bool(value) and not any(_equal(held, item) for item in value),
}


def _timed(test: Test) -> Matcher:
    read = test.field.read
    low, high = test.value
    tests: dict[str, Callable[[int], bool]] = {
        "=": lambda at: low <= at <= high,
        "!=": lambda at: not low <= at <= high,
        "<": lambda at: at < low,
        "<=": lambda at: at <= high,
        ">": lambda at: at > high,
        ">=": lambda at: at >= low,
    }
    decide = tests[test.op]
    return lambda row: (at := read(row)) is not None and decide(at)


def given(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Parameters as they are compared: text normalised as the store keeps it, lists as tuples.

    Raises:
        CalError: CAL-E020 a value that is no text, number, boolean or list of them; CAL-E036 a list too long.
    """
    return {name.removeprefix("$"): _given(name, value) for name, value in (params or {}).items()}


def _given(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return door(value)
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(item, (str, bool, int, float)) for item in value):
        if len(value) > MAX_BOUND_VALUES:
            raise CalError("CAL-E036", f"${name} holds more than {MAX_BOUND_VALUES} values")
        return tuple(door(item) if isinstance(item, str) else item for item in value)
    raise CalError("CAL-E020", f"${name} is no text, number, boolean or list of them")
