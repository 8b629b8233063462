# SPDX-License-Identifier: Apache-2.0
"""Loop objects as grains and back: recommendations (type 0x0C) and audit Observations (D8).

The table "loop object → wire key" stands in ``docs/format.md``. Nothing that grants anything is read from bytes:
origin, destructive and rollbackable are recomputed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from deja_tui.engine.draft import Draft
from deja_tui.engine.faults import LoopError
from deja_tui.engine.objects import SEVERITIES, STATUSES, AuditEntry, Recommendation, Summary
from deja_tui.engine.operations import alternatives_from_plain, alternatives_to_plain, from_plain, to_plain
from deja_tui.engine.substrate import LOOP_NAMESPACE, NewGrain, StoredGrain

AUDIT_KIND: Final = "loop"
_OBSERVER_TO_WIRE: Final = {
    "human": "human",
    "agent": "rec:agent",
    "policy": "rec:policy",
    "system": "rec:system",
}
_OBSERVER_FROM_WIRE: Final = {wire: name for name, wire in _OBSERVER_TO_WIRE.items()}


def recommendation_grain(
    draft: Draft,
    *,
    analyzer: str,
    params: Mapping[str, Any],
    identity: str,
    now_ms: int,
    since: int,
    refreshes: str | None,
    occurrence: int = 1,
) -> NewGrain:
    """The grain of a finding. ``derived_from`` = evidence, and last, on a refresh, the address it supersedes.

    ``occurrence`` counts the recommendations of this identity, this one included: a finding that comes back in the
    same millisecond with the same words is another recommendation, with another address.
    """
    proposal: dict[str, Any] = {
        "action": draft.action,
        "ops": [to_plain(operation) for operation in draft.operations],
        "evidence_total": draft.evidence_total,
        "since": since,
    }
    if draft.alternatives:
        proposal["alternatives"] = alternatives_to_plain(draft.alternatives)
    if draft.data is not None:
        proposal["data"] = dict(draft.data)
    if draft.remaining:
        proposal["remaining"] = draft.remaining
    if refreshes:
        proposal["refreshes"] = refreshes
    if occurrence > 1:
        proposal["occurrence"] = occurrence
    fields: dict[str, Any] = {
        "target_ref": draft.target_ref,
        "analyzer": {"id": analyzer, "params": dict(params)},
        "summary": {"template_id": draft.template_id, "args": dict(draft.args)},
        "dedup_key": identity,
        "proposal_data": proposal,
        "severity": draft.severity,
        "confidence": draft.confidence,
        "importance": draft.importance,
        "derived_from": [*draft.evidence, *([refreshes] if refreshes else [])],
    }
    if draft.metric is not None:
        fields["metric_snapshot"] = dict(draft.metric)
    if draft.evidence_query is not None:
        fields["evidence_query"] = draft.evidence_query
    return NewGrain("recommendation", LOOP_NAMESPACE, now_ms, fields)


def read_recommendation(grain: StoredGrain) -> Recommendation:
    """The recommendation a grain holds. Raises LOP-E012 when it is none this version reads."""
    if grain.type != "recommendation" or grain.namespace != LOOP_NAMESPACE:
        raise LoopError("LOP-E040", "this address is not a recommendation of the Deja Loop")
    try:
        proposal = _mapping(grain.get("proposal_data"))
        analyzer, summary = _mapping(grain.get("analyzer")), _mapping(grain.get("summary"))
        refreshes, metric = _optional_text(proposal.get("refreshes")), grain.get("metric_snapshot")
        parents = _addresses(grain.get("derived_from", ()))
        evidence = parents[:-1] if refreshes and parents[-1:] == (refreshes,) else parents
        operations = tuple(from_plain(plain) for plain in _list(proposal["ops"]))
        data = proposal.get("data")
        return Recommendation(
            address=grain.address,
            analyzer=_text(analyzer["id"]),
            params=_mapping(analyzer.get("params", {})),
            target_ref=_text(grain.get("target_ref")),
            action=_text(proposal["action"]),
            identity=_text(grain.get("dedup_key")),
            summary=Summary(_text(summary["template_id"]), _mapping(summary["args"])),
            severity=_one_of(grain.get("severity"), SEVERITIES),
            operations=operations,
            evidence=evidence,
            evidence_total=max(int(proposal["evidence_total"]), len(evidence)),
            evidence_query=_optional_text(grain.get("evidence_query")),
            remaining=int(proposal.get("remaining", 0)),
            metric=metric if isinstance(metric, Mapping) else None,
            confidence=_share(grain.get("confidence", 0.8)),
            importance=_share(grain.get("importance", 0.5)),
            created_at=grain.created_at,
            since=int(proposal["since"]),
            refreshes=refreshes,
            alternatives=alternatives_from_plain(proposal.get("alternatives", ()), operations),
            data=None if data is None else _mapping(data),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as fault:
        raise LoopError("LOP-E012", "the recommendation grain lacks something it needs") from fault


def audit_grain(
    *,
    recommendation: str,
    previous: str | None,
    from_status: str | None,
    to_status: str,
    actor: str,
    observer: str,
    because: str,
    at: int,
    results: tuple[str, ...] = (),
    notes: Mapping[str, Any] | None = None,
) -> NewGrain:
    """The Observation of one transition: ``derived_from`` = [recommendation, previous audit, results…]."""
    context: dict[str, Any] = {"audit": AUDIT_KIND, "to": to_status, "at": at, **(notes or {})}
    if from_status is not None:
        context["from"] = from_status
    fields = {
        "observer_id": actor,
        "observer_type": _OBSERVER_TO_WIRE[observer],
        "object": because,
        "derived_from": [recommendation, *([previous] if previous else []), *results],
        "context": context,
    }
    return NewGrain("observation", LOOP_NAMESPACE, at, fields)


def read_audit(grain: StoredGrain) -> AuditEntry | None:
    """The transition an Observation records, or None when it is not a loop audit or is malformed."""
    context = grain.get("context")
    if grain.type != "observation" or grain.namespace != LOOP_NAMESPACE or not isinstance(context, Mapping):
        return None
    parents = _addresses(grain.get("derived_from", ()))
    from_status, to_status, at = context.get("from"), context.get("to"), context.get("at")
    well_formed = (
        context.get("audit") == AUDIT_KIND
        and to_status in STATUSES
        and (from_status is None or from_status in STATUSES)
        and isinstance(at, int)
        and len(parents) >= (1 if from_status is None else 2)
    )
    if not well_formed:
        return None
    shift = 1 if from_status is None else 2
    inverse, choice = context.get("inverse"), context.get("choice", 0)
    return AuditEntry(
        address=grain.address,
        recommendation=parents[0],
        previous=None if from_status is None else parents[1],
        from_status=from_status,
        to_status=str(to_status),
        actor=str(grain.get("observer_id", "")),
        observer=_OBSERVER_FROM_WIRE.get(str(grain.get("observer_type")), "agent"),
        because=str(grain.get("object", "")),
        at=int(at or 0),
        results=parents[shift:],
        effects=_maps(context.get("effects", ())),
        inverse=None if inverse is None else _maps(inverse),
        creator=_optional_text(context.get("creator")),
        trigger=_optional_text(context.get("trigger")),
        origin=_optional_text(context.get("source")),
        choice=choice if isinstance(choice, int) and not isinstance(choice, bool) else -1,
        outside=context.get("outside") is True,
    )


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise TypeError
    return list(value)


def _maps(value: object) -> tuple[Mapping[str, Any], ...]:
    return (
        tuple(item for item in value if isinstance(item, Mapping)) if isinstance(value, list | tuple) else ()
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _optional_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _share(value: object) -> float:
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError
    return float(value)


def _one_of(value: object, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ValueError
    return str(value)


def _addresses(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple) else ()
