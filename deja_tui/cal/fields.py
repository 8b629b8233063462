# SPDX-License-Identifier: Apache-2.0
"""Which fields a type has, what kind each is, and how it is read from a row. The one table of it.

Common to all types are the fields of `_COMMON`, and what every plain write may set (session, run, validity); each
type adds its own. Where no type is named, a field of any type may be asked for: a grain without it does not match.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, Literal

from deja_tui.cal.rows import Row
from deja_tui.cal.words import PLURAL_OF, PLURALS

Kind = Literal["text", "number", "flag", "list", "map", "time", "hash", "any", "query"]
Read = Callable[[Row], Any]


@dataclass(frozen=True, slots=True)
class Known:
    """A field of a type."""

    name: str
    kind: Kind
    read: Read


# --- reading ----------------------------------------------------------------------------------------


def _plain(name: str) -> Read:
    def read(row: Row) -> Any:
        return row.get(name)

    return read


def _first(*names: str) -> Read:
    def read(row: Row) -> Any:
        return next((value for name in names if (value := row.get(name)) is not None), None)

    return read


def _part(name: str) -> Read:
    """A part of a fact: as absent where the three are not all text, because such a fact has no key."""

    def read(row: Row) -> Any:
        grain = row.grain
        if grain is None:
            return row.get(name)
        fields = grain.fields
        if grain.type == "fact":
            for part in ("subject", "relation", "object"):
                if not isinstance(fields.get(part), str):
                    return None
        return fields.get(name) if row.plain else row.get(name)

    return read


_CONTENT: Final[Mapping[str, tuple[str, ...]]] = {
    "tool": ("tool_content", "content", "result"),
    "observation": ("object", "content"),
    "goal": ("description", "content"),
    "skill": ("description", "content"),
    "reasoning": ("conclusion", "content"),
    "consensus": ("agreed_content", "content"),
}


def content(row: Row) -> Any:
    """The text of a grain that is more than a triple, wherever its type keeps it."""
    for name in _CONTENT.get(row.grain_type, ("content",)):
        if (value := row.get(name)) is not None:
            return value
    return None


def _hash(row: Row) -> Any:
    return row.hash or None


def _type(row: Row) -> Any:
    return row.grain_type


def _score(row: Row) -> Any:
    return row.score


def phase(row: Row) -> str | None:
    """How a tool call ended: what it says, else ok or fail."""
    told = row.get("tool_phase")
    if isinstance(told, str):
        return told
    if row.get("status") == "pending":
        return "pending"
    failed = row.get("is_error")
    return None if failed is None else "fail" if failed else "ok"


def _arrival(row: Row) -> Any:
    return None if row.grain is None else row.grain.seq


def _analyzer(row: Row) -> Any:
    told = row.get("analyzer")
    return told.get("id") if isinstance(told, Mapping) else told


def _moment(name: str) -> Read:
    """A time in whole milliseconds, as the index keeps it."""

    def read(row: Row) -> Any:
        value = row.get(name)
        return value if type(value) is int and -(2**63) <= value < 2**63 else None

    return read


def _tool(row: Row) -> Any:
    """The name of a call, as it is keyed."""
    if row.grain_type != "tool":
        return row.get("tool_name")
    return row.get("tool_name") or row.get("name") or row.get("tool")


def _consent_action(row: Row) -> Any:
    told = row.get("consent_action")
    if told is not None:
        return told
    return "withdraw" if row.get("is_withdrawal") else "grant"


_READS: Final[dict[str, Read]] = {
    "hash": _hash,
    "type": _type,
    "grain_type": _type,
    "score": _score,
    "arrival": _arrival,
    "subject": _part("subject"),
    "relation": _part("relation"),
    "object": _part("object"),
    "content": content,
    "tags": _first("structural_tags", "tags"),
    "time": _moment("created_at"),
    "created_at": _moment("created_at"),
    "valid_from": _moment("valid_from"),
    "valid_to": _moment("valid_to"),
    "tool": _tool,
    "tool_name": _tool,
    "tool_phase": phase,
    "analyzer": _analyzer,
    "reasoning_type": _first("reasoning_type", "inference_method"),
    "node": _first("nodes"),
    "binding": _first("bindings"),
    "purpose": _first("purpose", "scope"),
    "consent_action": _consent_action,
    "grantor_did": _first("grantor_did", "subject_did"),
    "expires_at": _first("expires_at", "valid_to"),
    "title": _first("title", "description"),
    "assigned_agent": _first("assigned_agent", "delegate_to"),
}

# --- the table --------------------------------------------------------------------------------------

_COMMON: Final[Mapping[Kind, str]] = {
    "text": """subject relation object namespace user_id type verification_status source_type epistemic_status content
        summary grain_type scope_path priority status session_id run_id""",
    "number": "confidence importance score created_at valid_from valid_to arrival",
    "flag": "contradicted",
    "list": "tags",
    "time": "time",
    "hash": "hash",
    "any": "recall_priority scope",
    "query": "query",
}
_OWN: Final[Mapping[str, Mapping[Kind, str]]] = {
    "fact": {},
    "event": {"text": "role parent_message_id model_id stop_reason"},
    "state": {"map": "context", "list": "plan history"},
    "workflow": {"text": "trigger name", "list": "node nodes edges", "map": "binding bindings retries"},
    "tool": {
        "text": "tool_name tool_phase tool_call_id tool",
        "flag": "is_error",
        "number": "duration_ms",
        "map": "input",
    },
    "observation": {"text": "observer_id observer_type sensor unit", "any": "value"},
    "goal": {
        "text": "goal_state assigned_agent description title parent_hash",
        "any": "deadline depends_on",
        "number": "progress",
    },
    "reasoning": {"text": "reasoning_type conclusion", "list": "premises"},
    "consensus": {"number": "threshold agreement_count", "list": "participating_observers"},
    "consent": {
        "text": "consent_action grantor_did grantee_did subject_did",
        "any": "purpose",
        "number": "expires_at",
        "flag": "granted",
    },
    "skill": {
        "text": "name version domain holder_did",
        "number": "proficiency practice_count last_practiced_at",
        "flag": "transferable",
    },
    "recommendation": {"text": "target_ref analyzer severity dedup_key rec_status"},
}


def _table(kinds: Mapping[Kind, str]) -> dict[str, Known]:
    return {
        name: Known(name, kind, _READS.get(name) or _plain(name))
        for kind, names in kinds.items()
        for name in names.split()
    }


COMMON: Final[Mapping[str, Known]] = _table(_COMMON)
OF_TYPE: Final[Mapping[str, Mapping[str, Known]]] = {
    type_: {**COMMON, **_table(own)} for type_, own in _OWN.items()
}
ANY_TYPE: Final[Mapping[str, Known]] = {
    **{name: known for fields in OF_TYPE.values() for name, known in fields.items()},
    **COMMON,
}
# Fields under which the validity and lifecycle of a grain are kept; known to nobody but the engine.
OWN_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    type_: tuple(name for names in own.values() for name in names.split()) for type_, own in _OWN.items()
}


def known(type_: str | None, name: str) -> Known | None:
    """The field ``name`` of a type, or of any type where none is named; None when there is no such field."""
    return (ANY_TYPE if type_ is None else OF_TYPE[type_]).get(name)


def hint(type_: str | None, name: str) -> str:
    """What to write instead of an unknown field."""
    table = ANY_TYPE if type_ is None else OF_TYPE[type_]
    if type_ is not None and name in ANY_TYPE:
        holders = [PLURAL_OF[other] for other in OF_TYPE if name in OF_TYPE[other]]
        return f"{name} is a field of {', '.join(holders)}."
    near = get_close_matches(name.lower(), table, n=1)
    if near:
        return f"Did you mean {near[0]}?"
    named = "" if type_ is None else f" {next(plural for plural in PLURALS if PLURALS[plural] == type_)}"
    return f"DESCRIBE FIELDS{named} lists them."
