# SPDX-License-Identifier: Apache-2.0
"""Who holds the write lock of a memory, where the system tells it: Linux lists its locks.

* HOLDER-1  the log's files are never opened here: closing a file lets go of every lock this process has on it.
* HOLDER-2  what cannot be told is left out; a refusal never fails because of it.
"""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_LOCKS: Final = "/proc/locks"
# SQLite's lock of the one writer is this byte of the log's index.
_WRITER: Final = 120
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,19}")


def named(path: str) -> str:
    """`` (process 4242, deja import)``, to stand behind *another writer*; "" where nothing is known.

    Of a command line only the program's name and the verb behind it are told: the rest may hold anything.
    """
    pid = holder(path)
    if pid is None:
        return ""
    words = _words(pid)
    return f" (process {pid}, {words})" if words else f" (process {pid})"


def holder(path: str) -> int | None:
    """The process that holds the write lock of the memory at ``path``; None where nothing is known, or it is this one."""
    try:
        found = os.stat(path + "-shm")
        with open(_LOCKS, encoding="ascii", errors="replace") as listing:
            lines = listing.read().splitlines()
    except OSError:
        return None
    here = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    for line in lines:
        words = line.split()
        if len(words) != 8 or words[3] != "WRITE" or words[5] != here or not words[4].isdigit():
            continue
        if not (words[6].isdigit() and int(words[6]) <= _WRITER):
            continue
        reaches = words[7] == "EOF" or (words[7].isdigit() and int(words[7]) >= _WRITER)
        if reaches and int(words[4]) not in (0, os.getpid()):
            return int(words[4])
    return None


def _words(pid: int) -> str:
    """``deja import``, or the program's name alone; "" where it cannot be read."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            given = [word.decode("utf-8", "replace") for word in file.read(4096).split(b"\0")]
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            name = file.read(64).strip()
    except OSError:
        return ""
    for place, word in enumerate(given[:8]):
        if os.path.basename(word) in ("deja", "deja_tui"):
            verb = given[place + 1] if place + 1 < len(given) else ""
            return f"deja {verb}" if _WORD.fullmatch(verb) else "deja"
    return name if name and re.fullmatch(r"[\w.+-]{1,15}", name, re.ASCII) else ""
