# SPDX-License-Identifier: Apache-2.0
"""What surfaces read: the queue, one recommendation in detail, its chain. Writes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from deja_tui.engine import audit, lifecycle, outcomes, views
from deja_tui.engine.actors import Caller
from deja_tui.engine.faults import LoopError
from deja_tui.engine.ledger import ACKNOWLEDGED_MS
from deja_tui.engine.looking import WATERMARK
from deja_tui.engine.objects import Chain, Detail, Evidence, QueueRow, Recommendation
from deja_tui.engine.operations import DefineQuery, Operation, Revert
from deja_tui.engine.substrate import LedgerRow, SavesQueries, Substrate
from deja_tui.engine.templates import render
from deja_tui.engine.wire import read_recommendation
from deja_tui.errors import DejaError


def queue(
    substrate: Substrate, statuses: Iterable[str] | None, *, limit: int | None = None
) -> list[QueueRow]:
    """Rows in queue order, at most ``limit`` of them; ``statuses`` None: every status.

    One that came from another copy is folded under ours with the same finding: it is not listed, and blocks nothing (D5).
    An open one whose analyzer has looked here since it came, and has not found it, is listed with all statuses only.
    """
    wanted = None if statuses is None else tuple(statuses)
    if limit is not None and not any(one.foreign for one in views.tally(substrate)):
        first = views.ledger(substrate, wanted, limit=max(0, limit))
        readable = [row for row in (_readable_row(substrate, row) for row in first) if row is not None]
        if len(readable) == len(first):
            return readable
    listed, theirs = _listed(substrate, wanted)
    rows: list[QueueRow] = []
    for row in listed:
        if limit is not None and len(rows) >= limit:
            break
        found = _readable_row(substrate, row)
        if found is not None:
            rows.append(found if row.foreign else replace(found, folded=theirs[row.identity]))
    return rows


def waiting(substrate: Substrate, status: str) -> int:
    """How many rows `queue` has of a status, from the ledger alone: no recommendation is read."""
    tally = views.tally(substrate)
    if not any(one.foreign for one in tally):
        return sum(one.count for one in tally if one.status == status)
    return len(_listed(substrate, (status,))[0])


def addresses(substrate: Substrate, status: str) -> list[str]:
    """What `queue` has of a status, in its order, from the ledger alone: no recommendation is read."""
    return [row.address for row in _listed(substrate, (status,))[0]]


def _listed(
    substrate: Substrate, statuses: Iterable[str] | None
) -> tuple[list[LedgerRow], Mapping[str, int]]:
    """The rows of a queue in its order, and how often each finding came from another copy."""
    listed = views.ledger(substrate, statuses)
    theirs = Counter(row.identity for row in listed if row.foreign)
    if not theirs:
        return listed, theirs
    if statuses is not None:
        listed = _without_undead(substrate, listed)
    ours = {
        identity
        for identity, rows in views.ledger_by_identity(substrate, list(theirs)).items()
        if not all(row.foreign for row in rows)
    }
    return [row for row in listed if not (row.foreign and row.identity in ours)], theirs


def _without_undead(substrate: Substrate, rows: list[LedgerRow]) -> list[LedgerRow]:
    """Rows without open foreign ones that no run here found: nobody can decide them, and they would stay for ever."""
    looked: dict[str, int] = {}
    for name in {row.analyzer for row in rows if row.foreign}:
        kept = views.setting(substrate, f"{WATERMARK}{name}")
        told = kept.get("arrived") if isinstance(kept, Mapping) else None
        looked[name] = told if isinstance(told, int) else 0
    return [
        row
        for row in rows
        if not row.foreign
        or row.status not in ("pending", "approved")
        or row.decided_seq > looked[row.analyzer]
    ]


def _readable_row(substrate: Substrate, row: LedgerRow) -> QueueRow | None:
    """A recommendation whose bytes cannot be read any more stays in the queue and says so; one that is gone does not."""
    try:
        grain = substrate.get(row.address)
        return None if grain is None else _queue_row(row, read_recommendation(grain))
    except DejaError as fault:
        return QueueRow(
            address=row.address,
            status=row.status,
            severity=row.severity,
            analyzer=row.analyzer,
            origin=row.origin,
            target_ref=row.target_ref,
            summary=str(fault),
            evidence_total=0,
            age_from=row.since,
            destructive=False,
            rollbackable=False,
            foreign=row.foreign,
        )


def _queue_row(row: LedgerRow, body: Recommendation) -> QueueRow:
    return QueueRow(
        address=row.address,
        status=row.status,
        severity=row.severity,
        analyzer=row.analyzer,
        origin=row.origin,
        target_ref=row.target_ref,
        summary=render(body.summary.template_id, body.summary.args),
        evidence_total=body.evidence_total,
        age_from=row.since,
        destructive=body.destructive,
        rollbackable=body.rollbackable,
        foreign=row.foreign,
        expires_at=row.decided_at + ACKNOWLEDGED_MS if row.status == "approved" and body.advice else None,
    )


def show(substrate: Substrate, address: str, caller: Caller, *, allow_destructive: bool = False) -> Detail:
    """Everything about one recommendation; an address that was refreshed shows the one that took its place (D4).

    Raises LOP-E040 and LOP-E012.
    """
    row = lifecycle.find(substrate, address)
    while row.replaced_by is not None:
        address = row.replaced_by
        row = lifecycle.find(substrate, address)
    grain = substrate.get(address)
    if grain is None:
        raise LoopError("LOP-E040", "there is no such recommendation")
    body = read_recommendation(grain)
    same = views.ledger_by_identity(substrate, [row.identity]).get(row.identity, [])
    open_ = row.status in ("pending", "approved") and not row.foreign and row.replaced_by is None
    operations = [operation for choice in body.choices for operation in choice.operations]
    undoes = {one.recommendation: _inverse(substrate, one) for one in operations if isinstance(one, Revert)}
    targets = {target for operation in operations for target in operation.targets()}
    targets.update(str(step["grain"]) for steps in undoes.values() for step in steps if "grain" in step)
    found = audit.chain(substrate, row)
    return Detail(
        recommendation=body,
        status=row.status,
        origin=row.origin,
        creator=row.creator,
        foreign=row.foreign,
        replaced_by=row.replaced_by,
        summary=render(body.summary.template_id, body.summary.args),
        evidence=tuple(_evidence(substrate, cited) for cited in body.evidence),
        targets={target: _evidence(substrate, target) for target in sorted(targets)},
        chain=found,
        plan=lifecycle.plan(substrate, address, caller, allow_destructive=allow_destructive)
        if open_
        else None,
        choice=_approved_choice(found),
        twins=tuple(one.address for one in same if one.address != row.address and one.foreign != row.foreign),
        texts=_texts(substrate, operations),
        undoes=undoes,
        outcomes=outcomes.of(substrate, address) if row.status in ("applied", "rolled_back") else (),
    )


def _texts(substrate: Substrate, operations: Iterable[Operation]) -> dict[str, str]:
    """The bodies that are there now of the queries and templates that operations define."""
    if not isinstance(substrate, SavesQueries):
        return {}
    names = {(one.scheme, one.name) for one in operations if isinstance(one, DefineQuery)}
    held = {f"{scheme}:{name}": substrate.saved_query(name, scheme) for scheme, name in sorted(names)}
    return {name: body for name, body in held.items() if body is not None}


def _inverse(substrate: Substrate, revert: Revert) -> tuple[Mapping[str, Any], ...]:
    """The stored inverse of what a revert takes back; empty when there is none."""
    pairs = audit.entries(substrate, revert.recommendation)
    return (pairs[-1][0].inverse or ()) if pairs else ()


def _approved_choice(chain: Chain) -> int | None:
    """The alternative of the newest approval; None when there is none."""
    return next((one.choice for one in reversed(chain.entries) if one.to_status == "approved"), None)


def _evidence(substrate: Substrate, address: str) -> Evidence:
    grain = substrate.get(address)
    if grain is None:
        return Evidence(address, None, None, None, False)
    return Evidence(address, grain.type, grain.namespace, grain.created_at, grain.live, grain.fields)


def chain(substrate: Substrate, address: str) -> Chain:
    """The audit chain of one recommendation, also of one whose body was erased. Raises LOP-E040."""
    if substrate.get(address) is None:
        gone = audit.erased(substrate, address)
        if gone:
            return gone
    return audit.chain(substrate, lifecycle.find(substrate, address))
