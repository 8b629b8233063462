# SPDX-License-Identifier: Apache-2.0
"""``deja loop outcomes``: what became of what was applied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from deja_tui.cli import output
from deja_tui.cli.options import open_memory, with_file, with_format
from deja_tui.engine.outcomes import Reviewed


@click.command()
@click.argument("address", required=False)
@with_file
@with_format
def outcomes(address: str | None, db: Path | None, actor: str, as_json: bool) -> None:
    """Show what was counted before and after each applied recommendation, over equal spans of 1, 7 and 30 days.

    Example: deja loop outcomes 3c262f04
    """
    from deja_tui.present.outcomes import outcome_lines

    with open_memory(db, actor=actor, read_only=True) as memory:
        found = memory.loop.outcomes(address)
    if as_json:
        output.as_json({"outcomes": [shape(one) for one in found]})
    else:
        output.lines(outcome_lines(found, output.width()))


def shape(one: Reviewed) -> dict[str, Any]:
    """The shape of one measurement with the recommendation it is about."""
    from deja_tui.engine.templates import render

    summary = one.recommendation.summary
    about = {
        "recommendation": one.outcome.recommendation,
        "status": one.status,
        "summary": render(summary.template_id, summary.args),
    }
    return {**about, **output.measurement(one.outcome)}
