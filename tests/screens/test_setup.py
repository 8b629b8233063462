# SPDX-License-Identifier: Apache-2.0
"""Setup: each row by what the file says, lines to copy with whole paths, and the acts that are ours (D55)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from deja_tui import Memory
from deja_tui.capture import schedule, starters, wiring
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.engine.policy import Policy, parse
from deja_tui.errors import DejaError
from deja_tui.present import setup as shown
from deja_tui.present.line import plain
from deja_tui.screens.analyzers import AnalyzersScreen
from deja_tui.screens.setup import SetupScreen
from deja_tui.screens.starter import StarterScreen
from deja_tui.screens.whole import WholeScreen
from tests.present.hostile import HOSTILE
from tests.screens import recorded
from tests.screens.test_hostile import sane
from tests.screens.user import FILE, console, reader
from tests.support import DAY, NOW, ROOT


def states(rows: list[str]) -> dict[str, str]:
    """State and words of each row by its title."""
    listed = [row[1:] for row in rows[1:10]]
    return {row[5:21].strip(): f"{row[:5].strip()} {row[21:].strip()}" for row in listed}


async def test_an_empty_file_says_what_there_is_to_do_and_why() -> None:
    """STA-1: nothing is guessed: no grain, no document, no event, no run, no verification."""
    async with console(recorded.no_reviews(), (120, 40), at="setup") as user:
        told = {name: words.split(" │")[0].strip() for name, words in states(user.rows).items()}
        assert list(told) == [
            "namespaces", "instruction doc", "saved queries", "capture wired", "analyzers", "policy", "embeddings",
            "schedule", "integrity",
        ]  # fmt: skip
        assert told["capture wired"] == "todo 0 events: not pasted, or binary not on PATH"
        assert told["embeddings"] == "- not in this version"
        assert told["schedule"].startswith("todo the loop never ran here")
        assert told["integrity"] == "todo never verified"
        assert told["namespaces"].startswith("todo none holds a grain yet")
        assert told["analyzers"] == "ok 10 of 12 take part in runs"
        assert "6 to do" in user.title


async def test_the_demo_is_told_by_its_own_counts() -> None:
    """Counts and ages of this file; what agents sent, the last run, which namespaces hold something."""
    async with console(recorded.demo_reviews(), at="setup/nowhere") as user:
        assert "there is no row nowhere: namespaces, document, queries, capture" in user.flash
        told = states(user.rows)
        assert told["namespaces"].startswith("ok 1 with grains: shared ")
        assert told["capture wired"] == "ok 64 events, the last 6h ago"
        assert told["schedule"].startswith("ok last run ")


async def test_y_copies_the_whole_lines_and_brackets_choose_them() -> None:
    """The same lines as `deja hook print` and `deja loop schedule --print`, with whole paths; C is that command."""
    async with console(recorded.demo_reviews(), (120, 40), at="setup/capture") as user:
        screen = user.screen
        assert isinstance(screen, SetupScreen)
        assert "claude-code 1/4" in user.text
        assert ".claude/settings.json of a project" in user.text
        await user.press("y")
        assert "lines for .claude/settings.json" in user.flash
        assert "they stand beside" in user.flash
        assert screen.snippet.text == "\n".join(wiring.claude_code(FILE))
        assert f"/home/ana/bin/deja hook recall --db {FILE}" in screen.snippet.text
        await user.press("C")
        assert f"deja hook print claude-code --db {FILE}" in user.text
        await user.press("]")
        assert screen.snippet.text == "\n".join(wiring.python(FILE))
        await user.press("[", "[")
        assert "mcp 4/4" in user.text
        await user.press("j", "j", "j", "j")
        assert screen.snippet.text == "\n".join(
            schedule.cron(
                6 * schedule.HOUR_MS, ("/home/ana/bin/deja", "loop", "run", "--quiet", "--db", FILE)
            )
        )
        await user.press("v")
        assert isinstance(user.screen, WholeScreen)
        assert "crontab -e" in user.text
        await user.press("y")
        assert "sent to the terminal; they stand here" in user.flash
        await user.press("h", "k")
        assert user.marked().startswith("▸-    embeddings")
        await user.press("y", "enter", "]", "v")
        assert isinstance(user.screen, SetupScreen)


async def test_a_document_is_shown_line_by_line_before_it_is_saved(tmp_path: Path) -> None:
    """Enter previews, o shows another template's, h leaves, Enter saves exactly what stood there."""
    reviews = recorded.opened(recorded.demo, fresh=tmp_path)
    first, second = starters.documents()
    async with console(reviews, at="setup/document") as user:
        await user.press("enter")
        assert isinstance(user.screen, StarterScreen)
        assert "template coding-agent 1/2, n" in user.title
        assert "~ document /memories/instructions.md in shared" in user.text
        assert "+ «# Instructions»" in user.text
        await user.press("h")
        assert reviews.docs.list() == ()
        await user.press("enter", "o", "enter")
        assert isinstance(user.screen, SetupScreen)
        assert "saved as /memories/instructions.md, version " in user.flash
        assert states(user.rows)["instruction doc"] == "ok /memories/instructions.md in shared"
        assert reviews.docs.view(second.path).text == second.text != first.text
        await user.press("enter")
        assert "nothing for deja to do here" in user.flash


async def test_queries_are_shown_and_defined_all_or_none(tmp_path: Path) -> None:
    """One statement defines what the template has; then the row says their names."""
    reviews = recorded.opened(recorded.demo, fresh=tmp_path)
    async with console(reviews, at="setup/queries") as user:
        await user.press("enter")
        assert "~ query conventions is new" in user.text
        assert "RECALL facts WHERE subject = $project LIMIT $n" in user.text
        await user.press("enter")
        assert "3 queries defined" in user.flash
        assert states(user.rows)["saved queries"] == "ok 3: conventions, «failed calls», session"
        await user.press("Y")
        assert "DESCRIBE QUERIES" in user.text


async def test_a_verification_runs_in_the_background_and_is_told() -> None:
    """Enter on integrity; it needs no right to write, and a second one waits for the first."""
    async with console(recorded.demo_reviews(), at="setup/integrity") as user:
        await user.press("enter")
        assert "verified: no fault" in user.flash
        assert states(user.rows)["integrity"] == "ok verified 0s ago"
        assert isinstance(user.screen, SetupScreen)
        user.screen.working = "a verification"
        await user.press("enter")
        assert "is under way" in user.flash


async def test_faults_and_failures_are_told() -> None:
    """A verification that finds something; a file that cannot be read."""
    reviews = recorded.demo_reviews()
    async with console(reviews, at="setup/integrity") as user:
        assert isinstance(user.screen, SetupScreen)
        user.screen.checked(2)
        await user.settle()
        assert "todo 2 faults found" in states(user.rows)["integrity"]
        reviews.faults["standing"] = DejaError("STO-E004", "locked", "try again")
        await user.press("r")
        assert "STO-E004" in user.flash
    async with console(reviews, at="setup") as user:
        assert "Nothing could be read. r tries again." in user.text
        reviews.faults.clear()
        await user.press("r", "j", "j", "j", "j", "enter")
        assert isinstance(user.screen, AnalyzersScreen)


async def test_who_may_not_write_is_told_which_right_it_needs() -> None:
    """Documents and queries need write; looking, copying and verifying need none."""
    async with console(recorded.demo_reviews(), at="setup/document", rights=reader()) as user:
        await user.press("enter")
        assert "this needs the right `write`" in user.flash
        assert isinstance(user.screen, SetupScreen)
        await user.press("j", "enter")
        assert "this needs the right `write`" in user.flash
        await user.press("G", "enter")
        assert "verified: no fault" in user.flash


def test_every_state_has_its_words(tmp_path: Path) -> None:
    """Quiet capture, waiting captures, a stale loop, a policy that grants, a word no row has."""
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW) as memory:
        memory.record_tool_call("x", "y", created_at=NOW - 9 * DAY)
        found = memory.standing()
    team = parse((ROOT / "examples/policy/team.json").read_bytes())
    found = replace(found, policy=team, spooled=2)
    rows = {row.key: row for row in shown.rows(found, FILE)}
    assert (rows["capture"].state, rows["namespaces"].state) == ("todo", "ok")
    assert "none for 9d: is the agent still connected?" in plain(rows["capture"].told)
    assert "2 captures wait for the next writer" in plain(rows["capture"].told)
    assert plain(rows["policy"].told) == "applies unasked: loop.duplicate_sweep, telemetry aggregate"
    assert rows["schedule"].state == "todo"


def test_asking_what_is_set_up_lets_no_analyzer_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """STA-2: a page may ask at every change; it costs counts and settings."""

    def look(*_: object) -> None:
        raise AssertionError("an analyzer looked")

    for one in ANALYZERS:
        monkeypatch.setattr(type(one), "probe", look)
        monkeypatch.setattr(type(one), "analyze", look)
    found = recorded.demo_reviews().standing()
    assert (found.analyzers, found.on, found.tools) == (12, 10, 60)


def test_the_solo_policy_is_the_file_of_the_examples() -> None:
    """One idea in one place: what is copied from here is what `examples/policy/solo.json` says."""
    kept = json.loads((ROOT / "examples/policy/solo.json").read_text())
    assert Policy().to_plain() == kept


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_hostile_namespaces_and_documents_stay_text(tmp_path: Path, size: tuple[int, int]) -> None:
    """Names of namespaces and of queries come from whoever wrote the file."""
    path = tmp_path / "agent.db"
    with Memory.open(path, clock=lambda: NOW) as memory, memory.store.act():
        for text in HOSTILE.values():
            if 0 < len(text) <= 256:
                memory.add("fact", {"subject": "a", "relation": "b", "object": text}, namespace=text)
    reviews = recorded.Recorded(Memory.open(path, clock=lambda: NOW, read_only=True))
    async with console(reviews, size, at="setup", file=f"/tmp/{HOSTILE['markup action']}\x1b[2J.db") as user:
        for _ in range(9):
            sane(user)
            await user.press("v")
            sane(user)
            await user.press("h" if isinstance(user.screen, WholeScreen) else "k", "j", "j")
    reviews.memory.close()


async def test_a_file_that_no_line_can_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a line for another program would act or lie, there is none; the row says what helps."""

    def refuse(*_: object) -> tuple[str, ...]:
        raise DejaError("VAL-E001", "no settings line can show this path", "rename the file")

    monkeypatch.setattr(wiring, "options", refuse)
    async with console(recorded.no_reviews(), at="setup/capture") as user:
        assert states(user.rows)["capture wired"] == "todo no settings line can show this path"
        assert states(user.rows)["schedule"] == "todo no settings line can show this path"
        assert "rename the file." in user.text
        await user.press("y", "2")
        assert "no settings line can show this path: rename the file" in " ".join(user.text.split())
        await user.press("y")
        assert "VAL-E001" in user.flash
