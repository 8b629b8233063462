# SPDX-License-Identifier: Apache-2.0
"""A refused act says which process holds the lock, where the system tells it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deja_tui.store import holder
from deja_tui.store.faults import StoreError
from deja_tui.store.memory import Store

HOLD = """
import sys, apsw
db = apsw.Connection(sys.argv[1])
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
db.execute("ROLLBACK")
print("free", flush=True)
sys.stdin.readline()
"""
needs_locks = pytest.mark.skipif(not Path("/proc/locks").exists(), reason="the system lists no locks")


@contextmanager
def locked(path: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Another process holds the write lock; a line to its stdin lets go of it."""
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    try:
        yield other
    finally:
        other.kill()
        other.communicate()


@needs_locks
def test_a_refused_act_names_the_process_that_holds_the_lock(tmp_path: Path) -> None:
    """Its number, and of its command line the program and the verb only; the lock of this process survives the look."""
    path = tmp_path / "a.deja"
    with Store.open(path, busy_ms=1) as store:
        with locked(path, "/usr/bin/deja", "import", "--because=secret") as other:
            with pytest.raises(StoreError) as told, store.act():
                pass
            assert str(told.value) == (
                f"STO-E004 the file is locked by another writer (process {other.pid}, deja import)"
            )
            assert holder.holder(str(path)) == other.pid
        with store.act() as act:
            act.set_setting("x", 1)
            assert holder.named(str(path)) == "", "one's own lock is nobody else's"
            assert locked_out(path), "looking did not give the lock away (HOLDER-1)"


def locked_out(path: Path) -> bool:
    """Whether another process cannot have the lock now."""
    tried = subprocess.run(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return "BusyError" in tried.stderr


def test_where_nothing_is_known_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HOLDER-2: no list of locks, no such file, a process that has gone, a name that is none."""
    assert holder.named(str(tmp_path / "none")) == ""
    path = tmp_path / "a"
    shm = tmp_path / "a-shm"
    shm.write_bytes(b"")
    found = shm.stat()
    here = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    listing = tmp_path / "locks"
    monkeypatch.setattr(holder, "_LOCKS", str(listing))
    assert holder.holder(str(path)) is None
    for line, pid in (
        (f"1: POSIX  ADVISORY  WRITE 999999999 {here} 120 120", 999_999_999),
        (f"1: POSIX  ADVISORY  WRITE 999999999 {here} 0 EOF", 999_999_999),
        (f"1: POSIX  ADVISORY  READ 999999999 {here} 120 120", None),
        (f"1: POSIX  ADVISORY  WRITE 999999999 {here} 123 127", None),
        (f"1: POSIX  ADVISORY  WRITE 999999999 {here}9 120 120", None),
        ("1: -> POSIX", None),
        (f"1: POSIX  ADVISORY  WRITE x {here} 120 120", None),
    ):
        listing.write_text(line, encoding="ascii")
        assert holder.holder(str(path)) == pid, line
    listing.write_text(f"1: POSIX  ADVISORY  WRITE 999999999 {here} 120 120", encoding="ascii")
    assert holder.named(str(path)) == " (process 999999999)"
