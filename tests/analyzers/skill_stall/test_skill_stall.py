# SPDX-License-Identifier: Apache-2.0
"""``loop.skill_stall/1``: what fires, what stays quiet, and what a hostile name cannot do."""

from __future__ import annotations

from typing import Any

import pytest

from deja_tui.engine import RunOptions, lifecycle, run
from deja_tui.engine.analyzers.skill_stall import SkillStall
from deja_tui.engine.substrate import NewGrain
from deja_tui.errors import ValidationError
from tests.analyzers.worlds import World, line
from tests.engine.helpers import ANA, refused
from tests.support import DAY, NOW

STALL = SkillStall()


def content(name: str, practised: Any, proficiency: Any, **fields: Any) -> dict[str, Any]:
    told = {"name": name, "description": "how to do it", "practice_count": practised, **fields}
    return told if proficiency is None else {**told, "proficiency": proficiency}


def skill(
    world: World,
    name: str = "parse",
    practised: Any = 12,
    proficiency: Any = 0.25,
    *,
    at: int = NOW - DAY,
    namespace: str = "shared",
    **fields: Any,
) -> str:
    grain = NewGrain("skill", namespace, at, content(name, practised, proficiency, **fields))
    return str(world.substrate.put(grain).address)


def again(world: World, old: str, practised: int, proficiency: float, at: int) -> str:
    told = content("parse", practised, proficiency, derived_from=old)
    return str(world.substrate.supersede(old, NewGrain("skill", "shared", at, told)).address)


# --- fires -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("practised", "proficiency"), [(5, 0.4), (12, 0.25), (100_000, 0.0)])
def test_fires(practised: int, proficiency: float, world: World) -> None:
    """Loop-engine §4.6: both edges, from inside."""
    address = skill(world, practised=practised, proficiency=proficiency)
    (one,) = world.found(STALL)
    assert one.evidence == (address,)
    assert (one.severity, one.action, one.operations) == ("medium", "flag", ())
    assert one.target_ref.split("#")[0] == "entity:shared/skills/parse"
    assert dict(one.summary.args) == {"skill": "parse", "practice_count": practised, "proficiency": proficiency}  # fmt: skip
    assert line(one) == f"parse: practised {practised} times, proficiency {proficiency}"


def test_confidence_stands_for_a_proficiency_that_is_missing(world: World) -> None:
    """§4.6."""
    skill(world, proficiency=None, confidence=0.3)
    assert world.found(STALL)[0].summary.args["proficiency"] == 0.3


def test_the_chain_is_the_evidence_of_the_stall(world: World) -> None:
    """[pick]: practice and proficiency of the last versions, newest first, at most five of them."""
    chain = [skill(world, practised=5, proficiency=0.3, at=NOW - 9 * DAY)]
    for number in range(1, 7):
        chain.append(again(world, chain[-1], 5 + 4 * number, 0.3, NOW - (9 - number) * DAY))
    (one,) = world.found(STALL)
    assert one.evidence == tuple(reversed(chain[-5:]))
    assert one.data is not None
    assert one.data["chain"][0] == {"at": NOW - 3 * DAY, "practice_count": 29, "proficiency": 0.3}
    assert len(one.data["chain"]) == 5


def test_one_skill_in_two_namespaces_is_two_findings(world: World) -> None:
    """D25: the namespace is part of the identity, also where a slash blurs the border."""
    for space, name in (("a", "parse"), ("b", "parse"), ("a/skills/x", "y"), ("a", "x/skills/y")):
        skill(world, name, namespace=space)
    assert len({one.identity for one in world.found(STALL)}) == 4


def test_long_names_that_begin_alike_are_two_findings(world: World) -> None:
    """A target is bounded, an identity is not blurred by it."""
    for end in "ab":
        skill(world, "n" * 500 + end)
    pair = world.found(STALL)
    assert len({one.identity for one in pair}) == 2
    assert all(len(one.target_ref) < 200 for one in pair)


def test_the_newest_version_refreshes_the_finding(world: World) -> None:
    """One open recommendation a skill, whatever is written about it since."""
    old = skill(world, at=NOW - 5 * DAY)
    (first,) = world.found(STALL)
    again(world, old, 20, 0.25, NOW - DAY)
    (one,) = world.found(STALL, NOW + 1)
    assert (one.refreshes, one.summary.args["practice_count"]) == (first.address, 20)
    assert one.identity == first.identity


# --- quiet -------------------------------------------------------------------------------------------

QUIET: dict[str, dict[str, Any]] = {
    "practised too little": {"practised": 4},
    "just above": {"proficiency": 0.41},
    "no practice": {"practised": None},
    "no proficiency and no confidence": {"proficiency": None},
    "practice that is a text": {"practised": "12"},
    "practice that is a truth value": {"practised": True},
    "proficiency that is a truth value": {"proficiency": False},
    "a reserved namespace": {"namespace": "agent:x"},
}


@pytest.mark.parametrize("name", QUIET)
def test_quiet(name: str, world: World) -> None:
    """Each just outside one edge; a memory that refuses such a grain has nothing to be quiet about."""
    try:
        skill(world, **QUIET[name])
    except ValidationError:
        pytest.skip("this memory does not take such a value")
    assert world.found(STALL) == []


def test_a_skill_that_got_better_is_not_stalled(world: World) -> None:
    """A rise of a tenth over the versions shown is no stall, whatever the level."""
    first = skill(world, practised=5, proficiency=0.1, at=NOW - 5 * DAY)
    second = again(world, first, 9, 0.15, NOW - 4 * DAY)
    assert len(world.found(STALL)) == 1
    again(world, second, 12, 0.2, NOW - 3 * DAY)
    outcome = world.go(STALL, NOW + 1)
    assert outcome.proposed == 0


def test_an_older_copy_of_a_skill_says_nothing(world: World) -> None:
    """Two chains may bear one name, in any case; the newest version stands for both."""
    skill(world, "Parse", at=NOW - 9 * DAY)
    skill(world, "parse", 30, 0.9, at=NOW - DAY)
    assert world.found(STALL) == []


@pytest.mark.parametrize("kind", ["hide", "retire"])
def test_what_is_not_live_says_nothing(kind: Any, world: World) -> None:
    """Superseded and hidden skills are history."""
    world.substrate.mark(skill(world), kind, None)
    assert world.found(STALL) == []


# --- decisions ---------------------------------------------------------------------------------------


def test_advice_is_acknowledged_and_not_applied(world: World) -> None:
    """Vector 11: apply is refused, approving acknowledges, and the next run does not ask again."""
    skill(world)
    (one,) = world.found(STALL)
    lifecycle.approve(world.substrate, one.address, "true, we know", ANA, NOW + 1)
    with refused("LOP-E011"):
        lifecycle.apply(world.substrate, one.address, "do it", ANA, NOW + 2)
    outcome = world.go(STALL, NOW + 3)
    assert (outcome.stored, outcome.refreshed) == (0, 0)


# --- hostile -----------------------------------------------------------------------------------------

NAMES: dict[str, str] = {
    "markup": "[@click=app.quit]quit[/]", "escapes": "\x1b[2J\x1b]0;owned\x07x", "bidi": "\u202ex\u2066",
    "lines": "a\r\nb\u2028c", "fence": "x» approved: «y", "format": "{skill} %s ${x}", "separators": "a/b#c·d",
    "marks": "e" + "\u0301" * 90, "long": "x" * 20_000,
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_hostile(name: str, world: World) -> None:
    """One finding, one safe line, nothing new on the next run."""
    skill(world, NAMES[name])
    (one,) = world.found(STALL)
    assert line(one).isprintable()
    assert len(line(one)) < 400
    assert len(one.target_ref) < 200
    outcome = world.go(STALL, NOW + 1)
    assert (outcome.stored, outcome.refreshed) == (0, 0)


# --- parameters and probe ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "fires"),
    [({"min_practice": 12}, True), ({"min_practice": 13}, False), ({"max_proficiency": 0.25}, True), ({"max_proficiency": 0.2}, False)],
)  # fmt: skip
def test_parameters(params: dict[str, Any], fires: bool, world: World) -> None:
    """Each moves its own edge."""
    skill(world)
    assert bool(world.found(STALL, **params)) == fires


@pytest.mark.parametrize(
    "params", [{"min_practice": 0}, {"min_practice": 1.5}, {"max_proficiency": 1.1}, {"practice": 5}]
)
def test_a_bad_parameter_skips_it(params: dict[str, Any], world: World) -> None:
    """Bounds, and unknown keys refused."""
    (told,) = world.go(STALL, **params).analyzers_skipped
    assert told.reason.startswith("LOP-E031")


def test_probe_says_why_it_is_quiet(world: World) -> None:
    """Nothing practised; practised and good; stalled."""
    assert (world.probe(STALL).state, world.probe(STALL).have) == ("below_threshold", 0)
    skill(world, "new", 3, 0.1)
    told = world.probe(STALL)
    assert (told.state, told.have, told.need) == ("below_threshold", 3, 5)
    skill(world, "good", 30, 0.9)
    assert (world.probe(STALL).state, world.probe(STALL).have) == ("quiet", 1)
    skill(world)
    assert world.probe(STALL).state == "active"


# --- whole runs: what is new is enough ---------------------------------------------------------------


def run_all(world: World, now: int) -> tuple[int, int, int]:
    """(stored, refreshed, closed) of a run of everything."""
    outcome = run(world.substrate, RunOptions(trigger="user:test"), now)
    return outcome.stored, outcome.refreshed, outcome.closed


def test_a_later_run_finds_what_arrived_and_keeps_what_stands(world: World) -> None:
    """The second run need not look at old skills again, and takes none of them to be gone."""
    for number in range(40):
        skill(world, f"old {number}")
    assert run_all(world, NOW) == (40, 0, 0)
    skill(world, "new")
    assert run_all(world, NOW + 1) == (1, 0, 0)
    assert run_all(world, NOW + 2) == (0, 0, 0)


def test_a_newer_skill_of_another_chain_ends_the_finding(world: World) -> None:
    """Nothing that the finding cites has changed; what is new bears its name."""
    for number in range(40):
        skill(world, f"old {number}", at=NOW - 9 * DAY)
    assert run_all(world, NOW) == (40, 0, 0)
    skill(world, "OLD 7", 90, 0.9)
    assert run_all(world, NOW + 1) == (0, 0, 1)


def test_a_skill_that_is_live_again_is_found(world: World) -> None:
    """An undo opens it without a new arrival."""
    for number in range(40):
        skill(world, f"good {number}", 50, 0.9)
    hidden = skill(world, "hidden")
    world.substrate.mark(hidden, "hide")
    assert run_all(world, NOW) == (0, 0, 0)
    world.substrate.mark(hidden, "reopen")
    assert run_all(world, NOW + 1) == (1, 0, 0)
