# SPDX-License-Identifier: Apache-2.0
"""``deja loop schedule``: the lines that make a machine run the loop every so often; printed, never installed."""

from __future__ import annotations

from pathlib import Path

import click

from deja_tui.capture import schedule as lines_of
from deja_tui.cli import output
from deja_tui.cli.loop import Span
from deja_tui.cli.options import OneOf, with_file, with_format
from deja_tui.cli.paths import default_path


@click.command()
@click.option("--print", "print_", is_flag=True, help="Print the lines; the only thing this verb does.")
@click.option(
    "--every", type=Span(), default="6h", show_default=True, metavar="SPAN", help="How often: 30m, 6h, 1d."
)
@click.option(
    "--os", "kind", type=OneOf(tuple(lines_of.KINDS)), help="What runs it; else what is usual here."
)
@with_file
@with_format
def schedule(print_: bool, every: int, kind: str | None, db: Path | None, actor: str, as_json: bool) -> None:
    """Print what cron, launchd, systemd or the Windows Task Scheduler needs to run the loop. Nothing is installed.

    Example: deja loop schedule --print --every 6h --os systemd
    """
    if not print_:
        raise click.UsageError("Missing option '--print': the lines are printed, installing them is yours.")
    chosen = kind or lines_of.usual()
    command = [*lines_of.words(db or default_path())]
    if actor != "user:local":
        command += ["--actor", actor]
    found = lines_of.KINDS[chosen](every, command)
    if as_json:
        output.as_json({"os": chosen, "every_ms": every, "command": command, "lines": found})
    else:
        output.lines(found)
