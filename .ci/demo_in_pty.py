# SPDX-License-Identifier: Apache-2.0
"""Open ``deja demo`` in a pseudo-terminal, see the queue, quit, and see the terminal left as it was found."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

LIMIT_S = 60


def main(program: str) -> None:
    """Exit 0 when the console showed the queue and quit cleanly."""
    pid, master = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS="100", LINES="30")
        os.execvp(program, [program, "demo"])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    seen, end, asked = b"", time.monotonic() + LIMIT_S, False
    while time.monotonic() < end:
        if select.select([master], [], [], 0.5)[0]:
            try:
                data = os.read(master, 65_536)
            except OSError:
                break
            if not data:
                break
            seen += data
        if not asked and b"stripe_refund" in seen:
            os.write(master, b"q")
            asked = True
    if not asked:
        os.kill(pid, signal.SIGKILL)
        sys.exit(f"the console never showed the queue: {seen[-2000:]!r}")
    while time.monotonic() < end and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        select.select([master], [], [], 0.1)
    if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        os.kill(pid, signal.SIGKILL)
        sys.exit("the console did not quit")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        sys.exit(f"deja demo left with {status}")
    if b"\x1b[?1049l" not in seen:
        sys.exit("the alternate screen was not left")
    sys.stdout.write("ok: queue shown, quit with status 0, screen restored\n")


if __name__ == "__main__":
    main(sys.argv[1])
