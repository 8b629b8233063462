# SPDX-License-Identifier: Apache-2.0
"""What the query language costs: ``python benchmarks/cal.py --grains 10000 --peer /path/to/python``.

CPU time (user and system) of this process, medians of single calls. Parse and plan are measured without any cache. The corpus is the one of ``benchmarks/store.py``. With ``--peer``, a Python that can import the reference product
(the extra ``interop``), the same grains are taken in there from a bundle, both run the same statements in turns, and the
ratio is given.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.store import NOW, Report, each, fill
from deja_tui.cal import Host, Session, ast, parse
from deja_tui.cal.conditions import Env
from deja_tui.cal.plan import Reader, plan_recall
from deja_tui.store.memory import Store

BAR_US = 60
BAR_OF_PEER = 0.8
ROUNDS = 9
_PEER = """
import dejadb, json, sys, time
bundle, file = sys.argv[1:3]
db = dejadb.DejaDB(file)
db.import_bundle(bundle)
statements = json.loads(sys.stdin.readline())
rows = sum(len(json.loads(db.cal(text))["grains"]) for text in statements)
print(rows, flush=True)
def timed(call):
    start = time.process_time_ns()
    for text in statements:
        call(text)
    return (time.process_time_ns() - start) / 1000 / len(statements)
for _ in sys.stdin:
    print(timed(db.cal), timed(lambda text: json.loads(db.cal(text))), flush=True)
"""
SIMPLE = [
    'RECALL facts WHERE subject = "person-1"',
    'RECALL facts WHERE subject = "person-1" AND relation = "prefers" LIMIT 10',
    "RECALL tools WHERE is_error = true RECENT 50",
]


def plan(text: str) -> None:
    """Parse and plan, as a session does before it reads."""
    program = parse(text)
    statement = program.query.statement
    assert isinstance(statement, ast.Recall)
    plan_recall(statement, Env(program.text, NOW), Reader("shared"))


def best(call: Callable[[], object], rounds: int = 7, calls: int = 2_000) -> float:
    """Median over rounds of the mean CPU time of one call, in µs."""
    means = []
    for _ in range(rounds):
        start = time.process_time_ns()
        for _ in range(calls):
            call()
        means.append((time.process_time_ns() - start) / 1000 / calls)
    return median(means)


def measure_plan(report: Report) -> bool:
    slowest = 0.0
    for text in SIMPLE:
        took = best(lambda text=text: plan(text))  # type: ignore[misc]
        slowest = max(slowest, took)
        report.add("parse + plan", (took, took), text[:44])
    report.add("parse + plan, the slowest", (slowest, slowest), f"bar {BAR_US} µs")
    return slowest <= BAR_US


def measure_reads(store: Store, entries: list[dict[str, object]], words: list[str], report: Report) -> None:
    session = Session(Host(store, "shared", lambda: NOW))
    facts = [entry["fields"]["subject"] for entry in entries if entry["type"] == "fact"]  # type: ignore[index]
    tools = [entry["fields"]["tool_name"] for entry in entries if entry["type"] == "tool"]  # type: ignore[index]
    typical = facts[:: max(1, len(facts) // 200)][:200]
    hottest = Counter(facts).most_common(1)[0][0]

    def run(text: str) -> Callable[[object], object]:
        return lambda value: session.run(text, {"v": value})

    rows: list[tuple[str, str, list[object]]] = [
        ("RECALL by subject", "RECALL facts WHERE subject = $v LIMIT 16", typical),
        ("RECALL by subject, the hottest", "RECALL facts WHERE subject = $v LIMIT 16", [hottest] * 30),
        ("RECALL by subject, any type", "RECALL WHERE subject = $v LIMIT 16", typical[:20]),
        ("RECALL newest facts", "RECALL facts LIMIT 16", [0] * 50),
        ("RECALL RECENT", "RECALL events RECENT 16", [0] * 50),
        ("RECALL failed calls of a tool", "RECALL tools WHERE tool_name = $v AND is_error = true LIMIT 16", tools[:20]),
        ("RECALL, a condition without index", 'RECALL facts WHERE object CONTAINS "zzz" LIMIT 16', [0] * 3),
        ("RECALL ABOUT a common word", "RECALL facts ABOUT $v LIMIT 16", words[:10]),
        ("RECALL ABOUT a rare word", "RECALL facts ABOUT $v LIMIT 16", words[-40:]),
        ("COUNT of a type", "RECALL facts COUNT", [0] * 10),
        ("ASSEMBLE three sources, sml",
         ("ASSEMBLE FROM a: (RECALL facts WHERE subject = $v), b: (RECALL tools LIMIT 20), c: (RECALL goals RECENT 10)"
          " BUDGET 2000 FORMAT sml"), typical[:40]),
    ]  # fmt: skip
    for name, text, values in rows:
        report.add(name, each(run(text), values), text[:60])
    report.add(
        "store.recall by subject, for scale",
        each(lambda v: store.recall(namespace="shared", subject=v), typical),
    )


def measure_peer(python: str, store: Store, folder: Path, subjects: list[str], report: Report) -> bool:
    """RECALL by subject here and there, round by round in turns; whether ours stays within the bar.

    A program uses rows, so the bar compares typed rows with the reference's text after it was decoded; text against text
    is given beside it. Every statement is written out with its subject, none twice in 256.
    """
    bundle = folder / "a.mgb"
    store.bundle(bundle)
    statements = [f"RECALL facts WHERE subject = {json.dumps(name)} LIMIT 16" for name in subjects]
    session = Session(Host(store, "shared", lambda: NOW))
    command = [python, "-c", _PEER, str(bundle), str(folder / "peer.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
        assert peer.stdin is not None
        assert peer.stdout is not None

        def ask(line: str) -> list[float]:
            peer.stdin.write(line + "\n")  # type: ignore[union-attr]
            peer.stdin.flush()  # type: ignore[union-attr]
            return [float(told) for told in peer.stdout.readline().split()]  # type: ignore[union-attr]

        (theirs,) = ask(json.dumps(statements))
        ours = sum(len(session.run(text).as_json()["grains"]) for text in statements)
        assert ours == theirs, f"{ours} rows here, {theirs} there"
        rounds = [
            (*ask(""), one_round(session, statements), one_round(session, statements, as_text=True))
            for _ in range(ROUNDS)
        ]
        peer.kill()  # it would tidy up its file for a minute
    text, decoded, typed, own_text = (median(times) for times in zip(*rounds, strict=True))
    each_has = f"{ours / len(statements):.1f} rows a statement"
    report.add("reference: RECALL, decoded", (decoded, decoded), each_has)
    report.add(
        "RECALL by subject, typed rows", (typed, typed), f"{typed / decoded:.2f} of it, bar {BAR_OF_PEER}"
    )
    report.add("reference: RECALL, its text", (text, text), f"typed rows are {typed / text:.2f} of it")
    report.add("RECALL by subject, JSON text", (own_text, own_text), f"{own_text / text:.2f} of it")
    return typed <= BAR_OF_PEER * decoded


def one_round(session: Session, statements: list[str], *, as_text: bool = False) -> float:
    """Mean CPU time of one statement, in µs."""
    start = time.process_time_ns()
    for text in statements:
        found = session.run(text)
        if as_text:
            json.dumps(found.as_json(), ensure_ascii=False, separators=(",", ":"))
    return (time.process_time_ns() - start) / 1000 / len(statements)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--grains", type=int, default=10_000)
    ask.add_argument("--seed", type=int, default=1)
    ask.add_argument("--json", action="store_true")
    ask.add_argument("--plan-only", action="store_true")
    ask.add_argument("--peer", metavar="PYTHON", help="a Python that can import the reference product")
    args = ask.parse_args()
    report = Report(args.json)
    met = measure_plan(report)
    if not args.plan_only:
        with (
            tempfile.TemporaryDirectory() as folder,
            Store.open(Path(folder) / "a.deja", durability="normal") as store,
        ):
            entries, words = fill(store, args.grains, args.seed, report)
            measure_reads(store, entries, words, report)
            if args.peer:
                facts = [entry["fields"]["subject"] for entry in entries if entry["type"] == "fact"]
                typical = facts[:: max(1, len(facts) // 1_000)][:1_000]
                met = measure_peer(args.peer, store, Path(folder), typical, report) and met
    report.done()
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
