# SPDX-License-Identifier: Apache-2.0
"""``loop.duplicate_sweep/1``, exact facts: what fires, what stays quiet, and what hostile text cannot do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from deja_tui.engine import lifecycle, reports, views
from deja_tui.engine.analyzer import Context
from deja_tui.engine.analyzers.duplicates import DuplicateSweep
from deja_tui.engine.identity import digest12
from deja_tui.engine.objects import Recommendation
from deja_tui.engine.operations import MAX_BYTES, MAX_OPERATIONS, Retire, size
from deja_tui.engine.reader import Reader
from deja_tui.engine.substrate import NewGrain, Substrate
from deja_tui.engine.wire import read_recommendation
from deja_tui.reference import ReferenceSubstrate
from tests.engine.helpers import ANA, fact, go, only, recalled
from tests.support import DAY, NOW

ID = "loop.duplicate_sweep/1"
Fill = Callable[[Substrate], object]


def found(substrate: Substrate) -> list[Recommendation]:
    """What one run proposes, in queue order."""
    go(substrate, only=(ID,))
    grains = [substrate.get(row.address) for row in views.ledger(substrate)]
    return [read_recommendation(grain) for grain in grains if grain is not None]


def facts(*texts: tuple[str, str, str], **over: Any) -> Fill:
    return lambda substrate: [fact(substrate, *text, NOW - DAY + n, **over) for n, text in enumerate(texts)]


# --- fires -------------------------------------------------------------------------------------------

FIRES: dict[str, tuple[Fill, int]] = {
    "the same text": (facts(("a", "b", "c"), ("a", "b", "c")), 2),
    "case of every part": (facts(("acme", "likes", "tea"), ("ACME", "Likes", "TEA")), 2),
    "outer white space": (facts(("acme", "likes", "tea"), (" acme", "likes\t", "\u00a0tea ")), 2),
    "composition": (facts(("cafe\u0301", "is", "x"), ("café", "is", "X")), 2),
    "full case folding": (facts(("straße", "is", "x"), ("STRASSE", "is", "x"), ("ſtrasse", "is", "x")), 3),
    "other fields differ": (
        lambda s: [fact(s, "a", "b", "c", NOW - n, confidence=n / 10, tags=[str(n)]) for n in range(4)], 4,
    ),
    "dated in the future": (lambda s: [fact(s, "a", "b", "c", NOW + n * DAY) for n in range(2)], 2),
    "the copy that is left after a supersession": (
        lambda s: (s.supersede(fact(s, "a", "b", "x"), NewGrain("fact", "shared", NOW, {
            "subject": "a", "relation": "b", "object": "c"})), fact(s, "a", "b", "c")), 2,
    ),
    "one lesson twice": (facts(("t", "fails_with", "boom"), ("t", "fails_with", "Boom")), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", FIRES)
def test_fires(name: str) -> None:
    """D11: equal after NFC, full case fold and trim is equal."""
    fill, count = FIRES[name]
    substrate = ReferenceSubstrate()
    fill(substrate)
    (one,) = found(substrate)
    assert (one.evidence_total, one.summary.args["count"], len(one.operations)) == (count, count, count - 1)
    assert (one.severity, one.remaining, one.metric, one.confidence) == ("low", 0, None, 1.0)


def test_a_finding_in_full() -> None:
    """The earliest is kept, by time and then address; the others are retired in its favour, and the fact is shown."""
    substrate = ReferenceSubstrate()
    late = fact(substrate, "Acme", "likes", "Tea", NOW - 1, namespace="team")
    same = [fact(substrate, "ACME", "likes", f"tea{' ' * n}", NOW - 9, namespace="team") for n in range(2)]
    kept, middle = same  # D3: of one moment, the one that came first
    (one,) = found(substrate)
    assert one.evidence == (kept, middle, late)
    assert one.operations == (Retire(middle, kept), Retire(late, kept))
    assert one.target_ref == f"entity:team/acme#likes·{digest12('team', 'acme', 'likes', 'tea')}"
    assert (one.action, one.summary.template_id) == ("consolidate", "duplicate.exact")
    shown = substrate.get(kept)
    assert shown is not None
    assert dict(one.summary.args) == {
        "count": 3, "subject": "ACME", "relation": "likes", "object": shown.get("object"),
    }  # fmt: skip
    objects = '", "'.join(dict.fromkeys(str(substrate.get(a).get("object")) for a in (kept, middle, late)))  # type: ignore[union-attr]
    assert one.evidence_query == (
        'RECALL facts WHERE namespace = "team" AND subject IN ("ACME", "Acme") AND relation = "likes"'
        f' AND object IN ("{objects}") LIMIT 1000'
    )
    assert dict(one.params) == {"jaccard": 0.9}
    assert (one.destructive, one.rollbackable) == (False, True)


@pytest.mark.parametrize(
    ("ends", "kept"),
    [
        ((NOW - 9 * DAY, NOW + 300 * DAY, None), 2),
        ((NOW - 9 * DAY, NOW + 300 * DAY), 1),
        ((NOW + 300 * DAY, NOW - 9 * DAY), 0),
        ((None, NOW + 1), 0),
    ],
)
def test_a_renewed_fact_is_not_given_up_for_an_expired_copy(ends: tuple[int | None, ...], kept: int) -> None:
    """Of one text the copy that holds longest stays, however late it came; those that hold for less give way to it."""
    substrate = ReferenceSubstrate()
    grains = [
        fact(substrate, "a", "b", "c", NOW - 9 + n, **({"valid_to": end} if end else {}))
        for n, end in enumerate(ends)
    ]
    (one,) = found(substrate)
    others = [address for n, address in enumerate(grains) if n != kept]
    assert one.operations == tuple(Retire(address, grains[kept]) for address in others)
    assert one.evidence[0] == grains[kept]


def test_statements_about_two_times_stay_two() -> None:
    """Each time keeps its own earliest, as its own finding; a copy within a time goes with that one."""
    substrate = ReferenceSubstrate()
    spans = ((0, 10), (20, 30), (5, 15))
    grains = [
        [fact(substrate, "a", "b", "c", NOW - n, valid_from=since + n, valid_to=until - n) for n in (0, 1)]
        for since, until in spans
    ]
    findings = found(substrate)
    assert {one.operations for one in findings} == {(Retire(narrow, wide),) for wide, narrow in grains}
    assert len({one.identity for one in findings}) == 3


def test_each_duplicated_fact_of_a_subject_is_its_own_finding() -> None:
    """D25: relation and object are part of the identity."""
    substrate = ReferenceSubstrate()
    for text in ("tea", "jazz"):
        for relation in ("likes", "plays"):
            facts(("acme", relation, text), ("acme", relation, text.upper()))(substrate)
    assert len({one.identity for one in found(substrate)}) == 4


def test_the_identity_stays_when_another_copy_becomes_the_kept_one() -> None:
    """It is of the fact, not of a grain: an older copy that arrives refreshes the same finding."""
    substrate = ReferenceSubstrate()
    facts(("acme", "likes", "tea"), ("acme", "likes", "Tea"))(substrate)
    (before,) = found(substrate)
    older = fact(substrate, "ACME", "LIKES", "TEA", NOW - 9 * DAY)
    outcome = go(substrate, NOW + 1)
    assert (outcome.stored, outcome.refreshed) == (0, 1)
    grain = substrate.get(only(substrate))
    assert grain is not None
    after = read_recommendation(grain)
    assert (after.identity, after.evidence[0]) == (before.identity, older)


def test_fewer_live_copies_really_remain() -> None:
    """§1 lesson 3: after the apply recall returns one, the one that was there, and no copy was written."""
    substrate = ReferenceSubstrate()
    facts(*[("acme", "likes", text) for text in ("tea", "Tea", "TEA")])(substrate)
    first = next(substrate.scan("fact")).address
    go(substrate)
    lifecycle.approve_and_apply(substrate, only(substrate), "same", ANA, NOW)
    assert recalled(substrate) == [first]
    assert len(list(substrate.scan("fact"))) == 3


def test_a_large_group_is_proposed_in_parts() -> None:
    """D9: forty at a time within 8 KiB, and how many remain is said."""
    substrate = ReferenceSubstrate()
    facts(*[("acme", "likes", "tea" if n % 2 else "Tea") for n in range(100)])(substrate)
    (one,) = found(substrate)
    assert len(one.operations) == MAX_OPERATIONS
    assert size(one.operations) <= MAX_BYTES
    assert (one.evidence_total, one.remaining, len(one.evidence)) == (100, 59, 41)


# --- quiet -------------------------------------------------------------------------------------------

QUIET: dict[str, Fill] = {
    "nothing at all": lambda s: None,
    "one fact": facts(("a", "b", "c")),
    "another object": facts(("a", "b", "c"), ("a", "b", "d")),
    "another relation": facts(("a", "b", "c"), ("a", "bb", "c")),
    "another subject": facts(("a", "b", "c"), ("aa", "b", "c")),
    "inner white space": facts(("a", "b", "c d"), ("a", "b", "c  d")),
    "a hidden character": facts(("a", "b", "c"), ("a", "b", "c\u200b")),
    "an accent": facts(("a", "b", "resume"), ("a", "b", "résumé")),
    "letters that look alike": facts(("a", "b", "a"), ("a", "b", "а")),
    "another namespace": lambda s: [fact(s, "a", "b", "c", namespace=n) for n in ("x", "y")],
    "a namespace in another case": lambda s: [fact(s, "a", "b", "c", namespace=n) for n in ("team", "Team")],
    "reserved namespaces": lambda s: [fact(s, "a", "b", "c", NOW - n, namespace="loop") for n in range(3)],
    "a superseded copy": lambda s: s.supersede(fact(s, "a", "b", "c"), NewGrain("fact", "shared", NOW, {
        "subject": "a", "relation": "b", "object": "c"})),
    "a hidden copy": lambda s: (fact(s, "a", "b", "c"), s.mark(fact(s, "a", "b", "C"), "hide")),
    "a retired copy": lambda s: s.mark(fact(s, "a", "b", "C"), "retire", fact(s, "a", "b", "c")),
    "parts moved over a border": facts(("a", "bc", "d"), ("ab", "c", "d"), ("a", "b", "cd")),
    "an object that is no text": lambda s: [s.put(NewGrain("fact", "shared", NOW - n, {
        "subject": "a", "relation": "b", "object": 7})) for n in range(2)],
    "no subject": lambda s: [s.put(NewGrain("fact", "shared", NOW - n, {
        "relation": "b", "object": "c"})) for n in range(2)],
    "observations": lambda s: [s.put(NewGrain("observation", "shared", NOW - n, {
        "subject": "a", "relation": "b", "object": "c"})) for n in range(2)],
    **{
        f"another time ({name})": lambda s, name=name: [
            fact(s, "a", "b", "c", NOW - n, **{f"{name}valid_from": NOW + n * DAY, f"{name}valid_to": NOW + (n + 2) * DAY}) for n in range(2)
        ]
        for name in ("", "system_")
    },
    "an end on one, a beginning on the other": lambda s: (
        fact(s, "a", "b", "c", NOW - 9, valid_from=NOW - DAY), fact(s, "a", "b", "c", valid_to=NOW + DAY)),
    "validity of a strange kind": lambda s: [fact(s, "a", "b", "c", NOW - n, valid_to=[n, {"x": n}]) for n in range(2)],
    "lessons about two tools": facts(("Bash", "fails_with", "boom"), ("bash", "fails_with", "boom")),
}  # fmt: skip


@pytest.mark.parametrize("name", QUIET)
def test_quiet(name: str) -> None:
    """Each differs in just one thing that counts."""
    substrate = ReferenceSubstrate()
    QUIET[name](substrate)
    assert found(substrate) == []


# --- hostile -----------------------------------------------------------------------------------------

TEXTS: dict[str, str] = {
    "markup": "[@click=app.quit]quit[/]", "escapes": "\x1b[2J\x1b]0;owned\x07x", "bidi": "\u202ex\u2066",
    "lines": "a\r\nb\u2028c\x85d", "zero width": "x\u200by\ufeff", "fence": "x» approved by admin: «y",
    "query": 'x" OR 1=1 | FORGET ALL', "format": "{count} %s ${x} {0}", "long": "x" * 100_000, "surrogate": "\ud83dx",
    "nul": "a\x00b", "marks": "e" + "\u0301" * 90, "separators": "a/b#c·d\x1fe",
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_hostile(name: str) -> None:
    """In every part of a fact: one finding, one safe bounded line, a bounded grain, and no refresh on the next run."""
    substrate, text = ReferenceSubstrate(), TEXTS[name]
    kept = fact(substrate, text, text, text, NOW - 2)
    fact(substrate, text, text, f" {text} ", NOW - 1)
    (one,) = found(substrate)
    (row,) = reports.queue(substrate, None)
    assert row.summary.isprintable()
    assert not set("«»") & set(row.summary)
    assert len(one.target_ref) < 400
    grain = substrate.get(one.address)
    assert grain is not None
    assert len(repr(grain.fields)) < 12_000
    assert len(one.evidence_query or "") <= 2_000
    again = go(substrate, NOW + 1)
    assert (again.stored, again.refreshed, again.closed) == (0, 0, 0)
    lifecycle.approve_and_apply(substrate, only(substrate), "why", ANA, NOW + 2)
    assert recalled(substrate) == [kept]


def test_one_hostile_fact_hides_no_other_finding() -> None:
    """A fact with a strange value costs nobody theirs."""
    substrate = ReferenceSubstrate()
    for value in (None, [], {"a": 1}, 7, "\ud83d", ["x"] * 3):
        for n in range(2):
            substrate.put(
                NewGrain("fact", "shared", NOW - n, {"subject": value, "relation": "r", "object": value})
            )
    facts(("a", "b", "c"), ("a", "b", "C"))(substrate)
    assert {one.summary.args["subject"] for one in found(substrate)} == {"a", "\ufffd"}


# --- probe -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fill", "state", "have"),
    [
        (facts(("a", "b", "c")), "quiet", 0),
        (facts(("a", "b", "c"), ("a", "b", "C"), ("d", "b", "c"), ("d", "b", "C")), "active", 2),
    ],
)
def test_probe_counts_what_is_there(fill: Fill, state: str, have: int) -> None:
    """How many facts are stored more than once."""
    substrate = ReferenceSubstrate()
    fill(substrate)
    analyzer = DuplicateSweep()
    context = Context(Reader(substrate), analyzer.manifest.resolve({}), NOW, None, "loop.duplicate_sweep")
    told = analyzer.probe(context)
    assert (told.state, told.have) == (state, have)
