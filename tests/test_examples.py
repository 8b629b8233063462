# SPDX-License-Identifier: Apache-2.0
"""Every example runs as its README says, without a network, and ends in capture, a run, one approval and one rejection.

The commands of a README are its ``sh`` blocks, in their order, on a copy of its folder. Lines that begin with ``deja`` run in
this process; ONE and ANOTHER are addresses of the list before them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from deja_tui import Memory
from tests.cli.conftest import Deja, deja  # noqa: F401
from tests.support import ROOT

EXAMPLES = ROOT / "examples"
SHOWN = ("python", "anthropic", "openai", "langchain", "cron", "import", "ci")
ALL = (*SHOWN, "mcp")
PYTHON = f"{shlex.quote(sys.executable)}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for copies of the examples, beside each other as they are."""
    for name in ALL:
        shutil.copytree(EXAMPLES / name, tmp_path / name)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("DEJA", f"{PYTHON} -m deja_tui")
    monkeypatch.delenv("DEJA_LOOP_NOW_MS", raising=False)
    return tmp_path


def commands(readme: Path) -> list[str]:
    """The lines of its ``sh`` blocks."""
    blocks = re.findall(r"```sh\n(.*?)```", readme.read_text(), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def in_a_shell(line: str) -> subprocess.CompletedProcess[str]:
    """One line, with this Python and with proxies that lead nowhere."""
    assert line.startswith(("python ", "sh "))
    line = re.sub(r"^python ", PYTHON + " ", line)
    env = {
        **os.environ,
        **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9"),
    }
    return subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, env=env, timeout=120, check=False
    )


def decided(place: Path) -> None:
    """The memory that an example left: whole, one approval or more and one rejection, each with a reason."""
    (file,) = [path for path in place.iterdir() if path.suffix == ".deja"]
    with Memory.open(file, read_only=True) as memory:
        assert memory.verify() == ()
        statuses = [row.status for row in memory.loop.queue(None)]
        assert "rejected" in statuses
        assert {"approved", "applied"} & set(statuses)
        reasons = [
            entry.because
            for row in memory.loop.queue("rejected")
            for entry in memory.loop.audit(row.address).entries
            if entry.to_status == "rejected"
        ]
        assert all(reason.strip() for reason in reasons)


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_runs_as_its_readme_says(
    deja: Deja,  # noqa: F811
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """Issue 6 points 6 to 8: every command ends well, and the memory it leaves holds one approval or more and one rejection."""
    monkeypatch.chdir(folder / name)
    lines = commands(folder / name / "README.md")
    assert lines
    addresses: dict[str, str] = {}
    for line in lines:
        argv = [addresses.get(word, word) for word in shlex.split(line)]
        if argv[0] != "deja":
            ended = in_a_shell(line)
            assert ended.returncode == 0, (line, ended.stdout, ended.stderr)
            assert "Traceback" not in ended.stderr
            continue
        done = deja(*argv[1:])
        assert done.code == 0, (line, done.err)
        if argv[1:3] == ["loop", "list"]:
            rows = deja(*argv[1:], "--format", "json").json["recommendations"]
            addresses = {"ONE": rows[0]["address"], "ANOTHER": rows[1]["address"]}
    decided(folder / name)


def test_every_folder_of_programs_is_run_here() -> None:
    """A new example joins the list above, or one of the tests that run analyzers and policies."""
    assert {path.name for path in EXAMPLES.iterdir()} == {*ALL, "analyzers", "policy"}
    assert all((EXAMPLES / name / "README.md").is_file() for name in ALL)


@pytest.mark.parametrize(
    ("name", "package"), [("anthropic", "anthropic"), ("openai", "openai"), ("langchain", "langchain_core")]
)
def test_an_example_says_whether_it_uses_a_stand_in(folder: Path, name: str, package: str) -> None:
    """The third-party package where it is installed, else a stand-in, and the first line tells which."""
    ended = subprocess.run(
        [sys.executable, str(folder / name / "agent.py"), str(folder / "a.deja")],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert ("stand-in" in ended.stdout.splitlines()[0]) == (find_spec(package) is None)


def test_the_transcript_shows_the_refusals(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 6 point 6: a worker proposes and cannot approve; a reviewer approves, applies and rolls back."""
    if find_spec("mcp_types") is None:
        pytest.skip("needs the MCP SDK: python -m pip install 'deja-tui[mcp]'")
    monkeypatch.chdir(folder / "mcp")
    (line,) = commands(folder / "mcp" / "README.md")
    ended = in_a_shell(line)
    assert ended.returncode == 0, ended.stderr
    decided(folder / "mcp")
    assert ended.stdout.count("LOP-E022 this needs the right review; held: read, write") == 2
    with Memory.open("agent.deja", read_only=True) as memory:
        (undone,) = memory.loop.queue("rolled_back")
        assert [(entry.to_status, entry.actor) for entry in memory.loop.audit(undone.address).entries] == [
            ("pending", "engine:draft.agent/1"),
            ("approved", "user:ana"),
            ("applied", "user:ana"),
            ("rolled_back", "user:ana"),
        ]
        assert memory.loop.show(undone.address).creator == "agent:worker"
        assert [grain.get("object") for grain in memory.recall("acme")] == ["eu-west-1"]


def test_the_workflow_runs_the_gate(deja: Deja, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Issue 6 point 8: its deja lines, as they stand, fail the build with 2 while something severe waits."""
    text = (EXAMPLES / "ci" / "github-actions.yml").read_text()
    steps = re.findall(r"^ +- run: (deja .+)$", text, re.MULTILINE)
    assert steps[-1] == "deja loop list --db agent.deja --fail-on high"
    monkeypatch.chdir(folder)
    with Memory.open("agent.deja") as memory:
        for _ in range(60):
            memory.record_tool_call("stripe_refund", "rate limited", is_error=True)
    assert [deja(*shlex.split(step)[1:]).code for step in steps] == [0, 2]
    (row,) = deja("loop", "list", "--db", "agent.deja", "--format", "json").json["recommendations"]
    assert row["severity"] == "high"
    assert deja("loop", "reject", row["address"], "--db", "agent.deja", "--because", "an outage").code == 0
    assert deja(*shlex.split(steps[-1])[1:]).code == 0


def test_a_gate_without_a_memory_is_no_pass(folder: Path) -> None:
    """1, not 0 and not 2."""
    ended = subprocess.run(
        ["sh", str(folder / "ci" / "gate.sh"), str(folder / "no.deja")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("STO-E003")


def test_the_log_of_the_import_example_is_thirty_calls() -> None:
    """Issue 6 point 7."""
    assert len((EXAMPLES / "import" / "calls.jsonl").read_text().splitlines()) == 30
