# SPDX-License-Identifier: Apache-2.0
"""The grammar of statements that change a memory, and of those that decide about a recommendation."""

from __future__ import annotations

from deja_tui.cal import ast
from deja_tui.cal.lexer import PARAM, STRING, Token
from deja_tui.cal.parse_reads import ReadParser
from deja_tui.cal.words import MAX_PARAMETERS, OLD_TYPES, PLURAL_OF, PLURALS


class WriteParser(ReadParser):
    """Parses ADD, SUPERSEDE, MERGE, FORGET, DEFINE, DROP and the governance statements."""

    __slots__ = ()

    # --- grains ---

    def add(self) -> ast.Add:
        start = self.need("ADD").start
        type_ = self._singular()
        settings = self._settings()
        options = self.options() if self.take("WITH") else ()
        return ast.Add(type_, settings, options, self._reason(), self.span(start))

    def _singular(self) -> str:
        token = self.token
        name = token.text.lower()
        if name not in PLURAL_OF:
            meant = PLURALS.get(name) or PLURALS.get(OLD_TYPES.get(name, ""))
            hint = f"Write {meant}." if meant else "Types are " + ", ".join(PLURAL_OF) + "."
            if token.kind != "word":
                raise self.unexpected("a type such as fact")
            raise self.fail("CAL-E003", f"no type is called {token.text[:24]}", token.span, hint)
        self.i += 1
        return name

    def _settings(self) -> tuple[ast.Setting, ...]:
        if not self.at("SET"):
            raise self.fail("CAL-E019", "SET is missing", None, "Write SET field = value.")
        found: list[ast.Setting] = []
        while self.at("SET"):
            start = self.need("SET").start
            field = self.field()
            self.need("=")
            found.append(ast.Setting(field, self.value(), self.span(start)))
        return tuple(found)

    def _reason(self) -> ast.Value | None:
        return self.text_value() if self.take("REASON") or self.take("BECAUSE") else None

    def supersede(self) -> ast.Supersede | ast.Retire:
        start = self.need("SUPERSEDE").start
        target = self.full_address()
        if self.take("BY"):
            return ast.Retire(target, self.full_address(), self._reason(), self.span(start))
        return ast.Supersede(target, self._settings(), self._reason(), self.span(start))

    def merge(self) -> ast.Merge:
        start = self.need("MERGE").start
        subject = self.text_value()
        self.need("RELATION")
        relation = self.text_value()
        self.need("TO")
        value = self.text_value()
        confidence = self.value() if self.take("CONFIDENCE") else None
        return ast.Merge(subject, relation, value, confidence, self._reason(), self.span(start))

    def remember(self) -> ast.Remember:
        start = self.need("REMEMBER").start
        content = self.text_value()
        options = self.options() if self.take("WITH") else ()
        return ast.Remember(content, options, self.span(start))

    def forget(self) -> ast.Forget | ast.ForgetSubject:
        start = self.need("FORGET").start
        if self.take("SUBJECT"):
            subject = self.text_value()
            if self.take("WITH"):
                self.options()
            return ast.ForgetSubject(subject, self._reason(), self.span(start))
        return ast.Forget(self.full_address(), self._reason(), self.span(start))

    # --- saved queries and templates ---

    def define(self) -> ast.DefineQuery | ast.DefineTemplate:
        start = self.need("DEFINE").start
        if self.take("QUERY"):
            return self._define_query(start)
        if self.take("TEMPLATE"):
            return self._define_template(start)
        raise self.unexpected("QUERY", "TEMPLATE")

    def _define_query(self, start: int) -> ast.DefineQuery:
        name = self.string("the name of the query, in double quotes")
        parameters = self._parameters() if self.take("(") else ()
        description = self.string() if self.take("DESCRIPTION") else None
        self.need("AS")
        body = self._body()
        return ast.DefineQuery(name, parameters, description, body, self.span(start))

    def _parameters(self) -> tuple[ast.Parameter, ...]:
        found: list[ast.Parameter] = []
        with self.inside():
            while not self.at(")"):
                token = self.token
                if token.kind != PARAM:
                    raise self.unexpected("$name", ")")
                self.i += 1
                default = self.value() if self.take("=") else None
                if any(known.name == token.text[1:] for known in found):
                    raise self.fail("CAL-E009", f"{token.text} is declared twice", token.span)
                found.append(ast.Parameter(token.text[1:], default, self.span(token.start)))
                if not self.take(","):
                    break
            self.need(")")
        if len(found) > MAX_PARAMETERS:
            raise self.fail("CAL-E055", f"at most {MAX_PARAMETERS} parameters", found[-1].span)
        return tuple(found)

    def _body(self) -> str:
        """The text between a brace and its partner."""
        opened = self.need("{")
        depth = 1
        while depth:
            token = self.token
            if token.kind == "end":
                raise self.fail("CAL-E002", "the body is not closed", opened.span, "", "}")
            depth += {"{": 1, "}": -1}.get(token.upper, 0)
            self.i += 1
        return self.text[opened.end : self.tokens[self.i - 1].start].strip()

    def _define_template(self, start: int) -> ast.DefineTemplate:
        name = self._name()
        description = self.string() if self.take("DESCRIPTION") else None
        extends = self._name() if self.take("EXTENDS") else None
        types: list[str] = []
        if self.take("FOR"):
            types.append(self._singular())
            while self.take(","):
                types.append(self._singular())
        whole = self.string() if self.take("AS") else None
        sections = self.sections() if whole is None else ()
        return ast.DefineTemplate(name, description, extends, tuple(types), whole, sections, self.span(start))

    def _name(self) -> str:
        return self.string() if self.token.kind == STRING else self.word("a name").text

    def drop(self) -> ast.Drop:
        start = self.need("DROP").start
        token = self.word("QUERY", "TEMPLATE")
        if token.upper not in ("QUERY", "TEMPLATE"):
            raise self.fail("CAL-E002", "only a QUERY or a TEMPLATE can be dropped", token.span)
        return ast.Drop(token.upper, self.string("its name, in double quotes"), self.span(start))

    # --- lines of a script ---

    def document(self) -> ast.Document:
        start = self.need("DOCUMENT").start
        path = self.string("its path, in double quotes")
        self.need("AS")
        return ast.Document(path, self.string(), self.span(start))

    def analyzer_row(self) -> ast.AnalyzerRow:
        start = self.need("ANALYZER").start
        name = self.string("its id, in double quotes")
        return ast.AnalyzerRow(name, self._settings(), self._reason(), self.span(start))

    # --- governance ---

    def decide(self) -> ast.Decide:
        """``REVIEW h APPROVE BECAUSE …`` and ``APPROVE h BECAUSE …``; the same for the other verbs. Only an approval
        takes ``CHOICE n``, before its reason."""
        first = self.word()
        target = self.full_address()
        verb = first
        if first.upper == "REVIEW":
            verb = self.word("APPROVE", "REJECT", "WITHDRAW")
            if verb.upper not in ("APPROVE", "REJECT", "WITHDRAW"):
                raise self._no_verdict(verb)
        choice = self.whole() if verb.upper == "APPROVE" and self.take("CHOICE") else None
        return ast.Decide(verb.text.lower(), target, self._reason(), choice, self.span(first.start))

    def _no_verdict(self, token: Token) -> Exception:
        return self.fail(
            "CAL-E002",
            "a review approves, rejects or withdraws",
            token.span,
            "",
            "APPROVE",
            "REJECT",
            "WITHDRAW",
        )

    def apply(self) -> ast.Apply:
        start = self.need("APPLY").start
        target = self.full_address()
        dry = self.take("DRY")
        if dry:
            self.need("RUN")
        return ast.Apply(target, dry, self._reason(), self.span(start))

    def run(self) -> ast.RunQuery | ast.RunLoop:
        start = self.need("RUN").start
        if self.take("LOOP"):
            full = self.take("FULL")
            options = self.options() if self.take("WITH") else ()
            return ast.RunLoop(full, options, self.span(start))
        return self.run_query(start)

    def not_offered(self) -> ast.NotOffered:
        """A statement that is refused by name: its words are stepped over up to its end."""
        word = self.word()
        depth = 0
        while self.token.kind != "end" and not (depth == 0 and self.token.upper in (";", "}", ",", ")")):
            depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(self.token.upper, 0)
            self.i += 1
        return ast.NotOffered(word.upper, self.span(word.start))
