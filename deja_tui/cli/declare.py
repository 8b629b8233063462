# SPDX-License-Identifier: Apache-2.0
"""``deja declare``: settings that change results live in the file, for every open."""

from __future__ import annotations

from pathlib import Path

import click

from deja_tui.cli import output
from deja_tui.cli.options import OneOf, open_memory, with_file, with_format
from deja_tui.declared import KNOWN
from deja_tui.text import clean, utc


@click.command()
@click.argument("name", required=False, type=OneOf(list(KNOWN)))
@click.argument("value", required=False)
@click.option("--because", default="", metavar="REASON", help="Why, 1 to 500 characters; needed to set one.")
@with_file
@with_format
def declare(
    name: str | None, value: str | None, because: str, db: Path | None, actor: str, as_json: bool
) -> None:
    """Show what a file declares, or declare NAME VALUE for every open from now on.

    Example: deja declare namespace support --because 'one agent uses this file'
    """
    if name is not None and value is None:
        raise click.UsageError("a value is missing")
    with open_memory(db, actor=actor, read_only=name is None) as memory:
        if name is not None:
            memory.declare(name, value, because=because)
        rows = memory.declared()
    if as_json:
        told = [
            {"name": one.name, "value": one.value, "by": one.by, "at": one.at, "because": one.because}
            for one in rows
        ]
        output.as_json({"declared": told})
    else:
        lines = [
            f"{one.name} = {clean(one.value, 80)}  by {clean(one.by, 64)} at {utc(one.at)}: {clean(one.because)}"
            for one in rows
        ]
        output.lines(lines or ["The file declares nothing: namespace is shared."])
