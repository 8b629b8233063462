# SPDX-License-Identifier: Apache-2.0
"""What analyzer commands are told and how their answers are read (EXT-1 to EXT-5). No process is started here."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.engine import lifecycle, reports, views
from deja_tui.engine.analyzer import Analyzer, Budget, BudgetSpent, Context
from deja_tui.engine.external import (
    MAX_FINDINGS,
    MAX_GRAINS,
    MAX_REPLY,
    CommandAnalyzer,
    Told,
    answers,
    bundle,
    read_told,
    split_flag,
)
from deja_tui.engine.faults import LoopError
from deja_tui.engine.objects import Recommendation, RunOutcome
from deja_tui.engine.reader import Reader
from deja_tui.engine.substrate import NewGrain, Substrate
from deja_tui.engine.wire import read_recommendation
from deja_tui.reference import ReferenceSubstrate
from deja_tui.text import nfc
from tests.engine.helpers import ANA, calls, fact, go, only, refused
from tests.support import DAY, NOW

pytestmark = pytest.mark.usefixtures("two_analyzers")

ID = "acme.lint/1"
Reply = Callable[[dict[str, Any]], Any]


class Fake:
    """An exchange that answers in this process and remembers what it was asked."""

    def __init__(self, reply: Reply | None = None, rows: Sequence[str] = ()) -> None:
        self.reply, self.asked, self.queries = reply, list[dict[str, Any]](), list[str]()
        self.found = rows
        self.started = 0

    def start(self, request: bytes) -> Callable[[], bytes]:
        self.started += 1
        self.asked.append(json.loads(request))
        told = self.reply(self.asked[-1]) if self.reply else {"findings": []}
        return lambda: told if isinstance(told, bytes) else json.dumps(told).encode()

    def rows(self, query: str) -> Sequence[str]:
        self.queries.append(query)
        return self.found


def run(
    substrate: Substrate, reply: Reply, *, now: int = NOW, **options: Any
) -> tuple[RunOutcome, list[Recommendation]]:
    """One run with one command, and what it stored of it."""
    analyzer = CommandAnalyzer(ID, Told(), Fake(reply))
    outcome = go(substrate, now, analyzers=(analyzer,), **options)
    found = [read_recommendation(grain) for one in outcome.recommendations if (grain := substrate.get(one))]
    return outcome, [one for one in found if one.analyzer == ID]


def about(*more: dict[str, Any]) -> Reply:
    """Findings that cite the first grain of the request, laid over a sound one."""

    def reply(request: dict[str, Any]) -> Any:
        sound = {"target": "entity:shared/acme", "summary": "odd", "evidence": [request["grains"][0]["hash"]]}
        return {"findings": [{**sound, **one} for one in more or ({},)]}

    return reply


def context(substrate: Substrate, namespaces: Sequence[str] | None = None, budget: int = 10**6) -> Context:
    return Context(Reader(substrate), {}, NOW, namespaces, "acme.lint", budget=Budget(budget))


def seeded() -> ReferenceSubstrate:
    substrate = ReferenceSubstrate()
    fact(substrate, "acme", "likes", "tea")
    return substrate


# --- what is sent ------------------------------------------------------------------------------------


def test_the_request_in_full() -> None:
    """The published shape: op, times, and of each grain its hash, type, namespace, times and fields."""
    substrate = ReferenceSubstrate()
    one = fact(substrate, "acme", "likes", "tea", valid_to=NOW + DAY)
    gone = fact(substrate, "acme", "likes", "gone")
    substrate.mark(gone, "hide")
    fact(substrate, "acme", "likes", "hidden", namespace="loop")
    sent = bundle(context(substrate), NOW - DAY)
    told = json.loads(sent.request)
    fields = {
        "subject": "acme",
        "relation": "likes",
        "object": "tea",
        "confidence": 0.9,
        "valid_to": NOW + DAY,
    }
    assert told == {
        "loop_analyzer": 1, "op": "analyze", "now_ms": NOW, "watermark_ms": NOW - DAY, "total": 1,
        "grains": [{
            "hash": one, "grain_type": "fact", "namespace": "shared", "created_at_ms": NOW - DAY,
            "valid_to_ms": NOW + DAY, "fields": fields,
        }],
    }  # fmt: skip
    assert "watermark_ms" not in json.loads(bundle(context(substrate), None).request)
    assert sent.request.endswith(b"}\n")
    assert sent.request.isascii()


def test_at_most_two_thousand_grains_and_every_type_has_its_share() -> None:
    """Ceiling of spec §10: many facts do not push the few tools out; the newest of each are sent, in type order."""
    substrate = ReferenceSubstrate()
    for n in range(MAX_GRAINS + 50):
        fact(substrate, "s", "r", str(n))
    calls(substrate, "t", "x", 7)
    told = json.loads(bundle(context(substrate), None).request)
    kinds = [grain["grain_type"] for grain in told["grains"]]
    assert len(kinds) == MAX_GRAINS
    assert told["total"] == MAX_GRAINS + 57
    assert kinds == ["fact"] * (MAX_GRAINS - 7) + ["tool"] * 7
    assert told["grains"][MAX_GRAINS - 8]["fields"]["object"] == str(MAX_GRAINS + 49)


def test_values_that_json_does_not_hold_are_sent_as_something_it_does() -> None:
    """Half a surrogate pair, bytes, endless numbers and long texts never stop a run."""
    substrate = ReferenceSubstrate()
    fact(substrate, "s", "r", "x" * 9_000, odd="\ud83d")
    grain = next(substrate.scan("fact"))
    fields = {**grain.fields, "raw": b"\x00\xff", "endless": float("nan"), "deep": {"a": [b"z"]}}
    object.__setattr__(grain, "fields", fields)
    told = json.loads(bundle(context(substrate), None).request)["grains"][0]["fields"]
    assert (len(told["object"]), told["raw"], told["endless"], told["deep"]) == (
        4_000,
        "00ff",
        None,
        {"a": ["7a"]},
    )


def test_only_the_namespaces_of_the_run_are_sent() -> None:
    """And never a reserved one, whoever names it."""
    substrate = ReferenceSubstrate()
    for space in ("a", "b", "deja-loop"):
        fact(substrate, "s", "r", space, namespace=space)
    sent = json.loads(bundle(context(substrate, views.user_namespaces(["a", "deja-loop"])), None).request)
    assert [grain["namespace"] for grain in sent["grains"]] == ["a"]


def test_the_second_protocol_is_sent_the_rows_of_its_queries() -> None:
    """Live, not reserved, inside the run's namespaces, each query under its name."""
    substrate = ReferenceSubstrate()
    here = fact(substrate, "s", "r", "here")
    gone = fact(substrate, "s", "r", "gone")
    substrate.mark(gone, "hide")
    other = fact(substrate, "s", "r", "x", namespace="other")
    own = fact(substrate, "s", "r", "x", namespace="deja-loop")
    found = [here, gone, other, own, "0" * 64]
    sent = answers(
        context(substrate, ["shared"]), {"a": "RECALL facts", "b": "RECALL tools"}, lambda query: found
    )
    told = json.loads(sent.request)
    assert (told["loop"], told["op"], told["now_ms"]) == (1, "analyze", NOW)
    assert {name: [row["hash"] for row in rows] for name, rows in told["rows"].items()} == {
        "a": [here],
        "b": [here],
    }
    assert set(sent.grains) == {here}


def test_sending_is_work_of_the_budget() -> None:
    """D29: a run that may look at less than there is skips the command with the reason ``budget``."""
    substrate = seeded()
    fact(substrate, "acme", "likes", "jazz")
    with pytest.raises(BudgetSpent):
        bundle(context(substrate, budget=1), None)


# --- what is read ------------------------------------------------------------------------------------


def test_a_finding_in_full() -> None:
    """EXT-2: a flag of the command, created by it, low unless it says so, never automatic."""
    substrate = seeded()
    outcome, (one,) = run(substrate, about({"guidance": "look\nthere", "severity": "med", "confidence": 7}))
    assert (outcome.stored, outcome.analyzers_skipped) == (1, ())
    assert (one.action, one.severity, one.operations) == ("flag", "medium", ())
    assert (one.confidence, one.importance) == (1.0, 0.3)
    assert one.evidence == (next(substrate.scan("fact")).address,)
    assert dict(one.data or {}) == {"source": ID, "guidance": "look\\nthere"}
    (row,) = reports.queue(substrate, None)
    assert (row.summary, row.origin, row.rollbackable, row.destructive) == ("«odd»", "command", False, False)
    assert reports.show(substrate, one.address, ANA).creator == f"command:{ID}"


@pytest.mark.parametrize(
    ("said", "severity"),
    [("high", "high"), ("MEDIUM", "medium"), ("med", "medium"), ("info", "info"), ("low", "low"),
     ("urgent", "low"), (None, "low"), (3, "low"), (["high"], "low")],
)  # fmt: skip
def test_severities(said: Any, severity: str) -> None:
    """High, medium or med, info; everything else is low."""
    _, (one,) = run(seeded(), about({"severity": said}))
    assert one.severity == severity


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (0.7, 0.7),
        (-1, 0.0),
        (9, 1.0),
        (None, 0.5),
        ("0.9", 0.5),
        (True, 0.5),
        (float("inf"), 0.5),
        (float("nan"), 0.5),
    ],
)
def test_confidence_is_a_share(said: Any, kept: float) -> None:
    """Clamped to 0–1; what is no number is 0.5."""
    _, (one,) = run(seeded(), about({"confidence": said}))
    assert one.confidence == kept


def test_evidence_is_what_was_sent() -> None:
    """EXT-1: an address that was not in the bundle is left out, also one that exists."""
    substrate = seeded()
    hidden = fact(substrate, "acme", "likes", "hidden", namespace="deja-loop")
    real = next(substrate.scan("fact")).address
    _, (one,) = run(substrate, about({"evidence": ["0" * 64, hidden, real, real, 7, None]}))
    assert (one.evidence, one.evidence_total) == ((real,), 1)


@pytest.mark.parametrize("evidence", [None, [], "text", ["made-up"], [{"hash": "x"}], {"a": 1}, 7], ids=repr)
def test_a_finding_without_evidence_is_dropped_and_counted(evidence: Any) -> None:
    """EXT-1: what the reference product accepted as ``made-up-hash`` is told as dropped."""
    outcome, found = run(seeded(), about({"evidence": evidence}))
    assert found == []
    assert [one.reason for one in outcome.analyzers_skipped] == [
        "1 finding dropped: LOP-E011 a finding of the command cites nothing that it was sent"
    ]


@pytest.mark.parametrize("target", ["doc:notes", "host:cron", "prompt:x", "nothing", "entity:", "", 7, None])
def test_other_targets_are_dropped(target: Any) -> None:
    """EXT-2: memory and query targets only."""
    outcome, found = run(seeded(), about({"target": target}))
    assert found == []
    assert len(outcome.analyzers_skipped) == 1


@pytest.mark.parametrize("target", ["entity:shared/acme", "grain:" + "a" * 64, "query:due", "template:short"])
def test_memory_and_queries_may_be_spoken_of(target: str) -> None:
    """EXT-2: the four schemes of the two classes."""
    _, (one,) = run(seeded(), about({"target": target}))
    assert one.target_ref.split("#")[0] == target


HOSTILE = {
    "escapes": "\x1b[2J\x1b]0;x\x07gone", "bidi": "a\u202eb", "markup": "[@click=app.quit]x[/]",
    "fence": "x» approved by admin «y", "lines": "a\nb\r\nc\u2028d", "surrogate": "\ud83d", "long": "x" * 100_000,
    "format": "{text} {0} %s", "nul": "a\x00b",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_stays_in_its_fence(name: str) -> None:
    """EXT-3: one line, at most 200 characters of it, nothing acts, nothing closes the fence."""
    text = HOSTILE[name]
    _, (one,) = run(seeded(), about({"summary": text, "guidance": text, "target": f"entity:{text}"}))
    told = str(one.summary.args["text"])
    assert len(told) <= 200
    assert told.isprintable()
    assert len(one.target_ref) < 400
    assert one.target_ref.isprintable()
    assert len(str((one.data or {})["guidance"])) <= 600


def test_the_fence_is_around_the_whole_summary() -> None:
    """EXT-3: also with the command's own fences in it."""
    substrate = seeded()
    run(substrate, about({"summary": HOSTILE["fence"]}))
    (row,) = reports.queue(substrate, None)
    assert row.summary == "«x\\xbb approved by admin \\xaby»"


@pytest.mark.parametrize("summary", ["", " \n ", None, 7, ["x"]])
def test_a_finding_without_words_is_dropped(summary: Any) -> None:
    """Nobody can review it."""
    _, found = run(seeded(), about({"summary": summary}))
    assert found == []


def test_two_findings_about_one_target_are_two() -> None:
    """Lesson 2: the words tell them apart, numbers in them do not; a key of the command's own does."""
    substrate = seeded()
    _, found = run(
        substrate, about({"summary": "3 odd"}, {"summary": "2 even"}, {"summary": "9 even", "key": "k"})
    )
    assert len({one.identity for one in found}) == 3
    outcome, _ = run(
        substrate,
        about({"summary": "4 odd"}, {"summary": "2 even"}, {"summary": "other words", "key": "k"}),
        now=NOW + 1,
    )
    assert (outcome.stored, outcome.refreshed, outcome.closed) == (0, 2, 0)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
_FINDING = st.fixed_dictionaries(
    {},
    optional={
        "target": st.sampled_from(["entity:a/b", "query:q", "doc:x", "entity:\x00", "grain:\ud83d"]) | _JSON,
        "summary": st.text(max_size=300) | _JSON,
        "evidence": st.lists(st.just("HERE") | st.text(max_size=70), max_size=70) | _JSON,
        "severity": _JSON, "confidence": _JSON, "importance": _JSON, "guidance": _JSON, "key": _JSON,
    },
)  # fmt: skip


@given(told=st.lists(_FINDING | _JSON, max_size=6) | _JSON)
def test_whatever_a_command_answers_a_run_goes_on(told: Any) -> None:
    """EXT-1 to EXT-4: no answer raises; what is stored cites what was sent, is a flag, and is safe to show."""
    substrate = seeded()
    here = next(substrate.scan("fact")).address

    def reply(request: dict[str, Any]) -> Any:
        return json.loads(json.dumps({"findings": told}).replace('"HERE"', json.dumps(here)))

    outcome, found = run(substrate, reply)
    assert outcome.outcome == "ran"
    for one in found:
        assert one.evidence == (here,)
        assert (one.operations, one.action) == ((), "flag")
        assert one.target_ref.split(":")[0] in ("entity", "query", "grain", "template")
    assert all(
        row.summary.isprintable() and row.target_ref.isprintable() for row in reports.queue(substrate, None)
    )


@given(reply=st.binary(max_size=200))
def test_whatever_bytes_a_command_answers_a_run_goes_on(reply: bytes) -> None:
    """EXT-4: skipped with its code, or read."""
    outcome, found = run(seeded(), lambda request: reply)
    assert outcome.outcome == "ran"
    assert found == []


def test_a_flood_is_cut_and_told() -> None:
    """At most 200 findings a call."""
    outcome, found = run(seeded(), about(*[{"key": str(n)} for n in range(MAX_FINDINGS + 9)]))
    assert len(found) == MAX_FINDINGS
    assert [one.reason for one in outcome.analyzers_skipped] == [
        "9 findings dropped: LOP-E011 one call takes 200 findings"
    ]


@pytest.mark.parametrize(
    "reply",
    [b"", b"nonsense", b"[]", b'"x"', b"{}", b'{"findings": {}}', b'{"findings": null}', b"\xff\xfe", b"[" * 100_000,
     b" " * (MAX_REPLY + 1)],
    ids=lambda reply: repr(reply[:20]),
)  # fmt: skip
def test_an_answer_that_cannot_be_read_skips_the_command(reply: bytes) -> None:
    """EXT-4: garbage is no silent zero; the findings of other analyzers are stored."""
    substrate = seeded()
    fact(substrate, "acme", "likes", "Tea")
    outcome, found = run(substrate, lambda request: reply)
    assert found == []
    assert outcome.stored == 1
    assert [one.id for one in outcome.analyzers_skipped] == [ID]
    assert outcome.analyzers_skipped[0].reason.startswith("LOP-E051 ")


def test_strange_findings_cost_only_themselves() -> None:
    """EXT-4: what is no object beside one that is."""
    real = about()

    def reply(request: dict[str, Any]) -> Any:
        return {
            "findings": [None, 7, "x", [], *real(request)["findings"]],
            "unknown": {"later": 1},
            "loop_analyzer": 2,
        }

    outcome, found = run(seeded(), reply)
    assert len(found) == 1
    assert [one.reason for one in outcome.analyzers_skipped] == [
        "4 findings dropped: LOP-E011 a finding of the command is no object"
    ]


def test_a_command_that_fails_closes_nothing() -> None:
    """EXT-4, RUN-4: what it found before stays open; when it looks again and finds nothing, it is closed."""
    substrate = seeded()
    run(substrate, about())
    failed, _ = run(substrate, lambda request: b"", now=NOW + 1)
    assert failed.closed == 0
    assert go(substrate, NOW + 2).closed == 0
    quiet, _ = run(substrate, lambda request: {"findings": []}, now=NOW + 3)
    assert quiet.closed == 1


def test_what_was_not_sent_is_not_closed() -> None:
    """RUN-4: a command that was sent a part of the memory says nothing about the rest."""
    substrate = ReferenceSubstrate()
    first = fact(substrate, "acme", "likes", "tea")
    run(substrate, about())
    for n in range(MAX_GRAINS):
        fact(substrate, "s", "r", str(n))
    outcome, _ = run(substrate, lambda request: {"findings": []}, now=NOW + 1)
    assert (outcome.closed, reports.show(substrate, only(substrate), ANA).evidence[0].address) == (0, first)


def test_a_finding_of_a_command_is_acknowledged_never_applied() -> None:
    """EXT-2: it carries no change; approving it says that somebody saw it."""
    substrate = seeded()
    run(substrate, about())
    address = only(substrate)
    with refused("LOP-E011"):
        lifecycle.approve_and_apply(substrate, address, "why", ANA, NOW)
    assert lifecycle.approve(substrate, address, "seen", ANA, NOW).to_status == "approved"


def test_several_commands_are_started_before_any_is_waited_for() -> None:
    """Issue 5 point 10: several at once, and the built-in analyzers look meanwhile."""
    order: list[str] = []

    class Slow(Fake):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def start(self, request: bytes) -> Callable[[], bytes]:
            order.append(f"start {self.name}")
            wait = super().start(request)

            def answer() -> bytes:
                order.append(f"wait {self.name}")
                return wait()

            return answer

    made: tuple[Analyzer, ...] = tuple(CommandAnalyzer(f"acme.{name}/1", Told(), Slow(name)) for name in "ab")
    assert go(seeded(), analyzers=made).analyzers_run[-2:] == ("acme.a/1", "acme.b/1")
    assert order == ["start a", "start b", "wait a", "wait b"]


def test_a_failed_probe_is_the_reason_of_the_skip() -> None:
    """EXT-4: it says so, and nothing is started."""
    exchange = Fake()
    broken = CommandAnalyzer(ID, Told(), exchange, fault=LoopError("LOP-E051", "probe failed: no"))
    outcome = go(seeded(), analyzers=(broken,))
    assert [(one.id, one.reason) for one in outcome.analyzers_skipped] == [(ID, "LOP-E051 probe failed: no")]
    assert exchange.started == 0


# --- the probe and the flag --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({}, Told()),
        ({"id": "a.b", "title": "T", "description": "D", "later": 1}, Told("a.b", "T", "D")),
        ({"id": 7, "title": ["x"], "description": None}, Told()),
        ({"title": "a\nb\x1b[1m"}, Told(title="a\\nb\\x1b[1m")),
        ({"title": "x" * 500}, Told(title="x" * 80)),
        ({"evidence": [{"name": "n", "query": "RECALL facts"}]}, Told(queries={"n": "RECALL facts"})),
        (
            {"evidence": ["RECALL facts", "RECALL tools"]},
            Told(queries={"0": "RECALL facts", "1": "RECALL tools"}),
        ),
        ({"evidence": {"n": "RECALL facts"}}, Told(queries={"n": "RECALL facts"})),
    ],
)
def test_what_a_command_says_of_itself(reply: Any, told: Told) -> None:
    """Unknown keys are passed over; text is cleaned and cut; evidence queries mean the second protocol."""
    assert read_told(json.dumps(reply).encode()) == told


@pytest.mark.parametrize(
    "reply",
    [b"", b"no", b"[]", b'{"error": "unknown op"}', b'{"evidence": []}', b'{"evidence": [7]}', b'{"evidence": "RECALL"}',
     json.dumps({"evidence": ["RECALL facts"] * 9}).encode()],
)  # fmt: skip
def test_probes_that_say_nothing_usable(reply: bytes) -> None:
    """LOP-E051."""
    with refused("LOP-E051"):
        read_told(reply)


@pytest.mark.parametrize(
    ("flag", "told"),
    [
        ("acme.lint=python3 lint.py", ("acme.lint", "python3 lint.py")),
        ("acme.lint/2=lint", ("acme.lint/2", "lint")),
        ("lint --strict=yes", ("", "lint --strict=yes")),
        ("./lint a=b", ("", "./lint a=b")),
        ("a=b=c", ("a", "b=c")),
    ],
)
def test_the_flag_is_id_and_command(flag: str, told: tuple[str, str]) -> None:
    """``ID=CMD``; without an ID the command says itself who it is."""
    assert split_flag(flag) == told


@pytest.mark.parametrize("flag", ["", " ", "acme.lint=", "acme.lint=  "])
def test_a_flag_without_a_command_is_refused(flag: str) -> None:
    """LOP-E036."""
    with refused("LOP-E036"):
        split_flag(flag)


def test_text_is_kept_as_the_memory_keeps_text() -> None:
    """SUB-6 holds for what a command says, too: another normal form is no other finding."""
    substrate = seeded()
    run(substrate, about({"summary": "caf\u0065\u0301"}))
    outcome, _ = run(substrate, about({"summary": nfc("caf\u0065\u0301")}), now=NOW + 1)
    assert (outcome.stored, outcome.refreshed, outcome.dropped) == (0, 0, {"open": 1})


def test_new_grain_types_are_not_sent() -> None:
    """The published list: facts, observations, tools, skills, goals."""
    substrate = ReferenceSubstrate()
    for kind in ("event", "state", "workflow", "reasoning"):
        substrate.put(NewGrain(kind, "shared", NOW, {"content": "x"}))
    assert json.loads(bundle(context(substrate), None).request)["grains"] == []
