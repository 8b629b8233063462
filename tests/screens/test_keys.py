# SPDX-License-Identifier: Apache-2.0
"""Every key of the key map, pressed by a person on the demo: what it does is seen on the screen.

A step is a key, the action it must be in that state, and what the screen shows after it; ``type:`` types a text. The last
test compares the steps with the table of actions: an action without a step is red.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deja_tui.console.actions import ACTIONS, BY_ID
from deja_tui.console.keymap import Keymap
from tests.screens import recorded
from tests.screens.user import Hand, User, destroyer, make_app

Step = tuple[str, str, str]
TYPED = ""


@dataclass(frozen=True)
class Way:
    """Steps of one sitting, from a place on."""

    at: str
    steps: tuple[Step, ...]


WAYS: dict[str, Way] = {
    "places": Way(
        "queue",
        (
            ("1", "go.overview", "[1 Overview]"),
            ("2", "go.sessions", "[2 Sessions]"),
            ("3", "go.queue", "[3 Queue:12]"),
            ("4", "go.analyzers", "[4 Analyzers]"),
            ("5", "go.outcomes", "[5 Outcomes]"),
            ("6", "go.setup", "[6 Setup]"),
            ("7", "go.memories", "[7 Memories]"),
            ("8", "go.query", "[8 Query]"),
        ),
    ),
    "overview": Way(
        "overview",
        (
            ("o", "overview.sort", "sorted by most open"),
            ("j", "move.down", "▸duplicate_sweep"),
            ("e", "analyzers.found", "filter «duplicate_sweep»"),
            ("1", "go.overview", "▸duplicate_sweep"),
            ("enter", "overview.open", "[4 Analyzers]"),
            ("1", "go.overview", "[1 Overview]"),
            ("R", "overview.run", "ran: "),
            ("V", "overview.verify", "verified: no fault"),
            ("h", "overview.stop", "[1 Overview]"),
            ("w", "queue.walk", "deja review  1 of 12"),
        ),
    ),
    "walk": Way(
        "queue",
        (
            ("w", "queue.walk", "1 of 12"),
            ("o", "detail.grains", "deja grains of"),
            ("tab", "grain.next_link", "▸"),
            ("shift+tab", "grain.previous_link", "▸"),
            ("h", "detail.back", "1 of 12"),
            ("m", "detail.model", "nothing here was written by a model"),
            ("e", "queue.evidence", "Evidence 5 of 5"),
            ("t", "queue.trail", "Trail, chain verified"),
            ("enter", "detail.whole", "tool_call_id"),
            ("d", "queue.dry_run", "1 add, 0 retire, 0 forget"),
            ("s", "walker.skip", "skipped 1"),
            ("a", "queue.approve", "APPROVE BECAUSE>"),
            ("type:seen in three sessions", TYPED, "seen in three sessions"),
            ("enter", TYPED, "APPROVED"),
            ("p", "queue.apply", "APPLY BECAUSE>"),
            ("type:the team agrees", TYPED, "the team agrees"),
            ("enter", TYPED, "APPLIED"),
            ("u", "queue.rollback", "ROLL BACK BECAUSE>"),
            ("type:it was too early", TYPED, "too early"),
            ("enter", TYPED, "ROLLED BACK"),
            ("enter", "walker.next", "3 of 12"),
            ("x", "queue.reject", "REJECT BECAUSE>"),
            ("escape", TYPED, "3 of 12"),
            ("q", "app.quit", "Left at 3 of 12"),
            ("h", "walker.close", "[3 Queue:11]"),
        ),
    ),
    "queue": Way(
        "queue",
        (
            ("f", "queue.status", "No approved"),
            ("f", "queue.status", "rejected  1/1"),
            ("f", "queue.status", "applied  1/1"),
            ("o", "queue.sort", "sorted by newest"),
            ("/", "queue.filter", "Filter>"),
            ("type:push", TYPED, "filter «push»"),
            ("enter", TYPED, "git_push"),
            ("h", "queue.clear", "applied  1/1  by newest "),
            ("]", "move.next_section", "-- Evidence"),
            ("[", "move.previous_section", "git_push"),
            ("enter", "queue.open", "Change, literal"),
            ("G", "move.last", "outcome"),
            ("g", "move.first", "Change, literal"),
            ("ctrl+d", "move.page_down", "outcome"),
            ("ctrl+u", "move.page_up", "Change, literal"),
            ("/", "move.find", "Find>"),
            ("type:sess-31", TYPED, "sess-31"),
            ("enter", TYPED, "match 1 of"),
            ("n", "move.next_match", "match 2 of"),
            ("N", "move.previous_match", "match 1 of"),
            ("h", "detail.back", "[3 Queue"),
            ("r", "app.reload", "read again"),
        ),
    ),
    "done outside": Way(
        "queue",
        (
            ("/", "queue.filter", "Filter>"),
            ("type:write_migration", TYPED, "skill_stall"),
            ("enter", TYPED, "▸M  skill_stall"),
            ("a", "queue.approve", "APPROVE BECAUSE>"),
            ("type:it is time", TYPED, "it is time"),
            ("enter", TYPED, "APPROVED"),
            ("P", "queue.mark_applied", "its change is this memory's own"),
            ("enter", "walker.next", "[3 Queue:11]"),
        ),
    ),
    "analyzers": Way(
        "analyzers",
        (
            ("o", "overview.sort", "sorted by most open"),
            ("d", "analyzers.look", "nothing was written"),
            ("h", "detail.back", "[4 Analyzers]"),
            ("k", "move.up", "▸on  tool_failure"),
            ("space", "analyzers.switch", "DISABLE tool_failure BECAUSE>"),
            ("escape", TYPED, "[4 Analyzers]"),
            ("enter", "analyzers.open", "tool_failure/1  settings"),
            ("enter", "analyzers.edit", "min_count>"),
            ("escape", TYPED, "settings"),
            ("h", "detail.back", "[4 Analyzers]"),
        ),
    ),
    "outcomes": Way(
        "outcomes",
        (
            ("o", "overview.sort", "sorted by most applied"),
            ("g", "move.first", "▸tool_failure"),
            ("j", "move.down", "7 days"),
            ("u", "outcomes.revert", "BACK BECAUSE>"),
            ("escape", TYPED, "[5 Outcomes]"),
            ("enter", "outcomes.open", "Trail, chain verified"),
        ),
    ),
    "sessions": Way(
        "sessions",
        (
            ("]", "sessions.next_error", "▸sess-43"),
            ("[", "sessions.previous_error", "▸sess-44"),
            ("f", "sessions.errors", "errors only"),
            ("enter", "sessions.open", "session sess-44"),
            ("]", "sessions.next_error", "ERROR"),
            ("v", "session.whole", "tool_call_id"),
            ("h", "detail.back", "session sess-44"),
            ("enter", "session.open", "Change, literal"),
        ),
    ),
    "setup": Way(
        "setup",
        (
            ("]", "setup.next_snippet", "2/2"),
            ("[", "setup.previous_snippet", "1/2"),
            ("j", "move.down", "▸todo instruction doc"),
            ("y", "setup.copy", "sent to the terminal"),
            ("v", "setup.whole", "deja from a file of yours"),
            ("h", "detail.back", "[6 Setup]"),
            ("h", "setup.stop", "[6 Setup]"),
            ("enter", "setup.open", "coding-agent"),
            ("o", "starter.other", "support-agent"),
            ("enter", "starter.save", "[6 Setup]"),
            ("7", "go.memories", "[7 Memories]"),
            ("enter", "memories.open", "Fields"),
            ("E", "memories.edit", "Esc"),
            ("type:x", TYPED, "x"),
            ("escape", TYPED, "+ "),
            ("e", "document.again", "Esc"),
            ("escape", TYPED, "+ "),
            ("enter", "document.save", "saved"),
        ),
    ),
    "memories": Way(
        "memories",
        (
            ("f", "memories.view", "1/82  live"),
            ("F", "memories.kind", "live"),
            ("o", "memories.sort", "oldest"),
            ("/", "memories.filter", "Filter>"),
            ("type:acme", TYPED, "acme"),
            ("enter", TYPED, "filter «acme»"),
            ("enter", "memories.open", "Fields"),
            ("i", "memories.graph", "deploy_target"),
            ("+", "graph.deeper", "2 of 3 steps"),
            ("-", "graph.nearer", "1 of 3 steps"),
            ("tab", "grain.next_link", "▸"),
            ("enter", "grain.open", "Fields"),
            ("7", "go.memories", "filter «acme»"),
            ("h", "memories.clear", "[7 Memories]"),
        ),
    ),
    "query": Way(
        "query",
        (
            ("i", "query.type", "Enter runs"),
            ("type:RECALL facts", TYPED, "CAL> RECALL facts"),
            ("enter", TYPED, "[Result"),
            ("e", "query.explain", "EXPLAIN"),
            ("h", "query.back", "[Result"),
            ("D", "query.define", "DEFINE QUERY"),
            ("escape", TYPED, "[8 Query]"),
            ("enter", "query.open", "Fields"),
            ("h", "detail.back", "[8 Query]"),
            ("]", "move.next_section", "[Saved"),
            ("E", "query.edit", "Enter runs"),
        ),
    ),
    # grain → recommendation → trail → outcome → trail → grain, and back the same way
    "circle": Way(
        "memories",
        (
            ("/", "memories.filter", "Filter>"),
            ("type:git_push", TYPED, "git_push"),
            ("enter", TYPED, "filter «git_push»"),
            ("G", "move.last", "rejected: non-fast-forward"),
            ("enter", "memories.open", "Fields"),
            ("G", "move.last", "cited as evidence by"),
            ("enter", "grain.open", "APPLIED"),
            ("t", "queue.trail", "pull before push"),
            ("5", "go.outcomes", "applied, in effect from"),
            ("enter", "outcomes.open", "pull before push"),
            ("o", "detail.grains", "deja grains of"),
            ("enter", "grain.open", "fails_with"),
            ("G", "move.last", "written by applying"),
            ("enter", "grain.open", "APPLIED"),
            ("5", "go.outcomes", "applied, in effect from"),
            ("enter", "outcomes.open", "pull before push"),
            ("2", "go.sessions", "session sess-31"),
            ("enter", "session.open", "APPLIED"),
        ),
    ),
    "everywhere": Way(
        "queue",
        (
            ("y", "app.copy", "address sent to the terminal"),
            ("Y", "app.copy_cal", "CAL sent to the terminal"),
            ("C", "app.command", "command line sent to the terminal"),
            (":", "app.palette", "Action>"),
            ("escape", TYPED, "[3 Queue"),
            ("M", "app.mouse", "mouse"),
            ("T", "app.theme", "theme "),
            ("?", "app.help", "keys of Queue"),
            ("q", "app.quit", "[3 Queue"),
            ("ctrl+l", "app.repaint", "[3 Queue"),
            ("ctrl+z", "app.suspend", "[3 Queue"),
            ("v", "app.pager", "[3 Queue"),
        ),
    ),
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[recorded.Recorded]:
    """The demo, to be written to."""
    found = recorded.opened(recorded.demo, fresh=tmp_path)
    yield found
    found.memory.close()


@pytest.mark.parametrize("name", WAYS)
async def test_each_key_does_what_the_table_says(
    name: str, memory: recorded.Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands for the named action in that state, and what the action promises is on the screen."""
    monkeypatch.setenv("PAGER", "true")
    hand, way = Hand(), WAYS[name]
    app = make_app(
        memory, hand, file_of=memory, grains=memory.memory, rights=destroyer(), actor="user:ana", at=way.at
    )  # type: ignore[arg-type]
    async with app.run_test(size=(100, 30)) as pilot:
        user = User(app, pilot, memory, hand)  # type: ignore[arg-type]
        await user.settle()
        for key, action, sees in way.steps:
            if key.startswith("type:"):
                await user.type(key.removeprefix("type:"))
            else:
                found = app.keymap.find(user.screen.scope, key)
                assert action == TYPED or (found is not None and found.id == action), (key, user.screen.scope)
                await user.press(key)
            assert sees in user.text, (name, key, user.text)


def test_every_action_of_the_key_map_is_pressed_here() -> None:
    """The steps and the table of actions name the same actions."""
    pressed = {action for way in WAYS.values() for _, action, _ in way.steps if action}
    assert BY_ID.keys() - pressed == set()
    assert pressed <= BY_ID.keys()


def test_every_other_key_of_an_action_stands_for_it_too() -> None:
    """In each of its states; the steps press one of them."""
    keymap = Keymap()
    for action in ACTIONS:
        for scope in action.scopes:
            for key in action.keys:
                found = keymap.find(scope, key)
                assert found is not None, (scope, key)
                assert found.id == action.id, (scope, key)
