# SPDX-License-Identifier: Apache-2.0
"""SQLite's errors as coded ones: the one place where an APSW exception becomes a `StoreError`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps

import apsw

from deja_tui.errors import DejaError
from deja_tui.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")
    T = TypeVar("T")


class Fault(Record):
    """One thing that is wrong. ``address`` is "" when it is about the file; ``message`` holds no grain text."""

    _fields = ("code", "address", "message")
    __slots__ = _fields

    def __init__(self, code: str, address: str, message: str) -> None:
        self.code = code
        self.address = address
        self.message = message


class StoreError(DejaError):
    """A refusal of the file (``STO-…``) or of what it holds (``MEM-…``). The act it came from left nothing behind."""


class AmbiguousError(StoreError):
    """A short address that fits several grains (``MEM-E004``).

    Attributes:
        matches: full addresses, sorted, at most 20.
    """

    def __init__(self, prefix: str, matches: list[str]) -> None:
        super().__init__(
            "MEM-E004",
            f"{prefix} is the start of several addresses",
            "Give more characters: " + ", ".join(match[: len(prefix) + 4] for match in matches[:5]),
        )
        self.matches = matches


_BUSY: Final = "Another process is writing; try again in a moment."
_DAMAGED: Final = (
    "Copy the file aside and make the memory anew from a bundle (`deja restore`) or from segments (docs/sync.md);"
    " `deja verify` lists what is damaged in a file that still opens."
)
_RULES: Final[tuple[tuple[type[Exception], str, str, str], ...]] = (
    (apsw.BusyError, "STO-E004", "the file is locked by another writer", _BUSY),
    (apsw.LockedError, "STO-E004", "the file is locked by another writer", _BUSY),
    (apsw.FullError, "STO-E007", "the disk is full", "Free some space; nothing of this act was kept."),
    (apsw.ReadOnlyError, "STO-E005", "the memory can only be read", "Open it where it may be written."),
    (apsw.NotADBError, "STO-E002", "the file is not a deja memory", "Name the file that deja wrote."),
    (
        apsw.CorruptError,
        "STO-E009",
        "the file is damaged",
        _DAMAGED,
    ),
    (
        apsw.CantOpenError,
        "STO-E008",
        "the file or its folder cannot be opened",
        "Check that the folder exists and may be written.",
    ),
    (
        apsw.IOError,
        "STO-E001",
        "the disk did not give or take the data",
        "Look at free space and at the disk itself; nothing of this act was kept.",
    ),
    (apsw.PermissionsError, "STO-E008", "the system refused access to the file", "Check who owns the file."),
    (apsw.ConnectionClosedError, "STO-E010", "the memory is closed", "Open it again."),
)


def is_full(error: Exception) -> bool:
    """Whether the disk has no room: SQLite calls it another error when it is the index of the log that finds none."""
    return isinstance(error, apsw.FullError) or (
        isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE
    )


def storage_error(error: Exception) -> StoreError:
    """The coded form of an APSW exception. SQLite's own words are kept: they name tables, never grain text.

    Text that is no UTF-8 was never written by deja: APSW gives it as a `UnicodeDecodeError`.
    """
    if isinstance(error, UnicodeDecodeError):
        return StoreError("STO-E009", "the file holds text that is no text", _DAMAGED)
    for kind, code, message, next_step in _RULES:
        if isinstance(error, kind) or (kind is apsw.FullError and is_full(error)):
            return StoreError(code, message, next_step)
    return StoreError(
        "STO-E001",
        f"SQLite refused the operation ({type(error).__name__}: {error})",
        "Run `deja verify` on the file; if it finds nothing, this is a fault of deja.",
    )


def coded(method: Callable[P, R]) -> Callable[P, R]:
    """``method`` with every APSW exception turned into a `StoreError`."""

    @wraps(method)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except (apsw.Error, UnicodeDecodeError) as error:
            raise storage_error(error) from error

    return guarded


def coded_iterator(rows: Iterator[T]) -> Iterator[T]:
    """``rows`` with every APSW exception turned into a `StoreError`."""
    try:
        yield from rows
    except (apsw.Error, UnicodeDecodeError) as error:
        raise storage_error(error) from error


def closed() -> StoreError:
    return StoreError("STO-E010", "the memory is closed", "Open it again.")


def unknown(address: str) -> StoreError:
    return StoreError(
        "MEM-E001", f"no grain {address[:12]} here", "Check the address, or search for its text."
    )
