# SPDX-License-Identifier: Apache-2.0
"""Checks that list every fault they find, not the first one only.

* INV-INTEGRITY-1  `verify` never raises over what it finds: each fault is one row of the answer.
* INV-INTEGRITY-2  Derived data is compared with the primary data it follows from (D1); nothing is repaired here:
  `derived.rebuild` does that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import apsw

from deja_tui.store import derived, oplog, read
from deja_tui.store.codec import TYPES, Grain
from deja_tui.store.faults import storage_error
from deja_tui.store.keys import Keys, namespace_of
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


def verify(db: apsw.Connection, deep: bool = False) -> tuple[Fault, ...]:
    """Every fault: page structure, bytes, liveness, op-log, counters, text index; in that order.

    Faults of one grain name its address. A damaged page can stop a later check; that is a fault of its own.

    Args:
        deep: also compare everything derived with what follows from the bytes, which decodes every grain.
    """
    faults: list[Fault] = []
    structure = _every_index if deep else _structure
    for check in (structure, _bytes, _liveness, _counters, _text, *(_DEEP if deep else ())):
        try:
            faults.extend(check(db))
        except apsw.Error as error:
            told = storage_error(error)
            faults.append(Fault(told.code, "", f"{check.__name__.strip('_')}: {told.message}"))
    return tuple(faults)


def _every_index(db: apsw.Connection) -> Iterator[Fault]:
    """The structure, and whether every index holds what its table does: a bit flipped in an index changes answers."""
    yield from _structure(db, "integrity_check")


def _structure(db: apsw.Connection, check: str = "quick_check") -> Iterator[Fault]:
    # FTS5 checks itself by the structure it last read here; opening the table makes it see what others wrote since.
    scalar(db, "SELECT rowid FROM text WHERE rowid = 0")
    for (told,) in rows(db, f"PRAGMA {check}"):
        if told != "ok":
            yield Fault("STO-E009", "", f"SQLite finds the file damaged: {told}")


def _bytes(db: apsw.Connection) -> Iterator[Fault]:
    sha256 = hashlib.sha256
    for digest, body in rows(db, "SELECT hash, body FROM grain"):
        if sha256(body).digest() != digest:
            yield Fault("FMT-E003", digest.hex(), "the bytes do not have the address they are filed under")


def _columns(db: apsw.Connection) -> Iterator[Fault]:
    """The columns beside the bytes, links, sources and counters are those that follow from the bytes."""
    sql = (
        "SELECT g.id, g.hash, g.body, g.type, g.at, n.name, s.s, r.s, g.k, t.s, e.s, h.s, g.vt FROM grain g"
        " LEFT JOIN space n ON n.id = g.ns LEFT JOIN term s ON s.id = g.s LEFT JOIN term r ON r.id = g.r"
        " LEFT JOIN term t ON t.id = g.tool LEFT JOIN term e ON e.id = g.sig LEFT JOIN term h ON h.id = g.thread"
    )
    expected = derived.Expected(db)
    for gid, digest, body, *columns in rows(db, sql):
        found = derived.keys_in(body)
        sound = hashlib.sha256(body).digest() == digest  # else it is told already
        if sound and (found is None or _derived(*found) != columns):
            yield Fault("STO-E009", digest.hex(), "the columns beside the grain do not follow from its bytes")
        lacking = expected.see(gid, *found) if found else None
        if lacking:
            yield Fault("STO-E009", digest.hex(), lacking)
    for told in expected.faults():
        yield Fault("STO-E009", "", told)


def _derived(grain: Grain, keys: Keys) -> list[object]:
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
    sql = f"SELECT g.hash FROM grain g WHERE g.dead <> {derived.DEAD}"
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
    """Every indexed grain with words is in the text index, and nothing else is. Only those not in it are decoded."""
    indexed = scalar(db, "SELECT value FROM counter WHERE name = 'indexed'") or 0
    absent = (
        "SELECT g.hash, g.type, g.body FROM grain g JOIN space n ON n.id = g.ns WHERE g.id <= ?"
        " AND n.reserved = 0 AND NOT EXISTS (SELECT 1 FROM text_docsize d WHERE d.id = g.id)"
    )
    for digest, kind, body in rows(db, absent, (indexed,)):
        if words_of(kind, body):
            yield Fault("STO-E009", digest.hex(), "the text index does not know of it")
    surplus = (
        "SELECT d.id FROM text_docsize d LEFT JOIN grain g ON g.id = d.id LEFT JOIN space n ON n.id = g.ns"
        " WHERE d.id > ? OR coalesce(n.reserved, 1) = 1"
    )
    for (gid,) in rows(db, surplus, (indexed,)):
        yield Fault("STO-E009", "", f"the text index holds position {gid}, which it should not")


def _arrivals(db: apsw.Connection) -> Iterator[Fault]:
    for digest, told in derived.arrival_faults(db):
        yield Fault("STO-E009", digest.hex(), told)


def _dictionaries(db: apsw.Connection) -> Iterator[Fault]:
    for told in derived.dictionary_faults(db):
        yield Fault("STO-E009", "", told)


def _words(db: apsw.Connection) -> Iterator[Fault]:
    for told in derived.text_faults(db):
        yield Fault("STO-E009", "", told)


_DEEP: Final = (_columns, _arrivals, _dictionaries, _words)
