# SPDX-License-Identifier: Apache-2.0
"""What stands behind a statement, applied to its rows from left to right."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from deja_tui.cal import ast
from deja_tui.cal.conditions import Binder, Env, matcher
from deja_tui.cal.faults import warning
from deja_tui.cal.fields import Known, content
from deja_tui.cal.results import Counted, Grains, Result
from deja_tui.cal.rows import Row
from deja_tui.cal.words import DEFAULT_ROWS, MAX_ROWS


def check(stages: tuple[ast.Stage, ...], type_: str | None, env: Env) -> None:
    """Refuse a field the type does not have (CAL-E060) before anything is read."""
    binder = Binder(env, type_, rows=True)
    for stage in stages:
        if isinstance(stage, (ast.OrderBy, ast.GroupBy)):
            binder.field(stage.field)
        elif isinstance(stage, ast.Project):
            for field, _ in stage.fields:
                binder.field(field)
        elif isinstance(stage, ast.Cut):
            _amount(stage, env)


def fields_of(stage: ast.Stage) -> tuple[ast.Field, ...]:
    """The fields a stage reads."""
    if isinstance(stage, (ast.OrderBy, ast.GroupBy)):
        return (stage.field,)
    return tuple(field for field, _ in stage.fields) if isinstance(stage, ast.Project) else ()


def wants_all(stages: tuple[ast.Stage, ...]) -> bool:
    """Whether the stages need every match, not only the first rows: all but a leading SELECT, LIMIT or FIRST do."""
    first = next((stage for stage in stages if not isinstance(stage, (ast.Project, ast.Extract))), None)
    return isinstance(first, (ast.OrderBy, ast.GroupBy, ast.Count)) or (
        isinstance(first, ast.Cut) and first.kind == "OFFSET"
    )


def cuts(stages: tuple[ast.Stage, ...]) -> bool:
    """Whether the stages say how many rows there are in the end."""
    return any(
        isinstance(stage, (ast.Count, ast.First)) or (isinstance(stage, ast.Cut) and stage.kind == "LIMIT")
        for stage in stages
    )


def apply(result: Result, query: ast.Query, type_: str | None, env: Env) -> Result:
    """The rows of ``result`` after the stages and the trailing WHERE of ``query``.

    Raises:
        CalError: CAL-E021 the statement gives no rows for a stage or a condition; CAL-E010, CAL-E060.
    """
    env.warnings.extend([warning("CAL-W007", "")] * query.bars)
    for stage in query.stages:
        if isinstance(result, Counted):
            break
        if not isinstance(result, Grains):
            raise env.fail("CAL-E021", f"a stage needs rows; this gives {result.kind}", stage.span)
        result = _stage(result, stage, type_, env)
    if query.where is not None:
        if not isinstance(result, Grains):
            raise env.fail("CAL-E021", f"WHERE needs rows; this gives {result.kind}", query.span)
        keep = matcher(Binder(env, type_, rows=True).bind(query.where))
        result = replace(result, rows=tuple(filter(keep, result.rows)))
    return result


def _stage(result: Grains, stage: ast.Stage, type_: str | None, env: Env) -> Result:
    rows = result.rows
    binder = Binder(env, type_, rows=True)
    match stage:
        case ast.Count():
            return Counted(len(rows))
        case ast.First():
            return replace(result, rows=rows[:1])
        case ast.Cut():
            amount = _amount(stage, env)
            return replace(result, rows=rows[:amount] if stage.kind == "LIMIT" else rows[amount:])
        case ast.OrderBy(field=field, descending=descending):
            known = binder.field(field)
            ordered = sorted(rows, key=lambda row: sort_key(known.read(row)), reverse=descending)
            return replace(result, rows=tuple(ordered))
        case ast.GroupBy(field=field):
            known = binder.field(field)
            grouped = sorted(rows, key=lambda row: sort_key(known.read(row)))
            return replace(result, rows=tuple(grouped), grouped_by=known.name)
        case ast.Project(fields=fields):
            named = [(binder.field(field), name) for field, name in fields]
            return replace(result, rows=tuple(_projected(row, named) for row in rows))
        case ast.Extract(kind=kind):
            return replace(result, rows=tuple(_extracted(rows, kind)))


def _amount(stage: ast.Cut, env: Env) -> int:
    amount = env.whole(stage.amount)
    if stage.kind == "LIMIT" and not 1 <= amount <= MAX_ROWS:
        raise env.fail("CAL-E010", f"LIMIT is within 1 and {MAX_ROWS:,}", stage.amount.span)
    return amount


def sort_key(value: Any) -> tuple[int, Any]:
    """Missing first, then numbers by value, texts by code point, everything else by its JSON."""
    if value is None:
        return 0, 0
    if isinstance(value, (bool, int, float)):
        return 1, value
    if isinstance(value, str):
        return 2, value
    return 3, json.dumps(value, sort_keys=True, default=str)


def _projected(row: Row, named: list[tuple[Known, str]]) -> Row:
    fields = {name: value for known, name in named if (value := known.read(row)) is not None}
    return row._replace(fields=fields)


def extracted(row: Row, kind: str) -> Any:
    """What SUBJECTS, OBJECTS or HASHES takes out of a row."""
    if kind == "HASHES":
        return row.hash
    return row.fields.get("subject") if kind == "SUBJECTS" else row.fields.get("object") or content(row)


def _extracted(rows: tuple[Row, ...], kind: str) -> list[Row]:
    found = ((row, extracted(row, kind)) for row in rows)
    return [
        Row(row.hash, "extracted", row.score, {"value": value}, None)
        for row, value in found
        if value is not None
    ]


def cut_to_default(result: Result) -> Result:
    """At most the default number of rows, where the statement says none."""
    if isinstance(result, Grains) and len(result.rows) > DEFAULT_ROWS:
        return replace(result, rows=result.rows[:DEFAULT_ROWS])
    return result
