# SPDX-License-Identifier: Apache-2.0
"""``loop.retention_sweep/1``: a flag for each namespace, one proposal at a time, never more than twenty grains (D19)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deja_tui.engine import lifecycle, views
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.engine.analyzers.retention import RetentionSweep
from deja_tui.engine.objects import Recommendation
from deja_tui.engine.operations import Forget
from deja_tui.engine.pipeline import RunOptions, run
from deja_tui.engine.substrate import Forgets, NewGrain
from tests.analyzers.worlds import World, line
from tests.engine.helpers import ANA, calls, fact, refused
from tests.support import DAY, NOW, shared

SWEEP = RetentionSweep()


def olds(world: World, count: int, namespace: str = "shared", age: int = 40) -> list[str]:
    """So many facts, the oldest first, the youngest of them ``age`` days old."""
    return [
        fact(world.substrate, f"s{n}", "note", "x", NOW - (age + count - n) * DAY, namespace=namespace)
        for n in range(count)
    ]


def split(found: list[Recommendation]) -> tuple[list[Recommendation], list[Recommendation]]:
    """Proposals to forget, and flags."""
    return [one for one in found if one.operations], [one for one in found if not one.operations]


# --- fires -------------------------------------------------------------------------------------------


def test_a_finding_in_full(world: World) -> None:
    """One operation a grain, oldest first; the flag counts and holds a query, and changes nothing."""
    addresses = olds(world, 3)
    ((proposal,), (flag,)) = split(world.found(SWEEP, max_age_days=30))
    assert proposal.operations == tuple(Forget(address) for address in addresses)
    assert (proposal.target_ref, proposal.action, proposal.severity) == (
        "entity:shared/retention",
        "expire",
        "low",
    )
    assert (proposal.destructive, proposal.rollbackable, proposal.remaining) == (True, False, 0)
    assert line(proposal) == "3 grains in shared are past 30 days; 0 more later"
    assert (flag.target_ref, flag.action, flag.severity) == ("entity:shared/retention", "flag", "info")
    assert line(flag) == "3 grains in shared are past 30 days, the oldest 43"
    assert dict(flag.data or {}) == {
        "namespace": "shared", "count": 3, "max_age_days": 30, "oldest_days": 43, "grain_type": "",
    }  # fmt: skip
    before = NOW - 30 * DAY - 1
    assert flag.evidence_query == f'RECALL grains UNTIL {before} WHERE namespace = "shared" LIMIT 1000'


@pytest.mark.parametrize(("count", "most", "named"), [(20, 500, 20), (21, 500, 20), (70, 500, 20), (9, 3, 3)])
def test_at_most_twenty_at_a_time(count: int, most: int, named: int, world: World) -> None:
    """D19: the rest is said, and the flag counts all of it."""
    addresses = olds(world, count)
    ((proposal,), (flag,)) = split(world.found(SWEEP, max_age_days=30, max_grains=most))
    assert proposal.evidence == tuple(addresses[:named])
    assert (proposal.remaining, flag.evidence_total) == (count - named, count)


def test_every_user_type_is_old_some_day(world: World) -> None:
    """Calls, goals and events, too; ``grain_type`` narrows to one."""
    calls(world.substrate, "t", "boom", 2, at=NOW - 60 * DAY)
    olds(world, 1)
    world.substrate.put(NewGrain("event", "shared", NOW - 61 * DAY, {"content": "x"}))
    ((proposal,), _) = split(world.found(SWEEP, max_age_days=30))
    assert len(proposal.operations) == 4
    ((narrow,), _) = split(world.found(SWEEP, NOW + 1, max_age_days=30, grain_type="tool"))
    assert len(narrow.operations) == 2
    assert (narrow.evidence_query or "").startswith("RECALL tools UNTIL")


def test_only_one_proposal_is_open_and_the_next_namespace_follows(world: World) -> None:
    """D19: never more than one; the namespace that holds the oldest is first, a rejected one gives way."""
    if not isinstance(world.substrate, Forgets):
        pytest.skip("this memory cannot forget")
    olds(world, 2, "young", age=35)
    olds(world, 30, "old", age=50)
    proposals, flags = split(world.found(SWEEP, max_age_days=30))
    assert [one.target_ref for one in proposals] == ["entity:old/retention"]
    assert sorted(one.target_ref for one in flags) == ["entity:old/retention", "entity:young/retention"]
    lifecycle.approve(world.substrate, proposals[0].address, "policy", ANA, NOW + 1)
    world.go(SWEEP, NOW + 2, max_age_days=30)
    assert _open(world) == [("entity:old/retention", "approved")], "what was approved stays as it is"
    lifecycle.apply(world.substrate, proposals[0].address, "policy", ANA, NOW + 3, allow_destructive=True)
    world.go(SWEEP, NOW + 4, max_age_days=30)
    assert _open(world) == [("entity:old/retention", "pending")], (
        "the rest, although the identity was applied"
    )
    (address,) = [row.address for row in views.ledger(world.substrate, ("pending",)) if row.severity == "low"]
    lifecycle.reject(world.substrate, address, "keep them", ANA, NOW + 5)
    world.go(SWEEP, NOW + 6, max_age_days=30)
    assert _open(world) == [("entity:young/retention", "pending")]


def _open(world: World) -> list[tuple[str, str]]:
    rows = views.ledger(world.substrate, ("pending", "approved"))
    return [(row.target_ref, row.status) for row in rows if row.severity == "low"]


def test_it_destroys_only_with_approval_right_and_flag(world: World) -> None:
    """The triple gate of what cannot be undone."""
    if not isinstance(world.substrate, Forgets):
        pytest.skip("this memory cannot forget")
    addresses = olds(world, 2)
    ((proposal,), _) = split(world.found(SWEEP, max_age_days=30))
    with refused("LOP-E023"):
        lifecycle.approve_and_apply(world.substrate, proposal.address, "policy", ANA, NOW + 1)
    lifecycle.approve(world.substrate, proposal.address, "policy", ANA, NOW + 1)
    with refused("LOP-E023"):
        lifecycle.apply(world.substrate, proposal.address, "policy", ANA, NOW + 2)
    lifecycle.apply(world.substrate, proposal.address, "policy", ANA, NOW + 2, allow_destructive=True)
    assert [world.substrate.get(address) for address in addresses] == [None, None]
    assert world.go(SWEEP, NOW + 3, max_age_days=30).proposed == 0


def test_the_memory_of_vector_18(world: World) -> None:
    """Its runs as D19 has them: nothing without an age; then one namespace after the other, and what crossed the line."""
    if not isinstance(world.substrate, Forgets):
        pytest.skip("this memory cannot forget")
    vector = json.loads(shared("vectors/loop/18-retention.json").read_text())
    names: dict[str, str] = {}
    for op in vector["ops"]:
        if op["op"] == "add":
            grain = NewGrain(op["type"], op.get("namespace", "caller"), op["at_ms"], op["fields"])
            names[op["as"]] = world.substrate.put(grain).address
    now = vector["now_ms"]
    assert world.found(SWEEP, now) == []
    ((first,), flags) = split(world.found(SWEEP, now, max_age_days=30, max_grains=3))
    assert (first.evidence, len(flags)) == ((names["o"],), 2)
    _forget(world, first, now)
    second = _pending(world, now + 2)
    assert second.evidence == (names["ob"], names["a3"], names["a2"])
    assert dict(second.summary.args)["remaining"] == 3, "the edge was passed two ms ago"
    _forget(world, second, now + 2)
    third = _pending(world, now + DAY)
    assert third.evidence == (names["a1"], names["a0"], names["b"])


def _pending(world: World, now: int) -> Recommendation:
    found = {one.address: one for one in world.found(SWEEP, now, max_age_days=30, max_grains=3)}
    rows = views.ledger(world.substrate, ("pending",))
    (one,) = [found[row.address] for row in rows if found[row.address].operations]
    return one


def _forget(world: World, one: Recommendation, now: int) -> None:
    lifecycle.approve(world.substrate, one.address, "policy", ANA, now + 1)
    lifecycle.apply(world.substrate, one.address, "policy", ANA, now + 1, allow_destructive=True)


# --- quiet -------------------------------------------------------------------------------------------


def test_it_is_off_by_default(world: World) -> None:
    """A host declares an age first."""
    olds(world, 3, age=9_000)
    outcome = run(world.substrate, RunOptions(only=(SWEEP.manifest.id,)), NOW)
    assert [one.reason for one in outcome.analyzers_skipped] == ["disabled"]
    assert not SWEEP.manifest.default_on
    assert ANALYZERS[-1].manifest.id == SWEEP.manifest.id


@pytest.mark.parametrize(
    ("age", "namespace", "params"),
    [
        (40, "shared", {}),
        (40, "shared", {"max_age_days": 41}),
        (40, "loop", {"max_age_days": 30}),
        (40, "shared", {"max_age_days": 30, "grain_type": "goal"}),
    ],
)
def test_quiet(age: int, namespace: str, params: dict[str, Any], world: World) -> None:
    """No age; exactly that age; a reserved namespace; another type."""
    fact(world.substrate, "s", "note", "x", NOW - (age + 1) * DAY, namespace=namespace)
    assert world.found(SWEEP, **params) == []
    assert world.probe(SWEEP, **params).state == ("quiet" if params else "below_threshold")


@pytest.mark.parametrize(
    "params",
    [
        {"max_age_days": -1},
        {"max_age_days": 36_501},
        {"grain_type": "x" * 33},
        {"max_grains": 0},
        {"max_grains": 5_001},
        {"age": 1},
    ],
)
def test_bad_parameters_are_refused(params: dict[str, Any]) -> None:
    """LOP-E031 with the name."""
    with refused("LOP-E031"):
        SWEEP.manifest.resolve(params)


def test_a_type_that_there_is_not_skips_it_with_the_reason(world: World) -> None:
    """A bound cannot say it, so the run does."""
    olds(world, 1)
    outcome = world.go(SWEEP, max_age_days=30, grain_type="recommendation")
    assert "LOP-E031" in outcome.analyzers_skipped[0].reason
    assert outcome.proposed == 0


# --- hostile -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["[@click=app.quit]q[/]", "\x1b[2J", "\u202ex", "a\nb", "n" * 300, "a/b#c", 'x" OR 1=1']
)
def test_hostile(name: str, world: World) -> None:
    """No text of a grain is in a finding, only the name of its namespace, cleaned; no refresh on the next run."""
    fact(world.substrate, name, name, name, NOW - 40 * DAY, namespace=name)
    for one in world.found(SWEEP, max_age_days=30):
        assert line(one).isprintable()
        assert len(line(one)) <= 400
    again = world.go(SWEEP, NOW + 1, max_age_days=30)
    assert (again.stored, again.refreshed, again.closed) == (0, 0, 0)
