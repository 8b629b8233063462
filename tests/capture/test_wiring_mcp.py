# SPDX-License-Identifier: Apache-2.0
"""What is printed for an agent that speaks MCP."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from deja_tui.capture.wiring_mcp import PROMPT, launch, mcp
from deja_tui.cli.app import deja
from deja_tui.engine.actors import caller


def test_the_launch_lines_name_the_program_and_the_file_absolutely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 6 point 6: worker and reviewer, from whatever folder the agent starts them; quoted."""
    monkeypatch.chdir(tmp_path)
    lines = mcp("my shop.deja")
    words = [shlex.split(line) for line in lines if not line.startswith("#")][:2]
    for argv, actor in zip(words, ("agent:worker", "user:reviewer"), strict=True):
        assert Path(argv[0]).is_absolute()
        assert argv[argv.index("--db") + 1] == str(tmp_path / "my shop.deja")
        assert argv[argv.index("--actor") + 1] == actor


def test_a_worker_cannot_review_and_a_reviewer_is_somebody_else(tmp_path: Path) -> None:
    """The rights of the lines are rights that exist; the worker holds none of those that decide."""
    words = {role: launch(role, tmp_path / "a.deja") for role in ("worker", "reviewer")}
    told = {role: dict(zip(argv[-4::2], argv[-3::2], strict=True)) for role, argv in words.items()}
    worker = caller(told["worker"]["--actor"], told["worker"]["--scopes"].split(","))
    reviewer = caller(told["reviewer"]["--actor"], told["reviewer"]["--scopes"].split(","))
    assert [worker.may(right) for right in ("read", "write", "review", "apply")] == [True, True, False, False]
    assert all(reviewer.may(right) for right in ("read", "write", "review", "apply"))
    assert worker.actor != reviewer.actor


def test_the_lines_are_those_of_the_verb(tmp_path: Path) -> None:
    """Every option that is printed is one that ``deja mcp`` takes."""
    argv = launch("worker", tmp_path / "a.deja", "notes")
    verb = deja.get_command(None, "mcp")  # type: ignore[arg-type]
    assert verb is not None
    taken = {name for param in verb.params for name in param.opts}
    assert {word for word in argv if word.startswith("--")} <= taken


def test_the_json_says_the_same(tmp_path: Path) -> None:
    """As one line, for clients that read mcpServers."""
    line = next(line for line in mcp(tmp_path / "a.deja") if line.startswith("{"))
    servers = json.loads(line)["mcpServers"]
    for role in ("worker", "reviewer"):
        server = servers[f"deja-{role}"]
        assert (server["command"], *server["args"]) == launch(role, tmp_path / "a.deja")


def test_the_prompt_is_one_line_and_names_tools_that_exist() -> None:
    """It also says what «» means."""
    from deja_tui.cli.mcp_tools import BY_NAME

    assert "\n" not in PROMPT
    assert "«»" in PROMPT
    for name in ("recall", "search", "record_tool_call", "add_fact", "propose"):
        assert name in PROMPT
        assert name in BY_NAME
