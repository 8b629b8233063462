# SPDX-License-Identifier: Apache-2.0
"""A finding as an analyzer emits it: template id and arguments, operations, evidence. Never prose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from deja_tui.engine import doc_edits
from deja_tui.engine.faults import LoopError
from deja_tui.engine.identity import target_class
from deja_tui.engine.objects import SEVERITIES
from deja_tui.engine.operations import (
    Alternative,
    DefineQuery,
    DocEdit,
    Operation,
    canonical,
    check,
    check_alternatives,
    check_data,
    class_of,
)

MAX_EVIDENCE: Final = 64
MAX_ARGUMENT: Final = 500
MAX_TARGET: Final = 1_000
COUNTED_IN: Final = "counted_in"
"""Key of the data of a flag that cites no grain; its value is ``telemetry``."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A finding as its analyzer emits it. The engine stamps identity, origin, creator, times and status."""

    target_ref: str
    action: str
    template_id: str
    args: Mapping[str, Any]
    severity: str
    operations: tuple[Operation, ...]
    evidence: tuple[str, ...]
    evidence_total: int
    # the highest arrival position among all members; None: the finding is about what is live now, and an earlier
    # apply does not cover it
    newest_evidence: int | None
    evidence_query: str | None = None
    remaining: int = 0
    metric: Mapping[str, Any] | None = None
    confidence: float = 0.8
    importance: float = 0.5
    alternatives: tuple[Alternative, ...] = ()  # none, or 2 to 8 of them; the first is `operations` (D20)
    data: Mapping[str, Any] | None = None  # what a flag says: plain data of at most 4 KiB


@dataclass(frozen=True, slots=True)
class Refused:
    """A finding that is none, told with the run like any other that was dropped: an analyzer may yield it."""

    fault: LoopError


def accept(draft: object, target_classes: tuple[str, ...]) -> Draft:
    """``draft`` within its bounds: at most 64 cited grains, text arguments of at most 500 characters.

    Raises LOP-E010 (target), LOP-E011 and LOP-E012 (anything else that cannot be stored).
    """
    if isinstance(draft, Refused):
        raise draft.fault
    if not isinstance(draft, Draft):
        raise LoopError("LOP-E011", "an analyzer returned something that is no finding")
    if len(draft.target_ref) > MAX_TARGET or target_class(draft.target_ref) not in target_classes:
        raise LoopError("LOP-E010", "the target is too long or of a class the analyzer does not declare")
    if not _readable(draft):
        raise LoopError("LOP-E011", "a part of the finding is of the wrong kind or outside its bounds")
    cited = draft.evidence[:MAX_EVIDENCE]
    rests = bool(cited) or _counted_elsewhere(draft)
    if draft.severity not in SEVERITIES or not rests or not all(isinstance(one, str) for one in cited):
        raise LoopError("LOP-E011", "a finding needs a severity and at least one cited grain")
    check(draft.operations)
    check_alternatives(draft.alternatives, draft.operations)
    _check_class(draft, target_classes)
    check_data(draft.data)
    return replace(
        draft,
        evidence=tuple(cited),
        evidence_total=max(draft.evidence_total, len(cited)),
        args={str(name): _bounded(value) for name, value in draft.args.items()},
    )


def _check_class(draft: Draft, target_classes: tuple[str, ...]) -> None:
    """Refuse a change of something else than the finding is about: rights and a policy go by the target's class (D24).

    Another choice may be of another class that the analyzer declares, as a lesson may be kept as a line of a document (D27).
    """
    about = target_class(draft.target_ref)
    for operation in draft.operations:
        if class_of(operation) not in (about, None):
            raise LoopError("LOP-E010", f"a finding about a {about} target changes nothing else")
        scheme, name = draft.target_ref.split("#", 1)[0].split(":", 1)
        if isinstance(operation, DefineQuery) and (operation.scheme, operation.name) != (scheme, name):
            raise LoopError("LOP-E010", "a finding about a query or template changes that one only")
        if isinstance(operation, DocEdit) and operation.path != doc_edits.path_of(draft.target_ref):
            raise LoopError("LOP-E010", "a finding about a document changes that one only")
    for choice in draft.alternatives[1:]:
        if not {class_of(operation) for operation in choice.operations} <= {*target_classes, None}:
            raise LoopError("LOP-E010", "a choice changes what the analyzer does not declare")


def _counted_elsewhere(draft: Draft) -> bool:
    """Advice about what is not in the memory at all, an unanswered question, has no grain to cite: it changes nothing,
    and its data says where it was counted."""
    told = draft.data.get(COUNTED_IN) if isinstance(draft.data, Mapping) else None
    return told == "telemetry" and not draft.operations and not draft.alternatives


def _readable(draft: Draft) -> bool:
    """Whether what is stored of ``draft`` can be read back (`wire.read_recommendation`)."""
    canonical(draft.metric)
    return (
        all(isinstance(text, str) and text for text in (draft.action, draft.template_id))
        and all(isinstance(count, int) and count >= 0 for count in (draft.evidence_total, draft.remaining))
        and all(0 <= share <= 1 for share in (draft.confidence, draft.importance))
        and (draft.metric is None or isinstance(draft.metric, Mapping))
        and (draft.evidence_query is None or isinstance(draft.evidence_query, str))
    )


def _bounded(value: Any) -> str | int | float | bool | None:
    """An argument is shown in one line and stored with every refresh, so it does not carry whole documents."""
    if isinstance(value, str):
        return value[:MAX_ARGUMENT]
    if value is None or isinstance(value, bool | int | float):
        return value
    raise LoopError("LOP-E011", "an argument of a summary is a text or a number")
