# SPDX-License-Identifier: Apache-2.0
"""The lines of `recommendation` and `change` as plain text, for the command line and ``deja review``.

Every function returns lines without line ends, without colour and without trailing blanks; ``width`` is in cells
and ``now_ms`` is epoch ms UTC. Long lines are wrapped, table rows are cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deja_tui.engine.objects import Chain, Detail, Plan, QueueRow, Receipt, RunOutcome
from deja_tui.present import change as changes
from deja_tui.present import recommendation as shown
from deja_tui.present.line import Line, Span, plain, wrap, wrapped
from deja_tui.present.words import unique_length
from deja_tui.text import clean


def _texts(lines: Iterable[Line]) -> list[str]:
    return [plain(line).rstrip() for line in lines]


def queue_lines(rows: Sequence[QueueRow], now_ms: int, width: int) -> list[str]:
    """A queue as a table with column titles, one row a recommendation; says so when there is none."""
    if not rows:
        return ["No recommendations."]
    layout = shown.columns(rows, width, addresses=True)
    table = [shown.queue_head(layout), *(shown.queue_row(row, layout, now_ms) for row in rows)]
    return _texts(table)


def detail_lines(detail: Detail, now_ms: int, width: int) -> list[str]:
    """A whole recommendation: identity, summary, where it comes from, then its sections."""
    lines = wrap(shown.identity(detail, width), width)
    lines += wrap((Span(clean(detail.summary, limit=shown.SUMMARY_LIMIT), "strong"),), width, 2)
    lines += wrap(shown.about(detail, now_ms), width, 2)
    for section in shown.sections(detail, now_ms, width, queries=True):
        lines += shown.section_lines(section, width)
    return _texts(lines)


def change_lines(detail: Detail, width: int = 80) -> list[str]:
    """The literal change (D55), wrapped."""
    return _texts(wrapped(changes.change(detail, shown.digits_of(detail)), width, changes.HANG))


def evidence_lines(detail: Detail, now_ms: int, width: int) -> list[str]:
    """The cited grains under their heading."""
    parts = shown.sections(detail, now_ms, width, queries=True)
    section = next(one for one in parts if one.id == "evidence")
    return _texts(shown.section_lines(section, width))


def trail_lines(chain: Chain, width: int = 80) -> list[str]:
    """The audit trail under its heading, which says whether the chain verifies."""
    digits = unique_length(entry.address for entry in chain.entries)
    return _texts(shown.section_lines(shown.trail_section(chain, width, digits), width))


def receipt_lines(receipt: Receipt, width: int = 80) -> list[str]:
    """What a decision left, with the whole address of its audit grain."""
    return _texts(wrapped(shown.receipt(receipt), width, 9))


def plan_line(plan: Plan) -> str:
    """``Dry run: 0 add, 2 retire, 0 forget. Undo: yes.``"""
    return plain(shown.plan(plan))


def run_lines(outcome: RunOutcome, width: int = 80) -> list[str]:
    """What a run of the analyzers did."""
    return _texts(wrapped(shown.run(outcome), width, 4))


def brief_run_lines(outcome: RunOutcome, rows: Sequence[QueueRow], now_ms: int, width: int) -> list[str]:
    """What a run did and the first of what it found, ``rows`` in queue order."""
    lines = _texts(wrapped(shown.run(outcome, brief=True), width, 4))
    if rows:
        lines += ["", *queue_lines(rows[: shown.FEW], now_ms, width)]
    more = len(rows) - shown.FEW
    return [*lines, f"and {more:,} more: deja loop list"] if more > 0 else lines
