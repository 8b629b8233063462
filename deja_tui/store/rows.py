# SPDX-License-Identifier: Apache-2.0
"""Rows of the table ``grain`` as `grains.StoredGrain`: from bytes to what callers are shown.

* INV-ROWS-1  The short ways from bytes to fields give what the codec gives.
* INV-ROWS-2  A row that cannot be shown is STO-E009, whatever stands in it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgpack  # type: ignore[import-untyped]

from deja_tui.errors import DejaError
from deja_tui.store.codec import TYPES, decode
from deja_tui.store.faults import StoreError
from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import DEFAULT_NAMESPACE
from deja_tui.store.names import CONTENT_REF_SHORT, EMBEDDING_REF_SHORT, INT_LONG, LONG

TYPE_NAMES: Final = {number: name for name, number in TYPES.items()}
_HEADER_BYTES: Final = 9
# Keys whose values the codec turns back as well; a payload without them only needs its names expanded.
_NESTED: Final = frozenset(("cctx", "edges", "rt", "tdh", "cr", "er"))
# Items of these stay short in what the codec reads, as in the reference product; whoever gave long names gets them back.
_REFS: Final[Mapping[str, Mapping[str, str]]] = {
    name: {short: long for long, short in table.items()}
    for name, table in (("content_refs", CONTENT_REF_SHORT), ("embedding_refs", EMBEDDING_REF_SHORT))
}
_RENAMED: Final = frozenset((*INT_LONG, *INT_LONG.values()))
"""A context without these reads as it was written."""
_FACT: Final = frozenset(("c", "ca", "ns", "o", "r", "s", "t"))
_NEXT_FACT: Final = _FACT | {"df"}
"""What nearly every fact has, and one in a chain; spelt out, they cost a third less than by the table (measured)."""
_unpack: Final = msgpack.unpackb
_BROKEN: Final = (
    ValueError,
    TypeError,
    AttributeError,
    KeyError,
    OverflowError,
    RecursionError,
    msgpack.UnpackException,
)


_SUCCESSOR: Final = (
    "CASE g.dead WHEN 0 THEN NULL ELSE (SELECT coalesce((SELECT b.hash FROM grain b WHERE b.id = m.by),"
    " (SELECT t.hash FROM tombstone t WHERE t.gid = m.by))"
    " FROM mark m WHERE m.gid = g.id ORDER BY m.seq DESC LIMIT 1) END"
)
COLUMNS: Final = f"g.id, g.type, g.at, g.hlc, g.dead, g.origin, g.hash, {_SUCCESSOR}, g.body"
"""What `stored` takes, from a table aliased ``g``. Only a grain that is not live pays for the look at its marks."""
LIVE_COLUMNS: Final = "g.id, g.type, g.at, g.hlc, 0, g.origin, g.hash, NULL, g.body"
"""The same where the statement already asks for ``dead = 0``."""


class _Names(dict[str, str]):
    """Wire key to long name; a key that stands in no table is its own name."""

    def __missing__(self, key: str) -> str:
        return key


_LONG: Final = _Names(LONG)


# A frozen dataclass assigns through `object.__setattr__`, which is half of the time a recall spends on it; the slots
# themselves take the same values at half of that (measured: 1.1 against 0.6 µs a grain).
_new: Final = object.__new__
(
    _set_address,
    _set_seq,
    _set_type,
    _set_namespace,
    _set_created_at,
    _set_hlc,
    _set_live,
    _set_superseded_by,
    _set_imported,
    _set_fields,
) = (getattr(StoredGrain, field.name).__set__ for field in dataclasses.fields(StoredGrain))


def stored(row: tuple[Any, ...]) -> StoredGrain:
    """The grain of one row of `COLUMNS` or `LIVE_COLUMNS`."""
    seq, kind, created_at, hlc, dead, origin, digest, successor, body = row
    try:
        namespace, fields = unfold(body)
        name, address = TYPE_NAMES[kind], digest.hex()
    except (DejaError, *_BROKEN) as error:  # `verify` says which column holds what it should not
        raise damaged(digest) from error
    grain = _new(StoredGrain)
    _set_address(grain, address)
    _set_seq(grain, seq)
    _set_type(grain, name)
    _set_namespace(grain, namespace)
    _set_created_at(grain, created_at)
    _set_hlc(grain, hlc)
    _set_live(grain, not dead)
    _set_superseded_by(grain, successor.hex() if successor else None)
    _set_imported(grain, origin != 0)
    _set_fields(grain, fields)
    return grain


def readable(found: Iterable[tuple[Any, ...]]) -> list[StoredGrain]:
    """The grains of rows, without those whose bytes cannot be read: one of them stops no scan, `verify` names it."""
    grains = []
    for row in found:
        try:
            grains.append(stored(row))
        except StoreError as fault:
            if fault.code != "STO-E009":
                raise
    return grains


def damaged(digest: object) -> StoreError:
    """What is raised instead of a grain whose bytes cannot be read any more."""
    name = digest.hex()[:12] if isinstance(digest, bytes) else "without an address"
    return StoreError(
        "STO-E009",
        f"the grain {name} is damaged",
        "Run `deja verify` to see what else is; forget the grain, or restore the file.",
    )


def unfold(body: bytes) -> tuple[str, dict[str, Any]]:
    """Namespace and merged fields of a stored blob.

    The bytes were checked when they came in, so the plain case is read without the codec's checks; nested tables
    and name collisions go through `codec.decode`. `tests/store/test_rows.py` holds both to the same answer.

    Raises:
        DejaError: FMT-E001 or FMT-E002, the bytes are damaged.
    """
    try:
        wire = _unpack(body[_HEADER_BYTES:])
        keys = wire.keys()
        if keys == _FACT:
            return wire["ns"], {
                "confidence": wire["c"],
                "object": wire["o"],
                "relation": wire["r"],
                "subject": wire["s"],
            }
        if keys == _NEXT_FACT:
            return wire["ns"], {
                "confidence": wire["c"],
                "derived_from": wire["df"],
                "object": wire["o"],
                "relation": wire["r"],
                "subject": wire["s"],
            }
        context = wire.get("ctx")
        if _NESTED.isdisjoint(wire) and (context is None or _RENAMED.isdisjoint(context)):
            fields = {_LONG[key]: value for key, value in wire.items()}
            if len(fields) == len(wire):
                del fields["type"], fields["created_at"]
                return fields.pop("namespace", DEFAULT_NAMESPACE), fields
    except _BROKEN:
        pass  # the codec says what is wrong with it
    grain = decode(body, strict=False)
    namespace = DEFAULT_NAMESPACE if grain.namespace is None else grain.namespace
    return namespace, with_long_refs({**grain.extras, **grain.fields})


def with_long_refs(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields, with the keys of content and embedding references as they are given, not as they are written."""
    for name, table in _REFS.items():
        items = fields.get(name)
        if isinstance(items, list):
            fields[name] = [_renamed(item, table) if isinstance(item, dict) else item for item in items]
    return fields


def _renamed(item: dict[str, Any], table: Mapping[str, str]) -> dict[str, Any]:
    return {long if (long := table.get(key, key)) not in item else key: value for key, value in item.items()}
