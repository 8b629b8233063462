# SPDX-License-Identifier: Apache-2.0
"""Counters and counts (INV-STATS), and the order of recalls with ties (INV-READ)."""

from __future__ import annotations

import random

from deja_tui.store.memory import Store
from tests.store.helpers import add, call, fact, forget, note
from tests.support import NOW


def filled(store: Store) -> list[str]:
    addresses = add(
        store,
        *(fact(f"s{n % 3}", at=NOW + n, namespace=("shared", "other")[n % 2]) for n in range(20)),
        *(call("t", "boom", n % 2 == 0, at=NOW + n) for n in range(7)),
        note("words"),
    )
    add(store, fact("hidden from counts", namespace="agent:x"), governed=True)
    with store.act() as act:
        act.mark(addresses[0], "hide")
    return addresses


def test_counters_say_what_ever_arrived(store: Store) -> None:
    """INV-STATS-1: D38: user namespaces only; erasing lowers nothing."""
    addresses = filled(store)
    assert (store.counts().grains, store.counts().errors) == (28, 4)
    forget(store, addresses[20])
    assert (store.counts().grains, store.counts().errors) == (28, 4)
    assert store.position().seq == 28


def test_stats_say_what_is_there(store: Store) -> None:
    """INV-STATS-2: every number against the rows it counts."""
    addresses = filled(store)
    forget(store, addresses[1])
    db, told = store.reading(), store.stats()
    counts = {
        "grains": "SELECT count(*) FROM grain",
        "live": "SELECT count(*) FROM grain WHERE dead = 0",
        "forgotten": "SELECT count(*) FROM tombstone",
        "operations": "SELECT count(*) FROM op",
        "terms": "SELECT count(*) FROM term",
        "last_seq": "SELECT max(gid) FROM op",
        "last_created_at": "SELECT max(at) FROM grain",
    }
    assert {name: db.execute(sql).get for name, sql in counts.items()} == {
        name: told[name] for name in counts
    }
    assert told["by_type"] == {"fact": 20, "observation": 1, "tool": 7}
    assert told["namespaces"] == {"agent:x": 1, "other": 9, "shared": 18}
    assert told["unindexed"] == 29
    assert told["file_bytes"] > 0


def test_every_way_of_recalling_orders_alike_ties_included(store: Store) -> None:
    """INV-READ-1, INV-READ-2: by subject, key, object and type: (created_at, hlc, address), spellings told apart."""
    rng = random.Random(4)
    add(
        store,
        *(
            fact(
                rng.choice(["ada", "Ada", "ADA "]),
                rng.choice("ab"),
                f"{n % 4}",
                at=NOW + rng.randrange(6),
                confidence=n / 99,
            )
            for n in range(90)
        ),
    )
    with store.act() as act:  # copies that met give grains of different origin one clock
        act._tx.db.execute("UPDATE grain SET hlc = hlc - hlc % 7").fetchall()
    everything = sorted(store.scan("fact"), key=lambda g: (g.created_at, g.hlc, g.address), reverse=True)
    assert len({(g.created_at, g.hlc) for g in everything}) < 90
    for asked in (
        {"subject": "ada"},
        {"subject": "Ada", "type": "fact"},
        {"subject": "ada", "relation": "a"},
        {"subject": "ada", "relation": "b", "object": "1"},
        {"relation": "a"},
        {"type": "fact"},
        {"subject": "nobody"},
    ):
        fits = [
            g
            for g in everything
            if all(g.get(name) == value for name, value in asked.items() if name != "type")
        ]
        for k in (1, 2, 3, 5, 16, 200):
            assert store.recall(namespace="shared", k=k, **asked) == fits[:k], (asked, k)
