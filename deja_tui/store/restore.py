# SPDX-License-Identifier: Apache-2.0
"""A memory as it was at a time, as a new file: its own op-log played again, marks and all, up to a clock (HLC).

* INV-RESTORE-1  Nothing is ever written over: the new file appears whole under a free name, or not at all.
* INV-RESTORE-2  Grains, marks and origins are those of the log up to the moment, so recall, history, queue and undo answer
  as they did then. Settings whose last change is later are left out: what they were is not known any more.
* INV-RESTORE-3  What was forgotten stays forgotten, also when that was later: the bytes are gone, the tombstone goes along.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import apsw

from deja_tui import watch
from deja_tui.errors import DejaError
from deja_tui.store import bundles, chains, oplog
from deja_tui.store.codec import decode
from deja_tui.store.faults import StoreError, coded
from deja_tui.store.keys import namespace_of, source_of, superseded_of
from deja_tui.store.places import place
from deja_tui.store.rows import TYPE_NAMES, unfold
from deja_tui.store.sql import rows, scalar
from deja_tui.store.whole import folder_for, refused, take_name
from deja_tui.store.write import Act, Origin

if TYPE_CHECKING:
    from deja_tui.store.memory import Store

_CHUNK: Final = 2_000
_OF_THE_FILE: Final = ("loop.lease", "segments.", bundles.CURSORS)
"""Settings that are about one file and one moment: a lease, a cursor, the name under which it pushes."""


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What the new file holds.

    Attributes:
        grains: filed in it. operations: rows of its log before the note about this restore.
        lost: grains of that time that are not in it, because they were erased since or their bytes are damaged.
        forgotten: tombstones.
        until: the clock (HLC) up to which it was played.
    """

    grains: int
    operations: int
    lost: int
    forgotten: int
    until: int


def is_bundle(path: str | os.PathLike[str]) -> bool:
    """Whether a bundle lies at ``path``. Raises IMP-E001 when nothing can be read there."""
    try:
        with place(path, "IMP-E001").open("rb") as file:
            return file.read(len(bundles.MAGIC)) == bundles.MAGIC
    except OSError as error:
        raise DejaError(
            "IMP-E001", f"the source cannot be read ({error.strerror or 'refused'})", "Check the path."
        ) from error


def into_new_file(
    target: str | os.PathLike[str], open_store: Callable[[str], Store], fill: Callable[[Store], RestoreReport]
) -> RestoreReport:
    """Make a memory beside ``target``, ``fill`` it, and give it that name if the name is still free (INV-RESTORE-1).

    Raises:
        StoreError: STO-E011 something lies there; STO-E007, STO-E008 it cannot be written there.
    """
    free = place(target)
    if os.path.lexists(free):
        raise _taken()
    with folder_for(free) as folder:
        made = folder / "memory"
        with open_store(str(made)) as store:
            report = fill(store)
        try:
            take_name(made, free, fresh=True)
        except FileExistsError as error:
            raise _taken() from error
        except OSError as error:
            raise refused(error) from error
    return report


def _taken() -> StoreError:
    return StoreError("STO-E011", "a file lies there already", "Name a new file; it was left as it is.")


# --- playing the log again --------------------------------------------------------------------------

_LOG: Final = f"""
SELECT o.seq, o.kind, o.hlc, o.origin, o.gid, o.act, m.kind, m.gid, m.by,
       g.hash, g.hlc, g.body, t.hash, t.hlc, t.source, t.prev
  FROM op o LEFT JOIN mark m ON m.seq = o.seq
  LEFT JOIN grain g ON g.id = o.gid LEFT JOIN tombstone t ON t.gid = o.gid
 WHERE o.kind <> {oplog.STAMP} ORDER BY o.seq
"""
_MARKS: Final = {number: name for name, number in oplog.MARKS.items()}


@coded
def replay(source: Store, target: Store, until: int) -> RestoreReport:
    """Play the log of ``source`` up to the clock ``until`` into the empty ``target``; one act of it stays one act."""
    with source.snapshot():
        db = source.reading()
        player = _Player(db, until)
        for steps in _chunks(_reached(db, until)):
            with target.act(governed=True) as act:
                player.play(act, steps)
        with target.act(governed=True) as act:
            player.bury_later(act)
            _copy_settings(db, act, until)
        return RestoreReport(player.grains, player.operations, player.lost, player.forgotten, until)


def _reached(db: apsw.Connection, until: int) -> Iterator[tuple[Any, ...]]:
    """Rows of the log up to the clock. A grain that two copies wrote counts from the smaller of their clocks on."""
    for row in watch.each(
        rows(db, _LOG), lambda: int(scalar(db, "SELECT count(*) FROM op")), "operations", every=256
    ):
        clock = row[10] if row[1] == oplog.ADD and row[10] is not None else row[2]
        if clock <= until:
            yield row


def _chunks(found: Iterator[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Rows by the thousand, cut between acts, each followed by what comes next."""
    chunk: list[tuple[Any, ...]] = []
    for _, act in groupby(found, key=lambda row: row[5]):
        chunk.extend(act)
        if len(chunk) >= _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class _Player:
    """Positions of one file as positions of another, and what was played so far."""

    def __init__(self, db: apsw.Connection, until: int) -> None:
        self._db = db
        self._until = until
        self._new = array("q", bytes(8 * (1 + (scalar(db, "SELECT max(gid) FROM op") or 0))))
        self._first = True
        self.grains = self.operations = self.lost = self.forgotten = 0

    def play(self, act: Act, steps: list[tuple[Any, ...]]) -> None:
        writer = _Copying(act)
        last = None
        for step, then in zip(steps, [*steps[1:], None], strict=True):
            self._first = last is None
            if last not in (None, step[5]):
                act.transaction.act += 1
            last = step[5]
            if self._play(writer, step, then):
                self.operations += 1

    def _play(self, writer: _Copying, step: tuple[Any, ...], then: tuple[Any, ...] | None) -> bool:
        _, kind, hlc, origin, gid, _, mark, marked, by, *_ = step
        if kind == oplog.ADD:
            return self._add(writer, step, then)
        if kind == oplog.FORGET:
            return self._bury(writer, gid, step[12:16], hlc, origin)
        named = self._new[gid]
        if mark is None:
            if named:
                writer.log(kind, named, hlc, origin)
                writer.close_what_waits(named)
            return bool(named)
        old = self._new[marked]
        if not (named and old):
            return False
        seq = writer.close(_MARKS[mark], old, self._new[by] if by else None, named, hlc, origin)
        if self._first and mark == oplog.MARKS["supersede"]:
            writer.transaction.link_back(named, old, seq)
        return True

    def _add(self, writer: _Copying, step: tuple[Any, ...], then: tuple[Any, ...] | None) -> bool:
        _, _, hlc, origin, gid, _, _, _, _, _, stamp, body, buried, *_ = step
        if body is None:
            if buried is None:
                return False
            self._mourn(writer, gid, step[12:16])
            self.lost += step[13] > self._until
            writer.log(oplog.ADD, self._new[gid], hlc, origin)
            return True
        replaced = then is not None and then[6] == oplog.MARKS["supersede"] and then[8] == gid
        prev = self._new[then[7]] if then is not None and replaced else 0
        made = writer.file(step[9], body, stamp, origin, prev or None)
        if made is None:
            self.lost += 1
            return False
        self._new[gid] = made
        self.grains += 1
        return True

    def _bury(self, writer: _Copying, gid: int, tomb: tuple[Any, ...], hlc: int, origin: int) -> bool:
        if not self._new[gid]:
            self._mourn(writer, gid, tomb)
        writer.log(oplog.FORGET, self._new[gid], hlc, origin)
        return True

    def _mourn(self, writer: _Copying, gid: int, tomb: tuple[Any, ...]) -> None:
        """Take a tombstone over: address, clock, source, and where the chain leads on."""
        digest, hlc, source, prev = tomb
        self._new[gid] = writer.placeholder(digest, hlc, source, (self._new[prev] or None) if prev else None)
        self.forgotten += 1

    def bury_later(self, act: Act) -> None:
        """Tombstones of what was erased after the moment (INV-RESTORE-3)."""
        writer = _Copying(act)
        sql = (
            "SELECT o.gid, o.hlc, o.origin, t.hash, t.hlc, t.source, t.prev"
            " FROM op o JOIN tombstone t ON t.gid = o.gid"
            f" WHERE o.kind = {oplog.FORGET} AND o.hlc > ? ORDER BY o.seq"
        )
        for gid, hlc, origin, *tomb in rows(self._db, sql, (self._until,)):
            self.operations += self._bury(writer, gid, tuple(tomb), hlc, origin)


class _Copying(Act):
    """Rows as they stood in another file of the same memory, origins and clocks included."""

    def __init__(self, act: Act) -> None:
        super().__init__(act.transaction, governed=True)

    def file(self, digest: bytes, body: bytes, hlc: int, origin: int, prev: int | None) -> int | None:
        """The position of the grain; None when its bytes are damaged."""
        try:
            grain = decode(body)
        except DejaError:
            return None
        source = source_of(grain.get("context"))
        came: Origin = "imported" if origin else "local"
        return self._insert(grain, namespace_of(grain), body, digest, source, came, hlc, prev)

    def placeholder(self, digest: bytes, hlc: int, source: bytes | None, prev: int | None) -> int:
        """The position of a grain that was forgotten."""
        gid = self._tx.take("seq")
        self._tx.db.execute(
            "INSERT INTO tombstone(gid, hash, hlc, source, prev) VALUES(?, ?, ?, ?, ?)",
            (gid, digest, hlc, source, prev),
        )
        return gid

    def log(self, kind: int, gid: int, hlc: int, origin: int) -> None:
        self._tx.see(hlc)
        self._tx.log(kind, gid, hlc, origin)

    def close(self, kind: str, gid: int, by: int | None, named: int, hlc: int, origin: int) -> int:
        """A mark, or its end; the ``seq`` of its row."""
        self._tx.see(hlc)
        return self._tx.mark(kind, gid, by, named, hlc, origin)

    def close_what_waits(self, gid: int) -> None:
        """Close what ``gid`` superseded while something else, which came later than the moment, had closed it."""
        db = self._tx.db
        for kind, body in list(rows(db, "SELECT type, body FROM grain WHERE id = ?", (gid,))):
            namespace, fields = unfold(body)
            for address in superseded_of(TYPE_NAMES[kind], fields):
                old = bytes.fromhex(address)
                for position, dead in list(rows(db, "SELECT id, dead FROM grain WHERE hash = ?", (old,))):
                    if not dead:
                        chains.close_again(self._tx, position, old, namespace)


def _copy_settings(db: apsw.Connection, act: Act, until: int) -> None:
    for key, hlc, source, value in rows(
        db, "SELECT key, hlc, source, value FROM setting WHERE hlc <= ?", (until,)
    ):
        if not key.startswith(_OF_THE_FILE):
            act.transaction.db.execute(
                "INSERT INTO setting(key, hlc, source, value) VALUES(?, ?, ?, ?)", (key, hlc, source, value)
            )
