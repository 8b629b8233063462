# SPDX-License-Identifier: Apache-2.0
"""``deja import claude-code`` and ``record-tool-call``: real sessions into a memory, and what the loop finds in them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.cli.conftest import Deja
from tests.support import shared

COUNTS = (
    "records", "bad_lines", "non_object_records", "record_types", "sessions", "user_text_records", "meta_user_records",
    "assistant_messages", "tool_calls", "tool_results", "tool_errors", "errors_by_tool", "calls_without_result",
    "results_without_call", "sidechain_records", "duplicate_uuids", "calls_by_tool",
)  # fmt: skip


def test_real_sessions_have_the_counts_of_the_answer_key(deja: Deja, tmp_path: Path) -> None:
    """Each sample file; the second import adds nothing; the file verifies."""
    folder = shared("samples/claude-code")
    expected = json.loads(shared("samples/expected.json").read_text())["claude-code"]
    path = tmp_path / "a.deja"
    for name, wanted in expected.items():
        report = deja("import", "claude-code", folder / name, "--db", path, "--format", "json").json
        assert {key: report[key] for key in COUNTS} == {key: wanted[key] for key in COUNTS}, name
    again = deja("import", "claude-code", folder, "--db", path, "--format", "json").json
    assert (again["added"], again["completed"]) == (0, 0)
    assert deja("verify", "--db", path).code == 0


def test_the_loop_finds_what_fails_in_real_sessions(deja: Deja, tmp_path: Path, monkeypatch: object) -> None:
    """An imported folder whose sessions fail the same way three times becomes a recommendation."""
    source = shared("hostile/injected-instructions/session.jsonl")
    path = tmp_path / "a.deja"
    done = deja("import", "claude-code", source, "--loop", "--db", path, "--format", "json")
    assert done.json["run"]["stored"] == 1
    (row,) = deja("loop", "list", "--db", path, "--format", "json").json["recommendations"]
    assert "fetch_page: 4 of 5 calls" in row["summary"]


def test_a_grown_file_adds_exactly_what_is_new(deja: Deja, tmp_path: Path) -> None:
    """A torn tail is reported with its line and is taken once the writer has finished it."""
    path, session = tmp_path / "a.deja", tmp_path / "session.jsonl"
    shutil.copy(shared("hostile/torn-last-line/before.jsonl"), session)
    first = deja("import", "claude-code", session, "--db", path, "--format", "json").json
    assert first["bad_lines"] == 1
    assert first["loss_total"] == 1
    shutil.copy(shared("hostile/torn-last-line/after.jsonl"), session)
    second = deja("import", "claude-code", session, "--db", path, "--format", "json").json
    assert second["bad_lines"] == 0
    assert second["added"] + second["completed"] > 0
    third = deja("import", "claude-code", session, "--db", path, "--format", "json").json
    assert (third["added"], third["completed"]) == (0, 0)


def test_the_same_calls_in_two_files_are_counted_once(deja: Deja, tmp_path: Path) -> None:
    """Tool-use ids identify a call across files (3 calls, 2 failures)."""
    folder = shared("hostile/same-records-twice")
    path = tmp_path / "a.deja"
    for name in ("one.jsonl", "continued.jsonl", "one-copy.jsonl", "one.jsonl"):
        assert deja("import", "claude-code", folder / name, "--db", path).code == 0
    grains = deja("recall", "--type", "tool", "-k", "100", "--db", path, "--format", "json").json["grains"]
    assert len(grains) == 3
    assert sum(grain["fields"]["is_error"] for grain in grains) == 2


def test_a_dry_run_stores_nothing(deja: Deja, tmp_path: Path) -> None:
    """It reads and reports only."""
    source = shared("samples/claude-code/viewer-init.jsonl")
    path = tmp_path / "a.deja"
    report = deja("import", "claude-code", source, "--dry-run", "--db", path, "--format", "json").json
    assert report["tool_calls"] == 12
    assert deja("stats", "--db", path, "--format", "json").json["grains"] == 0


def test_what_is_not_a_session_is_a_coded_error(deja: Deja, tmp_path: Path) -> None:
    """A missing path, a foreign file, an unknown kind."""
    path = tmp_path / "a.deja"
    foreign = tmp_path / "x.jsonl"
    foreign.write_text('{"hello": "world"}\n{"a": 1}\n')
    for argv, code, told in (
        (("import", "claude-code", tmp_path / "none"), 1, "IMP-E001"),
        (("import", "claude-code", foreign), 1, "IMP-E002"),
        (("import", "mem1", foreign), 64, "claude-code"),
    ):
        done = deja(*argv, "--db", path)
        assert done.code == code
        assert told in done.err


def test_record_tool_call_stores_one_call(deja: Deja, tmp_path: Path) -> None:
    """Three of them are a finding; input must be JSON."""
    path = tmp_path / "a.deja"
    for number in range(3):
        done = deja("record-tool-call", "curl", "timeout", "--error", "--call-id", str(number), "--db", path)
        assert done.code == 0
        assert len(done.out.strip()) == 64
    assert deja("loop", "run", "--db", path, "--format", "json").json["stored"] == 1
    assert deja("record-tool-call", "curl", "x", "--input", "{", "--db", path).code == 64


def test_declined_calls_and_results_without_a_call_count_in_no_rate(deja: Deja, tmp_path: Path) -> None:
    """What a person declined is no failure of the tool; a result whose call is missing belongs to no tool."""
    path, session = tmp_path / "a.deja", tmp_path / "s.jsonl"
    base = {"sessionId": "s1", "version": "2.0"}
    declined = "The user doesn't want to proceed with this tool use. The tool use was rejected"
    rows = []
    for number in range(5):
        at = f"2026-03-01T10:00:{number:02d}Z"
        call = {"type": "tool_use", "id": f"c{number}", "name": "Edit", "input": {}}
        rows.append(base | {"type": "assistant", "uuid": f"a{number}", "timestamp": at, "message": {"id": f"m{number}", "role": "assistant", "content": [call]}})  # fmt: skip
        for name, text in ((f"c{number}", declined), (f"lost{number}", "exit 2")):
            result = {"type": "tool_result", "tool_use_id": name, "content": text, "is_error": True}
            rows.append(base | {"type": "user", "uuid": f"u{name}", "timestamp": at, "message": {"role": "user", "content": [result]}})  # fmt: skip
    session.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = deja("import", "claude-code", session, "--loop", "--db", path, "--format", "json").json
    assert (done["tool_errors"], done["results_without_call"]) == (10, 5)
    assert (done["run"]["stored"], done["run"]["new_error_events"]) == (0, 0)


def test_the_report_is_readable_and_names_what_was_masked(deja: Deja, tmp_path: Path) -> None:
    """Text, with secrets: kinds and counts, never the value."""
    source = shared("vectors/transcripts/claude")
    done = deja("import", "claude-code", source, "--db", tmp_path / "a.deja")
    assert done.code == 0, done.err
    assert "masked" in done.out
    assert "next: deja loop run" in done.out
