# SPDX-License-Identifier: Apache-2.0
"""Settings that change results live in the file and are honoured by every open (DEC)."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from deja_tui import DejaError, Memory
from tests.cli.conftest import Deja, deja  # noqa: F401 - the fixture
from tests.support import NOW


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.deja"
    with Memory.open(path, clock=lambda: NOW) as memory:
        memory.add_fact("ada", "likes", "tea")
        memory.declare("namespace", "user:ada", because="one agent uses it")
        assert memory.namespace == "shared"
        assert memory.notices == ()
    return path


def test_every_open_takes_what_the_file_declares(path: Path) -> None:
    """DEC-1, DEC-2: Plain writes and reads; the row says who, when and why."""
    with Memory.open(path) as memory:
        assert memory.namespace == "user:ada"
        address = memory.add_fact("ada", "likes", "figs")
        assert [grain.address for grain in memory.recall("ada")] == [address]
        (row,) = memory.declared()
        assert (row.name, row.value, row.by, row.at) == ("namespace", "user:ada", "user:local", NOW)
        assert row.because == "one agent uses it"
        assert memory.notices == ()


def test_an_option_that_differs_is_used_and_told(path: Path) -> None:
    """DEC-2: Never silently, and the file keeps what it declares."""
    with Memory.open(path, namespace="other", read_only=True) as memory:
        assert memory.namespace == "other"
        assert memory.notices == ("opened with namespace other; the file declares user:ada",)
    with Memory.open(path, namespace="user:ada") as memory:
        assert memory.notices == ()


def test_a_declaration_needs_admin_a_reason_and_a_name_that_may_be(path: Path) -> None:
    """DEC-1: A refusal changes nothing."""
    with Memory.open(path, scopes=("read", "write")) as writer, pytest.raises(DejaError, match="LOP-E022"):
        writer.declare("namespace", "x", because="why not")
    with Memory.open(path) as memory:
        for name, value, because, code in (
            ("namespace", "", "x", "VAL-E001"),
            ("namespace", 7, "x", "VAL-E001"),
            ("namespace", "agent:x", "x", "VAL-E004"),
            ("colour", "red", "x", "VAL-E001"),
            ("namespace", "x", "", "LOP-E011"),
        ):
            with pytest.raises(DejaError, match=code):
                memory.declare(name, value, because=because)
        assert memory.declared()[0].value == "user:ada"


def test_a_forged_declaration_is_not_followed(path: Path) -> None:
    """A file may come from anywhere: what could not be declared is not believed."""
    with Memory.open(path) as memory, memory.store.act() as act:
        act.set_setting("file.namespace", {"value": "deja-loop"})
        act.set_setting("file.colour", {"value": "red"})
    with Memory.open(path) as memory:
        assert memory.namespace == "shared"
        assert memory.declared() == ()


@pytest.mark.parametrize("value", ["'{'", "CAST(x'ff41' AS TEXT)", "x'00ff'", "'7.5e'", "''"])
def test_a_damaged_declaration_is_told_and_keeps_nobody_out(path: Path, value: str) -> None:
    """DEC-2: the file opens, so that it can be checked and the declaration made anew; whoever asks for it is told."""
    with Memory.open(path) as memory:
        memory.declare("namespace", "team", because="ours")
        memory.add_fact("a", "b", "c")
    db = apsw.Connection(str(path))
    db.execute(f"UPDATE setting SET value = {value}").fetchall()
    db.close()
    with Memory.open(path) as memory:
        assert memory.namespace == "shared"
        assert "cannot be read" in memory.notices[0]
        with pytest.raises(DejaError, match=r"STO-E009.*file.namespace"):
            memory.declared()
        assert len(memory.recall("a", namespace="user:ada")) == 1
        report = memory.subject_report("a", namespace="user:ada")
        assert len(report.grains) == 1
        assert any("settings" in told for told in report.unreached)
        memory.verify()
        memory.declare("namespace", "team", because="again")
    with Memory.open(path) as memory:
        assert (memory.namespace, memory.notices) == ("team", ())


def test_the_command_line_follows_and_tells(deja: Deja, path: Path) -> None:  # noqa: F811
    """Without --ns the file's; with another one a note on stderr; results stay on stdout."""
    deja("add", "ada", "likes", "figs", "--db", path)
    assert "figs" in deja("recall", "ada", "--db", path).out
    other = deja("recall", "ada", "--ns", "shared", "--db", path)
    assert "tea" in other.out
    assert "the file declares user:ada" in other.err
    assert "user:ada" in deja("declare", "--db", path).out
    assert deja("declare", "namespace", "--db", path).code == 64
    assert deja("declare", "namespace", "x", "--db", path).err.startswith("LOP-E011")
    told = deja("declare", "namespace", "x", "--because", "moved", "--db", path, "--format", "json").json
    assert told["declared"][0]["value"] == "x"
