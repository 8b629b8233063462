# SPDX-License-Identifier: Apache-2.0
"""The tree of verbs: every act of the library has one, each helps with an example that parses, none guesses a typo."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from deja_tui import Memory
from deja_tui.cli import nearest
from deja_tui.cli.app import deja as root
from deja_tui.cli.main import _file_last, run
from deja_tui.cli.ui import _parser
from deja_tui.documents import Documents
from deja_tui.errors import DejaError
from deja_tui.loop import Loop
from tests.cli.conftest import Deja
from tests.support import NOW, ROOT

# public name → the verb that does it; a reason in brackets where there is none
MEMORY = {
    "add": "cal", "add_consensus": "cal", "add_consent": "cal", "add_event": "cal", "add_fact": "add",
    "add_goal": "cal", "add_observation": "cal", "add_reasoning": "cal", "add_skill": "cal", "add_state": "cal",
    "add_tool": "cal", "add_workflow": "cal", "bundle": "bundle", "cal": "cal", "capture": "import",
    "changes": "log", "context": "context", "declare": "declare", "declared": "declare", "forget": "forget",
    "forget_older_than": "forget-older", "forget_subject": "forget-subject", "forks": "forks", "get": "get",
    "heads": "latest", "history": "history", "import_bundle": "import-bundle", "latest": "latest", "log": "log",
    "merge": "merge", "older_than": "forget-older", "provenance": "provenance", "pull_segments": "segments pull",
    "push_segments": "segments push", "rebuild_ledger": "verify", "recall": "recall",
    "record_tool_call": "record-tool-call", "restore": "restore", "retire": "retire", "scan": "cal",
    "search": "search", "standing": "ui", "stats": "stats", "subject_bundle": "forget-subject", "subject_report": "forget-subject",
    "supersede": "supersede", "verify": "verify",
    "browse": "(a console asks for slices of a list; a verb lists with recall and cal)",
    "kinds": "stats", "dossier": "get", "neighbourhood": "(a console draws it; cal asks for facts either way)",
    "open": "(every verb opens the memory it works on)",
    "close": "(every verb closes it)",
    "notices": "(every verb writes them to stderr)",
}  # fmt: skip
LOOP = {
    "analyzers": "loop analyzers", "apply": "loop apply", "approve": "loop approve", "audit": "audit show",
    "config_export": "loop config-export", "config_import": "loop config-import", "config_log": "loop set",
    "configure": "loop set", "diff": "loop diff", "disable": "loop disable", "dry_run": "loop apply",
    "enable": "loop enable", "health": "loop health", "mark_applied": "loop mark-applied",
    "outcomes": "loop outcomes", "policy": "loop policy", "propose": "loop propose", "queue": "loop list",
    "reflect": "loop reflect", "reject": "loop reject", "replay": "loop replay", "rollback": "loop rollback",
    "run": "loop run", "show": "loop show", "why": "why", "withdraw": "loop withdraw",
    "approve_and_apply": "(two decisions are two verbs: each has its reason)",
    "waiting": "loop health", "tally": "loop health", "addresses": "loop list",
    "change_token": "(a console asks it between two looks at the file; a verb looks once)",
    "resolve": "(every verb takes a shortened address)",
}  # fmt: skip
DOCUMENTS = {
    name: f"doc {name}"
    for name in (
        "create", "delete", "history", "insert", "list", "merge", "rename", "replace", "restore", "view",
    )
} | {"write": "doc create"}  # fmt: skip


def verbs(group: click.Group = root, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every verb as the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        yield (*before, name)
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from verbs(command, (*before, name))


ALL = sorted({*verbs(), ()})


@pytest.mark.parametrize(("kind", "table"), [(Memory, MEMORY), (Loop, LOOP), (Documents, DOCUMENTS)])
def test_every_act_of_the_library_has_a_verb(kind: type, table: dict[str, str]) -> None:
    """A new public name needs a verb here, or a reason why there is none."""
    assert {name for name in dir(kind) if not name.startswith("_")} == set(table)
    known = {" ".join(words) for words in ALL}
    assert {verb for verb in table.values() if not verb.startswith("(")} <= known


def examples(told: str) -> list[str]:
    """The command lines below ``Example:``, joined where the help broke them."""
    after = re.split(r"Examples?:", told, maxsplit=1)[1]
    block = re.split(r"\n\s*\n(?=\s*(?:Options|Verbs|positional|options))|\nOptions:|\nVerbs:", after)[0]
    return [
        line
        for line in re.split(r"(?:^|\s)(?=deja )|&&|\|", " ".join(block.split()))
        if line.startswith("deja ")
    ]


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_help_shows_an_example_that_parses(
    words: tuple[str, ...], deja: Deja, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`deja VERB --help` exits 0 and holds an Example whose options and values the verbs take."""
    monkeypatch.chdir(tmp_path)
    for name in ("analyzers.json", "notes.md", "march.mgb"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "corpora").mkdir()
    done = deja(*words, "--help")
    assert done.code == 0, done.err
    assert "Example" in done.out
    found = examples(done.out)
    assert found
    for line in found:
        argv = shlex.split(line)
        assert argv.pop(0) == "deja"
        if argv[0] == "ui":
            _parser().parse_args(argv[1:])
            continue
        parse(root, argv)


def parse(group: click.Group, argv: list[str], parent: click.Context | None = None) -> None:
    """Parse a command line down to its verb, without running it."""
    name = argv[0]
    with click.Context(group, parent=parent, info_name="deja") as context:
        command = group.get_command(context, name)
        assert command is not None, name
        if isinstance(command, click.Group):
            parse(command, argv[1:], context)
            return
        command.make_context(name, argv[1:], parent=context)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["lop"], "loop"), (["loop", "aprove"], "approve"), (["doc", "veiw"], "view"), (["audit", "exprot"], "export"),
        (["segments", "pul"], "pull"), (["loop", "list", "--status", "aplied"], "applied"),
        (["loop", "list", "--fail-on", "hihg"], "high"), (["recall", "--format", "jsn"], "json"),
        (["init", "--template", "coding-agnt"], "coding-agent"), (["completion", "bsh"], "bash"),
        (["--telemetry", "ful", "recall"], "full"), (["loop", "list", "--statsu", "all"], "--status"),
        (["ui", "--telemetry", "ful"], "full"), (["ui", "--read-onyl"], "--read-only"),
        (["import", "claud-code", "x"], "claude-code"), (["undo", "x"], "deja loop rollback"),
        (["aprove"], "deja loop approve"), (["loop", "undo"], "deja loop rollback"), (["receipt"], "deja audit show"),
        (["queu"], "deja loop list"), (["recall", "--type", "fatc"], "fact"),
        (["loop", "schedule", "--print", "--every", "6h", "--os", "crn"], "cron"),
        (["init", "--framework", "claud-code"], "claude-code"), (["forget-older", "2020", "--type", "evnt"], "event"),
    ],
)  # fmt: skip
def test_a_word_that_is_none_names_the_nearest(deja: Deja, argv: list[str], told: str) -> None:
    """Verbs, options and values: exit 64, the word that was meant, nothing done."""
    done = deja(*argv)
    assert done.code == 64
    assert f"Did you mean {told}" in done.err.replace("'", "").replace("one of: ", "") or told in done.err
    assert "did you mean" in done.err.lower()
    assert not done.out


def test_every_other_word_leads_to_a_verb() -> None:
    """What is named for *undo*, *receipt*, *status* and the like is a verb that is there."""
    for word, told in nearest._OTHER_WORDS.items():
        assert word not in root.verbs
        if told != "--help":
            verb, *rest = told.split()
            assert verb in root.verbs
            assert not rest or rest[0] in getattr(root.get_command(click.Context(root), verb), "verbs", {})


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["why", "tool_failur"], "tool_failure"), (["loop", "run", "--only", "loop.tool_failur/1"], "tool_failure"),
        (["loop", "enable", "skil_stall", "--because", "x"], "skill_stall"),
        (["loop", "set", "tool_failure.min_cuont=3", "--because", "x"], "min_count"),
        (["mcp", "--scopes", "reed"], "read"),
    ],
)  # fmt: skip
def test_a_name_that_the_file_must_know_names_the_nearest(
    deja: Deja, demo: Path, argv: list[str], told: str
) -> None:
    """Analyzers, their parameters, rights: exit 1, a code, and the word that was meant."""
    done = deja(*argv, "--db", demo)
    assert done.code == 1
    assert f"did you mean {told}?" in done.err
    assert not done.out


def test_a_hook_that_is_none_names_the_nearest(deja: Deja) -> None:
    """And ends well all the same (HOOK-1)."""
    done = deja("hook", "captur")
    assert (done.code, done.out) == (0, "")
    assert "did you mean 'capture'?" in done.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["--db", "f"], ["next", "--db", "f"]), (["--db=f"], ["next", "--db", "f"]), (["-d", "f", "loop", "list"], ["loop", "list", "--db", "f"]),
        (["--db", "f", "--format", "json"], ["next", "--format", "json", "--db", "f"]), (["--db", "f", "ui"], ["ui", "--db", "f"]),
        (["--db", "f", "add", "--", "-a", "b", "c"], ["add", "--db", "f", "--", "-a", "b", "c"]), (["--db"], ["--db"]),
        (["--db", "f", "--help"], ["--help"]), (["stats", "--db", "f"], ["stats", "--db", "f"]), ([], []),
    ],
)  # fmt: skip
def test_the_file_may_stand_first(words: list[str], meant: list[str]) -> None:
    """`deja --db FILE` is `deja` on that file, and a verb behind it takes it."""
    assert _file_last(words) == meant


# --- shells ---------------------------------------------------------------------------------------------


def put_program(folder: Path) -> None:
    """What an installed program is to a shell."""
    (folder / "deja").write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m deja_tui "$@"\n')
    (folder / "deja").chmod(0o755)


def complete(shell: str, words: str, tmp_path: Path) -> str:
    """What the program answers a shell that asks for the last of ``words``."""
    env = {**os.environ, "_DEJA_COMPLETE": f"{shell}_complete", "COMP_WORDS": words, "PYTHONPATH": str(ROOT)}
    env["COMP_CWORD"] = words.split(" ")[-1] if shell == "fish" else str(len(words.split(" ")) - 1)
    done = subprocess.run(
        [sys.executable, "-m", "deja_tui"], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_and_answers(shell: str, deja: Deja, tmp_path: Path) -> None:
    """The script names the program's variable; verbs, options and values are completed."""
    done = deja("completion", shell)
    assert done.code == 0
    assert "_DEJA_COMPLETE" in done.out
    assert "deja" in done.out
    program = shutil.which(shell)
    if program is not None:
        script = tmp_path / "completion"
        script.write_text(done.out)
        flag = "--no-execute" if shell == "fish" else "-n"
        assert subprocess.run([program, flag, script], timeout=60).returncode == 0
    assert "reject" in complete(shell, "deja loop rej", tmp_path)
    if shell == "fish" and program is not None:
        put_program(tmp_path)
        env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
        ask = [program, "-c", f"source {script}; complete -C 'deja loo'; complete -C 'deja import claud'"]
        told = subprocess.run(ask, env=env, capture_output=True, text=True, timeout=60).stdout.split("\n")
        assert [line.split("\t")[0] for line in told if line] == ["loop", "claude-code"]
    if shell == "bash":
        assert "--status" in complete(shell, "deja loop list --st", tmp_path)
        assert "rolled_back" in complete(shell, "deja loop list --status rol", tmp_path)


def test_bash_completes_with_the_printed_script(deja: Deja, tmp_path: Path) -> None:
    """Sourced in a real bash, Tab after ``deja loo`` answers loop."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash here")
    put_program(tmp_path)
    (tmp_path / "c.bash").write_text(deja("completion", "bash").out)
    ask = "source c.bash; COMP_WORDS=(deja loo); COMP_CWORD=1; _deja_completion deja loo deja; echo ${COMPREPLY[@]}"
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        [bash, "-c", ask], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["loop"], done.stderr


# --- terminals ------------------------------------------------------------------------------------------


def test_no_escape_reaches_what_is_no_terminal(deja: Deja, demo: Path) -> None:
    """Tables, details, progress: plain characters in a pipe, on both streams."""
    row = deja("loop", "list", "--db", demo, "--format", "json").json["recommendations"][0]["address"]
    for argv in (
        ["loop", "list"], ["loop", "show", row], ["loop", "health"], ["recall"], ["next"], ["verify", "--deep"],
        ["log"], ["loop", "outcomes"], ["loop", "replay"], ["audit", "export"],
    ):  # fmt: skip
        done = deja(*argv, "--db", demo)
        assert done.code == 0, (argv, done.err)
        assert "\x1b" not in done.out + done.err


def pty_run(argv: list[str], env: dict[str, str]) -> bytes:
    """The bytes a program writes to a terminal on stderr."""
    parent, child = os.openpty()
    with subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=child, stdin=subprocess.DEVNULL, env=env
    ) as running:
        os.close(child)
        told = b""
        while True:
            try:
                chunk = os.read(parent, 65_536)
            except OSError:
                break
            if not chunk:
                break
            told += chunk
        running.wait(60)
    os.close(parent)
    return told


_SLOW = """
import sys, time
from deja_tui.cli import output
from deja_tui.watch import each
with output.working("checking"):
    for step in each(range(700), 700, "grains", every=7):
        time.sleep(0.0015)
"""


@pytest.mark.parametrize("colour", [True, False])
def test_a_bar_is_drawn_on_a_terminal_and_without_colour_where_asked(colour: bool) -> None:
    """On stderr only; NO_COLOR takes the colours out, not the bar."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    told = pty_run([sys.executable, "-c", _SLOW], env if colour else {**env, "NO_COLOR": "1"})
    assert b"checking" in told
    assert b"(grains)" in told
    assert re.search(rb"[0-9]+/700", told)
    assert bool(re.search(rb"\x1b\[(?:3[0-9]|38;)", told)) is colour


@pytest.mark.parametrize("verb", [["--version"], ["hook", "print", "mcp"], ["stats"]], ids=" ".join)
def test_output_that_cannot_be_written_is_one_line(verb: list[str], demo: Path) -> None:
    """A full disk: one line and exit 1; a stream that was closed is silence; no traceback either way."""
    program = shlex.join(
        [sys.executable, "-m", "deja_tui", *verb, *([] if "--" in verb[0] else ["--db", str(demo)])]
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ask = f"{program} >/dev/full; echo $? >&2; {program} >&- || exit 9; {program} </dev/null >/dev/null 2>&- || exit 8"
    done = subprocess.run(["sh", "-c", ask], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if not line.startswith("belongs into ")]
    assert told == ["STO-E007 the output could not be written: no space is left where it goes", "1"]


# --- interruption ---------------------------------------------------------------------------------------


def test_an_interrupt_leaves_the_file_whole(deja: Deja, tmp_path: Path) -> None:
    """Ctrl-C in an import: exit 130, no traceback, the file verifies, importing again ends what was begun."""
    source, db = tmp_path / "calls.jsonl", tmp_path / "m.deja"
    total = 15_000
    line = '{{"tool_name":"t{0}","content":"result {0}","is_error":false,"tool_call_id":"c{0}","timestamp":{1}}}\n'
    source.write_text("".join(line.format(number, NOW - total + number) for number in range(total)))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-m", "deja_tui", "import", "openai", str(source), "--db", str(db)]
    with subprocess.Popen(
        argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        until = time.monotonic() + 60
        while time.monotonic() < until and not (db.exists() and _rows(db)):
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130, (out, err)
    assert "Traceback" not in err
    assert deja("verify", "--db", db).code == 0
    before = deja("stats", "--db", db, "--format", "json").json["grains"]
    assert 0 < before < total
    assert run(["import", "openai", str(source), "--db", str(db)]) == 0
    assert deja("stats", "--db", db, "--format", "json").json["grains"] == total


def _rows(db: Path) -> int:
    try:
        with Memory.open(db, read_only=True) as memory:
            return memory.substrate.position().grains
    except DejaError:
        return 0
