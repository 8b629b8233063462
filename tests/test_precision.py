# SPDX-License-Identifier: Apache-2.0
"""The precision bench: what counts as right, what is refused, and that analyzers which are on by themselves are right."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.precision import Corpus, Report, Score, corpus_of, judge, load
from deja_tui.present.precision import lines, share
from tests.cli.conftest import Deja, deja  # noqa: F401
from tests.engine.helpers import refused
from tests.support import NOW, ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import corpora as ours
import precision as bench

FLOOR = 0.95


def fact(name: str, object_: str, **more: Any) -> dict[str, Any]:
    fields = {"subject": "acme", "relation": "likes", "object": object_}
    return {"op": "add", "as": name, "type": "fact", "days_ago": 2, "fields": fields, **more}


def corpus(ops: list[Any], labels: list[Any], **more: Any) -> Corpus:
    return corpus_of({"format": "deja-corpus/1", "now_ms": NOW, "ops": ops, "labels": labels, **more}, "one")


def scored(report: Report, family: str = "loop.duplicate_sweep") -> tuple[int, int, int]:
    one = next(score for score in report.scores if score.family == family)
    return one.right, one.wrong, one.missed


TWICE = [fact("a", "tea"), fact("b", "Tea"), fact("c", "jazz")]


# --- what the analyzers do ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def everything() -> dict[str, list[Report]]:
    """Family → nothing; the reports of all corpora, by where they are from."""
    return {title: [judge(found)] for title, found in bench.corpora(1_500, []).items()}


def test_no_finding_on_our_corpora_is_wrong_or_missed(everything: dict[str, list[Report]]) -> None:
    """Issue 5 point 2: the demo memory, ours, a generated one, the vectors. A new finding here needs a label or a reason."""
    told = [
        miss
        for reports in everything.values()
        for report in reports
        for miss in (*report.wrong, *report.missed)
    ]
    assert told == []
    assert [miss for reports in everything.values() for report in reports for miss in report.skipped] == []


@pytest.mark.parametrize("analyzer", ANALYZERS, ids=lambda one: one.manifest.family)
def test_what_is_on_by_itself_is_right(analyzer: Any, everything: dict[str, list[Report]]) -> None:
    """At least 95 of 100 findings, over at least ten of them; all of them are labelled, those that are off too."""
    total = Score(analyzer.manifest.family)
    for reports in everything.values():
        for score in (score for report in reports for score in report.scores if score.family == total.family):
            total.right, total.wrong, total.missed = (
                total.right + score.right,
                total.wrong + score.wrong,
                total.missed + score.missed,
            )
    assert total.labelled >= 10
    assert total.precision is not None
    assert total.precision >= FLOOR or not analyzer.manifest.default_on


def test_every_analyzer_has_labels_and_traps() -> None:
    """A corpus in which everything is a finding shows nothing: more than half of the grains are no finding."""
    labels = Counter(label["analyzer"] for _, value in ours.made() for label in value["labels"])
    assert set(labels) == {one.manifest.family for one in ANALYZERS}
    assert min(labels.values()) >= 10
    cited = sum(len(label.get("evidence", ())) for _, value in ours.made() for label in value["labels"])
    made = sum(op["op"] in ("add", "tool_call") for _, value in ours.made() for op in value["ops"])
    assert made > 2 * cited
    assert sum(not value["labels"] for _, value in ours.made()) >= 10


# --- counting ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "counts"),
    [
        ({"evidence": ["@a", "@b"]}, (1, 0, 0)),
        (
            {
                "evidence": ["@b", "@a"],
                "severity": "low",
                "target": "entity:shared/acme",
                "args": {"count": 2},
            },
            (1, 0, 0),
        ),
        ({}, (1, 0, 0)),
        ({"evidence": ["@a"]}, (0, 1, 1)),
        ({"evidence": ["@a", "@b", "@c"]}, (0, 1, 1)),
        ({"evidence": ["@a", "@b"], "severity": "high"}, (0, 1, 1)),
        ({"target": "entity:shared/other"}, (0, 1, 1)),
        ({"args": {"count": 3}}, (0, 1, 1)),
    ],
)
def test_a_finding_is_right_when_a_label_asks_for_exactly_it(
    label: dict[str, Any], counts: tuple[int, ...]
) -> None:
    """Everything that a label says must hold; evidence is the whole set."""
    report = judge([corpus(TWICE, [{"analyzer": "loop.duplicate_sweep/1", **label}])])
    assert scored(report) == counts


def test_a_label_answers_one_finding() -> None:
    """Two findings need two labels."""
    report = judge([corpus([*TWICE, fact("d", "Jazz")], [{"analyzer": "loop.duplicate_sweep"}])])
    assert scored(report) == (1, 1, 0)
    assert [miss.told[:6] for miss in report.wrong] == ["found "]


def test_a_label_without_an_analyzer_here_is_missed() -> None:
    """A family that nobody has."""
    report = judge([corpus(TWICE[:1], [{"analyzer": "acme.lint", "why": "it says so"}])])
    assert scored(report, "acme.lint") == (0, 0, 1)
    assert [(miss.analyzer, miss.told) for miss in report.missed] == [("acme.lint", "missed it says so")]


@pytest.mark.parametrize(
    ("right", "wrong", "told"), [(9, 0, "–"), (10, 0, "100 %"), (199, 1, "99 %"), (0, 10, "0 %")]
)
def test_a_share_is_told_from_ten_on_and_rounded_down(right: int, wrong: int, told: str) -> None:
    """No percentage under n = 10; 99.5 is not all."""
    assert share(Score("x", right, wrong).precision) == told


def test_commands_are_judged_like_the_others(tmp_path: Path) -> None:
    """Their findings count as right or wrong; one that fails is told."""
    path = tmp_path / "seen.py"
    path.write_text(
        "import json, sys\nask = json.load(sys.stdin)\nprint(json.dumps({'findings': [{'target': 'entity:x', 'summary': 'seen',"
        " 'evidence': [g['hash']], 'key': g['hash']} for g in ask.get('grains', [])]}))"
    )
    seen = f"acme.seen={sys.executable} -S {path}"
    labels = [{"analyzer": "acme.seen", "evidence": ["@a"]}]
    report = judge([corpus(TWICE[:1] + TWICE[2:], labels)], commands=[seen, "acme.gone=/nowhere/at/all"])
    assert scored(report, "acme.seen") == (1, 1, 0)
    assert [(miss.analyzer, miss.told[:8]) for miss in report.skipped] == [("acme.gone/1", "LOP-E051")]


# --- reading -----------------------------------------------------------------------------------------


BAD: dict[str, Any] = {
    "no time": {"now_ms": None}, "no ops": {"ops": None}, "no labels": {"labels": {}}, "an op that is none": {"ops": [7]},
    "an op without a name": {"ops": [{}]}, "a label without an analyzer": {"labels": [{}]}, "params": {"params": []},
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_malformed_files_are_refused(name: str, tmp_path: Path) -> None:
    """IMP-E002 with the name of the file."""
    told = {"format": "deja-corpus/1", "now_ms": NOW, "ops": [], "labels": [], **BAD[name]}
    (tmp_path / "broken.json").write_text(json.dumps(told))
    with refused("IMP-E002") as caught:
        load(tmp_path)
    assert "broken" in str(caught.value)


@pytest.mark.parametrize(
    "ops",
    [
        [{"op": "explode"}], [{"op": "add"}], [{"op": "add", "type": "fact", "fields": {"subject": "x"}}], [{"op": "sync_in"}],
        [{"op": "supersede", "target": "@nobody", "fields": {}}], [{"op": "apply", "rec": {"analyzer": "loop.staleness"}}],
        [{"op": "add", "type": "fact", "fields": {}, "days_ago": "soon"}],
    ],
)  # fmt: skip
def test_operations_that_cannot_be_played_are_told(ops: list[Any]) -> None:
    """IMP-E002 with the number of the operation, where it has one."""
    with refused("IMP-E002"):
        judge([corpus(ops, [])])


def test_a_label_that_cites_nothing_is_told() -> None:
    """A spelling mistake is no missed finding."""
    with refused("IMP-E002"):
        judge([corpus(TWICE, [{"analyzer": "loop.duplicate_sweep", "evidence": ["@nobody"]}])])


def test_other_files_are_passed_over(tmp_path: Path) -> None:
    """A folder may hold anything; one without a corpus is told."""
    (tmp_path / "other.json").write_text('{"format": "loop-vector/1"}')
    (tmp_path / "list.json").write_text("[]")
    with refused("IMP-E001"):
        load(tmp_path)
    with refused("IMP-E001"):
        load(tmp_path / "nowhere")
    (tmp_path / "bad.json").write_text("{")
    with refused("IMP-E002"):
        load(tmp_path)


# --- the doors ---------------------------------------------------------------------------------------


def test_the_verb_and_the_example_of_the_page(deja: Deja, tmp_path: Path) -> None:  # noqa: F811
    """docs/precision.md: its corpus is played as it stands, and is right."""
    (example,) = re.findall(
        r"```json corpus\n(.*?)```", (ROOT / "docs" / "precision.md").read_text(), re.DOTALL
    )
    (tmp_path / "page.json").write_text(example)
    done = deja("loop", "precision", tmp_path, "--format", "json", "--fail-on-wrong")
    assert done.code == 0
    assert (done.json["corpora"], done.json["wrong"], done.json["missed"]) == (["page"], [], [])
    assert {one["family"]: one["right"] for one in done.json["scores"] if one["right"]} == {
        "loop.tool_failure": 1, "loop.duplicate_sweep": 1,
    }  # fmt: skip
    text = deja("loop", "precision", tmp_path)
    assert (text.code, text.out.splitlines()[0].split()[0]) == (0, "analyzer")
    (tmp_path / "page.json").write_text(json.dumps({**json.loads(example), "labels": []}))
    assert deja("loop", "precision", tmp_path, "--fail-on-wrong").code == 2
    assert deja("loop", "precision", tmp_path).code == 0


def test_what_is_told_is_safe() -> None:
    """Text of a corpus is hostile like any other."""
    hostile = "\x1b[2J«x»\u202e"
    report = judge(
        [corpus([fact("a", hostile), fact("b", f" {hostile}")], [{"analyzer": "x", "why": hostile}])]
    )
    assert all(line.isprintable() for line in lines(report, 120))


def test_the_page_is_of_a_real_run() -> None:
    """Every analyzer stands in each table, and no figure says less than the floor."""
    told = (ROOT / "docs" / "precision.md").read_text().partition(bench.MARK)[2]
    for one in ANALYZERS:
        assert told.count(f"`{one.manifest.family}`") >= 3
    shares = [int(found) for found in re.findall(r"\| (\d+) % \|", told)]
    assert shares
    assert min(shares) >= FLOOR * 100
