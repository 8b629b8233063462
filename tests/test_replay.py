# SPDX-License-Identifier: Apache-2.0
"""Replay (REP-1 to REP-3): the past as it was, by arrival, undo and all; what was decided beside it; and no byte written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deja_tui import Memory
from deja_tui.engine.substrate import NewGrain
from deja_tui.present.replay import lines
from deja_tui.replay import NO_PAST, Then, times_of
from deja_tui.store.past import past
from tests.cli.conftest import Deja, deja  # noqa: F401
from tests.engine.helpers import refused
from tests.support import DAY, NOW

ANALYZERS = ("loop.tool_failure/1", "loop.duplicate_sweep/1")


class Hand:
    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Hand:
    return Hand(NOW - 60 * DAY)


@pytest.fixture
def memory(tmp_path: Path, clock: Hand) -> Iterator[Memory]:
    with Memory.open(tmp_path / "a.deja", clock=clock, actor="user:ana") as opened:
        yield opened


def call(memory: Memory, clock: Hand, tool: str, times: int, *, error: bool = True) -> None:
    for n in range(times):
        clock.now += 60_000
        memory.record_tool_call(tool, "boom" if error else "ok", error, call_id=f"{tool}-{clock.now}-{n}")


def digest(path: Path) -> dict[str, str]:
    """Every file of the memory, but for the index of the write-ahead log, which readers share, and an empty log."""
    return {
        one.name: hashlib.sha256(one.read_bytes()).hexdigest()
        for one in sorted(path.parent.iterdir())
        if not one.name.endswith("-shm") and one.stat().st_size
    }


def by_tool(found: Any) -> dict[str, Any]:
    return {one.target_ref.split("#")[0].removeprefix("entity:lessons/"): one for one in found}


# --- the past ----------------------------------------------------------------------------------------


def test_the_past_is_what_had_arrived(memory: Memory, clock: Hand) -> None:
    """By arrival, whatever a grain says of its own time; live and superseded as they were then, an undo included."""
    one = memory.add_fact("a", "b", "one")
    clock.now += DAY
    two = memory.supersede(one, {"object": "two"})
    clock.now += DAY
    backdated = memory.add(
        "fact", {"subject": "a", "relation": "b", "object": "old", "created_at": NOW - 400 * DAY}
    )
    clock.now += DAY
    memory.retire(backdated, by=two, reason="same")
    read = past(memory.store.reading())

    def at(days: float) -> dict[str, tuple[bool, str | None]]:
        then = Then(read, NOW - 60 * DAY + int(days * DAY))
        return {grain.address: (grain.live, grain.superseded_by) for grain in then.scan("fact")}

    assert at(-1) == {}
    assert at(0.5) == {one: (True, None)}
    assert at(1.5) == {one: (False, two), two: (True, None)}
    assert at(2.5) == {one: (False, two), two: (True, None), backdated: (True, None)}
    assert at(3.5) == {one: (False, two), two: (True, None), backdated: (False, two)}


def test_an_undo_is_part_of_the_past(memory: Memory, clock: Hand) -> None:
    """Applied, then rolled back: three times, three answers (D2)."""
    first = memory.add_fact("acme", "likes", "tea")
    clock.now += 1
    second = memory.add_fact("acme", "likes", "Tea")
    memory.loop.run()
    (row,) = memory.loop.queue()
    clock.now += DAY
    memory.loop.approve_and_apply(row.address, because="same")
    clock.now += DAY
    memory.loop.rollback(row.address, because="they differ")
    read = past(memory.store.reading())
    start = NOW - 60 * DAY
    told = [
        [grain.live for grain in Then(read, start + int(days * DAY)).scan("fact")] for days in (0.5, 1.5, 2.5)
    ]
    assert told == [[True, True], [True, False], [True, True]]
    assert {first, second} == {grain.address for grain in Then(read, NOW).scan("fact")}


def test_forks_of_the_past(tmp_path: Path, clock: Hand) -> None:
    """Two copies change one fact; before the other's change came in there was none."""
    with (
        Memory.open(tmp_path / "a.deja", clock=clock) as here,
        Memory.open(tmp_path / "b.deja", clock=clock) as there,
    ):
        base = here.add_fact("a", "b", "base")
        here.bundle(tmp_path / "x.bundle")
        there.import_bundle(tmp_path / "x.bundle")
        clock.now += DAY
        mine = here.supersede(base, {"object": "mine"})
        clock.now += DAY
        theirs = there.supersede(base, {"object": "theirs"})
        there.bundle(tmp_path / "y.bundle")
        here.import_bundle(tmp_path / "y.bundle")
        read = past(here.store.reading())
        start = NOW - 60 * DAY
        assert Then(read, start + DAY + DAY // 2).forks(None) == []
        ((one, other),) = Then(read, start + 3 * DAY).forks(None)
        assert {one.address, other.address} == {mine, theirs}
        assert {tip.address for tips in [here.forks()[0].tips] for tip in tips} == {mine, theirs}


def test_a_past_memory_refuses_every_write(memory: Memory) -> None:
    """REP-1: whatever an analyzer or a helper tries."""
    address = memory.add_fact("a", "b", "c")
    then = Then(past(memory.store.reading()), NOW)
    grain = NewGrain("fact", "shared", NOW, {"subject": "x", "relation": "y", "object": "z"})
    for act in (
        lambda: then.put(grain), lambda: then.supersede(address, grain), lambda: then.mark(address, "hide"),
        lambda: then.set_setting("x", 1),
    ):  # fmt: skip
        with refused("LOP-E002"):
            act()


# --- replays -----------------------------------------------------------------------------------------


def lived(memory: Memory, clock: Hand) -> None:
    """Two months: one lesson applied, one finding rejected, one that lies below the default threshold."""
    call(memory, clock, "deploy", 5)
    memory.loop.run()
    clock.now += 60_000
    memory.loop.approve_and_apply(memory.loop.queue()[0].address, because="the timeouts are real")
    clock.now = NOW - 30 * DAY
    call(memory, clock, "lint", 4)
    memory.loop.run()
    memory.loop.reject(memory.loop.queue()[0].address, because="known «flake»")
    call(memory, clock, "fetch", 2)
    clock.now = NOW


def test_what_other_settings_would_have_proposed(memory: Memory, clock: Hand) -> None:
    """More with a lower threshold, fewer with a higher one, each beside its real decision."""
    lived(memory, clock)
    lower = memory.loop.replay({"tool_failure": {"min_count": 2}}, window_ms=70 * DAY, every_ms=5 * DAY)
    assert {name: one.was for name, one in by_tool(lower.added).items()} == {"fetch": None}
    assert {name: one.was for name, one in by_tool(lower.kept).items()} == {
        "deploy": "applied",
        "lint": "rejected",
    }
    assert (lower.gone, lower.unseen) == ((), 0)
    assert by_tool(lower.kept)["lint"].because == "known «flake»"
    assert by_tool(lower.kept)["deploy"].because == "the timeouts are real"
    higher = memory.loop.replay(
        {"loop.tool_failure/1": {"min_count": 5}}, window_ms=70 * DAY, every_ms=5 * DAY
    )
    assert {name: one.was for name, one in by_tool(higher.gone).items()} == {"lint": "rejected"}
    assert set(by_tool(higher.kept)) == {"deploy"}


def test_nothing_is_written(tmp_path: Path, clock: Hand) -> None:
    """REP-1: not one byte of any file, and nothing a later run could notice; also on a file opened for reading."""
    path = tmp_path / "a.deja"
    with Memory.open(path, clock=clock, actor="user:ana") as memory:
        lived(memory, clock)
    before = digest(path)
    with Memory.open(path, clock=clock, read_only=True) as memory:
        queue = memory.loop.queue(None)
        found = memory.loop.replay({"duplicate_sweep": {"jaccard": 0.5}, "tool_failure": {"min_count": 1}})
        assert found.findings
        memory.loop.replay()
        assert memory.loop.queue(None) == queue
    assert digest(path) == before


def test_counts_of_recalls_have_no_past(memory: Memory) -> None:
    """REP-2: the three that count recalls say so, with telemetry on, too."""
    memory.add_fact("a", "b", "c")
    told = {one.id: one.reason for one in memory.loop.replay().skipped}
    fed = {"loop.cold_grains/1", "loop.coverage_gap/1", "loop.budget_pressure/1"}
    assert {name for name, reason in told.items() if reason == NO_PAST} == fed


def test_a_replay_with_the_settings_in_force_adds_and_loses_nothing(memory: Memory, clock: Hand) -> None:
    """REP-3: the same identities; what the real runs stored is found at their times."""
    lived(memory, clock)
    found = memory.loop.replay(window_ms=70 * DAY, every_ms=DAY)
    assert (found.added, found.gone) == ((), ())
    assert {row.address for row in memory.loop.queue(None)} <= {one.address for one in found.kept}


def test_the_settings_of_the_file_are_the_ones_in_force(memory: Memory, clock: Hand) -> None:
    """A replay lays its own over them."""
    lived(memory, clock)
    memory.loop.configure("tool_failure", params={"min_count": 2}, because="try")
    found = memory.loop.replay({"tool_failure": {"min_rate": 0.5}}, window_ms=70 * DAY, every_ms=5 * DAY)
    assert set(by_tool(found.kept)) == {"deploy", "lint", "fetch"}
    assert (found.added, found.gone) == ((), ())


def test_an_analyzer_that_is_off_may_be_tried(memory: Memory, clock: Hand) -> None:
    """What it would have found is new."""
    memory.add("goal", {"description": "tidy up", "goal_state": "active", "progress": 0.0})
    clock.now = NOW
    found = memory.loop.replay(only=["goal_stagnation"])
    assert [one.analyzer for one in found.added] == ["loop.goal_stagnation/1"]
    assert memory.loop.replay().findings == ()


def test_what_lies_between_the_times_is_counted(memory: Memory, clock: Hand) -> None:
    """A real recommendation that none of the times shows is told, not lost."""
    lived(memory, clock)
    found = memory.loop.replay({"tool_failure": {}}, at=[NOW - 61 * DAY, NOW])
    assert (found.unseen, {name: one.was for name, one in by_tool(found.findings).items()}) == (
        1,
        {"lint": "rejected"},
    )


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"tool_failure": {"min_count": 0}}, "LOP-E031"), ({"tool_failure": {"nothing": 1}}, "LOP-E031"),
        ({"nobody": {}}, "LOP-E033"),
    ],
)  # fmt: skip
def test_settings_are_checked_first(memory: Memory, settings: Any, code: str) -> None:
    """Bounds and names are those of the manifests."""
    with refused(code):
        memory.loop.replay(settings)


@pytest.mark.parametrize(("window", "every"), [(-1, None), (90 * DAY, 0), (90 * DAY, -5), (90 * DAY, 1_000)])
def test_times_that_are_none(window: int, every: int | None) -> None:
    """LOP-E034: a replay looks at no more than 400 times."""
    with refused("LOP-E034"):
        times_of(NOW, window, every)


def test_times_end_now() -> None:
    """Seven by default; a window shorter than its step is one look."""
    assert times_of(NOW, 60 * DAY, None) == tuple(NOW - 10 * DAY * n for n in range(6, -1, -1))
    assert times_of(NOW, DAY, 2 * DAY) == (NOW,)
    assert times_of(5, DAY, None) == (5,)


def test_reading_is_enough_and_needed(tmp_path: Path, clock: Hand) -> None:
    """Right: read."""
    Memory.open(tmp_path / "a.deja", clock=clock).close()
    with Memory.open(tmp_path / "a.deja", clock=clock, scopes=["read"]) as memory:
        assert memory.loop.replay().findings == ()
    with Memory.open(tmp_path / "a.deja", clock=clock, scopes=["write"]) as memory, refused("LOP-E022"):
        memory.loop.replay()


# --- the verb ----------------------------------------------------------------------------------------


def test_the_verb(deja: Deja, tmp_path: Path, clock: Hand) -> None:  # noqa: F811
    """``deja loop replay --set … --window …``: text and JSON, and every file as it was."""
    path = tmp_path / "a.deja"
    with Memory.open(path, clock=clock, actor="user:ana") as memory:
        lived(memory, clock)
    before = digest(path)
    args = (
        "loop",
        "replay",
        "--db",
        path,
        "--set",
        "tool_failure.min_count=2",
        "--window",
        "70d",
        "--every",
        "5d",
    )
    text = deja(*args)
    assert text.code == 0, text.err
    told = text.out.splitlines()
    assert told[0].endswith(
        "17 times from 2025-12-22 09:00Z to 2026-03-02 09:00Z, 1 analyzer. Nothing was written."
    )
    assert "Only with these settings: 1, in truth 1 never proposed" in told
    assert "With both: 2, in truth 1 applied, 1 rejected" in told
    assert any("because «known \\xabflake\\xbb»" in line for line in told)
    found = deja(*args, "--format", "json").json
    assert [one["target_ref"].split("#")[0] for one in found["findings"] if not one["current"]] == [
        "entity:lessons/fetch"
    ]
    assert digest(path) == before
    assert deja("loop", "replay", "--db", path, "--at", "2026-01-15", "--at", "2026-02-01").out.startswith(
        "2 times from"
    )
    for bad in ("min_count=2", "tool_failure=2", ".x=1", "tool_failure.min_count"):
        assert deja("loop", "replay", "--db", path, "--set", bad).code == 64
    assert deja("loop", "replay", "--db", path, "--set", "tool_failure.min_count=x").code == 1
    assert deja("loop", "replay", "--db", path, "--every", "1s").code == 1


def test_hostile_text_of_the_past_is_safe(memory: Memory, clock: Hand) -> None:
    """Summaries and reasons are cleaned like everywhere."""
    for n in range(4):
        memory.record_tool_call("x\x1b[2J", "\x1b]0;owned\x07\u202e", True, call_id=str(n))
    memory.loop.run()
    memory.loop.reject(memory.loop.queue()[0].address, because="[@click=app.quit]\u2066")
    clock.now = NOW
    assert all(
        line.isprintable() for line in lines(memory.loop.replay(window_ms=70 * DAY, every_ms=DAY), 100)
    )
