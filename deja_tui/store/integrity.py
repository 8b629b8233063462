# SPDX-License-Identifier: Apache-2.0
"""Checks that list every fault they find, not the first one only.

* INV-INTEGRITY-1  `verify` never raises over what it finds: each fault is one row of the answer.
* INV-INTEGRITY-2  Derived data is compared with the primary data it follows from (D1); nothing is repaired here:
  `derived.rebuild` does that.
* INV-INTEGRITY-3  A flipped byte anywhere in a grain, an edited column beside one, a grain, a mark or a row of the log that is
  gone, and an index that lacks or invents a row are found also without ``deep``. A sum says that a column was edited (`seal`);
  then the grains are decoded, to say which.
* INV-INTEGRITY-4  No fault holds text of a grain.

``deep`` adds what costs more than reading the file once: every entry of every index against its row, every column against the
decoded bytes, every word of the text index, terms that nothing uses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

import apsw

from deja_tui import watch
from deja_tui.store import derived, near, oplog, read, schema, seal, settings
from deja_tui.store.codec import TYPES, Grain
from deja_tui.store.faults import Fault, storage_error
from deja_tui.store.keys import Keys, namespace_of
from deja_tui.store.search import words_of
from deja_tui.store.sql import counter, rows, scalar
from deja_tui.text import clean


def intact(db: apsw.Connection, address: str) -> bool:
    """Whether the bytes stored under ``address`` still have it."""
    found = read.blob(db, address)
    return found is not None and hashlib.sha256(found).hexdigest() == address


def verify(db: apsw.Connection, deep: bool = False) -> tuple[Fault, ...]:
    """Every fault: tables, pages, bytes, columns, liveness, op-log, counters, settings, text index; in that order.

    Faults of one grain name its address. A damaged page can stop a later check; that is a fault of its own.

    Args:
        deep: see the module.
    """
    faults: list[Fault] = []
    checks = _DEEP if deep else _CHECKS
    for check in watch.each(checks, len(checks), "checks", every=1):
        try:
            faults.extend(check(db))
        except (apsw.Error, UnicodeDecodeError) as error:
            refusal = storage_error(error)
            faults.append(Fault(refusal.code, "", f"{check.__name__.strip('_')}: {refusal.message}"))
        except (TypeError, AttributeError, KeyError, ValueError, OverflowError):
            told = "a value in the file is of another kind than its column"
            faults.append(Fault("STO-E009", "", f"{check.__name__.strip('_')}: {told}"))
    return tuple(faults)


def _schema(db: apsw.Connection) -> Iterator[Fault]:
    """Every table and index is there as it was made, and nothing that acts by itself beside them."""
    found = dict(rows(db, _OBJECTS))
    later = {"ledger", "l_queue", "l_identity"} if "ledger" not in found else set()
    if "l_analyzer" not in found:
        later.add("l_analyzer")  # the next act of the engine makes it, in a file that an older version made
    for name, sql in _made().items():
        if name not in later and found.get(name) != sql:
            yield Fault("STO-E009", "", f"{name} is {'not as it was made' if name in found else 'missing'}")
    strange = "SELECT type FROM sqlite_schema WHERE type IN ('trigger', 'view') ORDER BY type"
    for (kind,) in rows(db, strange):
        yield Fault("STO-E009", "", f"the file holds a {kind}, which deja never makes")


_OBJECTS: Final = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"


@cache
def _made() -> dict[str, str]:
    """Every table and index as this version makes it: its statement by its name."""
    db = apsw.Connection(":memory:")
    schema.create(db)
    schema.run(db, schema.LEDGER)
    made = dict(rows(db, _OBJECTS))
    db.close()
    return made


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
    for digest, body in _watched(db, "SELECT hash, body FROM grain"):
        if type(body) is not bytes or sha256(body).digest() != digest:
            address = digest.hex() if type(digest) is bytes else ""
            yield Fault("FMT-E003", address, "the bytes do not have the address they are filed under")


def _watched(db: apsw.Connection, sql: str) -> Iterable[tuple[Any, ...]]:
    """Rows of the grains, told as they go by."""
    return watch.each(
        rows(db, sql), lambda: int(scalar(db, "SELECT count(*) FROM grain")), "grains", every=1_024
    )


def _sums(db: apsw.Connection) -> Iterator[Fault]:
    """Indexes that lack or invent rows, and columns that were edited: one walk of the table, one of each index."""
    where = {name: sql.partition(" WHERE ")[2] for name, sql in _made().items() if name.startswith("g_")}
    each = ", ".join(f"sum(CASE WHEN {condition or 1} THEN id END)" for condition in where.values())
    total, *due = next(rows(db, f"SELECT sum({seal.SQL}), {each} FROM grain NOT INDEXED"))
    for (name, condition), ids in zip(where.items(), due, strict=True):
        if scalar(db, f"SELECT sum(id) FROM grain INDEXED BY {name} WHERE {condition or 1}") != ids:
            yield Fault("STO-E009", "", f"the index {name} does not hold the rows of its table")
    counted = scalar(db, "SELECT value FROM counter WHERE name = ?", (seal.COUNTER,))
    if counted is not None and counted != (total or 0):
        named = list(_columns(db))
        yield from named or [
            Fault("STO-E009", "", "the sum of the columns is not the one that was kept of them")
        ]


def _columns(db: apsw.Connection) -> Iterator[Fault]:
    """The columns beside the bytes, links, sources and counters are those that follow from the bytes."""
    sql = (
        "SELECT g.id, g.hash, g.body, g.type, g.at, n.name, s.s, r.s, g.k, t.s, e.s, h.s, g.vt FROM grain g"
        " LEFT JOIN space n ON n.id = g.ns LEFT JOIN term s ON s.id = g.s LEFT JOIN term r ON r.id = g.r"
        " LEFT JOIN term t ON t.id = g.tool LEFT JOIN term e ON e.id = g.sig LEFT JOIN term h ON h.id = g.thread"
    )
    expected = derived.Expected(db)
    for gid, digest, body, *columns in _watched(db, sql):
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


_UNLIKE: Final = f"""
SELECT g.hash FROM (SELECT DISTINCT gid FROM mark) m CROSS JOIN grain g ON g.id = m.gid WHERE g.dead <> {derived.DEAD}
UNION ALL
SELECT hash FROM grain INDEXED BY g_dead WHERE dead = 1 AND id NOT IN (SELECT gid FROM mark)
UNION ALL
SELECT hash FROM grain WHERE dead NOT IN (0, 1)
"""


def _liveness(db: apsw.Connection) -> Iterator[Fault]:
    """``dead`` is what the last mark says (INV-STORE-5)."""
    for (digest,) in rows(db, _UNLIKE):
        yield Fault("STO-E009", digest.hex(), "it is not as live as its last mark says")


def _log(db: apsw.Connection) -> Iterator[Fault]:
    """The op-log has no gap, every grain and mark stands in it, and what it says arrived is here or was forgotten."""
    count, first, last = next(rows(db, "SELECT count(*), min(seq), max(seq) FROM op"))
    if count and (first, last) != (1, count):
        yield Fault("STO-E009", "", f"the op-log has gaps: {last - count} of its {last} rows are not there")
    for (seq,) in rows(db, "SELECT seq FROM mark WHERE seq NOT IN (SELECT seq FROM op)"):
        yield Fault("STO-E009", "", f"mark {seq} is not in the op-log")
    sql = f"SELECT hash FROM tombstone WHERE gid NOT IN (SELECT gid FROM op WHERE kind = {oplog.FORGET})"
    for (digest,) in rows(db, sql):
        yield Fault("STO-E009", digest.hex(), "the op-log does not know of its erasure")
    if derived.arrived_as_logged(db):
        return
    sql = f"SELECT hash FROM grain WHERE id NOT IN (SELECT gid FROM op WHERE kind = {oplog.ADD})"
    for (digest,) in rows(db, sql):
        yield Fault("STO-E009", digest.hex(), "the op-log does not know of it")
    for told in derived.missing(db):
        yield Fault("STO-E009", "", told)
    for digest, told in derived.arrival_faults(db):
        yield Fault("STO-E009", digest.hex(), told)


def _orphans(db: apsw.Connection) -> Iterator[Fault]:
    """Rows about grains that are neither here nor forgotten, and grains that are both."""
    for table, column in (("link", "child"), ("source", "gid")):
        orphans = scalar(db, f"SELECT count(*) FROM {table} WHERE {column} NOT IN (SELECT id FROM grain)")
        if orphans:
            yield Fault(
                "STO-E009", "", f"the {table} table holds {orphans} rows about grains that are not here"
            )
    gone = "NOT IN (SELECT id FROM grain UNION ALL SELECT gid FROM tombstone)"
    for (seq,) in rows(db, f"SELECT seq FROM mark WHERE gid {gone} OR (by IS NOT NULL AND by {gone})"):
        yield Fault("STO-E009", "", f"mark {seq} is about a grain that is not here")
    both = "SELECT g.hash FROM tombstone t JOIN grain g ON g.hash = t.hash OR g.id = t.gid"
    for (digest,) in rows(db, both):
        yield Fault("STO-E009", digest.hex(), "it was forgotten, and stands here all the same")


def _counters(db: apsw.Connection) -> Iterator[Fault]:
    counters = dict(rows(db, "SELECT name, value FROM counter"))
    for name in sorted(str(name) for name, value in counters.items() if type(value) is not int):
        yield Fault("STO-E009", "", f"the counter {clean(name, 64)} holds no number")
    counters = {name: value for name, value in counters.items() if type(value) is int}
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


def _settings(db: apsw.Connection) -> Iterator[Fault]:
    """Every setting can be read, and says when and by whom it was written (D1, D5)."""
    for key, hlc, source, value in rows(
        db, "SELECT key, hlc, source, CAST(value AS BLOB) FROM setting ORDER BY key"
    ):
        named = f"the setting {clean(str(key), 64)}"
        if not settings.readable(value):
            yield Fault("STO-E009", "", f"{named} is damaged: its value cannot be read")
        if type(hlc) is not int or source not in settings.SOURCES:
            yield Fault("STO-E009", "", f"{named} does not say when and by whom it was written")


def _text(db: apsw.Connection) -> Iterator[Fault]:
    """Every indexed grain with words is in the text index, and nothing else is. Only those not in it are decoded."""
    indexed = counter(db, "indexed")
    absent = (
        "SELECT id FROM grain INDEXED BY g_type WHERE id <= ? AND id NOT IN (SELECT id FROM text_docsize)"
        " AND ns IN (SELECT id FROM space WHERE reserved = 0)"
    )
    lacking = f"SELECT hash, type, body FROM grain WHERE id IN ({absent})"
    for digest, kind, body in rows(db, lacking, (indexed,)):
        if words_of(kind, body):
            yield Fault("STO-E009", digest.hex(), "the text index does not know of it")
    surplus = (
        "SELECT d.id FROM text_docsize d LEFT JOIN grain g ON g.id = d.id LEFT JOIN space n ON n.id = g.ns"
        " WHERE d.id > ? OR coalesce(n.reserved, 1) = 1"
    )
    for (gid,) in rows(db, surplus, (indexed,)):
        yield Fault("STO-E009", "", f"the text index holds position {gid}, which it should not")


def _terms(db: apsw.Connection) -> Iterator[Fault]:
    for told in derived.dictionary_faults(db, unused=False):
        yield Fault("STO-E009", "", told)


def _dictionaries(db: apsw.Connection) -> Iterator[Fault]:
    for told in derived.dictionary_faults(db):
        yield Fault("STO-E009", "", told)


def _words(db: apsw.Connection) -> Iterator[Fault]:
    for told in derived.text_faults(db):
        yield Fault("STO-E009", "", told)


_CHECKS: Final = (
    _schema,
    _structure,
    _bytes,
    _sums,
    _liveness,
    _log,
    _orphans,
    _counters,
    _settings,
    _terms,
    _text,
)


def _signatures(db: apsw.Connection) -> Iterator[Fault]:
    for told in near.faults(db):
        yield Fault("STO-E009", "", told)


_DEEP: Final = (
    _schema,
    _every_index,
    _bytes,
    _columns,
    _sums,
    _liveness,
    _log,
    _orphans,
    _counters,
    _settings,
    _dictionaries,
    _text,
    _words,
    _signatures,
)
