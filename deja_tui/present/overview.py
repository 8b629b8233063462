# SPDX-License-Identifier: Apache-2.0
"""The first page: how the memory stands, the file below it, and a row for each analyzer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from deja_tui.engine.analyzer import Manifest
from deja_tui.engine.health import AnalyzerState, Health
from deja_tui.engine.objects import RunOutcome
from deja_tui.present.health import command_of, report, short_id, state_told, why_lines
from deja_tui.present.line import Line, Span, heading, line
from deja_tui.present.words import age, plural
from deja_tui.text import clean, pad

_LABEL: Final = 14
_NAME: Final = 22
# The orders that analyzers can stand in.
ORDERS: Final = ("as they come", "most open", "name")
_UNITS: Final = ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"))


@dataclass(frozen=True, slots=True)
class Verified:
    """A verification of this sitting: when it ended (epoch ms) and how many faults it found."""

    at: int
    faults: int


def size(count: int) -> str:
    """``12.4 MB``: bytes as people read them, in powers of ten."""
    for unit, name in _UNITS:
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return plural(count, "byte")


def facts(
    health: Health,
    stats: Mapping[str, Any] | None,
    verified: Verified | None,
    file: str,
    *,
    copies: bool = True,
) -> list[Line]:
    """What the memory holds and how its loop stands: the lines of `present.health`, then the file itself (D55).

    ``copies``: also the command that copies the file, which takes a row more in a narrow window.
    """
    if verified is not None and not verified.faults and verified.at > (health.last_verify or 0):
        # One that was made here counts, also where nothing could be kept of it.
        health = replace(health, last_verify=min(verified.at, health.at))
    lines = report(health, f" --db {clean(file, 120)}")[: -len(health.analyzers) - 1]
    if health.time_to_first is None:
        lines.append(line(Span(pad("first finding", _LABEL), "dim"), Span("none yet", "dim")))
    if stats is not None:
        sizes = f"{size(int(stats['file_bytes']))}, log {size(int(stats['log_bytes']))}"
        copy = f"deja bundle copy.mgb --db {clean(file, 120)}"
        checked = _verified(verified, health.at, file)
        kept = line(sizes, " · ", checked, *((" · ", Span("a copy: ", "dim"), copy) if copies else ()))
        lines.append(line(Span(pad("file", _LABEL), "dim"), kept))
    if not health.live:
        lines.append(
            line(
                Span(pad("empty", _LABEL), "warning"),
                f"nothing is held yet: deja import claude-code PATH --db {clean(file, 120)}",
            )
        )
    return lines


def _verified(found: Verified | None, now_ms: int, file: str) -> Line:
    if found is None or not found.faults:
        return line(Span("V verifies", "dim"))
    when = f" {age(now_ms - found.at)} ago"
    return line(
        Span(f"{plural(found.faults, 'fault')} found", "error"),
        f"{when}: deja verify --db {clean(file, 120)}",
    )


def ordered(states: Sequence[AnalyzerState], order: str) -> list[AnalyzerState]:
    """Analyzers in one of `ORDERS`."""
    if order == ORDERS[1]:
        return sorted(states, key=lambda one: -one.open)
    return sorted(states, key=lambda one: short_id(one.id)) if order == ORDERS[2] else list(states)


def analyzer_row(state: AnalyzerState, now_ms: int, room: int) -> Line:
    """``tool_failure  fires: 3 clusters``."""
    look = {"failed": "error", "active": "strong"}.get(state.activation.state, "")
    told_ = Span(state_told(state.activation, now_ms, room - _NAME - 1), look)
    return line(f"{pad(short_id(state.id), _NAME)} ", told_)


def list_rule(state: AnalyzerState | None, file: str, room: int) -> Line:
    """The rule above the list, with the command that gets the selected analyzer further."""
    command = command_of(state, file) if state is not None else ""
    return heading(f"Analyzers -- next: {command}" if command else "Analyzers", room)


def why(state: AnalyzerState, now_ms: int, room: int) -> list[Line]:
    """One analyzer in full, for the pane beside the list."""
    first, *rest = why_lines(state, now_ms, 10_000)
    return [line(Span(first, "strong")), *(line(one) for one in (rest[:-1] if state.next else rest))]


def ran(outcomes: Sequence[RunOutcome], done: int, of: int, file: str) -> Line:
    """What a run of the console did; when it stopped early, the command that does the whole (D29)."""
    if not outcomes:
        return line(Span("nothing was run", "warning"))
    last = outcomes[-1]
    if last.outcome == "skipped" and len(outcomes) == 1:
        return line(Span("skipped", "warning"), f": {clean(last.skip_reason or 'no reason given', 120)}")
    stored, refreshed = (sum(getattr(one, name) for one in outcomes) for name in ("stored", "refreshed"))
    proposed = sum(one.proposed for one in outcomes)
    counts = f"{proposed} proposed, {stored} new in the queue, {refreshed} refreshed"
    left_out = sum(len(one.analyzers_skipped) for one in outcomes)
    failed = f", {plural(left_out, 'analyzer')} left out" if left_out else ""
    if done < of:
        head = Span(f"PARTIAL: {done} of {plural(of, 'analyzer')} ran", "warning")
        return line(head, f": {counts}{failed}. The whole: deja loop run --db {clean(file, 200)}")
    return line(Span("ran", "ok"), f": {counts}{failed}")


def runs(states: Sequence[AnalyzerState]) -> list[str]:
    """The analyzers a run takes: those that are on."""
    manifests: list[Manifest] = [
        one.manifest for one in states if one.settled is not None and one.settled.enabled
    ]
    return [one.id for one in manifests]
