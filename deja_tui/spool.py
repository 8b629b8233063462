# SPDX-License-Identifier: Apache-2.0
"""The spool ``<file>.spool/``: what a capture could not write into the memory, until the next writer takes it in (D34).

* SPOOL-1  A capture that cannot write loses nothing: its items, which were redacted before, lie here as JSON, one file a
  capture, whole or not at all. The folder is 0700, its files are 0600.
* SPOOL-2  The next act of any writer takes them in first, in the order in which they were laid down. A file goes only after
  its items were committed; taking one twice changes nothing, because an item is known by its source key (D32).
* SPOOL-3  Forgetting reaches here: rows of the erased grain, or that tell of the erased subject, are taken out, and so is what
  a capture that was killed left half written. A file that cannot be read is told of, and stays.
* SPOOL-4  A file that cannot be read, or whose items the memory refuses, stops no act. It stays, and is counted.

A file is JSON Lines in ASCII: a head ``{"spool": 1, "namespace": …, "cursor": [key, value] or null}``, then one item a line:
``{"type", "key", "fields"}``.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    Row = tuple[str, str, dict[str, Any]]
    """(type, source key, fields) of one item."""

SUFFIX: Final = ".spool"
_VERSION: Final = 1
_NAME: Final = ".json"
_TAKEN_MAX: Final = 256 * 1024 * 1024


def folder_of(path: str | os.PathLike[str]) -> str:
    """Where the spool of the memory at ``path`` is; beside the file itself when that is a link."""
    return os.path.realpath(os.fspath(path)) + SUFFIX


def lay_down(
    path: str | os.PathLike[str],
    rows: Iterable[Row],
    *,
    namespace: str | None = None,
    cursor: tuple[str, Any] | None = None,
) -> str:
    """Write one file of items (SPOOL-1) and return its name.

    ``cursor``: a setting that is written in the act that takes the items in. Raises OSError when the disk refuses.
    """
    head = {"spool": _VERSION, "namespace": namespace, "cursor": list(cursor) if cursor else None}
    lines = [json.dumps(head)]
    lines += [json.dumps({"type": kind, "key": key, "fields": fields}) for kind, key, fields in rows]
    name = f"{time.time_ns():020d}-{os.getpid()}{_NAME}"
    folder = folder_of(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    try:
        return _write(folder, name, lines)
    except FileNotFoundError:  # a writer that had taken in the last file has just removed the folder
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return _write(folder, name, lines)


def _write(folder: str, name: str, lines: list[str]) -> str:
    """Write a file whole or not at all."""
    from deja_tui.store import whole

    file, part = whole.begin(folder, name)
    try:
        with os.fdopen(file, "w", encoding="ascii") as out:
            out.write("\n".join(lines) + "\n")
            out.flush()
            os.fsync(file)
            whole.take_name(part, os.path.join(folder, name))
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
            os.rmdir(folder)
        raise
    return name


def waiting(path: str | os.PathLike[str]) -> list[str]:
    """The names of the files that wait, oldest first; none when there is no spool, which costs one look."""
    try:
        return sorted(name for name in os.listdir(folder_of(path)) if name.endswith(_NAME))
    except (FileNotFoundError, NotADirectoryError):
        return []


def read(path: str | os.PathLike[str], name: str) -> tuple[str | None, tuple[str, Any] | None, list[Row]]:
    """(namespace, cursor, items) of one file.

    Raises ValueError when it is no spool file, OSError when it is gone or cannot be read.
    """
    with open(os.path.join(folder_of(path), name), encoding="ascii") as file:
        if os.fstat(file.fileno()).st_size > _TAKEN_MAX:
            raise ValueError("a spool file longer than any that is written here")
        lines = file.read().split("\n")
    head = _object(lines[0])
    if head.get("spool") != _VERSION or lines[-1] != "":
        raise ValueError("not a whole spool file of this version")
    given = head.get("cursor")
    cursor = (given[0], given[1]) if isinstance(given, list) and len(given) == 2 else None
    namespace = head.get("namespace")
    rows = []
    for line in lines[1:-1]:
        row = _object(line)
        kind, key, fields = row.get("type"), row.get("key"), row.get("fields")
        if not isinstance(kind, str) or not isinstance(key, str) or not isinstance(fields, dict):
            raise ValueError("a spooled item without type, key or fields")
        rows.append((kind, key, fields))
    return namespace if isinstance(namespace, str) else None, cursor, rows


def _object(line: str) -> dict[str, Any]:
    value = json.loads(line)
    if not isinstance(value, dict):
        raise ValueError("a line of a spool file that is no object")
    return value


def done(path: str | os.PathLike[str], name: str) -> None:
    """Remove a file whose items are in the memory, and the folder with the last one."""
    from deja_tui.store import whole

    folder = folder_of(path)
    try:
        os.unlink(os.path.join(folder, name))
        whole.sweep(folder)
        os.rmdir(folder)
    except OSError:  # another process took it in as well, or more files wait
        return


def cursor(path: str | os.PathLike[str], key: str) -> Any | None:
    """The newest value that waits to be set under ``key``; None: none does."""
    for name in reversed(waiting(path)):
        try:
            _, found, _ = read(path, name)
        except (OSError, ValueError):
            continue  # counted by `counts`; what it held is captured again, and known by its keys
        if found is not None and found[0] == key:
            return found[1]
    return None


def counts(path: str | os.PathLike[str]) -> tuple[int, int, int]:
    """(files, items, files that cannot be read) that wait."""
    items = unreadable = 0
    names = waiting(path)
    for name in names:
        try:
            items += len(read(path, name)[2])
        except (OSError, ValueError):
            unreadable += 1
    return len(names), items, unreadable


def scrub(path: str | os.PathLike[str], tells: Callable[[str, str, Mapping[str, Any]], bool]) -> str | None:
    """Take out the items of which ``tells(type, source key, fields)`` is true (SPOOL-3); what could not be reached."""
    from deja_tui.store import whole

    left = whole.sweep(folder_of(path))
    for name in waiting(path):
        try:
            namespace, place, rows = read(path, name)
            kept = [row for row in rows if not tells(*row)]
            if not kept and place is None:
                done(path, name)
            elif len(kept) < len(rows):
                head = {"spool": _VERSION, "namespace": namespace, "cursor": list(place) if place else None}
                lines = [json.dumps(head)]
                lines += [
                    json.dumps({"type": kind, "key": key, "fields": fields}) for kind, key, fields in kept
                ]
                _overwrite(folder_of(path), name)
                _write(folder_of(path), name, lines)
        except (OSError, ValueError):
            left += 1
    return f"{left} files of captures that wait cannot be read: {folder_of(path)}" if left else None


def _overwrite(folder: str, name: str) -> None:
    """Zeros over what is erased, before another file takes its name."""
    place = os.path.join(folder, name)
    with open(place, "r+b") as file:
        file.write(b"\0" * os.fstat(file.fileno()).st_size)
        file.flush()
        os.fsync(file.fileno())
