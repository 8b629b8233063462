# SPDX-License-Identifier: Apache-2.0
"""The short way from bytes to fields gives what the codec gives."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.errors import DejaError
from deja_tui.store.codec import decode, encode, make_grain
from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import is_address, keys_of, link_key
from deja_tui.store.memory import Store
from deja_tui.store.rows import unfold, with_long_refs
from tests.store.helpers import add, call, fact, note
from tests.support import NOW, shared

NAMES = st.sampled_from(
    ["subject", "tool_name", "session_id", "input", "context", "edges", "related_to", "x", "s", "tn"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def by_the_codec(blob: bytes) -> tuple[str, dict[str, object]]:
    grain = decode(blob, strict=False)
    fields = with_long_refs({**grain.extras, **grain.fields})
    return "shared" if grain.namespace is None else grain.namespace, fields


@pytest.mark.parametrize(
    "edit",
    [
        "body = 5", "body = 'text'", "body = zeroblob(40)", "body = x''", "hash = 'text'", "hash = 7", "type = 99",
        "type = 'fact'", "type = x'01'",
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_shown_is_damaged_whatever_it_holds(store: Store, edit: str) -> None:
    """INV-ROWS-2: by key, by address, along chains, in scans and in searches."""
    address, _ = add(store, fact("ada"), fact("bo"))
    with store.act() as act:
        act._tx.db.execute(f"UPDATE grain SET {edit} WHERE id = 1").fetchall()
    reads = {
        "recall": lambda: store.recall(namespace="shared", subject="ada"),
        "get": lambda: store.get(address),
        "history": lambda: store.history(address),
        "scan": lambda: list(store.scan("fact")),
        "search": lambda: store.search("ada"),
    }
    told = {}
    for name, read in reads.items():
        try:
            told[name] = read()
        except DejaError as fault:
            told[name] = fault.code
    assert told["recall"] == "STO-E009"
    assert {code for code in told.values() if isinstance(code, str)} == {"STO-E009"}
    assert store.verify()
    assert [grain.get("subject") for grain in store.recall(namespace="shared", subject="bo")] == ["bo"]


def test_every_vector_unfolds_to_what_the_codec_reads() -> None:
    """INV-ROWS-1: all published and recorded grains, nested tables and name collisions included."""
    vectors = json.loads(shared("vectors/grains.json").read_text())
    assert len(vectors) > 200
    for vector in vectors:
        blob = bytes.fromhex(vector["expected_hex"])
        assert unfold(blob) == by_the_codec(blob), vector["name"]


@given(
    st.sampled_from(["fact", "tool", "event", "state", "workflow"]),
    st.dictionaries(NAMES, VALUES, max_size=5),
    st.dictionaries(NAMES, VALUES, max_size=3),
    st.sampled_from([None, "", "shared", "caf\u00e9"]),
)
def test_any_grain_unfolds_to_what_the_codec_reads(
    kind: str, fields: dict[str, object], extras: dict[str, object], namespace: str | None
) -> None:
    """Extras under long names, short names, both at once."""
    blob = encode(make_grain(kind, fields, namespace=namespace, created_at=NOW, extras=extras))
    assert unfold(blob) == by_the_codec(blob)


def test_references_are_read_back_as_they_were_given(store: Store) -> None:
    """GRAIN-1: the codec leaves their keys short; a key that would meet itself stays as it is."""
    content = [{"uri": "u", "modality": "m", "mime_type": "t", "metadata": {"md": 1}, "own": [1]}]
    vectors = [{"vector_id": "v", "model": "m", "dimensions": 3, "chunk_text": "c"}]
    (address,) = add(store, fact(content_refs=content, embedding_refs=vectors))
    grain = store.get(address)
    assert grain is not None
    assert (grain.get("content_refs"), grain.get("embedding_refs")) == (content, vectors)
    assert with_long_refs({"content_refs": [{"u": 1, "uri": 2}, "odd"], "embedding_refs": 5}) == {
        "content_refs": [{"u": 1, "uri": 2}, "odd"],
        "embedding_refs": 5,
    }


def test_a_stored_grain_is_the_dataclass_it_claims_to_be(store: Store) -> None:
    """It is made past its own constructor, for speed; equal to one made through it, frozen, with all slots filled."""
    (address,) = add(store, fact("ada", "likes", "tea", valid_to=NOW + 5))
    grain = store.get(address)
    assert grain is not None
    twin = StoredGrain(
        address=address,
        seq=1,
        type="fact",
        namespace="shared",
        created_at=NOW,
        hlc=NOW << 16,
        live=True,
        superseded_by=None,
        imported=False,
        fields={
            "subject": "ada",
            "relation": "likes",
            "object": "tea",
            "confidence": 0.9,
            "valid_to": NOW + 5,
        },
    )
    assert grain == twin
    assert [getattr(grain, name) for name in StoredGrain.__slots__] == [
        getattr(twin, name) for name in StoredGrain.__slots__
    ]
    with pytest.raises(AttributeError):
        grain.seq = 2  # type: ignore[misc]


def test_the_keys_of_a_grain_follow_from_its_bytes() -> None:
    """What is indexed, and what is not: pending calls have no tool, odd parents no link."""
    parent = "ab" * 32
    keys = keys_of(fact(" Ada", "LIKES", "Tea", valid_to=7, derived_from=[parent, "junk", 5]))
    assert (keys.subject, keys.relation, keys.valid_to, keys.parents) == (
        "ada",
        "likes",
        7,
        (link_key(parent),),
    )
    assert keys_of(fact(object="tea")).object_key == keys_of(fact(object=" TEA ")).object_key
    assert keys_of(note("x", subject="S")).subject == "s"
    assert keys_of(note("x", subject="S")).relation is None
    assert keys_of(call("t", "boom", True, extras={"session_id": "s1"})).signature == "boom"
    assert keys_of(call("t", "boom", True, extras={"session_id": "s1"})).thread == "s1"
    assert keys_of(call("t", "x", status="pending")).tool is None
    assert keys_of(call("\x1b[0m ", "x")).tool is None
    merged = keys_of(fact(context={"merge_parents": [parent], "source_key": "k"}))
    assert (merged.parents, merged.source) == ((link_key(parent),), "k")
    assert keys_of(fact(valid_to=2**64 - 1)).valid_to is None


def test_an_address_is_64_lower_case_hex_digits() -> None:
    """Nothing else reaches a statement as one."""
    assert is_address("0f" * 32)
    assert not any(
        is_address(x) for x in ("0F" * 32, "0f" * 31, "zz" * 32, "\u0661" * 64, None, 5, b"0f" * 32)
    )
