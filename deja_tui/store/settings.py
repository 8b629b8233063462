# SPDX-License-Identifier: Apache-2.0
"""Small named JSON values: watermarks, analyzer rows, cursors. Each keeps who wrote it (``local`` or ``sync``, D5)."""

from __future__ import annotations

import json
from typing import Any

import apsw

from deja_tui.errors import ValidationError


def get(db: apsw.Connection, key: str) -> Any:
    """The value under ``key``, or None."""
    for (value,) in db.execute("SELECT value FROM setting WHERE key = ?", (key,)):
        return json.loads(value)
    return None


def starting_with(db: apsw.Connection, prefix: str) -> dict[str, Any]:
    """All values whose key starts with ``prefix``, by key."""
    rows = db.execute("SELECT key, value FROM setting WHERE substr(key, 1, ?) = ?", (len(prefix), prefix))
    return {key: json.loads(value) for key, value in rows}


def stamped(db: apsw.Connection, prefix: str) -> list[tuple[str, Any, int, str]]:
    """(key, value, HLC, source) of every value whose key starts with ``prefix``, by key."""
    sql = "SELECT key, value, hlc, source FROM setting WHERE substr(key, 1, ?) = ? ORDER BY key"
    found = db.execute(sql, (len(prefix), prefix))
    return [(key, json.loads(value), hlc, source) for key, value, hlc, source in found]


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
