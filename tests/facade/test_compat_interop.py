# SPDX-License-Identifier: Apache-2.0
"""The same program on both: where the published dejadb is installed, every answer is compared (opt-in: `interop`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deja_tui import compat
from tests.support import NOW


def program(module: Any, folder: Path) -> dict[str, Any]:
    """One program over the store's methods; what each call answered."""
    folder.mkdir()
    db = module.DejaDB(str(folder / "a.db"))

    def fields(after: int, **given: Any) -> str:
        return json.dumps({"created_at": NOW + after, **given})

    told: dict[str, Any] = {}
    told["fact"] = db.add("fact", fields(1, subject="acme", relation="tier", object="gold", confidence=0.9))
    told["supersede"] = db.supersede(
        told["fact"], "fact", fields(2, subject="acme", relation="tier", object="silver")
    )
    for number, (subject, value) in enumerate((("a", "b"), ("b", "c"))):
        db.add("fact", fields(3 + number, subject=subject, relation="knows", object=value))
    told["skill"] = db.add("skill", fields(5, name="n", description="d", proficiency=0.5, practice_count=3))
    told["event"] = db.add("event", fields(6, content="hello", role="user", session_id="s", run_id="r1"))
    told["tool"] = db.add("tool", fields(7, tool_name="t", content="x", is_error=True))
    told["child"] = db.add(
        "fact", fields(8, subject="x", relation="y", object="z", derived_from=told["event"])
    )
    told["recall"] = db.recall("acme")
    told["latest"] = db.latest("acme", "tier")
    told["history"] = db.history("acme", "tier")
    told["search"] = db.search("silver")
    told["provenance"] = db.provenance(told["event"])
    told["related"] = db.related("a", "knows")
    told["runs"] = db.runs_touching(told["child"])
    told["trace"] = [grain["hash"] for grain in json.loads(db.run_trace("r1"))["trace"]]
    told["report"] = db.subject_report("a")
    told["verify"] = db.verify()
    told["bundle"] = db.bundle(str(folder / "x.mgb"))
    told["bundle bytes"] = (folder / "x.mgb").stat().st_size
    path = "/memories/a.md"
    for command in (
        {"command": "create", "path": path, "file_text": "hi\nyo"},
        {"command": "view", "path": path},
        {"command": "insert", "path": path, "insert_line": 1, "insert_text": "mid"},
        {"command": "view", "path": path},
        {"command": "view", "path": "/memories"},
        {"command": "delete", "path": path},
    ):
        told[f"{command['command']} {len(told)}"] = db.memory_tool(json.dumps(command))
    told["erased"] = json.loads(db.forget_subject("acme"))["grains_erased"]
    return told


def test_both_answer_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses, JSON strings to the byte, sizes of bundles, texts of the editing commands."""
    peer = pytest.importorskip("dejadb")
    monkeypatch.setenv("DEJA_LOOP_NOW_MS", str(NOW))
    assert program(compat, tmp_path / "ours") == program(peer, tmp_path / "theirs")


def test_the_program_runs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the published package is not installed."""
    monkeypatch.setenv("DEJA_LOOP_NOW_MS", str(NOW))
    assert program(compat, tmp_path / "ours")["erased"] == 2
