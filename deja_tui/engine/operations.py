# SPDX-License-Identifier: Apache-2.0
"""Proposals as typed operations (D9): what an approved recommendation will do, as data.

The engine validates, classifies and inverts operations itself; text in a query language is only a rendering.
A proposal holds at most 40 operations and 8 KiB of canonical JSON. It may list alternatives, of which a reviewer
chooses one (D20); a finding that proposes no change may carry data instead.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from deja_tui.engine.faults import LoopError
from deja_tui.engine.substrate import is_reserved
from deja_tui.text import door

MAX_OPERATIONS: Final = 40
MAX_FORGETS: Final = 20  # a reviewer pages through every one of them (D19)
MAX_BYTES: Final = 8_192  # of operations, all alternatives together
MAX_ALTERNATIVES: Final = 8
MAX_LABEL: Final = 120
MAX_DATA: Final = 4_096
QUERY_SCHEMES: Final = ("query", "template")
_HEX: Final = frozenset("0123456789abcdef")


class _Plain:
    """What most operations are: they can be undone, erase nothing, name no grain and take none out of recall."""

    __slots__ = ()

    destructive: ClassVar[bool] = False
    undoable: ClassVar[bool] = True

    def targets(self) -> tuple[str, ...]:
        """Addresses of all grains the operation names; every one must still be live when it is carried out."""
        return ()

    def removes(self) -> tuple[str, ...]:
        """Those of the targets that are out of recall afterwards."""
        return self.targets()


@dataclass(frozen=True, slots=True)
class Add(_Plain):
    """Write a new grain."""

    kind: ClassVar[str] = "add"
    type: str
    namespace: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Supersede(_Plain):
    """Write a new grain in place of a live one."""

    kind: ClassVar[str] = "supersede"
    target: str
    type: str
    namespace: str
    fields: Mapping[str, Any]

    def targets(self) -> tuple[str, ...]:
        return (self.target,)


@dataclass(frozen=True, slots=True)
class Merge(_Plain):
    """Write one new grain in place of two or more live ones; the first head is its parent."""

    kind: ClassVar[str] = "merge"
    heads: tuple[str, ...]
    type: str
    namespace: str
    fields: Mapping[str, Any]

    def targets(self) -> tuple[str, ...]:
        return self.heads


@dataclass(frozen=True, slots=True)
class Retire(_Plain):
    """Take a live grain out of recall in favour of another live one that says the same."""

    kind: ClassVar[str] = "retire"
    target: str
    by: str

    def targets(self) -> tuple[str, ...]:
        return (self.target, self.by)

    def removes(self) -> tuple[str, ...]:
        return (self.target,)


@dataclass(frozen=True, slots=True)
class Forget(_Plain):
    """Erase a grain, leaving a tombstone. Has no inverse."""

    kind: ClassVar[str] = "forget"
    destructive: ClassVar[bool] = True
    undoable: ClassVar[bool] = False
    target: str

    def targets(self) -> tuple[str, ...]:
        return (self.target,)


@dataclass(frozen=True, slots=True)
class DefineQuery(_Plain):
    """Give a saved query (or, with ``scheme`` template, a template) another body; its parameters stay as they are.

    ``base``: `digest` of the body that the proposal saw; None: there was none, and one is made.
    """

    kind: ClassVar[str] = "define_query"
    name: str
    body: str
    base: str | None
    scheme: str = "query"


@dataclass(frozen=True, slots=True)
class DocEdit(_Plain):
    """Change a document: ``diff`` is a unified diff against the text whose `digest` is ``base``."""

    kind: ClassVar[str] = "doc_edit"
    path: str
    namespace: str
    base: str
    diff: str


@dataclass(frozen=True, slots=True)
class Revert(_Plain):
    """Carry out the stored inverse of an applied recommendation. Has no inverse of its own; stands alone."""

    kind: ClassVar[str] = "revert"
    undoable: ClassVar[bool] = False
    recommendation: str


Operation = Add | Supersede | Merge | Retire | Forget | DefineQuery | DocEdit | Revert


def class_of(operation: Operation) -> str | None:
    """The target class of what an operation changes (D27); None for a revert, which has that of what it takes back."""
    match operation:
        case DocEdit():
            return "prompt"
        case DefineQuery():
            return "query"
        case Revert():
            return None
    return "memory"


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of several changes a reviewer may choose from (D20), with a label of at most 120 characters."""

    label: str
    operations: tuple[Operation, ...]


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
        case Add():
            return {"op": "add", **_written(operation)}
        case Supersede(target=target):
            return {"op": "supersede", "target": target, **_written(operation)}
        case Merge(heads=heads):
            return {"op": "merge", "heads": list(heads), **_written(operation)}
        case Retire(target=target, by=by):
            return {"op": "retire", "target": target, "by": by}
        case Forget(target=target):
            return {"op": "forget", "target": target}
        case DefineQuery(name=name, body=body, base=base, scheme=scheme):
            return {"op": "define_query", "scheme": scheme, "name": name, "body": body, "base": base}
        case DocEdit(path=path, namespace=namespace, base=base, diff=diff):
            return {"op": "doc_edit", "path": path, "namespace": namespace, "base": base, "diff": diff}
        case Revert(recommendation=recommendation):
            return {"op": "revert", "recommendation": recommendation}
    raise LoopError("LOP-E012", "the proposal holds something that is no operation")


def _written(operation: Add | Supersede | Merge) -> dict[str, Any]:
    return {
        "type": operation.type,
        "namespace": operation.namespace,
        "fields": dict(operation.fields),
    }


def from_plain(value: object) -> Operation:
    """Read one stored operation. Raises LOP-E012 on anything that `to_plain` does not write."""
    if not isinstance(value, Mapping):
        raise LoopError("LOP-E012", "an operation of the proposal is not a map")
    kind = value.get("op")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None or set(value) != {"op", *read[0]}:
        raise LoopError("LOP-E012", "the proposal holds an operation this version does not know")
    return read[1](value)


def alternatives_to_plain(alternatives: Sequence[Alternative]) -> list[dict[str, Any]]:
    """What is stored beside ``ops``: labels, and the operations of all but the first, which are ``ops`` themselves."""
    return [
        {"label": one.label, **({"ops": [to_plain(op) for op in one.operations]} if number else {})}
        for number, one in enumerate(alternatives)
    ]


def alternatives_from_plain(value: object, operations: Sequence[Operation]) -> tuple[Alternative, ...]:
    """Read what `alternatives_to_plain` writes. Raises LOP-E012 on anything else."""
    if not isinstance(value, list | tuple):
        raise LoopError("LOP-E012", "the alternatives of the proposal are no list")
    found = []
    for number, one in enumerate(value):
        if not isinstance(one, Mapping) or set(one) != ({"label", "ops"} if number else {"label"}):
            raise LoopError("LOP-E012", "an alternative of the proposal is malformed")
        ops = one["ops"] if number else ()
        if not isinstance(ops, list | tuple):
            raise LoopError("LOP-E012", "the operations of an alternative are no list")
        read = tuple(from_plain(plain) for plain in ops) if number else tuple(operations)
        found.append(Alternative(_text(one, "label"), read))
    return tuple(found)


def check(operations: Sequence[Operation]) -> None:
    """Refuse a proposal that is malformed (LOP-E012) or too large, writes what no proposal may, or changes one thing
    twice (LOP-E011)."""
    if len(operations) > MAX_OPERATIONS:
        raise LoopError(
            "LOP-E011", f"a proposal holds at most {MAX_OPERATIONS} operations, not {len(operations)}"
        )
    for operation in operations:
        from_plain(to_plain(operation))
    if size(operations) > MAX_BYTES:
        raise LoopError("LOP-E011", f"a proposal holds at most {MAX_BYTES} bytes of operations")
    if sum(isinstance(operation, Forget) for operation in operations) > MAX_FORGETS:
        raise LoopError("LOP-E011", f"a proposal forgets at most {MAX_FORGETS} grains, one by one")
    if len(operations) > 1 and any(isinstance(operation, Revert) for operation in operations):
        raise LoopError("LOP-E011", "taking a recommendation back stands alone in a proposal")
    gone: set[object] = set()
    for operation in operations:
        _check_one(operation)
        for thing in _changes(operation):
            if thing in gone:
                raise LoopError(
                    "LOP-E011",
                    "a proposal may change a grain, query or document, or write a grain, only once",
                )
            gone.add(thing)
    if any(isinstance(operation, Retire) and operation.by in gone for operation in operations):
        raise LoopError(
            "LOP-E011", "a grain cannot be retired in favour of one that the same proposal removes"
        )


def check_alternatives(alternatives: Sequence[Alternative], operations: Sequence[Operation]) -> None:
    """Refuse a choice that cannot be stored (D20): LOP-E011 and what `check` raises. None given is fine."""
    if not alternatives:
        return
    if not 2 <= len(alternatives) <= MAX_ALTERNATIVES:
        raise LoopError("LOP-E011", f"a proposal lists 2 to {MAX_ALTERNATIVES} alternatives, or none")
    if not all(isinstance(one, Alternative) and isinstance(one.label, str) for one in alternatives):
        raise LoopError("LOP-E011", "an alternative is a label and operations")
    labels = {one.label.strip() for one in alternatives}
    if len(labels) < len(alternatives) or not all(0 < len(label) <= MAX_LABEL for label in labels):
        raise LoopError("LOP-E011", f"labels of alternatives differ and have 1 to {MAX_LABEL} characters")
    if tuple(alternatives[0].operations) != tuple(operations):
        raise LoopError("LOP-E011", "the first alternative is what the proposal does by default")
    for one in alternatives:
        if not one.operations:
            raise LoopError("LOP-E011", "an alternative without a change is no alternative: reject instead")
        check(one.operations)
    if sum(size(one.operations) for one in alternatives) > MAX_BYTES:
        raise LoopError("LOP-E011", f"a proposal holds at most {MAX_BYTES} bytes of operations")


def check_data(data: object) -> None:
    """Refuse flag data that is no map of plain data of at most 4 KiB (LOP-E011). None is fine."""
    if data is not None and (not isinstance(data, Mapping) or not data or len(canonical(data)) > MAX_DATA):
        raise LoopError("LOP-E011", f"data of a finding is a map of plain data of at most {MAX_DATA} bytes")


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


def digest(text: str) -> str:
    """Lower-case hex SHA-256 of a text as a memory keeps it: what a proposal says it saw."""
    return hashlib.sha256(door(text).encode()).hexdigest()


def _check_one(operation: Operation) -> None:
    match operation:
        case Add() | Supersede() | Merge() if not _writable(operation):
            raise LoopError("LOP-E011", "a proposal may not write this type or namespace")
        case Retire(target=target, by=by) if target == by:
            raise LoopError("LOP-E011", "a grain cannot be retired in favour of itself")
        case Merge(heads=heads) if len(set(heads)) < 2:
            raise LoopError("LOP-E011", "a merge takes the place of two or more grains")
        case DefineQuery(scheme=scheme) if scheme not in QUERY_SCHEMES:
            raise LoopError("LOP-E011", "what is defined is one of " + ", ".join(QUERY_SCHEMES))
        case DocEdit(namespace=namespace) if is_reserved(namespace):
            raise LoopError("LOP-E011", "a proposal may not write this namespace")


def _changes(operation: Operation) -> tuple[object, ...]:
    """What no second operation of a proposal may change: grains, a grain it writes, a query, a document."""
    match operation:
        case Add():
            return (canonical(to_plain(operation)),)
        case DefineQuery(scheme=scheme, name=name):
            return ((scheme, name),)
        case DocEdit(path=path, namespace=namespace):
            return ((namespace, path),)
    return operation.removes()


def _writable(operation: Add | Supersede | Merge) -> bool:
    return (
        operation.type in _ADDABLE
        and not is_reserved(operation.namespace)
        and _STAMPED.isdisjoint(operation.fields)
    )


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value[name]
    if not isinstance(found, str) or not found:
        raise LoopError("LOP-E012", f"{name} of an operation is not a text")
    return found


def _address(value: Mapping[str, Any], name: str) -> str:
    return _hex(_text(value, name), name)


def _hex(found: str, name: str) -> str:
    if len(found) != 64 or not _HEX.issuperset(found):
        raise LoopError("LOP-E012", f"{name} of an operation is not an address")
    return found


def _addresses(value: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = value[name]
    if not isinstance(found, list | tuple) or not all(isinstance(one, str) for one in found):
        raise LoopError("LOP-E012", f"{name} of an operation is no list of addresses")
    return tuple(_hex(one, name) for one in found)


def _fields(value: Mapping[str, Any]) -> Mapping[str, Any]:
    found = value["fields"]
    if not isinstance(found, Mapping) or not all(isinstance(key, str) for key in found):
        raise LoopError("LOP-E012", "fields of an operation is not a map")
    return dict(found)


def _content(value: Mapping[str, Any]) -> tuple[str, str, Mapping[str, Any]]:
    return _text(value, "type"), _text(value, "namespace"), _fields(value)


_GRAIN: Final = ("type", "namespace", "fields")
# kind → names of its keys, and how they are read
_READERS: Final[Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, Any]], Operation]]]] = {
    "add": (_GRAIN, lambda v: Add(*_content(v))),
    "supersede": (("target", *_GRAIN), lambda v: Supersede(_address(v, "target"), *_content(v))),
    "merge": (("heads", *_GRAIN), lambda v: Merge(_addresses(v, "heads"), *_content(v))),
    "retire": (("target", "by"), lambda v: Retire(_address(v, "target"), _address(v, "by"))),
    "forget": (("target",), lambda v: Forget(_address(v, "target"))),
    "define_query": (
        ("scheme", "name", "body", "base"),
        lambda v: DefineQuery(
            _text(v, "name"),
            _text(v, "body"),
            None if v["base"] is None else _address(v, "base"),
            _text(v, "scheme"),
        ),
    ),
    "doc_edit": (
        ("path", "namespace", "base", "diff"),
        lambda v: DocEdit(_text(v, "path"), _text(v, "namespace"), _address(v, "base"), _text(v, "diff")),
    ),
    "revert": (("recommendation",), lambda v: Revert(_address(v, "recommendation"))),
}
