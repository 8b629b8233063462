# SPDX-License-Identifier: Apache-2.0
"""The door to the language: text in, result out.

One transaction for a text: reads see one committed state, writes are kept together or not at all. Reading never
opens the writer, and the connections that read cannot change the file (`store.reading`, D44): the second wall beneath
`classify`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any, Final

from deja_tui.cal import ast
from deja_tui.cal.classify import Access, Class, admit
from deja_tui.cal.conditions import Env, given
from deja_tui.cal.executor import Executor
from deja_tui.cal.faults import CalError, fault
from deja_tui.cal.host import Host
from deja_tui.cal.parser import parse_again, parse_script
from deja_tui.cal.results import Result
from deja_tui.cal.shapes import shaped
from deja_tui.errors import DejaError, ValidationError
from deja_tui.store.reading import reading_only
from deja_tui.store.stopping import asking

STOPPED: Final = "CAL-E072"


@dataclass(frozen=True, slots=True)
class Session:
    """Runs texts in one host. Holds no state between two texts."""

    host: Host

    def run(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        read_only: bool = False,
        allow_destructive: bool = False,
        stop: Callable[[], bool] | None = None,
    ) -> Result:
        """Run one statement.

        Args:
            text: the statement, at most 65,536 bytes.
            params: values of ``$name`` by name: texts, numbers, booleans, or lists of them. Never parsed.
            read_only: refuse everything but reads (CAL-E044), whatever the caller may do.
            allow_destructive: let FORGET through; it needs the right admin as well (D17).
            stop: asked now and then while a reading statement reads; true ends it with CAL-E072. A write is never cut short.

        Raises:
            CalError: the text is refused, with its place. DejaError: what the store or the loop refuses.
        """
        if not isinstance(text, str) or not isinstance(params, (Mapping, NoneType)):
            raise ValidationError(
                "VAL-E001", "a statement is a text, and its parameters are a map of names to values"
            )
        access = Access(read_only, allow_destructive)
        values = given(params)
        now = self.host.clock()
        if (shape := shaped(text)) is not None:
            try:
                return self._admitted(shape[0], {**values, **shape[1]}, access, now, stop)
            except CalError as error:
                if error.code == STOPPED:
                    raise
                # what is wrong is told about the text itself, below (SHAPE-3)
        return self._admitted(parse_again(text), values, access, now, stop)

    def _admitted(
        self,
        program: ast.Program,
        params: Mapping[str, Any],
        access: Access,
        now: int,
        stop: Callable[[], bool] | None,
    ) -> Result:
        verdict = admit(program, access, self.host.may)
        env, reads = Env(program.text, now, params), verdict.cls is Class.READ
        if stop is None or not reads:
            return self._one(program, env, access, reads)
        with asking(self.host.store, _look(stop)):
            return self._one(program, env, access, reads)

    def _one(self, program: ast.Program, env: Env, access: Access, reads: bool) -> Result:
        executor = Executor(self.host, env, access)
        if not reads:
            return executor.program(program)
        with reading_only(self.host.store):
            if _alone(program):
                return executor.program(program)
            with self.host.store.snapshot():
                return executor.program(program)

    def script(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        read_only: bool = False,
        allow_destructive: bool = False,
    ) -> list[Result]:
        """Run a list of statements, each ended by ``;``, as one transaction (D42).

        The first that fails takes everything back; the error names its number. Decisions stand alone, so none may
        stand in a script (D15).
        """
        programs = parse_script(text)
        access = Access(read_only, allow_destructive)
        verdicts = [admit(program, access, self.host.may) for program in programs]
        for program, verdict in zip(programs, verdicts, strict=True):
            if verdict.governs:
                raise fault(
                    "CAL-E002",
                    "a decision stands alone, never in a script",
                    program.text,
                    program.query.span,
                    "Decide about one at a time.",
                )
        values = given(params)
        if all(verdict.cls is Class.READ for verdict in verdicts):
            with self.host.store.snapshot():
                return self._all(programs, values, access)
        with self.host.store.act():
            return self._all(programs, values, access)

    def _all(
        self, programs: tuple[ast.Program, ...], values: Mapping[str, Any], access: Access
    ) -> list[Result]:
        found: list[Result] = []
        for number, program in enumerate(programs, 1):
            try:
                env = Env(program.text, self.host.clock(), values)
                found.append(self._one(program, env, access, reads=False))
            except DejaError as error:
                raise _numbered(error, number) from error
        return found


def _alone(program: ast.Program) -> bool:
    """Whether the text is one RECALL that asks nothing beside its rows: it then takes its own snapshot where it needs one."""
    query, node = program.query, program.query.statement
    return (
        isinstance(node, ast.Recall)
        and node.type not in (None, "recommendation")
        and not (node.contradictions or query.stages or query.options or query.format or program.lets)
        and query.where is None
        and (node.where is None or _is_plain(node.where))
    )


def _is_plain(where: ast.Condition) -> bool:
    """Only comparisons, so no RECALL inside; what is asked of a fork needs other reads."""
    parts = where.parts if isinstance(where, ast.And) else (where,)
    return all(isinstance(part, ast.Compare) and part.field.name != "contradicted" for part in parts)


def _look(stop: Callable[[], bool]) -> Callable[[], None]:
    """What a read asks now and then."""

    def look() -> None:
        if stop():
            raise CalError(
                STOPPED,
                "the statement was stopped before its end",
                "Name a subject, a session or a time, so that less is read.",
            )

    return look


def _numbered(error: DejaError, number: int) -> CalError:
    place = error.place if isinstance(error, CalError) else None
    bare = error.bare if isinstance(error, CalError) else error.message
    return CalError(
        error.code,
        f"statement {number}: {bare}; nothing of the script was kept",
        error.next_step,
        place=place,
    )
