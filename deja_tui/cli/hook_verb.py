# SPDX-License-Identifier: Apache-2.0
"""``deja hook`` as one of the verbs that help lists. The verb itself is dispatched before click is imported (D47)."""

from __future__ import annotations

import click

from deja_tui.cli.hook import hook


@click.command("hook", add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
def hook_verb(argv: tuple[str, ...]) -> int:
    """What the hooks of a coding agent call; prints the lines for its settings.

    Example: deja hook print claude-code
    """
    return hook(list(argv))
