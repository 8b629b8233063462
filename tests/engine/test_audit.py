# SPDX-License-Identifier: Apache-2.0
"""The audit chain: each invariant, broken on purpose, is found and named at its first bad link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from deja_tui.engine import audit, ledger, lifecycle, reports, views
from deja_tui.engine.objects import AuditEntry, Chain
from deja_tui.engine.substrate import NewGrain
from deja_tui.engine.wire import audit_grain
from deja_tui.reference import ReferenceSubstrate
from tests.engine.helpers import ANA, BEN, calls, everything, fact, go, import_grain, only
from tests.support import DAY, NOW


def approved() -> tuple[ReferenceSubstrate, str]:
    """A memory with one recommendation that was approved a minute after it was proposed."""
    substrate = ReferenceSubstrate()
    fact(substrate, "acme", "likes", "tea")
    fact(substrate, "acme", "likes", "Tea")
    go(substrate)
    address = only(substrate)
    lifecycle.approve(substrate, address, "seen", ANA, NOW + 60_000)
    return substrate, address


def chain(substrate: ReferenceSubstrate, address: str) -> Chain:
    return reports.chain(substrate, address)


def write(substrate: ReferenceSubstrate, address: str, **over: Any) -> str:
    """An audit grain as a forger with a pen would write it."""
    last = chain(substrate, address).entries[-1]
    values: dict[str, Any] = {
        "recommendation": address,
        "previous": last.address,
        "from_status": last.to_status,
        "to_status": "applied",
        "actor": "user:eve",
        "observer": "human",
        "because": "forged",
        "at": last.at,
        **over,
    }
    return substrate.put(audit_grain(**values)).address


# --- a whole chain -----------------------------------------------------------------------------------


def test_a_whole_life_verifies() -> None:
    """AUD-1 to AUD-6 hold from the proposal to the undo, and each entry names the one before it."""
    substrate = ReferenceSubstrate()
    calls(substrate, "x", "boom", 5)
    go(substrate)
    address = only(substrate)
    lifecycle.approve(substrate, address, "seen", ANA, NOW + 1)
    lifecycle.apply(substrate, address, "do it", BEN, NOW + 2)
    lifecycle.rollback(substrate, address, "undo it", ANA, NOW + 3)
    found = chain(substrate, address)
    assert found.verified
    assert (found.fault, found.fault_address) == (None, None)
    steps = [(e.from_status, e.to_status, e.actor, e.observer, e.at - NOW) for e in found.entries]
    assert steps == [
        (None, "pending", "engine:loop.tool_failure/1", "system", 0),
        ("pending", "approved", "user:ana", "human", 1),
        ("approved", "applied", "user:ben", "human", 2),
        ("applied", "rolled_back", "user:ana", "human", 3),
    ]
    assert [e.previous for e in found.entries] == [None, *(e.address for e in found.entries[:-1])]
    first, applied = found.entries[0], found.entries[2]
    assert (first.creator, first.trigger, first.origin) == (
        "engine:loop.tool_failure/1",
        "user:local",
        "builtin",
    )
    lesson = next(g for g in substrate.scan("fact"))
    assert applied.results == (lesson.address,)
    assert applied.effects == ({"do": "add", "grain": lesson.address},)
    assert applied.inverse == ({"do": "hide", "grain": lesson.address},)
    wire = substrate.get(applied.address)
    assert wire is not None
    assert wire.get("derived_from") == [address, found.entries[1].address, lesson.address]


@pytest.mark.parametrize(
    ("actor", "observer"),
    [
        ("user:ana", "human"), ("ana", "human"), ("agent:x", "agent"), ("bot:y", "agent"), ("job:z", "agent"),
        ("svc:ci", "agent"), ("agentx", "human"), ("agent", "human"),
    ],
)  # fmt: skip
def test_the_observer_follows_from_the_actor(actor: str, observer: str) -> None:
    """Loop-engine §11: an agent's label makes an agent's entry."""
    assert audit.observer_of(actor) == observer


def test_a_clock_that_jumps_back_is_written_as_the_time_before() -> None:
    """AUD-4: a decision on a machine with a wrong clock still leaves a chain that verifies."""
    substrate, address = approved()
    receipt = lifecycle.apply(substrate, address, "why", BEN, NOW - 30 * DAY)
    assert receipt.at == NOW + 60_000
    assert receipt.chain_verified


# --- each invariant, broken --------------------------------------------------------------------------

Break = Callable[[ReferenceSubstrate, str, tuple[AuditEntry, ...]], object]


def flip(nth: int) -> Break:
    def broken(substrate: ReferenceSubstrate, address: str, entries: tuple[AuditEntry, ...]) -> None:
        bad = address if nth < 0 else entries[nth].address
        substrate.intact = lambda one: one != bad  # type: ignore[attr-defined]

    return broken


def without(nth: int) -> Break:
    def broken(substrate: ReferenceSubstrate, _: str, entries: tuple[AuditEntry, ...]) -> None:
        del substrate.grains[entries[nth].address]

    return broken


def forged(**over: Any) -> Break:
    return lambda substrate, address, _: write(substrate, address, **over)


def second_first(substrate: ReferenceSubstrate, address: str, _: tuple[AuditEntry, ...]) -> None:
    write(substrate, address, previous=None, from_status=None, to_status="pending", observer="system")


def skips_one(substrate: ReferenceSubstrate, address: str, entries: tuple[AuditEntry, ...]) -> None:
    write(substrate, address, previous=entries[0].address)


BROKEN: dict[str, tuple[Break, str]] = {
    "AUD-1 no entry": (lambda s, a, e: (without(0)(s, a, e), without(1)(s, a, e)), "there is no audit entry"),
    "AUD-1 first is gone": (without(0), "the first entry is missing"),
    "AUD-1 a second first": (second_first, "a first entry stands in the middle"),
    "AUD-1 a person's expiry": (forged(to_status="expired"), "the entry was written by somebody who may not"),
    "AUD-1 the system's approval": (forged(observer="system"), "the entry was written by somebody who may not"),
    "AUD-2 predecessor unknown": (forged(previous="0" * 64), "the entry does not follow the one before it"),
    "AUD-2 predecessor skipped": (skips_one, "the entry does not follow the one before it"),
    "AUD-2 other status": (forged(from_status="pending"), "the entry does not follow the one before it"),
    "AUD-3 illegal": (forged(to_status="rolled_back"), "the transition is not one the lifecycle allows"),
    "AUD-3 backwards": (forged(to_status="pending"), "the transition is not one the lifecycle allows"),
    "AUD-4 time backwards": (forged(at=NOW), "time runs backwards, to 2026-03-02 09:00Z"),
    "AUD-5 recommendation flipped": (flip(-1), "the recommendation's bytes no longer have its address"),
    "AUD-5 first entry flipped": (flip(0), "the entry's bytes no longer have its address"),
    "AUD-5 last entry flipped": (flip(1), "the entry's bytes no longer have its address"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_chain_is_found(name: str) -> None:
    """D6: each rule of the chain, broken alone, is found, with the first bad link."""
    substrate, address = approved()
    before = chain(substrate, address)
    assert before.verified
    breaking, fault = BROKEN[name]
    breaking(substrate, address, before.entries)
    found = chain(substrate, address)
    assert not found.verified
    assert found.fault == fault
    assert found.fault_address is not None
    assert len(found.fault_address) == 64


def test_an_edited_row_is_found() -> None:
    """AUD-6: the status shown is the last of the chain, and the row shown is the one that the grains give."""
    substrate, address = approved()
    row = views.ledger_row(substrate, address)
    assert row is not None
    assert audit.chain(substrate, row).verified
    edits: list[dict[str, Any]] = [
        {"status": "pending"}, {"creator": "user:x"}, {"severity": "high"}, {"foreign": True}, {"since": 0},
        {"identity": "x"}, {"replaced_by": "0" * 64}, {"origin": "command"}, {"target_ref": "entity:x"},
    ]  # fmt: skip
    for edit in edits:
        found = audit.chain(substrate, replace(row, **edit))
        assert not found.verified, edit
        assert found.fault


def test_the_check_names_the_first_bad_link_and_reads_on_nothing() -> None:
    """Checking a chain writes nothing, whatever its state."""
    substrate, address = approved()
    write(substrate, address, to_status="rolled_back")
    before = everything(substrate)
    entries = chain(substrate, address).entries
    assert chain(substrate, address).fault_address == entries[2].address
    assert everything(substrate) == before


def test_entries_of_other_recommendations_and_other_grains_are_no_part_of_it() -> None:
    """D4: status is keyed by exact address; an Observation that is no audit is not read as one."""
    substrate, address = approved()
    for fields in (
        {"object": "hello", "derived_from": [address]},
        {"context": {"audit": "loop"}, "derived_from": [address]},
        {"context": {"audit": "loop", "to": "owned", "at": 1}, "derived_from": [address]},
        {"context": {"audit": "loop", "to": "applied", "from": "approved", "at": 1}, "derived_from": [address]},
        {"context": {"audit": "loop", "to": "applied", "from": "approved", "at": "1"}, "derived_from": [address, "x"]},
        {"context": {"audit": "tier2", "to": "applied", "from": "approved", "at": 1}, "derived_from": [address, "x"]},
        {"context": ["audit"], "derived_from": 7},
        {"context": {"audit": "loop", "to": "pending", "at": 1}},
    ):  # fmt: skip
        substrate.put(NewGrain("observation", "deja-loop", NOW, fields))
    substrate.put(replace(audit_grain(
        recommendation=address, previous=None, from_status=None, to_status="applied", actor="x", observer="human",
        because="in another namespace", at=NOW), namespace="shared"))  # fmt: skip
    assert chain(substrate, address).verified
    assert len(chain(substrate, address).entries) == 2


def test_an_imported_entry_is_no_link_of_a_local_chain() -> None:
    """LED-3: LED-4: it neither extends the chain nor breaks it; the replayed ledger agrees."""
    substrate, address = approved()
    row = views.ledger_row(substrate, address)
    import_grain(substrate, write(substrate, address))
    assert chain(substrate, address).verified
    assert views.ledger_row(substrate, address) == row
    assert [one.status for one in ledger.replay(substrate)] == ["approved"]


def test_a_foreign_chain_is_checked_and_shown() -> None:
    """D5: an imported recommendation with its imported entries is history that can be verified."""
    substrate, address = approved()
    for grain in list(substrate.grains.values()):
        import_grain(substrate, grain.address)
    found = chain(substrate, address)
    assert found.verified
    assert [entry.to_status for entry in found.entries] == ["pending", "approved"]
    row = views.ledger_row(substrate, address)
    assert row is not None
    assert row.foreign


def test_the_cached_row_and_the_replayed_row_are_one() -> None:
    """LED-1: D1: status is derived; deriving it one by one and all together gives the same."""
    substrate, _ = approved()
    calls(substrate, "x", "boom", 5)
    go(substrate, NOW + DAY)
    rows = list(ledger.replay(substrate))
    assert len(rows) == 2
    assert rows == [audit.derive(substrate, row.address) for row in rows]
