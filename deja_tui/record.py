# SPDX-License-Identifier: Apache-2.0
"""`Record`: the base of small values in what a hook loads.

Elsewhere such a value is a frozen dataclass. To define one costs a process half a millisecond, and a named tuple a quarter, since
both are compiled when they are defined; a hook would define two dozen and has 35 ms in all (D47, measured). A record is equal to
one of its own class with equal parts, and is shown by them. That its parts are not assigned anew is left to its readers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class Record:
    """A value with named parts. A subclass names them in ``_fields``, makes them its slots, and takes them in ``__init__``."""

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self._fields))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._fields)})"
        )
