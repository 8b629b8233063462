# SPDX-License-Identifier: Apache-2.0
"""Opening the console: what is checked before anything is drawn."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from deja_tui.console import launch as launching
from deja_tui.console.config import Config
from deja_tui.errors import DejaError
from deja_tui.facade import Memory
from tests.support import ROOT


class Terminal:
    """Stands in for standard input and output."""

    def __init__(self, is_terminal: bool) -> None:
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal

    def fileno(self) -> int:
        return 1


class Unguarded:
    """The child's side of the guard, in this very process."""

    def finish(self, status: int) -> int:
        return status

    def fail(self, fault: DejaError) -> NoReturn:
        raise fault


def at_terminal(monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], term: str = "xterm-256color") -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(True))
    monkeypatch.setattr(sys, "stdout", Terminal(True))
    monkeypatch.setattr("deja_tui.console.guard.enter", lambda title: Unguarded())
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size(size))
    monkeypatch.setenv("TERM", term)


def test_without_a_terminal_it_says_what_works_instead(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A pipe gets a code and the line-mode commands."""
    monkeypatch.setattr(sys, "stdin", Terminal(True))
    monkeypatch.setattr(sys, "stdout", Terminal(False))
    with pytest.raises(DejaError) as caught:
        launching.launch(tmp_path / "a.deja")
    assert caught.value.code == "CLI-E001"
    assert caught.value.next_step == "deja loop list, or deja review"


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_dumb_terminal_is_sent_to_review(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, term: str
) -> None:
    """It cannot place text."""
    at_terminal(monkeypatch, (80, 24), term)
    with pytest.raises(DejaError, match="cannot place text"):
        launching.launch(tmp_path / "a.deja")


def opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, size: tuple[int, int] = (80, 24), **given: Any
) -> dict[str, Any]:
    """What the app was made with and run with, for a memory that is there."""
    at_terminal(monkeypatch, size)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("NO_COLOR", "COLORTERM", "TEXTUAL_COLOR_SYSTEM", "SSH_CONNECTION", "SSH_TTY", "TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.pop("environment", {}).items():
        monkeypatch.setenv(name, value)
    Memory.open(tmp_path / "a.deja").close()
    made: dict[str, Any] = {}
    monkeypatch.setattr("deja_tui.screens.app.DejaApp.__init__", lambda app, loop, **kept: made.update(kept))
    monkeypatch.setattr("deja_tui.screens.app.DejaApp.run", lambda app, **kept: made.update(kept))
    monkeypatch.setattr("deja_tui.screens.app.DejaApp.return_code", 0)
    launching.launch(tmp_path / "a.deja", **given)
    return made


def test_a_small_window_is_opened_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The console itself says what it needs, and draws once there is room."""
    assert opened(monkeypatch, tmp_path, (40, 10))["theme"] == "dark"


def test_over_ssh_it_is_economical_and_what_is_said_wins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The mouse, the terminal's own colours, the file, the flag: each over the one before."""
    remote = {"SSH_CONNECTION": "a b c d"}
    made = opened(monkeypatch, tmp_path, environment=remote)
    assert (made["theme"], made["mouse"], made["terminal"].ssh) == ("ansi-dark", False, True)
    assert made["fill_seconds"] == 0
    folder = tmp_path / "config" / "deja"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        'mouse = true\ntheme = "light"\ncolours = "256"\npoll_seconds = 7\nfill_seconds = 2\n'
    )
    made = opened(monkeypatch, tmp_path, environment=remote)
    assert (made["theme"], made["mouse"], made["poll_seconds"]) == ("light", True, 7)
    assert made["fill_seconds"] == 2
    assert os.environ["TEXTUAL_COLOR_SYSTEM"] == "256"
    made = opened(
        monkeypatch, tmp_path, environment=remote, theme="mono", looks=Config(mouse=False, ascii=True)
    )
    assert (made["theme"], made["mouse"], made["terminal"].ascii) == ("mono", False, True)
    (folder / "config.toml").write_text("pager = 1\n")
    with pytest.raises(DejaError, match="unknown key pager"):
        opened(monkeypatch, tmp_path)


def test_hints_are_for_who_may_decide(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A console that only reads keeps nothing in the state folder."""
    assert opened(monkeypatch, tmp_path)["hintbook"].path is not None
    assert opened(monkeypatch, tmp_path, read_only=True)["hintbook"].path is None
    assert opened(monkeypatch, tmp_path, looks=Config(hints=False))["hintbook"].path is None


def test_a_missing_file_is_not_created(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Opening a console never makes a memory."""
    pytest.importorskip("deja_tui.store.memory")
    at_terminal(monkeypatch, (80, 24))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(DejaError) as caught:
        launching.launch(tmp_path / "none.deja")
    assert caught.value.code == "STO-E003"
    assert not (tmp_path / "none.deja").exists()


def test_an_unknown_theme_is_refused_before_the_file_is_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The names there are stand in the next step."""
    at_terminal(monkeypatch, (80, 24))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(DejaError) as caught:
        launching.launch(tmp_path / "none.deja", theme="pink")
    assert caught.value.code == "CON-E001"
    assert "dark" in caught.value.next_step


def test_a_console_that_may_not_read_says_which_right_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before anything is drawn, with what is held and what to give."""
    at_terminal(monkeypatch, (80, 24))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    Memory.open(tmp_path / "a.deja").close()
    with pytest.raises(DejaError) as caught:
        launching.launch(tmp_path / "a.deja", scopes=("write", "review"))
    assert caught.value.code == "LOP-E022"
    assert caught.value.message == "the console needs the right `read`; held: review, write"


@pytest.mark.parametrize(
    ("says", "asked", "mode"),
    [(None, None, "aggregate"), ("off", None, "off"), ("off", "full", "full"), (None, "off", "off")],
)
def test_the_console_counts_as_the_policy_says(
    says: str | None, asked: str | None, mode: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """D37: the flag, else the host's policy, else aggregate."""
    at_terminal(monkeypatch, (80, 24))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("DEJA_LOOP_POLICY", raising=False)
    path, opened = tmp_path / "a.deja", []
    Memory.open(path).close()
    monkeypatch.setattr(
        "deja_tui.screens.app.DejaApp.__init__", lambda app, loop, **_: opened.append(loop._memory)
    )
    monkeypatch.setattr("deja_tui.screens.app.DejaApp.run", lambda app, **_: None)
    monkeypatch.setattr("deja_tui.screens.app.DejaApp.return_code", 0)
    launching.launch(path, policy=None if says is None else {"telemetry": says}, telemetry=asked)
    assert opened[0].telemetry.mode == mode


def test_the_launcher_alone_imports_nothing_heavy() -> None:
    """Checks of the terminal come before Textual is loaded."""
    code = "import deja_tui.console.launch, sys; print([n for n in ('textual', 'rich', 'apsw') if n in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
