# SPDX-License-Identifier: Apache-2.0
"""`CalSubstrate`: the engine on any memory that answers CAL, through the engine's small CAL writer (D10).

This is how a store of a third party joins: it needs no code of ours beneath it. What it must provide:

* **Statements** (`Statements`): one function, statement in, result as JSON values out (``docs/cal.md``). Two are asked.
  ``RECALL <plural> WHERE namespace IN (…) AND arrival > n LIMIT 1000 WITH arrival`` gives grains whatever their marks,
  newest arrival first, each row with ``arrival`` (its position, rising, never given twice), ``live`` and ``imported``
  beside its ``fields``; ``RECALL grains WHERE hash = "…" …`` the same of one. ``DESCRIBE STATS`` names under
  ``namespaces`` every namespace that holds something. Both have to see what the writes below wrote at once.
* **Writes** (`Writes`): put, supersede and mark. The language refuses what only the engine may write (recommendations,
  audits, marks of an undo), and should: it is the door of everybody else. So these three are calls, with the rules
  SUB-2 to SUB-4 and SUB-6 of `engine.substrate`.

* CALSUB-1  Only text is sent, written by `engine.cal_writer`; nothing is ever parsed. A namespace no statement can name
  is an error (VAL-E001), not a memory without grains.
* CALSUB-2  A scan asks page by page for what lies below the last one, so a grain that arrives meanwhile moves none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from deja_tui.engine.cal_writer import quote
from deja_tui.engine.substrate import MarkKind, NewGrain, Put, is_reserved
from deja_tui.errors import ValidationError
from deja_tui.text import clean

_PAGE: Final = 1_000
_NAMED: Final = 100  # values that IN takes
_BESIDE: Final = frozenset(("type", "namespace", "created_at"))


class Statements(Protocol):
    """Runs one reading statement and gives its result as JSON values. Raises a coded error on one it refuses."""

    def __call__(self, text: str, /) -> Mapping[str, Any]: ...


class Writes(Protocol):
    """What no statement can do."""

    def put(self, grain: NewGrain) -> Put: ...
    def supersede(self, address: str, grain: NewGrain) -> Put: ...
    def mark(self, address: str, kind: MarkKind, by: str | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class CalGrain:
    """A grain as a row told it."""

    address: str
    seq: int
    type: str
    namespace: str
    created_at: int
    live: bool
    superseded_by: str | None
    imported: bool
    fields: Mapping[str, Any]

    def get(self, name: str, default: Any = None) -> Any:
        return self.fields.get(name, default)


class CalSubstrate:
    """The five methods over statements and three writes; every view is its default.

    Args:
        statements: see the head of this module; a read-only way in is enough.
        writes: see there.
    """

    def __init__(self, statements: Statements, writes: Writes) -> None:
        self._run = statements
        self._writes = writes

    def scan(self, type: str, namespaces: Sequence[str] | None = None, after: int = 0) -> Iterator[CalGrain]:
        """All grains of a type above a position, oldest arrival first. Raises VAL-E001 and what a statement raises."""
        wanted = (
            [name for name in self._spaces() if not is_reserved(name)] if namespaces is None else namespaces
        )
        found = [grain for few in _some(wanted) for grain in self._above(_plural(type), few, after)]
        return iter(sorted(found, key=lambda grain: grain.seq))

    def get(self, address: str) -> CalGrain | None:
        """The grain of an address, live or not. Raises VAL-E001 and what a statement raises."""
        if len(address) != 64 or not set(address) <= set("0123456789abcdef"):
            return None
        for few in _some(self._spaces()):
            rows = self._rows(f'RECALL grains WHERE hash = "{address}" AND {_in(few)} WITH arrival')
            if rows:
                return _grain(rows[0])
        return None

    def put(self, grain: NewGrain) -> Put:
        return self._writes.put(grain)

    def supersede(self, address: str, grain: NewGrain) -> Put:
        return self._writes.supersede(address, grain)

    def mark(self, address: str, kind: MarkKind, by: str | None = None) -> None:
        self._writes.mark(address, kind, by)

    # --- statements ---

    def _spaces(self) -> list[str]:
        return list(self._run("DESCRIBE STATS")["info"]["namespaces"])

    def _above(self, plural: str, spaces: Sequence[str], after: int) -> Iterator[CalGrain]:
        """Page by page, newest arrival first (CALSUB-2)."""
        below = ""
        while True:
            asked = f"{_in(spaces)} AND arrival > {after}{below}"
            rows = self._rows(f"RECALL {plural} WHERE {asked} LIMIT {_PAGE} WITH arrival")
            yield from map(_grain, rows)
            if len(rows) < _PAGE:
                return
            below = f" AND arrival < {rows[-1]['arrival']}"

    def _rows(self, text: str) -> Sequence[Mapping[str, Any]]:
        rows: Sequence[Mapping[str, Any]] = self._run(text)["grains"]
        return rows


def _plural(type_: str) -> str:
    return {"consensus": "consensuses"}.get(type_, f"{type_}s")


def _some(names: Iterable[str]) -> Iterator[list[str]]:
    """As many namespaces as one statement names; none at all ask nothing."""
    every = list(dict.fromkeys(names))
    for start in range(0, len(every), _NAMED):
        yield every[start : start + _NAMED]


def _in(names: Sequence[str]) -> str:
    """Raises VAL-E001 (CALSUB-1)."""
    literals = [quote(name) for name in names]
    if None in literals:
        hidden = names[literals.index(None)]
        raise ValidationError("VAL-E001", f"no statement can name the namespace {clean(hidden, 64)}")
    return f"namespace IN ({', '.join(map(str, literals))})"


def _grain(row: Mapping[str, Any]) -> CalGrain:
    told = row["fields"]
    live = bool(row["live"])
    left = _BESIDE if live else _BESIDE | {"superseded_by"}
    if row["grain_type"] == "recommendation":
        left |= {"rec_status"}  # the status of the row, which no grain holds
    return CalGrain(
        row["hash"],
        row["arrival"],
        row["grain_type"],
        told["namespace"],
        told["created_at"],
        live,
        None if live else told.get("superseded_by"),
        bool(row["imported"]),
        {name: value for name, value in told.items() if name not in left},
    )
