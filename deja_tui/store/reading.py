# SPDX-License-Identifier: Apache-2.0
"""The wall beneath statements that read: SQLite itself refuses to write while they run (D44).

* INV-READING-1  Reads run on connections that cannot change the file. Inside an act they run on the writer; that one is
  closed for writing until the statement is over, however it ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deja_tui.store.memory import Store


@contextmanager
def reading_only(store: Store) -> Iterator[None]:
    """A block in which this thread cannot write to the memory."""
    db = (
        store.reading()
    )  # what the act changed so far is written by this look, so the block itself has nothing to write
    if not db.in_transaction or db.pragma("query_only"):
        yield  # this thread reads with a connection of its own
        return
    db.pragma("query_only", True)
    try:
        yield
    finally:
        db.pragma("query_only", False)
