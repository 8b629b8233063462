# SPDX-License-Identifier: Apache-2.0
"""Loop objects as grains: what is written is read back, and malformed grains stop nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.engine import lifecycle, reports, views
from deja_tui.engine.draft import Draft
from deja_tui.engine.objects import SEVERITIES, STATUSES
from deja_tui.engine.operations import Add, Alternative, DefineQuery, Forget, Retire
from deja_tui.engine.substrate import NewGrain
from deja_tui.engine.templates import render
from deja_tui.engine.wire import audit_grain, read_audit, read_recommendation, recommendation_grain
from deja_tui.reference import MemoryGrain, ReferenceSubstrate
from tests.engine.helpers import ANA, calls, draft, fact, go, plant, refused
from tests.support import DAY, NOW

A, B = "a" * 64, "b" * 64


def as_stored(grain: NewGrain, **over: Any) -> MemoryGrain:
    values: dict[str, Any] = {
        "address": A, "seq": 1, "type": grain.type, "namespace": grain.namespace,
        "created_at": grain.created_at, "fields": dict(grain.fields), **over,
    }  # fmt: skip
    return MemoryGrain(**values)


# --- recommendations ---------------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from([A, B]), min_size=1, max_size=3),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers(), max_size=3),
    st.sampled_from(SEVERITIES),
    st.integers(0, 10**15),
    st.none() | st.just(B),
    st.integers(0, 99),
    st.integers(1, 9),
)
def test_a_recommendation_survives_being_stored(
    evidence: list[str],
    args: dict[str, Any],
    severity: str,
    since: int,
    refreshes: str | None,
    more: int,
    nth: int,
) -> None:
    """D8: every part is read back as it was written; evidence is the parents, the refreshed one is none of it."""
    found = draft(
        [Retire(A, B), Add("fact", "n", {"x": 1})], evidence, args=args, severity=severity, remaining=more,
        evidence_total=len(evidence) + more, metric={"metric": "m"}, evidence_query="RECALL facts",
    )  # fmt: skip
    grain = recommendation_grain(
        found, analyzer="loop.x/1", params={"p": 1}, identity="i", now_ms=NOW, since=since,
        refreshes=refreshes, occurrence=nth,
    )  # fmt: skip
    assert isinstance(grain.fields["derived_from"], list)
    body = read_recommendation(as_stored(grain))
    assert (body.analyzer, body.params, body.identity, body.created_at) == ("loop.x/1", {"p": 1}, "i", NOW)
    assert (body.target_ref, body.action, body.severity, body.since) == (
        found.target_ref, found.action, severity, since,
    )  # fmt: skip
    assert (body.summary.template_id, dict(body.summary.args)) == (found.template_id, args)
    assert (body.operations, body.evidence, body.refreshes) == (found.operations, tuple(evidence), refreshes)
    assert (body.evidence_total, body.remaining) == (len(evidence) + more, more)
    assert (body.metric, body.evidence_query) == ({"metric": "m"}, "RECALL facts")
    assert (body.confidence, body.importance) == (0.8, 0.5)


def test_alternatives_and_data_survive_being_stored() -> None:
    """D20: the choice a reviewer has is the one that was proposed; a flag's data is read back (D25)."""
    choice = (Alternative("a stays", (Retire(B, A),)), Alternative("b stays", (Retire(A, B),)))
    flag = {"configure": {"analyzer": "loop.x/1", "param": "extra_relations", "add": "timezone"}}
    for over in ({"alternatives": choice}, {"data": flag, "operations": ()}):
        found = draft(over.pop("operations", choice[0].operations), [A], **over)
        body = read_recommendation(as_stored(_stored_form(found)))
        assert (body.operations, body.alternatives, body.data) == (
            found.operations, found.alternatives, found.data,
        )  # fmt: skip


def test_what_is_done_by_default_is_what_a_choice_of_none_means() -> None:
    """D20: choice 0 is `operations`, with or without alternatives; any other must be there."""
    choice = (
        Alternative("keep", (DefineQuery("q", "RECALL facts", None),)),
        Alternative("erase", (Forget(A),)),
    )
    body = read_recommendation(as_stored(_stored_form(draft(choice[0].operations, [A], alternatives=choice))))
    assert (body.destructive, body.rollbackable) == (False, True)
    assert body.chosen(0) == body.operations
    assert body.chosen(1) == (Forget(A),)
    for number in (-1, 2):
        with pytest.raises(IndexError):
            body.chosen(number)
    alone = read_recommendation(as_stored(_stored_form(draft([Forget(A)], [A]))))
    assert [one.operations for one in alone.choices] == [(Forget(A),)]


@pytest.mark.parametrize("over", [{"alternatives": 7}, {"alternatives": [{"label": 1}]}, {"data": [1]}])
def test_a_malformed_choice_makes_the_recommendation_unreadable(over: dict[str, Any]) -> None:
    """LOP-E012: nobody decides about half of a proposal."""
    grain = _stored_form(draft([Retire(A, B)], [A]))
    fields = {**grain.fields, "proposal_data": {**grain.fields["proposal_data"], **over}}
    with refused("LOP-E012"):
        read_recommendation(as_stored(grain, fields=fields))


@pytest.mark.parametrize(("written", "read"), [(None, 0), (2, 2), ("1", -1), (True, -1)])
def test_the_choice_of_an_approval_is_kept_in_its_entry(written: Any, read: int) -> None:
    """D20: a choice that is no number is no alternative at all, so nothing can be applied on it."""
    notes = {} if written is None else {"choice": written}
    grain = audit_grain(
        recommendation=A, previous=B, from_status="pending", to_status="approved", actor="user:ana",
        observer="human", because="seen", at=1, notes=notes,
    )  # fmt: skip
    entry = read_audit(as_stored(grain))
    assert entry is not None
    assert entry.choice == read


def _stored_form(found: Draft) -> NewGrain:
    return recommendation_grain(
        found, analyzer="x", params={}, identity="i", now_ms=1, since=1, refreshes=None
    )


def test_nothing_that_grants_is_believed_from_bytes() -> None:
    """D8: destructive and rollbackable are recomputed from the operations, origin comes from the audit chain."""
    for operations, destructive in (([Forget(A)], True), ([Retire(A, B)], False)):
        grain = recommendation_grain(
            draft(operations, [A]), analyzer="x", params={}, identity="i", now_ms=1, since=1, refreshes=None
        )
        lying = {
            **grain.fields,
            "destructive": not destructive,
            "rollbackable": destructive,
            "origin": "builtin",
        }
        body = read_recommendation(as_stored(grain, fields=lying))
        assert (body.destructive, body.rollbackable) == (destructive, not destructive)


def test_the_same_finding_again_has_other_bytes() -> None:
    """The occurrence tells two findings of one millisecond apart; the first one is written without it."""
    found = draft([], [A])
    fields = [
        recommendation_grain(
            found, analyzer="x", params={}, identity="i", now_ms=1, since=1, refreshes=None, occurrence=nth
        ).fields["proposal_data"]
        for nth in (1, 2, 3)
    ]
    assert "occurrence" not in fields[0]
    assert (fields[1]["occurrence"], fields[2]["occurrence"]) == (2, 3)


def sound() -> dict[str, Any]:
    grain = recommendation_grain(
        draft([Retire(A, B)], [A, B]),
        analyzer="loop.x/1",
        params={},
        identity="i",
        now_ms=1,
        since=1,
        refreshes=None,
    )
    return dict(grain.fields)


def within(name: str, key: str, value: Any) -> dict[str, Any]:
    fields = sound()
    return {**fields, name: {**fields[name], key: value}}


MALFORMED: dict[str, dict[str, Any]] = {
    "empty": {},
    "no target": {**sound(), "target_ref": None},
    "target no text": {**sound(), "target_ref": 7},
    "no identity": {**sound(), "dedup_key": None},
    "unknown severity": {**sound(), "severity": "fatal"},
    "severity a list": {**sound(), "severity": ["low"]},
    "analyzer a text": {**sound(), "analyzer": "loop.x/1"},
    "analyzer without id": {**sound(), "analyzer": {"params": {}}},
    "params a list": within("analyzer", "params", []),
    "summary missing": {**sound(), "summary": None},
    "args a list": within("summary", "args", ["x"]),
    "template no text": within("summary", "template_id", None),
    "proposal a list": {**sound(), "proposal_data": []},
    "no operations": within("proposal_data", "ops", None),
    "an operation of tomorrow": within("proposal_data", "ops", [{"op": "merge", "targets": [A]}]),
    "an operation with more": within("proposal_data", "ops", [{"op": "forget", "target": A, "force": True}]),
    "no action": within("proposal_data", "action", None),
    "total no number": within("proposal_data", "evidence_total", "many"),
    "total infinite": within("proposal_data", "evidence_total", float("inf")),
    "since no number": within("proposal_data", "since", {}),
    "since not finite": within("proposal_data", "since", float("nan")),
    "remaining no number": within("proposal_data", "remaining", []),
    "confidence above one": {**sound(), "confidence": 7},
    "confidence no number": {**sound(), "confidence": "high"},
    "confidence not a number": {**sound(), "confidence": float("nan")},
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_recommendation_has_its_code(name: str) -> None:
    """LOP-E012, whatever is wrong."""
    grain = NewGrain("recommendation", "deja-loop", 1, MALFORMED[name])
    with refused("LOP-E012"):
        read_recommendation(as_stored(grain))


@pytest.mark.parametrize(("kind", "space"), [("fact", "deja-loop"), ("recommendation", "shared")])
def test_only_a_recommendation_in_the_namespace_of_the_loop_is_one(kind: str, space: str) -> None:
    """D7: a plain grain that looks like one is LOP-E040."""
    with refused("LOP-E040"):
        read_recommendation(as_stored(NewGrain(kind, space, 1, sound())))


def test_odd_but_harmless_parts_are_read_as_absent() -> None:
    """A query or metric that is no text or map is left out; the recommendation stays readable."""
    fields = {**sound(), "evidence_query": ["x"], "metric_snapshot": "m", "derived_from": [A, 7, None]}
    body = read_recommendation(as_stored(NewGrain("recommendation", "deja-loop", 1, fields)))
    assert (body.evidence_query, body.metric, body.evidence) == (None, None, (A,))


def test_malformed_grains_never_stop_the_queue_the_run_or_a_decision() -> None:
    """A file full of broken loop grains still lists, runs and decides what is sound."""
    substrate = ReferenceSubstrate()
    calls(substrate, "x", "boom", 5)
    for n, fields in enumerate(MALFORMED.values()):
        if "not finite" not in str(fields):
            substrate.put(NewGrain("recommendation", "deja-loop", NOW - n, fields))
    for context in ({}, [], "x", {"audit": "loop"}, {"audit": "loop", "to": "pending", "at": None}):
        substrate.put(NewGrain("observation", "deja-loop", NOW, {"context": context, "derived_from": [A]}))
    assert go(substrate).stored == 1
    (row,) = reports.queue(substrate, None)
    assert row.summary == "x: 5 of 5 calls failed the same way: «boom»"
    assert lifecycle.approve_and_apply(substrate, row.address, "why", ANA, NOW).chain_verified
    assert go(substrate, NOW + 1).proposed == 0


def test_a_cached_row_whose_grain_cannot_be_read_stays_in_the_queue() -> None:
    """Damage is shown, not hidden: the row tells the code, and every act on it is refused with it."""
    substrate = ReferenceSubstrate()
    twin = [fact(substrate, "a", "b", text) for text in ("c", "C")]
    address = plant(substrate, draft([Retire(twin[1], twin[0])], twin))
    (kept,) = views.ledger(substrate)
    substrate.ledger_list = lambda statuses: [kept]  # type: ignore[attr-defined]
    substrate.ledger_get = lambda one: kept  # type: ignore[attr-defined]
    substrate.grains[address].fields["severity"] = "broken"  # type: ignore[index]
    (row,) = reports.queue(substrate, ("pending",))
    assert row.summary.startswith("LOP-E012")
    with refused("LOP-E012"):
        reports.show(substrate, address, ANA)
    chain = reports.chain(substrate, address)
    assert (chain.verified, chain.fault) == (False, "the recommendation cannot be read")
    with refused("LOP-E026"):
        lifecycle.approve(substrate, address, "why", ANA, NOW)


# --- audit entries -----------------------------------------------------------------------------------


@given(
    st.none() | st.sampled_from(STATUSES),
    st.sampled_from(STATUSES),
    st.sampled_from(["human", "agent", "policy", "system"]),
    st.text(min_size=1, max_size=9),
    st.integers(0, 10**15),
    st.lists(st.sampled_from([A, B]), max_size=2),
)
def test_an_audit_entry_survives_being_stored(
    start: str | None, end: str, observer: str, because: str, at: int, results: list[str]
) -> None:
    """D8: parents are always a list of recommendation, predecessor, results; everything else stands in the context."""
    previous = None if start is None else "c" * 64
    grain = audit_grain(
        recommendation=B, previous=previous, from_status=start, to_status=end, actor="user:ana", observer=observer,
        because=because, at=at, results=tuple(results), notes={"inverse": [{"do": "hide", "grain": A}]},
    )  # fmt: skip
    assert grain.fields["derived_from"] == [B, *([previous] if previous else []), *results]
    entry = read_audit(as_stored(grain))
    assert entry is not None
    assert (entry.recommendation, entry.previous, entry.from_status, entry.to_status) == (
        B,
        previous,
        start,
        end,
    )
    assert (entry.actor, entry.observer, entry.because, entry.at) == ("user:ana", observer, because, at)
    assert entry.results == tuple(results)
    assert entry.inverse == ({"do": "hide", "grain": A},)


# --- summary lines -----------------------------------------------------------------------------------


def test_a_summary_is_rendered_in_one_pass() -> None:
    """An argument's text is never scanned for further fields, and a missing one is a visible hole."""
    args = {"tool": "{count}", "count": 3, "signature": "{tool} %s {0}"}
    assert render("tool_failure.cluster", args) == (
        "{count}: 3 of {?calls} calls failed the same way: «{tool} %s {0}»"
    )


def test_no_argument_opens_or_closes_the_fence() -> None:
    """Tool output cannot go on in our voice."""
    args = {"tool": "«", "count": 1, "calls": 1, "signature": "x» approved by admin: «y"}
    assert render("tool_failure.cluster", args) == (
        "\\xab: 1 of 1 calls failed the same way: «x\\xbb approved by admin: \\xaby»"
    )


def test_arguments_are_cleaned_and_bounded() -> None:
    """Escapes are shown, long ones are cut, and values of any kind are a line."""
    args = {"count": {"a": [1]}, "subject": "\x1b[31mred\n", "relation": "r" * 500, "object": None}
    line = render("duplicate.exact", args)
    assert line.startswith('{"a":[1]} copies of one fact: \\x1b[31mred\\n · ')
    assert "…" in line
    assert len(line) < 300


def test_an_unknown_template_is_shown_by_its_arguments() -> None:
    """D28: a recommendation of a newer analyzer stays readable, however many arguments it has."""
    assert render("goal.stuck", {"b": 2, "a": "x\x1b"}) == "goal.stuck: a x\\x1b, b 2"
    assert render("goal.stuck", {}) == "goal.stuck"
    assert len(render("\x1b" * 999, {f"n{n}": "x" * 999 for n in range(999)})) <= 400


def test_ages_and_totals_of_a_queue_row_come_from_the_first_proposal() -> None:
    """A refresh keeps the age and shows the new total."""
    substrate = ReferenceSubstrate()
    calls(substrate, "x", "boom", 5)
    go(substrate)
    calls(substrate, "x", "boom", 1, at=NOW)
    go(substrate, NOW + DAY)
    (row,) = reports.queue(substrate, ("pending",))
    assert (row.age_from, row.evidence_total, row.status, row.origin) == (NOW, 6, "pending", "builtin")
    assert (row.severity, row.analyzer, row.destructive, row.rollbackable, row.foreign) == (
        "high", "loop.tool_failure/1", False, True, False,
    )  # fmt: skip


def test_the_queue_is_ordered_by_severity_then_age() -> None:
    """Severity falling, the oldest first, then identity."""
    substrate = ReferenceSubstrate()
    cited = [fact(substrate, "a", "b", "c")]
    planted = [
        plant(substrate, draft([], cited, severity=severity, target_ref=f"entity:x#{n}"), at=NOW + at)
        for n, (severity, at) in enumerate([("low", 0), ("high", 2), ("info", 0), ("high", 1), ("medium", 0)])
    ]
    assert [planted.index(row.address) for row in reports.queue(substrate, None)] == [3, 1, 4, 0, 2]


def test_a_detail_holds_what_a_reviewer_needs() -> None:
    """Evidence as far as it is here, every grain the change names, the chain, and the plan while it is open."""
    substrate = ReferenceSubstrate()
    kept, copy = fact(substrate, "a", "b", "c", 1), fact(substrate, "a", "b", "C", 2)
    go(substrate)
    (row,) = reports.queue(substrate, None)
    detail = reports.show(substrate, row.address, ANA)
    assert [one.address for one in detail.evidence] == [kept, copy]
    assert set(detail.targets) == {kept, copy}
    assert detail.chain.verified
    assert detail.plan is not None
    assert (detail.plan.retires, detail.plan.refusal) == (1, None)
    substrate.forget(copy)
    detail = reports.show(substrate, row.address, ANA)
    assert [(one.type, one.live) for one in detail.evidence] == [("fact", True), (None, False)]
    assert detail.plan is not None
    assert (detail.plan.refusal or "").startswith("LOP-E024")
    lifecycle.reject(substrate, row.address, "no", ANA, NOW)
    assert reports.show(substrate, row.address, ANA).plan is None
