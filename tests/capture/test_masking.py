# SPDX-License-Identifier: Apache-2.0
"""Every door that captures masks what looks like a secret before it is stored or indexed, says how much, and can be told not to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from deja_tui import compat
from deja_tui.capture import registry
from deja_tui.capture.report import FileReport
from deja_tui.facade import Memory
from deja_tui.items import CaptureItem
from deja_tui.redact import redact
from tests.capture.test_any_source import SAMPLES
from tests.cli.conftest import Deja, deja
from tests.support import NOW, ROOT, shared

_ = deja
KEY = "sk-ant-" + "a1B2" * 8
DRAWN = "Zx9Qw2Er7Ty4Ui1Op8As5Df3Gh6Jk0Lq"


def bytes_of(path: Path) -> bytes:
    return b"".join(one.read_bytes() for one in path.parent.iterdir() if path.name in one.name)


def by_library(path: Path, raw: bool) -> int:
    with Memory.open(path) as memory:
        more = {"redact": False} if raw else {}
        done = memory.record_tool_call(f"curl {KEY}", {"said": KEY}, True, DRAWN, KEY, {"h": KEY}, **more)
        again = memory.record_tool_call("curl", "ok", thread=DRAWN, **more)
        found, other = memory.get(done), memory.get(again)
        assert found is not None
        assert other is not None
        assert found.get("session_id") == other.get("session_id"), (
            "a masked id still tells what belongs together"
        )
        return sum(done.redacted.values()) + sum(again.redacted.values())


OWN = {"source_key": "own/1"}


class Own:
    """An item of a caller's own kind."""

    type = "tool"

    def __init__(self, said: str) -> None:
        self.source_key = "own/1"
        self.fields = {"tool_name": "curl", "tool_content": said, "is_error": True, "context": OWN}

    def complete(self, stored: Mapping[str, Any]) -> dict[str, Any] | None:
        return {"tool_name": "curl", "tool_content": f"more {KEY}", "is_error": True, "context": OWN}


def by_capture(path: Path, raw: bool) -> int:
    fields = {"content": f"it is {KEY}", "role": "user", "context": {"source_key": f"k/{KEY}"}}
    total = 0
    with Memory.open(path) as memory:
        for item in (CaptureItem("event", f"k/{KEY}", fields), Own(KEY), Own(KEY)):
            total += memory.capture([item], **({"redact": False} if raw else {})).redacted
        assert memory.stats()["grains"] == 3
    return total


def by_compat(path: Path, raw: bool) -> int:
    """The reference product's signature has no room for an opt-out: it masks."""
    with compat.DejaDB(str(path)) as db:
        db.record_tool_call("curl", KEY, True, "t", "c", json.dumps({"h": KEY}))
    return 2


def by_import(path: Path, raw: bool, run: Deja | None = None) -> int:
    assert run is not None
    source = path.with_suffix(".jsonl")
    source.write_text(json.dumps({"tool_name": "curl", "content": f"no {KEY}", "tool_call_id": "c1"}) + "\n")
    done = run(
        "import", "openai", source, "--db", path, "--format", "json", *(["--no-redact"] if raw else [])
    )
    source.unlink()
    return int(done.json["redacted"])


def by_command(path: Path, raw: bool, run: Deja | None = None) -> int:
    assert run is not None
    more = ["--no-redact"] if raw else []
    words = (
        "record-tool-call",
        "curl",
        f"no {KEY}",
        "--error",
        "--input",
        json.dumps({"h": KEY}),
        "--db",
        path,
    )
    plain = run(*words, *more)
    assert len(plain.out.strip()) == 64
    assert plain.err == ("" if raw else "masked before it was stored: 2 anthropic-key\n")
    return 2 * int(run(*words, *more, "--format", "json").json["redacted"])


def by_hook(path: Path, raw: bool) -> int:
    log = path.with_name("log")
    lines = [
        {"type": "user", "uuid": "u1", "sessionId": "s", "timestamp": "2026-03-01T10:00:00Z", "message": {"role": "user", "content": f"use {KEY}"}},
    ]  # fmt: skip
    transcript = path.with_name("s.jsonl")
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    event = {
        "hook_event_name": "PostToolUseFailure", "session_id": "s", "tool_name": "Bash", "tool_use_id": "toolu_1",
        "error": f"denied {KEY}", "tool_input": {"command": f"curl -H {KEY}"}, "transcript_path": str(transcript),
    }  # fmt: skip
    words = [
        sys.executable,
        "-m",
        "deja_tui",
        "hook",
        "capture",
        "--db",
        str(path),
        *(["--no-redact"] if raw else []),
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "DEJA_LOG": str(log)}
    subprocess.run(words, input=json.dumps(event).encode(), env=env, check=True, timeout=60)
    transcript.unlink()
    told = log.read_text()
    return int(told.split("redacted=")[-1].split()[0])


DOORS: dict[str, Callable[..., int]] = {
    "record_tool_call": by_library, "capture": by_capture, "compat": by_compat, "import": by_import,
    "record-tool-call": by_command, "hook": by_hook,
}  # fmt: skip
COUNTED = {"record_tool_call": 6, "capture": 6, "compat": 2, "import": 1, "record-tool-call": 4, "hook": 3}


@pytest.mark.parametrize("door", DOORS)
def test_a_secret_reaches_no_byte_unless_it_is_asked_for(door: str, deja: Deja, tmp_path: Path) -> None:
    """6.5: masked by default and counted; with the opt-out every byte is kept and nothing counted. MCP has its own test."""
    more = {"run": deja} if door in ("import", "record-tool-call") else {}
    masked, raw = tmp_path / "masked.deja", tmp_path / "raw.deja"
    assert DOORS[door](masked, False, **more) == COUNTED[door]
    kept = bytes_of(masked)
    assert KEY.encode() not in kept
    assert DRAWN.encode() not in kept
    assert b"[redacted:anthropic-key]" in kept
    if door != "compat":
        assert DOORS[door](raw, True, **more) == 0
        assert KEY.encode() in bytes_of(raw)


def test_what_a_person_adds_keeps_its_bytes(tmp_path: Path) -> None:
    """`add` and its kin are no captures: what is given is stored."""
    with Memory.open(tmp_path / "m.deja") as memory:
        found = memory.get(memory.add_fact("acme", "key", KEY))
        assert found is not None
        assert found.get("object") == KEY


@pytest.mark.parametrize("kind", SAMPLES)
def test_an_importer_leaves_nothing_for_a_second_look(kind: str) -> None:
    """DESK-1: the driver stores what an importer gives as it comes, so no text of it may still hold a secret."""
    source, path = registry.source(kind), shared(f"samples/{SAMPLES[kind]}")
    for items in source.read(path, FileReport("f", source.figures()), NOW):
        for item in items:
            assert not redact([item.source_key, item.fields])[1], item.source_key
