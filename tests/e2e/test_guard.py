# SPDX-License-Identifier: Apache-2.0
"""A child that dies in every way, in a real pseudo-terminal: the terminal is as before, the status is true."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deja_tui.console.guard import RESTORE
from tests.e2e.terminal import Terminal
from tests.support import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")

# a console in little: it changes modes and line settings as the real one does, then ends as it is told
CHILD = """
import os, signal, sys, termios, tty
from deja_tui.console import guard
from deja_tui.errors import DejaError
how = sys.argv[1]
got = guard.enter("deja t")
if isinstance(got, int):
    sys.exit(got)
tty.setraw(0)
os.write(1, b"\\x1b[?1004h\\x1b[?2004h\\x1b[?7l\\x1b[>25uready")
if how == "fail":
    got.fail(DejaError("STO-E003", "there is no memory", "deja demo"))
elif how.startswith("exit"):
    os.write(1, guard.RESTORE.encode())
    got.finish(int(how[4:]))
elif how == "raise":
    raise SystemExit(7)
elif how == "stop":
    os.kill(os.getpid(), signal.SIGSTOP)
    os.write(1, b"again")
    got.finish(0)
elif how == "wait":
    os.write(1, b" " + str(os.getpid()).encode() + b".")
    while True:
        signal.pause()
else:
    os.kill(os.getpid(), getattr(signal, how))
    signal.pause()
"""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[object]:
    opened: list[Terminal] = []

    def start(how: str) -> Terminal:
        script = tmp_path / "child.py"
        script.write_text(CHILD)
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TERM": "xterm"}
        terminal = Terminal([sys.executable, str(script), how], (80, 24), env)
        terminal.before = termios.tcgetattr(terminal.fd)  # type: ignore[attr-defined]
        opened.append(terminal)
        return terminal

    yield start
    for terminal in opened:
        terminal.close()


def restored(terminal: Terminal) -> bool:
    """Whether the last thing the terminal was told is to be as before, and its line settings are."""
    raw = terminal.raw.decode(errors="replace")
    same = termios.tcgetattr(terminal.fd) == terminal.before  # type: ignore[attr-defined]
    return same and RESTORE in raw and "\x1b[?1049h" not in raw.split(RESTORE)[-1]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGQUIT", "SIGKILL", "SIGSEGV", "SIGABRT"])
def test_a_child_ended_by_a_signal(name: str, run: object) -> None:
    """GUARD-1, GUARD-2: modes and line settings are as before; the status is 128 and the signal's number."""
    terminal = run(name)  # type: ignore[operator]
    assert terminal.end() == 128 + getattr(signal, name)
    assert restored(terminal)


@pytest.mark.parametrize(("how", "status"), [("exit0", 0), ("exit1", 1), ("exit130", 130), ("raise", 7)])
def test_a_child_that_ends_by_itself(how: str, status: int, run: object) -> None:
    """GUARD-2: the status is the child's own."""
    terminal = run(how)  # type: ignore[operator]
    assert terminal.end() == status
    assert restored(terminal)


def test_a_coded_error_is_read_after_the_screen_is_left(run: object) -> None:
    """GUARD-3: the error comes out of the parent, behind what restores the terminal."""
    terminal = run("fail")  # type: ignore[operator]
    assert terminal.end() == 1
    raw = terminal.raw.decode()
    assert "STO-E003 there is no memory" in raw.split(RESTORE)[-1]


def test_stopping_and_going_on(run: object) -> None:
    """GUARD-4: a stopped child stops the parent; sent on, both go on and the child ends as it would have."""
    terminal = run("stop")  # type: ignore[operator]
    terminal.expect("ready")
    _, status = os.waitpid(terminal.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    os.kill(terminal.pid, signal.SIGCONT)
    assert terminal.end() == 0
    assert b"again" in terminal.raw


def child_of(terminal: Terminal) -> int:
    text = terminal.expect(lambda shown: "." in shown)
    return int(text.split("ready ")[1].split(".")[0])


def gone(pid: int) -> bool:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        select.select([], [], [], 0.02)
    return False


def test_the_child_does_not_outlive_its_parent(run: object) -> None:
    """GUARD-5: the parent killed, the child restores the terminal and ends."""
    terminal = run("wait")  # type: ignore[operator]
    child = child_of(terminal)
    os.kill(terminal.pid, signal.SIGKILL)
    assert gone(child)
    terminal.settle()
    assert restored(terminal)


def test_signals_are_handed_to_the_child(run: object) -> None:
    """GUARD-6: a signal to the parent ends the child, and the status says so."""
    terminal = run("wait")  # type: ignore[operator]
    child_of(terminal)
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.end() == 128 + signal.SIGTERM
    assert restored(terminal)


# --- before the verb is loaded ----------------------------------------------------------------------


@pytest.fixture
def deja(tmp_path: Path) -> Iterator[object]:
    opened: list[Terminal] = []

    def start(*words: str) -> Terminal:
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TERM": "xterm"}
        env |= {"XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
        terminal = Terminal([sys.executable, "-m", "deja_tui", *words], (80, 24), env)
        terminal.before = termios.tcgetattr(terminal.fd)  # type: ignore[attr-defined]
        opened.append(terminal)
        return terminal

    yield start
    for terminal in opened:
        terminal.close()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("ui", "none.deja"), 1, "STO-E003"),
        (("ui", "--no-such-option"), 64, "unrecognized arguments"),
        (("demo", "--no-such-option"), 64, "No such option"),
    ],
)
def test_what_went_wrong_before_the_console_began_is_read(
    words: tuple[str, ...], status: int, said: str, deja: object
) -> None:
    """GUARD-3, GUARD-2: the first line is painted before the verb is loaded; its error stands behind what leaves that."""
    terminal = deja(*words)  # type: ignore[operator]
    assert terminal.end() == status
    raw = terminal.raw.decode()
    assert raw.index("opening the memory") < raw.index(RESTORE) < raw.index(said)
    assert restored(terminal)


def test_help_paints_nothing(deja: object) -> None:
    """GUARD-7: who asks for help gets help, on the screen as it is."""
    terminal = deja("ui", "--help")  # type: ignore[operator]
    assert terminal.end() == 0
    assert b"\x1b[?1049h" not in terminal.raw
    assert b"usage: deja ui" in terminal.raw


def test_nothing_heavy_is_loaded_before_the_first_line() -> None:
    """D49: of all that a verb needs, nothing is there when the first line is painted; not even what the library always uses."""
    code = (
        "import sys; from deja_tui.cli import main; from deja_tui.console import guard\n"
        "guard._fit = lambda words: True\n"
        "guard.enter = lambda title: print(title, sorted(sys.modules)) or 0\n"
        "main.main(['ui', 'agent.deja'])"
    )
    shown = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert shown.startswith("deja agent.deja  opening")
    heavy = (
        "typing",
        "argparse",
        "pathlib",
        "click",
        "json",
        "signal",
        "re",
        "enum",
        "collections",
        "textual",
    )
    assert [name for name in heavy if f"'{name}'" in shown] == []
