# SPDX-License-Identifier: Apache-2.0
"""The entry point: cheap verbs before click is imported, and one place that turns failures into exit codes (D47).

Exit codes: 0 done or a clean skip, 1 a coded error, 2 a gate matched, 64 usage, 130 interrupted.
"""

from __future__ import annotations

import gc
import os
import sys
from itertools import pairwise

# ``typing`` and ``collections`` cost as much as half of what the guard may take until its first text (D49).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    import click

    from deja_tui.errors import DejaError

EXIT_ERROR = 1
EXIT_USAGE = 64
EXIT_ABORT = 130
INTERRUPTED = "interrupted: the memory is whole; what was done stays, what was not is not there"


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one verb and leave the process with its exit code."""
    words = _file_last(list(sys.argv[1:] if argv is None else argv))
    if words[:1] == ["hook"]:
        _run_hook(words)
    if words[:1] in (["ui"], ["demo"]):
        ended = _guarded(words)
        if ended is not None:
            sys.exit(ended)
    sys.exit(run(words))


def _file_last(words: list[str]) -> list[str]:
    """``--db FILE`` stands before a verb, too; without one it is ``next`` of that file, as `deja` alone is."""
    first, sign, named = words[0].partition("=") if words else ("", "", "")
    if first not in ("--db", "-d") or not (sign or words[1:]):
        return words
    file, rest = (named, words[1:]) if sign else (words[1], words[2:])
    if not rest or (rest[0].startswith("-") and not {"-h", "--help", "-V", "--version"} & set(rest)):
        rest = ["next", *rest]
    end = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:end], "--db", file, *rest[end:]] if rest[0][:1] != "-" else rest


def _run_hook(words: list[str]) -> NoReturn:
    """A hook is a process that ends at once: it looks for no garbage, and leaves its memory to the system (D47, measured)."""
    gc.disable()
    code = run(words)
    sys.stderr.flush()
    os._exit(code)


def _guarded(words: list[str]) -> int | None:
    """The exit status of a verb that opens the console, painted before it is loaded; None where it cannot open (D49)."""
    from deja_tui.console import guard

    return guard.early(words, lambda: run(words))


def run(argv: list[str]) -> int:
    """Run one verb and return its exit code."""
    _safe_output()
    try:
        code = _dispatch(_file_last(argv))
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write(f"\n{INTERRUPTED}\n")
        return EXIT_ABORT
    except BrokenPipeError:
        # the reader of a pipe has gone; what it wanted it has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as fault:
        _write_what_can_be()
        sys.stderr.write(_refused(fault))
        return EXIT_ERROR
    return code


def _write_what_can_be() -> None:
    """What stdout refuses now it would refuse once more when the process ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refused(fault: OSError) -> str:
    """What the system did not let be written or read; SQLite's own troubles have their codes long before."""
    import errno

    from deja_tui.text import clean

    if fault.errno == errno.ENOSPC:
        return "STO-E007 the output could not be written: no space is left where it goes\n"
    return f"STO-E001 the system refused: {clean(fault.strerror or type(fault).__name__)}\nnext: check the paths that you named\n"


def _dispatch(argv: list[str]) -> int:
    from deja_tui.errors import DejaError

    if argv in (["--version"], ["-V"]):
        from deja_tui import __version__

        sys.stdout.write(f"deja {__version__}\n")
        return 0
    if argv[:1] == ["hook"]:
        from deja_tui.cli.hook import hook

        return hook(argv[1:])
    try:
        if argv[:1] == ["ui"]:
            from deja_tui.cli.ui import open_console

            try:
                return open_console(argv[1:])
            except SystemExit as ended:  # argparse ends a process itself, for help and for usage errors
                return ended.code if isinstance(ended.code, int) else 0
        return _click(argv)
    except DejaError as fault:
        report(fault, as_json=_wants_json(argv), argv=argv)
        return EXIT_ERROR


def _click(argv: list[str]) -> int:
    import click

    from deja_tui.cli.app import deja

    try:
        result = deja.main(args=argv, prog_name="deja", standalone_mode=False)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.exceptions.Abort:  # what click makes of an interrupt, after it ended the line
        sys.stderr.write(f"{INTERRUPTED}\n")
        return EXIT_ABORT
    except click.ClickException as fault:
        _show(fault)
        return EXIT_USAGE if isinstance(fault, click.UsageError) else EXIT_ERROR
    return result if isinstance(result, int) else 0


def _show(fault: click.ClickException) -> None:
    """What click says of a command line, which quotes words that somebody typed: they come back escaped."""
    from io import StringIO

    from deja_tui.text import clean_lines

    told = StringIO()
    fault.show(told)
    sys.stderr.write("\n".join(clean_lines(told.getvalue())).rstrip() + "\n")


def report(fault: DejaError, *, as_json: bool = False, argv: Sequence[str] = ()) -> None:
    """Write a coded error to stderr: code and sentence, then the next step; as JSON for ``--format json``."""
    from deja_tui.text import clean, compact_json

    matches = [str(match) for match in getattr(fault, "matches", ())]
    if as_json:
        told = {
            "code": fault.code,
            "message": fault.message,
            "next_step": fault.next_step,
            "matches": matches,
        }
        sys.stderr.write(compact_json({"error": told}) + "\n")
        return
    sys.stderr.write(clean(str(fault)) + "\n")
    for match in matches:
        sys.stderr.write(f"  {clean(match)}\n")
    if fault.next_step:
        from deja_tui.cli.placing import file_of, placed

        sys.stderr.write(f"next: {placed(clean(fault.next_step), file_of(argv))}\n")


def _wants_json(argv: Sequence[str]) -> bool:
    return "--format=json" in argv or ("--format", "json") in pairwise(argv)


def _safe_output() -> None:
    """A terminal that cannot show a character gets an escape, never a traceback; a stream that was closed is silence."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 — it is a stream of the process
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
