# SPDX-License-Identifier: Apache-2.0
"""A lock of another program on the memory, short, long, for ever, and one that keeps even readers out, met by every verb
(docs/reliability.md).

Outside the default suite: ``python -m pytest -s -m slow -n 0 tests/e2e/test_locks.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import ROOT

pytestmark = pytest.mark.slow

HOLDER = """
import sys, time
import apsw
db = apsw.Connection(sys.argv[1])
db.set_busy_timeout(5_000)
if sys.argv[2] == "alone":
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
db.execute("BEGIN EXCLUSIVE" if sys.argv[2] == "alone" else "BEGIN IMMEDIATE")
db.execute("CREATE TABLE IF NOT EXISTS strangers (x)")
print("held", flush=True)
time.sleep(float(sys.argv[3]))
db.execute("ROLLBACK")
"""
AT_ONCE = 6  # processes on two cores: their start is part of what they wait


@contextmanager
def held(db: Path, kind: str, seconds: float) -> Iterator[None]:
    """A stranger's lock, let go after so long or in the end."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(db), kind, str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    try:
        yield
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


def deja(words: Sequence[object], db: Path, stdin: str = "") -> tuple[int, str, str, float]:
    """Status, stdout, stderr, seconds."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("DEJA_")}
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "deja_tui", *map(str, words), "--db", str(db)],
        cwd=ROOT,
        input=stdin,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr, time.monotonic() - begun


def prepared(folder: Path) -> tuple[Path, list[tuple[Sequence[object], str]], list[Sequence[object]]]:
    """A memory; the verbs that write to it with what they read; the verbs that only read."""
    db, other = folder / "a.deja", folder / "b.deja"
    assert deja(("init", "--template", "demo"), db)[0] == 0
    assert deja(("add", "of", "the", "other"), other)[0] == 0
    assert deja(("bundle", folder / "b.mgb"), other)[0] == 0
    (folder / "shared").mkdir()
    assert deja(("segments", "push", folder / "shared"), other)[0] == 0
    rows = json.loads(deja(("loop", "list", "--format", "json"), db)[1])["recommendations"]
    first, second, third, *_ = [row["address"] for row in rows]
    facts = [deja(("add", f"s{n}", "is", "here"), db)[1].strip() for n in range(4)]
    (folder / "calls.jsonl").write_text(
        json.dumps({"tool_name": "s", "result": "x", "tool_call_id": "i1", "thread": "z"}) + "\n"
    )
    turn = {"type": "user", "sessionId": "s1", "uuid": "u1", "timestamp": "2026-01-05T10:00:00Z",
            "message": {"role": "user", "content": "a turn that waits"}}  # fmt: skip
    (folder / "t.jsonl").write_text(json.dumps(turn) + "\n")
    event = {"hook_event_name": "Stop", "session_id": "s1", "transcript_path": str(folder / "t.jsonl")}
    because = ("--because", "x")
    writes: list[tuple[Sequence[object], str]] = [
        (("add", "a", "b", "c"), ""),
        (("supersede", facts[0], "--set", "object=gone", *because), ""),
        (("retire", facts[1], "--by", facts[2], *because), ""),
        (("forget", facts[3], *because, "--allow-destructive"), ""),
        (("record-tool-call", "curl", "fine"), ""),
        (("import", folder / "calls.jsonl"), ""),
        (("import-bundle", folder / "b.mgb"), ""),
        (("segments", "pull", folder / "shared"), ""),
        (("segments", "push", folder / "shared"), ""),
        (("loop", "reflect"), ""),
        (("loop", "approve", first, *because), ""),
        (("loop", "reject", second, *because), ""),
        (("loop", "reject", third, *because), ""),
        (("loop", "set", "tool_failure.min_count=4", *because), ""),
        (("cal", 'ADD fact SET subject = "x" SET relation = "y" SET object = "z" REASON "w"'), ""),
        (("doc", "create", "/memories/new.md"), "text"),
        (("declare", "namespace", "shared", *because), ""),
        (("verify", "--rebuild"), ""),
        (("hook", "capture"), json.dumps(event)),
        (("hook", "session-end"), json.dumps(event)),
    ]
    reads: list[Sequence[object]] = [
        ("recall",), ("search", "refund"), ("get", facts[0]), ("history", facts[0]), ("context", "refund"), ("log",),
        ("loop", "list"), ("loop", "show", first), ("loop", "health"), ("loop", "analyzers"), ("why", "tool_failure"),
        ("stats",), ("verify",), ("audit", "export"), ("bundle", folder / "out.mgb"), ("forks",), ("next",),
        ("doc", "list"), ("cal", "RECALL facts"), ("restore", folder / "then.deja", "--until", "2100-01-01", *because),
    ]  # fmt: skip
    return db, writes, reads


def test_a_lock_at_every_door(tmp_path: Path) -> None:
    """Held for ever: who reads goes on, who writes says STO-E004 in its time, a capture waits in the spool; held for a while: everybody
    gets through; nobody hangs, and nothing is half done."""
    db, writes, reads = prepared(tmp_path)
    figures: dict[str, object] = {}
    with held(db, "writing", 600), ThreadPoolExecutor(AT_ONCE) as pool:
        slowest = 0.0
        for words, (status, _, err, seconds) in zip(
            reads, pool.map(lambda words: deja(words, db), reads), strict=True
        ):
            assert (status, err) == (0, ""), (words, err)
            slowest = max(slowest, seconds)
        figures["reads under a writer"] = f"{len(reads)}, slowest {slowest:.1f} s"
        assert slowest < 10
        slowest = 0.0
        answers = pool.map(lambda door: deja(door[0], db, door[1]), writes)
        for (words, _), (status, out, err, seconds) in zip(writes, answers, strict=True):
            slowest = max(slowest, seconds)
            if words[0] == "hook":
                assert status == 0, words
            elif words == ("loop", "reflect"):
                assert (status, "lock" in out) == (0, True), out  # D34: a run that could not be is a skip
            else:
                assert status == 1, words
                assert err.startswith(("STO-E004", "LOP-E035")), (words, err)
            assert seconds < 20, (words, seconds)
        figures["writes under a writer for ever"] = f"{len(writes)}, slowest {slowest:.1f} s"
    assert list(tmp_path.glob("a.deja.spool/*.json"))
    assert deja(("verify", "--deep"), db)[0] == 0
    with held(db, "alone", 600), ThreadPoolExecutor(AT_ONCE) as pool:
        answers = pool.map(lambda words: deja(words, db), reads[:8])
        for words, (status, _, err, seconds) in zip(reads[:8], answers, strict=True):
            assert status == 0 or err.startswith("STO-E004"), (words, err)
            assert seconds < 20, (words, seconds)
    for seconds in (0.5, 3.0):
        with held(db, "writing", seconds):
            begun = time.monotonic()
            status, _, err, _ = deja(("add", "waits", "for", f"{seconds}"), db)
            assert status == 0, err
            figures[f"a lock of {seconds} s"] = f"{time.monotonic() - begun:.1f} s"
    for words, stdin in writes:
        status, _, err, _ = deja(words, db, stdin)
        assert status == 0, (words, err)
    assert "a turn that waits" in deja(("search", "turn that waits"), db)[1]
    assert not list(tmp_path.glob("a.deja.spool"))
    assert deja(("verify", "--deep"), db)[0] == 0
    sys.stderr.write(f"\nlocks: {figures}\n")
