# SPDX-License-Identifier: Apache-2.0
"""``deja loop …`` as a person and as a program use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deja_tui import Memory
from tests.cli.conftest import Deja
from tests.support import NOW

DECISIONS = ("approve", "reject", "withdraw", "apply", "rollback")


def pending(deja: Deja, path: Path, **wanted: str) -> dict[str, Any]:
    """The first pending recommendation whose values match."""
    rows = deja("loop", "list", "--db", path, "--format", "json").json["recommendations"]
    return next(row for row in rows if all(wanted[name] in row[name] for name in wanted))


def live(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """What recall returns of the whole namespace, in its order."""
    with Memory.open(path, read_only=True) as memory:
        return [(grain.address, dict(grain.fields)) for grain in memory.recall(k=1000)]


def test_the_demo_has_a_full_queue_in_order(deja: Deja, demo: Path) -> None:
    """Most severe first; tool failures and duplicates are both there."""
    rows = deja("loop", "list", "--db", demo, "--format", "json").json["recommendations"]
    ranks = [("info", "low", "medium", "high").index(row["severity"]) for row in rows]
    assert ranks == sorted(ranks, reverse=True)
    assert {row["analyzer"] for row in rows} >= {"loop.tool_failure/1", "loop.duplicate_sweep/1"}
    assert len(rows) >= 8


def test_one_recommendation_from_finding_to_undo(deja: Deja, demo: Path) -> None:
    """Approve, apply, roll back: each leaves a receipt, and recall is byte for byte what it was before."""
    row = pending(deja, demo, analyzer="duplicate_sweep", summary="acme")
    before = live(demo)
    for verb, status in (("approve", "approved"), ("apply", "applied")):
        done = deja(
            "loop", verb, row["address"], "--db", demo, "--because", f"{verb}: same fact", "--format", "json"
        )
        assert done.code == 0, done.err
        assert done.json["to_status"] == status
        assert done.json["chain_verified"] is True
    during = live(demo)
    assert len(during) == len(before) - 2
    undone = deja(
        "loop",
        "rollback",
        row["address"][:10],
        "--db",
        demo,
        "--because",
        "ana wants both",
        "--format",
        "json",
    )
    assert undone.json["to_status"] == "rolled_back"
    assert live(demo) == before
    assert deja("verify", "--db", demo).out == "ok: no fault found\n"


def test_a_further_run_proposes_nothing_about_what_was_applied(deja: Deja, demo: Path) -> None:
    """A fix never breeds a finding."""
    rows = deja("loop", "list", "--db", demo, "--format", "json").json["recommendations"]
    for number, row in enumerate(rows):
        changes = row["analyzer"] != "loop.skill_stall/1"  # that is advice: approving it is all there is
        for verb in ("approve", "apply") if changes else ("approve",):
            flag = ["--allow-destructive"] if verb == "apply" else []
            told = ["--db", demo, "--because", f"{verb} number {number}", *flag]
            done = deja("loop", verb, row["address"], *told)
            assert done.code == 0, done.err
    again = deja("loop", "run", "--db", demo, "--format", "json").json
    assert (again["stored"], again["refreshed"], again["outcome"]) == (0, 0, "ran")


@pytest.mark.parametrize("verb", DECISIONS)
def test_a_decision_needs_a_reason(deja: Deja, demo: Path, verb: str) -> None:
    """Without --because it is a usage error; a blank or over-long one is refused and nothing changes."""
    address = pending(deja, demo)["address"]
    assert deja("loop", verb, address, "--db", demo).code == 64
    for reason in ("", "   ", "x" * 501):
        done = deja("loop", verb, address, "--db", demo, "--because", reason)
        assert done.code == 1
        assert "LOP-E011" in done.err
    assert pending(deja, demo)["address"] == address


@pytest.mark.parametrize("verb", [*DECISIONS, "show"])
def test_every_verb_takes_exactly_one_address(deja: Deja, demo: Path, verb: str) -> None:
    """There is no way to decide two at once (D15)."""
    rows = deja("loop", "list", "--db", demo, "--format", "json").json["recommendations"]
    because = [] if verb == "show" else ["--because", "both"]
    done = deja("loop", verb, rows[0]["address"], rows[1]["address"], "--db", demo, *because)
    assert done.code == 64


def test_a_short_address_that_is_not_unique_lists_the_matches(deja: Deja, demo: Path) -> None:
    """Ambiguity names the candidates, a unique start is enough."""
    rows = deja("loop", "list", "--status", "all", "--db", demo, "--format", "json").json["recommendations"]
    by_digit: dict[str, list[str]] = {}
    for row in rows:
        by_digit.setdefault(row["address"][0], []).append(row["address"])
    twice = next((found for found in by_digit.values() if len(found) > 1), None)
    assert twice, "the demo has more recommendations than hex digits at its start, or two share one"
    done = deja("loop", "show", twice[0][0], "--db", demo)
    assert done.code == 1
    assert "MEM-E004" in done.err
    assert all(address in done.err for address in twice)
    assert deja("loop", "show", twice[0][:12], "--db", demo).code == 0


def test_an_unknown_address_and_an_unknown_verb_say_what_to_do(deja: Deja, demo: Path) -> None:
    """Coded error and next step; the nearest verb for a typo."""
    done = deja("loop", "approve", "f" * 64, "--db", demo, "--because", "x")
    assert done.code == 1
    assert "LOP-E040" in done.err
    assert "next:" in done.err
    typo = deja("loop", "aprove", "x", "--db", demo)
    assert typo.code == 64
    assert "approve" in typo.err


def test_fail_on_exits_2_only_when_something_is_that_severe(deja: Deja, demo: Path) -> None:
    """A gate for scripts."""
    assert deja("loop", "list", "--db", demo, "--fail-on", "high").code == 2
    for row in deja("loop", "list", "--db", demo, "--format", "json").json["recommendations"]:
        if row["severity"] == "high":
            deja(
                "loop",
                "reject",
                row["address"],
                "--db",
                demo,
                "--because",
                f"known: {row['target_ref'][:40]}",
            )
    assert deja("loop", "list", "--db", demo, "--fail-on", "high").code == 0


def test_gates_skip_cleanly_and_refuse_nonsense(deja: Deja, demo: Path) -> None:
    """A skip is exit 0 with its reason; a malformed gate is a usage error, never an ungated run."""
    done = deja("loop", "run", "--db", demo, "--min-new", "5", "--format", "json")
    assert (done.code, done.json["outcome"], done.json["skip_reason"]) == (0, "skipped", "min_new_not_met")
    assert (
        deja("loop", "run", "--db", demo, "--if-stale", "7d", "--format", "json").json["skip_reason"]
        == "not_stale"
    )
    for bad in (
        ["--min-new", "many"],
        ["--if-stale", "7"],
        ["--if-stale", "soon"],
        ["--min-new-errors", "-1"],
    ):
        assert deja("loop", "run", "--db", demo, *bad).code == 64


def test_quiet_says_one_line_on_stderr_only_when_something_came(deja: Deja, tmp_path: Path) -> None:
    """For cron."""
    path = tmp_path / "a.deja"
    with Memory.open(path, clock=lambda: NOW - 1000) as memory:
        for number in range(4):
            memory.record_tool_call("curl", "timeout", True, call_id=str(number))
    first = deja("loop", "run", "--quiet", "--db", path)
    assert (first.code, first.out) == (0, "")
    assert first.err.count("\n") == 1
    second = deja("loop", "run", "--quiet", "--db", path)
    assert (second.out, second.err) == ("", "")


def test_a_dry_run_needs_no_reason_and_changes_nothing(deja: Deja, demo: Path) -> None:
    """It says what an apply would do now (D16)."""
    address = pending(deja, demo, analyzer="duplicate_sweep")["address"]
    before = demo.read_bytes()
    done = deja("loop", "apply", address, "--dry-run", "--db", demo)
    assert done.code == 0
    assert "Undo: yes" in done.out
    assert demo.read_bytes() == before


def test_withdraw_takes_an_approval_back(deja: Deja, demo: Path) -> None:
    """Approved → rejected, then nothing can be applied any more."""
    address = pending(deja, demo)["address"]
    assert deja("loop", "approve", address, "--db", demo, "--because", "good").code == 0
    assert deja("loop", "withdraw", address, "--db", demo, "--because", "on second thought").code == 0
    done = deja("loop", "apply", address, "--db", demo, "--because", "try")
    assert done.code == 1
    assert "LOP-E020" in done.err


def test_errors_are_json_for_programs(deja: Deja, demo: Path) -> None:
    """With --format json a failure is an object on stderr."""
    import json

    done = deja("loop", "show", "f" * 64, "--db", demo, "--format", "json")
    assert json.loads(done.err)["error"]["code"] == "LOP-E040"
    assert done.out == ""


def test_reserved_actors_are_refused(deja: Deja, demo: Path) -> None:
    """Nobody decides in the engine's name (D22)."""
    address = pending(deja, demo)["address"]
    for actor in ("engine:loop", "policy:auto", "", "two words", "x" * 65):
        done = deja("loop", "approve", address, "--db", demo, "--because", "ok", "--actor", actor)
        assert done.code == 1
        assert "VAL-E003" in done.err
