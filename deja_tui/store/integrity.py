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

from deja_tui.errors import DejaError
from deja_tui.store import oplog, read
from deja_tui.store.codec import TYPES, decode
from deja_tui.store.faults import storage_error
from deja_tui.store.keys import keys_of, namespace_of
from deja_tui.store.search import words_of
from deja_tui.store.sql import rows, scalar


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
    """Every fault: page structure, bytes, liveness, keys, counters, text index; in that order.

    Faults of one grain name its address. A damaged page can stop a later check; that is a fault of its own.
    """
    faults: list[Fault] = []
    for check in (_structure, _bytes, _liveness, _counters, _text):
        try:
            faults.extend(check(db))
        except apsw.Error as error:
            told = storage_error(error)
            faults.append(Fault(told.code, "", f"{check.__name__.strip('_')}: {told.message}"))
    return tuple(faults)


def _structure(db: apsw.Connection) -> Iterator[Fault]:
    for (told,) in rows(db, "PRAGMA quick_check"):
        if told != "ok":
            yield Fault("STO-E009", "", f"SQLite finds the file damaged: {told}")


def _bytes(db: apsw.Connection) -> Iterator[Fault]:
    """The bytes have their address, and the columns beside them are those that follow from the bytes."""
    sql = (
        "SELECT g.hash, g.body, g.type, g.at, n.name, s.s, r.s, g.k, t.s, e.s, h.s, g.vt FROM grain g"
        " LEFT JOIN space n ON n.id = g.ns LEFT JOIN term s ON s.id = g.s LEFT JOIN term r ON r.id = g.r"
        " LEFT JOIN term t ON t.id = g.tool LEFT JOIN term e ON e.id = g.sig LEFT JOIN term h ON h.id = g.thread"
    )
    for digest, body, *columns in rows(db, sql):
        if hashlib.sha256(body).digest() != digest:
            yield Fault("FMT-E003", digest.hex(), "the bytes do not have the address they are filed under")
        elif _columns(body) != columns:
            yield Fault("STO-E009", digest.hex(), "the columns beside the grain do not follow from its bytes")


def _columns(body: bytes) -> list[object] | None:
    try:
        grain = decode(body, strict=False)
    except DejaError:
        return None
    keys = keys_of(grain)
    return [
        TYPES[grain.type],
        grain.created_at,
        namespace_of(grain),
        keys.subject,
        keys.relation,
        keys.object_key,
        keys.tool,
        keys.signature,
        keys.thread,
        keys.valid_to,
    ]


def _liveness(db: apsw.Connection) -> Iterator[Fault]:
    """``dead`` is what the last mark says, and every grain and mark has its row in the op-log (INV-STORE-5)."""
    last = "(SELECT kind FROM mark m WHERE m.gid = g.id ORDER BY seq DESC LIMIT 1)"
    sql = f"SELECT g.hash FROM grain g WHERE g.dead <> coalesce({last} <> {oplog.MARKS['reopen']}, 0)"
    for (digest,) in rows(db, sql):
        yield Fault("STO-E009", digest.hex(), "it is not as live as its last mark says")
    sql = f"SELECT hash FROM grain WHERE id NOT IN (SELECT gid FROM op WHERE kind = {oplog.ADD})"
    for (digest,) in rows(db, sql):
        yield Fault("STO-E009", digest.hex(), "the op-log does not know of it")
    for (seq,) in rows(db, "SELECT seq FROM mark WHERE seq NOT IN (SELECT seq FROM op)"):
        yield Fault("STO-E009", "", f"mark {seq} is not in the op-log")


def _counters(db: apsw.Connection) -> Iterator[Fault]:
    counters = dict(rows(db, "SELECT name, value FROM counter"))
    last = scalar(db, "SELECT max(gid) FROM op") or 0
    if counters.get("seq", 0) != last:
        yield Fault("STO-E009", "", f"the arrival counter says {counters.get('seq', 0)}, the op-log {last}")
    if counters.get("hlc", 0) < (scalar(db, "SELECT max(hlc) FROM op") or 0):
        yield Fault("STO-E009", "", "the clock is behind the op-log")
    held = dict(rows(db, "SELECT ns, count(*) FROM grain INDEXED BY g_type GROUP BY ns"))
    for space, name in rows(db, "SELECT id, name FROM space"):
        if counters.get(f"held:{space}", 0) != held.get(space, 0):
            yield Fault(
                "STO-E009", "", f"a namespace counter is wrong (number {space}, {len(name)} characters)"
            )


def _text(db: apsw.Connection) -> Iterator[Fault]:
    """Every indexed grain with words is in the text index, and nothing else is."""
    indexed = scalar(db, "SELECT value FROM counter WHERE name = 'indexed'") or 0
    present = {row[0] for row in rows(db, "SELECT id FROM text_docsize")}
    for gid, digest, kind, body in rows(
        db, "SELECT id, hash, type, body FROM grain WHERE id <= ? ORDER BY id", (indexed,)
    ):
        if (gid in present) != bool(words_of(kind, body)):
            yield Fault("STO-E009", digest.hex(), "the text index does not fit it")
        present.discard(gid)
    for gid in sorted(present):
        yield Fault("STO-E009", "", f"the text index holds position {gid}, which is not a grain")
