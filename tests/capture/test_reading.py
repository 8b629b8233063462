# SPDX-License-Identifier: Apache-2.0
"""Documents and arrays: read with bounded memory, broken ones told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deja_tui.capture import jsonl, reading
from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.reading import document, elements
from deja_tui.capture.report import FileReport
from deja_tui.errors import DejaError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def report() -> FileReport:
    return FileReport("f", Counts(Shape()))


@given(st.lists(JSON, max_size=8), st.sampled_from([None, 0, 2]), st.integers(1, 9), st.booleans())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_array_is_read_piece_by_piece(
    tmp_path: Path, values: list[object], indent: int | None, piece: int, marked: bool
) -> None:
    """READ-1: however an array is cut into pieces, its elements come out as they went in."""
    path = tmp_path / "a.json"
    text = json.dumps(values, indent=indent, ensure_ascii=False)
    path.write_text(("\ufeff" if marked else "") + text, encoding="utf-8", errors="surrogatepass")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_PIECE", piece + 8)
        assert list(elements(path, report(), kind="k", hint="h")) == values


def test_an_array_that_breaks_off(tmp_path: Path) -> None:
    """READ-1: what is whole is given; the break is a loss with the number of the element."""
    path = tmp_path / "a.json"
    path.write_text('[{"a": 1}, {"b": 2}, {"c": ')
    told = report()
    assert list(elements(path, told, kind="k", hint="h")) == [{"a": 1}, {"b": 2}]
    assert [(loss.line, loss.reason) for loss in told.losses] == [(3, "the array breaks off here")]
    path.write_text("[nonsense")
    with pytest.raises(DejaError, match="IMP-E002"):
        list(elements(path, report(), kind="k", hint="h"))


def test_a_byte_that_is_no_text(tmp_path: Path) -> None:
    """READ-1: it breaks the element it stands in, not the reading of those before it; half a surrogate pair is text."""
    path = tmp_path / "a.json"
    path.write_bytes(b'[{"a": 1}, {"b": "\xed\xa0\xbd"}, {"c": "\xe8\x41"}, {"d": 4}]')
    told = report()
    assert list(elements(path, told, kind="k", hint="h")) == [{"a": 1}, {"b": "\ud83d"}]
    assert [(loss.line, loss.reason) for loss in told.losses] == [(3, "the array breaks off here")]


def test_what_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """READ-1: a document, or an element of an array, beyond the limit is refused instead of being held."""
    monkeypatch.setattr(jsonl, "LINE_LIMIT", 64)
    monkeypatch.setattr(reading, "_PIECE", 16)
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"a": "x" * 100}))
    with pytest.raises(DejaError, match="IMP-E004"):
        document(path, report(), kind="k", hint="h")
    path.write_text(json.dumps(["x"] * 100))
    assert len(list(elements(path, report(), kind="k", hint="h"))) == 100
    path.write_text(json.dumps(["y", "x" * 100]))
    with pytest.raises(DejaError, match="IMP-E004"):
        list(elements(path, report(), kind="k", hint="h"))


def test_json_in_a_json_text_is_unpacked(tmp_path: Path) -> None:
    """READ-2: a double-encoded document is unpacked once and told; a text that is only a text stays one."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(json.dumps({"a": 1})))
    told = report()
    assert document(path, told, kind="k", hint="h") == {"a": 1}
    assert [note["reason"] for note in told.notes] == ["JSON inside a JSON text: unpacked"]
    path.write_text(json.dumps("only a text"))
    assert document(path, report(), kind="k", hint="h") == "only a text"
