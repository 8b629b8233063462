# SPDX-License-Identifier: Apache-2.0
"""Query text written from values: any value stays inside its quotes, or there is no query."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.engine.cal_writer import quote, recall
from deja_tui.text import door

UNESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n", "\\t": "\t", "\\r": "\r"}


@given(
    st.text(alphabet=st.one_of(st.sampled_from('"\\\n\t\r\x00\ud83d\u202e'), st.characters()), max_size=20)
)
def test_a_quoted_text_reads_back_as_itself(given_: str) -> None:
    """The five escapes of the language and nothing else; what the language refuses is not written."""
    literal = quote(given_)
    if literal is None:
        assert re.search("[\u202a-\u202e\u2066-\u2069]", given_)
        return
    inner = literal[1:-1]
    assert literal[0] == literal[-1] == '"'
    assert re.fullmatch(r'(?:[^"\\\n\t\r]|\\["\\ntr])*', inner)
    assert re.sub(r"\\.", lambda match: UNESCAPED[match.group()], inner) == door(given_)


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        ({"subject": "a"}, 'RECALL facts WHERE subject = "a" LIMIT 1000'),
        ({"subject": 'x" OR 1=1', "is_error": True}, 'RECALL facts WHERE subject = "x\\" OR 1=1" AND is_error = true LIMIT 1000'),
        ({"ok": False}, "RECALL facts WHERE ok = false LIMIT 1000"),
        ({"subject": ["a", "A", "a"], "x": ["b"]}, 'RECALL facts WHERE subject IN ("a", "A") AND x = "b" LIMIT 1000'),
        ({"subject": ["a", "a\u202eb"]}, None),
        ({"subject": "a\u202eb"}, None),
        ({"subject": "x" * 3_000}, None),
    ],
)  # fmt: skip
def test_a_query_is_whole_or_absent(conditions: dict[str, str | bool | list[str]], told: str | None) -> None:
    """A value that cannot be written, or a text that would be stored with every refresh, gives no query."""
    assert recall("facts", conditions) == told


def test_a_query_may_begin_at_a_time() -> None:
    """Epoch milliseconds, before the conditions."""
    assert recall("tools", {"a": "b"}, since_ms=5) == 'RECALL tools SINCE 5 WHERE a = "b" LIMIT 1000'
