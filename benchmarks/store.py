# SPDX-License-Identifier: Apache-2.0
"""What the memory file costs: ``python benchmarks/store.py --grains 10000``.

CPU time (user and system) of this process, medians; wall time beside it for what waits for the disk. The corpus is
``../shared/tools/corpus.py`` where that lies beside the project, else a small generator with the same shape: 46 %
facts, 36 % tool calls, 14 % notes, 2 % skills, 2 % goals, one subject in 25 grains, half of the picks skewed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
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
    tool = Path(__file__).resolve().parents[2] / "shared" / "tools" / "corpus.py"
    if not tool.exists():
        words = [f"{a}{b}{c}" for c in "abcdefghij" for b in ("ran", "lot", "mes", "vik") for a in _ONSETS]
        return list(own_corpus(count, seed, words)), words
    spec = importlib.util.spec_from_file_location("corpus", tool)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.Corpus(count, seed=seed, now_ms=NOW)
    return list(made), list(made.vocab)


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

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
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


def measure_keys(store: Store, entries: list[dict[str, Any]], report: Report) -> None:
    facts = [entry["fields"] for entry in entries if entry["type"] == "fact"]
    held = Counter(fact["subject"] for fact in facts)
    hot = held.most_common(1)[0]
    names = sorted(held)[:: max(1, len(held) // 1000)][:1000]
    pairs = sorted({(fact["subject"], fact["relation"]) for fact in facts if fact["relation"] in SINGLE})
    pairs = pairs[:: max(1, len(pairs) // 1000)][:1000]

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


def measure_search(store: Store, vocabulary: list[str], report: Report) -> None:
    size = len(vocabulary)
    rare = vocabulary[size * 7 // 8 :][:60]
    middling = vocabulary[size // 10 :][:30]
    threes = [" ".join(vocabulary[i : i + 3]) for i in range(60, 90, 3)] * 3

    def find(query: str) -> int:
        return len(store.search(query, namespace="shared", k=10))

    report.add("search, rare word", each(find, rare), f"{sum(map(find, rare)) / len(rare):.1f} of 10 hits")
    report.add("search, middling word", each(find, middling))
    report.add("search, commonest word", each(find, vocabulary[:1] * 12))
    report.add("search, three words", each(find, threes))
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
    report.add("verify", each(lambda _: store.verify(), range(2)), f"{len(store.verify())} faults")
    newest = [grain.address for grain in store.recall(namespace="shared", subject="adder-7", k=9)]

    def forget(address: str) -> None:
        with store.act() as act:
            act.forget(address)

    report.add("forget one, folded into the file", each(forget, newest))
    report.say("bytes a grain", round(size / grains), f"{size} bytes, {grains} grains")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--grains", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--dir", help="where to put the file; a temporary folder by default")
    options = parser.parse_args()
    report = Report(options.json)
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        path = Path(folder) / "bench.deja"
        with Store.open(path) as store:
            entries, vocabulary = fill(store, options.grains, options.seed, report)
        measure_open(path, report)
        with Store.open(path) as store:
            measure_keys(store, entries, report)
            measure_search(store, vocabulary, report)
            measure_views(store, report)
            measure_add(store, report)
            measure_chains(store, report)
            measure_search_tail(store, report)
            measure_rest(store, path, report)
    report.done()
    return 0


def measure_search_tail(store: Store, report: Report) -> None:
    unindexed = store.stats()["unindexed"]
    report.add(
        "search, rare word in the tail",
        each(lambda i: store.search(f"zz{599 - i % 20}q"), range(60)),
        f"{unindexed} grains not indexed",
    )


if __name__ == "__main__":
    sys.exit(main())
