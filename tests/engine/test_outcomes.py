# SPDX-License-Identifier: Apache-2.0
"""What became of an applied recommendation: OUT-1 to OUT-5, both metrics of loop-engine §12, on every memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deja_tui.engine import audit, lifecycle, outcomes, views
from deja_tui.engine.operations import Add
from deja_tui.engine.outcomes import Outcome
from deja_tui.engine.substrate import LOOP_NAMESPACE, NewGrain, Substrate
from deja_tui.reference import ReferenceSubstrate
from tests.conformance.substrates import SUBSTRATES
from tests.engine.helpers import ANA, calls, draft, everything, fact, go, import_grain, only, plant
from tests.support import DAY, NOW

pytestmark = pytest.mark.parametrize(
    "substrate", [factory for _, factory in SUBSTRATES], ids=[name for name, _ in SUBSTRATES], indirect=True
)
MINUTE = 60_000


@pytest.fixture
def substrate(request: pytest.FixtureRequest, tmp_path: Path) -> Substrate:
    made: Substrate = request.param(tmp_path)
    return made


def applied(substrate: Substrate, metric: dict[str, Any], at: int = NOW) -> str:
    """A planted recommendation with this metric, approved and applied at ``at``."""
    cited = fact(substrate, "planted", "is", f"evidence {at}", at - 300 * DAY)
    found = draft(
        [_add(f"lesson {at}")], [cited], metric={"horizons_ms": [DAY, 7 * DAY, 30 * DAY], **metric},
        target_ref=f"entity:shared/planted#{at}",
    )  # fmt: skip
    address = plant(substrate, found, at=at - 1)
    lifecycle.approve(substrate, address, "seen", ANA, at)
    lifecycle.apply(substrate, address, "seen", ANA, at)
    return address


def _add(text: str) -> Add:
    return Add("fact", "shared", {"subject": "planted", "relation": "says", "object": text})


def tool(signature: str | None = "boom") -> dict[str, Any]:
    told = {"metric": "tool_error_recurrence", "subject": "t"}
    return told if signature is None else {**told, "relation": signature}


def tier() -> dict[str, Any]:
    return {
        "metric": "contradiction_recurrence",
        "namespace": "shared",
        "subject": "acme",
        "relation": "tier",
    }


def numbers(found: list[Outcome]) -> list[tuple[int, int | None, int, str]]:
    """(days, before, after, verdict) of each."""
    return [(one.horizon_ms // DAY, one.before, one.after, one.verdict) for one in found]


# --- spans -------------------------------------------------------------------------------------------


def test_each_horizon_is_measured_over_exactly_its_span(substrate: Substrate) -> None:
    """OUT-2: both ends, to the millisecond, and a run that comes 40 days late measures the same."""
    applied(substrate, tool())
    calls(substrate, "t", "ok", 1, error=False, at=NOW - 60 * DAY)
    for days in (-7, -1, 0, 1, 7):
        for shift in (0, 1):
            calls(substrate, "t", "boom", 1, at=NOW + days * DAY + shift)
    wanted = [(1, 2, 2, "equal"), (7, 4, 4, "equal"), (30, 5, 5, "equal")]
    assert numbers(outcomes.measure(substrate, NOW + 40 * DAY)) == wanted
    assert numbers(outcomes.measure(substrate, NOW + 7 * DAY)) == wanted[:2]


def test_a_horizon_is_due_when_it_is_over_and_not_before(substrate: Substrate) -> None:
    """Loop-engine §12: the first run with now − applied_at ≥ horizon."""
    applied(substrate, tool())
    assert outcomes.measure(substrate, NOW + DAY - 1) == []
    assert [one.horizon_ms for one in outcomes.measure(substrate, NOW + DAY)] == [DAY]


def test_a_horizon_is_measured_once(substrate: Substrate) -> None:
    """OUT-1: what is recorded is not measured again, and what came due since is."""
    applied(substrate, tool())
    first = outcomes.record(substrate, outcomes.measure(substrate, NOW + DAY), NOW + DAY)
    assert len(first) == 1
    assert outcomes.measure(substrate, NOW + 2 * DAY) == []
    later = outcomes.measure(substrate, NOW + 31 * DAY)
    assert [one.horizon_ms // DAY for one in later] == [7, 30]
    outcomes.record(substrate, later, NOW + 31 * DAY)
    assert outcomes.measure(substrate, NOW + 90 * DAY) == []
    assert [one.horizon_ms // DAY for one in outcomes.recorded(substrate)] == [1, 7, 30]


def test_what_is_measured_to_the_end_is_not_read_again(substrate: Substrate) -> None:
    """A run of a memory with a thousand old lessons costs no more for them."""
    applied(substrate, tool())
    outcomes.record(substrate, outcomes.measure(substrate, NOW + 31 * DAY), NOW + 31 * DAY)
    read: list[str] = []
    real = substrate.get
    substrate.get = lambda address: read.append(address) or real(address)  # type: ignore[method-assign,func-returns-value]
    assert outcomes.measure(substrate, NOW + 90 * DAY) == []
    assert read == []


def test_only_what_is_applied_is_measured(substrate: Substrate) -> None:
    """OUT-1: after a rollback there is nothing to look after."""
    address = applied(substrate, tool())
    lifecycle.rollback(substrate, address, "no", ANA, NOW + MINUTE)
    assert outcomes.measure(substrate, NOW + 40 * DAY) == []


def test_measuring_writes_nothing_and_recording_holds_no_text(substrate: Substrate) -> None:
    """OUT-4: counts, spans and the address of the recommendation; no word of a tool or a person."""
    address = applied(substrate, tool("boom secret"))
    calls(substrate, "t", "boom secret", 3, at=NOW + MINUTE)
    before = everything(substrate)
    found = outcomes.measure(substrate, NOW + DAY)
    assert everything(substrate) == before
    (stored,) = outcomes.record(substrate, found, NOW + DAY)
    grain = substrate.get(str(stored.address))
    assert grain is not None
    assert (grain.type, grain.namespace) == ("observation", LOOP_NAMESPACE)
    assert "secret" not in repr(grain.fields)
    assert outcomes.read_outcome(grain) == stored
    assert stored.recommendation == address


def test_a_recorded_measurement_leaves_the_audit_chain_alone(substrate: Substrate) -> None:
    """It is no transition: the chain still verifies and the status stands."""
    address = applied(substrate, tool())
    outcomes.record(substrate, outcomes.measure(substrate, NOW + DAY), NOW + DAY)
    row = lifecycle.find(substrate, address)
    assert row.status == "applied"
    assert audit.chain(substrate, row).verified


# --- no baseline -------------------------------------------------------------------------------------


def test_without_a_baseline_nothing_is_compared(substrate: Substrate) -> None:
    """OUT-3: the tool was called for the first time two days before the apply, so there is no week to compare with."""
    applied(substrate, tool())
    calls(substrate, "t", "boom", 4, at=NOW - 2 * DAY)
    calls(substrate, "t", "boom", 9, at=NOW + 5 * DAY)
    assert numbers(outcomes.measure(substrate, NOW + 30 * DAY)) == [
        (1, 0, 0, "equal"),
        (7, None, 9, "no baseline"),
        (30, None, 9, "no baseline"),
    ]


def test_a_tool_that_was_never_called_has_no_baseline(substrate: Substrate) -> None:
    """Its absence says nothing."""
    applied(substrate, tool())
    assert numbers(outcomes.measure(substrate, NOW + DAY)) == [(1, None, 0, "no baseline")]


# --- tools -------------------------------------------------------------------------------------------


def test_only_the_same_failure_of_the_same_tool_counts(substrate: Substrate) -> None:
    """Vector 15: another error of the tool is another matter; both spans tell how many calls there were."""
    applied(substrate, tool())
    calls(substrate, "t", "ok", 1, error=False, at=NOW - 60 * DAY)
    calls(substrate, "t", "boom", 5, at=NOW - 3_600_000)
    calls(substrate, "t", "Boom ", 1, at=NOW + MINUTE)
    calls(substrate, "t", "kaput", 2, at=NOW + MINUTE, n=1)
    calls(substrate, "u", "boom", 3, at=NOW + MINUTE)
    calls(substrate, "t", "boom", 2, at=NOW + MINUTE, status="pending", n=2)
    (one,) = outcomes.measure(substrate, NOW + DAY)
    assert (one.before, one.before_n, one.after, one.after_n, one.verdict) == (5, 5, 1, 3, "lower")


def test_without_a_signature_every_failure_counts(substrate: Substrate) -> None:
    """Loop-engine §12."""
    applied(substrate, tool(None))
    calls(substrate, "t", "ok", 1, error=False, at=NOW - 60 * DAY)
    calls(substrate, "t", "boom", 1, at=NOW + MINUTE)
    calls(substrate, "t", "kaput", 1, at=NOW + MINUTE, n=1)
    assert numbers(outcomes.measure(substrate, NOW + DAY)) == [(1, 0, 2, "higher")]


# --- contradictions ----------------------------------------------------------------------------------


def test_a_new_conflict_is_a_value_that_came_on_its_own(substrate: Substrate) -> None:
    """Loop-engine §12: values that arrived in the span, other than what was current as it began."""
    fact(substrate, "old", "is", "there", NOW - 60 * DAY)
    gold = fact(substrate, "acme", "tier", "gold", NOW - 20 * DAY)
    silver = fact(substrate, "Acme", "tier", "silver", NOW - 3 * DAY)
    substrate.mark(gold, "retire", silver)
    applied(substrate, tier())
    fact(substrate, "acme", "tier", "SILVER ", NOW + DAY // 2)
    fact(substrate, "acme", "tier", "bronze", NOW + 2 * DAY)
    assert numbers(outcomes.measure(substrate, NOW + 7 * DAY)) == [(1, 0, 0, "equal"), (7, 1, 1, "equal")]


def test_an_orderly_change_is_no_conflict(substrate: Substrate) -> None:
    """§12: a new value added by the normal course of work must not count as worse."""
    fact(substrate, "old", "is", "there", NOW - 60 * DAY)
    gold = fact(substrate, "acme", "tier", "gold", NOW - 20 * DAY)
    applied(substrate, tier())
    content = {"subject": "acme", "relation": "tier", "object": "platinum", "derived_from": gold}
    substrate.supersede(gold, NewGrain("fact", "shared", NOW + DAY // 2, content))
    assert numbers(outcomes.measure(substrate, NOW + DAY)) == [(1, 0, 0, "equal")]


def test_a_memory_that_begins_inside_the_span_has_no_baseline(substrate: Substrate) -> None:
    """D23."""
    substrate_only = {**tier(), "horizons_ms": [400 * DAY]}
    applied(substrate, substrate_only)
    fact(substrate, "acme", "tier", "gold", NOW + DAY)
    assert numbers(outcomes.measure(substrate, NOW + 400 * DAY)) == [(400, None, 0, "no baseline")]


# --- what cannot be measured -------------------------------------------------------------------------

METRICS: dict[str, dict[str, Any]] = {
    "unknown": {"metric": "weather"},
    "no text": {"metric": 7},
    "no tool": {"metric": "tool_error_recurrence"},
    "a tool that is none": {"metric": "tool_error_recurrence", "subject": ["t"]},
    "half a key": {"metric": "contradiction_recurrence", "namespace": "shared", "subject": "acme"},
    "no horizons": {**tool(), "horizons_ms": None},
    "horizons that are none": {**tool(), "horizons_ms": [0, -1, True, "7d", 1.5]},
}


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_that_is_not_known_is_skipped(name: str, substrate: Substrate) -> None:
    """§12; a draft of a newer version or of anybody is no reason for a run to fail."""
    applied(substrate, METRICS[name])
    assert outcomes.measure(substrate, NOW + 90 * DAY) == []


def test_what_came_with_a_bundle_measures_nothing(substrate: Substrate) -> None:
    """OUT-5: a foreign apply is history here, and a foreign measurement does not stand for ours."""
    if not isinstance(substrate, ReferenceSubstrate):
        pytest.skip("marking a grain as imported by hand is a feature of the reference only")
    address = applied(substrate, tool())
    (ours,) = outcomes.record(substrate, outcomes.measure(substrate, NOW + DAY), NOW + DAY)
    import_grain(substrate, str(ours.address))
    assert len(outcomes.measure(substrate, NOW + DAY)) == 1
    substrate.grains[address] = replace(substrate.grains[address], imported=True)
    assert outcomes.measure(substrate, NOW + 40 * DAY) == []


def test_malformed_observations_are_no_measurements(substrate: Substrate) -> None:
    """A grain of a newer version, or one that somebody forged, is left out."""
    held: dict[str, Any] = {
        "metric": "m", "horizon_ms": 1, "applied_at": 1, "before": 1, "before_n": 1, "after": 1, "after_n": 1,
    }  # fmt: skip
    bad = [
        {**held, "after": -1}, {**held, "before": True}, {**held, "metric": 1}, {**held, "after_n": "9"},
        {name: value for name, value in held.items() if name != "horizon_ms"}, "text", [1],
    ]  # fmt: skip
    for number, one in enumerate([held, *bad]):
        fields = {
            "observer_id": "engine:loop", "observer_type": "rec:system", "object": "equal",
            "derived_from": ["0" * 64], "context": {"outcome": one},
        }  # fmt: skip
        substrate.put(NewGrain("observation", LOOP_NAMESPACE, NOW + number, fields))
    assert len(outcomes.recorded(substrate)) == 1


# --- the report --------------------------------------------------------------------------------------


def test_the_report_is_newest_first_and_tells_the_status(substrate: Substrate) -> None:
    """Each measurement with its recommendation as it stands now."""
    one, two = applied(substrate, tool()), applied(substrate, tool(), NOW + DAY)
    for now in (NOW + DAY, NOW + 2 * DAY):
        outcomes.record(substrate, outcomes.measure(substrate, now), now)
    lifecycle.rollback(substrate, one, "no", ANA, NOW + 3 * DAY)
    told = outcomes.reviewed(substrate)
    assert [(each.outcome.recommendation, each.status) for each in told] == [
        (two, "applied"),
        (one, "rolled_back"),
    ]
    assert all(each.recommendation.address == each.outcome.recommendation for each in told)


def test_a_lesson_of_the_tool_failure_analyzer_can_be_measured(substrate: Substrate) -> None:
    """Its metric says what `measure` asks for."""
    calls(substrate, "t", "ok", 1, error=False, at=NOW - 60 * DAY)
    calls(substrate, "t", "boom", 5, at=NOW - DAY // 2)
    go(substrate, only=("loop.tool_failure/1",))
    address = only(substrate)
    lifecycle.approve_and_apply(substrate, address, "seen", ANA, NOW)
    assert views.ledger(substrate, ("applied",))[0].address == address
    assert numbers(outcomes.measure(substrate, NOW + 30 * DAY)) == [
        (1, 5, 0, "lower"),
        (7, 5, 0, "lower"),
        (30, 5, 0, "lower"),
    ]
