# SPDX-License-Identifier: Apache-2.0
"""What a search may show besides what its words find: namespace, type, subject, time.

* INV-NARROW-1  A narrowed search gives what the same search without the filters gives, in the same order, without the
  grains that do not fit: filters never change a score.
* INV-NARROW-2  A filter that cannot be applied is refused, never dropped. Subjects are compared exactly, in NFC (D11);
  times are those of ``created_at``, from ``since`` on and up to, not including, ``before``.
* INV-NARROW-3  Where an index reaches few grains, only those are looked at; else the text index is asked together with
  the filter, so that hidden matches on top do not hide the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import apsw

from deja_tui.errors import ValidationError
from deja_tui.store.codec import TYPES
from deja_tui.store.keys import key_of
from deja_tui.store.read import asked
from deja_tui.store.sql import rows
from deja_tui.store.terms import space_filter
from deja_tui.text import fold

FEW: Final = 1_500
_LOW, _HIGH = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Narrow:
    """Which grains a search may show.

    Attributes:
        where: a condition on ``g``, with ``values`` for its names.
        subject: what the decoded grain must say; a key only nominates.
        few: the positions that may be shown, when an index tells and they are few.
        filtered: more than the namespace is asked for.
    """

    where: str
    values: Mapping[str, Any] = field(default_factory=dict)
    subject: str | None = None
    few: tuple[int, ...] | None = None
    filtered: bool = False


def narrow(
    db: apsw.Connection,
    namespaces: list[str] | None,
    type_: str | None = None,
    subject: str | None = None,
    since: int | None = None,
    before: int | None = None,
) -> Narrow:
    """The filters of one search; times in epoch ms. Raises VAL-E001 for an unknown type."""
    if type_ is not None and type_ not in TYPES:
        raise ValidationError("VAL-E001", f"unknown grain type; one of {', '.join(TYPES)}")
    where = [space_filter(db, namespaces)]
    values: dict[str, Any] = {}
    if type_ is None and subject is None and since is None and before is None:
        return Narrow(where[0])
    if type_ is not None:
        where.append(f"g.type = {TYPES[type_]}")
    if subject is not None:
        folded = fold(asked(subject))
        values |= {"s": folded, "sh": key_of(folded)}
        where.append("g.s IS NOT NULL AND g.s = (SELECT id FROM term WHERE h = :sh AND s = :s)")
    if since is not None or before is not None:
        values |= {"low": _LOW if since is None else since, "high": _HIGH if before is None else before - 1}
        where.append("g.at BETWEEN :low AND :high")
    told = " AND ".join(where)
    return Narrow(
        told, values, None if subject is None else asked(subject), _few(db, told, values, type_), True
    )


def _few(
    db: apsw.Connection, where: str, values: Mapping[str, Any], type_: str | None
) -> tuple[int, ...] | None:
    if "s" in values:
        index, more = "g_subj", "1"
    else:
        index = "g_type"
        more = "1" if type_ is not None else f"g.type IN ({', '.join(map(str, TYPES.values()))})"
    sql = (
        f"SELECT g.id FROM grain g INDEXED BY {index} WHERE g.dead = 0 AND {more} AND {where} LIMIT {FEW + 1}"
    )
    found = tuple(row[0] for row in rows(db, sql, values))
    return found if len(found) <= FEW else None
