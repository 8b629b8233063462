# SPDX-License-Identifier: Apache-2.0
"""What a memory of many grains costs to fill, to hold and to open: ``python benchmarks/size.py --grains 1000000``.

The corpus is the one of ``benchmarks/store.py``, made as it is read, so that its own size is in no figure. Opening is measured in
fresh processes: CPU time from the call to the first answer, and the resident memory (VmHWM) of the process before and after 1,000
recalls and 50 searches. The file is removed at the end.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.store import BATCH, corpus_iterator, grain_of
from deja_tui.store.memory import Store

_OPEN = """
import json, sys, time
sys.path.insert(0, sys.argv[2])
from deja_tui.store.memory import Store

def peak():
    with open("/proc/self/status") as status:  # not ru_maxrss, which a child takes over from its parent
        return int(status.read().split("VmHWM:")[1].split()[0]) / 1024

before = peak()
cpu, wall = time.process_time(), time.perf_counter()
store = Store.open(sys.argv[1])
store.position()
opened = (time.process_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3
cpu = time.process_time()
store.recall(namespace="shared", subject="user")
first = (time.process_time() - cpu) * 1e3
subjects = [row[0] for row in store.reading().execute("SELECT s FROM term LIMIT 1000")]
for subject in subjects:
    store.recall(namespace="shared", subject=subject)
for word in subjects[:50]:
    store.search(word)
print(json.dumps({"open": opened, "first": first, "imports MiB": before, "peak MiB": peak()}))
"""


def fill(path: Path, grains: int, seed: int) -> dict[str, float]:
    """Load the corpus in acts of `BATCH`, all text indexed; making the grains is not counted."""
    cpu = wall = 0.0
    entries = corpus_iterator(grains, seed)
    with Store.open(path) as store:
        while batch := [grain_of(entry) for entry in itertools.islice(entries, BATCH)]:
            c, w = time.process_time(), time.perf_counter()
            with store.act() as act:
                for grain in batch:
                    act.add(grain)
            cpu, wall = cpu + time.process_time() - c, wall + time.perf_counter() - w
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "grains a second of CPU": grains / cpu,
        "grains a second": grains / wall,
        "peak MiB of the load": peak,
    }


def opened(path: Path) -> dict[str, Any]:
    """Medians of five fresh processes."""
    root = str(Path(__file__).resolve().parent.parent)
    turns = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", _OPEN, str(path), root], capture_output=True, text=True, check=True
        )
        turns.append(json.loads(done.stdout))
    return {
        "open, ms of CPU": median(turn["open"][0] for turn in turns),
        "open, ms": median(turn["open"][1] for turn in turns),
        "first recall, ms of CPU": median(turn["first"] for turn in turns),
        "MiB after imports": median(turn["imports MiB"] for turn in turns),
        "peak MiB of 1,000 recalls and 50 searches": median(turn["peak MiB"] for turn in turns),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--grains", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--dir", help="where to put the file; a temporary folder by default")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        path = Path(folder) / "size.deja"
        told: dict[str, Any] = {"grains": options.grains, **fill(path, options.grains, options.seed)}
        told["bytes a grain"] = path.stat().st_size / options.grains
        told.update(opened(path))
        with Store.open(path) as store:
            began = time.process_time()
            faults = len(store.verify())
            told["verify, s of CPU"] = time.process_time() - began
        assert faults == 0, "the file is not sound"
    if options.json:
        print(json.dumps(told))
    else:
        for name, value in told.items():
            print(f"{name:45} {value:14,.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
