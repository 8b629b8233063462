# SPDX-License-Identifier: Apache-2.0
"""What an index nominates and what the evaluator decides: together they answer as the evaluator alone would."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deja_tui.cal import CalError, Host, Session, ast, parse, printer
from deja_tui.cal.conditions import Binder, Bound, Env, matcher
from deja_tui.cal.lower import lower
from deja_tui.cal.rows import Row, row_of
from deja_tui.store.filters import AllOf, AnyOf, Failed, OneOf, Selection, Within
from deja_tui.store.memory import Store
from tests.cal import trees

FEW = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
TYPES = ("fact", "event", "tool")
NOW = 10_000


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("pushdown") / "rich.deja"
    with Store.open(path, durability="normal", clock=lambda: 5_000) as opened:
        trees.fill(opened, trees.rich())
        yield opened


def every_row(store: Store, namespace: str = "shared", *, superseded: bool = False) -> list[Row]:
    """All grains of a namespace, newest arrival first, read without any filter."""
    found = [grain for type_ in TYPES for grain in store.scan(type_, namespaces=[namespace])]
    return [
        row_of(grain)
        for grain in sorted(found, key=lambda grain: -grain.seq)
        if grain.live or (superseded and grain.superseded_by is not None)
    ]


def bound_of(text: str, type_: str) -> Bound:
    """The condition of a RECALL, as a statement of that text means it."""
    statement = parse(text).query.statement
    assert isinstance(statement, ast.Recall)
    assert statement.where is not None
    return Binder(Env(text, NOW), type_).bind(statement.where)


def agrees(store: Store, type_: str, condition: ast.Condition, *, superseded: bool = False) -> None:
    """What a RECALL gives, and what the store nominates for it, against the evaluator on every grain."""
    text = printer.recall(ast.Recall(type_, where=condition, limit=ast.Constant(1_000)))
    bound = bound_of(text, type_)
    keep = matcher(bound)
    rows = [row for row in every_row(store, superseded=superseded) if row.grain_type == type_]
    right = [row.hash for row in rows if keep(row)]
    got = Session(Host(store, "shared", lambda: NOW)).run(text + (" WITH superseded" if superseded else ""))
    assert [row.hash for row in got.rows] == right, text  # type: ignore[union-attr]
    where, exact, _ = lower(bound)
    candidates = store.candidates(Selection(("shared",), (type_,), where))
    nominated = [grain.address for _, grain in candidates.scored()]
    if not superseded:
        assert set(right) <= set(nominated), text
        assert not exact or nominated == right, text
    assert candidates.count(10_000) == len(nominated), text


@pytest.mark.parametrize("type_", TYPES)
def test_every_comparison_answers_as_the_evaluator_alone_would(store: Store, type_: str) -> None:
    """Every field, operator and tricky value: COND-1, LOWER-1, LOWER-2, FILTER-1."""
    for condition in trees.leaves(type_):
        agrees(store, type_, condition)


@pytest.mark.parametrize("type_", TYPES)
def test_a_long_list_answers_as_a_short_one(store: Store, type_: str) -> None:
    """FILTER-1, COND-1: IN and NOT IN of many values, which are looked up another way; awkward ones among them."""
    awkward = ["", '"', "\\", "[1]", "null", "\n", "\u2028", "\U0001f600"]
    held = [*trees.SUBJECTS, *trees.RELATIONS, *trees.OBJECTS, *trees.TOOLS, *trees.SESSIONS]
    for field in ("subject", "relation", "object", "session_id", *(["tool_name"] if type_ == "tool" else [])):
        for negated in (False, True):
            values = tuple(ast.Constant(value) for value in (*held, *awkward))
            agrees(store, type_, ast.Member(ast.Field(field), negated, values))
            agrees(store, type_, ast.Member(ast.Field(field), negated, values[::3]), superseded=True)
    addresses = tuple(ast.Constant(row.hash) for row in every_row(store))[:60]
    agrees(store, type_, ast.Member(ast.Field("hash"), False, addresses))


@given(st.data())
def test_any_tree_answers_as_the_evaluator_alone_would(store: Store, data: st.DataObject) -> None:
    """AND, OR and NOT of comparisons, with superseded versions and without."""
    type_ = data.draw(st.sampled_from(TYPES))
    agrees(store, type_, data.draw(trees.conditions(type_)), superseded=data.draw(st.booleans()))


@FEW
@given(st.data())
def test_any_memory_answers_as_the_evaluator_alone_would(tmp_path: Path, data: st.DataObject) -> None:
    """The same over random grains with random fates."""
    told = data.draw(trees.MEMORIES)
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.deja"
    with Store.open(path, durability="normal", clock=lambda: 5_000) as opened:
        trees.fill(opened, told)
        for _ in range(4):
            type_ = data.draw(st.sampled_from(TYPES))
            agrees(opened, type_, data.draw(trees.conditions(type_)), superseded=data.draw(st.booleans()))


@given(st.data())
def test_a_text_with_a_condition_is_both(store: Store, data: st.DataObject) -> None:
    """ABOUT with WHERE gives the text hits that satisfy the condition, in text order."""
    session = Session(Host(store, "shared", lambda: NOW))
    words = data.draw(st.sampled_from(["tea", "window tea boom", "hello acme seat", "SEÑAL"]))
    type_ = data.draw(st.sampled_from(TYPES))
    condition = data.draw(trees.conditions(type_))
    text, most = ast.Constant(words), ast.Constant(1_000)
    alone = session.run(printer.recall(ast.Recall(type_, about=text, limit=most)))
    both = printer.recall(ast.Recall(type_, about=text, where=condition, limit=most))
    keep = matcher(bound_of(both, type_))
    right = [row.hash for row in alone.rows if keep(row)]  # type: ignore[union-attr]
    assert [row.hash for row in session.run(both).rows] == right, both  # type: ignore[union-attr]


@pytest.mark.parametrize("order", ["arrival", "created"])
def test_the_two_orders_hold_on_every_path(tmp_path: Path, order: str) -> None:
    """FILTER-3: newest arrival first, or newest created_at first with ties by arrival, whichever index is used."""
    told = [
        (
            ("fact", {"subject": "acme", "relation": "tier", "object": f"{i}", "session_id": "s1"}),
            at,
            "shared",
            "live",
        )
        for i, at in enumerate([3_000, 1_000, 3_000, 2_000, 1_000])
    ]
    with Store.open(tmp_path / "a.deja", durability="normal") as store:
        trees.fill(store, told)
        session = Session(Host(store, "shared", lambda: NOW))
        rising = [0, 1, 2, 3, 4]
        by_time = [1, 4, 3, 0, 2]
        right = [str(i) for i in reversed(rising if order == "arrival" else by_time)]
        tail = "LIMIT 10" if order == "arrival" else "RECENT 10"
        for where in (
            "",
            'WHERE subject = "acme"',
            'WHERE session_id = "s1"',
            'WHERE subject = "acme" AND relation = "tier"',
            "SINCE 0",
        ):
            rows = session.run(f"RECALL facts {where} {tail}").rows  # type: ignore[union-attr]
            assert [row.fields["object"] for row in rows] == right, where


def test_a_subject_of_any_type_is_found_by_its_index(tmp_path: Path) -> None:
    """FILTER-1: every grain whose subject is text is keyed, so nothing else is read; a rebuild keeps that."""
    path = tmp_path / "a.deja"
    told = [
        (("fact", {"subject": "acme", "relation": "tier", "object": "gold"}), 1, "shared", "live"),
        (("tool", {"tool_name": "search", "tool_content": "ok", "subject": "acme"}), 2, "shared", "live"),
        (("event", {"content": "hello", "subject": "Acme"}), 3, "shared", "live"),
        (("state", {"context": {"a": 1}, "subject": "acme"}), 4, "shared", "live"),
        (("consent", {"subject_did": "did:x", "subject": "acme"}), 5, "shared", "live"),
        *((("event", {"content": f"hello {n}", "subject": "other"}), 6, "shared", "live") for n in range(40)),
    ]
    with Store.open(path, durability="normal") as store:
        trees.fill(store, told)
        session = Session(Host(store, "shared", lambda: NOW))

        def found(text: str) -> tuple[list[str], dict[str, int]]:
            (read,) = session.run(f"EXPLAIN {text}").as_json()["plan"]["reads"]
            assert read["path"].startswith("by subject"), read["path"]
            return [row.grain_type for row in session.run(text).rows], read["rows"]  # type: ignore[union-attr]

        right = ["consent", "state", "tool", "fact"], {"candidates": 5, "matched": 4, "returned": 4}
        assert found('RECALL WHERE subject = "acme"') == right
        assert found('RECALL states WHERE subject = "acme"')[1]["candidates"] == 1
        with store.act(governed=True) as act:
            assert act.rebuild().changed == 0
        assert store.verify(deep=True) == ()
        assert found('RECALL WHERE subject = "acme"') == right


def test_calls_of_a_tool_are_found_by_its_name(tmp_path: Path) -> None:
    """Those without an outcome too, from an index of their own: no other call is read."""
    told = [
        *(
            (("tool", {"tool_name": "other", "tool_content": f"ok {n}"}), 1, "shared", "live")
            for n in range(40)
        ),
        (("tool", {"tool_name": "search", "tool_content": "ok"}), 2, "shared", "live"),
        (("tool", {"tool_name": "search", "tool_content": "", "status": "pending"}), 3, "shared", "live"),
    ]
    with Store.open(tmp_path / "a.deja", durability="normal") as store:
        trees.fill(store, told)
        session = Session(Host(store, "shared", lambda: NOW))
        (read,) = session.run('EXPLAIN RECALL tools WHERE tool_name = "search"').as_json()["plan"]["reads"]
        assert read["path"] == "by tool"
        assert read["rows"] == {"candidates": 2, "matched": 2, "returned": 2}


@pytest.mark.parametrize("rows", [0, 1, 24, 25, 26, 90, 300])
def test_pages_of_what_an_index_reaches_are_one_state(tmp_path: Path, rows: int) -> None:
    """FILTER-6: a write between the first page and the rest is not seen, and how many there are is told with the first."""
    told = [
        (("fact", {"subject": "acme", "relation": "n", "object": f"{n}"}), n, "shared", "live")
        for n in range(rows)
    ]
    with Store.open(tmp_path / "a.deja", durability="normal") as store:
        trees.fill(store, told)
        candidates = store.candidates(Selection(("shared",), ("fact",), OneOf("subject", ("acme",))))
        assert candidates.at_once
        taken = candidates.grains(17)
        first = next(taken, None)
        assert candidates.reached == rows
        with Store.open(tmp_path / "a.deja", durability="normal") as other:
            trees.fill(
                other,
                [(("fact", {"subject": "acme", "relation": "n", "object": "late"}), 5, "shared", "live")],
            )
        rest = [grain.get("object") for grain in taken]
        assert ([first.get("object")] if first else []) + rest == [f"{n}" for n in reversed(range(rows))]


def test_an_error_that_is_kept_holds_nobody_to_an_old_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FILTER-6: whatever stops a read, the next one sees what was written since."""
    facts = [
        (("fact", {"subject": "acme", "relation": "n", "object": f"{n}"}), n, "shared", "live")
        for n in range(90)
    ]
    with Store.open(tmp_path / "a.deja", durability="normal") as store:
        trees.fill(store, facts)
        session = Session(Host(store, "shared", lambda: NOW))
        text = 'RECALL facts WHERE subject = "acme" LIMIT 16'
        monkeypatch.setattr("deja_tui.cal.reads.MOST_READ", 5)
        with pytest.raises(CalError) as kept:
            session.run(text)
        assert kept.value.code == "CAL-E030"
        monkeypatch.undo()
        with Store.open(tmp_path / "a.deja", durability="normal") as other:
            late = ("fact", {"subject": "acme", "relation": "n", "object": "late"})
            trees.fill(other, [(late, 5, "shared", "live")])
        newest = session.run(text).rows[0]  # type: ignore[union-attr]
        assert newest.fields["object"] == "late"
        assert kept.traceback


LEAVES = [
    *(OneOf(field, ("a",)) for field in ("subject", "relation", "object", "tool_name", "session_id")),
    OneOf("subject", ("a", "b")),
    *(OneOf(field, tuple(f"a{n}" for n in range(40))) for field in ("subject", "object", "tool_name")),
    OneOf("hash", tuple(f"{n:064x}" for n in range(40))),
    OneOf("hash", ("a" * 64,)),
    OneOf("hash", ("short",)),
    Within("created_at", 1, None),
    Within("created_at", None, 5),
    Within("valid_to", 2**70, None),
    Failed(),
    AnyOf(()),
    AnyOf((OneOf("subject", ("x",)), Within("created_at", 0, 2), AnyOf(()))),
    AllOf(()),
]


@pytest.mark.parametrize("types", [(), ("fact",), ("tool",), ("event", "tool"), ("state",)])
def test_every_way_in_is_one_that_sqlite_can_go(types: tuple[str, ...], store: Store) -> None:
    """An index that is named must fit its statement, whatever two filters meet, in both orders, with old versions too."""
    for superseded, order in product((False, True), ("arrival", "created")):
        for where in (*LEAVES, *(AllOf(pair) for pair in permutations(LEAVES, 2))):
            candidates = store.candidates(Selection(("shared", "nowhere"), types, where, superseded, order))
            found = [grain.seq for _, grain in candidates.scored()]
            assert len(set(found)) == len(found) == candidates.count(1_000)
            assert candidates.path
