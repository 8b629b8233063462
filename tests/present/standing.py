# SPDX-License-Identifier: Apache-2.0
"""Reports about a memory for tests of surfaces: the real engine over the reference substrate, at a fixed time."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from deja_tui.engine import RunOptions, health, run
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.engine.health import Health
from deja_tui.engine.objects import STATUSES
from deja_tui.engine.policy import from_plain
from deja_tui.reference import ReferenceSubstrate
from tests.engine.helpers import calls, fact
from tests.support import DAY, NOW

POLICY = from_plain({"deny": ["loop.goal_stagnation"], "severity_floors": {"loop.tool_failure": "low"}})


@cache
def standing() -> Health:
    """A memory with failing calls and two copies of a fact, two hours after its last run."""
    substrate = ReferenceSubstrate()
    calls(substrate, "refund", "boom", 5)
    for place, text in enumerate(("tea", "Tea")):
        fact(substrate, "acme", "likes", text, NOW - DAY + place)
    fact(substrate, "promo", "active", "yes", valid_to=NOW - 9 * DAY, verification_status="contested")
    run(substrate, RunOptions(policy=POLICY), NOW - 7_200_000)
    fact(substrate, "new", "since", "then")
    found = health.health(substrate, ANALYZERS, POLICY, NOW)
    return replace(found, queue={status: 3 if status == "pending" else 0 for status in STATUSES})


@cache
def nothing() -> Health:
    """A memory that holds nothing."""
    return health.health(ReferenceSubstrate(), ANALYZERS, None, NOW)
