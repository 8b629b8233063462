# SPDX-License-Identifier: Apache-2.0
"""The manifest of a folder of segments: one line a segment, each with a digest over itself and all before it."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MANIFEST: Final = "manifest.jsonl"
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_LINE_MAX: Final = 4_096


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a manifest. ``hlc`` and ``address`` are those of the last row: whoever goes on must have it."""

    n: int
    bytes: int
    sha256: str
    rows: int
    last: int
    hlc: int
    address: str
    chain: str

    @property
    def file(self) -> str:
        return file_name(self.n)


def file_name(n: int) -> str:
    return f"segment-{n:08d}.mgb"


def chained(before: str, n: int, digest: str) -> str:
    return hashlib.sha256(f"{before} {n} {digest}".encode()).hexdigest()


def read_manifest(folder: Path) -> tuple[list[Line], str]:
    """The lines that are whole and follow each other, and what is wrong with the one after them, if anything.

    A last line without its end is still being written, or copied: nothing is wrong with it.
    """
    path = folder / MANIFEST
    lines: list[Line] = []
    chain = ""
    with path.open("rb") if path.is_file() else io.BytesIO() as file:
        while raw := file.readline(_LINE_MAX):
            if not raw.endswith(b"\n") and len(raw) < _LINE_MAX:
                break
            line = _line(raw)
            if line is None or line.n != len(lines) + 1 or line.chain != chained(chain, line.n, line.sha256):
                return lines, f"line {len(lines) + 1} of its manifest is damaged"
            chain = line.chain
            lines.append(line)
    return lines, ""


def _line(raw: bytes) -> Line | None:
    try:
        told = json.loads(raw)
    except ValueError:
        return None
    if not isinstance(told, dict):
        return None
    numbers = [told.get(name) for name in ("n", "bytes", "rows", "last", "hlc")]
    texts = [told.get(name) for name in ("sha256", "address", "chain")]
    if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
        return None
    if not all(isinstance(text, str) and _DIGEST.fullmatch(text) for text in texts):
        return None
    return Line(**{name: told[name] for name in Line.__slots__})


def append(folder: Path, line: Line) -> None:
    path = folder / MANIFEST
    told = json.dumps({name: getattr(line, name) for name in Line.__slots__}, sort_keys=True)
    with open(path, "ab", opener=_private) as file:
        file.write(told.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _private(path: str, flags: int) -> int:
    # a link that another copy laid there would lead out of the folder
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def cut_torn_line(folder: Path) -> None:
    """A line that a crash left half written would hide all that is appended after it."""
    path = folder / MANIFEST
    if not path.is_file():
        return
    told = path.read_bytes()
    whole = told.rfind(b"\n") + 1
    if whole < len(told):
        os.truncate(path, whole)
