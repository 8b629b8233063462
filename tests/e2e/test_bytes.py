# SPDX-License-Identifier: Apache-2.0
"""What a slow link is sent: the real console in a pseudo-terminal, its bytes against the bars of bars.toml."""

from __future__ import annotations

import os
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deja_tui.facade import Memory
from deja_tui.store.memory import Store
from tests.e2e.terminal import Terminal
from tests.support import NOW, ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")

BARS = tomllib.loads((Path(__file__).parent / "bars.toml").read_text(encoding="utf-8"))
QUIET_S = 0.1  # longer than a preview rests
ANSWER_S = 1.5


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some thousand grains and what the analyzers find in them: more than a page."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from planted import Planted
    from store import grain_of

    path = tmp_path_factory.mktemp("bytes") / "agent.deja"
    with Store.open(path) as store, store.act() as act:
        for entry in Planted(3_000, 7, NOW):
            act.add(grain_of(entry))
    with Memory.open(path, clock=lambda: NOW) as opened:
        opened.loop.run()
        assert len(opened.loop.queue()) > 60
    return path


class Console:
    """The console on a terminal, and how much it wrote."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal

    def cost(self, *keys: str) -> float:
        """The bytes that a key was answered with, a mean; the answer ends with silence."""
        before = len(self.terminal.raw)
        for key in keys:
            os.write(self.terminal.fd, key.encode())
            waits = ANSWER_S
            while self.terminal._read(waits):
                waits = QUIET_S
        return (len(self.terminal.raw) - before) / len(keys)

    def go(self, key: str, *shown: str) -> float:
        """The bytes until the screen shows a text, and all that follows at once."""
        before = len(self.terminal.raw)
        os.write(self.terminal.fd, key.encode())
        self.terminal.expect(lambda text: all(part in text for part in shown))
        self.terminal.settle()
        return float(len(self.terminal.raw) - before)

    def held(self, key: str, seconds: float) -> float:
        """The bytes a second while a key repeats."""
        before, began = len(self.terminal.raw), time.monotonic()
        due = began
        while due < began + seconds:
            os.write(self.terminal.fd, key.encode())
            due += 1 / 30
            while (left := due - time.monotonic()) > 0:
                self.terminal._read(left)
        return (len(self.terminal.raw) - before) / seconds

    def idle(self, seconds: float) -> float:
        before = len(self.terminal.raw)
        self.terminal._read(seconds)
        return float(len(self.terminal.raw) - before)


@contextmanager
def opened(path: Path, size: str, folder: Path) -> Iterator[Console]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    env |= {name: str(folder) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")}
    for name in ("NO_COLOR", "SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT", "TMUX", "STY"):
        env.pop(name, None)
    columns, lines = map(int, size.split("x"))
    terminal = Terminal([sys.executable, "-m", "deja_tui", "ui", str(path)], (columns, lines), env)
    try:
        yield Console(terminal)
    finally:
        terminal.close()


@pytest.mark.parametrize("size", BARS)
def test_what_the_console_writes_is_within_its_bars(size: str, memory: Path, tmp_path: Path) -> None:
    """Issue 8, point 2: start, steps, places, help, typing, a held key and idling."""
    with opened(memory, size, tmp_path) as console:
        console.terminal.expect("evidence ")
        console.terminal.settle()
        found = {"start": float(len(console.terminal.raw)), "idle": console.idle(0.3)}
        found["step"] = console.cost(*"jjjj")
        console.cost(*"\x04" * 3)
        found["scroll"] = console.cost(*"jjj")
        found["held"] = console.held("k", 0.7)
        console.terminal.settle()
        found["help"] = console.go("?", "keys of Queue")
        back = console.go("h", "[3 Queue")
        console.go("a", "BECAUSE")
        found["typed"] = console.cost(*"why")
        console.cost("\x1b", "\x1b")
        found["switch"] = max(back, console.go("5", "[5 Outcomes"), console.go("1", "[1 Overview"))
        console.go("7", "[7 Memories", "1/")
        found["memories"] = console.cost(*"jj")
        console.go("8", "[8 Query", "-- Account 360")
        found["saved"] = console.cost(*"jjj")
        console.go("i", "Enter runs")
        found["statement"] = console.cost(*'RECALL f = "a')
    over = {name: (bytes, BARS[size][name]) for name, bytes in found.items() if bytes > BARS[size][name]}
    assert over == {}, found
    assert found.keys() == BARS[size].keys()
