# SPDX-License-Identifier: Apache-2.0
"""One JSON document of any length, read to what stands deep inside it, with no more in memory than one such value.

* STREAM-1  `under` gives the values below a path of names, arrays on the way one element after the other; everything else is
  passed by. A value, or what is passed by, may have `jsonl.LINE_LIMIT` bytes.
* STREAM-3  `hollow` and `within` do the same for an object that has one long member: the object without it, and its elements.
* STREAM-2  What is broken ends the reading where it is broken: what was given before stays given, and the reader is told.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

from deja_tui import watch
from deja_tui.capture import jsonl
from deja_tui.errors import DejaError
from deja_tui.text import clean

_PIECE: Final = 1024 * 1024
_WHOLE: Final = 8 * 1024 * 1024
_BLANKS: Final = " \t\r\n\x00"
_ENDS: Final = (*_BLANKS, ",", ":", "]", "}")
_DECODER: Final = json.JSONDecoder(parse_constant=str)


class Broken(Exception):
    """The document ends here, or is no JSON from here on."""


def is_document(path: Path, names: Sequence[str]) -> bool:
    """Whether a file is one JSON object over several lines, or longer than a line may be, with something below ``names``.

    Else its lines are read. Raises as `under` does, but for `Broken`.
    """
    with path.open("rb") as source:
        line = source.readline(jsonl.LINE_LIMIT)
    if not jsonl.body(line[:_PIECE]).startswith(b"{"):
        return False
    first = None if len(line) == jsonl.LINE_LIMIT else jsonl.parsed(1, line)
    if first is not None and first.kind == "value":
        return False
    return _has(path, names)


def is_long(path: Path, names: Sequence[str]) -> bool:
    """Whether a file is better walked than read whole, which takes several times its length of memory, and can be."""
    return is_past_holding(path) and _has(path, names)


def is_past_holding(path: Path) -> bool:
    """Whether a file is so long that it is walked where that is possible."""
    return path.stat().st_size > min(_WHOLE, jsonl.LINE_LIMIT)


def _has(path: Path, names: Sequence[str]) -> bool:
    try:
        return any(True for _ in under(path, names))
    except Broken:  # before anything was given: no document, or a first record that was torn
        return False


def under(path: Path, names: Sequence[str | None]) -> Iterator[Any]:
    """The values below ``names`` in a document (STREAM-1). A name of None: each element of an array.

    Raises `Broken` (STREAM-2), IMP-E004 for a value that is too long, `OSError`.
    """
    with path.open("rb") as source:
        stream = _Stream(source, path)
        for _ in _reach(stream, names):
            yield stream.value()
        _end(stream)


def hollow(path: Path, names: Sequence[str | None], leave: str) -> Iterator[Any]:
    """The values below ``names``; objects without their member ``leave``, which may be of any length (`within`).

    Raises as `under`.
    """
    with path.open("rb") as source:
        stream = _Stream(source, path)
        for _ in _reach(stream, names):
            yield _without(stream, leave)
        _end(stream)


def within(path: Path, names: Sequence[str | None], leave: str) -> Iterator[tuple[int, Any]]:
    """What `hollow` left out, one element after the other: (number of the object from 1, element).

    Raises as `under`.
    """
    with path.open("rb") as source:
        stream = _Stream(source, path)
        for number, _ in enumerate(_reach(stream, names), 1):
            for _ in _reach(stream, (leave,)):
                yield number, stream.value()
        _end(stream)


def members(path: Path) -> Iterator[tuple[str, str]]:
    """The members of a document that is an object: (name, the character that its value begins with). Raises as `under`."""
    with path.open("rb") as source:
        stream = _Stream(source, path)
        for name in stream.members():
            yield name, stream.peek()
            stream.skip()
        _end(stream)


def _end(stream: _Stream) -> None:
    if stream.peek():
        raise Broken


def _without(stream: _Stream, leave: str) -> Any:
    if stream.peek() != "{":
        return stream.value()
    found = {}
    for name in stream.members():
        if name == leave:
            stream.skip()
        else:
            found[name] = stream.value()
    return found


def _reach(stream: _Stream, names: Sequence[str | None]) -> Iterator[None]:
    """Once for each value below ``names``; who asks for the next one has read the last."""
    if not names:
        yield
        return
    first, rest = names[0], names[1:]
    if first is None:
        yield from _each(stream, rest)
        return
    if stream.peek() != "{":
        stream.skip()
        return
    for name in stream.members():
        if name != first:
            stream.skip()
        elif stream.peek() == "[":
            yield from _each(stream, rest)
        else:
            yield from _reach(stream, rest)


def _each(stream: _Stream, rest: Sequence[str | None]) -> Iterator[None]:
    if stream.peek() != "[":
        stream.skip()
        return
    for _ in stream.elements():
        yield from _reach(stream, rest)


class _Stream:
    """JSON text with a place in it; at most one value and a piece are held."""

    def __init__(self, source: BinaryIO, path: Path) -> None:
        self._text = io.TextIOWrapper(source, encoding="utf-8-sig", errors=jsonl.DAMAGE, newline="")
        self._path = path
        self._size = path.stat().st_size
        self._held = ""
        self._at = 0
        self._ended = False
        self._read = 0

    def peek(self) -> str:
        """The next character that is no blank; "" at the end."""
        while True:
            while self._at < len(self._held) and self._held[self._at] in _BLANKS:
                self._at += 1
            if self._at < len(self._held):
                return self._held[self._at]
            if not self._more():
                return ""

    def value(self) -> Any:
        """The whole value that begins here."""
        if not self.peek():
            raise Broken
        while True:
            try:
                value, end = _DECODER.raw_decode(self._held, self._at)
            except RecursionError as fault:
                raise Broken from fault
            except ValueError as fault:
                if not self._more():
                    raise Broken from fault
                continue
            # a number may go on in the next piece, of which a sign of it may be here
            if self._held[end : end + 1] not in _ENDS and self._more():
                continue
            start, self._at = self._at, end
            deep = jsonl.too_deep(self._held[start:end].encode("utf-8", "surrogatepass"), value)
            return None if deep else value

    def skip(self, deep: int = 3) -> None:
        """Pass by the value that begins here; the elements of an array one after the other, and so two levels down."""
        found = self.peek() if deep else ""
        if found == "[":
            for _ in self.elements():
                self.skip(deep - 1)
        elif found == "{":
            for _ in self.members():
                self.skip(deep - 1)
        else:
            self.value()

    def members(self) -> Iterator[str]:
        """The names of an object; who asks for the next one has read the value of the last."""
        for _ in self._between("{", "}"):
            name = self.value()
            if not isinstance(name, str) or self.peek() != ":":
                raise Broken
            self._at += 1
            yield name

    def elements(self) -> Iterator[None]:
        """Once for each element of an array; who asks for the next one has read the last."""
        yield from self._between("[", "]")

    def _between(self, opening: str, closing: str) -> Iterator[None]:
        if self.peek() != opening:
            raise Broken
        self._at += 1
        first = True
        while (found := self.peek()) != closing:
            if not first:
                if found != ",":
                    raise Broken
                self._at += 1
            first = False
            yield
        self._at += 1

    def _more(self) -> bool:
        """Read on; as much again as is held, so that a long value is tried a few times only."""
        if self._ended:
            return False
        if len(self._held) - self._at > jsonl.LINE_LIMIT:
            limit = jsonl.LINE_LIMIT // 2**20
            raise DejaError(
                "IMP-E004",
                f"{clean(self._path.name)} holds one value of more than {limit} MiB",
                "split it, or export it as JSON Lines",
            )
        piece = self._text.read(max(_PIECE, len(self._held) - self._at))
        self._read += len(piece)
        watch.tell(min(self._read, self._size) // 1_024, self._size // 1_024, "KiB")
        self._held, self._at = self._held[self._at :] + piece, 0
        self._ended = not piece
        return bool(piece)
