# SPDX-License-Identifier: Apache-2.0
"""Making values that came in storable: well-formed text, numbers the format can hold, and bounded lengths."""

from __future__ import annotations

import math
from collections.abc import Iterable

from deja_tui.digests import sha256
from deja_tui.text import compact_json, door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

TEXT_MAX: Final = 32_768  # characters of one text that are kept; the rest is told as elided
_DIGITS: Final = 16
_INT_MIN: Final = -(2**63)
_INT_MAX: Final = 2**64 - 1


def tame(value: Any) -> Any:
    """``value`` with every text through `door`, and numbers that grain bytes cannot hold as text."""
    if isinstance(value, str):
        return value if value.isascii() and "\x00" not in value else door(value)
    if isinstance(value, list):
        return [tame(item) for item in value]
    if isinstance(value, dict):
        return {door(str(key)): tame(item) for key, item in value.items()}
    if value is None or value is True or value is False:
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and not _INT_MIN <= value <= _INT_MAX:
        return str(value)
    return value


def digest(value: Any) -> str:
    """16 hex digits that tell two raw values apart; the same for equal JSON, however it was written."""
    return sha256(compact_json(value).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


class Digest:
    """`digest` of lists that are given one element after the other."""

    def __init__(self) -> None:
        self._told = sha256()

    def text(self, text: str) -> None:
        """Take a piece of the JSON itself."""
        self._told.update(text.encode("utf-8", "surrogatepass"))

    def rows(self, rows: Iterable[Any]) -> int:
        """Take a list; how many elements it had."""
        count = 0
        self.text("[")
        for value in rows:
            self.text("," * bool(count) + compact_json(value))
            count += 1
        self.text("]")
        return count

    def __str__(self) -> str:
        return self._told.hexdigest()[:_DIGITS]


class Shears:
    """Cuts texts to a length and counts the characters that went."""

    def __init__(self) -> None:
        self.elided = 0

    def text(self, text: str, limit: int = TEXT_MAX) -> str:
        """The first ``limit`` characters."""
        if len(text) <= limit:
            return text
        self.elided += len(text) - limit
        return text[:limit]

    def value(self, value: Any, limit: int = TEXT_MAX, whole: int = 8 * TEXT_MAX) -> Any:
        """``value`` with each of its texts cut; when it is longer than ``whole`` even so, its JSON text cut."""
        kept = self._texts(value, limit)
        # a text of JSON is never twice as long as that of Python: most values are short, and told by that at once
        if isinstance(kept, (dict, list)) and 2 * len(repr(kept)) > whole:
            text = compact_json(kept)
            if len(text) > whole:
                return self.text(text, limit)
        return kept

    def _texts(self, value: Any, limit: int) -> Any:
        if isinstance(value, str):
            return self.text(value, limit)
        if isinstance(value, list):
            return [self._texts(item, limit) for item in value]
        if isinstance(value, dict):
            return {self.text(key, limit): self._texts(item, limit) for key, item in value.items()}
        return value
