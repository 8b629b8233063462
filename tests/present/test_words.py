# SPDX-License-Identifier: Apache-2.0
"""The words shared by all surfaces."""

from __future__ import annotations

import pytest

from deja_tui.present.line import plain
from deja_tui.present.words import (
    age,
    amount,
    fenced,
    fields_line,
    moment,
    named,
    plural,
    ratio,
    says,
    unique_length,
    value_of,
)
from tests.present.hostile import HOSTILE, harmless


@pytest.mark.parametrize("name", HOSTILE)
def test_fenced_text_is_harmless_and_its_fence_cannot_be_closed(name) -> None:
    """Nothing inside a fence acts, and there is exactly one opening and one closing mark."""
    shown = fenced(HOSTILE[name]).text
    assert harmless(shown)
    assert shown[0] == "«"
    assert shown[-1] == "»"
    assert shown.count("«") == shown.count("»") == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_is_no_plain_word_is_fenced(name) -> None:
    """A tool called ``x · fails_with · ok`` cannot pose as three columns."""
    shown = named(HOSTILE[name]).text
    assert harmless(shown)
    assert shown.startswith("«")


def test_a_plain_word_stands_bare() -> None:
    """Names people chose read as names."""
    assert named("stripe_refund").text == "stripe_refund"
    assert named("doc:claude.md").text == "doc:claude.md"
    assert named("two words").text == "«two words»"


def test_values_show_their_kind() -> None:
    """Numbers and truth values are bare, text is fenced, structures are JSON."""
    assert plain(fields_line({"b": "x", "a": 0.4, "c": True, "d": None})) == "a 0.4 · b «x» · c true · d null"
    assert value_of({"k": [1]}).text == '«{"k":[1]}»'


def test_a_share_needs_ten() -> None:
    """Below ten only the counts are shown."""
    assert ratio(5, 7) == "5 of 7"
    assert ratio(4, 10) == "4 of 10 (40 %)"
    assert ratio(8, 9) == "8 of 9"
    assert ratio(1, 3_000) == "1 of 3000 (0 %)"


def test_short_addresses_grow_until_they_differ() -> None:
    """Eight digits, more where two addresses share them."""
    assert unique_length(["a" * 64, "b" * 64]) == 8
    assert unique_length(["a" * 64, "a" * 11 + "b" * 53]) == 12
    assert unique_length(["a" * 64, "a" * 64]) == 8
    assert unique_length([]) == 8


def test_ages_are_short() -> None:
    """The largest whole unit, no blank; nothing is older than now."""
    assert [age(ms) for ms in (-5, 0, 59_000, 61_000, 7_200_000, 3 * 86_400_000)] == [
        "0s",
        "0s",
        "59s",
        "1m",
        "2h",
        "3d",
    ]


def test_what_a_grain_says() -> None:
    """A triple, a tool text with its tool, or all fields: always something."""
    assert plain(says({"subject": "a", "relation": "r", "object": "o p"})) == "a · r · «o p»"
    assert plain(says({"tool_name": "t", "tool_content": "x"})) == "t «x»"
    assert plain(says({"content": ""})) == "«»"
    assert plain(says({"tool_name": "t"})) == "t"
    assert plain(says({"name": "n", "description": "d", "practice_count": 3})) == "n «d» · practice_count 3"
    assert plain(says({"description": "d", "goal_state": "active"})) == "«d» · goal_state «active»"
    assert plain(says({"z": 1})) == '«{"z":1}»'
    assert plain(says({})) == "(empty)"


def test_counting_words() -> None:
    """One line, two lines."""
    assert plural(1, "line") == "1 line"
    assert plural(1_200, "line") == "1,200 lines"
    assert plural(2, "entry", "entries") == "2 entries"


def test_a_time_in_data_is_told_as_a_time() -> None:
    """Epoch ms under ``at`` and names that end so; nothing else."""
    assert (
        moment("at", 1_772_442_000_000) == moment("last_asked_at", 1_772_442_000_000) == "2026-03-02 09:00Z"
    )
    assert [moment("count", 3), moment("at", True), moment("at", "x"), moment("flat", 1)] == [None] * 4


@pytest.mark.parametrize(
    ("unit", "one"),
    [
        ("grains past their declared end", "grain past its declared end"),
        ("subjects with more than one current value", "subject with more than one current value"),
        ("facts or notes stored more than once", "fact or note stored more than once"),
        (
            "applied lessons with more failures after than before",
            "applied lesson with more failures after than before",
        ),
        ("skills practised 5 times or more", "skill practised 5 times or more"),
        ("days of a declared age", "day of a declared age"),
        ("questions without an answer", "question without an answer"),
        ("widgets of a linked analyzer", "widgets of a linked analyzer"),
    ],
)
def test_one_thing_that_was_counted_stands_in_the_singular(unit: str, one: str) -> None:
    """The engine counts in the plural; a person reads "1 grain", and an unknown word stays as its author wrote it."""
    assert amount(1, unit) == f"1 {one}"
    assert amount(1_200, unit) == f"1,200 {unit}"
    assert amount(0, unit) == f"0 {unit}"
