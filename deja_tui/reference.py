# SPDX-License-Identifier: Apache-2.0
"""The reference substrate: the five methods over a dict, for conformance tests and for reading how little is needed.

Its addresses are SHA-256 over canonical JSON, so they differ from a file's; nothing else may.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Final

from deja_tui.engine.substrate import MarkKind, NewGrain, Put, is_reserved
from deja_tui.errors import DejaError
from deja_tui.text import compact_json, door, fold

_READING: Final = (["RECALL"], ["ASSEMBLE"], ["EXISTS"], ["HISTORY"])


@dataclass(frozen=True, slots=True)
class MemoryGrain:
    """A grain of the reference substrate."""

    address: str
    seq: int
    type: str
    namespace: str
    created_at: int
    fields: Mapping[str, Any]
    live: bool = True
    superseded_by: str | None = None
    imported: bool = False

    def get(self, name: str, default: Any = None) -> Any:
        return self.fields.get(name, default)


class BareSubstrate:
    """Exactly the five methods of the protocol, nothing more."""

    def __init__(self) -> None:
        self.grains: dict[str, MemoryGrain] = {}

    def scan(
        self, type: str, namespaces: Sequence[str] | None = None, after: int = 0
    ) -> Iterator[MemoryGrain]:
        for grain in list(self.grains.values()):
            wanted = not is_reserved(grain.namespace) if namespaces is None else grain.namespace in namespaces
            if wanted and grain.type == type and grain.seq > after:
                yield grain

    def get(self, address: str) -> MemoryGrain | None:
        found = self.grains.get(address)
        return None if found is None or found.type == "tombstone" else found

    def put(self, grain: NewGrain) -> Put:
        fields = json.loads(json.dumps(dict(grain.fields)), object_pairs_hook=_doored)
        namespace = door(grain.namespace)
        content = [grain.type, namespace, grain.created_at, fields]
        address = hashlib.sha256(compact_json(content).encode()).hexdigest()
        if address in self.grains:
            if self.grains[address].type == "tombstone":
                raise DejaError("MEM-E003", "the grain was forgotten here and is not taken back")
            return Put(address, new=False)
        seq = len(self.grains) + 1
        self.grains[address] = MemoryGrain(address, seq, grain.type, namespace, grain.created_at, fields)
        return Put(address, new=True)

    def supersede(self, address: str, grain: NewGrain) -> Put:
        old = self._there(address)
        if not old.live:
            raise DejaError("MEM-E002", "the grain was already superseded")
        put = self.put(grain)
        self.mark(address, "supersede", put.address)
        return put

    def mark(self, address: str, kind: MarkKind, by: str | None = None) -> None:
        old = self._there(address)
        gone = kind != "reopen"
        self.grains[address] = replace(
            old, live=not gone, superseded_by=by if kind in ("retire", "supersede") else None
        )

    def _there(self, address: str) -> MemoryGrain:
        grain = self.get(address)
        if grain is None:
            raise DejaError("MEM-E001", "no such grain")
        return grain


def _doored(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {door(name): _doored_value(value) for name, value in pairs}


def _doored_value(value: Any) -> Any:
    if isinstance(value, str):
        return door(value)
    return [_doored_value(item) for item in value] if isinstance(value, list) else value


class ReferenceSubstrate(BareSubstrate):
    """The bare substrate with its optional capabilities: acts, settings, saved queries, forgetting, merging, forks, telemetry.

    It has no language: a query it saves is known to read by its first word alone. ``telemetry`` is None until somebody
    puts a `ReferenceTelemetry` there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.settings: dict[str, Any] = {}
        self.telemetry: ReferenceTelemetry | None = None
        self.succeeded: tuple[tuple[str, str], ...] = ()  # (what was superseded, by what), as it happened

    @contextmanager
    def atomic(self) -> Iterator[None]:
        before = copy(self.grains), copy(self.settings), self.succeeded
        try:
            yield
        except BaseException:
            self.grains, self.settings, self.succeeded = before
            raise

    def setting(self, key: str) -> Any:
        return self.settings.get(key)

    def set_setting(self, key: str, value: Any) -> None:
        self.settings[key] = value

    def saved_query(self, name: str, scheme: str = "query") -> str | None:
        found = self.settings.get(f"saved.{scheme}:{name}")
        return found if isinstance(found, str) else None

    def check_saved_query(self, name: str, body: str, scheme: str = "query") -> None:
        if scheme == "query" and body.split(maxsplit=1)[:1] not in _READING:
            raise DejaError("CAL-E058", "a saved query can only read")

    def set_saved_query(self, name: str, body: str | None, scheme: str = "query") -> None:
        if body is None:
            self.settings.pop(f"saved.{scheme}:{name}", None)
        else:
            self.check_saved_query(name, body, scheme)
            self.settings[f"saved.{scheme}:{name}"] = door(body)

    def merge(self, heads: Sequence[str], grain: NewGrain) -> Put:
        if not all(self._there(head).live for head in heads):
            raise DejaError("MEM-E002", "the grain was already superseded")
        put = self.put(grain)
        for head in heads:
            self.mark(head, "supersede", put.address)
        return put

    def forget(self, address: str) -> None:
        self._there(address)
        # the position stays taken, so that later arrivals keep rising
        self.grains[address] = replace(self.grains[address], type="tombstone", fields={}, live=False)

    def mark(self, address: str, kind: MarkKind, by: str | None = None) -> None:
        super().mark(address, kind, by)
        if kind == "supersede" and by is not None:
            self.succeeded += ((address, by),)

    def forks(self, namespaces: Sequence[str] | None, after: int = 0) -> list[list[MemoryGrain]]:
        """Live grains that descend from one superseded grain, each fork newest first, ordered by its newest address."""
        succeeding: dict[str, set[str]] = {}
        for old, new in self.succeeded:
            succeeding.setdefault(old, set()).add(new)
        groups: list[set[str]] = []
        for old in succeeding:
            tips = {one for one in _below(succeeding, old) if one in self.grains and self.grains[one].live}
            if len(tips) > 1 and not self.grains[old].live:
                meeting = [group for group in groups if group & tips]
                groups = [group for group in groups if not group & tips] + [tips.union(*meeting)]
        found = [sorted((self.grains[one] for one in group), key=_age, reverse=True) for group in groups]
        wanted = [tips for tips in found if _is_wanted(tips[0].namespace, namespaces)]
        return sorted(wanted, key=lambda tips: tips[0].address)


def _age(grain: MemoryGrain) -> tuple[int, int, str]:
    return grain.created_at, grain.seq, grain.address


def _is_wanted(namespace: str, namespaces: Sequence[str] | None) -> bool:
    return not is_reserved(namespace) if namespaces is None else namespace in namespaces


def _below(after: Mapping[str, set[str]], start: str) -> set[str]:
    seen, todo = {start}, [start]
    while todo:
        for one in after.get(todo.pop(), ()):
            if one not in seen:
                seen.add(one)
                todo.append(one)
    return seen - {start}


# --- telemetry ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Recall:
    """One recall of a reference memory: the time (epoch ms), what was asked for and what was found."""

    at: int
    namespace: str
    found: tuple[str, ...]
    question: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Count:
    """How often a grain was recalled or delivered."""

    count: int


@dataclass(frozen=True, slots=True)
class Question:
    """A free-text question in all its wordings (`engine.telemetry.Asked`)."""

    namespace: str
    sample: str
    text: str
    subject: str | None
    runs: int
    empties: int
    first: int
    last: int
    last_empty: int | None
    last_found: int | None
    key: str


@dataclass(frozen=True, slots=True)
class LogRow:
    """One time a question was asked (`engine.telemetry.Logged`)."""

    at: int
    results: int
    top: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contexts:
    """Contexts put together under a budget (`engine.telemetry.Assembled`)."""

    samples: int
    overflows: int


class ReferenceTelemetry:
    """`engine.telemetry.TelemetryReader` over lists: what was recalled, delivered and assembled since ``since`` (epoch ms)."""

    def __init__(self, since: int, *, logs: bool = False) -> None:
        self.since = since
        self.logs = logs
        self.recalls: list[Recall] = []
        self.delivered: list[str] = []
        self.assembled: list[tuple[int, bool]] = []

    def watching(self) -> Mapping[str, int]:
        return {"aggregate": self.since, **({"full": self.since} if self.logs else {})}

    def recalled_more_than(self, count: int = 0) -> list[bytes]:
        found = Counter(address for recall in self.recalls for address in recall.found)
        return [bytes.fromhex(address) for address, often in found.items() if often > count]

    def access_of(self, addresses: Iterable[str]) -> Mapping[str, Count]:
        found = Counter(address for recall in self.recalls for address in recall.found)
        return {address: Count(found[address]) for address in addresses if address in found}

    def deliveries(self) -> Mapping[str, Count]:
        return {address: Count(often) for address, often in Counter(self.delivered).items()}

    def queries(
        self,
        least_runs: int = 1,
        *,
        least_empty_ratio: float = 0.0,
        namespaces: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[Question]:
        groups: dict[str, list[Recall]] = {}
        for recall in self.recalls:
            if recall.question is not None and (namespaces is None or recall.namespace in namespaces):
                groups.setdefault(_question_key(recall), []).append(recall)
        found = [_question(key, group) for key, group in groups.items()]
        kept = [q for q in found if q.runs >= least_runs and q.empties >= q.runs * least_empty_ratio]
        return sorted(kept, key=lambda q: (-q.runs, q.sample, q.key))[:limit]

    def asked(self, key: str, limit: int = 20) -> list[LogRow]:
        rows = [r for r in reversed(self.recalls) if r.question is not None and _question_key(r) == key]
        return [LogRow(r.at, len(r.found), r.found[:10]) for r in rows[:limit]] if self.logs else []

    def contexts(self, since_ms: int, until_ms: int | None = None) -> Contexts:
        inside = [
            over for at, over in self.assembled if at >= since_ms and (until_ms is None or at < until_ms)
        ]
        return Contexts(len(inside), sum(inside))


def _question_key(recall: Recall) -> str:
    parts = [door(recall.namespace), door(recall.subject or ""), _wording(recall)]
    return hashlib.sha256(compact_json(parts).encode()).hexdigest()[:32]


def _wording(recall: Recall) -> str:
    return " ".join(fold(door(recall.question or "")).split())


def _question(key: str, asked: Sequence[Recall]) -> Question:
    empty = [recall.at for recall in asked if not recall.found]
    full = [recall.at for recall in asked if recall.found]
    return Question(
        namespace=asked[-1].namespace,
        sample=door(asked[-1].question or "")[:200],
        text=_wording(asked[-1])[:200],
        subject=asked[-1].subject,
        runs=len(asked),
        empties=len(empty),
        first=min(recall.at for recall in asked),
        last=max(recall.at for recall in asked),
        last_empty=max(empty, default=None),
        last_found=max(full, default=None),
        key=key,
    )
