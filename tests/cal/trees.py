# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies: random memories, random conditions, random statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

from deja_tui.cal import ast
from deja_tui.store import codec, grains
from deja_tui.store.memory import Store

SUBJECTS = ["acme", "Acme", "ACME", "straße", "STRASSE", "señal", "sen\u0303al", ""]
RELATIONS = ["prefers", "mg:prefers", "knows", "Knows", "tier"]
OBJECTS = ["tea", "Tea", "window seat", "é", "e\u0301", "42"]
TOOLS = ["search", "Search", " search ", "refund"]
SESSIONS = ["s1", "S1", "s2"]
TIMES = [0, 1_000, 2_000, 3_000]


# --- memories ---------------------------------------------------------------------------------------

_facts = st.fixed_dictionaries(
    {
        "subject": st.sampled_from(SUBJECTS[:-1]),
        "relation": st.sampled_from(RELATIONS),
        "object": st.sampled_from(OBJECTS),
    },
    optional={
        "confidence": st.sampled_from([0.0, 0.5, 0.9, 1.0]),
        "user_id": st.sampled_from(["u1", "u2"]),
        "structural_tags": st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=2),
        "session_id": st.sampled_from([*SESSIONS, ""]),
        "valid_to": st.sampled_from([200_000_000_000, 300_000_000_000]),
    },
).map(lambda fields: ("fact", fields))
_tools = st.fixed_dictionaries(
    {"tool_name": st.sampled_from(TOOLS), "tool_content": st.sampled_from(["ok", "boom"])},
    optional={
        "is_error": st.booleans(),
        "status": st.sampled_from(["pending", "completed", "failed"]),
        "session_id": st.sampled_from(SESSIONS),
        "subject": st.sampled_from(SUBJECTS),
        "duration_ms": st.integers(0, 5),
    },
).map(lambda fields: ("tool", fields))
_events = st.fixed_dictionaries(
    {"content": st.sampled_from(["hello", "tea please"])},
    optional={
        "role": st.sampled_from(["user", "assistant"]),
        "session_id": st.sampled_from(SESSIONS),
        "subject": st.sampled_from(SUBJECTS),
        "relation": st.sampled_from(RELATIONS),
    },
).map(lambda fields: ("event", fields))
_fates = st.sampled_from(["live", "live", "live", "superseded", "retired", "hidden"])
MEMORIES = st.lists(
    st.tuples(
        st.one_of(_facts, _tools, _events),
        st.sampled_from(TIMES),
        st.sampled_from(["shared", "other"]),
        _fates,
    ),
    min_size=1,
    max_size=14,
)


def fill(store: Store, told: Sequence[Any]) -> None:
    """File the grains of one example of `MEMORIES`, each with what became of it."""
    with store.act() as act:
        for (type_, fields), at, namespace, fate in told:
            typed, extras = grains.validate(type_, fields)
            added = act.add(codec.make_grain(type_, typed, namespace=namespace, created_at=at, extras=extras))
            current = store.get(added.address)
            if not added.new or current is None or not current.live:
                continue
            if fate == "superseded":
                newer = codec.make_grain(type_, typed, namespace=namespace, created_at=at + 1, extras=extras)
                if store.get(codec.address(codec.encode(newer))) is None:
                    act.supersede(added.address, newer)
            elif fate == "retired":
                other = next(
                    (g for g in store.scan(type_, namespaces=[namespace]) if g.address != added.address), None
                )
                act.mark(added.address, "retire", other.address if other else None)
            elif fate == "hidden":
                act.mark(added.address, "hide")


# --- conditions -------------------------------------------------------------------------------------


def rich() -> list[Any]:
    """One memory with every case that a key, an index or a mark could get wrong; in the form of `MEMORIES`."""
    told: list[Any] = []
    for number, subject in enumerate(SUBJECTS):
        for relation in ("prefers", "Prefers", "mg:prefers"):
            fields = {
                "subject": subject or "none",
                "relation": relation,
                "object": OBJECTS[number % len(OBJECTS)],
            }
            extra = [
                {},
                {"session_id": "s1", "structural_tags": ["a"]},
                {"session_id": "", "valid_to": 200_000_000_000, "confidence": 0.5, "user_id": "u1"},
            ][number % 3]
            told.append((("fact", {**fields, **extra}), 1_000 * (number % 4), "shared", "live"))
            told.append((("fact", {**fields, "object": "old"}), 1_000 * (number % 4), "shared", "superseded"))
            told.append((("fact", {**fields, "object": "hidden"}), 1_001, "shared", "hidden"))
            told.append((("fact", {**fields, "object": "elsewhere"}), 1_001, "other", "live"))
    for name in TOOLS:
        for status, failed in (
            ("pending", True),
            ("pending", None),
            ("failed", True),
            ("completed", False),
            (None, True),
        ):
            fields = {
                "tool_name": name,
                "tool_content": "boom",
                "duration_ms": len(told) % 6,
                "subject": "acme",
            }
            fields |= {} if status is None else {"status": status}
            fields |= {} if failed is None else {"is_error": failed}
            told.append((("tool", fields), 1_001, "shared", "live"))
    for session in (*SESSIONS, ""):
        told.append(
            (
                ("event", {"content": "tea please", "role": "user", "session_id": session}),
                2_001,
                "shared",
                "live",
            )
        )
        told.append(
            (
                ("event", {"content": "hello", "subject": "Acme", "relation": "knows"}),
                999,
                "shared",
                "retired",
            )
        )
    return told


# --- conditions -------------------------------------------------------------------------------------


def _field(name: str) -> ast.Field:
    return ast.Field(name)


def _text_tests(name: str, values: list[str]) -> st.SearchStrategy[ast.Condition]:
    constants = st.sampled_from(values).map(ast.Constant)
    return st.one_of(
        st.builds(
            ast.Compare,
            st.just(_field(name)),
            st.sampled_from(["=", "=", "!=", "<", ">=", "CONTAINS", "STARTS"]),
            constants,
        ),
        st.builds(
            ast.Member,
            st.just(_field(name)),
            st.booleans(),
            st.lists(constants, min_size=1, max_size=3).map(tuple),
        ),
        st.builds(ast.Null, st.just(_field(name)), st.booleans()),
    )


def _number_tests(name: str, values: list[float]) -> st.SearchStrategy[ast.Condition]:
    return st.builds(
        ast.Compare,
        st.just(_field(name)),
        st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
        st.sampled_from(values).map(ast.Constant),
    )


_COMMON = [
    _text_tests("subject", SUBJECTS),
    _text_tests("relation", RELATIONS),
    _text_tests("object", OBJECTS),
    _text_tests("user_id", ["u1", "u2"]),
    _text_tests("session_id", [*SESSIONS, ""]),
    _number_tests("confidence", [0, 0.5, 0.9, 1]),
    _number_tests("created_at", [0, 999, 1_000, 1_000.5, 2_000, 4_000]),
    _number_tests("valid_to", [200_000_000_000, 250_000_000_000]),
    st.builds(
        ast.Tagged,
        st.just(_field("tags")),
        st.sampled_from(["INCLUDE", "EXCLUDE"]),
        st.lists(st.sampled_from(["a", "b"]).map(ast.Constant), min_size=1, max_size=2).map(tuple),
    ),
    st.builds(
        ast.Category, st.just(_field("relation")), st.sampled_from(["PREFERENCE", "KNOWLEDGE", "GOVERNANCE"])
    ),
    st.builds(
        ast.Compare,
        st.just(_field("time")),
        st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
        st.sampled_from([0, 1_000, 2_500]).map(ast.Constant),
    ),
    st.builds(
        ast.Between,
        st.just(_field("time")),
        st.sampled_from([0, 1_000]).map(ast.Constant),
        st.sampled_from([1_000, 3_000]).map(ast.Constant),
    ),
]
_OF_TYPE = {
    "fact": [],
    "event": [_text_tests("role", ["user", "assistant"]), _text_tests("content", ["hello", "tea"])],
    "tool": [
        _text_tests("tool_name", [*TOOLS, ""]),
        _text_tests("tool", TOOLS),
        st.builds(
            ast.Compare,
            st.just(_field("is_error")),
            st.sampled_from(["=", "!="]),
            st.booleans().map(ast.Constant),
        ),
        _number_tests("duration_ms", [0, 2, 5]),
    ],
}


_VALUES: dict[str, list[Any]] = {
    "subject": SUBJECTS,
    "relation": [*RELATIONS, "Prefers"],
    "object": [*OBJECTS, "old"],
    "session_id": [*SESSIONS, ""],
    "user_id": ["u1", "u2"],
    "role": ["user"],
    "content": ["tea", "hello"],
    "tool_name": [*TOOLS, "", "x"],
    "tool": TOOLS,
    "created_at": [0, 999, 1_000, 1_000.5, 1_001, 2_000, 4_000],
    "valid_to": [199_999_999_999, 200_000_000_000, 200_000_000_001],
    "confidence": [0, 0.5, 1],
    "duration_ms": [0, 2, 5],
    "is_error": [True, False],
    "time": [0, 1_000, 1_001],
}
_TEXT_OPS = ("=", "!=", "<", "<=", ">", ">=", "CONTAINS", "STARTS")
_OPS = {
    "is_error": ("=", "!="),
    **dict.fromkeys(("created_at", "valid_to", "confidence", "duration_ms", "time"), _TEXT_OPS[:6]),
}


def leaves(type_: str) -> Iterator[ast.Condition]:
    """Every single comparison that can be applied to a type."""
    own = {
        "fact": (),
        "event": ("role", "content"),
        "tool": ("tool_name", "tool", "duration_ms", "is_error"),
    }[type_]
    for name, values in _VALUES.items():
        if name in ("role", "content", "tool_name", "tool", "duration_ms", "is_error") and name not in own:
            continue
        for value in values:
            for op in _OPS.get(name, _TEXT_OPS):
                yield ast.Compare(_field(name), op, ast.Constant(value))
            if name not in ("time",):
                for negated in (False, True):
                    yield ast.Member(_field(name), negated, (ast.Constant(value), ast.Constant(values[0])))
        for negated in (False, True):
            yield ast.Null(_field(name), negated)


def _tree(leaf: st.SearchStrategy[ast.Condition]) -> st.SearchStrategy[ast.Condition]:
    """Trees as the parser builds them: a list inside a list of its own kind only behind brackets, so never alike."""

    def wider(inner: st.SearchStrategy[ast.Condition]) -> st.SearchStrategy[ast.Condition]:
        many = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            st.builds(ast.And, many), st.builds(ast.Or, many), st.builds(ast.Not, inner), many.map(ast.And)
        )

    return st.recursive(leaf, wider, max_leaves=5)


def conditions(type_: str) -> st.SearchStrategy[ast.Condition]:
    """Conditions that can be applied to a type."""
    return _tree(st.one_of(*_COMMON, *_OF_TYPE[type_]))
