# SPDX-License-Identifier: Apache-2.0
"""`Memory.dossier`: how recommendations have to do with a grain, and what else there is to tell of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deja_tui import DejaError, Memory
from deja_tui.store.browse import Lens
from tests.support import NOW


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    ticks = iter(range(NOW, NOW + 10**9, 1_000))
    with Memory.open(tmp_path / "m.deja", actor="user:ana", clock=lambda: next(ticks)) as opened:
        yield opened


def roles(memory: Memory, address: str) -> list[tuple[str, str, str]]:
    return [(one.role, one.what, one.status) for one in memory.dossier(address).cited]


def test_each_part_a_recommendation_can_have_in_a_grain(memory: Memory) -> None:
    """Proposed, done, undone; its own grain; an entry of its trail; the evidence; with the reason and the time."""
    for number in range(55):
        memory.add_fact(f"s{number}", "is", str(number))
    old, new = (
        memory.add_fact("ana", "likes", value, confidence=c) for value, c in (("tea", 0.8), ("Tea", 0.9))
    )
    memory.loop.run(only=["duplicate_sweep"])
    (row,) = memory.loop.queue()
    assert {role for address in (old, new) for role, _, _ in roles(memory, address)} <= {
        "changes",
        "evidence",
    }
    assert any(roles(memory, address)[0] == ("changes", "", "pending") for address in (old, new))
    memory.loop.approve(row.address, because="one is enough")
    receipt = memory.loop.apply(row.address, because="agreed")
    retired = next(one for one in (old, new) if memory.dossier(one).state == "retired")
    assert roles(memory, retired)[0] == ("did", "retire", "applied")
    told = memory.dossier(retired).cited[0]
    assert (told.because, told.audit, told.recommendation) == ("agreed", receipt.audit, row.address)
    assert told.at > NOW
    memory.loop.rollback(row.address, because="both after all")
    assert ("undid", "reopen", "rolled_back") in roles(memory, retired)
    assert memory.dossier(retired).state == "live"
    assert roles(memory, row.address)[0][0] == "is"
    assert roles(memory, receipt.audit)[0][0] == "audit"
    assert memory.browse(Lens("engine", "recommendation")).total == 1


def test_what_a_lesson_came_from(memory: Memory) -> None:
    """The grain an apply wrote names it; what it was found in is evidence."""
    calls = [memory.record_tool_call("refund", "rate limited 429", True, call_id=str(n)) for n in range(5)]
    memory.loop.run()
    (row,) = memory.loop.queue()
    memory.loop.approve(row.address, because="seen")
    memory.loop.apply(row.address, because="agreed")
    lesson = (
        memory.latest("refund", "fails_with", namespace="shared") or memory.search("refund", type="fact")[0]
    )
    assert roles(memory, lesson.address) == [("wrote", "", "applied")]
    assert roles(memory, calls[0]) == [("evidence", "", "applied")]


def test_a_dossier_is_refused_by_code(memory: Memory) -> None:
    """None, several, forgotten, not allowed."""
    gone = memory.add_fact("a", "b", "c")
    memory.forget(gone, because="asked")
    for address, code in (
        ("0" * 64, "MEM-E001"),
        (gone, "MEM-E003"),
        (gone[:9], "MEM-E003"),
        ("zz", "MEM-E001"),
    ):
        with pytest.raises(DejaError) as fault:
            memory.dossier(address)
        assert fault.value.code == code
    with Memory.open(memory.store.path, scopes=["write"]) as other:
        for ask in (other.browse, other.kinds, lambda: other.dossier(gone), lambda: other.neighbourhood("a")):
            with pytest.raises(DejaError) as fault:
                ask()
            assert fault.value.code == "LOP-E022"


def test_a_document_is_written_whole_against_the_version_that_was_read(memory: Memory) -> None:
    """`docs.write`: a new version; the same text is none; another head is refused."""
    first = memory.docs.create("/memories/a.md", "one\n")
    second = memory.docs.write("/memories/a.md", "two\n", base=first.address)
    assert second.text == "two\n"
    assert memory.docs.write("/memories/a.md", "two\n") == second
    assert [one.address for one in memory.docs.history("/memories/a.md")] == [second.address, first.address]
    with pytest.raises(DejaError) as fault:
        memory.docs.write("/memories/a.md", "three\n", base=first.address)
    assert fault.value.code == "MEM-E002"


def test_looking_is_not_counted(tmp_path: Path) -> None:
    """A person who looks recalls nothing: telemetry stays as it was."""
    with Memory.open(tmp_path / "m.deja", telemetry="full") as memory:
        address = memory.add_fact("ana", "likes", "tea")
        memory.telemetry.flush()
        before = memory.telemetry.access(), memory.telemetry.log()
        memory.browse(Lens(text="tea"))
        memory.dossier(address)
        memory.neighbourhood("ana")
        memory.telemetry.flush()
        assert (memory.telemetry.access(), memory.telemetry.log()) == before
