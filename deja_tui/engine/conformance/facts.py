# SPDX-License-Identifier: Apache-2.0
"""Views of facts and notes: what a memory answers itself is what the default over the five methods says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from deja_tui.engine import fact_views, views
from deja_tui.engine.conformance.filling import DAY, NOW, FiveOnly, Skipped, addresses, check, fact
from deja_tui.engine.fact_views import note_text
from deja_tui.engine.substrate import NewGrain, StoredGrain, Substrate
from deja_tui.engine.views import USER_TYPES, fact_key
from deja_tui.text import note_words

SPACES: Final[list[Sequence[str] | None]] = [None, ["shared"], ["other", "shared"], ["nowhere"], []]
_WORDS: Final = [
    "alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet", "kilo", "lima", "mike",
    "november", "oscar", "papa",
]  # fmt: skip


def note(substrate: Substrate, text: str, at: int = NOW - DAY, **fields: Any) -> str:
    """Store one note and return its address."""
    namespace = fields.pop("namespace", "shared")
    content = {"content": text, "observer_id": "agent-1", "observer_type": "agent", **fields}
    return substrate.put(NewGrain("observation", namespace, at, content)).address


def held(substrate: Substrate) -> None:
    """Facts with one value and with several, with and without an end, old ones and new ones, in some namespaces."""
    for space in ("shared", "other", "Shared", "loop"):
        for n, (subject, relation, value) in enumerate(
            (
                ("acme", "tier", "gold"), ("ACME", "Tier", "silver"), ("acme", " tier", "GOLD"), ("acme", "likes", "tea"),
                ("acme", "likes", "jazz"), ("straße", "tier", "ß"), ("STRASSE", "tier", "x"), ("one", "tier", "a"),
                ("one", "tier", "A"), ("two", "likes", "a"),
            )
        ):  # fmt: skip
            fact(substrate, subject, relation, value, NOW - n * DAY, namespace=space)
    for n, until in enumerate((NOW - 1, NOW, NOW + 1, NOW - 100 * DAY)):
        fact(substrate, f"ends-{n}", "code", "x", NOW - 200 * DAY + n, valid_to=until)
        note(substrate, f"ends {n}", NOW - 200 * DAY + n, valid_to=until)
    gone = fact(substrate, "gone", "tier", "a", NOW - 300 * DAY, valid_to=NOW - 9)
    fact(substrate, "gone", "tier", "b", NOW - 300 * DAY)
    substrate.mark(gone, "hide")
    for kind in ("goal", "event"):
        content = {"description": "x", "goal_state": "active"} if kind == "goal" else {"content": "x"}
        substrate.put(NewGrain(kind, "shared", NOW - 400 * DAY, content))


@check
def rivals_is_its_default(substrate: Substrate) -> None:
    """Groups with two values and more, by key, each by age; a relation is asked for by its folded name."""
    held(substrate)
    for relations in (["tier"], ["tier", "likes"], ["likes", "nothing"], []):
        for spaces in SPACES:
            both = [fact_views.rivals(one, spaces, relations) for one in (substrate, FiveOnly(substrate))]
            assert [addresses(group) for group in both[0]] == [addresses(group) for group in both[1]]
    found = fact_views.rivals(substrate, ["shared"], ["tier"])
    assert [fact_key(group[0])[1] for group in found] == ["acme", "strasse"]
    assert [len(group) for group in found] == [3, 2]


@check
def rivals_after_a_position_leaves_out_nothing_new(substrate: Substrate) -> None:
    """What arrived or was opened again is named, its group whole."""
    held(substrate)
    old = fact(substrate, "late", "tier", "a", NOW - 9 * DAY)
    back = fact(substrate, "back", "tier", "a", NOW - 9 * DAY)
    fact(substrate, "back", "tier", "b", NOW - 8 * DAY)
    substrate.mark(back, "hide")
    after = views.position(substrate).seq
    new = fact(substrate, "late", "tier", "b", NOW - 10 * DAY)
    substrate.mark(back, "reopen")
    found = [addresses(group) for group in fact_views.rivals(substrate, None, ["tier"], after)]
    assert [new, old] in found
    assert any(back in group and len(group) == 2 for group in found)
    whole = [addresses(group) for group in fact_views.rivals(substrate, None, ["tier"])]
    assert all(group in whole for group in found)


@check
def relation_counts_is_its_default(substrate: Substrate) -> None:
    """Subjects by relation, and how many have one value; spellings of one value are one."""
    held(substrate)
    for least in (1, 2, 4, 99):
        for spaces in SPACES:
            mine = fact_views.relation_counts(substrate, spaces, least)
            assert mine == fact_views.relation_counts(FiveOnly(substrate), spaces, least)
    found = {
        one.relation: (one.subjects, one.single)
        for one in fact_views.relation_counts(substrate, ["other"], 1)
    }
    assert found == {"tier": (3, 1), "likes": (2, 1)}


@check
def ended_is_its_default(substrate: Substrate) -> None:
    """Live facts and notes with an end before a moment, in arrival order; an end at that very moment is not before it."""
    held(substrate)
    for before in (NOW, NOW + 2, NOW - 50 * DAY, 0):
        for spaces in SPACES:
            mine = addresses(fact_views.ended(substrate, spaces, before))
            assert mine == addresses(fact_views.ended(FiveOnly(substrate), spaces, before))
    assert len(fact_views.ended(substrate, None, NOW)) == 4


@check
def ended_since_leaves_out_nothing_new(substrate: Substrate) -> None:
    """What ended since, what arrived and what was opened again is named."""
    held(substrate)
    back = fact(substrate, "back", "code", "x", valid_to=NOW - 50 * DAY)
    substrate.mark(back, "hide")
    after = views.position(substrate).seq
    new = fact(substrate, "new", "code", "x", valid_to=NOW - 60 * DAY)
    substrate.mark(back, "reopen")
    found = addresses(fact_views.ended(substrate, None, NOW, after, NOW - DAY))
    assert {new, back} <= set(found) <= set(addresses(fact_views.ended(substrate, None, NOW)))
    named = [fact_views.ended(substrate, None, NOW, after, NOW - DAY)]
    assert {grain.get("valid_to") for grain in named[0] if grain.address not in (new, back)} >= {NOW - 1}


@check
def overdue_is_its_default(substrate: Substrate) -> None:
    """Counts and the oldest of each namespace, of the asked types; exactly that age is not older."""
    held(substrate)
    for types in (USER_TYPES, ("fact",), ("observation",), ("goal", "event")):
        for before in (NOW, NOW - DAY, NOW - 200 * DAY + 1, 0):
            for limit in (1, 3, 64):
                for spaces in SPACES:
                    both = [
                        fact_views.overdue(one, spaces, types, before, limit)
                        for one in (substrate, FiveOnly(substrate))
                    ]
                    told = [[(o.namespace, o.total, addresses(o.oldest)) for o in one] for one in both]
                    assert told[0] == told[1]


@check
def forks_are_told_apart_from_many_values(substrate: Substrate) -> None:
    """D3: live grains with a common superseded ancestor; what was added side by side is none; a merged fork is none."""
    if views.capability(substrate, "forks") is None:
        raise Skipped("this memory cannot tell forks")
    held(substrate)
    assert fact_views.forks(substrate, None) == []
    old = fact(substrate, "f", "region", "us", NOW - 9 * DAY)
    tips = [
        changed(substrate, old, "region", value, NOW - (5 - n) * DAY)
        for n, value in enumerate(("eu", "ap", "sa"))
    ]
    assert [addresses(fork) for fork in fact_views.forks(substrate, None)] == [tips[::-1]]
    assert fact_views.forks(substrate, ["other"]) == []
    further = substrate.supersede(tips[2], fact_of("region", "af", NOW)).address
    assert [addresses(fork) for fork in fact_views.forks(substrate, None)] == [[further, tips[1], tips[0]]]
    for tip in tips[:2]:
        substrate.mark(tip, "retire", further)
    assert fact_views.forks(substrate, None) == []
    substrate.mark(tips[0], "reopen")
    assert [addresses(fork) for fork in fact_views.forks(substrate, None)] == [[further, tips[0]]]


@check
def forks_after_a_position_leave_out_nothing_new(substrate: Substrate) -> None:
    """A tip that arrived and one that was opened again make their fork known; plain changes make none."""
    if views.capability(substrate, "forks") is None:
        raise Skipped("this memory cannot tell forks")
    old = fact(substrate, "f", "region", "us", NOW - 9 * DAY)
    first = changed(substrate, old, "region", "eu", NOW - 5 * DAY)
    after = views.position(substrate).seq
    further = substrate.supersede(first, fact_of("region", "eu-2", NOW - 4 * DAY)).address
    assert fact_views.forks(substrate, None, after) == []
    tip = changed(substrate, old, "region", "ap", NOW - 3 * DAY)
    whole = [addresses(fork) for fork in fact_views.forks(substrate, None)]
    assert whole == [[tip, further]]
    assert [addresses(fork) for fork in fact_views.forks(substrate, None, after)] == whole
    substrate.mark(tip, "hide")
    after = views.position(substrate).seq
    substrate.mark(tip, "reopen")
    assert [addresses(fork) for fork in fact_views.forks(substrate, None, after)] == whole


def fact_of(relation: str, value: str, at: int) -> NewGrain:
    return NewGrain("fact", "shared", at, {"subject": "f", "relation": relation, "object": value})


def changed(substrate: Substrate, old: str, relation: str, value: str, at: int) -> str:
    """A live grain that took the place of ``old``, which stays superseded: as a second copy of a memory makes it."""
    substrate.mark(old, "reopen")
    return substrate.supersede(old, fact_of(relation, value, at)).address


@check
def near_notes_names_every_pair_that_is_near(substrate: Substrate) -> None:
    """D12: two notes with a Jaccard of 0.9 or more and the same words with digits are both named; nothing is missed."""
    told = [
        " ".join(_WORDS[:size] + extra)
        for size in (1, 5, 9, 10, 11, 16)
        for extra in ([], ["zulu"], ["zulu", "n7"])
    ]
    told += [
        f"{' '.join(_WORDS)} {' '.join(w + 'a' for w in _WORDS)} {one}"
        for one in ("x", "y", "not", "n7", "n8")
    ]
    told += [
        "用户喜欢深色模式",
        "Ünïcode  STRASSE",
        "ünïcode strasse",
        "!!!",
        "???",
        "don't do it",
        "do not do it",
    ]
    for n, text in enumerate((*told, *told[::3])):
        note(substrate, text, NOW - 100 * DAY + n)
    note(substrate, told[0], NOW, namespace="other")
    note(substrate, told[-1], NOW, namespace="loop")
    hidden = note(substrate, told[5], NOW - 1)
    substrate.mark(hidden, "hide")
    for spaces in SPACES:
        every = fact_views.all_notes(substrate, spaces, fact_views.MANY_NOTES)
        named = {grain.address for grain in fact_views.near_notes(substrate, spaces)}
        assert named <= {grain.address for grain in every}
        for one in every:
            for other in every:
                if one.address < other.address and _near(one, other):
                    assert {one.address, other.address} <= named, (note_text(one), note_text(other))


def _near(one: StoredGrain, other: StoredGrain) -> bool:
    mine, theirs = note_words(note_text(one)), note_words(note_text(other))
    same_numbers = not any(char.isnumeric() for word in mine ^ theirs for char in word)
    return (
        one.namespace == other.namespace
        and same_numbers
        and 10 * len(mine & theirs) >= 9 * len(mine | theirs)
    )


@check
def near_notes_after_a_position_leads_to_all_of_a_cluster(substrate: Substrate) -> None:
    """A new note names the notes it is near to, and those that are near to them; a note opened again does, too."""
    words = [f"{word}{letter}" for letter in "ab" for word in _WORDS]
    swapped = ["swapa", "swapb", "swapc"]
    far = [" ".join([*words[n:], *swapped[:n]]) for n in range(4)]  # each is near to the next one only
    chain = [note(substrate, text, NOW - 9 * DAY + n) for n, text in enumerate(far[:3])]
    other = [
        note(substrate, text, NOW - 8 * DAY)
        for text in ("one quite other note about tea", "One quite other note about tea!")
    ]
    substrate.mark(other[1], "hide")
    after = views.position(substrate).seq
    new = note(substrate, far[3], NOW - DAY)
    assert {*chain, new} <= {grain.address for grain in fact_views.near_notes(substrate, None, after)}
    substrate.mark(other[1], "reopen")
    assert {*other} <= {grain.address for grain in fact_views.near_notes(substrate, None, after)}
