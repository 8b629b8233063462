# SPDX-License-Identifier: Apache-2.0
"""How far long work has come: every long act tells a count that ends at its end, and does the same work unwatched."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from deja_tui import Memory, watch
from deja_tui.capture.files import import_path
from deja_tui.capture.registry import source
from deja_tui.cli.main import run
from tests.support import NOW

Told = list[tuple[int, int, str]]


def told_by(act: Callable[[], object]) -> Told:
    """What an act tells while it is watched."""
    told: Told = []
    with watch.watched(lambda *one: told.append(one)):
        act()
    return told


def test_without_a_watcher_nothing_is_wrapped() -> None:
    """WATCH-1: the very object comes back, and its end is not even counted; the watcher before comes back, too."""
    items = [1, 2, 3]
    assert watch.each(items, lambda: pytest.fail("nobody asked")) is items
    told: Told = []
    with watch.watched(lambda *one: told.append(one)):
        with watch.watched(None):
            assert watch.each(items, 3) is items
        assert watch.is_watched()
        assert list(watch.each(items, lambda: 3, "things", every=2)) == items
    assert told == [(0, 3, "things"), (2, 3, "things"), (3, 3, "things")]


def test_long_acts_tell_a_count_and_its_end(tmp_path: Path) -> None:
    """WATCH-2: import, run, verify, rebuild, bundle, segments, restore, erasing; each ends where it said it would."""
    lines = tmp_path / "calls.jsonl"
    row = {"tool_name": "curl", "content": "timeout", "is_error": True, "timestamp": NOW - 1_000}
    lines.write_text("".join(json.dumps({**row, "tool_call_id": f"c{n}"}) + "\n" for n in range(600)))
    shared, path, copy = tmp_path / "shared", tmp_path / "a.deja", tmp_path / "b.deja"
    shared.mkdir()
    with Memory.open(path, clock=lambda: NOW) as memory, Memory.open(copy, clock=lambda: NOW) as other:
        acts: dict[str, Callable[[], object]] = {
            "KiB": lambda: import_path(memory, source("openai"), lines, now_ms=NOW),
            "analyzers": lambda: memory.loop.run(),
            "grains": lambda: memory.verify(deep=True),
            "pages": lambda: memory.verify(rebuild=True),
            "rows": lambda: memory.bundle(tmp_path / "a.mgb"),
            "rows ": lambda: memory.push_segments(shared),
            "segments": lambda: other.pull_segments(shared),
            "KiB ": lambda: other.import_bundle(tmp_path / "a.mgb"),
            "operations": lambda: Memory.restore(
                path, tmp_path / "r.deja", until=NOW, because="x", clock=lambda: NOW
            ),
            "times": lambda: memory.loop.replay({}, window_ms=86_400_000),
            "grains ": lambda: memory.forget_older_than(NOW, because="x", limit=70),
        }
        for unit, act in acts.items():
            told = [(done, total) for done, total, of in told_by(act) if of == unit.strip()]
            assert told, unit
            assert all(0 <= done <= total for done, total in told), (unit, told[-3:])
            if unit not in ("KiB", "rows "):  # these two end with what follows them
                assert told[-1][0] == told[-1][1], (unit, told[-3:])
        folder = tmp_path / "folder"
        folder.mkdir()
        for number in range(3):
            (folder / f"{number}.jsonl").write_text(lines.read_text()[:2_000])
        told_files = told_by(lambda: import_path(memory, source("openai"), folder, now_ms=NOW))
        assert {of for _, _, of in told_files} == {"files"}


def test_an_interrupt_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 130, one line, no traceback, and the file verifies; whatever verb it was."""
    path = tmp_path / "a.deja"
    with Memory.open(path, clock=lambda: NOW) as memory:
        memory.add_fact("a", "b", "c")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("deja_tui.store.memory.Store.snapshot", interrupted)
    for argv in (["verify"], ["bundle", str(tmp_path / "b.mgb")], ["segments", "push", str(tmp_path)]):
        capsys.readouterr()
        assert run([*argv, "--db", str(path)]) == 130
        told = capsys.readouterr().err.strip()
        assert told == "interrupted: the memory is whole; what was done stays, what was not is not there"
    monkeypatch.undo()
    with Memory.open(path, clock=lambda: NOW) as memory:
        assert memory.verify() == ()
