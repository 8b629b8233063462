# SPDX-License-Identifier: Apache-2.0
"""The statements a person typed, in one file that the shell and the console share.

The file is the one prompt_toolkit's ``FileHistory`` writes: a comment line, then the lines of a statement, each behind
``+``. It is for its writer only, because a statement may quote what a memory holds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

MOST: Final = 500
_READ_BYTES: Final = 262_144


def place() -> Path:
    """Where statements are remembered; makes the file where it is missing. Raises OSError."""
    from platformdirs import user_state_dir

    folder = Path(user_state_dir("deja"))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / "cal-history"
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    return path


def statements(path: Path, most: int = MOST) -> list[str]:
    """The last statements of the file, oldest first, each once in a row. Raises OSError."""
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - _READ_BYTES))
        text = file.read().decode("utf-8", "replace")
    return _without_repeats(_entries(text.split("\n")))[-most:]


def _entries(lines: Iterable[str]) -> list[str]:
    found: list[list[str]] = [[]]
    for line in lines:
        if line.startswith("+"):
            found[-1].append(line[1:].removesuffix("\r"))
        elif found[-1]:
            found.append([])
    return ["\n".join(one) for one in found if one]


def _without_repeats(found: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for one in found:
        if one.strip() and (not kept or kept[-1] != one):
            kept.append(one)
    return kept


def remember(path: Path, statement: str, when: str) -> None:
    """Add a statement; ``when`` is a time as text, for people who read the file. Raises OSError."""
    told = "".join(f"+{line}\n" for line in statement.split("\n"))
    with path.open("ab") as file:
        file.write(f"\n# {when}\n{told}".encode("utf-8", "replace"))
