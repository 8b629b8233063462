# SPDX-License-Identifier: Apache-2.0
"""The row: a grain as statements see it, between a read and a result."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from deja_tui.store.grains import StoredGrain

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
CERTAIN: Final[Mapping[str, Any]] = MappingProxyType({"is_deterministic": True})
"""What a row says beside its fields when no text was ranked: the same statement gives it again."""


class Row:
    """One row. Not to be changed; `_replace` gives another.

    Attributes:
        hash: address of the grain, 64 hex digits.
        grain_type: long name of its type, or ``extracted`` for a value taken out of one.
        score: 1.0 unless a text was asked for.
        fields: long names, with type, namespace, created_at (ms) and confidence; ``superseded_by`` when it is not live.
        grain: what it was made of; None for an extracted value.
        extra: what WITH options add beside the fields: explanation, relative_time, contested_by.
    """

    __slots__ = ("_fields", "extra", "grain", "grain_type", "hash", "score")

    def __init__(
        self,
        hash: str,
        grain_type: str,
        score: float,
        fields: Mapping[str, Any] | None,
        grain: StoredGrain | None,
        extra: Mapping[str, Any] = NOTHING,
    ) -> None:
        self.hash = hash
        self.grain_type = grain_type
        self.score = score
        self.grain = grain
        self.extra = extra
        self._fields = fields  # None: those of the grain, put together when somebody asks for all of them

    @property
    def plain(self) -> bool:
        """Whether its fields are those of its grain, nothing put beside or left out."""
        return self._fields is None

    @property
    def fields(self) -> Mapping[str, Any]:
        told = self._fields
        if told is None:
            self._fields = told = {} if self.grain is None else _fields_of(self.grain)
        return told

    def get(self, name: str) -> Any:
        """One field, or None."""
        if self._fields is not None:
            return self._fields.get(name)
        grain = self.grain
        if grain is None:
            return None
        special = _SPECIAL.get(name)
        return grain.fields.get(name) if special is None else special(grain)

    def _replace(self, **changed: Any) -> Row:
        told = {
            "hash": self.hash,
            "grain_type": self.grain_type,
            "score": self.score,
            "fields": self._fields,
            "grain": self.grain,
            "extra": self.extra,
            **changed,
        }
        return Row(**told)

    def as_json(self) -> dict[str, Any]:
        """The shape of a row in results, fields sorted by name."""
        fields = self.fields
        told: dict[str, Any] = {
            "hash": self.hash,
            "grain_type": self.grain_type,
            "score": self.score,
            "fields": {name: fields[name] for name in sorted(fields)},
        }
        return {**told, **self.extra}


def _superseded_by(grain: StoredGrain) -> str | None:
    return None if grain.live else grain.superseded_by


_SPECIAL: Final[Mapping[str, Callable[[StoredGrain], Any]]] = {
    "type": lambda grain: grain.type,
    "namespace": lambda grain: grain.namespace,
    "created_at": lambda grain: grain.created_at,
    "superseded_by": _superseded_by,
}


def _fields_of(grain: StoredGrain) -> dict[str, Any]:
    fields = dict(grain.fields)
    fields["type"] = grain.type
    fields["namespace"] = grain.namespace
    fields["created_at"] = grain.created_at
    if not grain.live:
        fields["superseded_by"] = grain.superseded_by
    return fields


def row_of(grain: StoredGrain, score: float = 1.0, extra: Mapping[str, Any] = NOTHING) -> Row:
    """The row of a stored grain."""
    return Row(grain.address, grain.type, score, None, grain, extra)


def cost(row: Row) -> int:
    """The size of a row in tokens, as budgets count it: a quarter of the bytes of its fields as compact JSON."""
    text = json.dumps(dict(row.fields), ensure_ascii=False, separators=(",", ":"), default=str)
    return max(1, len(text.encode("utf-8", "surrogatepass")) // 4)
