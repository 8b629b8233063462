# SPDX-License-Identifier: Apache-2.0
"""A running sum over the columns of ``grain``, so that an edit behind the store's back is seen without decoding anything.

* INV-SEAL-1  The counter `COUNTER` is the sum of `of_row` over all rows of ``grain``: acts that file or erase a grain move it
  in the same transaction, a rebuild sets it.
* INV-SEAL-2  `of_row` and `SQL` are one function. Each value is weighed by its column and by the row's position, so a value
  that moves to another column or another row changes the sum.

It covers what is filed once and never changes: type, time, namespace and keys. Liveness, clock, origin and predecessor follow from
the log and the marks, and are compared with them. It is no signature: whoever edits the counter as well is found by the
comparison that decodes every grain (D6).
"""

from __future__ import annotations

import apsw

from deja_tui.store.sql import scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

COUNTER: Final = "columns"
COLUMNS: Final = ("type", "at", "ns", "s", "r", "k", "tool", "sig", "thread", "vt")

# Odd weights below 2^20: with values cut to 31 bits no product and no sum of them leaves 64 bits, in which SQLite would go on
# in floating point.
_WEIGHTS: Final = {name: 2 * (9_973 + 37_501 * number) + 1 for number, name in enumerate(COLUMNS)}
_WIDE: Final = frozenset(("at", "k", "vt"))
_LOW: Final = 0x7FFF_FFFF
_ROW_BITS: Final = 0xF_FFFF_FFFF
_NONE: Final = -0x1234_5678_9ABC
_NONE_LOW: Final = _NONE & _LOW
_NONE_HIGH: Final = _NONE >> 31 & _LOW
_PAIRS: Final = tuple((_WEIGHTS[name], _WEIGHTS[name] + 2 if name in _WIDE else 0) for name in COLUMNS)
_TERMS: Final = tuple((low, high, low * _NONE_LOW + high * _NONE_HIGH) for low, high in _PAIRS)


def _term(name: str) -> str:
    value = f"ifnull({name}, {_NONE})"
    low = f"({value} & {_LOW}) * {_WEIGHTS[name]}"
    return f"{low} + (({value} >> 31) & {_LOW}) * {_WEIGHTS[name] + 2}" if name in _WIDE else low


SQL: Final = f"(((({' + '.join(map(_term, COLUMNS))}) & {_LOW}) * id) & {_ROW_BITS})"
"""The sum of one row, as SQL over the columns of ``grain``."""


def of_row(gid: int, values: tuple[int | None, ...]) -> int:
    """The same of the values of `COLUMNS`."""
    total = 0
    for (low, high, none), value in zip(_TERMS, values, strict=True):
        if value is None:
            total += none
        elif high:
            total += low * (value & _LOW) + high * (value >> 31 & _LOW)
        else:
            total += low * (value & _LOW)
    return (total & _LOW) * gid & _ROW_BITS


def of_filed(db: apsw.Connection, gid: int) -> int:
    """The sum of the row at ``gid``, as it stands."""
    return int(scalar(db, f"SELECT {SQL} FROM grain WHERE id = ?", (gid,)) or 0)


def of_all(db: apsw.Connection) -> int:
    """The sum of every row, as they stand."""
    return int(scalar(db, f"SELECT sum({SQL}) FROM grain") or 0)
