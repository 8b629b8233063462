# SPDX-License-Identifier: Apache-2.0
"""``loop.fork_surfacing/1``: real forks only, one grain in place of all tips, an undo that opens all of them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from deja_tui.engine import lifecycle
from deja_tui.engine.analyzers.forks import ForkSurfacing
from deja_tui.engine.operations import MAX_BYTES, Merge, Retire, size
from deja_tui.engine.pipeline import RunOptions, run
from deja_tui.engine.substrate import NewGrain
from tests.analyzers.worlds import World, line
from tests.engine.helpers import ANA, fact, recalled
from tests.support import DAY, NOW

FORKS = ForkSurfacing()


@pytest.fixture(autouse=True)
def _tells_forks(world: World) -> None:
    if not hasattr(world.substrate, "forks"):
        pytest.skip("this memory cannot tell forks; see the last test")


def changed(
    world: World,
    old: str,
    value: str,
    at: int,
    subject: str = "deploy",
    relation: str = "region",
    **more: Any,
) -> str:
    """A live fact in place of ``old``, which stays superseded, as a second copy of the memory makes it."""
    world.substrate.mark(old, "reopen")
    told = {"subject": subject, "relation": relation, "object": value, "confidence": 0.5, **more}
    namespace = more.pop("namespace", "shared")
    return str(world.substrate.supersede(old, NewGrain("fact", namespace, at, told)).address)


def fork(world: World, *values: str, **more: Any) -> list[str]:
    """One fact changed to these values in as many copies, an hour apart; the last is the newest."""
    old = fact(world.substrate, "deploy", "region", "us-east-1", NOW - 9 * DAY)
    return [changed(world, old, value, NOW - DAY + n * 3_600_000, **more) for n, value in enumerate(values)]


# --- fires -------------------------------------------------------------------------------------------


def test_a_finding_in_full(world: World) -> None:
    """Vector 12: values with their times, newest by default, one grain in place of all tips, namespace in the target."""
    older, newer = fork(world, "eu-west-1", "ap-south-1", tags=["x"])
    (one,) = world.found(FORKS)
    assert (one.severity, one.action, one.target_ref) == (
        "medium",
        "merge_heads",
        "entity:shared/deploy#region",
    )
    assert one.evidence == (older, newer)
    told = '"eu-west-1" (2026-03-01 09:00Z) → "ap-south-1" (2026-03-01 10:00Z)'
    assert line(one) == f"deploy · region was changed in 2 copies: {told}"
    assert [choice.label for choice in one.alternatives] == [
        'keep "ap-south-1" of 2026-03-01 10:00Z', 'keep "eu-west-1" of 2026-03-01 09:00Z',
    ]  # fmt: skip
    first, second = (choice.operations[0] for choice in one.alternatives)
    assert isinstance(first, Merge)
    assert isinstance(second, Merge)
    assert (first.heads, second.heads) == ((newer, older), (older, newer))
    assert (first.fields["object"], second.fields["object"]) == ("ap-south-1", "eu-west-1")
    assert first.fields["confidence"] == 0.5
    assert {"derived_from", "namespace", "type"}.isdisjoint(first.fields)
    assert (one.destructive, one.rollbackable) == (False, True)


@pytest.mark.parametrize(("choice", "left"), [(0, "af"), (1, "ap"), (2, "eu")])
def test_the_reviewer_chooses_and_the_undo_opens_all_tips(choice: int, left: str, world: World) -> None:
    """D20; recall is what it was before, and neither the fix nor any other analyzer of facts finds something new."""
    fork(world, "eu", "ap", "af")
    before = recalled(world.substrate)
    (one,) = world.found(FORKS)
    lifecycle.approve_and_apply(world.substrate, one.address, "why", ANA, NOW + 1, choice)
    live = [grain for grain in world.substrate.scan("fact") if grain.live]
    assert [grain.get("object") for grain in live] == [left]
    outcome = run(world.substrate, RunOptions(full=True), NOW + 2)
    assert (outcome.proposed, outcome.stored) == (0, 0)
    lifecycle.rollback(world.substrate, one.address, "why", ANA, NOW + 3)
    assert recalled(world.substrate) == before
    assert world.go(FORKS, NOW + 4).dropped == {"cooling": 1}


def test_a_fork_of_a_fork_is_one_finding(world: World) -> None:
    """Tips may be further down than one step."""
    first, _ = fork(world, "eu", "ap")
    changed(world, first, "eu-2", NOW - 60_000)
    (one,) = world.found(FORKS)
    assert one.summary.args["count"] == 2
    assert "eu-2" in line(one)


def test_what_a_tip_had_merged_is_not_taken_over(world: World) -> None:
    """Two copies merged one fork differently: the new grain takes the place of both merges, and of nothing else."""
    tips = fork(world, "eu", "ap")
    for number, value in enumerate(("eu", "ap")):
        for tip in tips:
            world.substrate.mark(tip, "reopen")
        told = {
            "subject": "deploy", "relation": "region", "object": value, "derived_from": tips[0],
            "context": {"merge_parents": list(tips), "why": "x"},
        }  # fmt: skip
        world.substrate.merge(tips, NewGrain("fact", "shared", NOW - 9_000 + number, told))
    (one,) = world.found(FORKS)
    (operation,) = one.operations
    assert isinstance(operation, Merge)
    assert operation.fields["context"] == {"why": "x"}
    assert set(operation.heads).isdisjoint(tips)
    before = recalled(world.substrate)
    lifecycle.approve_and_apply(world.substrate, one.address, "why", ANA, NOW + 1)
    assert len(recalled(world.substrate)) == 1
    assert world.go(FORKS, NOW + 2).proposed == 0
    lifecycle.rollback(world.substrate, one.address, "why", ANA, NOW + 3)
    assert recalled(world.substrate) == before


def test_one_conflict_is_one_recommendation(world: World) -> None:
    """Vector 12: the contradiction sweep leaves it alone."""
    fork(world, "eu", "ap")
    assert run(world.substrate, RunOptions(), NOW).proposed == 1


def test_values_too_large_to_be_written_again_are_chosen_among(world: World) -> None:
    """A document does not fit a proposal: one tip stays, the others are retired in its favour."""
    older, newer = fork(world, "a" * 6_000, "b" * 6_000)
    (one,) = world.found(FORKS)
    assert [choice.operations for choice in one.alternatives] == [
        (Retire(older, newer),),
        (Retire(newer, older),),
    ]
    lifecycle.approve_and_apply(world.substrate, one.address, "why", ANA, NOW + 1)
    assert recalled(world.substrate) == [newer]
    assert world.go(FORKS, NOW + 2).proposed == 0


def test_many_tips_stay_within_a_proposal(world: World) -> None:
    """D9: as many values to choose from as fit, never more than eight."""
    fork(world, *[f"value {n} " + "x" * 300 for n in range(12)])
    (one,) = world.found(FORKS)
    assert 2 <= len(one.alternatives) <= 8
    assert sum(size(choice.operations) for choice in one.alternatives) <= MAX_BYTES
    assert all(len(choice.operations[0].targets()) == 12 for choice in one.alternatives)


# --- quiet -------------------------------------------------------------------------------------------

QUIET: dict[str, Callable[[World], object]] = {
    "nothing at all": lambda w: None,
    "values added side by side": lambda w: [fact(w.substrate, "otter", "likes", v) for v in ("tea", "sushi")],
    "a chain": lambda w: changed(w, fork(w, "eu")[0], "ap", NOW),
    "two values derived from one fact that holds": lambda w: [
        fact(w.substrate, "otter", "likes", v, derived_from=fact(w.substrate, "otter", "likes", "x")) for v in ("a", "b")],
    "tips that say the same": lambda w: fork(w, "EU", " eu"),
    "a tip that was retired": lambda w: (lambda tips: w.substrate.mark(tips[0], "retire", tips[1]))(fork(w, "eu", "ap")),
    "a tip that was hidden": lambda w: w.substrate.mark(fork(w, "eu", "ap")[1], "hide"),
    "a tip that was moved to another relation": lambda w: (
        lambda old: (changed(w, old, "eu", NOW), changed(w, old, "ap", NOW, relation="zone")))(
        fact(w.substrate, "deploy", "region", "us", NOW - DAY)),
}  # fmt: skip


@pytest.mark.parametrize("name", QUIET)
def test_quiet(name: str, world: World) -> None:
    """A fork needs two live tips with different values in place of one grain."""
    QUIET[name](world)
    assert world.found(FORKS) == []
    assert world.probe(FORKS).state == "quiet"


# --- hostile -----------------------------------------------------------------------------------------

TEXTS: dict[str, str] = {
    "stacked": "x\u0323\u0324\u0325" * 200,
    "markup": "[@click=app.quit]quit[/]", "escapes": "\x1b[2J\x1b]0;owned\x07x", "bidi": "\u202ex\u2066",
    "lines": "a\r\nb\u2028c\x85d", "fence": "x» approved by admin: «y", "a second value": 'x" (2026-01-01) → "y',
    "format": "{count} %s ${x} {0}", "surrogate": "\ud83dx", "nul": "a\x00b", "separators": "a/b#c·d\x1fe",
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_hostile(name: str, world: World) -> None:
    """In subject, relation and value: a safe line, safe labels, and no refresh on the next run."""
    text = TEXTS[name]
    old = fact(world.substrate, text, text, "x", NOW - 9 * DAY)
    for n in range(2):
        changed(world, old, f"{text} {n}", NOW - n, subject=text, relation=text)
    (one,) = world.found(FORKS)
    assert line(one).isprintable()
    assert line(one).count('"') <= 4 + 2 * text.count('"')
    assert all(choice.label.isprintable() for choice in one.alternatives)
    again = world.go(FORKS, NOW + 1)
    assert (again.stored, again.refreshed, again.closed) == (0, 0, 0)
    lifecycle.approve_and_apply(world.substrate, one.address, "why", ANA, NOW + 2)
    assert len(recalled(world.substrate)) == 1


def test_probe_counts_what_is_there(world: World) -> None:
    """How many facts were changed differently."""
    fork(world, "eu", "ap")
    told = world.probe(FORKS)
    assert (told.state, told.have) == ("active", 1)
