# SPDX-License-Identifier: Apache-2.0
"""An import report as lines: what was read, what was stored, what was lost and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from deja_tui.present.words import plural
from deja_tui.text import clean, clip, wrap

_LOSSES_SHOWN: Final = 20
_COUNTED: Final = (
    ("records", "record", "records"),
    ("sessions", "session", "sessions"),
    ("conversations", "conversation", "conversations"),
    ("simulations", "simulation", "simulations"),
    ("spans", "span", "spans"),
    ("agents", "agent", "agents"),
    ("blocks", "block", "blocks"),
    ("memories", "memory", "memories"),
    ("history_events", "change", "changes"),
    ("items", "item", "items"),
    ("edges", "edge", "edges"),
    ("episodes", "episode", "episodes"),
    ("entities", "entity", "entities"),
    ("relations", "relation", "relations"),
    ("notes", "note", "notes"),
    ("observations", "observation", "observations"),
    ("messages", "message", "messages"),
    ("assistant_messages", "reply", "replies"),
    ("turns", "turn", "turns"),
    ("actions", "action", "actions"),
    ("tool_calls", "tool call", "tool calls"),
)


def import_lines(report: Mapping[str, Any], width: int) -> list[str]:
    """Lines of a report in the shape of ``deja import --format json``."""
    read = wrap(f"read     {_read(report)}", width)
    verb = "would store" if report["dry_run"] else "stored"
    stored = (
        f"{verb:<8} {report['added']} new, {report['completed']} completed, {report['skipped']} known already"
    )
    lines = [*read, stored]
    masked = report["redacted_by_kind"]
    if masked:
        kinds = ", ".join(f"{count} {clean(kind)}" for kind, count in sorted(masked.items()))
        lines += wrap(f"masked   {kinds}", width)
    lines += _failing(report, width)
    cut = report.get("texts_cut")
    if cut:
        lines.append(clip(f"cut      {plural(cut, 'text')} to the first 32,768 characters", width))
    left = report.get("left_out")
    if left:
        told = ", ".join(f"{clean(kind, 60)} {count}" for kind, count in left.items())
        lines += wrap(f"left out {told}", width)
    lines += _losses(report, width)
    lines += [
        clip(f"note     {_place(note)} {clean(note['reason'])}", width)
        for note in report["remarks"][:_LOSSES_SHOWN]
    ]
    return lines


def _read(report: Mapping[str, Any]) -> str:
    """What was in the files, in the words of the source: those of `_COUNTED` that it counts and that are not 0."""
    told = [
        plural(report[name], one, many)
        for name, one, many in _COUNTED
        if isinstance(report.get(name), int) and (report[name] or name == "records")
    ]
    failed = report.get("tool_errors")
    told += [f"{failed} failed"] if failed is not None and report.get("tool_calls", 1) else []
    return ", ".join(told) or "nothing"


def _failing(report: Mapping[str, Any], width: int) -> list[str]:
    by_tool = report.get("errors_by_tool")
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
