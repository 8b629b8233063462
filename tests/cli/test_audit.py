# SPDX-License-Identifier: Apache-2.0
"""``deja audit``: the trail for somebody outside, whole or of a span, and checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw

from tests.cli.conftest import Deja
from tests.support import DAY, NOW


def exported(deja: Deja, demo: Path, *more: object) -> tuple[int, list[dict[str, Any]], str]:
    done = deja("audit", "export", "--db", demo, *more)
    return done.code, [json.loads(line) for line in done.out.splitlines()], done.err


def test_an_export_is_one_line_an_entry_and_a_check(deja: Deja, demo: Path) -> None:
    """AUX-1: every transition of every recommendation, each naming the one before it, then the count."""
    code, lines, told = exported(deja, demo)
    *rows, check = lines
    assert (code, told) == (0, "")
    assert check == {
        "trail": "check",
        "entries": len(rows),
        "without_previous": 0,
        "agrees": True,
        "faults": [],
    }
    applied = [row for row in rows if row["to_status"] == "applied"]
    assert [row["actor"] for row in applied] == ["user:ana"]
    assert [row["at_ms"] for row in rows] == sorted(row["at_ms"] for row in rows)


def test_an_entry_whose_predecessor_lies_outside_says_so(deja: Deja, demo: Path) -> None:
    """AUX-1: a window is marked where it cuts a chain; erasures and settings are in the trail, too."""
    address = deja("add", "a", "b", "c", "--db", demo, "--format", "json").json["address"]
    assert deja("forget", address, "--because", "asked to", "--allow-destructive", "--db", demo).code == 0
    assert deja("loop", "enable", "goal_stagnation", "--because", "we do", "--db", demo).code == 0
    code, lines, told = exported(deja, demo, "--since", str(NOW - 8 * DAY + 1_800_000))
    approved = next(row for row in lines if row.get("to_status") == "approved")
    assert approved["previous_here"] is False
    assert "outside" in told
    assert code == 0
    assert {"loop", "destruction", "configuration", "check"} <= {row["trail"] for row in lines}
    assert exported(deja, demo, "--until", str(NOW - 30 * DAY))[1][0]["entries"] == 0


def test_a_queue_that_says_something_else_is_found(deja: Deja, demo: Path) -> None:
    """AUX-2: a status edited in the table of the queue: exit 1, the address, and the export is written all the same."""
    address = deja("loop", "list", "--db", demo, "--format", "json").json["recommendations"][0]["address"]
    db = apsw.Connection(str(demo))
    (shown,) = db.execute("SELECT status FROM ledger LIMIT 1").fetchone()
    other = "approved" if isinstance(shown, str) else shown + 1
    db.execute("UPDATE ledger SET status = ?", (other,))
    db.close()
    code, lines, told = exported(deja, demo)
    assert code == 1
    assert lines[-1]["agrees"] is False
    assert "LOP-E026" in told
    assert deja("audit", "show", address, "--db", demo).code == 1


def test_a_file_is_never_written_over(deja: Deja, demo: Path, tmp_path: Path) -> None:
    """STO-E011, and what stood there stands there."""
    out = tmp_path / "trail.jsonl"
    assert deja("audit", "export", "--out", out, "--db", demo).code == 0
    before = out.read_bytes()
    assert deja("audit", "export", "--out", out, "--db", demo).code == 1
    assert out.read_bytes() == before
