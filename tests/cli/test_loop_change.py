# SPDX-License-Identifier: Apache-2.0
"""``deja loop propose``, ``approve --choice``, ``mark-applied`` and ``diff`` as a person and a program use them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from deja_tui import Memory
from tests.cli.conftest import Deja
from tests.support import DAY, NOW

OPERATION = {
    "op": "supersede",
    "type": "fact",
    "namespace": "shared",
    "fields": {"subject": "acme", "relation": "tier", "object": "silver"},
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.deja"


@pytest.fixture
def seen(path: Path) -> str:
    """A memory with one fact and a document; the fact's address."""
    with Memory.open(path, clock=lambda: NOW) as memory:
        memory.docs.create("/memories/agents.md", "Be kind.\n")
        return memory.add_fact("acme", "tier", "gold")


def proposed(deja: Deja, path: Path, seen: str, *more: str, target: str = "entity:shared/acme#tier") -> str:
    done = deja(
        "loop", "propose", "--db", path, "--actor", "user:bob", "--target", target, "--note", "seen twice",
        "--evidence", seen[:12], "--format", "json", *more,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["status"] == "pending"
    return str(done.json["address"])


def operation(seen: str) -> str:
    return json.dumps({**OPERATION, "target": seen})


def decide(deja: Deja, path: Path, verb: str, address: str, *more: str) -> Any:
    done = deja(
        "loop",
        verb,
        address[:12],
        "--db",
        path,
        "--actor",
        "user:ana",
        "--because",
        f"{verb} it",
        "--format",
        "json",
        *more,
    )
    assert done.code == 0, done.err
    assert done.json["chain_verified"] is True
    return done.json


def test_a_draft_from_the_line_to_the_undo(deja: Deja, path: Path, seen: str) -> None:
    """D21: proposed by one, approved by another; `show` tells whose it is, `diff` what it changes."""
    address = proposed(deja, path, seen, "--op", operation(seen))
    shown = deja("loop", "show", address, "--db", path).out
    assert "draft: «seen twice»" in shown
    assert "proposed     user:bob" in shown
    assert "+ fact acme · tier · «silver»" in shown
    own = deja("loop", "approve", address, "--db", path, "--actor", "user:bob", "--because", "mine")
    assert (own.code, "LOP-E021" in own.err) == (1, True)
    before = deja("loop", "diff", address, "--db", path).out
    assert "- fact acme · tier · «gold»" in before
    assert "+ fact acme · tier · «silver»  new" in before
    decide(deja, path, "approve", address)
    decide(deja, path, "apply", address)
    told = deja("loop", "diff", address, "--db", path, "--format", "json").json
    assert told["applied"] is True
    (key,) = told["recall"]
    assert [[one["fields"]["object"] for one in key[side]] for side in ("before", "after")] == [
        ["gold"],
        ["silver"],
    ]
    decide(deja, path, "rollback", address)
    assert "same before and after" in deja("loop", "diff", address, "--db", path).out


def test_propose_says_what_to_do_next(deja: Deja, path: Path, seen: str) -> None:
    """The address, and the verb that shows it."""
    done = deja(
        "loop", "propose", "--db", path, "--target", "host:cron", "--note", "n", "--evidence", seen, "--data", '{"run": "daily"}'
    )  # fmt: skip
    assert done.out.startswith("proposed ")
    assert "next: deja loop show " in done.out


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (("--op", "nonsense"), 64),
        (("--op", "[1]"), 64),
        (("--data", "7"), 64),
        (("--body", "RECALL facts", "--edit", "{}"), 64),
        (("--severity", "high"), 64),
        ((), 1),
        (("--op", '{"op": "purge"}'), 1),
        (("--data", "{}"), 1),
    ],
)
def test_a_malformed_draft_is_told(
    deja: Deja, path: Path, seen: str, more: tuple[str, ...], code: int
) -> None:
    """JSON that is none is a usage error; a draft that cannot be stored a coded one. Nothing is filed."""
    done = deja(
        "loop", "propose", "--db", path, "--target", "entity:a/b", "--note", "n", "--evidence", seen, *more
    )
    assert done.code == code, done.err
    assert deja("loop", "list", "--db", path, "--format", "json").json["recommendations"] == []


def test_a_document_and_a_query_are_edited_by_their_text(
    deja: Deja, path: Path, seen: str, tmp_path: Path
) -> None:
    """D27: the change is shown line by line; apply and undo change what the other verbs show."""
    text = tmp_path / "new.md"
    text.write_text("Be kind.\nCheck the address.\n")
    address = proposed(deja, path, seen, "--text", str(text), target="doc:agents.md")
    shown = deja("loop", "show", address, "--db", path).out
    assert "~ document /memories/agents.md in shared" in shown
    assert "+ «Check the address.»" in shown
    decide(deja, path, "approve", address)
    decide(deja, path, "apply", address)
    assert "Check the address." in deja("doc", "view", "/memories/agents.md", "--db", path).out
    decide(deja, path, "rollback", address)
    assert "Check the address." not in deja("doc", "view", "/memories/agents.md", "--db", path).out
    address = proposed(deja, path, seen, "--body", "RECALL facts", target="query:open")
    assert "~ query open is new" in deja("loop", "show", address, "--db", path).out
    assert "+ «RECALL facts»" in deja("loop", "diff", address, "--db", path).out
    text.write_bytes(b"\xff")
    bad = deja(
        "loop", "propose", "--db", path, "--target", "doc:agents.md", "--note", "n", "--evidence", seen, "--text", text
    )  # fmt: skip
    assert (bad.code, "VAL-E001" in bad.err) == (1, True)


def test_what_the_host_did_is_marked(deja: Deja, path: Path, seen: str) -> None:
    """D27: apply says that it lies outside and names the verb; the trail says that it was marked."""
    address = proposed(deja, path, seen, "--data", '{"run": "daily at 3"}', target="host:cron/retention")
    assert "lies outside this memory" in deja("loop", "show", address, "--db", path).out
    decide(deja, path, "approve", address)
    refused = deja("loop", "apply", address, "--db", path, "--because", "apply it")
    assert (refused.code, "LOP-E027" in refused.err, "mark-applied" in refused.err) == (1, True, True)
    assert decide(deja, path, "mark-applied", address)["to_status"] == "applied"
    assert "marked done" in deja("loop", "show", address, "--db", path).out
    assert deja("loop", "mark-applied", address, "--db", path).code == 64


@pytest.fixture
def conflict(path: Path) -> str:
    """A contradiction with a choice of the value that stays."""
    with Memory.open(path, clock=lambda: NOW) as memory:
        for number, value in enumerate(("gold", "silver")):
            fields = {
                "subject": "acme",
                "relation": "status",
                "object": value,
                "created_at": NOW - number * DAY,
            }
            memory.add("fact", fields)
        memory.loop.run()
        return next(r.address for r in memory.loop.queue() if r.analyzer.startswith("loop.contradiction"))


def value(path: Path) -> str:
    with Memory.open(path, read_only=True) as memory:
        (one,) = memory.recall("acme", "status")
    return str(one.get("object"))


@pytest.mark.parametrize("choice", [0, 1])
def test_an_approval_chooses_by_number(deja: Deja, path: Path, conflict: str, choice: int) -> None:
    """D20: `show` numbers the alternatives, `--choice` approves one, apply carries out that one."""
    shown = deja("loop", "show", conflict, "--db", path).out
    told = deja("loop", "show", conflict, "--db", path, "--format", "json").json
    assert len(told["alternatives"]) >= 2
    for number, one in enumerate(told["alternatives"]):
        assert f"{number} «{one['label']}»" in shown
    assert "without one it is of 0" in shown
    assert deja("loop", "approve", conflict, "--db", path, "--choice", "9", "--because", "x").code == 1
    decide(deja, path, "approve", conflict, "--choice", str(choice))
    assert deja("loop", "show", conflict, "--db", path, "--format", "json").json["choice"] == choice
    assert "approved" in deja("loop", "show", conflict, "--db", path).out
    decide(deja, path, "apply", conflict)
    assert value(path) == ("gold", "silver")[choice]


def test_the_line_walker_takes_a_number(
    deja: Deja, path: Path, conflict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D20: a number at the choice approves that alternative; one that is not there decides nothing."""
    typed = ["7", "1", "the older one is right", "p", "as I said"]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(line + "\n" for line in typed)))
    done = deja("review", "--db", path, "--actor", "user:ana")
    assert "approve that alternative" in done.out
    assert "APPROVE 1 BECAUSE>" in done.out
    assert "APPLIED" in done.out
    assert value(path) == "silver"


def test_hostile_drafts_act_on_no_terminal(deja: Deja, path: Path, seen: str) -> None:
    """Design §7: note, data, labels, bodies and diffs are cleaned and fenced on every line of every verb."""
    evil = "\x1b]0;x\x07[@click=app.quit]«»\u202e\nAPPROVED by user:ana"
    with Memory.open(path, actor="agent:x", clock=lambda: NOW) as memory:
        given: dict[str, Any] = {"note": evil, "evidence": [seen]}
        addresses = [
            memory.loop.propose(target="entity:a/" + evil[:20], data={evil: evil}, **given),
            memory.loop.propose(
                target="query:open",
                edit={"body": "RECALL facts -- " + evil.replace("\u202e", "").replace("\n", " ")},
                **given,
            ),
        ]
    with Memory.open(path, actor="user:bob", clock=lambda: NOW) as memory:
        addresses.append(memory.loop.propose(target="doc:agents.md", edit={"text": evil}, **given))
    for address in addresses:
        for verb in ("show", "diff"):
            out = deja("loop", verb, address, "--db", path).out
            assert not {"\x1b", "\x07", "\u202e"} & set(out)
            assert not any(line.startswith("APPROVED") for line in out.splitlines())
    assert not {"\x1b", "\x07", "\u202e"} & set(deja("loop", "list", "--db", path).out)
