# SPDX-License-Identifier: Apache-2.0
"""What `Memory.context` answers, read with as few imports as the bar of a hook allows (D47, D53).

The same selection and the same lines as `contexts`; a test holds both to the same text. Nothing is decoded that a line does not
show, nothing is written. A file that needs more care (damaged, another version, a fixed image, filters) is left to `Memory`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import apsw
import msgpack  # type: ignore[import-untyped]

from deja_tui.context_lines import DOCUMENT, DRAFTS, LESSONS, LOOKED_AT, TARGET, Lines
from deja_tui.store import layout, ranking
from deja_tui.store.names import LONG, TYPE_OF, is_reserved
from deja_tui.store.projection import text_of
from deja_tui.store.sql import listed, rows, scalar

_HEADER_BYTES: Final = 9
_SHARED: Final = "shared"
_NESTED: Final = frozenset(("cctx", "edges", "rt", "tdh", "cr", "er"))
_BUSY_MS: Final = 200
_APPLIED: Final = (
    "SELECT address FROM ledger WHERE status = 'applied' AND replaced_by IS NULL AND is_foreign = 0"
    " AND (substr(target_ref, 1, ?) = ? OR substr(analyzer, 1, ?) = ?) ORDER BY decided_at DESC, address LIMIT ?"
)
_CHILDREN: Final = (
    "SELECT g.type, g.hash, g.body FROM link l CROSS JOIN grain g ON g.id = l.child"
    " WHERE l.p = ? AND g.dead = 0 AND g.ns = ? ORDER BY l.child DESC"
)
_LIVE: Final = "SELECT g.type, g.hash, g.body FROM json_each(?) j CROSS JOIN grain g ON g.id = j.value WHERE g.dead = 0 AND g.ns = ?"
_PENDING: Final = (
    "SELECT address, severity, analyzer, target_ref FROM ledger WHERE status = 'pending' AND replaced_by IS NULL"
    " AND is_foreign = 0 ORDER BY rank DESC, since, identity, address"
)


class NotHere(Exception):
    """This file is for `Memory` to read."""


class Found:
    """A grain as far as a line shows it."""

    __slots__ = ("address", "fields", "type")

    def __init__(self, kind: int, digest: bytes, body: bytes) -> None:
        self.type = TYPE_OF[kind]
        self.address = digest.hex()
        self.fields = unfolded(body)[1]

    def get(self, name: str, default: Any = None) -> Any:
        """A field by its long name."""
        return self.fields.get(name, default)


def unfolded(body: bytes) -> tuple[str, dict[str, Any]]:
    """Namespace and fields of a stored blob. Raises NotHere where names could collide, which the codec settles."""
    try:
        wire = msgpack.unpackb(body[_HEADER_BYTES:])
        fields = {LONG.get(key, key): value for key, value in wire.items()}
    except (ValueError, TypeError, AttributeError, msgpack.UnpackException) as error:
        raise NotHere from error
    if len(fields) != len(wire) or not _NESTED.isdisjoint(wire):
        raise NotHere
    return fields.pop("namespace", _SHARED), fields


class _Namespace:
    """`ranking.Shown` for one namespace."""

    __slots__ = ("where",)
    values: Mapping[str, Any] = {}
    filtered = False

    def __init__(self, space: int) -> None:
        self.where = f"ns IN ({space})"


class Prompt:
    """A memory opened for one prompt. Raises NotHere."""

    def __init__(self, path: str, namespace: str | None) -> None:
        self.db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        self.db.set_busy_timeout(_BUSY_MS)
        self.db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        self.db.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
        self.db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        self.db.pragma("cell_size_check", "on")
        if self.db.pragma("application_id") != layout.APPLICATION_ID:
            raise NotHere
        if self.db.pragma("user_version") != layout.VERSION:
            raise NotHere
        self.db.execute("BEGIN")
        self.namespace = namespace or self._declared()
        if is_reserved(self.namespace):
            raise NotHere
        self.space = int(scalar(self.db, "SELECT id FROM space WHERE name = ?", (self.namespace,)) or 0)
        self.ledger = bool(scalar(self.db, "SELECT 1 FROM sqlite_schema WHERE name = 'ledger'"))

    def _declared(self) -> str:
        if scalar(self.db, "SELECT 1 FROM setting WHERE key = 'file.namespace'"):
            raise NotHere  # what may be declared, `declared` knows
        return _SHARED

    def first(self) -> str | None:
        """The address that came first, by which the sidecar knows this memory; None when the file is empty."""
        sql = "SELECT g.hash FROM op o JOIN grain g ON g.id = o.gid WHERE o.seq = 1"
        found = scalar(self.db, sql)
        return found.hex() if isinstance(found, bytes) else None

    def lessons(self) -> list[Found]:
        """As `contexts.newest_lessons`."""
        found: dict[str, Found] = {}
        if not self.ledger or not self.space:
            return []
        values = (len(TARGET), TARGET, len(DRAFTS), DRAFTS, LOOKED_AT)
        for (address,) in rows(self.db, _APPLIED, values):
            for grain in self._children(address):
                if grain.get("relation") != DOCUMENT:
                    found.setdefault(grain.address, grain)
                if len(found) == LESSONS:
                    return list(found.values())
        return list(found.values())

    def _children(self, address: bytes) -> Iterator[Found]:
        key = int.from_bytes(address[:8], "big", signed=True)
        for row in rows(self.db, _CHILDREN, (key, self.space)):
            grain = Found(*row)
            named = grain.get("derived_from")
            if address.hex() in (named if isinstance(named, list) else [named]):
                yield grain

    def hits(self, text: str, k: int) -> list[Found]:
        """As `Memory.search`."""
        cut = ranking.tokenizer(self.db)
        asked = ranking.units(text, cut)
        if not asked or not self.space:
            return []
        indexed, last = ranking.positions(self.db)
        waiting = rows(self.db, "SELECT id, type, body FROM grain WHERE id > ? ORDER BY id", (indexed,))
        tail = {gid: cut(_words(kind, body)) for gid, kind, body in waiting} if last > indexed else {}

        def live(best: list[tuple[float, int]]) -> list[Found]:
            found: list[Found] = []
            for start in range(0, len(best), k):
                page = listed(gid for _, gid in best[start : start + k])
                found.extend(Found(*row) for row in rows(self.db, _LIVE, (page, self.space)))
                if len(found) >= k:
                    break
            return found[:k]

        return ranking.best(self.db, asked, tail, (indexed, last), _Namespace(self.space), k, live)

    def pending(self) -> list[tuple[str, str, str, str]]:
        """(address, severity, analyzer, target) of what waits for review, in queue order."""
        if not self.ledger:
            return []
        return [(address.hex(), *told) for address, *told in rows(self.db, _PENDING)]


def _words(kind: int, body: bytes) -> str:
    namespace, fields = unfolded(body)
    return text_of(TYPE_OF.get(kind, ""), namespace, fields)


class Context:
    """What was put together: text, and the addresses in their order."""

    __slots__ = ("hits", "left_out", "lessons", "text")

    def __init__(self, lessons: Lines[Found], hits: Lines[Found]) -> None:
        self.text = "".join((*lessons.lines, *hits.lines))
        self.lessons = [grain.address for grain in lessons.grains]
        self.hits = [grain.address for grain in hits.grains]
        self.left_out = lessons.left_out + hits.left_out


def context(prompt: Prompt, text: str, *, budget: int, k: int) -> Context:
    """As `Memory.context`, of which this is the quick way."""
    lessons: Lines[Found] = Lines(budget // 3)
    lessons.take(prompt.lessons())
    hits: Lines[Found] = Lines(budget - lessons.tokens)
    if text.strip() and k > 0:
        given = {grain.address for grain in lessons.grains}
        found = prompt.hits(text, k + len(given))
        hits.take([grain for grain in found if grain.address not in given][:k])
    return Context(lessons, hits)
