# SPDX-License-Identifier: Apache-2.0
"""Options that many verbs share, and the one way a verb opens a memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from deja_tui.errors import DejaError
from deja_tui.text import clean

DB_VARIABLE: Final = "DEJA_DB"


def default_path() -> Path:
    """The memory used when neither ``--db`` nor ``DEJA_DB`` names one (D48)."""
    named = os.environ.get(DB_VARIABLE)
    if named:
        return Path(named)
    from platformdirs import user_data_dir

    return Path(user_data_dir("deja")) / "memory.deja"


def with_db(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--db FILE``, ``--ns NAME`` and ``--actor LABEL``."""
    function = click.option(
        "--ns", "namespace", metavar="NAME", help="Namespace; else what the file declares, else shared."
    )(function)
    return with_file(function)


def with_file(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--db FILE`` and ``--actor LABEL``, for verbs that look at every namespace."""
    function = click.option(
        "--actor", default="user:local", show_default=True, metavar="LABEL", help="Who acts, for the audit."
    )(function)
    return click.option(
        "-d",
        "--db",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The memory; else DEJA_DB, else your own.",
    )(function)


def with_format(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--format text|json``; the verb is given ``as_json``."""

    @wraps(function)
    def call(*args: Any, format: str, **kwargs: Any) -> Any:
        return function(*args, as_json=format == "json", **kwargs)

    return click.option(
        "--format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Shape of the output.",
    )(call)


def with_because(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--because TEXT``, needed."""
    return click.option(
        "--because", required=True, metavar="REASON", help="Why, 1 to 500 characters. It is kept for good."
    )(function)


def open_memory(
    db: Path | None,
    *,
    namespace: str | None = None,
    actor: str = "user:local",
    create: bool = False,
    read_only: bool = False,
    telemetry: str = "off",
) -> Any:
    """A `Memory`. A missing file is made only by verbs that write first things (``create``).

    ``telemetry``: verbs that recall for people count, as ``aggregate`` (D37).
    """
    from deja_tui.facade import Memory

    path = db or default_path()
    if create and db is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        memory = Memory.open(
            path,
            namespace=namespace,
            actor=actor,
            create=create,
            read_only=read_only,
            telemetry=telemetry,
        )
    except DejaError as fault:
        if fault.code == "STO-E003":
            raise DejaError(
                "STO-E003",
                f"there is no memory at {path}",
                f"deja init --template blank --db {path}, or deja demo",
            ) from fault
        raise
    for notice in memory.notices:
        sys.stderr.write(f"note: {clean(notice)}\n")
    if memory.store.notice and not read_only:
        click.echo(clean(memory.store.notice), err=True)
    return memory
