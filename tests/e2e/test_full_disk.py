# SPDX-License-Identifier: Apache-2.0
"""A disk without room, met by every verb that writes (docs/reliability.md): a code, nothing lost, and with room again it works.

Outside the default suite: ``python -m pytest -s -m slow -n 0 tests/e2e/test_full_disk.py``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import ROOT

pytestmark = pytest.mark.slow

DISK_MIB = 24
PAD = 20 * 1_048_576  # what is given back in the end


def deja(*words: object, stdin: bytes = b"", out: Path | None = None) -> tuple[int, str, str]:
    """One verb as a process: status, stdout, stderr; stdout into a file when it is named."""
    argv = [sys.executable, "-m", "deja_tui", *map(str, words)]
    if out is None:
        done = subprocess.run(argv, input=stdin, capture_output=True, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()
    with out.open("wb") as file:
        done = subprocess.run(argv, stdout=file, stderr=subprocess.PIPE, check=False)
    return done.returncode, "", done.stderr.decode()


class Disk:
    """A small disk of its own, with a memory, and beside it (with room) what is brought into it."""

    def __init__(self, disk: Path, beside: Path) -> None:
        self.disk, self.beside = disk, beside
        self.db = disk / "a.deja"
        (disk / "pad").write_bytes(b"x" * PAD)
        (disk / "shared").mkdir()
        for n in range(5):
            words = ("curl", "timeout", "--error", "--thread", f"t{n}", "--call-id", f"c{n}")
            assert deja("record-tool-call", *words, "--db", self.db)[0] == 0
        self.address = deja("add", "acme", "tier", "silver", "--db", self.db)[1].strip()
        self.other = deja("add", "pat", "likes", "tea", "--db", self.db)[1].strip()
        assert deja("doc", "create", "/memories/x.md", "--db", self.db, stdin=b"text " * 200)[0] == 0
        assert deja("loop", "run", "--db", self.db)[0] == 0
        told = json.loads(deja("loop", "list", "--format", "json", "--db", self.db)[1])
        self.recommendation = told["recommendations"][0]["address"]
        assert deja("loop", "approve", self.recommendation, "--because", "seen", "--db", self.db)[0] == 0
        calls = [
            {
                "tool_name": "s",
                "arguments": {"q": k},
                "result": "x" * 300,
                "tool_call_id": f"i{k}",
                "thread": "z",
            }
            for k in range(800)
        ]
        (beside / "calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
        assert deja("import", beside / "calls.jsonl", "--db", beside / "b.deja")[0] == 0
        assert deja("bundle", beside / "b.mgb", "--db", beside / "b.deja")[0] == 0
        turns = [
            {"type": "user", "sessionId": "s1", "uuid": f"u{k}", "timestamp": "2026-01-05T10:00:00Z",
             "message": {"role": "user", "content": f"turn {k} " + "y" * 500}}
            for k in range(200)
        ]  # fmt: skip
        (beside / "t.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns))

    def fill(self) -> None:
        with (self.disk / "fill").open("ab", buffering=0) as file:
            while True:
                try:
                    file.write(b"x" * 1_024)
                except OSError:
                    return

    def empty(self) -> None:
        for name in ("fill", "pad", "out"):
            (self.disk / name).unlink(missing_ok=True)

    def files(self) -> set[str]:
        """What lies on the disk, without what SQLite and the sidecar keep beside a file."""
        kept = ("-wal", "-shm", ".telemetry.db")
        return {path.name for path in self.disk.rglob("*") if path.is_file() and not path.name.endswith(kept)}

    def doors(self) -> list[tuple[Sequence[object], bytes]]:
        """Every verb that writes somewhere, in an order in which each can work; what it reads from stdin."""
        stop = {
            "hook_event_name": "Stop",
            "session_id": "s1",
            "transcript_path": str(self.beside / "t.jsonl"),
        }
        because = ("--because", "x")
        doors: list[Sequence[object]] = [
            ("add", "a", "b", "c" * 5_000),
            ("supersede", self.address, "--set", "object=" + "gold" * 1_000, *because),
            ("forget", self.other, *because, "--allow-destructive"),
            ("record-tool-call", "curl", "r" * 5_000),
            ("import", self.beside / "calls.jsonl"),
            ("import-bundle", self.beside / "b.mgb"),
            ("loop", "reflect"),
            ("loop", "apply", self.recommendation, *because),
            ("loop", "rollback", self.recommendation, *because),
            ("loop", "set", "tool_failure.min_count=4", *because),
            ("cal", 'ADD fact SET subject = "x" SET relation = "y" SET object = "z" REASON "w"'),
            ("doc", "create", "/memories/y.md"),
            ("declare", "namespace", "shared", *because),
            ("verify", "--rebuild"),
            ("bundle", self.disk / "o.mgb"),
            ("segments", "push", self.disk / "shared"),
            ("restore", self.disk / "then.deja", "--until", "2100-01-01", *because),
            ("audit", "export", "--out", self.disk / "trail.jsonl"),
            ("doc", "view", "/memories/x.md", "--out", self.disk / "x.md"),
            ("loop", "config-export", "--out", self.disk / "c.json"),
            ("init", "--template", "coding-agent", "--db", self.disk / "new.deja"),
            ("demo", self.disk / "shop.deja"),
        ]
        inputs = {"create": b"text " * 2_000}
        told = [(door, inputs.get(str(door[1]), b"")) for door in doors]
        told += [(("hook", verb), json.dumps(stop).encode()) for verb in ("capture", "session-end")]
        return told

    def go(self, words: Sequence[object], stdin: bytes) -> tuple[int, str, str]:
        named = () if words[0] in ("init", "demo") else ("--db", self.db)
        return deja(*words, *named, stdin=stdin)

    def facts(self) -> dict[str, str]:
        told = json.loads(deja("recall", "-k", "100", "--format", "json", "--db", self.db)[1])
        return {grain["address"]: grain["type"] for grain in told["grains"]}


def inside(disk: Path, beside: Path) -> dict[str, int]:
    """Every door on the full disk, every door with room again; what was counted."""
    on = Disk(disk, beside)
    held = on.facts()
    on.fill()
    full = worked = 0
    for words, stdin in on.doors():
        on.fill()
        before = on.files()
        status, _, err = on.go(words, stdin)
        assert "Traceback" not in err, (words, err)
        if words[0] == "hook":
            assert status == 0, words
        elif status:
            full += 1
            assert err.startswith(("STO-E007", "LOP-E020")), (words, err)
            assert on.files() <= before | {"new.deja"}, words
        assert deja("verify", "--deep", "--db", on.db)[0] == 0, words
        if words[0] != "forget" or status:
            assert held.keys() <= on.facts().keys() | {on.other}, words
    for words in (("stats",), ("log",), ("audit", "export"), ("loop", "list"), ("search", "timeout")):
        status, _, err = deja(*words, "--db", on.db, out=disk / "out")
        assert "Traceback" not in err, (words, err)
        assert deja(*words, "--db", on.db)[0] == 0, words
    on.empty()
    for words, stdin in on.doors():
        if words[0] == "forget" and on.other not in on.facts():
            continue
        status, _, err = on.go(words, stdin)
        assert status == 0, (words, err)
        worked += 1
    for path in (on.db, disk / "new.deja", disk / "shop.deja", disk / "then.deja"):
        assert deja("verify", "--deep", "--db", path)[0] == 0, path
    told = json.loads(deja("stats", "--format", "json", "--db", on.db)[1])
    assert told["grains"] >= 800 + 200 + 7, told
    return {
        "doors": len(on.doors()),
        "refused while full": full,
        "worked with room": worked,
        "grains": told["grains"],
    }


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare, to mount a small disk of its own")
def test_every_door_on_a_full_disk(tmp_path: Path) -> None:
    """A full disk ends every verb in STO-E007 and no traceback, loses nothing, leaves nothing that looks complete."""
    for name in ("disk", "beside"):
        (tmp_path / name).mkdir()
    mount = f"mount -t tmpfs -o size={DISK_MIB}m tmpfs {tmp_path}/disk"
    code = f"exec {sys.executable} -m tests.e2e.test_full_disk {tmp_path}/disk {tmp_path}/beside"
    env = {name: value for name, value in os.environ.items() if not name.startswith("DEJA_")}
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", f"{mount} && {code}"],
        cwd=ROOT,
        env={**env, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path / "beside")},
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("this system lets nobody mount a disk of their own")
    assert done.returncode == 0, done.stderr
    sys.stderr.write(f"\nfull disk: {done.stdout}")


if __name__ == "__main__":
    print(json.dumps(inside(Path(sys.argv[1]), Path(sys.argv[2]))))  # noqa: T201
