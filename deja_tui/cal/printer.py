# SPDX-License-Identifier: Apache-2.0
"""The parse tree as text: for EXPLAIN, for explanations of a row, and to prove the parser (parsing it gives the tree)."""

from __future__ import annotations

from deja_tui.cal import ast
from deja_tui.cal.words import PLURAL_OF
from deja_tui.text import quote as quote


def number(value: int | float) -> str:
    """A number as the language reads it back."""
    return str(value) if isinstance(value, int) else repr(value).replace("e-0", "e-")


def value(node: ast.Value) -> str:
    match node:
        case ast.Constant(value=bool() as flag):
            return "true" if flag else "false"
        case ast.Constant(value=str() as text):
            return quote(text)
        case ast.Constant(value=int() | float() as told):
            return number(told)
        case ast.HashText(digits=digits):
            return f"sha256:{digits}"
        case ast.Param(name=name):
            return f"${name}"
        case ast.Items(values=values):
            return f"[{', '.join(map(value, values))}]"
    return ""


def condition(node: ast.Condition) -> str:
    """A condition; brackets only where the tree needs them."""
    match node:
        case ast.Or(parts=parts):
            return " OR ".join(_inner(part, (ast.Or,)) for part in parts)
        case ast.And(parts=parts):
            return " AND ".join(_inner(part, (ast.Or, ast.And)) for part in parts)
        case ast.Not(part=part):
            return f"NOT {_inner(part, (ast.Or, ast.And, ast.Not))}"
        case ast.Compare(field=field, op=op, value=given):
            return f"{field.name} {'STARTS WITH' if op == 'STARTS' else op} {value(given)}"
        case ast.Member(field=field, negated=negated, values=values):
            return f"{field.name} {'NOT ' if negated else ''}IN {_members(values)}"
        case ast.Null(field=field, negated=negated):
            return f"{field.name} IS {'NOT ' if negated else ''}NULL"
        case ast.Category(field=field, name=name):
            return f"{field.name} IS {name}"
        case ast.Tagged(field=field, op=op, values=given_values):
            return f"{field.name} {op} [{', '.join(map(value, given_values))}]"
        case ast.Between(field=field, low=low, high=high):
            return f"{field.name} BETWEEN {value(low)} AND {value(high)}"


def _inner(node: ast.Condition, bracketed: tuple[type, ...]) -> str:
    told = condition(node)
    return f"({told})" if isinstance(node, bracketed) else told


def _members(values: tuple[ast.Value, ...] | ast.Subquery) -> str:
    if isinstance(values, ast.Subquery):
        return f"({recall(values.recall)} {values.extract})"
    return f"({', '.join(map(value, values))})"


def _clauses(*pairs: tuple[str, ast.Value | None]) -> list[str]:
    return [f"{word} {value(given)}" for word, given in pairs if given is not None]


def recall(node: ast.Recall) -> str:
    told = ["RECALL"]
    if node.mine:
        told.append("MY")
    told.append("*" if node.type is None else PLURAL_OF[node.type])
    told += _clauses(
        ("IN", node.namespace), ("THREAD", node.thread), ("ABOUT", node.about), ("LIKE", node.like)
    )
    if node.times is not None:
        told += _clauses(("SINCE", node.times.since), ("UNTIL", node.times.until))
        if node.times.between is not None:
            told.append(f"BETWEEN {value(node.times.between[0])} AND {value(node.times.between[1])}")
    if node.where is not None:
        told.append(f"WHERE {condition(node.where)}")
    told += _clauses(("RECENT", node.recent), ("LIMIT", node.limit))
    if node.contradictions:
        told.append("CONTRADICTIONS")
        if node.of is not None:
            told.append(f"OF ({recall(node.of)})")
    return " ".join(told)


def stage(node: ast.Stage) -> str:
    match node:
        case ast.Project(fields=fields, renames=renames):
            named = (f.name if f.name == name else f"{f.name} AS {name}" for f, name in fields)
            return f"{'PROJECT' if renames else 'SELECT'} {', '.join(named)}"
        case ast.OrderBy(field=field, descending=descending):
            return f"ORDER BY {field.name} {'DESC' if descending else 'ASC'}"
        case ast.Cut(kind=kind, amount=amount):
            return f"{kind} {value(amount)}"
        case ast.Count():
            return "COUNT"
        case ast.First():
            return "FIRST"
        case ast.Extract(kind=kind):
            return kind
        case ast.GroupBy(field=field):
            return f"GROUP BY {field.name}"


def option(node: ast.Option) -> str:
    if not node.arguments:
        return node.name
    return f"{node.name}({', '.join(value(ast.Constant(given)) for given in node.arguments)})"


def _options(options: tuple[ast.Option, ...]) -> list[str]:
    return [f"WITH {', '.join(map(option, options))}"] if options else []


def assemble(node: ast.Assemble) -> str:
    told = ["ASSEMBLE"]
    if node.name is not None:
        told.append(quote(node.name))
    told += _clauses(("FOR", node.intent))
    told.append("FROM")
    if isinstance(node.single, ast.Hashes):
        told.append(", ".join(map(value, node.single.addresses)))
    elif node.single is not None:
        told.append(f"({recall(node.single)})")
    else:
        told.append(", ".join(map(_source, node.labelled)))
    if node.where is not None:
        told.append(f"WHERE {condition(node.where)}")
    if node.budget is not None:
        told.append(
            f"BUDGET {value(node.budget.amount)}" + (f" {node.budget.unit}" if node.budget.unit else "")
        )
    if node.priority is not None:
        told.append(f"PRIORITY {_priority(node.priority)}")
    return " ".join(told)


def _source(node: ast.Source) -> str:
    if isinstance(node.source, ast.Param):
        return f"{node.label}: ({value(node.source)})"
    return f"{node.label}: ({' '.join([recall(node.source), *_options(node.options)])})"


def _priority(node: ast.Priority) -> str:
    names = [label.name for label in node.labels]
    if node.weights is None:
        return " > ".join(names)
    return ", ".join(f"{name}: {number(weight)}" for name, weight in zip(names, node.weights, strict=True))


def statement(node: ast.Statement) -> str:
    """A statement without its stages and tail."""
    match node:
        case ast.Recall():
            return recall(node)
        case ast.SetOperation(first=first, rest=rest):
            return " ".join([f"({recall(first)})", *(f"{op} ({recall(operand)})" for op, operand in rest)])
        case ast.Assemble():
            return assemble(node)
        case ast.Exists(target=ast.Recall() as target):
            return "EXISTS" + recall(target).removeprefix("RECALL")
        case ast.Exists(target=ast.HashText() | ast.Param() as address):
            return f"EXISTS {value(address)}"
        case ast.History():
            return _history(node)
        case ast.Diff(source=source, target=other):
            return f"HISTORY OF {value(source)} DIFF {value(other)}"
        case ast.Explain(inner=inner):
            return f"EXPLAIN {query(inner)}"
        case ast.Coalesce(branches=branches):
            return f"COALESCE({', '.join(map(statement, branches))})"
        case ast.RunQuery(name=name, arguments=arguments):
            given = ", ".join(f"${key} = {value(told)}" for key, told in arguments)
            return f"RUN {quote(name)}" + (f" ({given})" if given else "")
        case ast.EntityAt(subject=subject, relation=relation, at=at, axis=axis):
            return f"ENTITY {value(subject)} RELATION {value(relation)} AT {value(at)} AXIS {axis}"
        case ast.ShowForks():
            return "SHOW FORKS"
        case ast.DerivedFrom(target=address):
            return f"DERIVED FROM {value(address)}"
        case ast.ReportSubject(subject=subject):
            return f"REPORT SUBJECT {value(subject)}"
        case ast.Batch(entries=entries):
            told = (f"{label}: {query(inner)}" if label else query(inner) for label, inner in entries)
            return f"BATCH {{ {' ; '.join(told)} }}"
        case ast.Describe():
            return _describe(node)
        case _:
            return _write(node)


def _history(node: ast.History) -> str:
    told = "HISTORY"
    if node.target is not None:
        told += f" OF {value(node.target)}"
    if node.where is not None:
        told += f" WHERE {condition(node.where)}"
    return " ".join([told, *_clauses(("AS OF", node.as_of))])


def _describe(node: ast.Describe) -> str:
    if node.what == "TYPE":
        return f"DESCRIBE {PLURAL_OF[node.name or 'fact']}"
    if node.name is None:
        return f"DESCRIBE {node.what}"
    named = quote(node.name) if node.what == "QUERY" else PLURAL_OF[node.name]
    return f"DESCRIBE {node.what} {named}"


def _write(node: ast.Statement) -> str:
    match node:
        case ast.Add(type=type_, settings=settings, options=options):
            return " ".join(["ADD", type_, *_settings(settings), *_options(options), *_because(node.reason)])
        case ast.Supersede(target=target, settings=settings, reason=reason):
            return " ".join(["SUPERSEDE", value(target), *_settings(settings), *_because(reason)])
        case ast.Retire(target=target, by=by, reason=reason):
            return " ".join(["SUPERSEDE", value(target), "BY", value(by), *_because(reason)])
        case ast.Merge(
            subject=subject, relation=relation, object=chosen, confidence=confidence, reason=reason
        ):
            told = [f"MERGE {value(subject)} RELATION {value(relation)} TO {value(chosen)}"]
            return " ".join([*told, *_clauses(("CONFIDENCE", confidence)), *_because(reason)])
        case ast.Remember(content=content, options=options):
            return " ".join(["REMEMBER", value(content), *_options(options)])
        case ast.Forget(target=target, reason=reason):
            return " ".join(["FORGET", value(target), *_because(reason)])
        case ast.ForgetSubject(subject=subject, reason=reason):
            return " ".join(["FORGET SUBJECT", value(subject), *_because(reason)])
        case ast.Drop(kind=kind, name=name):
            return f"DROP {kind} {quote(name)}"
        case ast.Decide(verb=verb, target=target, reason=reason, choice=choice):
            numbered = [] if choice is None else ["CHOICE", value(choice)]
            return " ".join([verb.upper(), value(target), *numbered, *_because(reason)])
        case ast.Apply(target=target, dry_run=dry_run, reason=reason):
            return " ".join(["APPLY", value(target), *(["DRY RUN"] if dry_run else []), *_because(reason)])
        case ast.RunLoop(full=full, options=options):
            return " ".join(["RUN LOOP", *(["FULL"] if full else []), *_options(options)])
        case ast.DefineQuery():
            return _define_query(node)
        case ast.DefineTemplate():
            return _define_template(node)
        case ast.Document(path=path, text=text):
            return f"DOCUMENT {quote(path)} AS {quote(text)}"
        case ast.AnalyzerRow(name=name, settings=settings, reason=reason):
            return " ".join([f"ANALYZER {quote(name)}", *_settings(settings), *_because(reason)])
        case ast.NotOffered(word=word):
            return word
    return ""


def _settings(settings: tuple[ast.Setting, ...]) -> list[str]:
    return [f"SET {setting.field.name} = {value(setting.value)}" for setting in settings]


def _because(reason: ast.Value | None) -> list[str]:
    return [] if reason is None else [f"BECAUSE {value(reason)}"]


def _define_query(node: ast.DefineQuery) -> str:
    declared = ", ".join(
        f"${given.name}" + ("" if given.default is None else f" = {value(given.default)}")
        for given in node.parameters
    )
    told = [f"DEFINE QUERY {quote(node.name)}", *([f"({declared})"] if declared else [])]
    if node.description is not None:
        told.append(f"DESCRIPTION {quote(node.description)}")
    return " ".join([*told, "AS {", node.body, "}"])


def _define_template(node: ast.DefineTemplate) -> str:
    told = [f"DEFINE TEMPLATE {quote(node.name)}"]
    if node.description is not None:
        told.append(f"DESCRIPTION {quote(node.description)}")
    if node.extends is not None:
        told.append(f"EXTENDS {quote(node.extends)}")
    if node.types:
        told.append(f"FOR {', '.join(node.types)}")
    if node.whole is not None:
        told.append(f"AS {quote(node.whole)}")
    return " ".join([*told, *_sections(node.sections)])


def _sections(sections: tuple[tuple[str, str], ...]) -> list[str]:
    return [f"{word} {{\n{raw}\n}}" for word, raw in sections]


def _spec(node: ast.FormatSpec, listed: bool) -> str:
    if isinstance(node.format, str):
        told = node.format
    elif node.format.name is not None:
        told = f"preset {quote(node.format.name)}"
    elif node.format.text is not None:
        told = f"TEMPLATE {quote(node.format.text)}"
    else:
        told = " ".join(["TEMPLATE {", *_sections(node.format.sections), "}"])
    return f"{told} AS {node.key}" if listed and node.key != told else told


def query(node: ast.Query) -> str:
    """A statement with everything that follows it."""
    told = [statement(node.statement), *map(stage, node.stages), *_options(node.options)]
    if node.where is not None:
        told.append(f"WHERE {condition(node.where)}")
    if node.format is not None:
        specs = ", ".join(_spec(spec, node.format.several) for spec in node.format.specs)
        told.append(f"FORMAT [{specs}]" if node.format.several else f"FORMAT {specs}")
    if node.variables:
        told.append(
            f"WITH VARS {{ {', '.join(f'{quote(name)}: {quote(text)}' for name, text in node.variables)} }}"
        )
    return " ".join(told)


def program(node: ast.Program) -> str:
    """A whole text."""
    lets = (f"LET ${let.name} = {recall(let.recall)} {let.extract};" for let in node.lets)
    return " ".join([*lets, query(node.query)])
