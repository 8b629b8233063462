# SPDX-License-Identifier: Apache-2.0
"""Erasure through the library: exactly what the report lists, nothing quoted is left, who and why stays (ERA, D19, D31)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from deja_tui import DejaError, Memory
from deja_tui.engine.operations import Forget
from deja_tui.erasure import SubjectReport, naming
from deja_tui.store.codec import TYPES
from deja_tui.store.grains import StoredGrain
from tests.engine.helpers import draft, plant
from tests.store.helpers import Clock, bytes_on_disk
from tests.support import NOW


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.deja"


@pytest.fixture
def memory(path: Path, clock: Clock) -> Iterator[Memory]:
    with Memory.open(path, clock=clock, telemetry="full") as opened:
        yield opened


def refused(code: str) -> Any:
    return pytest.raises(DejaError, match=code)


def everything(memory: Memory) -> set[str]:
    return {entry.address for entry in memory.store.log() if memory.store.get(entry.address)}


NAMED: list[tuple[str, dict[str, Any]]] = [
    ("fact", {"subject": "zqpat", "relation": "phone", "object": "zq555"}),
    ("fact", {"subject": "acme", "relation": "owner", "object": "zqpat"}),
    ("fact", {"subject": "zqpat#visit1", "relation": "said", "object": "hello"}),
    ("fact", {"subject": "zqpat:thread-2", "relation": "said", "object": "bye"}),
    ("observation", {"subject": "zqpat", "object": "looked tired"}),
    ("event", {"content": "came in late", "subject": "zqpat"}),
    ("event", {"content": "in a session", "session_id": "zqpat-7"}),
    ("event", {"content": "in a run", "run_id": "zqpat"}),
    ("goal", {"description": "call back", "subject": "zqpat"}),
    ("tool", {"tool_name": "crm", "tool_content": "ok", "session_id": "zqpat/1"}),
    ("fact", {"subject": "plan", "relation": "is", "object": "x", "user_id": "zqpat"}),
    ("consent", {"subject_did": "zqpat", "grantee_did": "acme", "scope": "store"}),
    ("reasoning", {"conclusion": "so", "subject": "zqpat"}),
    ("state", {"context": {"a": 1}, "entity_id": "zqpat"}),
]
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("fact", {"subject": "zqpatricia", "relation": "likes", "object": "tea"}),
    ("fact", {"subject": "Zqpat", "relation": "likes", "object": "another case"}),
    ("fact", {"subject": "azqpat", "relation": "likes", "object": "longer before"}),
    ("observation", {"subject": "bo", "object": "met zqpat at noon"}),
]


@pytest.mark.parametrize("number", range(len(NAMED)))
def test_every_way_of_naming_a_subject_is_reached(memory: Memory, number: int) -> None:
    """Triples, sessions and runs, names with a part after them, and grains that have no relation at all."""
    kind, fields = NAMED[number]
    address = memory.add(kind, fields)
    report = memory.subject_report("zqpat")
    assert [grain.address for grain in report.grains] == [address]
    assert len(report.names) == 1


def test_nobody_else_is_reached(memory: Memory) -> None:
    """A longer name, another case, a name that only ends so; a text that mentions it is told, not taken."""
    added = [memory.add(kind, fields) for kind, fields in OTHERS]
    report = memory.subject_report("zqpat")
    assert report.grains == ()
    assert set(report.mentioned) == {added[0], added[2], added[3]}
    with refused("MEM-E001"):
        memory.forget_subject("zqpat", because="asked to", confirm="zqpat")


def populated(memory: Memory, clock: Clock) -> None:
    """Everything that can tell of zqpat: all kinds, old versions, recommendations, questions, recalls."""
    for kind, fields in (*NAMED, *OTHERS):
        memory.add(kind, fields)
    old = memory.add_fact("zqpat", "lives_in", "zqoslo")
    memory.supersede(old, {"object": "zqrome"})
    for copy in ("zqtea", "ZQTEA"):
        memory.add_fact("zqpat", "likes", copy)
    for number in range(4):
        memory.add("tool", {"tool_name": "crm", "tool_content": "zqboom", "is_error": True, "session_id": "zqpat", "tool_call_id": str(number)})  # fmt: skip
    memory.add_fact("acme", "likes", "coffee")
    memory.add_fact("acme", "likes", "Coffee")
    assert memory.loop.run().stored == 3
    clock.at += 1_000
    memory.add_fact("zqpat", "likes", "Zqtea")
    assert memory.loop.run().refreshed == 1
    for question in ("who is zqpat", "zqtea", "zqpat zq555", "coffee"):
        memory.search(question)
    memory.recall("zqpat")


def test_the_report_lists_exactly_what_goes(memory: Memory, clock: Clock) -> None:
    """ERA-2: grains and recommendations, and nothing else changes."""
    populated(memory, clock)
    before = everything(memory)
    report = memory.subject_report("zqpat")
    assert everything(memory) == before
    done = memory.forget_subject("zqpat", because="a request", confirm="zqpat")
    assert done.addresses == tuple(grain.address for grain in report.grains)
    assert done.recommendations == report.recommendations
    gone = before - everything(memory)
    assert gone == {*done.addresses, *done.recommendations}
    assert everything(memory) - before == {done.audit}
    assert memory.subject_report("zqpat").grains == ()
    assert memory.verify() == ()


def test_no_byte_of_the_subject_is_left(memory: Memory, clock: Clock, path: Path) -> None:
    """ERA-3, ERA-4: not in the file, its log or the sidecar; what others say of others stays."""
    populated(memory, clock)
    memory.telemetry.flush()
    side = Path(memory.telemetry.path)
    assert b"zqpat" in bytes_on_disk(path) + bytes_on_disk(side)
    done = memory.forget_subject("zqpat", because="a request", confirm="zqpa")
    assert not done.pending
    memory.telemetry.flush()
    assert b"another case" in bytes_on_disk(path)
    for other in (*memory.subject_report("zqpat").mentioned, memory.recall("Zqpat")[0].address):
        memory.forget(other, because="it is spelt like it")
    left = (bytes_on_disk(path) + bytes_on_disk(side)).lower()
    for word in (b"zqpat", b"zq555", b"zqoslo", b"zqrome", b"zqtea", b"zqboom"):
        assert word not in left
    assert b"coffee" in side.read_bytes()


WORDS = count()


def rare() -> str:
    """A word that stands nowhere else."""
    return f"Zq{next(WORDS)}rare"


def filled(kind: str) -> dict[str, Any]:
    """A grain with a rare word wherever a text may stand: fields, keys, nested values, names of its own."""
    own: dict[str, Any] = {
        "fact": lambda: {"subject": rare(), "relation": rare(), "object": rare()},
        "event": lambda: {"content": rare(), "subject": rare(), "session_id": rare(), "run_id": rare(),
                          "content_blocks": [{"type": "text", "text": rare()}]},
        "state": lambda: {"context": {rare(): [rare(), {rare(): rare()}]}, "plan": [rare()], "history": [rare()]},
        "workflow": lambda: {"nodes": [rare(), rare()], "trigger": rare()},
        "tool": lambda: {"tool_name": rare(), "tool_content": f"{rare()} failed", "is_error": True,
                         "input": {rare(): rare()}, "session_id": rare(), "failure_detail": rare()},
        "observation": lambda: {"object": rare(), "subject": rare(), "observer_id": rare()},
        "goal": lambda: {"description": rare(), "subject": rare(), "criteria_structured": {rare(): rare()}},
        "reasoning": lambda: {"conclusion": rare(), "premises": [rare()], "alternatives_considered": [rare()]},
        "consensus": lambda: {"agreed_content": rare(), "participating_observers": [rare()]},
        "consent": lambda: {"subject_did": rare(), "grantee_did": rare(), "scope": [rare()]},
        "skill": lambda: {"name": rare(), "description": rare(), "strategies": [{"condition": rare(), "workflow": rare()}]},
    }[kind]()  # fmt: skip
    common = {
        "tags": [rare()],
        "user_id": rare(),
        "source_type": rare(),
        "embedding_text": rare(),
        rare(): rare(),
    }
    return {"context": {rare(): rare()}, **own, **common, "namespace": f"of {rare()}"}


@pytest.mark.parametrize("indexed", [False, True])
def test_no_word_of_any_type_of_grain_is_left(
    path: Path, clock: Clock, tmp_path: Path, indexed: bool
) -> None:
    """D30, D31: row, keys, dictionary, text index, namespaces, log and sidecar; old versions; each forgotten alone."""
    with Memory.open(path, clock=clock, telemetry="full") as memory:
        added = []
        for kind in sorted(set(TYPES) - {"recommendation"}):
            fields = filled(kind)
            added.append(memory.add(kind, fields))
            words = [value for value in fields.values() if isinstance(value, str)]
            memory.search(" ".join(words[:2]), namespace=fields["namespace"])
            if kind in ("fact", "goal"):
                changed = {"fact": "object", "goal": "description"}[kind]
                added.append(memory.supersede(added[-1], {changed: rare()}, reason=rare()))
        if indexed:
            with memory.store.act():
                for number in range(300):
                    memory.add_fact(f"plain {number}", "is", "kept")
        memory.telemetry.flush()
        wanted = {f"zq{number}rare".encode() for number in range(next(WORDS))}
        here = set(re.findall(rb"zq\d+rare", everywhere(tmp_path)))
        assert len(here & wanted) > 80
        for address in added:
            assert not memory.forget(address, because="asked to").pending
        assert memory.verify() == ()
        assert re.findall(rb"zq\d+rare", everywhere(tmp_path)) == []


def everywhere(folder: Path) -> bytes:
    """All files of a folder, in lower case."""
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir())).lower()


def test_what_was_erased_stays_erased(memory: Memory, clock: Clock) -> None:
    """Addresses are refused, also when they come again."""
    memory.add_fact("zqpat", "likes", "tea", created_at=NOW)
    memory.forget_subject("zqpat", because="a request", confirm="zqpat")
    with refused("MEM-E003"):
        memory.add_fact("zqpat", "likes", "tea", created_at=NOW)


def test_the_audit_says_who_and_why_and_not_whom(memory: Memory) -> None:
    """ERA-1: a digest of the subject, the reason, the number."""
    memory.add_fact("zqpat", "likes", "tea")
    done = memory.forget_subject("zqpat", because="a request", confirm="zqpat")
    grain = memory.get(done.audit)
    assert grain is not None
    assert (grain.namespace, grain.get("object"), grain.get("observer_id")) == (
        "agent:authz",
        "erase",
        "user:local",
    )
    assert grain.get("context")["grains_erased"] == 1
    assert grain.get("context")["because"] == "a request"
    assert (
        grain.get("subject") == "subject:" + grain.get("context")["subject_ref"].split("/")[1] + " ns:shared"
    )
    assert "zqpat" not in str(grain.fields)


def test_a_subject_is_not_erased_by_accident(memory: Memory, path: Path, clock: Clock) -> None:
    """D19: admin, a reason that does not name it, its first characters typed; a refusal erases nothing."""
    memory.add_fact("zqpat", "likes", "tea")
    for confirm in ("", "zqp", "zqpatricia", "ZQPAT", "acme"):
        with refused("LOP-E023"):
            memory.forget_subject("zqpat", because="a request", confirm=confirm)
    for because, code in (("", "LOP-E011"), ("x" * 501, "LOP-E011"), ("ZQPAT asked us to", "LOP-E011")):
        with refused(code):
            memory.forget_subject("zqpat", because=because, confirm="zqpat")
    for subject in ("", "  "):
        with refused("VAL-E001"):
            memory.forget_subject(subject, because="a request", confirm=subject)
    with (
        Memory.open(path, clock=clock, scopes=("read", "write", "review", "apply")) as limited,
        refused("LOP-E022"),
    ):
        limited.forget_subject("zqpat", because="a request", confirm="zqpat")
    for namespace in ("deja-loop", "loop", "agent:authz"):
        with refused("VAL-E004"):
            memory.subject_report("zqpat", namespace=namespace)
    assert len(memory.recall("zqpat")) == 1


def test_a_short_subject_is_typed_whole(memory: Memory) -> None:
    """Two characters are all there is to type."""
    memory.add_fact("bo", "likes", "tea")
    with refused("LOP-E023"):
        memory.forget_subject("bo", because="a request", confirm="b")
    assert len(memory.forget_subject("bo", because="a request", confirm="bo").addresses) == 1


def test_one_namespace_or_everywhere(memory: Memory) -> None:
    """What is named elsewhere is told, and reached when asked for."""
    memory.add_fact("zqpat", "likes", "tea")
    memory.add_fact("zqpat", "likes", "figs", namespace="user:one")
    memory.add_fact("zqpat", "likes", "plums", namespace="user:two")
    report = memory.subject_report("zqpat")
    assert len(report.grains) == 1
    assert report.elsewhere == {"user:one": 1, "user:two": 1}
    assert len(memory.subject_report("zqpat", namespace="user:one").grains) == 1
    done = memory.forget_subject("zqpat", because="a request", confirm="zqpat", everywhere=True)
    assert len(done.addresses) == 3


def test_mentions_are_taken_only_when_asked_for(memory: Memory) -> None:
    """Every word of the name, in any order and case."""
    kept = memory.add("observation", {"subject": "bo", "object": "Doe, Pat came by"})
    memory.add("observation", {"subject": "bo", "object": "pat came by"})
    memory.add_fact("Pat Doe", "likes", "tea")
    assert len(memory.subject_report("Pat Doe").grains) == 1
    report = memory.subject_report("Pat Doe", mentions=True)
    assert report.grains[0].address == kept
    assert len(report.grains) == 2
    done = memory.forget_subject("Pat Doe", because="a request", confirm="Pat ", mentions=True)
    assert kept in done.addresses


def test_what_was_derived_from_it_is_told(memory: Memory) -> None:
    """A fact drawn from an erased event says nothing of its subject, so it stays and is named."""
    event = memory.add("event", {"content": "long talk", "subject": "zqpat"})
    fact = memory.add(
        "fact", {"subject": "acme", "relation": "plans", "object": "a move", "derived_from": event}
    )
    assert memory.subject_report("zqpat").derived == (fact,)
    memory.forget_subject("zqpat", because="a request", confirm="zqpat")
    assert memory.get(fact) is not None


def test_what_cannot_be_reached_is_told(memory: Memory) -> None:
    """ERA-5: reasons of decisions, settings, copies that were written before."""
    for number in range(3):
        memory.record_tool_call("crm", "boom", True, call_id=str(number))
    (address,) = memory.loop.run().recommendations
    memory.loop.reject(address, because="zqpat said it is fine")
    memory.add_fact("zqpat", "likes", "tea")
    with memory.store.act() as act:
        act.set_setting("query:mine", {"body": 'RECALL facts WHERE subject = "zqpat"'})
    report = memory.subject_report("zqpat")
    told = " | ".join(report.unreached)
    assert "bundles" in told
    assert "1 records of decisions" in told
    assert "1 settings" in told
    assert memory.forget_subject("zqpat", because="a request", confirm="zqpat").unreached == report.unreached


def test_a_chain_whose_recommendation_was_erased_is_erased_not_broken(memory: Memory) -> None:
    """D31: its entries stay and hold together; nothing can be decided about it any more."""
    for number in range(3):
        memory.record_tool_call("crm", "zqboom", True, call_id=str(number))
    (address,) = memory.loop.run().recommendations
    memory.loop.approve(address, because="fine")
    (first, *_) = memory.recall(type="tool")
    done = memory.forget(first.address, because="a request")
    assert done.recommendations == (address,)
    chain = memory.loop.audit(address)
    assert (chain.state, chain.verified, [entry.to_status for entry in chain.entries]) == ("erased", True, ["pending", "approved"])  # fmt: skip
    assert memory.loop.audit(address[:12]) == chain
    assert memory.loop.queue(None) == []
    assert memory.verify() == ()
    for decide in (memory.loop.apply, memory.loop.withdraw):
        with refused("LOP-E040"):
            decide(address, because="too late")
    with refused("LOP-E040"):
        memory.loop.audit("f" * 64)
    with refused("LOP-E040"):
        memory.loop.audit(first.address)


def test_a_refreshed_recommendation_goes_with_its_older_ones(memory: Memory, clock: Clock) -> None:
    """Each of them quotes the evidence."""
    one, two = memory.add_fact("acme", "likes", "zqtea"), memory.add_fact("acme", "likes", "ZQTEA")
    (older,) = memory.loop.run().recommendations
    clock.at += 1_000
    memory.add_fact("acme", "likes", "Zqtea")
    (newer,) = memory.loop.run().recommendations
    assert set(memory.forget(two, because="a request").recommendations) == {older, newer}
    assert memory.get(one) is not None
    clock.at += 1_000
    assert memory.loop.run().stored == 1


def test_a_grain_nobody_quotes_takes_nothing_with_it(memory: Memory) -> None:
    """Other recommendations stay as they are."""
    for number in range(3):
        memory.record_tool_call("crm", "boom", True, call_id=str(number))
    (address,) = memory.loop.run().recommendations
    other = memory.add_fact("bo", "likes", "tea")
    assert memory.forget(other, because="a request").recommendations == ()
    assert memory.loop.audit(address).state == "verified"


def test_an_applied_forget_erases_what_quotes_it(memory: Memory) -> None:
    """The recommendation that proposed it as well; its audit chain says that it was applied."""
    for number in range(3):
        memory.record_tool_call("crm", "zqboom", True, call_id=str(number))
    (first, *_) = memory.recall(type="tool")
    address = plant(memory.substrate, draft([Forget(first.address)], [first.address]))
    memory.loop.approve(address, because="expired")
    with refused("LOP-E023"):
        memory.loop.apply(address, because="without the flag")
    assert memory.get(first.address) is not None
    receipt = memory.loop.apply(address, because="expired", allow_destructive=True)
    assert receipt.to_status == "applied"
    assert memory.get(first.address) is None
    assert memory.get(address) is None
    chain = memory.loop.audit(address)
    assert chain.state == "erased"
    assert chain.entries[-1].to_status == "applied"
    assert memory.verify() == ()


def test_what_is_older_goes_oldest_first(memory: Memory) -> None:
    """By creation time, strictly before; one type, one namespace, at most so many; the audit says how old."""
    day = 86_400_000
    ages = {n: memory.add_fact("s", "r", str(n), created_at=NOW - n * day) for n in range(5)}
    event = memory.add("event", {"content": "old", "created_at": NOW - 9 * day})
    memory.add_fact("s", "r", "elsewhere", namespace="other", created_at=NOW - 9 * day)
    found = memory.older_than(NOW - 2 * day)
    assert [grain.address for grain in found] == [event, ages[4], ages[3]]
    done = memory.forget_older_than(NOW - 2 * day, because="retention", type="fact", limit=1)
    assert done.addresses == (ages[4],)
    audit = memory.get(done.audit)
    assert audit is not None
    assert audit.get("subject") == "older_than:2d ns:shared type:fact"
    assert len(memory.forget_older_than("2026-02-28", because="retention").addresses) == 2
    with refused("MEM-E001"):
        memory.forget_older_than(NOW - 2 * day, because="retention")
    for options, code in (({"namespace": "agent:authz"}, "VAL-E004"), ({"type": "poem"}, "VAL-E001")):
        with refused(code):
            memory.forget_older_than(NOW, because="retention", **options)  # type: ignore[arg-type]
    with refused("VAL-E002"):
        memory.forget_older_than("soon", because="retention")


def test_a_damaged_grain_can_be_forgotten_by_its_address(path: Path, clock: Clock) -> None:
    """Its bytes cannot be read, so they are erased unread."""
    with Memory.open(path, clock=clock) as memory:
        address = memory.add_fact("ada", "likes", "zqtea")
        memory.add_fact("bo", "likes", "figs")
    content = path.read_bytes()
    at = content.index(b"\xa1o\xa5zqtea")
    path.write_bytes(content[:at] + b"\xc1" * 8 + content[at + 8 :])
    with Memory.open(path, clock=clock) as memory:
        assert [fault.code for fault in memory.verify()] == ["FMT-E003"]
        memory.forget(address, because="damaged")
        assert memory.verify() == ()


def test_pages_that_a_reader_holds_are_told_and_cleared_by_verify(path: Path, clock: Clock) -> None:
    """D31: verify tries again and tells while it cannot."""
    with Memory.open(path, clock=clock, busy_ms=0) as memory, Memory.open(path) as reader:
        address = memory.add_fact("ada", "likes", "zqtea")
        with reader.store.snapshot():
            assert reader.store.get(address) is not None
            assert memory.forget(address, because="a request").pending
            assert [fault.code for fault in memory.verify()] == ["STO-E004"]
        assert memory.verify() == ()
        assert b"zqtea" not in bytes_on_disk(path)


def test_naming_takes_the_name_and_what_follows_a_separator() -> None:
    """A name ends where a character is no letter or digit, in any script."""

    def of(subject: str) -> list[str]:
        return naming(StoredGrain("", 1, "fact", "", 0, 0, True, None, False, {"subject": subject}), "pat")

    assert of("pat") == of("pat")
    for same in ("pat", "pat#1", "pat:x", "pat x", "pat-", "pat/…", "pat_1"):
        assert of(same) == [same]
    for other in ("pats", "pat1", "paté", "pat語", "Pat", "a pat"):
        assert of(other) == []


def test_a_subject_is_given_what_is_theirs(memory: Memory, path: Path, clock: Clock, tmp_path: Path) -> None:
    """The report as a bundle that another memory takes in, chains included; a file that lies there is left alone."""
    old = memory.add_fact("zqpat", "lives_in", "oslo")
    clock.at += 1
    new = memory.supersede(old, {"object": "rome"})
    memory.add_fact("bo", "likes", "tea")
    out = tmp_path / "theirs.mgb"
    written = memory.subject_bundle(out, "zqpat")
    assert written.rows == 3
    with Memory.open(tmp_path / "other.deja", clock=clock) as other:
        assert other.import_bundle(out).added == 2
        assert [grain.address for grain in other.history(new)] == [new, old]
        assert other.stats()["grains"] == 2
    with refused("STO-E011"):
        memory.subject_bundle(out, "zqpat")


def test_a_report_needs_no_more_than_read(path: Path, clock: Clock) -> None:
    """It writes nothing, so a reader may ask."""
    with Memory.open(path, clock=clock) as memory:
        memory.add_fact("zqpat", "likes", "tea")
    with Memory.open(path, read_only=True, scopes=("read",)) as reader:
        report = reader.subject_report("zqpat")
        assert isinstance(report, SubjectReport)
        assert len(report.grains) == 1


def test_a_learnt_relation_that_stays_in_the_settings_is_told(memory: Memory) -> None:
    """D31, ERA-5: approving a learnt relation writes its word into the settings and their log, which forgetting does not reach."""
    plain = memory.add_fact("acme", "likes", "tea")
    address = memory.add_fact("acme", " Sponsor", "somebody")
    memory.loop.configure(
        "contradiction_sweep", params={"extra_relations": "sponsor, timezone"}, because="one value each"
    )
    assert not [one for one in memory.forget(plain, because="a request").unreached if "relation" in one]
    told = [one for one in memory.forget(address, because="a request").unreached if "relation" in one]
    assert [one.split(" name")[0] for one in told] == ["settings of an analyzer", "the log of settings"]
    again = memory.add_fact("acme", "sponsor", "else")
    memory.loop.configure("contradiction_sweep", params={}, because="none")
    told = [one for one in memory.forget(again, because="a request").unreached if "relation" in one]
    assert [one.split(" name")[0] for one in told] == ["the log of settings"]
