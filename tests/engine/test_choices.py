# SPDX-License-Identifier: Apache-2.0
"""Alternatives, findings that ask for a setting, and changes that lie outside: what an approval says, and an apply does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deja_tui.engine import config, lifecycle, reports, views
from deja_tui.engine.actors import caller
from deja_tui.engine.doc_edits import diff_of, digest, version_fields
from deja_tui.engine.operations import Alternative, DocEdit, Forget, Operation, Retire, Supersede
from deja_tui.engine.substrate import NewGrain, Substrate
from deja_tui.reference import ReferenceSubstrate
from tests.conformance.substrates import SUBSTRATES
from tests.engine.helpers import ANA, BEN, draft, everything, fact, plant, recalled, refused
from tests.engine.helpers import refused_unchanged as unchanged
from tests.support import DAY, NOW


@pytest.fixture(params=SUBSTRATES, ids=[name for name, _ in SUBSTRATES])
def substrate(request: pytest.FixtureRequest, tmp_path: Path) -> Substrate:
    found: Substrate = request.param[1](tmp_path)
    return found


def conflict(substrate: Substrate) -> tuple[str, str, str]:
    """Two values of one key and a recommendation that offers either: gold by default, silver as choice 1."""
    gold = fact(substrate, "acme", "tier", "gold", NOW - DAY)
    silver = fact(substrate, "acme", "tier", "silver", NOW - DAY + 1)
    choice = (
        Alternative("gold stays", (Retire(silver, gold),)),
        Alternative("silver stays", (Retire(gold, silver),)),
    )
    found = draft(choice[0].operations, [gold, silver], alternatives=choice)
    return gold, silver, plant(substrate, found)


# --- alternatives ------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", [0, 1])
def test_an_apply_carries_out_what_was_approved(substrate: Substrate, choice: int) -> None:
    """D20, LIF-6: the choice is stored in the approval; the apply executes that alternative and its undo takes it back."""
    gold, silver, address = conflict(substrate)
    before = recalled(substrate)
    lifecycle.approve(substrate, address, "seen", ANA, NOW, choice)
    assert reports.chain(substrate, address).entries[-1].choice == choice
    found = lifecycle.plan(substrate, address, ANA)
    assert (found.choice, found.refusal) == (choice, None)
    lifecycle.apply(substrate, address, "do it", BEN, NOW + 1)
    assert recalled(substrate) == [(gold, silver)[choice]]
    lifecycle.rollback(substrate, address, "undo", ANA, NOW + 2)
    assert recalled(substrate) == before


def test_the_default_is_the_first(substrate: Substrate) -> None:
    """D20: who says nothing has chosen what the recommendation proposes."""
    gold, _, address = conflict(substrate)
    lifecycle.approve_and_apply(substrate, address, "seen", ANA, NOW)
    assert recalled(substrate) == [gold]


def test_the_fused_call_takes_a_choice(substrate: Substrate) -> None:
    """D19, D20: what is not destructive may be approved and applied at once, whichever alternative it is."""
    _, silver, address = conflict(substrate)
    lifecycle.approve_and_apply(substrate, address, "seen", ANA, NOW, 1)
    assert recalled(substrate) == [silver]


@pytest.mark.parametrize("choice", [-1, 2, "1", None, 1.0])
def test_a_choice_that_is_not_there_is_refused(substrate: Substrate, choice: Any) -> None:
    """LOP-E011 at the approval, so that none is left behind that cannot be applied."""
    _, _, address = conflict(substrate)
    with unchanged(substrate, "LOP-E011"):
        lifecycle.approve(substrate, address, "seen", ANA, NOW, choice)
    with unchanged(substrate, "LOP-E011"):
        lifecycle.approve_and_apply(substrate, address, "seen", ANA, NOW, choice)


def test_without_alternatives_there_is_only_the_default(substrate: Substrate) -> None:
    """A number that some other recommendation has is no choice here."""
    gold, silver = (fact(substrate, "acme", "tier", value) for value in ("gold", "silver"))
    address = plant(substrate, draft([Retire(silver, gold)], [gold]))
    with unchanged(substrate, "LOP-E011"):
        lifecycle.approve(substrate, address, "seen", ANA, NOW, 1)
    lifecycle.approve(substrate, address, "seen", ANA, NOW, 0)


def test_the_dry_run_of_an_alternative_is_of_that_one(substrate: Substrate) -> None:
    """A reviewer looks at each before choosing."""
    gold, silver, address = conflict(substrate)
    plans = [lifecycle.plan(substrate, address, ANA, choice=number) for number in (0, 1)]
    assert [plan.operations for plan in plans] == [(Retire(silver, gold),), (Retire(gold, silver),)]
    with refused("LOP-E011"):
        lifecycle.plan(substrate, address, ANA, choice=2)


def staged(substrate: Substrate) -> tuple[str, str]:
    """A stale fact: marking it as expired by default, forgetting it as choice 1."""
    stale = fact(substrate, "acme", "tier", "gold", NOW - DAY)
    fields = {"subject": "acme", "relation": "tier", "object": "gold", "valid_to": NOW - 1}
    mild: tuple[Operation, ...] = (Supersede(stale, "fact", "shared", fields),)
    choice = (Alternative("mark it as expired", mild), Alternative("forget it", (Forget(stale),)))
    return stale, plant(substrate, draft(mild, [stale], alternatives=choice))


def test_a_destructive_alternative_has_the_triple_gate() -> None:
    """D19: an earlier approval of its own, admin, and the flag; the default of the same recommendation has none."""
    substrate = ReferenceSubstrate()
    stale, address = staged(substrate)
    with unchanged(substrate, "LOP-E023"):
        lifecycle.approve_and_apply(substrate, address, "fused", ANA, NOW, 1)
    lifecycle.approve(substrate, address, "seen", ANA, NOW, 1)
    with unchanged(substrate, "LOP-E023"):
        lifecycle.apply(substrate, address, "no flag", ANA, NOW + 1)
    helper = caller("user:helper", ["read", "write", "review", "apply"])
    with unchanged(substrate, "LOP-E023"):
        lifecycle.apply(substrate, address, "no admin", helper, NOW + 1, allow_destructive=True)
    lifecycle.apply(substrate, address, "now", ANA, NOW + 1, allow_destructive=True)
    assert substrate.get(stale) is None


def test_the_mild_alternative_needs_no_flag(substrate: Substrate) -> None:
    """A recommendation that could erase is not destructive when what was chosen does not."""
    stale, address = staged(substrate)
    lifecycle.approve_and_apply(substrate, address, "seen", ANA, NOW)
    grain = substrate.get(stale)
    assert grain is not None
    assert not grain.live


@pytest.mark.parametrize("planted", [7, "1", -1, True])
def test_an_approval_with_a_choice_that_is_none_carries_nothing_out(planted: Any) -> None:
    """D6: an entry that no approval of ours could have written applies nothing."""
    substrate = ReferenceSubstrate()
    _, _, address = conflict(substrate)
    lifecycle.approve(substrate, address, "seen", ANA, NOW, 1)
    entry = views.audits_of(substrate, address)[-1]
    grain = substrate.grains[entry.address]
    context = {**grain.get("context"), "choice": planted}
    object.__setattr__(grain, "fields", {**grain.fields, "context": context})
    with unchanged(substrate, "LOP-E011"):
        lifecycle.apply(substrate, address, "do it", ANA, NOW + 1)


# --- a finding that asks for a setting ---------------------------------------------------------------

ASKED = {
    "configure": {"analyzer": "loop.contradiction_sweep/1", "param": "extra_relations", "add": "timezone"}
}


def words(substrate: Substrate) -> str:
    row = config.rows(substrate).get("loop.contradiction_sweep/1")
    return str(row.config.params.get("extra_relations", "")) if row else ""


def asking(substrate: Substrate, data: Any = ASKED) -> str:
    return plant(substrate, draft([], [fact(substrate, "a", "timezone", "utc")], data=data))


def test_approving_a_learnt_relation_writes_the_setting(substrate: Substrate) -> None:
    """D25: through the configuration log, with the reviewer's reason; removing the word there is the undo."""
    address = asking(substrate)
    lifecycle.approve(substrate, address, "one value each", ANA, NOW)
    assert words(substrate) == "timezone"
    with unchanged(substrate, "LOP-E011"):
        lifecycle.apply(substrate, address, "nothing to do", ANA, NOW + 1)


def test_approving_it_needs_the_right_to_configure(substrate: Substrate) -> None:
    """D17: review alone writes no setting; refusing leaves both the setting and the status."""
    address = asking(substrate)
    with unchanged(substrate, "LOP-E022"):
        lifecycle.approve(substrate, address, "why", caller("user:ben", ["read", "review"]), NOW)
    assert words(substrate) == ""
    lifecycle.reject(substrate, address, "why", caller("user:ben", ["read", "review"]), NOW)


@pytest.mark.parametrize(
    "asked",
    [
        7, {}, {"analyzer": "x/1"}, {"analyzer": "x/1", "param": "enabled", "add": "true"},
        {"analyzer": "x/1", "param": "extra_relations", "add": ""}, {"analyzer": 1, "param": "extra_relations", "add": "y"},
    ],
)  # fmt: skip
def test_a_finding_asks_for_a_word_in_a_list_and_nothing_else(substrate: Substrate, asked: Any) -> None:
    """No proposal switches an analyzer on, raises a number, or grants anything."""
    address = asking(substrate, {"configure": asked})
    with unchanged(substrate, "LOP-E012"):
        lifecycle.approve(substrate, address, "why", ANA, NOW)


# --- what lies outside -------------------------------------------------------------------------------


def outside(substrate: Substrate, target: str = "host:cron/retention") -> str:
    return plant(
        substrate, draft([], [fact(substrate, "a", "b", "c")], target_ref=target, data={"set": "daily"})
    )


@pytest.mark.parametrize("target", ["host:cron/retention", "doc:AGENTS.md"])
def test_what_the_host_did_is_noted(substrate: Substrate, target: str) -> None:
    """D27, LIF-7: approved, done outside, marked: audited like any transition, with nothing written and nothing to undo."""
    address = outside(substrate, target)
    before = recalled(substrate)
    lifecycle.approve(substrate, address, "good", ANA, NOW)
    assert lifecycle.plan(substrate, address, ANA).outside
    with unchanged(substrate, "LOP-E027"):
        lifecycle.apply(substrate, address, "apply it", ANA, NOW + 1)
    receipt = lifecycle.mark_applied(substrate, address, "done in the crontab", BEN, NOW + 2)
    assert (receipt.to_status, receipt.results, receipt.chain_verified) == ("applied", (), True)
    last = reports.chain(substrate, address).entries[-1]
    assert (last.outside, last.actor, last.because) == (True, "user:ben", "done in the crontab")
    assert recalled(substrate) == before
    with unchanged(substrate, "LOP-E020"):
        lifecycle.rollback(substrate, address, "take it back", ANA, NOW + 3)


def test_nothing_is_marked_that_nobody_approved(substrate: Substrate) -> None:
    """LOP-E020: the reviewer's word comes first, here as everywhere; the fused call leaves no approval behind."""
    address = outside(substrate)
    with unchanged(substrate, "LOP-E020"):
        lifecycle.mark_applied(substrate, address, "done", ANA, NOW)
    with unchanged(substrate, "LOP-E027"):
        lifecycle.approve_and_apply(substrate, address, "done", ANA, NOW)


def test_marking_needs_the_right_to_apply_and_a_reason(substrate: Substrate) -> None:
    """D16, D17: as an apply."""
    address = outside(substrate)
    lifecycle.approve(substrate, address, "good", ANA, NOW)
    with unchanged(substrate, "LOP-E022"):
        lifecycle.mark_applied(substrate, address, "done", caller("user:x", ["read", "review", "write"]), NOW)
    for blank in ("", "  ", "x" * 501):
        with unchanged(substrate, "LOP-E011"):
            lifecycle.mark_applied(substrate, address, blank, ANA, NOW)


def test_a_change_of_this_memory_cannot_be_marked_as_done(substrate: Substrate) -> None:
    """LOP-E027: what is inside is applied, not claimed; and advice is acknowledged by approving it."""
    gold, silver = (fact(substrate, "acme", "tier", value) for value in ("gold", "silver"))
    for operations, data in (([Retire(silver, gold)], None), ([], {"skill": "deploy"})):
        address = plant(
            substrate, draft(operations, [gold], data=data, target_ref=f"entity:x/{len(operations)}")
        )
        lifecycle.approve(substrate, address, "good", ANA, NOW)
        with unchanged(substrate, "LOP-E027"):
            lifecycle.mark_applied(substrate, address, "done", ANA, NOW + 1)


def test_a_document_is_inside_when_its_chain_is_here(substrate: Substrate) -> None:
    """D27: the same edit is applied where the document lies, and only noted where it does not."""
    edit = DocEdit("/memories/notes.md", "shared", digest("a\n"), diff_of("a\n", "b\n"))
    address = plant(substrate, draft([edit], [fact(substrate, "a", "b", "c")], target_ref="doc:notes.md"))
    lifecycle.approve(substrate, address, "good", ANA, NOW)
    with unchanged(substrate, "LOP-E027"):
        lifecycle.apply(substrate, address, "why", ANA, NOW + 1)
    before = everything(substrate)
    substrate.put(NewGrain("fact", "shared", NOW, version_fields("/memories/notes.md", "a\n")))
    assert everything(substrate) != before
    with unchanged(substrate, "LOP-E027"):
        lifecycle.mark_applied(substrate, address, "done", ANA, NOW + 1)
    lifecycle.apply(substrate, address, "why", ANA, NOW + 2)
