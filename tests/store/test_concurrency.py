# SPDX-License-Identifier: Apache-2.0
"""Threads, processes and forks on one memory (INV-STORE-1, INV-STORE-10, D34, D35)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE

import pytest

from deja_tui import Memory
from deja_tui.errors import DejaError
from deja_tui.store.memory import Store
from tests.store.helpers import add, fact, forget, many, refuses, run
from tests.support import NOW, shared

HOLDER = """
import sys, apsw
db = apsw.Connection(sys.argv[1])
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


def in_threads(*jobs: Callable[[], None]) -> None:
    """Run the jobs at once; the first exception of any is raised here."""
    failures: list[BaseException] = []

    def guarded(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if failures:
        raise failures[0]


def test_a_writer_elsewhere_refuses_acts_in_time_and_stops_no_reader(path: Path) -> None:
    """STO-E004 after busy_ms; reads, search and opening go on; then the act works."""
    with Store.open(path, busy_ms=20) as store:
        (address,) = add(store, fact())
        holder = run(HOLDER, path, wait=False)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with refuses("STO-E004"), store.act() as act:
            act.add(fact("bob"))
        assert store.get(address) is not None
        assert store.search("tea")
        with Store.open(path, busy_ms=20) as other:
            assert other.recall(namespace="shared", subject="ada")
        holder.communicate("")
        add(store, fact("bob"))
        assert store.verify(deep=True) == ()


def test_the_lock_of_a_stranger_delays_a_capture_and_loses_none(path: Path) -> None:
    """hostile/locked-store: held shortly, a capture waits and is stored; held on, it is a code in time, a run is a clean skip,
    and reading goes on."""
    holder = shared("hostile/locked-store/hold_lock.py")
    Memory.open(path).close()

    def held(seconds: float) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, str(holder), str(path), str(seconds)], stdout=PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "locked\n"
        return child

    child = held(0.6)
    with Memory.open(path, busy_ms=20_000) as memory:
        memory.record_tool_call("Bash", "exit 2", True, call_id="waits")
    assert child.wait(timeout=20) == 0
    child = held(30)
    try:
        with Memory.open(path, busy_ms=100) as memory:
            assert len(memory.recall(type="tool")) == 1
            with refuses("STO-E004"):
                memory.record_tool_call("Bash", "exit 2", True, call_id="refused")
            skipped = memory.loop.run()
            assert (skipped.outcome, skipped.skip_reason) == ("skipped", "lock_held")
            assert memory.verify() == ()
    finally:
        child.kill()
        child.wait(timeout=20)
    with Memory.open(path) as memory:
        memory.record_tool_call("Bash", "exit 2", True, call_id="refused")
        assert len(memory.recall(type="tool")) == 2


def test_two_processes_write_in_turn_and_neither_believes_stale_ids(path: Path) -> None:
    """Terms, positions and the clock are those of the file, not of a cache: erased terms are given anew elsewhere."""
    with Store.open(path) as store:
        (first,) = add(store, fact("zoe", "hums", "la"))
        run(
            """
import sys
from deja_tui.store.memory import Store
from tests.store.helpers import add, fact, forget
with Store.open(sys.argv[1]) as store:
    forget(store, sys.argv[2])
    add(store, fact("yan", "sings", "lo"), fact("xu", "sings", "lo"))
""",
            path,
            first,
        )
        add(store, fact("zoe", "hums", "lu"))
        assert [g.get("object") for g in store.recall(namespace="shared", subject="zoe")] == ["lu"]
        assert [g.get("subject") for g in store.recall(namespace="shared", relation="sings")] == ["xu", "yan"]
        assert [g.seq for g in store.scan("fact")] == [2, 3, 4]
        assert store.verify(deep=True) == ()


def test_many_processes_create_one_memory_at_once(path: Path) -> None:
    """All of them open it, all adds are there."""
    code = """
import sys
from deja_tui.store.memory import Store
from tests.store.helpers import add, fact
sys.stdin.readline()
with Store.open(sys.argv[1]) as store:
    add(store, fact(sys.argv[2]))
"""
    children = [run(code, path, f"child-{n}", wait=False) for n in range(4)]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    for child in children:
        _, complaint = child.communicate(timeout=60)
        assert child.returncode == 0, complaint
    with Store.open(path) as store:
        assert len(store.recall(namespace="shared")) == 4
        assert store.verify(deep=True) == ()


def test_threads_share_one_store(store: Store) -> None:
    """Four threads write, recall, search, scan and forget at once; every acknowledged act is there in the end."""
    kept: list[str] = []

    def work(name: str) -> None:
        for n in range(12):
            keep, drop = add(
                store,
                fact(name, "did", f"task {name}{n}", at=NOW + n),
                fact(name, "tried", f"idea {n}", at=NOW + n),
            )
            forget(store, drop)
            kept.append(keep)
            assert store.recall(namespace="shared", subject=name, k=1)[0].address == keep
            assert keep in {g.address for g in store.search(f"{name}{n}")}
            assert sum(1 for _ in store.scan("fact", live_only=True)) >= n
            with store.snapshot():
                latest = store.latest("shared", name, "did")
                assert latest is not None
                assert store.get(latest.address) == latest

    in_threads(*(lambda name=name: work(name) for name in ("ann", "ben", "cid", "dot")))  # type: ignore[misc]
    assert {g.address for g in store.scan("fact")} == set(kept)
    assert store.verify(deep=True) == ()


def test_acts_of_threads_do_not_mix(store: Store) -> None:
    """One waits for the other; what one does between its reads cannot be interleaved."""
    with store.act() as act:
        act.set_setting("count", 0)

    def count() -> None:
        for _ in range(50):
            with store.act() as act:
                act.set_setting("count", store.setting("count") + 1)

    in_threads(count, count, count)
    assert store.setting("count") == 150


def test_an_act_waits_for_another_thread_as_long_as_for_another_process(path: Path) -> None:
    """STO-E004 after busy_ms, not a deadlock."""
    with Store.open(path, busy_ms=10) as store:
        codes: list[str] = []

        def second() -> None:
            try:
                add(store, fact("late"))
            except DejaError as error:
                codes.append(error.code)

        with store.act() as act:
            act.add(fact("early"))
            in_threads(second)
        assert codes == ["STO-E004"]
        assert [g.get("subject") for g in store.scan("fact")] == ["early"]


def test_closing_ends_the_reads_of_other_threads_with_a_code(path: Path) -> None:
    """STO-E010, or the answer that was already on its way; never a crash."""
    store = Store.open(path)
    many(store, 300)
    ready, codes = threading.Barrier(3), []

    def read() -> None:
        ready.wait()
        try:
            while True:
                sum(1 for _ in store.scan("fact"))
        except DejaError as error:
            codes.append(error.code)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    ready.wait()
    store.close()
    for thread in threads:
        thread.join(60)
    assert set(codes) == {"STO-E010"}
    with Store.open(path) as again:
        assert again.stats()["grains"] == 300


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def in_child(job: Callable[[], None]) -> None:
    """Run ``job`` in a fork of this process; its failure is raised here."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            job()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_store_works_on_both_sides_of_a_fork(store: Store) -> None:
    """INV-OPEN-3: D35: the child opens its own connections and leaves the inherited ones alone."""
    (address,) = add(store, fact("before"))
    assert store.get(address) is not None

    def child() -> None:
        assert store.get(address) is not None
        add(store, fact("child"))
        assert store.search("child", k=5)
        store.close()
        with refuses("STO-E010"):
            store.get(address)

    in_child(child)
    add(store, fact("parent"))
    assert {g.get("subject") for g in store.scan("fact")} == {"before", "child", "parent"}
    assert store.verify(deep=True) == ()


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_inside_an_act_leaves_the_act_to_the_parent(store: Store) -> None:
    """The child's block ends with STO-E001 and commits nothing; the parent commits."""

    def child() -> None:
        with refuses("STO-E001"):
            act_block.__exit__(None, None, None)

    act_block = store.act()
    act = act_block.__enter__()
    act.add(fact("mine"))
    in_child(child)
    act_block.__exit__(None, None, None)
    assert [g.get("subject") for g in store.scan("fact")] == ["mine"]
    assert store.verify(deep=True) == ()


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_of_a_closed_store_finds_it_closed(path: Path) -> None:
    """STO-E010 on both sides."""
    store = Store.open(path)
    store.close()

    def child() -> None:
        with refuses("STO-E010"):
            store.position()

    in_child(child)
