# SPDX-License-Identifier: Apache-2.0
"""The parse tree: frozen nodes, each with the span of the text it came from. Spans take no part in comparison.

Only a `Recall` may stand where the grammar says "recall" (the types of the fields say so): no position meant for
reading can hold a statement that writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from dataclasses import field as _with

from deja_tui.cal.faults import Span

_NOWHERE: Span = (0, 0)


# --- values -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    """A text, number or boolean."""

    value: str | int | float | bool
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class HashText:
    """8 to 64 lower-case hex digits, written with ``sha256:``."""

    digits: str
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Param:
    """``$name``: a value given beside the text, or a binding of LET."""

    name: str
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Items:
    """``[v, v, …]``."""

    values: tuple[Value, ...]
    span: Span = _with(default=_NOWHERE, compare=False)


Value = Constant | HashText | Param | Items


@dataclass(frozen=True, slots=True)
class Field:
    """The name of a field, as written."""

    name: str
    span: Span = _with(default=_NOWHERE, compare=False)


# --- conditions -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Compare:
    """``field op value`` with = != < <= > >= CONTAINS STARTS."""

    field: Field
    op: str
    value: Value
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Member:
    """``field [NOT] IN (…)``, ``IN $p``, ``IN (RECALL … SUBJECTS)``."""

    field: Field
    negated: bool
    values: tuple[Value, ...] | Subquery
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Subquery:
    """What a RECALL gives, one value a row."""

    recall: Recall
    extract: str
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Null:
    """``field IS [NOT] NULL``."""

    field: Field
    negated: bool
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Category:
    """``relation IS category``."""

    field: Field
    name: str
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Tagged:
    """``field INCLUDE […]`` (all of them) or ``EXCLUDE […]`` (none of them)."""

    field: Field
    op: str
    values: tuple[Value, ...]
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Between:
    """``time BETWEEN a AND b``, both ends included."""

    field: Field
    low: Value
    high: Value
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Condition


Condition = Compare | Member | Null | Category | Tagged | Between | And | Or | Not


# --- reads ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Times:
    """SINCE, UNTIL and BETWEEN of a RECALL."""

    since: Value | None = None
    until: Value | None = None
    between: tuple[Value, Value] | None = None
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Recall:
    """``type`` is the singular name; None means every type."""

    type: str | None = None
    mine: bool = False
    namespace: Value | None = None
    thread: Value | None = None
    about: Value | None = None
    like: Value | None = None
    times: Times | None = None
    where: Condition | None = None
    recent: Value | None = None
    limit: Value | None = None
    contradictions: bool = False
    of: Recall | None = None
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class SetOperation:
    """RECALLs joined from left to right; ``rest`` holds (UNION | INTERSECT | EXCEPT, operand)."""

    first: Recall
    rest: tuple[tuple[str, Recall], ...]
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Source:
    """One labelled source of an ASSEMBLE: a RECALL with options, or a binding of LET."""

    label: str
    source: Recall | Param
    options: tuple[Option, ...] = ()
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Hashes:
    """Addresses as the one source of an ASSEMBLE."""

    addresses: tuple[HashText | Param, ...]
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Budget:
    """``unit`` is tokens, grains, or None where the statement leaves it to the default."""

    amount: Value
    unit: str | None
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Priority:
    """Labels in falling order (``weights`` None), or label and weight pairs."""

    labels: tuple[Field, ...]
    weights: tuple[float, ...] | None
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Assemble:
    """One source (``single``), which ``where`` filters further, or labelled ones."""

    name: str | None
    intent: Value | None
    single: Recall | Hashes | None
    labelled: tuple[Source, ...] = ()
    where: Condition | None = None
    budget: Budget | None = None
    priority: Priority | None = None
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Exists:
    """Of an address, or of a row that a RECALL would give."""

    target: HashText | Param | Recall
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class History:
    """The chain of an address, or all chains of a key (``where``); ``as_of`` leaves out what arrived later."""

    target: HashText | Param | None
    where: Condition | None = None
    as_of: Value | None = None
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Diff:
    source: HashText | Param
    target: HashText | Param
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Explain:
    inner: Query
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Describe:
    """``what`` in capitals; ``name`` is a type or the name of a saved query."""

    what: str
    name: str | None = None
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Coalesce:
    branches: tuple[Recall | Exists, ...]
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class RunQuery:
    name: str
    arguments: tuple[tuple[str, Value], ...] = ()
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class EntityAt:
    subject: Value
    relation: Value
    at: Value
    axis: str = "world"
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ShowForks:
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class DerivedFrom:
    target: HashText | Param
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ReportSubject:
    subject: Value
    span: Span = _with(default=_NOWHERE, compare=False)


# --- writes -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Setting:
    """``SET field = value``."""

    field: Field
    value: Value
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Add:
    """``type`` is the singular name."""

    type: str
    settings: tuple[Setting, ...]
    options: tuple[Option, ...]
    reason: Value | None
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Supersede:
    target: HashText | Param
    settings: tuple[Setting, ...]
    reason: Value | None
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Retire:
    """``SUPERSEDE a BY b``: a live grain gives way to another that says the same (D9)."""

    target: HashText | Param
    by: HashText | Param
    reason: Value | None
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Merge:
    subject: Value
    relation: Value
    object: Value
    confidence: Value | None
    reason: Value | None
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Remember:
    content: Value
    options: tuple[Option, ...]
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Forget:
    target: HashText | Param
    reason: Value | None
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ForgetSubject:
    subject: Value
    reason: Value | None
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared parameter of a saved query."""

    name: str
    default: Value | None
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class DefineQuery:
    """``body`` is the text between the braces."""

    name: str
    parameters: tuple[Parameter, ...]
    description: str | None
    body: str
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class DefineTemplate:
    """``sections`` holds (section word, raw text) pairs; ``whole`` the text after AS."""

    name: str
    description: str | None
    extends: str | None
    types: tuple[str, ...]
    whole: str | None
    sections: tuple[tuple[str, str], ...]
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Drop:
    """``kind`` is QUERY or TEMPLATE."""

    kind: str
    name: str
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Document:
    """``DOCUMENT "path" AS "text"``: a line of a script only (D42)."""

    path: str
    text: str
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class AnalyzerRow:
    """``ANALYZER "id" SET parameter = value … BECAUSE "…"``: a line of a script only (D42)."""

    name: str
    settings: tuple[Setting, ...]
    reason: Value | None
    span: Span = _with(default=_NOWHERE, compare=False)


# --- governance -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decide:
    """``verb`` is approve, reject, withdraw or rollback. ``choice``: of an approval, the number of an alternative (D20)."""

    verb: str
    target: HashText | Param
    reason: Value | None
    choice: Value | None = None
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Apply:
    target: HashText | Param
    dry_run: bool
    reason: Value | None
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class RunLoop:
    full: bool
    options: tuple[Option, ...]
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class NotOffered:
    """A statement of the published language that this version refuses by name."""

    word: str
    span: Span = _with(default=_NOWHERE, compare=False)


# --- around a statement -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries with the label they are answered under, or None."""

    entries: tuple[tuple[str | None, Query], ...]
    span: Span = _with(default=_NOWHERE, compare=False)


Statement = (
    Recall
    | SetOperation
    | Assemble
    | Exists
    | History
    | Diff
    | Explain
    | Describe
    | Coalesce
    | RunQuery
    | EntityAt
    | ShowForks
    | DerivedFrom
    | ReportSubject
    | Add
    | Supersede
    | Retire
    | Merge
    | Remember
    | Forget
    | ForgetSubject
    | DefineQuery
    | DefineTemplate
    | Drop
    | Document
    | AnalyzerRow
    | Decide
    | Apply
    | RunLoop
    | NotOffered
    | Batch
)


@dataclass(frozen=True, slots=True)
class Project:
    """SELECT (no names) and PROJECT: field and the name it gets."""

    fields: tuple[tuple[Field, str], ...]
    renames: bool = False
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class OrderBy:
    field: Field
    descending: bool = False
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Cut:
    """``kind`` is LIMIT or OFFSET."""

    kind: str
    amount: Value
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Count:
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class First:
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Extract:
    """``kind`` is SUBJECTS, OBJECTS or HASHES."""

    kind: str
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class GroupBy:
    field: Field
    span: Span = _with(default=_NOWHERE, compare=False)


Stage = Project | OrderBy | Cut | Count | First | Extract | GroupBy


@dataclass(frozen=True, slots=True)
class Option:
    """One entry of WITH; the name in lower case."""

    name: str
    arguments: tuple[str | int | float | bool, ...] = ()
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class TemplateUse:
    """A template by name, as an inline text, or as sections."""

    name: str | None = None
    text: str | None = None
    sections: tuple[tuple[str, str], ...] = ()
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class FormatSpec:
    """``format`` is a renderer's name or a template; ``key`` names it in a list."""

    format: str | TemplateUse
    key: str
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Format:
    """``several`` when a list was written, even of one."""

    specs: tuple[FormatSpec, ...]
    several: bool = False
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Query:
    """One statement with what follows it.

    Attributes:
        where: filters the rows that the statement and its stages gave.
        bars: how many ``|`` stood before stages.
    """

    statement: Statement
    stages: tuple[Stage, ...] = ()
    options: tuple[Option, ...] = ()
    where: Condition | None = None
    format: Format | None = None
    variables: tuple[tuple[str, str], ...] = ()
    bars: int = _with(default=0, compare=False)
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Let:
    name: str
    recall: Recall
    extract: str
    span: Span = _with(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Program:
    """A whole text: bindings, then one statement. ``text`` is what spans count in."""

    lets: tuple[Let, ...]
    query: Query
    text: str = _with(default="", compare=False)


def walk(node: object) -> Iterator[object]:
    """Every node of a tree, parents before children."""
    todo = [node]
    while todo:
        here = todo.pop()
        if is_dataclass(here) and not isinstance(here, type):
            yield here
            todo.extend(getattr(here, known.name) for known in reversed(fields(here)))
        elif isinstance(here, tuple):
            todo.extend(reversed(here))
