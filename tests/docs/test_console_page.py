# SPDX-License-Identifier: Apache-2.0
"""docs/console.md: its table of keys is what the console does, and what it says of files holds.

After a change: look at the difference, then run this file with ``DEJA_UPDATE_SNAPSHOTS=1``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from deja_tui.console import config, keymap
from deja_tui.console.actions import ACTIONS, PLACES
from deja_tui.screens.help import NAMES
from tests.docs import console_page
from tests.support import ROOT

PAGE = ROOT / "docs" / "console.md"


def test_the_table_of_keys_is_made_out_of_the_actions() -> None:
    """Every action stands in it, by the name that keymap.toml takes."""
    wanted = console_page.page(PAGE.read_text(encoding="utf-8"))
    if os.environ.get("DEJA_UPDATE_SNAPSHOTS"):
        PAGE.write_text(wanted, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == wanted
    assert all(f"| `{action.id}` |" in wanted for action in ACTIONS)


def test_its_files_are_taken_as_they_stand(tmp_path: Path) -> None:
    """The examples of config.toml and keymap.toml are read by the console."""
    blocks = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    found = {"config": tmp_path / "config.toml", "keymap": tmp_path / "keymap.toml"}
    for path, block in zip(found.values(), blocks, strict=True):
        path.write_text(block, encoding="utf-8")
    assert config.load(found["config"]).theme
    assert keymap.load(found["keymap"]).given["queue.approve"] == ("A",)


def test_every_place_and_state_has_a_name() -> None:
    """Help and page call them the same."""
    assert {name for name, _, _ in PLACES} <= set(NAMES)
    assert {scope for action in ACTIONS for scope in action.scopes} <= set(NAMES)
