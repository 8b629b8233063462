# SPDX-License-Identifier: Apache-2.0
"""What audit grains tell of other grains: effects that no row of the op-log carries to another copy (D2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import apsw

from deja_tui.errors import DejaError
from deja_tui.store.codec import TYPES
from deja_tui.store.keys import is_address
from deja_tui.store.rows import unfold
from deja_tui.store.sql import rows, scalar

_AUDITS: Final = ("loop", "tier2", "mark")
_HOLDS: Final = "instr(g.body, CAST('effects' AS BLOB)) > 0"
_ALL: Final = (
    f"SELECT g.hlc, g.body FROM grain g WHERE g.type = {TYPES['observation']}"
    f" AND g.ns IN (SELECT id FROM space WHERE reserved = 1) AND {_HOLDS}"
)
_OF_ERASURES: Final = (
    "SELECT g.hlc, g.body FROM grain g INDEXED BY g_subj WHERE g.dead = 0 AND g.s IS NOT NULL"
    f" AND g.ns IN (SELECT id FROM space WHERE name = 'agent:authz') AND {_HOLDS}"
)


class Told(NamedTuple):
    """One effect: the clock of the audit, the grain's address, what was done to it, and by what."""

    hlc: int
    grain: str
    do: object
    by: object


def told_by(type_: str, fields: Mapping[str, Any], hlc: int) -> Iterator[Told]:
    """The effects that one grain with this clock tells; none, unless it is an audit."""
    context = fields.get("context")
    if type_ != "observation" or not isinstance(context, Mapping) or context.get("audit") not in _AUDITS:
        return
    effects = context.get("effects")
    for effect in effects if isinstance(effects, list) else ():
        if isinstance(effect, Mapping) and is_address(effect.get("grain")):
            yield Told(hlc, str(effect["grain"]), effect.get("do"), effect.get("by"))


def told(db: apsw.Connection) -> Iterator[Told]:
    """The effects of every audit here."""
    return _read(db, _ALL)


def closed_by_erased(db: apsw.Connection) -> Iterator[tuple[str, str]]:
    """(grain, what took its place and was erased), as the audits of the erasures tell it."""
    if scalar(db, "SELECT 1 FROM tombstone LIMIT 1") is None:
        return
    for effect in _read(db, _OF_ERASURES):
        if effect.do == "supersede" and is_address(effect.by):
            yield effect.grain, str(effect.by)


def _read(db: apsw.Connection, sql: str) -> Iterator[Told]:
    for hlc, body in rows(db, sql):
        try:
            fields = unfold(body)[1]
        except DejaError:
            continue  # `verify` names what is damaged; what it told is lost
        yield from told_by("observation", fields, hlc)
