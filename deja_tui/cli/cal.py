# SPDX-License-Identifier: Apache-2.0
"""``deja cal``: one statement, a script of them, or a shell; results as a table, as JSON, or in a format of the language."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import click

from deja_tui.cal import CalError, Class, Session, classify, host_of
from deja_tui.cal.parser import parse_script
from deja_tui.cal.printer import program as printed
from deja_tui.cal.results import Assembled, Grains, Result
from deja_tui.cal.words import FORMATS
from deja_tui.capture.templates import declarations
from deja_tui.cli import output
from deja_tui.cli.options import OneOf, open_memory, with_db
from deja_tui.errors import DejaError
from deja_tui.present.cal_lines import lines_of
from deja_tui.text import clean, clean_lines

_SHOWN: Final = ("table", *(name for name in FORMATS if name != "table"))


@click.command()
@click.argument("statement", required=False)
@click.option(
    "--file", "script", type=click.Path(path_type=Path), metavar="SCRIPT", help="Statements, each ended by ;"
)
@click.option("--dry-run", is_flag=True, help="Show what a script holds; run nothing.")
@click.option(
    "-p", "--param", "params", multiple=True, metavar="NAME=VALUE", help="A value for $NAME; always text."
)
@click.option(
    "--format",
    "format_",
    type=OneOf(_SHOWN),
    default="table",
    show_default=True,
    help="Shape of the output.",
)
@click.option("--read-only", is_flag=True, help="Refuse everything but reads.")
@click.option("--allow-destructive", is_flag=True, help="Let FORGET through. There is no undo.")
@with_db
def cal(
    statement: str | None,
    script: Path | None,
    dry_run: bool,
    params: tuple[str, ...],
    format_: str,
    read_only: bool,
    allow_destructive: bool,
    db: Path | None,
    namespace: str,
    actor: str,
) -> int:
    """Run a statement of the query language; without one, open a shell.

    Examples:

    \b
    deja cal 'RECALL facts WHERE subject = "acme"'
    deja cal 'RUN "Pending Recommendations"' --format json
    deja cal --file setup.cal --dry-run
    """
    if statement is not None and script is not None:
        raise click.UsageError("Give a statement or --file, not both.")
    if dry_run and script is None:
        raise click.UsageError("--dry-run goes with --file; EXPLAIN shows the plan of one statement.")
    given = _params(params)
    if script is not None and dry_run:
        return _shown(_read(script))
    try:
        reads = read_only or (statement is not None and classify(statement).cls is Class.READ)
    except CalError as error:
        _refuse(error, as_json=format_ in ("json", "data"))
        return 1
    opened = open_memory(
        db,
        namespace=namespace,
        actor=actor,
        create=script is not None,
        read_only=reads,
        telemetry="aggregate",
    )
    with opened as memory:
        session = session_of(memory)
        access: dict[str, Any] = {"read_only": read_only, "allow_destructive": allow_destructive}
        try:
            if script is not None:
                results: list[Result] = _played(memory, _read(script), given, access, namespace)
            elif statement is not None:
                results = [session.run(statement, given, **access)]
            else:
                from deja_tui.cli.cal_shell import shell

                return shell(session, format_, read_only=read_only, allow_destructive=allow_destructive)
        except CalError as error:
            _refuse(error, as_json=format_ in ("json", "data"))
            return 1
    for result in results:
        show(result, format_)
    return 0


def _played(
    memory: Any, text: str, given: Mapping[str, str], access: Mapping[str, bool], namespace: str | None
) -> list[Result]:
    """A script with what it declares, in one act (D42); a namespace that the command line names is used all the same."""
    with memory.store.act() if declarations(text) else nullcontext():
        declare_all(memory, text, keep=namespace is not None)
        results: list[Result] = session_of(memory).script(text, given, **access)
    return results


def declare_all(memory: Any, text: str, *, keep: bool = False) -> None:
    """Carry out the lines of a script that declare something of the file.

    ``keep``: go on in the namespace that the memory was opened with, whatever is declared.
    """
    for name, (value, because) in declarations(text).items():
        memory.declare(name, value, because=because)
        if name == "namespace" and not keep:
            memory.namespace = value


def session_of(memory: Any) -> Session:
    """The session of an opened memory: every right of its actor, its loop, its telemetry."""
    return Session(host_of(memory, summary=summary_of))


def summary_of(told: Mapping[str, Any]) -> str:
    """The line a recommendation is told in."""
    from deja_tui.engine.templates import render

    return render(str(told.get("template_id", "")), told.get("args") or {})


def show(result: Result, format_: str) -> None:
    """One result on stdout, its warnings on stderr."""
    for told in result.warnings:
        sys.stderr.write(f"warning: {clean(told)}\n")
    if format_ in ("json", "data"):
        output.as_json(result.as_json())
    elif format_ != "table" and isinstance(result, (Grains, Assembled)):
        from deja_tui.cal.pages import page_of
        from deja_tui.cal.renderers import render
        from deja_tui.facade import host_clock

        text = render(FORMATS[format_], page_of(result, host_clock(), summary_of))
        output.lines(clean_lines(text.removesuffix("\n"), limit=len(text)) if text else [])
    else:
        output.lines(lines_of(result, output.width(), summary_of))


def _refuse(error: CalError, *, as_json: bool) -> None:
    """A refusal on stderr: the sentence, the place with a caret, the next step."""
    if as_json:
        from deja_tui.text import compact_json

        sys.stderr.write(compact_json({"error": error.as_json()}) + "\n")
        return
    for line in error.lines():
        sys.stderr.write(line + "\n")


def _params(given: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in given:
        name, sign, value = pair.partition("=")
        if not sign or not name.removeprefix("$").isidentifier():
            raise click.UsageError(f"--param takes NAME=VALUE, not {pair!r}")
        found[name.removeprefix("$")] = value
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # editors of Windows put a mark before the text
    except (OSError, UnicodeDecodeError) as error:
        raise DejaError("IMP-E001", f"the script {clean(str(path))} cannot be read as UTF-8 text") from error


def _shown(text: str) -> int:
    """The statements of a script, numbered, with their class; nothing is run (D42)."""
    from deja_tui.cal.classify import judge

    try:
        programs = parse_script(text)
    except CalError as error:
        _refuse(error, as_json=False)
        return 1
    for name, (value, because) in declarations(text).items():
        output.lines(
            [
                f"  -  {'admin':<11}  {clean(f'deja declare {name} {value} --because {because!r}', limit=4_000)}"
            ]
        )
    for number, program in enumerate(programs, 1):
        told = clean(printed(program), limit=4_000)
        output.lines([f"{number:>3}  {judge(program).cls.word:<11}  {told}"])
    return 0
