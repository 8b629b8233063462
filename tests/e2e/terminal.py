# SPDX-License-Identifier: Apache-2.0
"""A program in a real pseudo-terminal with a screen model: press keys, look at the screen, see how it was left."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence

import pyte

KEYS = {"enter": "\r", "escape": "\x1b", "ctrl+u": "\x15", "down": "\x1b[B"}
QUIET_S = 0.25  # longer than the console's 150 ms of discarded keys after a paint
LIMIT_S = 30.0
_PIECE = 64  # bytes that a slow line takes at once


class Terminal:
    """One child process on a pseudo-terminal of a given size."""

    def __init__(self, argv: Sequence[str], size: tuple[int, int], env: Mapping[str, str]) -> None:
        columns, lines = size
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.heard = 0.0  # when the last bytes came, monotonic seconds
        self.rate: float | None = None  # bytes a second that this terminal takes; None: all at once
        self.status: int | None = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], list(argv), {**env, "COLUMNS": str(columns), "LINES": str(lines)})
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    @property
    def text(self) -> str:
        """What the screen shows, one line a row."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def press(self, *keys: str) -> None:
        """Press keys once the program has fallen quiet."""
        self.settle()
        for key in keys:
            os.write(self.fd, KEYS.get(key, key).encode())

    def expect(self, wanted: str | Callable[[str], bool]) -> str:
        """Read until the screen shows ``wanted``; fails with the screen when it does not come."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            if wanted in self.text if isinstance(wanted, str) else wanted(self.text):
                return self.text
            if not self._read(0.2) and self.status is not None:
                break
        raise AssertionError(f"never shown: {wanted!r}\n{self.text}")

    def resize(self, columns: int, lines: int) -> None:
        """Change the window; the screen keeps what fits, as a terminal does."""
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    def settle(self) -> None:
        """Read until nothing has come for a while."""
        while self._read(QUIET_S):
            continue

    def end(self) -> int:
        """Read to the end and return the exit status."""
        deadline = time.monotonic() + LIMIT_S
        while self.status is None and time.monotonic() < deadline:
            self._read(0.2)
        if self.status is None:
            raise AssertionError(f"the program did not end\n{self.text}")
        return self.status

    def close(self) -> None:
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def _read(self, seconds: float) -> bool:
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 65_536 if self.rate is None else _PIECE)
        except OSError:
            data = b""
        if not data:
            if self.status is None:
                self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            return False
        if self.rate is not None:
            time.sleep(len(data) / self.rate)
        self.heard = time.monotonic()
        self.raw += data
        self.stream.feed(data)
        return True
