# SPDX-License-Identifier: Apache-2.0
"""The plain data of the loop: what surfaces are given and what decisions return. No behaviour beyond properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from deja_tui.engine.operations import Alternative, Operation

if TYPE_CHECKING:
    from deja_tui.engine.outcomes import Outcome

# From the mildest to the worst: the order in which they are compared.
SEVERITIES: Final[tuple[str, ...]] = ("info", "low", "medium", "high")
STATUSES: Final[tuple[str, ...]] = ("pending", "approved", "rejected", "applied", "rolled_back", "expired")


@dataclass(frozen=True, slots=True)
class Summary:
    """A template id and its arguments; `engine.templates.render` makes the line."""

    template_id: str
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The immutable body of a recommendation grain."""

    address: str
    analyzer: str
    params: Mapping[str, Any]
    target_ref: str
    action: str
    identity: str
    summary: Summary
    severity: str
    operations: tuple[Operation, ...]
    evidence: tuple[str, ...]
    evidence_total: int
    evidence_query: str | None
    remaining: int  # members a later refresh will propose, because one proposal is bounded (D9)
    metric: Mapping[str, Any] | None
    confidence: float
    importance: float
    created_at: int
    since: int
    refreshes: str | None
    alternatives: tuple[Alternative, ...] = ()  # none, or 2 to 8 of them; the first is `operations` (D20)
    data: Mapping[str, Any] | None = None

    @property
    def destructive(self) -> bool:
        """Whether what is proposed by default erases. Recomputed from the operations, never believed from bytes (D8)."""
        return any(op.destructive for op in self.operations)

    @property
    def rollbackable(self) -> bool:
        """Whether an apply of what is proposed by default will store an inverse."""
        return bool(self.operations) and all(op.undoable for op in self.operations)

    @property
    def advice(self) -> bool:
        """Whether there is nothing to apply: approving it acknowledges it, for ninety days (D26)."""
        return not self.operations and not self.alternatives

    @property
    def choices(self) -> tuple[Alternative, ...]:
        """What a reviewer may choose from, the default first; one without a label where there is no choice."""
        return self.alternatives or (Alternative("", self.operations),)

    def chosen(self, choice: int) -> tuple[Operation, ...]:
        """What an approval with ``choice`` carries out. Raises IndexError when there is no such alternative."""
        if choice < 0:
            raise IndexError(choice)
        return self.choices[choice].operations


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One line of a queue. ``summary`` is rendered and cleaned; ``age_from`` is epoch ms of the first proposal."""

    address: str
    status: str
    severity: str
    analyzer: str
    origin: str
    target_ref: str
    summary: str
    evidence_total: int
    age_from: int
    destructive: bool
    rollbackable: bool
    foreign: bool
    folded: int = 0  # recommendations of other copies that stand under this one (D5)
    expires_at: int | None = None  # epoch ms; None: it expires only when it no longer holds


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One transition of one recommendation, as its Observation grain says it. Times are epoch ms UTC."""

    address: str
    recommendation: str
    previous: str | None
    from_status: str | None
    to_status: str
    actor: str
    observer: str  # human | agent | policy | system
    because: str
    at: int
    results: tuple[str, ...]
    effects: tuple[Mapping[str, Any], ...] = ()
    inverse: tuple[Mapping[str, Any], ...] | None = None
    creator: str | None = None
    trigger: str | None = None
    origin: str | None = None
    choice: int = 0  # of an approval: the number of the alternative that an apply will carry out
    outside: bool = False  # of an apply: it was done outside this memory, and only noted here (D27)


@dataclass(frozen=True, slots=True)
class Chain:
    """The audit entries of one recommendation, oldest first, and whether they hold together."""

    entries: tuple[AuditEntry, ...]
    verified: bool
    fault: str | None = None  # what is wrong, one sentence without grain text
    fault_address: str | None = None  # the first bad link
    erased: bool = False  # the recommendation itself is gone: it quoted what was forgotten (D31)

    @property
    def state(self) -> str:
        """verified, broken, or erased: the recommendation is gone and its entries hold together."""
        if not self.verified:
            return "broken"
        return "erased" if self.erased else "verified"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a decision leaves: the address of its audit grain and the chain check made right after it."""

    recommendation: str
    audit: str
    from_status: str
    to_status: str
    actor: str
    because: str
    at: int
    chain_verified: bool
    results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """A dry run: what an apply would do now. ``refusal`` is the code and sentence that would stop it, or None."""

    recommendation: str
    adds: int
    supersedes: int
    retires: int
    forgets: int
    undo: bool
    refusal: str | None
    operations: tuple[Operation, ...] = ()
    merges: int = 0
    defines: int = 0
    edits: int = 0
    reverts: int = 0
    choice: int = 0  # the alternative that this is about
    outside: bool = False  # the change lies outside this memory: `mark_applied` notes it


@dataclass(frozen=True, slots=True)
class Evidence:
    """One cited grain, as far as it is still here. ``fields`` is raw grain content: clean before showing."""

    address: str
    type: str | None  # None: not in this memory (any more)
    namespace: str | None
    created_at: int | None
    live: bool
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delivered:
    """How often what a recommendation wrote was handed to an agent as context, and when last (epoch ms)."""

    count: int
    last: int


@dataclass(frozen=True, slots=True)
class Detail:
    """Everything a reviewer needs to decide about one recommendation, read in one transaction."""

    recommendation: Recommendation
    status: str
    origin: str
    creator: str
    foreign: bool
    replaced_by: str | None
    summary: str
    evidence: tuple[Evidence, ...]
    targets: Mapping[str, Evidence]  # every grain an operation names, by address
    chain: Chain
    plan: Plan | None  # None once it cannot be applied any more
    choice: int | None = None  # the alternative of the newest approval; None when there is none
    twins: tuple[str, ...] = ()  # the same finding in the other origin: of another copy, or ours (D5)
    texts: Mapping[str, str] = field(
        default_factory=dict
    )  # ``scheme:name`` → the body an operation would replace
    undoes: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    """Recommendation that a revert takes back → the steps of its stored inverse; empty when it has none."""
    outcomes: tuple[Outcome, ...] = ()  # what was measured since it was applied, shortest span first
    delivered: Delivered | None = None  # None: never, or nothing was counted


@dataclass(frozen=True, slots=True)
class SkippedAnalyzer:
    """An analyzer that did not run, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Activation:
    """Why an analyzer did or did not fire.

    ``state``: active, quiet (looked, found nothing), below_threshold, watching (what it needs is counted too short a
    time), cooling (all it finds was rejected lately), missing (a capability), disabled, failed. ``hint``: what would
    change it; of disabled the layer (file, policy, default, sync, flag), of failed the fault. ``until``: epoch ms of
    watching and cooling. ``older``: so many of what is counted lie further back than the analyzer looks.
    """

    state: str
    have: int = 0
    need: int = 0
    unit: str = ""
    hint: str = ""
    until: int | None = None
    older: int = 0


@dataclass(frozen=True, slots=True)
class Dropped:
    """One draft that was not stored. ``reason``: below_floor, duplicate, open, applied, cooling, budget, refused.

    ``until`` is when a cooling finding may return (epoch ms); ``held_by`` the recommendation that stands in its place.
    """

    analyzer: str
    target_ref: str
    reason: str
    until: int | None = None
    held_by: str | None = None


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What a run did. ``dropped`` counts the drafts that were not stored, by reason."""

    outcome: Literal["ran", "skipped"]
    skip_reason: str | None
    new_grains: int
    new_error_events: int
    proposed: int = 0
    deduped: int = 0
    stored: int = 0
    refreshed: int = 0
    closed: int = 0
    auto_applied: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    analyzers_run: tuple[str, ...] = ()
    analyzers_skipped: tuple[SkippedAnalyzer, ...] = ()
    recommendations: tuple[str, ...] = ()  # addresses stored or refreshed by this run
    drafts: tuple[str, ...] = ()  # a dry run: the summaries that would have been proposed
    quiet: Mapping[str, Activation] = field(
        default_factory=dict
    )  # asked for: why nothing was found, by analyzer
    drops: tuple[Dropped, ...] = ()  # the first 200 of what ``dropped`` counts
    expired: int = 0  # advice whose acknowledgement ran out
    measured: int = 0  # outcomes of applied recommendations that were due
    activations: Mapping[str, Activation] = field(default_factory=dict)  # of analyzers that fired or fell out
    duration_ms: int = 0  # measured by the door that ran it; the engine reads no clock
