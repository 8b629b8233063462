# SPDX-License-Identifier: Apache-2.0
"""Segments in a shared folder: pushing, following, arriving in pieces, damage, copies of copies, settings (INV-SEGMENT)."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deja_tui.store import bundles, segments
from deja_tui.store.memory import Store
from tests.store.helpers import Boom, Clock, add, everything, fact, fails, forget, refuses


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    folder = tmp_path / "hub"
    folder.mkdir()
    return folder


@pytest.fixture
def two(path: Path, store: Store, clock: Clock) -> Iterator[Store]:
    with Store.open(path.with_name("two.deja"), clock=clock) as opened:
        yield opened


def here(store: Store) -> set[str]:
    return {grain.address for grain in store.scan("fact")}


def folder_of(store: Store, hub: Path) -> Path:
    return hub / store.setting(segments.OWN_NAME)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- pushing and following --------------------------------------------------------------------------


def test_what_is_new_is_one_more_segment(store: Store, two: Store, hub: Path) -> None:
    """INV-SEGMENT-1: Segments follow each other; a push without news writes nothing; a follower ends with everything."""
    add(store, fact("a"))
    first = segments.push(store, hub)
    assert (first.segments, first.rows, first.renamed) == (1, 1, False)
    assert segments.push(store, hub).segments == 0
    add(store, fact("b"), fact("c"))
    assert segments.push(store, hub).rows == 2
    assert names(folder_of(store, hub)) == ["manifest.jsonl", "segment-00000001.mgb", "segment-00000002.mgb"]
    (followed,) = segments.pull(two, hub)
    assert (followed.segments, followed.applied, followed.waiting, followed.damaged) == (2, 3, "", False)
    assert here(two) == here(store)
    assert segments.pull(two, hub)[0].segments == 0
    assert two.verify(deep=True) == ()


def test_a_segment_is_a_bundle(store: Store, two: Store, hub: Path) -> None:
    """INV-SEGMENT-1: Any reader of bundles takes it; the manifest gives size and digest."""
    add(store, fact("a"))
    segments.push(store, hub)
    segment = folder_of(store, hub) / "segment-00000001.mgb"
    assert two.import_bundle(segment).added == 1
    (line,) = (folder_of(store, hub) / "manifest.jsonl").read_text().splitlines()
    assert json.loads(line)["bytes"] == segment.stat().st_size
    assert oct(segment.stat().st_mode)[-3:] == "600"


def test_a_long_log_is_cut_into_segments(store: Store, two: Store, hub: Path) -> None:
    """Each covers so many positions at most; together they are everything."""
    add(store, *(fact(f"s{n}") for n in range(10)))
    assert segments.push(store, hub, rows_each=4).segments == 3
    assert segments.pull(two, hub)[0].applied == 10


def test_two_copies_follow_each_other(store: Store, two: Store, hub: Path) -> None:
    """Each leaves its own folder alone; what came back is known; both end alike."""
    add(store, fact("a"))
    add(two, fact("b"))
    for _ in range(3):
        for copy in (store, two):
            segments.push(copy, hub)
            segments.pull(copy, hub)
    assert here(store) == here(two)
    before = everything(store), everything(two)
    assert [one.applied for copy in (store, two) for one in segments.pull(copy, hub)] == [0, 0]
    assert (everything(store), everything(two)) == before
    assert [segments.push(copy, hub).segments for copy in (store, two)] == [0, 0]


# --- any transport ----------------------------------------------------------------------------------


def test_a_clock_that_is_years_behind_loses_nothing(
    store: Store, clock: Clock, hub: Path, tmp_path: Path
) -> None:
    """INV-SEGMENT-3: a copy that woke up in 1970 refuses what lies ahead of it, says so, and takes it once its clock is right."""
    add(store, fact("a"), fact("b"))
    segments.push(store, hub)
    late = Clock(1_000)
    with Store.open(tmp_path / "late.deja", clock=late) as copy:
        (followed,) = segments.pull(copy, hub)
        assert (followed.applied, followed.refused, followed.damaged) == (0, 2, False)
        assert "clock here" in followed.waiting
        late.at = clock.at
        (followed,) = segments.pull(copy, hub)
        assert (followed.applied, followed.refused, followed.waiting) == (2, 0, "")
        assert here(copy) == here(store)


def test_what_has_not_arrived_whole_is_waited_for(
    store: Store, two: Store, hub: Path, tmp_path: Path
) -> None:
    """INV-SEGMENT-3: Files come in any order and in pieces: nothing is taken before it is whole, nothing after a gap."""
    for number in range(3):
        add(store, fact(f"s{number}"))
        segments.push(store, hub)
    mine = folder_of(store, hub)
    there = tmp_path / "mirror" / mine.name
    there.mkdir(parents=True)
    mirror = there.parent
    assert segments.pull(two, mirror)[0].segments == 0
    shutil.copy(mine / "manifest.jsonl", there)
    (waiting,) = segments.pull(two, mirror)
    assert (waiting.segments, waiting.damaged) == (0, False)
    assert "segment-00000001.mgb has not arrived whole" in waiting.waiting
    for name in ("segment-00000001.mgb", "segment-00000003.mgb"):
        shutil.copy(mine / name, there)
    data = (mine / "segment-00000002.mgb").read_bytes()
    (there / "segment-00000002.mgb").write_bytes(data[:20])
    (part,) = segments.pull(two, mirror)
    assert (part.segments, part.damaged) == (1, False)
    (there / "segment-00000002.mgb").write_bytes(data)
    assert segments.pull(two, mirror)[0].segments == 2
    assert here(two) == here(store)


def test_a_manifest_that_is_still_coming_is_no_damage(store: Store, two: Store, hub: Path) -> None:
    """Its torn last line is left for the next pull."""
    for number in range(2):
        add(store, fact(f"s{number}"))
        segments.push(store, hub)
    manifest = folder_of(store, hub) / "manifest.jsonl"
    whole = manifest.read_bytes()
    manifest.write_bytes(whole[:-20])
    (part,) = segments.pull(two, hub)
    assert (part.segments, part.waiting, part.damaged) == (1, "", False)
    manifest.write_bytes(whole)
    assert segments.pull(two, hub)[0].segments == 1


@pytest.mark.parametrize("what", ["segment", "longer", "manifest", "chain", "not json"])
def test_damage_stops_its_folder_and_is_told(
    store: Store, two: Store, hub: Path, clock: Clock, what: str
) -> None:
    """INV-SEGMENT-3: Nothing of a damaged segment is taken; the other folders are."""
    for number in range(2):
        add(store, fact(f"s{number}"))
        segments.push(store, hub)
    mine = folder_of(store, hub)
    manifest, segment = mine / "manifest.jsonl", mine / "segment-00000001.mgb"
    lines = manifest.read_text().splitlines(keepends=True)
    if what == "segment":
        data = bytearray(segment.read_bytes())
        data[-1] ^= 1
        segment.write_bytes(data)
    elif what == "longer":
        segment.write_bytes(segment.read_bytes() + b"\1")
    elif what == "manifest":
        manifest.write_text(lines[0].replace('"n": 1', '"n": 7') + lines[1])
    elif what == "chain":
        manifest.write_text(lines[1])
    else:
        manifest.write_text("hello\n" + lines[1])
    with Store.open(Path(store.path).with_name("three.deja"), clock=clock) as three:
        add(three, fact("three"))
        segments.push(three, hub)
    followed = {one.name: one for one in segments.pull(two, hub)}
    hurt = followed.pop(mine.name)
    assert (hurt.segments, hurt.damaged) == (0, True)
    assert hurt.waiting
    assert [(one.segments, one.damaged) for one in followed.values()] == [(1, False)]
    assert len(here(two)) == 1


def test_a_pull_that_dies_goes_on(
    store: Store, two: Store, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """INV-SEGMENT-2: Half way through a segment: the next pull has the rest, nothing twice."""
    add(store, *(fact(f"s{n}") for n in range(9)))
    segments.push(store, hub)
    monkeypatch.setattr(bundles, "_CHUNK_ROWS", 2)
    real, left = bundles.Arrivals.take, [5]

    def dying(self: Any, row: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Boom
        real(self, row)

    monkeypatch.setattr(bundles.Arrivals, "take", dying)
    with fails():
        segments.pull(two, hub)
    assert 0 < len(here(two)) < 9
    monkeypatch.setattr(bundles.Arrivals, "take", real)
    (rest,) = segments.pull(two, hub)
    assert (rest.segments, rest.applied) == (1, 9 - 4)
    assert here(two) == here(store)


def test_a_push_that_dies_goes_on(
    store: Store, two: Store, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """INV-SEGMENT-2: A segment without its line is written again; a torn line is cut off."""
    add(store, fact("a"))
    segments.push(store, hub)
    add(store, fact("b"))

    def stop(*_: object) -> None:
        raise Boom

    monkeypatch.setattr(segments, "append", stop)
    with fails():
        segments.push(store, hub)
    monkeypatch.undo()
    with (folder_of(store, hub) / "manifest.jsonl").open("ab") as file:
        file.write(b'{"n": 2, "byt')
    assert segments.push(store, hub).segments == 1
    assert segments.pull(two, hub)[0].segments == 2
    assert here(two) == here(store)


# --- copies of copies -------------------------------------------------------------------------------


def test_a_copied_file_pushes_under_a_name_of_its_own(
    store: Store, two: Store, hub: Path, clock: Clock
) -> None:
    """Both went on from one file: neither writes into the other's folder (INV-SEGMENT-4)."""
    add(store, fact("a"))
    segments.push(store, hub)
    copied = Path(store.path).with_name("copy.deja")
    with closing(sqlite3.connect(store.path)) as db:
        db.execute("VACUUM INTO ?", (str(copied),))
    add(store, fact("here"))
    segments.push(store, hub)
    with Store.open(copied, clock=clock) as copy:
        add(copy, fact("there"))
        pushed = segments.push(copy, hub)
        assert pushed.renamed
        assert pushed.name != folder_of(store, hub).name
        segments.pull(copy, hub)
        assert len(here(copy)) == 3
    assert sorted(one.segments for one in segments.pull(two, hub)) == [1, 2]
    assert len(here(two)) == 3


def test_a_damaged_manifest_of_ones_own_is_not_written_on(store: Store, two: Store, hub: Path) -> None:
    """What stands behind the damage could not be followed."""
    add(store, fact("a"))
    segments.push(store, hub)
    manifest = folder_of(store, hub) / "manifest.jsonl"
    manifest.write_text("broken\n" + manifest.read_text())
    assert segments.push(store, hub).renamed
    followed = segments.pull(two, hub)
    assert sorted((one.damaged, one.segments) for one in followed) == [(False, 1), (True, 0)]


def test_a_folder_written_anew_is_read_from_its_start(store: Store, two: Store, hub: Path) -> None:
    """The cursor of a follower belongs to the rows it read; what it knows is skipped."""
    add(store, fact("a"), fact("b"))
    segments.push(store, hub, rows_each=1)
    segments.pull(two, hub)
    mine = folder_of(store, hub)
    shutil.rmtree(mine)
    segments.push(store, hub)
    (followed,) = segments.pull(two, hub)
    assert (followed.segments, followed.applied, followed.damaged) == (1, 0, False)


def test_fresh_segments_hold_nothing_that_was_forgotten(store: Store, two: Store, hub: Path) -> None:
    """The former folder goes, with nothing in it that a push has not written; followers hear of the erasure."""
    secret, _ = add(store, fact("secret-zebra"), fact("b"))
    segments.push(store, hub)
    segments.pull(two, hub)
    former = folder_of(store, hub)
    (former / "mine.txt").write_text("not a segment")
    forget(store, secret)
    segments.push(store, hub)
    assert any(b"zebra" in path.read_bytes() for path in hub.rglob("*.mgb"))
    pushed = segments.push(store, hub, fresh=True)
    assert not any(b"zebra" in path.read_bytes() for path in hub.rglob("*.mgb"))
    assert names(former) == ["mine.txt"]
    assert pushed.name != former.name
    segments.pull(two, hub)
    assert here(two) == here(store)


def test_folders_that_are_none_are_left_alone(store: Store, two: Store, hub: Path) -> None:
    """Only names that a push gives; a missing or closed folder is a coded error."""
    (hub / "notes").mkdir()
    (hub / "0123456789abcdef").write_text("a file")
    assert segments.pull(two, hub) == ()
    for act in (segments.push, segments.pull):
        with refuses("STO-E008"):
            act(store, hub / "none")
    if os.geteuid():
        hub.chmod(0o500)
        with refuses("STO-E008"):
            segments.push(store, hub)
        hub.chmod(0o700)


# --- settings (D5) ----------------------------------------------------------------------------------


def put(store: Store, key: str, value: Any, source: str = "local") -> None:
    with store.act() as act:
        act.set_setting(key, value, source=source)


def test_settings_that_restrict_travel_and_are_stamped(store: Store, two: Store, hub: Path) -> None:
    """INV-SEGMENT-5: Saved queries and templates, analyzers switched off, cooldowns; nothing else."""
    query = {"body": "RECALL facts", "parameters": []}
    put(store, "cal.query:mine", query)
    put(store, "loop.analyzer:loop.x/1", {"enabled": False})
    put(store, "loop.analyzer:loop.y/1", {"enabled": True})
    put(store, "loop.cooldown:" + "0" * 64, 5)
    put(store, "loop.watermark.x", {"seq": 1})
    assert segments.push(store, hub).settings == 3
    assert segments.pull(two, hub)[0].settings == 3
    assert two.setting("cal.query:mine") == query
    assert two.setting("loop.analyzer:loop.x/1") == {"enabled": False}
    assert two.setting("loop.analyzer:loop.y/1") is None
    assert two.setting("loop.watermark.x") is None
    (row,) = two.reading().execute("SELECT source FROM setting WHERE key = 'cal.query:mine'")
    assert row == ("sync",)
    assert segments.pull(two, hub)[0].settings == 0


def test_a_local_setting_is_never_overwritten(store: Store, two: Store, hub: Path, clock: Clock) -> None:
    """INV-SEGMENT-5: One that came may be replaced by a later one that comes."""
    put(store, "cal.query:mine", {"body": "theirs"})
    put(two, "cal.query:mine", {"body": "ours"})
    put(store, "cal.query:other", {"body": "first"})
    segments.push(store, hub)
    assert segments.pull(two, hub)[0].settings == 1
    clock.at += 60_000
    put(store, "cal.query:other", {"body": "second"})
    segments.push(store, hub)
    assert segments.pull(two, hub)[0].settings == 1
    assert two.settings("cal.query:") == {
        "cal.query:mine": {"body": "ours"},
        "cal.query:other": {"body": "second"},
    }


def test_of_two_settings_that_come_the_later_one_holds_whatever_the_clock_here_says(
    store: Store, hub: Path, tmp_path: Path, clock: Clock
) -> None:
    """INV-SEGMENT-5: a follower whose clock is ahead still takes the next one; an older one that comes late is passed over."""
    with Store.open(tmp_path / "ahead.deja", clock=Clock(clock.at + 3_600_000)) as ahead:
        put(store, "cal.query:q", {"body": "first"})
        segments.push(store, hub)
        segments.pull(ahead, hub)
        old = (folder_of(store, hub) / "settings.jsonl").read_bytes()
        clock.at += 1_000
        put(store, "cal.query:q", {"body": "second"})
        segments.push(store, hub)
        assert segments.pull(ahead, hub)[0].settings == 1
        assert ahead.setting("cal.query:q") == {"body": "second"}
        (folder_of(store, hub) / "settings.jsonl").write_bytes(old)
        assert segments.pull(ahead, hub)[0].settings == 0
        far = b'{"hlc": 9223372036854775807, "key": "cal.query:far", "value": {"body": "x"}}\n'
        (folder_of(store, hub) / "settings.jsonl").write_bytes(far)
        assert segments.pull(ahead, hub)[0].settings == 0
        assert ahead.setting("cal.query:far") is None


def test_settings_made_by_a_stranger_are_read_with_care(store: Store, two: Store, hub: Path) -> None:
    """Lines that are no settings, and values that would allow something, are passed over."""
    add(store, fact())
    segments.push(store, hub)
    lines = [
        "not json",
        "[]",
        '{"key": 7, "value": {}, "hlc": 1}',
        '{"key": "loop.analyzer:a", "value": {"enabled": true}, "hlc": 1}',
        '{"key": "loop.analyzer:a", "value": {"enabled": false, "min": 0}, "hlc": 1}',
        '{"key": "loop.lease", "value": {"until": 99999999999999}, "hlc": 1}',
        '{"key": "cal.query:q", "value": "text", "hlc": 1}',
        '{"key": "cal.query:r", "value": {}, "hlc": "late"}',
    ]
    (folder_of(store, hub) / "settings.jsonl").write_text("\n".join(lines))
    assert segments.pull(two, hub)[0].settings == 0
    assert [key for key in two.settings() if not key.startswith("segments.")] == []
    (folder_of(store, hub) / "settings.jsonl").write_bytes(b"x" * 2_000_000)
    assert segments.pull(two, hub)[0].settings == 0
