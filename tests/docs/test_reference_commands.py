# SPDX-License-Identifier: Apache-2.0
"""The commands of the reference pages run: each page in its order, on a memory that has what they name.

An address in a page stands for one of that memory; what needs a terminal or a client is called without one, which parses every
option and then says so. The pages whose commands have a test of their own are in `ELSEWHERE`.
"""

from __future__ import annotations

import io
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from deja_tui.capture.demo import seed
from deja_tui.cli.app import deja as root
from tests.cli.conftest import Deja, deja  # noqa: F401
from tests.cli.test_verbs import parse
from tests.docs.test_pages import reference_lines
from tests.support import NOW, ROOT

ELSEWHERE = {
    "hooks.md": "tests/capture/test_hooks_document.py",
    "analyzer-protocol.md": "tests/test_protocol_document.py",
    "precision.md": "tests/test_precision.py",
}
NEED_A_TERMINAL = ("deja ui ", "deja cal", "deja review")
"""Lines that begin so, or are exactly so, end with CLI-E001 or with an empty sitting where there is none."""


def lines_of(page: str) -> list[str]:
    """The commands of a page, without the words beside them."""
    found = (re.split(r"\s+#\s|\s{3,}", line)[0] for name, line in reference_lines() if name == page)
    return [line.strip() for line in found]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo memory, made once."""
    path = tmp_path_factory.mktemp("demo") / "demo.deja"
    seed(path, NOW)
    return path


@pytest.fixture
def folder(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A demo memory as the default one, and the files that pages name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    monkeypatch.setenv("DEJA_DB", str(tmp_path / "agent.deja"))
    shutil.copy(demo, tmp_path / "agent.deja")
    shutil.copy(ROOT / "examples" / "import" / "calls.jsonl", tmp_path)
    projects = tmp_path / ".claude" / "projects"
    projects.mkdir(parents=True)
    call = (
        '{"type": "user", "uuid": "u1", "sessionId": "s", "message": {"role": "user", "content": "go on"}}\n'
    )
    (projects / "s.jsonl").write_text(call)
    (tmp_path / "shared" / "memory").mkdir(parents=True)
    (tmp_path / "export.json").write_text(
        '{"results": [{"id": "1", "memory": "likes tea", "user_id": "ana"}]}'
    )
    (tmp_path / "setup.cal").write_text('ADD fact SET subject = "a" SET relation = "b" SET object = "c"\n')
    return tmp_path


def forked(deja: Deja, folder: Path) -> str:  # noqa: F811
    """Two copies that superseded one fact and met; the address that their fork is of."""
    other = folder / "other.deja"
    base = deja("add", "acme", "region", "eu").out.strip()
    assert deja("bundle", "0.mgb").code == 0
    assert deja("import-bundle", "0.mgb", "--db", other).code == 0
    for path, said in ((folder / "agent.deja", "eu-west-1"), (other, "eu-east-1")):
        assert deja("supersede", base, "--set", f"object={said}", "--because", said, "--db", path).code == 0
    assert deja("bundle", "1.mgb", "--db", other).code == 0
    assert deja("import-bundle", "1.mgb").code == 0
    (fork,) = deja("forks", "--format", "json").json["forks"]
    return str(fork["tips"][1]["address"])


PREPARED: dict[str, Callable[[Deja, Path], str]] = {"sync.md": forked}


@pytest.mark.parametrize("page", sorted({page for page, _ in reference_lines()} - set(ELSEWHERE)))
def test_every_command_of_a_reference_page_runs(page: str, deja: Deja, folder: Path) -> None:  # noqa: F811
    """In the order of the page, each ends with 0."""
    named = PREPARED[page](deja, folder) if page in PREPARED else ""
    for line in lines_of(page):
        argv = shlex.split(line.replace("3c262f04", named).replace("~", str(folder)))[1:]
        if argv[0] == "mcp":
            parse(root, argv)  # it serves a client until that goes: tests/cli/test_mcp_server.py
            continue
        done = deja(*argv)
        if line in NEED_A_TERMINAL or line.startswith(NEED_A_TERMINAL[0]) or line == "deja demo":
            assert done.code in (0, 1), (line, done.err)
            assert done.code == 0 or done.err.startswith("CLI-E001"), (line, done.err)
        else:
            assert done.code == 0, (line, done.out, done.err)


def test_what_is_run_elsewhere_is_named_there() -> None:
    """Each page of `ELSEWHERE` has its test, which reads the page."""
    for page, path in ELSEWHERE.items():
        assert page in (ROOT / path).read_text(), page
