# SPDX-License-Identifier: Apache-2.0
"""A memory made of plain objects that decides like the engine: statuses, creators, chains, refusals, change token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from deja_tui.engine.config import ConfigChange
from deja_tui.engine.faults import LoopError
from deja_tui.engine.health import AnalyzerState, Health
from deja_tui.engine.objects import AuditEntry, Detail, Plan, QueueRow, Receipt, RunOutcome
from deja_tui.engine.outcomes import Reviewed
from deja_tui.engine.substrate import Tallied
from deja_tui.errors import DejaError
from tests.present import build
from tests.present.standing import standing
from tests.support import NOW

_TO = {
    "approve": "approved",
    "reject": "rejected",
    "withdraw": "rejected",
    "apply": "applied",
    "rollback": "rolled_back",
    "mark_applied": "applied",
}
_FROM = {
    "approve": "pending",
    "reject": "pending",
    "withdraw": "approved",
    "apply": "approved",
    "rollback": "applied",
    "mark_applied": "approved",
}


class FakeReviews:
    """Satisfies `console.feed.Reviews` and `console.feed.Upkeep`. ``log`` keeps every decision asked for; ``fault`` is raised by the next call."""

    def __init__(self, details: Iterable[Detail] | None = None, *, actor: str = "user:local") -> None:
        found = (
            [build.tool_failure(), build.expired_fact(), build.duplicates()] if details is None else details
        )
        self.details = {detail.recommendation.address: detail for detail in found}
        self.actor = actor
        self.log: list[tuple[str, str, str]] = []
        self.choices: list[int] = []
        self.asked: list[str] = []
        self.token = 1
        self.standing = standing()
        self.ran: list[tuple[str, ...]] = []
        self.parts: list[dict[str, Any]] = []
        self.measured: list[Reviewed] = []
        self.faults_found: list[object] = []
        self.fault: DejaError | None = None
        self.faults: dict[str, DejaError] = {}

    def stumble(self, name: str) -> None:
        self.asked.append(name)
        fault = self.faults.pop(name, None) or self.fault
        self.fault = None
        if fault is not None:
            raise fault

    def queue(self, status: str | None = "pending", *, limit: int | None = None) -> list[QueueRow]:
        self.stumble("queue")
        rows = [build.row_of(detail) for detail in self.details.values() if status in (None, detail.status)]
        return rows[:limit]

    def waiting(self, status: str = "pending") -> int:
        return len(self.queue(status))

    def show(self, address: str, *, allow_destructive: bool = False) -> Detail:
        self.stumble("show")
        return self.find(address)

    def find(self, address: str) -> Detail:
        found = [detail for known, detail in self.details.items() if known.startswith(address)]
        if len(found) != 1:
            raise LoopError("LOP-E040", "there is no such recommendation", "deja loop list --status all")
        return found[0]

    def dry_run(self, address: str, *, allow_destructive: bool = False) -> Plan:
        self.stumble("dry_run")
        detail = self.find(address)
        refusal = None
        chosen = detail.recommendation.chosen(detail.choice or 0)
        if any(operation.destructive for operation in chosen) and not allow_destructive:
            refusal = "LOP-E023 a destructive change needs an earlier approval, the admin right and the flag"
        return build.plan_of(detail.recommendation, refusal, detail.choice or 0)

    def approve(self, address: str, *, because: str, choice: int = 0) -> Receipt:
        self.choices.append(choice)
        receipt = self.move("approve", address, because)
        self.details[address] = replace(self.details[address], choice=choice)
        return receipt

    def reject(self, address: str, *, because: str) -> Receipt:
        return self.move("reject", address, because)

    def withdraw(self, address: str, *, because: str) -> Receipt:
        return self.move("withdraw", address, because)

    def apply(self, address: str, *, because: str, allow_destructive: bool = False) -> Receipt:
        return self.move("apply", address, because)

    def rollback(self, address: str, *, because: str) -> Receipt:
        return self.move("rollback", address, because)

    def mark_applied(self, address: str, *, because: str) -> Receipt:
        return self.move("mark_applied", address, because)

    def addresses(self, status: str = "pending") -> list[str]:
        return [row.address for row in self.queue(status)]

    def tally(self) -> list[Tallied]:
        self.stumble("tally")
        found = Counter((row.analyzer, row.severity, row.status, row.foreign) for row in self.queue(None))
        return [Tallied(*key, count, NOW) for key, count in sorted(found.items())]

    def health(self, *, quick: bool = False) -> Health:
        self.stumble("health" if quick else "look")
        return self.standing

    def outcomes(self) -> Sequence[Reviewed]:
        self.stumble("outcomes")
        return self.measured

    def analyzers(self, *, quick: bool = False) -> Sequence[AnalyzerState]:
        self.stumble("analyzers" if quick else "look")
        return self.standing.analyzers

    def configure(self, analyzer: str, *, because: str, **parts: Any) -> Sequence[ConfigChange]:
        self.stumble("configure")
        self.log.append(("configure", analyzer, because))
        self.parts.append(parts)
        return (ConfigChange(analyzer, next(iter(parts)), None, None, self.actor, because, NOW, "local", ""),)

    def propose(self, **given: Any) -> str:
        self.stumble("propose")
        self.parts.append(given)
        return build.address("draft")

    def run(self, *, only: Sequence[str] = (), dry_run: bool = False) -> RunOutcome:
        self.stumble("run")
        if dry_run:
            return RunOutcome("ran", None, 1, 0, proposed=1, analyzers_run=tuple(only), drafts=("draft «x»",))
        self.ran.append(tuple(only))
        self.token += 1
        return RunOutcome("ran", None, 1, 0, proposed=2, stored=1, refreshed=1)

    def stats(self) -> dict[str, Any]:
        self.stumble("stats")
        return {"file_bytes": 12_410_880, "log_bytes": 4_120}

    def verify(self) -> Sequence[object]:
        self.stumble("verify")
        return self.faults_found

    def change_token(self) -> object:
        self.stumble("token")
        return self.token

    def move(self, act: str, address: str, because: str, actor: str | None = None) -> Receipt:
        self.stumble(act)
        self.log.append((act, address, because))
        detail = self.find(address)
        if detail.status != _FROM[act]:
            last = detail.chain.entries[-1]
            raise LoopError("LOP-E020", f"{_TO[act]} is not allowed: it is {detail.status} by {last.actor}")
        self.token += 1
        before = detail.chain.entries[-1]
        entry = AuditEntry(
            address=build.address(f"{act} {address}"),
            recommendation=address,
            previous=before.address,
            from_status=detail.status,
            to_status=_TO[act],
            actor=actor or self.actor,
            observer="human",
            because=because,
            at=NOW,
            results=(build.address(f"result {address}"),) if act == "apply" else (),
        )
        chain = replace(detail.chain, entries=(*detail.chain.entries, entry))
        plan = detail.plan if _TO[act] == "approved" else None
        self.details[address] = replace(detail, status=_TO[act], chain=chain, plan=plan)
        return Receipt(
            address, entry.address, detail.status, _TO[act], entry.actor, because, NOW, True, entry.results
        )

    def elsewhere(self, act: str, address: str, because: str, actor: str = "user:bob") -> None:
        """Another reviewer decides, in another window."""
        self.move(act, address, because, actor)
