# SPDX-License-Identifier: Apache-2.0
"""What an agent is given before it acts: CTX-1 to CTX-4 (D53)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deja_tui import Memory
from deja_tui.contexts import LESSONS
from tests.engine.helpers import refused
from tests.present.hostile import HOSTILE
from tests.support import DAY, NOW


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    clock = [NOW]

    def tick() -> int:
        clock[0] += 1
        return clock[0]

    with Memory.open(tmp_path / "a.deja", clock=tick, telemetry="aggregate") as opened:
        yield opened


def lesson(memory: Memory, tool: str, text: str = "boom", namespace: str | None = None) -> str:
    """A lesson about a tool, found, approved and applied; the address of its recommendation."""
    for _ in range(5):
        fields = {"tool_name": tool, "tool_content": text, "is_error": True}
        memory.add("tool", {**fields, "created_at": memory.clock() - DAY}, namespace=namespace)
    memory.loop.run()
    row = next(row for row in memory.loop.queue() if row.analyzer == "loop.tool_failure/1")
    memory.loop.approve_and_apply(row.address, because="codify it")
    return row.address


# --- lessons -----------------------------------------------------------------------------------------


def test_a_lesson_is_in_the_next_context_and_gone_after_the_undo(memory: Memory) -> None:
    """D53, from end to end, whatever is asked."""
    address = lesson(memory, "stripe_refund", "Rate limited after 12 ms")
    line = "- stripe_refund · fails_with · «rate limited after # ms»\n"
    for asked in ("", "anything", "stripe_refund"):
        assert memory.context(asked).text.startswith(line)
    assert memory.context("stripe_refund").text.count(line) == 1
    memory.loop.rollback(address, because="only trying it out")
    assert line not in memory.context("").text


def test_lessons_are_the_newest_decisions_and_at_most_five(memory: Memory) -> None:
    """CTX-1."""
    for number in range(LESSONS + 2):
        lesson(memory, f"tool{number}")
    told = [str(grain.get("subject")) for grain in memory.context().lessons]
    assert told == [f"tool{number}" for number in range(LESSONS + 1, 1, -1)]


def test_lessons_take_a_third_of_the_budget_at_most(memory: Memory) -> None:
    """CTX-1 and CTX-2: the rest is for what was asked, and what did not fit is told."""
    for number in range(4):
        lesson(memory, f"tool{number}", f"{'x' * 60} kind {chr(97 + number)}")
    made = memory.context("nothing", budget=90)
    assert len(made.lessons) == 1
    assert made.left_out == 3
    assert made.tokens <= 30


def test_only_lessons_of_the_namespace_that_stand(memory: Memory) -> None:
    """CTX-1: another namespace's, a replaced one, and a decision that is no lesson are left out."""
    lesson(memory, "elsewhere", namespace="other")
    lesson(memory, "here")
    memory.add_fact("acme", "likes", "tea")
    memory.add_fact("acme", "likes", "Tea")
    memory.loop.run()
    row = next(row for row in memory.loop.queue() if row.analyzer == "loop.duplicate_sweep/1")
    memory.loop.approve_and_apply(row.address, because="one fact")
    made = memory.context()
    assert [grain.get("subject") for grain in made.lessons] == ["here"]
    assert [grain.get("subject") for grain in memory.context(namespace="other").lessons] == ["elsewhere"]
    memory.supersede(made.lessons[0].address, {"object": "it works now"})
    assert memory.context().lessons == ()


def test_a_draft_that_was_applied_is_a_lesson(memory: Memory, tmp_path: Path) -> None:
    """D21: what an agent proposed and a person approved."""
    cited = memory.add_fact("build", "takes", "ten minutes")
    operation = {
        "op": "add",
        "type": "fact",
        "namespace": "shared",
        "fields": {"subject": "build", "relation": "rule", "object": "run it once"},
    }
    with Memory.open(tmp_path / "a.deja", actor="agent:worker", clock=memory.clock) as worker:
        address = worker.loop.propose(
            target="entity:shared/build", note="builds are slow", evidence=[cited], operations=[operation]
        )
    assert memory.context().lessons == ()
    memory.loop.approve_and_apply(address, because="so it is")
    assert memory.context().text == "- build · rule · «run it once»\n"


# --- hits --------------------------------------------------------------------------------------------


def test_hits_follow_the_lessons(memory: Memory) -> None:
    """Best first, at most k, none twice."""
    lesson(memory, "deploy")
    for number in range(9):
        memory.add_fact("deploy", "target", f"host {number}")
    made = memory.context("deploy target", k=3)
    assert (len(made.lessons), len(made.hits)) == (1, 3)
    assert len(set(made.addresses)) == 4
    assert made.text.count("\n") == 4


@pytest.mark.parametrize("budget", [1, 7, 20, 50, 400])
def test_the_text_never_costs_more_than_the_budget(memory: Memory, budget: int) -> None:
    """CTX-2: four bytes a token, whatever the script."""
    for number in range(20):
        memory.add_fact("größe", "ist", "äöü " * (number + 1))
    made = memory.context("größe", budget=budget, k=20)
    assert made.tokens <= budget
    assert len(made.text.encode()) <= 4 * budget
    assert len(made.hits) + made.left_out == 20


def test_without_words_there_are_lessons_only(memory: Memory) -> None:
    """An empty prompt is no question."""
    memory.add_fact("acme", "likes", "tea")
    assert memory.context("   ").hits == ()
    assert memory.telemetry.queries() == []


# --- safe and counted --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOSTILE)
def test_every_line_is_one_safe_line(memory: Memory, name: str) -> None:
    """CTX-3: nothing leaves its fence, nothing breaks the line, and a name of many words is fenced, too."""
    text = HOSTILE[name]
    memory.add_fact(text[:200] or "x", "says", f"zzmark {text}")
    memory.add("event", {"content": f"zzmark {text}"})
    made = memory.context("zzmark", budget=4_000)
    for line in made.text.splitlines():
        assert line.isprintable()
        assert line.count("«") == line.count("»")
        assert line.startswith("- ")
    assert len(made.text.splitlines()) == len(made.hits)


def test_what_was_given_counts_as_delivered(memory: Memory) -> None:
    """CTX-4: once a context, also when nobody asked by name; and the context is a sample of its budget."""
    address = lesson(memory, "t")
    for _ in range(3):
        memory.context("")
    memory.context("", budget=1)
    wrote = memory.loop.audit(address).entries[-1].results[0]
    assert memory.telemetry.deliveries()[wrote].count == 3
    found = memory.telemetry.contexts(0)
    assert (found.samples, found.overflows) == (4, 1)


def test_a_prompt_is_no_question(memory: Memory) -> None:
    """Otherwise "go on", said a hundred times, would be a gap in the memory; a question is one that is searched."""
    known = memory.add_fact("acme", "tier", "gold")
    for _ in range(5):
        memory.context("please go on with it")
        memory.context("acme")
    assert memory.telemetry.queries() == []
    assert memory.telemetry.access_of([known])[known].count == 5
    memory.search("please go on with it")
    assert len(memory.telemetry.queries()) == 1


def test_one_who_may_fail_to_hand_it_over_counts_himself(memory: Memory) -> None:
    """A hook that dies half way has delivered nothing."""
    lesson(memory, "t")
    made = memory.context("", deliver=False)
    assert memory.telemetry.deliveries() == {}
    memory.telemetry.delivered(made.addresses)
    assert set(memory.telemetry.deliveries()) == set(made.addresses)


def test_a_detail_says_how_often_its_lesson_was_delivered(memory: Memory) -> None:
    """D53: "delivered N times, last …"."""
    address = lesson(memory, "t")
    assert memory.loop.show(address).delivered is None
    for _ in range(2):
        memory.context("")
    told = memory.loop.show(address).delivered
    assert told is not None
    assert told.count == 2
    assert told.last > NOW


@pytest.mark.parametrize("budget", [0, -1, 1_000_001])
def test_a_budget_has_bounds(memory: Memory, budget: int) -> None:
    """VAL-E001."""
    with refused("VAL-E001"):
        memory.context("", budget=budget)


def test_it_needs_read(tmp_path: Path) -> None:
    """Rights are checked as everywhere."""
    with Memory.open(tmp_path / "a.deja", scopes=["write"]) as memory, refused("LOP-E022"):
        memory.context("")
