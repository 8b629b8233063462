# SPDX-License-Identifier: Apache-2.0
"""``deja ui`` as one of the verbs that help lists. The verb itself is dispatched before click is imported (D47)."""

from __future__ import annotations

import click

from deja_tui.cli.ui import open_console


@click.command("ui", add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
def ui(argv: tuple[str, ...]) -> int:
    """Open the console on a memory."""
    return open_console(list(argv))
