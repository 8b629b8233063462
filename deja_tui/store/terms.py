# SPDX-License-Identifier: Apache-2.0
"""Dictionary-coded texts: folded subjects and relations, tool names, error signatures, threads, and namespaces.

A term is found by the hash of its text, so its text stands in one place of the file only (see `schema`).
"""

from __future__ import annotations

import apsw

from deja_tui.store.keys import is_reserved, key_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_CACHED: Final = 20_000


def find_term(db: apsw.Connection, text: str) -> int | None:
    """The id of ``text``, or None when no grain uses it."""
    for (found,) in db.execute("SELECT id FROM term WHERE h = ? AND s = ?", (key_of(text), text)):
        return int(found)
    return None


def find_space(db: apsw.Connection, name: str) -> int | None:
    """The id of a namespace, or None when nothing was ever filed there."""
    for (found,) in db.execute("SELECT id FROM space WHERE h = ? AND name = ?", (key_of(name), name)):
        return int(found)
    return None


class Terms:
    """Finds or makes the ids of texts for the writer; keeps them until an act is rolled back or text is erased."""

    def __init__(self) -> None:
        self._terms: dict[str, int] = {}
        self._spaces: dict[str, int] = {}
        self._epoch = -1

    def at(self, epoch: int) -> None:
        """Forget everything when another epoch began: some writer erased terms, and ids may be given anew."""
        if epoch != self._epoch:
            self.clear()
            self._epoch = epoch

    def clear(self) -> None:
        """Forget everything; what was learnt may never have been committed."""
        self._terms.clear()
        self._spaces.clear()

    def term(self, db: apsw.Connection, text: str | None) -> int | None:
        """The id of ``text``, made when it is new."""
        if text is None:
            return None
        known = self._terms.get(text)
        if known is None:
            if len(self._terms) >= _CACHED:
                self._terms.clear()
            known = find_term(db, text)
            if known is None:
                db.execute("INSERT INTO term(h, s) VALUES(?, ?)", (key_of(text), text))
                known = db.last_insert_rowid()
            self._terms[text] = known
        return known

    def space(self, db: apsw.Connection, name: str) -> int:
        """The id of a namespace, made when it is new."""
        known = self._spaces.get(name)
        if known is None:
            if len(self._spaces) >= _CACHED:
                self._spaces.clear()
            known = find_space(db, name)
            if known is None:
                db.execute(
                    "INSERT INTO space(h, reserved, name) VALUES(?, ?, ?)",
                    (key_of(name), int(is_reserved(name)), name),
                )
                known = db.last_insert_rowid()
            self._spaces[name] = known
        return known


def space_filter(db: apsw.Connection, namespaces: list[str] | None) -> str:
    """A SQL condition on the column ``ns``: one of ``namespaces``, or any that is not reserved (None).

    Only integers enter the text. "1" when every namespace passes.
    """
    if namespaces is None:
        hidden = [str(row[0]) for row in db.execute("SELECT id FROM space WHERE reserved = 1")]
        return f"ns NOT IN ({', '.join(hidden)})" if hidden else "1"
    found = [str(space) for name in namespaces if (space := find_space(db, name)) is not None]
    # an empty list would be a constant, and with a constant the planner refuses INDEXED BY; no space has the id 0
    return f"ns IN ({', '.join(found or ['0'])})"
