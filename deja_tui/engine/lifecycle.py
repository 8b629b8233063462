# SPDX-License-Identifier: Apache-2.0
"""Decisions: the only way a recommendation changes status (engine rules 3, 4, 6; D14 to D19).

Every function decides about exactly one full address (D15), needs a BECAUSE of 1 to 500 characters, and does
everything inside one act of the substrate: what it checked is what it changes. The loser of two racing decisions is
refused with LOP-E020 and is told who decided.

* LIF-1  a refusal changes nothing: no grain, no mark, no status.
* LIF-2  order of checks: right, reason, exists, ours, newest, transition, then what the decision itself needs.
* LIF-3  nobody approves what they created (D14), on every surface, without exception.
* LIF-4  a destructive apply needs an earlier approval, the admin right and the caller's flag (D19).
* LIF-5  nothing is applied or rolled back on a chain that does not verify.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from deja_tui.engine import apply as applying
from deja_tui.engine import audit, views
from deja_tui.engine.actors import Caller
from deja_tui.engine.faults import LoopError
from deja_tui.engine.objects import AuditEntry, Chain, Plan, Receipt, Recommendation
from deja_tui.engine.operations import Add, Forget, Retire, Supersede
from deja_tui.engine.substrate import LedgerRow, Substrate
from deja_tui.engine.wire import read_recommendation
from deja_tui.text import REASON_MAX, clean, door, utc
from deja_tui.text import reason as as_reason

_ADDRESS: Final = re.compile(r"[0-9a-f]{64}\Z")


def approve(substrate: Substrate, address: str, because: str, caller: Caller, now_ms: int) -> Receipt:
    """Pending → approved. Raises LOP-E011, E020 to E022, E024 to E026, E040."""
    caller.need("review")
    told = check_reason(because)
    with views.atomic(substrate):
        row, previous = _open(substrate, address, "approved")
        # labels that differ in case only are one person's way around the rule
        if row.creator.lower() == caller.actor.lower():
            raise LoopError("LOP-E021", "nobody approves what they created", "ask another reviewer")
        return _decide(substrate, row, previous, "approved", caller, told, now_ms)


def reject(substrate: Substrate, address: str, because: str, caller: Caller, now_ms: int) -> Receipt:
    """Pending → rejected; the finding stays silent for its cooldown (D26)."""
    caller.need("review")
    told = check_reason(because)
    with views.atomic(substrate):
        row, previous = _open(substrate, address, "rejected")
        if row.status == "approved":
            raise LoopError("LOP-E020", "it is already approved", "withdraw takes an approval back")
        return _decide(substrate, row, previous, "rejected", caller, told, now_ms)


def withdraw(substrate: Substrate, address: str, because: str, caller: Caller, now_ms: int) -> Receipt:
    """Approved → rejected: takes an approval back before anything was applied."""
    caller.need("review")
    told = check_reason(because)
    with views.atomic(substrate):
        row, previous = _open(substrate, address, "rejected")
        if row.status != "approved":
            raise LoopError(
                "LOP-E020", f"it is {_words(row.status)}, not approved", "reject decides a pending one"
            )
        return _decide(substrate, row, previous, "rejected", caller, told, now_ms)


def apply(
    substrate: Substrate,
    address: str,
    because: str,
    caller: Caller,
    now_ms: int,
    *,
    allow_destructive: bool = False,
) -> Receipt:
    """Approved → applied: all operations and the stored inverse in one act."""
    caller.need("apply")
    told = check_reason(because)
    with views.atomic(substrate):
        row, previous = _open(substrate, address, "applied")
        body = _body(substrate, address)
        fault = _apply_refusal(substrate, row, body, caller, allow_destructive)
        if fault:
            raise fault
        done = applying.execute(substrate, body.operations, address, now_ms)
        notes = {
            "effects": list(done.effects),
            **({"inverse": list(done.inverse)} if done.inverse is not None else {}),
        }
        with applying.taken_back_on_failure(substrate, done.inverse or ()):
            return _decide(substrate, row, previous, "applied", caller, told, now_ms, done.results, notes)


def approve_and_apply(
    substrate: Substrate, address: str, because: str, caller: Caller, now_ms: int
) -> Receipt:
    """The fused call: two audit entries with one reason, in one act. Refuses a destructive proposal (D19)."""
    caller.need("review")
    caller.need("apply")
    check_reason(because)
    with views.atomic(substrate):
        row, _ = _open(substrate, address, "approved")
        body = _body(substrate, address)
        if body.destructive:
            raise LoopError(
                "LOP-E023", "a destructive change needs an approval of its own first", "approve, then apply"
            )
        # all that apply would refuse is refused now, so that no approval is left behind
        fault = _apply_refusal(substrate, row, body, caller, allow_destructive=False)
        if fault:
            raise fault
        approve(substrate, row.address, because, caller, now_ms)
        return apply(substrate, row.address, because, caller, now_ms)


def rollback(substrate: Substrate, address: str, because: str, caller: Caller, now_ms: int) -> Receipt:
    """Applied → rolled back: recall answers again what it answered before the apply."""
    caller.need("apply")
    told = check_reason(because)
    with views.atomic(substrate):
        row, previous = _open(substrate, address, "rolled_back")
        caller.need("write")
        if previous.inverse is None:
            raise LoopError("LOP-E020", "this apply has no inverse: what was forgotten is gone")
        fault = applying.undo_refusal(substrate, previous.inverse)
        if fault:
            raise fault
        effects = applying.undo(substrate, previous.inverse)
        notes = {"effects": list(effects)}
        return _decide(substrate, row, previous, "rolled_back", caller, told, now_ms, (), notes)


def plan(substrate: Substrate, address: str, caller: Caller, *, allow_destructive: bool = False) -> Plan:
    """A dry run of an apply: counts, whether it can be undone, and what would refuse it now. Writes nothing.

    A missing approval is no refusal: the plan says what would happen once it is approved.
    """
    row = find(substrate, address)
    body = _body(substrate, address)
    fault = _unfit(row)
    if fault is None and row.status not in ("pending", "approved"):
        fault = LoopError("LOP-E020", f"it is {_words(row.status)}: there is nothing left to apply")
    fault = fault or _broken(audit.chain(substrate, row))
    fault = fault or _apply_refusal(substrate, row, body, caller, allow_destructive)

    def count(kind: type) -> int:
        return sum(isinstance(operation, kind) for operation in body.operations)

    return Plan(
        recommendation=address,
        adds=count(Add),
        supersedes=count(Supersede),
        retires=count(Retire),
        forgets=count(Forget),
        undo=body.rollbackable,
        refusal=str(fault) if fault else None,
        operations=body.operations,
    )


def find(substrate: Substrate, address: str) -> LedgerRow:
    """The row of ``address``, derived where a cached ledger has lost it. Raises LOP-E040 when it is none."""
    # one full address (D15); a memory need not know what to answer to anything else
    if not isinstance(address, str) or not _ADDRESS.match(address):
        raise LoopError("LOP-E040", "this is no address of a recommendation", "deja loop list --status all")
    return views.ledger_row(substrate, address) or audit.derive(substrate, address)


def expire(substrate: Substrate, row: LedgerRow, because: str, now_ms: int) -> AuditEntry:
    """Pending or approved → expired, by the engine itself, with a system audit.

    Closes one without any audit entry, too (a memory without acts may lose it half way); its chain never verifies.
    """
    pairs = audit.entries(substrate, row.address)
    entry = audit.write(
        substrate,
        row.address,
        previous=pairs[-1][0] if pairs else None,
        to_status="expired",
        actor="engine:loop",
        observer="system",
        because=because,
        now_ms=now_ms,
    )
    record(substrate, row.address)
    return entry


def check_reason(because: object) -> str:
    """The reason as stored. Raises LOP-E011 when it is missing, blank or over 500 characters (D16)."""
    told = as_reason(because)
    length = len(door(because).strip()) if isinstance(because, str) else 0
    if length > REASON_MAX:
        raise LoopError("LOP-E011", f"a BECAUSE has at most {REASON_MAX} characters, this one has {length}")
    if told is None:
        raise LoopError(
            "LOP-E011",
            f"a BECAUSE of 1 to {REASON_MAX} characters is needed, not blank",
            "say why in one sentence",
        )
    return told


def _open(substrate: Substrate, address: str, to_status: str) -> tuple[LedgerRow, AuditEntry]:
    """The row and its newest audit entry, when ``address`` may go to ``to_status`` (LIF-2)."""
    row = find(substrate, address)
    fault = _unfit(row)
    if fault:
        raise fault
    chain = audit.chain(substrate, row)
    if not audit.allowed(row.status, to_status):
        last = chain.entries[-1] if chain.entries else None
        by = f" by {clean(last.actor, 64)} at {utc(last.at)}" if last else ""
        raise LoopError(
            "LOP-E020",
            f"{_words(row.status)} → {_words(to_status)} is not allowed: it is {_words(row.status)}{by}",
        )
    fault = _broken(chain)
    if fault:
        raise fault
    return row, chain.entries[-1]


def _unfit(row: LedgerRow) -> LoopError | None:
    """Why nothing can be decided about this address at all, or None."""
    if row.foreign:
        return LoopError(
            "LOP-E025",
            "this recommendation came from another copy of the memory: it is history here",
            "deja loop run finds it again here if it still holds",
        )
    if row.replaced_by:
        return LoopError(
            "LOP-E024", "the finding was refreshed since", f"look at the newer one: {row.replaced_by[:12]}"
        )
    return None


def _broken(chain: Chain) -> LoopError | None:
    if chain.verified:
        return None
    return LoopError("LOP-E026", f"its audit chain does not verify: {chain.fault}", "deja verify")


def _apply_refusal(
    substrate: Substrate, row: LedgerRow, body: Recommendation, caller: Caller, allow_destructive: bool
) -> LoopError | None:
    if body.destructive and not (caller.may("admin") and allow_destructive and row.status == "approved"):
        return LoopError(
            "LOP-E023",
            "a destructive change needs an earlier approval, the admin right and the flag",
            "deja loop apply … --allow-destructive",
        )
    if not caller.may("write"):
        return LoopError("LOP-E022", "what this would do needs the right write")
    return applying.refusal(substrate, body.operations)


def _decide(
    substrate: Substrate,
    row: LedgerRow,
    previous: AuditEntry,
    to_status: str,
    caller: Caller,
    because: str,
    now_ms: int,
    results: tuple[str, ...] = (),
    notes: Mapping[str, object] | None = None,
) -> Receipt:
    entry = audit.write(
        substrate,
        row.address,
        previous=previous,
        to_status=to_status,
        actor=caller.actor,
        observer=audit.observer_of(caller.actor),
        because=because,
        now_ms=now_ms,
        results=results,
        notes=notes,
    )
    record(substrate, row.address)
    return Receipt(
        recommendation=row.address,
        audit=entry.address,
        from_status=row.status,
        to_status=to_status,
        actor=caller.actor,
        because=because,
        at=entry.at,
        chain_verified=audit.chain(substrate, find(substrate, row.address)).verified,
        results=results,
    )


def record(substrate: Substrate, address: str) -> None:
    """Derive the row anew from grains and put it into the cached ledger, where there is one."""
    if views.caches_ledger(substrate):
        views.ledger_put(substrate, audit.derive(substrate, address))


def _body(substrate: Substrate, address: str) -> Recommendation:
    grain = substrate.get(address)
    if grain is None:
        raise LoopError("LOP-E040", "there is no such recommendation")
    return read_recommendation(grain)


def _words(status: str) -> str:
    return status.replace("_", " ")
