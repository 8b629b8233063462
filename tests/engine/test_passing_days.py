# SPDX-License-Identifier: Apache-2.0
"""Days that pass are no news: an open finding that only grew older keeps its address, so that a decision still fits it."""

from __future__ import annotations

import pytest

from deja_tui.engine import views
from deja_tui.engine.pipeline import AnalyzerConfig
from deja_tui.engine.substrate import NewGrain
from deja_tui.reference import ReferenceSubstrate
from tests.engine.helpers import fact, go
from tests.support import DAY, NOW

ON = {
    "loop.goal_stagnation/1": AnalyzerConfig(enabled=True),
    "loop.retention_sweep/1": AnalyzerConfig(enabled=True, params={"max_age_days": 200}),
}


@pytest.mark.parametrize("days", [1, 2, 9])
def test_a_finding_that_only_grew_older_stays_as_it_is(days: int) -> None:
    """Staleness, goals, retention: the same addresses after days without anything new, at a full sweep, too (RUN-2)."""
    substrate = ReferenceSubstrate()
    fact(substrate, "promo", "code", "x", NOW - 300 * DAY, valid_to=NOW - 20 * DAY)
    content = {"description": "tidy up", "goal_state": "active", "progress": 0.0}
    substrate.put(NewGrain("goal", "shared", NOW - 40 * DAY, content))
    assert go(substrate, config=ON).stored >= 4
    before = [row.address for row in views.ledger(substrate)]
    outcome = go(substrate, NOW + days * DAY, config=ON, full=True)
    assert (outcome.stored, outcome.refreshed, outcome.closed) == (0, 0, 0)
    assert [row.address for row in views.ledger(substrate)] == before


def test_a_finding_that_became_more_severe_is_refreshed() -> None:
    """More than ninety days past its end is another severity: that is news."""
    substrate = ReferenceSubstrate()
    fact(substrate, "promo", "code", "x", NOW - 300 * DAY, valid_to=NOW - 90 * DAY)
    go(substrate)
    assert go(substrate, NOW + 2 * DAY).refreshed == 1
    (row,) = views.ledger(substrate)
    assert row.severity == "medium"
