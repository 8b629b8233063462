# SPDX-License-Identifier: Apache-2.0
"""Who is asking: labels, reserved prefixes, rights."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.engine.actors import RIGHTS, Caller, caller
from tests.engine.helpers import refused


@pytest.mark.parametrize(
    "actor", ["a", "7", "user:ana", "ana@example.org", "A-b_c.d", "x" * 64, "agent:1", "enginex"]
)
def test_labels_that_are_fine(actor: str) -> None:
    """D22."""
    assert caller(actor).actor == actor


@pytest.mark.parametrize(
    "actor",
    ["", " ", "x" * 65, "-a", ":a", ".a", "@a", "_a", "a b", "a\n", "a\x00", "é", "a/b", "a;b", "user:ana ", "ａ", "a\u200b",
     None, 7, b"ana", ["a"]],
)  # fmt: skip
def test_malformed_labels_are_refused(actor: Any) -> None:
    """VAL-E003: nothing that could hide, break a line or be no text."""
    with refused("VAL-E003"):
        caller(actor)


@pytest.mark.parametrize("prefix", ["engine:", "policy:", "command:", "llm:"])
@pytest.mark.parametrize("spelling", [str, str.upper, str.title])
def test_labels_of_the_engine_are_refused_from_callers(prefix: str, spelling: Any) -> None:
    """D22, D14: nobody passes for an analyzer, a policy or a command, in any case."""
    with refused("VAL-E003"):
        caller(spelling(prefix) + "x")


def test_a_caller_cannot_be_made_around_the_check() -> None:
    """The check is in the making, so no surface can forget it."""
    with refused("VAL-E003"):
        Caller("engine:loop", frozenset({"review"}))
    with refused("VAL-E001"):
        Caller("user:ana", frozenset({"reviews"}))


@pytest.mark.parametrize("rights", [("owner",), ("read", "Write"), "read", ("",)])
def test_unknown_rights_are_refused(rights: Any) -> None:
    """VAL-E001: a typing mistake grants nothing, and a text is no list."""
    with refused("VAL-E001"):
        caller("user:ana", rights)


@given(st.sets(st.sampled_from(RIGHTS)))
def test_admin_holds_every_right_and_the_others_only_themselves(rights: set[str]) -> None:
    """D17: write grants neither review nor apply, apply does not grant write."""
    who = caller("user:ana", rights)
    for right in RIGHTS:
        assert who.may(right) == (right in rights or "admin" in rights)
        if who.may(right):
            who.need(right)
        else:
            with refused("LOP-E022"):
                who.need(right)


def test_no_rights_given_is_all_rights_and_an_empty_list_is_none() -> None:
    """The embedded caller and the command line hold all; a surface may be started with fewer."""
    assert all(caller("user:ana").may(right) for right in RIGHTS)
    assert not any(caller("user:ana", ()).may(right) for right in RIGHTS)
