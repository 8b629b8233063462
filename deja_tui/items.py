# SPDX-License-Identifier: Apache-2.0
"""What a reader of a foreign format hands to the memory: one item for each grain, under a key that says where it is from.

Numbered rules, cited by tests:

* ITEM-1  Identity is the source key (D32), never the bytes: reading a source again, redacting it better or dating it
  differently adds nothing. The key is in ``fields["context"]["source_key"]`` as well.
* ITEM-2  A tool call is known by its provider's call id across files. A grain may hold one *half* of a call: the call
  without result (``status`` pending, no ``is_error``, so it counts in no failure rate), or the result of a call that
  is not in the source (`UNKNOWN_TOOL`, ``call_missing``: whose failure it is nobody knows, so it counts in none). The
  item with the other half completes it.
* ITEM-3  A reply that a program writes piece by piece is one event. When the source grew, its item has more pieces
  than the stored event and completes it.
* ITEM-5  A record that its source can change (a fact, an observation) carries ``context.revision`` (a whole number that
  rises, epoch ms of the change where the source has it, else 0) and ``context.said``, a digest of what it says. A
  later revision, or without revisions another digest, takes the place of the stored one; where the head is no longer
  what the source said, because it was changed here, it stays.
* ITEM-4  Completing is superseding. The writer looks the key up, goes to the live head of that grain's chain and asks
  `CaptureItem.complete`: None means skip, fields mean a new grain in the head's place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deja_tui.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, Literal, Protocol

    ItemType = Literal["event", "tool", "fact", "observation"]
else:
    ItemType = str

UNKNOWN_TOOL: Final = "(call not in file)"
PENDING: Final = "pending"
CHUNK: Final = 2_000

_CALL: Final = ("tool_name", "input", "session_id", "agent_id")
_RESULT: Final = ("tool_content", "is_error", "failure_cause", "created_at")


class CaptureItem(Record):
    """One grain to store.

    Args:
        type: the kind of grain.
        source_key: where it came from (ITEM-1).
        fields: long names, ``created_at`` (epoch ms UTC) and ``context`` among them; well-formed NFC text, redacted.
        at_known: False when the source had no usable time and ``created_at`` is that of a neighbour; what was found
            is in ``context["clock"]`` then.
    """

    _fields = ("type", "source_key", "fields", "at_known")
    __slots__ = _fields

    def __init__(
        self, type: ItemType, source_key: str, fields: Mapping[str, Any], at_known: bool = True
    ) -> None:
        self.type = type
        self.source_key = source_key
        self.fields = fields
        self.at_known = at_known

    def complete(self, stored: Mapping[str, Any]) -> dict[str, Any] | None:
        """The fields of the grain that takes the place of the stored one, or None when it says all already.

        Args:
            stored: the long-named fields of the live head that is filed under this item's key.
        """
        if self.type in ("fact", "observation"):
            return dict(self.fields) if _revised(stored, self.fields) else None
        if self.type == "event":
            return dict(self.fields) if _grew(stored, self.fields) else None
        return _joined(stored, self.fields)


def _revised(stored: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    before, after = _context(stored), _context(now)
    if before.get("source_key") != after.get("source_key") or before.get("said") == after.get("said"):
        return False
    old, new = before.get("revision") or 0, after.get("revision") or 0
    return bool(new > old or (new == old == 0))


def _context(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    context = fields.get("context")
    return context if isinstance(context, Mapping) else {}


def _grew(stored: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    before, after = _pieces(stored), _pieces(now)
    return len(after) > len(before) and after[: len(before)] == before


def _pieces(fields: Mapping[str, Any]) -> list[Any]:
    pieces = _context(fields).get("pieces")
    return pieces if isinstance(pieces, list) else []


def _joined(stored: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any] | None:
    call_stored, result_stored = _has_call(stored), _has_result(stored)
    adds_call = _has_call(now) and not call_stored
    adds_result = _has_result(now) and not result_stored
    if not adds_call and not adds_result:
        return None
    call, result = (stored if call_stored else now), (stored if result_stored else now)
    fields = dict(now)
    for name in ("status", "call_missing"):
        fields.pop(name, None)
    for source, names in ((call, _CALL), (result, _RESULT)):
        fields.update((name, source[name]) for name in names if name in source)
    if not _has_result(result):
        fields["status"] = PENDING
    return fields


def _has_call(fields: Mapping[str, Any]) -> bool:
    return fields.get("tool_name") != UNKNOWN_TOOL


def _has_result(fields: Mapping[str, Any]) -> bool:
    return fields.get("status") != PENDING


# What only a checker reads is no class of the running program: to define one costs a hook more than to store a grain (D47).
if TYPE_CHECKING:

    class CaptureResult(Protocol):
        """What a memory did with items: stored anew, left as they were, superseded by their other half, refused because
        they were forgotten there (D31).
        """

        @property
        def added(self) -> int: ...
        @property
        def skipped(self) -> int: ...
        @property
        def completed(self) -> int: ...
        @property
        def forgotten(self) -> int: ...

    class CaptureSink(Protocol):
        """The one method an importer needs of a memory."""

        def capture(self, items: Iterable[CaptureItem]) -> CaptureResult:
            """Store what is new of at most `CHUNK` items, in their order, in one transaction (ITEM-1 to ITEM-4)."""
            ...

else:
    CaptureResult = CaptureSink = object
