# SPDX-License-Identifier: Apache-2.0
"""When a typed reason may be recorded: one rule for the console and ``deja review`` (D16).

A `Sitting` remembers what was given between opening and closing the console or the walker. A reason typed twice is a
reason not thought about, so it is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from deja_tui.text import REASON_MAX, door, fold, reason

BLANK: Final = "a reason is needed: say why in your own words"
REPEATED: Final = "this reason was already given in this sitting: say what is particular here"


@dataclass(slots=True)
class Sitting:
    """The reasons given so far, folded."""

    given: set[str] = field(default_factory=set)

    def refusal(self, typed: str) -> str | None:
        """Why ``typed`` cannot be recorded, as one sentence, or None when it can."""
        length = count(typed)
        if length > REASON_MAX:
            return f"a reason has at most {REASON_MAX} characters, this one has {length}"
        kept = reason(typed)
        if kept is None:
            return BLANK
        return REPEATED if fold(kept) in self.given else None

    def record(self, typed: str) -> None:
        """Remember a reason that was recorded."""
        self.given.add(fold(reason(typed) or ""))


def count(typed: str) -> int:
    """The length a reason is judged by: code points after normalising and trimming."""
    return len(door(typed).strip())


def unseen(total: int, seen: int) -> str | None:
    """What to say when lines of the change were not on the screen yet, or None when all were."""
    left = total - seen
    if left <= 0:
        return None
    return f"{left} {'line' if left == 1 else 'lines'} of the change not seen yet: read on, then decide"
