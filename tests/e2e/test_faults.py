# SPDX-License-Identifier: Apache-2.0
"""What is broken on purpose, on the whole product: kills, a full disk, clocks that jump, bundles in every order, a huge queue,
a huge file. docs/reliability.md has the figures that these print.

Outside the default suite: ``python -m pytest -s -m slow -n 0 tests/e2e/test_faults.py``, one of them with ``-k NAME``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from deja_tui import Memory
from tests.e2e.terminal import Terminal
from tests.store.helpers import Clock
from tests.support import DAY, NOW, ROOT

pytestmark = pytest.mark.slow

CALLS = ROOT / "examples" / "import" / "calls.jsonl"
RANKS = ["", "imported", "ran", "approved", "applied", "rolled_back"]


def told(text: str) -> None:
    """One line of figures, beside what pytest prints."""
    sys.stderr.write(f"\n{text}\n")


def child(code: str, *argv: object, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, argv)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def state(path: Path) -> tuple[Any, ...]:
    """What a memory answers, and how its recommendations stand; the deep check finds nothing."""
    with Memory.open(path, read_only=True) as memory:
        assert memory.verify(deep=True) == ()
        statuses = sorted((row.target_ref, row.status) for row in memory.loop.queue(None))
        return [grain.address for grain in memory.recall(k=1_000)], statuses


# --- kills -------------------------------------------------------------------------------------------

WHOLE_PATH = """
import io, os, sys
import apsw
path, fatal, calls = sys.argv[1], int(sys.argv[2]), sys.argv[3]
seen = 0
def counted(cursor, sql, bindings):
    global seen
    seen += 1
    if seen == fatal:
        os.kill(os.getpid(), 9)
    return True
def watched(connection):
    connection.exec_trace = counted
apsw.connection_hooks.append(watched)
from deja_tui import Memory
from deja_tui.cli.main import run

def ack(step):
    os.write(1, (step + "\\n").encode())

kept, sys.stdout = sys.stdout, io.StringIO()
assert run(["import", calls, "--db", path]) == 0
ack("imported")
with Memory.open(path, actor="user:ana") as memory:
    memory.loop.run()
    ack("ran")
    row = min(memory.loop.queue(None), key=lambda row: row.target_ref)
    status = row.status
    if status == "pending":
        memory.loop.approve(row.address, because="seen")
        ack("approved")
        status = "approved"
    if status == "approved":
        memory.loop.apply(row.address, because="do it")
        ack("applied")
        status = "applied"
    if status == "applied":
        memory.loop.rollback(row.address, because="take it back")
        ack("rolled_back")
os.write(2, f"statements {seen}".encode())
"""


def test_kill_later(tmp_path: Path) -> None:
    """Import, run, approve, apply, rollback in one process that is killed a few statements later each round: what it acknowledged is
    there, nothing is half done, and whoever goes on ends where an undisturbed process ends."""
    clock = {"DEJA_LOOP_NOW_MS": str(NOW)}
    whole = tmp_path / "whole.deja"
    done = child(WHOLE_PATH, whole, 0, CALLS, **clock)
    assert done.returncode == 0, done.stderr
    statements, wanted = int(done.stderr.split()[-1]), state(whole)
    step = int(os.environ.get("DEJA_FUZZ_STEP", max(1, statements // 120)))
    rounds = kills = 0
    for fatal in range(1, statements, step):
        path = tmp_path / "killed.deja"
        for name in ("", "-wal", "-shm", ".telemetry.db"):
            Path(f"{path}{name}").unlink(missing_ok=True)
        done = child(WHOLE_PATH, path, fatal, CALLS, **clock)
        rounds += 1
        if done.returncode == -signal.SIGKILL:
            kills += 1
        else:
            assert done.returncode == 0, done.stderr
        acknowledged = (done.stdout.split() or [""])[-1]
        if acknowledged:
            _, statuses = state(path)
            # a status that was acknowledged is there; one that was not may be, whole
            if RANKS.index(acknowledged) >= 3:
                assert any(
                    RANKS.index(status) >= RANKS.index(acknowledged)
                    for _, status in statuses
                    if status in RANKS
                )
        done = child(WHOLE_PATH, path, 0, CALLS, **clock)
        assert done.returncode == 0, (fatal, done.stderr)
        assert state(path) == wanted, fatal
    told(
        f"kill later: {statements} statements, {rounds} rounds, {kills} killed, every one went on to the same end"
    )
    assert kills > 60


# --- a full disk -------------------------------------------------------------------------------------

FULL = """
import json, os, sys
from pathlib import Path
from deja_tui import DejaError, Memory
folder = Path(sys.argv[1])
path, ballast = folder / "a.deja", folder / "ballast"
ballast.write_bytes(b"x" * 600_000)
kept, codes = [], []
memory = Memory.open(path, actor="user:ana")
try:
    for n in range(10_000):
        kept.append(memory.add_fact(f"s{n}", "text", f"{n} " + "word " * 300))
except DejaError as fault:
    codes.append(fault.code)
while True:  # what is left is too little for anything
    try:
        with (folder / "more").open("ab", buffering=0) as more:
            more.write(b"x" * 4096)
    except OSError:
        break
for act in (lambda: memory.add_fact("a", "b", "c" * 5000), lambda: memory.loop.run(), lambda: memory.forget(kept[0], because="x")):
    try:
        act()
        codes.append("kept")
    except DejaError as fault:
        codes.append(fault.code)
readable = sum(memory.get(address) is not None for address in kept)
memory.close()
try:
    with Memory.open(path, read_only=True) as memory:
        reopened = sum(memory.get(address) is not None for address in kept)
except DejaError as fault:
    reopened = fault.code
(folder / "more").unlink()
ballast.unlink()
with Memory.open(path, actor="user:ana") as memory:
    again = memory.add_fact("room", "is", "back") is not None
    left = sum(memory.get(address) is not None for address in kept)
    faults = [fault.code for fault in memory.verify(deep=True)]
print(json.dumps({"kept": len(kept), "codes": codes, "readable": readable, "reopened": reopened, "left": left, "again": again, "faults": faults}))
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare, to mount a small disk of its own")
def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    """A disk of 3 MiB, filled to the last block: a code, everything acknowledged stays readable, and with room again it goes on."""
    (tmp_path / "child.py").write_text(FULL)
    (tmp_path / "disk").mkdir()
    mount = f"mount -t tmpfs -o size=3m tmpfs {tmp_path}/disk && exec {sys.executable} {tmp_path}/child.py {tmp_path}/disk"
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", mount],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("this system lets nobody mount a disk of their own")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    told(f"full disk: {seen}")
    assert set(seen["codes"]) <= {"STO-E007", "kept"}
    assert seen["codes"][0] == "STO-E007"
    assert seen["readable"] == seen["reopened"] == seen["kept"]
    assert seen["left"] in (seen["kept"], seen["kept"] - 1)  # an erasure that found room was kept
    assert seen["again"]
    assert seen["faults"] == []


# --- clocks ------------------------------------------------------------------------------------------


def test_a_clock_that_jumps(tmp_path: Path) -> None:
    """A year on, two back, hours to and fro, between all acts of a life: order, chains and undo hold, and a copy agrees."""
    clock = Clock(NOW)
    jumps = [0, 400 * DAY, -730 * DAY, 3_600_000, -3_600_000, 1, -1, 30 * DAY, -30 * DAY, 0]
    decided = 0
    with Memory.open(tmp_path / "a.deja", actor="user:ana", clock=clock) as memory:
        for number, jump in enumerate(jumps * 3):
            clock.at += jump
            for n in range(3):
                memory.record_tool_call(
                    f"tool{number}", "rate limited", is_error=True, call_id=f"{number}-{n}"
                )
            one = memory.add_fact("acme", f"r{number}", "first")
            clock.at -= jump // 2
            memory.supersede(one, {"object": "second"})
            assert [step.address for step in memory.history(one)][-1] == one
            memory.loop.run()
            mine = [row for row in memory.loop.queue() if f"tool{number}" in row.target_ref]
            for row in mine:
                before = [grain.address for grain in memory.recall(k=1_000)]
                for verb in ("approve", "apply", "rollback"):
                    clock.at += jump // 3
                    getattr(memory.loop, verb)(row.address, because=f"{verb} it")
                assert [grain.address for grain in memory.recall(k=1_000)] == before
                assert memory.loop.audit(row.address).verified
                decided += 3
            clock.at += jump // 2 - jump
        assert memory.verify(deep=True) == ()
        memory.bundle(tmp_path / "a.mgb")
        log = [entry.hlc for entry in memory.store.log()]
        assert log == sorted(log)
        heads = [grain.address for grain in memory.recall("acme", k=1_000)]
    with Memory.open(tmp_path / "b.deja", clock=Clock(NOW - 900 * DAY)) as copy:
        copy.import_bundle(tmp_path / "a.mgb")
        assert [grain.address for grain in copy.recall("acme", k=1_000)] == heads
        assert copy.verify(deep=True) == ()
    told(f"clock: {len(jumps) * 3} jumps, {decided} decisions, {len(log)} log entries in order")
    assert decided > 30


# --- two machines --------------------------------------------------------------------------------------


def parts(memory: Memory, name: str, folder: Path, other: str) -> Iterator[Path]:
    """Three bundles of what one machine did one after the other: add, change, erase and merge."""
    since = 0
    mine = memory.add_fact("acme", "owner", name)
    shared = memory.latest("acme", "tier")
    assert shared is not None
    for number in range(3):
        if number == 0:
            memory.supersede(shared.address, {"object": f"{name} says gold"})
        elif number == 1:
            memory.supersede(mine, {"object": f"{name} again"})
            gone = memory.add_fact("acme", "note", f"{name} {other}")
            memory.forget(gone, because="not meant")
        else:
            copies = [memory.add_fact("acme", "likes", text) for text in (f"{name} tea", f"{name} TEA")]
            memory.retire(copies[0], by=copies[1], reason="one spelling")
        path = folder / f"{name}{number}.mgb"
        since = memory.bundle(path, since=since).last_seq
        yield path


def test_bundles_in_every_order(tmp_path: Path) -> None:
    """Three bundles of each of two machines, in all 720 orders, into fresh copies: one memory, whatever the order."""
    ram = Path("/dev/shm") if Path("/dev/shm").is_dir() else tmp_path
    folder = ram / f"deja-orders-{os.getpid()}"
    folder.mkdir()
    try:
        start = folder / "start.deja"
        with Memory.open(start, clock=Clock(NOW)) as memory:
            memory.add_fact("acme", "tier", "silver")
        bundles: list[Path] = []
        for name, other, at in (("ana", "bob", NOW + 10), ("bob", "ana", NOW + 5)):
            path = folder / f"{name}.deja"
            path.write_bytes(start.read_bytes())
            with Memory.open(path, clock=Clock(at)) as memory:
                bundles += parts(memory, name, folder, other)
        ends: set[tuple[Any, ...]] = set()
        orders = 0
        for order in permutations(bundles):
            path = folder / "copy.deja"
            for name in ("", "-wal", "-shm"):
                Path(f"{path}{name}").unlink(missing_ok=True)
            with Memory.open(path, clock=Clock(NOW + 20), durability="normal") as copy:
                for bundle in order:
                    assert not copy.import_bundle(bundle).refused
                assert copy.verify() == ()
                grains = sorted((grain.address, grain.live) for grain in copy.store.scan("fact"))
                forks = sorted(tuple(sorted(tip.address for tip in fork.tips)) for fork in copy.forks())
                head = copy.latest("acme", "tier")
                ends.add((tuple(grains), tuple(forks), head.address if head else None))
            orders += 1
        told(f"every order: {orders} orders of {len(bundles)} bundles, {len(ends)} end")
        assert len(ends) == 1
        (_, forks, _) = ends.pop()
        assert len(forks) == 1
    finally:
        shutil.rmtree(folder)


def decisions(memory: Memory, name: str, folder: Path, clock: Clock) -> Iterator[Path]:
    """Three bundles of one machine that decides: what both have is merged, changed and erased by both, one takes it back."""
    since = memory.stats()["operations"]
    tier, note = memory.latest("acme", "tier"), memory.latest("acme", "note")
    assert tier is not None
    assert note is not None
    for number in range(3):
        clock.at += 1_000
        if number == 0:
            memory.loop.run()
            for row in memory.loop.queue():
                if row.analyzer.startswith(("loop.duplicate_sweep", "loop.tool_failure")):
                    for verb in ("approve", "apply"):
                        getattr(memory.loop, verb)(row.address, because=f"{name} says so")
        elif number == 1 and name == "ana":
            memory.supersede(tier.address, {"object": "gold"})
            memory.forget(note.address, because="not meant")
        elif number == 1:
            memory.forget(memory.supersede(tier.address, {"object": "wood"}), because="not wood")
            memory.supersede(note.address, {"object": "kept by bob"})
        else:
            row = next(
                row for row in memory.loop.queue("applied") if row.analyzer.startswith("loop.duplicate")
            )
            if name == "ana":
                memory.loop.rollback(row.address, because="they are not the same")
            else:
                memory.supersede(memory.recall("acme", "likes")[0].address, {"object": "cocoa"})
        path = folder / f"{name}{number}.mgb"
        since = memory.bundle(path, since=since).last_seq
        yield path


def digest(memory: Memory) -> str:
    """Everything that a memory answers, as one digest: grains, what took whose place, forks, chains, foreign decisions."""
    kinds = ("fact", "tool", "event")
    grains = sorted((grain.address, grain.live) for kind in kinds for grain in memory.store.scan(kind))
    subjects = sorted({str(grain.get("subject")) for grain in memory.store.scan("fact")})
    told = [
        grains,
        [[grain.address for grain in memory.recall(subject, k=100)] for subject in subjects],
        [sorted(step.address for step in memory.history(address)) for address, live in grains if live],
        sorted(sorted(tip.address for tip in fork.tips) for fork in memory.forks()),
        sorted((row.address, row.status) for row in memory.loop.queue(None)),
        sorted(grain.address for grain in memory.search("tea cocoa gold", k=50)),
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def test_decisions_in_every_order(tmp_path: Path) -> None:
    """Two machines that apply, undo, change and erase the same grains: their six bundles in all 720 orders end in one state."""
    ram = Path("/dev/shm") if Path("/dev/shm").is_dir() else tmp_path
    folder = ram / f"deja-decisions-{os.getpid()}"
    folder.mkdir()
    try:
        start = folder / "start.deja"
        with Memory.open(start, clock=Clock(NOW)) as memory:
            memory.add_fact("acme", "tier", "silver")
            memory.add_fact("acme", "note", "kept?")
            for text in ("tea", "TEA", "Tea"):
                memory.add_fact("acme", "likes", text)
            for n in range(3):
                memory.record_tool_call("curl", "timeout", is_error=True, call_id=f"c{n}", created_at=NOW - n)
        bundles: list[Path] = []
        ends: set[str] = set()
        for name, at in (("ana", NOW + 60_000), ("bob", NOW + 30_000)):
            path, clock = folder / f"{name}.deja", Clock(at)
            path.write_bytes(start.read_bytes())
            with Memory.open(path, actor=f"user:{name}", clock=clock) as memory:
                bundles += decisions(memory, name, folder, clock)
        for order in permutations(bundles):
            path = folder / "copy.deja"
            path.write_bytes(start.read_bytes())
            for name in ("-wal", "-shm"):
                Path(f"{path}{name}").unlink(missing_ok=True)
            with Memory.open(path, clock=Clock(NOW + 90_000), durability="normal") as copy:
                for bundle in order:
                    report = copy.import_bundle(bundle)
                    assert not report.refused, report.refusals
                ends.add(digest(copy))
                assert copy.verify() == (), [bundle.name for bundle in order]
        told(f"decisions in every order: 720 orders of {len(bundles)} bundles, {len(ends)} end")
        assert len(ends) == 1
    finally:
        shutil.rmtree(folder)


# --- sizes -------------------------------------------------------------------------------------------


def peak() -> float:
    """Resident memory of this process at its highest, MiB (Linux)."""
    status = Path("/proc/self/status")
    return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024 if status.exists() else float("nan")


def first_frame(path: Path, text: str, tmp_path: Path) -> tuple[float, float]:
    """Seconds from the start of the console to that text, and from a key to its row."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
    }
    begun = time.perf_counter()
    terminal = Terminal([sys.executable, "-m", "deja_tui", "ui", str(path), "--at", "queue"], (120, 40), env)
    try:
        terminal.expect(text)
        shown = time.perf_counter() - begun
        begun = time.perf_counter()
        terminal.press("G")
        terminal.settle()
        moved = time.perf_counter() - begun
        terminal.press("q")
        assert terminal.end() == 0
    finally:
        terminal.close()
    return shown, moved


def test_ten_thousand_recommendations(tmp_path: Path) -> None:
    """A queue of 10,000: found, listed, shown, decided, rebuilt and opened in the console."""
    path = tmp_path / "queue.deja"
    figures: dict[str, float] = {}

    def timed(name: str, begun: float) -> None:
        figures[name] = round(time.process_time() - begun, 3)

    with Memory.open(path, actor="user:ana", durability="normal") as memory:
        now = int(time.time() * 1000)
        with memory.store.act():
            for tool in range(10_000):
                for n in range(3):
                    memory.record_tool_call(
                        f"tool{tool}",
                        f"failed as {tool}",
                        is_error=True,
                        call_id=f"{tool}-{n}",
                        created_at=now - n,
                    )
        begun = time.process_time()
        outcome = memory.loop.run()
        timed("run", begun)
        begun = time.process_time()
        rows = memory.loop.queue()
        timed("list", begun)
        assert len(rows) == outcome.stored == 10_000
        begun = time.process_time()
        memory.loop.show(rows[5_000].address)
        timed("show", begun)
        begun = time.process_time()
        memory.loop.approve(rows[5_000].address, because="one of ten thousand")
        memory.loop.apply(rows[5_000].address, because="and no other")
        memory.loop.rollback(rows[5_000].address, because="and back")
        timed("approve, apply, roll back", begun)
        begun = time.process_time()
        assert memory.loop.run().stored == 0
        timed("run again", begun)
        begun = time.process_time()
        assert memory.verify() == ()
        timed("verify", begun)
    shown, moved = first_frame(path, "tool_failure", tmp_path)
    told(
        f"10,000 recommendations: s of CPU {figures}; console: first row after {shown:.2f} s, last row {moved:.2f} s after G"
    )
    assert figures["list"] < 5


def test_a_memory_of_two_hundred_megabytes(tmp_path: Path) -> None:
    """200 MB: opened, asked, searched, looked through, verified, and shown in the console, with bounded memory."""
    from benchmarks.size import fill

    path = tmp_path / "large.deja"
    grains = 380_000
    fill(path, grains, 7)
    size = path.stat().st_size / 1e6
    assert size >= 200, size
    code = f"""
import json, sys, time
sys.path.insert(0, {str(ROOT)!r})
from deja_tui import Memory
figures = {{}}
def timed(name, act):
    begun = time.process_time()
    answer = act()
    figures[name] = round(time.process_time() - begun, 4)
    return answer
memory = timed("open", lambda: Memory.open({str(path)!r}, actor="user:ana"))
timed("recall", lambda: memory.recall("user"))
timed("search", lambda: memory.search("rate limited timeout"))
timed("add", lambda: memory.add_fact("a", "b", "c"))
timed("run", lambda: memory.loop.run())
rows = timed("list", lambda: memory.loop.queue())
timed("gated run", lambda: memory.loop.run(min_new=1000))
faults = timed("verify", lambda: memory.verify())
memory.close()
status = open("/proc/self/status").read()
print(json.dumps({{"s": figures, "faults": [f.code for f in faults], "queue": len(rows),
                  "MiB": round(int(status.split("VmHWM:")[1].split()[0]) / 1024)}}))
"""
    done = child(code)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["faults"] == []
    shown, moved = first_frame(path, "S  analyzer", tmp_path)
    told(
        f"{size:.0f} MB, {grains} grains: {seen}; console: first rows after {shown:.2f} s, last row {moved:.2f} s after G"
    )
