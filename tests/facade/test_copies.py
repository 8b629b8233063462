# SPDX-License-Identifier: Apache-2.0
"""Chains and copies through the library: rights, reasons, foreign governance, undo that travels, restore (COP)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deja_tui import Memory
from tests.store.helpers import Clock, refuses
from tests.support import DAY, NOW


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pair(tmp_path: Path, clock: Clock) -> Iterator[tuple[Memory, Memory]]:
    """Two empty copies with one clock."""
    with (
        Memory.open(tmp_path / "one.deja", clock=clock) as one,
        Memory.open(tmp_path / "two.deja", clock=clock) as two,
    ):
        yield one, two


def send(source: Memory, target: Memory) -> Any:
    path = Path(source.store.path).with_suffix(".mgb")
    source.bundle(path)
    return target.import_bundle(path)


def fork(one: Memory, two: Memory) -> tuple[str, str, str]:
    base = one.add_fact("acme", "region", "eu")
    send(one, two)
    mine = one.supersede(base, {"object": "eu-west"})
    theirs = two.supersede(base, {"object": "eu-east"})
    send(two, one)
    return base, mine, theirs


def duplicates(memory: Memory, clock: Clock) -> str:
    """Two equal facts, and the address of the recommendation about them."""
    memory.add_fact("d", "k", "v")
    clock.at += 1_000
    memory.add_fact("d", "k", "v")
    clock.at += 1_000
    memory.loop.run()
    (row,) = [row for row in memory.loop.queue() if "copies" in row.summary]
    return row.address


# --- merge and retire -------------------------------------------------------------------------------


def test_a_merge_keeps_its_reason_and_its_parents(pair: tuple[Memory, Memory]) -> None:
    """COP-1: One tip stands for the fork; the grain says why, what it merged, and says what the head said."""
    one, two = pair
    _, mine, theirs = fork(one, two)
    (found,) = one.forks()
    address = one.merge(mine[:12], reason="asked ops")
    merged = one.get(address)
    assert merged is not None
    assert merged.get("merge_reason") == "asked ops"
    assert merged.get("object") == found.tips[0].get("object")
    assert merged.get("derived_from") == found.tips[0].address
    assert merged.get("context") == {"merge_parents": [tip.address for tip in found.tips]}
    assert one.forks() == []
    assert one.latest("acme", "region").address == address  # type: ignore[union-attr]
    send(one, two)
    assert [head.address for head in two.heads("acme", "region")] == [address]
    assert {step.address for step in two.provenance(address).parents} >= {mine, theirs}
    newer = two.supersede(address, {"object": "later"})
    assert two.get(newer).get("context") is None  # type: ignore[union-attr]
    assert len(two.history(newer)) == 5


def test_two_heads_are_merged_when_they_are_named(pair: tuple[Memory, Memory]) -> None:
    """They are no fork, so one address is not enough; fields are laid over the greatest."""
    one, _ = pair
    first = one.add_fact("acme", "region", "a", confidence=0.4)
    second = one.add_fact("acme", "region", "b", confidence=0.6, created_at=NOW + 1)
    with refuses("VAL-E001"):
        one.merge(first, reason="x")
    merged = one.get(one.merge([first, second], {"object": "c", "confidence": None}, reason="x"))
    assert merged is not None
    assert (merged.get("object"), merged.get("confidence")) == ("c", 1.0)


def test_merges_that_are_none_are_refused(pair: tuple[Memory, Memory]) -> None:
    """Too few, several types, a context that could not carry the parents, no reason, no right."""
    one, _ = pair
    fact, event = one.add_fact("a", "b", "c"), one.add("event", {"content": "x"})
    other = one.add_fact("a", "b", "d")
    for tips in ([], [fact], [fact, fact], [fact, event]):
        with refuses("VAL-E001"):
            one.merge(tips, reason="x")
    with refuses("VAL-E001"):
        one.merge([fact, other], {"context": {"priority": "high"}}, reason="x")
    with refuses("LOP-E011"):
        one.merge([fact, other], reason=" ")
    with refuses("MEM-E001"):
        one.merge([fact, "0" * 64], reason="x")
    with Memory.open(one.store.path, scopes=["read"]) as reader, refuses("LOP-E022"):
        reader.merge([fact, other], reason="x")
    assert len(one.heads("a", "b")) == 2


def test_a_merge_keeps_explicit_nulls_of_the_greatest_tip(pair: tuple[Memory, Memory], clock: Clock) -> None:
    """GRAIN-1: a null that was given stays, one that is given now removes."""
    one, _ = pair
    tips = [one.add("tool", {"tool_name": name, "input": None, "error": "e"}) for name in ("a", "b")]
    merged = one.get(one.merge(tips, {"error": None}, reason="one call"))
    assert merged is not None
    assert "input" in merged.fields
    assert "error" not in merged.fields


def test_states_are_merged_with_their_snapshot(pair: tuple[Memory, Memory]) -> None:
    """A state's own context is what it holds; its merge parents stand in the common one."""
    one, two = pair
    states = [one.add("state", {"context": {"step": n}}) for n in range(2)]
    merged = one.get(one.merge(states, reason="x"))
    assert merged is not None
    assert merged.get("context") in ({"step": 0}, {"step": 1})
    assert set(merged.get("common_context")["merge_parents"]) == set(states)
    send(one, two)
    assert not any(two.get(state).live for state in states)  # type: ignore[union-attr]


def test_retiring_says_who_and_why_and_travels(pair: tuple[Memory, Memory]) -> None:
    """COP-1: No grain is written anew; an audit grain carries the effect to the other copy (D2)."""
    one, two = pair
    old, new = one.add_fact("acme", "region", "eu"), one.add_fact("ACME", "region", "eu")
    send(one, two)
    note = one.get(one.retire(old, by=new, reason="the same customer"))
    assert note is not None
    assert (note.namespace, note.get("observer_id")) == ("agent:authz", "user:local")
    assert note.get("context")["because"] == "the same customer"
    assert "eu" not in str(note.fields.values()).split()
    for memory in (one, two):
        if memory is two:
            assert send(one, two).marked == 1
        grain = memory.get(old)
        assert grain is not None
        assert (grain.live, grain.superseded_by) == (False, new)
        assert [g.address for g in memory.history(old)] == [new, old]


def test_retirements_that_are_none_are_refused(pair: tuple[Memory, Memory]) -> None:
    """Itself, one that is not live, a reserved one, no reason, no right: nothing changes."""
    one, _ = pair
    old, new = one.add_fact("a", "b", "c"), one.add_fact("a", "b", "d")
    audit = one.retire(one.add_fact("x", "y", "z"), by=new, reason="x")
    newer = one.supersede(new, {"object": "e"})
    cases = [(old, old, "VAL-E001"), (old, new, "MEM-E002"), (new, old, "MEM-E002"), (old, audit, "VAL-E004")]
    for address, by, code in cases:
        with refuses(code):
            one.retire(address, by=by, reason="x")
    with refuses("LOP-E011"):
        one.retire(old, by=newer, reason="")
    with Memory.open(one.store.path, scopes=["read"]) as reader, refuses("LOP-E022"):
        reader.retire(old, by=newer, reason="x")
    assert len(one.heads("a", "b")) == 2


# --- reading ----------------------------------------------------------------------------------------


def test_reads_as_of_a_time_on_both_axes(pair: tuple[Memory, Memory], clock: Clock) -> None:
    """recall and latest; without a time validity means now."""
    one, _ = pair
    first = one.add_fact("acme", "region", "eu", valid_to=NOW + 5 * DAY)
    clock.at += DAY
    one.supersede(first, {"object": "us"})
    assert [grain.get("object") for grain in one.recall("acme", as_of="2026-03-02T10:00:00Z")] == ["eu"]
    assert one.latest("acme", "region", as_of=NOW).get("object") == "eu"  # type: ignore[union-attr]
    assert one.latest("acme", "region", as_of=NOW - 1) is None
    assert one.latest("acme", "region", axis="validity").get("object") == "us"  # type: ignore[union-attr]
    assert one.recall("acme", as_of=NOW + 9 * DAY, axis="validity") == []
    with refuses("VAL-E001"):
        one.recall("acme", axis="sideways")
    with refuses("VAL-E002"):
        one.latest("acme", "region", as_of="soon")


def test_what_changed_since(pair: tuple[Memory, Memory], clock: Clock) -> None:
    """INV-CHANGE-2: per subject and namespace, by position or time; a superseding grain is one change, a forgotten one an
    address."""
    one, two = pair
    fork(one, two)
    clock.at += DAY
    gone = one.add_fact("bob", "likes", "tea", namespace="other")
    position = one.stats()["operations"]
    one.forget(gone, because="asked")
    kinds = [(change.kind, change.subject, change.origin) for change in one.changes()]
    assert kinds == [
        ("add", "acme", "local"),
        ("supersede", "acme", "local"),
        ("supersede", "acme", "imported"),
        ("add", None, "local"),
        ("forget", None, "local"),
    ]
    assert [change.kind for change in one.changes(subject="acme")] == ["add", "supersede", "supersede"]
    assert list(one.changes(subject="acme", since=NOW + 1)) == []
    assert [change.kind for change in one.changes(since=position)] == ["forget"]
    assert [change.kind for change in one.changes(namespace="agent:authz")] == ["add"]
    assert list(one.changes(namespace="other")) == []
    rows = list(one.log())
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert [row.seq for row in one.log(since=3)] == [row.seq for row in rows[3:]]
    assert {row.hlc >> 16 for row in one.log(since="2026-03-03T00:00:00Z")} == {clock.at}
    with refuses("VAL-E002"):
        list(one.log(since="soon"))


def test_a_merge_is_one_change_here_and_in_the_other_copy(pair: tuple[Memory, Memory]) -> None:
    """INV-CHANGE-1: however many tips it closed."""
    one, two = pair
    fork(one, two)
    position = one.stats()["operations"]
    merged = one.merge(one.forks()[0].tips[0].address, reason="one of them")
    assert [(change.kind, change.address) for change in one.changes(since=position)] == [
        ("supersede", merged)
    ]
    there = two.stats()["operations"]
    send(one, two)
    came = [(change.kind, change.address) for change in two.changes(since=there)]
    assert came.count(("supersede", merged)) == 1
    assert all(kind == "supersede" for kind, _ in came)
    assert len(came) == 2


def test_reading_needs_the_right(pair: tuple[Memory, Memory]) -> None:
    """And nothing more."""
    one, two = pair
    base, _, _ = fork(one, two)
    with Memory.open(one.store.path, scopes=["read"], read_only=True) as reader:
        assert len(reader.forks()) == 1
        assert len(reader.heads("acme", "region")) == 2
        assert reader.provenance(base).children
        assert list(reader.log())
    with Memory.open(one.store.path, scopes=["write"]) as blind:
        for read in (blind.forks, blind.log, blind.changes, lambda: blind.heads("a", "b")):
            with refuses("LOP-E022"):
                read()
        with refuses("LOP-E022"):
            blind.provenance(base)


# --- other copies -----------------------------------------------------------------------------------


def test_taking_rows_in_needs_admin(pair: tuple[Memory, Memory], tmp_path: Path) -> None:
    """COP-2: A bundle can erase, so it is no plain write; writing one only reads; a push writes."""
    one, _ = pair
    one.add_fact("a", "b", "c")
    (tmp_path / "hub").mkdir()
    one.push_segments(tmp_path / "hub")
    with Memory.open(one.store.path, scopes=["read", "write", "review", "apply"]) as worker:
        worker.bundle(tmp_path / "a.mgb")
        assert worker.push_segments(tmp_path / "hub").segments == 0
        with refuses("LOP-E022"):
            worker.import_bundle(tmp_path / "a.mgb")
        with refuses("LOP-E022"):
            worker.pull_segments(tmp_path / "hub")
    with Memory.open(one.store.path, scopes=["read"]) as reader:
        with refuses("LOP-E022"):
            reader.push_segments(tmp_path / "hub")
        with refuses("LOP-E022"):
            Memory.restore(
                one.store.path, tmp_path / "r", until=NOW, because="x", actor="agent:w", scopes=["write"]
            )
        assert reader.bundle(tmp_path / "a.mgb").rows == 1


def test_foreign_recommendations_are_shown_and_decided_by_nobody(
    pair: tuple[Memory, Memory], clock: Clock
) -> None:
    """COP-2: They and their audits are history: shown, checked, refused; a local run writes its own (D5)."""
    one, two = pair
    address = duplicates(one, clock)
    one.loop.approve(address, because="they are")
    report = send(one, two)
    assert report.governance > 0
    (row,) = two.loop.queue(None)
    assert (row.address, row.foreign, row.status) == (address, True, "approved")
    assert two.loop.audit(address).verified
    for decide in (two.loop.apply, two.loop.reject, two.loop.withdraw):
        with refuses("LOP-E025"):
            decide(address, because="as they said")
    assert len(two.recall("d")) == 2
    two.loop.run()
    assert two.loop.waiting() == len(two.loop.queue()), "counted without reading one of them"
    assert two.loop.queue(limit=1) == two.loop.queue()[:1]
    own = [row for row in two.loop.queue() if not row.foreign]
    shown = two.loop.show(own[0].address).recommendation
    assert shown.identity == two.loop.show(address).recommendation.identity
    assert own[0].address != address
    assert two.verify() == ()


def test_audits_from_outside_say_nothing_about_a_local_recommendation(
    pair: tuple[Memory, Memory], clock: Clock
) -> None:
    """The same recommendation went out, was decided there and came back: here it is as pending as before."""
    one, two = pair
    address = duplicates(one, clock)
    send(one, two)
    # whoever has the bytes can write such an audit; here the other copy is made to
    with two.store.act(governed=True) as act:
        from deja_tui.adapter import build
        from deja_tui.engine import audit
        from deja_tui.engine.wire import audit_grain

        (first,) = [entry for entry, _ in audit.entries(two.substrate, address)]
        forged = audit_grain(
            recommendation=address,
            previous=first.address,
            from_status="pending",
            to_status="approved",
            actor="user:boss",
            observer="human",
            because="believe me",
            at=clock.at,
        )
        act.add(build(forged))
    send(two, one)
    (row,) = [row for row in one.loop.queue(None) if row.address == address]
    assert (row.status, row.foreign) == ("pending", False)
    assert one.loop.audit(address).verified
    one.loop.approve(address, because="my own decision")
    assert one.verify() == ()


def test_an_apply_and_its_undo_are_seen_by_the_other_copy(pair: tuple[Memory, Memory], clock: Clock) -> None:
    """Retired there, retired here; rolled back there, live here again; old bundles change nothing (D2)."""
    one, two = pair
    address = duplicates(one, clock)
    one.loop.approve(address, because="they are")
    send(one, two)
    one.loop.apply(address, because="now")
    send(one, two)
    assert [len(memory.recall("d")) for memory in (one, two)] == [1, 1]
    old = Path(one.store.path).with_suffix(".old")
    one.bundle(old)
    one.loop.rollback(address, because="they were not")
    send(one, two)
    assert [len(memory.recall("d")) for memory in (one, two)] == [2, 2]
    assert two.import_bundle(old).applied == 0
    assert [g.address for g in two.recall("d")] == [g.address for g in one.recall("d")]
    assert [row.status for row in two.loop.queue(None) if row.address == address] == ["rolled_back"]
    assert two.verify() == ()


def test_an_erasure_that_came_takes_what_quotes_it(pair: tuple[Memory, Memory], clock: Clock) -> None:
    """COP-3: Recommendations here that quote it go, the sidecar is scrubbed, no byte of it stays (D31)."""
    one, two = pair
    duplicates(one, clock)
    (extra,) = [one.add_fact("zebra-zebra", "k", "v")]
    send(one, two)
    two.loop.run()
    quoting = [address for address, _ in two.store.blobs("recommendation")]
    assert len(quoting) == 2  # the one that came, and its own of the same finding
    gone = one.recall("d")[0].address
    one.forget(gone, because="asked")
    one.forget(extra, because="asked")
    report = send(one, two)
    assert report.forgotten >= 2
    assert two.get(gone) is None
    assert two.loop.queue(None) == []
    assert all(two.get(address) is None for address in quoting)
    audits = [grain for grain in two.scan("observation", namespace="agent:authz") if not grain.imported]
    assert [(note.get("object"), note.get("context")["grains_erased"]) for note in audits] == [("erase", 3)]
    assert audits[0].get("context")["recommendations_erased"] == 1  # its own; the other one came erased
    assert audits[0].get("observer_id") == two.who.actor
    assert b"zebra" not in (two.store.blob(audits[0].address) or b"")
    assert send(one, two).applied == 0
    assert [
        grain for grain in two.scan("observation", namespace="agent:authz") if not grain.imported
    ] == audits
    assert two.verify() == ()
    two.close()
    for suffix in ("", "-wal"):
        path = Path(f"{two.store.path}{suffix}")
        assert not path.exists() or b"zebra-zebra" not in path.read_bytes()


def test_a_fork_is_seen_across_a_grain_that_was_erased_before_it_was_sent(
    pair: tuple[Memory, Memory],
) -> None:
    """D3: heads and forks are the same in the copy that never had the bytes between ancestor and tip."""
    one, two = pair
    base = one.add_fact("acme", "region", "eu")
    send(one, two)
    mine = two.supersede(base, {"object": "eu-west"})
    between = one.supersede(base, {"object": "us"})
    tip = one.supersede(between, {"object": "us-east"})
    one.forget(between, because="asked")
    for source, target in ((one, two), (two, one)):
        send(source, target)
    for memory in pair:
        (found,) = memory.forks()
        assert {grain.address for grain in found.tips} == {mine, tip}
        assert found.ancestor == base


def test_a_fork_is_seen_through_a_merge_that_was_erased(pair: tuple[Memory, Memory], clock: Clock) -> None:
    """D3: each copy closed another parent of the merge, and forgot it; both still see what descends from both."""
    one, two = pair
    left, right = one.add_fact("plan", "is", "left"), one.add_fact("plan", "is", "right")
    send(one, two)
    theirs = two.supersede(left, {"object": "left again"})
    clock.at += 1
    merged = one.merge([left, right], reason="one plan")
    send(one, two)
    two.forget(merged, because="asked")
    tip = one.supersede(merged, {"object": "both"})
    for source, target in ((one, two), (two, one), (one, two)):
        send(source, target)
    for memory in pair:
        (found,) = memory.forks()
        assert {grain.address for grain in found.tips} == {theirs, tip}


def test_a_superseded_grain_stays_so_when_its_successor_was_erased_before_it_was_sent(
    pair: tuple[Memory, Memory],
) -> None:
    """The other copy never saw the successor, and still does not bring the old grain back."""
    one, two = pair
    old = one.add_fact("u", "city", "Paris")
    send(one, two)
    one.forget(one.supersede(old, {"object": "Rome"}), because="asked")
    send(one, two)
    assert [memory.latest("u", "city") for memory in (one, two)] == [None, None]


def test_segments_bring_foreign_governance_too(
    pair: tuple[Memory, Memory], clock: Clock, tmp_path: Path
) -> None:
    """The queue of a follower lists it as foreign, and the file verifies."""
    one, two = pair
    address = duplicates(one, clock)
    (tmp_path / "hub").mkdir()
    one.push_segments(tmp_path / "hub")
    (followed,) = two.pull_segments(tmp_path / "hub")
    assert followed.governance > 0
    assert [(row.address, row.foreign) for row in two.loop.queue(None)] == [(address, True)]
    assert two.verify() == ()


# --- restore ----------------------------------------------------------------------------------------


def test_a_restored_memory_is_the_one_of_that_time(
    pair: tuple[Memory, Memory], clock: Clock, tmp_path: Path
) -> None:
    """COP-4: Recall, queue and status as they were; decisions can go on from there; the file says who made it and why."""
    one, _ = pair
    address = duplicates(one, clock)
    clock.at += 1_000
    one.loop.approve(address, because="they are")
    clock.at += 1_000
    applied = clock.at
    one.loop.apply(address, because="now")
    clock.at += 1_000
    one.loop.rollback(address, because="no")
    states = {applied - 1: ("approved", 2), applied: ("applied", 1), clock.at: ("rolled_back", 2)}
    for number, (until, (status, copies)) in enumerate(states.items()):
        target = tmp_path / f"{number}.deja"
        report = Memory.restore(
            one.store.path, target, until=until, because="to look", actor="user:ana", clock=clock
        )
        with Memory.open(target, clock=clock) as then:
            (row,) = then.loop.queue(None)
            assert (row.status, row.foreign) == (status, False)
            assert len(then.recall("d")) == copies
            assert then.verify() == ()
            notes = [g for g in then.recall(namespace="agent:authz") if g.get("object") == "restore"]
            assert [note.get("context")["because"] for note in notes] == ["to look"]
            assert notes[0].get("observer_id") == "user:ana"
            assert report.operations == len(list(then.log())) - 1
            if status == "applied":
                then.loop.rollback(address, because="not so")
                assert len(then.recall("d")) == 2


def test_a_bundle_is_restored_too(pair: tuple[Memory, Memory], clock: Clock, tmp_path: Path) -> None:
    """Up to a clock; a damaged bundle leaves no file behind."""
    one, _ = pair
    one.add_fact("a", "b", "c")
    clock.at += DAY
    one.add_fact("a", "b", "d")
    path = tmp_path / "a.mgb"
    one.bundle(path)
    report = Memory.restore(path, tmp_path / "r.deja", until=NOW, because="x", clock=clock)
    assert report.grains == 1
    with Memory.open(tmp_path / "r.deja", clock=clock) as then:
        assert [grain.get("object") for grain in then.recall("a")] == ["c"]
        assert then.recall("a")[0].imported
    path.write_bytes(path.read_bytes()[:-1])
    with refuses("FMT-E004"):
        Memory.restore(path, tmp_path / "no.deja", until=clock.at, because="x", clock=clock)
    for wrong, code in ((" ", "LOP-E011"), ("x", "IMP-E001")):
        with refuses(code):
            Memory.restore(tmp_path / "none", tmp_path / "no.deja", until=NOW, because=wrong, clock=clock)
    (tmp_path / "text").write_text("hello")
    with refuses("STO-E002"):
        Memory.restore(tmp_path / "text", tmp_path / "no.deja", until=NOW, because="x", clock=clock)
    assert sorted(p.name for p in tmp_path.iterdir() if "no.deja" in p.name) == []


def test_a_trail_that_came_in_any_order_is_whole(
    pair: tuple[Memory, Memory], clock: Clock, tmp_path: Path
) -> None:
    """AUD-2: the entries of a foreign chain stand in the order in which each names the one before it, and no fault is told."""
    one, two = pair
    address, since, bundles = duplicates(one, clock), 0, []
    for verb in ("approve", "apply", "rollback"):
        clock.at += 1_000
        getattr(one.loop, verb)(address, because=verb)
        bundles.append(tmp_path / f"{verb}.mgb")
        since = one.bundle(bundles[-1], since=since).last_seq
    for bundle in reversed(bundles):
        two.import_bundle(bundle)
    chain = two.loop.audit(address)
    assert [entry.to_status for entry in chain.entries] == ["pending", "approved", "applied", "rolled_back"]
    assert chain.verified
    assert two.verify(deep=True) == ()
    assert [(row.status, row.foreign) for row in two.loop.queue(None)] == [("rolled_back", True)]
    assert [grain.address for grain in two.recall("d")] == [grain.address for grain in one.recall("d")]
