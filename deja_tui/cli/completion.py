# SPDX-License-Identifier: Apache-2.0
"""``deja completion SHELL``: what a shell needs to complete verbs, options and values."""

from __future__ import annotations

from typing import Final

import click

from deja_tui.cli import output
from deja_tui.cli.options import OneOf

SHELLS: Final = ("bash", "zsh", "fish")
VARIABLE: Final = "_DEJA_COMPLETE"
_WHERE: Final = {
    "bash": 'eval "$(deja completion bash)"   in ~/.bashrc',
    "zsh": 'eval "$(deja completion zsh)"   in ~/.zshrc',
    "fish": "deja completion fish | source   in ~/.config/fish/config.fish",
}


@click.command()
@click.argument("shell", type=OneOf(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what makes bash, zsh or fish complete the verbs, options and values of deja. Nothing is installed.

    Example: deja completion bash
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    lines = kind(ctx.find_root().command, {}, "deja", VARIABLE).source().strip("\n").split("\n")
    output.lines([f"# {_WHERE[shell]}", *lines])
