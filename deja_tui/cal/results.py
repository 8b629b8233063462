# SPDX-License-Identifier: Apache-2.0
"""What statements answer with. Every result has a ``kind``, ``warnings`` that start with their code, and ``as_json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from deja_tui.cal.rows import Row


@dataclass(frozen=True, slots=True)
class Context:
    """What is said around rows when they are rendered.

    Attributes:
        name, intent: of an ASSEMBLE.
        unit: ``tokens`` or ``grains``, what the budget counts; see `rows.cost`.
        total, used: of the budget; total None without one.
        omitted: rows the budget left out, in order.
    """

    name: str = ""
    intent: str = ""
    unit: str = "tokens"
    total: int | None = None
    used: int = 0
    omitted: tuple[Row, ...] = ()


Total = Literal["exact", "minimum", "estimate"]


@dataclass(frozen=True, slots=True)
class Grains:
    """Rows.

    Attributes:
        total_available: matches before LIMIT and OFFSET.
        total: whether that is exact, at least so many, or what an index estimates. COUNT is always exact.
        grouped_by: the field of GROUP BY.
        context: set by ASSEMBLE with one source.
    """

    kind = "grains"
    rows: tuple[Row, ...]
    total_available: int
    total: Total = "exact"
    grouped_by: str | None = None
    context: Context | None = None
    warnings: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {
            "type": "grains",
            "grains": [row.as_json() for row in self.rows],
            "total_available": self.total_available,
        }
        if self.total != "exact":
            told["total_is"] = self.total
        if self.context is not None and self.context.total is not None:
            told["budget"] = {
                "unit": self.context.unit,
                "limit": self.context.total,
                "used": self.context.used,
            }
            told["dropped"] = [row.hash for row in self.context.omitted]
        return _warned(told, self.warnings)


@dataclass(frozen=True, slots=True)
class Counted:
    kind = "count"
    count: int
    warnings: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return _warned({"type": "count", "count": self.count}, self.warnings)


@dataclass(frozen=True, slots=True)
class Part:
    """One source of an assembled context: its share of the budget, what it used, its rows and those left out."""

    label: str
    allocated: int
    used: int
    rows: tuple[Row, ...]
    omitted: tuple[Row, ...]
    weight: float

    def as_json(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "tokens_allocated": self.allocated,
            "tokens_used": self.used,
            "grain_count": len(self.rows),
        }


@dataclass(frozen=True, slots=True)
class Assembled:
    """A context of several sources. ``used`` is never above ``total``; both count ``unit``."""

    kind = "assembled"
    parts: tuple[Part, ...]
    context: Context
    total_available: int
    warnings: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for part in self.parts for row in part.rows)

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {
            "type": "assembled",
            "grains": [row.as_json() for row in self.rows],
            "sources": [part.as_json() for part in self.parts],
            "total_tokens": self.context.used,
            "budget_limit": self.context.total,
            "budget_unit": self.context.unit,
            "progressive": False,
            "total_available": self.total_available,
            "included": [row.hash for row in self.rows],
            "dropped": [row.hash for row in self.context.omitted],
        }
        return _warned(told, self.warnings)


@dataclass(frozen=True, slots=True)
class Taken:
    """What a text under a budget was made of: the addresses that are in it and those that did not fit, and its cost."""

    included: tuple[str, ...]
    dropped: tuple[str, ...]
    used: int
    limit: int
    unit: str

    def as_json(self) -> dict[str, Any]:
        return {
            "included": list(self.included),
            "dropped": list(self.dropped),
            "budget": {"unit": self.unit, "limit": self.limit, "used": self.used},
        }


def taken(result: Grains | Assembled) -> Taken | None:
    """What was taken and left out of a result under a budget; None where there was none."""
    context = result.context
    if context is None or context.total is None:
        return None
    included = tuple(row.hash for row in result.rows)
    dropped = tuple(row.hash for row in context.omitted)
    return Taken(included, dropped, context.used, context.total, context.unit)


@dataclass(frozen=True, slots=True)
class Formatted:
    kind = "formatted"
    text: str
    format: str
    grain_count: int
    warnings: tuple[str, ...] = ()
    taken: Taken | None = None

    def as_json(self) -> dict[str, Any]:
        told = {
            "type": "formatted",
            "text": self.text,
            "format": self.format,
            "grain_count": self.grain_count,
            **(self.taken.as_json() if self.taken else {}),
        }
        return _warned(told, self.warnings)


@dataclass(frozen=True, slots=True)
class MultiFormatted:
    kind = "multi_formatted"
    formats: Mapping[str, str]
    grain_count: int
    warnings: tuple[str, ...] = ()
    taken: Taken | None = None

    def as_json(self) -> dict[str, Any]:
        told = {"type": "multi_formatted", "formats": dict(self.formats), "grain_count": self.grain_count}
        told |= self.taken.as_json() if self.taken else {}
        return _warned(told, self.warnings)


@dataclass(frozen=True, slots=True)
class BatchDone:
    """Results by label, or by position where an entry has none."""

    kind = "batch"
    results: Mapping[str, Result]
    warnings: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        told = {"type": "batch", "results": {key: result.as_json() for key, result in self.results.items()}}
        return _warned(told, self.warnings)


@dataclass(frozen=True, slots=True)
class Answer:
    """Every other result: ``kind`` is its type, ``values`` what else it says, as plain JSON values.

    exists · history · diff · explain · describe · added · superseded · retired · merged · remembered · forgotten ·
    query_defined · query_dropped · template_defined · template_dropped · entity_at · forks · derived_from ·
    subject_report · reviewed · rec_applied · rec_rolled_back · loop_ran
    """

    kind: str
    values: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return _warned({"type": self.kind, **self.values}, self.warnings)


Result = Grains | Counted | Assembled | Formatted | MultiFormatted | BatchDone | Answer


def _warned(told: dict[str, Any], warnings: tuple[str, ...]) -> dict[str, Any]:
    return {**told, "warnings": list(warnings)} if warnings else told


def with_warnings(result: Result, warnings: list[str]) -> Result:
    """``result`` carrying ``warnings`` behind what it carries already."""
    return replace(result, warnings=(*result.warnings, *warnings)) if warnings else result
