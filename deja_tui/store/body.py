# SPDX-License-Identifier: Apache-2.0
"""From the bytes of a stored grain to its fields, and no further: what a writer needs of `rows`.

It stands apart because a capture by a hook reads some bytes and shows no grain (D47): `rows` makes `grains.StoredGrain`, whose
class alone costs such a process what thirty of its grains do.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgpack  # type: ignore[import-untyped]

from deja_tui.store.codec import TYPES, decode
from deja_tui.store.keys import DEFAULT_NAMESPACE
from deja_tui.store.names import CONTENT_REF_SHORT, EMBEDDING_REF_SHORT, INT_LONG, LONG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

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
BROKEN: Final = (
    ValueError,
    TypeError,
    AttributeError,
    KeyError,
    OverflowError,
    RecursionError,
    msgpack.UnpackException,
)


SUCCESSOR: Final = (
    "CASE g.dead WHEN 0 THEN NULL ELSE (SELECT coalesce((SELECT b.hash FROM grain b WHERE b.id = m.by),"
    " (SELECT t.hash FROM tombstone t WHERE t.gid = m.by))"
    " FROM mark m WHERE m.gid = g.id ORDER BY m.seq DESC LIMIT 1) END"
)
"""The address of what took the place of ``g``, as SQL; NULL for a live grain, which pays for no look at its marks."""


class _Names(dict[str, str]):
    """Wire key to long name; a key that stands in no table is its own name."""

    def __missing__(self, key: str) -> str:
        return key


_LONG: Final = _Names(LONG)


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
    except BROKEN:
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
