# SPDX-License-Identifier: Apache-2.0
"""Grain bytes: exact both ways, strict about what comes in, and nothing but coded errors for the rest."""

from __future__ import annotations

import json
import struct
import threading
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deja_tui.errors import DejaError, ValidationError
from deja_tui.store import codec, names, normal_form
from deja_tui.store.codec import Grain, address, decode, encode, make_grain
from tests.support import shared

AT = 1_768_471_200_000
SECOND = AT // 1000
EXAMPLES = settings(max_examples=100, deadline=None, derandomize=True)
PARENT = "3288d0d41cf49a1d428e404f0b6a6fe60388be9536937557f6139b813d53a520"


# --- what the tests build with ----------------------------------------------------------------------


def header(
    kind: str = "fact", *, ns: str = "", seconds: int = SECOND, flags: int = 0, ns_hash: bytes | None = None
) -> bytes:
    digest = codec._namespace_hash(ns) if ns_hash is None else ns_hash
    return struct.pack(">BBB2sI", 1, flags, names.TYPES[kind], digest, seconds)


def packed(value: object) -> bytes:
    blob: bytes = msgpack.packb(value)
    return blob


def blob_of(items: dict[str, Any], kind: str = "fact", **head: Any) -> bytes:
    """A blob whose payload holds ``items`` in key order beside type and time."""
    whole = {"t": kind, "ca": AT, **items}
    return header(kind, **head) + packed({key: whole[key] for key in sorted(whole)})


def raw(*pairs: tuple[bytes, bytes]) -> bytes:
    """A payload written by hand, key and value bytes as given."""
    return bytes([0x80 | len(pairs)]) + b"".join(key + value for key, value in pairs)


CA = (b"\xa2ca", packed(AT))
T = (b"\xa1t", b"\xa4fact")


def fault(blob: bytes, **how: Any) -> DejaError:
    with pytest.raises(DejaError) as caught:
        decode(blob, **how)
    return caught.value


def shown(grain: Grain) -> dict[str, Any]:
    """Everything a reader gets, as the shared dumps list it."""
    whole = {**grain.extras, **grain.fields, "type": grain.type, "created_at": grain.created_at}
    return whole if grain.namespace is None else {**whole, "namespace": grain.namespace}


def with_bytes(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"$bin"}:
            return bytes.fromhex(value["$bin"])
        return {key: with_bytes(item) for key, item in value.items()}
    return [with_bytes(item) for item in value] if isinstance(value, list) else value


def exactly(left: Any, right: Any) -> bool:
    """Equal with kinds: 1 is not 1.0, and -0.0 is not 0.0."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


@cache
def vectors() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(shared("vectors/grains.json").read_text("utf-8"))
    return found


def rows(bundle: Path) -> Iterator[tuple[str, bytes]]:
    """Address and blob of each row of a bundle."""
    data = bundle.read_bytes()
    assert data[:4] == b"MGB1"
    at = 4
    while at < len(data):
        digest, size = data[at + 9 : at + 41], int.from_bytes(data[at + 41 : at + 45], "little")
        yield digest.hex(), data[at + 45 : at + 45 + size]
        at += 45 + size


# --- exact, against the shared data -----------------------------------------------------------------


def test_every_vector_reads_and_writes_the_same_bytes() -> None:
    """INV-CODEC-1: each vector decodes, strictly, to what it lists, re-encodes to its bytes and has its address."""
    assert len(vectors()) == 230
    for vector in vectors():
        blob = bytes.fromhex(vector["expected_hex"])
        grain = decode(blob)
        beside = {"type": vector["type"], "created_at": vector["created_at"]}
        if vector["ns"] is not None:
            beside["namespace"] = vector["ns"]
        listed = {**vector["fields"], **vector.get("extra_fields", {}), **beside}
        assert address(blob) == vector["expected_sha256"], vector["name"]
        assert encode(grain) == blob, vector["name"]
        assert exactly(shown(grain), vector.get("decoded_fields", listed)), vector["name"]
        assert decode(blob, strict=False) == grain, vector["name"]


def test_every_vector_is_made_from_its_fields() -> None:
    """INV-CODEC-2: the fields of each vector become its bytes, flags and namespace hash included."""
    for vector in vectors():
        grain = make_grain(
            vector["type"],
            with_bytes(vector["fields"]),
            namespace=vector["ns"],
            created_at=vector["created_at"],
            extras=with_bytes(vector.get("extra_fields", {})),
        )
        assert encode(grain).hex() == vector["expected_hex"], vector["name"]
        assert grain == decode(bytes.fromhex(vector["expected_hex"])), vector["name"]
        assert grain.flags == vector["flags"], vector["name"]


def test_every_blob_of_a_reference_bundle_is_exact() -> None:
    """INV-CODEC-1: all blobs of the sample bundle read, write back to the same bytes and have the row's address."""
    listed = json.loads(shared("vectors/sample.bundle.json").read_text("utf-8"))["ops"]
    read = list(rows(shared("vectors/sample.bundle")))
    assert len(read) == len(listed) == 254
    types = set()
    for (digest, blob), row in zip(read, listed, strict=True):
        assert digest == row["hash"]
        if blob:
            grain = decode(blob)
            types.add(grain.type)
            assert encode(grain) == blob
            assert address(blob) == digest
            assert exactly(shown(grain), row["fields"])
    assert types == set(names.TYPES)


# --- exact, without the shared data -----------------------------------------------------------------

PINNED: dict[str, tuple[dict[str, Any], dict[str, Any], str | None, str]] = {
    "fact": (
        {
            "subject": "user",
            "relation": "prefers",
            "object": "dark mode",
            "confidence": 0.9,
            "source_type": "user_explicit",
            "author_did": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
        },
        {},
        "shared",
        "3288d0d41cf49a1d428e404f0b6a6fe60388be9536937557f6139b813d53a520",
    ),
    "event": (
        {
            "content": "hello",
            "subject": "user-1",
            "object": "session-1",
            "role": "assistant",
            "session_id": "sess-1",
            "parent_message_id": PARENT,
            "content_blocks": [
                {"type": "text", "text": "hi"},
                {"type": "tool_use", "id": "t1", "name": "calc", "input": {"y": 2, "x": 1.5, "n": None}},
                {"type": "tool_result", "tool_use_id": "t1", "content": "3", "is_error": False},
                {"type": "tool_result", "tool_use_id": "t2", "content": "4"},
            ],
            "model_id": "model-a",
            "stop_reason": "end_turn",
            "token_usage": {
                "input_tokens": 1200,
                "output_tokens": 300,
                "cache_read_tokens": 5,
                "cache_creation_tokens": 70000,
            },
            "run_id": "run-1",
        },
        {},
        "shared",
        "478284dbc0f85d152995c514f25b12ae05512fe059918b3550110bf33eca3d3f",
    ),
    "state": (
        {
            "context": {"subject": "x", "o": 1, "b": [1, {"d": 2, "c": 1}], "f": 1.0, "n": None},
            "plan": ["p1", "p2"],
            "history": [{"node": "a", "ok": True}, "s"],
        },
        {"label": "top"},
        "shared",
        "76c1f5b52fecd26f364b5a6c60bb882c5e10076f1dd83bbbf57f993e87706ff1",
    ),
    "workflow": (
        {
            "nodes": ["build", "test", "deploy"],
            "trigger": "merge to main",
            "edges": [
                {"src": "build", "dst": "test"},
                {"src": "test", "dst": "deploy", "cond": "tests green"},
                {"src": "deploy", "dst": "build", "max_cycles": 2},
            ],
            "bindings": {"test": "sha256:abc"},
            "retries": {"test": 3},
        },
        {},
        "conformance",
        "c06c0358ef96c3fd18e2838edbb1a225d83f33cb15dfc42aa3cd2ed4c009d742",
    ),
    "tool": (
        {
            "tool_name": "t",
            "input": "raw string",
            "tool_content": "out",
            "is_error": True,
            "error": "boom",
            "duration_ms": 312,
            "parent_task_id": PARENT,
            "tool_call_id": "call_1",
            "call_batch_id": "b1",
            "status": "failed",
            "failure_cause": "executor_error",
        },
        {},
        "shared",
        "99dfb8bdeb621bf36ac88066b413e963dfda570765127cd06911f098d130e7be",
    ),
    "observation": (
        {
            "observer_id": "agent-observer",
            "observer_type": "llm",
            "subject": "user",
            "object": "sentiment",
            "observation_mode": "realtime",
            "observation_scope": "private",
        },
        {},
        "conformance",
        "7cedad3fa7fced2b51b82ae76fcaf2a117c8680e7fa1774a8eb33917e06f674c",
    ),
    "goal": (
        {
            "description": "d",
            "goal_state": "suspended",
            "subject": "s",
            "object": "o",
            "priority": "critical",
            "criteria": "c",
            "criteria_structured": {"b": 1, "a": 2},
            "parent_goals": [PARENT],
            "state_reason": "sr",
            "satisfaction_evidence": [
                PARENT,
                "df928038769506fb66671aced0eb97d45871e169e505ed55a382c744e620550e",
            ],
            "progress": 0.05,
            "delegate_to": "did:a",
            "delegate_from": "did:b",
            "expiry_policy": {"after": 1},
            "recurrence": None,
            "evidence_required": False,
            "rollback_on_failure": False,
            "allowed_transitions": [],
        },
        {},
        "shared",
        "8ca49943c8e1863c139b15aaa8cae66d0b96f0ab4275be5b4ab1975600795751",
    ),
    "reasoning": (
        {
            "premises": [
                "Requirement: p99 < 1ms",
                "Requirement: memory safety",
                "Constraint: no garbage collector",
            ],
            "conclusion": "The project should use Rust for performance",
            "inference_method": "abductive",
            "alternatives_considered": ["Go — has GC pauses", "C++ — no memory safety guarantees"],
            "thinking_content": "Considered Go, Rust, and C++. Rust provides memory safety without GC.",
            "thinking_redacted": False,
            "confidence": 0.95,
        },
        {},
        "engineering",
        "298ec595561399690bd38bbb8f1687a37df625bff522470332af6b2b07ce6009",
    ),
    "consensus": (
        {
            "participating_observers": ["agent-alpha", "agent-beta", "agent-gamma"],
            "threshold": 0.67,
            "agreement_count": 3,
            "dissent_count": 0,
            "agreed_content": "User is located in Berlin, Germany",
        },
        {},
        "location",
        "f181baeaaa568be9a2748915cf752a61a824b55fc9cde8ca73e50f8c572f1069",
    ),
    "consent": (
        {
            "subject_did": "did:key:z6MkUser789",
            "grantee_did": "did:key:z6MkAgent012",
            "scope": "memory:read,memory:write",
            "is_withdrawal": False,
            "basis": "explicit_consent",
            "jurisdiction": "EU-GDPR",
            "witness_dids": ["did:key:z6MkWitness345"],
        },
        {},
        "consent-registry",
        "d0ad591fbeb234318f6520fc7a7e5e048e7a23ea1bc5ca337ee73e1c9c24a2e2",
    ),
    "skill": (
        {
            "name": "n",
            "description": "d",
            "holder_did": "did:h",
            "last_practiced_at": AT,
            "strategies": [
                {"condition": "c", "workflow": "w"},
                {"condition": "c2", "workflow": "w2", "description": "d2"},
            ],
            "transferable": True,
            "proficiency": 0.82,
            "confidence": 0.82,
        },
        {},
        "shared",
        "a0a624dbed203e16586985e4202c17548932ee29e94421fed4d8659d2bb2578f",
    ),
    "recommendation": (
        {
            "target_ref": "host:settings",
            "analyzer": {"id": "acme.host"},
            "summary": {"template_id": "t", "args": None},
            "dedup_key": "dbc4f55ab04c630dc07984f174a9511d788e6f36391a18f17547da6440c89ed0",
            "proposal_data": {"z": 1, "a": {"c": 1, "b": 2}},
            "severity": "info",
        },
        {},
        None,
        "de38cf384fc4e3baddf93d44d5795edcf30e2ad092f133a53550dfb422fef9ca",
    ),
}


@pytest.mark.parametrize("kind", names.TYPES)
def test_the_address_of_each_type_is_pinned(kind: str) -> None:
    """A grain of each type has the address that the reference product's codec gives it, so that drift fails here."""
    fields, extras, namespace, expected = PINNED[kind]
    grain = make_grain(kind, fields, namespace=namespace, created_at=AT, extras=extras)
    blob = encode(grain)
    assert address(blob) == expected
    assert decode(blob) == grain


def test_the_bytes_of_a_small_fact_are_those_of_the_table() -> None:
    """The header table in the module and docs/format.md, spelt out once."""
    grain = make_grain(
        "fact", {"subject": "s", "relation": "r", "object": "o"}, namespace="shared", created_at=AT
    )
    assert encode(grain).hex(" ", 1) == (
        "01 00 01 a4 d2 69 68 ba a0"
        " 87 a1 63 cb 3f f0 00 00 00 00 00 00"
        " a2 63 61 cf 00 00 01 9b c1 19 01 00"
        " a2 6e 73 a6 73 68 61 72 65 64"
        " a1 6f a1 6f a1 72 a1 72 a1 73 a1 73 a1 74 a4 66 61 63 74"
    )


def test_parents_keep_the_form_they_have_on_the_wire() -> None:
    """D8: ``derived_from`` is a text or a list, and each comes back as it was."""
    for parents in (PARENT, [PARENT], [PARENT, "f" * 64], []):
        made = make_grain("observation", {"derived_from": parents}, namespace="deja-loop", created_at=AT)
        assert decode(encode(made)).fields["derived_from"] == parents


def test_seconds_in_the_header_are_cut_and_clamped() -> None:
    """The header holds whole seconds between 0 and ffffffff; the payload keeps every millisecond."""
    for at, seconds in (
        (1999, 1),
        (-1500, 0),
        (0, 0),
        (2**50, 2**32 - 1),
        (-(2**63), 0),
        (2**63 - 1, 2**32 - 1),
    ):
        blob = encode(make_grain("fact", {}, namespace=None, created_at=at))
        assert int.from_bytes(blob[5:9], "big") == seconds
        assert decode(blob).created_at == at


@pytest.mark.parametrize(
    ("fields", "flags"),
    [
        ({}, 0x00),
        ({"structural_tags": ["reg:a"]}, 0x40),
        ({"structural_tags": ["reg:a", "pii:b"]}, 0x80),
        ({"structural_tags": ["sec:a"]}, 0x80),
        ({"structural_tags": ["legal:a", "reg:b"]}, 0x80),
        ({"structural_tags": ["legal:a", "phi:b"]}, 0xC0),
        ({"structural_tags": ["PHI:b", "xphi:", "phi"]}, 0x00),
        ({"source_type": "inferred"}, 0x20),
        ({"source_type": "Inferred"}, 0x00),
        ({"content_refs": [{"uri": "u"}]}, 0x08),
        ({"embedding_refs": [{"vector_id": "v"}]}, 0x10),
        ({"content_refs": [], "embedding_refs": []}, 0x00),
    ],
)
def test_flags_follow_from_the_fields(fields: dict[str, Any], flags: int) -> None:
    """References, machine-made sources and the most sensitive tag set the header flags."""
    assert make_grain("fact", fields, namespace=None, created_at=0).flags == flags


def test_flags_are_kept_and_not_interpreted() -> None:
    """A reader keeps the flag byte it finds, because it is part of the address."""
    blob = blob_of({"s": "x"}, flags=0x07)
    assert decode(blob).flags == 0x07
    assert encode(decode(blob)) == blob


# --- namespaces -------------------------------------------------------------------------------------


def test_the_namespace_hash_is_that_of_the_given_spelling() -> None:
    """D8: two spellings of one namespace differ in the header only, and both come back byte for byte."""
    composed = make_grain("fact", {}, namespace="caf\u00e9", created_at=AT)
    decomposed = make_grain("fact", {}, namespace="cafe\u0301", created_at=AT)
    assert composed.namespace == decomposed.namespace == "caf\u00e9"
    assert composed.ns_hash != decomposed.ns_hash
    assert encode(composed)[9:] == encode(decomposed)[9:]
    for grain in (composed, decomposed):
        assert decode(encode(grain)) == grain


@pytest.mark.parametrize(
    ("namespace", "checked"),
    [
        ("shared", True),
        ("", True),
        (None, True),
        ("café", False),
        ("K", False),
        ("a;b", False),
        ("한", False),
        ("日本", True),
    ],
)
def test_a_namespace_hash_is_refused_where_it_can_be_checked(namespace: str | None, checked: bool) -> None:
    """D8: text with one spelling only must carry its own hash; with more than one, the given spelling is gone."""
    items = {} if namespace is None else {"ns": namespace}
    wrong = blob_of(items, ns_hash=b"\xff\xfe")
    if checked:
        assert fault(wrong).code == "FMT-E001"
        assert decode(wrong, strict=False).ns_hash == b"\xff\xfe"
    else:
        assert encode(decode(wrong)) == wrong


def test_the_ranges_of_respelt_characters_miss_none() -> None:
    """The namespace check looks at every code point that has another spelling."""
    found: set[str] = set()
    for char in map(chr, range(0x110000)):
        normal = unicodedata.normalize("NFC", char)
        if normal != char and not "\ud800" <= char <= "\udfff":
            found.update(normal)
    assert found <= codec._respelt()


# --- what a strict reader refuses -------------------------------------------------------------------

REFUSED_PAYLOADS = [
    ("not a map", b"\x90", "FMT-E002", "not a map"),
    ("nil", b"\xc0", "FMT-E002", "not a map"),
    ("trailing", raw(CA, T) + b"\x00", "FMT-E002", "1 trailing byte"),
    ("unsorted", raw(T, CA), "FMT-E002", "not sorted"),
    ("unsorted inside", raw((b"\xa1a", b"\x82\xa1b\x01\xa1a\x01"), CA, T), "FMT-E002", "not sorted"),
    ("UTF-16 order", raw((b"\xa1a", b"\x82\xa4\xf0\x9f\x98\x80\x01\xa3\xef\xbf\xae\x01"), CA, T), "FMT-E002", "not sorted"),
    ("repeated", raw((b"\xa1a", b"\x01"), (b"\xa1a", b"\x02"), CA, T), "FMT-E002", "twice"),
    ("repeated inside", raw((b"\xa1a", b"\x82\xa1b\x01\xa1b\x01"), CA, T), "FMT-E002", "twice"),
    ("key of bytes", raw((b"\xc4\x01a", b"\x01"), CA, T), "FMT-E002", "not text"),
    ("key of a number", raw((b"\x01", b"\x01"), CA, T), "FMT-E002", "not text"),
    ("key inside", raw((b"\xa1a", b"\x81\x01\x01"), CA, T), "FMT-E002", "not text"),
    ("long uint", raw((b"\xa1a", b"\xcc\x01"), CA, T), "FMT-E002", "shortest"),
    ("long uint 16", raw((b"\xa1a", b"\xcd\x00\xff"), CA, T), "FMT-E002", "shortest"),
    ("long uint 64", raw((b"\xa1a", b"\xcf" + b"\x00" * 4 + b"\xff" * 4), CA, T), "FMT-E002", "shortest"),
    ("signed positive", raw((b"\xa1a", b"\xd0\x01"), CA, T), "FMT-E002", "shortest"),
    ("long int", raw((b"\xa1a", b"\xd1\xff\x80"), CA, T), "FMT-E002", "shortest"),
    ("long str", raw((b"\xa1a", b"\xd9\x01a"), CA, T), "FMT-E002", "shortest"),
    ("long key", raw((b"\xd9\x01a", b"\x01"), CA, T), "FMT-E002", "shortest"),
    ("long array", raw((b"\xa1a", b"\xdc\x00\x01\x01"), CA, T), "FMT-E002", "shortest"),
    ("long map", raw((b"\xa1a", b"\xde\x00\x00"), CA, T), "FMT-E002", "shortest"),
    ("float32", raw((b"\xa1a", b"\xca\x3f\x80\x00\x00"), CA, T), "FMT-E002", "64-bit"),
    ("NaN", raw((b"\xa1a", b"\xcb\x7f\xf8" + b"\x00" * 6), CA, T), "FMT-E002", "finite"),
    ("infinity inside", raw((b"\xa1a", b"\x91\xcb\x7f\xf0" + b"\x00" * 6), CA, T), "FMT-E002", "finite"),
    ("ext", raw((b"\xa1a", b"\xd4\x05\x00"), CA, T), "FMT-E002", "extension"),
    ("timestamp", raw((b"\xa1a", b"\xd6\xff\x00\x00\x00\x00"), CA, T), "FMT-E002", "extension"),
    ("ext 8", raw((b"\xa1a", b"\xc7\x01\x05\x00"), CA, T), "FMT-E002", "extension"),
    ("c1", raw((b"\xa1a", b"\xc1"), CA, T), "FMT-E002", "c1"),
    ("binary", raw((b"\xa1a", b"\xc4\x01a"), CA, T), "FMT-E002", "binary"),
    ("short digest", raw(CA, T, (b"\xa3tdh", b"\xc4\x01a")), "FMT-E002", "binary"),
    ("not UTF-8", raw((b"\xa1a", b"\xa1\xff"), CA, T), "FMT-E002", "UTF-8"),
    ("surrogate", raw((b"\xa1a", b"\xa3\xed\xa0\x80"), CA, T), "FMT-E002", "UTF-8"),
    ("not NFC", raw((b"\xa1a", b"\xa3e\xcc\x81"), CA, T), "FMT-E002", "normal form"),
    ("not NFC inside", raw((b"\xa1a", b"\x91\xa3e\xcc\x81"), CA, T), "FMT-E002", "normal form"),
    ("key not NFC", raw(CA, (b"\xa3e\xcc\x81", b"\x01"), T), "FMT-E002", "normal form"),
    ("key not NFC inside", raw((b"\xa1a", b"\x81\xa3e\xcc\x81\x01"), CA, T), "FMT-E002", "normal form"),
    ("cut number", raw(CA)[:-3], "FMT-E002", "ends inside"),
    ("cut text", raw((b"\xa1a", b"\xa5abc")), "FMT-E002", "ends inside"),
    ("cut map", b"\x83\xa1a\x01", "FMT-E002", "more items"),
    ("no type", raw(CA), "FMT-E001", "type in the payload"),
    ("no time", raw(T), "FMT-E001", "no creation time"),
    ("float time", raw((b"\xa2ca", packed(1.0)), T), "FMT-E001", "no creation time"),
    ("true as time", raw((b"\xa2ca", b"\xc3"), T), "FMT-E001", "no creation time"),
    ("huge time", raw((b"\xa2ca", b"\xcf" + b"\xff" * 8), T), "FMT-E001", "64 bits"),
    ("other type", raw(CA, (b"\xa1t", b"\xa5event")), "FMT-E001", "type in the payload"),
    ("other second", raw((b"\xa2ca", packed(AT + 1000)), T), "FMT-E001", "creation time in the header"),
    ("namespace nil", raw(CA, (b"\xa2ns", b"\xc0"), T), "FMT-E001", "namespace is not text"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("payload", "code", "told"),
    [case[1:] for case in REFUSED_PAYLOADS],
    ids=[case[0] for case in REFUSED_PAYLOADS],
)
def test_a_strict_reader_names_the_broken_rule(payload: bytes, code: str, told: str) -> None:
    """INV-CODEC-5: each departure from the canonical form is refused under its code, with the rule it breaks."""
    error = fault(header() + payload)
    assert (error.code, told in error.message) == (code, True), error.message
    assert error.next_step


LENIENT = {
    "unsorted": {},
    "repeated": {"a": 2},
    "repeated inside": {"a": {"b": 1}},
    "long uint": {"a": 1},
    "signed positive": {"a": 1},
    "long str": {"a": "a"},
    "long array": {"a": [1]},
    "float32": {"a": 1.0},
    "not UTF-8": {"a": ""},
    "surrogate": {"a": ""},
    "not NFC": {"a": "e\u0301"},
    "binary": {"a": "61"},
    "no type": {},
    "other type": {},
    "other second": {},
    "namespace nil": {},
}


@pytest.mark.parametrize("case", REFUSED_PAYLOADS, ids=[case[0] for case in REFUSED_PAYLOADS])
def test_a_lenient_reader_takes_what_the_reference_product_takes(case: tuple[str, bytes, str, str]) -> None:
    """INV-CODEC-6: non-canonical spellings are read; broken structure, odd keys, extensions and NaN are not."""
    name, payload, _, _ = case
    if name in LENIENT:
        assert decode(header() + payload, strict=False).extras == LENIENT[name]
    elif (
        case[2] == "FMT-E002"
        and name not in ("unsorted inside", "UTF-16 order", "short digest")
        and not (name.startswith(("long", "key not NFC", "not NFC")))
    ):
        assert fault(header() + payload, strict=False).code == "FMT-E002"


def test_a_lenient_reader_takes_the_time_from_the_header_when_the_payload_has_none() -> None:
    """INV-CODEC-6: the smallest blob, an empty map, is a grain of the header's type and second."""
    grain = decode(header("event") + b"\x80", strict=False)
    assert (grain.type, grain.created_at, grain.namespace, grain.fields) == ("event", AT, None, {})


@pytest.mark.parametrize(
    ("blob", "told"),
    [
        (b"", "too short"),
        (header(), "too short"),
        (b"\x02" + header()[1:] + b"\x80", "version 2"),
        (b"\x84" + header()[1:] + b"\x80", "signature envelope"),
        (header()[:2] + b"\x00" + header()[3:] + b"\x80", "type byte 0x00"),
        (header()[:2] + b"\x0d" + header()[3:] + b"\x80", "type byte 0x0d"),
    ],
    ids=["empty", "no payload", "version", "envelope", "type 0", "type 0d"],
)
@pytest.mark.parametrize("strict", [True, False])
def test_a_header_that_is_none_is_refused(blob: bytes, told: str, strict: bool) -> None:
    """Size, version and type byte are judged before anything is read, strict or not."""
    error = fault(blob, strict=strict)
    assert error.code == "FMT-E001"
    assert told in error.message


def test_only_bytes_are_read() -> None:
    """A text or a number is no blob; a bytearray or a memoryview is read like bytes."""
    blob = blob_of({"s": "x"})
    assert decode(bytearray(blob)) == decode(memoryview(blob)) == decode(blob)  # type: ignore[arg-type]
    for other in ("01", 5, None):
        with pytest.raises(DejaError, match="FMT-E001"):
            decode(other)  # type: ignore[arg-type]


def test_the_depth_limit_counts_the_payload_map() -> None:
    """255 nested containers are read and written, 256 are not, and no number of them exhausts the stack."""
    for depth, fits in (
        (254, True),
        (255, False),
        (511, False),
        (512, False),
        (1_023, False),
        (100_000, False),
    ):
        blob = header() + raw((b"\xa1a", b"\x91" * depth + b"\xc0"), CA, T)
        if fits:
            assert encode(decode(blob)) == blob
        else:
            assert "nests deeper" in fault(blob).message
            assert "nests deeper" in fault(blob, strict=False).message
    deep: Any = None
    for _ in range(255):
        deep = [deep]
    with pytest.raises(DejaError, match="FMT-E002"):
        make_grain("fact", {}, namespace=None, created_at=AT, extras={"a": deep})
    with pytest.raises(DejaError, match="FMT-E002"):
        encode(Grain("fact", AT, None, {}, {"a": deep}, 0, b"\0\0"))


@pytest.mark.parametrize(
    "head", [b"\xdd\x00\x03\x0d\x40", b"\xdc\xff\xff", b"\xdf\x00\x01\x86\xa0"], ids=["dd", "dc", "df"]
)
def test_a_declared_length_claims_no_memory(head: bytes) -> None:
    """INV-CODEC-4: nested containers that declare millions of items are refused without making room for them."""
    import tracemalloc

    blob = header() + b"\x81\xa1a" + head * 40_000
    tracemalloc.start()
    try:
        for strict in (True, False):
            assert fault(blob, strict=strict).code == "FMT-E002"
        assert tracemalloc.get_traced_memory()[1] < 64_000_000
    finally:
        tracemalloc.stop()


def test_long_arrays_are_read() -> None:
    """A long array that tells the truth is read like any other."""
    for length in (4_095, 4_097, 70_000):
        blob = blob_of({"a": [7] * length})
        assert decode(blob).extras["a"] == [7] * length
        assert encode(decode(blob)) == blob


def test_an_error_never_quotes_the_grain() -> None:
    """Messages are shown to people; what a stranger wrote into a key does not travel in them."""
    hostile = "[@click=app.quit]\x1b[31m"
    error = fault(header() + raw((packed(hostile), b"\xc1"), CA, T))
    assert "click" not in str(error)


# --- Unicode (D41) ----------------------------------------------------------------------------------

NEWER = "\U0001e5ff\U000105c9"  # assigned in Unicode 16


@pytest.mark.parametrize("knows_14_only", [True, False])
def test_characters_newer_than_unicode_14_are_left_alone(
    knows_14_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """INV-CODEC-7: text is judged around newer characters, so the verdict is the same on every Python."""
    monkeypatch.setattr(normal_form, "KNOWS_14_ONLY", knows_14_only)
    sound = blob_of({"a": f"\u00e9{NEWER}\u0301"})
    assert encode(decode(sound)) == sound
    assert "normal form" in fault(blob_of({"a": f"e\u0301{NEWER}"})).message
    made = make_grain("fact", {"subject": f"e\u0301{NEWER}e\u0301"}, namespace=None, created_at=AT)
    assert made.fields["subject"] == f"\u00e9{NEWER}\u00e9"


@pytest.mark.skipif(
    not unicodedata.unidata_version.startswith("14."), reason="needs the tables of Unicode 14"
)
def test_the_table_of_unicode_14_is_that_of_its_release() -> None:
    """The runs in names.py are exactly the code points that are assigned in Unicode 14."""
    every = [chr(number) for number in range(0x110000)]
    newer = "".join(normal_form.newer_than_14().findall("".join(every)))
    assert newer == "".join(char for char in every if unicodedata.category(char) == "Cn")


# --- names ------------------------------------------------------------------------------------------


def test_the_name_table_is_a_bijection() -> None:
    """No short name stands twice, and none is another field's long name: compacting twice changes nothing."""
    assert len(set(names.SHORT.values())) == len(names.SHORT)
    assert all(names.SHORT.get(short, short) == short for short in names.SHORT.values())
    assert len(names.TYPES) == len(names.TYPED) == 12
    for table in (names.EDGE_SHORT, names.RELATED_SHORT, names.CONTENT_REF_SHORT, names.EMBEDDING_REF_SHORT):
        assert not set(table) & set(table.values())


def test_extras_are_written_verbatim_unless_a_field_holds_their_key() -> None:
    """A known long name in an extra is not shortened; one whose wire key a field has is left out."""
    given = {"owner": {"subject": 1}, "s": "lost", "subject": "lost", "t": "lost", "ca": 1, "ns": "deja-loop"}
    made = make_grain("fact", {"subject": "kept"}, namespace=None, created_at=AT, extras=given)
    assert made.extras == {"owner": {"subject": 1}}
    assert made.fields["subject"] == "kept"
    assert msgpack.unpackb(encode(made)[9:]) == {
        "c": 1.0,
        "ca": AT,
        "owner": {"subject": 1},
        "s": "kept",
        "t": "fact",
    }


def test_nothing_but_the_argument_sets_a_namespace() -> None:
    """A namespace among fields or extras would contradict the header, or file a grain where it may not lie."""
    for told in (None, "mine"):
        made = make_grain(
            "fact", {"namespace": "deja-loop"}, namespace=told, created_at=AT, extras={"ns": "deja-loop"}
        )
        assert decode(encode(made)).namespace == told
        by_hand = Grain("fact", AT, told, {"namespace": "x"}, {"ns": "x", "t": "x"}, 0, made.ns_hash)
        assert decode(encode(by_hand)).namespace == told


def test_what_would_not_read_back_stays_under_its_wire_key() -> None:
    """INV-CODEC-1 where a value already holds a long name: it is left as it stands instead of being lost."""
    for items, kind in (
        ({"ctx": {"int:base_url": "u", "x": 1}}, "fact"),
        ({"ctx": {"ib": "v", "int:base_url": "u"}}, "fact"),
        ({"rt": [{"h": "a", "hash": "b"}]}, "fact"),
        ({"edges": [{"max_cycles": 1, "mxc": 2}]}, "workflow"),
        ({"tdh": "text"}, "tool"),
    ):
        blob = blob_of(items, kind)
        assert decode(blob).extras == items
        assert encode(decode(blob)) == blob


def test_keys_of_a_workflow_map_are_not_normalised() -> None:
    """Keys of a workflow's bindings and retries stay as they are; the same key elsewhere is refused."""
    blob = blob_of({"retries": {"e\u0301": 1}, "bind": {"e\u0301": "x"}}, "workflow")
    assert encode(decode(blob)) == blob
    assert "normal form" in fault(blob_of({"retries": {"e\u0301": 1}}, "fact")).message


# --- writing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        b"bytes",
        {1: 2},
        {"a": {None: 1}},
        {3},
        object(),
        "\ud800",
        ["\udfff"],
        10**400,
    ],
)
def test_what_no_grain_can_hold_is_refused_with_a_code(value: Any) -> None:
    """INV-CODEC-3: a value outside the format raises FMT-E002, from both `make_grain` and `encode`."""
    with pytest.raises(DejaError) as caught:
        encode(make_grain("fact", {}, namespace=None, created_at=AT, extras={"a": value}))
    assert caught.value.code == "FMT-E002"
    with pytest.raises(DejaError) as caught:
        encode(Grain("fact", AT, None, {"object": value}, {}, 0, b"\0\0"))
    assert caught.value.code == "FMT-E002"


@pytest.mark.parametrize(
    "grain",
    [
        Grain("poem", AT, None, {}, {}, 0, b"\0\0"),
        Grain("fact", 2**63, None, {}, {}, 0, b"\0\0"),
        Grain("fact", AT, None, {}, {}, 256, b"\0\0"),
        Grain("fact", AT, None, {}, {}, 0, b"\0"),
    ],
)
def test_a_header_that_cannot_be_written_is_refused(grain: Grain) -> None:
    """INV-CODEC-3: type, time, flags and namespace hash must fit their bytes."""
    with pytest.raises(DejaError, match="FMT-E001"):
        encode(grain)


def test_a_grain_larger_than_the_limit_is_not_written() -> None:
    """16 MiB, header included, is the most in both directions."""
    room = (
        codec.MAX_BYTES - len(encode(make_grain("event", {"content": ""}, namespace=None, created_at=AT))) - 4
    )
    largest = encode(make_grain("event", {"content": "x" * room}, namespace=None, created_at=AT))
    assert len(largest) == codec.MAX_BYTES
    assert decode(largest).fields["content"] == "x" * room
    assert "too large" in fault(largest + b"\x00").message
    with pytest.raises(DejaError, match="FMT-E001"):
        encode(make_grain("event", {"content": "x" * (room + 1)}, namespace=None, created_at=AT))


def test_numbers_of_a_grain_have_one_form() -> None:
    """Fields that are always floats are written as such, and an integer beyond 64 bits becomes one."""
    made = make_grain(
        "skill",
        {"name": "n", "description": "d", "confidence": 1, "proficiency": 0, "importance": 1},
        namespace=None,
        created_at=AT,
        extras={"big": 2**64, "small": -(2**63) - 1, "most": 2**64 - 1, "minus_zero": -0.0},
    )
    for name in ("confidence", "proficiency", "importance"):
        assert type(made.fields[name]) is float
    assert exactly(made.extras, {"big": 2.0**64, "small": -(2.0**63), "most": 2**64 - 1, "minus_zero": -0.0})
    assert decode(encode(made)) == made


def test_unknown_types_and_times_are_refused_by_name() -> None:
    """`make_grain` says what is wrong with the arguments that every grain has."""
    with pytest.raises(ValidationError, match="VAL-E001"):
        make_grain("poem", {}, namespace=None, created_at=AT)
    for at in (1.5, True, "now", 2**63):
        with pytest.raises(ValidationError, match="VAL-E002"):
            make_grain("fact", {}, namespace=None, created_at=at)  # type: ignore[arg-type]
    with pytest.raises(DejaError, match="FMT-E002"):
        make_grain("fact", {}, namespace="\ud800", created_at=AT)


def test_threads_do_not_mix_their_bytes() -> None:
    """Packers are reused and never shared: what threads encode at the same time is what each would alone."""
    grains = [
        make_grain("event", {"content": str(number) * 2_000}, namespace="shared", created_at=number)
        for number in range(4)
    ]
    alone = [encode(grain) for grain in grains]
    wrong: list[int] = []

    def work(number: int) -> None:
        wrong.extend(number for _ in range(200) if encode(grains[number]) != alone[number])

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


# --- anything at all --------------------------------------------------------------------------------

TEXT = st.text(st.characters(blacklist_categories=("Cs",)), max_size=12)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
WIRE_KEYS = st.sampled_from(sorted(set(names.SHORT.values()) - {"t", "ca", "ns"})) | TEXT
KINDS = st.sampled_from(sorted(names.TYPES))


def read(blob: bytes, strict: bool) -> Grain | str:
    """INV-CODEC-4 in code: a grain, or the code of a refusal."""
    try:
        return decode(blob, strict=strict)
    except DejaError as error:
        return error.code


def judge(blob: bytes) -> None:
    strict, lenient = read(blob, True), read(blob, False)
    if isinstance(strict, Grain):
        assert encode(strict) == blob
        assert lenient == strict
    assert isinstance(strict, Grain) or strict in ("FMT-E001", "FMT-E002")
    assert isinstance(lenient, Grain) or lenient in ("FMT-E001", "FMT-E002")


def canonical(value: Any) -> Any:
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if isinstance(value, dict):
        named = {canonical(key): canonical(item) for key, item in value.items()}
        return {key: named[key] for key in sorted(named)}
    return value


@EXAMPLES
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_a_grain_or_a_coded_error(blob: bytes) -> None:
    """INV-CODEC-4."""
    judge(blob)


@EXAMPLES
@given(KINDS, st.binary(min_size=1, max_size=120))
def test_arbitrary_payloads_are_a_grain_or_a_coded_error(kind: str, payload: bytes) -> None:
    """INV-CODEC-4, past the header."""
    judge(header(kind) + payload)


@EXAMPLES
@given(KINDS, st.dictionaries(WIRE_KEYS, VALUES, max_size=8))
def test_every_canonical_map_comes_back_byte_for_byte(kind: str, items: dict[str, Any]) -> None:
    """INV-CODEC-1 for maps that no writer of ours would make: odd values under known keys included."""
    blob = blob_of(
        canonical({key: item for key, item in items.items() if key not in ("t", "ca", "ns")}), kind
    )
    assert encode(decode(blob)) == blob


@EXAMPLES
@given(KINDS, st.dictionaries(WIRE_KEYS, VALUES, max_size=5), st.data())
def test_a_damaged_blob_is_a_grain_or_a_coded_error(
    kind: str, items: dict[str, Any], data: st.DataObject
) -> None:
    """INV-CODEC-4 close to the truth: bytes of a sound blob changed, cut out or put in."""
    blob = bytearray(blob_of(canonical(items), kind))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(blob) - 1))
        end = at + data.draw(st.integers(0, 3))
        blob[at:end] = data.draw(st.binary(max_size=3))
        if not blob:
            break
    judge(bytes(blob))


@EXAMPLES
@given(
    KINDS,
    st.booleans(),
    st.binary(min_size=1, max_size=60) | st.dictionaries(WIRE_KEYS, VALUES, max_size=4).map(packed),
)
def test_both_readers_agree(kind: str, strict: bool, payload: bytes) -> None:
    """What the quick reader takes, the careful one reads the same; so its refusals are explained by the other."""
    quick = codec._read_fast(payload, strict, kind)
    if quick is not None:
        assert repr(codec._read_slowly(payload, strict, kind)) == repr(quick)


@EXAMPLES
@given(
    KINDS,
    st.dictionaries(st.sampled_from(sorted(set().union(*names.TYPED.values()))), VALUES, max_size=6),
    st.dictionaries(WIRE_KEYS | st.sampled_from(["t", "ca", "ns", "namespace"]), VALUES, max_size=4),
    st.none() | TEXT,
    st.integers(-(2**63), 2**63 - 1),
)
def test_whatever_is_made_is_read_back(
    kind: str, fields: dict[str, Any], extras: dict[str, Any], namespace: str | None, at: int
) -> None:
    """INV-CODEC-2: a made grain is the grain its bytes give, whatever was under its names."""
    fields.pop("transient_definition_hash", None)
    made = make_grain(kind, fields, namespace=namespace, created_at=at, extras=extras)
    blob = encode(made)
    assert exactly(
        [*map(dict, (made.fields, made.extras))], [*map(dict, (decode(blob).fields, decode(blob).extras))]
    )
    assert decode(blob) == made
    assert encode(decode(blob)) == blob
