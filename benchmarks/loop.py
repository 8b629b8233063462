# SPDX-License-Identifier: Apache-2.0
"""What the Deja Loop costs, and whether it finds what was planted: ``python benchmarks/loop.py``.

CPU time (user and system) of a process that does nothing else, medians of ``--repeat`` runs; peak memory of that process.
The corpus is ``../shared/tools/corpus.py`` where that lies beside the project, else (or with ``--own``) the generator in
``benchmarks/planted.py``. With ``--peer PYTHON``, an interpreter that has the reference product, the same corpus is run
there too (``../shared/tools/peer_bench.py``), and ratios are printed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from planted import Planted
from store import BATCH, NOW, grain_of

from deja_tui import Memory
from deja_tui.engine import AnalyzerConfig, RunOptions, pipeline
from deja_tui.engine.wire import read_recommendation
from deja_tui.store.memory import Store
from deja_tui.text import fold

SHARED = Path(__file__).resolve().parents[2] / "shared" / "tools"
DAY = 86_400_000
# (row, bar) of design §8
BARS = {
    "first pass, ms": 3_000.0,
    "20 new grains, ms": 50.0,
    "gated no-op, ms": 1.0,
    "peak memory, MiB": 150.0,
    "20 new grains, growth 10k to 100k": 4.0,
}


AS_THE_KEY = {
    "loop.goal_stagnation/1": AnalyzerConfig(enabled=True),
    "loop.contradiction_sweep/1": AnalyzerConfig(params={"count_ended": True}),
}


def corpus(count: int, seed: int, own: bool) -> Any:
    """The shared corpus, or ours; both are iterated once and then hold their labels."""
    tool = SHARED / "corpus.py"
    if own or not tool.exists():
        return Planted(count, seed, NOW)
    spec = importlib.util.spec_from_file_location("corpus", tool)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Corpus(count, seed=seed, now_ms=NOW)


# --- the key ----------------------------------------------------------------------------------------


def key_of(labels: Any) -> dict[str, Any]:
    """What must be found, in one shape for both generators."""
    if hasattr(labels, "summary"):
        told = labels.summary()
        return {
            "exact duplicates": set(labels.duplicate_triples),
            "contradictions": set(labels.contradictions),
            "expired": told["expired"],
            "failing tools": told["failure_clusters_over_threshold"],
            "near duplicates": told["near_duplicate_copies"],
            "stalled skills": told["stalled_skills"],
            "stagnant goals": told["stagnant_goals"],
        }
    return {
        "exact duplicates": set(labels.duplicates),
        "contradictions": set(labels.contradictions),
        "expired": labels.expired,
        "failing tools": len(labels.failing()),
        "near duplicates": labels.near_copies,
        "stalled skills": labels.stalled,
        "stagnant goals": labels.stagnant,
    }


def answers(memory: Memory) -> dict[str, Any]:
    """What the queue holds, in the shape of `key_of`."""
    found: dict[str, Any] = {
        "exact duplicates": set(), "contradictions": set(), "expired": 0, "failing tools": 0, "near duplicates": 0,
        "stalled skills": 0, "stagnant goals": 0,
    }  # fmt: skip
    for row in memory.store.ledger_list(("pending",)):
        grain = memory.store.get(row.address)
        assert grain is not None
        one = read_recommendation(grain)
        args, kind = one.summary.args, one.summary.template_id
        first = memory.store.get(one.evidence[0])
        assert first is not None
        fact = tuple(fold(str(first.get(name))) for name in ("subject", "relation", "object"))
        if kind == "duplicate.exact":
            found["exact duplicates"].add(fact)
        elif kind == "duplicate.near":
            found["near duplicates"] += int(args["count"]) - 1
        elif kind.startswith("contradiction."):
            found["contradictions"].add(fact[:2])
        elif kind.startswith("staleness."):
            found["expired"] += 1
        elif kind.startswith("tool_failure."):
            found["failing tools"] += 1
        elif kind.startswith("skill."):
            found["stalled skills"] += 1
        elif kind.startswith("goal."):
            found["stagnant goals"] += 1
    return found


def compare(key: dict[str, Any], found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Planted, found, and whether they are the same, kind by kind."""
    told = {}
    for name, wanted in key.items():
        here = found[name]
        size = len if isinstance(wanted, set) else int
        told[name] = {"planted": size(wanted), "found": size(here), "same": wanted == here}
    return told


# --- measuring, each in a process of its own --------------------------------------------------------


def cpu_ms(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time_ns()
    answer = call()
    return (time.process_time_ns() - began) / 1e6, answer


def peak_mib() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024) if sys.platform == "darwin" else peak / 1024


def put(store: Store, entries: Iterable[dict[str, Any]]) -> None:
    stream = iter(entries)
    while batch := list(islice(stream, BATCH)):
        with store.act() as act:
            for entry in batch:
                act.add(grain_of(entry))


def fill(path: Path, count: int, seed: int, own: bool) -> dict[str, Any]:
    made = corpus(count, seed, own)
    with Store.open(path, clock=lambda: NOW, durability="normal") as store:
        put(store, made)
    key = key_of(made.labels)
    return {name: sorted(value) if isinstance(value, set) else value for name, value in key.items()}


def first(path: Path, profile: bool = False) -> dict[str, Any]:
    """The first pass over a copy, and what it stored: goals switched on, and values that ended counted as the key counts
    every pair that was given a second value. Without that such a pair is told as expired only (loop-engine §25)."""
    with Memory.open(path, clock=lambda: NOW, telemetry="aggregate") as memory:
        options = RunOptions(config=AS_THE_KEY)
        before = peak_mib()
        took, outcome = cpu_ms(lambda: pipeline.run(memory.substrate, options, NOW))
        found = answers(memory)
        queue, _ = cpu_ms(lambda: memory.loop.queue())
    return {
        "ms": took,
        "peak": peak_mib(),
        "before": before,
        "stored": outcome.stored,
        "skipped": [[one.id, one.reason] for one in outcome.analyzers_skipped],
        "queue_ms": queue,
        "found": {name: sorted(v) if isinstance(v, set) else v for name, v in found.items()},
    }


def again(path: Path, seed: int, own: bool, rounds: int) -> dict[str, Any]:
    """After a first pass: nothing new, gated, and 20 new grains several times."""
    now = NOW
    with Memory.open(path, clock=lambda: now, telemetry="aggregate") as memory:
        nothing = [cpu_ms(lambda: memory.loop.run())[0] for _ in range(3)]
        gated = [cpu_ms(lambda: memory.loop.run(min_new=1))[0] for _ in range(50)]
        fresh = iter(corpus(20 * rounds * 4, seed + 2_000, own))
        twenty = []
        for number in range(rounds):
            now = NOW + (number + 1) * 60_000
            put(memory.store, [{**one, "created_at_ms": now + n} for n, one in enumerate(islice(fresh, 20))])
            now += 1_000
            took, outcome = cpu_ms(lambda: memory.loop.run(min_new=20))
            assert outcome.outcome == "ran"
            twenty.append(took)
    return {"nothing": median(nothing), "gated": median(gated), "twenty": median(twenty), "peak": peak_mib()}


def analyzers(path: Path) -> dict[str, float]:
    """CPU time of each analyzer alone, dry, on a file that was looked at."""
    times = {}
    with Memory.open(path, clock=lambda: NOW + DAY, telemetry="aggregate") as memory:
        for analyzer in pipeline.ANALYZERS:
            name = analyzer.manifest.id
            options = RunOptions(only=(name,), dry_run=True, config={name: AnalyzerConfig(enabled=True)})
            runs = [cpu_ms(lambda: pipeline.run(memory.substrate, options, NOW + DAY))[0] for _ in range(3)]  # noqa: B023
            times[name] = round(median(runs), 2)
    return times


STAGES = {"fill": fill, "first": first, "again": again, "analyzers": analyzers}


def child(stage: str, *args: Any) -> Any:
    """Run one stage in a process of its own and read its JSON."""
    given = [str(a) if isinstance(a, Path) else a for a in args]
    done = subprocess.run(
        [sys.executable, __file__, "--stage", json.dumps([stage, *given])],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def copied(source: Path, target: Path) -> Path:
    for suffix in ("", "-wal", ".telemetry.db", ".telemetry.db-wal"):
        Path(f"{target}{suffix}").unlink(missing_ok=True)
        if Path(f"{source}{suffix}").exists():
            shutil.copyfile(f"{source}{suffix}", f"{target}{suffix}")
    return target


def ours(folder: Path, count: int, options: argparse.Namespace) -> dict[str, Any]:
    path = folder / f"{count}.deja"
    key = child("fill", path, count, options.seed, options.own)
    firsts = []
    for _ in range(options.repeat):
        looked = copied(path, folder / "looked.deja")
        firsts.append(child("first", looked))
    wanted = {
        name: {tuple(v) for v in value} if isinstance(value, list) else value for name, value in key.items()
    }
    got = {
        name: {tuple(v) for v in value} if isinstance(value, list) else value
        for name, value in firsts[-1]["found"].items()
    }
    later = child(
        "again",
        copied(folder / "looked.deja", folder / "later.deja"),
        options.seed,
        options.own,
        options.rounds,
    )
    each = child("analyzers", folder / "looked.deja")
    return {
        "grains": count,
        "first pass, ms": round(median(one["ms"] for one in firsts), 1),
        "nothing new, ms": round(later["nothing"], 2),
        "20 new grains, ms": round(later["twenty"], 2),
        "gated no-op, ms": round(later["gated"], 3),
        "queue of all, ms": round(median(one["queue_ms"] for one in firsts), 1),
        "peak memory, MiB": round(max(later["peak"], *(one["peak"] for one in firsts)), 1),
        "stored": firsts[-1]["stored"],
        "skipped": firsts[-1]["skipped"],
        "planted": compare(wanted, got),
        "each analyzer, ms": each,
    }


def peer(python: str, folder: Path, count: int, options: argparse.Namespace) -> dict[str, float]:
    """The reference product on the same corpus: CPU ms of the same rows."""
    out = folder / "peer.json"
    command = [
        python, str(SHARED / "peer_bench.py"), "--grains", str(count), "--seed", str(options.seed), "--now-ms", str(NOW),
        "--work", str(folder / "peer"), "--only", "load,loop", "--repeat", str(options.repeat), "--out", str(out),
    ]  # fmt: skip
    subprocess.run(command, check=True)
    told = json.loads(out.read_text())["stages"]["loop"]
    rows = {
        "first pass, ms": "first",
        "nothing new, ms": "nothing_new",
        "gated no-op, ms": "gated_nothing_new",
        "20 new grains, ms": "twenty_new",
    }
    return {row: told[name]["cpu_s"] * 1000 for row, name in rows.items() if name in told} | {
        "peak memory, MiB": told["peak_mib"]
    }


def report(result: dict[str, Any], beside: dict[str, float]) -> bool:
    """Print one size; whether every bar holds and every planted kind was answered."""
    good = True
    print(f"\n{result['grains']:,} grains: {result['stored']} recommendations")
    for name, value in result.items():
        if not isinstance(value, float):
            continue
        bar = BARS.get(name)
        held = bar is None or value <= bar
        good &= held
        told = f"bar {bar:g}{'' if held else '  MISSED'}" if bar else ""
        ratio = f"  peer {beside[name]:,.1f}, ratio {value / beside[name]:.4f}" if beside.get(name) else ""
        print(f"  {name:36} {value:>12,.3f}   {told}{ratio}")
    for name, told in result["planted"].items():
        good &= told["same"]
        print(
            f"  {name:36} {told['found']:>8} of {told['planted']:<8} {'as planted' if told['same'] else 'DIFFERS'}"
        )
    for name, reason in result["skipped"]:
        print(f"  not run: {name}: {reason}")
    told = ", ".join(
        f"{name.removeprefix('loop.')} {ms:g}" for name, ms in result["each analyzer, ms"].items()
    )
    print(f"  each analyzer alone, after the first pass, ms: {told}")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--grains", default="10000,100000", help="sizes, by commas")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--repeat", type=int, default=3, help="first passes")
    parser.add_argument("--rounds", type=int, default=7, help="times twenty new grains")
    parser.add_argument(
        "--own", action="store_true", help="our own generator, also where the shared one is there"
    )
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that has the reference product")
    parser.add_argument("--json", metavar="FILE", help="write the figures there, too")
    parser.add_argument("--dir", help="where to put the files; a temporary folder by default")
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stage:
        stage, *args = json.loads(options.stage)
        print(json.dumps(STAGES[stage](Path(args[0]), *args[1:])))
        return 0
    results, good = [], True
    with tempfile.TemporaryDirectory(dir=options.dir) as name:
        for count in (int(told) for told in options.grains.split(",")):
            result = ours(Path(name), count, options)
            beside = peer(options.peer, Path(name), count, options) if options.peer else {}
            good &= report(result, beside)
            results.append({**result, "peer": beside})
    if len(results) > 1:
        row = "20 new grains, ms"
        growth = results[-1][row] / results[0][row]
        held = growth <= BARS["20 new grains, growth 10k to 100k"]
        good &= held
        print(
            f"\n20 new grains, growth {results[0]['grains']:,} to {results[-1]['grains']:,}: {growth:.2f}{'' if held else '  MISSED'}"
        )
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    return 0 if good else 2


if __name__ == "__main__":
    sys.exit(main())
