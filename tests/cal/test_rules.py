# SPDX-License-Identifier: Apache-2.0
"""Numbered rules of the language that no larger test is about, each by itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from html import unescape
from math import log
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.cal import CalError, Session, ast, parse
from deja_tui.cal.conditions import Binder, Env, matcher
from deja_tui.cal.lexer import RAW, STRING, tokens
from deja_tui.cal.renderers import render
from deja_tui.cal.renderers.page import Page, content, safe
from deja_tui.cal.rows import Row
from deja_tui.facade import Memory
from deja_tui.store import filters
from deja_tui.store.filters import AllOf, OneOf, Selection, Within
from tests.cal import trees
from tests.cal.corpus import NOW, host_of

Told = Callable[..., dict[str, Any]]


def fits(where: str, type_: str, fields: dict[str, Any]) -> bool:
    """Whether a row with these fields passes a condition."""
    statement = parse(f"RECALL {type_}s WHERE {where}").query.statement
    assert isinstance(statement, ast.Recall)
    assert statement.where is not None
    keep = matcher(Binder(Env("", NOW), type_).bind(statement.where))
    return keep(Row("a" * 64, type_, 1.0, fields, None))


# --- conditions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "fields", "right"),
    [
        ('user_id = "u"', {}, False),
        ('user_id != "u"', {}, False),
        ('NOT user_id = "u"', {}, True),
        ('NOT user_id != "u"', {}, True),
        ('user_id NOT IN ("u")', {}, False),
        ("confidence < 1", {}, False),
        ("confidence >= 0", {"confidence": "high"}, False),
        ("NOT confidence >= 0", {"confidence": "high"}, True),
        ('content CONTAINS "x"', {"content": 7}, False),
        ("user_id IS NULL", {}, True),
        ("user_id IS NOT NULL", {}, False),
        ("user_id IS NULL", {"user_id": ""}, False),
        ('tags INCLUDE ["a"]', {}, False),
        ('tags EXCLUDE ["a"]', {}, True),
        ('tags EXCLUDE ["a"]', {"structural_tags": ["b", "a"]}, False),
        ("importance = 1", {"importance": True}, False),
        ("importance != 1", {"importance": True}, False),
        ('user_id = "u" OR NOT user_id = "u"', {}, True),
    ],
)
def test_a_comparison_with_what_is_missing_is_false_and_its_not_is_true(
    where: str, fields: dict[str, Any], right: bool
) -> None:
    """COND-2: two values, no third one."""
    assert fits(where, "event", fields) is right


@given(st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), st.none() | st.floats(0, 1), st.floats(0, 1))
def test_not_is_the_opposite_whatever_is_compared(op: str, held: float | None, asked: float) -> None:
    """COND-2: for every comparison and every value, a missing one too."""
    fields = {} if held is None else {"confidence": held}
    one = fits(f"confidence {op} {asked:.6f}", "event", fields)
    assert fits(f"NOT confidence {op} {asked:.6f}", "event", fields) is not one


def test_text_compares_by_code_point_on_one_normal_form(memory: Memory, told: Told) -> None:
    """COND-4: é is é however it is composed, E is not e, and order is that of code points."""
    for value in ("e\u0301", "E", "e", "z", "Z"):
        memory.add_fact("a", "b", value)

    def objects(where: str, params: Any = None) -> list[str]:
        text = f"RECALL facts WHERE {where} ORDER BY object"
        return [row["fields"]["object"] for row in told(text, params)["grains"]]

    assert objects('object = "\u00e9"') == objects('object = "e\u0301"') == ["\u00e9"]
    assert objects("object = $v", {"v": "e\u0301"}) == ["\u00e9"]
    assert objects('object = "e"') == ["e"]
    assert objects('object > "Z"') == ["e", "z", "\u00e9"]
    assert objects('object STARTS WITH "e"') == ["e"]


# --- before anything is read ------------------------------------------------------------------------


class Untouched:
    """A store that nobody may ask anything."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the store was asked for {name}")


@pytest.fixture
def blind(memory: Memory) -> Session:
    untouched: Any = Untouched()
    return Session(replace(host_of(memory), store=untouched))


WRITES = [
    'ADD fact SET subject = "a" SET relation = "b" SET object = "c" REASON "r"',
    f'SUPERSEDE sha256:{"a" * 64} SET object = "x" REASON "r"',
    f'FORGET sha256:{"a" * 64} BECAUSE "r"',
    'DEFINE QUERY "q" AS { RECALL facts }',
    'DROP QUERY "q"',
    f'APPLY sha256:{"a" * 64} BECAUSE "r"',
    "RUN LOOP",
    'BATCH { RECALL facts ; REMEMBER "x" }',
]


@pytest.mark.parametrize("text", WRITES)
def test_what_may_not_run_touches_nothing(text: str, blind: Session) -> None:
    """EXEC-1: refused by its class before the store is asked for anything."""
    for call in (blind.run, blind.script):
        with pytest.raises(CalError) as caught:
            call(text, read_only=True)
        assert caught.value.code in ("CAL-E044", "CAL-E002")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('RECALL facts ABOUT "a" LIKE "b"', "CAL-E060"),
        ("RECALL facts RECENT 3 LIMIT 4", "CAL-E060"),
        ("RECALL facts RECENT 3 ORDER BY confidence", "CAL-E060"),
        ('RECALL facts SINCE "2026" BETWEEN "2026" AND "2027"', "CAL-E060"),
        ('RECALL facts SINCE "2026" WHERE time = "2026"', "CAL-E060"),
        ('RECALL MY facts WHERE user_id = "u"', "CAL-E060"),
        ('RECALL facts WHERE nothing = "x"', "CAL-E060"),
        ('RECALL facts WHERE confidence = "high"', "CAL-E020"),
        ("RECALL facts WHERE subject = $nobody", "CAL-E008"),
        ("RECALL facts LIMIT 1001", "CAL-E010"),
        ('RECALL facts SINCE "someday"', "CAL-E020"),
        ("RECALL facts ORDER BY nothing", "CAL-E060"),
        ('RECALL facts WHERE hash = "abc"', "CAL-E015"),
        ("RECALL *", "CAL-E092"),
        ("RECALL grains WHERE confidence = 1", "CAL-E092"),
        ('RECALL WHERE NOT namespace = "x"', "CAL-E060"),
        ("RECALL all LIMIT 3", "CAL-E092"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_read(
    text: str, code: str, blind: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PLAN-1, PLAN-3: conflicts, unknown fields, values that do not fit, and asking for everything of every type."""
    monkeypatch.setattr(Untouched, "snapshot", lambda self: nullcontext(), raising=False)
    monkeypatch.setattr(
        Untouched, "reading", lambda self: SimpleNamespace(in_transaction=False), raising=False
    )
    with pytest.raises(CalError) as caught:
        blind.run(text)
    assert caught.value.code == code


@pytest.mark.parametrize("where", ['subject = "a"', 'session_id = "s"', f'hash = "{"a" * 64}"'])
def test_without_a_type_a_key_is_enough(where: str, told: Told) -> None:
    """PLAN-3: a subject, a session or an address; or a text."""
    assert told(f"RECALL WHERE {where}")["grains"] == []
    assert told('RECALL ABOUT "x"')["grains"] == []


def test_a_saved_query_is_no_grain(memory: Memory, told: Told) -> None:
    """QUERY-3: it lies in the settings; nothing arrives, nothing is recalled, and it can be dropped without a trace."""
    before = memory.store.stats()
    told('DEFINE QUERY "mine" AS { RECALL facts }')
    told('DEFINE TEMPLATE mine AS "{{subject}}"')
    after = memory.store.stats()
    assert (after["grains"], after["operations"]) == (before["grains"], before["operations"])
    assert list(memory.store.settings("cal.query:")) == ["cal.query:mine"]
    told('DROP QUERY "mine"')
    assert memory.store.settings("cal.query:") == {}


# --- tokens -----------------------------------------------------------------------------------------


def test_places_count_characters_of_the_normalised_text() -> None:
    """LEX-2: what was composed is one character, in spans and in columns."""
    kept, found = tokens('RECALL facts WHERE object = "e\u0301e\u0301" nonsense')
    assert kept.count("\u00e9") == 2
    (string,) = [token for token in found if token.kind == STRING]
    assert kept[string.start : string.end] == string.text == '"\u00e9\u00e9"'
    with pytest.raises(CalError) as caught:
        parse('RECALL facts WHERE object = "e\u0301e\u0301" nonsense')
    assert caught.value.place is not None
    assert caught.value.place.column == len('RECALL facts WHERE object = "éé" ') + 1
    assert caught.value.place.shown[len(caught.value.place.caret) - len("nonsense") :].startswith("nonsense")


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("HEADER { a }", " a "),
        ("HEADER{a { b } c}", "a { b } c"),
        (
            "HEADER { {{#each grains}} { {{subject}} } {{/each}} }",
            " {{#each grains}} { {{subject}} } {{/each}} ",
        ),
        ("HEADER { \"a quote, -- no comment, ' no matter }", " \"a quote, -- no comment, ' no matter "),
    ],
)
def test_a_section_is_raw_up_to_its_brace(text: str, raw: str) -> None:
    """LEX-4: braces in pairs and template braces are part of it; nothing in it is a token."""
    _, found = tokens(text)
    assert next(token.text for token in found if token.kind == RAW) == raw


def test_a_section_that_is_not_closed_is_told_where_it_began() -> None:
    """LEX-4: the place is the opening brace."""
    with pytest.raises(CalError) as caught:
        tokens("HEADER { {{x}} ")
    assert (caught.value.code, caught.value.place is not None and caught.value.place.column) == (
        "CAL-E002",
        8,
    )


# --- candidates -------------------------------------------------------------------------------------


def test_exact_filters_let_nothing_else_through(memory: Memory) -> None:
    """FILTER-2: time, arrival, session, address, type and namespace need no second look."""
    store = memory.store
    told: list[Any] = []
    for number in range(30):
        space, session = f"n{number % 2}", f"s{number % 3}"
        told.append(
            (("event", {"content": f"c{number}", "session_id": session}), NOW + number, space, "live")
        )
        fact = {"subject": "a", "relation": "b", "object": f"{number}", "session_id": session}
        told.append((("fact", fact), NOW + number, "n0", "live"))
    trees.fill(store, told)
    everything = list(store.scan("event", namespaces=["n0"]))
    middle = everything[7]
    asked = [
        (Within("created_at", NOW + 4, NOW + 9), lambda g: NOW + 4 <= g.created_at <= NOW + 9),
        (Within("arrival", middle.seq, None), lambda g: g.seq >= middle.seq),
        (OneOf("session_id", ("s1", "s9")), lambda g: g.get("session_id") == "s1"),
        (OneOf("hash", (middle.address,)), lambda g: g.address == middle.address),
        (AllOf((OneOf("session_id", ("s0",)), Within("arrival", None, middle.seq))),
         lambda g: g.get("session_id") == "s0" and g.seq <= middle.seq),
    ]  # fmt: skip
    for where, right in asked:
        found = store.candidates(Selection(("n0",), ("event",), where)).grains()
        assert [grain.seq for grain in found] == [g.seq for g in reversed(everything) if right(g)], where


@pytest.mark.parametrize("where", [None, OneOf("subject", ("a",))])
def test_who_stops_early_decodes_no_more_than_it_took(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, where: Any
) -> None:
    """FILTER-4: by an index and along the table."""
    with memory.store.act():
        for number in range(80):
            memory.add_fact("a", "b", f"{number}")
    decoded: list[Any] = []
    monkeypatch.setattr(filters, "stored", lambda row, real=filters.stored: decoded.append(1) or real(row))
    with memory.store.snapshot():
        taken = memory.store.candidates(Selection(("shared",), ("fact",), where)).grains()
        for number in range(1, 4):
            next(taken)
            assert len(decoded) == number


def test_scores_are_those_of_the_formula(memory: Memory, told: Told) -> None:
    """FILTER-5: BM25 with k1 = 1.2 and b = 0.75, a word counted once a grain, from the index and from its tail alike."""
    texts = ["tea", "tea tea tea", "tea with lemon", "coffee", "lemon and honey and more of that"]
    for text in texts:
        memory.add("event", {"content": text})

    def scores(question: str) -> dict[str, float]:
        return {
            row["fields"]["content"]: row["score"]
            for row in told(f'RECALL events ABOUT "{question}"')["grains"]
        }

    sizes = [len(text.split()) for text in texts]
    mean = sum(sizes) / len(sizes)

    def right(text: str, question: str) -> float:
        total = 0.0
        for word in question.split():
            holders = sum(word in other.split() for other in texts)
            if word in text.split():
                idf = log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
                size = len(text.split())
                total += idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * size / mean))
        return total

    for question in ("tea", "lemon", "tea lemon"):
        wanted = {text: right(text, question) for text in texts if right(text, question)}
        assert scores(question) == pytest.approx(wanted, rel=1e-9)


def test_of_a_common_word_the_newest_are_scored_and_that_is_said(
    memory: Memory, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FILTER-5: and where an index reaches few grains nothing is left out."""
    monkeypatch.setattr(filters, "HOLDERS", 5)
    with memory.store.act():
        for number in range(400):  # enough to be in the index
            memory.add("event", {"content": f"tea {number}", "session_id": f"s{number % 40}"})
    result = told('RECALL events ABOUT "tea" LIMIT 1000')
    assert [warning[:8] for warning in result["warnings"]] == ["CAL-W015"]
    assert len(result["grains"]) < 400
    one = told('RECALL events ABOUT "tea" WHERE session_id = "s0"')
    assert len(one["grains"]) == 10
    assert "warnings" not in one


# --- rendering --------------------------------------------------------------------------------------


@given(st.text(max_size=60))
def test_safe_text_is_one_harmless_line(text: str) -> None:
    """REND-1: no line break, tab, control, bidi or zero-width character."""
    told = safe(text)
    assert len(told.splitlines()) <= 1
    assert not re.search("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]", told)


SAID: list[tuple[str, dict[str, Any]]] = [
    ("fact", {"subject": "ana", "relation": "mg:prefers", "object": "window seat"}),
    ("event", {"content": "hello there", "role": "user"}),
    ("tool", {"tool_name": "search", "tool_content": "three results", "is_error": False}),
    ("observation", {"object": "opened twice", "observer_id": "web"}),
    ("goal", {"description": "book it", "goal_state": "active"}),
    ("skill", {"name": "triage", "description": "sort tickets"}),
    ("reasoning", {"conclusion": "it is late"}),
    ("consensus", {"agreed_content": "green light"}),
]


@pytest.mark.parametrize(("type_", "fields"), SAID, ids=[type_ for type_, _ in SAID])
def test_a_grain_says_the_same_in_every_format(type_: str, fields: dict[str, Any]) -> None:
    """REND-2: sml, toon, markdown and text differ in what stands around the content."""
    row = Row("a" * 64, type_, 1.0, {**fields, "created_at": NOW}, None)
    page = Page((row,), NOW)
    said = content(row, page)
    assert said
    for name in ("sml", "toon", "markdown", "text"):
        assert said in unescape(render(name, page)), name
