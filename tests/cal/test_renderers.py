# SPDX-License-Identifier: Apache-2.0
"""Rendered text, exact in golden files; stored text never ends its element, row or line.

To accept a change: look at the difference, then run with ``DEJA_UPDATE_SNAPSHOTS=1``.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.cal import Session
from deja_tui.cal.renderers import RENDERERS, render
from deja_tui.cal.renderers.page import ATTRIBUTES, Page
from deja_tui.cal.rows import Row
from deja_tui.facade import Memory
from tests.cal.corpus import NOW, Ticking, session_of

GOLDEN = Path(__file__).parent / "golden"
DAY = 86_400_000
GRAINS: list[tuple[str, dict[str, Any]]] = [
    ("fact", {"subject": "delta", "relation": "mg:prefers_not", "object": "aisle seat", "confidence": 0.6}),
    ("fact", {"subject": "esc", "relation": "says", "object": 'a<b & "c", d|e: [x]\n- **forged** line', "confidence": 0.5}),
    ("fact", {"subject": "num", "relation": "count", "object": "42"}),
    ("event", {"content": "I would like a window seat", "role": "user", "subject": "alpha"}),
    ("event", {"content": "Noted, window seat it is", "role": "assistant"}),
    ("tool", {"tool_name": "stripe_refund", "content": "rate_limited 429", "is_error": True}),
    ("tool", {"tool_name": "search", "content": "3 results", "is_error": False}),
    ("tool", {"tool_name": "slow", "status": "pending"}),
    ("observation", {"content": "cpu temperature high", "observer_id": "sensor-7", "subject": "server-1"}),
    ("goal", {"description": "confirm the flight", "goal_state": "active", "progress": 0.25, "subject": "alpha"}),
    ("skill", {"name": "triage", "description": "sort tickets", "proficiency": 0.9, "practice_count": 40, "domain": "support"}),
    ("state", {"context": {"label": "booking", "step": 3}, "plan": ["pick seat", "pay"]}),
    ("workflow", {"nodes": ["build", "test"], "trigger": "merge", "name": "release"}),
    ("reasoning", {"conclusion": "the tool is limited", "inference_method": "inductive"}),
    ("consensus", {"agreed_content": "ship it", "threshold": 0.5, "agreement_count": 2}),
    ("consent", {"subject_did": "did:a", "grantee_did": "did:b", "scope": "calendar"}),
]  # fmt: skip


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Any:
    clock = Ticking(NOW)
    path = tmp_path_factory.mktemp("render") / "a.deja"
    with Memory.open(path, clock=clock, durability="normal") as memory:
        with memory.store.act():
            for number, (type_, fields) in enumerate(GRAINS):
                memory.add(type_, {**fields, "created_at": NOW - (number * 5 + 1) * DAY // 4})
        yield session_of(memory)


def golden(name: str, text: str) -> None:
    """``text`` against a file, or into it."""
    path = GOLDEN / name
    if os.environ.get("DEJA_UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


UNION = " UNION ".join(
    f"(RECALL {plural} LIMIT 20)" for plural in ("facts", "events", "tools", "observations")
)
REST = " UNION ".join(f"(RECALL {plural})" for plural in ("goals", "skills", "states", "workflows"))
ASSEMBLED = 'ASSEMBLE "trip" FOR "planning a <trip>" FROM a: (RECALL facts), b: (RECALL events) BUDGET 120 PRIORITY b > a'
LAST = " UNION ".join(f"(RECALL {plural})" for plural in ("reasonings", "consensuses", "consents"))


@pytest.mark.parametrize("format", ["sml", "toon", "markdown", "text", "triples", "csv", "table", "yaml"])
def test_every_type_in_every_format_is_what_the_file_says(format: str, session: Session) -> None:
    """Exact to the byte; addresses are cut out where a format shows them."""
    parts = []
    for statement in (UNION, REST, LAST):
        text = session.run(f"{statement} FORMAT {format}").as_json()["text"]
        text = re.sub(r"\b[0-9a-f]{64}\b", "<hash>", text)
        parts.append(re.sub(r"(?m)^\| [0-9a-f]{8} ", "| <hash>   ", text))
    golden(f"every_type.{format}", "\n=====\n".join(parts))


@pytest.mark.parametrize("format", ["sml", "toon", "markdown", "text", "table"])
def test_an_assembled_context_is_what_the_file_says(format: str, session: Session) -> None:
    """With its head, its groups and its priority."""
    told = session.run(f"{ASSEMBLED} FORMAT {format}").as_json()["text"]
    golden(f"assembled.{format}", re.sub(r"(?m)^\| [0-9a-f]{8} ", "| <hash>   ", told))


def test_json_is_what_the_file_says(session: Session) -> None:
    """Rows as text, and the payload of an assembled context: shares, what was included, what was dropped."""
    parts = [
        session.run(f"{statement} FORMAT [json AS x]").as_json()["formats"]["x"]
        for statement in (UNION, REST, LAST)
    ]
    golden("every_type.json", re.sub(r"\b[0-9a-f]{64}\b", "<hash>", "\n=====\n".join(parts)))
    told = json.dumps(session.run(ASSEMBLED).as_json(), indent=1)
    golden("assembled.json", re.sub(r"\b[0-9a-f]{64}\b", "<hash>", told))


@pytest.mark.parametrize("format", ["sml", "markdown", "text", "json"])
def test_groups_are_what_the_file_says(format: str, session: Session) -> None:
    """One head a key, in key order."""
    result = session.run(f"RECALL facts GROUP BY subject FORMAT [{format} AS x]").as_json()
    text = re.sub(r"\b[0-9a-f]{64}\b", "<hash>", result["formats"]["x"])
    golden(f"grouped.{format}", text)


def test_nothing_is_rendered_for_no_rows(session: Session) -> None:
    """Empty, not a wrapper around nothing."""
    for format in ("sml", "toon", "markdown", "text"):
        assert session.run(f'RECALL facts WHERE subject = "nobody" FORMAT {format}').as_json()["text"] == ""


# --- hostile text -----------------------------------------------------------------------------------

HOSTILE = st.text(
    st.one_of(
        st.sampled_from(list("\n\r\t\x00\x1b\x9b\u2028\u2029\x85\u202e\u200b<>&\"'|,:-*#[]{}\\`_ ")),
        st.characters(exclude_categories=("Cs",)),
    ),
    max_size=40,
)


def rows_of(text: str) -> list[Row]:
    """A row of every type with hostile text in every field that is shown."""
    shown: dict[str, dict[str, Any]] = {
        "fact": {"subject": text, "relation": text, "object": text},
        "event": {"content": text, "role": text, "subject": text},
        "tool": {"tool_name": text, "tool_content": text, "is_error": True},
        "observation": {"object": text, "observer_id": text, "subject": text},
        "goal": {"description": text, "goal_state": text, "subject": text, "deadline": text},
        "skill": {"name": text, "description": text, "domain": text},
        "state": {"plan": [text, text], "context": {text: text}},
        "workflow": {"nodes": [text], "trigger": text},
        "reasoning": {"conclusion": text, "inference_method": text},
        "consensus": {"agreed_content": text, "threshold": text},
        "consent": {"scope": text, "subject_did": text, "grantee_did": text},
        "recommendation": {"summary": {"template_id": text, "args": {text: text}}, "target_ref": text},
        "extracted": {"value": text},
    }
    assert set(shown) == set(ATTRIBUTES)
    return [
        Row("a" * 64, type_, 1.0, {"confidence": 0.5, "created_at": NOW - DAY, **fields}, None)
        for type_, fields in shown.items()
    ]


@given(HOSTILE)
def test_stored_text_cannot_leave_its_place(text: str) -> None:
    """One element, one row, one line a grain, whatever it says; nothing that acts on a terminal comes through."""
    rows = tuple(rows_of(text))
    page = Page(rows, NOW)
    for name in RENDERERS:
        told = render(name, page)
        assert not re.search(
            "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\u200b-\u200f]",
            told.replace("\t", ""),
        ), name
    lines = render("sml", page).split("\n")
    assert [ElementTree.fromstring(line).tag for line in lines] == [row.grain_type for row in rows]
    for name in ("markdown", "text", "triples"):
        assert render(name, page).count("\n") == len(rows), name
    assert render("table", page).count("\n") == len(rows) + 2
    assert len(list(csv.reader(io.StringIO(render("csv", page))))) == len(rows) + 1
    assert len(json.loads(render("json", page))) == len(rows)
    assert len(render("toon", page).split("\n")) == 3 * len(rows) - 1


@given(HOSTILE)
def test_toon_cells_can_be_read_back(text: str) -> None:
    """A quoted cell is a JSON string, a bare one holds none of the signs with a meaning."""
    (fact, *_) = rows_of(text)
    cell = render(
        "toon", Page((fact._replace(fields={"subject": text, "relation": "", "object": text}),), NOW)
    ).split("\n", 1)[1]
    assert "\n" not in cell
    if cell.startswith('"'):
        decoder = json.JSONDecoder()
        value, _ = decoder.raw_decode(cell)
        assert isinstance(value, str)
    else:
        assert not set(cell.split(",")[0]) & set('":\\[]{}')


def test_a_format_list_names_each_text(session: Session) -> None:
    """Several at once, by name or alias; the same one twice is rendered once."""
    result = session.run("RECALL facts LIMIT 1 FORMAT [text, text, markdown AS md, json]").as_json()
    assert list(result["formats"]) == ["text", "md", "json"]
    assert json.loads(result["formats"]["json"])[0]["grain_type"] == "fact"


def test_the_session_of_a_count_is_not_rendered(session: Session) -> None:
    """Kinds without rows pass unchanged."""
    run: Callable[..., Any] = session.run
    assert run("RECALL facts COUNT FORMAT sml").as_json()["type"] == "count"
    assert run("EXISTS facts FORMAT sml").as_json()["type"] == "exists"
