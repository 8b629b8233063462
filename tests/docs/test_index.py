# SPDX-License-Identifier: Apache-2.0
"""Every page is found from the index, every link leads somewhere, every word of the glossary stands once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deja_tui.capture.registry import MODULES
from deja_tui.errors import CODES
from tests.support import ROOT
from tests.test_tidy import FORBIDDEN, OTHER_NAMES

DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", ROOT / "llms.txt", *(ROOT / "examples").glob("*/README.md")])  # fmt: skip
_LINK = re.compile(r"(?<!\!)\[[^\]\n]+\]\(([^)\s]+)\)")


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as hosting platforms make them."""
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def outside_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    """Relative links to files that are there, and to headings that are there; no address of a host."""
    for target in _LINK.findall(outside_code(page.read_text())):
        assert "://" not in target, target
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), target
        assert path.is_relative_to(ROOT), target
        if anchor:
            assert anchor in anchors(path.read_text()), target


@pytest.mark.parametrize("index", ["docs/README.md", "llms.txt"])
def test_the_index_names_every_page(index: str) -> None:
    """The index all of them; llms.txt all but the how-tos, which the index of it leads to."""
    text = (ROOT / index).read_text()
    linked = {((ROOT / index).parent / target).resolve() for target in _LINK.findall(text)}
    wanted = set(DOCS.rglob("*.md")) - {DOCS / "README.md"}
    if index == "llms.txt":
        assert DOCS / "README.md" in linked
        wanted = {DOCS / name for name in ("tutorial.md", "library.md", "cli.md", "json.md", "errors.md", "cal.md", "mcp.md")}  # fmt: skip
    assert not {str(path.relative_to(ROOT)) for path in wanted - linked}


def test_the_glossary_has_one_row_a_word_in_order() -> None:
    """One word for each idea."""
    words = re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", (DOCS / "glossary.md").read_text(), re.MULTILINE)[1:]
    words = [word for word in words if not word.startswith("---")]
    assert len(words) > 40
    assert words == sorted(words, key=lambda word: word.lower().replace("-", ""))
    assert len(words) == len(set(words))


def test_every_code_that_a_page_names_is_registered() -> None:
    """A reader can look it up."""
    for page in PAGES:
        told = set(re.findall(r"\b(?:VAL|FMT|MEM|STO|LOP|IMP|CLI|CON|CAL)-E\d{3}\b", page.read_text()))
        assert told <= set(CODES), page


def test_words_that_no_surface_says_are_not_said_where_models_read() -> None:
    """D52, for the one page that is no Markdown file."""
    text = (ROOT / "llms.txt").read_text()
    assert not [word for word in FORBIDDEN if re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE)]
    assert not [pattern for pattern in OTHER_NAMES if re.search(pattern, text, re.IGNORECASE)]


def test_numbers_in_words_are_right() -> None:
    """The kinds of files that can be imported."""
    assert len(MODULES) == 18
    assert "eighteen kinds" in (DOCS / "README.md").read_text()


def test_every_fault_has_a_command_and_every_command_a_test() -> None:
    """docs/reliability.md: each row names its commands, each command names files that are there and tests that match."""
    page = (DOCS / "reliability.md").read_text()
    commands = dict(re.findall(r"^(F\d+) +(?:\w+=\d+ )*(python -m pytest .+)$", page, re.MULTILINE))
    used = {name for row in re.findall(r"\| ([F\d, ]+) \|$", page, re.MULTILINE) for name in row.split(", ")}
    assert used == set(commands)
    assert len(commands) >= 14
    for command in commands.values():
        paths = [ROOT / word for word in command.split() if word.startswith("tests/")]
        assert all(path.exists() for path in paths), command
        wanted = re.search(r"-k (\w+)$", command)
        files = [file for path in paths for file in (path.rglob("test_*.py") if path.is_dir() else [path])]
        tests = re.findall(
            r"^(?:async )?(?:def )?([Tt]est_?\w+)",
            "\n".join(file.read_text() for file in files),
            re.MULTILINE,
        )
        assert [name for name in tests if wanted is None or wanted[1] in name], command
