# SPDX-License-Identifier: Apache-2.0
"""Rows of the table ``grain`` as `grains.StoredGrain`: from bytes to what callers are shown."""

from __future__ import annotations

from typing import Any, Final

import msgpack  # type: ignore[import-untyped]

from deja_tui.store.codec import TYPES, decode
from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import DEFAULT_NAMESPACE
from deja_tui.store.names import LONG

TYPE_NAMES: Final = {number: name for name, number in TYPES.items()}
_HEADER_BYTES: Final = 9
# Keys whose values the codec turns back as well; a payload without them only needs its names expanded.
_NESTED: Final = frozenset(("ctx", "cctx", "edges", "rt", "tdh"))
_FILED: Final = ("t", "ca", "ns")


_SUCCESSOR: Final = (
    "CASE g.dead WHEN 0 THEN NULL ELSE (SELECT coalesce(b.hash, t.hash) FROM mark m"
    " LEFT JOIN grain b ON b.id = m.by LEFT JOIN tombstone t ON t.gid = m.by"
    " WHERE m.gid = g.id ORDER BY m.seq DESC LIMIT 1) END"
)
COLUMNS: Final = f"g.id, g.type, g.at, g.hlc, g.dead, g.origin, g.hash, {_SUCCESSOR}, g.body"
"""What `stored` takes, from a table aliased ``g``. Only a grain that is not live pays for the look at its marks."""


def stored(row: tuple[Any, ...]) -> StoredGrain:
    """The grain of one row of `COLUMNS`."""
    seq, kind, created_at, hlc, dead, origin, digest, successor, body = row
    namespace, fields = unfold(body)
    return StoredGrain(
        digest.hex(),
        seq,
        TYPE_NAMES[kind],
        namespace,
        created_at,
        hlc,
        not dead,
        successor.hex() if successor else None,
        origin != 0,
        fields,
    )


def unfold(body: bytes) -> tuple[str, dict[str, Any]]:
    """Namespace and merged fields of a stored blob.

    The bytes were checked when they came in, so the plain case is read without the codec's checks; nested tables
    and name collisions go through `codec.decode`. `tests/store/test_rows.py` holds both to the same answer.
    """
    wire = msgpack.unpackb(body[_HEADER_BYTES:])
    if wire.keys().isdisjoint(_NESTED):
        fields = {LONG.get(key, key): value for key, value in wire.items() if key not in _FILED}
        if len(fields) == len(wire) - 2 - ("ns" in wire):
            return wire.get("ns", DEFAULT_NAMESPACE), fields
    grain = decode(body, strict=False)
    namespace = DEFAULT_NAMESPACE if grain.namespace is None else grain.namespace
    return namespace, {**grain.extras, **grain.fields}
