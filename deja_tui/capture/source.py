# SPDX-License-Identifier: Apache-2.0
"""What an importer is: plain data and three functions, so that one driver (`files`) serves them all.

Numbered rules, cited by tests:

* SRC-1  A source is read as a stream: `Source.read` gives items as soon as nothing later can change them, and holds ids
  and open halves, never texts of records it gave away.
* SRC-2  `Source.guess` looks at a `Probe` only, and answers with the reason or None. A guess that two sources claim is
  no guess.
* SRC-3  `read` raises IMP-E002 before its first item when nothing in the file is of its kind; a record it does not
  know is a loss with its line, never a fault.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deja_tui.capture import jsonl
from deja_tui.capture.figures import Figures
from deja_tui.capture.report import FileReport
from deja_tui.items import CaptureItem

if TYPE_CHECKING:
    from os import PathLike

HEAD: Final = 256 * 1024
_NAMES: Final = 500
_VALUES: Final = 8


@dataclass(frozen=True, slots=True)
class Probe:
    """What a guess may look at: a name, and the start of the file.

    ``head`` is at most `HEAD` bytes. ``values`` are the JSON values of its first lines, or ``whole``: the one value of a
    JSON document, of a long one as much as its head holds. ``names`` are the files of a folder, relative, at most 500.
    """

    path: Path
    folder: bool
    head: bytes = b""
    values: tuple[Any, ...] = ()
    whole: Any = None
    names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.path.name

    def objects(self) -> list[dict[str, Any]]:
        """The records at the start that are objects."""
        return [value for value in self.values if isinstance(value, dict)]


def probe(path: str | PathLike[str]) -> Probe:
    """Look at a path. Raises `OSError` as reading does."""
    place = Path(path)
    if place.is_dir():
        found = sorted(one.relative_to(place).as_posix() for one in _some(place))
        return Probe(place, folder=True, names=tuple(found))
    with place.open("rb") as source:
        head = source.read(HEAD)
    whole = _whole(head)
    if whole is None and len(head) == HEAD and not _is_line(head):
        whole = _begun(head)
    values = (whole,) if whole is not None else tuple(_first(head))
    return Probe(place, folder=False, head=head, values=values, whole=whole)


def _some(folder: Path) -> Iterator[Path]:
    for count, path in enumerate(folder.rglob("*")):
        if count >= _NAMES:
            return
        if path.is_file() and not path.is_symlink():
            yield path


def _whole(head: bytes) -> Any:
    """The value of a file that is one JSON document, when it is short enough to tell."""
    if len(head) == HEAD:
        return None
    try:
        value = json.loads(head.decode("utf-8-sig"), parse_constant=str)
    except (ValueError, RecursionError):
        return None
    return None if jsonl.too_deep(head, value) else value


def _is_line(head: bytes) -> bool:
    """Whether the first line is a record of its own."""
    found = jsonl.parsed(1, head[: head.find(b"\n") + 1])
    return found is not None and found.kind == "value"


_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|[\[\]{},]', re.DOTALL)
_CLOSES: Final = {"[": "]", "{": "}"}


def _begun(head: bytes) -> Any:
    """What a long document begins with: its head without what is not there whole, closed; None for no document."""
    text = head.decode("utf-8-sig", "ignore")
    closing, end, closed = "", 0, ""
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in _CLOSES:
            closing = _CLOSES[sign] + closing
        elif sign in ("]", "}"):
            closing = closing[1:]
            end, closed = token.end(), closing
        elif sign == ",":
            end, closed = token.start(), closing
    try:
        return json.loads(text[:end] + closed, parse_constant=str)
    except (ValueError, RecursionError):
        return None


def _first(head: bytes) -> Iterator[Any]:
    """The values of the first lines; the last line of a cut head says nothing."""
    lines = head.split(b"\n")
    told = lines[:-1] if len(head) == HEAD else lines
    for raw in told[: 4 * _VALUES]:
        body = jsonl.body(raw)
        if not body:
            continue
        try:
            yield json.loads(body.decode("utf-8"), parse_constant=str)
        except (ValueError, RecursionError):
            continue


Read = Callable[[Path, FileReport, int], Iterator[Sequence[CaptureItem]]]


@dataclass(frozen=True, slots=True)
class Source:
    """One importer.

    Args:
        kind: its word on the command line.
        title: what it reads, for help and reports.
        suffixes: which files of a folder are read, in lower case; empty: the folder itself is what is read.
        guess: why a probe looks like this source, or None.
        read: the items of one file (or folder) and its figures, given ``now`` in epoch ms.
        figures: an empty count of what this source counts.
        hint: what to give instead when nothing there is of this kind.
    """

    kind: str
    title: str
    suffixes: tuple[str, ...]
    guess: Callable[[Probe], str | None]
    read: Read
    figures: Callable[[], Figures]
    hint: str
