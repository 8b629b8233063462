# SPDX-License-Identifier: Apache-2.0
"""Every real file yields the counts that ``shared/samples/expected.json`` gives for it, and nothing twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deja_tui.capture import registry
from deja_tui.capture.files import import_path
from deja_tui.facade import Memory
from tests.support import shared

NOW = 1_800_000_000_000
# what a person reads beside the figures, or what is told under another name
NOT_FIGURES = {"note"}
KINDS = {
    "codex": "codex",
    "openai-messages": "openai",
    "tau-bench": "tau-bench",
    "tau2": "tau2",
    "swe-agent": "swe-agent",
    "mini-swe-agent": "mini-swe-agent",
    "openhands": "openhands",
    "bfcl": "bfcl",
    "chatgpt-export": "chatgpt",
    "otel-genai": "otel",
    "mem0": "mem0",
    "letta-af": "letta",
    "zep": "zep",
    "langgraph-store": "langgraph",
    "basic-memory": "basic-memory",
    "mcp-memory": "mcp-memory",
    "claude-code": "claude-code",
}


def cases() -> Iterator[tuple[str, str]]:
    path = Path(__file__).parents[2].parent / "shared" / "samples" / "expected.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    for folder, found in known.items():
        if folder in KINDS:
            yield from ((folder, name) for name in found)


def expected(folder: str, name: str) -> dict[str, Any]:
    found = json.loads(shared("samples/expected.json").read_text())[folder][name]
    return {key: value for key, value in found.items() if key not in NOT_FIGURES}


@pytest.mark.parametrize(("folder", "name"), list(cases()) or [("claude-code", "viewer-init.jsonl")])
def test_counts(folder: str, name: str, tmp_path: Path) -> None:
    """A real file gives exactly the figures that were counted by hand; read again it adds nothing."""
    place = shared(f"samples/{folder}/{name}")
    source = registry.source(KINDS[folder])
    with Memory.open(tmp_path / "m.deja", clock=lambda: NOW) as memory:
        first = import_path(memory, source, place, now_ms=NOW)
        again = import_path(memory, source, place, now_ms=NOW)
    wanted = expected(folder, name)
    assert {key: first.figures.get(key) for key in wanted} == wanted
    assert all(file.complete for file in first.files)
    assert (again.added, again.completed) == (0, 0)


@pytest.mark.parametrize(("folder", "name"), list(cases()) or [("claude-code", "viewer-init.jsonl")])
def test_the_kind_is_guessed(folder: str, name: str) -> None:
    """Without a kind, a real file is recognised by what it holds."""
    assert registry.guess(shared(f"samples/{folder}/{name}")).source.kind == KINDS[folder]
