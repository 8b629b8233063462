# SPDX-License-Identifier: Apache-2.0
"""A recommendation in a few lines: what stays, what is cut, and what a reviewer must see anyway."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deja_tui.present.card import card
from deja_tui.present.line import plain, width
from deja_tui.present.recommendation import plan_row
from tests.present import build
from tests.screens.fake import FakeReviews


def details() -> list:
    reviews = FakeReviews()
    return [reviews.show(row.address) for row in reviews.queue(None)]


@pytest.mark.parametrize("summary", [True, False])
@pytest.mark.parametrize("room", [58, 68, 80])
def test_a_card_has_few_lines_of_one_meaning_each(summary: bool, room: int) -> None:
    """At most five lines that fit, one meaning a line, and the last one names the ways to the rest."""
    for found in details():
        lines = card(found, room, summary=summary, rest="] shows all")
        assert len(lines) <= 5
        assert all(width(one) <= room for one in lines)
        assert all(len({span.meaning for span in one}) <= 1 for one in lines)
        assert plain(lines[-1]).startswith("… ] shows all · evidence ")


def test_what_a_reviewer_must_see_is_on_the_card() -> None:
    """Its address and status; that it cannot be undone; that its chain does not verify; where it came from."""
    found = details()[0]
    head = plain(card(found, 80, summary=False, rest="")[0])
    assert head.startswith(f"-- {found.recommendation.address[:8]}  {found.status}  undo: yes ")
    broken = replace(found, chain=replace(found.chain, verified=False), foreign=True)
    lines = card(broken, 80, summary=False, rest="")
    assert "IMPORTED" in plain(lines[0])
    assert plain(lines[-1]) == "! CHAIN BROKEN: decisions are off"
    erasing = [one for one in details() if one.recommendation.destructive]
    assert all("CANNOT BE UNDONE" in plain(card(one, 80, summary=False, rest="")[1]) for one in erasing)


def test_a_refused_dry_run_stands_on_one_row() -> None:
    """Beside the counts where it fits, alone where not, and cut with the key that shows it where even that is too long."""
    refusal = "LOP-E023 a destructive change needs an earlier approval, the admin right and the flag"
    found = build.plan_of(details()[0].recommendation, refusal, 0)
    wide, narrow, small = (plain(plan_row(found, room, "d")) for room in (200, 110, 60))
    assert wide.startswith("Dry run: ")
    assert wide.endswith(refusal)
    assert narrow == f"Refused now: {refusal}"
    assert small.endswith("…  d shows it")
    assert len(small) <= 60
