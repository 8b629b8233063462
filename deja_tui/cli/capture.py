# SPDX-License-Identifier: Apache-2.0
"""``deja import`` and ``deja record-tool-call``: what happened elsewhere, into a memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from deja_tui.capture.registry import MODULES
from deja_tui.cli import output
from deja_tui.cli.options import open_memory, with_db, with_format
from deja_tui.cli.paths import default_path
from deja_tui.cli.placing import option
from deja_tui.cli.ran import in_short
from deja_tui.text import clean

if TYPE_CHECKING:
    from deja_tui.capture.source import Source
    from deja_tui.facade import Captured, Memory
    from deja_tui.items import CaptureItem


def _completed(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Kinds, where the word begins one; else what the shell makes of a path (bash takes either, not both)."""
    given = ctx.params.get("source") or not incomplete
    kinds = [] if given else [CompletionItem(kind) for kind in MODULES if kind.startswith(incomplete)]
    return kinds or [CompletionItem(incomplete, type="file")]


@click.command("import")
@click.argument("source", nargs=-1, required=True, metavar="[KIND] PATH", shell_complete=_completed)
@click.option("--dry-run", is_flag=True, help="Say what would be stored; store nothing.")
@click.option("--no-redact", is_flag=True, help="Keep what looks like a secret as it is.")
@click.option("--loop", "run_loop", is_flag=True, help="Run the Deja Loop afterwards.")
@with_db
@with_format
def import_(
    source: tuple[str, ...],
    dry_run: bool,
    no_redact: bool,
    run_loop: bool,
    db: Path | None,
    namespace: str,
    actor: str,
    as_json: bool,
) -> None:
    """Bring what another program wrote at PATH, a file or a folder, into a memory.

    Without KIND it is guessed from what lies there, and the reason is told. Importing again adds only what is new.
    Values that look like secrets are masked before anything is stored. Kinds: {kinds}.

    Example: deja import claude-code ~/.claude/projects --loop
    """
    from deja_tui.capture.files import import_path
    from deja_tui.facade import host_clock
    from deja_tui.present.imported import import_lines

    chosen, path, reason = _chosen(source)
    outcome = None
    found: list[str] = []
    with _Sink(db, namespace, actor, dry_run, run_loop) as sink, output.working("importing"):
        read = import_path(sink, chosen, path, now_ms=host_clock(), redact=not no_redact)
        report = {**read.to_json(), "dry_run": dry_run, "guessed": reason}
        if run_loop and not dry_run:
            outcome = sink.memory.loop.run()
            found = list(in_short(sink.memory, outcome, sink.memory.loop.health(), db))
    if as_json:
        output.as_json(report if outcome is None else {**report, "run": output.outcome(outcome)})
        return
    if reason:
        output.lines([f"taken as {chosen.kind}: {clean(reason)}"])
    output.lines(import_lines(report, output.width()))
    if found:
        output.lines(["", *found])
    elif not dry_run and report["added"]:
        output.lines([f"next: deja loop run{option(db)}"])


import_.help = (import_.help or "").replace("{kinds}", ", ".join(MODULES))


def _chosen(words: tuple[str, ...]) -> tuple[Source, Path, str | None]:
    """(importer, path, why it was guessed) of ``[KIND] PATH``."""
    from deja_tui.capture import registry

    if len(words) == 1:
        path = Path(words[0])
        if words[0] in MODULES and not path.exists():
            raise click.UsageError(f"{words[0]} is a kind; the path is missing.")
        guessed = registry.guess(path)
        return guessed.source, path, guessed.reason
    if len(words) > 2:
        raise click.UsageError("one path at a time: deja import [KIND] PATH")
    if words[0] not in MODULES:
        near = get_close_matches(words[0], MODULES, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise click.UsageError(f"there is no kind {clean(words[0], 40)}.{hint} Kinds: " + ", ".join(MODULES))
    return registry.source(words[0]), Path(words[1]), None


class _Taken(Exception):
    """Ends the act of a dry run, so that all of it is taken back."""


class _Sink:
    """Where an import stores. The memory is opened with the first items, so that an unreadable source makes no file.

    A dry run stores too, in one act that is taken back at its end (or in a file that is thrown away when there is
    none yet): what it reports as new, completed and known is what an import would answer.
    """

    def __init__(self, db: Path | None, namespace: str, actor: str, dry_run: bool, run_loop: bool) -> None:
        self._telemetry = "aggregate" if run_loop else "off"
        self._db = db
        self._namespace = namespace
        self._actor = actor
        self._dry_run = dry_run
        self._stack = ExitStack()
        self._memory: Memory | None = None
        self.added = 0

    def __enter__(self) -> _Sink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._memory is None and not self._dry_run:
            _ = self.memory  # an empty source of the right kind is an empty import, not a missing memory
        self._stack.close()
        if kind is not None and self.added and not self._dry_run:
            click.echo(f"stored before that: {self.added}; importing again goes on from there", err=True)

    @property
    def memory(self) -> Memory:
        if self._memory is None:
            self._memory = self._open()
        return self._memory

    def capture(self, items: Iterable[CaptureItem]) -> Captured:
        done = self.memory.capture(items, redact=False)  # an importer did, or was told not to
        self.added += done.added + done.completed
        return done

    def _open(self) -> Memory:
        path = self._db or default_path()
        if self._dry_run and not path.exists():
            path = Path(self._stack.enter_context(TemporaryDirectory(prefix="deja-dry-"))) / "memory.deja"
        elif self._db is None:
            path.parent.mkdir(parents=True, exist_ok=True)
        memory: Memory = self._stack.enter_context(
            open_memory(
                path,
                namespace=self._namespace,
                actor=self._actor,
                create=True,
                telemetry=self._telemetry,
            )
        )
        if self._dry_run:
            self._stack.enter_context(_taken_back(memory))
        return memory


@contextmanager
def _taken_back(memory: Memory) -> Iterator[None]:
    with suppress(_Taken), memory.store.act():
        yield
        raise _Taken


@click.command("record-tool-call")
@click.argument("name")
@click.argument("result")
@click.option("--error", "is_error", is_flag=True, help="The call failed.")
@click.option("--thread", metavar="ID", help="The session it belongs to.")
@click.option("--call-id", metavar="ID", help="The provider's id of the call; made up when absent.")
@click.option("--input", "input_", metavar="JSON", help="The arguments, as JSON.")
@click.option("--no-redact", is_flag=True, help="Keep what looks like a secret as it is.")
@with_db
@with_format
def record_tool_call(
    name: str,
    result: str,
    is_error: bool,
    thread: str | None,
    call_id: str | None,
    input_: str | None,
    no_redact: bool,
    db: Path | None,
    namespace: str,
    actor: str,
    as_json: bool,
) -> None:
    """Store one tool call and print its address.

    Values that look like secrets are masked before; how many is said on stderr.

    Example: deja record-tool-call stripe_refund '{"error":"rate_limited"}' --error --thread sess-41
    """
    try:
        arguments = None if input_ is None else json.loads(input_)
    except ValueError:
        raise click.UsageError("--input is not JSON.") from None
    with open_memory(db, namespace=namespace, actor=actor, create=True) as memory:
        done = memory.record_tool_call(
            name, result, is_error, thread, call_id, arguments, redact=not no_redact
        )
    if as_json:
        output.as_json({"address": done, "redacted": sum(done.redacted.values())})
        return
    output.lines([done])
    if done.redacted:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(done.redacted.items()))
        click.echo(f"masked before it was stored: {kinds}", err=True)
