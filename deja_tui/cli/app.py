# SPDX-License-Identifier: Apache-2.0
"""The tree of verbs. A verb's module is imported when the verb is called, or listed in its group's help."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from deja_tui import __version__
from deja_tui.cli.options import with_host

# verb → (module, attribute, one line of help)
_ROOT: Final[dict[str, tuple[str, str, str]]] = {
    "demo": ("deja_tui.cli.start", "demo", "Open the console on a memory made up for trying it out."),
    "init": ("deja_tui.cli.start", "init", "Make a memory file from a template."),
    "ui": ("deja_tui.cli.ui_verb", "ui", "Open the console on a memory."),
    "review": ("deja_tui.cli.review", "review", "Review the queue line by line, on any terminal."),
    "next": ("deja_tui.cli.next", "next_", "Say what to do next with this memory."),
    "import": ("deja_tui.cli.capture", "import_", "Bring transcripts into a memory."),
    "hook": ("deja_tui.cli.hook_verb", "hook_verb", "What the hooks of a coding agent call."),
    "mcp": ("deja_tui.cli.mcp", "mcp", "Serve a memory to an agent, over stdin and stdout."),
    "record-tool-call": ("deja_tui.cli.capture", "record_tool_call", "Store one tool call."),
    "loop": ("deja_tui.cli.loop", "loop", "Run the Deja Loop and decide about its recommendations."),
    "why": ("deja_tui.cli.loop_config", "why", "Say why an analyzer does or does not find something."),
    "add": ("deja_tui.cli.memory", "add", "Store one fact."),
    "get": ("deja_tui.cli.grains", "get", "Show one grain with every field."),
    "latest": ("deja_tui.cli.grains", "latest", "Show the current value of a subject and relation."),
    "recall": ("deja_tui.cli.memory", "recall", "List live grains, newest first."),
    "search": ("deja_tui.cli.memory", "search", "Find live grains by their text."),
    "context": (
        "deja_tui.cli.grains",
        "context",
        "Show what an agent would be told: lessons, then what is found.",
    ),
    "supersede": ("deja_tui.cli.grains", "supersede", "Replace one live grain by a new one."),
    "retire": ("deja_tui.cli.grains", "retire", "Take one live grain out of recall in favour of another."),
    "history": ("deja_tui.cli.memory", "history", "Show the versions of one grain."),
    "provenance": ("deja_tui.cli.sync", "provenance", "Show what a grain came from and what came of it."),
    "log": ("deja_tui.cli.sync", "log", "Show what changed, and since when."),
    "forks": ("deja_tui.cli.sync", "forks", "List live grains that took the place of one grain."),
    "merge": ("deja_tui.cli.sync", "merge", "Close a fork with one new grain."),
    "cal": ("deja_tui.cli.cal", "cal", "Run a statement of the query language, a script, or a shell."),
    "doc": ("deja_tui.cli.doc", "doc", "Text files in a memory, with every version."),
    "forget": ("deja_tui.cli.erase", "forget", "Erase one grain and what quotes it."),
    "forget-subject": ("deja_tui.cli.erase", "forget_subject", "Erase every grain that names a subject."),
    "forget-older": ("deja_tui.cli.erase", "forget_older", "Erase the grains made before a time."),
    "declare": ("deja_tui.cli.declare", "declare", "Show or set what a file declares for every open."),
    "bundle": ("deja_tui.cli.sync", "bundle", "Write a memory to a file that copies take in."),
    "import-bundle": ("deja_tui.cli.sync", "import_bundle", "Take a bundle in."),
    "restore": ("deja_tui.cli.sync", "restore", "Write a memory as it was to a new file."),
    "segments": ("deja_tui.cli.sync", "segments", "Keep copies in step through a shared folder."),
    "audit": ("deja_tui.cli.audit", "audit", "Show or export who decided what, when and why."),
    "verify": ("deja_tui.cli.memory", "verify", "Check every address, chain and index of a memory."),
    "stats": ("deja_tui.cli.memory", "stats", "Count what a memory holds."),
    "completion": ("deja_tui.cli.completion", "completion", "Print the completion for bash, zsh or fish."),
}
_EXAMPLE: Final = re.compile(r"(\n *\n)( *)Example: ")


class LazyGroup(click.Group):
    """A group whose verbs are imported on use; an unknown verb names the nearest one."""

    def __init__(
        self, *args: Any, verbs: dict[str, tuple[str, str, str]] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.verbs = verbs or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.verbs.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(import_module(entry[0]), entry[1])
        if command.help and "\b" not in command.help:
            # an example is copied as it stands: help does not break its line
            command.help = _EXAMPLE.sub("\\1\\2\b\n\\2Example: ", command.help)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in self.verbs:
            from deja_tui.cli.nearest import nearest

            meant = nearest(name, self.verbs, ctx.command_path)
            ctx.fail(f"No such verb {name!r}.{f' Did you mean {meant}?' if meant else ''}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Verbs from the table, so that a Tab imports none of their modules."""
        told = [
            CompletionItem(name, help=row[2])
            for name, row in self.verbs.items()
            if name.startswith(incomplete)
        ]
        return told + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, entry[2]) for name, entry in self.verbs.items()])


@click.group(
    cls=LazyGroup,
    verbs=_ROOT,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
)
@click.option(
    "-d", "--db", metavar="FILE", expose_value=False, help="The memory of whatever verb follows."
)  # `main` puts it behind the verb
@with_host
@click.version_option(__version__, "-V", "--version", prog_name="deja", message="%(prog)s %(version)s")
@click.pass_context
def deja(ctx: click.Context) -> None:
    """Governed agent memory: every change cited, reviewed with a written reason, undoable.

    Start with `deja demo`. Without a verb: what to do next with your memory.

    Example: deja init --template coding-agent --db agent.deja
    """
    if ctx.invoked_subcommand is None:
        from deja_tui.cli.next import next_

        ctx.invoke(next_)
