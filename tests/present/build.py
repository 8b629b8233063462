# SPDX-License-Identifier: Apache-2.0
"""Objects of the loop for tests of surfaces: one failing tool, three copies of a fact, one destructive finding."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deja_tui.engine.objects import (
    AuditEntry,
    Chain,
    Detail,
    Evidence,
    Plan,
    QueueRow,
    Receipt,
    Recommendation,
    Summary,
)
from deja_tui.engine.operations import Add, Alternative, Forget, Operation, Retire
from tests.support import DAY, NOW

HOUR = 3_600_000


def address(name: str) -> str:
    """A made-up address that is always the same for the same name."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def grain(
    name: str, type: str = "tool", at: int = NOW - 2 * DAY, live: bool = True, **fields: Any
) -> Evidence:
    return Evidence(address(name), type, "shared", at, live, fields)


def error(number: int, text: object = '{"error":"rate_limited"}', thread: str = "sess-42") -> Evidence:
    return grain(
        f"error {number}",
        at=NOW - 2 * DAY - number * HOUR,
        tool_name="stripe_refund",
        tool_content=text,
        is_error=True,
        session_id=thread,
    )


def fact(
    name: str, subject: str = "acme", relation: str = "likes", object: str = "green tea", at: int = NOW
) -> Evidence:
    return grain(name, "fact", at, subject=subject, relation=relation, object=object, confidence=0.9)


def entry(
    of: str,
    to: str,
    *,
    before: str | None = None,
    was: str | None = None,
    actor: str = "",
    because: str = "",
    at: int = NOW,
) -> AuditEntry:
    return AuditEntry(
        address=address(f"audit {of} {to}"),
        recommendation=of,
        previous=before,
        from_status=was,
        to_status=to,
        actor=actor or "engine:loop.tool_failure/1",
        observer="human" if actor else "system",
        because=because or "proposed by the analyzer",
        at=at,
        results=(),
    )


def recommendation(
    name: str,
    operations: Sequence[Operation],
    evidence: Sequence[Evidence],
    *,
    analyzer: str = "loop.tool_failure/1",
    target: str = "entity:lessons/stripe_refund#1f2e3d4c5b6a",
    severity: str = "high",
    args: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    since: int = NOW - 3 * DAY,
    remaining: int = 0,
    total: int | None = None,
) -> Recommendation:
    return Recommendation(
        address=address(name),
        analyzer=analyzer,
        params=params or {},
        target_ref=target,
        action="cluster_failure",
        identity=address(f"identity {name}"),
        summary=Summary("test.summary", args or {}),
        severity=severity,
        operations=tuple(operations),
        evidence=tuple(one.address for one in evidence),
        evidence_total=len(evidence) if total is None else total,
        evidence_query=None,
        remaining=remaining,
        metric={"metric": "tool_error_recurrence"},
        confidence=0.4,
        importance=0.5,
        created_at=since,
        since=since,
        refreshes=None,
    )


def detail(
    body: Recommendation,
    summary: str,
    evidence: Sequence[Evidence],
    targets: Sequence[Evidence] = (),
    *,
    status: str = "pending",
    chain: Chain | None = None,
    creator: str | None = None,
    foreign: bool = False,
    origin: str = "builtin",
) -> Detail:
    creator = creator or f"engine:{body.analyzer}"
    proposed = entry(body.address, "pending", at=body.since)
    return Detail(
        recommendation=body,
        status=status,
        origin=origin,
        creator=creator,
        foreign=foreign,
        replaced_by=None,
        summary=summary,
        evidence=tuple(evidence),
        targets={one.address: one for one in targets},
        chain=chain or Chain((replace(proposed, actor=creator),), True),
        plan=plan_of(body),
    )


def plan_of(body: Recommendation, refusal: str | None = None, choice: int = 0) -> Plan:
    operations = body.chosen(choice)
    kinds = [operation.kind for operation in operations]
    counts = {name: kinds.count(name) for name in ("add", "supersede", "retire", "forget")}
    return Plan(
        body.address,
        counts["add"],
        counts["supersede"],
        counts["retire"],
        counts["forget"],
        bool(operations) and all(operation.undoable for operation in operations),
        refusal,
        operations,
        choice=choice,
    )


def tool_failure(
    signature: str = "rate limited", tool: str = "stripe_refund", summary: str | None = None
) -> Detail:
    """The finding of the mock-ups: 8 of 20 calls of one tool failed the same way."""
    evidence = [error(number) for number in range(8)]
    lesson = Add(
        "fact", "shared", {"subject": tool, "relation": "fails_with", "object": signature, "confidence": 0.4}
    )
    body = recommendation(
        "tool failure",
        [lesson],
        evidence,
        args={"tool": tool, "count": 8, "calls": 20, "signature": signature},
        params={"min_count": 3, "min_rate": 0.4, "min_abs": 50, "window_days": 30},
    )
    said = summary or f"{tool}: 8 of 20 calls failed the same way: «{signature}»"
    return detail(body, said, evidence)


def duplicates() -> Detail:
    """Three copies of one fact; two are retired in favour of the oldest."""
    kept = fact("fact 0", at=NOW - 20 * DAY)
    others = [fact(f"fact {number}", at=NOW - (20 - number) * DAY) for number in (1, 2)]
    body = recommendation(
        "duplicates",
        [Retire(one.address, kept.address) for one in others],
        [kept, *others],
        analyzer="loop.duplicate_sweep/1",
        target="entity:shared/acme#likes·0a1b2c3d4e5f",
        severity="low",
        args={"count": 3},
        since=NOW - 2 * DAY,
    )
    return detail(body, "3 copies of one fact: acme · likes · green tea", [kept, *others], [kept, *others])


def expired_fact() -> Detail:
    """One fact past its declared end; the proposal forgets it."""
    gone = fact("promo", "acme", "promo_code", "SPRING-24", at=NOW - 200 * DAY)
    body = recommendation(
        "expired",
        [Forget(gone.address)],
        [gone],
        analyzer="loop.staleness/1",
        target=f"grain:{gone.address}",
        severity="medium",
        since=NOW - 5 * HOUR,
    )
    return detail(body, "acme · promo_code · SPRING-24 passed its declared end 120 days ago", [gone], [gone])


def either() -> Detail:
    """Two values of one key: the newer stays by default, the older as choice 1; choice 2 forgets both."""
    new, old = fact("gold", "acme", "tier", "gold"), fact("silver", "acme", "tier", "silver", at=NOW - DAY)
    choices = (
        Alternative("gold stays", (Retire(old.address, new.address),)),
        Alternative("silver stays", (Retire(new.address, old.address),)),
        Alternative("neither", (Forget(old.address), Forget(new.address))),
    )
    body = recommendation(
        "either", choices[0].operations, [new, old], analyzer="loop.contradiction_sweep/1", target="entity:shared/acme#tier"
    )  # fmt: skip
    said = "acme has 2 current values for tier: gold, silver"
    return detail(replace(body, alternatives=choices), said, [new, old], [new, old])


def row_of(found: Detail) -> QueueRow:
    body = found.recommendation
    return QueueRow(
        address=body.address,
        status=found.status,
        severity=body.severity,
        analyzer=body.analyzer,
        origin=found.origin,
        target_ref=body.target_ref,
        summary=found.summary,
        evidence_total=body.evidence_total,
        age_from=body.since,
        destructive=body.destructive,
        rollbackable=body.rollbackable,
        foreign=found.foreign,
    )


def receipt(
    of: Detail, was: str = "pending", to: str = "approved", because: str = "retries belong in the client"
) -> Receipt:
    return Receipt(
        recommendation=of.recommendation.address,
        audit=address(f"receipt {of.recommendation.address} {to}"),
        from_status=was,
        to_status=to,
        actor="user:local",
        because=because,
        at=NOW,
        chain_verified=True,
        results=(),
    )
