# SPDX-License-Identifier: Apache-2.0
"""Paths that a caller names, before any file is looked at."""

from __future__ import annotations

import os
from pathlib import Path

from deja_tui.errors import DejaError


def place(path: str | os.PathLike[str], code: str = "STO-E008") -> Path:
    """``path`` as a path.

    Raises:
        DejaError: ``code``, no file can have that name: it is empty, or holds a NUL or a lone surrogate.
        TypeError: it is no path; above all a number, which would be a file that is open already.
    """
    told = os.fspath(path)
    try:
        os.fsencode(told)
    except UnicodeEncodeError as error:
        raise _no_name(code) from error
    if not told or "\0" in told:
        raise _no_name(code)
    return Path(told)


def _no_name(code: str) -> DejaError:
    return DejaError(code, "no file can have that name", "Name a path without NUL and in valid text.")
