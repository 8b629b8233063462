# SPDX-License-Identifier: Apache-2.0
"""How far long work has come, for whoever watches: loops tell it, a surface shows it, and nobody in between passes it on.

* WATCH-1  Without a watcher a loop costs nothing: `each` gives back what it was given.
* WATCH-2  What is told is a count and its end, in a unit; the work and its result are the same with and without a watcher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

Watcher = Callable[[int, int, str], None]
"""Called with how much is done, how much there is (0: not known), and of what."""

_EVERY = 64
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(by: Watcher | None) -> Iterator[None]:
    """Let ``by`` be told of what is done in here, in this thread; None: nobody is."""
    before = _watcher.set(by)
    try:
        yield
    finally:
        _watcher.reset(before)


def is_watched() -> bool:
    """Whether anybody would be told: for counting an end that costs something to know."""
    return _watcher.get() is not None


def tell(done: int, total: int, unit: str = "") -> None:
    """Say how far it is."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(done, total, unit)


def each(
    items: Iterable[T], total: Callable[[], int] | int, unit: str = "", every: int = _EVERY
) -> Iterable[T]:
    """``items``, told as they go by; ``total`` is asked for only when somebody watches (WATCH-1)."""
    if _watcher.get() is None:
        return items
    return _told(items, total if isinstance(total, int) else total(), unit, every)


def _told(items: Iterable[T], total: int, unit: str, every: int) -> Iterator[T]:
    done = 0
    tell(0, total, unit)
    for item in items:
        yield item
        done += 1
        if done % every == 0:
            tell(done, total, unit)
    tell(done, total, unit)
