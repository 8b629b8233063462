# SPDX-License-Identifier: Apache-2.0
"""Whether the records of a file hang together: every oddity of its parent links is told once, and no walk is endless."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

NO_PARENT: Final = "its parent is not in the file"
OWN_PARENT: Final = "it is its own parent"
CYCLE: Final = "its parents run in a circle"
TWICE: Final = "its id was used before"
_NONE: Final = 0


class Chain:
    """Parent links of one file, in file order; the first record with an id is the one that counts.

    Ids are held as their 64-bit hashes, so that a file of a million records costs megabytes and not its text. Two ids
    with one hash would make a false oddity, which costs nothing but a line in a report.
    """

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self._lines = array("q")
        self._parents = array("q")
        self._odd: list[tuple[int, str]] = []

    def add(self, line: int, record_id: str, parent: str) -> bool:
        """Add a record, with an empty ``parent`` for none; whether its id is new."""
        at = len(self._lines)
        new = self._first.setdefault(hash(record_id), at) == at
        self._lines.append(line)
        self._parents.append(hash(parent) if parent and parent != record_id else _NONE)
        if not new:
            self._odd.append((line, TWICE))
        if parent == record_id:
            self._odd.append((line, OWN_PARENT))
        return new

    def oddities(self) -> Iterator[tuple[int, str]]:
        """Line and reason of everything odd, once the file was read to its end."""
        yield from self._odd
        for line, parent in zip(self._lines, self._parents, strict=True):
            if parent != _NONE and parent not in self._first:
                yield line, NO_PARENT
        yield from self._circles()

    def _circles(self) -> Iterator[tuple[int, str]]:
        """One line for each circle, that of its first record. No record is stepped on more than twice."""
        done = bytearray(len(self._lines))
        for start in range(len(self._lines)):
            path: dict[int, None] = {}
            at: int | None = start
            while at is not None and not done[at] and at not in path:
                path[at] = None
                at = self._first.get(self._parents[at])
            if at is not None and at in path:
                walked = list(path)
                yield self._lines[min(walked[walked.index(at) :])], CYCLE
            for step in path:
                done[step] = 1
