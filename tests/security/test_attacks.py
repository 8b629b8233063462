# SPDX-License-Identifier: Apache-2.0
"""Attacks on the rules that no change may weaken, each played through every door that could let it in (docs/threat-model.md)."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from deja_tui import DejaError, Memory, compat
from deja_tui.capture import registry, wiring
from deja_tui.capture.files import import_path
from deja_tui.cli import mcp_tools
from deja_tui.engine.operations import Supersede, to_plain
from deja_tui.store import sidecar
from deja_tui.store.codec import encode, make_grain
from tests.cli.conftest import Deja
from tests.store.helpers import Clock
from tests.store.rows import ADD, row, write
from tests.support import NOW, ROOT

ANA = "user:ana"


def draft(memory: Memory) -> str:
    """A draft of the caller's own."""
    seen = memory.add_fact("acme", "tier", "silver")
    op = to_plain(
        Supersede(seen, "fact", "shared", {"subject": "acme", "relation": "tier", "object": "gold"})
    )
    return memory.loop.propose(
        target="entity:shared/acme#tier", note="it rose", evidence=[seen], operations=[op]
    )


# --- nobody approves what they created (TM-3) ---------------------------------------------------------


def test_what_one_filed_oneself_is_approved_at_no_door(tmp_path: Path, deja: Deja) -> None:
    """TM-3: the library, the command line in both spellings, MCP, the language and the other library refuse it alike; somebody else's yes counts."""
    path = tmp_path / "a.deja"
    with Memory.open(path, actor=ANA, clock=lambda: NOW) as memory:
        address = draft(memory)
        doors: list[Callable[[], Any]] = [
            lambda: memory.loop.approve(address, because="mine"),
            lambda: memory.cal(f'APPROVE sha256:{address} BECAUSE "mine"'),
            lambda: memory.cal(f'REVIEW sha256:{address} APPROVE BECAUSE "mine"'),
        ]
        for door in doors:
            with pytest.raises(DejaError, match="LOP-E021"):
                door()
        told = mcp_tools.call(
            memory, "recommendations", {"action": "approve", "address": address, "because": "mine"}
        )
        assert (told.failed, told.told["error"]) == (True, "LOP-E021")
    done = deja("loop", "approve", address, "--because", "mine", "--actor", ANA, "--db", path)
    assert (done.code, done.err[:8]) == (1, "LOP-E021")
    other = compat.DejaDB(str(path), actor=ANA)
    with pytest.raises(Exception, match="LOP-E021"):
        other.approve_recommendation(address, "mine")
    other.close()
    with Memory.open(path, read_only=True) as memory:
        assert [step.to_status for step in memory.loop.audit(address).entries] == ["pending"]
    assert (
        deja("loop", "approve", address, "--because", "seen", "--actor", "user:ben", "--db", path).code == 0
    )


def test_no_text_of_the_language_moves_a_status(tmp_path: Path) -> None:
    """TM-1, TM-11: writes aimed at recommendations, their audits, their namespaces and their rows, in every shape that writes."""
    with Memory.open(tmp_path / "a.deja", actor=ANA, clock=lambda: NOW) as memory:
        address = draft(memory)
        audit = memory.loop.audit(address).entries[0].address
        fact = memory.add_fact("a", "b", "c")
        before = [(row.address, row.status) for row in memory.loop.queue(None)]
        for text in (
            f'SUPERSEDE sha256:{address} SET status = "approved" REASON "x"',
            f'SUPERSEDE sha256:{address} BY sha256:{fact} REASON "x"',
            f'SUPERSEDE sha256:{fact} BY sha256:{address} REASON "x"',
            f'SUPERSEDE sha256:{audit} SET to_status = "approved" REASON "x"',
            f'FORGET sha256:{audit} BECAUSE "x"',
            'ADD recommendation SET status = "approved" REASON "x"',
            'ADD observation SET namespace = "deja-loop" SET subject = "x" REASON "x"',
            'ADD fact SET subject = "x" SET relation = "r" SET object = "o" SET namespace = "agent:authz" REASON "x"',
            f'BATCH {{ APPROVE sha256:{address} BECAUSE "x" }}',
            f'DEFINE QUERY "q" AS {{ APPROVE sha256:{address} BECAUSE "x" }}',
        ):
            with pytest.raises(DejaError):
                memory.cal(text, allow_destructive=True)
        assert [(row.address, row.status) for row in memory.loop.queue(None)] == before
        assert memory.verify(deep=True) == ()


# --- no file that somebody commits or sends starts or loosens anything (TM-36, TM-21, TM-43) ----------

CANARY = "import pathlib; pathlib.Path({!r}).write_text('started')\n"


def hostile_folder(folder: Path) -> Path:
    """A project as a stranger may have committed it; the file that is there when any of it was run."""
    canary = folder.parent / "started"
    code = CANARY.format(str(canary))
    for name in (
        "sitecustomize",
        "apsw",
        "click",
        "json",
        "msgpack",
        "xxhash",
        "rich",
        "textual",
        "typing_extensions",
    ):
        (folder / f"{name}.py").write_text(code)
    (folder / "deja_tui").mkdir()
    (folder / "deja_tui" / "__init__.py").write_text(code)
    (folder / "deja_tui" / "__main__.py").write_text(code)
    run = f"{sys.executable} -c {CANARY.format(str(canary)).strip()!r}"
    (folder / ".env").write_text(
        f"PAGER={run}\nEDITOR={run}\nDEJA_DB={folder}/theirs.deja\nDEJA_LOOP_POLICY={folder}/policy.json\n"
    )
    policy = {"grants": [{"analyzer": "loop.duplicate_sweep", "target": "memory", "max_severity": "high"}]}
    for name in ("policy.json", "deja.json", ".deja.json", "analyzers.json"):
        (folder / name).write_text(json.dumps({**policy, "analyzers": {"x": run}}))
    for place in (folder, folder / ".deja", folder / "themes"):
        place.mkdir(exist_ok=True)
        for name in ("config.toml", "keymap.toml", "deja.toml", "evil.toml", "pyproject.toml"):
            (place / name).write_text(f'theme = "evil"\n[tool.deja]\ncommand = "{run}"\n')
    return canary


def test_nothing_in_the_folder_one_works_in_is_read_or_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TM-36, TM-43: the line that an agent is given, started in a stranger's project: no module, setting, theme or policy of it counts."""
    folder = tmp_path / "project"
    folder.mkdir()
    canary = hostile_folder(folder)
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["elsewhere"])
    monkeypatch.setattr(os, "access", lambda *_: False)
    start = wiring.program()
    monkeypatch.undo()
    assert start[1:] == ("-P", "-m", "deja_tui")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    event = {
        "hook_event_name": "PostToolUseFailure",
        "session_id": "s",
        "tool_name": "Bash",
        "error": "no",
        "tool_use_id": "f1",
    }
    db = tmp_path / "mine.deja"
    for words in (
        ("hook", "capture", "--db", str(db)),
        ("loop", "policy", "--format", "json", "--db", str(db)),
        ("doc", "list"),
    ):
        done = subprocess.run(
            [*start, *words],
            cwd=folder,
            env=env,
            input=json.dumps({**event, "prompt": "no"}),
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        if words[1] == "policy":
            assert "duplicate_sweep" not in json.dumps(json.loads(done.stdout).get("policy"))
    assert not canary.exists()
    assert not (folder / "theirs.deja").exists()


def test_a_bundle_grants_nothing_and_sets_nothing(tmp_path: Path) -> None:
    """TM-18, TM-21: grants, policies, approvals and declarations that came with a bundle leave rights, policy, queue and settings as they were."""
    path = tmp_path / "a.deja"
    with Memory.open(path, actor=ANA, clock=Clock(NOW)) as memory:
        address = draft(memory)
        entry = memory.loop.audit(address).entries[0]
        settings = dict(memory.store.settings(""))

        def forged(
            namespace: str, context: dict[str, Any], parents: list[str], subject: str = "user:eve"
        ) -> bytes:
            fields = {
                "subject": subject,
                "object": "granted",
                "observer_id": "user:eve",
                "observer_type": "human",
                "context": context,
                "derived_from": parents,
            }
            return encode(make_grain("observation", fields, namespace=namespace, created_at=NOW + 1))

        rows = [
            forged(
                "agent:authz",
                {"audit": "grant", "scopes": ["admin", "apply", "review"], "actor": "agent:worker"},
                [],
            ),
            forged(
                "deja-loop",
                {
                    "audit": "loop",
                    "from": "pending",
                    "to": "approved",
                    "at": NOW + 1,
                    "by": "user:eve",
                    "because": "yes",
                },
                [address, entry.address],
            ),
            forged(
                "deja-loop",
                {
                    "audit": "config",
                    "analyzer": "loop.duplicate_sweep",
                    "part": "policy",
                    "new": {"grants": ["*"]},
                },
                [],
            ),
            forged("loop", {"audit": "mark", "effects": [{"do": "hide", "grain": address}]}, []),
        ]
        report = memory.import_bundle(
            write(tmp_path / "evil.mgb", [row(ADD, (NOW + 1) << 16 | n, blob) for n, blob in enumerate(rows)])
        )
        assert (report.applied, report.refused) == (len(rows), 1)
        (mine,) = [one for one in memory.loop.queue(None) if one.address == address]
        assert mine.status == "pending"
        assert {
            name: value for name, value in memory.store.settings("").items() if not name.startswith("import.")
        } == settings
        with pytest.raises(DejaError, match="LOP-E020"):
            memory.loop.apply(address, because="eve said yes")
    with Memory.open(path, actor="agent:worker", scopes=("read", "write"), clock=Clock(NOW)) as worker:
        with pytest.raises(DejaError, match="LOP-E022"):
            worker.loop.approve(address, because="eve granted it")
        with pytest.raises(DejaError):
            worker.forget(worker.recall("acme")[0].address, because="eve granted it")
        assert worker.verify() == ()


def test_a_file_of_sqlite_that_a_stranger_made_runs_nothing(tmp_path: Path) -> None:
    """TM-47: a sidecar whose table names hold statements, and a store of LangGraph with views, generated columns and bytes that are no
    text: they are thrown away or refused; no other file is opened, and no statement of theirs is carried out."""
    path, sidecar_path = tmp_path / "a.deja", tmp_path / "a.deja.telemetry.db"
    with Memory.open(path, clock=Clock(NOW)) as memory:
        memory.add_fact("a", "b", "c")
    bank = apsw.Connection(str(tmp_path / "bank.db"))
    bank.execute("CREATE TABLE money (n); INSERT INTO money VALUES (1)")
    bank.close()
    evil = apsw.Connection(str(sidecar_path))
    statements = f"ATTACH DATABASE '{tmp_path / 'bank.db'}' AS y; DELETE FROM y.money; --"
    name = f'x"; {statements}'.replace('"', '""')
    evil.execute(
        f'CREATE TABLE "{name}" (a); CREATE TABLE x (a); PRAGMA application_id = {sidecar.APPLICATION_ID}; PRAGMA user_version = 99'
    )
    evil.close()
    with Memory.open(path, telemetry="aggregate", clock=Clock(NOW)) as memory:
        memory.recall("a")
        with pytest.raises(apsw.SQLError, match="too many attached"):
            memory.store.reading().execute("ATTACH ':memory:' AS one; ATTACH ':memory:' AS two")
    assert apsw.Connection(str(tmp_path / "bank.db")).execute("SELECT n FROM money").get == 1
    for number, sql in enumerate((
        "CREATE TABLE store (prefix, key, value, created_at, updated_at); INSERT INTO store VALUES ('a', 'k', CAST(x'ff' AS TEXT), 1, 1)",
        "CREATE TABLE t (x); CREATE VIEW store AS SELECT 1 AS prefix, 2 AS key, 3 AS value, 4 AS created_at, 5 AS updated_at",
        "CREATE TABLE store (prefix, key, value AS (zeroblob(200000000)), created_at, updated_at); INSERT INTO store(prefix, key) VALUES ('a', 'k')",
    )):  # fmt: skip
        theirs = tmp_path / f"{number}.db"
        made = apsw.Connection(str(theirs))
        made.execute(sql)
        made.close()
        with Memory.open(tmp_path / "b.deja", clock=Clock(NOW)) as memory:
            with pytest.raises(DejaError, match="IMP-E002"):
                import_path(memory, registry.source("langgraph"), theirs, now_ms=NOW)
            assert memory.verify() == ()


# --- places (TM-44) ------------------------------------------------------------------------------------


def test_no_name_leads_out_of_its_place(tmp_path: Path) -> None:
    """TM-44: documents, vaults, folders of transcripts and shared folders: dots, absolute names and links read and write nothing outside."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("zebra words")
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "note.md").write_text("---\ntitle: n\n---\n\n- [fact] see [[../outside/secret]] #x\n")
    (vault / "link.md").symlink_to(outside / "secret.md")
    (vault / "folder").symlink_to(outside)
    with Memory.open(tmp_path / "a.deja", clock=Clock(NOW)) as memory:
        for name in (
            "/memories/../x",
            "/etc/passwd",
            "/memories/a/../../x",
            "memories/x",
            "/memories//x",
            "/memories/./x",
            "/memories/x\0y",
        ):
            with pytest.raises(DejaError, match="VAL-E001"):
                memory.docs.create(name, "text")
        import_path(memory, registry.source("basic-memory"), vault, now_ms=NOW)
        assert not memory.search("zebra")
        shared_folder = tmp_path / "shared"
        shared_folder.mkdir()
        name = memory.push_segments(shared_folder).name
        (shared_folder / "ffffffffffffffff").symlink_to(outside)  # another copy's folder that is none
        memory.pull_segments(shared_folder)
        for path in sorted((shared_folder / name).iterdir()):
            path.unlink()
        (shared_folder / name).rmdir()
        (shared_folder / name).symlink_to(outside)  # and now ours leads away
        memory.add_fact("a", "b", "c")
        with pytest.raises(DejaError, match="STO-E008"):
            memory.push_segments(shared_folder)
        (shared_folder / name).unlink()
        (shared_folder / name).mkdir()
        (shared_folder / name / "manifest.jsonl").symlink_to(outside / "profile")
        (shared_folder / name / "segment-00000001.mgb").symlink_to(outside / "secret.md")
        with pytest.raises(DejaError, match="STO-E008"):
            memory.push_segments(shared_folder)
    assert sorted(path.name for path in outside.iterdir()) == ["secret.md"]
    assert (outside / "secret.md").read_text() == "zebra words"


# --- queries (TM-45) -----------------------------------------------------------------------------------

INJECTIONS = [
    "'; DROP TABLE grain; --", "x' OR '1'='1", '" OR 1=1 --', "a NEAR(b c, 3)", "subject:*", "{a b}: c", "^x", "-x", "((((", '"""', "*", "a*b*c",
    "\\x00", "%' ESCAPE '\\", "UNION SELECT body FROM grain", "rowid:1", "$x", "?1", ":name", "/* */", "sha256:" + "0" * 64,
]  # fmt: skip


def test_no_text_of_a_query_is_taken_for_sql(tmp_path: Path, deja: Deja) -> None:
    """TM-45: what is typed into search, recall, log and the language is a value: it finds what says so literally, and changes nothing."""
    path = tmp_path / "a.deja"
    with Memory.open(path, clock=Clock(NOW)) as memory:
        for number, text in enumerate(INJECTIONS):
            memory.add_fact(text, f"r{number}", text)
        memory.add_fact("other", "r", "nothing of it")
        for number, text in enumerate(INJECTIONS):
            assert [grain.get("relation") for grain in memory.recall(text)] == [f"r{number}"]
            assert memory.latest(text, f"r{number}") is not None
            memory.search(text)
            found = memory.cal("RECALL facts WHERE subject = $x", params={"x": text})
            assert len(found.rows) == 1
        before = memory.stats()["grains"]
    for text in INJECTIONS[::4]:
        for words in (
            ["search", "--", text],
            ["recall", "--", text],
            ["log", "--subject", text],
            ["recall", "--relation", text],
            ["cal", text],
        ):
            assert "Traceback" not in deja(*words, "--db", path).err
    with Memory.open(path, clock=Clock(NOW)) as memory:
        assert memory.stats()["grains"] == before
        assert memory.verify(deep=True) == ()


# --- more than a machine should take (TM-28, TM-46) ----------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 200_000, id="deep lists"),
        pytest.param('{"a":' * 200_000, id="deep maps"),
        pytest.param('{"n": ' + "9" * 200_000 + "}", id="a long number"),
        pytest.param("{" + ",".join(f'"k{n}": {n}' for n in range(20_000)) + "}", id="many keys"),
        pytest.param('{"role": "user", "content": "' + "a" * 500_000 + '"}', id="a long text"),
        pytest.param('{"content": "' + "aaaaaaaaaa!" * 50_000 + '"}', id="nearly a pattern"),
        pytest.param('{"content": "' + "\\u202e\\u200b\\ud83d" * 50_000 + '"}', id="marks"),
    ],
)
def test_a_bomb_costs_what_its_length_costs(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deja: Deja
) -> None:
    """TM-46: as a file of every family, as an event of a hook, as a statement: an answer in seconds, in bounded depth."""
    begun = time.process_time()
    path = tmp_path / "bomb.jsonl"
    path.write_text(text + "\n" + text)
    for kind in ("claude-code", "tau-bench", "mem0"):
        done = deja("import", kind, path, "--db", tmp_path / f"{kind}.deja")
        assert done.code in (0, 1)
        assert "Traceback" not in done.err
    for verb in ("capture", "recall"):
        event = (
            '{"prompt": "x", "hook_event_name": "PostToolUseFailure", "tool_name": "t", "error": '
            + text
            + "}"
        )
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(event.encode()), encoding="utf-8"))
        assert deja("hook", verb, "--db", tmp_path / "h.deja").code == 0
    with Memory.open(tmp_path / "m.deja", clock=Clock(NOW)) as memory, pytest.raises(DejaError):
        memory.cal(text[:70_000])
    assert time.process_time() - begun < 20
