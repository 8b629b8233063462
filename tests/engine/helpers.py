# SPDX-License-Identifier: Apache-2.0
"""Short ways to fill a substrate and to run the loop on it."""

from __future__ import annotations

from typing import Any

from deja_tui.engine import RunOptions, run, views
from deja_tui.engine.actors import Caller, caller
from deja_tui.engine.objects import RunOutcome
from deja_tui.engine.substrate import NewGrain, Substrate
from tests.support import DAY, NOW

ANA: Caller = caller("user:ana")


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
