# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from deja_tui.capture import jsonl
from deja_tui.capture.jsonl import Line
from tests.support import shared


def read(data: bytes, **options: int) -> list[Line]:
    return list(jsonl.lines(io.BytesIO(data), **options))


def kinds(data: bytes) -> list[tuple[int, str]]:
    return [(line.number, line.kind) for line in read(data)]


def test_split_at_lf_only() -> None:
    """JSONL-1: line separators that are not LF stay inside the text."""
    text = "a\u2028b\u2029c\u0085d"
    [line] = read(json.dumps(text, ensure_ascii=False).encode() + b"\n")
    assert (line.number, line.value) == (1, text)


def test_marks_and_blanks_around_a_record_are_not_part_of_it() -> None:
    """JSONL-2: BOM, CRLF, blank lines and trailing spaces change no record, and blank lines count as lines."""
    assert [(line.number, line.value) for line in read(b'\xef\xbb\xbf{"a":1}\r\n\r\n  \n {"b":2}  \r\n')] == [
        (1, {"a": 1}),
        (4, {"b": 2}),
    ]


def test_nul_bytes_are_padding() -> None:
    """JSONL-2: NUL bytes after a record are stripped; a line of them is padding, at the end as well."""
    assert kinds(b'{"a":1}\x00\x00\n\x00\x00\x00\n\x00{"b":2}\n\x00\x00') == [
        (1, "value"),
        (2, "padding"),
        (3, "value"),
        (4, "padding"),
    ]


def test_a_bom_alone_is_nothing() -> None:
    """JSONL-2: a file of nothing but a byte-order mark holds no line."""
    assert read(b"\xef\xbb\xbf") == []


def test_bad_and_torn_lines() -> None:
    """JSONL-3: no JSON is bad; without LF at the end it is torn; a last record without LF is a record."""
    assert kinds(b'{"a":\n{"b":2}\n{"c":') == [(1, "bad"), (2, "value"), (3, "torn")]
    assert kinds(b'{"a":1}') == [(1, "value")]


def test_not_utf8_is_a_bad_line() -> None:
    """JSONL-3: a line that is not UTF-8 costs itself only."""
    assert [(line.kind, line.reason) for line in read(b'"\xff"\n1\n')] == [
        ("bad", "not UTF-8"),
        ("value", ""),
    ]


def test_deep_nesting_is_a_bad_line() -> None:
    """JSONL-3: nesting that would break later readers is refused here, whether the parser minds or not."""
    for depth in (jsonl.DEPTH_LIMIT + 1, 50_000):
        assert [line.reason for line in read(b"[" * depth + b"]" * depth + b"\n")] == ["nested too deeply"]
    depth = jsonl.DEPTH_LIMIT
    assert [line.kind for line in read(b"[" * depth + b"]" * depth + b"\n")] == ["value"]
    assert [line.kind for line in read(b"[" + b",".join([b"[]"] * 500) + b"]\n")] == ["value"]


def test_long_lines_are_not_held() -> None:
    """JSONL-4: a line over the limit is skipped in pieces and the next one is read; NUL bytes stay padding."""
    found = read(b'"' + b"x" * 100 + b'"\n' + b"\x00" * 90 + b"\n[1]\n", limit=16)
    assert [(line.number, line.kind, line.size) for line in found] == [
        (1, "bad", 103),
        (2, "padding", 91),
        (3, "value", 4),
    ]
    assert [line.kind for line in read(b"x" * 40, limit=16)] == ["bad"]


def test_glued_records_cost_one_line() -> None:
    """JSONL-5: a stub and a record on one line are one bad line, at its number."""
    path = shared("hostile/glued-records/session.jsonl")
    with path.open("rb") as source:
        assert [line.number for line in jsonl.lines(source) if line.kind != "value"] == [4]


def test_reading_is_lazy() -> None:
    """JSONL-4: a line is given before the next one is read."""
    source = io.BytesIO(b"1\n" * 1000)
    found = jsonl.lines(source)
    assert next(found).value == 1
    assert source.tell() == 2


@given(
    st.lists(
        st.one_of(st.binary(max_size=30), st.sampled_from([b"{}", b"[", b"\x00", b"\xef\xbb\xbf1", b" \r"]))
    )
)
@settings(max_examples=100, deadline=None)
def test_every_line_is_accounted_for(parts: list[bytes]) -> None:
    """JSONL-3: arbitrary bytes never raise, and each line that holds something is told exactly once."""
    data = b"\n".join(parts)
    blank = b" \t\r\n"
    expected = []
    for number, raw in enumerate(data.split(b"\n"), 1):
        held = raw.strip(blank + b"\x00")
        while held.startswith(b"\xef\xbb\xbf"):
            held = held[3:].strip(blank + b"\x00")
        if held or b"\x00" in raw:
            expected.append(number)
    assert [line.number for line in read(data)] == expected


@given(
    st.lists(
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner))
    )
)
@settings(max_examples=100, deadline=None)
def test_what_was_written_is_read(values: list[object]) -> None:
    """JSONL-1: each value of a well-formed file comes back at its line."""
    data = b"".join(json.dumps(value).encode() + b"\n" for value in values)
    assert [(line.number, line.value) for line in read(data)] == list(enumerate(values, 1))
