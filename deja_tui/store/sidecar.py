# SPDX-License-Identifier: Apache-2.0
"""What the telemetry sidecar is known by, and how counts are laid on it: the part of `telemetry` that costs no import (D47)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

import apsw

SUFFIX: Final = ".telemetry.db"
HOUR_MS: Final = 3_600_000
BUSY_MS: Final = 100
APPLICATION_ID: Final = 0x64656A74  # "dejt"
VERSION: Final = 2

PUT_ACCESS: Final = (
    "INSERT INTO access(address, ns, count, first, last) VALUES(?, ?, ?, ?, ?) ON CONFLICT(address) DO UPDATE SET"
    " count = count + excluded.count, first = min(first, excluded.first), last = max(last, excluded.last)"
)
PUT_DELIVERY: Final = (
    "INSERT INTO delivery(address, count, first, last) VALUES(?, ?, ?, ?) ON CONFLICT(address) DO UPDATE SET"
    " count = count + excluded.count, first = min(first, excluded.first), last = max(last, excluded.last)"
)
PUT_BUDGET: Final = (
    "INSERT INTO budget(hour, samples, overflows, first, last) VALUES(?, ?, ?, ?, ?) ON CONFLICT(hour) DO UPDATE SET"
    " samples = samples + excluded.samples, overflows = overflows + excluded.overflows,"
    " first = min(first, excluded.first), last = max(last, excluded.last)"
)
PUT_META: Final = (
    "INSERT INTO meta(key, value) VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = value + excluded.value"
)


def count_context(
    memory: str,
    first: str,
    at: int,
    namespace: str,
    delivered: Iterable[str],
    recalled: Iterable[str] | None,
    overflow: bool,
) -> bool:
    """Count one context that was handed over, as `telemetry.Telemetry` in the mode ``aggregate`` does.

    Args:
        memory: the path of the memory; first: the address that arrived first there, which tells it from others.
        at: epoch ms. recalled: the hits; None: nothing was searched.

    Returns False, with nothing written, where there is no sidecar yet that counts for this memory in this mode alone, or it is
    busy: then `Telemetry` has to look.
    """
    path = memory + SUFFIX
    if not os.path.exists(path):
        return False
    try:
        db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.set_busy_timeout(BUSY_MS)
            db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
            db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            if db.pragma("application_id") != APPLICATION_ID or db.pragma("user_version") != VERSION:
                return False
            known = list(db.execute("SELECT value FROM meta WHERE key = 'memory'"))
            modes = list(db.execute("SELECT mode FROM watching"))
            if known != [(first,)] or modes != [("aggregate",)]:
                return False
            db.pragma("synchronous", "off")  # as `telemetry` does: after a power cut it is thrown away
            with db:
                given = [(bytes.fromhex(address), 1, at, at) for address in delivered]
                db.executemany(PUT_DELIVERY, given)
                if recalled is not None:
                    found = [(bytes.fromhex(address), namespace, 1, at, at) for address in recalled]
                    db.executemany(PUT_ACCESS, found)
                    db.execute(PUT_META, ("recalls", 1))
                db.execute(PUT_BUDGET, (at // HOUR_MS, 1, int(overflow), at, at))
        finally:
            db.close()
    except apsw.Error:
        return False
    return True
