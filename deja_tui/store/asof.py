# SPDX-License-Identifier: Apache-2.0
"""Reading a memory as it was: by arrival (what was known at a time) or by validity (what held at a time) (D45).

* INV-ASOF-1  By arrival a grain is there when its clock is not later than the moment, and live when the last of its
  marks up to the moment says so. Grains are given as they were then: live, without a successor.
* INV-ASOF-2  By validity a grain is there when it is live now and the moment lies in [valid_from, valid_to); an absent
  end is open.
* INV-ASOF-3  What was erased since is in neither answer: its bytes are gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from heapq import merge
from typing import Any, Final

import apsw

from deja_tui.errors import ValidationError
from deja_tui.store import chains, read
from deja_tui.store.codec import TYPES
from deja_tui.store.grains import StoredGrain, parse_time
from deja_tui.store.keys import key_of
from deja_tui.store.oplog import last_of, wall_of
from deja_tui.store.rows import LIVE_COLUMNS
from deja_tui.store.sql import listed, rows
from deja_tui.text import fold

_HLC_FROM: Final = 10**15
"""Numbers from here on are clocks; epoch milliseconds of the year 9999 are below."""
_HLC_MAX: Final = 2**63 - 1
_PAGE: Final = 64
_NUMBER: Final = re.compile("[0-9]{9,19}")  # eight digits are a date


def moment(value: int | str, field: str = "until") -> int:
    """The last clock (HLC) that belongs to a time: an HLC is itself, a time means its whole millisecond.

    Args:
        value: ISO-8601, an epoch number (seconds below 1e11, milliseconds below 1e15), or an HLC; a number may be text.

    Raises:
        ValidationError: VAL-E002 none of these.
    """
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and _HLC_FROM <= value <= _HLC_MAX:
        return value
    return last_of(parse_time(value, field))


def wall(value: int | str, field: str) -> int:
    """A time as epoch milliseconds, given as for `moment`. Raises VAL-E002."""
    return wall_of(moment(value, field))


def axis_of(axis: str) -> str:
    """``axis`` itself. Raises VAL-E001 unless it is ``arrival`` or ``validity``."""
    if axis not in ("arrival", "validity"):
        raise ValidationError("VAL-E001", "axis is arrival or validity")
    return axis


# --- by arrival -------------------------------------------------------------------------------------

_ALIVE: Final = (
    "coalesce((SELECT m.kind = 4 FROM mark m JOIN op o ON o.seq = m.seq"
    " WHERE m.gid = g.id AND o.hlc <= :t ORDER BY m.seq DESC LIMIT 1), 1)"
)
_HERE: Final = f"g.ns = (SELECT id FROM space WHERE h = :nh AND name = :n) AND g.hlc <= :t AND {_ALIVE}"
_SUBJECT: Final = "(SELECT id FROM term WHERE h = :sh AND s = :s)"
_RELATION: Final = "(SELECT id FROM term WHERE h = :rh AND s = :r)"
_THESE: Final = f"SELECT {LIVE_COLUMNS} FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value"
_NEWEST: Final = "ORDER BY g.at DESC, g.hlc DESC, g.hash DESC"


def known(
    db: apsw.Connection,
    until: int,
    namespace: str,
    subject: str | None,
    relation: str | None,
    object_: str | None,
    type_: str | None,
    k: int,
) -> list[StoredGrain]:
    """`read.recall` as it would have answered at the clock ``until``, with what is here of that time (INV-ASOF-1)."""
    if k <= 0 or (type_ is not None and type_ not in TYPES):
        return []
    exact = read.exactly(subject, relation, object_)
    given = {"t": until, "n": read.asked(namespace), "nh": key_of(read.asked(namespace))}
    more = ""
    for name, column, wanted in (("s", _SUBJECT, "subject"), ("r", _RELATION, "relation")):
        if wanted in exact:
            folded = fold(exact[wanted])
            given |= {name: folded, f"{name}h": key_of(folded)}
            more += f" AND g.{name} = {column}"
    kinds = list(TYPES.values()) if type_ is None else [TYPES[type_]]
    found = _of_subject(db, given, more, type_) if subject is not None else _of_types(db, given, more, kinds)
    there = (row for row in found if not chains.superseded_beside(db, row[0], row[6], until))
    return read.taken(there, exact, k)


def _of_subject(
    db: apsw.Connection, given: Mapping[str, Any], more: str, type_: str | None
) -> Iterator[tuple[Any, ...]]:
    of_type = "" if type_ is None else f" AND g.type = {TYPES[type_]}"
    each = "SELECT g.at, g.hlc, g.hash, g.id FROM grain g INDEXED BY"
    where = f"{_HERE}{more}{of_type}"
    sql = (
        f"{each} g_subj WHERE g.dead = 0 AND g.s IS NOT NULL AND {where}"
        f" UNION ALL {each} g_dead WHERE g.dead = 1 AND {where}"
    )
    newest = [row[3] for row in sorted(rows(db, sql, given), reverse=True)]
    for start in range(0, len(newest), _PAGE):
        yield from list(rows(db, _THESE, (listed(newest[start : start + _PAGE]),)))


def _of_types(
    db: apsw.Connection, given: Mapping[str, Any], more: str, kinds: list[int]
) -> Iterator[tuple[Any, ...]]:
    sql = f"SELECT {LIVE_COLUMNS} FROM grain g INDEXED BY g_type WHERE g.type = {{}} AND {_HERE}{more} {_NEWEST}"
    each = [rows(db, sql.format(kind), given) for kind in kinds]
    return merge(*each, key=lambda row: (row[2], row[3], row[6]), reverse=True)


# --- by validity ------------------------------------------------------------------------------------


def holds(fields: Mapping[str, Any], at_ms: int) -> bool:
    """Whether a grain with these fields says something about the time ``at_ms`` (INV-ASOF-2)."""
    since, until = fields.get("valid_from"), fields.get("valid_to")
    begun = not isinstance(since, int) or since <= at_ms
    return begun and (not isinstance(until, int) or at_ms < until)
