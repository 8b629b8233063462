# SPDX-License-Identifier: Apache-2.0
"""``deja import`` and ``deja record-tool-call``: what happened elsewhere, into a memory."""

from __future__ import annotations

import json
from pathlib import Path

import click

from deja_tui.cli import output
from deja_tui.cli.options import open_memory, with_db, with_format


@click.command("import")
@click.argument("kind", type=click.Choice(["claude-code"]))
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Read and report; store nothing.")
@click.option("--loop", "run_loop", is_flag=True, help="Run the Deja Loop afterwards.")
@with_db
@with_format
def import_(
    kind: str,
    path: Path,
    dry_run: bool,
    run_loop: bool,
    db: Path | None,
    namespace: str,
    actor: str,
    as_json: bool,
) -> None:
    """Bring the sessions of KIND at PATH, a file or a folder, into a memory.

    Importing again adds only what is new. Values that look like secrets are masked before anything is stored.

    Example: deja import claude-code ~/.claude/projects --loop
    """
    from deja_tui.capture.importers.claude_code import import_claude_code
    from deja_tui.present.activation import quiet_lines
    from deja_tui.present.imported import import_lines
    from deja_tui.present.plain import run_lines

    with open_memory(db, namespace=namespace, actor=actor, create=True) as memory:
        report = import_claude_code(memory, path, now_ms=memory.clock(), dry_run=dry_run).to_json()
        outcome = memory.loop.run() if run_loop and not dry_run else None
    if as_json:
        output.as_json(report if outcome is None else {**report, "run": output.outcome(outcome)})
        return
    output.lines(import_lines(report, output.width()))
    if outcome is not None:
        output.lines(["", *run_lines(outcome, output.width()), *quiet_lines(outcome, output.width())])
    elif not dry_run and report["added"]:
        output.lines(["next: deja loop run" + (f" --db {db}" if db else "")])


@click.command("record-tool-call")
@click.argument("name")
@click.argument("result")
@click.option("--error", "is_error", is_flag=True, help="The call failed.")
@click.option("--thread", metavar="ID", help="The session it belongs to.")
@click.option("--call-id", metavar="ID", help="The provider's id of the call; made up when absent.")
@click.option("--input", "input_", metavar="JSON", help="The arguments, as JSON.")
@with_db
@with_format
def record_tool_call(
    name: str,
    result: str,
    is_error: bool,
    thread: str | None,
    call_id: str | None,
    input_: str | None,
    db: Path | None,
    namespace: str,
    actor: str,
    as_json: bool,
) -> None:
    """Store one tool call and print its address.

    Example: deja record-tool-call stripe_refund '{"error":"rate_limited"}' --error --thread sess-41
    """
    try:
        arguments = None if input_ is None else json.loads(input_)
    except ValueError:
        raise click.UsageError("--input is not JSON.") from None
    with open_memory(db, namespace=namespace, actor=actor, create=True) as memory:
        address = memory.record_tool_call(name, result, is_error, thread, call_id, arguments)
    if as_json:
        output.as_json({"address": address})
    else:
        output.lines([address])
