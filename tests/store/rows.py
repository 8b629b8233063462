# SPDX-License-Identifier: Apache-2.0
"""Bundles taken apart and put together by hand, for tests: the layout of docs/format.md, written a second time."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ADD, SUPERSEDE, FORGET = 1, 2, 3


class Row(NamedTuple):
    """One row of a bundle."""

    op: int
    hlc: int
    digest: bytes
    blob: bytes


def row(op: int, hlc: int, blob: bytes = b"", *, address: str | None = None) -> Row:
    """A row of these bytes, under their own address or another."""
    digest = hashlib.sha256(blob).digest() if address is None else bytes.fromhex(address)
    return Row(op, hlc, digest, blob)


def packed(rows: Iterable[Row]) -> bytes:
    """The bytes of a bundle."""
    parts = [b"MGB1"]
    for op, hlc, digest, blob in rows:
        parts += [bytes([op]), struct.pack("<q", hlc), digest, struct.pack("<I", len(blob)), blob]
    return b"".join(parts)


def unpacked(data: bytes) -> list[Row]:
    """The rows in the bytes of a bundle."""
    assert data[:4] == b"MGB1"
    found, at = [], 4
    while at < len(data):
        (hlc,), (size,) = struct.unpack_from("<q", data, at + 1), struct.unpack_from("<I", data, at + 41)
        found.append(Row(data[at], hlc, data[at + 9 : at + 41], data[at + 45 : at + 45 + size]))
        at += 45 + size
    assert at == len(data)
    return found


def write(path: Path, rows: Iterable[Row]) -> Path:
    """A bundle file."""
    path.write_bytes(packed(rows))
    return path
