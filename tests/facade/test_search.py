# SPDX-License-Identifier: Apache-2.0
"""Search through the library's door: scripts, phrases, starts, filters, and nothing that is not live."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deja_tui import Memory
from tests.store.helpers import refuses
from tests.support import DAY, NOW

TEXTS = {
    "chinese": "\u4eca\u5929\u53bb\u5317\u4eac\u51fa\u5dee",
    "japanese": "\u6771\u4eac\u90fd\u306b\u5f15\u3063\u8d8a\u3057\u305f",
    "korean": "\uc11c\uc6b8\uc5d0\uc11c \ub9cc\ub0ac\ub2e4",
    "thai": "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e04\u0e23\u0e31\u0e1a\u0e42\u0e25\u0e01",
    "arabic": "\u0643\u064e\u062a\u064e\u0628\u064e \u0627\u0644\u0631\u0650\u0633\u0627\u0644\u0629",
    "hindi": "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
    "french": "un caf\u00e9 cr\u00e8me, s'il vous pla\u00eet",
    "german": "Die Stra\u00dfe ist gesperrt",
    "russian": "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440",
}
QUERIES = [
    ("chinese", "\u5317\u4eac"),
    ("chinese", "\u51fa\u5dee"),
    ("chinese", '"\u53bb\u5317\u4eac"'),
    ("japanese", "\u6771\u4eac"),
    ("japanese", "\u90fd"),
    ("korean", "\uc11c\uc6b8"),
    ("korean", "\ub9cc\ub0ac\ub2e4"),
    ("thai", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35"),
    ("thai", "\u0e42\u0e25\u0e01"),
    ("arabic", "\u0643\u062a\u0628"),
    ("arabic", "\u0643\u0640\u0640\u062a\u0628 \u0644\u0627"),
    ("arabic", "\u0627\u0644\u0631\u0633*"),
    ("hindi", "\u0926\u0941\u0928\u093f\u092f\u093e"),
    ("french", "cafe CREME"),
    ("french", '"CAFE CREME"'),
    ("french", "plai*"),
    ("german", "stra*"),
    ("russian", "\u043f\u0440\u0438\u0432\u0435\u0442"),
    ("russian", "\u043c\u0438*"),
]


@pytest.fixture(params=[0, 300])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """One text in each script, waiting for the index and in it."""
    with Memory.open(tmp_path / "m.deja", clock=lambda: NOW, durability="normal") as one:
        with one.store.act():
            for name, text in TEXTS.items():
                one.add_observation(text, subject=name)
            for number in range(request.param):
                one.add_observation(f"noise {number}")
        yield one


@pytest.mark.parametrize("script,query", QUERIES)
def test_text_of_every_script_is_found(memory: Memory, script: str, query: str) -> None:
    """Whole words, parts of unspaced runs, without accents and marks, phrases and starts."""
    assert [grain.get("subject") for grain in memory.search(query)] == [script]


def test_filters_of_the_library(memory: Memory) -> None:
    """Namespace, type, subject, time, alone and together; times as everywhere."""
    memory.add_fact("acme", "says", "mango", created_at=NOW - DAY)
    memory.add_goal("sell mango", subject="acme", created_at=NOW)
    memory.add_event("mango", session_id="s", created_at=NOW + DAY, namespace="other")

    def kinds(**asked: Any) -> list[str]:
        return sorted(grain.type for grain in memory.search("mango", **asked))

    assert kinds() == ["fact", "goal"]
    assert kinds(namespace="other") == ["event"]
    assert kinds(type="goal") == ["goal"]
    assert kinds(subject="acme") == ["fact", "goal"]
    assert kinds(subject="ACME") == []
    assert kinds(since=NOW) == ["goal"]
    assert kinds(since=NOW // 1000) == ["goal"]
    assert kinds(since=str(NOW)) == ["goal"]
    assert kinds(before=NOW) == ["fact"]
    assert kinds(before="2026-03-02T09:00:00Z") == ["fact"]
    assert kinds(since="2026-03-01", before="2026-03-01T09:00:00.001Z") == ["fact"]
    assert kinds(subject="acme", type="fact", since=NOW) == []
    with refuses("VAL-E001"):
        kinds(type="facts")
    for wrong in ("yesterday", "", float("nan"), True, [NOW]):
        with refuses("VAL-E002"):
            kinds(since=wrong)
        with refuses("VAL-E002"):
            kinds(before=wrong)


def test_superseded_retired_forgotten_and_foreign_text_is_never_returned(memory: Memory) -> None:
    """Whatever the filter; what took the place is."""
    old = memory.add_fact("acme", "is", "mango one")
    gone = memory.add_fact("acme", "is", "mango two")
    twin, other = memory.add_fact("acme", "was", "mango three"), memory.add_fact("acme", "was", "pear")
    memory.supersede(old, {"object": "papaya"})
    memory.forget(gone, because="asked to")
    memory.retire(twin, by=other, reason="the same")
    for asked in ({}, {"type": "fact"}, {"subject": "acme"}, {"since": 0}, {"before": NOW + DAY}):
        assert memory.search("mango", **asked) == []
        assert len(memory.search("papaya pear", **asked)) == 2
    assert memory.search("retire asked", namespace="agent:authz") == []


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    query=st.text(st.one_of(st.sampled_from('"*():^-+{}\\ '), st.characters()), max_size=20),
    subject=st.none() | st.text(max_size=3),
)
def test_no_text_is_an_error(memory: Memory, query: str, subject: str | None) -> None:
    """Any code points at all, lone surrogates and NUL among them, as a query and as a filter."""
    memory.search(query, subject=subject)
