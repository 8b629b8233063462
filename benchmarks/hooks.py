# SPDX-License-Identifier: Apache-2.0
"""What the hooks cost in CPU time, beside the bar of D47: ``python -c "import apsw, msgpack, xxhash"``.

Run ``python benchmarks/hooks.py`` in a checkout whose compiled modules may be written (``PYTHONDONTWRITEBYTECODE`` unset): each
figure is the median of fresh processes, user and system time, in ms and as a multiple of the bar.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SESSION = "aaaaaaaa-0000-4000-8000-000000000001"
DELTA = 64_000
GRAINS = 2_000
BASE = "import apsw, msgpack, xxhash"


def cpu(words: list[str], told: bytes, runs: int, before: Callable[[], None]) -> float:
    """Median CPU ms of a fresh process."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPATH"] = str(ROOT)
    taken = []
    for _ in range(runs):
        before()
        start = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], env=env, check=True, input=told, stdout=subprocess.DEVNULL)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append((end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime) * 1e3)
    return statistics.median(taken[1:] if len(taken) > 1 else taken)


class Transcript:
    """A session file that grows by about `DELTA` bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0

    def grow(self) -> None:
        size = 0
        with self.path.open("a") as file:
            while size < DELTA:
                self.count += 1
                size += sum(file.write(json.dumps(record) + "\n") for record in self._turn(self.count))

    def _turn(self, number: int) -> tuple[dict[str, object], dict[str, object]]:
        base = {"sessionId": SESSION, "timestamp": "2026-01-05T10:00:00Z"}
        said = {"type": "text", "text": "I will run the tests again now. " * 8}
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": "pytest -q"}}
        failed = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "is_error": True,
                  "content": "E   OperationalError: connection refused\n" * 20}  # fmt: skip
        reply = {"role": "assistant", "id": f"m{number}", "content": [said, use]}
        return (
            {**base, "type": "assistant", "uuid": f"a{number}", "message": reply},
            {**base, "type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": [failed]}},
        )


def main(runs: int = 9) -> None:
    """Print one line a hook."""
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "memory.deja"
        fill(db)
        grown = Transcript(Path(folder) / "session.jsonl")
        prompt = json.dumps({"prompt": "why is the pool out of connections in the tests"}).encode()
        stop = json.dumps(
            {"hook_event_name": "Stop", "session_id": SESSION, "transcript_path": str(grown.path)}
        ).encode()
        bar = cpu(["-c", BASE], b"", runs, lambda: None)
        print(f"{'the bar: ' + BASE:48} {bar:7.1f} ms   1.0x")
        hook = ["-m", "deja_tui", "hook"]
        rows: tuple[tuple[str, list[str], bytes, Callable[[], None]], ...] = (
            ("recall, 2,000 facts", [*hook, "recall", "--db", str(db)], prompt, lambda: None),
            ("capture, 64 KB new", [*hook, "capture", "--db", str(db)], stop, grown.grow),
            ("capture, nothing new", [*hook, "capture", "--db", str(db)], stop, lambda: None),
            ("session-end, nothing new", [*hook, "session-end", "--db", str(db)], stop, settled(db)),
        )
        for name, words, told, before in rows:
            spent = cpu(words, told, runs, before)
            print(f"{name:48} {spent:7.1f} ms {spent / bar:5.1f}x")


def settled(db: Path) -> Callable[[], None]:
    """Runs the loop once, so that nothing is new for the next run."""
    done: list[bool] = []

    def settle() -> None:
        from deja_tui import Memory

        if not done:
            with Memory.open(db) as memory:
                memory.loop.run()
            done.append(True)

    return settle


def fill(db: Path) -> None:
    """A memory of some size."""
    sys.path.insert(0, str(ROOT))
    from deja_tui import Memory

    with Memory.open(db) as memory:
        for number in range(GRAINS):
            memory.add_fact(f"pool {number}", "size", f"{number} connections for the tests")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
