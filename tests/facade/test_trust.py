# SPDX-License-Identifier: Apache-2.0
"""What a reviewer must be able to rely on: undo undoes, nobody forges a decision, nothing is left half decided.

Each test is named for a way in which such a product has failed its users (spec of the loop, section 25).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import pytest

from deja_tui import DejaError, Memory, compat
from deja_tui.adapter import build
from deja_tui.cli.main import run as deja
from deja_tui.engine import audit
from deja_tui.engine.doc_edits import diff_of, digest
from deja_tui.engine.operations import (
    Add,
    DefineQuery,
    DocEdit,
    Merge,
    Operation,
    Retire,
    Supersede,
    to_plain,
)
from deja_tui.engine.substrate import NewGrain
from deja_tui.store.memory import Store
from tests.engine.helpers import draft, plant
from tests.support import DAY, NOW, ROOT


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.deja"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with Memory.open(path, clock=lambda: NOW) as opened:
        yield opened


def recalled(memory: Memory) -> list[tuple[str, int, bool, str]]:
    return [(g.address, g.created_at, g.live, repr(dict(g.fields))) for g in memory.recall(k=1_000)]


def found(memory: Memory, family: str) -> str:
    memory.loop.run()
    return next(row.address for row in memory.loop.queue() if row.analyzer.startswith(family))


def duplicates(memory: Memory) -> str:
    for confidence in (0.9, 0.8, 0.7):
        memory.add_fact("acme", "likes", "green tea", confidence)
    return found(memory, "loop.duplicate_sweep")


def changed(memory: Memory) -> tuple[Any, ...]:
    """Everything a forger would want to have changed."""
    rows = [(row.address, row.status) for row in memory.loop.queue(None)]
    return (*rows, *recalled(memory), memory.stats()["grains"])


# --- undo --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", [0, 1])
def test_rollback_restores_the_values_that_a_resolved_contradiction_replaced(
    memory: Memory, choice: int
) -> None:
    """The peer removes what the apply wrote and leaves the replaced values superseded: recall then shows neither."""
    for number, value in enumerate(("gold", "silver")):
        fields = {"subject": "acme", "relation": "status", "object": value, "created_at": NOW - number * DAY}
        memory.add("fact", fields)
    address = found(memory, "loop.contradiction_sweep")
    assert len(memory.loop.show(address).recommendation.alternatives) >= 2
    before = recalled(memory)
    memory.loop.approve_and_apply(address, because="seen", choice=choice)
    assert len(recalled(memory)) == 1
    memory.loop.rollback(address, because="undo")
    assert recalled(memory) == before


def test_rollback_restores_every_copy_that_a_consolidation_took_away(memory: Memory) -> None:
    """Merging three copies leaves one, not three; the undo leaves three, not zero."""
    address = duplicates(memory)
    before = recalled(memory)
    memory.loop.approve_and_apply(address, because="same fact")
    assert len(recalled(memory)) == 1
    memory.loop.rollback(address, because="ana wants them all")
    assert recalled(memory) == before
    assert memory.verify() == ()


def test_an_undone_change_stays_undone_after_a_rebuild(memory: Memory) -> None:
    """D1, D2: liveness follows from the marks, not from a table that a rebuild would make again from the apply."""
    address = duplicates(memory)
    before = recalled(memory)
    memory.loop.approve_and_apply(address, because="same fact")
    memory.loop.rollback(address, because="no")
    assert memory.verify(rebuild=True) == ()
    assert recalled(memory) == before


# --- forging -----------------------------------------------------------------------------------------

Forge = Callable[[Memory, str], object]
APPROVED: dict[str, Any] = {
    "observer_id": "user:ana",
    "observer_type": "human",
    "object": "seen",
    "context": {"audit": "loop", "from": "pending", "to": "approved", "at": NOW},
}


def _body(memory: Memory, address: str) -> dict[str, Any]:
    grain = memory.store.get(address)
    assert grain is not None
    return dict(grain.fields)


FORGERIES: dict[str, Forge] = {
    "an audit by a plain add": lambda m, a: m.add(
        "observation",
        {**APPROVED, "derived_from": [a, m.loop.audit(a).entries[-1].address]},
        namespace="deja-loop",
    ),
    "an audit whose namespace is a field": lambda m, a: m.add(
        "observation", {**APPROVED, "namespace": "deja-loop"}
    ),
    "an audit whose namespace is on the wire": lambda m, a: m.add(
        "observation", {**APPROVED, "ns": "deja-loop"}
    ),
    "a recommendation by a plain add": lambda m, a: m.add(
        "recommendation", _body(m, a), namespace="deja-loop"
    ),
    "a recommendation elsewhere": lambda m, a: m.add("recommendation", _body(m, a)),
    "a fact in the old namespace": lambda m, a: m.add_fact("__loop_state__", "x", "y", namespace="loop"),
    "a grant": lambda m, a: m.add_fact("user:ana", "has_scope", "admin", namespace="agent:authz"),
    "a superseded recommendation": lambda m, a: m.supersede(a, {"severity": "info"}),
    "a forgotten audit": lambda m, a: m.forget(m.loop.audit(a).entries[-1].address, because="away"),
    "a retired recommendation": lambda m, a: m.retire(a, by=a, reason="away"),
    "an audit through the language": lambda m, a: m.cal(
        'ADD observation SET object = "x" SET namespace = "deja-loop" REASON "r"'
    ),
    "a recommendation through the language": lambda m, a: m.cal(
        f'ADD recommendation SET target_ref = "entity:x/y" SET evidence = ["{a}"] SET analyzer = "loop.x/1" '
        'SET operations = ["{}"] REASON "r"'
    ),
    "a superseded recommendation through the language": lambda m, a: m.cal(
        f'SUPERSEDE sha256:{a} SET severity = "info" REASON "r"'
    ),
    "a forgotten recommendation through the language": lambda m, a: m.cal(
        f'FORGET sha256:{a} REASON "r"', allow_destructive=True
    ),
    "a setting through a document": lambda m, a: m.docs.create("/memories/../deja-loop", "x"),
}


@pytest.mark.parametrize("how", FORGERIES)
def test_a_plain_write_forges_no_governance(memory: Memory, how: str) -> None:
    """D6, D7: refused with a code, and no status, no grain and no rendering of one is different afterwards."""
    address = duplicates(memory)
    before = changed(memory)
    with pytest.raises(DejaError) as caught:
        FORGERIES[how](memory, address)
    assert caught.value.code.startswith(("VAL-E", "CAL-E", "MEM-E", "LOP-E"))
    assert changed(memory) == before
    assert memory.verify() == ()


def test_the_compatible_library_forges_nothing_either(memory: Memory, path: Path) -> None:
    """The peer's own way in: one ``add`` in the loop's namespace, as JSON text."""
    address = duplicates(memory)
    before = changed(memory)
    db = compat.DejaDB(str(path), actor="agent:x")
    planted = {
        "subject": "__loop_state__",
        "relation": "loop_state",
        "object": json.dumps({"status_index": {address: 1}}),
    }
    for type_, fields in (
        ("fact", planted),
        ("recommendation", _body(memory, address)),
        ("observation", APPROVED),
    ):
        for namespace in ("deja-loop", "loop", "agent:authz"):
            with pytest.raises((DejaError, ValueError)):
                db.add(type_, json.dumps({**fields, "namespace": namespace}, default=str))
    db.close()
    assert changed(memory) == before


def test_what_the_engine_writes_is_not_copied_by_a_plain_write(memory: Memory) -> None:
    """An approval is not moved to another recommendation by adding the very bytes of it."""
    one = duplicates(memory)
    memory.add_fact("bob", "likes", "tea", 0.9)
    memory.add_fact("bob", "likes", "tea", 0.8)
    memory.loop.run()
    other = next(row.address for row in memory.loop.queue() if row.address != one)
    memory.loop.approve(one, because="seen")
    entry = memory.store.get(memory.loop.audit(one).entries[-1].address)
    assert entry is not None
    with pytest.raises(DejaError, match="VAL-E004"):
        memory.add("observation", dict(entry.fields), namespace=entry.namespace)
    assert memory.loop.show(other).status == "pending"


def forged_copy(path: Path, address: str, tmp_path: Path) -> Path:
    """A bundle of a copy in which somebody wrote an approval into the file by hand, as user:ana."""
    twin = tmp_path / "twin.deja"
    twin.write_bytes(path.read_bytes())
    with Memory.open(twin, clock=lambda: NOW + 1) as other:
        first = audit.entries(other.substrate, address)[-1][0]
        audit.write(
            other.substrate,
            address,
            previous=first,
            to_status="approved",
            actor="user:ana",
            observer="human",
            because="forged",
            now_ms=NOW + 1,
        )
        other.bundle(tmp_path / "forged.bundle")
    return tmp_path / "forged.bundle"


def test_an_approval_that_came_with_a_bundle_decides_nothing(
    memory: Memory, path: Path, tmp_path: Path
) -> None:
    """D5, LED-4: it is history of that copy; here the recommendation is as pending as it was."""
    address = duplicates(memory)
    memory.close()
    bundle = forged_copy(path, address, tmp_path)
    with Memory.open(path, clock=lambda: NOW + 2) as again:
        again.import_bundle(bundle)
        assert again.loop.show(address).status == "pending"
        assert [entry.to_status for entry in again.loop.audit(address).entries] == ["pending"]
        with pytest.raises(DejaError, match="LOP-E020"):
            again.loop.apply(address, because="somebody approved it")
        assert again.loop.audit(address).verified


def flip(path: Path, address: str) -> None:
    """Flip one byte of a grain's stored bytes, with another program."""
    db = apsw.Connection(str(path))
    ((blob,),) = db.execute("SELECT body FROM grain WHERE hash = ?", (bytes.fromhex(address),))
    db.execute(
        "UPDATE grain SET body = ? WHERE hash = ?",
        (blob[:-1] + bytes([blob[-1] ^ 1]), bytes.fromhex(address)),
    )
    db.close()


@pytest.mark.parametrize("which", ["recommendation", "audit"])
def test_a_flipped_byte_stops_every_decision(path: Path, which: str) -> None:
    """D6: detected where it matters: nothing is decided on it, nothing is applied, and verify names it."""
    with Memory.open(path, clock=lambda: NOW) as memory:
        address = duplicates(memory)
        memory.loop.approve(address, because="seen")
        entry = memory.loop.audit(address).entries[-1].address
    flip(path, address if which == "recommendation" else entry)
    with Memory.open(path, clock=lambda: NOW + 1) as memory:
        before = recalled(memory)
        for act in (memory.loop.apply, memory.loop.withdraw):
            with pytest.raises(DejaError):
                act(address, because="as if nothing were")
        assert recalled(memory) == before
        assert memory.verify() != ()


# --- nothing half decided ----------------------------------------------------------------------------


def test_a_failed_apply_strands_no_approval(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The peer's first writes stay and the recommendation can be neither applied, rejected nor undone; here the approval
    stands as it was, and each way on is open."""
    address = duplicates(memory)
    memory.loop.approve(address, because="seen")
    before, real, left = recalled(memory), type(memory.substrate).mark, [1]

    def failing(self: Any, *args: Any, **kwargs: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError("no room left")
        real(self, *args, **kwargs)

    monkeypatch.setattr(type(memory.substrate), "mark", failing)
    with pytest.raises(OSError, match="no room"):
        memory.loop.apply(address, because="do it")
    monkeypatch.undo()
    assert recalled(memory) == before
    assert memory.loop.show(address).status == "approved"
    memory.loop.apply(address, because="again")
    assert len(recalled(memory)) == 1
    memory.loop.rollback(address, because="and back")
    assert recalled(memory) == before


KILLED = """
import os, signal, sys
from deja_tui import Memory
from deja_tui.adapter import StoreSubstrate
left = int(sys.argv[2])
def counted(real):
    def call(*args, **kwargs):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(*args, **kwargs)
    return call
for name in ("put", "supersede", "merge", "mark", "set_saved_query", "ledger_put"):
    setattr(StoreSubstrate, name, counted(getattr(StoreSubstrate, name)))
with Memory.open(sys.argv[1], actor="user:ana", clock=lambda: int(sys.argv[4])) as memory:
    getattr(memory.loop, sys.argv[5])(sys.argv[3], because="it was seen")
print("done")
"""


def every_change(path: Path) -> str:
    """A memory with one approved recommendation that does a bit of everything."""
    with Memory.open(path, clock=lambda: NOW) as memory:
        one, two, three, four = (memory.add_fact("acme", "tier", value) for value in "abcd")
        memory.docs.create("/memories/agents.md", "Be kind.\n")
        kept = memory.add_fact("acme", "tier", "g")
        content = {"subject": "acme", "relation": "tier", "object": "e"}
        operations: list[Operation] = [
            Merge((one, two), "fact", "shared", content),
            Supersede(three, "fact", "shared", {**content, "object": "f"}),
            Retire(four, kept),
            Add("observation", "shared", {"object": "seen"}),
            DefineQuery("open", "RECALL facts", None),
            DocEdit(
                "/memories/agents.md", "shared", digest("Be kind.\n"), diff_of("Be kind.\n", "Be brief.\n")
            ),
        ]
        address = plant(memory.substrate, draft(operations, [one]))
        memory.loop.approve(address, because="seen")
        return address


@pytest.mark.parametrize("decision", ["apply", "rollback"])
def test_a_decision_that_is_killed_anywhere_is_whole_or_never_was(tmp_path: Path, decision: str) -> None:
    """Design §8: a process that dies at any write of an apply or an undo leaves the memory as it was; done again, it is
    what it would have been."""
    fresh = tmp_path / "fresh.deja"
    address = every_change(fresh)
    if decision == "rollback":
        with Memory.open(fresh, clock=lambda: NOW + 1) as memory:
            memory.loop.apply(address, because="do it")

    def state(path: Path) -> tuple[Any, ...]:
        with Memory.open(path, clock=lambda: NOW, read_only=True) as memory:
            assert memory.verify() == ()
            status = memory.loop.show(address).status
            return status, recalled(memory), memory.substrate.saved_query("open")

    def child(path: Path, writes: int) -> int:
        argv = [sys.executable, "-c", KILLED, str(path), str(writes), address, str(NOW + 2), decision]
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        return done.returncode

    untouched = state(fresh)
    whole = tmp_path / "whole.deja"
    whole.write_bytes(fresh.read_bytes())
    assert child(whole, 99) == 0
    wanted = state(whole)
    assert wanted != untouched
    for writes in range(99) if os.environ.get("DEJA_FUZZ_STEP") else (0, 3, 6):
        path = tmp_path / f"{writes}.deja"
        path.write_bytes(fresh.read_bytes())
        if child(path, writes) == 0:
            assert writes > 6
            break
        assert state(path) == untouched
        with Memory.open(path, actor="user:ana", clock=lambda: NOW + 2) as memory:
            getattr(memory.loop, decision)(address, because="it was seen")
        assert state(path) == wanted


def test_a_stale_approval_can_be_withdrawn(memory: Memory) -> None:
    """What moved on under an approval is refused with the reason; the approval is no dead end."""
    address = duplicates(memory)
    memory.loop.approve(address, because="seen")
    first = memory.loop.show(address).recommendation.evidence[0]
    memory.forget(first, because="on request")
    with pytest.raises(DejaError):
        memory.loop.apply(address, because="too late")
    row = next((row for row in memory.loop.queue("approved") if row.address == address), None)
    if row is not None:
        memory.loop.withdraw(address, because="it does not fit any more")
    memory.loop.run()
    assert memory.loop.queue("approved") == []


def test_the_fused_call_leaves_no_approval_behind(memory: Memory) -> None:
    """The peer approves first and then finds that it cannot apply."""
    address = duplicates(memory)
    for one in memory.loop.show(address).recommendation.evidence[1:]:
        memory.supersede(one, {"object": "coffee"})
    with pytest.raises(DejaError, match="LOP-E024"):
        memory.loop.approve_and_apply(address, because="at once")
    assert memory.loop.show(address).status == "pending"


def test_what_could_never_be_applied_is_refused_before_anybody_approves_it(memory: Memory) -> None:
    """A draft whose grain lacks what its type needs is refused when it is submitted, with the field named; one that stands
    already says so in its dry run, the fused call leaves no approval behind, and an approved one can be withdrawn."""
    seen = memory.add_fact("acme", "tier", "gold")
    bad = Add("skill", "shared", {"name": "deploy"})
    with pytest.raises(DejaError, match="VAL-E001 description"):
        memory.loop.propose(target="entity:a/b", note="n", evidence=[seen], operations=[to_plain(bad)])
    address = plant(memory.substrate, draft([bad], [seen]))
    told = memory.loop.dry_run(address).refusal
    assert told is not None
    assert told.startswith("VAL-E001 description")
    with pytest.raises(DejaError, match="VAL-E001"):
        memory.loop.approve_and_apply(address, because="at once")
    assert memory.loop.show(address).status == "pending"
    memory.loop.approve(address, because="seen")
    with pytest.raises(DejaError, match="VAL-E001"):
        memory.loop.apply(address, because="do it")
    assert memory.loop.withdraw(address, because="it cannot be").to_status == "rejected"


def test_two_racing_decisions_have_one_winner(memory: Memory, path: Path) -> None:
    """Compare and set inside the act: the loser is told who decided and when."""
    address = duplicates(memory)
    with Memory.open(path, actor="user:ben", clock=lambda: NOW + 1) as other:
        assert other.loop.show(address).status == memory.loop.show(address).status == "pending"
        other.loop.reject(address, because="both are wanted")
        with pytest.raises(DejaError, match="user:ben") as caught:
            memory.loop.approve(address, because="I saw it pending")
        assert caught.value.code == "LOP-E020"


def test_of_many_that_decide_at_once_one_is_heard(memory: Memory, path: Path) -> None:
    """Eight reviewers with a file handle each; one receipt, seven refusals that name the status, one entry in the trail."""
    address = duplicates(memory)
    memory.close()
    verbs = ("approve", "reject", "approve_and_apply", "reject") * 2
    start = threading.Barrier(len(verbs))

    def decide(number: int, verb: str) -> str:
        with Memory.open(path, actor=f"user:r{number}", clock=lambda: NOW + 1) as mine:
            start.wait(timeout=60)
            try:
                getattr(mine.loop, verb)(address, because=f"{number}: me first")
            except DejaError as fault:
                return fault.code
            return "done"

    with ThreadPoolExecutor(len(verbs)) as pool:
        told = list(pool.map(decide, range(len(verbs)), verbs))
    assert sorted(told) == ["LOP-E020"] * 7 + ["done"]
    with Memory.open(path, clock=lambda: NOW + 2) as again:
        entries = again.loop.audit(address).entries
        winner = entries[1].actor
        assert {entry.actor for entry in entries[1:]} == {winner}
        assert again.verify() == ()


# --- two copies --------------------------------------------------------------------------------------


def test_what_another_copy_found_never_blocks_what_is_found_here(tmp_path: Path) -> None:
    """The peer lists the other copy's recommendations as pending, answers "not found" to every decision, and never finds
    them itself. Here they are shown as history; a run of our own finds it again and folds theirs under it."""
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW) as one:
        theirs = duplicates(one)
        one.bundle(tmp_path / "a.bundle")
    with Memory.open(tmp_path / "b.deja", clock=lambda: NOW + DAY) as two:
        two.import_bundle(tmp_path / "a.bundle")
        (row,) = two.loop.queue()
        assert (row.address, row.foreign) == (theirs, True)
        for decide in (
            two.loop.approve,
            two.loop.reject,
            two.loop.withdraw,
            two.loop.apply,
            two.loop.rollback,
        ):
            with pytest.raises(DejaError, match="LOP-E025"):
                decide(theirs, because="decide it here")
        two.loop.run()
        (row,) = two.loop.queue()
        assert (row.foreign, row.folded) == (False, 1)
        assert two.loop.show(row.address).twins == (theirs,)
        assert two.loop.show(theirs).twins == (row.address,)
        two.loop.approve_and_apply(row.address, because="the same fact")
        assert len(recalled(two)) == 1
        assert two.loop.queue() == []
        two.loop.run()
        assert two.loop.queue() == []
        assert two.verify() == ()


def test_a_copy_carries_an_undo_with_it(tmp_path: Path) -> None:
    """D2: effects travel in the audit, so the copy's recall follows an apply and a rollback."""
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW) as one:
        address = duplicates(one)
        before = recalled(one)
        one.loop.approve_and_apply(address, because="same")
        one.bundle(tmp_path / "applied.bundle")
        one.loop.rollback(address, because="no")
        one.bundle(tmp_path / "undone.bundle")
    with Memory.open(tmp_path / "b.deja", clock=lambda: NOW) as two:
        two.import_bundle(tmp_path / "applied.bundle")
        assert len(recalled(two)) == 1
        two.import_bundle(tmp_path / "undone.bundle")
        assert recalled(two) == before


# --- actors and rights -------------------------------------------------------------------------------

STOLEN = (
    "engine:loop.duplicate_sweep/1",
    "policy:auto",
    "command:x",
    "llm:y",
    "ENGINE:x",
    "",
    "a b",
    "-x",
    "x\n",
    "x" * 65,
)


@pytest.mark.parametrize("actor", STOLEN)
def test_nobody_acts_under_a_name_of_the_engines(
    path: Path, actor: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """D22: labels are free text elsewhere, so a worker signs as the reviewer or as the engine; refused at every door."""
    with pytest.raises(DejaError, match="VAL-E003"):
        Memory.open(path, actor=actor)
    with pytest.raises((DejaError, ValueError)):
        compat.DejaDB(str(path), actor=actor)
    Memory.open(path).close()
    assert deja(["loop", "run", "--db", str(path), "--actor", actor]) == 1
    capsys.readouterr()


def test_a_worker_reviews_nothing(memory: Memory, path: Path) -> None:
    """Rights are the process's, checked at execution: those of a worker never reach a decision."""
    address = duplicates(memory)
    with Memory.open(path, actor="agent:worker", scopes=["read", "write"], clock=lambda: NOW) as worker:
        for decide in (
            worker.loop.approve,
            worker.loop.reject,
            worker.loop.withdraw,
            worker.loop.apply,
            worker.loop.approve_and_apply,
            worker.loop.mark_applied,
            worker.loop.rollback,
        ):
            with pytest.raises(DejaError, match="LOP-E022"):
                decide(address, because="I did it")
    assert memory.loop.show(address).status == "pending"


def test_an_apply_needs_what_its_operations_need(memory: Memory, path: Path) -> None:
    """D17: the right apply alone gains no write; a proposal lends nobody a right."""
    address = duplicates(memory)
    memory.loop.approve(address, because="seen")
    operator = Memory.open(path, actor="user:op", scopes=["read", "apply"], clock=lambda: NOW)
    with operator, pytest.raises(DejaError, match="LOP-E022"):
        operator.loop.apply(address, because="do it")
    assert memory.loop.show(address).status == "approved"


# --- words -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["yes", "ok", "approved", "dismiss", "aprove"])
def test_an_unknown_decision_approves_nothing(
    memory: Memory, path: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The peer takes any decision that is not "reject" for an approval."""
    address = duplicates(memory)
    assert deja(["loop", verb, address, "--db", str(path), "--because", "x"]) == 64
    with pytest.raises(DejaError):
        memory.cal(f'REVIEW sha256:{address} {verb.upper()} BECAUSE "x"')
    capsys.readouterr()
    assert memory.loop.show(address).status == "pending"


def test_a_short_address_is_enough_and_a_wrong_one_is_told_as_such(memory: Memory) -> None:
    """A unique start decides; one that is none is "no such recommendation", not a complaint about lengths."""
    address = duplicates(memory)
    with pytest.raises(DejaError, match="LOP-E040"):
        memory.loop.approve("ffff", because="x")
    assert memory.loop.reject(address[:10], because="no").to_status == "rejected"


def test_a_store_without_the_engine_is_no_way_around(path: Path) -> None:
    """The guard stands in the store: also its own acts refuse what is reserved, unless the engine asks."""
    with Store.open(path, clock=lambda: NOW) as store, store.act() as act:
        for namespace in ("deja-loop", "loop", "agent:authz"):
            grain = build(NewGrain("fact", namespace, NOW, {"subject": "a", "relation": "b", "object": "c"}))
            with pytest.raises(DejaError, match="VAL-E004"):
                act.add(grain)


def test_what_a_decision_writes_does_not_depend_on_the_queue(tmp_path: Path) -> None:
    """Lesson 10, §25: twenty rejections touch twenty rows and write twenty audits, whatever else is pending."""

    def grown(findings: int) -> int:
        path = tmp_path / f"{findings}.deja"
        with Memory.open(path, clock=lambda: NOW) as memory:
            with memory.store.act():
                for n in range(findings):
                    for text in ("tea", "Tea"):
                        memory.add_fact(f"s{n}", "likes", text)
            memory.loop.run()
            rows = memory.loop.queue()
            assert len(rows) == findings
        before = path.stat().st_size
        with Memory.open(path, clock=lambda: NOW) as memory:
            for row in rows[:20]:
                memory.loop.reject(row.address, because="both are wanted")
        return path.stat().st_size - before

    few, many = grown(25), grown(250)
    assert many < 200_000
    assert many < 2 * few + 65_536
