# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deja_tui.capture import files
from deja_tui.capture.importers import claude_code, claude_records
from deja_tui.capture.importers.claude_code import Batch, import_claude_code, read
from deja_tui.capture.report import LOSS_ROWS, ImportReport
from deja_tui.capture.tame import TEXT_MAX
from deja_tui.errors import DejaError
from deja_tui.items import CHUNK, PENDING, UNKNOWN_TOOL, CaptureItem
from tests.capture.sink import FakeSink
from tests.support import DAY, NOW, shared

LATER = NOW + 365 * DAY  # after every time in the samples

SAMPLES = (
    "episodic-long-part.jsonl",
    "episodic-tiny.jsonl",
    "log-edge-cases.jsonl",
    "log-representative-messages.jsonl",
    "record-types-a.jsonl",
    "transcripts-sample.jsonl",
    "viewer-init.jsonl",
    "viewer-todo-app.jsonl",
)


def run(path: Path, sink: FakeSink | None = None, now_ms: int = LATER) -> tuple[ImportReport, FakeSink]:
    sink = FakeSink() if sink is None else sink
    return import_claude_code(sink, path, now_ms=now_ms), sink


def items_of(path: Path, now_ms: int = LATER) -> list[CaptureItem]:
    return [item for batch in read(path, now_ms=now_ms) for item in batch.items]


# --- records made here ------------------------------------------------------------------------------


def record(kind: str, content: Any, n: int, **more: Any) -> dict[str, Any]:
    """Record number ``n`` of a plain session: a minute after the one before, whose child it is."""
    message = {"role": kind, "content": content} | more.pop("message", {})
    return {
        "type": kind,
        "uuid": f"u{n}",
        "parentUuid": f"u{n - 1}" if n > 1 else None,
        "sessionId": "s1",
        "timestamp": f"2026-03-01T10:{n:02d}:00Z",
        "message": message,
    } | more


def use(call_id: str, tool: str = "Bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}


def result(call_id: str, content: Any, is_error: Any = None) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return block if is_error is None else block | {"is_error": is_error}


def write(path: Path, *records: Any, tail: str = "\n") -> Path:
    path.write_text("\n".join(json.dumps(row) for row in records) + tail)
    return path


# --- counts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_counts_of_real_sessions(name: str) -> None:
    """REP-1: every figure of samples/expected.json, on the real files."""
    expected = json.loads(shared("samples/expected.json").read_text())["claude-code"]
    assert sorted(expected) == sorted(SAMPLES)
    report, _ = run(shared("samples/claude-code") / name)
    told = report.to_json()
    assert {key: told[key] for key in expected[name]} == expected[name]
    assert (told["redacted"], told["padding_lines"]) == (0, 0)
    assert told["loss_total"] == (7 if name == "log-edge-cases.jsonl" else 0)


@pytest.mark.parametrize("name", SAMPLES)
def test_stored_tool_grains_are_the_figures(name: str) -> None:
    """CC-1: what was counted as calls and failures is there as grains, by tool; a call without result is pending."""
    report, sink = run(shared("samples/claude-code") / name)
    told = report.to_json()
    failures: dict[str, int] = {}
    for tool in sink.failures():
        failures[tool["tool_name"]] = failures.get(tool["tool_name"], 0) + 1
    assert failures == told["errors_by_tool"]
    assert len(sink.tools()) == told["tool_calls"] + told["results_without_call"]
    pending = [tool for tool in sink.tools() if tool.get("status") == PENDING]
    assert len(pending) == told["calls_without_result"]
    assert all("is_error" not in tool and "tool_content" not in tool for tool in pending)
    assert sum(tool["tool_name"] == UNKNOWN_TOOL for tool in sink.tools()) == told["results_without_call"]
    assert len({tool["tool_call_id"] for tool in sink.tools()}) == len(sink.tools())


@pytest.mark.parametrize("name", SAMPLES)
def test_importing_twice_adds_nothing(name: str) -> None:
    """ITEM-1: a second import, at another time, only skips."""
    path = shared("samples/claude-code") / name
    first, sink = run(path)
    second, _ = run(path, sink, LATER + DAY)
    assert first.added == len(sink.heads) > 0
    assert (second.added, second.completed) == (0, 0)
    assert second.skipped == first.added + first.skipped
    assert second.figures == first.figures


def test_losses_of_a_broken_file() -> None:
    """REP-3: foreign lines are told one by one, with their numbers."""
    report, _ = run(shared("samples/claude-code/log-edge-cases.jsonl"))
    assert [(row.line, row.reason) for row in report.losses] == [
        (10, "a message without readable content"),
        (11, "a message that is no object"),
        (13, "not an object"),
        (14, "a record without type"),
        (15, "not an object"),
        (16, "not an object"),
        (18, "a content block that is no object"),
    ]


def test_one_event_for_each_assistant_message() -> None:
    """CC-1: lines with one message id are one event that holds all their blocks in order."""
    _, sink = run(shared("samples/claude-code/viewer-init.jsonl"))
    replies = [event for event in sink.events() if event["role"] == "assistant"]
    assert len(replies) == 7
    assert replies[0]["message_id"] == "msg_01TqDZoU6FcpxB4u2AmpgWfZ"
    assert [block["type"] for block in replies[0]["content_blocks"]] == ["text", "tool_use"]
    assert len(replies[1]["content_blocks"]) == 5
    assert replies[1]["content"] == "[calls Bash, Glob]"
    assert len(replies[1]["context"]["import"]["ids"]) == 5
    assert replies[0]["token_usage"].keys() >= {"input_tokens", "output_tokens"}


# --- hostile files ----------------------------------------------------------------------------------


def cases() -> list[dict[str, Any]]:
    return [
        case
        for case in json.loads(shared("hostile/index.json").read_text())["cases"]
        if case["import_as"] == "claude-code"
    ]


BESIDE = {"new_records_after_before", "if_salvaged", "note", "tool_errors_first_result_wins"}


def test_counts_of_hostile_files() -> None:
    """REP-1: every figure that hostile/index.json expects of a Claude Code file."""
    checked = 0
    for case in cases():
        for name, expected in case["expect"].items():
            if name == "all_together" or not name.endswith(".jsonl"):
                continue
            told = run(shared("hostile") / case["id"] / name, now_ms=NOW)[0].to_json()
            figures = {key: value for key, value in expected.items() if key not in BESIDE}
            assert {key: told[key] for key in figures} == figures, (case["id"], name)
            if "tool_errors_first_result_wins" in expected:
                assert told["tool_errors"] == expected["tool_errors_first_result_wins"]
            checked += 1
    assert checked == 15


def test_a_torn_tail_is_read_again() -> None:
    """JSONL-3, ITEM-1: the torn line is a loss with its number; the finished file adds exactly the three records."""
    first, sink = run(shared("hostile/torn-last-line/before.jsonl"), now_ms=NOW)
    assert [(row.line, row.reason) for row in first.losses] == [
        (8, "cut off in the middle: torn, read again by the next import")
    ]
    second, _ = run(shared("hostile/torn-last-line/after.jsonl"), sink, NOW)
    assert (second.added, second.completed, second.loss_total) == (3, 0, 0)
    assert [event["content"] for event in sink.events()][-3:] == ["Done.", "And the docs?", "Also fine."]


def test_a_glued_line_costs_one_line() -> None:
    """JSONL-5: one loss row at line 4; it is no clean import."""
    report, _ = run(shared("hostile/glued-records/session.jsonl"), now_ms=NOW)
    assert [(row.file, row.line, row.reason) for row in report.losses] == [("session.jsonl", 4, "not JSON")]


def test_padding_is_no_loss() -> None:
    """JSONL-2: NUL bytes are told as padding and stored nowhere."""
    report, sink = run(shared("hostile/nul-blocks/session.jsonl"), now_ms=NOW)
    assert report.loss_total == 0
    assert [(note["reason"], note["count"], note["lines"]) for note in report.remarks] == [
        ("padding: NUL bytes and nothing else", 2, [5, 10])
    ]
    assert "\x00" not in json.dumps(sink.heads, ensure_ascii=False)


def test_lone_surrogates() -> None:
    """CC-4, TEXT-1: text is well-formed; the first of two results counts, the second is a marked event in full."""
    report, sink = run(shared("hostile/lone-surrogates/session.jsonl"), now_ms=NOW)
    json.dumps(sink.heads, ensure_ascii=False).encode("utf-8")
    assert sink.events()[-2]["content"].endswith("\ufffd done \ufffd and pair 🚀")
    [tool] = sink.tools()
    assert (tool["tool_content"], tool["is_error"]) == ("ok", False)
    first, second = [event for event in sink.events() if event["role"] == "tool"]
    assert "second_result_of" not in first["context"]
    assert second["context"]["second_result_of"] == "toolu_002"
    assert second["content_blocks"][0]["content"].startswith("Cancelled: parallel tool call Bash(echo \ufffd")
    assert [note["lines"] for note in report.remarks] == [[4]]


def test_same_records_twice() -> None:
    """ITEM-2, REP-2: a call is its id across files; the continued session is a session that starts like the first."""
    folder = shared("hostile/same-records-twice")
    sink = FakeSink()
    added = [
        run(folder / f"{name}.jsonl", sink, NOW)[0].added for name in ("one", "continued", "one", "one-copy")
    ]
    assert added[2:] == [0, 0]
    assert (len(sink.tools()), len(sink.failures())) == (3, 2)
    first, second = sink.events("session")
    assert first["session_id"] != second["session_id"]
    assert first["root_record"] == second["root_record"]
    new = [event for event in sink.events() if event["session_id"] == second["session_id"]]
    assert [(event["content"], event["parent_message_id"][-2:]) for event in new] == [("continue", "43")]
    assert added[1] == 2

    together, sink = run(folder, now_ms=NOW)
    [case] = [case for case in cases() if case["id"] == "same-records-twice"]
    expected = case["expect"]["all_together"]
    assert {key: together.to_json()[key] for key in expected} == expected
    assert [file.figures["tool_calls"] for file in together.files] == [3, 3, 3]


def test_a_split_reply_is_one_event() -> None:
    """CC-1: thinking, text and call of one message id are one event; the thinking is left out and counted."""
    report, sink = run(shared("hostile/same-records-twice/one.jsonl"), now_ms=NOW)
    assert report.to_json()["left_out"] == {"thinking": 1}
    [reply] = [event for event in sink.events() if event.get("message_id") == "msg_split"]
    assert reply["content"] == "I will look."
    assert [block["type"] for block in reply["content_blocks"]] == ["text", "tool_use"]
    assert [uuid[-2:] for uuid in reply["context"]["import"]["ids"]] == ["40", "41", "42"]


def test_marks_and_line_ends_change_no_grain() -> None:
    """JSONL-2: BOM, CRLF, blank lines and blanks give the very items of the plain file."""
    folder = shared("hostile/bom-crlf-blank")
    assert items_of(folder / "session.jsonl", NOW) == items_of(folder / "plain.jsonl", NOW)


def test_clock_skew() -> None:
    """CC-2: the order is the file's; a failure without usable time is there, borrows an earlier time and is marked."""
    _, sink = run(shared("hostile/clock-skew/session.jsonl"), now_ms=NOW)
    ten = 1_772_359_200_000
    events = sink.events()
    assert [event["context"]["ordinal"] for event in events] == list(range(1, 11))
    assert [event["created_at"] - ten for event in events] == [
        0,
        9_500,
        -2_000,
        -2_000,
        -2_000,
        30_000,
        31_000,
        60_000,
        60_000,
        60_000,
    ]
    assert [event["context"].get("clock") for event in events if "clock" in event["context"]] == [
        {"found": "2099-01-01T00:00:00Z", "trouble": "after the import"},
        {"found": "1970-01-01T00:00:00Z", "trouble": "before 2000"},
        {"trouble": "missing"},
        {"found": "not a time", "trouble": "unreadable"},
    ]
    assert [(tool["created_at"] - ten, "clock" in tool["context"]) for tool in sink.failures()] == [
        (-2_000, False),
        (-2_000, True),
        (31_000, False),
    ]
    assert all(fields["created_at"] <= NOW for fields in sink.heads.values())


def test_broken_parent_chain() -> None:
    """CC-3: all eight records are events, each kind of oddity is told once, and none is a loss."""
    report, sink = run(shared("hostile/broken-parent-chain/session.jsonl"), now_ms=NOW)
    assert len(sink.events()) == 8
    assert report.loss_total == 0
    assert [(note["reason"], note["lines"]) for note in report.remarks] == [
        ("its id was used before", [7]),
        ("it is its own parent", [7, 8]),
        ("its parent is not in the file", [3, 4]),
        ("its parents run in a circle", [5]),
    ]


def test_terminal_escapes_are_kept_and_told() -> None:
    """REP-3: what a tool said is kept as it was, and two spellings of one tool name are told."""
    report, sink = run(shared("hostile/terminal-escapes/session.jsonl"), now_ms=NOW)
    assert len(sink.failures()) == 9
    assert sink.failures()[0]["tool_content"] == "\x1b[2J\x1b[H\x1b[31mALL CHECKS PASSED\x1b[0m"
    assert [note["reason"] for note in report.remarks] == [
        "two spellings of one tool name: they differ in invisible characters only"
    ]


@pytest.mark.parametrize("case", ["markup-brackets", "injected-instructions", "unicode-line-separators"])
def test_text_is_kept_literally(case: str) -> None:
    """CC-5: no text is changed for what it says: each result stands in its grain as it was."""
    path = shared("hostile") / case / "session.jsonl"
    _, sink = run(path, now_ms=NOW)
    found = [
        block["content"]
        for line in path.read_bytes().split(b"\n")
        if line
        for block in json.loads(line)["message"]["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    ]
    assert [tool["tool_content"] for tool in sink.tools()] == found


# --- the shared transcripts -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def transcripts() -> tuple[list[dict[str, Any]], dict[str, Any], FakeSink, ImportReport]:
    root = shared("vectors/transcripts")
    expected = json.loads((root / "expected.json").read_text())
    report, sink = run(root / "claude")
    return [row for row in expected["sessions"] if row["host"] == "claude"], expected, sink, report


def of_session(sink: FakeSink, session: dict[str, Any]) -> list[dict[str, Any]]:
    main = session["kind"] == "main"
    return [
        fields
        for fields in sink.heads.values()
        if (fields.get("agent_id") is None if main else fields.get("agent_id") == session["id"])
    ]


def test_transcripts_turns_calls_and_errors(transcripts: Any) -> None:
    """CC-1: turns, calls and failures of the main session and its sub-agent are as expected.json tells them."""
    sessions, _, sink, report = transcripts
    assert [file.file.endswith("agent-a7f3c2d1.jsonl") for file in report.files] == [False, True]
    for session in sessions:
        grains = of_session(sink, session)
        main = session["kind"] == "main"
        turns = [
            g for g in grains if g.get("role") == "user" and g["author"] == ("person" if main else "agent")
        ]
        assert [g["content"] for g in turns] == session["user_turns"]
        assert not any(text in g["content"] for text in session.get("not_user_turns", ()) for g in turns)
        replies = [g for g in grains if g.get("role") == "assistant"]
        spoken = [g for g in replies if not g["content"].startswith("[calls ")]
        assert len(spoken) == session["assistant_text_turns"]
        assert list(dict.fromkeys(g["model_id"] for g in replies)) == session["models"]
        tools = [g for g in grains if "tool_name" in g]
        for tool, call in zip(tools, session["tool_calls"], strict=True):
            assert (tool["tool_call_id"], tool["tool_name"]) == (call["id"], call["tool"])
            assert tool["input"].get("command") == call.get("command")
            assert tool["input"].get("file_path") == call.get("path")
        assert sum("is_error" in tool for tool in tools) == session["tool_results"]
        failures = [tool for tool in tools if tool.get("is_error")]
        for tool, error in zip(failures, session["tool_errors"], strict=True):
            assert tool["tool_call_id"] == error["call"]
            assert error["contains"] in tool["tool_content"]
        times = [g["created_at"] for g in grains if "clock" not in g["context"]]
        assert [f"{ms // 1000}" for ms in (min(times), max(times))] == [
            iso_seconds(session["started"]),
            iso_seconds(session["updated"]),
        ]


def iso_seconds(text: str) -> str:
    from datetime import datetime

    return str(int(datetime.fromisoformat(text).timestamp()))


def test_transcripts_sessions(transcripts: Any) -> None:
    """CC-1: the session and its sub-agent are events that say where they ran, and who is whose parent."""
    sessions, _, sink, _ = transcripts
    [main] = sink.events("session")
    [agent] = sink.events("sub-agent")
    assert (main["session_id"], main["cwd"], main["git_branch"]) == (
        sessions[0]["id"],
        sessions[0]["cwd"],
        sessions[0]["branch"],
    )
    assert (agent["agent_id"], agent["session_id"], agent["agent"]) == (
        sessions[1]["id"],
        sessions[1]["parent"],
        sessions[1]["agent"],
    )
    [title] = sink.events("title")
    assert title["content"] in sessions[0]["title_any"]
    usage = [event["token_usage"] for event in sink.events() if "token_usage" in event]
    totals = {"input_tokens": 6039, "output_tokens": 439}
    assert {name: sum(row[name] for row in usage) for name in totals} == totals


def test_transcripts_redactions(transcripts: Any) -> None:
    """CC-5: no raw secret is in any item, its kind is counted, and what is no secret stays."""
    sessions, expected, sink, report = transcripts
    stored = json.dumps(sink.heads, ensure_ascii=False)
    rows = [row for session in sessions for row in session["redactions"]]
    assert len(rows) == 2
    for row in rows:
        assert row["raw"] not in stored
        assert any(f"[redacted:{kind}]" in stored for kind in row["kinds_any"])
    assert report.to_json()["redacted_by_kind"] == {"aws-access-key": 1, "url-credentials": 1}
    raw = "".join(path.read_text() for path in shared("vectors/transcripts/claude").rglob("*.jsonl"))
    for text in expected["not_redacted"]:
        assert (text in stored) == (text in raw)


@pytest.mark.parametrize("host", ["codex", "gemini", "cursor", "pi", "aider"])
def test_other_hosts_are_of_another_kind(host: str) -> None:
    """IMP-E002: the transcripts of other agents are refused, and nothing of them was stored."""
    sink = FakeSink()
    with pytest.raises(DejaError) as caught:
        run(shared("vectors/transcripts") / host, sink)
    assert caught.value.code == "IMP-E002"
    assert sink.heads == {}


# --- growing files ----------------------------------------------------------------------------------


def test_a_result_that_comes_later_completes_its_call(tmp_path: Path) -> None:
    """ITEM-2: a call without result is pending; the grown file supersedes it, once."""
    call = record("assistant", [use("c1", command="make")], 1, message={"id": "m1"})
    path = write(tmp_path / "s.jsonl", call)
    first, sink = run(path)
    [tool] = sink.tools()
    assert (tool["status"], tool["input"], "is_error" in tool) == (PENDING, {"command": "make"}, False)
    assert first.figures["calls_without_result"] == 1

    write(path, call, record("user", [result("c1", "exit 2", True)], 2))
    second, _ = run(path, sink)
    assert (second.added, second.completed) == (1, 1)
    [tool] = sink.tools()
    assert (tool["is_error"], tool["tool_content"], tool["input"]) == (True, "exit 2", {"command": "make"})
    assert "status" not in tool
    third, _ = run(path, sink)
    assert (third.added, third.completed) == (0, 0)


@pytest.mark.parametrize("order", [("call", "result"), ("result", "call")])
def test_halves_in_two_files_become_one_call(tmp_path: Path, order: tuple[str, str]) -> None:
    """ITEM-2: call and result from different files are joined, whichever comes first; a whole call is then final."""
    call = record("assistant", [use("c1", command="make")], 1, message={"id": "m1"})
    answer = record("user", [result("c1", "exit 2", True)], 2)
    files = {"call": write(tmp_path / "call.jsonl", call), "result": write(tmp_path / "result.jsonl", answer)}
    sink = FakeSink()
    for name in (*order, *order):
        run(files[name], sink)
    [tool] = sink.tools()
    assert (tool["tool_name"], tool["input"], tool["is_error"]) == ("Bash", {"command": "make"}, True)
    assert (tool["tool_content"], "status" in tool) == ("exit 2", False)
    assert tool["created_at"] == 1_772_359_200_000 + 120_000
    assert len(sink.dead) == 1


def test_a_result_before_its_call_is_joined(tmp_path: Path) -> None:
    """ITEM-2: inside one file the order of the halves does not matter."""
    path = write(
        tmp_path / "s.jsonl",
        record("user", [result("c1", "ok")], 1),
        record("assistant", [use("c1")], 2, message={"id": "m1"}),
    )
    report, sink = run(path)
    [tool] = sink.tools()
    assert (tool["tool_name"], tool["is_error"]) == ("Bash", False)
    assert report.figures["results_without_call"] == 0


def test_a_reply_that_grew_completes_its_event(tmp_path: Path) -> None:
    """ITEM-3: the lines of a message that came after the first import take the place of the shorter event."""
    lines = [
        record("assistant", [{"type": "text", "text": f"part {n}"}], n, message={"id": "m1"})
        for n in (1, 2, 3)
    ]
    path = write(tmp_path / "s.jsonl", lines[0])
    _, sink = run(path)
    for upto in (2, 3):
        write(path, *lines[:upto])
        report, _ = run(path, sink)
        assert (report.added, report.completed) == (0, 1)
    [reply] = sink.events()
    assert reply["content"] == "part 1\n\npart 2\n\npart 3"
    write(path, *lines[:1])
    report, _ = run(path, sink)
    assert (report.added, report.completed) == (0, 0)


def test_lines_of_a_reply_around_its_results(tmp_path: Path) -> None:
    """CC-1: results between the lines of one message do not split it."""
    path = write(
        tmp_path / "s.jsonl",
        record("assistant", [use("c1")], 1, message={"id": "m1"}),
        record("user", [result("c1", "ok")], 2),
        record("assistant", [use("c2")], 3, message={"id": "m1"}),
        record("user", [result("c2", "ok")], 4),
    )
    report, sink = run(path)
    assert [event["role"] for event in sink.events()] == ["assistant", "tool", "tool"]
    assert report.figures["assistant_messages"] == 1


def test_a_reply_waits_for_a_bounded_number_of_records(tmp_path: Path) -> None:
    """CC-1: a line that comes much later is an event of its own, under a key that stays the same."""
    between = [record("user", f"turn {n}", n) for n in range(2, 2 + claude_records.WINDOW + 5)]
    first = record("assistant", [{"type": "text", "text": "one"}], 1, message={"id": "m1"})
    last = record("assistant", [{"type": "text", "text": "two"}], 900, message={"id": "m1"})
    path = write(tmp_path / "s.jsonl", first, *between, last)
    report, sink = run(path)
    assert [event["content"] for event in sink.events() if event["role"] == "assistant"] == ["one", "two"]
    assert report.figures["assistant_messages"] == 1
    assert run(path, sink)[0].added == 0


def test_many_open_calls_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CC-1: beyond the bound the oldest open call is stored pending, and its late result completes it."""
    monkeypatch.setattr("deja_tui.capture.calls.HELD_MAX", 3)
    calls = [record("assistant", [use(f"c{n}")], n, message={"id": f"m{n}"}) for n in range(1, 7)]
    late = record("user", [result(f"c{n}", "ok") for n in range(1, 7)], 8)
    report, sink = run(write(tmp_path / "s.jsonl", *calls, late))
    assert (len(sink.tools()), report.completed) == (6, 3)
    assert all(tool["is_error"] is False and tool["tool_name"] == "Bash" for tool in sink.tools())
    assert report.figures["calls_without_result"] == 0


# --- what is kept of a record -----------------------------------------------------------------------


def test_whose_words(tmp_path: Path) -> None:
    """CC-1: what the host wrote into a person's message is not the person's; what is left out of the content stays."""
    rows = [
        ("<system-reminder>be brief</system-reminder>\nfix the test", "person", "fix the test"),
        ("[Request interrupted by user for tool use]", "host", "[Request interrupted by user for tool use]"),
        ("<command-name>/review</command-name>\n<command-args>src</command-args>", "person", "/review\nsrc"),
        ("<bash-input>ls</bash-input>", "person", "! ls"),
        ("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>", "host", None),
        ("<system-reminder>never closed", "person", "<system-reminder>never closed"),
        ("a [Request interrupted by user] quoted", "person", "a [Request interrupted by user] quoted"),
    ]
    path = write(tmp_path / "s.jsonl", *(record("user", text, n) for n, (text, _, _) in enumerate(rows, 1)))
    _, sink = run(path)
    assert [(event["author"], event["content"]) for event in sink.events()] == [
        (author, text if said is None else said) for text, author, said in rows
    ]
    assert sink.events()[0]["content_blocks"] == [{"type": "text", "text": rows[0][0]}]
    assert "content_blocks" not in sink.events()[-1]


@pytest.mark.parametrize("flag", ["isMeta", "isCompactSummary"])
def test_host_records(tmp_path: Path, flag: str) -> None:
    """CC-1: a record that the host marks as its own is the host's, whatever it says."""
    _, sink = run(write(tmp_path / "s.jsonl", record("user", "this session is continued", 1, **{flag: True})))
    assert sink.events()[0]["author"] == "host"


def test_long_results_are_cut_and_say_so(tmp_path: Path) -> None:
    """CC-5: 32,768 characters of a result are kept, 500 in its event; how many went is in the grain and the report."""
    text = "é" * (TEXT_MAX + 7)
    path = write(
        tmp_path / "s.jsonl",
        record("assistant", [use("c1", content=text)], 1, message={"id": "m1"}),
        record("user", [result("c1", [{"type": "text", "text": text}], True)], 2),
    )
    report, sink = run(path)
    [tool] = sink.tools()
    assert (tool["tool_content"], tool["context"]["elided"]) == (text[:TEXT_MAX], 14)
    assert tool["input"] == {"content": text[:TEXT_MAX]}
    reply, answer = sink.events()
    assert answer["content"] == "[failed result of Bash]"
    assert len(answer["content_blocks"][0]["content"]) == claude_records.EXCERPT
    assert len(reply["content_blocks"][0]["input"]["content"]) == claude_records.EXCERPT
    assert report.figures["texts_cut"] == 1


def test_secrets_go_before_text_is_cut(tmp_path: Path) -> None:
    """CC-5: a secret across the cut leaves no half of itself, in text, input, names and titles."""
    secret = "gh" + "p_" + "a1B2" * 9
    path = write(
        tmp_path / "s.jsonl",
        record(
            "assistant", [use("c1", "tool " + secret, a=["x" * 489 + " " + secret])], 1, message={"id": "m1"}
        ),
        record("user", [result("c1", "x" * (TEXT_MAX - 5) + " " + secret)], 2, cwd="/w/" + secret),
        {"type": "summary", "summary": "about " + secret, "leafUuid": "u2"},
        record("user", "mine: " + secret, 3, sessionId=secret, uuid=secret),
    )
    report, sink = run(path)
    assert "a1B2" not in json.dumps(list(sink.heads.items()))
    assert report.figures["redacted_by_kind"] == {"github-token": 5}


def test_declined_calls_are_told_apart(tmp_path: Path) -> None:
    """CC-4: a person's no is flagged as a failure by the format and counted as one, and its cause is kept."""
    path = write(
        tmp_path / "s.jsonl",
        record("assistant", [use("c1"), use("c2")], 1, message={"id": "m1"}),
        record("user", [result("c1", "The user doesn't want to proceed with this tool use. Stop.", True)], 2),
        record("user", [result("c2", "exit 1", True)], 3),
    )
    report, sink = run(path)
    assert [tool.get("failure_cause") for tool in sink.tools()] == ["user_aborted", None]
    assert report.figures["tool_errors"] == 2


def test_only_the_flag_says_failure(tmp_path: Path) -> None:
    """CC-4: neither words nor other truthy values make a failure."""
    flags = [None, False, True, "true", 1]
    uses = record("assistant", [use(f"c{n}") for n in range(5)], 1, message={"id": "m1"})
    results = [result(f"c{n}", "Error: no", flag) for n, flag in enumerate(flags)]
    _, sink = run(write(tmp_path / "s.jsonl", uses, record("user", results, 2)))
    assert [tool["is_error"] for tool in sink.tools()] == [False, False, True, False, False]


def test_blocks_that_are_no_text(tmp_path: Path) -> None:
    """CC-5: a picture is named in its place and counted, its bytes are not kept; the turn stays."""
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 1000},
    }
    path = write(
        tmp_path / "s.jsonl",
        record("user", [picture, {"type": "text", "text": "what is this?"}], 1),
        record("assistant", [use("c1", "Shot")], 2, message={"id": "m1"}),
        record("user", [result("c1", [picture, {"type": "text", "text": "done"}])], 3),
    )
    report, sink = run(path)
    assert sink.events()[0]["content"] == "[image image/png]\n\nwhat is this?"
    assert sink.tools()[0]["tool_content"] == "[image image/png]\ndone"
    assert "QUJD" not in json.dumps(sink.heads)
    assert report.figures["left_out"] == {"image block": 1}


def test_numbers_that_grains_cannot_hold(tmp_path: Path) -> None:
    """CC-6: what JSON allows and a grain does not is kept as text."""
    path = tmp_path / "s.jsonl"
    line = json.dumps(record("assistant", [use("c1", a=1, b=2, c=3)], 1, message={"id": "m1"}))
    path.write_text(
        line.replace('"a": 1', '"a": 1e999').replace('"b": 2', '"b": ' + "9" * 30).replace("3}", "-7}")
    )
    _, sink = run(path)
    assert sink.tools()[0]["input"] == {"a": "inf", "b": "9" * 30, "c": -7}


def test_records_without_ids_keep_their_keys(tmp_path: Path) -> None:
    """CC-3: without uuid a record is known by what it says and its number among equals, also when the file grows."""
    bare = {"type": "user", "message": {"role": "user", "content": "go"}}
    path = write(tmp_path / "s.jsonl", bare, bare)
    _, sink = run(path)
    assert len(sink.events()) == 2
    write(path, bare, bare, bare)
    assert run(path, sink)[0].added == 1


def test_what_was_said_in_two_pieces_is_kept_twice(tmp_path: Path) -> None:
    """CC-3: a turn or call with neither id nor time is known by its file and its place there; copies add nothing."""
    said = {"type": "user", "sessionId": "s", "message": {"role": "user", "content": "go on"}}
    use = {"type": "tool_use", "name": "Bash", "input": {}}
    call = {"type": "assistant", "sessionId": "s", "message": {"role": "assistant", "content": [use]}}
    first = write(tmp_path / "1.jsonl", record("user", "one", 1), said, call, said)
    second = write(tmp_path / "2.jsonl", record("user", "two", 2), said, call)
    _, sink = run(first)
    told = [one["content"] for one in sink.events()]
    assert (told.count("go on"), len(sink.tools())) == (2, 1)
    run(second, sink)
    told = [one["content"] for one in sink.events()]
    assert (told.count("go on"), len(sink.tools())) == (3, 2)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(first.read_bytes())
    for again in (first, second, copy):
        assert run(again, sink)[0].added == 0
    write(first, record("user", "one", 1), said, call, said, said)
    assert run(first, sink)[0].added == 1
    # the same lines once with a time are the same moment, wherever they are copied to
    dated = write(
        tmp_path / "3.jsonl", record("user", "three", 3), said | {"timestamp": "2026-03-01T10:00:09Z"}
    )
    moved = write(
        tmp_path / "4.jsonl", record("user", "four", 4), said | {"timestamp": "2026-03-01T10:00:09Z"}
    )
    run(dated, sink)
    assert run(moved, sink)[0].added == 1  # the turn "four" alone


def test_undated_records(tmp_path: Path) -> None:
    """CC-2: records before the first time borrow that; a file without any time is dated now, and never twice."""
    rows = [record("user", f"turn {n}", n) for n in (1, 2, 3)]
    rows[0].pop("timestamp")
    path = write(tmp_path / "s.jsonl", *rows)
    _, sink = run(path)
    first, second, _ = sink.events()
    assert first["created_at"] == second["created_at"] == 1_772_359_320_000
    assert first["context"]["clock"] == {"trouble": "missing"}
    for row in rows:
        row.pop("timestamp", None)
    undated = write(tmp_path / "undated.jsonl", *rows)
    report, sink = run(undated, now_ms=NOW)
    assert {event["created_at"] for event in sink.events()} == {NOW}
    assert report.figures["records_without_usable_time"] == 3
    assert run(undated, sink, NOW + DAY)[0].added == 0


def test_the_web_form(tmp_path: Path) -> None:
    """CC-1: one object with loglines is read like the lines it holds, on one line or over many."""
    rows = [
        record("user", "go", 1),
        record("assistant", [use("c1")], 2, message={"id": "m1"}),
        record("user", [result("c1", "exit 2", True)], 3),
    ]
    for row in rows:
        row.pop("sessionId")
    plain = items_of(write(tmp_path / "p.jsonl", *(row | {"sessionId": "web-1"} for row in rows)))
    document = {"id": "web-1", "title": "t", "loglines": rows}
    (tmp_path / "pretty.json").write_text(json.dumps(document, indent=2))
    write(tmp_path / "line.jsonl", document)
    assert items_of(tmp_path / "pretty.json") == items_of(tmp_path / "line.jsonl") == plain
    assert run(tmp_path / "pretty.json")[0].figures["tool_errors"] == 1


def test_kinds_that_are_left_out_are_counted(tmp_path: Path) -> None:
    """CC-5, REP-3: bookkeeping is counted by kind; what nobody knows is a loss with its line."""
    path = write(
        tmp_path / "s.jsonl",
        record("user", "go", 1),
        {"type": "progress", "sessionId": "s1", "uuid": "p1"},
        {"type": "progress", "sessionId": "s1", "uuid": "p2"},
        {"type": "from-the-future", "sessionId": "s1"},
        {
            "type": "system",
            "content": "compacted",
            "uuid": "y1",
            "sessionId": "s1",
            "timestamp": "2026-03-01T10:09:00Z",
        },
        {"type": 7},
    )
    report, sink = run(path)
    assert report.figures["left_out"] == {"progress": 2}
    assert [(row.line, row.reason) for row in report.losses] == [
        (4, "a record of unknown type"),
        (6, "a record of unknown type"),
    ]
    assert [event["content"] for event in sink.events("notice")] == ["compacted"]


def test_loss_rows_are_bounded(tmp_path: Path) -> None:
    """REP-4: a file of rubbish lines is counted in full and listed in part."""
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(record("user", "go", 1)) + "\n" + "rubbish\n" * 1000)
    report, _ = run(path)
    assert (len(report.losses), report.loss_total, report.figures["bad_lines"]) == (LOSS_ROWS, 1000, 1000)


# --- files and folders ------------------------------------------------------------------------------


def test_missing_and_foreign(tmp_path: Path) -> None:
    """IMP-E001 for what is not there or no file, IMP-E002 for what is no session; an empty file is no error."""
    (tmp_path / "text.jsonl").write_text("hello\n")
    (tmp_path / "other.jsonl").write_text('{"type":"entity","name":"x"}\n')
    (tmp_path / "list.json").write_text("[1,\n2]\n")
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name, code in (
        ("nothing.jsonl", "IMP-E001"),
        ("pipe.jsonl", "IMP-E001"),
        ("text.jsonl", "IMP-E002"),
        ("other.jsonl", "IMP-E002"),
        ("list.json", "IMP-E002"),
        ("empty", "IMP-E002"),
    ):
        with pytest.raises(DejaError) as caught:
            run(tmp_path / name)
        assert caught.value.code == code, name
        assert caught.value.next_step
        assert name in caught.value.message, "it names what was given"
    (tmp_path / "none.jsonl").write_bytes(b"")
    report, sink = run(tmp_path / "none.jsonl")
    assert (report.figures["records"], report.added, sink.heads) == (0, 0, {})
    assert [file.file for file in report.files] == ["none.jsonl"]


def test_a_bad_file_costs_one_file(tmp_path: Path) -> None:
    """CC-6: in a folder, files that cannot be read or are foreign are loss rows; links are told and not followed."""
    good = record("user", "go", 1)
    (tmp_path / "p" / "sub").mkdir(parents=True)
    write(tmp_path / "p" / "b.jsonl", good)
    write(tmp_path / "p" / "sub" / "agent-x.jsonl", record("user", "deep", 2, agentId="x", isSidechain=True))
    (tmp_path / "p" / "a.jsonl").write_text("rubbish\n" * 3)
    os.mkfifo(tmp_path / "p" / "c.jsonl")
    write(tmp_path / "outside.jsonl", record("user", "outside", 3))
    (tmp_path / "p" / "d.jsonl").symlink_to(tmp_path / "outside.jsonl")
    (tmp_path / "p" / "loop").symlink_to(tmp_path / "p")
    (tmp_path / "p" / "notes.txt").write_text("no session")
    report, sink = run(tmp_path / "p")
    assert [event["content"] for event in sink.events()] == ["go", "deep"]
    assert [(row.file, row.line, row.reason) for row in report.losses] == [
        ("a.jsonl", 0, "a.jsonl is not a Claude Code session"),
        ("c.jsonl", 0, "c.jsonl cannot be read: not a regular file"),
        ("d.jsonl", 0, "a symbolic link, not followed"),
        ("loop", 0, "a symbolic link, not followed"),
    ]
    assert report.figures["bad_lines"] == 0
    assert report.to_json()["files"][1]["complete"] is True


def test_an_error_while_reading_keeps_what_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CC-6: a disk error in the middle of a file is a loss row of that file, which is told as not complete."""
    write(tmp_path / "a.jsonl", *(record("user", f"turn {n}", n) for n in range(1, 60)))
    write(tmp_path / "b.jsonl", record("user", "fine", 99))
    lines = claude_code._lines

    def breaking(path: Path, source: Any) -> Iterator[Any]:
        for line in lines(path, source):
            if line.number == 50 and path.name == "a.jsonl":
                raise OSError(5, "Input/output error")
            yield line

    monkeypatch.setattr(claude_code, "_lines", breaking)
    monkeypatch.setattr(files, "BATCH_BYTES", 1)
    monkeypatch.setattr(claude_records, "WINDOW", 10)
    report, _ = run(tmp_path)
    assert [(file.file, file.complete) for file in report.files] == [("a.jsonl", False), ("b.jsonl", True)]
    assert report.files[0].added == 40
    assert [row.reason for row in report.losses] == ["a.jsonl cannot be read: Input/output error"]


def test_a_failing_memory_is_not_hidden(tmp_path: Path) -> None:
    """CC-6: what the memory raises ends the import and reaches the caller."""

    class Locked:
        def capture(self, items: Any) -> Any:
            raise DejaError("STO-E004", "locked")

    with pytest.raises(DejaError) as caught:
        import_claude_code(Locked(), write(tmp_path / "s.jsonl", record("user", "go", 1)), now_ms=NOW)
    assert caught.value.code == "STO-E004"


def test_a_dry_run_stores_nothing(tmp_path: Path) -> None:
    """REP-1: with dry_run all figures are there and the memory is not asked."""
    sink = FakeSink()
    path = shared("samples/claude-code/viewer-init.jsonl")
    dry = import_claude_code(sink, path, now_ms=LATER, dry_run=True)
    assert (sink.chunks, dry.added, dry.dry_run) == ([], 0, True)
    assert dry.figures == run(path)[0].figures


def test_reports_are_json(tmp_path: Path) -> None:
    """REP-1: the report is plain JSON; its loss list and files have stable names."""
    told = run(shared("hostile/glued-records/session.jsonl"))[0].to_json()
    assert json.loads(json.dumps(told)) == told
    assert told["source"] == "claude-code"
    assert told["loss"] == [{"file": "session.jsonl", "line": 4, "reason": "not JSON"}]
    assert {"added", "skipped", "completed", "redacted", "files", "remarks", "loss_total"} <= told.keys()
    assert told["files"][0]["file"] == "session.jsonl"


# --- streaming --------------------------------------------------------------------------------------


def test_reading_is_lazy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CC-1: batches come while the file is still being read, none larger than the bound."""
    count = 3 * CHUNK
    path = write(tmp_path / "s.jsonl", *(record("user", f"turn {n}", n) for n in range(1, count + 1)))
    fed = 0
    feed = claude_records.Reader.feed

    def counting(self: Any, line: Any) -> None:
        nonlocal fed
        fed += 1
        feed(self, line)

    monkeypatch.setattr(claude_records.Reader, "feed", counting)
    batches: Iterator[Batch] = read(path, now_ms=LATER)
    first = next(batches)
    assert len(first.items) == CHUNK
    assert fed <= CHUNK + claude_records.WINDOW
    sizes = [len(first.items), *(len(batch.items) for batch in batches)]
    assert max(sizes) <= CHUNK
    assert sum(sizes) == count + 1
    assert fed == count


def test_large_batches_are_cut_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CC-1: few large records make a batch, too: memory is bounded by bytes and not by their number alone."""
    monkeypatch.setattr(files, "BATCH_BYTES", 10_000)
    monkeypatch.setattr(claude_records, "WINDOW", 2)
    path = write(tmp_path / "s.jsonl", *(record("user", "x" * 4_000, n) for n in range(1, 31)))
    assert len(list(read(path, now_ms=LATER))) > 8


# --- anything at all --------------------------------------------------------------------------------

KEYS = st.sampled_from(
    [
        "type",
        "uuid",
        "parentUuid",
        "sessionId",
        "timestamp",
        "message",
        "content",
        "id",
        "role",
        "summary",
        "loglines",
        "isMeta",
        "isSidechain",
        "usage",
        "input",
        "tool_use_id",
        "is_error",
        "name",
        "text",
        "leafUuid",
        "agentId",
    ]
)
WORDS = st.sampled_from(
    ["user", "assistant", "system", "summary", "text", "tool_use", "tool_result", "image", "c1", "u1"]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | WORDS
    | st.just("\ud83d\x00"),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=4), inner, max_size=6)
    ),
    max_leaves=20,
)
MESSAGES = st.fixed_dictionaries(
    {"type": WORDS, "message": st.dictionaries(KEYS, VALUES, max_size=5) | VALUES}
).flatmap(lambda base: st.dictionaries(KEYS, VALUES, max_size=5).map(lambda more: more | base))


@given(st.lists(VALUES | MESSAGES, max_size=8), st.integers(0, 2))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_records_are_read(tmp_path: Path, values: list[Any], torn: int) -> None:
    """CC-6: whatever a file holds, reading it ends in a report or in IMP-E002, and every item can be stored."""
    path = tmp_path / "s.jsonl"
    path.write_bytes("\n".join([*map(json.dumps, values), '{"a'[: torn * 2]]).encode())
    sink = FakeSink()
    try:
        report, _ = run(path, sink)
    except DejaError as fault:
        if fault.code != "IMP-E002" or sink.heads:
            raise
        return
    again, _ = run(path, sink)
    assert (again.added, again.completed) == (0, 0)
    for key, fields in sink.heads.items():
        assert fields["context"]["source_key"] == key
        assert isinstance(fields["created_at"], int)
        assert fields.get("content", fields.get("tool_name")).strip()
        json.dumps(fields, allow_nan=False, ensure_ascii=False).encode("utf-8")
    figures = report.figures
    assert (
        figures["tool_calls"] - figures["calls_without_result"]
        == figures["tool_results"] - figures["results_without_call"]
    )
