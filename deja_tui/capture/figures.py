# SPDX-License-Identifier: Apache-2.0
"""Counting what a file holds, in words that are the same for every source (``samples/expected.json``).

Numbered rules, cited by tests:

* FIG-1  A call is its id: what a file, or two files, hold twice counts once. Of two results for one call the first
  says whether it failed.
* FIG-2  Figures of several files are laid together by ids where there are ids, else summed.
* FIG-3  A name that a `Shape` does not have is a programming error, never a new figure: reports have a known shape.
"""

from __future__ import annotations

from collections import Counter

from deja_tui.capture.ids import Ids
from deja_tui.items import UNKNOWN_TOOL
from deja_tui.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, Protocol, Self

KINDS_MAX: Final = 100
OTHER: Final = "(other)"


if TYPE_CHECKING:

    class Figures(Protocol):
        """What an importer counts in a file (REP-1), and how the counts of several files are laid together (REP-2)."""

        redacted: Counter[str]
        left_out: Counter[str]

        def add(self, other: Self) -> None: ...

        def fresh(self) -> Self: ...

        def figures(self) -> dict[str, Any]: ...

else:
    Figures = object


def ranked(counts: Counter[str]) -> dict[str, int]:
    """Most frequent first, then by name; beyond a bound the rest is one row."""
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    shown = dict(rows[:KINDS_MAX])
    rest = sum(count for _, count in rows[KINDS_MAX:])
    return {**shown, OTHER: rest} if rest else shown


_CALLED: Final = 1
_ANSWERED: Final = 2
_FAILED: Final = 4


class CallCount:
    """Calls by id (FIG-1): of each a digit that says what of it was seen, and its tool as far as it is known."""

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids = Ids()

    def call(self, call_id: str, tool: str) -> bool:
        """Count a call; whether its id is new."""
        seen, _ = self._of(call_id)
        if seen & _CALLED:
            return False
        self._ids.put(call_id, f"{seen | _CALLED}{tool}")
        return True

    def rename(self, call_id: str, tool: str) -> None:
        """The tool of a call that its source told again under another name."""
        seen, _ = self._of(call_id)
        self._ids.put(call_id, f"{seen}{tool}")

    def result(self, call_id: str, *, failed: bool, tool: str | None = None) -> bool:
        """Count a result; whether it is the first for its call. Only the first says whether the call failed.

        ``tool``: the result itself says of which tool it is, for a call that was not seen.
        """
        seen, known = self._of(call_id)
        if seen & _ANSWERED:
            return False
        self._ids.put(call_id, f"{seen | _ANSWERED | (_FAILED if failed else 0)}{known or tool or ''}")
        return True

    def tool_of(self, call_id: str) -> str | None:
        """The tool of a call read so far."""
        return self._of(call_id)[1] or None

    def tools(self) -> set[str]:
        return {value[1:] for value in self._ids.values() if len(value) > 1}

    def add(self, other: CallCount) -> None:
        for call_id, value in other._ids.items():
            seen, tool = int(value[0]), value[1:]
            if seen & _CALLED:
                self.call(call_id, tool or UNKNOWN_TOOL)
            if seen & _ANSWERED:
                self.result(call_id, failed=bool(seen & _FAILED), tool=tool)

    def figures(self) -> dict[str, Any]:
        kinds: Counter[int] = Counter()
        calls: Counter[str] = Counter()
        errors: Counter[str] = Counter()
        for value in self._ids.values():
            seen, tool = int(value[0]), value[1:]
            kinds[seen & (_CALLED | _ANSWERED)] += 1
            if seen & _CALLED:
                calls[tool] += 1
            if seen & _FAILED:
                errors[tool or UNKNOWN_TOOL] += 1
        both = kinds[_CALLED | _ANSWERED]
        return {
            "tool_calls": kinds[_CALLED] + both,
            "tool_results": kinds[_ANSWERED] + both,
            "tool_errors": errors.total(),
            "errors_by_tool": ranked(errors),
            "calls_without_result": kinds[_CALLED],
            "results_without_call": kinds[_ANSWERED],
            "calls_by_tool": ranked(calls),
        }

    def _of(self, call_id: str) -> tuple[int, str]:
        """What of a call was seen so far, and its tool or ""."""
        value = self._ids.get(call_id)
        return (0, "") if value is None else (int(value[0]), value[1:])


class Shape(Record):
    """The figures of a source: summed numbers, sets of ids (their size is told), groups by name, plain facts, calls."""

    _fields = ("numbers", "sets", "groups", "facts", "calls")
    __slots__ = _fields

    def __init__(
        self,
        numbers: tuple[str, ...] = (),
        sets: tuple[str, ...] = (),
        groups: tuple[str, ...] = (),
        facts: tuple[str, ...] = (),
        calls: bool = False,
    ) -> None:
        self.numbers = numbers
        self.sets = sets
        self.groups = groups
        self.facts = facts
        self.calls = calls


class Counts:
    """The figures of one file of a source, in the order of its shape; what every source counts comes last.

    Every source counts ``bad_lines``, ``records_without_usable_time``, ``texts_cut``, ``left_out`` and ``redacted``.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.calls = CallCount()
        self.left_out: Counter[str] = Counter()
        self.redacted: Counter[str] = Counter()
        self._numbers: Counter[str] = Counter()
        self._sets: dict[str, Ids] = {}
        self._groups: dict[str, Counter[str]] = {}
        self._facts: dict[str, Any] = {}

    def count(self, name: str, by: int = 1) -> None:
        """Add to a number (FIG-3)."""
        _known(name, (*self.shape.numbers, *_ALWAYS))
        self._numbers[name] += by

    def see(self, name: str, ident: str) -> bool:
        """Add an id to a set; whether it is new."""
        _known(name, self.shape.sets)
        found = self._sets.get(name)
        if found is None:
            found = self._sets[name] = Ids()
        return found.add(ident)

    def group(self, name: str, key: str, by: int = 1) -> None:
        """Add to the row ``key`` of a group."""
        _known(name, self.shape.groups)
        self._groups.setdefault(name, Counter())[key] += by

    def tell(self, name: str, value: Any) -> None:
        """A plain fact about the file: a format, a flag."""
        _known(name, self.shape.facts)
        self._facts[name] = value

    def add(self, other: Counts) -> None:
        """Lay the figures of another file on these (FIG-2); of a fact that differs nothing is told."""
        self._numbers.update(other._numbers)
        for name, found in other._sets.items():
            self._sets.setdefault(name, Ids()).update(found)
        for name, rows in other._groups.items():
            self._groups.setdefault(name, Counter()).update(rows)
        for name, value in other._facts.items():
            self._facts[name] = value if self._facts.get(name, value) == value else None
        self.left_out.update(other.left_out)
        self.redacted.update(other.redacted)
        self.calls.add(other.calls)

    def fresh(self) -> Counts:
        return Counts(self.shape)

    def figures(self) -> dict[str, Any]:
        told: dict[str, Any] = {name: self._numbers[name] for name in self.shape.numbers}
        told |= {name: len(self._sets.get(name, ())) for name in self.shape.sets}
        told |= {name: ranked(self._groups.get(name, Counter())) for name in self.shape.groups}
        told |= {name: self._facts.get(name) for name in self.shape.facts}
        if self.shape.calls:
            told |= self.calls.figures()
        told |= {name: self._numbers[name] for name in _ALWAYS}
        return told | {
            "left_out": ranked(self.left_out),
            "redacted": self.redacted.total(),
            "redacted_by_kind": ranked(self.redacted),
        }


_ALWAYS: Final = ("bad_lines", "padding_lines", "records_without_usable_time", "texts_cut")


def _known(name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        raise KeyError(name)
