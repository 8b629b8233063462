# SPDX-License-Identifier: Apache-2.0
"""Bound conditions to the filters of the store: what an index can nominate (D44).

* LOWER-1  The filter lets every row through that the condition lets through; `conditions.matcher` decides the rest.
* LOWER-2  ``exact`` says that the filter lets nothing else through, so nothing is left to decide.
"""

from __future__ import annotations

from math import ceil, floor
from typing import Final, NamedTuple

from deja_tui.cal.conditions import UNBOUND, All, AnyPart, Bound, No, Test
from deja_tui.store import filters

_KEYED: Final[dict[str, filters.Keyed]] = {
    "subject": "subject",
    "relation": "relation",
    "object": "object",
    "tool_name": "tool_name",
    "tool": "tool_name",
    "session_id": "session_id",
    "hash": "hash",
}
_NUMBERS: Final[dict[str, filters.Counted]] = {
    "created_at": "created_at",
    "valid_to": "valid_to",
    "arrival": "arrival",
}
_EXACT: Final = frozenset(("session_id", "hash"))


class Lowered(NamedTuple):
    """A filter and how much of the condition it answers.

    Attributes:
        filter: None where no index helps.
        exact: it lets nothing else through (LOWER-2).
        covered: what else it lets through differs from what is asked in case or by a colliding hash only.
    """

    filter: filters.Filter | None
    exact: bool
    covered: bool


_OPEN: Final = Lowered(None, False, False)


def lower(bound: Bound) -> Lowered:
    """The filter of a condition."""
    match bound:
        case Test():  # first, because nearly every condition is one
            return _test(bound)
        case All(parts=parts):
            each = [lower(part) for part in parts]
            found = tuple(told.filter for told in each if told.filter is not None)
            joined = None if not found else found[0] if len(found) == 1 else filters.AllOf(found)
            return Lowered(joined, all(told.exact for told in each), all(told.covered for told in each))
        case AnyPart(parts=parts):
            each = [lower(part) for part in parts]
            some = tuple(told.filter for told in each if told.filter is not None)
            if len(some) < len(each):
                return _OPEN
            return Lowered(
                filters.AnyOf(some), all(told.exact for told in each), all(told.covered for told in each)
            )
        case No():
            return _OPEN


def _test(test: Test) -> Lowered:
    name = test.field.name
    if name in _KEYED and test.op in ("=", "in"):
        return _keyed(_KEYED[name], test.value if test.op == "in" else (test.value,))
    if name == "is_error" and test.op == "=" and test.value is True:
        return Lowered(filters.Failed(), False, False)
    if test.field.kind == "time" and test.op in ("=", "<", "<=", ">", ">="):
        return _span(test)
    if name in _NUMBERS and test.op in ("=", "<", "<=", ">", ">="):
        return _moment(_NUMBERS[name], test)
    return _OPEN


def _keyed(field: filters.Keyed, values: tuple[object, ...]) -> Lowered:
    if any(not isinstance(value, str) for value in values) or (field == "session_id" and "" in values):
        return _OPEN
    told = filters.OneOf(field, tuple(str(value) for value in values))
    return Lowered(told, field in _EXACT, field != "tool_name")


def _span(test: Test) -> Lowered:
    low, high = test.value
    ends = {
        "=": (low, high),
        "<": (None, low - 1),
        "<=": (None, high),
        ">": (high + 1, None),
        ">=": (low, None),
    }
    return Lowered(filters.Within("created_at", *ends[test.op]), True, True)


def _moment(field: filters.Counted, test: Test) -> Lowered:
    value = test.value
    if value is UNBOUND:
        return _OPEN
    if abs(value) > 2**62:
        return _OPEN
    low: int | None = None
    high: int | None = None
    if test.op in (">", ">=", "="):
        low = floor(value) + 1 if test.op == ">" else ceil(value)
    if test.op in ("<", "<=", "="):
        high = ceil(value) - 1 if test.op == "<" else floor(value)
    if low is not None and high is not None and low > high:
        return Lowered(filters.AnyOf(()), True, True)
    return Lowered(filters.Within(field, low, high), True, True)
