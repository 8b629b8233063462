# SPDX-License-Identifier: Apache-2.0
"""``deja`` alone and ``deja next``: what to do now, for this file."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from deja_tui.cli import output
from deja_tui.cli.options import open_memory, with_file, with_format
from deja_tui.cli.paths import default_path
from deja_tui.text import DAY_MS, clean

_SPOOL: Final = ".spool"
_LOOKED_AT: Final = 200


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do: a word for programs, a sentence, and the command."""

    state: str
    told: str
    command: str


@click.command("next")
@with_file
@with_format
def next_(db: Path | None, actor: str, as_json: bool) -> None:
    """Say what to do next with this memory, the most pressing first. `deja` alone does the same.

    Example: deja next --db agent.deja
    """
    path = db or default_path()
    steps = list(_steps(path, "" if db is None else f" --db {shlex.quote(str(path))}", actor))
    if as_json:
        told = [{"state": step.state, "message": step.told, "command": step.command} for step in steps]
        output.as_json({"path": str(path), "exists": path.exists(), "next": told})
        return
    wide = max(len(step.command) for step in steps)
    output.lines([f"deja  {clean(str(path), 400)}", ""])
    for step in steps:
        output.lines([step.told, f"  {clean(step.command, 400):<{wide}}".rstrip()])
    output.lines(["", "deja --help lists every verb."])


def _steps(path: Path, db: str, actor: str) -> Iterator[Step]:
    if not path.exists():
        named = shlex.quote(str(path))
        yield Step(
            "no_file", "There is no memory here yet. Look at one made up for trying it out:", "deja demo"
        )
        yield Step("no_file", "Make one with a template:", f"deja init --template coding-agent --db {named}")
        yield Step("no_file", "Or make it of what you have:", f"deja import PATH{db}")
        return
    from deja_tui.present.setup import QUIET_MS

    with open_memory(path, actor=actor, read_only=True) as memory:
        found = memory.loop.health()
        last, calls = _arrivals(memory)
    spooled = _spooled(path)
    if spooled:
        told = f"{spooled} captures wait beside the file; any write takes them in."
        yield Step("spooled", told, f"deja loop run{db}")
    if not found.live and not found.watermark and last is None:
        yield Step("empty", "The memory is empty. Fill it with what you have:", f"deja import PATH{db}")
        yield Step("not_wired", "Or with what your agent does from now on:", _wire(path))
        return
    yield from of_the_loop(found, db)
    if not calls:
        yield Step("not_wired", "No tool call ever arrived. Connect your agent:", _wire(path))
    elif last is not None and found.at - last >= QUIET_MS:
        days = (found.at - last) // DAY_MS
        yield Step("quiet", f"Nothing arrived for {days} days. Is your agent still connected?", _wire(path))


def of_the_loop(found: Any, db: str) -> Iterator[Step]:
    """What the queue, the run, the forks and what lies too far back ask for, of a `Health`."""
    from deja_tui.present.health import further_back
    from deja_tui.present.words import plural

    pending, approved = sum(found.pending.values()), found.queue.get("approved", 0)
    if pending:
        severe = ", ".join(f"{count} {name}" for name, count in found.pending.items() if count)
        told = f"{plural(pending, 'recommendation')} to review ({severe}):"
        yield Step("pending", told, f"deja ui{db}   or   deja review{db}")
    if approved:
        told = f"{plural(approved, 'recommendation')} approved and not applied:"
        yield Step("approved", told, f"deja loop list --status approved{db}")
    if found.last_run is None:
        yield Step("never_run", "The analyzers have not looked at it yet:", f"deja loop run{db}")
    elif found.stale or (found.new_grains and not pending):
        news = f"{plural(found.new_grains, 'grain')} new since the last run:"
        told = news if found.new_grains else "The last run is a week ago or longer:"
        yield Step("stale" if found.stale else "run", told, f"deja loop run{db}")
    elif wider := further_back(found):
        state, told = wider
        yield Step("older", told, f"{state.next}{db} && deja loop run{db}")
    elif not (pending or approved or found.forks):
        told = "Nothing waits, and nothing is new since the last run. What each analyzer needs:"
        yield Step("settled", told, f"deja loop health{db}")
    if found.forks:
        yield Step("forks", f"{plural(found.forks, 'fork')} open between copies:", f"deja forks{db}")


def _wire(path: Path) -> str:
    return f"deja init --framework claude-code --db {shlex.quote(str(path))}"


def _arrivals(memory: Any) -> tuple[int | None, bool]:
    """When something of a user last arrived (epoch ms; None: not lately, or never), and whether a tool call ever did."""
    end = memory.stats()["operations"]
    last = max((change.hlc >> 16 for change in memory.changes(max(0, end - _LOOKED_AT))), default=None)
    return last, next(iter(memory.store.scan("tool")), None) is not None


def _spooled(path: Path) -> int:
    folder = path.with_name(path.name + _SPOOL)
    return sum(1 for one in folder.iterdir() if one.is_file()) if folder.is_dir() else 0
