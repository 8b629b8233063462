# SPDX-License-Identifier: Apache-2.0
"""``deja audit …``: who decided what, when and why, for somebody outside.

* AUX-1  One line a grain of the trail, in arrival order; a line whose predecessor was left out by --since or --until, or
  is not here, says so.
* AUX-2  An export also checks: every chain must hold together, and the queue must say what the chains say. What does
  not is told in the last line and on stderr, and the exit code is 1.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click

from deja_tui.cli import output
from deja_tui.cli.app import LazyGroup
from deja_tui.cli.options import When, open_memory, with_file, with_format
from deja_tui.text import clean

_VERBS: Final[dict[str, tuple[str, str, str]]] = {
    "export": ("deja_tui.cli.audit", "export", "Write the whole trail as JSON lines, and check it."),
    "show": ("deja_tui.cli.audit", "show", "Show the trail of one recommendation."),
}
_TRAILS: Final = {
    "loop": "loop",
    "config": "configuration",
    "tier2": "destruction",
    "mark": "change",
    "restore": "copy",
    "sync": "copy",
}


@click.group(cls=LazyGroup, verbs=_VERBS, no_args_is_help=True)
def audit() -> None:
    """Who decided what, when and why.

    Example: deja audit export --since 2026-03-01 --out march.jsonl
    """


@click.command()
@click.argument("address")
@with_file
@with_format
def show(address: str, db: Path | None, actor: str, as_json: bool) -> int:
    """Show the checked trail of one recommendation, also of one that was erased. Exit 1 when it is broken.

    Example: deja audit show 3c262f04
    """
    from deja_tui.present.plain import trail_lines

    with open_memory(db, actor=actor, read_only=True) as memory:
        chain = memory.loop.audit(address)
    if as_json:
        output.as_json(output.chain(chain))
    else:
        output.lines(trail_lines(chain, output.width()))
    return 1 if chain.state == "broken" else 0


@click.command()
@click.option("--since", type=When(), metavar="TIME", help="Only from then on (ISO-8601 or epoch).")
@click.option("--until", type=When(), metavar="TIME", help="Only before then.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write it here; else to stdout.",
)
@with_file
def export(since: str | None, until: str | None, out: Path | None, db: Path | None, actor: str) -> int:
    """Write the trail as JSON lines (docs/json.md), oldest first, and check that the queue says what it says.

    Exit 1 when it does not. FILE must not be there yet.

    Example: deja audit export --since 2026-03-01 --out march.jsonl
    """
    from deja_tui.store.asof import wall

    first = None if since is None else wall(since, "--since")
    last = None if until is None else wall(until, "--until")
    with open_memory(db, actor=actor, read_only=True) as memory:
        with memory.store.snapshot():
            rows = list(trail(memory, first, last))
        faults = [fault for fault in memory.verify() if fault.code.startswith("LOP-")]
    told = [{"code": fault.code, "address": fault.address, "message": fault.message} for fault in faults]
    broken = sum(row["previous_here"] is False for row in rows)
    check = {
        "trail": "check",
        "entries": len(rows),
        "without_previous": broken,
        "agrees": not faults,
        "faults": told,
    }
    text = io.StringIO()
    for row in (*rows, check):
        text.write(output.json_line(row) + "\n")
    _write(out, text.getvalue())
    if broken:
        click.echo(f"note: of {broken} entries the one before lies outside what was exported", err=True)
    for fault in faults:
        click.echo(f"{fault.code} {fault.address} {clean(fault.message)}", err=True)
    return 1 if faults else 0


def _write(out: Path | None, text: str) -> None:
    if out is None:
        output.lines([text.removesuffix("\n")])
        return
    output.file(out, text.encode(), fresh=True)


def trail(memory: Any, since: int | None, until: int | None) -> Iterator[dict[str, Any]]:
    """The lines of an export, in arrival order. ``since`` and ``until``: epoch ms, the end left out."""
    from deja_tui.engine.substrate import LOOP_NAMESPACE
    from deja_tui.erasure import AUTHZ_NAMESPACE

    grains = memory.store.scan("observation", namespaces=[LOOP_NAMESPACE, AUTHZ_NAMESPACE])
    rows = [
        row
        for row in map(_row, grains)
        if row is not None
        and (since is None or row["at_ms"] >= since)
        and (until is None or row["at_ms"] < until)
    ]
    # an entry that another copy sent may have come before the one it names
    shown = {row["address"] for row in rows}
    for row in rows:
        row["previous_here"] = None if row["previous_audit"] is None else row["previous_audit"] in shown
        yield row


def _row(grain: Any) -> dict[str, Any] | None:
    from deja_tui.engine.wire import read_audit

    context = grain.get("context")
    context = context if isinstance(context, Mapping) else {}
    kind = _TRAILS.get(str(context.get("audit")))
    if kind is None:
        return None
    at = context.get("at")
    row: dict[str, Any] = {
        "trail": kind,
        "address": grain.address,
        "at_ms": at if isinstance(at, int) else grain.created_at,
        "actor": str(grain.get("observer_id", "")),
        "observer": str(grain.get("observer_type", "")).removeprefix("rec:"),
        "because": str(context.get("because") or grain.get("object") or ""),
        "imported": bool(grain.imported),
        "recommendation": None,
        "from_status": None,
        "to_status": None,
        "previous_audit": None,
        "verb": context.get("verb"),
        "target": grain.get("subject"),
    }
    if kind == "configuration":
        row.update(verb="set", target=f"{context.get('analyzer')}.{context.get('part')}")
    entry = read_audit(grain) if kind == "loop" else None
    if entry is not None:
        row.update(
            at_ms=entry.at,
            actor=entry.actor,
            observer=entry.observer,
            because=entry.because,
            recommendation=entry.recommendation,
            from_status=entry.from_status,
            to_status=entry.to_status,
            previous_audit=entry.previous,
        )
    return row
