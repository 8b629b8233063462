# SPDX-License-Identifier: Apache-2.0
"""Files that appear whole or not at all, and what killed writers leave."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

import pytest

from deja_tui import Memory, spool
from deja_tui.store import whole
from tests.cli.conftest import Deja, deja  # noqa: F401


def part(folder: Path, name: str, text: bytes = b"half of what a memory holds") -> Path:
    """What a writer that was killed has left: nobody holds it."""
    handle, made = whole.begin(folder, f".{name}.")
    os.write(handle, text)
    os.close(handle)
    return Path(made)


def test_a_file_takes_its_name_when_it_is_complete(tmp_path: Path) -> None:
    """WHOLE-1: private, whole or not there; a link of the name is replaced and what it leads to left alone."""
    target, other = tmp_path / "a.mgb", tmp_path / "theirs"
    other.write_text("theirs")
    target.symlink_to(other)
    with whole.replacing(target) as file:
        file.write(b"one")
        assert target.is_symlink()
    assert target.read_bytes() == b"one"
    assert target.stat().st_mode & 0o777 == 0o600
    with suppress(ZeroDivisionError), whole.replacing(target) as file:
        file.write(b"two")
        raise ZeroDivisionError
    assert target.read_bytes() == b"one"
    with pytest.raises(FileExistsError), whole.replacing(target, fresh=True) as file:
        file.write(b"three")
    assert other.read_text() == "theirs"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mgb", "theirs"]


def test_what_a_killed_writer_left_goes_with_the_next(tmp_path: Path) -> None:
    """WHOLE-2: the part of a dead writer goes, one that is being written stays, and so does a stranger's file."""
    left = part(tmp_path, "a.mgb")
    (tmp_path / ".b.mgb.0.partial").write_text("of another name")
    handle, busy = whole.begin(tmp_path, ".a.mgb.")
    with whole.replacing(tmp_path / "a.mgb") as file:
        file.write(b"one")
    assert not left.exists()
    assert Path(busy).exists()
    assert (tmp_path / ".b.mgb.0.partial").exists()
    assert whole.sweep(tmp_path) == 1
    os.close(handle)
    assert whole.sweep(tmp_path) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.mgb"]


def test_a_folder_of_parts_is_swept_and_a_link_of_that_name_is_not_followed(tmp_path: Path) -> None:
    """WHOLE-2: what a killed restore left goes; a link is no part of ours."""
    (tmp_path / ".then.deja.1.partial").mkdir()
    (tmp_path / ".then.deja.1.partial" / "memory-wal").write_text("grains")
    (tmp_path / "kept").write_text("kept")
    (tmp_path / ".then.deja.2.partial").symlink_to(tmp_path / "kept")
    with whole.folder_for(tmp_path / "then.deja") as folder:
        (folder / "memory").write_text("x")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".then.deja.2.partial", "kept"]


@pytest.mark.parametrize(
    ("number", "code"), [(errno.ENOSPC, "STO-E007"), (errno.EDQUOT, "STO-E007"), (errno.EIO, "STO-E008")]
)
def test_a_disk_that_refuses_is_told_with_its_code(
    number: int,
    code: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    deja: Deja,  # noqa: F811
) -> None:
    """WHOLE-3: bundle, restore, segments, audit, document and settings: a code, and nothing is left that looks complete."""
    db, folder = tmp_path / "a.deja", tmp_path / "out"
    folder.mkdir()
    deja("add", "a", "b", "c", "--db", db)
    deja("doc", "create", "/memories/x.md", str(tmp_path / "a.deja-none"), "--db", db)
    with Memory.open(db) as memory:
        memory.docs.create("/memories/x.md", "text")

    def refuse(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    for words in (
        ("bundle", folder / "a.mgb"),
        ("segments", "push", folder),
        ("audit", "export", "--out", folder / "trail.jsonl"),
        ("doc", "view", "/memories/x.md", "--out", folder / "x.md"),
        ("loop", "config-export", "--out", folder / "c.json"),
    ):
        done = deja(*words, "--db", db)
        assert (done.code, done.err[:8]) == (1, code), words
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_forgetting_reaches_what_a_killed_capture_left(tmp_path: Path) -> None:
    """SPOOL-3: the part of a spool file goes with the first erasure, and with the writer that takes the spool in."""
    db = tmp_path / "a.deja"
    with Memory.open(db) as memory:
        address = memory.add_fact("pat", "says", "secret words")
        folder = Path(spool.folder_of(db))
        folder.mkdir()
        left = part(folder, "1.json")
        memory.forget(address, because="asked to")
        assert not left.exists()
    spool.lay_down(
        db, [("event", "k/1", {"content": "kept", "created_at": 1, "context": {"source_key": "k/1"}})]
    )
    part(folder, "2.json")
    with Memory.open(db) as memory:
        memory.add_fact("a", "b", "c")
        assert memory.search("kept")
    assert not folder.exists()


def test_a_folder_that_was_just_removed_loses_no_capture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SPOOL-1: a writer that takes in the last file may remove the folder under a capture's hands."""
    begin, times = whole.begin, []

    def late(folder: str, prefix: str) -> tuple[int, str]:
        if not times:
            times.append(os.rmdir(folder))
        return begin(folder, prefix)

    monkeypatch.setattr(whole, "begin", late)
    spool.lay_down(tmp_path / "a.deja", [("event", "k/1", {"content": "x"})])
    assert spool.counts(tmp_path / "a.deja")[:2] == (1, 1)
