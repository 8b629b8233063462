# SPDX-License-Identifier: Apache-2.0
"""Killed writers, full disks, damaged files: nothing acknowledged is lost, nothing is half done."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import apsw
import pytest

from deja_tui.errors import DejaError
from deja_tui.store.connection import Connections
from deja_tui.store.faults import storage_error
from deja_tui.store.memory import Store
from tests.store.helpers import add, fact, many, refuses, run

WRITER = """
import os, sys
from deja_tui.store.connection import Connections
from deja_tui.store.memory import Store
from tests.store.helpers import add, fact, many
path, fatal = sys.argv[1], int(sys.argv[2])
store = Store.open(path)
with store.act() as act:
    head = act.add(fact("chain", "is", "0")).address
print(head, flush=True)
seen = 0
def statement(cursor, sql, bindings):
    global seen
    seen += 1
    if seen == fatal:
        os.kill(os.getpid(), 9)
    return True
with store.act() as act:
    act._tx.db.exec_trace = statement
    new = act.supersede(head, fact("chain", "is", "1", derived_from="0" * 64)).address
    many(store, 3)
    act.set_setting("step", 1)
    act.mark(head, "reopen")
    act.forget(act.add(fact("gone", "is", "soon")).address)
print("done", flush=True)
"""


def test_a_writer_killed_at_any_statement_leaves_all_of_its_act_or_nothing(path: Path) -> None:
    """Each round kills a few statements later, until a round lives: the file is sound and whole every time."""
    fatal, rounds, finished = 1, 0, False
    while not finished:
        for name in ("", "-wal", "-shm"):
            Path(f"{path}{name}").unlink(missing_ok=True)
        child = run(WRITER, path, fatal, wait=False)
        told, complaint = child.communicate(timeout=60)
        finished = child.returncode == 0
        assert finished or child.returncode == -signal.SIGKILL, complaint
        acknowledged, *rest = told.split()
        with Store.open(path) as store:
            assert store.verify(deep=True) == ()
            head = store.get(acknowledged)
            assert head is not None
            whole = store.setting("step") == 1
            assert whole or not rest
            assert store.stats()["grains"] == (5 if whole else 1)
            assert [entry.kind for entry in store.log()][:1] == ["add"]
            add(store, fact("after", "the", "fall"))
            assert store.verify(deep=True) == ()
        fatal, rounds = fatal + 11, rounds + 1
    assert rounds > 4


def test_what_was_acknowledged_survives_the_loss_of_the_process(path: Path) -> None:
    """Every address that was printed is there after kill -9, its words too."""
    code = """
import os, sys
from deja_tui.store.connection import Connections
from deja_tui.store.memory import Store
from tests.store.helpers import add, fact
store = Store.open(sys.argv[1])
for n in range(40):
    print(add(store, fact("s", "is", f"word{n}"))[0], flush=True)
os.kill(os.getpid(), 9)
"""
    child = run(code, path, wait=False)
    told, _ = child.communicate(timeout=60)
    addresses = told.split()
    assert len(addresses) == 40
    with Store.open(path) as store:
        assert all(store.intact(address) for address in addresses)
        assert [g.address for g in store.search("word7")] == [addresses[7]]
        assert store.verify(deep=True) == ()


def test_decisions_and_erasures_are_synced_whatever_the_durability(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Design §3: ``normal`` is for capture only; a governed handle anywhere in the act counts."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    with Store.open(path, durability="normal") as store:
        (address,) = add(store, fact())
        assert not synced
        add(store, fact("b"), governed=True)
        assert len(synced) == 1
        with store.act() as act:
            act.add(fact("c"))
            store.ledger_clear()
        assert len(synced) == 2
        with store.act() as act:
            act.forget(address)
        assert len(synced) == 3
        assert store._files.writer().pragma("synchronous") == 1
    with Store.open(path) as store:
        add(store, fact("d"))
        assert store._files.writer().pragma("synchronous") == 2
    with refuses("VAL-E001"):
        Store.open(path, durability="off")  # type: ignore[arg-type]


def test_a_disk_that_does_not_confirm_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """STO-E001: the act is kept, and that it is not safe yet is said, not swallowed."""

    def refuse(_: int) -> None:
        raise OSError(5, "Input/output error")

    with Store.open(path, durability="normal") as store:
        monkeypatch.setattr(os, "fsync", refuse)
        with refuses("STO-E001"):
            add(store, fact("b"), governed=True)
        assert store.stats()["grains"] == 1


def test_a_torn_log_loses_only_what_was_not_acknowledged(path: Path) -> None:
    """A log cut anywhere opens; whole acts are kept, a torn one is not there."""
    with Store.open(path) as store:
        (first,) = add(store, fact("a"))
    store = Store.open(path)
    (second,) = add(store, fact("b"))
    log = Path(f"{path}-wal").read_bytes()
    content = path.read_bytes()
    store.close()
    for cut in (0, 31, 32, 2000, len(log) - 1, len(log)):
        copy = path.parent / f"copy{cut}.deja"
        copy.write_bytes(content)
        Path(f"{copy}-wal").write_bytes(log[:cut])
        with Store.open(copy) as opened:
            assert opened.get(first) is not None
            assert (opened.get(second) is not None) == (cut == len(log))
            assert opened.verify() == ()


# --- damage -----------------------------------------------------------------------------------------


def test_a_flipped_byte_of_a_grain_is_found_and_named(path: Path) -> None:
    """FMT-E003 with the address; the others are still fine."""
    with Store.open(path) as store:
        addresses = add(store, fact(object="a very particular object"), fact("b"))
    content = path.read_bytes()
    place = content.index(b"particular")
    path.write_bytes(content[:place] + b"P" + content[place + 1 :])
    with Store.open(path) as store:
        faults = store.verify()
        assert [(fault.code, fault.address) for fault in faults] == [("FMT-E003", addresses[0])]
        assert not store.intact(addresses[0])
        assert store.intact(addresses[1])


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.9])
def test_a_file_cut_short_is_an_error_or_a_list_of_faults_never_a_surprise(path: Path, kept: float) -> None:
    """STO-E009 on opening or reading, or faults from verify; nothing else is raised."""
    with Store.open(path) as store:
        many(store, 400)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    told: list[str] = []
    try:
        with Store.open(path) as store:
            told += [fault.code for fault in store.verify()]
            list(store.scan("fact"))
    except DejaError as error:
        told.append(error.code)
    assert "STO-E009" in told


def test_garbage_over_pages_is_reported_by_verify(path: Path) -> None:
    """Each check that cannot go on is a fault of its own; the rest is still looked at."""
    with Store.open(path) as store:
        many(store, 400)
    content = bytearray(path.read_bytes())
    for page in range(20, len(content) // 4096, 3):
        content[page * 4096 : page * 4096 + 300] = os.urandom(300)
    path.write_bytes(content)
    try:
        with Store.open(path, read_only=True) as store:
            faults = store.verify()
    except DejaError as error:
        faults = (error,)  # type: ignore[assignment]
    assert "STO-E009" in {fault.code for fault in faults}


def test_a_full_disk_takes_the_act_back_and_says_so(path: Path) -> None:
    """STO-E007; room again, and the next act works."""
    with Store.open(path) as store:
        add(store, fact("a"))
        with refuses("STO-E007"), store.act() as act:
            act._tx.db.pragma("max_page_count", 1)
            many(store, 2000)
        store._files.writer().pragma("max_page_count", 1_000_000)
        assert store.stats()["grains"] == 1
        with refuses("STO-E001"), store.act() as act:
            act._tx.db.pragma("max_page_count", 1)
            with refuses("STO-E007"):
                many(store, 2000)
            act.add(fact("written as if nothing had happened"))
        store._files.writer().pragma("max_page_count", 1_000_000)
        assert store.stats()["grains"] == 1
        many(store, 300)
        assert store.verify(deep=True) == ()


def without_room() -> apsw.IOError:
    """What SQLite says when the index of the log finds no room."""
    error = apsw.IOError("disk I/O error")
    error.extendedresult = apsw.SQLITE_IOERR_SHMSIZE
    return error


def test_a_disk_without_room_for_the_log_is_full_and_still_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """STO-E007 for whoever would write; a reader gets the file as a fixed image, with a notice (seen on a full tmpfs)."""
    with Store.open(path) as store:
        (address,) = add(store, fact("a"))

    def refused(self: Connections) -> apsw.Connection:
        raise without_room()

    monkeypatch.setattr(Connections, "_connect_reader", refused)
    with refuses("STO-E007"):
        Store.open(path)
    with Store.open(path, read_only=True) as store:
        assert store.get(address) is not None
        assert store.notice is not None
        assert "full" in store.notice


@pytest.mark.parametrize(
    "error,code",
    [
        (without_room(), "STO-E007"),
        (apsw.BusyError("x"), "STO-E004"),
        (apsw.FullError("x"), "STO-E007"),
        (apsw.ReadOnlyError("x"), "STO-E005"),
        (apsw.NotADBError("x"), "STO-E002"),
        (apsw.CorruptError("x"), "STO-E009"),
        (apsw.CantOpenError("x"), "STO-E008"),
        (apsw.ConnectionClosedError("x"), "STO-E010"),
        (apsw.IOError("x"), "STO-E001"),
        (apsw.SQLError("x"), "STO-E001"),
    ],
)
def test_every_exception_of_sqlite_has_a_code_and_a_next_step(error: Exception, code: str) -> None:
    """INV-STORE-9: one table maps them all."""
    told = storage_error(error)
    assert told.code == code
    assert told.next_step
