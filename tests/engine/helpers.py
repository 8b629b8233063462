# SPDX-License-Identifier: Apache-2.0
"""Short ways to fill a substrate, to run the loop on it, to plant what the engine would write, and to compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from deja_tui.engine import RunOptions, audit, lifecycle, run, views
from deja_tui.engine.actors import Caller, caller
from deja_tui.engine.draft import Draft
from deja_tui.engine.identity import identity
from deja_tui.engine.objects import RunOutcome
from deja_tui.engine.operations import Operation
from deja_tui.engine.substrate import LOOP_NAMESPACE, NewGrain, StoredGrain, Substrate
from deja_tui.engine.wire import recommendation_grain
from deja_tui.errors import DejaError
from deja_tui.reference import BareSubstrate
from tests.support import DAY, NOW

ANA: Caller = caller("user:ana")
BEN: Caller = caller("user:ben")
EVERY_TYPE = (*views.USER_TYPES, "recommendation")


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


def import_grain(substrate: BareSubstrate, address: str) -> None:
    """Make a grain one that arrived with a bundle."""
    substrate.grains[address] = replace(substrate.grains[address], imported=True)


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
def refused(code: str) -> Iterator[pytest.ExceptionInfo[DejaError]]:
    """The block raises a deja error with this code."""
    with pytest.raises(DejaError) as caught:
        yield caught
    assert caught.value.code == code, caught.value


@contextmanager
def refused_unchanged(substrate: Substrate, code: str) -> Iterator[None]:
    """The block is refused with this code, and nothing in the substrate is different afterwards (LIF-1)."""
    before = everything(substrate)
    with refused(code):
        yield
    assert everything(substrate) == before


def crash_on(substrate: Substrate, name: str, when: Callable[..., bool]) -> None:
    """Make one method of a substrate fail, as a full disk would, whenever ``when`` holds for its arguments."""
    real = getattr(substrate, name)

    def failing(*args: Any, **kwargs: Any) -> Any:
        if when(*args, **kwargs):
            raise OSError("no room left")
        return real(*args, **kwargs)

    setattr(substrate, name, failing)


def refusal_of(act: Callable[[], object]) -> str | None:
    """The code an act is refused with, or None when it goes through."""
    try:
        act()
    except DejaError as fault:
        return fault.code
    return None
