# SPDX-License-Identifier: Apache-2.0
"""Proposals as typed operations (D9): what an approved recommendation will do, as data.

The engine validates, classifies and inverts operations itself; text in a query language is only a rendering.
A proposal holds at most 40 operations and 8 KiB of canonical JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from deja_tui.engine.faults import LoopError
from deja_tui.engine.substrate import is_reserved

MAX_OPERATIONS: Final = 40
MAX_BYTES: Final = 8_192
_HEX: Final = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Add:
    """Write a new grain."""

    kind: ClassVar[str] = "add"
    destructive: ClassVar[bool] = False
    type: str
    namespace: str
    fields: Mapping[str, Any]

    def targets(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Supersede:
    """Write a new grain in place of a live one."""

    kind: ClassVar[str] = "supersede"
    destructive: ClassVar[bool] = False
    target: str
    type: str
    namespace: str
    fields: Mapping[str, Any]

    def targets(self) -> tuple[str, ...]:
        return (self.target,)


@dataclass(frozen=True, slots=True)
class Retire:
    """Take a live grain out of recall in favour of another live one that says the same."""

    kind: ClassVar[str] = "retire"
    destructive: ClassVar[bool] = False
    target: str
    by: str

    def targets(self) -> tuple[str, ...]:
        return (self.target, self.by)


@dataclass(frozen=True, slots=True)
class Forget:
    """Erase a grain, leaving a tombstone. Has no inverse."""

    kind: ClassVar[str] = "forget"
    destructive: ClassVar[bool] = True
    target: str

    def targets(self) -> tuple[str, ...]:
        return (self.target,)


Operation = Add | Supersede | Retire | Forget

# An added or superseding grain is knowledge of the caller's; the loop's own types and tool traffic are not proposed.
_ADDABLE: Final = frozenset(
    ("fact", "observation", "goal", "skill", "event", "state", "workflow", "reasoning")
)
# What a grain is and where it lies is said by the operation itself; a field of that name, long or as on the wire,
# could smuggle it into another namespace.
_STAMPED: Final = frozenset(
    ("type", "t", "namespace", "ns", "created_at", "ca", "derived_from", "df", "superseded_by", "sb")
)


def to_plain(operation: Operation) -> dict[str, Any]:
    """The canonical map that is stored in ``proposal_data.ops``."""
    match operation:
        case Add(type=type_, namespace=namespace, fields=fields):
            return {"op": "add", "type": type_, "namespace": namespace, "fields": dict(fields)}
        case Supersede(target=target, type=type_, namespace=namespace, fields=fields):
            plain = {"type": type_, "namespace": namespace, "fields": dict(fields)}
            return {"op": "supersede", "target": target, **plain}
        case Retire(target=target, by=by):
            return {"op": "retire", "target": target, "by": by}
        case Forget(target=target):
            return {"op": "forget", "target": target}
    raise LoopError("LOP-E012", "the proposal holds something that is no operation")


def from_plain(value: object) -> Operation:
    """Read one stored operation. Raises LOP-E012 on anything that `to_plain` does not write."""
    if not isinstance(value, Mapping):
        raise LoopError("LOP-E012", "an operation of the proposal is not a map")
    kind = value.get("op")
    if kind == "add" and _keys(value, "type", "namespace", "fields"):
        return Add(_text(value, "type"), _text(value, "namespace"), _fields(value))
    if kind == "supersede" and _keys(value, "target", "type", "namespace", "fields"):
        return Supersede(
            _address(value, "target"), _text(value, "type"), _text(value, "namespace"), _fields(value)
        )
    if kind == "retire" and _keys(value, "target", "by"):
        return Retire(_address(value, "target"), _address(value, "by"))
    if kind == "forget" and _keys(value, "target"):
        return Forget(_address(value, "target"))
    raise LoopError("LOP-E012", "the proposal holds an operation this version does not know")


def check(operations: Sequence[Operation]) -> None:
    """Refuse a proposal that is malformed (LOP-E012) or too large, writes what no proposal may, or changes one grain
    twice (LOP-E011)."""
    if len(operations) > MAX_OPERATIONS:
        raise LoopError(
            "LOP-E011", f"a proposal holds at most {MAX_OPERATIONS} operations, not {len(operations)}"
        )
    for operation in operations:
        from_plain(to_plain(operation))
    if size(operations) > MAX_BYTES:
        raise LoopError("LOP-E011", f"a proposal holds at most {MAX_BYTES} bytes of operations")
    written = [canonical(to_plain(operation)) for operation in operations if isinstance(operation, Add)]
    if len(set(written)) < len(written):
        raise LoopError("LOP-E011", "a proposal may write a grain only once")
    gone: set[str] = set()
    for operation in operations:
        if isinstance(operation, Add | Supersede) and not _writable(operation):
            raise LoopError("LOP-E011", "a proposal may not write this type or namespace")
        if isinstance(operation, Retire) and operation.target == operation.by:
            raise LoopError("LOP-E011", "a grain cannot be retired in favour of itself")
        if not isinstance(operation, Add):
            if operation.target in gone:
                raise LoopError("LOP-E011", "a proposal may change a grain only once")
            gone.add(operation.target)
    if any(isinstance(operation, Retire) and operation.by in gone for operation in operations):
        raise LoopError(
            "LOP-E011", "a grain cannot be retired in favour of one that the same proposal removes"
        )


def size(operations: Iterable[Operation]) -> int:
    """Bytes of the canonical JSON of the operations. Raises LOP-E011 when a field is no plain data."""
    return len(canonical([to_plain(operation) for operation in operations]))


def canonical(plain: object) -> bytes:
    """Canonical JSON of plain data. Raises LOP-E011 on anything JSON does not hold."""
    try:
        told = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as fault:
        raise LoopError("LOP-E011", "a part of the proposal is no plain data") from fault
    return told.encode("utf-8", "surrogatepass")


def _writable(operation: Add | Supersede) -> bool:
    return (
        operation.type in _ADDABLE
        and not is_reserved(operation.namespace)
        and _STAMPED.isdisjoint(operation.fields)
    )


def _keys(value: Mapping[str, Any], *names: str) -> bool:
    return set(value) == {"op", *names}


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value[name]
    if not isinstance(found, str) or not found:
        raise LoopError("LOP-E012", f"{name} of an operation is not a text")
    return found


def _address(value: Mapping[str, Any], name: str) -> str:
    found = _text(value, name)
    if len(found) != 64 or not _HEX.issuperset(found):
        raise LoopError("LOP-E012", f"{name} of an operation is not an address")
    return found


def _fields(value: Mapping[str, Any]) -> Mapping[str, Any]:
    found = value["fields"]
    if not isinstance(found, Mapping) or not all(isinstance(key, str) for key in found):
        raise LoopError("LOP-E012", "fields of an operation is not a map")
    return dict(found)
