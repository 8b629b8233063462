# SPDX-License-Identifier: Apache-2.0
"""Every kind of change on a memory, carried out and taken back; drafts; alternatives; what lies outside."""

from __future__ import annotations

from collections.abc import Sequence

from deja_tui.engine import drafts, lifecycle, reports, views
from deja_tui.engine.conformance.filling import (
    ANA,
    BEN,
    DAY,
    NOW,
    Skipped,
    check,
    draft,
    fact,
    plant,
    recalled,
    refused,
    there,
)
from deja_tui.engine.doc_edits import diff_of, digest, text_of, version_fields
from deja_tui.engine.operations import (
    Add,
    Alternative,
    DefineQuery,
    DocEdit,
    Merge,
    Operation,
    Retire,
    Revert,
    Supersede,
)
from deja_tui.engine.substrate import NewGrain, SavesQueries, Substrate

_PATH = "/memories/notes.md"


def _two(substrate: Substrate) -> tuple[str, str]:
    return (
        fact(substrate, "acme", "tier", "gold", NOW - DAY),
        fact(substrate, "acme", "tier", "silver", NOW - DAY + 1),
    )


def _there_and_back(
    substrate: Substrate, operations: Sequence[Operation], cited: Sequence[str]
) -> tuple[str, ...]:
    """Approve, apply and roll back; recall answers as before. What the apply wrote."""
    before = recalled(substrate)
    address = plant(substrate, draft(operations, cited))
    lifecycle.approve(substrate, address, "seen", ANA, NOW + 1)
    assert lifecycle.plan(substrate, address, ANA).refusal is None
    applied = lifecycle.apply(substrate, address, "do it", BEN, NOW + 2)
    assert applied.chain_verified, "the chain verifies after an apply"
    undone = lifecycle.rollback(substrate, address, "take it back", ANA, NOW + 3)
    assert undone.chain_verified, "the chain verifies after a rollback"
    assert recalled(substrate) == before, "recall answers what it answered before the apply"
    return applied.results


@check
def grains_are_added_superseded_and_retired_and_come_back(substrate: Substrate) -> None:
    """An undo restores recall after any mix of grain changes."""
    one, two = _two(substrate)
    three = fact(substrate, "bob", "likes", "tea")
    fields = {"subject": "bob", "relation": "likes", "object": "coffee"}
    changes: list[Operation] = [
        Retire(two, one),
        Supersede(three, "fact", "shared", fields),
        Add("observation", "shared", {"object": "seen"}),
    ]
    _there_and_back(substrate, changes, [one])
    assert there(substrate, two).live
    assert there(substrate, three).superseded_by is None


@check
def a_merge_takes_the_place_of_all_its_heads(substrate: Substrate) -> None:
    """One grain is live and names what it merged; the undo opens every head again."""
    heads = _two(substrate)
    fields = {"subject": "acme", "relation": "tier", "object": "gold"}
    (made,) = _there_and_back(substrate, [Merge(heads, "fact", "shared", fields)], heads)
    grain = there(substrate, made)
    assert (grain.live, list(grain.get("context")["merge_parents"])) == (False, list(heads))
    assert all(there(substrate, head).live for head in heads)


@check
def a_document_is_edited_and_comes_back(substrate: Substrate) -> None:
    """The edit is a version of the document; on another text it is refused and changes nothing."""
    before, after = "one\ntwo\n", "one\n2\n"
    head = substrate.put(NewGrain("fact", "shared", NOW - DAY, version_fields(_PATH, before))).address
    edit = DocEdit(_PATH, "shared", digest(before), diff_of(before, after))
    (made,) = _there_and_back(substrate, [edit], [head])
    assert text_of(there(substrate, made).fields) == after
    found = views.document(substrate, "shared", _PATH)
    assert found is not None
    assert found.address == head, "the undo goes back to the very version that was there"
    address = plant(substrate, draft([edit], [head], target_ref="doc:notes.md"), at=NOW + 4)
    lifecycle.approve(substrate, address, "seen", ANA, NOW + 5)
    substrate.supersede(head, NewGrain("fact", "shared", NOW + 5, version_fields(_PATH, "zero\n")))
    with refused("LOP-E024"):
        lifecycle.apply(substrate, address, "too late", ANA, NOW + 6)


@check
def a_saved_query_is_defined_and_gone_again(substrate: Substrate) -> None:
    """A memory that saves queries restores the prior body; one that does not says LOP-E032."""
    cited, _ = _two(substrate)
    define = DefineQuery("recent", "RECALL facts LIMIT 3", None)
    if not isinstance(substrate, SavesQueries):
        address = plant(substrate, draft([define], [cited]))
        lifecycle.approve(substrate, address, "seen", ANA, NOW)
        with refused("LOP-E032"):
            lifecycle.apply(substrate, address, "do it", ANA, NOW)
        raise Skipped("this memory saves no queries")
    _there_and_back(substrate, [define], [cited])
    assert substrate.saved_query("recent") is None
    substrate.set_saved_query("recent", define.body)
    again = DefineQuery("recent", "RECALL goals", digest(define.body))
    address = plant(substrate, draft([again], [cited], target_ref="query:recent"), at=NOW + 4)
    lifecycle.approve_and_apply(substrate, address, "better", ANA, NOW + 5)
    assert substrate.saved_query("recent") == "RECALL goals"
    lifecycle.rollback(substrate, address, "worse", ANA, NOW + 6)
    assert substrate.saved_query("recent") == define.body


@check
def a_revert_is_an_undo_that_was_reviewed(substrate: Substrate) -> None:
    """Applying it rolls the original back, once, and the original's trail names who and why."""
    one, two = _two(substrate)
    before = recalled(substrate)
    original = plant(substrate, draft([Retire(two, one)], [one]))
    lifecycle.approve_and_apply(substrate, original, "same", ANA, NOW + 1)
    address = plant(
        substrate, draft([Revert(original)], [one], target_ref=f"entity:shared/x#{original}"), at=NOW + 2
    )
    lifecycle.approve_and_apply(substrate, address, "worse than before", BEN, NOW + 3)
    assert recalled(substrate) == before
    last = reports.chain(substrate, original).entries[-1]
    assert (last.to_status, last.actor, last.because) == ("rolled_back", "user:ben", "worse than before")
    with refused("LOP-E020"):
        lifecycle.rollback(substrate, original, "twice", ANA, NOW + 4)


@check
def an_apply_carries_out_the_alternative_that_was_approved(substrate: Substrate) -> None:
    """The choice is kept in the approval; one that is not there is refused."""
    gold, silver = _two(substrate)
    choices = (
        Alternative("gold stays", (Retire(silver, gold),)),
        Alternative("silver stays", (Retire(gold, silver),)),
    )
    address = plant(substrate, draft(choices[0].operations, [gold, silver], alternatives=choices))
    with refused("LOP-E011"):
        lifecycle.approve(substrate, address, "which?", ANA, NOW, 2)
    lifecycle.approve(substrate, address, "seen", ANA, NOW, 1)
    assert reports.show(substrate, address, ANA).choice == 1
    lifecycle.apply(substrate, address, "do it", ANA, NOW + 1)
    assert recalled(substrate) == [silver]


@check
def a_draft_is_approved_by_somebody_else(substrate: Substrate) -> None:
    """What is submitted is pending, names who asked, and is open once."""
    gold, _ = _two(substrate)
    fields = {"subject": "acme", "relation": "tier", "object": "bronze"}

    def propose(now: int) -> str:
        return drafts.propose(
            substrate,
            target="entity:shared/acme#tier",
            note="seen on the invoice",
            evidence=[gold],
            caller=ANA,
            now_ms=now,
            operations=[Supersede(gold, "fact", "shared", fields)],
        )

    address = propose(NOW)
    detail = reports.show(substrate, address, BEN)
    assert (detail.creator, detail.origin, detail.status) == ("user:ana", "submitted", "pending")
    with refused("LOP-E021"):
        lifecycle.approve(substrate, address, "mine", ANA, NOW + 1)
    with refused("LOP-E028"):
        propose(NOW + 1)
    lifecycle.approve_and_apply(substrate, address, "seen, too", BEN, NOW + 2)


@check
def what_the_host_does_is_marked_and_never_applied(substrate: Substrate) -> None:
    """A change outside the memory is approved, made there, and noted with who and why."""
    cited, _ = _two(substrate)
    address = plant(substrate, draft([], [cited], target_ref="host:cron", data={"run": "daily"}))
    lifecycle.approve(substrate, address, "good", ANA, NOW)
    with refused("LOP-E027"):
        lifecycle.apply(substrate, address, "apply it", ANA, NOW + 1)
    assert lifecycle.mark_applied(substrate, address, "done", BEN, NOW + 2).chain_verified
    assert reports.chain(substrate, address).entries[-1].outside
