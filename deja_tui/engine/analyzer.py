# SPDX-License-Identifier: Apache-2.0
"""What an analyzer is: a manifest, parameters with bounds, a read-only context, drafts out.

An analyzer reads through its context and returns drafts: template id and arguments, typed operations, evidence. It
has no way to write, no clock (``ctx.now_ms`` is the run's) and no say over identity, origin or status.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from deja_tui.engine.draft import Draft, Refused
from deja_tui.engine.faults import LoopError
from deja_tui.engine.identity import identity
from deja_tui.engine.objects import Activation
from deja_tui.engine.reader import Books, Reader
from deja_tui.engine.substrate import LedgerRow
from deja_tui.errors import did_you_mean
from deja_tui.text import DAY_MS as DAY_MS
from deja_tui.text import clean

_LONGEST_S: Final = 10 * 365 * 86_400

ParamKind = Literal["bool", "int", "float", "str", "enum", "duration"]


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter: its kind, default and inclusive bounds.

    ``high`` of a str is its most characters; an enum takes one of ``choices``, a duration whole seconds.
    """

    name: str
    kind: ParamKind
    default: Any
    low: float = 0
    high: float = 0
    description: str = ""
    choices: tuple[str, ...] = ()

    def check(self, value: Any) -> Any:
        """``value`` as this parameter holds it. Raises LOP-E031 naming the parameter and its bounds."""
        if self.kind == "bool" and isinstance(value, bool):
            return value
        if self.kind == "str" and isinstance(value, str) and len(value) <= self.high:
            return value
        if self.kind == "enum" and isinstance(value, str) and value in self.choices:
            return value
        whole = isinstance(value, int) and not isinstance(value, bool)
        if self.kind == "duration" and whole and 0 <= value <= (self.high or _LONGEST_S):
            return value
        number = whole or (isinstance(value, float) and math.isfinite(value))
        if self.kind == "int" and number and value == int(value) and self.low <= value <= self.high:
            return int(value)
        if self.kind == "float" and number and self.low <= value <= self.high:
            return float(value)
        raise LoopError("LOP-E031", f"parameter {self.name} must be {self.bounds}")

    @property
    def bounds(self) -> str:
        """What it takes, in words."""
        if self.kind == "bool":
            return "true or false"
        if self.kind == "str":
            return f"a text of at most {int(self.high)} characters"
        if self.kind == "enum":
            return "one of " + ", ".join(self.choices)
        if self.kind == "duration":
            return f"whole seconds from 0 to {int(self.high or _LONGEST_S)}"
        if self.kind == "int":
            return f"a whole number from {int(self.low)} to {int(self.high)}"
        return f"a number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """Who an analyzer is. ``id`` is ``publisher.name/major``; the family is the id without its major."""

    id: str
    title: str
    description: str
    tier: str
    params: tuple[Param, ...]
    target_classes: tuple[str, ...] = ("memory",)
    requires: tuple[str, ...] = ()
    auto_apply: Literal["never", "structural_curation"] = "never"
    default_on: bool = True
    origin: Literal["builtin", "command"] = "builtin"
    templates: Mapping[str, str] = field(
        default_factory=dict
    )  # of a linked analyzer: id → line, its family first

    @property
    def family(self) -> str:
        return self.id.rsplit("/", 1)[0]

    def resolve(self, overrides: Mapping[str, Any]) -> dict[str, Any]:
        """Defaults with ``overrides`` checked and laid over. Raises LOP-E031 on an unknown name or a bad value."""
        known = {param.name: param for param in self.params}
        for name in overrides:
            if name not in known:
                meant = did_you_mean(str(name), known)
                raise LoopError(
                    "LOP-E031",
                    f"{self.id} has no parameter {clean(name, 64)}",
                    f"{meant}known: " + (", ".join(known) or "none"),
                )
        return {
            name: param.check(overrides[name]) if name in overrides else param.default
            for name, param in known.items()
        }


@dataclass(frozen=True, slots=True)
class Covered:
    """How far an applied recommendation covers evidence: the arrival position of its apply, and when that was (ms)."""

    seq: int
    at: int


class BudgetSpent(Exception):
    """An analyzer has used up its work budget of this run (D29). The run handles it; an analyzer lets it pass."""


class Budget:
    """Work that one analyzer may do in one run, in grains looked at: a count, never seconds."""

    __slots__ = ("left", "partial", "reached")

    def __init__(self, units: int) -> None:
        self.left = units
        self.reached: int | None = None
        self.partial = False

    def spend(self, units: int) -> None:
        """Raises `BudgetSpent` when less is left."""
        if units > self.left:
            raise BudgetSpent
        self.left -= units


@dataclass(frozen=True, slots=True)
class Context:
    """What an analyzer may see: a reader, its resolved parameters, the run's time and namespaces.

    ``outcomes`` are the measurements that this run made before analysis. ``telemetry`` reads what was counted of recalls;
    None where nothing was. ``watermark`` is the arrival position up to which this analyzer has looked before; 0: look at
    everything (a first run, a full sweep). ``looked_at`` is when that was, epoch ms; 0 with a ``watermark`` of 0.
    """

    read: Reader
    params: Mapping[str, Any]
    now_ms: int
    namespaces: Sequence[str] | None
    family: str
    covered: Mapping[str, Covered] = field(default_factory=dict)
    outcomes: Sequence[Any] = ()
    telemetry: Any = None
    watermark: int = 0
    looked_at: int = 0
    books: Books | None = None
    budget: Budget | None = None

    def spend(self, units: int = 1) -> None:
        """Count work, in grains looked at. Raises `BudgetSpent` when the run's budget for this analyzer is used up;
        what was yielded before is kept, and the analyzer is told as skipped with the reason ``budget`` (D29)."""
        if self.budget is not None:
            self.budget.spend(units)

    def reached(self, seq: int) -> None:
        """Say that everything up to this arrival position was looked at: a spent budget resumes from there."""
        if self.budget is not None:
            self.budget.reached = seq

    def looked_in_part(self) -> None:
        """Say that only a part of the memory was looked at, so that what was not found is not taken to be gone."""
        if self.budget is not None:
            self.budget.partial = True

    def open_for(self, target_ref: str, action: str) -> LedgerRow | None:
        """The pending or approved recommendation that this finding would be, made here; None when there is none."""
        rows = self.books.of(identity(self.family, target_ref, action)) if self.books else []
        return next((row for row in reversed(rows) if row.status in ("pending", "approved")), None)

    def ledger(self, statuses: Sequence[str] | None = None) -> list[LedgerRow]:
        """Recommendations of this analyzer's family made here, in queue order; None: every status."""
        return self.books.family(self.family, statuses) if self.books else []

    def covered_until(self, target_ref: str, action: str) -> Covered | None:
        """Up to where an applied recommendation of this identity covers evidence; None: nothing was applied."""
        return self.covered.get(identity(self.family, target_ref, action))


class Analyzer(Protocol):
    """One analyzer. ``analyze`` and ``probe`` are pure in (what the reader answers, params, now)."""

    @property
    def manifest(self) -> Manifest: ...

    def analyze(self, ctx: Context) -> Iterable[Draft | Refused]: ...

    def probe(self, ctx: Context) -> Activation: ...
