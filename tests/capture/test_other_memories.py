# SPDX-License-Identifier: Apache-2.0
"""Importers of other memories: notes, facts and documents, and what their later exports change."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from deja_tui.capture import known, registry
from deja_tui.capture.files import import_path
from deja_tui.capture.importers.basic_memory import parse
from deja_tui.capture.importers.langgraph import says
from deja_tui.capture.report import ImportReport
from deja_tui.errors import DejaError
from deja_tui.facade import Memory
from tests.capture.sink import FakeSink

NOW = 1_800_000_000_000
FIRST, SECOND = "2026-03-01T10:00:00Z", "2026-03-02T10:00:00Z"


def run(kind: str, path: Path, sink: FakeSink | None = None) -> tuple[ImportReport, FakeSink]:
    store = sink or FakeSink()
    return import_path(store, registry.source(kind), path, now_ms=NOW), store


def whole(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def notes(sink: FakeSink) -> list[tuple[str, str]]:
    return [(f["subject"], f["object"]) for k, f in sink.heads.items() if sink.types[k] == "observation"]


def facts(sink: FakeSink) -> list[tuple[str, str, str]]:
    found = [f for k, f in sink.heads.items() if sink.types[k] == "fact"]
    return [(f["subject"], f["relation"], f["object"]) for f in found]


# --- mem0 -------------------------------------------------------------------------------------------


def memory(text: str, at: str = FIRST, ident: str = "m1") -> dict[str, Any]:
    return {"id": ident, "memory": text, "user_id": "ana", "created_at": FIRST, "updated_at": at}


def test_mem0_memories_are_notes_about_their_user(tmp_path: Path) -> None:
    """MEM0-1, KNOWN-1: copies under different ids have one subject, so that the loop can find them."""
    rows = [memory("likes tea"), memory("Likes Tea", ident="m2"), {"id": "m3", "memory": " "}]
    report, sink = run("mem0", whole(tmp_path / "m.json", {"results": rows}))
    assert notes(sink) == [("user/ana", "likes tea"), ("user/ana", "Likes Tea")]
    assert (report.figures["duplicates"], report.losses[0].line) == (1, 3)


def test_mem0_an_update_supersedes(tmp_path: Path) -> None:
    """KNOWN-2, ITEM-5: a later export of a changed memory takes the place of the first; an older one changes nothing."""
    path = whole(tmp_path / "m.json", [memory("lives in Porto")])
    _, sink = run("mem0", path)
    report, _ = run("mem0", whole(path, [memory("lives in Braga", SECOND)]), sink)
    assert (report.completed, notes(sink)) == (1, [("user/ana", "lives in Braga")])
    report, _ = run("mem0", whole(path, [memory("lives in Porto")]), sink)
    assert (report.completed, notes(sink)) == (0, [("user/ana", "lives in Braga")])


def event(kind: str, text: str | None, at: str, ident: str = "m1") -> dict[str, Any]:
    return {"id": f"{ident}{at}", "memory_id": ident, "event": kind, "new_memory": text, "created_at": at}


def test_mem0_history_is_replayed(tmp_path: Path) -> None:
    """MEM0-2: events in the order of their times; what was deleted at the source does not come back."""
    rows = [
        event("UPDATE", "lives in Braga", SECOND),
        event("ADD", "lives in Porto", FIRST),
        event("ADD", "a secret", FIRST, "m2"),
        event("DELETE", None, SECOND, "m2"),
    ]
    report, sink = run("mem0", whole(tmp_path / "h.json", rows))
    assert notes(sink) == [("memory", "lives in Braga")]
    assert [dead["object"] for dead in sink.dead] == ["lives in Porto"]
    assert "a secret" not in json.dumps(sink.heads)
    assert (report.figures["live_after_replay"], report.figures["chains"]) == (1, 2)


def test_mem0_a_missing_memory_stays(tmp_path: Path) -> None:
    """MEM0-3: an export without a memory that came before says nothing about it."""
    path = whole(tmp_path / "m.json", [memory("a"), memory("b", ident="m2")])
    _, sink = run("mem0", path)
    run("mem0", whole(path, [memory("a")]), sink)
    assert len(notes(sink)) == 2


# --- Letta ------------------------------------------------------------------------------------------


def agent(value: str) -> dict[str, Any]:
    block = {"id": "b", "label": "human", "value": value, "updated_at": FIRST if value == "one" else SECOND}
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "insert"}}]}
    answer = {"role": "tool", "tool_call_id": "1", "content": "no", "tool_returns": [{"status": "error"}]}
    messages = [{"role": "system", "content": "you are"}, call, answer]
    told = {
        "name": "sam",
        "id": "a1",
        "block_ids": ["b"],
        "messages": messages,
        "secrets": {"KEY": "hidden-value"},
    }
    return {"agents": [told], "blocks": [block], "tools": [{"name": "insert"}]}


def test_letta(tmp_path: Path) -> None:
    """LETTA-1, LETTA-2, LETTA-4: blocks are documents with versions, messages a session; tools and secrets stay out."""
    path = whole(tmp_path / "a.af", agent("one"))
    with Memory.open(tmp_path / "m.deja", clock=lambda: NOW) as kept:
        source = registry.source("letta")
        report = import_path(kept, source, path, now_ms=NOW)
        import_path(kept, source, whole(path, agent("two")), now_ms=NOW)
        versions = [version.text for version in kept.docs.history("/memories/letta/sam/human")]
        failed = [grain.get("is_error") for grain in kept.scan("tool")]
        everything = [
            str(dict(grain.fields)) for kind in ("event", "tool", "fact") for grain in kept.scan(kind)
        ]
    assert (versions, failed) == (["two", "one"], [True])
    assert not any("hidden-value" in text for text in everything)
    assert report.figures["left_out"] == {"tool definition": 1}


def test_letta_archival_passages(tmp_path: Path) -> None:
    """LETTA-3: a passage is a note about its agent; an agent file says that archival memory is not in it."""
    path = lines(
        tmp_path / "p.jsonl", {"text": "likes tea", "agent_name": "sam", "created_at": FIRST, "tags": ["x"]}
    )
    report, sink = run("letta", path)
    assert notes(sink) == [("letta/sam", "likes tea")]
    told = run("letta", whole(tmp_path / "a.af", agent("one")))[0].remarks
    assert any("archival" in note["reason"] for note in told)
    assert report.figures["passages"] == 1


# --- Zep --------------------------------------------------------------------------------------------


def edge(**more: Any) -> dict[str, Any]:
    told = {
        "uuid": "e1",
        "source_node_uuid": "n1",
        "target_node_uuid": "n2",
        "name": "LIVES_IN",
        "created_at": FIRST,
    }
    return {**told, "fact": "Ana lives in Porto", "valid_at": "2024-05-01", **more}


def test_zep_edges(tmp_path: Path) -> None:
    """ZEP-1, ZEP-4: an edge is a fact with its validity; an end that a later dump brings is a revision."""
    path = whole(tmp_path / "g.json", {"edges": [edge()], "episodes": []})
    _, sink = run("zep", path)
    assert facts(sink) == [("zep/n1", "lives_in", "Ana lives in Porto")]
    whole(path, {"edges": [edge(expired_at=SECOND)], "episodes": []})
    assert run("zep", path, sink)[0].completed == 1
    [head] = sink.heads.values()
    assert head["valid_to"] > head["valid_from"]


def test_a_validity_that_ends_before_it_begins(tmp_path: Path) -> None:
    """KNOWN-3: it is kept as found beside the fact and told, never stored as validity."""
    path = whole(tmp_path / "g.json", [edge(invalid_at="2023-01-01")])
    report, sink = run("zep", path)
    [head] = sink.heads.values()
    assert "valid_to" not in head
    assert head["context"]["validity_found"] == {"from": "2024-05-01", "to": "2023-01-01"}
    assert report.figures["edges_with_end_before_start"] == 1
    assert any("ends before it begins" in note["reason"] for note in report.remarks)


def test_zep_episodes_conversations_and_user_data(tmp_path: Path) -> None:
    """ZEP-2, ZEP-3: an episode is an event of its session, a conversation a session, free data a note."""
    episode = {"uuid": "p", "content": "moved", "role_type": "user", "session_id": "t", "created_at": FIRST}
    _, sink = run("zep", whole(tmp_path / "g.json", {"edges": [], "episodes": [episode]}))
    assert [(turn["content"], turn["session_id"]) for turn in sink.events()] == [("moved", "t")]
    talk = [
        {"messages": [{"role": "user", "content": "hi"}]},
        {"messages": [{"role": "user", "content": "ho"}]},
    ]
    assert run("zep", whole(tmp_path / "c.json", talk))[0].figures["sessions"] == 2
    _, sink = run("zep", whole(tmp_path / "u.json", [{"search": {"beds": 4, "timestamp": FIRST}}]))
    assert [text for _, text in notes(sink)] == [f'{{"search":{{"beds":4,"timestamp":"{FIRST}"}}}}']


# --- LangGraph --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ({"content": "one"}, "one"),
        ({"kind": "Memory", "content": {"content": "deep"}}, "deep"),
        ({"prompt": "be brief"}, "be brief"),
        ({"content": {"name": "Sam", "n": 1}}, '{"n":1,"name":"Sam"}'),
        ([1, 2], "[1,2]"),
        (None, ""),
    ],
)
def test_langgraph_values_of_any_shape(value: Any, text: str) -> None:
    """LANG-2: the one text of a value, else its compact JSON."""
    assert says(value) == text


def store_file(path: Path, text: str, changed: str) -> Path:
    with sqlite3.connect(path) as made:
        made.execute(
            "CREATE TABLE IF NOT EXISTS store (prefix, key, value, created_at, updated_at, PRIMARY KEY(prefix, key))"
        )
        made.execute(
            "REPLACE INTO store VALUES ('memories.u1', 'k', ?, ?, ?)",
            (json.dumps({"content": text}), FIRST, changed),
        )
    made.close()
    return path


def test_langgraph_store(tmp_path: Path) -> None:
    """LANG-1, LANG-3: an item is a note about its namespace, a changed one supersedes; nothing is written beside the file."""
    path = store_file(tmp_path / "store.db", "likes tea", FIRST)
    path.chmod(0o400)
    _, sink = run("langgraph", path)
    assert notes(sink) == [("memories/u1", "likes tea")]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["store.db"]
    path.chmod(0o600)
    assert run("langgraph", store_file(path, "likes coffee", SECOND), sink)[0].completed == 1
    (tmp_path / "store.db-wal").write_bytes(b"x")
    assert any("log of writes" in note["reason"] for note in run("langgraph", path)[0].remarks)
    (tmp_path / "other.db").write_bytes(b"SQLite format 3\x00" + b"\x00" * 200)
    with pytest.raises(DejaError, match="IMP-E002"):
        run("langgraph", tmp_path / "other.db")


# --- Basic Memory -----------------------------------------------------------------------------------


def test_what_a_note_holds() -> None:
    """BM-2, BM-3: tasks, fences and links are told from observations and relations; broken front matter is told."""
    text = "\n".join(
        [
            "---", "title: Grinder", "tags:", "- kitchen", "---",
            "- [setting] 18 clicks #fine (filter)", "- [ ] a task", "- [x] done",
            "- part_of [[Tools]]", "See [[Kettle]].", "```", "- [code] no", "[[No]]", "```",
        ]
    )  # fmt: skip
    note, state = parse("a.md", text)
    assert (state, note.title, note.meta["tags"]) == ("whole", "Grinder", ["kitchen"])
    assert note.observations == [("setting", "18 clicks #fine (filter)")]
    assert (note.relations, note.links) == ([("part_of", "Tools")], ["Kettle"])
    assert parse("a.md", "---\ntitle: x\n- no end")[1] == "broken"
    assert parse("a.md", "---\n  : what\n---\ntext")[1] == "broken"
    assert parse("a.md", "only text")[1] == ""


def test_a_vault(tmp_path: Path) -> None:
    """BM-1, BM-4, BM-5: a note is a document, its lines notes and facts; editing it is a version, and only new lines are new."""
    vault = tmp_path / "vault"
    vault.mkdir()
    note = vault / "Grinder.md"
    note.write_bytes(b"\xef\xbb\xbf- [setting] 18 clicks\r\n- part_of [[Tools]]\r\nsee [[Nowhere]]\r\n")
    (vault / "link.md").symlink_to(note)
    with Memory.open(tmp_path / "m.deja", clock=lambda: NOW) as kept:
        source = registry.source("basic-memory")
        report = import_path(kept, source, vault, now_ms=NOW)
        again = import_path(kept, source, vault, now_ms=NOW)
        note.write_text("- [setting] 18 clicks\n- [setting] 20 clicks\n")
        third = import_path(kept, source, vault, now_ms=NOW)
        versions = kept.docs.history("/memories/basic-memory/Grinder.md")
        said = [grain.get("object") for grain in kept.scan("observation")]
        relations = [
            (f.get("relation"), f.get("object")) for f in kept.recall(subject="Grinder", type="fact")
        ]
    assert (report.added, again.added, again.completed) == (4, 0, 0)
    assert (third.added, third.completed, len(versions)) == (1, 1, 2)
    assert said == ["18 clicks", "20 clicks"]
    assert sorted(relations) == [("links_to", "Nowhere"), ("part_of", "Tools")]
    figures = report.figures
    assert (figures["notes_with_bom"], figures["notes_with_crlf"]) == (1, 1)
    assert (figures["relations_to_missing_notes"], figures["inline_links"]) == (1, 1)
    assert [loss.reason for loss in report.losses] == ["link.md: a symbolic link, not followed"]


# --- MCP memory files and plain lines ---------------------------------------------------------------


def test_mcp_memory(tmp_path: Path) -> None:
    """MCPM-1, MCPM-2, MCPM-3: observations are notes, kinds and relations facts; the same file again adds what is new."""
    entity = {"name": "api", "entityType": "service", "observations": ["in Go", {"content": "on call"}]}
    path = lines(tmp_path / "m.jsonl", {"from": "ghost", "to": "api", "relationType": "uses"}, entity)
    report, sink = run("mcp-memory", path)
    assert facts(sink) == [("ghost", "uses", "api"), ("api", "is_a", "service")]
    assert notes(sink) == [("api", "in Go"), ("api", "on call")]
    assert (report.figures["relations_to_missing_entities"], report.figures["has_type_key"]) == (1, False)
    entity["observations"] = ["in Go", "in Go", "new"]
    assert run("mcp-memory", lines(path, {"type": "entity", **entity}), sink)[0].added == 2


def test_plain_lines(tmp_path: Path) -> None:
    """PLAIN-1, PLAIN-2: a triple is a fact, a text a note; neither is a loss; a file written anew adds what is new."""
    fact = {"subject": "ana", "relation": "likes", "object": "tea", "valid_to": SECOND, "confidence": 0.5}
    path = lines(
        tmp_path / "p.jsonl", fact, {"content": "a note", "user_id": "u1"}, {"tool_name": "t", "output": "x"}
    )
    report, sink = run("jsonl", path)
    assert (facts(sink), notes(sink)) == ([("ana", "likes", "tea")], [("u1", "a note")])
    assert [loss.line for loss in report.losses] == [3]
    lines(path, {"content": "first"}, fact)
    assert run("jsonl", path, sink)[0].added == 1


def test_a_document_is_kept_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BM-1, LETTA-1: a note or block of any usual length, to its last character; of one that fits in no grain, the loss is told."""
    text = "words of a note\n" * 10_000 + "its end"
    (tmp_path / "note.md").write_text(text)
    agent = whole(tmp_path / "g.json", {"name": "g", "core_memory": [{"label": "persona", "value": text}]})
    for kind, path in (("basic-memory", tmp_path / "note.md"), ("letta", agent)):
        report, store = run(kind, path)
        (kept,) = [one for one in store.heads.values() if one.get("subject", "").startswith("/memories/")]
        assert kept["context"]["content"] == text
        assert (report.loss_total, report.figures["texts_cut"]) == (0, 0)
    monkeypatch.setattr(known, "DOCUMENT_MAX", 1_000)
    report, store = run("basic-memory", tmp_path / "note.md")
    assert [loss.reason for loss in report.losses] == [
        "basic-memory/note.md: longer than 0 MiB, only its beginning is kept"
    ]
    (kept,) = store.heads.values()
    assert kept["context"]["content"] == text[:1_000]
