# SPDX-License-Identifier: Apache-2.0
"""docs/cli.md and docs/errors.md are what the program says of itself.

After a change: look at the difference, then run this file with ``DEJA_UPDATE_SNAPSHOTS=1``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from deja_tui.errors import CODES
from tests.docs import cli_page
from tests.support import ROOT

CLI = ROOT / "docs" / "cli.md"
ERRORS = ROOT / "docs" / "errors.md"
FAMILIES = {
    "VAL": "A value that was given",
    "FMT": "Bytes of grains and bundles",
    "MEM": "What a memory holds",
    "STO": "The file",
    "LOP": "The Deja Loop",
    "IMP": "Capture and import",
    "CLI": "The command line",
    "CON": "The console",
    "CAL": "The query language",
}
ERRORS_HEAD = """# Error codes

Every refusal has a code, a sentence, and the next step where there is one: `STO-E003 no such file`. Programs branch on the code;
sentences may change. Codes are only added: none is taken away, none gets another meaning. The command line prints both on stderr
and ends with 1 (`--format json`: [json.md](json.md)); the library raises `DejaError` with `code`, `message` and `next_step`.

Made out of `deja_tui/errors.py`.
"""


def current(path: Path, wanted: str) -> None:
    """The page as it is there, or as it is now where the run shall write it."""
    if os.environ.get("DEJA_UPDATE_SNAPSHOTS"):
        path.write_text(wanted)
    assert path.read_text() == wanted


def test_the_page_of_the_command_line_is_what_the_verbs_say() -> None:
    """Every verb with its usage, help, example and options."""
    page = cli_page.page()
    assert page.count("\n## `deja ") > 30
    current(CLI, page)


def told_codes(page: str) -> dict[str, str]:
    return dict(re.findall(r"^\| `([A-Z]{3}-E\d{3})` \| (.+) \|$", page, re.MULTILINE))


def test_every_code_stands_on_its_page_and_none_is_ever_taken_away() -> None:
    """Append-only: what the page says today is there tomorrow; writing it anew refuses to drop a code."""
    told = [ERRORS_HEAD]
    assert {code[:3] for code in CODES} == set(FAMILIES)
    for family, title in FAMILIES.items():
        rows = [f"| `{code}` | {text} |" for code, text in CODES.items() if code.startswith(family)]
        told += [f"\n## {family}: {title.lower()}\n", "| code | what happened |", "|---|---|", *rows]
    wanted = "\n".join(told).rstrip() + "\n"
    if ERRORS.exists():
        gone = set(told_codes(ERRORS.read_text())) - set(CODES)
        assert not gone, "a code is never taken away"
    current(ERRORS, wanted)
    assert told_codes(wanted) == CODES
