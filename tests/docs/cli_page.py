# SPDX-License-Identifier: Apache-2.0
"""Writes docs/cli.md out of the verbs themselves: usage, help, example, options. Nothing of it is typed by hand."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import click

from deja_tui.cli import hook
from deja_tui.cli.app import deja
from deja_tui.cli.ui import _parser

HEAD = """# The command line

Made out of the verbs themselves; `deja VERB --help` prints the same. What `--format json` prints: [json.md](json.md).

Exit codes: 0 done or a clean skip, 1 a coded error ([errors.md](errors.md)), 2 a gate matched, 64 usage, 130 interrupted. Every verb
works on one file: `--db FILE`, else `DEJA_DB`, else your own memory. An address may be shortened as long as it is unique. A time
is ISO-8601, epoch seconds or milliseconds, `now`, `yesterday`, or like `'2 hours ago'`; times are UTC.

| variable | what it says |
|---|---|
| `DEJA_DB` | the memory, where no `--db` is given |
| `DEJA_LOOP_POLICY` | the host's policy, where no `--policy` is given |
| `DEJA_LOOP_NOW_MS` | the time, in epoch milliseconds, instead of the clock |
| `DEJA_LOG` | a file that hooks write codes and addresses to, never text |
| `DEJA_DRIVER=stock` | the console draws every frame whole |
| `NO_COLOR` | the console uses no colours of its own |
"""
SHARED = ("--db", "--actor", "--ns", "--format", "--policy", "--telemetry")


def page() -> str:
    """The whole page, ending in a line feed."""
    context = click.Context(deja, info_name="deja")
    found = list(_walk(deja, context))
    common = _common([command for _, command in found])
    told = [HEAD, "## What most verbs take\n", *(f"- {line}" for line in common.values()), ""]
    for path, command in found:
        told += _section(path, command, common)
    return "\n".join(told).rstrip() + "\n"


def _walk(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        yield inner.command_path, command
        if isinstance(command, click.Group):
            yield from _walk(command, inner)


def _common(commands: list[click.Command]) -> dict[str, str]:
    """Each shared option as most verbs have it."""
    found: dict[str, list[str]] = {}
    for command in commands:
        for param in command.params:
            if isinstance(param, click.Option) and param.opts[-1] in SHARED:
                found.setdefault(param.opts[-1], []).append(_option(param))
    return {name: max(found[name], key=found[name].count) for name in SHARED}


def _section(path: str, command: click.Command, common: dict[str, str]) -> list[str]:
    if path == "deja ui":
        return _console()
    if path == "deja hook":
        return ["", f"## `{path}`\n", "```text", hook._USAGE.rstrip(), "```"]
    level = "##" if path.count(" ") == 1 else "###"
    arguments = [_argument(param) for param in command.params if isinstance(param, click.Argument)]
    usage = " ".join([path, *arguments, *(["VERB"] if isinstance(command, click.Group) else [])])
    text, _, example = (command.help or "").replace("\b", "").partition("Example:")
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]
    told = ["", f"{level} `{path}`\n", f"    {usage}", "", *"\n\n".join(paragraphs).split("\n")]
    if example.strip():
        told += ["", f"Example: `{' '.join(example.split())}`"]
    options = [param for param in command.params if isinstance(param, click.Option)]
    own = [param for param in options if common.get(param.opts[-1]) != _option(param)]
    shared = [param.opts[-1] for param in options if param not in own]
    lines = [f"- {_option(param)}" for param in own]
    if shared:
        lines.append("- also " + ", ".join(f"`{name}`" for name in shared))
    return [*told, "", *lines] if lines else told


def _argument(param: click.Argument) -> str:
    name = param.metavar or (param.name or "").upper()
    return name if param.required or name.startswith("[") else f"[{name}]"


def _option(param: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in [*param.opts, *param.secondary_opts])
    if param.is_flag:
        value = ""
    elif isinstance(param.type, click.Choice):
        value = f" `{'|'.join(map(str, param.type.choices))}`"
    else:
        value = f" `{param.metavar or param.type.name.upper()}`"
    notes = []
    if param.required:
        notes.append("needed")
    if param.show_default and isinstance(param.default, str | int | float) and not param.is_flag:
        notes.append(f"else {param.default}")
    told = " ".join((param.help or "").split())
    return f"{names}{value}: {told}{' (' + ', '.join(notes) + ')' if notes else ''}"


def _console() -> list[str]:
    parser = _parser()
    told = ["", "## `deja ui`\n", "    deja ui [FILE]", "", parser.description or "", ""]
    told += [f"Example: `{(parser.epilog or '').partition(': ')[2]}`", ""]
    for action in parser._actions:
        if action.option_strings and not isinstance(action, argparse._HelpAction):
            names = ", ".join(f"`{name}`" for name in action.option_strings)
            value = (
                "|".join(map(str, action.choices))
                if action.choices
                else action.metavar or action.dest.upper()
            )
            told.append(
                f"- {names}{'' if action.nargs == 0 else f' `{value}`'}: {' '.join((action.help or '').split())}"
            )
    return told
