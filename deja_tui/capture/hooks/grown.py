# SPDX-License-Identifier: Apache-2.0
"""Whether there is anything to capture, asked before anything is imported that a capture needs (D47)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping

import apsw
import xxhash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

_AGENTS_MAX: Final = 64
_BUSY_MS: Final = 200


def cursor_key(path: str) -> str:
    """The setting that holds the cursor of a file; a digest, so that the memory does not name the folder it was in."""
    told = os.path.realpath(path).encode("utf-8", "surrogateescape")
    return "capture:claude-code:" + xxhash.xxh3_64_hexdigest(told)


def transcripts(event: Mapping[str, Any]) -> Iterator[str]:
    """The files that may have grown: the session's own, and those of its sub-agents."""
    path = event.get("transcript_path")
    if not isinstance(path, str) or not path or "\0" in path:
        return
    path = os.path.expanduser(path)
    if os.path.isfile(path):
        yield path
    folder = os.path.join(path.removesuffix(".jsonl"), "subagents")
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".jsonl"))
    except OSError:  # there is none: most sessions have no sub-agents
        return
    for name in names[:_AGENTS_MAX]:
        if os.path.isfile(os.path.join(folder, name)):
            yield os.path.join(folder, name)


def is_grown(db: str, event: Mapping[str, Any]) -> bool:
    """Whether a capture of this event may find something new; False only when every file is as long as it was read last."""
    if "tool_name" in event or os.path.isdir(os.path.realpath(db) + ".spool"):
        return True
    files = list(transcripts(event))
    if not files or not os.path.exists(db):
        return bool(files)
    try:
        memory = apsw.Connection(os.path.realpath(db), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            memory.set_busy_timeout(_BUSY_MS)
            return not all(_is_read(memory, path) for path in files)
        finally:
            memory.close()
    except (apsw.Error, OSError, ValueError):  # the capture itself finds out what it is, and says so
        return True


def _is_read(memory: apsw.Connection, path: str) -> bool:
    for (value,) in memory.execute("SELECT value FROM setting WHERE key = ?", (cursor_key(path),)):
        cursor = json.loads(value)
        return isinstance(cursor, dict) and cursor.get("seen") == [
            os.path.getsize(path),
            os.stat(path).st_mtime_ns,
        ]
    return False


def is_gate_shut(db: str, min_new: int, min_new_errors: int) -> bool:
    """Whether a run with these gates would certainly be skipped: the two counts of `engine.pipeline.gate`, a test compares.

    False when in doubt: then the run itself decides.
    """
    try:
        memory = apsw.Connection(os.path.realpath(db), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            memory.set_busy_timeout(_BUSY_MS)
            sql = "SELECT name, value FROM counter WHERE name IN ('grains', 'errors')"
            here = dict(memory.execute(sql))
            last: Any = {}
            for (value,) in memory.execute("SELECT value FROM setting WHERE key = 'loop.last_run'"):
                last = json.loads(value)
            grains = here.get("grains", 0) - int(last.get("grains", 0))
            errors = here.get("errors", 0) - int(last.get("errors", 0))
            return bool(grains < min_new and errors < min_new_errors)
        finally:
            memory.close()
    except (apsw.Error, OSError, ValueError, TypeError, AttributeError):
        return False
