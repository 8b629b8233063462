# SPDX-License-Identifier: Apache-2.0
"""Where the reference product loses, freezes or floods findings (spec loop-engine §1 and §25), and what happens here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import audit, lifecycle, reports, views
from deja_tui.engine.substrate import NewGrain, Substrate
from deja_tui.engine.wire import read_recommendation
from tests.conformance.substrates import SUBSTRATES
from tests.engine.helpers import ANA, calls, fact, go, only, statuses
from tests.support import DAY, NOW


@pytest.fixture(params=SUBSTRATES, ids=lambda pair: pair[0])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Substrate]:
    substrate = request.param[1](tmp_path)
    yield substrate
    if isinstance(substrate, StoreSubstrate):
        substrate._store.close()


def lines(memory: Substrate, status: str = "pending") -> list[str]:
    return sorted(row.summary for row in reports.queue(memory, (status,)))


def test_a_second_contradiction_on_one_subject_is_kept(memory: Substrate) -> None:
    """Lesson 2, V09: each relation is its own finding, also once its sibling was applied."""
    for relation in ("tier", "region"):
        for n, value in enumerate(("one", "two")):
            fact(memory, "acme", relation, value, NOW - 2 * DAY + n)
    assert go(memory).stored == 2
    first = next(row for row in views.ledger(memory) if "#region" in row.target_ref)
    lifecycle.approve_and_apply(memory, first.address, "two it is", ANA, NOW)
    outcome = go(memory, NOW + 1)
    assert (outcome.stored, outcome.closed) == (0, 0)
    assert len(lines(memory)) == 1


def test_a_second_error_of_one_tool_is_kept(memory: Substrate) -> None:
    """Lesson 2, V09, h03: a tool that fails in two ways has two findings, and rejecting one silences only that one."""
    calls(memory, "refund", "rate limited", 4)
    calls(memory, "refund", "no such order", 4, at=NOW - DAY + 3_600_000)
    assert go(memory).stored == 2
    limited = next(row for row in reports.queue(memory, ("pending",)) if "rate limited" in row.summary)
    lifecycle.reject(memory, limited.address, "known", ANA, NOW)
    assert go(memory, NOW + 1).dropped == {"cooling": 1, "open": 1}
    assert "no such order" in lines(memory)[0]


def test_a_growing_cluster_is_refreshed_and_stays_one_finding(memory: Substrate) -> None:
    """h10: the queue shows what is true now, under one identity, in one chain of addresses, first proposed when it was."""
    calls(memory, "refund", "boom", 3)
    go(memory)
    old = only(memory)
    calls(memory, "refund", "boom", 12, at=NOW - DAY + 3_600_000)
    outcome = go(memory, NOW + 1)
    assert (outcome.stored, outcome.refreshed, outcome.closed) == (0, 1, 0)
    new = only(memory)
    assert new != old
    (row,) = reports.queue(memory, ("pending",))
    assert row.summary.startswith("refund: 15 of 15 calls")
    assert row.age_from == NOW
    grain = memory.get(new)
    assert grain is not None
    assert read_recommendation(grain).refreshes == old
    assert reports.show(memory, old, ANA).recommendation.address == new, "an old link shows the new one"
    assert reports.chain(memory, new).verified
    if views.caches_ledger(memory):
        assert views.ledger_row(memory, old) == audit.derive(memory, old), "what is cached is what is derived"


def test_a_problem_that_is_gone_closes_by_itself(memory: Substrate) -> None:
    """Lesson 9: a fixed problem does not stay pending, an acknowledged one does not stay approved."""
    first, second = (
        fact(memory, "acme", "likes", text, NOW - DAY + n) for n, text in enumerate(("tea", "Tea"))
    )
    skill = {"name": "sql", "description": "how", "proficiency": 0.1, "practice_count": 9}
    stalled = memory.put(NewGrain("skill", "shared", NOW - DAY, skill)).address
    assert go(memory).stored == 2
    flag = next(row.address for row in views.ledger(memory) if "skill_stall" in row.analyzer)
    lifecycle.approve(memory, flag, "seen", ANA, NOW)
    memory.mark(second, "hide")
    memory.supersede(stalled, NewGrain("skill", "shared", NOW, {**skill, "proficiency": 0.9}))
    assert go(memory, NOW + 1).closed == 2
    assert set(statuses(memory).values()) == {"expired"}
    for row in views.ledger(memory):
        last = reports.chain(memory, row.address).entries[-1]
        assert (last.observer, last.because) == ("system", "the finding no longer holds")
    assert first in [grain.address for grain in memory.scan("fact") if grain.live]


def test_a_rolled_back_change_is_not_proposed_again_within_minutes(memory: Substrate) -> None:
    """Loop-engine §6c: taking something back is a no, with the same cooldown."""
    for n, text in enumerate(("tea", "Tea")):
        fact(memory, "acme", "likes", text, NOW - DAY + n)
    go(memory)
    lifecycle.approve_and_apply(memory, only(memory), "why", ANA, NOW)
    lifecycle.rollback(memory, only(memory, "applied"), "no", ANA, NOW + 60_000)
    assert dict(go(memory, NOW + 120_000).dropped) == {"cooling": 1}
    assert go(memory, NOW + 60_000 + 7 * DAY).stored == 1


def test_an_approval_resets_the_ladder(memory: Substrate) -> None:
    """Loop-engine §6 [pick]: strikes count since the last approval that stands."""
    for n, text in enumerate(("tea", "Tea")):
        fact(memory, "acme", "likes", text, NOW - DAY + n)
    now = NOW
    for days in (7, 14):
        go(memory, now)
        lifecycle.reject(memory, only(memory), "no", ANA, now)
        now += days * DAY
    go(memory, now)
    lifecycle.approve_and_apply(memory, only(memory), "yes", ANA, now)
    fact(memory, "acme", "likes", "TEA", now)
    go(memory, now + 1)
    lifecycle.reject(memory, only(memory), "no", ANA, now + 1)
    assert go(memory, now + 1 + 7 * DAY - 1).stored == 0
    assert go(memory, now + 1 + 7 * DAY).stored == 1, "seven days again, not twenty-eight"


def test_first_contact_does_not_flood(memory: Substrate) -> None:
    """Lesson 7: fifty old facts of an import are no fifty findings, and twenty copies among them are one."""
    for n in range(50):
        fact(memory, f"s{n}", "mentioned", f"thing {n}", NOW - 300 * DAY + n)
    for n in range(20):
        fact(memory, "user", "likes", "tea" if n % 2 else "Tea", NOW - 200 * DAY + n)
    outcome = go(memory)
    assert outcome.stored == 1
    assert lines(memory) == ["20 copies of one fact: user · likes · Tea"]


def test_a_chain_of_the_engine_never_names_a_person(memory: Substrate) -> None:
    """Refresh, expiry and proposal are system entries; who started the run is noted as trigger, never as creator (D14)."""
    calls(memory, "refund", "boom", 3)
    go(memory, trigger="user:ana")
    calls(memory, "refund", "boom", 3, at=NOW - DAY + 3_600_000)
    go(memory, NOW + 1, trigger="user:ben")
    entries = [entry for entry, _ in audit.entries(memory, only(memory))]
    assert [(entry.creator, entry.trigger, entry.observer) for entry in entries] == [
        ("engine:loop.tool_failure/1", "user:ben", "system")
    ]
