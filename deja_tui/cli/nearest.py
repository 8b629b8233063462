# SPDX-License-Identifier: Apache-2.0
"""What somebody meant who typed a verb that there is not: another word for one, one of a group, or one that is spelt nearly so."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Final

_GROUPS: Final = {
    "loop": ("deja_tui.cli.loop", "loop"),
    "audit": ("deja_tui.cli.audit", "audit"),
    "doc": ("deja_tui.cli.doc", "doc"),
    "segments": ("deja_tui.cli.sync", "segments"),
}
_OTHER_WORDS: Final = {
    "accept": "loop approve", "backup": "bundle", "check": "verify", "console": "ui", "delete": "forget", "dismiss": "loop reject",
    "edit": "supersede", "export": "bundle", "find": "search", "help": "--help", "list": "loop list", "ls": "recall",
    "open": "ui", "query": "cal", "queue": "loop list", "receipt": "audit show", "receipts": "audit show", "remove": "forget",
    "revert": "loop rollback", "rm": "forget", "settings": "loop policy", "status": "next", "sync": "segments",
    "trail": "audit show", "tui": "ui", "undo": "loop rollback", "update": "supersede",
}  # fmt: skip


def nearest(name: str, verbs: Iterable[str], path: str) -> str:
    """The command that ``name`` may have meant below ``path`` (``deja``, ``deja loop``), as it is typed; "": none is near."""
    if name in _OTHER_WORDS:
        return f"deja {_OTHER_WORDS[name]}"
    known = {}
    if path == "deja":
        known = {word: f"deja {told}" for word, told in _OTHER_WORDS.items()}
        known |= {verb: f"deja {group} {verb}" for group in reversed(_GROUPS) for verb in _verbs_of(group)}
    known |= {verb: f"{path} {verb}" for verb in verbs}
    near = get_close_matches(name, known, n=1)
    return known[near[0]] if near else ""


def _verbs_of(group: str) -> Iterable[str]:
    module, attribute = _GROUPS[group]
    verbs: dict[str, object] = getattr(import_module(module), attribute).verbs
    return verbs
