# SPDX-License-Identifier: Apache-2.0
"""Before and after of recall as lines: ``-`` leaves recall, ``+`` comes into it, ``=`` stays."""

from __future__ import annotations

from deja_tui.engine.doc_edits import diff_of
from deja_tui.engine.objects import Evidence
from deja_tui.engine.preview import Preview, RecallDiff, TextDiff
from deja_tui.present.edits import diff_lines
from deja_tui.present.line import Line, Span, heading, line, wrapped
from deja_tui.present.words import LITERAL_LIMIT, named, says, short, unique_length
from deja_tui.text import utc

_HANG = 6


def preview(found: Preview, room: int) -> list[Line]:
    """The lines of `engine.preview.preview`, wrapped to ``room`` cells."""
    known = [one.address for diff in found.recall for one in (*diff.before, *diff.after) if one.address]
    digits = unique_length([found.recommendation, *known])
    then, now = ("before the apply", "now") if found.applied else ("now", "after an apply")
    lines: list[Line] = []
    for diff in found.recall:
        lines.append(heading(f"recall, {then} and {now}", room))
        lines.extend(wrapped([_where(diff), *_recall(diff, digits)], room, _HANG))
    for text in found.texts:
        lines.append(heading(f"text, {then} and {now}", room))
        lines.extend(wrapped([line(named(text.name, limit=LITERAL_LIMIT)), *_text(text)], room, _HANG))
    return lines or [line("Recall answers the same before and after.")]


def _where(diff: RecallDiff) -> Line:
    key = line(named(diff.subject), " · ", named(diff.relation)) if diff.subject or diff.relation else ()
    return line(key, "  in " if key else "in ", named(diff.namespace))


def _recall(diff: RecallDiff, digits: int) -> list[Line]:
    stays = {one.address for one in diff.before if one.address} & {one.address for one in diff.after}
    left = [_grain("-", "removed", one, digits) for one in diff.before if one.address not in stays]
    came = [
        _grain("=", "kept", one, digits) if one.address in stays else _grain("+", "added", one, digits)
        for one in diff.after
    ]
    nothing = (
        [
            line(
                "  recall finds nothing",
            )
        ]
        if not diff.after
        else []
    )
    return [*left, *came, *nothing]


def _grain(sign: str, meaning: str, one: Evidence, digits: int) -> Line:
    when = utc(one.created_at) if one.created_at is not None else "new"
    tail = line("  ", Span(short(one.address, digits), "address")) if one.address else ()
    return line(
        Span(f"{sign} {one.type or ''} ", meaning),
        says(one.fields, LITERAL_LIMIT),
        tail,
        Span(f"  {when}", "dim"),
    )


def _text(text: TextDiff) -> list[Line]:
    if text.before is None and text.after is None:
        return [line(Span("  not in this memory", "dim"))]
    told = diff_lines(diff_of(text.before or "", text.after or ""))
    if text.after is None:
        told.append(line(Span("  it is gone", "dim")))
    return told or [line(Span("  it stays as it is", "dim"))]
