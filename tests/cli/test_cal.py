# SPDX-License-Identifier: Apache-2.0
"""``deja cal`` as a person and as a program use it."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest

from deja_tui.cli import cal_shell
from deja_tui.present.cal_lines import table
from deja_tui.text import cells
from tests.cli.conftest import Deja


@pytest.fixture
def memory(deja: Deja, tmp_path: Path) -> Path:
    path = tmp_path / "a.deja"
    for value in ("eu-west-1", "eu-west-2"):
        assert deja("add", "acme", "deploy_target", value, "--db", path).code == 0
    return path


def test_rows_are_a_table_for_people_and_json_for_programs(deja: Deja, memory: Path) -> None:
    """One statement, two shapes, the same rows."""
    text = 'RECALL facts WHERE subject = "acme"'
    shown = deja("cal", text, "--db", memory)
    assert shown.code == 0
    assert [line.split("  ")[-1] for line in shown.out.splitlines()] == [
        "acme · deploy_target · «eu-west-2»",
        "acme · deploy_target · «eu-west-1»",
    ]
    told = deja("cal", text, "--db", memory, "--format", "json").json
    assert told["type"] == "grains"
    assert [row["fields"]["object"] for row in told["grains"]] == ["eu-west-2", "eu-west-1"]
    assert (
        deja("cal", text, "--db", memory, "--format", "text").out
        == "acme deploy target eu-west-2\nacme deploy target eu-west-1\n"
    )
    assert deja("cal", f"{text} FORMAT toon", "--db", memory).out.startswith("facts[2]{")
    projected = deja("cal", f"{text} SELECT object", "--db", memory).out.splitlines()
    assert projected == ["object", "─────────", "eu-west-2", "eu-west-1"]


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("RECALL facts COUNT", "2"),
        ("EXISTS facts", "yes"),
        ("RECALL events", "Nothing found."),
        ("RECALL facts LIMIT 1", "(1 of 2)"),
        ("ASSEMBLE FROM facts BUDGET 1", "(1 of 1 grains, 1 left out)"),
        ("ASSEMBLE FROM a: (RECALL facts) BUDGET 60", "# a (36 of 60 tokens, 1 left out)"),
        ('DEFINE QUERY "q" AS { RECALL facts }', "query defined: q"),
        ("BATCH { n: RECALL facts COUNT ; EXISTS events }", "# n"),
        ("DESCRIBE SCHEMA", "default_limit: 50"),
        ("RECALL facts FORMAT [text, markdown AS md]", "# md"),
        ("EXPLAIN RECALL facts", "  path: by arrival, newest first"),
    ],
)
def test_every_kind_of_result_has_its_lines(statement: str, line: str, deja: Deja, memory: Path) -> None:
    """What is asked for is said in one glance."""
    done = deja("cal", statement, "--db", memory)
    assert done.code == 0, done.err
    assert line in done.out.splitlines()


def test_a_refusal_shows_the_place_and_exits_1(deja: Deja, memory: Path) -> None:
    """Code, line, caret, next step on stderr; nothing on stdout."""
    done = deja("cal", "RECALL facts WHERE colour = 1", "--db", memory)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        "CAL-E060 fact has no field colour (line 1, column 20)",
        "  RECALL facts WHERE colour = 1",
        "                     ^^^^^^",
        "next: DESCRIBE FIELDS facts lists them.",
    ]
    told = deja("cal", "RECALL nothings", "--db", memory, "--format", "json")
    assert '"code":"CAL-E003"' in told.err
    assert '"column":8' in told.err


def test_warnings_go_to_stderr(deja: Deja, memory: Path) -> None:
    """Programs that read stdout are not surprised."""
    done = deja("cal", "RECALL facts | LIMIT 1", "--db", memory)
    assert done.err.startswith("warning: CAL-W007")
    assert "CAL-W007" not in done.out


def test_values_are_given_beside_the_text(deja: Deja, memory: Path) -> None:
    """A value is never pasted: quotes and words of the language are data."""
    text = "RECALL facts WHERE object = $v COUNT"
    assert deja("cal", text, "-p", "v=eu-west-1", "--db", memory).out == "1\n"
    assert deja("cal", text, "-p", '$v=x" OR object != "', "--db", memory).out == "0\n"
    assert deja("cal", text, "-p", "novalue", "--db", memory).code == 64


def test_switches_hold_back_writes_and_erasure(deja: Deja, memory: Path) -> None:
    """--read-only refuses writes, erasing needs its flag and a reason."""
    add = 'ADD fact SET subject = "a" SET relation = "b" SET object = "c" REASON "r"'
    assert "CAL-E044" in deja("cal", add, "--read-only", "--db", memory).err
    address = deja("cal", add, "--db", memory, "--format", "json").json["hash"]
    forget = f'FORGET sha256:{address} REASON "asked"'
    assert "CAL-E044" in deja("cal", forget, "--db", memory).err
    done = deja("cal", forget, "--allow-destructive", "--db", memory)
    assert done.out == f"forgotten hash:{address}\n"


def test_a_missing_file_is_not_made_by_asking(deja: Deja, tmp_path: Path) -> None:
    """A typo in a path gives an error, not an empty memory."""
    path = tmp_path / "typo.deja"
    for text in ("RECALL facts", 'ADD fact SET subject = "a" SET relation = "b" SET object = "c" REASON "r"'):
        assert "STO-E003" in deja("cal", text, "--db", path).err
    assert not path.exists()


def test_a_script_is_shown_first_and_run_as_one(deja: Deja, memory: Path, tmp_path: Path) -> None:
    """D42: --dry-run prints it, a failure keeps nothing, the error names the statement."""
    script = tmp_path / "setup.cal"
    script.write_text(
        '-- what we know\nADD fact SET subject = "a" SET relation = "b" SET object = "c" REASON "setup";\nRECALL facts COUNT;\n'
    )
    shown = deja("cal", "--file", script, "--dry-run", "--db", memory)
    assert shown.out.splitlines() == [
        '  1  evolve       ADD fact SET subject = "a" SET relation = "b" SET object = "c" BECAUSE "setup"',
        "  2  read         RECALL facts COUNT",
    ]
    assert deja("cal", "RECALL facts COUNT", "--db", memory).out == "2\n"
    assert deja("cal", "--file", script, "--db", memory).out.splitlines()[-1] == "3"
    script.write_text(script.read_text() + 'ADD fact SET subject = "a" REASON "r";')
    done = deja("cal", "--file", script, "--db", memory)
    assert (done.code, "statement 3" in done.err) == (1, True)
    assert deja("cal", "RECALL facts COUNT", "--db", memory).out == "3\n"


@pytest.mark.parametrize(
    "argv",
    [["--dry-run", "RECALL facts"], ["RECALL facts", "--file", "x"], ["RECALL facts", "--format", "pdf"]],
)
def test_wrong_usage_is_64(argv: list[str], deja: Deja, memory: Path) -> None:
    """D47."""
    assert deja("cal", *argv, "--db", memory).code == 64


def test_hostile_text_is_shown_as_escapes_in_every_format(deja: Deja, memory: Path) -> None:
    """No byte of a grain acts on a terminal."""
    hostile = "x\x1b[31m\u202e\nforged \x9b2J"
    assert deja("add", "evil", "says", hostile, "--db", memory).code == 0
    for format_ in ("table", "json", "sml", "toon", "markdown", "text", "triples", "yaml", "csv"):
        out = deja("cal", 'RECALL facts WHERE subject = "evil"', "--format", format_, "--db", memory).out
        assert not set(out) & set("\x1b\x9b\u202e"), format_
    out = deja("cal", 'RECALL facts WHERE subject = "evil" SELECT object', "--db", memory).out
    assert len(out.splitlines()) == 3
    done = deja("cal", 'RECALL facts WHERE "\x1b[31m', "--db", memory)
    assert "\x1b" not in done.err


def test_columns_give_way_until_a_line_fits() -> None:
    """Cells, not characters, are counted."""
    lines = table(["name", "says"], [["漢字" * 20, "y" * 80], ["a", "b"]], 40)
    assert all(cells(line) <= 40 for line in lines)
    assert lines[3].startswith("a ")


# --- the shell --------------------------------------------------------------------------------------


def test_the_shell_needs_a_terminal(deja: Deja, memory: Path) -> None:
    """In a pipe there is nobody to type."""
    done = deja("cal", "--db", memory)
    assert (done.code, done.err.split()[0]) == (1, "CLI-E001")


def test_the_shell_says_which_package_it_needs(
    deja: Deja, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is an extra; one command gets it, and single statements work without."""
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    done = deja("cal", "--db", memory)
    assert done.code == 1
    assert "CLI-E004" in done.err
    assert "deja-tui[shell]" in done.err


def test_the_shell_runs_one_statement_after_another(
    deja: Deja, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal does not end it; interrupt drops the line; end of input leaves."""
    typed: list[Any] = [
        "RECALL facts COUNT;",
        KeyboardInterrupt,
        "RECALL nothings;",
        "\\?",
        "",
        "APPLY sha256:" + "0" * 64 + ";",
    ]

    def prompt() -> str:
        if not typed:
            raise EOFError
        told = typed.pop(0)
        if told is KeyboardInterrupt:
            raise KeyboardInterrupt
        return str(told)

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(cal_shell, "_prompt", lambda: prompt)
    done = deja("cal", "--db", memory)
    assert done.code == 0
    assert "\n2\n" in done.out
    assert "Pending Recommendations" in done.out
    assert "RECALL <type>" in done.out
    assert "CAL-E003" in done.err
    assert "LOP-E040" in done.err


@pytest.mark.parametrize(
    ("text", "line", "ends"),
    [
        ("RECALL facts;", "RECALL facts;", True),
        ("RECALL facts", "RECALL facts", False),
        ("RECALL facts\n", "", True),
        ("\\q", "\\q", True),
        ("", "", True),
        ("RECALL facts\nWHERE", "WHERE", False),
    ],
)
def test_enter_ends_a_finished_statement(text: str, line: str, ends: bool) -> None:
    """A semicolon or an empty line."""
    assert cal_shell.finished(text, line) is ends


@pytest.mark.parametrize(
    "line", ['RECALL facts WHERE subject = "a" -- note', "RECALL 'x", "", "sha256:" + "a" * 64]
)
def test_colours_change_no_character(line: str) -> None:
    """What is shown is what was typed."""
    assert "".join(text for _, text in cal_shell.styled(line)) == line


def test_the_shell_is_put_together_from_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """History, completion, colours and keys are handed over; the history file is private."""
    seen: dict[str, Any] = {}
    bound: list[str] = []

    class Session:
        def __init__(self, text: str, **parts: Any) -> None:
            seen.update(parts, text=text)
            self.prompt = lambda: "x"

    class Keys:
        def add(self, key: str) -> Any:
            bound.append(key)
            return lambda function: function

    class History:
        def __init__(self, path: str) -> None:
            self.path = path
            self.kept: list[str] = []

        def store_string(self, string: str) -> None:
            self.kept.append(string)

    for name, members in (
        ("prompt_toolkit", {"PromptSession": Session}),
        ("prompt_toolkit.completion", {"WordCompleter": lambda words: words}),
        ("prompt_toolkit.history", {"FileHistory": History}),
        ("prompt_toolkit.key_binding", {"KeyBindings": Keys}),
    ):
        module = types.ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert cal_shell._prompt()() == "x"
    assert bound == ["enter"]
    history = seen["history"]
    assert Path(history.path).stat().st_mode & 0o077 == 0
    for text in ("RECALL facts;", "\\q", "  \\?"):
        history.store_string(text)
    assert history.kept == ["RECALL facts;"]
    assert "RECALL" in seen["completer"]


def test_a_format_of_the_surface_is_one_of_the_statement(deja: Deja, memory: Path) -> None:
    """--format gives what FORMAT gives: groups, the order of priority, what an ASSEMBLE says around its rows."""
    for statement in (
        "RECALL facts GROUP BY subject",
        'ASSEMBLE "x" FOR "y" FROM a: (RECALL facts), b: (RECALL tools) PRIORITY b > a',
    ):
        for name in ("markdown", "sml", "text"):
            outside = deja("cal", "--db", memory, statement, "--format", name)
            inside = deja("cal", "--db", memory, f"{statement} FORMAT {name}")
            assert outside.out == inside.out
            assert outside.out
