# SPDX-License-Identifier: Apache-2.0
"""A JSON document by its parts, which are read when they are asked for, as often as they are asked for.

* PARTS-1  A document of some megabytes is held whole. A longer one is walked (`streaming`): each part takes a reading of the
  file, and no more memory than its longest value, which may have `jsonl.LINE_LIMIT` bytes.
* PARTS-2  Whoever asks cannot tell the one from the other. Of a long document that breaks off the beginning is given, and
  the report says where it broke; a short one is refused whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from deja_tui.capture import files, jsonl, streaming
from deja_tui.capture.reading import document
from deja_tui.capture.report import FileReport
from deja_tui.errors import DejaError
from deja_tui.text import clean

_LOOKED: Final = 4_096


class Parts:
    """A document that is held whole."""

    def __init__(self, value: Any) -> None:
        self._value = value
        self.is_list = isinstance(value, list)
        members = value if isinstance(value, Mapping) else {}
        self.names: frozenset[str] = frozenset(map(str, members))
        """The members of a document that is an object."""
        self.lists: frozenset[str] = frozenset(k for k, v in members.items() if isinstance(v, list))
        """Those of them that are arrays."""

    def rows(self, name: str | None = None) -> Iterator[Any]:
        """The elements of the array that is the document, or that is its member of this name."""
        found = self._value if name is None else self.value(name)
        yield from found if isinstance(found, list) else ()

    def value(self, name: str) -> Any:
        """A member that is no long array; None where there is none."""
        return self._value.get(name) if name in self.names else None

    def first(self, count: int, name: str | None = None) -> list[Any]:
        """The first elements, for a look at what they are."""
        return list(islice(self.rows(name), count))


class Walked(Parts):
    """A long document."""

    def __init__(self, path: Path, report: FileReport, opening: str) -> None:
        super().__init__([] if opening == "[" else {})
        self._path = path
        self._report = report
        self._told = False
        if opening == "{":
            told: dict[str, str] = {}
            try:
                told.update(streaming.members(path))  # what was given before it broke stays
            except streaming.Broken:
                self.breaks_off(len(told) - 1)
            self.names = frozenset(told)
            self.lists = frozenset(name for name, begins in told.items() if begins == "[")

    def rows(self, name: str | None = None) -> Iterator[Any]:
        if name is not None and name not in self.lists:
            return
        number = 0
        try:
            for value in streaming.under(self._path, (name,)):
                number += 1
                yield value
        except streaming.Broken:
            self.breaks_off(number)

    def value(self, name: str) -> Any:
        if name not in self.names:
            return None
        try:
            return next(streaming.under(self._path, (name,)), None)
        except streaming.Broken:
            return None

    def breaks_off(self, number: int) -> None:
        """Tell once that the document ends in the middle, after so many elements."""
        if not self._told:
            self._told = True
            self._report.lose(number + 1, "the document breaks off here")


def _begins(path: Path) -> bool:
    """Whether an array has a first element."""
    try:
        return any(True for _ in streaming.under(path, (None,)))
    except streaming.Broken:
        return False


def parts(path: Path, report: FileReport, *, kind: str, hint: str) -> Parts:
    """The document of a file. Raises IMP-E001, IMP-E002 (no JSON), IMP-E004 (a value that is too long), `OSError`."""
    if streaming.is_past_holding(files.checked(path)):
        with path.open("rb") as source:
            opening = jsonl.body(source.read(_LOOKED))[:1].decode("ascii", "replace")
        if opening in ("{", "["):
            found = Walked(path, report, opening)
            if not found.names and not _begins(path):
                raise DejaError("IMP-E002", f"{clean(path.name)} is no {kind}: not JSON", hint)
            return found
    return Parts(document(path, report, kind=kind, hint=hint))
