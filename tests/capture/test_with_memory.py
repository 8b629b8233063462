# SPDX-License-Identifier: Apache-2.0
"""The importer and a real memory file together: what the fake sink promises, the store keeps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deja_tui.capture.importers.claude_code import import_claude_code, read
from deja_tui.errors import DejaError
from deja_tui.facade import Memory
from deja_tui.items import CaptureItem
from tests.capture.test_claude_code import LATER, record, result, use, write
from tests.support import NOW, shared


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "m.deja", clock=lambda: LATER) as opened:
        yield opened


def test_every_field_comes_back(memory: Memory) -> None:
    """ITEM-1: a stored item reads back field for field, whatever real and hostile sessions hold."""
    paths = [
        *sorted(shared("samples/claude-code").glob("*.jsonl")),
        *sorted(shared("vectors/transcripts/claude").rglob("*.jsonl")),
        shared("hostile/lone-surrogates/session.jsonl"),
        shared("hostile/clock-skew/session.jsonl"),
    ]
    items: dict[str, CaptureItem] = {}
    for path in paths:
        for batch in read(path, now_ms=LATER):
            for item in batch.items:
                items.setdefault(item.source_key, item)
    for item in items.values():
        grain = memory.get(memory.add(item.type, item.fields))
        assert grain is not None
        assert grain.created_at == item.fields["created_at"]
        told = {name: grain.get(name) for name in item.fields if name != "created_at"}
        assert told == {name: value for name, value in item.fields.items() if name != "created_at"}


def test_the_samples_twice(memory: Memory) -> None:
    """ITEM-1: the folder of samples, then each file alone: nothing is added by the second reading."""
    folder = shared("samples/claude-code")
    first = import_claude_code(memory, folder, now_ms=LATER)
    assert first.added > 0
    before = memory.stats()
    for path in sorted(folder.glob("*.jsonl")):
        again = import_claude_code(memory, path, now_ms=LATER)
        assert (again.added, again.completed, again.forgotten) == (0, 0, 0)
    assert memory.stats()["operations"] == before["operations"]


def test_completion_is_supersession(memory: Memory, tmp_path: Path) -> None:
    """ITEM-2, ITEM-3, ITEM-4: a pending call and a short reply are superseded as their file grows, and then final."""
    lines = [
        record("assistant", [{"type": "text", "text": "zebra one"}], 1, message={"id": "m1"}),
        record("assistant", [use("c1", command="make")], 2, message={"id": "m1"}),
        record("assistant", [{"type": "text", "text": "zebra two"}], 3, message={"id": "m1"}),
        record("user", [result("c1", "exit 2", True)], 4),
    ]
    path = tmp_path / "s.jsonl"
    completed = []
    for upto in range(1, 5):
        report = import_claude_code(memory, write(path, *lines[:upto]), now_ms=LATER)
        completed.append(report.completed)
    assert completed == [0, 1, 1, 1]
    again = import_claude_code(memory, path, now_ms=LATER)
    assert (again.added, again.completed) == (0, 0)
    [tool] = [grain for grain in memory.store.scan("tool") if grain.live]
    assert (tool.get("is_error"), tool.get("tool_content"), tool.get("status")) == (True, "exit 2", None)
    assert [grain.get("content") for grain in memory.search("zebra")] == ["zebra one\n\nzebra two"]
    assert len(memory.history(tool.address)) == 2


def test_what_was_forgotten_stays_forgotten(memory: Memory, tmp_path: Path) -> None:
    """D31: an item whose grain was erased is not taken back, and the report says how many."""
    path = write(tmp_path / "s.jsonl", record("user", "my private line", 1))
    import_claude_code(memory, path, now_ms=LATER)
    [grain] = memory.search("private")
    memory.forget(grain.address, because="not for here")
    report = import_claude_code(memory, path, now_ms=LATER)
    assert (report.added, report.forgotten) == (0, 1)
    assert memory.search("private") == []


def test_no_secret_reaches_the_file(memory: Memory, tmp_path: Path) -> None:
    """CC-5: after an import no byte of a planted secret is in the memory file or beside it."""
    root = shared("vectors/transcripts")
    import_claude_code(memory, root / "claude", now_ms=LATER)
    sessions = json.loads((root / "expected.json").read_text())["sessions"]
    raws = [
        row["raw"] for session in sessions if session["host"] == "claude" for row in session["redactions"]
    ]
    files = [path.read_bytes() for path in tmp_path.glob("m.deja*")]
    assert len(raws) == 2
    assert any(b"connection refused while opening" in data for data in files)
    assert not any(raw.encode() in data for raw in raws for data in files)


def test_the_loop_finds_what_fails(tmp_path: Path) -> None:
    """CC-1: the joined tool grains are what the loop reads: a repeated failure becomes a recommendation."""
    with Memory.open(tmp_path / "n.deja", clock=lambda: NOW) as fresh:
        import_claude_code(fresh, shared("hostile/injected-instructions/session.jsonl"), now_ms=NOW)
        fresh.loop.run()
        assert len(fresh.loop.queue()) == 1


@pytest.mark.parametrize("items", [5, None, [5], [{"type": "fact"}], ["x"]])
def test_what_is_no_item_is_refused_by_its_number(items: Any, tmp_path: Path) -> None:
    """VAL-E001, never a raw error; nothing of that capture is stored."""
    good = CaptureItem("event", "k", {"content": "c", "role": "user", "context": {"source_key": "k"}})
    given = [good, *items] if isinstance(items, list) else items
    with Memory.open(tmp_path / "a.deja") as memory:
        with pytest.raises(
            DejaError, match=r"VAL-E001 (item 2 of the capture: it has no|a capture takes items)"
        ):
            memory.capture(given)
        assert not list(memory.scan("event"))
        bad = CaptureItem("event", "k", {"content": 5})
        with pytest.raises(DejaError, match="item 1 of the capture"):
            memory.capture([bad])
