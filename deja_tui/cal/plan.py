# SPDX-License-Identifier: Apache-2.0
"""From a parsed RECALL to what is asked of the store and what is decided afterwards.

* PLAN-1  Clauses that exclude each other, unknown fields and values that do not fit are refused here, before
  anything is read.
* PLAN-2  A namespace is chosen for the whole statement: conditions on it are taken out of WHERE where they are joined
  to the rest by AND, and refused anywhere else (`conditions.Binder.field`). Without one the session's is read;
  ``RECALL recommendations`` reads where those lie.
* PLAN-3  A statement without type needs a subject, a session, an address or a text: it would read everything
  (CAL-E092).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from deja_tui.cal import ast
from deja_tui.cal.conditions import UNBOUND, All, AnyPart, Binder, Bound, Env, Matcher, No, Test, matcher
from deja_tui.cal.faults import Span
from deja_tui.cal.fields import ANY_TYPE
from deja_tui.cal.lower import lower
from deja_tui.cal.words import MAX_ROWS
from deja_tui.store.filters import Filter, Selection

LOOP_SPACES: Final = ("deja-loop", "loop")
_ALWAYS_KEYED: Final = frozenset(("session_id", "hash", "time", "created_at", "valid_to", "arrival"))
_WITH_SUBJECT: Final = _ALWAYS_KEYED | {"subject"}
_WITH_FACT: Final = _WITH_SUBJECT | {"relation", "object"}
"""Fields that an index knows of every grain, and of every fact."""


@dataclass(frozen=True, slots=True)
class RecallPlan:
    """What one RECALL asks and decides.

    Attributes:
        selection: what the store is asked; None when nothing can match.
        bound: the whole condition, namespaces and text taken out; None without one.
        exact: the selection decides alone. covered: all but differences in case.
        limit: what the statement says with LIMIT or RECENT; None where it says nothing.
        oldest_first: rows are given in rising order of time (THREAD).
        contested: only heads of open forks; ``of`` limits them to the keys of another RECALL.
        needs_contested: the condition asks ``contradicted``.
    """

    statement: ast.Recall
    selection: Selection | None
    bound: Bound | None
    exact: bool
    covered: bool
    limit: int | None
    oldest_first: bool
    needs_contested: bool

    def keep(self) -> Matcher | None:
        """The function that decides about a candidate; None when every one fits."""
        return None if self.exact or self.bound is None else matcher(self.bound)


@dataclass(frozen=True, slots=True)
class Reader:
    """Whose statement it is: the namespace read by default, and the user that MY means."""

    namespace: str
    user: str | None = None


def plan_recall(node: ast.Recall, env: Env, reader: Reader, *, superseded: bool = False) -> RecallPlan:
    """The plan of a RECALL.

    Raises:
        CalError: CAL-E002, E008, E010, E015, E020, E060, E092.
    """
    text = _text(node, env)
    spaces, queries, rest = _taken_out(node, env)
    if queries:
        if text is not None or len(queries) > 1:
            raise _excluded(env, "ABOUT, LIKE and query name one text together", queries[0].span)
        text = env.text_of(queries[0].value)
    if node.namespace is not None:
        spaces = _both(spaces, (env.text_of(node.namespace),))
    if node.times is not None:
        _check_times(node, node.times, env)
    bound = _bind(node, rest, env)
    fields = _fields(bound)
    if node.type is None and text is None and fields.isdisjoint(("subject", "session_id", "hash")):
        raise env.fail(
            "CAL-E092",
            "without a type it needs a subject, a session, an address or a text",
            node.span,
            'Name a type (RECALL facts), or add WHERE subject = "…" or ABOUT "…".',
        )
    bound = _mine(node, bound, fields, env, reader)
    recent = _limit(node.recent, env, "RECENT")
    limit = _limit(node.limit, env, "LIMIT")
    if recent is not None and limit is not None:
        raise _excluded(env, "RECENT and LIMIT exclude each other", _span(node.limit))
    where: Filter | None = None
    exact = covered = True
    if bound is not None:
        where, exact, covered = lower(bound)
        covered = covered and fields <= (_WITH_FACT if node.type == "fact" else _WITH_SUBJECT)
    selection = Selection(
        spaces if spaces is not None else _default_spaces(node, reader),
        () if node.type is None else (node.type,),
        where,
        superseded,
        "created" if recent is not None or node.thread is not None else "arrival",
        text,
    )
    possible = not (node.mine and reader.user is None)
    return RecallPlan(
        node,
        selection if possible else None,
        bound,
        exact,
        covered,
        limit if recent is None else recent,
        node.thread is not None,
        "contradicted" in fields,
    )


def _default_spaces(node: ast.Recall, reader: Reader) -> tuple[str, ...]:
    return LOOP_SPACES if node.type == "recommendation" else (reader.namespace,)


def _excluded(env: Env, message: str, span: Span) -> Exception:
    return env.fail("CAL-E060", message, span)


def _span(node: ast.Value | None) -> Span:
    return (0, 0) if node is None else node.span


# --- text -------------------------------------------------------------------------------------------


def _text(node: ast.Recall, env: Env) -> str | None:
    if node.about is not None and node.like is not None:
        raise _excluded(env, "ABOUT and LIKE exclude each other", node.like.span)
    given = node.about or node.like
    return None if given is None else env.text_of(given)


# --- namespaces -------------------------------------------------------------------------------------

_FOR_THE_WHOLE: Final = frozenset(("namespace", "query"))
Taken = tuple[tuple[str, ...] | None, list[ast.Compare], tuple[ast.Condition, ...]]


def _taken_out(node: ast.Recall, env: Env) -> Taken:
    """The namespaces and texts that WHERE names for the whole statement, and what is left of it (PLAN-2)."""
    if node.where is None:
        return None, [], ()
    parts = node.where.parts if isinstance(node.where, ast.And) else (node.where,)
    spaces: tuple[str, ...] | None = None
    queries: list[ast.Compare] = []
    rest: list[ast.Condition] = []
    for part in parts:
        if type(part) is ast.Compare and part.field.name not in _FOR_THE_WHOLE:
            rest.append(part)
            continue
        named = _spaces(part, env)
        if named is not None:
            spaces = _both(spaces, named)
        elif isinstance(part, ast.Compare) and part.field.name == "query" and part.op == "=":
            queries.append(part)
        else:
            rest.append(part)
    return spaces, queries, tuple(rest)


def _spaces(part: ast.Condition, env: Env) -> tuple[str, ...] | None:
    """The namespaces a condition names and nothing else, or None."""
    match part:
        case ast.Compare(field=field, op="=", value=value) if field.name == "namespace":
            return (env.text_of(value),)
        case ast.Member(field=field, negated=False, values=values) if (
            field.name == "namespace" and not isinstance(values, ast.Subquery)
        ):
            return tuple(name for value in values for name in _names(value, env))
        case ast.Or(parts=parts):
            each = [_spaces(inner, env) for inner in parts]
            if all(names is not None for names in each):
                return tuple(name for names in each if names for name in names)
    return None


def _names(node: ast.Value, env: Env) -> tuple[str, ...]:
    if isinstance(node, ast.Param):
        held = env.lists.get(node.name)
        if held is None:
            given = env.param(node)
            held = given if isinstance(given, tuple) else None
        if held is not None:
            return tuple(name for name in held if isinstance(name, str))
    return (env.text_of(node),)


def _both(one: tuple[str, ...] | None, other: tuple[str, ...]) -> tuple[str, ...]:
    return other if one is None else tuple(name for name in one if name in other)


# --- conditions -------------------------------------------------------------------------------------


def _bind(node: ast.Recall, rest: tuple[ast.Condition, ...], env: Env) -> Bound | None:
    binder = Binder(env, node.type)
    parts = [binder.bind(part) for part in rest]
    if node.times is not None:
        parts.extend(_time_tests(node.times, env))
    if node.thread is not None:
        session = ast.Compare(ast.Field("session_id", node.thread.span), "=", node.thread, node.thread.span)
        parts.append(binder.bind(session))
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _time_tests(times: ast.Times, env: Env) -> list[Bound]:
    field = ANY_TYPE["time"]
    found: list[Bound] = []
    for op, given in ((">=", times.since), ("<=", times.until)):
        if given is not None:
            asked = ast.Compare(ast.Field("time", times.span), op, given, times.span)
            found.append(Test(field, op, env.span(given), asked))
    if times.between is not None:
        low, high = times.between
        between = ast.Between(ast.Field("time", times.span), low, high, times.span)
        found.append(Test(field, "=", (env.span(low)[0], env.span(high)[1]), between))
    return found


def _check_times(node: ast.Recall, times: ast.Times, env: Env) -> None:
    if times.between is not None and (times.since is not None or times.until is not None):
        raise _excluded(env, "BETWEEN says both ends: SINCE and UNTIL exclude it", times.span)
    if node.where is not None and "time" in names_in(node.where):
        raise _excluded(env, "a condition on time excludes SINCE, UNTIL and BETWEEN", times.span)


def _mine(node: ast.Recall, bound: Bound | None, fields: set[str], env: Env, reader: Reader) -> Bound | None:
    if not node.mine:
        return bound
    if "user_id" in fields:
        raise _excluded(env, "MY and a condition on user_id exclude each other", node.span)
    if reader.user is None:
        return bound
    user = ast.Compare(ast.Field("user_id", node.span), "=", ast.Constant(reader.user), node.span)
    test = Test(ANY_TYPE["user_id"], "=", reader.user, user)
    return test if bound is None else All((bound, test))


def _limit(node: ast.Value | None, env: Env, word: str) -> int | None:
    if node is None:
        return None
    number = env.whole(node)
    if not 1 <= number <= MAX_ROWS:
        raise env.fail("CAL-E010", f"{word} is within 1 and {MAX_ROWS:,}", node.span)
    return number


def _fields(bound: Bound | None) -> set[str]:
    """Names of the fields a condition asks for."""
    match bound:
        case None:
            return set()
        case Test(field=field):
            return {field.name}
        case All(parts=parts) | AnyPart(parts=parts):
            return set().union(*(_fields(part) for part in parts))
        case No(part=part):
            return _fields(part)


def names_in(node: ast.Condition) -> set[str]:
    """Names of the fields in a parsed condition."""
    match node:
        case ast.And(parts=parts) | ast.Or(parts=parts):
            return set().union(*(names_in(part) for part in parts))
        case ast.Not(part=part):
            return names_in(part)
        case _:
            return {node.field.name}


def equals(node: ast.Condition | None, name: str, env: Env) -> str | None:
    """The text that a condition demands a field to equal, joined by AND to the rest; None when it does not."""
    parts = node.parts if isinstance(node, ast.And) else () if node is None else (node,)
    for part in parts:
        if isinstance(part, ast.Compare) and part.field.name == name and part.op == "=":
            value: Any = env.value(part.value)
            if value is UNBOUND:
                return ""
            return value if isinstance(value, str) else None
    return None
