# SPDX-License-Identifier: Apache-2.0
"""Four processes on one file for half a minute, one of them killed again and again: nothing acknowledged is lost.

Outside the default suite: ``python -m pytest -m slow -n 0 tests/store/test_fuzz.py``. ``DEJA_FUZZ_SECONDS`` changes the time.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deja_tui import Memory
from tests.support import ROOT

PROCESSES = 4
SECONDS = float(os.environ.get("DEJA_FUZZ_SECONDS", "30"))

WORKER = """
import json, random, sys, time
from deja_tui import DejaError, Memory

path, seed, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
chance = random.Random(seed)
end = time.monotonic() + seconds
live = []

def told(kind, *what):
    print(json.dumps([kind, *what]), flush=True)

def add(memory, n):
    address = memory.add_fact(f"s{chance.randrange(40)}", f"r{chance.randrange(5)}", f"word{seed} number {n} of many")
    live.append(address)
    told("add", address)

def call(memory, n):
    told("add", memory.record_tool_call("curl", f"timeout after {n} ms", chance.random() < 0.5, call_id=f"{seed}-{n}"))

def batch(memory, n):
    with memory.store.act():
        some = [memory.add_fact("batch", f"of{seed}", f"{n} {i}") for i in range(5)]
    told("add", *some)

def supersede(memory, n):
    if live:
        old = live.pop(chance.randrange(len(live)))
        told("try", old)
        new = memory.supersede(old, {"object": f"later{seed} {n}"})
        live.append(new)
        told("supersede", old, new)

def forget(memory, n):
    if live:
        old = live.pop(chance.randrange(len(live)))
        told("try", old)
        memory.forget(old, because="the fuzz says so")
        told("forget", old)

def read(memory, n):
    subject = f"s{chance.randrange(40)}"
    found = memory.recall(subject)
    assert [g.get("subject") for g in found] == [subject] * len(found)
    assert len({g.address for g in found}) == len(found)
    memory.latest(subject, "r1")
    for grain in memory.search(f"word{seed} number", k=5):
        assert grain.live
    if found:
        memory.history(found[0].address)
    if chance.random() < 0.02:
        faults = memory.verify()
        assert faults == () or {f.code for f in faults} == {"STO-E004"}, faults

acts = [add] * 6 + [call] * 3 + [batch] + [supersede] * 3 + [forget] + [read] * 6
n = 0
while time.monotonic() < end:
    with Memory.open(path, busy_ms=20_000, telemetry="aggregate") as memory:
        for _ in range(chance.randrange(1, 60)):
            n += 1
            try:
                chance.choice(acts)(memory, n)
            except DejaError as error:
                told("refused", error.code)
told("done", n)
"""


class Worker:
    """One process, and the file it tells in what was acknowledged."""

    def __init__(self, folder: Path, memory: Path, seed: int, seconds: float) -> None:
        self.told = folder / f"told-{seed}.jsonl"
        self.errors = folder / f"errors-{seed}.txt"
        with self.told.open("w") as out, self.errors.open("w") as err:
            self.child = subprocess.Popen(
                [sys.executable, "-c", WORKER, str(memory), str(seed), str(seconds)],
                cwd=ROOT,
                stdout=out,
                stderr=err,
            )

    def lines(self) -> list[list[str]]:
        text = self.told.read_text()
        return [json.loads(line) for line in text.split("\n")[:-1]]  # what has no end was not said


@pytest.mark.slow
def test_four_processes_lose_nothing(tmp_path: Path) -> None:
    """Issue 3, point 9: every acknowledged act is there, what was forgotten is gone, and the deep check finds nothing."""
    path, chance = tmp_path / "memory.deja", random.Random(5)
    Memory.open(path).close()
    end = time.monotonic() + SECONDS
    workers = [Worker(tmp_path, path, seed, SECONDS) for seed in range(PROCESSES)]
    killed = 0
    while time.monotonic() < end - 1:
        time.sleep(chance.uniform(0.2, 1.5))  # the only clock of this test: it is about time
        victim = workers[-1]
        if victim.child.poll() is None:
            victim.child.kill()
            victim.child.wait()
            killed += 1
            workers.append(Worker(tmp_path, path, 100 + killed, end - time.monotonic()))
    for worker in workers:
        assert worker.child.wait(timeout=60) in (0, -9), worker.errors.read_text()[-2_000:]
    added, gone, replaced, unsure, refused = set(), set(), set(), set(), []
    for worker in workers:
        for kind, *what in worker.lines():
            if kind == "add":
                added.update(what)
            elif kind == "supersede":
                replaced.add(what[0])
                added.add(what[1])
            elif kind == "forget":
                gone.add(what[0])
            elif kind == "try":
                unsure.add(what[0])
            elif kind == "refused":
                refused.append(what[0])
    with Memory.open(path) as memory:
        assert memory.verify(deep=True) == ()
        missing = [address for address in added - unsure if memory.get(address) is None]
        assert missing == []
        assert [address for address in gone if memory.get(address) is not None] == []
        kept = [grain for address in replaced - gone if (grain := memory.get(address)) is not None]
        assert [grain.address for grain in kept if grain.live] == []
        assert len(kept) == len(replaced - gone)
        held = memory.stats()["grains"]
    sys.stderr.write(
        f"{PROCESSES} processes, {SECONDS:g} s, {killed} kills: {len(added)} adds, {len(replaced)} supersessions,"
        f" {len(gone)} erasures acknowledged, {held} grains held, refused: {sorted(refused)}\n"
    )
    assert len(added) > 100
    assert killed > 3 or SECONDS < 10
