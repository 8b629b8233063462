# SPDX-License-Identifier: Apache-2.0
"""The README is true: its commands run, in its order, on a memory of their own; its Python runs and prints a finding."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from deja_tui.capture.registry import MODULES
from deja_tui.cli.app import deja as deja_verbs
from tests.cli.conftest import Deja
from tests.support import ROOT, shared

README = (ROOT / "README.md").read_text()


def test_it_opens_with_the_two_commands() -> None:
    """One runs the main job, one passes the tests; .ci/run holds the same test command to the letter."""
    commands = [line.strip() for line in README.splitlines() if line.startswith("    ")][:2]
    assert commands == [
        "python -m pip install . && deja demo",
        "python -m pip install '.[test]' && python -m pytest",
    ]
    assert commands[1] in (ROOT / ".ci" / "run").read_text()


def test_every_command_of_the_five_minutes_runs(
    deja: Deja, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As written, but for the two that need a terminal; ONE and ANOTHER are addresses of the list."""
    projects = tmp_path / ".claude" / "projects"
    projects.mkdir(parents=True)
    sample = shared("samples/claude-code/viewer-init.jsonl")
    (projects / "s.jsonl").write_bytes(sample.read_bytes())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    section = README.partition("## Five minutes")[2].partition("\n## ")[0]
    lines = [line.strip() for line in section.splitlines() if line.startswith("    ")]
    assert len(lines) >= 8
    names: dict[str, str] = {}
    for line in lines:
        for command in line.split(" && "):
            argv = shlex.split(command)
            assert argv.pop(0) == "deja"
            if argv[0] in ("ui", "review"):
                continue
            argv = [str(projects) if part == "~/.claude/projects" else names.get(part, part) for part in argv]
            done = deja(*argv)
            assert done.code == 0, (command, done.err)
            if argv[:2] == ["loop", "list"]:
                rows = deja(*argv, "--format", "json").json["recommendations"]
                names = {"ONE": rows[0]["address"], "ANOTHER": rows[1]["address"]}
    assert names


def test_the_verbs_without_json_are_those_it_names() -> None:
    """A claim about every verb is compared with every verb."""
    text = " ".join(README.split())
    told = text.partition("Verbs that report take `--format json`: all but ")[2].partition(
        " form of its own"
    )[0]
    named = set(re.findall(r"`([a-z -]+)`", told))
    assert set(without_json(deja_verbs, click.Context(deja_verbs))) == named


def without_json(group: click.Group, context: click.Context, before: str = "") -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from without_json(command, click.Context(command, parent=context), f"{name} ")
        elif command and not any("--format" in param.opts for param in command.params):
            yield name if name == "config-export" else before + name


def test_every_command_of_the_doors_runs(deja: Deja, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As written, on a log of three equal failures: the gate ends with 2, the trail is written, every kind is named."""
    line = '{"tool_name": "refund", "content": "rate limited", "is_error": true, "tool_call_id": "%d"}\n'
    (tmp_path / "calls.jsonl").write_text("".join(line % number for number in range(5)))
    monkeypatch.chdir(tmp_path)
    section = README.partition("## Doors")[2].partition("\n## ")[0]
    commands = [one.strip() for one in section.splitlines() if one.startswith("    ")]
    assert len(commands) >= 6
    for command in commands:
        argv = shlex.split(command)
        assert argv.pop(0) == "deja"
        done = deja(*argv)
        assert done.code == (2 if "--fail-on" in argv else 0), (command, done.err)
    assert (tmp_path / "trail.jsonl").read_text().count("\n") >= 2
    assert all(f"`{kind}`" in section for kind in MODULES)


def test_the_python_example_runs_and_shows_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Copied out of the README as it stands."""
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEJA_LOOP_NOW_MS", raising=False)
    exec(compile(code, "README.md", "exec"), {})
    told = capsys.readouterr().out
    assert "eu-west-1" in told
    assert "stripe_refund: 3 of 3 calls failed" in told


def test_the_pictures_are_there_and_ask_no_network() -> None:
    """Exported from the console, without font addresses (D50)."""
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+\.svg)\)", README)
    assert len(pictures) == 3
    for name in pictures:
        text = (ROOT / name).read_text()
        assert "<svg" in text
        assert "@font-face" not in text
        assert "url(http" not in text
