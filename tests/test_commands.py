# SPDX-License-Identifier: Apache-2.0
"""Analyzer commands as processes: the examples, the time limit, the process group, bounded output, names."""

from __future__ import annotations

import ast
import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from deja_tui import Memory
from deja_tui.commands import MAX_COMMANDS, Process, connect, words
from deja_tui.engine.external import MAX_REPLY, CommandAnalyzer, probe_request
from deja_tui.engine.objects import RunOutcome
from tests.engine.helpers import refused
from tests.support import DAY, NOW, ROOT

EXAMPLES = ROOT / "examples" / "analyzers"
PYTHON = sys.executable


def script(folder: Path, body: str) -> str:
    """A command line that runs ``body``, with the request read into ``ask``."""
    path = folder / f"analyzer-{len(list(folder.iterdir()))}.py"
    path.write_text(f"import json, os, subprocess, sys, time\nask = json.load(sys.stdin)\n{body}\n")
    return f"'{PYTHON}' -S '{path}'"


ECHO = "print(json.dumps({'title': 'Echo'} if ask['op'] == 'probe' else {'findings': []}))"
FINDS = (
    "print(json.dumps({} if ask['op'] == 'probe' else {'findings': [{'target': 'entity:shared/' + g['fields']['subject'],"
    " 'summary': 'seen', 'evidence': [g['hash']]} for g in ask['grains']]}))"
)


def connected(
    flags: Sequence[str], taken: Sequence[str] = (), limit_ms: int = 5_000
) -> list[CommandAnalyzer]:
    return connect(flags, taken=taken, ask=lambda query: [], watermark=lambda name: None, limit_ms=limit_ms)


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW) as opened:
        opened.add_fact("acme", "likes", "tea")
        yield opened


def reasons(outcome: RunOutcome) -> dict[str, str]:
    """Why analyzers did not look, but for those that are off or lack something here."""
    idle = ("disabled", "missing ")
    return {one.id: one.reason for one in outcome.analyzers_skipped if not one.reason.startswith(idle)}


# --- processes ---------------------------------------------------------------------------------------


def test_a_command_gets_the_request_and_gives_the_answer(tmp_path: Path) -> None:
    """Whole, over stdin and stdout, far above the size of a pipe."""
    command = script(tmp_path, "print(json.dumps({'n': len(ask['x'])}))")
    request = json.dumps({"x": "y" * 500_000}).encode()
    assert json.loads(Process(words(command), request, 60_000).answer()) == {"n": 500_000}


def test_a_command_that_reads_nothing_may_answer(tmp_path: Path) -> None:
    """A closed stdin is no failure."""
    path = tmp_path / "deaf.py"
    path.write_text("print('{}')")
    assert Process((PYTHON, "-S", str(path)), b"x" * 500_000, 60_000).answer() == b"{}\n"


def test_there_is_no_shell(tmp_path: Path) -> None:
    """Signs of a shell are ordinary text of an argument."""
    path = tmp_path / "show.py"
    path.write_text("import json, sys\nprint(json.dumps(sys.argv[1:]))")
    command = f"'{PYTHON}' -S '{path}' ';' touch \"$HOME\" '`id`' '|' x"
    assert json.loads(Process(words(command), b"", 60_000).answer()) == [
        ";",
        "touch",
        "$HOME",
        "`id`",
        "|",
        "x",
    ]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def gone(pid: int) -> bool:
    for _ in range(100):
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.skipif(os.name != "posix", reason="process groups are of POSIX systems")
@pytest.mark.parametrize("how", ["time.sleep(60)", "pass"], ids=["too late", "leaves a child"])
def test_nothing_a_command_started_is_left(tmp_path: Path, how: str) -> None:
    """Issue 5 point 10: the whole process group ends with the call, after the limit and after a good end."""
    note = tmp_path / "pid"
    child = f"p = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)']); open({str(note)!r}, 'w').write(str(p.pid)); print('{{}}', flush=True); {how}"
    process = Process(words(script(tmp_path, child)), b"{}", 4_000 if "sleep" in how else 60_000)
    if how == "pass":
        assert process.answer() == b"{}\n"
    else:
        with refused("LOP-E051") as caught:
            process.answer()
        assert "took longer than 4s and was stopped" in str(caught.value)
    assert gone(int(note.read_text()))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("sys.exit(3)", "ended with status 3"),
        (
            "sys.stderr.write('first\\nno such \\x1b[31mtable\\n'); sys.exit(1)",
            "it says «no such \\x1b[31mtable»",
        ),
        ("while True: sys.stdout.write('x' * 65536)", f"longer than {MAX_REPLY} bytes"),
        ("sys.stderr.write('y' * 3000000); sys.exit(1)", "ended with status 1"),
        ("os.kill(os.getpid(), 9)", "ended with status -9"),
    ],
)
def test_bad_ends_are_told(tmp_path: Path, body: str, told: str) -> None:
    """LOP-E051 with what happened and the last line of stderr, cleaned and fenced; output is bounded."""
    with refused("LOP-E051") as caught:
        Process(words(script(tmp_path, body)), b"{}", 60_000).answer()
    assert told in str(caught.value)


def test_a_program_that_is_not_there_is_told() -> None:
    """LOP-E051, not an accident."""
    with refused("LOP-E051") as caught:
        Process(("/nowhere/at/all",), b"", 1_000).answer()
    assert "cannot be started" in str(caught.value)


@pytest.mark.parametrize("command", ["", "  ", "'open", 'a "b', "a\x00b"])
def test_command_lines_that_are_none(command: str) -> None:
    """LOP-E036 before anything is started."""
    with refused("LOP-E036"):
        words(command)


# --- registering -------------------------------------------------------------------------------------


def test_the_first_protocol_is_asked_first_then_the_second(tmp_path: Path) -> None:
    """A command of the ``loop`` protocol refuses ``probe`` and answers ``manifest``."""
    second = "assert ask == {'loop': 1, 'op': 'manifest'}\nprint(json.dumps({'evidence': ['RECALL facts']}))"
    one, two = connected([f"a.one={script(tmp_path, ECHO)}", f"a.two={script(tmp_path, second)}"])
    assert (one.manifest.id, one.manifest.title, two.manifest.id) == ("a.one/1", "Echo", "a.two/1")
    assert json.loads(probe_request()) == {"loop_analyzer": 1, "op": "probe"}


@pytest.mark.parametrize(
    ("said", "id"),
    [
        ("{'id': 'acme.lint'}", "acme.lint/1"),
        ("{'id': 'acme.lint/3'}", "acme.lint/3"),
        ("{}", "command.python/1"),
        ("{'id': 'loop.tool_failure/1'}", "command.python/1"),
        ("{'id': 'Not A Name'}", "command.python/1"),
        ("{'id': 'taken.name/9'}", "command.python/1"),
    ],
)
def test_a_command_without_an_id_is_called_as_it_says(tmp_path: Path, said: str, id: str) -> None:
    """EXT-5: or by its program; one that takes the name of another is not asked at all."""
    (one,) = connected([script(tmp_path, f"print(json.dumps({said}))")], taken=["taken.name/1"])
    assert one.manifest.id.replace("python3-11", "python").replace("python3", "python") == id


@pytest.mark.parametrize(
    "name",
    [
        "loop.tool_failure",
        "loop.mine",
        "draft.human",
        "llm",
        "engine.x",
        "policy.auto",
        "taken.name",
        "taken.name/2",
    ],
)
def test_names_that_are_not_free(tmp_path: Path, name: str) -> None:
    """EXT-5: LOP-E036, before a process is started."""
    with refused("LOP-E036"):
        connected([f"{name}=/nowhere/at/all"], taken=["taken.name/1"])


def test_two_commands_of_one_name_are_refused(tmp_path: Path) -> None:
    """EXT-5."""
    with refused("LOP-E036"):
        connected(["a.b=/nowhere", "a.b/2=/nowhere"])
    with refused("LOP-E036"):
        connected([f"a.b{n}=/nowhere" for n in range(MAX_COMMANDS + 1)])


# --- runs --------------------------------------------------------------------------------------------


def test_a_run_with_commands_of_every_kind(memory: Memory, tmp_path: Path) -> None:
    """A good one, a failing probe and one that is not there: each says its own, the good one is stored."""
    outcome = memory.loop.run(
        commands=[
            f"a.good={script(tmp_path, FINDS)}",
            f"a.broken={script(tmp_path, 'sys.exit(1)')}",
            "a.absent=/nowhere/at/all",
        ],
    )
    assert outcome.stored == 1
    assert outcome.analyzers_run[-1] == "a.good/1"
    told = reasons(outcome)
    assert told["a.broken/1"].startswith("LOP-E051 probe failed: the command ended with status 1")
    assert told["a.absent/1"].startswith("LOP-E051 probe failed: the command cannot be started")
    (row,) = memory.loop.queue()
    assert (row.analyzer, row.origin, row.summary) == ("a.good/1", "command", "«seen»")
    assert memory.loop.show(row.address).creator == "command:a.good/1"


def test_a_command_that_hangs_is_stopped(memory: Memory, tmp_path: Path) -> None:
    """In its probe or in its analysis: the run goes on and says how long it waited."""
    slow = "if ask['op'] == 'probe': print('{}')\nelse: time.sleep(600)"
    memory.add_fact("acme", "likes", "Tea")
    outcome = memory.loop.run(commands=[f"a.slow={script(tmp_path, slow)}"], command_limit_ms=2_000)
    assert reasons(outcome)["a.slow/1"].endswith("the command took longer than 2s and was stopped")
    assert outcome.stored == 1


def test_several_commands_work_at_the_same_time(memory: Memory, tmp_path: Path) -> None:
    """Several at once: each of these ends only when all of them have begun, in the probe and in the analysis."""
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    wait = (
        f"here = {str(meeting)!r} + '/' + ask['op']\n"
        "os.makedirs(here, exist_ok=True)\nopen(f'{here}/{os.getpid()}', 'w').close()\n"
        "while len(os.listdir(here)) < 4: time.sleep(0.01)\n"
    )
    outcome = memory.loop.run(commands=[f"a.n{n}={script(tmp_path, wait + ECHO)}" for n in range(4)])
    assert reasons(outcome) == {}
    assert len([name for name in outcome.analyzers_run if name.startswith("a.")]) == 4


def test_a_gate_that_is_shut_starts_nothing(memory: Memory, tmp_path: Path) -> None:
    """A gated no-op costs no process; neither does a refused name."""
    note = tmp_path / "ran"
    memory.loop.run()
    command = script(tmp_path, f"open({str(note)!r}, 'w')\nprint('{{}}')")
    assert memory.loop.run(min_new=1, commands=[f"a.b={command}"]).outcome == "skipped"
    assert not note.exists()


def test_the_authors_loop(memory: Memory, tmp_path: Path) -> None:
    """``--only ID --dry-run``: what would be proposed, nothing stored, and the name without its major is enough."""
    command = f"a.good={script(tmp_path, FINDS)}"
    for name in ("a.good", "a.good/1"):
        outcome = memory.loop.run(only=[name], dry_run=True, commands=[command])
        assert (outcome.analyzers_run, outcome.drafts, outcome.stored) == (("a.good/1",), ("«seen»",), 0)
    assert memory.loop.queue(None) == []


def test_the_second_protocol_asks_in_the_language(memory: Memory, tmp_path: Path) -> None:
    """Its queries are read-only statements; what they give is what it may cite."""
    body = (
        "if 'loop_analyzer' in ask: sys.exit(2)\n"
        "if ask['op'] == 'manifest': print(json.dumps({'evidence': {'all': 'RECALL facts LIMIT 9'}})); sys.exit()\n"
        "print(json.dumps({'findings': [{'target': 'entity:x', 'summary': 's', 'evidence': [r['hash'] for r in ask['rows']['all']]}]}))"
    )
    outcome = memory.loop.run(commands=[f"a.b={script(tmp_path, body)}"])
    assert (outcome.stored, reasons(outcome)) == (1, {})
    for query in ("FORGET ALL", "ADD fact subject = 'a'", "nonsense"):
        body = f"if 'loop_analyzer' in ask: sys.exit(2)\nprint(json.dumps({{'evidence': [{query!r}]}}))"
        told = reasons(memory.loop.run(commands=[f"a.b={script(tmp_path, body)}"]))
        assert told["a.b/1"].startswith("CAL-E")


@pytest.mark.skipif(os.name != "posix", reason="process groups are of POSIX systems")
def test_a_run_that_is_broken_off_leaves_no_process(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key at the wrong moment, while commands work and a built-in analyzer looks."""
    from deja_tui.engine import pipeline

    note = tmp_path / "pid"
    slow = f"if ask['op'] == 'probe': print('{{}}')\nelse: open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(600)"

    class Impatient:
        manifest = pipeline.ANALYZERS[0].manifest

        def analyze(self, ctx: Any) -> Any:
            while not note.exists() or not note.read_text():
                time.sleep(0.01)
            raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "ANALYZERS", (Impatient(),))
    with pytest.raises(KeyboardInterrupt):
        memory.loop.run(commands=f"a.slow={script(tmp_path, slow)}")
    assert gone(int(note.read_text()))


@pytest.mark.parametrize("limit", [0, -1, 90_001])
def test_the_limit_is_below_the_lease_of_a_run(memory: Memory, limit: int) -> None:
    """LOP-E036: a run never outlives its lease."""
    with refused("LOP-E036"):
        memory.loop.run(commands=["a.b=x"], command_limit_ms=limit)


def test_no_file_names_a_command() -> None:
    """Rule 9: commands come from arguments of the caller; nothing that reads a file calls `connect` or makes a command."""
    callers: dict[str, set[str]] = {}
    for path in (ROOT / "deja_tui").rglob("*.py"):
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        for wanted in ("connect", "CommandAnalyzer"):
            if wanted in names and f"def {wanted}(" not in path.read_text():
                callers.setdefault(wanted, set()).add(str(path.relative_to(ROOT / "deja_tui")))
    assert callers["connect"] - {"store/connection.py"} <= {"loop.py", "precision.py"}, (
        "each hands on an argument"
    )
    assert callers["CommandAnalyzer"] <= {"loop.py", "commands.py", "engine/external.py"}


def test_no_setting_names_a_command(memory: Memory, tmp_path: Path) -> None:
    """Rule 9: whatever a file says about analyzers, no process is started by it."""
    note = tmp_path / "ran"
    command = script(tmp_path, f"open({str(note)!r}, 'w')\nprint('{{}}')")
    with memory.store.act(governed=True) as act:
        for key in (
            "loop.analyzer:a.b/1",
            "loop.settings:a.b/1",
            "loop.analyzers",
            "analyzer_cmd",
            "loop.commands",
        ):
            act.set_setting(
                key, {"command": command, "cmd": command, "enabled": True, "analyzer_cmd": [command]}
            )
    memory.loop.run()
    assert not note.exists()


# --- the examples ------------------------------------------------------------------------------------


def filled(memory: Memory) -> dict[str, str]:
    old = NOW - 40 * DAY
    return {
        "long": memory.add("fact", {"subject": "readme", "relation": "text", "object": "x" * 700}),
        "short": memory.add("fact", {"subject": "readme", "relation": "text", "object": "x" * 600}),
        "doubtful": memory.add("fact", {"subject": "ci", "relation": "runner", "object": "arm", "confidence": 0.2, "created_at": old}),
        "young": memory.add("fact", {"subject": "ci", "relation": "os", "object": "bsd", "confidence": 0.2}),
        "sure": memory.add("fact", {"subject": "ci", "relation": "cpu", "object": "8", "confidence": 0.9, "created_at": old}),
        "open": memory.add("observation", {"content": "Who owns the cron job?", "created_at": old}),
        "told": memory.add("observation", {"content": "Ana owns the cron job.", "created_at": old}),
        "fresh": memory.add("observation", {"content": "And the queue?"}),
    }  # fmt: skip


EXAMPLE = {
    "example.long_values": (f"'{PYTHON}' 'python/long_values.py'", "long", "«readme · text holds 700 characters, which a document would hold better»"),
    "example.doubtful": (f"'{PYTHON}' 'python/doubtful.py'", "doubtful", "«ci · runner is doubtful since 40 days»"),
    "example.open_questions": ("node 'node/open-questions.mjs'", "open", "«still open: Who owns the cron job?»"),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLE)
def test_the_examples_find_what_they_say(memory: Memory, name: str) -> None:
    """Each is probed and run: it finds the planted one and none of those that only look alike."""
    command, planted, line = EXAMPLE[name]
    if command.startswith("node") and not shutil.which("node"):
        pytest.skip("needs Node, which is not installed here")
    for folder in ("python", "node"):
        command = command.replace(f"'{folder}/", f"'{EXAMPLES}/{folder}/")
    there = filled(memory)
    outcome = memory.loop.run(only=[name], commands=[f"{name}={command}"])
    assert reasons(outcome) == {}
    (address,) = outcome.recommendations
    detail = memory.loop.show(address)
    assert [one.address for one in detail.evidence] == [there[planted]]
    assert detail.summary == line


@pytest.mark.parametrize("path", ["python/deja_analyzer.py", "node/deja-analyzer.mjs"])
def test_the_helpers_are_twenty_lines_at_most(path: str) -> None:
    """Issue 5 point 10: what an author copies is small enough to read."""
    assert len((EXAMPLES / path).read_text().splitlines()) <= 20
