# SPDX-License-Identifier: Apache-2.0
"""What an erasure has to look for: grains that hold a text, and addresses that were forgotten here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import apsw

from deja_tui.store import search
from deja_tui.store.codec import TYPES
from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import is_address
from deja_tui.store.projection import pieces, text_of
from deja_tui.store.sql import counter, rows
from deja_tui.store.terms import find_space
from deja_tui.text import door

_SHOWN: Final = 20


def holding(db: apsw.Connection, text: str, *, reserved: bool) -> list[str]:
    """Addresses of the grains, live or not, whose bytes hold ``text`` anywhere, in arrival order.

    Strings stand in a grain as they are, in UTF-8 and NFC, so this misses none; it may find a text inside a longer one.

    Args:
        reserved: look in the engine's namespaces, and only there; else only in the others.
    """
    sql = (
        "SELECT g.hash FROM grain g JOIN space n ON n.id = g.ns WHERE n.reserved = ? AND instr(g.body, ?) > 0"
        " ORDER BY g.id"
    )
    return [
        digest.hex() for (digest,) in rows(db, sql, (int(reserved), text.encode("utf-8", "surrogatepass")))
    ]


def lost(db: apsw.Connection, asked: Collection[str], erased: Iterable[StoredGrain]) -> set[str]:
    """Those of the pieces ``asked`` (texts without blanks) with a word of an ``erased`` grain that no grain has any more.

    Words are those that a search compares: without case and accents, also a part of what is written without blanks.
    """
    cut = search.tokenizer(db)
    gone = {word for grain in erased for text in _texts(grain) for word in cut(text)}
    suspect = {piece: found for piece in asked if (found := _shared(piece, gone, cut))}
    free = search.unheld(db, set().union(*suspect.values()))
    return {piece for piece, found in suspect.items() if not free.isdisjoint(found)}


def _shared(piece: str, gone: set[str], cut: search.Tokenizer) -> set[str]:
    """What of a piece may be a trace: its words that are gone, and all of it when it is made of such words."""
    found: set[str] = set()
    for part, prefix in pieces(door(piece)):
        words = cut(part)
        begun = [word for word in gone if prefix and words and word.startswith(words[-1])]
        found.update(gone.intersection(words), begun)
        if words and all(word in gone for word in words[: len(words) - bool(begun)]):
            found.add(piece)
    return found


def _texts(grain: StoredGrain) -> Iterator[str]:
    yield text_of(grain.type, grain.namespace, grain.fields)
    yield from strings(grain.fields)


def strings(value: Any) -> Iterator[str]:
    """Every text in a field, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def emptied(db: apsw.Connection, namespaces: Collection[str]) -> set[str]:
    """Those of ``namespaces`` that hold no grain, live or not."""
    spaces = {name: find_space(db, name) for name in namespaces}
    return {name for name, space in spaces.items() if space is None or counter(db, f"held:{space}") == 0}


def blobs(db: apsw.Connection, type_: str) -> list[tuple[str, bytes]]:
    """Address and bytes of every grain of a type, wherever it is filed, live or not."""
    sql = "SELECT hash, body FROM grain INDEXED BY g_type WHERE type = ?"
    return [(digest.hex(), body) for digest, body in rows(db, sql, (TYPES[type_],))]


def forgotten(db: apsw.Connection, prefix: str) -> list[str]:
    """At most 20 addresses that were forgotten here and start with ``prefix``, sorted."""
    low = prefix.lower()
    if not low or len(low) > 64 or not is_address(low.ljust(64, "0")):
        return []
    span = bytes.fromhex(low.ljust(64, "0")), bytes.fromhex(low.ljust(64, "f"))
    sql = f"SELECT hash FROM tombstone WHERE hash BETWEEN ? AND ? ORDER BY hash LIMIT {_SHOWN}"
    return [digest.hex() for (digest,) in rows(db, sql, span)]
