# SPDX-License-Identifier: Apache-2.0
"""`memory.loop`: health, settings and policy through the library; the product's opening proof; runs that die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from deja_tui import Memory, compat, leases
from deja_tui.engine import views
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.engine.config import SWITCH
from deja_tui.engine.operations import Add
from deja_tui.engine.policy import Policy, from_plain
from deja_tui.loop_settings import host_policy
from tests.engine.helpers import draft, plant, refused
from tests.engine.test_looking import Watch, failing
from tests.support import DAY, NOW, ROOT, shared

NAMES = [one.manifest.id for one in ANALYZERS]
EXAMPLES = ROOT / "examples" / "policy"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW) as opened:
        yield opened


def recalled(memory: Memory) -> list[tuple[str, dict[str, Any]]]:
    return [(grain.address, dict(grain.fields)) for grain in memory.recall(k=1_000)]


# --- the opening proof -------------------------------------------------------------------------------


def tell(memory: Any, calls: list[dict[str, Any]]) -> None:
    """The calls of the proof, as data, through a library."""
    for call in calls:
        for _ in range(call.get("repeat", 1)):
            getattr(memory, call["call"])(*call.get("args", ()), **call.get("kwargs", {}))


def test_the_opening_proof_through_the_library(tmp_path: Path) -> None:
    """vectors/proof.json: the calls as they are written, one run, four findings, an apply, an undo, and no echo."""
    calls = json.loads(shared("vectors/proof.json").read_text())["calls"]
    path = tmp_path / "proof.deja"
    db = compat.DejaDB(str(path))
    tell(db, calls)
    db.close()
    with Memory.open(path) as memory:
        summaries = {row.analyzer: row.summary for row in memory.loop.queue()}
        assert len(memory.loop.queue()) >= 4
        assert "stripe_refund: 5 of 7 calls failed the same way" in summaries["loop.tool_failure/1"]
        assert "deploy_target" in summaries["loop.contradiction_sweep/1"]
        assert "tier" in summaries["loop.duplicate_sweep/1"]
        assert "promo" in summaries["loop.staleness/1"]
        before = recalled(memory)
        (conflict,) = [row for row in memory.loop.queue() if row.analyzer == "loop.contradiction_sweep/1"]
        memory.loop.approve_and_apply(conflict.address, because="the newer one is right")
        (left,) = memory.recall("acme", "deploy_target")
        assert left.get("object") in ("eu-west-1", "us-east-1")
        assert memory.loop.run().recommendations == (), "nothing new about what was applied"
        memory.loop.rollback(conflict.address, because="both regions are in use")
        assert recalled(memory) == before
        outcome = memory.loop.run()
        assert (outcome.stored, outcome.closed) == (0, 0)
        assert memory.loop.health().queue["rolled_back"] == 1


def test_the_same_proof_word_by_word_through_memory(memory: Memory) -> None:
    """The native library has the same names; one JSON argument is the other library's way."""
    calls = json.loads(shared("vectors/proof.json").read_text())["calls"]
    for call in calls:
        if call["call"] == "add":
            call.update(args=["fact", json.loads(call["args"][0])])
    tell(memory, [call for call in calls if call["call"] != "loop_run"])
    assert memory.loop.run().stored >= 4


# --- settings ----------------------------------------------------------------------------------------


def test_settings_need_admin_and_a_reason_and_read_with_less(tmp_path: Path, memory: Memory) -> None:
    """D17: configuration is an admin's; looking is a reader's."""
    path = tmp_path / "a.deja"
    with Memory.open(path, scopes=["read", "write", "review", "apply"], clock=lambda: NOW) as worker:
        for act in (
            lambda: worker.loop.enable("staleness", because="w"),
            lambda: worker.loop.disable("staleness", because="w"),
            lambda: worker.loop.configure("staleness", params={}, because="w"),
            lambda: worker.loop.config_import({"format": "x"}, because="w"),
        ):
            with refused("LOP-E022"):
                act()
    with Memory.open(path, scopes=["read"], read_only=True, clock=lambda: NOW) as reader:
        assert [one.id for one in reader.loop.analyzers()] == NAMES
        assert reader.loop.health().at == NOW
        assert reader.loop.why("staleness").id == "loop.staleness/1"
        assert reader.loop.policy().values
        assert reader.loop.config_log() == ()
        assert reader.loop.config_export()["analyzers"] == {}
    for because in ("", "  ", "x" * 501):
        with refused("LOP-E011"):
            memory.loop.disable("staleness", because=because)


def test_what_is_set_decides_the_next_run_and_is_told_with_its_layer(memory: Memory) -> None:
    """Parameter, floor, namespaces and switch of the file take effect, and `analyzers` names the layer."""
    for n in range(4):
        memory.record_tool_call("refund", "boom", True, call_id=f"c{n}")
    memory.add_fact("acme", "likes", "tea")
    memory.add_fact("acme", "likes", "Tea")
    memory.loop.configure("tool_failure", params={"min_count": 5}, because="four is noise")
    memory.loop.disable("duplicate_sweep", because="we want copies")
    assert memory.loop.run().stored == 0
    states = {one.id: one for one in memory.loop.analyzers()}
    assert states["loop.tool_failure/1"].settled.params_by["min_count"] == "file"  # type: ignore[union-attr]
    assert states["loop.tool_failure/1"].activation.state == "below_threshold"
    assert states["loop.duplicate_sweep/1"].activation.hint == "file"
    memory.loop.configure("tool_failure", clear=["params"], because="back")
    memory.loop.configure("duplicate_sweep", enabled=True, namespaces=["elsewhere"], because="only there")
    assert [row.analyzer for row in _stored(memory)] == ["loop.tool_failure/1"]
    memory.loop.configure("duplicate_sweep", clear=["namespaces"], severity_floor="medium", because="quieter")
    assert memory.loop.run().dropped == {"open": 1, "below_floor": 1}


def _stored(memory: Memory) -> list[Any]:
    outcome = memory.loop.run()
    return [row for row in memory.loop.queue() if row.address in outcome.recommendations]


def test_a_run_that_was_told_otherwise_closes_what_no_longer_holds(memory: Memory) -> None:
    """An open finding that new parameters do not find goes; a disabled analyzer leaves its queue alone."""
    for n in range(4):
        memory.record_tool_call("refund", "boom", True, call_id=f"c{n}")
    assert memory.loop.run().stored == 1
    memory.loop.disable("tool_failure", because="for now")
    memory.loop.configure("tool_failure", params={"min_count": 5}, because="four is noise")
    assert memory.loop.run().closed == 0
    memory.loop.enable("tool_failure", because="again")
    assert memory.loop.run().closed == 1


def test_a_switch_that_came_from_another_copy_is_told_and_overruled_here(memory: Memory) -> None:
    """D5: it restricts, the log names its source, and a local change wins and stays."""
    with memory.store.act(governed=True) as act:
        act.set_setting(f"{SWITCH}loop.staleness/1", {"enabled": False}, source="sync")
    assert memory.loop.why("staleness").activation.hint == "sync"
    assert [one.source for one in memory.loop.config_log()] == ["sync"]
    (told,) = [one for one in memory.loop.policy().values if one.name == "loop.staleness/1.enabled"]
    assert (told.value, told.layer) == (False, "sync")
    memory.loop.enable("staleness", because="this copy wants it")
    assert memory.loop.why("staleness").settled.enabled_by == "file"  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["gone.thing/1", "loop.staleness/9"])
def test_rows_of_another_analyzer_or_major_version_change_nothing(memory: Memory, name: str) -> None:
    """D28, CFG-3: the file of a newer or an older deja is read as it is, and kept as it is."""
    with memory.store.act(governed=True) as act:
        act.set_setting(f"{SWITCH}{name}", {"enabled": False})
        act.set_setting(f"loop.settings:{name}", {"params": {"strange": [1]}, "severity_floor": "odd"})
    assert memory.loop.run().outcome == "ran"
    assert memory.loop.why("staleness").activation.state == "quiet"
    assert memory.loop.config_export()["analyzers"][name]["enabled"] is False
    notes = [one.note for one in memory.loop.policy().values if one.name.startswith(name)]
    assert set(notes) == {"this analyzer is not here: kept, without effect"}


@pytest.mark.parametrize("name", ["gone.thing/3", "loop.duplicate_sweep/0"])
def test_the_queue_of_a_removed_or_newer_analyzer_stays_usable(memory: Memory, name: str) -> None:
    """D28: shown, approved, applied and rolled back although no analyzer here has that id; no run closes it."""
    cited = memory.add_fact("a", "b", "c")
    operations = [Add("fact", "shared", {"subject": "x", "relation": "y", "object": "z"})]
    address = plant(memory.substrate, draft(operations, [cited]), analyzer=name, creator=f"engine:{name}")
    assert memory.loop.run().closed == 0
    assert memory.loop.show(address).recommendation.analyzer == name
    memory.loop.approve(address, because="it is right")
    memory.loop.apply(address, because="do it")
    assert memory.latest("x", "y") is not None
    memory.loop.rollback(address, because="undo")
    assert memory.latest("x", "y") is None
    assert memory.loop.audit(address).verified


def test_an_import_of_settings_is_one_act(memory: Memory) -> None:
    """A value that one analyzer does not take leaves every row as it was."""
    memory.loop.configure("tool_failure", params={"min_count": 5}, because="w")
    document = memory.loop.config_export()
    document["analyzers"]["loop.staleness/1"] = {"params": {"grace_days": -1}}
    document["analyzers"]["loop.tool_failure/1"] = {"params": {"min_count": 9}}
    with refused("LOP-E031"):
        memory.loop.config_import(document, because="w")
    assert memory.loop.config_export()["analyzers"] == {"loop.tool_failure/1": {"params": {"min_count": 5}}}
    document["analyzers"]["loop.staleness/1"] = {"enabled": False}
    found = memory.loop.config_import(document, because="w")
    assert [(one.analyzer, one.part, one.new) for one in found.changes] == [
        ("loop.tool_failure/1", "params", {"min_count": 9}),
        ("loop.staleness/1", "enabled", False),
    ]


# --- policy ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_each_example_policy_is_taken_by_the_library(tmp_path: Path, path: Path) -> None:
    """Point 6: as a path, as an object, and by the variable of the process; nothing in them is in vain or unknown."""
    told = json.loads(path.read_text())
    for given in (path, str(path), told, from_plain(told)):
        with Memory.open(tmp_path / "a.deja", policy=given) as memory:
            found = memory.loop.policy()
            assert (found.ineffective, found.warnings, memory.notices) == ((), (), ())
            assert {one.layer for one in found.values if one.name in told} == {"policy"}


def test_the_variable_is_the_policy_where_none_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At process start, from the host; an argument comes before it."""
    assert host_policy() is None
    monkeypatch.setenv("DEJA_LOOP_POLICY", str(EXAMPLES / "team.json"))
    found = host_policy()
    assert found is not None
    assert found.auto_apply_enabled
    assert host_policy(Policy()) == Policy()
    monkeypatch.setenv("DEJA_LOOP_POLICY", str(tmp_path / "none.json"))
    with refused("LOP-E037"):
        Memory.open(tmp_path / "a.deja")
    assert not (tmp_path / "a.deja").exists(), "refused before anything is made"
    monkeypatch.setenv("DEJA_LOOP_POLICY", "")
    assert host_policy() is None


def test_team_applies_equal_copies_unasked_and_nothing_else(tmp_path: Path) -> None:
    """D24: the example does what it says, through the library, undoable."""
    with Memory.open(tmp_path / "a.deja", policy=EXAMPLES / "team.json", clock=lambda: NOW) as memory:
        for text, at in (("tea", 3), ("Tea", 2), ("TEA", 1)):
            memory.add(
                "fact", {"subject": "acme", "relation": "likes", "object": text, "created_at": NOW - at}
            )
        for text in ("gold", "silver"):
            memory.add_fact("acme", "tier", text)
        outcome = memory.loop.run()
        assert (outcome.stored, outcome.auto_applied) == (2, 1)
        assert [grain.get("object") for grain in memory.recall("acme", "likes")] == ["tea"]
        (row,) = memory.loop.queue("applied")
        memory.loop.rollback(row.address, because="all three are wanted")
        assert len(memory.recall("acme", "likes")) == 3


# --- health ------------------------------------------------------------------------------------------


def test_health_says_what_is_there(memory: Memory) -> None:
    """HEA-1, HEA-2, HEA-3: counts, queue, watermark, time to the first recommendation, a state for every analyzer."""
    empty = memory.loop.health()
    assert (empty.live, empty.last_run, empty.stale, empty.time_to_first) == (0, None, True, None)
    assert [one.id for one in empty.analyzers] == NAMES
    for n in range(4):
        memory.record_tool_call("refund", "boom", True, call_id=f"c{n}")
    memory.add_fact("a", "b", "c", verification_status="verified")
    memory.add("fact", {"subject": "old", "relation": "is", "object": "x", "valid_to": NOW - 20 * DAY})
    memory.loop.run(now_ms=NOW + 5_000)
    memory.add_fact("d", "e", "f")
    before = memory.loop.change_token()
    found = memory.loop.health(now_ms=NOW + 6_000)
    assert memory.loop.change_token() == before, "it reads only"
    assert found.grains == {"fact": 3, "tool": 4}
    assert found.claims == {"verified": 1}
    assert (found.last_run, found.new_grains, found.new_errors, found.stale) == (NOW + 5_000, 1, 0, False)
    assert (found.queue["pending"], found.pending["high"] + found.pending["medium"]) == (2, 1)
    assert (found.chains.verified, found.chains.broken, found.chains.unchecked) == (2, 0, 0)
    assert (found.past_end, found.forks) == (1, 0)
    assert found.time_to_first == 5_000
    states = {one.id: one for one in found.analyzers}
    assert states["loop.tool_failure/1"].next == "deja loop list"
    assert states["loop.cold_grains/1"].activation.state == "missing"
    assert found.watermark > 0


def test_health_tells_a_rejected_finding_from_a_quiet_analyzer(memory: Memory) -> None:
    """Cooling: what would fire was turned down, and until when."""
    for text in ("tea", "Tea"):
        memory.add_fact("acme", "likes", text)
    memory.loop.run()
    memory.loop.reject(memory.loop.queue()[0].address, because="both are wanted")
    state = memory.loop.why("duplicate_sweep")
    assert (state.activation.state, state.activation.have) == ("cooling", 1)
    assert state.activation.until == NOW + 7 * DAY
    assert memory.loop.health().rejected == 1


def test_health_names_what_failed_in_the_last_run(tmp_path: Path) -> None:
    """A linked analyzer that fell over is told with its fault until it works again."""
    watch = Watch()
    with Memory.open(tmp_path / "a.deja", analyzers=[watch], clock=lambda: NOW) as memory:
        watch.analyze = failing  # type: ignore[method-assign]
        memory.loop.run()
        state = memory.loop.why("test.watch")
        assert (state.activation.state, state.activation.hint) == (
            "failed",
            "LOP-E030 failed: ZeroDivisionError",
        )
        assert state.next == "deja loop run --only test.watch/1 --dry-run"


def test_a_layer_that_says_nonsense_is_a_state_not_a_crash(memory: Memory) -> None:
    """A row of the file that this version does not take is told where a person looks."""
    with memory.store.act(governed=True) as act:
        act.set_setting("loop.settings:loop.tool_failure/1", {"params": {"min_count": "many"}})
    state = memory.loop.why("tool_failure")
    assert (state.settled, state.activation.state) == (None, "failed")
    assert state.activation.hint.startswith("LOP-E031 parameter min_count must be a whole number")
    skipped = {one.id: one.reason for one in memory.loop.run().analyzers_skipped}
    assert skipped["loop.tool_failure/1"].startswith("LOP-E031")


# --- gates -------------------------------------------------------------------------------------------


def test_a_gate_that_is_not_met_reads_two_counts_and_nothing_else(memory: Memory) -> None:
    """RUN-7, loop-engine §25: no analysis, no decoding, no write, whatever the file holds."""
    for n in range(300):
        memory.add_fact(f"s{n}", "r", "o")
    memory.loop.run()
    token, asked = memory.loop.change_token(), []
    db = memory.store.reading()
    db.exec_trace = lambda cursor, statement, values: asked.append(statement) or True  # type: ignore[func-returns-value]
    try:
        outcome = memory.loop.run(min_new=1)
    finally:
        db.exec_trace = None
    assert (outcome.outcome, outcome.skip_reason) == ("skipped", "min_new_not_met")
    assert [statement.split()[0] for statement in asked] == ["SELECT", "SELECT"]
    assert all(table in "".join(asked) for table in ("counter", "setting"))
    assert "grain" not in "".join(asked).replace("'grains'", "")
    assert memory.loop.change_token() == token


@pytest.mark.parametrize("gate", ["min_new", "min_new_errors", "if_stale_ms"])
@pytest.mark.parametrize("value", [-1, "3", 1.5, True, float("nan")])
def test_a_gate_that_cannot_be_read_never_opens(memory: Memory, gate: str, value: Any) -> None:
    """Vector 17, g13: refused with LOP-E034, nothing ran."""
    with refused("LOP-E034"):
        memory.loop.run(**{gate: value})
    assert memory.loop.health().last_run is None


def test_imported_history_wakes_a_run(memory: Memory) -> None:
    """Loop-engine §25, h15: what counts is arrival, so a backdated import opens the gate."""
    memory.loop.run()
    for n in range(5):
        memory.record_tool_call("x", "boom", True, call_id=f"c{n}", created_at=NOW - 25 * DAY)
    outcome = memory.loop.run(min_new_errors=5)
    assert (outcome.outcome, outcome.new_grains, outcome.new_error_events) == ("ran", 5, 5)


def test_two_runs_at_once_are_one_run_and_a_clean_skip(tmp_path: Path, memory: Memory) -> None:
    """Loop-engine §3.3: another writer in the way is no error, and the counts are told."""
    memory.add_fact("a", "b", "c")
    with memory.store.act(), Memory.open(tmp_path / "a.deja", busy_ms=0, clock=lambda: NOW) as second:
        outcome = second.loop.run()
        assert (outcome.outcome, outcome.skip_reason, outcome.new_grains) == ("skipped", "lock_held", 1)
        assert second.loop.queue() == [], "reading needs no lock"
        assert second.loop.health().live == 1


def test_what_another_copy_found_and_this_one_does_not_leaves_no_undead_entry(tmp_path: Path) -> None:
    """Lesson 9: an open finding that came with a bundle and does not hold here goes from the list at the next run; it is
    still there for who asks for all."""
    with Memory.open(tmp_path / "one.deja", clock=lambda: NOW) as one:
        for n in range(4):
            one.record_tool_call("x", "boom", True, call_id=f"c{n}")
        one.loop.run()
        one.bundle(tmp_path / "one.mgb")
    with Memory.open(tmp_path / "two.deja", clock=lambda: NOW) as two:
        two.loop.configure("tool_failure", params={"min_count": 9}, because="few calls here")
        two.loop.run()
        two.import_bundle(tmp_path / "one.mgb")
        assert [row.foreign for row in two.loop.queue()] == [True], "shown until this copy has looked"
        two.loop.run()
        assert two.loop.queue() == []
        assert [row.foreign for row in two.loop.queue(None)] == [True]
        two.loop.configure("tool_failure", clear=["params"], because="as everywhere")
        assert two.loop.run().stored == 1, "and it blocks nothing"
        (own,) = two.loop.queue()
        assert not own.foreign


# --- runs that die -----------------------------------------------------------------------------------

CHILD = """
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
for name in ("put", "supersede", "mark", "set_setting", "ledger_put"):
    setattr(StoreSubstrate, name, counted(getattr(StoreSubstrate, name)))
with Memory.open(sys.argv[1], clock=lambda: int(sys.argv[3]), policy={
    "auto_apply_enabled": True,
    "auto_apply": [{"analyzer": "loop.duplicate_sweep", "targets": ["memory"], "max_severity": "low"}],
}) as memory:
    memory.loop.run()
print("done")
"""


def state(path: Path) -> tuple[Any, ...]:
    """What a run leaves, without addresses: queue, recall, watermark."""
    with Memory.open(path, clock=lambda: NOW, read_only=True) as memory:
        rows = views.ledger(memory.substrate)
        assert all(memory.loop.audit(row.address).verified for row in rows)
        assert memory.verify() == ()
        queue = sorted((row.analyzer, row.target_ref, row.status) for row in rows)
        live = sorted(str(dict(grain.fields)) for grain in memory.recall(k=1_000))
        return queue, live, (memory.store.setting("loop.last_run") or {}).get("at")


def test_a_run_that_is_killed_anywhere_is_simply_run_again(tmp_path: Path) -> None:
    """PLACE-2: nothing half done is left, and the next run brings the memory to where it would have been."""
    fresh = tmp_path / "fresh.deja"
    with Memory.open(fresh, clock=lambda: NOW) as memory:
        for text, at in (("tea", 2), ("Tea", 1)):
            memory.add(
                "fact", {"subject": "acme", "relation": "likes", "object": text, "created_at": NOW - at}
            )
        for n in range(4):
            memory.record_tool_call("x", "boom", True, call_id=f"c{n}")
    untouched = state(fresh)
    wanted, deaths = None, 0
    for steps in (99, *range(40)) if os.environ.get("DEJA_FUZZ_STEP") else (99, 0, 1, 2, 3, 5, 7, 9, 11, 13):
        path = tmp_path / f"{steps}.deja"
        path.write_bytes(fresh.read_bytes())
        done = run_child(path, steps)
        if wanted is None:
            assert done.stdout == "done\n", done.stderr
            wanted = state(path)
            assert wanted != untouched
            continue
        if done.returncode == -signal.SIGKILL:
            deaths += 1
            assert state(path) == untouched, steps
            assert run_child(path, 99).stdout == "done\n"
        assert state(path) == wanted, steps
    assert deaths >= 6


def run_child(path: Path, steps: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(steps), str(NOW)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_a_lease_is_free_when_its_process_is_certainly_gone(memory: Memory) -> None:
    """D34: a killed run holds nobody up where its process can be asked for; elsewhere its lease runs out."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    now = time.time_ns() // 1_000_000
    own = leases.lease("x", now + 60_000)
    held = {
        "of a process that is gone": ({**own, "pid": gone.pid}, "ran"),
        "of a process that runs": (own, "skipped"),
        "of another machine": ({**own, "pid": gone.pid, "place": "elsewhere"}, "skipped"),
        "of an older version": ({"owner": "1:x", "until": now + 60_000}, "skipped"),
        "without a number": ({**own, "pid": "7"}, "skipped"),
        "that ran out": ({**own, "until": now - 1}, "ran"),
        "that ends too late": ({**own, "until": now + 10**9}, "ran"),
    }
    for told, (row, outcome) in held.items():
        with memory.store.act(governed=True) as act:
            act.set_setting("loop.lease", row)
        assert memory.loop.run().outcome == outcome, told


def test_health_knows_when_the_whole_memory_was_last_found_sound(tmp_path: Path) -> None:
    """D55: kept by a verify that may write; one that may only read changes nothing, and then it is unknown."""
    path = tmp_path / "a.deja"
    with Memory.open(path, clock=lambda: NOW) as memory:
        memory.add_fact("acme", "likes", "tea")
        assert memory.loop.health().last_verify is None
    before = path.read_bytes()
    with Memory.open(path, clock=lambda: NOW, read_only=True) as reader:
        assert reader.verify() == ()
        assert reader.loop.health().last_verify is None
    assert path.read_bytes() == before
    with Memory.open(path, clock=lambda: NOW, scopes={"read"}) as reader:
        assert reader.verify() == ()
        assert reader.loop.health().last_verify is None
    with Memory.open(path, clock=lambda: NOW + DAY) as memory:
        assert memory.verify() == ()
        assert memory.loop.health().last_verify == NOW + DAY
        assert memory.verify() == ()  # what it wrote is sound, too
    apsw.Connection(str(path)).execute("UPDATE grain SET dead = 1")
    with Memory.open(path, clock=lambda: NOW + 2 * DAY) as memory:
        assert memory.verify() != ()
        assert memory.loop.health().last_verify == NOW + DAY
