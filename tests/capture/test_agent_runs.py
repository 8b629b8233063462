# SPDX-License-Identifier: Apache-2.0
"""Importers of what agents did: Codex, chat messages, benchmarks, trajectories, exports, spans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deja_tui.capture import registry
from deja_tui.capture.calls import HELD_MAX
from deja_tui.capture.files import import_path
from deja_tui.capture.importers.codex import failure
from deja_tui.capture.importers.swe_agent import looks_failed
from deja_tui.capture.report import ImportReport
from tests.capture.sink import FakeSink

NOW = 1_800_000_000_000
AT = "2026-03-01T10:00:00Z"
AT_MS = 1_772_359_200_000


def run(kind: str, path: Path, sink: FakeSink | None = None) -> tuple[ImportReport, FakeSink]:
    store = sink or FakeSink()
    return import_path(store, registry.source(kind), path, now_ms=NOW), store


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def whole(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def tools(sink: FakeSink) -> list[tuple[str, object, object]]:
    """(tool, failed, text) of each tool grain, in the order they were stored."""
    return [(tool["tool_name"], tool.get("is_error"), tool.get("tool_content")) for tool in sink.tools()]


def said(sink: FakeSink) -> list[tuple[str, str]]:
    return [(turn["role"], turn["content"]) for turn in sink.events()]


# --- Codex ------------------------------------------------------------------------------------------


def item(payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": AT, "type": "response_item", "payload": payload}


META = {"timestamp": AT, "type": "session_meta", "payload": {"id": "s1", "cwd": "/srv/shop"}}


def message(role: str, text: str) -> dict[str, Any]:
    return item({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})


def test_codex_event_messages_tell_nothing_new(tmp_path: Path) -> None:
    """CODEX-1: what stands as a response item and as an event message is one turn; the second is counted as left out."""
    event = {"timestamp": AT, "type": "event_msg", "payload": {"type": "user_message", "message": "fix it"}}
    report, sink = run("codex", lines(tmp_path / "r.jsonl", META, message("user", "fix it"), event))
    assert said(sink) == [("user", "fix it")]
    assert report.figures["left_out"] == {"event_msg": 1}


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ("Wall time: 1 s\nProcess exited with code 0\nOutput:\nProcess exited with code 3\n", None),
        ("Chunk ID: 1\nProcess exited with code 127\nOutput:\nnot found", "exit 127"),
        ("Exit code: 2\nWall time: 1 s\nOutput:\nx", "exit 2"),
        ('{"output": "bad", "metadata": {"exit_code": 1}}', "exit 1"),
        ('{"output": "fine", "metadata": {"exit_code": 0}}', None),
        ("failed to parse function arguments: missing field", "bad arguments"),
        ("unsupported call: read_file", "unknown tool"),
        ("Error: this is what the command printed", None),
    ],
)
def test_codex_failures(output: str, kind: str | None) -> None:
    """CODEX-2: a failure is read from the head of an output; what a command prints is not believed."""
    assert failure(output)[1] == kind


def test_codex_host_text_is_the_hosts(tmp_path: Path) -> None:
    """CODEX-3, TALK-3: an environment block in the user's mouth is the host's, the person's words are a person's."""
    records = (META, message("user", "<environment_context>\nx</environment_context>"), message("user", "hi"))
    _, sink = run("codex", lines(tmp_path / "r.jsonl", *records))
    assert [turn["author"] for turn in sink.events()] == ["host", "person"]


def test_codex_a_call_that_is_told_again(tmp_path: Path) -> None:
    """CODEX-4: a call id that is used twice before its result is one call, of the later tool."""
    calls = [
        item({"type": "function_call", "call_id": "c", "name": name, "arguments": "{}"})
        for name in ("shell", "apply_patch")
    ]
    answer = item({"type": "function_call_output", "call_id": "c", "output": "done"})
    report, sink = run("codex", lines(tmp_path / "r.jsonl", META, *calls, answer))
    assert tools(sink) == [("apply_patch", False, "done")]
    assert report.figures["calls_by_tool"] == {"apply_patch": 1}


# --- chat messages ----------------------------------------------------------------------------------


def test_one_file_may_hold_all_shapes(tmp_path: Path) -> None:
    """OAI-1: a message, a conversation, a logged result and a flat transcript in one file."""
    path = lines(
        tmp_path / "a.jsonl",
        {"role": "user", "content": "hello"},
        {"messages": [{"role": "assistant", "content": "yes"}]},
        {"tool_name": "search", "output": {"hits": 3}},
        {"messages_display": "user: flat\nassistant: None\ntool: Error: no such user"},
    )
    report, sink = run("openai", path)
    assert said(sink) == [("user", "hello"), ("assistant", "yes"), ("user", "flat")]
    assert tools(sink) == [
        ("search", False, '{"hits":3}'),
        ("(call not in file)", True, "Error: no such user"),
    ]
    assert report.figures["records"] == 4


def test_a_growing_file_keeps_its_keys(tmp_path: Path) -> None:
    """OAI-2, TALK-2, DESK-3: loose messages are one conversation, known by the first; equal ones are told apart by number."""
    first = {"role": "user", "content": "go on"}
    path = lines(tmp_path / "a.jsonl", first, {"role": "assistant", "content": "ok"}, first)
    _, sink = run("openai", path)
    assert len(sink.events()) == 3
    lines(
        path, first, {"role": "assistant", "content": "ok"}, first, {"role": "assistant", "content": "done"}
    )
    report, _ = run("openai", path, sink)
    assert (report.added, report.skipped) == (1, 3)


@pytest.mark.parametrize(
    ("record", "failed"),
    [
        ({"content": "Error: no"}, True),
        ({"content": "no Error here"}, False),
        ({"content": "Error: no", "is_error": False}, False),
        ({"content": "fine", "is_error": True}, True),
        ({"error": {"type": "timeout"}}, True),
        ({"error": "", "content": "fine"}, False),
    ],
)
def test_what_a_logged_failure_is(record: dict[str, Any], failed: bool, tmp_path: Path) -> None:
    """OAI-3, MSG-4: a flag decides, else an error that is not empty, else a text that begins with Error."""
    _, sink = run("openai", lines(tmp_path / "a.jsonl", {"tool_name": "t", **record}))
    assert [tool["is_error"] for tool in sink.tools()] == [failed]


def test_flat_transcripts_make_up_no_calls(tmp_path: Path) -> None:
    """OAI-4: results of a flat transcript are of no known call, so they count in no failure rate."""
    report, sink = run("openai", lines(tmp_path / "a.jsonl", {"messages_display": "tool: Error: x"}))
    assert (report.figures["tool_calls"], report.figures["tool_errors"]) == (0, 1)
    assert sink.tools()[0]["call_missing"] is True


def test_calls_in_every_form(tmp_path: Path) -> None:
    """MSG-1: a call with and without function around its name, and the old function_call; arguments become data."""
    path = lines(
        tmp_path / "a.jsonl",
        {
            "role": "assistant",
            "tool_calls": [{"id": "1", "function": {"name": "a", "arguments": '{"x": 1}'}}],
        },
        {"role": "assistant", "tool_calls": [{"id": "2", "name": "b", "arguments": {"y": 2}}]},
        {"role": "assistant", "function_call": {"name": "c", "arguments": "not json"}},
        {"role": "tool", "tool_call_id": "1", "content": "one"},
        {"role": "function", "name": "c", "content": "three"},
        {"role": "tool", "tool_call_id": "2", "content": "two"},
    )
    _, sink = run("openai", path)
    assert [(tool["tool_name"], tool["input"], tool["tool_content"]) for tool in sink.tools()] == [
        ("a", {"x": 1}, "one"),
        ("c", "not json", "three"),
        ("b", {"y": 2}, "two"),
    ]


def test_results_without_an_id(tmp_path: Path) -> None:
    """MSG-2: a result without an id belongs to the oldest open call of its name; else it stands alone with its tool."""
    call = {"role": "assistant", "tool_calls": [{"function": {"name": "a"}}, {"function": {"name": "a"}}]}
    results = [{"role": "tool", "name": "a", "content": text} for text in ("first", "second", "third")]
    report, sink = run("openai", lines(tmp_path / "a.jsonl", call, *results))
    assert [tool["tool_content"] for tool in sink.tools()] == ["first", "second", "third"]
    assert (report.figures["tool_calls"], report.figures["results_without_call"]) == (2, 1)


def test_results_without_an_id_pass_by_what_was_answered(tmp_path: Path) -> None:
    """MSG-2, MSG-5: a call that has its result waits no more; of very many that wait the oldest are given up."""
    use = {
        "role": "assistant",
        "tool_calls": [{"id": "x", "function": {"name": "a"}}, {"function": {"name": "a"}}],
    }
    answers = (
        {"role": "tool", "tool_call_id": "x", "content": "by id"},
        {"role": "tool", "name": "a", "content": "by name"},
    )
    _, sink = run("openai", lines(tmp_path / "a.jsonl", use, *answers))
    assert sorted(tool["tool_content"] for tool in sink.tools()) == ["by id", "by name"]
    calls = [
        {"role": "assistant", "tool_calls": [{"id": f"c{n}", "function": {"name": "b"}}]}
        for n in range(HELD_MAX + 1)
    ]
    _, sink = run(
        "openai", lines(tmp_path / "b.jsonl", *calls, {"role": "tool", "name": "b", "content": "late"})
    )
    (told,) = (tool["tool_call_id"] for tool in sink.tools() if tool.get("tool_content") == "late")
    assert told.endswith("/c1")


def test_parts_of_a_session_in_several_files(tmp_path: Path) -> None:
    """DESK-3, OAI-2: what was said twice in one session is kept twice, by its time or by its file; copies add nothing."""
    turn = {"session_id": "s", "role": "user", "content": "go on"}
    one = lines(
        tmp_path / "1.jsonl",
        {"session_id": "s", "role": "user", "content": "one"},
        turn,
        turn | {"created_at": AT},
    )
    two = lines(
        tmp_path / "2.jsonl",
        {"session_id": "s", "role": "user", "content": "two"},
        turn,
        turn | {"created_at": AT_MS + 5_000},
    )
    copy = tmp_path / "3.jsonl"
    copy.write_bytes(one.read_bytes())
    sink = run("openai", one)[1]
    for path, added in ((two, 3), (copy, 0), (one, 0)):
        assert import_path(sink, registry.source("openai"), path, now_ms=NOW).added == added, path
    assert [text for _, text in said(sink)].count("go on") == 4


def test_an_id_that_is_used_again_is_another_call(tmp_path: Path) -> None:
    """MSG-3: an answered id names a new call when it is used again; a second result for one call stays the second."""
    use = {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "a"}}]}
    answer = {"role": "tool", "tool_call_id": "x", "content": "r"}
    report, sink = run("openai", lines(tmp_path / "a.jsonl", use, answer, answer, use, answer))
    assert len(sink.tools()) == 2
    assert [note["reason"] for note in report.remarks if "second" in note["reason"]] == [
        "a second result for a call: the first one counts"
    ]


# --- what every desk does ---------------------------------------------------------------------------


def test_times_are_borrowed_and_marked(tmp_path: Path) -> None:
    """DESK-2: before any known time a record lies in the hour before the import; later it borrows the last known time."""
    path = lines(
        tmp_path / "a.jsonl",
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b", "created_at": AT},
        {"role": "user", "content": "c"},
        {"role": "user", "content": "d", "created_at": "tomorrow"},
    )
    report, sink = run("openai", path)
    times = [turn["created_at"] for turn in sink.events()]
    assert NOW - 3_600_000 < times[0] <= NOW
    assert times[1:] == [AT_MS, AT_MS, AT_MS]
    assert [turn["context"].get("clock") for turn in sink.events()][1:] == [
        None,
        {"trouble": "missing"},
        {"found": "tomorrow", "trouble": "unreadable"},
    ]
    assert report.figures["records_without_usable_time"] == 3


def test_secrets_go_and_long_texts_are_cut(tmp_path: Path) -> None:
    """DESK-1: a secret is masked in every field that is kept, text is well formed and cut, and all is counted."""
    secret = "gh" + "p_" + "a1B2" * 9
    path = lines(
        tmp_path / "a.jsonl",
        {"role": "user", "content": f"token {secret} \ud83d end"},
        {"tool_name": "t", "output": "x" * 40_000, "input": {"key": secret}},
    )
    report, sink = run("openai", path)
    assert secret not in json.dumps(sink.heads)
    assert "\ud83d" not in sink.events()[0]["content"]
    assert len(sink.tools()[0]["tool_content"]) == 32_768
    assert sink.tools()[0]["context"]["elided"] == 40_000 - 32_768
    assert (report.figures["redacted"], report.figures["texts_cut"]) == (2, 1)


def test_one_event_a_session_and_no_event_for_a_result(tmp_path: Path) -> None:
    """TALK-1: a session is one event, a turn that only calls says so, a result lives in its tool grain."""
    calls = item({"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"})
    answer = item({"type": "function_call_output", "call_id": "c", "output": "files"})
    _, sink = run("codex", lines(tmp_path / "r.jsonl", META, META, calls, answer))
    assert len(sink.events("session")) == 1
    assert said(sink) == []
    path = lines(tmp_path / "a.jsonl", {"role": "assistant", "tool_calls": [{"function": {"name": "ls"}}]})
    assert said(run("openai", path)[1]) == [("assistant", "[calls ls]")]


# --- benchmarks and trajectories --------------------------------------------------------------------


def test_tau_bench(tmp_path: Path) -> None:
    """TAU-1, TAU-3: a trajectory is a session known by its digest; a result that begins with Error failed."""
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "book"}}]}
    traj = [call, {"role": "tool", "tool_call_id": "1", "content": "Error: full"}]
    path = whole(tmp_path / "t.json", [{"task_id": 1, "reward": 0.0, "traj": traj}])
    report, sink = run("tau-bench", path)
    assert tools(sink) == [("book", True, "Error: full")]
    assert report.figures["rewards"] == {"0.0": 1}
    assert run("tau-bench", path, sink)[0].added == 0


def test_tau2(tmp_path: Path) -> None:
    """TAU-2: the error flag decides, a voice run without messages is a loss."""
    call = {"role": "user", "tool_calls": [{"id": "1", "name": "toggle", "arguments": {}}]}
    messages = [call, {"role": "tool", "id": "1", "content": "Error in words only", "error": False}]
    simulations = [{"id": "s", "messages": messages}, {"id": "v", "ticks": []}]
    report, sink = run("tau2", whole(tmp_path / "t.json", {"simulations": simulations, "tasks": []}))
    assert tools(sink) == [("toggle", False, "Error in words only")]
    assert [loss.line for loss in report.losses] == [2]


def test_swe_agent_reads_steps_and_leaves_demonstrations_out(tmp_path: Path) -> None:
    """SWE-1, SWE-3: steps give call and observation, the last one too; a demonstration is none of the run."""
    history = [{"role": "user", "content": "demo", "is_demo": True}, {"role": "user", "content": "the task"}]
    steps = [
        {"action": "ls -la\n", "observation": "files", "response": "look"},
        {"action": "submit\n", "observation": "sent", "response": "done"},
    ]
    path = whole(tmp_path / "a.traj", {"history": history, "trajectory": steps, "environment": "x"})
    report, sink = run("swe-agent", path)
    assert tools(sink) == [("ls", False, "files"), ("submit", False, "sent")]
    assert said(sink)[0] == ("user", "the task")
    assert report.figures["demo_messages"] == 1


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("Traceback (most recent call last):\n  x\nKeyError: 1", True),
        ("bash: foo: command not found", True),
        ("cannot open `x' (No such file or directory)", True),
        ("the word error, and Error handling in prose", False),
        ("0 errors", False),
    ],
)
def test_signs_of_failure_in_text(text: str, sign: bool) -> None:
    """SWE-2: only a form of its own is a sign of failure."""
    assert looks_failed(text) is sign


def test_mini_swe_agent(tmp_path: Path) -> None:
    """MINI-1, MINI-2, MINI-3: both forms; the return code decides; the text form's block is a call of bash."""
    text = [
        {"role": "assistant", "content": "look\n```bash\nls\n```"},
        {"role": "user", "content": "<returncode>2</returncode>\n<output>no</output>"},
    ]
    report, sink = run("mini-swe-agent", whole(tmp_path / "a.traj.json", text))
    assert [(tool["tool_name"], tool["input"], tool["is_error"]) for tool in sink.tools()] == [
        ("bash", {"command": "ls"}, True)
    ]
    assert report.figures["return_codes"] == {"2": 1}
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "bash", "arguments": "{}"}}]}
    answer = {"role": "tool", "tool_call_id": "1", "content": "Error?", "extra": {"returncode": 0}}
    value = {"info": {"exit_status": "Submitted"}, "messages": [call, answer], "trajectory_format": "x-1"}
    report, sink = run("mini-swe-agent", whole(tmp_path / "b.traj.json", value))
    assert tools(sink) == [("bash", False, "Error?")]
    assert (report.figures["exit_status"], report.figures["format"]) == ("Submitted", "x-1")


def test_openhands(tmp_path: Path) -> None:
    """OH-1, OH-2, OH-3: pairs or a flat list; an error observation or an exit code is a failure, words are not."""
    pairs = [
        [{"action": "run", "command": "make"}, {"observation": "run", "content": "boom", "exit_code": 2}],
        [
            {"action": "run_ipython", "code": "1"},
            {"observation": "run_ipython", "content": "Error: in words"},
        ],
    ]
    flat = [
        {"action": "message", "content": "the task"},
        {"action": "read", "path": "/x"},
        {"observation": "error", "content": "no such file"},
        {"action": "finish", "thought": "done"},
    ]
    report, sink = run("openhands", lines(tmp_path / "o.jsonl", {"history": pairs}, {"history": flat}))
    assert tools(sink) == [
        ("run", True, "boom"),
        ("run_ipython", False, "Error: in words"),
        ("read", True, "no such file"),
    ]
    assert report.figures["sessions"] == 2
    assert run("openhands", tmp_path / "o.jsonl", sink)[0].added == 0


def test_bfcl_invents_nothing(tmp_path: Path) -> None:
    """BFCL-1: expected calls are counted and left out; questions become turns."""
    question = {"id": "q", "question": [[{"role": "user", "content": "move it"}]], "involved_classes": []}
    answer = {"id": "q", "ground_truth": [["mv(a='x')", "ls()"]]}
    report, sink = run("bfcl", lines(tmp_path / "b.jsonl", question, answer))
    assert (said(sink), sink.tools()) == ([("user", "move it")], [])
    assert (report.figures["expected_calls"], report.figures["left_out"]) == (2, {"expected call": 2})


# --- exports and spans ------------------------------------------------------------------------------


def node(name: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    told = {
        "id": name,
        "author": {"role": role, "name": "browser"},
        "content": content,
        "create_time": AT_MS / 1000,
    }
    return {"id": name, "parent": parent, "children": [], "message": {**told, **more}}


def test_chatgpt(tmp_path: Path) -> None:
    """GPT-1, GPT-2, GPT-3: the current branch is what was said; tools are results; empty messages are left out."""
    mapping = {
        "root": {"id": "root", "parent": None, "children": ["a"], "message": None},
        "a": node("a", "root", "user", "hello"),
        "b": node("b", "a", "assistant", "another branch"),
        "c": node("c", "a", "tool", "", content={"content_type": "system_error", "text": "no network"}),
        "d": node("d", "c", "assistant", ""),
        "e": node("e", "d", "assistant", "sorry"),
    }
    path = whole(
        tmp_path / "conversations.json", [{"id": "k", "title": "T", "mapping": mapping, "current_node": "e"}]
    )
    report, sink = run("chatgpt", path)
    assert said(sink) == [("user", "hello"), ("assistant", "sorry")]
    assert tools(sink) == [("browser", True, "no network")]
    left = report.figures["left_out"]
    assert left == {"message on another branch": 1, "message without text": 1, "node without message": 1}
    mapping["e"]["parent"] = "e"  # links that run in a circle end the branch
    whole(path, [{"id": "k", "mapping": mapping, "current_node": "gone"}])
    assert run("chatgpt", path)[0].figures["conversations"] == 1


def span(name: str, **attributes: str) -> dict[str, Any]:
    told = [
        {"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in attributes.items()
    ]
    return {
        "traceId": "t",
        "spanId": name,
        "name": name,
        "attributes": told,
        "endTimeUnixNano": str(AT_MS * 1_000_000),
    }


def test_spans(tmp_path: Path) -> None:
    """OTEL-1, OTEL-2, OTEL-3, OTEL-4: tool spans are calls, errors by number or name or exception, messages once."""
    messages = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "weather?"}]}])
    tool = {
        "gen_ai__operation__name": "execute_tool",
        "gen_ai__tool__name": "get",
        "gen_ai__conversation__id": "c",
    }
    chat = {
        "gen_ai__operation__name": "chat",
        "gen_ai__input__messages": messages,
        "gen_ai__conversation__id": "c",
    }
    exception = {
        "name": "exception",
        "attributes": [{"key": "exception.message", "value": {"stringValue": "late"}}],
    }
    spans = [
        span("1", **tool, gen_ai__tool__call__result="sunny"),
        {**span("2", **tool), "status": {"code": 2, "message": "boom"}},
        {**span("3", **tool), "status": {"code": "STATUS_CODE_ERROR"}, "events": [exception]},
        span("4", **chat),
        span("5", **chat),
        span("6", http__method="GET"),
    ]
    path = lines(tmp_path / "s.jsonl", {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    report, sink = run("otel", path)
    assert tools(sink) == [("get", False, "sunny"), ("get", True, "boom"), ("get", True, "late")]
    assert said(sink) == [("user", "weather?")]
    assert report.figures["left_out"] == {"span of no GenAI operation": 1}
    assert run("otel", path, sink)[0].added == 0


def test_openai_a_line_is_one_loss(tmp_path: Path) -> None:
    """REP-3: a line that holds a list of no records is one line that was lost; what else is on a line is taken."""
    path = tmp_path / "a.jsonl"
    said = {"role": "user", "content": "hello"}
    path.write_text(f"{json.dumps(said)}\n[1, 2]\n7\n{json.dumps([said | {'content': 'again'}, 3, 4])}\n")
    report, sink = run("openai", path)
    assert [(loss.line, loss.reason) for loss in report.losses] == [(n, "not an object") for n in (2, 3, 4)]
    assert report.figures["non_object_records"] == 3
    assert [one["content"] for one in sink.events()] == ["hello", "again"]


def test_openai_an_array_is_read_however_it_is_laid_out(tmp_path: Path) -> None:
    """On one line or over several: the same grains, and the kind is guessed."""
    told = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    path = tmp_path / "a.json"
    found = []
    for indent in (None, 1):
        path.write_text(json.dumps(told, indent=indent))
        assert registry.guess(path).source.kind == "openai"
        report, sink = run("openai", path)
        assert report.loss_total == 0
        found.append(sink.heads)
    assert found[0] == found[1]
    assert len(found[0]) >= 2
