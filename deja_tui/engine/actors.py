# SPDX-License-Identifier: Apache-2.0
"""Who is asking, and with which rights (D17, D22)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from deja_tui.engine.faults import LoopError
from deja_tui.errors import ValidationError, did_you_mean

RIGHTS: Final = ("read", "write", "review", "apply", "admin")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]{0,63}\Z")
_RESERVED_PREFIXES: Final = ("engine:", "policy:", "command:", "llm:")


@dataclass(frozen=True, slots=True)
class Caller:
    """An actor label and the rights it acts with. ``admin`` holds every other right; ``write`` holds none.

    There is no unchecked one: making it raises VAL-E003 on a malformed label or a reserved prefix, and VAL-E001 on a
    right that does not exist.
    """

    actor: str
    rights: frozenset[str]

    def __post_init__(self) -> None:
        if not isinstance(self.actor, str) or not _LABEL.match(self.actor):
            raise ValidationError(
                "VAL-E003",
                "an actor is 1 to 64 letters, digits and _ . : @ -, beginning with a letter or digit",
                "for example --actor user:ana",
            )
        if self.actor.lower().startswith(_RESERVED_PREFIXES):
            raise ValidationError(
                "VAL-E003", "actors beginning with engine:, policy:, command: or llm: are the engine's own"
            )
        if not self.rights.issubset(RIGHTS):
            odd = next(one for one in self.rights if one not in RIGHTS)
            meant = did_you_mean(str(odd), RIGHTS)
            told = f"{meant}give a comma list of these"
            raise ValidationError("VAL-E001", "scopes are " + ", ".join(RIGHTS), told)

    def may(self, right: str) -> bool:
        return right in self.rights or "admin" in self.rights

    def need(self, right: str) -> None:
        """Raises LOP-E022 naming the missing right."""
        if not self.may(right):
            held = ", ".join(name for name in RIGHTS if name in self.rights) or "none"
            raise LoopError("LOP-E022", f"this needs the right {right}; held: {held}")


def caller(actor: str, rights: Iterable[str] | None = None) -> Caller:
    """A caller; None grants every right (the embedded caller and the command line hold all). Raises as `Caller` does."""
    return Caller(actor, frozenset(RIGHTS if rights is None else rights))
