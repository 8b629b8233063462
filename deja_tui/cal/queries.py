# SPDX-License-Identifier: Apache-2.0
"""Saved queries: parsed and checked when they are defined and again before they run; parameters are values, never text.

* QUERY-1  A body holds one reading statement (CAL-E058) and runs no other query (CAL-E057), decided on its parse tree.
* QUERY-2  A parameter is bound on the tree. Its value is never parsed: it cannot end its literal or name a parameter.
* QUERY-3  They lie in the settings of the memory, not among its grains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from deja_tui.cal import ast
from deja_tui.cal.builtin_queries import BUILTIN_TEXTS
from deja_tui.cal.classify import refuse_body
from deja_tui.cal.conditions import UNBOUND, Env
from deja_tui.cal.faults import CalError, warning
from deja_tui.cal.host import Host
from deja_tui.cal.lexer import WORD, tokens
from deja_tui.cal.names import is_query_name
from deja_tui.cal.parser import parse, parse_again
from deja_tui.cal.plan import Reader, plan_recall
from deja_tui.cal.stages import check as check_stages
from deja_tui.cal.words import MAX_QUERIES, MAX_QUERY_BYTES
from deja_tui.errors import DejaError

PREFIX: Final = "cal.query:"
_WRITES: Final = frozenset(
    [
        "ADD",
        "SUPERSEDE",
        "ACCUMULATE",
        "REVERT",
        "FORGET",
        "PURGE",
        "DROP",
        "DEFINE",
        "GRANT",
        "REVOKE",
        "MERGE",
        "REMEMBER",
        "REVIEW",
        "APPLY",
    ]
)


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A saved query. ``parameters`` holds (name, default or None); a default is a plain JSON value."""

    name: str
    parameters: tuple[tuple[str, Any], ...]
    description: str
    body: str
    builtin: bool = False

    def as_json(self) -> dict[str, Any]:
        """How DESCRIBE QUERY shows it."""
        params = [
            {"name": name, "required": default is None, "default": default}
            for name, default in self.parameters
        ]
        return {
            "name": self.name,
            "builtin": self.builtin,
            "params": params,
            "description": self.description,
            "body": self.body,
        }


def _builtin(text: str) -> SavedQuery:
    node = parse(text).query.statement
    if not isinstance(node, ast.DefineQuery):
        raise CalError("CAL-E059", "a built-in query is no definition")
    return SavedQuery(
        node.name,
        tuple((given.name, None) for given in node.parameters),
        node.description or "",
        node.body,
        builtin=True,
    )


_BUILTIN: dict[str, SavedQuery] = {}


def builtin() -> Mapping[str, SavedQuery]:
    """The queries every memory has, by name. Parsed on first use."""
    if not _BUILTIN:
        _BUILTIN.update({query.name: query for query in map(_builtin, BUILTIN_TEXTS)})
    return _BUILTIN


def stored(host: Host) -> dict[str, SavedQuery]:
    """The queries of the memory by name; a value that is none (a foreign file) is left out."""
    found: dict[str, SavedQuery] = {}
    for key, value in host.store.settings(PREFIX).items():
        query = _read(key.removeprefix(PREFIX), value)
        if query is not None:
            found[query.name] = query
    return found


def _read(name: str, value: Any) -> SavedQuery | None:
    if not isinstance(value, Mapping) or not isinstance(value.get("body"), str):
        return None
    given = value.get("parameters")
    parameters = tuple(
        (str(item["name"]), item.get("default"))
        for item in (given if isinstance(given, list) else ())
        if isinstance(item, Mapping) and isinstance(item.get("name"), str)
    )
    return SavedQuery(name, parameters, str(value.get("description") or ""), value["body"])


def plain(query: SavedQuery) -> dict[str, Any]:
    """The JSON value a query is stored as."""
    return {
        "parameters": [{"name": name, "default": default} for name, default in query.parameters],
        "description": query.description,
        "body": query.body,
    }


def find(name: str, host: Host) -> SavedQuery | None:
    """A query by its name, built in or of the memory."""
    known = builtin().get(name)
    if known is not None:
        return known
    value = host.store.setting(PREFIX + name)
    return None if value is None else _read(name, value)


# --- defining ---------------------------------------------------------------------------------------


def define(node: ast.DefineQuery, host: Host, env: Env) -> SavedQuery:
    """A checked query, not yet stored. Raises CAL-E008, E052 to E059, E115, and what its clauses raise."""
    if not is_query_name(node.name):
        raise env.fail(
            "CAL-E115", "a query name is a letter, then letters, digits, blanks, _ and -", node.span
        )
    if node.name in builtin():
        raise env.fail("CAL-E052", f"the query {node.name} is built in", node.span, "Choose another name.")
    parameters = tuple(
        (given.name, None if given.default is None else env.value(given.default)) for given in node.parameters
    )
    query = SavedQuery(node.name, parameters, node.description or "", node.body)
    check(query, host, env.now)
    held = stored(host)
    if node.name not in held and len(held) + len(builtin()) >= MAX_QUERIES:
        raise env.fail("CAL-E053", f"the memory holds {MAX_QUERIES} queries", node.span, "DROP one first.")
    return query


def check(query: SavedQuery, host: Host, now: int) -> ast.Program:
    """The parse tree of a body that may be saved and run (QUERY-1). Raises CAL-E008, E054, E057, E058, E059, E060."""
    if len(query.body.encode("utf-8", "surrogatepass")) > MAX_QUERY_BYTES:
        raise CalError("CAL-E054", f"the body is longer than {MAX_QUERY_BYTES:,} bytes")
    try:
        tree = parse_again(query.body)
    except CalError as error:
        raise _unparsed(query, error) from error
    refuse_body(query.body, tree)
    _check_parameters(query, tree)
    _check_clauses(query, tree, host, now)
    return tree


def _unparsed(query: SavedQuery, error: CalError) -> CalError:
    """Why a body that does not parse is refused. With parameters, a word that writes is reason enough (E058)."""
    if query.parameters and _names_a_write(query.body):
        return CalError("CAL-E058", "a saved query can only read", error.next_step, place=error.place)
    return CalError(
        "CAL-E059",
        f"the body is no statement: {error.code} {error.bare}",
        error.next_step,
        place=error.place,
        expected=error.expected,
    )


def _names_a_write(body: str) -> bool:
    try:
        _, found = tokens(body)
    except DejaError:
        return False
    return any(token.kind == WORD and token.upper in _WRITES for token in found)


def _check_parameters(query: SavedQuery, tree: ast.Program) -> None:
    declared = {name for name, _ in query.parameters} | {let.name for let in tree.lets}
    for node in ast.walk(tree):
        if isinstance(node, ast.Param) and node.name not in declared:
            raise Env(query.body, 0).fail("CAL-E008", f"${node.name} is not declared", node.span)


def _check_clauses(query: SavedQuery, tree: ast.Program, host: Host, now: int) -> None:
    """Every clause of the body, with parameters that fit everything: what is refused here would never run."""
    values: dict[str, Any] = {name: UNBOUND for name, _ in query.parameters}
    env = Env(query.body, now, values, {let.name: () for let in tree.lets}, checking=True)
    reader = Reader(host.namespace, host.user)
    for node in ast.walk(tree):
        if isinstance(node, ast.Recall):
            plan_recall(node, env, reader)
        elif isinstance(node, ast.Query):
            kind = node.statement.type if isinstance(node.statement, ast.Recall) else None
            check_stages(node.stages, kind, env)


# --- running ----------------------------------------------------------------------------------------


def bind(query: SavedQuery, node: ast.RunQuery, env: Env) -> dict[str, Any]:
    """The values of a query's parameters. Raises CAL-E056; warns about those it does not declare."""
    declared = dict(query.parameters)
    values = {name: _kept(default) for name, default in declared.items() if default is not None}
    for name, given in node.arguments:
        if name in declared:
            values[name] = _kept(env.value(given))
        else:
            env.warnings.append(warning("CAL-W006", f"${name[:32]}"))
    missing = [name for name in declared if name not in values]
    if missing:
        raise env.fail(
            "CAL-E056", f"the query needs ${missing[0]}", node.span, f'RUN "{query.name}" (${missing[0]} = …)'
        )
    return values


def _kept(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
