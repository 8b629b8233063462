# SPDX-License-Identifier: Apache-2.0
"""The status of every recommendation, derived from grains alone (D1): losing a cached ledger loses nothing.

* LED-1  status is what the newest audit entry of exactly that address says (D4).
* LED-2  a recommendation without an audit entry is pending with no creator; its chain does not verify.
* LED-3  origin and foreign come from where the grain arrived, never from its content (D5, D8).
* LED-4  an audit entry that was imported says nothing about a recommendation that was made here, nor the other way
  round: an approval that came in with a bundle is history, not a decision (D5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from deja_tui.engine.faults import LoopError
from deja_tui.engine.objects import SEVERITIES, AuditEntry, Recommendation
from deja_tui.engine.substrate import LOOP_NAMESPACE, LedgerRow, StoredGrain, Substrate, Tallied
from deja_tui.engine.wire import read_audit, read_recommendation
from deja_tui.text import DAY_MS

ACKNOWLEDGED_MS: Final = 90 * DAY_MS  # how long an approved advice stays approved (D26)
LONGEST_COOLDOWN_MS: Final = 90 * DAY_MS
_FIRST_COOLDOWN_DAYS: Final = 7
_LONGEST_COOLDOWN_DAYS: Final = 90


def replay(substrate: Substrate) -> Iterator[LedgerRow]:
    """Every recommendation's row, in arrival order. Grains that are no readable recommendation are left out."""
    heads: dict[tuple[str, bool], tuple[AuditEntry, int]] = {}
    firsts: dict[tuple[str, bool], AuditEntry] = {}
    for grain in substrate.scan("observation", [LOOP_NAMESPACE]):
        entry = read_audit(grain)
        if entry is not None:
            heads[entry.recommendation, grain.imported] = (entry, grain.seq)
            firsts.setdefault((entry.recommendation, grain.imported), entry)
    for grain in substrate.scan("recommendation", [LOOP_NAMESPACE]):
        try:
            body = read_recommendation(grain)
        except LoopError:
            continue
        key = (grain.address, grain.imported)
        yield row_of(body, grain, heads.get(key), firsts.get(key))


def row_of(
    body: Recommendation,
    grain: StoredGrain,
    head: tuple[AuditEntry, int] | None,
    first: AuditEntry | None,
) -> LedgerRow:
    """The row of one recommendation from its body, its newest audit entry and its first."""
    entry, seq = head if head else (None, grain.seq)
    return LedgerRow(
        address=body.address,
        identity=body.identity,
        analyzer=body.analyzer,
        target_ref=body.target_ref,
        severity=body.severity,
        status=entry.to_status if entry else "pending",
        created_at=body.created_at,
        since=body.since,
        decided_at=entry.at if entry else body.created_at,
        decided_seq=seq,
        creator=(first.creator or first.actor) if first else "",
        origin=(first.origin or "builtin") if first else "",
        foreign=grain.imported,
        replaced_by=grain.superseded_by,
    )


def tally(rows: Iterable[LedgerRow]) -> list[Tallied]:
    """How many rows there are of each analyzer, severity, status and origin."""
    found: dict[tuple[str, str, str, bool], tuple[int, int]] = {}
    for row in rows:
        key = row.analyzer, row.severity, row.status, row.foreign
        count, first = found.get(key, (0, row.since))
        found[key] = count + 1, min(first, row.since)
    return [Tallied(*key, *told) for key, told in sorted(found.items())]


def queue_order(row: LedgerRow) -> tuple[int, int, str, str]:
    """Severity falling, then the oldest finding, then identity, then address."""
    return (-SEVERITIES.index(row.severity), row.since, row.identity, row.address)


def cooling_until(rows: list[LedgerRow]) -> int:
    """Epoch ms until which an identity stays silent, 0 when it does not (D26).

    ``rows`` are the identity's rows, oldest decision first. Each rejection, withdrawal or rollback since the last
    one that stands doubles the wait: 7, 14, 28, 56 days, then 90.
    """
    strikes, until = 0, 0
    for row in rows:
        if row.status in ("rejected", "rolled_back"):
            strikes += 1
            days = min(_FIRST_COOLDOWN_DAYS * 2 ** (strikes - 1), _LONGEST_COOLDOWN_DAYS)
            until = row.decided_at + days * DAY_MS
        elif row.status in ("approved", "applied"):
            strikes, until = 0, 0
    return until
