# SPDX-License-Identifier: Apache-2.0
"""What the tables keep of a grain beside its bytes: pure, derived, rebuildable from the bytes alone (D1).

A key is a 64-bit hash of folded text. It nominates rows; the decoded text decides (D11).
"""

from __future__ import annotations

from collections.abc import Mapping

import xxhash

from deja_tui.digests import sha256
from deja_tui.record import Record
from deja_tui.store.codec import Grain
from deja_tui.store.names import is_reserved as is_reserved
from deja_tui.text import error_signature, fold, nfc, strip_terminal_codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

DEFAULT_NAMESPACE: Final = "shared"
_ERROR_TEXT_FIELDS: Final = ("tool_content", "content", "result", "error", "body")
_HEX: Final = frozenset("0123456789abcdef")
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1


def is_address(text: object) -> bool:
    """Whether ``text`` is 64 lower-case hex digits."""
    return isinstance(text, str) and len(text) == 64 and _HEX.issuperset(text)


def key_of(text: str) -> int:
    """The signed 64-bit key of ``text``."""
    return _signed(xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass")))


def link_key(address: str) -> int:
    """The signed 64-bit key under which children of ``address`` are indexed: its first 8 bytes."""
    return _signed(int(address[:16], 16))


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


class Keys(Record):
    """The index columns of one grain, texts not yet turned into term ids.

    Attributes:
        subject: folded, of a grain of any type whose subject is text.
        relation: folded; it and object_key only for a fact that has all three as text.
        tool: the name of a call whose outcome is known, else None; signature: of a failed one.
        thread: the session it belongs to.
        valid_to: epoch ms.
        parents: link keys of ``derived_from`` and ``context.merge_parents``.
        source: the source key its context carries (D32).
    """

    _fields = (
        "subject",
        "relation",
        "object_key",
        "tool",
        "signature",
        "thread",
        "valid_to",
        "parents",
        "source",
    )
    __slots__ = _fields

    def __init__(
        self,
        subject: str | None,
        relation: str | None,
        object_key: int | None,
        tool: str | None,
        signature: str | None,
        thread: str | None,
        valid_to: int | None,
        parents: tuple[int, ...],
        source: str | None,
    ) -> None:
        self.subject = subject
        self.relation = relation
        self.object_key = object_key
        self.tool = tool
        self.signature = signature
        self.thread = thread
        self.valid_to = valid_to
        self.parents = parents
        self.source = source


def namespace_of(grain: Grain) -> str:
    """The namespace a grain is filed under."""
    return DEFAULT_NAMESPACE if grain.namespace is None else grain.namespace


def keys_of(grain: Grain) -> Keys:
    """The index columns of ``grain``."""
    fields = grain.fields
    subject, relation, key = _triple(grain)
    tool, signature = _call(grain) if grain.type == "tool" else (None, None)
    thread = grain.get("session_id")
    until = fields.get("valid_to")
    context = fields.get("context")
    return Keys(
        subject,
        relation,
        key,
        tool,
        signature,
        nfc(thread) if isinstance(thread, str) and thread else None,
        until if type(until) is int and _INT_MIN <= until <= _INT_MAX else None,
        tuple({link_key(parent): None for parent in parents_of(fields)}),
        source_of(context),
    )


def _triple(grain: Grain) -> tuple[str | None, str | None, int | None]:
    subject = grain.get("subject")
    if not isinstance(subject, str):
        return None, None, None
    if grain.type == "fact":
        relation, obj = grain.fields.get("relation"), grain.fields.get("object")
        if isinstance(relation, str) and isinstance(obj, str):
            return fold(subject), fold(relation), key_of(fold(obj))
    return fold(subject), None, None


def has_outcome(grain: Grain) -> bool:
    """Whether the grain says how a call of a known tool ended.

    One without a result, one whose call is missing and one that a person declined count neither way.
    """
    told = grain.get("status") != "pending" and grain.get("call_missing") is not True
    return told and grain.get("failure_cause") != "user_aborted"


def is_failure(grain: Grain) -> bool:
    """Whether ``grain`` is a tool call that ended in an error."""
    return grain.type == "tool" and grain.get("is_error") is True and has_outcome(grain)


def _call(grain: Grain) -> tuple[str | None, str | None]:
    name = strip_terminal_codes(str(grain.get("tool_name") or grain.get("name") or "")).strip()
    if not name or not has_outcome(grain):
        return None, None
    if not is_failure(grain):
        return name, None
    told = next((grain.get(field) for field in _ERROR_TEXT_FIELDS if grain.get(field) is not None), "")
    return name, error_signature(told)


def parents_of(fields: Mapping[str, Any]) -> list[str]:
    """Addresses in ``derived_from`` and ``context.merge_parents``, in order; what is no address is left out."""
    found = _list(fields.get("derived_from")) + _merged(fields)
    return [parent for parent in found if is_address(parent)]


def superseded_of(type_: str, fields: Mapping[str, Any]) -> list[str]:
    """What a grain that the log calls a superseding one takes the place of: its first parent and its merge parents.

    The parents of a recommendation are its evidence; the one it refreshes stands in its proposal (docs/format.md).
    """
    if type_ == "recommendation":
        proposal = fields.get("proposal_data")
        found: list[Any] = [proposal.get("refreshes")] if isinstance(proposal, Mapping) else []
    else:
        found = _list(fields.get("derived_from"))[:1] + _merged(fields)
    return list(dict.fromkeys(parent for parent in found if is_address(parent)))


def _merged(fields: Mapping[str, Any]) -> list[Any]:
    # a state's own context is its snapshot; what is common to all types lies in its common_context
    found: list[Any] = []
    for name in ("context", "common_context"):
        context = fields.get(name)
        if context and isinstance(context, (dict, Mapping)):
            found += _list(context.get("merge_parents"))
    return found


def _list(value: object) -> list[Any]:
    return [value] if isinstance(value, str) else value if isinstance(value, list) else []


def source_of(context: object) -> str | None:
    """The source key in a grain's context, or None."""
    key = context.get("source_key") if context and isinstance(context, (dict, Mapping)) else None
    return key if isinstance(key, str) and key else None


def source_digest(source: str) -> bytes:
    """What a tombstone keeps of a source key: enough to refuse it, not to read it."""
    return sha256(b"source\0" + source.encode("utf-8", "surrogatepass")).digest()
