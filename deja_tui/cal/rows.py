# SPDX-License-Identifier: Apache-2.0
"""The row: a grain as statements see it, between a read and a result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from deja_tui.store.grains import StoredGrain

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Row(NamedTuple):
    """One row.

    Attributes:
        hash: address of the grain, 64 hex digits.
        grain_type: long name of its type, or ``extracted`` for a value taken out of one.
        score: 1.0 unless a text was asked for.
        fields: long names, with type, namespace, created_at (ms) and confidence; ``superseded_by`` when it is not live.
        grain: what it was made of; None for an extracted value.
        extra: what WITH options add beside the fields: explanation, relative_time, contested_by.
    """

    hash: str
    grain_type: str
    score: float
    fields: Mapping[str, Any]
    grain: StoredGrain | None
    extra: Mapping[str, Any] = NOTHING

    def as_json(self) -> dict[str, Any]:
        """The shape of a row in results, fields sorted by name."""
        told: dict[str, Any] = {
            "hash": self.hash,
            "grain_type": self.grain_type,
            "score": self.score,
            "fields": {name: self.fields[name] for name in sorted(self.fields)},
        }
        return {**told, **self.extra}


def row_of(grain: StoredGrain, score: float = 1.0) -> Row:
    """The row of a stored grain."""
    fields = dict(grain.fields)
    fields["type"] = grain.type
    fields["namespace"] = grain.namespace
    fields["created_at"] = grain.created_at
    if not grain.live:
        fields["superseded_by"] = grain.superseded_by
    return Row(grain.address, grain.type, score, fields, grain)


def cost(row: Row) -> int:
    """The size of a row in tokens, as budgets count it: a quarter of the bytes of its fields as compact JSON."""
    text = json.dumps(dict(row.fields), ensure_ascii=False, separators=(",", ":"), default=str)
    return max(1, len(text.encode("utf-8", "surrogatepass")) // 4)
