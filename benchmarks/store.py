# SPDX-License-Identifier: Apache-2.0
"""What the memory file costs: ``python benchmarks/store.py --grains 10000 [--peer PYTHON]…``.

CPU time (user and system) of this process, medians; wall time beside it for what waits for the disk. The corpus is
``../shared/tools/corpus.py`` where that lies beside the project, else a small generator with the same shape: 46 %
facts, 36 % tool calls, 14 % notes, 2 % skills, 2 % goals, one subject in 25 grains, half of the picks skewed.

``--peer`` names a Python that can import the reference product (``dejadb`` or ``areev``) and may be given several times. Then the same
corpus is filled in there by ``benchmarks/peer.py``, and every operation that both offer is measured in turns, ``--rounds`` times:
median of the rounds, ours divided by the better peer's, with the least and the most ratio of a round.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from deja_tui.store.codec import Grain, make_grain
from deja_tui.store.memory import Store

DAY = 86_400_000
NOW = 1_790_000_000_000
BATCH = 500
SINGLE = frozenset(
    ("lives_in", "deploy_target", "reports_to", "status", "tier", "owner", "region", "assigned_to")
)

# --- corpus -----------------------------------------------------------------------------------------


def corpus(count: int, seed: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Grains as {"type", "fields", "created_at_ms"}, and the words of their texts, commonest first."""
    made, words = _made(count, seed)
    return list(made), words


def corpus_iterator(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """The same grains, made one by one."""
    return iter(_made(count, seed)[0])


def _made(count: int, seed: int) -> tuple[Iterable[dict[str, Any]], list[str]]:
    tool = Path(__file__).resolve().parents[2] / "shared" / "tools" / "corpus.py"
    if not tool.exists():
        words = [f"{a}{b}{c}" for c in "abcdefghij" for b in ("ran", "lot", "mes", "vik") for a in _ONSETS]
        return own_corpus(count, seed, words), words
    spec = importlib.util.spec_from_file_location("corpus", tool)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.Corpus(count, seed=seed, now_ms=NOW)
    return made, list(made.vocab)


_ONSETS = [f"{a}{b}" for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "ai", "ou")]


def own_corpus(count: int, seed: int, words: list[str]) -> Iterator[dict[str, Any]]:
    """The stand-in: the same mix and sizes, nothing planted but duplicates and failing tools."""
    rng = random.Random(seed)
    subjects, tools = max(8, count // 25), max(24, count // 2500)
    relations = ("mentioned", "uses", "prefers", "visited", "works_with", "status", "owner", "region")

    def text(size: int) -> str:
        return " ".join(words[int(len(words) * rng.random() ** 3)] for _ in range(size))

    for i in range(count):
        at = NOW - 180 * DAY + 180 * DAY * i // count
        pick = rng.random()
        if pick < 0.46:
            who = int(subjects * (rng.random() ** 2 if rng.random() < 0.5 else rng.random()))
            value = text(3) if rng.random() < 0.1 else f"{text(4)} #{i}"
            fields: dict[str, Any] = {
                "subject": f"person-{who}" if who else "user",
                "relation": rng.choice(relations),
                "object": value,
                "confidence": 0.9,
            }
            kind = "fact"
        elif pick < 0.82:
            tool = int(tools * rng.random())
            failed = rng.random() < (0.5 if tool < max(2, tools // 10) else 0.015)
            said = (
                f"timeout after {rng.randrange(9000)} ms in /srv/{text(1)}.py"
                if failed
                else f"ok: {text(12)} {i} rows"
            )
            fields = {
                "tool_name": f"tool_{tool}",
                "input": {"path": f"/srv/{text(1)}.py", "limit": rng.randrange(100)},
                "content": said,
                "is_error": failed,
                "duration_ms": rng.randrange(2000),
                "tool_call_id": f"call-{i}",
                "session_id": f"s-{i // 40}",
            }
            kind = "tool"
        elif pick < 0.96:
            kind, fields = (
                "observation",
                {"content": f"{text(32)} n{i}", "observer_id": "agent-1", "observer_type": "agent"},
            )
        elif pick < 0.98:
            kind, fields = (
                "skill",
                {"name": f"skill-{i}", "description": f"how to {text(8)}", "practice_count": 3},
            )
        else:
            kind, fields = "goal", {"description": f"goal {i}: {text(7)}", "goal_state": "active"}
        yield {"type": kind, "fields": fields, "created_at_ms": at}


def grain_of(entry: dict[str, Any]) -> Grain:
    """A corpus entry as the facade would file it: the words of a call or a note where the format keeps them."""
    fields = dict(entry["fields"])
    extras = {name: fields.pop(name) for name in ("session_id",) if name in fields}
    if "content" in fields:
        fields["tool_content" if entry["type"] == "tool" else "object"] = fields.pop("content")
    if isinstance(fields.get("priority"), int):
        fields["priority"] = ("low", "medium", "high", "critical")[fields["priority"] - 1]
    return make_grain(
        entry["type"], fields, namespace="shared", created_at=entry["created_at_ms"], extras=extras
    )


# --- measuring --------------------------------------------------------------------------------------


def each(call: Callable[[Any], Any], items: Iterable[Any]) -> tuple[float, float]:
    """Median CPU and wall time of one call, in µs."""
    cpu: list[float] = []
    wall: list[float] = []
    for item in items:
        c, w = time.process_time_ns(), time.perf_counter_ns()
        call(item)
        cpu.append((time.process_time_ns() - c) / 1000)
        wall.append((time.perf_counter_ns() - w) / 1000)
    return median(cpu), median(wall)


class Report:
    """Lines of name, CPU, wall and a note; as text or JSON."""

    def __init__(self, as_json: bool, quiet: bool = False) -> None:
        self.as_json = as_json or quiet
        self.rows: dict[str, dict[str, Any]] = {}

    def add(self, name: str, times: tuple[float, float], note: str = "") -> None:
        cpu, wall = times
        self.rows[name] = {"cpu_us": round(cpu, 1), "wall_us": round(wall, 1), "note": note}
        if not self.as_json:
            print(f"{name:34} cpu {cpu:12.1f} µs   wall {wall:12.1f} µs   {note}", flush=True)

    def say(self, name: str, value: int, note: str) -> None:
        self.rows[name] = {"value": value, "note": note}
        if not self.as_json:
            print(f"{name:34} {value:16}       {note}", flush=True)

    def done(self) -> None:
        if self.as_json:
            print(json.dumps(self.rows, indent=1))


def fill(store: Store, count: int, seed: int, report: Report) -> tuple[list[dict[str, Any]], list[str]]:
    """Load the corpus in acts of `BATCH`; the time is a grain's, its words indexed."""
    entries, vocabulary = corpus(count, seed)
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    for start in range(0, count, BATCH):
        with store.act() as act:
            for entry in entries[start : start + BATCH]:
                act.add(grain_of(entry))
    took = (time.process_time_ns() - cpu) / 1000 / count, (time.perf_counter_ns() - wall) / 1000 / count
    report.add("bulk add, a grain", took, f"acts of {BATCH}, all text")
    return entries, vocabulary


def measure_open(path: Path, report: Report) -> None:
    def once(_: int) -> None:
        with Store.open(path) as store:
            store.position()

    report.add("open, first read, close", each(once, range(30)))


def measure_add(store: Store, report: Report) -> None:
    serial = iter(range(10**6))

    def one(_: int) -> None:
        n = next(serial)
        fields = {
            "subject": f"adder-{n % 50}",
            "relation": "noted",
            "object": f"a late remark zz{n}q",
            "confidence": 0.9,
        }
        with store.act() as act:
            act.add(make_grain("fact", fields, namespace="shared", created_at=NOW + n))

    report.add("add one, durable, searchable", each(one, range(600)))
    assert store.search("zz3q"), "a fresh grain is not found"
    assert store.search("zz599q"), "a fresh grain is not found"


def measure_keys(store: Store, asked: dict[str, Any], report: Report) -> None:
    names, pairs, hot = asked["names"], asked["pairs"], (asked["hot"], asked["held"])

    def recall(subject: str) -> int:
        return len(store.recall(namespace="shared", subject=subject, k=16))

    rows = sum(map(recall, names)) / len(names)
    report.add("recall, typical", each(recall, names), f"{rows:.1f} rows")
    report.add(
        "recall, hottest subject", each(lambda _: recall(hot[0]), range(300)), f"{hot[1]} facts, 16 rows"
    )
    report.add("recall, unknown subject", each(lambda i: recall(f"absent-{i}"), range(500)))
    report.add("latest", each(lambda pair: store.latest("shared", *pair), pairs))
    report.add(
        "newest 20 tool calls",
        each(lambda _: store.recall(namespace="shared", type="tool", k=20), range(200)),
    )


def measure_chains(store: Store, report: Report) -> None:
    def version(n: int) -> Grain:
        fields = {"subject": "chain", "relation": "version", "object": f"number {n}", "confidence": 1.0}
        return make_grain("fact", fields, namespace="shared", created_at=NOW + n)

    with store.act() as act:
        head = [act.add(version(0)).address]

    def supersede(n: int) -> None:
        with store.act() as act:
            head.append(act.supersede(head[-1], version(n)).address)

    report.add("supersede, durable", each(supersede, range(1, 100)))
    assert len(store.history(head[40])) == 100, "the chain is not whole"
    report.add("history of 100", each(lambda _: store.history(head[-1]), range(100)), "from its head")
    report.add("history of 100, first", each(lambda _: store.history(head[0]), range(100)), "from its oldest")


def measure_search(store: Store, words: dict[str, list[str]], report: Report) -> None:
    def find(query: str) -> int:
        return len(store.search(query, namespace="shared", k=10))

    for name, each_word in words.items():
        hits = sum(map(find, each_word)) / len(each_word)
        report.add(name, each(find, each_word), f"{hits:.1f} of 10 hits")
    report.add("search, no such word", each(find, [f"qqq{i}" for i in range(60)]))


def measure_views(store: Store, report: Report) -> None:
    since = NOW - 30 * DAY
    clusters = store.tool_failures(since, NOW, 0, None)
    report.add(
        "view: tool failures, 30 days",
        each(lambda _: store.tool_failures(since, NOW, 0, None), range(20)),
        f"{len(clusters)} clusters",
    )
    last = store.position().seq
    report.add(
        "view: tool failures, 20 new grains",
        each(lambda _: store.tool_failures(since, NOW, last - 20, None), range(20)),
    )
    if clusters:
        top = max(clusters, key=lambda cluster: cluster.count)
        report.add(
            "view: 64 members of a cluster",
            each(
                lambda _: store.tool_failure_members(top.tool, top.signature, since, NOW, 0, None, 64),
                range(20),
            ),
        )
    groups = store.duplicate_facts(None)
    report.add(
        "view: duplicate facts, decoded",
        each(lambda _: store.duplicate_facts(None), range(7)),
        f"{len(groups)} groups",
    )
    report.add("position (the gate)", each(lambda _: store.position(), range(500)))
    report.add("stats", each(lambda _: store.stats(), range(7)))
    report.add("scan of all goals", each(lambda _: sum(1 for _ in store.scan("goal")), range(5)))


def measure_rest(store: Store, path: Path, report: Report) -> None:
    size = path.stat().st_size
    grains = store.stats()["grains"]
    target = path.with_name("all.mgb")
    report.add("bundle, whole", each(lambda _: store.bundle(target), range(3)), f"{grains} grains")
    report.add("verify", each(lambda _: store.verify(), range(2)), f"{len(store.verify())} faults")
    report.add("verify, deep", each(lambda _: store.verify(deep=True), range(1)))
    newest = [grain.address for grain in store.recall(namespace="shared", subject="adder-7", k=9)]

    def forget(address: str) -> None:
        with store.act() as act:
            act.forget(address)

    report.add("forget one, folded into the file", each(forget, newest))
    report.say("bytes a grain", round(size / grains), f"{size} bytes, {grains} grains")


# --- side by side -----------------------------------------------------------------------------------

BARS = {
    "recall, typical": 0.6,
    "latest": 0.7,
    "history of 100": 0.3,
    "add one, durable, searchable": 0.7,
    "supersede, durable": 0.15,
    "bulk add, a grain": 0.25,
    "bundle, whole": 0.3,
    "verify": 0.6,
    "search, rare word": 0.6,
    "search, three words": 0.6,
}
"""The most that ours may take of the peer's CPU time."""


def queries(entries: list[dict[str, Any]], vocabulary: list[str]) -> dict[str, Any]:
    """What is asked, the same on every side."""
    facts = [entry["fields"] for entry in entries if entry["type"] == "fact"]
    held = Counter(fact["subject"] for fact in facts)
    names = sorted(held)[:: max(1, len(held) // 1000)][:1000]
    pairs = sorted({(fact["subject"], fact["relation"]) for fact in facts if fact["relation"] in SINGLE})
    size = len(vocabulary)
    return {
        "hot": held.most_common(1)[0][0],
        "held": held.most_common(1)[0][1],
        "names": names,
        "pairs": pairs[:: max(1, len(pairs) // 1000)][:1000],
        "search": {
            "search, rare word": vocabulary[size * 7 // 8 :][:60],
            "search, middling word": vocabulary[size // 10 :][:30],
            "search, commonest word": vocabulary[:1] * 12,
            "search, three words": [" ".join(vocabulary[i : i + 3]) for i in range(60, 90, 3)] * 3,
        },
    }


class Peer:
    """The reference product in a Python of its own."""

    def __init__(self, python: str, folder: Path) -> None:
        self.python, self.folder = python, folder
        self.rounds: list[dict[str, Any]] = []
        folder.mkdir()
        for name in ("corpus.jsonl", "queries.json"):
            (folder / name).symlink_to(folder.parent / name)
        self.filled = self.run("fill")

    def run(self, stage: str) -> dict[str, Any]:
        script = Path(__file__).with_name("peer.py")
        done = subprocess.run(
            [self.python, str(script), str(self.folder), stage], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{self.python} {stage}: {done.stderr[-400:]}")
        told = json.loads(done.stdout)
        assert isinstance(told, dict)
        return told

    def measure(self) -> None:
        self.rounds.append({**self.run("read"), **self.filled})


def compare(ours: list[dict[str, dict[str, Any]]], peers: list[Peer], as_json: bool) -> int:
    """A line for each operation of both sides; how many miss their bar."""
    missed, told = 0, {}
    for name in ours[0]:
        if not any(name in peer.rounds[0] for peer in peers):
            continue
        mine = [cost(turn[name]) for turn in ours]
        theirs = {
            Path(peer.python).parents[1].name: [cost(turn[name]) for turn in peer.rounds] for peer in peers
        }
        best = min(theirs, key=lambda peer: median(theirs[peer]))
        turns = [one / other for one, other in zip(mine, theirs[best], strict=True)]
        ratio, bar = median(mine) / median(theirs[best]), BARS.get(name)
        missed += bar is not None and ratio > bar
        told[name] = {
            "ours": median(mine),
            **{peer: median(values) for peer, values in theirs.items()},
            "better": best,
            "ratio": round(ratio, 3),
            "least": round(min(turns), 3),
            "most": round(max(turns), 3),
            "bar": bar,
        }
        if not as_json:
            sides = "   ".join(f"{peer} {median(values):10.1f}" for peer, values in theirs.items())
            verdict = "" if bar is None else f"bar {bar}: {'holds' if ratio <= bar else 'MISSED'}"
            print(
                f"{name:30} ours {median(mine):10.1f}   {sides}   ratio {ratio:6.3f}"
                f" ({min(turns):.3f} to {max(turns):.3f})   {verdict}",
                flush=True,
            )
    if as_json:
        print(json.dumps(told, indent=1))
    return missed


def cost(row: Any) -> float:
    """The CPU time, or the size, of one row of either side."""
    if isinstance(row, dict):
        return float(row.get("cpu_us", row.get("value", 0)))
    return float(row[0] if isinstance(row, list) else row)


def once(path: Path, asked: dict[str, Any], report: Report) -> None:
    """All measurements on a copy of a filled file."""
    copy = path.with_name("copy.deja")
    for suffix in ("", "-wal", "-shm"):
        copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    shutil.copy(path, copy)
    measure_open(copy, report)
    with Store.open(copy) as store:
        measure_keys(store, asked, report)
        measure_search(store, asked["search"], report)
        measure_views(store, report)
        measure_add(store, report)
        measure_chains(store, report)
        measure_search_tail(store, report)
        measure_rest(store, copy, report)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--grains", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--peer", metavar="PYTHON", action="append", default=[], help="see above; may be repeated"
    )
    parser.add_argument("--rounds", type=int, default=3, help="turns of either side with --peer")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--dir", help="where to put the files; a temporary folder by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as name:
        folder = Path(name)
        path = folder / "bench.deja"
        report = Report(options.json, quiet=bool(options.peer))
        with Store.open(path) as store:
            entries, vocabulary = fill(store, options.grains, options.seed, report)
        asked = queries(entries, vocabulary)
        if not options.peer:
            once(path, asked, report)
            report.done()
            return 0
        write_corpus(folder, entries, asked)
        peers = [Peer(python, folder / f"peer-{number}") for number, python in enumerate(options.peer)]
        filled, turns = dict(report.rows), []
        for _ in range(options.rounds):
            turn = Report(True)
            once(path, asked, turn)
            turns.append({**filled, **turn.rows})
            for peer in peers:
                peer.measure()
        return 1 if compare(turns, peers, options.json) else 0


def write_corpus(folder: Path, entries: list[dict[str, Any]], asked: dict[str, Any]) -> None:
    """The corpus and the questions as the peer takes them."""
    with (folder / "corpus.jsonl").open("w") as lines:
        for entry in entries:
            fields = {**entry["fields"], "created_at": entry["created_at_ms"]}
            lines.write(json.dumps({"type": entry["type"], "fields": fields}) + "\n")
    (folder / "queries.json").write_text(json.dumps(asked))


def measure_search_tail(store: Store, report: Report) -> None:
    unindexed = store.stats()["unindexed"]
    report.add(
        "search, rare word in the tail",
        each(lambda i: store.search(f"zz{599 - i % 20}q"), range(60)),
        f"{unindexed} grains not indexed",
    )


if __name__ == "__main__":
    sys.exit(main())
