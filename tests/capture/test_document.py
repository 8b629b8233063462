# SPDX-License-Identifier: Apache-2.0
"""docs/importers.md says what there is: every kind, and commands that parse."""

from __future__ import annotations

import re

import click
from click.testing import CliRunner

from deja_tui.capture.registry import MODULES
from deja_tui.cli.app import deja
from tests.support import ROOT

PAGE = (ROOT / "docs" / "importers.md").read_text()


def test_every_kind_is_listed() -> None:
    """The table holds the kinds of the registry, in its order."""
    assert re.findall(r"^\| `([a-z0-9-]+)` \|", PAGE, re.MULTILINE) == list(MODULES)


def test_the_commands_of_the_page_are_understood() -> None:
    """Each command line names verbs and options that exist."""
    lines = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
    assert len(lines) == 6
    for line in lines:
        words = line.split()[1:]
        verb = next(word for word in words if not word.startswith("-"))
        shown = CliRunner().invoke(deja, [verb, "--help"])
        assert shown.exit_code == 0, line
        for option in (word for word in words if word.startswith("--")):
            assert option in shown.output, line


def test_help_lists_the_kinds() -> None:
    """The verb's help names every kind."""
    command = deja.get_command(click.Context(deja), "import")
    assert command is not None
    assert ", ".join(MODULES) in (command.help or "")
