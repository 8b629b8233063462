# SPDX-License-Identifier: Apache-2.0
"""``deja doc``: files in, versions kept, nothing of a text acts on the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Deja

PATH = "/memories/style.md"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "a.deja"


def test_a_document_from_file_to_every_verb(deja: Deja, db: Path, tmp_path: Path) -> None:
    """Create, list, view, replace, insert, history, restore, rename, delete."""
    source = tmp_path / "style.md"
    source.write_text("be brief\nbe kind\n")
    on = ("--db", db)
    created = deja("doc", "create", PATH, source, *on, "--format", "json").json
    assert (created["path"], created["live"], created["characters"]) == (PATH, True, 17)
    assert deja("doc", "create", PATH, source, *on).err.startswith("MEM-E002")
    assert deja("doc", "view", PATH, *on).out == "be brief\nbe kind\n"
    assert deja("doc", "view", PATH, "-n", *on).out == "   1: be brief\n   2: be kind\n"
    assert deja("doc", "replace", PATH, "brief", "short", *on).code == 0
    assert deja("doc", "replace", PATH, "be", "x", *on).err.startswith("VAL-E001")
    assert deja("doc", "insert", PATH, "1", "be clear", *on).code == 0
    assert deja("doc", "view", PATH, *on, "--format", "json").json["text"] == "be short\nbe clear\nbe kind\n"
    versions = deja("doc", "history", PATH, *on, "--format", "json").json["versions"]
    assert [version["live"] for version in versions] == [True, False, False]
    assert deja("doc", "replace", PATH, "short", "x", "--base", versions[1]["address"], *on).err.startswith(
        "MEM-E002"
    )
    assert deja("doc", "restore", PATH, versions[2]["address"][:12], *on).code == 0
    assert deja("doc", "view", PATH, *on).out == "be brief\nbe kind\n"
    assert deja("doc", "view", PATH, "--version", versions[1]["address"], *on).out == "be short\nbe kind\n"
    assert deja("doc", "rename", PATH, "/memories/tone.md", *on).code == 0
    assert "/memories/tone.md" in deja("doc", "list", *on).out
    assert deja("doc", "history", "/memories/tone.md", *on).out.count("(earlier)") == 4
    refused = deja("doc", "delete", "/memories/tone.md", "--because", "old", *on)
    assert refused.err.startswith("LOP-E023")
    done = deja("doc", "delete", "/memories/tone.md", "--because", "old", "--allow-destructive", *on)
    assert done.out.startswith("erased 5 versions")
    assert deja("doc", "list", *on).out == "No documents.\n"
    assert deja("verify", *on).code == 0


def test_a_text_that_would_act_is_shown_as_escapes_and_written_as_it_is(
    deja: Deja, db: Path, tmp_path: Path
) -> None:
    """On the terminal escapes, in a file the bytes."""
    source = tmp_path / "evil.md"
    source.write_bytes(b"\x1b]0;title\x07[@click=x]\xe2\x80\xae\n\xff")
    assert deja("doc", "create", PATH, source, "--db", db).code == 0
    shown = deja("doc", "view", PATH, "--db", db).out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    out = tmp_path / "out.md"
    assert deja("doc", "view", PATH, "--out", out, "--db", db).out == ""
    assert out.read_bytes() == b"\x1b]0;title\x07[@click=x]\xe2\x80\xae\n" + "\ufffd".encode()


def test_a_missing_file_and_a_bad_path_are_coded(deja: Deja, db: Path, tmp_path: Path) -> None:
    """No traceback; the reader verbs make no file."""
    assert deja("doc", "create", PATH, tmp_path / "none.md", "--db", db).err.startswith("IMP-E001")
    assert deja("doc", "list", "--db", db).err.startswith("STO-E003")
    (tmp_path / "x").write_text("x")
    assert deja("doc", "create", "/memories/../x", tmp_path / "x", "--db", db).err.startswith("VAL-E001")
    assert deja("doc", "view", PATH, "--db", db).err.startswith("MEM-E001")


def test_versions_of_two_copies_are_told_and_merged(deja: Deja, db: Path, tmp_path: Path) -> None:
    """A note on stderr, marks in the lists, `others` in the JSON; the text itself stays what was asked for."""
    source, other, bundle = tmp_path / "style.md", tmp_path / "b.deja", tmp_path / "b.mgb"
    for where, text in ((other, "there\n"), (db, "here\n")):
        source.write_text(text)
        assert deja("doc", "create", PATH, source, "--db", where).code == 0
    assert deja("bundle", bundle, "--db", other).code == 0
    assert deja("import-bundle", bundle, "--db", db).code == 0
    on = ("--db", db)
    shown = deja("doc", "view", PATH, *on)
    assert shown.out in ("here\n", "there\n")
    assert "another copy wrote a current version" in shown.err
    assert "deja doc merge" in shown.err
    assert "(one of 2)" in deja("doc", "list", *on).out
    versions = deja("doc", "history", PATH, *on, "--format", "json").json["versions"]
    assert [version["live"] for version in versions] == [True, True]
    assert versions[0]["others"] == [versions[1]["address"]]
    assert deja("doc", "merge", PATH, *on, "--because", "x", "--keep", "f" * 64).err.startswith("MEM-E001")
    assert deja("doc", "merge", PATH, *on, "--because", "x", "--keep", "a", "--text", source).code == 64
    keep = versions[1]["address"]
    kept = deja("doc", "view", PATH, "--version", keep, *on).out
    assert deja("doc", "merge", PATH, "--keep", keep, "--because", "this one", *on).err == ""
    merged = deja("doc", "view", PATH, *on)
    assert (merged.out, merged.err) == (kept, "")
