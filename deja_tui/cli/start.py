# SPDX-License-Identifier: Apache-2.0
"""``deja demo`` and ``deja init``: from nothing to a memory with something in it."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Final

import click

from deja_tui.capture import wiring as wiring_lines
from deja_tui.capture.templates import NAMES, script
from deja_tui.cli import output
from deja_tui.cli.cal import declare_all, session_of
from deja_tui.cli.options import OneOf, open_memory, with_format
from deja_tui.cli.paths import default_path
from deja_tui.present.words import plural

FRAMEWORKS: Final = ("claude-code", "openai", "python", "mcp")
_MARK: Final = "init"


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
    named = output.place(path)
    if sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        from deja_tui.console.launch import launch

        try:
            return launch(path, actor=actor, theme=theme)
        finally:
            output.lines(
                [
                    f"The demo memory is {named}",
                    f"again:    deja demo {named}",
                    f"in lines: deja review --db {named}",
                ]
            )
    from deja_tui.present.plain import queue_lines

    with open_memory(path, actor=actor, read_only=True) as memory:
        rows = memory.loop.queue()
        now = memory.clock()
    output.lines([f"The demo memory is {named}", ""])
    output.lines(queue_lines(rows, now, output.width()))
    output.lines(["", f"review it: deja review --db {named}"])
    return 0


@click.command()
@click.option(
    "--template",
    type=OneOf(NAMES),
    help="What it begins with: blank, coding-agent, support-agent or demo; else blank.",
)
@click.option(
    "-d", "--db", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="The file to make."
)
@click.option("--framework", type=OneOf(FRAMEWORKS), help="Also print the lines that connect it.")
@click.option("--into-existing", is_flag=True, help="Also into a file that holds grains already.")
@click.option("--dry-run", is_flag=True, help="Print the script of the template; make nothing.")
@click.option(
    "--actor", default="user:local", show_default=True, metavar="LABEL", help="Who acts, for the audit."
)
@with_format
def init(
    template: str | None,
    db: Path | None,
    framework: str | None,
    into_existing: bool,
    dry_run: bool,
    actor: str,
    as_json: bool,
) -> None:
    """Make a memory file. A file that holds grains already is left alone; the same template twice changes nothing.

    The wiring is printed, never installed: it belongs into the settings of another program, which are yours.

    Example: deja init --template coding-agent --framework claude-code --db agent.deja
    """
    if dry_run:
        _shown(template or "blank", as_json)
        return
    path = db or _asked()
    if path == default_path():
        path.parent.mkdir(parents=True, exist_ok=True)
    wiring_only = framework is not None and template is None and path.exists()
    changed = False if wiring_only else _begin(path, template or "blank", actor, into_existing)
    with open_memory(path, read_only=True) as memory:
        grains, pending = memory.substrate.position().grains, len(memory.loop.queue())
    wiring = [] if framework is None else _wiring(framework, path)
    if as_json:
        told = {"path": str(path), "template": None if wiring_only else template or "blank", "grains": grains}
        output.as_json(
            {**told, "pending": pending, "changed": changed, "framework": framework, "wiring": wiring}
        )
        return
    named = output.place(path)
    output.lines([f"{named}: {plural(grains, 'grain')}, {plural(pending, 'recommendation')} pending"])
    if not changed and not wiring_only:
        output.lines(["It was there before: nothing was changed."])
    if wiring and framework is not None:
        output.lines(
            ["", f"Belongs into {wiring_lines.PLACES[framework]}:", "", *wiring, "", "Nothing was installed."]
        )
    output.lines([f"next: deja ui {named}" if pending else f"next: deja next --db {named}"])


def _asked() -> Path:
    if not sys.stdin.isatty():
        raise click.UsageError("Missing option '--db': name the file to make.")
    return Path(click.prompt("File", default="agent.deja"))


def _shown(template: str, as_json: bool) -> None:
    text = script(template)
    if as_json:
        output.as_json({"template": template, "script": text})
    else:
        output.lines(text.splitlines())


def _begin(path: Path, template: str, actor: str, into_existing: bool) -> bool:
    """Play a template into a file; whether anything was changed. Raises CLI-E003."""
    from deja_tui.capture import demo as demo_memory
    from deja_tui.errors import DejaError
    from deja_tui.facade import host_clock

    was = path.exists() and path.stat().st_size > 0
    if template == "demo":
        demo_memory.seed(path, host_clock())
        return not was
    text = script(template)
    with open_memory(path, namespace=None, actor=actor, create=True) as memory:
        row = memory.store.setting(_MARK)
        if isinstance(row, dict) and row.get("template") == template:
            return False
        grains = memory.substrate.position().grains
        if grains and not into_existing:
            raise DejaError(
                "CLI-E003",
                f"{path} already holds {plural(grains, 'grain')}",
                "name a new file, or say --into-existing",
            )
        if template == "blank":
            return not was
        with memory.store.act() as act:
            declare_all(memory, text)
            session_of(memory).script(text)
            act.set_setting(_MARK, {"template": template, "by": actor, "at": memory.clock()})
    return True


def _wiring(framework: str, path: Path) -> list[str]:
    if framework == "mcp":
        from deja_tui.capture.wiring_mcp import mcp

        return mcp(path)
    return {
        "claude-code": wiring_lines.claude_code,
        "openai": wiring_lines.openai,
        "python": wiring_lines.python,
    }[framework](path)
