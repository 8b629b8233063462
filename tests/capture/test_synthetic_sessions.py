# SPDX-License-Identifier: Apache-2.0
"""The synthetic sessions of two hosts, imported into a memory and compared with what is known of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deja_tui import Memory
from deja_tui.capture import registry
from deja_tui.capture.files import import_path
from tests.support import SHARED, shared

KINDS = {"claude": "claude-code", "codex": "codex"}
NOW = 1_790_000_000_000
PLACE = SHARED / "vectors" / "transcripts" / "expected.json"
EXPECTED: dict[str, Any] = (
    json.loads(PLACE.read_text()) if PLACE.exists() else {"sessions": [], "not_redacted": []}
)
SESSIONS = [one for one in EXPECTED["sessions"] if one["host"] in KINDS]


def imported(
    session: dict[str, Any], folder: Path
) -> tuple[Path, list[dict[str, Any]], list[dict[str, Any]]]:
    db = folder / "m.deja"
    with Memory.open(db) as memory:
        source = registry.source(KINDS[session["host"]])
        import_path(memory, source, shared(f"vectors/transcripts/{session['file']}"), now_ms=NOW)
        return db, *([dict(one.fields) for one in memory.scan(kind)] for kind in ("event", "tool"))


@pytest.mark.parametrize("session", SESSIONS, ids=lambda one: one["id"])
def test_turns_calls_and_errors(session: dict[str, Any], tmp_path: Path) -> None:
    """User turns, assistant turns, calls and failures are those that the host's session has."""
    _, events, tools = imported(session, tmp_path)
    told = [one for one in events if one.get("event_kind") == "turn"]
    users = [
        one["content"].strip()
        for one in told
        if one["role"] == "user" and one.get("author") in ("person", "agent")
    ]
    assert users == [turn.strip() for turn in session["user_turns"]]
    said = [one for one in told if one["role"] == "assistant" and not one["content"].startswith("[calls ")]
    assert len(said) == session["assistant_text_turns"]
    tools.sort(key=lambda one: one["context"]["ordinal"])
    assert [one["tool_name"] for one in tools] == [call["tool"] for call in session["tool_calls"]]
    failed = [one for one in tools if one.get("is_error")]
    assert len(failed) == len(session["tool_errors"])
    for one, error in zip(failed, session["tool_errors"], strict=True):
        assert one["tool_call_id"].endswith(error["call"])
        assert error["contains"] in one["tool_content"]


@pytest.mark.parametrize("session", SESSIONS, ids=lambda one: one["id"])
def test_secrets_are_in_no_byte_of_the_memory(session: dict[str, Any], tmp_path: Path) -> None:
    """What must be redacted is in no file beside or in the memory, nor findable; a mark names its kind. The rest stays."""
    db, events, tools = imported(session, tmp_path)
    text = json.dumps([*events, *tools], ensure_ascii=False)
    raw = shared(f"vectors/transcripts/{session['file']}").read_text()
    held = b"".join(one.read_bytes() for one in tmp_path.iterdir() if one.is_file())
    for secret in session["redactions"]:
        assert secret["raw"] in raw
        assert secret["raw"].encode() not in held
        assert any(f"[redacted:{kind}]" in text for kind in secret["kinds_any"])
        with Memory.open(db, read_only=True) as memory:
            assert not [
                one
                for one in memory.search(f'"{secret["raw"]}"')
                if secret["raw"] in json.dumps(dict(one.fields))
            ]
    for kept in EXPECTED["not_redacted"]:
        if kept in raw and session["id"] not in kept:
            assert (
                kept in text or kept == "9f1c2ab"
            )  # a commit of the session's head, which the codex importer leaves out
