# SPDX-License-Identifier: Apache-2.0
"""However the console ends, and at whatever moment: the terminal is as before, the exit status is true."""

from __future__ import annotations

import os
import re
import signal
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deja_tui.capture.demo import seed
from tests.e2e.terminal import Terminal
from tests.support import NOW, ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")

_MODE = re.compile(r"\x1b\[\?([\d;]+)([hl])")
# Of these a terminal has the second half when nothing runs in it; whatever else is switched on is to be off.
_ON_BY_ITSELF = {"25", "7"}
FAULTY = "from deja_tui.screens.help import HelpScreen; HelpScreen.draw = lambda screen: 1 / 0; "
START = "import sys; from deja_tui.cli.main import main; {fault}main(['ui', sys.argv[1]])"
STAGES: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    # what is on the screen first, then keys, each with what it leads to
    "start": ("opening the memory", ()),
    "running": ("evidence ", ()),
    "dialog": ("evidence ", (("w", "deja review"), ("a", "BECAUSE"))),
    "help": ("evidence ", (("?", "keys of Queue"),)),
    "query": ("evidence ", (("8", "[8 Query"), ("i", "Enter runs"))),
    "leaving": ("evidence ", (("q", ""),)),
}
TO_EITHER = ("TERM", "HUP", "QUIT")
TO_CHILD = ("KILL", "SEGV", "ABRT")


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("leaving") / "demo.deja"
    seed(path, NOW)
    return path


def modes_left(raw: str) -> list[str]:
    """The modes that the last word on leaves other than they were."""
    known: dict[str, bool] = {}
    for numbers, verb in _MODE.findall(raw):
        known |= dict.fromkeys(numbers.split(";"), verb == "h")
    left = [f"?{number}" for number, on in known.items() if on != (number in _ON_BY_ITSELF)]
    pushed, popped = len(re.findall(r"\x1b\[>\d+u", raw)), raw.count("\x1b[<u")
    return left + (["kitty keys"] if pushed > popped else []) + _painted(raw)


def _painted(raw: str) -> list[str]:
    """Whether cells were placed after the screen was left: they would stand among the lines of the shell."""
    behind = raw.rpartition("\x1b[?1049l")[2]
    return (
        ["painted on the shell"] if re.search(r"\x1b\[\d*(;\d+)?H|\x1b\[2J|\x1b\[\d+(;\d+)*m", behind) else []
    )


@contextmanager
def console(memory: Path, folder: Path, fault: str = "", errors: Path | None = None) -> Iterator[Terminal]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    env |= {name: str(folder) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")}
    env |= {"DEJA_LOOP_NOW_MS": str(NOW)}
    words = [sys.executable, "-c", START.format(fault=fault), str(memory)]
    if errors is not None:
        words = ["/bin/sh", "-c", f'exec "$@" 2>"{errors}"', "sh", *words]
    terminal = Terminal(words, (80, 24), env)
    terminal.before = termios.tcgetattr(terminal.fd)  # type: ignore[attr-defined]
    try:
        yield terminal
    finally:
        terminal.close()


def come_to(terminal: Terminal, stage: str) -> None:
    first, keys = STAGES[stage]
    terminal.expect(first)
    for key, shown in keys:
        if stage != "leaving":
            terminal.settle()
        os.write(terminal.fd, key.encode())
        terminal.expect(shown)


def child_of(pid: int) -> int:
    """The child of a process: of the guard it is the one that draws."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if found:
            return int(found[0])
    raise AssertionError("there is no child")


def sane(terminal: Terminal) -> list[str]:
    settings = termios.tcgetattr(terminal.fd)
    wrong = [] if settings == terminal.before else ["line settings"]  # type: ignore[attr-defined]
    return modes_left(terminal.raw.decode(errors="replace")) + wrong


def ends(memory: Path, folder: Path, stage: str, name: str, whom: str) -> None:
    number = getattr(signal, f"SIG{name}")
    with console(memory, folder) as terminal:
        come_to(terminal, stage)
        try:
            os.kill(terminal.pid if whom == "guard" else child_of(terminal.pid), number)
        except ProcessLookupError:
            assert stage == "leaving"
        status = terminal.end()
        assert status in ((128 + number, 0) if stage == "leaving" else (128 + number,))
        assert sane(terminal) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the child in /proc")
@pytest.mark.parametrize(("stage", "name", "whom"), [("start", "TERM", "guard"), ("dialog", "KILL", "child")])
def test_a_signal_ends_the_console(stage: str, name: str, whom: str, memory: Path, tmp_path: Path) -> None:
    """GUARD-1, GUARD-2, GUARD-6: of the real console; all moments and signals are tried below."""
    ends(memory, tmp_path, stage, name, whom)


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(
    ("name", "whom"),
    [*((name, "guard") for name in TO_EITHER), *((name, "child") for name in (*TO_EITHER, *TO_CHILD))],
)
def test_any_signal_at_any_moment(stage: str, name: str, whom: str, memory: Path, tmp_path: Path) -> None:
    """GUARD-1, GUARD-2, GUARD-6."""
    ends(memory, tmp_path, stage, name, whom)


def test_a_fault_ends_the_console_with_its_status(memory: Path, tmp_path: Path) -> None:
    """GUARD-1, GUARD-3: an exception in a screen is told behind what restores the terminal, and the status is 1."""
    with console(memory, tmp_path, FAULTY) as terminal:
        terminal.expect("evidence ")
        terminal.press("?")
        assert terminal.end() == 1
        raw = terminal.raw.decode(errors="replace")
        assert "ZeroDivisionError" in raw.rpartition("\x1b[?1049l")[2]
        assert [left for left in sane(terminal) if left != "painted on the shell"] == []


def changed_and_back(terminal: Terminal) -> None:
    """DRIVER-2: a window that is small for a moment shows everything again."""
    terminal.settle()
    before = terminal.text
    for size in ((40, 10), (200, 60), (80, 24)):
        terminal.resize(*size)
    terminal.settle()
    assert terminal.text == before


def test_errors_may_go_into_a_file_and_early_keys_are_kept(memory: Path, tmp_path: Path) -> None:
    """DRIVER-7, GUARD-8: the console stands on the terminal, nothing in the file; what was typed before it was there is used,
    not echoed."""
    errors = tmp_path / "errors"
    with console(memory, tmp_path, errors=errors) as terminal:
        terminal.expect("opening the memory")
        os.write(terminal.fd, b"8")
        terminal.expect("[8 Query")
        assert b"\x1b[H8" not in terminal.raw
        changed_and_back(terminal)
        os.write(terminal.fd, b"qq")
        assert terminal.end() == 0
        assert sane(terminal) == []
        assert errors.read_text() == ""


# --- stopping ---------------------------------------------------------------------------------------


def stopped(memory: Path, folder: Path, stage: str, again: str, *, frozen: bool = False) -> None:
    """In a shell with jobs: ctrl+z or a stop that cannot be caught, look at the terminal, fg, the same screen, q."""
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "PS1": "$ ",
    }
    env |= {name: str(folder) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")}
    env |= {"DEJA_LOOP_NOW_MS": str(NOW), "ENV": ""}
    terminal = Terminal(["bash", "--norc", "--noprofile", "--noediting", "-i"], (80, 24), env)
    try:
        terminal.expect("$")
        terminal.before = termios.tcgetattr(terminal.fd)  # type: ignore[attr-defined]
        os.write(terminal.fd, f"{sys.executable} -m deja_tui ui {memory}; echo status=$?\r".encode())
        come_to(terminal, stage)
        if frozen:
            os.kill(child_of(child_of(terminal.pid)), signal.SIGSTOP)
        else:
            os.write(terminal.fd, b"\x1a")
        until(terminal, lambda raw: "Stopped" in raw)
        terminal.settle()
        assert sane(terminal) == []
        os.write(terminal.fd, b"fg; echo done=$?\r")
        terminal.expect(again)
        terminal.settle()
        os.write(terminal.fd, b"\x1b" if stage == "dialog" else b"")
        terminal.settle()
        os.write(terminal.fd, b"qqq" if stage == "dialog" else b"q")
        until(terminal, lambda raw: "done=0" in raw.rpartition("fg;")[2].replace("done=$", ""))
        terminal.settle()
        assert sane(terminal) == []
    finally:
        terminal.close()


def until(terminal: Terminal, seen: Callable[[str], bool]) -> None:
    deadline = time.monotonic() + 30
    while not seen(terminal.raw.decode(errors="replace")):
        assert time.monotonic() < deadline, terminal.text
        terminal._read(0.2)


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="no shell with jobs")
@pytest.mark.parametrize(
    ("stage", "again"),
    [
        ("start", "evidence "),
        pytest.param("running", "evidence ", marks=pytest.mark.slow),
        pytest.param("dialog", "BECAUSE", marks=pytest.mark.slow),
    ],
)
def test_a_stop_gives_the_terminal_back(stage: str, again: str, memory: Path, tmp_path: Path) -> None:
    """GUARD-4: also while nothing but the first line stands there."""
    stopped(memory, tmp_path, stage, again)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for the child in /proc")
def test_a_stop_that_cannot_be_caught(memory: Path, tmp_path: Path) -> None:
    """GUARD-4, DRIVER-8: the guard gives the terminal back; sent on, the console paints anew and reads every key."""
    stopped(memory, tmp_path, "running", "evidence ", frozen=True)
