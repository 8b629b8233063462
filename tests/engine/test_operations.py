# SPDX-License-Identifier: Apache-2.0
"""Proposals as data: what is stored is read back, and what no proposal may do is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.engine.operations import (
    MAX_ALTERNATIVES,
    MAX_BYTES,
    MAX_DATA,
    MAX_LABEL,
    MAX_OPERATIONS,
    Add,
    Alternative,
    DefineQuery,
    DocEdit,
    Forget,
    Merge,
    Operation,
    Retire,
    Revert,
    Supersede,
    alternatives_from_plain,
    alternatives_to_plain,
    check,
    check_alternatives,
    check_data,
    digest,
    from_plain,
    size,
    to_plain,
)
from tests.engine.helpers import refused

A, B, C = "a" * 64, "b" * 64, "c" * 64

ADDRESSES = st.integers(0, 2**256 - 1).map(lambda n: f"{n:064x}")
NAMES = st.text(min_size=1, max_size=12)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.dictionaries(st.text(max_size=9), VALUES, max_size=4)
OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    st.builds(Add, NAMES, NAMES, FIELDS),
    st.builds(Supersede, ADDRESSES, NAMES, NAMES, FIELDS),
    st.builds(Retire, ADDRESSES, ADDRESSES),
    st.builds(Forget, ADDRESSES),
    st.builds(Merge, st.lists(ADDRESSES, max_size=4).map(tuple), NAMES, NAMES, FIELDS),
    st.builds(DefineQuery, NAMES, NAMES, st.none() | ADDRESSES, st.sampled_from(["query", "template"])),
    st.builds(DocEdit, NAMES, NAMES, ADDRESSES, NAMES),
    st.builds(Revert, ADDRESSES),
)


@given(OPERATIONS)
def test_an_operation_survives_being_stored(operation: Operation) -> None:
    """D9: the canonical map and back is the same operation, destructive or not as its kind says."""
    again = from_plain(to_plain(operation))
    assert again == operation
    assert again.destructive == isinstance(operation, Forget)
    assert again.undoable != isinstance(operation, Forget | Revert)
    assert set(again.removes()) <= set(again.targets())
    assert to_plain(again) == to_plain(operation)


@pytest.mark.parametrize(
    "plain",
    [
        None, 7, "forget", [], [["op", "forget"]], {}, {"op": None}, {"op": ["add"]}, {"op": "purge", "target": A},
        {"op": "forget"}, {"op": "forget", "target": A, "and": "more"}, {"op": "forget", "target": A[:-1]},
        {"op": "forget", "target": A.upper()}, {"op": "forget", "target": A[:-1] + "\n"}, {"op": "forget", "target": 7},
        {"op": "FORGET", "target": A}, {"op": "retire", "target": A}, {"op": "retire", "target": A, "by": None},
        {"op": "add", "type": "fact", "namespace": "n"}, {"op": "add", "type": "fact", "namespace": "", "fields": {}},
        {"op": "add", "type": 1, "namespace": "n", "fields": {}}, {"op": "add", "type": "fact", "namespace": "n", "fields": []},
        {"op": "add", "type": "fact", "namespace": "n", "fields": {1: 2}},
        {"op": "supersede", "type": "fact", "namespace": "n", "fields": {}, "target": "x"},
        {"op": "merge", "type": "fact", "namespace": "n", "fields": {}, "heads": A},
        {"op": "merge", "type": "fact", "namespace": "n", "fields": {}, "heads": [A, 7]},
        {"op": "merge", "type": "fact", "namespace": "n", "fields": {}, "heads": [A, "x"]},
        {"op": "define_query", "name": "q", "body": "RECALL facts", "base": None},
        {"op": "define_query", "scheme": "query", "name": "", "body": "RECALL facts", "base": None},
        {"op": "define_query", "scheme": "query", "name": "q", "body": "RECALL facts", "base": "x"},
        {"op": "doc_edit", "path": "/memories/a", "namespace": "n", "base": None, "diff": "x"},
        {"op": "doc_edit", "path": "/memories/a", "namespace": "n", "base": A, "diff": ""},
        {"op": "revert"}, {"op": "revert", "recommendation": A[:12]},
    ],
)  # fmt: skip
def test_a_malformed_operation_is_refused(plain: Any) -> None:
    """LOP-E012 on anything that `to_plain` does not write."""
    with refused("LOP-E012"):
        from_plain(plain)


@pytest.mark.parametrize("thing", [None, "x", {"op": "forget", "target": A}, Retire("ab", B), Forget("")])
def test_what_could_not_be_read_back_is_not_stored(thing: Any) -> None:
    """LOP-E012 when it is proposed, not when somebody later opens it."""
    with refused("LOP-E012"):
        check([thing])


REFUSED: dict[str, list[Operation]] = {
    "41 operations": [Forget(f"{n:064x}") for n in range(MAX_OPERATIONS + 1)],
    "a recommendation": [Add("recommendation", "n", {})],
    "tool traffic": [Add("tool", "n", {})],
    "a consent": [Add("consent", "n", {})],
    "an unknown type": [Add("banana", "n", {})],
    "deja-loop": [Add("fact", "deja-loop", {})],
    "loop": [Supersede(A, "fact", "loop", {})],
    "agent": [Add("fact", "agent:x", {})],
    "namespace in a field": [Add("fact", "n", {"namespace": "deja-loop"})],
    "namespace on the wire": [Add("fact", "n", {"ns": "deja-loop"})],
    "type in a field": [Supersede(A, "fact", "n", {"type": "recommendation"})],
    "type on the wire": [Add("fact", "n", {"t": "recommendation"})],
    "time in a field": [Add("fact", "n", {"created_at": 1})],
    "parents in a field": [Add("fact", "n", {"derived_from": [A]})],
    "retired by itself": [Retire(A, A)],
    "forgotten twice": [Forget(A), Forget(A)],
    "retired and forgotten": [Retire(A, B), Forget(A)],
    "retired by one that goes": [Retire(A, B), Retire(B, C)],
    "retired by one that is forgotten": [Forget(B), Retire(A, B)],
    "written twice": [Add("fact", "n", {"x": 1}), Add("fact", "n", {"x": 1})],
    "merged with itself": [Merge((A, A), "fact", "n", {})],
    "merged from one": [Merge((A,), "fact", "n", {})],
    "merged and retired": [Merge((A, B), "fact", "n", {}), Retire(B, C)],
    "retired by one that is merged": [Merge((A, B), "fact", "n", {}), Retire(C, B)],
    "merged into a reserved namespace": [Merge((A, B), "fact", "agent:x", {})],
    "one query twice": [DefineQuery("q", "RECALL facts", None), DefineQuery("q", "RECALL goals", None)],
    "no query": [DefineQuery("q", "RECALL facts", None, "view")],
    "one document twice": [DocEdit("/memories/a", "n", A, "x"), DocEdit("/memories/a", "n", A, "y")],
    "a reserved document": [DocEdit("/memories/a", "deja-loop", A, "x")],
    "21 forgets": [Forget(f"{n:064x}") for n in range(21)],
    "a revert among others": [Revert(A), Forget(B)],
    "bytes": [Add("fact", "n", {"x": b"x"})],
    "infinity": [Add("fact", "n", {"x": float("inf")})],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_proposal_may_do(name: str) -> None:
    """LOP-E011: too much, somewhere reserved, or one grain twice."""
    with refused("LOP-E011"):
        check(REFUSED[name])


def test_the_limits_are_inclusive() -> None:
    """40 operations and 8 KiB of canonical JSON are fine, one more is not."""
    check([Retire(f"{n:064x}", A) for n in range(MAX_OPERATIONS)])
    room = MAX_BYTES - size([Add("fact", "n", {"x": ""})])
    check([Add("fact", "n", {"x": "é" * (room // 2) + "y" * (room % 2)})])
    with refused("LOP-E011"):
        check([Add("fact", "n", {"x": "y" * (room + 1)})])


def test_size_does_not_depend_on_the_order_of_fields() -> None:
    """Canonical JSON: sorted keys, no white space, UTF-8."""
    assert size([Add("fact", "n", {"a": 1, "b": "é"})]) == size([Add("fact", "n", {"b": "é", "a": 1})])
    assert size([Forget(A)]) == len(f'[{{"op":"forget","target":"{A}"}}]')


def test_targets_are_every_grain_an_operation_names() -> None:
    """The kept grain of a retirement must be there, too."""
    assert Add("fact", "n", {}).targets() == ()
    assert Supersede(A, "fact", "n", {}).targets() == (A,)
    assert Retire(A, B).targets() == (A, B)
    assert Forget(A).targets() == (A,)
    assert Merge((A, B), "fact", "n", {}).targets() == (A, B)
    for silent in (DefineQuery("q", "b", None), DocEdit("/memories/a", "n", A, "d"), Revert(A)):
        assert silent.targets() == ()


def test_a_query_and_a_template_of_one_name_are_two_things() -> None:
    """D27: ``query:`` and ``template:`` are two schemes."""
    check([DefineQuery("a", "RECALL facts", None), DefineQuery("a", "text", None, "template")])


# --- alternatives and data ---------------------------------------------------------------------------

GOLD = Alternative("gold stays", (Retire(A, B),))
SILVER = Alternative("silver stays", (Retire(B, A),))


@given(
    st.lists(
        st.builds(Alternative, NAMES, st.lists(OPERATIONS, max_size=3).map(tuple)), min_size=1, max_size=4
    )
)
def test_alternatives_survive_being_stored(alternatives: list[Alternative]) -> None:
    """D20: what a reviewer chooses from is what was proposed; the default is stored once."""
    plain = alternatives_to_plain(alternatives)
    assert alternatives_from_plain(plain, alternatives[0].operations) == tuple(alternatives)
    assert "ops" not in plain[0]


@pytest.mark.parametrize(
    "plain",
    [
        None, 7, "x", [7], [{}], [{"label": ""}], [{"label": 7}], [{"label": "a", "ops": []}],
        [{"label": "a"}, {"label": "b"}], [{"label": "a"}, {"label": "b", "ops": 7}],
        [{"label": "a"}, {"label": "b", "ops": [7]}], [{"label": "a"}, {"label": "b", "ops": [], "more": 1}],
    ],
)  # fmt: skip
def test_malformed_alternatives_are_refused(plain: Any) -> None:
    """LOP-E012 on anything that `alternatives_to_plain` does not write."""
    with refused("LOP-E012"):
        alternatives_from_plain(plain, [Retire(A, B)])


REFUSED_CHOICES: dict[str, Any] = {
    "one only": (GOLD,),
    "nine": tuple(Alternative(f"n{n}", GOLD.operations) for n in range(MAX_ALTERNATIVES + 1)),
    "one label twice": (GOLD, Alternative("gold stays ", SILVER.operations)),
    "a blank label": (GOLD, Alternative(" ", SILVER.operations)),
    "a long label": (GOLD, Alternative("x" * (MAX_LABEL + 1), SILVER.operations)),
    "another default": (SILVER, GOLD),
    "nothing to do": (GOLD, Alternative("leave it", ())),
    "a bad operation": (GOLD, Alternative("self", (Retire(C, C),))),
    "too large together": (
        GOLD,
        *(Alternative(f"n{n}", (Add("fact", "n", {"x": "y" * 2_500}),)) for n in range(4)),
    ),
    "no alternative": (GOLD, "silver"),
}


@pytest.mark.parametrize("name", REFUSED_CHOICES)
def test_what_no_choice_may_be(name: str) -> None:
    """LOP-E011: labels that cannot be told apart, another default, more than one proposal may hold."""
    with refused("LOP-E011"):
        check_alternatives(REFUSED_CHOICES[name], GOLD.operations)


def test_a_choice_of_two_values_is_fine() -> None:
    """D20: one per live value; none at all is the ordinary case."""
    check_alternatives((GOLD, SILVER), GOLD.operations)
    check_alternatives((), ())


@pytest.mark.parametrize("data", [7, "x", [], {}, {"x": b"y"}, {"x": float("nan")}, {"x": "y" * MAX_DATA}])
def test_data_of_a_flag_is_a_small_plain_map(data: Any) -> None:
    """LOP-E011 beyond 4 KiB and on what JSON does not hold."""
    with refused("LOP-E011"):
        check_data(data)
    check_data({"skill": "deploy", "practice_count": 9})
    check_data(None)


def test_the_digest_is_of_the_text_as_it_is_kept() -> None:
    """D9: two spellings of one text are one base."""
    assert digest("e\u0301") == digest("\u00e9") != digest("e")
    assert len(digest("")) == 64
