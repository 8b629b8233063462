# SPDX-License-Identifier: Apache-2.0
"""ASSEMBLE: rows of one or several sources under a measured budget.

* ASM-1  What is included never costs more than the budget says: a row that does not fit is left out, also the first.
* ASM-2  The unit is said in the result. Tokens are counted as `rows.cost` does, grains one by one. Without a unit it is
  tokens for labelled sources, grains for one.
* ASM-3  Nothing is left out unseen: rows over the budget are reported, and the host is told (`host.Overflow`).
* ASM-4  A grain stands once, in the first source that has it; with ``dedup(field)`` a value stands once, in the source
  of the highest priority.
* ASM-5  It ends: more than `words.MAX_ASSEMBLE_MS` is CAL-E071, looked at between sources and every 256 grains; more
  than `words.MAX_ASSEMBLED` grains over all sources are cut, with a warning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import floor
from time import monotonic_ns
from typing import Any, Final

from deja_tui.cal import ast
from deja_tui.cal.conditions import UNBOUND, Binder, address_digits, matcher
from deja_tui.cal.faults import warning
from deja_tui.cal.fields import ANY_TYPE
from deja_tui.cal.host import Overflow
from deja_tui.cal.options import read_options
from deja_tui.cal.plan import names_in
from deja_tui.cal.reads import Reads
from deja_tui.cal.results import Assembled, Context, Grains, Part
from deja_tui.cal.rows import Row, cost, row_of
from deja_tui.cal.stages import sort_key
from deja_tui.cal.words import DEFAULT_BUDGET, MAX_ASSEMBLE_MS, MAX_ASSEMBLED, MAX_BUDGET

_WEIGHTS: Final = {1: (1.0,), 2: (0.65, 0.35), 3: (0.5, 0.3, 0.2), 4: (0.4, 0.28, 0.2, 0.12)}


def assemble(node: ast.Assemble, options: tuple[ast.Option, ...], reads: Reads) -> Grains | Assembled:
    """The context. Raises CAL-E008, E033, E035, E071, and what its RECALLs raise."""
    reads.deadline = monotonic_ns() + MAX_ASSEMBLE_MS * 1_000_000
    try:
        return _assembled(node, options, reads)
    finally:
        reads.deadline = None


def _assembled(node: ast.Assemble, options: tuple[ast.Option, ...], reads: Reads) -> Grains | Assembled:
    name = node.name or ""
    intent = "" if node.intent is None else reads.env.text_of(node.intent)
    if node.single is not None:
        return _single(node, options, reads, name, intent)
    return _labelled(node, options, reads, name, intent)


# --- one source -------------------------------------------------------------------------------------


def _single(
    node: ast.Assemble, options: tuple[ast.Option, ...], reads: Reads, name: str, intent: str
) -> Grains:
    found = _source(node.single, options, reads)
    if node.where is not None:
        type_ = node.single.type if isinstance(node.single, ast.Recall) else None
        keep = matcher(Binder(reads.env, type_, rows=True).bind(node.where))
        found = replace(found, rows=tuple(filter(keep, found.rows)))
    context = Context(name, intent)
    rows = found.rows
    if node.budget is not None:
        unit = node.budget.unit or "grains"
        total = _amount(node.budget, reads)
        rows, omitted, used = _fill(found.rows, total, _counter(unit))
        context = Context(name, intent, unit, total, used, omitted)
        _report(context, len(rows), reads)
    return replace(found, rows=rows, context=context)


def _source(
    source: ast.Recall | ast.Hashes | ast.Param | None, options: tuple[ast.Option, ...], reads: Reads
) -> Grains:
    if isinstance(source, ast.Recall):
        has_text = source.about is not None or source.like is not None
        chosen = read_options(options, reads.env, type_=source.type, has_text=has_text)
        return reads.recall(source, chosen)
    if isinstance(source, ast.Param):
        return _grains(_bound(source, reads), reads)
    addresses: list[str] = []
    for item in source.addresses if source is not None else ():
        addresses += _bound(item, reads) if isinstance(item, ast.Param) else [reads.env.address(item)]
    return _grains(addresses, reads)


def _bound(node: ast.Param, reads: Reads) -> list[str]:
    """Addresses a parameter or binding stands for. Raises CAL-E008, CAL-E015."""
    env = reads.env
    held = env.lists.get(node.name)
    if held is None:
        given = env.param(node)
        held = given if isinstance(given, tuple) else () if given is UNBOUND else (given,)
    return [_address(value, node, reads) for value in held]


def _address(value: Any, node: ast.Param, reads: Reads) -> str:
    digits = address_digits(value)
    if digits is None:
        raise reads.env.fail("CAL-E015", f"${node.name} holds no addresses", node.span)
    return digits


def _grains(addresses: list[str], reads: Reads) -> Grains:
    """Live grains of these addresses, in that order; one that is not here is left out."""
    found = [
        grain for address in addresses if (grain := reads.host.store.get(address)) is not None and grain.live
    ]
    return Grains(tuple(map(row_of, found)), len(found))


# --- labelled sources -------------------------------------------------------------------------------


def _labelled(
    node: ast.Assemble, options: tuple[ast.Option, ...], reads: Reads, name: str, intent: str
) -> Assembled:
    weights = _weights(node, reads)
    _warn_mixed(node, reads)
    found: list[tuple[Row, ...]] = []
    for source in node.labelled:
        reads.check_time(node)
        found.append(_source(source.source, source.options or options, reads).rows)
    available = sum(map(len, found))
    found = _distinct(found, weights, _dedup(options))
    if sum(map(len, found)) > MAX_ASSEMBLED:
        told = f"the first {MAX_ASSEMBLED:,} grains of all sources are taken"
        reads.env.warnings.append(warning("CAL-W015", told))
        found = _first(found, MAX_ASSEMBLED)
    unit = node.budget.unit or "tokens" if node.budget is not None else "tokens"
    total = DEFAULT_BUDGET if node.budget is None else _amount(node.budget, reads)
    counter = _counter(unit)
    parts: list[Part] = []
    left = total
    for source, rows, weight in zip(node.labelled, found, weights, strict=True):
        allocated = min(floor(total * weight + 0.5), left)
        kept, omitted, used = _fill(rows, allocated, counter)
        parts.append(Part(source.label, allocated, used, kept, omitted, weight))
        left -= used
    dropped = tuple(row for part in parts for row in part.omitted)
    context = Context(name, intent, unit, total, total - left, dropped)
    _report(context, sum(len(part.rows) for part in parts), reads)
    return Assembled(tuple(parts), context, available)


def _dedup(options: tuple[ast.Option, ...]) -> str | None:
    for option in options:
        if option.name == "dedup":
            return str(option.arguments[0]) if option.arguments else ""
    return None


def _weights(node: ast.Assemble, reads: Reads) -> list[float]:
    labels = [source.label for source in node.labelled]
    if node.priority is None:
        count = len(labels)
        falling = _WEIGHTS.get(count) or tuple(0.6**place for place in range(count))
        return [weight / sum(falling) for weight in falling] if count > 4 else list(falling)
    named = [label.name for label in node.priority.labels]
    for label in node.priority.labels:
        if label.name not in labels:
            raise reads.env.fail("CAL-E035", f"no source is called {label.name[:32]}", label.span)
    if node.priority.weights is not None:
        given = dict(zip(named, node.priority.weights, strict=True))
        return [given.get(label, 0.0) for label in labels]
    count = len(named)
    total = count * (count + 1) / 2
    ranked = {label: (count - place) / total for place, label in enumerate(named)}
    return [ranked.get(label, 0.0) for label in labels]


def _warn_mixed(node: ast.Assemble, reads: Reads) -> None:
    """One user's facts beside everybody's events is nearly always a slip."""
    asked = [
        source.source.where is not None and "subject" in names_in(source.source.where)
        for source in node.labelled
        if isinstance(source.source, ast.Recall)
    ]
    if any(asked) and not all(asked):
        reads.env.warnings.append(warning("CAL-W009", ""))


def _distinct(found: list[tuple[Row, ...]], weights: list[float], dedup: str | None) -> list[tuple[Row, ...]]:
    """Each grain once, then each value of the dedup field once (ASM-4)."""
    seen: set[str] = set()
    unique: list[list[Row]] = []
    for rows in found:
        unique.append([row for row in rows if row.hash not in seen])
        seen.update(row.hash for row in rows)
    return list(map(tuple, _one_a_value(unique, weights, dedup) if dedup else unique))


def _first(found: list[tuple[Row, ...]], left: int) -> list[tuple[Row, ...]]:
    """The first so many rows, source by source."""
    cut: list[tuple[Row, ...]] = []
    for some in found:
        cut.append(some[:left])
        left -= len(cut[-1])
    return cut


def _one_a_value(unique: list[list[Row]], weights: list[float], dedup: str) -> list[list[Row]]:
    read = ANY_TYPE[dedup].read
    taken: dict[Any, str] = {}
    for place in sorted(range(len(unique)), key=lambda place: -weights[place]):
        for row in unique[place]:
            value = read(row)
            if value is not None:
                taken.setdefault(sort_key(value), row.hash)
    return [
        [row for row in rows if (value := read(row)) is None or taken[sort_key(value)] == row.hash]
        for rows in unique
    ]


# --- the budget -------------------------------------------------------------------------------------


def _amount(node: ast.Budget, reads: Reads) -> int:
    amount = reads.env.whole(node.amount)
    if not 1 <= amount <= MAX_BUDGET:
        raise reads.env.fail("CAL-E033", f"BUDGET is within 1 and {MAX_BUDGET:,}", node.amount.span)
    return amount


def _counter(unit: str) -> Callable[[Row], int]:
    return cost if unit == "tokens" else lambda row: 1


def _fill(
    rows: tuple[Row, ...], allowed: int, counter: Callable[[Row], int]
) -> tuple[tuple[Row, ...], tuple[Row, ...], int]:
    """Rows in order up to the first that does not fit, the rest, and what is used (ASM-1)."""
    used = 0
    for place, row in enumerate(rows):
        size = counter(row)
        if used + size > allowed:
            return rows[:place], rows[place:], used
        used += size
    return rows, (), used


def _report(context: Context, included: int, reads: Reads) -> None:
    if reads.host.assembled is not None:
        reads.host.assembled(bool(context.omitted))
    if context.omitted and context.total is not None and reads.host.overflow is not None:
        dropped = tuple(row.hash for row in context.omitted)
        reads.host.overflow(
            Overflow(context.name, context.unit, context.total, context.used, included, dropped)
        )
