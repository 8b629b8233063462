# SPDX-License-Identifier: Apache-2.0
"""Verbs about what a memory holds: add, recall, search, history, verify, stats."""

from __future__ import annotations

from pathlib import Path

import click

from deja_tui.cli import output
from deja_tui.cli.options import OneOf, When, open_memory, with_db, with_format
from deja_tui.store.codec import TYPES
from deja_tui.store.faults import Fault
from deja_tui.text import clean


@click.command()
@click.argument("subject")
@click.argument("relation")
@click.argument("object")
@click.option("--confidence", type=click.FloatRange(0, 1), default=0.9, show_default=True)
@with_db
@with_format
def add(
    subject: str,
    relation: str,
    object: str,
    confidence: float,
    db: Path | None,
    namespace: str,
    actor: str,
    as_json: bool,
) -> None:
    """Store one fact and print its address.

    Example: deja add acme deploy_target eu-west-1
    """
    with open_memory(db, namespace=namespace, actor=actor, create=True) as memory:
        address = memory.add_fact(subject, relation, object, confidence)
    if as_json:
        output.as_json({"address": address})
    else:
        output.lines([address])


@click.command()
@click.argument("subject", required=False)
@click.option("--relation", metavar="TEXT", help="Only with this relation, exactly.")
@click.option("--object", "object_", metavar="TEXT", help="Only with this object, exactly.")
@click.option(
    "--type", "type_", type=OneOf(tuple(TYPES)), metavar="TYPE", help="fact, event, tool, observation, …"
)
@click.option("-k", type=click.IntRange(1, 1000), default=16, show_default=True, help="At most so many.")
@click.option(
    "--as-of",
    type=When(last=True),
    metavar="WHEN",
    help="As it was at a time (ISO-8601, epoch) or clock (HLC).",
)
@click.option(
    "--axis",
    type=OneOf(("arrival", "validity")),
    default="arrival",
    show_default=True,
    help="Of --as-of: what was known then, or what is known now to have held then.",
)
@with_db
@with_format
def recall(
    subject: str | None,
    relation: str | None,
    object_: str | None,
    type_: str | None,
    k: int,
    as_of: str | None,
    axis: str,
    db: Path | None,
    namespace: str,
    actor: str,
    as_json: bool,
) -> None:
    """List live grains, newest first.

    Example: deja recall acme --as-of 2026-03-01
    """
    with open_memory(db, namespace=namespace, actor=actor, read_only=True, telemetry="aggregate") as memory:
        found = memory.recall(subject, relation, object_, type=type_, k=k, as_of=as_of, axis=axis)
    output.grains(found, as_json)


@click.command()
@click.argument("text")
@click.option("-k", type=click.IntRange(1, 1000), default=16, show_default=True, help="At most so many.")
@click.option("--type", "type_", type=OneOf(tuple(TYPES)), metavar="TYPE", help="Only grains of this type.")
@click.option("--subject", metavar="TEXT", help="Only grains about this, exactly.")
@click.option(
    "--since", type=When(), metavar="TIME", help="Only what was created from then on (ISO-8601 or epoch)."
)
@click.option("--before", type=When(), metavar="TIME", help="Only what was created before then.")
@with_db
@with_format
def search(
    text: str,
    k: int,
    type_: str | None,
    subject: str | None,
    since: str | None,
    before: str | None,
    db: Path | None,
    namespace: str,
    actor: str,
    as_json: bool,
) -> None:
    """Find live grains by their text, best match first. Any text is a safe query.

    Quotes make a phrase, a star at the end of a word its start.

    Example: deja search '"rate limited" refu*' --type tool --since 2026-03-01
    """
    with open_memory(db, namespace=namespace, actor=actor, read_only=True, telemetry="aggregate") as memory:
        found = memory.search(text, type=type_, subject=subject, since=since, before=before, k=k)
    output.grains(found, as_json)


@click.command()
@click.argument("address")
@with_db
@with_format
def history(address: str, db: Path | None, namespace: str, actor: str, as_json: bool) -> None:
    """Show the versions of one grain, newest first.

    Example: deja history 3c262f04
    """
    with open_memory(db, namespace=namespace, actor=actor, read_only=True) as memory:
        found = memory.history(address)
    output.grains(found, as_json)


@click.command()
@click.option(
    "--deep", is_flag=True, help="Also decode every grain and compare every index entry; much slower."
)
@click.option("--rebuild", is_flag=True, help="First make every index anew from grains, op-log and marks.")
@with_db
@with_format
def verify(deep: bool, rebuild: bool, db: Path | None, namespace: str, actor: str, as_json: bool) -> int:
    """Check every address, chain and index; list every fault. Exit 1 when there is one.

    Example: deja verify --db agent.deja
    """
    before: tuple[Fault, ...] = ()
    with output.working("checking"):
        if rebuild:  # by a reader, which waits for no lock
            with open_memory(db, namespace=namespace, actor=actor, read_only=True) as memory:
                before = memory.verify(deep=True)
        with open_memory(db, namespace=namespace, actor=actor, read_only=not rebuild) as memory:
            faults = memory.verify(deep=deep, rebuild=rebuild)
    if as_json:
        told = {"ok": not faults, "faults": [_fault(f) for f in faults]}
        output.as_json({**told, "found_before": [_fault(f) for f in before]} if rebuild else told)
    else:
        output.lines(f"before: {f.code} {f.address} {clean(f.message)}" for f in before)
        output.lines([f"{f.code} {f.address} {clean(f.message)}" for f in faults] or ["ok: no fault found"])
    return 1 if faults else 0


def _fault(fault: Fault) -> dict[str, str]:
    return {"code": fault.code, "address": fault.address, "message": fault.message}


@click.command()
@with_db
@with_format
def stats(db: Path | None, namespace: str, actor: str, as_json: bool) -> None:
    """Count what a memory holds.

    Example: deja stats --format json
    """
    with open_memory(db, namespace=namespace, actor=actor, read_only=True) as memory:
        found = memory.stats()
    if as_json:
        output.as_json(found)
    else:
        output.lines(f"{name:<20} {clean(value)}" for name, value in found.items())
