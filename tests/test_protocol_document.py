# SPDX-License-Identifier: Apache-2.0
"""docs/analyzer-protocol.md is true: what it shows is what is sent, and what its example answers.

After a change: look at the difference, then run with ``DEJA_UPDATE_SNAPSHOTS=1``, which takes over the address only.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deja_tui import Memory
from deja_tui.engine.analyzer import Context
from deja_tui.engine.external import (
    answers,
    bundle,
    manifest_request,
    probe_request,
    read_findings,
    read_told,
)
from deja_tui.engine.reader import Reader
from tests.cli.conftest import Deja, deja  # noqa: F401
from tests.support import DAY, NOW, ROOT

PAGE = ROOT / "docs" / "analyzer-protocol.md"
TEXT = PAGE.read_text()
_ADDRESS = re.compile("[0-9a-f]{64}")


def block(name: str) -> Any:
    """The JSON block of that name."""
    (found,) = re.findall(rf"```json {name}\n(.*?)```", TEXT, re.DOTALL)
    return json.loads(found)


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW) as opened:
        opened.add(
            "fact",
            {
                "subject": "billing",
                "relation": "owner",
                "object": "kim",
                "confidence": 0.9,
                "created_at": NOW - DAY,
            },
        )
        yield opened


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (body,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    path = tmp_path / "owners.py"
    path.write_text(body)
    return path


def ask(script: Path, request: Any) -> Any:
    done = subprocess.run(
        [sys.executable, "-S", script],
        input=json.dumps(request).encode(),
        capture_output=True,
        check=True,
        timeout=30,
    )
    return json.loads(done.stdout)


def context(memory: Memory) -> Context:
    return Context(Reader(memory.substrate), {}, NOW, None, "acme.owners")


def test_the_requests_are_what_is_sent(memory: Memory) -> None:
    """Probe, manifest, analysis and rows, key by key."""
    assert json.loads(probe_request()) == block("probe")
    assert json.loads(manifest_request()) == block("manifest")
    sent = bundle(context(memory), None)
    (address,) = sent.grains
    if os.environ.get("DEJA_UPDATE_SNAPSHOTS"):
        PAGE.write_text(_ADDRESS.sub(address, TEXT))
        return
    assert json.loads(sent.request) == block("analyze")
    queries = read_told(json.dumps(block("manifest-answer")).encode()).queries
    assert queries is not None
    rows = answers(
        context(memory), queries, lambda query: [row.hash for row in memory.cal(query, read_only=True).rows]
    )  # type: ignore[union-attr]
    assert json.loads(rows.request) == block("rows")


def test_the_example_answers_as_the_page_says(script: Path) -> None:
    """To the probe and to the analysis of the page."""
    assert ask(script, block("probe")) == block("probe-answer")
    assert ask(script, block("analyze")) == block("findings")


def test_the_answer_of_the_page_is_one_finding(memory: Memory) -> None:
    """And every key of it is taken."""
    sent = bundle(context(memory), None).grains
    (one,) = read_findings(json.dumps(block("findings")).encode(), sent, "acme.owners/1")
    told = block("findings")["findings"][0]
    assert (one.severity, one.evidence, one.args["text"], one.data["guidance"]) == (  # type: ignore[union-attr, index]
        told["severity"], tuple(told["evidence"]), told["summary"], told["guidance"],
    )  # fmt: skip


def test_the_commands_of_the_page_run(memory: Memory, script: Path, deja: Deja) -> None:  # noqa: F811
    """As written, with this file and this interpreter in their places."""
    lines = [line for told in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) for line in told.splitlines()]
    assert len(lines) == 2
    for line in lines:
        words = line.replace("'acme.owners=python3 owners.py'", "COMMAND").split()[1:]
        command = f"acme.owners='{sys.executable}' -S '{script}'"
        done = deja(
            *[command if word == "COMMAND" else word for word in words],
            "--db",
            memory.store.path,
            "--format",
            "json",
        )
        assert done.code == 0, done.err
        assert done.json["proposed"] == 1
        assert done.json["stored"] == ("--dry-run" not in line)


def test_what_the_page_calls_refused_is_refused() -> None:
    """Limits that stand in the text stand in the code."""
    from deja_tui.commands import LIMIT_MS, MAX_COMMANDS
    from deja_tui.engine import external
    from deja_tui.loop import _COMMAND_LIMIT_MS

    assert (LIMIT_MS, _COMMAND_LIMIT_MS, MAX_COMMANDS) == (30_000, 90_000, 8)
    limits = (
        external.MAX_GRAINS,
        external.MAX_FINDINGS,
        external.MAX_TEXT,
        external.MAX_GUIDANCE,
        external.MAX_FIELD,
    )
    assert limits == (2_000, 200, 200, 600, 4_000)
    assert external.MAX_REPLY == 1_048_576
    assert external.MAX_QUERIES == 8
