# SPDX-License-Identifier: Apache-2.0
"""What people ask on the command line feeds the analyzers that need it, as far as the host's policy lets it (D37)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deja_tui import Memory
from tests.cli.conftest import Deja

GAP = "loop.coverage_gap/1"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "a.deja"
    with Memory.open(made) as memory:
        memory.add_fact("acme", "tier", "gold")
    return made


def ran(deja: Deja, path: Path, *host: object) -> dict[str, Any]:
    done = deja(*host, "loop", "run", "--db", path, "--format", "json")
    assert done.code == 0, done.err
    told: dict[str, Any] = done.json
    return told


def gaps(deja: Deja, path: Path) -> list[str]:
    rows = deja("loop", "list", "--db", path, "--format", "json").json["recommendations"]
    return [row["summary"] for row in rows if row["analyzer"] == GAP]


def test_a_question_without_an_answer_is_found_and_closes_with_its_answer(deja: Deja, path: Path) -> None:
    """From three searches to a finding, and from the fact that answers it to a closed one."""
    for wording in ("deploy window", "Deploy  window", "deploy window"):
        assert deja("search", wording, "--db", path).code == 0
    ran(deja, path)
    assert gaps(deja, path) == ["asked 3 times, found nothing 3 times: «deploy window»"]
    with Memory.open(path) as memory:
        memory.add_fact("deploy", "window", "Tuesdays")
    assert ran(deja, path)["closed"] == 1
    assert gaps(deja, path) == []


@pytest.mark.parametrize("way", ["policy", "flag"])
def test_a_host_that_counts_nothing_gets_no_finding_and_is_told(
    deja: Deja, path: Path, tmp_path: Path, way: str
) -> None:
    """Nothing is written beside the memory, and the run says what is missing."""
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({"telemetry": "off"}))
    host = ("--policy", policy) if way == "policy" else ("--telemetry", "off")
    for _ in range(3):
        assert deja(*host, "search", "deploy window", "--db", path).code == 0
    assert not Path(f"{path}.telemetry.db").exists()
    reasons = {one["id"]: one["reason"] for one in ran(deja, path, *host)["analyzers_skipped"]}
    assert reasons[GAP].startswith("missing telemetry")
    assert gaps(deja, path) == []


def test_the_library_counts_nothing_unless_it_is_asked(path: Path) -> None:
    """D37: off by default."""
    with Memory.open(path) as memory:
        for _ in range(3):
            memory.search("deploy window")
        assert GAP in {one.id for one in memory.loop.run().analyzers_skipped}
    assert not Path(f"{path}.telemetry.db").exists()
