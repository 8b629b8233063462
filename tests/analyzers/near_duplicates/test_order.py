# SPDX-License-Identifier: Apache-2.0
"""Notes with the same words in another order, and about other files: not the same statement."""

from __future__ import annotations

import pytest

from deja_tui.engine.substrate import NewGrain
from deja_tui.reference import ReferenceSubstrate
from tests.engine.helpers import go
from tests.support import NOW

LONG = (
    "while looking into the slow nightly export we saw that the large table had moved to the second disk and that the time"
    " goes into sorting rows before they are written out in pieces"
)


def found(one: str, other: str) -> int:
    substrate = ReferenceSubstrate()
    for n, text in enumerate((one, other)):
        content = {"object": text, "observer_id": "a", "observer_type": "agent"}
        substrate.put(NewGrain("observation", "shared", NOW - 9 + n, content))
    return go(substrate, only=("loop.duplicate_sweep/1",)).stored


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the client called the server", "the server called the client"),
        ("ana owes bo for lunch", "bo owes ana for lunch"),
        ("first stop the queue then drain it", "first drain the queue then stop it"),
    ],
)
def test_changed_places_are_another_statement(one: str, other: str) -> None:
    """However much both share."""
    assert found(f"{LONG} and {one}", f"{LONG} and {other}") == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("it is slow", "it is slow"),
        ("it is really slow", "it is slow"),
        ("it is slow, sadly", "it is, sadly, slow"),
        ("it is slow and wide", "it is wide and slow"),
    ],
)
def test_one_word_may_move(one: str, other: str) -> None:
    """A word that was put elsewhere, left out or repeated is the same note."""
    assert found(f"{LONG} and {one}", f"{LONG} and  {other}") == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src/api/rest/graph.rs", "src/api/rest/entities.rs"),
        ("C:\\logs\\alpha", "C:\\logs\\beta"),
        ("mail ana@shop.example", "mail bo@shop.example"),
        ("set retry_limit", "set retry_delay"),
        ("module net.http", "module net.ftp"),
    ],
)
def test_paths_and_identifiers_are_names(one: str, other: str) -> None:
    """Three edits of three files are three notes, however alike they are told."""
    assert found(f"{one} {LONG}", f"{other} {LONG}") == 0
