# SPDX-License-Identifier: Apache-2.0
"""Sessions as lists of numbers, against plain loops over the same grains."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

from deja_tui.store import sessions
from deja_tui.store.grains import StoredGrain
from deja_tui.store.memory import Store
from tests.store.helpers import add, call, fact, forget, note
from tests.support import NOW

NAMES = ("plain", "with / slash", "日本語", "\x1b[2J[@click=app.quit]", "s-1", "S-1")


def filled(store: Store) -> None:
    """Some hundred grains of six threads and of none: hidden, forgotten, reserved ones, and many of one moment."""
    rng = random.Random(3)
    grains = [
        call(
            rng.choice(("search", "")),
            "boom",
            rng.random() < 0.4,
            at=NOW - rng.randrange(40),
            namespace=rng.choice(("shared", "user:a")),
            duration_ms=number,
            session_id=rng.choice(NAMES),
            **({"status": "pending"} if rng.random() < 0.1 else {}),
        )
        for number in range(200)
    ]
    addresses = add(store, *grains, fact("a", "b", "c"), note("nothing"))
    add(store, call("search", "boom", True, namespace="agent:x", session_id="plain"), governed=True)
    add(store, call("search", "boom", True, namespace="agent:x", session_id="only reserved"), governed=True)
    with store.act() as act:
        for address in addresses[:200:7]:
            act.mark(address, "hide")
    forget(store, addresses[4])


def loop(store: Store) -> dict[str, list[StoredGrain]]:
    """The same by scanning."""
    found: dict[str, list[StoredGrain]] = defaultdict(list)
    for grain in store.scan("tool", live_only=True):
        if grain.get("session_id"):
            found[grain.get("session_id")].append(grain)
    for told in found.values():
        told.sort(key=lambda grain: (grain.created_at, grain.hlc, grain.address))
    return found


def failed(grain: StoredGrain) -> bool:
    return bool(grain.get("is_error") and grain.get("tool_name") and grain.get("status") != "pending")


def test_threads_and_timelines_are_what_a_loop_finds(store: Store) -> None:
    """SESS-1: names, counts, failures and order; what is hidden, forgotten or reserved is in none of them."""
    filled(store)
    db, wanted = store.reading(), loop(store)
    found = sessions.threads(db)
    names = sessions.names(db, found.keys)
    assert {names[one.key]: (one.events, one.errors) for one in found} == {
        name: (len(told), sum(map(failed, told))) for name, told in wanted.items()
    }
    assert [one.last for one in found] == sorted((one.last for one in found), reverse=True)
    for name, told in wanted.items():
        line = sessions.timeline(db, name, False)
        assert list(line.seqs) == [grain.seq for grain in told]
        assert list(line.failed) == [place for place, grain in enumerate(told) if failed(grain)]
        assert list(sessions.timeline(db, name, True).seqs) == [grain.seq for grain in told if failed(grain)]
    assert len(sessions.timeline(db, "only reserved", False)) == len(sessions.timeline(db, "", False)) == 0


def test_a_page_is_read_in_its_order_and_leaves_out_what_is_gone(store: Store) -> None:
    """SESS-2: what was forgotten between the list and the page is no error."""
    filled(store)
    line = sessions.timeline(store.reading(), "plain", False)
    told = sessions.grains(store.reading(), line.seqs[:9])
    assert [grain.seq for grain in told] == list(line.seqs[:9])
    forget(store, told[0].address)
    assert [g.seq for g in sessions.grains(store.reading(), line.seqs[:9])] == list(line.seqs[1:9])


def test_a_filter_folds_and_a_list_of_threads_is_a_sequence(store: Store) -> None:
    """`containing`, `only`, slices, and the place of a key."""
    filled(store)
    db = store.reading()
    found = sessions.threads(db)
    both = sessions.containing(db, found, "S-1")
    assert sorted(sessions.names(db, both.keys).values()) == ["S-1", "s-1"]
    assert list(found[1:3]) == [found[1], found[2]]
    assert found.place(found[2].key) == 2
    assert found.place(-5) is None
    assert len(sessions.containing(db, found, "nowhere")) == 0


def test_an_empty_file_has_no_session(store: Store) -> None:
    """No rows, no errors."""
    db = store.reading()
    told: Any = sessions.threads(db)
    assert len(told) == 0
    assert sessions.captured(db) == (0, 0, None)
    assert sessions.cited(db, []) == {}
