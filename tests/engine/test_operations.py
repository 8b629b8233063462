# SPDX-License-Identifier: Apache-2.0
"""Proposals as data: what is stored is read back, and what no proposal may do is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.engine.operations import (
    MAX_BYTES,
    MAX_OPERATIONS,
    Add,
    Forget,
    Operation,
    Retire,
    Supersede,
    check,
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
)


@given(OPERATIONS)
def test_an_operation_survives_being_stored(operation: Operation) -> None:
    """D9: the canonical map and back is the same operation, destructive or not as its kind says."""
    again = from_plain(to_plain(operation))
    assert again == operation
    assert again.destructive == isinstance(operation, Forget)
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
