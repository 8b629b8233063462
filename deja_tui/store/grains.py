# SPDX-License-Identifier: Apache-2.0
"""The grain as the store shows it; what one must hold says `fields`, whose names callers find here as well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deja_tui.store.fields import long_name as long_name
from deja_tui.store.fields import parse_time as parse_time
from deja_tui.store.fields import validate as validate


@dataclass(frozen=True, slots=True)
class StoredGrain:
    """A grain of a memory.

    Attributes:
        address: 64 hex digits.
        seq: arrival position, rising, never given twice.
        type: the long type name.
        namespace: what it is filed under (``shared`` when its bytes name none).
        created_at: epoch ms, UTC. hlc: hybrid logical clock of its arrival, ms << 16 plus a counter (D3).
        live: not superseded, retired or hidden (D2).
        superseded_by: address of what took its place, if anything did.
        imported: it came from another copy (op-log, D1).
        fields: long names; typed fields and extras together, a typed one wins. Not to be changed.
    """

    address: str
    seq: int
    type: str
    namespace: str
    created_at: int
    hlc: int
    live: bool
    superseded_by: str | None
    imported: bool
    fields: Mapping[str, Any]

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a field, else ``default``."""
        return self.fields.get(name, default)

    def parents(self) -> tuple[str, ...]:
        """``derived_from`` as a tuple, whatever its wire form (D8)."""
        found = self.fields.get("derived_from")
        if isinstance(found, str):
            return (found,)
        return tuple(item for item in found if isinstance(item, str)) if isinstance(found, list) else ()
