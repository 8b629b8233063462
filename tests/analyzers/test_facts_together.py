# SPDX-License-Identifier: Apache-2.0
"""The analyzers of facts side by side: fixes breed no findings, looking at what is new finds what looking at all does,
and the planted corpus is answered as its key says."""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import lifecycle, views
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.engine.looking import Looking, look
from deja_tui.engine.operations import Operation
from deja_tui.engine.pipeline import RunOptions, run
from deja_tui.engine.substrate import NewGrain, Substrate
from deja_tui.engine.wire import read_recommendation
from deja_tui.reference import ReferenceSubstrate
from deja_tui.store.memory import Store
from tests.engine.helpers import ANA, recalled
from tests.support import DAY, NOW, shared

FACTS = ("loop.duplicate_sweep/1", "loop.contradiction_sweep/1", "loop.fork_surfacing/1", "loop.staleness/1")
Step = tuple[str, int, int, int]

# few subjects, relations, values and notes, so that everything meets
SUBJECTS = ("acme", "ACME", "otter")
RELATIONS = ("tier", "owner", "likes")
VALUES = ("gold", "Gold", "silver", "bronze")
NOTES = (
    "a b c d e f g h i", "a b c d e f g h i j", "A b c d e f g h i!", "a b c d e f g h not i", "a b c d e f g h i 7", "quite another",
)  # fmt: skip
ENDS = (None, None, NOW - DAY, NOW + DAY)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["fact", "fact", "note", "change", "fork"]),
        st.integers(0, 35),
        st.integers(0, 3),
        st.integers(0, 9),
    ),
    max_size=14,
)


def play(substrate: Substrate, steps: list[Step], start: int = 0) -> None:
    """Carry out the steps; each is of its own time."""
    for number, (kind, which, end, older) in enumerate(steps):
        at = NOW - (10 - older) * DAY - 1_000 + start + number
        if kind == "note":
            told = {"content": NOTES[which % 6], "observer_id": "a", "observer_type": "agent", **_end(end)}
            substrate.put(NewGrain("observation", "shared", at, told))
            continue
        fields = {
            "subject": SUBJECTS[which % 3], "relation": RELATIONS[which // 3 % 3], "object": VALUES[which // 9 % 4], **_end(end),
        }  # fmt: skip
        live = [grain for grain in substrate.scan("fact") if grain.live]
        if kind == "fact" or not live:
            substrate.put(NewGrain("fact", "shared", at, fields))
            continue
        old = live[which % len(live)]
        keys = {name: old.get(name) for name in ("subject", "relation")}
        for n in range(2 if kind == "fork" else 1):
            if n:
                substrate.mark(old.address, "reopen")
            told = {**fields, **keys, "object": VALUES[(which + n) % 4]}
            substrate.supersede(old.address, NewGrain("fact", "shared", at + n * 3_600_000, told))


def _end(number: int) -> dict[str, Any]:
    return {"valid_to": ENDS[number]} if ENDS[number] else {}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS, st.integers(0, 30), st.integers(0, 2))
def test_a_fix_breeds_no_finding(steps: list[Step], which: int, choice: int) -> None:
    """Issue 5, point 3: apply a finding, run again, and every finding is one that was there before; undo is exact."""
    substrate = ReferenceSubstrate()
    play(substrate, steps)
    before = recalled(substrate)
    run(substrate, RunOptions(), NOW)
    pending = views.ledger(substrate, ("pending",))
    if not pending:
        return
    row = pending[which % len(pending)]
    body = read_recommendation(_grain(substrate, row.address))
    pick = next(n for n in (choice, 1, 0) if n < len(body.choices) and not _destroys(body.chosen(n)))
    lifecycle.approve_and_apply(substrate, row.address, "why", ANA, NOW + 1, pick)
    known = {known.identity for known in views.ledger(substrate)}
    outcome = run(substrate, RunOptions(full=True), NOW + 2)
    bred = [read_recommendation(_grain(substrate, address)) for address in outcome.recommendations]
    assert [(one.target_ref, body.target_ref) for one in bred if one.identity not in known] == []
    lifecycle.rollback(substrate, row.address, "why", ANA, NOW + 3)
    assert recalled(substrate) == before


def _destroys(operations: Sequence[Operation]) -> bool:
    return any(operation.destructive for operation in operations)


def _grain(substrate: Substrate, address: str) -> Any:
    found = substrate.get(address)
    assert found is not None
    return found


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(parts=st.lists(STEPS, min_size=2, max_size=4))
def test_looking_at_what_is_new_finds_what_looking_at_all_does(
    parts: list[list[Step]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Runs between arrivals leave the queue that one whole look at the end leaves, on a file that looks at what is new."""
    folder = tmp_path_factory.mktemp("file")
    with Store.open(folder / "a.deja", clock=lambda: NOW) as store:
        substrate = StoreSubstrate(store)
        for number, steps in enumerate(parts):
            play(substrate, steps, start=100 * number)
            run(substrate, RunOptions(), NOW + number)
        # a closing that waits for a change of what is cited is due now; nothing else may be left over
        gradual = _open(substrate)
        whole = {
            finding.identity for finding in look(substrate, ANALYZERS, Looking(NOW + 9, full=True)).findings
        }
        assert set(gradual) == whole
        assert max(Counter(gradual).values(), default=1) == 1


def _open(substrate: Substrate) -> list[str]:
    return [row.identity for row in views.ledger(substrate, ("pending", "approved"))]


def planted(count: int) -> Any:
    spec = importlib.util.spec_from_file_location("corpus", shared("tools/corpus.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Corpus(count)


@pytest.mark.parametrize("count", [1_000, 4_000])
def test_the_planted_corpus_is_answered_as_its_key_says(count: int, tmp_path: Path) -> None:
    """Issue 5, point 13: duplicates, contradictions and expired facts exactly, every near-duplicate, nothing besides."""
    corpus = planted(count)
    with Store.open(tmp_path / "a.deja", durability="normal", clock=lambda: corpus.now_ms) as store:
        substrate = StoreSubstrate(store)
        with views.atomic(substrate):
            for one in corpus:
                if one["type"] in ("fact", "observation"):
                    substrate.put(NewGrain(one["type"], "shared", one["created_at_ms"], one["fields"]))
        found = look(substrate, ANALYZERS, Looking(corpus.now_ms, only=FACTS)).findings
    told = Counter(finding.draft.template_id for finding in found)
    key = corpus.labels.summary()
    assert told == Counter(
        {
            "duplicate.exact": key["duplicate_groups"],
            "duplicate.near": key["near_duplicate_clusters"],
            "contradiction.functional": key["contradictions"],
            "staleness.expired": key["expired"],
        }
    )
    near = [finding.draft for finding in found if finding.draft.template_id == "duplicate.near"]
    assert sum(draft.evidence_total - 1 for draft in near) == key["near_duplicate_copies"]
