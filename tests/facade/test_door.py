# SPDX-License-Identifier: Apache-2.0
"""`Memory.add` as a hostile caller finds it: limits at and over, times, text, namespaces, shapes that are none."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deja_tui import DejaError, Memory
from deja_tui.store.codec import MAX_BYTES, make_grain
from deja_tui.store.names import TYPED
from tests.store.helpers import refuses
from tests.store.test_grains import LEAST as LEAST_OF_ALL
from tests.support import NOW

LEAST = {kind: fields for kind, fields in LEAST_OF_ALL.items() if kind != "recommendation"}
WHOLE = 2**63 - 1
# type, field, what is just taken, what is just refused
LIMITS: list[tuple[str, str, list[Any], list[Any]]] = [
    ("fact", "confidence", [0, 0.0, 1, 1.0], [-1e-9, 1.0000001, float("nan"), True, "0.5", 10**400]),
    ("fact", "importance", [0, 1], [-0.1, 1.1]),
    ("fact", "consolidation_level", [0, 3], [-1, 4, 1.5, "1"]),
    ("fact", "verification_status", ["unverified", "verified", "contested", "retracted"], ["", "Verified", 1]),
    ("fact", "structural_tags", [["a"], ["pii:x", ""]], ["a", [1], {"a": 1}]),
    ("fact", "derived_from", ["a" * 64, ["a" * 64, "b" * 64]], ["", [" "], 5, {"a": 1}]),
    ("fact", "related_to", [[{"hash": "h", "relation_type": "r", "weight": 1.0}]], [[{"hash": "h"}], ["x"], [{"hash": "h", "relation_type": "r", "weight": 1.1}]]),
    ("fact", "invalidation_policy", [{"mode": "timed", "locked_until": WHOLE}], [{}, {"mode": 1}, {"mode": "timed", "locked_until": WHOLE + 1}, "open"]),
    ("event", "role", ["user", "assistant", "system", "tool"], ["", "robot", "User"]),
    ("event", "token_usage", [{"input_tokens": 0, "output_tokens": 2**32 - 1}], [{"input_tokens": 1}, {"input_tokens": 0, "output_tokens": 2**32}, {"input_tokens": -1, "output_tokens": 0}]),
    ("event", "content_blocks", [[{"type": "tool_result", "tool_use_id": "i", "content": "c", "is_error": True}]], [[{"type": "image"}], [{"type": "text"}], [{"type": "tool_use", "id": "i"}], "x"]),
    ("state", "plan", [[], ["p"]], ["p", [1]]),
    ("workflow", "nodes", [[], ["a", "b"]], [["a", "a"], "a", [1]]),
    ("workflow", "edges", [[]], [[{"src": "a", "dst": "b"}], [{"src": "a"}]]),
    ("workflow", "bindings", [{}], [{"a": "x"}, {"a": 1}, []]),
    ("workflow", "retries", [{}], [{"a": 1}, {"a": -1}]),
    ("tool", "duration_ms", [0, WHOLE], [-1, WHOLE + 1, 1.5, "3", True]),
    ("tool", "expires_at_sec", [0, WHOLE], [-1, WHOLE + 1, "2027-01-01"]),
    ("tool", "kind", ["definition"], ["call", ""]),
    ("tool", "status", ["pending", "completed", "failed"], ["done"]),
    ("tool", "failure_cause", ["timeout", "user_aborted"], ["other"]),
    ("tool", "is_error", [True, False], [0, "true"]),
    ("tool", "annotations", [{"destructive": True, "idempotent": False, "read_only": True}], [{"destructive": True}, {"destructive": 1, "idempotent": False, "read_only": True}]),
    ("tool", "transient_definition_hash", ["ab" * 32, b"\x01" * 32], ["AB" * 32, "ab" * 31, b"\x01" * 31]),
    ("tool", "actor_execution_environment", ["server_side_host"], ["host"]),
    ("observation", "observer_type", ["lidar", "of our own"], [5]),
    ("goal", "goal_state", ["active", "satisfied", "failed", "suspended"], ["done"]),
    ("goal", "priority", ["critical", "high", "medium", "low"], ["urgent", 1]),
    ("goal", "progress", [0, 1], [-0.01, 1.01]),
    ("reasoning", "premises", [["p"]], ["p", [5]]),
    ("consensus", "threshold", [0, 0.66, -5], ["2", True]),
    ("consensus", "agreement_count", [0, WHOLE], [-1, WHOLE + 1]),
    ("consent", "scope", ["store", ["store", "share"]], [5, [5]]),
    ("consent", "is_withdrawal", [True], ["yes"]),
    ("skill", "proficiency", [0, 1], [-0.01, 1.01]),
    ("skill", "practice_count", [0, WHOLE], [-1, WHOLE + 1]),
    ("skill", "strategies", [[{"condition": "c", "workflow": "w"}]], [[{"condition": "c"}], "x"]),
]  # fmt: skip


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """An empty memory whose clock stands still."""
    with Memory.open(tmp_path / "m.deja", clock=lambda: NOW, durability="normal") as one:
        yield one


def test_every_limit_is_where_it_says(memory: Memory) -> None:
    """What is just inside comes back; what is just outside is VAL-E001, and the message begins with the field."""
    assert set(LEAST) == set(TYPED) - {"recommendation"}
    for kind, field, taken, refused in LIMITS:
        for value in taken:
            grain = memory.get(memory.add(kind, {**LEAST[kind], field: value}))
            assert grain is not None
            kept = value.hex() if isinstance(value, bytes) else value
            empty = kept in ([], {}) and field not in ("nodes",)
            assert grain.get(field) == (None if empty else kept), (kind, field, value)
        before = memory.stats()["grains"]
        for value in refused:
            with pytest.raises(DejaError) as told:
                memory.add(kind, {**LEAST[kind], field: value})
            assert told.value.code == "VAL-E001", (kind, field, value)
            assert told.value.message.startswith(field), told.value.message
        assert memory.stats()["grains"] == before


@pytest.mark.parametrize(
    "given,ms",
    [
        (1_772_442_000, NOW),
        (NOW, NOW),
        (1_772_442_000.5, NOW + 500),
        ("2026-03-02T09:00:00Z", NOW),
        ("2026-03-02T10:00:00+01:00", NOW),
        ("2026-03-02 09:00", NOW),
        ("2026-03-02", NOW - 9 * 3_600_000),
        ("2026-03-02T09:00:00.123456Z", NOW + 123),
        (0, 0),
        (-1, -1_000),
        (10**11 - 1, (10**11 - 1) * 1_000),
        (10**11, 10**11),
        (-(10**11), -(10**11)),
    ],
)  # fmt: skip
def test_a_time_is_read_alike_in_every_time_field(memory: Memory, given: Any, ms: int) -> None:
    """ISO-8601, seconds, milliseconds; kept as epoch ms."""
    fields = ("valid_from", "valid_to", "system_valid_from", "system_valid_to")
    address = memory.add_fact("s", "r", "o", created_at=given, **dict.fromkeys(fields, given))
    grain = memory.get(address)
    assert grain is not None
    assert [grain.created_at, *(grain.get(name) for name in fields)] == [ms] * 5
    skill = memory.get(memory.add_skill("n", "d", last_practiced_at=given))
    assert skill is not None
    assert skill.get("last_practiced_at") == ms


@pytest.mark.parametrize("name", ["created_at", "valid_from", "valid_to"])
@pytest.mark.parametrize(
    "given",
    ["yesterday", "", "2026-02-30", "0000-01-01", "10000-01-01", "2026-03-02T25:00", "12", float("nan"), float("inf"), 1e20, 2**63,
     True, [NOW], {"at": NOW}],
)  # fmt: skip
def test_any_other_time_is_refused_by_name(memory: Memory, name: str, given: Any) -> None:
    """VAL-E002, or VAL-E001 for what no grain can hold; nothing is stored."""
    with pytest.raises(DejaError) as told:
        memory.add_fact("s", "r", "o", **{name: given})
    assert told.value.code in ("VAL-E002", "VAL-E001")
    assert told.value.message.startswith(name)
    assert memory.stats()["grains"] == 0


@pytest.mark.parametrize("value", [datetime.date(2026, 1, 1), {1, 2}, b"x", object(), 2**64, -(2**63) - 1])
def test_what_is_no_json_is_refused_by_name(memory: Memory, value: Any) -> None:
    """In a typed field, in an unknown one, and deep inside."""
    for fields in ({"context": value}, {"own": value}, {"own": {"deep": [value]}}):
        with pytest.raises(DejaError) as told:
            memory.add("fact", {**LEAST["fact"], **fields})
        assert told.value.code == "VAL-E001"
        assert told.value.message.startswith(next(iter(fields)))


def test_fields_that_are_no_map_and_types_that_are_none_are_coded(memory: Memory) -> None:
    """No TypeError of the language's own leaves the door."""
    for fields in (None, 5, "text", [1], [("subject", "s")], {1: 2}):
        with refuses("VAL-E001"):
            memory.add("fact", fields)  # type: ignore[arg-type]
    for kind in (None, 5, ["fact"], "Fact", "facts", ""):
        with refuses("VAL-E001"):
            memory.add(kind, LEAST["fact"])  # type: ignore[arg-type]
    address = memory.add("fact", LEAST["fact"])
    with refuses("VAL-E001"):
        memory.supersede(address, [("object", "p")])  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [5, ["a"], b"x", "", " ", "x" * 257])
def test_a_namespace_that_could_not_be_asked_for_is_refused(
    memory: Memory, given: Any, tmp_path: Path
) -> None:
    """Among the fields, as the argument, and at the open."""
    with refuses("VAL-E001"):
        memory.add("fact", {**LEAST["fact"], "namespace": given})
    with refuses("VAL-E001"):
        memory.add("fact", LEAST["fact"], namespace=given)
    with refuses("VAL-E001"):
        Memory.open(tmp_path / "other.deja", namespace=given)


@pytest.mark.parametrize(
    "given,kept", [("a\ud800b", "a\ufffdb"), ("a\x00b", "a\ufffdb"), ("e\u0301", "\u00e9"), ("x" * 256, "x" * 256)]
)  # fmt: skip
def test_text_has_one_rule_in_fields_names_and_namespaces(memory: Memory, given: str, kept: str) -> None:
    """TEXT-1: NFC; a lone surrogate and a NUL become U+FFFD; at every depth."""
    fields = {"subject": given, "relation": given, "object": given, f"own {given}": {given: [given]}}
    grain = memory.get(memory.add("fact", fields, namespace=given))
    assert grain is not None
    assert grain.namespace == kept
    assert {name: grain.get(name) for name in ("subject", "relation", "object")} == dict.fromkeys(
        ("subject", "relation", "object"), kept
    )
    assert grain.get(f"own {kept}") == {kept: [kept]}
    assert memory.verify() == ()


def test_a_grain_may_be_as_large_as_the_format_says_and_no_larger(memory: Memory) -> None:
    """16 MiB with the header; the refusal names both sizes."""
    empty = len(memory.store.blob(memory.add_event("x", created_at=NOW)) or b"") - 1
    room = MAX_BYTES - empty - 4  # a long text has four bytes more before it
    address = memory.add_event("x" * room, created_at=NOW)
    assert len(memory.store.blob(address) or b"") == MAX_BYTES
    with pytest.raises(DejaError, match=f"{MAX_BYTES + 1} bytes, at most {MAX_BYTES}") as told:
        memory.add_event("x" * (room + 1), created_at=NOW)
    assert told.value.code == "FMT-E001"


def test_a_chain_stays_in_the_namespace_it_is_in_even_one_without_a_name(memory: Memory) -> None:
    """A copy may send a grain whose namespace is empty; superseding moves it nowhere."""
    odd = make_grain("fact", {**LEAST["fact"], "confidence": 1.0}, namespace="", created_at=NOW)
    with memory.store.act() as act:
        old = act.add(odd).address
    new = memory.get(memory.supersede(old, {"object": "p"}))
    assert new is not None
    assert new.namespace == ""


def test_a_superseding_grain_takes_over_what_was_not_changed(memory: Memory) -> None:
    """GRAIN-1 along a chain: an explicit null, an empty context and own names stay; None removes."""
    old = memory.add("tool", {"tool_name": "t", "input": None, "mine": 1, "context": {}, "error": "e"})
    new = memory.get(memory.supersede(old, {"tool_content": "done", "error": None}))
    assert new is not None
    assert dict(new.fields) == {
        "tool_name": "t", "input": None, "mine": 1, "context": {}, "tool_content": "done", "confidence": 1.0, "derived_from": old,
    }  # fmt: skip
    bare = memory.get(memory.supersede(new.address, {"input": None}))
    assert bare is not None
    assert "input" not in bare.fields


@pytest.mark.parametrize("path", ["a\x00b", "a\ud800b", ""])
def test_a_name_that_no_file_can_have_is_coded(memory: Memory, tmp_path: Path, path: str) -> None:
    """At every door that takes a path; and a number is no path, though an open file may have it."""
    name = f"{tmp_path}/{path}" if path else ""
    for code, call in (
        ("STO-E008", lambda: Memory.open(name)),
        ("STO-E008", lambda: memory.bundle(name)),
        ("STO-E008", lambda: memory.subject_bundle(name, "s")),
        ("STO-E008", lambda: memory.push_segments(name)),
        ("STO-E008", lambda: Memory.restore(memory.store.path, name, until=NOW, because="x")),
        ("IMP-E001", lambda: memory.import_bundle(name)),
        ("IMP-E001", lambda: Memory.restore(name, tmp_path / "new", until=NOW, because="x")),
    ):
        with refuses(code):
            call()
    with refuses("VAL-E001"):
        memory.import_bundle(0)  # type: ignore[arg-type]


def test_a_type_that_is_none_is_no_filter(memory: Memory) -> None:
    """VAL-E001, not an empty answer."""
    memory.add("fact", LEAST["fact"])
    for call in (
        lambda: memory.recall("s", type="facts"),
        lambda: memory.search("o", type="facts"),
        lambda: list(memory.scan("facts")),
        lambda: memory.older_than(NOW, type="facts"),
    ):
        with refuses("VAL-E001"):
            call()


def test_a_wrong_kind_of_value_is_coded_at_every_door(memory: Memory) -> None:
    """VAL-E001, never an error of the language's own, for addresses, texts, numbers of grains, paths and statements."""
    held = memory.add("fact", LEAST["fact"])
    doors: tuple[Callable[[Any], object], ...] = (
        memory.get,
        memory.history,
        memory.provenance,
        lambda it: memory.merge(it, reason="x"),
        lambda it: memory.forget(it, because="x"),
        lambda it: memory.supersede(it, {}),
        lambda it: memory.retire(it, by=held, reason="x"),
        lambda it: memory.retire(held, by=it, reason="x"),
        lambda it: memory.recall(it),
        lambda it: memory.recall("s", it),
        lambda it: memory.recall("s", namespace=it),
        lambda it: memory.latest(it, "r"),
        lambda it: memory.heads("s", it),
        lambda it: memory.forks(namespace=it),
        lambda it: memory.search(it),
        lambda it: memory.search("a", namespace=it),
        lambda it: memory.search("a", subject=it),
        lambda it: list(memory.scan("fact", namespace=it)),
        lambda it: list(memory.changes(subject=it)),
        lambda it: memory.context(it),
        lambda it: memory.bundle(it),
        lambda it: memory.import_bundle(it),
        lambda it: memory.push_segments(it),
        lambda it: memory.cal(it),
        lambda it: memory.cal("RECALL facts", it),
        lambda it: Memory.open(it),
    )
    for number, door in enumerate(doors):
        with pytest.raises(DejaError) as told:
            door(5)
        assert told.value.code == "VAL-E001", number
    for counted in (
        lambda: memory.recall("s", k="x"),  # type: ignore[arg-type]
        lambda: memory.search("s", k="x"),  # type: ignore[arg-type]
        lambda: list(memory.scan("fact", after="x")),  # type: ignore[arg-type]
        lambda: memory.history(held, limit="x"),  # type: ignore[arg-type]
        lambda: memory.context("s", budget="x"),  # type: ignore[arg-type]
    ):
        with refuses("VAL-E001"):
            counted()
