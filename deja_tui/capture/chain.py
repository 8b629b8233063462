# SPDX-License-Identifier: Apache-2.0
"""Whether the records of a file hang together: every oddity of its parent links is told once, and no walk is endless."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from deja_tui.capture.ids import Ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

NO_PARENT: Final = "its parent is not in the file"
OWN_PARENT: Final = "it is its own parent"
CYCLE: Final = "its parents run in a circle"
TWICE: Final = "its id was used before"
_REASONS: Final = (OWN_PARENT, TWICE)
_NONE: Final = -1
_LATE: Final = -2
_WALKED: Final = 1
_DONE: Final = 2


class Chain:
    """Parent links of one file, in file order; the first record with an id is the one that counts.

    A record costs two numbers in memory. Its id is kept as its 64-bit hash: two ids with one hash would make a false
    oddity, which costs nothing but a line in a report.
    """

    def __init__(self) -> None:
        self._first = Ids()
        self._late = Ids()  # parents that were not read when their child was
        self._lines = array("q")
        self._parents = array("q")
        self._odd = array("q")
        self._odd_kinds = bytearray()

    def add(self, line: int, record_id: str, parent: str) -> bool:
        """Add a record, with an empty ``parent`` for none; whether its id is new."""
        at, known = len(self._lines), str(hash(record_id))
        new = known not in self._first
        if new:
            self._first.put(known, str(at))
        self._lines.append(line)
        self._parents.append(self._parent(at, parent) if parent and parent != record_id else _NONE)
        if not new:
            self._tell(line, TWICE)
        if parent == record_id:
            self._tell(line, OWN_PARENT)
        return new

    def _parent(self, at: int, parent: str) -> int:
        known = str(hash(parent))
        found = self._first.get(known)
        if found is None:
            self._late.put(str(at), known)
            return _LATE
        return int(found)

    def _tell(self, line: int, reason: str) -> None:
        self._odd.append(line)
        self._odd_kinds.append(_REASONS.index(reason))

    def oddities(self) -> Iterator[tuple[int, str]]:
        """Line and reason of everything odd, once the file was read to its end."""
        for line, kind in zip(self._odd, self._odd_kinds, strict=True):
            yield line, _REASONS[kind]
        for at, parent in enumerate(self._parents):
            if parent == _LATE:
                found = self._first.get(self._late.get(str(at)) or "")
                self._parents[at] = _NONE if found is None else int(found)
                if found is None:
                    yield self._lines[at], NO_PARENT
        yield from self._circles()

    def _circles(self) -> Iterator[tuple[int, str]]:
        """One line for each circle, that of its first record. No record is stepped on more than twice."""
        state = bytearray(len(self._lines))
        for start in range(len(self._lines)):
            path = array("q")
            at = start
            while at >= 0 and not state[at]:
                state[at] = _WALKED
                path.append(at)
                at = self._parents[at]
            if at >= 0 and state[at] == _WALKED:
                yield self._lines[min(path[path.index(at) :])], CYCLE
            for step in path:
                state[step] = _DONE
