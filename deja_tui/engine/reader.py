# SPDX-License-Identifier: Apache-2.0
"""The read-only side of a substrate, which is all an analyzer gets (engine rule 2), reserved namespaces left out (D7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deja_tui.engine import fact_views, views
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

    def duplicate_facts(self, namespaces: Sequence[str] | None) -> list[list[StoredGrain]]:
        return views.duplicate_facts(self.__substrate, views.user_namespaces(namespaces))

    def fact_matches(self, namespace: str, subject: str, relation: str) -> list[StoredGrain]:
        if is_reserved(namespace):
            return []
        return views.fact_matches(self.__substrate, namespace, subject, relation)

    # facts and notes

    def rivals(self, namespaces: Sequence[str] | None, relations: Sequence[str]) -> list[list[StoredGrain]]:
        return fact_views.rivals(self.__substrate, views.user_namespaces(namespaces), relations)

    def relation_counts(self, namespaces: Sequence[str] | None, least: int) -> list[RelationCount]:
        return fact_views.relation_counts(self.__substrate, views.user_namespaces(namespaces), least)

    def forks(self, namespaces: Sequence[str] | None) -> list[list[StoredGrain]]:
        return fact_views.forks(self.__substrate, views.user_namespaces(namespaces))

    def ended(self, namespaces: Sequence[str] | None, before: int) -> list[StoredGrain]:
        return fact_views.ended(self.__substrate, views.user_namespaces(namespaces), before)

    def overdue(
        self, namespaces: Sequence[str] | None, types: Sequence[str], before: int, limit: int
    ) -> list[Overdue]:
        spaces = views.user_namespaces(namespaces)
        return fact_views.overdue(self.__substrate, spaces, types, before, limit)

    def near_notes(self, namespaces: Sequence[str] | None) -> list[StoredGrain]:
        return fact_views.near_notes(self.__substrate, views.user_namespaces(namespaces))

    def all_notes(self, namespaces: Sequence[str] | None) -> list[StoredGrain]:
        return fact_views.all_notes(self.__substrate, views.user_namespaces(namespaces))


class Books:
    """What was recommended and decided here, for analyzers that must know it. Foreign rows are history (D5)."""

    __slots__ = ("__substrate",)

    def __init__(self, substrate: Substrate) -> None:
        self.__substrate = substrate

    def of(self, identity: str) -> list[LedgerRow]:
        """Rows of one identity, oldest decision first, refreshed ones left out."""
        rows = views.ledger_by_identity(self.__substrate, [identity]).get(identity, [])
        return [row for row in rows if not row.foreign]

    def family(self, family: str, statuses: Sequence[str] | None) -> list[LedgerRow]:
        """Rows of one family of analyzers, whatever their major version, in queue order."""
        rows = views.ledger(self.__substrate, statuses)
        return [row for row in rows if not row.foreign and row.analyzer.rsplit("/", 1)[0] == family]
