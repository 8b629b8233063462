# SPDX-License-Identifier: Apache-2.0
"""Merges, saved queries, documents and reverts: carried out and taken back in one act, on every memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import audit, lifecycle, reports, views
from deja_tui.engine.doc_edits import diff_of, digest, text_of, version_fields
from deja_tui.engine.operations import (
    Add,
    DefineQuery,
    DocEdit,
    Forget,
    Merge,
    Operation,
    Retire,
    Revert,
    Supersede,
)
from deja_tui.engine.substrate import NewGrain, Put, SavesQueries, Substrate
from deja_tui.errors import DejaError
from deja_tui.reference import BareSubstrate, ReferenceSubstrate
from tests.conformance.substrates import SUBSTRATES, Factory
from tests.engine.helpers import ANA, crash_on, draft, everything, fact, plant, recalled, refused
from tests.engine.helpers import refused_unchanged as unchanged
from tests.support import DAY, NOW

PATH = "/memories/notes.md"
OLD, NEW = "one\ntwo\n", "one\n2\nthree"
QUERY = "RECALL facts LIMIT 3"


@pytest.fixture(params=SUBSTRATES, ids=[name for name, _ in SUBSTRATES])
def substrate(request: pytest.FixtureRequest, tmp_path: Path) -> Substrate:
    factory: Factory = request.param[1]
    return factory(tmp_path)


@pytest.fixture
def saving(substrate: Substrate) -> Substrate:
    if not isinstance(substrate, SavesQueries):
        pytest.skip("this memory keeps no saved queries")
    return substrate


def decided(substrate: Substrate, operations: Sequence[Operation], seen: Sequence[str]) -> str:
    """An approved recommendation with these operations."""
    address = plant(substrate, draft(operations, seen))
    lifecycle.approve(substrate, address, "seen", ANA, NOW)
    return address


def rivals(substrate: Substrate, *values: str) -> list[str]:
    return [fact(substrate, "acme", "tier", value, NOW - DAY + n) for n, value in enumerate(values)]


def merged(heads: Sequence[str], value: str = "gold") -> Merge:
    return Merge(tuple(heads), "fact", "shared", {"subject": "acme", "relation": "tier", "object": value})


def document(substrate: Substrate, text: str = OLD, path: str = PATH) -> str:
    return substrate.put(NewGrain("fact", "shared", NOW - DAY, version_fields(path, text))).address


def text_now(substrate: Substrate) -> str:
    head = views.document(substrate, "shared", PATH)
    assert head is not None
    return text_of(head.fields)


def edited(before: str = OLD, after: str = NEW) -> DocEdit:
    return DocEdit(PATH, "shared", digest(before), diff_of(before, after))


def query_now(substrate: Substrate, scheme: str = "query") -> str | None:
    assert isinstance(substrate, SavesQueries)
    return substrate.saved_query("recent", scheme)


# --- merges -----------------------------------------------------------------------------------------


def test_a_merge_takes_the_place_of_every_head_and_gives_it_back(substrate: Substrate) -> None:
    """Design §8: one grain is live, it names its parents; the undo re-opens all of them, in their order."""
    heads = rivals(substrate, "gold", "silver", "bronze")
    before, marks = recalled(substrate), [(g.live, g.superseded_by) for g in map(substrate.get, heads) if g]
    address = decided(substrate, [merged(heads)], heads)
    (made,) = lifecycle.apply(substrate, address, "do it", ANA, NOW + 1).results
    assert recalled(substrate) == [made]
    grain = substrate.get(made)
    assert grain is not None
    assert list(grain.get("derived_from")) == [heads[0], address]
    assert list(grain.get("context")["merge_parents"]) == heads
    assert {g.superseded_by for g in map(substrate.get, heads) if g} == {made}
    lifecycle.rollback(substrate, address, "undo", ANA, NOW + 2)
    assert recalled(substrate) == before
    assert [(g.live, g.superseded_by) for g in map(substrate.get, heads) if g] == marks


def test_a_merge_is_later_than_what_it_merges(substrate: Substrate) -> None:
    """A reader that elects by time alone finds it, though a head was dated in the future."""
    heads = [fact(substrate, "acme", "tier", "gold", NOW + 5 * DAY), *rivals(substrate, "silver")]
    address = decided(substrate, [merged(heads)], heads)
    (made,) = lifecycle.apply(substrate, address, "do it", ANA, NOW + 1).results
    grain = substrate.get(made)
    assert grain is not None
    assert grain.created_at == NOW + 5 * DAY + 1


@pytest.mark.parametrize("moved", ["superseded", "retired"])
def test_a_merge_of_a_head_that_moved_is_refused(substrate: Substrate, moved: str) -> None:
    """APP-1: every head must still be what the finding saw."""
    heads = rivals(substrate, "gold", "silver")
    address = decided(substrate, [merged(heads)], heads)
    if moved == "superseded":
        content = {"subject": "acme", "relation": "tier", "object": "none"}
        substrate.supersede(heads[1], NewGrain("fact", "shared", NOW, content))
    else:
        substrate.mark(heads[1], "retire", heads[0])
    with unchanged(substrate, "LOP-E024"):
        lifecycle.apply(substrate, address, "do it", ANA, NOW + 1)


@pytest.mark.parametrize(("type_", "namespace"), [("fact", "elsewhere"), ("observation", "shared")])
def test_a_proposal_moves_nothing_out_of_sight(substrate: Substrate, type_: str, namespace: str) -> None:
    """APP-6: superseding or merging into another namespace or type would hide what recall returned."""
    heads = rivals(substrate, "gold", "silver")
    fields = {"subject": "acme", "relation": "tier", "object": "gold"}
    for operation in (
        Merge(tuple(heads), type_, namespace, fields),
        Supersede(heads[0], type_, namespace, fields),
    ):
        address = decided(substrate, [operation], heads)
        with unchanged(substrate, "LOP-E011"):
            lifecycle.apply(substrate, address, "do it", ANA, NOW + 1)
        lifecycle.withdraw(substrate, address, "no", ANA, NOW + 2)


def test_a_merge_keeps_the_context_it_was_given(substrate: Substrate) -> None:
    """The parents stand beside what the proposal says, and a proposal cannot name others."""
    heads = rivals(substrate, "gold", "silver")
    content = {
        "subject": "acme",
        "relation": "tier",
        "object": "gold",
        "context": {"why": "x", "merge_parents": ["y"]},
    }
    address = decided(substrate, [Merge(tuple(heads), "fact", "shared", content)], heads)
    (made,) = lifecycle.apply(substrate, address, "do it", ANA, NOW + 1).results
    grain = substrate.get(made)
    assert grain is not None
    assert (grain.get("context")["why"], list(grain.get("context")["merge_parents"])) == ("x", heads)


# --- saved queries and templates ---------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["query", "template"])
def test_a_new_query_is_there_and_gone_again(saving: Substrate, scheme: str) -> None:
    """D27: what was not there is not there after the undo."""
    body = QUERY if scheme == "query" else "{{subject}}: {{grain.content}}"
    seen = fact(saving, "a", "b", "c")
    address = decided(saving, [DefineQuery("recent", body, None, scheme)], [seen])
    lifecycle.apply(saving, address, "do it", ANA, NOW + 1)
    assert query_now(saving, scheme) == body
    lifecycle.rollback(saving, address, "undo", ANA, NOW + 2)
    assert query_now(saving, scheme) is None


def test_another_body_is_put_back_as_it_was(saving: Substrate) -> None:
    """D27: query targets replace the body and restore the prior one."""
    assert isinstance(saving, SavesQueries)
    saving.set_saved_query("recent", QUERY)
    seen = fact(saving, "a", "b", "c")
    address = decided(saving, [DefineQuery("recent", "RECALL goals", digest(QUERY))], [seen])
    before = recalled(saving)
    lifecycle.apply(saving, address, "do it", ANA, NOW + 1)
    assert (query_now(saving), recalled(saving)) == ("RECALL goals", before)
    lifecycle.rollback(saving, address, "undo", ANA, NOW + 2)
    assert query_now(saving) == QUERY


@pytest.mark.parametrize("now", [None, "RECALL goals"])
def test_a_query_that_is_not_what_the_proposal_saw_is_left(saving: Substrate, now: str | None) -> None:
    """APP-7: defined, changed or dropped since, in either direction."""
    assert isinstance(saving, SavesQueries)
    seen = fact(saving, "a", "b", "c")
    base = digest(QUERY) if now is None else None
    address = decided(saving, [DefineQuery("recent", "RECALL events", base)], [seen])
    saving.set_saved_query("recent", now)
    with unchanged(saving, "LOP-E024"):
        lifecycle.apply(saving, address, "do it", ANA, NOW + 1)
    assert query_now(saving) == now


def test_an_undo_of_a_query_that_was_changed_since_is_refused(saving: Substrate) -> None:
    """APP-3: what somebody defined after the apply is not taken away."""
    assert isinstance(saving, SavesQueries)
    seen = fact(saving, "a", "b", "c")
    address = decided(saving, [DefineQuery("recent", QUERY, None)], [seen])
    lifecycle.apply(saving, address, "do it", ANA, NOW + 1)
    saving.set_saved_query("recent", "RECALL goals")
    with unchanged(saving, "LOP-E024"):
        lifecycle.rollback(saving, address, "undo", ANA, NOW + 2)
    assert query_now(saving) == "RECALL goals"


@pytest.mark.parametrize("body", ["FORGET sha256:" + "a" * 64, 'ADD fact SET subject = "x"', "nonsense"])
def test_a_query_that_does_more_than_read_is_refused(saving: Substrate, body: str) -> None:
    """The memory's own language refuses it, when it is proposed to be applied and before anything is written."""
    seen = fact(saving, "a", "b", "c")
    address = decided(saving, [DefineQuery("recent", body, None)], [seen])
    told = lifecycle.plan(saving, address, ANA).refusal
    assert told is not None
    assert told.startswith("CAL-E05")
    before = everything(saving)
    with pytest.raises(DejaError):
        lifecycle.apply(saving, address, "do it", ANA, NOW + 1)
    assert everything(saving) == before
    assert query_now(saving) is None


def test_a_memory_without_saved_queries_says_so() -> None:
    """LOP-E032, not a crash: the proposal may have been made for another memory."""
    substrate = BareSubstrate()
    seen = fact(substrate, "a", "b", "c")
    address = decided(substrate, [DefineQuery("recent", QUERY, None)], [seen])
    with unchanged(substrate, "LOP-E032"):
        lifecycle.apply(substrate, address, "do it", ANA, NOW + 1)


def test_the_same_body_again_is_no_change(saving: Substrate) -> None:
    """LOP-E011: an apply that changes nothing would leave an undo that changes something."""
    assert isinstance(saving, SavesQueries)
    saving.set_saved_query("recent", QUERY)
    seen = fact(saving, "a", "b", "c")
    address = decided(saving, [DefineQuery("recent", QUERY, digest(QUERY))], [seen])
    with unchanged(saving, "LOP-E011"):
        lifecycle.apply(saving, address, "do it", ANA, NOW + 1)


# --- documents ---------------------------------------------------------------------------------------


def test_an_edited_document_is_a_new_version_and_the_old_one_comes_back(substrate: Substrate) -> None:
    """D27: apply supersedes; the undo goes back to the prior head itself, not to a copy."""
    head = document(substrate)
    before = recalled(substrate)
    address = decided(substrate, [edited()], [head])
    (made,) = lifecycle.apply(substrate, address, "do it", ANA, NOW + 1).results
    assert text_now(substrate) == NEW
    grain = substrate.get(made)
    assert grain is not None
    assert (list(grain.get("derived_from")), grain.get("subject")) == ([head, address], PATH)
    lifecycle.rollback(substrate, address, "undo", ANA, NOW + 2)
    assert text_now(substrate) == OLD
    assert recalled(substrate) == before


def test_an_edit_of_a_document_that_was_changed_since_is_refused(substrate: Substrate) -> None:
    """APP-7: the base digest is of the text that the proposal saw."""
    head = document(substrate)
    address = decided(substrate, [edited()], [head])
    substrate.supersede(head, NewGrain("fact", "shared", NOW, version_fields(PATH, "zero\n" + OLD)))
    with unchanged(substrate, "LOP-E024"):
        lifecycle.apply(substrate, address, "do it", ANA, NOW + 1)


@pytest.mark.parametrize("diff", ["@@ -1 +1 @@\n-zero\n+one\n", "no diff", "@@ -1,2 +1,2 @@\n one\n two\n"])
def test_an_edit_that_does_not_fit_changes_nothing(substrate: Substrate, diff: str) -> None:
    """EDIT-1: other words, no diff at all, or nothing to change."""
    head = document(substrate)
    address = decided(substrate, [DocEdit(PATH, "shared", digest(OLD), diff)], [head])
    before = everything(substrate)
    with pytest.raises(DejaError) as caught:
        lifecycle.apply(substrate, address, "do it", ANA, NOW + 1)
    assert caught.value.code in ("LOP-E011", "LOP-E024")
    assert everything(substrate) == before


def test_versions_keep_their_order_when_the_clock_stands_still(substrate: Substrate) -> None:
    """DOC-2: the newest version is the head, although an apply happened at an earlier time than the last edit."""
    head = substrate.put(NewGrain("fact", "shared", NOW + DAY, version_fields(PATH, OLD))).address
    address = decided(substrate, [edited()], [head])
    lifecycle.apply(substrate, address, "do it", ANA, NOW + 1)
    assert text_now(substrate) == NEW


# --- taking another recommendation back --------------------------------------------------------------


def test_a_revert_is_an_undo_with_its_own_approval(substrate: Substrate) -> None:
    """Design §8, LIF-8: the original is rolled back, its entry names the revert; recall is what it was before the original."""
    heads = rivals(substrate, "gold", "silver")
    before = recalled(substrate)
    original = decided(substrate, [merged(heads)], heads)
    lifecycle.apply(substrate, original, "do it", ANA, NOW + 1)
    address = plant(
        substrate, draft([Revert(original)], heads, target_ref="entity:shared/x#revert"), at=NOW + 2
    )
    lifecycle.approve(substrate, address, "worse", ANA, NOW + 3)
    found = lifecycle.plan(substrate, address, ANA)
    assert (found.refusal, found.undo, found.reverts) == (None, False, 1)
    receipt = lifecycle.apply(substrate, address, "really worse", ANA, NOW + 4)
    assert recalled(substrate) == before
    last = reports.chain(substrate, original).entries[-1]
    assert (last.to_status, last.because, last.address) == ("rolled_back", "really worse", receipt.results[0])
    for one in (original, address):
        assert reports.chain(substrate, one).verified
    with unchanged(substrate, "LOP-E020"):
        lifecycle.rollback(substrate, address, "no", ANA, NOW + 5)


def test_a_revert_of_what_is_no_longer_applied_is_refused(substrate: Substrate) -> None:
    """APP-1: rolled back by hand, forgotten targets, or never applied."""
    heads = rivals(substrate, "gold", "silver")
    original = decided(substrate, [Retire(heads[1], heads[0])], heads)
    address = decided(substrate, [Revert(original)], heads)
    with unchanged(substrate, "LOP-E024"):
        lifecycle.apply(substrate, address, "too early", ANA, NOW + 1)
    lifecycle.apply(substrate, original, "do it", ANA, NOW + 2)
    lifecycle.rollback(substrate, original, "by hand", ANA, NOW + 3)
    with unchanged(substrate, "LOP-E024"):
        lifecycle.apply(substrate, address, "too late", ANA, NOW + 4)


class _BrokenOff(BareSubstrate):
    """Five methods, no acts: one write of an audit entry is lost."""

    lost = -1

    def put(self, grain: NewGrain) -> Put:
        if grain.type == "observation" and self.lost == 0:
            self.lost = -1
            raise OSError("no space left")
        self.lost -= grain.type == "observation" and self.lost > 0
        return super().put(grain)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_revert_that_is_broken_off_is_carried_out_by_the_next_try(fused: bool, after: int) -> None:
    """Lesson 5: without acts a decision may be lost between two entries; nothing is stranded, and nothing is done twice."""
    substrate = _BrokenOff()
    heads = rivals(substrate, "gold", "silver")
    before = recalled(substrate)
    original = decided(substrate, [Retire(heads[1], heads[0])], heads)
    lifecycle.apply(substrate, original, "do it", ANA, NOW + 1)
    address = plant(
        substrate, draft([Revert(original)], heads, target_ref="entity:shared/x#revert"), at=NOW + 2
    )
    if not fused:
        lifecycle.approve(substrate, address, "worse", ANA, NOW + 3)
    substrate.lost = after
    with suppress(OSError):
        if fused:
            lifecycle.approve_and_apply(substrate, address, "worse", ANA, NOW + 4)
        else:
            lifecycle.apply(substrate, address, "worse", ANA, NOW + 4)
    status = lifecycle.find(substrate, address).status
    if status == "pending":
        lifecycle.approve_and_apply(substrate, address, "again", ANA, NOW + 5)
    elif status == "approved":
        assert lifecycle.plan(substrate, address, ANA).refusal is None
        lifecycle.apply(substrate, address, "again", ANA, NOW + 5)
    assert recalled(substrate) == before
    assert [lifecycle.find(substrate, one).status for one in (original, address)] == [
        "rolled_back",
        "applied",
    ]
    assert all(reports.chain(substrate, one).verified for one in (original, address))
    chain = reports.chain(substrate, original).entries
    assert [entry.to_status for entry in chain].count("rolled_back") == 1
    assert reports.chain(substrate, address).entries[-1].results == (chain[-1].address,)


@pytest.mark.parametrize("kind", ["retire", "merge", "add"])
def test_a_rollback_that_is_broken_off_can_be_tried_again(kind: str) -> None:
    """APP-5: its entry is lost without acts; what was applied holds again, and the next try takes it back."""
    substrate = _BrokenOff()
    heads = rivals(substrate, "gold", "silver")
    before = recalled(substrate)
    change = {
        "retire": Retire(heads[1], heads[0]),
        "merge": merged(heads),
        "add": Add("fact", "shared", {"subject": "x", "relation": "y", "object": "z"}),
    }[kind]
    address = decided(substrate, [change], heads)
    lifecycle.apply(substrate, address, "do it", ANA, NOW + 1)
    held = [(one.address, one.live, one.superseded_by) for one in substrate.scan("fact")]
    substrate.lost = 0
    with pytest.raises(OSError, match="no space"):
        lifecycle.rollback(substrate, address, "undo", ANA, NOW + 2)
    assert [(one.address, one.live, one.superseded_by) for one in substrate.scan("fact")] == held
    assert lifecycle.find(substrate, address).status == "applied"
    lifecycle.rollback(substrate, address, "undo", ANA, NOW + 3)
    assert recalled(substrate) == before
    assert reports.chain(substrate, address).verified


def test_a_revert_of_something_that_is_no_recommendation_is_refused(substrate: Substrate) -> None:
    """LOP-E040, as every decision about an address that is none."""
    heads = rivals(substrate, "gold", "silver")
    address = decided(substrate, [Revert(heads[0])], heads)
    with unchanged(substrate, "LOP-E040"):
        lifecycle.apply(substrate, address, "why", ANA, NOW + 1)


def test_what_cannot_be_undone_cannot_be_reverted() -> None:
    """A revert is no way around the missing inverse of an erasure."""
    substrate = ReferenceSubstrate()
    heads = rivals(substrate, "gold", "silver")
    original = decided(substrate, [Forget(heads[0])], heads)
    lifecycle.apply(substrate, original, "do it", ANA, NOW + 1, allow_destructive=True)
    address = decided(substrate, [Revert(original)], heads[1:])
    with unchanged(substrate, "LOP-E020"):
        lifecycle.apply(substrate, address, "why", ANA, NOW + 2)


# --- all or nothing, on every memory -----------------------------------------------------------------

WRITES = ("put", "supersede", "merge", "mark", "set_saved_query", "ledger_put")


class FullDisk(Exception):
    """The write that could not be done."""


def fail_after(substrate: Substrate, allowed: int | None) -> Callable[[], None]:
    """Let ``allowed`` more writes through; returns what takes the limit away."""
    left = [allowed]
    real = {name: getattr(substrate, name) for name in WRITES if hasattr(substrate, name)}

    def limited(name: str) -> Callable[..., Any]:
        def write(*args: Any, **kwargs: Any) -> Any:
            if left[0] is not None:
                left[0] -= 1
                if left[0] < 0:
                    raise FullDisk
            return real[name](*args, **kwargs)

        return write

    for name in real:
        setattr(substrate, name, limited(name))

    def restore() -> None:
        for name, method in real.items():
            setattr(substrate, name, method)

    return restore


def every_change(substrate: Substrate) -> tuple[list[Operation], list[str]]:
    """One operation of every kind that has an inverse."""
    heads = rivals(substrate, "gold", "silver")
    copies = [fact(substrate, "tea", "is", "green", NOW - DAY + n) for n in range(3)]
    document(substrate)
    operations: list[Operation] = [
        merged(heads),
        Retire(copies[1], copies[0]),
        Supersede(copies[2], "fact", "shared", {"subject": "tea", "relation": "is", "object": "black"}),
        Add("observation", "shared", {"object": "x"}),
        edited(),
    ]
    if isinstance(substrate, SavesQueries):
        operations.append(DefineQuery("recent", QUERY, None))
    return operations, [*heads, *copies]


def state(substrate: Substrate) -> tuple[Any, ...]:
    query = query_now(substrate) if isinstance(substrate, SavesQueries) else None
    return everything(substrate), query, [row.status for row in views.ledger(substrate)]


@pytest.fixture(params=["reference", "file"])
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Substrate]]:
    made: list[Substrate] = []

    def make() -> Substrate:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(dict(SUBSTRATES)[request.param](folder))
        return made[-1]

    yield make
    for one in made:
        if isinstance(one, StoreSubstrate):
            one._store.close()


@pytest.mark.parametrize("decision", ["apply", "rollback", "revert"])
def test_a_failure_at_any_write_leaves_nothing_half_done(
    fresh: Callable[[], Substrate], decision: str
) -> None:
    """SUB-5: whichever write fails, the memory is what it was, the decision can be tried again, and then it is done."""

    def prepared() -> tuple[Substrate, Callable[[], object]]:
        substrate = fresh()
        operations, seen = every_change(substrate)
        address = decided(substrate, operations, seen[:1])
        if decision == "apply":
            return substrate, lambda: lifecycle.apply(substrate, address, "why", ANA, NOW + 1)
        lifecycle.apply(substrate, address, "why", ANA, NOW + 1)
        if decision == "rollback":
            return substrate, lambda: lifecycle.rollback(substrate, address, "why", ANA, NOW + 2)
        back = plant(substrate, draft([Revert(address)], seen[:1], target_ref="entity:x/y#z"), at=NOW + 2)
        lifecycle.approve(substrate, back, "why", ANA, NOW + 2)
        return substrate, lambda: lifecycle.apply(substrate, back, "why", ANA, NOW + 3)

    for allowed in range(60):
        substrate, act = prepared()
        before = state(substrate)
        restore = fail_after(substrate, allowed)
        try:
            act()
        except FullDisk:
            restore()
            assert state(substrate) == before
            act()
            assert state(substrate) != before
        else:
            assert allowed > 5, "the act writes more than that"
            return
    pytest.fail("the act never ends")


def test_an_undo_of_every_change_restores_what_recall_returned(substrate: Substrate) -> None:
    """APP-4: all kinds together, on every memory."""
    operations, seen = every_change(substrate)
    before = recalled(substrate)
    address = decided(substrate, operations, seen[:1])
    lifecycle.apply(substrate, address, "why", ANA, NOW + 1)
    assert recalled(substrate) != before
    lifecycle.rollback(substrate, address, "why", ANA, NOW + 2)
    assert recalled(substrate) == before
    assert text_now(substrate) == OLD
    if isinstance(substrate, SavesQueries):
        assert query_now(substrate) is None
    assert audit.chain(substrate, lifecycle.find(substrate, address)).verified


def test_a_failed_merge_is_taken_back_even_without_acts() -> None:
    """APP-5: five methods and no merge of its own: the heads are live again."""
    substrate = BareSubstrate()
    heads = rivals(substrate, "gold", "silver", "bronze")
    before = recalled(substrate)
    address = decided(substrate, [merged(heads)], heads)
    for n, head in enumerate(heads[1:]):
        real = substrate.mark
        crash_on(substrate, "mark", lambda one, kind, by=None, head=head: (one, kind) == (head, "supersede"))
        with pytest.raises(OSError, match="no room"):
            lifecycle.apply(substrate, address, "why", ANA, NOW + 1 + n)
        substrate.mark = real  # type: ignore[method-assign]
        assert recalled(substrate) == before
    with refused("LOP-E020"):
        lifecycle.rollback(substrate, address, "nothing to undo", ANA, NOW + 8)
    lifecycle.apply(substrate, address, "why", ANA, NOW + 9)
    lifecycle.rollback(substrate, address, "why", ANA, NOW + 10)
    assert recalled(substrate) == before
