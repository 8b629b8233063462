# SPDX-License-Identifier: Apache-2.0
"""Writing: content only, with a reason, all or nothing; never what the engine or the index writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from deja_tui.cal import CalError, Host, Session
from deja_tui.cal.writes import _NEVER
from deja_tui.errors import DejaError
from deja_tui.facade import Memory
from deja_tui.store.grains import StoredGrain
from tests.cal.corpus import NOW, Ticking, host_of

Told = Callable[..., dict[str, Any]]
FACT = 'SET subject = "a" SET relation = "b" SET object = "c"'


def refused(told: Told, text: str, params: Any = None, **more: Any) -> DejaError:
    with pytest.raises(DejaError) as caught:
        told(text, params, **more)
    return caught.value


def grain_of(memory: Memory, address: str) -> StoredGrain:
    found = memory.get(address)
    assert found is not None
    return found


# --- ADD --------------------------------------------------------------------------------------------


def test_a_new_grain_keeps_what_was_said_and_why(memory: Memory, told: Told) -> None:
    """WRITE-3: the reason lies with the grain."""
    text = f'ADD fact {FACT} SET confidence = 0.4 SET tags = ["x", "y"] SET valid_to = "2027-01-01" SET user_id = $u REASON "heard it"'
    grain = grain_of(memory, told(text, {"u": "u1"})["hash"])
    assert grain.namespace == "shared"
    assert grain.created_at >= NOW
    assert {name: grain.get(name) for name in ("confidence", "structural_tags", "user_id", "add_reason")} == {
        "confidence": 0.4,
        "structural_tags": ["x", "y"],
        "user_id": "u1",
        "add_reason": "heard it",
    }
    assert grain.get("valid_to") == 1_798_761_600_000


@pytest.mark.parametrize(
    ("type_", "settings"),
    [
        ("event", 'SET content = "hi" SET role = "user" SET session_id = "s"'),
        (
            "tool",
            'SET tool_name = "t" SET content = "rate limited" SET is_error = true SET session_id = "s" SET run_id = "r"',
        ),
        ("observation", 'SET content = "saw" SET observer_id = "o"'),
        ("goal", 'SET description = "win" SET goal_state = "active" SET progress = 0.5'),
        ("skill", 'SET name = "sew" SET description = "mend" SET domain = "cloth" SET when_to_use = "torn"'),
        ("reasoning", 'SET conclusion = "so" SET premises = ["a", "b"]'),
        ("consensus", 'SET agreed_content = "yes" SET threshold = 0.5 SET agreement_count = 2'),
        ("consent", 'SET subject_did = "did:a" SET grantee_did = "did:b" SET scope = "calendar"'),
        ("workflow", 'SET nodes = ["a", "b"] SET trigger = "merge" SET name = "ship"'),
        ("state", 'SET plan = ["a", "b"]'),
        ("fact", FACT + ' SET namespace = "elsewhere"'),
    ],
)
def test_every_type_can_be_added_with_its_content(
    type_: str, settings: str, memory: Memory, told: Told
) -> None:
    """The fields the starter templates need, on every type."""
    grain = grain_of(memory, told(f'ADD {type_} {settings} REASON "r"')["hash"])
    assert grain.type == type_
    assert grain.namespace == ("elsewhere" if "elsewhere" in settings else "shared")


@pytest.mark.parametrize("field", sorted(_NEVER | {"colour", "rec_status", "system_valid_to", "dedup_key"}))
def test_index_and_lifecycle_fields_are_refused(field: str, memory: Memory, told: Told) -> None:
    """WRITE-1: neither ADD nor SUPERSEDE can forge what the engine or the index writes."""
    old = memory.add_fact("a", "b", "c")
    before = memory.store.change_token()
    assert refused(told, f'ADD fact {FACT} SET {field} = "x" REASON "r"').code == "CAL-E017"
    assert refused(told, f'SUPERSEDE sha256:{old} SET {field} = "x" REASON "r"').code == "CAL-E017"
    assert memory.store.change_token() == before


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"ADD fact {FACT}", "CAL-E018"),
        (f'ADD fact {FACT} REASON "  "', "CAL-E018"),
        (f'ADD fact {FACT} REASON "\u200b"', "CAL-E018"),
        (f'ADD fact {FACT} REASON "{"r" * 501}"', "CAL-E016"),
        ('ADD fact REASON "r"', "CAL-E019"),
        ('ADD fact SET subject = "a" REASON "r"', "VAL-E001"),
        (f'ADD fact {FACT} SET confidence = 1.5 REASON "r"', "VAL-E001"),
        (f'ADD fact {FACT} SET object = 42 REASON "r"', "CAL-E020"),
        (f'ADD fact {FACT} SET valid_to = "soon" REASON "r"', "VAL-E002"),
        (f'ADD fact {FACT} SET namespace = "deja-loop" REASON "r"', "VAL-E004"),
        (f'ADD fact {FACT} SET namespace = "loop" REASON "r"', "VAL-E004"),
        ('ADD observation SET content = "x" SET namespace = "agent:authz" REASON "r"', "VAL-E004"),
        ('ADD goal SET description = "x" SET goal_state = "completed" REASON "r"', "VAL-E001"),
        (f"ADD fact {FACT} REASON $why", "CAL-E008"),
    ],
)
def test_a_refused_add_leaves_nothing(text: str, code: str, memory: Memory, told: Told) -> None:
    """Errors with a code, before anything is kept."""
    before = memory.store.change_token()
    assert refused(told, text).code == code
    assert memory.store.change_token() == before


def test_a_reason_of_500_characters_is_taken_whatever_their_bytes(told: Told) -> None:
    """D16 counts code points."""
    told(f'ADD fact {FACT} REASON "{"é" * 500}"')


def test_the_same_words_twice_in_one_millisecond_are_two_grains(
    memory: Memory, told: Told, clock: Ticking
) -> None:
    """Saying it again is another event."""
    text = f'ADD fact {FACT} REASON "r"'
    clock.now -= 1
    first = told(text)["hash"]
    clock.now -= 1
    assert told(text)["hash"] != first
    assert told("RECALL facts COUNT")["count"] == 2


# --- SUPERSEDE, retire, merge -----------------------------------------------------------------------


def test_a_new_version_keeps_the_rest_and_carries_the_time_of_the_write(memory: Memory, told: Told) -> None:
    """Linked, dated, reasoned."""
    old = memory.add_fact("a", "b", "c", 0.7, created_at=5_000, user_id="u1")
    done = told(f'SUPERSEDE sha256:{old} SET object = "d" SET tags = ["t"] REASON "moved"')
    new = grain_of(memory, done["new_hash"])
    assert done["old_hash"] == old
    assert new.created_at >= NOW
    assert (new.get("object"), new.get("confidence"), new.get("user_id")) == ("d", 0.7, "u1")
    assert (new.parents(), new.get("supersede_reason")) == ((old,), "moved")
    assert grain_of(memory, old).superseded_by == new.address


@pytest.mark.parametrize("field", ["subject", "relation", "namespace", "user_id", "session_id"])
def test_a_new_version_is_about_the_same_thing(field: str, memory: Memory, told: Told) -> None:
    """WRITE-2: what would move a chain to another key is refused."""
    old = memory.add_fact("a", "b", "c")
    assert refused(told, f'SUPERSEDE sha256:{old} SET {field} = "x" REASON "r"').code == "CAL-E017"


def test_only_a_head_is_superseded(memory: Memory, told: Told) -> None:
    """The loser of a race is told."""
    old = memory.add_fact("a", "b", "c")
    told(f'SUPERSEDE sha256:{old} SET object = "d" REASON "r"')
    assert refused(told, f'SUPERSEDE sha256:{old} SET object = "e" REASON "r"').code == "MEM-E002"
    assert refused(told, f'SUPERSEDE sha256:{"0" * 64} SET object = "e" REASON "r"').code == "MEM-E001"


def test_supersede_by_gives_way_to_a_live_grain_of_the_same_key(memory: Memory, told: Told) -> None:
    """D9: the one addition to the language; both stay, one is live."""
    gone, kept = memory.add_fact("a", "b", "c"), memory.add_fact("a", "b", "c", 0.5)
    other = memory.add_fact("a", "x", "c")
    text = f'SUPERSEDE sha256:{gone} BY sha256:{kept} REASON "the same"'
    assert refused(told, f'SUPERSEDE sha256:{gone} BY sha256:{other} REASON "r"').code == "VAL-E001"
    assert refused(told, f'SUPERSEDE sha256:{gone} BY sha256:{gone} REASON "r"').code == "VAL-E001"
    assert refused(told, f"SUPERSEDE sha256:{gone} BY sha256:{kept}").code == "CAL-E018"
    assert told(text) == {"type": "retired", "old_hash": gone, "by_hash": kept}
    assert grain_of(memory, gone).superseded_by == kept
    assert refused(told, text).code == "MEM-E002"


# --- several ----------------------------------------------------------------------------------------


def test_a_batch_is_one_transaction_that_names_the_entry_that_failed(memory: Memory, told: Told) -> None:
    """D42, EXEC-2: nothing of it stays, and the reader knows which one it was."""
    before = memory.store.change_token()
    text = f'BATCH {{ one: ADD fact {FACT} REASON "r" ; two: ADD fact SET subject = "a" REASON "r" ; RECALL facts }}'
    error = refused(told, text)
    assert error.code == "VAL-E001"
    assert "entry 2 (two)" in str(error)
    assert memory.store.change_token() == before
    assert told("RECALL facts")["grains"] == []


def test_a_batch_is_keyed_by_label_and_each_entry_sees_those_before_it(memory: Memory, told: Told) -> None:
    """Labels where given, positions elsewhere; one act in the log."""
    before = memory.store.change_token()
    done = told(f'BATCH {{ one: ADD fact {FACT} REASON "r" ; EXISTS facts ; n: RECALL facts COUNT }}')[
        "results"
    ]
    assert list(done) == ["one", "1", "n"]
    assert done["1"]["exists"] is True
    assert done["n"]["count"] == 1
    assert memory.store.change_token() == before + 1


def test_a_batch_in_a_batch_is_in_the_same_transaction(memory: Memory, told: Told) -> None:
    """The error names both entries."""
    text = f'BATCH {{ BATCH {{ ADD fact {FACT} REASON "r" ; RECALL * }} ; RECALL facts }}'
    error = refused(told, text)
    assert error.code == "CAL-E092"
    assert "entry 1 of the batch: entry 2 of the batch" in str(error)
    assert told("RECALL facts")["grains"] == []


def test_a_batch_can_erase_and_takes_that_back_too(memory: Memory, told: Told) -> None:
    """Erasure inside a failed batch never happened."""
    address = memory.add_fact("a", "b", "c")
    text = f'BATCH {{ FORGET sha256:{address} REASON "r" ; RECALL * }}'
    assert refused(told, text, allow_destructive=True).code == "CAL-E092"
    assert grain_of(memory, address).live


def test_a_script_is_one_transaction_that_names_the_statement_that_failed(
    memory: Memory, session: Session
) -> None:
    """D42: a list of statements, kept together or not at all."""
    good = f'ADD fact {FACT} REASON "r";\n-- a note\nRECALL facts COUNT;'
    assert [result.kind for result in session.script(good)] == ["added", "count"]
    before = memory.store.change_token()
    with pytest.raises(CalError) as caught:
        session.script(good + '\nADD fact SET subject = "a" REASON "r";')
    assert "statement 3" in str(caught.value)
    assert memory.store.change_token() == before


def test_a_script_holds_no_decision_and_no_write_where_only_reads_run(session: Session) -> None:
    """D15 and the read-only switch hold for every statement of it."""
    with pytest.raises(CalError) as caught:
        session.script(f'RECALL facts; APPROVE sha256:{"a" * 64} BECAUSE "r"')
    assert caught.value.code == "CAL-E002"
    with pytest.raises(CalError) as caught:
        session.script(f'RECALL facts; ADD fact {FACT} REASON "r"', read_only=True)
    assert caught.value.code == "CAL-E044"


def test_a_script_may_hold_documents_and_analyzer_rows(memory: Memory, session: Session) -> None:
    """D42: further literal lines, of scripts only, in the same transaction."""
    script = f'DOCUMENT "/memories/notes.md" AS "first\\nsecond";\nADD fact {FACT} REASON "r";'
    done = session.script(script)
    assert [result.kind for result in done] == ["document_created", "added"]
    assert memory.docs.view("/memories/notes.md").text == "first\nsecond"
    with pytest.raises(DejaError) as caught:
        session.script(script.replace("notes", "other") + 'ADD fact SET subject = "a" REASON "r"')
    assert caught.value.code == "VAL-E001"
    with pytest.raises(DejaError):
        memory.docs.view("/memories/other.md")
    row = 'ANALYZER "loop.tool_failure/1" SET min_count = 5 SET enabled = true BECAUSE "too early";'
    for text in (script.split(";")[0], row, f"BATCH {{ {row} }}"):
        with pytest.raises(CalError) as refusal:
            session.run(text)
        assert refusal.value.code == "CAL-E002"


def test_an_analyzer_row_goes_to_the_log_of_settings(memory: Memory, session: Session) -> None:
    """D17: it needs admin and a reason, is taken back with its script, and a value that does not fit is refused."""
    row = (
        'ANALYZER "loop.tool_failure/1" SET min_count = 5 SET severity_floor = "medium" BECAUSE "too early";'
    )
    assert session.script(row)[0].as_json() == {"type": "analyzer_set", "name": "loop.tool_failure/1"}
    settled = memory.loop.why("tool_failure").settled
    assert settled is not None
    assert (settled.params["min_count"], settled.severity_floor) == (5, "medium")
    assert {change.because for change in memory.loop.config_log()} == {"too early"}
    before = memory.loop.config_log()
    for bad, code in (
        (row.replace(' BECAUSE "too early"', ""), "CAL-E018"),
        (row.replace("min_count = 5", "min_count = 0"), "LOP-E031"),
        (row.replace("tool_failure", "nobody"), "LOP-E033"),
        (row.replace("= 5", "= 7") + 'ADD fact SET subject = "a" REASON "r";', "VAL-E001"),
    ):
        with pytest.raises(DejaError) as caught:
            session.script(bad)
        assert caught.value.code == code
    assert memory.loop.config_log() == before
    weak = replace(host_of(memory), may=lambda right: right in ("read", "write"))
    with pytest.raises(DejaError) as caught:
        Session(weak).script(row)
    assert caught.value.code == "CAL-E114"
    with pytest.raises(CalError) as refusal:
        Session(Host(memory.store, memory.namespace, memory.clock)).script(row)
    assert refusal.value.code == "CAL-E130"


# --- erasing ----------------------------------------------------------------------------------------


def test_forget_goes_through_the_host_and_leaves_its_audit(memory: Memory, told: Told) -> None:
    """WRITE-4: who erased what and why is kept where plain writes cannot reach."""
    address = memory.add_fact("a", "b", "secret thing")
    assert refused(told, f"FORGET sha256:{address}", allow_destructive=True).code == "CAL-E018"
    done = told(f'FORGET sha256:{address} BECAUSE "asked to"', allow_destructive=True)
    assert done == {"type": "forgotten", "target": f"hash:{address}", "count": 1}
    assert told(f"EXISTS sha256:{address}")["exists"] is False
    assert told('RECALL facts ABOUT "secret"')["grains"] == []
    (audit,) = told('RECALL observations WHERE namespace = "agent:authz"')["grains"]
    assert audit["fields"]["context"]["because"] == "asked to"


def test_nothing_reserved_can_be_erased_or_superseded(memory: Memory, told: Told) -> None:
    """D7: not even with every right and the flag."""
    address = memory.add_fact("a", "b", "c")
    told(f'FORGET sha256:{address} BECAUSE "asked to"', allow_destructive=True)
    (audit,) = told('RECALL observations WHERE namespace = "agent:authz"')["grains"]
    text = f'FORGET sha256:{audit["hash"]} BECAUSE "r"'
    assert refused(told, text, allow_destructive=True).code == "VAL-E004"
    text = f'SUPERSEDE sha256:{audit["hash"]} SET confidence = 0.5 BECAUSE "r"'
    assert refused(told, text).code == "VAL-E004"


def test_forget_subject_takes_every_version_and_type_as_one_act(memory: Memory, told: Told) -> None:
    """Events, goals and facts that name it as object; keys under it; nothing of anybody else."""
    first = memory.add_fact("ana", "likes", "tea")
    memory.supersede(first, {"object": "rum"})
    memory.add("event", {"content": "hello", "subject": "ana"})
    memory.add("goal", {"description": "win", "subject": "ana#2"})
    memory.add_fact("bob", "knows", "ana")
    other = memory.add_fact("anabel", "likes", "tea")
    before = memory.store.change_token()
    done = told('FORGET SUBJECT "ana" BECAUSE "asked"', allow_destructive=True)
    assert done == {"type": "forgotten", "target": "subject:ana", "count": 5}
    assert memory.store.change_token() == before + 1
    assert [row["hash"] for row in told("RECALL facts WITH superseded")["grains"]] == [other]


# --- drafts -----------------------------------------------------------------------------------------


def test_a_draft_is_handed_to_the_host_and_its_lifecycle_is_not_its_own(memory: Memory) -> None:
    """D21: target, evidence and operations go in; engine-stamped fields are refused."""
    seen: list[dict[str, Any]] = []

    def propose(
        *,
        target: str,
        note: str,
        evidence: Sequence[str],
        severity: str,
        operations: Sequence[Mapping[str, Any]] | None,
        edit: Mapping[str, Any] | None,
        data: Mapping[str, Any] | None,
    ) -> str:
        seen.append(
            {
                "target": target,
                "note": note,
                "evidence": evidence,
                "severity": severity,
                "operations": operations,
            }
        )
        return "f" * 64

    base = host_of(memory)
    host = Host(base.store, base.namespace, base.clock, propose=propose)
    told = lambda text: Session(host).run(text).as_json()  # noqa: E731
    cited = memory.add_fact("a", "b", "c")
    operation = json.dumps({"op": "forget", "target": cited}).replace('"', '\\"')
    text = f'ADD recommendation SET target_ref = "memory:shared/a" SET evidence = ["sha256:{cited}"] SET operations = ["{operation}"]'
    assert told(f'{text} SET severity = "medium" REASON "why"') == {
        "type": "added",
        "hash": "f" * 64,
        "grain_type": "recommendation",
    }
    assert seen[0]["evidence"] == [cited]
    assert seen[0]["operations"] == [{"op": "forget", "target": cited}]
    assert seen[0]["note"] == "why"
    for field in ("status", "rec_status", "dedup_key", "analyzer", "origin", "created_at"):
        with pytest.raises(CalError) as caught:
            told(f'{text} SET {field} = "x" REASON "why"')
        assert caught.value.code == "CAL-E017"
    for missing in ('SET target_ref = "memory:x"', f'SET evidence = ["{cited}"]', 'SET note = "x"'):
        with pytest.raises(DejaError) as refusal:
            told(f'ADD recommendation {missing} REASON "why"')
        assert refusal.value.code == "VAL-E001"
    assert len(seen) == 1


def test_a_draft_is_pending_until_somebody_else_decides(memory: Memory, told: Told) -> None:
    """D21: through the engine, stamped by it, with live evidence; its author cannot approve it (D14)."""
    kept, twin = memory.add_fact("acme", "tier", "gold"), memory.add_fact("acme", "tier", "gold ")
    operation = json.dumps({"op": "retire", "target": twin, "by": kept}).replace('"', '\\"')
    text = (
        f'ADD recommendation SET target_ref = "entity:shared/acme#tier" SET evidence = ["sha256:{twin}", "{kept}"]'
        f' SET operations = ["{operation}"] SET severity = "medium" REASON "the same said twice"'
    )
    done = told(text)
    (row,) = memory.loop.queue()
    assert (done["grain_type"], row.address, row.severity) == ("recommendation", done["hash"], "medium")
    (shown,) = told("RECALL recommendations")["grains"]
    assert shown["hash"] == done["hash"]
    assert shown["fields"]["rec_status"] == "pending"
    for bad, code in (
        (text, "LOP-E028"),  # the same is open
        (text.replace("medium", "high").replace("acme#", "other#"), "LOP-E011"),
        (text.replace(f'"sha256:{twin}", "{kept}"', f'"{"f" * 64}"'), "MEM-E001"),
        (text.replace("entity:shared/acme#tier", "nowhere:x"), "LOP-E010"),
    ):
        with pytest.raises(DejaError) as caught:
            told(bad)
        assert caught.value.code == code, bad
    with pytest.raises(DejaError) as caught:
        told(f'APPROVE sha256:{done["hash"]} BECAUSE "mine"')
    assert caught.value.code == "LOP-E021"
    assert len(memory.loop.queue()) == 1
