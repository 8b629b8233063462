# SPDX-License-Identifier: Apache-2.0
"""A fault of the console's own: told in one coded line, kept in a file that holds nothing of the memory.

* MISHAP-1  The report names the kinds of the exceptions and the places in the code, no message, no value, no local: each of
  them may hold the text of a grain.
* MISHAP-2  A report that cannot be kept is told, too; it never hides the fault.
"""

from __future__ import annotations

import os
import platform
import secrets
import traceback
from importlib import metadata
from pathlib import Path, PurePath
from typing import Final

from deja_tui.errors import DejaError
from deja_tui.text import utc

FOLDER: Final = "reports"
_MOST_FRAMES: Final = 60
_MOST_CAUSES: Final = 8


def default_folder() -> Path:
    """Where reports are kept (D48)."""
    import platformdirs

    return Path(platformdirs.user_state_dir("deja")) / FOLDER


def told(error: BaseException, folder: Path | None, now_ms: int) -> DejaError:
    """The coded fault (CON-E005) of an exception; its report is written to ``folder``, None: nowhere."""
    kept = None if folder is None else _keep(error, folder, now_ms)
    error = _carried(error) or error
    where = (
        f"its report, without anything of the memory: {kept}"
        if kept
        else "its report could not be kept: deja ui opens the console again"
    )
    return DejaError("CON-E005", f"the console met a fault of its own ({type(error).__name__})", where)


def place(error: BaseException) -> str:
    """Kind and place of an exception: the same for the same fault."""
    error = _carried(error) or error
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    return f"{_kind(error)} {frames[0].filename}:{frames[0].lineno}" if frames else _kind(error)


def _keep(error: BaseException, folder: Path, now_ms: int) -> Path | None:
    when = utc(now_ms).replace(":", "").replace("-", "").replace(" ", "T")
    path = folder / f"{when}-{secrets.token_hex(4)}.txt"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("\n".join(lines(error, now_ms)) + "\n")
    except OSError:
        return None  # MISHAP-2: whoever calls says so
    return path


def lines(error: BaseException, now_ms: int) -> list[str]:
    """The report (MISHAP-1)."""
    found = ["deja console, a fault of its own: CON-E005", f"at {utc(now_ms)}"]
    found.append(f"deja-tui {_version('deja-tui')}, textual {_version('textual')}, apsw {_version('apsw')}")
    found.append(f"Python {platform.python_version()} on {platform.system()}")
    one: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if one is None:
            break
        found += ["", _kind(one)]
        frames = traceback.extract_tb(one.__traceback__, limit=-_MOST_FRAMES)
        found += [f"  {_place(frame.filename)}:{frame.lineno} in {frame.name}" for frame in frames]
        one = one.__cause__ or one.__context__ or _carried(one)
    return found


def _carried(error: BaseException) -> BaseException | None:
    """What went wrong in a worker: its wrapper carries it, and has no place of its own."""
    found = getattr(error, "error", None)
    return found if isinstance(found, BaseException) else None


def _kind(error: BaseException) -> str:
    code = f" {error.code}" if isinstance(error, DejaError) else ""
    return f"{type(error).__module__}.{type(error).__qualname__}{code}"


def _place(name: str) -> str:
    """A file from its package on: where it is installed is nobody's business."""
    parts = PurePath(name).parts
    for package in ("deja_tui", "textual", "rich"):
        if package in parts:
            return "/".join(parts[len(parts) - 1 - parts[::-1].index(package) :])
    return parts[-1] if parts else "?"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"
