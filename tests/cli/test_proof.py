# SPDX-License-Identifier: Apache-2.0
"""The product's opening proof (vectors/proof.json) on the command line, from the first call to the undo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Deja
from tests.support import shared


def argv_of(call: dict[str, Any]) -> list[str]:
    """The verb that does what one call of the proof does."""
    args, kwargs = [str(one) for one in call.get("args", ())], call.get("kwargs", {})
    match call["call"]:
        case "record_tool_call":
            return ["record-tool-call", *args, *(["--error"] if kwargs["is_error"] else [])]
        case "add_fact":
            return ["add", *args[:3], "--confidence", args[3]]
        case "add":
            fields = json.loads(args[0])
            told = " ".join(f'SET {name} = "{value}"' for name, value in fields.items())
            return ["cal", f'ADD fact {told} REASON "the proof"']
        case "loop_run":
            return ["loop", "run"]
        case other:
            raise AssertionError(other)


def test_the_opening_proof_on_the_command_line(deja: Deja, tmp_path: Path) -> None:
    """Four findings with their reasons; one value left after the apply; everything back after the undo; no echo."""
    db = tmp_path / "proof.deja"
    assert deja("init", "--template", "blank", "--db", db).code == 0
    calls = json.loads(shared("vectors/proof.json").read_text())["calls"]
    for call in calls:
        for _ in range(call.get("repeat", 1)):
            done = deja(*argv_of(call), "--db", db)
            assert done.code == 0, done.err
    rows = deja("loop", "list", "--db", db, "--format", "json").json["recommendations"]
    told = {row["analyzer"]: row["summary"] for row in rows}
    assert len(rows) >= 4
    assert told["loop.tool_failure/1"].startswith("stripe_refund: 5 of 7 calls failed the same way")
    for analyzer, word in (
        ("contradiction_sweep", "deploy_target"),
        ("duplicate_sweep", "tier"),
        ("staleness", "promo"),
    ):
        assert word in told[f"loop.{analyzer}/1"]

    def targets() -> list[str]:
        found = deja("recall", "acme", "--relation", "deploy_target", "--db", db, "--format", "json").json
        return [grain["fields"]["object"] for grain in found["grains"]]

    def everything() -> str:
        return deja("recall", "-k", "1000", "--db", db, "--format", "json").out

    before, address = everything(), next(row["address"] for row in rows if "contradiction" in row["analyzer"])
    shown = deja("loop", "show", address[:12], "--db", db).out
    assert "us-east-1" in shown
    assert "eu-west-1" in shown
    for verb in ("approve", "apply"):
        assert deja("loop", verb, address, "--because", "the newer one is right", "--db", db).code == 0
    assert len(targets()) == 1
    assert deja("loop", "run", "--db", db, "--format", "json").json["stored"] == 0
    assert deja("loop", "rollback", address, "--because", "both are in use", "--db", db).code == 0
    assert sorted(targets()) == ["eu-west-1", "us-east-1"]
    assert everything() == before
    again = deja("loop", "run", "--db", db, "--format", "json").json
    assert (again["stored"], again["closed"]) == (0, 0)
    assert deja("verify", "--db", db).code == 0
