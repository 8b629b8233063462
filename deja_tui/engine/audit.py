# SPDX-License-Identifier: Apache-2.0
"""The audit chain of a recommendation: one Observation a transition, each naming its predecessor.

* AUD-1  exactly one first entry (to pending, no predecessor). It and every expiry is the engine's own, no other is; an
  apply without an approval is the policy's, no other is.
* AUD-2  every later entry names the entry before it, so the chain has one order.
* AUD-3  every transition is one that `TRANSITIONS` allows.
* AUD-4  times do not run backwards (a clock that jumps back is written as the predecessor's time).
* AUD-5  every grain of the chain still has the address of its bytes.
* AUD-6  the last status is the status shown, and the row shown is the one that the grains give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from deja_tui.engine import views
from deja_tui.engine.faults import LoopError
from deja_tui.engine.ledger import row_of
from deja_tui.engine.objects import AuditEntry, Chain
from deja_tui.engine.substrate import LedgerRow, StoredGrain, Substrate
from deja_tui.engine.wire import audit_grain, read_audit, read_recommendation
from deja_tui.text import utc

# from → {to: who may cause it}. A status that is no key is final.
TRANSITIONS: Final[Mapping[str | None, Mapping[str, str]]] = {
    None: {"pending": "engine"},
    "pending": {"approved": "review", "rejected": "review", "expired": "engine", "applied": "policy"},
    "approved": {"applied": "apply", "rejected": "review", "expired": "engine"},
    "applied": {"rolled_back": "apply"},
}


_OBSERVERS: Final[Mapping[str, str]] = {"engine": "system", "policy": "policy"}


def allowed(from_status: str | None, to_status: str) -> bool:
    """Whether somebody may cause this transition by a decision, or the engine by itself; a policy's is not meant."""
    return TRANSITIONS.get(from_status, {}).get(to_status, "policy") != "policy"


def observer_of(actor: str) -> str:
    """``agent`` for actors with an agent's prefix, else ``human``."""
    return "agent" if actor.split(":", 1)[0] in ("agent", "bot", "job", "svc") and ":" in actor else "human"


def write(
    substrate: Substrate,
    recommendation: str,
    *,
    previous: AuditEntry | None,
    to_status: str,
    actor: str,
    observer: str,
    because: str,
    now_ms: int,
    results: tuple[str, ...] = (),
    notes: Mapping[str, Any] | None = None,
) -> AuditEntry:
    """Append one entry and return it as it was read back."""
    grain = audit_grain(
        recommendation=recommendation,
        previous=previous.address if previous else None,
        from_status=previous.to_status if previous else None,
        to_status=to_status,
        actor=actor,
        observer=observer,
        because=because,
        at=max(now_ms, previous.at) if previous else now_ms,
        results=results,
        notes=notes,
    )
    stored = substrate.get(substrate.put(grain).address)
    entry = read_audit(stored) if stored else None
    if entry is None:
        raise AssertionError("a substrate must return the audit grain it has just stored (SUB-2)")
    return entry


def entries(
    substrate: Substrate, recommendation: str, audits: Sequence[StoredGrain] | None = None
) -> list[tuple[AuditEntry, StoredGrain]]:
    """Audit entries with their grains, in their order; imported ones only of an imported recommendation (LED-4).

    Args:
        audits: what `views.audits` gave for it, where many are asked for; None reads them.
    """
    about = substrate.get(recommendation)
    foreign = about is not None and about.imported
    given = views.audits_of(substrate, recommendation) if audits is None else audits
    found = ((read_audit(grain), grain) for grain in given)
    pairs = [(entry, grain) for entry, grain in found if entry is not None and grain.imported == foreign]
    return _linked(pairs) if foreign else pairs


def _linked(pairs: list[tuple[AuditEntry, StoredGrain]]) -> list[tuple[AuditEntry, StoredGrain]]:
    """Entries that came from elsewhere, in any order of their bundles, each behind the one it names (AUD-2)."""
    here = {entry.address for entry, _ in pairs}
    after: dict[str | None, list[tuple[AuditEntry, StoredGrain]]] = {}
    for pair in reversed(pairs):
        after.setdefault(pair[0].previous if pair[0].previous in here else None, []).append(pair)
    ordered, waiting = [], after.get(None, [])
    while waiting:
        ordered.append(waiting.pop())
        waiting += after.get(ordered[-1][0].address, [])
    return ordered


def derive(substrate: Substrate, address: str) -> LedgerRow:
    """The row of one recommendation, from its grain and its audit chain alone. Raises LOP-E040 and LOP-E012."""
    return _row(substrate, address, entries(substrate, address))


def first_row(substrate: Substrate, address: str, entry: AuditEntry) -> LedgerRow:
    """The row of a recommendation whose trail is this one entry. Raises LOP-E040 and LOP-E012."""
    stored = substrate.get(entry.address)
    return _row(substrate, address, [] if stored is None else [(entry, stored)])


def _row(substrate: Substrate, address: str, pairs: list[tuple[AuditEntry, StoredGrain]]) -> LedgerRow:
    grain = substrate.get(address)
    if grain is None:
        raise LoopError("LOP-E040", "there is no such recommendation", "deja loop list --status all")
    body = read_recommendation(grain)
    head = (pairs[-1][0], pairs[-1][1].seq) if pairs else None
    return row_of(body, grain, head, pairs[0][0] if pairs else None)


def chain(substrate: Substrate, row: LedgerRow, audits: Sequence[StoredGrain] | None = None) -> Chain:
    """The chain of one recommendation and the first thing that is wrong with it, if any. ``audits``: see `entries`."""
    pairs = entries(substrate, row.address, audits)
    told = tuple(entry for entry, _ in pairs)
    fault = _first_fault(substrate, row, pairs)
    if fault is None:
        return Chain(told, True)
    return Chain(told, False, fault[0], fault[1])


def erased(substrate: Substrate, address: str) -> Chain | None:
    """The chain of a recommendation whose body was erased (D31): what was decided, without what it was about.

    None when nothing was ever decided about this address.
    """
    read = ((read_audit(grain), grain) for grain in views.audits_of(substrate, address))
    found = [(entry, grain) for entry, grain in read if entry is not None]
    # of entries that were made here and entries that came in, only one kind is about it (LED-4)
    here = [entry for entry, grain in found if not grain.imported]
    told = here or [entry for entry, _ in _linked(found)]
    if not told:
        return None
    previous: AuditEntry | None = None
    for entry in told:
        fault = _fault_of_link(substrate, entry, previous)
        if fault:
            return Chain(tuple(told), False, fault, entry.address, erased=True)
        previous = entry
    return Chain(tuple(told), True, erased=True)


def _first_fault(
    substrate: Substrate, row: LedgerRow, pairs: list[tuple[AuditEntry, StoredGrain]]
) -> tuple[str, str] | None:
    if not views.intact(substrate, row.address):
        return "the recommendation's bytes no longer have its address", row.address
    previous: AuditEntry | None = None
    for entry, _ in pairs:
        fault = _fault_of_link(substrate, entry, previous)
        if fault:
            return fault, entry.address
        previous = entry
    if previous is None:
        return "there is no audit entry", row.address
    if previous.to_status != row.status:
        return "the status shown is not the last status of the chain", previous.address
    try:
        derived = _row(substrate, row.address, pairs)
    except LoopError:
        return "the recommendation cannot be read", row.address
    return None if derived == row else ("the row shown is not what the grains say", row.address)


def _fault_of_link(substrate: Substrate, entry: AuditEntry, previous: AuditEntry | None) -> str | None:
    if not views.intact(substrate, entry.address):
        return "the entry's bytes no longer have its address"
    if (previous is None) != (entry.from_status is None):
        return "a first entry stands in the middle" if previous else "the first entry is missing"
    follows = previous is None or (
        entry.previous == previous.address and entry.from_status == previous.to_status
    )
    if not follows:
        return "the entry does not follow the one before it"
    by = TRANSITIONS.get(entry.from_status, {}).get(entry.to_status)
    if by is None:
        return "the transition is not one the lifecycle allows"
    if _OBSERVERS.get(by) != (entry.observer if entry.observer in _OBSERVERS.values() else None):
        return "the entry was written by somebody who may not"
    if previous and entry.at < previous.at:
        return f"time runs backwards, to {utc(entry.at)}"
    return None
