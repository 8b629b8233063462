# SPDX-License-Identifier: Apache-2.0
"""``deja demo``, ``deja init`` and the ways in which a verb finds its memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Deja


def test_demo_without_a_terminal_prints_the_queue_and_where_it_is(deja: Deja, tmp_path: Path) -> None:
    """Plain lines, exit 0, the file named."""
    path = tmp_path / "d.deja"
    done = deja("demo", path)
    assert done.code == 0
    assert str(path) in done.out
    assert "stripe_refund" in done.out
    assert path.exists()


def test_demo_never_writes_the_default_memory(
    deja: Deja, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither DEJA_DB nor the data folder is touched."""
    own = tmp_path / "own.deja"
    monkeypatch.setenv("DEJA_DB", str(own))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert deja("demo").code == 0
    assert not own.exists()
    assert not (tmp_path / "data").exists()


def test_demo_twice_keeps_what_was_decided(deja: Deja, demo: Path) -> None:
    """Opening the same file again seeds nothing again."""
    row = deja("loop", "list", "--db", demo, "--format", "json").json["recommendations"][0]
    deja("loop", "reject", row["address"], "--db", demo, "--because", "not ours")
    rows = len(deja("loop", "list", "--db", demo, "--format", "json").json["recommendations"])
    assert deja("demo", demo).code == 0
    assert len(deja("loop", "list", "--db", demo, "--format", "json").json["recommendations"]) == rows


def test_demo_and_init_leave_a_memory_with_grains_alone(deja: Deja, tmp_path: Path) -> None:
    """Your own memory is not a place for a demo."""
    path = tmp_path / "mine.deja"
    assert deja("add", "a", "b", "c", "--db", path).code == 0
    for argv in (("demo", path), ("init", "--template", "demo", "--db", path), ("init", "--db", path)):
        done = deja(*argv)
        assert done.code == 1
        assert "CLI-E003" in done.err


def test_the_demo_shows_a_decision_of_last_week(deja: Deja, demo: Path) -> None:
    """D54: applied by the real engine, with a chain that verifies."""
    rows = deja("loop", "list", "--status", "applied", "--db", demo, "--format", "json").json[
        "recommendations"
    ]
    assert len(rows) == 1
    told = deja("loop", "show", rows[0]["address"], "--db", demo, "--format", "json").json
    assert told["audit"]["verified"] is True
    assert [entry["to_status"] for entry in told["audit"]["entries"]] == ["pending", "approved", "applied"]


def test_the_same_demo_comes_of_the_same_clock(deja: Deja, tmp_path: Path) -> None:
    """Nothing in it is drawn at random: addresses are equal."""
    for name in ("one.deja", "two.deja"):
        assert deja("init", "--template", "demo", "--db", tmp_path / name).code == 0
    one, two = (
        deja("loop", "list", "--db", tmp_path / name, "--format", "json").json
        for name in ("one.deja", "two.deja")
    )
    assert one == two


def test_a_missing_memory_is_a_coded_error(deja: Deja, tmp_path: Path) -> None:
    """It names the path and how to make one."""
    done = deja("loop", "list", "--db", tmp_path / "none.deja")
    assert done.code == 1
    assert "STO-E003" in done.err
    assert "deja init" in done.err


def test_a_bad_clock_override_is_an_error(deja: Deja, demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DEJA_LOOP_NOW_MS that is no number stops every verb that asks for the time."""
    monkeypatch.setenv("DEJA_LOOP_NOW_MS", "soon")
    done = deja("loop", "run", "--db", demo)
    assert done.code == 1
    assert "CLI-E002" in done.err


def test_verbs_without_arguments_help(deja: Deja) -> None:
    """`deja` alone lists the verbs; a typo names the nearest."""
    alone = deja()
    assert "demo" in alone.out + alone.err
    typo = deja("reveiw")
    assert typo.code == 64
    assert "review" in typo.err
