# SPDX-License-Identifier: Apache-2.0
"""Saved queries and templates as texts by name: what a proposal defines, and what an undo brings back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deja_tui import DejaError, Memory
from tests.support import NOW


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW) as opened:
        yield opened


REFUSED = {
    ("query", "open", "FORGET sha256:" + "a" * 64): "CAL-E058",
    ("query", "open", 'ADD fact SET subject = "x" REASON "r"'): "CAL-E058",
    ("query", "open", "RECALL facts WHERE subject = $who"): "CAL-E008",
    ("query", "open", 'RUN "other"'): "CAL-E057",
    ("query", "open", ""): "CAL-E059",
    ("query", "open", "RECALL facts " + " " * 9_000): "CAL-E054",
    ("query", "1 bad name", "RECALL facts"): "CAL-E115",
    ("query", "Audit of", "RECALL facts"): "CAL-E052",
    ("template", "brief", "{{nobody}}"): "CAL-E042",
    ("template", "brief", "{{#if subject}}"): "CAL-E049",
    ("template", "brief", '{"FOOT": "x"}'): None,
    ("template", "brief", "x" * 5_000): "CAL-E040",
    ("template", "1 bad name", "x"): "CAL-E115",
    ("template", "compact", "x"): "CAL-E046",
    ("template", "brief", ""): "CAL-E049",
}


@pytest.mark.parametrize(("scheme", "name", "body"), REFUSED)
def test_what_may_not_be_saved_is_refused_with_the_code_of_the_language(
    memory: Memory, scheme: str, name: str, body: str
) -> None:
    """SAVED-1: before it is kept, and nothing is kept."""
    with pytest.raises(DejaError) as caught:
        memory.substrate.set_saved_query(name, body, scheme)
    wanted = REFUSED[scheme, name, body]
    assert caught.value.code.startswith("CAL-E")
    assert wanted is None or caught.value.code == wanted
    if "bad name" not in name:
        assert memory.substrate.saved_query(name, scheme) is None


def described(memory: Memory, kind: str, name: str) -> Any:
    return memory.cal(f"DESCRIBE {kind} {name}").as_json()


def test_another_body_keeps_everything_else(memory: Memory) -> None:
    """SAVED-2: parameters and description stay, and the former body makes it exactly what it was."""
    memory.cal(
        'DEFINE QUERY "of" ($who, $n = 3) DESCRIPTION "all of one" AS { RECALL facts WHERE subject = $who LIMIT 3 }'
    )
    before = memory.store.setting("cal.query:of")
    body = memory.substrate.saved_query("of")
    memory.substrate.set_saved_query("of", "RECALL goals WHERE subject = $who")
    changed = memory.store.setting("cal.query:of")
    assert {name: value for name, value in changed.items() if name != "body"} == {
        name: value for name, value in before.items() if name != "body"
    }
    memory.substrate.set_saved_query("of", body)
    assert memory.store.setting("cal.query:of") == before
    memory.substrate.set_saved_query("of", None)
    assert memory.substrate.saved_query("of") is None


def test_a_template_of_several_sections_comes_back_as_it_was(memory: Memory) -> None:
    """SAVED-3: its body is the map of its texts; types and description stay."""
    memory.cal("DEFINE TEMPLATE brief HEADER {Facts:} ELEMENT {- {{subject}}}")
    before = memory.store.setting("cal.template:brief")
    body = memory.substrate.saved_query("brief", "template")
    assert body is not None
    memory.substrate.set_saved_query("brief", "{{subject}}", "template")
    assert memory.substrate.saved_query("brief", "template") == "{{subject}}"
    memory.substrate.set_saved_query("brief", body, "template")
    assert memory.store.setting("cal.template:brief") == before


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.sampled_from('a{}":,[] \n'), min_size=1, max_size=12) | st.just('{"ELEMENT": "x"}'))
def test_a_template_that_was_kept_is_read_as_what_restores_it(memory: Memory, text: str) -> None:
    """SAVED-3: whatever the text looks like, the body that is read gives the same value again."""
    try:
        memory.substrate.set_saved_query("t", text, "template")
    except DejaError:
        return
    value = memory.store.setting("cal.template:t")
    memory.substrate.set_saved_query("t", memory.substrate.saved_query("t", "template"), "template")
    assert memory.store.setting("cal.template:t") == value


def test_a_setting_that_is_no_query_is_none(memory: Memory) -> None:
    """A foreign file may hold anything under the name."""
    for value in (7, "x", [], {"body": 7}, {"sections": 7}):
        with memory.store.act() as act:
            act.set_setting("cal.query:odd", value)
            act.set_setting("cal.template:odd", value)
        assert memory.substrate.saved_query("odd") is None
        assert memory.substrate.saved_query("odd", "template") is None


def test_a_query_saves_without_being_run(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checking is parsing and planning: no grain is read."""
    monkeypatch.setattr(type(memory.store), "recall", lambda *a, **k: pytest.fail("it was run"))
    memory.substrate.set_saved_query("open", 'RECALL facts WHERE subject = "acme"')
