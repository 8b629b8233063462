# SPDX-License-Identifier: Apache-2.0
"""Reading grains: by address, by key, newest first, along chains, in arrival order.

Order is (created_at, hlc, address) everywhere (D3); the indexes carry the first two. Text that is asked for is
compared exactly, in NFC; folded keys only say where to look (D11).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import Any, Final

import apsw

from deja_tui.store.codec import TYPES
from deja_tui.store.faults import AmbiguousError, unknown
from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import is_address, key_of, link_key, parents_of
from deja_tui.store.rows import COLUMNS, stored
from deja_tui.store.sql import rows, scalar
from deja_tui.store.terms import find_space, find_term, space_filter
from deja_tui.text import door, fold, nfc

_NEWEST: Final = "ORDER BY g.at DESC, g.hlc DESC, g.hash DESC"
_FEW: Final = 64
_SHOWN_MATCHES: Final = 20
_PAGE: Final = 256
_NEAR: Final = 2_000


def asked(text: str) -> str:
    """A text to compare with, in NFC; what no grain can hold becomes U+FFFD, as it would at the door."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return door(text)
    return nfc(text)


# --- one grain --------------------------------------------------------------------------------------


def get(db: apsw.Connection, address: str) -> StoredGrain | None:
    """The grain at ``address``, or None."""
    if is_address(address):
        for row in db.execute(f"SELECT {COLUMNS} FROM grain g WHERE g.hash = ?", (bytes.fromhex(address),)):
            return stored(row)
    return None


def blob(db: apsw.Connection, address: str) -> bytes | None:
    """The bytes of the grain at ``address``, or None."""
    if is_address(address):
        for (body,) in db.execute("SELECT body FROM grain WHERE hash = ?", (bytes.fromhex(address),)):
            return bytes(body)
    return None


def resolve(db: apsw.Connection, prefix: str, type_: str | None, namespace: str | None) -> str:
    """The one address that starts with ``prefix``. Raises MEM-E001 none, MEM-E004 several."""
    low = prefix.lower()
    if not low or not is_address(low[:64].ljust(64, "0")) or len(low) > 64:
        raise unknown(prefix)
    sql = "SELECT hash FROM grain WHERE hash BETWEEN ? AND ?"
    values: list[Any] = [bytes.fromhex(low.ljust(64, "0")), bytes.fromhex(low.ljust(64, "f"))]
    if type_ is not None:
        sql += " AND type = ?"
        values.append(TYPES.get(type_, -1))
    if namespace is not None:
        sql += " AND ns = ?"
        values.append(find_space(db, asked(namespace)) or -1)
    found = [row[0].hex() for row in db.execute(f"{sql} ORDER BY hash LIMIT {_SHOWN_MATCHES}", values)]
    if not found:
        raise unknown(low)
    if len(found) > 1:
        raise AmbiguousError(low, found)
    return str(found[0])


# --- by key, newest first ---------------------------------------------------------------------------


def recall(
    db: apsw.Connection,
    namespace: str,
    subject: str | None,
    relation: str | None,
    object_: str | None,
    type_: str | None,
    k: int,
) -> list[StoredGrain]:
    """The ``k`` newest live grains that fit, newest first."""
    space = find_space(db, asked(namespace))
    if space is None or k <= 0 or (type_ is not None and type_ not in TYPES):
        return []
    exact = {
        name: asked(value)
        for name, value in (("subject", subject), ("relation", relation), ("object", object_))
        if value is not None
    }
    grains = (stored(row) for row in _candidates(db, space, exact, None if type_ is None else TYPES[type_]))
    fitting = (grain for grain in grains if all(grain.fields.get(n) == v for n, v in exact.items()))
    return list(islice(fitting, k))


def _candidates(
    db: apsw.Connection, space: int, exact: dict[str, str], kind: int | None
) -> Iterator[tuple[Any, ...]]:
    """Live rows of a namespace whose keys fit, newest first, from the index that reaches the fewest others."""
    terms = {name: find_term(db, fold(exact[name])) for name in ("subject", "relation") if name in exact}
    if None in terms.values():
        return iter(())
    where = "g.dead = 0 AND g.ns = :ns"
    values: dict[str, Any] = {
        "ns": space,
        "s": terms.get("subject"),
        "r": terms.get("relation"),
        "type": kind,
    }
    if "subject" in terms:
        where += " AND g.s IS NOT NULL AND g.s = :s"
    if "relation" in terms:
        where += " AND g.r IS NOT NULL AND g.r = :r"
    if "relation" in terms and "object" in exact:
        where += " AND g.k = :k"
        values["k"] = key_of(fold(exact["object"]))
    if "subject" not in terms:
        kinds = TYPES.values() if kind is None and "relation" not in terms else [kind or TYPES["fact"]]
        return _by_type(db, where, values, kinds)
    index = "g_fact" if "relation" in terms and ("k" in values or _is_rare(db, where, values)) else "g_subj"
    if kind is not None:
        where += " AND g.type = :type"
    return rows(db, f"SELECT {COLUMNS} FROM grain g INDEXED BY {index} WHERE {where} {_NEWEST}", values)


def _is_rare(db: apsw.Connection, where: str, values: dict[str, Any]) -> bool:
    """Whether a key holds so few facts that sorting them is cheaper than walking its subject, newest first."""
    some = f"SELECT 1 FROM grain g INDEXED BY g_fact WHERE {where} LIMIT {_FEW + 1}"
    return int(scalar(db, f"SELECT count(*) FROM ({some})", values)) <= _FEW


def _by_type(
    db: apsw.Connection, where: str, values: dict[str, Any], kinds: Iterable[int]
) -> Iterator[tuple[Any, ...]]:
    sql = f"SELECT {COLUMNS} FROM grain g INDEXED BY g_type WHERE g.type = :type AND {where} {_NEWEST}"
    each = [rows(db, sql, {**values, "type": number}) for number in kinds]
    return merge(*each, key=lambda row: (row[2], row[3], row[6]), reverse=True)


# --- along chains -----------------------------------------------------------------------------------

_HEAD: Final = """
WITH RECURSIVE up(i) AS (
  SELECT id FROM grain WHERE hash = ?
  UNION
  SELECT m.by FROM up JOIN mark m ON m.gid = up.i
   WHERE m.by IS NOT NULL AND m.seq = (SELECT max(seq) FROM mark x WHERE x.gid = up.i)
)
SELECT i FROM up
"""
_CHAIN: Final = f"""
WITH RECURSIVE down(i) AS (
  VALUES(?)
  UNION
  SELECT g.prev FROM down JOIN grain g ON g.id = down.i WHERE g.prev IS NOT NULL
  UNION
  SELECT t.prev FROM down JOIN tombstone t ON t.gid = down.i WHERE t.prev IS NOT NULL
  UNION
  SELECT m.gid FROM down JOIN mark m INDEXED BY m_retired ON m.by = down.i
   WHERE m.kind = 1 AND m.seq = (SELECT max(seq) FROM mark x WHERE x.gid = m.gid)
)
SELECT {COLUMNS} FROM down CROSS JOIN grain g ON g.id = down.i
"""


def history(db: apsw.Connection, address: str) -> list[StoredGrain]:
    """The chain of ``address``, newest first: up to what took its place last, then down to what each one replaced."""
    if not is_address(address):
        return []
    up = db.execute(_HEAD, (bytes.fromhex(address),)).fetchall()
    return [stored(row) for row in db.execute(_CHAIN, up[-1])] if up else []


def children(db: apsw.Connection, address: str) -> list[StoredGrain]:
    """Grains that name ``address`` as a parent, newest arrival first."""
    if not is_address(address):
        return []
    sql = f"SELECT {COLUMNS} FROM link l CROSS JOIN grain g ON g.id = l.child WHERE l.p = ? ORDER BY l.child DESC"
    found = (stored(row) for row in db.execute(sql, (link_key(address),)))
    return [grain for grain in found if address in parents_of(grain.fields)]


# --- in arrival order -------------------------------------------------------------------------------


def scan(
    db: apsw.Connection, type_: str, namespaces: Sequence[str] | None, after: int, live_only: bool
) -> Iterator[StoredGrain]:
    """Grains of one type in arrival order: those that were there when it began, minus what was erased since.

    Read page by page, so that no read transaction stays open between two grains.
    """
    kind = TYPES.get(type_)
    if kind is None:
        return
    where = space_filter(db, None if namespaces is None else [asked(name) for name in namespaces])
    ids = _arrivals(db, kind, where, after)
    sql = f"SELECT {COLUMNS} FROM grain g WHERE g.id = ?" + (" AND g.dead = 0" if live_only else "")
    for start in range(0, len(ids), _PAGE):
        page = [(gid,) for gid in ids[start : start + _PAGE]]
        yield from [stored(row) for row in db.executemany(sql, page)]


def _arrivals(db: apsw.Connection, kind: int, where: str, after: int) -> array[int]:
    """Positions above ``after``, ascending. A short stretch is read through, a long one looked up by type."""
    last = scalar(db, "SELECT max(id) FROM grain") or 0
    by = "NOT INDEXED" if last - after <= _NEAR else "INDEXED BY g_type"
    sql = f"SELECT id FROM grain {by} WHERE type = ? AND id > ? AND {where} ORDER BY id"
    return array("q", (row[0] for row in db.execute(sql, (kind, after))))
