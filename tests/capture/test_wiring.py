# SPDX-License-Identifier: Apache-2.0
"""The lines that join an agent to a memory."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from deja_tui import Memory
from deja_tui.capture import wiring


def test_settings_lines_name_every_hook_with_absolute_paths(tmp_path: Path) -> None:
    """The settings lines are JSON with the four events, an absolute program and this file's absolute path."""
    where = tmp_path / "my memory.deja"
    told = json.loads("\n".join(wiring.claude_code(where)))
    assert set(told) == {"hooks"}
    assert set(told["hooks"]) == {"UserPromptSubmit", "PostToolUseFailure", "Stop", "SessionEnd"}
    verbs = {}
    for event, entries in told["hooks"].items():
        (command,) = entries[0]["hooks"]
        words = shlex.split(command["command"])
        assert command["type"] == "command"
        assert Path(words[0]).is_absolute()
        at = words.index("hook")
        verbs[event] = words[at + 1]
        assert words[at + 2 :] == ["--db", str(where)]
    assert verbs == {
        "UserPromptSubmit": "recall",
        "PostToolUseFailure": "capture",
        "Stop": "capture",
        "SessionEnd": "session-end",
    }


def test_namespace_is_named_when_one_is_given(tmp_path: Path) -> None:
    """A namespace with blanks and quotes reaches the hook as one word."""
    command = wiring.hook_command("recall", tmp_path / "m.deja", "team 'a'")
    assert shlex.split(command)[-2:] == ["--ns", "team 'a'"]


def test_python_lines_run_as_they_are(tmp_path: Path) -> None:
    """Three lines of Python capture store one failed call."""
    told = wiring.python(tmp_path / "m.deja")
    assert len(told) == 3
    exec(compile("\n".join(told) + "\nmemory.close()", "lines", "exec"), {})
    with Memory.open(tmp_path / "m.deja") as memory:
        (tool,) = memory.scan("tool")
        assert tool.get("tool_name") == "search"
        assert tool.get("is_error") is True


def test_openai_lines_are_python(tmp_path: Path) -> None:
    """The lines for an OpenAI tool loop compile."""
    compile("\n".join(wiring.openai(tmp_path / "m.deja")), "lines", "exec")
