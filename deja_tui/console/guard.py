# SPDX-License-Identifier: Apache-2.0
"""A parent that paints the first line, lets the console run in a child, and leaves the terminal as it was (D49).

Standard library only, and little of it: this runs before anything heavy is imported.

* GUARD-1  However the child ends, also by a signal that nothing can catch, modes and line settings are as before.
* GUARD-2  The exit status is the child's; of a child that a signal ended it is 128 and the signal's number.
* GUARD-3  A coded error in the child is raised in the parent, once the screen is left: it is read, not painted over.
* GUARD-4  Stopping the console stops the parent, so that the shell has the terminal; going on goes on with both.
* GUARD-5  The child does not outlive its parent: when it is gone the child restores the terminal and ends.
* GUARD-6  Signals that end a program are handed to the child, which ends as it would by itself.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any, Final, NoReturn

from deja_tui.errors import DejaError

# Everything a full-screen program of ours may have switched on, off again; the last one leaves its screen.
RESTORE: Final = (
    "\x1b[?2026l\x1b[<u\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l"
    "\x1b[?1004l\x1b[?2004l\x1b[?2048l\x1b[?7h\x1b[r\x1b[m\x1b[?1049l\x1b[?25h"
)
_HANDED_ON: Final = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGINT", "SIGUSR1", "SIGUSR2")
_GONE: Final = 129  # 128 + SIGHUP


class Guard:
    """The child's side: how to say what became of it."""

    def __init__(self, report: int) -> None:
        self._report = report

    def finish(self, status: int) -> NoReturn:
        """End the child with a status; the terminal was left in order."""
        self._tell({"status": status})
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status & 0xFF)

    def fail(self, fault: DejaError) -> NoReturn:
        """End the child with a coded error for the parent to raise (GUARD-3)."""
        self._tell({"code": fault.code, "message": fault.message, "next_step": fault.next_step})
        os._exit(1)

    def _tell(self, told: dict[str, Any]) -> None:
        os.write(self._report, json.dumps(told).encode())


def enter(title: str) -> Guard | int:
    """Paint ``title`` and split: the child is given its `Guard`, the parent the exit status once the child has ended.

    Raises in the parent what the child failed with (GUARD-3). The caller has checked that there is a terminal.
    """
    import termios

    stdin, stdout = sys.stdin.fileno(), sys.stdout.fileno()
    saved = termios.tcgetattr(stdin)
    os.write(stdout, f"\x1b[?1049h\x1b[?25l\x1b[m\x1b[H\x1b[2J {title}\x1b[H".encode(errors="replace"))
    result, report = os.pipe()
    alive, held = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(result)
        os.close(held)
        _die_with_parent(alive, stdin, stdout, saved)
        return Guard(report)
    os.close(report)
    os.close(alive)
    try:
        ended = _wait(pid)
        told = _read(result)
    finally:
        os.close(held)
        os.close(result)
    if ended < 0 or "status" not in told:
        os.write(stdout, RESTORE.encode())
    if termios.tcgetattr(stdin) != saved:
        termios.tcsetattr(stdin, termios.TCSAFLUSH, saved)
    if "code" in told:
        raise DejaError(told["code"], told["message"], told["next_step"])
    return 128 - ended if ended < 0 else ended


def _wait(pid: int) -> int:
    """The child's exit code, negative for a signal; stops and goes on with it (GUARD-4, GUARD-6)."""
    former = {number: signal.signal(number, _hand_on(pid)) for number in _numbers()}
    try:
        while True:
            _, status = os.waitpid(pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                return os.waitstatus_to_exitcode(status)
            os.kill(os.getpid(), signal.SIGSTOP)
            # here again: the shell has sent both of them on, or only this one
            os.kill(pid, signal.SIGCONT)
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _numbers() -> list[signal.Signals]:
    return [getattr(signal, name) for name in _HANDED_ON if hasattr(signal, name)]


def _hand_on(pid: int) -> Any:
    def hand_on(number: int, _frame: object) -> None:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return  # it has ended: the wait will say how

    return hand_on


def _read(pipe: int) -> dict[str, Any]:
    data = b""
    while piece := os.read(pipe, 65_536):
        data += piece
    try:
        told = json.loads(data)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _die_with_parent(alive: int, stdin: int, stdout: int, saved: list[Any]) -> None:
    """Watch a pipe that only the parent holds open: its end is the parent's (GUARD-5)."""
    import select
    import termios
    import threading

    def end() -> NoReturn:
        try:
            os.write(stdout, RESTORE.encode())
            termios.tcsetattr(stdin, termios.TCSANOW, saved)
        finally:
            os._exit(_GONE)

    def watch() -> None:
        while os.read(alive, 1):
            continue
        end()

    def hung_up(number: int, _frame: object) -> None:
        # A parent that led its session takes the child with it. Its end of the pipe is closed by then, while the child
        # may still be counted as its own.
        if select.select([alive], [], [], 0)[0]:
            end()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGHUP, hung_up)
    threading.Thread(target=watch, name="deja-guard", daemon=True).start()
