# SPDX-License-Identifier: Apache-2.0
"""What a statement runs in: the memory, whose rights it has, and the few acts that only the host can do.

The language decides no status and writes nothing reserved. Decisions about recommendations, erasure (which leaves an
audit grain) and drafts are done by the host through the protocols here; where it offers none, the statement is
refused with CAL-E130.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from deja_tui.store.grains import StoredGrain
from deja_tui.store.memory import Store


class Governance(Protocol):
    """Decisions, each about exactly one address. Answers are plain data; failures are coded (``LOP-…``)."""

    def resolve(self, address: str) -> str: ...
    def approve(self, address: str, *, because: str, choice: int = 0) -> Any: ...
    def reject(self, address: str, *, because: str) -> Any: ...
    def withdraw(self, address: str, *, because: str) -> Any: ...
    def rollback(self, address: str, *, because: str) -> Any: ...
    def apply(self, address: str, *, because: str, allow_destructive: bool = False) -> Any: ...
    def dry_run(self, address: str, *, allow_destructive: bool = False) -> Any: ...
    def run(
        self, *, min_new: int | None = None, if_stale_ms: int | None = None, full: bool = False
    ) -> Any: ...


class Forget(Protocol):
    """Erases one grain and keeps who did it and why."""

    def __call__(self, address: str, *, because: str) -> Any: ...


class Retire(Protocol):
    """Takes a live grain out of recall in favour of another live one and keeps who did it and why."""

    def __call__(self, address: str, *, by: str, reason: str) -> Any: ...


class SubjectErased(Protocol):
    """What an erasure of a subject removed."""

    @property
    def addresses(self) -> Sequence[str]: ...


class ForgetSubject(Protocol):
    """Erases everything of a subject in the namespace. Raises MEM-E001 when nothing names it."""

    def __call__(self, subject: str, *, because: str, confirm: str) -> SubjectErased: ...


class SubjectTold(Protocol):
    """What an erasure of a subject would remove, in arrival order."""

    @property
    def names(self) -> Sequence[str]: ...
    @property
    def grains(self) -> Sequence[StoredGrain]: ...


class ReportSubject(Protocol):
    def __call__(self, subject: str) -> SubjectTold: ...


class Filed(Protocol):
    """A version of a document."""

    @property
    def address(self) -> str: ...


class CreateDocument(Protocol):
    """Files a new document."""

    def __call__(self, path: str, text: str) -> Filed: ...


class SetAnalyzer(Protocol):
    """Writes a row of analyzer settings and keeps who did it and why."""

    def __call__(self, name: str, settings: Mapping[str, Any], *, because: str) -> Any: ...


class Propose(Protocol):
    """Files a draft (D21) and returns the address of the pending recommendation."""

    def __call__(
        self,
        *,
        target: str,
        note: str,
        evidence: Sequence[str],
        severity: str,
        operations: Sequence[Mapping[str, Any]] | None,
        edit: Mapping[str, Any] | None,
        data: Mapping[str, Any] | None,
    ) -> str: ...


class Told(Protocol):
    """How the loop stands, for DESCRIBE: one object, or a sequence of them, of plain attributes."""

    def __call__(self) -> Any: ...


class Recalled(Protocol):
    """Counts the grains a statement gave."""

    def __call__(
        self,
        namespace: str,
        found: Sequence[StoredGrain],
        *,
        subject: str | None = None,
        question: str | None = None,
        took_ns: int = 0,
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Overflow:
    """An assembled context that had more than its budget: what a host may record (never grain text)."""

    name: str
    unit: str
    limit: int
    used: int
    included: int
    dropped: tuple[str, ...]


def _may_all(right: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Host:
    """The surroundings of statements.

    Attributes:
        store: the memory.
        namespace: read and written where a statement names none.
        clock: epoch ms; of "now", of relative times, of new grains.
        may: whether the caller holds a right (read, write, review, apply, admin).
        user: whom MY means; None: nobody.
        governance, forget, retire, forget_subject, subject_report, propose, document, analyzer: acts of the host; None:
            not offered.
        loop: what DESCRIBE LOOP, ANALYZERS, OUTCOMES and POLICY ask, by that word; a word that is missing is not offered.
        summary: renders the summary of a recommendation (``template_id``, ``args``) as one line.
        overflow: told when a budget left something out, and what.
        assembled: told of every context with a budget, and whether it overflowed; for counting.
        recalled: told of the grains a statement gave, for counting.
    """

    store: Store
    namespace: str
    clock: Callable[[], int]
    may: Callable[[str], bool] = _may_all
    user: str | None = None
    governance: Governance | None = None
    forget: Forget | None = None
    retire: Retire | None = None
    forget_subject: ForgetSubject | None = None
    subject_report: ReportSubject | None = None
    propose: Propose | None = None
    document: CreateDocument | None = None
    analyzer: SetAnalyzer | None = None
    loop: Mapping[str, Told] = field(default_factory=dict)
    summary: Callable[[Mapping[str, Any]], str] | None = None
    overflow: Callable[[Overflow], None] | None = None
    assembled: Callable[[bool], None] | None = None
    recalled: Recalled | None = None


class Rights(Protocol):
    """Who asks, and with which rights."""

    def may(self, right: str) -> bool: ...


class Counting(Protocol):
    """Where what was recalled, and contexts that overflowed their budget, are counted (D37)."""

    @property
    def on(self) -> bool: ...
    def assembled(self, overflow: bool) -> None: ...
    def recalled(
        self,
        namespace: str,
        found: Sequence[StoredGrain],
        *,
        subject: str | None = None,
        question: str | None = None,
        took_ns: int = 0,
    ) -> None: ...


class Documents(Protocol):
    """Text files of a memory."""

    def create(self, path: str, text: str) -> Filed: ...


class LoopDoor(Governance, Protocol):
    """The loop of an opened memory: decisions, drafts, settings, and how it stands."""

    def health(self) -> Any: ...
    def analyzers(self) -> Any: ...
    def outcomes(self) -> Any: ...
    def policy(self) -> Any: ...
    def propose(
        self,
        *,
        target: str,
        note: str,
        evidence: Sequence[str],
        operations: Sequence[Mapping[str, Any]] | None = None,
        edit: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] | None = None,
        severity: str = "low",
    ) -> str: ...
    def configure(
        self,
        analyzer: str,
        *,
        enabled: bool | None = None,
        params: Mapping[str, Any] | None = None,
        severity_floor: str | None = None,
        namespaces: Sequence[str] | None = None,
        because: str,
    ) -> Any: ...


class OpenMemory(Protocol):
    """What `host_of` needs of an opened memory: the library's facade is one."""

    @property
    def store(self) -> Store: ...
    @property
    def namespace(self) -> str: ...
    @property
    def clock(self) -> Callable[[], int]: ...
    @property
    def who(self) -> Rights: ...
    @property
    def loop(self) -> LoopDoor: ...
    @property
    def telemetry(self) -> Counting: ...
    @property
    def docs(self) -> Documents: ...
    def forget(self, address: str, *, because: str) -> Any: ...
    def retire(self, address: str, *, by: str, reason: str) -> Any: ...
    def forget_subject(self, subject: str, *, because: str, confirm: str) -> SubjectErased: ...
    def subject_report(self, subject: str) -> SubjectTold: ...


def host_of(
    memory: OpenMemory,
    *,
    summary: Callable[[Mapping[str, Any]], str] | None = None,
    user: str | None = None,
) -> Host:
    """The host that an opened memory makes: its rights, its acts, its telemetry."""
    loop = memory.loop
    return Host(
        store=memory.store,
        namespace=memory.namespace,
        clock=memory.clock,
        may=memory.who.may,
        user=user,
        governance=loop,
        forget=memory.forget,
        retire=memory.retire,
        forget_subject=memory.forget_subject,
        subject_report=memory.subject_report,
        propose=loop.propose,
        document=memory.docs.create,
        analyzer=_setter(loop),
        loop={
            "LOOP": loop.health,
            "ANALYZERS": loop.analyzers,
            "OUTCOMES": loop.outcomes,
            "POLICY": loop.policy,
        },
        summary=summary,
        assembled=memory.telemetry.assembled if memory.telemetry.on else None,
        recalled=memory.telemetry.recalled if memory.telemetry.on else None,
    )


_NOT_PARAMETERS = frozenset(("enabled", "severity_floor", "namespaces"))


def _setter(loop: LoopDoor) -> SetAnalyzer:
    """A row of a script as the loop takes it: what is no switch is a parameter."""

    def write(name: str, settings: Mapping[str, Any], *, because: str) -> Any:
        switches = {key: value for key, value in settings.items() if key in _NOT_PARAMETERS}
        params = {key: value for key, value in settings.items() if key not in _NOT_PARAMETERS}
        return loop.configure(name, **switches, params=params or None, because=because)

    return write
