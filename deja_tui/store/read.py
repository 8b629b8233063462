# SPDX-License-Identifier: Apache-2.0
"""Reading grains: by address, by key, newest first, along chains, in arrival order.

Order is (created_at, hlc, address) everywhere (D3); the indexes carry the first two. Text that is asked for is
compared exactly, in NFC; folded keys only say where to look (D11).

* INV-READ-1  Every way a recall may take gives the same grains in the same order, ties of time and clock included.
* INV-READ-2  A key nominates; the decoded text decides.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import chain, islice
from typing import Any, Final

import apsw

from deja_tui.errors import ValidationError
from deja_tui.store.codec import TYPES
from deja_tui.store.faults import AmbiguousError, unknown
from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import is_address, key_of, link_key, parents_of
from deja_tui.store.rows import COLUMNS, LIVE_COLUMNS, readable, stored
from deja_tui.store.sql import listed, rows, scalar
from deja_tui.store.terms import find_space, space_filter
from deja_tui.text import door, fold, nfc

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
    except AttributeError as error:
        raise ValidationError(
            "VAL-E001", f"a text is needed, not {type(text).__name__}", "Give it as a string."
        ) from error
    return nfc(text)


def how_many(k: int) -> int:
    """``k``, when it is a whole number. Raises VAL-E001."""
    if type(k) is not int:
        raise ValidationError("VAL-E001", f"a whole number is needed, not {type(k).__name__}")
    return k


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
    if not isinstance(prefix, str):
        raise ValidationError("VAL-E001", f"an address is a text of hex digits, not {type(prefix).__name__}")
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

_SPACE: Final = "(SELECT id FROM space WHERE h = ? AND name = ?)"
_TERM: Final = "(SELECT id FROM term WHERE h = ? AND s = ?)"
_BY_SUBJECT: Final = (
    f"SELECT {LIVE_COLUMNS} FROM grain g INDEXED BY g_subj"
    f" WHERE g.dead = 0 AND g.s IS NOT NULL AND g.ns = {_SPACE} AND g.s = {_TERM}"
)
_KEY: Final = (
    "SELECT g.at, g.hlc, g.hash, g.id FROM grain g INDEXED BY g_fact"
    f" WHERE g.dead = 0 AND g.r IS NOT NULL AND g.ns = {_SPACE} AND g.s = {_TERM} AND g.r = {_TERM}"
)
_THESE: Final = (
    f"SELECT {LIVE_COLUMNS} FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value WHERE g.dead = 0"
)
_BY_TYPE: Final = f"SELECT {LIVE_COLUMNS} FROM grain g INDEXED BY g_type WHERE g.type = ? AND g.dead = 0 AND g.ns = {_SPACE}"
_NEWEST: Final = " ORDER BY g.at DESC, g.hlc DESC"
_FIRST: Final = f"{_BY_SUBJECT}{_NEWEST} LIMIT ?"
_THIS: Final = f"SELECT {LIVE_COLUMNS} FROM grain g WHERE g.id = ? AND g.dead = 0"

Row = tuple[Any, ...]


def recall(
    db: apsw.Connection,
    namespace: str,
    subject: str | None,
    relation: str | None,
    object_: str | None,
    type_: str | None,
    k: int,
    keep: Callable[[Mapping[str, Any]], bool] | None = None,
) -> list[StoredGrain]:
    """The ``k`` newest live grains that fit, and whose fields ``keep`` takes, newest first."""
    if how_many(k) <= 0 or (type_ is not None and type_ not in TYPES):
        return []
    space, exact = asked(namespace), exactly(subject, relation, object_)
    if type_ is None and keep is None and len(exact) == 1 and "subject" in exact:
        plain = _plainly(db, space, exact["subject"], k)
        if plain is not None:
            return plain
    return taken(_candidates(db, space, exact, None if type_ is None else TYPES[type_]), exact, k, keep)


def _plainly(db: apsw.Connection, namespace: str, subject: str, k: int) -> list[StoredGrain] | None:
    """The recall that is asked most, in one statement; None when rows tie or a spelling differs, which is rare."""
    found = db.execute(_FIRST, (key_of(namespace), namespace, *_term(subject), k + 1)).fetchall()
    if len({row[3] for row in found}) < len(found):
        return None
    grains = [stored(row) for row in found[:k]]
    for grain in grains:
        if grain.fields.get("subject") != subject:
            return None
    return grains


def exactly(subject: str | None, relation: str | None, object_: str | None) -> dict[str, str]:
    """The texts that a grain must have, by field, in the form they are compared in."""
    given = (("subject", subject), ("relation", relation), ("object", object_))
    return {name: asked(value) for name, value in given if value is not None}


def taken(
    candidates: Iterable[Row],
    exact: Mapping[str, str],
    k: int,
    keep: Callable[[Mapping[str, Any]], bool] | None = None,
) -> list[StoredGrain]:
    """The first ``k`` of ``candidates`` that have these texts; keys only nominate (D11)."""
    wanted = list(exact.items())
    found: list[StoredGrain] = []
    for row in candidates:
        grain = stored(row)
        fields = grain.fields
        for name, value in wanted:
            if fields.get(name) != value:
                break
        else:
            if keep is not None and not keep(fields):
                continue
            found.append(grain)
            if len(found) == k:
                break
    return found


def _candidates(
    db: apsw.Connection, namespace: str, exact: dict[str, str], kind: int | None
) -> Iterator[Row]:
    """Live rows of a namespace whose keys fit, newest first, from the index that reaches the fewest others."""
    here = (key_of(namespace), namespace)
    relation = _term(exact["relation"]) if "relation" in exact else None
    of_type, number = ("", ()) if kind is None else (" AND g.type = ?", (kind,))
    if "subject" not in exact:
        if relation is None:
            return _by_type(db, here, "", (), TYPES.values() if kind is None else [kind])
        return _by_type(db, here, f" AND g.r = {_TERM}", relation, [kind or TYPES["fact"]])
    subject = _term(exact["subject"])
    if relation is None:
        return _untied(rows(db, f"{_BY_SUBJECT}{of_type}{_NEWEST}", (*here, *subject, *number)))
    if "object" in exact:
        key = rows(db, f"{_KEY} AND g.k = ?", (*here, *subject, *relation, key_of(fold(exact["object"]))))
        return _sorted(db, list(key), kind)
    few = list(rows(db, f"{_KEY} LIMIT {_FEW + 1}", (*here, *subject, *relation)))
    if len(few) <= _FEW:
        return _sorted(db, few, kind)
    # A key that many facts share: walking its subject, newest first, meets the first ones soon.
    walk = f"{_BY_SUBJECT} AND g.r = {_TERM}{of_type}{_NEWEST}"
    return _untied(rows(db, walk, (*here, *subject, *relation, *number)))


def _term(text: str) -> tuple[int, str]:
    folded = fold(text)
    return key_of(folded), folded


def _sorted(db: apsw.Connection, found: list[Row], kind: int | None) -> Iterator[Row]:
    """The rows of these (created_at, hlc, address, position), newest first."""
    if kind not in (None, TYPES["fact"]):
        return iter(())
    if not found:
        return iter(())
    first, *others = sorted(found, reverse=True)
    head = rows(db, _THIS, first[3:])
    return chain(head, _those(db, others)) if others else head


def _those(db: apsw.Connection, found: list[Row]) -> Iterator[Row]:
    yield from rows(
        db, _THESE, (listed(row[3] for row in found),)
    )  # asked only when the first was not enough


def _untied(found: Iterator[Row]) -> Iterator[Row]:
    """``found``, ordered by (created_at, hlc) falling, with ties in falling order of address (D3).

    Two local arrivals never have one HLC, so there is nearly never a tie to hold back for, and sorting in SQL would
    read every row of it first.
    """
    tied: list[Row] = []
    for row in found:
        if tied and tied[-1][3] != row[3]:
            yield from tied if len(tied) == 1 else sorted(tied, key=_order, reverse=True)
            tied.clear()
        tied.append(row)
    yield from sorted(tied, key=_order, reverse=True)


def _order(row: Row) -> tuple[int, int, bytes]:
    return row[2], row[3], row[6]


def _by_type(db: apsw.Connection, here: Row, where: str, values: Row, kinds: Iterable[int]) -> Iterator[Row]:
    each = [_untied(rows(db, f"{_BY_TYPE}{where}{_NEWEST}", (kind, *here, *values))) for kind in kinds]
    return each[0] if len(each) == 1 else merge(*each, key=_order, reverse=True)


# --- along chains -----------------------------------------------------------------------------------

_UP: Final = """
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


def history(db: apsw.Connection, address: str, limit: int) -> list[StoredGrain]:
    """The chain of ``address``, newest first: up to what took its place last, then down to what each one replaced."""
    if not is_address(address):
        return []
    up = list(rows(db, _UP, (bytes.fromhex(address),)))  # UNION ends a ring of marks where it would repeat
    return [stored(row) for row in islice(rows(db, _CHAIN, up[-1]), limit)] if up else []


def chain_down(db: apsw.Connection, address: str) -> list[StoredGrain]:
    """What ``address`` replaced, itself first, and so on down; [] when it was never here."""
    at = {"h": bytes.fromhex(address)}
    here = "SELECT id FROM grain WHERE hash = :h UNION ALL SELECT gid FROM tombstone WHERE hash = :h"
    return [stored(row) for gid in rows(db, here, at) for row in rows(db, _CHAIN, gid)]


def children(db: apsw.Connection, address: str) -> list[StoredGrain]:
    """Grains that name ``address`` as a parent, newest arrival first."""
    if not is_address(address):
        return []
    sql = f"SELECT {COLUMNS} FROM link l CROSS JOIN grain g ON g.id = l.child WHERE l.p = ? ORDER BY l.child DESC"
    found = (stored(row) for row in db.execute(sql, (link_key(address),)))
    return [grain for grain in found if address in parents_of(grain.fields)]


# --- in arrival order -------------------------------------------------------------------------------


def scan(
    connection: Callable[[], apsw.Connection],
    type_: str,
    namespaces: Sequence[str] | None,
    after: int,
    live_only: bool,
    pass_damaged: bool = False,
) -> Iterator[StoredGrain]:
    """Grains of one type in arrival order: those that were there when it began, minus what was erased since.

    Read page by page, each on the connection of that moment: no read transaction stays open between two grains, and
    a scan that began inside an act may end after it.
    """
    kind, after = TYPES.get(type_), how_many(after)
    if kind is None:
        return
    db = connection()
    where = space_filter(db, None if namespaces is None else [asked(name) for name in namespaces])
    ids = _arrivals(db, kind, where, after)
    sql = f"SELECT {COLUMNS} FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value"
    if live_only:
        sql += " WHERE g.dead = 0"
    for start in range(0, len(ids), _PAGE):
        page = rows(connection(), sql, (listed(ids[start : start + _PAGE]),))
        yield from readable(page) if pass_damaged else [stored(row) for row in page]


def _arrivals(db: apsw.Connection, kind: int, where: str, after: int) -> array[int]:
    """Positions above ``after``, ascending. A short stretch is read through, a long one looked up by type."""
    last = scalar(db, "SELECT max(id) FROM grain") or 0
    by = "NOT INDEXED" if last - after <= _NEAR else "INDEXED BY g_type"
    sql = f"SELECT id FROM grain {by} WHERE type = ? AND id > ? AND {where} ORDER BY id"
    return array("q", (row[0] for row in rows(db, sql, (kind, after))))
