# SPDX-License-Identifier: Apache-2.0
"""One memory that lives through the verbs of the command line, most of them killed with signal 9 at a random moment.

Each verb is a process of its own, forked from this one, which has everything imported and opens no memory: so the moment falls
into the work and not into the loading of Python. What a verb acknowledged must be there; what it did not is there whole or
not at all. Every look at the memory is a process of its own, too.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import random
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import deja_tui.cli
from deja_tui import Memory
from deja_tui.cli.main import run

CALLS = 400
LOCKED_S = 2.2  # a hook waits 2 s for a lock (D34)


def load() -> None:
    """Import every verb before the first fork."""
    for module in pkgutil.iter_modules(deja_tui.cli.__path__):
        if module.name not in ("ui", "mcp", "mcp_tools"):
            importlib.import_module(f"deja_tui.cli.{module.name}")
    importlib.import_module("deja_tui.capture.registry")


class Process:
    """A verb that was forked, with what it writes."""

    def __init__(self, work: Callable[[], int], stdin: bytes = b"") -> None:
        self.out, self.err, told = (tempfile.TemporaryFile() for _ in range(3))  # noqa: SIM115
        told.write(stdin)
        told.seek(0)
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.dup2(told.fileno(), 0)
            os.dup2(self.out.fileno(), 1)
            os.dup2(self.err.fileno(), 2)
            code = 99
            try:
                code = work()
                sys.stdout.flush()
            except BaseException:  # noqa: BLE001 — the parent reads it
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        told.close()
        self.begun = time.monotonic()
        self.fd = os.pidfd_open(self.pid)

    def ends_within(self, seconds: float) -> bool:
        return bool(select.select([self.fd], [], [], seconds)[0])

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def end(self) -> tuple[int, str, str]:
        """(status, stdout, stderr)"""
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        told = []
        for file in (self.out, self.err):
            file.seek(0)
            told.append(file.read().decode())
            file.close()
        return status, told[0], told[1]


class Life:
    """The memory, what it must answer, and the acts that change it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.folder = folder
        self.db, self.other = folder / "a.deja", folder / "b.deja"
        self.segments = folder / "segments"
        self.segments.mkdir()
        self.transcript = folder / "session.jsonl"
        self.n = 0
        self.values: dict[str, str | None] = {}  # subject -> the current object
        self.addresses: dict[str, str] = {}
        self.statuses: dict[str, str] = {}
        self.tools: list[str] = []
        self.imported: dict[str, int] = {}
        self.document: str | None = None
        self.said = 0
        self.failures = 0
        self.times: dict[str, float] = {}
        self.tried: Counter[str] = Counter()
        self.killed: Counter[str] = Counter()

    # --- processes

    def verb(
        self, *words: object, stdin: bytes = b"", kill: bool | None = None, db: Path | None = None
    ) -> Any:
        """(acknowledged, stdout); killed at a random moment of its usual time, unless told not to be."""
        argv = [str(word) for word in words]
        name = " ".join(argv[:2]) if argv[0] in ("loop", "segments", "hook", "doc") else argv[0]
        argv += ["--db", str(db or self.db)]
        self.tried[name] += 1
        process = Process(lambda: run(argv), stdin)
        usual = self.times.get(name)
        if kill is None:
            kill = usual is not None and self.chance.random() < 0.75
        if kill and not process.ends_within(self.chance.random() * 1.1 * (usual or 0.02)):
            process.kill()
        status, out, err = process.end()
        if status == -signal.SIGKILL:
            self.killed[name] += 1
            return False, out
        assert status == 0, (argv, status, out, err)
        spent = time.monotonic() - process.begun
        self.times[name] = spent if usual is None else (usual * 3 + spent) / 4
        return True, out

    def seen(self, look: Callable[[Memory], Any], db: Path | None = None) -> Any:
        """What a look in a process of its own says."""

        def work() -> int:
            with Memory.open(db or self.db, read_only=True) as memory:
                print(json.dumps(look(memory)))  # noqa: T201 — the answer of the process
            return 0

        status, out, err = Process(work).end()
        assert status == 0, err
        return json.loads(out)

    # --- acts

    def add(self) -> None:
        self.n += 1
        subject = f"s{self.n}"
        done, _ = self.verb("add", subject, "text", f"{subject} first " + "word " * 20)
        self.expect(subject, None, f"{subject} first", done)

    def supersede(self) -> None:
        subject = self.some()
        if subject is None:
            return
        before = self.values[subject]
        self.n += 1
        words = f"{subject} version{self.n}"
        done, _ = self.verb(
            "supersede", self.addresses[subject], "--set", f"object={words}", "--because", "it changed"
        )
        self.expect(subject, before, words, done)

    def forget(self) -> None:
        subject = self.some()
        if subject is None:
            return
        before = self.values[subject]
        erase = ("--because", "asked to", "--allow-destructive")
        if self.chance.random() < 0.5:
            words = ("forget-subject", subject, "--confirm", subject[:4], *erase)
            done, _ = self.verb(*words)
        else:
            done, _ = self.verb("forget", self.addresses[subject], *erase)
            if before is not None and "version" in before:
                # an older version may be current again; what was erased never is
                now = self.current(subject)
                assert now is None or now[1] != before or not done
                self.values[subject], self.addresses[subject] = (now[1], now[0]) if now else (None, "")
                return
        self.expect(subject, before, None, done)

    def calls(self) -> None:
        self.n += 1
        tool = f"tool{self.n}"
        for k in range(3):
            self.verb(
                "record-tool-call", tool, f"failed as {self.n}", "--error", "--thread", f"t{k}",
                "--call-id", f"{self.n}-{k}", kill=False,
            )  # fmt: skip
        self.tools.append(tool)

    def loop_run(self) -> None:
        self.calls()
        self.verb("loop", "run")
        self.look()

    def decide(self) -> None:
        allowed = {
            "pending": ("approve", "reject"),
            "approved": ("apply", "apply", "withdraw"),
            "applied": ("rollback",),
        }
        ends = {
            "approve": "approved",
            "reject": "rejected",
            "apply": "applied",
            "withdraw": "",
            "rollback": "rolled_back",
        }
        open_ones = [row for row, status in self.statuses.items() if status in allowed]
        if not open_ones:
            return
        address = self.chance.choice(open_ones)
        before = self.statuses[address]
        verb = self.chance.choice(allowed[before])
        done, _ = self.verb("loop", verb, address, "--because", f"{verb} it {self.n}")
        self.look()
        after = self.statuses[address]
        wanted = ends[verb] or "rejected"
        assert after == wanted if done else after in (before, wanted), (verb, before, after, done)

    def bring(self) -> None:
        self.n += 1
        session, path = f"i{self.n}", self.folder / "calls.jsonl"
        lines = [
            {"tool_name": "search", "arguments": {"q": k}, "result": f"{k} hits " + "x" * 300, "tool_call_id": f"{session}-{k}", "thread": session}
            for k in range(CALLS)
        ]  # fmt: skip
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        done, _ = self.verb("import", path)
        while not done:  # again, as a person would
            done, _ = self.verb("import", path)
        self.imported[session] = CALLS

    def bundle(self) -> None:
        target = self.folder / "a.mgb"
        done, _ = self.verb("bundle", target)
        copy = self.folder / "copy.deja"
        for name in ("", "-wal", "-shm"):
            Path(f"{copy}{name}").unlink(missing_ok=True)
        if target.exists() and (done or self.chance.random() < 0.5):
            self.verb("import-bundle", target, kill=False, db=copy)
            if not done:
                return
            # the import of a copy, killed, goes on where it was
            wanted = self.seen(facts, copy)
            for name in ("", "-wal", "-shm"):
                Path(f"{copy}{name}").unlink(missing_ok=True)
            while not self.verb("import-bundle", target, db=copy)[0]:
                continue
            assert self.seen(facts, copy) == wanted == self.seen(facts)
            assert self.seen(faults, copy) == []

    def sync(self) -> None:
        self.n += 1
        self.verb("add", f"o{self.n}", "text", "of the other copy", kill=False, db=self.other)
        for db in (self.db, self.other):
            while not self.verb("segments", "push", self.segments, db=db)[0]:
                continue
        for db in (self.db, self.other):
            while not self.verb("segments", "pull", self.segments, db=db)[0]:
                continue
        assert self.seen(facts) == self.seen(facts, self.other)

    def capture(self) -> None:
        self.n += 1
        with self.transcript.open("a") as file:
            for _ in range(self.chance.randrange(1, 40)):
                self.said += 1
                stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_770_000_000 + self.said))
                row = {
                    "type": "user", "sessionId": "s1", "uuid": f"u{self.said}", "timestamp": stamp,
                    "message": {"role": "user", "content": f"turn {self.said}"},
                }  # fmt: skip
                file.write(json.dumps(row) + "\n")
        event = {"hook_event_name": "Stop", "session_id": "s1", "transcript_path": str(self.transcript)}
        holder = self.lock() if self.chance.random() < 0.1 else None
        done, _ = self.verb(
            "hook", "capture", stdin=json.dumps(event).encode(), kill=None if holder is None else False
        )
        if holder is not None:
            holder.kill()
            holder.end()
        while not done:
            done, _ = self.verb("hook", "capture", stdin=json.dumps(event).encode())

    def failure(self) -> None:
        """The event of a failed call: the one thing that no transcript tells a second time."""
        event = {
            "hook_event_name": "PostToolUseFailure", "session_id": "s1", "tool_name": "Bash",
            "tool_input": {"command": "make"}, "error": f"no rule {self.failures}", "tool_use_id": f"f{self.failures}",
        }  # fmt: skip
        told = json.dumps(event).encode()
        holder = self.lock() if self.chance.random() < 0.1 else None
        done, _ = self.verb("hook", "capture", stdin=told, kill=None if holder is None else False)
        if holder is not None:
            holder.kill()
            holder.end()
        if not done:
            self.verb("hook", "capture", stdin=told, kill=False)
        self.failures += 1

    def lock(self) -> Process:
        """Another program that holds a write transaction until it is killed."""
        ready = self.folder / "ready"
        ready.unlink(missing_ok=True)

        def hold() -> int:
            import apsw

            db = apsw.Connection(str(self.db))
            db.set_busy_timeout(5_000)
            db.execute("BEGIN IMMEDIATE")
            ready.touch()
            time.sleep(60)
            return 0

        holder = Process(hold)
        while not ready.exists() and not holder.ends_within(0.005):
            continue
        return holder

    def rebuild(self) -> None:
        self.verb("verify", "--rebuild")

    def write_document(self) -> None:
        self.n += 1
        text = f"version {self.n}\n" * 50
        words = ("doc", "create", "/memories/notes.md", "--overwrite")
        done, _ = self.verb(*words, stdin=text.encode())
        now = self.seen(document)
        assert now == text if done else now in (self.document, text)
        self.document = now

    def setting(self) -> None:
        self.n += 1
        words = (f"tool_failure.window_days={self.chance.randrange(20, 60)}", "--because", f"noise {self.n}")
        self.verb("loop", "set", *words)

    def restore(self) -> None:
        target = self.folder / "then.deja"
        for name in ("", "-wal", "-shm"):
            Path(f"{target}{name}").unlink(missing_ok=True)
        done, _ = self.verb("restore", target, "--until", str(int(time.time() * 1000)), "--because", "a look")
        if target.exists():
            assert self.seen(faults, target) == []
            if done:
                assert self.seen(facts, target) == self.seen(facts)
        else:
            assert not done

    def recall(self) -> None:
        self.verb("recall", "s1")

    def tidy(self) -> None:
        """One of each that leaves parts when it is killed, to its end."""
        self.verb("add", "touch", "is", "last", kill=False)
        self.verb("bundle", self.folder / "a.mgb", kill=False)
        for db in (self.db, self.other):
            self.verb("segments", "push", self.segments, kill=False, db=db)
        (self.folder / "then.deja").unlink(missing_ok=True)
        until = str(int(time.time() * 1000))
        self.verb("restore", self.folder / "then.deja", "--until", until, "--because", "a look", kill=False)

    # --- what must hold

    def some(self) -> str | None:
        live = [subject for subject, value in self.values.items() if value is not None]
        return self.chance.choice(live) if live else None

    def current(self, subject: str) -> tuple[str, str] | None:
        def look(memory: Memory) -> Any:
            found = memory.latest(subject, "text")
            return None if found is None else (found.address, found.get("object"))

        return self.seen(look)

    def expect(self, subject: str, before: str | None, after: str | None, done: bool) -> None:
        """The current value is the new one; or, where nothing was acknowledged, the old or the new one, whole."""
        found = self.current(subject)
        now = None if found is None else found[1]

        def same(value: str | None) -> bool:
            return now is None if value is None else now is not None and now.startswith(value)

        assert same(after) if done else same(before) or same(after), (subject, before, after, now, done)
        self.values[subject], self.addresses[subject] = (now, found[0]) if found else (None, "")

    def look(self) -> None:
        """Statuses by address; what is applied has its effect, and nothing else has."""

        def look(memory: Memory) -> Any:
            rows = [(row.address, row.status, row.target_ref) for row in memory.loop.queue(None)]
            told = [fact.get("subject") for fact in memory.recall(relation="fails_with", k=100_000)]
            return rows, told

        rows, told = self.seen(look)
        self.statuses = {address: status for address, status, _ in rows}
        applied = sum(status == "applied" for _, status, _ in rows)
        assert len(told) == len(set(told)) == applied, (applied, told)

    def whole(self) -> None:
        """Everything that was acknowledged, and no fault."""
        assert self.seen(faults) == []

        def look(memory: Memory) -> Any:
            facts = {subject: memory.latest(subject, "text") for subject in self.values}
            calls = Counter(str(tool.get("session_id") or tool.get("thread")) for tool in memory.scan("tool"))
            turns = sum(1 for event in memory.scan("event") if str(event.get("content")).startswith("turn "))
            fails = sum(
                1 for tool in memory.scan("tool") if str(tool.get("tool_content")).startswith("no rule ")
            )
            return {s: f and f.get("object") for s, f in facts.items()}, calls, turns, fails

        values, calls, turns, fails = self.seen(look)
        assert values == self.values
        assert {session: calls.get(session) for session in self.imported} == self.imported
        assert turns == self.said, (turns, self.said)
        assert fails == self.failures, (fails, self.failures)


def document(memory: Memory) -> Any:
    found = [document.text for document in memory.docs.list()]
    return found[0] if found else None


def facts(memory: Memory) -> Any:
    return sorted((grain.address, grain.live) for grain in memory.store.scan("fact"))


def faults(memory: Memory) -> Any:
    return [(fault.code, fault.message) for fault in memory.verify(deep=True)]


def live(folder: Path, seconds: float, seed: int) -> dict[str, Any]:
    """Let a memory live so long; what was tried and killed, and what lay about at the end."""
    load()
    life = Life(folder, seed)
    life.verb("add", "s0", "text", "s0 first", kill=False)
    life.values["s0"] = "s0 first"
    life.addresses["s0"] = life.current("s0")[0]  # type: ignore[index]
    life.verb("add", "o0", "text", "of the other copy", kill=False, db=life.other)
    often: list[tuple[Callable[[], None], int]] = [
        (life.add, 6), (life.supersede, 6), (life.forget, 3), (life.loop_run, 3), (life.decide, 10), (life.bring, 1),
        (life.bundle, 1), (life.sync, 2), (life.capture, 5), (life.failure, 4), (life.rebuild, 1),
        (life.write_document, 2), (life.setting, 1), (life.restore, 1), (life.recall, 2),
    ]  # fmt: skip
    acts = [act for act, weight in often for _ in range(weight)]
    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        life.chance.choice(acts)()
        rounds += 1
        if rounds % 10 == 0:
            life.verb("add", "touch", "is", str(rounds), kill=False)  # takes in what waits in the spool
            life.whole()
    parts = sum(1 for _ in folder.rglob("*.partial"))
    life.tidy()
    life.whole()
    life.look()
    assert not list(folder.rglob("*.partial"))
    assert not list(folder.glob("*.spool"))
    return {
        "rounds": rounds, "processes": life.tried.total(), "killed": life.killed.total(), "parts taken away": parts,
        "by": dict(life.killed.most_common()),
    }  # fmt: skip


def main(argv: Sequence[str]) -> int:
    folder = Path(argv[0])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    print(json.dumps(live(folder, float(argv[1]), int(argv[2]))))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
