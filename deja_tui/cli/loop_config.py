# SPDX-License-Identifier: Apache-2.0
"""``deja loop health, analyzers, enable, disable, set, policy, config-…, reflect`` and ``deja why``: how the loop works here."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from deja_tui.cli import output
from deja_tui.cli.options import by_the_host, open_memory, with_because, with_file, with_format, with_host
from deja_tui.cli.placing import option, placed
from deja_tui.errors import DejaError

_MAX_DOCUMENT: int = 1_048_576


def show_health(memory: Any, as_json: bool, db: Path | None) -> None:
    """The report about an open memory, as lines or as JSON."""
    from deja_tui.present import health as shown

    found = memory.loop.health()
    if as_json:
        output.as_json(shown.health_shape(found))
    else:
        output.lines(placed(one, db) for one in shown.health_lines(found, output.width(), option(db)))


@click.command()
@with_host
@with_file
@with_format
def health(db: Path | None, actor: str, as_json: bool) -> None:
    """Report what a memory holds, what the loop knows, and why each analyzer does or does not fire.

    Example: deja loop health
    """
    with open_memory(db, actor=actor, read_only=True, telemetry="aggregate") as memory:
        show_health(memory, as_json, db)


@click.command()
@with_host
@with_file
@with_format
def analyzers(db: Path | None, actor: str, as_json: bool) -> None:
    """List the analyzers: what each looks for, how it is set and by whom, what it found.

    Example: deja loop analyzers
    """
    from deja_tui.present import health as shown

    with open_memory(db, actor=actor, read_only=True, telemetry="aggregate") as memory:
        found, now = memory.loop.analyzers(), memory.clock()
    if as_json:
        output.as_json({"analyzers": [shown.analyzer_shape(state) for state in found]})
    else:
        output.lines(shown.analyzers_lines(found, now, output.width(), option(db)))


@click.command()
@click.argument("analyzer")
@with_host
@with_file
@with_format
def why(analyzer: str, db: Path | None, actor: str, as_json: bool) -> None:
    """Say why an analyzer does or does not find something, and what would change it.

    Example: deja why tool_failure
    """
    from deja_tui.present import health as shown

    with open_memory(db, actor=actor, read_only=True, telemetry="aggregate") as memory:
        try:
            found, now = memory.loop.why(analyzer), memory.clock()
        except DejaError as fault:
            if fault.code != "LOP-E033" or re.fullmatch(r"[0-9a-f]{4,64}", analyzer) is None:
                raise
            step = f"why a recommendation was made: deja loop show {analyzer}; of a grain: deja provenance {analyzer}"
            raise DejaError(fault.code, fault.message, step) from fault
    if as_json:
        output.as_json(shown.analyzer_shape(found))
    else:
        output.lines(shown.why_lines(found, now, output.width(), option(db)))


@click.command()
@with_host
@with_file
@with_format
def policy(db: Path | None, actor: str, as_json: bool) -> None:
    """Show every value in force and the layer that set it: engine, flag, policy, file or default.

    Example: deja loop policy --policy examples/policy/team.json
    """
    from deja_tui.present import health as shown

    with open_memory(db, actor=actor, read_only=True) as memory:
        found = memory.loop.policy().under({"telemetry": by_the_host("telemetry")})
    if as_json:
        output.as_json(found.to_plain())
    else:
        output.lines(shown.policy_lines(found, output.width()))


# --- changing ----------------------------------------------------------------------------------------


def _told(changes: Any, as_json: bool, unknown: tuple[str, ...] = ()) -> None:
    from deja_tui.present import health as shown
    from deja_tui.text import clean

    if as_json:
        shape: dict[str, Any] = {"changes": [shown.change_shape(one) for one in changes]}
        output.as_json({**shape, "unknown": list(unknown)} if unknown else shape)
        return
    output.lines(
        shown.change_lines(changes, output.width()) if changes else ["Nothing to change: it is so already."]
    )
    output.lines(f"left out, not here: {clean(name, 80)}" for name in unknown)


def _switch(verb: str, on: bool, help_: str) -> click.Command:
    @click.command(
        verb, help=f"{help_}\n\nExample: deja loop {verb} goal_stagnation --because 'we track goals here'"
    )
    @click.argument("analyzer")
    @with_because
    @with_host
    @with_file
    @with_format
    def command(analyzer: str, because: str, db: Path | None, actor: str, as_json: bool) -> None:
        with open_memory(db, actor=actor) as memory:
            changes = memory.loop.configure(analyzer, enabled=on, because=because)
        _told(changes, as_json)

    return command


enable = _switch("enable", True, "Let an analyzer take part in runs, in this memory.")
disable = _switch(
    "disable", False, "Leave an analyzer out of runs, in this memory. Its recommendations stay."
)


@click.command("set")
@click.argument("assignment", required=False, metavar="ANALYZER.NAME=VALUE")
@click.option("--clear", metavar="ANALYZER.NAME", help="Take a setting back to its default.")
@click.option("--because", metavar="REASON", help="Why, 1 to 500 characters. It is kept for good.")
@click.option("--log", is_flag=True, help="Show every change of settings instead.")
@with_host
@with_file
@with_format
def set_(
    assignment: str | None,
    clear: str | None,
    because: str | None,
    log: bool,
    db: Path | None,
    actor: str,
    as_json: bool,
) -> None:
    """Set one parameter of an analyzer, its severity_floor, or its namespaces (a comma list), in this memory.

    Example: deja loop set tool_failure.min_count=5 --because 'three is noise here'
    """
    if log:
        if assignment or clear:
            raise click.UsageError("--log stands alone.")
        with open_memory(db, actor=actor, read_only=True) as memory:
            _log(memory.loop.config_log(), as_json)
        return
    if (assignment is None) == (clear is None):
        raise click.UsageError("Give one ANALYZER.NAME=VALUE, or --clear ANALYZER.NAME.")
    if because is None:
        raise click.UsageError("Missing option '--because'.")
    target, sign, value = (assignment or str(clear)).partition("=")
    analyzer, dot, name = target.rpartition(".")
    if not dot or (assignment is not None and not sign):
        raise click.UsageError("A setting is written ANALYZER.NAME=VALUE.")
    with open_memory(db, actor=actor) as memory:
        changes = _set(memory.loop, analyzer, name, value if assignment is not None else None, because)
    _told(changes, as_json)


def _set(loop: Any, analyzer: str, name: str, value: str | None, because: str) -> Any:
    if name in ("severity_floor", "namespaces"):
        if value is None:
            return loop.configure(analyzer, clear=[name], because=because)
        parts: Any = value if name == "severity_floor" else [one.strip() for one in value.split(",")]
        return loop.configure(analyzer, **{name: parts}, because=because)
    state = loop.why(analyzer)
    file = loop.config_export()["analyzers"].get(state.id, {}).get("params", {})
    params = {one: given for one, given in file.items() if one != name}
    if value is not None:
        params[name] = _value(state.manifest, name, value)
    elif name not in {param.name for param in state.manifest.params}:
        params[name] = None  # refused below, with the names there are
    return loop.configure(state.id, params=params, because=because)


def _value(manifest: Any, name: str, text: str) -> Any:
    """A value as its parameter reads it: text as it stands, everything else as JSON."""
    kind = next((param.kind for param in manifest.params if param.name == name), "")
    if kind in ("str", "enum"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _log(changes: Any, as_json: bool) -> None:
    from deja_tui.present import health as shown

    if as_json:
        output.as_json({"changes": [shown.change_shape(one) for one in changes]})
    else:
        output.lines(shown.change_lines(changes, output.width()))


@click.command("config-export")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write it here; else to stdout.",
)
@with_file
def config_export(out: Path | None, db: Path | None, actor: str) -> None:
    """Write the settings of all analyzers as one JSON document.

    Example: deja loop config-export --out analyzers.json
    """
    with open_memory(db, actor=actor, read_only=True) as memory:
        document = memory.loop.config_export()
    if out is None:
        output.as_json(document)
        return
    output.file(out, (json.dumps(document, ensure_ascii=True, indent=2, sort_keys=True) + "\n").encode())


@click.command("config-import")
@click.argument("path", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE")
@with_because
@with_host
@with_file
@with_format
def config_import(path: Path, because: str, db: Path | None, actor: str, as_json: bool) -> None:
    """Take in settings that config-export wrote: all of them, or none when one is not acceptable.

    Example: deja loop config-import analyzers.json --because 'the same as on the other machine'
    """
    document = _document(path)
    with open_memory(db, actor=actor) as memory:
        found = memory.loop.config_import(document, because=because)
    _told(found.changes, as_json, found.unknown)


def _document(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_DOCUMENT + 1)
        if len(text) > _MAX_DOCUMENT:
            raise ValueError
        return json.loads(text)
    except OSError as fault:
        raise DejaError("LOP-E037", f"configuration: {fault.strerror}", "check the file") from fault
    except (ValueError, RecursionError) as fault:
        raise DejaError("LOP-E037", "configuration: the document is no JSON", "check the file") from fault
