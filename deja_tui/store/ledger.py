# SPDX-License-Identifier: Apache-2.0
"""The governance table: one row a recommendation, derived from grains and audit chains by whoever writes it (D1).

The store keeps the rows and their order, it does not know what they mean. The table is made by the first governed
act; a file without it answers as if it were empty (D36).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, Protocol

import apsw

from deja_tui.errors import ValidationError
from deja_tui.store import schema
from deja_tui.store.sql import rows, scalar

_RANKS: Final = {"info": 0, "low": 1, "medium": 2, "high": 3}
_COLUMNS: Final = (
    "address, identity, analyzer, target_ref, severity, status, created_at, since, decided_at, decided_seq,"
    " creator, origin, is_foreign, replaced_by"
)
_PUT: Final = f"INSERT OR REPLACE INTO ledger({_COLUMNS}, rank) VALUES({', '.join('?' * 15)})"
_ORDER: Final = "ORDER BY rank DESC, since, identity, address"


class LedgerEntry(Protocol):
    """What `put` reads: any object with the attributes of `LedgerRow`."""

    @property
    def address(self) -> str: ...
    @property
    def identity(self) -> str: ...
    @property
    def analyzer(self) -> str: ...
    @property
    def target_ref(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def created_at(self) -> int: ...
    @property
    def since(self) -> int: ...
    @property
    def decided_at(self) -> int: ...
    @property
    def decided_seq(self) -> int: ...
    @property
    def creator(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def foreign(self) -> bool: ...
    @property
    def replaced_by(self) -> str | None: ...


class LedgerRow(NamedTuple):
    """One recommendation's row; times are epoch ms, addresses 64 hex digits."""

    address: str
    identity: str
    analyzer: str
    target_ref: str
    severity: str
    status: str
    created_at: int
    since: int
    decided_at: int
    decided_seq: int
    creator: str
    origin: str
    foreign: bool
    replaced_by: str | None


class Tallied(NamedTuple):
    """How many rows of one analyzer, severity and status were made here, or (``foreign``) came from another copy."""

    analyzer: str
    severity: str
    status: str
    foreign: bool
    count: int  # type: ignore[assignment]
    first: int  # the earliest time one of them was found at, epoch ms


def exists(db: apsw.Connection) -> bool:
    """Whether the table was made."""
    return scalar(db, "SELECT 1 FROM sqlite_schema WHERE name = 'ledger'") is not None


def put(db: apsw.Connection, row: LedgerEntry) -> None:
    """Write or replace the row of one recommendation; makes the table when it is the first.

    Raises:
        ValidationError: VAL-E001 unknown severity.
    """
    if row.severity not in _RANKS:
        raise ValidationError("VAL-E001", f"severity is one of {', '.join(_RANKS)}")
    if scalar(db, "SELECT 1 FROM sqlite_schema WHERE name = 'l_analyzer'") is None:
        schema.run(db, schema.LEDGER)  # the table, or the index that a file of an older version lacks
    db.execute(
        _PUT,
        (
            bytes.fromhex(row.address),
            row.identity,
            row.analyzer,
            row.target_ref,
            row.severity,
            row.status,
            row.created_at,
            row.since,
            row.decided_at,
            row.decided_seq,
            row.creator,
            row.origin,
            int(row.foreign),
            bytes.fromhex(row.replaced_by) if row.replaced_by else None,
            _RANKS[row.severity],
        ),
    )


def drop(db: apsw.Connection, address: str) -> None:
    """Remove one row."""
    if exists(db):
        db.execute("DELETE FROM ledger WHERE address = ?", (bytes.fromhex(address),))


def clear(db: apsw.Connection) -> None:
    """Remove every row, before a rebuild."""
    if exists(db):
        db.execute("DELETE FROM ledger")


def covers(db: apsw.Connection, type_byte: int, space: int | None) -> bool:
    """Whether there are as many rows as recommendation grains in the loop's namespace: none was taken out."""
    grains = scalar(db, "SELECT count(*) FROM grain WHERE type = ? AND ns = ?", (type_byte, space)) or 0
    kept = (scalar(db, "SELECT count(*) FROM ledger") or 0) if exists(db) else 0
    return int(kept) == int(grains)


def get(db: apsw.Connection, address: str) -> LedgerRow | None:
    """The row of one recommendation, replaced ones included."""
    found = _select(db, "WHERE address = ?", (bytes.fromhex(address),))
    return found[0] if found else None


def by_identity(db: apsw.Connection, identities: Sequence[str]) -> list[LedgerRow]:
    """Rows of these identities, oldest decision first, replaced ones left out."""
    where = "WHERE identity = ? AND replaced_by IS NULL"
    found = [row for name in dict.fromkeys(identities) for row in _select(db, where, (name,))]
    return sorted(found, key=lambda row: (row.decided_seq, row.address))


def listed(
    db: apsw.Connection,
    statuses: Iterable[str] | None = None,
    analyzers: Iterable[str] | None = None,
    *,
    include_replaced: bool = False,
    limit: int | None = None,
) -> list[LedgerRow]:
    """Rows in queue order: severity falling, oldest finding, identity, address; ``analyzers``: only of these ids.

    ``limit``: only so many of them, the first.
    """
    where, values = [], []
    if not include_replaced:
        where.append("replaced_by IS NULL")
    if statuses is not None:
        values = list(statuses)
        where.append(f"status IN ({', '.join('?' * len(values))})")
    if analyzers is not None:
        named = list(analyzers)
        values += named
        where.append(f"analyzer IN ({', '.join('?' * len(named))})")
    first = "" if limit is None else f" LIMIT {int(limit)}"
    return _select(db, f"{'WHERE ' + ' AND '.join(where) if where else ''} {_ORDER}{first}", tuple(values))


_ABOUT: Final = f"""
WHERE replaced_by IS NULL AND (
  address IN (SELECT unhex(value) FROM json_each(?)) OR target_ref IN (SELECT value FROM json_each(?))
) {_ORDER}
"""


def about(db: apsw.Connection, addresses: Iterable[str], targets: Iterable[str]) -> list[LedgerRow]:
    """Rows in queue order that have one of these addresses or are about one of these targets, replaced ones left out."""
    return _select(db, _ABOUT, (json.dumps(sorted(addresses)), json.dumps(sorted(targets))))


_TALLY: Final = """
SELECT analyzer, severity, status, is_foreign, count(*), min(since) FROM ledger
 WHERE replaced_by IS NULL GROUP BY analyzer, severity, status, is_foreign
"""


def tally(db: apsw.Connection) -> list[Tallied]:
    """How many rows there are of each kind, replaced ones left out; sorted."""
    if not exists(db):
        return []
    return [
        Tallied(analyzer, severity, status, bool(foreign), count, first)
        for analyzer, severity, status, foreign, count, first in rows(db, _TALLY)
    ]


def _select(db: apsw.Connection, rest: str, values: tuple[Any, ...]) -> list[LedgerRow]:
    if not exists(db):
        return []
    return [_row(*row) for row in rows(db, f"SELECT {_COLUMNS} FROM ledger {rest}", values)]


def _row(address: bytes, *values: Any) -> LedgerRow:
    *plain, is_foreign, replaced_by = values
    return LedgerRow._make(
        (address.hex(), *plain, bool(is_foreign), replaced_by.hex() if replaced_by else None)
    )
