# SPDX-License-Identifier: Apache-2.0
"""The statements a person typed: those of this sitting, and where it is theirs alone those of the shell's file.

A console that may only read keeps its own: it changes nothing on the disk, and may be shown to somebody else than the
writer of the file (D18).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deja_tui.text import utc


class Typed:
    """Statements, oldest first. `read` and `keep` touch the disk: not for the UI thread."""

    def __init__(self, *, shared: bool = False) -> None:
        self.shared = shared
        self.path: Path | None = None
        self.statements: list[str] = []

    def read(self) -> list[str]:
        """What the file remembers. Raises OSError; then nothing is kept in it."""
        if not self.shared:
            return []
        from deja_tui.cal import remembered  # the language costs a console that asks nothing its start-up

        self.shared = False
        path = remembered.place()
        found = remembered.statements(path)
        self.shared, self.path = True, path
        return found

    def begin(self, found: list[str]) -> None:
        """Put what was read before what was typed meanwhile."""
        self.statements = [*found, *self.statements]

    def add(self, statement: str) -> bool:
        """Remember a statement for this sitting; False for one that was the last already."""
        if not statement.strip() or self.statements[-1:] == [statement]:
            return False
        self.statements.append(statement)
        return True

    def keep(self, statement: str, now_ms: int) -> None:
        """Add it to the file. Raises OSError."""
        if self.path is not None:
            from deja_tui.cal import remembered  # as above

            remembered.remember(self.path, statement, utc(now_ms))


class Past:
    """Where one is on the way back through what was typed; in front of it is what was being typed."""

    def __init__(self) -> None:
        self.back = 0
        self.draft = ""

    def leave(self) -> None:
        """What stands in the editor is being typed again."""
        self.back = 0

    def step(self, by: int, now: str, statements: Sequence[str]) -> str | None:
        """What stands ``by`` further back (1) or forth (-1), None at either end.

        Args:
            now: what stands in the editor. statements: what was typed, oldest first.
        """
        wanted = max(0, min(self.back + by, len(statements)))
        if wanted == self.back:
            return None
        if self.back == 0:
            self.draft = now
        self.back = wanted
        return statements[-wanted] if wanted else self.draft
