# SPDX-License-Identifier: Apache-2.0
"""A proposal as literal change lines: what is written, what leaves recall, what stays, what is erased.

Nothing is left out: a reviewer decides about exactly these lines (D16), and an operation is at most 8 KiB (D9).
Signs: ``+`` written, ``-`` out of recall, ``=`` stays, ``!`` erased for good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from deja_tui.engine.objects import Detail, Evidence
from deja_tui.engine.operations import Add, Forget, Operation, Retire, Supersede
from deja_tui.present.line import Line, Span, line
from deja_tui.present.words import fields_line, named, plural, says, short
from deja_tui.text import utc

CANNOT_BE_UNDONE: Final = "FORGET: CANNOT BE UNDONE"
HANG: Final = 4
_TRIPLE: Final = frozenset(("subject", "relation", "object"))


def change(detail: Detail, digits: int) -> list[Line]:
    """The literal change of a recommendation; ``digits`` is the length of short addresses."""
    recommendation = detail.recommendation
    lines: list[Line] = []
    if recommendation.destructive:
        lines.append(line(Span(f"! {CANNOT_BE_UNDONE}", "error")))
    lines.extend(operations(recommendation.operations, detail.targets, digits))
    if not recommendation.operations:
        lines.append(line(Span("No change to the memory: approving acknowledges the finding.", "dim")))
    if recommendation.remaining:
        more = f"{plural(recommendation.remaining, 'more is', 'more are')} left for a later recommendation."
        lines.append(line(Span(more, "dim")))
    return lines


def operations(found: Sequence[Operation], targets: Mapping[str, Evidence], digits: int) -> list[Line]:
    """The lines of operations in their order; what is retired in favour of one grain stands above that grain."""
    lines: list[Line] = []
    for position, operation in enumerate(found):
        match operation:
            case Add():
                lines.extend(_written(operation))
            case Supersede(target=target):
                lines.append(_existing("-", "removed", target, targets, digits))
                lines.extend(_written(operation))
            case Forget(target=target):
                lines.append(_existing("!", "error", target, targets, digits))
            case Retire(target=target, by=by):
                lines.append(_existing("-", "removed", target, targets, digits))
                following = found[position + 1] if position + 1 < len(found) else None
                if not (isinstance(following, Retire) and following.by == by):
                    lines.append(_existing("=", "kept", by, targets, digits, note="kept"))
    return lines


def _written(operation: Add | Supersede) -> list[Line]:
    fields = operation.fields
    whole = all(fields.get(name) is not None for name in _TRIPLE)
    head = line(Span("+ ", "added"), Span(operation.type, "added"), " ")
    rest = {name: value for name, value in fields.items() if not (whole and name in _TRIPLE)}
    place = line(Span("in ", "dim"), named(operation.namespace))
    if whole:
        first = line(head, says(fields))
        more = line(place, Span(" · ", "dim"), fields_line(rest)) if rest else place
        return [first, line(" " * HANG, more)]
    return [line(head, fields_line(rest)), line(" " * HANG, place)]


def _existing(
    sign: str,
    meaning: str,
    address: str,
    targets: Mapping[str, Evidence],
    digits: int,
    note: str = "",
) -> Line:
    grain = targets.get(address)
    where = Span(short(address, digits), "address")
    if grain is None or grain.type is None:
        return line(Span(f"{sign} ", meaning), where, Span("  not in this memory (any more)", "dim"))
    when = utc(grain.created_at) if grain.created_at is not None else ""
    state = note if grain.live else "no longer live"
    tail = line("  ", where, Span(f"  {when}", "dim"), Span(f"  {state}" if state else "", "dim"))
    return line(Span(f"{sign} {grain.type} ", meaning), says(grain.fields), tail)
