# SPDX-License-Identifier: Apache-2.0
"""The pager of the process, and a text as one line."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from deja_tui.console.outside import one_line, page, pager_command
from deja_tui.errors import DejaError


def test_the_pager_is_that_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """D48: PAGER, with its arguments; else one that is there."""
    assert pager_command({"PAGER": "less -R '+/a b'"}) == ["less", "-R", "+/a b"]
    monkeypatch.setattr("shutil.which", lambda name: "/bin/more" if name == "more" else None)
    assert pager_command({"PAGER": " "}) == ["more"]
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(DejaError) as caught:
        pager_command({})
    assert caught.value.code == "CON-E004"
    assert "PAGER=less" in (caught.value.next_step or "")


def test_the_lines_arrive_on_its_standard_input(tmp_path: Path) -> None:
    """Whatever it says by its status."""
    kept = tmp_path / "kept"
    code = f"import sys; open({str(kept)!r}, 'w').write(sys.stdin.read()); sys.exit(3)"
    page(["one", "«zwei»"], {"PAGER": f'{sys.executable} -X utf8 -c "{code}"'})
    assert kept.read_text(encoding="utf-8") == "one\n«zwei»\n"


@pytest.mark.parametrize("pager", ["/nowhere/at/all", "'"])
def test_one_that_cannot_start_is_told(pager: str) -> None:
    """A code and what to do."""
    with pytest.raises(DejaError) as caught:
        page(["x"], {"PAGER": pager})
    assert caught.value.code == "CON-E004"


def test_a_text_is_printed_as_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The terminal breaks it, not we; Enter goes back."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    one_line("x" * 300)
    assert "\n" + "x" * 300 + "\n" in capsys.readouterr().out
