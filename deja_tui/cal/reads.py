# SPDX-License-Identifier: Apache-2.0
"""Statements that read rows: RECALL, set operations, EXISTS, HISTORY and what looks along links. They write nothing."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain as chained
from itertools import repeat
from time import monotonic_ns
from typing import Any, Final

from deja_tui.cal import ast, chains, printer
from deja_tui.cal.conditions import All, Bound, Env, Test
from deja_tui.cal.faults import warning
from deja_tui.cal.fields import ANY_TYPE, OF_TYPE, content
from deja_tui.cal.host import Host
from deja_tui.cal.lower import lower
from deja_tui.cal.options import Options
from deja_tui.cal.plan import LOOP_SPACES, Reader, RecallPlan, equals, plan_recall
from deja_tui.cal.results import Answer, Grains, Total
from deja_tui.cal.rows import CERTAIN, NOTHING, Row, row_of
from deja_tui.cal.stages import extracted
from deja_tui.cal.times import long_relative
from deja_tui.cal.words import DEFAULT_ROWS, MAX_ASSEMBLE_MS, MAX_BOUND_VALUES
from deja_tui.store.filters import AllOf, Candidates, OneOf, Selection
from deja_tui.store.grains import StoredGrain

MOST_READ: Final = 5_000_000
MOST_SORTED: Final = 10_000
MOST_PAGE: Final = 255
COUNTED: Final = 2_000
COUNTED_ONE_BY_ONE: Final = 64
COUNTED_AT_ONCE: Final = 8
_HLC_BITS: Final = 16
_LOOKS: Final = 256


@dataclass(slots=True)
class Trace:
    """What one RECALL did, for EXPLAIN.

    Attributes:
        node: the statement.
        plan: how it was planned; None where nothing was read by a plan.
        path: how candidates were found.
        candidates, matched, returned: rows read from the store, rows that fit, rows given.
    """

    node: ast.Recall | ast.History
    plan: RecallPlan | None = None
    path: str = "nothing can match"
    candidates: int = 0
    matched: int = 0
    returned: int = 0

    def as_json(self) -> dict[str, Any]:
        """The shape in a plan. A condition that an index only nominates for is both pushed and evaluated."""
        pushed, evaluated = ([], []) if self.plan is None else _told(self.plan)
        return {
            "statement": printer.statement(self.node),
            "path": self.path,
            "pushed": pushed,
            "evaluated": evaluated,
            "rows": {"candidates": self.candidates, "matched": self.matched, "returned": self.returned},
        }


class Reads:
    """Runs reading statements with one set of bound values."""

    def __init__(self, host: Host, env: Env) -> None:
        self.host = host
        self.env = env
        self.traces: list[Trace] = []
        self._reader = Reader(host.namespace, host.user)
        self.tells_contested = (
            False  # a stage asks for ``contradicted``, which the bytes of a grain do not say
        )
        self.deadline: int | None = None  # of `monotonic_ns`
        self._read = 0
        self._forks: dict[str, dict[str, list[str]]] = {}
        env.subquery = self.subquery

    # --- RECALL ---

    def recall(self, node: ast.Recall, options: Options, *, everything: bool = False) -> Grains:
        """The rows of a RECALL.

        Args:
            everything: stages follow that need every match, not the first rows: at most `MOST_SORTED` are given.
        """
        plan = plan_recall(node, self.env, self._reader, superseded=options.superseded)
        trace = Trace(node, plan)
        self.traces.append(trace)
        if plan.selection is None:
            return Grains((), 0)
        store = self.host.store
        candidates = store.candidates(plan.selection)
        trace.path = candidates.path
        with nullcontext() if candidates.at_once else store.snapshot():
            return self._recalled(node, plan, options, trace, candidates, everything)

    def _recalled(
        self,
        node: ast.Recall,
        plan: RecallPlan,
        options: Options,
        trace: Trace,
        candidates: Candidates,
        everything: bool,
    ) -> Grains:
        wanted = plan.limit or (MOST_SORTED if everything else DEFAULT_ROWS)
        fitting = self._options(self._fitting(candidates, plan, trace, hidden=options.arrival), node, options)
        if plan.oldest_first:
            fitting = iter(sorted(fitting, key=_rising))
        rows, more = _take(fitting, wanted)
        total, sure = self._total(rows, more, fitting, candidates, plan, options)
        if candidates.bounded:
            self.env.warnings.append(warning("CAL-W015", "a word is too common to be looked up everywhere"))
        if everything and more is not None and plan.limit is None:
            self.env.warnings.append(warning("CAL-W015", f"the stages saw the newest {MOST_SORTED:,}"))
        trace.returned = len(rows)
        if options.contested or options.explanation or options.relative_time or options.arrival:
            rows = [self._shown(row, plan, options) for row in rows]
        return Grains(tuple(rows), total, sure)

    def count(self, node: ast.Recall, options: Options) -> int:
        """How many rows a RECALL without LIMIT would give."""
        plan = plan_recall(node, self.env, self._reader, superseded=options.superseded)
        trace = Trace(node, plan)
        self.traces.append(trace)
        if plan.selection is None:
            return 0
        candidates = self.host.store.candidates(plan.selection)
        trace.path = candidates.path
        if plan.exact and options == _NOTHING and not node.contradictions:
            trace.candidates = trace.matched = candidates.count(MOST_READ)
            return trace.matched
        fitting = self._fitting(candidates, plan, trace, hidden=options.arrival)
        return sum(1 for _ in self._options(fitting, node, options))

    def _fitting(
        self, candidates: Candidates, plan: RecallPlan, trace: Trace, *, hidden: bool = False
    ) -> Iterator[Row]:
        """The candidates that fit, as rows; what was read and what fitted is counted also when nobody goes on."""
        keep = plan.keep()
        text = plan.selection is not None and plan.selection.text is not None
        extra = NOTHING if text else CERTAIN
        contested = plan.needs_contested or self.tells_contested
        special = contested or plan.statement.type in (None, "recommendation")
        most = MOST_READ - self._read
        read = matched = 0
        grains = iter(()) if text else candidates.grains(self._page(plan))
        found = candidates.scored() if text else zip(_UNSCORED, grains, strict=False)
        try:
            for score, grain in found:
                read += 1
                if read % _LOOKS == 0 and self.deadline is not None:
                    self.check_time(plan.statement)
                if read > most:
                    raise self.env.fail(
                        "CAL-E030", f"more than {MOST_READ:,} grains would be read", plan.statement.span
                    )
                if not grain.live and grain.superseded_by is None and not hidden:
                    continue  # hidden by an undo: no version of anything
                row = Row(grain.address, grain.type, score, None, grain, extra)
                if special:
                    row = self._told_more(row, grain, contested=contested)
                if keep is None or keep(row):
                    matched += 1
                    yield row
        finally:
            if isinstance(grains, Generator):
                grains.close()
            self._read += read
            trace.candidates += read
            trace.matched += matched

    def check_time(self, at: ast.Recall | ast.Assemble) -> None:
        """Raises CAL-E071 behind the deadline of an ASSEMBLE."""
        if self.deadline is not None and monotonic_ns() > self.deadline:
            raise self.env.fail(
                "CAL-E071",
                f"the context took longer than {MAX_ASSEMBLE_MS // 1000} s",
                at.span,
                "Name a subject, a session or a time in its sources.",
            )

    def _page(self, plan: RecallPlan) -> int:
        """How many candidates are worth fetching at once: those that are given, and the few that are counted one by one."""
        return min(plan.limit or DEFAULT_ROWS, MOST_PAGE) + 1 + COUNTED_AT_ONCE

    def _told_more(self, row: Row, grain: StoredGrain, *, contested: bool) -> Row:
        """What the bytes of a grain do not say: the status of a recommendation, whether a head is contested."""
        more: dict[str, Any] = {}
        if grain.type == "recommendation" and grain.namespace in LOOP_SPACES:
            known = self.host.store.ledger_get(grain.address)
            more["rec_status"] = known.status if known is not None else None
        if contested:
            more["contradicted"] = bool(self._rivals(grain))
        return row._replace(fields={**row.fields, **more}) if more else row

    def _total(
        self,
        rows: list[Row],
        more: Row | None,
        rest: Iterator[Row],
        candidates: Candidates,
        plan: RecallPlan,
        options: Options,
    ) -> tuple[int, Total]:
        """How many rows there are before LIMIT, and how sure that is: what would cost too much is not counted out."""
        if more is None:
            return len(rows), "exact"
        plain = options == Options(explanation=options.explanation) and not plan.statement.contradictions
        if plain and (plan.exact or plan.covered):
            counted = max(candidates.count(COUNTED), len(rows) + 1)
            if counted >= COUNTED:
                return counted, "minimum"
            if plan.exact:
                return counted, "exact"
            if counted - len(rows) > COUNTED_AT_ONCE:
                return counted, "estimate"  # an index holds what differs in case as well
        counted = len(rows) + 1
        for _ in rest:
            counted += 1
            if counted - len(rows) > COUNTED_ONE_BY_ONE:
                return counted, "minimum"
        return counted, "exact"

    # --- options ---

    def _options(self, rows: Iterator[Row], node: ast.Recall, options: Options) -> Iterator[Row]:
        """The rows that pass the options which leave some out, one by one."""
        if node.contradictions:
            rows = self._contested(rows, node)
        if options.conflict_resolution:
            rows = _firsts(rows, lambda row: (row.fields.get("subject"), row.fields.get("relation")))
        if options.dedup is not None:
            rows = _firsts(rows, _dedup_key(options.dedup, node.type))
        return rows

    def _contested(self, rows: Iterator[Row], node: ast.Recall) -> Iterator[Row]:
        keys: set[object] | None = None
        if node.of is not None:
            inner = self.recall(node.of, Options(), everything=True)
            keys = {chains.key_of(row.grain) for row in inner.rows if row.grain is not None}
        for row in rows:
            if row.grain is None or (keys is not None and chains.key_of(row.grain) not in keys):
                continue
            others = self._rivals(row.grain)
            if others:
                yield row._replace(extra={**row.extra, "contested_by": others})

    def _shown(self, row: Row, plan: RecallPlan, options: Options) -> Row:
        extra = dict(row.extra)
        asked = options.contested and row.grain is not None and "contested_by" not in extra
        if asked and row.grain is not None and (others := self._rivals(row.grain)):
            extra["contested_by"] = others
        if options.arrival and row.grain is not None:
            extra |= {
                "arrival": row.grain.seq,
                "live": row.grain.live,
                "imported": row.grain.imported,
            }
        if options.explanation:
            extra["explanation"] = _explanation(row, plan)
        if options.relative_time and row.grain is not None:
            extra["relative_time"] = long_relative(row.grain.created_at, self.env.now)
        return row._replace(extra=extra)

    def _rivals(self, grain: StoredGrain) -> list[str]:
        """Addresses of the other tips of the open fork that ``grain`` is a tip of (D3), provisional head first."""
        space = grain.namespace
        if space not in self._forks:
            tips = [[tip.address for tip in fork.tips] for fork in self.host.store.forks([space])]
            self._forks[space] = {
                address: [other for other in fork if other != address] for fork in tips for address in fork
            }
        return self._forks[space].get(grain.address, [])

    # --- operations over RECALL ---

    def operation(self, node: ast.SetOperation, options: Options) -> Grains:
        """Rows of several RECALLs by address, from left to right; the order of the left ones is kept."""
        found = {row.hash: row for row in self.recall(node.first, options).rows}
        for join, operand in node.rest:
            other = {row.hash: row for row in self.recall(operand, options).rows}
            if join == "UNION":
                found = {**found, **{key: row for key, row in other.items() if key not in found}}
            elif join == "INTERSECT":
                found = {key: row for key, row in found.items() if key in other}
            else:
                found = {key: row for key, row in found.items() if key not in other}
        return Grains(tuple(found.values()), len(found))

    def subquery(self, node: ast.Subquery) -> tuple[Any, ...]:
        """The distinct values a RECALL gives, for IN and LET. Raises CAL-E036."""
        return self.values(node.recall, node.extract)

    def values(self, node: ast.Recall, extract: str) -> tuple[Any, ...]:
        """The distinct values of SUBJECTS, OBJECTS or HASHES of a RECALL, in order."""
        everything = node.limit is None and node.recent is None
        rows = self.recall(node, Options(), everything=everything).rows
        found = dict.fromkeys(value for row in rows if isinstance(value := extracted(row, extract), str))
        if len(found) > MAX_BOUND_VALUES:
            raise self.env.fail(
                "CAL-E036", f"it gives more than {MAX_BOUND_VALUES:,} values", node.span, "Add LIMIT 1000."
            )
        return tuple(found)

    def exists(self, node: ast.Exists) -> Answer:
        if isinstance(node.target, ast.Recall):
            found = self.recall(node.target, Options())
            return Answer(
                "exists", {"exists": bool(found.rows), "hash": found.rows[0].hash if found.rows else None}
            )
        address = self.env.address(node.target)
        return Answer("exists", {"exists": self.host.store.get(address) is not None, "hash": address})

    def coalesce(self, node: ast.Coalesce, options: Options, *, everything: bool) -> Grains | Answer:
        """The first branch with a row, or with a true EXISTS."""
        for branch in node.branches:
            if isinstance(branch, ast.Exists):
                answer = self.exists(branch)
                if answer.values["exists"]:
                    return answer
                continue
            rows = self.recall(branch, options, everything=everything)
            if rows.rows:
                return rows
        return Grains((), 0)

    # --- along links ---

    def history(self, node: ast.History) -> Answer:
        starts = [self.there(node.target)] if node.target is not None else self._of_key(node)
        versions, cut = chains.chain(self.host.store, starts)
        if cut:
            self.env.warnings.append(warning("CAL-W015", f"{len(versions)} versions are shown"))
        if node.as_of is not None:
            until = self.env.span(node.as_of)[1]
            versions = [version for version in versions if version.hlc >> _HLC_BITS <= until]
        return Answer("history", {"versions": [_version(version) for version in versions]})

    def _of_key(self, node: ast.History) -> list[StoredGrain]:
        """All versions of a (subject, relation). Raises CAL-E002, CAL-E092."""
        subject, relation = equals(node.where, "subject", self.env), equals(node.where, "relation", self.env)
        if subject is None:
            raise self.env.fail(
                "CAL-E092", "a history is asked of a subject and a relation", node.span, 'Add subject = "…".'
            )
        if relation is None:
            raise self.env.fail(
                "CAL-E002", "a history is asked of a subject and a relation", node.span, 'Add relation = "…".'
            )
        recall = ast.Recall("fact", where=node.where, span=node.span)
        plan = plan_recall(recall, self.env, self._reader, superseded=True)
        if plan.selection is None:
            return []
        trace = Trace(node, plan, "by subject and relation")
        self.traces.append(trace)
        fitting = self._fitting(self.host.store.candidates(plan.selection), plan, trace)
        return [row.grain for row in fitting if row.grain is not None]

    def diff(self, node: ast.Diff) -> Answer:
        old, new = self.there(node.source), self.there(node.target)
        if chains.key_of(old) != chains.key_of(new):
            self.env.warnings.append(warning("CAL-W005", ""))
        before = {**old.fields, "created_at": old.created_at}
        after = {**new.fields, "created_at": new.created_at}
        added = [
            {"field": name, "kind": "added", "value": after[name]}
            for name in sorted(after.keys() - before.keys())
        ]
        removed = [
            {"field": name, "kind": "removed", "value": before[name]}
            for name in sorted(before.keys() - after.keys())
        ]
        changed = [
            {"field": name, "kind": "changed", "old": before[name], "new": after[name]}
            for name in sorted(before.keys() & after.keys())
            if before[name] != after[name]
        ]
        changes = [*added, *removed, *changed]
        return Answer("diff", {"source_hash": old.address, "target_hash": new.address, "changes": changes})

    def entity(self, node: ast.EntityAt) -> Answer:
        """The value of a key at a moment: as it was known then (arrival, D45), or as it was valid then."""
        at = self.env.span(node.at)[1]
        subject, relation = self.env.text_of(node.subject), self.env.text_of(node.relation)
        found = self._facts(subject, relation, superseded=node.axis == "knowledge")
        if node.axis == "knowledge":
            there = [grain for grain in found if grain.hlc >> _HLC_BITS <= at]
        else:
            there = [grain for grain in found if _valid(grain, at)]
        best = max(there, key=lambda grain: _order(grain, node.axis), default=None)
        told = None if best is None else row_of(best).as_json()
        return Answer("entity_at", {"axis": node.axis, "at_ms": at, "grain": told})

    def _facts(self, subject: str, relation: str, *, superseded: bool) -> list[StoredGrain]:
        where = AllOf((OneOf("subject", (subject,)), OneOf("relation", (relation,))))
        selection = Selection((self.host.namespace,), ("fact",), where, superseded)
        return [
            grain
            for _, grain in self.host.store.candidates(selection).scored()
            if grain.get("subject") == subject
            and grain.get("relation") == relation
            and (grain.live or grain.superseded_by is not None)
        ]

    def forks(self) -> Answer:
        """Every open fork of the namespace, its provisional head first."""
        found = [
            {
                "namespace": fork.namespace,
                "subject": fork.subject,
                "relation": fork.relation,
                "heads": [tip.address for tip in fork.tips],
            }
            for fork in self.host.store.forks([self.host.namespace])
        ]
        return Answer("forks", {"forks": found})

    def derived(self, node: ast.DerivedFrom) -> Answer:
        grain = self.there(node.target)
        children = self.host.store.children(grain.address)
        return Answer("derived_from", {"grains": [row_of(child).as_json() for child in children]})

    def there(self, node: ast.HashText | ast.Param) -> StoredGrain:
        """The grain of an address. Raises CAL-E091 when it is not here."""
        address = self.env.address(node)
        found = self.host.store.get(address)
        if found is None:
            raise self.env.fail(
                "CAL-E091", f"no grain {address[:12]} here", node.span, "It may have been forgotten."
            )
        return found


_NOTHING: Final = Options()
_UNSCORED: Final = repeat(1.0)


def _take(rows: Iterator[Row], wanted: int) -> tuple[list[Row], Row | None]:
    """At most ``wanted`` rows, and the next one if there is one."""
    taken: list[Row] = []
    for row in rows:
        if len(taken) == wanted:
            return taken, row
        taken.append(row)
    return taken, None


def _rising(row: Row) -> tuple[int, int, str]:
    grain = row.grain
    return (grain.created_at, grain.hlc, grain.address) if grain is not None else (0, 0, row.hash)


def _firsts(rows: Iterator[Row], key: Any) -> Iterator[Row]:
    """The first row of each key; a row without key passes."""
    seen: set[Any] = set()
    for row in rows:
        mine = key(row)
        if mine is None or mine == (None, None):
            yield row
        elif (frozen := repr(mine)) not in seen:
            seen.add(frozen)
            yield row


def _dedup_key(name: str, type_: str | None) -> Any:
    if not name:
        return lambda row: (
            row.grain_type,
            row.fields.get("subject"),
            row.fields.get("relation"),
            content_or_object(row),
        )
    known = (ANY_TYPE if type_ is None else OF_TYPE[type_])[name]
    return known.read


def content_or_object(row: Row) -> Any:
    """What a row says, for telling equal ones."""
    told = row.fields.get("object")
    return content(row) if told is None else told


def _valid(grain: StoredGrain, at: int) -> bool:
    since, until = grain.get("valid_from"), grain.get("valid_to")
    return not (isinstance(since, int) and at < since) and not (isinstance(until, int) and at >= until)


def _order(grain: StoredGrain, axis: str) -> tuple[int, ...]:
    return (grain.hlc,) if axis == "knowledge" else (grain.created_at, grain.hlc)


def _version(grain: StoredGrain) -> dict[str, Any]:
    told = grain.get("object")
    return {
        "hash": grain.address,
        "object": content(row_of(grain)) if told is None else told,
        "created_at": grain.created_at,
        "confidence": grain.get("confidence"),
        "superseded_by": grain.superseded_by,
    }


def _told(plan: RecallPlan) -> tuple[list[str], list[str]]:
    """Which conditions the store was asked for, and which are decided row by row."""
    selection, bound = plan.selection, plan.bound
    if selection is None:
        return [], []
    pushed = [f"namespace IN ({', '.join(map(printer.quote, selection.namespaces))})"]
    evaluated = []
    if selection.types:
        pushed.append(f"type IN ({', '.join(map(printer.quote, selection.types))})")
    if selection.text is not None:
        pushed.append(f"ABOUT {printer.quote(selection.text)}")
    for part in () if bound is None else bound.parts if isinstance(bound, All) else (bound,):
        found = lower(part)
        told = _text_of(part)
        if found.filter is not None:
            pushed.append(told)
        if not found.exact:
            evaluated.append(told)
    return pushed, evaluated


def _text_of(bound: Bound) -> str:
    if isinstance(bound, Test):
        if isinstance(bound.node, ast.Compare) and bound.field.kind == "time":
            return f"time {bound.op} {printer.value(bound.node.value)}"
        return printer.condition(bound.node)
    if isinstance(bound, All):
        return " AND ".join(f"({_text_of(part)})" for part in bound.parts)
    if hasattr(bound, "parts"):
        return " OR ".join(f"({_text_of(part)})" for part in bound.parts)
    return f"NOT ({_text_of(bound.part)})"


def _explanation(row: Row, plan: RecallPlan) -> str:
    """Why a row matches, in one sentence."""
    said = []
    if plan.selection is not None and plan.selection.text is not None:
        said.append(f"its text holds words of {printer.quote(plan.selection.text)} (score {row.score:.2f})")
    if plan.bound is not None:
        said.append(f"it fits {_text_of(plan.bound)}")
    if not said:
        said.append(f"it is a live {row.grain_type} of the namespace")
    return "; ".join(chained(said))
