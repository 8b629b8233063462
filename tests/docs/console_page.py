# SPDX-License-Identifier: Apache-2.0
"""The table of keys of docs/console.md, out of the one table of actions."""

from __future__ import annotations

from deja_tui.console.actions import ACTIONS, Action
from deja_tui.console.keymap import Keymap
from deja_tui.screens.help import NAMES

BEGIN = "<!-- keys: made out of deja_tui/console/actions.py -->\n"
END = "<!-- end of keys -->\n"


def where(action: Action) -> str:
    """The states an action exists in; one that is nearly everywhere says where it is not."""
    missing = [NAMES[scope] for scope in NAMES if scope not in action.scopes]
    if not missing:
        return "everywhere"
    if len(missing) <= 4 and len(NAMES) > 12:
        return "everywhere but " + ", ".join(missing)
    return ", ".join(NAMES[scope] for scope in NAMES if scope in action.scopes)


def table() -> str:
    """A row an action: its keys, what it does, where, the right it needs, its name for keymap.toml."""
    keymap = Keymap()
    lines = ["| keys | what they do | where | right | name |", "|---|---|---|---|---|"]
    for action in ACTIONS:
        keys = " ".join(f"`{key}`" for key in keymap.keys(action.id))
        lines.append(f"| {keys} | {action.title} | {where(action)} | {action.right} | `{action.id}` |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """The page with the table as it is now."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.split(END)[1]
