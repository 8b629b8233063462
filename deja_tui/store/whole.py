# SPDX-License-Identifier: Apache-2.0
"""Files that appear whole or not at all, and what a writer that was killed has left of them.

* WHOLE-1  A file is written beside its name, private, synced, and takes the name when it is complete. A link of that name is
  replaced, never followed.
* WHOLE-2  A writer that is killed leaves a part, which holds what the memory holds. The next writer of the same name, and
  every erasure that reaches there, takes it away. A part that is still being written is locked, and stays.
* WHOLE-3  A disk without room is STO-E007, whatever else the system refuses STO-E008; nothing is left of the attempt.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from deja_tui.store.faults import StoreError

try:
    import fcntl
except ImportError:  # Windows keeps whoever else from removing an open file by itself
    fcntl = None  # type: ignore[assignment]

PART: Final = ".partial"
_BUFFER: Final = 1_048_576
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(target: Path, *, fresh: bool = False, mode: int = 0o600) -> Iterator[BinaryIO]:
    """A file that takes the name ``target`` when the block ends well; else nothing is left (WHOLE-1).

    Args:
        fresh: the name must still be free then. mode: rights of the file.

    Raises:
        FileExistsError: ``fresh``, and something lies there.
        StoreError: STO-E007, STO-E008 (WHOLE-3).
    """
    try:
        with _beside(target, fresh, mode) as file:
            yield file
    except FileExistsError:
        raise
    except OSError as error:
        raise refused(error) from error


@contextmanager
def _beside(target: Path, fresh: bool, mode: int) -> Iterator[BinaryIO]:
    sweep(target.parent, f".{target.name}.")
    handle, name = begin(target.parent, f".{target.name}.")
    try:
        with os.fdopen(handle, "wb", buffering=_BUFFER) as file:
            if mode != 0o600:
                os.chmod(name, mode)
            yield file
            file.flush()
            os.fsync(handle)
            take_name(name, target, fresh=fresh)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def begin(folder: str | os.PathLike[str], prefix: str) -> tuple[int, str]:
    """A new private part in ``folder``, open and locked: its handle and its name."""
    while True:
        name = _name(folder, prefix)
        handle = os.open(name, _NEW, 0o600)
        _lock(handle, wait=True)
        if fcntl is None or os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)  # a sweeper was between the two


def _name(folder: str | os.PathLike[str], prefix: str) -> str:
    return os.path.join(folder, f"{prefix}{os.urandom(4).hex()}{PART}")


def take_name(part: str | os.PathLike[str], target: str | os.PathLike[str], *, fresh: bool = False) -> None:
    """Give a complete part its name. Raises FileExistsError where ``fresh`` and the name is taken."""
    if fresh:
        _link(part, target)
    else:
        os.replace(part, target)
    with suppress(OSError):  # not every system syncs a folder
        folder = os.open(os.path.dirname(os.path.abspath(target)), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _link(part: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    try:
        os.link(part, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.replace(part, target)


def sweep(folder: str | os.PathLike[str], prefix: str = "") -> int:
    """Remove the parts in ``folder`` that nobody is writing (WHOLE-2); how many stay because they could not be."""
    left = 0
    try:
        names = [name for name in os.listdir(folder) if name.startswith(prefix) and name.endswith(PART)]
    except (FileNotFoundError, NotADirectoryError):
        return 0
    for name in names:
        path = os.path.join(folder, name)
        try:
            _remove(path)
        except FileNotFoundError:
            continue  # its writer ended just now
        except OSError:
            left += 1
    return left


def _remove(path: str) -> None:
    """Raises BlockingIOError where it is being written."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        _lock(handle, wait=False)
        if fcntl is not None:
            _discard(path)
    finally:
        os.close(handle)
    if fcntl is None:
        _discard(path)


def _discard(path: str) -> None:
    """A part, or a folder of parts."""
    if not os.path.isdir(path):
        os.unlink(path)
        return
    for name in os.listdir(path):
        os.unlink(os.path.join(path, name))
    os.rmdir(path)


def _lock(handle: int, *, wait: bool) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        raise
    except OSError:
        if not wait:  # a file system without locks: nobody can tell, so it stays
            raise


@contextmanager
def folder_for(target: Path) -> Iterator[Path]:
    """A private folder beside ``target`` in which a file of several parts is made; it goes when the block ends."""
    try:
        sweep(target.parent, f".{target.name}.")
        folder = _name(target.parent, f".{target.name}.")
        os.mkdir(folder, 0o700)
        handle = os.open(folder, os.O_RDONLY) if fcntl is not None else None
    except OSError as error:
        raise refused(error) from error
    try:
        if handle is not None:
            _lock(handle, wait=True)
        yield Path(folder)
    finally:
        if handle is not None:
            os.close(handle)
        with suppress(FileNotFoundError):
            _discard(folder)


def refused(error: OSError) -> StoreError:
    """The coded form of what the system refused (WHOLE-3); it names no path."""
    if error.errno in _NO_ROOM:
        return StoreError("STO-E007", "the disk is full", "Free some space; nothing was left of the file.")
    return StoreError(
        "STO-E008",
        f"the file cannot be written there ({error.strerror or 'refused'})",
        "Make the folder first, or choose one that may be written.",
    )
