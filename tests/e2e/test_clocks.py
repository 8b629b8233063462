# SPDX-License-Identifier: Apache-2.0
"""The clock of the machine jumps, years on and years back, between processes that know nothing of it (docs/reliability.md).

Outside the default suite: ``python -m pytest -s -m slow -n 0 tests/e2e/test_clocks.py``; needs the program ``faketime``.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("faketime") is None, reason="needs the program faketime"),
]

YEARS = [2026, 2031, 2019, 2026, 2045, 2001, 2027, 2025]
ROUNDS = 12


def deja(when: str, *words: object, stdin: str = "") -> str:
    """One verb at that time of the wall clock; what it printed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("DEJA_")}
    done = subprocess.run(
        ["faketime", when, sys.executable, "-m", "deja_tui", *map(str, words)],
        cwd=ROOT,
        env=env,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    # a pull by a clock that is more than ten years behind waits, and says so with status 1
    waits = words[:2] == ("segments", "pull") and "waiting" in done.stdout
    assert done.returncode == 0 or waits, (when, words, done.stdout, done.stderr)
    return done.stdout


def test_a_wall_clock_that_jumps(tmp_path: Path) -> None:
    """Add, supersede, fail, run, approve, apply, verify, undo, capture and sync, each at another year: the order is that of what
    happened, undo gives back what was recalled, chains verify, and a copy that lives at another time agrees."""
    chance = random.Random(3)
    db, other = ("--db", tmp_path / "a.deja"), ("--db", tmp_path / "b.deja")
    acts = decided = 0

    def now() -> str:
        nonlocal acts
        acts += 1
        year = chance.choice(YEARS)
        return f"{year}-{chance.randrange(1, 13):02}-{chance.randrange(1, 28):02} {chance.randrange(24):02}:{chance.randrange(60):02}:00"

    def recalled() -> list[str]:
        told = json.loads(deja(now(), "recall", "-k", 1000, "--format", "json", *db))
        return [grain["address"] for grain in told["grains"]]

    for number in range(ROUNDS):
        one = deja(now(), "add", f"s{number}", "tier", "silver", *db).strip()
        two = deja(now(), "supersede", one, "--set", "object=gold", "--because", "it rose", *db).strip()
        told = json.loads(deja(now(), "history", one, "--format", "json", *db))
        assert [grain["address"] for grain in told["grains"]] == [two, one]
        when = now()
        for k in range(3):
            words = (
                f"tool{number}",
                f"failed as {number}",
                "--error",
                "--thread",
                f"t{k}",
                "--call-id",
                f"{number}-{k}",
            )
            deja(when, "record-tool-call", *words, *db)
        deja(f"{when[:-2]}59", "loop", "reflect", *db)
        rows = json.loads(deja(now(), "loop", "list", "--format", "json", *db))["recommendations"]
        mine = [row["address"] for row in rows if f"tool{number}" in row["target_ref"]]
        before = recalled()
        for address in mine[:1]:
            for verb in ("approve", "apply", "rollback"):
                deja(now(), "loop", verb, address, "--because", f"{verb} it", *db)
                assert "ok" in deja(now(), "verify", *db)
            assert recalled() == before
            decided += 3
        event = {
            "hook_event_name": "PostToolUseFailure",
            "session_id": "s",
            "tool_name": "Bash",
            "error": "no",
            "tool_use_id": f"f{number}",
        }
        deja(now(), "hook", "capture", *db, stdin=json.dumps(event))
        deja(now(), "hook", "recall", *db, stdin=json.dumps({"prompt": "tier gold"}))
        if number % 3 == 0:
            deja(now(), "add", f"o{number}", "of", "the other", *other)
            (tmp_path / "shared").mkdir(exist_ok=True)
            for verb in ("push", "pull"):
                for place in (db, other):
                    deja(now(), "segments", verb, tmp_path / "shared", *place)
    clocks = [
        change["hlc"]
        for change in json.loads(deja(now(), "log", "--since", 0, "--format", "json", *db))["changes"]
    ]
    right = f"{max(YEARS) + 1}-01-01 00:00:00"
    for verb in ("push", "pull", "push", "pull"):
        for place in (db, other):
            assert "refused" not in deja(right, "segments", verb, tmp_path / "shared", *place)
    facts = [
        sorted(
            grain["address"]
            for grain in json.loads(
                deja(now(), "recall", "--type", "fact", "-k", 1000, "--format", "json", *place)
            )["grains"]
        )
        for place in (db, other)
    ]
    assert facts[0] == facts[1]
    for place in (db, other):
        assert "ok" in deja(now(), "verify", "--deep", *place)
    for words in (("loop", "health"), ("loop", "outcomes"), ("next",), ("stats",), ("audit", "export")):
        deja(now(), *words, *db)
    sys.stderr.write(
        f"\nwall clock: {acts} jumps over {max(YEARS) - min(YEARS)} years, {decided} decisions, {len(clocks)} log entries\n"
    )
    assert decided >= ROUNDS
