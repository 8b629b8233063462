# SPDX-License-Identifier: Apache-2.0
"""Contexts under a budget: the unit is said, the cost is measured, the budget is never exceeded, nothing is lost unseen."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deja_tui.cal import CalError, Host, Overflow, Session
from deja_tui.facade import Memory
from tests.cal.corpus import host_of

Told = Callable[..., dict[str, Any]]
TWO = "a: (RECALL facts), b: (RECALL events)"


@pytest.fixture
def filled(memory: Memory) -> Memory:
    with memory.store.act():
        for number in range(12):
            memory.add_fact("s", f"r{number % 3}", "x" * (number * 5 + 1))
            memory.add("event", {"content": "y" * (number * 11 + 1), "role": "user"})
    return memory


def cost(row: dict[str, Any]) -> int:
    """What a row costs, computed anew: a quarter of the bytes of its fields as compact JSON."""
    return max(1, len(json.dumps(row["fields"], ensure_ascii=False, separators=(",", ":")).encode()) // 4)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    budget=st.integers(1, 700),
    unit=st.sampled_from(["tokens", "grains"]),
    priority=st.sampled_from(["", "PRIORITY b > a", "PRIORITY a: 0.9, b: 0.1", "PRIORITY a: 1, b: 1"]),
)
def test_the_budget_is_never_exceeded_and_what_is_left_out_is_named(
    filled: Memory, budget: int, unit: str, priority: str
) -> None:
    """ASM-1, ASM-3: whatever the shares, also where they add up to more than the whole."""
    result = Session(host_of(filled)).run(f"ASSEMBLE FROM {TWO} BUDGET {budget} {unit} {priority}").as_json()
    spent = [cost(row) if unit == "tokens" else 1 for row in result["grains"]]
    assert sum(spent) == result["total_tokens"] <= budget == result["budget_limit"]
    assert result["budget_unit"] == unit
    assert [row["hash"] for row in result["grains"]] == result["included"]
    assert len(result["included"]) + len(result["dropped"]) == result["total_available"] == 24
    assert not set(result["included"]) & set(result["dropped"])
    for source in result["sources"]:
        assert source["tokens_used"] <= source["tokens_allocated"]
    assert sum(source["tokens_used"] for source in result["sources"]) == result["total_tokens"]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    budget=st.integers(1, 400),
    unit=st.sampled_from(["tokens", "grains", ""]),
    source=st.sampled_from(
        ["facts", '(RECALL events LIMIT 9) WHERE role = "user"', 'facts WHERE subject = "s" RECENT 7']
    ),
)
def test_the_budget_of_one_source_is_never_exceeded(
    filled: Memory, budget: int, unit: str, source: str
) -> None:
    """ASM-1, ASM-2: grains unless told otherwise; what is left out is named here too."""
    result = Session(host_of(filled)).run(f"ASSEMBLE FROM {source} BUDGET {budget} {unit}").as_json()
    spent = [cost(row) if unit == "tokens" else 1 for row in result["grains"]]
    assert sum(spent) == result["budget"]["used"] <= budget == result["budget"]["limit"]
    assert result["budget"]["unit"] == (unit or "grains")
    everything = Session(host_of(filled)).run(f"ASSEMBLE FROM {source}").as_json()["grains"]
    assert [row["hash"] for row in result["grains"]] + result["dropped"] == [
        row["hash"] for row in everything
    ]


def test_a_context_that_takes_too_long_ends(
    filled: Memory, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ASM-5: between two sources, and while one of them reads; other statements have no such limit."""
    ticks = iter(range(0, 10**12, 4_000_000_000))
    monkeypatch.setattr("deja_tui.cal.assemble.monotonic_ns", lambda: 0)
    monkeypatch.setattr("deja_tui.cal.reads.monotonic_ns", lambda: next(ticks))
    with pytest.raises(CalError) as caught:
        told("ASSEMBLE FROM a: (RECALL facts), b: (RECALL events), c: (RECALL tools), d: (RECALL goals)")
    assert caught.value.code == "CAL-E071"
    monkeypatch.setattr("deja_tui.cal.reads._LOOKS", 3)
    monkeypatch.setattr("deja_tui.cal.reads.monotonic_ns", lambda: 10_000_000_001)
    with pytest.raises(CalError) as caught:
        told("ASSEMBLE FROM facts")
    assert caught.value.code == "CAL-E071"
    assert len(told("RECALL facts")["grains"]) == 12
    monkeypatch.setattr("deja_tui.cal.reads.monotonic_ns", lambda: 10_000_000_000)
    assert len(told("ASSEMBLE FROM facts")["grains"]) == 12


def test_more_grains_than_a_context_takes_are_cut_with_a_warning(
    filled: Memory, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ASM-5: over all sources, after each grain was counted once."""
    monkeypatch.setattr("deja_tui.cal.assemble.MAX_ASSEMBLED", 15)
    result = told(f"ASSEMBLE FROM {TWO} BUDGET 16000")
    assert [source["grain_count"] for source in result["sources"]] == [12, 3]
    assert [text[:8] for text in result["warnings"]] == ["CAL-W015"]
    assert "warnings" not in told("ASSEMBLE FROM a: (RECALL facts), b: (RECALL facts) BUDGET 16000")


@pytest.mark.parametrize(
    ("labels", "priority", "shares"),
    [
        ("abcde", "", [434, 260, 156, 94, 56]),
        ("ab", "PRIORITY b > a", [333, 667]),
        ("abc", "PRIORITY c > a", [333, 0, 667]),
        ("ab", "PRIORITY b: 0.25", [0, 250]),
        ("a", "", [1000]),
        ("abcd", "", [400, 280, 200, 120]),
    ],
)
def test_shares_follow_the_weights_halves_up(
    labels: str, priority: str, shares: list[int], told: Told
) -> None:
    """Default weights by count, ranked ones, given ones; labels not named get nothing."""
    sources = ", ".join(f"{label}: (RECALL facts)" for label in labels)
    result = told(f"ASSEMBLE FROM {sources} BUDGET 1000 {priority}")
    assert [source["tokens_allocated"] for source in result["sources"]] == shares


def test_one_source_counts_grains_unless_told_otherwise(filled: Memory, told: Told) -> None:
    """ASM-2: and the result says which."""
    result = told("ASSEMBLE FROM facts BUDGET 3")
    assert len(result["grains"]) == 3
    assert result["budget"] == {"unit": "grains", "limit": 3, "used": 3}
    assert len(result["dropped"]) == 9
    result = told("ASSEMBLE FROM facts BUDGET 100 tokens")
    assert sum(map(cost, result["grains"])) == result["budget"]["used"] <= 100
    assert "budget" not in told("ASSEMBLE FROM facts")


def test_a_row_that_does_not_fit_ends_its_source_also_the_first(filled: Memory, told: Told) -> None:
    """BUDGET 1 gives nothing rather than something too large."""
    result = told(f"ASSEMBLE FROM {TWO} BUDGET 1")
    assert result["grains"] == []
    assert result["total_tokens"] == 0
    assert len(result["dropped"]) == 24


def test_a_grain_stands_once_in_the_first_source_that_has_it(filled: Memory, told: Told) -> None:
    """ASM-4, by address and by the value of a field."""
    result = told("ASSEMBLE FROM a: (RECALL facts LIMIT 2), b: (RECALL facts LIMIT 5) BUDGET 16000")
    assert [source["grain_count"] for source in result["sources"]] == [2, 3]
    result = told(
        'ASSEMBLE FROM a: (RECALL facts), b: (RECALL facts WHERE relation = "r1") PRIORITY b > a WITH dedup(relation)'
    )
    assert [source["grain_count"] for source in result["sources"]] == [3, 0]


def test_bindings_and_addresses_are_sources(filled: Memory, told: Told) -> None:
    """A LET binding with or without a label, literal addresses, parameters."""
    result = told(
        'LET $x = RECALL facts WHERE relation = "r1"; ASSEMBLE FROM f: ($x), e: (RECALL events LIMIT 1)'
    )
    assert [source["grain_count"] for source in result["sources"]] == [4, 1]
    addresses = [row["hash"] for row in told("RECALL facts LIMIT 2")["grains"]]
    for text, params in (
        ("ASSEMBLE FROM " + ", ".join(f"sha256:{address}" for address in addresses), None),
        ("ASSEMBLE FROM $x", {"x": addresses}),
    ):
        assert [row["hash"] for row in told(text, params)["grains"]] == addresses
    with pytest.raises(CalError) as caught:
        told("ASSEMBLE FROM $x", {"x": "no address"})
    assert caught.value.code == "CAL-E015"


def test_an_overflow_is_told_to_the_host_without_any_text(filled: Memory) -> None:
    """ASM-3: counts and addresses, for whoever records them."""
    seen: list[Overflow] = []
    base = host_of(filled)
    session = Session(Host(base.store, base.namespace, base.clock, overflow=seen.append))
    session.run(f'ASSEMBLE "ctx" FROM {TWO} BUDGET 200')
    session.run("ASSEMBLE FROM facts BUDGET 2")
    session.run("ASSEMBLE FROM facts BUDGET 100")
    assert [(told.name, told.unit, told.limit) for told in seen] == [
        ("ctx", "tokens", 200),
        ("", "grains", 2),
    ]
    assert seen[0].used <= 200
    assert seen[0].included + len(seen[0].dropped) == 24


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ASSEMBLE FROM facts BUDGET 0", "CAL-E033"),
        ("ASSEMBLE FROM facts BUDGET $n", "CAL-E033"),
        (f"ASSEMBLE FROM {TWO} PRIORITY z > a", "CAL-E035"),
        ("ASSEMBLE FROM a: ($x)", "CAL-E008"),
        ("ASSEMBLE FROM facts WHERE colour = 1", "CAL-E060"),
        ('ASSEMBLE FROM (RECALL facts) WHERE colour = "x"', "CAL-E060"),
        ("ASSEMBLE FROM a: (RECALL facts WITH hyde)", "CAL-E116"),
        ("ASSEMBLE FROM a: (RECALL facts WITH dedup(colour))", "CAL-E060"),
        (f"ASSEMBLE FROM {TWO} ORDER BY object", "CAL-E021"),
    ],
)
def test_what_cannot_be_assembled_is_refused(text: str, code: str, told: Told) -> None:
    """With a code, before it is rendered."""
    with pytest.raises(CalError) as caught:
        told(text, {"n": 16_001})
    assert caught.value.code == code


@pytest.mark.parametrize("form", ["sml", "toon", "markdown", "text", "table", "[sml AS a, text AS b]"])
def test_a_text_says_what_is_in_it_and_what_was_left_out(filled: Memory, told: Told, form: str) -> None:
    """ASM-1: in every form the addresses of what is in a text and of what did not fit are reported, with its cost."""
    statement = f"ASSEMBLE FROM {TWO} BUDGET 60"
    rows, text = told(statement), told(f"{statement} FORMAT {form}")
    assert rows["dropped"]
    assert (text["included"], text["dropped"]) == (rows["included"], rows["dropped"])
    assert text["budget"]["used"] == rows["total_tokens"] <= text["budget"]["limit"] == 60
