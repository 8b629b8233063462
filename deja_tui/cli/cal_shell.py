# SPDX-License-Identifier: Apache-2.0
"""The shell of ``deja cal``: history, completion and colours from prompt_toolkit, an optional package.

A statement ends with ``;`` or with an empty line. Every statement is one `Session.run`, so the shell can do nothing
that a single call could not.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from deja_tui.cal import Session, pieces
from deja_tui.cal.lexer import HASH, NUMBER, PARAM, STRING
from deja_tui.cal.remembered import place
from deja_tui.errors import DejaError

_HINT = "pip install 'deja-tui[shell]'"
_GREETING = (
    "CAL. A statement ends with ; or an empty line. \\q leaves, \\? lists statements and saved queries."
)
_STYLES = {
    pieces.KEYWORD: "bold",
    STRING: "ansigreen",
    NUMBER: "ansicyan",
    HASH: "ansiyellow",
    PARAM: "ansimagenta",
}


def shell(session: Session, format_: str, *, read_only: bool, allow_destructive: bool) -> int:
    """Read statements until the end of input; the exit code.

    Raises:
        DejaError: CLI-E001 there is no terminal; CLI-E004 prompt_toolkit is missing.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise DejaError(
            "CLI-E001", "the shell needs a terminal", "deja cal 'RECALL facts', or deja cal --file SCRIPT"
        )
    prompt = _prompt()
    sys.stdout.write(_GREETING + "\n")
    while True:
        try:
            text = prompt().strip()
        except EOFError:
            return 0
        except KeyboardInterrupt:
            continue
        if text in ("\\q", "exit", "quit"):
            return 0
        if text == "\\?":
            _help()
            text = "DESCRIBE QUERIES"
        if text:
            _answer(session, text, format_, read_only=read_only, allow_destructive=allow_destructive)


def _help() -> None:
    """Every kind of statement in its shortest form."""
    from deja_tui.cal.describe import GRAMMAR

    sys.stdout.write("".join(f"{line}\n" for line in GRAMMAR) + "\n")


def _answer(session: Session, text: str, format_: str, *, read_only: bool, allow_destructive: bool) -> None:
    from deja_tui.cal import CalError
    from deja_tui.cli.cal import show
    from deja_tui.cli.main import report

    try:
        result = session.run(text, read_only=read_only, allow_destructive=allow_destructive)
    except CalError as error:
        sys.stderr.write("\n".join(error.lines()) + "\n")
    except DejaError as error:
        report(error)
    else:
        show(result, format_)


def styled(line: str) -> list[tuple[str, str]]:
    """Pieces of a line with the style each is shown in."""
    return [(_STYLES.get(kind, ""), text) for kind, text in pieces.styled(line)]


class _Colours:
    """What prompt_toolkit asks of a lexer."""

    def lex_document(self, document: Any) -> Any:
        return lambda number: styled(document.lines[number])

    def invalidation_hash(self) -> object:
        return None


def _prompt() -> Any:
    """A function that reads one statement. Raises CLI-E004."""
    try:
        kit = import_module("prompt_toolkit")
        completion = import_module("prompt_toolkit.completion")
        history = import_module("prompt_toolkit.history")
        binding = import_module("prompt_toolkit.key_binding")
    except ImportError as error:
        raise DejaError(
            "CLI-E004",
            "the shell needs the package prompt_toolkit",
            f"{_HINT}; deja cal 'STATEMENT' needs nothing",
        ) from error
    keys = binding.KeyBindings()
    keys.add("enter")(_enter)
    reader: Any = kit.PromptSession(
        "cal> ",
        history=_statements_only(history.FileHistory)(str(place())),
        completer=completion.WordCompleter(list(pieces.words())),
        lexer=_Colours(),
        key_bindings=keys,
        multiline=True,
        prompt_continuation="...> ",
        complete_while_typing=False,
    )
    return reader.prompt


def _statements_only(kind: type[Any]) -> type[Any]:
    """A history that forgets commands of the shell: going back one line should not be the way out."""

    def store_string(self: Any, string: str) -> None:
        if not string.lstrip().startswith("\\"):
            kind.store_string(self, string)

    return type("Statements", (kind,), {"store_string": store_string})


def _enter(event: Any) -> None:
    """Enter runs a statement that is finished, else it begins a new line."""
    buffer = event.current_buffer
    if finished(buffer.text, buffer.document.current_line):
        buffer.validate_and_handle()
    else:
        buffer.insert_text("\n")


def finished(text: str, line: str) -> bool:
    """Whether Enter ends what is typed: after ``;``, a backslash command, an empty line, or nothing at all."""
    told = text.rstrip()
    return not told or told.endswith(";") or told.startswith("\\") or not line.strip()
