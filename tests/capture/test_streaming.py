# SPDX-License-Identifier: Apache-2.0
"""One JSON document of any length: what stands below a path, and nothing else in memory."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deja_tui.capture import jsonl, registry, source, streaming
from deja_tui.capture.files import import_path
from deja_tui.capture.streaming import Broken, is_document, under
from deja_tui.errors import DejaError
from tests.capture.sink import FakeSink
from tests.support import shared

NOW = 1_800_000_000_000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)


def slow(value: Any, names: list[str]) -> list[Any]:
    """What `under` gives, of a value that is held whole."""
    if not names:
        return [value]
    below = value.get(names[0], ...) if isinstance(value, dict) else ...
    if below is ...:
        return []
    found = below if isinstance(below, list) else [below]
    return [leaf for one in found for leaf in slow(one, names[1:])]


@given(
    JSON, st.sampled_from([["a"], ["a", "b"], ["x", "a", "b"]]), st.integers(1, 9), st.sampled_from([None, 1])
)
@settings(max_examples=150, deadline=None)
def test_it_gives_what_a_whole_reading_gives(
    value: Any, names: list[str], piece: int, indent: int | None
) -> None:
    """STREAM-1: whatever the document, the path and where its pieces are cut."""
    path = Path(streaming.__file__).with_suffix(".none")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "_PIECE", piece)
        text = json.dumps(value, indent=indent).encode()
        patch.setattr(Path, "open", lambda *_: io.BytesIO(text))
        patch.setattr(Path, "stat", lambda _: type("S", (), {"st_size": len(text)}))
        assert list(under(path, names)) == slow(value, names)


@pytest.mark.parametrize(
    "text", ['{"a": [1, 2', '{"a": [1 2]}', '{"a": [1,, 2]}', "{1: 2}", '{"a" 1}', '{"a": 1} x', "", "{"]
)
def test_what_is_broken_ends_there(tmp_path: Path, text: str) -> None:
    """STREAM-2: what came before is given, then the reader is told; never another error."""
    path = tmp_path / "x.json"
    path.write_text(text)
    found = []
    with pytest.raises(Broken):
        found.extend(under(path, ("a",)))
    assert found in ([], [1], [1, 2])


def test_a_value_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """STREAM-1: IMP-E004, with one value as the bound and not the document."""
    monkeypatch.setattr(jsonl, "LINE_LIMIT", 1_000)
    monkeypatch.setattr(streaming, "_PIECE", 100)
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"other": ["y" * 900] * 5, "a": ["x" * 900] * 50}))
    assert len(list(under(path, ("a",)))) == 50
    path.write_text(json.dumps({"a": ["x" * 5_000]}))
    with pytest.raises(DejaError, match="IMP-E004"):
        list(under(path, ("a",)))


def test_documents_and_lines_are_told_apart(tmp_path: Path) -> None:
    """An object that goes on in the next line is a document; a whole or a torn record is a line."""
    path = tmp_path / "x"
    for text, told in (
        ('{\n"a": 1}', True),
        ('{"a": [1\n,2]}', True),
        ('{"b": [\n1]}', False),
        ('{"a": 1}\n{"a": 2}', False),
        ('{"a": "b', False),
        ('{"a": "b\n{"a": 1}', False),
        ("", False),
    ):
        path.write_text(text)
        assert is_document(path, ("a",)) is told, text


def test_long_documents_are_read_like_short_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans, agents, conversations: the same grains under the same keys, whichever way the file was read."""
    node = {
        "id": "m",
        "parent": None,
        "message": {"id": "m", "author": {"role": "user"}, "content": {"parts": ["hi"]}},
    }
    talk = {"id": "c", "mapping": {"m": node}, "current_node": "m"}
    agent = {"id": "g1", "name": "g", "block_ids": ["b1"], "messages": [{"role": "user", "content": "hello"}]}
    span = {"traceId": "t", "spanId": "s", "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}}, {"key": "gen_ai.tool.name", "value": {"stringValue": "get"}}], "endTimeUnixNano": "1772359200000000000"}  # fmt: skip
    given = {
        "chatgpt": {"conversations": [talk]},
        "letta": {
            "agents": [agent],
            "blocks": [{"id": "b1", "label": "persona", "value": "kind"}],
            "tools": [{}],
        },
        "otel": {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]},
    }
    for kind, value in given.items():
        path = tmp_path / f"{kind}.json"
        path.write_text(json.dumps(value))
        whole = FakeSink()
        counted = import_path(whole, registry.source(kind), path, now_ms=NOW).figures
        path.write_text(json.dumps(value, indent=1))
        long = FakeSink()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(jsonl, "LINE_LIMIT", path.stat().st_size - 10)
            report = import_path(long, registry.source(kind), path, now_ms=NOW)
        assert long.heads.keys() == whole.heads.keys() != set(), kind
        named = {name: told for name, told in report.figures.items() if name != "top_level"}
        assert named == {name: told for name, told in counted.items() if name != "top_level"}, kind
        assert report.loss_total == 0


def test_a_long_export_of_spans_takes_little_memory(tmp_path: Path) -> None:
    """STREAM-1: eight megabytes of spans in one document, in a fraction of it."""
    span = json.dumps({"traceId": "t", "spanId": "s", "attributes": [], "name": "x" * 900})
    path = tmp_path / "x.json"
    with path.open("w") as file:
        file.write('{\n"resourceSpans": [{"scopeSpans": [{"spans": [' + ",\n".join([span] * 8_000) + "]}]}]}")
    tracemalloc.start()
    assert sum(1 for _ in under(path, ("resourceSpans", "scopeSpans", "spans"))) == 8_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size


WALKED = {
    "mem0": ["mem0/export.json", "mem0/history.json"],
    "zep": ["zep/graph-dump.json", "zep/conversations.json", "zep/user_data.json"],
    "letta": ["letta-af/memgpt-with-convo.af"],
    "swe-agent": ["swe-agent/function-calling-simple.traj", "swe-agent/test-repo-i1.traj"],
    "mini-swe-agent": ["mini-swe-agent/github-issue.traj.json", "mini-swe-agent/csv-fix.traj.json"],
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in WALKED.items() for name in names])
def test_a_walked_document_gives_what_a_held_one_gives(
    kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PARTS-2: real files, the same grains under the same keys and the same figures."""
    held, walked = FakeSink(), FakeSink()
    counted = import_path(held, registry.source(kind), shared(f"samples/{name}"), now_ms=NOW)
    monkeypatch.setattr(streaming, "_WHOLE", 0)
    monkeypatch.setattr(streaming, "_PIECE", 4_096)
    report = import_path(walked, registry.source(kind), shared(f"samples/{name}"), now_ms=NOW)
    assert walked.heads == held.heads != {}
    assert walked.dead == held.dead
    assert report.figures == counted.figures
    assert report.losses == counted.losses


@pytest.mark.parametrize("kind", ["mem0", "zep", "swe-agent", "mini-swe-agent", "letta"])
def test_a_walked_document_that_breaks_off(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PARTS-2: its beginning is taken, and the place is told; what is no JSON at all is refused."""
    monkeypatch.setattr(streaming, "_WHOLE", 0)
    text = {
        "mem0": '[{"id": "1", "memory": "likes tea"}, {"id": "2", "mem',
        "zep": '{"edges": [{"uuid": "e", "fact": "a is b", "name": "IS", "source_node_uuid": "a"}, {"uu',
        "swe-agent": '{"history": [{"role": "user", "content": "do"}, {"ro',
        "mini-swe-agent": '{"messages": [{"role": "user", "content": "do"}, {"ro',
        "letta": '{"agents": [{"name": "g", "messages": [{"role": "user", "content": "hello"}]}, {"na',
    }[kind]
    path = tmp_path / "x.json"
    path.write_text(text)
    sink = FakeSink()
    report = import_path(sink, registry.source(kind), path, now_ms=NOW)
    assert sink.heads
    assert [loss.reason for loss in report.losses] == ["the document breaks off here"]
    for nothing in ("{", '{"a" 1}', "[", '"x"', "nothing"):
        path.write_text(nothing)
        with pytest.raises(DejaError, match="IMP-E002"):
            import_path(sink, registry.source(kind), path, now_ms=NOW)


def test_an_agent_is_read_message_by_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """STREAM-3, PARTS-1: the messages of one agent may be longer than a value may be, wherever its name stands."""
    messages = [{"role": "user", "content": f"{number} " + "x" * 300} for number in range(50)]
    path = tmp_path / "a.json"
    for whole in (
        {"messages": messages, "core_memory": [{"label": "persona", "value": "kind"}], "name": "g"},
        {"agents": [{"messages": messages, "name": "g"}, {"name": "h", "messages": messages[:3]}]},
    ):
        path.write_text(json.dumps(whole))
        held, walked = FakeSink(), FakeSink()
        import_path(held, registry.source("letta"), path, now_ms=NOW)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(jsonl, "LINE_LIMIT", 2_000)
            patch.setattr(streaming, "_PIECE", 500)
            import_path(walked, registry.source("letta"), path, now_ms=NOW)
        assert walked.heads == held.heads
        assert len(held.heads) > 50


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in WALKED.items() for name in names])
def test_a_long_document_is_guessed_by_what_it_begins_with(
    kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SRC-2: of a document that is longer than a look at it, the parts that are there whole are looked at."""
    path = shared(f"samples/{name}")
    monkeypatch.setattr(source, "HEAD", min(8_192, path.stat().st_size - 10))
    assert registry.guess(path).source.kind == kind
