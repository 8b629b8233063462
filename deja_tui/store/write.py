# SPDX-License-Identifier: Apache-2.0
"""Writing: `Act` is the handle through which callers change what an open act (see `transaction`) will keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deja_tui.digests import sha256
from deja_tui.errors import ValidationError
from deja_tui.record import Record
from deja_tui.store import oplog, seal, settings
from deja_tui.store.body import SUCCESSOR, TYPE_NAMES, unfold
from deja_tui.store.codec import TYPES, Grain, encode
from deja_tui.store.faults import StoreError, coded, unknown
from deja_tui.store.keys import (
    is_address,
    is_failure,
    is_reserved,
    key_of,
    keys_of,
    namespace_of,
    parents_of,
    source_digest,
    source_of,
    superseded_of,
)
from deja_tui.store.sql import rows
from deja_tui.store.transaction import Transaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, Literal

    from deja_tui.store.derived import Rebuilt
    from deja_tui.store.ledger import LedgerEntry

    MarkKind = Literal["retire", "supersede", "hide", "reopen"]
    Origin = Literal["local", "imported"]
else:
    MarkKind = Origin = str

_HERE, _GONE, _ALIKE, _SOURCE_GONE = range(4)
_KNOWN: Final = (
    f"SELECT {_HERE}, id, NULL, NULL FROM grain WHERE hash = ?1"
    f" UNION ALL SELECT {_GONE}, gid, NULL, NULL FROM tombstone WHERE hash = ?1"
)
_KNOWN_SOURCE: Final = (
    f"{_KNOWN} UNION ALL SELECT {_ALIKE}, g.id, g.hash, g.body FROM source s JOIN grain g ON g.id = s.gid WHERE s.k = ?2"
    f" UNION ALL SELECT {_SOURCE_GONE}, gid, NULL, NULL FROM tombstone WHERE source = ?3"
)
"""What may be here already, in one statement: a capture asks it of every item."""

_LINK: Final = f"SELECT g.dead, {SUCCESSOR}, g.body FROM grain g WHERE g.hash = ?"


_INSERT: Final = (
    "INSERT INTO grain(id, type, at, hlc, ns, dead, origin, s, r, k, tool, sig, thread, vt, prev, hash, body)"
    " VALUES(?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class Added(Record):
    """The answer to an add. ``new`` is False when the grain, or its source key, was already there."""

    _fields = ("address", "seq", "new")
    __slots__ = _fields

    def __init__(self, address: str, seq: int, new: bool) -> None:
        self.address = address
        self.seq = seq
        self.new = new


class Head(Record):
    """The end of a chain: its address, whether it is live, its fields under long names."""

    _fields = ("address", "live", "fields")
    __slots__ = _fields

    def __init__(self, address: str, live: bool, fields: Mapping[str, Any]) -> None:
        self.address = address
        self.live = live
        self.fields = fields


class Target(Record):
    """A grain that is about to change."""

    _fields = ("gid", "digest", "dead", "type", "space", "namespace")
    __slots__ = _fields

    def __init__(self, gid: int, digest: bytes, dead: bool, type: int, space: int, namespace: str) -> None:
        self.gid = gid
        self.digest = digest
        self.dead = dead
        self.type = type
        self.space = space
        self.namespace = namespace


def refuse_reserved(type_: str, namespace: str) -> None:
    """The one rule that keeps plain writes out of the engine's own (D7). Raises VAL-E004."""
    if is_reserved(namespace) or type_ == "recommendation":
        raise ValidationError(
            "VAL-E004",
            "the namespace or type is reserved for the engine",
            "Use another namespace; recommendations come from `deja loop run`.",
        )


class Act:
    """A handle on the open act. Everything it does is kept together or not at all."""

    def __init__(self, transaction: Transaction, governed: bool) -> None:
        self._transaction = transaction
        self._governed = governed
        transaction.weighty = transaction.weighty or governed

    @property
    def transaction(self) -> Transaction:
        """What this handle is a handle on, for the parts of the store that write in their own way."""
        return self._transaction

    @property
    def _tx(self) -> Transaction:
        self._transaction.must_be_open()
        return self._transaction

    def _guard(self, namespace: str, type_: str) -> None:
        if not self._governed:
            refuse_reserved(type_, namespace)

    @coded
    def add(
        self,
        grain: Grain,
        *,
        source_key: str | None = None,
        origin: Origin = "local",
        hlc: int | None = None,
    ) -> Added:
        """File one grain.

        Args:
            grain: its bytes are what `codec.encode` makes of it.
            source_key: must be what the grain's ``context.source_key`` says; a grain with the same key that is
                already here is the answer, whatever its bytes (D32).
            origin, hlc: of a grain that came from another copy.

        Raises:
            ValidationError: VAL-E004 reserved; VAL-E001 the source key is not in the context, or the clock is out of range.
            StoreError: MEM-E003 the grain or its source was forgotten here.
        """
        return self._add(grain, source_key, origin, hlc, None)

    def _add(
        self, grain: Grain, source_key: str | None, origin: Origin, hlc: int | None, prev: int | None
    ) -> Added:
        namespace = namespace_of(grain)
        self._guard(namespace, grain.type)
        blob = encode(grain)
        digest = sha256(blob).digest()
        source = source_of(grain.get("context"))
        if source_key is not None and source_key != source:
            raise ValidationError("VAL-E001", "the source key is not the one in the grain's context")
        if hlc is not None and not 0 <= hlc < oplog.END_OF_TIME:
            raise ValidationError("VAL-E001", "the clock of the grain is out of range")
        known = self._known(digest, source, completes=prev is not None)
        if known is not None:
            return known
        gid = self._insert(grain, namespace, blob, digest, source, origin, hlc, prev)
        return Added(digest.hex(), gid, new=True)

    def _known(self, digest: bytes, source: str | None, *, completes: bool) -> Added | None:
        """The grain with these bytes or this source key, if it is here. Raises MEM-E003 when it was.

        A grain that takes another's place may carry the source key of its chain: it ``completes`` what came from there.
        """
        statement: str = _KNOWN
        values: tuple[Any, ...] = (digest,)
        if source is not None:
            statement, values = _KNOWN_SOURCE, (digest, key_of(source), source_digest(source))
        gone = False
        for kind, gid, found, body in rows(self._tx.db, statement, values):
            if kind == _HERE:
                return Added(digest.hex(), gid, new=False)
            if kind != _ALIKE:
                gone = True
            elif not completes and source_of(unfold(body)[1].get("context")) == source:
                return Added(found.hex(), gid, new=False)
        if gone:
            raise StoreError(
                "MEM-E003",
                f"the grain {digest.hex()[:12]} was forgotten here and is not taken back",
                "Write it anew, in other words, if it is wanted after all.",
            )
        return None

    def _insert(
        self,
        grain: Grain,
        namespace: str,
        blob: bytes,
        digest: bytes,
        source: str | None,
        origin: Origin,
        hlc: int | None,
        prev: int | None,
    ) -> int:
        tx = self._tx
        db, terms = tx.db, tx.terms
        keys = keys_of(grain)
        gid = tx.take("seq")
        space = terms.space(db, namespace)
        tx.take(f"held:{space}")
        came = oplog.IMPORTED if origin == "imported" else oplog.LOCAL
        if hlc is None:
            hlc = tx.tick()
        else:
            tx.see(hlc)
        kind, at = TYPES[grain.type], grain.created_at
        filed = (
            terms.term(db, keys.subject),
            terms.term(db, keys.relation),
            keys.object_key,
            terms.term(db, keys.tool),
            terms.term(db, keys.signature),
            terms.term(db, keys.thread),
            keys.valid_to,
        )
        db.execute(_INSERT, (gid, kind, at, hlc, space, came, *filed, prev, digest, blob))
        if gid == 1 or seal.COUNTER in tx.counters:  # a file without it gets it with its next rebuild
            tx.take(seal.COUNTER, seal.of_row(gid, (kind, at, space, *filed)))
        for parent in keys.parents:
            db.execute("INSERT OR IGNORE INTO link(p, child) VALUES(?, ?)", (parent, gid))
        if source is not None:
            db.execute("INSERT INTO source(k, gid) VALUES(?, ?)", (key_of(source), gid))
        tx.log(oplog.ADD, gid, hlc, came)
        if not is_reserved(namespace):
            self._count(grain, gid)
        return gid

    def _count(self, grain: Grain, gid: int) -> None:
        """Counters of arrivals in user namespaces, so that a gate is a subtraction (D38)."""
        tx = self._tx
        tx.take("grains")
        tx.take(f"type:{grain.type}")
        tx.counters["user_seq"] = gid
        if is_failure(grain):
            tx.take("errors")

    @coded
    def supersede(self, address: str, grain: Grain, *, source_key: str | None = None) -> Added:
        """File ``grain`` in place of the live grain at ``address``, which becomes its first parent.

        Raises:
            StoreError: MEM-E001 not here; MEM-E002 not live. ValidationError: VAL-E001, VAL-E004. MEM-E003 as `add`.
        """
        old = self._target(address)
        if old.dead:
            raise StoreError(
                "MEM-E002",
                f"the grain {address[:12]} was already superseded",
                "Look at its history for the head.",
            )
        added = self._add(with_parent(grain, address), source_key, "local", None, old.gid)
        if added.seq == old.gid:
            raise ValidationError("VAL-E001", "a grain cannot take its own place")
        seq = self._tx.mark("supersede", old.gid, added.seq, added.seq)
        if not added.new:
            self._tx.link_back(added.seq, old.gid, seq)
        return added

    @coded
    def mark(self, address: str, kind: MarkKind, by: str | None = None) -> None:
        """Append a mark (D2). Liveness is what the last one says; ``by`` names what takes the grain's place.

        Raises:
            StoreError: MEM-E001 either grain is not here. ValidationError: VAL-E001 unknown kind; VAL-E004 reserved.
        """
        if kind not in oplog.MARKS:
            raise ValidationError("VAL-E001", f"a mark is one of {', '.join(oplog.MARKS)}")
        target = self._target(address)
        successor = None
        if by is not None and kind in ("retire", "supersede"):
            successor = self._find(by).gid
        named = successor if kind == "supersede" and successor is not None else target.gid
        self._tx.mark(kind, target.gid, successor, named)
        if kind == "reopen":
            from deja_tui.store import chains

            chains.close_again(self._tx, target.gid, target.digest, target.namespace)

    def merge(self, tips: Sequence[str], grain: Grain) -> Added:
        """File one grain in place of several live ones, which its ``context.merge_parents`` names.

        Args:
            tips: two or more addresses; the first is the grain's parent.
            grain: its ``derived_from`` is the first tip, its merge parents are all of them.

        Raises:
            StoreError: MEM-E001 not here; MEM-E002 not live; MEM-E003 forgotten. ValidationError: VAL-E001 fewer than
                two tips, or other parents than the tips; VAL-E004 reserved.
        """
        targets = [self._target(tip) for tip in dict.fromkeys(tips)]
        if len(targets) < 2:
            raise ValidationError("VAL-E001", "a merge needs two or more live grains")
        for target in targets:
            if target.dead:
                raise StoreError(
                    "MEM-E002",
                    f"the grain {target.digest.hex()[:12]} was already superseded",
                    "Look at its history for the head.",
                )
        if superseded_of(grain.type, grain.fields) != [target.digest.hex() for target in targets]:
            raise ValidationError(
                "VAL-E001", "the parents of the merge are not the grains it takes the place of"
            )
        added = self._add(grain, None, "local", None, targets[0].gid)
        marks = [self._tx.mark("supersede", target.gid, added.seq, added.seq) for target in targets]
        if not added.new:
            self._tx.link_back(added.seq, targets[0].gid, marks[0])
        return added

    @coded
    def forget(self, address: str) -> None:
        """Erase a grain: row, words, keys, terms that nothing else uses. A tombstone with its address stays (D31).

        Raises:
            StoreError: MEM-E001 not here. ValidationError: VAL-E004 reserved.
        """
        self._erase(self._target(address), self._tx.tick(), oplog.LOCAL)

    def _erase(self, target: Target, hlc: int, origin: int) -> None:
        from deja_tui.store.erase import erase

        self._tx.weighty = True
        if seal.COUNTER in self._tx.counters:
            self._tx.take(seal.COUNTER, -seal.of_filed(self._tx.db, target.gid))
        words = erase(self._tx.db, target.gid, hlc, self._tx.counters.get("indexed", 0))
        self._tx.log(oplog.FORGET, target.gid, hlc, origin)
        if self._tx.take(f"held:{target.space}", -1) == 0:
            self._tx.db.execute("DELETE FROM space WHERE id = ?", (target.space,))
        if words is None:
            self._tx.counters["indexed"] = 0
        self._tx.erased = (self._tx.erased or set()) | (words or set())
        self._tx.take("erased")
        self._tx.terms.at(self._tx.take("epoch"))

    @coded
    def head_of(self, address: str) -> Head:
        """The end of the chain that begins at ``address``. Raises MEM-E001: not here, or a link of it was forgotten."""
        self._tx.publish()
        while is_address(address):
            found = next(rows(self._tx.db, _LINK, (bytes.fromhex(address),)), None)
            if found is None:
                break
            dead, successor, body = found
            if successor is None:
                return Head(address, not dead, unfold(body)[1])
            address = successor.hex()
        raise unknown(address)

    def _target(self, address: str) -> Target:
        found = self._find(address)
        self._guard(found.namespace, TYPE_NAMES[found.type])
        return found

    def _find(self, address: str) -> Target:
        if is_address(address):
            for row in rows(
                self._tx.db,
                "SELECT g.id, g.hash, g.dead, g.type, g.ns, n.name FROM grain g JOIN space n ON n.id = g.ns"
                " WHERE g.hash = ?",
                (bytes.fromhex(address),),
            ):
                return Target(row[0], row[1], bool(row[2]), *row[3:])
        raise unknown(address)

    @coded
    def rebuild(self) -> Rebuilt:
        """Make every derived table anew but the governance table, which whoever writes it clears and fills (D1).

        Raises VAL-E004 unless governed.
        """
        self._guard("deja-loop", "recommendation")
        tx = self._tx
        tx.weighty = True
        tx.heal()
        tx.terms.at(tx.take("epoch"))  # other processes keep ids of terms that are given anew here
        from deja_tui.store import derived

        done = derived.rebuild(tx.db, tx.counters, tx.terms)
        if done.changed:  # rows that grew may have left copies behind; `erase.settle` writes such a file anew
            tx.counters["erased"] = done.grains
        tx.erased = tx.erased or set()
        return done

    @coded
    def set_setting(self, key: str, value: Any, *, source: str = "local", hlc: int | None = None) -> None:
        """Write a small JSON value; None removes it. ``hlc``: of one that came from another copy, which it keeps.

        Raises VAL-E001 when JSON cannot hold it.
        """
        settings.put(self._tx.db, key, value, source, self._tx.tick() if hlc is None else hlc)

    @coded
    def ledger_put(self, row: LedgerEntry) -> None:
        """Write or replace a row of the governance table. Raises VAL-E004 unless governed."""
        self._guard("deja-loop", "recommendation")
        from deja_tui.store import ledger

        ledger.put(self._tx.db, row)

    @coded
    def ledger_clear(self) -> None:
        """Empty the governance table before it is rebuilt. Raises VAL-E004 unless governed."""
        self._guard("deja-loop", "recommendation")
        from deja_tui.store import ledger

        ledger.clear(self._tx.db)


def with_parent(grain: Grain, address: str) -> Grain:
    """``grain`` with ``address`` as its first parent: readers of a bundle look for what it replaced there.

    The parents of a recommendation are its evidence; where its writer placed the one it refreshes, it stays.
    """
    given = grain.fields.get("derived_from")
    parents_given = parents_of({"derived_from": given})
    if address in parents_given and (grain.type == "recommendation" or parents_given[0] == address):
        return grain
    others = [given] if isinstance(given, str) else list(given) if isinstance(given, list) else []
    others = [parent for parent in others if parent != address]
    as_list = others or grain.type == "recommendation"
    parents: str | list[str] = [address, *others] if as_list else address
    fields = {**grain.fields, "derived_from": parents}
    return Grain(
        grain.type, grain.created_at, grain.namespace, fields, grain.extras, grain.flags, grain.ns_hash
    )
