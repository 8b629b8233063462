# SPDX-License-Identifier: Apache-2.0
"""What bundles, segments and chains cost: ``python benchmarks/sync.py --grains 10000 --peer /path/to/python``.

CPU time (user and system) of this process, medians of the rounds; wall time beside it. With ``--peer``, a Python that can
import the reference product (the extra ``interop``), the same bundle is written and taken in there in the same run and
the ratio is given. The corpus is that of ``benchmarks/store.py``.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from store import BATCH, Report, corpus, grain_of

from deja_tui.store import restore, segments
from deja_tui.store.codec import Grain, make_grain
from deja_tui.store.memory import Store

NOW = 1_790_000_000_000
_PEER = """
import dejadb, json, sys, time
bundle, file, back = sys.argv[1:4]
def timed(call):
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    call()
    return (time.process_time_ns() - cpu) / 1000, (time.perf_counter_ns() - wall) / 1000
db = dejadb.DejaDB(file)
print(json.dumps({
    "import": timed(lambda: db.import_bundle(bundle)),
    "again": timed(lambda: db.import_bundle(bundle)),
    "bundle": timed(lambda: db.bundle(back)),
}))
"""

Times = tuple[float, float]


def timed(call: Callable[[], Any]) -> Times:
    """CPU and wall time of one call, in µs."""
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    call()
    return (time.process_time_ns() - cpu) / 1000, (time.perf_counter_ns() - wall) / 1000


def middle(times: list[Times], share: int = 1) -> Times:
    """Medians, of a whole or of one grain of it."""
    return median(cpu for cpu, _ in times) / share, median(wall for _, wall in times) / share


def fill(path: Path, count: int, seed: int) -> None:
    """The corpus, and one grain in 50 superseded, so that chains have something to do."""
    entries, _ = corpus(count, seed)
    with Store.open(path, durability="normal") as store:
        for start in range(0, count, BATCH):
            with store.act() as act:
                for entry in entries[start : start + BATCH]:
                    act.add(grain_of(entry))
        facts = [grain.address for grain in store.scan("fact")][::25][: count // 50]
        with store.act() as act:
            for number, address in enumerate(facts):
                act.supersede(address, version("again", number))


def version(what: str, number: int) -> Grain:
    fields = {
        "subject": f"{what} {number % 97}",
        "relation": "is",
        "object": f"number {number}",
        "confidence": 1.0,
    }
    return make_grain("fact", fields, namespace="shared", created_at=NOW + number)


def measure_bundle(path: Path, folder: Path, rounds: int, report: Report) -> Path:
    bundle = folder / "all.mgb"
    with Store.open(path) as store:
        times = [timed(lambda: store.bundle(bundle)) for _ in range(rounds)]
        report.add("bundle, whole", middle(times), f"{bundle.stat().st_size:,} bytes")
        last = store.stats()["operations"]
        few = [timed(lambda: store.bundle(folder / "few.mgb", since=last - 20)) for _ in range(rounds)]
        report.add("bundle, 20 new operations", middle(few))
    return bundle


def measure_import(bundle: Path, folder: Path, grains: int, rounds: int, report: Report) -> None:
    first, again = [], []
    for number in range(rounds):
        with Store.open(folder / f"import-{number}.deja") as store:
            first.append(timed(lambda: store.import_bundle(bundle)))
            again.append(timed(lambda: store.import_bundle(bundle)))
    cpu, _ = middle(first, grains)
    report.add(
        "import, a grain", middle(first, grains), f"{1_000_000 / cpu:,.0f} grains/s of CPU, all text indexed"
    )
    report.add("import again, a grain", middle(again, grains), "nothing new")


def measure_segments(path: Path, folder: Path, grains: int, report: Report) -> None:
    hub = folder / "hub"
    hub.mkdir()
    with Store.open(path) as store, Store.open(folder / "follower.deja") as follower:
        report.add("push all, a grain", middle([timed(lambda: segments.push(store, hub))], grains))
        report.add("pull all, a grain", middle([timed(lambda: segments.pull(follower, hub))], grains))
        pushes, pulls = [], []
        for number in range(9):
            with store.act() as act:
                act.add(version("new", number))
            pushes.append(timed(lambda: segments.push(store, hub)))
            pulls.append(timed(lambda: segments.pull(follower, hub)))
        report.add("push one new grain", middle(pushes))
        report.add("pull one new grain", middle(pulls))
        report.add(
            "pull, nothing new", middle([timed(lambda: segments.pull(follower, hub)) for _ in range(9)])
        )


def measure_restore(path: Path, folder: Path, grains: int, report: Report) -> None:
    def once() -> None:
        with Store.open(path, read_only=True) as old:
            restore.into_new_file(
                folder / "restored.deja",
                lambda name: Store.open(name, durability="normal"),
                lambda new: restore.replay(old, new, 2**62),
            )

    report.add("restore, a grain", middle([timed(once)], grains), "a new file, marks and all")


def measure_chains(path: Path, rounds: int, report: Report) -> None:
    with Store.open(path) as store:
        subject = next(iter(store.scan("fact"))).get("subject")
        now = {"namespace": "shared", "subject": subject}
        then = [timed(lambda: store.recall_as_of(2**62, **now)) for _ in range(99)]
        report.add("recall as of a time", middle(then), f"{len(store.recall_as_of(2**62, **now))} rows")
        report.add(
            "recall now, the same subject", middle([timed(lambda: store.recall(**now)) for _ in range(99)])
        )
        found = store.forks()
        report.add("forks", middle([timed(store.forks) for _ in range(rounds * 3)]), f"{len(found)} forks")
        last = store.stats()["operations"]
        since = [timed(lambda: sum(1 for _ in store.changes(last - 100))) for _ in range(9)]
        report.add("changes, the newest 100", middle(since))
        newest = [grain.address for grain in store.recall(namespace="shared", subject="again 5", k=1)]
        report.add("provenance", middle([timed(lambda: store.provenance(newest[0])) for _ in range(29)]))


def measure_peer(python: str, bundle: Path, folder: Path, grains: int, report: Report) -> None:
    """The same bundle there, and how much of its time ours takes."""
    arguments = [python, "-c", _PEER, bundle, folder / "peer.db", folder / "peer.mgb"]
    done = subprocess.run([str(part) for part in arguments], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    ours = {"import": "import, a grain", "again": "import again, a grain", "bundle": "bundle, whole"}
    for name, line in ours.items():
        share = 1 if name == "bundle" else grains
        cpu, wall = told[name][0] / share, told[name][1] / share
        report.add(
            f"reference: {line}", (cpu, wall), f"ours is {report.rows[line]['cpu_us'] / cpu:.3f} of it"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--grains", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", metavar="PYTHON", help="a Python that can import the reference product")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--dir", help="where to put the files; a temporary folder by default")
    options = parser.parse_args()
    report = Report(options.json)
    with tempfile.TemporaryDirectory(dir=options.dir) as name:
        folder = Path(name)
        path = folder / "source.deja"
        fill(path, options.grains, options.seed)
        with Store.open(path) as store:
            grains = store.stats()["grains"]
        bundle = measure_bundle(path, folder, options.rounds, report)
        measure_import(bundle, folder, grains, options.rounds, report)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        measure_segments(path, folder, grains, report)
        measure_restore(path, folder, grains, report)
        measure_chains(path, options.rounds, report)
        if options.peer:
            measure_peer(options.peer, bundle, folder, grains, report)
    print(f"{'peak memory after the imports':34} {peak} MiB, the corpus in memory included", file=sys.stderr)
    report.rows["peak MiB"] = {"value": peak}
    report.done()
    return 0


if __name__ == "__main__":
    sys.exit(main())
