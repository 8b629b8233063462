# SPDX-License-Identifier: Apache-2.0
"""What makes two findings the same finding (D8, D25): the digest of family, target with its discriminator, action."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from deja_tui.engine.faults import LoopError
from deja_tui.text import fold, nfc

# scheme → the class a policy speaks of
TARGET_CLASSES: Final = {
    "grain": "memory",
    "entity": "memory",
    "query": "query",
    "template": "query",
    "doc": "prompt",
    "host": "host",
}


def identity(family: str, target_ref: str, action: str) -> str:
    """Lower-case hex SHA-256 over NFC(family) 00 folded target 00 action: the grain's ``dedup_key``."""
    parts = (nfc(family), fold(target_ref), action)
    return _digest(parts)


def digest12(*parts: str) -> str:
    """Twelve hex digits that tell findings on one target apart."""
    return _digest(parts)[:12]


def _digest(parts: Iterable[str]) -> str:
    # A substrate may hand out a NUL or half a surrogate pair: neither may blur a border or stop the run.
    joined = "\x00".join(part.replace("\x00", "\ufffd") for part in parts)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()


def target_class(target_ref: str) -> str:
    """``memory``, ``query``, ``prompt`` or ``host``. Raises LOP-E010 on a malformed reference."""
    scheme, _, rest = target_ref.partition(":")
    found = TARGET_CLASSES.get(scheme)
    if found is None or not rest.strip():
        raise LoopError("LOP-E010", "a target is <scheme>:<rest> with one of " + ", ".join(TARGET_CLASSES))
    return found
