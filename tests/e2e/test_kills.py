# SPDX-License-Identifier: Apache-2.0
"""Kill -9 at random moments, in the real product: the verbs of the command line and the console (docs/reliability.md).

Outside the default suite: ``python -m pytest -s -m slow -n 0 tests/e2e/test_kills.py``. ``DEJA_FUZZ_SECONDS`` changes the time of
the verbs, ``DEJA_FUZZ_SEED`` what happens.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deja_tui import Memory
from tests.e2e.terminal import Terminal
from tests.support import ROOT

pytestmark = pytest.mark.slow

SECONDS = os.environ.get("DEJA_FUZZ_SECONDS", "120")
SEED = os.environ.get("DEJA_FUZZ_SEED", "1")
CONSOLES = 40


def test_verbs_killed_at_random_moments(tmp_path: Path) -> None:
    """Adds, supersessions, erasures, runs, decisions, imports, bundles, restores, pushes, pulls, captures, rebuilds, documents and
    settings: what was acknowledged is there, the rest is whole or is not, and the same command done again ends the same."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("DEJA_")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.e2e.killing", str(tmp_path / "life"), SECONDS, SEED],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    sys.stderr.write(f"\nkilled at random: {done.stdout}")


def test_a_console_that_is_killed(tmp_path: Path) -> None:
    """The console, killed at random moments of approve, apply and undo: decisions are whole, chains hold, it opens again; and when
    its inner process alone is killed, the outer one gives the terminal back and says so with 128 + 9."""
    chance = random.Random(int(SEED))
    path = tmp_path / "shop.deja"
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
    }
    made = [sys.executable, "-m", "deja_tui", "init", "--template", "demo", "--db", str(path)]
    subprocess.run(made, env=env, check=True, capture_output=True)
    statuses: set[str] = set()
    for number in range(CONSOLES):
        argv = [sys.executable, "-m", "deja_tui", "ui", str(path), "--at", "queue", "--actor", "user:ana"]
        terminal = Terminal(argv, (100, 30), env)
        try:
            terminal.expect("Queue:")
            inner = number % 4 == 0
            keys = ["a", f"reason {number} of many\r", "p", f"apply {number}\r", "u", f"undo {number}\r"]
            stop = chance.randrange(1, len(keys) + 1)
            for key in keys[:stop]:
                terminal.press(key)
            time.sleep(chance.random() * 0.05)
            os.kill(child_of(terminal.pid) if inner else terminal.pid, signal.SIGKILL)
            status = terminal.end()
            assert status in ((128 + 9, -9) if inner else (-9,))
            if inner:
                assert b"\x1b[?1049l" in terminal.raw
        finally:
            terminal.close()
        with Memory.open(path) as memory:
            assert memory.verify(deep=number % 8 == 0) == ()
            rows = memory.loop.queue(None)
            assert all(memory.loop.audit(row.address).verified for row in rows)
            statuses |= {row.status for row in rows}
    sys.stderr.write(f"\nconsoles killed: {CONSOLES}; statuses seen {sorted(statuses)}\n")
    assert {"pending", "approved"} <= statuses or {"pending", "applied"} <= statuses


def child_of(pid: int) -> int:
    """The process that the guard has started (Linux)."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    if not children.exists():
        pytest.skip("this system does not tell the children of a process")
    return int((children.read_text().split() or [str(pid)])[0])
