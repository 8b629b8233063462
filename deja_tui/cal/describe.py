# SPDX-License-Identifier: Apache-2.0
"""DESCRIBE: what the language, its types and this memory offer."""

from __future__ import annotations

from typing import Any, Final

from deja_tui.cal import ast, queries, templates
from deja_tui.cal.conditions import Env
from deja_tui.cal.fields import ANY_TYPE, COMMON, OF_TYPE, OWN_NAMES, Known
from deja_tui.cal.governed import plain
from deja_tui.cal.host import Host
from deja_tui.cal.words import (
    DEFAULT_ROWS,
    FORMATS,
    MAX_BINDINGS,
    MAX_BUDGET,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_ENTRIES,
    MAX_IN,
    MAX_OPERANDS,
    MAX_ROWS,
    MAX_SOURCES,
    MAX_STAGES,
    OPTIONS,
    PLURAL_OF,
    STATEMENTS,
)

OMS_VERSION: Final = "1.2"
_TYPES: Final = (
    "fact event state workflow tool recommendation observation goal reasoning consensus consent skill"
)
_SHOWN_COMMON: Final = "subject relation object namespace user_id created_at confidence importance tags session_id content summary"
_STAGES: Final = (
    "SELECT", "ORDER BY", "LIMIT", "OFFSET", "COUNT", "FIRST", "SUBJECTS", "OBJECTS", "HASHES", "GROUP BY", "PROJECT",
)  # fmt: skip
_OPTIONS: Final = (
    "superseded explanation annotate_relative_time conflict_resolution dedup contradiction_detection diversity"
    " multi_hop provenance query_expansion rerank"
)
_TYPE_COMMON: Final = "namespace user_id created_at tags importance"
_REQUIRED: Final = {
    "fact": "subject relation object",
    "event": "content",
    "tool": "tool_name",
    "observation": "object",
    "goal": "description",
    "consent": "subject_did",
    "skill": "name description",
    "recommendation": "target_ref analyzer summary dedup_key",
}
_SPECIFIC: Final = {
    "fact": "subject relation object confidence session_id",
    "event": "session_id run_id content created_at role parent_message_id model_id stop_reason",
}
GRAMMAR: Final = (
    'RECALL <type> [ABOUT "text"] [SINCE "time"] [WHERE condition] [RECENT n | LIMIT n] stages WITH option FORMAT name',
    'ASSEMBLE name FOR "intent" FROM label: (RECALL …), … BUDGET n tokens PRIORITY a > b FORMAT name',
    'EXISTS · HISTORY · EXPLAIN · DESCRIBE · COALESCE · LET $x = RECALL … SUBJECTS; · RUN "query" ($x = …)',
    'ADD type SET field = value REASON "…" · SUPERSEDE sha256:… SET … REASON "…" · SUPERSEDE a BY b REASON "…"',
    'FORGET sha256:… REASON "…" · MERGE "s" RELATION "r" TO "o" BECAUSE "…" · BATCH { label: statement ; … }',
    'DEFINE QUERY "name" ($x) DESCRIPTION "…" AS { … } · DEFINE TEMPLATE name AS "…" · DROP QUERY | TEMPLATE "name"',
    'REVIEW sha256:… APPROVE [CHOICE n] | REJECT | WITHDRAW BECAUSE "…" · APPLY sha256:… [DRY RUN] BECAUSE "…" · ROLLBACK',
)


def describe(node: ast.Describe, host: Host, env: Env) -> dict[str, Any]:
    """What DESCRIBE answers. Raises CAL-E051, CAL-E130."""
    match node.what:
        case "SCHEMA":
            return _schema()
        case "TYPE":
            return _type(node.name or "fact")
        case "FIELDS":
            return {"fields": _fields(node.name)}
        case "CAPABILITIES" | "SERVER":
            return _capabilities()
        case "GRAMMAR":
            return {"grammar": list(GRAMMAR)}
        case "TEMPLATES":
            return {"templates": templates.names(host)}
        case "QUERIES":
            return {"queries": _queries(host)}
        case "QUERY":
            return _query(node, host, env)
        case "STATS":
            return dict(host.store.stats())
        case "INTEGRITY":
            return {
                "faults": [
                    {"code": f.code, "address": f.address, "message": f.message} for f in host.store.verify()
                ]
            }
    if node.what in host.loop:
        return _LOOP[node.what](host.loop[node.what]())
    raise env.fail(
        "CAL-E130",
        f"DESCRIBE {node.what} is not offered here",
        node.span,
        "deja loop and deja ui show the loop.",
    )


# --- the loop ---------------------------------------------------------------------------------------
# What the host tells are objects of the engine; the language knows the names of their attributes only.


def _loop(health: Any) -> dict[str, Any]:
    """How the memory and its loop stand; analyzers and policy have statements of their own."""
    told = plain(health)
    return {"loop": {name: told[name] for name in told if name not in ("analyzers", "policy")}}


def _analyzers(states: Any) -> dict[str, Any]:
    return {"analyzers": [_analyzer(state) for state in states]}


def _analyzer(state: Any) -> dict[str, Any]:
    settled, activation = state.settled, state.activation
    return {
        "id": state.id,
        "title": state.manifest.title,
        "enabled": None if settled is None else settled.enabled,
        "enabled_by": None if settled is None else settled.enabled_by,
        "state": activation.state,
        "have": activation.have,
        "need": activation.need,
        "unit": activation.unit,
        "open": state.open,
        "applied": state.applied,
        "looked_at": state.looked_at,
        "params": {} if settled is None else plain(settled.params),
        "severity_floor": None if settled is None else settled.severity_floor,
        "namespaces": None if settled is None else plain(settled.namespaces),
        "next": state.next,
    }


def _outcomes(reviewed: Any) -> dict[str, Any]:
    return {"outcomes": [_outcome(one.outcome, one.status) for one in reviewed]}


def _outcome(outcome: Any, status: str) -> dict[str, Any]:
    """Both counts with what they are out of, over equal spans (D23)."""
    return {
        "recommendation": outcome.recommendation,
        "status": status,
        "metric": outcome.metric,
        "verdict": outcome.verdict,
        "before": outcome.before,
        "before_n": outcome.before_n,
        "after": outcome.after,
        "after_n": outcome.after_n,
        "span_ms": outcome.horizon_ms,
        "applied_at": outcome.applied_at,
        "measured_at": outcome.measured_at,
    }


def _policy(policy: Any) -> dict[str, Any]:
    return {
        "policy": [
            {"name": one.name, "value": plain(one.value), "layer": one.layer, "note": one.note}
            for one in policy.values
        ],
        "ineffective": list(policy.ineffective),
        "warnings": list(policy.warnings),
    }


_LOOP: Final = {"LOOP": _loop, "ANALYZERS": _analyzers, "OUTCOMES": _outcomes, "POLICY": _policy}


def _schema() -> dict[str, Any]:
    return {
        "cal_version": 1,
        "oms_version": OMS_VERSION,
        "grain_types": _TYPES.split(),
        "common_fields": _SHOWN_COMMON.split(),
        "pipeline_stages": list(_STAGES),
        "with_options": _OPTIONS.split(),
        "default_limit": DEFAULT_ROWS,
        "max_limit": MAX_ROWS,
        "tier1_enabled": True,
    }


def _type(type_: str) -> dict[str, Any]:
    specific = _SPECIFIC.get(type_, "").split() or [*_REQUIRED.get(type_, "").split(), *OWN_NAMES[type_]]
    return {
        "grain_type": PLURAL_OF[type_],
        "required_fields": _REQUIRED.get(type_, "").split(),
        "specific_fields": list(dict.fromkeys(specific)),
        "common_fields": _TYPE_COMMON.split(),
    }


def _fields(type_: str | None) -> list[dict[str, Any]]:
    table = ANY_TYPE if type_ is None else OF_TYPE[type_]
    return [_field(known) for known in table.values()]


def _field(known: Known) -> dict[str, Any]:
    return {
        "name": known.name,
        "type": known.kind,
        "filterable": True,
        "sortable": known.kind != "query",
        "common": known.name in COMMON,
    }


def _capabilities() -> dict[str, Any]:
    return {
        "statements": list(STATEMENTS),
        "formats": list(FORMATS),
        "with_options": list(OPTIONS),
        "limits": {
            "text_bytes": MAX_BYTES,
            "depth": MAX_DEPTH,
            "limit": MAX_ROWS,
            "in_values": MAX_IN,
            "stages": MAX_STAGES,
            "set_operands": MAX_OPERANDS,
            "batch_entries": MAX_ENTRIES,
            "bindings": MAX_BINDINGS,
            "sources": MAX_SOURCES,
            "budget": MAX_BUDGET,
        },
    }


def _queries(host: Host) -> list[dict[str, Any]]:
    every = {**queries.builtin(), **queries.stored(host)}
    return [
        {
            "name": query.name,
            "param_count": len(query.parameters),
            "builtin": query.builtin,
            "description": query.description,
        }
        for query in (every[name] for name in sorted(every))
    ]


def _query(node: ast.Describe, host: Host, env: Env) -> dict[str, Any]:
    found = queries.find(node.name or "", host)
    if found is None:
        raise env.fail(
            "CAL-E051",
            f"there is no saved query {(node.name or '')[:32]}",
            node.span,
            "DESCRIBE QUERIES lists them.",
        )
    return found.as_json()
