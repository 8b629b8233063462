# SPDX-License-Identifier: Apache-2.0
"""The lines of the Query screen, from what it knows: the row of sections, rows, texts, the pane beside, empty states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from deja_tui.present.line import Line, Part, Span, line, wrap
from deja_tui.present.words import fenced
from deja_tui.text import fold
from deja_tui.widgets.hints import Hint

if TYPE_CHECKING:
    from deja_tui.console.asking import Question, Saved
    from deja_tui.present.query import Sheet
    from deja_tui.screens.asked import Came, Plan

EXAMPLE: Final = 'RECALL facts WHERE subject = "acme" LIMIT 20'
_EXAMPLES: Final = (
    EXAMPLE,
    'RECALL facts ABOUT "refund" SINCE "7 days ago"',
    "RECALL tools WHERE is_error = true",
    'ASSEMBLE "work" FROM a: (RECALL facts LIMIT 20) BUDGET 400 tokens',
)
# A slow link is sent a whole body only by who asks for it.
_CARD_ROWS: Final = 8
_LEAD_ROWS: Final = 8
_MEANINGS: Final = {
    "keyword": "strong",
    "string": "ok",
    "number": "address",
    "hash": "address",
    "param": "warning",
}
_LABELS: Final = {
    "result": "Result",
    "preview": "Preview",
    "rows": "Rows",
    "saved": "Saved",
    "history": "History",
}
ASKED_KEYS: Final = (Hint("y", "writes it, once"), Hint("Esc", "writes nothing"))
EDITOR_KEYS: Final = (
    Hint("Enter", "runs"),
    Hint("Esc", "leaves"),
    Hint("Tab", "completes"),
    Hint("↑ ↓", "before"),
    Hint("^o", "new line"),
    Hint("^u", "empties"),
)


class ListRow(NamedTuple):
    """A row of a section: its key, and its drawing in so many cells."""

    key: str
    draw: Callable[[int], Line]


def pieces(text: str) -> tuple[tuple[str, str], ...]:
    """The pieces of a line of a statement with the meaning of each."""
    from deja_tui.cal.pieces import styled

    return tuple((_MEANINGS.get(kind, ""), piece) for kind, piece in styled(text))


def section_line(
    sections: Sequence[str], here: str, counts: dict[str, int | None], told: Line, *, explaining: bool
) -> Line:
    """The sections with their counts, ``here`` in brackets; then ``told``."""
    parts: list[Part] = [" "]
    for name in sections:
        count = counts.get(name)
        label = _LABELS[name] if count is None else f"{_LABELS[name]} {count}"
        parts.append(Span(f"[{label}]", "strong") if name == here else Span(f" {label} ", "dim"))
    if explaining:
        parts.append(line("  ", Span("EXPLAIN", "strong")))
    if told:
        parts.append(line("  ", *told))
    return line(*parts)


def saved_rows(queries: Sequence[Saved] | None) -> list[ListRow]:
    """The saved queries; no row while they are being read."""
    if queries is None:
        return []
    from deja_tui.present.query import saved_row

    return [ListRow(query.name, lambda room, one=query: saved_row(one, room)) for query in queries]  # type: ignore[misc]


def typed_rows(typed: Sequence[str]) -> list[ListRow]:
    """What was typed before, the newest first."""
    from deja_tui.present.query import typed_row

    return [
        ListRow(str(place), lambda room, one=typed[place]: typed_row(one))  # type: ignore[misc]
        for place in range(len(typed) - 1, -1, -1)
    ]


def matching(rows: Sequence[ListRow], wanted: str, room: int) -> list[int]:
    """The places of the rows that hold a text, folded: in the key, or in what is drawn."""
    needle = fold(wanted)
    if not needle:
        return list(range(len(rows)))
    return [
        place
        for place, row in enumerate(rows)
        if needle in fold(f"{row.key} " + "".join(span.text for span in row.draw(room)))
    ]


def plan_text(plan: Plan | None, room: int) -> list[Line]:
    """How the statement was carried out; ``None`` while that is being asked."""
    return plan(room) if plan is not None else [line(Span("reading …", "dim"))]


def main_text(came: Came, question: Question | None, room: int) -> list[Line]:
    """The question that waits for a yes, or else the text of what came of a statement."""
    from deja_tui.present.query import error_lines, question_lines

    if question is not None:
        return question_lines(question.cls, question.rights, question.statement, question.replaces, room)
    if came.fault is not None:
        return error_lines(came.fault, room)
    return came.sheet.text(room) if came.sheet is not None and came.sheet.text is not None else []


def saved_card(query: Saved | None, room: int, *, whole: bool) -> list[Line]:
    """The selected saved query; with ``whole`` False cut to what a slow link is sent unasked."""
    if query is None:
        return []
    from deja_tui.present.query import saved_lines

    lines = saved_lines(query, room)
    left = len(lines) - _CARD_ROWS
    if whole or left <= 1:
        return lines
    return [*lines[:_CARD_ROWS], line(Span(f"… {left} more lines: E edits it", "dim"))]


def lead_lines(sheet: Sheet, room: int) -> list[Line]:
    """The sentences above the rows."""
    return [piece for one in sheet.lead for piece in wrap(one, room, 2)][:_LEAD_ROWS]


def no_match(wanted: str) -> list[Line]:
    """What stands where a filter leaves no row."""
    return [line(" No row matches ", fenced(wanted, 60), ". Esc clears the filter.")]


def no_saved(*, read: bool) -> list[Line]:
    """What stands where there is no saved query, or none is read yet."""
    return [line(" No saved query.")] if read else [line(Span(" reading …", "dim"))]


def no_typed() -> list[Line]:
    """What stands where nothing was typed before."""
    return [line(" Nothing was typed yet. i types a statement.")]


def no_rows(sheet: Sheet | None, file: str) -> list[Line]:
    """What stands where there is no result, or one without a row. ``file``: the memory, safe to show, quoted for a shell."""
    if sheet is None:
        return [
            line(" Nothing was asked yet. ", Span("i", "key"), " types a statement:"),
            line(),
            *(line(Span("   "), Span(told, "strong")) for told in _EXAMPLES),
            line(),
            line(Span(" on the command line: ", "dim"), f"deja cal --db {file}"),
        ]
    if sheet.lead:
        return []
    return [
        line(" Nothing found. ", Span("e", "key"), " shows how it was looked for."),
        line(Span(" what is here: ", "dim"), "DESCRIBE STATS"),
        line(Span(" bring more:   ", "dim"), f"deja import claude-code PATH --db {file}"),
    ]
