# SPDX-License-Identifier: Apache-2.0
"""Views of activity: what a memory answers itself is what the default over the five methods says; outcomes on top of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from deja_tui.engine import activity_views as views
from deja_tui.engine import lifecycle, outcomes
from deja_tui.engine.conformance.filling import ANA, DAY, NOW, FiveOnly, calls, check, draft, fact, plant
from deja_tui.engine.operations import Add
from deja_tui.engine.substrate import NewGrain, StoredGrain, Substrate

SPACES: Final[list[Sequence[str] | None]] = [None, ["shared"], ["other", "shared"], ["nowhere"], []]


def busy(substrate: Substrate) -> str:
    """Calls of some tools, facts of one key in every state, skills, a document, and a lesson that was applied at `NOW`;
    the address of its recommendation."""
    for number, (tool, result, error) in enumerate(
        (("t", "boom", True), ("t", "Boom 7", True), ("t", "kaput", True), ("t", "ok", False), ("u", "boom", True))
    ):  # fmt: skip
        calls(substrate, tool, result, 2, error=error, at=NOW - (2 + 9 * number) * DAY)
    calls(substrate, "t", "boom", 1, at=NOW - DAY, n=1, status="pending")
    calls(substrate, "t", "boom", 1, at=NOW - DAY, n=2, namespace="agent:x")
    old = fact(substrate, "acme", "tier", "gold", NOW - 50 * DAY)
    new = fact(substrate, "ACME", " Tier", "silver", NOW - 40 * DAY)
    substrate.mark(old, "retire", new)
    fact(substrate, "acme", "tier", "bronze", NOW - 3 * DAY, namespace="other")
    fact(substrate, "/memories/notes.md", "memory_file", "v:1", NOW - 60 * DAY)
    for number in range(6):
        content = {"name": f"skill {number}", "description": "x", "practice_count": 9, "proficiency": 0.1}
        space = "other" if number % 2 else "shared"
        address = substrate.put(NewGrain("skill", space, NOW - number * DAY, content)).address
        if number == 3:
            substrate.mark(address, "hide")
    lesson = Add("fact", "shared", {"subject": "t", "relation": "fails_with", "object": "boom"})
    metric = {
        "metric": "tool_error_recurrence",
        "subject": "t",
        "relation": "boom",
        "horizons_ms": [DAY, 7 * DAY],
    }
    told = plant(substrate, draft([lesson], [new], metric=metric), at=NOW - 1)
    lifecycle.approve(substrate, told, "seen", ANA, NOW)
    lifecycle.apply(substrate, told, "seen", ANA, NOW)
    return told


def _shown(found: Any) -> Any:
    """Grains by their address, sets sorted, everything else as it is."""
    if isinstance(found, views.ColdFacts):
        return found.namespace, found.total, _shown(found.oldest)
    if isinstance(found, frozenset):
        return sorted(found)
    if isinstance(found, Iterable) and not isinstance(found, views.ToolSpan):
        return [_shown(one) for one in found]
    return found.address if hasattr(found, "address") else found


def _same(substrate: Substrate, name: str, *args: Any) -> Any:
    view = getattr(views, name)
    mine, default = (_shown(view(one, *args)) for one in (substrate, FiveOnly(substrate)))
    assert mine == default, f"{name}{args}: {mine} is not {default}"
    return mine


@check
def tool_span_is_its_default(substrate: Substrate) -> None:
    """Failures and calls of one tool inside (after, until], and its first call ever."""
    busy(substrate)
    for tool in ("t", "u", "nobody"):
        for signature in ("boom", "kaput", "unheard of", None):
            for begin, end in ((0, NOW), (NOW - 12 * DAY, NOW - 2 * DAY), (NOW, NOW), (NOW - 3 * DAY, NOW + DAY)):  # fmt: skip
                _same(substrate, "tool_span", tool, signature, begin, end)
    assert views.tool_span(substrate, "t", "boom", 0, NOW).errors == 2


@check
def facts_under_is_its_default(substrate: Substrate) -> None:
    """Every fact of a key in any spelling, live or not."""
    busy(substrate)
    for space in ("shared", "other", "nowhere"):
        for subject in ("acme", "Acme ", "nobody"):
            _same(substrate, "facts_under", space, subject, "TIER")
    assert len(views.facts_under(substrate, "shared", "acme", "tier")) == 2
    assert _same(substrate, "earliest_fact") == NOW - 60 * DAY


@check
def live_grains_is_its_default(substrate: Substrate) -> None:
    """The live ones of a type; after a position at least those that arrived or became live again since."""
    busy(substrate)
    for spaces in SPACES:
        _same(substrate, "live_grains", "skill", spaces)
    every: list[StoredGrain] = list(views.live_grains(substrate, "skill"))
    assert len(every) == 5
    hidden = next(grain for grain in substrate.scan("skill") if not grain.live)
    substrate.mark(hidden.address, "reopen")
    newer = {grain.address for grain in views.live_grains(substrate, "skill", None, every[-2].seq)}
    assert newer >= {every[-1].address, hidden.address}


@check
def cold_facts_is_its_default(substrate: Substrate) -> None:
    """Counts and the oldest by namespace, without what is warm; what an apply wrote, and documents, can be told apart."""
    busy(substrate)
    warm = [bytes.fromhex(grain.address) for grain in views.live_grains(substrate, "fact")][:1]
    for spaces in SPACES:
        for before in (NOW, NOW - 30 * DAY, 0):
            _same(substrate, "cold_facts", before, [], spaces, 2)
            _same(substrate, "cold_facts", before, warm, spaces, 2)
        _same(substrate, "documents", spaces)
    assert len(_same(substrate, "engine_written")) == len(views.documents(substrate)) == 1


@check
def outcomes_are_counted_over_equal_spans_once(substrate: Substrate) -> None:
    """Each horizon at the first run after it, over exactly its span; what is recorded is read back and not measured again."""
    told = busy(substrate)
    for at in (NOW + 1, NOW + DAY, NOW + DAY + 1):
        calls(substrate, "t", "boom", 1, at=at, n=3)
    assert outcomes.measure(substrate, NOW + DAY - 1) == []
    (day,) = outcomes.measure(substrate, NOW + DAY)
    assert (day.recommendation, day.before, day.after) == (told, 0, 2)
    outcomes.record(substrate, [day], NOW + DAY)
    (week,) = outcomes.measure(substrate, NOW + 90 * DAY)
    assert (week.horizon_ms, week.before, week.after, week.verdict) == (7 * DAY, 2, 3, "higher")
    outcomes.record(substrate, [week], NOW + 90 * DAY)
    assert outcomes.measure(substrate, NOW + 91 * DAY) == []
    assert [one.horizon_ms for one in outcomes.of(substrate, told)] == [DAY, 7 * DAY]
    assert len(_same(substrate, "outcome_grains", 0)) == 2
    assert _same(substrate, "outcome_grains", NOW + 91 * DAY) == []
