# SPDX-License-Identifier: Apache-2.0
"""A parent that paints the first line, lets the console run in a child, and leaves the terminal as it was (D49).

Standard library only, and little of it: this runs before anything heavy is imported. Not even ``typing`` or ``signal`` are
loaded before the first line is on the screen.

* GUARD-1  However the child ends, also by a signal that nothing can catch, modes and line settings are as before.
* GUARD-2  The exit status is the child's; of a child that a signal ended it is 128 and the signal's number.
* GUARD-3  An error in the child is told once the screen is left: it is read, not painted over.
* GUARD-4  Stopping the console stops the parent, so that the shell has the terminal, as it was before; going on goes on with
  both.
* GUARD-5  The child does not outlive its parent: when it is gone the child restores the terminal and ends.
* GUARD-6  Signals that end a program are handed to the child, which ends as it would by itself.
* GUARD-7  Nothing is painted where the console cannot open, or where help was asked for.
* GUARD-8  What is typed before the console reads keys is not echoed onto what was painted; the console is given it.
"""

from __future__ import annotations

import gc
import os
import sys
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Final, NoReturn, TextIO

    from deja_tui.errors import DejaError

# Everything a full-screen program of ours may have switched on, off again; the last one leaves its screen.
RESTORE: Final = (
    "\x1b[?2026l\x1b[<u\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l"
    "\x1b[?1004l\x1b[?2004l\x1b[?2048l\x1b[?7h\x1b[r\x1b[m\x1b[?1049l\x1b[?25h"
)
_HANDED_ON: Final = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGINT", "SIGUSR1", "SIGUSR2", "SIGTSTP")
_LOCAL: Final = 3  # where the local modes stand among the line settings
_GONE: Final = 129  # 128 + SIGHUP


LEAST: Final = (60, 20)


class Guard:
    """The child's side: how to say what became of it. ``lines``: the line settings there were before."""

    def __init__(self, report: int, stdin: int, stdout: int, lines: list[Any]) -> None:
        self._report = report
        self._stdin = stdin
        self._stdout = stdout
        self.lines = lines
        self.painted = True  # the screen shows what the guard painted, and nothing else has begun

    def leave(self) -> None:
        """Leave the screen that was painted, so that what is written next is read; nothing once the console has begun."""
        if self.painted:
            import termios

            self.painted = False
            os.write(self._stdout, RESTORE.encode())
            termios.tcsetattr(self._stdin, termios.TCSANOW, self.lines)

    def finish(self, status: int) -> NoReturn:
        """End the child with a status; the terminal was left in order."""
        self.leave()
        self._tell({"status": status})
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status & 0xFF)

    def fail(self, fault: DejaError) -> NoReturn:
        """End the child with a coded error for the parent to raise (GUARD-3)."""
        self._tell({"code": fault.code, "message": fault.message, "next_step": fault.next_step})
        os._exit(1)

    def _tell(self, told: dict[str, Any]) -> None:
        import json

        os.write(self._report, json.dumps(told).encode())


class Leaving:
    """A stream that leaves the painted screen before the first thing is written to it (GUARD-3)."""

    def __init__(self, guard: Guard, stream: TextIO) -> None:
        self._guard = guard
        self._stream = stream

    def write(self, text: str) -> int:
        self._guard.leave()
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


# The guard that this process is the child of.
current: Guard | None = None


def early(words: Sequence[str], run: Callable[[], int]) -> int | None:
    """Paint and split before the verb is even loaded: the exit status in the parent, None where the console cannot open.

    The child carries out ``run`` and ends; it never comes back from here.
    """
    if not _fit(words):
        return None
    guarded = enter(f"deja {_name(words)}  opening the memory and its queue")
    if isinstance(guarded, int):
        return guarded
    # Loading makes much and drops little; the console switches it on again.
    gc.disable()
    sys.stdout = Leaving(guarded, sys.stdout)
    sys.stderr = Leaving(guarded, sys.stderr)
    status = 1
    try:
        status = run()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    finally:
        # an exception is told as it always is, but the process ends here, in one way for all
        if (fault := sys.exc_info()[1]) is not None:
            sys.excepthook(type(fault), fault, fault.__traceback__)
        guarded.finish(status)


def begin() -> None:
    """The console takes over the screen: from here on it leaves it itself."""
    if current is not None:
        current.painted = False


def _fit(words: Sequence[str]) -> bool:
    """Whether this terminal can show the console, and it is asked for (GUARD-7)."""
    if sys.platform == "win32" or any(word in ("-h", "--help") for word in words):
        return False
    if os.environ.get("TERM") in (None, "", "dumb"):
        return False
    try:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            return False
        columns, lines = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        return False
    return not (columns and lines) or (columns >= LEAST[0] and lines >= LEAST[1])


def _name(words: Sequence[str]) -> str:
    """The file among the words after the verb, without its folders; ``memory`` or ``demo`` where that is not plain."""
    given = [word for before, word in pairwise(words) if not before.startswith("-")]
    file = next((word for word in given if not word.startswith("-")), "")
    other = "demo" if words[0] == "demo" else "memory"
    name = file.rpartition("/")[2]
    return name[:40] if name.isascii() and name.isprintable() and name else other


def enter(title: str) -> Guard | int:
    """Paint ``title`` and split: the child is given its `Guard`, the parent the exit status once the child has ended.

    Raises in the parent what the child failed with (GUARD-3). The caller has checked that there is a terminal.
    """
    global current
    import termios

    stdin, stdout = sys.stdin.fileno(), sys.stdout.fileno()
    saved = termios.tcgetattr(stdin)
    handing = _Handing()
    try:
        _paint(title, stdin, stdout, saved)
        result, report = os.pipe()
        alive, held = os.pipe()
        handing.hold()
        pid = os.fork()
        if pid == 0:
            handing.end()
            os.close(result)
            os.close(held)
            _die_with_parent(alive, stdin, stdout, saved)
            current = Guard(report, stdin, stdout, saved)
            return current
        handing.to(pid)
        os.close(report)
        os.close(alive)
        try:
            ended = _wait(
                pid, lambda: _restored(stdin, stdout, saved), lambda: _paint(title, stdin, stdout, saved)
            )
            told = _read(result)
        finally:
            os.close(held)
            os.close(result)
        if ended < 0 or "status" not in told:
            os.write(stdout, RESTORE.encode())
        if termios.tcgetattr(stdin) != saved:
            termios.tcsetattr(stdin, termios.TCSAFLUSH, saved)
    finally:
        handing.end()
    if "code" in told:
        from deja_tui.errors import DejaError

        raise DejaError(told["code"], told["message"], told["next_step"])
    return 128 - ended if ended < 0 else ended


class _Handing:
    """Takes the signals that end or stop a program from before the first line to after the last, for the child (GUARD-6).

    What comes before there is a child is kept for it; what comes once it has ended is for nobody.
    """

    def __init__(self) -> None:
        # the part of ``signal`` that is there already: the rest of it takes as long to load as painting may
        import _signal  # type: ignore[import-not-found]

        self._signal: Any = _signal
        self._pid = 0
        self._kept: list[int] = []
        numbers = [getattr(_signal, name) for name in _HANDED_ON if hasattr(_signal, name)]
        self._former = {number: _signal.signal(number, self._take) for number in numbers}
        self._held: list[int] = []

    def hold(self) -> None:
        """Let them wait while it is unclear who they are for: what comes to a new child waits until it takes them itself."""
        self._held = list(self._former)
        self._signal.pthread_sigmask(self._signal.SIG_BLOCK, self._held)

    def to(self, pid: int) -> None:
        """There is a child now."""
        self._pid = pid
        while self._kept:
            self._take(self._kept.pop(0), None)
        self._go_on()

    def end(self) -> None:
        """Signals mean again what they meant."""
        while self._former:
            number, former = self._former.popitem()
            self._signal.signal(number, former or self._signal.SIG_DFL)
        self._go_on()

    def _go_on(self) -> None:
        self._signal.pthread_sigmask(self._signal.SIG_UNBLOCK, self._held)

    def _take(self, number: int, _frame: object) -> None:
        if not self._pid:
            self._kept.append(number)
            return
        try:
            os.kill(self._pid, number)
        except ProcessLookupError:
            return  # it has ended: the wait will say how


def _paint(title: str, stdin: int, stdout: int, lines: list[Any]) -> None:
    """The first line, on a screen of its own; what is typed from here on is kept, not echoed (GUARD-8)."""
    import termios

    silent = list(lines)
    silent[_LOCAL] &= ~termios.ECHO
    # In the background this stops, before anything is painted onto the screen of what stands in front.
    termios.tcsetattr(stdin, termios.TCSANOW, silent)
    os.write(stdout, f"\x1b[?1049h\x1b[?25l\x1b[m\x1b[H\x1b[2J {title}\x1b[H".encode(errors="replace"))


def _restored(stdin: int, stdout: int, lines: list[Any]) -> bool:
    """Give the terminal back where the child stopped without doing so; whether that was needed."""
    import termios

    if termios.tcgetattr(stdin) == lines:
        return False
    os.write(stdout, RESTORE.encode())
    termios.tcsetattr(stdin, termios.TCSANOW, lines)
    return True


def _wait(pid: int, restored: Callable[[], bool], paint: Callable[[], None]) -> int:
    """The child's exit code, negative for a signal; stops and goes on with it (GUARD-4)."""
    import signal

    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        taken = restored()
        os.kill(os.getpid(), signal.SIGSTOP)
        # here again: the shell has sent both of them on, or only this one
        if taken:
            paint()
        os.kill(pid, signal.SIGCONT)


def _read(pipe: int) -> dict[str, Any]:
    import json

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
    import signal
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
