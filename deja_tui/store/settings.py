# SPDX-License-Identifier: Apache-2.0
"""Small named JSON values: watermarks, analyzer rows, cursors. Each keeps who wrote it (``local`` or ``sync``, D5).

A value that cannot be read any more raises STO-E009 and names its key: it is never taken for one that was not written.
"""

from __future__ import annotations

import json

import apsw

from deja_tui.errors import ValidationError
from deja_tui.store.faults import StoreError
from deja_tui.text import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

SOURCES: Final = ("local", "sync")


def get(db: apsw.Connection, key: str) -> Any:
    """The value under ``key``, or None."""
    for (value,) in db.execute("SELECT CAST(value AS BLOB) FROM setting WHERE key = ?", (key,)):
        return _read(key, value)
    return None


def starting_with(db: apsw.Connection, prefix: str) -> dict[str, Any]:
    """All values whose key starts with ``prefix``, by key."""
    sql = "SELECT key, CAST(value AS BLOB) FROM setting WHERE substr(key, 1, ?) = ?"
    return {key: _read(key, value) for key, value in db.execute(sql, (len(prefix), prefix))}


def stamped(db: apsw.Connection, prefix: str) -> list[tuple[str, Any, int, str]]:
    """(key, value, HLC, source) of every value whose key starts with ``prefix``, by key."""
    sql = "SELECT key, CAST(value AS BLOB), hlc, source FROM setting WHERE substr(key, 1, ?) = ? ORDER BY key"
    found = db.execute(sql, (len(prefix), prefix))
    return [(key, _read(key, value), hlc, source) for key, value, hlc, source in found]


def readable(value: bytes | None) -> bool:
    """Whether a value is JSON, as `put` wrote it."""
    try:
        json.loads(value or b"")
    except ValueError:
        return False
    return True


def _read(key: str, value: bytes) -> Any:
    try:
        return json.loads(value)
    except ValueError as error:
        raise StoreError(
            "STO-E009",
            f"the setting {clean(key, 64)} is damaged",
            "Write the setting anew; see `deja verify`.",
        ) from error


def put(db: apsw.Connection, key: str, value: Any, source: str, hlc: int) -> None:
    """Write or, with None, remove a value.

    Raises:
        ValidationError: VAL-E001 JSON cannot hold it.
    """
    if value is None:
        db.execute("DELETE FROM setting WHERE key = ?", (key,))
        return
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValidationError("VAL-E001", "a setting holds JSON values only") from error
    db.execute(
        "INSERT INTO setting(key, hlc, source, value) VALUES(?, ?, ?, ?)"
        " ON CONFLICT(key) DO UPDATE SET hlc = excluded.hlc, source = excluded.source, value = excluded.value",
        (key, hlc, source, text),
    )
