# SPDX-License-Identifier: Apache-2.0
"""The keys of a long list as texts, without making a text of each: numbers in, a text for the row that is asked for."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import overload


class NumberKeys(Sequence[str]):
    """Numbers as the keys of `widgets.rows.Rows`: finding one again costs a look along an array, not a million texts."""

    def __init__(self, numbers: array[int] | None = None) -> None:
        self.numbers = array("q") if numbers is None else numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [str(number) for number in self.numbers[index]]
        return str(self.numbers[index])

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key.lstrip("-").isdigit() and int(key) in self.numbers

    def index(self, key: str, start: int = 0, stop: int | None = None) -> int:
        """Where a key stands. Raises ValueError."""
        return self.numbers.index(int(key))
