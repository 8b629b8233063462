# SPDX-License-Identifier: Apache-2.0
"""How often each analyzer is right: ``python benchmarks/precision.py``.

Over the demo memory, our own corpora (``benchmarks/corpora.py``), a generated memory of any size (``--grains``), the loop
vectors where ``../shared`` lies beside the project, and whatever folders are named. ``--write`` puts the table into
docs/precision.md; ``--save DIR`` writes our corpora as files, for ``deja loop precision DIR``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from corpora import NOW, made
from planted import SINGLE, Planted

from deja_tui.capture.demo import seed
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.precision import Corpus, Report, corpus_of, family, judge, load
from deja_tui.present.precision import lines, share
from deja_tui.text import fold

ROOT: Final = Path(__file__).resolve().parent.parent
VECTORS: Final = ROOT.parent / "shared" / "vectors" / "loop"
PAGE: Final = ROOT / "docs" / "precision.md"
MARK: Final = "<!-- python benchmarks/precision.py --write -->\n"
WIDTH: Final = 160


def demo() -> Corpus:
    """What `deja demo` shows: the findings that it was written to have, by what they are about."""
    tools = {"stripe_refund": 9, "run_tests": 4, "fetch_page": 5, "bash": 6, "read_file": 4}
    labels = [
        {"analyzer": "loop.tool_failure", "args": {"tool": name, "count": times}}
        for name, times in tools.items()
    ]
    copied = {"acme": 3, "ana": 2, "shop-api": 2, "refunds": 2}
    labels += [
        {"analyzer": "loop.duplicate_sweep", "args": {"subject": who, "count": n}}
        for who, n in copied.items()
    ]
    labels += [
        {"analyzer": "loop.skill_stall", "args": {"skill": "write_migration"}},
        {"analyzer": "loop.contradiction_sweep", "args": {"subject": "acme", "relation": "deploy_target"}},
        {"analyzer": "loop.staleness", "args": {"subject": "shop", "relation": "promo_code"}},
    ]
    return Corpus("demo", "the demo memory", NOW, (), labels, fill=seed)


def planted(grains: int) -> Corpus:
    """A generated memory; its labels follow from what the generator planted, grain by grain."""
    stream = Planted(grains, 11, NOW)
    ops: list[dict[str, Any]] = []
    facts: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    values: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    labels: list[dict[str, Any]] = []
    for number, entry in enumerate(stream):
        name, fields = f"g{number}", dict(entry["fields"])
        ops.append(
            {
                "op": "add",
                "as": name,
                "type": entry["type"],
                "fields": fields,
                "at_ms": entry["created_at_ms"],
            }
        )
        ended = fields.get("valid_to", NOW + 1) < NOW
        if entry["type"] == "fact":
            key = (fold(fields["subject"]), fold(fields["relation"]), fold(fields["object"]))
            facts[key].append(f"@{name}")
            if not ended and fields["relation"] in SINGLE:
                values[key[:2]][key[2]].append(f"@{name}")
            if ended:
                labels.append({"analyzer": "loop.staleness", "evidence": [f"@{name}"]})
        elif entry["type"] == "skill" and fields["practice_count"] >= 5 and fields["proficiency"] <= 0.4:
            labels.append({"analyzer": "loop.skill_stall", "evidence": [f"@{name}"]})
        elif entry["type"] == "goal" and fields["goal_state"] == "active" and fields["progress"] <= 0.1:
            labels.append({"analyzer": "loop.goal_stagnation", "evidence": [f"@{name}"]})
    labels += [
        {"analyzer": "loop.duplicate_sweep", "evidence": found} for found in facts.values() if len(found) > 1
    ]
    labels += [
        {
            "analyzer": "loop.contradiction_sweep",
            "evidence": [name for found in each.values() for name in found],
        }
        for each in values.values()
        if len(each) > 1
    ]
    labels += [
        {"analyzer": "loop.tool_failure", "args": {"tool": tool}} for tool, _ in stream.labels.failing()
    ]
    labels += stream.near()
    return Corpus(f"generated-{grains}", "a generated memory", NOW, ops, labels)


# --- the vectors ------------------------------------------------------------------------------------

_FILLING: Final = ("add", "tool_call", "supersede", "forget", "recall", "ask", "twin", "sync_in", "config")


def vectors() -> Iterator[Corpus]:
    """Loop vectors up to their first run, with the findings that it must have and those that ours must have besides."""
    for path in sorted(VECTORS.glob("*.json")):
        told = json.loads(path.read_text())
        ops, first = [], None
        for op in told["ops"]:
            if op["op"] == "run" and not op.get("options", {}).get("min_new"):
                first = op
                break
            if op["op"] in _FILLING:
                ops.append(op)
        if first is None or path.stem in UNFIT:
            continue
        expected = next((one for one in told["expect"] if "recommendations" in one), None)
        if expected is None:
            continue
        set_up = [op for op in ops if op["op"] == "config"]
        params = {op["analyzer"]: op.get("params", {}) for op in set_up}
        on = {family(op["analyzer"]) for op in set_up if op.get("enabled")}
        off = {one.manifest.family for one in ANALYZERS if not one.manifest.default_on} - on
        yield Corpus(
            path.stem, told["title"], first.get("now_ms", told["now_ms"]), list(_ours(ops)),
            list(_labels(told, expected, first["as"])), told["namespace"], params, tuple(off), told["now_ms"],
        )  # fmt: skip


def _ours(ops: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """There a superseding grain has the fields that are named; here they are laid over those of the other one."""
    there: dict[str, Mapping[str, Any]] = {}
    for op in ops:
        if op["op"] == "supersede":
            gone = there.get(op["target"].removeprefix("@"), {})
            yield {**op, "fields": {**dict.fromkeys(gone), **op["fields"]}}
        elif op["op"] == "twin":
            yield {**op, "ops": list(_ours(op["ops"]))}
        elif op["op"] != "config":
            yield op
        if "fields" in op and "as" in op:
            there[op["as"]] = op["fields"]


# vectors whose first run is about something else than what is found, with the reason
UNFIT: Final = {
    "17-run-gates": "about gates",
    "20-hook-captured-errors": "needs the capture of a transcript, which tests/engine/test_loop_vectors.py plays",
}


# where our right answer is another one, decided after the vectors were written (vectors/overrides.json)
BETTER: Final[Mapping[str, tuple[dict[str, Any], ...]]] = {
    "03-error-signatures": (
        {"run": "r", "change": "drop", "match": {"args": {"tool": "v2"}}},
        {"run": "r", "change": "add", "rec": {"analyzer": "loop.tool_failure/1", "args": {"tool": "empty"}}},
        {"run": "r", "change": "add", "rec": {"analyzer": "loop.tool_failure/1", "args": {"tool": "blank"}}},
    ),
}  # fmt: skip


def _labels(told: Mapping[str, Any], expected: Mapping[str, Any], run: str) -> Iterator[dict[str, Any]]:
    better = [
        one for one in [*(told.get("better") or ()), *BETTER.get(told["id"], ())] if one.get("run") == run
    ]
    dropped = [one["match"] for one in better if one["change"] == "drop"]
    found = [one for one in expected["recommendations"] if not any(_holds(one, match) for match in dropped)]
    for one in found + [one["rec"] for one in better if one["change"] == "add"]:
        label: dict[str, Any] = {"analyzer": one["analyzer"]}
        if one.get("evidence") and not one.get("evidence_capped"):
            label["evidence"] = one["evidence"]
        elif "tool" in one.get("args", {}):
            label["args"] = {"tool": one["args"]["tool"]}
        yield label


def _holds(whole: Any, part: Any) -> bool:
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(
            key in whole and _holds(whole[key], value) for key, value in part.items()
        )
    return bool(whole == part)


# --- the page ---------------------------------------------------------------------------------------


def table(report: Report) -> list[str]:
    rows = ["| analyzer | right of found | precision | found of labelled | recall |", "|---|---|---|---|---|"]
    return rows + [
        f"| `{one.family}` | {one.right} of {one.found} | {share(one.precision)} | {one.right} of {one.labelled} | {share(one.recall)} |"
        for one in report.scores
    ]


def corpora(grains: int, folders: list[str]) -> dict[str, list[Corpus]]:
    """What is judged, by where it is from, in the order of the page."""
    found = {
        "the demo memory": [demo()],
        "our own corpora": [corpus_of(value, name) for name, value in made()],
    }
    if grains:
        found[f"a generated memory of {grains:,} grains"] = [planted(grains)]
    if VECTORS.exists():
        found["the loop vectors"] = list(vectors())
    for folder in folders:
        found[folder] = load(Path(folder))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="*", help="labelled corpora besides")
    parser.add_argument(
        "--grains", type=int, default=3_000, help="size of the generated memory; 0 leaves it out"
    )
    parser.add_argument("--save", metavar="DIR", help="write our own corpora there and stop")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/precision.md")
    options = parser.parse_args()
    if options.save:
        Path(options.save).mkdir(parents=True, exist_ok=True)
        for name, value in made():
            (Path(options.save) / f"{name}.json").write_text(
                json.dumps(value, ensure_ascii=False, indent=1) + "\n"
            )
        return 0
    page, wrong = [], 0
    for title, found in corpora(options.grains, options.folders).items():
        report = judge(found)
        wrong += len(report.wrong)
        print(f"\n== {title}")
        print("\n".join(lines(report, WIDTH)))
        labels = sum(len(one.labels) for one in found)
        many = f"{len(found)} corpora, {labels} labels" if len(found) > 1 else f"{labels} labels"
        page += ["", f"### {title[0].upper()}{title[1:]} ({many})", "", *table(report)]
    if options.write:
        head = PAGE.read_text().partition(MARK)[0]
        PAGE.write_text(head + MARK + "\n".join(page) + "\n")
    return 2 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
