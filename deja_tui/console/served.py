# SPDX-License-Identifier: Apache-2.0
"""Whether this terminal is served over a network to whoever opens a page: such a console starts READ-ONLY (D18).

What tells is the program that owns the terminal, among the ancestors of this process, or the driver that Textual's own
server asks for. SSH is not meant: it knows who logs in. Where the system does not list processes nothing is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

SERVERS: Final = frozenset(
    {"ttyd", "gotty", "wetty", "shellinaboxd", "tty2web", "textual-serve", "textual-web", "webtty", "tty-share", "upterm",
     "sshx", "tmate"}
)  # fmt: skip
"""Programs that hand a terminal to a browser or to a stranger."""
_INTERPRETERS: Final = ("python", "node", "MainThread", "ruby")
_MOST: Final = 24
_NAME_CELLS: Final = 15  # so many characters of a name the system keeps


def served_by(environment: Mapping[str, str], pid: int, processes: Path = Path("/proc")) -> str:
    """The program that serves this terminal; "" where none is known to."""
    if "web_driver" in environment.get("TEXTUAL_DRIVER", ""):
        return "textual-serve"
    for _ in range(_MOST):
        told = _status(processes / str(pid))
        name, parent = told.get("Name", ""), told.get("PPid", "")
        names = {name, *_script(processes / str(pid), name)}
        for server in sorted(SERVERS):
            if server[:_NAME_CELLS] in names or server in names:
                return server
        if not parent.isdigit() or parent == "0":
            break
        pid = int(parent)
    return ""


def _script(folder: Path, name: str) -> list[str]:
    """What an interpreter runs: a server in a scripting language goes by the interpreter's name."""
    if not name.startswith(_INTERPRETERS):
        return []
    try:
        words = (folder / "cmdline").read_bytes().split(b"\0")[1:4]
    except OSError:
        return []
    return [Path(word.decode("utf-8", "replace")).stem for word in words if word]


def _status(folder: Path) -> dict[str, str]:
    try:
        text = (folder / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    pairs = (line.partition(":") for line in text.splitlines()[:20])
    return {name: value.strip() for name, _, value in pairs}
