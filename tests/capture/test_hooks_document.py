# SPDX-License-Identifier: Apache-2.0
"""docs/hooks.md: every command in it runs, and what it says of the answers holds."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from deja_tui import Memory
from tests.support import ROOT

DOCUMENT = (ROOT / "docs" / "hooks.md").read_text()
COMMANDS = re.findall(r"^\$ (.+)$", DOCUMENT, re.MULTILINE)
PYTHON = shlex.quote(sys.executable)
TURNS = (
    {"type": "user", "uuid": "u1", "sessionId": "s1", "message": {"role": "user", "content": "refund order 7"}},
    {"type": "assistant", "uuid": "u2", "sessionId": "s1", "message": {"role": "assistant", "id": "m1", "content": [{"type": "tool_use", "id": "toolu_1", "name": "stripe_refund", "input": {}}]}},
    {"type": "user", "uuid": "u3", "sessionId": "s1", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "rate limited", "is_error": True}]}},
)  # fmt: skip


def test_every_command_of_the_document_runs(tmp_path: Path) -> None:
    """In their order, in one folder, each ends with status 0 and answers as told."""
    (tmp_path / "session.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in TURNS))
    with Memory.open(tmp_path / "memory.deja") as memory:
        memory.add_fact("stripe_refund", "fails_with", "rate limited")
    answers = []
    for command in COMMANDS:
        line = re.sub(r"\bdeja (?=hook)", f"{PYTHON} -m deja_tui ", command)
        done = subprocess.run(
            [shutil.which("bash") or "sh", "-c", line],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append((command, done.stdout))
    told = dict(answers)
    settings = json.loads(next(out for command, out in answers if "hook print" in command))
    assert set(settings["hooks"]) == set(re.findall(r"^\| `(\w+)` \| `deja", DOCUMENT, re.MULTILINE))
    (recalled,) = (json.loads(out) for command, out in answers if "hook recall" in command)
    assert "rate limited" in recalled["hookSpecificOutput"]["additionalContext"]
    assert [told[command] for command in COMMANDS if "hook capture" in command] == [""]
    with Memory.open(tmp_path / "memory.deja") as memory:
        assert [tool.get("is_error") for tool in memory.scan("tool")] == [True]


def test_the_document_names_every_verb_and_option() -> None:
    """What `deja hook --help` lists stands in the document."""
    from deja_tui.cli import hook

    for name in (
        *hook._FLAGS,
        *(one for one in hook._VALUED if one.startswith("--") and one != "--telemetry"),
    ):
        assert name in DOCUMENT
    assert f"{hook.MIN_NEW} grains or {hook.MIN_NEW_ERRORS} failed calls" in DOCUMENT
