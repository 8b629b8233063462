# SPDX-License-Identifier: Apache-2.0
"""``deja import claude-code`` and ``record-tool-call``: real sessions into a memory, and what the loop finds in them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from deja_tui import Memory
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


def test_the_loop_finds_what_fails_in_real_sessions(
    deja: Deja, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real sessions, looked at when they were written: what failed twice the same way is found at a lower threshold,
    and at the default one the run says how many it has and needs."""
    folder = shared("samples/claude-code")
    path = tmp_path / "a.deja"
    assert deja("import", "claude-code", folder, "--db", path).code == 0
    monkeypatch.setenv("DEJA_LOOP_NOW_MS", "1760000000000")
    told = deja("loop", "run", "--db", path).out
    assert "failures of one kind in the last 30 days" in told
    with Memory.open(path) as memory:
        errors = [grain for grain in memory.store.scan("tool") if grain.get("is_error") is True]
        found = memory.substrate.tool_failures(0, 1_800_000_000_000, 0, None)
    assert errors
    assert sum(cluster.count for cluster in found) > 0


def test_a_failing_tool_in_a_session_becomes_a_recommendation(deja: Deja, tmp_path: Path) -> None:
    """Imported, run, found, with the injected sentence only as fenced evidence."""
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


def test_a_dry_run_says_what_an_import_would_do_and_stores_nothing(deja: Deja, tmp_path: Path) -> None:
    """Without a file none is made; with one, what is known already counts as known."""
    source = shared("samples/claude-code/viewer-init.jsonl")
    path = tmp_path / "a.deja"
    first = deja("import", "claude-code", source, "--dry-run", "--db", path, "--format", "json").json
    assert first["tool_calls"] == 12
    assert first["added"] > 12
    assert not path.exists()
    real = deja("import", "claude-code", source, "--db", path, "--format", "json").json
    assert real["added"] == first["added"]
    before = deja("stats", "--db", path).out
    again = deja("import", "claude-code", source, "--dry-run", "--db", path, "--format", "json").json
    assert (again["added"], again["skipped"]) == (0, real["added"])
    assert deja("stats", "--db", path).out == before


def test_a_source_that_cannot_be_read_makes_no_memory(deja: Deja, tmp_path: Path) -> None:
    """A typo in the path leaves nothing behind; an empty session is an empty import."""
    path, empty = tmp_path / "a.deja", tmp_path / "empty.jsonl"
    (tmp_path / "folder").mkdir()
    (tmp_path / "foreign.txt").write_text("hello\n")
    for source in (tmp_path / "none", tmp_path / "folder", tmp_path / "foreign.txt"):
        done = deja("import", "claude-code", source, "--db", path)
        assert done.code == 1
        assert str(source) in done.err or "IMP-E002" in done.err
        assert not path.exists()
    empty.touch()
    assert deja("import", "claude-code", empty, "--db", path).code == 0
    assert path.exists()


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
