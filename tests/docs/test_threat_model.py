# SPDX-License-Identifier: Apache-2.0
"""docs/threat-model.md: every claim has an id, a mechanism and tests that exist; claims without a test elsewhere are proved here."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from deja_tui.errors import CODES
from tests.cli.conftest import Deja, deja  # noqa: F401
from tests.support import ROOT

PAGE = (ROOT / "docs" / "threat-model.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| TM-")
]
NETWORK = {"socket", "ssl", "http", "ftplib", "smtplib", "poplib", "imaplib", "telnetlib", "socketserver", "xmlrpc",
           "urllib.request", "requests", "httpx", "aiohttp", "websockets", "urllib3"}  # fmt: skip


def test_every_claim_has_an_id_of_its_own_a_mechanism_and_tests_that_exist() -> None:
    """Ids stay and count up; a proof is ``file::test``, and the file holds that test."""
    assert len(ROWS) >= 40
    assert [row[0] for row in ROWS] == [f"TM-{number}" for number in range(1, len(ROWS) + 1)]
    named: set[str] = set()
    for row in ROWS:
        identity, claim, mechanism, proof = row
        assert claim.endswith("."), identity
        assert mechanism.endswith("."), identity
        tests = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", proof)
        assert tests, identity
        for path, name in tests:
            text = (ROOT / path).read_text()
            assert re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), f"{identity}: {path}::{name}"
            named.add(name)
    assert len(named) > 60


def test_what_is_not_defended_is_said_in_these_words() -> None:
    """D6: no keys yet, and nothing is promised about a forger who can write the file."""
    assert (
        "**A complete, self-consistent forgery by someone who can write the file.**"
        in PAGE.partition("## Not defended")[2]
    )
    assert "docs/threat-model.md" in (ROOT / "SECURITY.md").read_text()
    assert "docs/threat-model.md" in (ROOT / "README.md").read_text()


def test_no_module_opens_a_connection() -> None:
    """TM-35: nothing in the package imports what could, wherever the import stands."""
    for path in (ROOT / "deja_tui").rglob("*.py"):
        found = re.findall(
            r"^\s*(?:from\s+([\w.]+)\s+import\s+\(?([\w, ]*)|import\s+([\w., ]+))",
            path.read_text(),
            re.MULTILINE,
        )
        names = {plain.strip() for *_, several in found for plain in several.split(",")}
        names |= {module for module, *_ in found}
        names |= {f"{module}.{name.strip()}" for module, inner, _ in found for name in inner.split(",")}
        assert not [name for name in names if name in NETWORK or name.split(".")[0] in NETWORK], path


def test_wiring_touches_no_file_of_another_program(
    deja: Deja,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """TM-40: init and hook print print, and schedule, too; a home full of settings is byte for byte the same."""
    home = tmp_path / "home"
    for name in (".claude/settings.json", ".codex/config.toml", ".config/mcp.json", "crontab"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("theirs")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    for framework in ("claude-code", "openai", "python", "mcp"):
        assert deja("init", "--framework", framework, "--db", f"{framework}.deja").code == 0
    for client in ("claude-code", "mcp"):
        assert deja("hook", "print", client, "--db", "mcp.deja").out
    for system in ("cron", "launchd", "systemd", "windows"):
        done = deja(
            "loop", "schedule", "--print", "--every", "6h", "--os", system, "--db", tmp_path / "mcp.deja"
        )
        assert done.out
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", ["ci.txt", "audit.txt"])
def test_every_pinned_package_has_a_version_and_hashes(name: str) -> None:
    """TM-42: exact versions, SHA-256, no address of a host; what pyproject pins has the same version there."""
    text = (ROOT / "requirements" / name).read_text()
    entries = re.split(r"\n(?=[a-z0-9])", text.strip())
    versions = {}
    for entry in entries:
        head, *hashes = [line.strip().rstrip("\\").strip() for line in entry.splitlines()]
        pin = re.fullmatch(r"([a-z0-9.\-]+)==([\w.]+)( ; .+)?", head)
        assert pin, head
        versions[pin[1]] = pin[2]
        assert hashes, head
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes), head
    assert "://" not in text
    assert "--index" not in text
    if name == "ci.txt":
        told = re.findall(r'"([\w-]+)==([\w.]+)"', (ROOT / "pyproject.toml").read_text())
        assert len(told) >= 10
        assert not [
            (package, version)
            for package, version in told
            if package not in ("dejadb", "areev") and versions.get(package) != version
        ]


def audit() -> Any:
    """The audit of ``.ci`` as a module."""
    spec = importlib.util.spec_from_file_location("audit", ROOT / ".ci" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_audit_that_could_not_run_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """TM-42: an advisory fails it; what was not compared is named, and an empty comparison is no pass."""
    judged = audit().judged
    clean = {"name": "click", "version": "8", "vulns": []}
    left = {"name": "apsw", "skip_reason": "not found"}
    bad = {"name": "rich", "version": "1", "vulns": [{"id": "GHSA-1", "fix_versions": ["2"]}]}
    assert judged("a.txt", [left]) == 0
    assert capsys.readouterr().out.startswith("NOT AUDITED: a.txt: no advisory database answered")
    assert judged("a.txt", [clean, left]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "NOT AUDITED: a.txt: 1 of 2 packages: apsw",
        "a.txt: packages compared: 1, advisories: 0",
    ]
    assert judged("a.txt", [clean, bad]) == 1
    assert "rich 1: GHSA-1, fixed in 2" in capsys.readouterr().out
    assert ".ci/audit.py" in (ROOT / ".ci" / "run").read_text()


def test_no_pin_is_named_by_an_advisory_that_is_kept_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """TM-42: with and without a network; one that was accepted is told with its reason, an older pin fails, and what is installed
    asks for no less than the fixed version."""
    tool = audit()
    assert [tool.compared(name) for name in tool.PINNED] == [0, 0]
    assert "pytest 8.4.2: CVE-2025-71176" in capsys.readouterr().out
    needed = dict(re.findall(r'"([\w-]+)>=([\d.]+)', (ROOT / "pyproject.toml").read_text()))
    for one in json.loads((ROOT / "requirements" / "advisories.json").read_text()):
        if one["package"] in needed:
            assert tool.ordered(needed[one["package"]]) >= tool.ordered(one["fixed"]), one["package"]
    (tmp_path / "requirements").mkdir()
    kept = (ROOT / "requirements" / "advisories.json").read_text()
    (tmp_path / "requirements" / "advisories.json").write_text(kept)
    (tmp_path / "requirements" / "old.txt").write_text("msgpack==1.2.0 \\\n    --hash=sha256:0\n")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    assert tool.compared("requirements/old.txt") == 1
    assert "GHSA-6v7p-g79w-8964" in capsys.readouterr().out


def test_every_code_it_names_is_registered() -> None:
    """Also in SECURITY.md."""
    told = PAGE + (ROOT / "SECURITY.md").read_text()
    assert set(re.findall(r"\b[A-Z]{3}-E\d{3}\b", told)) <= set(CODES)
