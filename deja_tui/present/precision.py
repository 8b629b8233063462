# SPDX-License-Identifier: Apache-2.0
"""How right analyzers were, in counts; a share only from ten on."""

from __future__ import annotations

from collections.abc import Iterable

from deja_tui.precision import FEWEST, Miss, Report, Score
from deja_tui.text import clean, clip

_HEAD = ("analyzer", "right of found", "precision", "found of labelled", "recall")


def lines(report: Report, width: int) -> list[str]:
    """A table, then every finding that was wrong and every label that was missed."""
    rows = [_HEAD, *(_row(score) for score in report.scores)]
    sizes = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    told = [
        "  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip() for row in rows
    ]
    many = "corpus" if len(report.corpora) == 1 else "corpora"
    told.append(f"{len(report.corpora)} {many}; a share is told from {FEWEST} on")
    for head, misses in (("Wrong:", report.wrong), ("Missed:", report.missed), ("Not run:", report.skipped)):
        if misses:
            told += ["", head, *_misses(misses, width)]
    return told


def _misses(misses: Iterable[Miss], width: int) -> list[str]:
    return [clip(f"  {clean(one.corpus)}  {one.analyzer}  {clean(one.told)}", width) for one in misses]


def _row(score: Score) -> tuple[str, ...]:
    return (
        score.family,
        f"{score.right} of {score.found}",
        share(score.precision),
        f"{score.right} of {score.labelled}",
        share(score.recall),
    )


def share(value: float | None) -> str:
    """A whole percentage, rounded down, so that 100 % means all of them; – where there are too few."""
    return "–" if value is None else f"{int(value * 100)} %"
