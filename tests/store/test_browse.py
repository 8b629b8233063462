# SPDX-License-Identifier: Apache-2.0
"""Slices of lists (INV-BROWSE), forks of one grain (INV-BRANCH), what surrounds a thing (INV-GRAPH)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from deja_tui.store import branches
from deja_tui.store.branches import Branches
from deja_tui.store.browse import FOUND_LIMIT, ORDERS, VIEWS, Lens, Slice
from deja_tui.store.graph import EDGES_OF_ONE
from deja_tui.store.memory import Store
from tests.store.helpers import Clock, add, call, fact, forget, note, refuses
from tests.support import NOW


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A memory with ties of time, two namespaces and the engine's, and a grain of every state."""
    rng = random.Random(7)
    with Store.open(tmp_path_factory.mktemp("browse") / "memory.deja", clock=Clock()) as store:
        held: list[str] = []
        for number in range(240):
            at, space = NOW - rng.randrange(40), rng.choice(("shared", "shared", "work"))
            kind = rng.choice(("fact", "fact", "call", "note"))
            if kind == "fact":
                until = {"valid_to": NOW + rng.randrange(-3, 3)} if rng.random() < 0.2 else {}
                grain = fact(f"s{rng.randrange(9)}", "likes", f"o{number}", at=at, namespace=space, **until)
            else:
                grain = (
                    call(result=str(number), at=at)
                    if kind == "call"
                    else note(f"n{number} tea", at=at, namespace=space)
                )
            (address,) = add(store, grain)
            held.append(address)
        add(store, fact("a", "r", "o", namespace="deja-loop"), governed=True)
        for n, path in enumerate(("/memories/a.md", "/memories/b.md")):
            add(store, fact(path, "memory_file", f"v:{n}"))
        rng.shuffle(held)
        for address in held[:30]:
            old = store.get(address)
            assert old is not None
            if old.type == "fact":
                with store.act() as act:
                    act.supersede(
                        address,
                        fact(str(old.get("subject")), object="newer", at=NOW, namespace=old.namespace),
                    )
        alive = [one for one in held[30:] if (found := store.get(one)) is not None and found.type != "call"]
        with store.act() as act:
            act.mark(alive[0], "retire", alive[1])
            act.mark(alive[2], "hide")
        for address in alive[3:9]:
            forget(store, address)
        yield store


def told(store: Store, lens: Lens, step: int, way: str) -> list[str]:
    """A whole view, slice by slice."""
    first = store.browse(lens, NOW, 0, step)
    if way == "whole":
        return [row.address for row in store.browse(lens, NOW, 0, 10_000).rows]
    out: dict[int, str] = {}
    total, page = first.total, first
    if way == "back":
        page = store.browse(lens, NOW, max(0, total - step), step, total=total)
    while page.rows:
        out.update((page.start + n, row.address) for n, row in enumerate(page.rows))
        last = page.start + len(page.rows)
        if way == "on" and last < total:
            anchor = (last - 1, page.rows[-1].key)
            page = store.browse(lens, NOW, last, step, anchor=anchor, total=total)
        elif way == "back" and page.start:
            start = max(0, page.start - step)
            anchor = (page.start, page.rows[0].key)
            page = store.browse(lens, NOW, start, min(step, page.start), anchor=anchor, total=total)
        else:
            break
    assert sorted(out) == list(range(total))
    return [out[n] for n in range(total)]


@pytest.mark.parametrize("view", VIEWS)
def test_slices_put_together_are_the_view(full: Store, view: str) -> None:
    """INV-BROWSE-1, INV-BROWSE-2: on from the last row, back from the first, or all at once: one order, each grain once."""
    for order in ORDERS:
        for kind in (None, "fact", "observation"):
            lens = Lens(view, kind, order)
            whole = told(full, lens, 7, "whole")
            assert len(set(whole)) == len(whole) == full.browse(lens, NOW).total
            assert told(full, lens, 7, "on") == told(full, lens, 50, "back") == whole
            for place in range(0, len(whole), 29):
                page = full.browse(lens, NOW, 0, 4, at=whole[place])
                if view != "forgotten":
                    assert whole[place] in [row.address for row in page.rows]


def test_what_each_view_holds(full: Store) -> None:
    """INV-BROWSE-3: as a plain loop over every grain says; the engine's own stand apart."""
    every = {
        entry.address: full.get(entry.address) for entry in full.log() if entry.kind in ("add", "supersede")
    }
    grains = [grain for grain in every.values() if grain is not None]
    user = [grain for grain in grains if grain.namespace != "deja-loop"]
    live = [grain for grain in user if grain.live]
    wanted = {
        "all": user,
        "live": live,
        "superseded": [grain for grain in user if not grain.live],
        "expired": [grain for grain in live if (grain.get("valid_to") or NOW + 1) <= NOW],
        "documents": [grain for grain in live if grain.get("relation") == "memory_file"],
        "engine": [grain for grain in grains if grain.namespace == "deja-loop"],
        "forked": [],
    }
    for view, found in wanted.items():
        assert sorted(told(full, Lens(view), 64, "whole")) == sorted(grain.address for grain in found), view
    gone = full.browse(Lens("forgotten"), NOW)
    assert gone.total == 6
    assert {(row.state, row.grain) for row in gone.rows} == {("forgotten", None)}
    states = {row.state for row in full.browse(Lens("superseded"), NOW).rows}
    assert states == {"superseded", "retired", "hidden"}
    newest = full.browse(Lens(), NOW, 0, 1_000).rows
    assert [row.at for row in newest] == sorted((row.at for row in newest), reverse=True)
    together = [row.grain.get("subject") for row in full.browse(Lens("live", order="subject"), NOW, 0, 1_000).rows if row.grain]  # fmt: skip
    runs = [one for n, one in enumerate(together) if n == 0 or together[n - 1] != one]
    assert len(runs) == len({(row.grain.namespace, row.grain.get("subject")) for row in full.browse(Lens("live", order="subject"), NOW, 0, 1_000).rows if row.grain})  # fmt: skip
    assert full.kinds() == ("fact", "tool", "observation")


def test_a_search_is_a_view_too(full: Store) -> None:
    """Best first, live only, at most so many; what is asked wrongly is refused."""
    found = full.browse(Lens("superseded", None, "oldest", "tea"), NOW, 0, 500)
    assert [row.address for row in found.rows] == [
        grain.address for grain in full.search("tea", k=FOUND_LIMIT)
    ]
    assert full.browse(Lens(text="tea", type="fact"), NOW).total == 0
    for lens in (Lens("no"), Lens(type="no"), Lens(order="no")):
        with refuses("VAL-E001"):
            full.browse(lens, NOW)
    assert full.browse(Lens(), NOW, at="0" * 64) == full.browse(Lens(), NOW)
    assert isinstance(full.browse(Lens(), NOW, 10**9, 3), Slice)


def test_a_damaged_grain_is_a_row_that_says_so(store: Store) -> None:
    """One row of a list stops no list."""
    address, _ = add(store, fact(), fact(object="rum"))
    with store.act() as act:
        act.transaction.db.execute("UPDATE grain SET body = x'00' WHERE hash = ?", (bytes.fromhex(address),))
    assert {row.state for row in store.browse(Lens(), NOW).rows} == {"damaged", "live"}


# --- forks ------------------------------------------------------------------------------------------


def test_the_fork_of_one_grain_is_the_one_that_is_found_by_all(
    path: Path, store: Store, clock: Clock
) -> None:
    """INV-BRANCH-1: random histories of two copies, with merges and erasures in them, tell the same forks either way."""
    rng = random.Random(11)
    with Store.open(path.with_name("two.deja"), clock=clock) as two:
        add(store, *(fact(f"s{n}") for n in range(6)))

        def send(source: Store, target: Store) -> None:
            bundle = Path(source.path).with_suffix(".mgb")
            source.bundle(bundle)
            target.import_bundle(bundle)
            bundle.unlink()

        send(store, two)
        for turn in range(60):
            copy = rng.choice((store, two))
            live = copy.recall(namespace="shared", k=50)
            old = rng.choice(live)
            with copy.act() as act:
                if turn % 13 == 12:
                    act.forget(old.address)
                elif turn % 11 == 10 and copy.forks():
                    tips = [tip.address for tip in rng.choice(copy.forks()).tips]
                    merged = fact(
                        "m", object=f"m{turn}", derived_from=tips[0], context={"merge_parents": tips}
                    )
                    act.merge(tips, merged)
                else:
                    act.supersede(
                        old.address, fact(str(old.get("subject")), object=f"o{turn}", at=NOW + turn)
                    )
            if turn % 5 == 4:
                send(store, two)
                send(two, store)
                for one in (store, two):
                    whole = {tip.address: fork for fork in one.forks() for tip in fork.tips}
                    for grain in one.recall(namespace="shared", k=99):
                        assert one.fork_of(grain) == whole.get(grain.address)
                        assert Branches(one.reading()).is_tip(grain.seq) is (grain.address in whole)
                    alive = {grain.seq: grain.address for grain in one.recall(namespace="shared", k=99)}
                    assert {alive[n] for n in Branches(one.reading()).tips(alive)} == whole.keys()
                    for fork in one.forks():
                        root = fork.ancestor and one.get(fork.ancestor)
                        assert root is None or one.fork_of(root) == fork
        assert store.forks()
        rows = store.browse(Lens(), NOW, 0, 500).rows
        assert {row.address for row in rows if row.state == "forked"} == {
            t.address for f in store.forks() for t in f.tips
        }
        assert told(store, Lens("forked"), 3, "on") == [
            tip.address for fork in store.forks() for tip in fork.tips
        ]


def test_the_walk_along_a_chain_is_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """INV-BRANCH-2: a chain longer than the limit is told of no fork, and not walked to its end."""
    (address,) = add(store, fact())
    for turn in range(12):
        with store.act() as act:
            address = act.supersede(address, fact(object=str(turn), at=NOW + turn)).address
    head = store.get(address)
    assert head is not None
    asked: list[int] = []
    monkeypatch.setattr(Branches, "_beside", lambda self, gid: asked.append(gid) or iter([(gid, gid + 1)]))
    assert Branches(store.reading(), 5).fork_of(head.seq) is None
    assert len(asked) == 5
    assert branches.WALK_LIMIT > 100


# --- what surrounds a thing -------------------------------------------------------------------------


def test_the_neighbourhood_of_a_thing(store: Store) -> None:
    """INV-GRAPH-1: out and in, case folded, live facts of the namespace only; the ring is told once."""
    add(
        store,
        fact("Ada", "knows", "Bob"),
        fact("bob", "works_at", "Acme"),
        fact("acme", "run_by", "ADA"),
        fact("zoe", "knows", "ada"),
        fact("ada", "knows", "Kim", namespace="work"),
        note("ada"),
    )
    (gone,) = add(store, fact("ada", "likes", "gin"))
    with store.act() as act:
        act.supersede(gone, fact("ada", "likes", "rum"))
    near = store.neighbourhood("shared", "aDA", 1)
    assert {(e.relation, e.out, e.other) for e in near.edges["ada"]} == {
        ("knows", True, "Bob"), ("likes", True, "rum"), ("run_by", False, "acme"), ("knows", False, "zoe"),
    }  # fmt: skip
    assert (near.totals, near.complete, near.entity) == ({"ada": 4}, True, "aDA")
    far = store.neighbourhood("shared", "ada", 9)
    assert far.depth == 3
    assert set(far.edges) == {"ada", "bob", "rum", "acme", "zoe"}
    assert store.neighbourhood("nowhere", "ada").edges == {}
    assert store.neighbourhood("shared", "nobody").totals == {"nobody": 0}


def test_a_neighbourhood_is_bounded(store: Store) -> None:
    """INV-GRAPH-2: of a thing with many edges the newest are told, and how many there are."""
    add(
        store,
        *(fact("hub", "has", f"o{n}") for n in range(40)),
        *(fact(f"o{n}", "in", "hub") for n in range(40)),
    )
    near = store.neighbourhood("shared", "hub", 3)
    assert len(near.edges["hub"]) == 2 * EDGES_OF_ONE
    assert near.totals["hub"] == 80
    assert not near.complete
    assert near.edges["hub"][0].other == "o39"
    assert sum(map(len, near.edges.values())) <= 400
