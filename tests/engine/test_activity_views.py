# SPDX-License-Identifier: Apache-2.0
"""The views of activity: what a memory answers in its own way equals what scanning it finds (D10)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import activity_views as views
from deja_tui.engine import lifecycle
from deja_tui.engine.operations import Add
from deja_tui.engine.outcomes import Outcome, record
from deja_tui.engine.substrate import NewGrain, Substrate
from deja_tui.engine.views import atomic
from deja_tui.reference import ReferenceSubstrate
from tests.conformance.substrates import SUBSTRATES
from tests.conformance.suite import FiveOnly
from tests.engine.helpers import ANA, calls, draft, fact, plant
from tests.support import DAY, NOW

SPACES: list[list[str] | None] = [None, ["shared"], ["other"], ["shared", "other", "nowhere"], []]


@pytest.fixture(params=[factory for _, factory in SUBSTRATES], ids=[name for name, _ in SUBSTRATES])
def substrate(request: pytest.FixtureRequest, tmp_path: Path) -> Substrate:
    """A memory with some of everything, live and not, in several namespaces."""
    made: Substrate = request.param(tmp_path)
    with atomic(made):
        _fill(made)
    return made


def _fill(made: Substrate) -> None:
    chance = random.Random(3)
    facts: list[str] = []
    for number in range(120):
        content = {
            "subject": chance.choice(["acme", "ACME", "straße", "STRASSE", "zoe"]),
            "relation": chance.choice(["tier", "Tier", "memory_file", "owner"]),
            "object": f"value {number}",
        }
        at = NOW - chance.randrange(60) * DAY
        space = chance.choice(["shared", "other", "deja-loop", "agent:x"])
        facts.append(fact(made, content["subject"], content["relation"], content["object"], at, namespace=space))  # fmt: skip
    for address in chance.sample(facts, 30):
        made.mark(address, chance.choice(["hide", "retire"]), None)  # type: ignore[arg-type]
    for number in range(80):
        kind: dict[str, Any] = {"status": "pending"} if number % 9 == 0 else {}
        calls(
            made, chance.choice(["t", "u", "\x1b[1mt\x1b[0m"]), chance.choice(["boom", "Boom  12", "kaput", ""]), 1,
            error=chance.random() < 0.5, at=NOW - chance.randrange(40) * DAY, n=number,
            namespace=chance.choice(["shared", "other", "agent:x"]), **kind,
        )  # fmt: skip
    for number in range(12):
        content = {
            "name": f"skill {number % 5}",
            "description": "x",
            "proficiency": 0.1,
            "practice_count": number,
        }
        address = made.put(
            NewGrain("skill", "shared" if number % 2 else "other", NOW - number, content)
        ).address
        if number % 4 == 0:
            made.mark(address, "hide")
    for number in range(3):
        cited = fact(made, "cited", "is", str(number), NOW - 90 * DAY)
        lesson = Add("fact", "shared", {"subject": "lesson", "relation": "is", "object": str(number)})
        told = plant(made, draft([lesson], [cited], target_ref=f"entity:a/b#{number}"), at=NOW - DAY)
        if number:
            lifecycle.approve_and_apply(made, told, "seen", ANA, NOW)
            record(made, [Outcome(told, "m", DAY * number, NOW, None, 0, 1, 1, NOW + number * DAY)], NOW + number * DAY)  # fmt: skip


def shown(found: Any) -> Any:
    """Grains by their address; everything else as it is."""
    if isinstance(found, list | tuple) and not hasattr(found, "address"):
        return [shown(one) for one in found]
    if isinstance(found, views.ColdFacts):
        return found.namespace, found.total, shown(found.oldest)
    return getattr(found, "address", found)


def same(substrate: Substrate, name: str, *args: Any) -> list[Any]:
    """What the memory answers, which is what scanning it finds."""
    view = getattr(views, name)
    own, scanned = (shown(list_of(view(each, *args))) for each in (substrate, FiveOnly(substrate)))
    assert own == scanned, (name, args)
    return own if isinstance(own, list) else [own]


def list_of(found: Any) -> Any:
    """Iterators and sets as lists, so that they can be compared."""
    if isinstance(found, frozenset):
        return sorted(found)
    return list(found) if isinstance(found, Iterator) else found


@pytest.mark.parametrize("tool", ["t", "u", "nobody", ""])
@pytest.mark.parametrize("signature", ["boom", "boom #", "no message", "unheard of", None])
def test_tool_span(tool: str, signature: str | None, substrate: Substrate) -> None:
    """Every pair of ends, also those that hold nothing."""
    for begin, end in ((0, NOW), (NOW - 10 * DAY, NOW - 5 * DAY), (NOW, NOW), (NOW - 39 * DAY, NOW - 38 * DAY)):  # fmt: skip
        same(substrate, "tool_span", tool, signature, begin, end)


def test_a_tool_span_begins_after_its_first_millisecond_and_holds_its_last() -> None:
    """Two spans that meet count nothing twice."""
    made = ReferenceSubstrate()
    for at in (NOW - 1, NOW, NOW + 1):
        calls(made, "t", "boom", 1, at=at)
    assert views.tool_span(made, "t", "boom", NOW - 1, NOW) == views.ToolSpan(1, 1, NOW - 1)


@pytest.mark.parametrize("subject", ["acme", "Straße", "nobody", "\ud800"])
def test_facts_under(subject: str, substrate: Substrate) -> None:
    """Live or not, in every spelling of the key."""
    for namespace in ("shared", "other", "nowhere"):
        for relation in ("TIER", "owner", "none"):
            same(substrate, "facts_under", namespace, subject, relation)
    assert len({substrate.get(one).get("subject") for one in same(substrate, "facts_under", "shared", "STRASSE", "tier")}) > 1  # type: ignore[union-attr]  # fmt: skip


@pytest.mark.parametrize("spaces", SPACES, ids=str)
def test_what_is_live_by_type(spaces: list[str] | None, substrate: Substrate) -> None:
    """In arrival order."""
    for kind in ("skill", "goal", "fact"):
        same(substrate, "live_grains", kind, spaces)
    assert same(substrate, "live_grains", "skill", None)


def test_what_is_live_since(substrate: Substrate) -> None:
    """At least what arrived or became live again after a position; a substrate that cannot tell gives all."""
    everything = list(views.live_grains(substrate, "fact"))
    hidden = next(grain for grain in substrate.scan("fact") if not grain.live)
    after = everything[-3].seq
    substrate.mark(hidden.address, "reopen")
    found = [grain.address for grain in views.live_grains(substrate, "fact", None, after)]
    assert {grain.address for grain in everything[-2:]} | {hidden.address} <= set(found)
    assert len(found) == len(set(found))
    if isinstance(substrate, StoreSubstrate):
        assert len(found) == 3


@pytest.mark.parametrize("spaces", SPACES, ids=str)
def test_cold_facts(spaces: list[str] | None, substrate: Substrate) -> None:
    """Totals and the oldest, without what is warm."""
    warm = [bytes.fromhex(one) for one in same(substrate, "live_grains", "fact", None)[::3]]
    for before in (NOW, NOW - 30 * DAY, 0):
        for known in ([], warm):
            same(substrate, "cold_facts", before, known, spaces, 3)


def test_what_an_apply_wrote_and_what_holds_a_document(substrate: Substrate) -> None:
    """Both are left out of the cold ones."""
    assert len(same(substrate, "engine_written")) == 2
    for spaces in SPACES:
        same(substrate, "documents", spaces)
    assert same(substrate, "documents", None)


def test_the_oldest_fact_and_the_measurements(substrate: Substrate) -> None:
    """Reserved namespaces hold no facts of a person."""
    assert same(substrate, "earliest_fact") == [NOW - 90 * DAY]
    assert len(same(substrate, "outcome_grains", 0)) == 2
    assert len(same(substrate, "outcome_grains", NOW + 2 * DAY)) == 1


def test_an_empty_memory_answers_nothing(tmp_path: Path) -> None:
    """No view asks for what is not there."""
    for number, (_, factory) in enumerate(SUBSTRATES):
        folder = tmp_path / str(number)
        folder.mkdir()
        made = factory(folder)
        assert views.tool_span(made, "t", None, 0, NOW) == views.ToolSpan(0, 0, None)
        assert views.earliest_fact(made) is None
        assert list(views.live_grains(made, "skill")) == []
        assert not any((views.engine_written(made), views.documents(made), views.outcome_grains(made)))
        assert not any((views.facts_under(made, "a", "b", "c"), views.cold_facts(made, NOW, [], None, 3)))


# --- chains ------------------------------------------------------------------------------------------


def test_a_lineage_is_what_was_superseded_on_the_way(substrate: Substrate) -> None:
    """Newest first, through supersessions; a grain that is only a source is none of it."""
    source = fact(substrate, "source", "is", "cited")
    ends = [fact(substrate, "chain", "is", "0", NOW - 9 * DAY, derived_from=source)]
    for number in range(1, 4):
        content = {"subject": "chain", "relation": "is", "object": str(number), "derived_from": ends[-1]}
        ends.append(
            substrate.supersede(
                ends[-1], NewGrain("fact", "shared", NOW - DAY * (9 - number), content)
            ).address
        )
    head = substrate.get(ends[-1])
    assert head is not None
    assert [grain.address for grain in views.lineage(substrate.get, head)] == ends[-2::-1]
    assert len(views.newest_of_chain(substrate.get, head, 2)) == 3
