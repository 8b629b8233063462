# SPDX-License-Identifier: Apache-2.0
"""``deja forget``, ``forget-subject``, ``forget-older``: shown first, flagged, reasoned, typed (D17, D19)."""

from __future__ import annotations

from pathlib import Path

import pytest

from deja_tui import Memory
from tests.cli.conftest import Deja
from tests.support import DAY, NOW

FLAG = "--allow-destructive"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "a.deja"
    with Memory.open(path, clock=lambda: NOW) as memory:
        memory.add_fact("pat", "phone", "555-0199", created_at=NOW - 9 * DAY)
        memory.add("observation", {"subject": "pat#visit1", "object": "\x1b[31mred\x1b[0m"})
        memory.add("observation", {"subject": "bo", "object": "met pat"})
        memory.add_fact("pat", "phone", "555-0100", namespace="other")
    return path


def addresses(db: Path) -> list[str]:
    with Memory.open(db, read_only=True) as memory:
        return [grain.address for grain in memory.recall("pat")]


def test_a_dry_run_lists_and_changes_nothing(deja: Deja, db: Path) -> None:
    """Grains, mentions and other namespaces, cleaned; JSON has the same."""
    shown = deja("forget-subject", "pat", "--dry-run", "--db", db)
    assert shown.code == 0
    assert "2 grains would go:" in shown.out
    assert "1 grain mentions the name elsewhere" in shown.out
    assert "1 grain names it in other" in shown.out
    assert "not reached: bundles" in shown.out
    assert "\x1b" not in shown.out
    told = deja("forget-subject", "pat", "--dry-run", "--db", db, "--format", "json").json
    assert [grain["type"] for grain in told["grains"]] == ["fact", "observation"]
    assert told["names"] == ["pat", "pat#visit1"]
    assert told["elsewhere"] == {"other": 1}
    assert len(addresses(db)) == 1


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--because", "a request", "--confirm", "pat"), "LOP-E023"),
        ((FLAG, "--confirm", "pat"), "LOP-E011"),
        ((FLAG, "--because", "pat asked", "--confirm", "pat"), "LOP-E011"),
        ((FLAG, "--because", "a request", "--confirm", "bo"), "LOP-E023"),
        ((FLAG, "--because", "a request"), "LOP-E023"),
    ],
)
def test_a_subject_is_not_erased_without_all_of_it(
    deja: Deja, db: Path, options: tuple[str, ...], code: str
) -> None:
    """Flag, reason, typed characters; each refusal leaves everything."""
    refused = deja("forget-subject", "pat", *options, "--db", db)
    assert (refused.code, refused.err[:8]) == (1, code)
    assert len(addresses(db)) == 1


def test_a_subject_is_erased(deja: Deja, db: Path) -> None:
    """And the audit address is told."""
    done = deja("forget-subject", "pat", FLAG, "--because", "a request", "--confirm", "pat", "--db", db)
    assert done.code == 0
    assert done.out.startswith("erased 2 grains; audit ")
    assert addresses(db) == []
    assert b"555-0199" not in db.read_bytes()
    assert deja("verify", "--db", db).code == 0
    again = deja("forget-subject", "pat", FLAG, "--because", "a request", "--confirm", "pat", "--db", db)
    assert (again.code, again.err[:8]) == (1, "MEM-E001")


def test_one_grain_is_erased(deja: Deja, db: Path) -> None:
    """By a short address; the flag and a reason are needed, a dry run shows it."""
    (address,) = addresses(db)
    assert "1 grain would go:" in deja("forget", address[:10], "--dry-run", "--db", db).out
    assert deja("forget", address, "--because", "a request", "--db", db).err.startswith("LOP-E023")
    assert deja("forget", address, FLAG, "--db", db).err.startswith("LOP-E011")
    done = deja("forget", address[:10], FLAG, "--because", "a request", "--db", db, "--format", "json")
    assert done.json["erased"] == [address]
    assert addresses(db) == []
    assert deja("forget", address, FLAG, "--because", "a request", "--db", db).err.startswith("MEM-E001")
    assert deja("forget", "ffff", "--dry-run", "--db", db).err.startswith("MEM-E001")


def test_what_is_older_is_erased(deja: Deja, db: Path) -> None:
    """ISO times and epoch numbers."""
    assert "1 grain would go:" in deja("forget-older", "2026-02-25", "--dry-run", "--db", db).out
    assert "1 grain would go:" in deja("forget-older", NOW - DAY, "--dry-run", "--db", db).out
    done = deja("forget-older", "2026-02-25", "--type", "fact", FLAG, "--because", "retention", "--db", db)
    assert done.out.startswith("erased 1 grain;")
    assert deja("forget-older", "whenever", "--dry-run", "--db", db).err.startswith("VAL-E002")


def test_a_forgotten_grain_is_gone_from_the_telemetry_of_recall(deja: Deja, db: Path) -> None:
    """Recall and search count (D37), forgetting reaches what they counted."""
    deja("search", "555-0199", "--db", db)
    side = db.with_name(db.name + ".telemetry.db")
    assert b"555-0199" in side.read_bytes()
    (address,) = addresses(db)
    deja("forget", address, FLAG, "--because", "a request", "--db", db)
    assert b"555-0199" not in side.read_bytes()
