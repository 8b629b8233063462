# SPDX-License-Identifier: Apache-2.0
"""Reads that another thread, or a clock, can end: SQLite asks now and then whether to go on.

* INV-STOPPING-1  Inside the block every read of this thread asks ``look`` after a bounded amount of work; what it raises
  ends the read and comes out as it is. Behind the block nothing asks any more, however it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from deja_tui.store.memory import Store

# about a page of rows: a fraction of a millisecond, so asking costs nothing that could be measured
_STEPS: Final = 4_000


@contextmanager
def asking(store: Store, look: Callable[[], None]) -> Iterator[None]:
    """A block whose reads on this thread call ``look``, which raises to end them."""
    db = store.reading()

    def go_on() -> bool:
        look()
        return False

    db.set_progress_handler(go_on, _STEPS)
    try:
        yield
    finally:
        db.set_progress_handler(None)
