# SPDX-License-Identifier: Apache-2.0
"""What the hooks cost in CPU time, beside the bar of D47: ``python -c "import apsw, msgpack, xxhash"``.

Run ``python benchmarks/hooks.py`` in a checkout whose compiled modules may be written (``PYTHONDONTWRITEBYTECODE`` unset): each
figure is the median of fresh processes, user and system time, in ms and as a multiple of the bar, which is measured in turns with
it. The hook is started as the installed program starts it.
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
DELTA = 65_536
GRAINS = 2_000
BASE = "import apsw, msgpack, xxhash"


def spent(words: list[str], told: bytes) -> float:
    """CPU ms of one fresh process."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPATH"] = str(ROOT)
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], env=env, check=True, input=told, stdout=subprocess.DEVNULL)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime) * 1e3


def cpu(words: list[str], told: bytes, runs: int, before: Callable[[], None]) -> tuple[float, float]:
    """Median CPU ms of the bar and of a fresh process with these words, in turns; the first turn fills caches."""
    bars, taken = [], []
    for _ in range(runs + 1):
        before()
        bars.append(spent(["-c", BASE], b""))
        taken.append(spent(words, told))
    return statistics.median(bars[1:]), statistics.median(taken[1:])


class Transcript:
    """A session file that grows: calls that all fail, in records of about 800 bytes, or of more with ``padding``."""

    def __init__(self, path: Path, padding: int = 0) -> None:
        self.path = path
        self.count = 0
        self.padding = "the quick brown fox reads a file of the project again, line by line\n" * (
            padding // 68
        )

    def grow(self, delta: int = DELTA) -> None:
        """Add whole records, at most ``delta`` bytes where that is more than one call and its result take."""
        size = 0
        with self.path.open("a") as file:
            while True:
                lines = [json.dumps(record) + "\n" for record in self._turn(self.count + 1)]
                size += sum(map(len, lines))
                if size > delta and size > sum(map(len, lines)):
                    return
                self.count += 1
                file.writelines(lines)

    def _turn(self, number: int) -> tuple[dict[str, object], dict[str, object]]:
        base = {"sessionId": SESSION, "timestamp": "2026-01-05T10:00:00Z"}
        result = "E   OperationalError: connection refused\n" * 20
        said = {"type": "text", "text": "I will run the tests again now. " * 8}
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": "pytest -q"}}
        failed = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "is_error": not self.padding,
                  "content": result + self.padding}  # fmt: skip
        reply = {"role": "assistant", "id": f"m{number}", "content": [said, use]}
        return (
            {**base, "type": "assistant", "uuid": f"a{number}", "message": reply},
            {**base, "type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": [failed]}},
        )


def main(runs: int = 15) -> None:
    """Print one line a hook."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        db, fresh = place / "memory.deja", place / "fresh.deja"
        fill(db)
        program = place / "deja"
        program.write_text("import sys\nfrom deja_tui.cli.main import main\nsys.exit(main())\n")
        dense, usual = Transcript(place / "dense.jsonl"), Transcript(place / "usual.jsonl", padding=2_800)
        first = Transcript(place / "first.jsonl")
        prompt = json.dumps({"prompt": "why is the pool out of connections in the tests"}).encode()

        def made_anew() -> None:
            for one in place.glob("fresh.deja*"):
                one.unlink()
            if not first.count:
                first.grow()

        def capture(name: str, source: Transcript, before: Callable[[], None], file: Path = db) -> Row:
            return name, ["capture", "--db", str(file)], event(source.path), before

        rows: tuple[Row, ...] = (
            ("recall, 2,000 facts", ["recall", "--db", str(db)], prompt, lambda: None),
            capture("capture, one call and its result", dense, lambda: dense.grow(1)),
            capture("capture, 4 KB new", dense, lambda: dense.grow(4_096)),
            capture("capture, 64 KB new, usual records of 2 KB", usual, usual.grow),
            capture("capture, 64 KB new, small ones, all failed", dense, dense.grow),
            capture("capture, nothing new", dense, lambda: None),
            capture("capture, 64 KB into a file it makes", first, made_anew, fresh),
            (
                "capture, a failed call told by its event",
                ["capture", "--db", str(db)],
                failure(),
                lambda: None,
            ),
            ("session-end, nothing new", ["session-end", "--db", str(db)], event(dense.path), settled(db)),
        )
        for name, words, told, before in rows:
            bar, taken = cpu([str(program), "hook", *words], told, runs, before)
            print(f"{name:44} {taken:7.1f} ms, bar {bar:5.1f} ms {taken / bar:6.2f}x", flush=True)


Row = tuple[str, list[str], bytes, Callable[[], None]]


def event(path: Path) -> bytes:
    """What the agent tells at the end of a turn."""
    told = {"hook_event_name": "Stop", "session_id": SESSION, "transcript_path": str(path)}
    return json.dumps(told).encode()


def failure() -> bytes:
    """What the agent tells of a failed call."""
    told = {"hook_event_name": "PostToolUseFailure", "session_id": SESSION, "tool_name": "Bash",
            "tool_use_id": "toolu_event", "tool_input": {"command": "pytest -q"}, "error": "exit code 1"}  # fmt: skip
    return json.dumps(told).encode()


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
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
