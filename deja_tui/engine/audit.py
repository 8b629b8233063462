# SPDX-License-Identifier: Apache-2.0
"""The audit chain of a recommendation: one Observation a transition, each naming its predecessor.

* AUD-1  exactly one first entry (to pending, no predecessor), written by the engine.
* AUD-2  every later entry names the entry before it, so the chain has one order.
* AUD-3  every transition is one that `TRANSITIONS` allows.
* AUD-4  times do not run backwards (a clock that jumps back is written as the predecessor's time).
* AUD-5  every grain of the chain still has the address of its bytes.
* AUD-6  the last status is the status shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from deja_tui.engine import views
from deja_tui.engine.objects import AuditEntry, Chain
from deja_tui.engine.substrate import LedgerRow, StoredGrain, Substrate
from deja_tui.engine.wire import audit_grain, read_audit
from deja_tui.text import utc

# from → {to: who may cause it}. A status that is no key is final.
TRANSITIONS: Final[Mapping[str | None, Mapping[str, str]]] = {
    None: {"pending": "engine"},
    "pending": {"approved": "review", "rejected": "review", "expired": "engine"},
    "approved": {"applied": "apply", "rejected": "review", "expired": "engine"},
    "applied": {"rolled_back": "apply"},
}


def allowed(from_status: str | None, to_status: str) -> bool:
    """Whether the lifecycle knows this transition."""
    return to_status in TRANSITIONS.get(from_status, {})


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


def entries(substrate: Substrate, recommendation: str) -> list[tuple[AuditEntry, StoredGrain]]:
    """Audit entries with their grains, in arrival order."""
    found = ((read_audit(grain), grain) for grain in views.audits_of(substrate, recommendation))
    return [(entry, grain) for entry, grain in found if entry is not None]


def chain(substrate: Substrate, row: LedgerRow) -> Chain:
    """The chain of one recommendation and the first thing that is wrong with it, if any."""
    pairs = entries(substrate, row.address)
    told = tuple(entry for entry, _ in pairs)
    fault = _first_fault(substrate, row, told)
    if fault is None:
        return Chain(told, True)
    return Chain(told, False, fault[0], fault[1])


def _first_fault(
    substrate: Substrate, row: LedgerRow, told: tuple[AuditEntry, ...]
) -> tuple[str, str] | None:
    if not views.intact(substrate, row.address):
        return "the recommendation's bytes no longer have its address", row.address
    previous: AuditEntry | None = None
    for entry in told:
        fault = _fault_of_link(substrate, entry, previous)
        if fault:
            return fault, entry.address
        previous = entry
    if previous is None:
        return "there is no audit entry", row.address
    if previous.to_status != row.status:
        return "the status shown is not the last status of the chain", previous.address
    return None


def _fault_of_link(substrate: Substrate, entry: AuditEntry, previous: AuditEntry | None) -> str | None:
    if not views.intact(substrate, entry.address):
        return "the entry's bytes no longer have its address"
    if (previous is None) != (entry.from_status is None):
        return "a first entry stands in the middle" if previous else "the first entry is missing"
    if previous is None:
        return None if allowed(None, entry.to_status) else "the chain does not begin with pending"
    if entry.previous != previous.address or entry.from_status != previous.to_status:
        return "the entry does not follow the one before it"
    if not allowed(entry.from_status, entry.to_status):
        return "the transition is not one the lifecycle allows"
    if entry.at < previous.at:
        return f"time runs backwards, to {utc(entry.at)}"
    return None
