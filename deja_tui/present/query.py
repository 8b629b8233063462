# SPDX-License-Identifier: Apache-2.0
"""What a statement answered, as rows and lines of the Query screen; errors with a caret; budgets as bars.

Everything that stands in a result as text stands behind ``|``, so that no text of a grain can pose as a line of the
console.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol

from deja_tui.cal.faults import CalError, Place
from deja_tui.cal.pages import page_of
from deja_tui.cal.renderers import render
from deja_tui.cal.renderers.page import Page, content
from deja_tui.cal.results import (
    Answer,
    Assembled,
    BatchDone,
    Context,
    Counted,
    Formatted,
    Grains,
    MultiFormatted,
    Result,
    Taken,
)
from deja_tui.cal.rows import Row
from deja_tui.cal.words import MAX_ROWS
from deja_tui.engine.templates import render as summary_of
from deja_tui.errors import DejaError
from deja_tui.present.cal_lines import lines_of
from deja_tui.present.line import Line, Span, heading, line, pad, wrap
from deja_tui.present.words import age, fenced, named, plural, ratio, says, short, unique_length, value_of
from deja_tui.text import cells, clean, clean_lines

PREVIEW_FORMAT: Final = "sml"
# A context holds at most 16,000 tokens; only a FORMAT without a budget can be longer.
_TEXT_LIMIT: Final = 100_000
_SAID_LIMIT: Final = 400
_BAR: Final = 24
_MORE: Final = f"LIMIT takes up to {MAX_ROWS:,}"
_LEAST_COLUMN: Final = 6
_GUTTER: Final = Span("| ", "dim")
_WRITTEN: Final = ("new_hash", "hash", "old_hash")
_WRITES: Final = ("added", "remembered", "merged", "superseded", "retired")
_OWN_WORDS: Final = ("fact", "event", "tool")


class Item(NamedTuple):
    """A row. ``line`` draws it in so many cells."""

    key: str
    address: str
    recommendation: bool
    line: Callable[[int], Line]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A result as it is shown.

    Attributes:
        told: how many of how many, in words.
        items: rows; empty for a result that is a text.
        head: draws the heads of columns in so many cells; None without.
        text: draws the text in so many cells; None for a result that is only rows.
        warnings: of the statement, each with its code.
        lead: sentences above the rows.
        more: how more rows are had; "" where these are all.
    """

    told: str
    items: tuple[Item, ...] = ()
    head: Callable[[int], Line] | None = None
    text: Callable[[int], list[Line]] | None = None
    warnings: tuple[str, ...] = ()
    lead: tuple[Line, ...] = ()
    more: str = ""


def _summary(told: Mapping[str, Any]) -> str:
    return summary_of(str(told.get("template_id", "")), told.get("args") or {})


# --- results ----------------------------------------------------------------------------------------


def sheet(result: Result, now_ms: int) -> Sheet:
    """How a result is shown."""
    match result:
        case Grains(context=Context(total=int())) | Assembled():
            return _assembled(result, now_ms)
        case Grains():
            items, head = _rows(result.rows, now_ms)
            more = "" if result.total_available <= len(result.rows) else _MORE
            return Sheet(_counted(result), items, head, warnings=result.warnings, more=more)
        case Formatted():
            return _formatted(result.text, result.format, result.grain_count, result.taken, result.warnings)
        case MultiFormatted():
            texts = tuple(result.formats.items())
            return Sheet(
                f"{plural(result.grain_count, 'grain')} as text",
                _taken_rows(result.taken),
                text=lambda room: [
                    *_taken_bar(result.taken),
                    *(one for name, text in texts for one in _verbatim(name, text, room)),
                ],
                warnings=result.warnings,
            )
        case Counted():
            return Sheet(
                plural(result.count, "grain"),
                text=lambda room: _gutter([str(result.count)], room),
                warnings=result.warnings,
            )
        case BatchDone():
            told = plural(len(result.results), "result")
            return Sheet(told, text=lambda room: _text_of(result, room), warnings=result.warnings)
        case Answer():
            return _answer(result, now_ms)


def _counted(result: Grains) -> str:
    count = len(result.rows)
    if result.total_available <= count:
        return plural(count, "row")
    sure = {"exact": "", "minimum": "at least ", "estimate": "about "}[result.total]
    return f"{count:,} of {sure}{result.total_available:,} rows"


def _rows(rows: Sequence[Row], now_ms: int) -> tuple[tuple[Item, ...], Callable[[int], Line] | None]:
    """Grains as sentences, projected rows and extracted values as columns."""
    if all(row.grain is not None and "created_at" in row.fields for row in rows):
        return _grains(rows, now_ms), None
    return _columns(rows)


def _keys(rows: Sequence[Row]) -> list[str]:
    """A key a row: its address, numbered where it comes again."""
    seen: dict[str, int] = {}
    keys = []
    for row in rows:
        seen[row.hash] = number = seen.get(row.hash, 0) + 1
        keys.append(row.hash if number == 1 else f"{row.hash} {number}")
    return keys


def _grains(rows: Sequence[Row], now_ms: int) -> tuple[Item, ...]:
    digits = unique_length(row.hash for row in rows)
    return tuple(
        Item(key, row.hash, _is_recommendation(row), _drawn(row, digits, now_ms))
        for key, row in zip(_keys(rows), rows, strict=True)
    )


def _is_recommendation(row: Row) -> bool:
    return row.grain_type == "recommendation"


def _drawn(row: Row, digits: int, now_ms: int) -> Callable[[int], Line]:
    return lambda room: _grain(row, digits, now_ms)


def _grain(row: Row, digits: int, now_ms: int) -> Line:
    """``fedecde1  fact           3d  acme · prefers · «green tea»``."""
    live = row.grain is None or row.grain.live
    created = row.fields.get("created_at")
    since = age(now_ms - created) if isinstance(created, int) else ""
    return line(
        Span(short(row.hash, digits), "address"),
        f"  {clean(row.grain_type, 13):<13} ",
        Span(f"{since:>5}  ", "dim"),
        Span("" if live else "(not live) ", "dim"),
        _said(row),
    )


def _said(row: Row) -> Line:
    if row.grain_type in _OWN_WORDS:
        return says(row.fields, _SAID_LIMIT)
    told = fenced(content(row, Page((row,), 0, summary=_summary)), _SAID_LIMIT)
    if _is_recommendation(row):
        status = clean(row.fields.get("rec_status") or "-", 12)
        return line(f"{status:<11} ", told)
    return line(told)


def _columns(rows: Sequence[Row]) -> tuple[tuple[Item, ...], Callable[[int], Line]]:
    names = list(dict.fromkeys(name for row in rows for name in row.fields))
    heads = [clean(name, limit=_SAID_LIMIT) for name in names]
    told = [[_cell(row.fields.get(name)) for name in names] for row in rows]
    natural = [max(cells(one[place]) for one in (heads, *told)) for place in range(len(names))]

    @lru_cache(maxsize=2)
    def widths(room: int) -> tuple[int, ...]:
        fitted = list(natural)
        while sum(fitted) + 2 * (len(fitted) - 1) > room and max(fitted) > _LEAST_COLUMN:
            fitted[fitted.index(max(fitted))] -= 1
        return tuple(fitted)

    def laid(texts: Sequence[str], room: int, meaning: str) -> Line:
        parts = [pad(line(Span(text, meaning)), size) for text, size in zip(texts, widths(room), strict=True)]
        return line(*(piece for part in parts for piece in (part, Span("  "))))

    def row_of(place: int) -> Callable[[int], Line]:
        return lambda room: laid(told[place], room, "")

    items = tuple(
        Item(key, row.hash, _is_recommendation(row), row_of(place))
        for place, (key, row) in enumerate(zip(_keys(rows), rows, strict=True))
    )
    return items, lambda room: laid(heads, room, "dim")


def _cell(value: Any) -> str:
    return "" if value is None else value_of(value, _SAID_LIMIT).text


# --- contexts ---------------------------------------------------------------------------------------


def _assembled(result: Grains | Assembled, now_ms: int) -> Sheet:
    """A context: what an agent would be given, word for word, under the bar of its budget."""
    context = result.context or Context()
    items, head = _rows(result.rows, now_ms)
    text = render(PREVIEW_FORMAT, page_of(result, now_ms, _summary))
    bars = _bars(result, context)
    told = f"{plural(len(result.rows), 'grain')} in, {len(context.omitted):,} left out"
    return Sheet(
        told,
        items,
        head,
        text=lambda room: [*bars, *_verbatim(PREVIEW_FORMAT, text, room)],
        warnings=result.warnings,
    )


def _bars(result: Grains | Assembled, context: Context) -> list[Line]:
    total = context.total or 0
    lines = [bar(context.unit, context.used, total, len(result.rows), len(context.omitted))]
    if isinstance(result, Assembled):
        for part in result.parts:
            label = clean(part.label, 12)
            lines.append(bar(label, part.used, part.allocated, len(part.rows), len(part.omitted)))
    return lines


def bar(label: str, used: int, total: int, included: int, left_out: int) -> Line:
    """``tokens       [====================....] 135 of 160 (84 %)  3 in, 1 left out``."""
    filled = _BAR * used // total if total else 0
    return line(
        f"{label:<12} [",
        Span("=" * filled, "ok"),
        Span("." * (_BAR - filled), "dim"),
        f"] {ratio(used, total)}  {included:,} in, ",
        Span(f"{left_out:,} left out", "warning" if left_out else ""),
    )


def _formatted(text: str, format: str, count: int, taken: Taken | None, warnings: tuple[str, ...]) -> Sheet:
    told = f"{plural(count, 'grain')} as {clean(format, 24)}"
    return Sheet(
        told,
        _taken_rows(taken),
        text=lambda room: [*_taken_bar(taken), *_verbatim(format, text, room)],
        warnings=warnings,
    )


def _taken_bar(taken: Taken | None) -> list[Line]:
    if taken is None:
        return []
    return [bar(taken.unit, taken.used, taken.limit, len(taken.included), len(taken.dropped))]


def _taken_rows(taken: Taken | None) -> tuple[Item, ...]:
    """The grains of a rendered context by address: those in it, then those left out."""
    if taken is None:
        return ()
    digits = unique_length((*taken.included, *taken.dropped))

    def item(address: str, word: str, number: int) -> Item:
        told = line(Span(short(address, digits), "address"), f"  {word}")
        return Item(f"{address} {number}", address, False, lambda room: told)

    marked = [*((one, "in") for one in taken.included), *((one, "left out") for one in taken.dropped)]
    return tuple(item(address, word, number) for number, (address, word) in enumerate(marked))


def _verbatim(name: str, text: str, room: int) -> list[Line]:
    told = clean_lines(text[:_TEXT_LIMIT].removesuffix("\n"), limit=_TEXT_LIMIT) if text else []
    lines = [heading(f"Word for word, {clean(name, 24)}", room), *_gutter(told, room)]
    if len(text) > _TEXT_LIMIT:
        lines.append(
            line(Span(f"… {len(text) - _TEXT_LIMIT:,} characters more: deja cal writes all of it", "warning"))
        )
    return lines


def _gutter(texts: Sequence[str], room: int) -> list[Line]:
    """Text of a result: every line of it stands behind ``|``."""
    pieces = (piece for text in texts for piece in wrap(line(Span(text)), room - 2, 2))
    return [line(_GUTTER, piece) for piece in pieces]


# --- other answers ----------------------------------------------------------------------------------


def _text_of(result: Result, room: int) -> list[Line]:
    return _gutter(lines_of(result, max(20, room - 2), _summary), room)


def _answer(result: Answer, now_ms: int) -> Sheet:
    values = result.values
    if result.kind == "history" and isinstance(values.get("versions"), list):
        items = _versions(values["versions"], now_ms)
        return Sheet(plural(len(items), "version"), items, warnings=result.warnings)
    if result.kind == "derived_from":
        rows = [_json_row(told) for told in values["grains"]]
        return Sheet(plural(len(rows), "grain"), _json_grains(rows, now_ms), warnings=result.warnings)
    told = result.kind.replace("_", " ")
    if result.kind == "exists":
        told = "yes" if values["exists"] else "no"
    if result.kind in _WRITES or values.get("exists"):
        address = next((str(values[name]) for name in _WRITTEN if values.get(name)), "")
        drawn = line(Span(short(address), "address"), f"  {told}")
        items = (Item(address, address, False, lambda room: drawn),) if address else ()
        return Sheet(told, items, warnings=result.warnings)
    return Sheet(told, text=lambda room: _text_of(result, room), warnings=result.warnings)


def _versions(versions: Sequence[Mapping[str, Any]], now_ms: int) -> tuple[Item, ...]:
    digits = unique_length(told["hash"] for told in versions)

    def item(told: Mapping[str, Any]) -> Item:
        replaced = told.get("superseded_by")
        drawn = line(
            Span(short(told["hash"], digits), "address"),
            Span(f"  {age(now_ms - told['created_at']):>5}  ", "dim"),
            Span(f"replaced by {short(replaced, digits)}  " if replaced else "", "dim"),
            value_of(told["object"], _SAID_LIMIT),
        )
        return Item(told["hash"], told["hash"], False, lambda room: drawn)

    return tuple(map(item, versions))


def _json_row(told: Mapping[str, Any]) -> Row:
    return Row(told["hash"], told["grain_type"], told["score"], told["fields"], None)


def _json_grains(rows: Sequence[Row], now_ms: int) -> tuple[Item, ...]:
    return _grains(rows, now_ms)


def plan_lines(result: Result, room: int) -> list[Line]:
    """What EXPLAIN tells, for a pane or a page."""
    return [heading("How it was carried out", room), *_text_of(result, room)]


# --- errors, questions, refusals --------------------------------------------------------------------


def error_lines(error: DejaError, room: int) -> list[Line]:
    """Code and sentence, the line with a caret under the place, what to do."""
    lines = wrap(line(Span(clean(str(error)), "error")), room, 2)
    if isinstance(error, CalError) and error.place is not None:
        lines.extend(_caret(error.place, room))
    if error.next_step:
        lines.extend(wrap(line(Span("next: ", "dim"), clean(error.next_step)), room, 6))
    return lines


def _caret(place: Place, room: int) -> list[Line]:
    """The line and the caret under it, moved so far to the left that the caret is on the screen."""
    space = max(8, room - 2)
    before = len(place.caret) - len(place.caret.lstrip(" "))
    shown, caret = place.shown, place.caret
    if cells(shown) > space and before > space // 2:
        skipped, used = 0, 0
        while skipped < len(shown) and used < before - space // 2:
            used += cells(shown[skipped])
            skipped += 1
        shown = "…" + shown[skipped:]
        caret = " " * (before - used + 1) + place.caret.lstrip(" ")
    told = [line(_GUTTER, Span(shown)), line(_GUTTER, Span(caret[:space], "error"))]
    where = f"line {place.line}, column {place.column}"
    return told if place.line == 1 else [*told, line(Span(f"  {where}", "dim"))]


def question_lines(cls: str, rights: Sequence[str], statement: str, replaces: str, room: int) -> list[Line]:
    """What a write would do, before it is agreed to."""
    need = " and ".join(f"`{right}`" for right in rights)
    lines = [
        line(Span("This statement writes. ", "warning"), f"Class {cls}, needs the right {need}: held."),
        *_gutter([clean(statement)], room),
    ]
    if replaces:
        lines.append(line(Span("It replaces the saved query ", "warning"), fenced(replaces, 60), "."))
    return [*lines, line(Span("y", "key"), " writes it, once.  ", Span("Esc", "key"), " writes nothing.")]


def refusal(told: str, step: str, about: Sequence[str]) -> Sheet:
    """Why a statement does not run here, and a row for each recommendation it is about."""
    lead = (line(Span(told, "warning")), line(Span("next: ", "dim"), clean(step)))

    def item(address: str) -> Item:
        drawn = line(Span(short(address), "address"), "  the recommendation")
        return Item(address, address, True, lambda room: drawn)

    return Sheet("refused", tuple(map(item, about)), lead=lead)


# --- saved queries and what was typed before --------------------------------------------------------


class SavedQuery(Protocol):
    """What lines need of a saved query. ``parameters``: name, and its default or None."""

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> Sequence[tuple[str, Any]]: ...
    @property
    def description(self) -> str: ...
    @property
    def body(self) -> str: ...
    @property
    def builtin(self) -> bool: ...
    @property
    def runs(self) -> bool: ...


def saved_row(query: SavedQuery, room: int) -> Line:
    """``own  "likes"  $who $n  What one person prefers``."""
    given = " ".join(f"${clean(name, 20)}" for name, _ in query.parameters)
    return line(
        Span("    " if query.builtin else "own ", "ok"),
        pad(line(clean(query.name) if query.builtin else named(query.name)), 28),
        "  ",
        pad(line(Span(given, "dim")), 20 if room < 90 else 34),
        "  ",
        Span(clean(query.description, limit=_SAID_LIMIT), "dim"),
    )


def saved_lines(query: SavedQuery, room: int) -> list[Line]:
    """A saved query with its parameters and its body."""
    lines = [heading(clean(query.name, max(8, room - 6)), room)]
    if not query.runs:
        lines.append(line(Span("Its name cannot stand in a statement: it cannot be run.", "warning")))
    if query.description:
        lines.extend(wrap(line(Span(clean(query.description))), room, 2))
    for name, default in query.parameters:
        given = (
            line(Span("needed", "warning")) if default is None else line("default ", value_of(default, 60))
        )
        lines.append(line(f"${clean(name, 24)}  ", given))
    return [*lines, *_gutter(clean_lines(query.body.strip(), limit=8_192), room)]


def typed_row(statement: str) -> Line:
    """A statement of the history on one line."""
    return line(Span(clean(" ".join(statement.split()), limit=_SAID_LIMIT)))
