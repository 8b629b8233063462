# SPDX-License-Identifier: Apache-2.0
"""Bundles: the container byte for byte, what a damaged one does, interruption, and the reference product's sample."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from deja_tui.store import bundles
from deja_tui.store.codec import encode
from deja_tui.store.memory import Store
from tests.store.helpers import Boom, Clock, add, everything, fact, fails, forget, note, refuses, run
from tests.store.rows import ADD, FORGET, SUPERSEDE, Row, packed, row, unpacked, write
from tests.support import DAY, NOW, shared

HLC = NOW << 16


@pytest.fixture
def sample() -> tuple[Path, dict[str, Any]]:
    return shared("vectors/sample.bundle"), json.loads(shared("vectors/sample.bundle.json").read_text())


def other(path: Path, clock: Clock) -> Store:
    """Another copy."""
    return Store.open(path.with_name("other.deja"), clock=clock)


# --- the sample of the reference product ------------------------------------------------------------


def test_the_sample_has_the_contents_of_its_key(store: Store, sample: tuple[Path, dict[str, Any]]) -> None:
    """Every grain with its bytes, who superseded whom, what is current, and the explicit forks (D3)."""
    path, key = sample
    report = store.import_bundle(path)
    assert (report.complete, report.refused, report.rows) == (True, 0, key["summary"]["ops"])
    assert report.added == key["summary"]["distinct_grains_with_bytes"]
    for told in unpacked(path.read_bytes()):
        if told.blob:
            assert store.blob(told.digest.hex()) == told.blob
    for told in key["replica"]["supersession"]:
        grain = store.get(told["hash"])
        assert grain is not None
        assert (grain.live, grain.superseded_by) == (told["live"], told["superseded_by"])
        assert grain.imported
    for told in key["replica"]["entity_latest"]:
        latest = store.latest(told["ns"], told["subject"], told["relation"])
        assert latest is not None
        assert latest.address == told["hash"]
    assert store.stats()["grains"] == key["replica"]["stats"]["grains"]
    assert store.verify(deep=True) == ()


def test_its_explicit_forks_and_no_others(store: Store, sample: tuple[Path, dict[str, Any]]) -> None:
    """Two adds to one key are two heads; three forks were left open, one was merged."""
    path, key = sample
    store.import_bundle(path)
    explicit = list(key["source"]["open_forks"])
    found = [
        {
            "namespace": fork.namespace,
            "subject": fork.subject,
            "relation": fork.relation,
            "heads": [tip.address for tip in fork.tips],
        }
        for fork in store.forks()
    ]
    assert found == sorted(explicit, key=lambda fork: str(fork["subject"]))


def test_a_second_import_changes_nothing(store: Store, sample: tuple[Path, dict[str, Any]]) -> None:
    """INV-BUNDLE-5, INV-ARRIVE-2: Open forks included: the reference product applies those again each time."""
    path, _ = sample
    store.import_bundle(path)
    before = everything(store)
    again = store.import_bundle(path)
    assert (again.applied, again.skipped) == (0, again.rows)
    assert everything(store) == before


def test_what_came_goes_on_unchanged(
    store: Store, sample: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """The bundle written from the import has the same rows in the same order, but for grains that never came."""
    path, _ = sample
    store.import_bundle(path)
    store.bundle(tmp_path / "out.mgb")
    gone = {told.digest for told in unpacked(path.read_bytes()) if told.op == FORGET}
    expected = [told for told in unpacked(path.read_bytes()) if told.op == FORGET or told.digest not in gone]
    assert unpacked((tmp_path / "out.mgb").read_bytes()) == expected


# --- the container ----------------------------------------------------------------------------------


def test_a_bundle_is_these_bytes(store: Store, tmp_path: Path) -> None:
    """INV-BUNDLE-1: Magic, then op, clock, address, length, blob; a supersession has two rows, a grain that is gone no bytes."""
    with store.act() as act:
        first = act.add(fact())
        second = act.supersede(first.address, fact(object="rum"))
        third = act.add(fact("bob"))
        act.mark(third.address, "retire", second.address)
    forget(store, first.address)
    written = store.bundle(tmp_path / "a.mgb")
    new, bob = store.blob(second.address), store.blob(third.address)
    assert new is not None
    assert bob is not None
    clocks = [entry.hlc for entry in store.log() if entry.kind != "retire"]
    assert (tmp_path / "a.mgb").read_bytes() == packed(
        [
            row(ADD, clocks[0], address=first.address),
            row(ADD, clocks[1], new),
            row(SUPERSEDE, clocks[2], new),
            row(ADD, clocks[3], bob),
            row(FORGET, clocks[4], address=first.address),
        ]
    )
    assert (written.rows, written.bytes) == (5, (tmp_path / "a.mgb").stat().st_size)
    assert written.last_seq == [entry.seq for entry in store.log()][-1]


def test_since_takes_up_where_the_last_one_ended(store: Store, tmp_path: Path) -> None:
    """The answer of one bundle is the start of the next; an empty one is its magic."""
    add(store, fact("a"), fact("b"))
    first = store.bundle(tmp_path / "a.mgb")
    add(store, fact("c"))
    second = store.bundle(tmp_path / "b.mgb", since=first.last_seq)
    assert (first.rows, second.rows) == (2, 1)
    third = store.bundle(tmp_path / "c.mgb", since=second.last_seq)
    assert (third.rows, third.last_seq) == (0, second.last_seq)
    assert (tmp_path / "c.mgb").read_bytes() == b"MGB1"
    assert store.bundle(tmp_path / "c.mgb", since=99).last_seq == 99


def test_a_bundle_appears_whole_or_not_at_all(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """INV-BUNDLE-2: A failure half way leaves what lay there, and no litter; anything but a bundle is left alone."""
    add(store, fact())
    target = tmp_path / "b.mgb"
    store.bundle(target)
    before = target.read_bytes()
    names = sorted(path.name for path in tmp_path.iterdir())

    def stop(*_: object) -> None:
        raise Boom

    add(store, fact("bob"))
    monkeypatch.setattr(bundles.os, "fsync", stop)
    with fails():
        store.bundle(target)
    monkeypatch.undo()
    assert target.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert oct(target.stat().st_mode)[-3:] == "600"
    (tmp_path / "mine").write_text("mine")
    for name in ("mine", "memory.deja", "."):
        with refuses("STO-E011"):
            store.bundle(tmp_path / name)
    with refuses("STO-E008"):
        store.bundle(tmp_path / "no" / "b.mgb")


# --- damage -----------------------------------------------------------------------------------------


def three(tmp_path: Path) -> tuple[Path, list[Row]]:
    told = [row(ADD, HLC + n, encode(fact(f"s{n}"))) for n in range(3)]
    return write(tmp_path / "three.mgb", told), told


def test_a_cut_anywhere_is_taken_up_to_the_row_it_is_in(path: Path, clock: Clock, tmp_path: Path) -> None:
    """Cut at every byte of the last row: the rows before are there, the rest comes when the file is whole."""
    bundle, told = three(tmp_path)
    whole = bundle.read_bytes()
    start = len(packed(told[:2]))
    for cut in (start, start + 1, start + 44, start + 45, start + 60, len(whole) - 1):
        with Store.open(path.with_name(f"{cut}.deja"), clock=clock) as store:
            bundle.write_bytes(whole[:cut])
            report = store.import_bundle(bundle)
            assert report.added == 2
            assert report.complete == (cut == start)
            assert report.offset == start
            bundle.write_bytes(whole)
            rest = store.import_bundle(bundle)
            assert (rest.added, rest.complete) == (1, True)
            assert rest.resumed_at == (4 if cut == start else start)
            assert store.settings("import.") == {}


@pytest.mark.parametrize("at", ["blob", "digest"])
def test_a_flipped_byte_costs_its_row_and_is_told(store: Store, tmp_path: Path, at: str) -> None:
    """INV-ARRIVE-1: The address is recomputed before anything is written (the reference product does not)."""
    bundle, told = three(tmp_path)
    data = bytearray(bundle.read_bytes())
    start = len(packed(told[:1]))
    data[start + (60 if at == "blob" else 20)] ^= 1
    bundle.write_bytes(data)
    report = store.import_bundle(bundle)
    assert (report.added, report.refused, report.complete) == (2, 1, True)
    (refused,) = report.refusals
    assert (refused.code, refused.offset) == ("FMT-E003", start)
    assert store.stats()["grains"] == 2
    assert store.verify(deep=True) == ()


def test_bytes_that_are_not_canonical_are_refused_with_the_reason(store: Store, tmp_path: Path) -> None:
    """Right address, wrong bytes: unsorted keys, trailing bytes, a type that does not fit."""
    good = encode(fact())
    swapped = good[:9] + good[9:10] + good[9 + 1 + 11 :] + good[10 : 9 + 1 + 11]
    wrong = [swapped, good + b"\0", good[:2] + b"\x06" + good[3:], good[:5]]
    told = [row(ADD, HLC + n, blob) for n, blob in enumerate(wrong)]
    report = store.import_bundle(write(tmp_path / "a.mgb", [*told, row(ADD, HLC + 9, good)]))
    assert (report.added, report.refused) == (1, 4)
    assert {refused.code for refused in report.refusals} == {"FMT-E001", "FMT-E002"}
    assert all(refused.reason for refused in report.refusals)


def test_what_cannot_be_a_row_ends_the_import(store: Store, tmp_path: Path) -> None:
    """An unknown op, a length no grain has: what came before stays, the place is told."""
    bundle, told = three(tmp_path)
    start = len(packed(told[:1]))
    for at, value in ((0, b"\x09"), (41, b"\xff\xff\xff\xff")):
        data = bytearray(packed(told))
        data[start + at : start + at + len(value)] = value
        bundle.write_bytes(data)
        report = store.import_bundle(bundle)
        assert (report.complete, report.offset) == (False, start)
        assert f"(byte {start})" in report.stopped
    assert store.stats()["grains"] == 1


def test_a_clock_that_cannot_be_is_refused(store: Store, tmp_path: Path) -> None:
    """One row with a flipped bit may not carry the clock of this file away for good."""
    blob = encode(fact())
    clocks = (-1, 2**62, (NOW + 5_000 * DAY) << 16)
    report = store.import_bundle(write(tmp_path / "a.mgb", [row(ADD, clock, blob) for clock in clocks]))
    assert (report.added, report.refused) == (0, 3)
    assert {refused.code for refused in report.refusals} == {"FMT-E004"}


def test_no_file_and_no_bundle_are_coded(store: Store, tmp_path: Path) -> None:
    """Each says what to do."""
    with refuses("IMP-E001"):
        store.import_bundle(tmp_path / "none")
    with refuses("IMP-E001"):
        store.import_bundle(tmp_path)
    (tmp_path / "text").write_text("MGB2")
    with refuses("IMP-E002"):
        store.import_bundle(tmp_path / "text")
    (tmp_path / "empty").write_bytes(b"MGB1")
    assert store.import_bundle(tmp_path / "empty").complete


def test_a_bundle_of_garbage_never_raises(store: Store, tmp_path: Path) -> None:
    """Any flipped byte of the sample: a report, a sound file."""
    whole = bytearray(shared("vectors/sample.bundle").read_bytes()[:3_000])
    for at in range(4, len(whole), 97):
        data = bytearray(whole)
        data[at] ^= 0x55
        (tmp_path / "a.mgb").write_bytes(data)
        store.import_bundle(tmp_path / "a.mgb")
    assert store.verify(deep=True) == ()


# --- interruption -----------------------------------------------------------------------------------

_KILLED = """
import os, sys
from deja_tui.store import arrive, bundles
from deja_tui.store.memory import Store
bundles._CHUNK_ROWS = 7
left = int(sys.argv[3])
take = arrive.Arrivals.take
def counting(self, row):
    global left
    left -= 1
    if left < 0:
        os._exit(0)
    take(self, row)
arrive.Arrivals.take = counting
with Store.open(sys.argv[1], clock=lambda: 1_772_442_000_000) as store:
    print(store.import_bundle(sys.argv[2]).applied)
"""


def test_a_killed_import_goes_on_and_ends_the_same(path: Path, clock: Clock, tmp_path: Path) -> None:
    """INV-BUNDLE-4: Killed between any two rows: whole chunks are there, the file is sound, the rest comes, nothing twice (D33)."""
    bundle = shared("vectors/sample.bundle")
    with Store.open(tmp_path / "whole.deja", clock=clock) as whole:
        whole.import_bundle(bundle)
        expected = _said(whole)
    for kill_after in (0, 1, 8, 60, 190):
        mine = path.with_name(f"{kill_after}.deja")
        run(_KILLED, mine, bundle, kill_after)
        with Store.open(mine, clock=clock) as store:
            reached = len(list(store.log()))
            assert store.verify(deep=True) == ()
            assert (store.settings("import.") != {}) == (reached > 0)
            report = store.import_bundle(bundle)
            assert report.complete
            assert (report.resumed_at > 4) == (reached > 0)
            assert _said(store) == expected
            assert store.settings("import.") == {}


def _said(store: Store) -> list[Any]:
    return [(e.seq, e.hlc, e.kind, e.address, e.origin) for e in store.log()]


def test_a_cursor_is_only_used_for_the_file_it_was_kept_for(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another bundle with the same beginning is read from its start."""
    monkeypatch.setattr(bundles, "_CHUNK_ROWS", 1)
    told = [row(ADD, HLC + n, encode(note(f"{n} " + "long enough to fill the name " * 60))) for n in range(3)]
    bundle = write(tmp_path / "a.mgb", told)
    bundle.write_bytes(bundle.read_bytes()[:-1])
    assert not store.import_bundle(bundle).complete
    write(bundle, [told[0], row(ADD, HLC + 7, encode(fact("else"))), *told[1:]])
    report = store.import_bundle(bundle)
    assert (report.resumed_at, report.added, report.complete) == (4, 2, True)


def test_an_import_needs_no_more_memory_than_its_largest_grain(store: Store, tmp_path: Path) -> None:
    """INV-BUNDLE-3: Rows are read one by one (the reference product's floor keeps the whole file)."""
    bundle = tmp_path / "big.mgb"
    with bundle.open("wb") as file:
        file.write(b"MGB1")
        for n in range(1_500):
            file.write(packed([row(ADD, HLC + n, encode(note(f"{n} " + "x" * 8_000)))])[4:])
    tracemalloc.start()
    try:
        assert store.import_bundle(bundle).added == 1_500
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert os.path.getsize(bundle) > 12_000_000
    assert peak < 6_000_000


# --- the clock --------------------------------------------------------------------------------------


def test_the_clock_here_follows_what_came_and_never_runs_back(
    path: Path, clock: Clock, tmp_path: Path
) -> None:
    """INV-ARRIVE-3: A copy whose wall clock is behind writes later than all it has seen; clocks travel as they were."""
    with Store.open(path, clock=clock) as one:
        clock.at = NOW + DAY
        add(one, fact("late"))
        clock.at = NOW - DAY
        add(one, fact("after all"))
        one.bundle(tmp_path / "a.mgb")
        sent = [entry.hlc for entry in one.log()]
    assert sent == sorted(sent)
    with other(path, Clock(NOW - 2 * DAY)) as two:
        two.import_bundle(tmp_path / "a.mgb")
        (own,) = add(two, fact("here"))
        assert [entry.hlc for entry in two.log()][:2] == sent
        written = two.get(own)
        assert written is not None
        assert written.hlc > max(sent)
        assert two.verify(deep=True) == ()


def test_two_copies_of_one_grain_agree_on_its_clock(path: Path, clock: Clock, tmp_path: Path) -> None:
    """Written twice on its own, it keeps the smaller clock in both, so both have one order (INV-OPLOG-6)."""
    clocks = Clock(NOW + 7)
    with Store.open(path, clock=clock) as one, other(path, clocks) as two:
        for store in (one, two):
            (address,) = add(store, fact())
        two.bundle(tmp_path / "two.mgb")
        one.bundle(tmp_path / "one.mgb")
        assert one.import_bundle(tmp_path / "two.mgb").applied == 0
        assert two.import_bundle(tmp_path / "one.mgb").applied == 1
        assert two.import_bundle(tmp_path / "one.mgb").applied == 0
        assert one.get(address).hlc == two.get(address).hlc  # type: ignore[union-attr]
        assert [entry.kind for entry in two.log()] == ["add", "stamp"]
        assert two.counts().grains == 1
        assert two.verify(deep=True) == ()
