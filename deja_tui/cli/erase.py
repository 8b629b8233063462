# SPDX-License-Identifier: Apache-2.0
"""Verbs that erase: forget, forget-subject, forget-older. Each shows what would go with ``--dry-run``.

Each needs a reason and the flag ``--allow-destructive``; erasing a subject also its first characters, typed once more
(D17, D19).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from deja_tui.cli import output
from deja_tui.cli.options import OneOf, When, open_memory, with_db, with_format
from deja_tui.errors import DejaError
from deja_tui.present.words import plural
from deja_tui.store.codec import TYPES
from deja_tui.store.grains import StoredGrain
from deja_tui.text import clean


def _with_erasure(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--because``, ``--allow-destructive`` and ``--dry-run``."""
    for option in (
        click.option("--dry-run", is_flag=True, help="Show what would go; change nothing."),
        click.option("--allow-destructive", is_flag=True, help="There is no undo, and I know."),
        click.option(
            "--because", default="", metavar="REASON", help="Why, 1 to 500 characters. It is kept for good."
        ),
    ):
        function = option(function)
    return function


@click.command()
@click.argument("address")
@_with_erasure
@with_db
@with_format
def forget(
    address: str,
    because: str,
    allow_destructive: bool,
    dry_run: bool,
    db: Path | None,
    namespace: str,
    actor: str,
    as_json: bool,
) -> None:
    """Erase one grain and what quotes it. There is no undo.

    Example: deja forget 3c262f04 --because 'asked to by its author' --allow-destructive
    """
    with open_memory(db, namespace=namespace, actor=actor, read_only=dry_run) as memory:
        if dry_run:
            grain = memory.get(address)
            if grain is None:
                raise DejaError("MEM-E001", "no such grain", "deja search TEXT finds addresses")
            _would_go([grain], as_json, {})
            return
        _flagged(allow_destructive)
        _done(memory.forget(address, because=because), as_json)


@click.command("forget-subject")
@click.argument("subject")
@click.option("--everywhere", is_flag=True, help="In every namespace, not only in --ns.")
@click.option("--mentions", is_flag=True, help="Also grains whose text has every word of the name.")
@click.option("--confirm", metavar="TEXT", help="The first four characters of the subject, typed once more.")
@_with_erasure
@with_db
@with_format
def forget_subject(
    subject: str,
    everywhere: bool,
    mentions: bool,
    confirm: str | None,
    because: str,
    allow_destructive: bool,
    dry_run: bool,
    db: Path | None,
    namespace: str,
    actor: str,
    as_json: bool,
) -> None:
    """Erase every grain that names a subject, all versions, and what quotes them. There is no undo.

    Example: deja forget-subject pat --dry-run
    """
    options: dict[str, Any] = {"everywhere": everywhere, "mentions": mentions}
    with open_memory(db, namespace=namespace, actor=actor, read_only=dry_run) as memory:
        if dry_run:
            _report(memory.subject_report(subject, **options), as_json)
            return
        _flagged(allow_destructive)
        typed = _typed(subject) if confirm is None else confirm
        with output.working("erasing"):
            done = memory.forget_subject(subject, because=because, confirm=typed, **options)
        _done(done, as_json)


@click.command("forget-older")
@click.argument("before", type=When(), metavar="TIME")
@click.option("--type", "type_", type=OneOf(tuple(TYPES)), metavar="TYPE", help="Only grains of this type.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many, the oldest first.")
@_with_erasure
@with_db
@with_format
def forget_older(
    before: str,
    type_: str | None,
    limit: int | None,
    because: str,
    allow_destructive: bool,
    dry_run: bool,
    db: Path | None,
    namespace: str,
    actor: str,
    as_json: bool,
) -> None:
    """Erase the grains of a namespace made before TIME (ISO-8601 or epoch). There is no undo.

    Example: deja forget-older 2024-01-01 --type event --dry-run
    """
    options: dict[str, Any] = {"type": type_, "limit": limit}
    moment = int(before) if before.isascii() and before.isdigit() and len(before) > 8 else before
    with open_memory(db, namespace=namespace, actor=actor, read_only=dry_run) as memory:
        if dry_run:
            _would_go(memory.older_than(moment, **options), as_json, {})
            return
        _flagged(allow_destructive)
        with output.working("erasing"):
            done = memory.forget_older_than(moment, because=because, **options)
        _done(done, as_json)


def _flagged(allow_destructive: bool) -> None:
    if not allow_destructive:
        raise DejaError(
            "LOP-E023", "an erasure needs the flag --allow-destructive", "look first with --dry-run"
        )


def _typed(subject: str) -> str:
    """The first characters of the subject as a person types them; nothing where nobody can."""
    from deja_tui.erasure import CONFIRM_CHARS

    if not sys.stdin.isatty():
        return ""
    sys.stdout.write(f"Type the first {min(CONFIRM_CHARS, len(subject))} characters of the subject: ")
    sys.stdout.flush()
    return sys.stdin.readline().rstrip("\n")


def _would_go(grains: Sequence[StoredGrain], as_json: bool, more: dict[str, Any]) -> None:
    if as_json:
        output.as_json({"grains": [output.grain(grain) for grain in grains], **more})
        return
    from deja_tui.present.grain import grain_lines

    output.lines([f"{plural(len(grains), 'grain')} would go:", *grain_lines(grains, output.width())])


def _report(report: Any, as_json: bool) -> None:
    more = {
        "subject": report.subject,
        "namespaces": None if report.namespaces is None else list(report.namespaces),
        "names": list(report.names),
        "recommendations": list(report.recommendations),
        "mentioned": list(report.mentioned),
        "derived": list(report.derived),
        "elsewhere": dict(report.elsewhere),
        "unreached": list(report.unreached),
    }
    _would_go(report.grains, as_json, more)
    if as_json:
        return
    told = [f"named as: {', '.join(clean(name, 80) for name in report.names[:20])}"] if report.names else []
    quoting = len(report.recommendations)
    told.append(
        f"{plural(quoting, 'recommendation')} that {'quotes' if quoting == 1 else 'quote'} them would go, too"
    )
    mentioned, derived = len(report.mentioned), len(report.derived)
    told.append(
        f"{plural(mentioned, 'grain')} {'mentions' if mentioned == 1 else 'mention'} the name elsewhere"
        " and would stay (--mentions takes more)"
    )
    told.append(
        f"{plural(derived, 'grain')} {'was' if derived == 1 else 'were'} derived from these and would stay"
    )
    told += [
        f"{plural(count, 'grain')} {'names' if count == 1 else 'name'} it in {clean(name, 80)} and would stay (--everywhere)"
        for name, count in report.elsewhere.items()
    ]
    output.lines([*told, *_not_reached(report.unreached)])


def _done(erased: Any, as_json: bool) -> None:
    if as_json:
        output.as_json(
            {
                "audit": erased.audit,
                "erased": list(erased.addresses),
                "recommendations": list(erased.recommendations),
                "pending": erased.pending,
                "unreached": list(erased.unreached),
            }
        )
        return
    told = [f"erased {plural(len(erased.addresses), 'grain')}; audit {erased.audit}"]
    if erased.recommendations:
        told.append(f"erased {plural(len(erased.recommendations), 'recommendation')} that quoted them")
    if erased.pending:
        told.append(
            "old pages of the file still hold erased text: a reader holds them; deja verify tries again"
        )
    output.lines([*told, *_not_reached(erased.unreached)])


def _not_reached(sentences: Sequence[str]) -> list[str]:
    return [f"not reached: {clean(sentence)}" for sentence in sentences]
