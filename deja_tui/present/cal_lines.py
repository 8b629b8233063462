# SPDX-License-Identifier: Apache-2.0
"""Results of statements as lines for a terminal: tables with columns that fit, everything of a grain cleaned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from deja_tui.cal.renderers.page import Page, content
from deja_tui.cal.results import (
    Answer,
    Assembled,
    BatchDone,
    Counted,
    Formatted,
    Grains,
    MultiFormatted,
    Result,
)
from deja_tui.cal.rows import Row
from deja_tui.present.grain import grain_lines
from deja_tui.present.words import short
from deja_tui.text import cells, clean, clean_lines, clip, fence, pad, utc

_LEAST: Final = 6
_WRITTEN: Final = {
    "added": "hash",
    "remembered": "hash",
    "merged": "hash",
    "superseded": "new_hash",
    "retired": "old_hash",
    "forgotten": "target",
}


Summary = Callable[[Mapping[str, Any]], str]
"""Renders the summary of a recommendation."""


def lines_of(result: Result, width: int, summary: Summary | None = None) -> list[str]:
    """A result in lines of at most ``width`` cells; rendered text keeps its own."""
    match result:
        case Grains():
            return list(_grains(result, width, summary))
        case Assembled():
            return list(_assembled(result, width, summary))
        case Counted(count=count):
            return [str(count)]
        case Formatted(text=text):
            return _text(text)
        case MultiFormatted(formats=formats):
            return [line for name, text in formats.items() for line in (f"# {clean(name)}", *_text(text))]
        case BatchDone(results=results):
            return [
                line
                for key, inner in results.items()
                for line in (f"# {clean(key)}", *lines_of(inner, width, summary))
            ]
        case Answer():
            return list(_answer(result, width))


def _text(text: str) -> list[str]:
    return clean_lines(text.removesuffix("\n"), limit=len(text)) if text else []


# --- rows -------------------------------------------------------------------------------------------


def _grains(result: Grains, width: int, summary: Summary | None) -> Iterator[str]:
    if not result.rows:
        yield "Nothing found."
        return
    yield from _rows(result.rows, width, summary)
    left = result.total_available - len(result.rows)
    if left > 0:
        sure = {"exact": "", "minimum": "at least ", "estimate": "about "}[result.total]
        yield f"({len(result.rows)} of {sure}{result.total_available})"
    if result.context is not None and result.context.total is not None:
        context = result.context
        dropped = f", {len(context.omitted)} left out" if context.omitted else ""
        yield f"({context.used} of {context.total} {context.unit}{dropped})"


def _rows(rows: Sequence[Row], width: int, summary: Summary | None) -> list[str]:
    """Grains as the other verbs show them; projected rows and extracted values as a table of their fields."""
    whole = [row.grain for row in rows if row.grain is not None and "created_at" in row.fields]
    if len(whole) == len(rows):
        lines = grain_lines(whole, width)
        return [_said(row, line, width, summary) for row, line in zip(rows, lines, strict=True)]
    names = list(dict.fromkeys(name for row in rows for name in row.fields))
    return table(names, [[_cell(row.fields.get(name)) for name in names] for row in rows], width)


def _said(row: Row, line: str, width: int, summary: Summary | None) -> str:
    """The line of one grain. Types the other verbs have no sentence for are told by their content."""
    if row.grain_type in ("fact", "event", "tool"):
        return line
    head = line.split("  ", 2)[:2]  # address and time
    page = Page((row,), 0, summary=summary)
    if row.grain_type == "recommendation":
        said = f"{clean(row.fields.get('rec_status') or '-'):<11} {content(row, page)}"
    else:
        live = row.grain is None or row.grain.live
        said = f"{row.grain_type:<11} {'' if live else '(not live) '}{fence(content(row, page))}"
    return clip("  ".join([*head, said]), width)


def _assembled(result: Assembled, width: int, summary: Summary | None) -> Iterator[str]:
    for part in result.parts:
        dropped = f", {len(part.omitted)} left out" if part.omitted else ""
        yield f"# {clean(part.label)} ({part.used} of {part.allocated} {result.context.unit}{dropped})"
        yield from _rows(part.rows, width, summary)
    yield f"({result.context.used} of {result.context.total} {result.context.unit})"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Columns apart by two blanks; the widest give way until the lines fit."""
    if not heads:
        return []
    widths = [max(cells(row[place]) for row in (heads, *rows)) for place in range(len(heads))]
    while sum(widths) + 2 * (len(widths) - 1) > width and max(widths) > _LEAST:
        widths[widths.index(max(widths))] -= 1
    told = [heads, ["─" * cell for cell in widths], *rows]
    lines = (
        "  ".join(pad(cell, size) for cell, size in zip(row, widths, strict=True)).rstrip() for row in told
    )
    return [clip(line, width) for line in lines]


def _cell(value: Any) -> str:
    return "" if value is None else clean(value, limit=400)


# --- answers ----------------------------------------------------------------------------------------


def _answer(result: Answer, width: int) -> Iterator[str]:
    values = result.values
    match result.kind:
        case "exists":
            yield "yes" if values["exists"] else "no"
        case "history":
            yield from _versions(values["versions"], width)
        case "diff":
            yield from table(
                ["field", "change", "old", "new"],
                [_change(change) for change in values["changes"]],
                width,
            )
        case "describe":
            yield from _described(values["info"], width)
        case "explain":
            yield from _tree(values["plan"], 0)
        case "forks" | "derived_from":
            yield from _tree(values, 0)
        case kind if kind in _WRITTEN:
            yield f"{kind} {clean(values[_WRITTEN[kind]])}"
        case kind if "name" in values:
            yield f"{kind.replace('_', ' ')}: {clean(values['name'])}"
        case _:
            yield from _tree(values, 0)


def _versions(versions: Sequence[Mapping[str, Any]], width: int) -> list[str]:
    rows = [
        [
            short(told["hash"]),
            utc(told["created_at"]),
            _cell(told["confidence"]),
            short(told["superseded_by"] or ""),
            _cell(told["object"]),
        ]
        for told in versions
    ]
    return table(["address", "created", "confidence", "replaced by", "says"], rows, width)


def _change(change: Mapping[str, Any]) -> list[str]:
    old = change.get("old", change.get("value") if change["kind"] == "removed" else None)
    new = change.get("new", change.get("value") if change["kind"] == "added" else None)
    return [clean(change["field"]), change["kind"], _cell(old), _cell(new)]


def _described(info: Mapping[str, Any], width: int) -> Iterator[str]:
    """A list of maps as a table, everything else as a tree."""
    for name, value in info.items():
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            heads = list(value[0])
            yield from table(heads, [[_cell(item.get(head)) for head in heads] for item in value], width)
        else:
            yield from _tree({name: value}, 0)


def _tree(value: Any, depth: int) -> Iterator[str]:
    """Names and values, nested ones indented; lists of plain values on one line."""
    indent = "  " * depth
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if isinstance(inner, Mapping) or (
                isinstance(inner, list) and any(isinstance(i, (Mapping, list)) for i in inner)
            ):
                yield f"{indent}{clean(name)}:"
                yield from _tree(inner, depth + 1)
            elif isinstance(inner, list):
                yield f"{indent}{clean(name)}: {', '.join(_cell(item) for item in inner)}"
            else:
                yield from _leaf(f"{indent}{clean(name)}: ", inner)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            if place:
                yield ""
            yield from _tree(item, depth)
    else:
        yield indent + _cell(value)


def _leaf(head: str, value: Any) -> Iterator[str]:
    if isinstance(value, str) and "\n" in value:
        yield head.rstrip()
        indent = " " * (len(head) - len(head.lstrip()) + 2)
        yield from (indent + line for line in clean_lines(value, limit=len(value)))
    else:
        yield head + _cell(value)
