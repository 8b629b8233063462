# SPDX-License-Identifier: Apache-2.0
"""``loop.cold_grains/1``: what fires, what stays quiet, and what a hostile namespace cannot do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import RunOptions, lifecycle, run, views
from deja_tui.engine.analyzers.cold_grains import LISTED, ColdGrains
from deja_tui.engine.analyzers.tool_failures import ToolFailures
from deja_tui.engine.operations import Add
from deja_tui.reference import ReferenceTelemetry
from deja_tui.store.telemetry import Telemetry
from tests.analyzers.worlds import KINDS, World, line
from tests.engine.helpers import ANA, calls, draft, fact, plant
from tests.support import DAY, NOW

COLD = ColdGrains()
OLD = NOW - 30 * DAY


def facts(world: World, count: int, *, at: int = OLD, namespace: str = "shared", name: str = "topic") -> list[str]:  # fmt: skip
    with views.atomic(world.substrate):
        return [
            fact(world.substrate, f"{name} {n}", "note", "v", at - n, namespace=namespace)
            for n in range(count)
        ]


# --- fires -------------------------------------------------------------------------------------------


def test_a_finding_in_full(world: World) -> None:
    """[pick]: one a namespace, the oldest listed, the rest counted; exactly the age, never recalled."""
    old = facts(world, 25)
    world.recall(old[3])
    (one,) = world.found(COLD)
    assert one.target_ref.split("#")[0] == "entity:shared/cold"
    assert (one.severity, one.action, one.operations) == ("low", "flag", ())
    assert one.evidence == tuple(reversed(old))[:LISTED]
    assert (one.evidence_total, one.summary.args["count"]) == (24, 24)
    assert line(one) == "24 facts in shared unread for 90 days"


def test_one_fact_is_told_as_one(world: World) -> None:
    """Wording."""
    facts(world, 1)
    assert line(world.found(COLD)[0]) == "1 fact in shared unread for 90 days"


def test_each_namespace_has_its_own(world: World) -> None:
    """D25."""
    for space in ("a", "b"):
        facts(world, 2, namespace=space)
    assert {one.summary.args["namespace"] for one in world.found(COLD)} == {"a", "b"}


def test_reads_below_the_limit_are_told_as_reads(world: World) -> None:
    """h17: a fact that was recalled is not said to be unread."""
    once, twice, thrice = facts(world, 3)
    world.recall(once)
    world.recall(twice, times=2)
    world.recall(thrice, times=3)
    (one,) = world.found(COLD, max_recalls=2)
    assert set(one.evidence) == {once, twice}
    assert line(one) == "2 facts in shared read at most 2 times in 90 days"


def test_what_is_read_since_leaves_the_list(world: World) -> None:
    """Refreshed by supersession under one identity; with nothing left it is not found again."""
    old = facts(world, 3)
    (first,) = world.found(COLD)
    world.recall(old[0])
    (one,) = world.found(COLD, NOW + 1)
    assert (one.refreshes, one.evidence_total) == (first.address, 2)
    world.recall(*old[1:])
    assert world.go(COLD, NOW + 2).proposed == 0


def test_one_more_day_of_the_same_is_no_other_finding(world: World) -> None:
    """Watching is told in whole steps, so that a queue does not change overnight."""
    facts(world, 3)
    assert len(world.found(COLD)) == 1
    outcome = world.go(COLD, NOW + DAY)
    assert (outcome.stored, outcome.refreshed) == (0, 0)


# --- quiet -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_on_the_first_day_nothing_is_cold(kind: str, tmp_path: Path) -> None:
    """Vector 19 and §1.7: an import of old facts gives no finding until telemetry has watched long enough."""
    world = KINDS[kind](tmp_path, NOW - DAY)
    facts(world, 50, at=NOW - 300 * DAY)
    assert world.found(COLD) == []
    told = world.probe(COLD)
    assert (told.state, told.have, told.need, told.unit) == ("watching", 1, 30, "days of telemetry")
    assert told.until == NOW + 29 * DAY
    assert world.found(COLD, NOW + 29 * DAY - 1) == []
    assert world.found(COLD, NOW + 29 * DAY)[0].evidence_total == 50


QUIET: dict[str, dict[str, Any]] = {
    "one millisecond too young": {"at": OLD + 30},
    "dated after now": {"at": NOW + DAY},
    "a reserved namespace": {"namespace": "agent:x"},
}


@pytest.mark.parametrize("name", QUIET)
def test_quiet(name: str, world: World) -> None:
    """Each just outside one edge."""
    facts(world, 3, **QUIET[name])
    assert world.found(COLD) == []


def test_what_was_recalled_or_delivered_is_not_cold(world: World) -> None:
    """D53: a lesson that was handed to an agent was read, though nobody asked for it."""
    one, two = facts(world, 2)
    world.recall(one)
    world.deliver(two)
    assert world.found(COLD) == []


def test_deliveries_and_recalls_count_together(world: World) -> None:
    """One recall and one delivery are two reads."""
    (one,) = facts(world, 1)
    world.recall(one)
    assert len(world.found(COLD, max_recalls=1)) == 1
    world.deliver(one)
    assert world.go(COLD, NOW + 1, max_recalls=1).proposed == 0


def test_what_an_apply_wrote_is_not_cold(world: World) -> None:
    """A fix never breeds a finding: lessons are left out, and so is what took their place."""
    cited = fact(world.substrate, "cited", "is", "there", NOW)
    lesson = Add("fact", "shared", {"subject": "lesson", "relation": "is", "object": "x"})
    told = plant(world.substrate, draft([lesson], [cited]), at=OLD - DAY)
    lifecycle.approve_and_apply(world.substrate, told, "seen", ANA, OLD - DAY)
    assert world.found(COLD) == []


def test_documents_are_not_cold(world: World) -> None:
    """They are read by path, which is no recall."""
    fact(world.substrate, "/memories/notes.md", "memory_file", "v:0123", OLD)
    assert world.found(COLD) == []


@pytest.mark.parametrize("kind", ["hide", "retire"])
def test_what_is_not_live_is_not_cold(kind: Any, world: World) -> None:
    """It is out of recall already."""
    world.substrate.mark(facts(world, 1)[0], kind, None)
    assert world.found(COLD) == []


def test_only_facts_are_looked_at(world: World) -> None:
    """Tool calls and events are not asked for by name."""
    calls(world.substrate, "t", "ok", 3, error=False, at=OLD - DAY)
    assert world.found(COLD) == []


# --- hostile -----------------------------------------------------------------------------------------

SPACES: dict[str, str] = {
    "markup": "[@click=app.quit]quit[/]", "escapes": "\x1b[2Jx\x07", "bidi": "\u202ex\u2066", "lines": "a\nb\u2028c",
    "format": "{namespace} %s", "separators": "a/cold#c", "long": "x" * 400,
}  # fmt: skip


@pytest.mark.parametrize("name", SPACES)
def test_hostile(name: str, world: World) -> None:
    """One finding, one safe line, nothing new on the next run."""
    facts(world, 2, namespace=SPACES[name])
    (one,) = world.found(COLD)
    assert line(one).isprintable()
    outcome = world.go(COLD, NOW + 1)
    assert (outcome.stored, outcome.refreshed) == (0, 0)


# --- parameters and probe ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "fires"),
    [({"min_age_days": 31}, False), ({"min_age_days": 0}, True), ({"min_age_days": 101}, False), ({"max_recalls": 3}, True)],
)  # fmt: skip
def test_parameters(params: dict[str, Any], fires: bool, world: World) -> None:
    """Age and watching move together; a fact of exactly the age is old enough."""
    facts(world, 1)
    assert bool(world.found(COLD, **params)) == fires


def test_probe_says_what_is_cold(world: World) -> None:
    """None; some."""
    assert world.probe(COLD).state == "quiet"
    facts(world, 3)
    assert (world.probe(COLD).state, world.probe(COLD).have) == ("active", 3)


def test_it_leaves_the_lesson_of_a_tool_alone(world: World) -> None:
    """The real one: tool failures found, applied, and a year later still no finding about the lesson."""
    calls(world.substrate, "t", "boom", 5, at=OLD - DAY)
    world.go(ToolFailures(), OLD)
    (row,) = views.ledger(world.substrate)
    lifecycle.approve_and_apply(world.substrate, row.address, "seen", ANA, OLD)
    assert [one for one in world.found(COLD, NOW + 300 * DAY) if one.analyzer == COLD.manifest.id] == []


# --- whole runs --------------------------------------------------------------------------------------


def cold_runs(world: World, now: int) -> tuple[int, int, int]:
    outcome = run(world.substrate, RunOptions(trigger="user:test"), now)
    return outcome.stored, outcome.refreshed, outcome.closed


def test_it_looks_once_a_day(world: World) -> None:
    """What takes weeks need not be counted with every session; what was found stays until the next look.

    A memory that cannot tell what changed is looked at whole each time.
    """
    old = facts(world, 3)
    assert cold_runs(world, NOW) == (1, 0, 0)
    world.recall(*old, at=NOW)
    at_once = not isinstance(world.substrate, StoreSubstrate)
    assert cold_runs(world, NOW + 60_000) == (0, 0, int(at_once))
    assert cold_runs(world, NOW + DAY) == (0, 0, int(not at_once))


def test_a_sidecar_that_was_begun_anew_ends_nothing(world: World) -> None:
    """Without a count nobody can say that the facts are read by now."""
    facts(world, 3)
    assert cold_runs(world, NOW) == (1, 0, 0)
    if isinstance(world.telemetry, ReferenceTelemetry):
        world.telemetry.since = NOW
    else:
        world.telemetry.close()
        Path(world.telemetry.path).unlink()
        world.substrate._telemetry = Telemetry(world.substrate._store.path, "full", lambda: NOW)
    assert cold_runs(world, NOW + DAY) == (0, 0, 0)
