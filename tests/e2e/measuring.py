# SPDX-License-Identifier: Apache-2.0
"""The console in a pseudo-terminal, measured as a person on a slow link sees it: bytes, and ms until the last of them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.terminal import Terminal
from tests.support import ROOT

ANSWER_S = 1.5
FILL_S = 2.0
# What facts of another terminal would change.
_ELSEWHERE = (
    "NO_COLOR",
    "COLORFGBG",
    "SSH_CONNECTION",
    "SSH_TTY",
    "SSH_CLIENT",
    "TMUX",
    "STY",
    "DEJA_DRIVER",
)


class Console:
    """The console on a terminal, and how much it wrote. ``quiet``: seconds of silence that end an answer."""

    def __init__(self, terminal: Terminal, quiet: float = 0.1) -> None:
        self.terminal = terminal
        self.quiet = quiet

    def press(self, key: str) -> tuple[int, float]:
        """The bytes that one key was answered with, and ms until the last; the answer ends with silence."""
        before, sent = len(self.terminal.raw), time.monotonic()
        os.write(self.terminal.fd, key.encode())
        waits = ANSWER_S
        while self.terminal._read(waits):
            waits = self.quiet
        bytes = len(self.terminal.raw) - before
        return bytes, (self.terminal.heard - sent) * 1_000 if bytes else 0.0

    def cost(self, *keys: str) -> float:
        """The bytes of an answer, a mean."""
        return sum(self.press(key)[0] for key in keys) / len(keys)

    def go(self, key: str, *shown: str) -> float:
        """The bytes until the screen shows a text, and all that follows at once."""
        before = len(self.terminal.raw)
        os.write(self.terminal.fd, key.encode())
        self.terminal.expect(lambda text: all(part in text for part in shown))
        self.terminal.settle()
        return float(len(self.terminal.raw) - before)

    def ask(self) -> None:
        """Begin to approve; lines of the change that were not seen come first."""
        while "BECAUSE" not in self.terminal.text:
            self.press("a")

    def held(self, key: str, seconds: float) -> tuple[float, float]:
        """The bytes a second while a key repeats, and ms from the last press to the last byte."""
        before, began = len(self.terminal.raw), time.monotonic()
        due = began
        while due < began + seconds:
            os.write(self.terminal.fd, key.encode())
            due += 1 / 30
            while (left := due - time.monotonic()) > 0:
                self.terminal._read(left)
        last = due - 1 / 30
        told = (len(self.terminal.raw) - before) / seconds
        self.terminal.settle()
        return told, max(0.0, (self.terminal.heard - last) * 1_000)

    def idle(self, seconds: float) -> float:
        """The bytes of a while in which nobody types."""
        before, until = len(self.terminal.raw), time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.terminal._read(left)
        return float(len(self.terminal.raw) - before)


@contextmanager
def opened(
    path: Path, size: str, folder: Path, *, quiet: float = 0.1, fill: float = FILL_S, **given: str
) -> Iterator[Console]:
    """The console of this checkout on a memory; ``given`` are more variables of the environment.

    ``fill``: seconds until the preview of a row that is looked at is filled up; long, so that no step waits for it.
    """
    (folder / "deja").mkdir(exist_ok=True)
    (folder / "deja" / "config.toml").write_text(f"fill_seconds = {fill}\n", encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    env |= {name: str(folder) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")}
    for name in _ELSEWHERE:
        env.pop(name, None)
    columns, lines = map(int, size.split("x"))
    terminal = Terminal(
        [sys.executable, "-m", "deja_tui", "ui", str(path)], (columns, lines), {**env, **given}
    )
    try:
        yield Console(terminal, quiet)
    finally:
        terminal.close()


def bytes_of(console: Console, *, long: bool = False) -> dict[str, float]:
    """What each thing a person does costs in bytes, by the names of ``bars.toml``; ``long``: more keys of each."""
    many = 4 if long else 1
    console.terminal.expect("evidence ")
    console.terminal.settle()
    found = {"start": float(len(console.terminal.raw)), "step": console.cost(*"jjjj" * (2 if long else 1))}
    found["rest"] = console.idle(FILL_S + 0.5)
    found["idle"] = console.idle(10 if long else 0.3)
    console.cost("\x04")
    found["scroll"] = console.cost(*"jjj" * many)
    # a short queue has more rows above than below
    found["held"], _ = console.held(*(("j", 3) if long else ("k", 0.7)))
    console.terminal.settle()
    found["help"] = console.go("?", "keys of Queue")
    back = console.go("h", "[3 Queue")
    console.ask()
    found["typed"] = console.cost(*"why")
    console.cost("\x1b", "\x1b")
    switches = [back, console.go("5", "[5 Outcomes"), console.go("1", "[1 Overview")]
    if long:
        switches += [console.go(key, f"[{key} ") for key in "2461"]
    switches.append(console.go("7", "[7 Memories", "1/"))
    found["memories"] = console.cost(*"jj" * many)
    if long:
        console.cost(*"\x04" * 3)
        found["memories_scroll"] = console.cost(*"jjj" * many)
    switches.append(console.go("8", "[8 Query", "-- Account 360"))
    found["switch"] = max(switches)
    found["saved"] = console.cost(*"jjj")
    console.go("i", "Enter runs")
    found["statement"] = console.cost(*'RECALL "')
    return found
