# SPDX-License-Identifier: Apache-2.0
"""The spool: what a capture could not write, until the next writer takes it in."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from deja_tui import DejaError, Memory, spool

AT = 1_768_435_200_000


def row(number: int, text: str = "timed out") -> spool.Row:
    key = f"claude-code/call/c{number}"
    fields: dict[str, Any] = {
        "tool_name": "fetch",
        "tool_call_id": f"c{number}",
        "tool_content": text,
        "is_error": True,
        "created_at": AT + number,
        "context": {"source_key": key},
    }
    return "tool", key, fields


def test_a_spool_file_is_private_and_whole(tmp_path: Path) -> None:
    """SPOOL-1: the folder is 0700, its files 0600, and no half-written file is left."""
    db = tmp_path / "m.deja"
    name = spool.lay_down(db, [row(1)])
    folder = Path(spool.folder_of(db))
    assert folder == tmp_path / "m.deja.spool"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [one.name for one in folder.iterdir()] == [name]
    assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600


def test_the_next_act_takes_in_what_waits_once(tmp_path: Path) -> None:
    """SPOOL-2: any act stores what waits first, with its cursor and namespace; the files are gone, nothing is stored twice."""
    db = tmp_path / "m.deja"
    with Memory.open(db, namespace="team") as memory:
        memory.add("fact", {"subject": "a", "relation": "b", "object": "c"})
    spool.lay_down(db, [row(1), row(2)], namespace="team", cursor=("capture:x", {"offset": 7}))
    spool.lay_down(db, [row(2), row(3)], namespace="team", cursor=("capture:x", {"offset": 9}))
    assert spool.cursor(db, "capture:x") == {"offset": 9}
    with Memory.open(db) as memory:
        memory.add("fact", {"subject": "d", "relation": "e", "object": "f"})
        found = list(memory.scan("tool", namespace="team"))
        assert [one.get("tool_call_id") for one in found] == ["c1", "c2", "c3"]
        assert memory.store.setting("capture:x") == {"offset": 9}
        assert not memory.notices
    assert not os.path.exists(spool.folder_of(db))


def test_a_spool_file_that_cannot_be_read_stops_no_act(tmp_path: Path) -> None:
    """SPOOL-4: it stays, is told of in the notices and counted in the health; the others are taken in."""
    db = tmp_path / "m.deja"
    spool.lay_down(db, [row(1)])
    torn = Path(spool.folder_of(db)) / "00000000000000000001-1.json"
    torn.write_text('{"spool": 1, "na')
    with Memory.open(db) as memory:
        memory.add("fact", {"subject": "a", "relation": "b", "object": "c"})
        assert len(list(memory.scan("tool"))) == 1
        assert any("cannot be read" in told for told in memory.notices)
        health = memory.loop.health()
        assert (health.spooled, health.unreadable) == (0, 1)
    assert torn.exists()


def test_an_item_that_is_refused_stops_no_act(tmp_path: Path) -> None:
    """SPOOL-4: a file whose items the memory refuses stays and is told of."""
    db = tmp_path / "m.deja"
    spool.lay_down(db, [("no such type", "k", {"context": {"source_key": "k"}})])
    with Memory.open(db) as memory:
        memory.add("fact", {"subject": "a", "relation": "b", "object": "c"})
        assert any("refused" in told for told in memory.notices)
    assert len(spool.waiting(db)) == 1


def test_health_tells_what_waits(tmp_path: Path) -> None:
    """Items that wait are in the health report, for people and for programs."""
    from deja_tui.present.health import health_lines, health_shape

    db = tmp_path / "m.deja"
    Memory.open(db).close()
    spool.lay_down(db, [row(1), row(2)])
    with Memory.open(db, read_only=True) as memory:
        health = memory.loop.health()
    assert health_shape(health)["spooled"] == 2
    assert any("2 captured items waiting" in line for line in health_lines(health, 120))


def test_forgetting_reaches_what_waits(tmp_path: Path) -> None:
    """SPOOL-3: an erased subject leaves no row that tells of it, the others stay, and the file holds no old bytes."""
    db = tmp_path / "m.deja"
    spool.lay_down(db, [row(1, "Zoe Quill was here"), row(2)])
    assert spool.scrub(db, lambda kind, key, fields: "Zoe" in fields["tool_content"]) is None
    (name,) = spool.waiting(db)
    assert [key for _, key, _ in spool.read(db, name)[2]] == ["claude-code/call/c2"]
    assert b"Zoe" not in (Path(spool.folder_of(db)) / name).read_bytes()


@pytest.mark.parametrize("whole", [True, False])
def test_an_erased_capture_does_not_come_back_from_the_spool(tmp_path: Path, whole: bool) -> None:
    """SPOOL-3: after `forget` and `forget_subject` neither the memory nor the spool holds the erased text."""
    db = tmp_path / "m.deja"
    spool.lay_down(db, [row(1, "Zoe Quill was here")])
    with Memory.open(db) as memory:
        memory.add("fact", {"subject": "Zoe Quill", "relation": "is", "object": "here"})
        (tool,) = memory.scan("tool")
        spool.lay_down(db, [row(1, "Zoe Quill was here")])
        if whole:
            memory.forget_subject("Zoe Quill", because="asked for it", confirm="Zoe ", mentions=True)
        else:
            memory.forget(tool.address, because="asked for it")
        memory.add("fact", {"subject": "later", "relation": "is", "object": "written"})
        assert not list(memory.scan("tool"))
    assert not spool.waiting(db)


def test_a_lock_is_waited_for_once(tmp_path: Path) -> None:
    """SPOOL-2, D34: with captures waiting, a writer that meets a lock waits its time and not twice."""
    import apsw

    db = tmp_path / "m.deja"
    with Memory.open(db, busy_ms=400) as memory:
        memory.add_fact("a", "b", "c")
        spool.lay_down(db, [row(1)])
        stranger = apsw.Connection(str(db))
        stranger.execute("BEGIN IMMEDIATE")
        begun = time.monotonic()
        with pytest.raises(DejaError, match="STO-E004"):
            memory.add_fact("a", "b", "d")
        assert time.monotonic() - begun < 0.78
        stranger.execute("ROLLBACK")
        memory.add_fact("a", "b", "d")
        assert not spool.waiting(db)
        stranger.close()
