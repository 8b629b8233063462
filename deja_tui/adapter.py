# SPDX-License-Identifier: Apache-2.0
"""A store as a substrate: the only bridge between the engine and the file.

The engine writes through it with ``store.act(governed=True)``, which opens the reserved namespaces (D7). Only
the facade does so besides: for the audit of an erasure, the lease of a run and a rebuild.
Views that the store answers with SQL stand here under the names that `engine.views` looks for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from deja_tui import saved
from deja_tui.engine.activity_views import ColdFacts, ToolSpan
from deja_tui.engine.doc_edits import RELATION
from deja_tui.engine.ledger import queue_order, replay, tally
from deja_tui.engine.substrate import (
    FailureCluster,
    LedgerRow,
    MarkKind,
    NewGrain,
    Overdue,
    Position,
    Put,
    RelationCount,
    Tallied,
)
from deja_tui.store import codec, disturbed, overview, settings
from deja_tui.store.activity_views import ActivityViews
from deja_tui.store.fact_views import FactViews
from deja_tui.store.fields import made
from deja_tui.store.grains import StoredGrain
from deja_tui.store.memory import Store
from deja_tui.store.oplog import wall_of
from deja_tui.store.telemetry import Telemetry


def build(grain: NewGrain, *, settled: Collection[str] = ()) -> codec.Grain:
    """The codec's grain of a new one; ``settled`` names fields taken over from a stored grain as they are.

    Raises VAL-E001 and VAL-E002 on fields its type does not allow.
    """
    return made(
        grain.type, grain.fields, namespace=grain.namespace, created_at=grain.created_at, settled=settled
    )


class StoreSubstrate:
    """The engine's view of one memory file."""

    def __init__(self, store: Store, telemetry: Telemetry | None = None) -> None:
        self._store = store
        self._activity = ActivityViews(store)
        self._facts = FactViews(store)
        self._telemetry = telemetry

    # the five methods

    def scan(
        self, type: str, namespaces: Sequence[str] | None = None, after: int = 0
    ) -> Iterator[StoredGrain]:
        # a damaged grain says nothing to anybody; `verify` names it
        return self._store.scan(type, namespaces=namespaces, after=after, pass_damaged=True)

    def get(self, address: str) -> StoredGrain | None:
        return self._store.get(address)

    def put(self, grain: NewGrain) -> Put:
        with self._store.act(governed=True) as act:
            added = act.add(build(grain))
        return Put(added.address, added.new)

    def supersede(self, address: str, grain: NewGrain) -> Put:
        with self._store.act(governed=True) as act:
            added = act.supersede(address, build(grain))
        return Put(added.address, added.new)

    def mark(self, address: str, kind: MarkKind, by: str | None = None) -> None:
        with self._store.act(governed=True) as act:
            act.mark(address, kind, by)

    # capabilities

    @contextmanager
    def atomic(self) -> Iterator[None]:
        with self._store.act(governed=True):
            yield

    def setting(self, key: str) -> Any:
        return self._store.setting(key)

    def set_setting(self, key: str, value: Any) -> None:
        with self._store.act(governed=True) as act:
            act.set_setting(key, value)

    def kept(self, prefix: str) -> list[tuple[str, Any, str, int]]:
        return [
            (key, value, source, wall_of(hlc))
            for key, value, hlc, source in settings.stamped(self._store.reading(), prefix)
        ]

    def forget(self, address: str) -> None:
        with self._store.act(governed=True) as act:
            act.forget(address)

    def check_grain(self, grain: NewGrain) -> None:
        build(grain)

    def merge(self, heads: Sequence[str], grain: NewGrain) -> Put:
        with self._store.act(governed=True) as act:
            added = act.merge(heads, build(grain))
        return Put(added.address, added.new)

    def saved_query(self, name: str, scheme: str = "query") -> str | None:
        return saved.body(self._store.setting(saved.key(name, scheme)), scheme)

    def check_saved_query(self, name: str, body: str, scheme: str = "query") -> None:
        saved.with_body(self._store, name, body, scheme)

    def set_saved_query(self, name: str, body: str | None, scheme: str = "query") -> None:
        with self._store.act(governed=True) as act:
            value = None if body is None else saved.with_body(self._store, name, body, scheme)
            act.set_setting(saved.key(name, scheme), value)

    def document(self, namespace: str, path: str) -> StoredGrain | None:
        return self._store.latest(namespace, path, RELATION)

    @property
    def telemetry(self) -> Telemetry | None:
        """The reader of what was counted; None where nothing is (D37)."""
        return self._telemetry if self._telemetry is not None and self._telemetry.on else None

    def intact(self, address: str) -> bool:
        return self._store.intact(address)

    # views

    def position(self) -> Position:
        return Position(*self._store.position())

    def tool_failures(
        self, since: int, until: int, after: int, namespaces: Sequence[str] | None
    ) -> list[FailureCluster]:
        return [FailureCluster(*row) for row in self._store.tool_failures(since, until, after, namespaces)]

    def tool_failure_members(
        self,
        tool: str,
        signature: str,
        since: int,
        until: int,
        after: int,
        namespaces: Sequence[str] | None,
        limit: int,
    ) -> list[StoredGrain]:
        return self._store.tool_failure_members(tool, signature, since, until, after, namespaces, limit)

    def duplicate_facts(self, namespaces: Sequence[str] | None, after: int = 0) -> list[list[StoredGrain]]:
        return self._store.duplicate_facts(namespaces, after)

    def fact_matches(self, namespace: str, subject: str, relation: str) -> list[StoredGrain]:
        return self._store.fact_matches(namespace, subject, relation)

    def tool_span(self, tool: str, signature: str | None, after_ms: int, until_ms: int) -> ToolSpan:
        return ToolSpan(*self._activity.tool_span(tool, signature, after_ms, until_ms))

    def facts_under(self, namespace: str, subject: str, relation: str) -> list[StoredGrain]:
        return self._activity.facts_under(namespace, subject, relation)

    def earliest_fact(self) -> int | None:
        return self._activity.earliest_fact()

    def live_grains(
        self, type: str, namespaces: Sequence[str] | None = None, after: int = 0
    ) -> Iterator[StoredGrain]:
        return self._activity.live_grains(type, namespaces, after)

    def cold_facts(
        self, before_ms: int, warm: Collection[bytes], namespaces: Sequence[str] | None, limit: int
    ) -> list[ColdFacts]:
        found = self._store.cold_facts(before_ms, warm, namespaces, limit)
        return [ColdFacts(row.namespace, row.total, tuple(row.oldest)) for row in found]

    def engine_written(self) -> frozenset[bytes]:
        return self._activity.engine_written()

    def documents(self, namespaces: Sequence[str] | None = None) -> frozenset[bytes]:
        return self._activity.documents(namespaces)

    def answers(self, question: str, namespace: str) -> bool:
        return bool(self._store.search(question, namespace=namespace, k=1))

    def outcome_grains(self, since_ms: int = 0) -> list[StoredGrain]:
        return self._activity.outcome_grains(since_ms)

    def rivals(
        self, namespaces: Sequence[str] | None, relations: Sequence[str], after: int = 0
    ) -> list[list[StoredGrain]]:
        return self._facts.rivals(namespaces, relations, after)

    def relation_counts(self, namespaces: Sequence[str] | None, least: int) -> list[RelationCount]:
        return [RelationCount(*row) for row in self._facts.relation_counts(namespaces, least)]

    def ended(
        self, namespaces: Sequence[str] | None, before: int, after: int = 0, since: int | None = None
    ) -> list[StoredGrain]:
        return self._facts.ended(namespaces, before, after, since)

    def past_end(self, before: int) -> int:
        return self._facts.past_end(before)

    def overdue(
        self, namespaces: Sequence[str] | None, types: Sequence[str], before: int, limit: int
    ) -> list[Overdue]:
        found = self._facts.overdue(namespaces, types, before, limit)
        return [Overdue(one.namespace, one.total, one.oldest) for one in found]

    def near_notes(self, namespaces: Sequence[str] | None, after: int = 0) -> list[StoredGrain]:
        return self._facts.near_notes(namespaces, after)

    def forks(self, namespaces: Sequence[str] | None, after: int = 0) -> list[Sequence[StoredGrain]]:
        if after and not self._facts.may_have_forked(after):
            return []
        return [fork.tips for fork in self._store.forks(namespaces)]

    def audits_of(self, recommendation: str) -> list[StoredGrain]:
        return self._store.audits_of(recommendation)

    def audits(self, of: Collection[str] | None = None) -> dict[str, list[StoredGrain]]:
        return self._store.audits(of)

    def live_by_type(self) -> dict[str, int]:
        return overview.live_by_type(self._store.reading())

    def claims(self) -> dict[str, int]:
        return overview.claims(self._store.reading())

    def began(self) -> int | None:
        return overview.began(self._store.reading())

    def arrived(self) -> int:
        return disturbed.arrived(self._store.reading())

    def moves(self) -> int:
        return disturbed.moves(self._store.reading())

    def disturbed(self, after: int) -> frozenset[str] | None:
        return disturbed.disturbed(self._store.reading(), after) if self._store.ledger_covers() else None

    def ledger_list(
        self,
        statuses: Sequence[str] | None,
        analyzers: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[LedgerRow]:
        if not self._store.ledger_covers():
            found = [row for row in replay(self) if row.replaced_by is None]
            kept = [row for row in found if statuses is None or row.status in statuses]
            named = [row for row in kept if analyzers is None or row.analyzer in analyzers]
            return sorted(named, key=queue_order)[:limit]
        return [LedgerRow(*row) for row in self._store.ledger_list(statuses, analyzers, limit=limit)]

    def ledger_about(self, addresses: Collection[str], targets: Collection[str]) -> list[LedgerRow]:
        """Rows, in queue order, that have one of these addresses or are about one of these targets."""
        if not self._store.ledger_covers():
            rows = self.ledger_list(None)
            return [row for row in rows if row.address in addresses or row.target_ref in targets]
        return [LedgerRow(*row) for row in self._store.ledger_about(addresses, targets)]

    def ledger_tally(self) -> list[Tallied]:
        if not self._store.ledger_covers():
            return tally(self.ledger_list(None))
        return [Tallied(*row) for row in self._store.ledger_tally()]

    def ledger_get(self, address: str) -> LedgerRow | None:
        row = self._store.ledger_get(address)
        if row:
            return LedgerRow(*row)
        if self._store.ledger_covers():
            return None
        return next((found for found in replay(self) if found.address == address), None)

    def ledger_by_identity(self, identities: Sequence[str]) -> Mapping[str, list[LedgerRow]]:
        found: dict[str, list[LedgerRow]] = {}
        for row in self._rows_of(identities):
            found.setdefault(row.identity, []).append(row)
        return found

    def _rows_of(self, identities: Sequence[str]) -> list[LedgerRow]:
        """From the table, or, when rows were taken out of it, from the grains (D1)."""
        if self._store.ledger_covers():
            return [LedgerRow(*row) for row in self._store.ledger_by_identity(identities)]
        wanted = set(identities)
        rows = [row for row in replay(self) if row.identity in wanted and row.replaced_by is None]
        return sorted(rows, key=lambda row: (row.decided_seq, row.address))

    def ledger_put(self, row: LedgerRow) -> None:
        with self._store.act(governed=True) as act:
            act.ledger_put(row)
