# SPDX-License-Identifier: Apache-2.0
"""What a run of the loop tells: everything, in short what it found and what to do next, or one JSON document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from deja_tui.cli import output
from deja_tui.cli.placing import option, placed
from deja_tui.engine.health import Health
from deja_tui.engine.objects import RunOutcome


def tell(
    memory: Any,
    found: RunOutcome,
    db: Path | None,
    *,
    quiet: bool = False,
    brief: bool = False,
    as_json: bool = False,
) -> None:
    """The report of one run. It ends with the memory's health, in short or whole, so that a run that found nothing says why."""
    from deja_tui.present.health import health_shape

    if quiet:
        _one_line(found, db)
        return
    health = memory.loop.health()
    if as_json:
        more = {"health": health_shape(health)} if _reports(found, health) else {}
        output.as_json({**output.outcome(found), **more})
    elif brief:
        output.lines(in_short(memory, found, health, db))
    else:
        output.lines(_at_length(found, health, db))


def _reports(found: RunOutcome, health: Health) -> bool:
    """A run that a gate held back says only that, unless the memory was never looked at."""
    return found.outcome == "ran" or (health.last_run is None and found.skip_reason != "lock_held")


def _one_line(found: RunOutcome, db: Path | None) -> None:
    if found.stored + found.refreshed + found.auto_applied:
        unasked = f", {found.auto_applied} applied by policy" if found.auto_applied else ""
        told = f"{found.stored} new, {found.refreshed} refreshed{unasked}"
        click.echo(f"deja: {told}; deja loop list{option(db)}", err=True)


def _at_length(found: RunOutcome, health: Health, db: Path | None) -> list[str]:
    from deja_tui.present.health import health_lines
    from deja_tui.present.plain import run_lines

    width = output.width()
    lines = [placed(one, db) for one in run_lines(found, width)]
    if not _reports(found, health):
        return lines
    return [*lines, "", *(placed(one, db) for one in health_lines(health, width, option(db)))]


def in_short(memory: Any, found: RunOutcome, health: Health, db: Path | None) -> Iterator[str]:
    """What a run found, why it found nothing, and the first thing to do next."""
    from deja_tui.cli.next import of_the_loop
    from deja_tui.present.health import in_brief
    from deja_tui.present.plain import brief_run_lines

    new = set(found.recommendations)
    rows = [row for row in memory.loop.queue(None) if row.address in new] if new else []
    *lines, last = brief_run_lines(found, rows, memory.clock(), output.width())
    yield from lines
    yield placed(last, db) if rows else last
    if not _reports(found, health):
        return
    yield from ("", *in_brief(health, output.width()))
    step = next(of_the_loop(health, option(db)), None)
    if step is not None:
        yield from ("", step.told, f"  {step.command}")
