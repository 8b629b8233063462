# SPDX-License-Identifier: Apache-2.0
"""Chains and copies as lines: forks, provenance, what changed, and what an import, a push or a restore did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from deja_tui.present.grain import Shown as Grain
from deja_tui.present.line import plain
from deja_tui.present.words import named, plural, says, short, unique_length
from deja_tui.text import clean, clip, utc

_SHOWN_REFUSALS: Final = 10
_WHY: Final = {
    "known": "known already",
    "forgotten": "forgotten here",
    "gone": "without bytes",
    "source": "from a source that is here already",
    "later": "later than the limit",
}


class Fork(Protocol):
    """What lines need of a fork."""

    @property
    def namespace(self) -> str: ...
    @property
    def subject(self) -> str | None: ...
    @property
    def relation(self) -> str | None: ...
    @property
    def tips(self) -> Sequence[Grain]: ...


class Step(Protocol):
    """What a line needs of a step of a provenance walk."""

    @property
    def depth(self) -> int: ...
    @property
    def address(self) -> str: ...
    @property
    def grain(self) -> Grain | None: ...


class Change(Protocol):
    """What a line needs of a change."""

    @property
    def seq(self) -> int: ...
    @property
    def hlc(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def grain(self) -> Grain | None: ...


class Report(Protocol):
    """What lines need of an import."""

    @property
    def rows(self) -> int: ...
    @property
    def applied(self) -> int: ...
    @property
    def added(self) -> int: ...
    @property
    def superseded(self) -> int: ...
    @property
    def forgotten(self) -> int: ...
    @property
    def marked(self) -> int: ...
    @property
    def governance(self) -> int: ...
    @property
    def refused(self) -> int: ...
    @property
    def why(self) -> Mapping[str, int]: ...
    @property
    def refusals(self) -> Sequence[tuple[int, str, str, str]]: ...
    @property
    def stopped(self) -> str: ...


class Followed(Protocol):
    """What a line needs of a followed folder."""

    @property
    def name(self) -> str: ...
    @property
    def segments(self) -> int: ...
    @property
    def applied(self) -> int: ...
    @property
    def refused(self) -> int: ...
    @property
    def waiting(self) -> str: ...
    @property
    def damaged(self) -> bool: ...


def fork_lines(forks: Sequence[Fork], width: int) -> list[str]:
    """A heading a fork, its tips below it, the provisional head first and marked ``*``."""
    digits = unique_length(tip.address for fork in forks for tip in fork.tips)
    lines: list[str] = []
    for fork in forks:
        about = " ".join(plain((named(part),)) for part in (fork.subject, fork.relation) if part is not None)
        lines.append(clip(f"{plain((named(fork.namespace),))}  {about or 'no subject'}", width))
        for number, tip in enumerate(fork.tips):
            mark = " " if number else "*"
            told = f"  {mark} {short(tip.address, digits)}  {utc(tip.created_at)}  {plain(says(tip.fields))}"
            lines.append(clip(told, width))
    return lines


def provenance_lines(
    start: Grain, parents: Sequence[Step], children: Sequence[Step], complete: bool, width: int
) -> list[str]:
    """The grain, what it came from, what came of it; a step is indented by its distance."""
    digits = unique_length([start.address, *(step.address for step in (*parents, *children))])
    lines = [clip(_grain(start, digits), width)]
    for title, steps in (("derived from", parents), ("led to", children)):
        lines.append(f"{title}: {'nothing' if not steps else len(steps)}")
        lines.extend(clip(_step(step, digits), width) for step in steps)
    if not complete:
        lines.append("There is more: the walk ended at its limit.")
    return lines


def _step(step: Step, digits: int) -> str:
    indent = "  " * min(step.depth, 12)
    if step.grain is None:
        return f"{indent}{short(step.address, digits)}  not here, or forgotten"
    return indent + _grain(step.grain, digits)


def _grain(grain: Grain, digits: int) -> str:
    mark = "" if grain.live else "(not live) "
    return f"{short(grain.address, digits)}  {grain.type:<11} {mark}{plain(says(grain.fields))}"


def change_lines(changes: Iterable[Change], width: int) -> list[str]:
    """Position, time, what happened, to which grain; one that came from another copy is marked ``<``."""
    return [clip(_change(change), width) for change in changes]


def _change(change: Change) -> str:
    came = "<" if change.origin == "imported" else " "
    said = "forgotten" if change.grain is None else plain(says(change.grain.fields))
    return f"{change.seq:>7} {utc(change.hlc >> 16)} {came}{change.kind:<9} {short(change.address)}  {said}"


def import_lines(report: Report, width: int) -> list[str]:
    """What a bundle brought, what was passed over and why, what was refused, and where it stopped."""
    did = (
        plural(report.added, "grain"),
        plural(report.superseded, "supersession"),
        plural(report.forgotten, "erasure"),
        plural(report.marked, "mark"),
    )
    lines = [f"{plural(report.rows, 'row')} read, {report.applied} applied: {', '.join(did)}"]
    passed = ", ".join(
        f"{count} {_WHY.get(reason, clean(reason))}" for reason, count in sorted(report.why.items())
    )
    if passed:
        lines.append(f"passed over: {passed}")
    if report.governance:
        told = plural(report.governance, "record")
        lines.append(f"of another copy's governance: {told}, kept as history")
    if report.refused:
        lines.append(f"refused: {report.refused}")
        for at, address, code, reason in report.refusals[:_SHOWN_REFUSALS]:
            lines.append(clip(f"  byte {at}  {short(address, 12)}  {code} {clean(reason)}", width))
    if report.stopped:
        lines.append(f"partial: {clean(report.stopped)}; the same command goes on from there")
    return [clip(line, width) for line in lines]


def followed_lines(followed: Sequence[Followed], width: int) -> list[str]:
    """One line a folder: what was taken, and why no more."""
    lines = []
    for one in followed:
        told = f"{clean(one.name)}  {plural(one.segments, 'segment')}, {one.applied} applied"
        told += f", {one.refused} refused" if one.refused else ""
        if one.waiting:
            told += f"  {'DAMAGED' if one.damaged else 'waiting'}: {clean(one.waiting)}"
        lines.append(clip(told, width))
    return lines or ["No other copy has pushed here yet."]
