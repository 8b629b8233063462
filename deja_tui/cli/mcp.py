# SPDX-License-Identifier: Apache-2.0
"""``deja mcp``: a memory as tools for an agent, over stdin and stdout. The SDK is an extra, loaded here alone."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from deja_tui.cli.options import open_memory, with_host
from deja_tui.engine.actors import caller
from deja_tui.errors import DejaError


@click.command()
@with_host
@click.option(
    "-d",
    "--db",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The memory; else DEJA_DB, else your own.",
)
@click.option(
    "--ns", "namespace", metavar="NAME", help="Namespace; else what the file declares, else shared."
)
@click.option(
    "--scopes",
    default="read,write",
    show_default=True,
    metavar="LIST",
    help="Rights of whoever calls: some of read, write, review, apply, admin.",
)
@click.option(
    "--actor", default="agent:mcp", show_default=True, metavar="LABEL", help="Who acts, for the audit."
)
def mcp(db: Path | None, namespace: str | None, scopes: str, actor: str) -> None:
    """Serve a memory to an agent: MCP over stdin and stdout, no network.

    Actor and rights hold for the whole process; no request can change them. A reviewer is a second process with an actor
    of its own. `deja hook print mcp` prints both launch lines.

    Example: deja mcp --db shop.deja --scopes read,write --actor agent:worker
    """
    rights = [one for one in (part.strip() for part in scopes.split(",")) if one]
    if not rights:
        raise click.UsageError("--scopes names no right.")
    caller(actor, rights)  # a right or a label that is none is told before anything is missed
    serve = _loaded().serve
    with open_memory(db, namespace=namespace, actor=actor, scopes=rights, telemetry="aggregate") as memory:
        if sys.stdin.isatty():
            click.echo("waiting for an MCP client on stdin; deja hook print mcp prints its lines", err=True)
        serve(memory)


def _loaded() -> Any:
    """The module that needs the SDK. Raises CLI-E004 where the SDK, or the version it is written for, is missing."""
    try:
        return import_module("deja_tui.cli.mcp_serve")
    except ImportError as missing:
        raise DejaError(
            "CLI-E004",
            "deja mcp needs the MCP SDK, in the version that the extra mcp names",
            "python -m pip install 'deja-tui[mcp]'",
        ) from missing
