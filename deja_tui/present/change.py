# SPDX-License-Identifier: Apache-2.0
"""A proposal as literal change lines: what is written, what leaves recall, what stays, what is erased.

Nothing is left out: a reviewer decides about exactly these lines (D16), and an operation is at most 8 KiB (D9). Where a
grain is retired in favour of another, the fields in which they differ stand below it: that is what is lost.
Signs: ``+`` written, ``-`` out of recall, ``=`` stays, ``!`` erased for good, ``~`` a query, document or recommendation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from deja_tui.engine.objects import Detail, Evidence
from deja_tui.engine.operations import (
    Add,
    Alternative,
    DefineQuery,
    DocEdit,
    Forget,
    Merge,
    Operation,
    Retire,
    Revert,
    Supersede,
)
from deja_tui.present.edits import defined, edited
from deja_tui.present.line import Line, Span, joined, line
from deja_tui.present.words import (
    LITERAL_LIMIT,
    fenced,
    fields_line,
    moment,
    named,
    plural,
    says,
    short,
    value_of,
)
from deja_tui.text import clean, compact_json, utc

CANNOT_BE_UNDONE: Final = "FORGET: CANNOT BE UNDONE"
HANG: Final = 4
_TRIPLE: Final = frozenset(("subject", "relation", "object"))
_TIMES: Final = frozenset(("valid_from", "valid_to", "system_valid_from", "system_valid_to"))
_DIFFERENCES: Final = 24  # lines below one retired grain; a grain may have any number of fields
_DIFFERENCE_TEXT: Final = 200
_BEFORE_DIFFERENCE: Final = 24


def change(detail: Detail, digits: int) -> list[Line]:
    """The literal change of a recommendation, every alternative of it; ``digits`` is the length of short addresses."""
    recommendation = detail.recommendation
    lines: list[Line] = []
    if recommendation.destructive:
        lines.append(line(Span(f"! {CANNOT_BE_UNDONE}", "error")))
    for number, alternative in enumerate(recommendation.alternatives):
        lines.append(_choice(number, alternative, detail.choice))
        lines.extend(operations(alternative.operations, detail, digits))
    if recommendation.alternatives and detail.status == "pending":
        lines.append(
            line(Span("An approval is of one of these, by its number; without one it is of 0.", "dim"))
        )
    if not recommendation.alternatives:
        lines.extend(operations(recommendation.operations, detail, digits))
    lines.extend(_told(detail))
    if recommendation.remaining:
        more = f"{plural(recommendation.remaining, 'more is', 'more are')} left for a later recommendation."
        lines.append(line(Span(more, "dim")))
    return lines


def _choice(number: int, alternative: Alternative, chosen: int | None) -> Line:
    """The line above one alternative: its number, its label, whether it is the default or the approved one."""
    state = "approved" if chosen == number else "" if chosen is not None else "default" if number == 0 else ""
    destructive = any(operation.destructive for operation in alternative.operations)
    return line(
        Span(f"{number} ", "strong"),
        fenced(alternative.label),
        Span(f"  {state}" if state else "", "strong"),
        Span(f"  {CANNOT_BE_UNDONE}" if destructive else "", "error"),
    )


def _told(detail: Detail) -> list[Line]:
    """What a finding says that changes no grain, and what approving it means."""
    recommendation = detail.recommendation
    data = dict(recommendation.data or {})
    asked = data.pop("configure", None)
    lines = [told for name, value in sorted(data.items()) for told in _datum(name, value)]
    if detail.plan is not None and detail.plan.outside:
        lines.append(line("It lies outside this memory: make the change there, then mark it as applied."))
    elif isinstance(asked, Mapping):
        word, where, whose = (named(asked.get(name)) for name in ("add", "param", "analyzer"))
        lines.append(
            line(
                Span("+ ", "added"), word, " to ", where, " of ", whose, Span("  when it is approved", "dim")
            )
        )
    elif not recommendation.operations:
        lines.append(line(Span("No change to the memory: approving acknowledges the finding.", "dim")))
    return lines


def _datum(name: str, value: object) -> list[Line]:
    """One entry of what a finding says: a list of maps a line each, a time as a time, all else as it is."""
    label = line("· ", named(name, "dim"))
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        parts = [[_pair(key, item[key]) for key in sorted(item)] for item in value]
        return [label, *(line("    ", joined(each)) for each in parts)]
    return [line("· ", _pair(name, value))]


def _pair(name: str, value: object) -> Line:
    when = moment(name, value)
    return line(
        named(name, "dim"), " ", value_of(value, LITERAL_LIMIT) if when is None else Span(clean(when))
    )


def operations(found: Sequence[Operation], detail: Detail, digits: int) -> list[Line]:
    """The lines of operations in their order; what is retired in favour of one grain stands above that grain."""
    targets = detail.targets
    lines: list[Line] = []
    for position, operation in enumerate(found):
        match operation:
            case Add():
                lines.extend(_written(operation))
            case Supersede(target=target):
                lines.append(_existing("-", "removed", target, targets, digits))
                lines.extend(_written(operation))
            case Merge(heads=heads):
                lines.extend(_existing("-", "removed", head, targets, digits) for head in heads)
                lines.extend(_written(operation))
            case Forget(target=target):
                lines.append(_existing("!", "error", target, targets, digits))
            case Retire(target=target, by=by):
                lines.append(_existing("-", "removed", target, targets, digits))
                lines.extend(_differences(targets.get(target), targets.get(by)))
                following = found[position + 1] if position + 1 < len(found) else None
                if not (isinstance(following, Retire) and following.by == by):
                    lines.append(_existing("=", "kept", by, targets, digits, note="kept"))
            case DefineQuery():
                lines.extend(defined(operation, detail.texts))
            case DocEdit():
                lines.extend(edited(operation))
            case Revert(recommendation=address):
                lines.extend(_taken_back(address, detail, digits))
    return lines


def _taken_back(address: str, detail: Detail, digits: int) -> list[Line]:
    """What a revert takes out of recall and what it brings back."""
    lines = [line(Span("~ ", "added"), "takes back recommendation ", Span(short(address, digits), "address"))]
    steps = detail.undoes.get(address, ())
    for step in steps:
        grain = step.get("grain")
        if step.get("do") == "hide":
            lines.append(_existing("-", "removed", str(grain), detail.targets, digits))
        elif step.get("do") == "reopen":
            lines.append(
                _existing("+", "added", str(grain), detail.targets, digits, note="back in recall", gone=True)
            )
        else:
            scheme, name = clean(step.get("scheme"), limit=20), named(step.get("name"))
            lines.append(line(Span("~ ", "added"), f"{scheme} ", name, " becomes what it was"))
    if not steps:
        lines.append(line(" " * HANG, Span("it has no stored inverse", "warning")))
    return lines


def _written(operation: Add | Supersede | Merge) -> list[Line]:
    fields = operation.fields
    whole = all(fields.get(name) is not None for name in _TRIPLE)
    head = line(Span("+ ", "added"), Span(operation.type, "added"), " ")
    rest = {name: value for name, value in fields.items() if not (whole and name in _TRIPLE)}
    place = line(Span("in ", "dim"), named(operation.namespace, limit=LITERAL_LIMIT))
    if whole:
        first = line(head, says(fields, LITERAL_LIMIT))
        more = line(place, Span(" · ", "dim"), fields_line(rest, LITERAL_LIMIT)) if rest else place
        return [first, line(" " * HANG, more)]
    return [line(head, fields_line(rest, LITERAL_LIMIT)), line(" " * HANG, place)]


def _existing(
    sign: str,
    meaning: str,
    address: str,
    targets: Mapping[str, Evidence],
    digits: int,
    note: str = "",
    gone: bool = False,  # it is out of recall now, and that is as it should be
) -> Line:
    grain = targets.get(address)
    where = Span(short(address, digits), "address")
    if grain is None or grain.type is None:
        return line(Span(f"{sign} ", meaning), where, Span("  not in this memory (any more)", "dim"))
    when = utc(grain.created_at) if grain.created_at is not None else ""
    state = note if grain.live or gone else "no longer live"
    tail = line("  ", where, Span(f"  {when}", "dim"), Span(f"  {state}" if state else "", "dim"))
    return line(Span(f"{sign} {grain.type} ", meaning), says(grain.fields), tail)


def _differences(gone: Evidence | None, kept: Evidence | None) -> list[Line]:
    """A line for each field in which a retired grain differs from the one that stays, with both values.

    Subject, relation and object are left out where both lines show them.
    """
    if gone is None or kept is None or gone.type is None or kept.type is None:
        return []
    mine, theirs = _content(gone), _content(kept)
    shown = _TRIPLE if all(held.get(name) is not None for held in (mine, theirs) for name in _TRIPLE) else ()
    names = sorted(
        name for name in {*mine, *theirs} if name not in shown and not _same(mine.get(name), theirs.get(name))
    )
    lines = [_difference(name, mine.get(name), theirs.get(name)) for name in names[:_DIFFERENCES]]
    if len(names) > _DIFFERENCES:
        more = plural(len(names) - _DIFFERENCES, "more field differs", "more fields differ")
        lines.append(line(" " * HANG, Span(f"{more}.", "warning")))
    return lines


def _content(grain: Evidence) -> dict[str, Any]:
    return {**grain.fields, "namespace": grain.namespace, "type": grain.type}


def _same(one: Any, other: Any) -> bool:
    # True equals 1, but a reviewer reads two values
    return type(one) is type(other) and bool(one == other)


def _difference(name: str, gone: Any, kept: Any) -> Line:
    here, there = _values(name, gone, kept)
    return line(" " * HANG, named(name, "dim"), " ", here, Span(", kept ", "dim"), there)


def _values(name: str, gone: Any, kept: Any) -> Iterator[Line]:
    """Both values, bounded; long texts from shortly before the place where they part."""
    texts = [value if isinstance(value, str) else compact_json(value) for value in (gone, kept)]
    parted = next((at for at, (one, other) in enumerate(zip(*texts, strict=False)) if one != other), 0)
    start = max(0, parted - _BEFORE_DIFFERENCE)
    for value, text in zip((gone, kept), texts, strict=True):
        if value is None:
            yield line(Span("none", "dim"))
        elif name in _TIMES and isinstance(value, int) and not isinstance(value, bool):
            yield line(clean(value), Span(f" ({utc(value)})", "dim"))
        elif isinstance(value, bool | int | float):
            yield line(value_of(value))
        elif start and max(map(len, texts)) > _DIFFERENCE_TEXT:
            yield line(fenced(f"…{text[start:]}", _DIFFERENCE_TEXT))
        else:
            yield line(fenced(text, _DIFFERENCE_TEXT))
