# SPDX-License-Identifier: Apache-2.0
"""Outcomes as people read them: counts, changed or unchanged, and no more than two numbers can carry (D23)."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from deja_tui.engine.objects import Delivered, Recommendation
from deja_tui.engine.outcomes import CONTRADICTIONS, TOOL_ERRORS, Outcome, Reviewed
from deja_tui.present.outcomes import NONE_YET, counts, outcome_lines, span, word
from deja_tui.present.plain import detail_lines
from deja_tui.present.recommendation import delivered
from deja_tui.text import cells
from tests.present import build
from tests.present.hostile import HOSTILE as TEXTS
from tests.support import DAY, NOW

HOUR = 3_600_000


def outcome(before: int | None, after: int, before_n: int = 9, after_n: int = 9, **over: object) -> Outcome:
    values: dict[str, object] = {
        "recommendation": build.address("r"), "metric": TOOL_ERRORS, "horizon_ms": DAY, "applied_at": NOW,
        "before": before, "before_n": before_n, "after": after, "after_n": after_n, "measured_at": NOW + DAY, **over,
    }  # fmt: skip
    return Outcome(**values)  # type: ignore[arg-type]


def reviewed(one: Outcome, status: str = "applied", **args: object) -> Reviewed:
    return Reviewed(one, status, recommendation(one.recommendation, **args))


def recommendation(address: str, **args: object) -> Recommendation:
    body = build.tool_failure().recommendation
    summary = replace(body.summary, args={**body.summary.args, **args})
    return replace(body, address=address, summary=summary)


@pytest.mark.parametrize(
    ("before", "after", "before_n", "after_n", "told"),
    [
        (5, 5, 90, 90, "unchanged"), (5, 1, 9, 90, "changed"), (5, 1, 90, 9, "changed"), (1, 5, 9, 9, "changed"),
        (5, 1, 10, 10, "fewer"), (1, 5, 10, 10, "more"), (0, 0, 0, 0, "no calls"), (5, 0, 9, 0, "no calls"), (0, 5, 0, 9, "no calls"), (None, 5, 90, 90, "no baseline"),
    ],
)  # fmt: skip
def test_the_word_says_no_more_than_the_counts_carry(
    before: int | None, after: int, before_n: int, after_n: int, told: str
) -> None:
    """D23: fewer and more need ten observations in both spans."""
    assert word(outcome(before, after, before_n, after_n)) == told


def test_both_counts_stand_with_what_they_are_out_of() -> None:
    """No share, whatever the numbers."""
    assert counts(outcome(5, 1, 6, 9)) == "5 of 6 calls failed that way before, 1 of 9 after"
    assert counts(outcome(1, 0, 1, 1)) == "1 of 1 call failed that way before, 0 of 1 after"
    assert counts(outcome(1, 2, metric=CONTRADICTIONS)) == "1 value that conflicts before, 2 after"
    assert counts(outcome(None, 4, horizon_ms=7 * DAY)) == (
        "4 of 9 calls failed that way after; nothing to compare with: the record does not reach 7 days further back"
    )


@pytest.mark.parametrize(
    ("ms", "told"), [(DAY, "1 day"), (7 * DAY, "7 days"), (6 * HOUR, "6 hours"), (90_000, "90 seconds")]
)
def test_a_span_in_words(ms: int, told: str) -> None:
    """Horizons of a draft may be other than days."""
    assert span(ms) == told


def test_the_report_of_a_recommendation_is_one_block() -> None:
    """Its heading once, its spans from short to long; what was measured last comes first."""
    other = build.address("other")
    found = [
        reviewed(outcome(9, 2, 20, 30, horizon_ms=7 * DAY, measured_at=NOW + 7 * DAY)),
        reviewed(outcome(5, 1, 6, 9)),
        reviewed(outcome(None, 1, recommendation=other, measured_at=NOW + 2 * DAY), "rolled_back"),
    ]
    lines = outcome_lines(found, 200)
    assert [line for line in lines if not line.startswith(" ")] == [lines[0], lines[3]]
    assert lines[1] == "  1 day: 5 of 6 calls failed that way before, 1 of 9 after: changed"
    assert lines[2] == "  7 days: 9 of 20 calls failed that way before, 2 of 30 after: fewer"
    assert lines[3].startswith(f"{other[:8]}  rolled back, in effect from 2026-03-02 09:00Z")
    assert "%" not in "".join(lines)


def test_nothing_yet_says_when() -> None:
    """A person who looks too early is told."""
    assert outcome_lines([], 80) == [NONE_YET]


@pytest.mark.parametrize("width", [40, 80, 160])
@pytest.mark.parametrize("name", TEXTS)
def test_hostile_text_stays_in_its_line(name: str, width: int) -> None:
    """Every line is printable and within its cells."""
    lines = outcome_lines([reviewed(outcome(1, 2), signature=TEXTS[name], tool=TEXTS[name])], width)
    for line in lines:
        assert line.isprintable()
        assert cells(line) <= width


def test_no_word_claims_a_cause() -> None:
    """D23: a memory knows what came before and after, not why."""
    told = " ".join(outcome_lines([reviewed(outcome(9, 2, 20, 30))], 120))
    assert not re.search(r"\b(improved|worse|better|fixed|regress|helped|because)\w*", told)


def test_a_detail_shows_what_was_measured_and_delivered() -> None:
    """D23 and D53: under the finding, in the words of the report; before the first horizon it says so."""
    detail = replace(build.tool_failure(), status="applied", plan=None)
    metric = {"metric": TOOL_ERRORS, "subject": "t", "relation": "boom"}
    detail = replace(detail, recommendation=replace(detail.recommendation, metric=metric))
    assert any("not measured yet" in told for told in detail_lines(detail, NOW, 100))
    measured = (outcome(5, 1, 6, 9), outcome(9, 2, 20, 30, horizon_ms=7 * DAY))
    told = detail_lines(replace(detail, outcomes=measured, delivered=Delivered(3, NOW)), NOW, 100)
    rows = [line.strip() for line in told if re.match(r" (outcome|delivered) ", line)]
    assert [re.sub(" +", " ", row) for row in rows] == [
        "outcome 1 day: 5 of 6 calls failed that way before, 1 of 9 after: changed",
        "outcome 7 days: 9 of 20 calls failed that way before, 2 of 30 after: fewer",
        "delivered 3 times, last 2026-03-02 09:00Z",
    ]
    assert delivered(Delivered(1, NOW)) == "once, last 2026-03-02 09:00Z"
