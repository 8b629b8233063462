# SPDX-License-Identifier: Apache-2.0
"""Opening: what a file may be, who may write it, and what is said when it cannot be opened (D36, D41, INV-STORE-9)."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from deja_tui.store import schema
from deja_tui.store.connection import Connections, Place, open_place
from deja_tui.store.memory import Store
from tests.store.helpers import add, everything, fact, forget, refuses, run


def made(path: Path) -> str:
    with Store.open(path) as store:
        return add(store, fact())[0]


def test_a_new_file_is_private_and_so_are_its_side_files(path: Path) -> None:
    """INV-OPEN-2: 0600 for the memory and its log."""
    with Store.open(path) as store:
        add(store, fact())
        files = sorted(path.parent.iterdir())
        assert [file.name for file in files] == ["memory.deja", "memory.deja-shm", "memory.deja-wal"]
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert [file.name for file in path.parent.iterdir()] == ["memory.deja"]


def test_symbolic_links_are_resolved_once(path: Path) -> None:
    """The side files lie beside the target, so two names of one memory share one log."""
    (path.parent / "real").mkdir()
    link = path.parent / "link.deja"
    link.symlink_to(path.parent / "real" / "memory.deja")
    with Store.open(link) as store:
        add(store, fact())
        assert store.path == os.path.realpath(path.parent / "real" / "memory.deja")
        assert (path.parent / "real" / "memory.deja-wal").exists()
        link.unlink()
        add(store, fact("bob"))


@pytest.mark.parametrize("options", [{"create": False}, {"read_only": True}])
def test_a_missing_file_is_an_error_unless_it_may_be_made(path: Path, options: dict[str, bool]) -> None:
    """STO-E003, and nothing is created."""
    with refuses("STO-E003"):
        Store.open(path, **options)  # type: ignore[arg-type]
    assert not path.exists()


def test_a_missing_folder_is_an_error(path: Path) -> None:
    """STO-E008: folders are made by people."""
    with refuses("STO-E008"):
        Store.open(path / "sub" / "memory.deja")


def test_a_folder_is_not_a_memory(path: Path) -> None:
    """STO-E002."""
    with refuses("STO-E002"):
        Store.open(path.parent)


@pytest.mark.parametrize(
    "content", [b"hello, this is text\n" * 100, b"\0" * 5000, b"SQLite format 3\0" + b"x" * 3000]
)
def test_a_file_that_is_not_sqlite_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    """STO-E002 (or damaged, where only the first bytes look right); not a byte of it changes."""
    path.write_bytes(content)
    with pytest.raises(Exception, match=r"STO-E00[29]"):
        Store.open(path)
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    """INV-OPEN-1: STO-E002: not even its journal mode is touched."""
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE t(a); INSERT INTO t VALUES(1)").fetchall()
    other.close()
    before = path.read_bytes()
    for options in ({}, {"read_only": True}):
        with refuses("STO-E002"):
            Store.open(path, **options)  # type: ignore[arg-type]
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [schema.VERSION + 1, 0])
def test_another_schema_version_is_refused_by_name(path: Path, version: int) -> None:
    """STO-E006, D41: the version is said, and what to do."""
    made(path)
    db = apsw.Connection(str(path))
    db.pragma("user_version", version)
    db.close()
    with pytest.raises(Exception, match=f"STO-E006.*version {version}") as caught:
        Store.open(path)
    assert caught.value.next_step  # type: ignore[attr-defined]


def test_an_empty_file_becomes_a_memory_but_is_none_to_read(path: Path) -> None:
    """A temporary file that was made beforehand can be used."""
    path.touch()
    with refuses("STO-E002"):
        Store.open(path, read_only=True)
    with Store.open(path) as store:
        add(store, fact())
        assert store.verify(deep=True) == ()


def test_a_reading_store_refuses_every_act_and_reads_everything(path: Path) -> None:
    """STO-E005."""
    address = made(path)
    with Store.open(path, read_only=True) as store:
        assert store.read_only
        assert store.get(address) is not None
        assert store.search("tea")
        assert store.verify(deep=True) == ()
        with refuses("STO-E005"), store.act():
            pass
        with refuses("STO-E005"):
            store.ledger_clear()


def test_a_reading_connection_cannot_write_even_by_accident(path: Path) -> None:
    """INV-STORE-1: query_only."""
    with Store.open(path) as store:
        add(store, fact())
        before = everything(store)
        with pytest.raises(apsw.ReadOnlyError):
            store.reading().execute("DELETE FROM grain")
        assert everything(store) == before


AS_NOBODY = """
import os, sys, urllib.parse
sys.path.insert(0, os.getcwd())
from deja_tui.store.memory import Store
from tests.store.helpers import fact, refuses
os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
store = Store.open(sys.argv[1])
assert store.read_only and store.notice, (store.read_only, store.notice)
assert store.get(sys.argv[2]) is not None
assert store.search("tea")
with refuses("STO-E005"):
    with store.act() as act:
        act.add(fact("eve"))
print(store.notice)
store.close()
"""


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that another user can reach. Not pytest's own: a session that begins makes those private again."""
    folder = Path(tempfile.mkdtemp(prefix="deja-test-"))
    folder.chmod(0o755)
    if any(parent.stat().st_mode & 0o005 != 0o005 for parent in folder.parents):
        pytest.skip("another user cannot reach the temporary folder")
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def told_nobody(path: Path, address: str) -> str:
    child = run(AS_NOBODY, path, address)
    return str(child.told)  # type: ignore[attr-defined]


needs_root = pytest.mark.skipif(
    not hasattr(os, "setresuid") or os.geteuid() != 0, reason="needs to become another user"
)


@needs_root
def test_a_file_that_may_not_be_written_opens_for_reading(reachable: Path) -> None:
    """D36: also where the folder may be written."""
    path = reachable / "memory.deja"
    address = made(path)
    path.chmod(0o644)
    reachable.chmod(0o777)
    assert "reading" in told_nobody(path, address)


@needs_root
def test_a_file_in_a_folder_that_may_not_be_written_opens_as_a_fixed_image(reachable: Path) -> None:
    """D36: immutable, with a notice."""
    path = reachable / "memory.deja"
    address = made(path)
    path.chmod(0o644)
    reachable.chmod(0o555)
    assert "fixed image" in told_nobody(path, address)


def test_a_fixed_image_reads_and_says_when_changes_are_left_out(path: Path) -> None:
    """The log beside it is not looked at; the notice tells."""
    address = made(path)
    with Store(open_place(Place(str(path), read_only=True, frozen=True), 100, "full"), lambda: 0) as store:
        assert store.get(address) is not None
        with refuses("STO-E005"), store.act():
            pass


def test_a_closed_store_says_so(path: Path) -> None:
    """STO-E010 for reads, acts and snapshots; closing again does nothing."""
    store = Store.open(path)
    add(store, fact())
    rows = store.scan("fact")
    store.close()
    store.close()
    for use in (
        lambda: store.get("0" * 64),
        lambda: store.recall(namespace="shared"),
        lambda: store.search("tea"),
        lambda: list(rows),
        lambda: store.act().__enter__(),
        lambda: store.snapshot().__enter__(),
        lambda: store.ledger_list(),
    ):
        with refuses("STO-E010"):
            use()


def test_a_file_outlives_its_store_and_opens_again(path: Path) -> None:
    """Everything is there, the counters go on, the clock does not go back."""
    with Store.open(path, clock=lambda: 5_000_000) as store:
        first = add(store, fact("a"), fact("b"))
        forget(store, first[1])
    with Store.open(path, clock=lambda: 1_000) as store:
        (third,) = add(store, fact("c"))
        found = [store.get(first[0]), store.get(third)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[1].seq == 3
    assert found[1].hlc > found[0].hlc


def test_opening_twice_in_one_process_is_allowed(path: Path) -> None:
    """Two handles see each other's acts."""
    with Store.open(path) as one, Store.open(path) as two:
        (address,) = add(one, fact("a"))
        assert two.get(address) is not None
        add(two, fact("b"))
        assert len(one.recall(namespace="shared")) == 2
        assert one.verify() == two.verify() == ()


def test_a_failed_open_leaves_no_connection_behind(path: Path) -> None:
    """The file can be replaced at once."""
    path.write_bytes(b"no memory at all, but long enough to look at" * 40)
    with refuses("STO-E002"):
        Store.open(path)
    path.unlink()
    made(path)


def test_a_memory_written_under_another_projection_indexes_itself_anew(path: Path) -> None:
    """INV-PROJ-1: the next act drops the index and fills it again; until then the words are found by what is there."""
    with Store.open(path) as store:
        add(store, *(fact(f"s{n}", "is", f"word{n}") for n in range(300)))
        assert store.stats()["unindexed"] == 0
    db = apsw.Connection(str(path))
    db.execute("UPDATE counter SET value = 0 WHERE name = 'projection'")
    db.execute("INSERT INTO text(text) VALUES('delete-all')")
    db.close()
    with Store.open(path) as store:
        add(store, fact("new", "is", "wordnew"))
        assert [g.get("subject") for g in store.search("word7")] == ["s7"]
        assert store.verify(deep=True) == ()


def test_connections_of_a_place_are_made_as_they_are_needed(path: Path) -> None:
    """A reader costs no writer: opening for one recall opens one connection."""
    made(path)
    connections = Connections(Place(str(path), read_only=False), 100, "full")
    assert connections.reader() is connections.reader()
    connections.close()
    with refuses("STO-E010"):
        connections.reader()
    with refuses("STO-E010"):
        connections.writer()
