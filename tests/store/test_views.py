# SPDX-License-Identifier: Apache-2.0
"""Set-based reads against plain loops over the same grains (D11, D38)."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import pytest

from deja_tui.store.memory import Store
from deja_tui.text import error_signature, fold
from tests.store.helpers import add, call, fact, forget, note
from tests.support import DAY, NOW

TOOLS = ["search", "search ", "stripe\x1b[31m_refund", "deploy"]
ERRORS = ["rate limited after 12 ms", "rate limited after 99 ms", "no such file /srv/a.py", ""]
SPACES = ["shared", "user:a", "user:b"]


@pytest.fixture
def calls(store: Store) -> Store:
    """Some hundred calls over two months, some hidden, forgotten, pending or reserved."""
    rng = random.Random(11)
    grains = [
        call(
            rng.choice(TOOLS),
            rng.choice(ERRORS),
            rng.random() < 0.5,
            at=NOW - int(rng.random() * 60 * DAY),
            namespace=rng.choice(SPACES),
            duration_ms=n,
            **({"status": "pending"} if rng.random() < 0.1 else {}),
        )
        for n in range(300)
    ]
    addresses = add(store, *grains)
    add(store, call("search", "boom", True, namespace="agent:x"), governed=True)
    with store.act() as act:
        for address in addresses[::9]:
            act.mark(address, "hide")
    forget(store, addresses[4])
    return store


@pytest.mark.parametrize("namespaces", [None, ["user:a"], ["shared", "user:b"], ["agent:x"], [], ["nowhere"]])
@pytest.mark.parametrize("days,after", [(30, 0), (90, 0), (90, 150), (1, 0), (90, 10_000)])
def test_failures_are_counted_as_a_loop_would(
    calls: Store, namespaces: list[str] | None, days: int, after: int
) -> None:
    """INV-VIEWS-1: live calls with an outcome, created in the window, arrived later; the namespace with most members is named."""
    since = NOW - days * DAY
    members: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    total: Counter[str] = Counter()
    for grain in calls.scan("tool", namespaces=namespaces, after=after, live_only=True):
        if not since <= grain.created_at <= NOW or grain.get("status") == "pending":
            continue
        tool = grain.get("tool_name").replace("\x1b[31m", "").strip()
        total[tool] += 1
        if grain.get("is_error"):
            members[tool, error_signature(grain.get("tool_content"))][grain.namespace] += 1
    expected = [
        (tool, sig, c.total(), total[tool], min(c, key=lambda n: (-c[n], n)))
        for (tool, sig), c in sorted(members.items())
    ]
    assert [tuple(row) for row in calls.tool_failures(since, NOW, after, namespaces)] == expected
    for tool, signature, count, *_ in expected:
        found = calls.tool_failure_members(tool, signature, since, NOW, after, namespaces, 1000)
        assert len(found) == count
        ordered = sorted(found, key=lambda g: (g.created_at, g.hlc, g.address), reverse=True)
        assert found == ordered
        assert calls.tool_failure_members(tool, signature, since, NOW, after, namespaces, 2) == ordered[:2]


def test_members_of_an_unknown_cluster_are_none(calls: Store) -> None:
    """No such tool, no such signature."""
    assert calls.tool_failure_members("nothing", "at all", 0, NOW, 0, None, 9) == []


def test_a_call_without_a_known_outcome_counts_neither_way(store: Store) -> None:
    """Pending calls are left out of calls and failures; a name with terminal codes is the plain name."""
    add(
        store,
        call("t", "boom", True),
        call("t", "x", status="pending", at=NOW + 1),
        call("\x1b[1mt\x1b[0m", "fine", at=NOW + 2),
    )
    assert [(row.tool, row.count, row.calls) for row in store.tool_failures(0, NOW + 9, 0, None)] == [
        ("t", 1, 2)
    ]


def test_duplicates_are_grouped_by_folded_text(store: Store) -> None:
    """The very same namespace; subject, relation and object after folding; live only; ordered by time, HLC (D3), then address."""
    rng = random.Random(3)
    words = ["Tea", "tea", " tea ", "TEA", "coffee", "Stra\u00dfe", "STRASSE", "caf\u00e9", "CAFE\u0301"]
    grains = [
        fact(
            rng.choice(["Ada", "ada"]),
            rng.choice(["likes", "Likes "]),
            rng.choice(words),
            at=NOW + rng.randrange(5),
            namespace=rng.choice(["shared", "Shared", "x"]),
        )
        for _ in range(120)
    ]
    addresses = add(store, *grains)
    with store.act() as act:
        for address in dict.fromkeys(addresses[::5]):
            act.mark(address, "hide")
    add(
        store,
        fact("ada", "likes", "tea", namespace="loop"),
        fact("Ada", "likes", "tea", namespace="loop"),
        governed=True,
    )
    for namespaces in (None, ["shared"], ["Shared", "x"], ["loop"], []):
        groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for g in sorted(
            store.scan("fact", namespaces=namespaces, live_only=True),
            key=lambda g: (g.created_at, g.hlc, g.address),
        ):
            said = (g.get(part) for part in ("subject", "relation", "object"))
            groups[g.namespace, *map(fold, said)].append(g.address)
        expected = [group for _, group in sorted(groups.items()) if len(group) > 1]
        assert [[g.address for g in group] for group in store.duplicate_facts(namespaces)] == expected


@pytest.mark.parametrize("namespaces", [None, ["shared"], ["x", "nowhere"], []])
def test_new_duplicates_are_the_groups_that_something_new_touched(
    store: Store, namespaces: list[str] | None
) -> None:
    """INV-VIEWS-2: whole groups with a member that arrived, or was opened again, after a position; whichever way they are found."""
    rng = random.Random(5)
    touched: dict[str, int] = {}  # address -> the op-log position of its newest opening

    def grow(count: int) -> list[str]:
        return add(
            store,
            *(
                fact(
                    f"s{rng.randrange(40)}",
                    "r",
                    rng.choice("ab"),
                    at=NOW + n,
                    namespace=rng.choice([*SPACES, "x"]),
                )
                for n in rng.sample(range(10**6), count)
            ),
        )

    addresses = grow(200)
    with store.act() as act:
        for address in addresses[::3]:
            act.mark(address, "hide")
    addresses += grow(40)
    with store.act() as act:
        for address in addresses[:60:6]:
            act.mark(address, "reopen")
    for entry in store.log():
        if entry.kind == "reopen":
            touched[entry.address] = entry.seq
    grow(15)
    whole = store.duplicate_facts(namespaces)
    assert whole or not namespaces
    last = store.position().seq
    opened_alone = 0
    for after in (0, 1, 100, 199, 200, 230, last - 16, last - 15, last - 3, last - 1, last, last + 9):
        expected = [
            group for group in whole if any(g.seq > after or touched.get(g.address, 0) > after for g in group)
        ]
        opened_alone += sum(all(g.seq <= after for g in group) for group in expected)
        assert store.duplicate_facts(namespaces, after) == expected
    assert opened_alone or namespaces is not None


def test_cold_facts_are_counted_as_a_loop_would(store: Store) -> None:
    """Live, old and not warm; a total for each namespace, its oldest decoded."""
    rng = random.Random(9)
    addresses = add(
        store,
        *(fact(f"s{n}", at=NOW - rng.randrange(60) * DAY, namespace=rng.choice(SPACES)) for n in range(200)),
        note("an old note", at=NOW - 59 * DAY),
    )
    add(store, fact("hidden from all", at=NOW - 59 * DAY, namespace="agent:x"), governed=True)
    with store.act() as act:
        for address in addresses[:200:7]:
            act.mark(address, "hide")
    forget(store, addresses[5])
    warm = [*map(bytes.fromhex, addresses[::4]), b"\0" * 32]
    for namespaces in (None, ["shared"], ["user:a", "nowhere"], ["agent:x"], []):
        for days in (0, 30, 59, 70):
            before = NOW - days * DAY
            cold: dict[str, list[str]] = defaultdict(list)
            for grain in sorted(
                store.scan("fact", namespaces=namespaces, live_only=True), key=lambda g: (g.created_at, g.seq)
            ):
                if grain.created_at <= before and bytes.fromhex(grain.address) not in warm:
                    cold[grain.namespace].append(grain.address)
            found = store.cold_facts(before, warm, namespaces, 3)
            told = [(each.namespace, each.total, [g.address for g in each.oldest]) for each in found]
            assert told == [(name, len(cold[name]), cold[name][:3]) for name in sorted(cold)]


def test_a_fact_without_three_texts_is_no_candidate(store: Store) -> None:
    """Only facts with subject, relation and object as text have a key."""
    add(store, note("same", subject="a"), note("same", subject="a", at=NOW + 1))
    assert store.duplicate_facts(None) == []


def test_matches_of_a_fact_are_exact_and_live(store: Store) -> None:
    """In arrival order, whatever their times."""
    one, _, three, four = add(
        store,
        fact(object="2", at=NOW + 5),
        fact("Ada", object="x"),
        fact(object="1", at=NOW),
        fact(object="3"),
    )
    with store.act() as act:
        act.mark(four, "hide")
    assert [g.address for g in store.fact_matches("shared", "ada", "likes")] == [one, three]
    assert store.fact_matches("shared", "ada", "Likes") == []
    assert store.fact_matches("nowhere", "ada", "likes") == []


def test_audits_are_the_observations_whose_first_parent_is_the_recommendation(store: Store) -> None:
    """In arrival order, from the loop's namespace only; a colliding key is told apart by the full address."""
    (target,) = add(store, fact("target"))
    alike = target[:16] + "0" * 48
    governed = [
        note("1", namespace="deja-loop", derived_from=[target]),
        note("2", namespace="deja-loop", derived_from=[target, "a" * 64]),
        note("3", namespace="deja-loop", derived_from=["a" * 64, target]),
        note("4", namespace="deja-loop", derived_from=[alike]),
    ]
    add(store, *governed, governed=True)
    add(store, note("5", derived_from=[target]))
    assert [g.get("object") for g in store.audits_of(target)] == ["1", "2"]
    assert [g.get("object") for g in store.audits_of(alike)] == ["4"]
    assert store.audits_of("nothing") == store.audits_of("f" * 64) == []
    every = store.audits()
    assert {about: store.audits_of(about) for about in (target, alike)}.items() <= every.items()
    assert all(store.audits_of(about) == found for about, found in every.items())
    assert len(store.children(target)) == 4
