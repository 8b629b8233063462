# SPDX-License-Identifier: Apache-2.0
"""The grammar of statements that read, of stages, and of what follows a statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deja_tui.cal import ast
from deja_tui.cal.faults import Span
from deja_tui.cal.lexer import END, HASH, NUMBER, PARAM, RAW, STRING, WORD, Token
from deja_tui.cal.parse_where import ConditionParser
from deja_tui.cal.words import (
    EVERY_TYPE,
    EXTRACTS,
    FORMATS,
    MAX_BRANCHES,
    MAX_FORMATS,
    MAX_INTENT,
    MAX_NAME,
    MAX_OPERANDS,
    MAX_SOURCES,
    MAX_STAGES,
    MAX_VAR_BYTES,
    MAX_VARS,
    OLD_TYPES,
    OPTIONS,
    PLURAL_OF,
    PLURALS,
    SECTIONS,
    STAGES,
    TAILS,
    words,
)

_CLAUSES: Final = words("IN THREAD ABOUT LIKE SINCE UNTIL BETWEEN WHERE RECENT LIMIT CONTRADICTIONS AND")
_JOINS: Final = frozenset(("UNION", "INTERSECT", "EXCEPT"))
_DESCRIBED: Final = words(
    """SCHEMA CAPABILITIES SERVER TEMPLATES GRAMMAR QUERIES STATS INTEGRITY LOOP ANALYZERS OUTCOMES POLICY FIELDS
    QUERY"""
)


class ReadParser(ConditionParser):
    """Parses everything that can never change a memory, and the parts of a statement around it."""

    __slots__ = ()

    if TYPE_CHECKING:

        def query(self) -> ast.Query: ...

    # --- RECALL ---

    def recall(self) -> ast.Recall:
        start = self.need("RECALL").start
        mine = self.take("MY")
        typed, type_ = self._type()
        namespace = thread = about = like = where = recent = limit = None
        times: ast.Times | None = None
        contradictions, of = False, None
        if self.tokens[self.i][2] in _CLAUSES:
            namespace = self.text_value() if self.take("IN") else None
            thread = self.text_value() if self.take("THREAD") else None
            about = self.text_value() if self.take("ABOUT") else None
            like = self.text_value() if self.take("LIKE") else None
            times = self._times(None)
            if self.take("WHERE") or ((about or like) and self.take("AND")):
                where = self.condition()
                times = self._times(times)
            recent = self.whole() if self.take("RECENT") else None
            limit = self.whole() if self.take("LIMIT") else None
            contradictions = self.take("CONTRADICTIONS")
            of = self._of() if contradictions else None
        elif not typed and not mine:
            raise self.unexpected("a type such as facts", "WHERE", "ABOUT")
        return ast.Recall(
            type_, mine, namespace, thread, about, like, times, where, recent, limit, contradictions, of,
            self.span(start),
        )  # fmt: skip

    def _type(self) -> tuple[bool, str | None]:
        """Whether a type is named, and its singular; None stands for every type."""
        token = self.tokens[self.i]
        if token[0] != WORD:
            return self.take("*"), None
        name = token[1].lower()
        found = PLURALS.get(name)
        if found is None and token[2] in _CLAUSES:
            return False, None
        if found is None and name not in EVERY_TYPE:
            raise self._no_type(token)
        self.i += 1
        return True, found

    def _no_type(self, token: Token) -> Exception:
        name = token.text.lower()
        meant = PLURAL_OF.get(name) or OLD_TYPES.get(name)
        hint = f"Write {meant}." if meant else "Types are " + ", ".join(PLURALS) + "."
        return self.fail("CAL-E003", f"no type is called {token.text[:24]}", token.span, hint)

    def _times(self, had: ast.Times | None) -> ast.Times | None:
        """SINCE, UNTIL, BETWEEN; each once, before or after WHERE."""
        if self.tokens[self.i][2] not in ("SINCE", "UNTIL", "BETWEEN"):
            return had
        start = self.token.start
        since, until, between = (had.since, had.until, had.between) if had else (None, None, None)
        if not since and self.take("SINCE"):
            since = self.time_value()
        if not until and self.take("UNTIL"):
            until = self.time_value()
        if not between and self.take("BETWEEN"):
            low = self.time_value()
            self.need("AND")
            between = (low, self.time_value())
        return ast.Times(since, until, between, self.span(had.span[0] if had else start))

    def _of(self) -> ast.Recall | None:
        if not self.take("OF") and not self.at("("):
            return None
        return self._bracketed()

    def _bracketed(self) -> ast.Recall:
        self.need("(")
        with self.inside():
            found = self.recall()
            self.need(")")
        return found

    def recall_or_operation(self) -> ast.Recall | ast.SetOperation:
        start = self.token.start
        first = self._operand()
        if self.token.upper not in _JOINS:
            return first
        rest: list[tuple[str, ast.Recall]] = []
        while self.token.upper in _JOINS:
            join = self.word().upper
            rest.append((join, self._operand()))
            if len(rest) >= MAX_OPERANDS:
                raise self.fail("CAL-E013", f"at most {MAX_OPERANDS} operands", self.span(start))
        return ast.SetOperation(first, tuple(rest), self.span(start))

    def _operand(self) -> ast.Recall:
        return self._bracketed() if self.at("(") else self.recall()

    # --- ASSEMBLE ---

    def assemble(self) -> ast.Assemble:
        start = self.need("ASSEMBLE").start
        name = self._title()
        intent = self._intent() if self.take("FOR") else None
        self.need("FROM")
        single: ast.Recall | ast.Hashes | None = None
        labelled: tuple[ast.Source, ...] = ()
        where = None
        if self.token.kind == WORD and self.after(":"):
            labelled = self._sources()
        else:
            single, where = self._single()
        budget = self._budget() if self.take("BUDGET") else None
        priority = self._priority() if self.take("PRIORITY") else None
        return ast.Assemble(name, intent, single, labelled, where, budget, priority, self.span(start))

    def _title(self) -> str | None:
        if self.at("FROM") or self.at("FOR"):
            return None
        span = self.token.span
        name = self.string() if self.token.kind == STRING else self.word("a name", "FROM").text
        if len(name) > MAX_NAME:
            raise self.fail("CAL-E002", f"the name is longer than {MAX_NAME} characters", span)
        return name

    def _intent(self) -> ast.Value:
        found = self.text_value()
        if isinstance(found, ast.Constant) and len(str(found.value)) > MAX_INTENT:
            raise self.fail("CAL-E002", f"FOR is longer than {MAX_INTENT} characters", found.span)
        return found

    def _single(self) -> tuple[ast.Recall | ast.Hashes, ast.Condition | None]:
        """The one source, and the WHERE that filters a bracketed one."""
        token = self.token
        if token.kind in (HASH, PARAM):
            return self._hashes(), None
        if self.at("("):
            found = self._bracketed()
            return found, self.condition() if self.take("WHERE") else None
        typed, type_ = self._type()
        if not typed:
            raise self.unexpected("a type such as facts", "( RECALL … )", "label: ( RECALL … )", "sha256: …")
        where = self.condition() if self.take("WHERE") else None
        recent = self.whole() if self.take("RECENT") else None
        return ast.Recall(type_, where=where, recent=recent, span=self.span(token.start)), None

    def _hashes(self) -> ast.Hashes:
        start = self.token.start
        found = [self.full_address()]
        while self.take(","):
            found.append(self.full_address())
        return ast.Hashes(tuple(found), self.span(start))

    def _sources(self) -> tuple[ast.Source, ...]:
        found = [self._source()]
        while self.take(","):
            found.append(self._source())
        if len(found) > MAX_SOURCES:
            raise self.fail("CAL-E032", f"at most {MAX_SOURCES} sources, not {len(found)}", found[-1].span)
        labels: set[str] = set()
        for source in found:
            if source.label in labels:
                raise self.fail("CAL-E034", f"the label {source.label} is used twice", source.span)
            labels.add(source.label)
        return tuple(found)

    def _source(self) -> ast.Source:
        start = self.token.start
        label = self.word("a label").text
        self.need(":")
        self.need("(")
        with self.inside():
            if self.token.kind == PARAM:
                source: ast.Recall | ast.Param = ast.Param(self.token.text[1:], self.token.span)
                self.i += 1
                options: tuple[ast.Option, ...] = ()
            else:
                source = self.recall()
                options = self.options() if self.take("WITH") else ()
            self.need(")")
        return ast.Source(label, source, options, self.span(start))

    def _budget(self) -> ast.Budget:
        start = self.token.start
        amount = self.whole()
        unit = self.word().upper.lower() if self.token.upper in ("TOKENS", "GRAINS") else None
        return ast.Budget(amount, unit, self.span(start))

    def _priority(self) -> ast.Priority:
        start = self.token.start
        labels = [self.field()]
        if not self.at(":"):
            while self.take(">"):
                labels.append(self.field())
            return ast.Priority(tuple(labels), None, self.span(start))
        weights = [self._weight()]
        while self.take(","):
            labels.append(self.field())
            weights.append(self._weight())
        return ast.Priority(tuple(labels), tuple(weights), self.span(start))

    def _weight(self) -> float:
        self.need(":")
        span = self.token.span
        value = self.value() if self.token.kind == NUMBER else None
        if not isinstance(value, ast.Constant) or not 0 <= float(value.value) <= 1:
            raise self.fail("CAL-E002", "a weight is a number from 0 to 1", span)
        return float(value.value)

    # --- other reads ---

    def exists(self) -> ast.Exists:
        start = self.need("EXISTS").start
        if self.token.kind in (HASH, PARAM):
            return ast.Exists(self.full_address(), self.span(start))
        typed, type_ = self._type()
        if not typed or type_ is None:
            raise self.unexpected("a type such as facts", "sha256: …")
        about = self.text_value() if self.take("ABOUT") else None
        where = self.condition() if self.take("WHERE") or (about and self.take("AND")) else None
        recall = ast.Recall(type_, about=about, where=where, span=self.span(start))
        return ast.Exists(recall, self.span(start))

    def history(self) -> ast.History | ast.Diff:
        start = self.need("HISTORY").start
        self.take("OF")
        if self.take("WHERE"):
            where = self.condition()
            return ast.History(None, where, self._as_of(), self.span(start))
        if self.token.kind not in (HASH, PARAM):
            raise self.unexpected("sha256: …", "WHERE")
        target = self.full_address()
        if self.take("DIFF"):
            return ast.Diff(target, self.full_address(), self.span(start))
        return ast.History(target, None, self._as_of(), self.span(start))

    def _as_of(self) -> ast.Value | None:
        if self.at("AS") and self.after("OF"):
            self.i += 2
            return self.time_value()
        return None

    def explain(self) -> ast.Explain:
        start = self.need("EXPLAIN").start
        if self.token.kind == END:
            raise self.fail("CAL-E014", "EXPLAIN needs a statement")
        with self.inside():
            inner = self.query()
        if isinstance(inner.statement, (ast.Describe, ast.DefineQuery, ast.DefineTemplate, ast.Drop)):
            raise self.fail("CAL-E002", "EXPLAIN does not take DESCRIBE, DEFINE or DROP", inner.span)
        return ast.Explain(inner, self.span(start))

    def describe(self) -> ast.Describe:
        start = self.need("DESCRIBE").start
        token = self.token
        if token.kind == END or token.upper in (";", ",", "}"):
            return ast.Describe("SCHEMA", None, self.span(start))
        if token.text.lower() in PLURALS:
            self.i += 1
            return ast.Describe("TYPE", PLURALS[token.text.lower()], self.span(start))
        if token.upper not in _DESCRIBED:
            raise self.unexpected(
                "SCHEMA", "a type", "FIELDS", "QUERIES", "QUERY", "TEMPLATES", "CAPABILITIES", "STATS"
            )
        self.i += 1
        name: str | None = None
        if token.upper == "QUERY":
            name = self.string()
        elif token.upper == "FIELDS" and self.token.text.lower() in PLURALS:
            name = PLURALS[self.word().text.lower()]
        return ast.Describe(token.upper, name, self.span(start))

    def coalesce(self) -> ast.Coalesce:
        start = self.need("COALESCE").start
        branches = self._listed_branches() if self.at("(") else self._braced_branches()
        if len(branches) < 2:
            raise self.unexpected(", and a second RECALL")
        if len(branches) > MAX_BRANCHES:
            raise self.fail("CAL-E039", f"at most {MAX_BRANCHES} branches", self.span(start))
        return ast.Coalesce(tuple(branches), self.span(start))

    def _listed_branches(self) -> list[ast.Recall | ast.Exists]:
        self.need("(")
        with self.inside():
            branches = [self._branch()]
            while self.take(","):
                branches.append(self._branch())
            self._end_of_branches(len(branches), ")")
        return branches

    def _end_of_branches(self, count: int, closing: str) -> None:
        if count < 2:
            raise self.unexpected(", and a second RECALL")
        self.need(closing)

    def _braced_branches(self) -> list[ast.Recall | ast.Exists]:
        branches = [self._braced_branch()]
        while self.take("OR"):
            branches.append(self._braced_branch())
        if self.take("ELSE"):
            branches.append(self._braced_branch())
        return branches

    def _braced_branch(self) -> ast.Recall | ast.Exists:
        self.need("{")
        with self.inside():
            found = self._branch()
            self.need("}")
        return found

    def _branch(self) -> ast.Recall | ast.Exists:
        if self.at("EXISTS"):
            return self.exists()
        return self.recall()

    def run_query(self, start: int) -> ast.RunQuery:
        name = self.string("the name of a saved query")
        arguments: list[tuple[str, ast.Value]] = []
        if self.take("("):
            with self.inside():
                while not self.at(")"):
                    token = self.token
                    if token.kind != PARAM:
                        raise self.unexpected("$name", ")")
                    self.i += 1
                    self.need("=")
                    if any(token.text[1:] == known for known, _ in arguments):
                        raise self.fail("CAL-E009", f"{token.text} is given twice", token.span)
                    arguments.append((token.text[1:], self.value()))
                    if not self.take(","):
                        break
                self.need(")")
        return ast.RunQuery(name, tuple(arguments), self.span(start))

    def entity(self) -> ast.EntityAt:
        start = self.need("ENTITY").start
        subject = self.text_value()
        self.need("RELATION")
        relation = self.text_value()
        self.need("AT")
        at = self.time_value()
        axis = "world"
        if self.take("AXIS"):
            token = self.word("WORLD", "KNOWLEDGE")
            if token.upper not in ("WORLD", "KNOWLEDGE"):
                raise self.fail("CAL-E002", "an axis is world or knowledge", token.span)
            axis = token.text.lower()
        return ast.EntityAt(subject, relation, at, axis, self.span(start))

    def show(self) -> ast.ShowForks:
        start = self.need("SHOW").start
        self.need("FORKS")
        return ast.ShowForks(self.span(start))

    def derived(self) -> ast.DerivedFrom:
        start = self.need("DERIVED").start
        self.need("FROM")
        return ast.DerivedFrom(self.full_address(), self.span(start))

    def report(self) -> ast.ReportSubject:
        start = self.need("REPORT").start
        self.need("SUBJECT")
        return ast.ReportSubject(self.text_value(), self.span(start))

    # --- stages ---

    def stages(self, found: list[ast.Stage]) -> int:
        """Append the stages that stand next; how many bars stood before them."""
        bars = 0
        while True:
            if self.at("|"):
                self.i += 1
                bars += 1
                if self.token.upper not in STAGES:
                    raise self.unexpected(*sorted(STAGES))
            elif self.tokens[self.i][2] not in STAGES:
                return bars
            found.append(self._stage())
            if len(found) > MAX_STAGES:
                raise self.fail(
                    "CAL-E012", f"at most {MAX_STAGES} stages", self.span(self.tokens[self.i - 1].start)
                )

    def _stage(self) -> ast.Stage:
        token = self.token
        self.i += 1
        start = token.start
        match token.upper:
            case "SELECT":
                return self._project(start, renames=False)
            case "PROJECT":
                return self._project(start, renames=True)
            case "ORDER":
                self.need("BY")
                return self._order(start)
            case "SORT":
                return self._order(start)
            case "LIMIT" | "OFFSET":
                return ast.Cut(token.upper, self.whole(), self.span(start))
            case "COUNT":
                return ast.Count(token.span)
            case "FIRST":
                return ast.First(token.span)
            case "GROUP":
                self.need("BY")
                return ast.GroupBy(self.field(), self.span(start))
        return ast.Extract(token.upper, token.span)

    def _project(self, start: int, *, renames: bool) -> ast.Project:
        fields = [self._projected(renames)]
        while self.take(","):
            fields.append(self._projected(renames))
        return ast.Project(tuple(fields), renames, self.span(start))

    def _projected(self, renames: bool) -> tuple[ast.Field, str]:
        field = self.field()
        return field, self.word("a name").text if renames and self.take("AS") else field.name

    def _order(self, start: int) -> ast.OrderBy:
        field = self.field()
        descending = self.take("DESC")
        if not descending:
            self.take("ASC")
        return ast.OrderBy(field, descending, self.span(start))

    # --- WITH, FORMAT, VARS ---

    def options(self) -> tuple[ast.Option, ...]:
        """After WITH: one option or more, a trailing comma allowed."""
        found = [self._option()]
        while self.take(","):
            if self.token.kind != WORD or self.token.upper in TAILS or self.token.upper in STAGES:
                break
            found.append(self._option())
        return tuple(found)

    def _option(self) -> ast.Option:
        token = self.word("an option")
        name = token.text.lower()
        arguments: list[str | int | float | bool] = []
        if self.take("("):
            with self.inside():
                while not self.at(")"):
                    arguments.append(self._argument())
                    if not self.take(","):
                        break
                self.need(")")
        least, _ = OPTIONS.get(name, (0, 0))
        if len(arguments) < least:
            raise self.fail("CAL-E002", f"the option {name} needs an argument", self.span(token.start))
        return ast.Option(name, tuple(arguments), self.span(token.start))

    def _argument(self) -> str | int | float | bool:
        token = self.token
        if token.kind == WORD and token.upper not in ("TRUE", "FALSE"):
            name = self.word().text
            if not self.take("="):
                return name
        value = self.value()
        if not isinstance(value, ast.Constant):
            raise self.fail("CAL-E002", "an option takes texts, numbers and names", value.span)
        return value.value

    def variables(self) -> tuple[tuple[str, str], ...]:
        """After WITH VARS: ``{ "name": "text", … }``."""
        start = self.need("{").start
        found: dict[str, str] = {}
        while not self.at("}"):
            name = self.string()
            self.need(":")
            span = self.token.span
            found[name] = self.string()
            if len(found[name].encode("utf-8", "surrogatepass")) > MAX_VAR_BYTES:
                raise self.fail("CAL-E112", f"a variable is longer than {MAX_VAR_BYTES} bytes", span)
            if not self.take(","):
                break
        self.need("}")
        if len(found) > MAX_VARS:
            raise self.fail("CAL-E111", f"at most {MAX_VARS} variables", self.span(start))
        return tuple(found.items())

    def format(self) -> ast.Format:
        """After FORMAT or AS."""
        start = self.token.start
        if self.at("["):
            return self._format_list(start)
        specs = [self._spec(aliased=False)]
        while self.take(","):
            specs.append(self._spec(aliased=False))
        return ast.Format(self._distinct(specs), len(specs) > 1, self.span(start))

    def _format_list(self, start: int) -> ast.Format:
        self.need("[")
        with self.inside():
            specs = [self._spec(aliased=True)]
            while self.take(","):
                specs.append(self._spec(aliased=True))
            self.need("]")
        return ast.Format(self._distinct(specs), True, self.span(start))

    def _distinct(self, specs: list[ast.FormatSpec]) -> tuple[ast.FormatSpec, ...]:
        if len(specs) > MAX_FORMATS:
            raise self.fail("CAL-E110", f"at most {MAX_FORMATS} formats", specs[-1].span)
        found: dict[str, ast.FormatSpec] = {}
        for spec in specs:
            known = found.setdefault(spec.key, spec)
            if known.format != spec.format:
                raise self.fail("CAL-E113", f"two formats are called {spec.key[:24]}", spec.span)
        return tuple(found.values())

    def _spec(self, *, aliased: bool) -> ast.FormatSpec:
        token = self.token
        name = token.text.lower()
        if token.upper == "TEMPLATE":
            self.i += 1
            chosen: str | ast.TemplateUse = self._template(token.span)
            key = chosen.name or "template" if isinstance(chosen, ast.TemplateUse) else "template"
        elif token.upper == "PRESET":
            self.i += 1
            bracketed = self.take("(")
            key = self.string()
            chosen = ast.TemplateUse(name=key, span=self.span(token.start))
            if bracketed:
                self.need(")")
        elif token.kind == WORD and name in FORMATS:
            self.i += 1
            chosen, key = FORMATS[name], name
        else:
            raise self.unexpected(*FORMATS, "TEMPLATE", "preset")
        if aliased and self.take("AS"):
            key = self.word("a name").text
        return ast.FormatSpec(chosen, key, self.span(token.start))

    def _template(self, span: Span) -> ast.TemplateUse:
        token = self.token
        if token.kind == STRING:
            return ast.TemplateUse(text=self.string(), span=token.span)
        if self.take("{"):
            found = self.sections()
            self.need("}")
            return ast.TemplateUse(sections=found, span=self.span(span[0]))
        return ast.TemplateUse(name=self.word("a template").text, span=token.span)

    def sections(self) -> tuple[tuple[str, str], ...]:
        """``HEADER { … } ELEMENT { … } …``, each at most once. Raises CAL-E049."""
        found: dict[str, str] = {}
        while self.token.upper in SECTIONS and self.tokens[self.i + 1].kind == RAW:
            token, raw = self.token, self.tokens[self.i + 1]
            if token.upper in found:
                raise self.fail("CAL-E049", f"{token.upper} stands twice", token.span)
            found[token.upper] = _section_text(raw.text)
            self.i += 2
        return tuple(found.items())

    # --- LET ---

    def let(self) -> ast.Let:
        start = self.need("LET").start
        token = self.token
        if token.kind != PARAM:
            raise self.unexpected("$name")
        self.i += 1
        self.need("=")
        recall, extract = self._bound()
        self.need(";")
        return ast.Let(token.text[1:], recall, extract, self.span(start))

    def _bound(self) -> tuple[ast.Recall, str]:
        if self.token.upper in EXTRACTS:
            extract = self.word().upper
            self.take("OF")
            return self._bracketed() if self.at("(") else self.recall(), extract
        recall = self.recall()
        if self.at("|") and self.tokens[self.i + 1].upper in EXTRACTS:
            self.i += 1
        extract = self.word().upper if self.token.upper in EXTRACTS else "HASHES"
        return recall, extract


def _section_text(raw: str) -> str:
    """The text of a section: one line break directly inside each brace goes."""
    raw = raw[2:] if raw.startswith("\r\n") else raw[1:] if raw.startswith("\n") else raw
    return raw[:-2] if raw.endswith("\r\n") else raw[:-1] if raw.endswith("\n") else raw
