# SPDX-License-Identifier: Apache-2.0
"""``deja loop precision`` and ``deja loop replay``: trying the analyzers without changing anything."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from deja_tui.cli import output
from deja_tui.cli.loop import Span
from deja_tui.cli.options import open_memory, with_file, with_format


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, exists=True), metavar="DIR")
@click.option(
    "--analyzer-cmd",
    "commands",
    multiple=True,
    metavar="ID=CMD",
    help="Also ask this command; may be repeated.",
)
@click.option(
    "--analyzer-limit", type=Span(), default="30s", show_default=True, metavar="SPAN", help="Of each process."
)
@click.option("--fail-on-wrong", is_flag=True, help="Exit 2 when a finding was wrong.")
@with_format
def precision(
    directory: Path, commands: tuple[str, ...], analyzer_limit: int, fail_on_wrong: bool, as_json: bool
) -> int:
    """Play the labelled corpora of a folder (docs/precision.md) and tell how often each analyzer is right.

    Example: deja loop precision corpora --analyzer-cmd 'acme.lint=python3 lint.py'
    """
    from deja_tui.precision import judge, load
    from deja_tui.present.precision import lines

    with output.working("judging"):
        report = judge(load(directory), commands=commands, limit_ms=analyzer_limit)
    if as_json:
        scores = [{**asdict(one), "precision": one.precision, "recall": one.recall} for one in report.scores]
        output.as_json({**asdict(report), "scores": scores})
    else:
        output.lines(lines(report, output.width()))
    return 2 if fail_on_wrong and report.wrong else 0


@click.command()
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="ANALYZER.NAME=VALUE",
    help="A setting to try; may be repeated.",
)
@click.option("--window", type=Span(), default="90d", show_default=True, metavar="SPAN", help="How far back.")
@click.option("--every", type=Span(), metavar="SPAN", help="How far apart the times are; else seven of them.")
@click.option(
    "--at",
    "times",
    multiple=True,
    metavar="TIME",
    help="Look at this time (ISO-8601, epoch); may be repeated.",
)
@click.option("--only", multiple=True, metavar="ID", help="Only this analyzer; may be repeated.")
@with_file
@with_format
def replay(
    assignments: tuple[str, ...],
    window: int,
    every: int | None,
    times: tuple[str, ...],
    only: tuple[str, ...],
    db: Path | None,
    actor: str,
    as_json: bool,
) -> None:
    """Try settings on the past: what they would have proposed, beside what was and how it was decided. Writes nothing.

    Example: deja loop replay --set duplicate_sweep.jaccard=0.85 --window 90d
    """
    from deja_tui.present.replay import lines
    from deja_tui.store.asof import wall

    settings: dict[str, dict[str, Any]] = {}
    for told in assignments:
        target, sign, value = told.partition("=")
        analyzer, dot, name = target.rpartition(".")
        if not sign or not dot or not analyzer or not name:
            raise click.UsageError("A setting is written ANALYZER.NAME=VALUE.")
        settings.setdefault(analyzer, {})[name] = _value(value)
    with open_memory(db, actor=actor, read_only=True, telemetry="off") as memory, output.working("replaying"):
        found = memory.loop.replay(
            settings,
            window_ms=window,
            every_ms=every,
            at=[wall(time, "--at") for time in times],
            only=only,
        )
    if as_json:
        output.as_json(asdict(found))
    else:
        output.lines(lines(found, output.width()))


def _value(text: str) -> Any:
    """JSON where it is some; else the text itself, which the parameter takes or refuses."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
