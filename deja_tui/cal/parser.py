# SPDX-License-Identifier: Apache-2.0
"""Text to parse tree: `parse` for one statement, `parse_script` for a list of them (D42)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from deja_tui.cal import ast
from deja_tui.cal.lexer import END, NUMBER, WORD, tokens
from deja_tui.cal.parse_writes import WriteParser
from deja_tui.cal.words import (
    GOVERNING,
    MAX_BINDINGS,
    MAX_ENTRIES,
    MAX_SCRIPT_BYTES,
    NOT_OFFERED,
    STATEMENTS,
)


class Parser(WriteParser):
    """Parses whole statements."""

    __slots__ = ()

    def program(self) -> ast.Program:
        """Version, bindings, one statement, the end."""
        self._version()
        lets = self._lets()
        query = self.query()
        while self.take(";"):
            pass
        if self.token.kind != END:
            raise self.unexpected("the end of the statement", *self._next_words(query))
        return ast.Program(lets, query, self.text)

    def script(self) -> tuple[ast.Program, ...]:
        """Statements, each ended by ``;``."""
        self._version()
        found: list[ast.Program] = []
        while self.token.kind != END:
            lets = self._lets()
            found.append(ast.Program(lets, self._literal_line() or self.query(), self.text))
            if self.token.kind != END:
                self.need(";")
            while self.take(";"):
                pass
        return tuple(found)

    def _literal_line(self) -> ast.Query | None:
        """A document or an analyzer row, which only a script may hold."""
        start = self.token.start
        if self.at("DOCUMENT"):
            return ast.Query(self.document(), span=self.span(start))
        if self.at("ANALYZER"):
            return ast.Query(self.analyzer_row(), span=self.span(start))
        return None

    def _version(self) -> None:
        token = self.token
        if token.upper != "CAL":
            return
        self.i += 1
        self.need("/")
        number = self.token
        if number.kind != NUMBER:
            raise self.unexpected("1")
        if number.text != "1":
            raise self.fail(
                "CAL-E100", "this is version 1 of the language", number.span, "Write CAL/1, or leave it out."
            )
        self.i += 1

    def _lets(self) -> tuple[ast.Let, ...]:
        found: list[ast.Let] = []
        while self.at("LET"):
            let = self.let()
            if any(known.name == let.name for known in found):
                raise self.fail("CAL-E009", f"${let.name} is bound twice", let.span)
            found.append(let)
            if len(found) > MAX_BINDINGS:
                raise self.fail("CAL-E036", f"at most {MAX_BINDINGS} bindings", let.span)
        return tuple(found)

    def query(self) -> ast.Query:
        start = self.token.start
        statement = self._statement()
        stages: list[ast.Stage] = []
        bars = self.stages(stages)
        options: tuple[ast.Option, ...] = ()
        format: ast.Format | None = None
        variables: tuple[tuple[str, str], ...] = ()
        where: ast.Condition | None = None
        while (word := self.tokens[self.i][2]) in ("WITH", "FORMAT", "AS", "WHERE"):
            if self._has_tail(word, statement, options, format, variables, where):
                raise self.unexpected("the end of the statement")
            self.i += 1
            if word == "WHERE":
                where = self.condition()
            elif word != "WITH":
                format = self.format()
            elif self.take("VARS"):
                variables = self.variables()
            else:
                options = self.options()
                bars += self.stages(stages)
        return ast.Query(statement, tuple(stages), options, where, format, variables, bars, self.span(start))

    def _has_tail(
        self,
        word: str,
        statement: ast.Statement,
        options: tuple[ast.Option, ...],
        format: ast.Format | None,
        variables: tuple[tuple[str, str], ...],
        where: ast.Condition | None,
    ) -> bool:
        """Whether this tail clause stands already, or cannot stand behind the statement."""
        if word == "WHERE":
            return where is not None or isinstance(statement, ast.Assemble)
        if word == "WITH":
            return bool(variables) if self.after("VARS") else bool(options)
        return format is not None

    def _statement(self) -> ast.Statement:
        token = self.token
        if token.upper == "(":
            return self.recall_or_operation()
        if token.kind != WORD:
            raise self.unexpected(*STATEMENTS)
        if token.upper in GOVERNING and token.upper != "APPLY":
            return self.decide()
        if token.upper in NOT_OFFERED:
            return self.not_offered()
        parse = _PARSERS.get(token.upper)
        if parse is None:
            raise self.unexpected(*STATEMENTS)
        return parse(self)

    def batch(self) -> ast.Batch:
        start = self.need("BATCH").start
        self.need("{")
        with self.inside():
            entries = [self._entry()]
            while self.take(",") or self.take(";"):
                if self.at("}"):
                    break
                entries.append(self._entry())
            self.need("}")
        if len(entries) > MAX_ENTRIES:
            raise self.fail(
                "CAL-E012", f"at most {MAX_ENTRIES} entries, not {len(entries)}", entries[-1][1].span
            )
        return ast.Batch(tuple(entries), self.span(start))

    def _entry(self) -> tuple[str | None, ast.Query]:
        label: str | None = None
        if self.token.kind == WORD and self.after(":"):
            label = self.word("a label").text
            self.need(":")
        token = self.token
        query = self.query()
        if isinstance(query.statement, (ast.Decide, ast.Apply, ast.RunLoop)):
            raise self.fail(
                "CAL-E002",
                f"{token.upper} stands alone, never in a batch",
                token.span,
                "Decide about one at a time.",
            )
        return label, query

    def _next_words(self, query: ast.Query) -> tuple[str, ...]:
        if isinstance(query.statement, (ast.Recall, ast.SetOperation)):
            return "a clause in its place", "a stage", "WITH", "FORMAT"
        return ()


_PARSERS: Final[dict[str, Callable[[Parser], ast.Statement]]] = {
    "RECALL": Parser.recall_or_operation,
    "ASSEMBLE": Parser.assemble,
    "EXISTS": Parser.exists,
    "HISTORY": Parser.history,
    "EXPLAIN": Parser.explain,
    "DESCRIBE": Parser.describe,
    "COALESCE": Parser.coalesce,
    "RUN": Parser.run,
    "ENTITY": Parser.entity,
    "SHOW": Parser.show,
    "DERIVED": Parser.derived,
    "REPORT": Parser.report,
    "ADD": Parser.add,
    "SUPERSEDE": Parser.supersede,
    "MERGE": Parser.merge,
    "REMEMBER": Parser.remember,
    "FORGET": Parser.forget,
    "DEFINE": Parser.define,
    "DROP": Parser.drop,
    "APPLY": Parser.apply,
    "BATCH": Parser.batch,
}


def parse(text: str) -> ast.Program:
    """The parse tree of one statement.

    Raises:
        CalError: the first thing that is wrong, with its place.
    """
    kept, found = tokens(text)
    return Parser(kept, found).program()


def parse_again(text: str) -> ast.Program:
    """As `parse`; the trees of the last short texts are kept, because panels and saved queries come again and again."""
    return _kept(text) if len(text) <= _KEPT_LENGTH else parse(text)


_KEPT_LENGTH: Final = 4_096
_kept: Final = lru_cache(maxsize=256)(parse)


def parse_script(text: str) -> tuple[ast.Program, ...]:
    """The statements of a script, at most 1 MiB. Each may be as long as a statement alone; places count in the script.

    Raises:
        CalError: as `parse`.
    """
    kept, found = tokens(text, MAX_SCRIPT_BYTES)
    return Parser(kept, found).script()
