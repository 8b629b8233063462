# SPDX-License-Identifier: Apache-2.0
"""The tutorial, the quickstart, the demo and every how-to are true: each command runs and prints what the page says.

How a page is read: `tests.docs.pages`.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import click
import pytest

from deja_tui import Memory
from deja_tui.cli.app import deja as tree
from deja_tui.console.actions import ACTIONS
from tests.cli.conftest import Deja, deja  # noqa: F401
from tests.docs.pages import INSTALLS, Shell, all_commands
from tests.support import ROOT

DOCS = ROOT / "docs"
HOW_TO = sorted((DOCS / "how-to").glob("*.md"))
RUN = [DOCS / "tutorial.md", DOCS / "quickstart.md", DOCS / "demo.md", *HOW_TO]


@pytest.fixture
def shell(deja: Deja, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:  # noqa: F811
    """A folder with a home of its own beside it, and the examples where a checkout has them."""
    for name in ("DEJA_DB", "DEJA_LOOP_POLICY", "DEJA_LOG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    work = tmp_path / "work"
    shutil.copytree(ROOT / "examples", work / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(work)
    return Shell(deja, monkeypatch, work)


def reasons(line: str) -> list[str]:
    """What a command gives as its reason."""
    return [one or two for one, two in re.findall(r"--because (?:'([^']+)'|\"([^\"]+)\")", line)]


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_command_of_a_page_runs_and_prints_what_it_says(page: Path, shell: Shell) -> None:
    """A how-to ends in one apply and one dismissal, with reasons that differ, and leaves every memory whole."""
    done = shell.run_page(page.read_text())
    assert done
    files = [path for path in shell.folder.rglob("*.deja") if path.is_file()]
    statuses: set[str] = set()
    for path in files:
        with Memory.open(path, read_only=True) as memory:
            assert memory.verify() == (), path
            statuses.update(row.status for row in memory.loop.queue(None))
    if page not in HOW_TO:
        return
    assert "rejected" in statuses, statuses
    assert {"applied", "rolled_back"} & statuses, statuses
    said = {verb: [line for line in done if f"deja loop {verb} " in line] for verb in ("apply", "reject")}
    assert all(said.values()), said
    assert done.index(said["apply"][-1]) > len(done) - 8
    assert done.index(said["reject"][-1]) > len(done) - 8
    given = [reason for line in done for reason in reasons(line)]
    assert len(given) == len(set(given)), "each reason is its own"


def test_the_readme_has_no_command_that_no_test_runs() -> None:
    """Its indented lines stand at its head and in the two sections that `tests/cli/test_readme.py` runs."""
    text = (ROOT / "README.md").read_text()
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        if not section.startswith(("Five minutes\n", "Doors\n")):
            assert not re.findall(r"^    deja .*$", section, re.MULTILINE), section[:40]
    assert "```console" not in text
    assert "```sh" not in text


def reference_lines() -> list[tuple[str, str]]:
    """Every ``deja …`` line in a block of the other documents, with its page."""
    found = []
    for page in sorted([*DOCS.glob("*.md"), ROOT / "CONTRIBUTING.md", ROOT / "llms.txt"]):
        if page in RUN or page.name == "cli.md":
            continue
        block = False
        for line in page.read_text().splitlines():
            if line.startswith("```"):
                block = not block
            told = re.match(r"(?:    |\$ |)(deja [^`]+)$", line)
            if told and (block or line.startswith("    ")):
                found.append((page.name, told[1]))
    return found


def test_the_commands_of_the_reference_are_understood() -> None:
    """Verbs and options of every other page exist (what they do is proved elsewhere)."""
    lines = reference_lines()
    assert len(lines) >= 40
    for page, line in lines:
        words = re.split(r"\s+#\s|\s{2,}", line)[0].split()[1:]
        command: click.Command = tree
        context = click.Context(tree, info_name="deja")
        options: set[str] = {"--help", "-h", "--version"}
        while words and isinstance(command, click.Group):
            options.update(name for param in command.params for name in param.opts)
            if words[0].startswith("-"):
                words = words[2:]
                continue
            found = command.get_command(context, words[0])
            assert found is not None, (page, line)
            command, words = found, words[1:]
        options.update(name for param in command.params for name in (*param.opts, *param.secondary_opts))
        if command.name in ("hook", "ui"):
            continue
        for word in words:
            if word.startswith("--") and word != "--":
                assert word.partition("=")[0] in options, (page, line, word)


def test_every_command_that_installs_is_one_of_the_known() -> None:
    """What no test carries out is a short list."""
    for page in RUN:
        for command in all_commands(page.read_text()):
            if not command.line.startswith(
                ("deja ", "ssh ", "echo ", "cat ", "cd ", "cp ", "mkdir ", "export ")
            ):
                assert command.line in INSTALLS or re.match(r"[A-Z]+=\$\(", command.line), command.line


def test_the_keys_of_the_demo_are_keys() -> None:
    """D54: each key that a presenter is told exists in the state of its beat; `tests/e2e` presses them in a terminal."""
    held = {key for action in ACTIONS for key in action.keys}
    rows = re.findall(r"^\| \d \w+[^|]* \| ([^|]+) \|", (DOCS / "demo.md").read_text(), re.MULTILINE)
    assert len(rows) == 8
    keys = {key for row in rows for key in re.findall(r"`([^`]+)`", row)}
    assert keys
    assert keys <= held | {"esc"}
