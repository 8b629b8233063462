# SPDX-License-Identifier: Apache-2.0
"""What an import has to remember of every record, in as much memory for a gigabyte as for a megabyte.

* IDS-1  The newest `HELD` entries are in memory, the others in a temporary database without a name, which the system
  removes with the process. Few files are long enough to begin one.
* IDS-2  Nothing is forgotten: what was put is found, however long ago. An answer never depends on where it lay.
"""

from __future__ import annotations

from collections.abc import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    import apsw

HELD: Final = 10_000
_CACHE_KIB: Final = 4_096
_NO_ROOM: Final = "no room in the temporary folder for what a file this long needs"


class Ids:
    """Texts by text, like a dict. Raises OSError where there is no room for what is kept outside of memory."""

    __slots__ = ("_count", "_file", "_new", "held")

    def __init__(self, held: int = HELD) -> None:
        self.held = held
        self._new: dict[str, str] = {}
        self._file: apsw.Connection | None = None
        self._count = 0  # of what is in the file, and not anew in memory

    def get(self, key: str) -> str | None:
        """What was put under ``key`` last."""
        found = self._new.get(key)
        return self._stored(key) if found is None and self._file is not None else found

    def put(self, key: str, value: str = "") -> None:
        if key not in self._new and self._file is not None and self._stored(key) is not None:
            self._count -= 1
        self._new[key] = value
        if len(self._new) >= self.held:
            self._spill()

    def add(self, key: str) -> bool:
        """Put a key without a value, as into a set; whether it is new."""
        if key in self:
            return False
        self.put(key)
        return True

    def bump(self, key: str) -> int:
        """Count a key; how often it was, this time included."""
        count = int(self.get(key) or 0) + 1
        self.put(key, str(count))
        return count

    def update(self, other: Ids) -> None:
        """Put everything of another one."""
        for key, value in other.items():
            self.put(key, value)

    def items(self) -> Iterator[tuple[str, str]]:
        """Every key once, with its value. Nothing may be put meanwhile."""
        if self._file is not None:
            for key, value in self._file.execute("SELECT key, value FROM kept"):
                told = _text(key)
                if told not in self._new:
                    yield told, _text(value)
        yield from self._new.items()

    def values(self) -> Iterator[str]:
        """The values of `items`."""
        return (value for _, value in self.items())

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def __len__(self) -> int:
        return self._count + len(self._new)

    def _stored(self, key: str) -> str | None:
        if self._file is None:
            return None
        for (value,) in self._file.execute("SELECT value FROM kept WHERE key = ?", (_bytes(key),)):
            return _text(value)
        return None

    def _spill(self) -> None:
        """Move what is in memory into the file."""
        import apsw

        rows = ((_bytes(key), _bytes(value)) for key, value in self._new.items())
        try:
            if self._file is None:
                self._file = _scratch(
                    "CREATE TABLE kept (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
                )
            with self._file:
                self._file.executemany("REPLACE INTO kept VALUES (?, ?)", rows)
        except (apsw.FullError, apsw.IOError, apsw.CantOpenError) as fault:
            raise OSError(0, _NO_ROOM) from fault
        self._count += len(self._new)
        self._new = {}


class Ordered:
    """JSON texts that are read back in the order of a time and a number. Raises OSError as `Ids`."""

    def __init__(self) -> None:
        self._file = _scratch(
            "CREATE TABLE kept (at INTEGER, number INTEGER, value BLOB, PRIMARY KEY (at, number)) WITHOUT ROWID"
        )
        self._file.execute("BEGIN")

    def put(self, at: int, number: int, value: str) -> None:
        """Keep a text; no number is used twice."""
        import apsw

        try:
            self._file.execute("INSERT INTO kept VALUES (?, ?, ?)", (at, number, _bytes(value)))
        except (apsw.FullError, apsw.IOError, apsw.CantOpenError) as fault:
            raise OSError(0, _NO_ROOM) from fault

    def __iter__(self) -> Iterator[tuple[int, int, str]]:
        for at, number, value in self._file.execute("SELECT at, number, value FROM kept ORDER BY at, number"):
            yield at, number, _text(value)


def _scratch(table: str) -> apsw.Connection:
    """A temporary database without a name, in bounded memory, which is not to survive anything."""
    import apsw

    file = apsw.Connection("")
    for name, told in (("journal_mode", "OFF"), ("synchronous", "OFF"), ("cache_size", -_CACHE_KIB)):
        file.pragma(name, told)
    file.execute(table)
    return file


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")
