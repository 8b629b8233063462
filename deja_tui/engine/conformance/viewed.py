# SPDX-License-Identifier: Apache-2.0
"""Views: what a memory answers itself is what the default over the five methods says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deja_tui.engine import audit, ledger, lifecycle, views
from deja_tui.engine.conformance.filling import (
    ANA,
    BEN,
    DAY,
    NOW,
    FiveOnly,
    addresses,
    calls,
    check,
    fact,
    go,
)
from deja_tui.engine.substrate import (
    NewGrain,
    StoredGrain,
    Substrate,
)


def furnished(substrate: Substrate) -> None:
    """A memory with something of everything that views look for."""
    for space in ("shared", "other", "Shared"):
        for n, text in enumerate(("tea", "Tea", "TEA ", "coffee")):
            fact(substrate, "acme", "likes", text, NOW - DAY + n, namespace=space)
            fact(substrate, "ACME", "Likes", text, NOW - 2 * DAY + n, namespace=space)
    fact(substrate, "straße", "is", "ß")
    fact(substrate, "STRASSE", "is", "SS")
    fact(substrate, "inner", "is", "a b")
    fact(substrate, "inner", "is", "a  b")
    gone = fact(substrate, "acme", "likes", "tea", NOW)
    substrate.supersede(
        gone, NewGrain("fact", "shared", NOW, {"subject": "acme", "relation": "uses", "object": "x"})
    )
    substrate.mark(fact(substrate, "acme", "likes", "teA", NOW), "hide")
    calls(substrate, "x", "Rate limited after 12 ms", 3)
    calls(substrate, "x", "rate LIMITED after 7 ms", 2, at=NOW - 2 * DAY, namespace="other")
    calls(substrate, "x", "ok", 4, error=False, at=NOW - 3 * DAY)
    calls(substrate, "x", "later", 2, at=NOW + DAY)
    calls(substrate, "x", "waiting", 2, at=NOW - 4 * DAY, status="pending")
    calls(substrate, "\x1b[1mx\x1b[0m ", "Rate limited after 1 ms", 1, at=NOW - 5 * DAY)
    calls(substrate, "y", "", 3, at=NOW - 6 * DAY)
    calls(substrate, "z", "HTTP 502 from 10.0.0.1", 2, at=NOW - 7 * DAY)
    calls(substrate, "z", "HTTP 503 from 10.0.0.1", 2, at=NOW - 8 * DAY)
    calls(substrate, "old", "boom", 3, at=NOW - 40 * DAY)
    said: list[dict[str, Any]] = [
        {"result": "boom 1"},
        {"body": "boom 3"},
        {"content": "boom 4", "result": "not this"},
        {"tool_content": "", "content": "not this"},
        {"tool_content": {"error": "a map"}},
        {"tool_content": "e\u200d\u0301"},
    ]
    for n, fields in enumerate(said):
        content = {"tool_name": "saying", "is_error": True, **fields}
        substrate.put(NewGrain("tool", "shared", NOW - 50 * DAY - n, content))
    hidden = calls(substrate, "x", "Rate limited after 9 ms", 1, at=NOW - 9 * DAY)
    substrate.mark(hidden[0], "hide")
    for space in ("deja-loop", "loop", "agent:x"):
        fact(substrate, "acme", "likes", "tea", namespace=space)
        calls(substrate, "x", "boom", 3, namespace=space)


SPACES: list[Sequence[str] | None] = [None, ["shared"], ["other", "shared"], ["nowhere"], []]


@check
def position_is_what_arrived(substrate: Substrate) -> None:
    """D38: counts of user namespaces and of failures; the default counts the same."""
    furnished(substrate)
    assert views.position(substrate) == views.position(FiveOnly(substrate))
    before = views.position(substrate)
    go(substrate)
    assert views.position(substrate) == before, "what the loop writes is not new"
    fact(substrate, "one", "more", "fact")
    calls(substrate, "x", "boom", 1, at=NOW - 10)
    calls(substrate, "x", "boom", 1, at=NOW - 20, status="pending")
    after = views.position(substrate)
    assert (after.grains - before.grains, after.errors - before.errors) == (3, 1)
    assert after.seq > before.seq


@check
def tool_failures_is_its_default(substrate: Substrate) -> None:
    """Clusters by (tool, signature) in that order, inside the window, after a position, in some namespaces."""
    furnished(substrate)
    middle = list(substrate.scan("tool"))[6].seq
    for after in (0, middle):
        for spaces in SPACES:
            for since, until in ((NOW - 30 * DAY, NOW), (NOW - DAY, NOW - DAY), (0, NOW + 9 * DAY)):
                mine = views.tool_failures(substrate, since, until, after, spaces)
                assert mine == views.tool_failures(FiveOnly(substrate), since, until, after, spaces)
    found = {
        (one.tool, one.signature): (one.count, one.calls, one.namespace)
        for one in views.tool_failures(substrate, NOW - 30 * DAY, NOW, 0, None)
    }
    assert found == {
        ("x", "rate limited after # ms"): (6, 10, "shared"),
        ("y", "no message"): (3, 3, "shared"),
        ("z", "http 502 from #.#.#.#"): (2, 4, "shared"),
        ("z", "http 503 from #.#.#.#"): (2, 4, "shared"),
    }


@check
def tool_failure_members_is_its_default(substrate: Substrate) -> None:
    """Newest first, at most so many, the very grains of the cluster."""
    furnished(substrate)
    for cluster in views.tool_failures(substrate, 0, NOW, 0, None):
        for limit in (1, 3, 64):
            for spaces in SPACES:
                given = (cluster.tool, cluster.signature, 0, NOW, 0, spaces, limit)
                mine = addresses(views.tool_failure_members(substrate, *given))
                assert mine == addresses(views.tool_failure_members(FiveOnly(substrate), *given))
        members = views.tool_failure_members(substrate, cluster.tool, cluster.signature, 0, NOW, 0, None, 64)
        assert len(members) == cluster.count
        assert [m.created_at for m in members] == sorted((m.created_at for m in members), reverse=True)


@check
def duplicate_facts_nominates_at_least_what_the_default_does(substrate: Substrate) -> None:
    """D11: a hash may nominate too much, since text decides later; what is left is the same, in the same order."""
    furnished(substrate)
    for spaces in SPACES:
        decided = [_decided(views.duplicate_facts(one, spaces)) for one in (substrate, FiveOnly(substrate))]
        assert decided[0] == decided[1]
    by_space = {key[0] for key, _ in _decided(views.duplicate_facts(substrate, None))}
    assert by_space == {"shared", "other", "Shared"}


def _decided(candidates: list[list[StoredGrain]]) -> list[tuple[tuple[str, ...], list[str]]]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for group in candidates:
        for grain in group:
            groups.setdefault(views.fact_key(grain), []).append(grain.address)
    return sorted((key, found) for key, found in groups.items() if len(found) > 1)


@check
def fact_matches_is_its_default(substrate: Substrate) -> None:
    """Exact text, live only, oldest first, one namespace."""
    furnished(substrate)
    for space in ("shared", "other", "nowhere"):
        for subject in ("acme", "ACME", "straße", "x"):
            for relation in ("likes", "Likes", "is"):
                mine = addresses(views.fact_matches(substrate, space, subject, relation))
                assert mine == addresses(views.fact_matches(FiveOnly(substrate), space, subject, relation))
    assert len(views.fact_matches(substrate, "shared", "acme", "likes")) == 4


@check
def the_cached_ledger_is_the_replayed_one(substrate: Substrate) -> None:
    """D1: rows come from grains alone, after every step of a recommendation's life."""

    def agree() -> None:
        five = FiveOnly(substrate)
        for wanted in (
            None,
            ("pending",),
            ("approved", "applied"),
            ("rejected", "rolled_back", "expired"),
            (),
        ):
            assert views.ledger(substrate, wanted) == views.ledger(five, wanted)
            for named in ((), ("loop.duplicate_sweep/1",), ("loop.tool_failure/1", "nobody/1")):
                assert views.ledger(substrate, wanted, named) == views.ledger(five, wanted, named)
        rows = {row.address: row for row in ledger.replay(substrate)}
        every = views.audits(substrate)
        for address, row in rows.items():
            assert views.ledger_row(substrate, address) == row == audit.derive(substrate, address)
            told = views.audits_of(substrate, address)
            assert addresses(told) == addresses(views.audits_of(five, address))
            assert list(every[address]) == list(told)
            assert addresses(views.audits(five)[address]) == addresses(told)
            assert audit.chain(substrate, row).verified
        identities = sorted({row.identity for row in rows.values()})
        mine = views.ledger_by_identity(substrate, identities)
        assert {key: list(found) for key, found in mine.items()} == {
            key: list(found) for key, found in views.ledger_by_identity(five, identities).items()
        }

    agree()
    furnished(substrate)
    go(substrate)
    agree()
    calls(substrate, "x", "Rate limited after 5 ms", 1, at=NOW - 30)
    assert go(substrate, NOW + 1).refreshed == 1
    agree()
    for n, row in enumerate(views.ledger(substrate, ("pending",))):
        at = NOW + 2 + n
        if n % 4 == 0:
            lifecycle.approve(substrate, row.address, "why", ANA, at)
        elif n % 4 == 1:
            lifecycle.reject(substrate, row.address, "why", ANA, at)
        else:
            lifecycle.approve_and_apply(substrate, row.address, "why", ANA, at)
        if n % 4 == 3:
            lifecycle.rollback(substrate, row.address, "why", BEN, at)
    agree()
    go(substrate, NOW + 90 * DAY)
    agree()
