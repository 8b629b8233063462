# SPDX-License-Identifier: Apache-2.0
"""``loop.goal_stagnation/1``: what fires, what stays quiet, and what a hostile goal cannot do."""

from __future__ import annotations

from typing import Any

import pytest

from deja_tui.engine import RunOptions, run
from deja_tui.engine.analyzers.goal_stagnation import GoalStagnation
from deja_tui.engine.substrate import NewGrain
from tests.analyzers.worlds import World, line
from tests.support import DAY, NOW

STAGNATION = GoalStagnation()
OLD = NOW - 30 * DAY


def goal(world: World, description: str = "ship v2", *, at: int = OLD, namespace: str = "shared", **fields: Any) -> str:  # fmt: skip
    told = {"description": description, "goal_state": "active", "progress": 0.05, **fields}
    kept = {name: value for name, value in told.items() if value is not None}
    return str(world.substrate.put(NewGrain("goal", namespace, at, kept)).address)


def again(world: World, old: str, at: int, **fields: Any) -> str:
    told = {"description": "ship v2", "goal_state": "active", "progress": 0.05, "derived_from": old, **fields}
    return str(world.substrate.supersede(old, NewGrain("goal", "shared", at, told)).address)


# --- fires -------------------------------------------------------------------------------------------


def test_a_finding_in_full(world: World) -> None:
    """Exactly min_age_days old, exactly max_progress."""
    address = goal(world, progress=0.1, subject="ship-v2")
    (one,) = world.found(STAGNATION)
    assert one.target_ref == f"entity:shared/goals/{address}"
    assert (one.severity, one.action, one.operations, one.evidence) == ("low", "flag", (), (address,))
    assert dict(one.summary.args) == {"goal": "ship-v2", "age_days": 30, "progress": 0.1}
    assert line(one) == "ship-v2: active 30 days, progress 0.1"


def test_a_progress_that_nobody_gave_is_unknown(world: World) -> None:
    """[pick]: it is not 0, and the line says so."""
    goal(world, progress=None)
    assert line(world.found(STAGNATION)[0]) == "ship v2: active 30 days, progress unknown"


def test_two_goals_of_one_description_are_two_findings(world: World) -> None:
    """D25: the root of the chain is the identity."""
    for number in range(2):
        goal(world, at=OLD - number)
    assert len({one.identity for one in world.found(STAGNATION)}) == 2


def test_a_renamed_goal_is_the_same_goal(world: World) -> None:
    """The identity stays when the description is written anew; the age counts from then."""
    root = goal(world, at=NOW - 200 * DAY)
    (first,) = world.found(STAGNATION)
    again(world, root, NOW - 40 * DAY, description="ship v2 billing")
    (one,) = world.found(STAGNATION, NOW + 1)
    assert one.identity == first.identity
    assert line(one) == "ship v2 billing: active 40 days, progress 0.05"


def test_state_may_stand_in_the_older_field(world: World) -> None:
    """§4.7: goal_state, else state."""
    goal(world, goal_state=None, state="active")
    assert len(world.found(STAGNATION)) == 1


# --- quiet -------------------------------------------------------------------------------------------

QUIET: dict[str, dict[str, Any]] = {
    "one millisecond too young": {"at": OLD + 1},
    "moving": {"progress": 0.11},
    "satisfied": {"goal_state": "satisfied", "progress": 0.0},
    "failed": {"goal_state": "failed"},
    "suspended": {"goal_state": "suspended"},
    "dated after now": {"at": NOW + DAY},
    "a reserved namespace": {"namespace": "loop"},
}


@pytest.mark.parametrize("name", QUIET)
def test_quiet(name: str, world: World) -> None:
    """Each just outside one edge."""
    goal(world, **QUIET[name])
    assert world.found(STAGNATION) == []


def test_a_goal_that_was_written_anew_is_being_pursued(world: World) -> None:
    """[pick]: age counts from the last version, also where that version is dated before the one it replaced."""
    root = goal(world, at=NOW - 200 * DAY)
    touched = again(world, root, NOW - 5 * DAY)
    assert world.found(STAGNATION) == []
    again(world, touched, NOW - 100 * DAY)
    assert world.found(STAGNATION) == []


def test_it_is_off_until_it_is_enabled(world: World) -> None:
    """§4: the default."""
    goal(world)
    outcome = run(world.substrate, RunOptions(only=("loop.goal_stagnation/1",)), NOW)
    assert [one.reason for one in outcome.analyzers_skipped] == ["disabled"]


def test_a_goal_that_was_reached_closes_its_finding(world: World) -> None:
    """Loop-engine §6: what no longer holds is not found again."""
    root = goal(world)
    assert len(world.found(STAGNATION)) == 1
    again(world, root, NOW, goal_state="satisfied", progress=1.0)
    assert world.go(STAGNATION, NOW + 1).proposed == 0


# --- hostile -----------------------------------------------------------------------------------------

TEXTS: dict[str, str] = {
    "markup": "[@click=app.quit]quit[/]", "escapes": "\x1b[2Jx\x07", "bidi": "\u202ex\u2066", "lines": "a\nb\u2028c",
    "format": "{goal} %s {0}", "separators": "a/b#c", "long": "x" * 20_000,
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_hostile(name: str, world: World) -> None:
    """One finding, one safe line, nothing new on the next run."""
    goal(world, TEXTS[name])
    (one,) = world.found(STAGNATION)
    assert line(one).isprintable()
    assert len(line(one)) < 400
    outcome = world.go(STAGNATION, NOW + 1)
    assert (outcome.stored, outcome.refreshed) == (0, 0)


# --- parameters and probe ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "fires"),
    [({"min_age_days": 31}, False), ({"min_age_days": 30}, True), ({"max_progress": 0.04}, False), ({"max_progress": 0.05}, True)],
)  # fmt: skip
def test_parameters(params: dict[str, Any], fires: bool, world: World) -> None:
    """Each moves its own edge."""
    goal(world)
    assert bool(world.found(STAGNATION, **params)) == fires


def test_probe_says_why_it_is_quiet(world: World) -> None:
    """None old enough; old and moving; stagnant."""
    goal(world, "young", at=NOW - 7 * DAY)
    told = world.probe(STAGNATION)
    assert (told.state, told.have, told.need) == ("below_threshold", 7, 30)
    goal(world, "moving", progress=0.9)
    assert world.probe(STAGNATION).state == "quiet"
    goal(world)
    assert world.probe(STAGNATION).state == "active"
