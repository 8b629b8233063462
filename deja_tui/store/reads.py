# SPDX-License-Identifier: Apache-2.0
"""`Reads`: everything one can ask a memory file. Each read sees one committed state, or inside an act what that act
wrote (INV-STORE-1, INV-STORE-3); none waits for a writer and none writes.

Each is one line to the module that answers it. Who opens files and connections is `memory`'s.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Self

import apsw

from deja_tui.store import (
    chains,
    forgotten,
    oplog,
    read,
    search,
    stats,
    views,
)
from deja_tui.store import ledger as ledgers
from deja_tui.store.chains import Fork, Provenance
from deja_tui.store.codec import TYPES
from deja_tui.store.faults import Fault, coded, coded_iterator
from deja_tui.store.grains import StoredGrain
from deja_tui.store.ledger import LedgerRow, Tallied
from deja_tui.store.narrow import narrow
from deja_tui.store.oplog import LogEntry
from deja_tui.store.search import TailReader
from deja_tui.store.stats import Counts
from deja_tui.store.terms import find_space
from deja_tui.store.views import ColdFacts, FailureCluster, Position

if TYPE_CHECKING:
    from deja_tui.store.browse import Key, Lens, Slice
    from deja_tui.store.changes import Change
    from deja_tui.store.filters import Candidates, Selection
    from deja_tui.store.graph import Neighbourhood


class Reads(ABC):
    """The reads of a `Store`. What a recall, a search or an add never needs is loaded by the method that needs it (D47)."""

    _covering: tuple[tuple[int, int, Any], bool] | None = None

    @property
    @abstractmethod
    def path(self) -> str:
        """The file, symbolic links resolved."""

    @abstractmethod
    def reading(self) -> apsw.Connection:
        """The connection this thread reads with, for the other modules of the store."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Self]:
        """Several reads of one committed state (INV-STORE-1)."""

    @abstractmethod
    def tail_reader(self, db: apsw.Connection) -> TailReader:
        """How a search reads the words that are not indexed yet."""

    # --- reads ---

    @coded
    def get(self, address: str) -> StoredGrain | None:
        """The grain at ``address`` (64 lower-case hex digits), live or not; None when it is not here."""
        return read.get(self.reading(), address)

    @coded
    def blob(self, address: str) -> bytes | None:
        """The bytes of a grain."""
        return read.blob(self.reading(), address)

    @coded
    def resolve(self, prefix: str, *, type: str | None = None, namespace: str | None = None) -> str:
        """The full address of a short one. Raises MEM-E001 none; MEM-E004 several (``.matches``: at most 20)."""
        return read.resolve(self.reading(), prefix, type, namespace)

    @coded
    def recall(
        self,
        *,
        namespace: str,
        subject: str | None = None,
        relation: str | None = None,
        object: str | None = None,
        type: str | None = None,
        k: int = 16,
    ) -> list[StoredGrain]:
        """The ``k`` newest live grains of a namespace that fit exactly, newest first (D3, D11)."""
        return read.recall(self.reading(), namespace, subject, relation, object, type, k)

    @coded
    def recall_as_of(
        self,
        moment: int | str,
        *,
        namespace: str,
        subject: str | None = None,
        relation: str | None = None,
        object: str | None = None,
        type: str | None = None,
        k: int = 16,
        axis: str = "arrival",
    ) -> list[StoredGrain]:
        """`recall` as of a time (epoch, ISO-8601, or an HLC): what was known then, or with axis ``validity`` what is
        known now to hold then (D45). Raises VAL-E001, VAL-E002."""
        from deja_tui.store import asof

        until = asof.moment(moment, "as_of")
        where = namespace, subject, relation, object, type, k
        if asof.axis_of(axis) == "arrival":
            with self.snapshot():
                return asof.known(self.reading(), until, *where)
        at = oplog.wall_of(until)
        return read.recall(self.reading(), *where, lambda fields: asof.holds(fields, at))

    def latest(self, namespace: str, subject: str, relation: str) -> StoredGrain | None:
        """The greatest live head of a key (D3), or None."""
        found = self.recall(namespace=namespace, subject=subject, relation=relation, k=1)
        return found[0] if found else None

    @coded
    def heads(self, namespace: str, subject: str, relation: str) -> list[StoredGrain]:
        """The live grains of a key, the provisional head first (D3)."""
        return chains.heads(self.reading(), namespace, subject, relation)

    @coded
    def forks(self, namespaces: Sequence[str] | None = None) -> list[Fork]:
        """Live grains with a common superseded ancestor (D3); None: every namespace that is not reserved."""
        with self.snapshot():
            return chains.forks(self.reading(), namespaces)

    @coded
    def history(self, address: str, limit: int = chains.HISTORY_LIMIT) -> list[StoredGrain]:
        """The chain through ``address``, newest first, merged and retired grains too; [] when it is not here."""
        with self.snapshot():
            return chains.history(self.reading(), address, limit)

    @coded
    def replaced(self, address: str) -> list[str]:
        """Addresses of what a grain took the place of; [] when it superseded nothing, or is not here."""
        return chains.replaced(self.reading(), address)

    @coded
    def provenance(
        self, address: str, depth: int = chains.PROVENANCE_DEPTH, limit: int = chains.PROVENANCE_LIMIT
    ) -> Provenance | None:
        """What a grain was derived from and what was derived from it; None when it is not here."""
        with self.snapshot():
            return chains.provenance(self.reading(), address, depth, limit)

    @coded
    def children(self, address: str) -> list[StoredGrain]:
        """Grains that name ``address`` in ``derived_from`` or as a merge parent, newest arrival first."""
        return read.children(self.reading(), address)

    @coded
    def search(
        self,
        text: str,
        *,
        namespace: str | None = None,
        type: str | None = None,
        subject: str | None = None,
        since: int | None = None,
        before: int | None = None,
        k: int = 16,
    ) -> list[StoredGrain]:
        """The ``k`` best live grains with any of the words that pass the filters; see `search` and `narrow`.

        No namespace looks everywhere outside reserved ones; ``since`` and ``before`` in epoch ms. Raises VAL-E001 (type).
        """
        read.how_many(k)
        with self.snapshot():
            db = self.reading()
            spaces = None if namespace is None else [read.asked(namespace)]
            shown = narrow(db, spaces, type, subject, since, before)
            return search.search(db, text, shown, k, self.tail_reader(db))

    def scan(
        self,
        type: str,
        *,
        namespaces: Sequence[str] | None = None,
        after: int = 0,
        live_only: bool = False,
        pass_damaged: bool = False,
    ) -> Iterator[StoredGrain]:
        """Grains of one type with ``seq > after``, in arrival order; None: every namespace that is not reserved.

        A damaged grain raises STO-E009, or is passed over with ``pass_damaged``.
        """
        return coded_iterator(read.scan(self.reading, type, namespaces, after, live_only, pass_damaged))

    @coded
    def candidates(self, selection: Selection) -> Candidates:
        """What may fit a selection, newest or best first; see `filters`. To be read inside one `snapshot`."""
        from deja_tui.store.filters import Candidates

        db = self.reading()
        return Candidates(db, selection, self.tail_reader(db))

    @coded
    def browse(
        self,
        lens: Lens,
        now_ms: int,
        start: int = 0,
        count: int = 64,
        *,
        anchor: tuple[int, Key] | None = None,
        total: int | None = None,
        at: str | None = None,
    ) -> Slice:
        """A stretch of a list of any length; ``at``: the stretch around this address, if it is in the list. See `browse`."""
        from deja_tui.store.browse import Browser

        with self.snapshot():
            db = self.reading()
            browser = Browser(db, lens, now_ms, self.tail_reader(db))
            place = None if at is None else browser.place(at)
            if place is not None:
                start, anchor = max(0, place - count // 2), None
            return browser.slice(start, count, anchor, total)

    @coded
    def kinds(self) -> tuple[str, ...]:
        """See `browse.kinds`."""
        from deja_tui.store import browse

        return browse.kinds(self.reading())

    @coded
    def state_of(self, grain: StoredGrain, now_ms: int) -> str:
        """See `browse.state_of`."""
        from deja_tui.store import browse

        return browse.state_of(self.reading(), grain, now_ms)

    @coded
    def fork_of(self, grain: StoredGrain) -> Fork | None:
        """The fork that a grain is a tip of, or that came of it; None when there is none."""
        from deja_tui.store.branches import Branches

        with self.snapshot():
            return Branches(self.reading()).fork_of(grain.seq)

    @coded
    def neighbourhood(self, namespace: str, entity: str, depth: int = 1) -> Neighbourhood:
        """See `graph.neighbourhood`."""
        from deja_tui.store import graph

        with self.snapshot():
            return graph.neighbourhood(self.reading(), namespace, entity, depth)

    @coded
    def naming(self, address: str) -> list[StoredGrain]:
        """See `views.naming`."""
        return views.naming(self.reading(), address)

    def log(self, since_seq: int = 0) -> Iterator[LogEntry]:
        """Op-log rows above ``since_seq``, in order."""
        return coded_iterator(oplog.entries(self.reading, since_seq))

    @coded
    def holding(self, text: str, *, reserved: bool = False) -> list[str]:
        """Addresses of grains, live or not, whose bytes hold ``text``; see `forgotten.holding`."""
        return forgotten.holding(self.reading(), read.asked(text), reserved=reserved)

    @coded
    def traces(self, asked: Collection[str], erased: Sequence[StoredGrain]) -> tuple[set[str], set[str]]:
        """What still tells of grains that were erased: those of the pieces ``asked`` with a word that only they had, and
        those of their namespaces that hold no grain any more; see `forgotten.lost`. Inside an act: as it will leave it."""
        with self.snapshot():
            db = self.reading()
            spaces = {grain.namespace for grain in erased}
            return forgotten.lost(db, asked, erased), forgotten.emptied(db, spaces)

    @coded
    def blobs(self, type: str) -> list[tuple[str, bytes]]:
        """Address and bytes of every grain of a type, reserved namespaces included, live or not."""
        return forgotten.blobs(self.reading(), type)

    @coded
    def forgotten(self, prefix: str) -> list[str]:
        """At most 20 addresses that start with ``prefix`` and were forgotten here."""
        return forgotten.forgotten(self.reading(), prefix)

    @coded
    def intact(self, address: str) -> bool:
        """Whether the stored bytes still have the address; False also when the grain is not here."""
        from deja_tui.store import integrity

        return integrity.intact(self.reading(), address)

    @coded
    def verify(self, *, deep: bool = False) -> tuple[Fault, ...]:
        """Every fault of the file, empty when it is sound. ``deep`` compares every index column with its grain, too."""
        from deja_tui.store import integrity

        with self.snapshot():
            return integrity.verify(self.reading(), deep)

    def changes(
        self,
        since_seq: int = 0,
        after_hlc: int = -1,
        *,
        namespace: str | None = None,
        subject: str | None = None,
    ) -> Iterator[Change]:
        """Changes above a position and a clock, told in grains; see `changes.changes`."""
        from deja_tui.store import changes

        return coded_iterator(changes.changes(self.reading, since_seq, after_hlc, namespace, subject))

    @coded
    def change_token(self) -> int:
        """A number that rises with every act that changed the file, whoever made it."""
        return stats.acts(self.reading())

    @coded
    def counts(self) -> Counts:
        """Arrivals in user namespaces, and failed tool calls among them (D38)."""
        return stats.counts(self.reading())

    @coded
    def stats(self) -> dict[str, Any]:
        """What the file holds, as plain JSON values; see `stats.stats`."""
        with self.snapshot():
            return stats.stats(self.reading(), self.path)

    # --- views ---

    @coded
    def position(self) -> Position:
        """See `views.position`."""
        return views.position(self.reading())

    @coded
    def tool_failures(
        self, since_ms: int, until_ms: int, after_seq: int, namespaces: Sequence[str] | None
    ) -> list[FailureCluster]:
        """See `views.tool_failures`."""
        with self.snapshot():
            return views.tool_failures(self.reading(), since_ms, until_ms, after_seq, namespaces)

    @coded
    def tool_failure_members(
        self,
        tool: str,
        signature: str,
        since_ms: int,
        until_ms: int,
        after_seq: int,
        namespaces: Sequence[str] | None,
        limit: int,
    ) -> list[StoredGrain]:
        """See `views.tool_failure_members`."""
        return views.tool_failure_members(
            self.reading(), tool, signature, since_ms, until_ms, after_seq, namespaces, limit
        )

    @coded
    def duplicate_facts(self, namespaces: Sequence[str] | None, after: int = 0) -> list[list[StoredGrain]]:
        """See `views.duplicate_facts`."""
        with self.snapshot():
            return views.duplicate_facts(self.reading(), namespaces, after)

    @coded
    def cold_facts(
        self, before_ms: int, warm: Collection[bytes], namespaces: Sequence[str] | None, limit: int
    ) -> list[ColdFacts]:
        """See `views.cold_facts`."""
        with self.snapshot():
            return views.cold_facts(self.reading(), before_ms, warm, namespaces, limit)

    @coded
    def fact_matches(self, namespace: str, subject: str, relation: str) -> list[StoredGrain]:
        """See `views.fact_matches`."""
        return views.fact_matches(self.reading(), namespace, subject, relation)

    @coded
    def audits_of(self, recommendation: str) -> list[StoredGrain]:
        """See `views.audits_of`."""
        return views.audits_of(self.reading(), recommendation)

    @coded
    def audits(self, of: Collection[str] | None = None) -> dict[str, list[StoredGrain]]:
        """See `views.audits`."""
        return views.audits(self.reading(), of)

    # --- the governance table ---

    @coded
    def ledger_covers(self) -> bool:
        """Whether the governance table has a row for every recommendation here; if not, nothing in it is complete."""
        db = self.reading()
        # a run asks this at every look into the queue; two counts are only needed anew after a change, here or elsewhere
        state = (id(db), db.total_changes(), db.pragma("data_version"))
        known = self._covering
        if known is None or known[0] != state:
            known = state, ledgers.covers(db, TYPES["recommendation"], find_space(db, views.LOOP_NAMESPACE))
            self._covering = known
        return known[1]

    @coded
    def ledger_get(self, address: str) -> LedgerRow | None:
        """The row of one recommendation, replaced ones included."""
        return ledgers.get(self.reading(), address)

    @coded
    def ledger_by_identity(self, identities: Sequence[str]) -> list[LedgerRow]:
        """Rows of these identities, oldest decision first, replaced ones left out."""
        return ledgers.by_identity(self.reading(), identities)

    @coded
    def ledger_list(
        self,
        statuses: Iterable[str] | None = None,
        analyzers: Iterable[str] | None = None,
        *,
        include_replaced: bool = False,
        limit: int | None = None,
    ) -> list[LedgerRow]:
        """Rows in queue order; ``analyzers``: only those that one of these ids proposed; ``limit``: the first of them."""
        return ledgers.listed(
            self.reading(), statuses, analyzers, include_replaced=include_replaced, limit=limit
        )

    @coded
    def ledger_about(self, addresses: Iterable[str], targets: Iterable[str]) -> list[LedgerRow]:
        """Rows in queue order that have one of these addresses or are about one of these targets."""
        return ledgers.about(self.reading(), addresses, targets)

    @coded
    def ledger_tally(self) -> list[Tallied]:
        """How many rows there are of each analyzer, severity and status, replaced ones left out."""
        return ledgers.tally(self.reading())
