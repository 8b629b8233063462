# SPDX-License-Identifier: Apache-2.0
"""Options that many verbs share, and the one way a verb opens a memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import Any

import click

from deja_tui.cli.paths import default_path
from deja_tui.errors import DejaError
from deja_tui.text import clean


class OneOf(click.Choice[str]):
    """One of a few words; another one is a usage error that names the nearest."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__(words)
        self.words = tuple(words)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        told = str(value)
        if told in self.words:
            return told
        near = get_close_matches(told, self.words, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise click.BadParameter(
            f"{clean(told, 40)!r} is not one of {', '.join(self.words)}.{hint}", ctx, param
        )


def with_db(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--db FILE``, ``--ns NAME`` and ``--actor LABEL``."""
    function = click.option(
        "--ns", "namespace", metavar="NAME", help="Namespace; else what the file declares, else shared."
    )(function)
    return with_file(function)


def with_host(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--policy FILE`` and ``--telemetry MODE``: what the host of this process says, for every memory it opens.

    They stand before or after the verb and are handed to `open_memory` by click's own context, so that no verb can
    forget one.
    """
    function = click.option(
        "--telemetry",
        type=OneOf(["off", "aggregate", "full"]),
        expose_value=False,
        callback=_told_by_the_host,
        help="What recalls are counted in; else as the policy says, else aggregate.",
    )(function)
    return click.option(
        "--policy",
        type=click.Path(path_type=Path),
        metavar="FILE",
        expose_value=False,
        callback=_told_by_the_host,
        help="The host's policy; else DEJA_LOOP_POLICY.",
    )(function)


def _told_by_the_host(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value is not None:
        ctx.meta[f"deja.{param.name}"] = value


def by_the_host(name: str) -> Any:
    """What the command line said of ``policy`` or ``telemetry``; None: nothing."""
    ctx = click.get_current_context(silent=True)
    return ctx.meta.get(f"deja.{name}") if ctx else None


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
        type=OneOf(["text", "json"]),
        default="text",
        show_default=True,
        help="Shape of the output.",
    )(call)


def with_because(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--because TEXT``, needed."""
    return click.option(
        "--because", required=True, metavar="REASON", help="Why, 1 to 500 characters. It is kept for good."
    )(function)


class When(click.ParamType[str]):
    """A time as the verb takes it; ``2 hours ago``, ``yesterday`` and ``now`` are made epoch milliseconds, as in CAL.

    ``last``: of a span, its last millisecond instead of its first.
    """

    name = "when"

    def __init__(self, *, last: bool = False) -> None:
        self.last = last

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from deja_tui.cal.times import relative_span
        from deja_tui.facade import host_clock

        span = relative_span(str(value), host_clock())
        return str(value) if span is None else str(span[self.last])


def open_memory(
    db: Path | None,
    *,
    namespace: str | None = None,
    actor: str = "user:local",
    scopes: Sequence[str] | None = None,
    create: bool = False,
    read_only: bool = False,
    telemetry: str = "off",
) -> Any:
    """A `Memory`. A missing file is made only by verbs that write first things (``create``).

    ``scopes``: the rights of whoever acts; None: all of them, as a person at the command line holds.

    ``telemetry``: verbs that recall for people, and runs, count as ``aggregate`` does (D37): as the flag says, else the
    host's policy, else in that mode. Other verbs count nothing.
    """
    from deja_tui.facade import Memory
    from deja_tui.loop_settings import host_policy

    policy = host_policy(by_the_host("policy"))
    if telemetry != "off":
        telemetry = by_the_host("telemetry") or (policy.telemetry if policy else telemetry)
    path = db or default_path()
    if create and db is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        memory = Memory.open(
            path,
            namespace=namespace,
            actor=actor,
            scopes=scopes,
            create=create,
            read_only=read_only,
            telemetry=telemetry,
            policy=policy,
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
