# SPDX-License-Identifier: Apache-2.0
"""Forgetting: gone from every table, from the index, from the bytes of the file and its log (INV-ERASE, D31)."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from deja_tui.store.codec import Grain, make_grain
from deja_tui.store.memory import Store
from tests.store.helpers import Boom, add, bytes_on_disk, call, fact, fails, forget, many, note, refuses
from tests.support import NOW


def secret(n: int) -> str:
    return f"zq{hashlib.sha256(b'%d' % n).hexdigest()[:12]}"


def telling(n: int) -> Grain:
    """A grain that carries one secret in every place where text can go."""
    s = secret(n)
    kind = n % 4
    if kind == 0:
        return fact(f"{s}a", f"{s}b", f"{s}c and more", context={"source_key": f"{s}d"}, at=NOW + n)
    if kind == 1:
        extras = {"session_id": f"{s}e"}
        return call(f"{s}f", f"{s}g refused", True, input={"path": f"{s}h"}, extras=extras, at=NOW + n)
    if kind == 2:
        return note(f"{s}i " + "long text " * 700 + f"{s}j", namespace=f"user:{s}k", at=NOW + n)
    content = {"name": f"{s}l", "description": f"{s}m \u6771\u4eac\u90fd {s}n"}
    return make_grain("skill", content, namespace="shared", created_at=NOW + n)


def holds(path: Path, *numbers: int) -> list[int]:
    """Which of these secrets are in the bytes on disk; a prefix-compressed index may hold them without their start."""
    content = bytes_on_disk(path)
    return [n for n in numbers if secret(n).encode()[2:] in content]


@pytest.mark.parametrize("indexed", [False, True])
def test_after_forgetting_no_word_is_left_in_the_file_or_its_log(
    store: Store, path: Path, indexed: bool
) -> None:
    """INV-ERASE-1: before and after the text index took the grain in, single acts, every kind of place."""
    addresses = add(store, *(telling(n) for n in range(24)))
    if indexed:
        many(store, 300)
        assert store.stats()["unindexed"] == 0
    assert holds(path, *range(24)) == list(range(24))
    for n in range(0, 24, 2):
        forget(store, addresses[n])
    assert holds(path, *range(0, 24, 2)) == []
    assert holds(path, *range(1, 24, 2)) == list(range(1, 24, 2))
    assert store.verify(deep=True) == ()
    assert not store.erasure_pending


def test_after_forgetting_most_of_many_the_file_is_clean_too(store: Store, path: Path) -> None:
    """Pages that merge while their rows go keep copies of the rows that moved; the file is then written anew."""
    addresses = add(store, *(telling(n) for n in range(600)))
    gone = [n for n in range(600) if n % 10]
    for start in range(0, len(gone), 30):
        with store.act() as act:
            for n in gone[start : start + 30]:
                act.forget(addresses[n])
    assert holds(path, *gone) == []
    assert holds(path, 0, 590) == [0, 590]
    assert store.stats()["grains"] == 60
    assert store.verify(deep=True) == ()


def test_a_word_that_separates_pages_of_the_index_goes_as_well(store: Store, path: Path) -> None:
    """The list of pages keeps the first word of each; the index is rewritten when an erased one stands there."""
    words = [[f"{secret(n)}{chr(97 + i)}" for i in range(20)] for n in range(400)]
    addresses = add(store, *(fact(f"s{n}", "is", " ".join(words[n]), at=NOW + n) for n in range(400)))
    starts = {bytes(row[0])[1:].decode() for row in store.reading().execute("SELECT term FROM text_idx")}
    hit = next(n for n in range(400) if any(w[:size] in starts for w in words[n] for size in range(8, 16)))
    forget(store, addresses[hit])
    assert holds(path, hit) == []
    assert [g.address for g in store.search(words[5][3])] == [addresses[5]]
    assert store.verify(deep=True) == ()


def test_texts_that_others_still_use_stay(store: Store) -> None:
    """Erasing one of two leaves subject, relation, tool, signature, thread and namespace of the other."""
    first, second = fact("ada", "likes", "tea"), fact("ada", "likes", "coffee")
    one, _, three, _ = add(
        store,
        first,
        second,
        call("t", "boom", True, at=1),
        call("t", "boom", True, at=2, extras={"session_id": "x"}),
    )
    forget(store, one)
    forget(store, three)
    assert [g.get("object") for g in store.recall(namespace="shared", subject="ada", relation="likes")] == [
        "coffee"
    ]
    assert [row.count for row in store.tool_failures(0, NOW, 0, None)] == [1]
    assert store.verify(deep=True) == ()


def test_texts_that_only_a_dead_grain_uses_stay(store: Store) -> None:
    """A superseded grain keeps its terms, though the live indexes no longer hold it."""
    old, other = add(store, fact("zoe", "sings", "la"), fact("zoe", "sings", "lo"))
    with store.act() as act:
        act.supersede(old, fact("yan", "hums", "mm"))
    forget(store, other)
    with store.act() as act:
        act.mark(old, "reopen")
    assert [g.address for g in store.recall(namespace="shared", subject="zoe", relation="sings")] == [old]
    assert store.verify(deep=True) == ()


def test_a_forgotten_grain_is_gone_from_every_read(store: Store) -> None:
    """INV-OPLOG-3: get, resolve, recall, latest, history, search, scan, children, views."""
    parent, child = add(store, fact("p", "is", "quartz"), fact("c", "is", "x"))
    with store.act() as act:
        child = act.add(fact("c", "from", "quartz", derived_from=parent)).address
    forget(store, child)
    assert store.get(child) is None
    assert store.blob(child) is None
    assert not store.intact(child)
    with refuses("MEM-E001"):
        store.resolve(child)
    assert store.recall(namespace="shared", subject="c", relation="from") == []
    assert store.latest("shared", "c", "from") is None
    assert store.history(child) == []
    assert [g.address for g in store.search("quartz")] == [parent]
    assert child not in {g.address for g in store.scan("fact")}
    assert store.children(parent) == []
    assert [(entry.kind, entry.address) for entry in store.log()][-1] == ("forget", child)
    with refuses("MEM-E001"):
        forget(store, child)


@pytest.mark.parametrize("by", ["address", "source key"])
def test_what_was_forgotten_is_not_taken_back(store: Store, by: str) -> None:
    """INV-ERASE-2: INV-STORE-7: neither the same bytes nor the same source under other bytes (MEM-E003)."""
    grain = fact(context={"source_key": "import:1"})
    (address,) = add(store, grain)
    forget(store, address)
    again = grain if by == "address" else fact(object="[redacted]", context={"source_key": "import:1"})
    with refuses("MEM-E003"):
        add(store, again)
    with store.act() as act:
        assert act.add(fact(context={"source_key": "import:2"})).new


def test_a_damaged_grain_can_be_forgotten_and_stops_nothing_else(path: Path) -> None:
    """Reading it is STO-E009; searching, adding and forgetting go on, and afterwards the file is sound."""
    with Store.open(path) as store:
        addresses = add(store, *(fact(f"s{n}", "is", f"{secret(n)}") for n in range(300)))
    for n, before, damage in ((3, 3, b"\xc1" * 8), (5, 0, b"altered!")):
        content = path.read_bytes()
        at = content.index(b"\xa1o\xae" + secret(n).encode()) + 3 - before
        path.write_bytes(content[:at] + damage + content[at + 8 :])
    with Store.open(path) as store:
        with refuses("STO-E009"):
            store.get(addresses[3])
        assert store.search(secret(7))
        many(store, 300)
        assert {fault.address for fault in store.verify()} == {addresses[3], addresses[5]}
        forget(store, addresses[3])
        forget(store, addresses[5])
        assert store.verify(deep=True) == ()
        assert store.search("altered") == []
        assert [g.address for g in store.search(secret(7))] == [addresses[7]]
    assert holds(path, 3, 5) == []


def test_forgetting_the_newest_does_not_give_its_position_again(store: Store) -> None:
    """INV-STORE-8."""
    addresses = many(store, 3)
    forget(store, addresses[2])
    (new,) = many(store, 1)
    found = store.get(new)
    assert found is not None
    assert found.seq == 4


def test_an_erasure_under_a_reader_waits_for_it_and_is_done_later(path: Path) -> None:
    """D31: the act stands, `erasure_pending` says what is due, the next act does it."""
    with Store.open(path, busy_ms=0) as store, Store.open(path) as reader:
        addresses = add(store, *(telling(n) for n in range(4)))
        with reader.snapshot():
            assert reader.get(addresses[0]) is not None
            forget(store, addresses[0])
            assert store.get(addresses[0]) is None
            assert reader.get(addresses[0]) is not None
            assert store.erasure_pending
        add(store, fact("later"))
        assert not store.erasure_pending
        assert holds(path, 0) == []


def test_closing_finishes_an_erasure_that_was_due(path: Path) -> None:
    """The last chance is not missed."""
    store, reader = Store.open(path, busy_ms=0), Store.open(path)
    addresses = add(store, *(telling(n) for n in range(4)))
    with reader.snapshot():
        assert reader.get(addresses[0]) is not None
        forget(store, addresses[0])
    reader.close()
    store.close()
    assert holds(path, 0) == []


def test_an_erasure_that_is_taken_back_erases_nothing(store: Store) -> None:
    """INV-STORE-2 for forget: row, words, keys and the right to be added."""
    (address,) = add(store, telling(0))
    many(store, 300)
    with fails(), store.act() as act:
        act.forget(address)
        raise Boom
    assert store.get(address) is not None
    assert [g.address for g in store.search(f"{secret(0)}c")] == [address]
    assert store.verify(deep=True) == ()
