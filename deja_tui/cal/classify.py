# SPDX-License-Identifier: Apache-2.0
"""What a statement may do, decided on its parse tree before anything runs (D17).

* CLASS-1  Classes rise: read < evolve < control < destructive. A batch has the highest of its entries.
* CLASS-2  Class and right are two tables; every kind of statement stands in both, nothing falls through.
* CLASS-3  Positions meant for reading hold a `Recall` by the types of the tree, so no nesting hides a write.
* CLASS-4  EXPLAIN and APPLY … DRY RUN change nothing and are reads; a saved query can only hold reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from deja_tui.cal import ast
from deja_tui.cal.faults import CalError, fault
from deja_tui.cal.parser import parse
from deja_tui.errors import DejaError


class Class(IntEnum):
    """How far a statement reaches."""

    READ = 0
    EVOLVE = 1
    CONTROL = 2
    DESTRUCTIVE = 3

    @property
    def word(self) -> str:
        return self.name.lower()


_CLASSES: Final[dict[type, Class]] = {
    ast.Recall: Class.READ,
    ast.SetOperation: Class.READ,
    ast.Assemble: Class.READ,
    ast.Exists: Class.READ,
    ast.History: Class.READ,
    ast.Diff: Class.READ,
    ast.Explain: Class.READ,
    ast.Describe: Class.READ,
    ast.Coalesce: Class.READ,
    ast.RunQuery: Class.READ,
    ast.EntityAt: Class.READ,
    ast.ShowForks: Class.READ,
    ast.DerivedFrom: Class.READ,
    ast.ReportSubject: Class.READ,
    ast.Add: Class.EVOLVE,
    ast.Supersede: Class.EVOLVE,
    ast.Retire: Class.EVOLVE,
    ast.Merge: Class.EVOLVE,
    ast.Remember: Class.EVOLVE,
    ast.DefineQuery: Class.CONTROL,
    ast.DefineTemplate: Class.CONTROL,
    ast.Drop: Class.CONTROL,
    ast.Document: Class.EVOLVE,
    ast.AnalyzerRow: Class.CONTROL,
    ast.Decide: Class.CONTROL,
    ast.RunLoop: Class.CONTROL,
    ast.Forget: Class.DESTRUCTIVE,
    ast.ForgetSubject: Class.DESTRUCTIVE,
}
_NOT_OFFERED: Final = {
    "PURGE": Class.DESTRUCTIVE,
    "ACCUMULATE": Class.EVOLVE,
    "REVERT": Class.EVOLVE,
    "GRANT": Class.CONTROL,
    "REVOKE": Class.CONTROL,
    "RELATED": Class.READ,
    "NOVELTY": Class.READ,
    "STREAM": Class.READ,
}
_RIGHTS: Final[dict[type, str]] = {
    **{kind: "read" if found is Class.READ else "write" for kind, found in _CLASSES.items()},
    ast.AnalyzerRow: "admin",
    ast.Decide: "review",
    ast.Forget: "admin",
    ast.ForgetSubject: "admin",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a text is allowed to need.

    Attributes:
        rights: of read, write, review, apply, admin.
        governs: it decides about a recommendation, or starts a run.
    """

    cls: Class
    rights: frozenset[str]
    governs: bool


_READS: Final = Verdict(Class.READ, frozenset(("read",)), governs=False)


def judge(program: ast.Program) -> Verdict:
    """Class and rights of a parsed text."""
    if _CLASSES.get(type(program.query.statement)) is Class.READ:
        return _READS
    statements = list(_statements(program.query.statement))
    rights = {_right(statement) for statement in statements}
    return Verdict(
        max(_class(statement) for statement in statements),
        frozenset(rights | {"read"} if len(rights) > 1 else rights),
        any(isinstance(statement, (ast.Decide, ast.Apply, ast.RunLoop)) for statement in statements),
    )


def classify(text: str) -> Verdict:
    """Class and rights of a text. Raises CalError when it does not parse: such a text is not a read."""
    return judge(parse(text))


def _statements(statement: ast.Statement) -> list[ast.Statement]:
    """A statement, or the entries of a batch, however deep."""
    if not isinstance(statement, ast.Batch):
        return [statement]
    return [inner for _, entry in statement.entries for inner in _statements(entry.statement)]


def _class(statement: ast.Statement) -> Class:
    if isinstance(statement, ast.Apply):
        return Class.READ if statement.dry_run else Class.CONTROL
    if isinstance(statement, ast.NotOffered):
        return _NOT_OFFERED[statement.word]
    return _CLASSES[type(statement)]


def _right(statement: ast.Statement) -> str:
    if isinstance(statement, ast.Apply):
        return "read" if statement.dry_run else "apply"
    if isinstance(statement, ast.Decide) and statement.verb == "rollback":
        return "apply"
    if isinstance(statement, ast.NotOffered):
        return "read"
    return _RIGHTS[type(statement)]


@dataclass(frozen=True, slots=True)
class Access:
    """What the surface lets through, whatever the caller's rights: a second switch, for consoles and services."""

    read_only: bool = False
    allow_destructive: bool = False


def admit(program: ast.Program, access: Access, may: Callable[[str], bool]) -> Verdict:
    """Refuse what the surface or the caller's rights do not let through, before anything runs.

    Args:
        may: whether the caller holds a right.

    Raises:
        CalError: CAL-E044 switched off here; CAL-E114 a right is missing; LOP-E022 one that decisions need.
    """
    verdict = judge(program)
    span = program.query.span
    if access.read_only and verdict.cls is not Class.READ:
        raise fault(
            "CAL-E044",
            f"only reads run here, and this statement is of the class {verdict.cls.word}",
            program.text,
            span,
        )
    if verdict.cls is Class.DESTRUCTIVE and not access.allow_destructive:
        raise fault(
            "CAL-E044",
            "statements that erase are switched off here",
            program.text,
            span,
            "There is no undo. deja cal --allow-destructive, or allow_destructive=True.",
        )
    missing = sorted(right for right in verdict.rights if not may(right))
    if missing:
        code = "LOP-E022" if missing[0] in ("review", "apply") else "CAL-E114"
        raise fault(code, f"this needs the right {missing[0]}", program.text, span)
    return verdict


def refuse_body(text: str, tree: ast.Program) -> None:
    """Refuse a body that is no read, for saved queries. Raises CAL-E057, CAL-E058."""
    for statement in _statements(tree.query.statement):
        if isinstance(statement, ast.RunQuery):
            raise fault("CAL-E057", "a saved query cannot run another", text, statement.span)
        governs = isinstance(statement, (ast.Decide, ast.Apply, ast.RunLoop))
        if governs or _class(statement) is not Class.READ:
            raise fault("CAL-E058", "a saved query can only read", text, statement.span)


def as_fault(error: DejaError) -> CalError:
    """Any coded error as one of the language, so that a batch can say which slot it came from."""
    return error if isinstance(error, CalError) else CalError(error.code, error.message, error.next_step)
