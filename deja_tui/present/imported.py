# SPDX-License-Identifier: Apache-2.0
"""An import report as lines: what was read, what was stored, what was lost and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from deja_tui.present.words import plural
from deja_tui.text import clean, clip, wrap

_LOSSES_SHOWN: Final = 20


def import_lines(report: Mapping[str, Any], width: int) -> list[str]:
    """Lines of a report in the shape of ``deja import --format json``."""
    read = (
        f"read     {plural(report['records'], 'record')} in {plural(report['sessions'], 'session')}: "
        f"{plural(report['tool_calls'], 'tool call')}, {report['tool_errors']} failed, "
        f"{plural(report['assistant_messages'], 'reply', 'replies')}"
    )
    verb = "would store" if report["dry_run"] else "stored"
    stored = (
        f"{verb:<8} {report['added']} new, {report['completed']} completed, {report['skipped']} known already"
    )
    lines = [read, stored]
    masked = report["redacted_by_kind"]
    if masked:
        kinds = ", ".join(f"{count} {clean(kind)}" for kind, count in sorted(masked.items()))
        lines += wrap(f"masked   {kinds}", width)
    lines += _failing(report, width)
    lines += _losses(report, width)
    lines += [
        clip(f"note     {_place(note)} {clean(note['reason'])}", width)
        for note in report["notes"][:_LOSSES_SHOWN]
    ]
    return lines


def _failing(report: Mapping[str, Any], width: int) -> list[str]:
    by_tool = report["errors_by_tool"]
    if not by_tool:
        return []
    told = ", ".join(
        f"{clean(tool, 40)} {count}" for tool, count in sorted(by_tool.items(), key=lambda e: -e[1])
    )
    return wrap(f"failed   {told}", width)


def _losses(report: Mapping[str, Any], width: int) -> list[str]:
    total = report["loss_total"]
    if not total:
        return ["lost     nothing"]
    shown = report["loss"][:_LOSSES_SHOWN]
    lines = [f"lost     {plural(total, 'line')}"]
    lines += [clip(f"  {_place(row)} {clean(row['reason'])}", width) for row in shown]
    if total > len(shown):
        lines.append(f"  and {total - len(shown)} more; --format json lists them")
    return lines


def _place(row: Mapping[str, Any]) -> str:
    line = row.get("line") or next(iter(row.get("lines", ())), 0)
    return f"{clean(row['file'])}:{line}" if line else clean(row["file"])
