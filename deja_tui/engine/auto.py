# SPDX-License-Identifier: Apache-2.0
"""Applying without a person: only what a host granted, and only what the engine itself proves to lose nothing (D13).

* AUTO-1  the host grants (analyzer, target class, severity); the analyzer is built in and declares structural curation.
* AUTO-2  every operation retires one live fact in favour of another live fact that says the same: equal in namespace and
  over the union of all fields of both, text folded, everything else exactly, and neither with an end of its validity.
* AUTO-3  that is read anew inside the act that applies it; what was found earlier proves nothing.
* AUTO-4  the entry names the actor ``policy:auto`` and the observer ``policy``; it has an inverse like any apply.
"""

from __future__ import annotations

from typing import Any, Final

from deja_tui.engine import apply as applying
from deja_tui.engine import audit, lifecycle, views
from deja_tui.engine.analyzer import Manifest
from deja_tui.engine.identity import target_class
from deja_tui.engine.objects import Recommendation
from deja_tui.engine.operations import Operation, Retire
from deja_tui.engine.policy import Policy
from deja_tui.engine.substrate import StoredGrain, Substrate, is_reserved
from deja_tui.engine.wire import read_recommendation
from deja_tui.text import fold

ACTOR: Final = "policy:auto"
BECAUSE: Final = "the host's policy grants it, and the copies are equal in every field"
_ENDS: Final = ("valid_to", "system_valid_to")


def refusal(
    substrate: Substrate, body: Recommendation, manifest: Manifest, policy: Policy | None
) -> str | None:
    """Why a recommendation is left to a person, in one phrase; None: it may be applied unasked."""
    if policy is None or not policy.grants(body.analyzer, target_class(body.target_ref), body.severity):
        return "no grant"
    if policy.denies(body.analyzer):
        return "denied"
    if manifest.origin != "builtin" or manifest.auto_apply != "structural_curation":
        return "the analyzer is never applied unasked"
    if body.alternatives or body.data is not None:
        return "there is a choice to make"
    return shape_fault(substrate, body.operations)


def shape_fault(substrate: Substrate, operations: tuple[Operation, ...]) -> str | None:
    """Why the operations may lose something, or None when each retires an equal copy (AUTO-2)."""
    if not operations:
        return "there is nothing to apply"
    gone = {operation.target for operation in operations if isinstance(operation, Retire)}
    for operation in operations:
        if not isinstance(operation, Retire):
            return "it writes or erases"
        if operation.by in gone or operation.by == operation.target:
            return "what would stay is retired by the same change"
        copy, kept = substrate.get(operation.target), substrate.get(operation.by)
        if not copy or not kept or not _says_the_same(copy, kept):
            return "the copies are not equal in every field"
    return None


def _says_the_same(copy: StoredGrain, kept: StoredGrain) -> bool:
    if not (copy.live and kept.live and copy.type == kept.type == "fact"):
        return False
    if copy.namespace != kept.namespace or is_reserved(kept.namespace):
        return False
    if any(grain.get(name) is not None for grain in (copy, kept) for name in _ENDS):
        return False
    names = {*copy.fields, *kept.fields}
    return all(name in copy.fields and name in kept.fields for name in names) and all(
        _equal(copy.fields[name], kept.fields[name]) for name in names
    )


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return fold(one) == fold(other)
    # 1 and True, 1 and 1.0 are equal to Python and not to a reader
    return type(one) is type(other) and bool(one == other)


def apply(substrate: Substrate, address: str, manifest: Manifest, policy: Policy | None, now_ms: int) -> bool:
    """Apply one pending recommendation if everything holds; whether it was. Called inside the run's act (AUTO-3)."""
    if policy is None or not policy.auto_apply_enabled or manifest.auto_apply != "structural_curation":
        return False
    grain = substrate.get(address)
    row = views.ledger_row(substrate, address)
    if grain is None or row is None or row.status != "pending" or row.foreign:
        return False
    body = read_recommendation(grain)
    if refusal(substrate, body, manifest, policy) or applying.refusal(substrate, body.operations):
        return False
    previous = audit.entries(substrate, address)[-1][0]
    done = applying.execute(substrate, body.operations, address, now_ms)
    if done.inverse is None:
        raise AssertionError("retiring has an inverse (APP-2)")
    with applying.taken_back_on_failure(substrate, done.inverse):
        audit.write(
            substrate,
            address,
            previous=previous,
            to_status="applied",
            actor=ACTOR,
            observer="policy",
            because=BECAUSE,
            now_ms=now_ms,
            results=done.results,
            notes={"effects": list(done.effects), "inverse": list(done.inverse)},
        )
        lifecycle.record(substrate, address)
    return True
