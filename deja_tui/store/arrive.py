# SPDX-License-Identifier: Apache-2.0
"""Rows of another copy's op-log, taken into this one.

* INV-ARRIVE-1  Nothing is written before its bytes were hashed to the address they came under, and read strictly.
* INV-ARRIVE-2  A row that is known changes nothing and logs nothing, in whatever state the grain is by now.
* INV-ARRIVE-3  What arrives keeps its clock and is of origin imported; the clock here is raised to it.
* INV-ARRIVE-4  The order in which copies meet does not matter: liveness follows from who superseded whom, whatever came
  first. The first to arrive closes, a later one stays beside it (a fork); one whose target is missing waits for it.
* INV-ARRIVE-5  Governance of this memory is out of reach: nothing from outside supersedes, erases or marks a grain that
  was written here in a reserved namespace, and no reserved grain takes the place of a plain one, nor the other way
  round. Recommendations, audits and grants that arrive are foreign history (D5).
* INV-ARRIVE-6  What was forgotten here does not come back, by address or by source key (D31, D32); what was forgotten
  there is erased here, and stays out when it was never here.
* INV-ARRIVE-7  Marks do not travel as rows. Their effects stand in audit Observations and are carried out when one
  arrives for the first time, so an undo is seen here too (D2); on a grain that is not here yet, when that arrives. Where
  copies closed a grain in the same way and one of them undid it, the latest by the clock holds, in whatever order they come.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import apsw

from deja_tui.errors import DejaError
from deja_tui.store import chains, effects, oplog, read
from deja_tui.store.codec import Grain, decode
from deja_tui.store.effects import Told
from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import (
    is_address,
    is_reserved,
    key_of,
    namespace_of,
    source_digest,
    source_of,
    superseded_of,
)
from deja_tui.store.rows import TYPE_NAMES, unfold
from deja_tui.store.sql import rows, scalar
from deja_tui.store.write import Act, Target
from deja_tui.text import DAY_MS

MAX_AHEAD_MS: Final = 3_653 * DAY_MS
"""How far, in ms, a clock may be ahead of this one's before its row is taken for damaged: ten years."""
_GONE: Final = "the grain was written here by the engine, or the two are not of one kind"


class Row(NamedTuple):
    """One row of a bundle, or the two of a grain that came with a supersession; ``closed_at`` is the clock of that."""

    op: int
    hlc: int
    digest: bytes
    blob: bytes
    start: int
    closed_at: int | None

    @property
    def weight(self) -> int:
        """How many rows of the file it stands for."""
        return 2 if self.op == oplog.ADD and self.closed_at is not None else 1


class Refused(NamedTuple):
    """A row that was not taken, or whose effect was not: where it begins in the file, its address, code and reason."""

    offset: int
    address: str
    code: str
    reason: str


@dataclass(slots=True)
class Tally:
    """What became of rows so far; `applied` counts rows written to the op-log here."""

    rows: int = 0
    applied: int = 0
    added: int = 0
    superseded: int = 0
    forgotten: int = 0
    marked: int = 0
    governance: int = 0
    ahead: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    shown: list[Refused] = field(default_factory=list)


class Effects:
    """What audits tell of grains, read once an import, and added to as audits come (INV-ARRIVE-7)."""

    def __init__(self) -> None:
        self._on: dict[str, list[Told]] | None = None
        self._by: dict[str, list[Told]] = {}

    def add(self, told: Told) -> None:
        """An audit came. Until the first look there is nothing to add to."""
        if self._on is not None:
            self._on.setdefault(told.grain, []).append(told)
            if isinstance(told.by, str):
                self._by.setdefault(told.by, []).append(told)

    def is_latest(self, db: apsw.Connection, told: Told) -> bool:
        """Whether no later audit closed, or opened, that grain in the same way."""
        same = (other for other in self.on(db, told.grain) if other.by == told.by and other.do in oplog.MARKS)
        return all(other.hlc <= told.hlc for other in same)

    def on(self, db: apsw.Connection, address: str) -> list[Told]:
        """Effects on a grain, in the order of their clocks."""
        return sorted(self._read(db).get(address, ()), key=lambda told: told.hlc)

    def by(self, db: apsw.Connection, address: str) -> list[Told]:
        """Effects by which a grain took another's place."""
        self._read(db)
        return self._by.get(address, [])

    def _read(self, db: apsw.Connection) -> dict[str, list[Told]]:
        if self._on is None:
            self._on = {}
            for told in effects.told(db):
                self.add(told)
        return self._on


class Arrivals(Act):
    """The handle of an act that takes rows from elsewhere."""

    def __init__(self, act: Act, tally: Tally, until: int | None = None, told: Effects | None = None) -> None:
        super().__init__(act.transaction, governed=True)
        self._db = act.transaction.db
        self._tally = tally
        self._until = until
        self.erased: list[StoredGrain] = []
        self._buries = scalar(self._db, "SELECT 1 FROM tombstone LIMIT 1") is not None
        self._told = told or Effects()
        self._latest = oplog.last_of(self._tx.wall() + MAX_AHEAD_MS)

    def take(self, row: Row) -> None:
        """Take one row in, or say in the tally why not."""
        tally = self._tally
        tally.rows += row.weight
        if self._until is not None and row.hlc > self._until:
            tally.skipped["later"] += row.weight
            return
        if not 0 <= row.hlc <= self._latest or not 0 <= (row.closed_at or 0) <= self._latest:
            tally.ahead += max(row.hlc, row.closed_at or 0) > self._latest
            self._refuse(
                row, "FMT-E004", "its clock is before 1970, or ten years and more after the one here"
            )
        elif row.op == oplog.FORGET:
            self._forget(row)
        elif row.blob and hashlib.sha256(row.blob).digest() != row.digest:
            self._refuse(row, "FMT-E003", "the bytes do not have the address they came under")
        else:
            self._arrive(row)

    def _refuse(self, row: Row, code: str, reason: str) -> None:
        self._tally.refused[code] += 1
        if len(self._tally.shown) < 100:
            self._tally.shown.append(Refused(row.start, row.digest.hex(), code, reason))

    # --- grains -------------------------------------------------------------------------------------

    def _arrive(self, row: Row) -> None:
        db = self._db
        for gid, hlc in db.execute("SELECT id, hlc FROM grain WHERE hash = ?", (row.digest,)):
            changed = self._stamp(gid, hlc, row.hlc) if row.op == oplog.ADD else False
            if row.closed_at is not None and not self._is_superseding(gid):
                kind, body = next(rows(db, "SELECT type, body FROM grain WHERE id = ?", (gid,)))
                namespace, fields = unfold(body)
                closing = self._closing(row, TYPE_NAMES[kind], namespace, fields)
                first = self._supersede(gid, closing, row.closed_at)
                if first is not None:
                    self._tx.link_back(gid, closing[0], first)
                changed = True
            if not changed:
                self._tally.skipped["known"] += row.weight
            return
        if self._buries and scalar(db, "SELECT 1 FROM tombstone WHERE hash = ?", (row.digest,)):
            self._tally.skipped["forgotten"] += row.weight
        elif not row.blob:
            self._tally.skipped["gone"] += row.weight
        else:
            self._file(row)

    def _stamp(self, gid: int, here: int, there: int) -> bool:
        """Two copies wrote the same grain: both keep the smaller clock, so both have one order (INV-OPLOG-6)."""
        if there >= here:
            return False
        self._tx.log(oplog.STAMP, gid, there, oplog.IMPORTED)
        self._db.execute("UPDATE grain SET hlc = ? WHERE id = ?", (there, gid))
        self._tally.applied += 1
        return True

    def _file(self, row: Row) -> None:
        try:
            grain = decode(row.blob)
        except DejaError as fault:
            self._refuse(row, fault.code, fault.message)
            return
        namespace = namespace_of(grain)
        source = source_of(grain.get("context"))
        same = self._same_source(source) if source is not None else []
        if source is not None and self._buried(source):
            self._tally.skipped["forgotten"] += row.weight
            return
        if same and row.closed_at is None:
            self._tally.skipped["source"] += row.weight
            return
        closing: list[int] = []
        if row.closed_at is not None:
            closing = self._closing(row, grain.type, namespace, grain.fields)
            # another redaction of the record it completes may be what lies here
            closing += [gid for gid, dead in same if not dead and gid not in closing]
        prev = closing[0] if closing else None
        gid = self._insert(grain, namespace, row.blob, row.digest, source, "imported", row.hlc, prev)
        self._tally.applied += 1
        self._tally.added += 1
        if row.closed_at is not None:
            self._supersede(gid, closing, row.closed_at)
        if chains.close_again(self._tx, gid, row.digest, namespace):
            self._tally.applied += 1
        if is_reserved(namespace):
            self._tally.governance += 1
            self._effects(row, grain)
        else:
            self._late_effects(row)

    def _same_source(self, source: str) -> list[tuple[int, bool]]:
        sql = "SELECT g.id, g.dead, g.body FROM source s JOIN grain g ON g.id = s.gid WHERE s.k = ?"
        found = rows(self._db, sql, (key_of(source),))
        return [
            (gid, bool(dead))
            for gid, dead, body in found
            if source_of(unfold(body)[1].get("context")) == source
        ]

    def _buried(self, source: str) -> bool:
        sql = "SELECT 1 FROM tombstone WHERE source = ?"
        return scalar(self._db, sql, (source_digest(source),)) is not None

    # --- supersession -------------------------------------------------------------------------------

    def _is_superseding(self, gid: int) -> bool:
        sql = f"SELECT 1 FROM op WHERE kind = {oplog.SUPERSEDE} AND gid = ? LIMIT 1"
        return scalar(self._db, sql, (gid,)) is not None

    def _closing(self, row: Row, kind: str, namespace: str, fields: Mapping[str, Any]) -> list[int]:
        """Positions that a superseding grain closes: what it names, is here and is live; a forgotten first one too."""
        found: list[int] = []
        for number, address in enumerate(superseded_of(kind, fields)):
            target = self._look(address)
            if target is None:
                buried = self._tomb(address) if number == 0 else None
                found += [] if buried is None else [buried]
            elif not self._may_change(target, namespace):
                self._refuse(row, "VAL-E004", f"it cannot take the place of {address[:12]}: {_GONE}")
            elif not target.dead:
                found.append(target.gid)
        return found

    def _supersede(self, gid: int, closing: list[int], hlc: int) -> int | None:
        """Log that ``gid`` took the place of others, and close these; the ``seq`` of the first mark."""
        tx = self._tx
        tx.see(hlc)
        self._tally.superseded += 1
        self._tally.applied += max(1, len(closing))
        if not closing:
            tx.log(oplog.SUPERSEDE, gid, hlc, oplog.IMPORTED)
            return None
        marks = [tx.mark("supersede", old, gid, gid, hlc, oplog.IMPORTED) for old in closing]
        return marks[0]

    def _may_change(self, target: Target, by_namespace: str) -> bool:
        if is_reserved(target.namespace):
            return is_reserved(by_namespace) and self._is_imported(target.gid)
        return not is_reserved(by_namespace)

    def _is_imported(self, gid: int) -> bool:
        return bool(scalar(self._db, "SELECT origin FROM grain WHERE id = ?", (gid,)) == oplog.IMPORTED)

    def _look(self, address: str) -> Target | None:
        try:
            return self._find(address)
        except DejaError:
            return None

    def _tomb(self, address: str) -> int | None:
        found = scalar(self._db, "SELECT gid FROM tombstone WHERE hash = ?", (bytes.fromhex(address),))
        return None if found is None else int(found)

    # --- erasure ------------------------------------------------------------------------------------

    def _forget(self, row: Row) -> None:
        tx = self._tx
        target = self._look(row.digest.hex())
        if target is not None:
            if is_reserved(target.namespace) and not self._is_foreign_recommendation(target):
                self._refuse(row, "VAL-E004", "grains of a reserved namespace are not erased from outside")
                return
            tx.see(row.hlc)
            self._remember(target.digest.hex())
            self._erase(target, row.hlc, oplog.IMPORTED)
        elif self._tomb(row.digest.hex()) is not None:
            self._tally.skipped["known"] += row.weight
            return
        else:
            tx.see(row.hlc)
            gid = tx.take("seq")
            tx.db.execute("INSERT INTO tombstone(gid, hash, hlc) VALUES(?, ?, ?)", (gid, row.digest, row.hlc))
            tx.log(oplog.FORGET, gid, row.hlc, oplog.IMPORTED)
        self._buries = True
        self._tally.applied += 1
        self._tally.forgotten += 1
        for told in self._told.by(self._db, row.digest.hex()):
            if (
                told.do == "supersede"
            ):  # its audit came first, and could not tell yet where the erased one had stood
                self._effect(row, told)

    def _remember(self, address: str) -> None:
        """Keep a grain for those who must erase what else tells of it; a damaged one cannot be read."""
        try:
            grain = read.get(self._db, address)
        except DejaError as fault:
            if fault.code != "STO-E009":
                raise
        else:
            self.erased += [] if grain is None else [grain]

    def _is_foreign_recommendation(self, target: Target) -> bool:
        # what a recommendation quotes is erased with what it quoted (D31); an audit quotes nothing
        return TYPE_NAMES[target.type] == "recommendation" and self._is_imported(target.gid)

    # --- effects of audits --------------------------------------------------------------------------

    def _effects(self, row: Row, grain: Grain) -> None:
        for told in effects.told_by(grain.type, grain.fields, row.hlc):
            self._effect(row, told)
            self._told.add(told)

    def _late_effects(self, row: Row) -> None:
        """Carry out on a grain that has just come what audits had told of it before."""
        for told in self._told.on(self._db, row.digest.hex()):
            self._effect(row, told)

    def _effect(self, row: Row, told: Told) -> None:
        hlc, address, do, by = told
        target = self._look(address)
        if target is None:
            return
        if is_reserved(target.namespace):
            if do in oplog.MARKS:
                self._refuse(row, "VAL-E004", f"it says {do} of {address[:12]}, which is reserved")
            return
        other = self._position(by)
        last, last_by = self._last_mark(target.gid)
        closed_so = (
            last == do == "retire" and last_by != other
        )  # two copies retired it in favour of two grains
        closes = (do == "retire" and (not target.dead or closed_so)) or (do == "hide" and not target.dead)
        if closes and isinstance(do, str) and self._told.is_latest(self._db, told):
            self._mark(do, target.gid, other if do == "retire" else None, target.gid, hlc)
        elif do == "supersede" and is_address(by) and self._tomb(str(by)) is not None:
            # the grain that took its place was erased, perhaps before it could come here
            lead = "UPDATE tombstone SET prev = ? WHERE gid = ? AND prev IS NULL"
            self._db.execute(lead, (target.gid, other))
            if not target.dead:
                self._mark("supersede", target.gid, other, other or target.gid, hlc)
        elif do == "reopen" and target.dead and last_by == other and self._told.is_latest(self._db, told):
            self._mark("reopen", target.gid, None, target.gid, hlc)
            if chains.close_again(self._tx, target.gid, target.digest, target.namespace):
                self._tally.applied += 1

    def _mark(self, kind: str, gid: int, by: int | None, named: int, hlc: int) -> None:
        self._tx.mark(kind, gid, by, named, hlc, oplog.IMPORTED)
        self._tally.applied += 1
        self._tally.marked += 1

    def _position(self, address: object) -> int | None:
        if not is_address(address):
            return None
        target = self._look(str(address))
        return self._tomb(str(address)) if target is None else target.gid

    def _last_mark(self, gid: int) -> tuple[str | None, int | None]:
        sql = "SELECT kind, by FROM mark WHERE gid = ? ORDER BY seq DESC LIMIT 1"
        for kind, by in rows(self._db, sql, (gid,)):
            return _MARK_NAMES[kind], by
        return None, None


_MARK_NAMES: Final = {number: name for name, number in oplog.MARKS.items()}
