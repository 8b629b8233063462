# SPDX-License-Identifier: Apache-2.0
"""The rule for typed reasons (D16)."""

from __future__ import annotations

import pytest

from deja_tui.present.reasons import BLANK, REPEATED, Sitting, count, unseen


@pytest.mark.parametrize("typed", ["", "   ", "\t\n", "\u200b", "\u3000\u2800"])
def test_a_reason_that_shows_nothing_is_refused(typed) -> None:
    """Blank is blank, also when it is made of invisible characters."""
    assert Sitting().refusal(typed) == BLANK


def test_500_code_points_are_the_most() -> None:
    """Counted after normalising and trimming."""
    sitting = Sitting()
    assert sitting.refusal(" " + "é" * 500 + " ") is None
    assert sitting.refusal("e\u0301" * 500) is None
    assert sitting.refusal("x" * 501) == "a reason has at most 500 characters, this one has 501"
    assert count("  ab ") == 2


@pytest.mark.parametrize("again", ["Retries belong here", "retries BELONG here ", "RETRIES BELONG HERE"])
def test_a_reason_given_before_is_refused_folded(again) -> None:
    """The same words in other letters are the same reason."""
    sitting = Sitting()
    sitting.record("Retries belong here")
    assert sitting.refusal(again) == REPEATED
    assert sitting.refusal("retries belong there") is None


def test_unseen_lines_come_first() -> None:
    """A change is read to its end before it is decided."""
    assert unseen(3, 3) is None
    assert unseen(3, 2) == "1 line of the change not seen yet: read on, then decide"
    assert unseen(9, 2) == "7 lines of the change not seen yet: read on, then decide"
