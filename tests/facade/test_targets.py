# SPDX-License-Identifier: Apache-2.0
"""D27: one recommendation of every target scheme, from the draft to the undo, on a file that is closed in between."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deja_tui import DejaError, Memory
from tests.support import NOW

QUERY = "RECALL facts LIMIT 3"


class Story:
    """One file, reopened for every step, by three actors that never share a process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now = NOW

    def __call__(self, actor: str, act: Callable[[Memory], Any]) -> Any:
        self.now += 1_000
        with Memory.open(self.path, actor=actor, clock=lambda: self.now) as memory:
            found = act(memory)
            assert memory.verify() == ()
        return found

    def decide(self, address: str, *verbs: str) -> None:
        for verb in verbs:
            receipt = self("user:ana", lambda m, v=verb: getattr(m.loop, v)(address, because=f"{v}: seen"))
            assert receipt.chain_verified

    def propose(self, actor: str = "agent:worker", **given: Any) -> str:
        given.setdefault("note", "seen twice")
        address = self(actor, lambda memory: memory.loop.propose(**given))
        row = self(actor, lambda memory: memory.loop.queue()[0])
        assert (row.address, row.target_ref, row.origin) == (address, given["target"], "submitted")
        return str(address)

    def seen(self) -> str:
        return str(self("user:eve", lambda memory: memory.add_fact("acme", "tier", "gold")))

    def recalled(self) -> Any:
        return self("user:eve", lambda m: [(g.address, g.created_at, dict(g.fields)) for g in m.recall(k=99)])


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path / "a.deja")


def test_a_grain(story: Story) -> None:
    """``grain:`` one grain gives way to what supersedes it, and comes back itself."""
    seen = story.seen()
    before = story.recalled()
    fields = {"subject": "acme", "relation": "tier", "object": "silver"}
    operation = {"op": "supersede", "target": seen, "type": "fact", "namespace": "shared", "fields": fields}
    address = story.propose(target=f"grain:{seen}", evidence=[seen[:16]], operations=[operation])
    story.decide(address, "approve", "apply")
    ((_, _, found),) = story.recalled()
    assert found["object"] == "silver"
    story.decide(address, "rollback")
    assert story.recalled() == before


def test_an_entity(story: Story) -> None:
    """``entity:`` several values of one key become one, by a merge; the undo opens all of them."""
    seen = story.seen()
    other = story("user:eve", lambda memory: memory.add_fact("acme", "tier", "silver"))
    before = story.recalled()
    fields = {"subject": "acme", "relation": "tier", "object": "gold, since May"}
    operation = {
        "op": "merge",
        "heads": [seen, other],
        "type": "fact",
        "namespace": "shared",
        "fields": fields,
    }
    address = story.propose(target="entity:shared/acme#tier", evidence=[seen, other], operations=[operation])
    story.decide(address, "approve_and_apply")
    ((_, _, found),) = story.recalled()
    assert found["object"] == "gold, since May"
    assert story("user:eve", lambda memory: memory.forks()) == []
    story.decide(address, "rollback")
    assert story.recalled() == before


def test_a_draft_through_the_language(story: Story) -> None:
    """D21: ``ADD recommendation`` files the same draft under the same rules; the engine's own fields are refused."""
    seen = story.seen()
    fields = {"subject": "acme", "relation": "tier", "object": "silver"}
    operation = {"op": "supersede", "target": seen, "type": "fact", "namespace": "shared", "fields": fields}
    told = json.dumps(operation).replace('"', '\\"')
    given = f'SET target_ref = "entity:shared/acme#tier" SET evidence = ["sha256:{seen}"] SET operations = ["{told}"]'

    def add(more: str) -> Any:
        return lambda memory: memory.cal(
            f'ADD recommendation {given} {more} REASON "the invoice says so"'
        ).as_json()

    for stamped in (
        'SET origin = "builtin"',
        'SET creator = "user:ana"',
        'SET analyzer = "loop.x/1"',
        'SET severity = "high"',
    ):
        with pytest.raises(DejaError, match=r"CAL-E017|LOP-E011"):
            story("agent:worker", add(stamped))
    address = story("agent:worker", add('SET severity = "medium"'))["hash"]
    row = story("user:eve", lambda memory: memory.loop.queue()[0])
    assert (row.address, row.origin, row.summary) == (address, "submitted", "draft: «the invoice says so»")
    with pytest.raises(DejaError, match="LOP-E021"):
        story("agent:worker", lambda m: m.cal(f'APPROVE sha256:{address} BECAUSE "mine"'))
    story("user:ana", lambda m: m.cal(f'APPROVE sha256:{address} BECAUSE "seen"'))
    story("user:ana", lambda m: m.cal(f'APPLY sha256:{address} BECAUSE "do it"'))
    ((_, _, found),) = story.recalled()
    assert found["object"] == "silver"


def test_a_query(story: Story) -> None:
    """``query:`` the body is replaced and run, parameters stay; the prior one runs again after the undo."""
    seen = story.seen()
    story("user:eve", lambda m: m.cal('DEFINE QUERY "open" ($who) AS { RECALL facts WHERE subject = $who }'))
    before = story("user:eve", lambda memory: memory.cal('DESCRIBE QUERY "open"').as_json())
    body = 'RECALL facts WHERE subject = $who AND object = "none"'
    address = story.propose(target="query:open", evidence=[seen], edit={"body": body})
    story.decide(address, "approve", "apply")
    run = 'RUN "open" ($who = "acme")'
    assert story("user:eve", lambda memory: memory.cal(run).as_json()["grains"]) == []
    story.decide(address, "rollback")
    assert len(story("user:eve", lambda memory: memory.cal(run).as_json()["grains"])) == 1
    assert story("user:eve", lambda memory: memory.cal('DESCRIBE QUERY "open"').as_json()) == before


def test_a_query_that_writes(story: Story) -> None:
    """``query:`` the language refuses what does more than read, at the door."""
    seen = story.seen()
    for body in (
        f"FORGET sha256:{seen}",
        f'APPLY sha256:{seen} BECAUSE "x"',
        "DROP QUERY x",
        "RECALL $undeclared",
    ):
        with pytest.raises(DejaError, match="CAL-E0"):
            story.propose(target="query:open", evidence=[seen], edit={"body": body})


def test_a_template(story: Story) -> None:
    """``template:`` what is rendered changes and changes back; a new one is gone after the undo."""
    seen = story.seen()
    address = story.propose(
        target="template:brief", evidence=[seen], edit={"body": "{{subject}} is {{object}}"}
    )
    story.decide(address, "approve", "apply")

    def rendered() -> str:
        return str(story("user:eve", lambda m: m.cal("RECALL facts FORMAT TEMPLATE brief").as_json()["text"]))

    assert rendered().strip() == "acme is gold"
    again = story.propose(target="template:brief", evidence=[seen], edit={"body": "{{subject}}!"})
    story.decide(again, "approve", "apply")
    assert rendered().strip() == "acme!"
    story.decide(again, "rollback")
    assert rendered().strip() == "acme is gold"
    story.decide(address, "rollback")
    with pytest.raises(DejaError, match="CAL-E"):
        rendered()


def test_a_document(story: Story) -> None:
    """``doc:`` the edit is a version of the document; the undo shows the one before, and history keeps both."""
    seen = story.seen()
    story("user:eve", lambda memory: memory.docs.create("/memories/agents.md", "Be kind.\n"))
    before = story.recalled()
    address = story.propose(
        "user:bob", target="doc:agents.md", evidence=[seen], edit={"text": "Be kind.\nCheck the address.\n"}
    )

    def text() -> str:
        return str(story("user:eve", lambda memory: memory.docs.view("/memories/agents.md").text))

    story.decide(address, "approve", "apply")
    assert text() == "Be kind.\nCheck the address.\n"
    story.decide(address, "rollback")
    assert text() == "Be kind.\n"
    assert story.recalled() == before


def test_a_document_that_moved_on(story: Story) -> None:
    """``doc:`` an edit by somebody else after the draft makes the apply stale, and loses nothing."""
    seen = story.seen()
    story("user:eve", lambda memory: memory.docs.create("/memories/agents.md", "Be kind.\n"))
    address = story.propose("user:bob", target="doc:agents.md", evidence=[seen], edit={"text": "Be brief.\n"})
    story("user:eve", lambda m: m.docs.replace("/memories/agents.md", "kind", "honest"))
    story.decide(address, "approve")
    with pytest.raises(DejaError, match="LOP-E024"):
        story.decide(address, "apply")
    assert story("user:eve", lambda m: m.docs.view("/memories/agents.md").text) == "Be honest.\n"
    story.decide(address, "withdraw")


def test_a_lesson_as_a_line_of_the_instructions(story: Story) -> None:
    """D27: where an instruction document is here, a tool failure offers a line in it beside the fact, always by approval."""
    story("user:eve", lambda memory: memory.docs.create("/memories/agents.md", "Be kind.\n"))
    for number in range(5):
        story("user:eve", lambda m, n=number: m.record_tool_call("curl", "timeout", True, call_id=f"c{n}"))
    story("user:eve", lambda memory: memory.loop.run())
    (row,) = story("user:eve", lambda memory: memory.loop.queue())
    detail = story("user:eve", lambda memory: memory.loop.show(row.address))
    edits = [
        n for n, one in enumerate(detail.recommendation.choices) if one.operations[-1].kind == "doc_edit"
    ]
    assert len(edits) == 1
    before = story.recalled()
    receipt = story(
        "user:ana", lambda m: m.loop.approve_and_apply(row.address, because="seen", choice=edits[0])
    )
    assert receipt.chain_verified
    text = story("user:eve", lambda memory: memory.docs.view("/memories/agents.md").text)
    assert text.startswith("Be kind.\n")
    assert "curl" in text
    story.decide(row.address, "rollback")
    assert story.recalled() == before
    assert story("user:eve", lambda memory: memory.docs.view("/memories/agents.md").text) == "Be kind.\n"


def test_a_document_outside(story: Story) -> None:
    """``doc:`` of a document that is not here is changed where it lies, and marked."""
    seen = story.seen()
    edit = {"diff": "@@ -1 +1 @@\n-Be kind.\n+Be brief.\n", "base": "0" * 64}
    address = story.propose("user:bob", target="doc:AGENTS.md", evidence=[seen], edit=edit)
    story.decide(address, "approve")
    with pytest.raises(DejaError, match="LOP-E027"):
        story.decide(address, "apply")
    story.decide(address, "mark_applied")


def test_the_host(story: Story) -> None:
    """``host:`` the engine never writes there: it is approved, done by the host, and marked with who and why."""
    seen = story.seen()
    before = story.recalled()
    address = story.propose(
        "user:bob", target="host:cron/retention", evidence=[seen], data={"run": "daily at 3"}
    )
    story.decide(address, "approve", "mark_applied")
    chain = story("user:eve", lambda memory: memory.loop.audit(address))
    assert [entry.to_status for entry in chain.entries] == ["pending", "approved", "applied"]
    assert (chain.entries[-1].outside, chain.entries[-1].because) == (True, "mark_applied: seen")
    assert story.recalled() == before
