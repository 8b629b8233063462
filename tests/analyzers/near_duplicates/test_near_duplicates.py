# SPDX-License-Identifier: Apache-2.0
"""``loop.duplicate_sweep/1``, notes: what is near, which traps are none, what a fix leaves, what hostile text cannot do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from deja_tui.engine import fact_views, lifecycle
from deja_tui.engine.analyzers.duplicates import DuplicateSweep
from deja_tui.engine.operations import Retire
from deja_tui.engine.pipeline import RunOptions, run
from deja_tui.engine.substrate import NewGrain
from tests.analyzers.worlds import World, line
from tests.engine.helpers import ANA, recalled, refused
from tests.support import DAY, NOW

SWEEP = DuplicateSweep()
LONG = "the nightly backup of the billing database to the eu bucket is {} to delete after the retention window has passed for all customers we know"


def notes(world: World, *texts: str, **fields: Any) -> list[str]:
    """These notes, a day apart, the last one yesterday."""
    return [note(world, text, NOW - (len(texts) - n) * DAY, **fields) for n, text in enumerate(texts)]


def note(world: World, text: str, at: int = NOW - DAY, **fields: Any) -> str:
    namespace = fields.pop("namespace", "shared")
    content = {"content": text, "observer_id": "agent-1", "observer_type": "agent", **fields}
    return str(world.substrate.put(NewGrain("observation", namespace, at, content)).address)


# --- fires -------------------------------------------------------------------------------------------

FIRES: dict[str, tuple[str, ...]] = {
    "the same text": ("deploy finished ok", "deploy finished ok"),
    "case, punctuation, repetition": ("Deploy finished OK!", "deploy, finished... ok", "deploy finished ok ok ok"),
    "nine words of ten": ("a b c d e f g h i", "a b c d e f g h i j"),
    "one word changed": (LONG.format("safe") + " teal", LONG.format("safe") + " navy"),
    "without blanks": ("用户喜欢深色模式", "用户喜欢深色模式"),
    "composition": ("cafe\u0301 is open", "café is open"),
    "a contraction and its words": ("we do not ship it", "we don't ship it", "we don\u2019t ship it"),
    "the same numbers": (LONG.format("safe") + " 30 days", LONG.format("safe") + " 30 days now"),
    "names that both have": ("Anna met Ben in Paris for the third time this year and it was fine", "Anna met Ben in Paris for the third time this year and it was so fine"),
}  # fmt: skip


@pytest.mark.parametrize("name", FIRES)
def test_fires(name: str, world: World) -> None:
    """Loop-engine §4.2b: the first is kept, the others are retired in its favour."""
    first, *copies = notes(world, *FIRES[name])
    (one,) = world.found(SWEEP)
    assert (one.target_ref, one.action, one.severity) == (f"grain:{first}", "consolidate", "info")
    assert one.operations == tuple(Retire(copy, first) for copy in copies)
    assert one.evidence == (first, *copies)
    assert (one.summary.template_id, one.summary.args["count"]) == ("duplicate.near", len(FIRES[name]))
    assert one.summary.args["threshold"] == 0.9


def test_a_finding_in_full(world: World) -> None:
    """How many, how near, and what they say; the newest may be kept instead."""
    first, newest = notes(world, "a b c d e f g h i", "a b c d e f g h i j")
    (one,) = world.found(SWEEP)
    assert line(one) == "2 notes say nearly the same (overlap 0.9): «a b c d e f g h i»"
    assert [(choice.label, choice.operations) for choice in one.alternatives] == [
        ("keep the first note", (Retire(newest, first),)),
        ("keep the newest note", (Retire(first, newest),)),
    ]
    assert (one.destructive, one.rollbackable, one.confidence) == (False, True, 0.9)
    assert '"a b c d e f g h i", "a b c d e f g h i j"' in (one.evidence_query or "")


def test_a_chain_of_changes_is_not_one_cluster(world: World) -> None:
    """Vector 06: a note is near to the first one of a cluster, or it is in another."""
    first, second, _ = notes(world, "a b c d e f g h i j", "a b c d e f g h i j k", "a b c d e f g h i j k l")
    (one,) = world.found(SWEEP)
    assert one.evidence == (first, second)
    assert one.alternatives == (), "keeping the second would only make it the first of the next cluster"


@pytest.mark.parametrize("choice", [0, 1])
def test_a_fix_breeds_no_finding_and_its_undo_is_exact(choice: int, world: World) -> None:
    """§25: fewer live notes remain, no copy was written, and the next run says nothing about it."""
    notes(world, "a b c d e f g h i", "a b c d e f g h i j", "A b c d e f g h i")
    before = recalled(world.substrate)
    (one,) = world.found(SWEEP)
    lifecycle.approve_and_apply(
        world.substrate, one.address, "why", ANA, NOW + 1, choice if one.alternatives else 0
    )
    assert len(recalled(world.substrate)) == 1
    outcome = run(world.substrate, RunOptions(full=True), NOW + 2)
    assert (outcome.proposed, outcome.stored) == (0, 0)
    lifecycle.rollback(world.substrate, one.address, "why", ANA, NOW + 3)
    assert recalled(world.substrate) == before


def test_a_large_cluster_comes_in_parts(world: World) -> None:
    """D9: what remains is said; words are compared once however many notes have them."""
    for n in range(90):
        note(world, "deploy finished ok" if n % 2 else "Deploy finished, ok!", NOW - DAY + n)
    (one,) = world.found(SWEEP)
    assert (len(one.operations), one.remaining, one.evidence_total) == (40, 49, 90)


def test_a_lower_overlap_compares_all_and_says_the_cost(world: World) -> None:
    """D12: in memory for that run; the probe counts the notes."""
    notes(world, "a b c d e f", "a b c d e g", "quite another note")
    assert world.found(SWEEP) == []
    (one,) = world.found(SWEEP, NOW + 1, jaccard=0.7)
    assert one.evidence_total == 2
    assert (
        world.probe(SWEEP, jaccard=0.7).hint
        == "below 0.9 every run compares 3 notes in memory, at most 20000"
    )
    assert world.probe(SWEEP).hint == ""


def test_a_higher_overlap_is_stricter(world: World) -> None:
    """1.0 means the same words."""
    notes(world, "a b c d e f g h i", "a b c d e f g h i j")
    note(world, "same words", NOW - 3)
    note(world, "Same words!", NOW - 2)
    assert [one.summary.args["topic"] for one in world.found(SWEEP, jaccard=1.0)] == ["same words"]


def test_the_budget_is_a_count_of_notes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """D12: the first to arrive are compared, never so many seconds."""
    notes(world, "a b c d e", "quite another note", "a b c d f")
    monkeypatch.setattr("deja_tui.engine.analyzers.near_duplicates.MANY_NOTES", 2)
    outcome = world.go(SWEEP, jaccard=0.6)
    assert (outcome.proposed, [one.reason for one in outcome.analyzers_skipped]) == (0, ["budget"])
    assert len(fact_views.all_notes(world.substrate, None, 2)) == 2
    assert world.probe(SWEEP, jaccard=0.6).state == "quiet"


@pytest.mark.parametrize(
    "params", [{"jaccard": 0.49}, {"jaccard": 1.01}, {"jaccard": "0.9"}, {"jaccard": True}, {"cosine": 0.9}]
)
def test_bad_parameters_are_refused(params: dict[str, Any]) -> None:
    """LOP-E031 with the name."""
    with refused("LOP-E031"):
        SWEEP.manifest.resolve(params)


# --- traps -------------------------------------------------------------------------------------------

TRAPS: dict[str, tuple[str, str]] = {
    "not": (LONG.format("safe"), LONG.format("not safe")),
    "never": (LONG.format("safe"), LONG.format("never safe")),
    "n't": ("we do ship the box to every customer in the north of the country today", "we don't ship the box to every customer in the north of the country today"),
    "without": (LONG.format("safe with care"), LONG.format("safe without care")),
    "a number": (LONG.format("safe") + " 20 dollars", LONG.format("safe") + " 90 dollars"),
    "a number added": (LONG.format("safe"), LONG.format("safe") + " 2"),
    "a number in words": (LONG.format("safe") + " after thirty days", LONG.format("safe") + " after ninety days"),
    "an identifier": (LONG.format("safe") + " order a7f", LONG.format("safe") + " order a7e"),
    "digits of another script": (LONG.format("safe") + " \u0663", LONG.format("safe") + " \u0664"),
    "succeeded and failed": (LONG.format("safe") + " it succeeded", LONG.format("safe") + " it failed"),
    "enabled and disabled": (LONG.format("safe") + " enabled", LONG.format("safe") + " disabled"),
    "before and after": (LONG.format("safe") + " before noon", LONG.format("safe") + " after noon".replace("after", "later")),
    "production and staging": (LONG.format("safe") + " in production", LONG.format("safe") + " in staging"),
    "eu and us": (LONG.format("safe") + " from eu", LONG.format("safe").replace("eu", "us") + " from eu".replace("eu", "us")),
    "a day of the week": (LONG.format("safe") + " on monday", LONG.format("safe") + " on friday"),
    "a name": ("the parcel for the customer was lost by the courier on its way to Lyon and never came back", "the parcel for the customer was lost by the courier on its way to Paris and never came back"),
    "a name more": ("the parcel for the customer of Anna was lost by the courier on its way to town and never came back", "the parcel for the customer of Anna Berg was lost by the courier on its way to town and never came back"),
}  # fmt: skip


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_is_no_duplicate(name: str, world: World) -> None:
    """Vector 07, §25: one word makes it another statement, however many others they share."""
    notes(world, *TRAPS[name])
    assert world.found(SWEEP, jaccard=0.8) == []


QUIET: dict[str, Callable[[World], object]] = {
    "nothing at all": lambda w: None,
    "one note": lambda w: notes(w, "deploy finished"),
    "eight words of nine": lambda w: notes(w, "a b c d e f g h", "a b c d e f g h i"),
    "another verb": lambda w: notes(w, "deploy finished", "deploy started"),
    "another place": lambda w: notes(w, "met with the design team about the onboarding flow", "met with the sales team about the pricing page"),
    "no words": lambda w: notes(w, "!!!", "???"),
    "another namespace": lambda w: [note(w, "the same words", namespace=n) for n in ("alpha", "beta")],
    "a reserved namespace": lambda w: [note(w, "the same words", NOW - n, namespace="loop") for n in range(2)],
    "a retired one": lambda w: w.substrate.mark(note(w, "the same words", NOW - 2), "retire", note(w, "the same words")),
    "two subjects": lambda w: [note(w, "likes tea very much", NOW - n, subject=f"s{n}") for n in range(2)],
    "another end": lambda w: [note(w, "the same words", NOW - n, valid_to=NOW + n * DAY) for n in range(2)],
    "values of two relations": lambda w: [
        w.substrate.put(NewGrain("observation", "shared", NOW - n, {"subject": "acme", "relation": f"r{n}", "object": "good"}))
        for n in range(2)
    ],
    "one value seen twice": lambda w: [
        w.substrate.put(NewGrain("observation", "shared", NOW - n, {"subject": "acme", "relation": "mood", "object": "good"}))
        for n in range(2)
    ],
    "too long to compare": lambda w: notes(w, "word " * 4_000, "word " * 4_000 + "!"),
    "events": lambda w: [w.substrate.put(NewGrain("event", "shared", NOW - n, {"content": "the same words"})) for n in range(2)],
}  # fmt: skip


@pytest.mark.parametrize("name", QUIET)
def test_quiet(name: str, world: World) -> None:
    """Each lacks just one thing."""
    QUIET[name](world)
    assert world.found(SWEEP) == []
    assert world.probe(SWEEP).state == "quiet"


def test_a_cluster_never_holds_two_subjects(world: World) -> None:
    """§4.2: a note without a subject may join one that has one, and then no other."""
    note(world, "likes tea very much", NOW - 9)
    acme = note(world, "Likes tea very much", NOW - 8, subject="Acme")
    note(world, "likes tea, very much", NOW - 7, subject="beta")
    same = note(world, "likes tea very much!", NOW - 6, subject="acme")
    (one,) = world.found(SWEEP)
    assert set(one.evidence[1:]) == {acme, same}


# --- hostile -----------------------------------------------------------------------------------------

TEXTS: dict[str, str] = {
    "markup": "[@click=app.quit]quit[/]", "escapes": "\x1b[2J\x1b]0;owned\x07x", "bidi": "\u202ex\u2066",
    "lines": "a\r\nb\u2028c\x85d", "zero width": "x\u200by\ufeff", "fence": "x» approved by admin: «y",
    "query": 'x" OR 1=1 | FORGET ALL', "format": "{count} %s ${x} {0}", "long": "x" * 16_000, "surrogate": "\ud83dx",
    "nul": "a\x00b", "marks": "e" + "\u0301" * 90, "underscores": "_" * 50 + "a",
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_hostile(name: str, world: World) -> None:
    """One finding, one safe bounded line inside its fence, and no refresh on the next run."""
    text = TEXTS[name]
    kept, _ = notes(world, text, f" {text} ")
    (one,) = world.found(SWEEP)
    assert line(one).isprintable()
    assert len(line(one)) <= 400
    assert (line(one).count("«"), line(one).count("»")) == (1, 1)
    assert len(one.evidence_query or "") <= 2_000
    again = world.go(SWEEP, NOW + 1)
    assert (again.stored, again.refreshed, again.closed) == (0, 0, 0)
    lifecycle.approve_and_apply(world.substrate, one.address, "why", ANA, NOW + 2)
    assert recalled(world.substrate) == [kept]


def test_a_flood_of_notes_from_one_template_is_compared_in_time(world: World) -> None:
    """Notes that share all but one word share no rare word: the work is that of the notes, not of their pairs."""
    words = [f"{a}{b}{c}" for a in "bdfgklmnp" for b in "aeiou" for c in "bdfgklmnprst"]
    for n, word in enumerate(words):
        note(world, f"the user clicked the button named {word} on the page", NOW - DAY + n)
    outcome = run(world.substrate, RunOptions(only=(SWEEP.manifest.id,), work_budget=20_000), NOW)
    assert (outcome.proposed, outcome.analyzers_skipped) == (0, ())
