# SPDX-License-Identifier: Apache-2.0
"""Runs the analyzer commands that a host named: one process a call, no shell, a time limit, bounded output.

The engine builds the requests and reads the answers (`engine.external`); this is the only place that starts processes
for it. A command comes from the caller of this process alone: a flag or an argument, never a file (rule 9).
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import IO, Final

from deja_tui.engine.external import (
    MAX_REPLY,
    CommandAnalyzer,
    Told,
    manifest_request,
    probe_request,
    read_told,
    split_flag,
)
from deja_tui.engine.faults import LoopError
from deja_tui.engine.linked import checked_id
from deja_tui.text import age, fence

LIMIT_MS: Final = 30_000
MAX_COMMANDS: Final = 8
_MAX_STDERR: Final = 65_536
_CHUNK: Final = 65_536
_GRACE_S: Final = 0.5
_FAREWELL_S: Final = 2.0

Ask = Callable[[str], Sequence[str]]
Watermark = Callable[[str], int | None]


class NoAnswer(LoopError):
    """The command said nothing in its time, or could not be started: asking it otherwise is no use."""


class Process:
    """One call of a command in a process group of its own, which never outlives the call."""

    def __init__(self, argv: Sequence[str], request: bytes, limit_ms: int) -> None:
        self._limit_ms = limit_ms
        self._until = time.monotonic() + limit_ms / 1000
        self._out, self._err = bytearray(), bytearray()
        self._too_long = self._ended = False
        try:
            self._child = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=os.name == "posix",
            )
        except (OSError, ValueError) as fault:
            told = fault.strerror if isinstance(fault, OSError) and fault.strerror else type(fault).__name__
            raise NoAnswer("LOP-E051", f"the command cannot be started: {told}") from fault
        assert self._child.stdin
        assert self._child.stdout
        assert self._child.stderr
        self._threads = [
            threading.Thread(target=work, args=given, daemon=True)
            for work, given in (
                (_feed, (self._child.stdin, request)),
                (self._read_answer, (self._child.stdout,)),
                (self._read_rest, (self._child.stderr,)),
            )
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End it where it was not waited for: a run that was broken off leaves nothing behind."""
        if not self._ended:
            self._kill()

    def answer(self) -> bytes:
        """What it wrote on stdout, once it ended. Raises LOP-E051: too late, too long, or a bad end."""
        try:
            late = self._wait()
        finally:
            self._kill()
        if self._too_long:
            raise NoAnswer("LOP-E051", f"the command's answer is longer than {MAX_REPLY} bytes")
        if late:
            told = f"the command took longer than {age(self._limit_ms)} and was stopped"
            raise NoAnswer("LOP-E051", told + self._last_words())
        if self._child.returncode:
            told = f"the command ended with status {self._child.returncode}"
            raise LoopError("LOP-E051", told + self._last_words())
        return bytes(self._out)

    def _wait(self) -> bool:
        """Wait for the end of the process and of its output; whether the time ran out first."""
        try:
            self._child.wait(max(0.0, self._until - time.monotonic()))
        except subprocess.TimeoutExpired:
            return not self._too_long
        # what it left running may hold the pipe open: that is not its answer any more
        ends = min(self._until, time.monotonic() + _GRACE_S)
        for thread in self._threads[1:]:
            thread.join(max(0.0, ends - time.monotonic()))
        return False

    def _kill(self) -> None:
        """End the whole group, also after a good end: nothing a command started stays behind."""
        self._ended = True
        try:
            if os.name == "posix":
                os.killpg(self._child.pid, signal.SIGKILL)
            else:
                self._child.kill()
        except (ProcessLookupError, PermissionError):
            pass  # the group is gone already; macOS says so with the latter
        self._child.wait()
        for thread in self._threads:
            thread.join(_FAREWELL_S)

    def _read_answer(self, pipe: IO[bytes]) -> None:
        with pipe:
            while chunk := os.read(pipe.fileno(), _CHUNK):
                self._out += chunk
                if len(self._out) > MAX_REPLY:
                    self._too_long = True
                    self._child.kill()
                    return

    def _read_rest(self, pipe: IO[bytes]) -> None:
        with pipe:
            while chunk := os.read(pipe.fileno(), _CHUNK):
                self._err += chunk
                del self._err[:-_MAX_STDERR]

    def _last_words(self) -> str:
        """The last line of stderr, for the author of the command."""
        lines = bytes(self._err).decode("utf-8", "replace").splitlines()
        last = next((line for line in reversed(lines) if line.strip()), "")
        return f"; it says {fence(last.strip()[:200])}" if last else ""


def _feed(pipe: IO[bytes], request: bytes) -> None:
    try:
        with pipe:
            pipe.write(request)
    except OSError:
        pass  # a command may answer without reading everything


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its words, its time limit (ms), and how its evidence queries are answered."""

    argv: tuple[str, ...]
    limit_ms: int
    ask: Ask
    started: list[Process] = field(default_factory=list, compare=False)

    def start(self, request: bytes) -> Callable[[], bytes]:
        process = Process(self.argv, request, self.limit_ms)
        self.started.append(process)
        return process.answer

    def rows(self, query: str) -> Sequence[str]:
        return self.ask(query)


def stop(analyzers: Iterable[CommandAnalyzer]) -> None:
    """End what these have started and nobody waited for."""
    for one in analyzers:
        if isinstance(one.exchange, Command):
            for process in one.exchange.started:
                process.stop()


def words(command: str) -> tuple[str, ...]:
    """The words of a command line, quotes as a shell reads them, and no shell. Raises LOP-E036."""
    try:
        found = tuple(shlex.split(command))
    except ValueError as fault:
        raise LoopError("LOP-E036", "the analyzer command has an open quote") from fault
    if not found or any("\x00" in word for word in found):
        raise LoopError("LOP-E036", "an analyzer command is ID=COMMAND")
    return found


def connect(
    flags: Iterable[str],
    *,
    taken: Sequence[str],
    ask: Ask,
    watermark: Watermark,
    limit_ms: int = LIMIT_MS,
) -> list[CommandAnalyzer]:
    """Probe each ``id=cmd``, all at once, and make analyzers of them. One that fails is skipped by the run, and says why.

    Args:
        taken: ids that are not free.
        ask: answers a read-only query with addresses.
        watermark: the time (ms) of the last run in which the analyzer of an id took part.
        limit_ms: of each process.

    Raises LOP-E036: a flag that names no command, or a name that is taken.
    """
    named = [split_flag(flag) for flag in flags]
    if len(named) > MAX_COMMANDS:
        raise LoopError("LOP-E036", f"a run takes at most {MAX_COMMANDS} analyzer commands")
    commands = [Command(words(text), limit_ms, ask) for _, text in named]
    used = list(taken)
    for name, _ in named:
        if name:
            used.append(checked_id(name, used))
    with ThreadPoolExecutor(max(1, len(commands))) as pool:
        probed = list(pool.map(_probe, commands))
    found = []
    for (name, _), command, (told, fault) in zip(named, commands, probed, strict=True):
        if not name:
            name, fault = _own_name(told, command, used, fault)
            used.append(name)
        full = name if "/" in name else f"{name}/1"
        found.append(CommandAnalyzer(full, told, command, watermark_ms=watermark(full), fault=fault))
    return found


def _own_name(
    told: Told, command: Command, used: Sequence[str], fault: LoopError | None
) -> tuple[str, LoopError | None]:
    """What a command without an id is called: as it says itself, else by its program; a name that is taken is no name."""
    if told.id:
        try:
            return checked_id(told.id, used), fault
        except LoopError as refused:
            fault = refused
    stem = "".join(c if c.isascii() and c.isalnum() else "-" for c in PurePath(command.argv[0]).stem.lower())
    base = f"command.{stem[:30] or 'x'}"
    number, full = 1, f"{base}/1"
    while full.rsplit("/", 1)[0] in {other.rsplit("/", 1)[0] for other in used}:
        number += 1
        full = f"{base}-{number}/1"
    return full, fault


def _probe(command: Command) -> tuple[Told, LoopError | None]:
    """Ask in the first protocol, then in the second; the first refusal is the one that is told."""
    first: LoopError | None = None
    for request in (probe_request(), manifest_request()):
        try:
            return read_told(command.start(request)()), None
        except LoopError as fault:
            first = first or fault
            if isinstance(fault, NoAnswer):
                break
    assert first is not None
    return Told(), LoopError("LOP-E051", f"probe failed: {first.message}")
