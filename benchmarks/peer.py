# SPDX-License-Identifier: Apache-2.0
"""The reference product under the same operations as ``benchmarks/store.py``, which runs this file with another Python.

Run by hand: ``PYTHON benchmarks/peer.py FOLDER fill|read``, where PYTHON can import ``dejadb`` or ``areev`` and FOLDER holds
``corpus.jsonl`` and ``queries.json`` as ``store.py`` writes them. The answer is one JSON object: name → [CPU µs, wall µs], medians
of single calls, answers decoded. Its text index is on, its telemetry off.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

BATCH = 500
Times = tuple[float, float]


def opened(path: Path) -> Any:
    """A handle of whichever of the two packages is here."""
    try:
        import dejadb as package  # type: ignore[import-not-found,unused-ignore]

        return package.DejaDB(str(path), ns="bench", telemetry="off", index_text=True)
    except ImportError:
        import areev as package  # type: ignore[import-not-found,no-redef,unused-ignore]

        return package.Areev(str(path), ns="bench", telemetry="off", index_text=True)


def each(call: Callable[[Any], Any], items: Iterable[Any]) -> Times:
    """Median CPU and wall time of one call, in µs."""
    cpu: list[float] = []
    wall: list[float] = []
    for item in items:
        c, w = time.process_time_ns(), time.perf_counter_ns()
        call(item)
        cpu.append((time.process_time_ns() - c) / 1000)
        wall.append((time.perf_counter_ns() - w) / 1000)
    return median(cpu), median(wall)


def fill(folder: Path) -> dict[str, Any]:
    """Load the corpus in batches, text indexed."""
    path, count = folder / "peer.db", 0
    handle = opened(path)
    cpu = wall = 0
    with (folder / "corpus.jsonl").open() as lines:
        while chunk := list(itertools.islice(lines, BATCH)):
            batch = "[" + ",".join(chunk) + "]"
            c, w = time.process_time_ns(), time.perf_counter_ns()
            handle.add_batch(batch)
            cpu, wall = cpu + time.process_time_ns() - c, wall + time.perf_counter_ns() - w
            count += len(chunk)
    del handle
    size = sum(os.path.getsize(part) for part in filter(Path.is_file, folder.glob("peer.db*")))
    return {
        "bulk add, a grain": (cpu / 1000 / count, wall / 1000 / count),
        "bytes a grain": round(size / count),
    }


def read(folder: Path) -> dict[str, Any]:
    """Everything else, on a copy of the filled file."""
    path, asked = folder / "peer-copy.db", json.loads((folder / "queries.json").read_text())
    for part in filter(Path.is_file, folder.glob("peer.db*")):
        shutil.copy(part, folder / part.name.replace("peer.db", "peer-copy.db"))
    told: dict[str, Times] = {}

    def reopen(_: int) -> None:
        handle = opened(path)
        handle.recall(asked["names"][0])
        del handle

    told["open, first read, close"] = each(reopen, range(5))
    peer = opened(path)
    found = [len(json.loads(peer.recall(name))) for name in asked["names"][:50]]
    if min(found) == 0:
        raise SystemExit("a recall missed")
    told["recall, typical"] = each(lambda name: json.loads(peer.recall(name)), asked["names"])
    told["recall, hottest subject"] = each(lambda _: json.loads(peer.recall(asked["hot"])), range(100))
    told["recall, unknown subject"] = each(lambda i: json.loads(peer.recall(f"absent-{i}")), range(300))
    told["latest"] = each(lambda pair: json.loads(peer.latest(*pair)), asked["pairs"])
    told["newest 20 tool calls"] = each(lambda _: json.loads(peer.cal("RECALL tools LIMIT 20")), range(20))
    for name, words in asked["search"].items():
        told[name] = each(lambda text: json.loads(peer.search(text)), words)
    told["add one, durable, searchable"] = each(
        lambda i: peer.add_fact(f"adder-{i % 50}", "noted", f"a late remark zz{i}q"), range(300)
    )
    head = [peer.add_fact("chain", "version", "number 0")]

    def supersede(i: int) -> None:
        fields = {"subject": "chain", "relation": "version", "object": f"number {i}"}
        head.append(peer.supersede(head[-1], "fact", json.dumps(fields)))

    told["supersede, durable"] = each(supersede, range(1, 100))
    told["history of 100"] = each(lambda _: json.loads(peer.history("chain", "version")), range(30))
    told["bundle, whole"] = each(lambda _: peer.bundle(str(folder / "all.mgb")), range(3))
    told["verify"] = each(lambda _: peer.verify(), range(2))
    told["stats"] = each(lambda _: peer.stats(), range(3))
    return told


def main() -> int:
    folder, stage = Path(sys.argv[1]), sys.argv[2]
    print(json.dumps({"fill": fill, "read": read}[stage](folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
