# SPDX-License-Identifier: Apache-2.0
"""Rules of the house that a machine can check: licence lines, words, leftovers, sizes, dependencies."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from deja_tui.errors import CODES
from tests.support import ROOT

# D52: what no surface says. Written in pieces, so that this list is not its own finding.
FORBIDDEN = [
    "lear" + "ns", "under" + "stands", "smar" + "ter", "AI-" + "powered", "guardrails for " + "outputs",
    "works with any " + "framework", "full observ" + "ability", "enterprise-" + "grade", "best-in-" + "class",
]  # fmt: skip
OTHER_NAMES = [r"\breco\b", r"\brecos\b", r"\bsugges" + r"tions?\b"]
LEFTOVERS = [
    r"\bTO" + r"DO\b",
    r"\bFIX" + r"ME\b",
    r"\bX" + r"XX\b",
    "NotImplemented" + "Error",
    "pragma: no " + "cover",
]
MACHINE_PATHS = ["/" + "work/", "/" + "root/", "/" + "farm/", "/" + "opt/"]


def tracked(*suffixes: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        return [path for path in ROOT.rglob("*") if path.suffix in suffixes and ".venv" not in path.parts]
    return [
        path
        for name in listed.stdout.splitlines()
        if (path := ROOT / name).suffix in suffixes and path.exists()
    ]


def prose() -> list[Path]:
    """What people read: documents, and the package, whose strings are help and screens."""
    return [path for path in tracked(".py", ".md", ".toml") if "tests" not in path.relative_to(ROOT).parts]


@pytest.mark.parametrize("path", tracked(".py"), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_source_file_begins_with_its_licence(path: Path) -> None:
    """D51: an SPDX line in each file."""
    assert path.read_text().startswith("# SPDX-License-Identifier: Apache-2.0\n")


@pytest.mark.parametrize("word", FORBIDDEN)
def test_forbidden_words_are_said_nowhere(word: str) -> None:
    """D52: the words that promise what no command shows."""
    found = [
        path for path in prose() if re.search(rf"\b{re.escape(word)}\b", path.read_text(), re.IGNORECASE)
    ]
    assert not found


@pytest.mark.parametrize("pattern", OTHER_NAMES)
def test_the_reviewed_thing_has_one_name(pattern: str) -> None:
    """D52: it is a recommendation, on every surface."""
    assert not [path for path in prose() if re.search(pattern, path.read_text(), re.IGNORECASE)]


@pytest.mark.parametrize("pattern", LEFTOVERS)
def test_nothing_unfinished_is_left_in_the_package(pattern: str) -> None:
    """Open points stand in the issue tracker, not in the source."""
    package = [path for path in tracked(".py") if path.is_relative_to(ROOT / "deja_tui")]
    assert not [path for path in package if re.search(pattern, path.read_text())]


@pytest.mark.parametrize("text", MACHINE_PATHS)
def test_no_path_of_a_machine_is_tracked(text: str) -> None:
    """The project runs anywhere."""
    files = tracked(".py", ".md", ".toml", ".svg", ".txt", ".sh")
    assert not [path for path in files if re.search(rf"(?<![\w.]){re.escape(text)}", path.read_text())]


def test_runtime_dependencies_are_the_seven_and_no_more() -> None:
    """Each has its reason in docs/architecture.md."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[<>=!~ ]", entry)[0] for entry in project["dependencies"]}
    assert names == {"textual", "rich", "apsw", "msgpack", "xxhash", "click", "platformdirs"}
    told = (ROOT / "docs" / "architecture.md").read_text()
    assert all(f"`{name}`" in told for name in names)


def test_every_room_says_what_it_owns_may_import_and_never_does() -> None:
    """The layout is the map."""
    for room in (
        "store",
        "cal",
        "engine",
        "compat",
        "capture",
        "present",
        "widgets",
        "console",
        "screens",
        "cli",
    ):
        text = (ROOT / "deja_tui" / room / "__init__.py").read_text()
        assert "Owns" in text, room
        assert "import" in text, room
        assert "ever" in text, room


def test_every_error_code_raised_in_the_package_is_registered() -> None:
    """A code is looked up before it is raised; this finds the ones no test has raised yet."""
    raised: set[str] = set()
    for path in (ROOT / "deja_tui").rglob("*.py"):
        raised.update(re.findall(r'"((?:VAL|FMT|MEM|STO|LOP|IMP|CLI|CON)-E\d{3})"', path.read_text()))
    assert raised <= set(CODES)


def test_the_version_stands_in_one_place() -> None:
    """pyproject takes it from the package."""
    from deja_tui import __version__

    text = (ROOT / "pyproject.toml").read_text()
    assert __version__ not in re.findall(r'^version = "(.*)"', text, re.MULTILINE)
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


# Rooms whose rules are all proved; a room joins when its issue is done.
PROVED = ["engine/", "cal/", "cal_substrate.py", "store/filters.py", "capture/", "items.py", "console/terminal.py", "console/driver.py", "spool.py", "text.py", "store/codec.py", "store/fields.py", "store/memory.py", "store/erase.py", "store/integrity.py", "store/search.py",
          "store/narrow.py", "store/projection.py", "store/oplog.py", "store/chains.py", "store/asof.py", "store/changes.py",
          "store/arrive.py", "store/bundles.py", "store/segments.py", "store/restore.py", "declared.py", "copies.py",
          "documents.py", "standing.py", "store/sessions.py", "erasure.py", "compat/", "store/telemetry.py", "store/derived.py", "store/seal.py",
          "store/connection.py", "store/read.py", "store/rows.py", "store/views.py", "store/stats.py", "store/near.py",
          "store/browse.py", "store/branches.py", "store/graph.py", "store/whole.py"]  # fmt: skip


def test_every_numbered_rule_is_cited_by_a_test() -> None:
    """A rule at the top of a module that no test names is a rule that may be broken unseen."""
    told = "\n".join(path.read_text() for path in tracked(".py") if "tests" in path.relative_to(ROOT).parts)
    spans = re.findall(r"\b((?:[A-Z]+-)+)(\d+) to (?:[A-Z]+-)*(\d+)", told)
    cited = set(re.findall(r"\b(?:[A-Z]+-)+\d+\b", told))
    cited.update(f"{name}{number}" for name, low, high in spans for number in range(int(low), int(high) + 1))
    rules = {
        rule: path.name
        for place in PROVED
        for path in sorted((ROOT / "deja_tui").rglob("*.py"))
        if str(path.relative_to(ROOT / "deja_tui")).startswith(place)
        for rule in re.findall(r"^\* ((?:[A-Z]+-)+\d+) ", path.read_text(), re.MULTILINE)
    }
    assert len(rules) > 50
    assert not {rule: name for rule, name in rules.items() if rule not in cited}
