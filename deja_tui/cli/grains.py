# SPDX-License-Identifier: Apache-2.0
"""Verbs about single grains: get, latest, context, supersede, retire."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from deja_tui.cli import output
from deja_tui.cli.options import OneOf, When, open_memory, with_because, with_db, with_format
from deja_tui.errors import DejaError
from deja_tui.text import clean, clean_lines, fence, utc

AXES = ("arrival", "validity")


@click.command()
@click.argument("address")
@with_db
@with_format
def get(address: str, db: Path | None, namespace: str | None, actor: str, as_json: bool) -> None:
    """Show one grain with every field. ADDRESS may be shortened as long as it is unique.

    Example: deja get 3c262f04
    """
    with open_memory(db, namespace=namespace, actor=actor, read_only=True) as memory:
        found = memory.get(address)
    if found is None:
        raise DejaError("MEM-E001", "no such grain", "deja search TEXT finds addresses")
    told = output.grain(found)
    if as_json:
        output.as_json(told)
        return
    state = (
        "live" if found.live else f"replaced by {found.superseded_by}" if found.superseded_by else "not live"
    )
    heads = [
        f"{found.type}  {found.address}",
        f"{utc(found.created_at)}  {clean(found.namespace, 80)}  {state}",
    ]
    output.lines(
        [*heads, *(f"  {clean(name, 80)}: {_said(value)}" for name, value in told["fields"].items())]
    )


def _said(value: Any) -> str:
    if isinstance(value, str):
        return fence(value)
    return clean(json.dumps(value, ensure_ascii=True, default=list), 4_000)


@click.command()
@click.argument("subject")
@click.argument("relation")
@click.option("--all", "every", is_flag=True, help="All current values, the one that is answered first.")
@click.option(
    "--as-of",
    type=When(last=True),
    metavar="WHEN",
    help="As it was at a time (ISO-8601, epoch) or clock (HLC).",
)
@click.option("--axis", type=OneOf(AXES), default="arrival", show_default=True, help="Of --as-of.")
@with_db
@with_format
def latest(
    subject: str,
    relation: str,
    every: bool,
    as_of: str | None,
    axis: str,
    db: Path | None,
    namespace: str | None,
    actor: str,
    as_json: bool,
) -> None:
    """Show the current value of a subject and relation.

    Example: deja latest acme deploy_target
    """
    if every and as_of is not None:
        raise click.UsageError("--all tells of now; leave --as-of out.")
    with open_memory(db, namespace=namespace, actor=actor, read_only=True, telemetry="aggregate") as memory:
        if every:
            found = memory.heads(subject, relation)
        else:
            one = memory.latest(subject, relation, as_of=as_of, axis=axis)
            found = [] if one is None else [one]
    output.grains(found, as_json)


@click.command()
@click.argument("text", default="")
@click.option(
    "--budget", type=click.IntRange(1, 1_000_000), default=400, show_default=True, help="In tokens."
)
@click.option(
    "-k", type=click.IntRange(0, 1000), default=5, show_default=True, help="At most so many found by TEXT."
)
@with_db
@with_format
def context(
    text: str, budget: int, k: int, db: Path | None, namespace: str | None, actor: str, as_json: bool
) -> None:
    """Show what an agent would be told before TEXT: applied lessons, then what the words find, under a budget.

    Nothing is counted as delivered.

    Example: deja context 'refund the double charge'
    """
    with open_memory(db, namespace=namespace, actor=actor, read_only=True, telemetry="aggregate") as memory:
        made = memory.context(text, budget=budget, k=k, deliver=False)
    if as_json:
        output.as_json(
            {
                "text": made.text,
                "lessons": [grain.address for grain in made.lessons],
                "hits": [grain.address for grain in made.hits],
                "left_out": made.left_out,
                "tokens": made.tokens,
                "budget": made.budget,
            }
        )
        return
    output.lines(
        clean_lines(made.text.removesuffix("\n"), limit=len(made.text)) if made.text else ["Nothing found."]
    )


@click.command()
@click.argument("address")
@click.option(
    "--set", "settings", multiple=True, required=True, metavar="NAME=VALUE", help="A field; may be repeated."
)
@with_because
@with_db
@with_format
def supersede(
    address: str,
    settings: tuple[str, ...],
    because: str,
    db: Path | None,
    namespace: str | None,
    actor: str,
    as_json: bool,
) -> None:
    """Replace one live grain by a new one and print its address. VALUE is JSON, else text; null removes the field.

    Example: deja supersede 3c262f04 --set object=eu-central-1 --because 'moved on Monday'
    """
    fields = dict(map(_setting, settings))
    with open_memory(db, namespace=namespace, actor=actor) as memory:
        stored = memory.supersede(address, fields, reason=because)
    output.address(stored, as_json)


@click.command()
@click.argument("address")
@click.option("--by", required=True, metavar="ADDRESS", help="The live grain that stays in its place.")
@with_because
@with_db
@with_format
def retire(
    address: str, by: str, because: str, db: Path | None, namespace: str | None, actor: str, as_json: bool
) -> None:
    """Take one live grain out of recall in favour of another one; nothing is erased.

    Example: deja retire 3c262f04 --by 9f01ab22 --because 'the same fact, misspelt'
    """
    with open_memory(db, namespace=namespace, actor=actor) as memory:
        audit = memory.retire(address, by=by, reason=because)
    if as_json:
        output.as_json({"audit": audit})
    else:
        output.lines([f"retired; audit {audit}"])


def _setting(pair: str) -> tuple[str, Any]:
    name, sign, value = pair.partition("=")
    if not sign or not name:
        raise click.UsageError(f"--set takes NAME=VALUE, not {clean(pair, 60)!r}")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value
