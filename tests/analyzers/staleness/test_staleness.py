# SPDX-License-Identifier: Apache-2.0
"""``loop.staleness/1``: what fires, what stays quiet, the two changes, and what hostile text cannot do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from deja_tui.engine import lifecycle
from deja_tui.engine.analyzers.staleness import Staleness
from deja_tui.engine.operations import Forget, Supersede
from deja_tui.engine.pipeline import RunOptions, run
from deja_tui.engine.substrate import Forgets, NewGrain
from deja_tui.errors import ValidationError
from tests.analyzers.worlds import World, line
from tests.engine.helpers import ANA, fact, recalled, refused
from tests.support import DAY, NOW

STALE = Staleness()
Fill = Callable[[World], object]


def note(world: World, text: str = "maintenance window tonight", **fields: Any) -> str:
    content = {"content": text, "observer_id": "agent-1", "observer_type": "agent", **fields}
    return str(world.substrate.put(NewGrain("observation", "shared", NOW - 200 * DAY, content)).address)


# --- fires -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("until", "days", "severity"),
    [
        (NOW - 1, 0, "low"),
        (NOW - DAY, 1, "low"),
        (NOW - 90 * DAY, 90, "low"),
        (NOW - 91 * DAY + 1, 90, "low"),
        (NOW - 91 * DAY, 91, "medium"),
        ("2020-01-01T00:00:00Z", 2252, "medium"),
        ("2026-03-01", 1, "low"),
        ("2026-03-01T10:00:00+01:00", 1, "low"),
    ],
)
def test_fires(until: Any, days: int, severity: str, world: World) -> None:
    """Loop-engine §4.5: one ms past fires, more than 90 whole days is medium; ISO-8601 text is a time (vector 01)."""
    address = fact(world.substrate, "promo", "active", "true", NOW - 100 * DAY, valid_to=until)
    (one,) = world.found(STALE)
    assert (one.target_ref, one.action, one.severity) == (f"grain:{address}", "expire", severity)
    assert (one.evidence, one.evidence_total, one.summary.args["age_days"]) == ((address,), 1, days)
    assert line(one) == f"promo · active · true passed its declared end {days} days ago"


def test_a_note_says_its_text(world: World) -> None:
    """Not only twelve characters of an address."""
    address = note(world, valid_to=NOW - DAY)
    (one,) = world.found(STALE)
    assert one.summary.args["subject"] == address[:12]
    assert line(one).endswith("· observation · maintenance window tonight passed its declared end 1 days ago")


def test_the_default_erases_and_the_other_choice_does_not(world: World) -> None:
    """D19, D20: the recommendation says what its default does; gates are those of the change that is chosen."""
    address = fact(world.substrate, "promo", "active", "true", valid_to=NOW - 1, confidence=0.7, tags=["x"])
    (one,) = world.found(STALE)
    assert (one.destructive, one.rollbackable, one.operations) == (True, False, (Forget(address),))
    erase, keep = one.alternatives
    assert erase.operations == one.operations
    (operation,) = keep.operations
    assert isinstance(operation, Supersede)
    assert (operation.target, operation.type, operation.namespace) == (address, "fact", "shared")
    old = world.substrate.get(address).fields
    assert dict(operation.fields) == {
        **{name: value for name, value in old.items() if name != "derived_from"},
        "invalidation_type": "expired",
        "invalidation_reason": "it is past its declared end",
    }


def test_forgetting_needs_its_own_approval_and_leaves_nothing_to_say(world: World) -> None:
    """D19: the fused call is refused, and so is an apply without the flag."""
    if not isinstance(world.substrate, Forgets):
        pytest.skip("this memory cannot forget")
    address = fact(world.substrate, "promo", "active", "true", valid_to=NOW - 1)
    (one,) = world.found(STALE)
    with refused("LOP-E023"):
        lifecycle.approve_and_apply(world.substrate, one.address, "why", ANA, NOW + 1)
    lifecycle.approve(world.substrate, one.address, "why", ANA, NOW + 1)
    with refused("LOP-E023"):
        lifecycle.apply(world.substrate, one.address, "why", ANA, NOW + 2)
    lifecycle.apply(world.substrate, one.address, "why", ANA, NOW + 2, allow_destructive=True)
    assert world.substrate.get(address) is None
    assert world.go(STALE, NOW + 3).proposed == 0


def test_marking_it_as_expired_can_be_undone_and_breeds_no_finding(world: World) -> None:
    """A fix never breeds a finding: the marked copy is past its end, too, and says so; of no analyzer of facts it is news."""
    address = fact(world.substrate, "promo", "tier", "gold", valid_to=NOW - 1)
    fact(world.substrate, "promo", "tier", "silver")
    before = recalled(world.substrate)
    (one,) = world.found(STALE)
    lifecycle.approve_and_apply(world.substrate, one.address, "why", ANA, NOW + 1, 1)
    (marked,) = [g for g in world.substrate.scan("fact") if g.live and g.get("object") == "gold"]
    assert marked.get("invalidation_type") == "expired"
    assert world.substrate.get(address).superseded_by == marked.address
    for analyzer in ("loop.duplicate_sweep/1", "loop.contradiction_sweep/1", "loop.staleness/1"):
        assert _proposed(world, analyzer) == 0
    lifecycle.rollback(world.substrate, one.address, "why", ANA, NOW + 3)
    assert recalled(world.substrate) == before


def _proposed(world: World, analyzer: str) -> int:
    return run(world.substrate, RunOptions(only=(analyzer,)), NOW + 2).proposed


def test_grace_moves_the_line(world: World) -> None:
    """So many days may have passed unnoticed, to the ms."""
    fact(world.substrate, "a", "code", "x", NOW - 50 * DAY, valid_to=NOW - 10 * DAY)
    fact(world.substrate, "b", "code", "x", NOW - 50 * DAY, valid_to=NOW - 10 * DAY - 1)
    assert [one.summary.args["subject"] for one in world.found(STALE, grace_days=10)] == ["b"]


@pytest.mark.parametrize(
    "params", [{"grace_days": -1}, {"grace_days": 3_651}, {"grace_days": "1"}, {"days": 1}]
)
def test_bad_parameters_are_refused(params: dict[str, Any]) -> None:
    """LOP-E031 with the name."""
    with refused("LOP-E031"):
        STALE.manifest.resolve(params)


# --- quiet -------------------------------------------------------------------------------------------

QUIET: dict[str, Fill] = {
    "nothing at all": lambda w: None,
    "no end": lambda w: fact(w.substrate, "a", "b", "c", NOW - 9_000 * DAY),
    "an end that is now": lambda w: fact(w.substrate, "a", "b", "c", valid_to=NOW),
    "an end to come": lambda w: fact(w.substrate, "a", "b", "c", valid_to=NOW + 1),
    "an ISO end to come": lambda w: fact(w.substrate, "a", "b", "c", valid_to="2026-03-02T09:00:00.001Z"),
    "only a beginning": lambda w: fact(w.substrate, "a", "b", "c", valid_from=NOW - 99 * DAY),
    "a superseded one": lambda w: w.substrate.supersede(fact(w.substrate, "a", "b", "c", valid_to=NOW - 1), NewGrain(
        "fact", "shared", NOW, {"subject": "a", "relation": "b", "object": "d"})),
    "a hidden one": lambda w: w.substrate.mark(fact(w.substrate, "a", "b", "c", valid_to=NOW - 1), "hide"),
    "a reserved namespace": lambda w: fact(w.substrate, "a", "b", "c", valid_to=NOW - 1, namespace="loop"),
    "what says that it is expired": lambda w: fact(w.substrate, "a", "b", "c", valid_to=NOW - 1, invalidation_type="expired"),
    "a goal": lambda w: w.substrate.put(NewGrain("goal", "shared", NOW - DAY, {
        "description": "x", "goal_state": "active", "valid_to": NOW - 1})),
}  # fmt: skip


@pytest.mark.parametrize("name", QUIET)
def test_quiet(name: str, world: World) -> None:
    """Each lacks just one thing."""
    QUIET[name](world)
    assert world.found(STALE) == []
    assert world.probe(STALE).state == "quiet"


# --- hostile -----------------------------------------------------------------------------------------

TEXTS: dict[str, str] = {
    "markup": "[@click=app.quit]quit[/]", "escapes": "\x1b[2J\x1b]0;owned\x07x", "bidi": "\u202ex\u2066",
    "lines": "a\r\nb\u2028c\x85d", "fence": "x» approved by admin: «y", "format": "{age_days} %s ${x} {0}",
    "long": "x" * 20_000, "surrogate": "\ud83dx", "nul": "a\x00b", "ago": "it passed its declared end 0 days ago",
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_hostile(name: str, world: World) -> None:
    """In every part: one safe bounded line, both changes within a proposal, no refresh on the next run."""
    text = TEXTS[name]
    fact(world.substrate, text, text, text, valid_to=NOW - 1)
    note(world, text, valid_to=NOW - 1)
    found = world.found(STALE)
    assert len(found) == 2
    for one in found:
        assert line(one).isprintable()
        assert len(line(one)) <= 400
        assert len(one.alternatives) == (0 if name == "long" else 2)
    again = world.go(STALE, NOW + 1)
    assert (again.stored, again.refreshed, again.closed) == (0, 0, 0)


@pytest.mark.parametrize(
    "until", ["soon", "", "20261-99-99", "9" * 40, "2026-03-01T99:00:00Z", True, -(10**30), [NOW - 1]]
)
def test_an_end_that_is_no_time_is_no_end(until: Any, world: World) -> None:
    """A door refuses it; a memory without a door keeps it, and it says nothing."""
    if type(world.substrate).__name__ == "StoreSubstrate":
        with pytest.raises(ValidationError):
            fact(world.substrate, "a", "b", "c", valid_to=until)
        return
    fact(world.substrate, "a", "b", "c", valid_to=until)
    assert len(world.found(STALE)) == (1 if until == -(10**30) else 0)


def test_a_time_of_the_first_years_is_not_moved(world: World) -> None:
    """A door reads a small number as seconds: the copy that would be written is not offered."""
    old = {"subject": "a", "relation": "b", "object": "c", "valid_to": "1970-01-02T00:00:00Z"}
    address = world.substrate.put(NewGrain("fact", "shared", NOW - DAY, old)).address
    (one,) = world.found(STALE)
    assert one.operations == (Forget(address),)
    assert len(one.alternatives) == (0 if world.substrate.get(address).get("valid_to") == DAY else 2)


def test_probe_counts_what_is_there(world: World) -> None:
    """How many grains are past their end."""
    for n in range(3):
        fact(world.substrate, f"a{n}", "b", "c", valid_to=NOW - 1)
    told = world.probe(STALE)
    assert (told.state, told.have) == ("active", 3)
