# SPDX-License-Identifier: Apache-2.0
"""The configuration file: what it takes, and what it refuses by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from deja_tui.console.config import Config, default_path, load
from deja_tui.errors import DejaError


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_the_facts_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the config folder only, never beside the project (D48)."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "project").mkdir()
    written(tmp_path / "project", 'theme = "light"')
    monkeypatch.chdir(tmp_path / "project")
    assert load() == Config()
    default_path().parent.mkdir()
    default_path().write_text('theme = "mono"\n')
    assert load() == Config(theme="mono")


def test_it_takes_looks_and_numbers(tmp_path: Path) -> None:
    """Every key that the module names."""
    text = (
        'theme = "light"\ncolours = "256"\nmouse = false\nascii = true\nhints = false\npoll_seconds = 0.5\n'
    )
    text += "fill_seconds = 2\n"
    assert load(written(tmp_path, text)) == Config("light", "256", False, True, False, 0.5, 2)


@pytest.mark.parametrize(
    "text,said",
    [
        ('pager = "less"', "unknown key pager"),
        ("theme = 1", "theme does not take 1"),
        ('colours = "lots"', "colours does not take lots"),
        ("mouse = 1", "mouse does not take 1"),
        ("poll_seconds = -1", "poll_seconds does not take -1"),
        ("poll_seconds = true", "poll_seconds does not take true"),
        ('"\\u001b[2J" = 1', "unknown key \\x1b[2J"),
        ("theme", "it is no TOML"),
    ],
)
def test_anything_else_is_refused_with_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    """CON-E003, and what would be right; a command is no key."""
    with pytest.raises(DejaError) as caught:
        load(written(tmp_path, text))
    assert caught.value.code == "CON-E003"
    assert caught.value.message.startswith("config.toml: " + said)
    assert caught.value.next_step


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A folder in its place."""
    with pytest.raises(DejaError, match="cannot be read"):
        load(tmp_path)
