# SPDX-License-Identifier: Apache-2.0
"""Saved queries: parsed, read-only, bound on the tree; templates: a closed language that cannot fail while it renders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.cal import CalError, Session, queries, template_text
from deja_tui.cal.template_text import Scope, TemplateFault
from deja_tui.facade import Memory
from tests.cal.corpus import host_of

Told = Callable[..., dict[str, Any]]


def refused(told: Told, text: str, params: Any = None) -> str:
    with pytest.raises(CalError) as caught:
        told(text, params)
    return caught.value.code


@pytest.fixture
def facts(memory: Memory) -> Memory:
    for subject, value in (("a", "tea"), ("a", "rum"), ("b", "tea")):
        memory.add_fact(subject, "likes", value)
    return memory


# --- saved queries ----------------------------------------------------------------------------------


def test_a_query_is_kept_with_its_help_and_run_with_its_values(facts: Memory, told: Told) -> None:
    """Defined, described, run, replaced, dropped; it lies in the settings, not among the grains."""
    told(
        'DEFINE QUERY "of" ($who, $n = 5) DESCRIPTION "likes of one" AS { RECALL facts WHERE subject = $who LIMIT $n }'
    )
    shown = told('DESCRIBE QUERY "of"')["info"]
    assert shown["description"] == "likes of one"
    assert shown["params"] == [
        {"name": "who", "required": True, "default": None},
        {"name": "n", "required": False, "default": 5},
    ]
    assert len(told('RUN "of" ($who = "a")')["grains"]) == 2
    assert len(told('RUN "of" ($who = "a", $n = 1)')["grains"]) == 1
    assert len(told('RUN "of" ($who = $w)', {"w": "b"})["grains"]) == 1
    assert told("RECALL facts COUNT")["count"] == 3
    told('DEFINE QUERY "of" AS { RECALL facts }')
    assert len(told('RUN "of"')["grains"]) == 3
    told('DROP QUERY "of"')
    assert refused(told, 'RUN "of"') == "CAL-E051"


def test_values_of_the_caller_do_not_leak_into_a_body(facts: Memory, told: Told) -> None:
    """EXEC-3: a body sees its own parameters only, and values are never text of it."""
    told('DEFINE QUERY "q" ($p) AS { RECALL facts WHERE subject = $p OR subject = "zzz" }')
    assert told('RUN "q" ($p = "$other")', {"other": "a"})["grains"] == []
    assert told('RUN "q" ($p = "a\\" OR subject = \\"b")')["grains"] == []
    assert refused(told, 'DEFINE QUERY "r" AS { RECALL facts WHERE subject = $p }') == "CAL-E008"
    assert (
        refused(
            told,
            'DEFINE QUERY "r" ($p) AS { LET $x = RECALL facts SUBJECTS; RECALL facts WHERE subject IN $y }',
        )
        == "CAL-E008"
    )


def test_stages_options_and_format_at_the_call_come_after(facts: Memory, told: Told) -> None:
    """The body's own format is used unless the call has stages or a format."""
    told('DEFINE QUERY "q" AS { RECALL facts ORDER BY object FORMAT text }')
    assert told('RUN "q"')["text"] == "a likes rum\nb likes tea\na likes tea\n"
    assert told('RUN "q" LIMIT 1')["type"] == "grains"
    assert told('RUN "q" LIMIT 1 FORMAT markdown')["format"] == "markdown"
    assert told('RUN "q" WITH dedup(object)')["grain_count"] == 2


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("RECALL facts WHERE colour = 1", "CAL-E060"),
        ("RECALL facts ORDER BY tool_name", "CAL-E060"),
        ("RECALL facts RECENT 0", "CAL-E010"),
        ("RECALL *", "CAL-E092"),
        ('RECALL facts WHERE confidence = "x"', "CAL-E020"),
        ("RECALL nothings", "CAL-E059"),
        ('BATCH { RUN "x" }', "CAL-E057"),
    ],
)
def test_what_could_never_run_is_not_saved(body: str, code: str, told: Told) -> None:
    """A body is checked clause by clause when it is defined."""
    assert refused(told, f'DEFINE QUERY "q" AS {{ {body} }}') == code
    assert refused(told, 'DESCRIBE QUERY "q"') == "CAL-E051"


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("a", True),
        ("Likes of 2", True),
        ("a-b_c", True),
        ("agent/ops-1/triage", True),
        ("1a", False),
        (" a", False),
        ("a ", False),
        ("a  b", False),
        ("a/b", False),
        ("agent/Ops/x", False),
        ("agent/ops/" + "x" * 17, False),
        ("é", False),
        ("a\nb", False),
    ],
)
def test_names_are_plain(name: str, good: bool, told: Told) -> None:
    """A name can stand on any line."""
    text = f'DEFINE QUERY "{name}" AS {{ RECALL facts }}'
    if good:
        assert told(text)["name"] == name
    else:
        assert refused(told, text) == "CAL-E115"


def test_at_most_100_queries_with_the_built_in_ones(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redefining one is no new one."""
    monkeypatch.setattr(queries, "MAX_QUERIES", len(queries.builtin()) + 1)
    told('DEFINE QUERY "one" AS { RECALL facts }')
    told('DEFINE QUERY "one" AS { RECALL events }')
    assert refused(told, 'DEFINE QUERY "two" AS { RECALL facts }') == "CAL-E053"


@pytest.mark.parametrize("name", sorted(queries.builtin()))
def test_every_built_in_query_runs_and_has_one_line_of_help(name: str, facts: Memory, told: Told) -> None:
    """Its parameters are bound, nothing of it is without effect."""
    query = queries.builtin()[name]
    assert query.description
    assert "\n" not in query.description
    recommendation = facts.add_fact("x", "y", "z")
    values = {"recommendation": recommendation, "now": 5}
    arguments = ", ".join(f"${parameter} = $v_{parameter}" for parameter, _ in query.parameters)
    params = {f"v_{parameter}": values.get(parameter, "a") for parameter, _ in query.parameters}
    result = told(f'RUN "{name}" ({arguments})' if arguments else f'RUN "{name}"', params)
    assert not [code for code in result.get("warnings", []) if not code.startswith("CAL-W009")]


def test_a_setting_that_is_no_query_is_left_out(memory: Memory, told: Told) -> None:
    """A foreign file cannot break DESCRIBE, nor run a body that writes."""
    with memory.store.act() as act:
        act.set_setting("cal.query:odd", 5)
        act.set_setting(
            "cal.query:bad", {"body": 'ADD fact SET subject = "a" REASON "r"', "parameters": [{"name": 1}, 2]}
        )
        act.set_setting("cal.template:odd", [])
    assert "odd" not in [query["name"] for query in told("DESCRIBE QUERIES")["info"]["queries"]]
    assert "odd" not in told("DESCRIBE TEMPLATES")["info"]["templates"]
    assert refused(told, 'RUN "bad"') == "CAL-E058"


# --- templates --------------------------------------------------------------------------------------


def test_a_template_takes_missing_sections_from_its_parent(facts: Memory, told: Told) -> None:
    """One level; the built-in readable where none is named."""
    told("DEFINE TEMPLATE head HEADER {\ntop\n}")
    assert told("RECALL facts LIMIT 1 FORMAT TEMPLATE head")["text"] == "top\n- **b** likes tea _(90%)_"
    told("DEFINE TEMPLATE short EXTENDS compact FOOTER {\nend\n}")
    assert told("RECALL facts LIMIT 1 FORMAT TEMPLATE short")["text"] == "b likes tea\nend"
    told('DEFINE TEMPLATE only FOR event AS "E {{content}}"')
    assert told('RECALL facts LIMIT 1 FORMAT preset "only"')["text"] == "- **b** likes tea _(90%)_"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('DEFINE TEMPLATE t EXTENDS json AS "x"', "CAL-E119"),
        ('DEFINE TEMPLATE t EXTENDS t AS "x"', "CAL-E047"),
        ('DEFINE TEMPLATE t AS "{{#each grains}}{{#each grains}}x{{/each}}{{/each}}"', "CAL-E041"),
        ('DEFINE TEMPLATE t AS "{{#if subject}}x"', "CAL-E049"),
        ('DEFINE TEMPLATE t AS "{{/if}}"', "CAL-E049"),
        ('DEFINE TEMPLATE t AS "{{else}}"', "CAL-E049"),
        ('DEFINE TEMPLATE t AS "{{grain.secret}}"', "CAL-E042"),
        ('DEFINE TEMPLATE t AS "{{subject | truncate x}}"', "CAL-E049"),
        ('DEFINE TEMPLATE t AS "{{subject object}}"', "CAL-E049"),
        ("DEFINE TEMPLATE t HEADER { a } HEADER { b }", "CAL-E049"),
        ('RECALL facts FORMAT TEMPLATE "{{nonsense}}"', "CAL-E042"),
    ],
)
def test_a_template_is_refused_where_it_is_written(text: str, code: str, told: Told) -> None:
    """TPL-1: with its own code, not with a general one."""
    assert refused(told, text) == code


def test_stored_text_cannot_end_the_line_it_stands_in(memory: Memory, told: Told) -> None:
    """TPL-3: a value is one harmless line; the built-in element form escapes."""
    memory.add_fact("a\n- **forged**", "says", "</fact>\x1b[31m\n<fact>")
    text = told("RECALL facts FORMAT TEMPLATE readable")["text"]
    assert text.count("\n") == 0
    assert "\x1b" not in text
    assert told("RECALL facts FORMAT TEMPLATE structured")["text"].count("</fact>") == 1


def test_output_is_bounded(facts: Memory, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """CAL-E050, CAL-W011: neither bytes nor rounds run away."""
    monkeypatch.setattr("deja_tui.cal.templates.MAX_OUTPUT", 10)
    assert refused(told, "RECALL facts FORMAT TEMPLATE readable") == "CAL-E050"
    monkeypatch.setattr("deja_tui.cal.templates.MAX_OUTPUT", 10_000)
    monkeypatch.setattr("deja_tui.cal.templates.MAX_ROUNDS", 2)
    result = told('RECALL facts FORMAT TEMPLATE "{{#each grains}}{{object}};{{/each}}"')
    assert result["text"] == "tea;rum;"
    assert result["warnings"][0].startswith("CAL-W011")


PIECES = st.lists(
    st.sampled_from(
        ["{{", "}}", "{{subject}}", "{{#if object}}", "{{/if}}", "{{else}}", "{{#each grains}}", "{{/each}}", "{{^tags}}", "{{/tags}}",
         "{{confidence | percent}}", "{{tags | join ', '}}", "{{! x }}", "{{#grain_type \"fact\"}}", "{{/grain_type}}", "text", "\n", "{", "}",
         "{{created_at | date '%Y'}}", "{{object | json | truncate 3}}", "{{$v | default 'd'}}", "{{_index}}", "{{grain.content | escape}}"]
    ),
    max_size=12,
).map("".join)  # fmt: skip


@given(PIECES)
def test_any_template_is_refused_or_renders(text: str) -> None:
    """TPL-1, TPL-2: what passes the parser cannot fail, whatever the values are."""
    try:
        nodes = template_text.parse(text)
    except TemplateFault:
        return
    odd: list[Any] = [None, "", "x\ny", 5, 0.5, True, ["a", 1], {"k": "v"}, -(10**18)]
    for value in odd:
        scope = Scope(lambda name, value=value: value, lambda: iter(()), 5)  # type: ignore[misc]
        assert isinstance(template_text.render(nodes, scope), str)


def test_a_session_keeps_no_state(facts: Memory, session: Session) -> None:
    """The same text gives the same result, and warnings are those of this text."""
    first = session.run("RECALL facts | LIMIT 1")
    assert session.run("RECALL facts | LIMIT 1").warnings == first.warnings
    assert session.run("RECALL facts LIMIT 1").warnings == ()


def test_what_a_saved_query_gives_is_counted_once_whatever_its_form(facts: Memory) -> None:
    """As rows, as text of its own, as text that was asked for at the call; what EXPLAIN looks at is not counted."""
    seen: list[int] = []
    host = replace(host_of(facts), recalled=lambda namespace, found, **more: seen.append(len(found)))
    session = Session(host)
    session.run('DEFINE QUERY "rows" AS { RECALL facts LIMIT 2 }')
    session.run('DEFINE QUERY "text" AS { RECALL facts LIMIT 2 FORMAT text }')
    for call in (
        'RUN "rows"',
        'RUN "text"',
        'RUN "text" FORMAT sml',
        'RUN "rows" FORMAT sml',
        "RECALL facts LIMIT 2",
    ):
        session.run(call)
        assert seen == [2], call
        session.run(f"EXPLAIN {call}")
        assert seen == [2], call
        seen.clear()
