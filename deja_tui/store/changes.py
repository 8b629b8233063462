# SPDX-License-Identifier: Apache-2.0
"""What changed since: the op-log told in grains, one change an act of somebody.

* INV-CHANGE-1  A superseding grain is one change, whatever it took the place of: its arrival is not told beside it, nor a
  merge once for each of its tips.
* INV-CHANGE-2  A filter leaves out what it cannot judge: what was forgotten has no namespace and no subject any more, so it
  is told where neither is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import apsw

from deja_tui.store import oplog
from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import is_reserved
from deja_tui.store.read import asked
from deja_tui.store.rows import COLUMNS, stored
from deja_tui.store.sql import rows

_PAGE: Final = 256


@dataclass(frozen=True, slots=True)
class Change:
    """One change.

    Attributes:
        seq: position in the op-log. hlc: its clock.
        kind: add, supersede, retire, hide, reopen, forget or stamp. A superseding grain is one change, not two.
        address: of the grain: the new one of a supersession.
        origin: local or imported.
        grain: as it is now; None once it was forgotten.
    """

    seq: int
    hlc: int
    kind: str
    address: str
    origin: str
    grain: StoredGrain | None

    @property
    def subject(self) -> str | None:
        """What the change is about, when the grain says so."""
        told = None if self.grain is None else self.grain.get("subject")
        return told if isinstance(told, str) else None


# A grain that came with a supersession has the row of that right behind its own, a merge has several: the last tells all.
_CHANGES: Final = f"""
SELECT o.seq, o.hlc, o.kind, o.origin, t.hash, {COLUMNS} FROM op o
  LEFT JOIN grain g ON g.id = o.gid LEFT JOIN tombstone t ON t.gid = o.gid
 WHERE o.seq > ? AND o.hlc > ?
   AND NOT (o.kind IN ({oplog.ADD}, {oplog.SUPERSEDE}) AND EXISTS (
     SELECT 1 FROM op n WHERE n.seq = o.seq + 1 AND n.kind = {oplog.SUPERSEDE} AND n.gid = o.gid))
 ORDER BY o.seq LIMIT {_PAGE}
"""


def changes(
    connection: Callable[[], apsw.Connection],
    since_seq: int,
    after_hlc: int,
    namespace: str | None,
    subject: str | None,
) -> Iterator[Change]:
    """Changes above a position and a clock, in log order; None: every namespace that is not reserved, any subject.

    What was forgotten has no namespace and no subject any more, so it is only told where neither is asked for.
    """
    wanted = None if subject is None else asked(subject)
    where = None if namespace is None else asked(namespace)
    while page := list(rows(connection(), _CHANGES, (since_seq, after_hlc))):
        since_seq = page[-1][0]
        for change in map(_change, page):
            if _fits(change, where, wanted):
                yield change


def _change(row: tuple[Any, ...]) -> Change:
    seq, hlc, kind, origin, buried, *rest = row
    grain = None if rest[0] is None else stored(tuple(rest))
    address = buried.hex() if grain is None else grain.address
    return Change(seq, hlc, oplog.KINDS[kind], address, "imported" if origin else "local", grain)


def _fits(change: Change, namespace: str | None, subject: str | None) -> bool:
    if change.grain is None:
        return namespace is None and subject is None
    here = change.grain.namespace
    inside = not is_reserved(here) if namespace is None else here == namespace
    return inside and (subject is None or change.grain.get("subject") == subject)
