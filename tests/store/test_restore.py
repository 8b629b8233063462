# SPDX-License-Identifier: Apache-2.0
"""A memory as it was, as a new file (INV-RESTORE)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deja_tui.store import restore
from deja_tui.store.memory import Store
from tests.store.helpers import Boom, Clock, add, call, fact, fails, forget, note, refuses
from tests.support import DAY, NOW

END = (NOW + 99 * DAY) << 16


def restored(store: Store, target: Path, until: int = END) -> restore.RestoreReport:
    clock = Clock(NOW + 100 * DAY)

    def fill(new: Store) -> restore.RestoreReport:
        return restore.replay(store, new, until)

    return restore.into_new_file(target, lambda path: Store.open(path, clock=clock), fill)


def told(store: Store) -> list[Any]:
    """All grains as they stand, and the log, without positions."""
    kinds = ("fact", "tool", "observation")
    grains = [grain for kind in kinds for grain in store.scan(kind, namespaces=["shared", "deja-loop"])]
    state = sorted((g.address, g.live, g.superseded_by, g.hlc, g.imported) for g in grains)
    log = [(entry.kind, entry.hlc, entry.address, entry.origin) for entry in store.log()]
    return [state, log]


@pytest.fixture
def busy(store: Store, clock: Clock) -> list[str]:
    """Everything a log may hold; the addresses in order of writing."""
    a, b, c = add(store, fact(object="a"), fact("bob", object="b"), call("search", failed=True))
    clock.at += DAY
    with store.act() as act:
        d = act.supersede(a, fact(object="d")).address
        act.mark(b, "retire", d)
    add(store, note("audit", namespace="deja-loop"), governed=True)
    clock.at += DAY
    with store.act() as act:
        act.mark(b, "reopen")
        act.mark(c, "hide")
        act.set_setting("cal.query:q", {"body": "x"})
    e, f = add(store, fact("eve", object="e"), fact("eve", object="f"))
    with store.act() as act:
        merged = act.merge([e, f], fact("eve", derived_from=e, context={"merge_parents": [e, f]})).address
    forget(store, d)
    return [a, b, c, d, e, f, merged]


def test_the_whole_log_played_again_is_the_same_memory(store: Store, busy: list[str], tmp_path: Path) -> None:
    """Grains, marks, origins, clocks, log and tombstones; the file verifies."""
    report = restored(store, tmp_path / "new.deja")
    with Store.open(tmp_path / "new.deja") as new:
        assert told(new) == told(store)
        assert new.verify(deep=True) == ()
        assert new.setting("cal.query:q") == {"body": "x"}
        assert [g.address for g in new.history(busy[4])] == [g.address for g in store.history(busy[4])]
        assert [g.address for g in new.history(busy[0])] == [g.address for g in store.history(busy[0])]
        with refuses("MEM-E003"):
            add(new, fact(object="d", derived_from=busy[0]))
    assert (report.lost, report.forgotten) == (0, 1)


def test_an_earlier_moment_answers_as_it_did(store: Store, clock: Clock, tmp_path: Path) -> None:
    """INV-RESTORE-2: After every act of a story: the file of that moment has the liveness and the log of that moment."""
    moments: list[tuple[int, list[Any]]] = []
    live = add(store, fact(object="0"))
    for number in range(1, 13):
        clock.at += 1_000
        with store.act() as act:
            old = live[number % len(live)]
            if number % 4 == 0:
                act.mark(old, "reopen")
            elif number % 4 == 1 and store.get(old).live:  # type: ignore[union-attr]
                live.append(act.supersede(old, fact(object=str(number))).address)
            elif number % 4 == 2:
                act.mark(old, "hide")
            else:
                live.append(act.add(fact("bob", object=str(number))).address)
        moments.append((clock.at, told(store)))
    for number, (at, expected) in enumerate(moments):
        target = tmp_path / f"{number}.deja"
        restored(store, target, (at + 1 << 16) - 1)
        with Store.open(target) as new:
            assert told(new) == expected
            assert new.verify(deep=True) == ()


def test_undo_is_restored_too(store: Store, busy: list[str], tmp_path: Path) -> None:
    """Marks are in the log of our own file: a grain that was retired at the moment is, one that was reopened is not."""
    at = next(entry.hlc for entry in store.log() if entry.kind == "reopen")
    for until, live in ((at - 1, False), (at, True)):
        target = tmp_path / f"{live}.deja"
        restored(store, target, until)
        with Store.open(target) as new:
            assert new.get(busy[1]).live is live  # type: ignore[union-attr]


def test_what_was_forgotten_stays_forgotten(store: Store, busy: list[str], tmp_path: Path) -> None:
    """INV-RESTORE-3: Also when it was forgotten after the moment: counted as lost, not taken back, not importable."""
    report = restored(store, tmp_path / "new.deja", (NOW + DAY + 1 << 16) - 1)
    assert (report.lost, report.forgotten) == (1, 1)
    store.bundle(tmp_path / "all.mgb")
    with Store.open(tmp_path / "new.deja", clock=Clock(NOW + 200 * DAY)) as new:
        assert new.get(busy[3]) is None
        assert not new.get(busy[0]).live  # type: ignore[union-attr]
        assert new.verify(deep=True) == ()
        assert new.import_bundle(tmp_path / "all.mgb").complete
        assert new.get(busy[3]) is None


def test_foreign_and_forked_grains_stay_what_they_were(
    path: Path, store: Store, clock: Clock, tmp_path: Path
) -> None:
    """An imported grain stays imported; a moment between two supersessions has the first one in time."""
    (base,) = add(store, fact())
    with Store.open(path.with_name("two.deja"), clock=clock) as two:
        store.bundle(path.with_suffix(".mgb"))
        two.import_bundle(path.with_suffix(".mgb"))
        clock.at = NOW + DAY
        with two.act() as act:
            theirs = act.supersede(base, fact(object="gin")).address
        clock.at = NOW + 2 * DAY
        with store.act() as act:
            act.supersede(base, fact(object="rum"))
        two.bundle(path.with_suffix(".mgb"))
        store.import_bundle(path.with_suffix(".mgb"))
    restored(store, tmp_path / "new.deja", (NOW + DAY + 1 << 16) - 1)
    with Store.open(tmp_path / "new.deja") as new:
        (head,) = new.heads("shared", "ada", "likes")
        assert (head.address, head.imported) == (theirs, True)
        assert new.get(base).superseded_by == theirs  # type: ignore[union-attr]
        assert new.verify(deep=True) == ()


def test_a_damaged_grain_is_left_out_and_counted(store: Store, path: Path, tmp_path: Path) -> None:
    """The rest of the memory is saved."""
    good, bad = add(store, fact("good"), fact("bad"))
    with store.act() as act:
        act.transaction.db.execute(
            "UPDATE grain SET body = zeroblob(40) WHERE hash = ?", (bytes.fromhex(bad),)
        )
    report = restored(store, tmp_path / "new.deja")
    assert (report.grains, report.lost) == (1, 1)
    with Store.open(tmp_path / "new.deja") as new:
        assert [grain.address for grain in new.scan("fact")] == [good]
        assert new.verify(deep=True) == ()


def test_nothing_is_ever_written_over(store: Store, tmp_path: Path) -> None:
    """INV-RESTORE-1: A file, a folder, a link to nowhere: each is left; a failure leaves no litter."""
    add(store, fact())
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("file", "link", "."):
        with refuses("STO-E011"):
            restored(store, tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"
    before = sorted(entry.name for entry in tmp_path.iterdir())

    def stop(_: Store) -> restore.RestoreReport:
        raise Boom

    with fails():
        restore.into_new_file(tmp_path / "new", Store.open, stop)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == before
    with refuses("STO-E008"):
        restored(store, tmp_path / "no" / "new")


def test_one_that_was_taken_meanwhile_is_left(store: Store, tmp_path: Path) -> None:
    """INV-RESTORE-1: The name is taken at the very end, and only if it is still free."""
    target = tmp_path / "new"

    def slow(new: Store) -> restore.RestoreReport:
        target.write_text("quicker")
        return restore.replay(store, new, END)

    with refuses("STO-E011"):
        restore.into_new_file(target, Store.open, slow)
    assert target.read_text() == "quicker"
