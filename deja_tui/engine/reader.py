# SPDX-License-Identifier: Apache-2.0
"""The read-only side of a substrate, which is all an analyzer gets (engine rule 2), reserved namespaces left out (D7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deja_tui.engine import views
from deja_tui.engine.substrate import (
    FailureCluster,
    LedgerRow,
    Position,
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
