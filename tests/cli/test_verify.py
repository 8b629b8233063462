# SPDX-License-Identifier: Apache-2.0
"""`deja verify`: faults and exit codes, and the rebuild."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest

from deja_tui import Memory
from deja_tui.cli.main import run


def test_a_rebuild_tells_what_it_found_and_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 1 while something is wrong, 0 once it is put right."""
    path = tmp_path / "a.deja"
    with Memory.open(path) as memory:
        memory.add_fact("ada", "likes", "tea")
    db = apsw.Connection(str(path))
    db.execute("UPDATE grain SET dead = 1")
    db.close()
    assert run(["verify", "--db", str(path)]) == 1
    assert "not as live" in capsys.readouterr().out
    assert run(["verify", "--rebuild", "--db", str(path), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"]
    assert told["faults"] == []
    assert [fault["code"] for fault in told["found_before"]] == ["STO-E009"]
    assert run(["verify", "--rebuild", "--db", str(path)]) == 0
    assert capsys.readouterr().out == "ok: no fault found\n"
