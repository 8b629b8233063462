# SPDX-License-Identifier: Apache-2.0
"""The library: what each method gives, loses nothing of, and refuses."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deja_tui import DejaError, Memory
from deja_tui.facade import host_clock
from tests.support import DAY, NOW


class Clock:
    """A clock that moves when told to."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with Memory.open(tmp_path / "a.deja", clock=clock) as opened:
        yield opened


def refused(code: str) -> Any:
    return pytest.raises(DejaError, match=code)


def test_a_fact_comes_back_with_all_that_was_given(memory: Memory) -> None:
    """Known and unknown fields, ISO times as epoch ms."""
    address = memory.add_fact(
        "acme", "tier", "gold", 0.8, valid_to="2027-01-01T00:00:00Z", ticket="T-1", tags=["crm"]
    )
    found = memory.get(address)
    assert found is not None
    assert (found.get("subject"), found.get("relation"), found.get("object")) == ("acme", "tier", "gold")
    assert found.get("valid_to") == 1_798_761_600_000
    assert found.get("ticket") == "T-1"
    assert found.get("structural_tags") == ["crm"]
    assert memory.get(address[:12]) == found
    assert memory.get("f" * 64) is None


def test_recall_is_newest_first_and_exact(memory: Memory, clock: Clock) -> None:
    """Order (created_at, HLC, address); equality on NFC text, not folded."""
    for number, subject in enumerate(("acme", "Acme", "acme")):
        clock.now = NOW + number
        memory.add_fact(subject, "likes", f"tea {number}")
    assert [grain.get("object") for grain in memory.recall("acme")] == ["tea 2", "tea 0"]
    assert [grain.get("object") for grain in memory.recall("Acme")] == ["tea 1"]
    assert [grain.get("object") for grain in memory.recall("acme", "likes", "tea 0")] == ["tea 0"]
    assert memory.recall("acme", namespace="other") == []


def test_supersede_lays_fields_over_and_keeps_the_chain(memory: Memory, clock: Clock) -> None:
    """The old one leaves recall, history shows both, None removes a field."""
    old = memory.add_fact("acme", "deploy_target", "us-east-1", 0.7, ticket="T-1", valid_from=5_000)
    clock.now += 1
    new = memory.supersede(old, {"object": "eu-west-1", "ticket": None}, reason="moved on Monday")
    head = memory.latest("acme", "deploy_target")
    assert head is not None
    assert head.address == new
    assert (head.get("object"), head.get("ticket"), head.get("confidence")) == ("eu-west-1", None, 0.7)
    assert head.get("valid_from") == 5_000_000, "a stored time is not read as seconds a second time"
    assert head.get("derived_from") == old
    assert [grain.address for grain in memory.history(old)] == [new, old]
    with refused("MEM-E002"):
        memory.supersede(old, {"object": "x"})


def test_supersede_takes_an_alias_for_its_field(memory: Memory) -> None:
    """`content` of a tool is its tool_content, also when it is laid over."""
    call = memory.record_tool_call("curl", "slow", True, call_id="1")
    found = memory.get(memory.supersede(call, {"content": "fast"}))
    assert found is not None
    assert found.get("tool_content") == "fast"
    assert found.get("content") is None


def test_a_forgotten_grain_leaves_nothing_but_who_and_why(memory: Memory) -> None:
    """Recall, search and get miss it, its address is refused, an audit grain tells of it without its text."""
    address = memory.add_fact("pat", "phone", "555-0199", created_at=NOW)
    memory.forget(address, because="asked to by pat")
    assert memory.get(address) is None
    assert memory.recall("pat") == []
    assert memory.search("555-0199") == []
    with refused("MEM-E003"):
        memory.add_fact("pat", "phone", "555-0199", created_at=NOW)
    (audit,) = memory.store.scan("observation", namespaces=["agent:authz"])
    assert audit.get("context")["because"] == "asked to by pat"
    assert "555" not in str(audit.fields)


def test_forget_needs_a_reason_and_admin(memory: Memory, tmp_path: Path, clock: Clock) -> None:
    """A refusal erases nothing."""
    address = memory.add_fact("a", "b", "c")
    for reason in ("", "  ", "x" * 501):
        with refused("LOP-E011"):
            memory.forget(address, because=reason)
    with (
        Memory.open(tmp_path / "a.deja", clock=clock, scopes=("read", "write", "review", "apply")) as limited,
        refused("LOP-E022"),
    ):
        limited.forget(address, because="no right to")
    assert memory.get(address) is not None


def test_nobody_but_the_engine_writes_governance(memory: Memory) -> None:
    """Reserved namespaces and the recommendation type are refused on every plain path (D7)."""
    for namespace in ("deja-loop", "loop", "agent:authz", "agent:x"):
        with refused("VAL-E004"):
            memory.add("fact", {"subject": "a", "relation": "b", "object": "c"}, namespace=namespace)
    with refused("VAL-E004"):
        memory.add("recommendation", {"target_ref": "entity:a/b", "analyzer": {"id": "x/1"}, "summary": {"template_id": "t", "args": {}}, "dedup_key": "0" * 64, "proposal_data": {}, "severity": "high"})  # fmt: skip
    for number in range(3):
        memory.record_tool_call("curl", "timeout", True, call_id=str(number))
    (address,) = memory.loop.run().recommendations
    for act in (
        lambda: memory.supersede(address, {"severity": "low"}),
        lambda: memory.forget(address, because="try"),
    ):
        with refused("VAL-E004"):
            act()
    assert memory.loop.queue()[0].address == address


def test_rights_are_checked_at_every_door(tmp_path: Path, clock: Clock) -> None:
    """A reader reads, a writer writes, neither decides."""
    path = tmp_path / "a.deja"
    with Memory.open(path, clock=clock) as memory:
        for number in range(3):
            memory.record_tool_call("curl", "timeout", True, call_id=str(number))
        (address,) = memory.loop.run().recommendations
    with Memory.open(path, clock=clock, scopes=("read",)) as reader:
        assert reader.loop.queue()
        for act in (lambda: reader.add_fact("a", "b", "c"), lambda: reader.loop.run()):
            with refused("LOP-E022"):
                act()
    with Memory.open(path, clock=clock, scopes=("read", "write")) as writer:
        for act in (writer.loop.approve, writer.loop.reject, writer.loop.apply, writer.loop.rollback):
            with refused("LOP-E022"):
                act(address, because="no right to")
        with refused("LOP-E022"):
            writer.loop.approve("f" * 64, because="")
    with Memory.open(path, clock=clock, scopes=("read", "review")) as reviewer:
        assert reviewer.loop.approve(address, because="fine").to_status == "approved"
        with refused("LOP-E022"):
            reviewer.loop.apply(address, because="no right to")
    with refused("VAL-E001"):
        Memory.open(path, scopes=("root",))


def test_a_decision_is_about_one_address(memory: Memory) -> None:
    """A list, a set or nothing is refused before anything is looked up (D15)."""
    for several in (["a", "b"], ("a" * 64, "b" * 64), None, {"a"}):
        with refused("VAL-E001"):
            memory.loop.approve(several, because="all of them")  # type: ignore[arg-type]


def test_a_read_only_memory_reads_and_refuses(tmp_path: Path, clock: Clock) -> None:
    """D36: acts are coded errors, a missing file is one too."""
    path = tmp_path / "a.deja"
    with refused("STO-E003"):
        Memory.open(path, create=False)
    with Memory.open(path, clock=clock) as memory:
        memory.add_fact("a", "b", "c")
    with Memory.open(path, read_only=True) as reader:
        assert len(reader.recall("a")) == 1
        with refused("STO-E005"):
            reader.add_fact("a", "b", "d")


def test_a_second_run_while_one_is_under_way_is_a_clean_skip(
    memory: Memory, tmp_path: Path, clock: Clock
) -> None:
    """The lease makes it `lock_held`; it ends with the run."""
    memory.loop._take_lease("somebody else")
    with Memory.open(tmp_path / "a.deja", clock=clock) as other:
        skipped = other.loop.run()
        assert (skipped.outcome, skipped.skip_reason) == ("skipped", "lock_held")
    memory.loop._give_lease_back("somebody else")
    assert memory.loop.run().outcome == "ran"


def test_an_undo_gives_back_what_recall_returned(memory: Memory, clock: Clock) -> None:
    """Byte for byte and in the same order, with a newer grain written in between."""
    first = memory.add_fact("acme", "likes", "tea", created_at=NOW - 3 * DAY)
    memory.add_fact("acme", "likes", "TEA", created_at=NOW - 2 * DAY)
    (address,) = memory.loop.run().recommendations
    before = [(grain.address, memory.store.blob(grain.address)) for grain in memory.recall("acme")]
    memory.loop.approve(address, because="same")
    memory.loop.apply(address, because="one is enough")
    assert [grain.address for grain in memory.recall("acme")] == [first]
    memory.loop.rollback(address, because="no, both")
    assert [(grain.address, memory.store.blob(grain.address)) for grain in memory.recall("acme")] == before


def test_a_rebuilt_ledger_says_what_the_old_one_said(memory: Memory) -> None:
    """Status is derived from the audit chain; an edited row is found and put right (D1, D6)."""
    for number in range(3):
        memory.record_tool_call("curl", "timeout", True, call_id=str(number))
    (address,) = memory.loop.run().recommendations
    memory.loop.reject(address, because="an outage")
    with memory.store.act(governed=True) as act:
        from dataclasses import replace

        row = memory.substrate.ledger_get(address)
        assert row is not None
        act.ledger_put(replace(row, status="approved"))
    assert [fault.code for fault in memory.verify()] == ["LOP-E026"]
    with refused("LOP-E026"):
        memory.loop.apply(address, because="forged approval")
    assert memory.rebuild_ledger() == 1
    assert memory.verify() == ()
    assert memory.loop.queue("rejected")[0].address == address


def test_threads_share_one_memory(memory: Memory) -> None:
    """Four writers and a reader: nothing is lost, nothing raises."""
    faults: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for i in range(25):
                memory.add_fact(f"s{number}", "has", f"value {i}")
                memory.recall(f"s{number}")
        except BaseException as fault:  # noqa: BLE001 - handed to the main thread
            faults.append(fault)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert sum(len(memory.recall(f"s{number}", k=100)) for number in range(4)) == 100


def test_the_clock_override_must_be_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """DEJA_LOOP_NOW_MS pins the clock or is an error."""
    monkeypatch.setenv("DEJA_LOOP_NOW_MS", "1772442000000")
    assert host_clock() == NOW
    for bad in ("", "now", "-1", "1.5", "١٢"):
        monkeypatch.setenv("DEJA_LOOP_NOW_MS", bad)
        with refused("CLI-E002"):
            host_clock()


def test_an_unknown_telemetry_mode_is_refused(tmp_path: Path) -> None:
    """Asking for it is refused, not ignored, and makes no file."""
    with refused("VAL-E001"):
        Memory.open(tmp_path / "b.deja", telemetry="everything")
    assert not (tmp_path / "b.deja").exists()


def test_a_new_file_is_private(memory: Memory, tmp_path: Path) -> None:
    """0600 (D36)."""
    assert os.stat(tmp_path / "a.deja").st_mode & 0o777 == 0o600


def test_a_gated_skip_writes_nothing(memory: Memory) -> None:
    """It reads two counters; the op-log and every other byte stay (spec: a skip changes nothing)."""
    memory.loop.run()
    before = memory.loop.change_token()
    assert memory.loop.run(min_new=5).skip_reason == "min_new_not_met"
    assert memory.loop.change_token() == before


def test_a_lease_that_cannot_be_given_back_does_not_hide_what_was_stored(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outcome is the run's; a lease dated by a wrong clock stops nobody."""
    for number in range(3):
        memory.record_tool_call("curl", "timeout", True, call_id=str(number))
    real = memory.loop._take_lease

    def take(owner: str) -> None:
        real(owner)
        monkeypatch.setattr(memory.loop, "_give_lease_back", lambda owner: None)

    monkeypatch.setattr(memory.loop, "_take_lease", take)
    assert memory.loop.run().stored == 1
    assert memory.loop.run().skip_reason == "lock_held"
    with memory.store.act(governed=True) as act:
        act.set_setting("loop.lease", {"owner": "x", "until": NOW * 1000})
    assert memory.loop.run().outcome == "ran"


def test_a_run_that_finds_nothing_says_why(memory: Memory) -> None:
    """Each analyzer that ran tells what it has and what it needs."""
    memory.record_tool_call("curl", "timeout", True, call_id="1")
    quiet = memory.loop.run(explain=True).quiet
    assert (quiet["loop.tool_failure/1"].state, quiet["loop.tool_failure/1"].have) == ("below_threshold", 1)
    assert quiet["loop.duplicate_sweep/1"].state == "quiet"


def test_a_chain_stays_in_its_namespace(memory: Memory) -> None:
    """Another one is refused, not dropped in silence."""
    address = memory.add_fact("a", "b", "c")
    with refused("VAL-E001"):
        memory.supersede(address, {"object": "d", "namespace": "other"})
    assert memory.recall("a")[0].address == address
