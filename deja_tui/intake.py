# SPDX-License-Identifier: Apache-2.0
"""`Intake`: how a grain comes into a memory: made from what a caller gave, captured once, drained from the spool.

The library takes everything in through it, and a capture by a hook opens nothing else of the library: it imports neither the
engine nor the facade, and its records are named tuples, because a dataclass costs a process eight times as much to define (D47).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping

from deja_tui import namespaces, spool
from deja_tui.errors import DejaError, ValidationError
from deja_tui.items import CaptureItem
from deja_tui.record import Record
from deja_tui.store.codec import Grain
from deja_tui.store.fields import made, parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import Counter
    from typing import Any, Final, Protocol

    from deja_tui.store.acts import Acts
    from deja_tui.store.write import Act

    class Capturable(Protocol):
        """One grain from elsewhere, under a key that says where it is from (`items`)."""

        @property
        def type(self) -> str: ...
        @property
        def source_key(self) -> str: ...
        @property
        def fields(self) -> Mapping[str, Any]: ...
        def complete(self, stored: Mapping[str, Any]) -> Mapping[str, Any] | None: ...


CLOCK_VARIABLE: Final = "DEJA_LOOP_NOW_MS"
_LAST_MS: Final = 253_402_300_799_999
_ITEMS: Final = "from deja_tui.items import CaptureItem"


def host_clock() -> int:
    """Now in epoch ms UTC; the environment variable ``DEJA_LOOP_NOW_MS`` overrides it.

    Raises CLI-E002 when the variable is set to something that is not a number of milliseconds.
    """
    pinned = os.environ.get(CLOCK_VARIABLE)
    if pinned is None:
        return time.time_ns() // 1_000_000
    told = pinned.strip()
    if not told.isascii() or not told.isdigit() or len(told) > 15 or int(told) > _LAST_MS:
        raise DejaError(
            "CLI-E002", f"{CLOCK_VARIABLE} must be a whole number of epoch milliseconds before the year 10000"
        )
    return int(told)


class Captured(Record):
    """What became of captured items: stored anew, left as they were, completed by supersession, forgotten before.

    ``redacted``: how many secrets were taken out of them on the way; 0 where that was the reader's part.
    """

    _fields = ("added", "skipped", "completed", "forgotten", "redacted")
    __slots__ = _fields

    def __init__(self, added: int, skipped: int, completed: int, forgotten: int, redacted: int = 0) -> None:
        self.added = added
        self.skipped = skipped
        self.completed = completed
        self.forgotten = forgotten
        self.redacted = redacted


class Intake:
    """The way into one memory file.

    Attributes:
        namespace: where plain writes go.
        told: what a person should know of captures that wait; "" for nothing.
    """

    def __init__(self, store: Acts, namespace: str, clock: Callable[[], int]) -> None:
        self.namespace = namespace
        self.told = ""
        self._store = store
        self._clock = clock
        self._draining = False
        store.before_act = self.drain

    def grain(self, type: str, fields: object, namespace: str | None = None, *, tame: bool = False) -> Grain:
        """The grain of what a caller gave, in a namespace, else in the one among its fields, else in this memory's own.

        ``tame``: as in `fields.validate`. Raises VAL-E001, VAL-E002.
        """
        content = dict(checked_fields(fields))
        inside = content.pop("namespace", None)
        chosen = next((name for name in (namespace, inside) if name is not None), self.namespace)
        return self._made(type, content, namespaces.checked(chosen), (), tame)

    def successor(
        self, type: str, fields: Mapping[str, Any], namespace: str, settled: Collection[str]
    ) -> Grain:
        """The same for a grain that takes another's place: it stays in the namespace of that one, whatever it is.

        ``settled``: names of fields that are taken over as they are. Raises VAL-E001, VAL-E002.
        """
        content = dict(fields)
        content.pop("namespace", None)
        return self._made(type, content, namespace, settled)

    def _made(
        self,
        type: str,
        content: dict[str, Any],
        namespace: str,
        settled: Collection[str],
        tame: bool = False,
    ) -> Grain:
        given = content.pop("created_at", None)
        at = self._clock() if given is None else parse_time(given, "created_at")
        return made(type, content, namespace=namespace, created_at=at, settled=settled, tame=tame)

    # --- captures --------------------------------------------------------------------------------

    def take(
        self,
        items: Iterable[Capturable],
        namespace: str | None = None,
        *,
        tame: bool = False,
        redact: bool = False,
    ) -> Captured:
        """Store what is new of ``items``, in their order, in one transaction (D32, D33); see `Memory.capture`.

        ``tame``: as in `fields.validate`; of items that this process read, and not of those that lay in a file.
        ``redact``: take secrets out of them; a reader of this package did so already.
        """
        found: Counter[str] | None = None
        if redact:
            from collections import Counter

            found = Counter()
        counts = {"added": 0, "skipped": 0, "completed": 0, "forgotten": 0}
        if not isinstance(items, Iterable):
            raise ValidationError("VAL-E001", "a capture takes items, one after the other", _ITEMS)
        with self._store.act() as act:
            for number, item in enumerate(items, 1):
                try:
                    bare = _item(item) if found is None else _bare(_item(item), found)
                    counts[self._one(act, bare, namespace, tame)] += 1
                except ValidationError as fault:
                    told = f"item {number} of the capture: {fault.message}"
                    raise ValidationError(fault.code, told, fault.next_step) from fault
        return Captured(**counts, redacted=sum(found.values()) if found else 0)

    def _one(self, act: Act, item: Capturable, namespace: str | None, tame: bool) -> str:
        try:
            new = self.grain(item.type, item.fields, namespace, tame=tame)
            put = act.add(new, source_key=item.source_key)
            if put.new:
                return "added"
            head = act.head_of(put.address)
        except DejaError as fault:
            if fault.code not in ("MEM-E003", "MEM-E001"):  # the grain, or what took its place
                raise
            return "forgotten"
        more = item.complete(head.fields) if head.live else None
        if more is None:
            return "skipped"
        act.supersede(head.address, self.grain(item.type, more, namespace), source_key=item.source_key)
        return "completed"

    # --- what waits in the spool -----------------------------------------------------------------

    def drain(self) -> None:
        """Before an act: what captures could not write goes in first (SPOOL-2). Whether the file can be written, the act says."""
        if self._draining or not (names := spool.waiting(self._store.path)):
            return
        self._draining = True
        try:
            for name in names:
                self._take_in(name)
        except DejaError as fault:
            if fault.code == "STO-E004":  # the act would wait as long once more, and hear the same
                raise
            self.told = f"captures wait in {spool.folder_of(self._store.path)}: {fault.message}"
        finally:
            self._draining = False

    def _take_in(self, name: str) -> None:
        """One spool file in one act."""
        path = self._store.path
        try:
            namespace, cursor, rows = spool.read(path, name)
        except FileNotFoundError:  # another process was first
            return
        except (OSError, ValueError):
            self.told = f"a capture that waits cannot be read: {spool.folder_of(path)}"
            return
        items = [
            CaptureItem(kind, key, fields)  # type: ignore[arg-type]  # what is no kind of grain, the act refuses
            for kind, key, fields in rows
        ]
        try:
            with self._store.act() as act:
                self.take(items, namespace)
                if cursor is not None:
                    act.set_setting(*cursor)
        except DejaError as fault:
            if fault.code.startswith("STO-"):
                raise
            self.told = f"a capture that waits was refused ({fault.code}): {name}"
            return
        spool.done(path, name)


def checked_fields(fields: object) -> Mapping[str, Any]:
    """Fields as a caller gave them. Raises VAL-E001 when they are no map."""
    if not isinstance(fields, Mapping):
        raise ValidationError("VAL-E001", "fields is not a map of names to values")
    return fields


def _bare(item: Capturable, found: Counter[str]) -> Capturable:
    """``item`` without secrets, its key included."""
    from deja_tui.redact import ident

    key = ident(item.source_key, found)
    fields = _masked(item.fields, key, found)
    if isinstance(item, CaptureItem):
        return CaptureItem(item.type, key, fields, item.at_known)
    return _Bare(item, key, fields, found)


def _masked(given: Mapping[str, Any], key: str, found: Counter[str]) -> Mapping[str, Any]:
    from deja_tui.redact import redact_into

    fields: dict[str, Any] = redact_into(dict(checked_fields(given)), found)
    context = fields.get("context")
    if isinstance(context, dict) and "source_key" in context:
        context["source_key"] = key  # they are one (D32)
    return fields


class _Bare:
    """A caller's own kind of item, without secrets."""

    def __init__(self, item: Capturable, key: str, fields: Mapping[str, Any], found: Counter[str]) -> None:
        self.type = item.type
        self.source_key = key
        self.fields = fields
        self._item = item
        self._found = found

    def complete(self, stored: Mapping[str, Any]) -> Mapping[str, Any] | None:
        more = self._item.complete(stored)
        return None if more is None else _masked(more, self.source_key, self._found)


def _item(item: Any) -> Capturable:
    """``item`` when it has what an item has. Raises VAL-E001."""
    for name in ("type", "source_key", "fields", "complete"):
        if not hasattr(item, name):
            raise ValidationError("VAL-E001", f"it has no {name}", _ITEMS)
    if not isinstance(item.source_key, str):
        raise ValidationError("VAL-E001", "its source key is no text", _ITEMS)
    found: Capturable = item
    return found
