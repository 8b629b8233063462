# SPDX-License-Identifier: Apache-2.0
"""The table of actions, rights and tiers."""

from __future__ import annotations

import pytest

from deja_tui.console.actions import ACTIONS, DECISIONS, SCOPES, Case, Rights, offered, refusal
from deja_tui.screens.analyzers import AnalyzerScreen, AnalyzersScreen
from deja_tui.screens.detail import DetailScreen
from deja_tui.screens.document import DocumentScreen
from deja_tui.screens.grain import GrainScreen, GrainsScreen
from deja_tui.screens.graph import GraphScreen
from deja_tui.screens.help import HelpScreen
from deja_tui.screens.memories import MemoriesScreen
from deja_tui.screens.outcomes import OutcomesScreen
from deja_tui.screens.overview import OverviewScreen
from deja_tui.screens.query import QueryScreen
from deja_tui.screens.queue import QueueScreen
from deja_tui.screens.session import SessionScreen
from deja_tui.screens.sessions import SessionsScreen
from deja_tui.screens.setup import SetupScreen
from deja_tui.screens.starter import StarterScreen
from deja_tui.screens.walker import WalkerScreen
from deja_tui.screens.whole import WholeScreen

SCREENS = {
    "overview": OverviewScreen,
    "sessions": SessionsScreen,
    "session": SessionScreen,
    "setup": SetupScreen,
    "starter": StarterScreen,
    "whole": WholeScreen,
    "analyzers": AnalyzersScreen,
    "analyzer": AnalyzerScreen,
    "outcomes": OutcomesScreen,
    "query": QueryScreen,
    "queue": QueueScreen,
    "detail": DetailScreen,
    "walker": WalkerScreen,
    "receipt": WalkerScreen,
    "summary": WalkerScreen,
    "help": HelpScreen,
    "memories": MemoriesScreen,
    "grain": GrainScreen,
    "grains": GrainsScreen,
    "graph": GraphScreen,
    "document": DocumentScreen,
}
ALL = Rights.of(None)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_action_is_handled_in_every_state_it_is_listed_for(action) -> None:
    """No key is bound to nothing, and no state is misspelt."""
    assert set(action.scopes) <= set(SCOPES)
    for scope in action.scopes:
        assert callable(getattr(SCREENS[scope], action.handler)), (scope, action.handler)


@pytest.mark.parametrize(
    "screen",
    sorted(set(SCREENS.values()), key=lambda screen: screen.__name__),
    ids=lambda screen: screen.__name__,
)
def test_every_handler_belongs_to_an_action(screen) -> None:
    """Nothing can be done that the table does not list."""
    known = {action.handler for action in ACTIONS}
    assert {name for name in dir(screen) if name.startswith("do_")} <= known


def test_ids_are_unique() -> None:
    """An id names one action for good: key maps use it."""
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)


@pytest.mark.parametrize(
    "scopes,flags,tier",
    [
        (None, {}, "APPLY"),
        (None, {"read_only": True}, "READ-ONLY"),
        (None, {"allow_destructive": True}, "DESTRUCTIVE"),
        (None, {"allow_destructive": True, "read_only": True}, "READ-ONLY"),
        (("read",), {}, "READ-ONLY"),
        (("read", "write"), {}, "READ-ONLY"),
        (("read", "review"), {}, "REVIEW"),
        (("read", "review", "apply"), {}, "REVIEW"),
        (("read", "review", "apply", "write"), {}, "APPLY"),
        (("read", "review", "apply", "write"), {"allow_destructive": True}, "APPLY"),
        (("admin",), {}, "APPLY"),
        (("admin",), {"allow_destructive": True}, "DESTRUCTIVE"),
    ],
)
def test_the_tier_follows_from_the_rights(scopes, flags, tier) -> None:
    """D18: each tier holds what the one before holds; admin holds every right; destruction needs its flag."""
    assert Rights.of(scopes, **flags).tier == tier


def test_a_missing_right_names_the_way_to_it() -> None:
    """The flag that took it, or the scope that gives it."""
    assert ALL.missing("apply") is None
    assert "--read-only" in Rights.of(None, read_only=True).missing("review")
    assert (
        Rights.of(("read", "review", "apply"))
        .missing("apply")
        .endswith("this needs the right `write`, given with --scopes")
    )
    assert Rights.of(("read",)).missing("read") is None


@pytest.mark.parametrize(
    "decision,case,why",
    [
        ("approve", Case("pending"), None),
        ("approve", Case("approved"), "only a pending recommendation can be approved: this one is approved"),
        ("approve", Case("pending", creator="me"), "nobody approves what they created: ask another reviewer"),
        ("reject", Case("pending", creator="me"), None),
        ("reject", Case("approved"), None),
        (
            "reject",
            Case("rolled_back"),
            "only a pending or approved recommendation can be rejected: this one is rolled back",
        ),
        ("apply", Case("pending"), "only an approved recommendation can be applied: this one is pending"),
        ("apply", Case("approved"), None),
        (
            "apply",
            Case("approved", destructive=True),
            "it cannot be undone: that needs the right admin and --allow-destructive",
        ),
        ("rollback", Case("applied"), None),
        (
            "rollback",
            Case("applied", rollbackable=False),
            "this apply has no inverse: what was forgotten is gone",
        ),
        (
            "approve",
            Case("pending", foreign=True),
            "it came from another copy of this memory: history here, not decided here",
        ),
        (
            "approve",
            Case("pending", replaced_by="ab" * 32),
            "the finding was refreshed since: the newer one is abababab",
        ),
        ("approve", Case("pending", verified=False), "its audit chain does not verify: decisions are off"),
    ],
)
def test_why_a_decision_is_not_possible(decision, case, why) -> None:
    """One sentence, before a reason is typed."""
    assert refusal(decision, case, ALL, "me") == why


def test_the_first_reason_is_the_missing_right() -> None:
    """The engine checks rights first, too (LIF-2)."""
    for decision in DECISIONS:
        assert "READ-ONLY" in refusal(decision, Case("expired", foreign=True), Rights.of(("read",)), "me")


def test_what_cannot_be_undone_is_not_hinted_to_be() -> None:
    """After a forget the receipt offers no `u`."""
    assert offered("rollback", Case("applied"))
    assert not offered("rollback", Case("applied", destructive=True, rollbackable=False))
