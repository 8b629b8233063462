# SPDX-License-Identifier: Apache-2.0
"""``loop.budget_pressure/1``: what fires, what stays quiet; there is no text in it to be hostile."""

from __future__ import annotations

from typing import Any

import pytest

from deja_tui.engine import reports
from deja_tui.engine.analyzers.budget_pressure import BudgetPressure
from deja_tui.reference import BareSubstrate, ReferenceSubstrate
from tests.analyzers.worlds import World, line
from tests.engine.helpers import ANA, go
from tests.support import DAY, NOW

PRESSURE = BudgetPressure()


def test_a_finding_in_full(world: World) -> None:
    """Both edges from inside; no grain to cite, and the data says where it was counted."""
    world.assemble(20, 10)
    (one,) = world.found(PRESSURE)
    assert (one.target_ref, one.severity, one.action) == ("entity:budget/assembly", "medium", "flag")
    assert dict(one.summary.args) == {"samples": 20, "overflow": 10, "overflow_rate": 50}
    assert line(one) == "10 of 20 contexts had to leave something out"
    assert (one.evidence, one.evidence_total, one.operations) == ((), 0, ())
    assert one.data is not None
    assert one.data["counted_in"] == "telemetry"


def test_it_is_shown_like_any_other(world: World) -> None:
    """A recommendation without evidence has a chain that verifies and nothing to apply."""
    world.assemble(20, 20)
    (one,) = world.found(PRESSURE)
    detail = reports.show(world.substrate, one.address, ANA)
    assert detail.chain.verified
    assert detail.evidence == ()


QUIET: dict[str, tuple[int, int, int]] = {
    "too few": (19, 19, NOW - DAY),
    "below the share": (20, 9, NOW - DAY),
    "older than the window": (40, 40, NOW - 31 * DAY),
    "nothing": (0, 0, NOW - DAY),
}


@pytest.mark.parametrize("name", QUIET)
def test_quiet(name: str, world: World) -> None:
    """[pick]: thirty days, not since the beginning."""
    world.assemble(*QUIET[name])
    assert world.found(PRESSURE) == []


def test_a_share_of_nothing_is_no_pressure(world: World) -> None:
    """With min_overflow_ratio 0 a context that holds everything is still none."""
    world.assemble(20, 0)
    assert world.found(PRESSURE, min_overflow_ratio=0.0) == []


def test_a_budget_that_was_raised_closes_the_finding(world: World) -> None:
    """The window moves on."""
    world.assemble(20, 20, at=NOW - 29 * DAY)
    assert len(world.found(PRESSURE)) == 1
    assert world.go(PRESSURE, NOW + 3 * DAY).proposed == 0


def test_without_telemetry_it_is_skipped_with_what_provides_it() -> None:
    """The reason names the command; nothing is said to be well."""
    for substrate in (BareSubstrate(), ReferenceSubstrate()):
        (told,) = go(substrate, only=("loop.budget_pressure/1",)).analyzers_skipped
        assert told.reason.startswith("missing telemetry: --telemetry aggregate")


@pytest.mark.parametrize(
    ("params", "fires"),
    [({"min_samples": 30}, True), ({"min_samples": 31}, False), ({"min_overflow_ratio": 0.51}, False), ({"min_overflow_ratio": 0.5}, True)],
)  # fmt: skip
def test_parameters(params: dict[str, Any], fires: bool, world: World) -> None:
    """Each moves its own edge."""
    world.assemble(30, 15)
    assert bool(world.found(PRESSURE, **params)) == fires


def test_probe_says_why_it_is_quiet(world: World) -> None:
    """Too few; enough; too many left out."""
    world.assemble(5, 0)
    assert (world.probe(PRESSURE).state, world.probe(PRESSURE).have) == ("below_threshold", 5)
    world.assemble(20, 0)
    assert world.probe(PRESSURE).state == "quiet"
    world.assemble(30, 30)
    assert world.probe(PRESSURE).state == "active"
