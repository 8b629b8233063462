# SPDX-License-Identifier: Apache-2.0
"""A recommendation in a few lines, for a preview that follows a moving selection.

Every line has one meaning and each thing has its line, so that from one recommendation to the next only words change: over
a slow link a preview costs what it says, not what it looks like. The change is cut here; nothing is decided from a card.
"""

from __future__ import annotations

from typing import Final

from deja_tui.engine.objects import Detail
from deja_tui.present.change import change
from deja_tui.present.line import Line, Span, clip, line, plain
from deja_tui.present.recommendation import SUMMARY_LIMIT, baseline, digits_of, status_word
from deja_tui.present.words import plural, short
from deja_tui.text import clean

_CHANGE_LINES: Final = 2
_PLAIN: Final = frozenset(("", "dim", "address", "strong"))


def card(found: Detail, room: int, *, summary: bool, rest: str) -> list[Line]:
    """At most five lines of ``room`` cells. ``summary``: also what was found, where the row beside it does not say so.

    ``rest`` says how everything else is seen, for example ``] shows it``.
    """
    digits = digits_of(found)
    body = found.recommendation
    told = [clip(level(one), room) for one in change(found, digits)]
    undo = "undo: yes" if body.rollbackable else "undo: no" if body.operations else "no change"
    counted = baseline(found)
    head = [short(body.address, digits), status_word(found.status), *(["IMPORTED"] if found.foreign else ())]
    head += [undo, *([counted] if counted else ())]
    more = max(0, len(told) - _CHANGE_LINES)
    cited = f"evidence {len(found.evidence)} of {body.evidence_total}"
    # what differs stands at the end, so that the rest of the line can stay
    end = Span(f"… {rest} · {cited}" + (f" · {plural(more, 'line')} more" if more else ""))
    if not found.chain.verified:
        end = Span("! CHAIN BROKEN: decisions are off", "error")
    return [
        line(rule("  ".join(head), room)),
        *([clip(line(clean(found.summary, limit=SUMMARY_LIMIT)), room)] if summary else []),
        *told[:_CHANGE_LINES],
        clip(line(end), room),
    ]


def level(one: Line) -> Line:
    """A line in one meaning: the first in it that says more than where to look."""
    meaning = next((span.meaning for span in one if span.meaning not in _PLAIN), "")
    return line(Span(plain(one), meaning))


def rule(title: str, room: int) -> str:
    """A rule over the whole width with a title of ASCII."""
    return (f"-- {title} " + "-" * room)[:room]
