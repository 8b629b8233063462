# SPDX-License-Identifier: Apache-2.0
"""Recommendations that a caller proposes: a person, an agent, a program (D21).

They go the way of every finding: pending, reviewed by somebody else, applied, undone. The engine stamps everything that
would grant something.

* DRA-1  a draft says what it changes in exactly one form: operations, an edit of its target, or data; and cites at least
  one live grain of its own memory.
* DRA-2  operations stay in the class of the target: a draft about the memory defines no query and edits no document, one
  about a query or document changes that one only, one about the host changes nothing here.
  A document is changed by an edit of it, never through the fact that holds it.
* DRA-3  an agent proposes about memory and queries only.
* DRA-4  family, identity, origin and creator are the engine's: ``draft.<actor kind>``, ``submitted``, who asks. A draft is
  never applied unasked, never more severe than medium, and its note is at most 200 characters.
* DRA-5  what could not be applied now is refused now, with the reason that an apply would give.
* DRA-6  one draft is open once; the same one again is refused while it is open or cooling down (D26).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from deja_tui.engine import apply as applying
from deja_tui.engine import audit, doc_edits, lifecycle, views
from deja_tui.engine.actors import Caller
from deja_tui.engine.draft import Draft, accept
from deja_tui.engine.faults import LoopError
from deja_tui.engine.identity import digest12, identity, target_class
from deja_tui.engine.ledger import cooling_until
from deja_tui.engine.objects import SEVERITIES
from deja_tui.engine.operations import (
    Add,
    DefineQuery,
    DocEdit,
    Merge,
    Operation,
    Revert,
    Supersede,
    canonical,
    class_of,
    digest,
    from_plain,
    to_plain,
)
from deja_tui.engine.substrate import DEFAULT_NAMESPACE, SavesQueries, Substrate, is_reserved
from deja_tui.engine.wire import read_recommendation, recommendation_grain
from deja_tui.text import door, fold, nfc, utc

MAX_NOTE: Final = 200
# What a draft may claim: nobody but an analyzer calls a finding the worst.
DRAFT_SEVERITIES: Final = SEVERITIES[:-1]
TEMPLATE: Final = "draft.note"
_CLASSES: Final = {"human": ("memory", "query", "prompt", "host"), "agent": ("memory", "query")}
_BECAUSE: Final = "it was submitted as a draft"


def propose(
    substrate: Substrate,
    *,
    target: str,
    note: str,
    evidence: Sequence[str],
    caller: Caller,
    now_ms: int,
    severity: str = "low",
    operations: Sequence[Operation | Mapping[str, Any]] | None = None,
    edit: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    namespace: str = DEFAULT_NAMESPACE,
) -> str:
    """Store a draft as a pending recommendation and return its address.

    Args:
        target: ``<scheme>:<rest>`` (D27). note: why, for the reviewer. evidence: full addresses.
        operations: as `operations.to_plain` writes them. edit: ``{"text"}`` or ``{"diff", "base"}`` of a document,
            ``{"body"}`` of a saved query or template. data: what the finding says, where nothing is to be changed.
        namespace: of the document that an edit is about.

    Raises LOP-E010 (target), LOP-E011 and E012 (anything else of the draft), LOP-E022, LOP-E024 (does not fit now),
    LOP-E028, LOP-E032, and the CAL code of a query that may not be saved.
    """
    caller.need("write")
    kind = audit.observer_of(caller.actor)
    family = f"draft.{kind}"
    with views.atomic(substrate):
        changes = _changes(substrate, target, operations, edit, data, namespace)
        _check_class(substrate, target, changes, kind)
        draft = accept(
            Draft(
                target_ref=target,
                action=_action(changes),
                template_id=TEMPLATE,
                args={"note": _note(note)},
                severity=_severity(severity),
                operations=changes,
                evidence=_live(substrate, evidence),
                evidence_total=len(evidence),
                newest_evidence=None,
                confidence=0.5,
                data=_data(data),
            ),
            _CLASSES[kind],
        )
        if changes:
            _must_fit(substrate, changes)
        content = canonical([to_plain(one) for one in changes] if changes else data)
        name = f"{draft.target_ref}#{digest12(content.decode('utf-8', 'surrogatepass'))}"
        key = identity(family, name, draft.action)
        occurrence = _must_be_new(substrate, key, now_ms)
        return _store(substrate, draft, family, key, caller, now_ms, occurrence)


def _store(
    substrate: Substrate, draft: Draft, family: str, key: str, caller: Caller, now_ms: int, occurrence: int
) -> str:
    grain = recommendation_grain(
        draft,
        analyzer=f"{family}/1",
        params={},
        identity=key,
        now_ms=now_ms,
        since=now_ms,
        refreshes=None,
        occurrence=occurrence,
    )
    put = substrate.put(grain)
    if not put.new:
        raise LoopError("LOP-E028", "the very bytes of this draft are already here")
    audit.write(
        substrate,
        put.address,
        previous=None,
        to_status="pending",
        actor=f"engine:{family}/1",
        observer="system",
        because=_BECAUSE,
        now_ms=now_ms,
        notes={"creator": caller.actor, "trigger": caller.actor, "source": "submitted"},
    )
    lifecycle.record(substrate, put.address)
    return put.address


# --- what is proposed -------------------------------------------------------------------------------


def _changes(
    substrate: Substrate,
    target: str,
    operations: Sequence[Operation | Mapping[str, Any]] | None,
    edit: Mapping[str, Any] | None,
    data: Mapping[str, Any] | None,
    namespace: str,
) -> tuple[Operation, ...]:
    """The operations of a draft, however they were given (DRA-1)."""
    where = target_class(target)
    if sum(part is not None for part in (operations, edit, data)) != 1:
        raise LoopError("LOP-E011", "a draft proposes one of operations, an edit, or data")
    if operations is not None:
        if isinstance(operations, str | Mapping) or not operations:
            raise LoopError("LOP-E011", "the operations of a draft are a list of at least one")
        return tuple(one if isinstance(one, Operation) else from_plain(one) for one in operations)
    if edit is None:
        return ()
    if not isinstance(edit, Mapping) or not all(isinstance(value, str) for value in edit.values()):
        raise LoopError("LOP-E011", "an edit is a map of texts")
    if where == "query":
        return (_query_edit(substrate, target, edit),)
    if where == "prompt":
        return (_document_edit(substrate, target, edit, namespace),)
    raise LoopError("LOP-E011", "an edit is of a document, a saved query or a template", "give operations")


def _query_edit(substrate: Substrate, target: str, edit: Mapping[str, Any]) -> DefineQuery:
    if set(edit) != {"body"}:
        raise LoopError("LOP-E011", "an edit of a query or template is its whole body", '{"body": "…"}')
    scheme, name = _query_name(target)
    held = substrate.saved_query(name, scheme) if isinstance(substrate, SavesQueries) else None
    return DefineQuery(name, nfc(edit["body"]), None if held is None else digest(held), scheme)


def _query_name(target: str) -> tuple[str, str]:
    scheme, _, rest = target.partition(":")
    return scheme, rest.split("#", 1)[0]


def _document_edit(substrate: Substrate, target: str, edit: Mapping[str, Any], namespace: str) -> DocEdit:
    path = doc_edits.path_of(target)
    head = views.document(substrate, namespace, path)
    before = None if head is None else doc_edits.text_of(head.fields)
    if set(edit) == {"text"} and before is not None:
        return DocEdit(path, namespace, digest(before), doc_edits.diff_of(before, edit["text"]) or "@@")
    if set(edit) == {"diff", "base"}:
        return DocEdit(path, namespace, edit["base"], door(edit["diff"]))
    if set(edit) == {"diff"} and before is not None:
        return DocEdit(path, namespace, digest(before), door(edit["diff"]))
    raise LoopError(
        "LOP-E011",
        "an edit of a document is its new text, or a unified diff and, of a document that is not here, "
        "the SHA-256 of the text it is against",
        '{"text": "…"} or {"diff": "…", "base": "…"}',
    )


def _check_class(substrate: Substrate, target: str, operations: Sequence[Operation], kind: str) -> None:
    """Refuse a target that the actor may not propose about, and operations of another class (DRA-2, DRA-3)."""
    where = target_class(target)
    if where not in _CLASSES[kind]:
        raise LoopError("LOP-E010", "an agent proposes about memory and queries only")
    if operations and where == "host":
        raise LoopError("LOP-E011", "what the host does is told as data; a draft changes nothing there")
    for operation in operations:
        if _touches_a_document(substrate, operation):
            raise LoopError(
                "LOP-E010", "a document is changed by an edit of it", "--target doc:NAME --text FILE"
            )
        if _class_of(substrate, operation) != where:
            raise LoopError("LOP-E010", f"a draft about {target.split(':')[0]} changes nothing else")
        if isinstance(operation, DefineQuery) and (operation.scheme, operation.name) != _query_name(target):
            raise LoopError("LOP-E010", "a draft about a query or template changes that one only")
        if isinstance(operation, DocEdit) and operation.path != doc_edits.path_of(target):
            raise LoopError("LOP-E010", "a draft about a document changes that one only")


def _touches_a_document(substrate: Substrate, operation: Operation) -> bool:
    """Whether a change of grains writes or removes a version of a document."""
    fields = operation.fields if isinstance(operation, Add | Supersede | Merge) else {}
    targets = [substrate.get(target) for target in operation.targets()]
    said = [fields, *(grain.fields for grain in targets if grain is not None)]
    return any(fold(str(held.get("relation", held.get("r")))) == doc_edits.RELATION for held in said)


def _class_of(substrate: Substrate, operation: Operation) -> str:
    if not isinstance(operation, Revert):
        return class_of(operation) or "memory"
    grain = substrate.get(operation.recommendation)
    if grain is None:
        raise LoopError("LOP-E040", "there is no recommendation to take back")
    body = read_recommendation(grain)
    changes = [one for choice in body.choices for one in choice.operations]
    edits = any(isinstance(one, DocEdit) for one in changes)
    return "prompt" if edits else target_class(body.target_ref)


def _action(operations: Sequence[Operation]) -> str:
    kinds = {operation.kind for operation in operations}
    if kinds == {"revert"}:
        return "revert"
    return "change" if kinds else "flag"


def _note(note: object) -> str:
    told = door(note).strip() if isinstance(note, str) else ""
    if not 0 < len(told) <= MAX_NOTE:
        raise LoopError(
            "LOP-E011", f"the note of a draft has 1 to {MAX_NOTE} characters", "say why in one sentence"
        )
    return told


def _severity(severity: object) -> str:
    if severity not in DRAFT_SEVERITIES:
        raise LoopError("LOP-E011", "the severity of a draft is one of " + ", ".join(DRAFT_SEVERITIES))
    return str(severity)


def _data(data: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    # only an analyzer's finding may ask for a setting
    if isinstance(data, Mapping) and "configure" in data:
        raise LoopError("LOP-E011", "a draft asks for no setting", "deja loop set writes one")
    return data


def _live(substrate: Substrate, evidence: Sequence[str]) -> tuple[str, ...]:
    """The cited grains; at least one, all of them live and none of the engine's own (DRA-1)."""
    cited = () if isinstance(evidence, str) else tuple(dict.fromkeys(evidence))
    if not cited or not all(isinstance(one, str) for one in cited):
        raise LoopError("LOP-E011", "a draft cites at least one live grain, each by its full address")
    for address in cited:
        grain = substrate.get(address)
        if grain is None or not grain.live or is_reserved(grain.namespace):
            raise LoopError(
                "LOP-E011", f"{address[:12]} is no live grain of the memory, so it proves nothing"
            )
    return cited


def _must_fit(substrate: Substrate, operations: Sequence[Operation]) -> None:
    """Refuse what an apply would refuse now (DRA-5); what lies outside is for its host to judge (D27)."""
    if isinstance(operations[0], Revert):
        fault = lifecycle.revert_refusal(substrate, operations[0].recommendation)
    else:
        fault = applying.refusal(substrate, operations)
    if fault is not None and fault.code != "LOP-E027":
        raise fault


def _must_be_new(substrate: Substrate, key: str, now_ms: int) -> int:
    """The number this draft has among those of its identity; refuses one that is open or cooling down (DRA-6)."""
    rows = views.ledger_by_identity(substrate, [key]).get(key, [])
    ours = [row for row in rows if not row.foreign]
    held = next((row for row in ours if row.status in ("pending", "approved")), None)
    if held is not None:
        raise LoopError("LOP-E028", f"the same draft is {held.status}: {held.address[:12]}")
    until = cooling_until(ours)
    if until > now_ms:
        raise LoopError("LOP-E028", f"the same draft was turned down; it may come again at {utc(until)}")
    return len(rows) + 1
