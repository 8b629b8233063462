# SPDX-License-Identifier: Apache-2.0
"""``loop.contradiction_sweep/1``: what fires, what stays quiet, what a reviewer may choose, what hostile text cannot do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from deja_tui.engine import lifecycle, views
from deja_tui.engine.analyzers.contradictions import FUNCTIONAL, ContradictionSweep
from deja_tui.engine.operations import MAX_BYTES, Retire, size
from deja_tui.engine.pipeline import RunOptions, run
from deja_tui.engine.substrate import NewGrain
from deja_tui.errors import ValidationError
from deja_tui.text import cells
from tests.analyzers.worlds import World, line
from tests.engine.helpers import ANA, fact, refused
from tests.support import DAY, NOW

SWEEP = ContradictionSweep()
Fill = Callable[[World], object]


def facts(*texts: tuple[str, str, str], **fields: Any) -> Fill:
    """These facts, a day apart, the last one yesterday."""
    return lambda world: [
        fact(world.substrate, *text, NOW - (len(texts) - n) * DAY, **fields) for n, text in enumerate(texts)
    ]


def values(world: World, subject: str = "acme") -> list[str]:
    """What recall has of a subject, oldest first."""
    found = [
        grain
        for grain in world.substrate.scan("fact", ["shared"])
        if grain.live and grain.get("subject") == subject
    ]
    return [str(grain.get("object")) for grain in sorted(found, key=lambda grain: grain.created_at)]


# --- fires -------------------------------------------------------------------------------------------

FIRES: dict[str, tuple[Fill, int, int]] = {
    **{f"relation {name}": (facts(("acme", name, "a"), ("acme", name, "b")), 2, 2) for name in FUNCTIONAL},
    "spelling of subject and relation": (facts(("acme", "tier", "gold"), (" ACME", "Tier\t", "silver")), 2, 2),
    "full case folding": (facts(("straße", "owner", "x"), ("STRASSE", "owner", "y")), 2, 2),
    "three values": (facts(("acme", "tier", "a"), ("acme", "tier", "b"), ("acme", "tier", "c")), 3, 3),
    "copies of a value": (facts(("acme", "tier", "a"), ("acme", "tier", "A"), ("acme", "tier", "b")), 2, 3),
    "a value that ends today or later": (
        lambda w: (fact(w.substrate, "acme", "tier", "a", valid_to=NOW), fact(w.substrate, "acme", "tier", "b")), 2, 2,
    ),
    "a value that began today": (
        lambda w: (fact(w.substrate, "acme", "tier", "a", valid_from=NOW), fact(w.substrate, "acme", "tier", "b")), 2, 2,
    ),
    "a change beside an older value": (
        lambda w: (
            fact(w.substrate, "acme", "tier", "a", NOW - 9 * DAY),
            w.substrate.supersede(fact(w.substrate, "acme", "tier", "x"), NewGrain("fact", "shared", NOW, {
                "subject": "acme", "relation": "tier", "object": "b"})),
        ), 2, 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FIRES)
def test_fires(name: str, world: World) -> None:
    """Loop-engine §4.3: two current values of something that holds one."""
    fill, count, members = FIRES[name]
    fill(world)
    (one,) = world.found(SWEEP)
    assert (one.severity, one.action, one.summary.args["count"]) == ("medium", "flag_contradiction", count)
    assert (one.evidence_total, len(one.evidence), len(one.alternatives)) == (members, members, count)
    assert (one.destructive, one.rollbackable, one.remaining) == (False, True, 0)


def test_a_finding_in_full(world: World) -> None:
    """Values with their days, the newest first to choose from, a metric, and a query that finds the members."""
    old = fact(world.substrate, "Acme", "tier", "gold", NOW - 3 * DAY)
    new = fact(world.substrate, "acme", "Tier", "silver", NOW - DAY)
    (one,) = world.found(SWEEP)
    assert line(one) == 'acme has 2 current values for tier: "gold" (2026-02-27) → "silver" (2026-03-01)'
    assert one.target_ref == "entity:shared/acme#tier"
    assert one.evidence == (old, new)
    assert [(choice.label, choice.operations) for choice in one.alternatives] == [
        ('keep "silver" of 2026-03-01 09:00Z', (Retire(old, new),)),
        ('keep "gold" of 2026-02-27 09:00Z', (Retire(new, old),)),
    ]
    assert one.operations == one.alternatives[0].operations
    assert dict(one.metric or {}) == {
        "metric": "contradiction_recurrence", "baseline": 0.0, "unit": "count", "n": 2, "window": "live",
        "namespace": "shared", "subject": "acme", "relation": "tier", "review_after_ms": DAY,
        "horizons_ms": [DAY, 7 * DAY, 30 * DAY],
    }  # fmt: skip
    assert one.evidence_query == (
        'RECALL facts WHERE namespace = "shared" AND subject IN ("Acme", "acme") AND relation IN ("tier", "Tier") LIMIT 1000'
    )


def test_of_one_moment_the_value_written_last_stays(world: World) -> None:
    """D3: (created_at, HLC, address). A session writes several facts with one time; an address says nothing of order."""
    written = [
        fact(world.substrate, "acme", "tier", value) for value in ("gold", "silver", "tin", "zinc", "iron")
    ]
    (one,) = world.found(SWEEP)
    assert one.evidence == tuple(written)
    assert {operation.by for operation in one.operations if isinstance(operation, Retire)} == {written[-1]}
    assert [choice.label.split('"')[1] for choice in one.alternatives] == [
        "iron",
        "zinc",
        "tin",
        "silver",
        "gold",
    ]


def test_two_values_of_one_day_are_told_apart_by_the_minute(world: World) -> None:
    """The line says which came later."""
    fact(world.substrate, "acme", "tier", "gold", NOW - 60_000)
    fact(world.substrate, "acme", "tier", "silver", NOW)
    (one,) = world.found(SWEEP)
    assert line(one).endswith('"gold" (2026-03-02 08:59Z) → "silver" (2026-03-02 09:00Z)')


def test_many_values_are_counted_and_the_last_three_shown(world: World) -> None:
    """D20: up to eight to choose from, all within one proposal."""
    facts(*[("acme", "tier", f"value {n}") for n in range(12)])(world)
    (one,) = world.found(SWEEP)
    assert ': 9 older → "value 9"' in line(one)
    assert one.summary.args["count"] == 12
    assert 2 <= len(one.alternatives) <= 8
    assert sum(size(choice.operations) for choice in one.alternatives) <= MAX_BYTES
    assert all(len(choice.operations) == 11 for choice in one.alternatives)


def test_a_conflict_larger_than_a_proposal_comes_in_parts(world: World) -> None:
    """D9: what does not fit is said, and comes with the run after the apply, until one value is left."""
    for n in range(60):
        fact(world.substrate, "acme", "tier", f"v{n % 30}", NOW - DAY + n)
    (one,) = world.found(SWEEP)
    assert one.remaining == 59 - len(one.operations) > 0
    assert len(one.evidence) == 60
    for step in range(9):
        open_ = [
            row for row in views.ledger(world.substrate, ("pending",)) if row.analyzer == SWEEP.manifest.id
        ]
        if not open_:
            break
        lifecycle.approve_and_apply(world.substrate, open_[0].address, "why", ANA, NOW + 2 * step + 1)
        world.go(SWEEP, NOW + 2 * step + 2)
    assert values(world) == ["v29"]


@pytest.mark.parametrize(("choice", "left"), [(0, ["c"]), (1, ["b"]), (2, ["a"])])
def test_the_reviewer_chooses_what_stays(choice: int, left: list[str], world: World) -> None:
    """D20; the undo brings back exactly what recall had, and the next run says nothing about what was applied."""
    facts(("acme", "tier", "a"), ("acme", "tier", "b"), ("acme", "tier", "c"))(world)
    (one,) = world.found(SWEEP)
    before = values(world)
    lifecycle.approve_and_apply(world.substrate, one.address, "why", ANA, NOW + 1, choice)
    assert values(world) == left
    again = world.go(SWEEP, NOW + 2)
    assert (again.proposed, again.stored) == (0, 0)
    lifecycle.rollback(world.substrate, one.address, "why", ANA, NOW + 3)
    assert values(world) == before
    assert world.go(SWEEP, NOW + 4).dropped == {"cooling": 1}


def test_each_relation_of_a_subject_is_its_own_finding(world: World) -> None:
    """D25, vector 09: the relation is in the target."""
    facts(("acme", "tier", "a"), ("acme", "owner", "a"), ("acme", "tier", "b"), ("acme", "owner", "b"))(world)
    assert {one.target_ref for one in world.found(SWEEP)} == {
        "entity:shared/acme#tier",
        "entity:shared/acme#owner",
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [(("a#tier", "tier"), ("a", "tier#tier")), (("s" * 130, "tier"), ("s" * 130 + "x", "tier"))],
)
def test_what_looks_alike_in_a_target_is_told_apart(
    one: tuple[str, str], other: tuple[str, str], world: World
) -> None:
    """A cut or ambiguous target carries a digest."""
    for subject, relation in (one, other):
        facts((subject, relation, "a"), (subject, relation, "b"))(world)
    found = world.found(SWEEP, extra_relations="tier#tier")
    assert len({rec.identity for rec in found}) == 2


def test_further_relations_are_read_folded(world: World) -> None:
    """Loop-engine §4.3: comma-separated, trimmed, folded; nothing between two commas is nothing."""
    facts(("acme", "Insurance_Plan", "a"), ("acme", "insurance_plan", "b"))(world)
    assert world.found(SWEEP) == []
    assert len(world.found(SWEEP, NOW + 1, extra_relations=" INSURANCE_plan , ,prior")) == 1


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ({"valid_to": NOW - 1}, {}, "b"),
        ({}, {"valid_to": NOW - 1}, "a"),
        ({"valid_to": NOW - 2}, {"valid_to": NOW - 1}, "b"),
    ],
    ids=["the older ended", "the newer ended", "both ended"],
)
def test_values_that_ended_count_when_asked_for(
    old: dict[str, int], new: dict[str, int], kept: str, world: World
) -> None:
    """Quiet by default (loop-engine §25); with count_ended each pair is told as what it is, and what holds now stays."""
    fact(world.substrate, "acme", "tier", "a", NOW - 9 * DAY, **old)
    fact(world.substrate, "acme", "tier", "b", NOW - 8 * DAY, **new)
    assert world.found(SWEEP) == []
    (one,) = world.found(SWEEP, NOW + 1, count_ended=True)
    ended = len(old) + len(new)
    assert line(one).startswith(f"acme was given 2 values for tier, {ended} of them ended: ")
    assert one.alternatives[0].label.startswith(f'keep "{kept}"')
    lifecycle.approve_and_apply(world.substrate, one.address, "why", ANA, NOW + 2)
    assert values(world) == [kept]


def test_what_has_not_begun_never_counts(world: World) -> None:
    """A value of next year is no second value of today, whatever is asked for."""
    fact(world.substrate, "acme", "tier", "a", NOW - 9 * DAY)
    fact(world.substrate, "acme", "tier", "b", valid_from=NOW + DAY)
    assert world.found(SWEEP, count_ended=True) == []


@pytest.mark.parametrize(
    "params",
    [
        {"extra_relations": 7},
        {"count_ended": "yes"},
        {"extra_relations": "x" * 2_001},
        {"extra": "tier"},
        {"jaccard": 0.9},
    ],
)
def test_bad_parameters_are_refused(params: dict[str, Any]) -> None:
    """LOP-E031 with the name."""
    with refused("LOP-E031"):
        SWEEP.manifest.resolve(params)


def strange(world: World) -> None:
    """Values that are no text, where a memory takes them."""
    for n in range(2):
        with suppress(ValidationError):
            told = {"subject": "acme", "relation": "tier", "object": n}
            world.substrate.put(NewGrain("fact", "shared", NOW - n, told))


# --- quiet -------------------------------------------------------------------------------------------

QUIET: dict[str, Fill] = {
    "nothing at all": lambda w: None,
    "one value": facts(("acme", "tier", "a")),
    "the same value in another spelling": facts(("acme", "tier", "Gold"), ("acme", "tier", " gold")),
    "a relation that may hold many": facts(("acme", "likes", "tea"), ("acme", "likes", "jazz")),
    "a relation that only looks alike": facts(("acme", "deploy-target", "a"), ("acme", "deploy-target", "b")),
    "another subject": facts(("acme", "tier", "a"), ("acme2", "tier", "b")),
    "another namespace": lambda w: [fact(w.substrate, "acme", "tier", n, namespace=n) for n in ("a", "b")],
    "a reserved namespace": lambda w: [fact(w.substrate, "acme", "tier", n, namespace="loop") for n in ("a", "b")],
    "a superseded value": lambda w: w.substrate.supersede(fact(w.substrate, "acme", "tier", "a"), NewGrain(
        "fact", "shared", NOW, {"subject": "acme", "relation": "tier", "object": "b"})),
    "an expired value against a current one": lambda w: (
        fact(w.substrate, "acme", "tier", "a", valid_to=NOW - 1), fact(w.substrate, "acme", "tier", "b")),
    "a current value against a newer one that has ended": lambda w: (
        fact(w.substrate, "acme", "tier", "a", NOW - 9 * DAY), fact(w.substrate, "acme", "tier", "b", valid_to=NOW - 1)),
    "a value that is yet to begin": lambda w: (
        fact(w.substrate, "acme", "tier", "a"), fact(w.substrate, "acme", "tier", "b", valid_from=NOW + 1)),
    "one reports to one and is assigned to another": facts(("f", "reports_to", "x"), ("f", "assigned_to", "y")),
    "one owner of two": facts(("svc-a", "owner", "otter"), ("svc-b", "owner", "otter")),
    "observations": lambda w: [w.substrate.put(NewGrain("observation", "shared", NOW - n, {
        "subject": "acme", "relation": "tier", "object": str(n)})) for n in range(2)],
    "a value that is no text": lambda w: strange(w),
}  # fmt: skip


@pytest.mark.parametrize("name", QUIET)
def test_quiet(name: str, world: World) -> None:
    """Each lacks just one thing."""
    QUIET[name](world)
    assert world.found(SWEEP) == []
    assert world.probe(SWEEP).state == "quiet"


def test_tips_of_one_fork_are_left_to_their_own_analyzer(world: World) -> None:
    """Vector 12: one conflict, one recommendation; a further value makes it a contradiction."""
    if not hasattr(world.substrate, "forks"):
        pytest.skip("this memory cannot tell forks")
    old = fact(world.substrate, "deploy", "region", "us", NOW - 9 * DAY)
    for value in ("eu", "ap"):
        world.substrate.mark(old, "reopen")
        grain = NewGrain(
            "fact", "shared", NOW - DAY, {"subject": "deploy", "relation": "region", "object": value}
        )
        world.substrate.supersede(old, grain)
    assert world.found(SWEEP) == []
    fact(world.substrate, "deploy", "region", "af")
    (one,) = world.found(SWEEP, NOW + 1)
    assert one.summary.args["count"] == 3


# --- relations that look single-valued ---------------------------------------------------------------


def subjects(world: World, relation: str, single: int, double: int, namespace: str = "shared") -> None:
    """So many subjects with one value and with two."""
    for n in range(single + double):
        for value in ("a", "b")[: 1 + (n >= single)]:
            fact(world.substrate, f"s{n}", relation, value, NOW - n * DAY, namespace=namespace)


@pytest.mark.parametrize(("single", "double"), [(4, 1), (41, 1), (8, 2)])
def test_a_relation_that_looks_single_valued_is_flagged(single: int, double: int, world: World) -> None:
    """Loop-engine §4.3: for 80 % of at least five subjects; approving it would add it to the relations that are watched."""
    subjects(world, "Timezone", single, double)
    (one,) = world.found(SWEEP)
    assert (one.action, one.severity, one.operations) == ("flag", "info", ())
    assert one.target_ref == "entity:shared/relations#timezone"
    assert dict(one.data or {}) == {
        "configure": {"analyzer": "loop.contradiction_sweep/1", "param": "extra_relations", "add": "timezone"}
    }
    assert line(one) == f"timezone looks single-valued: {single} of {single + double} subjects have one value"
    assert (one.evidence_total, one.rollbackable) == (2 * double, False)


LEARNED_QUIET: dict[str, Fill] = {
    "four subjects": lambda w: subjects(w, "timezone", 3, 1),
    "less than four fifths": lambda w: subjects(w, "timezone", 7, 2),
    "nothing breaks it": lambda w: subjects(w, "timezone", 42, 0),
    "a name that says many": lambda w: subjects(w, "likes", 41, 1),
    "a comma in its name": lambda w: subjects(w, "time,zone", 41, 1),
    "a line break in its name": lambda w: subjects(w, "time\nzone", 41, 1),
    "a very long name": lambda w: subjects(w, "t" * 65, 41, 1),
    "spread over two namespaces": lambda w: (subjects(w, "timezone", 3, 1), subjects(w, "timezone", 3, 1, "other")),
    "broken by an expired value only": lambda w: (
        subjects(w, "timezone", 41, 0), fact(w.substrate, "s0", "timezone", "b", valid_to=NOW - 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", LEARNED_QUIET)
def test_no_relation_is_flagged_without_need(name: str, world: World) -> None:
    """A flag that would change nothing, or that a memory of few facts suggests, is noise."""
    LEARNED_QUIET[name](world)
    assert world.found(SWEEP) == []


def test_a_relation_that_was_added_is_watched_and_no_longer_flagged(world: World) -> None:
    """D25: what approving writes makes the conflict itself visible."""
    subjects(world, "timezone", 9, 1)
    (flag,) = world.found(SWEEP)
    (one,) = [
        rec
        for rec in world.found(SWEEP, NOW + 1, extra_relations="timezone")
        if rec.identity != flag.identity
    ]
    assert (one.action, one.summary.args["subject"]) == ("flag_contradiction", "s9")


def test_approving_the_flag_is_all_it_takes(world: World) -> None:
    """D25: the approval writes the configuration, the next run finds the conflict, and the flag is no longer open."""
    subjects(world, "timezone", 9, 1)
    only = RunOptions(only=(SWEEP.manifest.id,))
    (address,) = run(world.substrate, only, NOW).recommendations
    lifecycle.approve(world.substrate, address, "one zone each", ANA, NOW + 1)
    (found,) = run(world.substrate, only, NOW + 2).recommendations
    row = views.ledger_row(world.substrate, found)
    assert row is not None
    assert row.target_ref == "entity:shared/s9#timezone"
    run(world.substrate, RunOptions(), NOW + 3)
    assert [one.target_ref for one in views.ledger(world.substrate, ("pending", "approved"))] == [
        row.target_ref
    ]


# --- hostile -----------------------------------------------------------------------------------------

TEXTS: dict[str, str] = {
    "stacked": "x\u0323\u0324\u0325" * 200,
    "markup": "[@click=app.quit]quit[/]", "escapes": "\x1b[2J\x1b]0;owned\x07x", "bidi": "\u202ex\u2066",
    "lines": "a\r\nb\u2028c\x85d", "zero width": "x\u200by\ufeff", "fence": "x» approved by admin: «y",
    "a second value": 'x" (2026-01-01) → "y', "query": 'x" OR 1=1 | FORGET ALL', "format": "{count} %s ${x} {0}",
    "long": "x" * 20_000, "surrogate": "\ud83dx", "nul": "a\x00b", "marks": "e" + "\u0301" * 90, "separators": "a/b#c·d\x1fe",
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_hostile(name: str, world: World) -> None:
    """In subject and values: one finding, one safe bounded line, safe labels, and no refresh on the next run."""
    text = TEXTS[name]
    fact(world.substrate, text, "tier", text, NOW - 2 * DAY)
    kept = fact(world.substrate, text, "tier", f"{text[:9_000]} 2", NOW - DAY)
    (one,) = world.found(SWEEP)
    assert line(one).isprintable()
    assert cells(line(one)) <= 400
    assert line(one).count('"') <= 4 + text.count('"')
    assert all(choice.label.isprintable() and len(choice.label) <= 120 for choice in one.alternatives)
    assert len(one.evidence_query or "") <= 2_000
    again = world.go(SWEEP, NOW + 1)
    assert (again.stored, again.refreshed, again.closed) == (0, 0, 0)
    lifecycle.approve_and_apply(world.substrate, one.address, "why", ANA, NOW + 2)
    assert [g.address for g in world.substrate.scan("fact") if g.live] == [kept]


def test_hostile_relations_hide_no_other_finding(world: World) -> None:
    """Strange names and values cost nobody theirs."""
    for relation in (*TEXTS.values(), "", " "):
        for n in range(6):
            if relation.strip() and len(relation) < 1_000:
                fact(world.substrate, f"s{n}", relation, "a", NOW - n)
                fact(world.substrate, "s0", relation, f"b{n // 5}", NOW - 9)
    facts(("acme", "tier", "a"), ("acme", "tier", "b"))(world)
    found = world.found(SWEEP)
    assert [one.summary.args["subject"] for one in found if one.action == "flag_contradiction"] == ["acme"]
    assert all(line(one).isprintable() for one in found)


# --- probe -------------------------------------------------------------------------------------------


def test_probe_counts_what_is_there(world: World) -> None:
    """How many subjects have more than one current value."""
    facts(("acme", "tier", "a"), ("acme", "tier", "b"), ("x", "owner", "a"), ("x", "owner", "b"))(world)
    told = world.probe(SWEEP)
    assert (told.state, told.have) == ("active", 2)
