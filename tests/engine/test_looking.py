# SPDX-License-Identifier: Apache-2.0
"""What a run lets its analyzers see: only what is new where that is enough, everything where it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import RunOptions, lifecycle, run, views
from deja_tui.engine.analyzer import Context, Manifest, Param
from deja_tui.engine.config import AnalyzerConfig
from deja_tui.engine.draft import Draft
from deja_tui.engine.objects import Activation, RunOutcome
from deja_tui.engine.policy import from_plain
from deja_tui.engine.substrate import NewGrain, Substrate
from deja_tui.reference import ReferenceSubstrate
from deja_tui.store.memory import Store
from tests.engine.helpers import ANA, draft, fact, statuses
from tests.support import DAY, NOW

NAME = "test.watch/1"


class Watch:
    """Notes from where on it is asked to look, and finds whatever fact it sees of one subject."""

    def __init__(self) -> None:
        self.since: list[int] = []
        self.spends = 0
        self.manifest = Manifest(
            id=NAME, title="t", description="d", tier="T0", params=(Param("limit", "int", 3, 1, 9),)
        )

    def analyze(self, ctx: Context) -> Iterable[Draft]:
        self.since.append(ctx.watermark)
        if ctx.watermark:
            ctx.looked_in_part()
        for grain in ctx.read.scan("fact", None, ctx.watermark):
            if grain.live and grain.get("subject") == "watched":
                target = f"entity:shared/watched#{grain.get('relation')}"
                yield draft([], [grain.address], target_ref=target, newest_evidence=grain.seq)
        if self.spends:
            ctx.reached(7)
            ctx.spend(self.spends)

    def probe(self, ctx: Context) -> Activation:
        return Activation("quiet")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[StoreSubstrate]:
    with Store.open(tmp_path / "a.deja", clock=lambda: NOW) as store:
        yield StoreSubstrate(store)


@pytest.fixture
def watch() -> Watch:
    return Watch()


def go(substrate: Substrate, watch: Watch, now: int = NOW, **options: Any) -> RunOutcome:
    return run(substrate, RunOptions(analyzers=(watch,), **options), now)


def here(substrate: Substrate) -> int:
    return views.position(substrate).seq


def settled(substrate: StoreSubstrate, watch: Watch) -> int:
    """A memory with one open finding and nothing new; where the watermark stands."""
    fact(substrate, "watched", "one", "x")
    go(substrate, watch)
    go(substrate, watch, NOW + 1)
    assert watch.since == [0, here(substrate)]
    watch.since.clear()
    return here(substrate)


# --- from where on -----------------------------------------------------------------------------------


def test_what_was_looked_at_is_not_looked_at_again(memory: StoreSubstrate, watch: Watch) -> None:
    """New findings come, and what is open stays open, although it was not found again."""
    mark = settled(memory, watch)
    fact(memory, "watched", "two", "x")
    outcome = go(memory, watch, NOW + 2)
    assert (watch.since, outcome.stored, outcome.closed) == ([mark], 1, 0)
    assert sorted(statuses(memory).values()) == ["pending", "pending"]


@pytest.mark.parametrize(
    ("told", "options"),
    [
        ("a parameter", {"config": {NAME: AnalyzerConfig(params={"limit": 4})}}),
        ("a floor of the file or a flag", {"config": {NAME: AnalyzerConfig(severity_floor="low")}}),
        ("namespaces", {"config": {NAME: AnalyzerConfig(namespaces=("shared", "other"))}}),
        ("a floor of the host", {"policy": from_plain({"severity_floors": {"test.watch": "low"}})}),
        ("a full sweep", {"full": True}),
        ("a restricted run", {"only": (NAME,)}),
        ("restricted namespaces", {"namespaces": ("shared",)}),
        ("a dry run", {"dry_run": True}),
    ],
)
def test_everything_is_looked_at_where_something_else_is_asked(
    memory: StoreSubstrate, watch: Watch, told: str, options: dict[str, Any]
) -> None:
    """What an analyzer was told decides what it finds, so what it saw before is no answer to something else."""
    settled(memory, watch)
    go(memory, watch, NOW + 2, **options)
    assert watch.since == [0], told


def supersede(memory: StoreSubstrate, address: str) -> None:
    memory.supersede(
        address, NewGrain("fact", "shared", NOW, {"subject": "other", "relation": "r", "object": "o"})
    )


CHANGES: dict[str, Callable[[StoreSubstrate, str], None]] = {
    "superseded": supersede,
    "hidden": lambda memory, address: memory.mark(address, "hide"),
    "retired": lambda memory, address: memory.mark(address, "retire", fact(memory, "a", "b", "c")),
    "forgotten": lambda memory, address: memory.forget(address),
}


@pytest.mark.parametrize("how", CHANGES)
def test_everything_is_looked_at_when_what_is_cited_has_changed(
    memory: StoreSubstrate, watch: Watch, how: str
) -> None:
    """A finding that no longer holds closes at the next run, however its evidence went."""
    cited = fact(memory, "watched", "one", "x")
    go(memory, watch)
    CHANGES[how](memory, cited)
    watch.since.clear()
    outcome = go(memory, watch, NOW + 1)
    assert (watch.since, outcome.closed) == ([0], 1)
    go(memory, watch, NOW + 2)
    assert watch.since[1] > 0, "and once is enough"


def test_a_change_that_nothing_open_cites_disturbs_nobody(memory: StoreSubstrate, watch: Watch) -> None:
    """The cost of a run follows what happened to its own findings."""
    other = fact(memory, "other", "one", "x")
    settled(memory, watch)
    memory.mark(other, "hide")
    go(memory, watch, NOW + 2)
    assert watch.since[0] > 0


def test_a_forgotten_grain_makes_everybody_look(memory: StoreSubstrate, watch: Watch) -> None:
    """What quoted it is gone with it (D31), so nobody can say whose finding it was."""
    other = fact(memory, "other", "one", "x")
    settled(memory, watch)
    memory.forget(other)
    go(memory, watch, NOW + 2)
    assert watch.since == [0]


def test_a_finding_returns_at_the_end_of_its_cooldown(memory: StoreSubstrate, watch: Watch) -> None:
    """D26: exactly then, although nothing is new."""
    fact(memory, "watched", "one", "x")
    go(memory, watch)
    lifecycle.reject(memory, views.ledger(memory, ("pending",))[0].address, "no", ANA, NOW)
    early = go(memory, watch, NOW + 7 * DAY - 1)
    assert (early.stored, watch.since[1] > 0) == (0, True)
    assert go(memory, watch, NOW + 7 * DAY).stored == 1


def test_a_clock_that_went_back_looks_at_everything(memory: StoreSubstrate, watch: Watch) -> None:
    """A watermark of tomorrow says nothing about today."""
    settled(memory, watch)
    go(memory, watch, NOW - DAY)
    assert watch.since == [0]


def test_a_memory_that_keeps_no_log_is_looked_at_whole() -> None:
    """D10: a substrate without the capability costs more and misses nothing."""
    substrate, watch = ReferenceSubstrate(), Watch()
    cited = fact(substrate, "watched", "one", "x")
    go(substrate, watch)
    substrate.mark(cited, "hide")
    assert go(substrate, watch, NOW + 1).closed == 1
    assert watch.since == [0, 0]


# --- budget ------------------------------------------------------------------------------------------


def test_a_spent_budget_resumes_where_it_came_to(memory: StoreSubstrate, watch: Watch) -> None:
    """D29: skipped with the reason ``budget``; what was found is kept, nothing closes, the next run goes on from there."""
    for n in range(9):
        fact(memory, "watched", f"r{n}", "x")
    watch.spends = 11
    outcome = go(memory, watch, work_budget=10)
    assert [one.reason for one in outcome.analyzers_skipped if one.id == NAME] == ["budget"]
    assert (outcome.stored, outcome.closed, NAME in outcome.analyzers_run) == (9, 0, False)
    watch.spends = 0
    go(memory, watch, NOW + 1)
    assert watch.since == [0, 7]


def test_findings_beyond_what_fits_one_run_come_with_the_next(memory: StoreSubstrate, watch: Watch) -> None:
    """A first contact floods no queue: the rest is counted as ``budget``, and its analyzer looks again."""
    for n in range(9):
        fact(memory, "watched", f"r{n}", "x")
    stored, reasons = [], []
    for run_ in range(4):
        outcome = go(memory, watch, NOW + run_, max_stored=4)
        stored.append(outcome.stored)
        reasons.append(outcome.dropped.get("budget", 0))
        assert outcome.closed == 0
    assert (stored, reasons) == ([4, 4, 1, 0], [5, 1, 0, 0])
    assert len(statuses(memory)) == 9


# --- telling -----------------------------------------------------------------------------------------


def test_every_draft_that_stays_out_is_told_with_its_reason(memory: StoreSubstrate, watch: Watch) -> None:
    """PLACE-1: counted by reason, and one by one with what holds it and until when."""
    for name in ("open", "rejected"):
        fact(memory, "watched", name, "x")
    go(memory, watch)
    rows = {row.target_ref.rsplit("#", 1)[1]: row.address for row in views.ledger(memory)}
    lifecycle.reject(memory, rows["rejected"], "no", ANA, NOW)
    outcome = go(memory, watch, NOW + 1, full=True)
    told = {one.target_ref.rsplit("#", 1)[1]: one for one in outcome.drops if one.analyzer == NAME}
    assert (told["open"].reason, told["open"].held_by) == ("open", rows["open"])
    assert (told["rejected"].reason, told["rejected"].until) == ("cooling", NOW + 7 * DAY)
    assert outcome.deduped == sum(outcome.dropped.values()) == len(outcome.drops) == 2


def test_a_list_of_drops_stays_readable(memory: StoreSubstrate, watch: Watch) -> None:
    """PLACE-1: all are counted, the first 200 are told."""
    for n in range(230):
        fact(memory, "watched", f"r{n}", "x")
    go(memory, watch)
    outcome = go(memory, watch, NOW + 1, full=True)
    assert (outcome.dropped["open"], len(outcome.drops)) == (230, 200)


def test_each_analyzer_that_falls_out_says_why_in_a_state(memory: StoreSubstrate, watch: Watch) -> None:
    """LOOK-1: denied, switched off, without a capability, failed, told nonsense: each costs only its own findings."""
    fact(memory, "watched", "one", "x")

    def state(options: dict[str, Any], **manifest: Any) -> tuple[str, str]:
        other = Watch()
        other.manifest = replace(other.manifest, **manifest)
        if options.pop("fails", False):
            other.analyze = failing  # type: ignore[method-assign]
        outcome = run(memory, RunOptions(analyzers=(other,), dry_run=True, **options), NOW)
        assert len(outcome.analyzers_run) >= 5, "the others ran"
        reason = next((one.reason for one in outcome.analyzers_skipped if one.id == NAME), "")
        return reason, outcome.activations[NAME].state

    assert state({}) == ("", "active")
    assert state({"policy": from_plain({"deny": [NAME]})}) == ("denied by the host's policy", "disabled")
    assert state({"config": {NAME: AnalyzerConfig(enabled=False)}}) == ("disabled", "disabled")
    assert state({}, default_on=False) == ("disabled", "disabled")
    assert state({}, requires=("embeddings",)) == ("missing embeddings: not in this version", "missing")
    assert state({"fails": True}) == ("LOP-E030 failed: ZeroDivisionError", "failed")
    reason, found = state({"config": {NAME: AnalyzerConfig(params={"limit": 99})}})
    assert (reason.split()[0], found) == ("LOP-E031", "failed")


def failing(ctx: Context) -> Iterable[Draft]:
    raise ZeroDivisionError


def test_looking_writes_nothing(memory: StoreSubstrate, watch: Watch) -> None:
    """LOOK-2: a dry run, which is all of it, leaves the file byte for byte."""
    fact(memory, "watched", "one", "x")
    before = memory._store.change_token()
    assert go(memory, watch, dry_run=True).proposed == 1
    assert memory._store.change_token() == before
