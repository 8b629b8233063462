# SPDX-License-Identifier: Apache-2.0
"""Paths that a caller names, before any file is looked at."""

from __future__ import annotations

import os

from deja_tui.errors import DejaError, ValidationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


def place(path: str | os.PathLike[str], code: str = "STO-E008") -> Path:
    """``path`` as a path; see `named`."""
    from pathlib import Path

    return Path(named(path, code))


def named(path: str | os.PathLike[str], code: str = "STO-E008") -> str:
    """``path`` as the text that names a file.

    Raises:
        DejaError: ``code``, no file can have that name: it is empty, or holds a NUL or a lone surrogate.
        ValidationError: VAL-E001, it is no path; above all a number, which would be a file that is open already.
    """
    try:
        told = os.fspath(path)
    except TypeError as error:
        raise ValidationError("VAL-E001", f"a path is needed, not {type(path).__name__}") from error
    try:
        os.fsencode(told)
    except UnicodeEncodeError as error:
        raise _no_name(code) from error
    if not told or "\0" in told:
        raise _no_name(code)
    return told


def _no_name(code: str) -> DejaError:
    return DejaError(code, "no file can have that name", "Name a path without NUL and in valid text.")
