# SPDX-License-Identifier: Apache-2.0
"""What may become of a statement that is typed into the console (D18), and the work it takes, off the UI thread.

* ASKING-1  Reads run as reads: the statement is given to the memory with ``read_only``, whatever was judged before.
* ASKING-2  A write needs its right, and runs only when it was agreed to: before that it is a `Question`.
* ASKING-3  What decides about a recommendation, starts a run or erases never runs here, in no tier: it is `Refused`, with
  the recommendations that it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from deja_tui.cal import CalError, ast, printer
from deja_tui.cal.classify import Class, Verdict, judge
from deja_tui.cal.parser import parse
from deja_tui.cal.results import Answer, Result
from deja_tui.cal.words import STATEMENTS
from deja_tui.console.actions import Rights
from deja_tui.console.feed import Statements

# A person waits for it; what takes longer belongs into a script.
LIMIT_S: Final = 30.0
_SHOWN_STATEMENT: Final = 4_000
Stop = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Answered:
    """A statement that ran. ``reads``: it may be run again without asking."""

    result: Result
    reads: bool


@dataclass(frozen=True, slots=True)
class Question:
    """A write that waits for a yes.

    Attributes:
        cls, rights: its class and the rights it needs, as words.
        statement: as it was understood, on one line.
        replaces: the name of a saved query that would be replaced; "" for none.
    """

    cls: str
    rights: tuple[str, ...]
    statement: str
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A statement that does not run here.

    Attributes:
        told: why, in sentences.
        step: what to do instead; a command line stands alone.
        about: addresses of recommendations it is about, or starts of them.
    """

    told: str
    step: str
    about: tuple[str, ...] = ()


Outcome = Answered | Question | Refused


def put(
    door: Statements, text: str, rights: Rights, stop: Stop, *, agreed: bool = False, file: str = "FILE"
) -> Outcome:
    """Judge a statement and run it where that is allowed. ``file`` is the memory's path, quoted for a shell.

    Raises: CalError with the place of what is wrong, and what the store raises.
    """
    program = parse(text)
    verdict = judge(program)
    if verdict.cls is Class.READ:
        return Answered(door.cal(text, read_only=True, stop=stop), reads=True)
    statement = program.query.statement
    if verdict.governs:
        return _governing(statement)
    if verdict.cls is Class.DESTRUCTIVE:
        return _destructive(door, statement, stop, file)
    if (refused := _without_right(verdict, rights)) is not None:
        return refused
    if not agreed:
        return _question(door, program, verdict)
    return Answered(door.cal(text), reads=False)


def explained(door: Statements, text: str, stop: Stop) -> Result | None:
    """How a reading statement is carried out; None where there is nothing to tell. Raises as `put`."""
    program = parse(text)
    query = program.query
    if isinstance(query.statement, ast.Explain) or judge(program).cls is not Class.READ:
        return None
    start = query.span[0]
    told: Result = door.cal(
        f"{program.text[:start]}EXPLAIN {program.text[start:]}", read_only=True, stop=stop
    )
    return told


def is_statement(text: str) -> bool:
    """Whether a text begins as a statement does."""
    first = text.lstrip(" (").partition(" ")[0].upper()
    return first in STATEMENTS


# --- what does not run here -------------------------------------------------------------------------


def _governing(statement: ast.Statement) -> Refused:
    if isinstance(statement, ast.RunLoop):
        return Refused(
            "RUN LOOP starts a run: Query starts none.", "1 goes to the overview, where R runs the analyzers."
        )
    verb = statement.verb if isinstance(statement, ast.Decide) else "apply"
    target = statement.target if isinstance(statement, (ast.Decide, ast.Apply)) else None
    about = (target.digits,) if isinstance(target, ast.HashText) else ()
    told = f"{verb.upper()} is a decision: Query makes none. It is made where evidence and literal change are on the screen."
    return Refused(told, "Enter opens the recommendation." if about else "3 goes to the queue.", about)


def _destructive(door: Statements, statement: ast.Statement, stop: Stop, file: str) -> Refused:
    erased = _erasing(statement)
    if isinstance(erased, ast.ForgetSubject):
        told = "FORGET SUBJECT is an act of the command line, which lists first what would go: no console erases a subject."
        step = f"deja forget-subject {_word(erased.subject)} --dry-run --db {file}"
        return Refused(told, step)
    told = "FORGET cannot be undone: Query erases nothing."
    if not isinstance(erased, ast.Forget) or not isinstance(erased.target, ast.HashText):
        return Refused(told, "3 goes to the queue, where an erasure that an analyzer proposes is decided.")
    digits = erased.target.digits
    step = f'deja forget {digits[:12]} --because "…" --dry-run --db {file}'
    return Refused(f"{told} It is decided as a recommendation.", step, _citing(door, digits, stop))


def _erasing(statement: ast.Statement) -> ast.Statement | None:
    """The statement that erases, of a batch the first one."""
    if not isinstance(statement, ast.Batch):
        return statement if isinstance(statement, (ast.Forget, ast.ForgetSubject)) else None
    found = (_erasing(entry.statement) for _, entry in statement.entries)
    return next((one for one in found if one is not None), None)


def _word(node: ast.Value) -> str:
    import shlex

    return shlex.quote(str(node.value)) if isinstance(node, ast.Constant) else "SUBJECT"


def _citing(door: Statements, digits: str, stop: Stop) -> tuple[str, ...]:
    """Recommendations that name a grain as their evidence."""
    try:
        found = door.cal(f"DERIVED FROM sha256:{digits}", read_only=True, stop=stop)
    except CalError as error:
        if error.code == "CAL-E091":
            return ()  # no such grain: then nothing is about it
        raise
    rows: Sequence[dict[str, Any]] = found.values["grains"] if isinstance(found, Answer) else ()
    return tuple(str(row["hash"]) for row in rows if row["grain_type"] == "recommendation")


def _without_right(verdict: Verdict, rights: Rights) -> Refused | None:
    missing = next((right for right in sorted(verdict.rights) if not rights.may(right)), None)
    if missing is None:
        return None
    given = "open it without --read-only" if rights.read_only else f"name {missing} in --scopes"
    told = f"This statement is of the class {verdict.cls.word}. Only reads run here: {rights.why_off}."
    return Refused(told, f"It needs the right `{missing}`: {given}.")


def _question(door: Statements, program: ast.Program, verdict: Verdict) -> Question:
    node = program.query.statement
    replaces = node.name if isinstance(node, ast.DefineQuery) and _known(door, node.name) else ""
    rights = tuple(sorted(right for right in verdict.rights if right != "read"))
    return Question(verdict.cls.word, rights, printer.program(program)[:_SHOWN_STATEMENT], replaces)


def _known(door: Statements, name: str) -> bool:
    return any(known["name"] == name and not known["builtin"] for known in _listed(door))


# --- saved queries ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved query. ``parameters``: name, and its default or None. ``runs``: its name can stand in a statement."""

    name: str
    parameters: tuple[tuple[str, Any], ...]
    description: str
    body: str
    builtin: bool
    runs: bool = True

    @property
    def missing(self) -> tuple[str, ...]:
        """Parameters that must be given."""
        return tuple(name for name, default in self.parameters if default is None)

    def call(self) -> tuple[str, int]:
        """The statement that runs it, and where the caret belongs: into the first value that must be given."""
        told = f"RUN {printer.quote(self.name)}"
        if not self.missing:
            return told, len(told)
        given = [f'${name} = ""' for name in self.missing]
        return f"{told} ({', '.join(given)})", len(told) + len(given[0]) + 1

    def definition(self) -> str:
        """The statement that defines it."""
        declared = [
            f"${name}" + ("" if default is None else f" = {printer.value(_constant(default))}")
            for name, default in self.parameters
        ]
        told = [
            f"DEFINE QUERY {printer.quote(self.name)}",
            *([f"({', '.join(declared)})"] if declared else []),
        ]
        if self.description:
            told.append(f"DESCRIPTION {printer.quote(self.description)}")
        return " ".join([*told, "AS {", self.body.strip(), "}"])


def _constant(value: Any) -> ast.Value:
    if isinstance(value, list):
        return ast.Items(tuple(ast.Constant(item) for item in value))
    return ast.Constant(value)


def saved(door: Statements) -> list[Saved]:
    """Every saved query: those of the memory first, then the built-in ones, by name."""
    found = [_saved(door, known) for known in _listed(door)]
    return sorted(found, key=lambda one: (one.builtin, one.name))


def _listed(door: Statements) -> Sequence[dict[str, Any]]:
    found = door.cal("DESCRIBE QUERIES", read_only=True)
    listed: Sequence[dict[str, Any]] = found.values["info"]["queries"]
    return listed


def _saved(door: Statements, known: dict[str, Any]) -> Saved:
    name, description = str(known["name"]), str(known["description"])
    try:
        told = door.cal(f"DESCRIBE QUERY {printer.quote(name)}", read_only=True).values["info"]
    except CalError:
        # A foreign file may hold a name that no statement can say; it is listed, and cannot be run.
        return Saved(name, (), description, "", bool(known["builtin"]), runs=False)
    parameters = tuple((str(one["name"]), one["default"]) for one in told["params"])
    return Saved(name, parameters, description, str(told["body"]), bool(told["builtin"]))
