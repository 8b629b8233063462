# SPDX-License-Identifier: Apache-2.0
"""A fix never breeds a finding: apply everything, run again, and nothing new is about what was applied.

Every analyzer of the list takes part, also those that are off by themselves; a new one joins by being in the list.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deja_tui import Memory
from deja_tui.capture import demo
from deja_tui.engine import RunOptions, lifecycle, run, views
from deja_tui.engine.actors import caller
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.engine.config import AnalyzerConfig
from deja_tui.engine.objects import Recommendation
from deja_tui.engine.substrate import NewGrain, Substrate
from deja_tui.engine.wire import read_recommendation
from deja_tui.errors import DejaError
from deja_tui.reference import ReferenceSubstrate
from tests.support import DAY, NOW

# every analyzer takes part, and those that wait for a setting have one
ON = {
    one.manifest.id: AnalyzerConfig(
        enabled=True, params={"max_age_days": 60} if one.manifest.family == "loop.retention_sweep" else {}
    )
    for one in ANALYZERS
}
REVIEWER = caller("user:ana")
ROUNDS = 6
# what a change can no longer find once another change of the same review was applied: it goes, or comes anew
STALE = ("LOP-E020", "LOP-E024", "LOP-E011")


def rounds(substrate: Substrate, only: Sequence[str] = ()) -> int:
    """Run and apply everything until nothing is left to apply; how many recommendations that were.

    Asserts at each run that nothing it proposes is about what was applied before.
    """
    written: set[str] = set()
    left: dict[str, int] = {}  # identity → what its last apply left for a refresh
    for number in range(ROUNDS):
        outcome = run(substrate, RunOptions(only=tuple(only), config=ON), NOW + number)
        for address in outcome.recommendations:
            body = body_of(substrate, address)
            assert left.get(body.identity, 1), (
                f"{body.analyzer} found again what was applied: {body.target_ref}"
            )
            assert not written & set(body.evidence), f"{body.analyzer} found what an apply wrote"
        before = len(left)
        for row in views.ledger(substrate, ("pending",)):
            body = body_of(substrate, row.address)
            results = accept(substrate, row.address, advice=body.advice)
            if results is not None:
                written |= set(results)
                left[body.identity] = body.remaining
        if len(left) == before and not outcome.stored + outcome.refreshed:
            return len(left)
    raise AssertionError("a fix bred a finding in every round")


def body_of(substrate: Substrate, address: str) -> Recommendation:
    grain = substrate.get(address)
    assert grain is not None
    return read_recommendation(grain)


def accept(substrate: Substrate, address: str, *, advice: bool) -> tuple[str, ...] | None:
    """Approve, and carry out what can be carried out; what it wrote, or None when it did not fit any more."""
    try:
        lifecycle.approve(substrate, address, "yes", REVIEWER, NOW)
        if advice:
            return ()
        return lifecycle.apply(substrate, address, "yes", REVIEWER, NOW, allow_destructive=True).results
    except DejaError as fault:
        if fault.code not in (*STALE, "LOP-E027"):
            raise
        return None


# --- the demo ----------------------------------------------------------------------------------------


def test_no_fix_of_the_demo_breeds_a_finding(tmp_path: Path) -> None:
    """Loop-engine §25, vector 23: the memory a newcomer sees, on the file, with every analyzer."""
    path = tmp_path / "demo.deja"
    demo.seed(path, NOW)
    with Memory.open(path, clock=lambda: NOW) as memory:
        assert rounds(memory.substrate) >= 8


# --- generated memories ------------------------------------------------------------------------------

WORDS = st.sampled_from(["acme", "Acme", "otter", "gold", "silver", "tea", "Tea", "rate limited", "x"])
RELATIONS = st.sampled_from(["tier", "status", "likes", "fails_with", "region", "Tier"])
AGES = st.sampled_from([1, 2, 40, 100, 400]).map(lambda days: NOW - days * DAY)
ENDS = st.sampled_from([None, None, NOW - 10 * DAY, NOW - 200 * DAY, NOW + DAY])
NOTES = st.sampled_from(
    [
        "the deploy of the billing service failed because the index was locked by a backup job last night",
        "the deploy of the billing service failed because the index was locked by a backup job last week",
        "the deploy of the billing service did not fail because the index was locked by a backup job last night",
        "ana prefers short answers",
    ]
)
FACTS = st.builds(
    lambda s, r, o, at, end, c: ("fact", at, {"subject": s, "relation": r, "object": o, "confidence": c, **({"valid_to": end} if end else {})}),
    WORDS, RELATIONS, WORDS, AGES, ENDS, st.sampled_from([0.5, 0.9]),
)  # fmt: skip
CALLS = st.builds(
    lambda tool, error, bad, at: ("tool", at, {"tool_name": tool, "tool_content": error, "is_error": bad}),
    st.sampled_from(["acme", "search", "deploy"]), WORDS, st.booleans(), AGES,
)  # fmt: skip
OBSERVATIONS = st.builds(
    lambda text, at, end: ("observation", at, {"observer_id": "agent-1", "observer_type": "agent", "content": text, **({"valid_to": end} if end else {})}),
    NOTES, AGES, ENDS,
)  # fmt: skip
SKILLS = st.builds(
    lambda name, share, count, at: ("skill", at, {"name": name, "description": "how", "proficiency": share, "practice_count": count}),
    WORDS, st.sampled_from([0.1, 0.9]), st.sampled_from([1, 9]), AGES,
)  # fmt: skip
GOALS = st.builds(
    lambda text, share, at: ("goal", at, {"description": text, "goal_state": "active", "progress": share}),
    WORDS, st.sampled_from([0.0, 0.9]), AGES,
)  # fmt: skip
GRAINS = st.lists(st.one_of(FACTS, FACTS, FACTS, CALLS, CALLS, OBSERVATIONS, SKILLS, GOALS), max_size=24)
Grains = list[tuple[str, int, dict[str, Any]]]


def fill(substrate: Substrate, grains: Grains) -> None:
    for n, (kind, at, fields) in enumerate(grains):
        namespace = "shared" if n % 4 else "other"
        told = {**fields, "tool_call_id": f"c{n}"} if kind == "tool" else fields
        substrate.put(NewGrain(kind, namespace, at + n, told))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(GRAINS)
def test_no_fix_breeds_a_finding_in_any_memory(grains: Grains) -> None:
    """All analyzers together, on generated memories."""
    substrate = ReferenceSubstrate()
    fill(substrate, grains)
    rounds(substrate)


# --- one memory that feeds every analyzer ------------------------------------------------------------


def feed(path: Path) -> Memory:
    """A memory on the file in which every analyzer finds something at NOW; recalls are counted since long ago."""
    hand = [NOW - 90 * DAY]
    memory = Memory.open(path, clock=lambda: hand[0], telemetry="aggregate")
    forked = memory.add_fact("acme", "plan", "one")
    memory.add_fact("user", "note", "never asked for")
    memory.telemetry.watching()
    memory.close()
    fork(path, hand, forked)
    memory = Memory.open(path, clock=lambda: hand[0], telemetry="aggregate")
    for n in range(6):
        memory.record_tool_call(
            "refund", "rate limited", True, call_id=f"old{n}", created_at=NOW - 3 * DAY + n
        )
    for text in ("tea", "Tea", "TEA"):
        memory.add_fact("acme", "likes", text)
    for text in ("gold", "silver"):
        memory.add_fact("acme", "tier", text)
    for n in range(7):
        memory.add_fact(f"customer-{n}", "timezone", f"zone {n}")
    memory.add("fact", {"subject": "promo", "relation": "active", "object": "yes", "valid_to": NOW - 9 * DAY})
    for text in ("last night", "last night again"):
        told = f"the deploy of the billing service failed because the index was locked by a backup job {text}"
        memory.add("observation", {"observer_id": "agent-1", "observer_type": "agent", "content": told * 2})
    memory.add("skill", {"name": "sql", "description": "how", "proficiency": 0.1, "practice_count": 9})
    memory.add("goal", {"description": "ship it", "goal_state": "active", "progress": 0.0})
    hand[0] = NOW - DAY
    for _ in range(5):
        memory.search("unanswerable question")
    for n in range(30):
        memory.telemetry.assembled(n % 2 == 0)
    hand[0] = NOW
    return memory


def fork(path: Path, hand: list[int], address: str) -> None:
    """Two copies of the memory supersede one fact, each its own way, and meet again."""
    other = path.with_name("other.deja")
    shutil.copy(path, other)
    bundle = path.with_name("other.mgb")
    for where, text in ((path, "two"), (other, "three")):
        with Memory.open(where, clock=lambda: hand[0]) as memory:
            memory.supersede(address, {"object": text})
            if where == other:
                memory.bundle(bundle)
    with Memory.open(path, clock=lambda: hand[0]) as memory:
        memory.import_bundle(bundle)


@pytest.mark.parametrize("name", [one.manifest.id for one in ANALYZERS])
def test_no_fix_of_one_analyzer_breeds_its_own_finding(name: str, tmp_path: Path) -> None:
    """Each alone finds something in a memory that feeds it, and nothing more once that was applied."""
    with feed(tmp_path / "a.deja") as memory:
        found = rounds(memory.substrate, only=[name])
        assert found >= 1 or name == "loop.outcome_review/1", "an outcome needs an apply of a month ago"


def test_no_fix_of_all_analyzers_breeds_a_finding_of_another(tmp_path: Path) -> None:
    """All together, on the same memory."""
    with feed(tmp_path / "a.deja") as memory:
        assert rounds(memory.substrate) >= len(ANALYZERS) - 2
