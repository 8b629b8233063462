# SPDX-License-Identifier: Apache-2.0
"""``deja loop propose``, ``mark-applied``, ``diff`` and ``approve``: what a person or program brings in, and chooses."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from deja_tui.cli import output
from deja_tui.cli.loop import decide
from deja_tui.cli.options import OneOf, open_memory, with_because, with_file, with_format
from deja_tui.cli.placing import option
from deja_tui.errors import ValidationError


@click.command()
@click.argument("address")
@with_because
@click.option(
    "--choice", type=click.IntRange(0), metavar="N", help="The alternative an apply carries out; else 0."
)
@with_file
@with_format
def approve(
    address: str, because: str, choice: int | None, db: Path | None, actor: str, as_json: bool
) -> None:
    """Approve one pending recommendation. Nothing is changed until it is applied.

    Example: deja loop approve 3c262f04 --choice 1 --because 'the newer value is right'
    """
    decide("approve", address, because, db, actor, as_json, choice=choice or 0)


@click.command("mark-applied")
@click.argument("address")
@with_because
@with_file
@with_format
def mark_applied(address: str, because: str, db: Path | None, actor: str, as_json: bool) -> None:
    """Note that an approved change outside this memory, of the host or of a document elsewhere, was made there.

    Example: deja loop mark-applied 3c262f04 --because 'edited AGENTS.md in the repository'
    """
    decide("mark_applied", address, because, db, actor, as_json)


@click.command()
@click.argument("address")
@click.option("--choice", type=click.IntRange(0), metavar="N", help="Of this alternative.")
@with_file
@with_format
def diff(address: str, choice: int | None, db: Path | None, actor: str, as_json: bool) -> None:
    """What recall answers before and after one recommendation. Writes nothing.

    Example: deja loop diff 3c262f04
    """
    from deja_tui.present.line import plain
    from deja_tui.present.preview import preview

    with open_memory(db, actor=actor, read_only=True) as memory:
        found = memory.loop.diff(address, choice=choice)
    if as_json:
        output.as_json(asdict(found))
    else:
        output.lines(plain(one) for one in preview(found, output.width()))


@click.command()
@click.option(
    "--target", required=True, metavar="REF", help="grain:…, entity:…, query:…, template:…, doc:…, host:…"
)
@click.option("--note", required=True, metavar="TEXT", help="Why, for the reviewer; 1 to 200 characters.")
@click.option(
    "--evidence", multiple=True, required=True, metavar="H", help="A live grain; may be given again."
)
@click.option("--op", "ops", multiple=True, metavar="JSON", help="An operation; may be given again.")
@click.option("--body", metavar="TEXT", help="The new body of the query or template.")
@click.option(
    "--text",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The new text of the document.",
)
@click.option("--edit", metavar="JSON", help='{"diff", "base"} of a document.')
@click.option("--data", metavar="JSON", help="What a finding says that changes nothing.")
@click.option("--severity", type=OneOf(["info", "low", "medium"]), default="low", show_default=True)
@click.option(
    "--ns", "namespace", metavar="NAME", help="Of the document; else what the file declares, else shared."
)
@with_file
@with_format
def propose(
    target: str,
    note: str,
    evidence: tuple[str, ...],
    ops: tuple[str, ...],
    body: str | None,
    text: Path | None,
    edit: str | None,
    data: str | None,
    severity: str,
    namespace: str | None,
    db: Path | None,
    actor: str,
    as_json: bool,
) -> None:
    """File a draft as a pending recommendation; somebody else reviews it.

    Give one of --op, --body, --text, --edit and --data.

    Example: deja loop propose --target query:open --note 'too broad' --evidence 3c262f04 --body 'RECALL goals'
    """
    edits = [one for one in (_body(body), _text(text), _parsed("--edit", edit)) if one is not None]
    if len(edits) > 1:
        raise click.UsageError("Give one of --body, --text and --edit.")
    with open_memory(db, namespace=namespace, actor=actor) as memory:
        address = memory.loop.propose(
            target=target,
            note=note,
            evidence=list(evidence),
            operations=[_parsed("--op", one) for one in ops] or None,
            edit=edits[0] if edits else None,
            data=_parsed("--data", data),
            severity=severity,
            namespace=namespace,
        )
    if as_json:
        output.as_json({"address": address, "status": "pending"})
    else:
        output.lines([f"proposed {address}", f"next: deja loop show {address[:12]}{option(db)}"])


def _body(body: str | None) -> dict[str, Any] | None:
    return None if body is None else {"body": body}


def _text(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        return {"text": path.read_bytes().decode()}
    except UnicodeDecodeError as fault:
        raise ValidationError("VAL-E001", "the file of --text is not UTF-8 text") from fault


def _parsed(option: str, text: str | None) -> Any:
    """The JSON object of an option; anything else is a usage error."""
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise click.UsageError(f"{option} takes a JSON object.")
    return found
