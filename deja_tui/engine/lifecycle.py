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
* LIF-6  an apply carries out the alternative that the approval names, and no other (D20); its gates are those of that one.
* LIF-7  what lies outside this memory is never applied by it, only marked; what lies inside is never marked (D27).
* LIF-8  a revert is an undo with an approval of its own: the original is rolled back in the same act, and its entry names
  the revert.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from deja_tui.engine import apply as applying
from deja_tui.engine import audit, config, views
from deja_tui.engine.actors import Caller
from deja_tui.engine.faults import LoopError
from deja_tui.engine.identity import target_class
from deja_tui.engine.objects import AuditEntry, Chain, Plan, Receipt, Recommendation
from deja_tui.engine.operations import DocEdit, Operation, Revert
from deja_tui.engine.substrate import LedgerRow, Substrate
from deja_tui.engine.wire import read_recommendation
from deja_tui.errors import DejaError
from deja_tui.text import REASON_MAX, clean, door, utc
from deja_tui.text import reason as as_reason

_ADDRESS: Final = re.compile(r"[0-9a-f]{64}\Z")
# the one kind of parameter that approving a flag may add a word to (D25)
_LISTS: Final = ("extra_relations",)
# What leads on where a decision is not allowed: (from, to) → the next step.
_INSTEAD: Final = {
    ("pending", "applied"): "approve it first",
    ("pending", "rolled_back"): "reject decides a pending one",
    ("approved", "rolled_back"): "withdraw takes an approval back",
    ("applied", "rejected"): "rollback takes an applied one back",
}


def approve(
    substrate: Substrate, address: str, because: str, caller: Caller, now_ms: int, choice: int = 0
) -> Receipt:
    """Pending → approved; ``choice`` is the number of the alternative that an apply will carry out (D20).

    Approving a flag that asks for a setting writes it, too, which needs admin (D25). Raises LOP-E011, E020 to E022, E024
    to E026, E031, E040.
    """
    caller.need("review")
    told = check_reason(because)
    with views.atomic(substrate):
        row, previous = _open(substrate, address, "approved")
        _not_by_creator(row, caller)
        body = _body(substrate, address)
        chosen(body, choice)
        _configure(substrate, body, caller, told, now_ms)
        notes = {"choice": choice} if body.alternatives else {}
        return _decide(substrate, row, previous, "approved", caller, told, now_ms, (), notes)


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
    """Approved → applied: all operations of the approved choice and the stored inverse in one act."""
    caller.need("apply")
    told = check_reason(because)
    with views.atomic(substrate):
        row, previous = _open(substrate, address, "applied")
        body = _body(substrate, address)
        operations = chosen(body, previous.choice)
        fault = _apply_refusal(substrate, row, body, operations, caller, allow_destructive)
        if fault:
            raise fault
        if isinstance(operations[0], Revert):
            original = operations[0].recommendation
            back = _reverted_by(substrate, original, address)
            back = back or _roll_back(substrate, original, caller, told, now_ms, address).audit
            notes = {"reverted": original}
            return _decide(substrate, row, previous, "applied", caller, told, now_ms, (back,), notes)
        return _carry_out(substrate, row, previous, operations, caller, told, now_ms)


def _carry_out(
    substrate: Substrate,
    row: LedgerRow,
    previous: AuditEntry,
    operations: Sequence[Operation],
    caller: Caller,
    because: str,
    now_ms: int,
) -> Receipt:
    done = applying.execute(substrate, operations, row.address, now_ms)
    notes = {
        "effects": list(done.effects),
        **({"inverse": list(done.inverse)} if done.inverse is not None else {}),
    }
    with applying.taken_back_on_failure(substrate, done.inverse or ()):
        return _decide(substrate, row, previous, "applied", caller, because, now_ms, done.results, notes)


def approve_and_apply(
    substrate: Substrate, address: str, because: str, caller: Caller, now_ms: int, choice: int = 0
) -> Receipt:
    """The fused call: two audit entries with one reason, in one act. Refuses a destructive change (D19)."""
    caller.need("review")
    caller.need("apply")
    check_reason(because)
    with views.atomic(substrate):
        row, _ = _open(substrate, address, "approved")
        body = _body(substrate, address)
        operations = chosen(body, choice)
        if any(operation.destructive for operation in operations):
            raise LoopError(
                "LOP-E023", "a destructive change needs an approval of its own first", "approve, then apply"
            )
        # all that apply would refuse is refused now, so that no approval is left behind
        fault = _apply_refusal(substrate, row, body, operations, caller, allow_destructive=False)
        if fault:
            raise fault
        approve(substrate, row.address, because, caller, now_ms, choice)
        return apply(substrate, row.address, because, caller, now_ms)


def mark_applied(substrate: Substrate, address: str, because: str, caller: Caller, now_ms: int) -> Receipt:
    """Approved → applied, for a change that lies outside this memory and was made there (D27): nothing is written here
    but the decision. Raises LOP-E027 when the change is this memory's own to make."""
    caller.need("apply")
    told = check_reason(because)
    with views.atomic(substrate):
        row, previous = _open(substrate, address, "applied")
        body = _body(substrate, address)
        if not _outside(substrate, body, chosen(body, previous.choice)):
            raise LoopError(
                "LOP-E027",
                "only a change outside this memory is marked: of the host, or of a document that is not here",
                "deja loop apply carries this one out"
                if body.operations
                else "approving it has acknowledged it",
            )
        return _decide(substrate, row, previous, "applied", caller, told, now_ms, (), {"outside": True})


def rollback(substrate: Substrate, address: str, because: str, caller: Caller, now_ms: int) -> Receipt:
    """Applied → rolled back: recall answers again what it answered before the apply."""
    caller.need("apply")
    told = check_reason(because)
    with views.atomic(substrate):
        return _roll_back(substrate, address, caller, told, now_ms)


def _roll_back(
    substrate: Substrate,
    address: str,
    caller: Caller,
    because: str,
    now_ms: int,
    reverted_by: str | None = None,
) -> Receipt:
    """Carry the stored inverse out; ``reverted_by`` is the recommendation whose apply does it, if one does."""
    row, previous = _open(substrate, address, "rolled_back")
    caller.need("write")
    fault = _undo_refusal(substrate, previous)
    if fault:
        raise fault
    with applying.done_again_on_failure(substrate, previous.inverse or (), previous.effects):
        effects = applying.undo(substrate, previous.inverse or ())
        notes = {"effects": list(effects), **({"reverted_by": reverted_by} if reverted_by else {})}
        return _decide(substrate, row, previous, "rolled_back", caller, because, now_ms, (), notes)


def _undo_refusal(substrate: Substrate, applied: AuditEntry) -> LoopError | None:
    if applied.outside:
        return LoopError("LOP-E020", "it was done outside this memory", "take it back there")
    if applied.inverse is None:
        return LoopError(
            "LOP-E020", "this apply has no inverse: what was forgotten, or taken back by it, stays so"
        )
    return applying.undo_refusal(substrate, applied.inverse)


def plan(
    substrate: Substrate,
    address: str,
    caller: Caller,
    *,
    allow_destructive: bool = False,
    choice: int | None = None,
) -> Plan:
    """A dry run of an apply: counts, whether it can be undone, and what would refuse it now. Writes nothing.

    ``choice``: of an alternative; None: the approved one, else the default. A missing approval is no refusal: the plan
    says what would happen once it is approved. Raises LOP-E011 (no such alternative).
    """
    row = find(substrate, address)
    body = _body(substrate, address)
    chain = audit.chain(substrate, row)
    if choice is None:
        choice = chain.entries[-1].choice if row.status == "approved" and chain.entries else 0
    operations = chosen(body, choice)
    fault: DejaError | None = _unfit(row)
    if fault is None and row.status not in ("pending", "approved"):
        fault = LoopError("LOP-E020", f"it is {_words(row.status)}: there is nothing left to apply")
    fault = fault or _broken(chain)
    fault = fault or _apply_refusal(substrate, row, body, operations, caller, allow_destructive)
    count = [operation.kind for operation in operations].count
    return Plan(
        recommendation=address,
        adds=count("add"),
        supersedes=count("supersede"),
        retires=count("retire"),
        forgets=count("forget"),
        undo=bool(operations) and all(operation.undoable for operation in operations),
        refusal=str(fault) if fault else None,
        operations=operations,
        merges=count("merge"),
        defines=count("define_query"),
        edits=count("doc_edit"),
        reverts=count("revert"),
        choice=choice,
        outside=_outside(substrate, body, operations),
    )


def approved(substrate: Substrate, address: str) -> tuple[Operation, ...]:
    """The operations of the alternative that was approved; none when none was. Raises LOP-E011, E012, E040."""
    row = find(substrate, address)
    if row.status != "approved":
        return ()
    entries = audit.entries(substrate, address)
    return chosen(_body(substrate, address), entries[-1][0].choice if entries else 0)


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
    """The row and its newest audit entry, when a decision may move ``address`` to ``to_status`` (LIF-2)."""
    row = find(substrate, address)
    fault = _unfit(row)
    if fault:
        raise fault
    chain = audit.chain(substrate, row)
    if not audit.allowed(row.status, to_status):
        last = chain.entries[-1] if chain.entries else None
        who = f" by {clean(last.actor, 64)} at {utc(last.at)}" if last else ""
        raise LoopError(
            "LOP-E020",
            f"{_words(row.status)} → {_words(to_status)} is not allowed: it is {_words(row.status)}{who}",
            _INSTEAD.get((row.status, to_status), "audit show tells who decided, and why"),
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


def _not_by_creator(row: LedgerRow, caller: Caller) -> None:
    # labels that differ in case only are one person's way around the rule
    if row.creator.lower() == caller.actor.lower():
        raise LoopError("LOP-E021", "nobody approves what they created", "ask another reviewer")


def chosen(body: Recommendation, choice: int) -> tuple[Operation, ...]:
    """The operations of one alternative (D20). Raises LOP-E011 when there is none of that number."""
    try:
        return body.chosen(choice)
    except (IndexError, TypeError) as fault:
        last = len(body.choices) - 1
        told = f"it has the alternatives 0 to {last}" if last else "it has no alternatives"
        raise LoopError("LOP-E011", f"there is no such choice: {told}") from fault


def _configure(substrate: Substrate, body: Recommendation, caller: Caller, because: str, now_ms: int) -> None:
    """Write the setting that a flag asks for (D25): a word is added to a list of an analyzer's, nothing else."""
    asked: Any = (body.data or {}).get("configure")
    if asked is None:
        return
    parts = [asked.get(name) for name in ("analyzer", "param", "add")] if isinstance(asked, Mapping) else []
    if len(parts) != 3 or not all(isinstance(part, str) and part for part in parts) or parts[1] not in _LISTS:
        raise LoopError("LOP-E012", "the setting that this finding asks for is malformed")
    caller.need("admin")
    analyzer, param, word = map(str, parts)
    config.add_word(substrate, analyzer, param, word, caller.actor, because, now_ms)


def _outside(substrate: Substrate, body: Recommendation, operations: Sequence[Operation]) -> bool:
    """Whether the change lies outside this memory: of the host, or of documents that are not here (D27)."""
    where = target_class(body.target_ref)
    edits = [operation for operation in operations if isinstance(operation, DocEdit)]
    here = any(views.document(substrate, edit.namespace, edit.path) is not None for edit in edits)
    return where == "host" or (bool(edits) and not here) or (where == "prompt" and not operations)


def _apply_refusal(
    substrate: Substrate,
    row: LedgerRow,
    body: Recommendation,
    operations: Sequence[Operation],
    caller: Caller,
    allow_destructive: bool,
) -> DejaError | None:
    destructive = any(operation.destructive for operation in operations)
    if destructive and not (caller.may("admin") and allow_destructive and row.status == "approved"):
        return LoopError(
            "LOP-E023",
            "a destructive change needs an earlier approval, the admin right and the flag",
            "deja loop apply … --allow-destructive",
        )
    if not caller.may("write"):
        return LoopError("LOP-E022", "what this would do needs the right write")
    if _outside(substrate, body, operations):
        return LoopError(
            "LOP-E027",
            "the change lies outside this memory, so it is made there",
            "make it there, then deja loop mark-applied",
        )
    if len(operations) == 1 and isinstance(operations[0], Revert):
        return revert_refusal(substrate, operations[0].recommendation, body.address)
    return applying.refusal(substrate, operations)


def revert_refusal(substrate: Substrate, address: str, by: str | None = None) -> DejaError | None:
    """Why an earlier apply cannot be taken back now, or None; ``by`` is the recommendation that would do it, if stored."""
    try:
        row = find(substrate, address)
    except LoopError as fault:
        return fault
    chain = audit.chain(substrate, row)
    if by is not None and _reverted_by(substrate, address, by):
        return _unfit(row) or _broken(chain)
    if row.status != "applied":
        return LoopError("LOP-E024", f"what it would take back is {_words(row.status)} by now")
    return _unfit(row) or _broken(chain) or _undo_refusal(substrate, chain.entries[-1])


def _reverted_by(substrate: Substrate, address: str, by: str) -> str | None:
    """The audit entry in which the revert ``by`` took this back, when that is the last of its trail.

    A memory without acts may lose a revert between its two entries; a second try then writes the one that is missing.
    """
    pairs = audit.entries(substrate, address)
    if not pairs or pairs[-1][0].to_status != "rolled_back":
        return None
    context = pairs[-1][1].get("context")
    return pairs[-1][0].address if isinstance(context, Mapping) and context.get("reverted_by") == by else None


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
        actor=entry.actor,
        because=because,
        at=entry.at,
        chain_verified=audit.chain(substrate, find(substrate, row.address)).verified,
        results=results,
    )


def record(substrate: Substrate, address: str) -> None:
    """Derive the row anew from grains and put it into the cached ledger, where there is one."""
    if views.caches_ledger(substrate):
        views.ledger_put(substrate, audit.derive(substrate, address))


def record_first(substrate: Substrate, address: str, entry: AuditEntry) -> None:
    """As `record`, for a recommendation that was put just now: its first entry is its only one.

    Deriving it would read the trails of all others, once for each that a run stores.
    """
    if views.caches_ledger(substrate):
        views.ledger_put(substrate, audit.first_row(substrate, address, entry))


def record_replaced(substrate: Substrate, row: LedgerRow, by: str) -> None:
    """As `record`, for the pending ``row`` that a refresh superseded just now: its trail has not grown, and to derive it
    would read the trails of all others, once for each refresh of a run."""
    if views.caches_ledger(substrate):
        views.ledger_put(substrate, replace(row, replaced_by=by))


def _body(substrate: Substrate, address: str) -> Recommendation:
    grain = substrate.get(address)
    if grain is None:
        raise LoopError("LOP-E040", "there is no such recommendation")
    return read_recommendation(grain)


def _words(status: str) -> str:
    return status.replace("_", " ")
