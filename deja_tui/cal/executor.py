# SPDX-License-Identifier: Apache-2.0
"""Runs one parsed text with its values: every statement to the module that carries it out.

* EXEC-1  What a statement may do was decided before it got here (`classify.admit`).
* EXEC-2  A batch is one transaction: the first entry that fails takes everything back, and the error names it (D42).
* EXEC-3  A saved query runs with its own parameters only, on a tree that was checked again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from deja_tui.cal import ast, describe, explain, governed, queries, stages, templates
from deja_tui.cal.assemble import assemble
from deja_tui.cal.classify import Access, Class, as_fault, judge
from deja_tui.cal.conditions import Env
from deja_tui.cal.faults import CalError, warning
from deja_tui.cal.host import Host, Recalled
from deja_tui.cal.options import Options, read_options
from deja_tui.cal.pages import page_of
from deja_tui.cal.plan import names_in
from deja_tui.cal.reads import Reads
from deja_tui.cal.renderers import render
from deja_tui.cal.results import (
    Answer,
    Assembled,
    BatchDone,
    Counted,
    Formatted,
    Grains,
    MultiFormatted,
    Result,
    taken,
    with_warnings,
)
from deja_tui.cal.writes import Writes, not_offered
from deja_tui.errors import DejaError
from deja_tui.store.grains import StoredGrain


class Executor:
    """Runs the statements of one text; an `Env` of its own for each saved query."""

    def __init__(self, host: Host, env: Env, access: Access) -> None:
        self.host = host
        self.env = env
        self.access = access
        self.reads = Reads(host, env)
        self._explaining = False

    @property
    def writes(self) -> Writes:
        return Writes(self.host, self.env)

    def program(self, program: ast.Program) -> Result:
        """The result of a whole text, with its warnings. Raises CalError and the errors of the store and the loop."""
        return with_warnings(self.query(self._bound(program)), self.env.warnings)

    def _bound(self, program: ast.Program) -> ast.Query:
        """Evaluate the bindings of LET, each with those before it; the statement that may use them."""
        if not program.lets:
            return program.query
        lists: dict[str, tuple[Any, ...]] = {}
        for let in program.lets:
            self.env.lists = lists
            lists = {**lists, let.name: self.reads.values(let.recall, let.extract)}
        self.env.lists = lists
        return program.query

    def query(self, query: ast.Query) -> Result:
        """A statement, its stages and its format."""
        began = time.perf_counter_ns() if self.host.recalled is not None else 0
        result = self.evaluate(query)
        self._note(result, query.statement, began)
        if query.format is None:
            return result
        return self.formatted(result, query.format, query.variables)

    def _note(self, result: Result, statement: ast.Statement, began: int) -> None:
        """Tell the host of rows that are given, not of those that only EXPLAIN looked at."""
        recalled = self.host.recalled
        if recalled is not None and isinstance(result, (Grains, Assembled)) and not self._explaining:
            self._count(recalled, result, statement, time.perf_counter_ns() - began)

    def _count(
        self, recalled: Recalled, result: Grains | Assembled, statement: ast.Statement, took_ns: int
    ) -> None:
        """Tell the host what was given, by namespace; a text that was asked for belongs to the session's."""
        question = None
        if isinstance(statement, ast.Recall) and (asked := statement.about or statement.like) is not None:
            question = self.env.text_of(asked)
        given: dict[str, list[StoredGrain]] = {self.host.namespace: []} if question else {}
        for row in result.rows:
            if row.grain is not None:
                given.setdefault(row.grain.namespace, []).append(row.grain)
        for space, grains in given.items():
            recalled(space, grains, question=question, took_ns=took_ns)

    def evaluate(self, query: ast.Query) -> Result:
        """A statement and its stages, not yet rendered."""
        type_ = _type_of(query.statement)
        if query.stages:
            stages.check(query.stages, type_, self.env)
            self._check_recent(query)
        if _mentions(query, "contradicted"):
            self.reads.tells_contested = True
        everything = stages.wants_all(query.stages) and _own_limit(query.statement) is None
        result = self._statement(query, type_, everything)
        if not query.stages and query.where is None:
            return result
        result = stages.apply(result, query, type_, self.env)
        return result if not everything or stages.cuts(query.stages) else stages.cut_to_default(result)

    def _check_recent(self, query: ast.Query) -> None:
        if not isinstance(query.statement, ast.Recall) or query.statement.recent is None:
            return
        for stage in query.stages:
            limits = isinstance(stage, ast.Cut) and stage.kind == "LIMIT"
            if limits or isinstance(stage, ast.OrderBy):
                word = "LIMIT" if limits else "ORDER BY"
                raise self.env.fail("CAL-E060", f"RECENT and {word} exclude each other", stage.span)

    def _statement(self, query: ast.Query, type_: str | None, everything: bool) -> Result:
        match query.statement:
            case ast.Recall() as node:
                options = self._options(query, type_, has_text=_has_text(node))
                if everything and isinstance(query.stages[0], ast.Count):
                    return Counted(self.reads.count(node, options))
                return self.reads.recall(node, options, everything=everything)
            case ast.SetOperation() as node:
                return self.reads.operation(node, self._options(query, None, has_text=True))
            case ast.Coalesce() as node:
                options = self._options(query, None, has_text=True)
                return self.reads.coalesce(node, options, everything=everything)
            case ast.Assemble() as node:
                return assemble(node, query.options, self.reads)
            case ast.RunQuery() as node:
                return self._run(node, query)
            case ast.Batch() as node:
                return self._batch(node)
            case ast.Explain() as node:
                return self._explain(node)
            case other:
                self.env.warnings.extend(warning("CAL-W004", option.name[:32]) for option in query.options)
                return self._other(other)

    def _options(self, query: ast.Query, type_: str | None, *, has_text: bool) -> Options:
        return read_options(query.options, self.env, type_=type_, has_text=has_text)

    def _other(self, node: ast.Statement) -> Result:
        match node:
            case ast.Exists():
                return self.reads.exists(node)
            case ast.History():
                return self.reads.history(node)
            case ast.Diff():
                return self.reads.diff(node)
            case ast.EntityAt():
                return self.reads.entity(node)
            case ast.ShowForks():
                return self.reads.forks()
            case ast.DerivedFrom():
                return self.reads.derived(node)
            case ast.ReportSubject():
                return self.writes.report(node)
            case ast.Describe():
                return Answer("describe", {"info": describe.describe(node, self.host, self.env)})
            case ast.Decide():
                return governed.decide(node, self.host, self.env)
            case ast.Apply():
                return governed.apply(node, self.host, self.env, self.access)
            case ast.RunLoop():
                return governed.run_loop(node, self.host, self.env)
            case ast.NotOffered(word=word):
                raise not_offered(word, self.env, node)
            case _:
                return self._write(node)

    def _write(self, node: ast.Statement) -> Result:
        match node:
            case ast.Add():
                return self.writes.add(node)
            case ast.Supersede():
                return self.writes.supersede(node)
            case ast.Retire():
                return self.writes.retire(node)
            case ast.Merge():
                return self.writes.merge(node)
            case ast.Remember():
                return self.writes.remember(node)
            case ast.Forget():
                return self.writes.forget(node)
            case ast.ForgetSubject():
                return self.writes.forget_subject(node)
            case ast.DefineQuery():
                return self._define_query(node)
            case ast.DefineTemplate():
                return self._define_template(node)
            case ast.Drop():
                return self._drop(node)
            case ast.Document():
                return self.writes.document(node)
            case ast.AnalyzerRow():
                return self.writes.analyzer_row(node)
        raise not_offered(type(node).__name__, self.env, node)

    # --- saved queries and templates ---

    def _define_query(self, node: ast.DefineQuery) -> Answer:
        with self.host.store.act() as act:
            query = queries.define(node, self.host, self.env)
            act.set_setting(queries.PREFIX + query.name, queries.plain(query))
        return Answer("query_defined", {"name": query.name})

    def _define_template(self, node: ast.DefineTemplate) -> Answer:
        with self.host.store.act() as act:
            template = templates.define(node, self.host, self.env)
            act.set_setting(templates.PREFIX + template.name, templates.plain(template))
        return Answer("template_defined", {"name": template.name})

    def _drop(self, node: ast.Drop) -> Answer:
        if node.kind == "QUERY":
            known: Mapping[str, Any] = queries.builtin()
            prefix, unknown, fixed = queries.PREFIX, "CAL-E051", "CAL-E052"
        else:
            known = templates.BUILTIN
            prefix, unknown, fixed = templates.PREFIX, "CAL-E045", "CAL-E046"
        word = node.kind.lower()
        if node.name in known:
            raise self.env.fail(fixed, f"the {word} {node.name} is built in", node.span)
        with self.host.store.act() as act:
            if self.host.store.setting(prefix + node.name) is None:
                raise self.env.fail(unknown, f"there is no {word} {node.name[:32]}", node.span)
            act.set_setting(prefix + node.name, None)
        return Answer(f"{word}_dropped", {"name": node.name})

    def _run(self, node: ast.RunQuery, outer: ast.Query) -> Result:
        """A saved query, checked again (EXEC-3); options and format at the call come after, or instead of, its own."""
        saved = queries.find(node.name, self.host)
        if saved is None:
            raise self.env.fail(
                "CAL-E051",
                f"there is no saved query {node.name[:32]}",
                node.span,
                "DESCRIBE QUERIES lists them.",
            )
        values = queries.bind(saved, node, self.env)
        tree = queries.check(saved, self.host, self.env.now)
        env = Env(saved.body, self.env.now, values)
        inner = Executor(self.host, env, replace(self.access, read_only=True))
        inner.reads.tells_contested = self.reads.tells_contested
        body = inner._bound(tree)
        body = replace(body, options=(*body.options, *outer.options))
        began = time.perf_counter_ns() if self.host.recalled is not None else 0
        result = inner.evaluate(body)
        if body.format is not None and outer.format is None and not outer.stages:
            self._note(result, body.statement, began)  # as text it is counted by nobody else
            result = inner.formatted(result, body.format, (*body.variables, *outer.variables))
        self.reads.traces += inner.reads.traces
        return with_warnings(result, env.warnings)

    # --- several statements ---

    def _batch(self, node: ast.Batch) -> BatchDone:
        keys = [label if label is not None else str(place) for place, (label, _) in enumerate(node.entries)]
        for place, key in enumerate(keys):
            if key in keys[:place]:
                raise self.env.fail(
                    "CAL-E034", f"the label {key[:32]} is used twice", node.entries[place][1].span
                )
        found: dict[str, Result] = {}
        with self._together(node):
            for place, (key, (label, entry)) in enumerate(zip(keys, node.entries, strict=True), 1):
                try:
                    found[key] = self.query(entry)
                except DejaError as error:
                    raise _in_slot(error, place, label) from error
        return BatchDone(found)

    def _together(self, node: ast.Batch) -> AbstractContextManager[Any]:
        writes = judge(ast.Program((), ast.Query(node))).cls is not Class.READ
        return self.host.store.act() if writes else self.host.store.snapshot()

    # --- EXPLAIN ---

    def _explain(self, node: ast.Explain) -> Answer:
        """The plan; reads are run so that it tells real counts, and what they would render; nothing else ever is."""
        inner = node.inner
        plan = explain.plan_of(inner)
        verdict = judge(ast.Program((), inner))
        plan["class"] = verdict.cls.word
        if isinstance(inner.statement, ast.Apply):
            return governed.dry_run(
                self.env.address(inner.statement.target), self.host, self.env, self.access, inner.statement
            )
        if verdict.cls is not Class.READ or not self._can_run(inner.statement):
            return Answer("explain", {"plan": plan})
        self.reads.traces.clear()
        self._explaining = True
        result = self.evaluate(inner)
        shown = result if inner.format is None else self.formatted(result, inner.format, inner.variables)
        self._explaining = False
        told = explain.with_counts(plan, self.reads.traces)
        context = result.context if isinstance(result, (Grains, Assembled)) else None
        if context is not None and context.total is not None:
            told["budget"] = {"unit": context.unit, "limit": context.total, "used": context.used}
        if isinstance(result, Assembled):
            told["sources"] = [part.as_json() for part in result.parts]
        if isinstance(shown, Formatted):
            told["preview"] = {
                "format": shown.format,
                "text": shown.text,
                "grain_count": shown.grain_count,
            }
        return Answer("explain", {"plan": told})

    def _can_run(self, statement: ast.Statement) -> bool:
        """A saved query without all its values, and what is not offered, are shown but not run."""
        if isinstance(statement, ast.NotOffered):
            return False
        if not isinstance(statement, ast.RunQuery):
            return True
        saved = queries.find(statement.name, self.host)
        given = {name for name, _ in statement.arguments}
        return saved is not None and all(
            name in given or default is not None for name, default in saved.parameters
        )

    # --- formats ---

    def formatted(self, result: Result, format: ast.Format, variables: tuple[tuple[str, str], ...]) -> Result:
        """``result`` as text; kinds that hold no rows pass unchanged."""
        if not isinstance(result, (Grains, Assembled)):
            return result
        if not format.several:
            spec = format.specs[0]
            if spec.format == "json":
                return _as_grains(result)
            text = self._rendered(result, spec, variables)
            name = spec.format if isinstance(spec.format, str) else "template"
            return Formatted(text, name, len(result.rows), result.warnings, taken(result))
        texts = {spec.key: self._rendered(result, spec, variables) for spec in format.specs}
        return MultiFormatted(texts, len(result.rows), result.warnings, taken(result))

    def _rendered(
        self, result: Grains | Assembled, spec: ast.FormatSpec, variables: tuple[tuple[str, str], ...]
    ) -> str:
        page = page_of(result, self.env.now, self.host.summary)
        if isinstance(spec.format, str):
            return render(spec.format, page)
        template = templates.find(spec.format, self.host, self.env)
        return templates.render(template, result, page, variables, self.host, self.env)


def _type_of(statement: ast.Statement) -> str | None:
    if isinstance(statement, ast.Assemble):
        return statement.single.type if isinstance(statement.single, ast.Recall) else None
    return statement.type if isinstance(statement, ast.Recall) else None


def _mentions(query: ast.Query, field: str) -> bool:
    """Whether a stage, or a condition on rows that were fetched already, is about a field."""
    asked = [query.where, query.statement.where if isinstance(query.statement, ast.Assemble) else None]
    named = [told.name for stage in query.stages for told in stages.fields_of(stage)]
    return field in named or any(where is not None and field in names_in(where) for where in asked)


def _has_text(node: ast.Recall) -> bool:
    return node.about is not None or node.like is not None


def _own_limit(statement: ast.Statement) -> ast.Value | None:
    if isinstance(statement, ast.Recall):
        return statement.limit or statement.recent
    return None


def _as_grains(result: Grains | Assembled) -> Grains:
    """FORMAT json: the plain rows."""
    if isinstance(result, Grains):
        return result
    return Grains(result.rows, result.total_available, context=result.context, warnings=result.warnings)


def _in_slot(error: DejaError, place: int, label: str | None) -> CalError:
    told = as_fault(error)
    named = f" ({label})" if label else ""
    return CalError(
        told.code,
        f"entry {place}{named} of the batch: {told.bare}; nothing of the batch was kept",
        told.next_step,
        place=told.place,
        expected=told.expected,
    )
