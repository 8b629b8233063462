# SPDX-License-Identifier: Apache-2.0
"""``deja loop precision`` and ``deja loop replay``: trying the analyzers without changing anything."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from deja_tui.cli import output
from deja_tui.cli.loop import Span
from deja_tui.cli.options import with_format


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

    report = judge(load(directory), commands=commands, limit_ms=analyzer_limit)
    if as_json:
        scores = [{**asdict(one), "precision": one.precision, "recall": one.recall} for one in report.scores]
        output.as_json({**asdict(report), "scores": scores})
    else:
        output.lines(lines(report, output.width()))
    return 2 if fail_on_wrong and report.wrong else 0
