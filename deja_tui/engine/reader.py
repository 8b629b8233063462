# SPDX-License-Identifier: Apache-2.0
"""The read-only side of a substrate, which is all an analyzer gets (engine rule 2), reserved namespaces left out (D7)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from deja_tui.engine import activity_views, fact_views, outcomes, views
from deja_tui.engine.activity_views import ColdFacts
from deja_tui.engine.doc_edits import text_of
from deja_tui.engine.objects import Recommendation
from deja_tui.engine.outcomes import Outcome
from deja_tui.engine.substrate import (
    FailureCluster,
    LedgerRow,
    Overdue,
    Position,
    RelationCount,
    StoredGrain,
    Substrate,
    is_reserved,
)


class Reader:
    """Reads of one substrate. It holds no method that writes and hands none out."""

    __slots__ = ("__substrate",)

    def __init__(self, substrate: Substrate) -> None:
        self.__substrate = substrate

    def get(self, address: str) -> StoredGrain | None:
        grain = self.__substrate.get(address)
        return None if grain is None or is_reserved(grain.namespace) else grain

    def scan(
        self, type: str, namespaces: Sequence[str] | None = None, after: int = 0
    ) -> Iterator[StoredGrain]:
        return self.__substrate.scan(type, views.user_namespaces(namespaces), after)

    def position(self) -> Position:
        return views.position(self.__substrate)

    def tool_failures(
        self, since: int, until: int, after: int, namespaces: Sequence[str] | None
    ) -> list[FailureCluster]:
        spaces = views.user_namespaces(namespaces)
        return views.tool_failures(self.__substrate, since, until, after, spaces)

    def tool_failure_members(
        self,
        cluster: FailureCluster,
        since: int,
        until: int,
        after: int,
        namespaces: Sequence[str] | None,
        limit: int,
    ) -> list[StoredGrain]:
        spaces = views.user_namespaces(namespaces)
        return views.tool_failure_members(
            self.__substrate, cluster.tool, cluster.signature, since, until, after, spaces, limit
        )

    def duplicate_facts(self, namespaces: Sequence[str] | None, after: int = 0) -> list[list[StoredGrain]]:
        return views.duplicate_facts(self.__substrate, views.user_namespaces(namespaces), after)

    def fact_matches(self, namespace: str, subject: str, relation: str) -> list[StoredGrain]:
        if is_reserved(namespace):
            return []
        return views.fact_matches(self.__substrate, namespace, subject, relation)

    # facts and notes

    def rivals(
        self, namespaces: Sequence[str] | None, relations: Sequence[str], after: int = 0
    ) -> list[list[StoredGrain]]:
        return fact_views.rivals(self.__substrate, views.user_namespaces(namespaces), relations, after)

    def relation_counts(self, namespaces: Sequence[str] | None, least: int) -> list[RelationCount]:
        return fact_views.relation_counts(self.__substrate, views.user_namespaces(namespaces), least)

    def forks(self, namespaces: Sequence[str] | None, after: int = 0) -> list[list[StoredGrain]]:
        return fact_views.forks(self.__substrate, views.user_namespaces(namespaces), after)

    def ended(
        self, namespaces: Sequence[str] | None, before: int, after: int = 0, since: int | None = None
    ) -> list[StoredGrain]:
        spaces = views.user_namespaces(namespaces)
        return fact_views.ended(self.__substrate, spaces, before, after, since)

    def overdue(
        self, namespaces: Sequence[str] | None, types: Sequence[str], before: int, limit: int
    ) -> list[Overdue]:
        spaces = views.user_namespaces(namespaces)
        return fact_views.overdue(self.__substrate, spaces, types, before, limit)

    def near_notes(self, namespaces: Sequence[str] | None, after: int = 0) -> list[StoredGrain]:
        return fact_views.near_notes(self.__substrate, views.user_namespaces(namespaces), after)

    def all_notes(self, namespaces: Sequence[str] | None, limit: int) -> list[StoredGrain]:
        return fact_views.all_notes(self.__substrate, views.user_namespaces(namespaces), limit)

    # activity

    def live_grains(
        self, type: str, namespaces: Sequence[str] | None, after: int = 0
    ) -> Iterator[StoredGrain]:
        spaces = views.user_namespaces(namespaces)
        return activity_views.live_grains(self.__substrate, type, spaces, after)

    def chain(self, grain: StoredGrain, limit: int) -> list[StoredGrain]:
        """The grain and at most ``limit`` of what it took the place of, newest first."""
        return activity_views.newest_of_chain(self.get, grain, limit)

    def cold_facts(
        self, before_ms: int, warm: Collection[bytes], namespaces: Sequence[str] | None, limit: int
    ) -> list[ColdFacts]:
        spaces = views.user_namespaces(namespaces)
        return activity_views.cold_facts(self.__substrate, before_ms, warm, spaces, limit)

    def never_recalled_by_design(self, namespaces: Sequence[str] | None) -> frozenset[bytes]:
        """Raw addresses of facts that say nothing by being unread: what an apply wrote, and documents."""
        spaces = views.user_namespaces(namespaces)
        return activity_views.engine_written(self.__substrate) | activity_views.documents(
            self.__substrate, spaces
        )

    def answers(self, question: str, namespace: str) -> bool:
        """Whether a free-text search finds anything now; False where the memory cannot search."""
        return not is_reserved(namespace) and activity_views.answers(self.__substrate, question, namespace)

    def document(self, namespace: str, path: str) -> str | None:
        """The text of a document as it is now; None when there is none (D40)."""
        found = None if is_reserved(namespace) else views.document(self.__substrate, namespace, path)
        return None if found is None else text_of(found.fields)

    def outcomes(self) -> list[Outcome]:
        """The stored measurements of what is applied now, in arrival order: counts and spans, no text."""
        return outcomes.standing(self.__substrate)

    def applied(self, address: str) -> Recommendation | None:
        """The body of a recommendation made here that is applied now, or None."""
        return outcomes.applied(self.__substrate, address)


class Books:
    """What was recommended and decided here, for analyzers that must know it. Foreign rows are history (D5)."""

    __slots__ = ("__substrate",)

    def __init__(self, substrate: Substrate) -> None:
        self.__substrate = substrate

    def of(self, identity: str) -> list[LedgerRow]:
        """Rows of one identity, oldest decision first, refreshed ones left out."""
        rows = views.ledger_by_identity(self.__substrate, [identity]).get(identity, [])
        return [row for row in rows if not row.foreign]

    def open_among(self, identities: Sequence[str]) -> frozenset[str]:
        """Those of ``identities`` that have a pending or approved recommendation made here."""
        found = views.ledger_by_identity(self.__substrate, identities)
        return frozenset(
            key
            for key, rows in found.items()
            if any(row.status in ("pending", "approved") and not row.foreign for row in rows)
        )

    def open_targets(self, analyzer: str) -> frozenset[str]:
        """Targets of the pending and approved recommendations that this analyzer, by its id, made here."""
        rows = views.ledger(self.__substrate, ("pending", "approved"), (analyzer,))
        return frozenset(row.target_ref for row in rows if not row.foreign)

    def family(self, family: str, statuses: Sequence[str] | None) -> list[LedgerRow]:
        """Rows of one family of analyzers, whatever their major version, in queue order."""
        rows = views.ledger(self.__substrate, statuses)
        return [row for row in rows if not row.foreign and row.analyzer.rsplit("/", 1)[0] == family]
