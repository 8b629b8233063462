# SPDX-License-Identifier: Apache-2.0
"""The keys of a list that is read in parts, for `rows.Rows`: as long as the list, and no larger than what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload


class Stretch(Sequence[str]):
    """The keys of a list of which only a stretch is known: it is as long as the list, and holds no more than the stretch.

    Args:
        total: how long the list is. start: the number of the first row that is known. keys: of the known rows, in order.
    """

    def __init__(self, total: int = 0, start: int = 0, keys: Sequence[str] = ()) -> None:
        self.total = total
        self.start = start
        self.known = tuple(keys)
        self.places = {key: start + place for place, key in enumerate(self.known)}

    def holds(self, index: int) -> bool:
        """Whether a row is known."""
        return self.start <= index < self.start + len(self.known)

    def __len__(self) -> int:
        return self.total

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        """The key of a row; empty for one that is not known."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(self.total))]
        return self.known[index - self.start] if self.holds(index) else ""

    def __contains__(self, key: object) -> bool:
        return key in self.places

    def index(self, key: str, start: int = 0, stop: int | None = None) -> int:
        """The number of a known row. Raises ValueError."""
        if key not in self.places:
            raise ValueError(key)
        return self.places[key]
