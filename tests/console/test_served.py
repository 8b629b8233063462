# SPDX-License-Identifier: Apache-2.0
"""A terminal that is served over a network is known by the program that owns it (D18)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deja_tui.console.served import SERVERS, served_by
from tests.console.test_launch import opened
from tests.support import ROOT


def process(folder: Path, pid: int, name: str, parent: int) -> None:
    (folder / str(pid)).mkdir(parents=True)
    (folder / str(pid) / "status").write_text(f"Name:\t{name}\nUmask:\t0022\nPPid:\t{parent}\n")


def test_the_program_that_serves_a_terminal_is_found_among_the_ancestors(tmp_path: Path) -> None:
    """However far up it is; a shell, SSH and tmux serve nobody; the driver of Textual's server says it, too."""
    process(tmp_path, 40, "python3", 30)
    process(tmp_path, 30, "bash", 20)
    process(tmp_path, 20, "ttyd", 1)
    process(tmp_path, 1, "init", 0)
    assert served_by({}, 40, tmp_path) == "ttyd"
    process(tmp_path, 50, "python3", 51)
    process(tmp_path, 51, "tmux: server", 52)
    process(tmp_path, 52, "sshd", 1)
    assert served_by({"SSH_CONNECTION": "a b c d"}, 50, tmp_path) == ""
    assert served_by({}, 999, tmp_path) == "", "where the system lists none, none is known"
    assert (
        served_by({"TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"}, 50, tmp_path) == "textual-serve"
    )
    assert all(name == name.lower() for name in SERVERS)
    process(tmp_path, 60, "bash", 61)
    process(tmp_path, 61, "node", 1)
    (tmp_path / "61" / "cmdline").write_bytes(b"node\0/usr/lib/node_modules/.bin/wetty\0--port\x003000\0")
    assert served_by({}, 60, tmp_path) == "wetty", (
        "a server in a scripting language goes by the interpreter's name"
    )
    process(tmp_path, 70, "vim", 1)
    (tmp_path / "70" / "cmdline").write_bytes(b"vim\0ttyd\0")
    assert served_by({}, 70, tmp_path) == "", "a file of that name is no server"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system lists no processes")
def test_a_real_ancestor_with_such_a_name_is_seen(tmp_path: Path) -> None:
    """A program called ttyd that runs ours."""
    server = tmp_path / "ttyd"
    shutil.copy(shutil.which("sh") or "/bin/sh", server)
    ask = "import os; from deja_tui.console.served import served_by; print(served_by({}, os.getpid()))"
    told = subprocess.run(
        [server, "-c", f'"{sys.executable}" -c "{ask}"; exit 0'],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert told.stdout == "ttyd\n"


def test_a_served_console_starts_read_only_unless_rights_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """D18: the title's tier, what is said, and the way to more."""
    web = {"TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"}
    made = opened(monkeypatch, tmp_path, environment=web)
    assert made["rights"].tier == "READ-ONLY"
    assert made["notice"].startswith("textual-serve serves this terminal over a network: READ-ONLY")
    made = opened(monkeypatch, tmp_path, environment=web, allow_destructive=True)
    assert made["rights"].tier == "READ-ONLY"
    made = opened(monkeypatch, tmp_path, environment=web, scopes=("read", "review"))
    assert (made["rights"].tier, made["notice"]) == ("REVIEW", "")
    monkeypatch.delenv("TEXTUAL_DRIVER")
    made = opened(monkeypatch, tmp_path)
    assert (made["rights"].tier, made["notice"]) == ("APPLY", "")
