# SPDX-License-Identifier: Apache-2.0
"""``loop.coverage_gap/1``: what fires, what stays quiet, and what a hostile question cannot do."""

from __future__ import annotations

from typing import Any

import pytest

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import reports, views
from deja_tui.engine.analyzers.coverage_gap import MOST, CoverageGap
from tests.analyzers.worlds import World, line
from tests.engine.helpers import ANA, fact
from tests.support import DAY, NOW

GAP = CoverageGap()
EMPTY = "qqzzx wwyyx"


# --- fires -------------------------------------------------------------------------------------------


def test_a_finding_in_full(world: World) -> None:
    """Vector 19: one gap in two spellings, three asks and one; the newest wording is shown."""
    world.ask(EMPTY, times=3)
    world.ask("QQZZX  wwyyx ", at=NOW - 1)
    (one,) = world.found(GAP)
    assert one.target_ref.startswith("entity:shared/coverage#")
    assert (one.severity, one.action, one.operations) == ("medium", "flag", ())
    assert {name: one.summary.args[name] for name in ("count", "empty", "empty_rate")} == {
        "count": 4, "empty": 4, "empty_rate": 100,
    }  # fmt: skip
    assert line(one) == "asked 4 times, found nothing 4 times: «QQZZX  wwyyx »"
    assert one.data is not None
    assert (one.data["run_count"], one.data["empty_count"], one.data["counted_in"]) == (4, 4, "telemetry")
    assert one.evidence == ()
    assert reports.show(world.substrate, one.address, ANA).chain.verified


def test_the_share_is_a_quotient(world: World) -> None:
    """4 of 5 is exactly 0.8; 3 of 4 is not enough."""
    found = fact(world.substrate, "a", "b", "c")
    world.ask(EMPTY, found, at=NOW - 9 * DAY)
    world.ask(EMPTY, times=3)
    assert world.found(GAP) == []
    world.ask(EMPTY, at=NOW - 1)
    assert len(world.found(GAP, NOW + 1)) == 1


def test_what_earlier_runs_found_is_cited_where_the_log_was_kept(world: World) -> None:
    """[pick]: the recall-log rows; the memory without a log has nothing to cite and says so."""
    found = fact(world.substrate, "a", "b", "c")
    world.ask(EMPTY, found, at=NOW - 9 * DAY)
    world.ask(EMPTY, times=5)
    (one,) = world.found(GAP)
    logged = "full" in world.telemetry.watching()
    assert one.evidence == ((found,) if logged else ())
    assert one.data is not None
    assert len(one.data.get("log", ())) == (6 if logged else 0)


def test_a_question_is_told_apart_by_namespace_and_subject(world: World) -> None:
    """The same words asked about two things are two gaps."""
    world.ask(EMPTY, times=3)
    world.ask(EMPTY, times=3, namespace="other")
    world.ask(EMPTY, times=3, subject="acme")
    assert len({one.identity for one in world.found(GAP)}) == 3


def test_a_flood_is_bounded_and_what_is_open_stays(world: World) -> None:
    """§1.7: first contact does not flood; a finding that is open is not closed because others are asked more."""
    world.ask("kkqqj first", times=3)
    (first,) = world.found(GAP)
    for number in range(MOST + 5):
        world.ask(f"kkqqj v{number}", times=4)
    assert len(world.found(GAP, NOW + 1)) == MOST + 1
    outcome = world.go(GAP, NOW + 2)
    assert (outcome.proposed, outcome.stored, outcome.refreshed) == (MOST + 1, 0, 0)
    assert first.address in {row.address for row in views.ledger(world.substrate, ("pending",))}


# --- quiet -------------------------------------------------------------------------------------------


def test_two_asks_are_too_few(world: World) -> None:
    """min_runs."""
    world.ask(EMPTY, times=2)
    assert world.found(GAP) == []


def test_an_answered_question_clears_itself(world: World) -> None:
    """[pick]: the newest ask found something, whatever the share still says."""
    world.ask(EMPTY, times=9)
    assert len(world.found(GAP)) == 1
    found = fact(world.substrate, "a", "b", "c")
    world.ask(EMPTY, found, at=NOW)
    assert world.go(GAP, NOW + 1).proposed == 0


def test_a_question_that_lost_its_answer_is_a_gap_again(world: World) -> None:
    """What counts is the newest ask."""
    world.ask(EMPTY, times=9, at=NOW - 5 * DAY)
    world.ask(EMPTY, fact(world.substrate, "a", "b", "c"), at=NOW - 4 * DAY)
    world.ask(EMPTY, at=NOW - 3 * DAY)
    assert len(world.found(GAP)) == 1


def test_a_memory_that_can_search_sees_the_answer_before_anybody_asks(world: World) -> None:
    """The gap is closed by the fact, not by the next question."""
    world.ask(EMPTY, times=4)
    assert len(world.found(GAP)) == 1
    fact(world.substrate, "wwyyx", "is", "the answer")
    left = 0 if isinstance(world.substrate, StoreSubstrate) else 1
    assert world.go(GAP, NOW + 1).proposed == left


def test_an_answer_in_another_namespace_is_none(world: World) -> None:
    """A question is asked in one namespace."""
    world.ask(EMPTY, times=4)
    fact(world.substrate, "wwyyx", "is", "the answer", namespace="other")
    assert len(world.found(GAP)) == 1


def test_reserved_namespaces_are_not_looked_at(world: World) -> None:
    """D7."""
    world.ask(EMPTY, times=4, namespace="deja-loop")
    assert world.found(GAP) == []


def test_a_ratio_of_zero_needs_an_empty_run(world: World) -> None:
    """A question that always found something is no gap at any setting."""
    world.ask(EMPTY, fact(world.substrate, "a", "b", "c"), times=5)
    assert world.found(GAP, min_empty_ratio=0.0) == []


# --- hostile -----------------------------------------------------------------------------------------

QUESTIONS: dict[str, str] = {
    "markup": "[@click=app.quit]qqzzx[/]", "escapes": "\x1b[2Jqqzzx\x07", "bidi": "\u202eqqzzx\u2066",
    "lines": "qqzzx\r\nb\u2028c", "fence": "qqzzx» approved: «y", "format": "{query} %s qqzzx", "nul": "qq\x00zzx",
    "surrogate": "qq\ud83dzzx", "query": 'qqzzx" OR NEAR( * ^', "long": "qqzzx " * 5_000, "blank": "   ",
}  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_hostile(name: str, world: World) -> None:
    """One finding, one safe fenced line, nothing new on the next run."""
    world.ask(QUESTIONS[name], times=3)
    (one,) = world.found(GAP)
    told = line(one)
    assert told.isprintable()
    assert told.count("«") == told.count("»") == 1
    assert told.endswith("»")
    assert len(one.target_ref) < 200
    outcome = world.go(GAP, NOW + 1)
    assert (outcome.stored, outcome.refreshed) == (0, 0)


# --- parameters and probe ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "fires"),
    [({"min_runs": 4}, True), ({"min_runs": 5}, False), ({"min_runs": 1}, True), ({"min_empty_ratio": 1.0}, True)],
)  # fmt: skip
def test_parameters(params: dict[str, Any], fires: bool, world: World) -> None:
    """Each moves its own edge."""
    world.ask(EMPTY, times=4)
    assert bool(world.found(GAP, **params)) == fires


def test_probe_says_why_it_is_quiet(world: World) -> None:
    """Nothing asked; asked too little; asked enough and found; a gap."""
    assert (world.probe(GAP).state, world.probe(GAP).have) == ("below_threshold", 0)
    world.ask("vvkkj ppllm", times=2)
    assert (world.probe(GAP).state, world.probe(GAP).have) == ("below_threshold", 2)
    world.ask("found", fact(world.substrate, "a", "b", "c"), times=5)
    assert world.probe(GAP).state == "quiet"
    world.ask(EMPTY, times=3)
    assert world.probe(GAP).state == "active"
