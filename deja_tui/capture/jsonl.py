# SPDX-License-Identifier: Apache-2.0
"""Reading JSON Lines that other programs wrote, were killed while writing, or damaged.

Numbered rules, cited by tests:

* JSONL-1  Records are split at LF and nowhere else: U+2028, U+2029, U+0085, VT and FF are text.
* JSONL-2  A byte-order mark, CR, blanks and NUL bytes around a record are not part of it. A line of NUL bytes only
  is *padding* (a file system left it after a crash): told, but not a loss. A line of white space is nothing.
* JSONL-3  A line that is no JSON is *bad*. The last line without LF that is no JSON is *torn*: its writer may still
  finish it, so the next import reads it again.
* JSONL-4  Memory is bounded: a line longer than `LINE_LIMIT` bytes is bad and is skipped without being held.
* JSONL-5  Nothing is salvaged out of a bad line: two records glued together cost that one line.
"""

from __future__ import annotations

import codecs
import json
import os
import sys
from collections.abc import Iterator

from deja_tui.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Final, Literal

    Kind = Literal["value", "padding", "bad", "torn"]
else:
    Kind = str

LINE_LIMIT: Final = 64 * 1024 * 1024
_TOLD_EVERY: Final = 256
DEPTH_LIMIT: Final = 100


_JSON: Final = json.JSONDecoder(parse_constant=str)  # NaN is no JSON, but no reason to lose a record either
_BOM: Final = b"\xef\xbb\xbf"


DAMAGE: Final = "deja-damage"
"""How a document is decoded: half a surrogate pair is text, any other byte that is none becomes one that no JSON holds, so that
it breaks the value it stands in and not the reading of all that came before it."""


def _damage(error: UnicodeError) -> tuple[str | bytes, int]:
    try:
        return codecs.lookup_error("surrogatepass")(error)
    except UnicodeError:
        if not isinstance(error, UnicodeDecodeError):
            raise
        return "\x1a", error.end


codecs.register_error(DAMAGE, _damage)


class Line(Record):
    """One line that holds something.

    ``number`` counts from 1 and includes blank lines. ``value`` is set for the kind ``value`` only (JSON null is a
    value). ``reason`` says what is wrong with a bad or torn line; it never quotes it. ``size`` is in bytes.
    """

    _fields = ("number", "kind", "size", "value", "reason")
    __slots__ = _fields

    def __init__(self, number: int, kind: Kind, size: int, value: Any = None, reason: str = "") -> None:
        self.number = number
        self.kind = kind
        self.size = size
        self.value = value
        self.reason = reason


def lines(source: BinaryIO, *, limit: int = LINE_LIMIT) -> Iterator[Line]:
    """Every line of ``source`` that is not blank, in order (JSONL-1 to JSONL-5).

    Raises only what reading ``source`` raises (`OSError`).
    """
    number = 0
    watching, size = _size(source)
    while raw := source.readline(limit):
        number += 1
        if watching and number % _TOLD_EVERY == 0:
            _tell(source.tell(), size)
        if len(raw) == limit and not raw.endswith(b"\n"):
            size, blank = _skip(source, raw)
            yield (
                Line(number, "padding", size)
                if blank
                else Line(number, "bad", size, reason="longer than the limit")
            )
            continue
        line = parsed(number, raw)
        if line is not None:
            yield line


def _size(source: BinaryIO) -> tuple[bool, int]:
    """Whether anybody watches, and then how many bytes there are."""
    watch = sys.modules.get("deja_tui.watch")  # whoever watches has loaded it; a hook has nobody and does not
    if watch is None or not watch.is_watched():
        return False, 0
    return True, os.fstat(source.fileno()).st_size


def _tell(done: int, size: int) -> None:
    from deja_tui.watch import tell

    tell(done // 1_024, size // 1_024, "KiB")


def _skip(source: BinaryIO, start: bytes) -> tuple[int, bool]:
    """Reads to the end of an over-long line; its size, and whether it is NUL bytes only."""
    size, blank = len(start), not start.strip(b"\x00\r\n")
    while piece := source.readline(len(start)):
        size += len(piece)
        blank = blank and not piece.strip(b"\x00\r\n")
        if piece.endswith(b"\n"):
            break
    return size, blank


def parsed(number: int, raw: bytes) -> Line | None:
    """One line with what ends it, as `lines` gives it; None for a blank one."""
    kept = body(raw)
    if not kept:
        return Line(number, "padding", len(raw)) if b"\x00" in raw else None
    try:
        value = _JSON.decode(kept.decode("utf-8"))
    except UnicodeDecodeError:
        reason = "not UTF-8"
    except RecursionError:
        reason = "nested too deeply"
    except ValueError:
        reason = "not JSON"
    else:
        if not too_deep(kept, value):
            return Line(number, "value", len(raw), value)
        reason = "nested too deeply"
    if raw.endswith(b"\n"):
        return Line(number, "bad", len(raw), reason=reason)
    return Line(number, "torn", len(raw), reason="cut off in the middle")


def body(raw: bytes) -> bytes:
    """A line without its mark, blanks and padding (JSONL-2)."""
    # bytes.strip takes a set: a mark is removed as a whole only, or the first letter of a text could go with it
    kept = raw.strip(b" \t\r\n\x00")
    while kept.startswith(_BOM):
        kept = kept[len(_BOM) :].strip(b" \t\r\n\x00")
    return kept


def too_deep(body: bytes, value: Any, limit: int = DEPTH_LIMIT) -> bool:
    """Whether ``value`` has more than ``limit`` levels; the bytes it was read from decide quickly that it has not."""
    if body.count(b"[") + body.count(b"{") <= limit:
        return False
    level: list[Any] = [value]
    for _ in range(limit):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return False
    return True


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [child for child in value.values() if isinstance(child, (dict, list))]
    if isinstance(value, list):
        return [child for child in value if isinstance(child, (dict, list))]
    return []
