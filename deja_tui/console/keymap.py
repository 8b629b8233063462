# SPDX-License-Identifier: Apache-2.0
"""Which key does what: the defaults of `actions`, changed by a person's ``keymap.toml``.

The file maps action ids to keys (``queue.approve = ["a"]``); what it does not name keeps its default. Two actions of
one state on one key are refused with both ids named, because guessing which was meant could decide something.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from deja_tui.console.actions import ACTIONS, BY_ID, SCOPES, Action
from deja_tui.errors import DejaError
from deja_tui.text import clean

FILE_NAME: Final = "keymap.toml"
# Names Textual gives to keys that people write as the character.
_CHARACTERS: Final[Mapping[str, str]] = {
    "question_mark": "?",
    "slash": "/",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "colon": ":",
}
_LABELS: Final[Mapping[str, str]] = {
    "enter": "Enter",
    "tab": "Tab",
    "shift+tab": "⇧Tab",
    "escape": "Esc",
    "space": "Space",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "home": "Home",
    "end": "End",
    "pageup": "PgUp",
    "pagedown": "PgDn",
}
# Flow control, multiplexer prefixes and aliases of Enter, Tab and Backspace cannot be told apart or never arrive.
_NEVER: Final = frozenset(f"ctrl+{letter}" for letter in "sqabhijm")


def key_name(key: str, character: str | None) -> str:
    """The name a key has in this table: the character where it prints, else the terminal's name for it."""
    if character is not None and len(character) == 1 and character.isprintable() and character != " ":
        return character
    return _CHARACTERS.get(key, key)


def label(key: str) -> str:
    """A key as people read it: ``Enter``, ``^d``, ``a``."""
    return f"^{key[5:]}" if key.startswith("ctrl+") else _LABELS.get(key, key)


class Keymap:
    """The keys in force. Raises CON-E002 on an unknown action, a key that cannot work, or a clash."""

    def __init__(
        self, overrides: Mapping[str, Iterable[str]] | None = None, *, source: str = "key map"
    ) -> None:
        given = {action.id: action.keys for action in ACTIONS}
        for action_id, keys in (overrides or {}).items():
            if action_id not in BY_ID:
                raise _refused(
                    source, f"there is no action {clean(action_id, 60)}", "deja's ? page lists them"
                )
            given[action_id] = tuple(keys)
        self.given: Mapping[str, tuple[str, ...]] = given
        self.by_scope = {scope: self._bind(scope, source) for scope in SCOPES}

    def _bind(self, scope: str, source: str) -> dict[str, Action]:
        bound: dict[str, Action] = {}
        for action in ACTIONS:
            if scope not in action.scopes:
                continue
            for key in self.given[action.id]:
                if key in _NEVER:
                    raise _refused(
                        source, f"{clean(key, 20)} cannot be a key: terminals take it", "choose another"
                    )
                if key in bound:
                    both = f"{bound[key].id} and {action.id} are both on {clean(key, 20)}"
                    raise _refused(source, both, "give one of them another key")
                bound[key] = action
        return bound

    def find(self, scope: str, key: str) -> Action | None:
        """The action of a key in a state, or None."""
        return self.by_scope[scope].get(key)

    def keys(self, action_id: str) -> tuple[str, ...]:
        """The keys of an action, labelled."""
        return tuple(label(key) for key in self.given[action_id])

    def first(self, action_id: str) -> str:
        """The key to hint, or an empty text when an action has none."""
        keys = self.keys(action_id)
        return keys[0] if keys else ""


def load(path: Path | None = None) -> Keymap:
    """The key map of this person: ``keymap.toml`` in the config folder, or the defaults without one."""
    found = path or default_path()
    try:
        text = found.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Keymap()
    except (OSError, UnicodeDecodeError) as fault:
        raise _refused(found.name, "it cannot be read", "check the file, or remove it") from fault
    try:
        return Keymap(_flat(tomllib.loads(text), found.name), source=found.name)
    except tomllib.TOMLDecodeError as fault:
        raise _refused(found.name, f"it is no TOML: {clean(str(fault), 200)}", "correct that line") from fault


def default_path() -> Path:
    """Where a person's key map lies (D48)."""
    import platformdirs

    return Path(platformdirs.user_config_dir("deja")) / FILE_NAME


def _flat(tree: Mapping[str, Any], source: str, before: str = "") -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            found.update(_flat(value, source, f"{before}{name}."))
        elif isinstance(value, list) and all(isinstance(key, str) and key for key in value):
            found[before + name] = tuple(value)
        else:
            raise _refused(source, f"{clean(before + name, 60)} is not a list of keys", '["a"]')
    return found


def _refused(source: str, what: str, next_step: str) -> DejaError:
    return DejaError("CON-E002", f"{source}: {what}", next_step)
