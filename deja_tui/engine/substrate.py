# SPDX-License-Identifier: Apache-2.0
"""What the engine asks of a memory: five methods, and capabilities it uses when they are there (D10).

A substrate keeps immutable grains under content addresses, and marks that say which of them are live. The engine
knows nothing else about it. Everything beyond the five has a default in `views`, written once over the five;
a substrate offers a method of the same name to answer faster.

Numbered rules, cited by the conformance tests:

* SUB-1  `scan` yields in arrival order (`seq` rises) and never from a reserved namespace unless it is named.
* SUB-2  `put` of bytes that are already there returns the same address with ``new=False`` and changes nothing.
* SUB-3  `supersede` refuses a target that is not live (MEM-E002) or not there (MEM-E001) and then writes nothing.
* SUB-4  `mark` is append-only: liveness is what the last mark of a grain says; a grain without marks is live.
* SUB-5  inside `atomic`, an exception leaves the memory as it was before the block.
* SUB-6  text is kept as well-formed NFC text (`text.door`) and otherwise untouched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, runtime_checkable

LOOP_NAMESPACE: Final = "deja-loop"
DEFAULT_NAMESPACE: Final = "shared"

MarkKind = Literal["retire", "supersede", "hide", "reopen"]


def is_reserved(namespace: str) -> bool:
    """Whether only the engine may write in ``namespace`` (D7)."""
    return namespace in (LOOP_NAMESPACE, "loop") or namespace.startswith("agent:")


class StoredGrain(Protocol):
    """A grain as a substrate shows it. Field names are the long ones; typed and extra fields are merged."""

    @property
    def address(self) -> str: ...
    @property
    def seq(self) -> int: ...
    @property
    def type(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def created_at(self) -> int: ...
    @property
    def live(self) -> bool: ...
    @property
    def superseded_by(self) -> str | None: ...
    @property
    def imported(self) -> bool: ...
    @property
    def fields(self) -> Mapping[str, Any]: ...
    def get(self, name: str, default: Any = None) -> Any: ...


@dataclass(frozen=True, slots=True)
class NewGrain:
    """A grain to be written: long field names, without type, namespace and created_at (epoch ms)."""

    type: str
    namespace: str
    created_at: int
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Put:
    """The answer to a write: the address, and whether the grain is new here."""

    address: str
    new: bool


class Substrate(Protocol):
    """The five methods every memory offers (D10)."""

    def scan(
        self, type: str, namespaces: Sequence[str] | None = None, after: int = 0
    ) -> Iterator[StoredGrain]:
        """All grains of ``type`` with ``seq > after``, live or not; None: every namespace that is not reserved."""
        ...

    def get(self, address: str) -> StoredGrain | None: ...

    def put(self, grain: NewGrain) -> Put: ...

    def supersede(self, address: str, grain: NewGrain) -> Put: ...

    def mark(self, address: str, kind: MarkKind, by: str | None = None) -> None: ...


@runtime_checkable
class Atomic(Protocol):
    """Capability: several writes as one act. Without it each write stands alone."""

    def atomic(self) -> AbstractContextManager[None]: ...


@runtime_checkable
class KeepsSettings(Protocol):
    """Capability: small named JSON values (watermarks, analyzer rows)."""

    def setting(self, key: str) -> Any: ...
    def set_setting(self, key: str, value: Any) -> None: ...


@runtime_checkable
class Forgets(Protocol):
    """Capability: a grain can be erased, leaving a tombstone. There is no inverse."""

    def forget(self, address: str) -> None: ...


@runtime_checkable
class ChecksGrains(Protocol):
    """Capability: whether a grain would be taken, without writing it. Raises the coded error that a write would raise."""

    def check_grain(self, grain: NewGrain) -> None: ...


@runtime_checkable
class Merges(Protocol):
    """Capability: one grain takes the place of several live ones as one step, which other copies carry out, too."""

    def merge(self, heads: Sequence[str], grain: NewGrain) -> Put: ...


@runtime_checkable
class SavesQueries(Protocol):
    """Capability: saved queries and templates (``scheme`` query or template) by name, each a text.

    `check_saved_query` raises a coded error on a text that may not be saved under the name: above all, a query that does
    more than read. `set_saved_query` does the same, keeps the parameters that are there, and removes with None.
    """

    def saved_query(self, name: str, scheme: str = "query") -> str | None: ...
    def check_saved_query(self, name: str, body: str, scheme: str = "query") -> None: ...
    def set_saved_query(self, name: str, body: str | None, scheme: str = "query") -> None: ...


# --- rows of views ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Position:
    """How much has ever arrived in user namespaces, and the newest arrival. Gates subtract two of these (D38)."""

    seq: int
    grains: int
    errors: int


@dataclass(frozen=True, slots=True)
class FailureCluster:
    """Failing calls of one tool with one signature inside a window; ``calls`` counts all calls with an outcome."""

    tool: str
    signature: str
    count: int
    calls: int
    namespace: str  # the one that holds most members; on a tie the alphabetically first


@dataclass(frozen=True, slots=True)
class RelationCount:
    """How many subjects have a live value under a relation of one namespace, and how many of them exactly one."""

    namespace: str
    relation: str  # folded
    subjects: int
    single: int


@dataclass(frozen=True, slots=True)
class Overdue:
    """Live grains of one namespace that are older than a limit: how many, and the oldest of them."""

    namespace: str
    total: int
    oldest: Sequence[StoredGrain]


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """What is known of one recommendation, derived from its grain and its audit chain (D1, D4)."""

    address: str
    identity: str
    analyzer: str
    target_ref: str
    severity: str
    status: str
    created_at: int
    since: int  # when the finding was first proposed (a refresh keeps it)
    decided_at: int  # of the newest audit entry, epoch ms
    decided_seq: int  # arrival position of the newest audit entry
    creator: str
    origin: str  # builtin | command | submitted
    foreign: bool
    replaced_by: str | None  # the address that refreshed this one


@dataclass(frozen=True, slots=True)
class Tallied:
    """How many ledger rows of one analyzer, severity and status were made here, or (``foreign``) came from another copy.

    ``first``: the earliest `LedgerRow.since` among them.
    """

    analyzer: str
    severity: str
    status: str
    foreign: bool
    count: int
    first: int
