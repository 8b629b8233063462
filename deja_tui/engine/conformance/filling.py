# SPDX-License-Identifier: Apache-2.0
"""Short ways to fill a memory, to run the loop on it, to plant what the engine would write, and to compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from deja_tui.engine import audit, lifecycle, views
from deja_tui.engine.actors import Caller, caller
from deja_tui.engine.draft import Draft
from deja_tui.engine.identity import identity
from deja_tui.engine.objects import RunOutcome
from deja_tui.engine.operations import Operation
from deja_tui.engine.pipeline import RunOptions, run
from deja_tui.engine.substrate import (
    LOOP_NAMESPACE,
    MarkKind,
    NewGrain,
    Put,
    StoredGrain,
    Substrate,
)
from deja_tui.engine.wire import recommendation_grain
from deja_tui.errors import DejaError
from deja_tui.text import DAY_MS

DAY: Final = DAY_MS
NOW: Final = 1_772_442_000_000  # 2026-03-02 09:00:00 UTC
ANA: Final[Caller] = caller("user:ana")
BEN: Final[Caller] = caller("user:ben")
EVERY_TYPE: Final = (*views.USER_TYPES, "recommendation")


Check = Callable[[Substrate], None]
CHECKS: Final[list[Check]] = []


def check(function: Check) -> Check:
    """Add a function to the suite. It is given an empty memory; its first docstring line is its promise."""
    CHECKS.append(function)
    return function


class Skipped(Exception):
    """A check is about a capability that the memory does not offer: no failure."""


def fact(
    substrate: Substrate, subject: str, relation: str, object_: str, at: int = NOW - DAY, **fields: Any
) -> str:
    """Store one fact and return its address."""
    namespace = fields.pop("namespace", "shared")
    content = {"subject": subject, "relation": relation, "object": object_, "confidence": 0.9, **fields}
    return substrate.put(NewGrain("fact", namespace, at, content)).address


def calls(
    substrate: Substrate,
    tool: str,
    result: str,
    count: int,
    *,
    error: bool = True,
    at: int = NOW - DAY,
    namespace: str = "shared",
    **extra: Any,
) -> list[str]:
    """Store ``count`` calls of a tool, a minute apart, and return their addresses."""
    return [
        substrate.put(
            NewGrain(
                "tool",
                namespace,
                at + 60_000 * i,
                {
                    "tool_name": tool,
                    "tool_content": result,
                    "is_error": error,
                    "tool_call_id": f"{tool}-{at}-{i}",
                    **extra,
                },
            )
        ).address
        for i in range(count)
    ]


def go(substrate: Substrate, now: int = NOW, **options: Any) -> RunOutcome:
    """One run at ``now``."""
    return run(substrate, RunOptions(**options), now)


def only(substrate: Substrate, status: str = "pending") -> str:
    """The address of the one recommendation with ``status``."""
    rows = views.ledger(substrate, (status,))
    assert len(rows) == 1, rows
    return rows[0].address


def statuses(substrate: Substrate) -> dict[str, str]:
    """Address → status of everything that was not refreshed away."""
    return {row.address: row.status for row in views.ledger(substrate)}


# --- planting what the engine would write ------------------------------------------------------------


def draft(operations: Sequence[Operation], evidence: Sequence[str], **over: Any) -> Draft:
    """A draft with these operations; everything else has a default."""
    values: dict[str, Any] = {
        "target_ref": "entity:shared/planted#one",
        "action": "flag",
        "template_id": "planted",
        "args": {"count": 1},
        "severity": "medium",
        "operations": tuple(operations),
        "evidence": tuple(evidence),
        "evidence_total": len(evidence),
        "newest_evidence": None,
        **over,
    }
    return Draft(**values)


def plant(
    substrate: Substrate,
    found: Draft,
    *,
    creator: str = "engine:loop.planted/1",
    analyzer: str = "loop.planted/1",
    at: int = NOW,
    first: bool = True,
) -> str:
    """Store a recommendation and its first audit entry as the engine does, and return its address."""
    grain = recommendation_grain(
        found,
        analyzer=analyzer,
        params={},
        identity=identity(analyzer.rsplit("/", 1)[0], found.target_ref, found.action),
        now_ms=at,
        since=at,
        refreshes=None,
    )
    address = substrate.put(grain).address
    if first:
        audit.write(
            substrate,
            address,
            previous=None,
            to_status="pending",
            actor="engine:loop",
            observer="system",
            because="planted",
            now_ms=at,
            notes={"creator": creator, "trigger": "user:test", "source": "submitted"},
        )
    lifecycle.record(substrate, address)
    return address


# --- comparing ---------------------------------------------------------------------------------------


def everything(substrate: Substrate) -> list[tuple[Any, ...]]:
    """All that a substrate shows through its five methods, and its settings where it has them."""
    seen: list[tuple[Any, ...]] = []
    for kind in EVERY_TYPE:
        for namespaces in (None, [LOOP_NAMESPACE]):
            seen += [
                (g.seq, g.address, g.type, g.namespace, g.created_at, g.live, g.superseded_by, repr(g.fields))
                for g in substrate.scan(kind, namespaces)
            ]
    return [*sorted(seen), ("settings", repr(getattr(substrate, "settings", None)))]


def recalled(substrate: Substrate) -> list[str]:
    """Addresses of the live grains of user namespaces in the order of recall, newest first (D3)."""
    live: list[StoredGrain] = [
        grain for kind in views.USER_TYPES for grain in substrate.scan(kind) if grain.live
    ]
    return [grain.address for grain in sorted(live, key=lambda g: (g.created_at, g.seq), reverse=True)]


@contextmanager
def refused(code: str) -> Iterator[None]:
    """The block raises a deja error with this code."""
    try:
        yield
    except DejaError as fault:
        if fault.code != code:
            raise AssertionError(f"refused with {fault} instead of {code}") from fault
    else:
        raise AssertionError(f"was not refused with {code}")


class FiveOnly:
    """The five methods of another substrate and nothing else: every view has to be its default."""

    def __init__(self, inner: Substrate) -> None:
        self._inner = inner

    def scan(
        self, type: str, namespaces: Sequence[str] | None = None, after: int = 0
    ) -> Iterator[StoredGrain]:
        return self._inner.scan(type, namespaces, after)

    def get(self, address: str) -> StoredGrain | None:
        return self._inner.get(address)

    def put(self, grain: NewGrain) -> Put:
        return self._inner.put(grain)

    def supersede(self, address: str, grain: NewGrain) -> Put:
        return self._inner.supersede(address, grain)

    def mark(self, address: str, kind: MarkKind, by: str | None = None) -> None:
        self._inner.mark(address, kind, by)


def new_fact(text: str, namespace: str = "shared", at: int = NOW) -> NewGrain:
    content = {"subject": "s", "relation": "r", "object": text, "confidence": 0.5}
    return NewGrain("fact", namespace, at, content)


def there(substrate: Substrate, address: str) -> StoredGrain:
    grain = substrate.get(address)
    assert grain is not None
    return grain


def addresses(grains: Any) -> list[str]:
    return [grain.address for grain in grains]
