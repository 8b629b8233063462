# SPDX-License-Identifier: Apache-2.0
"""Programs of the reference product run here: names, argument order, JSON strings; the rest is refused (CMP, D39)."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deja_tui import DejaError, Memory
from deja_tui import compat as dejadb
from deja_tui.compat import CompatError, DejaDB
from tests.support import DAY, NOW, shared

NAMES = json.loads((Path(__file__).parent / "dejadb_names.json").read_text())
REFUSED = {
    "nearest", "set_embedder", "set_embedder_command", "migrate",
    "record_run_manifest", "step_actions",
}  # fmt: skip


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DejaDB]:
    monkeypatch.setenv("DEJA_LOOP_NOW_MS", str(NOW))
    with DejaDB(str(tmp_path / "a.db")) as opened:
        yield opened


def at(monkeypatch: pytest.MonkeyPatch, moment: int) -> None:
    monkeypatch.setenv("DEJA_LOOP_NOW_MS", str(moment))


# --- the whole surface ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES["methods"])
def test_every_public_method_is_offered_or_refused_with_a_code(db: DejaDB, name: str) -> None:
    """D39: what is offered takes the same arguments in the same order."""
    method = getattr(db, name)
    if name in REFUSED:
        for arguments in ((), ("x",) * len(NAMES["methods"][name])):
            with pytest.raises(CompatError) as refusal:
                method(*arguments)
            assert refusal.value.code == "VAL-E006"
        return
    assert list(inspect.signature(method).parameters) == NAMES["methods"][name]


def test_the_module_and_its_constructor(tmp_path: Path) -> None:
    """Names of the module; arguments of the class."""
    assert all(hasattr(dejadb, name) for name in NAMES["module"])
    assert dejadb.dejadb.DejaDB is DejaDB
    assert list(inspect.signature(DejaDB).parameters) == NAMES["constructor"]
    with pytest.raises(CompatError, match="VAL-E006"):
        dejadb.drop_postgres_schema("url", "schema")
    with pytest.raises(AttributeError):
        dejadb.something_else  # type: ignore[attr-defined]


@pytest.mark.parametrize("passphrase", ["secret", ""])
def test_a_passphrase_never_opens_or_makes_a_plain_file(tmp_path: Path, passphrase: str) -> None:
    """CMP-1: also when the file is there already."""
    path = tmp_path / "a.db"
    with pytest.raises(CompatError, match="VAL-E006"):
        DejaDB(str(path), passphrase=passphrase)
    assert list(tmp_path.iterdir()) == []
    DejaDB(str(path)).close()
    before = path.read_bytes()
    with pytest.raises(CompatError, match="VAL-E006"):
        DejaDB(str(path), "shared", passphrase)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "call",
    [
        lambda path, db: DejaDB(path, index_text=False),
        lambda path, db: DejaDB(path, principal="x"),
        lambda path, db: db.loop_run(model="m"),
        lambda path, db: db.loop_run(llm_cmd="x"),
        lambda path, db: db.loop_run(ground_model="x"),
        lambda path, db: db.loop_run(ground_cmd="x"),
        lambda path, db: db.remember("x", model="m"),
        lambda path, db: db.remember("x", llm_cmd="x"),
        lambda path, db: db.remember("x", min_confidence=0.5),
    ],
)
def test_an_argument_that_is_not_offered_is_refused(db: DejaDB, tmp_path: Path, call: Any) -> None:
    """Never ignored; nothing is done."""
    with pytest.raises(CompatError, match="VAL-E006"):
        call(str(tmp_path / "b.db"), db)
    assert not (tmp_path / "b.db").exists()
    assert json.loads(db.stats())["grains"] == 0


def test_refusals_are_value_errors_that_begin_with_the_code(db: DejaDB) -> None:
    """CMP-2: as programs of the reference product catch them; also every other refusal of the library."""
    for call in (
        lambda: db.add("poem", "{}"),
        lambda: db.forget("0" * 64),
        lambda: db.add("fact", "no json"),
    ):
        with pytest.raises(ValueError, match=r"^(VAL|MEM)-E001 ") as refusal:
            call()
        assert isinstance(refusal.value, DejaError)
        assert refusal.value.__cause__ is None or isinstance(refusal.value.__cause__, DejaError)


# --- the proof --------------------------------------------------------------------------------------


def test_the_opening_proof(db: DejaDB, monkeypatch: pytest.MonkeyPatch) -> None:
    """CMP-5: The calls of `vectors/proof.json` in order, as far as the analyzers reach; apply, undo and a run that adds nothing."""
    proof = json.loads(shared("vectors/proof.json").read_text())
    told: Any = None
    for step, call in enumerate(proof["calls"]):
        for _ in range(call.get("repeat", 1)):
            at(monkeypatch, NOW + step)
            told = getattr(db, call["call"])(*call.get("args", ()), **call.get("kwargs", {}))
    outcome = json.loads(told)
    assert (outcome["outcome"], outcome["new_grains"], outcome["new_error_events"]) == ("ran", 12, 5)
    rows = json.loads(db.recommendations())
    assert set(rows[0]) == {"analyzer", "destructive", "hash", "severity", "status", "summary", "target_ref"}
    targets = {row["target_ref"].split("#")[0].split(":", 1)[1] for row in rows}
    assert {"lessons/stripe_refund", "shared/acme"} <= targets
    promo = json.loads(db.recall("promo"))[0]["fields"]
    assert promo["valid_to"] == 1_577_836_800_000, "an ISO time takes effect"
    before = db.recall("acme")
    twin = next(row for row in rows if "duplicate" in row["analyzer"])
    applied = json.loads(db.apply_recommendation(twin["hash"], "one is enough"))
    assert applied == {"hash": twin["hash"], "rollbackable": True}
    assert len(json.loads(db.recall("acme", "tier"))) == 1
    assert json.loads(db.loop_run())["stored"] == 0
    undone = json.loads(db.rollback_recommendation(twin["hash"], "no, both"))
    assert undone == {"hash": twin["hash"], "status": "rolled_back"}
    assert db.recall("acme") == before


# --- shapes -----------------------------------------------------------------------------------------


def test_one_json_argument_is_a_fact(db: DejaDB) -> None:
    """D39."""
    address = db.add('{"subject":"a","relation":"b","object":"c"}')
    (row,) = json.loads(db.recall("a"))
    assert (row["hash"], row["type"], row["fields"]["type"]) == (address, "fact", "fact")
    with pytest.raises(CompatError, match="VAL-E001"):
        db.add('{"type":"event","content":"x"}')


def test_recall_and_latest_have_the_shape_of_the_reference_product(db: DejaDB) -> None:
    """CMP-3: Compact JSON with sorted keys: fields with type, created_at and namespace; hash; type."""
    address = db.add_fact("acme", "tier", "gold", 0.9)
    fields = (
        f'{{"confidence":0.9,"created_at":{NOW},"namespace":"shared","object":"gold","relation":"tier",'
        '"subject":"acme","type":"fact"}'
    )
    assert db.recall("acme") == f'[{{"fields":{fields},"hash":"{address}","type":"fact"}}]'
    assert db.latest("acme", "tier") == f'{{"fields":{fields},"hash":"{address}"}}'
    assert db.latest("acme", "nope") is None
    assert db.recall("acme", None, 2, "other") == "[]"


def test_adding_the_same_value_idempotently_adds_nothing(db: DejaDB, monkeypatch: pytest.MonkeyPatch) -> None:
    """The head's address is the answer."""
    address = db.add_fact("acme", "tier", "gold")
    at(monkeypatch, NOW + 5)
    assert db.add_fact("acme", "tier", "gold", 0.9, None, True) == address
    assert db.add_fact("acme", "tier", "gold", 0.9, None, False) != address


def test_a_batch_is_one_act(db: DejaDB) -> None:
    """All or nothing; the place of the bad one is named."""
    good = [{"type": "fact", "fields": {"subject": "a", "relation": "b", "object": str(n)}} for n in range(3)]
    assert len(json.loads(db.add_batch(json.dumps(good)))) == 3
    bad = [*good, {"grain_type": "fact", "fields": {"subject": ""}}]
    with pytest.raises(CompatError, match="grain 3"):
        db.add_batch(json.dumps(bad))
    with pytest.raises(CompatError, match="grain 0"):
        db.add_batch(json.dumps([{"type": "fact"}]))
    assert json.loads(db.stats())["grains"] == 3


def test_superseding_takes_exactly_the_fields_given(db: DejaDB, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not laid over the old ones; history tells both, newest first."""
    old = db.add("fact", json.dumps({"subject": "a", "relation": "b", "object": "c", "ticket": 7}))
    at(monkeypatch, NOW + 5)
    new = db.supersede(old, "fact", json.dumps({"subject": "a", "relation": "b", "object": "d"}))
    assert "ticket" not in json.loads(db.latest("a", "b") or "")["fields"]
    first, second = json.loads(db.history("a", "b"))
    assert first == {
        "confidence": 1.0,
        "created_at": NOW + 5,
        "hash": new,
        "object": "d",
        "superseded_by": None,
    }
    assert (second["hash"], second["superseded_by"]) == (old, new)
    assert db.history("nope", "x") == "[]"
    with pytest.raises(CompatError, match="MEM-E002"):
        db.supersede(old, "fact", json.dumps({"subject": "a", "relation": "b", "object": "e"}))


def test_a_value_at_a_time_on_both_axes(db: DejaDB) -> None:
    """World and knowledge."""
    db.add("fact", json.dumps({"subject": "a", "relation": "b", "object": "c", "valid_from": NOW + DAY}))
    assert json.loads(db.entity_at("a", "b", NOW)) == {"found": False}
    assert json.loads(db.entity_at("a", "b", NOW + 2 * DAY))["grain"]["fields"]["object"] == "c"
    assert json.loads(db.entity_at("a", "b", NOW - DAY, "knowledge")) == {"found": False}
    assert json.loads(db.entity_at("a", "b", NOW + 1, "knowledge"))["found"]
    with pytest.raises(CompatError, match="VAL-E001"):
        db.entity_at("a", "b", 0, "sideways")


def test_search_and_its_filters(db: DejaDB) -> None:
    """Text, narrowed by subject and relation."""
    for number in range(90):
        db.add_fact(f"s{number}", "likes", "green tea")
    db.add_fact("acme", "likes", "green tea")
    assert len(json.loads(db.search("tea"))) == 10
    (found,) = json.loads(db.search("tea", "s3"))
    assert found["fields"]["subject"] == "s3"
    assert json.loads(db.search("tea", "s3", "hates")) == []


def test_what_comes_from_what(db: DejaDB) -> None:
    """remember, provenance, runs: events, facts derived from them, the way back."""
    facts = json.dumps([{"subject": "acme", "relation": "in", "object": "Oslo", "confidence": 1.5}])
    told = json.loads(db.remember("acme moved", facts, run_id="r1", session_id="s1", role="user"))
    (fact,) = told["facts"]
    fields = json.loads(db.recall("acme"))[0]["fields"]
    assert (fields["derived_from"], fields["source_type"], fields["confidence"]) == (
        told["event"],
        "derived",
        1.0,
    )
    assert json.loads(db.provenance(told["event"])) == [
        {"hash": fact, "object": "Oslo", "relation": "in", "subject": "acme", "type": "fact"}
    ]
    trace = json.loads(db.run_trace("r1"))
    assert [row["hash"] for row in trace["trace"]] == [told["event"]]
    assert [row["hash"] for row in trace["produced"]] == [fact]
    assert json.loads(db.run_trace("r1", 64, False))["produced"] == []
    assert json.loads(db.runs_touching(fact)) == {"hash": fact, "runs": ["r1"]}
    assert json.loads(db.runs_touching("0" * 64))["runs"] == []
    assert json.loads(db.remember("only text"))["facts"] == []
    for bad in ("no json", "{}", '[{"subject":"a"}]', "[7]"):
        with pytest.raises(CompatError, match="VAL-E001"):
            db.remember("x", bad)
    assert json.loads(db.stats())["grains"] == 3


def test_what_is_related(db: DejaDB) -> None:
    """Out, in, both; bounded in depth and number; never the start."""
    for subject, relation, value in (
        ("a", "knows", "b"),
        ("b", "knows", "c"),
        ("c", "knows", "a"),
        ("a", "part_of", "x"),
    ):
        db.add_fact(subject, relation, value)
    assert json.loads(db.related("a", "knows")) == {"reached": ["b", "c"], "start": "a"}
    assert json.loads(db.related("b", "knows", "in"))["reached"] == ["a", "c"]
    assert set(json.loads(db.related("b", "knows, part_of", "both", 3))["reached"]) == {"a", "c", "x"}
    assert json.loads(db.related("a", "knows", "out", 0))["reached"] == []
    assert json.loads(db.related("a", "knows", "out", 2, 1))["reached"] == ["b"]
    with pytest.raises(CompatError, match="VAL-E001"):
        db.related("a", "knows", "up")


def test_bundles_statistics_and_checks(db: DejaDB, tmp_path: Path) -> None:
    """Numbers and JSON as there."""
    db.add_fact("a", "b", "c")
    last = db.bundle(str(tmp_path / "x.mgb"))
    assert last == 1
    with DejaDB(str(tmp_path / "c.db")) as other:
        assert other.import_bundle(str(tmp_path / "x.mgb")) == 1
        assert other.import_bundle(str(tmp_path / "x.mgb")) == 0
    stats = json.loads(db.stats())
    assert set(stats) == {"current", "events_indexed", "grains", "ops", "terms", "triples"}
    assert (stats["grains"], stats["current"], stats["ops"], stats["triples"]) == (1, 1, 1, 1)
    assert json.loads(db.verify()) == {"grains": 1, "integrity": "ok"}
    assert db.reindex_text() == 1
    assert db.reindex_links() == 1
    assert db.open_warnings() == "[]"


def test_a_fault_makes_verify_raise(db: DejaDB) -> None:
    """As there: the first one, and how many."""
    db.add_fact("a", "b", "c")
    with db.memory.store.act(governed=True) as act:
        act._tx.db.execute("UPDATE grain SET dead = 1")
    with pytest.raises(CompatError, match="STO-E009 1 faults"):
        db.verify()


def test_erasures_record_that_no_reason_was_given(db: DejaDB, tmp_path: Path) -> None:
    """CMP-4, D16: forget, forget_subject, forget_older_than; reports and bundles of a subject."""
    for number in range(3):
        db.add_fact("pat", "likes", str(number))
    address = db.add_fact("bo", "likes", "tea")
    assert db.forget(address) is None
    report = json.loads(db.subject_report("pat"))
    assert (len(report["grains"]), report["identity_names"]) == (3, ["pat"])
    assert json.loads(db.subject_bundle(str(tmp_path / "p.mgb"), "pat"))["ops"] == 3
    counts = {"blobs_reclaimed": 0, "grains_erased": 3, "terms_removed": 1, "vocab_removed": 0}
    assert json.loads(db.forget_subject("pat")) == counts
    assert json.loads(db.forget_subject("pat")) == {**counts, "grains_erased": 0, "terms_removed": 0}
    db.add_fact("a", "b", "c", ns="one")
    db.add_fact("a", "b", "c")
    assert json.loads(db.forget_older_than(1))["grains_erased"] == 0
    assert json.loads(db.forget_older_than(NOW + 1, ""))["grains_erased"] == 2
    audits = db.memory.store.scan("observation", namespaces=["agent:authz"])
    assert {audit.get("context")["because"] for audit in audits} == {"compat: none given"}


# --- the loop ---------------------------------------------------------------------------------------


@pytest.fixture
def failing(db: DejaDB) -> str:
    for number in range(5):
        db.record_tool_call("curl", "timeout", True, "th", str(number), '{"url":"x"}')
    db.loop_run()
    (row,) = json.loads(db.recommendations())
    return str(row["hash"])


def test_decisions_and_their_answers(db: DejaDB, failing: str) -> None:
    """Approve, apply what was approved, roll back; statuses and filters."""
    assert json.loads(db.approve_recommendation(failing, "ok")) == {"hash": failing, "status": "approved"}
    assert json.loads(db.recommendations()) == []
    for filter_ in ('{"status":"approved"}', "approved", "all", '{"status":"all"}', '"approved"'):
        assert len(json.loads(db.recommendations(filter_))) == 1
    with pytest.raises(CompatError, match="VAL-E001"):
        db.recommendations('{"status":"zz"}')
    assert json.loads(db.apply_recommendation(failing, "go")) == {"hash": failing, "rollbackable": True}
    with pytest.raises(CompatError, match="LOP-E020"):
        db.apply_recommendation(failing, "again")
    assert json.loads(db.rollback_recommendation(failing, "no"))["status"] == "rolled_back"


def test_a_refused_decision_changes_nothing(db: DejaDB, failing: str) -> None:
    """Reasons, rights, addresses."""
    for call, code in (
        (lambda: db.apply_recommendation(failing, ""), "LOP-E011"),
        (lambda: db.apply_recommendation(failing, "x", False, "read,review"), "LOP-E022"),
        (lambda: db.approve_recommendation(failing, "x", "read"), "LOP-E022"),
        (lambda: db.approve_recommendation(failing, "x", "root"), "VAL-E001"),
        (lambda: db.apply_recommendation("0" * 64, "x"), "LOP-E040"),
        (lambda: db.dismiss_recommendation("zz", "x"), "LOP-E040"),
    ):
        with pytest.raises(CompatError, match=code):
            call()
    assert json.loads(db.recommendations())[0]["status"] == "pending"
    assert json.loads(db.dismiss_recommendation(failing, "an outage", "read,review"))["status"] == "rejected"


def test_runs_gates_and_health(db: DejaDB, failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gates are strict; health counts since the last run."""
    skipped = json.loads(db.loop_run(min_new=100, if_stale="6h"))
    assert (skipped["outcome"], skipped["skip_reason"]) == ("skipped", "min_new_not_met")
    for bad in ("soon", "6", "h", "٦h"):
        with pytest.raises(CompatError, match="LOP-E034"):
            db.loop_run(if_stale=bad)
    assert json.loads(db.loop_run(full_sweep=True))["outcome"] == "ran"
    db.record_tool_call("curl", "timeout", True)
    health = json.loads(db.loop_health())
    assert health == {
        "last_run_ms": NOW,
        "grains_since_run": 1,
        "error_events_since_run": 1,
        "pending": 1,
        "applied": 0,
        "total": 1,
        "stale": False,
    }
    at(monkeypatch, NOW + 8 * DAY)
    assert json.loads(db.loop_health())["stale"]
    analyzers = json.loads(db.loop_analyzers())
    assert {"id", "title", "description", "tier", "trust_class", "default_on", "enabled"} == set(analyzers[0])


def test_a_call_needs_json_input(db: DejaDB) -> None:
    """As there."""
    db.record_tool_call("q", "r", False, "th", "c1", '{"a":1}')
    with pytest.raises(CompatError, match="VAL-E001"):
        db.record_tool_call("q", "r", False, "th", "c2", "notjson")


def test_a_statement_of_the_language(db: DejaDB) -> None:
    """The payload as JSON; destruction is not let through."""
    address = db.add_fact("acme", "tier", "gold")
    told = json.loads(db.cal('RECALL facts WHERE subject = "acme"'))
    assert (told["type"], told["total_available"]) == ("grains", 1)
    assert told["grains"][0]["hash"] == address
    with pytest.raises(CompatError, match="CAL-E"):
        db.cal("RECALL fact")
    with pytest.raises(CompatError, match="CAL-E"):
        db.cal(f'FORGET sha256:{address} REASON "x"')


# --- documents --------------------------------------------------------------------------------------


def test_the_commands_of_an_editing_agent(db: DejaDB) -> None:
    """The answers of the reference product, word for word; a last line end is kept, which it loses."""

    def tool(**command: Any) -> str:
        return db.memory_tool(json.dumps(command))

    path = "/memories/a.md"
    assert tool(command="view", path="/memories") == "Directory: /memories\n(empty)"
    assert tool(command="create", path=path, file_text="hi\nthere\n") == "Created /memories/a.md"
    assert tool(command="view", path=path) == "   1: hi\n   2: there"
    assert tool(command="view", path=path, view_range=[2, -1]) == "   2: there"
    assert tool(command="view", path="/memories/") == "Directory: /memories/\n/memories/a.md"
    assert (
        tool(command="str_replace", path=path, old_str="hi", new_str="ho")
        == "Replaced text in /memories/a.md"
    )
    assert (
        tool(command="insert", path=path, insert_line=1, insert_text="mid")
        == "Inserted at line 1 in /memories/a.md"
    )
    assert db.memory.docs.view(path).text == "ho\nmid\nthere\n"
    assert tool(command="create", path=path, file_text="over") == "Overwrote (new version of) /memories/a.md"
    renamed = tool(command="rename", old_path=path, new_path="/memories/b.md")
    assert renamed == "Renamed /memories/a.md → /memories/b.md"
    for command in (
        {"command": "zz"},
        {"command": "view", "path": "/x"},
        {"command": "view", "path": "/memories/none.md"},
        {"command": "str_replace", "path": "/memories/b.md", "old_str": "zz", "new_str": "y"},
        {"command": "create", "path": 7},
        {"command": "delete", "path": path},
        {"command": "_view", "path": path},
    ):
        with pytest.raises(CompatError, match="VAL-E001"):
            tool(**command)
    tool(command="create", path=path, file_text="again")
    with pytest.raises(CompatError, match="VAL-E001"):
        tool(command="rename", old_path=path, new_path="/memories/b.md")
    assert tool(command="delete", path="/memories/b.md") == "Deleted /memories/b.md (5 versions erased)"
    assert json.loads(db.stats())["grains"] == 2, "the other document and the audit of the deletion"
    db.memory_tool(json.dumps({"command": "create", "path": path, "file_text": "hers"}), "user:ada")
    assert db.memory.docs.view(path).text == "again"


# --- opening ----------------------------------------------------------------------------------------


def test_outcomes_are_counts_over_equal_spans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys of the reference product; the baseline is the equal span before, the verdict one of D23."""
    monkeypatch.setenv("DEJA_LOOP_NOW_MS", str(NOW))
    with dejadb.DejaDB(str(tmp_path / "a.deja")) as db:
        assert json.loads(db.loop_outcomes()) == []
        for at in (NOW - 60 * DAY, *range(NOW - 5, NOW)):
            db.memory.record_tool_call("t", "boom", at > NOW - DAY, created_at=at)
        db.loop_run()
        (row,) = json.loads(db.recommendations())
        db.apply_recommendation(row["hash"], "codify it")
        monkeypatch.setenv("DEJA_LOOP_NOW_MS", str(NOW + DAY))
        db.loop_run()
        (told,) = json.loads(db.loop_outcomes())
    assert told == {
        "rec_hash": row["hash"], "metric": "tool_error_recurrence", "baseline": 5, "current": 0, "verdict": "lower",
        "horizon_ms": DAY, "measured_at_ms": NOW + DAY,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("says", "asked", "mode"),
    [("off", {}, "off"), ("full", {}, "full"), ("off", {"telemetry": "full"}, "full"), ("full", {"telemetry": "off"}, "off")],
)  # fmt: skip
def test_telemetry_follows_the_host_policy(
    says: str, asked: dict[str, str], mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D37: the default is the policy's; what a program asks for by name is what it gets."""
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({"telemetry": says}))
    monkeypatch.setenv("DEJA_LOOP_POLICY", str(policy))
    with dejadb.DejaDB(str(tmp_path / "a.deja"), **asked) as db:
        assert db.memory.telemetry.mode == mode


def test_telemetry_is_counted_by_default_and_written_at_the_end(tmp_path: Path) -> None:
    """D37: aggregate; a handle that is only let go writes what it counted."""
    path = tmp_path / "a.db"
    db = DejaDB(str(path))
    db.add_fact("a", "b", "c")
    db.recall("a")
    db.set_run_id("r1")
    del db
    with Memory.open(path, telemetry="aggregate") as memory:
        assert memory.telemetry.stats().recalls == 1


def test_the_namespace_of_the_handle(tmp_path: Path) -> None:
    """Given, or what the file declares; a difference is told by open_warnings."""
    path = str(tmp_path / "a.db")
    with DejaDB(path, "caller") as db:
        db.add("fact", '{"subject":"a","relation":"b","object":"c"}')
        db.add("fact", '{"subject":"a","relation":"b","object":"d","namespace":"other"}', "third")
        assert len(json.loads(db.recall("a"))) == 1
        assert len(json.loads(db.recall("a", ns="other"))) == 1
        db.memory.declare("namespace", "caller", because="one caller")
    with DejaDB(path) as db:
        assert len(json.loads(db.recall("a"))) == 1
    with DejaDB(path, "shared") as db:
        assert "caller" in json.loads(db.open_warnings())[0]


# --- analyzers and policy ---------------------------------------------------------------------------


def test_analyzers_are_configured_as_there(db: DejaDB) -> None:
    """Switch and parameters take effect, are listed, and stand in the log with the fixed reason (CMP-4)."""
    for n in range(4):
        db.record_tool_call("refund", "boom", is_error=True, call_id=f"c{n}")
    db.set_analyzer_config("loop.tool_failure/1", True, '{"min_count": 5}')
    db.set_analyzer_config("loop.staleness/1", False)
    assert json.loads(db.loop_run())["stored"] == 0
    listed = {row["id"]: row for row in json.loads(db.loop_analyzers())}
    assert (listed["loop.staleness/1"]["enabled"], listed["loop.staleness/1"]["default_on"]) == (False, True)
    log = db.memory.loop.config_log()
    assert {one.because for one in log} == {"compat: none given"}
    for bad in ('{"min_count": 0}', '{"nothing": 1}'):
        with pytest.raises(CompatError, match="LOP-E031"):
            db.set_analyzer_config("loop.tool_failure/1", None, bad)
    with pytest.raises(CompatError, match="LOP-E033"):
        db.set_analyzer_config("loop.nothing/1", True)


def test_a_policy_is_given_for_one_run_as_json_or_as_a_path(db: DejaDB, tmp_path: Path) -> None:
    """It grants and denies like any host's; what is no policy is refused with the key named."""
    for n, text in enumerate(("tea", "Tea")):
        db.add(
            "fact",
            json.dumps({"subject": "a", "relation": "likes", "object": text, "created_at": NOW - n - 1}),
        )
    policy = {
        "auto_apply_enabled": True,
        "auto_apply": [{"analyzer": "loop.duplicate_sweep", "targets": ["memory"], "max_severity": "low"}],
    }
    path = tmp_path / "policy.json"
    path.write_text('{"deny": ["loop.duplicate_sweep"]}')
    assert json.loads(db.loop_run(policy=str(path)))["proposed"] == 0
    assert json.loads(db.loop_run(policy=json.dumps(policy), full_sweep=True))["auto_applied"] == 1
    for bad in ('{"auto_aply": []}', str(tmp_path / "none.json")):
        with pytest.raises(CompatError, match="LOP-E037"):
            db.loop_run(policy=bad)


def test_a_command_takes_part_in_a_run(tmp_path: Path) -> None:
    """``analyzer_cmd`` is run as there: its findings are flags in the queue."""
    import sys

    script = tmp_path / "seen.py"
    script.write_text(
        "import json, sys\nask = json.load(sys.stdin)\nprint(json.dumps({'id': 'acme.seen'} if ask['op'] == 'probe' else"
        " {'findings': [{'target': 'entity:x', 'summary': 'seen', 'evidence': [ask['grains'][0]['hash']]}]}))"
    )
    with dejadb.DejaDB(str(tmp_path / "a.db")) as db:
        db.add_fact("a", "b", "c")
        told = json.loads(db.loop_run(analyzer_cmd=f"{sys.executable} -S {script}"))
        assert "acme.seen/1" in told["analyzers_run"]
        (row,) = [one for one in json.loads(db.recommendations()) if one["analyzer"] == "acme.seen/1"]
        assert row["summary"] == "«seen»"
