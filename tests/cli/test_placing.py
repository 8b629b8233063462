# SPDX-License-Identifier: Apache-2.0
"""A next step names the memory it is about, wherever it stands in a sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deja_tui.cli.placing import file_of, option, placed
from tests.cli.conftest import Deja

FILE = Path("my own.deja")


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        ("deja loop list --status all", "deja loop list --status all --db @"),
        ("deja search TEXT finds addresses", "deja search TEXT --db @ finds addresses"),
        ("Run `deja verify --rebuild`: it counts anew.", "Run `deja verify --rebuild --db @`: it counts anew."),
        ("look first: deja doc view", "look first: deja doc view --db @"),
        ("deja loop apply … --allow-destructive", "deja loop apply … --allow-destructive --db @"),
        ("deja cal 'RECALL facts', or deja cal --file SCRIPT",
         "deja cal 'RECALL facts' --db @, or deja cal --file SCRIPT --db @"),
        ("deja loop set tool_failure.window_days=60 --because 'older, too'",
         "deja loop set tool_failure.window_days=60 --because 'older, too' --db @"),
        ("deja loop show 3c262f04; of a grain: deja provenance 3c262f04",
         "deja loop show 3c262f04 --db @; of a grain: deja provenance 3c262f04 --db @"),
        ("deja init --template blank --db x, or deja demo", "deja init --template blank --db x, or deja demo"),
        ("deja ui FILE", "deja ui FILE"),
        ("name a new file; deja never writes over one", "name a new file; deja never writes over one"),
    ],
)  # fmt: skip
def test_each_command_of_a_sentence_gets_the_file(told: str, wanted: str) -> None:
    """Behind its arguments, quoted as a shell takes it; a command that names its file, or takes none, stays as it is."""
    assert placed(told, FILE) == wanted.replace("--db @", option(FILE).strip())
    assert placed(told, None) == told, "the default memory needs no name"


def test_a_refusal_on_another_file_names_it(deja: Deja, demo: Path) -> None:
    """What stands behind ``next:`` can be typed as it stands."""
    done = deja("loop", "show", "0" * 12, "--db", demo)
    step = re.search(r"^next: (.+)$", done.err, re.MULTILINE)
    assert step is not None
    assert step[1] == f"deja loop list --status all --db {demo}"
    assert file_of(["a", "--db=x", "-d", "y"]) == Path("y")
    assert file_of(["a", "--db"]) is None
