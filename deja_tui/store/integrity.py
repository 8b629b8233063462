# SPDX-License-Identifier: Apache-2.0
"""Checks that list every fault they find, not the first one only.

* INV-INTEGRITY-1  `verify` never raises over what it finds: each fault is one row of the answer.
* INV-INTEGRITY-2  Derived data is compared with the primary data it follows from (D1); nothing is repaired here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import apsw

from deja_tui.store import read


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong. ``address`` is "" when it is about the file; ``message`` holds no grain text."""

    code: str
    address: str
    message: str


def intact(db: apsw.Connection, address: str) -> bool:
    """Whether the bytes stored under ``address`` still have it."""
    found = read.blob(db, address)
    return found is not None and hashlib.sha256(found).hexdigest() == address


def verify(db: apsw.Connection) -> tuple[Fault, ...]:
    """Every fault: page structure, then bytes against addresses."""
    return (*_structure(db), *_addresses(db))


def _structure(db: apsw.Connection) -> Iterator[Fault]:
    for (told,) in db.execute("PRAGMA quick_check"):
        if told != "ok":
            yield Fault("STO-E009", "", f"SQLite finds the file damaged: {told}")


def _addresses(db: apsw.Connection) -> Iterator[Fault]:
    for digest, body in db.execute("SELECT hash, body FROM grain"):
        if hashlib.sha256(body).digest() != digest:
            yield Fault("FMT-E003", digest.hex(), "the bytes do not have the address they are filed under")
