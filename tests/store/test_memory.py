# SPDX-License-Identifier: Apache-2.0
"""Acts and reads of one memory file (INV-STORE)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from deja_tui.engine import substrate
from deja_tui.errors import ValidationError
from deja_tui.store import keys
from deja_tui.store.codec import encode, make_grain
from deja_tui.store.memory import Store
from tests.store.helpers import Boom, Clock, add, call, everything, fact, fails, forget, many, note, refuses
from tests.support import DAY, NOW

RESERVED = ["deja-loop", "loop", "agent:authz", "agent:"]


# --- acts -------------------------------------------------------------------------------------------


def test_an_act_that_raises_leaves_the_file_and_every_counter_as_they_were(store: Store) -> None:
    """INV-STORE-2: rows, op-log, clock, counters, settings and text come back as a whole."""
    old, *_ = add(store, fact("ada", "likes", "tea"), call("search", "boom", failed=True))
    before = everything(store)
    with fails(), store.act() as act:
        act.add(fact("bob", "likes", "quinine"))
        act.supersede(old, fact("ada", "likes", "coffee"))
        act.set_setting("seen", 1)
        many(store, 300)
        raise Boom
    assert everything(store) == before
    assert store.search("quinine") == []


def test_an_act_after_one_that_failed_gives_its_terms_and_positions_to_the_right_grains(store: Store) -> None:
    """INV-STORE-2: what the failed act had cached is not believed."""
    with fails(), store.act() as act:
        act.add(fact("ghost", "haunts", "attic"))
        raise Boom
    add(store, fact("ada", "likes", "tea"))
    assert store.recall(namespace="shared", subject="ghost") == []
    assert [grain.get("object") for grain in store.recall(namespace="shared", subject="ada")] == ["tea"]
    assert store.verify(deep=True) == ()


def test_an_act_inside_an_act_joins_it(store: Store) -> None:
    """INV-STORE-2: one transaction, one commit, one fate."""
    with fails(), store.act() as outer:
        outer.add(fact("ada"))
        with store.act() as inner:
            inner.add(fact("bob"))
        raise Boom
    assert store.stats()["grains"] == 0


def test_an_inner_act_that_raises_leaves_the_outer_one_as_it_was(store: Store) -> None:
    """INV-STORE-2: rows, counters, clock, terms and words of the inner part are gone, the rest is kept."""
    (old,) = add(store, fact("ada", "likes", "tea"))
    with store.act() as outer:
        outer.add(fact("bob", "likes", "rice"))
        before = everything(store)
        with fails(), store.act() as inner:
            inner.add(fact("cid", "hates", "peas"))
            inner.supersede(old, fact("ada", "likes", "coffee"))
            inner.forget(inner.add(fact("dan", "eats", "figs")).address)
            inner.set_setting("x", 1)
            many(store, 300)
            raise Boom
        assert everything(store) == before
        outer.add(fact("eve", "hates", "plums"))
    assert {g.get("subject") for g in store.scan("fact", live_only=True)} == {"ada", "bob", "eve"}
    assert [g.get("subject") for g in store.recall(namespace="shared", relation="hates")] == ["eve"]
    assert store.search("peas") == []
    assert store.position().grains == 3
    assert store.verify(deep=True) == ()


def test_an_act_reads_its_own_writes_and_nobody_else_does(store: Store, path: object) -> None:
    """INV-STORE-3, INV-STORE-1."""
    with Store.open(path) as other, store.act() as act:  # type: ignore[arg-type]
        address = act.add(fact("ada", "likes", "marmalade")).address
        assert store.get(address) is not None
        assert store.recall(namespace="shared", subject="ada")
        assert [grain.address for grain in store.search("marmalade")] == [address]
        assert other.get(address) is None
        assert other.search("marmalade") == []


def test_an_act_that_has_ended_cannot_be_used(store: Store) -> None:
    """A handle kept beyond its block changes nothing."""
    with store.act() as act:
        pass
    with refuses("STO-E001"):
        act.add(fact())


def test_an_act_without_a_change_is_no_act(store: Store) -> None:
    """The change token stands still, so watchers stay idle."""
    add(store, fact())
    token = store.change_token()
    add(store, fact())
    with store.act():
        pass
    assert store.change_token() == token
    with store.act() as act:
        act.set_setting("a", 1)
    assert store.change_token() > token


# --- adding -----------------------------------------------------------------------------------------


def test_the_same_bytes_are_one_grain_and_one_log_row(store: Store) -> None:
    """INV-STORE-6, INV-OPLOG-1."""
    with store.act() as act:
        first, second = act.add(fact()), act.add(fact())
    assert (first.new, second.new) == (True, False)
    assert (first.address, first.seq) == (second.address, second.seq)
    assert len(list(store.log())) == 1


def test_the_same_source_key_is_one_grain_whatever_its_bytes(store: Store) -> None:
    """D32: redaction and undated records do not duplicate; keys that collide in 64 bits are told apart by text."""
    with store.act() as act:
        first = act.add(fact(context={"source_key": "cc:1:7"}), source_key="cc:1:7")
        again = act.add(fact(object="[redacted]", context={"source_key": "cc:1:7"}), source_key="cc:1:7")
        other = act.add(fact(object="[redacted]", context={"source_key": "cc:1:8"}))
    assert (again.address, again.new) == (first.address, False)
    assert other.new


def test_a_source_key_that_only_collides_does_not_stop_a_grain(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D32, D11: the key nominates, the grain's own text decides."""
    monkeypatch.setattr("deja_tui.store.write.key_of", lambda text: 7)
    with store.act() as act:
        one = act.add(fact(context={"source_key": "a"}))
        two = act.add(fact(context={"source_key": "b"}))
    assert one.new
    assert two.new


def test_a_source_key_must_be_the_one_in_the_context(store: Store) -> None:
    """D32: the text that decides lies in the grain."""
    with refuses("VAL-E001"), store.act() as act:
        act.add(fact(), source_key="x")


def test_a_grain_without_a_namespace_is_filed_under_shared(store: Store) -> None:
    """Its bytes stay as they are."""
    grain = make_grain(
        "fact", {"subject": "a", "relation": "b", "object": "c"}, namespace=None, created_at=NOW
    )
    (address,) = add(store, grain)
    found = store.get(address)
    assert found is not None
    assert found.namespace == "shared"
    assert store.blob(address) == encode(grain)
    assert store.recall(namespace="shared", subject="a") == [found]


@pytest.mark.parametrize("hlc", [-1, 2**62, 2**63])
def test_a_clock_that_leaves_no_room_is_refused(store: Store, hlc: int) -> None:
    """One hostile row must not stop every later act."""
    with refuses("VAL-E001"), store.act() as act:
        act.add(fact(), origin="imported", hlc=hlc)
    with store.act() as act:
        act.add(fact(), origin="imported", hlc=2**62 - 1)
    many(store, 3)


def test_an_imported_grain_says_so_and_keeps_its_clock(store: Store, clock: Clock) -> None:
    """D1, D3, INV-OPLOG-2: the HLC travels; later local ones are larger."""
    far = (NOW + DAY) << 16
    with store.act() as act:
        came = act.add(fact("ada"), origin="imported", hlc=far)
        local = act.add(fact("bob"))
    first, second = store.get(came.address), store.get(local.address)
    assert first is not None
    assert second is not None
    assert (first.imported, first.hlc, second.imported) == (True, far, False)
    assert second.hlc == far + 1
    assert [entry.origin for entry in store.log()] == ["imported", "local"]


# --- what is reserved -------------------------------------------------------------------------------


@pytest.mark.parametrize("namespace", [*RESERVED, "shared", "agents", "deja-loop2", ""])
def test_the_store_and_the_engine_agree_on_what_is_reserved(namespace: str) -> None:
    """D7 is one rule, written in two rooms that may not import each other."""
    assert keys.is_reserved(namespace) == substrate.is_reserved(namespace)


@pytest.mark.parametrize("namespace", RESERVED)
def test_a_plain_act_cannot_touch_a_reserved_namespace(store: Store, namespace: str) -> None:
    """INV-STORE-4: not by adding, superseding, marking or forgetting."""
    (kept,) = add(store, fact(namespace=namespace), governed=True)
    (mine,) = add(store, fact())
    tries = [
        lambda act: act.add(fact(object="x", namespace=namespace)),
        lambda act: act.supersede(kept, fact(object="x")),
        lambda act: act.supersede(mine, fact(object="x", namespace=namespace)),
        lambda act: act.mark(kept, "hide"),
        lambda act: act.forget(kept),
    ]
    before = everything(store)
    for attempt in tries:
        with refuses("VAL-E004"), store.act() as act:
            attempt(act)
    assert everything(store) == before


def test_a_plain_act_cannot_write_a_recommendation_or_a_ledger_row(store: Store) -> None:
    """INV-STORE-4, D7: type 0c is refused whatever its namespace; so is the governance table."""
    grain = make_grain(
        "recommendation",
        {
            "target_ref": "x:y",
            "analyzer": {"id": "a/1"},
            "summary": {},
            "dedup_key": "k",
            "proposal_data": {},
        },
        namespace="shared",
        created_at=NOW,
    )
    with pytest.raises(ValidationError, match="VAL-E004"), store.act() as act:
        act.add(grain)
    with refuses("VAL-E004"), store.act() as act:
        act.ledger_clear()
    with store.act(governed=True) as act:
        assert act.add(grain).new


def test_a_plain_handle_inside_a_governed_act_is_still_plain(store: Store) -> None:
    """INV-STORE-4: what is lifted is lifted for one handle, not for the transaction."""
    with store.act(governed=True), refuses("VAL-E004"), store.act() as plain:
        plain.add(fact(namespace="deja-loop"))


# --- superseding and marks --------------------------------------------------------------------------


def test_superseding_moves_the_head_and_keeps_the_chain(store: Store) -> None:
    """The old one is not live and names its successor; the new one names it as its parent."""
    (old,) = add(store, fact(object="tea"))
    with store.act() as act:
        new = act.supersede(old, fact(object="coffee", at=NOW + 1))
    was, now = store.get(old), store.get(new.address)
    assert was is not None
    assert now is not None
    assert (was.live, was.superseded_by, now.live) == (False, new.address, True)
    assert now.parents() == (old,)
    assert [g.address for g in store.history(old)] == [new.address, old]
    assert [g.address for g in store.children(old)] == [new.address]
    assert store.latest("shared", "ada", "likes") == now
    assert [entry.kind for entry in store.log()] == ["add", "add", "supersede"]


def test_a_grain_that_is_not_live_or_not_here_is_not_superseded(store: Store) -> None:
    """MEM-E002, MEM-E001, and nothing is written."""
    (old,) = add(store, fact(object="tea"))
    with store.act() as act:
        act.supersede(old, fact(object="coffee"))
    before = everything(store)
    with refuses("MEM-E002"), store.act() as act:
        act.supersede(old, fact(object="milk"))
    with refuses("MEM-E001"), store.act() as act:
        act.supersede("0" * 64, fact(object="milk"))
    with refuses("MEM-E001"), store.act() as act:
        act.supersede("no address", fact(object="milk"))
    assert everything(store) == before


def test_the_parents_a_writer_named_stay_beside_the_superseded_one(store: Store) -> None:
    """Bundles find the superseded grain through ``derived_from``, so it is always the first of the parents."""
    old, why = add(store, fact(object="tea"), note("she said so"))
    with store.act() as act:
        new = act.supersede(old, fact(object="coffee", derived_from=why))
    found = store.get(new.address)
    assert found is not None
    assert found.parents() == (old, why)
    with store.act() as act:
        newer = act.supersede(new.address, fact(object="milk", derived_from=[why, new.address]))
    found = store.get(newer.address)
    assert found is not None
    assert found.parents() == (new.address, why)


def test_liveness_is_what_the_last_mark_says(store: Store) -> None:
    """D2, INV-STORE-5."""
    kept, copy = add(store, fact(object="tea"), fact(object="Tea"))
    for kind, by, live, successor in [
        ("retire", kept, False, kept),
        ("reopen", None, True, None),
        ("hide", None, False, None),
        ("supersede", kept, False, kept),
        ("reopen", None, True, None),
    ]:
        with store.act() as act:
            act.mark(copy, kind, by)
        found = store.get(copy)
        assert found is not None
        assert (found.live, found.superseded_by) == (live, successor)
    assert store.verify(deep=True) == ()


def test_a_mark_names_what_is_here(store: Store) -> None:
    """MEM-E001 for the grain and for what takes its place; VAL-E001 for another kind."""
    (address,) = add(store, fact())
    with refuses("MEM-E001"), store.act() as act:
        act.mark("f" * 64, "hide")
    with refuses("MEM-E001"), store.act() as act:
        act.mark(address, "retire", by="f" * 64)
    with refuses("VAL-E001"), store.act() as act:
        act.mark(address, "erase")  # type: ignore[arg-type]


def test_history_follows_retired_copies_and_marks_that_form_a_ring(store: Store) -> None:
    """Both directions, each grain once, newest first."""
    kept, copy = add(store, fact(object="tea"), fact(object="Tea"))
    with store.act() as act:
        act.mark(copy, "retire", kept)
    assert [g.address for g in store.history(copy)] == [kept, copy]
    assert [g.address for g in store.history(kept)] == [kept, copy]
    with store.act() as act:
        act.mark(kept, "retire", copy)
    assert {g.address for g in store.history(kept)} == {kept, copy}
    with store.act() as act:
        act.mark(copy, "reopen")
        act.mark(kept, "reopen")
    assert [g.address for g in store.history(copy)] == [copy]
    assert store.history("f" * 64) == []


def test_history_crosses_a_forgotten_version(store: Store) -> None:
    """INV-ERASE-3; the successor is still named by its address."""
    (one,) = add(store, fact(object="1"))
    with store.act() as act:
        two = act.supersede(one, fact(object="2")).address
        three = act.supersede(two, fact(object="3")).address
    forget(store, two)
    assert [g.address for g in store.history(three)] == [three, one]
    found = store.get(one)
    assert found is not None
    assert found.superseded_by == two


# --- recall -----------------------------------------------------------------------------------------


def test_recall_is_newest_first_by_time_clock_and_address(store: Store) -> None:
    """D3: created_at, then HLC, then address; two imported grains may share the first two."""
    with store.act() as act:
        tied = [act.add(fact(object=f"t{n}"), origin="imported", hlc=5).address for n in range(4)]
        newer = act.add(fact(object="newer", at=NOW + 1), origin="imported", hlc=1).address
        later = act.add(fact(object="later")).address
        act.add(fact(object="older", at=NOW - 1))
    found = [g.address for g in store.recall(namespace="shared", subject="ada")]
    assert found[:6] == [newer, later, *sorted(tied, reverse=True)]
    assert [g.address for g in store.recall(namespace="shared", subject="ada", k=3)] == found[:3]


def test_recall_is_exact_though_its_keys_are_folded(store: Store) -> None:
    """D11: NFC text decides; case and blanks count."""
    add(store, fact("Ada", "likes", "tea"), fact("ada", "likes", " tea"), fact("ADA ", "Likes", "TEA"))
    assert len(store.recall(namespace="shared", subject="ada")) == 1
    assert len(store.recall(namespace="shared", subject="Ada", relation="likes")) == 1
    assert store.recall(namespace="shared", subject="Ada", relation="Likes") == []
    assert len(store.recall(namespace="shared", subject="Ada", relation="likes", object="tea")) == 1
    assert store.recall(namespace="shared", subject="ada", relation="likes", object="tea") == []


def test_recall_meets_text_in_any_normal_form_and_survives_lone_surrogates(store: Store) -> None:
    """TEXT-1 for what is asked, too."""
    add(store, fact("caf\u00e9", "is", "open"))
    assert len(store.recall(namespace="shared", subject="cafe\u0301")) == 1
    assert store.recall(namespace="shared", subject="\ud800") == []
    assert store.recall(namespace="\ud800", subject="x") == []


@pytest.mark.parametrize("facts", [5, 200])
def test_recall_by_key_finds_the_same_by_either_index(store: Store, facts: int) -> None:
    """A key that few facts share is sorted, one that many share is met by walking its subject."""
    grains = [fact("hub", "has", f"{n}", at=NOW + n) for n in range(facts)]
    add(
        store,
        *grains,
        *(fact("hub", "other", f"{n}", at=NOW + n) for n in range(100)),
        fact("HUB", "has", "x"),
    )
    found = store.recall(namespace="shared", subject="hub", relation="has", k=1000)
    assert [g.get("object") for g in found] == [str(n) for n in reversed(range(facts))]
    latest = store.latest("shared", "hub", "has")
    assert latest is not None
    assert latest.get("object") == str(facts - 1)


def test_recall_by_type_or_by_nothing_but_the_namespace(store: Store) -> None:
    """The newest of a type, of a relation, of everything; other namespaces stay out."""
    add(
        store,
        fact("a", "likes", "1", at=NOW + 1),
        call("t", at=NOW + 2),
        note("n", at=NOW + 3, subject="a"),
        fact("b", "likes", "2", at=NOW + 4, namespace="other"),
    )
    kinds = [g.type for g in store.recall(namespace="shared")]
    assert kinds == ["observation", "tool", "fact"]
    assert [g.type for g in store.recall(namespace="shared", type="tool")] == ["tool"]
    assert [g.type for g in store.recall(namespace="shared", subject="a")] == ["observation", "fact"]
    assert [g.type for g in store.recall(namespace="shared", subject="a", type="fact")] == ["fact"]
    assert [g.get("object") for g in store.recall(namespace="shared", relation="likes")] == ["1"]
    assert [g.get("object") for g in store.recall(namespace="other", object="2")] == ["2"]
    assert store.recall(namespace="shared", type="no such type") == []
    assert store.recall(namespace="nowhere") == []
    assert store.recall(namespace="shared", k=0) == []


def test_recall_of_a_hidden_grain_comes_back_byte_for_byte(store: Store) -> None:
    """D13 and the exact undo rest on this."""
    addresses = many(store, 3)
    before = store.recall(namespace="shared", k=10)
    with store.act() as act:
        act.mark(addresses[1], "hide")
    assert addresses[1] not in {g.address for g in store.recall(namespace="shared", k=10)}
    with store.act() as act:
        act.mark(addresses[1], "reopen")
    assert store.recall(namespace="shared", k=10) == before


# --- addresses, scans, settings ---------------------------------------------------------------------


def test_a_short_address_is_unique_or_lists_its_matches(store: Store) -> None:
    """MEM-E001 none, MEM-E004 several with at most 20 full addresses."""
    addresses = many(store, 400)
    assert store.resolve(addresses[0]) == addresses[0]
    assert store.resolve(addresses[0][:12].upper()) == addresses[0]
    with pytest.raises(Exception, match="MEM-E004") as caught:
        store.resolve(addresses[0][0])
    matches = caught.value.matches  # type: ignore[attr-defined]
    assert 1 < len(matches) <= 20
    assert all(match.startswith(addresses[0][0]) for match in matches)
    for wrong in ("", "xyz", "g" * 64, "a" * 65, "_" * 4, "\u0660" * 4):
        with refuses("MEM-E001"):
            store.resolve(wrong)


def test_a_short_address_may_be_narrowed_by_type_and_namespace(store: Store) -> None:
    """Commands about recommendations never meet other grains."""
    (inside,) = add(store, fact(namespace="other"))
    assert store.resolve(inside[:8], namespace="other", type="fact") == inside
    with refuses("MEM-E001"):
        store.resolve(inside[:8], namespace="shared")
    with refuses("MEM-E001"):
        store.resolve(inside[:8], type="tool")


def test_get_answers_none_to_what_is_no_address(store: Store) -> None:
    """Reading never raises over a wrong address."""
    (address,) = add(store, fact())
    assert store.get(address) is not None
    for wrong in ("", "ff", address.upper(), "z" * 64, address + "0"):
        assert store.get(wrong) is None
        assert store.children(wrong) == []
        assert not store.intact(wrong)
    assert store.intact(address)


def test_a_scan_is_in_arrival_order_and_never_reserved_unless_named(store: Store) -> None:
    """SUB-1, on both ways to find the positions of a type."""
    first = many(store, 700)
    hidden = add(store, fact("x", namespace="deja-loop"), fact("x", namespace="agent:a"), governed=True)
    second = many(store, 5)
    seen = list(store.scan("fact"))
    assert [g.address for g in seen] == first + second
    assert all(a.seq < b.seq for a, b in pairwise(seen))
    assert [g.address for g in store.scan("fact", after=seen[699].seq)] == second
    assert [g.address for g in store.scan("fact", namespaces=["deja-loop", "agent:a"])] == hidden
    assert list(store.scan("fact", namespaces=[])) == []
    assert list(store.scan("tool")) == list(store.scan("no such type")) == []


def test_a_scan_from_far_back_reads_by_type(store: Store) -> None:
    """Beyond 2,000 arrivals the index by type finds the positions; the answer is the same."""
    (one,) = add(store, note("first"))
    many(store, 2_100)
    (two,) = add(store, note("last"))
    assert [g.address for g in store.scan("observation")] == [one, two]


def test_a_scan_goes_on_while_the_memory_changes(store: Store) -> None:
    """It shows what was there when it began, minus what was erased since; live_only drops what died before its page."""
    addresses = many(store, 600)
    seen = []
    for grain in store.scan("fact"):
        seen.append(grain.address)
        if len(seen) == 1:
            forget(store, addresses[-1])
            many(store, 1)
    assert seen == addresses[:-1]
    with store.act() as act:
        act.mark(addresses[0], "hide")
    assert addresses[0] not in {g.address for g in store.scan("fact", live_only=True)}
    assert addresses[0] in {g.address for g in store.scan("fact")}


def test_counters_follow_arrivals_in_user_namespaces(store: Store) -> None:
    """D38: errors are failed calls with a known outcome; forgetting takes nothing back."""
    add(
        store,
        call("t", "boom", failed=True),
        call("t", "?", failed=True, status="pending", at=NOW + 1),
        fact(),
    )
    (mine,) = add(store, call("u", "bang", failed=True))
    add(store, fact(namespace="deja-loop"), governed=True)
    assert (store.counts().grains, store.counts().errors) == (4, 2)
    position = store.position()
    assert (position.grains, position.errors) == (4, 2)
    with store.act() as act:
        act.add(fact("inside"))
        assert store.position().grains == 5
        act.forget(store.recall(namespace="shared", subject="inside")[0].address)
    found = store.get(mine)
    assert found is not None
    assert position.seq == found.seq
    forget(store, mine)
    assert store.position() == (found.seq + 2, 5, 2)


def test_settings_hold_json_and_go_with_none(store: Store) -> None:
    """Small values by key, listed by prefix; what JSON cannot hold is refused."""
    with store.act() as act:
        act.set_setting("loop:a", {"on": True})
        act.set_setting("loop:b", [1, "zwei"])
        act.set_setting("loopy", 1)
        assert store.setting("loop:a") == {"on": True}
    assert store.settings("loop:") == {"loop:a": {"on": True}, "loop:b": [1, "zwei"]}
    assert store.settings("loop%") == {}
    with store.act() as act:
        act.set_setting("loop:a", None)
    assert store.setting("loop:a") is None
    for value in (object(), float("nan")):
        with refuses("VAL-E001"), store.act() as act:
            act.set_setting("x", value)


def test_stats_are_plain_numbers_that_agree_with_the_rows(store: Store) -> None:
    """What the file holds now, for people."""
    one, two = add(store, fact("a", at=NOW - 5), call("t", at=NOW))
    add(store, fact("b", namespace="other", at=NOW - 9))
    with store.act() as act:
        act.mark(one, "hide")
    forget(store, two)
    stats = store.stats()
    assert (stats["grains"], stats["live"], stats["forgotten"], stats["operations"]) == (2, 1, 1, 5)
    assert stats["by_type"] == {"fact": 2}
    assert stats["namespaces"] == {"other": 1, "shared": 1}
    assert (stats["last_seq"], stats["last_created_at"], stats["unindexed"]) == (3, NOW - 5, 3)
    assert stats["file_bytes"] > 0


def test_a_snapshot_shows_one_state_to_several_reads(store: Store, path: object) -> None:
    """INV-STORE-1."""
    add(store, fact("ada"))
    with Store.open(path) as other, other.snapshot() as seen:  # type: ignore[arg-type]
        assert len(seen.recall(namespace="shared")) == 1
        add(store, fact("bob"))
        assert len(seen.recall(namespace="shared")) == 1
        with other.snapshot():
            assert len(other.recall(namespace="shared")) == 1
    with Store.open(path) as other:  # type: ignore[arg-type]
        assert len(other.recall(namespace="shared")) == 2
