# SPDX-License-Identifier: Apache-2.0
"""Carrying a proposal out, and taking it back (D2, D9; engine rule 5: every apply stores its inverse).

* APP-1  `refusal` is asked before anything is written: every target must still be what the finding saw.
* APP-2  `execute` returns effects and their inverse as plain data; both go into the audit entry, not only into tables.
* APP-3  `undo` checks every step before it does the first one: an inverse that no longer fits changes nothing.
* APP-4  after `undo`, liveness and order of every grain are what they were before `execute`: recall answers the same
  bytes. What an apply wrote is hidden, never rewritten.
* APP-5  on a memory without acts, a failure half way is taken back step by step before it is passed on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from deja_tui.engine import views
from deja_tui.engine.faults import LoopError
from deja_tui.engine.operations import Add, Forget, Operation, Retire, Supersede, check
from deja_tui.engine.substrate import Atomic, Forgets, NewGrain, Substrate, is_reserved
from deja_tui.text import fold


@dataclass(frozen=True, slots=True)
class Done:
    """What an apply did: addresses it wrote, effects (D2) and the inverse; None where there is none."""

    results: tuple[str, ...]
    effects: tuple[Mapping[str, Any], ...]
    inverse: tuple[Mapping[str, Any], ...] | None


def refusal(substrate: Substrate, operations: Sequence[Operation]) -> LoopError | None:
    """Why the operations cannot be carried out now, or None (APP-1)."""
    if not operations:
        return LoopError(
            "LOP-E011",
            "this recommendation is advice: there is nothing to apply",
            "approving it acknowledges it",
        )
    try:
        check(operations)
    except LoopError as fault:
        return fault
    for operation in operations:
        if isinstance(operation, Forget) and not isinstance(substrate, Forgets):
            return LoopError("LOP-E032", "this memory cannot forget")
        if isinstance(operation, Add) and _said_already(substrate, operation):
            return _already_there()
        for target in operation.targets():
            unfit = _target_fault(substrate, target)
            if unfit:
                return unfit
    return None


def _said_already(substrate: Substrate, operation: Add) -> bool:
    """Whether a live fact says what this one would say: writing it would only be the next duplicate."""
    subject, relation, said = (operation.fields.get(name) for name in ("subject", "relation", "object"))
    if operation.type != "fact" or not all(isinstance(part, str) for part in (subject, relation, said)):
        return False
    matches = views.fact_matches(substrate, operation.namespace, str(subject), str(relation))
    return any(fold(str(fact.get("object"))) == fold(str(said)) for fact in matches)


def _target_fault(substrate: Substrate, target: str) -> LoopError | None:
    grain = substrate.get(target)
    short = target[:12]
    if grain is None:
        return LoopError(
            "LOP-E024", f"grain {short} is no longer here", "run the loop again for a fresh finding"
        )
    if is_reserved(grain.namespace):
        return LoopError("LOP-E011", "a proposal may not touch a reserved namespace")
    if not grain.live:
        return LoopError(
            "LOP-E024",
            f"grain {short} was changed since the finding",
            "run the loop again for a fresh finding",
        )
    return None


def execute(substrate: Substrate, operations: Sequence[Operation], recommendation: str, now_ms: int) -> Done:
    """Carry out checked operations; the caller has asked `refusal` inside the same transaction."""
    results: list[str] = []
    effects: list[Mapping[str, Any]] = []
    steps: list[Mapping[str, Any]] = []  # the inverse, last step first
    with taken_back_on_failure(substrate, steps):
        for operation in operations:
            match operation:
                case Retire(target=target, by=by):
                    substrate.mark(target, "retire", by)
                    effects.append({"do": "retire", "grain": target, "by": by})
                    steps.insert(0, {"do": "reopen", "grain": target, "by": by})
                case Add():
                    put = substrate.put(_grain(operation, recommendation, now_ms))
                    if not put.new:
                        raise _already_there()
                    results.append(put.address)
                    effects.append({"do": "add", "grain": put.address})
                    steps.insert(0, {"do": "hide", "grain": put.address})
                case Supersede(target=target):
                    put = substrate.supersede(target, _grain(operation, recommendation, now_ms))
                    steps.insert(0, {"do": "reopen", "grain": target, "by": put.address})
                    if not put.new:
                        raise _already_there()
                    results.append(put.address)
                    effects.append({"do": "supersede", "grain": target, "by": put.address})
                    steps.insert(0, {"do": "hide", "grain": put.address})
                case Forget(target=target):
                    effects.extend(_left_closed(substrate, target))
                    if isinstance(substrate, Forgets):
                        substrate.forget(target)
                    effects.append({"do": "forget", "grain": target})
    undoable = not any(operation.destructive for operation in operations)
    return Done(tuple(results), tuple(effects), tuple(steps) if undoable else None)


def _left_closed(substrate: Substrate, target: str) -> list[Mapping[str, Any]]:
    """What stays superseded though what took its place goes: other copies cannot tell that from the bytes (D2)."""
    grain = substrate.get(target)
    told = grain.get("derived_from") if grain else None
    parents = [told] if isinstance(told, str) else told if isinstance(told, list) else []
    found = [(str(parent), substrate.get(str(parent))) for parent in parents]
    return [
        {"do": "supersede", "grain": address, "by": target}
        for address, old in found
        if old is not None and old.superseded_by == target
    ]


@contextmanager
def taken_back_on_failure(substrate: Substrate, steps: Sequence[Mapping[str, Any]]) -> Iterator[None]:
    """Undo ``steps`` when the block fails and no act of the memory does it (APP-5)."""
    try:
        yield
    except BaseException:
        if not isinstance(substrate, Atomic):
            undo(substrate, steps)
        raise


def _already_there() -> LoopError:
    # hiding a grain that somebody else wrote would not be the inverse of writing it
    return LoopError("LOP-E024", "what this would write is already here", "run the loop again")


def _grain(operation: Add | Supersede, recommendation: str, now_ms: int) -> NewGrain:
    fields = dict(operation.fields)
    # provenance leads from what was written to the decision, and from there to its evidence
    if isinstance(operation, Add):
        fields["derived_from"] = recommendation
    else:
        fields["derived_from"] = [operation.target, recommendation]
    return NewGrain(operation.type, operation.namespace, now_ms, fields)


def undo_refusal(substrate: Substrate, inverse: Sequence[Mapping[str, Any]]) -> LoopError | None:
    """Why an inverse no longer fits, or None (APP-3)."""
    for step in inverse:
        address = str(step.get("grain"))
        grain = substrate.get(address)
        short = address[:12]
        if grain is None:
            return LoopError("LOP-E024", f"grain {short} was forgotten since: the undo no longer fits")
        if step.get("do") == "hide" and not grain.live:
            return LoopError("LOP-E024", f"grain {short} was changed since: undo that change first")
        if step.get("do") == "reopen" and (grain.live or grain.superseded_by != step.get("by")):
            return LoopError("LOP-E024", f"grain {short} was changed since: undo that change first")
        if step.get("do") not in ("hide", "reopen"):
            return LoopError("LOP-E026", "the stored inverse holds a step this version does not know")
    return None


def undo(substrate: Substrate, inverse: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Carry out a checked inverse and return its steps as effects."""
    for step in inverse:
        address, by = str(step["grain"]), step.get("by")
        substrate.mark(address, "hide" if step["do"] == "hide" else "reopen", str(by) if by else None)
    return tuple(dict(step) for step in inverse)
