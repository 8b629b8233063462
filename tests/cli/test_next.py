# SPDX-License-Identifier: Apache-2.0
"""``deja`` alone: what to do next, for the file that is there."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Deja
from tests.support import DAY, NOW


def states(deja: Deja) -> list[str]:
    told: dict[str, Any] = deja("next", "--format", "json").json
    return [step["state"] for step in told["next"]]


def test_each_state_of_a_file_has_its_next_step(
    deja: Deja, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file, empty, never run and not wired, waiting, approved, long quiet; alone and as a verb the same lines."""
    path = tmp_path / "own.deja"
    monkeypatch.setenv("DEJA_DB", str(path))
    assert set(states(deja)) == {"no_file"}
    alone = deja()
    assert alone.code == 0
    assert alone.out == deja("next").out
    for word in ("deja demo", "deja init", "deja import", "--help"):
        assert word in alone.out
    assert not path.exists()
    assert deja("init", "--db", path).code == 0
    assert states(deja) == ["empty", "not_wired"]
    assert deja("add", "a", "b", "c").code == 0
    assert states(deja) == ["never_run", "not_wired"]
    for _ in range(3):
        assert deja("record-tool-call", "refund", "rate limited", "--error").code == 0
    assert states(deja) == ["never_run"]
    assert deja("loop", "run").code == 0
    assert states(deja) == ["pending"]
    address = deja("loop", "list", "--format", "json").json["recommendations"][0]["address"]
    assert deja("loop", "approve", address, "--because", "seen three times").code == 0
    assert "approved" in states(deja)
    monkeypatch.setenv("DEJA_LOOP_NOW_MS", str(NOW + 8 * DAY))
    assert {"stale", "quiet"} <= set(states(deja))
    for step in deja("next", "--format", "json").json["next"]:
        assert step["command"].startswith("deja ")


def test_failures_older_than_the_window_are_told_with_the_command_that_looks_at_them(
    deja: Deja, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run, `deja next` and `deja why` say so; both commands of the step do what they say."""
    path = tmp_path / "own.deja"
    monkeypatch.setenv("DEJA_LOOP_NOW_MS", str(NOW - 120 * DAY))
    for _ in range(3):
        assert deja("record-tool-call", "refund", "rate limited", "--error", "--db", path).code == 0
    monkeypatch.setenv("DEJA_LOOP_NOW_MS", str(NOW))
    short = deja("loop", "run", "--brief", "--db", path).out
    assert "3 failures are older than the window of 30 days. To look at them, too:\n" in short
    assert "tool_failure needs 3 failures of one kind in the last 30 days, has 0 · 3 older\n" in short
    told = {step["state"]: step for step in deja("next", "--db", path, "--format", "json").json["next"]}
    assert set(told) == {"older", "quiet"}
    set_, run = told["older"]["command"].split(" && ")
    assert f"next: {set_}\n" in deja("why", "tool_failure", "--db", path).out
    for command in (set_, run):
        done = deja(*shlex.split(command)[1:])
        assert done.code == 0
    assert "ran: 1 proposed, 1 stored" in done.out


def test_a_memory_where_nothing_waits_is_not_sent_to_run_again(deja: Deja, tmp_path: Path) -> None:
    """After a run that found nothing the next step says why, and a run is the next step once something is new."""
    path = tmp_path / "own.deja"
    for object_ in ("open", "shut"):
        assert deja("record-tool-call", "door", object_, "--db", path).code == 0
    assert deja("loop", "run", "--db", path).code == 0
    told: dict[str, Any] = deja("next", "--db", path, "--format", "json").json
    assert [step["state"] for step in told["next"]] == ["settled"]
    assert "deja loop health" in told["next"][0]["command"]
    assert deja("add", "a", "b", "c", "--db", path).code == 0
    told = deja("next", "--db", path, "--format", "json").json
    assert [step["state"] for step in told["next"]] == ["run"]
    assert told["next"][0]["message"].startswith("1 grain new")
