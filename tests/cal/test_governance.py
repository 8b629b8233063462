# SPDX-License-Identifier: Apache-2.0
"""Decisions in both spellings reach the engine, one at a time; the language itself decides nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from deja_tui.cal import Answer, CalError, Class, Host, Session, classify
from deja_tui.engine.operations import Retire
from deja_tui.errors import DejaError
from deja_tui.facade import Memory
from deja_tui.present.cal_lines import lines_of
from tests.cal.corpus import host_of

Told = Callable[..., dict[str, Any]]


@pytest.fixture
def pending(memory: Memory) -> str:
    """A pending recommendation: three times the same fact."""
    for confidence in (0.9, 0.8, 0.7):
        memory.add_fact("acme", "deploy_target", "eu-west-1", confidence)
    memory.loop.run()
    (row,) = memory.loop.queue()
    return row.address


def status(memory: Memory, address: str) -> str:
    return next(row.status for row in memory.loop.queue(None) if row.address == address)


@pytest.mark.parametrize(
    ("approve", "apply"),
    [
        ('REVIEW sha256:{} APPROVE BECAUSE "fine"', 'APPLY sha256:{} BECAUSE "go"'),
        ('APPROVE sha256:{} BECAUSE "fine"', 'APPLY sha256:{} REASON "go"'),
    ],
)
def test_both_spellings_review_apply_and_roll_back(
    approve: str, apply: str, pending: str, memory: Memory, told: Told
) -> None:
    """§15.1: the engine's own receipts come back, its chain verifies, recall answers as before."""
    before = told("RECALL facts")["grains"]
    done = told(approve.format(pending))
    assert (done["type"], done["verb"], done["result"]["to_status"]) == ("reviewed", "approve", "approved")
    assert told(apply.format(pending))["type"] == "rec_applied"
    assert len(told("RECALL facts")["grains"]) == 1
    done = told(f'ROLLBACK sha256:{pending} BECAUSE "undo"')
    assert (done["type"], done["result"]["chain_verified"]) == ("rec_rolled_back", True)
    assert told("RECALL facts")["grains"] == before
    assert memory.verify() == ()


@pytest.mark.parametrize(
    "text",
    ['APPROVE sha256:{} CHOICE 1 BECAUSE "newer"', 'REVIEW sha256:{} APPROVE CHOICE $n BECAUSE "newer"'],
)
def test_an_approval_takes_one_of_several_alternatives(text: str, memory: Memory, told: Told) -> None:
    """D20: counted from 0 as in the library; what has that number is applied, and no number beyond the last is taken."""
    for value in ("gold", "silver"):
        memory.add_fact("acme", "status", value)
    memory.loop.run()
    (row,) = memory.loop.queue()
    choices = memory.loop.show(row.address).recommendation.choices
    assert len(choices) == 2
    for number in ("2", "1.5"):
        with pytest.raises(DejaError):
            told(f'APPROVE sha256:{row.address} CHOICE {number} BECAUSE "r"')
    for verb in ("REJECT", "WITHDRAW", "ROLLBACK"):
        with pytest.raises(CalError) as caught:
            told(f'{verb} sha256:{row.address} CHOICE 1 BECAUSE "r"')
        assert caught.value.code == "CAL-E002"
    assert status(memory, row.address) == "pending"
    told(text.format(row.address), {"n": 1} if "$n" in text else None)
    plan = memory.loop.dry_run(row.address)
    assert plan == memory.loop.dry_run(row.address, choice=1) != memory.loop.dry_run(row.address, choice=0)
    told(f'APPLY sha256:{row.address} BECAUSE "go"')
    (kept,) = memory.heads("acme", "status")
    told(f'ROLLBACK sha256:{row.address} BECAUSE "undo"')
    assert len(memory.heads("acme", "status")) == 2
    assert {one.by for one in choices[1].operations if isinstance(one, Retire)} == {kept.address}


def test_reject_and_withdraw(pending: str, memory: Memory, told: Told) -> None:
    """The other two verdicts."""
    told(f'REVIEW sha256:{pending} APPROVE BECAUSE "fine"')
    assert told(f'REVIEW sha256:{pending} WITHDRAW BECAUSE "no"')["result"]["to_status"] == "rejected"
    assert status(memory, pending) == "rejected"


def test_a_dry_run_shows_the_plan_and_changes_nothing(pending: str, memory: Memory, told: Told) -> None:
    """APPLY … DRY RUN, with a reason or without, is EXPLAIN APPLY; it is a read."""
    before = memory.store.change_token()
    for text in (
        f"APPLY sha256:{pending} DRY RUN",
        f'APPLY sha256:{pending} DRY RUN BECAUSE "look"',
        f"EXPLAIN APPLY sha256:{pending}",
    ):
        plan = told(text, read_only=True)["plan"]
        assert plan["dry_run"]["retires"] == 2
        assert plan["dry_run"]["operations"][0]["op"] == "retire"
    assert memory.store.change_token() == before
    assert told(f'EXPLAIN REVIEW sha256:{pending} APPROVE BECAUSE "x"')["plan"]["class"] == "control"
    assert status(memory, pending) == "pending"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("APPROVE sha256:{}", "CAL-E018"),
        ('REJECT sha256:{} BECAUSE " "', "CAL-E018"),
        ("APPLY sha256:{}", "CAL-E018"),
        ('APPROVE sha256:{} BECAUSE "' + "r" * 501 + '"', "CAL-E016"),
        ('APPLY sha256:{} BECAUSE "too soon"', "LOP-E020"),
        ('ROLLBACK sha256:{} BECAUSE "nothing applied"', "LOP-E020"),
        ('BATCH {{ APPROVE sha256:{} BECAUSE "r" }}', "CAL-E002"),
        ('LET $x = APPROVE sha256:{} BECAUSE "r"; RECALL facts', "CAL-E002"),
        ('COALESCE(APPROVE sha256:{} BECAUSE "r", RECALL facts)', "CAL-E002"),
        ('DEFINE QUERY "x" AS {{ APPROVE sha256:{} BECAUSE "r" }}', "CAL-E058"),
        ('DEFINE QUERY "x" AS {{ APPLY sha256:{} DRY RUN }}', "CAL-E058"),
        ('APPROVE sha256:{}, sha256:{} BECAUSE "r"', "CAL-E002"),
        ('REVIEW sha256:{} APPLY BECAUSE "r"', "CAL-E002"),
    ],
)
def test_decisions_stand_alone_with_a_reason(
    text: str, code: str, pending: str, memory: Memory, told: Told
) -> None:
    """D15, D16: refused, and nothing is decided."""
    with pytest.raises(DejaError) as caught:
        told(text.format(*[pending] * text.count("{}")))
    assert caught.value.code == code
    assert status(memory, pending) == "pending"


def test_a_wrong_address_is_told_before_a_missing_reason(memory: Memory, told: Told) -> None:
    """Not a recommendation is LOP-E040, in every spelling."""
    fact = memory.add_fact("a", "b", "c")
    for text in (
        f"APPLY sha256:{fact}",
        f"APPLY sha256:{fact} DRY RUN",
        f'APPROVE sha256:{fact} BECAUSE "r"',
    ):
        with pytest.raises(DejaError) as caught:
            told(text)
        assert caught.value.code == "LOP-E040"


def test_recommendations_and_audit_are_read_and_never_written(
    pending: str, memory: Memory, told: Told
) -> None:
    """D7: status comes from the audit chain, whatever a statement would like it to be."""
    (row,) = told('RECALL recommendations WHERE rec_status = "pending"')["grains"]
    assert (row["hash"], row["fields"]["rec_status"]) == (pending, "pending")
    assert told(
        'RECALL recommendations WHERE analyzer = "loop.duplicate_sweep/1" AND severity IN ("low", "medium", "info")'
    )["grains"]
    told(f'APPROVE sha256:{pending} BECAUSE "fine"')
    assert told('RECALL recommendations WHERE rec_status = "pending"')["grains"] == []
    (audit, *_) = told(f"DERIVED FROM sha256:{pending}")["grains"]
    assert audit["fields"]["namespace"] == "deja-loop"
    for text in (
        f'SUPERSEDE sha256:{pending} SET severity = "high" BECAUSE "r"',
        f'SUPERSEDE sha256:{audit["hash"]} SET object = "applied" BECAUSE "r"',
        'ADD observation SET content = "x" SET namespace = "deja-loop" REASON "r"',
    ):
        with pytest.raises(DejaError) as caught:
            told(text)
        assert caught.value.code in ("VAL-E004", "CAL-E017")
    assert status(memory, pending) == "approved"


def test_the_built_in_queries_read_both(pending: str, told: Told) -> None:
    """One line each for the queue and the trail."""
    assert [row["hash"] for row in told('RUN "Recommendations"')["grains"]] == [pending]
    assert [row["hash"] for row in told('RUN "Pending Recommendations"')["grains"]] == [pending]
    assert len(told('RUN "Audit Trail"')["grains"]) >= 1
    assert told('RUN "Audit of" ($recommendation = $r)', {"r": pending})["grains"]


def test_a_recommendation_is_rendered_by_the_host(pending: str, memory: Memory, session: Session) -> None:
    """Its summary is a template of the engine; without the host its parts are shown, made harmless."""
    from tests.cal.corpus import host_of

    text = session.run("RECALL recommendations FORMAT markdown").as_json()["text"]
    summary = memory.loop.queue()[0].summary
    assert summary in text
    base = host_of(memory)
    bare = Session(Host(base.store, base.namespace, base.clock))
    assert "acme" in bare.run("RECALL recommendations FORMAT sml").as_json()["text"]


def test_an_evidence_query_gives_the_evidence(pending: str, memory: Memory, session: Session) -> None:
    """What the engine writes, this language reads: the stored query finds what the recommendation cites."""
    for number in range(4):
        memory.record_tool_call('re"fund', f"rate limited {number}", True)
    memory.loop.run()
    rows = memory.loop.queue()
    assert len(rows) == 2
    for row in rows:
        body = memory.loop.show(row.address).recommendation
        found = session.run(body.evidence_query or "").rows  # type: ignore[union-attr]
        assert {grain.hash for grain in found} == set(body.evidence)


def test_a_run_is_started_with_its_gates(memory: Memory, told: Told) -> None:
    """RUN LOOP is the host's run; FULL asks no gate."""
    memory.add_fact("a", "b", "c")
    assert told("RUN LOOP WITH min_new(100)")["result"]["outcome"] == "skipped"
    assert told("RUN LOOP FULL WITH min_new(100)")["result"]["outcome"] == "ran"
    with pytest.raises(CalError) as caught:
        told('RUN LOOP WITH if_stale("later")')
    assert caught.value.code == "CAL-E002"


def test_describe_tells_how_the_loop_stands(pending: str, memory: Memory, told: Told) -> None:
    """DESCRIBE LOOP, ANALYZERS, OUTCOMES and POLICY are what the library answers, as plain rows; a read, for readers."""
    loop = told("DESCRIBE LOOP")["info"]["loop"]
    health = memory.loop.health()
    assert (loop["queue"], loop["pending"]) == (dict(health.queue), dict(health.pending))
    assert loop["grains"] == dict(health.grains)
    states = told("DESCRIBE ANALYZERS")["info"]["analyzers"]
    assert [row["id"] for row in states] == [state.id for state in memory.loop.analyzers()]
    assert {row["state"] for row in states} <= {
        "active", "quiet", "below_threshold", "watching", "cooling", "missing", "disabled", "failed",
    }  # fmt: skip
    policy = told("DESCRIBE POLICY")["info"]["policy"]
    assert {"name": "approve.creator", "value": "refused"}.items() <= next(
        row for row in policy if row["name"] == "approve.creator"
    ).items()
    assert told("DESCRIBE OUTCOMES")["info"] == {"outcomes": []}
    for word in ("LOOP", "ANALYZERS", "OUTCOMES", "POLICY"):
        assert classify(f"DESCRIBE {word}").cls is Class.READ
        result = told(f"DESCRIBE {word}")
        assert json.loads(json.dumps(result)) == result
        assert lines_of(Answer("describe", {"info": result["info"]}), 80)
        with pytest.raises(CalError) as caught:
            Session(Host(memory.store, memory.namespace, memory.clock)).run(f"DESCRIBE {word}")
        assert caught.value.code == "CAL-E130"


def test_outcomes_are_rows_with_both_counts(memory: Memory) -> None:
    """D23: what was counted before and after, out of how many, over which span."""
    measured = SimpleNamespace(
        outcome=SimpleNamespace(
            recommendation="a" * 64, metric="errors", verdict="lower", before=9, before_n=20, after=1, after_n=18,
            horizon_ms=86_400_000, applied_at=1, measured_at=2,
        ),
        status="applied",
    )  # fmt: skip
    host = replace(host_of(memory), loop={"OUTCOMES": lambda: [measured]})
    (row,) = Session(host).run("DESCRIBE OUTCOMES").as_json()["info"]["outcomes"]
    assert (row["before"], row["before_n"], row["after"], row["after_n"]) == (9, 20, 1, 18)
    assert (row["verdict"], row["span_ms"], row["status"]) == ("lower", 86_400_000, "applied")
