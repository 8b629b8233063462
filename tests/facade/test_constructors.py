# SPDX-License-Identifier: Apache-2.0
"""One typed method a grain type: nothing given is lost, nothing of the format is missing from the signature."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deja_tui import DejaError, Memory
from deja_tui.constructors import Constructors
from deja_tui.store.names import TYPED, TYPES
from tests.support import NOW

EXAMPLES: dict[str, dict[str, Any]] = {
    "fact": {"subject": "acme", "relation": "tier", "object": "gold", "confidence": 0.8},
    "event": {
        "content": "hello",
        "role": "user",
        "subject": "ada",
        "object": "greeting",
        "session_id": "s1",
        "parent_message_id": "m0",
        "content_blocks": [
            {"type": "text", "text": "hello"},
            {"type": "tool_use", "id": "1", "name": "curl", "input": {"url": "x"}},
            {"type": "tool_result", "tool_use_id": "1", "content": "ok", "is_error": False},
        ],
        "model_id": "m",
        "stop_reason": "end_turn",
        "token_usage": {"input_tokens": 3, "output_tokens": 4, "cache_read_tokens": 1, "cache_creation_tokens": 0},
        "run_id": "r1",
    },
    "state": {"context": {"b": [1, {"a": None}]}, "plan": ["one", "two"], "history": [1], "common_context": {"x": 1}},
    "workflow": {
        "nodes": ["a", "b"],
        "edges": [{"src": "a", "dst": "b", "cond": "ok", "max_cycles": 2}],
        "bindings": {"a": "curl"},
        "retries": {"b": 3},
        "trigger": "daily",
    },
    "tool": {
        "tool_name": "curl",
        "kind": "definition",
        "input": {"url": "x"},
        "tool_content": "ok",
        "is_error": False,
        "error": "none",
        "duration_ms": 12,
        "parent_task_id": "t0",
        "tool_call_id": "c1",
        "call_batch_id": "b1",
        "tool_description": "fetches",
        "input_schema": {"type": "object"},
        "output_schema": {"type": "string"},
        "strict": True,
        "async_mode": False,
        "executor_uri": "local:curl",
        "locked_params": {"a": 1},
        "examples": [{"url": "y"}],
        "annotations": {"destructive": False, "idempotent": True, "read_only": True},
        "spec_hash": "ab",
        "executor_kind": "client",
        "status": "completed",
        "correlation_id": "x",
        "expires_at_sec": 7,
        "transient_definition_hash": "ab" * 32,
        "failure_cause": "timeout",
        "failure_detail": "slow",
        "actor_execution_environment": "server_side_host",
    },
    "observation": {
        "object": "it rains",
        "observer_id": "cam-1",
        "observer_type": "camera",
        "subject": "oslo",
        "observer_model": "m",
        "observation_mode": "batch",
        "observation_scope": "shared",
    },
    "goal": {
        "description": "ship it",
        "goal_state": "suspended",
        "subject": "acme",
        "object": "v2",
        "priority": "high",
        "criteria": "tests pass",
        "criteria_structured": [{"all": True}],
        "parent_goals": ["ab" * 32],
        "state_reason": "waiting",
        "satisfaction_evidence": {"run": 1},
        "progress": 0.5,
        "delegate_to": "bo",
        "delegate_from": "ada",
        "expiry_policy": {"days": 3},
        "recurrence": "weekly",
        "evidence_required": True,
        "rollback_on_failure": False,
        "allowed_transitions": ["active"],
    },
    "reasoning": {
        "conclusion": "so it is",
        "premises": ["a", "b"],
        "inference_method": "deductive",
        "alternatives_considered": ["c", {"d": 1}],
        "thinking_content": "hm",
        "thinking_redacted": False,
    },
    "consensus": {
        "agreed_content": "yes",
        "participating_observers": ["a", "b"],
        "threshold": 0.5,
        "agreement_count": 2,
        "dissent_count": 0,
        "dissent_grains": ["cd" * 32],
    },
    "consent": {
        "subject_did": "did:x:pat",
        "grantee_did": "did:x:acme",
        "scope": "store",
        "is_withdrawal": True,
        "basis": "contract",
        "jurisdiction": "eu",
        "prior_consent": "ef" * 32,
        "witness_dids": ["did:x:bo"],
    },
    "skill": {
        "name": "welding",
        "description": "joins metal",
        "instructions": "heat",
        "when_to_use": "broken",
        "version": "2",
        "allowed_tools": ["torch"],
        "resources": ["rod"],
        "dependencies": ["safety"],
        "input_modalities": ["text"],
        "output_modalities": ["text"],
        "domain": "metal",
        "holder_did": "did:x:ada",
        "proficiency": 0.75,
        "practice_count": 4,
        "last_practiced_at": NOW,
        "strategies": [{"condition": "thin", "workflow": "low", "description": "careful"}],
        "transferable": True,
    },
}  # fmt: skip
KINDS = [kind for kind in TYPES if kind != "recommendation"]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW) as opened:
        yield opened


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_a_type_stands_in_its_signature(kind: str) -> None:
    """The format and the method agree; what is common to all types goes through the rest."""
    common = TYPED["fact"] - {"subject", "relation", "object"}
    named = set(inspect.signature(getattr(Constructors, f"add_{kind}")).parameters) - {"self", "fields"}
    own = TYPED[kind] - common if kind != "state" else (TYPED[kind] - common) | {"context"}
    assert named - {"confidence"} == own
    assert set(EXAMPLES[kind]) == named


@pytest.mark.parametrize("kind", KINDS)
def test_everything_given_comes_back(memory: Memory, kind: str) -> None:
    """All typed fields, common ones, unknown ones; the file verifies."""
    common = {
        "created_at": NOW - 5,
        "importance": 0.5,
        "user_id": "u1",
        "tags": ["pii:name"],
        "source_type": "user_explicit",
        "valid_from": "2026-01-01",
        "valid_to": 1_800_000_000,
        "temporal_type": "state",
        "derived_from": "ab" * 32,
        "related_to": [{"hash": "cd" * 32, "relation_type": "similar", "weight": 0.5}],
        "ticket": {"id": 7},
    }
    if kind != "state":
        common["context"] = {"source": "test"}
    given = EXAMPLES[kind]
    found = memory.get(getattr(memory, f"add_{kind}")(**given, **common))
    assert found is not None
    assert (found.type, found.created_at) == (kind, NOW - 5)
    for name, value in given.items():
        assert found.get(name) == value, name
    assert found.get("structural_tags") == ["pii:name"]
    assert (found.get("valid_from"), found.get("valid_to")) == (1_767_225_600_000, 1_800_000_000_000)
    for name in set(common) - {"created_at", "tags", "valid_from", "valid_to"}:
        assert found.get(name) == common[name], name
    assert memory.verify() == ()


def test_what_is_not_given_is_not_written(memory: Memory) -> None:
    """None is absent; a namespace goes where it says."""
    found = memory.get(memory.add_event("hi", role=None, namespace="user:ada"))
    assert found is not None
    assert found.namespace == "user:ada"
    assert set(found.fields) == {"content", "confidence"}


def test_a_result_that_is_no_text_is_kept_as_json(memory: Memory) -> None:
    """And every call is its own occurrence."""
    first, second = (memory.record_tool_call("curl", {"b": 1, "a": [2]}) for _ in range(2))
    found = memory.get(first)
    assert found is not None
    assert found.get("tool_content") == '{"a":[2],"b":1}'
    assert first != second


@pytest.mark.parametrize(
    ("call", "code", "field"),
    [
        (lambda m: m.add_goal("x", goal_state="asleep"), "VAL-E001", "goal_state"),
        (lambda m: m.add_goal("x", progress=2), "VAL-E001", "progress"),
        (lambda m: m.add_event(" "), "VAL-E001", "content"),
        (lambda m: m.add_event("x", role="boss"), "VAL-E001", "role"),
        (lambda m: m.add_skill("x", "y", last_practiced_at="lately"), "VAL-E002", "last_practiced_at"),
        (lambda m: m.add_workflow(["a"], edges=[{"src": "a", "dst": "b"}]), "VAL-E001", "edges"),
        (lambda m: m.add_consensus(agreement_count=-1), "VAL-E001", "agreement_count"),
        (lambda m: m.add_fact("a", "b", "c", namespace="agent:x"), "VAL-E004", "reserved"),
    ],
)
def test_a_refusal_names_the_field(memory: Memory, call: Any, code: str, field: str) -> None:
    """One coded error, nothing stored."""
    with pytest.raises(DejaError, match=code) as refusal:
        call(memory)
    assert field in refusal.value.message
    assert memory.stats()["grains"] == 0


def test_a_scan_goes_through_many_grains_in_arrival_order(memory: Memory) -> None:
    """Live ones of this namespace; others when asked for; from where an earlier one ended; while writes go on."""
    with memory.store.act():
        added = [memory.add_fact("s", "n", str(n), created_at=NOW - n) for n in range(600)]
    memory.supersede(added[5], {"object": "five"})
    elsewhere = memory.add_fact("s", "n", "elsewhere", namespace="other")
    seen = memory.scan("fact")
    first = next(seen)
    memory.add_fact("s", "n", "during")
    rest = [grain.address for grain in seen]
    assert [first.address, *rest][:5] == added[:5]
    assert len(rest) == 599
    assert added[5] in {grain.address for grain in memory.scan("fact", live=False)}
    assert elsewhere in {grain.address for grain in memory.scan("fact", everywhere=True)}
    assert next(memory.scan("fact", after=first.seq)).address == added[1]
    with pytest.raises(DejaError, match="VAL-E001"):
        memory.scan("poem")
