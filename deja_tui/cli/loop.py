# SPDX-License-Identifier: Apache-2.0
"""``deja loop …``: run, list, show and the five decisions. Each decision takes exactly one address (D15)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from deja_tui.cli import output
from deja_tui.cli.app import LazyGroup
from deja_tui.cli.options import OneOf, open_memory, with_because, with_file, with_format, with_host
from deja_tui.cli.ran import tell
from deja_tui.engine.objects import SEVERITIES, STATUSES
from deja_tui.text import span_ms

_VERBS: Final[dict[str, tuple[str, str, str]]] = {
    "run": ("deja_tui.cli.loop", "run", "Let the analyzers look at what is new."),
    "reflect": ("deja_tui.cli.loop", "reflect", "Let the analyzers look at everything again."),
    "health": ("deja_tui.cli.loop_config", "health", "Report what the memory holds and how the loop stands."),
    "list": ("deja_tui.cli.loop", "list_", "List recommendations in queue order."),
    "show": ("deja_tui.cli.loop", "show", "Show one recommendation with its evidence and trail."),
    "diff": ("deja_tui.cli.loop_change", "diff", "What recall answers before and after one recommendation."),
    "propose": ("deja_tui.cli.loop_change", "propose", "File a draft, for somebody else to review."),
    "approve": ("deja_tui.cli.loop_change", "approve", "Approve one pending recommendation."),
    "reject": ("deja_tui.cli.loop", "reject", "Reject one pending recommendation."),
    "withdraw": ("deja_tui.cli.loop", "withdraw", "Take an approval back before it is applied."),
    "apply": ("deja_tui.cli.loop", "apply", "Carry out one approved recommendation."),
    "mark-applied": ("deja_tui.cli.loop_change", "mark_applied", "Note that a change outside was made."),
    "rollback": ("deja_tui.cli.loop", "rollback", "Undo one applied recommendation exactly."),
    "analyzers": ("deja_tui.cli.loop_config", "analyzers", "List the analyzers and how each is set."),
    "enable": ("deja_tui.cli.loop_config", "enable", "Let an analyzer take part in runs."),
    "disable": ("deja_tui.cli.loop_config", "disable", "Leave an analyzer out of runs."),
    "set": ("deja_tui.cli.loop_config", "set_", "Set a parameter, a severity floor, or namespaces."),
    "policy": ("deja_tui.cli.loop_config", "policy", "Show what is in force and which layer set it."),
    "config-export": ("deja_tui.cli.loop_config", "config_export", "Write the settings of all analyzers."),
    "config-import": ("deja_tui.cli.loop_config", "config_import", "Take in settings that were exported."),
    "outcomes": ("deja_tui.cli.loop_outcomes", "outcomes", "Count before and after what was applied."),
    "schedule": (
        "deja_tui.cli.loop_schedule",
        "schedule",
        "Print what makes a machine run it every so often.",
    ),
    "precision": (
        "deja_tui.cli.loop_trials",
        "precision",
        "Tell how often analyzers are right on labelled corpora.",
    ),
    "replay": ("deja_tui.cli.loop_trials", "replay", "Try settings on the past; change nothing."),
}


@click.group(cls=LazyGroup, verbs=_VERBS, invoke_without_command=True)
@with_host
@with_file
@with_format
@click.pass_context
def loop(ctx: click.Context, db: Path | None, actor: str, as_json: bool) -> None:
    """Run the Deja Loop and decide about its recommendations, one at a time. Without a verb: its health.

    Example: deja loop run && deja loop list
    """
    if ctx.invoked_subcommand is not None:
        # a verb has its own: an option that was read here would be passed over, and the verb would work on another file
        for name in ("db", "actor", "format"):
            if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise click.UsageError(
                    f"--{name} stands after the verb: deja loop {ctx.invoked_subcommand} --{name} …"
                )
    else:
        from deja_tui.cli.loop_config import health

        ctx.invoke(health, db=db, actor=actor, format="json" if as_json else "text")


class Span(click.ParamType[int]):
    """Digits and one of ms s m h d, as milliseconds; anything else is a usage error."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        span = span_ms(str(value))
        if span is None:
            self.fail(f"{value!r} is not a span like 30s, 10m, 6h or 7d", param, ctx)
        return span


@click.command()
@with_host
@with_file
@with_format
@click.option("--min-new", type=click.IntRange(0), metavar="N", help="Run when at least N grains are new.")
@click.option(
    "--min-new-errors", type=click.IntRange(0), metavar="N", help="Run when at least N tool errors are new."
)
@click.option(
    "--if-stale", type=Span(), metavar="SPAN", help="Run when the last run is at least so old: 6h, 7d."
)
@click.option("--only", multiple=True, metavar="ID", help="Only this analyzer; moves no watermark.")
@click.option("--dry-run", is_flag=True, help="Say what would be proposed; store nothing.")
@click.option(
    "--analyzer-cmd",
    "commands",
    multiple=True,
    metavar="ID=CMD",
    help="Also ask this command, in this run; may be repeated.",
)
@click.option(
    "--analyzer-limit",
    type=Span(),
    default="30s",
    show_default=True,
    metavar="SPAN",
    help="Stop a command after so long; at most 90s.",
)
@click.option("--brief", is_flag=True, help="What was found and what is next, without the memory's health.")
@click.option(
    "--quiet", is_flag=True, help="Nothing on stdout; one line on stderr when something was stored."
)
def run(
    db: Path | None,
    actor: str,
    as_json: bool,
    min_new: int | None,
    min_new_errors: int | None,
    if_stale: int | None,
    only: tuple[str, ...],
    dry_run: bool,
    commands: tuple[str, ...],
    analyzer_limit: int,
    brief: bool,
    quiet: bool,
) -> None:
    """Let the analyzers look at what is new. Several gates: any that is met opens.

    Example: deja loop run --min-new 20 --min-new-errors 3
    """
    with open_memory(db, actor=actor, telemetry="aggregate") as memory:
        found = memory.loop.run(
            min_new=min_new,
            min_new_errors=min_new_errors,
            if_stale_ms=if_stale,
            only=only,
            dry_run=dry_run,
            commands=commands,
            command_limit_ms=analyzer_limit,
        )
        tell(memory, found, db, quiet=quiet, brief=brief, as_json=as_json)


@click.command()
@with_host
@with_file
@with_format
@click.option("--only", multiple=True, metavar="ID", help="Only this analyzer; moves no watermark.")
@click.option("--dry-run", is_flag=True, help="Say what would be proposed; store nothing.")
@click.option("--brief", is_flag=True, help="What was found and what is next, without the memory's health.")
@click.option(
    "--quiet", is_flag=True, help="Nothing on stdout; one line on stderr when something was stored."
)
def reflect(
    db: Path | None,
    actor: str,
    as_json: bool,
    only: tuple[str, ...],
    dry_run: bool,
    brief: bool,
    quiet: bool,
) -> None:
    """Let every analyzer look at everything again, whatever it has looked at before.

    Example: deja loop reflect --dry-run
    """
    with open_memory(db, actor=actor, telemetry="aggregate") as memory:
        with output.working("looking"):
            found = memory.loop.reflect(only=only, dry_run=dry_run)
        tell(memory, found, db, quiet=quiet, brief=brief, as_json=as_json)


@click.command("list")
@with_file
@with_format
@click.option(
    "--status",
    type=OneOf([*STATUSES, "all"]),
    default="pending",
    show_default=True,
    help="Which ones.",
)
@click.option(
    "--fail-on",
    type=OneOf(SEVERITIES),
    help="Exit 2 when a pending one is at least this severe.",
)
def list_(db: Path | None, actor: str, as_json: bool, status: str, fail_on: str | None) -> int:
    """List recommendations: most severe first, then oldest.

    Example: deja loop list --status applied
    """
    from deja_tui.present.plain import queue_lines

    with open_memory(db, actor=actor, read_only=True) as memory:
        rows = memory.loop.queue(None if status == "all" else status)
        pending = rows if status == "pending" else memory.loop.queue("pending") if fail_on else []
        now = memory.clock()
    if as_json:
        output.as_json({"recommendations": [output.queue_row(row) for row in rows]})
    else:
        output.lines(queue_lines(rows, now, output.width()))
    severe = fail_on and any(SEVERITIES.index(row.severity) >= SEVERITIES.index(fail_on) for row in pending)
    return 2 if severe else 0


@click.command()
@click.argument("address")
@with_file
@with_format
def show(address: str, db: Path | None, actor: str, as_json: bool) -> None:
    """Show one recommendation: the literal change, its evidence, a dry run, its trail.

    Example: deja loop show 3c262f04
    """
    from deja_tui.present.plain import detail_lines

    with open_memory(db, actor=actor, read_only=True) as memory:
        found = memory.loop.show(address)
        now = memory.clock()
    if as_json:
        output.as_json(output.detail(found))
    else:
        output.lines(detail_lines(found, now, output.width()))


def decide(
    verb: str,
    address: str,
    because: str,
    db: Path | None,
    actor: str,
    as_json: bool,
    **more: Any,
) -> None:
    """Carry out one decision about one recommendation and tell its receipt. ``verb``: the method of `Loop`."""
    from deja_tui.present.plain import receipt_lines

    with open_memory(db, actor=actor) as memory:
        found = getattr(memory.loop, verb)(address, because=because, **more)
    if as_json:
        output.as_json(output.receipt(found))
    else:
        output.lines(receipt_lines(found, output.width()))


def _decision(verb: str, help_: str) -> click.Command:
    @click.command(
        verb, help=f"{help_}\n\nExample: deja loop {verb} 3c262f04 --because 'seen in three sessions'"
    )
    @click.argument("address")
    @with_because
    @with_file
    @with_format
    def command(address: str, because: str, db: Path | None, actor: str, as_json: bool) -> None:
        decide(verb, address, because, db, actor, as_json)

    return command


reject: Final = _decision(
    "reject", "Reject one pending recommendation; the finding stays silent for a while."
)
withdraw: Final = _decision("withdraw", "Take an approval back before it is applied.")
rollback: Final = _decision("rollback", "Undo one applied recommendation: recall answers again as before.")


@click.command()
@click.argument("address")
@click.option("--because", metavar="REASON", help="Why, 1 to 500 characters. Needed unless --dry-run.")
@click.option("--allow-destructive", is_flag=True, help="Allow a change that cannot be undone.")
@click.option("--dry-run", is_flag=True, help="Say what an apply would do now; change nothing.")
@with_file
@with_format
def apply(
    address: str,
    because: str | None,
    allow_destructive: bool,
    dry_run: bool,
    db: Path | None,
    actor: str,
    as_json: bool,
) -> None:
    """Carry out one approved recommendation, in one transaction with its stored inverse.

    Example: deja loop apply 3c262f04 --because 'checked the evidence'
    """
    if dry_run:
        _dry_run(address, allow_destructive, db, actor, as_json)
    elif because is None:
        raise click.UsageError("Missing option '--because'.")
    else:
        flag = {"allow_destructive": allow_destructive}
        decide("apply", address, because, db, actor, as_json, **flag)


def _dry_run(address: str, allow_destructive: bool, db: Path | None, actor: str, as_json: bool) -> None:
    from deja_tui.present.plain import change_lines, plan_line

    with open_memory(db, actor=actor, read_only=True) as memory:
        found = memory.loop.show(address, allow_destructive=allow_destructive)
        plan = memory.loop.dry_run(address, allow_destructive=allow_destructive)
    if as_json:
        output.as_json(output.plan(plan))
    else:
        output.lines([*change_lines(found, output.width()), plan_line(plan)])
