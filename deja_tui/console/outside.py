# SPDX-License-Identifier: Apache-2.0
"""Showing text outside the console's own screen: in the person's pager, or as one whole line to select.

The pager comes from ``PAGER`` of the process, never from a file (D48). Text is handed over on its standard input; it is
clean already.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence

from deja_tui.errors import DejaError
from deja_tui.text import clean

_FALL_BACKS = (("less",), ("more",))


def pager_command(environment: Mapping[str, str]) -> list[str]:
    """The words of the pager: ``PAGER``, else less or more. Raises CON-E004 where there is none."""
    told = environment.get("PAGER", "").strip()
    if told:
        try:
            return shlex.split(told)
        except ValueError as fault:
            raise _refused(f"PAGER is no command line: {clean(told, 80)}") from fault
    for words in _FALL_BACKS:
        if shutil.which(words[0]):
            return list(words)
    raise _refused("there is no pager")


def page(lines: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    """Show lines in the pager and come back when it is left. Raises CON-E004 where it cannot be started."""
    command = pager_command(os.environ if environment is None else environment)
    text = "".join(f"{line}\n" for line in lines)
    try:
        # what a pager says by its status is its own matter: leaving it early is no fault
        subprocess.run(command, input=text, text=True, encoding="utf-8", errors="replace", check=False)
    except OSError as fault:
        raise _refused(f"{clean(command[0], 80)} cannot be started") from fault


def one_line(text: str) -> None:
    """Print a text as one line the terminal breaks by itself, so that it can be selected whole; Enter goes back."""
    sys.stdout.write(f"\n{text}\n\nEnter goes back to deja ")
    sys.stdout.flush()
    sys.stdin.readline()


def _refused(what: str) -> DejaError:
    return DejaError("CON-E004", what, "set PAGER to a program, for example PAGER=less")
