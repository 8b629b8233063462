# SPDX-License-Identifier: Apache-2.0
"""``deja demo`` and ``deja init``: from nothing to a memory with something in it."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import click

from deja_tui.cli import output
from deja_tui.cli.options import OneOf, open_memory, with_format
from deja_tui.cli.paths import default_path


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--actor", default="user:local", show_default=True, metavar="LABEL", help="Who decides, for the audit."
)
@click.option("--theme", metavar="NAME", help="A theme of the console.")
def demo(file: Path | None, actor: str, theme: str | None) -> int:
    """Open the console on a memory made up for trying it out.

    It is written to FILE, or to a new temporary file; never to your own memory. Without a terminal the queue is
    printed instead.

    Example: deja demo shop.deja
    """
    from deja_tui.capture.demo import seed
    from deja_tui.facade import host_clock

    path = file or Path(tempfile.mkdtemp(prefix="deja-demo-")) / "demo.deja"
    seed(path, host_clock())
    if sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        from deja_tui.console.launch import launch

        try:
            return launch(path, actor=actor, theme=theme)
        finally:
            output.lines(
                [
                    f"The demo memory is {path}",
                    f"again:    deja demo {path}",
                    f"in lines: deja review --db {path}",
                ]
            )
    from deja_tui.present.plain import queue_lines

    with open_memory(path, actor=actor, read_only=True) as memory:
        rows = memory.loop.queue()
        now = memory.clock()
    output.lines([f"The demo memory is {path}", ""])
    output.lines(queue_lines(rows, now, output.width()))
    output.lines(["", f"review it: deja review --db {path}"])
    return 0


@click.command()
@click.option(
    "--template",
    type=OneOf(["blank", "demo"]),
    default="blank",
    show_default=True,
    help="What it begins with.",
)
@click.option(
    "-d", "--db", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="The file to make."
)
@with_format
def init(template: str, db: Path | None, as_json: bool) -> None:
    """Make a memory file. A file that holds grains already is left alone.

    Example: deja init --template demo --db shop.deja
    """
    from deja_tui.capture.demo import seed
    from deja_tui.errors import DejaError
    from deja_tui.facade import host_clock

    if db is None:
        if not sys.stdin.isatty():
            raise click.UsageError("Missing option '--db': name the file to make.")
        db = Path(click.prompt("File", default="agent.deja"))
    if db == default_path():
        db.parent.mkdir(parents=True, exist_ok=True)
    if template == "demo":
        seed(db, host_clock())
    with open_memory(db, create=True) as memory:
        grains = memory.substrate.position().grains
        if template == "blank" and grains:
            raise DejaError("CLI-E003", f"{db} already holds {grains} grains", "name a new file")
        pending = len(memory.loop.queue())
    if as_json:
        output.as_json({"path": str(db), "template": template, "grains": grains, "pending": pending})
    else:
        output.lines([f"{db}: {grains} grains, {pending} recommendations pending", f"next: deja ui {db}"])
