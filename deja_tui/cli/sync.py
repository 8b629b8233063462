# SPDX-License-Identifier: Apache-2.0
"""Verbs about chains and other copies: forks, merge, provenance, log, bundle, import-bundle, restore, segments."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, Final

import click

from deja_tui.cli import output
from deja_tui.cli.app import LazyGroup
from deja_tui.cli.options import When, open_memory, with_because, with_db, with_file, with_format
from deja_tui.cli.paths import default_path
from deja_tui.cli.placing import option

_SEGMENT_VERBS: Final[dict[str, tuple[str, str, str]]] = {
    "push": ("deja_tui.cli.sync", "push", "Add what is new here to a folder that copies share."),
    "pull": ("deja_tui.cli.sync", "pull", "Take what other copies added to it."),
}
_NEWEST: Final = 50


# --- chains -----------------------------------------------------------------------------------------


@click.command()
@click.option("--ns", "namespace", metavar="NAME", help="Only this namespace; else all.")
@with_file
@with_format
def forks(namespace: str | None, db: Path | None, actor: str, as_json: bool) -> None:
    """List open forks: live grains that took the place of one and the same grain in two copies.

    The first of each, marked *, is what `latest` answers until somebody merges.

    Example: deja forks
    """
    with open_memory(db, actor=actor, read_only=True) as memory:
        found = memory.forks(namespace=namespace)
    if as_json:
        output.as_json({"forks": [_fork(fork) for fork in found]})
        return
    from deja_tui.present.copies import fork_lines

    output.lines(fork_lines(found, output.width()) or ["No forks."])
    if found:
        output.lines([f"next: deja merge ADDRESS --because REASON{option(db)}"])


def _fork(fork: Any) -> dict[str, Any]:
    return {
        "namespace": fork.namespace,
        "subject": fork.subject,
        "relation": fork.relation,
        "ancestor": fork.ancestor,
        "tips": [output.grain(tip) for tip in fork.tips],
    }


@click.command()
@click.argument("addresses", nargs=-1, required=True, metavar="ADDRESS...")
@click.option(
    "--object", "object_", metavar="TEXT", help="What the merged grain says; else what the first tip says."
)
@with_because
@with_db
@with_format
def merge(
    addresses: tuple[str, ...],
    object_: str | None,
    because: str,
    db: Path | None,
    namespace: str | None,
    actor: str,
    as_json: bool,
) -> None:
    """Close a fork with one new grain and print its address.

    One ADDRESS stands for the whole fork it is part of; several are merged as they are named.

    Example: deja merge 3c262f04 --object eu-west-1 --because 'checked with ops'
    """
    fields = {} if object_ is None else {"object": object_}
    with open_memory(db, namespace=namespace, actor=actor) as memory:
        tips = addresses[0] if len(addresses) == 1 else addresses
        address = memory.merge(tips, fields, reason=because)
    if as_json:
        output.as_json({"address": address})
    else:
        output.lines([address])


@click.command()
@click.argument("address")
@click.option("--depth", type=click.IntRange(1, 32), default=8, show_default=True, help="Steps either way.")
@with_file
@with_format
def provenance(address: str, depth: int, db: Path | None, actor: str, as_json: bool) -> None:
    """Show what a grain was derived from, and what was derived from it.

    Example: deja provenance 3c262f04
    """
    with open_memory(db, actor=actor, read_only=True) as memory:
        found = memory.provenance(address, depth=depth)
    if as_json:
        output.as_json(
            {
                "grain": output.grain(found.grain),
                "parents": [_step(step) for step in found.parents],
                "children": [_step(step) for step in found.children],
                "complete": found.complete,
            }
        )
        return
    from deja_tui.present.copies import provenance_lines

    lines = provenance_lines(found.grain, found.parents, found.children, found.complete, output.width())
    output.lines(lines)


def _step(step: Any) -> dict[str, Any]:
    told = None if step.grain is None else output.grain(step.grain)
    return {"depth": step.depth, "address": step.address, "of": step.of, "grain": told}


@click.command()
@click.option(
    "--since",
    type=When(),
    metavar="WHEN",
    help="A position, a time ('2 days ago', too), or a clock; else the newest 50 positions.",
)
@click.option("--subject", metavar="TEXT", help="Only what is about it, exactly.")
@click.option("--ns", "namespace", metavar="NAME", help="Only this namespace; else all.")
@click.option("-k", type=click.IntRange(1), help="At most so many, oldest first.")
@with_file
@with_format
def log(
    since: str | None,
    subject: str | None,
    namespace: str | None,
    k: int | None,
    db: Path | None,
    actor: str,
    as_json: bool,
) -> None:
    """Show what changed, oldest first; < marks what came from another copy.

    Example: deja log --since 2026-03-01 --subject acme
    """
    with open_memory(db, actor=actor, read_only=True) as memory:
        start = max(0, memory.stats()["operations"] - _NEWEST) if since is None else since
        found = list(islice(memory.changes(start, subject=subject, namespace=namespace), k))
    if as_json:
        output.as_json({"changes": [_change(change) for change in found]})
        return
    from deja_tui.present.copies import change_lines

    output.lines(change_lines(found, output.width()) or ["Nothing changed."])


def _change(change: Any) -> dict[str, Any]:
    return {
        "seq": change.seq,
        "hlc": change.hlc,
        "at": change.hlc >> 16,
        "kind": change.kind,
        "address": change.address,
        "origin": change.origin,
        "grain": None if change.grain is None else output.grain(change.grain),
    }


# --- bundles ----------------------------------------------------------------------------------------


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--since", type=click.IntRange(0), default=0, show_default=True, help="Only above this position."
)
@with_file
@with_format
def bundle(file: Path, since: int, db: Path | None, actor: str, as_json: bool) -> None:
    """Write the memory, or what is new in it, to a bundle FILE that any copy can take in.

    It is plain text for whoever has it. The last position it prints is the next --since.

    Example: deja bundle backup.mgb
    """
    with open_memory(db, actor=actor, read_only=True) as memory, output.working("writing"):
        written = memory.bundle(file, since=since)
    if as_json:
        output.as_json(asdict(written))
    else:
        from deja_tui.present.words import plural

        rows, size = plural(written.rows, "row"), plural(written.bytes, "byte")
        output.lines([f"{rows}, {size}, up to position {written.last_seq}"])


@click.command("import-bundle")
@click.argument("file", type=click.Path(path_type=Path))
@with_file
@with_format
def import_bundle(file: Path, db: Path | None, actor: str, as_json: bool) -> int:
    """Take a bundle in. Again changes nothing; one that was interrupted goes on where it was.

    Erasures in it are carried out. Exit 1 when a row was refused, or the file is damaged or not whole.

    Example: deja import-bundle backup.mgb --db copy.deja
    """
    with open_memory(db, actor=actor, create=True) as memory, output.working("reading"):
        report = memory.import_bundle(file)
    if as_json:
        told = asdict(report)
        told["refusals"] = [refusal._asdict() for refusal in report.refusals]
        output.as_json(told)
    else:
        from deja_tui.present.copies import import_lines

        output.lines(import_lines(report, output.width()))
    return 1 if report.refused or not report.complete else 0


@click.command()
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--until",
    type=When(last=True),
    required=True,
    metavar="WHEN",
    help="A time (ISO-8601, epoch, '2 hours ago') or a clock (HLC).",
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A bundle or a memory; else --db.",
)
@with_because
@with_file
@with_format
def restore(
    target: Path, until: str, source: Path | None, because: str, db: Path | None, actor: str, as_json: bool
) -> None:
    """Write a memory as it was at a time to the new file TARGET, undo and decisions as they were then.

    Nothing is written over. What was forgotten stays out, also when that was later.

    Example: deja restore before.deja --until 2026-03-01T12:00:00Z --because 'what did it know then'
    """
    from deja_tui.facade import Memory

    with output.working("restoring"):
        report = Memory.restore(
            source or db or default_path(), target, until=until, because=because, actor=actor
        )
    if as_json:
        output.as_json({"path": str(target), **asdict(report)})
        return
    from deja_tui.present.words import plural

    held = f"{plural(report.grains, 'grain')}, {plural(report.operations, 'operation')}"
    lines = [f"{held} up to the clock {report.until}"]
    if report.lost:
        lines.append(f"gone for good, erased since or damaged: {plural(report.lost, 'grain')} of that time")
    output.lines([*lines, f"next: deja verify --db {output.place(target)}"])


# --- segments ---------------------------------------------------------------------------------------


@click.group(cls=LazyGroup, verbs=_SEGMENT_VERBS, no_args_is_help=True)
def segments() -> None:
    """Keep copies of a memory in step through a folder that any tool moves: a share, rsync, a stick.

    Example: deja segments push ~/shared/memory && deja segments pull ~/shared/memory
    """


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--fresh",
    is_flag=True,
    help="Write all of it anew and remove this copy's former segments, so that what was forgotten is gone from them.",
)
@with_file
@with_format
def push(folder: Path, fresh: bool, db: Path | None, actor: str, as_json: bool) -> None:
    """Add what is new here to this copy's part of FOLDER.

    Example: deja segments push ~/shared/memory
    """
    with open_memory(db, actor=actor) as memory, output.working("writing"):
        pushed = memory.push_segments(folder, fresh=fresh)
    if as_json:
        output.as_json(asdict(pushed))
        return
    from deja_tui.present.words import plural

    wrote = plural(pushed.segments, "segment"), plural(pushed.rows, "row"), plural(pushed.bytes, "byte")
    lines = [f"{', '.join(wrote)}, as {pushed.name}"]
    if pushed.renamed:
        lines.append("The folder held rows that are not this file's: it pushes under a new name from now on.")
    output.lines(lines)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@with_file
@with_format
def pull(folder: Path, db: Path | None, actor: str, as_json: bool) -> int:
    """Take what other copies added to FOLDER; what has not arrived whole is waited for.

    Exit 1 when a folder is damaged or a row was refused.

    Example: deja segments pull ~/shared/memory
    """
    with open_memory(db, actor=actor, create=True) as memory, output.working("reading"):
        followed = memory.pull_segments(folder)
    if as_json:
        output.as_json({"copies": [asdict(one) for one in followed]})
    else:
        from deja_tui.present.copies import followed_lines

        output.lines(followed_lines(followed, output.width()))
    return 1 if any(one.damaged or one.refused for one in followed) else 0
