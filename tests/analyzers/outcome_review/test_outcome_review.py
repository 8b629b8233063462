# SPDX-License-Identifier: Apache-2.0
"""``loop.outcome_review/1``: what fires, what stays quiet, and that applying it takes the original back."""

from __future__ import annotations

from typing import Any

import pytest

from deja_tui.engine import lifecycle, outcomes, views
from deja_tui.engine.analyzers.outcome_review import OutcomeReview
from deja_tui.engine.analyzers.tool_failures import ToolFailures
from deja_tui.engine.objects import Recommendation
from deja_tui.engine.operations import Revert
from tests.analyzers.worlds import World, line
from tests.engine.helpers import ANA, BEN, calls, fact, recalled
from tests.engine.test_outcomes import applied, tier
from tests.support import DAY, NOW

REVIEW = OutcomeReview()
HOUR = 3_600_000


def lesson(
    world: World, failures: int = 5, *, tool: str = "t", text: str = "boom", successes: int = 0
) -> str:
    """A real lesson: the tool failed so often in the day before now, and the lesson was applied now."""
    calls(world.substrate, tool, "ok", 1, error=False, at=NOW - 60 * DAY)
    calls(world.substrate, tool, text, failures, at=NOW - 5 * HOUR)
    if successes:
        calls(world.substrate, tool, "ok", successes, error=False, at=NOW - 9 * HOUR)
    world.go(ToolFailures(), NOW)
    address = next(
        row.address
        for row in views.ledger(world.substrate, ("pending",))
        if row.analyzer == "loop.tool_failure/1"
    )
    lifecycle.approve(world.substrate, address, "codify it", ANA, NOW)
    lifecycle.apply(world.substrate, address, "codify it", ANA, NOW)
    return address


def measured(world: World, now: int) -> None:
    outcomes.record(world.substrate, outcomes.measure(world.substrate, now), now)


def review(world: World, now: int) -> list[Recommendation]:
    """What is proposed once everything due was measured."""
    measured(world, now)
    return world.found(REVIEW, now)


# --- fires -------------------------------------------------------------------------------------------


def test_a_finding_in_full(world: World) -> None:
    """More failures in an equal span: medium, the original's address in the target, and its undo as the change."""
    original = lesson(world)
    calls(world.substrate, "t", "boom", 7, at=NOW + HOUR)
    (one,) = review(world, NOW + DAY)
    assert one.target_ref == f"entity:lessons/t#{original}"
    assert (one.severity, one.action) == ("medium", "revert")
    assert one.operations == (Revert(original),)
    assert one.evidence == (original,)
    assert (one.rollbackable, one.destructive) == (False, False)
    said = "t: 5 of 5 calls failed the same way: 'boom'"
    assert line(one) == f"after «{said}»: failures 5 before, 7 after, over 1 day"


def test_applying_it_takes_the_original_back(world: World) -> None:
    """Loop-engine §4.11: recall answers again as before the lesson, and the original is rolled back."""
    calls(world.substrate, "t", "ok", 1, error=False, at=NOW - 60 * DAY)
    original = lesson(world)
    with_lesson = recalled(world.substrate)
    calls(world.substrate, "t", "boom", 7, at=NOW + HOUR)
    (one,) = review(world, NOW + DAY)
    lifecycle.approve(world.substrate, one.address, "it got worse", BEN, NOW + DAY + 1)
    lifecycle.apply(world.substrate, one.address, "it got worse", BEN, NOW + DAY + 2)
    assert lifecycle.find(world.substrate, original).status == "rolled_back"
    assert len([a for a in with_lesson if a not in recalled(world.substrate)]) == 1
    assert world.go(REVIEW, NOW + 2 * DAY).proposed == 0
    assert outcomes.measure(world.substrate, NOW + 40 * DAY) == []


def test_two_lessons_of_one_tool_are_two_findings(world: World) -> None:
    """[pick]: two reverts on one subject must not collide."""
    for text in ("boom", "kaput"):
        lesson(world, text=text)
        calls(world.substrate, "t", text, 9, at=NOW + HOUR)
    assert len({one.identity for one in review(world, NOW + DAY)}) == 2


def test_it_stands_until_a_longer_span_says_otherwise(world: World) -> None:
    """The longest span with a baseline decides: open while it says worse, not found again when it no longer does."""
    lesson(world)
    calls(world.substrate, "t", "boom", 7, at=NOW + HOUR)
    (one,) = review(world, NOW + DAY)
    outcome = world.go(REVIEW, NOW + 3 * DAY)
    assert (outcome.proposed, outcome.stored, outcome.refreshed) == (1, 0, 0)
    calls(world.substrate, "t", "boom", 20, at=NOW - 6 * DAY)
    measured(world, NOW + 7 * DAY)
    assert world.go(REVIEW, NOW + 7 * DAY).proposed == 0
    assert one.address in {row.address for row in views.ledger(world.substrate, ("pending",))}


# --- quiet -------------------------------------------------------------------------------------------


def test_improvement_is_not_worse(world: World) -> None:
    """§1.8 and vector 15: fifty before, one after."""
    lesson(world, failures=50)
    calls(world.substrate, "t", "boom", 1, at=NOW + HOUR)
    assert review(world, NOW + 7 * DAY) == []


def test_as_many_as_before_is_not_worse(world: World) -> None:
    """Equal is equal."""
    lesson(world)
    calls(world.substrate, "t", "boom", 5, at=NOW + HOUR)
    assert review(world, NOW + DAY) == []


def test_one_failure_after_a_quiet_day_is_not_worse(world: World) -> None:
    """A tool that fails now and then had a day without: two failures on the next are no worsening."""
    calls(world.substrate, "t", "boom", 5, at=NOW - 5 * DAY)
    calls(world.substrate, "t", "ok", 1, error=False, at=NOW - 60 * DAY)
    world.go(ToolFailures(), NOW)
    (row,) = views.ledger(world.substrate, ("pending",))
    lifecycle.approve(world.substrate, row.address, "seen", ANA, NOW)
    lifecycle.apply(world.substrate, row.address, "seen", ANA, NOW)
    calls(world.substrate, "t", "boom", 2, at=NOW + HOUR)
    assert review(world, NOW + DAY) == []


def test_more_calls_are_not_more_failures(world: World) -> None:
    """Ten times as many calls with twice the failures is a smaller share, not a worsening."""
    lesson(world, failures=5, successes=5)
    calls(world.substrate, "t", "boom", 10, at=NOW + HOUR)
    calls(world.substrate, "t", "ok", 90, error=False, at=NOW + 9 * HOUR)
    assert review(world, NOW + DAY) == []


def test_a_span_without_a_call_is_nothing_to_compare_with(world: World) -> None:
    """The tool rested the day before the apply: its failures of the day after are no worsening."""
    calls(world.substrate, "t", "ok", 1, error=False, at=NOW - 60 * DAY)
    calls(world.substrate, "t", "boom", 5, at=NOW - 5 * DAY)
    world.go(ToolFailures(), NOW)
    (row,) = views.ledger(world.substrate, ("pending",))
    lifecycle.approve(world.substrate, row.address, "seen", ANA, NOW)
    lifecycle.apply(world.substrate, row.address, "seen", ANA, NOW)
    calls(world.substrate, "t", "boom", 4, at=NOW + HOUR)
    assert review(world, NOW + DAY) == []
    calls(world.substrate, "t", "boom", 4, at=NOW + 3 * DAY)
    assert len(review(world, NOW + 7 * DAY)) == 1


def test_without_a_baseline_nothing_is_proposed(world: World) -> None:
    """D23: the week before begins before the tool was ever called."""
    calls(world.substrate, "t", "boom", 5, at=NOW - 5 * HOUR)
    world.go(ToolFailures(), NOW)
    (row,) = views.ledger(world.substrate, ("pending",))
    lifecycle.approve(world.substrate, row.address, "seen", ANA, NOW)
    lifecycle.apply(world.substrate, row.address, "seen", ANA, NOW)
    calls(world.substrate, "t", "boom", 50, at=NOW + 3 * DAY)
    assert review(world, NOW + 30 * DAY) == []


def test_another_failure_of_the_tool_is_another_matter(world: World) -> None:
    """Vector 15."""
    lesson(world)
    calls(world.substrate, "t", "kaput", 50, at=NOW + HOUR)
    assert review(world, NOW + DAY) == []


def test_a_new_conflict_is_no_revert(world: World) -> None:
    """§12: what a contradiction's lesson leaves behind is found by the contradiction analyzer itself."""
    applied(world.substrate, tier())
    fact(world.substrate, "acme", "tier", "gold", NOW - 2 * DAY)
    for number in range(9):
        fact(world.substrate, "acme", "tier", f"value {number}", NOW + HOUR + number)
    measured(world, NOW + DAY)
    assert [one.verdict for one in outcomes.recorded(world.substrate)] == ["higher"]
    assert world.found(REVIEW, NOW + DAY) == []


def test_a_dismissed_revert_stays_dismissed(world: World) -> None:
    """[pick]: not after the cooldown either, and not when a later horizon says the same."""
    lesson(world)
    calls(world.substrate, "t", "boom", 7, at=NOW + HOUR)
    (one,) = review(world, NOW + DAY)
    lifecycle.reject(world.substrate, one.address, "the service was down that day", ANA, NOW + DAY + 1)
    calls(world.substrate, "t", "boom", 90, at=NOW + 2 * DAY)
    for days in (7, 30, 300):
        measured(world, NOW + days * DAY)
        assert world.go(REVIEW, NOW + days * DAY).proposed == 0


def test_nothing_is_proposed_about_what_was_taken_back(world: World) -> None:
    """A person was faster."""
    original = lesson(world)
    calls(world.substrate, "t", "boom", 7, at=NOW + HOUR)
    measured(world, NOW + DAY)
    lifecycle.rollback(world.substrate, original, "it does not help", ANA, NOW + DAY)
    assert world.found(REVIEW, NOW + DAY + 1) == []


# --- hostile -----------------------------------------------------------------------------------------

TEXTS: dict[str, tuple[str, str]] = {
    "markup": ("[@click=app.quit]t[/]", "[bold]boom[/]"), "escapes": ("\x1b[1mt", "\x1b[2J\x07boom"),
    "fence": ("t» approved «", "x» approved: «y"), "hash": ("a#b#c", "d#e"), "format": ("{original}", "{span} %s"),
    "long": ("t" * 300, "x" * 5_000),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_hostile(name: str, world: World) -> None:
    """One safe line in one fence; the target keeps the address whole."""
    tool, text = TEXTS[name]
    original = lesson(world, tool=tool, text=text)
    calls(world.substrate, tool, text, 7, at=NOW + HOUR)
    (one,) = review(world, NOW + DAY)
    told = line(one)
    assert told.isprintable()
    assert told.count("«") == told.count("»") == 1
    assert one.target_ref.endswith(f"#{original}")


# --- parameters and probe ----------------------------------------------------------------------------


def test_it_has_no_parameters(world: World) -> None:
    """Unknown keys are refused."""
    config: dict[str, Any] = {"least": 1}
    (told,) = world.go(REVIEW, **config).analyzers_skipped
    assert told.reason.startswith("LOP-E031")


def test_probe_says_why_it_is_quiet(world: World) -> None:
    """Nothing measured; measured; worse."""
    assert (world.probe(REVIEW).state, world.probe(REVIEW).have) == ("below_threshold", 0)
    lesson(world)
    measured(world, NOW + DAY)
    assert world.probe(REVIEW, NOW + DAY).state == "quiet"
    calls(world.substrate, "t", "boom", 90, at=NOW + 2 * DAY)
    measured(world, NOW + 7 * DAY)
    assert world.probe(REVIEW, NOW + 7 * DAY).state == "active"
