# SPDX-License-Identifier: Apache-2.0
"""What surfaces read: the queue, one recommendation in detail, its chain. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterable

from deja_tui.engine import audit, lifecycle, views
from deja_tui.engine.actors import Caller
from deja_tui.engine.faults import LoopError
from deja_tui.engine.objects import Chain, Detail, Evidence, QueueRow, Recommendation
from deja_tui.engine.substrate import LedgerRow, Substrate
from deja_tui.engine.templates import render
from deja_tui.engine.wire import read_recommendation
from deja_tui.errors import DejaError


def queue(substrate: Substrate, statuses: Iterable[str] | None) -> list[QueueRow]:
    """Rows in queue order; None: every status."""
    rows = []
    for row in views.ledger(substrate, statuses):
        found = _readable_row(substrate, row)
        if found is not None:
            rows.append(found)
    return rows


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
    open_ = row.status in ("pending", "approved") and not row.foreign and row.replaced_by is None
    targets = {target for operation in body.operations for target in operation.targets()}
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
        chain=audit.chain(substrate, row),
        plan=lifecycle.plan(substrate, address, caller, allow_destructive=allow_destructive)
        if open_
        else None,
    )


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
