# SPDX-License-Identifier: Apache-2.0
"""The report about a memory is the same on every memory the engine runs on, and every analyzer has a state in it."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import RunOptions, health, lifecycle, reports, run, views
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.engine.health import CHAINS_CHECKED, Health
from deja_tui.engine.policy import from_plain
from deja_tui.engine.substrate import NewGrain, Substrate
from deja_tui.present import health as shown
from deja_tui.reference import ReferenceSubstrate
from tests.conformance.substrates import SUBSTRATES
from tests.engine.helpers import ANA, calls, fact
from tests.support import DAY, NOW

STATES = {"active", "quiet", "below_threshold", "watching", "cooling", "missing", "disabled", "failed"}
POLICY = from_plain({"deny": ["loop.goal_stagnation"], "severity_floors": {"loop.tool_failure": "low"}})


def told(substrate: Substrate) -> Health:
    """The report about a memory with something of everything, two days after its last run."""
    calls(substrate, "refund", "boom", 5)
    for n, text in enumerate(("tea", "Tea")):
        fact(substrate, "acme", "likes", text, NOW - DAY + n)
    fact(substrate, "promo", "active", "yes", valid_to=NOW - 9 * DAY, verification_status="contested")
    substrate.put(NewGrain("skill", "shared", NOW - DAY, {"name": "sql", "description": "how"}))
    run(substrate, RunOptions(policy=POLICY), NOW)
    by_analyzer = {row.analyzer: row.address for row in views.ledger(substrate)}
    lifecycle.approve_and_apply(substrate, by_analyzer["loop.tool_failure/1"], "yes", ANA, NOW + 1)
    lifecycle.reject(substrate, by_analyzer["loop.duplicate_sweep/1"], "no", ANA, NOW + 2)
    fact(substrate, "new", "since", "then")
    return health.health(substrate, ANALYZERS, POLICY, NOW + 2 * DAY)


def comparable(found: Health) -> dict[str, Any]:
    """What may not differ: all but arrival positions, the age of the file, and what a capability adds."""
    shape = shown.health_shape(found)
    for name in ("watermark", "time_to_first_ms"):
        shape.pop(name)
    shape["analyzers"] = [
        (
            one["id"],
            one["activation"]["state"],
            one["activation"]["have"],
            one["open"],
            one["applied"],
            one["next"],
        )
        for one in shape["analyzers"]
        if not one["requires"]
    ]
    return shape


def test_every_memory_gives_the_same_report(tmp_path: Path) -> None:
    """HEA-1, D10: the defaults over the five methods and the file's own views say the same."""
    reports = {}
    for name, make in SUBSTRATES:
        folder = tmp_path / name
        folder.mkdir()
        substrate = make(folder)
        reports[name] = comparable(told(substrate))
        if isinstance(substrate, StoreSubstrate):
            substrate._store.close()
    assert len(reports) >= 3
    first = next(iter(reports.values()))
    assert first["grains"] == {"fact": 5, "skill": 1, "tool": 5}
    assert first["verification"] == {"contested": 1}
    assert (first["queue"]["applied"], first["queue"]["rejected"], first["queue"]["pending"]) == (1, 1, 1)
    assert (first["approved"], first["rejected"], first["grains_since_run"]) == (1, 1, 2)
    for name, report in reports.items():
        assert report == first, name


def test_every_analyzer_has_a_known_state_and_a_reason() -> None:
    """HEA-2: nobody has to ask why nothing fired; each state is said in a line, and for a program."""
    found = told(ReferenceSubstrate())
    assert {state.activation.state for state in found.analyzers} <= STATES
    states = {state.id: state for state in found.analyzers}
    assert states["loop.duplicate_sweep/1"].activation.state == "cooling"
    assert states["loop.goal_stagnation/1"].activation == health.Activation("disabled", hint="policy")
    assert states["loop.goal_stagnation/1"].next == "deja loop policy"
    assert states["loop.cold_grains/1"].activation.state == "missing"
    for state in found.analyzers:
        assert shown.told(state.activation, found.at)
        if state.activation.state in ("disabled", "missing", "failed", "active"):
            assert state.next.startswith("deja "), state
    json.dumps(shown.health_shape(found))


def test_a_report_about_a_large_queue_says_how_many_chains_it_looked_at() -> None:
    """HEA-3: the newest fifty; the rest is for `deja verify`, and that is said."""
    substrate = ReferenceSubstrate()
    for n in range(CHAINS_CHECKED + 5):
        for text in ("tea", "Tea"):
            fact(substrate, f"s{n}", "likes", text)
    run(substrate, RunOptions(only=("duplicate_sweep",)), NOW)
    found = health.health(substrate, ANALYZERS, None, NOW)
    assert (found.chains.verified, found.chains.broken, found.chains.unchecked) == (CHAINS_CHECKED, 0, 5)
    line = next(line for line in shown.health_lines(found, 120) if line.startswith("checked"))
    told = "checked       50 of 55 audit chains, all sound: deja verify checks every one · the file never verified"
    assert line == told


def test_a_broken_chain_is_seen_in_the_report() -> None:
    """A recommendation whose trail does not hold together is counted, and the command that says more is told."""
    substrate = ReferenceSubstrate()
    calls(substrate, "refund", "boom", 5)
    run(substrate, RunOptions(), NOW)
    entry = next(
        g for g in substrate.grains.values() if g.type == "observation" and g.namespace == "deja-loop"
    )
    del substrate.grains[entry.address]
    found = health.health(substrate, ANALYZERS, None, NOW)
    assert (found.chains.verified, found.chains.broken) == (0, 1)
    assert any("1 audit chain broken of 1: deja verify" in line for line in shown.health_lines(found, 120))


def test_a_quick_report_reads_counts_only_and_says_where_it_has_not_looked(tmp_path: Path) -> None:
    """HEA-4: A quick report tells the counts of the whole one, and … where only a look at grains could tell."""
    for name, make in SUBSTRATES:
        folder = tmp_path / name
        folder.mkdir()
        memory = make(folder)
        whole = told(memory)
        quick = health.health(memory, ANALYZERS, POLICY, NOW + 2 * DAY, quick=True)
        assert (quick.whole, whole.whole) == (False, True), name
        looked = {"claims", "chains", "forks", "analyzers", "whole"}
        assert all(
            getattr(quick, field.name) == getattr(whole, field.name)
            for field in fields(Health)
            if field.name not in looked
        ), name
        assert {one.activation.state for one in quick.analyzers} <= {health.NOT_LOOKED, "disabled", "missing"}
        assert [(one.open, one.applied) for one in quick.analyzers] == [
            (one.open, one.applied) for one in whole.analyzers
        ], name
        text = "\n".join(shown.health_lines(quick, 100))
        assert "checked       … · the file never verified" in text
        assert "… forks" in text
        assert health.filled(quick, whole) == whole, "what is known stays while it is read again"
        assert health.filled(quick, None) == quick
        found = views.ledger(memory)
        assert sum(one.count for one in views.tally(memory)) == len(found)
        assert views.ledger(memory, limit=2) == found[:2]
        assert reports.queue(memory, None, limit=2) == reports.queue(memory, None)[:2]
        assert reports.waiting(memory, "applied") == len(reports.queue(memory, ("applied",))) == 1
        if isinstance(memory, StoreSubstrate):
            memory._store.close()
