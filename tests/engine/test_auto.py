# SPDX-License-Identifier: Apache-2.0
"""Applying without a person: only with a grant, only what the engine proves to lose nothing, undoable like any apply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import RunOptions, auto, lifecycle, reports, run, views
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.engine.analyzers.duplicates import DuplicateSweep
from deja_tui.engine.objects import RunOutcome
from deja_tui.engine.operations import Add, Forget, Retire, Supersede
from deja_tui.engine.policy import Policy, from_plain
from deja_tui.engine.substrate import NewGrain, Substrate
from deja_tui.reference import ReferenceSubstrate
from tests.conformance.substrates import SUBSTRATES
from tests.engine.helpers import ANA, calls, crash_on, fact, only, recalled, refused, statuses
from tests.support import DAY, NOW

GRANT = {"analyzer": "loop.duplicate_sweep", "targets": ["memory"], "max_severity": "low"}
TEAM = from_plain({"auto_apply_enabled": True, "auto_apply": [GRANT]})
EVERYTHING = from_plain(
    {
        "auto_apply_enabled": True,
        "auto_apply": [
            {"analyzer": one.manifest.id, "targets": ["memory", "query"], "max_severity": "high"}
            for one in ANALYZERS
        ],
    }
)


@pytest.fixture(params=SUBSTRATES, ids=lambda pair: pair[0])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Substrate]:
    substrate = request.param[1](tmp_path)
    yield substrate
    if isinstance(substrate, StoreSubstrate):
        substrate._store.close()


def go(substrate: Substrate, policy: Policy | None = TEAM, now: int = NOW, **options: Any) -> RunOutcome:
    return run(substrate, RunOptions(policy=policy, **options), now)


def twins(substrate: Substrate, **second: Any) -> tuple[str, str]:
    """Two copies of one fact; ``second`` is what the later one says besides."""
    kept = fact(substrate, "acme", "likes", "tea", NOW - 2 * DAY)
    return kept, fact(substrate, "acme", "likes", "Tea", NOW - DAY, **second)


def test_an_equal_copy_is_retired_unasked_under_a_grant(memory: Substrate) -> None:
    """AUTO-1, AUTO-4: applied at once, with actor and observer of the policy, a chain that holds, and an inverse."""
    kept, copy = twins(memory)
    before = recalled(memory)
    outcome = go(memory)
    assert (outcome.stored, outcome.auto_applied) == (1, 1)
    address = only(memory, "applied")
    assert [grain.address for grain in memory.scan("fact") if grain.live] == [kept]
    chain = reports.chain(memory, address)
    assert chain.verified
    assert [(one.to_status, one.actor, one.observer) for one in chain.entries] == [
        ("pending", "engine:loop.duplicate_sweep/1", "system"),
        ("applied", "policy:auto", "policy"),
    ]
    assert go(memory, now=NOW + 1).proposed == 0
    lifecycle.rollback(memory, address, "both are wanted", ANA, NOW + 2)
    assert recalled(memory) == before
    assert dict(go(memory, now=NOW + 3).dropped) == {"cooling": 1}, "a rollback is a no"
    assert copy in recalled(memory)


@pytest.mark.parametrize(
    "policy",
    [
        None,
        Policy(),
        from_plain({"auto_apply": [GRANT]}),
        from_plain({"auto_apply_enabled": True}),
        from_plain({"auto_apply_enabled": True, "auto_apply": [{**GRANT, "max_severity": "info"}]}),
        from_plain({"auto_apply_enabled": True, "auto_apply": [{**GRANT, "targets": ["query"]}]}),
        from_plain({"auto_apply_enabled": True, "auto_apply": [{**GRANT, "analyzer": "loop.tool_failure"}]}),
    ],
)
def test_without_a_grant_for_it_nothing_is_applied(policy: Policy | None) -> None:
    """AUTO-1: switch, family, class of target and severity all have to be granted."""
    substrate = ReferenceSubstrate()
    twins(substrate)
    assert go(substrate, policy).auto_applied == 0
    assert list(statuses(substrate).values()) == ["pending"]


def test_a_grant_for_everything_applies_nothing_but_equal_copies() -> None:
    """Loop-engine §9: a lesson from tool output, a choice of values, an erasure stay for a person whatever is granted."""
    substrate = ReferenceSubstrate()
    twins(substrate)
    calls(substrate, "x", "boom", 5)
    for value in ("eu", "us"):
        fact(substrate, "acme", "region", value)
    fact(substrate, "promo", "active", "yes", valid_to=NOW - 10 * DAY)
    outcome = go(substrate, EVERYTHING)
    assert outcome.auto_applied == 1
    applied = [row.analyzer for row in views.ledger(substrate, ("applied",))]
    assert applied == ["loop.duplicate_sweep/1"]
    assert len(views.ledger(substrate, ("pending",))) == outcome.stored - 1 >= 2


@pytest.mark.parametrize(
    "second",
    [
        {"confidence": 0.8},
        {"confidence": 1},
        {"importance": 0.5},
        {"tags": ["a"]},
        {"structural_tags": ["a"]},
        {"source_type": "derived"},
        {"user_id": "ana"},
        {"context": {"source_key": "x"}},
        {"derived_from": "0" * 64},
        {"valid_from": NOW - DAY},
        {"verification_status": "verified"},
        {"note": "only here"},
        {"note": None},
    ],
)
def test_a_copy_that_says_anything_more_waits_for_a_person(second: dict[str, Any]) -> None:
    """AUTO-2, vector h14: compared over the union of the fields of both grains, not only those of the one that stays."""
    substrate = ReferenceSubstrate()
    twins(substrate, **second)
    outcome = go(substrate)
    assert outcome.auto_applied == 0
    assert "applied" not in statuses(substrate).values()


@pytest.mark.parametrize("name", ["valid_to", "system_valid_to"])
def test_what_has_an_end_is_never_retired_unasked(name: str) -> None:
    """AUTO-2: not even when both copies name the same end."""
    substrate = ReferenceSubstrate()
    for n, text in enumerate(("tea", "Tea")):
        fact(substrate, "acme", "likes", text, NOW - n, **{name: NOW + DAY})
    assert go(substrate).auto_applied == 0


def test_other_operations_are_never_proved_harmless() -> None:
    """AUTO-2: writing, superseding, erasing, retiring what is to stay, and doing nothing."""
    substrate = ReferenceSubstrate()
    kept, copy = twins(substrate)
    third = fact(substrate, "acme", "likes", "TEA", NOW)
    fields = {"subject": "a", "relation": "b", "object": "c"}
    assert auto.shape_fault(substrate, (Retire(copy, kept),)) is None
    assert auto.shape_fault(substrate, (Retire(copy, kept), Retire(third, kept))) is None
    for operations in (
        (),
        (Add("fact", "shared", fields),),
        (Supersede(copy, "fact", "shared", fields),),
        (Forget(copy),),
        (Retire(copy, kept), Forget(third)),
        (Retire(copy, kept), Retire(kept, third)),
        (Retire(copy, copy),),
        (Retire(copy, "0" * 64),),
        (Retire("0" * 64, kept),),
    ):
        assert auto.shape_fault(substrate, operations), operations


def test_copies_of_two_namespaces_or_types_are_no_copies() -> None:
    """AUTO-2: and nothing in a reserved namespace is touched."""
    substrate = ReferenceSubstrate()
    kept = fact(substrate, "acme", "likes", "tea")
    for other in (
        fact(substrate, "acme", "likes", "tea", namespace="other"),
        fact(substrate, "acme", "likes", "tea", namespace="agent:x"),
        substrate.put(NewGrain("event", "shared", NOW, dict(substrate.grains[kept].fields))).address,
    ):
        assert auto.shape_fault(substrate, (Retire(other, kept),)), other
        assert auto.shape_fault(substrate, (Retire(kept, other),)), other


def test_what_changed_since_the_finding_is_not_applied() -> None:
    """AUTO-3: the proof is read inside the act; a copy that was superseded in between is left to a person."""
    substrate = ReferenceSubstrate()
    _, copy = twins(substrate)
    go(substrate, None)
    address = only(substrate)
    manifest = DuplicateSweep().manifest
    substrate.grains[copy] = replace(
        substrate.grains[copy], fields={**substrate.grains[copy].fields, "confidence": 0.1}
    )
    assert not auto.apply(substrate, address, manifest, TEAM, NOW + 1)
    substrate.mark(copy, "hide")
    assert not auto.apply(substrate, address, manifest, TEAM, NOW + 1)
    assert statuses(substrate) == {address: "pending"}


def test_only_what_is_pending_here_is_applied() -> None:
    """Not what a person decided, not what came from elsewhere, not what a command made."""
    substrate = ReferenceSubstrate()
    twins(substrate)
    go(substrate, None)
    address, manifest = only(substrate), DuplicateSweep().manifest
    assert not auto.apply(substrate, address, replace(manifest, origin="command"), TEAM, NOW)
    assert not auto.apply(substrate, address, replace(manifest, auto_apply="never"), TEAM, NOW)
    lifecycle.reject(substrate, address, "no", ANA, NOW)
    assert not auto.apply(substrate, address, manifest, TEAM, NOW)
    assert not auto.apply(substrate, "0" * 64, manifest, TEAM, NOW)


def test_no_decision_may_skip_the_approval_itself() -> None:
    """Pending → applied is the policy's way only; a person applies what was approved."""
    substrate = ReferenceSubstrate()
    twins(substrate)
    go(substrate, None)
    with refused("LOP-E020"):
        lifecycle.apply(substrate, only(substrate), "why", ANA, NOW)


def test_a_crash_while_applying_leaves_nothing_of_the_run() -> None:
    """PLACE-2: the run's act is one; the next run does it all."""
    substrate = ReferenceSubstrate()
    twins(substrate)
    before = recalled(substrate)
    crash_on(substrate, "put", lambda grain: grain.fields.get("observer_id") == auto.ACTOR)
    with pytest.raises(OSError, match="no room"):
        go(substrate)
    del substrate.put  # type: ignore[method-assign]
    assert (statuses(substrate), recalled(substrate)) == ({}, before)
    assert go(substrate).auto_applied == 1


MORE = st.dictionaries(
    st.sampled_from(["note", "confidence", "tags"]),
    st.sampled_from(["tea", "Tea", " tea", 0, 1, 1.0, True, None, ["tea"], ["Tea"]]),
)


@given(MORE, MORE)
def test_only_what_says_the_same_in_every_field_is_a_copy(one: dict[str, Any], two: dict[str, Any]) -> None:
    """AUTO-2 as a property: whatever two facts say, no difference that a reader could see is lost."""
    substrate = ReferenceSubstrate()
    kept = fact(substrate, "s", "r", "x", NOW, **one)
    copy = fact(substrate, "s", "r", "X", NOW + 1, **two)
    harmless = auto.shape_fault(substrate, (Retire(copy, kept),)) is None
    first, second = (substrate.grains[address].fields for address in (kept, copy))
    assert harmless == (seen(first) == seen(second))


def seen(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as a reader sees them: text without case and outer blanks, everything else with its type."""
    return {
        name: value.strip().lower() if isinstance(value, str) else (type(value), value)
        for name, value in fields.items()
    }
