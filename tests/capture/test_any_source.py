# SPDX-License-Identifier: Apache-2.0
"""What holds for every importer: anything at all is read without a traceback, a second time adds nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deja_tui.capture import registry
from deja_tui.capture.files import import_path
from deja_tui.errors import DejaError
from tests.capture.sink import FakeSink
from tests.support import shared

NOW = 1_800_000_000_000
SAMPLES = {
    "claude-code": "claude-code/log-edge-cases.jsonl",
    "codex": "codex/old-function-calls.jsonl",
    "openai": "openai-messages/tool-log.jsonl",
    "tau-bench": "tau-bench/gpt-4o-airline-8.json",
    "tau2": "tau2/results-mock.json",
    "swe-agent": "swe-agent/function-calling-simple.traj",
    "mini-swe-agent": "mini-swe-agent/github-issue.traj.json",
    "openhands": "openhands/resolver-output.jsonl",
    "bfcl": "bfcl/multi-turn-base-20.jsonl",
    "chatgpt": "chatgpt-export/conversations.json",
    "otel": "otel-genai/vs-copilot-1.jsonl",
    "mem0": "mem0/history.json",
    "letta": "letta-af/memgpt-with-convo.af",
    "zep": "zep/graph-dump.json",
    "langgraph": "langgraph-store/store.jsonl",
    "mcp-memory": "mcp-memory/memory.jsonl",
}


def whole(path: Path) -> list[Any]:
    text = path.read_text()
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def damaged(draw: st.DrawFn, value: Any) -> Any:
    """``value`` with parts of it replaced, dropped or wrapped."""
    fate = draw(st.integers(0, 30))
    if fate == 0:
        return draw(st.sampled_from([None, True, -1, 1e400, "", "\ud800\x00", [], {}, [[]], "x" * 50]))
    if fate == 1:
        return [value]
    if isinstance(value, dict):
        kept = [key for key in value if draw(st.integers(0, 20))]
        return {key: damaged(draw, value[key]) for key in kept}
    if isinstance(value, list):
        return [damaged(draw, one) for one in value[:4]]
    return value


@pytest.mark.parametrize("kind", SAMPLES)
@given(st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files_are_read(kind: str, tmp_path: Path, data: st.DataObject) -> None:
    """SRC-3: a real file with parts of it exchanged is read, or refused with a code; nothing is stored twice."""
    real = shared(f"samples/{SAMPLES[kind]}")
    values = whole(real)[:6]
    made = [data.draw(st.composite(damaged)(value)) for value in values]
    path = tmp_path / real.name
    path.write_text("\n".join(json.dumps(value) for value in made), encoding="utf-8", errors="surrogatepass")
    sink = FakeSink()
    try:
        first = import_path(sink, registry.source(kind), path, now_ms=NOW)
        again = import_path(sink, registry.source(kind), path, now_ms=NOW)
    except DejaError as fault:
        assert fault.code in ("IMP-E001", "IMP-E002")  # noqa: PT017 - which code it is, is what is tried
        return
    json.dumps(first.to_json())
    assert (again.added, again.completed) == (0, 0)


@pytest.mark.parametrize("kind", [kind for kind in registry.MODULES if kind != "basic-memory"])
def test_other_kinds_are_refused(kind: str, tmp_path: Path) -> None:
    """SRC-3, FILE-5: a file of no kind at all is refused with IMP-E002; one that holds nothing is an empty import."""
    sink = FakeSink()
    for text in ("", "\ufeff\r\n \0\0"):
        (tmp_path / "c.json").write_text(text)
        empty = import_path(sink, registry.source(kind), tmp_path / "c.json", now_ms=NOW)
        assert (empty.added, empty.loss_total, empty.files[0].complete) == (0, 0, True)
    for name, text in (("a.jsonl", '{"x": 1}\n[2]\n"3"\n'), ("b.json", "not JSON")):
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(DejaError, match="IMP-E002"):
            import_path(sink, registry.source(kind), path, now_ms=NOW)
        assert sink.heads == {}
