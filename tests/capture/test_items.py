# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.items import PENDING, UNKNOWN_TOOL, CaptureItem
from tests.capture.sink import FakeSink

KEY = "claude-code/call/c1"
CONTEXT = {"source_key": KEY}
CALL: dict[str, Any] = {
    "tool_name": "Bash",
    "tool_call_id": "c1",
    "input": {"command": "make"},
    "session_id": "s1",
    "status": PENDING,
    "created_at": 1,
    "context": CONTEXT,
}
RESULT: dict[str, Any] = {
    "tool_name": UNKNOWN_TOOL,
    "tool_call_id": "c1",
    "session_id": "s2",
    "tool_content": "exit 2",
    "is_error": True,
    "created_at": 2,
    "context": CONTEXT,
}
WHOLE: dict[str, Any] = {**CALL, **RESULT, "tool_name": "Bash", "session_id": "s1"}
del WHOLE["status"]
HALVES = {"call": CALL, "result": RESULT, "whole": WHOLE}


def tool(fields: dict[str, Any]) -> CaptureItem:
    return CaptureItem("tool", KEY, fields)


@pytest.mark.parametrize("first", HALVES)
@pytest.mark.parametrize("second", HALVES)
def test_halves_complete_each_other(first: str, second: str) -> None:
    """ITEM-2: a half is completed by what has the other half, and by nothing else; the outcome is the whole call."""
    made = tool(HALVES[second]).complete(HALVES[first])
    if first == second or first == "whole":
        assert made is None
    else:
        assert made == WHOLE


@given(st.lists(st.sampled_from(sorted(HALVES)), min_size=1, max_size=6))
def test_any_order_ends_the_same(order: list[str]) -> None:
    """ITEM-2, ITEM-4: one live grain for the call, whole as soon as both halves came, and final from then on."""
    sink = FakeSink()
    sink.capture([tool(HALVES[name]) for name in order])
    assert len(sink.heads) == 1
    whole = "whole" in order or {"call", "result"} <= set(order)
    assert sink.heads[KEY] == (WHOLE if whole else HALVES[order[0]])
    assert len(sink.dead) == (1 if whole and order[0] != "whole" else 0)


def test_a_failure_cause_comes_with_the_result() -> None:
    """ITEM-2: what belongs to the result is taken from where the result is."""
    made = tool(CALL).complete({**RESULT, "failure_cause": "user_aborted"})
    assert made is not None
    assert made["failure_cause"] == "user_aborted"


@pytest.mark.parametrize(
    "stored, now, grows",
    [
        (["a"], ["a", "b"], True),
        (["a"], ["a"], False),
        (["a", "b"], ["a"], False),
        (["a", "b"], ["a", "c", "d"], False),
        ([], ["a"], True),
    ],
)
def test_replies_grow(stored: list[str], now: list[str], grows: bool) -> None:
    """ITEM-3: only a reply that goes on where the stored one ends takes its place."""
    fields = {"content": "x", "context": {"pieces": now}}
    made = CaptureItem("event", "k", fields).complete({"content": "y", "context": {"pieces": stored}})
    assert made == (fields if grows else None)


def test_an_event_without_pieces_is_final() -> None:
    """ITEM-3: a turn that is written at once is never superseded."""
    assert CaptureItem("event", "k", {"content": "x", "context": {}}).complete({"content": "y"}) is None


def fact(revision: int, said: str, key: str = "mem0/memory/1") -> CaptureItem:
    context = {"source_key": key, "revision": revision, "said": said}
    return CaptureItem("fact", key, {"object": said, "context": context})


@pytest.mark.parametrize(
    ("stored", "now", "takes"),
    [
        (fact(0, "a"), fact(0, "a"), False),  # the same again
        (fact(0, "a"), fact(0, "b"), True),  # no revisions: what differs is newer
        (fact(5, "b"), fact(3, "a"), False),  # an older one, read again
        (fact(3, "a"), fact(5, "b"), True),
        (fact(5, "a"), fact(5, "b"), False),
        (fact(5, "a", "another"), fact(9, "b"), False),  # changed here since: it stays
    ],
)
def test_a_later_revision_takes_the_place(stored: CaptureItem, now: CaptureItem, takes: bool) -> None:
    """ITEM-5: a record that its source changed supersedes; what was changed here stays."""
    assert (now.complete(stored.fields) is not None) is takes
