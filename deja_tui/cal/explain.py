# SPDX-License-Identifier: Apache-2.0
"""EXPLAIN: how a statement is carried out. Nothing but reads is ever run for it; those are, so that counts are real."""

from __future__ import annotations

from typing import Any, Final

from deja_tui.cal import ast, printer
from deja_tui.cal.plan import names_in
from deja_tui.cal.reads import Trace

_SCAN, _INDEX, _HYBRID = "full scan", "index lookup", "hybrid"
_KEYED: Final = frozenset(("subject", "relation", "object"))
_NAMES: Final[dict[type, str]] = {
    ast.SetOperation: "set_operation",
    ast.EntityAt: "entity_at",
    ast.ShowForks: "show_forks",
    ast.DerivedFrom: "derived_from",
    ast.ReportSubject: "report_subject",
    ast.Supersede: "supersede",
    ast.Retire: "supersede",
    ast.Merge: "merge",
    ast.Remember: "remember",
    ast.Add: "add",
    ast.RunLoop: "run_loop",
}


def plan_of(query: ast.Query) -> dict[str, Any]:
    """The plan as it stands before anything is read; its keys and value sets are a contract."""
    told = _plan(query.statement)
    stages = [f"LIMIT {printer.value(limit)}"] if (limit := _own_limit(query.statement)) else []
    stages += [printer.stage(stage) for stage in query.stages]
    told["pipeline"] = [*told["pipeline"], *stages]
    told["filters"] = [*told["filters"], *(["dedup"] if _dedups(query) else []), "namespace"]
    return told


def _own_limit(statement: ast.Statement) -> ast.Value | None:
    return (statement.limit or statement.recent) if isinstance(statement, ast.Recall) else None


def _dedups(query: ast.Query) -> bool:
    return any(option.name == "dedup" for option in query.options)


def _told(
    name: str,
    routing: str,
    indexes: list[str],
    cost: str,
    filters: list[str],
    grain_type: str | None = None,
) -> dict[str, Any]:
    return {
        "statement_type": name,
        "grain_type": grain_type,
        "query_routing": routing,
        "index_usage": indexes,
        "estimated_cost": cost,
        "filters": filters,
        "pipeline": [f"execute_{name}"],
    }


def _plan(statement: ast.Statement) -> dict[str, Any]:
    match statement:
        case ast.Recall():
            return _recall(statement, "recall")
        case ast.Exists(target=ast.Recall() as target):
            return _recall(target, "exists")
        case ast.Exists():
            return _told("exists", "structural", ["blobs_partition"], _INDEX, ["hash"])
        case ast.History():
            asked = ["hash"] if statement.target is not None else ["subject", "relation"]
            return _told("history", "entity_latest", ["entity_latest", "supersession_chain"], _HYBRID, asked)
        case ast.Diff():
            return _told("history", "diff_comparison", ["supersession_chain"], _INDEX, ["hash"])
        case ast.Assemble():
            return _assemble(statement)
        case ast.Coalesce():
            return _told(
                "coalesce", "coalesce_fallback", ["bm25_fts", "hexastore"], _HYBRID, ["fallback_chain"]
            )
        case ast.Batch(entries=entries):
            formatted = ["per_entry_format"] if any(entry.format for _, entry in entries) else []
            return _told("batch", "parallel_batch", [], _SCAN, ["parallel_execution", *formatted])
        case ast.RunQuery():
            return _told("run_query", "saved_query_execute", ["meta_partition"], _INDEX, ["query_name"])
        case ast.Forget():
            return _told("forget", "destructive_forget", ["blobs_partition"], _INDEX, ["hash"])
        case ast.ForgetSubject():
            return _told("forget_subject", "destructive_forget", [], _SCAN, ["subject"])
        case ast.Decide(verb=verb):
            return _told(verb, "unknown", ["meta_partition"], _INDEX, ["hash"])
        case ast.Apply():
            return _told("apply", "unknown", ["meta_partition"], _INDEX, ["hash"])
        case ast.NotOffered(word=word):
            routing = "destructive_purge_stale" if word == "PURGE" else "unknown"
            return _told(word.lower(), routing, [], _SCAN, [])
        case ast.EntityAt():
            return _told("entity_at", "entity_latest", ["entity_latest"], _INDEX, ["subject", "relation"])
        case ast.DerivedFrom():
            return _told("derived_from", "introspection", ["blobs_partition"], _INDEX, ["hash"])
        case _:
            return _told(_NAMES.get(type(statement), "introspection"), "unknown", [], _SCAN, [])


def _recall(node: ast.Recall, name: str) -> dict[str, Any]:
    asked = list(dict.fromkeys(_names(node.where))) if node.where is not None else []
    text = node.about is not None or node.like is not None or "query" in asked
    keyed = not _KEYED.isdisjoint(asked)
    conditions = bool([field for field in asked if field not in ("query", "namespace")])
    routing = "hybrid_rrf" if text and conditions else "bm25" if text else "structural"
    indexes = [*(["bm25_fts"] if text else []), *(["hexastore"] if keyed else [])]
    cost = _HYBRID if text and keyed else _INDEX if indexes else _SCAN
    filters = [field for field in asked if field not in ("query", "namespace")]
    filters += ["temporal"] if node.times is not None else []
    return _told(name, routing, indexes, cost, filters, node.type)


def _names(where: ast.Condition) -> list[str]:
    return sorted(names_in(where), key=printer.condition(where).find)


def _assemble(node: ast.Assemble) -> dict[str, Any]:
    count = len(node.labelled) or 1
    filters = ["sources", *(["budget_allocation"] if node.budget is not None else [])]
    routing = f"multi_source_assemble({count}_sources)"
    return _told("assemble", routing, ["bm25_fts", "hexastore"], _HYBRID, filters)


def with_counts(plan: dict[str, Any], traces: list[Trace]) -> dict[str, Any]:
    """``plan`` with what was really asked of the store, decided afterwards and counted, one entry a RECALL."""
    return {**plan, "reads": [trace.as_json() for trace in traces]}
